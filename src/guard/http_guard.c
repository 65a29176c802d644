#include "guard/http_guard.h"

#include "base/alloc.h"
#include "guard/authority.h"
#include "guard/path.h"

#include <string.h>

#define HTTP_PORT 80

enum client_state {
    CLIENT_HEAD,
    CLIENT_WAITS, /* for the answer to its request */
    CLIENT_BODY,
    CLIENT_SWITCH, /* asked for websocket: what follows depends on the response */
    CLIENT_DONE,   /* nothing more is read from it */
    CLIENT_RAW,
};
enum server_state { SERVER_HEAD, SERVER_BODY, SERVER_RAW };

void http_guard_init(struct http_guard *guard, const struct http_guard_options *options)
{
    memset(guard, 0, sizeof(*guard));
    guard->host = xstrdup(options->host);
    guard->port = options->port;
    guard->websocket = options->websocket;
    guard->one_request = options->one_request;
    guard->on_response = options->on_response;
    guard->user = options->user;
    http_head_init(&guard->from_client, HTTP_REQUEST);
    http_head_init(&guard->from_server, HTTP_RESPONSE);
}

void http_guard_finish(struct http_guard *guard)
{
    http_head_finish(&guard->from_client);
    http_head_finish(&guard->from_server);
    free(guard->host);
    free(guard->path);
    free(guard->refusal);
}

bool http_guard_is_raw(const struct http_guard *guard)
{
    return guard->server_state == SERVER_RAW;
}

static void put(struct buf *out, const void *data, size_t len)
{
    require(buf_append(out, data, len, NULL) == 0);
}

static void put_text(struct buf *out, const char *text)
{
    put(out, text, strlen(text));
}

static enum http_guard_result end(struct http_guard *guard, enum guard_reason reason)
{
    guard->over = true;
    if (guard->reason == GUARD_OK)
        guard->reason = reason;
    return HTTP_GUARD_OVER;
}

static struct http_guard_due *first_due(struct http_guard *guard)
{
    return &guard->due[guard->due_first];
}

/* Says no to the request that waits or could not be read; behind the responses that are due. */
static enum http_guard_result refuse(struct http_guard *guard, enum guard_reason reason, const char *json,
                                     struct buf *to_client)
{
    bool to_head = http_is(guard->from_client.method, "HEAD");
    guard->reason = reason;
    guard->client_state = CLIENT_DONE;
    if (guard->due_count == 0) {
        guard_refusal(to_client, reason, json, to_head);
        return end(guard, reason);
    }
    guard->refused = true;
    guard->refusal = xstrdup(json);
    guard->refusal_head = to_head;
    return HTTP_GUARD_MORE;
}

/* A request's body broke off: the server has a part of it, so only the connection can end. */
static enum http_guard_result break_off(struct http_guard *guard, struct buf *to_client)
{
    if (guard->due_count == 1 && guard->server_state == SERVER_HEAD && !http_head_begun(&guard->from_server))
        guard_refusal(to_client, GUARD_HTTP_CHUNK, NULL, false);
    return end(guard, GUARD_HTTP_CHUNK);
}

static bool names_us(const struct http_guard *guard, struct http_slice text)
{
    struct authority authority;
    return authority_parse(text.at, text.len, HTTP_PORT, &authority) &&
           authority_is(&authority, guard->host, guard->port);
}

/* Fills the path of the request: canonical, and behind its NUL the query. */
static bool take_path(struct http_guard *guard)
{
    const struct http_head *head = &guard->from_client;
    autofree char *target = xstrndup(head->path.at, head->path.len);
    if (head->form == HTTP_ABSOLUTE && target[0] != '/') {
        char *rooted = xasprintf("/%s", target);
        free(target);
        target = rooted;
    }
    size_t len = strlen(target), path_len = 1, query = len;
    free(guard->path);
    guard->path = xcalloc(len + 2, 1);
    if (head->form == HTTP_ASTERISK)
        guard->path[0] = '*';
    else if (!path_canonical(target, len, guard->path, &path_len, &query))
        return false;
    memcpy(guard->path + path_len + 1, target + query, len - query);
    guard->path[path_len + 1 + len - query] = 0;
    guard->request.path = guard->path;
    guard->request.query = guard->path + path_len + 1;
    return true;
}

