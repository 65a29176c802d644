/* flow_internal.h: what flow.c (one connection), flow_refuse.c (its refusal) and flows.c (all of them) share.
 */
#ifndef HUTCH_GUEST_FLOW_INTERNAL_H
#define HUTCH_GUEST_FLOW_INTERNAL_H

#include "guard/http_proxy.h"
#include "guest/flow.h"
#include "wire/pump.h"

enum flow_state {
    FLOW_READS,  /* a proxy's client says where to */
    FLOW_CLAIMS, /* it is known; who asks is being found out */
    FLOW_WAITS,  /* for the host, or for a stream */
    FLOW_ASKED,  /* the host has it, perhaps a person */
    FLOW_OPEN,   /* the pump has it */
    FLOW_ENDS,   /* a refusal is on its way to the client */
};

struct flow {
    struct flows *flows;
    struct flow *next, *previous;
    enum flow_state state;
    int fd; /* -1: the pump's, or closed */
    const char *entrance;
    char host[AUTHORITY_HOST_MAX + 1]; /* IPv6 in brackets */
    uint16_t port;
    struct claim_ends ends;
    struct claim_question *question; /* until it is answered */
    struct claim *claim;             /* until it is asked */
    pid_t pid;
    char exe[256];
    struct http_proxy *proxy; /* until it is open */
    struct buf early;         /* what the client sent behind its request */
    struct buf out;           /* to the client, in FLOW_ENDS */
    struct h2_stream *stream;
    int status;
    struct buf body; /* of the host's refusal */
    uint64_t since_ms;
    uv_poll_t poll;
    int events;
    uv_timer_t timer;
    bool polling; /* the handle is initialised */
    bool half_closed;
    bool waiting; /* in the queue */
    unsigned handles;
};

struct flows {
    struct flows_parts parts;
    struct link *link;
    struct flow *first, *last; /* in the order of their coming */
    size_t count, waiting;
    uv_timer_t timer;                         /* looks after those that wait, and the resets */
    struct h2_stream *doomed[H2_STREAMS_MAX]; /* to be reset when that is no offence */
    size_t doomed_count;
    double resets; /* that may be sent now */
    uint64_t refilled_ms;
    bool closing, timer_runs;
};

/* ---- flow.c ---- */
void flow_begin(struct flows *flows, int fd, enum flow_door door, uint16_t capture_port);
/* Sends the CONNECT. */
void flow_ask(struct flow *flow);
/* The client sees a reset; the stream goes too. Frees the flow, later. */
void flow_abort(struct flow *flow);
/* Lets go of the descriptor's handle, the timer, all of it. reset: the client sees one. */
void flow_close(struct flow *flow, bool reset);
void flow_poll(struct flow *flow, int events);
/* What is in flow->out goes to the client, then it is over. */
void flow_end(struct flow *flow);

/* ---- flow_refuse.c ---- */
/* The host's answer, or one of our own: a status, a reason code and a sentence. */
void flow_refuse_by_host(struct flow *flow);
void flow_refuse(struct flow *flow, int status, const char *reason, const char *next);
/* What the parser says of itself is in flow->out already. */
void flow_refuse_form(struct flow *flow);

/* ---- flows.c ---- */
uint64_t flows_now(const struct flows *flows);
/* It knows where to and who: it is asked now or waits. */
void flows_admit(struct flow *flow);
void flows_leave_queue(struct flow *flow);
void flows_forget(struct flow *flow);
/* A stream is free. */
void flows_next(struct flows *flows);
/* Resets a stream, now or when that is no offence. */
void flows_reset_stream(struct flows *flows, struct h2_stream *stream);

#endif
