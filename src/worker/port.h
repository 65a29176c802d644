/* port.h: the host side of one virtio-serial port: from a connected descriptor over the hello to an HTTP/2
 * link, and back to asking hutchd for a new connection when the link is lost. Ports know nothing of each
 * other: trouble on one (a flood of garbage, a broken limit, its back-off) leaves the others alone. */
#ifndef HUTCH_WORKER_PORT_H
#define HUTCH_WORKER_PORT_H

#include "wire/h2.h"
#include "worker/worker.h"

#define PORT_PING_MS    4000
#define PORT_TIMEOUT_MS 10000
/* Input before the reply to a hello: rests of the session before are at most its window of 4 MiB and what
 * QEMU and the guest's driver hold. More is an attack or a broken guest. */
#define PORT_DISCARD_MAX (16u * 1024 * 1024)

struct port *port_create(struct worker *worker, enum guest_port id);
/* Asks hutchd for the first connection. */
void port_start(struct port *port);
/* WMSG_PORT: a fresh connection (taken over) and the keys that the guest may be looking for. */
void port_connect(struct port *port, int fd, const struct wmsg_port *message);
/* WMSG_KEY_SAVED: the new key is durable, hellos may go out. */
void port_key_saved(struct port *port);
/* The worker's `running` changed: hellos and pings stop or go on. */
void port_running(struct port *port);
/* The HTTP/2 session of a port in step, or NULL. */
struct h2_session *port_session(struct port *port);
const char *port_name(enum guest_port id);

#endif
