/* What a person who sees the screen for the first time stumbles over: columns, words, waiting, several rows,
 * clicks. */
#include "tests/screen/screen.h"

#include "base/alloc.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define TEST(name)                      cmocka_unit_test_setup_teardown(name, screen_setup, screen_teardown)
#define assert_shown(screen, words)     screen_assert(screen, words, true)
#define assert_not_shown(screen, words) screen_assert(screen, words, false)

/* The answer to a project that was asked for anew. */
static void refresh(struct screen *screen, const char *name, const char *json)
{
    autofree char *event =
        xasprintf("{\"seq\":%d,\"ts_ns\":%lld,\"project\":\"%s\",\"kind\":\"lifecycle.start\"}",
                  (int)screen->app->events.last_seq + 1, (long long)screen->now_ns, name);
    autofree char *path = xasprintf("/v1/projects/%s", name);
    screen_event(screen, event);
    uint64_t id = screen_asked(screen, "GET", path);
    assert_int_not_equal(id, 0);
    screen_answer(screen, id, json);
}

/* ---- the table of projects ---- */

/* The answer of an act names a project that is not in the list: the list moves, the act's own project is
 * asked for all the same. */
static void test_an_answer_about_another_project(void **state)
{
    struct screen *screen = *state;
    screen_keys(screen, "g K y");
    uint64_t id = screen_asked(screen, "POST", "/v1/projects/shop/stop");
    screen_forget(screen);
    screen_answer(screen, id, "{\"id\":\"p9\",\"name\":\"other\",\"state\":\"run\"}");
    assert_int_not_equal(screen_asked(screen, "GET", "/v1/projects/shop"), 0);
    screen_assert(screen, "other", true);
}

static void test_now_is_what_runs(void **state)
{
    struct screen *screen = *state;
    autofree char *shell = screen_row(screen, 2);
    assert_non_null(strstr(shell, "a shell is open"));
    assert_null(strstr(shell, "EMULATED"));
    screen_event(screen,
                 "{\"seq\":112,\"ts_ns\":1795960899000000000,\"project\":\"shop\",\"kind\":\"exec.start\","
                 "\"subject\":\"make check\",\"session\":\"s7\"}");
    screen_event(screen,
                 "{\"seq\":113,\"ts_ns\":1795960900000000000,\"project\":\"shop\",\"kind\":\"exec.start\","
                 "\"subject\":\"(login shell)\",\"session\":\"s8\"}");
    autofree char *command = screen_row(screen, 2);
    assert_non_null(strstr(command, "make check"));
}

static void test_columns_without_values_are_left_out_everywhere(void **state)
{
    static const int sizes[][2] = {{24, 80}, {40, 120}, {50, 160}, {60, 200}};
    static const char *const titles[] = {"AGENT", "WAIT", "NET/s"};
    struct screen *screen = *state;
    for (size_t i = 0; i < countof(sizes); i++) {
        screen_size(screen, sizes[i][0], sizes[i][1]);
        autofree char *row = screen_row(screen, 1);
        for (size_t j = 0; j < countof(titles); j++)
            assert_null(strstr(row, titles[j]));
        assert_non_null(strstr(row, "DISK"));
    }
    refresh(screen, "shop",
            "{\"id\":\"p1\",\"name\":\"shop\",\"state\":\"run\",\"agent\":\"codex\",\"waiting\":1,"
            "\"net_rate\":12,\"disk\":1}");
    for (size_t i = 0; i < countof(sizes); i++) {
        screen_size(screen, sizes[i][0], sizes[i][1]);
        autofree char *row = screen_row(screen, 1);
        assert_non_null(strstr(row, "WAIT"));
        assert_non_null(strstr(row, "NOW"));
        if (sizes[i][1] != 160)
            assert_non_null(strstr(row, "AGENT"));
    }
}

static void test_a_project_does_not_show_the_past_of_its_name(void **state)
{
    struct screen *screen = *state;
    assert_shown(screen, "npm ci");
    screen_event(
        screen,
        "{\"seq\":120,\"ts_ns\":1795960900000000000,\"project\":\"shop\",\"kind\":\"lifecycle.remove\","
        "\"subject\":\"shop\"}");
    screen_event(
        screen,
        "{\"seq\":121,\"ts_ns\":1795960901000000000,\"project\":\"shop\",\"kind\":\"lifecycle.create\","
        "\"subject\":\"alpine\"}");
    assert_not_shown(screen, "npm ci");
    assert_not_shown(screen, "a shell is open");
    assert_shown(screen, "project is made from template alpine");
}

