/* confine.h: the worker gives up what it will never need: after confine() it can read, write and close the
 * descriptors that it has and those that hutchd passes to it, get memory, wait, and nothing else. For life;
 * there is no way back. */
#ifndef HUTCH_WORKER_CONFINE_H
#define HUTCH_WORKER_CONFINE_H

#include "base/error.h"

#include <stdbool.h>

#define CONFINE_FDS_MAX 1024 /* ports, the channel, one descriptor a streaming call */
#define CONFINE_DATA_MAX                                                                                     \
    (256u * 1024 * 1024) /* heap: a parser that grows without end dies here, not the host */

/* Before a loop is made: io_uring is not there. libuv 1.45 and later changes epoll by it wherever it is, and
 * no filter can look into what it does. */
int confine_loop(struct error **err);
/* Limits (descriptors, heap, no core, not dumpable), then no_new_privs and Landlock with nothing allowed,
 * then a list of system calls: open and its like get EACCES, everything else that is not on it kills the
 * process. ERROR_MISSING on a kernel without Landlock or seccomp: the caller must not go on. In a build with
 * sanitizers (they map memory and read /proc as they like) only the limits that they bear are set, and
 * confine_full() says so. */
int confine(struct error **err);
/* This build confines in full. */
bool confine_full(void);

#endif
