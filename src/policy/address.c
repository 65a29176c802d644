#include "policy/address.h"

#include "base/alloc.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

enum list { FLOOR, PRIVATE };

static const struct range {
    enum list list;
    enum address_class class;
    struct cidr cidr;
} ranges_known[] = {
#define CLASS(name, word)
#define RANGE(list, class, family, length, ...) {list, ADDRESS_##class, {{family, {__VA_ARGS__}}, length}},
#include "policy/address.def"
#undef CLASS
#undef RANGE
};

const char *address_class_name(enum address_class class)
{
    static const char *const names[] = {
        "public",
        "this-host",
#define CLASS(name, word) word,
#define RANGE(list, class, family, length, ...)
#include "policy/address.def"
#undef CLASS
#undef RANGE
    };
    require((size_t) class < countof(names));
    return names[class];
}

/* Four decimal numbers without leading zeros. */
static bool parse_quad(const char *data, size_t len, uint8_t ret[4])
{
    size_t at = 0;
    for (int i = 0; i < 4; i++) {
        unsigned value = 0;
        size_t start = at;
        while (at < len && at - start < 3 && data[at] >= '0' && data[at] <= '9')
            value = value * 10 + (unsigned)(data[at++] - '0');
        if (at == start || value > 255 || (data[start] == '0' && at - start > 1))
            return false;
        ret[i] = (uint8_t)value;
        if (i < 3 && (at == len || data[at++] != '.'))
            return false;
    }
    return at == len;
}

int address_parse(const char *data, size_t len, struct address *ret_address, struct error **err)
{
    struct address address = {.family = 4};
    if (parse_quad(data, len, address.bytes)) {
        *ret_address = address;
        return 0;
    }
    char text[ADDRESS_FORMAT_MAX];
    if (len < sizeof(text) && !memchr(data, '\0', len) && memchr(data, ':', len)) {
        memcpy(text, data, len);
        text[len] = '\0';
        address.family = 6;
        if (inet_pton(AF_INET6, text, address.bytes) == 1) {
            *ret_address = address;
            return 0;
        }
    }
    return error_set(err, ERROR_INVALID, "\"%.*s\" is no address", (int)(len > 60 ? 60 : len), data);
}

void address_from_sockaddr(const struct sockaddr *sockaddr, struct address *ret_address, uint16_t *ret_port)
{
    struct address address = {.family = 4};
    uint16_t port;
    if (sockaddr->sa_family == AF_INET) {
        struct sockaddr_in in;
        memcpy(&in, sockaddr, sizeof(in));
        memcpy(address.bytes, &in.sin_addr, 4);
        port = ntohs(in.sin_port);
    } else {
        require(sockaddr->sa_family == AF_INET6);
        struct sockaddr_in6 in;
        memcpy(&in, sockaddr, sizeof(in));
        address.family = 6;
        memcpy(address.bytes, &in.sin6_addr, 16);
        port = ntohs(in.sin6_port);
    }
    *ret_address = address;
    if (ret_port)
        *ret_port = port;
}

char *address_format(const struct address *address, char ret[ADDRESS_FORMAT_MAX])
{
    require(inet_ntop(address->family == 4 ? AF_INET : AF_INET6, address->bytes, ret, ADDRESS_FORMAT_MAX));
    return ret;
}

bool address_equal(const struct address *a, const struct address *b)
{
    return a->family == b->family && !memcmp(a->bytes, b->bytes, sizeof(a->bytes));
}

static void take_ipv4(struct address *address, const uint8_t *from)
{
    uint8_t quad[4];
    memcpy(quad, from, 4);
    *address = (struct address){.family = 4};
    memcpy(address->bytes, quad, 4);
}

void address_unmap(struct address *address)
{
    static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
    if (address->family == 6 && !memcmp(address->bytes, mapped, 12))
        take_ipv4(address, address->bytes + 12);
}

/* The IPv4 address inside of an IPv6 one. */
static bool embedded_ipv4(const struct address *address, struct address *ret)
{
    static const struct {
        uint8_t prefix[12], len, at;
    } forms[] = {
        {{[10] = 0xff, [11] = 0xff}, 12, 12}, /* ::ffff:0:0/96, mapped */
        {{0}, 12, 12},                        /* ::/96, compatible */
        {{[8] = 0xff, [9] = 0xff}, 12, 12},   /* ::ffff:0:0:0/96, translated */
        {{0x00, 0x64, 0xff, 0x9b}, 12, 12},   /* 64:ff9b::/96, NAT64 */
        {{0x20, 0x02}, 2, 2},                 /* 2002::/16, 6to4 */
    };
    for (size_t i = 0; address->family == 6 && i < countof(forms); i++)
        if (!memcmp(address->bytes, forms[i].prefix, forms[i].len)) {
            take_ipv4(ret, address->bytes + forms[i].at);
            return true;
        }
    return false;
}

static void mask(struct address *address, unsigned length)
{
    for (unsigned i = 0; i < sizeof(address->bytes); i++) {
        unsigned keep = length > i * 8 ? length - i * 8 : 0;
        if (keep < 8)
            address->bytes[i] &= (uint8_t)(0xff00 >> keep);
    }
}

