/* The hello: both sides, any split, garbage, queues. C13 and C22 of the list of attacks. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/alloc.h"
#include "wire/hello.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PREFACE  "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
#define WIRE_MAX (HELLO_KEY_SIZE + HELLO_SIZE)

struct ends {
    struct hello_host host;
    struct hello_guest guest;
    struct buf pass;
};

static int set_up(void **state)
{
    alarm(60);
    struct ends *e = xnew(struct ends);
    hello_host_init(&e->host, NULL);
    hello_guest_init(&e->guest);
    buf_init(&e->pass, 0);
    *state = e;
    return 0;
}

static int tear_down(void **state)
{
    struct ends *e = *state;
    buf_finish(&e->pass);
    free(e);
    return 0;
}

static int guest_eats(struct ends *e, const void *data, size_t len)
{
    return hello_guest_receive(&e->guest, data, len, &e->pass);
}

/* Expects that the host takes this reply whole. */
static void host_takes(struct ends *e, const uint8_t reply[HELLO_REPLY_SIZE])
{
    size_t used;
    uint32_t version = 0;
    assert_int_equal(hello_host_receive(&e->host, reply, HELLO_REPLY_SIZE, &used, &version), 1);
    assert_int_equal(used, HELLO_REPLY_SIZE);
    assert_int_equal(version, HELLO_VERSION);
}

/* A complete exchange; the session is live and has begun. */
static void greet(struct ends *e)
{
    uint8_t wire[WIRE_MAX], reply[HELLO_REPLY_SIZE];
    hello_host_make(&e->host, wire);
    assert_int_equal(guest_eats(e, wire, sizeof(wire)), 1);
    hello_guest_reply(&e->guest, reply);
    host_takes(e, reply);
    assert_int_equal(guest_eats(e, PREFACE, strlen(PREFACE)), 0);
    assert_true(e->guest.live);
    hello_guest_release(&e->guest, &e->pass); /* the preface may end as this key begins */
    buf_consume(&e->pass, e->pass.len);
}

static void meets_in_any_split(void **state)
{
    struct ends *e = *state;
    uint8_t wire[WIRE_MAX], reply[HELLO_REPLY_SIZE];
    for (size_t split = 0; split <= sizeof(wire); split++) {
        hello_guest_reset(&e->guest);
        hello_host_make(&e->host, wire);
        int first = guest_eats(e, wire, split);
        assert_int_equal(first, split == sizeof(wire));
        assert_int_equal(guest_eats(e, wire + split, sizeof(wire) - split), 1);
        hello_guest_reply(&e->guest, reply);

        size_t used;
        uint32_t version;
        size_t at = split % (HELLO_REPLY_SIZE - 1) + 1;
        assert_int_equal(hello_host_receive(&e->host, reply, at, &used, &version), 0);
        assert_int_equal(used, at);
        assert_int_equal(hello_host_receive(&e->host, reply + at, sizeof(reply) - at, &used, &version), 1);
        assert_int_equal(used, sizeof(reply) - at);
    }
    assert_int_equal(e->pass.len, 0);
}

static void meets_byte_by_byte_in_garbage(void **state)
{
    struct ends *e = *state;
    uint8_t wire[WIRE_MAX], reply[HELLO_REPLY_SIZE];
    hello_host_make(&e->host, wire);
    /* Beginnings of the magic, each cut by the next. */
    for (size_t n = 1; n < HELLO_MAGIC_SIZE; n++)
        assert_int_equal(guest_eats(e, hello_magic, n), 0);
    for (size_t i = 0; i + 1 < sizeof(wire); i++)
        assert_int_equal(guest_eats(e, wire + i, 1), 0);
    assert_int_equal(guest_eats(e, wire + sizeof(wire) - 1, 1), 1);
    hello_guest_reply(&e->guest, reply);

    size_t used;
    uint32_t version;
    for (size_t n = 1; n < HELLO_MAGIC_SIZE + 10; n++) {
        assert_int_equal(hello_host_receive(&e->host, reply, n, &used, &version), 0);
        assert_int_equal(used, n);
    }
    for (size_t i = 0; i + 1 < sizeof(reply); i++)
        assert_int_equal(hello_host_receive(&e->host, reply + i, 1, &used, &version), 0);
    assert_int_equal(hello_host_receive(&e->host, reply + sizeof(reply) - 1, 1, &used, &version), 1);
}

