#include "wire/json.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "wire/h2_internal.h"

#include <string.h>

/* One call of a client. */
struct call {
    struct buf in;  /* the answer, or the line under way */
    size_t scanned; /* bytes of it that have no newline */
    json_line_fn line;
    json_answer_fn done;
    void *user;
    int status;
};

/* Ends the call: exactly once. */
static void call_done(struct h2_stream *stream, struct call *call, json_t *body, const struct error *err)
{
    struct call last = *call;
    if (stream)
        h2_stream_set_ops(stream, NULL, NULL);
    free(call);
    last.done(last.status, body, err, last.user);
    buf_finish(&last.in);
}

/* Gives up on an answer that is not acceptable. */
static void call_fail(struct h2_stream *stream, struct call *call, const struct error *err)
{
    h2_stream_reset(stream, H2_CANCEL);
    call_done(stream, call, NULL, err);
}

static void call_head(struct h2_stream *stream, const struct h2_head *head, void *user)
{
    struct call *call = user;
    call->status = head->status;
    if (head->status >= 300)
        call->line = NULL; /* an error is one object */
    call->in.limit = call->line ? 0 : JSON_BODY_MAX;
}

/* Hands out one line. False: it is no JSON and the call has failed. */
static bool give_line(struct h2_stream *stream, struct call *call, const char *text, size_t len)
{
    auto(error) struct error *err = NULL;
    if (len > JSON_LINE_MAX)
        error_set(&err, ERROR_PROTOCOL, "a line of the answer is longer than %d bytes", JSON_LINE_MAX);
    auto(json) json_t *value = err ? NULL : json_parse(text, len, &err);
    if (!value) {
        call_fail(stream, call, err);
        return false;
    }
    call->line(value, call->user);
    return true;
}

/* Hands out the complete lines of what has arrived. False: the call has failed. */
static bool give_lines(struct h2_stream *stream, struct call *call)
{
    for (;;) {
        const char *text = (const char *)buf_data(&call->in);
        size_t len = call->in.len;
        const char *end =
            len > call->scanned ? memchr(text + call->scanned, '\n', len - call->scanned) : NULL;
        if (!end) {
            call->scanned = len;
            if (len <= JSON_LINE_MAX)
                return true;
            return give_line(stream, call, text, len); /* too long: says so */
        }
        size_t line_len = (size_t)(end - text);
        /* The line is taken out before it is shown: its reader may come back to this stream. */
        autofree char *line = xmemdup(text, line_len + 1);
        buf_consume(&call->in, line_len + 1);
        call->scanned = 0;
        if (line_len > 0 && !give_line(stream, call, line, line_len))
            return false;
    }
}

static void call_data(struct h2_stream *stream, const uint8_t *data, size_t len, void *user)
{
    struct call *call = user;
    h2_stream_consumed(stream, len);
    if (buf_append(&call->in, data, len, NULL) < 0) {
        auto(error) struct error *err = NULL;
        error_set(&err, ERROR_PROTOCOL, "the answer is longer than %d bytes", JSON_BODY_MAX);
        call_fail(stream, call, err);
        return;
    }
    if (call->line)
        give_lines(stream, call);
}

/* The whole answer is there. */
static void finish_body(struct h2_stream *stream, struct call *call)
{
    auto(error) struct error *err = NULL;
    auto(json) json_t *body = NULL;
    if (call->in.len > 0)
        body = json_parse((const char *)buf_data(&call->in), call->in.len, &err);
    if (body)
        json_to_error(body, &err);
    if (call->status >= 300 && (!err || !body)) {
        error_free(err);
        err = NULL;
        error_set(&err, ERROR_PROTOCOL, "the answer was status %d without a reason", call->status);
    }
    call_done(stream, call, err ? NULL : body, err);
}

static void call_end(struct h2_stream *stream, void *user)
{
    struct call *call = user;
    if (!call->line) {
        finish_body(stream, call);
        return;
    }
    /* The last line may lack its newline. */
    if (call->in.len > 0) {
        autofree char *line = xmemdup(buf_data(&call->in), call->in.len);
        if (!give_line(stream, call, line, call->in.len))
            return;
    }
    call_done(stream, call, NULL, NULL);
}

static void call_close(struct h2_stream *stream, uint32_t code, void *user)
{
    auto(error) struct error *err = NULL;
    error_set(&err, ERROR_CANCELLED, "the connection was cut before the answer was complete (%s)",
              nghttp2_http2_strerror(code));
    call_done(stream, user, NULL, err);
}

int json_call_lines(struct h2_session *session, const char *method, const char *path, const json_t *body,
                    json_line_fn line, json_answer_fn done, void *user, struct error **err)
{
    static const struct h2_stream_ops ops = {
        .on_head = call_head,
        .on_data = call_data,
        .on_end = call_end,
        .on_close = call_close,
    };
    static const struct h2_field json_type[] = {{"content-type", "application/json"}};
    struct call *call = xnew(struct call);
    buf_init(&call->in, JSON_BODY_MAX);
    call->line = line;
    call->done = done;
    call->user = user;
    struct h2_stream *stream =
        h2_request(session, method, path, NULL, json_type, body ? 1 : 0, body != NULL, &ops, call, err);
    if (!stream) {
        free(call);
        return err && *err ? -(int)(*err)->code : -ERROR_NETWORK;
    }
    if (body) {
        autofree char *text = json_text(body);
        h2_stream_write_whole(stream, text, strlen(text));
        h2_stream_end(stream);
    }
    return 0;
}

int json_call(struct h2_session *session, const char *method, const char *path, const json_t *body,
              json_answer_fn done, void *user, struct error **err)
{
    return json_call_lines(session, method, path, body, NULL, done, user, err);
}
