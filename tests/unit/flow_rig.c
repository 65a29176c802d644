#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "flow_rig.h"

#include "base/alloc.h"
#include "base/fd.h"

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
    cleanup_close(&rig->guest.fd);
    rig->guest.fd = pair[0];
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

void rig_connect(struct rig *rig, struct rig_stream *s, const char *authority, const struct h2_field *fields,
                 size_t count)
{
    flow_guest_connect(&rig->guest, s, authority, fields, count);
}

void rig_write(struct rig *rig, struct rig_stream *s, const void *data, size_t len)
{
    flow_guest_write(&rig->guest, s, data, len);
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

    *rig = (struct rig){.guest = {.loop = &rig->loop, .fd = -1}};
    assert_int_equal(uv_loop_init(&rig->loop), 0);
    uv_timer_init(&rig->loop, &rig->tick);
    uv_timer_start(&rig->tick, on_tick, 20, 20);
    assert_int_equal(fd_socketpair(SOCK_SEQPACKET, true, pair, NULL), 0);
    assert_int_equal(worker_init(&rig->worker, &rig->loop, pair[1], on_worker_end, NULL), 0);
    assert_int_equal(channel_create(&rig->loop, pair[0], RIG_MESSAGE_MAX, &ops, rig, &rig->hutchd, NULL), 0);
    rig_tell(rig, &setup, sizeof(setup));
    rig_tell(rig, &running, sizeof(running));
    assert_true(rig_until(rig, rig->guest.fd >= 0, 10000));
    flow_guest_greet(&rig->guest);
    flow_guest_begin(&rig->guest);
}

static void close_any(uv_handle_t *handle, void *arg)
{
    if (!uv_is_closing(handle))
        uv_close(handle, NULL);
}

void rig_stop(struct rig *rig)
{
    flow_guest_leave(&rig->guest);
    uv_run(&rig->loop, UV_RUN_NOWAIT);
    channel_close(rig->hutchd);
    uv_run(&rig->loop, UV_RUN_NOWAIT);
    uv_walk(&rig->loop, close_any, NULL);
    free(rig->messages);
}
