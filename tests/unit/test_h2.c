/* Two HTTP/2 sessions back to back: what a correct peer sees. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/alloc.h"
#include "frames.h"
#include "h2_pair.h"
#include "wire/h2_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define RECORDS_MAX 300

/* The server keeps a record of each request in the order of arrival. */
struct world {
    struct h2_pair pair;
    struct h2_record records[RECORDS_MAX];
    char paths[RECORDS_MAX][64];
    size_t requests;
    bool refuse;
    unsigned want_sends, goaways, pings;
    uint32_t goaway_code;
};

static void on_request(struct h2_session *session, struct h2_stream *stream, const struct h2_head *head,
                       void *user)
{
    struct world *w = user;
    assert_true(w->requests < RECORDS_MAX);
    struct h2_record *record = &w->records[w->requests];
    const char *extra = h2_head_field(head, "x-extra");
    snprintf(w->paths[w->requests], sizeof(w->paths[0]), "%s %s %s %s%s", head->method,
             head->path ? head->path : "-", head->authority, extra ? extra : "-", head->end ? " end" : "");
    w->requests++;
    if (w->refuse)
        return;
    record->stream = stream;
    h2_stream_set_ops(stream, &h2_record_ops, record);
}

static void on_want_send(struct h2_session *session, void *user)
{
    struct world *w = user;
    w->want_sends++;
}

static void on_goaway(struct h2_session *session, uint32_t code, void *user)
{
    struct world *w = user;
    w->goaways++;
    w->goaway_code = code;
}

static void on_ping_ack(struct h2_session *session, void *user)
{
    struct world *w = user;
    w->pings++;
}

static const struct h2_session_ops server_ops = {.on_request = on_request, .on_goaway = on_goaway};
static const struct h2_session_ops client_ops = {
    .on_want_send = on_want_send, .on_goaway = on_goaway, .on_ping_ack = on_ping_ack};

/* Records of client streams, to be freed after the session. */
static struct h2_record *asked[RECORDS_MAX];
static size_t asked_count;

static int set_up(void **state)
{
    alarm(60);
    struct world *w = xnew(struct world);
    for (size_t i = 0; i < RECORDS_MAX; i++)
        h2_record_init(&w->records[i]);
    w->pair.server = h2_session_create(H2_SERVER, NULL, &server_ops, w);
    w->pair.client = h2_session_create(H2_CLIENT, NULL, &client_ops, w);
    h2_pair_run(&w->pair);
    *state = w;
    return 0;
}

static int tear_down(void **state)
{
    struct world *w = *state;
    h2_pair_destroy(&w->pair);
    for (size_t i = 0; i < asked_count; i++)
        h2_record_finish(asked[i]);
    asked_count = 0;
    for (size_t i = 0; i < RECORDS_MAX; i++)
        h2_record_finish(&w->records[i]);
    free(w);
    return 0;
}

/* A client stream with a record, which must outlive the session. */
static struct h2_stream *ask(struct world *w, struct h2_record *record, const char *method, const char *path,
                             bool body)
{
    h2_record_init(record);
    asked[asked_count++] = record;
    const char *authority = strcmp(method, "CONNECT") == 0 ? path : NULL;
    struct h2_stream *stream = h2_request(w->pair.client, method, authority ? NULL : path, authority, NULL, 0,
                                          body, &h2_record_ops, record, NULL);
    record->stream = stream;
    return stream;
}

