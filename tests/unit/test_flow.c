/* The flows of hutch-worker, with a real HTTP/2 guest on one side and hutchd's messages on the other. Names
 * of attacks are those of the threat model. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "flow_rig.h"

#include "base/alloc.h"
#include "base/fd.h"

#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static void read_exactly(struct rig *rig, int fd, void *to, size_t len)
{
    size_t at = 0;

    while (at < len) {
        ssize_t n = -1;
        assert_true(rig_until(rig, (n = recv(fd, (char *)to + at, len - at, MSG_DONTWAIT)) >= 0, 10000));
        if (n == 0)
            fail_msg("the server saw the end after %zu of %zu bytes", at, len);
        at += (size_t)n;
    }
}

static bool sees_end(struct rig *rig, int fd)
{
    char byte;
    ssize_t n = -1;
    return rig_until(rig, (n = recv(fd, &byte, 1, MSG_DONTWAIT)) == 0, 10000);
}

static void test_tcp_passes_both_ways(void **state)
{
    struct rig rig;
    struct rig_stream s;
    char bytes[64];

    rig_start(&rig);
    static const struct h2_field fields[] = {
        {"hutch-entrance", "capture-name"},
        {"hutch-claim",
         "{\"pid\":7,\"uid\":1000,\"exe\":\"/usr/bin/ssh\",\"argv\":[\"ssh\",\"h\"],\"session\":\"s1\","
         "\"says\":\"to push\"}"}};
    rig_connect(&rig, &s, "ssh.good.test:22", fields, countof(fields));
    struct wmsg_flow_ask ask = *(const struct wmsg_flow_ask *)rig_take(&rig, WMSG_FLOW_ASK);
    assert_string_equal(ask.authority, "ssh.good.test:22");
    assert_int_equal(ask.entrance, FLOW_CAPTURE_NAME);
    assert_int_equal(ask.claim.pid, 7);
    assert_string_equal(ask.claim.exe, "/usr/bin/ssh");
    assert_memory_equal(ask.claim.argv, "ssh\0h\0", 7);
    assert_string_equal(ask.claim.says, "to push");
    rig_allow(&rig, ask.flow, "ssh.good.test", 22, FLOW_TCP, 0, FLOW_CREDIT_ALL);
    autoclose int server = rig_dial(&rig, ask.flow);
    assert_int_equal(write(server, "SSH-2.0", 7), 7); /* T07: the server speaks first */
    assert_true(rig_until(&rig, s.in.len == 7, 10000));
    assert_int_equal(s.status, 200);
    rig_write(&rig, &s, "hello", 5);
    read_exactly(&rig, server, bytes, 5);
    rig_end(&s);
    assert_true(sees_end(&rig, server)); /* half-close */
    assert_int_equal(write(server, "bye", 3), 3);
    shutdown(server, SHUT_WR);
    assert_true(rig_until(&rig, s.closed, 10000));
    assert_int_equal(s.code, 0);
    assert_string_equal(rig_text(&s), "SSH-2.0bye");
    struct wmsg_flow_end end = rig_ended(&rig, ask.flow, FLOW_END_DONE, NULL);
    assert_int_equal(end.up, 5);
    assert_int_equal(end.down, 10);
    rig_free(&s);
    rig_stop(&rig);
}

static void test_refused_says_why(void **state)
{
    struct rig rig;
    struct rig_stream s;

    rig_start(&rig);
    rig_connect(&rig, &s, "evil.test:443", NULL, 0);
    uint64_t flow = rig_ask(&rig);
    rig_write(&rig, &s, "early bytes", 11);
    rig_refuse(&rig, flow, 403, "{\"verdict\":\"deny\"}");
    assert_true(rig_until(&rig, s.closed, 10000));
    assert_int_equal(s.status, 403);
    assert_true(s.ended);
    assert_string_equal(rig_text(&s), "{\"verdict\":\"deny\"}");
    struct wmsg_flow_end end = rig_ended(&rig, flow, FLOW_END_REFUSED, NULL);
    assert_int_equal(end.up, 0);
    rig_free(&s);
    rig_stop(&rig);
}

