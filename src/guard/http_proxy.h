/* http_proxy.h: one listener for every kind of proxy client: SOCKS5, CONNECT and http:// addresses are told
 * apart by the first bytes. The guest's side: the result is where to and which bytes go with it. Sans-I/O. */
#ifndef HUTCH_GUARD_HTTP_PROXY_H
#define HUTCH_GUARD_HTTP_PROXY_H

#include "guard/authority.h"
#include "guard/http_head.h"
#include "guard/socks.h"

enum http_proxy_entrance {
    HTTP_PROXY_NONE, /* not known yet */
    HTTP_PROXY_SOCKS,
    HTTP_PROXY_CONNECT,
    HTTP_PROXY_ABSOLUTE,
};
enum http_proxy_result {
    HTTP_PROXY_REFUSED = -1, /* close when out is written; proxy->reason */
    HTTP_PROXY_MORE = 0,
    HTTP_PROXY_REQUEST =
        1, /* host, port and entrance are valid: ask the host, then http_proxy_granted or http_proxy_refuse */
};

struct http_proxy {
    enum http_proxy_entrance entrance;
    enum guard_reason reason;
    char host[AUTHORITY_HOST_MAX + 1]; /* as sent; IPv6 in brackets. The canonical-host function judges it */
    uint16_t port;
    bool literal; /* SOCKS5 sent an address */
    struct socks socks;
    struct http_head head;
};

void http_proxy_init(struct http_proxy *proxy);
void http_proxy_finish(struct http_proxy *proxy);
/* Takes bytes from the first one on; answers of the handshake are appended to out. *ret_used is len, but for
 * HTTP_PROXY_REQUEST: what is behind the request belongs to the connection. After HTTP_PROXY_REQUEST and
 * REFUSED it may not be called again. */
enum http_proxy_result http_proxy_feed(struct http_proxy *proxy, const void *data, size_t len,
                                       size_t *ret_used, struct buf *out);
/* The connection stands: what the client is told (nothing for an absolute address) goes to to_client, what
 * goes ahead of the client's further bytes (the request with the absolute address as it came, which the
 * host's guard rewrites) to to_server. */
void http_proxy_granted(const struct http_proxy *proxy, struct buf *to_client, struct buf *to_server);
/* It does not. code: for SOCKS; json: body of the 403 for the others, NULL for the standard one
 * (guard_refusal). */
void http_proxy_refuse(const struct http_proxy *proxy, enum socks_code code, const char *json,
                       struct buf *to_client);

#endif
