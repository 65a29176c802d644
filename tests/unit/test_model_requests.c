/* The prompt's guards: what a key, a paste, a change and another person may do to a request. Names: the
 * attacks that they must withstand. */
#include "tests/screen/requests.h"

#include "base/alloc.h"

#define TEST(name)                      cmocka_unit_test_setup_teardown(name, screen_setup, screen_teardown)
#define assert_shown(screen, words)     screen_assert(screen, words, true)
#define assert_not_shown(screen, words) screen_assert(screen, words, false)

static void paste(struct screen *screen, const char *text)
{
    struct message message = {.type = MESSAGE_KEY, .now_ns = screen->now_ns};
    autofree char *copy = xstrdup(text);
    message.key = (struct key_event){.type = KEY_EVENT_PASTE, .paste = copy, .paste_len = strlen(text)};
    app_update(screen->app, &message, &screen->effects);
}

/* Asks for the list again, and gives it; then what is shown is asked for. */
static void relist(struct screen *screen, const char *const *rows)
{
    screen_event(screen, "{\"seq\":900,\"ts_ns\":1795961100000000000,\"project\":\"shop\",\"kind\":"
                         "\"approval.ask\",\"subject\":\"x\"}");
    screen_time(screen, 300);
    give_requests(screen, rows);
}

/* ---- the guard ---- */

/* A05: what was typed when it came up, with the answer's keys in it, does nothing. */
static void test_type_ahead_answers_nothing(void **state)
{
    struct screen *screen = *state;
    const char *const rows[] = {ROUTINE, NULL};
    give_requests(screen, rows);
    screen_keys(screen, "a o y Enter d");
    give_requests(screen, rows);
    screen_keys(screen, "o y Enter d");
    screen_answer(screen, screen_asked(screen, "GET", "/v1/requests/33"), ROUTINE);
    screen_keys(screen, "o s p y Enter d"); /* it is there, but nobody saw it */
    draw(screen);
    screen_keys(screen, "o y Enter d");
    assert_null(sent(screen));
    assert_shown(screen, "too early");
    screen_time(screen, 149);
    screen_keys(screen, "o d");
    assert_null(sent(screen));
    screen_time(screen, 1); /* the person moved to it: 150 ms */
    screen_keys(screen, "o");
    assert_sent(screen, "allow", "once");
    assert_string_equal(member(sent(screen), "digest"), "d33");
    assert_string_equal(member(sent(screen), "nonce"), "n33");
}

static void test_a_key_that_is_pressed_twice_answers_once(void **state)
{
    struct screen *screen = *state;
    open_request(screen, "/v1/requests/33", ROUTINE);
    screen_keys(screen, "d d o");
    size_t count = 0;
    for (struct effect *effect = screen->effects.first; effect; effect = effect->next)
        count += effect->path && strstr(effect->path, "/answer") != NULL;
    assert_int_equal(count, 1);
}

/* It changed after it was shown: it is said, and 700 ms pass anew. */
static void test_what_changed_is_shown_again(void **state)
{
    struct screen *screen = *state;
    const char *const rows[] = {ROUTINE, NULL};
    open_request(screen, "/v1/requests/33", ROUTINE);
    relist(screen, rows);
    screen_answer(screen, screen_asked(screen, "GET", "/v1/requests/33"),
                  ROUTINE_OF("33", "evil.example", "other", CURL));
    screen_keys(screen, "o");
    assert_null(sent(screen));
    draw(screen);
    assert_shown(screen, "evil.example");
    screen_time(screen, 699);
    screen_keys(screen, "o");
    assert_null(sent(screen));
    screen_time(screen, 1);
    screen_keys(screen, "o");
    assert_string_equal(member(sent(screen), "digest"), "other");
}

static void test_a_change_is_said(void **state)
{
    struct screen *screen = *state;
    const char *const rows[] = {ROUTINE, NULL};
    open_request(screen, "/v1/requests/33", ROUTINE);
    relist(screen, rows);
    screen_answer(screen, screen_asked(screen, "GET", "/v1/requests/33"),
                  ROUTINE_OF("33", "evil.example", "other", CURL));
    assert_shown(screen, "#33 changed after it was shown");
}

