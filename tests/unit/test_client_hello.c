/* The first flight of TLS: T01, T02, T05, T06 of the list of attacks, what real clients send, every split. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/alloc.h"
#include "base/file.h"
#include "guard/client_hello.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SNI = 0, ALPN = 16, VERSIONS = 43, PADDING = 21, ECH = 0xfe0d };

static void put(struct buf *out, size_t value, unsigned bytes)
{
    while (bytes-- > 0)
        assert_int_equal(buf_append(out, &(uint8_t){(uint8_t)(value >> 8 * bytes)}, 1, NULL), 0);
}

static void put_bytes(struct buf *out, const void *data, size_t len)
{
    assert_int_equal(buf_append(out, data, len, NULL), 0);
}

static void put_extension(struct buf *out, unsigned type, const void *data, size_t len)
{
    put(out, type, 2);
    put(out, len, 2);
    put_bytes(out, data, len);
}

static void put_name(struct buf *out, unsigned type, const void *name, size_t len)
{
    put(out, SNI, 2);
    put(out, len + 5, 2);
    put(out, len + 3, 2);
    put(out, type, 1);
    put(out, len, 2);
    put_bytes(out, name, len);
}

/* A message around these extensions, in records of at most `record` bytes. Empties the extensions. */
static void wrap(struct buf *out, struct buf *extensions, size_t record)
{
    struct buf message;
    buf_init(&message, 0);
    size_t len = 2 + 32 + 1 + 2 + 2 + 2 + 2 + extensions->len;
    put(&message, 1, 1);
    put(&message, len, 3);
    put(&message, 0x0303, 2);
    for (int i = 0; i < 32; i++)
        put(&message, 0x40 + (unsigned)i, 1);
    put(&message, 0, 1);
    put(&message, 2, 2);
    put(&message, 0x1301, 2);
    put(&message, 0x0100, 2);
    put(&message, extensions->len, 2);
    put_bytes(&message, buf_data(extensions), extensions->len);
    buf_consume(extensions, extensions->len);
    while (message.len > 0) {
        size_t n = message.len < record ? message.len : record;
        put(out, 0x160301, 3);
        put(out, n, 2);
        put_bytes(out, buf_data(&message), n);
        buf_consume(&message, n);
    }
    buf_finish(&message);
}

/* One way to feed: pieces of `step` bytes, 0: of random sizes. What was said at the end. */
static enum guard_reason feed(struct client_hello *hello, const uint8_t *data, size_t len, size_t step,
                              size_t *ret_used)
{
    client_hello_init(hello);
    unsigned seed = (unsigned)len;
    size_t at = 0;
    while (at < len) {
        seed = seed * 1103515245u + 12345u;
        size_t n = step ? step : 1 + (seed >> 16) % 700, used;
        n = n < len - at ? n : len - at;
        enum client_hello_result result = client_hello_feed(hello, data + at, n, &used);
        at += used;
        if (result == CLIENT_HELLO_MORE)
            assert_int_equal(used, n);
        if (result == CLIENT_HELLO_DONE) {
            *ret_used = at;
            assert_int_equal(hello->raw.len, at);
            assert_memory_equal(buf_data(&hello->raw), data, at);
            return GUARD_OK;
        }
        if (result == CLIENT_HELLO_REFUSED) {
            assert_int_not_equal(hello->reason, GUARD_OK);
            return hello->reason;
        }
    }
    return client_hello_end(hello);
}

/* Feeds in every way, demands the same result of all, and leaves the hello for a look. */
static enum guard_reason read_all(struct client_hello *hello, const void *data, size_t len)
{
    size_t used = 0, used_again = 0;
    enum guard_reason reason = feed(hello, data, len, len ? len : 1, &used);
    for (size_t way = 0; way < 4; way++) {
        static const size_t steps[] = {1, 7, 1024, 0};
        struct client_hello again;
        assert_string_equal(guard_reason_name(feed(&again, data, len, steps[way], &used_again)),
                            guard_reason_name(reason));
        assert_int_equal(used_again, used);
        assert_string_equal(again.sni, hello->sni);
        assert_memory_equal(again.alpn, hello->alpn, sizeof(hello->alpn));
        assert_int_equal(again.alpn_count, hello->alpn_count);
        assert_int_equal(again.ech, hello->ech);
        assert_memory_equal(again.versions, hello->versions, sizeof(hello->versions));
        client_hello_finish(&again);
    }
    return reason;
}

