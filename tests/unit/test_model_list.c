/* The list engine: the cursor is on a row, not on a line. */
#include "tests/screen/screen.h"

#include "base/alloc.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The name under the cursor of the projects. */
static char *cursor_name(struct screen *screen)
{
    app_settle(screen->app);
    const struct project *project =
        projects_find(&screen->app->projects, app_cursor(screen->app, VIEW_PROJECTS));
    return xstrdup(project ? project->name : "");
}

static void assert_cursor(struct screen *screen, const char *name)
{
    autofree char *found = cursor_name(screen);
    assert_string_equal(found, name);
}

static void test_cursor_stays_with_its_row(void **state)
{
    struct screen *screen = *state;
    screen_keys(screen, "j");
    assert_cursor(screen, "api");
    screen_keys(screen, "s"); /* by name: api, docs, shop */
    assert_cursor(screen, "api");
    screen_keys(screen, "j");
    assert_cursor(screen, "docs");
    screen_keys(screen, "s s s s s s s");
    assert_cursor(screen, "docs");
}

static void project_gone(struct screen *screen, const char *name)
{
    const struct project *project = projects_named(&screen->app->projects, name);
    projects_remove(&screen->app->projects, project->number);
    app_news(screen->app, VIEW_PROJECTS);
}

static void test_act_on_a_row_that_vanished_is_refused(void **state)
{
    struct screen *screen = *state;
    screen_keys(screen, "g");
    assert_cursor(screen, "shop");
    project_gone(screen, "shop");
    screen_forget(screen);
    screen_keys(screen, "z");
    assert_int_equal(screen_asked(screen, "POST", "/v1/projects/"), 0);
    screen_assert(screen, "nothing was done: \"shop\" went away", true);
    /* After the person has seen it, the next key is meant for the row that is there. */
    screen_keys(screen, "j k b");
    assert_int_equal(screen_asked(screen, "POST", "/v1/projects/shop"), 0);
}

static void test_act_on_a_tab_of_a_project_that_vanished_is_refused(void **state)
{
    struct screen *screen = *state;
    screen_keys(screen, "g Enter");
    project_gone(screen, "shop");
    screen_forget(screen);
    screen_keys(screen, "z");
    assert_int_equal(screen_asked(screen, "POST", "/v1/projects/"), 0);
}

static void test_answer_to_a_row_that_vanished_is_refused(void **state)
{
    struct screen *screen = *state;
    screen_keys(screen, "g K");
    assert_true(screen->app->confirm.on);
    project_gone(screen, "shop");
    screen_keys(screen, "y");
    assert_int_equal(screen_asked(screen, "POST", "/v1/projects/"), 0);
    screen_assert(screen, "nothing was done: \"shop\" went away", true);
}

static void test_filter_shows_what_matches(void **state)
{
    struct screen *screen = *state;
    screen_keys(screen, "Enter &");
    screen_type(screen, "^[0-9:]+ .*npm (ci|test)");
    screen_keys(screen, "Enter");
    app_settle(screen->app);
    assert_int_equal(screen->app->lists[VIEW_TIMELINE].count, 2);
    screen_keys(screen, "Esc");
    app_settle(screen->app);
    assert_true(screen->app->lists[VIEW_TIMELINE].count > 4);
}

static void test_filter_inverts(void **state)
{
    struct screen *screen = *state;
    screen_keys(screen, "Enter");
    app_settle(screen->app);
    size_t all = screen->app->lists[VIEW_TIMELINE].count;
    screen_keys(screen, "&");
    screen_type(screen, "!npm");
    app_settle(screen->app);
    assert_int_equal(screen->app->lists[VIEW_TIMELINE].count, all - 2);
}

static void test_filter_judges_what_comes_later(void **state)
{
    struct screen *screen = *state;
    screen_keys(screen, "Enter &");
    screen_type(screen, "npm");
    screen_keys(screen, "Enter");
    screen_event(screen,
                 "{\"seq\":200,\"ts_ns\":1795960900000000000,\"project\":\"shop\",\"kind\":\"exec.start\","
                 "\"subject\":\"npm run lint\"}");
    screen_event(screen,
                 "{\"seq\":201,\"ts_ns\":1795960901000000000,\"project\":\"shop\",\"kind\":\"exec.start\","
                 "\"subject\":\"make\"}");
    app_settle(screen->app);
    assert_int_equal(screen->app->lists[VIEW_TIMELINE].count, 3);
}