/* hutchd refuses what is not what was shown: it is looked at again, not answered again. */
static void test_hutchd_refuses_what_changed(void **state)
{
    struct screen *screen = *state;
    open_request(screen, "/v1/requests/33", ROUTINE);
    screen_keys(screen, "o");
    screen_fail(screen, screen_asked(screen, "POST", "/v1/requests/33/answer"), ERROR_CHANGES, "another");
    screen_answer(screen, screen_asked(screen, "GET", "/v1/requests/33"),
                  ROUTINE_OF("33", "evil.example", "other", CURL));
    screen_forget(screen);
    screen_keys(screen, "o");
    assert_null(sent(screen));
}

static void test_the_half_said_yes_dies_with_a_change(void **state)
{
    struct screen *screen = *state;
    const char *const rows[] = {UNUSUAL, NULL};
    open_request(screen, "/v1/requests/31", UNUSUAL);
    screen_keys(screen, "End");
    draw(screen);
    screen_keys(screen, "o y");
    relist(screen, rows);
    screen_answer(screen, screen_asked(screen, "GET", "/v1/requests/31"),
                  REQUEST("31", "UPLOAD", "transfer.example:443", "unusual", "held", "085", "dd",
                          "\"host\":\"x\"", ALLOW("once", "")));
    draw(screen);
    screen_time(screen, 1000);
    screen_keys(screen, "Enter");
    assert_null(sent(screen));
}

/* ---- keys that are not answers ---- */

static void test_a_paste_answers_nothing(void **state)
{
    struct screen *screen = *state;
    open_request(screen, "/v1/requests/33", ROUTINE);
    paste(screen, "o");
    paste(screen, "d\ny\n");
    assert_null(sent(screen));
    assert_shown(screen, "what is pasted answers nothing");
}

static void test_a_pasted_name_allows_nothing(void **state)
{
    struct screen *screen = *state;
    open_request(screen, "/v1/requests/40", CRITICAL);
    screen_keys(screen, "End");
    draw(screen);
    screen_keys(screen, "o");
    paste(screen, "db.corp.example");
    screen_keys(screen, "Enter");
    assert_null(sent(screen));
}

static void test_enter_and_letters_of_lists_do_nothing(void **state)
{
    struct screen *screen = *state;
    open_request(screen, "/v1/requests/33", ROUTINE);
    screen_keys(screen, "Enter y j k g G x f w m Space");
    assert_null(sent(screen));
    assert_int_equal(app_view(screen->app), VIEW_REQUEST);
    screen_keys(screen, "Enter");
    assert_shown(screen, "Enter does nothing here");
    screen_keys(screen, "Escape");
    assert_int_equal(app_view(screen->app), VIEW_REQUESTS);
    assert_null(sent(screen));
}

#define RECORD "/v1/projects/shop/sessions/s9"

/* A04, A05: a pane that draws a prompt has neither the bottom row nor a key that answers; the prompt that the
 * person opens over it drops what was typed into the pane. */
static void test_keys_in_a_pane_answer_nothing(void **state)
{
    struct screen *screen = *state;
    const char *const rows[] = {ROUTINE, NULL};
    give_requests(screen, rows);
    terminal_host_open(screen->app, "shop", "s9", "shell", &screen->effects);
    screen_answer(screen, screen_asked(screen, "GET", RECORD),
                  "{\"id\":\"s9\",\"state\":\"running\",\"pty\":true,\"out_total\":0}");
    screen_bytes(screen, screen_asked(screen, "GET", RECORD "/stdout"), 0,
                 "\x1b[H\x1b[2Jhutch > Requests  #33 of 1 waiting\x1b[24;1H  o  once\x1b[99;1HCONNECT");
    autofree char *last = screen_row(screen, 23);
    assert_non_null(strstr(last, "[shop] shell"));
    assert_non_null(strstr(last, "1 WAITING ^] a"));
    assert_null(strstr(last, "CONNECT"));
    screen_keys(screen, "o y Enter d");
    assert_true(screen_count(screen, EFFECT_WRITE) > 0); /* they went to the session */
    assert_null(sent(screen));
    assert_int_equal(screen->app->inbox.prompt.id, 0);
    screen_keys(screen, "^] a");
    assert_int_equal(app_view(screen->app), VIEW_REQUEST);
    screen_answer(screen, screen_asked(screen, "GET", "/v1/requests/33"), ROUTINE);
    draw(screen);
    screen_keys(screen, "y Enter o y Enter");
    assert_null(sent(screen));
    autofree char *first = screen_row(screen, 0);
    assert_non_null(strstr(first, "ROUTINE"));
    screen_time(screen, 150);
    screen_keys(screen, "o");
    assert_sent(screen, "allow", "once");
}