static void assert_reason(enum guard_reason got, enum guard_reason expected)
{
    assert_string_equal(guard_reason_name(got), guard_reason_name(expected));
}

/* The verdict over bytes for a connection to host. */
static enum guard_reason judge(const void *data, size_t len, const char *host, bool literal, bool ech_deny)
{
    struct client_hello hello;
    enum guard_reason reason = read_all(&hello, data, len);
    if (reason == GUARD_OK)
        client_hello_check(&hello, host, literal, ech_deny, &reason);
    client_hello_finish(&hello);
    return reason;
}

static enum guard_reason judge_name(const void *name, size_t len, const char *host)
{
    struct buf extensions, wire;
    buf_init(&extensions, 0);
    buf_init(&wire, 0);
    put_name(&extensions, 0, name, len);
    wrap(&wire, &extensions, 16384);
    enum guard_reason reason = judge(buf_data(&wire), wire.len, host, false, false);
    buf_finish(&wire);
    buf_finish(&extensions);
    return reason;
}

static void T01_another_name_is_refused(void **state)
{
    assert_reason(judge_name("good.test", 9, "good.test"), GUARD_OK);
    assert_reason(judge_name("evil.test", 9, "good.test"), GUARD_SNI_MISMATCH);
    assert_reason(judge_name("a.good.test", 11, "good.test"), GUARD_SNI_MISMATCH);
    assert_reason(judge_name("good.tes", 8, "good.test"), GUARD_SNI_MISMATCH);
    assert_reason(judge_name("good.testt", 10, "good.test"), GUARD_SNI_MISMATCH);
}

static void T02_names(void **state)
{
    struct buf extensions, wire;
    buf_init(&extensions, 0);
    buf_init(&wire, 0);

    wrap(&wire, &extensions, 16384); /* none */
    assert_reason(judge(buf_data(&wire), wire.len, "good.test", false, false), GUARD_SNI_MISSING);
    assert_reason(judge(buf_data(&wire), wire.len, "192.0.2.1", true, false), GUARD_OK);
    buf_consume(&wire, wire.len);

    put_name(&extensions, 0, "good.test", 9); /* the extension twice */
    put_name(&extensions, 0, "good.test", 9);
    wrap(&wire, &extensions, 16384);
    assert_reason(judge(buf_data(&wire), wire.len, "good.test", false, false), GUARD_SNI_TWICE);
    buf_consume(&wire, wire.len);

    static const uint8_t two[] = {0,   24, 0, 0, 9,   'g', 'o', 'o', 'd', '.', 't', 'e', 's',
                                  't', 0,  0, 9, 'e', 'v', 'i', 'l', '.', 't', 'e', 's', 't'};
    put_extension(&extensions, SNI, two, sizeof(two)); /* two names in it */
    wrap(&wire, &extensions, 16384);
    assert_reason(judge(buf_data(&wire), wire.len, "good.test", false, false), GUARD_SNI_TWICE);
    buf_consume(&wire, wire.len);

    put_name(&extensions, 1, "good.test", 9); /* of another type */
    wrap(&wire, &extensions, 16384);
    assert_reason(judge(buf_data(&wire), wire.len, "good.test", false, false), GUARD_SNI_INVALID);
    buf_consume(&wire, wire.len);

    put_name(&extensions, 0, "192.0.2.1", 9);
    wrap(&wire, &extensions, 16384);
    assert_reason(judge(buf_data(&wire), wire.len, "192.0.2.1", true, false), GUARD_SNI_LITERAL);

    assert_reason(judge_name("good.test\0.evil.test", 20, "good.test"), GUARD_SNI_INVALID);
    assert_reason(judge_name("good.test\0", 10, "good.test"), GUARD_SNI_INVALID);
    assert_reason(judge_name("GOOD.Test", 9, "good.test"), GUARD_OK);
    assert_reason(judge_name("good.test.", 10, "good.test"), GUARD_SNI_INVALID);
    assert_reason(judge_name("", 0, "good.test"), GUARD_SNI_INVALID);
    assert_reason(judge_name("good..test", 10, "good..test"), GUARD_SNI_INVALID);
    assert_reason(judge_name(".good.test", 10, ".good.test"), GUARD_SNI_INVALID);
    assert_reason(judge_name("good\xc3\xb6.test", 11, "good.test"), GUARD_SNI_INVALID);
    assert_reason(judge_name("[::1]", 5, "[::1]"), GUARD_SNI_INVALID);
    assert_reason(judge_name("good.test:443", 13, "good.test"), GUARD_SNI_INVALID);
    char name[300];
    memset(name, 'a', sizeof(name));
    assert_reason(judge_name(name, 64, name), GUARD_SNI_INVALID);
    for (size_t i = 63; i < sizeof(name); i += 64)
        name[i] = '.';
    assert_reason(judge_name(name, 254, name), GUARD_SNI_INVALID);
    name[253] = 0;
    assert_reason(judge_name(name, 253, name), GUARD_OK);
    buf_finish(&wire);
    buf_finish(&extensions);
}

