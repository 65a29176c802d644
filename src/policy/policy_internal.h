/* policy_internal.h: the inside of struct policy, and the index over its rules. */
#ifndef HUTCH_POLICY_POLICY_INTERNAL_H
#define HUTCH_POLICY_POLICY_INTERNAL_H

#include "policy/policy.h"

#include <stdatomic.h>

/* Rules by the hash of what they name: a name (also the base of a wildcard), an address, a range. Two things
 * of one hash share a run; rule_matches tells them apart. */
struct index_run {
    uint64_t hash;
    uint32_t first, count; /* in order; count 0: a free slot */
};
struct index {
    struct index_run *runs;
    size_t mask;          /* slots - 1, a power of two */
    uint32_t *order;      /* numbers of rules, those of one hash together and ascending */
    bool lengths[2][129]; /* prefix lengths that ranges have: of IPv4, of IPv6 */
};

struct host_port {
    char *name, *to;
    uint16_t port;
};

struct policy {
    atomic_uint refs;
    uint64_t generation;
    enum policy_mode mode;
    struct rule **rules;
    size_t rule_count;
    struct index index;
    char **secrets;
    size_t secret_count;
    struct host_port *host_ports;
    size_t host_port_count;
};

void index_init(struct index *index, struct rule *const *rules, size_t count);
void index_finish(struct index *index);
/* Calls visit with the number of every rule that may match the host (and of few others). */
void index_visit(const struct index *index, const struct host *host, void (*visit)(void *user, uint32_t rule),
                 void *user);

#endif
