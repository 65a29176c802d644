/* git.h: runs one git command by argv, with progress from its stderr and cancellation. Private to src/repo,
 * but for git_own.
 */
#ifndef HUTCH_REPO_GIT_H
#define HUTCH_REPO_GIT_H

#include "repo/repo.h"

struct git_run {
    const char *const *argv; /* argv[0] "git" or a full path */
    const char *const
        *env; /* NULL-ended "K=V" that replace or join the caller's environment; with only_env: all of it */
    bool only_env;
    int keep;          /* a descriptor that the child gets as number 3, or -1 */
    const char *input; /* its stdin, or NULL */
    const char *what;  /* for errors: "git fetch of 'URL'" */
    repo_progress_fn progress;
    void *user;
    const atomic_bool *cancel;
    unsigned limit_s;       /* wall clock; 0: none */
    unsigned quiet_limit_s; /* nothing on stderr or stdout for so long; 0: none */
    size_t out_limit;       /* most bytes of stdout that are kept */
    bool whole;             /* more than that is ERROR_LIMIT: half an answer is none */
    uint64_t objects_max;   /* ERROR_LIMIT when its progress counts to more ("Receiving objects"); 0: none */
    const char *room_of; /* the disk of this folder keeps room_min bytes free, or ERROR_NO_SPACE; NULL: any */
    uint64_t room_min;
};
/* Runs it to the end. *ret_out (may be NULL): stdout, caller frees. A status other than 0 is ERROR_FAILED
 * (ERROR_NETWORK where git says that it could not reach the other side) with git's own last line in the
 * message, made safe. ERROR_CANCELLED, ERROR_TIMED_OUT end the whole process group. */
int git_run(const struct git_run *run, char **ret_out, struct error **err);
/* Runs one short git command in a bare repository of hutch's own, as hutch and not as the user: no
 * configuration but that repository's, no hook, no network. args: NULL-ended, at most 24. input: its stdin,
 * or NULL. ret_out may be NULL; caller frees. More than 16 MiB of it are ERROR_LIMIT. */
int git_own(const char *folder, const char *const *args, const char *input, char **ret_out,
            struct error **err);
/* The environment with which git works for the user (his own configuration), never asking at a terminal. Free
 * with git_free_list. */
char **git_user_env(void);
void git_free_list(char **list);
/* Forgets what the environment says of one repository (GIT_DIR and its like): a program that a hook or a
 * remote helper started serves others too. Before there are threads. */
void git_leave_repository(void);
/* A number of git's progress line, "Receiving objects:  45% (450/1000), 12.00 MiB | 3 MiB/s": false if it is
 * no such line. */
bool git_parse_progress(const char *line, uint64_t *ret_done, uint64_t *ret_total, uint64_t *ret_bytes);
/* Whether a ref name may be named in an argv and shown: [A-Za-z0-9._/-]{1,200}, no "..", no leading "-" or
 * "/". */
bool git_ref_ok(const char *name);

#endif
