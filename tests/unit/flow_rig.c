#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "flow_rig.h"

#include "base/alloc.h"
#include "base/fd.h"
#include "wire/hello.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* ---- hutchd ---- */

void rig_tell(struct rig *rig, const void *message, size_t len)
{
    channel_send(rig->hutchd, message, len, -1);
}

static void give_port(struct rig *rig, uint32_t id)
{
    struct wmsg_port message = {.type = WMSG_PORT, .port = id};
    int pair[2];

    if (id != PORT_EGRESS)
        return;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    cleanup_close(&rig->guest_fd);
    rig->guest_fd = pair[0];
    channel_send(rig->hutchd, &message, sizeof(message), pair[1]);
}

static void on_message(struct channel *channel, const void *data, size_t len, int fd, void *user)
{
    struct rig *rig = user;
    uint32_t type;

    memcpy(&type, data, sizeof(type));
    assert_int_equal(fd, -1);
    if (type == WMSG_PORT_NEEDED) {
        give_port(rig, ((const struct wmsg_port *)data)->port);
    } else if (type == WMSG_KEY) {
        struct wmsg_port saved = {.type = WMSG_KEY_SAVED, .port = ((const struct wmsg_key *)data)->port};
        rig_tell(rig, &saved, sizeof(saved));
    } else if (type != WMSG_PORT_STATE) {
        rig->messages = xrealloc(rig->messages, rig->message_count + 1, sizeof(*rig->messages));
        struct rig_message *message = &rig->messages[rig->message_count++];
        message->type = type;
        message->len = len;
        assert_true(len <= sizeof(message->data));
        memcpy(message->data, data, len);
    }
}

static void on_hutchd_gone(struct channel *channel, const struct error *err, void *user)
{
}

static void on_worker_end(struct worker *worker, int code)
{
    assert_int_equal(code, 0);
}

bool rig_none(struct rig *rig, uint32_t type)
{
    for (size_t i = 0; i < rig->message_count; i++)
        if (rig->messages[i].type == type)
            return false;
    return true;
}

const void *rig_take(struct rig *rig, uint32_t type)
{
    static struct rig_message taken;

    if (!rig_until(rig, !rig_none(rig, type), 10000))
        fail_msg("the worker did not send message %u", type);
    for (size_t i = 0; i < rig->message_count; i++) {
        if (rig->messages[i].type != type)
            continue;
        taken = rig->messages[i];
        memmove(rig->messages + i, rig->messages + i + 1,
                (--rig->message_count - i) * sizeof(*rig->messages));
        break;
    }
    return taken.data;
}

uint64_t rig_ask(struct rig *rig)
{
    return ((const struct wmsg_flow_ask *)rig_take(rig, WMSG_FLOW_ASK))->flow;
}

void rig_allow(struct rig *rig, uint64_t flow, const char *host, uint32_t port, enum flow_proto proto,
               uint32_t flags, uint64_t credit)
{
    struct wmsg_flow_verdict message = {.type = WMSG_FLOW_VERDICT,
                                        .verdict = FLOW_ALLOW,
                                        .flow = flow,
                                        .proto = proto,
                                        .flags = flags,
                                        .port = port,
                                        .credit = credit};

    memcpy(message.host, host, strlen(host));
    rig_tell(rig, &message, sizeof(message));
}

void rig_refuse(struct rig *rig, uint64_t flow, uint32_t status, const char *json)
{
    struct wmsg_flow_verdict message = {
        .type = WMSG_FLOW_VERDICT, .verdict = FLOW_REFUSE, .flow = flow, .status = status};

    message.body_len = (uint32_t)strlen(json);
    memcpy(message.body, json, strlen(json));
    rig_tell(rig, &message, sizeof(message));
}

int rig_dial(struct rig *rig, uint64_t flow)
{
    const struct wmsg_flow_ready *ready = rig_take(rig, WMSG_FLOW_READY);
    struct wmsg_flow_dialed message = {.type = WMSG_FLOW_DIALED, .ok = 1, .flow = flow};
    struct timeval limit = {.tv_sec = 10};
    int pair[2];

    assert_true(ready->flow == flow);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    fcntl(pair[1], F_SETFL, O_NONBLOCK);
    setsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    channel_send(rig->hutchd, &message, sizeof(message), pair[1]);
    return pair[0];
}

struct wmsg_flow_end rig_ended(struct rig *rig, uint64_t flow, enum flow_end end, const char *reason)
{
    struct wmsg_flow_end message = *(const struct wmsg_flow_end *)rig_take(rig, WMSG_FLOW_END);

    assert_true(message.flow == flow);
    if (reason)
        assert_string_equal(message.reason, reason);
    assert_int_equal(message.end, end);
    return message;
}

/* ---- the guest ---- */

static void on_head(struct h2_stream *stream, const struct h2_head *head, void *user)
{
    ((struct rig_stream *)user)->status = head->status;
}

static void on_data(struct h2_stream *stream, const uint8_t *data, size_t len, void *user)
{
    struct rig_stream *s = user;

    assert_int_equal(buf_append(&s->in, data, len, NULL), 0);
    if (s->paused)
        s->unconsumed += len;
    else
        h2_stream_consumed(stream, len);
}

