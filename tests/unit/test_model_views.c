/* Sessions, output, form, progress, templates, doctor: what is asked of hutchd and what comes of it. */
#include "tests/screen/views.h"

#include "base/alloc.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#define assert_shown(screen, words)     screen_assert(screen, words, true)
#define assert_not_shown(screen, words) screen_assert(screen, words, false)

/* The effect with this id. */
static const struct effect *effect_of(struct screen *screen, uint64_t id)
{
    const struct effect *effect = screen->effects.first;
    while (effect && effect->id != id)
        effect = effect->next;
    assert_non_null(effect);
    return effect;
}

/* Whether a cancel of this effect was asked. */
static bool cancelled(struct screen *screen, uint64_t id)
{
    for (struct effect *effect = screen->effects.first; effect; effect = effect->next)
        if (effect->type == EFFECT_CANCEL && effect->id == id)
            return true;
    return false;
}

static size_t asked_times(struct screen *screen, const char *path)
{
    size_t count = 0;
    for (struct effect *effect = screen->effects.first; effect; effect = effect->next)
        count += effect->path && !strcmp(effect->path, path);
    return count;
}

/* ---- sessions ---- */

static void exec_event(struct screen *screen, int seq)
{
    char json[300];
    snprintf(json, sizeof(json),
             "{\"seq\":%d,\"ts_ns\":%lld,\"project\":\"shop\",\"kind\":\"exec.start\",\"subject\":\"ls\"}",
             seq, (long long)screen->now_ns);
    screen_event(screen, json);
}

static void test_sessions_are_asked_when_seen(void **state)
{
    struct screen *screen = *state;
    exec_event(screen, 300);
    screen_time(screen, 1000);
    assert_int_equal(screen_asked(screen, "GET", "/v1/projects/shop/sessions"), 0);
    screen_keys(screen, "3");
    assert_int_not_equal(screen_asked(screen, "GET", "/v1/projects/shop/sessions"), 0);
    give_sessions(screen);
    assert_shown(screen, "npm test");
    assert_shown(screen, "(login shell)");
}

/* A burst of commands asks a few times, and one that ended is no longer listed. */
static void test_commands_refresh_the_sessions(void **state)
{
    struct screen *screen = *state;
    screen_keys(screen, "3");
    give_sessions(screen);
    for (int i = 0; i < 100; i++)
        exec_event(screen, 300 + i);
    screen_time(screen, 300);
    assert_int_equal(asked_times(screen, "/v1/projects/shop/sessions"), 2);
    uint64_t id = screen_asked(screen, "GET", "/v1/projects/shop/sessions");
    screen_line(screen, id, SESSION("s9", "running", "false", "0", "0", "make", ""));
    screen_answer(screen, id, NULL);
    assert_shown(screen, "make");
    assert_int_equal(screen->app->sessions.count, 1);
}

static void test_another_project_has_other_sessions(void **state)
{
    struct screen *screen = *state;
    screen_keys(screen, "3");
    give_sessions(screen);
    screen_keys(screen, "q j j");
    assert_shown(screen, "docs is saved with what ran in it");
    assert_int_equal(screen->app->sessions.count, 0);
    assert_int_equal(screen_asked(screen, "GET", "/v1/projects/docs/sessions"), 0);
}

static void test_kill_asks_first(void **state)
{
    struct screen *screen = *state;
    screen_keys(screen, "3");
    give_sessions(screen);
    screen_keys(screen, "G K");
    assert_shown(screen, "kill (login shell)?");
    screen_keys(screen, "Enter");
    assert_int_equal(screen_asked(screen, "DELETE", "/v1/projects/shop/sessions/s3"), 0);
    screen_keys(screen, "K y");
    uint64_t id = screen_asked(screen, "DELETE", "/v1/projects/shop/sessions/s3");
    screen_answer(screen, id, "{}");
    screen_time(screen, 300);
    assert_int_equal(asked_times(screen, "/v1/projects/shop/sessions"), 2);
    screen_keys(screen, "L");
    assert_shown(screen, "hutch exec shop -- kill -9 412");
}

