/* guest_worker.h: one hutch-worker process: started by posix_spawn with its channel, watched by a pidfd,
 * reaped. It knows nothing of ports and calls; guest.c decides what is said. Loop thread. */
#ifndef HUTCH_DAEMON_GUEST_WORKER_H
#define HUTCH_DAEMON_GUEST_WORKER_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <uv.h>

struct guest_worker;

struct guest_worker_ops {
    /* A message of any length and content; nothing in it was checked. */
    void (*on_message)(const void *data, size_t len, void *user);
    /* The process has ended by itself (or by guest_worker_kill) and was reaped. status: exit status, or 128 +
     * signal. Once; the object is freed after it. */
    void (*on_gone)(int status, void *user);
};

/* Starts program with an empty environment in "/". */
int guest_worker_start(uv_loop_t *loop, const char *program, const struct guest_worker_ops *ops, void *user,
                       struct guest_worker **ret_worker, struct error **err);
/* Sends a message; fd (or -1) is taken over. What the worker does not take at once is queued. */
void guest_worker_send(struct guest_worker *worker, const void *data, size_t len, int fd);
/* Bytes that wait for the worker. */
size_t guest_worker_queued(const struct guest_worker *worker);
/* It broke the protocol: SIGKILL; on_gone follows. No further message is delivered. */
void guest_worker_kill(struct guest_worker *worker);
/* It is not wanted any more: the channel closes (the worker then ends), SIGKILL after 1 s. No callback
 * follows; frees later. */
void guest_worker_stop(struct guest_worker *worker);
pid_t guest_worker_process(const struct guest_worker *worker);

#endif
