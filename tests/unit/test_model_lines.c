/* Requests on the screen: the lines of a question, and the way to the command that asks. */
#include "tests/screen/requests.h"

#include "base/alloc.h"

#define TEST(name)                  cmocka_unit_test_setup_teardown(name, screen_setup, screen_teardown)
#define assert_shown(screen, words) screen_assert(screen, words, true)

/* One question of three lines: each is answered by itself, what is not routine never with the others. */
static void test_lines_of_a_question(void **state)
{
    struct screen *screen = *state;
    const char *const rows[] = {ROUTINE, BATCH_FIRST, BATCH_SECOND, BATCH_THIRD, NULL};
    const char *const left[] = {ROUTINE, BATCH_SECOND, BATCH_THIRD, NULL};
    give_requests(screen, rows);
    screen_keys(screen, "a j Enter");
    give_requests(screen, rows);
    screen_answer(screen, screen_asked(screen, "GET", "/v1/requests/51"), BATCH_FIRST);
    draw(screen);
    screen_time(screen, 1000);
    assert_shown(screen, "> #51  index.crates.io:443");
    assert_shown(screen, "  #53  paste.example:443   !UNUSUAL!");
    screen_keys(screen, "A");
    screen_answer(screen, screen_asked(screen, "GET", "/v1/requests/52"), BATCH_SECOND);
    assert_int_equal(screen_asked(screen, "GET", "/v1/requests/53"), 0);
    draw(screen);
    screen_time(screen, 1000);
    screen_keys(screen, "A"); /* for it alone again */
    draw(screen);
    screen_keys(screen, "End");
    draw(screen);
    screen_time(screen, 1000);
    screen_forget(screen);
    screen_keys(screen, "o");
    assert_int_equal(screen_asked(screen, "POST", "/v1/requests/52/answer"), 0);
    screen_answer(screen, screen_asked(screen, "POST", "/v1/requests/51/answer"), "{\"request\":51}");
    give_requests(screen, left);
    assert_int_not_equal(screen_asked(screen, "GET", "/v1/requests/52"), 0); /* its next line, not #33 */
    screen_answer(screen, screen_asked(screen, "GET", "/v1/requests/52"), BATCH_SECOND);
    screen_keys(screen, "n");
    assert_int_not_equal(screen_asked(screen, "GET", "/v1/requests/53"), 0);
    screen_answer(screen, screen_asked(screen, "GET", "/v1/requests/53"), BATCH_THIRD);
    screen_keys(screen, "n");
    assert_int_not_equal(screen_asked(screen, "GET", "/v1/requests/33"),
                         0); /* after its last line, another */
}

/* `J` in the list, too. */
static void test_the_command_of_a_row(void **state)
{
    struct screen *screen = *state;
    const char *const rows[] = {UNUSUAL, ROUTINE, NULL};
    screen_event(screen,
                 "{\"seq\":300,\"ts_ns\":1795961080000000000,\"project\":\"shop\",\"kind\":\"exec.start\","
                 "\"actor\":\"user\",\"subject\":\"bash run.sh\",\"session\":\"s3\"}");
    give_requests(screen, rows);
    screen_keys(screen, "a");
    give_requests(screen, rows);
    screen_keys(screen, "j J");
    assert_int_equal(screen->app->overlay_count, 0);
    assert_int_equal(screen->app->lists[VIEW_TIMELINE].cursor, 300);
}

/* `J` leaves the prompt for the command that asks; nothing is answered. */
static void test_the_command_of_a_request(void **state)
{
    struct screen *screen = *state;
    screen_event(screen,
                 "{\"seq\":300,\"ts_ns\":1795961080000000000,\"project\":\"shop\",\"kind\":\"exec.start\","
                 "\"actor\":\"user\",\"subject\":\"bash run.sh\",\"session\":\"s3\"}");
    screen_event(screen,
                 "{\"seq\":301,\"ts_ns\":1795961099000000000,\"project\":\"shop\",\"kind\":\"exec.start\","
                 "\"actor\":\"user\",\"subject\":\"later\",\"session\":\"s3\"}");
    open_request(screen, "/v1/requests/33", ROUTINE);
    screen_keys(screen, "J");
    assert_int_equal(screen->app->overlay_count, 0);
    assert_int_equal(screen->app->tab, VIEW_TIMELINE);
    assert_int_equal(screen->app->lists[VIEW_TIMELINE].cursor, 300);
    assert_null(sent(screen));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_lines_of_a_question),
        TEST(test_the_command_of_a_row),
        TEST(test_the_command_of_a_request),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
