/* Fuzz target of the proxy listener in the guest (SOCKS5 and HTTP): the same in one piece and byte by byte,
 * and a host that is plain text. */
#include "base/alloc.h"
#include "guard/http_proxy.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int feed(struct http_proxy *proxy, const uint8_t *data, size_t size, size_t step, struct buf *out,
                size_t *ret_at)
{
    int result = HTTP_PROXY_MORE;
    size_t at = 0;
    http_proxy_init(proxy);
    buf_init(out, 0);
    while (result == HTTP_PROXY_MORE && at < size) {
        size_t n = step < size - at ? step : size - at, used;
        result = http_proxy_feed(proxy, data + at, n, &used, out);
        require(used <= n && (used == n || result == HTTP_PROXY_REQUEST));
        at += used;
    }
    *ret_at = result == HTTP_PROXY_REFUSED ? 0 : at;
    return result;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct http_proxy whole, bytes;
    struct buf out, out_bytes, to_server;
    size_t at, at_bytes;
    int result = feed(&whole, data, size, SIZE_MAX, &out, &at);
    require(feed(&bytes, data, size, 1, &out_bytes, &at_bytes) == result && at == at_bytes);
    require(whole.reason == bytes.reason && whole.port == bytes.port && strcmp(whole.host, bytes.host) == 0);
    require(out.len == out_bytes.len && memcmp(buf_data(&out), buf_data(&out_bytes), out.len) == 0);
    require((result == HTTP_PROXY_REFUSED) == (whole.reason != GUARD_OK));
    if (result == HTTP_PROXY_REQUEST) {
        require(whole.port > 0 && whole.host[0] && whole.entrance != HTTP_PROXY_NONE);
        for (const char *byte = whole.host; *byte; byte++)
            require(*byte > 0x20 && *byte < 0x7f);
        buf_init(&to_server, 0);
        http_proxy_granted(&whole, &out, &to_server);
        require(whole.entrance == HTTP_PROXY_ABSOLUTE
                    ? to_server.len == at && memcmp(buf_data(&to_server), data, at) == 0
                    : to_server.len == 0);
        buf_finish(&to_server);
    }
    buf_finish(&out);
    buf_finish(&out_bytes);
    http_proxy_finish(&whole);
    http_proxy_finish(&bytes);
    return 0;
}