/* ---- the three classes ---- */

static void test_routine_takes_one_key(void **state)
{
    static const struct {
        const char *key, *verdict, *scope;
    } rows[] = {
        {"d", "deny", ""}, {"o", "allow", "once"}, {"s", "allow", "session"}, {"p", "allow", "project"}};
    (void)state;
    for (size_t i = 0; i < countof(rows); i++) {
        struct screen screen;
        screen_open(&screen, 24, 80, NULL);
        screen_fill(&screen);
        open_request(&screen, "/v1/requests/33", ROUTINE);
        screen_keys(&screen, rows[i].key);
        assert_sent(&screen, rows[i].verdict, rows[i].scope);
        screen_close(&screen);
    }
}

/* What was let happen is named; a session is what runs in it; a time is one that a person reads. */
static void test_it_is_said_in_words(void **state)
{
    struct screen *screen = *state;
    screen_event(screen, "{\"seq\":899,\"ts_ns\":1795961090000000000,\"project\":\"shop\",\"kind\":"
                         "\"exec.start\",\"subject\":\"claude\",\"session\":\"s3\"}");
    open_request(screen, "/v1/requests/33", ROUTINE);
    assert_shown(screen, "session claude");
    assert_shown(screen, "not known for taking uploads   if allowed: 8M up an hour at most");
    screen_keys(screen, "v");
    assert_shown(screen, "asked_ns = 2026-11-");
    assert_not_shown(screen, "1795961");
    screen_keys(screen, "q");
    draw(screen);
    screen_time(screen, 800);
    screen_keys(screen, "p");
    assert_sent(screen, "allow", "project");
    screen_answer(screen, screen_asked(screen, "POST", "/v1/requests/33/answer"),
                  "{\"request\":33,\"verdict\":\"allow\"}");
    assert_shown(screen, "#33 is allowed; added to shop: allow docs.rs:443");
}

static void test_unusual_takes_y_and_enter(void **state)
{
    struct screen *screen = *state;
    open_request(screen, "/v1/requests/31", UNUSUAL);
    screen_keys(screen, "End");
    draw(screen);
    screen_keys(screen, "p");
    assert_shown(screen, "not offered");
    screen_keys(screen, "o Enter");
    screen_keys(screen, "o y y Enter");
    screen_keys(screen, "o n Enter s Escape");
    assert_null(sent(screen));
    screen_keys(screen, "s y Enter");
    assert_sent(screen, "allow", "session");
}

static void test_critical_takes_the_name(void **state)
{
    struct screen *screen = *state;
    open_request(screen, "/v1/requests/40", CRITICAL);
    screen_keys(screen, "End");
    draw(screen);
    screen_keys(screen, "s p");
    screen_keys(screen, "o y Enter");
    assert_null(sent(screen));
    assert_shown(screen, "that is not the name");
    screen_keys(screen, "Escape o");
    screen_type(screen, "db.corp.example");
    screen_keys(screen, "Enter");
    assert_sent(screen, "allow", "once");
}

/* What this screen does not know is critical, and a class that is no word too. */
static void test_an_unknown_class_is_critical(void **state)
{
    struct screen *screen = *state;
    open_request(screen, "/v1/requests/50",
                 REQUEST("50", "TELEPORT", "x", "harmless", "held", "000", "d", "\"host\":\"x.example\"",
                         ALLOW("once", "") ALLOW("session", "") ALLOW("project", "")));
    assert_shown(screen, "***CRITICAL***");
    assert_shown(screen, "UNKNOWN");
    screen_keys(screen, "s p o y Enter");
    assert_null(sent(screen));
}

