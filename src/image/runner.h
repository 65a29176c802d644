/* runner.h: runs one program of a build and hands its output on, line by line. */
#ifndef HUTCH_IMAGE_RUNNER_H
#define HUTCH_IMAGE_RUNNER_H

#include "base/error.h"
#include "image/progress.h"

#include <stdatomic.h>
#include <stdio.h>

#define RUNNER_LINE_MAX 4096 /* bytes of a line; the rest of a longer one is dropped */
#define RUNNER_TAIL     4    /* last lines that are kept for an error */
#define RUNNER_ARGV_MAX 256

struct runner {
    const char *const *env; /* NULL-ended */
    const char *cwd;
    int lock; /* inherited, so that the lock holds as long as any child lives */
    FILE *log;
    const atomic_bool *cancel;
    void (*line)(void *user, const char *line);
    void *user;
    /* Of the last run: */
    char *tail[RUNNER_TAIL];
    size_t tail_count; /* lines in all */
    char *complaint;   /* the first line that begins with "E:" or names a known failure */
    enum progress_failure failure;
};

/* Runs prefix + argv (both NULL-ended) to its end. Another status than 0 is ERROR_FAILED, or ERROR_NETWORK,
 * ERROR_NO_SPACE as its output says, with the last lines as the hint. When *cancel becomes true its whole
 * process group is killed: ERROR_CANCELLED. Blocking. */
int runner_run(struct runner *runner, const char *const *prefix, const char *const *argv, struct error **err);
void runner_finish(struct runner *runner);

#endif
