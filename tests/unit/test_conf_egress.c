/* Rules in INI files: what is read, what is refused and where, that an edit changes one line, and that every
 * preset that comes with hutch is one. */
#include "test_base_scratch.h"

#include "conf/egress.h"
#include "conf/names.h"
#include "policy/rule.h"

#include <sys/stat.h>

static char *put(const char *folder, const char *name, const char *text)
{
    char *path = file_join(folder, name);
    assert_ok(file_replace(path, text, strlen(text), 0640, &err));
    return path;
}

static void assert_content(const char *path, const char *want)
{
    autofree char *data = NULL;
    assert_ok(file_read(path, 100000, &data, NULL, &err));
    assert_string_equal(data, want);
}

static const char project[] = "# of the shop\n"
                              "[egress]\n"
                              "default = ask\n"
                              "presets =\n"
                              "    git-hosts\n"
                              "    -gist.github.com\n"
                              "    containers\n"
                              "allow = docs.rs\n"
                              "    # for the build\n"
                              "    *.debian.org:80\n"
                              "\n"
                              "deny =\n"
                              "  evil.test\n"
                              "\n"
                              "[host-port pg]\n"
                              "to = 127.0.0.1:5432\n"
                              "[host-port agent]\n"
                              "to = unix:/run/user/1000/agent\n"
                              "port = 2000\n";

static void lines_have_their_places(void **state)
{
    autofree char *path = put(*state, "shop.ini", project);
    auto(egress) struct egress_file *file = NULL;
    assert_ok(egress_load(path, KEY_PROJECT, &file, &err));
    assert_string_equal(file->mode, "ask");
    assert_true(file->presets_said);
    assert_int_equal(file->preset_count, 2);
    assert_string_equal(file->presets[1].text, "containers");
    assert_int_equal(file->presets[1].line, 7);
    assert_int_equal(file->removed_count, 1);
    assert_string_equal(file->removed[0].text, "gist.github.com");
    assert_int_equal(file->line_count, 3);
    assert_string_equal(file->lines[0].rule, "allow docs.rs");
    assert_int_equal(file->lines[0].line, 8);
    assert_string_equal(file->lines[1].item, "*.debian.org:80");
    assert_int_equal(file->lines[1].line, 10);
    assert_string_equal(file->lines[2].rule, "deny evil.test");
    assert_int_equal(file->host_port_count, 2);
    assert_string_equal(file->host_ports[0].name, "pg");
    assert_int_equal(file->host_ports[0].port, 5432);
    assert_string_equal(file->host_ports[1].to, "unix:/run/user/1000/agent");
    assert_int_equal(file->host_ports[1].port, 2000);
    assert_error(egress_load("/nonexistent/x.ini", KEY_PROJECT, &file, &err), ERROR_NOT_FOUND, "x.ini");
}

/* An error of the rule stands where the item stands. */
static void errors_of_rules_stand_in_the_file(void **state)
{
    autofree char *path = put(*state, "p.ini", "[egress]\nallow =\n    docs.rs protp=tls\n");
    auto(egress) struct egress_file *file = NULL;
    assert_ok(egress_load(path, KEY_PROJECT, &file, &err));
    const struct egress_line *line = &file->lines[0];
    struct rule_origin origin = {LAYER_PROJECT, "p.ini", line->line, line->column, UPLOADS_UNSAID};
    struct rule *rule = NULL;
    assert_error(rule_parse(line->rule, strlen(line->rule), &origin, &rule, &err), ERROR_INVALID,
                 "p.ini:3:13: a rule has no \"protp\"");
}

static void assert_refused(const char *folder, enum key_kind kind, const char *text, const char *words)
{
    autofree char *path = put(folder, "bad.ini", text);
    struct egress_file *file = NULL;
    assert_error(egress_load(path, kind, &file, &err), ERROR_INVALID, words);
    assert_null(file);
}

