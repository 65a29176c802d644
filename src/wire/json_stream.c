#include "wire/json.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "wire/h2_internal.h"

#include <string.h>

#define WRITER_MAX (1024 * 1024)

/* ---- collecting a request body ---- */

struct collector {
    struct buf body;
    json_body_fn done;
    void *user;
};

/* Frees the collector and tells the owner: exactly once. */
static void collect_done(struct h2_stream *stream, struct collector *collector, json_t *body,
                         const struct error *err)
{
    json_body_fn done = collector->done;
    void *user = collector->user;
    h2_stream_set_ops(stream, NULL, NULL);
    buf_finish(&collector->body);
    free(collector);
    done(stream, body, err, user);
}

static void collect_data(struct h2_stream *stream, const uint8_t *data, size_t len, void *user)
{
    struct collector *collector = user;
    h2_stream_consumed(stream, len);
    if (buf_append(&collector->body, data, len, NULL) == 0)
        return;
    auto(error) struct error *err = NULL;
    error_set(&err, ERROR_LIMIT, "the request's body is longer than %d bytes", JSON_BODY_MAX);
    collect_done(stream, collector, NULL, err);
}

static void collect_end(struct h2_stream *stream, void *user)
{
    struct collector *collector = user;
    auto(json) json_t *body = NULL;
    auto(error) struct error *err = NULL;
    if (collector->body.len > 0)
        body = json_parse((const char *)buf_data(&collector->body), collector->body.len, &err);
    collect_done(stream, collector, body, err);
}

static void collect_close(struct h2_stream *stream, uint32_t code, void *user)
{
    auto(error) struct error *err = NULL;
    error_set(&err, ERROR_CANCELLED, "the request was cut before its body had ended");
    collect_done(stream, user, NULL, err);
}

int json_collect(struct h2_stream *stream, const struct h2_head *head, json_body_fn done, void *user,
                 struct error **err)
{
    static const struct h2_stream_ops ops = {
        .on_data = collect_data,
        .on_end = collect_end,
        .on_close = collect_close,
    };
    const char *length = h2_head_field(head, "content-length");
    if (length && strtoull(length, NULL, 10) > JSON_BODY_MAX)
        return error_set(err, ERROR_LIMIT, "the request's body is longer than %d bytes", JSON_BODY_MAX);

    struct collector *collector = xnew(struct collector);
    buf_init(&collector->body, JSON_BODY_MAX);
    collector->done = done;
    collector->user = user;
    h2_stream_set_ops(stream, &ops, collector);
    if (head->end)
        collect_end(stream, collector);
    return 0;
}

/* ---- answers ---- */

void json_reply(struct h2_stream *stream, int status, json_t *body)
{
    static const struct h2_field json_type[] = {{"content-type", "application/json"}};
    h2_stream_answer_is_whole(stream);
    if (!body) {
        h2_respond(stream, status, NULL, 0, false, NULL);
        return;
    }
    if (h2_respond(stream, status, json_type, countof(json_type), true, NULL) < 0)
        return;
    autofree char *text = json_text(body);
    h2_stream_write_whole(stream, text, strlen(text));
    h2_stream_write_whole(stream, "\n", 1);
    h2_stream_end(stream);
}

void json_reply_error(struct h2_stream *stream, const struct error *error)
{
    auto(json) json_t *body = json_from_error(error);
    json_reply(stream, error_code_http(error->code), body);
}

/* ---- lines ---- */

struct json_writer {
    struct h2_stream *stream; /* NULL: the client went away */
    void (*on_gone)(struct json_writer *writer, void *user);
    void (*on_drained)(struct json_writer *writer, void *user);
    void *user;
};

static void writer_writable(struct h2_stream *stream, void *user)
{
    struct json_writer *writer = user;
    if (writer->on_drained)
        writer->on_drained(writer, writer->user);
}

static void writer_close(struct h2_stream *stream, uint32_t code, void *user)
{
    struct json_writer *writer = user;
    writer->stream = NULL;
    if (writer->on_gone)
        writer->on_gone(writer, writer->user);
}

struct json_writer *json_writer_create(struct h2_stream *stream,
                                       void (*on_gone)(struct json_writer *writer, void *user), void *user)
{
    static const struct h2_field lines_type[] = {{"content-type", "application/x-ndjson"}};
    static const struct h2_stream_ops ops = {.on_writable = writer_writable, .on_close = writer_close};
    struct json_writer *writer = xnew(struct json_writer);
    writer->stream = stream;
    writer->on_gone = on_gone;
    writer->user = user;
    h2_stream_answer_is_whole(stream);
    h2_stream_set_ops(stream, &ops, writer);
    h2_respond(stream, 200, lines_type, countof(lines_type), true, NULL);
    return writer;
}

bool json_writer_line(struct json_writer *writer, const json_t *value)
{
    if (!writer->stream)
        return true; /* on_gone has said it */
    autofree char *text = json_text(value);
    size_t len = strlen(text);
    if (h2_stream_queued(writer->stream) + len + 1 > WRITER_MAX) {
        h2_stream_want_writable(writer->stream);
        return false;
    }
    h2_stream_write_whole(writer->stream, text, len);
    h2_stream_write_whole(writer->stream, "\n", 1);
    return true;
}

void json_writer_end(struct json_writer *writer)
{
    if (writer->stream) {
        h2_stream_set_ops(writer->stream, NULL, NULL);
        h2_stream_end(writer->stream);
    }
    free(writer);
}

void json_writer_on_drained(struct json_writer *writer, void (*fn)(struct json_writer *writer, void *user))
{
    writer->on_drained = fn;
}
