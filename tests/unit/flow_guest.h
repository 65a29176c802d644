/* flow_guest.h: the guest's side of an egress port for tests: answers a hello, then HTTP/2 by the wire's own
 * client, or bytes by hand. */
#ifndef HUTCH_TESTS_FLOW_GUEST_H
#define HUTCH_TESTS_FLOW_GUEST_H

#include "base/buf.h"
#include "wire/link.h"

struct flow_guest {
    uv_loop_t *loop; /* of the worker or of hutchd: turned while something is waited for */
    int fd;          /* before the link; -1 */
    struct link *link;
    bool over; /* the link */
};
struct rig_stream {
    struct h2_stream *stream; /* NULL: closed */
    int status;
    bool ended, closed, paused;
    uint32_t code;
    struct buf in;
    bool count_only; /* `in` stays empty */
    uint64_t received;
    size_t unconsumed;
};

/* Turns a loop until the condition holds; false after ms. Something must wake the loop now and then. */
#define loop_until(loop, condition, ms)                                                                      \
    ({                                                                                                       \
        uint64_t end_ = uv_hrtime() / 1000000 + (ms);                                                        \
        bool held_;                                                                                          \
        while (!(held_ = (condition)) && uv_hrtime() / 1000000 < end_)                                       \
            uv_run(loop, UV_RUN_ONCE);                                                                       \
        held_;                                                                                               \
    })

/* Reads hellos from guest->fd until one is whole and answers it. */
void flow_guest_greet(struct flow_guest *guest);
/* HTTP/2 on guest->fd, which is taken over. */
void flow_guest_begin(struct flow_guest *guest);
/* Closes what is open of it. */
void flow_guest_leave(struct flow_guest *guest);
/* A CONNECT with fields of its own; NULL fields: entrance connect, claim {}. */
void flow_guest_connect(struct flow_guest *guest, struct rig_stream *s, const char *authority,
                        const struct h2_field *fields, size_t count);
/* All of it, or until the stream is closed. */
void flow_guest_write(struct flow_guest *guest, struct rig_stream *s, const void *data, size_t len);
void rig_end(struct rig_stream *s);
void rig_reset(struct rig_stream *s);
/* What came, as text; valid until more comes. */
const char *rig_text(struct rig_stream *s);
void rig_free(struct rig_stream *s);

#endif
