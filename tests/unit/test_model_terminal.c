/* The terminal inside of the screen: who gets the keys, where it is, what leaving it does. */
#include "tests/screen/screen.h"

#include "base/alloc.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>
#include <string.h>

#define RECORD "/v1/projects/shop/sessions/s9"

static void assert_shown(struct screen *screen, const char *words)
{
    autofree char *text = screen_text(screen);
    if (!strstr(text, words))
        fail_msg("\"%s\" is not shown:\n%s", words, strlen(text) > 800 ? text + strlen(text) - 800 : text);
}

/* Until its output is shown. */
static void attach(struct screen *screen)
{
    screen_answer(screen, screen_asked(screen, "GET", RECORD),
                  "{\"id\":\"s9\",\"state\":\"running\",\"pty\":true,\"out_total\":0}");
    screen_bytes(screen, screen_asked(screen, "GET", RECORD "/stdout"), 0, "agent@shop:~$ ");
}

static int open_alone(void **state)
{
    struct screen *screen = xnew(struct screen);
    screen_open_session(screen, 24, 80, "shop", "s9");
    screen_up(screen);
    *state = screen;
    return 0;
}

static int open_screen(void **state)
{
    struct screen *screen = xnew(struct screen);
    screen_open(screen, 60, 200, NULL);
    screen_fill(screen);
    screen_keys(screen, "j k");
    terminal_host_open(screen->app, "shop", "s9", "shell", &screen->effects);
    *state = screen;
    return 0;
}

/* Only the session is asked for: no projects, no events. */
static void test_alone_it_fills_the_screen(void **state)
{
    struct screen *screen = *state;
    assert_int_equal(screen_asked(screen, "GET", "/v1/events"), 0);
    attach(screen);
    autofree char *row = screen_row(screen, 0);
    assert_string_equal(row, "agent@shop:~$");
    screen_keys(screen, "q x ?");
    assert_int_equal(screen->app->overlay_count, 0);
}

static void test_alone_leaving_is_quitting(void **state)
{
    struct screen *screen = *state;
    attach(screen);
    screen_keys(screen, "^] d");
    assert_int_equal(screen_count(screen, EFFECT_QUIT), 1);
    assert_int_equal(app_exit_status(screen->app), 0);
}

static void test_alone_its_end_is_the_status(void **state)
{
    struct screen *screen = *state;
    attach(screen);
    screen_answer(screen, screen_asked(screen, "GET", RECORD "/stdout"), NULL);
    screen_answer(screen, screen_asked(screen, "GET", RECORD "/wait"),
                  "{\"id\":\"s9\",\"state\":\"exited\",\"exit_status\":3}");
    assert_int_equal(screen_count(screen, EFFECT_QUIT), 1);
    assert_int_equal(app_exit_status(screen->app), 3);
}

/* Three columns: projects, the terminal, the timeline; keys go where the focus is. */
static void test_beside_the_projects(void **state)
{
    struct screen *screen = *state;
    attach(screen);
    assert_int_equal(screen->app->focus, PANE_TERMINAL);
    assert_shown(screen, "shop           run");
    assert_shown(screen, "agent@shop:~$");
    assert_shown(screen, "1 Timeline");
    screen_keys(screen, "j j");
    assert_int_equal(app_cursor(screen->app, VIEW_PROJECTS), 1); /* typed into the session */
    assert_true(screen_count(screen, EFFECT_WRITE) > 0);
    screen_size(screen, 24, 80); /* no room beside it: it fills the screen */
    autofree char *row = screen_row(screen, 0);
    assert_string_equal(row, "agent@shop:~$");
}

static void test_leaving_gives_the_keys_back(void **state)
{
    struct screen *screen = *state;
    attach(screen);
    screen_keys(screen, "^] d");
    assert_null(screen->app->terminal);
    assert_int_equal(screen_count(screen, EFFECT_QUIT), 0);
    assert_int_equal(screen->app->focus, PANE_PROJECTS);
    screen_keys(screen, "j Enter");
    assert_int_equal(app_cursor(screen->app, VIEW_PROJECTS), 2);
    /* … to whoever had them before. */
    terminal_host_open(screen->app, "shop", "s9", "shell", &screen->effects);
    attach(screen);
    screen_keys(screen, "^] d");
    assert_int_equal(screen->app->focus, PANE_TAB);
}

/* `^] f` fills the screen and gives it back. */
static void test_full_screen(void **state)
{
    struct screen *screen = *state;
    attach(screen);
    screen_keys(screen, "^] f");
    autofree char *full = screen_row(screen, 0);
    assert_string_equal(full, "agent@shop:~$");
    screen_keys(screen, "^] f");
    assert_shown(screen, "1 Timeline");
}

/* A click beside it takes the keys away, one into it gives them back. */
static void test_clicks_move_the_focus(void **state)
{
    struct screen *screen = *state;
    struct message message = {.type = MESSAGE_KEY, .now_ns = screen->now_ns};
    attach(screen);
    app_draw(screen->app, screen->grid);
    message.key = (struct key_event){.type = KEY_EVENT_MOUSE, .act = MOUSE_PRESS, .row = 3, .column = 5};
    app_update(screen->app, &message, &screen->effects);
    assert_int_equal(screen->app->focus, PANE_PROJECTS);
    assert_int_equal(app_cursor(screen->app, VIEW_PROJECTS), 2);
    message.key = (struct key_event){.type = KEY_EVENT_MOUSE, .act = MOUSE_PRESS, .row = 20, .column = 100};
    app_update(screen->app, &message, &screen->effects);
    assert_int_equal(screen->app->focus, PANE_TERMINAL);
}

#define TEST(name, open) cmocka_unit_test_setup_teardown(name, open, screen_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_alone_it_fills_the_screen, open_alone),    TEST(test_alone_leaving_is_quitting, open_alone),
        TEST(test_alone_its_end_is_the_status, open_alone),  TEST(test_beside_the_projects, open_screen),
        TEST(test_leaving_gives_the_keys_back, open_screen), TEST(test_full_screen, open_screen),
        TEST(test_clicks_move_the_focus, open_screen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
