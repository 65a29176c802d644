/* relay.h: a client's request that the guest answers: the call, the bytes both ways, the answer. It waits for
 * a guest that is not in step yet (a machine that starts, a hutchd or worker that was just started), within a
 * limit. Loop thread. */
#ifndef HUTCH_DAEMON_RELAY_H
#define HUTCH_DAEMON_RELAY_H

#include "daemon/daemon.h"
#include "wire/h2.h"

#include <jansson.h>

#define RELAY_WAIT_MS 30000

struct relay_options {
    const char *id; /* of the project; copied */
    enum guest_op op;
    enum guest_port port;
    uint32_t flags;   /* enum wmsg_call_flags: where the bytes of the client's stream go */
    const char *path; /* on the guest; copied */
    char *body;       /* JSON text or NULL; owned */
    unsigned wait_ms; /* for the guest to come into step; 0: RELAY_WAIT_MS */
    bool need_ready;  /* and for its system to be ready */
    /* Optional: told once how it ended, before the client is; item as the guest gave it, or err. bytes: moved
     * either way. */
    void (*on_end)(const struct wmsg_item *item, const struct error *err, uint64_t bytes, void *user);
    void *user;
};

/* Takes the stream over: it is answered in every case. From inside on_request (streams), or after
 * json_collect. */
void relay_start(struct daemon *daemon, struct h2_stream *stream, const struct relay_options *options);
/* A project's guest or state changed: what waits for it looks again. */
void relay_retry(struct daemon *daemon, const char *id);

#endif
