/* inbox.h: requests of all projects (approval/) in hutchd: stored in state.db, told by the journal, timed by
 * the loop, frozen through the lanes. Loop thread.
 *
 * Who asks is an owner: it builds the question (approval_ask), applies the answer, and lets its act go on or
 * not when the waiter's done is called. */
#ifndef HUTCH_DAEMON_INBOX_H
#define HUTCH_DAEMON_INBOX_H

#include "approval/approval.h"
#include "daemon/daemon.h"

#define INBOX_ATTEND_MS (10 * 60 * 1000) /* a person attends for so long after a key */

struct inbox;

/* Makes it and takes up the questions that were open. An error: they cannot be read. */
int inbox_create(struct daemon *daemon, struct inbox **ret_inbox, struct error **err);
/* Everyone who waits must have been withdrawn. */
void inbox_destroy(struct inbox *inbox);
struct approval *inbox_approval(struct inbox *inbox);

/* An owner of requests: const tables. */
struct inbox_owner {
    const char *name; /* approval_request.owner */
    /* An answer allows: makes what its scope says, durably. */
    int (*apply)(struct daemon *daemon, const struct approval_request *request, struct error **err);
};
void inbox_add_owner(struct inbox *inbox, const struct inbox_owner *owner);

/* A person's key came in a client that shows this project (NULL: the inbox, all of them). */
void inbox_attend(struct inbox *inbox, const char *project);
bool inbox_attended(const struct inbox *inbox, const char *project);
/* Refuse what waits when nobody attends (the default), or freeze. */
void inbox_set_away(struct inbox *inbox, bool freezes);
/* `z`, or --thaw: the machine goes on without an answer; its questions wait. */
void inbox_thaw(struct inbox *inbox, const char *project);
/* Calls fn once when request id is answered or gone (state, typed words), at once if it is already. Returns a
 * number for inbox_unwait; 0: there is no such request of this project, fn is not called. */
typedef void (*inbox_wait_fn)(int64_t id, enum approval_state state, const char *words, void *user);
uint64_t inbox_wait(struct inbox *inbox, const char *project, int64_t id, inbox_wait_fn fn, void *user);
void inbox_unwait(struct inbox *inbox, uint64_t wait);

/* inbox_egress.c: adds egress as an owner and reads the stored grants; all flows must have been withdrawn at
 * its end. */
int inbox_egress_create(struct daemon *daemon, struct error **err);
void inbox_egress_destroy(struct daemon *daemon);

#endif
