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
/* One of any state. ERROR_NOT_FOUND. *ret_request is filled with copies: state_request_finish frees them. */
int state_request_load(struct state *state, int64_t id, struct approval_request *ret_request,
                       struct error **err);
void state_request_finish(struct approval_request *request);

/* Inserts (id 0: set) or changes. */
int state_grant_save(struct state *state, struct grant *grant, struct error **err);
int state_grant_delete(struct state *state, uint64_t id, struct error **err);
int state_grants_load(struct state *state, void (*fn)(const struct grant *grant, void *user), void *user,
                      struct error **err);

#endif
