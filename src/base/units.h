/* units.h: sizes and durations as people write them. */
#ifndef HUTCH_BASE_UNITS_H
#define HUTCH_BASE_UNITS_H

#include "base/error.h"

#include <stdint.h>

/* "512M", "2G", "64G", "1T", "4096": bytes, powers of 1024, no sign, no fraction, no blanks. ERROR_INVALID
 * says the form. */
int units_parse_size(const char *s, uint64_t *ret_bytes, struct error **err);
/* "90", "90s", "5m", "2h", "3d": seconds. */
int units_parse_duration(const char *s, uint64_t *ret_seconds, struct error **err);
/* Decimal number in [min, max]. */
int units_parse_number(const char *s, uint64_t min, uint64_t max, uint64_t *ret_value, struct error **err);
/* "6.1G", "980K", "12B" into a caller's buffer; returns it. */
#define UNITS_SIZE_MAX 16
char *units_format_size(uint64_t bytes, char ret[UNITS_SIZE_MAX]);
/* "38s", "4m 10s", "2h 5m", "3d 4h". */
#define UNITS_DURATION_MAX 24
char *units_format_duration(uint64_t seconds, char ret[UNITS_DURATION_MAX]);
/* "2026-11-29T20:00:00.123Z" of nanoseconds since the epoch. */
#define UNITS_TIME_MAX 40
char *units_format_time(int64_t ns, char ret[UNITS_TIME_MAX]);
int64_t units_now_ns(void);       /* CLOCK_REALTIME */
int64_t units_monotonic_ns(void); /* CLOCK_MONOTONIC */
/* n random bytes as 2n hex digits; caller frees. Names of objects. */
char *units_random_hex(size_t n);

#endif