static void test_only_terminals_are_attached_to(void **state)
{
    struct screen *screen = *state;
    screen_keys(screen, "3");
    give_sessions(screen);
    screen_keys(screen, "g t");
    assert_null(screen->app->terminal);
    assert_shown(screen, "no terminal to attach to");
    screen_keys(screen, "G t");
    assert_non_null(screen->app->terminal);
    assert_string_equal(terminal_session(screen->app->terminal), "s3");
}

static void test_a_shell_is_started_and_attached(void **state)
{
    struct screen *screen = *state;
    screen_keys(screen, "!");
    uint64_t id = screen_asked(screen, "POST", "/v1/projects/shop/sessions");
    const json_t *body = effect_of(screen, id)->body;
    assert_int_equal(json_array_size(json_object_get(body, "argv")), 0);
    assert_true(json_is_true(json_object_get(body, "pty")));
    screen_answer(screen, id, SESSION("s7", "running", "true", "0", "0", "", "shell"));
    assert_non_null(screen->app->terminal);
    assert_string_equal(terminal_session(screen->app->terminal), "s7");
    assert_string_equal(terminal_project(screen->app->terminal), "shop");
}

static void test_a_shell_that_cannot_start_says_why(void **state)
{
    struct screen *screen = *state;
    screen_keys(screen, "!");
    screen_fail(screen, screen_asked(screen, "POST", "/v1/projects/shop/sessions"), ERROR_GUEST,
                "hutch-guest does not answer");
    assert_null(screen->app->terminal);
    assert_shown(screen, "hutch-guest does not answer");
}

/* The newest terminal that runs; a new shell where there is none. */
static void test_terminal_of_a_project(void **state)
{
    struct screen *screen = *state;
    screen_keys(screen, "t");
    give_sessions(screen);
    assert_string_equal(terminal_session(screen->app->terminal), "s3");
}

static void test_terminal_without_one_is_a_shell(void **state)
{
    struct screen *screen = *state;
    screen_keys(screen, "t");
    screen_answer(screen, screen_asked(screen, "GET", "/v1/projects/shop/sessions"), NULL);
    assert_null(screen->app->terminal);
    assert_int_not_equal(screen_asked(screen, "POST", "/v1/projects/shop/sessions"), 0);
}

/* ---- output ---- */

static void test_output_is_safe_bounded_and_left(void **state)
{
    struct screen *screen = *state;
    screen_keys(screen, "3");
    give_sessions(screen);
    screen_keys(screen, "g o");
    uint64_t id = screen_asked(screen, "GET", "/v1/projects/shop/sessions/s1/stdout");
    screen_bytes(screen, id, 0,
                 "a\x1b]0;title\x07"
                 "b\x1b[31mc\xe2\x80\xae"
                 "d\n\x01"
                 "e\xff\n12345\r67\nab\bc\n");
    assert_shown(screen, "abc\\u{202E}d");
    assert_shown(screen, "\\x01e\\xff");
    assert_shown(screen, "67");
    assert_false(screen_shows(screen, "12345"));
    assert_shown(screen, "ac");
    for (int i = 0; i < 12000; i++)
        screen_bytes(screen, id, 100, "line\n");
    assert_true(screen->app->output.lines.end - screen->app->output.lines.first <= LINES_MAX);
    autofree char *large = xcalloc(400001, 1);
    memset(large, 'x', 400000);
    for (int i = 0; i < 4; i++)
        screen_bytes(screen, id, 100, large);
    assert_true(screen->app->output.lines.bytes <= LINES_BYTES);
    screen_keys(screen, "q");
    assert_true(cancelled(screen, id));
    assert_int_equal(screen->app->output.lines.end, 0);
}

static void test_a_prompt_without_an_end_is_shown_and_goes_on(void **state)
{
    struct screen *screen = *state;
    screen_keys(screen, "6");
    uint64_t id = screen_asked(screen, "GET", "/v1/projects/shop/console?follow=1");
    screen_bytes(screen, id, 0, "one\r\nshop lo");
    assert_shown(screen, "shop lo");
    screen_bytes(screen, id, 12, "gin: ");
    assert_shown(screen, "shop login:");
    assert_int_equal(screen->app->console.lines.end, 2);
    screen_keys(screen, "1");
    assert_true(cancelled(screen, id));
}