static void host_leaves_what_follows_the_reply(void **state)
{
    struct ends *e = *state;
    uint8_t wire[WIRE_MAX], in[HELLO_REPLY_SIZE + 5];
    hello_host_make(&e->host, wire);
    assert_int_equal(guest_eats(e, wire, sizeof(wire)), 1);
    hello_guest_reply(&e->guest, in);
    memcpy(in + HELLO_REPLY_SIZE, "HTTP2", 5);
    size_t used;
    uint32_t version;
    assert_int_equal(hello_host_receive(&e->host, in, sizeof(in), &used, &version), 1);
    assert_int_equal(used, HELLO_REPLY_SIZE);
}

static void answers_only_the_last_of_several(void **state)
{
    struct ends *e = *state;
    uint8_t queue[4 * WIRE_MAX], reply[HELLO_REPLY_SIZE];
    for (size_t i = 0; i < 4; i++)
        hello_host_make(&e->host, queue + i * WIRE_MAX);
    /* The fourth is not complete yet. */
    assert_int_equal(guest_eats(e, queue, sizeof(queue) - 1), 1);
    assert_memory_equal(e->guest.nonce, queue + 2 * WIRE_MAX + HELLO_KEY_SIZE + HELLO_MAGIC_SIZE,
                        HELLO_NONCE_SIZE);
    assert_int_equal(guest_eats(e, queue + sizeof(queue) - 1, 1), 1);
    hello_guest_reply(&e->guest, reply);
    host_takes(e, reply);
    assert_memory_equal(e->guest.session_key, e->host.new_key, HELLO_KEY_SIZE);
}

static void a_cut_hello_does_not_eat_the_next(void **state)
{
    struct ends *e = *state;
    uint8_t wire[WIRE_MAX], reply[HELLO_REPLY_SIZE];
    for (size_t cut = 0; cut < sizeof(wire); cut++) {
        hello_guest_reset(&e->guest);
        hello_host_make(&e->host, wire);
        assert_int_equal(guest_eats(e, wire, cut), 0);
        hello_host_make(&e->host, wire);
        assert_int_equal(guest_eats(e, wire, sizeof(wire)), 1);
        hello_guest_reply(&e->guest, reply);
        host_takes(e, reply);
    }
}

static void the_key_ends_a_session_in_any_split(void **state)
{
    struct ends *e = *state;
    uint8_t wire[WIRE_MAX], reply[HELLO_REPLY_SIZE];
    uint8_t old[HELLO_KEY_SIZE];
    for (size_t split = 0; split <= sizeof(wire); split++) {
        greet(e);
        memcpy(old, e->host.new_key, sizeof(old));
        struct hello_host next;
        hello_host_init(&next, old);
        hello_host_make(&next, wire);

        uint8_t live[10];
        memset(live, old[0] + 1, sizeof(live)); /* nothing that the key could begin with */
        guest_eats(e, live, sizeof(live));
        assert_int_equal(e->pass.len, sizeof(live));
        assert_memory_equal(buf_data(&e->pass), live, sizeof(live));
        guest_eats(e, wire, split);
        assert_int_equal(e->guest.live, split < HELLO_KEY_SIZE);
        assert_int_equal(guest_eats(e, wire + split, sizeof(wire) - split), 1);
        assert_int_equal(e->pass.len, sizeof(live)); /* nothing of the key or of the hello was passed */
        buf_consume(&e->pass, e->pass.len);

        e->host = next;
        hello_guest_reply(&e->guest, reply);
        host_takes(e, reply);
        hello_guest_reset(&e->guest);
    }
}

/* A key that overlaps itself: the searcher must fall back, not start over. */
static void finds_a_key_that_overlaps_itself(void **state)
{
    struct ends *e = *state;
    greet(e);
    memset(e->guest.session_key, 'a', HELLO_KEY_SIZE);
    e->guest.session_key[HELLO_KEY_SIZE - 1] = 'b';
    uint8_t in[100];
    memset(in, 'a', sizeof(in));
    in[99] = 'b';
    for (size_t i = 0; i < sizeof(in); i++) {
        assert_true(e->guest.live);
        guest_eats(e, in + i, 1);
    }
    assert_false(e->guest.live);
    assert_int_equal(e->pass.len, sizeof(in) - HELLO_KEY_SIZE);
}

static void what_looks_like_the_key_passes_late_but_whole(void **state)
{
    struct ends *e = *state;
    greet(e);
    guest_eats(e, e->guest.session_key, HELLO_KEY_SIZE - 1);
    assert_int_equal(e->pass.len, 0);
    uint8_t other = (uint8_t)(e->guest.session_key[HELLO_KEY_SIZE - 1] + 1);
    guest_eats(e, &other, 1);
    guest_eats(e, "x", 1);
    assert_true(e->guest.live);
    assert_true(e->pass.len >= HELLO_KEY_SIZE);
    assert_memory_equal(buf_data(&e->pass), e->guest.session_key, HELLO_KEY_SIZE - 1);
}

