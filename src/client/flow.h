/* flow.h: one request to hutchd whose body or answer is bytes: from a descriptor or a producer into the
 * request, from the answer into a descriptor or a consumer. Memory is bounded both ways: nothing is read
 * while the stream's buffer is full, and the window opens again only when the bytes are written. */
#ifndef HUTCH_CLIENT_FLOW_H
#define HUTCH_CLIENT_FLOW_H

#include "base/buf.h"
#include "client/client.h"

#define FLOW_CHUNK 65536

struct flow;

enum flow_end {
    FLOW_DONE,    /* a 2xx answer and all its bytes; all of the body was sent or the server wanted no more */
    FLOW_REFUSED, /* the server's error is err */
    FLOW_CUT,     /* the stream or the connection was cut in the middle */
    FLOW_INPUT_FAILED,  /* the descriptor or producer */
    FLOW_OUTPUT_FAILED, /* the descriptor or consumer; err->sys tells EPIPE apart */
};

struct flow_options {
    const char *method, *path;
    bool body; /* the request has a body: fd_in or produce */
    int fd_in; /* shared descriptors are fine; not closed; -1: none */
    /* Instead of fd_in: the next bytes, valid until the next call; *ret_len 0: the end. */
    int (*produce)(const uint8_t **ret_data, size_t *ret_len, void *user, struct error **err);
    /* Optional, with fd_in: looks at what was read and appends to out what is to be sent. */
    void (*input)(const uint8_t *data, size_t len, struct buf *out, void *user);
    int fd_out; /* for the answer's bytes; -1: none */
    /* Instead of fd_out: takes the answer's bytes at once. */
    int (*consume)(const uint8_t *data, size_t len, void *user, struct error **err);
    /* Optional, with fd_out: appends to out what is to be written. */
    void (*output)(const uint8_t *data, size_t len, struct buf *out, void *user);
    /* Optional: the head of a 2xx answer. */
    void (*on_head)(const struct h2_head *head, void *user);
    /* Once, at the end; the flow is freed after it. err is NULL for FLOW_DONE. */
    void (*on_done)(enum flow_end end, const struct error *err, void *user);
};

/* Strings of the options are not kept. on_done is never called from inside of it, and must be given. */
int flow_start(struct client *client, const struct flow_options *options, void *user, struct flow **ret_flow,
               struct error **err);
/* Resets the stream and frees, without on_done. A reset body closes no session's stdin. */
void flow_cancel(struct flow *flow);
/* Bytes taken from the input so far, and of the answer so far (all of them are written or will be before
 * on_done). */
uint64_t flow_sent(const struct flow *flow);
uint64_t flow_received(const struct flow *flow);
/* Bytes of the input that the connection has not taken yet. */
size_t flow_waiting(const struct flow *flow);

/* One flow, run to its end. A failure of any kind is the error. */
int flow_run(struct client *client, const struct flow_options *options, void *user, struct error **err);

#endif
