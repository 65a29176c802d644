/* session_spare.h: a session's process that was started before it is needed, and waits for what it is to run:
 * a start of a process is the longest part of a short command (45 ms of 80 under emulation). It is nothing
 * until it gets its request, and ends when hutch-guest does. */
#ifndef HUTCH_GUEST_SESSION_SPARE_H
#define HUTCH_GUEST_SESSION_SPARE_H

#include "guest/agent.h"

#define SESSION_SPARE_MS 100 /* after a session's start: the program that was just started comes first */

struct session_spare *session_spare_create(struct agent *agent);
/* NULL is fine. The process that waits ends. */
void session_spare_destroy(struct session_spare *spare);
/* Hands a session to a process: the one that waits, or else a new one. *ret_fd (the caller's, non-blocking,
 * SEQPACKET) brings its one answer. Another will wait soon. */
int session_spare_use(struct session_spare *spare, const json_t *body, int *ret_fd, struct error **err);

/* The process's side: waits for its request on `fd`. ERROR_IO with sys == 0: there will be none. */
int session_spare_wait(int fd, json_t **ret_body, struct error **err);

#endif