static void request_and_response(void **state)
{
    struct world *w = *state;
    static struct h2_record answer;
    h2_record_init(&answer);
    asked[asked_count++] = &answer;
    const struct h2_field fields[] = {{"x-extra", "more"}};
    struct h2_stream *stream = h2_request(w->pair.client, "POST", "/v1/a?b=c", "host", fields, 1, true,
                                          &h2_record_ops, &answer, NULL);
    assert_int_equal(h2_stream_write(stream, "question", 8), 8);
    h2_stream_end(stream);
    assert_int_equal(h2_stream_write(stream, "late", 4), 0);
    h2_pair_run(&w->pair);
    assert_int_equal(w->requests, 1);
    assert_string_equal(w->paths[0], "POST /v1/a?b=c host more");
    assert_int_equal(w->records[0].data.len, 8);
    assert_memory_equal(buf_data(&w->records[0].data), "question", 8);
    assert_int_equal(w->records[0].ends, 1);
    assert_int_equal(w->records[0].closes, 0);

    struct h2_stream *back = w->records[0].stream;
    assert_true(h2_stream_remote_ended(back));
    assert_int_equal(h2_respond(back, 201, NULL, 0, true, NULL), 0);
    assert_true(h2_respond(back, 201, NULL, 0, true, NULL) < 0);
    h2_stream_write(back, "answer", 6);
    h2_pair_run(&w->pair);
    assert_int_equal(answer.status, 201);
    assert_false(answer.head_end);
    assert_int_equal(answer.ends, 0);
    h2_stream_end(back);
    h2_pair_run(&w->pair);
    assert_int_equal(answer.ends, 1);
    assert_memory_equal(buf_data(&answer.data), "answer", 6);
    assert_int_equal(answer.closes, 1);
    assert_int_equal(answer.code, 0);
    assert_int_equal(w->records[0].closes, 1);
    assert_int_equal(w->records[0].code, 0);
    assert_int_equal(h2_session_stream_count(w->pair.client), 0);
    assert_int_equal(h2_session_stream_count(w->pair.server), 0);
}

static void heads_without_bodies(void **state)
{
    struct world *w = *state;
    static struct h2_record answer;
    ask(w, &answer, "GET", "/", false);
    h2_pair_run(&w->pair);
    assert_string_equal(w->paths[0], "GET / hutch - end");
    assert_int_equal(w->records[0].ends, 1);
    h2_respond(w->records[0].stream, 204, NULL, 0, false, NULL);
    h2_pair_run(&w->pair);
    assert_int_equal(answer.status, 204);
    assert_true(answer.head_end);
    assert_int_equal(answer.ends, 1);
    assert_int_equal(answer.closes, 1);
}

static void a_tunnel_half_closes_both_ways(void **state)
{
    struct world *w = *state;
    static struct h2_record near;
    struct h2_stream *stream = ask(w, &near, "CONNECT", "example.org:443", true);
    h2_pair_run(&w->pair);
    assert_string_equal(w->paths[0], "CONNECT - example.org:443 -");
    struct h2_record *far = &w->records[0];
    h2_respond(far->stream, 200, NULL, 0, true, NULL);
    h2_stream_write(far->stream, "far", 3);
    h2_stream_end(far->stream);
    h2_pair_run(&w->pair);
    assert_int_equal(near.ends, 1);
    assert_int_equal(near.closes, 0);
    h2_stream_write(stream, "near", 4);
    h2_pair_run(&w->pair);
    assert_memory_equal(buf_data(&far->data), "near", 4);
    assert_int_equal(far->ends, 0);
    h2_stream_end(stream);
    h2_pair_run(&w->pair);
    assert_int_equal(far->ends, 1);
    assert_int_equal(far->closes, 1);
    assert_int_equal(near.closes, 1);
    assert_int_equal(near.code | far->code, 0);
}

static void input_is_taken_in_any_pieces(void **state)
{
    struct world *w = *state;
    struct buf wire;
    buf_init(&wire, 0);
    static struct h2_record answers[3];
    for (int i = 0; i < 3; i++) {
        struct h2_stream *stream = ask(w, &answers[i], "POST", "/pieces", true);
        h2_stream_write(stream, "0123456789", 10);
        h2_stream_end(stream);
    }
    h2_pair_take(w->pair.client, &wire);
    for (size_t i = 0; i < wire.len; i++)
        assert_int_equal(h2_session_receive(w->pair.server, buf_data(&wire) + i, 1, NULL), 0);
    assert_int_equal(w->requests, 3);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(w->records[i].ends, 1);
        assert_memory_equal(buf_data(&w->records[i].data), "0123456789", 10);
    }
    buf_finish(&wire);
}

