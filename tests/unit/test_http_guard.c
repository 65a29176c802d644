/* HTTP/1 on port 80: T08, T10, T11, T12, T14, T16, T17 of the list of attacks, each fed whole, byte by byte
 * and in random pieces with the same result. */
#include "http_guard_world.h"

/* What a connection makes of these client bytes in every split: what left, what was said, why. */
static void expect_on(const struct http_guard_options *options, const char *bytes, size_t len,
                      enum guard_reason reason, const char *forwarded)
{
    for (size_t way = 0; way < countof(steps); way++) {
        struct world w;
        world_init(&w, options);
        client(&w, bytes, len, steps[way]);
        autofree char *left = text_of(&w.to_server), *said = text_of(&w.to_client);
        assert_string_equal(guard_reason_name(w.guard.reason), guard_reason_name(reason));
        assert_string_equal(left, forwarded);
        if (reason == GUARD_OK) {
            assert_string_equal(said, "");
            assert_int_not_equal(w.result, HTTP_GUARD_OVER);
        } else if (w.guard.due_count == 0) {
            autofree char *start = xasprintf("HTTP/1.1 %d ", guard_reason_status(reason));
            assert_int_equal(w.result, HTTP_GUARD_OVER);
            assert_memory_equal(said, start, strlen(start));
            assert_non_null(strstr(said, "\r\nConnection: close\r\n"));
            assert_non_null(
                strstr(said, reason == GUARD_HTTP_POLICY ? "{\"no\":1}" : guard_reason_name(reason)));
        }
        world_finish(&w);
    }
}

static void expect(const char *bytes, enum guard_reason reason, const char *forwarded)
{
    expect_on(&plain, bytes, strlen(bytes), reason, forwarded);
}

static void refused(const char *bytes, enum guard_reason reason)
{
    expect(bytes, reason, "");
}

static void forwards_the_canonical_head(void **state)
{
    expect(PLAIN, GUARD_OK, PLAIN);
    expect("GET /a/./b/../%63?x=%2f/.. HTTP/1.1\r\nhOST:GOOD.test.:80\r\nA:b \r\n\r\n", GUARD_OK,
           "GET /a/c?x=%2f/.. HTTP/1.1\r\nHost: good.test\r\nA: b\r\n\r\n");
    expect("GET HTTP://good.test:80?q HTTP/1.1\r\n" END, GUARD_OK, "GET /?q HTTP/1.1\r\n" END);
    expect("GET http://good.test/p HTTP/1.0\r\n" END, GUARD_OK,
           "GET /p HTTP/1.0\r\nHost: good.test\r\nConnection: close\r\n\r\n");
    /* Hop-by-hop, also what Connection names, in every spelling that a server may fold. */
    expect("GET / HTTP/1.1\r\n" HOST
           "Keep-Alive: 5\r\nPROXY_Authorization: x\r\nTE: trailers\r\nX.Secret: 1\r\n"
           "Connection: keep-alive, x-secret , ,\r\nProxy-Connection: keep-alive\r\nTrailer: "
           "z\r\nhttp2.settings: AA\r\n"
           "Connection: y\r\nY: 2\r\nYY: 3\r\n\r\n",
           GUARD_OK, "GET / HTTP/1.1\r\nHost: good.test\r\nYY: 3\r\n\r\n");
    expect("POST /u HTTP/1.1\r\nContent-Length: 003\r\n" END "abc", GUARD_OK,
           "POST /u HTTP/1.1\r\nHost: good.test\r\nContent-Length: 3\r\n\r\nabc");
    struct http_guard_options other = {.host = "[2001:db8::1]", .port = 8080};
    static const char literal[] = "GET / HTTP/1.1\r\nHost: [2001:DB8:0::1]:8080\r\n\r\n";
    expect_on(&other, literal, strlen(literal), GUARD_OK,
              "GET / HTTP/1.1\r\nHost: [2001:db8::1]:8080\r\n\r\n");
    static const char elsewhere[] = "GET / HTTP/1.1\r\nHost: [2001:db8::1]\r\n\r\n";
    expect_on(&other, elsewhere, strlen(elsewhere), GUARD_HTTP_HOST, "");
}