static void test_the_console_comes_back_with_hutchd(void **state)
{
    struct screen *screen = *state;
    screen_keys(screen, "6");
    screen_bytes(screen, screen_asked(screen, "GET", "/v1/projects/shop/console?follow=1"), 0, "one\n");
    screen_down(screen);
    assert_shown(screen, "one");
    screen_forget(screen);
    screen_up(screen);
    screen_bytes(screen, screen_asked(screen, "GET", "/v1/projects/shop/console?follow=1"), 0, "one\ntwo\n");
    assert_int_equal(screen->app->console.lines.end, 2);
    assert_shown(screen, "two");
}

/* ---- the form ---- */

static void test_nothing_is_made_before_the_button(void **state)
{
    struct screen *screen = *state;
    screen_keys(screen, "c");
    give_templates(screen);
    screen_type(screen, "web");
    screen_keys(screen, "Enter Enter Enter Enter Enter Enter Enter");
    assert_int_equal(screen_asked(screen, "POST", "/v1/projects"), 0);
    assert_int_equal(screen->app->form.field, FORM_BUTTON);
    screen_keys(screen, "Enter");
    assert_int_not_equal(screen_asked(screen, "POST", "/v1/projects"), 0);
}

static void test_the_form_asks_for_what_was_typed(void **state)
{
    struct screen *screen = *state;
    screen_keys(screen, "c");
    give_templates(screen);
    screen_type(screen, "web");
    screen_keys(screen, "Tab Left Tab");
    screen_type(screen, "4");
    screen_keys(screen, "Tab");
    screen_type(screen, "3G");
    screen_keys(screen, "Tab Tab Right Tab");
    screen_type(screen, "https://git.example/a.git#next");
    screen_keys(screen, "Tab");
    screen_type(screen, "lib");
    screen_keys(screen, "Tab");
    screen_type(screen, "~/notes");
    screen_keys(screen, "Tab Tab Enter");
    uint64_t id = screen_asked(screen, "POST", "/v1/projects");
    json_t *expected =
        json_pack("{s:s, s:s, s:s, s:i, s:I, s:[s, s, s]}", "name", "web", "template", "alpine", "egress",
                  "budget", "cpus", 4, "memory", (json_int_t)3 << 30, "repos",
                  "https://git.example/a.git#next", "/home/you/src/api/lib", "/home/you/notes");
    assert_true(json_equal(effect_of(screen, id)->body, expected));
    json_decref(expected);
    screen_keys(screen, "L");
    assert_shown(screen, "hutch up web -t alpine --egress budget --cpus 4");
}

static void test_the_folders_repository_is_proposed(void **state)
{
    struct screen *screen = *state;
    screen->app->repository = xstrdup("/home/you/src/My Web.git");
    screen_keys(screen, "c");
    assert_string_equal(screen->app->form.inputs[FORM_NAME].text, "my-web");
    assert_string_equal(screen->app->form.inputs[FORM_REPO].text, "/home/you/src/My Web.git");
    screen_keys(screen, "Up Enter");
    const json_t *body = effect_of(screen, screen_asked(screen, "POST", "/v1/projects"))->body;
    assert_string_equal(json_string_value(json_object_get(body, "folder")), "/home/you/src/My Web.git");
}

static void test_what_is_wrong_stands_at_its_field(void **state)
{
    static const struct {
        const char *keys, *text;
        enum form_field field;
    } rows[] = {
        {"", "No Such", FORM_NAME},
        {"", "shop", FORM_NAME},
        {"w e b Tab Tab", "none", FORM_CPUS},
        {"w e b Tab Tab Tab", "4 gigs", FORM_MEMORY},
        {"w e b Tab Tab Tab Tab", "-1", FORM_DISK},
        {"w e b Tab Tab Tab Tab Tab Tab", "~you/web", FORM_REPO},
    };
    (void)state;
    for (size_t i = 0; i < countof(rows); i++) {
        struct screen screen;
        screen_open(&screen, 24, 80, NULL);
        screen_fill(&screen);
        screen_keys(&screen, "c");
        give_templates(&screen);
        screen_keys(&screen, rows[i].keys);
        screen_type(&screen, rows[i].text);
        screen.app->form.field = FORM_BUTTON;
        screen_keys(&screen, "Enter");
        assert_int_equal(screen_asked(&screen, "POST", "/v1/projects"), 0);
        assert_int_equal(screen.app->form.error_field, rows[i].field);
        assert_int_equal(screen.app->form.field, rows[i].field);
        screen_close(&screen);
    }
}