static void test_a_denial_takes_a_reason(void **state)
{
    struct screen *screen = *state;
    open_request(screen, "/v1/requests/31", UNUSUAL);
    screen_keys(screen, "r");
    screen_type(screen, "no uploads; use main's");
    screen_keys(screen, "Enter");
    assert_sent(screen, "deny", "");
    assert_string_equal(member(sent(screen), "reason"), "no uploads; use main's");
    screen_keys(screen, "L");
    assert_shown(screen, "hutch deny 31 -m 'no uploads");
}

/* ---- others, and the end ---- */

static void test_two_people_answer_at_once(void **state)
{
    struct screen *screen = *state;
    open_request(screen, "/v1/requests/33", ROUTINE);
    screen_keys(screen, "o");
    screen_fail(screen, screen_asked(screen, "POST", "/v1/requests/33/answer"), ERROR_STATE,
                "request 33 was denied already, by uid 1000, pts/3");
    assert_shown(screen, "was denied already, by uid 1000, pts/3");
    assert_int_not_equal(app_view(screen->app), VIEW_REQUEST);
}

static void test_what_is_over_closes_and_says_how(void **state)
{
    static const char *const over[][2] = {
        {"{\"id\":33,\"state\":\"gone\",\"reason\":\"curl ended\"}", "#33 is gone: curl ended"},
        {"{\"id\":33,\"state\":\"allowed\",\"by\":\"uid 1000, pts/3\"}",
         "#33 was allowed elsewhere, by uid 1000"},
    };
    const char *const none[] = {NULL};
    (void)state;
    for (size_t i = 0; i < countof(over); i++) {
        struct screen screen;
        screen_open(&screen, 24, 80, NULL);
        screen_fill(&screen);
        open_request(&screen, "/v1/requests/33", ROUTINE);
        relist(&screen, none);
        screen_answer(&screen, screen_asked(&screen, "GET", "/v1/requests/33"), over[i][0]);
        screen_assert(&screen, over[i][1], true);
        assert_int_equal(app_view(screen.app), VIEW_REQUESTS);
        screen_close(&screen);
    }
}

/* hutchd restarts: the question is there still, with another nonce, and is answered with that one. */
static void test_hutchd_restarts(void **state)
{
    struct screen *screen = *state;
    const char *const rows[] = {ROUTINE, NULL};
    open_request(screen, "/v1/requests/33", ROUTINE);
    screen_down(screen);
    screen_keys(screen, "o");
    assert_null(sent(screen));
    assert_shown(screen, "hutchd is away");
    screen_forget(screen);
    screen_up(screen);
    give_requests(screen, rows);
    json_t *again = json_loads(ROUTINE, 0, NULL);
    json_object_set_new(again, "nonce", json_string("fresh"));
    json_object_set_new(again, "state", json_string("waiting"));
    autofree char *text = json_dumps(again, 0);
    json_decref(again);
    screen_answer(screen, screen_asked(screen, "GET", "/v1/requests/33"), text);
    draw(screen);
    screen_time(screen, 1000);
    screen_keys(screen, "o");
    assert_string_equal(member(sent(screen), "nonce"), "fresh");
}

/* hutchd goes while the request and then the list were asked for: the end of the list gives the request's
 * call up, which was the next to end. */
static void test_hutchd_goes_while_it_is_asked(void **state)
{
    struct screen *screen = *state;
    const char *const rows[] = {ROUTINE, NULL};
    open_request(screen, "/v1/requests/33", ROUTINE);
    relist(screen, rows);
    uint64_t request = screen->app->inbox.prompt.call;
    screen_event(screen, "{\"seq\":901,\"ts_ns\":1795961100000000000,\"project\":\"shop\",\"kind\":"
                         "\"approval.ask\",\"subject\":\"x\"}");
    screen_time(screen, 300);
    assert_true(request && asked_list(screen) > request);
    screen_down(screen);
    assert_int_equal(asked_list(screen), 0);
    assert_int_equal(screen->app->inbox.prompt.call, 0);
    assert_null(screen->app->calls);
}

