/* inbox_egress.h: the questions that flows raise: from a flow to what a person is shown, from an answer to a
 * grant or a rule, and to the flow. Also the store of grants. Loop thread. */
#ifndef HUTCH_DAEMON_INBOX_EGRESS_H
#define HUTCH_DAEMON_INBOX_EGRESS_H

#include "daemon/daemon.h"
#include "egress/flow.h"

/* ---- for flow_ops ---- */
/* ask: returns the request's number, 0 with *ret_reason. The answer comes by flows_answer(flows, …). */
uint64_t inbox_egress_ask(struct daemon *daemon, struct flows *flows, const struct flow *flow,
                          enum reason *ret_reason);
void inbox_egress_withdraw(struct daemon *daemon, struct flows *flows, const struct flow *flow);
/* grants: of every project; borrowed until the next call of this file. */
size_t inbox_egress_grants(struct daemon *daemon, const struct grant **ret_grants);
void inbox_egress_used(struct daemon *daemon, const struct grant *grant);
/* wait: flows_reply when request `id` of the project is answered; at once if there is no such request. */
void inbox_egress_wait(struct daemon *daemon, const char *project, struct flows *flows, uint64_t flow,
                       uint64_t id);

/* The project has other rules now: questions that they decide are gone, the others are about them. */
void inbox_egress_rules(struct daemon *daemon, const char *project, const struct policy *policy);
/* A session ended, or (session NULL) a boot, or a snapshot was gone back to: its grants end. */
void inbox_egress_ended(struct daemon *daemon, const char *project, const char *session);
/* The project is removed: all of its grants. */
void inbox_egress_forget(struct daemon *daemon, const char *project);

#endif
