/* http_head.h: the head of an HTTP/1 message, strict: what two readers could read in two ways is refused
 * (security.md 2.7 lists it). Sans-I/O; fed in any pieces and bounded. Bytes that
 * belong into no head are refused at once, what lines mean when the head is whole. */
#ifndef HUTCH_GUARD_HTTP_HEAD_H
#define HUTCH_GUARD_HTTP_HEAD_H

#include "base/buf.h"
#include "guard/reason.h"

#define HTTP_REQUEST_HEAD_MAX  (16 * 1024)
#define HTTP_RESPONSE_HEAD_MAX (64 * 1024)
#define HTTP_FIELDS_MAX        100
#define HTTP_METHOD_MAX        32
#define HTTP_NAMED_MAX         32 /* names in Connection */

enum http_kind { HTTP_REQUEST, HTTP_RESPONSE };
enum http_framing {
    HTTP_NO_BODY,
    HTTP_LENGTH, /* head->length bytes, also 0 */
    HTTP_CHUNKED,
    HTTP_UNTIL_CLOSE, /* of responses only */
};
enum http_form { HTTP_ORIGIN, HTTP_ABSOLUTE, HTTP_AUTHORITY, HTTP_ASTERISK };

/* Bytes within the head; not terminated, valid until the head is reset. */
struct http_slice {
    const char *at;
    size_t len;
};
struct http_field {
    struct http_slice name, value; /* the value without the spaces around it */
};

struct http_head {
    enum http_kind kind;
    struct buf bytes;         /* as received, with the empty line */
    enum guard_reason reason; /* GUARD_OK until refused */
    /* Private: the scan. */
    uint8_t last;    /* the byte before */
    bool colon;      /* was seen in this line */
    size_t line_len; /* of this line so far */
    size_t lines;    /* that are whole */

    /* Valid when http_head_feed returned 1. */
    int minor; /* HTTP/1.minor */
    struct http_field fields[HTTP_FIELDS_MAX];
    size_t field_count;
    struct http_slice named[HTTP_NAMED_MAX]; /* what Connection names */
    size_t named_count;
    bool has_length, chunked;
    uint64_t length;
    bool close;                /* Connection: close, or 1.0 */
    struct http_slice upgrade; /* of a message that says Connection: upgrade; len 0 otherwise */
    /* Request. */
    struct http_slice method, target;
    enum http_form form;
    struct http_slice authority; /* of an absolute or authority form */
    struct http_slice path;      /* with the query; empty for CONNECT, and for an address without a path */
    struct http_slice
        host;     /* value of the one Host header; at is NULL if there is none (with CONNECT only) */
    bool expects; /* Expect: 100-continue */
    /* Response. */
    int status; /* 100 to 599 */
};

void http_head_init(struct http_head *head, enum http_kind kind);
void http_head_finish(struct http_head *head);
/* Forgets the message; the head is as after init. */
void http_head_reset(struct http_head *head);
/* Takes bytes up to the end of the head. 0: all taken, more is needed. 1: whole, *ret_used is where the body
 * begins, the fields are valid. -1: refused, head->reason. A request is refused for all that its own bytes
 * show: form of lines and names, Host, framing, Expect, CONNECT's target; not for what it asks. */
int http_head_feed(struct http_head *head, const void *data, size_t len, size_t *ret_used);
/* Bytes of the head have come, but not all. */
bool http_head_begun(const struct http_head *head);

/* How a request's body is framed; and that of a response to a request of the method HEAD or another. */
enum http_framing http_request_framing(const struct http_head *head);
enum http_framing http_response_framing(const struct http_head *head, bool to_head);

/* Whether a byte may stand in a token: a method, a header's name. */
bool http_is_token(uint8_t byte);
/* Compares a slice with a word, ASCII letters in any case. */
bool http_is(struct http_slice slice, const char *word);
/* The same with "-", "_" and "." taken for one: servers behind us may. */
bool http_is_folded(struct http_slice slice, const char *word);
/* Whether a field belongs to the connection and not to the message, so that it may not be forwarded: the
 * fixed ones and those that Connection names, folded. */
bool http_is_hop_by_hop(const struct http_head *head, const struct http_field *field);

#endif