/* A long list is filtered in slices, the newest rows first; keys are never held up by it. */
static void test_long_lists_are_filtered_in_slices(void **state)
{
    struct screen *screen = *state;
    struct list *list = &screen->app->lists[VIEW_TIMELINE];
    char json[200];
    for (int i = 0; i < 4 * LIST_JUDGED; i++) {
        snprintf(json, sizeof(json),
                 "{\"seq\":%d,\"ts_ns\":1795960900000000000,\"project\":\"shop\",\"kind\":\"exec.start\","
                 "\"subject\":\"c%d\"}",
                 1000 + i, i);
        screen_event(screen, json);
    }
    screen_keys(screen, "Enter G k k &");
    screen_forget(screen);
    screen_type(screen, "c.*[05] ");
    app_draw(screen->app, screen->grid);
    assert_true(list->more && list->count > 0 && list->count < LIST_JUDGED);
    for (int i = 0; i < 10 && list->more; i++) {
        assert_true(screen_find(screen, EFFECT_TIMER)->number <= 20);
        screen_forget(screen);
        screen_time(screen, 20);
        app_draw(screen->app, screen->grid);
    }
    assert_false(list->more);
    assert_int_equal(list->count, 4 * LIST_JUDGED / 5);
    screen_keys(screen, "Esc");
    app_settle(screen->app);
    assert_true(list->count > 4 * LIST_JUDGED);
}

static void test_bad_expression_is_said(void **state)
{
    struct screen *screen = *state;
    screen_keys(screen, "&");
    screen_type(screen, "a(");
    screen_assert(screen, "is no regular expression", true);
    screen_keys(screen, "Esc");
    assert_int_equal(screen->app->input_use, INPUT_NONE);
}

/* Each would take minutes or all memory. */
static void test_costly_expressions_are_refused(void **state)
{
    struct screen *screen = *state;
    struct list *list = &screen->app->lists[VIEW_TIMELINE];
    static const char *const costly[] = {"a{1,255}{1,255}{1,255}", "((a{99}){,99}){99}",
                                         "x{99999999999999999999}", "(.*)\\1\\1b"};
    static const char *const said[] = {"repeats more than", "repeats more than", "repeats more than",
                                       "cannot be used here"};
    alarm(20);
    for (size_t i = 0; i < countof(costly); i++) {
        auto(error) struct error *err = NULL;
        assert_int_equal(pattern_set(&list->search, costly[i], false, &err), -ERROR_INVALID);
        assert_non_null(strstr(err->message, said[i]));
        assert_false(list->search.on);
    }
    static const char *const cheap[] = {"[0-9]{4}-[0-9]{2}-[0-9]{2}", "a\\{5000}", "(a*)*b", "\\\\1"};
    for (size_t i = 0; i < countof(cheap); i++)
        assert_int_equal(pattern_set(&list->search, cheap[i], false, NULL), 0);
    alarm(0);
}

static void test_search_goes_round(void **state)
{
    struct screen *screen = *state;
    struct list *list = &screen->app->lists[VIEW_TIMELINE];
    screen_keys(screen, "Enter g /");
    screen_type(screen, "npm");
    screen_keys(screen, "Enter");
    size_t first = list->at;
    screen_keys(screen, "n");
    size_t second = list->at;
    assert_true(second > first);
    screen_keys(screen, "n");
    assert_int_equal(list->at, first);
    screen_keys(screen, "N");
    assert_int_equal(list->at, second);
    screen_keys(screen, "/");
    screen_type(screen, "nowhere");
    screen_assert(screen, "not found", true);
    screen_keys(screen, "Enter");
    screen_assert(screen, "not found: nowhere", true);
}

static void test_rows_fold(void **state)
{
    struct screen *screen = *state;
    struct list *list = &screen->app->lists[VIEW_TIMELINE];
    screen_keys(screen, "Enter g");
    size_t folded = list->count;
    screen_keys(screen, "/");
    screen_type(screen, "npm ci");
    screen_keys(screen, "Enter Esc Enter");
    app_settle(screen->app);
    assert_int_equal(list->count, folded + 2);
    screen_assert(screen, "copied in", true);
    screen_keys(screen, "j Left"); /* from a row below to the one that it belongs to */
    screen_keys(screen, "Left");
    app_settle(screen->app);
    assert_int_equal(list->count, folded);
    screen_keys(screen, "*");
    app_settle(screen->app);
    assert_int_equal(list->count, folded + 2);
}

