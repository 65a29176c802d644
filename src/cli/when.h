/* when.h: points in time as people write them. */
#ifndef HUTCH_CLI_WHEN_H
#define HUTCH_CLI_WHEN_H

#include "base/error.h"

#include <stdint.h>

/* "2h" (a duration before now), "2026-11-29", "2026-11-29T14:00[:07]" (where the person is; with Z: UTC).
 * Nanoseconds since the epoch. ERROR_USAGE shows the forms. */
int when_parse(const char *text, int64_t now_ns, int64_t *ret_ns, struct error **err);

#endif
