/* The INI dialect: what stays whole, what is refused and how it says so. */
#include "test_base_scratch.h"

#include "base/buf.h"
#include "conf/ini.h"

/* The text is refused with this message at this place, and this advice. */
#define assert_refused(text, place, advice)                                                                  \
    do {                                                                                                     \
        struct ini *ini_ = NULL;                                                                             \
        auto(error) struct error *err_ = NULL;                                                               \
        assert_int_equal(ini_read("f", (text), strlen(text), KEY_TEMPLATE, &ini_, &err_), -ERROR_INVALID);   \
        assert_null(ini_);                                                                                   \
        if (strncmp(err_->message, (place), strlen(place)) != 0)                                             \
            fail_msg("\"%s\" does not begin with \"%s\"", err_->message, (place));                           \
        if (!strstr(err_->hint ? err_->hint : "", (advice)))                                                 \
            fail_msg("the hint \"%s\" does not say \"%s\"", err_->hint ? err_->hint : "", (advice));         \
    } while (0)

static struct ini *read_any(const char *text)
{
    struct ini *ini = NULL;
    assert_ok(ini_read_any("f", text, strlen(text), &ini, &err));
    assert_non_null(ini);
    return ini;
}

static void values_stay_whole(void **state)
{
    (void)state;
    auto(ini) struct ini *ini = read_any("# a comment\n"
                                         "; another\n"
                                         "[setup build]\n"
                                         "run = make ; make install # yes\n"
                                         "  # a comment between\n"
                                         "\n"
                                         "  key: value = other ; more\n"
                                         "\t[not a section]\n"
                                         "url=a=b:c\n"
                                         "[other]\n"
                                         "empty =\n");
    const struct ini_entry *run = ini_find(ini, "setup", "build", "run");
    assert_non_null(run);
    assert_int_equal(run->item_count, 3);
    assert_string_equal(run->items[0], "make ; make install # yes");
    assert_string_equal(run->items[1], "key: value = other ; more");
    assert_string_equal(run->items[2], "[not a section]");
    assert_null(run->items[3]);
    assert_int_equal(run->line, 4);
    assert_int_equal(run->value_column, 7);
    assert_string_equal(ini_find(ini, "setup", "build", "url")->items[0], "a=b:c");
    assert_string_equal(ini_value(ini, "other", "empty", "?"), "");
    assert_string_equal(ini_value(ini, "other", "none", "?"), "?");
    assert_null(ini_find(ini, "setup", NULL, "run"));
    assert_int_equal(ini->count, 3);
}

static void lists_may_begin_below(void **state)
{
    (void)state;
    auto(ini) struct ini *ini = read_any("[image]\npackages =\n    git\n    curl\n");
    const struct ini_entry *packages = ini_find(ini, "image", NULL, "packages");
    assert_int_equal(packages->item_count, 2);
    assert_string_equal(packages->items[0], "git");
    assert_string_equal(packages->items[1], "curl");
}

/* inih cuts at 199 bytes; here nothing is cut up to the limit, and what is longer is refused. */
static void long_lines_are_whole_or_refused(void **state)
{
    (void)state;
    static const size_t lengths[] = {190, 200, 300, INI_LINE_MAX};
    for (size_t i = 0; i < countof(lengths); i++) {
        autofree char *value = xcalloc(lengths[i] + 1, 1);
        memset(value, 'x', lengths[i] - strlen("run = "));
        autofree char *text = xasprintf("[setup a]\nrun = %s\n %s\n", value, value);
        auto(ini) struct ini *ini = read_any(text);
        assert_string_equal(ini->entries[0].items[0], value);
        assert_string_equal(ini->entries[0].items[1], value);
    }
    autofree char *line = xcalloc(INI_LINE_MAX + 2, 1);
    memset(line, 'x', INI_LINE_MAX + 1);
    memcpy(line, "run = ", 6);
    autofree char *text = xasprintf("[setup a]\n%s\n", line);
    assert_refused(text, "f:2:2001: the line has 2001 bytes, the limit is 2000", "indented");
}

