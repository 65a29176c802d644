/* http_body.h: the body of an HTTP/1 message, measured while it passes. Chunked bodies come out in canonical
 * form: sizes in plain hex, extensions and trailers left out, so that nobody behind us reads them in another
 * way. Never longer than what went in. */
#ifndef HUTCH_GUARD_HTTP_BODY_H
#define HUTCH_GUARD_HTTP_BODY_H

#include "base/buf.h"
#include "guard/http_head.h"

#define HTTP_CHUNK_MAX     0x80000000u
#define HTTP_EXTENSION_MAX 256        /* octets a chunk */
#define HTTP_TRAILER_MAX   (8 * 1024) /* octets of all trailers */

struct http_body {
    enum http_framing framing;
    uint64_t left;    /* of the length, or of the chunk */
    unsigned state;   /* private: within chunks */
    unsigned digits;  /* private */
    unsigned skipped; /* private: octets of extension or trailer */
    bool done;
};

/* length is read for HTTP_LENGTH only. */
void http_body_init(struct http_body *body, enum http_framing framing, uint64_t length);
/* Takes bytes and appends what may pass to out. 1: the body is whole, *ret_used is where the next message
 * begins; 0: all taken; -1: a chunk is malformed (GUARD_HTTP_CHUNK). A body without bytes is done before the
 * first call, which then returns 1. Allocates only in out. */
int http_body_feed(struct http_body *body, const void *data, size_t len, size_t *ret_used, struct buf *out);
/* The sender ended the stream: whether the body is whole now. */
bool http_body_end(struct http_body *body);

#endif
