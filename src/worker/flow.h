/* flow.h: the CONNECT streams of the egress port, each tied to a descriptor that hutchd connected:
 * flow_proto.h says how they are asked for, judged and counted. A flow passes nothing before its first flight
 * was seen to be what the verdict allows, nothing up beyond its credit, and holds at most a stream's window
 * of what the guest sent. Its time (first flight, idle) is the time in which the machine ran. */
#ifndef HUTCH_WORKER_FLOW_H
#define HUTCH_WORKER_FLOW_H

#include "wire/h2.h"
#include "worker/worker.h"

#define FLOW_TICK_MS   250
#define FLOW_FLIGHT_MS 10000             /* first flight of TLS and HTTP */
#define FLOW_IDLE_MS   (4 * 3600 * 1000) /* nothing either way; a verdict may say less */
#define FLOW_TURN_MAX  (256 * 1024)      /* bytes of one flow and direction before the others' turn */

/* The regular fields that a CONNECT of the guest has; for h2_options. */
extern const char *const flow_fields[];

/* Once, when the worker begins. */
void flow_init(struct worker *worker);
/* A CONNECT came in on the egress port. */
void flow_begin(struct worker *worker, struct h2_stream *stream, const struct h2_head *head);
/* A message of hutchd about a flow; fd (or -1) is taken over. False: no such message, or not of its form. */
bool flow_message(struct worker *worker, uint32_t type, const void *data, size_t len, int fd);

#endif
