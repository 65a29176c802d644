/* The guest's proxy listener: SOCKS5, CONNECT and http:// addresses; N03, N04, N15, N22 of the list of
 * attacks as far as they are about its parsing. Each fed whole, byte by byte and in pieces. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/alloc.h"
#include "guard/http_proxy.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What one connection came to. */
struct outcome {
    enum http_proxy_result result;
    enum http_proxy_entrance entrance;
    enum guard_reason reason;
    char host[AUTHORITY_HOST_MAX + 1];
    unsigned port;
    bool literal;
    size_t used;
    uint8_t *said; /* what the handshake and the granting wrote */
    size_t said_len;
    char *to_server;
};

static void outcome_finish(struct outcome *o)
{
    free(o->said);
    free(o->to_server);
}

static void feed(const void *data, size_t len, size_t step, struct outcome *ret)
{
    struct http_proxy proxy;
    struct buf out, to_server;
    *ret = (struct outcome){.result = HTTP_PROXY_MORE};
    http_proxy_init(&proxy);
    buf_init(&out, 0);
    buf_init(&to_server, 0);
    while (ret->used < len && ret->result == HTTP_PROXY_MORE) {
        size_t n = step < len - ret->used ? step : len - ret->used, used;
        ret->result = http_proxy_feed(&proxy, (const uint8_t *)data + ret->used, n, &used, &out);
        assert_true(used <= n && (used == n || ret->result == HTTP_PROXY_REQUEST));
        ret->used += used;
    }
    if (ret->result == HTTP_PROXY_REQUEST)
        http_proxy_granted(&proxy, &out, &to_server);
    if (ret->result == HTTP_PROXY_REFUSED)
        ret->used = len;
    ret->entrance = proxy.entrance;
    ret->reason = proxy.reason;
    ret->port = proxy.port;
    ret->literal = proxy.literal;
    memcpy(ret->host, proxy.host, sizeof(ret->host));
    ret->said_len = out.len;
    ret->said = xmemdup(buf_data(&out), out.len);
    ret->to_server = buf_take_string(&to_server);
    buf_finish(&out);
    buf_finish(&to_server);
    http_proxy_finish(&proxy);
}

/* In every split the same. */
static void feed_all(const void *data, size_t len, struct outcome *ret)
{
    static const size_t steps[] = {1, 2, 5};
    feed(data, len, len, ret);
    for (size_t i = 0; i < countof(steps); i++) {
        struct outcome other;
        feed(data, len, steps[i], &other);
        assert_int_equal(other.result, ret->result);
        assert_int_equal(other.entrance, ret->entrance);
        assert_int_equal(other.used, ret->used);
        assert_string_equal(guard_reason_name(other.reason), guard_reason_name(ret->reason));
        assert_string_equal(other.host, ret->host);
        assert_int_equal(other.port, ret->port);
        assert_int_equal(other.said_len, ret->said_len);
        assert_memory_equal(other.said, ret->said, ret->said_len);
        outcome_finish(&other);
    }
}

static void granted(const void *data, size_t len, enum http_proxy_entrance entrance, const char *host,
                    unsigned port, bool literal, const char *said, size_t said_len, const char *to_server)
{
    autofree uint8_t *more = xcalloc(len + 4, 1);
    memcpy(more, data, len);
    memcpy(more + len, "\x05\1\0T", 4); /* already of the connection */
    for (size_t extra = 0; extra <= 4; extra += 4) {
        struct outcome o;
        feed_all(more, len + extra, &o);
        assert_string_equal(guard_reason_name(o.reason), "ok");
        assert_int_equal(o.result, HTTP_PROXY_REQUEST);
        assert_int_equal(o.entrance, entrance);
        assert_string_equal(o.host, host);
        assert_int_equal(o.port, port);
        assert_int_equal(o.literal, literal);
        assert_int_equal(o.used, len);
        assert_int_equal(o.said_len, said_len);
        assert_memory_equal(o.said, said, said_len);
        assert_string_equal(o.to_server, to_server);
        outcome_finish(&o);
    }
}

