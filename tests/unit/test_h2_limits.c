/* Hostile peers against one HTTP/2 session, by hand-made frames. Names are the ids of the list of attacks. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/alloc.h"
#include "frames.h"
#include "h2_pair.h"
#include "wire/h2_internal.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CONNECT_HEAD(authority) ":method", "CONNECT", ":authority", (authority)
#define GET_HEAD                ":method", "GET", ":scheme", "http", ":path", "/", ":authority", "h"

struct victim {
    struct h2_session *session;
    struct buf in;     /* what the attacker is about to send */
    struct buf out;    /* what the session sent */
    unsigned requests; /* shown to the owner */
    unsigned open, closed;
    unsigned data_bytes;
    bool ignore;    /* answers nothing, gives nothing back */
    bool tunnels;   /* answers 200 and keeps the stream open */
    uint64_t clock; /* ms */
};

static struct victim *the_victim; /* for the clock, which has no argument */

static uint64_t victim_clock(void)
{
    return the_victim->clock;
}

static void on_data(struct h2_stream *stream, const uint8_t *data, size_t len, void *user)
{
    struct victim *v = user;
    v->data_bytes += (unsigned)len;
    if (!v->ignore)
        h2_stream_consumed(stream, len);
}

static void on_close(struct h2_stream *stream, uint32_t code, void *user)
{
    struct victim *v = user;
    v->open--;
    v->closed++;
}

static const struct h2_stream_ops stream_ops = {.on_data = on_data, .on_close = on_close};

static void on_request(struct h2_session *session, struct h2_stream *stream, const struct h2_head *head,
                       void *user)
{
    struct victim *v = user;
    v->requests++;
    v->open++;
    h2_stream_set_ops(stream, &stream_ops, v);
    if (v->tunnels)
        h2_respond(stream, 200, NULL, 0, true, NULL);
}

static void make(struct victim *v, enum h2_role role, struct h2_options options)
{
    static const struct h2_session_ops ops = {.on_request = on_request};
    options.now_ms = victim_clock;
    h2_session_destroy(v->session);
    v->session = h2_session_create(role, &options, &ops, v);
    buf_consume(&v->in, v->in.len);
    buf_consume(&v->out, v->out.len);
    v->requests = v->open = v->closed = v->data_bytes = 0;
    if (role == H2_SERVER)
        frames_preface(&v->in);
    else
        frames_add(&v->in, F_SETTINGS, 0, 0, NULL, 0);
}

static int set_up(void **state)
{
    alarm(300);
    struct victim *v = the_victim = xnew(struct victim);
    buf_init(&v->in, 0);
    buf_init(&v->out, 0);
    v->clock = 1000;
    make(v, H2_SERVER, (struct h2_options){0});
    *state = v;
    return 0;
}

static int tear_down(void **state)
{
    struct victim *v = *state;
    h2_session_destroy(v->session);
    assert_int_equal(v->open, 0);
    buf_finish(&v->in);
    buf_finish(&v->out);
    free(v);
    return 0;
}

/* Sends what was prepared; the answers are collected when read is set. */
static int attack(struct victim *v, bool read)
{
    int rc = h2_session_receive(v->session, buf_data(&v->in), v->in.len, NULL);
    buf_consume(&v->in, v->in.len);
    if (read)
        h2_pair_take(v->session, &v->out);
    return rc;
}

/* Looks for a frame in the collected answers. */
static bool answered(const struct victim *v, uint8_t type, uint32_t stream, struct frame *ret_frame)
{
    const uint8_t *at = buf_data(&v->out);
    size_t left = v->out.len;
    while (frames_next(&at, &left, ret_frame))
        if (ret_frame->type == type && ret_frame->stream == stream)
            return true;
    return false;
}

static void assert_goaway(struct victim *v, uint32_t code)
{
    struct frame frame;
    h2_pair_take(v->session, &v->out);
    assert_true(answered(v, F_GOAWAY, 0, &frame));
    if (code)
        assert_int_equal(frames_get_u32(frame.payload + 4), code);
    assert_true(h2_session_over(v->session));
    assert_false(h2_session_want_send(v->session));
    assert_true(h2_session_receive(v->session, (const uint8_t *)"", 1, NULL) < 0);
}

static void assert_rst(struct victim *v, uint32_t stream)
{
    struct frame frame;
    assert_true(answered(v, F_RST, stream, &frame));
    assert_false(h2_session_over(v->session));
}

/* SETTINGS are acknowledged, as a peer does that means to stay. */
static void acknowledge(struct victim *v)
{
    frames_add(&v->in, F_SETTINGS, F_ACK, 0, NULL, 0);
    attack(v, true);
}

