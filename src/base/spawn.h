/* spawn.h: child processes by argv, never through a shell, with every descriptor closed that was not asked
 * for. */
#ifndef HUTCH_BASE_SPAWN_H
#define HUTCH_BASE_SPAWN_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define SPAWN_KEEP_MAX 8

struct spawn {
    const char *const *argv;  /* NULL-ended; argv[0] is looked up in PATH unless it has a slash */
    const char *const *env;   /* NULL-ended "K=V" list; NULL: the caller's environment */
    const char *cwd;          /* or NULL */
    int in, out, err;         /* descriptors for 0, 1, 2; -1: /dev/null */
    int keep[SPAWN_KEEP_MAX]; /* further descriptors that the child inherits under the numbers 3, 4, … */
    size_t keep_count;
    bool new_session; /* setsid: signals of a terminal do not reach it */
};

/* Starts it (posix_spawn: safe in a threaded process; signal mask and dispositions reset). ERROR_MISSING
 * names a program that is not there. The caller waits for *ret_pid. */
int spawn_start(const struct spawn *spawn, pid_t *ret_pid, struct error **err);
/* waitpid; *ret_status: exit status, or 128 + signal. */
int spawn_wait(pid_t pid, int *ret_status, struct error **err);
/* Runs to the end with at most timeout_ms (0: none; then it is killed: ERROR_TIMED_OUT) and collects stdout
 * and the last 4 KiB of stderr (the fields out and err are not used). More than out_limit bytes (0: no
 * limit): killed, ERROR_LIMIT. With new_session its whole process group is killed. A status other than 0 is
 * ERROR_FAILED with the command's name and the last stderr line. ret_out may be NULL; caller frees. Blocking:
 * for job threads and the client, never for a loop. */
int spawn_run(const struct spawn *spawn, int timeout_ms, size_t out_limit, char **ret_out,
              struct error **err);

#endif
