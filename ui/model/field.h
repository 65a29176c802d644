/* field.h: members of hutchd's answers as the screen keeps them: text made safe once, numbers in range. */
#ifndef HUTCH_UI_FIELD_H
#define HUTCH_UI_FIELD_H

#include <jansson.h>
#include <stdint.h>

#define FIELD_MAX        16384                        /* bytes of safe text that are kept of one member */
#define FIELD_NUMBER_MAX INT64_C(4000000000000000000) /* as nanoseconds: the year 2096 */

/* A member as safe text on one line; "" if it is missing or null; numbers and booleans in their words. The
 * caller's to free, never NULL. */
char *field_text(const json_t *json, const char *key);
/* The same of a value. */
char *field_value(const json_t *value);
/* A number, or fallback. It ends at FIELD_NUMBER_MAX either way, so that two can be added and subtracted. */
int64_t field_number(const json_t *json, const char *key, int64_t fallback);
/* Milliseconds as nanoseconds, with the same end; less than none is none. */
int64_t field_ns(int64_t ms);
/* The sum of two numbers, with the same end. */
int64_t field_sum(int64_t a, int64_t b);
/* Words with the subject in place of their %s, which may not be there; NULL stays NULL. The caller's to free.
 */
char *field_fill(const char *words, const char *subject);
/* A path of the API: format with each %s percent-encoded. The caller's to free. */
char *field_path(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* "14:05:07", "14:05" and "Thu 14:05" of a time, where the person is; at least 24 bytes. */
void field_clock(int64_t ns, char ret[24]);
void field_clock_short(int64_t ns, char ret[24]);
/* The day and the time: "2026-11-29 14:05:07". */
void field_date(int64_t ns, char ret[24]);
/* "0.4s", "38s", "4m 10s" of milliseconds; at least 24 bytes. */
void field_duration(int64_t ms, char ret[24]);

/* A word of hutchd's own that is shown: its translation, or itself where it is none of those that have one
 * (not the caller's). */
const char *field_word(const char *wire);

#endif