static void T08_each_pipelined_request_is_checked(void **state)
{
    expect(PLAIN "GET / HTTP/1.1\r\nHost: evil.test\r\n\r\n", GUARD_HTTP_HOST, PLAIN);
    expect(PLAIN "GET http://evil.test/ HTTP/1.1\r\n" END, GUARD_HTTP_HOST, PLAIN);
    expect(PLAIN "GET /forbidden HTTP/1.1\r\n" END, GUARD_HTTP_POLICY, PLAIN);
    refused("GET /forbidden HTTP/1.1\r\n" END PLAIN, GUARD_HTTP_POLICY);
    /* A body that looks like a request is one only by its length. */
    expect("POST / HTTP/1.1\r\nContent-Length: 4\r\n" END "GET GET /forbidden HTTP/1.1\r\n" END,
           GUARD_HTTP_POLICY, "POST / HTTP/1.1\r\nHost: good.test\r\nContent-Length: 4\r\n\r\nGET ");
    expect("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n" END
           "1\r\nx\r\n0\r\n\r\nGET /forbidden HTTP/1.1\r\n" END,
           GUARD_HTTP_POLICY,
           "POST / HTTP/1.1\r\nHost: good.test\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n");
    /* After close nothing is taken. */
    expect("GET / HTTP/1.1\r\nConnection: close\r\n" END PLAIN, GUARD_OK,
           "GET / HTTP/1.1\r\nHost: good.test\r\nConnection: close\r\n\r\n");
    struct http_guard_options one = {.host = "good.test", .port = 80, .one_request = true};
    expect_on(&one, PLAIN PLAIN, 2 * strlen(PLAIN), GUARD_OK,
              "GET / HTTP/1.1\r\nHost: good.test\r\nConnection: close\r\n\r\n");
}

static void T10_framing_has_one_meaning(void **state)
{
#define POST "POST / HTTP/1.1\r\n" HOST
#define CL5  "Content-Length: 5\r\n"
#define TE   "Transfer-Encoding: "
    refused(POST CL5 TE "chunked\r\n\r\n", GUARD_HTTP_LENGTH_CHUNKED);
    refused(POST TE "chunked\r\n" CL5 "\r\n", GUARD_HTTP_LENGTH_CHUNKED);
    refused(POST CL5 "Content-Length: 6\r\n\r\n", GUARD_HTTP_LENGTH);
    refused(POST CL5 CL5 "\r\n", GUARD_HTTP_LENGTH);
    static const char *const lengths[] = {
        "+5", "-5", "0x5", "5, 5", "5 5", "", "5.", "99999999999999999999", "5\t;", "\xb5"};
    for (size_t i = 0; i < countof(lengths); i++) {
        autofree char *bytes = xasprintf(POST "Content-Length: %s\r\n\r\n", lengths[i]);
        refused(bytes, GUARD_HTTP_LENGTH);
    }
    static const char *const encodings[] = {
        "xchunked",      "chunked, identity", "identity",    "",           "chunked,chunked",
        "gzip, chunked", "\"chunked\"",       "chunked;q=1", "chunked\xa0"};
    for (size_t i = 0; i < countof(encodings); i++) {
        autofree char *bytes = xasprintf(POST TE "%s\r\n\r\n", encodings[i]);
        refused(bytes, GUARD_HTTP_ENCODING);
    }
    refused(POST TE "chunked\r\n" TE "chunked\r\n\r\n", GUARD_HTTP_ENCODING);
    refused("POST / HTTP/1.0\r\n" HOST TE "chunked\r\n\r\n", GUARD_HTTP_ENCODING);
    refused(POST "Content_Length: 5\r\n\r\n", GUARD_HTTP_LOOKALIKE);
    refused(POST "transfer.encoding: chunked\r\n\r\n", GUARD_HTTP_LOOKALIKE);
    refused(POST CL5 "Connection: content_length\r\n\r\n", GUARD_HTTP_CONNECTION);
    refused(POST TE "chunked\r\nConnection: Transfer-Encoding\r\n\r\n", GUARD_HTTP_CONNECTION);
    refused(POST "Connection: host\r\n\r\n", GUARD_HTTP_CONNECTION);
    refused(POST "Connection: a b\r\n\r\n", GUARD_HTTP_CONNECTION);
    expect(POST TE "Chunked\r\n\r\n0\r\n\r\n", GUARD_OK, POST TE "chunked\r\n\r\n0\r\n\r\n");
}

