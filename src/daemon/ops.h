/* ops.h: the long operations on a project: a kind of job each (job.h), and the parts they are made of. */
#ifndef HUTCH_DAEMON_OPS_H
#define HUTCH_DAEMON_OPS_H

#include "daemon/work.h"

#include <sys/types.h>

/* What `up` was asked for; owned by the job. An empty one (start) only does the missing steps. */
struct up_params {
    json_t *request; /* the body, for comparing; NULL: start */
    char **repos;    /* specs, NULL-ended, or NULL */
    unsigned cpus;   /* 0: not asked for, as are the next */
    uint64_t memory, disk;
    bool cold; /* a memory image is dropped */
};
extern const struct job_kind up_kind; /* params: struct up_params */

struct stop_params {
    bool force;
};
extern const struct job_kind stop_kind;    /* params: struct stop_params */
extern const struct job_kind pause_kind;   /* no params */
extern const struct job_kind resume_kind;  /* no params */
extern const struct job_kind suspend_kind; /* no params */

struct remove_params {
    bool discard_work;
};
extern const struct job_kind remove_kind; /* params: struct remove_params */
/* Before a removal breaks off the `up` or `stop` that runs or waits (other; NULL: none): ERROR_WOULD_LOSE if
 * it would only be refused afterwards, because nobody can look into the machine now. Loop thread, table
 * locked. */
int remove_check_idle(const struct project *project, bool discard_work, const struct job *other,
                      struct error **err);

/* ---- parts; job threads ---- */

/* Brings a project in accord with libvirt and disk after a start of hutchd, and finishes or undoes what was
 * interrupted. */
int reconcile_project(struct work *work, struct error **err);
/* Queues that for every project, and calls fn when all are through (at once if there is none). Loop thread.
 */
void reconcile_start(struct daemon *daemon, void (*fn)(struct daemon *daemon));

/* What `up` does with a project that is made: starts it and waits until it is ready. */
int up_again(struct work *work, struct error **err);
/* ERROR_WOULD_LOSE if a work tree in the machine holds what exists nowhere else, or nobody can say. */
int remove_check_work(struct work *work, struct error **err);
/* Restores the memory image and lets the machine go on. */
int power_wake(struct work *work, struct error **err);
/* Destroys, for what comes after a failed start. Errors are logged. */
void power_off_quietly(struct work *work);
/* A complete memory image lies at path (libvirt's header says complete). */
bool power_image_complete(const char *path);

/* Waits until the system in the machine is ready. Ends within its limit; the error names the phase and shows
 * the console's end. */
int boot_wait(struct work *work, struct error **err);
/* Clock, host name, time zone, locale, git name and mail, size of the root file system. */
int identity_set(struct work *work, struct error **err);

/* The repositories' way in. check: parses the specs and appends rows for new ones. begin: fetches into
 * mirrors on a thread beside the boot; end waits for it, pushes and checks out what is not done. finish:
 * after begin, also when the boot failed. */
struct code_in;
int code_in_check(struct work *work, char **specs, struct error **err);
struct code_in *code_in_begin(struct work *work);
int code_in_end(struct code_in *code, struct error **err);
void code_in_finish(struct code_in *code);
AUTO_DEFINE(code_in, struct code_in *, code_in_finish);

#endif
