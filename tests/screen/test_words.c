/* The screen in Chinese: golden screens, and words that fit where they are put. GENERATE=1 writes
 * tests/screen/golden. */
#include "tests/screen/screen.h"

#include "base/alloc.h"
#include "base/text.h"
#include "base/words.h"
#include "ui/view/paint.h"

#include <locale.h>
#include <setjmp.h>
#include <stdarg.h>
#include <unistd.h>

#include <cmocka.h>

static const struct {
    int rows, columns;
} sizes[] = {{24, 80}, {10, 40}};

static const struct {
    const char *name, *keys, *text, *then;
} shots[] = {
    {"projects", "", "", ""},  {"timeline", "Enter k", "", ""}, {"help", "?", "", ""},
    {"actions", "x", "", ""},  {"palette", ":", "su", ""},      {"form", "c", "", ""},
    {"moderate", "K", "", ""}, {"severe", "Delete", "sh", ""},  {"info", "Enter 4", "", ""},
};

static void take(size_t shot, size_t size)
{
    struct screen screen;
    autofree char *name =
        xasprintf("zh_CN.%s.%dx%d", shots[shot].name, sizes[size].columns, sizes[size].rows);
    screen_open(&screen, sizes[size].rows, sizes[size].columns, NULL);
    screen_fill(&screen);
    screen_keys(&screen, shots[shot].keys);
    screen_type(&screen, shots[shot].text);
    screen_keys(&screen, shots[shot].then);
    screen_golden(&screen, name);
    screen_close(&screen);
}

static void test_screens(void **state)
{
    (void)state;
    for (size_t shot = 0; shot < countof(shots); shot++)
        for (size_t size = 0; size < countof(sizes); size++)
            take(shot, size);
}

/* The scene of `hutch demo`: its captions fit into two lines here too. */
static void test_demo(void **state)
{
    static const char *const captions[] = {
#define X(id, need, key, deed, until, does, caption, meanwhile) caption, meanwhile,
#include "ui/demo.def"
#undef X
    };
    struct screen screen;
    (void)state;
    for (size_t i = 0; i < countof(captions); i++) {
        const char *words = _(captions[i]);
        if (words && paint_width(words) > 2 * 80 - 2)
            fail_msg("too long: %s", words);
    }
    for (size_t size = 0; size < countof(sizes); size++) {
        autofree char *name = xasprintf("zh_CN.demo.%dx%d", sizes[size].columns, sizes[size].rows);
        screen_open_demo(&screen, sizes[size].rows, sizes[size].columns, NULL);
        screen_up(&screen);
        screen_golden(&screen, name);
        screen_close(&screen);
    }
}

/* A head that is wider than its column would be cut. */
static void test_heads_fit(void **state)
{
    (void)state;
    for (int view = VIEW_NONE + 1; view < VIEW_COUNT; view++) {
        const struct column *columns = view_table[view]->columns;
        for (int i = 0; columns && columns[i].title; i++)
            if (columns[i].width && paint_width(_(columns[i].title)) > columns[i].width)
                fail_msg("%s: \"%s\" does not fit into %d columns", view_table[view]->name,
                         _(columns[i].title), columns[i].width);
    }
}

/* What a key is called stands in bars beside others: at most eight columns. */
static void test_labels_are_short(void **state)
{
    (void)state;
    for (int action = ACTION_NONE + 1; action < ACTION_COUNT; action++)
        if (paint_width(action_label((enum action)action)) > 8)
            fail_msg("\"%s\" is too long for a bar", action_label((enum action)action));
}

/* States are words of the person's language, and states still: an act looks at hutchd's word. */
static void test_states(void **state)
{
    struct screen *screen = *state;
    screen_assert(screen, "运行中", true);
    screen_keys(screen, "b");
    screen_assert(screen, "它已在运行", true);
    screen_keys(screen, "&");
    screen_type(screen, "运行中");
    screen_keys(screen, "Enter");
    screen_assert(screen, "shop", true);
    screen_assert(screen, "docs", false);
}

/* Finds an act by what it is called here, as by its English name. */
static void test_palette(void **state)
{
    struct screen *screen = *state;
    screen_keys(screen, ":");
    screen_type(screen, "挂起");
    screen_assert(screen, "suspend", true);
    screen_assert(screen, "redraw", false);
}

/* "" is no message, and what has no translation stays. */
static void test_words(void **state)
{
    (void)state;
    assert_string_equal(_(""), "");
    assert_null(words_find(NULL));
    assert_string_equal(_("no such words anywhere"), "no such words anywhere");
    assert_string_equal(_("help"), "帮助");
}

/* A locale of this name, made of the one that every host has: glibc translates nothing in C.UTF-8. */
static char *make_locale(char *folder)
{
    static const char *const places[] = {"/usr/lib/locale/C.utf8", "/usr/lib64/locale/C.utf8"};
    assert_non_null(mkdtemp(folder));
    for (size_t i = 0; i < countof(places); i++) {
        if (access(places[i], R_OK) != 0)
            continue;
        char *link_name = xasprintf("%s/zh_CN.utf8", folder);
        assert_int_equal(symlink(places[i], link_name), 0);
        return link_name;
    }
    fail_msg("this host has no C.UTF-8 locale");
    return NULL;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_screens),
        cmocka_unit_test(test_demo),
        cmocka_unit_test(test_heads_fit),
        cmocka_unit_test(test_labels_are_short),
        cmocka_unit_test_setup_teardown(test_states, screen_setup, screen_teardown),
        cmocka_unit_test_setup_teardown(test_palette, screen_setup, screen_teardown),
        cmocka_unit_test(test_words),
    };
    char folder[] = "/tmp/hutch-locale-XXXXXX";
    autofree char *link_name = make_locale(folder);
    setenv("LOCPATH", folder, 1);
    setenv("LC_ALL", "zh_CN.UTF-8", 1);
    setenv("HUTCH_LOCALEDIR", HUTCH_TEST_LOCALE, 1);
    unsetenv("LANGUAGE");
    words_begin();
    int rc = cmocka_run_group_tests(tests, NULL, NULL);
    unlink(link_name);
    rmdir(folder);
    return rc;
}