/* C08: what is no CONNECT of ours is a stream error, and hutchd hears nothing of it. */
static void test_form_of_the_request(void **state)
{
    static const struct h2_field bad[][3] = {
        {{"hutch-entrance", "by magic"}, {"hutch-claim", "{}"}},
        {{"hutch-entrance", "connect"}, {"hutch-claim", "[]"}},
        {{"hutch-entrance", "connect"}, {"hutch-claim", "{\"pid\":-1}"}},
        {{"hutch-entrance", "connect"}, {"hutch-claim", "{\"argv\":[1]}"}},
        {{"hutch-entrance", "connect"}, {"hutch-claim", "{\"argv\":[\"a\\u0000b\"]}"}},
        {{"hutch-entrance", "connect"}, {"hutch-claim", "{"}},
        {{"hutch-entrance", "connect"}, {"hutch-entrance", "connect"}},
        {{"hutch-entrance", "connect"}, {"hutch-claim", "{}"}, {"x-more", "1"}},
    };
    struct rig rig;

    rig_start(&rig);
    for (size_t i = 0; i < countof(bad); i++) {
        struct rig_stream s;
        rig_connect(&rig, &s, "good.test:443", bad[i], bad[i][2].name ? 3 : 2);
        assert_true(rig_until(&rig, s.closed, 10000));
        assert_int_not_equal(s.code, 0);
        assert_int_equal(s.status, 0);
        rig_free(&s);
    }
    assert_true(rig_none(&rig, WMSG_FLOW_ASK));
    rig_stop(&rig);
}

/* Not a byte more than the credit, in whatever pieces it comes. */
static void test_credit(void **state)
{
    struct rig rig;
    struct rig_stream s;
    char bytes[200];

    rig_start(&rig);
    rig_connect(&rig, &s, "good.test:9000", NULL, 0);
    uint64_t flow = rig_ask(&rig);
    rig_allow(&rig, flow, "good.test", 9000, FLOW_TCP, 0, 100);
    autoclose int server = rig_dial(&rig, flow);
    for (int i = 0; i < 30; i++)
        rig_write(&rig, &s, "0123456", 7);
    struct wmsg_flow_need need = *(const struct wmsg_flow_need *)rig_take(&rig, WMSG_FLOW_NEED);
    assert_int_equal(need.up, 100);
    assert_true(need.waiting >= 1);
    read_exactly(&rig, server, bytes, 100);
    assert_false(rig_until(&rig, recv(server, bytes, 1, MSG_DONTWAIT) >= 0, 300));
    assert_true(rig_none(&rig, WMSG_FLOW_NEED)); /* it asks once */
    struct wmsg_flow_credit more = {.type = WMSG_FLOW_CREDIT, .flow = flow, .more = 10};
    rig_tell(&rig, &more, sizeof(more));
    read_exactly(&rig, server, bytes, 10);
    need = *(const struct wmsg_flow_need *)rig_take(&rig, WMSG_FLOW_NEED);
    assert_int_equal(need.up, 110);
    more.more = FLOW_CREDIT_ALL;
    rig_tell(&rig, &more, sizeof(more));
    read_exactly(&rig, server, bytes, 100);
    struct wmsg_flow_cut cut = {.type = WMSG_FLOW_CUT, .flow = flow};
    rig_tell(&rig, &cut, sizeof(cut));
    assert_true(rig_until(&rig, s.closed, 10000));
    assert_int_not_equal(s.code, 0);
    struct wmsg_flow_end end = rig_ended(&rig, flow, FLOW_END_CUT, NULL);
    assert_int_equal(end.up, 210);
    rig_free(&s);
    rig_stop(&rig);
}

