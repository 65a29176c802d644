/* The guest's stub: queries, answers and the addresses of names. D07, D09, D12 of the list of attacks. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/alloc.h"
#include "guard/dns.h"
#include "guard/names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct message {
    uint8_t bytes[2048];
    size_t len;
};

static void put(struct message *m, uint32_t value, unsigned bytes)
{
    while (bytes-- > 0)
        m->bytes[m->len++] = (uint8_t)(value >> 8 * bytes);
}

static void put_name(struct message *m, const char *name)
{
    while (*name) {
        size_t label = strcspn(name, ".");
        put(m, (uint32_t)label, 1);
        memcpy(m->bytes + m->len, name, label);
        m->len += label;
        name += label + (name[label] == '.');
    }
    put(m, 0, 1);
}

/* A query with RD set. */
static void ask(struct message *m, const char *name, unsigned type)
{
    m->len = 0;
    put(m, 0xbeef0100, 4);
    put(m, 0x00010000, 4);
    put(m, 0, 4);
    put_name(m, name);
    put(m, type << 16 | 1, 4);
}

static void add_opt(struct message *m, unsigned version, uint32_t flags)
{
    m->bytes[11]++;
    put(m, 0, 1);
    put(m, 41, 2);
    put(m, 4096, 2);
    put(m, 0, 1);
    put(m, version, 1);
    put(m, flags, 2);
    put(m, 12, 2);
    put(m, 0x000a0008, 4); /* a cookie */
    put(m, 0, 4);
    put(m, 1, 4);
}

static enum dns_verdict parse(const struct message *m, struct dns_query *query)
{
    /* A copy of its exact length, for the sanitizer to watch. */
    autofree uint8_t *bytes = xmemdup(m->bytes, m->len);
    return dns_parse(bytes, m->len, query);
}

static void A_is_answered_with_an_address(void **state)
{
    struct message m;
    struct dns_query query;
    uint8_t out[DNS_ANSWER_MAX];
    ask(&m, "WwW.good.test", DNS_A);
    assert_int_equal(parse(&m, &query), DNS_ASK);
    assert_string_equal(query.name, "WwW.good.test");
    size_t len = dns_answer_a(&query, 0xc6120001, 30, out);
    static const uint8_t expected[] = {0xbe, 0xef, 0x81, 0x80, 0,  1,   0,   1,    0,    0, 0,   0,
                                       3,    'W',  'w',  'W',  4,  'g', 'o', 'o',  'd',  4, 't', 'e',
                                       's',  't',  0,    0,    1,  0,   1,   0xc0, 0x0c, 0, 1,   0,
                                       1,    0,    0,    0,    30, 0,   4,   198,  18,   0, 1};
    assert_int_equal(len, sizeof(expected));
    assert_memory_equal(out, expected, len);

    add_opt(&m, 0, 0x8000);
    assert_int_equal(parse(&m, &query), DNS_ASK);
    len = dns_answer_a(&query, 0xc6120001, 30, out);
    static const uint8_t opt[] = {0, 0, 41, 4, 208, 0, 0, 0x80, 0, 0, 0};
    assert_int_equal(len, sizeof(expected) + sizeof(opt));
    assert_int_equal(out[11], 1);
    assert_memory_equal(out + sizeof(expected), opt, sizeof(opt));

    char name[300] = "";
    for (int i = 0; i < 3; i++)
        snprintf(name + 64 * i, sizeof(name) - 64 * (size_t)i, "%063d.", i);
    snprintf(name + 192, sizeof(name) - 192, "%061d", 7);
    ask(&m, name, DNS_A);
    add_opt(&m, 0, 0);
    assert_int_equal(parse(&m, &query), DNS_ASK);
    assert_int_equal(query.name_len, DNS_NAME_MAX);
    assert_true(dns_answer_a(&query, 1, 1, out) <= DNS_ANSWER_MAX);
    snprintf(name + 192, sizeof(name) - 192, "%062d", 7);
    ask(&m, name, DNS_A);
    assert_int_equal(parse(&m, &query), DNS_ERROR);
    assert_int_equal(query.rcode, DNS_FORMERR);
}

