/* async.h: one request to hutchd for a program that never waits: the answer lies here until it is taken.
 * Lines and bytes are taken piece by piece, and hutchd's window opens again only for what was taken: at most
 * H2_WINDOW_STREAM bytes wait. */
#ifndef HUTCH_CLIENT_ASYNC_H
#define HUTCH_CLIENT_ASYNC_H

#include "client/client.h"

#define ASYNC_QUEUE_MAX (1 << 20) /* bytes of a body that may wait before more are refused */

struct async;

enum async_kind {
    ASYNC_WHOLE, /* one JSON answer */
    ASYNC_LINES, /* async_line */
    ASYNC_BYTES, /* async_bytes, async_taken */
};
struct async_options {
    enum async_kind kind;
    const char *method, *path;
    const json_t *body; /* or NULL */
    bool upload;        /* instead of body: bytes by async_write, as long as the stream is open */
    const void *bytes;  /* instead of both: a body as it is, of H2_OUT_MAX at most */
    size_t len;
    /* There is something to take, or the end. Called inside of the connection's work: it only takes a note of
     * it, and may be called again before anything was taken. */
    void (*on_ready)(struct async *async, void *user);
};

/* Strings and body of the options are not kept. ERROR_NO_DAEMON without a connection. */
int async_start(struct client *client, const struct async_options *options, void *user,
                struct async **ret_async, struct error **err);
/* Ends it without a word and frees; a reset body closes no session's stdin. Not from on_ready. */
void async_free(struct async *async);
AUTO_DEFINE(async, struct async *, async_free);
/* The next line of an ASYNC_LINES: 1 and *ret_line (a new reference), 0: none now, negative: it is no JSON or
 * too long; the request is over then, with this error as its result. */
int async_line(struct async *async, json_t **ret_line);
/* What waits of an ASYNC_BYTES: its length; valid until the next call on it. */
size_t async_bytes(const struct async *async, const uint8_t **ret_bytes);
/* The first n of them were taken. */
void async_taken(struct async *async, size_t n);
/* The place of the first byte that waits, from the session's first byte (`hutch-offset` of the answer). */
uint64_t async_offset(const struct async *async);
/* Whether the answer has ended and all of it was taken. */
bool async_over(const struct async *async);
/* How it ended: 0 and the JSON of an ASYNC_WHOLE (borrowed, may be NULL), or the error. */
int async_result(const struct async *async, json_t **ret_body, const struct error **ret_error);
/* Appends to an upload's body; all or nothing. ERROR_LIMIT while more than ASYNC_QUEUE_MAX wait. */
int async_write(struct async *async, const void *bytes, size_t len, struct error **err);
/* Bytes of the body that the connection has not taken yet. */
size_t async_waiting(const struct async *async);

#endif