#define GRANTED "\5\0\0\1\0\0\0\0\0\0"

static void socks_asks_for_names_and_addresses(void **state)
{
    static const char name[] = "\5\1\0\5\1\0\3\x09good.test\x01\xbb";
    granted(name, sizeof(name) - 1, HTTP_PROXY_SOCKS, "good.test", 443, false, "\5\0" GRANTED, 12, "");
    static const char four[] = "\5\2\2\0\5\1\0\1\xc0\0\2\1\0\x50";
    granted(four, sizeof(four) - 1, HTTP_PROXY_SOCKS, "192.0.2.1", 80, true, "\5\0" GRANTED, 12, "");
    static const char six[] = "\5\1\0\5\1\0\4\x20\x01\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\1\0\x16";
    granted(six, sizeof(six) - 1, HTTP_PROXY_SOCKS, "[2001:db8::1]", 22, true, "\5\0" GRANTED, 12, "");
    /* A name in the form of an address is a name: the canonical-host function sees what it is. */
    static const char as_name[] = "\5\1\0\5\1\0\3\011192.0.2.1\0\x50";
    granted(as_name, sizeof(as_name) - 1, HTTP_PROXY_SOCKS, "192.0.2.1", 80, false, "\5\0" GRANTED, 12, "");
}

#define METHOD     "\5\1\0"
#define SAID(code) "\5\0\5" code "\0\1\0\0\0\0\0\0", 12

static void N03_socks_refuses_what_it_must(void **state)
{
    static const struct {
        const char *bytes;
        size_t len;
        enum guard_reason reason;
        const char *said;
        size_t said_len;
    } cases[] = {
        {METHOD "\5\1\0\3\x14"
                "evil.test\0.good.test\0\x50",
         3 + 5 + 20 + 2, GUARD_SOCKS_MALFORMED, SAID("\1")},
        {METHOD "\5\1\0\3\0\0\x50", 10, GUARD_SOCKS_MALFORMED, SAID("\1")},
        {METHOD "\5\1\0\3\2a \0\x50", 12, GUARD_SOCKS_MALFORMED, SAID("\1")},
        {METHOD "\5\1\0\3\2a\xe4\0\x50", 12, GUARD_SOCKS_MALFORMED, SAID("\1")},
        {METHOD "\5\1\0\3\2ab\0\0", 12, GUARD_SOCKS_MALFORMED, SAID("\1")},
        {METHOD "\5\2\0\1", 7, GUARD_SOCKS_COMMAND, SAID("\7")}, /* BIND */
        {METHOD "\5\3\0\1", 7, GUARD_SOCKS_COMMAND, SAID("\7")}, /* UDP */
        {METHOD "\5\1\0\2", 7, GUARD_SOCKS_ADDRESS, SAID("\x08")},
        {METHOD "\5\1\1\1", 7, GUARD_SOCKS_MALFORMED, SAID("\1")},
        {METHOD "\4\1\0\1", 7, GUARD_SOCKS_MALFORMED, SAID("\1")},
        {"\5\1\2", 3, GUARD_SOCKS_METHOD, "\5\xff", 2},
        {"\5\0", 2, GUARD_SOCKS_METHOD, "\5\xff", 2},
        {"\4\1\0\x50\1\2\3\4", 8, GUARD_SOCKS_VERSION, "", 0},
    };
    for (size_t i = 0; i < countof(cases); i++) {
        struct outcome o;
        feed_all(cases[i].bytes, cases[i].len, &o);
        assert_string_equal(guard_reason_name(o.reason), guard_reason_name(cases[i].reason));
        assert_int_equal(o.result, HTTP_PROXY_REFUSED);
        assert_int_equal(o.said_len, cases[i].said_len);
        assert_memory_equal(o.said, cases[i].said, o.said_len);
        outcome_finish(&o);
    }
    /* No cut of a good one is more than a beginning. */
    static const char name[] = "\5\1\0\5\1\0\3\x09good.test\x01\xbb";
    for (size_t cut = 0; cut < sizeof(name) - 1; cut++) {
        struct outcome o;
        feed_all(name, cut, &o);
        assert_int_equal(o.result, HTTP_PROXY_MORE);
        outcome_finish(&o);
    }
}

