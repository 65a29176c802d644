/* state_requests.h: requests and grants in state.db. Every change is committed and synced when a function
 * returns; thread-safe by the state's lock. Times of requests are ms, of grants seconds, since 1970. */
#ifndef HUTCH_DAEMON_STATE_REQUESTS_H
#define HUTCH_DAEMON_STATE_REQUESTS_H

#include "approval/approval.h"
#include "daemon/state.h"
#include "policy/grant.h"

/* Inserts (id 0: the next number is given and set; numbers are never used twice) or changes. */
int state_request_save(struct state *state, struct approval_request *request, struct error **err);
/* Calls fn for each that is open (held, frozen, waiting), oldest first; fn copies what it keeps. */
int state_requests_open(struct state *state, void (*fn)(const struct approval_request *request, void *user),
                        void *user, struct error **err);
/* Calls fn for each of a project and verb that was denied, with a reason, since a time (ms since 1970): the
 * newest first, at most max. */
int state_requests_denied(struct state *state, const char *project, const char *verb, int64_t since_ms,
                          size_t max, void (*fn)(const struct approval_request *request, void *user),
                          void *user, struct error **err);
/* One of any state. ERROR_NOT_FOUND. *ret_request is filled with copies: state_request_finish frees them. */
int state_request_load(struct state *state, int64_t id, struct approval_request *ret_request,
                       struct error **err);
void state_request_finish(struct approval_request *request);

/* Inserts (id 0: set) or changes. */
int state_grant_save(struct state *state, struct grant *grant, struct error **err);
int state_grant_delete(struct state *state, uint64_t id, struct error **err);
int state_grants_load(struct state *state, void (*fn)(const struct grant *grant, void *user), void *user,
                      struct error **err);

/* The counters of a project's budget, as text. ret_text: NULL if there are none; the caller's. */
int state_budget_save(struct state *state, const char *project, const char *text, struct error **err);
int state_budget_load(struct state *state, const char *project, char **ret_text, struct error **err);

/* How requests of one verb and tier were answered. */
struct request_stats {
    char verb[16];
    enum approval_tier tier;
    unsigned asked, allowed, denied, gone, open;
    int64_t median_ms; /* from the question to a person's answer; -1: there was none */
};
#define REQUEST_STATS_MAX 64
/* Of the newest REQUEST_STATS_ROWS requests of a project (id; "": of all). *ret_count: at most max. */
#define REQUEST_STATS_ROWS 10000
int state_request_stats(struct state *state, const char *project, struct request_stats *ret, size_t max,
                        size_t *ret_count, struct error **err);

#endif
