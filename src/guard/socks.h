/* socks.h: the server's side of a SOCKS5 handshake (RFC 1928): no authentication, CONNECT only. Sans-I/O,
 * never allocates but in out. */
#ifndef HUTCH_GUARD_SOCKS_H
#define HUTCH_GUARD_SOCKS_H

#include "base/buf.h"
#include "guard/authority.h"
#include "guard/reason.h"

enum socks_code {
    SOCKS_GRANTED = 0,
    SOCKS_FAILED = 1,
    SOCKS_NOT_ALLOWED = 2, /* the policy said no */
    SOCKS_HOST_UNREACHABLE = 4,
    SOCKS_CONNECTION_REFUSED = 5,
    SOCKS_NO_COMMAND = 7,
    SOCKS_NO_ADDRESS = 8,
};
enum socks_result {
    SOCKS_REFUSED = -1, /* close when out is written; socks->reason */
    SOCKS_MORE = 0,
    SOCKS_REQUEST = 1, /* host and port are valid: decide, then socks_reply */
};

struct socks {
    enum guard_reason reason;
    char host[AUTHORITY_HOST_MAX +
              1]; /* a name as sent (printable ASCII), or an address as text, IPv6 in brackets */
    uint16_t port;
    bool literal; /* sent as an address. A name may still be one as text */

    /* Private. */
    unsigned state;
    uint8_t bytes[4 + 1 + 255 + 2];
    size_t have, need;
};

void socks_init(struct socks *socks);
/* Takes bytes from the first one on; what the client is to be told is appended to out. *ret_used is len, but
 * for SOCKS_REQUEST: what is behind belongs to the connection. The same bytes give the same result in
 * whatever pieces they come. */
enum socks_result socks_feed(struct socks *socks, const void *data, size_t len, size_t *ret_used,
                             struct buf *out);
/* Appends the reply to the request (bound address 0.0.0.0:0). All but SOCKS_GRANTED ends the connection. */
void socks_reply(enum socks_code code, struct buf *out);

#endif
