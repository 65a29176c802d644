#include "wire/h2.h"

#include "base/alloc.h"
#include "wire/h2_internal.h"

#include <stdarg.h>
#include <string.h>

static nghttp2_mem *session_memory;

void h2_set_memory(nghttp2_mem *mem)
{
    session_memory = mem;
}

static nghttp2_option *make_options(const struct h2_options *options)
{
    nghttp2_option *o;
    if (nghttp2_option_new(&o) != 0)
        return NULL;
    nghttp2_option_set_no_auto_window_update(o, 1);
    nghttp2_option_set_no_closed_streams(o, 1);
    nghttp2_option_set_max_outbound_ack(o, H2_ACKS_MAX);
    nghttp2_option_set_max_deflate_dynamic_table_size(o, 0);
    nghttp2_option_set_max_reserved_remote_streams(o, 0);
    if (options->trusted)
        nghttp2_option_set_stream_reset_rate_limit(o, UINT64_MAX / 2, UINT32_MAX);
    else
        nghttp2_option_set_stream_reset_rate_limit(o, 200, 20);
    return o;
}

static int submit_settings(struct h2_session *session)
{
    uint32_t streams = session->options.max_streams ? session->options.max_streams : H2_STREAMS_MAX;
    nghttp2_settings_entry entries[] = {
        {NGHTTP2_SETTINGS_HEADER_TABLE_SIZE, 0},
        {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, session->role == H2_SERVER ? streams : 0},
        {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, H2_WINDOW_STREAM},
        {NGHTTP2_SETTINGS_MAX_FRAME_SIZE, H2_FRAME_MAX},
        {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, H2_HEADER_LIST_MAX},
        {NGHTTP2_SETTINGS_ENABLE_PUSH, 0}, /* clients only: must stay last */
    };
    size_t count = countof(entries) - (session->role == H2_SERVER ? 1 : 0);
    int rc = nghttp2_submit_settings(session->lib, NGHTTP2_FLAG_NONE, entries, count);
    if (rc == 0)
        rc = nghttp2_session_set_local_window_size(session->lib, NGHTTP2_FLAG_NONE, 0, H2_WINDOW_SESSION);
    return rc;
}

/* Sets up the library's side; negative when there is no memory. */
static int open_library(struct h2_session *session)
{
    nghttp2_session_callbacks *callbacks = h2_callbacks_create();
    nghttp2_option *option = make_options(&session->options);
    int rc = NGHTTP2_ERR_NOMEM;
    if (callbacks && option)
        rc = session->role == H2_SERVER
                 ? nghttp2_session_server_new3(&session->lib, callbacks, session, option, session_memory)
                 : nghttp2_session_client_new3(&session->lib, callbacks, session, option, session_memory);
    nghttp2_session_callbacks_del(callbacks);
    nghttp2_option_del(option);
    if (rc != 0) {
        session->lib = NULL;
        return rc;
    }
    return submit_settings(session);
}

struct h2_session *h2_session_create(enum h2_role role, const struct h2_options *options,
                                     const struct h2_session_ops *ops, void *user)
{
    struct h2_session *session = xnew(struct h2_session);
    session->role = role;
    session->user = user;
    if (options)
        session->options = *options;
    if (ops)
        session->ops = *ops;
    h2_gate_init(&session->gate, role);
    if (open_library(session) != 0) {
        nghttp2_session_del(session->lib);
        free(session);
        return NULL;
    }
    return session;
}

void h2_session_destroy(struct h2_session *session)
{
    if (!session)
        return;
    require(session->depth == 0);
    session->dead = true;
    session->goaway_left = 0;
    session->announced = true; /* nobody is to be woken for what cannot be sent any more */
    while (session->streams)
        h2_stream_close(session->streams, H2_CANCEL);
    nghttp2_session_del(session->lib);
    error_free(session->reason);
    free(session);
}

void *h2_session_user(struct h2_session *session)
{
    return session->user;
}

void h2_session_set_wake(struct h2_session *session, void (*wake)(void *arg), void *arg)
{
    session->wake = wake;
    session->wake_arg = arg;
}

