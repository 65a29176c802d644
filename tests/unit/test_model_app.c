/* The reducer: what is asked of hutchd, what comes of its answers, what is asked of the person. */
#include "tests/screen/screen.h"

#include "base/alloc.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#define assert_shown(screen, words) screen_assert(screen, words, true)

static void test_up_asks_for_what_is_shown(void **state)
{
    struct screen *screen = *state;
    assert_null(screen->effects.first);
    screen_up(screen);
    assert_int_not_equal(screen_asked(screen, "GET", "/v1/projects"), 0);
    assert_int_not_equal(screen_asked(screen, "GET", "/v1/events?follow=1&limit=2000"), 0);
    assert_int_not_equal(screen_asked(screen, "GET", "/v1/find?folder=%2Fhome%2Fyou%2Fsrc%2Fapi"), 0);
}

static void test_projects_that_cannot_be_listed(void **state)
{
    struct screen *screen = *state;
    screen_up(screen);
    assert_shown(screen, "asking hutchd for the projects ...");
    screen_fail(screen, screen_asked(screen, "GET", "/v1/projects"), ERROR_IO, "the disk is on fire");
    assert_shown(screen, "the projects cannot be listed: the disk is on fire");
}

static void test_project_of_the_folder_is_shown_first(void **state)
{
    struct screen *screen = *state;
    screen_fill(screen);
    screen_answer(screen, screen_asked(screen, "GET", "/v1/find"), "{\"name\":\"api\"}");
    assert_string_equal(app_project(screen->app)->name, "api");
    assert_shown(screen, "> api");
}

/* The repository here is in a project that has another folder: nothing is proposed, that one is shown. */
static void test_a_repository_that_is_taken_in_is_not_proposed(void **state)
{
    struct screen *screen = *state;
    screen->app->repository = xstrdup("/home/you/src/api");
    screen_fill(screen);
    screen_fail(screen, screen_asked(screen, "GET", "/v1/find?folder="), ERROR_NOT_FOUND, "none");
    assert_null(screen->app->notice);
    uint64_t id = screen_asked(screen, "GET", "/v1/find?repository=%2Fhome%2Fyou%2Fsrc%2Fapi");
    screen_answer(screen, id, "{\"name\":\"api\"}");
    assert_string_equal(app_project(screen->app)->name, "api");
    screen_assert(screen, "makes a project", false);
}

static void test_a_repository_of_no_project_is_proposed(void **state)
{
    struct screen *screen = *state;
    screen->app->repository = xstrdup("/home/you/src/api");
    screen_fill(screen);
    screen_fail(screen, screen_asked(screen, "GET", "/v1/find?folder="), ERROR_NOT_FOUND, "none");
    screen_fail(screen, screen_asked(screen, "GET", "/v1/find?repository="), ERROR_NOT_FOUND, "none");
    assert_shown(screen, "c makes a project of the repository here");
}

/* The line above the keys is there to say how an act went, not to stay. */
static void test_the_last_act_goes(void **state)
{
    struct screen *screen = *state;
    screen_fill(screen);
    screen_keys(screen, "K y j"); /* a key of the time when it runs takes nothing away */
    assert_shown(screen, "$ hutch stop shop");
    screen_answer(screen, screen_asked(screen, "POST", "/v1/projects/shop/stop"), "{\"name\":\"shop\"}");
    screen_time(screen, 1000);
    assert_shown(screen, "$ hutch stop shop");
    screen_time(screen, 8000);
    screen_assert(screen, "$ hutch", false);

    screen_forget(screen);
    screen_keys(screen, "K y");
    screen_answer(screen, screen_asked(screen, "POST", "/v1/projects/api/stop"), "{\"name\":\"api\"}");
    assert_shown(screen, "$ hutch stop api");
    screen_keys(screen, "c"); /* nor does it stand on the form */
    screen_assert(screen, "$ hutch", false);
}

static void test_start_wakes_what_is_saved(void **state)
{
    struct screen *screen = *state;
    screen_fill(screen);
    screen_keys(screen, "G");
    assert_shown(screen, "b wake");
    screen_keys(screen, "x");
    assert_shown(screen, "b        wake         start the machine, or wake");
}

/* A person who has moved already is not led away. */
static void test_a_late_answer_moves_nobody(void **state)
{
    struct screen *screen = *state;
    screen_fill(screen);
    screen_keys(screen, "G");
    screen_answer(screen, screen_asked(screen, "GET", "/v1/find"), "{\"name\":\"api\"}");
    assert_string_equal(app_project(screen->app)->name, "docs");
}

