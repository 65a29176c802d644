/* h2.h: one HTTP/2 session, sans-I/O, both roles, over nghttp2. Bytes in by h2_session_receive, bytes out by h2_session_take.
 * Each stream has its own table of callbacks and a bounded out buffer. Flow control is manual from end to end: received bytes
 * open the window again only when h2_stream_consumed says that they have left for the other side.
 *
 * The limits of security.md 0.4 are in force on every session: 256 streams, window 256 KiB a stream and 4 MiB a connection,
 * frames 16 KiB, header list 8 KiB, header table 0, push off, no trailers or pushes on CONNECT streams, a counter for streams
 * closed with an error (200 in 10 s ends the session). After a fatal error nothing more is fed or sent but a GOAWAY. */
#ifndef HUTCH_WIRE_H2_H
#define HUTCH_WIRE_H2_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define H2_STREAMS_MAX        256
#define H2_WINDOW_STREAM      (256 * 1024)
#define H2_WINDOW_SESSION     (4 * 1024 * 1024)
#define H2_FRAME_MAX          16384
#define H2_HEADER_LIST_MAX    8192
#define H2_OUT_MAX            (128 * 1024) /* out buffer of a stream */
#define H2_STREAM_ERRORS_MAX  200
#define H2_STREAM_ERRORS_MS   10000

/* error codes of RFC 9113 that we send */
enum h2_code { H2_NO_ERROR = 0, H2_PROTOCOL_ERROR = 1, H2_INTERNAL_ERROR = 2, H2_REFUSED_STREAM = 7, H2_CANCEL = 8,
               H2_CONNECT_ERROR = 10, H2_ENHANCE_YOUR_CALM = 11 };

enum h2_role { H2_CLIENT, H2_SERVER };

struct h2_session;
struct h2_stream;

struct h2_field {
    const char *name; /* lower case */
    const char *value;
};

/* Head of a request or response. Strings belong to the session and live until the callback returns. */
struct h2_head {
    const char *method; /* requests */
    const char *path;   /* NULL for CONNECT */
    const char *authority;
    int status; /* responses */
    const struct h2_field *fields; /* all regular fields */
    size_t field_count;
    bool end; /* no body follows */
};
/* Value of a field or NULL. */
const char *h2_head_field(const struct h2_head *head, const char *name);

/* What a stream tells its owner. Any may be NULL. After on_close the stream is gone. */
struct h2_stream_ops {
    void (*on_head)(struct h2_stream *stream, const struct h2_head *head, void *user); /* the response (client role) */
    void (*on_data)(struct h2_stream *stream, const uint8_t *data, size_t len, void *user);
    void (*on_end)(struct h2_stream *stream, void *user);      /* the peer will send no more */
    void (*on_writable)(struct h2_stream *stream, void *user); /* the out buffer has room again after a short write */
    void (*on_close)(struct h2_stream *stream, uint32_t code, void *user); /* 0: ended in order */
};

struct h2_session_ops {
    /* Server: a request head arrived. Set the stream's ops here (h2_stream_set_ops) and answer now or later.
     * Without ops the stream is refused. */
    void (*on_request)(struct h2_session *session, struct h2_stream *stream, const struct h2_head *head, void *user);
    void (*on_goaway)(struct h2_session *session, uint32_t code, void *user);
    void (*on_ping_ack)(struct h2_session *session, void *user);
    /* There is something to send: call h2_session_take soon (may be called from inside any h2_ call). */
    void (*on_want_send)(struct h2_session *session, void *user);
};

struct h2_options {
    uint32_t max_streams;   /* that the peer may open; 0: H2_STREAMS_MAX */
    bool connect_only;      /* server: only CONNECT to host:port is a valid request (egress) */
    const char *const *connect_fields; /* with connect_only: regular fields that a request may have, NULL-ended; NULL: none */
    bool trusted; /* the peer is not hostile (the guest's view of its host, hutchd's of its own user): streams that the
                   * peer resets are not counted, so that many short calls a second are no offence */
    uint64_t (*now_ms)(void); /* clock of the error counter; NULL: CLOCK_MONOTONIC */
};