static void interim_responses_are_skipped(void **state)
{
    struct world *w = *state;
    static struct h2_record answer;
    struct h2_stream *stream = ask(w, &answer, "GET", "/", false);
    h2_pair_move(w->pair.client, NULL, NULL);
    struct buf wire;
    buf_init(&wire, 0);
    uint32_t id = (uint32_t)h2_stream_id(stream);
    frames_request(&wire, id, F_END_HEADERS, ":status", "103", "link", "x", NULL);
    frames_request(&wire, id, F_END_HEADERS, ":status", "200", NULL);
    frames_add(&wire, F_DATA, F_END_STREAM, id, "ok", 2);
    assert_int_equal(h2_session_receive(w->pair.client, buf_data(&wire), wire.len, NULL), 0);
    assert_int_equal(answer.status, 200);
    assert_int_equal(answer.ends, 1);
    assert_int_equal(answer.closes, 1);
    assert_int_equal(answer.code, 0);
    buf_finish(&wire);
}

static void a_short_write_comes_back_at_half(void **state)
{
    struct world *w = *state;
    static struct h2_record near;
    struct h2_stream *stream = ask(w, &near, "POST", "/", true);
    autofree uint8_t *block = xcalloc(H2_OUT_MAX + 1, 1);
    assert_int_equal(h2_stream_write(stream, block, H2_OUT_MAX - 1), H2_OUT_MAX - 1);
    assert_int_equal(h2_stream_write(stream, block, 2), 1);
    assert_int_equal(h2_stream_queued(stream), H2_OUT_MAX);
    const uint8_t *data;
    size_t len;
    while (near.writables == 0) {
        assert_true(h2_stream_queued(stream) > H2_OUT_MAX / 2);
        assert_int_equal(h2_session_take(w->pair.client, &data, &len, NULL), 0);
        assert_true(len > 0 && len <= H2_FRAME_MAX + 9);
        h2_session_receive(w->pair.server, data, len, NULL);
    }
    assert_true(h2_stream_queued(stream) <= H2_OUT_MAX / 2);
    h2_pair_run(&w->pair);
    assert_int_equal(near.writables, 1); /* nothing short since */
    assert_int_equal(w->records[0].data.len, H2_OUT_MAX);
}

/* What is not given back stops the sender at the window, of the stream and of the connection. */
static void unconsumed_bytes_stop_the_sender(void **state)
{
    struct world *w = *state;
    enum { STREAMS = 20 };
    static struct h2_record near[STREAMS];
    autofree uint8_t *block = xcalloc(H2_OUT_MAX, 1);
    for (int i = 0; i < STREAMS; i++) {
        w->records[i].keep_window = true;
        ask(w, &near[i], "POST", "/", true);
    }
    for (int round = 0; round < 10; round++) {
        for (int i = 0; i < STREAMS; i++)
            h2_stream_write(near[i].stream, block, H2_OUT_MAX);
        h2_pair_run(&w->pair);
    }
    size_t total = 0;
    for (int i = 0; i < STREAMS; i++) {
        assert_true(w->records[i].data.len <= H2_WINDOW_STREAM);
        total += w->records[i].data.len;
        assert_int_equal(h2_stream_queued(near[i].stream), H2_OUT_MAX);
    }
    assert_int_equal(total, H2_WINDOW_SESSION);

    h2_stream_consumed(w->records[0].stream, w->records[0].data.len);
    size_t before = w->records[0].data.len;
    h2_pair_run(&w->pair);
    assert_true(w->records[0].data.len > before);
}