/* The end of a message can look like the beginning of the key, and nothing may follow it for long. */
static void held_bytes_are_released_and_the_key_is_still_found(void **state)
{
    struct ends *e = *state;
    for (size_t before = 1; before < HELLO_KEY_SIZE; before++) {
        greet(e);
        const uint8_t *key = e->host.new_key;
        buf_consume(&e->pass, e->pass.len);
        guest_eats(e, &(uint8_t){(uint8_t)(key[0] + 1)}, 1);
        for (size_t i = 0; i < before; i++) {
            guest_eats(e, key + i, 1);
            assert_true(hello_guest_holds(&e->guest));
            if (i % 2)
                hello_guest_release(&e->guest, &e->pass);
            assert_int_equal(e->pass.len, i % 2 ? i + 2 : i + 1);
        }
        hello_guest_release(&e->guest, &e->pass);
        assert_false(hello_guest_holds(&e->guest));
        assert_int_equal(e->pass.len, 1 + before);
        assert_memory_equal(buf_data(&e->pass) + 1, key, before);
        hello_guest_release(&e->guest, &e->pass);
        assert_int_equal(e->pass.len, 1 + before);
        if (before % 2) { /* it was the key after all */
            guest_eats(e, key + before, HELLO_KEY_SIZE - before);
            assert_false(e->guest.live);
        } else { /* it was not: what follows passes once */
            uint8_t other = key[before] ^ 1;
            if (other == key[0])
                other ^= 3;
            guest_eats(e, &other, 1);
            assert_int_equal(e->pass.len, 2 + before);
            assert_int_equal(buf_data(&e->pass)[1 + before], other);
            hello_guest_reset(&e->guest);
        }
        hello_host_init(&e->host, NULL);
    }
}

/* The reply crosses a repetition: the guest must not take the second hello for HTTP/2. */
static void a_repetition_right_after_the_reply_is_answered(void **state)
{
    struct ends *e = *state;
    uint8_t wire[WIRE_MAX], reply[HELLO_REPLY_SIZE];
    hello_host_make(&e->host, wire);
    guest_eats(e, wire, sizeof(wire));
    hello_guest_reply(&e->guest, reply);

    hello_host_make(&e->host, wire);
    size_t used;
    uint32_t version;
    assert_int_equal(hello_host_receive(&e->host, reply, sizeof(reply), &used, &version), 0); /* old nonce */
    int seen = 0;
    for (size_t i = 0; i < sizeof(wire); i++)
        seen = guest_eats(e, wire + i, 1);
    assert_int_equal(seen, 1);
    assert_int_equal(e->pass.len, 0);
    hello_guest_reply(&e->guest, reply);
    host_takes(e, reply);
}

/* A server speaks first on the egress port: its SETTINGS are an opening too. */
static void a_session_may_open_with_settings(void **state)
{
    struct ends *e = *state;
    uint8_t wire[WIRE_MAX], reply[HELLO_REPLY_SIZE];
    const uint8_t settings[] = {0, 0, 6, 4, 0, 0, 0, 0, 0, 0, 3, 0, 0, 1, 0};
    hello_host_make(&e->host, wire);
    guest_eats(e, wire, sizeof(wire));
    hello_guest_reply(&e->guest, reply);
    for (size_t i = 0; i < sizeof(settings); i++)
        guest_eats(e, settings + i, 1);
    assert_true(e->guest.live);
    hello_guest_release(&e->guest, &e->pass); /* they may end as the key begins */
    assert_int_equal(e->pass.len, sizeof(settings));
    assert_memory_equal(buf_data(&e->pass), settings, sizeof(settings));
}

static void delays_grow_to_two_seconds(void **state)
{
    struct ends *e = *state;
    const unsigned expected[] = {250, 500, 1000, 2000, 2000, 2000};
    uint8_t wire[WIRE_MAX];
    for (size_t i = 0; i < countof(expected); i++) {
        hello_host_make(&e->host, wire);
        assert_int_equal(hello_host_delay_ms(&e->host), expected[i]);
    }
}