/* Makes a session; SETTINGS are waiting to be taken at once. NULL: no memory. The options are copied (not connect_fields). */
struct h2_session *h2_session_create(enum h2_role role, const struct h2_options *options, const struct h2_session_ops *ops,
                                     void *user);
/* Closes every stream (on_close with H2_CANCEL) and frees. Not from inside a callback of the same session. */
void h2_session_destroy(struct h2_session *session);
void *h2_session_user(struct h2_session *session);
/* Feeds received bytes; callbacks run inside. Negative: the session is over (ERROR_PROTOCOL, ERROR_LIMIT); take and send what
 * is left (a GOAWAY), then close. Nothing that comes later is looked at. */
int h2_session_receive(struct h2_session *session, const uint8_t *data, size_t len, struct error **err);
/* Next bytes to send (one frame): *ret_data is valid until the next call. 0 length: nothing now. Negative: the session is over
 * and all has been taken. Inside a callback of the session it gives nothing; on_want_send is called again afterwards. */
int h2_session_take(struct h2_session *session, const uint8_t **ret_data, size_t *ret_len, struct error **err);
bool h2_session_want_send(const struct h2_session *session);
/* True when the session has ended (GOAWAY both ways and no streams, or a fatal error). */
bool h2_session_over(const struct h2_session *session);
int h2_session_ping(struct h2_session *session, struct error **err);
/* Sends GOAWAY; no new streams are accepted. H2_NO_ERROR: open streams go on to their end; any other code ends the session
 * at once (streams get their on_close from h2_session_destroy). */
void h2_session_shutdown(struct h2_session *session, uint32_t code);
size_t h2_session_stream_count(const struct h2_session *session);

/* Client: opens a stream. body: a request body will be written (h2_stream_write, then h2_stream_end). fields may be NULL.
 * path must be encoded already (no blanks, controls or non-ASCII: ERROR_INVALID). H2_STREAMS_MAX open ones: ERROR_LIMIT. */
struct h2_stream *h2_request(struct h2_session *session, const char *method, const char *path, const char *authority,
                             const struct h2_field *fields, size_t field_count, bool body, const struct h2_stream_ops *ops,
                             void *user, struct error **err);
/* Server: sends the response head; body as above. Once a stream; ERROR_STATE if it was answered or is gone. */
int h2_respond(struct h2_stream *stream, int status, const struct h2_field *fields, size_t field_count, bool body,
               struct error **err);

/* Changes who is told. ops NULL: nobody; data that arrives then is thrown away. ops must outlive the stream. */
void h2_stream_set_ops(struct h2_stream *stream, const struct h2_stream_ops *ops, void *user);
void *h2_stream_user(struct h2_stream *stream);
struct h2_session *h2_stream_session(struct h2_stream *stream);
int32_t h2_stream_id(const struct h2_stream *stream);
/* Copies as much as the out buffer takes; returns that number (0 to len). Less than len: on_writable comes later. */
size_t h2_stream_write(struct h2_stream *stream, const void *data, size_t len);
/* Asks for on_writable as a short write does. */
void h2_stream_want_writable(struct h2_stream *stream);
/* Bytes that are in the out buffer and not yet taken by the session. */
size_t h2_stream_queued(const struct h2_stream *stream);
/* No more will be written: END_STREAM after what is queued. */
void h2_stream_end(struct h2_stream *stream);
/* What the peer still sends is unwanted once our half has ended: the stream is then closed with NO_ERROR. */
void h2_stream_answer_is_whole(struct h2_stream *stream);
/* RST_STREAM; on_close follows (maybe from inside this call's next receive or take, never from inside this call). */
void h2_stream_reset(struct h2_stream *stream, uint32_t code);
/* n received bytes have left for the other side: gives the window back. */
void h2_stream_consumed(struct h2_stream *stream, size_t n);
/* The peer has sent its end; we have been told to end (what is queued may still have to go out). */
bool h2_stream_remote_ended(const struct h2_stream *stream);
bool h2_stream_local_ended(const struct h2_stream *stream);
/* What is written can still leave: the stream is neither ended by us nor reset, and its session lives. */
bool h2_stream_takes(const struct h2_stream *stream);

#endif