static void T11_chunks(void **state)
{
#define CHUNKED POST TE "chunked\r\n\r\n"
    static const char *const bad[] = {
        "7fffffffffffffff\r\n",
        "-1\r\n",
        "FFFFFFFFFFFFFFFFF\r\n",
        "80000001\r\n",
        "+1\r\nx\r\n",
        "0x1\r\nx\r\n",
        "\r\n",
        ";x\r\n",
        " 1\r\nx\r\n",
        "1 \r\nx\r\n",
        "1\nx\r\n",
        "1\rx",
        "1;a\nb\r\n",
        "00000000000000001\r\n",
        "0\r\n folded: 1\r\n\r\n",
        "0\r\nno colon\r\n\r\n",
        "0\r\nnocolon\r\n\r\n",
        "0\r\n: x\r\n\r\n",
        "0\r\na: b\n\r\n",
        "0\r\n\rx",
        "0\r\na: \x01\r\n\r\n",
        "0\n",
        "1;\x01\r\n",
    };
    for (size_t i = 0; i < countof(bad); i++) {
        autofree char *bytes = xasprintf(CHUNKED "%s", bad[i]);
        expect(bytes, GUARD_HTTP_CHUNK, CHUNKED);
    }
    expect(CHUNKED "1\r\nxx", GUARD_HTTP_CHUNK, CHUNKED "1\r\nx");
    expect(CHUNKED "1\r\nx\r\r", GUARD_HTTP_CHUNK, CHUNKED "1\r\nx");
    expect(CHUNKED "1\r\nx\n", GUARD_HTTP_CHUNK, CHUNKED "1\r\nx");
    /* Extensions and trailers stay here, sizes come out plain. */
    expect(CHUNKED "000B;a=\"b\"\r\nhello world\r\n00;x\r\nA: b\r\nContent-Length: 7\r\n\r\n" PLAIN, GUARD_OK,
           CHUNKED "b\r\nhello world\r\n0\r\n\r\n" PLAIN);
    expect(CHUNKED "80000000\r\nx", GUARD_OK, CHUNKED "80000000\r\nx");
    char extension[HTTP_EXTENSION_MAX + 2] = {0};
    for (size_t over = 0; over < 2; over++) {
        memset(extension, 'e', HTTP_EXTENSION_MAX + over);
        autofree char *bytes = xasprintf(CHUNKED "1;%s\r\nx\r\n", extension);
        expect(bytes, over ? GUARD_HTTP_CHUNK : GUARD_OK, over ? CHUNKED : CHUNKED "1\r\nx\r\n");
    }
    autofree char *trailer = xcalloc(HTTP_TRAILER_MAX, 1);
    memset(trailer, 't', HTTP_TRAILER_MAX - 1);
    autofree char *bytes = xasprintf(CHUNKED "0\r\na: %s\r\n", trailer);
    expect(bytes, GUARD_HTTP_CHUNK, CHUNKED);
}