static void lifecycle(struct screen *screen, int seq, const char *kind, const char *project)
{
    char json[300];
    snprintf(json, sizeof(json),
             "{\"seq\":%d,\"ts_ns\":%lld,\"project\":\"%s\",\"kind\":\"%s\",\"subject\":\"%s\"}", seq,
             (long long)screen->now_ns, project, kind, project);
    screen_event(screen, json);
}

static size_t asked_times(struct screen *screen, const char *path)
{
    size_t count = 0;
    for (struct effect *effect = screen->effects.first; effect; effect = effect->next)
        count += effect->path && !strcmp(effect->path, path);
    return count;
}

static void test_refreshes_of_a_project_are_coalesced(void **state)
{
    struct screen *screen = *state;
    screen_fill(screen);
    screen_forget(screen);
    for (int i = 0; i < 50; i++)
        lifecycle(screen, 300 + i, "lifecycle.pause", "shop");
    assert_int_equal(asked_times(screen, "/v1/projects/shop"), 1);
    screen_answer(screen, screen_asked(screen, "GET", "/v1/projects/shop"),
                  "{\"id\":\"p1\",\"name\":\"shop\",\"state\":\"paused\",\"vm\":{}}");
    assert_shown(screen, "PAUSED");
    /* It had changed meanwhile: once more, but four times a second at most. */
    assert_int_equal(asked_times(screen, "/v1/projects/shop"), 1);
    screen_time(screen, 300);
    assert_int_equal(asked_times(screen, "/v1/projects/shop"), 2);
    screen_answer(screen, screen_asked(screen, "GET", "/v1/projects/shop"),
                  "{\"id\":\"p1\",\"name\":\"shop\",\"state\":\"paused\",\"vm\":{}}");
    /* The act may not be done when its event comes: looked at until it is quiet, then never again. */
    for (int i = 0; i < 20; i++) {
        size_t before = asked_times(screen, "/v1/projects/shop");
        screen_time(screen, 1100);
        if (asked_times(screen, "/v1/projects/shop") > before)
            screen_answer(screen, screen_asked(screen, "GET", "/v1/projects/shop"),
                          "{\"id\":\"p1\",\"name\":\"shop\",\"state\":\"paused\",\"vm\":{}}");
    }
    assert_in_range(asked_times(screen, "/v1/projects/shop"), 3, 6);
}

static void test_old_events_ask_for_nothing(void **state)
{
    struct screen *screen = *state;
    screen_fill(screen);
    assert_int_equal(asked_times(screen, "/v1/projects/shop"), 0);
    assert_int_equal(asked_times(screen, "/v1/projects"), 1);
}

static void test_an_unknown_project_asks_for_the_list(void **state)
{
    struct screen *screen = *state;
    screen_fill(screen);
    lifecycle(screen, 300, "lifecycle.create", "fresh");
    lifecycle(screen, 301, "lifecycle.start", "fresh");
    assert_int_equal(asked_times(screen, "/v1/projects"), 2);
}

static void test_a_removed_project_goes(void **state)
{
    struct screen *screen = *state;
    screen_fill(screen);
    lifecycle(screen, 300, "lifecycle.remove", "docs");
    screen_fail(screen, screen_asked(screen, "GET", "/v1/projects/docs"), ERROR_NOT_FOUND, "no such project");
    assert_null(projects_named(&screen->app->projects, "docs"));
}

static void test_down_keeps_what_was_and_up_goes_on(void **state)
{
    struct screen *screen = *state;
    screen_fill(screen);
    screen_keys(screen, "j Enter k");
    uint64_t cursor = app_cursor(screen->app, VIEW_PROJECTS);
    screen_forget(screen);
    screen_down(screen);
    assert_shown(screen, "NOT CONNECTED  hutchd is not there");
    assert_shown(screen, "shop");
    assert_null(screen->app->calls);
    screen_keys(screen, "z"); /* what needs hutchd says so */
    assert_shown(screen, "hutchd is away; it works again when it is back");
    screen_up(screen);
    assert_int_not_equal(screen_asked(screen, "GET", "/v1/events?follow=1&after=111"), 0);
    screen_line(screen, screen_asked(screen, "GET", "/v1/projects"),
                "{\"id\":\"p2\",\"name\":\"api\",\"state\":\"run\"}");
    screen_answer(screen, screen_asked(screen, "GET", "/v1/projects"), NULL);
    app_settle(screen->app);
    assert_int_equal(screen->app->projects.count, 1);
    assert_int_equal(app_cursor(screen->app, VIEW_PROJECTS), cursor);
    assert_int_equal(screen->app->focus, PANE_TAB);
}