static void test_each_projects_events_are_asked_for(void **state)
{
    struct screen *screen = *state;
    assert_int_not_equal(screen_asked(screen, "GET", "/v1/events?follow=1&limit=2000&each=500"), 0);
}

/* ---- waiting ---- */

static void test_progress_says_what_is_usual(void **state)
{
    struct screen *screen = *state;
    screen_keys(screen, "j j b p");
    uint64_t id = screen_asked(screen, "POST", "/v1/projects/docs/start");
    screen_line(screen, id, "{\"phase\":\"kernel\",\"text\":\"the kernel starts\",\"done\":0,\"total\":0}");
    screen_time(screen, 4000);
    assert_shown(screen, "leaving this view stops nothing");
    assert_shown(screen, "this step takes 10 to 30 s (EMULATED)");
    assert_shown(screen, "4.0s");
    screen_line(screen, id, "{\"phase\":\"up.identity\",\"text\":\"setting clock\",\"done\":0,\"total\":0}");
    assert_not_shown(screen, "this step takes");
    assert_not_shown(screen, "up.identity");
    screen_line(screen, id, "{\"phase\":\"wake.restore\",\"text\":\"reading\",\"done\":0,\"total\":0}");
    assert_not_shown(screen, "this step takes"); /* emulated, nothing that holds is known of it */
}

/* The step of hutchd and what is told of it are one row. */
static void test_a_step_is_one_row_of_the_progress(void **state)
{
    struct screen *screen = *state;
    screen_keys(screen, "j j b p");
    uint64_t id = screen_asked(screen, "POST", "/v1/projects/docs/start");
    screen_line(screen, id, "{\"phase\":\"up.repos\",\"text\":\"bringing it in\",\"done\":0,\"total\":0}");
    screen_line(screen, id, "{\"phase\":\"repos\",\"text\":\"shop: objects\",\"done\":1,\"total\":4}");
    assert_shown(screen, "shop: objects");
    assert_not_shown(screen, "bringing it in");
    screen_time(screen, 3000);
    screen_line(screen, id, "{\"phase\":\"repos\",\"warning\":\"w\",\"text\":\"no submodules\"}");
    screen_time(screen, 3000);
    assert_shown(screen, "note repos"); /* what runs is still the step above */
    assert_shown(screen, "now  repos");
    assert_shown(screen, "6.0s");
}

static void test_a_machine_that_is_being_saved_says_so(void **state)
{
    struct screen *screen = *state;
    refresh(screen, "docs", "{\"id\":\"p3\",\"name\":\"docs\",\"state\":\"saving\"}");
    screen_keys(screen, "G");
    assert_shown(screen, "saving");
    screen_keys(screen, "b");
    assert_shown(screen, "it is still being saved");
}

static void test_an_empty_console_says_what_it_is(void **state)
{
    struct screen *screen = *state;
    screen_keys(screen, "6");
    assert_shown(screen, "the log of the machine's serial console");
    assert_shown(screen, "opens a terminal in it, ! a new shell");
    assert_shown(screen, "own log: hutch exec shop");
}

/* ---- what is said ---- */

/* What went well goes by itself; what was refused stays until a key. */
static void test_a_notice_goes_after_a_while(void **state)
{
    struct screen *screen = *state;
    screen_keys(screen, "Home z");
    assert_shown(screen, "the same key resumes it");
    screen_time(screen, 7000);
    assert_shown(screen, "the same key resumes it");
    screen_time(screen, 1100);
    assert_not_shown(screen, "the same key resumes it");
    screen_keys(screen, "G z"); /* docs is saved */
    assert_shown(screen, "docs: ");
    screen_time(screen, 9000);
    assert_shown(screen, "docs: ");
}

static void test_a_failure_is_logged_once(void **state)
{
    struct screen *screen = *state;
    screen_keys(screen, "G b");
    screen_fail(screen, screen_asked(screen, "POST", "/v1/projects/docs/start"), ERROR_STATE,
                "the disk is full");
    size_t count = 0;
    for (size_t at = screen->app->entry_first; at < screen->app->entry_end; at++)
        count += strstr(act_entry(screen->app, at)->words, "the disk is full") != NULL;
    assert_int_equal(count, 1);
}

static void test_a_long_list_says_that_it_goes_on(void **state)
{
    struct screen *screen = *state;
    screen_keys(screen, "?");
    assert_shown(screen, "more rows below");
    screen_keys(screen, "G");
    assert_not_shown(screen, "more rows below");
}

