/* git_asked.h: git in a machine asks by a flow of a reserved name: it has pushed, or is about to fetch. Loop
 * thread. */
#ifndef HUTCH_DAEMON_GIT_ASKED_H
#define HUTCH_DAEMON_GIT_ASKED_H

#include "daemon/daemon.h"
#include "egress/flow.h"

/* Answered by flows_reply when it is done, with JSON. */
void git_out_asked(struct daemon *daemon, const char *id, struct flows *flows, uint64_t flow,
                   enum flow_git what, const char *repo);
/* It does not wait any more. */
void git_out_gone(struct daemon *daemon, struct flows *flows, uint64_t flow);

#endif
