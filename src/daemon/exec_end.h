/* exec_end.h: the ends of sessions in the journal: each session that was started is waited for, also over
 * restarts of hutchd, of the worker and of the guest. Loop thread. */
#ifndef HUTCH_DAEMON_EXEC_END_H
#define HUTCH_DAEMON_EXEC_END_H

#include "daemon/daemon.h"

/* A session was started (its start is in the journal): its end is waited for. */
void exec_end_begin(struct daemon *daemon, const char *id, const struct guest_session *session,
                    const char *subject);
/* It could not be started. */
void exec_end_failed(struct daemon *daemon, const char *id, const char *subject, const struct error *why);
/* A guest came into step: the sessions of which no end is known are waited for again. */
void exec_end_watch(struct daemon *daemon, const char *id, struct guest *guest);
/* Whether a session has a terminal, as far as is known. */
bool exec_end_is_terminal(struct daemon *daemon, const char *id, const char *session);

#endif
