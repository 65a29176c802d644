#include "guard/authority.h"

#include <arpa/inet.h>
#include <string.h>
#include <strings.h>

static bool parse_port(const char *text, size_t len, uint16_t *ret_port)
{
    unsigned port = 0;
    if (len < 1 || len > 5 || text[0] == '0')
        return false;
    for (size_t i = 0; i < len; i++) {
        if (text[i] < '0' || text[i] > '9')
            return false;
        port = port * 10 + (unsigned)(text[i] - '0');
    }
    if (port > 65535)
        return false;
    *ret_port = (uint16_t)port;
    return true;
}

bool authority_parse(const char *text, size_t len, uint16_t default_port, struct authority *ret_authority)
{
    for (size_t i = 0; i < len; i++)
        if (text[i] <= 0x20 || text[i] >= 0x7f || strchr("@/\\?#", text[i]))
            return false;
    size_t host = 0;
    if (len > 0 && text[0] == '[') {
        const char *close = memchr(text, ']', len);
        if (!close || close == text + 1)
            return false;
        host = (size_t)(close - text) + 1;
    } else {
        while (host < len && text[host] != ':')
            host++;
        if (memchr(text, ']', host) || memchr(text, '[', host))
            return false;
    }
    if (host == 0 || host > AUTHORITY_HOST_MAX)
        return false;
    uint16_t port = default_port;
    if (host < len) {
        if (text[host] != ':' || !parse_port(text + host + 1, len - host - 1, &port))
            return false;
    } else if (default_port == 0) {
        return false;
    }
    *ret_authority = (struct authority){text, host, port};
    return true;
}

/* An IPv6 address in brackets as bytes. */
static bool parse_ipv6(const char *text, size_t len, struct in6_addr *ret)
{
    char plain[INET6_ADDRSTRLEN];
    if (len < 3 || text[0] != '[' || text[len - 1] != ']' || len - 2 >= sizeof(plain))
        return false;
    memcpy(plain, text + 1, len - 2);
    plain[len - 2] = 0;
    return inet_pton(AF_INET6, plain, ret) == 1;
}

bool authority_is(const struct authority *authority, const char *host, uint16_t port)
{
    size_t len = authority->host_len;
    struct in6_addr ours, theirs;
    if (authority->port != port)
        return false;
    if (host[0] == '[')
        return parse_ipv6(host, strlen(host), &ours) && parse_ipv6(authority->host, len, &theirs) &&
               memcmp(&ours, &theirs, sizeof(ours)) == 0;
    if (authority->host[len - 1] == '.')
        len--;
    return len == strlen(host) && strncasecmp(authority->host, host, len) == 0;
}
