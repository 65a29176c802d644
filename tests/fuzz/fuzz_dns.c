/* C16: fuzz target of the guest's stub: a query's answer fits, echoes it, and is read again as the same
 * question.
 */
#include "base/alloc.h"
#include "guard/dns.h"
#include "guard/names.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct dns_query query, again;
    uint8_t out[DNS_ANSWER_MAX];
    enum dns_verdict verdict = dns_parse(data, size, &query);
    if (verdict == DNS_DROP)
        return 0;
    require(query.name_len <= DNS_NAME_MAX && strlen(query.name) == query.name_len);
    require((verdict == DNS_ERROR) == (query.rcode != DNS_NOERROR));
    size_t len;
    if (verdict == DNS_ASK) {
        struct names names;
        uint32_t address;
        names_init(&names, size);
        require(names_address(&names, query.name, query.name_len, &address, NULL) == 0);
        require(strcmp(names_find(&names, address), query.name) == 0);
        len = dns_answer_a(&query, address, 60, out);
        names_finish(&names);
    } else {
        len = dns_answer(&query, query.rcode, out);
    }
    require(len >= 12 && len <= DNS_ANSWER_MAX && memcmp(out, data, 2) == 0 && (out[2] & 0x80));
    require(dns_parse(out, len, &again) == DNS_DROP); /* an answer is no question: no loop */
    if (verdict == DNS_ERROR)
        return 0;
    out[2] &= 0x7f;
    out[7] = 0; /* no answers: the question with its OPT */
    size_t record = verdict == DNS_ASK ? 16 : 0, tail = query.edns ? 11 : 0;
    memmove(out + len - tail - record, out + len - tail, tail);
    require(dns_parse(out, len - record, &again) == verdict);
    require(strcmp(again.name, query.name) == 0 && again.type == query.type && again.edns == query.edns);
    return 0;
}