/* N02: nothing of a file with an error is taken. */
static void n02_no_partial_load(void **state)
{
    assert_refused(*state, KEY_PROJECT, "[egress]\nallow = docs.rs\nalow = x\n",
                   "bad.ini:3:1: [egress] of a project file");
    assert_refused(*state, KEY_PROJECT, "[egress]\ndefault = yes\n",
                   "bad.ini:2:11: \"default\" cannot be \"yes\"");
    assert_refused(*state, KEY_PROJECT, "[egress]\nallow = a\nallow = b\n", "stands at line 2 already");
    assert_refused(*state, KEY_PROJECT, "[egress]\npresets =\n    ok\n    Bad\n", "bad.ini:4:5:");
    assert_refused(*state, KEY_PROJECT, "[egress]\npresets =\n    -\n", "bad.ini:3:5: \"-\" and the target");
    assert_refused(*state, KEY_PROJECT, "[host-port pg]\nport = 1\n",
                   "bad.ini:2:8: [host-port pg] has no \"to\"");
    assert_refused(*state, KEY_PROJECT, "[host-port pg]\nto = 10.0.0.1:5432\n", "no port of this host");
    assert_refused(*state, KEY_PROJECT, "[host-port pg]\nto = 127.0.0.1:0\n", "no port of this host");
    assert_refused(*state, KEY_PROJECT, "[host-port pg]\nto = unix:/x\n", "needs \"port\"");
    assert_refused(*state, KEY_PROJECT, "[host-port pg]\nto = 127.0.0.1:1\nport = 70000\n", "1 to 65535");
    assert_refused(*state, KEY_RULES, "[egress]\ndefault = open\n", "rules file has no key \"default\"");
    assert_refused(*state, KEY_RULES, "[egress]\nallow = docs.rs\r\n", "carriage return");
}

static void an_added_rule_leaves_all_else(void **state)
{
    autofree char *path = put(*state, "shop.ini", project);
    assert_ok(egress_add(path, KEY_PROJECT, EGRESS_ALLOW, "crates.io", &err));
    assert_ok(egress_add(path, KEY_PROJECT, EGRESS_DENY, "worse.test", &err));
    assert_ok(egress_add(path, KEY_PROJECT, EGRESS_ASK, "x.test:22 proto=tcp", &err));
    assert_content(
        path, "# of the shop\n[egress]\ndefault = ask\npresets =\n    git-hosts\n    -gist.github.com\n"
              "    containers\nallow = docs.rs\n    # for the build\n    *.debian.org:80\n    crates.io\n\n"
              "deny =\n  evil.test\n  worse.test\nask =\n    x.test:22 proto=tcp\n\n[host-port pg]\n"
              "to = 127.0.0.1:5432\n[host-port agent]\nto = unix:/run/user/1000/agent\nport = 2000\n");
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0640);
    assert_error(egress_add(path, KEY_PROJECT, EGRESS_ALLOW, "crates.io", &err), ERROR_EXISTS, "already");
    assert_error(egress_add(path, KEY_PROJECT, EGRESS_ALLOW, "a\n[x]", &err), ERROR_INVALID, "cannot stand");
    assert_error(egress_add(path, KEY_PROJECT, EGRESS_ALLOW, "#a", &err), ERROR_INVALID, "cannot stand");
    assert_error(egress_add(path, KEY_PROJECT, EGRESS_ALLOW, "a\r", &err), ERROR_INVALID, "carriage return");
}

static void a_rule_can_be_the_first(void **state)
{
    autofree char *path = file_join(*state, "new.ini");
    assert_ok(egress_add(path, KEY_RULES, EGRESS_ALLOW, "docs.rs", &err));
    assert_content(path, "[egress]\nallow =\n    docs.rs\n");
    autofree char *other = put(*state, "other.ini", "[host-port pg]\nto = 127.0.0.1:1");
    assert_ok(egress_add(other, KEY_PROJECT, EGRESS_DENY, "a.test", &err));
    assert_content(other, "[host-port pg]\nto = 127.0.0.1:1\n\n[egress]\ndeny =\n    a.test\n");
    autofree char *empty =
        put(*state, "empty.ini", "[egress]\nallow =\n# nothing yet\n[host-port pg]\nto = 127.0.0.1:1\n");
    assert_ok(egress_add(empty, KEY_PROJECT, EGRESS_ALLOW, "a.test", &err));
    assert_content(empty, "[egress]\nallow =\n    a.test\n# nothing yet\n[host-port pg]\nto = 127.0.0.1:1\n");
    autofree char *bad = put(*state, "bad.ini", "[egress]\nalow = x\n");
    assert_error(egress_add(bad, KEY_PROJECT, EGRESS_ALLOW, "a.test", &err), ERROR_INVALID, "alow");
    assert_content(bad, "[egress]\nalow = x\n");
}

