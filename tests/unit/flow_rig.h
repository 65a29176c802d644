/* flow_rig.h: a worker in this process with its egress port in step; the test is both the guest (a client of
 * HTTP/2) and hutchd (fixed structs). */
#ifndef HUTCH_TESTS_FLOW_RIG_H
#define HUTCH_TESTS_FLOW_RIG_H

#include "flow_guest.h"

#include "worker/flow.h"

#define RIG_MESSAGE_MAX 4096

struct rig {
    uv_loop_t loop;
    uv_timer_t tick;
    struct worker worker;
    struct channel *hutchd;
    struct flow_guest guest;
    /* Messages of the worker, oldest first, without the ports' own. */
    struct rig_message {
        uint32_t type;
        size_t len;
        uint8_t data[RIG_MESSAGE_MAX];
    } * messages;
    size_t message_count;
};

void rig_start(struct rig *rig);
void rig_stop(struct rig *rig);
/* Turns the loop until the condition holds; false after ms. */
#define rig_until(rig, condition, ms) loop_until(&(rig)->loop, condition, ms)
/* A CONNECT with fields of its own; NULL fields: entrance connect, claim {}. */
void rig_connect(struct rig *rig, struct rig_stream *s, const char *authority, const struct h2_field *fields,
                 size_t count);
void rig_write(struct rig *rig, struct rig_stream *s, const void *data, size_t len);

/* The oldest message of that type is taken off; waits for it, and fails the test after 10 s. */
const void *rig_take(struct rig *rig, uint32_t type);
/* None of that type waits. */
bool rig_none(struct rig *rig, uint32_t type);
/* Waits for the ask and returns its number. */
uint64_t rig_ask(struct rig *rig);
void rig_allow(struct rig *rig, uint64_t flow, const char *host, uint32_t port, enum flow_proto proto,
               uint32_t flags, uint64_t credit);
void rig_refuse(struct rig *rig, uint64_t flow, uint32_t status, const char *json);
/* Answers FLOW_READY with a socket pair; returns the server's end (blocking). */
int rig_dial(struct rig *rig, uint64_t flow);
void rig_tell(struct rig *rig, const void *message, size_t len);
/* Waits for FLOW_END of that flow and checks its end and reason (NULL: any). */
struct wmsg_flow_end rig_ended(struct rig *rig, uint64_t flow, enum flow_end end, const char *reason);

#endif