/* ---- several rows ---- */

static void test_acts_go_to_the_marked_rows(void **state)
{
    struct screen *screen = *state;
    refresh(screen, "api", "{\"id\":\"p2\",\"name\":\"api\",\"state\":\"run\"}");
    screen_forget(screen);
    screen_keys(screen, "Home m m m");
    assert_shown(screen, "3 rows are marked");
    screen_keys(screen, "z"); /* docs is saved: it cannot be paused, the others can */
    assert_shown(screen, "pause: ");
    assert_int_not_equal(screen_asked(screen, "POST", "/v1/projects/shop/pause"), 0);
    uint64_t api = screen_asked(screen, "POST", "/v1/projects/api/pause");
    uint64_t shop = screen_asked(screen, "POST", "/v1/projects/shop/pause");
    assert_int_not_equal(api, 0);
    assert_int_equal(screen_asked(screen, "POST", "/v1/projects/docs/"), 0);
    assert_int_equal(screen->app->lists[VIEW_PROJECTS].mark_count, 0);
    screen_fail(screen, shop, ERROR_STATE, "the disk is full");
    screen_fail(screen, api, ERROR_STATE, "\"api\" is away");
    assert_shown(screen, "shop: the disk is full; \"api\" is away");
}

static void test_several_are_removed_by_their_number(void **state)
{
    struct screen *screen = *state;
    screen_keys(screen, "Home m j m Delete");
    assert_shown(screen, "remove: shop, docs?");
    screen_type(screen, "shop");
    screen_keys(screen, "Enter");
    assert_int_equal(screen_asked(screen, "DELETE", "/v1/projects/"), 0);
    screen_keys(screen, "^u");
    screen_type(screen, "all 2");
    screen_keys(screen, "Enter");
    assert_int_not_equal(screen_asked(screen, "DELETE", "/v1/projects/shop"), 0);
    assert_int_not_equal(screen_asked(screen, "DELETE", "/v1/projects/docs"), 0);
    assert_int_equal(screen_asked(screen, "DELETE", "/v1/projects/api"), 0);
}

/* hutchd is told which project is meant, not only what it is called. */
static void test_acts_say_which_project(void **state)
{
    struct screen *screen = *state;
    screen_keys(screen, "Home z !");
    assert_int_not_equal(screen_asked(screen, "POST", "/v1/projects/shop/pause?id=p1"), 0);
    assert_int_not_equal(screen_asked(screen, "POST", "/v1/projects/shop/sessions?id=p1"), 0);
    projects_named(&screen->app->projects, "shop")->loses = xstrdup("work");
    screen_keys(screen, "Home X");
    screen_type(screen, "shop");
    screen_keys(screen, "Enter");
    assert_int_not_equal(screen_asked(screen, "DELETE", "/v1/projects/shop?discard_work=1&id=p1"), 0);
}

static void test_a_marked_row_that_goes_away_is_named(void **state)
{
    struct screen *screen = *state;
    screen_keys(screen, "Home m m");
    screen_keys(screen, "K");
    assert_shown(screen, "stop: shop, api?");
    screen_event(
        screen,
        "{\"seq\":150,\"ts_ns\":9000000000000000000,\"project\":\"api\",\"kind\":\"lifecycle.remove\"}");
    screen_fail(screen, screen_asked(screen, "GET", "/v1/projects/api"), ERROR_NOT_FOUND, "gone");
    screen_keys(screen, "y");
    assert_int_not_equal(screen_asked(screen, "POST", "/v1/projects/shop/stop"), 0);
    assert_int_equal(screen_asked(screen, "POST", "/v1/projects/api/"), 0);
    assert_shown(screen, "not done: api: it went away");
}

static void test_what_is_said_of_a_project_goes_with_it(void **state)
{
    struct screen *screen = *state;
    screen_keys(screen, "Home z");
    assert_shown(screen, "the same key resumes it");
    screen_event(
        screen,
        "{\"seq\":150,\"ts_ns\":9000000000000000000,\"project\":\"shop\",\"kind\":\"lifecycle.remove\"}");
    screen_fail(screen, screen_asked(screen, "GET", "/v1/projects/shop"), ERROR_NOT_FOUND, "gone");
    assert_not_shown(screen, "the same key resumes it");
}

/* ---- clicks, and what the screen does by itself ---- */

