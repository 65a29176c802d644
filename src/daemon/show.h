/* show.h: what the guest says (worker/proto.h) as JSON for clients. Text for showing passes text.h; names and
 * paths stay as they are where a client gives them back (doc/protocol.md). */
#ifndef HUTCH_DAEMON_SHOW_H
#define HUTCH_DAEMON_SHOW_H

#include "daemon/daemon.h"

/* The item's struct by its kind; {} for none. project_id: for a session's "project" (its name). New
 * reference. */
json_t *show_item(struct daemon *daemon, const char *project_id, const struct wmsg_item *item);
json_t *show_health(const struct guest_health *health);
/* The project with `repos`, `layers`, `vm` and `guest`. NULL if it is gone. */
json_t *show_project(struct daemon *daemon, const char *id);
/* The project as lists have it. NULL if it is gone. */
json_t *show_project_row(struct daemon *daemon, const char *id);
json_t *show_event(const struct event *event);

#endif
