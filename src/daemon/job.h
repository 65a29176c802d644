/* job.h: what takes time runs as a job on a thread. Jobs of one lane (a project's id, "template:NAME", …) run
 * one after the other, so a project's lane is also libvirt's queue for its machine; lanes run beside each
 * other. A lane without work has no thread. Any number of clients watch a job: each gets the last lines of
 * progress and then what comes; one that goes away stops nothing. */
#ifndef HUTCH_DAEMON_JOB_H
#define HUTCH_DAEMON_JOB_H

#include "base/error.h"

#include <jansson.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct daemon;
struct h2_stream;
struct job;
struct jobs;

/* A kind of job; const tables. */
struct job_kind {
    const char *name; /* "up", as `busy` shows it */
    /* On the job's thread. *ret_result: the result's JSON (may stay NULL). */
    int (*run)(struct job *job, void *params, json_t **ret_result, struct error **err);
    void (*free_params)(void *params); /* or NULL */
    bool quiet;                        /* internal: `busy` does not show it */
};

/* ---- loop thread ---- */
struct jobs *jobs_create(struct daemon *daemon);
/* No job runs or waits. */
bool jobs_idle(const struct jobs *jobs);
/* Sets the cancel flag of all jobs. */
void jobs_cancel_all(struct jobs *jobs);
void jobs_destroy(struct jobs *jobs);
/* Queues a job in a lane; owns params. Valid until it has ended. */
struct job *job_submit(struct jobs *jobs, const char *lane, const struct job_kind *kind, void *params);
/* The queued or running job of this kind that has not been cancelled, or NULL. */
struct job *job_find(struct jobs *jobs, const char *lane, const struct job_kind *kind);
/* A job of this kind waits in the lane (the running one does not count). */
bool job_waits(struct jobs *jobs, const char *lane, const struct job_kind *kind);
/* One of this kind that waits in the lane and has not been cancelled, or NULL. */
struct job *job_waiting(struct jobs *jobs, const char *lane, const struct job_kind *kind);
/* The job that runs in the lane, or NULL. */
struct job *job_running(struct jobs *jobs, const char *lane);
/* Cancels the jobs of a kind in a lane: the running one at its next look, the waiting ones before they begin.
 */
void job_cancel(struct jobs *jobs, const char *lane, const struct job_kind *kind);
/* Answers the stream with the job's lines and its end. */
void job_watch(struct job *job, struct h2_stream *stream);
/* Calls fn once on the loop when the job has ended. */
void job_on_end(struct job *job, void (*fn)(const json_t *result, const struct error *err, void *user),
                void *user);
const struct job_kind *job_kind(const struct job *job);
void *job_params(struct job *job);

/* ---- job threads ---- */
struct daemon *job_daemon(struct job *job);
const char *job_lane(const struct job *job);
/* A line of progress for all who watch. unit: NULL, "bytes" or "objects". Thread-safe. */
void job_progress(struct job *job, const char *phase, uint64_t done, uint64_t total, const char *unit,
                  const char *format, ...) __attribute__((format(printf, 6, 7)));
/* A line that is to be read also where progress is not shown. Thread-safe. */
void job_warn(struct job *job, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* A line of another form (doctor, verify); takes over the reference. */
void job_line(struct job *job, json_t *line);
const atomic_bool *job_cancel_flag(const struct job *job);
/* ERROR_CANCELLED when it was cancelled, else 0. */
int job_check(const struct job *job, struct error **err);

#endif