static void test_follow_stays_at_the_newest(void **state)
{
    struct screen *screen = *state;
    struct list *list = &screen->app->lists[VIEW_TIMELINE];
    char json[200];
    screen_keys(screen, "Enter");
    assert_true(list->follow);
    for (int i = 0; i < 40; i++) {
        snprintf(json, sizeof(json),
                 "{\"seq\":%d,\"ts_ns\":1795960900000000000,\"project\":\"shop\",\"kind\":\"git.clone\","
                 "\"subject\":\"r%d\"}",
                 300 + i, i);
        screen_event(screen, json);
    }
    app_settle(screen->app);
    assert_int_equal(list->cursor, 339);
    screen_keys(screen, "k");
    assert_false(list->follow);
    size_t top = list->top;
    screen_event(screen, "{\"seq\":400,\"project\":\"shop\",\"kind\":\"git.clone\",\"subject\":\"late\"}");
    app_settle(screen->app);
    assert_int_equal(list->cursor, 338);
    assert_int_equal(list->top, top);
    screen_keys(screen, "G");
    assert_int_equal(list->cursor, 400);
    assert_true(list->follow);
}

static void test_paging_ends_at_the_ends(void **state)
{
    struct screen *screen = *state;
    screen_keys(screen, "PageDown PageDown");
    assert_cursor(screen, "docs");
    screen_keys(screen, "PageUp ^u");
    assert_cursor(screen, "shop");
    screen_keys(screen, "G");
    assert_cursor(screen, "docs");
}

static void test_marks(void **state)
{
    struct screen *screen = *state;
    screen_keys(screen, "g m");
    assert_cursor(screen, "api");
    assert_int_equal(screen->app->lists[VIEW_PROJECTS].mark_count, 1);
    screen_keys(screen, "Esc");
    assert_int_equal(screen->app->lists[VIEW_PROJECTS].mark_count, 0);
}

static void test_ring_is_bounded_and_says_so(void **state)
{
    struct screen *screen = *state;
    char json[200];
    screen->app->events.most = 100;
    for (int i = 0; i < 1000; i++) {
        snprintf(json, sizeof(json),
                 "{\"seq\":%d,\"ts_ns\":1795960900000000000,\"project\":\"shop\",\"kind\":\"exec.start\","
                 "\"subject\":\"c%d\"}",
                 1000 + i, i);
        screen_event(screen, json);
    }
    assert_int_equal(screen->app->events.end - screen->app->events.first, 100);
    screen_keys(screen, "Enter g");
    assert_int_equal(screen->app->lists[VIEW_TIMELINE].count, 100);
    screen_assert(screen, "older: hutch log", true);
    assert_int_equal(app_cursor(screen->app, VIEW_TIMELINE), 1900);
    /* Ends of commands whose start was dropped stand for themselves. */
    screen_event(screen,
                 "{\"seq\":3000,\"project\":\"shop\",\"kind\":\"exec.end\",\"subject\":\"c1\",\"exit\":3}");
    screen_keys(screen, "G");
    screen_assert(screen, "exit 3", true);
}

/* A command whose end nobody told does not run on in a machine that is off. */
static void test_commands_end_with_their_machine(void **state)
{
    struct screen *screen = *state;
    screen_event(screen,
                 "{\"seq\":600,\"project\":\"shop\",\"kind\":\"exec.start\",\"subject\":\"sleep 9\"}");
    screen_event(screen, "{\"seq\":601,\"project\":\"api\",\"kind\":\"lifecycle.stop\",\"subject\":\"api\"}");
    const struct event *event = events_find(&screen->app->events, 600, NULL);
    assert_false(event->ended);
    screen_event(screen,
                 "{\"seq\":602,\"project\":\"shop\",\"kind\":\"lifecycle.stop\",\"subject\":\"shop\"}");
    assert_true(event->ended);
    screen_keys(screen, "Enter G");
    screen_assert(screen, "ended", true);
    /* its own end may still come */
    screen_event(
        screen,
        "{\"seq\":603,\"project\":\"shop\",\"kind\":\"exec.end\",\"subject\":\"sleep 9\",\"exit\":7}");
    assert_int_equal(event->exit, 7);
}

/* Also when it was saved and then stopped, and when it boots anew after something that nobody saw. */
static void test_commands_end_also_unseen(void **state)
{
    struct screen *screen = *state;
    static const char *const ends[] = {"lifecycle.drop", "lifecycle.start", "lifecycle.remove"};
    for (int i = 0; i < (int)countof(ends); i++) {
        char json[200];
        snprintf(json, sizeof(json),
                 "{\"seq\":%d,\"project\":\"shop\",\"session\":\"s%d\",\"kind\":\"exec.start\",\"subject\":"
                 "\"bash\"}",
                 700 + 2 * i, i);
        screen_event(screen, json);
        const struct event *event = events_find(&screen->app->events, 700 + 2 * i, NULL);
        assert_false(event->ended);
        snprintf(json, sizeof(json), "{\"seq\":%d,\"project\":\"shop\",\"kind\":\"%s\",\"subject\":\"x\"}",
                 701 + 2 * i, ends[i]);
        screen_event(screen, json);
        assert_true(event->ended && event->with_machine);
    }
    screen_size(screen, 40, 120);
    screen_keys(screen, "Enter G k");
    screen_assert(screen, "it ended with the machine", true);
}

