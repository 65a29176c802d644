/* address.h: addresses, ranges, and what may be dialled. Two lists (address.def): the floor, which no rule
 * can open, and private ranges, which take a rule with private=RANGE. */
#ifndef HUTCH_POLICY_ADDRESS_H
#define HUTCH_POLICY_ADDRESS_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ADDRESS_FORMAT_MAX 46 /* INET6_ADDRSTRLEN */
#define CIDR_FORMAT_MAX    54 /* "[v6]/128" */

/* family: 4 or 6; bytes in network order, 4 or 16 of them, the rest zero. */
struct address {
    uint8_t family;
    uint8_t bytes[16];
};

/* base has zeros behind the length. */
struct cidr {
    struct address base;
    uint8_t length; /* 0 to 32, 0 to 128 */
};

/* Why an address is not simply public; address_class_name is what the guest may be told. */
enum address_class {
    ADDRESS_PUBLIC,
    ADDRESS_HOST, /* one of this host's own interfaces */
#define CLASS(name, word) ADDRESS_##name,
#define RANGE(list, class, family, length, ...)
#include "policy/address.def"
#undef CLASS
#undef RANGE
    ADDRESS_CLASS_COUNT
};

enum address_verdict {
    ADDRESS_ALLOW,   /* public, or private and in a range that was given */
    ADDRESS_PRIVATE, /* needs a rule with private=RANGE */
    ADDRESS_FLOOR,   /* never */
};

/* Strict dotted quad (no leading zeros) or IPv6 text without brackets or zone. ERROR_INVALID. */
int address_parse(const char *data, size_t len, struct address *ret_address, struct error **err);
/* Of a struct sockaddr_in or _in6 (asserted); *ret_port may be NULL. */
struct sockaddr;
void address_from_sockaddr(const struct sockaddr *sockaddr, struct address *ret_address, uint16_t *ret_port);
/* Text without brackets. Returns ret. */
char *address_format(const struct address *address, char ret[ADDRESS_FORMAT_MAX]);
bool address_equal(const struct address *a, const struct address *b);
/* ::ffff:a.b.c.d becomes a.b.c.d; all else stays. */
void address_unmap(struct address *address);

/* "10.0.0.0/8" or "[fd00::]/8"; bits behind the length are ERROR_INVALID, with the range that was meant. */
int cidr_parse(const char *data, size_t len, struct cidr *ret_cidr, struct error **err);
char *cidr_format(const struct cidr *cidr, char ret[CIDR_FORMAT_MAX]);
bool cidr_contains(const struct cidr *cidr, const struct address *address);
/* Is all of inner in outer? */
bool cidr_covers(const struct cidr *outer, const struct cidr *inner);
/* Would private=RANGE do anything: all of it lies in one private range and none of it wholly in the floor?
 * ERROR_INVALID says why not. */
int cidr_check_private(const struct cidr *cidr, struct error **err);

/* May the address be dialled? ranges: the private ranges of the deciding rule (0 or more). own: the addresses
 * of this host's interfaces at this moment. An embedded IPv4 address (mapped, compatible, translated, NAT64,
 * 6to4) is judged too, and the stricter verdict counts. *ret_class (may be NULL) is the class that decided.
 */
enum address_verdict address_check(const struct address *address, const struct cidr *ranges,
                                   size_t range_count, const struct address *own, size_t own_count,
                                   enum address_class *ret_class);
/* "loopback", "link-local", "private", …: one word that names no address. */
const char *address_class_name(enum address_class class);

#endif