static void D09_other_types_have_no_data_or_are_refused(void **state)
{
    static const struct {
        unsigned type;
        enum dns_verdict verdict;
    } cases[] = {
        {DNS_AAAA, DNS_NODATA}, {65, DNS_NODATA},      {64, DNS_NODATA},      {16, DNS_NODATA},
        {15, DNS_NODATA},       {DNS_PTR, DNS_NODATA}, {6, DNS_NODATA},       {2, DNS_NODATA},
        {DNS_ANY, DNS_ERROR},   {DNS_AXFR, DNS_ERROR}, {DNS_IXFR, DNS_ERROR},
    };
    struct message m;
    struct dns_query query;
    uint8_t out[DNS_ANSWER_MAX];
    for (size_t i = 0; i < countof(cases); i++) {
        ask(&m, "good.test", cases[i].type);
        assert_int_equal(parse(&m, &query), cases[i].verdict);
        enum dns_rcode rcode = cases[i].verdict == DNS_ERROR ? DNS_REFUSED : DNS_NOERROR;
        assert_int_equal(query.rcode, rcode);
        assert_int_equal(dns_answer(&query, query.rcode, out), m.len);
        assert_int_equal(out[3], 0x80 | rcode);
        assert_memory_equal(out + 4, "\0\1\0\0\0\0\0\0", 8);
        assert_memory_equal(out + 12, m.bytes + 12, m.len - 12);
    }
    ask(&m, "good.test", DNS_A);
    m.bytes[m.len - 1] = 3; /* CHAOS */
    assert_int_equal(parse(&m, &query), DNS_ERROR);
    assert_int_equal(query.rcode, DNS_REFUSED);
    ask(&m, "", DNS_A);
    assert_int_equal(parse(&m, &query), DNS_NODATA);
}

/* Each is a good query with one thing wrong. */
static void malformed_queries_are_told_so(void **state)
{
    struct message good, m;
    struct dns_query query;
    uint8_t out[DNS_ANSWER_MAX];
    ask(&good, "good.test", DNS_A);
    static const struct {
        size_t at;
        uint8_t byte;
        int rcode; /* -1: dropped */
    } cases[] = {
        {2, 0x81, -1},         {2, 0x11, DNS_NOTIMP}, {2, 0x29, DNS_NOTIMP},   {2, 0x03, DNS_FORMERR},
        {5, 0, DNS_FORMERR},   {5, 2, DNS_FORMERR},   {7, 1, DNS_FORMERR},     {9, 1, DNS_FORMERR},
        {11, 1, DNS_FORMERR},  {11, 2, DNS_FORMERR},  {12, 0xc0, DNS_FORMERR}, {12, 0x44, DNS_FORMERR},
        {12, 63, DNS_FORMERR}, {12, 3, DNS_FORMERR},  {14, '.', DNS_FORMERR},  {14, 0, DNS_FORMERR},
    };
    for (size_t i = 0; i < countof(cases); i++) {
        m = good;
        m.bytes[cases[i].at] = cases[i].byte;
        assert_int_equal(parse(&m, &query), cases[i].rcode < 0 ? DNS_DROP : DNS_ERROR);
        if (cases[i].rcode >= 0) {
            assert_int_equal(query.rcode, cases[i].rcode);
            assert_true(dns_answer(&query, query.rcode, out) >= 12);
        }
    }
    for (size_t cut = 0; cut < good.len; cut++) {
        m = good;
        m.len = cut;
        assert_int_equal(parse(&m, &query), cut < 12 ? DNS_DROP : DNS_ERROR);
    }
    m = good;
    put(&m, 0, 1);
    assert_int_equal(parse(&m, &query), DNS_ERROR);
    add_opt(&good, 0, 0);
    for (size_t cut = good.len - 23; cut < good.len; cut++) {
        m = good;
        m.len = cut;
        assert_int_equal(parse(&m, &query), DNS_ERROR);
        assert_int_equal(query.rcode, DNS_FORMERR);
    }
    m = good;
    put(&m, 0, 1);
    assert_int_equal(parse(&m, &query), DNS_ERROR);
    ask(&m, "good.test", DNS_A);
    add_opt(&m, 1, 0);
    assert_int_equal(parse(&m, &query), DNS_ERROR);
    assert_int_equal(query.rcode, DNS_BADVERS);
    size_t len = dns_answer(&query, query.rcode, out);
    assert_int_equal(out[3] & 0xf, 0);
    assert_int_equal(out[len - 6], 1); /* the upper bits of the code */
    /* Any byte may come: for the sanitizer. */
    for (size_t i = 0; i < m.len; i++)
        for (unsigned byte = 0; byte < 256; byte++) {
            struct message other = m;
            other.bytes[i] = (uint8_t)byte;
            if (parse(&other, &query) != DNS_DROP)
                assert_true(dns_answer(&query, query.rcode, out) <= DNS_ANSWER_MAX);
        }
}