static void T12_lines_and_names(void **state)
{
    static const struct {
        const char *bytes;
        enum guard_reason reason;
    } cases[] = {
        {"GET / HTTP/1.1\nHost: good.test\n\n", GUARD_HTTP_LINE_END},
        {"GET / HTTP/1.1\r\nHost: good.test\n\r\n", GUARD_HTTP_LINE_END},
        {"GET / HTTP/1.1\r\nHost: good\r.test\r\n\r\n", GUARD_HTTP_LINE_END},
        {"GET / HTTP/1.1\r\r\n" END, GUARD_HTTP_LINE_END},
        {"\r\nGET / HTTP/1.1\r\n" END, GUARD_HTTP_LEADING},
        {"\nGET / HTTP/1.1\r\n" END, GUARD_HTTP_LINE_END},
        {"GET / HTTP/1.1\r\nA: b\r\n c\r\n" END, GUARD_HTTP_FOLD},
        {"GET / HTTP/1.1\r\nA: b\r\n\tc\r\n" END, GUARD_HTTP_FOLD},
        {"GET / HTTP/1.1\r\n A: b\r\n" END, GUARD_HTTP_FOLD},
        {"GET / HTTP/1.1\r\nHost : good.test\r\n\r\n", GUARD_HTTP_NAME},
        {"GET / HTTP/1.1\r\nA\tb: c\r\n" END, GUARD_HTTP_NAME},
        {"GET / HTTP/1.1\r\n: c\r\n" END, GUARD_HTTP_NAME},
        {"GET / HTTP/1.1\r\nnocolon\r\n" END, GUARD_HTTP_NAME},
        {"GET / HTTP/1.1\r\nA\xc3\xa4: c\r\n" END, GUARD_HTTP_NAME},
        {"GET / HTTP/1.1\r\nA(: c\r\n" END, GUARD_HTTP_NAME},
        {"GET / HTTP/1.1\r\nA: \x01\r\n" END, GUARD_HTTP_CONTROL},
        {"GET / HTTP/1.1\r\nA: \x7f\r\n" END, GUARD_HTTP_CONTROL},
        {"GET / HTTP/1.1\r\nA\x1b: b\r\n" END, GUARD_HTTP_CONTROL},
        {"\x16\x03\x01", GUARD_HTTP_CONTROL},
        {"GET  / HTTP/1.1\r\n" END, GUARD_HTTP_LINE},
        {"GET / HTTP/1.1 \r\n" END, GUARD_HTTP_VERSION},
        {" GET / HTTP/1.1\r\n" END, GUARD_HTTP_LINE},
        {"GET\t/ HTTP/1.1\r\n" END, GUARD_HTTP_LINE},
        {"GET /\xc3\xa4 HTTP/1.1\r\n" END, GUARD_HTTP_LINE},
        {"GET /\r\n" END, GUARD_HTTP_LINE},
        {"G(T / HTTP/1.1\r\n" END, GUARD_HTTP_LINE},
        {"GET / http/1.1\r\n" END, GUARD_HTTP_VERSION},
        {"GET / HTTP/1.2\r\n" END, GUARD_HTTP_VERSION},
        {"GET / HTTP/2.0\r\n" END, GUARD_HTTP_VERSION},
        {"GET / HTTP/1.10\r\n" END, GUARD_HTTP_VERSION},
        {"GET / XTTP/1.1\r\n" END, GUARD_HTTP_LINE},
        {"GET / HTTP/1.1\r\n\r\n", GUARD_HTTP_HOST_MISSING},
        {"GET / HTTP/1.0\r\n\r\n", GUARD_HTTP_HOST_MISSING},
        {"GET / HTTP/1.1\r\n" HOST END, GUARD_HTTP_HOST_TWICE},
        {"GET / HTTP/1.1\r\nHost:\r\n\r\n", GUARD_HTTP_HOST},
        {"GET / HTTP/1.1\r\nHost: evil.test\r\n\r\n", GUARD_HTTP_HOST},
        {"GET / HTTP/1.1\r\nHost: good.test:81\r\n\r\n", GUARD_HTTP_HOST},
        {"GET / HTTP/1.1\r\nHost: good.test:080\r\n\r\n", GUARD_HTTP_HOST},
        {"GET / HTTP/1.1\r\nHost: good.test:\r\n\r\n", GUARD_HTTP_HOST},
        {"GET / HTTP/1.1\r\nHost: good.test, evil.test\r\n\r\n", GUARD_HTTP_HOST},
        {"GET / HTTP/1.1\r\nHost: good.test..\r\n\r\n", GUARD_HTTP_HOST},
        {"GET / HTTP/1.1\r\nHost: x@good.test\r\n\r\n", GUARD_HTTP_HOST},
        {"GET http://good.test/ HTTP/1.1\r\nHost: evil.test\r\n\r\n", GUARD_HTTP_HOST},
        {"GET http://evil.test/ HTTP/1.1\r\n" END, GUARD_HTTP_HOST},
        {"GET http://good.test@evil.test/ HTTP/1.1\r\n" END, GUARD_HTTP_HOST},
        {"GET http:/// HTTP/1.1\r\n" END, GUARD_HTTP_TARGET},
        {"GET https://good.test/ HTTP/1.1\r\n" END, GUARD_HTTP_TARGET},
        {"GET good.test HTTP/1.1\r\n" END, GUARD_HTTP_TARGET},
        {"GET * HTTP/1.1\r\n" END, GUARD_HTTP_TARGET},
        {"CONNECT good.test:80 HTTP/1.1\r\n" END, GUARD_HTTP_CONNECT},
        {"connect good.test:80 HTTP/1.1\r\n" END, GUARD_HTTP_CONNECT},
    };
    for (size_t i = 0; i < countof(cases); i++)
        refused(cases[i].bytes, cases[i].reason);
    static const char zero[] = "GET / HTTP/1.1\r\nA: b\0c\r\n" END;
    expect_on(&plain, zero, sizeof(zero) - 1, GUARD_HTTP_CONTROL, "");
}