static void C02_rapid_reset(void **state)
{
    struct victim *v = *state;
    acknowledge(v);
    unsigned sent = 0;
    for (uint32_t id = 1; sent < 10000 && !h2_session_over(v->session); id += 2, sent++) {
        frames_request(&v->in, id, F_END_HEADERS | F_END_STREAM, GET_HEAD, NULL);
        frames_rst(&v->in, id, H2_CANCEL);
        attack(v, false);
    }
    assert_true(sent <= H2_STREAM_ERRORS_MAX + 1);
    assert_true(v->requests <= H2_STREAM_ERRORS_MAX + 1);
    assert_goaway(v, H2_ENHANCE_YOUR_CALM);
}

/* The other way to the same end: the peer makes us reset, by a frame that is wrong for one stream only. */
static void C02_made_you_reset(void **state)
{
    struct victim *v = *state;
    acknowledge(v);
    unsigned sent = 0;
    for (uint32_t id = 1; sent < 10000 && !h2_session_over(v->session); id += 2, sent++) {
        frames_request(&v->in, id, F_END_HEADERS, GET_HEAD, NULL);
        frames_window(&v->in, id, 0x7fffffff);
        attack(v, true);
        buf_consume(&v->out, v->out.len);
        h2_pair_take(v->session, &v->out);
    }
    assert_true(sent <= H2_STREAM_ERRORS_MAX + 1);
    assert_true(h2_session_over(v->session));
}

static void errors_that_are_slow_are_borne(void **state)
{
    struct victim *v = *state;
    acknowledge(v);
    uint32_t id = 1;
    for (int i = 0; i < 1000;
         i++, id += 2, v->clock += H2_STREAM_ERRORS_MS / (H2_STREAM_ERRORS_MAX - 1) + 1) {
        frames_request(&v->in, id, F_END_HEADERS, GET_HEAD, NULL);
        frames_window(&v->in, id, 0x7fffffff);
        attack(v, true);
        buf_consume(&v->out, v->out.len);
    }
    assert_false(h2_session_over(v->session));
}

static void a_trusted_peer_may_reset(void **state)
{
    struct victim *v = *state;
    make(v, H2_SERVER, (struct h2_options){.trusted = true});
    acknowledge(v);
    for (uint32_t id = 1; id < 20000; id += 2) {
        frames_request(&v->in, id, F_END_HEADERS | F_END_STREAM, GET_HEAD, NULL);
        frames_rst(&v->in, id, H2_CANCEL);
        assert_int_equal(attack(v, true), 0);
        buf_consume(&v->out, v->out.len);
    }
    assert_int_equal(v->requests, 10000);
    assert_int_equal(v->open, 0);
}

static void our_own_resets_do_not_count(void **state)
{
    struct victim *v = *state;
    acknowledge(v);
    for (uint32_t id = 1; id < 2000; id += 2) {
        frames_request(&v->in, id, F_END_HEADERS, GET_HEAD, NULL);
        assert_int_equal(attack(v, true), 0);
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
        make(v, H2_SERVER, (struct h2_options){0});
        attack(v, true);
        continue_head(v, len ? 100 : 10000, len, false);
        struct mallinfo2 before = mallinfo2();
        assert_true(attack(v, false) < 0);
        struct mallinfo2 after = mallinfo2();
        assert_true(after.uordblks < before.uordblks + 512 * 1024);
        assert_goaway(v, H2_ENHANCE_YOUR_CALM);
        assert_int_equal(v->requests, 0);
    }
}