static void streams_take_turns(void **state)
{
    struct world *w = *state;
    static struct h2_record near[4];
    autofree uint8_t *block = xcalloc(H2_OUT_MAX, 1);
    for (int i = 0; i < 4; i++) {
        ask(w, &near[i], "POST", "/", true);
        h2_stream_write(near[i].stream, block, H2_OUT_MAX);
    }
    struct buf wire;
    buf_init(&wire, 0);
    h2_pair_take(w->pair.client, &wire);
    const uint8_t *at = buf_data(&wire);
    size_t left = wire.len;
    struct frame frame;
    size_t frames[16] = {0};
    while (frames_next(&at, &left, &frame)) {
        if (frame.type != F_DATA)
            continue;
        size_t most = 0, least = SIZE_MAX;
        frames[frame.stream]++;
        for (int i = 0; i < 4; i++) {
            size_t n = frames[h2_stream_id(near[i].stream)];
            most = n > most ? n : most;
            least = n < least ? n : least;
        }
        assert_true(most - least <= 2);
    }
    assert_int_equal(left, 0);
    buf_finish(&wire);
}

static void a_reset_closes_later_and_tells_nothing_else(void **state)
{
    struct world *w = *state;
    static struct h2_record near;
    struct h2_stream *stream = ask(w, &near, "POST", "/", true);
    h2_pair_run(&w->pair);
    struct h2_record *far = &w->records[0];
    h2_respond(far->stream, 200, NULL, 0, true, NULL);
    h2_stream_write(far->stream, "on the way", 10);
    h2_stream_reset(stream, H2_CANCEL);
    assert_int_equal(near.closes, 0);
    h2_stream_reset(stream, H2_CANCEL);
    assert_int_equal(h2_stream_write(stream, "x", 1), 0);
    h2_pair_move(w->pair.server, w->pair.client, NULL); /* the answer crosses the reset */
    h2_pair_run(&w->pair);
    assert_int_equal(near.closes, 1);
    assert_int_equal(near.code, H2_CANCEL);
    assert_int_equal(near.data.len, 0);
    assert_int_equal(near.status, 0);
    assert_int_equal(far->closes, 1);
    assert_int_equal(far->code, H2_CANCEL);
}

static void a_request_that_was_never_sent_can_be_reset(void **state)
{
    struct world *w = *state;
    static struct h2_record near;
    struct h2_stream *stream = ask(w, &near, "GET", "/", false);
    h2_stream_reset(stream, H2_CANCEL);
    h2_pair_run(&w->pair);
    assert_int_equal(near.closes, 1);
    assert_int_equal(w->requests, 0);
}

static void a_request_that_nobody_takes_is_refused(void **state)
{
    struct world *w = *state;
    static struct h2_record near;
    w->refuse = true;
    ask(w, &near, "GET", "/", false);
    h2_pair_run(&w->pair);
    assert_int_equal(near.closes, 1);
    assert_int_equal(near.code, H2_REFUSED_STREAM);
    assert_int_equal(h2_session_stream_count(w->pair.server), 0);
}

static void bad_requests_are_not_sent(void **state)
{
    struct world *w = *state;
    auto(error) struct error *err = NULL;
    assert_null(h2_request(w->pair.client, "GET", "/a b", NULL, NULL, 0, false, NULL, NULL, &err));
    assert_int_equal(err->code, ERROR_INVALID);
    assert_null(h2_request(w->pair.client, "GET", "/a\r\nx", NULL, NULL, 0, false, NULL, NULL, NULL));
    assert_null(h2_request(w->pair.client, "GET", "/\xc3\xa4", NULL, NULL, 0, false, NULL, NULL, NULL));
    assert_int_equal(h2_session_stream_count(w->pair.client), 0);
}

static void the_client_stops_at_256_streams(void **state)
{
    struct world *w = *state;
    static struct h2_record near[H2_STREAMS_MAX];
    for (int i = 0; i < H2_STREAMS_MAX; i++)
        assert_non_null(ask(w, &near[i], "GET", "/", false));
    auto(error) struct error *err = NULL;
    assert_null(h2_request(w->pair.client, "GET", "/", NULL, NULL, 0, false, NULL, NULL, &err));
    assert_int_equal(err->code, ERROR_LIMIT);
    h2_pair_run(&w->pair);
    assert_int_equal(w->requests, H2_STREAMS_MAX);
    assert_false(h2_session_over(w->pair.server));
}

