#include "wire/h2_internal.h"

#include "base/alloc.h"
#include "base/units.h"

#include <string.h>

/* The stream of a frame, or NULL if it is closed or was never opened. */
static struct h2_stream *find_stream(nghttp2_session *lib, int32_t id)
{
    return nghttp2_session_get_stream_user_data(lib, id);
}

static uint64_t now_ms(const struct h2_session *session)
{
    if (session->options.now_ms)
        return session->options.now_ms();
    return (uint64_t)(units_monotonic_ns() / 1000000);
}

/* One more stream that ended with an error, or was refused before it began. */
static int count_error(struct h2_session *session)
{
    if (session->options.trusted || !h2_limiter_hit(&session->limiter, now_ms(session)))
        return 0;
    return h2_session_doom(session, H2_ENHANCE_YOUR_CALM, ERROR_LIMIT,
                           "HTTP/2: %d streams ended with an error within %d s", H2_STREAM_ERRORS_MAX,
                           H2_STREAM_ERRORS_MS / 1000);
}

/* Resets on the peer's account: not marked as our own, so that its end counts. */
static int refuse(struct h2_session *session, int32_t id, uint32_t code)
{
    int rc = nghttp2_submit_rst_stream(session->lib, NGHTTP2_FLAG_NONE, id, code);
    return rc == 0 ? 0 : h2_session_doom(session, H2_INTERNAL_ERROR, ERROR_NO_MEMORY, "HTTP/2: no memory");
}

static int on_begin_headers(nghttp2_session *lib, const nghttp2_frame *frame, void *user)
{
    struct h2_session *session = user;
    struct h2_stream *stream = find_stream(lib, frame->hd.stream_id);

    if (session->role == H2_SERVER && frame->headers.cat == NGHTTP2_HCAT_REQUEST && !stream) {
        stream = h2_stream_create(session, frame->hd.stream_id);
        if (nghttp2_session_set_stream_user_data(lib, stream->id, stream) != 0) {
            h2_stream_close(stream, H2_INTERNAL_ERROR);
            return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
        }
        if (stream->id > session->last_stream)
            session->last_stream = stream->id;
        return 0;
    }
    if (!stream)
        return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    /* The library takes trailers on a tunnel, where they have no meaning. */
    if (stream->head_done && stream->connect)
        return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    return 0;
}

static int on_header(nghttp2_session *lib, const nghttp2_frame *frame, const uint8_t *name, size_t name_len,
                     const uint8_t *value, size_t value_len, uint8_t flags, void *user)
{
    struct h2_stream *stream = find_stream(lib, frame->hd.stream_id);
    if (!stream)
        return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    if (stream->head_done) /* trailers: decoded and dropped */
        return 0;
    if (memchr(name, 0, name_len) || memchr(value, 0, value_len) ||
        !h2_head_add(&stream->builder, name, name_len, value, value_len))
        return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    return 0;
}

/* The library would drop a malformed field and go on; RFC 9113 8.1.1 wants the message refused. */
static int on_invalid_header(nghttp2_session *lib, const nghttp2_frame *frame, const uint8_t *name,
                             size_t name_len, const uint8_t *value, size_t value_len, uint8_t flags,
                             void *user)
{
    return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
}

/* A complete request head: checked, then shown to the owner. */
static int dispatch_request(struct h2_session *session, struct h2_stream *stream, bool end)
{
    struct h2_field fields[H2_FIELDS_MAX];
    struct h2_head head;
    h2_head_fill(stream->builder, fields, &head);
    head.end = end;
    stream->head_done = true;
    stream->remote_ended = end;
    stream->connect = head.method && strcmp(head.method, "CONNECT") == 0;

    if (!h2_head_valid_request(&head, &session->options))
        return refuse(session, stream->id, H2_PROTOCOL_ERROR);
    if (session->ops.on_request)
        session->ops.on_request(session, stream, &head, session->user);
    h2_head_builder_free(stream->builder);
    stream->builder = NULL;
    if (!stream->ops && !stream->answered && !stream->reset)
        return refuse(session, stream->id, H2_REFUSED_STREAM);
    return 0;
}

/* A complete response head; interim ones are skipped. */
static int dispatch_response(struct h2_session *session, struct h2_stream *stream, bool end)
{
    struct h2_field fields[H2_FIELDS_MAX];
    struct h2_head head;
    struct h2_head_builder *builder = stream->builder;
    h2_head_fill(builder, fields, &head);
    head.end = end;
    stream->builder = NULL;

    int rc = 0;
    if (head.status < 100 || head.status > 599) {
        rc = refuse(session, stream->id, H2_PROTOCOL_ERROR);
    } else if (head.status >= 200) {
        stream->head_done = true;
        if (!stream->reset && stream->ops && stream->ops->on_head)
            stream->ops->on_head(stream, &head, stream->user);
    }
    h2_head_builder_free(builder);
    return rc;
}

/* END_STREAM arrived. */
static void remote_end(struct h2_stream *stream)
{
    stream->remote_ended = true;
    if (!stream->reset && stream->ops && stream->ops->on_end)
        stream->ops->on_end(stream, stream->user);
}