const struct error *h2_session_reason(const struct h2_session *session)
{
    return session->reason;
}

/* From here on the library is not called again. What it had queued is dropped: only a GOAWAY of our own goes
 * out, between two frames, as taking always gives whole frames. */
static void die(struct h2_session *session, uint32_t code)
{
    if (session->dead)
        return;
    session->dead = true;
    session->announced = false;
    session->drained = NULL;
    uint32_t last = (uint32_t)session->last_stream;
    const uint8_t frame[H2_GOAWAY_SIZE] = {
        0,
        0,
        8,
        7,
        0,
        0,
        0,
        0,
        0,
        (uint8_t)(last >> 24),
        (uint8_t)(last >> 16),
        (uint8_t)(last >> 8),
        (uint8_t)last,
        (uint8_t)(code >> 24),
        (uint8_t)(code >> 16),
        (uint8_t)(code >> 8),
        (uint8_t)code,
    };
    memcpy(session->goaway, frame, sizeof(frame));
    session->goaway_left = sizeof(frame);
}

int h2_session_doom(struct h2_session *session, uint32_t code, enum error_code error, const char *format, ...)
{
    if (!session->doom && !session->dead) {
        session->doom = code + 1;
        va_list args;
        va_start(args, format);
        error_vset(&session->reason, error, format, args);
        va_end(args);
    }
    return NGHTTP2_ERR_CALLBACK_FAILURE;
}

void h2_enter(struct h2_session *session)
{
    session->depth++;
}

void h2_leave(struct h2_session *session)
{
    if (--session->depth > 0)
        return;
    if (session->doom && !session->dead)
        die(session, session->doom - 1);
    /* What the owner was told of may be gone again (the peer reset the stream): then he is to be told anew. */
    bool want = h2_session_want_send(session), told = session->announced;
    session->announced = want;
    if (!want || told)
        return;
    if (session->wake)
        session->wake(session->wake_arg);
    if (session->ops.on_want_send)
        session->ops.on_want_send(session, session->user);
}

/* Gives a copy of the reason to the caller. */
static int report(const struct h2_session *session, struct error **err)
{
    if (!session->reason)
        return error_set(err, ERROR_STATE, "HTTP/2: the session is over");
    if (err)
        *err = error_copy(session->reason);
    return -(int)session->reason->code;
}

/* Feeds one piece that the gate let through. */
static void feed(struct h2_session *session, const uint8_t *piece, size_t len)
{
    ssize_t n = nghttp2_session_mem_recv(session->lib, piece, len);
    if (n < 0) {
        uint32_t code = n == NGHTTP2_ERR_FLOODED ? H2_ENHANCE_YOUR_CALM
                        : n == NGHTTP2_ERR_NOMEM ? H2_INTERNAL_ERROR
                                                 : H2_PROTOCOL_ERROR;
        enum error_code error = n == NGHTTP2_ERR_FLOODED ? ERROR_LIMIT
                                : n == NGHTTP2_ERR_NOMEM ? ERROR_NO_MEMORY
                                                         : ERROR_PROTOCOL;
        h2_session_doom(session, code, error, "HTTP/2: %s", nghttp2_strerror((int)n));
    } else if (nghttp2_session_get_outbound_queue_size(session->lib) > H2_QUEUE_MAX) {
        h2_session_doom(session, H2_ENHANCE_YOUR_CALM, ERROR_LIMIT,
                        "HTTP/2: more than %d answers wait for a peer that does not read", H2_QUEUE_MAX);
    }
}

int h2_session_receive(struct h2_session *session, const uint8_t *data, size_t len, struct error **err)
{
    require(session->depth == 0);
    if (session->dead)
        return report(session, err);
    h2_enter(session);
    while (len > 0 && !session->doom) {
        const uint8_t *piece;
        size_t piece_len, used;
        uint32_t code;
        struct error *bad = NULL;
        if (h2_gate_next(&session->gate, data, len, &piece, &piece_len, &used, &code, &bad) < 0) {
            h2_session_doom(session, code, bad->code, "%s", bad->message);
            error_free(bad);
            break;
        }
        if (piece_len > 0)
            feed(session, piece, piece_len);
        data += used;
        len -= used;
    }
    h2_leave(session);
    return session->dead ? report(session, err) : 0;
}

