/* agent.h: the state of a running `hutch-guest serve`, and calls: one request of the API from its head to its
 * answer. */
#ifndef HUTCH_GUEST_AGENT_H
#define HUTCH_GUEST_AGENT_H

#include "guest/children.h"
#include "guest/place.h"
#include "guest/query.h"
#include "wire/json.h"

#include <uv.h>

struct health;
struct net;
struct route;
struct session_spare;

struct agent {
    uv_loop_t loop;
    struct place place;
    struct children children;
    struct health *health;
    struct session_spare *spare;
    struct net *net; /* NULL: there is none here */
};

/* A request. Its handler answers it once, now or later, by one of the functions below, which free it. When
 * the client goes away first, on_gone is called (or, without it, the call is freed at once): it stops what
 * runs and frees the call, then or later. */
struct call {
    struct agent *agent;
    struct h2_stream *stream; /* NULL once the client has gone */
    const struct route *route;
    struct query query;
    json_t *body; /* of routes with a JSON body; NULL if it was empty */
    void (*on_gone)(struct call *call);
    void *state; /* the handler's */
};

/* The one entrance: finds the route, collects a JSON body where the route has one, calls the handler. */
void call_begin(struct agent *agent, struct h2_stream *stream, const struct h2_head *head);
/* Answers 200 with body (reference taken; NULL: {}). */
void call_reply(struct call *call, json_t *body);
/* Answers with the error (taken). */
void call_fail(struct call *call, struct error *err);
/* Frees without an answer: somebody else (a pump) has the stream, or it is gone. */
void call_free(struct call *call);
/* Gives the stream back to the call after a pump had it, so that on_gone works again. */
void call_watch(struct call *call);

/* Runs work on libuv's pool and answers with its result. work must not touch the stream. */
typedef int (*call_work_fn)(struct call *call, json_t **ret, struct error **err);
void call_work(struct call *call, call_work_fn work);

#endif
