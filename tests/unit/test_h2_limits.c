/* Floods and limits: hostile peers against one HTTP/2 session. Names are the ids of the list of attacks. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/alloc.h"
#include "frames.h"
#include "h2_pair.h"
#include "h2_victim.h"
#include "wire/h2_internal.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>

static void C02_rapid_reset(void **state)
{
    struct victim *v = *state;
    victim_acknowledge(v);
    unsigned sent = 0;
    for (uint32_t id = 1; sent < 10000 && !h2_session_over(v->session); id += 2, sent++) {
        frames_request(&v->in, id, F_END_HEADERS | F_END_STREAM, GET_HEAD, NULL);
        frames_rst(&v->in, id, H2_CANCEL);
        victim_attack(v, false);
    }
    assert_true(sent <= H2_STREAM_ERRORS_MAX + 1);
    assert_true(v->requests <= H2_STREAM_ERRORS_MAX + 1);
    assert_goaway(v, H2_ENHANCE_YOUR_CALM);
}

/* The other way to the same end: the peer makes us reset, by a frame that is wrong for one stream only. */
static void C02_made_you_reset(void **state)
{
    struct victim *v = *state;
    victim_acknowledge(v);
    unsigned sent = 0;
    for (uint32_t id = 1; sent < 10000 && !h2_session_over(v->session); id += 2, sent++) {
        frames_request(&v->in, id, F_END_HEADERS, GET_HEAD, NULL);
        frames_window(&v->in, id, 0x7fffffff);
        victim_attack(v, true);
        buf_consume(&v->out, v->out.len);
        h2_pair_take(v->session, &v->out);
    }
    assert_true(sent <= H2_STREAM_ERRORS_MAX + 1);
    assert_true(h2_session_over(v->session));
}

static void errors_that_are_slow_are_borne(void **state)
{
    struct victim *v = *state;
    victim_acknowledge(v);
    uint32_t id = 1;
    for (int i = 0; i < 1000;
         i++, id += 2, v->clock += H2_STREAM_ERRORS_MS / (H2_STREAM_ERRORS_MAX - 1) + 1) {
        frames_request(&v->in, id, F_END_HEADERS, GET_HEAD, NULL);
        frames_window(&v->in, id, 0x7fffffff);
        victim_attack(v, true);
        buf_consume(&v->out, v->out.len);
    }
    assert_false(h2_session_over(v->session));
}

static void a_trusted_peer_may_reset(void **state)
{
    struct victim *v = *state;
    victim_make(v, H2_SERVER, (struct h2_options){.trusted = true});
    victim_acknowledge(v);
    for (uint32_t id = 1; id < 20000; id += 2) {
        frames_request(&v->in, id, F_END_HEADERS | F_END_STREAM, GET_HEAD, NULL);
        frames_rst(&v->in, id, H2_CANCEL);
        assert_int_equal(victim_attack(v, true), 0);
        buf_consume(&v->out, v->out.len);
    }
    assert_int_equal(v->requests, 10000);
    assert_int_equal(v->open, 0);
}

static void our_own_resets_do_not_count(void **state)
{
    struct victim *v = *state;
    victim_acknowledge(v);
    for (uint32_t id = 1; id < 2000; id += 2) {
        frames_request(&v->in, id, F_END_HEADERS, GET_HEAD, NULL);
        assert_int_equal(victim_attack(v, true), 0);
        h2_stream_reset(v->session->streams, H2_CANCEL);
        h2_pair_take(v->session, &v->out);
    }
    assert_false(h2_session_over(v->session));
    assert_int_equal(v->closed, 1000);
}

/* A head in n CONTINUATION frames of len bytes each (the last ends it if asked). */
static void continue_head(struct victim *v, unsigned n, size_t len, bool end)
{
    struct buf block;
    buf_init(&block, 0);
    buf_append(&block, "\x20", 1, NULL);
    frames_field(&block, ":method", "GET");
    frames_add(&v->in, F_HEADERS, 0, 1, buf_data(&block), block.len);
    buf_consume(&block, block.len);
    for (unsigned i = 0; i < n; i++) {
        while (block.len < len)
            frames_field(&block, "a", "");
        bool last = end && i + 1 == n;
        frames_add(&v->in, F_CONTINUATION, last ? F_END_HEADERS : 0, 1, buf_data(&block), block.len);
        buf_consume(&block, block.len);
    }
    buf_finish(&block);
}

