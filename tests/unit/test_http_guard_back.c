/* The way back of HTTP/1: responses measured against their requests; T14, T17 of the list of attacks as far
 * as they are about responses. */
#include "http_guard_world.h"

/* A client's bytes, then the server's, in every split of the latter. */
static void exchange_on(const struct http_guard_options *options, const char *request, const char *response,
                        const char *said, enum http_guard_result result, enum guard_reason reason)
{
    for (size_t way = 0; way < countof(steps) - 1; way++) {
        struct world w;
        world_init(&w, options);
        client(&w, request, strlen(request), steps[way]);
        w.result = HTTP_GUARD_MORE;
        server(&w, response, strlen(response), steps[way]);
        autofree char *text = text_of(&w.to_client);
        assert_string_equal(text, said);
        assert_int_equal(w.result, result);
        assert_string_equal(guard_reason_name(w.guard.reason), guard_reason_name(reason));
        world_finish(&w);
    }
}

static void exchange(const char *request, const char *response, const char *said,
                     enum http_guard_result result)
{
    exchange_on(&plain, request, response, said, result, GUARD_OK);
}

/* The response that says why. */
static char *refusal_text(enum guard_reason reason)
{
    struct buf said;
    buf_init(&said, 0);
    guard_refusal(&said, reason, NULL, false);
    char *text = buf_take_string(&said);
    buf_finish(&said);
    return text;
}

/* The refusal of the second request comes behind the response to the first. */
static void a_refusal_waits_for_its_turn(void **state)
{
    for (size_t way = 0; way < countof(steps) - 1; way++) {
        struct world w;
        world_init(&w, &plain);
        client(&w, PLAIN PLAIN "GET /forbidden HTTP/1.1\r\n" END PLAIN, 3 * strlen(PLAIN) + 43, steps[way]);
        assert_int_equal(w.to_client.len, 0);
        server(&w, OK, strlen(OK), steps[way]);
        assert_int_equal(w.result, HTTP_GUARD_MORE);
        server(&w, OK, strlen(OK), steps[way]);
        autofree char *said = text_of(&w.to_client), *left = text_of(&w.to_server);
        assert_int_equal(w.result, HTTP_GUARD_OVER);
        assert_string_equal(left, PLAIN PLAIN);
        assert_memory_equal(said, OK OK "HTTP/1.1 403 Forbidden\r\n", 2 * strlen(OK) + 24);
        assert_non_null(strstr(said, "{\"no\":1}"));
        world_finish(&w);
    }
}

static void responses_stay_in_step(void **state)
{
#define R200 "HTTP/1.1 200 OK\r\n"
    exchange(PLAIN PLAIN, OK OK, OK OK, HTTP_GUARD_MORE);
    exchange(PLAIN PLAIN, R200 "Transfer-Encoding: chunked\r\n\r\n02;x\r\nok\r\n0\r\nT: x\r\n\r\n" OK,
             R200 "Transfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n" OK, HTTP_GUARD_MORE);
    exchange(PLAIN PLAIN,
             "HTTP/1.1 204 No Content\r\n\r\nHTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n",
             "HTTP/1.1 204 No Content\r\n\r\nHTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n",
             HTTP_GUARD_MORE);
    exchange(PLAIN, "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200\r\nContent-Length: 0\r\n\r\n",
             "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200\r\nContent-Length: 0\r\n\r\n",
             HTTP_GUARD_MORE);
    /* The end of one is the end of all. */
    exchange(PLAIN PLAIN, R200 "Connection: Close\r\nContent-Length: 1\r\n\r\nx" OK,
             R200 "Content-Length: 1\r\nConnection: close\r\n\r\nx", HTTP_GUARD_OVER);
    exchange("GET / HTTP/1.1\r\nConnection: close\r\n" END, OK OK,
             R200 "Content-Length: 2\r\nConnection: close\r\n\r\nok", HTTP_GUARD_OVER);
    exchange(PLAIN, "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\nok",
             "HTTP/1.0 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok", HTTP_GUARD_OVER);
    exchange(PLAIN, R200 "\r\nuntil the end " OK, R200 "Connection: close\r\n\r\nuntil the end " OK,
             HTTP_GUARD_MORE);

    struct world w;
    world_init(&w, &plain);
    client(&w, PLAIN, strlen(PLAIN), 1);
    server(&w, R200 "\r\nabc", strlen(R200) + 5, 1);
    assert_int_equal(http_guard_server_end(&w.guard), HTTP_GUARD_OVER);
    assert_int_equal(w.guard.reason, GUARD_OK);
    world_finish(&w);
}

