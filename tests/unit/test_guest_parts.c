/* The parts of hutch-guest that need no process: the ring and the reader of request targets. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/alloc.h"
#include "guest/freeze.h"
#include "guest/query.h"
#include "guest/ring.h"

#include <string.h>
#include <unistd.h>

static uint8_t byte_at(uint64_t offset)
{
    return (uint8_t)(offset * 7 ^ offset >> 9);
}

static void ring_write(struct ring *ring, size_t n)
{
    while (n) {
        size_t len;
        uint8_t *at = ring_reserve(ring, n < RING_MAX ? n : RING_MAX, &len);
        for (size_t i = 0; i < len; i++)
            at[i] = byte_at(ring->total + i);
        ring_commit(ring, len);
        n -= len;
    }
}

static void check_all(const struct ring *ring)
{
    uint64_t offset = ring->start;
    while (offset < ring->total) {
        size_t len;
        const uint8_t *data = ring_read(ring, offset, &len);
        assert_true(len > 0);
        for (size_t i = 0; i < len; i++)
            assert_int_equal(data[i], byte_at(offset + i));
        offset += len;
    }
    assert_true(offset == ring->total);
}

static void a_ring_keeps_the_last_bytes(void **state)
{
    static const size_t pieces[] = {1,    4095, 1, 5000, 100000, 7, RING_MAX - 1, 1, 65536, 3 * RING_MAX + 5,
                                    12345};
    struct ring ring;
    uint64_t total = 0;

    ring_init(&ring);
    check_all(&ring);
    for (size_t i = 0; i < countof(pieces); i++) {
        ring_write(&ring, pieces[i]);
        total += pieces[i];
        assert_true(ring.total == total);
        assert_true(ring.start == (total > RING_MAX ? total - RING_MAX : 0));
        assert_true(ring.size <= RING_MAX);
        check_all(&ring);
    }
    ring_finish(&ring);
}

static void a_small_ring_is_small(void **state)
{
    struct ring ring;

    ring_init(&ring);
    ring_write(&ring, 10);
    assert_true(ring.size <= 4096);
    ring_write(&ring, 100000);
    ring_shrink(&ring);
    assert_true(ring.size <= 131072);
    check_all(&ring);
    ring_finish(&ring);
}

static void targets_match_patterns(void **state)
{
    static const struct {
        const char *pattern, *target;
        bool matches;
    } cases[] = {
        {"/v1/sessions", "/v1/sessions", true},
        {"/v1/sessions", "/v1/sessions?x=1", true},
        {"/v1/sessions", "/v1/sessions/", false},
        {"/v1/sessions/*", "/v1/sessions/ab", true},
        {"/v1/sessions/*", "/v1/sessions/", false},
        {"/v1/sessions/*", "/v1/sessions/a/b", false},
        {"/v1/sessions/*/wait", "/v1/sessions/a/wait", true},
        {"/v1/sessions/*/wait", "/v1/sessions/a/wai", false},
        {"/v1/sessions", "/v1/session", false},
    };
    for (size_t i = 0; i < countof(cases); i++)
        assert_int_equal(query_matches(cases[i].pattern, cases[i].target), cases[i].matches);
}

static void targets_are_decoded(void **state)
{
    struct query query;
    const char *path;
    mode_t mode = 0;

    assert_int_equal(
        query_parse("/v1/x/*", "/v1/x/a%2fb?path=%2Fhome%2f%ff%0a+x&mode=0640&empty", &query, NULL), 0);
    assert_string_equal(query.argument[0], "a/b");
    assert_int_equal(query_path(&query, &path, NULL), 0);
    assert_string_equal(path, "/home/\xff\n+x");
    assert_int_equal(query_mode(&query, &mode, NULL), 0);
    assert_int_equal(mode, 0640);
    assert_string_equal(query_get(&query, "empty"), "");
    assert_null(query_get(&query, "none"));
    query_finish(&query);
}

static void bad_targets_are_refused(void **state)
{
    static const char *const bad[] = {
        "/v1/x?path=%",  "/v1/x?path=%2",           "/v1/x?path=%zz", "/v1/x?path=a%00b",
        "/v1/x?a=1&a=2", "/v1/x?a&b&c&d&e&f&g&h&i", "/v1/x?%=1",
    };
    for (size_t i = 0; i < countof(bad); i++) {
        struct query query;
        auto(error) struct error *err = NULL;
        if (query_parse("/v1/x", bad[i], &query, &err) == 0)
            fail_msg("'%s' was taken", bad[i]);
        assert_int_equal(err->code, ERROR_USAGE);
        query_finish(&query);
    }
    struct query query;
    mode_t mode;
    const char *path;
    assert_int_equal(query_parse("/v1/x", "/v1/x?mode=01000000&path=x", &query, NULL), 0);
    assert_int_not_equal(query_mode(&query, &mode, NULL), 0);
    assert_int_not_equal(query_path(&query, &path, NULL), 0);
    query_finish(&query);
}

static void file_systems_of_disks_are_found(void **state)
{
    static const struct {
        const char *line, *path; /* NULL: not one to hold */
    } cases[] = {
        {"29 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw", "/"},
        {"30 29 254:1 / /mnt/a\\040b rw - xfs /dev/vdb1 rw,attr2", "/mnt/a b"},
        {"31 29 0:25 / /run rw,nosuid shared:5 - tmpfs tmpfs rw,mode=755", NULL},
        {"32 29 254:2 / /boot ro,relatime - ext4 /dev/vdc rw", NULL},
        {"33 29 254:2 / /boot rw,relatime - ext4 /dev/vdc ro", NULL},
        {"34 29 254:0 /d /d rw,x - y master:2 - ext4 /dev/vda rw", NULL},
        {"35 29 254:0 / / rw", NULL},
        {"", NULL},
    };
    for (size_t i = 0; i < countof(cases); i++) {
        autofree char *line = xstrdup(cases[i].line);
        char *device = NULL, *path = freeze_point(line, &device);
        if (!cases[i].path) {
            assert_null(path);
            continue;
        }
        assert_string_equal(path, cases[i].path);
        assert_memory_equal(device, "254:", 4);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_ring_keeps_the_last_bytes), cmocka_unit_test(a_small_ring_is_small),
        cmocka_unit_test(targets_match_patterns),      cmocka_unit_test(targets_are_decoded),
        cmocka_unit_test(bad_targets_are_refused),     cmocka_unit_test(file_systems_of_disks_are_found),
    };
    alarm(60);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