/* hutchd's refusals find their field too, and what was typed is there still. */
static void test_refusals_stand_at_their_field(void **state)
{
    static const struct {
        const char *words;
        enum form_field field;
    } rows[] = {
        {"\"memory\" must be between 134217728 and 17592186044416", FORM_MEMORY},
        {"a project \"web\" is there already", FORM_NAME},
        {"there is no template \"debian-13\"", FORM_TEMPLATE},
        {"something went wrong", FORM_BUTTON},
    };
    (void)state;
    for (size_t i = 0; i < countof(rows); i++) {
        struct screen screen;
        screen_open(&screen, 24, 80, NULL);
        screen_fill(&screen);
        screen_keys(&screen, "c");
        screen_type(&screen, "web");
        screen_keys(&screen, "Up Up Down Enter");
        screen_fail(&screen, screen_asked(&screen, "POST", "/v1/projects"), ERROR_INVALID, rows[i].words);
        assert_int_equal(app_view(screen.app), VIEW_FORM);
        assert_int_equal(screen.app->form.error_field, rows[i].field);
        assert_string_equal(screen.app->form.inputs[FORM_NAME].text, "web");
        assert_shown(&screen, rows[i].words);
        screen_close(&screen);
    }
}

/* Empty fields say what hutchd takes; what is below the field with the cursor stays where it is. */
static void test_the_form_says_what_empty_means(void **state)
{
    struct screen *screen = *state;
    screen_keys(screen, "c");
    assert_shown(screen, "empty: 4G");
    assert_shown(screen, "empty: 64G");
    app_draw(screen->app, screen->grid);
    struct cell before = *grid_at(screen->grid, 9, 2);
    screen_keys(screen, "Tab");
    app_draw(screen->app, screen->grid);
    assert_int_equal(before.codes[0], grid_at(screen->grid, 9, 2)->codes[0]);
    assert_int_equal(before.codes[0], 'c'); /* of "code" */
}

static void test_the_form_is_kept_when_left(void **state)
{
    struct screen *screen = *state;
    screen_keys(screen, "c");
    screen_type(screen, "q:web?");
    screen_keys(screen, "Escape");
    assert_int_equal(screen->app->overlay_count, 0);
    screen_keys(screen, "c");
    assert_string_equal(screen->app->form.inputs[FORM_NAME].text, "q:web?");
    assert_shown(screen, "F1 help");
    screen_keys(screen, "F1");
    assert_int_equal(app_view(screen->app), VIEW_HELP);
}

/* ---- progress ---- */

static uint64_t make(struct screen *screen)
{
    screen_keys(screen, "c");
    screen_type(screen, "web");
    screen_keys(screen, "Up Up Down Enter");
    return screen_asked(screen, "POST", "/v1/projects");
}

static void test_progress_ends_on_the_project(void **state)
{
    struct screen *screen = *state;
    uint64_t id = make(screen);
    screen_line(screen, id, "{\"phase\":\"disk\",\"text\":\"making the disk\",\"done\":1,\"total\":4}");
    assert_shown(screen, "[#####...............]  25%");
    screen_answer(screen, id, "{\"id\":\"p9\",\"name\":\"web\",\"state\":\"run\"}");
    assert_int_equal(screen->app->overlay_count, 0);
    assert_string_equal(app_project(screen->app)->name, "web");
    assert_shown(screen, "web is ready");
    screen_keys(screen, "c");
    assert_string_equal(screen->app->form.inputs[FORM_NAME].text, "");
}