/* on_writable after the library has let go. */
static void tell_drained(struct h2_session *session)
{
    struct h2_stream *stream = session->drained;
    session->drained = NULL;
    if (!stream || stream->reset || stream->local_end)
        return;
    stream->short_write = false;
    if (stream->ops && stream->ops->on_writable)
        stream->ops->on_writable(stream, stream->user);
}

/* What is left of a dead session. */
static int take_last(struct h2_session *session, const uint8_t **ret_data, size_t *ret_len,
                     struct error **err)
{
    if (session->goaway_left == 0)
        return report(session, err);
    *ret_data = session->goaway;
    *ret_len = session->goaway_left;
    session->goaway_left = 0;
    return 0;
}

int h2_session_take(struct h2_session *session, const uint8_t **ret_data, size_t *ret_len, struct error **err)
{
    *ret_data = NULL;
    *ret_len = 0;
    if (session->depth > 0) {
        session->announced = false; /* so that the outermost call tells again */
        return 0;
    }
    if (session->dead)
        return take_last(session, ret_data, ret_len, err);

    h2_enter(session);
    const uint8_t *data = NULL;
    bool doomed_before = session->doom != 0;
    ssize_t n = nghttp2_session_mem_send(session->lib, &data);
    bool own_goaway = session->doom && !doomed_before && n > 0; /* on_frame_send saw the library end it */
    if (n < 0)
        h2_session_doom(session, H2_INTERNAL_ERROR, n == NGHTTP2_ERR_NOMEM ? ERROR_NO_MEMORY : ERROR_PROTOCOL,
                        "HTTP/2: %s", nghttp2_strerror((int)n));
    tell_drained(session);
    if (n == 0)
        session->announced = false;
    h2_leave(session);

    if (n < 0)
        return take_last(session, ret_data, ret_len, err);
    if (own_goaway)
        session->goaway_left = 0;
    *ret_data = data;
    *ret_len = (size_t)n;
    return 0;
}

bool h2_session_want_send(const struct h2_session *session)
{
    if (session->dead)
        return session->goaway_left > 0;
    return nghttp2_session_want_write(session->lib) != 0;
}

bool h2_session_over(const struct h2_session *session)
{
    return session->dead ||
           (!nghttp2_session_want_read(session->lib) && !nghttp2_session_want_write(session->lib));
}

int h2_session_ping(struct h2_session *session, struct error **err)
{
    if (session->dead)
        return report(session, err);
    h2_enter(session);
    int rc = nghttp2_submit_ping(session->lib, NGHTTP2_FLAG_NONE, NULL);
    h2_leave(session);
    return rc == 0 ? 0 : error_set(err, ERROR_NO_MEMORY, "HTTP/2: %s", nghttp2_strerror(rc));
}

void h2_session_shutdown(struct h2_session *session, uint32_t code)
{
    if (session->dead)
        return;
    h2_enter(session);
    if (code != H2_NO_ERROR)
        h2_session_doom(session, code, ERROR_CANCELLED, "HTTP/2: this side ended the session");
    else if (nghttp2_submit_goaway(session->lib, NGHTTP2_FLAG_NONE,
                                   nghttp2_session_get_last_proc_stream_id(session->lib), code, NULL, 0) != 0)
        h2_session_doom(session, H2_INTERNAL_ERROR, ERROR_NO_MEMORY, "HTTP/2: no memory");
    h2_leave(session);
}

bool h2_session_has_queued(const struct h2_session *session)
{
    if (session->dead)
        return false;
    for (const struct h2_stream *stream = session->streams; stream; stream = stream->next)
        if (stream->out.len > 0 && !stream->reset)
            return true;
    return false;
}

size_t h2_session_stream_count(const struct h2_session *session)
{
    return session->stream_count;
}
