/* texts.h: two contents of a file as the lines that differ. Over libgit2's own diff of buffers: no
 * repository, name, filter, attribute or configuration has a say. */
#ifndef HUTCH_DIFF_TEXTS_H
#define HUTCH_DIFF_TEXTS_H

#include "base/error.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/* A value for the stream of lines, which becomes the callee's. */
typedef int (*texts_line_fn)(void *user, json_t *line, struct error **err);

/* Before the process is confined. */
int texts_begin(struct error **err);
/* Hunks and lines as src/review/review.h has them, all of file 0; then {"cut": true} when TEXT_LINES_MAX was
 * met. *ret_binary: it is no text, and nothing was told. */
int texts_compare(const char *old, size_t old_len, const char *new, size_t new_len, texts_line_fn fn,
                  void *user, bool *ret_binary, struct error **err);

#endif