/* What the head asks for, beyond its form. */
static enum guard_reason check_request(struct http_guard *guard)
{
    const struct http_head *head = &guard->from_client;
    if (head->form == HTTP_AUTHORITY)
        return GUARD_HTTP_CONNECT;
    if (!names_us(guard, head->host) || (head->form == HTTP_ABSOLUTE && !names_us(guard, head->authority)))
        return GUARD_HTTP_HOST;
    if (!take_path(guard))
        return GUARD_HTTP_PATH;
    memcpy(guard->method, head->method.at, head->method.len);
    guard->method[head->method.len] = 0;
    guard->request.method = guard->method;
    guard->request.head = head;
    guard->request.websocket = false;
    if (http_is(head->upgrade, "websocket")) {
        if (!guard->websocket)
            return GUARD_HTTP_UPGRADE;
        guard->request.websocket =
            strcmp(guard->method, "GET") == 0 && head->minor == 1 && !head->chunked && head->length == 0;
    }
    return GUARD_OK;
}

/* The fields of a message but those that are written anew. */
static void put_fields(const struct http_head *head, struct buf *out)
{
    for (size_t i = 0; i < head->field_count; i++) {
        const struct http_field *field = &head->fields[i];
        if (http_is_hop_by_hop(head, field) || http_is(field->name, "content-length") ||
            http_is(field->name, "transfer-encoding") ||
            (head->kind == HTTP_REQUEST && http_is(field->name, "host")))
            continue;
        put(out, field->name.at, field->name.len);
        put(out, ": ", 2);
        put(out, field->value.at, field->value.len);
        put(out, "\r\n", 2);
    }
}

static void put_framing(const struct http_head *head, struct buf *out)
{
    if (head->chunked)
        put_text(out, "Transfer-Encoding: chunked\r\n");
    else if (head->has_length)
        require(buf_printf(out, NULL, "Content-Length: %llu\r\n", (unsigned long long)head->length) == 0);
}

static void put_request(struct http_guard *guard, bool last, struct buf *out)
{
    const struct http_head *head = &guard->from_client;
    put_text(out, guard->method);
    put(out, " ", 1);
    put_text(out, guard->request.path);
    put_text(out, guard->request.query);
    require(buf_printf(out, NULL, " HTTP/1.%d\r\nHost: %s", head->minor, guard->host) == 0);
    if (guard->port != HTTP_PORT)
        require(buf_printf(out, NULL, ":%u", guard->port) == 0);
    put(out, "\r\n", 2);
    put_fields(head, out);
    put_framing(head, out);
    if (guard->request.websocket)
        put_text(out, "Connection: Upgrade\r\nUpgrade: websocket\r\n");
    else if (last)
        put_text(out, "Connection: close\r\n");
    put(out, "\r\n", 2);
}

/* The request is whole: what may come next. */
static void request_sent(struct http_guard *guard, bool websocket, bool last)
{
    guard->client_state = websocket ? CLIENT_SWITCH : last ? CLIENT_DONE : CLIENT_HEAD;
}

void http_guard_allow(struct http_guard *guard, struct buf *to_server)
{
    require(guard->client_state == CLIENT_WAITS && !guard->over);
    struct http_head *head = &guard->from_client;
    const struct http_guard_due due = {
        .head = strcmp(guard->method, "HEAD") == 0,
        .websocket = guard->request.websocket,
        .last = head->close || guard->one_request,
    };
    put_request(guard, due.last, to_server);
    guard->due[(guard->due_first + guard->due_count++) % HTTP_PIPELINE_MAX] = due;

    http_body_init(&guard->upload, http_request_framing(head), head->length);
    guard->upload_due = due;
    http_head_reset(head);
    guard->request = (struct http_guard_request){0};
    guard->client_state = CLIENT_BODY;
    if (guard->upload.done)
        request_sent(guard, due.websocket, due.last);
}

