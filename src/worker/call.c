#include "worker/call.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "wire/json.h"
#include "wire/pump.h"
#include "worker/decode.h"
#include "worker/port.h"

#include <string.h>

#define WAIT_CHECK_MS 250

struct call {
    TAILQ_ENTRY(call) link;
    struct worker *worker;
    uint32_t id, flags;
    enum guest_op op;
    enum guest_port port;
    char *path;
    struct buf out;    /* what is left to send of the JSON body */
    int fd;            /* until the pump has it */
    uint64_t deadline; /* of waiting for the port */
    struct h2_stream *stream;
    struct pump *pump;
    int status;
    struct buf in; /* received and not yet decoded: at most the stream's window */
    uint32_t items;
    bool in_ended; /* the peer has sent its last byte */
    bool done;     /* WMSG_RESULT is out; the call lives on until its stream is closed */
};

struct op_info {
    const char *method;
    enum guest_result_kind kind;
    bool list;
};
static const struct op_info op_infos[GUEST_OP_COUNT] = {
#define X(name, verb, result, lines) [GUEST_OP_##name] = {verb, result, lines},
    GUEST_OPS(X)
#undef X
};

static const struct op_info *info(const struct call *call)
{
    return &op_infos[call->op];
}

static void call_free(struct call *call)
{
    TAILQ_REMOVE(&call->worker->calls, call, link);
    call->worker->call_count--;
    cleanup_close(&call->fd);
    buf_finish(&call->in);
    buf_finish(&call->out);
    free(call->path);
    free(call);
}

/* ---- outcomes ---- */

static void send_result(struct call *call, struct wmsg_item *item)
{
    require(!call->done);
    call->done = true;
    item->type = WMSG_RESULT;
    item->id = call->id;
    channel_send(call->worker->channel, item, sizeof(*item), -1);
    cleanup_close(&call->fd);
    call->fd = -1;
}

/* The call ends with an error of ours. The stream, if it still runs, is reset; its close frees the call. */
static void fail(struct call *call, enum error_code code, const char *text)
{
    struct wmsg_item item = {0};

    decode_text(item.error_code, sizeof(item.error_code), error_code_name(code));
    decode_text(item.error_text, sizeof(item.error_text), text);
    send_result(call, &item);
    if (call->stream)
        h2_stream_reset(call->stream, H2_CANCEL);
}

static void fail_with(struct call *call, const struct error *err)
{
    fail(call, err ? err->code : ERROR_GUEST, err ? err->message : "the connection to the guest was lost");
}

static void succeed(struct call *call)
{
    struct wmsg_item item = {.ok = 1};
    send_result(call, &item);
}

static bool accepted(const struct call *call)
{
    return call->status >= 200 && call->status < 300;
}

/* ---- answers ---- */

/* The whole body is there: one struct, or the guest's refusal. */
static void finish_body(struct call *call)
{
    struct wmsg_item item = {.ok = 1};
    const char *data = (const char *)buf_data(&call->in);
    auto(error) struct error *err = NULL;

    if (!accepted(call)) {
        item.ok = 0;
        decode_refusal(data, call->in.len, call->status, &item);
        send_result(call, &item);
        return;
    }
    auto(json) json_t *value = json_parse(data, call->in.len, &err);
    if (!value || decode_result(info(call)->kind, false, value, &item, &err) < 0) {
        fail(call, ERROR_PROTOCOL, err->message);
        return;
    }
    send_result(call, &item);
}

/* Sends one line of a list on; false when the call has failed. */
static bool take_line(struct call *call, const char *line, size_t len)
{
    struct wmsg_item item = {.type = WMSG_ITEM, .id = call->id, .ok = 1};
    auto(error) struct error *err = NULL;

    if (call->items >= WMSG_ITEMS_MAX) {
        fail(call, ERROR_LIMIT, "the list has more than 100000 elements");
        return false;
    }
    auto(json) json_t *value = json_parse(line, len, &err);
    if (!value || decode_result(info(call)->kind, true, value, &item, &err) < 0) {
        fail(call, ERROR_PROTOCOL, err->message);
        return false;
    }
    call->items++;
    channel_send(call->worker->channel, &item, sizeof(item), -1);
    return true;
}

/* Decodes as many lines as hutchd takes. What stays in the buffer stays in the guest's window: the guest
 * waits. */
static void advance_list(struct call *call)
{
    while (!call->done && !channel_full(call->worker->channel)) {
        const char *data = (const char *)buf_data(&call->in);
        const char *newline = call->in.len ? memchr(data, '\n', call->in.len) : NULL;
        size_t len = newline ? (size_t)(newline - data) : call->in.len;

        if (len > JSON_LINE_MAX) {
            fail(call, ERROR_PROTOCOL, "an element of a list is longer than 64 KiB");
            return;
        }
        if (!newline && !call->in_ended)
            return;
        if (!newline && !len) {
            succeed(call);
            return;
        }
        size_t used = len + (newline ? 1 : 0);
        if (!take_line(call, data, len))
            return;
        buf_consume(&call->in, used);
        if (call->stream)
            h2_stream_consumed(call->stream, used);
    }
}

