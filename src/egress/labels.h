/* labels.h: how many different names go through one wildcard (or one registrable domain) in a minute: data
 * can leave in names that are allowed. Counts and alerts, refuses nothing. Bounded memory. */
#ifndef HUTCH_EGRESS_LABELS_H
#define HUTCH_EGRESS_LABELS_H

#include <stdbool.h>
#include <stdint.h>

#define LABELS_MAX 50 /* different names of one base in a minute; more are an alert */

struct labels;
struct labels *labels_create(void);
void labels_destroy(struct labels *labels);
/* A name below base was let through. true: it is the one that passes LABELS_MAX, once a minute and base. */
bool labels_add(struct labels *labels, const char *base, const char *name, int64_t now_ms);

#endif