/* After an answer the next one comes by itself: 700 ms. */
static void test_the_next_comes_with_its_guard(void **state)
{
    struct screen *screen = *state;
    const char *const rows[] = {ROUTINE, UNUSUAL, NULL};
    give_requests(screen, rows);
    screen_keys(screen, "a Enter");
    screen_answer(screen, screen_asked(screen, "GET", "/v1/requests/33"), ROUTINE);
    draw(screen);
    screen_time(screen, 200);
    screen_keys(screen, "d");
    screen_answer(screen, screen_asked(screen, "POST", "/v1/requests/33/answer"), "{}");
    screen_answer(screen, screen_asked(screen, "GET", "/v1/requests/31"), UNUSUAL);
    screen_forget(screen);
    draw(screen);
    screen_time(screen, 699);
    screen_keys(screen, "d");
    assert_null(sent(screen));
    screen_time(screen, 1);
    screen_keys(screen, "d");
    assert_sent(screen, "deny", "");
}

/* 100 in a second: the list is asked for a few times, the bell rings no more often, all are there. */
static void test_a_hundred_in_a_second(void **state)
{
    struct screen *screen = *state;
    const char *const none[] = {NULL};
    give_requests(screen, none);
    screen_forget(screen);
    size_t lists = 0;
    for (int i = 0; i < 100; i++) {
        autofree char *event =
            xasprintf("{\"seq\":%d,\"ts_ns\":%lld,\"project\":\"shop\",\"kind\":\"approval.ask\","
                      "\"subject\":\"x\"}",
                      1000 + i, (long long)screen->now_ns);
        screen_event(screen, event);
        screen_time(screen, 10);
        if (!asked_list(screen))
            continue;
        lists++;
        for (int j = 0; j <= i; j++) {
            autofree char *row = xasprintf("{\"id\":%d,\"project\":\"shop\",\"kind\":\"CONNECT\",\"subject\":"
                                           "\"h%d.example:443\",\"class\":\"routine\",\"state\":\"held\"}",
                                           j + 1, j + 1);
            screen_line(screen, asked_list(screen), row);
        }
        screen_answer(screen, asked_list(screen), NULL);
    }
    assert_true(lists >= 2 && lists <= 5);
    assert_true(screen_count(screen, EFFECT_BELL) <= lists);
    assert_true(screen_count(screen, EFFECT_BELL) >= 1);
    assert_true(screen->app->inbox.count > 90);
    assert_shown(screen, "WAITING  press a");
}

static void test_those_like_it_are_answered_together(void **state)
{
    struct screen *screen = *state;
    const char *const rows[] = {ROUTINE, ROUTINE_OF("34", "docs.rs", "d34", CURL),
                                ROUTINE_OF("35", "evil.example", "d35", CURL), UNUSUAL, NULL};
    give_requests(screen, rows);
    screen_keys(screen, "a Enter");
    give_requests(screen, rows);
    screen_answer(screen, screen_asked(screen, "GET", "/v1/requests/33"), ROUTINE);
    draw(screen);
    screen_time(screen, 1000);
    screen_keys(screen, "A");
    screen_answer(screen, screen_asked(screen, "GET", "/v1/requests/34"), rows[1]);
    screen_answer(screen, screen_asked(screen, "GET", "/v1/requests/35"), rows[2]);
    assert_int_equal(screen_asked(screen, "GET", "/v1/requests/31"), 0);
    assert_shown(screen, "#34  docs.rs:443");
    assert_not_shown(screen, "#35");
    screen_keys(screen, "d");
    assert_null(sent(screen)); /* it says more than it did: look first */
    screen_time(screen, 700);
    screen_keys(screen, "d");
    assert_int_not_equal(screen_asked(screen, "POST", "/v1/requests/33/answer"), 0);
    assert_int_not_equal(screen_asked(screen, "POST", "/v1/requests/34/answer"), 0);
    assert_int_equal(screen_asked(screen, "POST", "/v1/requests/35/answer"), 0);
}

/* `e` writes the rule: it is asked whether it is meant, and hutchd judges the request by it. */
static void test_the_rule_is_written_and_confirmed(void **state)
{
    struct screen *screen = *state;
    open_request(screen, "/v1/requests/33", ROUTINE);
    screen_keys(screen, "e");
    assert_shown(screen, "rule: allow docs.rs:443");
    screen_keys(screen, "Enter");
    assert_shown(screen, "add to the rules of shop:  allow docs.rs:443");
    screen_keys(screen, "Enter");
    assert_int_equal(screen_asked(screen, "POST", "/v1/projects/shop/rules"), 0);
    screen_keys(screen, "e Enter y");
    assert_int_not_equal(screen_asked(screen, "POST", "/v1/projects/shop/rules"), 0);
    assert_null(sent(screen));
}