static void C03_continuation_flood(void **state)
{
    struct victim *v = *state;
    for (size_t len = 0; len <= 16000; len += 8000) {
        victim_make(v, H2_SERVER, (struct h2_options){0});
        victim_attack(v, true);
        continue_head(v, len ? 100 : 10000, len, false);
        struct mallinfo2 before = mallinfo2();
        assert_true(victim_attack(v, false) < 0);
        struct mallinfo2 after = mallinfo2();
        assert_true(after.uordblks < before.uordblks + 512 * 1024);
        assert_goaway(v, H2_ENHANCE_YOUR_CALM);
        assert_int_equal(v->requests, 0);
    }
}

static void C03_eight_are_taken_in_any_pieces(void **state)
{
    struct victim *v = *state;
    victim_attack(v, true);
    struct buf block;
    buf_init(&block, 0);
    const char *pairs[] = {GET_HEAD};
    for (size_t i = 0; i < countof(pairs); i += 2)
        frames_field(&block, pairs[i], pairs[i + 1]);
    frames_add(&v->in, F_HEADERS, F_END_STREAM, 1, buf_data(&block), block.len - 8);
    for (size_t i = 8; i > 0; i--)
        frames_add(&v->in, F_CONTINUATION, i == 1 ? F_END_HEADERS : 0, 1, buf_data(&block) + block.len - i,
                   1);
    for (size_t i = 0; i < v->in.len; i++)
        assert_int_equal(h2_session_receive(v->session, buf_data(&v->in) + i, 1, NULL), 0);
    assert_int_equal(v->requests, 1);
    buf_finish(&block);
}

/* A million frames that each want an answer, and nobody reads the answers. */
static void flood(struct victim *v, uint8_t type, const void *payload, size_t len, unsigned most)
{
    victim_make(v, H2_SERVER, (struct h2_options){0});
    victim_attack(v, true);
    struct mallinfo2 before = mallinfo2();
    unsigned sent = 0;
    while (sent < 1000000 && !h2_session_over(v->session)) {
        for (int i = 0; i < 100; i++, sent++)
            frames_add(&v->in, type, 0, 0, payload, len);
        victim_attack(v, false);
    }
    struct mallinfo2 after = mallinfo2();
    assert_true(sent <= most);
    assert_true(after.uordblks < before.uordblks + 1024 * 1024);
    assert_goaway(v, H2_ENHANCE_YOUR_CALM);
}

static void C05_ping_flood(void **state)
{
    flood(*state, F_PING, "12345678", 8, H2_ACKS_MAX + 200);
}

static void C05_settings_flood(void **state)
{
    flood(*state, F_SETTINGS, "\0\5\0\0\100\0", 6, H2_ACKS_MAX + 200);
}

/* Each refused stream costs a RST_STREAM that nobody reads. */
static void C05_refusals_nobody_reads(void **state)
{
    struct victim *v = *state;
    victim_attack(v, true);
    unsigned sent = 0;
    for (uint32_t id = 1; sent < 100000 && !h2_session_over(v->session); id += 2, sent++) {
        frames_request(&v->in, id, F_END_HEADERS | F_END_STREAM, GET_HEAD, NULL);
        victim_attack(v, false);
    }
    assert_true(sent <= H2_STREAMS_MAX + H2_STREAM_ERRORS_MAX + 1);
    assert_true(v->requests <= H2_STREAMS_MAX);
    assert_true(h2_session_over(v->session));
}

static void C06_window_of_zero(void **state)
{
    struct victim *v = *state;
    v->tunnels = true;
    frames_add(&v->in, F_SETTINGS, 0, 0, "\0\4\0\0\0\0", 6); /* INITIAL_WINDOW_SIZE 0 */
    frames_request(&v->in, 1, F_END_HEADERS, GET_HEAD, NULL);
    victim_attack(v, true);
    struct h2_stream *stream = v->session->streams;
    autofree uint8_t *block = xcalloc(65536, 1);
    size_t taken = 0;
    for (int i = 0; i < 16384; i++) { /* 1 GiB upstream */
        size_t n = h2_stream_write(stream, block, 65536);
        taken += n;
        h2_pair_take(v->session, &v->out);
    }
    struct frame frame;
    assert_int_equal(taken, H2_OUT_MAX);
    assert_false(victim_answered(v, F_DATA, 1, &frame));
    frames_window(&v->in, 1, 1000);
    victim_attack(v, true);
    assert_true(victim_answered(v, F_DATA, 1, &frame));
    assert_int_equal(frame.length, 1000);
}

static void C07_tiny_headers(void **state)
{
    struct victim *v = *state;
    victim_acknowledge(v);
    struct mallinfo2 before = mallinfo2();
    continue_head(v, 8, 16000, true); /* about 32 000 fields of 4 bytes */
    victim_attack(v, true);
    struct mallinfo2 after = mallinfo2();
    assert_true(after.uordblks < before.uordblks + 256 * 1024);
    assert_int_equal(v->requests, 0);
    assert_rst(v, 1);
}

