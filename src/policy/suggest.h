/* suggest.h: rules out of the log. Exact hosts only, never a wildcard, no DNS, nothing applied: text that a
 * person takes as a diff. */
#ifndef HUTCH_POLICY_SUGGEST_H
#define HUTCH_POLICY_SUGGEST_H

#include "policy/policy.h"

#include <stddef.h>
#include <stdint.h>

#define SUGGEST_MAX      200 /* rules of one suggestion */
#define SUGGEST_SIBLINGS 20  /* more names than that under one registrable domain look like data in names */

/* A connection of the log, as it was recorded; the strings are the caller's. */
struct suggest_row {
    const char *host; /* canonical, as in the log; what is no host is passed over */
    uint16_t port;
    enum proto proto;    /* ANY: that of the port */
    const char *process; /* claimed by the guest, or NULL */
    enum reason reason;
    uint64_t count;       /* how many connections the row stands for */
    bool uploads;         /* the place takes uploads, or an upload limit was reached */
    bool private_address; /* it led to a private address */
};

struct suggestion {
    char *rule;          /* canonical: "allow docs.rs" */
    const char *process; /* of most of its connections; points into the rows, or NULL */
    uint64_t count;
};
struct suggestions {
    struct suggestion *items; /* by process, then most connections first */
    size_t count;
    size_t left_out; /* rows that are no matter of a rule: addresses, raw TCP, uploads, odd names … */
};

/* Suggests rules for hosts that policy (may be NULL) would ask about or deny by its mode. Same rows, same
 * answer. suggestions_finish frees. */
void suggest_rules(const struct policy *policy, const struct suggest_row *rows, size_t row_count,
                   struct suggestions *ret_suggestions);
void suggestions_finish(struct suggestions *suggestions);

#endif
