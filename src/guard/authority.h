/* authority.h: "host:port" as it stands in CONNECT, in an absolute address and in Host. Only the shape:
 * whether the host is a good name decides the canonical-host function of the policy. */
#ifndef HUTCH_GUARD_AUTHORITY_H
#define HUTCH_GUARD_AUTHORITY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define AUTHORITY_HOST_MAX 255

/* A host as bytes of the caller's text: not terminated. An IPv6 address keeps its brackets. */
struct authority {
    const char *host;
    size_t host_len;
    uint16_t port;
};

/* Splits text. Port: 1 to 65535 in plain digits without a leading zero; default_port if none is given, 0: one
 * must be. Brackets are required around a host with colons. False for an empty or overlong host, "@", "/",
 * and bytes that are not printable ASCII. The host's pointer lives as long as the text. */
bool authority_parse(const char *text, size_t len, uint16_t default_port, struct authority *ret_authority);
/* Whether it names this canonical host (lower case, IPv6 in brackets) and port: letters in any case, one dot
 * at the end of a name allowed, IPv6 in any of its forms. */
bool authority_is(const struct authority *authority, const char *host, uint16_t port);

#endif
