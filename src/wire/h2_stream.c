#include "wire/h2_internal.h"

#include "base/alloc.h"

#include <stdio.h>
#include <string.h>

#define FIELDS_OUT_MAX 32 /* fields of a message that we send, pseudo fields included */

struct h2_stream *h2_stream_create(struct h2_session *session, int32_t id)
{
    struct h2_stream *stream = xnew(struct h2_stream);
    stream->session = session;
    stream->id = id;
    buf_init(&stream->out, 0);
    stream->next = session->streams;
    if (stream->next)
        stream->next->previous = stream;
    session->streams = stream;
    session->stream_count++;
    return stream;
}

/* Gives back the connection's window in small steps. The library alone would wait until half of it is free,
 * which never comes when slow streams hold the other half: then all streams would stand still. What it has
 * received and not yet given back, less what our streams still hold, may go. */
static int credit_connection(struct h2_session *session)
{
    int32_t received = nghttp2_session_get_effective_recv_data_length(session->lib);
    int64_t free_now = (int64_t)received - (int64_t)session->unconsumed;
    if (free_now < H2_CREDIT_STEP)
        return 0;
    return nghttp2_submit_window_update(session->lib, NGHTTP2_FLAG_NONE, 0, (int32_t)free_now);
}

/* n bytes of a stream are no longer held. */
static void give_back(struct h2_stream *stream, size_t n)
{
    struct h2_session *session = stream->session;
    stream->unconsumed -= n;
    session->unconsumed -= n;
    if (session->dead)
        return;
    h2_enter(session);
    int rc = nghttp2_session_consume_connection(session->lib, n);
    if (rc == 0 && !stream->closed)
        rc = nghttp2_session_consume_stream(session->lib, stream->id, n);
    if (rc == 0)
        rc = credit_connection(session);
    if (rc != 0)
        h2_session_doom(session, H2_INTERNAL_ERROR, ERROR_NO_MEMORY, "HTTP/2: %s", nghttp2_strerror(rc));
    h2_leave(session);
}

void h2_stream_received(struct h2_stream *stream, size_t n)
{
    stream->unconsumed += n;
    stream->session->unconsumed += n;
}

void h2_stream_close(struct h2_stream *stream, uint32_t code)
{
    struct h2_session *session = stream->session;
    if (session->drained == stream)
        session->drained = NULL;
    if (stream->previous)
        stream->previous->next = stream->next;
    else
        session->streams = stream->next;
    if (stream->next)
        stream->next->previous = stream->previous;
    session->stream_count--;

    stream->closed = true;
    h2_enter(session);
    /* What nobody will take any more must not narrow the connection's window for the others. */
    give_back(stream, stream->unconsumed);
    if (stream->ops && stream->ops->on_close)
        stream->ops->on_close(stream, code, stream->user);
    h2_leave(session);

    h2_head_builder_free(stream->builder);
    buf_finish(&stream->out);
    free(stream);
}

/* Whether calls on the stream can still have an effect. */
static bool is_live(const struct h2_stream *stream)
{
    return !stream->closed && !stream->reset && !stream->session->dead;
}

void h2_stream_set_ops(struct h2_stream *stream, const struct h2_stream_ops *ops, void *user)
{
    stream->ops = ops;
    stream->user = user;
}

void *h2_stream_user(struct h2_stream *stream)
{
    return stream->user;
}

struct h2_session *h2_stream_session(struct h2_stream *stream)
{
    return stream->session;
}

int32_t h2_stream_id(const struct h2_stream *stream)
{
    return stream->id;
}

/* A list of fields for the library, which copies them. */
struct field_list {
    nghttp2_nv nv[FIELDS_OUT_MAX];
    size_t count;
};

static void add_field(struct field_list *list, const char *name, const char *value)
{
    require(list->count < FIELDS_OUT_MAX);
    list->nv[list->count++] = (nghttp2_nv){
        .name = (uint8_t *)name,
        .value = (uint8_t *)value,
        .namelen = strlen(name),
        .valuelen = strlen(value),
    };
}

static int check_value(const char *what, const char *value, struct error **err)
{
    for (const char *p = value; *p; p++)
        if ((unsigned char)*p <= 0x20 || (unsigned char)*p >= 0x7f)
            return error_set(err, ERROR_INVALID,
                             "HTTP/2: the %s of a request has a byte that must be encoded", what);
    if (strlen(value) > H2_HEADER_LIST_MAX / 2)
        return error_set(err, ERROR_INVALID, "HTTP/2: the %s of a request is longer than %d bytes", what,
                         H2_HEADER_LIST_MAX / 2);
    return 0;
}

