#include "egress/proxy.h"

#include "base/alloc.h"
#include "policy/address.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define SCHEME "http://"

static int hex(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10 : -1;
}

/* Without its %XX; -1: not so written, or too long. */
static int decode(const char *text, size_t len, unsigned char *ret, size_t max)
{
    size_t n = 0;

    for (size_t i = 0; i < len; i++) {
        int byte = (unsigned char)text[i];

        if (text[i] == '%') {
            int high = i + 2 < len ? hex(text[i + 1]) : -1, low = i + 2 < len ? hex(text[i + 2]) : -1;

            if (high < 0 || low < 0)
                return -1;
            byte = high << 4 | low;
            i += 2;
        }
        if (n == max)
            return -1;
        ret[n++] = (unsigned char)byte;
    }
    return (int)n;
}

static void encode(const unsigned char *data, size_t len, char *to)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

    for (size_t i = 0; i < len; i += 3) {
        size_t left = len - i;
        uint32_t word = (uint32_t)data[i] << 16 | (left > 1 ? (uint32_t)data[i + 1] << 8 : 0) |
                        (left > 2 ? data[i + 2] : 0);

        *to++ = digits[word >> 18];
        *to++ = digits[word >> 12 & 63];
        *to++ = left > 1 ? digits[word >> 6 & 63] : '=';
        *to++ = left > 2 ? digits[word & 63] : '=';
    }
    *to = '\0';
}

/* "user" and "user:password" alike: Basic has both, with a colon. */
static bool set_authorization(struct proxy *proxy, const char *text, size_t len)
{
    unsigned char user[PROXY_USER_MAX + 1];
    int n = decode(text, len, user, PROXY_USER_MAX);

    if (n < 0)
        return false;
    if (!memchr(text, ':', len))
        user[n++] = ':';
    strncpy(proxy->authorization, "Basic ", sizeof(proxy->authorization) - 1);
    encode(user, (size_t)n, proxy->authorization + 6);
    explicit_bzero(user, sizeof(user));
    return true;
}

int proxy_parse(const char *url, const char *except, struct proxy **ret_proxy, struct error **err)
{
    struct proxy *proxy = xnew(struct proxy);
    bool scheme = strncasecmp(url, SCHEME, sizeof(SCHEME) - 1) == 0;
    const char *start = scheme ? url + sizeof(SCHEME) - 1 : url;
    size_t len = strcspn(start, "/?#");
    const char *at = start + len;
    struct host host;
    uint16_t port;

    while (at > start && at[-1] != '@')
        at--; /* behind the last one, or the start */
    if (scheme && host_parse_authority(at, len - (size_t)(at - start), 80, &host, &port, NULL) == 0 &&
        (at == start || set_authorization(proxy, start, (size_t)(at - start) - 1))) {
        host_format(&host, port, proxy->authority);
        proxy->except = xstrdup(except ? except : "");
        *ret_proxy = proxy;
        return 0;
    }
    proxy_destroy(proxy);
    const char *last = strrchr(url, '@'); /* nothing before it is for a log */
    error_set(err, ERROR_INVALID, "\"%s%s\" is no proxy that hutch can use", last ? "..." : "",
              last ? last : url);
    return error_hint(err, "write http://HOST:PORT, http://USER:PASSWORD@HOST:PORT, env or none");
}

void proxy_destroy(struct proxy *proxy)
{
    if (!proxy)
        return;
    free(proxy->except);
    explicit_bzero(proxy, sizeof(*proxy));
    free(proxy);
}

/* One entry, without its port. */
static bool matches(const char *entry, size_t len, const struct host *host)
{
    size_t own = strlen(host->text);
    struct cidr cidr;
    struct host other;

    if (len == 1 && *entry == '*')
        return true;
    if (host->kind != HOST_NAME) {
        if (memchr(entry, '/', len))
            return cidr_parse(entry, len, &cidr, NULL) == 0 && cidr_contains(&cidr, &host->address);
        bool bare = *entry != '[' && memchr(entry, ':', len); /* IPv6, as people write it there */
        autofree char *text = xasprintf(bare ? "[%.*s]" : "%.*s", (int)len, entry);
        return host_parse(text, strlen(text), HOST_REQUEST, &other, NULL) == 0 &&
               !strcmp(other.text, host->text);
    }
    if (len > 1 && !strncmp(entry, "*.", 2))
        entry++, len--;
    if (len && *entry == '.')
        entry++, len--;
    return len && len <= own && !strncasecmp(host->text + own - len, entry, len) &&
           (len == own || host->text[own - len - 1] == '.');
}

bool proxy_excepts(const struct proxy *proxy, const struct host *host, uint16_t port)
{
    const char *at = proxy->except;

    for (;;) {
        at += strspn(at, ", \t");
        size_t len = strcspn(at, ", \t"), name = len;
        const char *colon = NULL;

        if (!len)
            return false;
        for (size_t i = len; i > 0 && at[i - 1] != ']' && !colon; i--)
            colon = at[i - 1] == ':' ? at + i - 1 : NULL;
        if (colon && (*at == '[' || !memchr(at, ':', (size_t)(colon - at)))) /* else an IPv6 address */
            name = (size_t)(colon - at);
        bool same = name == len || strtoul(colon + 1, NULL, 10) == port;
        if (same && matches(at, name, host))
            return true;
        at += len;
    }
}