#define ESTABLISHED "HTTP/1.1 200 Connection established\r\n\r\n"

static void tunnel(const char *bytes, const char *host, unsigned port)
{
    granted(bytes, strlen(bytes), HTTP_PROXY_CONNECT, host, port, false, ESTABLISHED, strlen(ESTABLISHED),
            "");
}

static void http_clients_are_told_apart(void **state)
{
    tunnel("CONNECT good.test:443 HTTP/1.1\r\nHost: good.test:443\r\nProxy-Authorization: x\r\n\r\n",
           "good.test", 443);
    tunnel("CONNECT GOOD.test:22 HTTP/1.0\r\n\r\n", "GOOD.test", 22);
    tunnel("CONNECT [2001:db8::1]:443 HTTP/1.1\r\nHost: x\r\n\r\n", "[2001:db8::1]", 443);
    static const char get[] = "GET http://good.test/a/../b HTTP/1.1\r\nHost: good.test\r\n\r\n";
    granted(get, sizeof(get) - 1, HTTP_PROXY_ABSOLUTE, "good.test", 80, false, "", 0, get);
    static const char port[] =
        "POST http://good.test:8080 HTTP/1.1\r\nHost: good.test:8080\r\nContent-Length: 4\r\n\r\n";
    granted(port, sizeof(port) - 1, HTTP_PROXY_ABSOLUTE, "good.test", 8080, false, "", 0, port);
}

static void N04_N15_authorities_and_other_requests(void **state)
{
    static const struct {
        const char *bytes;
        enum guard_reason reason;
    } cases[] = {
        {"CONNECT good.test HTTP/1.1\r\n\r\n", GUARD_AUTHORITY},
        {"CONNECT good.test HTTP/1.1\r\n\r\nmore of it", GUARD_AUTHORITY},
        {"CONNECT good test:443 HTTP/1.1\r\n\r\nmore", GUARD_HTTP_LINE},
        {"CONNECT good.test: HTTP/1.1\r\n\r\n", GUARD_AUTHORITY},
        {"CONNECT good.test:0 HTTP/1.1\r\n\r\n", GUARD_AUTHORITY},
        {"CONNECT good.test:0443 HTTP/1.1\r\n\r\n", GUARD_AUTHORITY},
        {"CONNECT good.test:65536 HTTP/1.1\r\n\r\n", GUARD_AUTHORITY},
        {"CONNECT good.test:+443 HTTP/1.1\r\n\r\n", GUARD_AUTHORITY},
        {"CONNECT good.test@evil.test:443 HTTP/1.1\r\n\r\n", GUARD_AUTHORITY},
        {"CONNECT evil.test#good.test:443 HTTP/1.1\r\n\r\n", GUARD_AUTHORITY},
        {"CONNECT evil.test/good.test:443 HTTP/1.1\r\n\r\n", GUARD_AUTHORITY},
        {"CONNECT evil.test:443.good.test HTTP/1.1\r\n\r\n", GUARD_AUTHORITY},
        {"CONNECT evil.test:443:443 HTTP/1.1\r\n\r\n", GUARD_AUTHORITY},
        {"CONNECT 2001:db8::1:443 HTTP/1.1\r\n\r\n", GUARD_AUTHORITY},
        {"CONNECT [2001:db8::1:443 HTTP/1.1\r\n\r\n", GUARD_AUTHORITY},
        {"CONNECT []:443 HTTP/1.1\r\n\r\n", GUARD_AUTHORITY},
        {"CONNECT x[::1]:443 HTTP/1.1\r\n\r\n", GUARD_AUTHORITY},
        {"CONNECT [::1]x:443 HTTP/1.1\r\n\r\n", GUARD_AUTHORITY},
        {"CONNECT :443 HTTP/1.1\r\n\r\n", GUARD_AUTHORITY},
        {"CONNECT /:443 HTTP/1.1\r\n\r\n", GUARD_AUTHORITY},
        {"CONNECT good.test:443 HTTP/1.1\r\nContent-Length: 1\r\n\r\n", GUARD_HTTP_LENGTH},
        {"CONNECT good.test:443 HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", GUARD_HTTP_LENGTH},
        {"CONNECT good.test:443 HTTP/2.0\r\n\r\n", GUARD_HTTP_VERSION},
        {"GET http://a@good.test/ HTTP/1.1\r\nHost: good.test\r\n\r\n", GUARD_AUTHORITY},
        {"GET http://good.test:x/ HTTP/1.1\r\nHost: good.test\r\n\r\n", GUARD_AUTHORITY},
        {"GET ftp://good.test/ HTTP/1.1\r\nHost: good.test\r\n\r\n", GUARD_HTTP_TARGET},
        {"GET / HTTP/1.1\r\nHost: good.test\r\n\r\n", GUARD_PROXY_FORM},
        {"OPTIONS * HTTP/1.1\r\nHost: good.test\r\n\r\n", GUARD_PROXY_FORM},
        {"\x16\x03\x01", GUARD_HTTP_CONTROL},
        {"SSH-2.0-x\r\n\r\n", GUARD_HTTP_LINE},
    };
    for (size_t i = 0; i < countof(cases); i++) {
        struct outcome o;
        feed_all(cases[i].bytes, strlen(cases[i].bytes), &o);
        assert_string_equal(guard_reason_name(o.reason), guard_reason_name(cases[i].reason));
        assert_int_equal(o.result, HTTP_PROXY_REFUSED);
        assert_memory_equal(o.said, "HTTP/1.1 400 Bad Request\r\n", 26);
        outcome_finish(&o);
    }
}

