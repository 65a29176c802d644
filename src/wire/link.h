/* link.h: an HTTP/2 session on a descriptor in a libuv loop: reads until EAGAIN, sends once a turn a stream, stops when the
 * kernel takes no more. The descriptor is any that can be polled: UNIX socket, virtio-serial port, socketpair. */
#ifndef HUTCH_WIRE_LINK_H
#define HUTCH_WIRE_LINK_H

#include "base/buf.h"
#include "wire/h2.h"

#include <uv.h>

/* What a filter holds back waits so long for more input. */
#define LINK_HOLD_MS 20

struct link;

struct link_ops {
    struct h2_session_ops session; /* user of these is link_user() */
    /* The link is over: err says why (NULL: ended in order). Called once; call link_close from here or later. Streams that are
     * still open get their on_close from link_close. */
    void (*on_over)(struct link *link, const struct error *err, void *user);
    /* Optional: sees raw input before HTTP/2 does (the guest's scan for the next key). Returns bytes that may pass from out,
     * or -1 to end the link (on_over with NULL). `out` is filled by the filter. NULL: all passes. */
    int (*filter)(struct link *link, const uint8_t *data, size_t len, struct buf *out, void *user);
    /* Optional, with a filter that holds bytes back: true while it does. After LINK_HOLD_MS without input the filter is called
     * with len 0 and gives them. */
    bool (*filter_holds)(struct link *link, void *user);
};

/* Takes ownership of fd (made non-blocking; left to the caller on failure). early: bytes that were already read from fd (may be
 * NULL); they are handled in the loop's next turn and do not pass the filter. No callback comes before that turn.
 * The program must ignore SIGPIPE. */
int link_create(uv_loop_t *loop, int fd, enum h2_role role, const struct h2_options *options, const struct link_ops *ops,
                void *user, const uint8_t *early, size_t early_len, struct link **ret_link, struct error **err);
/* Stops at once, destroys the session (streams get on_close), closes fd; the memory goes in the handle's close callback.
 * keep_fd: gives the descriptor back (non-blocking) instead of closing it (returned), else returns -1. Allowed inside every
 * callback of the link and its streams: the session then goes when the callback has returned. */
int link_close(struct link *link, bool keep_fd);
/* Sends what is queued on every stream (as the peer's windows open), then GOAWAY, then on_over(NULL). A peer that opens no
 * window delays it for ever: the owner limits the time. */
void link_finish(struct link *link);
struct h2_session *link_session(struct link *link);
void *link_user(struct link *link);
int link_fd(const struct link *link);
/* Deadline check: sends a ping now and every interval_ms; no frame at all within timeout_ms is on_over(ERROR_TIMED_OUT).
 * interval 0 turns it off (a frozen or paused guest). */
void link_watch(struct link *link, unsigned interval_ms, unsigned timeout_ms);
/* Milliseconds (monotonic) since the last valid input. */
uint64_t link_idle_ms(const struct link *link);

#endif
