/* Messages and frames that no correct peer sends. Names are the ids of the list of attacks. */
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

static void C07_header_list_too_long(void **state)
{
    struct victim *v = *state;
    victim_acknowledge(v);
    char value[H2_HEADER_LIST_MAX];
    memset(value, 'v', sizeof(value));
    value[sizeof(value) - 1] = '\0';
    frames_request(&v->in, 1, F_END_HEADERS | F_END_STREAM, GET_HEAD, "x", value, NULL);
    victim_attack(v, true);
    assert_rst(v, 1);
    assert_int_equal(v->requests, 0);
    /* A field less and it passes. */
    value[H2_HEADER_LIST_MAX - 300] = '\0';
    frames_request(&v->in, 3, F_END_HEADERS | F_END_STREAM, GET_HEAD, "x", value, NULL);
    victim_attack(v, true);
    assert_int_equal(v->requests, 1);
}

static void C07_table_size(void **state)
{
    struct victim *v = *state;
    victim_acknowledge(v);
    struct buf block;
    buf_init(&block, 0);
    buf_append(&block, "\x3f\xe1\x1f", 3, NULL); /* dynamic table of 4096 */
    const char *pairs[] = {GET_HEAD};
    for (size_t i = 0; i < countof(pairs); i += 2)
        frames_field(&block, pairs[i], pairs[i + 1]);
    frames_add(&v->in, F_HEADERS, F_END_HEADERS | F_END_STREAM, 1, buf_data(&block), block.len);
    victim_attack(v, true);
    assert_int_equal(v->requests, 0);
    assert_goaway(v, NGHTTP2_COMPRESSION_ERROR);
    buf_finish(&block);
}

static void C08_requests_that_are_none(void **state)
{
    struct victim *v = *state;
    static const char *const fields[] = {"hutch-session", NULL};
    victim_make(v, H2_SERVER, (struct h2_options){.connect_only = true, .connect_fields = fields});
    victim_acknowledge(v);
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
        victim_attack(v, true);
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
    victim_attack(v, true);
    assert_int_equal(v->requests, 0);
    assert_rst(v, id);
}

static void a_frame_too_long_ends_the_session(void **state)
{
    struct victim *v = *state;
    victim_attack(v, true);
    frames_add_lying(&v->in, F_DATA, 0, 1, "x", 1, H2_FRAME_MAX + 1);
    assert_true(victim_attack(v, false) < 0);
    assert_goaway(v, NGHTTP2_FRAME_SIZE_ERROR);
}

static void trailers_on_a_tunnel_are_refused(void **state)
{
    struct victim *v = *state;
    v->tunnels = true;
    victim_acknowledge(v);
    frames_request(&v->in, 1, F_END_HEADERS, CONNECT_HEAD("h:1"), NULL);
    frames_request(&v->in, 1, F_END_HEADERS | F_END_STREAM, "x-trailer", "1", NULL);
    victim_attack(v, true);
    assert_int_equal(v->requests, 1);
    assert_rst(v, 1);
    assert_int_equal(v->closed, 1);

    /* On an ordinary request they are dropped and end it. */
    frames_request(&v->in, 3, F_END_HEADERS, GET_HEAD, NULL);
    frames_request(&v->in, 3, F_END_HEADERS | F_END_STREAM, "x-trailer", "1", NULL);
    victim_attack(v, true);
    assert_int_equal(v->requests, 2);
    assert_true(h2_stream_remote_ended(v->session->streams));
}

static void a_push_ends_the_session(void **state)
{
    struct victim *v = *state;
    victim_make(v, H2_CLIENT, (struct h2_options){0});
    victim_attack(v, true);
    v->open++;
    assert_non_null(
        h2_request(v->session, "CONNECT", NULL, "h:1", NULL, 0, true, &victim_stream_ops, v, NULL));
    h2_pair_take(v->session, &v->out);
    frames_request(&v->in, 1, F_END_HEADERS, ":status", "200", NULL);
    assert_int_equal(victim_attack(v, true), 0);
    struct buf block;
    buf_init(&block, 0);
    buf_append(&block, "\0\0\0\2\x20", 5, NULL);
    frames_field(&block, ":method", "GET");
    frames_add(&v->in, F_PUSH, F_END_HEADERS, 1, buf_data(&block), block.len);
    buf_finish(&block);
    assert_true(victim_attack(v, false) < 0);
    assert_goaway(v, H2_PROTOCOL_ERROR);
}

