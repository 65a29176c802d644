/* The tables of the screen: acts, keys, views and the bars that name them. */
#include "tests/screen/screen.h"

#include "base/alloc.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>
#include <string.h>

static void test_acts_explain_themselves(void **state)
{
    (void)state;
    for (int one = ACTION_NONE + 1; one < ACTION_COUNT; one++) {
        const struct action_info *info = &action_table[one];
        assert_true(strlen(info->name) > 0 && strlen(info->name) <= 32);
        assert_int_equal(strspn(info->name, "abcdefghijklmnopqrstuvwxyz0123456789-"), strlen(info->name));
        assert_true(strlen(info->label) > 0 && strlen(info->label) <= 12);
        assert_true(strlen(info->help) > strlen(info->label));
        assert_int_equal(action_find(info->name), one);
        /* What asks has a command line that can be read before it is done. */
        assert_true(info->weight < WEIGHT_MODERATE || *info->twin);
    }
    assert_int_equal(action_find("no-such-act"), ACTION_NONE);
}

static void test_keys_are_bound_once(void **state)
{
    (void)state;
    struct bindings bindings;
    auto(error) struct error *err = NULL;
    bindings_init(&bindings);
    if (bindings_check(&bindings, &err) < 0)
        fail_msg("%s", err->message);
    for (size_t i = 0; i < bindings.count; i++)
        assert_false(key_reserved(&bindings.list[i].key));
    bindings_finish(&bindings);
}

/* The check itself finds what it is for. */
static void test_a_key_that_is_bound_twice_is_found(void **state)
{
    (void)state;
    struct bindings bindings;
    auto(error) struct error *err = NULL;
    bindings_init(&bindings);
    assert_int_equal(bindings_set(&bindings, KEYMAP_PROJECT, ACTION_STOP, "b", NULL), 0);
    assert_true(bindings_check(&bindings, &err) < 0);
    assert_non_null(strstr(err->message, "\"b\""));
    bindings_finish(&bindings);
}

static void test_reserved_keys_are_refused(void **state)
{
    (void)state;
    static const char *const keys[] = {"^Z", "^C", "^S", "^Q", "^z", "F5 ^c"};
    struct bindings bindings;
    bindings_init(&bindings);
    for (size_t i = 0; i < countof(keys); i++) {
        auto(error) struct error *err = NULL;
        size_t count = bindings.count;
        assert_true(bindings_set(&bindings, KEYMAP_NONE, ACTION_STOP, keys[i], &err) < 0);
        assert_int_equal(bindings.count, count);
    }
    bindings_finish(&bindings);
}

static void test_bars_name_keys_that_work(void **state)
{
    (void)state;
    struct bindings bindings;
    bindings_init(&bindings);
    for (int id = VIEW_NONE + 1; id < VIEW_COUNT; id++) {
        const struct view *view = view_table[id];
        char key[24];
        assert_non_null(view->bar);
        for (const enum action *one = view->bar; *one; one++) {
            if (!view_key(view, &bindings, *one, key) || !app_does(view, *one))
                fail_msg("the bar of %s names %s", view->name, action_table[*one].name);
        }
    }
    bindings_finish(&bindings);
}

static void test_views_are_whole(void **state)
{
    (void)state;
    for (int id = VIEW_NONE + 1; id < VIEW_COUNT; id++) {
        const struct view *view = view_table[id];
        int rest = 0, count = 0;
        assert_non_null(view->name);
        assert_non_null(view->title);
        assert_non_null(view->end);
        assert_non_null(view->identity);
        assert_non_null(view->cell);
        for (; view->columns[count].title; count++)
            rest += view->columns[count].width == 0;
        assert_true(count > 0 && count < COLUMNS_MAX);
        assert_int_equal(rest, 1);
        assert_true(!view->acts || (view->act && view->label));
        assert_true(!(view->flags & VIEW_TREE) || (view->child && view->sibling));
    }
    assert_int_equal(view_tab(1), VIEW_TIMELINE);
    assert_int_equal(view_tab_number(VIEW_TIMELINE), 1);
    assert_int_equal(view_tab_number(VIEW_PROJECTS), 0);
}

/* Each act that is a row's can be done by some key, and each key of a project's map is an act that exists. */
static void test_acts_of_rows_have_keys(void **state)
{
    (void)state;
    struct bindings bindings;
    bindings_init(&bindings);
    for (int id = VIEW_NONE + 1; id < VIEW_COUNT; id++) {
        char key[24];
        for (const enum action *one = view_table[id]->acts; one && *one; one++)
            assert_true(view_key(view_table[id], &bindings, *one, key));
    }
    bindings_finish(&bindings);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_acts_explain_themselves),
        cmocka_unit_test(test_keys_are_bound_once),
        cmocka_unit_test(test_a_key_that_is_bound_twice_is_found),
        cmocka_unit_test(test_reserved_keys_are_refused),
        cmocka_unit_test(test_bars_name_keys_that_work),
        cmocka_unit_test(test_views_are_whole),
        cmocka_unit_test(test_acts_of_rows_have_keys),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
