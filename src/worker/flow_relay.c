#include "worker/flow_internal.h"

#include "base/alloc.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#define SLICE_SIZE  (64 * 1024)
#define GUARDED_MAX (16 * 1024) /* of a connection that is checked: bytes looked at ahead of the server */

/* Every flow reads into the same bytes, which are passed on at once. */
static uint8_t slice[SLICE_SIZE];

static void on_poll(uv_poll_t *poll, int status, int events);

/* Bytes of `in` have been taken: the guest may send as many again. */
static void took(struct flow *flow, size_t n)
{
    buf_consume(&flow->in, n);
    if (n && flow->stream)
        h2_stream_consumed(flow->stream, n);
}

/* ---- an end of ours ---- */

/* In order: what is written to the guest goes out, then END_STREAM. */
static void end_guest(struct flow *flow)
{
    if (!flow->guest_shut)
        h2_stream_end(flow->stream);
    flow->guest_shut = true;
}

void flow_answer(struct flow *flow, int status, const char *json, enum flow_end end)
{
    require(buf_printf(&flow->to_guest, NULL,
                       "HTTP/1.1 %d %s\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n"
                       "Cache-Control: no-store\r\nConnection: close\r\n\r\n%s",
                       status, status == 502 ? "Bad Gateway" : "Refused", strlen(json), json) >= 0);
    flow->state = FLOW_SHUTS;
    flow->shuts = end;
    flow_turn(flow);
}

/* The guard is done with this connection. */
static void guard_over(struct flow *flow)
{
    flow->state = FLOW_SHUTS;
    flow->shuts = flow->guard.reason == GUARD_OK ? FLOW_END_DONE : FLOW_END_FORM;
}

static const char *shuts_reason(const struct flow *flow)
{
    return flow->shuts == FLOW_END_FORM ? guard_reason_name(flow->guard.reason) : NULL;
}

/* ---- guest to server ---- */

static void refuse_hello(struct flow *flow, enum guard_reason reason)
{
    flow_finish(flow, FLOW_END_FORM, guard_reason_name(reason));
}

/* True: the flow lives and its hello is whole. */
static bool read_hello(struct flow *flow)
{
    size_t used = 0;
    enum guard_reason reason = GUARD_OK;
    enum client_hello_result result =
        client_hello_feed(&flow->hello, buf_data(&flow->in), flow->in.len, &used);

    took(flow, used);
    if (result == CLIENT_HELLO_REFUSED) {
        refuse_hello(flow, flow->hello.reason);
        return false;
    }
    if (result == CLIENT_HELLO_MORE) {
        if (flow->guest_ended)
            refuse_hello(flow, client_hello_end(&flow->hello));
        return false;
    }
    if (!client_hello_check(&flow->hello, flow->host, flow->flags & FLOW_LITERAL, flow->flags & FLOW_ECH_DENY,
                            &reason)) {
        refuse_hello(flow, reason);
        return false;
    }
    require(buf_append(&flow->to_server, buf_data(&flow->hello.raw), flow->hello.raw.len, NULL) == 0);
    flow_ready(flow);
    return true;
}

/* Shows the guard what has come, as far as the server keeps up. */
static void read_requests(struct flow *flow)
{
    while (flow->in.len && !flow->request_asked && flow->to_server.len < GUARDED_MAX) {
        size_t used = 0, len = flow->in.len < GUARDED_MAX ? flow->in.len : GUARDED_MAX;
        enum http_guard_result result = http_guard_client(&flow->guard, buf_data(&flow->in), len, &used,
                                                          &flow->to_server, &flow->to_guest);
        took(flow, used);
        if (result == HTTP_GUARD_OVER)
            guard_over(flow);
        else if (result == HTTP_GUARD_REQUEST)
            flow_ask_request(flow);
        if (result == HTTP_GUARD_OVER || result == HTTP_GUARD_HELD)
            return;
    }
}