static void test_events_are_never_taken_twice(void **state)
{
    struct screen *screen = *state;
    screen_fill(screen);
    size_t count = screen->app->events.end;
    screen_event(screen, "{\"seq\":111,\"project\":\"shop\",\"kind\":\"git.clone\",\"subject\":\"again\"}");
    assert_int_equal(screen->app->events.end, count);
}

static void test_a_cut_stream_of_events_goes_on(void **state)
{
    struct screen *screen = *state;
    screen_fill(screen);
    screen_fail(screen, screen->app->events_call, ERROR_IO, "cut");
    screen_forget(screen);
    screen_time(screen, 100);
    assert_int_equal(screen_asked(screen, "GET", "/v1/events"), 0);
    screen_time(screen, 1000);
    assert_int_not_equal(screen_asked(screen, "GET", "/v1/events?follow=1&after=111"), 0);
}

static void test_a_command_gets_its_end(void **state)
{
    struct screen *screen = *state;
    screen_fill(screen);
    const struct event *ci = events_find(&screen->app->events, 104, NULL);
    const struct event *test = events_find(&screen->app->events, 109, NULL);
    const struct event *shell = events_find(&screen->app->events, 111, NULL);
    assert_true(ci->ended && ci->exit == 0 && ci->ms == 16000 && ci->children == 2);
    assert_true(test->ended && test->exit == 1);
    assert_string_equal(test->session, "s2");
    assert_true(shell->started && !shell->ended);
    assert_null(events_find(&screen->app->events, 108, NULL));
}

/* Of two commands of the same words the one that began when the end says is ended. */
static void test_same_commands_end_apart(void **state)
{
    struct screen *screen = *state;
    screen_fill(screen);
    screen_event(screen, "{\"seq\":200,\"ts_ns\":1000000000000,\"project\":\"shop\",\"kind\":\"exec.start\","
                         "\"subject\":\"make\"}");
    screen_event(screen, "{\"seq\":201,\"ts_ns\":1005000000000,\"project\":\"shop\",\"kind\":\"exec.start\","
                         "\"subject\":\"make\"}");
    screen_event(screen, "{\"seq\":202,\"ts_ns\":1007000000000,\"project\":\"shop\",\"kind\":\"exec.end\","
                         "\"subject\":\"make\",\"session\":\"x\",\"exit\":2,\"ms\":1900}");
    assert_false(events_find(&screen->app->events, 200, NULL)->ended);
    assert_true(events_find(&screen->app->events, 201, NULL)->ended);
}

/* ---- acts ---- */

static void test_mild_acts_are_done_and_say_the_way_back(void **state)
{
    struct screen *screen = *state;
    screen_fill(screen);
    screen_keys(screen, "z");
    uint64_t id = screen_asked(screen, "POST", "/v1/projects/shop/pause");
    assert_int_not_equal(id, 0);
    assert_shown(screen, "the same key resumes it");
    screen_time(screen, 1000);
    screen_answer(screen, id, "{\"id\":\"p1\",\"name\":\"shop\",\"state\":\"paused\"}");
    assert_shown(screen, "PAUSED");
    screen_keys(screen, "j");
    assert_shown(screen, "$ hutch pause shop");
    screen_keys(screen, "k z");
    assert_int_not_equal(screen_asked(screen, "POST", "/v1/projects/shop/resume"), 0);
    screen_keys(screen, "j");
    assert_shown(screen, "$ hutch resume shop");
}

static void test_moderate_acts_ask_and_no_is_the_answer(void **state)
{
    struct screen *screen = *state;
    static const char *const nos[] = {"n", "Enter", "Esc", "x", "Space", "N"};
    screen_fill(screen);
    for (size_t i = 0; i < countof(nos); i++) {
        screen_keys(screen, "K");
        assert_shown(screen, "shut shop down?");
        assert_shown(screen, "programs that run in it end"); /* the warning stands before the question */
        screen_keys(screen, nos[i]);
        assert_false(screen->app->confirm.on);
        assert_int_equal(screen_asked(screen, "POST", "/v1/projects/"), 0);
    }
    screen_keys(screen, "K y");
    assert_int_not_equal(screen_asked(screen, "POST", "/v1/projects/shop/stop"), 0);
}

