/* client_hello.h: a TLS client's first message, read to compare its server name with the name that was asked
 * for, and to refuse what is not TLS. Nothing is decrypted and nothing is changed: the bytes are kept as they
 * came and go to the server when the answer is yes. Sans-I/O; the time limit is the caller's.
 *
 * The message may be split over records and the records over reads in any way. It must end where a record
 * ends. Of extensions only server_name, ALPN, supported_versions and encrypted_client_hello are read, each at
 * most once. */
#ifndef HUTCH_GUARD_CLIENT_HELLO_H
#define HUTCH_GUARD_CLIENT_HELLO_H

#include "base/buf.h"
#include "guard/reason.h"

#define CLIENT_HELLO_MAX          (32 * 1024) /* bytes with their record headers */
#define CLIENT_HELLO_NAME_MAX     253
#define CLIENT_HELLO_ALPN_MAX     8  /* protocols that are kept; the others are only counted */
#define CLIENT_HELLO_ALPN_NAME    24 /* bytes of one with its NUL */
#define CLIENT_HELLO_VERSIONS_MAX 8

enum client_hello_result {
    CLIENT_HELLO_REFUSED = -1, /* hello->reason says why; there is no way on */
    CLIENT_HELLO_MORE = 0,     /* not complete yet */
    CLIENT_HELLO_DONE = 1,     /* the fields below are valid */
};

struct client_hello {
    struct buf raw;           /* all bytes so far; when done: exactly the records of the hello */
    enum guard_reason reason; /* GUARD_OK until refused */
    bool done;

    /* Valid when done. */
    bool has_sni;
    char sni[CLIENT_HELLO_NAME_MAX +
             1];       /* lower case; letters, digits, - and _ in labels of 1 to 63, no dot at the end */
    size_t alpn_count; /* as many as were offered */
    /* The first of them; "?" for one that is longer or has other bytes than printable ASCII. */
    char alpn[CLIENT_HELLO_ALPN_MAX][CLIENT_HELLO_ALPN_NAME];
    bool ech; /* an encrypted_client_hello is there, real or GREASE: they look alike */
    /* Versions as on the wire (0x0303 is TLS 1.2), GREASE left out, in the order of the client. */
    uint16_t versions[CLIENT_HELLO_VERSIONS_MAX];
    size_t version_count;

    /* Private: where the scan of the records is. */
    size_t record_at;   /* header of the record that is not whole yet */
    size_t body_len;    /* bytes of the message in whole records before it */
    size_t message_len; /* of the message with its header of 4, 0: unknown yet */
    uint8_t header[4];  /* of the message */
};

void client_hello_init(struct client_hello *hello);
void client_hello_finish(struct client_hello *hello);
/* Takes bytes until the hello is complete: *ret_used is len unless it is done, then what is behind it stays
 * with the caller. The same bytes give the same result in whatever pieces they come. After DONE or REFUSED it
 * may not be called again. Allocates at most CLIENT_HELLO_MAX for the raw bytes, and as much once for a
 * moment if there are several records. */
enum client_hello_result client_hello_feed(struct client_hello *hello, const void *data, size_t len,
                                           size_t *ret_used);
/* The stream ended before the hello was complete: why that is refused (it had a reason, or it was cut). */
enum guard_reason client_hello_end(struct client_hello *hello);
/* Compares a hello that is done with what was asked for. host: canonical (lower case, without a dot at its
 * end; an address as text). literal: host is an address, then there may be no server name; otherwise there
 * must be this one. ech_deny: the rule refuses ECH. Returns true if it may pass; false and *ret_reason. */
bool client_hello_check(const struct client_hello *hello, const char *host, bool literal, bool ech_deny,
                        enum guard_reason *ret_reason);

#endif
