#include "worker/worker.h"

#include "base/alloc.h"
#include "worker/call.h"
#include "worker/decode.h"
#include "worker/flow.h"
#include "worker/port.h"

#include <string.h>
#include <sysexits.h>

/* hutchd is of the same build: a message that does not fit means that one of the two is broken. */
static void refuse(struct worker *worker)
{
    worker->on_end(worker, EX_PROTOCOL);
}

static void take_setup(struct worker *worker, const void *data)
{
    const struct wmsg_setup *message = data;

    if (message->version != WMSG_VERSION || worker->set_up) {
        refuse(worker);
        return;
    }
    worker->set_up = true;
    for (int i = 0; i < PORT_COUNT; i++)
        port_start(worker->ports[i]);
}

static void take_running(struct worker *worker, const void *data)
{
    bool running = ((const struct wmsg_running *)data)->running != 0;

    if (running == worker->running)
        return;
    worker->running = running;
    for (int i = 0; i < PORT_COUNT; i++)
        port_running(worker->ports[i]);
}

/* A call: the struct, then path and body. */
static void take_call(struct worker *worker, const void *data, size_t len, int fd)
{
    const struct wmsg_call *message = data;
    const char *path = (const char *)data + sizeof(*message);
    bool streams = message->flags & (WCALL_STREAM_IN | WCALL_STREAM_OUT);

    if (len < sizeof(*message) || message->path_len > WMSG_BODY_MAX || message->body_len > WMSG_BODY_MAX ||
        len != sizeof(*message) + message->path_len + message->body_len || message->op >= GUEST_OP_COUNT ||
        (message->port != PORT_CONTROL && message->port != PORT_BULK) || !message->id ||
        streams != (fd >= 0)) {
        cleanup_close(&fd);
        refuse(worker);
        return;
    }
    call_begin(worker, message, path, path + message->path_len, fd);
}

static void take_port(struct worker *worker, const void *data, int fd)
{
    const struct wmsg_port *message = data;

    if (message->port >= PORT_COUNT || message->key_count > WMSG_KEYS || fd < 0) {
        cleanup_close(&fd);
        refuse(worker);
        return;
    }
    port_connect(worker->ports[message->port], fd, message);
}

static void on_message(struct channel *channel, const void *data, size_t len, int fd, void *user)
{
    struct worker *worker = user;
    uint32_t type = 0;

    if (len >= sizeof(type))
        memcpy(&type, data, sizeof(type));
    if (worker->set_up && type == WMSG_CALL) {
        take_call(worker, data, len, fd);
        return;
    }
    if (worker->set_up && type == WMSG_PORT && len == sizeof(struct wmsg_port)) {
        take_port(worker, data, fd);
        return;
    }
    if (worker->set_up && type >= WMSG_FLOW_VERDICT && type <= WMSG_FLOW_CUT) {
        if (!flow_message(worker, type, data, len, fd))
            refuse(worker);
        return;
    }
    cleanup_close(&fd);
    if (type == WMSG_SETUP && len == sizeof(struct wmsg_setup))
        take_setup(worker, data);
    else if (worker->set_up && type == WMSG_KEY_SAVED && len == sizeof(struct wmsg_port) &&
             ((const struct wmsg_port *)data)->port < PORT_COUNT)
        port_key_saved(worker->ports[((const struct wmsg_port *)data)->port]);
    else if (worker->set_up && type == WMSG_RUNNING && len == sizeof(struct wmsg_running))
        take_running(worker, data);
    else if (worker->set_up && type == WMSG_CANCEL && len == sizeof(struct wmsg_id))
        call_cancel(worker, ((const struct wmsg_id *)data)->id);
    else
        refuse(worker);
}

static void on_drained(struct channel *channel, void *user)
{
    call_resume(user);
}

static void on_gone(struct channel *channel, const struct error *err, void *user)
{
    struct worker *worker = user;
    worker->on_end(worker, EX_OK);
}

int worker_init(struct worker *worker, uv_loop_t *loop, int fd,
                void (*on_end)(struct worker *worker, int code), struct error **err)
{
    static const struct channel_ops ops = {
        .on_message = on_message, .on_drained = on_drained, .on_gone = on_gone};

    *worker = (struct worker){.loop = loop, .on_end = on_end};
    TAILQ_INIT(&worker->calls);
    uv_timer_init(loop, &worker->wait_timer);
    worker->wait_timer.data = worker;
    flow_init(worker);
    for (int i = 0; i < PORT_COUNT; i++)
        worker->ports[i] = port_create(worker, (enum guest_port)i);
    return channel_create(loop, fd, WMSG_MAX, &ops, worker, &worker->channel, err);
}

void worker_alert(struct worker *worker, enum guest_port port, const char *text)
{
    struct wmsg_alert message = {.type = WMSG_ALERT, .port = port};

    decode_text(message.text, sizeof(message.text), text);
    channel_send(worker->channel, &message, sizeof(message), -1);
}