static void test_a_paste_answers_nothing(void **state)
{
    struct screen *screen = *state;
    struct message message = {.type = MESSAGE_KEY, .now_ns = screen->now_ns};
    char text[] = "y";
    screen_fill(screen);
    screen_keys(screen, "K");
    message.key = (struct key_event){.type = KEY_EVENT_PASTE, .paste = text, .paste_len = 1};
    app_update(screen->app, &message, &screen->effects);
    assert_true(screen->app->confirm.on);
    assert_int_equal(screen_asked(screen, "POST", "/v1/projects/"), 0);
}

static void test_severe_acts_want_the_name(void **state)
{
    struct screen *screen = *state;
    screen_fill(screen);
    screen_keys(screen, "Delete y Enter");
    assert_true(screen->app->confirm.on);
    assert_shown(screen, "that is not the name");
    screen_keys(screen, "^u");
    screen_type(screen, "sho");
    screen_keys(screen, "Enter");
    assert_int_equal(screen_asked(screen, "DELETE", "/v1/projects/"), 0);
    screen_type(screen, "p");
    screen_keys(screen, "Enter");
    assert_int_not_equal(screen_asked(screen, "DELETE", "/v1/projects/shop"), 0);
    assert_false(screen->app->confirm.on);
}

static void test_failures_are_said_whole(void **state)
{
    struct screen *screen = *state;
    screen_fill(screen);
    screen_keys(screen, "z");
    screen_fail(
        screen, screen_asked(screen, "POST", "/v1/projects/shop/pause"), ERROR_HYPERVISOR,
        "libvirt did not do it, and the reason is a long one that does not fit into a single line of a "
        "small terminal, with its END");
    assert_shown(screen, "libvirt did not do it");
    screen_keys(screen, "L Enter");
    assert_shown(screen, "with its END");
    screen_keys(screen, "Esc Esc");
    assert_int_equal(screen->app->overlay_count, 0);
}

static void test_acts_that_are_not_possible_say_why(void **state)
{
    struct screen *screen = *state;
    screen_fill(screen);
    screen_keys(screen, "b");
    assert_shown(screen, "shop: it runs already");
    screen_keys(screen, "x");
    assert_shown(screen, "not now: it runs already");
    assert_shown(screen, "hutch stop shop");
    screen_keys(screen, "q j j t");
    assert_shown(screen, "docs: it is suspended: start wakes it");
    screen_event(
        screen,
        "{\"seq\":300,\"ts_ns\":1795961080000000000,\"project\":\"docs\",\"kind\":\"policy\",\"actor\":"
        "\"hutchd\",\"subject\":\"ask, 2 rules\",\"verdict\":\"loaded\"}");
    screen_event(
        screen,
        "{\"seq\":301,\"ts_ns\":1795961081000000000,\"project\":\"docs\",\"kind\":\"approval.decision\","
        "\"actor\":\"user\",\"subject\":\"#1 CONNECT docs.rs:443\",\"verdict\":\"deny\"}");
    assert_shown(screen, "rules in force: ask, 2 rules");
    assert_shown(screen, "denied: #1 CONNECT docs.rs:443");
}

/* Enter chooses, it does not do: what is mild elsewhere asks here. */
static void test_enter_in_a_menu_asks(void **state)
{
    struct screen *screen = *state;
    screen_fill(screen);
    screen_keys(screen, ":");
    screen_type(screen, "paus");
    screen_keys(screen, "Enter");
    assert_true(screen->app->confirm.on);
    assert_int_equal(screen_asked(screen, "POST", "/v1/projects/"), 0);
    screen_keys(screen, "y");
    assert_int_not_equal(screen_asked(screen, "POST", "/v1/projects/shop/pause"), 0);
    screen_forget(screen);
    screen_keys(screen, "x z"); /* but its own key is meant */
    assert_int_not_equal(screen_asked(screen, "POST", "/v1/projects/shop/pause"), 0);
}

static void test_keys_without_a_meaning_say_so(void **state)
{
    struct screen *screen = *state;
    screen_fill(screen);
    screen_keys(screen, "F9");
    assert_shown(screen, "F9 is not a key here; ? shows those that are");
}

static void test_quit_and_back(void **state)
{
    struct screen *screen = *state;
    screen_fill(screen);
    screen_keys(screen, "Enter ? q");
    assert_int_equal(screen->app->overlay_count, 0);
    assert_int_equal(screen->app->focus, PANE_TAB);
    screen_keys(screen, "q q");
    assert_int_equal(screen_count(screen, EFFECT_QUIT), 0);
    assert_shown(screen, "Q leaves hutch");
    screen_keys(screen, "Q");
    assert_int_equal(screen_count(screen, EFFECT_QUIT), 1);
}

