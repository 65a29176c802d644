/* port.h: the guest's end of one port: finds the device, gets into step with the host by the hello, carries
 * HTTP/2 until the host goes, and begins again, for ever.
 *
 * A virtio-serial port has no connections: without a host client reads return 0 and poll reports a hang-up at
 * once and always; so such a port is watched through an edge-triggered epoll, which wakes when a host client
 * comes and does not spin on the hang-up, with a timer behind it that backs off from PORT_RETRY_MIN_MS to
 * PORT_RETRY_MAX_MS. In a live session the raw input is scanned for the key with which the host's next hello
 * begins. A session without a valid frame for PORT_DEAD_MS is over: the device is closed and opened anew. */
#ifndef HUTCH_GUEST_PORT_H
#define HUTCH_GUEST_PORT_H

#include "guest/agent.h"
#include "wire/hello.h"
#include "wire/link.h"

#define PORT_RETRY_MIN_MS 20
#define PORT_RETRY_MAX_MS 1000
#define PORT_FIND_MS      50 /* while the device is not there yet */
#define PORT_PING_MS      4000
#define PORT_DEAD_MS      10000

enum port_role {
    PORT_SERVES, /* control, bulk: the host calls, we answer */
    PORT_CALLS,  /* egress: we call */
};

struct waiter;

struct port {
    struct agent *agent;
    const char *name; /* control, egress, bulk */
    enum port_role role;
    int fd;       /* device or accepted connection, without a link; -1 */
    int listener; /* --ports: the listening socket; -1 */
    int edge;     /* of a device: the epoll that tells of a host client's coming; -1 */
    struct hello_guest hello;
    struct link *link;
    struct waiter *waiter;
    uv_timer_t timer;
    uint64_t retry_ms;
    unsigned looks; /* for a device that was not there */
};

/* Begins. With --ports the port is the UNIX socket RUN/NAME.sock; else the virtio-serial port org.hutch.NAME.
 */
int port_init(struct port *port, struct agent *agent, const char *name, enum port_role role,
              struct error **err);
void port_finish(struct port *port);

#endif
