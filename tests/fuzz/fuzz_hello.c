/* C16: fuzz target of the hello: both sides, in pieces that the input itself chooses. Besides not crashing it
 * checks what the scan promises: without the key in it a live session's input comes out whole and in order.
 */
#include "base/alloc.h"
#include "wire/hello.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Pieces of 1 to 64 bytes by a simple generator. */
static size_t next_piece(uint32_t *seed, size_t left)
{
    *seed = *seed * 1103515245u + 12345u;
    size_t n = 1 + (*seed >> 16) % 64;
    return n < left ? n : left;
}

static void check_host(const uint8_t *data, size_t size, uint32_t seed)
{
    struct hello_host host;
    uint8_t wire[HELLO_KEY_SIZE + HELLO_SIZE];
    hello_host_init(&host, NULL);
    hello_host_make(&host, wire);
    memset(host.nonce, 'n', sizeof(host.nonce)); /* one that the input can know */
    for (size_t at = 0; at < size;) {
        size_t n = next_piece(&seed, size - at);
        size_t used;
        uint32_t version;
        int found = hello_host_receive(&host, data + at, n, &used, &version);
        require(used <= n && (found || used == n));
        require(host.window_len < HELLO_REPLY_SIZE);
        if (found)
            require(at + used >= HELLO_REPLY_SIZE &&
                    memcmp(data + at + used - HELLO_REPLY_SIZE, hello_reply_magic, HELLO_MAGIC_SIZE) == 0);
        at += found ? used : n;
    }
}

/* The guest from its start: hellos are answered as its owner does. */
static void check_guest(const uint8_t *data, size_t size, uint32_t seed)
{
    struct hello_guest guest;
    struct buf pass;
    hello_guest_init(&guest);
    buf_init(&pass, 0);
    for (size_t at = 0; at < size;) {
        size_t n = next_piece(&seed, size - at);
        int waiting = hello_guest_receive(&guest, data + at, n, &pass);
        at += n;
        require(guest.held_len <= sizeof(guest.held) && pass.len <= at);
        require(waiting == guest.have_hello);
        if (seed & 0x10000)
            hello_guest_release(&guest, &pass);
        if (waiting && (seed & 0x20000)) {
            uint8_t reply[HELLO_REPLY_SIZE];
            hello_guest_reply(&guest, reply);
        } else if ((seed & 0x3c0000) == 0) {
            hello_guest_reset(&guest);
        }
    }
    buf_finish(&pass);
}

/* A live session with a key of one or two byte values, so that beginnings of it are common. */
static void check_live(const uint8_t *data, size_t size, uint32_t seed)
{
    static const uint8_t preface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
    size_t opening = sizeof(preface) - 1;
    struct hello_guest guest;
    struct buf pass;
    hello_guest_init(&guest);
    buf_init(&pass, 0);
    guest.live = true;
    for (size_t i = 0; i < HELLO_KEY_SIZE; i++)
        guest.session_key[i] = seed >> (i % 24) & 1 ? 'a' : 'b';
    hello_guest_receive(&guest, preface, opening, &pass);

    const uint8_t *key = memmem(data, size, guest.session_key, HELLO_KEY_SIZE);
    size_t before = key ? (size_t)(key - data) : size;
    bool released = false;
    for (size_t at = 0; at < size && guest.live;) {
        size_t n = next_piece(&seed, size - at);
        hello_guest_receive(&guest, data + at, n, &pass);
        at += n;
        if (seed & 0x10000) {
            released = true;
            hello_guest_release(&guest, &pass);
        }
    }
    require(guest.live == (key == NULL));
    if (guest.live)
        hello_guest_release(&guest, &pass);
    /* With an end by the key, bytes of it may have been let go before it was whole. */
    require(pass.len >= opening + before &&
            (key == NULL ? pass.len == opening + size : pass.len <= opening + size));
    require(!key || released || pass.len == opening + before);
    require(memcmp(buf_data(&pass), preface, opening) == 0);
    require(before == 0 || memcmp(buf_data(&pass) + opening, data, before) == 0);
    buf_finish(&pass);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 4)
        return 0;
    uint32_t seed =
        (uint32_t)data[0] | (uint32_t)data[1] << 8 | (uint32_t)data[2] << 16 | (uint32_t)data[3] << 24;
    check_host(data + 4, size - 4, seed);
    check_guest(data + 4, size - 4, seed);
    check_live(data + 4, size - 4, seed);
    return 0;
}