int cidr_parse(const char *data, size_t len, struct cidr *ret_cidr, struct error **err)
{
    const char *slash = memchr(data, '/', len);
    size_t end = slash ? (size_t)(slash - data) : len;
    bool brackets = end >= 2 && data[0] == '[' && data[end - 1] == ']';
    struct cidr cidr = {0};
    unsigned length = 0;
    size_t digits = slash ? len - end - 1 : 0;
    bool form = digits >= 1 && digits <= 3 && (slash[1] != '0' || digits == 1);
    for (size_t i = 0; form && i < digits; i++) {
        form = slash[1 + i] >= '0' && slash[1 + i] <= '9';
        length = length * 10 + (unsigned)(slash[1 + i] - '0');
    }
    if (!form || address_parse(data + brackets, end - 2 * (size_t)brackets, &cidr.base, NULL) < 0 ||
        brackets != (cidr.base.family == 6) || length > (cidr.base.family == 4 ? 32 : 128)) {
        int code = error_set(err, ERROR_INVALID, "\"%.*s\" is no range", (int)(len > 60 ? 60 : len), data);
        if (err)
            error_hint(err, "a range is 10.0.0.0/8 or [fd00::]/8");
        return code;
    }
    struct address written = cidr.base;
    cidr.length = (uint8_t)length;
    mask(&cidr.base, length);
    if (!address_equal(&written, &cidr.base)) {
        char meant[CIDR_FORMAT_MAX];
        int code = error_set(err, ERROR_INVALID, "\"%.*s\" has bits behind its length", (int)len, data);
        if (err)
            error_hint(err, "the range is %s", cidr_format(&cidr, meant));
        return code;
    }
    *ret_cidr = cidr;
    return 0;
}

char *cidr_format(const struct cidr *cidr, char ret[CIDR_FORMAT_MAX])
{
    char text[ADDRESS_FORMAT_MAX];
    bool brackets = cidr->base.family == 6;
    snprintf(ret, CIDR_FORMAT_MAX, "%s%s%s/%u", brackets ? "[" : "", address_format(&cidr->base, text),
             brackets ? "]" : "", cidr->length);
    return ret;
}

bool cidr_contains(const struct cidr *cidr, const struct address *address)
{
    struct address masked = *address;
    mask(&masked, cidr->length);
    return address_equal(&masked, &cidr->base);
}

bool cidr_covers(const struct cidr *outer, const struct cidr *inner)
{
    return outer->length <= inner->length && cidr_contains(outer, &inner->base);
}

int cidr_check_private(const struct cidr *cidr, struct error **err)
{
    char text[CIDR_FORMAT_MAX];
    cidr_format(cidr, text);
    for (size_t i = 0; i < countof(ranges_known); i++) {
        const struct range *range = &ranges_known[i];
        if (!cidr_covers(&range->cidr, cidr))
            continue;
        if (range->list == PRIVATE)
            return 0;
        return error_set(err, ERROR_INVALID, "%s is %s: no rule opens that", text,
                         address_class_name(range->class));
    }
    char known[CIDR_FORMAT_MAX];
    for (size_t i = 0; i < countof(ranges_known); i++)
        if (ranges_known[i].list == PRIVATE && cidr_covers(cidr, &ranges_known[i].cidr)) {
            int code = error_set(err, ERROR_INVALID, "%s is wider than the private ranges", text);
            if (err)
                error_hint(err, "name the part that is meant, at most %s",
                           cidr_format(&ranges_known[i].cidr, known));
            return code;
        }
    return error_set(err, ERROR_INVALID, "%s is not private: a rule for it needs no private=", text);
}

/* The first list that holds the address; false: it is public. */
static bool classify(const struct address *address, const struct address *own, size_t own_count,
                     const struct range **ret_range, bool *ret_own)
{
    *ret_range = NULL;
    *ret_own = false;
    for (size_t i = 0; i < own_count; i++) {
        struct address mine = own[i];
        address_unmap(&mine);
        if (address_equal(&mine, address))
            *ret_own = true;
    }
    for (size_t i = 0; i < countof(ranges_known); i++)
        if (cidr_contains(&ranges_known[i].cidr, address)) {
            *ret_range = &ranges_known[i];
            break;
        }
    return *ret_own || *ret_range;
}

enum address_verdict address_check(const struct address *address, const struct cidr *ranges,
                                   size_t range_count, const struct address *own, size_t own_count,
                                   enum address_class *ret_class)
{
    struct address forms[2] = {*address};
    size_t form_count = embedded_ipv4(address, &forms[1]) ? 2 : 1;
    enum address_verdict verdict = ADDRESS_ALLOW;
    enum address_class class = ADDRESS_PUBLIC;
    for (size_t i = 0; i < form_count; i++) {
        const struct range *range;
        bool mine;
        if (!classify(&forms[i], own, own_count, &range, &mine))
            continue;
        if ((range && range->list == FLOOR) || mine) {
            if (verdict != ADDRESS_FLOOR)
                class = range && range->list == FLOOR ? range->class : ADDRESS_HOST;
            verdict = ADDRESS_FLOOR;
            continue;
        }
        bool given = false;
        for (size_t k = 0; k < range_count; k++)
            given |= cidr_contains(&ranges[k], &forms[i]);
        if (class == ADDRESS_PUBLIC)
            class = range->class;
        if (!given && verdict == ADDRESS_ALLOW) {
            verdict = ADDRESS_PRIVATE;
            class = range->class;
        }
    }
    if (ret_class)
        *ret_class = class;
    return verdict;
}
