/* past.h: what rules would have decided: the connections that the journal remembers, judged again by the
 * rules of now. */
#ifndef HUTCH_DAEMON_PAST_H
#define HUTCH_DAEMON_PAST_H

#include "base/error.h"
#include "journal/journal.h"
#include "policy/policy.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#define PAST_ROWS 5000                          /* newest rows of the journal that are judged */
#define PAST_NS   (7 * INT64_C(86400000000000)) /* not older than this */

/* Of one rule. */
struct past_rule {
    uint64_t count; /* connections that it would have decided; a row of many counts as many */
    int64_t last_ns;
};
struct past {
    struct past_rule *rules; /* in the order of policy_rules */
    size_t rule_count;
    uint64_t rows;  /* that were judged */
    uint64_t other; /* connections that no rule would have decided */
};

/* Judges each egress.open and egress.deny of a project (its id is for the request, its name for the journal)
 * since since_ns and within the limits above by policy_decide, at the time now_s and without grants. A burst
 * that was written as one row counts by its samples. The journal is read in pages, so that no other reader
 * waits for long. cancel (or NULL): gives up, ERROR_CANCELLED. Any thread. */
int past_count(struct journal *journal, const struct policy *policy, const char *project, const char *id,
               int64_t since_ns, int64_t now_s, const atomic_bool *cancel, struct past *ret_past,
               struct error **err);
void past_finish(struct past *past);

#endif