static void a_host_port_is_written_and_taken_out(void **state)
{
    static const char noted[] =
        "# mine\n[host-port pg]\n# the shop's\nto = 127.0.0.1:5432\n\n# rules\n[egress]\n"
        "allow =\n    docs.rs\n";
    autofree char *path = put(*state, "ports.ini", noted);
    assert_ok(egress_host_port_add(path, "agent", "unix:/run/agent", 80, &err));
    assert_ok(egress_host_port_add(path, "web", "[::1]:8080", 0, &err));
    autofree char *both = xasprintf("%s\n[host-port agent]\nto = unix:/run/agent\nport = 80\n"
                                    "\n[host-port web]\nto = [::1]:8080\n",
                                    noted);
    assert_content(path, both);
    assert_error(egress_host_port_add(path, "pg", "127.0.0.1:1", 0, &err), ERROR_EXISTS, "\"pg\" is there");
    assert_error(egress_host_port_add(path, "x", "[::1]:8080", 0, &err), ERROR_EXISTS, "\"web\" leads to");
    assert_error(egress_host_port_add(path, "a_b", "[::1]:1", 0, &err), ERROR_INVALID, "host port's name");
    assert_error(egress_host_port_add(path, "x", "unix:/run/x", 0, &err), ERROR_INVALID,
                 "no port of its own");
    assert_error(egress_host_port_add(path, "x", "10.0.0.1:80", 0, &err), ERROR_INVALID,
                 "no port of this host");
    assert_error(egress_host_port_add(path, "x", "unix:/a\n[egress]", 1, &err), ERROR_INVALID, "no port of");
    assert_error(egress_host_port_remove(path, "x", &err), ERROR_NOT_FOUND, "no host port \"x\"");
    assert_content(path, both);
    assert_ok(egress_host_port_remove(path, "web", &err));
    assert_ok(egress_host_port_remove(path, "agent", &err));
    assert_content(path, noted);
    assert_ok(egress_host_port_remove(path, "pg", &err));
    assert_content(path, "# mine\n# the shop's\n\n# rules\n[egress]\nallow =\n    docs.rs\n");
}

static void a_removed_rule_leaves_all_else(void **state)
{
    autofree char *path = put(*state, "shop.ini", project);
    auto(egress) struct egress_file *file = NULL;
    assert_ok(egress_load(path, KEY_PROJECT, &file, &err));
    /* From the end, as a line that goes moves those below it. */
    for (size_t i = file->line_count; i-- > 0;)
        assert_ok(egress_remove(path, KEY_PROJECT, &file->lines[i], &err));
    assert_content(path,
                   "# of the shop\n[egress]\ndefault = ask\npresets =\n    git-hosts\n    -gist.github.com\n"
                   "    containers\nallow = \n    # for the build\n\ndeny =\n\n[host-port pg]\n"
                   "to = 127.0.0.1:5432\n[host-port agent]\nto = unix:/run/user/1000/agent\nport = 2000\n");
    auto(egress) struct egress_file *again = NULL;
    assert_ok(egress_load(path, KEY_PROJECT, &again, &err));
    assert_int_equal(again->line_count, 0);
    assert_int_equal(again->preset_count, 2);
    assert_error(egress_remove(path, KEY_PROJECT, &file->lines[1], &err), ERROR_STATE, "no longer");
    char item[] = "containers";
    struct egress_line preset = {EGRESS_ALLOW, item, item, 7, 1}; /* an item, of another list */
    assert_error(egress_remove(path, KEY_PROJECT, &preset, &err), ERROR_STATE, "no longer");
}

