/* net_environment.h: how programs of the machine learn of the proxy and of what the network is not. */
#ifndef HUTCH_GUEST_NET_ENVIRONMENT_H
#define HUTCH_GUEST_NET_ENVIRONMENT_H

/* In hutch-guest's own environment: the proxy as ADDRESS:PORT, for the sessions that it starts. */
#define NET_PROXY_KEY "HUTCH_GUEST_PROXY"

/* Adds the variables of the proxy that NET_PROXY_KEY names to a list of K=V (user_set_environment); what is
 * set there already stays. Nothing without a proxy. */
void net_environment_add(char ***environment);
/* Writes RUN/environment, which a login shell reads, and RUN/motd. A file that cannot be written is logged.
 */
void net_environment_write(const char *run);

#endif
