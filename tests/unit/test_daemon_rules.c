/* A project's policy out of its files: layers, presets and what is taken out of them, errors that change
 * nothing (N02), and the rules that are added and removed. */
#include "test_base_scratch.h"

#include "daemon/rules.h"

static struct paths *places(const char *folder)
{
    struct paths *paths = xnew(struct paths);
    const char *source = getenv("srcdir");
    paths->config = file_join(folder, "config");
    paths->templates = file_join(source ? source : ".", "templates");
    return paths;
}

static void put(const struct paths *paths, const char *name, const char *text)
{
    autofree char *path = file_join(paths->config, name), *projects = file_join(paths->config, "projects"),
                  *presets = file_join(paths->config, "presets");
    assert_ok(file_make_folder(projects, 0700, &err));
    assert_ok(file_make_folder(presets, 0700, &err));
    assert_ok(file_replace(path, text, strlen(text), 0600, &err));
}

static struct policy *load(const struct paths *paths, const struct rules_input *input)
{
    struct policy *policy = NULL;
    auto(error) struct error *err = NULL;
    if (rules_load(paths, input, &policy, &err) < 0)
        fail_msg("%s", err->message);
    return policy;
}

static struct verdict ask(const struct policy *policy, const char *authority)
{
    struct request request;
    struct verdict verdict;
    assert_ok(request_parse(authority, strlen(authority), 443, &request, &err));
    policy_decide(policy, &request, NULL, 0, &verdict);
    return verdict;
}

static void layers_add_up(void **state)
{
    auto(paths) struct paths *paths = places(*state);
    put(paths, "presets/tools.ini",
        "[preset]\nabout = t\nuploads = yes\n[egress]\nallow =\n    a.test\n    b.test uploads=no\n"
        "    c.test\n");
    put(paths, "rules.ini", "[egress]\ndeny = c.test\nallow = user.test\n");
    put(paths, "projects/shop.ini",
        "[egress]\ndefault = deny\npresets =\n    tools\n    -b.test\nallow = own.test\n[host-port pg]\n"
        "to = 127.0.0.1:5432\n");
    struct rules_input input = {.project = "shop", .generation = 7};
    auto(policy) struct policy *policy = load(paths, &input);
    assert_int_equal(policy_generation(policy), 7);
    assert_int_equal(policy_mode(policy), MODE_DENY);
    struct verdict verdict = ask(policy, "a.test");
    assert_int_equal(verdict.reason, REASON_RULE_ALLOW);
    assert_int_equal(verdict.layer, LAYER_PRESET);
    assert_string_equal(verdict.rule->text, "allow a.test");
    assert_true(verdict.uploads);
    assert_int_equal(ask(policy, "b.test").reason, REASON_MODE_DENY);
    assert_int_equal(ask(policy, "c.test").reason, REASON_RULE_DENY);
    assert_int_equal(ask(policy, "user.test").layer, LAYER_USER);
    verdict = ask(policy, "own.test");
    assert_int_equal(verdict.layer, LAYER_PROJECT);
    assert_non_null(strstr(verdict.rule->source, "projects/shop.ini"));
    assert_int_equal(verdict.rule->line, 6);
    assert_string_equal(ask(policy, "pg.hutch.internal:5432").host_port, "127.0.0.1:5432");
}

static void hosts_of_the_machine(void **state)
{
    auto(paths) struct paths *paths = places(*state);
    put(paths, "projects/shop.ini", "[egress]\n");
    static const char *const presets[] = {"node", NULL};
    static const struct rules_guest_host hosts[] = {
        {{"node", true, "registry.corp.test", 443}, true}, {{"node", true, "evil.test", 443}, false},
        {{"node", true, "*.wild.test", 443}, true},        {{"node", false, "cache.test", 3142}, true},
        {{"debian", false, "deb.test", 80}, true},         {{"node", true, "10.0.0.1", 443}, true},
    };
    struct rules_input input = {.project = "shop",
                                .presets = presets,
                                .guest_hosts = hosts,
                                .guest_host_count = countof(hosts),
                                .generation = 1};
    auto(policy) struct policy *policy = load(paths, &input);
    assert_int_equal(ask(policy, "registry.corp.test").reason, REASON_RULE_ALLOW);
    /* What a running machine says of itself opens nothing. */
    assert_int_equal(ask(policy, "evil.test").reason, REASON_RULE_ASK);
    assert_int_equal(ask(policy, "a.wild.test").reason, REASON_UNKNOWN);
    assert_int_equal(ask(policy, "cache.test:3142").reason, REASON_RULE_ALLOW);
    assert_int_equal(ask(policy, "cache.test").reason, REASON_UNKNOWN);
    assert_int_equal(ask(policy, "deb.test:80").reason, REASON_UNKNOWN);
    assert_int_equal(ask(policy, "10.0.0.1").reason, REASON_LITERAL);
    /* A project that names presets, even none, takes none of its template. */
    put(paths, "projects/shop.ini", "[egress]\npresets =\n");
    auto(policy) struct policy *none = load(paths, &input);
    assert_int_equal(ask(none, "registry.corp.test").reason, REASON_UNKNOWN);
}

