/* Time and HTTP/1 in a worker of this process (flow_rig.h), whose clock the test moves. Names are the ids of
 * the list of attacks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "flow_rig.h"

#include "base/alloc.h"
#include "base/fd.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define HOUR_MS (3600ull * 1000)

static struct rig rig;

static int set_up(void **state)
{
    (void)state;
    alarm(120);
    rig_start(&rig);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    rig_stop(&rig);
    return 0;
}

/* The machine ran for so long; the next tick sees it. */
static void pass(uint64_t ms)
{
    rig.worker.flow_clock += ms;
    rig_until(&rig, false, 2 * FLOW_TICK_MS);
}

static uint64_t begin(struct rig_stream *s, enum flow_proto proto, uint32_t port)
{
    char authority[32];

    snprintf(authority, sizeof(authority), "good.test:%u", port);
    rig_connect(&rig, s, authority, NULL, 0);
    uint64_t flow = rig_ask(&rig);
    rig_allow(&rig, flow, "good.test", port, proto, 0, FLOW_CREDIT_ALL);
    return flow;
}

/* No first byte, or one every five seconds: over after ten seconds. */
static void T04_first_flight_in_time(void **state)
{
    static const enum flow_proto protos[] = {FLOW_TLS, FLOW_HTTP};
    struct rig_stream s;

    (void)state;
    for (unsigned i = 0; i < 4; i++) {
        bool drips = i % 2;
        uint64_t flow = begin(&s, protos[i / 2], i / 2 ? 80 : 443);
        assert_true(rig_until(&rig, s.status == 200, 10000));
        for (unsigned passed = 0; passed < 9000; passed += 4500) {
            if (drips)
                rig_write(&rig, &s, (i / 2 ? "GET" : "\x16\x03\x01") + passed / 4500, 1);
            pass(4500 - 2 * FLOW_TICK_MS);
            if (passed == 0)
                assert_false(s.closed);
        }
        pass(1000);
        assert_true(rig_until(&rig, s.closed, 5000));
        rig_ended(&rig, flow, FLOW_END_IDLE, "first-flight-time");
        assert_true(rig_none(&rig, WMSG_FLOW_READY));
        rig_free(&s);
    }
}

/* A tunnel that is idle for an hour lives, for as long as the verdict says; a day is too long. */
static void L07_idle_tunnels(void **state)
{
    struct rig_stream s;
    char byte;

    (void)state;
    uint64_t flow = begin(&s, FLOW_TCP, 9000);
    autoclose int server = rig_dial(&rig, flow);
    assert_true(rig_until(&rig, s.status == 200, 10000));
    pass(HOUR_MS);
    assert_false(s.closed);
    rig_write(&rig, &s, "x", 1);
    assert_true(rig_until(&rig, recv(server, &byte, 1, MSG_DONTWAIT) == 1, 10000));
    assert_int_equal(write(server, "y", 1), 1);
    assert_true(rig_until(&rig, s.in.len == 1, 10000));
    pass(24 * HOUR_MS);
    assert_true(rig_until(&rig, s.closed, 5000));
    rig_ended(&rig, flow, FLOW_END_IDLE, "idle");
    rig_free(&s);
}

/* Sends a request; returns what left for the server, or NULL when it was refused: then `s` has the answer.
 * Caller frees. */
static char *exchange(struct rig_stream *s, const char *request, size_t len)
{
    char bytes[8192];
    uint64_t flow = begin(s, FLOW_HTTP, 80);

    rig_write(&rig, s, request, len);
    assert_true(rig_until(&rig, !rig_none(&rig, WMSG_FLOW_REQUEST) || s->ended || s->closed, 10000));
    if (rig_none(&rig, WMSG_FLOW_REQUEST)) {
        assert_true(rig_none(&rig, WMSG_FLOW_READY)); /* nothing was dialled */
        rig_ended(&rig, flow, FLOW_END_FORM, NULL);
        return NULL;
    }
    rig_take(&rig, WMSG_FLOW_REQUEST);
    struct wmsg_flow_request_verdict verdict = {
        .type = WMSG_FLOW_REQUEST_VERDICT, .ok = 1, .flow = flow, .number = 1};
    rig_tell(&rig, &verdict, sizeof(verdict));
    autoclose int server = rig_dial(&rig, flow);
    size_t at = 0;
    ssize_t n;
    assert_true(rig_until(&rig, recv(server, bytes, 1, MSG_DONTWAIT | MSG_PEEK) == 1, 10000));
    rig_until(&rig, false, 30);
    while (at < sizeof(bytes) - 1 && (n = recv(server, bytes + at, sizeof(bytes) - 1 - at, MSG_DONTWAIT)) > 0)
        at += (size_t)n;
    struct wmsg_flow_cut cut = {.type = WMSG_FLOW_CUT, .flow = flow};
    if (!s->closed)
        rig_tell(&rig, &cut, sizeof(cut));
    rig_take(&rig, WMSG_FLOW_END);
    bytes[at] = '\0';
    return xstrdup(bytes);
}

static void refused(const char *name, const char *request, size_t len)
{
    struct rig_stream s;
    autofree char *left = exchange(&s, request, len);

    /* a body that is wrong is seen behind a head that was right: then the connection ends in the middle */
    if (left)
        fail_msg("%s: left as \"%s\"", name, left);
    if (s.in.len == 0 || strncmp(rig_text(&s), "HTTP/1.1 4", 10))
        fail_msg("%s: \"%s\"", name, rig_text(&s));
    rig_free(&s);
}