static void start_pump(struct call *call);

/* Tells hutchd that a streaming call was accepted; false when the call has failed. */
static bool send_head(struct call *call, const struct h2_head *head)
{
    struct wmsg_head message = {.type = WMSG_HEAD, .id = call->id, .status = (uint32_t)head->status};
    const char *offset = h2_head_field(head, "hutch-offset");

    if (offset && !decode_number(offset, &message.offset)) {
        fail(call, ERROR_PROTOCOL, "'hutch-offset' is not a number");
        return false;
    }
    channel_send(call->worker->channel, &message, sizeof(message), -1);
    return true;
}

static void on_head(struct h2_stream *stream, const struct h2_head *head, void *user)
{
    struct call *call = user;

    if (call->done)
        return;
    call->status = head->status;
    if (!accepted(call) || !(call->flags & WCALL_STREAM_OUT))
        return;
    if (send_head(call, head))
        start_pump(call);
}

static bool is_list(const struct call *call)
{
    return info(call)->list && accepted(call);
}

static void on_data(struct h2_stream *stream, const uint8_t *data, size_t len, void *user)
{
    struct call *call = user;

    if (call->done) {
        h2_stream_consumed(stream, len);
        return;
    }
    if (is_list(call)) {
        buf_append(&call->in, data, len, NULL);
        advance_list(call);
        return;
    }
    h2_stream_consumed(stream, len);
    if (call->in.len + len > JSON_BODY_MAX)
        fail(call, ERROR_PROTOCOL, "the answer is longer than 256 KiB");
    else
        buf_append(&call->in, data, len, NULL);
}

static void on_end(struct h2_stream *stream, void *user)
{
    struct call *call = user;

    call->in_ended = true;
    if (call->done)
        return;
    if (is_list(call))
        advance_list(call);
    else
        finish_body(call);
    /* An answer that came before our body was sent: the guest wants no more of it. */
    if (!h2_stream_local_ended(stream))
        h2_stream_reset(stream, H2_NO_ERROR);
}

/* Sends what the stream takes of the JSON body. */
static void send_body(struct call *call)
{
    size_t n = h2_stream_write(call->stream, buf_data(&call->out), call->out.len);

    buf_consume(&call->out, n);
    if (!call->out.len)
        h2_stream_end(call->stream);
}

static void on_writable(struct h2_stream *stream, void *user)
{
    struct call *call = user;

    if (!call->done && call->out.len)
        send_body(call);
}

static void on_close(struct h2_stream *stream, uint32_t code, void *user)
{
    struct call *call = user;

    call->stream = NULL;
    /* A list whose last lines hutchd has not taken yet goes on without its stream. */
    if (!call->done && call->in_ended && is_list(call))
        return;
    if (!call->done)
        fail(call, ERROR_GUEST, code ? "the guest cut its answer" : "the guest ended its answer early");
    call_free(call);
}

static const struct h2_stream_ops stream_ops = {.on_head = on_head,
                                                .on_data = on_data,
                                                .on_end = on_end,
                                                .on_writable = on_writable,
                                                .on_close = on_close};

/* ---- streams ---- */

/* A body of bytes was refused or taken before it was sent: what the guest says is read as any other answer.
 */
static void on_pump_head(struct pump *pump, const struct h2_head *head, void *user)
{
    struct call *call = user;

    call->status = head->status;
    if (accepted(call)) {
        send_head(call, head);
        return;
    }
    pump_cancel(pump);
    call->pump = NULL;
    h2_stream_set_ops(call->stream, &stream_ops, call);
}

static void on_pump_done(struct pump *pump, enum pump_end end, const struct error *err, void *user)
{
    struct call *call = user;

    /* The pump has ended or reset the stream and let it go. */
    call->pump = NULL;
    call->stream = NULL;
    if (call->done)
        ;
    else if (end == PUMP_DONE)
        succeed(call);
    else if (end == PUMP_STREAM_RESET)
        fail(call, ERROR_GUEST, "the guest cut the stream");
    else if (end == PUMP_INPUT_FAILED)
        fail(call, ERROR_CANCELLED, "the sender of the stream went away before its end");
    else
        fail(call, ERROR_CANCELLED, "the reader of the stream went away before its end");
    call_free(call);
}