static void a_head_has_limits(void **state)
{
    struct buf bytes, out;
    buf_init(&bytes, 0);
    buf_init(&out, 0);
    for (size_t over = 0; over < 2; over++) {
        buf_printf(&bytes, NULL, "GET / HTTP/1.1\r\n" HOST);
        buf_printf(&out, NULL, "GET / HTTP/1.1\r\n" HOST);
        for (size_t i = 0; i < HTTP_FIELDS_MAX - 1 + over; i++) {
            buf_printf(&bytes, NULL, "x%zu: y\r\n", i);
            buf_printf(&out, NULL, "x%zu: y\r\n", i);
        }
        buf_printf(&bytes, NULL, "\r\n");
        buf_printf(&out, NULL, "\r\n");
        autofree char *all = buf_take_string(&bytes), *expected = buf_take_string(&out);
        expect(all, over ? GUARD_HTTP_TOO_MANY : GUARD_OK, over ? "" : expected);
    }
    for (size_t over = 0; over < 2; over++) {
        autofree char *value = xcalloc(HTTP_REQUEST_HEAD_MAX, 1);
        memset(value, 'v', HTTP_REQUEST_HEAD_MAX - strlen(PLAIN) - 5 + over);
        autofree char *all = xasprintf("GET / HTTP/1.1\r\n" HOST "x: %s\r\n\r\n", value);
        assert_int_equal(strlen(all), HTTP_REQUEST_HEAD_MAX + over);
        expect(all, over ? GUARD_HTTP_TOO_LONG : GUARD_OK, over ? "" : all);
    }
    buf_finish(&bytes);
    buf_finish(&out);
}

static void T14_upgrades(void **state)
{
    /* h2c is taken out, and what follows is no tunnel. */
    expect("GET / HTTP/1.1\r\nUpgrade: h2c\r\nConnection: Upgrade, HTTP2-Settings\r\nHTTP2-Settings: "
           "AAMAAABk\r\n" END "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
           GUARD_HTTP_VERSION, PLAIN);
    refused(WS, GUARD_HTTP_UPGRADE);
    struct http_guard_options options = {.host = "good.test", .port = 80, .websocket = true};
    /* Bytes of the new protocol wait until it is spoken. */
    expect_on(&options, WS "\x81\x00", strlen(WS) + 2, GUARD_OK, WS);
    static const char h2c[] = "GET / HTTP/1.1\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n" END;
    expect_on(&options, h2c, strlen(h2c), GUARD_OK, PLAIN);
    static const char post[] =
        "POST / HTTP/1.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nContent-Length: 1\r\n" END "x";
    expect_on(&options, post, strlen(post), GUARD_OK,
              "POST / HTTP/1.1\r\nHost: good.test\r\nContent-Length: 1\r\n\r\nx");
    static const char two[] =
        "GET / HTTP/1.1\r\nUpgrade: websocket\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n" END;
    expect_on(&options, two, strlen(two), GUARD_OK, PLAIN);
}

