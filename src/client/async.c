#include "client/async.h"

#include "base/alloc.h"
#include "base/words.h"

#include <string.h>

struct async {
    struct client *client;
    struct h2_stream *stream; /* NULL once it is closed */
    enum async_kind kind;
    void (*on_ready)(struct async *async, void *user);
    void *user;
    int status;
    uint64_t offset;
    struct buf in;  /* of the answer, not yet taken */
    size_t scanned; /* bytes of it that have no newline */
    struct buf out; /* of the body, not yet in the stream */
    bool ended;
    json_t *body;
    struct error *err;
};

/* What may still arrive on a stream that nobody wants. */
static void drop_data(struct h2_stream *stream, const uint8_t *data, size_t len, void *user)
{
    h2_stream_consumed(stream, len);
}
static const struct h2_stream_ops abandoned = {.on_data = drop_data};

static void leave_stream(struct async *async)
{
    if (!async->stream)
        return;
    struct h2_stream *stream = steal(&async->stream);
    h2_stream_set_ops(stream, &abandoned, NULL);
    h2_stream_reset(stream, H2_CANCEL);
}

/* The pieces of the answer are handed out one by one; an error is always one object. */
static bool in_pieces(const struct async *async)
{
    return async->kind != ASYNC_WHOLE && async->status / 100 == 2;
}

/* The end, with the error if *err is set. */
static void finish(struct async *async, struct error *err)
{
    async->ended = true;
    if (async->err)
        error_free(err);
    else
        async->err = err;
    leave_stream(async);
    async->on_ready(async, async->user);
}

static void on_head(struct h2_stream *stream, const struct h2_head *head, void *user)
{
    struct async *async = user;
    const char *offset = h2_head_field(head, "hutch-offset");
    async->status = head->status;
    if (offset)
        async->offset = strtoull(offset, NULL, 10);
}

static void on_data(struct h2_stream *stream, const uint8_t *data, size_t len, void *user)
{
    struct async *async = user;
    struct error *err = NULL;
    bool pieces = in_pieces(async);
    if (!pieces)
        h2_stream_consumed(stream, len);
    if (!pieces && async->in.len + len > JSON_BODY_MAX) {
        error_set(&err, ERROR_PROTOCOL, _("the answer is longer than %d bytes"), JSON_BODY_MAX);
        finish(async, err);
        return;
    }
    require(buf_append(&async->in, data, len, NULL) == 0);
    if (pieces)
        async->on_ready(async, async->user);
}

/* A whole answer, or an error in place of pieces. */
static struct error *read_body(struct async *async)
{
    struct error *err = NULL;
    if (async->in.len > 0)
        async->body = json_parse((const char *)buf_data(&async->in), async->in.len, &err);
    buf_consume(&async->in, async->in.len);
    if (async->body)
        json_to_error(async->body, &err);
    if (async->status / 100 != 2 && !(err && async->body)) {
        error_free(err);
        err = NULL;
        error_set(&err, ERROR_PROTOCOL, _("the answer was status %d without a reason"), async->status);
    }
    return err;
}

static void on_end(struct h2_stream *stream, void *user)
{
    struct async *async = user;
    finish(async, in_pieces(async) ? NULL : read_body(async));
}

static void on_close(struct h2_stream *stream, uint32_t code, void *user)
{
    struct async *async = user;
    struct error *err = NULL;
    async->stream = NULL;
    if (async->client->lost)
        client_lost_error(async->client, &err);
    else
        error_set(&err, ERROR_IO, _("the answer was cut in the middle"));
    finish(async, err);
}

static void push(struct async *async)
{
    size_t n = h2_stream_write(async->stream, buf_data(&async->out), async->out.len);
    buf_consume(&async->out, n);
}

static void on_writable(struct h2_stream *stream, void *user)
{
    push(user);
}

static const struct h2_stream_ops async_ops = {
    .on_head = on_head,
    .on_data = on_data,
    .on_end = on_end,
    .on_writable = on_writable,
    .on_close = on_close,
};