static void a_name_keeps_its_address(void **state)
{
    struct names names;
    uint32_t a, b;
    names_init(&names, 42);
    assert_null(names_find(&names, NAMES_FIRST));
    assert_int_equal(names_address(&names, "good.test", 9, &a, NULL), 0);
    assert_int_equal(a, NAMES_FIRST);
    assert_int_equal(names_address(&names, "good.testing", 12, &b, NULL), 0);
    assert_int_equal(b, NAMES_FIRST + 1);
    assert_int_equal(names_address(&names, "good.testing", 9, &b, NULL), 0);
    assert_int_equal(b, a);
    assert_string_equal(names_find(&names, a), "good.test");
    assert_null(names_find(&names, NAMES_FIRST + 2));
    assert_null(names_find(&names, NAMES_FIRST - 1));
    assert_true(names_covers(NAMES_FIRST + NAMES_MAX - 1) && !names_covers(NAMES_FIRST + NAMES_MAX) &&
                !names_covers(NAMES_FIRST - 1) && !names_covers(0x7f000001));
    char longest[NAMES_NAME_MAX + 1];
    memset(longest, 'a', sizeof(longest));
    assert_int_equal(names_address(&names, longest, NAMES_NAME_MAX, &b, NULL), 0);
    assert_int_equal(names_address(&names, longest, NAMES_NAME_MAX + 1, &b, NULL), -ERROR_INVALID);
    assert_int_equal(names_address(&names, "", 0, &b, NULL), -ERROR_INVALID);
    assert_int_equal(names_address(&names, "a\0b", 3, &b, NULL), -ERROR_INVALID);
    names_finish(&names);
    names_finish(&names);
}

/* Names that begin other names meet them in the table. */
static void a_beginning_of_a_name_is_another(void **state)
{
    struct names names;
    char name[NAMES_NAME_MAX + 1] = "";
    uint32_t address;
    names_init(&names, 3);
    memset(name, 'a', NAMES_NAME_MAX);
    for (size_t len = NAMES_NAME_MAX; len > 0; len--) {
        assert_int_equal(names_address(&names, name, len, &address, NULL), 0);
        assert_int_equal(address, NAMES_FIRST + NAMES_NAME_MAX - len);
        assert_int_equal(strlen(names_find(&names, address)), len);
    }
    names_finish(&names);
}

static size_t name_of(uint32_t i, char out[64])
{
    return (size_t)snprintf(out, 64, "%u-data.evil.test", i * 2654435761u);
}

/* D07 is the first thousand of them. */
static void D12_the_131073rd_name_gets_none(void **state)
{
    struct names names;
    auto(error) struct error *err = NULL;
    uint32_t address = 0;
    char name[64];
    names_init(&names, 7);
    for (uint32_t i = 0; i < NAMES_MAX; i++) {
        assert_int_equal(names_address(&names, name, name_of(i, name), &address, NULL), 0);
        assert_int_equal(address, NAMES_FIRST + i);
    }
    assert_int_equal(address, 0xc613ffff); /* 198.19.255.255 */
    address = 1;
    assert_int_equal(names_address(&names, name, name_of(NAMES_MAX, name), &address, &err), -ERROR_LIMIT);
    assert_int_equal(address, 1);
    for (uint32_t i = 0; i < NAMES_MAX; i += 101) {
        size_t len = name_of(i, name);
        assert_string_equal(names_find(&names, NAMES_FIRST + i), name);
        assert_int_equal(names_address(&names, name, len, &address, NULL), 0);
        assert_int_equal(address, NAMES_FIRST + i);
    }
    names_finish(&names);
}

/* The allocation that fails. */
static size_t allocations, fail_at;

static void *failing(size_t size)
{
    return ++allocations == fail_at ? NULL : malloc(size);
}

/* Whichever allocation fails, the names before keep their addresses and the next try succeeds. */
static void memory_may_end_anywhere(void **state)
{
    enum { COUNT = 5000 };
    size_t failures = 0;
    for (fail_at = 1;; fail_at++) {
        struct names names;
        char name[64];
        uint32_t address = 0;
        bool failed = false;
        allocations = 0;
        names_init(&names, fail_at);
        names.alloc = failing;
        for (uint32_t i = 0; i < COUNT; i++) {
            size_t len = name_of(i, name);
            int rc = names_address(&names, name, len, &address, NULL);
            if (rc < 0) {
                assert_int_equal(rc, -ERROR_NO_MEMORY);
                assert_null(names_find(&names, NAMES_FIRST + i));
                failed = true;
                rc = names_address(&names, name, len, &address, NULL);
            }
            assert_int_equal(rc, 0);
            assert_int_equal(address, NAMES_FIRST + i);
        }
        for (uint32_t i = 0; i < COUNT; i++) {
            name_of(i, name);
            assert_string_equal(names_find(&names, NAMES_FIRST + i), name);
        }
        names_finish(&names);
        if (!failed)
            break;
        failures++;
    }
    assert_true(failures >= 10);
}

static int set_up(void **state)
{
    alarm(120);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(A_is_answered_with_an_address),
        cmocka_unit_test(D09_other_types_have_no_data_or_are_refused),
        cmocka_unit_test(malformed_queries_are_told_so),
        cmocka_unit_test(a_name_keeps_its_address),
        cmocka_unit_test(a_beginning_of_a_name_is_another),
        cmocka_unit_test(D12_the_131073rd_name_gets_none),
        cmocka_unit_test(memory_may_end_anywhere),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