static void test_copy(void **state)
{
    struct screen *screen = *state;
    screen_fill(screen);
    screen_keys(screen, "K y L y");
    assert_string_equal(screen_find(screen, EFFECT_COPY)->text, "hutch stop shop");
}

/* ---- settings ---- */

static void settings(struct screen *screen, const char *text)
{
    struct message message = {.type = MESSAGE_SETTINGS,
                              .now_ns = screen->now_ns,
                              .bytes = (const uint8_t *)text,
                              .len = strlen(text)};
    app_update(screen->app, &message, &screen->effects);
}

static void test_settings_change_keys_and_their_labels(void **state)
{
    struct screen *screen = *state;
    screen_fill(screen);
    settings(screen, "[screen]\ntheme = light\nmouse = no\n[keys]\npause = F5\nhelp = H\n");
    assert_int_equal(screen_find(screen, EFFECT_THEME)->number, 1);
    assert_int_equal(screen_find(screen, EFFECT_MOUSE)->number, 0);
    assert_shown(screen, "F5 pause");
    assert_shown(screen, "H help");
    screen_keys(screen, "z");
    assert_int_equal(screen_asked(screen, "POST", "/v1/projects/"), 0);
    screen_keys(screen, "F5");
    assert_int_not_equal(screen_asked(screen, "POST", "/v1/projects/shop/pause"), 0);
}

static void test_bad_settings_name_the_line_and_change_nothing(void **state)
{
    struct screen *screen = *state;
    static const struct {
        const char *text, *said;
    } bad[] = {
        {"[screen]\ntheme = dark\nthem = light\n", "screen.ini:3:8: there is no setting \"them\"; \"theme\""},
        {"[screen]\ntheme = pink\n", "screen.ini:2:9: theme cannot be \"pink\""},
        {"[keys]\npuse = F5\n", "screen.ini:2:8: there is no act \"puse\"; \"pause\""},
        {"[keys]\npause = ^Z\n", "screen.ini:2:9: the key \"^Z\" belongs to the terminal"},
        {"[keys]\npause = b\n", "the key \"b\" is \"start\" and \"pause\""},
        {"[keys projct]\npause = F5\n", "there is no map of keys \"projct\"; \"project\""},
        {"[colours]\na = b\n", "there is no section \"colours\""},
    };
    screen_fill(screen);
    settings(screen, "[keys]\npause = F6\n");
    screen_size(screen, 24, 200);
    for (size_t i = 0; i < countof(bad); i++) {
        settings(screen, bad[i].text);
        assert_shown(screen, bad[i].said);
        assert_shown(screen, "F6 pause");
    }
}

static void test_keys_can_be_swapped(void **state)
{
    struct screen *screen = *state;
    screen_fill(screen);
    settings(screen, "[keys]\npause = b\nstart = z\n");
    screen_keys(screen, "b");
    assert_int_not_equal(screen_asked(screen, "POST", "/v1/projects/shop/pause"), 0);
}

/* ---- hostile text ---- */

static void test_text_from_outside_stays_in_its_place(void **state)
{
    struct screen *screen = *state;
    screen_fill(screen);
    screen_event(screen,
                 "{\"seq\":200,\"ts_ns\":1795960900000000000,\"project\":\"shop\",\"kind\":\"exec.start\","
                 "\"subject\":\"\\u001b[31mred\\u001b]52;c;eA==\\u0007 \\u202egnp.exe a\\u200bb\\r\\nc\"}");
    screen_line(
        screen, (screen_keys(screen, "Enter G"), screen->app->events_call),
        "{\"seq\":201,\"project\":\"shop\",\"kind\":\"finding.\\u001b[2Jx\",\"subject\":\"\\u009b2J\"}");
    autofree char *text = screen_text(screen);
    assert_null(strchr(text, '\033'));
    assert_null(strstr(text, "\xe2\x80\xae"));
    assert_null(strstr(text, "\xc2\x9b"));
    assert_non_null(strstr(text, "\\e[31mred"));
    assert_non_null(strstr(text, "\\u{202E}"));
}

