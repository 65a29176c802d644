/* land.h: a branch of a project's quarantine becomes one of the user's repository. */
#ifndef HUTCH_DAEMON_LAND_H
#define HUTCH_DAEMON_LAND_H

#include "daemon/daemon.h"

/* The quarantine of a repository of a project; name NULL or "": its only one. ERROR_NOT_FOUND, ERROR_USAGE
 * name what there is. ret_folder, ret_repo (its name): callers free. [any thread] */
int land_find_quarantine(struct daemon *daemon, const char *id, const char *name, char **ret_folder,
                         char **ret_repo, struct error **err);
/* The job. params: struct land_params. Its result: {"repository", "branch", "commit", "from", "whole",
 * "pushed" (URL or null), "request" (of the push that this answers, or null)}. */
extern const struct job_kind land_kind;

/* Before the branch's name, in the reason of a request that a landing has answered. */
#define LAND_BECAME "landed as "

struct land_params {
    char id[PROJECT_ID_MAX];
    json_t *body; /* as POST …/git/land has it */
};
/* Checks the body's form. NULL with err. */
struct land_params *land_params_parse(const char *id, json_t *body, struct error **err);
/* The commit of a push, from the fields of its request; NULL if it names none. Borrowed. */
json_t *land_commit_of(const json_t *fields);
/* ---- loop thread ---- */
/* Whether a landing answers this request at this moment: it needs no second one. */
bool land_answers(int64_t request);

/* ---- land_allowed.c ---- */
/* At the start: what is allowed in the inbox lands. */
void land_create(void);
/* When the projects are known: what an earlier hutchd was about to land. */
void land_resume(struct daemon *daemon);
/* The push was allowed and its landing has not ended. */
bool land_is_under_way(int64_t request);

#endif
