/* dns.h: queries to the guest's stub and the answers it makes. Nothing is ever forwarded. A message is whole;
 * the length in front of it on TCP is the caller's. Never allocates. */
#ifndef HUTCH_GUARD_DNS_H
#define HUTCH_GUARD_DNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DNS_NAME_MAX   253 /* as text */
#define DNS_QUERY_MAX  1232
#define DNS_ANSWER_MAX 320 /* the longest answer there is */

enum dns_type { DNS_A = 1, DNS_PTR = 12, DNS_AAAA = 28, DNS_IXFR = 251, DNS_AXFR = 252, DNS_ANY = 255 };
enum dns_rcode {
    DNS_NOERROR = 0,
    DNS_FORMERR = 1,
    DNS_SERVFAIL = 2,
    DNS_NXDOMAIN = 3,
    DNS_NOTIMP = 4,
    DNS_REFUSED = 5,
    DNS_BADVERS = 16, /* of EDNS */
};
enum dns_verdict {
    DNS_DROP = -1, /* no query at all, an answer to it would be noise */
    DNS_ASK,       /* A of the name: find or make its address, then dns_answer_a */
    DNS_NODATA,    /* the name is taken for existing and has no such record: dns_answer with DNS_NOERROR */
    DNS_ERROR,     /* dns_answer with query->rcode */
};

struct dns_query {
    uint16_t id;
    uint16_t flags;
    uint16_t type, class;
    char name[DNS_NAME_MAX +
              1]; /* labels with dots between, as sent, no dot at the end; "" is the root. Any byte but NUL
                     and a dot in a label: for the canonical-host function to judge */
    size_t name_len;
    enum dns_rcode rcode; /* for DNS_ERROR */
    bool edns, dnssec_ok;
    uint8_t question[255 + 4]; /* as sent, to be echoed; length 0 if it could not be read */
    size_t question_len;
};

/* Reads one message. One question, no other records but one OPT, no compression, nothing behind it; opcode
 * QUERY, class IN. ANY and zone transfers are REFUSED, all types but A are NODATA. *ret_query is filled as
 * far as it was readable; not for DNS_DROP. */
enum dns_verdict dns_parse(const uint8_t *data, size_t len, struct dns_query *ret_query);
/* Write an answer and return its length: one A record (address in host order, TTL in seconds); no record and
 * a code. EDNS in the query gives a minimal OPT. */
size_t dns_answer_a(const struct dns_query *query, uint32_t address, uint32_t ttl,
                    uint8_t out[DNS_ANSWER_MAX]);
size_t dns_answer(const struct dns_query *query, enum dns_rcode rcode, uint8_t out[DNS_ANSWER_MAX]);

#endif