/* Bytes flow between the descriptor and the stream from here on. */
static void start_pump(struct call *call)
{
    struct pump_options options = {
        .fd_in = call->flags & WCALL_STREAM_IN ? call->fd : -1,
        .fd_out = call->flags & WCALL_STREAM_OUT ? call->fd : -1,
        .own_fds = true,
        .cut_on_close = true,
        .on_done = on_pump_done,
        .on_head = call->flags & WCALL_STREAM_OUT ? NULL : on_pump_head,
    };
    auto(error) struct error *err = NULL;

    if (pump_create(call->worker->loop, call->stream, &options, call, &call->pump, &err) < 0)
        fail_with(call, err);
    else
        call->fd = -1;
}

/* ---- the life of a call ---- */

/* Opens the stream on a port that is in step. */
static void open_stream(struct call *call, struct h2_session *session)
{
    struct h2_field field = {"content-type", "application/json"};
    bool json = call->out.len > 0;
    bool streams_in = call->flags & WCALL_STREAM_IN;
    auto(error) struct error *err = NULL;

    if (streams_in)
        field.value = "application/octet-stream";
    call->stream = h2_request(session, info(call)->method, call->path, "guest", &field,
                              json || streams_in ? 1 : 0, json || streams_in, &stream_ops, call, &err);
    if (!call->stream) {
        fail_with(call, err);
        call_free(call);
        return;
    }
    if (json)
        send_body(call);
    /* Where bytes go both ways they begin after the guest's word; a body that goes in can be what it waits
     * for. */
    if (streams_in && !(call->flags & WCALL_STREAM_OUT))
        start_pump(call);
}

/* Ends calls whose port did not come, and stops the timer when none waits. */
static void on_wait_check(uv_timer_t *timer)
{
    struct worker *worker = timer->data;
    uint64_t now = uv_now(worker->loop);
    bool waiting = false;
    struct call *call, *next;

    for (call = TAILQ_FIRST(&worker->calls); call; call = next) {
        next = TAILQ_NEXT(call, link);
        if (!call->deadline)
            continue;
        if (now < call->deadline) {
            waiting = true;
            continue;
        }
        autofree char *text = xasprintf("the guest's %s port is not in step", port_name(call->port));
        fail(call, ERROR_GUEST, text);
        call_free(call);
    }
    if (!waiting)
        uv_timer_stop(timer);
}

/* Begins it now, or when its port comes into step. */
static void place(struct call *call)
{
    struct worker *worker = call->worker;
    struct h2_session *session = port_session(worker->ports[call->port]);

    if (session) {
        call->deadline = 0;
        open_stream(call, session);
        return;
    }
    call->deadline = uv_now(worker->loop) + CALL_WAIT_MS;
    if (!uv_is_active((uv_handle_t *)&worker->wait_timer))
        uv_timer_start(&worker->wait_timer, on_wait_check, WAIT_CHECK_MS, WAIT_CHECK_MS);
}

void call_begin(struct worker *worker, const struct wmsg_call *message, const char *path, const char *body,
                int fd)
{
    struct call *call = xnew(struct call);

    call->worker = worker;
    call->id = message->id;
    call->flags = message->flags;
    call->op = (enum guest_op)message->op;
    call->port = (enum guest_port)message->port;
    call->path = xstrndup(path, message->path_len);
    call->fd = fd;
    buf_init(&call->in, 0);
    buf_init(&call->out, 0);
    buf_append(&call->out, body, message->body_len, NULL);
    TAILQ_INSERT_TAIL(&worker->calls, call, link);
    worker->call_count++;
    if (worker->call_count <= WMSG_CALLS_MAX) {
        place(call);
        return;
    }
    fail(call, ERROR_BUSY, "too many calls to the guest at a time");
    call_free(call);
}

void call_cancel(struct worker *worker, uint32_t id)
{
    struct call *call = TAILQ_FIRST(&worker->calls);

    while (call && (call->id != id || call->done))
        call = TAILQ_NEXT(call, link);
    if (!call)
        return;
    if (call->pump) {
        pump_cancel(call->pump);
        call->pump = NULL;
        h2_stream_set_ops(call->stream, &stream_ops, call);
    }
    fail(call, ERROR_CANCELLED, "cancelled");
    if (!call->stream)
        call_free(call);
}

void call_port_up(struct worker *worker, enum guest_port port)
{
    struct call *call, *next;

    for (call = TAILQ_FIRST(&worker->calls); call; call = next) {
        next = TAILQ_NEXT(call, link);
        if (call->deadline && call->port == port)
            place(call);
    }
}

void call_resume(struct worker *worker)
{
    struct call *call, *next;

    for (call = TAILQ_FIRST(&worker->calls); call; call = next) {
        next = TAILQ_NEXT(call, link);
        if (call->done || !is_list(call))
            continue;
        advance_list(call);
        /* Whoever fills the channel goes to the end, so that each list gets its turn. */
        if (call->done && !call->stream) {
            call_free(call);
        } else if (channel_full(worker->channel)) {
            TAILQ_REMOVE(&worker->calls, call, link);
            TAILQ_INSERT_TAIL(&worker->calls, call, link);
            return;
        }
    }
}
