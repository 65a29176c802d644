/* child.h: asks hutch-diff, which alone reads what is inside of layers. Blocking: for job threads. Needs base
 * only. */
#ifndef HUTCH_DIFF_CHILD_H
#define HUTCH_DIFF_CHILD_H

#include "diff/ask.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

struct child_ask {
    const char *program; /* hutch-diff, full path */
    enum diff_mode mode;
    const char *path;              /* or NULL */
    char *const *old, *const *new; /* chains, top first, NULL-ended; old NULL where one side is enough */
    uint64_t answer_max;           /* bytes of its answer: beyond, ERROR_LIMIT */
    const atomic_bool *cancel[2];  /* or NULL: what ends it early */
};
/* Writes the answer into out (a regular file or a pipe that is read; the caller's). The layers are opened
 * here, links refused: those that both chains end in are shared. An error of hutch-diff comes back as it is;
 * its death is ERROR_CORRUPT; past its time ERROR_TIMED_OUT. */
int child_run(const struct child_ask *ask, int out, struct error **err);

#endif
