/* Fuzz target of the HTTP/1 checker. The input is turns of both ends: a byte of direction and length, then
 * that many bytes. Fed twice, whole turns and bytes: the same comes out. What leaves for the server must be
 * what the strict reader takes again, with nothing but requests that were allowed. */
#include "base/alloc.h"
#include "guard/http_guard.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct run {
    struct http_guard guard;
    struct buf to_server, to_client, held;
    size_t allowed;
    bool over;
};

static bool is_refused(const struct http_guard_request *request)
{
    require(request->path[0] == '/' || strcmp(request->path, "*") == 0);
    require(!strstr(request->path, "/../") && !strstr(request->path, "//") &&
            !strpbrk(request->path, "\\#? "));
    require(request->query[0] == 0 || request->query[0] == '?');
    return strstr(request->path, "no") != NULL;
}

/* Gives the client's held bytes on, as many at once as asked. */
static void push(struct run *run, size_t step)
{
    while (!run->over && run->held.len > 0) {
        size_t used, n = step < run->held.len ? step : run->held.len;
        enum http_guard_result result =
            http_guard_client(&run->guard, buf_data(&run->held), n, &used, &run->to_server, &run->to_client);
        require(used <= n);
        buf_consume(&run->held, used);
        if (result == HTTP_GUARD_REQUEST) {
            size_t before = run->to_server.len;
            if (is_refused(&run->guard.request)) {
                result = http_guard_refuse(&run->guard, NULL, &run->to_client);
                require(run->to_server.len == before);
            } else {
                http_guard_allow(&run->guard, &run->to_server);
                result = HTTP_GUARD_MORE;
                run->allowed++;
            }
        }
        run->over = result == HTTP_GUARD_OVER;
        if (result == HTTP_GUARD_HELD)
            return;
    }
}

static void run_turns(struct run *run, const uint8_t *data, size_t size, size_t step)
{
    const struct http_guard_options options = {
        .host = "good.test", .port = 80, .websocket = data[0] & 1, .one_request = data[0] & 2};
    memset(run, 0, sizeof(*run));
    http_guard_init(&run->guard, &options);
    buf_init(&run->to_server, 0);
    buf_init(&run->to_client, 0);
    buf_init(&run->held, 0);
    for (size_t at = 1; at + 2 < size && !run->over;) {
        bool from_server = data[at] & 0x80;
        size_t n = (size_t)(data[at] & 0x7f) << 8 | data[at + 1];
        at += 2;
        n = n < size - at ? n : size - at;
        if (!from_server) {
            require(buf_append(&run->held, data + at, n, NULL) == 0);
            push(run, step);
        }
        for (size_t i = 0; from_server && i < n && !run->over; i += step) {
            size_t piece = step < n - i ? step : n - i;
            run->over =
                http_guard_server(&run->guard, data + at + i, piece, &run->to_client) == HTTP_GUARD_OVER;
        }
        if (from_server)
            push(run, step);
        at += n;
    }
    require(run->guard.due_count <= HTTP_PIPELINE_MAX);
}

/* Another guard that reads what left finds the same requests, and forwards them unchanged. */
static void check_forwarded(const struct run *run, bool websocket)
{
    const struct http_guard_options options = {.host = "good.test", .port = 80, .websocket = websocket};
    struct http_guard again;
    struct buf out, said;
    size_t at = 0, requests = 0;
    http_guard_init(&again, &options);
    buf_init(&out, 0);
    buf_init(&said, 0);
    while (at < run->to_server.len) {
        size_t used;
        enum http_guard_result result = http_guard_client(&again, buf_data(&run->to_server) + at,
                                                          run->to_server.len - at, &used, &out, &said);
        at += used;
        if (result == HTTP_GUARD_HELD) { /* a websocket's bytes, or a full pipeline */
            require(again.due_count == HTTP_PIPELINE_MAX || websocket);
            break;
        }
        /* A chunk that broke off may have left its size before. */
        require(result != HTTP_GUARD_OVER);
        if (result == HTTP_GUARD_REQUEST) {
            require(!is_refused(&again.request));
            http_guard_allow(&again, &out);
            requests++;
        }
    }
    require(at < run->to_server.len || requests == run->allowed);
    require(out.len <= run->to_server.len && memcmp(buf_data(&out), buf_data(&run->to_server), out.len) == 0);
    buf_finish(&out);
    buf_finish(&said);
    http_guard_finish(&again);
}

static bool same(const struct buf *a, const struct buf *b)
{
    return a->len == b->len && memcmp(buf_data(a), buf_data(b), a->len) == 0;
}

static void run_finish(struct run *run)
{
    http_guard_finish(&run->guard);
    buf_finish(&run->to_server);
    buf_finish(&run->to_client);
    buf_finish(&run->held);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct run whole, bytes;
    if (size < 4)
        return 0;
    run_turns(&whole, data, size, SIZE_MAX);
    run_turns(&bytes, data, size, 1);
    require(whole.over == bytes.over && whole.guard.reason == bytes.guard.reason &&
            whole.allowed == bytes.allowed);
    require(same(&whole.to_server, &bytes.to_server) && same(&whole.to_client, &bytes.to_client));
    check_forwarded(&whole, data[0] & 1);
    run_finish(&whole);
    run_finish(&bytes);
    return 0;
}