static void shutdown_lets_open_streams_end(void **state)
{
    struct world *w = *state;
    static struct h2_record near, late;
    ask(w, &near, "GET", "/", false);
    h2_pair_run(&w->pair);
    h2_session_shutdown(w->pair.server, H2_NO_ERROR);
    h2_pair_run(&w->pair);
    assert_int_equal(w->goaways, 1);
    assert_int_equal(w->goaway_code, 0);
    assert_null(ask(w, &late, "GET", "/", false));
    assert_false(h2_session_over(w->pair.server));
    h2_respond(w->records[0].stream, 200, NULL, 0, false, NULL);
    h2_pair_run(&w->pair);
    assert_int_equal(near.status, 200);
    assert_int_equal(near.closes, 1);
    assert_true(h2_session_over(w->pair.server));
    assert_true(h2_session_over(w->pair.client));
}

static void shutdown_with_an_error_is_the_end(void **state)
{
    struct world *w = *state;
    static struct h2_record near;
    ask(w, &near, "GET", "/", false);
    h2_pair_run(&w->pair);
    h2_session_shutdown(w->pair.server, H2_ENHANCE_YOUR_CALM);
    assert_true(h2_session_over(w->pair.server));
    assert_true(h2_session_want_send(w->pair.server));
    assert_int_equal(w->records[0].closes, 0);
    h2_pair_run(&w->pair);
    assert_int_equal(w->goaway_code, H2_ENHANCE_YOUR_CALM);
    const uint8_t *data;
    size_t len;
    auto(error) struct error *err = NULL;
    assert_true(h2_session_take(w->pair.server, &data, &len, &err) < 0);
    assert_int_equal(err->code, ERROR_CANCELLED);
    assert_true(h2_session_receive(w->pair.server, (const uint8_t *)"x", 1, NULL) < 0);
    assert_int_equal(h2_stream_write(w->records[0].stream, "x", 1), 0);
    assert_true(h2_respond(w->records[0].stream, 200, NULL, 0, false, NULL) < 0);
}

static void destroy_closes_what_is_open(void **state)
{
    struct world *w = *state;
    static struct h2_record near;
    ask(w, &near, "GET", "/", false);
    h2_pair_run(&w->pair);
    h2_session_destroy(w->pair.client);
    assert_int_equal(near.closes, 1);
    assert_int_equal(near.code, H2_CANCEL);
    w->pair.client = h2_session_create(H2_CLIENT, NULL, &client_ops, w);
}

static void pings_are_answered(void **state)
{
    struct world *w = *state;
    assert_int_equal(h2_session_ping(w->pair.client, NULL), 0);
    h2_pair_run(&w->pair);
    assert_int_equal(w->pings, 1);
}

static void on_close_may_call_anything(struct h2_stream *stream, uint32_t code, void *user)
{
    struct h2_record *other = user;
    assert_int_equal(h2_stream_write(stream, "x", 1), 0);
    h2_stream_end(stream);
    h2_stream_reset(stream, H2_CANCEL);
    h2_stream_consumed(stream, 0);
    if (other->stream)
        assert_int_equal(h2_stream_write(other->stream, "from a callback", 15), 15);
}

static void callbacks_may_use_the_session(void **state)
{
    static const struct h2_stream_ops ops = {.on_close = on_close_may_call_anything};
    struct world *w = *state;
    static struct h2_record other;
    ask(w, &other, "POST", "/other", true);
    struct h2_stream *stream =
        h2_request(w->pair.client, "GET", "/", NULL, NULL, 0, false, &ops, &other, NULL);
    h2_pair_run(&w->pair);
    unsigned before = w->want_sends;
    h2_respond(w->records[1].stream, 200, NULL, 0, false, NULL);
    assert_non_null(stream);
    h2_pair_run(&w->pair);
    assert_true(w->want_sends > before);
    assert_int_equal(w->records[0].data.len, 15);
}