/* It goes on while nobody looks, moves nobody at its end, and can be looked at again. */
static void test_progress_can_be_left(void **state)
{
    struct screen *screen = *state;
    uint64_t id = make(screen);
    screen_line(screen, id, "{\"phase\":\"disk\",\"text\":\"making the disk\",\"done\":0,\"total\":0}");
    screen_keys(screen, "q");
    assert_false(cancelled(screen, id));
    screen_line(screen, screen_asked(screen, "GET", "/v1/projects"),
                "{\"id\":\"p9\",\"name\":\"web\",\"state\":\"new\"}");
    screen_line(screen, id, "{\"phase\":\"start\",\"text\":\"starting it\",\"done\":0,\"total\":0}");
    screen_event(screen, "{\"seq\":900,\"ts_ns\":1895960900000000000,\"project\":\"web\","
                         "\"kind\":\"lifecycle.create\",\"subject\":\"x\"}");
    uint64_t list = screen_asked(screen, "GET", "/v1/projects");
    screen_line(screen, list, "{\"id\":\"p1\",\"name\":\"shop\",\"state\":\"run\"}");
    screen_line(screen, list, "{\"id\":\"p9\",\"name\":\"web\",\"state\":\"new\"}");
    screen_answer(screen, list, NULL);
    assert_shown(screen, "starting it");
    screen_keys(screen, "G p");
    assert_int_equal(app_view(screen->app), VIEW_PROGRESS);
    assert_shown(screen, "making the disk");
    screen_keys(screen, "q k");
    screen_answer(screen, id, "{\"id\":\"p9\",\"name\":\"web\",\"state\":\"run\"}");
    assert_string_equal(app_project(screen->app)->name, "shop");
    assert_shown(screen, "web is ready");
}

/* It failed before there was anything to start: the way on is the form. */
static void test_what_was_never_made_is_not_started(void **state)
{
    struct screen *screen = *state;
    screen_keys(screen, "c");
    screen_type(screen, "web");
    screen_keys(screen, "Up Up Down Enter");
    uint64_t id = screen_asked(screen, "POST", "/v1/projects");
    screen_line(screen, id, "{\"phase\":\"check\",\"text\":\"checking\",\"done\":0,\"total\":0}");
    screen_fail(screen, id, ERROR_NOT_FOUND, "there is no repository \"/home/you/none\"");
    assert_int_equal(app_view(screen->app), VIEW_PROGRESS);
    assert_shown(screen, "nothing was made; Enter leads to the form");
    assert_not_shown(screen, "to the project");
    assert_shown(screen, "Enter to the form");
    screen_keys(screen, "Enter");
    assert_int_equal(app_view(screen->app), VIEW_FORM);
    assert_string_equal(screen->app->form.inputs[FORM_NAME].text, "web");
}

static void test_a_failed_making_is_said_whole(void **state)
{
    struct screen *screen = *state;
    uint64_t id = make(screen);
    screen_line(screen, id, "{\"phase\":\"disk\",\"text\":\"making the disk\",\"done\":0,\"total\":0}");
    screen_fail(screen, id, ERROR_NO_SPACE,
                "the disk of this host is full: 120M are free in \"/home/you/.local\" "
                "and the machine needs 2.0G of it at once");
    assert_int_equal(app_view(screen->app), VIEW_PROGRESS);
    screen_keys(screen, "k");
    assert_shown(screen, "FAIL");
    assert_shown(screen, "the machine needs 2.0G of it");
}

/* ---- acts on projects ---- */

static void test_lost_work_is_said_with_the_way_on(void **state)
{
    struct screen *screen = *state;
    screen_keys(screen, "X");
    assert_shown(screen, "nothing is known of such work");
    screen_keys(screen, "Delete");
    screen_type(screen, "shop");
    screen_keys(screen, "Enter");
    screen_fail(screen, screen_asked(screen, "DELETE", "/v1/projects/shop"), ERROR_WOULD_LOSE,
                "\"shop\" holds work that exists nowhere else, in \"/home/agent/shop\"");
    assert_shown(screen, "\"/home/agent/shop\"");
    assert_shown(screen, "X discards that work and removes it");
    screen_forget(screen);
    screen_keys(screen, "X y Enter");
    assert_int_equal(screen_asked(screen, "DELETE", "/v1/projects/shop"), 0);
    screen_keys(screen, "^u");
    screen_type(screen, "shop");
    screen_keys(screen, "Enter");
    assert_int_not_equal(screen_asked(screen, "DELETE", "/v1/projects/shop?discard_work=1"), 0);
    screen_keys(screen, "L");
    assert_shown(screen, "hutch rm shop --discard-work");
}

static void test_an_act_shows_its_progress_on_the_row(void **state)
{
    struct screen *screen = *state;
    screen_keys(screen, "j j b");
    uint64_t id = screen_asked(screen, "POST", "/v1/projects/docs/start");
    screen_line(screen, id, "{\"phase\":\"memory\",\"text\":\"reading memory\",\"done\":0,\"total\":0}");
    autofree char *row = screen_row(screen, 4);
    assert_non_null(strstr(row, "reading memory"));
    screen_answer(screen, id, "{\"id\":\"p3\",\"name\":\"docs\",\"state\":\"run\"}");
    assert_false(screen_shows(screen, "reading memory"));
}