static void T17_bodies_where_none_are_expected(void **state)
{
    expect("GET / HTTP/1.1\r\nContent-Length: 3\r\n" END "abc" PLAIN, GUARD_OK,
           "GET / HTTP/1.1\r\nHost: good.test\r\nContent-Length: 3\r\n\r\nabc" PLAIN);
    expect("OPTIONS * HTTP/1.1\r\n" END, GUARD_OK, "OPTIONS * HTTP/1.1\r\nHost: good.test\r\n\r\n");
    refused("OPTIONSX * HTTP/1.1\r\n" END, GUARD_HTTP_TARGET);
    refused("POST / HTTP/1.1\r\nExpect: foo\r\n" END, GUARD_HTTP_EXPECT);
    refused("POST / HTTP/1.1\r\nExpect: 100-continue\r\nExpect: 100-continue\r\n" END, GUARD_HTTP_EXPECT);
    expect("POST / HTTP/1.1\r\nHost: good.test\r\nExpect: 100-Continue\r\nContent-Length: 1\r\n\r\nx",
           GUARD_OK,
           "POST / HTTP/1.1\r\nHost: good.test\r\nExpect: 100-Continue\r\nContent-Length: 1\r\n\r\nx");
}

static void T16_a_path_has_one_form(void **state)
{
    static const struct {
        const char *sent, *canonical; /* NULL: refused */
    } cases[] = {
        {"/", "/"},
        {"/v1/allowed/../admin", "/v1/admin"},
        {"/v1/allowed/%2e%2e/admin", "/v1/admin"},
        {"/v1/allowed/.%2E/admin", "/v1/admin"},
        {"/a//b///c", "/a/b/c"},
        {"//evil.test/x", "/evil.test/x"},
        {"/a//../b", "/b"},
        {"/../../x", "/x"},
        {"/a/b/..", "/a/"},
        {"/a/..", "/"},
        {"/..", "/"},
        {"/.", "/"},
        {"/a/.", "/a/"},
        {"/a/./b/", "/a/b/"},
        {"/a/...", "/a/..."},
        {"/%41%7e%2d%5f", "/A~-_"},
        {"/a%c3%a4%3b%20", "/a%C3%A4%3B%20"},
        {"/%252e%252e/x", "/%252e%252e/x"},
        {"/a;x=1/b", "/a;x=1/b"},
        {"/%61dmin", "/admin"},
        {"/a%2fb", NULL},
        {"/a%2Fb", NULL},
        {"/a%5cb", NULL},
        {"/a\\b", NULL},
        {"/a%00", NULL},
        {"/a%", NULL},
        {"/a%4", NULL},
        {"/a%4g", NULL},
        {"/a%4?x", NULL},
        {"/a#b", NULL},
        {"/a?b#c", NULL},
        {"/..;x/admin", NULL},
        {"/.;x/admin", NULL},
        {"/%2e%2e%3bx/admin", NULL},
    };
    for (size_t i = 0; i < countof(cases); i++) {
        autofree char *bytes = xasprintf("GET %s HTTP/1.1\r\n" END, cases[i].sent);
        autofree char *out =
            xasprintf("GET %s HTTP/1.1\r\n" END, cases[i].canonical ? cases[i].canonical : "");
        expect(bytes, cases[i].canonical ? GUARD_OK : GUARD_HTTP_PATH, cases[i].canonical ? out : "");
        if (!cases[i].canonical)
            continue;
        autofree char *again = xasprintf("GET %s?a/../b HTTP/1.1\r\n" END, cases[i].canonical);
        expect(again, GUARD_OK, again); /* canonical is canonical, and the query is let be */
    }
    struct world w;
    world_init(&w, &plain);
    client(&w, "GET /x/../y?secret=1 HTTP/1.1\r\n" END, strlen("GET /x/../y?secret=1 HTTP/1.1\r\n" END), 1);
    autofree char *log = text_of(&w.log);
    assert_string_equal(log, "GET /y ?secret=1\n");
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
        cmocka_unit_test(forwards_the_canonical_head),
        cmocka_unit_test(T08_each_pipelined_request_is_checked),
        cmocka_unit_test(T10_framing_has_one_meaning),
        cmocka_unit_test(T11_chunks),
        cmocka_unit_test(T12_lines_and_names),
        cmocka_unit_test(a_head_has_limits),
        cmocka_unit_test(T14_upgrades),
        cmocka_unit_test(T17_bodies_where_none_are_expected),
        cmocka_unit_test(T16_a_path_has_one_form),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
