/* resolver.h: names to addresses, by getaddrinfo in child processes (hutch-resolver): a lookup that hangs is
 * killed with its child and holds nobody else up. A name is looked up only after the policy has allowed it;
 * that is the caller's part. Loop thread. */
#ifndef HUTCH_EGRESS_RESOLVER_H
#define HUTCH_EGRESS_RESOLVER_H

#include "base/error.h"
#include "egress/resolver_proto.h"

#include <stdbool.h>
#include <uv.h>

#define RESOLVER_LIMIT_MS 5000  /* of a lookup, its wait for a child included */
#define RESOLVER_CACHE_MS 60000 /* getaddrinfo tells no TTL: never longer than this */
#define RESOLVER_CHILDREN 8     /* lookups at a time */
#define RESOLVER_QUEUE    1024  /* names that are looked up or wait; beyond: busy */

struct resolver;

struct resolver_options {
    uv_loop_t *loop;
    const char *program; /* full path of hutch-resolver; copied. NULL: every lookup fails */
    const char *table;   /* tests: a file of answers in place of getaddrinfo (resolver_main.c), or NULL */
    unsigned limit_ms, cache_ms; /* 0: the values above */
};
struct resolver *resolver_create(const struct resolver_options *options);
/* Kills the children; waiting callers are not called any more. Frees later. NULL is ignored. */
void resolver_destroy(struct resolver *resolver);

struct resolver_answer {
    /* NULL: resolved. Else a fixed word: "no-such-name", "no-address", "no-answer" (a server's failure),
     * "time" (RESOLVER_LIMIT_MS), "busy", "resolver" (the child died or cannot be started). */
    const char *failure;
    const struct address *addresses; /* at most RESOLVER_ADDRESSES_MAX, as getaddrinfo sorts them */
    size_t count;
    unsigned ms; /* that it took; 0 from the cache */
    bool cached;
};
typedef void (*resolver_fn)(const struct resolver_answer *answer, void *user);

/* Looks a canonical name up and calls fn once: from inside of this call if the answer is in the cache or it
 * fails at once (then 0 is returned), else later (an id for resolver_cancel). Callers that ask for the same
 * name at the same time share one lookup. */
uint64_t resolver_lookup(struct resolver *resolver, const char *name, resolver_fn fn, void *user);
/* fn will not be called. The lookup itself goes on. Unknown ids are ignored. */
void resolver_cancel(struct resolver *resolver, uint64_t id);

#endif
