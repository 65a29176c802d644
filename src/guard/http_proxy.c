#include "guard/http_proxy.h"

#include "base/alloc.h"

#include <string.h>

#define SOCKS_4   4
#define SOCKS_5   5
#define HTTP_PORT 80

void http_proxy_init(struct http_proxy *proxy)
{
    memset(proxy, 0, sizeof(*proxy));
    socks_init(&proxy->socks);
    http_head_init(&proxy->head, HTTP_REQUEST);
}

void http_proxy_finish(struct http_proxy *proxy)
{
    http_head_finish(&proxy->head);
}

static enum http_proxy_result refuse(struct http_proxy *proxy, enum guard_reason reason, struct buf *out)
{
    proxy->reason = reason;
    guard_refusal(out, reason, NULL, false);
    return HTTP_PROXY_REFUSED;
}

static enum http_proxy_result feed_socks(struct http_proxy *proxy, const void *data, size_t len,
                                         size_t *ret_used, struct buf *out)
{
    struct socks *socks = &proxy->socks;
    proxy->entrance = HTTP_PROXY_SOCKS;
    switch (socks_feed(socks, data, len, ret_used, out)) {
    case SOCKS_REFUSED:
        proxy->reason = socks->reason;
        return HTTP_PROXY_REFUSED;
    case SOCKS_MORE:
        return HTTP_PROXY_MORE;
    case SOCKS_REQUEST:
        break;
    }
    memcpy(proxy->host, socks->host, sizeof(proxy->host));
    proxy->port = socks->port;
    proxy->literal = socks->literal;
    return HTTP_PROXY_REQUEST;
}

static enum http_proxy_result feed_http(struct http_proxy *proxy, const void *data, size_t len,
                                        size_t *ret_used, struct buf *out)
{
    struct http_head *head = &proxy->head;
    struct authority authority;
    int whole = http_head_feed(head, data, len, ret_used);
    if (whole == 0)
        return HTTP_PROXY_MORE;
    if (whole < 0)
        return refuse(proxy, head->reason, out);
    if (head->form != HTTP_AUTHORITY && head->form != HTTP_ABSOLUTE)
        return refuse(proxy, GUARD_PROXY_FORM, out);
    bool tunnel = head->form == HTTP_AUTHORITY;
    /* What follows a CONNECT is the connection; a body of its own would begin it with bytes that nobody meant
     * so. */
    if (tunnel && (head->chunked || head->length > 0))
        return refuse(proxy, GUARD_HTTP_LENGTH, out);
    if (!authority_parse(head->authority.at, head->authority.len, tunnel ? 0 : HTTP_PORT, &authority))
        return refuse(proxy, GUARD_AUTHORITY, out);
    proxy->entrance = tunnel ? HTTP_PROXY_CONNECT : HTTP_PROXY_ABSOLUTE;
    memcpy(proxy->host, authority.host, authority.host_len);
    proxy->host[authority.host_len] = 0;
    proxy->port = authority.port;
    return HTTP_PROXY_REQUEST;
}

enum http_proxy_result http_proxy_feed(struct http_proxy *proxy, const void *data, size_t len,
                                       size_t *ret_used, struct buf *out)
{
    *ret_used = len;
    if (len == 0)
        return HTTP_PROXY_MORE;
    uint8_t first = http_head_begun(&proxy->head) ? 0 : *(const uint8_t *)data;
    if (proxy->entrance == HTTP_PROXY_SOCKS || first == SOCKS_5)
        return feed_socks(proxy, data, len, ret_used, out);
    if (first == SOCKS_4) { /* it would not understand an answer */
        proxy->reason = GUARD_SOCKS_VERSION;
        return HTTP_PROXY_REFUSED;
    }
    enum http_proxy_result result = feed_http(proxy, data, len, ret_used, out);
    if (result != HTTP_PROXY_REQUEST)
        *ret_used = len;
    return result;
}

void http_proxy_granted(const struct http_proxy *proxy, struct buf *to_client, struct buf *to_server)
{
    static const char established[] = "HTTP/1.1 200 Connection established\r\n\r\n";
    if (proxy->entrance == HTTP_PROXY_SOCKS)
        socks_reply(SOCKS_GRANTED, to_client);
    else if (proxy->entrance == HTTP_PROXY_CONNECT)
        require(buf_append(to_client, established, sizeof(established) - 1, NULL) == 0);
    else
        require(buf_append(to_server, buf_data(&proxy->head.bytes), proxy->head.bytes.len, NULL) == 0);
}

void http_proxy_refuse(const struct http_proxy *proxy, enum socks_code code, const char *json,
                       struct buf *to_client)
{
    if (proxy->entrance == HTTP_PROXY_SOCKS)
        socks_reply(code, to_client);
    else
        guard_refusal(to_client, GUARD_HTTP_POLICY, json, http_is(proxy->head.method, "HEAD"));
}
