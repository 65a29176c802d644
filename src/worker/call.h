/* call.h: calls of hutchd become HTTP/2 requests to the guest, their answers fixed structs. Each call ends in
 * exactly one WMSG_RESULT, after its list elements and after the last byte of its stream was written to the
 * passed descriptor. */
#ifndef HUTCH_WORKER_CALL_H
#define HUTCH_WORKER_CALL_H

#include "worker/worker.h"

/* A call for a port that is out of step waits so long for it (the ports of one guest do not come up in the
 * same instant). */
#define CALL_WAIT_MS 5000

/* WMSG_CALL; path and body are not terminated and copied, fd (or -1) is taken over. */
void call_begin(struct worker *worker, const struct wmsg_call *message, const char *path, const char *body,
                int fd);
/* WMSG_CANCEL; an unknown id is one that has just ended. */
void call_cancel(struct worker *worker, uint32_t id);
/* A port came into step: calls that wait for it begin. */
void call_port_up(struct worker *worker, enum guest_port port);
/* hutchd's channel has room again: lists that stood still go on. */
void call_resume(struct worker *worker);

#endif