static void C03_eight_are_taken_in_any_pieces(void **state)
{
    struct victim *v = *state;
    attack(v, true);
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
    make(v, H2_SERVER, (struct h2_options){0});
    attack(v, true);
    struct mallinfo2 before = mallinfo2();
    unsigned sent = 0;
    while (sent < 1000000 && !h2_session_over(v->session)) {
        for (int i = 0; i < 100; i++, sent++)
            frames_add(&v->in, type, 0, 0, payload, len);
        attack(v, false);
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
    attack(v, true);
    unsigned sent = 0;
    for (uint32_t id = 1; sent < 100000 && !h2_session_over(v->session); id += 2, sent++) {
        frames_request(&v->in, id, F_END_HEADERS | F_END_STREAM, GET_HEAD, NULL);
        attack(v, false);
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
    attack(v, true);
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
    assert_false(answered(v, F_DATA, 1, &frame));
    frames_window(&v->in, 1, 1000);
    attack(v, true);
    assert_true(answered(v, F_DATA, 1, &frame));
    assert_int_equal(frame.length, 1000);
}

static void C07_header_list_too_long(void **state)
{
    struct victim *v = *state;
    acknowledge(v);
    char value[H2_HEADER_LIST_MAX];
    memset(value, 'v', sizeof(value));
    value[sizeof(value) - 1] = '\0';
    frames_request(&v->in, 1, F_END_HEADERS | F_END_STREAM, GET_HEAD, "x", value, NULL);
    attack(v, true);
    assert_rst(v, 1);
    assert_int_equal(v->requests, 0);
    /* A field less and it passes. */
    value[H2_HEADER_LIST_MAX - 300] = '\0';
    frames_request(&v->in, 3, F_END_HEADERS | F_END_STREAM, GET_HEAD, "x", value, NULL);
    attack(v, true);
    assert_int_equal(v->requests, 1);
}

static void C07_tiny_headers(void **state)
{
    struct victim *v = *state;
    acknowledge(v);
    struct mallinfo2 before = mallinfo2();
    continue_head(v, 8, 16000, true); /* about 32 000 fields of 4 bytes */
    attack(v, true);
    struct mallinfo2 after = mallinfo2();
    assert_true(after.uordblks < before.uordblks + 256 * 1024);
    assert_int_equal(v->requests, 0);
    assert_rst(v, 1);
}

static void C07_table_size(void **state)
{
    struct victim *v = *state;
    acknowledge(v);
    struct buf block;
    buf_init(&block, 0);
    buf_append(&block, "\x3f\xe1\x1f", 3, NULL); /* dynamic table of 4096 */
    const char *pairs[] = {GET_HEAD};
    for (size_t i = 0; i < countof(pairs); i += 2)
        frames_field(&block, pairs[i], pairs[i + 1]);
    frames_add(&v->in, F_HEADERS, F_END_HEADERS | F_END_STREAM, 1, buf_data(&block), block.len);
    attack(v, true);
    assert_int_equal(v->requests, 0);
    assert_goaway(v, NGHTTP2_COMPRESSION_ERROR);
    buf_finish(&block);
}

static void C08_requests_that_are_none(void **state)
{
    struct victim *v = *state;
    static const char *const fields[] = {"hutch-session", NULL};
    make(v, H2_SERVER, (struct h2_options){.connect_only = true, .connect_fields = fields});
    acknowledge(v);
    const struct {
        const char *pairs[12];
        unsigned shown;
    } cases[] = {
        {{CONNECT_HEAD("example.org:443")}, 1},
        {{CONNECT_HEAD("example.org:443"), "hutch-session", "7"}, 1},
        {{GET_HEAD}, 0},
        {{CONNECT_HEAD("example.org:443"), ":path", "/"}, 0},
        {{CONNECT_HEAD("example.org:443"), ":scheme", "http"}, 0},
        {{":method", "CONNECT"}, 0},
        {{CONNECT_HEAD("example.org")}, 0},
        {{CONNECT_HEAD("example.org:")}, 0},
        {{CONNECT_HEAD(":443")}, 0},
        {{CONNECT_HEAD("example.org:0")}, 0},
        {{CONNECT_HEAD("example.org:65536")}, 0},
        {{CONNECT_HEAD("example.org:443x")}, 0},
        {{CONNECT_HEAD("example.org:443"), ":authority", "other.org:443"}, 0},
        {{CONNECT_HEAD("example.org:443"), ":protocol", "websocket"}, 0},
        {{CONNECT_HEAD("example.org:443"), "x-unknown", "1"}, 0},
        {{CONNECT_HEAD("example.org:443"), "Upper", "1"}, 0},
        {{CONNECT_HEAD("example.org:443"), "connection", "close"}, 0},
        {{"hutch-session", "7", CONNECT_HEAD("example.org:443")}, 0},
        {{":method", "", ":authority", "example.org:443"}, 0},
    };
    uint32_t id = 1;
    for (size_t i = 0; i < countof(cases); i++, id += 2) {
        struct buf block;
        buf_init(&block, 0);
        buf_append(&block, "\x20", 1, NULL);
        for (size_t j = 0; cases[i].pairs[j]; j += 2)
            frames_field(&block, cases[i].pairs[j], cases[i].pairs[j + 1]);
        frames_add(&v->in, F_HEADERS, F_END_HEADERS, id, buf_data(&block), block.len);
        buf_finish(&block);
        v->requests = 0;
        attack(v, true);
        if (v->requests != cases[i].shown)
            fail_msg("case %zu was %sshown", i, v->requests ? "" : "not ");
        if (!cases[i].shown)
            assert_rst(v, id);
    }
    /* A NUL in the name of the host. */
    struct buf block;
    buf_init(&block, 0);
    buf_append(&block, "\x20", 1, NULL);
    frames_field(&block, ":method", "CONNECT");
    frames_field_bytes(&block, ":authority", 10, "a\0b.org:443", 11);
    frames_add(&v->in, F_HEADERS, F_END_HEADERS, id, buf_data(&block), block.len);
    buf_finish(&block);
    v->requests = 0;
    attack(v, true);
    assert_int_equal(v->requests, 0);
    assert_rst(v, id);
}

/* One round of a tunnel's life, ended in one of six ways. */
static void live_and_end(struct victim *v, uint32_t id, unsigned way)
{
    uint8_t block[1000] = {0};
    frames_request(&v->in, id, F_END_HEADERS, CONNECT_HEAD("h:1"), NULL);
    frames_add(&v->in, F_DATA, 0, id, block, sizeof(block));
    attack(v, true);
    struct h2_stream *stream = v->session->streams;
    assert_int_equal(h2_stream_id(stream), id);
    h2_stream_write(stream, block, sizeof(block));
    switch (way) {
    case 0: /* half-close both ways, the peer first */
        frames_add(&v->in, F_DATA, F_END_STREAM, id, NULL, 0);
        attack(v, true);
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
    attack(v, true);
    frames_window(&v->in, 0, sizeof(block)); /* the peer gives back what it got */
    buf_consume(&v->out, v->out.len);
}

static void C09_ten_thousand_ends(void **state)
{
    struct victim *v = *state;
    make(v, H2_SERVER,
         (struct h2_options){.trusted = true}); /* so that the count of resets does not end it */
    v->tunnels = true;
    v->ignore = true; /* data stays unconsumed: the end of the stream must free its window */
    acknowledge(v);
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
    attack(v, true); /* not acknowledged: the limit holds all the same */
    for (uint32_t id = 1; id < 2 * H2_STREAMS_MAX; id += 2)
        frames_request(&v->in, id, F_END_HEADERS, GET_HEAD, NULL);
    assert_int_equal(attack(v, true), 0);
    assert_int_equal(v->requests, H2_STREAMS_MAX);
    uint32_t id = 2 * H2_STREAMS_MAX + 1;
    frames_request(&v->in, id, F_END_HEADERS, GET_HEAD, NULL);
    attack(v, true);
    assert_int_equal(v->requests, H2_STREAMS_MAX);
    assert_rst(v, id);

    frames_rst(&v->in, 1, H2_CANCEL);
    frames_request(&v->in, id + 2, F_END_HEADERS, GET_HEAD, NULL);
    attack(v, true);
    assert_int_equal(v->requests, H2_STREAMS_MAX + 1);
}

static void C20_wrong_lengths_never_abort(void **state)
{
    struct victim *v = *state;
    const uint8_t payload[64] = {0};
    const struct {
        uint8_t type;
        uint32_t length;
    } wrong[] = {
        {F_WINDOW, 5},   {F_WINDOW, 3},   {F_WINDOW, 0},   {F_RST, 5},  {F_RST, 3},
        {F_PRIORITY, 4}, {F_PRIORITY, 6}, {F_PING, 7},     {F_PING, 9}, {F_PING, 0},
        {F_GOAWAY, 7},   {F_SETTINGS, 5}, {F_SETTINGS, 7},
    };
    for (size_t i = 0; i < countof(wrong); i++) {
        for (int how = 0; how < 4; how++) {
            make(v, H2_SERVER, (struct h2_options){0});
            attack(v, how != 3);
            uint32_t stream =
                wrong[i].type == F_RST || wrong[i].type == F_PRIORITY || wrong[i].type == F_WINDOW;
            if (how == 1) /* our side ends the session; the frame comes after */
                h2_session_shutdown(v->session, H2_ENHANCE_YOUR_CALM);
            if (how >= 2) /* the library ends it: DATA on the connection */
                frames_add(&v->in, F_DATA, 0, 0, "x", 1);
            frames_add(&v->in, wrong[i].type, 0, stream, payload, wrong[i].length);
            frames_add(&v->in, wrong[i].type, 0, stream, payload, wrong[i].length);
            assert_true(attack(v, false) < 0);
            assert_goaway(v, 0);
        }
    }
}

/* The same in one stretch of input with the offence that ended the session. */
static void C20_nothing_is_fed_after_the_end(void **state)
{
    struct victim *v = *state;
    acknowledge(v);
    for (uint32_t id = 1; id < 2000; id += 2) {
        frames_request(&v->in, id, F_END_HEADERS | F_END_STREAM, GET_HEAD, NULL);
        frames_rst(&v->in, id, H2_CANCEL);
        frames_add(&v->in, F_WINDOW, 0, 0, "\0\0\0\1", 4);
    }
    frames_add(&v->in, F_WINDOW, 0, 1, "\0\0\0\1\0", 5);
    assert_true(attack(v, false) < 0);
    assert_true(v->requests <= H2_STREAM_ERRORS_MAX + 1);
    assert_goaway(v, H2_ENHANCE_YOUR_CALM);
}

static void a_frame_too_long_ends_the_session(void **state)
{
    struct victim *v = *state;
    attack(v, true);
    frames_add_lying(&v->in, F_DATA, 0, 1, "x", 1, H2_FRAME_MAX + 1);
    assert_true(attack(v, false) < 0);
    assert_goaway(v, NGHTTP2_FRAME_SIZE_ERROR);
}

static void trailers_on_a_tunnel_are_refused(void **state)
{
    struct victim *v = *state;
    v->tunnels = true;
    acknowledge(v);
    frames_request(&v->in, 1, F_END_HEADERS, CONNECT_HEAD("h:1"), NULL);
    frames_request(&v->in, 1, F_END_HEADERS | F_END_STREAM, "x-trailer", "1", NULL);
    attack(v, true);
    assert_int_equal(v->requests, 1);
    assert_rst(v, 1);
    assert_int_equal(v->closed, 1);

    /* On an ordinary request they are dropped and end it. */
    frames_request(&v->in, 3, F_END_HEADERS, GET_HEAD, NULL);
    frames_request(&v->in, 3, F_END_HEADERS | F_END_STREAM, "x-trailer", "1", NULL);
    attack(v, true);
    assert_int_equal(v->requests, 2);
    assert_true(h2_stream_remote_ended(v->session->streams));
}

static void a_push_ends_the_session(void **state)
{
    struct victim *v = *state;
    make(v, H2_CLIENT, (struct h2_options){0});
    attack(v, true);
    v->open++;
    assert_non_null(h2_request(v->session, "CONNECT", NULL, "h:1", NULL, 0, true, &stream_ops, v, NULL));
    h2_pair_take(v->session, &v->out);
    frames_request(&v->in, 1, F_END_HEADERS, ":status", "200", NULL);
    assert_int_equal(attack(v, true), 0);
    struct buf block;
    buf_init(&block, 0);
    buf_append(&block, "\0\0\0\2\x20", 5, NULL);
    frames_field(&block, ":method", "GET");
    frames_add(&v->in, F_PUSH, F_END_HEADERS, 1, buf_data(&block), block.len);
    buf_finish(&block);
    assert_true(attack(v, false) < 0);
    assert_goaway(v, H2_PROTOCOL_ERROR);
}

static void a_status_must_be_one(void **state)
{
    struct victim *v = *state;
    const char *const bad[] = {"0", "99", "600", "2x0", "-20", "", "2000"};
    make(v, H2_CLIENT, (struct h2_options){0});
    acknowledge(v);
    for (size_t i = 0; i < countof(bad); i++) {
        v->open++;
        struct h2_stream *s = h2_request(v->session, "GET", "/", NULL, NULL, 0, false, &stream_ops, v, NULL);
        uint32_t id = (uint32_t)h2_stream_id(s);
        h2_pair_take(v->session, &v->out);
        frames_request(&v->in, id, F_END_HEADERS, ":status", bad[i], NULL);
        assert_int_equal(attack(v, true), 0);
        assert_rst(v, id);
        assert_int_equal(v->open, 0);
    }
}

static void http_1_is_no_preface(void **state)
{
    struct victim *v = *state;
    make(v, H2_SERVER, (struct h2_options){0});
    buf_consume(&v->in, v->in.len);
    buf_append(&v->in, "GET / HTTP/1.1\r\nHost: hutch\r\n\r\n", 31, NULL);
    assert_true(attack(v, true) < 0);
    assert_true(h2_session_over(v->session));
    assert_int_equal(v->requests, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

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
        TEST(C07_header_list_too_long),
        TEST(C07_tiny_headers),
        TEST(C07_table_size),
        TEST(C08_requests_that_are_none),
        TEST(C09_ten_thousand_ends),
        TEST(C10_stream_257),
        TEST(C20_wrong_lengths_never_abort),
        TEST(C20_nothing_is_fed_after_the_end),
        TEST(a_frame_too_long_ends_the_session),
        TEST(trailers_on_a_tunnel_are_refused),
        TEST(a_push_ends_the_session),
        TEST(a_status_must_be_one),
        TEST(http_1_is_no_preface),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
