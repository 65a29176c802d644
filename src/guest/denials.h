/* denials.h: the file in which everybody in the machine reads what was refused and why: RUN/denials, one JSON
 * object a line, the newest at the end. */
#ifndef HUTCH_GUEST_DENIALS_H
#define HUTCH_GUEST_DENIALS_H

#include "wire/json.h"

#define DENIALS_KEPT     500                 /* lines that are kept when the file is cut */
#define DENIALS_MAX      (DENIALS_KEPT + 64) /* lines that it has at most */
#define DENIALS_LINE_MAX 6144                /* bytes of one; longer ones lose the host's own words */

struct denials;

/* Goes on with what is there. The file is made, 0644. */
struct denials *denials_create(const char *run);
void denials_destroy(struct denials *denials);
/* Adds a line: `time` and what the object (borrowed) has. A file that cannot be written is logged once. */
void denials_add(struct denials *denials, const json_t *object);

#endif