static void C13_garbage_is_discarded_without_growth(void **state)
{
    struct ends *e = *state;
    uint8_t wire[WIRE_MAX], reply[HELLO_REPLY_SIZE], old_reply[HELLO_REPLY_SIZE];
    size_t used;
    uint32_t version;
    size_t block = 1 << 20;
    autofree uint8_t *zeros = xcalloc(block, 1);
    autofree uint8_t *noise = xcalloc(block, 1);
    for (size_t i = 0; i < block; i++)
        noise[i] = (uint8_t)(i % 7 ? i * 2654435761u >> 13 : hello_reply_magic[0]);

    hello_host_make(&e->host, wire);
    guest_eats(e, wire, sizeof(wire));
    hello_guest_reply(&e->guest, old_reply);
    hello_host_make(&e->host, wire);
    guest_eats(e, wire, sizeof(wire));
    hello_guest_reply(&e->guest, reply);

    struct mallinfo2 before = mallinfo2();
    for (int i = 0; i < 1024; i++) {
        assert_int_equal(hello_host_receive(&e->host, zeros, block, &used, &version), 0);
        assert_int_equal(used, block);
    }
    for (int i = 0; i < 64; i++)
        assert_int_equal(hello_host_receive(&e->host, noise, block, &used, &version), 0);
    /* An old nonce, a wrong one, a cut reply. */
    assert_int_equal(hello_host_receive(&e->host, old_reply, sizeof(old_reply), &used, &version), 0);
    uint8_t wrong[HELLO_REPLY_SIZE];
    memcpy(wrong, reply, sizeof(wrong));
    wrong[HELLO_MAGIC_SIZE + HELLO_NONCE_SIZE - 1] ^= 1;
    assert_int_equal(hello_host_receive(&e->host, wrong, sizeof(wrong), &used, &version), 0);
    assert_int_equal(hello_host_receive(&e->host, reply, sizeof(reply) - 7, &used, &version), 0);
    host_takes(e, reply);

    /* The guest without a session throws garbage away too. */
    hello_guest_reset(&e->guest);
    for (int i = 0; i < 64; i++)
        assert_int_equal(guest_eats(e, noise, block), 0);
    struct mallinfo2 after = mallinfo2();
    assert_int_equal(after.uordblks, before.uordblks);
    assert_int_equal(e->pass.len, 0);
}

static void C22_every_constant_passes_unchanged(void **state)
{
    struct ends *e = *state;
    greet(e);
    e->guest.session_key[HELLO_KEY_SIZE - 1] = 0; /* not what follows the cut keys below */
    struct buf payload;
    buf_init(&payload, 0);
    uint8_t wire[WIRE_MAX], reply[HELLO_REPLY_SIZE];
    struct hello_host other;
    hello_host_init(&other, NULL);
    hello_host_make(&other, wire);
    memcpy(reply, hello_reply_magic, HELLO_MAGIC_SIZE);
    memcpy(reply + HELLO_MAGIC_SIZE, e->guest.nonce, HELLO_NONCE_SIZE);
    memset(reply + HELLO_MAGIC_SIZE + HELLO_NONCE_SIZE, 0, 4);
    for (int i = 0; i < 3; i++) {
        buf_append(&payload, hello_magic, HELLO_MAGIC_SIZE, NULL);
        buf_append(&payload, hello_reply_magic, HELLO_MAGIC_SIZE, NULL);
        buf_append(&payload, PREFACE, strlen(PREFACE), NULL);
        buf_append(&payload, wire, sizeof(wire), NULL); /* another session's complete hello */
        buf_append(&payload, reply, sizeof(reply), NULL);
        buf_append(&payload, e->guest.session_key, HELLO_KEY_SIZE - 1, NULL); /* all but the last byte */
    }
    buf_append(&payload, "end", 3, NULL);
    for (size_t step = 1; step < 200; step += 13) {
        for (size_t at = 0; at < payload.len; at += step) {
            size_t n = payload.len - at < step ? payload.len - at : step;
            assert_int_equal(guest_eats(e, buf_data(&payload) + at, n), 0);
        }
        assert_true(e->guest.live);
        hello_guest_release(&e->guest, &e->pass); /* the payload may end as the key begins */
        assert_int_equal(e->pass.len, payload.len);
        assert_memory_equal(buf_data(&e->pass), buf_data(&payload), payload.len);
        buf_consume(&e->pass, e->pass.len);
    }
    buf_finish(&payload);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(meets_in_any_split),
        TEST(meets_byte_by_byte_in_garbage),
        TEST(host_leaves_what_follows_the_reply),
        TEST(answers_only_the_last_of_several),
        TEST(a_cut_hello_does_not_eat_the_next),
        TEST(the_key_ends_a_session_in_any_split),
        TEST(finds_a_key_that_overlaps_itself),
        TEST(what_looks_like_the_key_passes_late_but_whole),
        TEST(held_bytes_are_released_and_the_key_is_still_found),
        TEST(a_repetition_right_after_the_reply_is_answered),
        TEST(a_session_may_open_with_settings),
        TEST(delays_grow_to_two_seconds),
        TEST(C13_garbage_is_discarded_without_growth),
        TEST(C22_every_constant_passes_unchanged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