static void assert_refused(const struct paths *paths, int code, const char *words)
{
    struct rules_input input = {.project = "shop", .generation = 1};
    struct policy *policy = NULL;
    assert_error(rules_load(paths, &input, &policy, &err), code, words);
    assert_null(policy);
}

static void n02_an_error_takes_nothing(void **state)
{
    auto(paths) struct paths *paths = places(*state);
    assert_refused(paths, ERROR_NOT_FOUND, "projects/shop.ini");
    put(paths, "projects/shop.ini", "[egress]\nallow =\n    good.test\n    *.com\n");
    assert_refused(paths, ERROR_INVALID, "projects/shop.ini:4:5: anybody can have a name");
    put(paths, "projects/shop.ini", "[egress]\npresets =\n    tols\n");
    assert_refused(paths, ERROR_NOT_FOUND, "shop.ini:3:5: there is no preset \"tols\"");
    put(paths, "projects/shop.ini", "[egress]\npresets =\n    git-hosts\n    -gthub.com\n");
    assert_refused(paths, ERROR_INVALID,
                   "shop.ini:4:5: no preset of the project has a line for \"gthub.com\"");
    put(paths, "projects/shop.ini", "[egress]\npresets =\n    git-hosts\n    -gi thub\n");
    assert_refused(paths, ERROR_INVALID, "shop.ini:4:5");
    put(paths, "projects/shop.ini", "[egress]\npresets =\n    git-hosts\n    -a..b\n");
    assert_refused(paths, ERROR_INVALID, "shop.ini:4:6");
    put(paths, "projects/shop.ini", "[egress]\n");
    put(paths, "rules.ini", "[egress]\nallow = a.test protp=x\n");
    assert_refused(paths, ERROR_INVALID, "rules.ini:2:16: a rule has no \"protp\"");
}

static void rules_come_and_go(void **state)
{
    auto(paths) struct paths *paths = places(*state);
    static const char *const presets[] = {"git-hosts", "telemetry-off", NULL};
    assert_ok(file_make_folder(paths->config, 0700, &err));
    assert_ok(rules_write(paths, "shop", MODE_BUDGET, presets, &err));
    assert_error(rules_write(paths, "shop", MODE_ASK, NULL, &err), ERROR_EXISTS, "already");
    assert_ok(rules_add(paths, "shop", "allow Docs.RS:443", &err));
    assert_error(rules_add(paths, "shop", "allow docs.rs", &err), ERROR_EXISTS, "allow docs.rs");
    assert_error(rules_add(paths, "shop", "allow *.com", &err), ERROR_INVALID, "column 7");
    assert_error(rules_add(paths, "../shop", "allow a.test", &err), ERROR_INVALID, "no project's name");
    assert_ok(rules_add(paths, NULL, "deny evil.test", &err));
    struct rules_input input = {.project = "shop", .generation = 1};
    struct policy *policy = load(paths, &input);
    assert_int_equal(policy_mode(policy), MODE_BUDGET);
    assert_int_equal(ask(policy, "docs.rs").reason, REASON_RULE_ALLOW);
    assert_int_equal(ask(policy, "evil.test:22").reason, REASON_RULE_DENY);
    assert_int_equal(ask(policy, "evil.test:22").layer, LAYER_USER);
    assert_int_equal(ask(policy, "github.com").reason, REASON_RULE_ALLOW);
    assert_int_equal(ask(policy, "sentry.io").reason, REASON_RULE_DENY);
    policy_unref(policy);
    assert_ok(rules_remove(paths, "shop", "allow docs.rs proto=tls", &err));
    assert_error(rules_remove(paths, "shop", "allow docs.rs", &err), ERROR_NOT_FOUND,
                 "no rule \"allow docs.rs\"");
    assert_ok(rules_remove(paths, NULL, "deny evil.test", &err));
    policy = load(paths, &input);
    assert_int_equal(ask(policy, "docs.rs").reason, REASON_BUDGET);
    assert_int_equal(ask(policy, "evil.test").reason, REASON_BUDGET);
    policy_unref(policy);
}

static void a_file_that_nobody_wrote_in_goes(void **state)
{
    auto(paths) struct paths *paths = places(*state);
    autofree char *path = rules_path(paths, "shop"), *kept = NULL;
    assert_ok(rules_forget(paths, "shop", &kept, &err));
    assert_null(kept);
    for (enum policy_mode mode = MODE_ASK; mode <= MODE_OPEN; mode++) {
        assert_ok(rules_write(paths, "shop", mode, NULL, &err));
        assert_ok(rules_forget(paths, "shop", &kept, &err));
        assert_null(kept);
        assert_false(file_exists(path));
    }
    assert_ok(rules_write(paths, "shop", MODE_ASK, NULL, &err));
    assert_ok(rules_add(paths, "shop", "allow docs.rs", &err));
    assert_ok(rules_forget(paths, "shop", &kept, &err));
    assert_string_equal(kept, path);
    assert_true(file_exists(path));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        scratch_test(layers_add_up),
        scratch_test(hosts_of_the_machine),
        scratch_test(n02_an_error_takes_nothing),
        scratch_test(rules_come_and_go),
        scratch_test(a_file_that_nobody_wrote_in_goes),
    };
    alarm(60);
    return cmocka_run_group_tests_name("daemon rules", tests, NULL, NULL);
}
