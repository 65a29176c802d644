/* inbox_egress.h: the questions that flows raise: from a flow to what a person is shown, from an answer to a
 * grant (inbox_grants.h) or a rule, and to the flow. Loop thread. */
#ifndef HUTCH_DAEMON_INBOX_EGRESS_H
#define HUTCH_DAEMON_INBOX_EGRESS_H

#include "daemon/daemon.h"
#include "egress/flow.h"

/* ---- for flow_ops ---- */
/* ask: returns the request's number, 0 with *ret_reason. The answer comes by flows_answer(flows, …). */
uint64_t inbox_egress_ask(struct daemon *daemon, struct flows *flows, const struct flow *flow,
                          enum reason *ret_reason);
void inbox_egress_withdraw(struct daemon *daemon, struct flows *flows, const struct flow *flow);
/* wait: flows_reply when request `id` of the project is answered; at once if there is no such request. */
void inbox_egress_wait(struct daemon *daemon, const char *project, struct flows *flows, uint64_t flow,
                       uint64_t id);

/* The project has other rules now: questions that they decide are gone, the others are about them. */
void inbox_egress_rules(struct daemon *daemon, const char *project, const struct policy *policy);

#endif