/* T01, T06: nothing is dialed for a first flight that is not what was allowed. */
static void test_tls_first_flight(void **state)
{
    struct rig rig;
    struct rig_stream s;

    rig_start(&rig);
    rig_connect(&rig, &s, "good.test:443", NULL, 0);
    uint64_t flow = rig_ask(&rig);
    rig_allow(&rig, flow, "good.test", 443, FLOW_TLS, 0, FLOW_CREDIT_ALL);
    assert_true(rig_until(&rig, s.status == 200, 10000));
    rig_write(&rig, &s, "SSH-2.0-x\r\n", 11);
    assert_true(rig_until(&rig, s.closed, 10000));
    rig_ended(&rig, flow, FLOW_END_FORM, "not-tls");
    assert_true(rig_none(&rig, WMSG_FLOW_READY));
    rig_free(&s);
    rig_stop(&rig);
}

static void test_http(void **state)
{
    static const char request[] = "GET /a/../b?x=1 HTTP/1.1\r\nHost: good.test\r\n\r\n";
    static const char response[] = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
    struct rig rig;
    struct rig_stream s;
    char bytes[512] = {0};

    rig_start(&rig);
    rig_connect(&rig, &s, "good.test:80", NULL, 0);
    uint64_t flow = rig_ask(&rig);
    rig_allow(&rig, flow, "good.test", 80, FLOW_HTTP, 0, FLOW_CREDIT_ALL);
    rig_write(&rig, &s, request, sizeof(request) - 1);
    struct wmsg_flow_request asked = *(const struct wmsg_flow_request *)rig_take(&rig, WMSG_FLOW_REQUEST);
    assert_int_equal(asked.number, 1);
    assert_string_equal(asked.method, "GET");
    assert_string_equal(asked.path, "/b");
    assert_true(rig_none(&rig, WMSG_FLOW_READY));
    struct wmsg_flow_request_verdict verdict = {
        .type = WMSG_FLOW_REQUEST_VERDICT, .ok = 1, .flow = flow, .number = 1};
    rig_tell(&rig, &verdict, sizeof(verdict));
    autoclose int server = rig_dial(&rig, flow);
    assert_true(rig_until(&rig, recv(server, bytes, sizeof(bytes) - 1, MSG_DONTWAIT) > 0, 10000));
    assert_memory_equal(bytes, "GET /b?x=1 HTTP/1.1\r\n", 21);
    assert_int_equal(write(server, response, sizeof(response) - 1), sizeof(response) - 1);
    assert_true(rig_until(&rig, s.in.len >= sizeof(response) - 1, 10000));
    const struct wmsg_flow_response *told = rig_take(&rig, WMSG_FLOW_RESPONSE);
    assert_int_equal(told->number, 1);
    assert_int_equal(told->status, 200);
    /* T08: the second is for another host: it never leaves */
    static const char evil[] = "GET / HTTP/1.1\r\nHost: evil.test\r\n\r\n";
    rig_write(&rig, &s, evil, sizeof(evil) - 1);
    assert_true(rig_until(&rig, s.ended, 10000));
    assert_non_null(strstr(rig_text(&s), "HTTP/1.1 400"));
    assert_true(sees_end(&rig, server));
    rig_ended(&rig, flow, FLOW_END_FORM, "http-host");
    rig_free(&s);
    rig_stop(&rig);
}