static void a_status_must_be_one(void **state)
{
    struct victim *v = *state;
    const char *const bad[] = {"0", "99", "600", "2x0", "-20", "", "2000"};
    victim_make(v, H2_CLIENT, (struct h2_options){0});
    victim_acknowledge(v);
    for (size_t i = 0; i < countof(bad); i++) {
        v->open++;
        struct h2_stream *s =
            h2_request(v->session, "GET", "/", NULL, NULL, 0, false, &victim_stream_ops, v, NULL);
        uint32_t id = (uint32_t)h2_stream_id(s);
        h2_pair_take(v->session, &v->out);
        frames_request(&v->in, id, F_END_HEADERS, ":status", bad[i], NULL);
        assert_int_equal(victim_attack(v, true), 0);
        assert_rst(v, id);
        assert_int_equal(v->open, 0);
    }
}

static void http_1_is_no_preface(void **state)
{
    struct victim *v = *state;
    victim_make(v, H2_SERVER, (struct h2_options){0});
    buf_consume(&v->in, v->in.len);
    buf_append(&v->in, "GET / HTTP/1.1\r\nHost: hutch\r\n\r\n", 31, NULL);
    assert_true(victim_attack(v, true) < 0);
    assert_true(h2_session_over(v->session));
    assert_int_equal(v->requests, 0);
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
            victim_make(v, H2_SERVER, (struct h2_options){0});
            victim_attack(v, how != 3);
            uint32_t stream =
                wrong[i].type == F_RST || wrong[i].type == F_PRIORITY || wrong[i].type == F_WINDOW;
            if (how == 1) /* our side ends the session; the frame comes after */
                h2_session_shutdown(v->session, H2_ENHANCE_YOUR_CALM);
            if (how >= 2) /* the library ends it: DATA on the connection */
                frames_add(&v->in, F_DATA, 0, 0, "x", 1);
            frames_add(&v->in, wrong[i].type, 0, stream, payload, wrong[i].length);
            frames_add(&v->in, wrong[i].type, 0, stream, payload, wrong[i].length);
            assert_true(victim_attack(v, false) < 0);
            assert_goaway(v, 0);
        }
    }
}

/* The same in one stretch of input with the offence that ended the session. */
static void C20_nothing_is_fed_after_the_end(void **state)
{
    struct victim *v = *state;
    victim_acknowledge(v);
    for (uint32_t id = 1; id < 2000; id += 2) {
        frames_request(&v->in, id, F_END_HEADERS | F_END_STREAM, GET_HEAD, NULL);
        frames_rst(&v->in, id, H2_CANCEL);
        frames_add(&v->in, F_WINDOW, 0, 0, "\0\0\0\1", 4);
    }
    frames_add(&v->in, F_WINDOW, 0, 1, "\0\0\0\1\0", 5);
    assert_true(victim_attack(v, false) < 0);
    assert_true(v->requests <= H2_STREAM_ERRORS_MAX + 1);
    assert_goaway(v, H2_ENHANCE_YOUR_CALM);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, victim_set_up, victim_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(C07_header_list_too_long),
        TEST(C07_table_size),
        TEST(C08_requests_that_are_none),
        TEST(a_frame_too_long_ends_the_session),
        TEST(trailers_on_a_tunnel_are_refused),
        TEST(a_push_ends_the_session),
        TEST(a_status_must_be_one),
        TEST(http_1_is_no_preface),
        TEST(C20_wrong_lengths_never_abort),
        TEST(C20_nothing_is_fed_after_the_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
