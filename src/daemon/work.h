/* work.h: what a job on a project works with: its own copy of the record, of which the lane is the only
 * writer, and the hypervisor. All functions are for the job's thread. */
#ifndef HUTCH_DAEMON_WORK_H
#define HUTCH_DAEMON_WORK_H

#include "daemon/daemon.h"

struct work {
    struct daemon *daemon;
    struct job *job;
    struct vm_host *host;
    struct record r;
};

/* ERROR_NOT_FOUND if the project went away while the job waited. */
int work_begin(struct work *work, struct job *job, struct error **err);
void work_finish(struct work *work);
/* Writes the record to state.db, then to the table. */
int work_save(struct work *work, struct error **err);
/* Records that this step is begun, tells it as progress, and looks whether the job was cancelled. */
int work_step(struct work *work, enum step step, struct error **err);
/* The same for what must not be left half done: a cancelled job goes on. */
int work_step_anyway(struct work *work, enum step step, struct error **err);
/* The same, with rows that belong to the step in one transaction (state.h). */
int work_step_with(struct work *work, enum step step, state_more_fn more, void *user, struct error **err);
/* Writes the record with what more writes, then to the table; no step. */
int work_save_with(struct work *work, state_more_fn more, void *user, struct error **err);
/* The operation is over: no step, no failure. */
int work_done(struct work *work, struct error **err);
/* It failed: the reason is kept with the project. keep_step: the step stays recorded (it must be finished
 * later). */
void work_failed(struct work *work, const struct error *why, bool keep_step);
/* The project as the API shows it. */
json_t *work_result(struct work *work);

#endif