/* ---- templates, doctor ---- */

static void test_a_base_is_built_and_removed(void **state)
{
    struct screen *screen = *state;
    screen_keys(screen, "T");
    give_templates(screen);
    screen_keys(screen, "b y");
    uint64_t id = screen_asked(screen, "POST", "/v1/templates/alpine/build");
    assert_int_equal(app_view(screen->app), VIEW_PROGRESS);
    screen_line(screen, id, "{\"phase\":\"packages\",\"text\":\"fetching\",\"done\":1,\"total\":2}");
    screen_keys(screen, "q");
    assert_shown(screen, "building");
    screen_answer(screen, id, "{}");
    assert_int_equal(asked_times(screen, "/v1/templates"), 2);
    screen_keys(screen, "j Delete");
    assert_shown(screen, "projects stand on its base");
    assert_int_equal(screen_asked(screen, "DELETE", "/v1/templates"), 0);
}

static void test_doctor_looks_each_time(void **state)
{
    struct screen *screen = *state;
    screen_keys(screen, "V");
    give_doctor(screen);
    assert_shown(screen, "2 to look at");
    assert_shown(screen, "sudo apt install mmdebstrap");
    screen_keys(screen, "q V");
    assert_int_equal(asked_times(screen, "/v1/doctor"), 2);
}

static void test_info_follows_the_project(void **state)
{
    struct screen *screen = *state;
    screen_keys(screen, "4");
    screen_answer(screen, screen_asked(screen, "GET", "/v1/projects/shop"), FULL_PROJECT);
    assert_shown(screen, "6.12.41-amd64");
    assert_shown(screen, "main at 9d2f5c1e7a");
    screen_keys(screen, "q j");
    assert_false(screen_shows(screen, "6.12.41-amd64"));
}

/* Whatever a guest writes, no cell of another part changes: all views at all sizes with text of ill will. */
static void test_any_size_is_drawn(void **state)
{
    static const char *const keys[] = {"2", "3", "4", "5", "6", "c", "T", "V", "p", "a", "P"};
    struct screen *screen = *state;
    for (size_t i = 0; i < countof(keys); i++) {
        screen_keys(screen, keys[i]);
        for (int rows = 1; rows < 30; rows += 3) {
            for (int columns = 1; columns < 130; columns += 9) {
                screen_size(screen, rows, columns);
                free(screen_text(screen));
            }
        }
        screen_keys(screen, "Escape");
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, screen_setup, screen_teardown)
int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_sessions_are_asked_when_seen),
        TEST(test_commands_refresh_the_sessions),
        TEST(test_another_project_has_other_sessions),
        TEST(test_kill_asks_first),
        TEST(test_only_terminals_are_attached_to),
        TEST(test_a_shell_is_started_and_attached),
        TEST(test_a_shell_that_cannot_start_says_why),
        TEST(test_terminal_of_a_project),
        TEST(test_terminal_without_one_is_a_shell),
        TEST(test_output_is_safe_bounded_and_left),
        TEST(test_a_prompt_without_an_end_is_shown_and_goes_on),
        TEST(test_the_console_comes_back_with_hutchd),
        TEST(test_nothing_is_made_before_the_button),
        TEST(test_the_form_asks_for_what_was_typed),
        TEST(test_the_folders_repository_is_proposed),
        cmocka_unit_test(test_what_is_wrong_stands_at_its_field),
        cmocka_unit_test(test_refusals_stand_at_their_field),
        TEST(test_the_form_says_what_empty_means),
        TEST(test_the_form_is_kept_when_left),
        TEST(test_progress_ends_on_the_project),
        TEST(test_progress_can_be_left),
        TEST(test_what_was_never_made_is_not_started),
        TEST(test_a_failed_making_is_said_whole),
        TEST(test_lost_work_is_said_with_the_way_on),
        TEST(test_an_act_shows_its_progress_on_the_row),
        TEST(test_a_base_is_built_and_removed),
        TEST(test_doctor_looks_each_time),
        TEST(test_info_follows_the_project),
        TEST(test_any_size_is_drawn),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
