/* channel.h: messages over a SOCK_SEQPACKET pair in a libuv loop, each with at most one descriptor: what
 * hutchd and a hutch-worker talk through. Sending never blocks: what the kernel does not take waits in a
 * queue, whose size the sender watches (channel_full) to slow its own source down. */
#ifndef HUTCH_WORKER_CHANNEL_H
#define HUTCH_WORKER_CHANNEL_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <uv.h>

#define CHANNEL_QUEUE_HIGH (256 * 1024) /* bytes waiting from which the channel counts as full */
#define CHANNEL_QUEUE_LOW  (64 * 1024)

struct channel;

struct channel_ops {
    /* A whole message. fd: the descriptor that came with it (now the callee's) or -1. */
    void (*on_message)(struct channel *channel, const void *data, size_t len, int fd, void *user);
    /* Optional: the queue was full and has fallen to its low mark. Never from inside channel_send. */
    void (*on_drained)(struct channel *channel, void *user);
    /* The peer closed, or broke the framing. Once; the owner then calls channel_close. Never from inside
     * channel_send. */
    void (*on_gone)(struct channel *channel, const struct error *err, void *user);
};

/* Takes fd over (made non-blocking), also on failure. message_max: longest message that is received; a longer
 * one ends it. */
int channel_create(uv_loop_t *loop, int fd, size_t message_max, const struct channel_ops *ops, void *user,
                   struct channel **ret_channel, struct error **err);
/* Closes at once, drops what is queued, frees later. May be called from any of the callbacks. NULL is
 * ignored. */
void channel_close(struct channel *channel);
/* Sends or queues a copy. fd goes with it and is closed here afterwards; -1: none. */
void channel_send(struct channel *channel, const void *data, size_t len, int fd);
/* Bytes that wait in the queue. */
size_t channel_queued(const struct channel *channel);
/* The queue is past its high mark and has not yet fallen to its low one. */
bool channel_full(const struct channel *channel);

#endif