static void test_any_size_is_drawn(void **state)
{
    struct screen *screen = *state;
    screen_fill(screen);
    for (int rows = 1; rows < 45; rows += 3) {
        for (int columns = 1; columns < 210; columns += 7) {
            screen_size(screen, rows, columns);
            app_draw(screen->app, screen->grid);
            screen_keys(screen, "j Tab ?");
            app_draw(screen->app, screen->grid);
            screen_keys(screen, "q K");
            app_draw(screen->app, screen->grid);
            screen_keys(screen, "n");
        }
    }
    assert_int_equal(screen->grid->columns, 204);
}

/* Nothing changes by itself: no frame, and only the minute of the clock is waited for. */
static void test_idle_is_idle(void **state)
{
    struct screen *screen = *state;
    screen_up(screen);
    screen_answer(screen, screen_asked(screen, "GET", "/v1/projects"), NULL);
    app_draw(screen->app, screen->grid);
    assert_false(app_changed(screen->app));
    assert_true(screen_find(screen, EFFECT_TIMER)->number > 50000);
    screen_forget(screen);
    screen_time(screen, 60000);
    assert_int_equal(screen_count(screen, EFFECT_TIMER), 1);
    assert_null(screen->effects.first->next);
}

static void waiting_project(struct screen *screen, int waiting)
{
    char json[200];
    snprintf(json, sizeof(json), "{\"id\":\"p1\",\"name\":\"shop\",\"state\":\"run\",\"waiting\":%d}",
             waiting);
    uint64_t id = screen_asked(screen, "GET", "/v1/projects");
    screen_line(screen, id, json);
    screen_answer(screen, id, NULL);
}

static void test_what_waits_rings_once(void **state)
{
    struct screen *screen = *state;
    screen_up(screen);
    waiting_project(screen, 2);
    assert_int_equal(screen_count(screen, EFFECT_BELL), 1);
    assert_string_equal(screen_find(screen, EFFECT_TITLE)->text, "hutch: shop 2 WAITING");
    assert_shown(screen, "2 WAITING");
    screen_forget(screen);
    screen_time(screen, 1000);
    screen_keys(screen, "j k");
    assert_int_equal(screen_count(screen, EFFECT_BELL), 0);
    assert_int_equal(screen_count(screen, EFFECT_TITLE), 0);
}

/* The detail had the keys; a window that is narrower has no room for it. */
static void test_focus_is_always_on_what_is_shown(void **state)
{
    struct screen *screen = *state;
    screen_fill(screen);
    screen_size(screen, 40, 120);
    screen_keys(screen, "Enter Enter");
    assert_int_equal(screen->app->focus, PANE_DETAIL);
    screen_size(screen, 24, 80);
    app_draw(screen->app, screen->grid);
    assert_int_equal(screen->app->focus, PANE_TAB);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, screen_setup_empty, screen_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_up_asks_for_what_is_shown),
        TEST(test_projects_that_cannot_be_listed),
        TEST(test_project_of_the_folder_is_shown_first),
        TEST(test_a_repository_that_is_taken_in_is_not_proposed),
        TEST(test_a_repository_of_no_project_is_proposed),
        TEST(test_the_last_act_goes),
        TEST(test_start_wakes_what_is_saved),
        TEST(test_a_late_answer_moves_nobody),
        TEST(test_refreshes_of_a_project_are_coalesced),
        TEST(test_old_events_ask_for_nothing),
        TEST(test_an_unknown_project_asks_for_the_list),
        TEST(test_a_removed_project_goes),
        TEST(test_down_keeps_what_was_and_up_goes_on),
        TEST(test_events_are_never_taken_twice),
        TEST(test_a_cut_stream_of_events_goes_on),
        TEST(test_a_command_gets_its_end),
        TEST(test_same_commands_end_apart),
        TEST(test_mild_acts_are_done_and_say_the_way_back),
        TEST(test_moderate_acts_ask_and_no_is_the_answer),
        TEST(test_a_paste_answers_nothing),
        TEST(test_severe_acts_want_the_name),
        TEST(test_failures_are_said_whole),
        TEST(test_acts_that_are_not_possible_say_why),
        TEST(test_enter_in_a_menu_asks),
        TEST(test_keys_without_a_meaning_say_so),
        TEST(test_quit_and_back),
        TEST(test_copy),
        TEST(test_settings_change_keys_and_their_labels),
        TEST(test_bad_settings_name_the_line_and_change_nothing),
        TEST(test_keys_can_be_swapped),
        TEST(test_text_from_outside_stays_in_its_place),
        TEST(test_any_size_is_drawn),
        TEST(test_idle_is_idle),
        TEST(test_what_waits_rings_once),
        TEST(test_focus_is_always_on_what_is_shown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