/* One round of a tunnel's life, ended in one of six ways. */
static void live_and_end(struct victim *v, uint32_t id, unsigned way)
{
    uint8_t block[1000] = {0};
    frames_request(&v->in, id, F_END_HEADERS, CONNECT_HEAD("h:1"), NULL);
    frames_add(&v->in, F_DATA, 0, id, block, sizeof(block));
    victim_attack(v, true);
    struct h2_stream *stream = v->session->streams;
    assert_int_equal(h2_stream_id(stream), id);
    h2_stream_write(stream, block, sizeof(block));
    switch (way) {
    case 0: /* half-close both ways, the peer first */
        frames_add(&v->in, F_DATA, F_END_STREAM, id, NULL, 0);
        victim_attack(v, true);
        h2_stream_end(stream);
        break;
    case 1: /* we first */
        h2_stream_end(stream);
        h2_pair_take(v->session, &v->out);
        frames_add(&v->in, F_DATA, F_END_STREAM, id, NULL, 0);
        break;
    case 2: /* RST in the middle */
        frames_rst(&v->in, id, H2_CANCEL);
        break;
    case 3: /* our RST, with more of the peer's data on the way */
        h2_stream_reset(stream, H2_CONNECT_ERROR);
        frames_add(&v->in, F_DATA, 0, id, block, sizeof(block));
        break;
    case 4: /* our RST is out, then more data */
        h2_stream_reset(stream, H2_CONNECT_ERROR);
        h2_pair_take(v->session, &v->out);
        frames_add(&v->in, F_DATA, 0, id, block, sizeof(block));
        break;
    default: /* both at once */
        h2_stream_reset(stream, H2_CANCEL);
        frames_rst(&v->in, id, H2_CANCEL);
        break;
    }
    victim_attack(v, true);
    frames_window(&v->in, 0, sizeof(block)); /* the peer gives back what it got */
    buf_consume(&v->out, v->out.len);
}

static void C09_ten_thousand_ends(void **state)
{
    struct victim *v = *state;
    victim_make(v, H2_SERVER,
                (struct h2_options){.trusted = true}); /* so that the count of resets does not end it */
    v->tunnels = true;
    v->ignore = true; /* data stays unconsumed: the end of the stream must free its window */
    victim_acknowledge(v);
    struct mallinfo2 before = mallinfo2();
    uint32_t id = 1;
    for (unsigned i = 0; i < 10000; i++, id += 2) {
        live_and_end(v, id, i % 6);
        assert_int_equal(v->open, 0);
        assert_int_equal(h2_session_stream_count(v->session), 0);
        assert_false(h2_session_over(v->session));
    }
    struct mallinfo2 after = mallinfo2();
    assert_true(after.uordblks < before.uordblks + 256 * 1024);

    /* 10 MB went by; the connection's window is whole, or nearly so. */
    int32_t held = nghttp2_session_get_effective_recv_data_length(v->session->lib);
    assert_true(held < H2_CREDIT_STEP);
    assert_int_equal(v->session->unconsumed, 0);
}

static void C10_stream_257(void **state)
{
    struct victim *v = *state;
    victim_attack(v, true); /* not acknowledged: the limit holds all the same */
    for (uint32_t id = 1; id < 2 * H2_STREAMS_MAX; id += 2)
        frames_request(&v->in, id, F_END_HEADERS, GET_HEAD, NULL);
    assert_int_equal(victim_attack(v, true), 0);
    assert_int_equal(v->requests, H2_STREAMS_MAX);
    uint32_t id = 2 * H2_STREAMS_MAX + 1;
    frames_request(&v->in, id, F_END_HEADERS, GET_HEAD, NULL);
    victim_attack(v, true);
    assert_int_equal(v->requests, H2_STREAMS_MAX);
    assert_rst(v, id);

    frames_rst(&v->in, 1, H2_CANCEL);
    frames_request(&v->in, id + 2, F_END_HEADERS, GET_HEAD, NULL);
    victim_attack(v, true);
    assert_int_equal(v->requests, H2_STREAMS_MAX + 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, victim_set_up, victim_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(C02_rapid_reset),
        TEST(C02_made_you_reset),
        TEST(errors_that_are_slow_are_borne),
        TEST(a_trusted_peer_may_reset),
        TEST(our_own_resets_do_not_count),
        TEST(C03_continuation_flood),
        TEST(C03_eight_are_taken_in_any_pieces),
        TEST(C05_ping_flood),
        TEST(C05_settings_flood),
        TEST(C05_refusals_nobody_reads),
        TEST(C06_window_of_zero),
        TEST(C07_tiny_headers),
        TEST(C09_ten_thousand_ends),
        TEST(C10_stream_257),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