static void T05_ech(void **state)
{
    static const uint8_t grease[] = {0, 0, 1, 0, 1, 7, 0, 0, 0, 2, 1, 2};
    struct buf extensions, wire;
    buf_init(&extensions, 0);
    buf_init(&wire, 0);
    for (int outer = 0; outer < 2; outer++) {
        put_name(&extensions, 0, "good.test", 9);
        put_extension(&extensions, outer ? 0xffce : ECH, grease, sizeof(grease));
        wrap(&wire, &extensions, 16384);
        struct client_hello hello;
        assert_reason(read_all(&hello, buf_data(&wire), wire.len), GUARD_OK);
        assert_true(hello.ech);
        client_hello_finish(&hello);
        assert_reason(judge(buf_data(&wire), wire.len, "good.test", false, false), GUARD_OK);
        assert_reason(judge(buf_data(&wire), wire.len, "good.test", false, true), GUARD_ECH_DENIED);
        /* What is wrong anyway is said first. */
        assert_reason(judge(buf_data(&wire), wire.len, "evil.test", false, true), GUARD_SNI_MISMATCH);
        buf_consume(&wire, wire.len);
    }
    assert_reason(judge_name("good.test", 9, "good.test"), GUARD_OK);
    buf_finish(&wire);
    buf_finish(&extensions);
}

static void T06_other_protocols(void **state)
{
    static const struct {
        const char *bytes;
        size_t len;
        enum guard_reason reason;
    } cases[] = {
        {"GET / HTTP/1.1\r\n", 16, GUARD_NOT_TLS},
        {"SSH-2.0-OpenSSH_9.2\r\n", 21, GUARD_NOT_TLS},
        {"G", 1, GUARD_NOT_TLS},
        {"", 0, GUARD_TLS_TRUNCATED},
        {"\x16", 1, GUARD_TLS_TRUNCATED},
        {"\x16\x03\x01", 3, GUARD_TLS_TRUNCATED},
        {"\x16\x02", 2, GUARD_NOT_TLS},
        {"\x15\x03\x01\0\x02\x02\x28", 7, GUARD_NOT_TLS},
        {"\x80\x2e\x01\x03\x01", 5, GUARD_TLS_SSL2},
        {"\x80\x2e", 2, GUARD_TLS_TRUNCATED},
        {"\x80\x2e\x02", 3, GUARD_NOT_TLS},
        {"\x16\x03\x01\0\0", 5, GUARD_TLS_MALFORMED},
        {"\x16\x03\x01\x40\x01", 5, GUARD_TLS_MALFORMED},
        {"\x16\x03\x01\0\x04\x02\0\0\0", 9, GUARD_TLS_MALFORMED},          /* a ServerHello */
        {"\x16\x03\x01\0\x04\x01\0\0\0", 9, GUARD_TLS_MALFORMED},          /* an empty one */
        {"\x16\x03\x01\0\x04\x01\0\x80\0", 9, GUARD_TLS_TOO_LONG},         /* that will not fit */
        {"\x16\x03\x01\0\x05\x01\0\0\0\0", 10, GUARD_TLS_MALFORMED},       /* more in its record */
        {"\x16\x03\x01\0\x02\x01\0\x15\x03\x01", 10, GUARD_TLS_MALFORMED}, /* an alert in between */
    };
    for (size_t i = 0; i < countof(cases); i++)
        assert_reason(judge(cases[i].bytes, cases[i].len, "good.test", false, false), cases[i].reason);
}

