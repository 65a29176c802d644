/* capture.h: the nftables rules that bring every connection of the machine and of its containers to
 * hutch-guest's listeners, and refuse at once what cannot leave: UDP but name questions, ICMP, all else.
 *
 * The machine's own addresses and the networks of its bridges are left alone. Root in the machine may remove
 * the rules: then nothing leaves but by the proxy, as there is no network card. Without nft in the machine
 * the proxy works alike; the rules are tried again from time to time. */
#ifndef HUTCH_GUEST_CAPTURE_H
#define HUTCH_GUEST_CAPTURE_H

#include "guest/agent.h"

#define CAPTURE_PORT    3129 /* redirected TCP */
#define CAPTURE_DNS     3153 /* redirected questions */
#define CAPTURE_OWN_MAX 256  /* addresses of IPv6 that are the machine's own */

struct capture;

/* Begins to set the rules. */
struct capture *capture_create(struct agent *agent);
/* Leaves the rules where they are: what is captured then waits for the next hutch-guest. */
void capture_destroy(struct capture *capture);
/* "on", "pending" (not yet) or "off", with the reason in *ret_reason (or NULL), valid until the loop's next
 * turn. */
const char *capture_state(const struct capture *capture, const char **ret_reason);

#endif