/* What one was told to send may be gone before one comes to it: the next thing must be told again. */
static void told_again_after_a_reset(void **state)
{
    struct world *w = *state;
    static struct h2_record one, two;
    struct h2_stream *first = ask(w, &one, "POST", "/one", true), *second = ask(w, &two, "POST", "/two", true);
    h2_pair_run(&w->pair);
    unsigned before = w->want_sends;
    assert_int_equal(h2_stream_write(first, "x", 1), 1);
    assert_int_equal(w->want_sends, before + 1);
    h2_stream_reset(w->records[0].stream, H2_CANCEL);
    h2_pair_move(w->pair.server, w->pair.client, NULL);
    assert_int_equal(one.closes, 1);
    assert_false(h2_session_want_send(w->pair.client));
    assert_int_equal(h2_stream_write(second, "y", 1), 1);
    assert_int_equal(w->want_sends, before + 2);
}

/* A callback that wants to take gets nothing, and is told again when it may. */
static struct h2_session *greedy;
static unsigned greedy_told;

static void greedy_data(struct h2_stream *stream, const uint8_t *data, size_t len, void *user)
{
    const uint8_t *out;
    size_t n;
    h2_stream_consumed(stream, len);
    h2_stream_write(stream, data, len);
    assert_int_equal(h2_session_take(greedy, &out, &n, NULL), 0);
    assert_int_equal(n, 0);
    greedy_told = 0;
}

static void greedy_request(struct h2_session *session, struct h2_stream *stream, const struct h2_head *head,
                           void *user)
{
    static const struct h2_stream_ops ops = {.on_data = greedy_data};
    h2_stream_set_ops(stream, &ops, NULL);
    h2_respond(stream, 200, NULL, 0, true, NULL);
}

static void greedy_want(struct h2_session *session, void *user)
{
    greedy_told++;
}

static void taking_inside_a_callback_waits(void **state)
{
    struct world *w = *state;
    const struct h2_session_ops ops = {.on_request = greedy_request, .on_want_send = greedy_want};
    h2_session_destroy(w->pair.server);
    h2_session_destroy(w->pair.client);
    w->pair.client = h2_session_create(H2_CLIENT, NULL, &client_ops, w);
    w->pair.server = greedy = h2_session_create(H2_SERVER, NULL, &ops, w);
    h2_pair_run(&w->pair);
    static struct h2_record near;
    struct h2_stream *stream = ask(w, &near, "POST", "/", true);
    h2_stream_write(stream, "echo", 4);
    h2_pair_move(w->pair.client, w->pair.server, NULL);
    assert_int_equal(greedy_told, 1);
    h2_pair_run(&w->pair);
    assert_int_equal(near.data.len, 4);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(request_and_response),
        TEST(heads_without_bodies),
        TEST(a_tunnel_half_closes_both_ways),
        TEST(input_is_taken_in_any_pieces),
        TEST(interim_responses_are_skipped),
        TEST(a_short_write_comes_back_at_half),
        TEST(unconsumed_bytes_stop_the_sender),
        TEST(streams_take_turns),
        TEST(a_reset_closes_later_and_tells_nothing_else),
        TEST(a_request_that_was_never_sent_can_be_reset),
        TEST(a_request_that_nobody_takes_is_refused),
        TEST(bad_requests_are_not_sent),
        TEST(the_client_stops_at_256_streams),
        TEST(shutdown_lets_open_streams_end),
        TEST(shutdown_with_an_error_is_the_end),
        TEST(destroy_closes_what_is_open),
        TEST(pings_are_answered),
        TEST(callbacks_may_use_the_session),
        TEST(told_again_after_a_reset),
        TEST(taking_inside_a_callback_waits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