struct h2_stream *h2_request(struct h2_session *session, const char *method, const char *path,
                             const char *authority, const struct h2_field *fields, size_t field_count,
                             bool body, const struct h2_stream_ops *ops, void *user, struct error **err)
{
    require(session->role == H2_CLIENT);
    bool connect = strcmp(method, "CONNECT") == 0;
    require(connect ? authority != NULL : path != NULL);
    if (!authority)
        authority = "hutch";
    if (check_value("authority", authority, err) < 0 || (!connect && check_value("path", path, err) < 0))
        return NULL;
    if (session->dead || !nghttp2_session_check_request_allowed(session->lib)) {
        error_set(err, ERROR_NETWORK, "HTTP/2: the connection is over");
        return NULL;
    }
    if (session->stream_count >= H2_STREAMS_MAX) {
        error_set(err, ERROR_LIMIT, "HTTP/2: %d streams are open already", H2_STREAMS_MAX);
        return NULL;
    }

    struct field_list list = {.count = 0};
    add_field(&list, ":method", method);
    if (!connect) {
        add_field(&list, ":scheme", "http");
        add_field(&list, ":path", path);
    }
    add_field(&list, ":authority", authority);
    for (size_t i = 0; i < field_count; i++)
        add_field(&list, fields[i].name, fields[i].value);

    struct h2_stream *stream = h2_stream_create(session, -1);
    stream->connect = connect;
    stream->local_end = !body;
    nghttp2_data_provider provider = h2_data_provider();
    h2_enter(session);
    int32_t id =
        nghttp2_submit_request(session->lib, NULL, list.nv, list.count, body ? &provider : NULL, stream);
    if (id < 0) {
        h2_stream_close(stream, H2_INTERNAL_ERROR); /* no ops yet: silent */
        h2_leave(session);
        error_set(err, id == NGHTTP2_ERR_NOMEM ? ERROR_NO_MEMORY : ERROR_NETWORK, "HTTP/2: no new stream: %s",
                  nghttp2_strerror(id));
        return NULL;
    }
    stream->id = id;
    h2_stream_set_ops(stream, ops, user);
    h2_leave(session);
    return stream;
}

int h2_respond(struct h2_stream *stream, int status, const struct h2_field *fields, size_t field_count,
               bool body, struct error **err)
{
    struct h2_session *session = stream->session;
    require(session->role == H2_SERVER && status >= 200 && status <= 599);
    if (!is_live(stream) || stream->answered)
        return error_set(err, ERROR_STATE, "HTTP/2: stream %d is gone or was answered", stream->id);

    char number[8];
    snprintf(number, sizeof(number), "%d", status);
    struct field_list list = {.count = 0};
    add_field(&list, ":status", number);
    for (size_t i = 0; i < field_count; i++)
        add_field(&list, fields[i].name, fields[i].value);

    stream->answered = true;
    stream->local_end |= !body;
    nghttp2_data_provider provider = h2_data_provider();
    h2_enter(session);
    int rc = nghttp2_submit_response(session->lib, stream->id, list.nv, list.count, body ? &provider : NULL);
    if (rc != 0)
        h2_session_doom(session, H2_INTERNAL_ERROR, ERROR_NO_MEMORY, "HTTP/2: %s", nghttp2_strerror(rc));
    h2_leave(session);
    return rc == 0 ? 0 : error_set(err, ERROR_NO_MEMORY, "HTTP/2: %s", nghttp2_strerror(rc));
}

/* Lets the library ask for data again. */
static void resume(struct h2_stream *stream)
{
    struct h2_session *session = stream->session;
    h2_enter(session);
    int rc = nghttp2_session_resume_data(session->lib, stream->id);
    if (rc == NGHTTP2_ERR_NOMEM)
        h2_session_doom(session, H2_INTERNAL_ERROR, ERROR_NO_MEMORY, "HTTP/2: no memory");
    h2_leave(session);
}

size_t h2_stream_write(struct h2_stream *stream, const void *data, size_t len)
{
    if (!is_live(stream) || stream->local_end)
        return 0;
    size_t room = stream->out.len < H2_OUT_MAX ? H2_OUT_MAX - stream->out.len : 0;
    size_t n = len < room ? len : room;
    if (n < len)
        stream->short_write = true;
    if (n > 0)
        h2_stream_write_whole(stream, data, n);
    return n;
}

void h2_stream_write_whole(struct h2_stream *stream, const void *data, size_t len)
{
    if (!is_live(stream) || stream->local_end)
        return;
    bool was_empty = stream->out.len == 0;
    require(buf_append(&stream->out, data, len, NULL) == 0);
    if (was_empty && len > 0)
        resume(stream);
}

void h2_stream_want_writable(struct h2_stream *stream)
{
    stream->short_write = true;
}

void h2_stream_answer_is_whole(struct h2_stream *stream)
{
    stream->whole_answer = true;
}

size_t h2_stream_queued(const struct h2_stream *stream)
{
    return stream->out.len;
}

void h2_stream_end(struct h2_stream *stream)
{
    if (!is_live(stream) || stream->local_end)
        return;
    stream->local_end = true;
    if (stream->out.len == 0)
        resume(stream);
}

void h2_stream_reset(struct h2_stream *stream, uint32_t code)
{
    struct h2_session *session = stream->session;
    if (!is_live(stream))
        return;
    stream->reset = true;
    buf_finish(&stream->out);
    h2_enter(session);
    if (nghttp2_submit_rst_stream(session->lib, NGHTTP2_FLAG_NONE, stream->id, code) != 0)
        h2_session_doom(session, H2_INTERNAL_ERROR, ERROR_NO_MEMORY, "HTTP/2: no memory");
    h2_leave(session);
}

void h2_stream_consumed(struct h2_stream *stream, size_t n)
{
    if (stream->closed || n == 0)
        return;
    require(n <= stream->unconsumed);
    give_back(stream, n);
}

bool h2_stream_remote_ended(const struct h2_stream *stream)
{
    return stream->remote_ended;
}

bool h2_stream_local_ended(const struct h2_stream *stream)
{
    return stream->local_end;
}

bool h2_stream_takes(const struct h2_stream *stream)
{
    return is_live(stream) && !stream->local_end;
}