/* A response that cannot be told apart from another becomes a 502 and the end. */
static void bad_responses_end_the_connection(void **state)
{
    static const struct {
        const char *bytes;
        enum guard_reason reason;
    } cases[] = {
        {R200 "Content-Length: 1\r\nContent-Length: 1\r\n\r\nx", GUARD_HTTP_RESPONSE},
        {R200 "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\nx", GUARD_HTTP_RESPONSE},
        {R200 "Transfer-Encoding: gzip, chunked\r\n\r\nx", GUARD_HTTP_RESPONSE},
        {R200 "A: b\n\r\n", GUARD_HTTP_RESPONSE},
        {R200 "A : b\r\n\r\n", GUARD_HTTP_RESPONSE},
        {"HTTP/1.1 20 OK\r\n\r\n", GUARD_HTTP_RESPONSE},
        {"HTTP/1.1 600 OK\r\n\r\n", GUARD_HTTP_RESPONSE},
        {"HTTP/1.1 2000 OK\r\n\r\n", GUARD_HTTP_RESPONSE},
        {"HTTP/2 200 OK\r\n\r\n", GUARD_HTTP_RESPONSE},
        {"SSH-2.0-OpenSSH\r\n\r\n", GUARD_HTTP_RESPONSE},
        {"HTTP/1.1 101 Switching\r\nUpgrade: websocket\r\nConnection: upgrade\r\n\r\n", GUARD_HTTP_SWITCH},
    };
    for (size_t i = 0; i < countof(cases); i++) {
        autofree char *text = refusal_text(cases[i].reason);
        exchange_on(&plain, PLAIN, cases[i].bytes, text, HTTP_GUARD_OVER, cases[i].reason);
    }
    exchange_on(&plain, "", OK, "", HTTP_GUARD_OVER, GUARD_HTTP_UNASKED);
    exchange_on(&plain, PLAIN, OK "HTTP", OK, HTTP_GUARD_OVER, GUARD_HTTP_UNASKED);
    exchange_on(&plain, PLAIN, R200 "Transfer-Encoding: chunked\r\n\r\nx",
                R200 "Transfer-Encoding: chunked\r\n\r\n", HTTP_GUARD_OVER, GUARD_HTTP_RESPONSE);

    struct buf flood;
    buf_init(&flood, 0);
    for (int i = 0; i <= HTTP_INTERIM_MAX; i++)
        buf_printf(&flood, NULL, "HTTP/1.1 103 Early Hints\r\n\r\n");
    struct world w;
    world_init(&w, &plain);
    client(&w, PLAIN, strlen(PLAIN), 1000);
    server(&w, buf_data(&flood), flood.len, 1000);
    assert_int_equal(w.result, HTTP_GUARD_OVER);
    assert_int_equal(w.guard.reason, GUARD_HTTP_RESPONSE);
    world_finish(&w);
    buf_finish(&flood);
}

static void a_websocket_passes_where_the_rule_says_so(void **state)
{
#define SWITCHED "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"
    struct http_guard_options options = {.host = "good.test", .port = 80, .websocket = true};
    struct world w;
    world_init(&w, &options);
    size_t used = client(&w, PLAIN WS "frame", strlen(PLAIN WS "frame"), 1000);
    assert_int_equal(used, strlen(PLAIN WS));
    assert_int_equal(w.result, HTTP_GUARD_HELD);
    server(&w, OK, strlen(OK), 3); /* of the first: the second still waits */
    assert_int_equal(client(&w, "frame", 5, 1), 0);
    w.result = HTTP_GUARD_MORE;
    server(&w, SWITCHED "\x81\x01x", strlen(SWITCHED) + 3, 5);
    assert_true(http_guard_is_raw(&w.guard));
    assert_int_equal(client(&w, "frame\n\0", 7, 1), 7);
    assert_int_equal(http_guard_client_end(&w.guard), HTTP_GUARD_MORE);
    autofree char *left = text_of(&w.to_server), *said = text_of(&w.to_client);
    assert_string_equal(left, PLAIN WS "frame\n");
    assert_string_equal(said, OK SWITCHED "\x81\x01x");
    assert_int_equal(http_guard_server_end(&w.guard), HTTP_GUARD_OVER);
    assert_int_equal(w.guard.reason, GUARD_OK);
    world_finish(&w);

    /* Not switched: the next request is one. */
    world_init(&w, &options);
    client(&w, WS, strlen(WS), 1);
    server(&w, OK, strlen(OK), 1);
    assert_int_equal(client(&w, PLAIN, strlen(PLAIN), 1), strlen(PLAIN));
    assert_false(http_guard_is_raw(&w.guard));
    world_finish(&w);
    autofree char *text = refusal_text(GUARD_HTTP_SWITCH);
    exchange_on(&options, WS, "HTTP/1.1 101 x\r\nUpgrade: h2c\r\nConnection: upgrade\r\n\r\n", text,
                HTTP_GUARD_OVER, GUARD_HTTP_SWITCH);
}

static void note_status(int status, void *user)
{
    buf_printf(user, NULL, "%d ", status);
}