static void may_be_split_over_records(void **state)
{
    struct buf extensions, wire;
    buf_init(&extensions, 0);
    buf_init(&wire, 0);
    for (size_t record = 1; record < 90; record++) {
        put_name(&extensions, 0, "good.test", 9);
        wrap(&wire, &extensions, record);
        size_t len = wire.len;
        assert_reason(judge(buf_data(&wire), len, "good.test", false, false), GUARD_OK);
        /* Cut anywhere it is not whole; what follows is left. */
        for (size_t cut = 0; cut < len; cut += 3)
            assert_reason(judge(buf_data(&wire), cut, "good.test", false, false), GUARD_TLS_TRUNCATED);
        put_bytes(&wire, "\x14\x03\x03\0\x01\x01", 6);
        struct client_hello hello;
        size_t used = 0;
        assert_reason(feed(&hello, buf_data(&wire), wire.len, wire.len, &used), GUARD_OK);
        assert_int_equal(used, len);
        client_hello_finish(&hello);
        buf_consume(&wire, wire.len);
    }
    buf_finish(&wire);
    buf_finish(&extensions);
}

/* 32 KiB with record headers: one byte less passes, one more does not, also in the smallest records. */
static void has_a_limit(void **state)
{
    static const uint8_t padding[CLIENT_HELLO_MAX];
    struct buf extensions, wire;
    buf_init(&extensions, 0);
    buf_init(&wire, 0);
    const size_t around = 4 + 43 + 18 + 4; /* header, message, name, header of the padding */
    for (int over = 0; over < 2; over++) {
        put_name(&extensions, 0, "good.test", 9);
        put_extension(&extensions, PADDING, padding, CLIENT_HELLO_MAX - 10 - around + (size_t)over);
        wrap(&wire, &extensions, 16384);
        assert_int_equal(wire.len, CLIENT_HELLO_MAX + over * 1);
        assert_reason(judge(buf_data(&wire), wire.len, "good.test", false, false),
                      over ? GUARD_TLS_TOO_LONG : GUARD_OK);
        buf_consume(&wire, wire.len);
    }
    put_extension(&extensions, PADDING, padding, 8000);
    wrap(&wire, &extensions, 1);
    assert_true(wire.len > CLIENT_HELLO_MAX);
    assert_reason(judge(buf_data(&wire), wire.len, "good.test", false, false), GUARD_TLS_TOO_LONG);
    buf_finish(&wire);
    buf_finish(&extensions);
}

/* Lengths that do not fit into each other: each byte of a good hello changed to several values never reads
 * beyond it, and every cut of an extension is seen. */
