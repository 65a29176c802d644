/* snapshot.h: a project's snapshots: a point of its disk that stays, shown as @N. Taking one freezes the
 * layer that is written and puts a new one on it; the machine goes on on that. All of it goes through the
 * project's lane, so snapshots, freezes and power wait for each other. */
#ifndef HUTCH_DAEMON_SNAPSHOT_H
#define HUTCH_DAEMON_SNAPSHOT_H

#include "daemon/state_snapshots.h"
#include "daemon/work.h"

/* What is asked for; owned by the job. */
struct snapshot_params {
    char cause[16]; /* one of SNAPSHOT_CAUSES */
    char *about;    /* the cause in words, or NULL */
    char *note;     /* or NULL */
};
extern const struct job_kind snapshot_kind; /* params: struct snapshot_params; result: the snapshot */
struct restore_params {
    int64_t number;
    bool discard; /* the present is given up, not kept as a snapshot; refused if it holds work that exists
                     nowhere else */
};
extern const struct job_kind restore_kind; /* params: struct restore_params; result: project, snap, kept */
struct snaprm_params {
    int64_t number;
    bool discard_work; /* also if nothing else holds what was written up to it */
};
extern const struct job_kind snaprm_kind; /* params: struct snaprm_params; result: {"snap", "later"} */
/* From a request's body (NULL: all defaults). NULL with err: ERROR_INVALID names what is wrong. */
struct snapshot_params *snapshot_params_parse(const json_t *body, struct error **err);

/* "@12" or "12"; ERROR_INVALID otherwise. */
int snapshot_number(const char *text, int64_t *ret_number, struct error **err);
/* "@12", or null for 0. New reference. */
json_t *snapshot_address(int64_t number);
/* The files that a snapshot needs, as layers_chain. [any thread] */
int snapshot_chain(const struct daemon *daemon, const struct record *record, const struct snapshot_row *row,
                   char ***ret_chain, struct error **err);
/* What going back to it undoes and ends, what stays, as far as it is known without looking into the disks:
 * doc/protocol.md. NULL with err. [any thread] */
json_t *snapshot_plan(struct daemon *daemon, const struct record *record, const struct snapshot_row *row,
                      struct error **err);
/* A snapshot as the API shows it. New reference. [any thread] */
json_t *snapshot_json(const struct daemon *daemon, const struct record *record,
                      const struct snapshot_row *row);

/* ---- job threads ---- */
/* Takes one: *ret_row is what was made (snapshot_row_finish). The machine may run, stand still, or be off. On
 * failure everything is as before. */
int snapshot_take(struct work *work, const struct snapshot_params *params, struct snapshot_row *ret_row,
                  struct error **err);
/* Finishes or undoes one that was broken off: by what the machine really writes to. */
int snapshot_settle(struct work *work, struct error **err);
/* The same for going back: undone before the switch, finished after it. */
int restore_settle(struct work *work, struct error **err);
/* The same for a removal and a merge. */
int merge_settle(struct work *work, struct error **err);
/* Lets go of layers that no snapshot needs: those on which nothing stands are removed, others are merged into
 * the one that stands on them. A machine that lives keeps those that it has open for later: *ret_later (may
 * be NULL) says how many. */
int merge_spare(struct work *work, unsigned *ret_later, struct error **err);

#endif
