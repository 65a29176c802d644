/* git_lost.h: work that would be gone with a project is kept for 30 days: refs/lost/DATE/PROJECT/NAME of its
 * quarantine, which is moved out of the project's folder, to data/lost/PROJECT/REPO.git. */
#ifndef HUTCH_DAEMON_GIT_LOST_H
#define HUTCH_DAEMON_GIT_LOST_H

#include "daemon/daemon.h"

#define GIT_LOST_DAYS 30

/* Before a removal that gives up work: fetches what the machine alone has, as far as it answers, and names
 * what exists nowhere else. What cannot be had is said by job_warn. *ret_count: refs that were named. [job
 * threads] */
void git_lost_name(struct daemon *daemon, struct job *job, const struct record *record, size_t *ret_count);
/* Moves quarantines in which something is named away from the project's folder. Again after any interruption.
 * [job threads] */
int git_lost_move(struct daemon *daemon, const struct record *record, struct error **err);
/* Removes what is older than GIT_LOST_DAYS. [job threads] */
void git_lost_expire(struct daemon *daemon);
/* A line of the job for each of them: {"project", "repo", "name", "commit", "removed_ns", "folder", …}. [job
 * threads] */
int git_lost_list(struct daemon *daemon, struct job *job, struct error **err);

/* ---- git_list.c: what `hutch git ls` shows ---- */
/* A line of the job for each ref of a folder below a prefix: {"repo", "ref", "kind", "name", "commit",
 * "commits" (that the mirror has not), "time_ns", "subject"}, with what `more` (or NULL) has. */
int git_list_refs(struct job *job, const char *folder, const char *repo, const char *prefix,
                  const json_t *more, struct error **err);
extern const struct job_kind git_list_kind;      /* params: struct git_job_params */
extern const struct job_kind git_fetch_all_kind; /* params: struct git_job_params */
extern const struct job_kind git_push_in_kind;   /* params: struct git_job_params */
extern const struct job_kind git_lost_kind;      /* no params */
/* git_pushes.c: a line for each push that is or was in the inbox, the newest first */
extern const struct job_kind git_pushes_kind; /* params: struct git_job_params */
struct git_job_params {
    char id[PROJECT_ID_MAX];
};

#endif
