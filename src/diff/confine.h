/* confine.h: hutch-diff gives up what it will not need: after diff_confine() it can read the layers that it
 * has, write its answer, get memory, and nothing else. For life. */
#ifndef HUTCH_DIFF_CONFINE_H
#define HUTCH_DIFF_CONFINE_H

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

/* Limits (heap, processor time, what is written), not dumpable, Landlock with nothing allowed, a list of
 * system calls. file_max: bytes that it may write. ERROR_MISSING without Landlock or seccomp: the caller must
 * not go on. In a build with sanitizers only the limits that they bear are set. */
int diff_confine(uint64_t file_max, struct error **err);

#endif
