/* dial.h: a connection to where a flow goes, not blocking: vetted addresses in order, a host port of the
 * project, or through a proxy of the user. The addresses of the host's own interfaces, as they are at this
 * moment, and the floor are left out here once more. Loop thread. */
#ifndef HUTCH_EGRESS_DIAL_H
#define HUTCH_EGRESS_DIAL_H

#include "base/error.h"
#include "egress/proxy.h"
#include "policy/address.h"

#include <stdbool.h>
#include <uv.h>

#define DIAL_ADDRESS_MS    10000 /* one address */
#define DIAL_LIMIT_MS      30000 /* all of them, and a proxy's answer */
#define DIAL_ADDRESSES_MAX 16
#define DIAL_OWN_MAX       256 /* addresses of the host's interfaces; beyond: nothing is dialled */

/* Where to; copied by dial_start. */
struct dial_target {
    /* A name or an address: what it resolved to and was allowed. */
    struct address addresses[DIAL_ADDRESSES_MAX];
    size_t count;
    uint16_t port;
    struct cidr ranges[2]; /* private ranges that the rule opens */
    size_t range_count;
    bool any_private; /* private ranges need no rule; the floor still stands */
    /* Or a host port: "127.0.0.1:5432", "[::1]:80", "unix:/path"; "" if not. */
    char to[256];
    /* Or a CONNECT to this authority, asked of the proxy whose addresses (trusted: the user wrote it) stand
     * above; "" if not. */
    char through[280];
    char authorization[PROXY_AUTHORIZATION_MAX]; /* that the proxy wants, or "" */
};

struct dial_result {
    int fd;              /* connected, non-blocking, the callee's; -1: failed */
    struct address used; /* family 0: a host port */
    unsigned tried, ms;
    /* Of a failure, a fixed word: "refused", "unreachable", "time", "proxy", "floor", "private", "system". */
    const char *failure;
    enum address_class class; /* of floor and private */
};
typedef void (*dial_fn)(const struct dial_result *result, void *user);

struct dial;
/* Begins; fn is called once, later. */
struct dial *dial_start(uv_loop_t *loop, const struct dial_target *target, dial_fn fn, void *user);
/* fn will not be called. Only before it was. */
void dial_cancel(struct dial *dial);

/* The addresses of the host's interfaces; at most max. Returns their number, negative if they cannot be read
 * or are more (nothing may be dialled then). */
int dial_own_addresses(struct address *ret_own, size_t max, struct error **err);

#endif