/* Sends what is there and paid for. Negative: the server is gone. */
static int send_bytes(struct flow *flow, const uint8_t *data, size_t len, size_t *ret_sent)
{
    size_t sent = 0;

    if (len > flow->credit)
        len = (size_t)flow->credit;
    while (sent < len && sent < FLOW_TURN_MAX) {
        ssize_t n = send(flow->fd, data + sent, len - sent, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (n >= 0)
            sent += (size_t)n;
        else if (errno == EAGAIN || errno == EWOULDBLOCK)
            break;
        else if (errno != EINTR)
            return -1;
    }
    flow->up += sent;
    if (flow->credit != FLOW_CREDIT_ALL)
        flow->credit -= sent;
    if (sent)
        flow->moved_ms = flow->worker->flow_clock;
    *ret_sent = sent;
    return 0;
}

static int send_up(struct flow *flow)
{
    size_t n = 0;

    if (flow->to_server.len && send_bytes(flow, buf_data(&flow->to_server), flow->to_server.len, &n) < 0)
        return -1;
    buf_consume(&flow->to_server, n);
    if (flow->guard_begun || flow->to_server.len || !flow->in.len)
        return 0;
    if (send_bytes(flow, buf_data(&flow->in), flow->in.len, &n) < 0)
        return -1;
    took(flow, n);
    return 0;
}

static size_t waiting_up(const struct flow *flow)
{
    return flow->to_server.len + (flow->guard_begun ? 0 : flow->in.len);
}

static void tell_need(struct flow *flow)
{
    struct wmsg_flow_need message = {.type = WMSG_FLOW_NEED,
                                     .flow = flow->number,
                                     .up = flow->up,
                                     .down = flow->down,
                                     .waiting = waiting_up(flow)};

    flow->need_told = true;
    channel_send(flow->worker->channel, &message, sizeof(message), -1);
}

/* The guest's end goes on when all before it is out. */
static void end_server(struct flow *flow)
{
    if (!flow->guest_ended || flow->in.len || flow->to_server.len || flow->server_shut ||
        flow->state != FLOW_OPEN)
        return;
    if (flow->guard_begun && http_guard_client_end(&flow->guard) == HTTP_GUARD_OVER) {
        guard_over(flow);
        return;
    }
    shutdown(flow->fd, SHUT_WR);
    flow->server_shut = true;
}

/* ---- server to guest ---- */

static size_t guest_room(const struct flow *flow)
{
    size_t queued = h2_stream_queued(flow->stream);
    return queued < H2_OUT_MAX ? H2_OUT_MAX - queued : 0;
}

static void write_guest(struct flow *flow)
{
    while (flow->to_guest.len && !flow->guest_shut) {
        size_t n = h2_stream_write(flow->stream, buf_data(&flow->to_guest), flow->to_guest.len);
        if (!n)
            break;
        flow->down += n;
        buf_consume(&flow->to_guest, n);
    }
}

static bool wants_server(const struct flow *flow)
{
    return flow->state == FLOW_OPEN && !flow->server_ended && !flow->to_guest.len && guest_room(flow) > 0;
}

/* The server sent its last. True: the flow goes on. */
static bool take_server_end(struct flow *flow)
{
    flow->server_ended = true;
    if (!flow->guard_begun)
        return true;
    http_guard_server_end(&flow->guard);
    if (flow->guard.reason != GUARD_OK) { /* cut in the middle: it must not look whole */
        flow_finish(flow, FLOW_END_UPSTREAM, guard_reason_name(flow->guard.reason));
        return false;
    }
    guard_over(flow);
    return true;
}

/* True: the flow lives. */
static bool read_server(struct flow *flow)
{
    size_t total = 0;

    while (wants_server(flow) && total < FLOW_TURN_MAX) {
        size_t room = guest_room(flow);
        size_t want = room < sizeof(slice) ? room : sizeof(slice);
        ssize_t n = recv(flow->fd, slice, want, MSG_DONTWAIT);
        if (n == 0)
            return take_server_end(flow);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
            return true;
        if (n < 0) {
            flow_finish(flow, FLOW_END_UPSTREAM, "reset");
            return false;
        }
        flow->moved_ms = flow->worker->flow_clock;
        total += (size_t)n;
        if (!flow->guard_begun) {
            require(h2_stream_write(flow->stream, slice, (size_t)n) == (size_t)n);
            flow->down += (size_t)n;
        } else if (http_guard_server(&flow->guard, slice, (size_t)n, &flow->to_guest) == HTTP_GUARD_OVER) {
            guard_over(flow);
        } else {
            write_guest(flow);
        }
        if ((size_t)n < want)
            return true;
    }
    return true;
}

/* ---- together ---- */

static void set_events(struct flow *flow)
{
    int events = (wants_server(flow) ? UV_READABLE : 0) |
                 (flow->state == FLOW_OPEN && waiting_up(flow) && flow->credit ? UV_WRITABLE : 0);

    if (!flow->poll || events == flow->events)
        return;
    flow->events = events;
    if (events)
        uv_poll_start(flow->poll, events, on_poll);
    else
        uv_poll_stop(flow->poll);
}

static void shut(struct flow *flow)
{
    took(flow, flow->in.len);
    write_guest(flow);
    if (flow->to_guest.len) {
        h2_stream_want_writable(flow->stream);
        return;
    }
    end_guest(flow);
    flow_finish(flow, flow->shuts, shuts_reason(flow));
}

static void settle(struct flow *flow)
{
    write_guest(flow);
    if (flow->state == FLOW_SHUTS) {
        set_events(flow);
        shut(flow);
        return;
    }
    if (flow->state != FLOW_OPEN)
        return;
    end_server(flow);
    if (flow->state == FLOW_SHUTS) {
        shut(flow);
        return;
    }
    if (flow->server_ended && !flow->to_guest.len)
        end_guest(flow);
    if (waiting_up(flow) && !flow->credit && !flow->need_told)
        tell_need(flow);
    if (!flow->guest_shut && (flow->to_guest.len || !guest_room(flow)))
        h2_stream_want_writable(flow->stream);
    set_events(flow);
}

void flow_turn(struct flow *flow)
{
    if (flow->state == FLOW_FLIGHT && flow->hello_begun) {
        if (flow->in.len || flow->guest_ended)
            read_hello(flow); /* may have freed it; what is behind the hello waits for the descriptor */
        return;
    }
    if (flow->state == FLOW_OPEN && send_up(flow) < 0) {
        flow_finish(flow, FLOW_END_UPSTREAM, "reset");
        return;
    }
    if (flow->guard_begun && (flow->state == FLOW_FLIGHT || flow->state == FLOW_OPEN)) {
        read_requests(flow);
        if (flow->state == FLOW_OPEN && send_up(flow) < 0) {
            flow_finish(flow, FLOW_END_UPSTREAM, "reset");
            return;
        }
        if (flow->state == FLOW_FLIGHT && flow->guest_ended && !flow->request_asked && !flow->in.len) {
            flow_finish(flow, FLOW_END_FORM, guard_reason_name(GUARD_HTTP_TRUNCATED));
            return;
        }
    }
    settle(flow);
}

void flow_on_writable(struct h2_stream *stream, void *user)
{
    struct flow *flow = user;

    if (flow->state == FLOW_OPEN) {
        write_guest(flow);
        if (!read_server(flow))
            return;
    }
    flow_turn(flow);
}

static void on_poll(uv_poll_t *poll, int status, int events)
{
    struct flow *flow = poll->data;

    if (status < 0)
        flow->events = 0; /* the loop has stopped the handle; reading tells what it is */
    if ((status < 0 || (events & UV_READABLE)) && !read_server(flow))
        return;
    flow_turn(flow);
}

int flow_connected(struct flow *flow, int fd)
{
    uv_poll_t *poll = xnew(uv_poll_t);

    flow->fd = fd;
    if (uv_poll_init(flow->worker->loop, poll, fd) < 0) {
        free(poll);
        return -1;
    }
    poll->data = flow;
    flow->poll = poll;
    return 0;
}