static void statuses_are_told_in_order(void **state)
{
    struct buf seen;
    buf_init(&seen, 0);
    struct http_guard_options options = {
        .host = "good.test", .port = 80, .websocket = true, .on_response = note_status, .user = &seen};
    exchange_on(&options, PLAIN PLAIN WS,
                "HTTP/1.1 103 x\r\n\r\n" OK "HTTP/1.1 404 x\r\nContent-Length: 0\r\n\r\n" SWITCHED,
                "HTTP/1.1 103 x\r\n\r\n" OK "HTTP/1.1 404 x\r\nContent-Length: 0\r\n\r\n" SWITCHED,
                HTTP_GUARD_MORE, GUARD_OK);
    autofree char *told = buf_take_string(&seen);
    assert_int_equal(strlen(told), 12 * (countof(steps) - 1));
    assert_memory_equal(told, "200 404 101 ", 12);
    /* One that is refused was none. */
    options.websocket = false;
    autofree char *text = refusal_text(GUARD_HTTP_SWITCH);
    exchange_on(&options, PLAIN, SWITCHED, text, HTTP_GUARD_OVER, GUARD_HTTP_SWITCH);
    assert_int_equal(seen.len, 0);
    buf_finish(&seen);
}

static void T17_responses_without_a_body(void **state)
{
    exchange("POST / HTTP/1.1\r\nHost: good.test\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\n",
             "HTTP/1.1 100 Continue\r\n\r\n" OK, "HTTP/1.1 100 Continue\r\n\r\n" OK, HTTP_GUARD_MORE);
    /* HEAD: what its response declares does not follow; a server that sends it all the same is cut off. */
    exchange("HEAD / HTTP/1.1\r\n" END PLAIN, R200 "Content-Length: 2\r\n\r\n" OK,
             R200 "Content-Length: 2\r\n\r\n" OK, HTTP_GUARD_MORE);
    exchange_on(&plain, "HEAD / HTTP/1.1\r\n" END, OK, R200 "Content-Length: 2\r\n\r\n", HTTP_GUARD_OVER,
                GUARD_HTTP_UNASKED);
}

static void a_pipeline_has_a_limit(void **state)
{
    struct world w;
    world_init(&w, &plain);
    for (size_t i = 0; i < HTTP_PIPELINE_MAX; i++)
        assert_int_equal(client(&w, PLAIN, strlen(PLAIN), 1000), strlen(PLAIN));
    assert_int_equal(client(&w, PLAIN, strlen(PLAIN), 1000), 0);
    assert_int_equal(w.result, HTTP_GUARD_HELD);
    w.result = HTTP_GUARD_MORE;
    for (size_t i = 0; i < 40; i++) { /* round and round */
        server(&w, OK, strlen(OK), 3);
        assert_int_equal(client(&w, PLAIN, strlen(PLAIN), 5), strlen(PLAIN));
    }
    assert_int_equal(w.guard.due_count, HTTP_PIPELINE_MAX);
    world_finish(&w);
}

static void ends_in_the_middle_are_told(void **state)
{
    static const char post[] = "POST / HTTP/1.1\r\nContent-Length: 1\r\n" END "x";
    for (size_t cut = 0; cut < sizeof(post); cut++) {
        struct world w;
        world_init(&w, &plain);
        client(&w, post, cut, 1000);
        bool whole = cut == 0 || cut == sizeof(post) - 1;
        assert_int_equal(http_guard_client_end(&w.guard), whole ? HTTP_GUARD_MORE : HTTP_GUARD_OVER);
        assert_int_equal(w.guard.reason, whole ? GUARD_OK : GUARD_HTTP_TRUNCATED);
        world_finish(&w);
    }
    for (size_t cut = 0; cut <= strlen(OK); cut++) {
        struct world w;
        world_init(&w, &plain);
        client(&w, PLAIN, strlen(PLAIN), 1000);
        server(&w, OK, cut, 1000);
        assert_int_equal(http_guard_server_end(&w.guard), HTTP_GUARD_OVER);
        assert_int_equal(w.guard.reason, cut == strlen(OK) ? GUARD_OK : GUARD_HTTP_RESPONSE);
        world_finish(&w);
    }
    /* Nothing may be asked or sent after the end. */
    struct world w;
    size_t used;
    world_init(&w, &plain);
    client(&w, "x\n", 2, 1);
    assert_int_equal(http_guard_client(&w.guard, PLAIN, strlen(PLAIN), &used, &w.to_server, &w.to_client),
                     HTTP_GUARD_OVER);
    assert_int_equal(http_guard_server(&w.guard, OK, strlen(OK), &w.to_client), HTTP_GUARD_OVER);
    assert_int_equal(w.to_server.len, 0);
    world_finish(&w);
}

static int set_up(void **state)
{
    alarm(120);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_refusal_waits_for_its_turn),
        cmocka_unit_test(responses_stay_in_step),
        cmocka_unit_test(bad_responses_end_the_connection),
        cmocka_unit_test(a_websocket_passes_where_the_rule_says_so),
        cmocka_unit_test(statuses_are_told_in_order),
        cmocka_unit_test(T17_responses_without_a_body),
        cmocka_unit_test(a_pipeline_has_a_limit),
        cmocka_unit_test(ends_in_the_middle_are_told),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
