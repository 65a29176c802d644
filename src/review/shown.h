/* shown.h: a machine's words as a value that fits on a line of the API. Private to src/review. */
#ifndef HUTCH_REVIEW_SHOWN_H
#define HUTCH_REVIEW_SHOWN_H

#include <jansson.h>
#include <stddef.h>

/* Bytes of safe text; what is longer ends in "…". JSON may double them, and a line holds 64 KiB. */
#define SHOWN_PATH    8000
#define SHOWN_SUBJECT 2000
#define SHOWN_NAME    400

/* A string of safe text; bytes NULL: "". New reference. */
json_t *shown(const char *bytes, size_t max);
json_t *shown_bytes(const void *bytes, size_t len, size_t max);

#endif
