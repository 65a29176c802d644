/* net.h: the machine's way out, all of it: routes, capture, the listeners, the name server, and the
 * connections that go to the host by the egress port. Nothing is decided here.
 *
 * One listener on loopback takes HTTP CONNECT, absolute addresses and SOCKS5; another what the rules
 * redirect. */
#ifndef HUTCH_GUEST_NET_H
#define HUTCH_GUEST_NET_H

#include "guest/agent.h"
#include "wire/link.h"

#define NET_PROXY_PORT 3128
#define NET_FILES_MAX  4096 /* descriptors that hutch-guest may have, where the machine lets it */

enum net_mode {
    NET_NONE,
    NET_LISTEN,  /* tests: proxy and name server alone, on ports that the kernel chooses: RUN/net.json */
    NET_CAPTURE, /* a machine: also routes and capture, on fixed ports */
};

struct net;

/* Sets it up as far as it goes; what is missing is logged and in health. Before a session is started: they
 * inherit where the proxy is. */
struct net *net_create(struct agent *agent, enum net_mode mode);
/* NULL is fine. The egress port must have been let go. */
void net_destroy(struct net *net);
/* The egress port is in step with the host (link), or is no longer (NULL, before its streams are closed). */
void net_set_link(struct net *net, struct link *link);
/* Adds what health shows: "proxy", "capture", "capture_reason". net may be NULL. */
void net_show(const struct net *net, json_t *health);

#endif