static void a_no_is_said_in_the_clients_language(void **state)
{
    static const char connect[] = "CONNECT good.test:443 HTTP/1.1\r\n\r\n", socks[] = "\5\1\0\5\1\0\3\1a\0\1";
    struct http_proxy proxy;
    struct buf out;
    size_t used;
    buf_init(&out, 0);
    http_proxy_init(&proxy);
    assert_int_equal(http_proxy_feed(&proxy, connect, sizeof(connect) - 1, &used, &out), HTTP_PROXY_REQUEST);
    http_proxy_refuse(&proxy, SOCKS_NOT_ALLOWED, "{\"layer\":\"policy\"}", &out);
    autofree char *said = buf_take_string(&out);
    assert_string_equal(said,
                        "HTTP/1.1 403 Forbidden\r\nContent-Type: application/json\r\nContent-Length: 18\r\n"
                        "Cache-Control: no-store\r\nConnection: close\r\n\r\n{\"layer\":\"policy\"}");
    http_proxy_finish(&proxy);
    http_proxy_init(&proxy);
    assert_int_equal(http_proxy_feed(&proxy, socks, sizeof(socks) - 1, &used, &out), HTTP_PROXY_REQUEST);
    buf_consume(&out, out.len);
    http_proxy_refuse(&proxy, SOCKS_NOT_ALLOWED, NULL, &out);
    assert_int_equal(out.len, 10);
    assert_memory_equal(buf_data(&out), "\5\2\0\1", 4);
    http_proxy_finish(&proxy);
    buf_finish(&out);
}

static int set_up(void **state)
{
    alarm(120);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(socks_asks_for_names_and_addresses),
        cmocka_unit_test(N03_socks_refuses_what_it_must),
        cmocka_unit_test(http_clients_are_told_apart),
        cmocka_unit_test(N04_N15_authorities_and_other_requests),
        cmocka_unit_test(a_no_is_said_in_the_clients_language),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
