/* children.h: the end of child processes, noticed in the loop by SIGCHLD. */
#ifndef HUTCH_GUEST_CHILDREN_H
#define HUTCH_GUEST_CHILDREN_H

#include <sys/types.h>
#include <uv.h>

typedef void (*child_exit_fn)(pid_t pid, int status, void *user);

struct child_watch;

struct children {
    uv_signal_t signal;
    struct child_watch *first;
};

void children_init(struct children *children, uv_loop_t *loop);
/* Calls on_exit once (NULL: only reaps) with a shell's status when the child has ended, never from inside
 * this call. To be called in the turn of the loop in which the child was started. */
void children_watch(struct children *children, pid_t pid, child_exit_fn on_exit, void *user);
/* Forgets the callback; the child is still reaped. */
void children_forget(struct children *children, pid_t pid);
void children_finish(struct children *children);

#endif
