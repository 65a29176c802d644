/* land.h: a commit of a quarantine becomes a branch of the user's own repository, or goes on to its remote.
 * git does it by argv, as the user, without hooks; its fsck looks at every object that comes in. The work
 * tree, HEAD and its branch are never touched. Blocking: job threads. */
#ifndef HUTCH_REPO_LAND_H
#define HUTCH_REPO_LAND_H

#include "repo/repo.h"

struct land {
    const char *repository; /* full path: a work tree, a linked one, a bare repository */
    const char *quarantine; /* where the commit is */
    const char *commit;     /* hex */
    const char *branch;     /* short name, "hutch/shop/fix" */
    bool fast_forward;      /* a branch that is there may move forward */
    const atomic_bool *cancel;
};
/* Looks at everything that does not need the objects. ERROR_NOT_FOUND: no repository there; ERROR_INVALID: a
 * name that is none; ERROR_STATE: the branch is HEAD's or is checked out in a work tree, or the repository
 * has other object names; ERROR_EXISTS: it is there and fast_forward was not asked for. */
int land_check(const struct land *land, struct error **err);
/* Checks, copies the objects, and makes or moves the branch in one step. ERROR_DENIED: git's fsck refused an
 * object (its words); ERROR_STATE: no fast-forward. On failure the repository's refs are as they were. */
int land_branch(const struct land *land, repo_progress_fn progress, void *user, struct error **err);
/* Pushes the landed branch under the same name to the repository's "origin", as the user and without force;
 * his own hooks for pushes run, as if he pushed. ret_url: where to, without a password; caller frees. */
int land_push(const struct land *land, repo_progress_fn progress, void *user, char **ret_url,
              struct error **err);
/* Whether a branch or a tag of that repository, or what it knows of its "origin", has the commit (hex). */
bool land_contains(const char *repository, const char *commit);
/* The user as git knows him in that repository. Callers free. ERROR_STATE: he has told git no name. */
int land_identity(const char *repository, char **ret_name, char **ret_mail, struct error **err);

#endif
