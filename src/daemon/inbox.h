/* inbox.h: requests of all projects (approval/) in hutchd: stored in state.db, told by the journal, timed by
 * the loop, frozen through the lanes. Loop thread.
 *
 * Who asks is an owner: it builds the question (approval_ask), applies the answer, and lets its act go on or
 * not when the waiter's done is called. */
#ifndef HUTCH_DAEMON_INBOX_H
#define HUTCH_DAEMON_INBOX_H

#include "approval/approval.h"
#include "daemon/daemon.h"
#include "daemon/inbox_settings.h"

#define INBOX_ATTEND_MS (10 * 60 * 1000) /* a person attends for so long after a key */

struct inbox;

/* Makes it and takes up the questions that were open. An error: they cannot be read. */
int inbox_create(struct daemon *daemon, struct inbox **ret_inbox, struct error **err);
/* hutchd ends: what is still held is refused with its number, and no job begins any more. */
void inbox_close(struct inbox *inbox);
/* Everyone who waits must have been withdrawn. */
void inbox_destroy(struct inbox *inbox);
struct approval *inbox_approval(struct inbox *inbox);

/* An owner of requests: const tables. */
struct inbox_owner {
    const char *name; /* approval_request.owner */
    /* An answer allows: makes what its scope says, durably. */
    int (*apply)(struct daemon *daemon, const struct approval_request *request, struct error **err);
    /* A session has ended, or (session NULL) a boot: what was allowed for it alone ends. May be NULL. */
    void (*ended)(struct daemon *daemon, const char *project, const char *session);
    /* The project is removed: all that was allowed for it. May be NULL. */
    void (*forget)(struct daemon *daemon, const char *project);
};
void inbox_add_owner(struct inbox *inbox, const struct inbox_owner *owner);
void inbox_ended(struct inbox *inbox, const char *project, const char *session);
/* Its questions are gone, with all that was allowed. */
void inbox_forget(struct inbox *inbox, const char *project);
/* The same from a job thread; they return when it is done. */
void inbox_post_boot_ended(struct daemon *daemon, const char *project);
void inbox_post_forget(struct daemon *daemon, const char *project);

/* A person's key came in a client that shows this project (NULL: the inbox, all of them). */
void inbox_attend(struct inbox *inbox, const char *project);
bool inbox_attended(const struct inbox *inbox, const char *project);
/* [approvals] as it is now, for a question of this project. */
void inbox_settings(struct inbox *inbox, const char *project, struct inbox_settings *ret_settings);
/* `z`, or --thaw: the machine goes on without an answer; its questions wait. */
void inbox_thaw(struct inbox *inbox, const char *project);
/* What is held in the project (NULL: in all) loses its ground: see approval_away. */
void inbox_away(struct inbox *inbox, const char *project);
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
