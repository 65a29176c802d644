#include "guard/dns.h"

#include "guard/bytes.h"

#include <string.h>

#define HEADER_LEN 12
#define CLASS_IN   1
#define TYPE_OPT   41
#define POINTER    0xc00c /* to the question's name */
#define UDP_SIZE   1232   /* that we say we take */

enum { FLAG_QR = 0x8000, FLAG_TC = 0x0200, FLAG_RD = 0x0100, FLAG_RA = 0x0080, FLAG_CD = 0x0010 };
enum { OPT_DO = 0x8000 };

/* The labels of a question as text. A byte that would change the meaning of the text is refused. */
static bool take_name(struct bytes *in, struct dns_query *query)
{
    for (;;) {
        uint32_t len;
        if (!bytes_number(in, 1, &len))
            return false;
        if (len == 0)
            return true;
        /* Above 63 is compression, or what never came to be. */
        if (len > 63 || len > in->left || query->name_len + (query->name_len > 0) + len > DNS_NAME_MAX)
            return false;
        if (memchr(in->at, 0, len) || memchr(in->at, '.', len))
            return false;
        if (query->name_len > 0)
            query->name[query->name_len++] = '.';
        memcpy(query->name + query->name_len, in->at, len);
        query->name_len += len;
        in->at += len;
        in->left -= len;
    }
}

static bool take_question(struct bytes *in, struct dns_query *query)
{
    const uint8_t *from = in->at;
    uint32_t type, class;
    if (!take_name(in, query) || !bytes_number(in, 2, &type) || !bytes_number(in, 2, &class))
        return false;
    query->type = (uint16_t)type;
    query->class = (uint16_t) class;
    query->question_len = (size_t)(in->at - from);
    memcpy(query->question, from, query->question_len);
    return true;
}

/* The one OPT that may follow; its options are not looked at, but must fill it. */
static bool take_opt(struct bytes *in, struct dns_query *query)
{
    uint32_t name, type, size, code, version, flags, len, option, option_len;
    if (!bytes_number(in, 1, &name) || name != 0 || !bytes_number(in, 2, &type) || type != TYPE_OPT ||
        !bytes_number(in, 2, &size) || !bytes_number(in, 1, &code) || !bytes_number(in, 1, &version) ||
        !bytes_number(in, 2, &flags) || !bytes_number(in, 2, &len) || len != in->left)
        return false;
    while (in->left > 0) {
        if (!bytes_number(in, 2, &option) || !bytes_number(in, 2, &option_len) || option_len > in->left)
            return false;
        in->at += option_len;
        in->left -= option_len;
    }
    query->edns = true;
    query->dnssec_ok = flags & OPT_DO;
    if (version != 0)
        query->rcode = DNS_BADVERS;
    return true;
}

static enum dns_verdict fail(struct dns_query *query, enum dns_rcode rcode)
{
    query->rcode = rcode;
    return DNS_ERROR;
}

enum dns_verdict dns_parse(const uint8_t *data, size_t len, struct dns_query *ret_query)
{
    struct bytes in = {data, len};
    struct dns_query *query = ret_query;
    uint32_t id, flags, questions, answers, authorities, additional;
    if (len < HEADER_LEN || (data[2] & 0x80))
        return DNS_DROP;
    memset(query, 0, sizeof(*query));
    bytes_number(&in, 2, &id);
    bytes_number(&in, 2, &flags);
    bytes_number(&in, 2, &questions);
    bytes_number(&in, 2, &answers);
    bytes_number(&in, 2, &authorities);
    bytes_number(&in, 2, &additional);
    query->id = (uint16_t)id;
    query->flags = (uint16_t)flags;
    if (flags >> 11 & 0xf)
        return fail(query, DNS_NOTIMP);
    if (len > DNS_QUERY_MAX || (flags & FLAG_TC) || questions != 1 || answers || authorities ||
        additional > 1)
        return fail(query, DNS_FORMERR);
    if (!take_question(&in, query) || (additional && !take_opt(&in, query)) || in.left > 0)
        return fail(query, DNS_FORMERR);
    if (query->rcode != DNS_NOERROR)
        return DNS_ERROR;
    if (query->class != CLASS_IN || query->type == DNS_ANY || query->type == DNS_AXFR ||
        query->type == DNS_IXFR)
        return fail(query, DNS_REFUSED);
    return query->type == DNS_A && query->name_len > 0 ? DNS_ASK : DNS_NODATA;
}

/* An answer that is being written; out is as long as the longest. */
struct writer {
    uint8_t *out;
    size_t len;
};

static void put(struct writer *to, uint32_t value, unsigned bytes)
{
    while (bytes-- > 0)
        to->out[to->len++] = (uint8_t)(value >> 8 * bytes);
}

static void put_start(struct writer *to, const struct dns_query *query, enum dns_rcode rcode, bool record)
{
    put(to, query->id, 2);
    put(to, FLAG_QR | (query->flags & (0x7800 | FLAG_RD | FLAG_CD)) | FLAG_RA | ((unsigned)rcode & 0xf), 2);
    put(to, query->question_len > 0, 2);
    put(to, record, 2);
    put(to, 0, 2);
    put(to, query->edns, 2);
    memcpy(to->out + to->len, query->question, query->question_len);
    to->len += query->question_len;
}

static size_t put_end(struct writer *to, const struct dns_query *query, enum dns_rcode rcode)
{
    if (query->edns) {
        put(to, 0, 1);
        put(to, TYPE_OPT, 2);
        put(to, UDP_SIZE, 2);
        put(to, (unsigned)rcode >> 4, 1);
        put(to, 0, 1);
        put(to, query->dnssec_ok ? OPT_DO : 0, 2);
        put(to, 0, 2);
    }
    return to->len;
}

size_t dns_answer_a(const struct dns_query *query, uint32_t address, uint32_t ttl,
                    uint8_t out[DNS_ANSWER_MAX])
{
    struct writer to = {out, 0};
    put_start(&to, query, DNS_NOERROR, true);
    put(&to, POINTER, 2);
    put(&to, DNS_A, 2);
    put(&to, CLASS_IN, 2);
    put(&to, ttl, 4);
    put(&to, 4, 2);
    put(&to, address, 4);
    return put_end(&to, query, DNS_NOERROR);
}

size_t dns_answer(const struct dns_query *query, enum dns_rcode rcode, uint8_t out[DNS_ANSWER_MAX])
{
    struct writer to = {out, 0};
    put_start(&to, query, rcode, false);
    return put_end(&to, query, rcode);
}
