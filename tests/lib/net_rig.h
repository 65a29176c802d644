/* net_rig.h: a real `hutch-guest serve --net` with a fake host behind it, and clients that block. */
#ifndef HUTCH_TESTS_NET_RIG_H
#define HUTCH_TESTS_NET_RIG_H

#include "fake_egress.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct net_rig {
    char folder[64]; /* --ports */
    const char *mode;
    pid_t agent, host; /* 0: not running */
    uint16_t proxy, dns;
};

/* The agent in a mode ("listen", "capture") and, if asked, the host. */
void net_rig_start(struct net_rig *rig, const char *mode, bool host);
void net_rig_start_agent(struct net_rig *rig);
void net_rig_start_host(struct net_rig *rig);
/* kill -9. */
void net_rig_kill_agent(struct net_rig *rig);
void net_rig_kill_host(struct net_rig *rig);
/* Ends the agent in order (fails the test if it does not) and removes the folder. */
void net_rig_stop(struct net_rig *rig);
/* Open descriptors of the agent; a line of its /proc/PID/status in KiB. */
size_t net_rig_descriptors(const struct net_rig *rig);
uint64_t net_rig_memory_kib(const struct net_rig *rig);
/* A file of the folder; caller frees. */
char *net_rig_file(const struct net_rig *rig, const char *name);

/* ---- clients: 20 s at most for everything ---- */
/* A connection to the proxy. */
int net_rig_connect(const struct net_rig *rig);
void net_rig_send(int fd, const void *data, size_t len);
void net_rig_send_text(int fd, const char *text);
/* Reads exactly len bytes; fails the test otherwise. */
void net_rig_read(int fd, void *data, size_t len);
/* Reads up to and with an empty line. Caller frees. */
char *net_rig_read_head(int fd);
/* Reads to the end and closes. *ret_reset: it was a reset. Caller frees. */
char *net_rig_read_end(int fd, bool *ret_reset);
/* Sends a text on a new connection and returns all that comes back. */
char *net_rig_say(const struct net_rig *rig, const char *text);
/* CONNECT to host:port, which must be granted. */
int net_rig_open(const struct net_rig *rig, const char *authority);
/* A whole SOCKS5 handshake; returns the reply code; *ret_fd is the caller's. address: an IPv4 or IPv6 literal
 * or a name. */
int net_rig_socks(const struct net_rig *rig, const char *host, uint16_t port, int *ret_fd);
/* Asks a name server (IPv4 address, or NULL: the rig's own) for a record. Returns the answer's code;
 * *ret_address: of the first A in host order, 0 without one. */
int net_rig_resolve(const struct net_rig *rig, const char *server, uint16_t port, bool tcp, const char *name,
                    uint16_t type, uint32_t *ret_address);

#endif