static int on_message_frame(struct h2_session *session, const nghttp2_frame *frame)
{
    struct h2_stream *stream = find_stream(session->lib, frame->hd.stream_id);
    if (!stream)
        return 0;
    bool end = (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0;
    int rc = 0;
    if (frame->hd.type == NGHTTP2_HEADERS && !stream->head_done) {
        rc = session->role == H2_SERVER ? dispatch_request(session, stream, end)
                                        : dispatch_response(session, stream, end);
        if (rc != 0)
            return rc;
        /* The owner learns the end after the head, and only if it still exists. */
        stream = find_stream(session->lib, frame->hd.stream_id);
    }
    if (stream && end)
        remote_end(stream);
    return rc;
}

static int on_frame_recv(nghttp2_session *lib, const nghttp2_frame *frame, void *user)
{
    struct h2_session *session = user;
    switch (frame->hd.type) {
    case NGHTTP2_HEADERS:
    case NGHTTP2_DATA:
        return on_message_frame(session, frame);
    case NGHTTP2_PING:
        if ((frame->hd.flags & NGHTTP2_FLAG_ACK) && session->ops.on_ping_ack)
            session->ops.on_ping_ack(session, session->user);
        return 0;
    case NGHTTP2_GOAWAY:
        session->peer_code = frame->goaway.error_code;
        if (session->ops.on_goaway)
            session->ops.on_goaway(session, frame->goaway.error_code, session->user);
        return 0;
    default:
        return 0;
    }
}

static int on_data_chunk(nghttp2_session *lib, uint8_t flags, int32_t id, const uint8_t *data, size_t len,
                         void *user)
{
    struct h2_session *session = user;
    struct h2_stream *stream = find_stream(lib, id);
    if (!stream)
        return nghttp2_session_consume_connection(lib, len) == 0
                   ? 0
                   : h2_session_doom(session, H2_INTERNAL_ERROR, ERROR_NO_MEMORY, "HTTP/2: no memory");
    h2_stream_received(stream, len);
    if (!stream->reset && stream->ops && stream->ops->on_data)
        stream->ops->on_data(stream, data, len, stream->user);
    else
        h2_stream_consumed(stream, len);
    return 0;
}

/* Frames of streams that never came to be (refused ones) or broke a rule: each costs us a RST_STREAM. Those
 * of a stream that we know are counted when it closes. */
static int on_invalid_frame(nghttp2_session *lib, const nghttp2_frame *frame, int code, void *user)
{
    return find_stream(lib, frame->hd.stream_id) ? 0 : count_error(user);
}

static int on_stream_close(nghttp2_session *lib, int32_t id, uint32_t code, void *user)
{
    struct h2_session *session = user;
    struct h2_stream *stream = find_stream(lib, id);
    if (!stream)
        return 0;
    bool counts = code != H2_NO_ERROR && !stream->reset;
    h2_stream_close(stream, code);
    return counts ? count_error(session) : 0;
}

static int on_frame_send(nghttp2_session *lib, const nghttp2_frame *frame, void *user)
{
    struct h2_session *session = user;
    if (frame->hd.type == NGHTTP2_GOAWAY && frame->goaway.error_code != H2_NO_ERROR && !session->doom) {
        /* The library itself ended the session; its GOAWAY is on the way out. */
        session->doom = frame->goaway.error_code + 1;
        error_set(&session->reason, ERROR_PROTOCOL, "HTTP/2: the peer broke the protocol (%s)",
                  nghttp2_http2_strerror(frame->goaway.error_code));
        return 0;
    }
    bool message = frame->hd.type == NGHTTP2_HEADERS || frame->hd.type == NGHTTP2_DATA;
    if (!message || !(frame->hd.flags & NGHTTP2_FLAG_END_STREAM))
        return 0;
    struct h2_stream *stream = find_stream(lib, frame->hd.stream_id);
    if (stream && stream->whole_answer && !stream->remote_ended && !stream->reset) {
        stream->reset = true;
        return refuse(session, stream->id, H2_NO_ERROR);
    }
    return 0;
}

/* Gives the library the next piece of a stream's out buffer. */
static ssize_t read_out(nghttp2_session *lib, int32_t id, uint8_t *to, size_t len, uint32_t *flags,
                        nghttp2_data_source *source, void *user)
{
    struct h2_session *session = user;
    struct h2_stream *stream = find_stream(lib, id);
    if (!stream || stream->reset)
        return NGHTTP2_ERR_DEFERRED;
    if (stream->out.len == 0 && !stream->local_end)
        return NGHTTP2_ERR_DEFERRED;

    size_t n = stream->out.len < len ? stream->out.len : len;
    if (n > 0) {
        memcpy(to, buf_data(&stream->out), n);
        buf_consume(&stream->out, n);
    }
    if (stream->out.len == 0 && stream->local_end)
        *flags |= NGHTTP2_DATA_FLAG_EOF;
    if (stream->short_write && stream->out.len <= H2_OUT_MAX / 2)
        session->drained = stream;
    return (ssize_t)n;
}

nghttp2_data_provider h2_data_provider(void)
{
    return (nghttp2_data_provider){.read_callback = read_out};
}

nghttp2_session_callbacks *h2_callbacks_create(void)
{
    nghttp2_session_callbacks *c;
    if (nghttp2_session_callbacks_new(&c) != 0)
        return NULL;
    nghttp2_session_callbacks_set_on_begin_headers_callback(c, on_begin_headers);
    nghttp2_session_callbacks_set_on_header_callback(c, on_header);
    nghttp2_session_callbacks_set_on_invalid_header_callback(c, on_invalid_header);
    nghttp2_session_callbacks_set_on_frame_recv_callback(c, on_frame_recv);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(c, on_data_chunk);
    nghttp2_session_callbacks_set_on_invalid_frame_recv_callback(c, on_invalid_frame);
    nghttp2_session_callbacks_set_on_stream_close_callback(c, on_stream_close);
    nghttp2_session_callbacks_set_on_frame_send_callback(c, on_frame_send);
    return c;
}