int async_start(struct client *client, const struct async_options *options, void *user,
                struct async **ret_async, struct error **err)
{
    static const struct h2_field json_type[] = {{"content-type", "application/json"}};
    static const struct h2_field bytes_type[] = {{"content-type", "application/octet-stream"}};
    if (client->lost)
        return client_lost_error(client, err);
    auto(async) struct async *async = xnew(struct async);
    async->client = client;
    async->kind = options->kind;
    async->on_ready = options->on_ready;
    async->user = user;
    bool has_body = options->body || options->upload || options->bytes;
    async->stream = h2_request(link_session(client->link), options->method, options->path, "hutch",
                               options->upload || options->bytes ? bytes_type : json_type, has_body, has_body,
                               &async_ops, async, err);
    if (!async->stream)
        return err && *err ? -(int)(*err)->code : -ERROR_IO;
    if (options->body || options->bytes) {
        autofree char *text = options->body ? json_text(options->body) : NULL;
        size_t len = text ? strlen(text) : options->len;
        if (len > H2_OUT_MAX)
            return error_set(err, ERROR_LIMIT, _("a request of %zu bytes is too long"), len);
        h2_stream_write(async->stream, text ? text : options->bytes, len);
        h2_stream_end(async->stream);
    }
    *ret_async = steal(&async);
    return 0;
}

void async_free(struct async *async)
{
    if (!async)
        return;
    leave_stream(async);
    buf_finish(&async->in);
    buf_finish(&async->out);
    json_decref(async->body);
    error_free(async->err);
    free(async);
}

void async_taken(struct async *async, size_t n)
{
    buf_consume(&async->in, n);
    async->offset += n;
    if (async->stream)
        h2_stream_consumed(async->stream, n);
}

/* The length of the next line without its end, or -1. */
static ssize_t next_line(struct async *async)
{
    const char *text = (const char *)buf_data(&async->in);
    size_t len = async->in.len;
    const char *end = len > async->scanned ? memchr(text + async->scanned, '\n', len - async->scanned) : NULL;
    async->scanned = end ? 0 : len;
    if (end)
        return end - text;
    /* The last one may lack its newline; a longer one than may be is given to be refused. */
    return (async->ended && len > 0) || len > JSON_LINE_MAX ? (ssize_t)len : -1;
}

int async_line(struct async *async, json_t **ret_line)
{
    for (;;) {
        ssize_t len = in_pieces(async) ? next_line(async) : -1;
        if (len < 0)
            return 0;
        struct error *err = NULL;
        json_t *line = NULL;
        if (len > JSON_LINE_MAX)
            error_set(&err, ERROR_PROTOCOL, _("a line of the answer is longer than %d bytes"), JSON_LINE_MAX);
        else if (len > 0)
            line = json_parse((const char *)buf_data(&async->in), (size_t)len, &err);
        async->scanned = 0;
        async_taken(async, (size_t)len < async->in.len ? (size_t)len + 1 : (size_t)len);
        if (err) {
            buf_consume(&async->in, async->in.len);
            int code = -(int)err->code;
            finish(async, err);
            return code;
        }
        if (line) {
            *ret_line = line;
            return 1;
        }
    }
}

size_t async_bytes(const struct async *async, const uint8_t **ret_bytes)
{
    *ret_bytes = buf_data(&async->in);
    return in_pieces(async) ? async->in.len : 0;
}

uint64_t async_offset(const struct async *async)
{
    return async->offset;
}

bool async_over(const struct async *async)
{
    return async->ended && (async->in.len == 0 || !in_pieces(async));
}

int async_result(const struct async *async, json_t **ret_body, const struct error **ret_error)
{
    *ret_body = async->err ? NULL : async->body;
    *ret_error = async->err;
    return async->err ? -(int)async->err->code : 0;
}

size_t async_waiting(const struct async *async)
{
    return async->out.len + (async->stream ? h2_stream_queued(async->stream) : 0);
}

int async_write(struct async *async, const void *bytes, size_t len, struct error **err)
{
    if (!async->stream)
        return 0; /* its end is the answer */
    if (async->out.len > ASYNC_QUEUE_MAX)
        return error_set(err, ERROR_LIMIT, _("%zu bytes wait already"), async->out.len);
    require(buf_append(&async->out, bytes, len, NULL) == 0);
    push(async);
    return 0;
}
