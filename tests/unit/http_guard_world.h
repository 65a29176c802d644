/* A connection through the guard in a test: a caller that allows all but "/forbidden", and both ends' bytes.
 */
#ifndef HUTCH_TESTS_HTTP_GUARD_WORLD_H
#define HUTCH_TESTS_HTTP_GUARD_WORLD_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/alloc.h"
#include "guard/http_guard.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HOST  "Host: good.test\r\n"
#define END   HOST "\r\n"
#define OK    "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
#define PLAIN "GET / HTTP/1.1\r\nHost: good.test\r\n\r\n"

struct world {
    struct http_guard guard;
    struct buf to_server, to_client, log;
    enum http_guard_result result;
};

static const struct http_guard_options plain = {.host = "good.test", .port = 80};

static inline void world_init(struct world *w, const struct http_guard_options *options)
{
    http_guard_init(&w->guard, options);
    buf_init(&w->to_server, 0);
    buf_init(&w->to_client, 0);
    buf_init(&w->log, 0);
    w->result = HTTP_GUARD_MORE;
}

static inline void world_finish(struct world *w)
{
    http_guard_finish(&w->guard);
    buf_finish(&w->to_server);
    buf_finish(&w->to_client);
    buf_finish(&w->log);
}

static inline void answer(struct world *w)
{
    const struct http_guard_request *request = &w->guard.request;
    size_t before = w->to_server.len;
    buf_printf(&w->log, NULL, "%s %s%s%s\n", request->method, request->path, request->query[0] ? " " : "",
               request->query);
    if (strcmp(request->path, "/forbidden") == 0) {
        w->result = http_guard_refuse(&w->guard, "{\"no\":1}", &w->to_client);
        assert_int_equal(w->to_server.len, before);
    } else {
        http_guard_allow(&w->guard, &w->to_server);
        w->result = HTTP_GUARD_MORE;
    }
}

/* Client bytes in pieces of a size (0: random). Returns how many were taken. */
static inline size_t client(struct world *w, const void *data, size_t len, size_t step)
{
    unsigned seed = (unsigned)len * 3;
    size_t at = 0;
    while (at < len && w->result >= HTTP_GUARD_MORE) {
        seed = seed * 1103515245u + 12345u;
        size_t n = step ? step : 1 + (seed >> 16) % 50, used = 0;
        n = n < len - at ? n : len - at;
        w->result =
            http_guard_client(&w->guard, (const uint8_t *)data + at, n, &used, &w->to_server, &w->to_client);
        assert_true(used <= n);
        at += used;
        if (w->result == HTTP_GUARD_MORE)
            assert_int_equal(used, n);
        if (w->result == HTTP_GUARD_HELD)
            break;
        if (w->result == HTTP_GUARD_REQUEST)
            answer(w);
    }
    return at;
}

static inline void server(struct world *w, const void *data, size_t len, size_t step)
{
    for (size_t at = 0; at < len && w->result >= HTTP_GUARD_MORE; at += step) {
        size_t n = step < len - at ? step : len - at;
        w->result = http_guard_server(&w->guard, (const uint8_t *)data + at, n, &w->to_client);
    }
}

static inline char *text_of(struct buf *buf)
{
    return xstrndup((const char *)buf_data(buf), buf->len);
}

/* In one piece, and in several. */
static const size_t steps[] = {100000, 1, 2, 7, 0};

#define WS                                                                                                   \
    "GET /ws HTTP/1.1\r\nHost: good.test\r\nSec-WebSocket-Key: k\r\nConnection: Upgrade\r\nUpgrade: "        \
    "websocket\r\n\r\n"

#endif