static void survives_damage(void **state)
{
    struct buf extensions, wire;
    buf_init(&extensions, 0);
    buf_init(&wire, 0);
    put_name(&extensions, 0, "good.test", 9);
    put_extension(&extensions, ALPN, "\0\x05\x02h2\x01x", 7);
    put_extension(&extensions, VERSIONS, "\x04\x03\x04\x0a\x0a", 5);
    wrap(&wire, &extensions, 16384);
    autofree uint8_t *copy = xmemdup(buf_data(&wire), wire.len);
    for (size_t i = 0; i < wire.len; i++)
        for (unsigned value = 0; value < 256; value += 51) {
            struct client_hello hello;
            copy[i] = (uint8_t)value;
            read_all(&hello, copy, wire.len);
            client_hello_finish(&hello);
            copy[i] = buf_data(&wire)[i];
        }
    buf_consume(&wire, wire.len);
    static const struct {
        unsigned type;
        const char *body;
        size_t len;
    } bad[] = {
        {SNI, "", 0},
        {SNI, "\0\0", 2},
        {SNI, "\0\x04\0\0\x02x", 6},
        {ALPN, "", 0},
        {ALPN, "\0\0", 2},
        {ALPN, "\0\x01\0", 3},
        {ALPN, "\0\x03\x03h2", 5},
        {ALPN, "\0\x03\x02h2x", 6},
        {VERSIONS, "", 0},
        {VERSIONS, "\0", 1},
        {VERSIONS, "\x03\x03\x04\x03", 4},
        {VERSIONS, "\x02\x0a\x0a", 3},
    };
    for (size_t i = 0; i < countof(bad); i++) {
        put_extension(&extensions, bad[i].type, bad[i].body, bad[i].len);
        wrap(&wire, &extensions, 16384);
        assert_reason(judge(buf_data(&wire), wire.len, "good.test", false, false), GUARD_TLS_MALFORMED);
        buf_consume(&wire, wire.len);
    }
    for (int i = 0; i < 2; i++)
        put_extension(&extensions, ALPN, "\0\x03\x02h2", 5);
    wrap(&wire, &extensions, 16384);
    assert_reason(judge(buf_data(&wire), wire.len, "good.test", false, false), GUARD_TLS_MALFORMED);
    buf_finish(&wire);
    buf_finish(&extensions);
}

static uint8_t *recorded(const char *name, size_t *ret_len)
{
    const char *top = getenv("srcdir");
    autofree char *path = xasprintf("%s/tests/fuzz/corpus/client_hello/%s", top ? top : ".", name);
    char *bytes = NULL;
    if (file_read(path, CLIENT_HELLO_MAX, &bytes, ret_len, NULL) < 0)
        fail_msg("\"%s\" cannot be read", path);
    return (uint8_t *)bytes;
}

/* tests/fuzz/record_hello.py made them. */
static void what_real_clients_send_passes(void **state)
{
    static const struct {
        const char *file;
        bool name;
        size_t alpn;
        const char *first;
        uint16_t version;
    } clients[] = {
        {"openssl", true, 0, "", 0x0304},
        {"openssl-tls12", true, 1, "http/1.1", 0x0303},
        {"openssl-no-name", false, 0, "", 0x0304},
        {"openssl-split", true, 60, "protocol-0", 0x0304},
        {"curl", true, 2, "h2", 0x0304},
        {"node", true, 2, "h2", 0x0304},
        {"node-20k", true, 1400, "protocol-10000", 0x0304},
        {"python", true, 0, "", 0x0304},
    };
    for (size_t i = 0; i < countof(clients); i++) {
        size_t len;
        autofree uint8_t *bytes = recorded(clients[i].file, &len);
        struct client_hello hello;
        assert_reason(read_all(&hello, bytes, len), GUARD_OK);
        assert_int_equal(hello.raw.len, len);
        assert_int_equal(hello.has_sni, clients[i].name);
        assert_string_equal(hello.sni, clients[i].name ? "good.test" : "");
        assert_int_equal(hello.alpn_count, clients[i].alpn);
        assert_string_equal(hello.alpn[0], clients[i].first);
        assert_int_equal(hello.versions[0], clients[i].version);
        assert_false(hello.ech);
        client_hello_finish(&hello);
    }
}

static int set_up(void **state)
{
    alarm(120);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(T01_another_name_is_refused),
        cmocka_unit_test(T02_names),
        cmocka_unit_test(T05_ech),
        cmocka_unit_test(T06_other_protocols),
        cmocka_unit_test(may_be_split_over_records),
        cmocka_unit_test(has_a_limit),
        cmocka_unit_test(survives_damage),
        cmocka_unit_test(what_real_clients_send_passes),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