static void on_end(struct h2_stream *stream, void *user)
{
    ((struct rig_stream *)user)->ended = true;
}

static void on_close(struct h2_stream *stream, uint32_t code, void *user)
{
    struct rig_stream *s = user;

    s->stream = NULL;
    s->closed = true;
    s->code = code;
}

void rig_connect(struct rig *rig, struct rig_stream *s, const char *authority, const struct h2_field *fields,
                 size_t count)
{
    static const struct h2_stream_ops ops = {
        .on_head = on_head, .on_data = on_data, .on_end = on_end, .on_close = on_close};
    static const struct h2_field usual[] = {{"hutch-entrance", "connect"}, {"hutch-claim", "{}"}};

    *s = (struct rig_stream){0};
    buf_init(&s->in, 0);
    s->stream = h2_request(link_session(rig->guest), "CONNECT", NULL, authority, fields ? fields : usual,
                           fields ? count : countof(usual), true, &ops, s, NULL);
    assert_non_null(s->stream);
}

void rig_write(struct rig *rig, struct rig_stream *s, const void *data, size_t len)
{
    for (size_t at = 0; at < len;) {
        size_t n = s->stream ? h2_stream_write(s->stream, (const uint8_t *)data + at, len - at) : len - at;
        at += n;
        if (at < len)
            uv_run(&rig->loop, UV_RUN_ONCE);
    }
}

void rig_end(struct rig_stream *s)
{
    h2_stream_end(s->stream);
}

void rig_reset(struct rig_stream *s)
{
    h2_stream_reset(s->stream, H2_CANCEL);
}

const char *rig_text(struct rig_stream *s)
{
    require(buf_append(&s->in, "", 1, NULL) == 0);
    s->in.len--;
    return (const char *)buf_data(&s->in);
}

void rig_free(struct rig_stream *s)
{
    if (s->stream)
        h2_stream_set_ops(s->stream, NULL, NULL);
    buf_finish(&s->in);
}

static void on_over(struct link *link, const struct error *err, void *user)
{
    ((struct rig *)user)->over = true;
}

/* Reads hellos until one is whole, answers, begins HTTP/2. */
static void greet(struct rig *rig)
{
    static const struct link_ops ops = {.on_over = on_over};
    struct hello_guest hello;
    uint8_t bytes[512], reply[HELLO_REPLY_SIZE];
    struct buf pass;
    int ready = 0;

    hello_guest_init(&hello);
    buf_init(&pass, 0);
    while (!ready) {
        ssize_t n = -1;
        assert_true(rig_until(rig, (n = recv(rig->guest_fd, bytes, sizeof(bytes), MSG_DONTWAIT)) > 0, 10000));
        ready = hello_guest_receive(&hello, bytes, (size_t)n, &pass);
    }
    hello_guest_reply(&hello, reply);
    assert_int_equal(send(rig->guest_fd, reply, sizeof(reply), 0), sizeof(reply));
    buf_finish(&pass);
    struct h2_options options = {.trusted = true};
    assert_int_equal(
        link_create(&rig->loop, rig->guest_fd, H2_CLIENT, &options, &ops, rig, NULL, 0, &rig->guest, NULL),
        0);
    rig->guest_fd = -1;
}

/* ---- both ---- */

static void on_tick(uv_timer_t *timer)
{
}

void rig_start(struct rig *rig)
{
    static const struct channel_ops ops = {.on_message = on_message, .on_gone = on_hutchd_gone};
    struct wmsg_setup setup = {.type = WMSG_SETUP, .version = WMSG_VERSION, .project = "p"};
    struct wmsg_running running = {.type = WMSG_RUNNING, .running = 1};
    int pair[2];

    *rig = (struct rig){.guest_fd = -1};
    assert_int_equal(uv_loop_init(&rig->loop), 0);
    uv_timer_init(&rig->loop, &rig->tick);
    uv_timer_start(&rig->tick, on_tick, 20, 20);
    assert_int_equal(fd_socketpair(SOCK_SEQPACKET, true, pair, NULL), 0);
    assert_int_equal(worker_init(&rig->worker, &rig->loop, pair[1], on_worker_end, NULL), 0);
    assert_int_equal(channel_create(&rig->loop, pair[0], RIG_MESSAGE_MAX, &ops, rig, &rig->hutchd, NULL), 0);
    rig_tell(rig, &setup, sizeof(setup));
    rig_tell(rig, &running, sizeof(running));
    assert_true(rig_until(rig, rig->guest_fd >= 0, 10000));
    greet(rig);
}

static void close_any(uv_handle_t *handle, void *arg)
{
    if (!uv_is_closing(handle))
        uv_close(handle, NULL);
}

void rig_stop(struct rig *rig)
{
    if (rig->guest)
        link_close(rig->guest, false);
    uv_run(&rig->loop, UV_RUN_NOWAIT);
    channel_close(rig->hutchd);
    uv_run(&rig->loop, UV_RUN_NOWAIT);
    uv_walk(&rig->loop, close_any, NULL);
    cleanup_close(&rig->guest_fd);
    free(rig->messages);
}
