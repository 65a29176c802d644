#include "worker/channel.h"

#include "base/alloc.h"
#include "base/fd.h"

#include <string.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <unistd.h>

/* One callback takes at most so many messages, so that other descriptors of the loop get their turn. */
#define MESSAGES_A_TURN 64

struct packet {
    STAILQ_ENTRY(packet) link;
    size_t len;
    int fd;
    uint8_t data[];
};
STAILQ_HEAD(packet_queue, packet);

struct channel {
    uv_poll_t poll;
    int fd;
    const struct channel_ops *ops;
    void *user;
    size_t message_max;
    uint8_t *input;
    struct packet_queue queue;
    size_t queued;
    bool full, closed, broken, ended;
};

static void on_poll(uv_poll_t *handle, int status, int events);

/* Waits for what is wanted now. */
static void watch(struct channel *channel)
{
    if (!channel->closed)
        uv_poll_start(&channel->poll, UV_READABLE | (STAILQ_EMPTY(&channel->queue) ? 0 : UV_WRITABLE),
                      on_poll);
}

static void drop_first(struct channel *channel)
{
    struct packet *packet = STAILQ_FIRST(&channel->queue);
    STAILQ_REMOVE_HEAD(&channel->queue, link);
    channel->queued -= packet->len;
    cleanup_close(&packet->fd);
    free(packet);
}

/* Tries one message: 1 sent or of no use any more, 0 would block. */
static int try_send(struct channel *channel, const void *data, size_t len, int fd)
{
    if (channel->broken)
        return 1;
    int rc = fd_send(channel->fd, data, len, &fd, fd >= 0 ? 1 : 0, NULL);
    if (rc >= 0)
        return rc;
    /* The end is told from the poll callback alone, never from inside a caller's channel_send. */
    channel->broken = true;
    shutdown(channel->fd, SHUT_RDWR);
    return 1;
}

static void flush(struct channel *channel)
{
    while (!STAILQ_EMPTY(&channel->queue)) {
        struct packet *packet = STAILQ_FIRST(&channel->queue);
        if (!try_send(channel, packet->data, packet->len, packet->fd))
            break;
        drop_first(channel);
    }
    if (channel->full && channel->queued <= CHANNEL_QUEUE_LOW) {
        channel->full = false;
        if (channel->ops->on_drained)
            channel->ops->on_drained(channel, channel->user);
    }
}

/* Ends it for the owner, once. */
static void gone(struct channel *channel, const struct error *err)
{
    uv_poll_stop(&channel->poll);
    channel->broken = channel->ended = true;
    channel->ops->on_gone(channel, err, channel->user);
}

static void receive(struct channel *channel)
{
    for (int i = 0; i < MESSAGES_A_TURN && !channel->closed; i++) {
        auto(error) struct error *err = NULL;
        size_t len = 0, fd_count = 0;
        int fd = -1;
        int rc = fd_receive(channel->fd, channel->input, channel->message_max, &len, &fd, 1, &fd_count, &err);
        if (rc == 0)
            return;
        if (rc < 0) {
            gone(channel, err);
            return;
        }
        channel->ops->on_message(channel, channel->input, len, fd_count ? fd : -1, channel->user);
    }
}

static void on_poll(uv_poll_t *handle, int status, int events)
{
    struct channel *channel = handle->data;

    /* An error state shows in the next receive, with its reason. */
    if (events & UV_WRITABLE)
        flush(channel);
    if (!channel->closed)
        receive(channel);
    /* libuv has stopped a handle in an error state: nothing further would come. */
    if (status < 0 && !channel->closed && !channel->ended)
        gone(channel, NULL);
    if (!channel->closed && uv_is_active((uv_handle_t *)handle))
        watch(channel);
}

int channel_create(uv_loop_t *loop, int fd, size_t message_max, const struct channel_ops *ops, void *user,
                   struct channel **ret_channel, struct error **err)
{
    autoclose int owned = fd;
    int rc = fd_set_nonblocking(fd, true, err);

    if (rc < 0)
        return rc;
    struct channel *channel = xnew(struct channel);
    rc = uv_poll_init(loop, &channel->poll, fd);
    if (rc < 0) {
        free(channel);
        return error_set(err, ERROR_IO, "cannot watch a socket: %s", uv_strerror(rc));
    }
    channel->poll.data = channel;
    channel->fd = steal_fd(&owned);
    channel->ops = ops;
    channel->user = user;
    channel->message_max = message_max;
    channel->input = xnewn(uint8_t, message_max);
    STAILQ_INIT(&channel->queue);
    watch(channel);
    *ret_channel = channel;
    return 0;
}

static void on_closed(uv_handle_t *handle)
{
    struct channel *channel = handle->data;
    free(channel->input);
    free(channel);
}

void channel_close(struct channel *channel)
{
    if (!channel || channel->closed)
        return;
    channel->closed = true;
    while (!STAILQ_EMPTY(&channel->queue))
        drop_first(channel);
    uv_close((uv_handle_t *)&channel->poll, on_closed);
    cleanup_close(&channel->fd);
}

void channel_send(struct channel *channel, const void *data, size_t len, int fd)
{
    autoclose int owned = fd;

    if (channel->closed || (STAILQ_EMPTY(&channel->queue) && try_send(channel, data, len, fd)))
        return;
    struct packet *packet = xcalloc(1, sizeof(*packet) + len);
    packet->len = len;
    packet->fd = steal_fd(&owned);
    memcpy(packet->data, data, len);
    STAILQ_INSERT_TAIL(&channel->queue, packet, link);
    channel->queued += len;
    if (channel->queued > CHANNEL_QUEUE_HIGH)
        channel->full = true;
    watch(channel);
}

size_t channel_queued(const struct channel *channel)
{
    return channel->queued;
}

bool channel_full(const struct channel *channel)
{
    return channel->full;
}