static void section_names_have_a_limit(void **state)
{
    (void)state;
    autofree char *name = xcalloc(61, 1);
    memset(name, 'a', 60);
    autofree char *text = xasprintf("[setup %s]\nrun = x\n", name);
    assert_refused(text, "f:1:8: the section's name has 60 letters, the limit is 32", "shorten");
    name[INI_NAME_MAX] = '\0';
    autofree char *fits = xasprintf("[setup %s]\nrun = x\n", name);
    auto(ini) struct ini *ini = read_any(fits);
    assert_string_equal(ini->entries[0].name, name);
}

static void foreign_bytes_are_refused(void **state)
{
    (void)state;
    assert_refused("[vm]\r\ncpu = x\r\n", "f:1:5: a carriage return", "Unix line ends");
    assert_refused("\xEF\xBB\xBF[vm]\n", "f:1:1: a byte order mark", "without one");
    assert_refused("[vm]\ncpu = \xff\n", "f:2:7: a byte that is not UTF-8: 0xff", "UTF-8");
    assert_refused("[template]\nabout = \xC3\xA9\x01\n", "f:2:10: a control character: U+0001", "remove");
    struct ini *ini = NULL;
    assert_error(ini_read("f", "[vm]\ncpu = a\0b\n", 15, KEY_TEMPLATE, &ini, &err), ERROR_INVALID,
                 "f:2:8: a NUL byte");
    autofree char *large = xcalloc(INI_FILE_MAX + 2, 1);
    memset(large, '\n', INI_FILE_MAX + 1);
    assert_refused(large, "f:1:1: the file has", "");
}

static void unknown_names_offer_the_nearest(void **state)
{
    (void)state;
    assert_refused("[image]\npackges = git\n", "f:2:1: [image] of a template has no key \"packges\"",
                   "did you mean \"packages\"?");
    assert_refused("[image]\nzzzzzzzz = git\n", "f:2:1: [image] of a template has no key \"zzzzzzzz\"", "");
    assert_refused("[imgae]\n", "f:1:2: a template has no section [imgae]", "did you mean [image]?");
    assert_refused("[image x]\n", "f:1:1: [image] takes no name", "");
    assert_refused("[setup]\n", "f:1:1: [setup] needs a name", "");
}

static void duplicates_are_named(void **state)
{
    (void)state;
    assert_refused("[image]\nsuite = a\nuser = b\nsuite = c\n", "f:4:1: \"suite\" stands at line 2 already",
                   "remove");
    assert_refused("[vm]\n[image]\n[vm]\n", "f:3:1: [vm] stands at line 1 already", "together");
    auto(ini) struct ini *ini = read_any("[setup a]\nrun = 1\n[setup b]\nrun = 2\n");
    assert_string_equal(ini_find(ini, "setup", "b", "run")->items[0], "2");
}

static void broken_lines_are_refused(void **state)
{
    (void)state;
    assert_refused("suite = x\n", "f:1:1: a key before the first section", "[section]");
    assert_refused("[vm]\n  cpu = x\n", "f:2:3: an indented line without a key above it", "left edge");
    assert_refused("[vm]\ncpu\n", "f:2:1: no \"=\" in this line", "indented");
    assert_refused("[vm]\n= x\n", "f:2:1: the key is missing", "");
    assert_refused("[vm]\ncpu: x\n", "f:2:1: no \"=\"", "");
    assert_refused("[vm]\nC = x\n", "f:2:1: not allowed in a key", "a-z");
    assert_refused("[vm\n", "f:1:4: the \"]\" is missing", "[word NAME]");
    assert_refused("[vm] # x\n", "f:1:6: text after the section", "line of its own");
    assert_refused("[]\n", "f:1:2: the section's word is missing", "");
    assert_refused("[setup a/b]\n", "f:1:9: not allowed in a section's name", "a-z");
    assert_refused("[setup ]\n", "f:1:8: the section's name is missing", "");
    struct buf buf;
    buf_init(&buf, 0);
    buf_printf(&buf, NULL, "[setup a]\nrun = x\n");
    for (int i = 0; i < INI_ENTRY_MAX; i++)
        buf_printf(&buf, NULL, " x\n");
    autofree char *many = buf_take_string(&buf);
    buf_finish(&buf);
    assert_refused(many, "f:4098:1: more than 4096 values", "split");
}

