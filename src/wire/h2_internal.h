/* h2_internal.h: what the files of the HTTP/2 session share, and what link, pump and json need beyond h2.h.
 */
#ifndef HUTCH_WIRE_H2_INTERNAL_H
#define HUTCH_WIRE_H2_INTERNAL_H

#include "base/buf.h"
#include "wire/h2.h"

#include <nghttp2/nghttp2.h>

#define H2_CONTINUATIONS_MAX 8
#define H2_ACKS_MAX          256  /* PING and SETTINGS acknowledgements that wait to be sent */
#define H2_QUEUE_MAX         2048 /* frames that wait to be sent, besides DATA */
#define H2_FIELD_OVERHEAD    32   /* RFC 9113 6.5.2: what a field counts besides its bytes */
#define H2_FIELDS_MAX        (H2_HEADER_LIST_MAX / H2_FIELD_OVERHEAD)
#define H2_GOAWAY_SIZE       17
#define H2_CREDIT_STEP       (128 * 1024) /* the connection's window is given back in steps of this */

/* ---- gate: looks at frame headers before the library does ---- */
struct h2_gate {
    size_t preface_left; /* server: bytes of the client's preface still to come */
    uint8_t head[9];
    size_t head_len;
    uint32_t left; /* payload bytes of the current frame still to come */
    bool in_block; /* a header block is open: only CONTINUATION may follow */
    unsigned continuations;
};

void h2_gate_init(struct h2_gate *gate, enum h2_role role);
/* The next stretch of input that may go to the library: *ret_piece (in data or in the gate) of *ret_piece_len
 * bytes (maybe 0), *ret_used bytes of data eaten. ERROR_PROTOCOL (with *ret_code) for a frame that no correct
 * peer sends: wrong length for its type, too long, PUSH_PROMISE, a ninth CONTINUATION. Such a frame never
 * reaches the library. */
int h2_gate_next(struct h2_gate *gate, const uint8_t *data, size_t len, const uint8_t **ret_piece,
                 size_t *ret_piece_len, size_t *ret_used, uint32_t *ret_code, struct error **err);

/* ---- limiter: events in a sliding time ---- */
struct h2_limiter {
    uint64_t times[H2_STREAM_ERRORS_MAX];
    size_t next;
    size_t count;
};
/* Notes an event. True when it is the H2_STREAM_ERRORS_MAX-th within H2_STREAM_ERRORS_MS. */
bool h2_limiter_hit(struct h2_limiter *limiter, uint64_t now_ms);

/* ---- head: a header list under construction ---- */
struct h2_head_builder {
    char *text; /* names and values, each with its NUL */
    size_t text_len;
    size_t counted; /* bytes as RFC 9113 counts them */
    struct {
        size_t name, value; /* offsets in text */
    } fields[H2_FIELDS_MAX];
    size_t field_count;
    size_t method, path, authority, status; /* offsets + 1, 0: absent */
};
/* Adds a field. False when the list passes H2_HEADER_LIST_MAX. */
bool h2_head_add(struct h2_head_builder **builder, const uint8_t *name, size_t name_len, const uint8_t *value,
                 size_t value_len);
void h2_head_builder_free(struct h2_head_builder *builder);
/* Fills head from the builder; fields is room for H2_FIELDS_MAX. NULL gives an empty head. */
void h2_head_fill(const struct h2_head_builder *builder, struct h2_field *fields, struct h2_head *ret_head);
/* Whether a request head is acceptable (method, path or authority; host:port for CONNECT). */
bool h2_head_valid_request(const struct h2_head *head, const struct h2_options *options);

/* ---- session and stream ---- */
struct h2_session {
    nghttp2_session *lib;
    enum h2_role role;
    struct h2_options options;
    struct h2_session_ops ops;
    void *user;
    void (*wake)(void *arg); /* link's own on_want_send */
    void *wake_arg;
    struct h2_stream *streams;
    size_t stream_count;
    size_t unconsumed;         /* of all streams */
    struct h2_stream *drained; /* its on_writable is due */
    unsigned depth;            /* calls into the library or callbacks on the stack */
    bool announced;            /* on_want_send was called and nothing was taken to the end since */
    bool dead;                 /* fatal: the library is not called again */
    struct error *reason;      /* why dead or doomed */
    uint32_t doom;             /* code + 1 of a fatal error found inside the library; 0: none */
    uint32_t peer_code;        /* of the peer's GOAWAY */
    int32_t last_stream;       /* highest stream of the peer */
    uint8_t goaway[H2_GOAWAY_SIZE];
    size_t goaway_left;
    struct h2_gate gate;
    struct h2_limiter limiter;
};

struct h2_stream {
    struct h2_session *session;
    struct h2_stream *next, *previous;
    int32_t id;
    const struct h2_stream_ops *ops;
    void *user;
    struct buf out;
    size_t unconsumed; /* received and not yet given back */
    struct h2_head_builder *builder;
    bool connect;   /* method CONNECT */
    bool head_done; /* request or final response head was handed out */
    bool answered;  /* server: h2_respond was called */
    bool local_end; /* END_STREAM is due after what is queued */
    bool remote_ended;
    bool reset;        /* reset by us: only on_close may follow */
    bool closed;       /* inside on_close */
    bool short_write;  /* on_writable is due when half of the buffer is free */
    bool whole_answer; /* the rest of the request is unwanted once the answer is out */
};

/* The callbacks of h2_callbacks.c; NULL: no memory. */
nghttp2_session_callbacks *h2_callbacks_create(void);
nghttp2_data_provider h2_data_provider(void);
/* Marks the session for its end from inside the library; the first reason wins. Returns
 * NGHTTP2_ERR_CALLBACK_FAILURE. */
int h2_session_doom(struct h2_session *session, uint32_t code, enum error_code error, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* Brackets of everything that may make output or call back. */
void h2_enter(struct h2_session *session);
void h2_leave(struct h2_session *session);
struct h2_stream *h2_stream_create(struct h2_session *session, int32_t id);
/* Notes n bytes that have arrived on a stream and are not yet given back. */
void h2_stream_received(struct h2_stream *stream, size_t n);
/* Unlinks, calls on_close, frees. */
void h2_stream_close(struct h2_stream *stream, uint32_t code);

/* ---- for link, pump, json ---- */
void h2_session_set_wake(struct h2_session *session, void (*wake)(void *arg), void *arg);
/* Why the session is over; NULL: in order. Stays the session's. peer_code: of the peer's last GOAWAY. */
const struct error *h2_session_reason(const struct h2_session *session);
/* Whether any stream has bytes in its out buffer. */
bool h2_session_has_queued(const struct h2_session *session);
/* Queues all of it even beyond H2_OUT_MAX: for messages that have a limit of their own. */
void h2_stream_write_whole(struct h2_stream *stream, const void *data, size_t len);
/* Tests: memory of sessions created from now on. NULL: malloc. */
void h2_set_memory(nghttp2_mem *mem);

#endif