/* At the first row older ones of the project are asked for; the cursor stays with its row, and what began
 * before and ended after is one row. */
static void test_older_events_come_on_demand(void **state)
{
    struct screen *screen = *state;
    screen_event(screen,
                 "{\"seq\":800,\"project\":\"docs\",\"session\":\"s9\",\"kind\":\"exec.end\",\"subject\":"
                 "\"longer\",\"exit\":3}");
    size_t had = screen->app->events.end - screen->app->events.first;
    uint64_t cursor, id;
    screen_keys(screen, "G Enter g");
    cursor = app_cursor(screen->app, VIEW_TIMELINE);
    int64_t oldest = events_oldest(&screen->app->events, screen->app->event_project);
    autofree char *path = xasprintf("/v1/events?project=docs&before=%lld&limit=500", (long long)oldest);
    id = screen_asked(screen, "GET", path);
    assert_int_not_equal(id, 0);
    screen_keys(screen, "k k"); /* one page at a time */
    assert_int_equal(screen_asked(screen, "GET", path), id);
    screen_line(
        screen, id,
        "{\"seq\":1,\"ts_ns\":1,\"project\":\"docs\",\"kind\":\"git.clone\",\"subject\":\"first of all\"}");
    screen_line(screen, id,
                "{\"seq\":2,\"ts_ns\":2,\"project\":\"docs\",\"session\":\"s9\",\"kind\":\"exec.start\","
                "\"subject\":\"longer\"}");
    screen_line(screen, id,
                "{\"seq\":3,\"ts_ns\":3,\"project\":\"docs\",\"session\":\"s9\",\"kind\":\"file.put\","
                "\"subject\":\"below it\"}");
    screen_line(screen, id,
                "{\"seq\":5000,\"project\":\"docs\",\"kind\":\"git.clone\",\"subject\":\"not older\"}");
    screen_answer(screen, id, NULL);
    assert_int_equal(screen->app->events.end - screen->app->events.first, had + 3);
    app_draw(screen->app, screen->grid);
    assert_int_equal(app_cursor(screen->app, VIEW_TIMELINE), cursor);
    for (size_t at = screen->app->events.first + 1; at < screen->app->events.end; at++)
        assert_true(events_at(&screen->app->events, at - 1)->seq < events_at(&screen->app->events, at)->seq);
    const struct event *start = events_find(&screen->app->events, 2, NULL);
    assert_int_equal(start->exit, 3);
    assert_int_equal(start->children, 1);
    assert_int_equal(events_at(&screen->app->events, start->child - 1)->seq, 3);
    screen_keys(screen, "g");
    screen_assert(screen, "first of all", true);
    /* fewer than a page: there is nothing older, and it is not asked for again */
    screen_forget(screen);
    screen_keys(screen, "g k");
    assert_int_equal(screen_asked(screen, "GET", "/v1/events?project=docs"), 0);
}

static void test_wrap_shows_all_of_a_row(void **state)
{
    struct screen *screen = *state;
    screen_event(
        screen,
        "{\"seq\":500,\"project\":\"shop\",\"kind\":\"exec.start\",\"subject\":\"echo "
        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
        " THE-END\"}");
    screen_keys(screen, "Enter G");
    screen_assert(screen, "THE-END", false);
    screen_keys(screen, "w");
    screen_assert(screen, "THE-END", true);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, screen_setup, screen_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_cursor_stays_with_its_row),
        TEST(test_act_on_a_row_that_vanished_is_refused),
        TEST(test_act_on_a_tab_of_a_project_that_vanished_is_refused),
        TEST(test_answer_to_a_row_that_vanished_is_refused),
        TEST(test_filter_shows_what_matches),
        TEST(test_filter_inverts),
        TEST(test_filter_judges_what_comes_later),
        TEST(test_long_lists_are_filtered_in_slices),
        TEST(test_bad_expression_is_said),
        TEST(test_costly_expressions_are_refused),
        TEST(test_search_goes_round),
        TEST(test_rows_fold),
        TEST(test_follow_stays_at_the_newest),
        TEST(test_paging_ends_at_the_ends),
        TEST(test_marks),
        TEST(test_ring_is_bounded_and_says_so),
        TEST(test_commands_end_with_their_machine),
        TEST(test_older_events_come_on_demand),
        TEST(test_commands_end_also_unseen),
        TEST(test_wrap_shows_all_of_a_row),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
