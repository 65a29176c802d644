/* hostile.h: what a hutchd that lies answers, made of a seed: members that are missing, of another type,
 * beyond every size, and text that wants to be more than text. */
#ifndef HUTCH_TESTS_HOSTILE_H
#define HUTCH_TESTS_HOSTILE_H

#include "ui/model/effect.h"

#include <stddef.h>
#include <stdint.h>

/* The next number of a sequence; below `most`. */
uint64_t hostile_next(uint64_t *seed, uint64_t most);
/* A line or the body of an answer to a path of the API, well formed or not so. The caller's. */
json_t *hostile_answer(uint64_t *seed, const char *path);
/* An event; *seq is that of the last one. */
json_t *hostile_event(uint64_t *seed, int64_t *seq, int64_t now_ns);
/* Text that a name or a program's output can have; not the caller's. */
const char *hostile_text(uint64_t *seed);

#endif
