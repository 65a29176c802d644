/* flow_internal.h: one flow, between flow.c (its life) and flow_relay.c (its bytes). */
#ifndef HUTCH_WORKER_FLOW_INTERNAL_H
#define HUTCH_WORKER_FLOW_INTERNAL_H

#include "guard/client_hello.h"
#include "guard/http_guard.h"
#include "worker/flow.h"

enum flow_state {
    FLOW_ASKED,  /* hutchd decides; what the guest sends waits */
    FLOW_FLIGHT, /* answered 200; the first flight is read */
    FLOW_DIALS,  /* hutchd connects */
    FLOW_OPEN,   /* bytes pass */
    FLOW_SHUTS,  /* http: a last answer of ours is on its way to the guest, then the end */
};

struct flow {
    TAILQ_ENTRY(flow) link;
    struct worker *worker;
    struct h2_stream *stream;
    uint64_t number;
    enum flow_state state;
    enum flow_proto proto;
    enum flow_entrance entrance;
    uint32_t flags;
    char host[256];
    bool hello_begun, guard_begun;
    struct client_hello hello;
    struct http_guard guard;
    uint32_t requests;   /* http: that hutchd was asked about */
    uint32_t responses;  /* and those whose response came */
    bool request_asked;  /* and the last has no answer yet */
    enum flow_end shuts; /* SHUTS: the end to tell */

    struct buf in;        /* from the guest, not looked at yet; its window is closed by as much */
    struct buf to_server; /* may go out now, as far as the credit reaches */
    struct buf to_guest;  /* http: behind the stream's out buffer */
    size_t raw;           /* of to_server: bytes whose window is still closed */
    bool guest_ended, server_ended, server_shut, guest_shut;

    int fd; /* -1 until dialed */
    uv_poll_t *poll;
    int events;
    uint64_t credit, up, down, told; /* told: up + down of the last FLOW_STAT */
    bool need_told;
    uint64_t moved_ms, idle_ms; /* of worker->flow_clock */
};

/* Ends a flow: tells hutchd, lets go of everything, frees. The stream: ended or reset before by the caller,
 * or reset here. */
void flow_finish(struct flow *flow, enum flow_end end, const char *reason);
/* http: hutchd is asked about a request. */
void flow_ask_request(struct flow *flow);
/* The first flight is what it must be. */
void flow_ready(struct flow *flow);

/* ---- flow_relay.c ---- */
/* Looks at and passes on what can be: after bytes of the guest, a verdict, credit, room. May end the flow. */
void flow_turn(struct flow *flow);
/* Takes the connected descriptor. */
int flow_connected(struct flow *flow, int fd);
void flow_on_writable(struct h2_stream *stream, void *user);
/* http: an answer of ours in place of the server's: status and JSON, then the end. */
void flow_answer(struct flow *flow, int status, const char *json, enum flow_end end);

#endif