enum http_guard_result http_guard_refuse(struct http_guard *guard, const char *json, struct buf *to_client)
{
    require(guard->client_state == CLIENT_WAITS && !guard->over);
    return refuse(guard, GUARD_HTTP_POLICY, json, to_client);
}

/* Reads on in a head. */
static enum http_guard_result client_head(struct http_guard *guard, const uint8_t *data, size_t len,
                                          size_t *ret_used, struct buf *to_client)
{
    *ret_used = 0;
    int whole = http_head_feed(&guard->from_client, data, len, ret_used);
    if (whole == 0)
        return HTTP_GUARD_MORE;
    enum guard_reason reason = whole < 0 ? guard->from_client.reason : check_request(guard);
    if (reason != GUARD_OK)
        return refuse(guard, reason, NULL, to_client);
    guard->client_state = CLIENT_WAITS;
    return HTTP_GUARD_REQUEST;
}

enum http_guard_result http_guard_client(struct http_guard *guard, const void *data, size_t len,
                                         size_t *ret_used, struct buf *to_server, struct buf *to_client)
{
    const uint8_t *bytes = data;
    size_t used = 0, n = 0;
    *ret_used = 0;
    while (!guard->over && used < len) {
        enum http_guard_result result;
        switch ((enum client_state)guard->client_state) {
        case CLIENT_HEAD:
            if (guard->due_count == HTTP_PIPELINE_MAX)
                return HTTP_GUARD_HELD;
            result = client_head(guard, bytes + used, len - used, &n, to_client);
            used += n;
            *ret_used = used;
            if (result != HTTP_GUARD_MORE)
                return result;
            break;
        case CLIENT_BODY:
            if (http_body_feed(&guard->upload, bytes + used, len - used, &n, to_server) < 0)
                return break_off(guard, to_client);
            used += n;
            *ret_used = used;
            if (guard->upload.done)
                request_sent(guard, guard->upload_due.websocket, guard->upload_due.last);
            break;
        case CLIENT_WAITS:
        case CLIENT_SWITCH:
            return HTTP_GUARD_HELD;
        case CLIENT_RAW:
            put(to_server, bytes + used, len - used);
            *ret_used = len;
            return HTTP_GUARD_MORE;
        case CLIENT_DONE:
            *ret_used = len;
            return HTTP_GUARD_MORE;
        }
    }
    return guard->over ? HTTP_GUARD_OVER : HTTP_GUARD_MORE;
}

/* The head of a response goes on as it came, but for what concerns the connection. */
static void put_response(const struct http_guard *guard, bool last, struct buf *out)
{
    const struct http_head *head = &guard->from_server;
    if (guard->on_response && (head->status >= 200 || head->status == 101))
        guard->on_response(head->status, guard->user);
    const char *line = (const char *)buf_data(&head->bytes);
    put(out, line, (size_t)(strchr(line, '\n') - line) + 1);
    put_fields(head, out);
    if (head->status >= 200)
        put_framing(head, out);
    if (head->status == 101)
        put_text(out, "Connection: Upgrade\r\nUpgrade: websocket\r\n");
    else if (last)
        put_text(out, "Connection: close\r\n");
    put(out, "\r\n", 2);
}

/* What the server sends cannot be passed on. */
static enum http_guard_result bad_response(struct http_guard *guard, enum guard_reason reason,
                                           struct buf *to_client)
{
    if (guard->due_count > 0)
        guard_refusal(to_client, reason, NULL, first_due(guard)->head);
    return end(guard, reason);
}

