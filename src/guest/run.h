/* run.h: a short command from start to end, for jobs on libuv's pool. Blocking. */
#ifndef HUTCH_GUEST_RUN_H
#define HUTCH_GUEST_RUN_H

#include "guest/place.h"

#include <stdbool.h>

/* Runs argv (NULL-ended). user NULL: as we are; else as that user, through `hutch-guest as`, where own says
 * that argv is one of its file jobs. *ret_out (may be NULL): its stdout without the last newline, which the
 * caller frees, also when it failed. ret_status NULL: a status other than 0 is ERROR_FAILED with the
 * command's name and what it said last, or the error that the helper reported. Otherwise only a command that
 * cannot be started is an error. */
int run_command(const struct place *place, const char *user, bool own, const char *const *argv,
                char **ret_out, int *ret_status, struct error **err);

#endif
