/* route.h: what makes a machine without a network card route: `lo` up, one address that is no loopback one
 * (so that resolvers take the machine for one that has IPv4), and local default routes, so that every
 * connection that has no nearer route ends on `lo`. */
#ifndef HUTCH_GUEST_ROUTE_H
#define HUTCH_GUEST_ROUTE_H

#include "base/error.h"

#include <netinet/in.h>

/* RFC 7600's dummy address: the source of what the capture takes. */
#define ROUTE_ADDRESS      0xc0000008u
#define ROUTE_ADDRESS_TEXT "192.0.0.8"

/* Sets all of it; what is there already stays. Needs CAP_NET_ADMIN. A kernel without IPv6 is no error. */
int route_set_up(struct error **err);

#endif
