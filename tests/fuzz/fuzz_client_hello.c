/* C16: fuzz target of the ClientHello: the same verdict in one piece and in many, and nothing of the result
 * out of bounds. */
#include "base/alloc.h"
#include "guard/client_hello.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static enum guard_reason feed(struct client_hello *hello, const uint8_t *data, size_t size, unsigned seed)
{
    client_hello_init(hello);
    for (size_t at = 0; at < size;) {
        size_t n = size - at, used;
        if (seed) {
            seed = seed * 1103515245u + 12345u;
            size_t piece = 1 + (seed >> 16) % 100;
            n = piece < n ? piece : n;
        }
        enum client_hello_result result = client_hello_feed(hello, data + at, n, &used);
        require(used <= n && (result == CLIENT_HELLO_DONE || used == n));
        at += used;
        if (result == CLIENT_HELLO_DONE) {
            require(hello->raw.len == at && memcmp(buf_data(&hello->raw), data, at) == 0);
            return GUARD_OK;
        }
        if (result == CLIENT_HELLO_REFUSED)
            return hello->reason;
    }
    return client_hello_end(hello);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct client_hello whole, pieces;
    enum guard_reason reason = feed(&whole, data, size, 0);
    require(feed(&pieces, data, size, (unsigned)size * 7 + 1) == reason);
    require(strcmp(whole.sni, pieces.sni) == 0 && whole.alpn_count == pieces.alpn_count &&
            whole.ech == pieces.ech);
    if (reason == GUARD_OK) {
        require(whole.has_sni == (whole.sni[0] != 0) && strlen(whole.sni) <= CLIENT_HELLO_NAME_MAX);
        require(!strpbrk(whole.sni, "ABCDEFGHIJKLMNOPQRSTUVWXYZ:/@ \\"));
        require(whole.version_count >= 1 && whole.version_count <= CLIENT_HELLO_VERSIONS_MAX);
        for (size_t i = 0; i < CLIENT_HELLO_ALPN_MAX; i++)
            require(memchr(whole.alpn[i], 0, CLIENT_HELLO_ALPN_NAME));
        enum guard_reason why;
        require(client_hello_check(&whole, whole.sni, false, false, &why) == whole.has_sni);
        require(client_hello_check(&whole, "192.0.2.1", true, false, &why) == !whole.has_sni);
    }
    client_hello_finish(&whole);
    client_hello_finish(&pieces);
    return 0;
}
