/* flow.h: connections on their way out. Whatever door one came in by, it becomes one CONNECT stream of the
 * egress port; the host decides. Bytes go by a pump in both directions, with back-pressure, half-close and
 * reset as they are.
 *
 * Nothing passes while the host is not there: what is open is reset at once, what comes waits FLOW_LINK_MS
 * for it and is refused then. More than the port has streams wait in a queue of FLOW_QUEUE_MAX. */
#ifndef HUTCH_GUEST_FLOW_H
#define HUTCH_GUEST_FLOW_H

#include "guest/claim.h"
#include "guest/denials.h"
#include "guest/stub.h"
#include "wire/link.h"

#define FLOW_OPEN_MAX     1280  /* connections at once, of every state; the next are refused */
#define FLOW_QUEUE_MAX    1024  /* that wait for a stream; the next are refused */
#define FLOW_QUEUE_MS     30000 /* the longest wait for a stream */
#define FLOW_LINK_MS      2000  /* the longest wait for the host */
#define FLOW_HANDSHAKE_MS 30000 /* the longest a proxy's client may take to say what it wants */
#define FLOW_LINGER_MS    2000  /* for a client to take a refusal */
#define FLOW_BODY_MAX     4096  /* of the host's refusal */
#define FLOW_CHECK_MS     2000  /* between looks whether a client that waits is still there */
/* The host takes 200 resets within 10 s for an attack: ours stay below. What is over waits, with its stream.
 */
#define FLOW_RESETS_BURST  60
#define FLOW_RESETS_SECOND 12

enum flow_door {
    FLOW_PROXY,   /* the listener that speaks HTTP and SOCKS5 */
    FLOW_CAPTURE, /* redirected: the kernel knows where it was going */
};

struct flows;
struct flow;

/* Parts that it uses and does not own; stub may be NULL. */
struct flows_parts {
    uv_loop_t *loop;
    struct claims *claims;
    struct denials *denials;
    const struct stub *stub;
};

struct flows *flows_create(const struct flows_parts *parts);
/* Resets everything; the link must have been taken away. Parts may go right after it. */
void flows_destroy(struct flows *flows);
/* A new connection; the descriptor is taken (non-blocking). capture_port: where FLOW_CAPTURE's listener is,
 * so that one that was made to it and not redirected is known. */
void flows_take(struct flows *flows, int fd, enum flow_door door, uint16_t capture_port);
/* The host is there (link) or not (NULL: before the streams are closed). */
void flows_set_link(struct flows *flows, struct link *link);
/* For health: all, and those that wait for a stream. */
void flows_count(const struct flows *flows, size_t *ret_all, size_t *ret_waiting);

#endif