static struct paths *shipped(const char *folder)
{
    struct paths *paths = xnew(struct paths);
    const char *source = getenv("srcdir");
    paths->config = file_join(folder, "config");
    paths->templates = file_join(source ? source : ".", "templates");
    return paths;
}

static void presets_that_come_along(void **state)
{
    auto(paths) struct paths *paths = shipped(*state);
    static const char *const want[] = {"containers", "debian", "git-hosts",     "go",           "node",
                                       "python",     "rust",   "telemetry-off", "user-content", NULL};
    char **names = preset_names(paths);
    for (size_t i = 0; i < countof(want); i++)
        assert_true(want[i] ? names[i] && !strcmp(names[i], want[i]) : !names[i]);
    for (size_t i = 0; names[i]; i++) {
        auto(preset) struct preset *preset = NULL;
        assert_ok(preset_load(paths, names[i], &preset, &err));
        assert_true(*preset->about != '\0');
        bool packages = strstr("debian go node python rust", names[i]) != NULL;
        assert_int_equal(preset->from_guest, packages);
        assert_true(packages ? preset->line_count == 0 : preset->line_count > 5);
        for (size_t k = 0; k < preset->line_count; k++) {
            const struct egress_line *line = &preset->lines[k];
            struct rule_origin origin = {LAYER_PRESET, preset->name, line->line, line->column,
                                         preset->uploads ? UPLOADS_YES : UPLOADS_NO};
            auto(rule) struct rule *rule = NULL;
            assert_ok(rule_parse(line->rule, strlen(line->rule), &origin, &rule, &err));
            assert_int_equal(rule->target, TARGET_NAME);
            assert_string_equal(rule->text, line->rule); /* written as it is printed */
            if (!strcmp(names[i], "telemetry-off"))
                assert_int_equal(rule->effect, RULE_DENY);
            if (!strcmp(names[i], "user-content"))
                assert_int_equal(rule->uploads, UPLOADS_YES);
        }
    }
    names_free(names);
}

static void presets_of_the_user_come_first(void **state)
{
    auto(paths) struct paths *paths = shipped(*state);
    autofree char *folder = file_join(paths->config, "presets");
    assert_ok(file_make_folder(folder, 0700, &err));
    autofree char *mine =
                      put(folder, "node.ini", "[preset]\nabout = ours\n[egress]\nallow = npm.corp.test\n"),
                  *bad = put(folder, "bad.ini", "[preset]\nfrom = guest\n[egress]\nallow = a.test\n"),
                  *worse = put(folder, "worse.ini", "[preset]\nuploads = maybe\n");
    auto(preset) struct preset *preset = NULL;
    assert_ok(preset_load(paths, "node", &preset, &err));
    assert_true(preset->user_file);
    assert_false(preset->from_guest);
    assert_string_equal(preset->lines[0].item, "npm.corp.test");
    struct preset *none = NULL;
    assert_error(preset_load(paths, "bad", &none, &err), ERROR_INVALID, "not both");
    assert_error(preset_load(paths, "worse", &none, &err), ERROR_INVALID, "yes or no");
    assert_error(preset_load(paths, "pyton", &none, &err), ERROR_NOT_FOUND, "no preset");
    assert_error(preset_load(paths, "../x", &none, &err), ERROR_INVALID, "no preset's name");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        scratch_test(lines_have_their_places), scratch_test(errors_of_rules_stand_in_the_file),
        scratch_test(n02_no_partial_load),     scratch_test(an_added_rule_leaves_all_else),
        scratch_test(a_rule_can_be_the_first), scratch_test(a_host_port_is_written_and_taken_out),
        scratch_test(a_rule_can_be_the_first), scratch_test(a_removed_rule_leaves_all_else),
        scratch_test(presets_that_come_along), scratch_test(presets_of_the_user_come_first),
    };
    alarm(60);
    return cmocka_run_group_tests_name("conf egress", tests, NULL, NULL);
}