static void click(struct screen *screen, const char *words)
{
    for (int row = 0; row < screen->app->rows; row++) {
        autofree char *line = screen_row(screen, row);
        const char *at = strstr(line, words);
        if (!at)
            continue;
        struct message message = {.type = MESSAGE_KEY, .now_ns = screen->now_ns};
        message.key = (struct key_event){
            .type = KEY_EVENT_MOUSE, .act = MOUSE_PRESS, .row = row, .column = (int)(at - line)};
        app_update(screen->app, &message, &screen->effects);
        return;
    }
    fail_msg("\"%s\" is not shown", words);
}

static void test_tabs_and_the_bar_can_be_clicked(void **state)
{
    struct screen *screen = *state;
    click(screen, "4 Info");
    assert_int_equal(screen->app->tab, VIEW_INFO);
    click(screen, "1 Timeline");
    assert_int_equal(screen->app->tab, VIEW_TIMELINE);
    screen_keys(screen, "q");
    click(screen, "pause");
    assert_int_not_equal(screen_asked(screen, "POST", "/v1/projects/shop/pause"), 0);
    click(screen, "help");
    assert_int_equal(app_view(screen->app), VIEW_HELP);
}

static void test_what_was_not_copied_is_said(void **state)
{
    struct screen *screen = *state;
    screen_keys(screen, "y");
    assert_shown(screen, "copied: shop");
    screen_fail(screen, screen_find(screen, EFFECT_COPY)->id, ERROR_LIMIT, "it is too long for a clipboard");
    assert_shown(screen, "not copied: it is too long for a clipboard");
}

static void test_a_dump_says_how_it_went(void **state)
{
    struct screen *screen = *state;
    for (int i = 0; i < 2; i++) {
        screen_forget(screen);
        screen_keys(screen, ":");
        screen_type(screen, "dump");
        screen_keys(screen, "Enter ^u");
        screen_type(screen, "/no/file");
        screen_keys(screen, "Enter");
        uint64_t id = screen_find(screen, EFFECT_DUMP)->id;
        if (i == 0)
            screen_fail(screen, id, ERROR_NOT_FOUND, "\"/no\" is not there");
        else
            screen_answer(screen, id, NULL);
        assert_shown(screen, i == 0 ? "not written: \"/no\" is not there" : "was written to /no/file");
    }
}

static void test_a_template_of_ones_own_is_edited(void **state)
{
    struct screen *screen = *state;
    screen_keys(screen, "T");
    uint64_t id = screen_asked(screen, "GET", "/v1/templates");
    screen_line(screen, id, "{\"name\":\"debian-13\",\"user_file\":false,\"path\":\"/usr/share/x.ini\"}");
    screen_line(screen, id, "{\"name\":\"mine\",\"user_file\":true,\"path\":\"/home/you/mine.ini\"}");
    screen_answer(screen, id, NULL);
    screen_keys(screen, "Home e");
    assert_shown(screen, "it came with hutch");
    assert_int_equal(screen_count(screen, EFFECT_EDIT), 0);
    screen_keys(screen, "j e");
    assert_string_equal(screen_find(screen, EFFECT_EDIT)->text, "/home/you/mine.ini");
    id = screen_find(screen, EFFECT_EDIT)->id;
    screen_down(screen); /* an editor outlives hutchd */
    screen_up(screen);
    screen_fail(screen, id, ERROR_FAILED, "the editor ended with status 1");
    assert_shown(screen, "the editor ended with status 1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_an_answer_about_another_project),
        TEST(test_now_is_what_runs),
        TEST(test_columns_without_values_are_left_out_everywhere),
        TEST(test_a_project_does_not_show_the_past_of_its_name),
        TEST(test_each_projects_events_are_asked_for),
        TEST(test_progress_says_what_is_usual),
        TEST(test_a_step_is_one_row_of_the_progress),
        TEST(test_a_notice_goes_after_a_while),
        TEST(test_a_failure_is_logged_once),
        TEST(test_a_long_list_says_that_it_goes_on),
        TEST(test_a_machine_that_is_being_saved_says_so),
        TEST(test_an_empty_console_says_what_it_is),
        TEST(test_acts_go_to_the_marked_rows),
        TEST(test_several_are_removed_by_their_number),
        TEST(test_a_marked_row_that_goes_away_is_named),
        TEST(test_what_is_said_of_a_project_goes_with_it),
        TEST(test_tabs_and_the_bar_can_be_clicked),
        TEST(test_acts_say_which_project),
        TEST(test_what_was_not_copied_is_said),
        TEST(test_a_dump_says_how_it_went),
        TEST(test_a_template_of_ones_own_is_edited),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