static enum http_guard_result response_done(struct http_guard *guard, struct buf *to_client)
{
    guard->due_first = (guard->due_first + 1) % HTTP_PIPELINE_MAX;
    guard->due_count--;
    guard->interim = 0;
    guard->server_state = SERVER_HEAD;
    if (guard->download_last)
        return end(guard, GUARD_OK);
    if (guard->due_count == 0 && guard->refused) {
        guard_refusal(to_client, guard->reason, guard->refusal, guard->refusal_head);
        return end(guard, guard->reason);
    }
    if (guard->due_count == 0 && guard->client_state == CLIENT_SWITCH)
        guard->client_state = CLIENT_HEAD; /* it did not switch */
    return HTTP_GUARD_MORE;
}

/* 1xx: before the response, or instead of it when the protocol is switched. */
static enum http_guard_result interim(struct http_guard *guard, struct buf *to_client)
{
    struct http_head *head = &guard->from_server;
    bool raw = head->status == 101;
    if (raw &&
        (!first_due(guard)->websocket || guard->due_count != 1 || !http_is(head->upgrade, "websocket")))
        return bad_response(guard, GUARD_HTTP_SWITCH, to_client);
    if (++guard->interim > HTTP_INTERIM_MAX)
        return bad_response(guard, GUARD_HTTP_RESPONSE, to_client);
    put_response(guard, false, to_client);
    http_head_reset(head);
    if (raw) {
        guard->client_state = CLIENT_RAW;
        guard->server_state = SERVER_RAW;
    }
    return HTTP_GUARD_MORE;
}

static enum http_guard_result server_head(struct http_guard *guard, const uint8_t *data, size_t len,
                                          size_t *ret_used, struct buf *to_client)
{
    struct http_head *head = &guard->from_server;
    *ret_used = 0;
    if (guard->due_count == 0)
        return bad_response(guard, GUARD_HTTP_UNASKED, to_client);
    int whole = http_head_feed(head, data, len, ret_used);
    if (whole < 0)
        return bad_response(guard, GUARD_HTTP_RESPONSE, to_client);
    if (whole == 0)
        return HTTP_GUARD_MORE;
    if (head->status < 200)
        return interim(guard, to_client);

    enum http_framing framing = http_response_framing(head, first_due(guard)->head);
    guard->download_last = first_due(guard)->last || head->close || framing == HTTP_UNTIL_CLOSE;
    put_response(guard, guard->download_last, to_client);
    http_body_init(&guard->download, framing, head->length);
    http_head_reset(head);
    guard->server_state = SERVER_BODY;
    return guard->download.done ? response_done(guard, to_client) : HTTP_GUARD_MORE;
}

enum http_guard_result http_guard_server(struct http_guard *guard, const void *data, size_t len,
                                         struct buf *to_client)
{
    const uint8_t *bytes = data;
    size_t used = 0, n = 0;
    enum http_guard_result result = guard->over ? HTTP_GUARD_OVER : HTTP_GUARD_MORE;
    while (result == HTTP_GUARD_MORE && used < len) {
        if (guard->server_state == SERVER_RAW) {
            put(to_client, bytes + used, len - used);
            break;
        }
        if (guard->server_state == SERVER_HEAD) {
            result = server_head(guard, bytes + used, len - used, &n, to_client);
        } else if (http_body_feed(&guard->download, bytes + used, len - used, &n, to_client) < 0) {
            result = end(guard, GUARD_HTTP_RESPONSE);
        } else if (guard->download.done) {
            result = response_done(guard, to_client);
        }
        used += n;
    }
    return result;
}

enum http_guard_result http_guard_client_end(struct http_guard *guard)
{
    if (guard->over)
        return HTTP_GUARD_OVER;
    if (guard->client_state == CLIENT_BODY ||
        (guard->client_state == CLIENT_HEAD && http_head_begun(&guard->from_client)))
        return end(guard, GUARD_HTTP_TRUNCATED);
    return HTTP_GUARD_MORE;
}

enum http_guard_result http_guard_server_end(struct http_guard *guard)
{
    bool whole = guard->server_state == SERVER_BODY ? http_body_end(&guard->download)
                                                    : guard->due_count == 0 || http_guard_is_raw(guard);
    return end(guard, whole ? GUARD_OK : GUARD_HTTP_RESPONSE);
}