/* hutchd hears of a person every 30 s at most, and of whom: the project that is looked at, or the inbox. */
static void test_keys_tell_that_a_person_attends(void **state)
{
    struct screen *screen = *state;
    screen_forget(screen);
    screen->app->inbox.attended_ns = 0;
    screen_keys(screen, "j k j k");
    size_t count = 0;
    for (struct effect *effect = screen->effects.first; effect; effect = effect->next) {
        if (!effect->path || strcmp(effect->path, "/v1/attending") != 0)
            continue;
        count++;
        assert_string_equal(member(effect->body, "project"), "shop");
    }
    assert_int_equal(count, 1);
    screen_forget(screen);
    screen_time(screen, 29999);
    screen_keys(screen, "a");
    assert_int_equal(screen_asked(screen, "POST", "/v1/attending"), 0);
    screen_time(screen, 1);
    screen_keys(screen, "g");
    uint64_t id = screen_asked(screen, "POST", "/v1/attending");
    assert_int_not_equal(id, 0);
    struct effect *effect = screen->effects.first;
    while (effect->id != id)
        effect = effect->next;
    assert_true(json_is_null(json_object_get(effect->body, "project")));
}

/* `z` of a machine that stands still for a request lets it go on. */
static void test_z_thaws(void **state)
{
    struct screen *screen = *state;
    struct project *shop = &screen->app->projects.list[0];
    shop->state = (free(shop->state), xstrdup("frozen"));
    shop->frozen_for = 31;
    assert_shown(screen, "for request #31; a answers");
    shop->frozen_ns = screen->app->now_ns - 9 * 1000000000LL;
    assert_shown(screen, "for request #31, 9s; a answers");
    screen->app->now_ns += 1000000000;
    assert_shown(screen, "for request #31, 10s; a answers");
    screen_keys(screen, "z");
    assert_int_not_equal(screen_asked(screen, "POST", "/v1/projects/shop/thaw"), 0);
}

/* Every size is drawn, and the first and the last row are never the request's. */
static void test_any_size_is_drawn(void **state)
{
    struct screen *screen = *state;
    open_request(screen, "/v1/requests/40", CRITICAL);
    for (int rows = 1; rows < 30; rows++) {
        for (int columns = 1; columns < 100; columns += 3) {
            screen_size(screen, rows, columns);
            draw(screen);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_type_ahead_answers_nothing),
        TEST(test_a_key_that_is_pressed_twice_answers_once),
        TEST(test_what_changed_is_shown_again),
        TEST(test_a_change_is_said),
        TEST(test_hutchd_refuses_what_changed),
        TEST(test_the_half_said_yes_dies_with_a_change),
        TEST(test_a_paste_answers_nothing),
        TEST(test_a_pasted_name_allows_nothing),
        TEST(test_enter_and_letters_of_lists_do_nothing),
        TEST(test_keys_in_a_pane_answer_nothing),
        cmocka_unit_test(test_routine_takes_one_key),
        TEST(test_it_is_said_in_words),
        TEST(test_unusual_takes_y_and_enter),
        TEST(test_critical_takes_the_name),
        TEST(test_an_unknown_class_is_critical),
        TEST(test_a_denial_takes_a_reason),
        TEST(test_two_people_answer_at_once),
        cmocka_unit_test(test_what_is_over_closes_and_says_how),
        TEST(test_hutchd_restarts),
        TEST(test_hutchd_goes_while_it_is_asked),
        TEST(test_the_next_comes_with_its_guard),
        TEST(test_a_hundred_in_a_second),
        TEST(test_those_like_it_are_answered_together),
        TEST(test_the_rule_is_written_and_confirmed),
        TEST(test_keys_tell_that_a_person_attends),
        TEST(test_z_thaws),
        TEST(test_any_size_is_drawn),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
