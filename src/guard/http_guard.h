/* http_guard.h: the checker of one HTTP/1 connection to one host and port, both directions. Every request is
 * checked, also pipelined ones, and forwarded in canonical form; every response is measured, so that both
 * stay in step. Sans-I/O.
 *
 *   client bytes -> http_guard_client: HTTP_GUARD_REQUEST -> http_guard_allow -> to_server
 *                                       |                 `-> http_guard_refuse -> to_client, then over
 *                                       `-> its body -> to_server
 *   server bytes -> http_guard_server -> to_client
 *
 * What is forwarded is the head anew: method, canonical path, version, Host of the connection, the fields as
 * they came but the hop-by-hop ones, Connection: close if it was said. Nothing of a request leaves before it
 * was allowed. Refusals of the guard itself (form) are as those of the caller: the response comes behind the
 * ones that are still due, then the connection is over. */
#ifndef HUTCH_GUARD_HTTP_GUARD_H
#define HUTCH_GUARD_HTTP_GUARD_H

#include "guard/http_body.h"
#include "guard/http_head.h"

#define HTTP_PIPELINE_MAX 16 /* requests without their response; the next one waits */
#define HTTP_INTERIM_MAX  16 /* 1xx before a response */

struct http_guard_options {
    const char *host; /* canonical, IPv6 in brackets; copied */
    uint16_t port;
    bool websocket;   /* the rule says upgrade=websocket */
    bool one_request; /* the connection came through a proxy by an absolute address: its next request may be
                         for another host, so it is closed after the first */
    /* Told of each response in the order of the requests when its head passes: once a request, not of 1xx but
     * of a 101 that switched; not of a response that is refused. May not call the guard. May be NULL. */
    void (*on_response)(int status, void *user);
    void *user;
};

enum http_guard_result {
    HTTP_GUARD_OVER =
        -1, /* end both sides when to_client is written. guard->reason is GUARD_OK if it just ended */
    HTTP_GUARD_MORE = 0,    /* all bytes taken */
    HTTP_GUARD_REQUEST = 1, /* a request waits for http_guard_allow or http_guard_refuse */
    HTTP_GUARD_HELD = 2, /* bytes are left: come again when the request is answered, or after server bytes */
};

/* What is known of the request that waits; valid until it is answered. */
struct http_guard_request {
    const char *method; /* as sent: methods are told apart by case */
    const char *path;   /* canonical, without the query; "*" for OPTIONS * */
    const char *query;  /* with its "?"; "" if there is none. Never journalled */
    bool websocket;     /* asks for the upgrade, and the rule allows it */
    const struct http_head *head;
};

/* A request that was forwarded and has no response yet. */
struct http_guard_due {
    bool head, websocket, last;
};

struct http_guard {
    char *host;
    uint16_t port;
    bool websocket, one_request;
    enum guard_reason reason;
    struct http_guard_request request;

    /* Private. */
    void (*on_response)(int status, void *user);
    void *user;
    struct http_head from_client, from_server;
    struct http_body upload, download;
    char method[HTTP_METHOD_MAX + 1];
    char *path; /* the canonical path and behind it the query */
    unsigned client_state, server_state;
    struct http_guard_due due[HTTP_PIPELINE_MAX];
    size_t due_first, due_count;
    struct http_guard_due upload_due; /* of the request whose body passes */
    unsigned interim;
    bool download_last; /* the response that passes is the last */
    bool refused, over;
    char *refusal; /* its body, NULL: by the reason */
    bool refusal_head;
};

void http_guard_init(struct http_guard *guard, const struct http_guard_options *options);
void http_guard_finish(struct http_guard *guard);
/* Bytes from the client. *ret_used were taken; the caller keeps the rest and comes again (see the results).
 * The outputs grow by at most twice what came in, with the head that had begun, and a refusal. */
enum http_guard_result http_guard_client(struct http_guard *guard, const void *data, size_t len,
                                         size_t *ret_used, struct buf *to_server, struct buf *to_client);
/* The answer to HTTP_GUARD_REQUEST: the head is written to to_server, the body will follow by
 * http_guard_client. */
void http_guard_allow(struct http_guard *guard, struct buf *to_server);
/* Nothing of it is forwarded. json: the body of the 403 (guard_refusal), NULL for the standard one. Written
 * now, or behind the responses that are due. No further request is taken. Returns OVER, or MORE while
 * responses are due. */
enum http_guard_result http_guard_refuse(struct http_guard *guard, const char *json, struct buf *to_client);
/* Bytes from the server. All are taken unless it is OVER. Grows as above. After MORE a client that was HELD
 * may go on. */
enum http_guard_result http_guard_server(struct http_guard *guard, const void *data, size_t len,
                                         struct buf *to_client);
/* One side ended its stream. The client's end in the middle of a request is OVER (truncated); else MORE: pass
 * the end on. The server's end is always OVER, with HTTP_RESPONSE as reason if a response was not whole. */
enum http_guard_result http_guard_client_end(struct http_guard *guard);
enum http_guard_result http_guard_server_end(struct http_guard *guard);
/* After a 101 for an allowed websocket: bytes pass unread in both directions. */
bool http_guard_is_raw(const struct http_guard *guard);

#endif