static void test_guest_resets(void **state)
{
    struct rig rig;
    struct rig_stream s;
    char byte;

    rig_start(&rig);
    rig_connect(&rig, &s, "good.test:22", NULL, 0);
    uint64_t flow = rig_ask(&rig);
    rig_allow(&rig, flow, "good.test", 22, FLOW_TCP, 0, FLOW_CREDIT_ALL);
    autoclose int server = rig_dial(&rig, flow);
    assert_true(rig_until(&rig, s.status == 200, 10000));
    rig_reset(&s);
    rig_ended(&rig, flow, FLOW_END_GUEST, NULL);
    assert_true(rig_until(&rig, recv(server, &byte, 1, MSG_DONTWAIT) == 0, 10000));
    rig_free(&s);
    /* while it is held: hutchd learns that it is gone */
    rig_connect(&rig, &s, "unknown.test:443", NULL, 0);
    flow = rig_ask(&rig);
    rig_reset(&s);
    rig_ended(&rig, flow, FLOW_END_GUEST, NULL);
    rig_free(&s);
    rig_stop(&rig);
}

/* A server that sends and a guest that does not read: at most a window is on its way (C06, C18). */
static void test_back_pressure(void **state)
{
    struct rig rig;
    struct rig_stream s;
    static char bytes[64 * 1024];
    size_t sent = 0;

    rig_start(&rig);
    rig_connect(&rig, &s, "good.test:22", NULL, 0);
    uint64_t flow = rig_ask(&rig);
    rig_allow(&rig, flow, "good.test", 22, FLOW_TCP, 0, FLOW_CREDIT_ALL);
    autoclose int server = rig_dial(&rig, flow);
    assert_true(rig_until(&rig, s.status == 200, 10000));
    s.paused = true;
    fcntl(server, F_SETFL, O_NONBLOCK);
    for (int idle = 0; idle < 20; idle++) {
        ssize_t n = send(server, bytes, sizeof(bytes), MSG_DONTWAIT | MSG_NOSIGNAL);
        if (n > 0) {
            sent += (size_t)n;
            idle = 0;
        }
        uv_run(&rig.loop, UV_RUN_ONCE);
        assert_true(sent < 8 * 1024 * 1024);
    }
    assert_true(s.in.len <= H2_WINDOW_STREAM);
    s.paused = false;
    h2_stream_consumed(s.stream, s.unconsumed);
    assert_true(rig_until(&rig, s.in.len == sent, 10000));
    rig_free(&s);
    rig_stop(&rig);
}

/* C09 in small: nothing is left of 2 000 flows that end in every way. */
static void test_no_leak(void **state)
{
    struct rig rig;

    rig_start(&rig);
    int before = dup(STDIN_FILENO);
    close(before);
    for (int i = 0; i < 2000; i++) {
        struct rig_stream s;
        rig_connect(&rig, &s, "good.test:22", NULL, 0);
        uint64_t flow = rig_ask(&rig);
        if (i % 4 == 0) {
            rig_refuse(&rig, flow, 403, "{}");
        } else {
            rig_allow(&rig, flow, "good.test", 22, FLOW_TCP, 0, FLOW_CREDIT_ALL);
            autoclose int server = rig_dial(&rig, flow);
            if (i % 4 == 1) {
                shutdown(server, SHUT_WR);
                rig_end(&s);
            } else if (i % 40 == 2) { /* more than 200 in 10 s would be an offence */
                rig_reset(&s);
            } else {
                shutdown(server, SHUT_WR);
                assert_true(rig_until(&rig, s.ended, 10000));
                rig_end(&s);
            }
        }
        assert_true(rig_until(&rig, s.closed, 10000));
        rig_take(&rig, WMSG_FLOW_END);
        rig_free(&s);
        assert_true(TAILQ_EMPTY(&rig.worker.flows));
    }
    assert_false(rig.guest.over);
    int next = dup(STDIN_FILENO);
    assert_true(next <= before + 2);
    close(next);
    rig_stop(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tcp_passes_both_ways),
        cmocka_unit_test(test_refused_says_why),
        cmocka_unit_test(test_form_of_the_request),
        cmocka_unit_test(test_credit),
        cmocka_unit_test(test_tls_first_flight),
        cmocka_unit_test(test_http),
        cmocka_unit_test(test_guest_resets),
        cmocka_unit_test(test_back_pressure),
        cmocka_unit_test(test_no_leak),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