static void types_are_checked(void **state)
{
    (void)state;
    assert_refused("[vm]\ndisk-min = 8X\n", "f:2:12: \"disk-min\": ", "");
    assert_refused("[image]\nsuite = a b\n", "f:2:9: \"suite\" takes one word, not \"a b\"", "");
    assert_refused("[image]\nsuite =\n", "f:2:8: \"suite\" takes one word, not \"\"", "");
    assert_refused("[image]\nsuite =\n a\n b\n", "f:2:8: \"suite\" takes one value", "");
    assert_refused("[image]\nmirror = ftp://x\n", "f:2:10: \"mirror\" takes http://", "");
    assert_refused("[image]\nmirror = http://x [y]\n", "f:2:10: \"mirror\": a URI has no blanks", "");
    static const char good[] = "[image]\nmirror = https://x/y\nsecurity-mirror = none\n[vm]\ndisk-min = 8G\n";
    auto(ini) struct ini *ini = NULL;
    assert_ok(ini_read("f", good, strlen(good), KEY_TEMPLATE, &ini, &err));
    assert_int_equal(ini->count, 3);
}

static void files_are_loaded(void **state)
{
    autofree char *path = file_join(*state, "x.ini");
    assert_ok(file_replace(path, "[vm]\ncpu = host\n", 16, 0600, &err));
    auto(ini) struct ini *ini = NULL;
    assert_ok(ini_load(path, KEY_TEMPLATE, &ini, &err));
    assert_string_equal(ini_value(ini, "vm", "cpu", ""), "host");
    auto(error) struct error *err = NULL;
    assert_int_equal(ini_error(ini, &ini->entries[0], &err, "so %d", 1), -ERROR_INVALID);
    autofree char *want = xasprintf("%s:2:7: so 1", path);
    assert_string_equal(err->message, want);
    struct ini *none = NULL;
    autofree char *missing = file_join(*state, "y.ini");
    assert_int_equal(ini_load(missing, KEY_TEMPLATE, &none, NULL), -ERROR_NOT_FOUND);
}

/* Every key of a kind is in its man page, with its section. */
static void check_page(const char *name, enum key_kind kind)
{
    const char *top = getenv("srcdir");
    autofree char *path = xasprintf("%s/doc/%s", top ? top : ".", name);
    autofree char *page = NULL;
    assert_ok(file_read(path, 1 << 20, &page, NULL, &err));
    for (size_t i = 0; i < key_count; i++) {
        if (key_table[i].kind != kind)
            continue;
        autofree char *section =
            xasprintf(".Ss [%s%s]\\&\n", key_table[i].section, key_table[i].named ? " NAME" : "");
        autofree char *key = xasprintf(".It Cm %s\n", key_table[i].key);
        const char *at = strstr(page, section);
        if (!at || !strstr(at, key))
            fail_msg("%s has no \"%s\" under [%s]", name, key_table[i].key, key_table[i].section);
        assert_true(*key_table[i].help && *key_table[i].when && *key_table[i].who);
    }
}

static void keys_are_documented(void **state)
{
    (void)state;
    check_page("hutch-template.5", KEY_TEMPLATE);
    check_page("hutch-rules.5", KEY_PROJECT);
    check_page("hutch-rules.5", KEY_RULES);
    check_page("hutch-rules.5", KEY_PRESET);
}

int main(void)
{
    alarm(60);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_stay_whole),
        cmocka_unit_test(lists_may_begin_below),
        cmocka_unit_test(long_lines_are_whole_or_refused),
        cmocka_unit_test(section_names_have_a_limit),
        cmocka_unit_test(foreign_bytes_are_refused),
        cmocka_unit_test(unknown_names_offer_the_nearest),
        cmocka_unit_test(duplicates_are_named),
        cmocka_unit_test(broken_lines_are_refused),
        cmocka_unit_test(types_are_checked),
        scratch_test(files_are_loaded),
        cmocka_unit_test(keys_are_documented),
    };
    return cmocka_run_group_tests_name("ini", tests, NULL, NULL);
}
