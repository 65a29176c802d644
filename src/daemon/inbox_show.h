/* inbox_show.h: a request as the API shows it (doc/protocol.md "Requests"). */
#ifndef HUTCH_DAEMON_INBOX_SHOW_H
#define HUTCH_DAEMON_INBOX_SHOW_H

#include "approval/approval.h"
#include "daemon/daemon.h"

#include <jansson.h>

/* A line of the list. New reference. */
json_t *inbox_show_row(struct daemon *daemon, const struct approval_request *request);
/* All of it: what the answers do, and (open) the nonce and digest that an answer gives back. New reference.
 */
json_t *inbox_show(struct daemon *daemon, const struct approval_request *request);
/* The same of one that is over, from the store. NULL: an error. */
json_t *inbox_show_stored(struct daemon *daemon, int64_t id, struct error **err);
/* ERROR_STATE that says how a request was answered already, and by whom, or why it is gone; ERROR_NOT_FOUND.
 */
int inbox_explain_over(struct daemon *daemon, int64_t id, struct error **err);
bool inbox_is_open(const struct approval_request *request);
/* How requests of a project (id; "": of all) were answered, an object for each kind and class: a new
 * reference. */
json_t *inbox_show_stats(struct daemon *daemon, const char *project, struct error **err);

#endif