#define REFUSED(text) refused(text, text, sizeof(text) - 1)
#define POST(fields)  "POST / HTTP/1.1\r\nHost: good.test\r\n" fields "\r\n"

static void T10_framing(void **state)
{
    struct rig_stream s;

    (void)state;
    REFUSED(POST("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n"));
    REFUSED(POST("Content-Length: 5\r\nContent-Length: 6\r\n"));
    REFUSED(POST("Content-Length: +5\r\n"));
    REFUSED(POST("Content-Length: 0x5\r\n"));
    REFUSED(POST("Transfer-Encoding: xchunked\r\n"));
    REFUSED(POST("Transfer-Encoding: chunked, identity\r\n"));
    static const char good[] = POST("Transfer-Encoding: Chunked\r\n") "3\r\nabc\r\n0\r\n\r\n";
    autofree char *left = exchange(&s, good, sizeof(good) - 1);
    assert_non_null(left);
    assert_non_null(strstr(left, "abc"));
    rig_free(&s);
}

/* Chunks that lie: what follows them never leaves, and nothing grows. */
static void T11_chunks(void **state)
{
    static const char *const sizes[] = {"7fffffffffffffff", "-1", "FFFFFFFFFFFFFFFFF", "3;x=\x01",
                                        "3\r\nabcX"};

    (void)state;
    for (size_t i = 0; i < countof(sizes); i++) {
        struct rig_stream s;
        autofree char *request =
            xasprintf(POST("Transfer-Encoding: chunked\r\n") "%s\r\nSECRET\r\n0\r\n\r\n", sizes[i]);
        autofree char *left = exchange(&s, request, strlen(request));
        if (left && strstr(left, "SECRET"))
            fail_msg("%s: left as \"%s\"", sizes[i], left);
        rig_free(&s);
    }
}

static void T12_lines(void **state)
{
    (void)state;
    REFUSED("GET / HTTP/1.1\nHost: good.test\n\n");
    REFUSED(POST("X: a\r\n folded\r\n"));
    REFUSED(POST("X : a\r\n"));
    REFUSED(POST("X: a\0b\r\n"));
    REFUSED(POST("X\x80: a\r\n"));
    REFUSED("GET / HTTP/1.1\r\nHost: good.test\r\nHost: evil.test\r\n\r\n");
    REFUSED("GET / HTTP/1.1\r\n\r\n");
    REFUSED("GET http://evil.test/ HTTP/1.1\r\nHost: good.test\r\n\r\n");
    REFUSED("CONNECT evil.test:443 HTTP/1.1\r\nHost: good.test\r\n\r\n");
}

/* What hutchd judges and what leaves is the one canonical form. */
static void T16_paths(void **state)
{
    static const struct {
        const char *asked, *left;
    } cases[] = {{"/v1/allowed/../admin", "/v1/admin"},
                 {"/v1/%2e%2e/admin", "/admin"},
                 {"/v1//admin", "/v1/admin"},
                 {"/v1%2fadmin", NULL},
                 {"/v1\\admin", NULL},
                 {"/v1/%00", NULL},
                 {"/v1/%5cadmin", NULL}};

    (void)state;
    for (size_t i = 0; i < countof(cases); i++) {
        struct rig_stream s;
        autofree char *request = xasprintf("GET %s HTTP/1.1\r\nHost: good.test\r\n\r\n", cases[i].asked);
        autofree char *line = cases[i].left ? xasprintf("GET %s HTTP/1.1\r\n", cases[i].left) : NULL;
        autofree char *left = exchange(&s, request, strlen(request));
        if (!left != !line || (left && strncmp(left, line, strlen(line))))
            fail_msg("%s: left as \"%s\"", cases[i].asked, left ? left : "nothing");
        rig_free(&s);
    }
}

static void T17_bodies(void **state)
{
    static const char body[] = "GET / HTTP/1.1\r\nHost: good.test\r\nContent-Length: 40\r\n\r\nGET / "
                               "HTTP/1.1\r\nHost: evil.test\r\n\r\n12345";
    struct rig_stream s;

    (void)state;
    REFUSED(POST("Expect: foo\r\nContent-Length: 0\r\n"));
    autofree char *left = exchange(&s, body, sizeof(body) - 1);
    assert_non_null(left); /* framed: all of it is the body of the one request */
    assert_true(rig_none(&rig, WMSG_FLOW_REQUEST));
    assert_non_null(strstr(left, "Content-Length: 40"));
    rig_free(&s);
}

/* Without upgrade=websocket in the rule there is no upgrade. */
static void T14_no_upgrade(void **state)
{
    struct rig_stream s;
    static const char h2c[] = "GET / HTTP/1.1\r\nHost: good.test\r\nConnection: Upgrade, HTTP2-Settings\r\n"
                              "Upgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n\r\n";

    (void)state;
    REFUSED("GET / HTTP/1.1\r\nHost: good.test\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
            "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n");
    autofree char *left = exchange(&s, h2c, sizeof(h2c) - 1);
    assert_non_null(left);
    assert_null(strstr(left, "pgrade"));
    assert_null(strstr(left, "HTTP2-Settings"));
    rig_free(&s);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(T04_first_flight_in_time),
        TEST(L07_idle_tunnels),
        TEST(T10_framing),
        TEST(T11_chunks),
        TEST(T12_lines),
        TEST(T14_no_upgrade),
        TEST(T16_paths),
        TEST(T17_bodies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
