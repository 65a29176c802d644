#include "wire/hello.h"

#include "base/alloc.h"

#include <string.h>
#include <sys/random.h>

const uint8_t hello_magic[HELLO_MAGIC_SIZE] = {0xf5, 'h',  'u',  't',  'c',  'h',  0x00, 0x9e,
                                               0xc3, 0x28, 0xfe, 0x01, 0x77, 0xd2, 0x0d, 0x0a};
const uint8_t hello_reply_magic[HELLO_MAGIC_SIZE] = {0xf6, 'g',  'u',  'e',  's',  't',  0x00, 0x8d,
                                                     0xc1, 0x3b, 0xff, 0x02, 0x5e, 0xb4, 0x0d, 0x0a};

/* A version beyond this is no version: a hello that was cut and has the next one in its tail. */
#define VERSION_PLAUSIBLE 0xffff
/* What HTTP/2 begins with: a client's preface or the header of a server's SETTINGS. */
#define OPENING_SIZE 9

/* Random bytes; without them nothing may go on. */
static void fill_random(uint8_t *out, size_t len)
{
    while (len > 0) {
        ssize_t n = getrandom(out, len, 0);
        require(n > 0);
        out += n;
        len -= (size_t)n;
    }
}

/* Big endian, as everything on the wire. */
static void put_u32(uint8_t *out, uint32_t value)
{
    for (int i = 0; i < 4; i++)
        out[i] = (uint8_t)(value >> (24 - 8 * i));
}

static uint32_t get_u32(const uint8_t *in)
{
    return (uint32_t)in[0] << 24 | (uint32_t)in[1] << 16 | (uint32_t)in[2] << 8 | in[3];
}

void hello_host_init(struct hello_host *hello, const uint8_t *old_key)
{
    memset(hello, 0, sizeof(*hello));
    if (old_key)
        memcpy(hello->old_key, old_key, HELLO_KEY_SIZE);
    else
        fill_random(hello->old_key, HELLO_KEY_SIZE);
    fill_random(hello->new_key, HELLO_KEY_SIZE);
}

void hello_host_make(struct hello_host *hello, uint8_t out[HELLO_KEY_SIZE + HELLO_SIZE])
{
    fill_random(hello->nonce, HELLO_NONCE_SIZE);
    hello->window_len = 0; /* no reply to this nonce can have begun yet */
    hello->attempts++;

    memcpy(out, hello->old_key, HELLO_KEY_SIZE);
    out += HELLO_KEY_SIZE;
    memcpy(out, hello_magic, HELLO_MAGIC_SIZE);
    out += HELLO_MAGIC_SIZE;
    memcpy(out, hello->nonce, HELLO_NONCE_SIZE);
    out += HELLO_NONCE_SIZE;
    put_u32(out, HELLO_VERSION);
    memcpy(out + 4, hello->new_key, HELLO_KEY_SIZE);
}

unsigned hello_host_delay_ms(const struct hello_host *hello)
{
    if (hello->attempts == 0)
        return 0;
    return hello->attempts >= 4 ? 2000 : 250u << (hello->attempts - 1);
}

/* Whether the bytes are a beginning of the reply that is waited for (any version). */
static bool reply_begins(const struct hello_host *hello, const uint8_t *bytes, size_t len)
{
    size_t magic = len < HELLO_MAGIC_SIZE ? len : HELLO_MAGIC_SIZE;
    if (memcmp(bytes, hello_reply_magic, magic) != 0)
        return false;
    size_t nonce = len - magic < HELLO_NONCE_SIZE ? len - magic : HELLO_NONCE_SIZE;
    return memcmp(bytes + magic, hello->nonce, nonce) == 0;
}

int hello_host_receive(struct hello_host *hello, const uint8_t *data, size_t len, size_t *ret_used,
                       uint32_t *ret_version)
{
    size_t used = 0;
    while (used < len) {
        if (hello->window_len == 0) {
            const uint8_t *first = memchr(data + used, hello_reply_magic[0], len - used);
            if (!first)
                break;
            used = (size_t)(first - data);
        }
        hello->window[hello->window_len++] = data[used++];
        while (hello->window_len > 0 && !reply_begins(hello, hello->window, hello->window_len))
            memmove(hello->window, hello->window + 1, --hello->window_len);
        if (hello->window_len == HELLO_REPLY_SIZE) {
            *ret_version = get_u32(hello->window + HELLO_MAGIC_SIZE + HELLO_NONCE_SIZE);
            *ret_used = used;
            hello->window_len = 0;
            return 1;
        }
    }
    *ret_used = len;
    return 0;
}

void hello_guest_init(struct hello_guest *hello)
{
    memset(hello, 0, sizeof(*hello));
}

/* Takes the hello that the held bytes begin with, if it is one. */
static void take_hello(struct hello_guest *hello)
{
    const uint8_t *nonce = hello->held + HELLO_MAGIC_SIZE;
    uint32_t version = get_u32(nonce + HELLO_NONCE_SIZE);
    bool cut = memmem(nonce, HELLO_SIZE - HELLO_MAGIC_SIZE, hello_magic, HELLO_MAGIC_SIZE) != NULL;
    if (version == 0 || version > VERSION_PLAUSIBLE || cut)
        return;

    memcpy(hello->nonce, nonce, HELLO_NONCE_SIZE);
    memcpy(hello->next_key, nonce + HELLO_NONCE_SIZE + 4, HELLO_KEY_SIZE);
    hello->version = version;
    hello->have_hello = true;
}

static void drop_held(struct hello_guest *hello, size_t n)
{
    hello->held_len -= n;
    memmove(hello->held, hello->held + n, hello->held_len);
}

/* Drops held bytes until they begin with the plain magic or with a beginning of it. */
static void align_held(struct hello_guest *hello)
{
    size_t at = 0;
    while (at < hello->held_len) {
        const uint8_t *first = memchr(hello->held + at, hello_magic[0], hello->held_len - at);
        if (!first) {
            at = hello->held_len;
            break;
        }
        at = (size_t)(first - hello->held);
        size_t have = hello->held_len - at < HELLO_MAGIC_SIZE ? hello->held_len - at : HELLO_MAGIC_SIZE;
        if (memcmp(hello->held + at, hello_magic, have) == 0)
            break;
        at++;
    }
    drop_held(hello, at);
}

/* No session is live: looks for plain hellos and remembers the last complete one. */
static void scan_for_hello(struct hello_guest *hello, const uint8_t *data, size_t len)
{
    for (;;) {
        align_held(hello);
        while (hello->held_len >= HELLO_SIZE) {
            take_hello(hello);
            drop_held(hello, 1);
            align_held(hello);
        }
        if (len == 0)
            return;
        if (hello->held_len == 0) {
            const uint8_t *first = memchr(data, hello_magic[0], len);
            if (!first)
                return;
            len -= (size_t)(first - data);
            data = first;
        }
        size_t n = sizeof(hello->held) - hello->held_len;
        if (n > len)
            n = len;
        memcpy(hello->held + hello->held_len, data, n);
        hello->held_len += n;
        data += n;
        len -= n;
    }
}

/* A live session must begin as HTTP/2 does; anything else is the host saying hello again, because our reply
 * crossed its repetition. Returns how many bytes were eaten. */
static size_t check_opening(struct hello_guest *hello, const uint8_t *data, size_t len)
{
    static const uint8_t preface[OPENING_SIZE] = {'P', 'R', 'I', ' ', '*', ' ', 'H', 'T', 'T'};
    size_t n = OPENING_SIZE - hello->held_len;
    if (n > len)
        n = len;
    memcpy(hello->held + hello->held_len, data, n);
    hello->held_len += n;

    const uint8_t *b = hello->held;
    size_t have = hello->held_len;
    bool settings = true;
    for (size_t i = 0; i < have; i++) {
        if (i == 0 || i >= 4)
            settings = settings && b[i] == 0;
        if (i == 3)
            settings = settings && b[i] == 4;
    }
    if (memcmp(b, preface, have) != 0 && !settings)
        hello->live = false;
    else if (have == OPENING_SIZE)
        hello->opened = true;
    return n;
}

/* Passes the first n held bytes of the key on, but for those that were released before. */
static void pass_held(struct hello_guest *hello, size_t n, struct buf *pass)
{
    size_t gone = hello->released < n ? hello->released : n;
    require(buf_append(pass, hello->session_key + gone, n - gone, NULL) == 0);
    hello->released -= gone;
}

/* Passes bytes of a live session on and looks for its key. The held bytes are always a beginning of the key,
 * so only their number counts. Returns how many bytes were eaten; fewer than len only when the key was found.
 */
static size_t scan_for_key(struct hello_guest *hello, const uint8_t *data, size_t len, struct buf *pass)
{
    const uint8_t *key = hello->session_key;
    size_t matched = hello->held_len;
    size_t at = 0;

    while (at < len) {
        if (matched == 0) {
            const uint8_t *first = memchr(data + at, key[0], len - at);
            size_t plain = first ? (size_t)(first - data) - at : len - at;
            require(buf_append(pass, data + at, plain, NULL) == 0);
            at += plain;
            if (!first)
                break;
        }
        uint8_t byte = data[at++];
        /* The longest beginning of the key that ends here; what is before it was not the key and passes. */
        size_t skip = 0;
        while (skip <= matched &&
               !(memcmp(key + skip, key, matched - skip) == 0 && key[matched - skip] == byte))
            skip++;
        if (skip <= matched) {
            pass_held(hello, skip, pass);
            matched = matched - skip + 1;
        } else {
            pass_held(hello, matched, pass);
            require(buf_append(pass, &byte, 1, NULL) == 0);
            matched = 0;
        }
        if (matched == HELLO_KEY_SIZE) {
            hello->live = false;
            matched = 0;
            break;
        }
    }
    hello->held_len = matched;
    return at;
}

bool hello_guest_holds(const struct hello_guest *hello)
{
    return hello->live && hello->opened && hello->held_len > hello->released;
}

void hello_guest_release(struct hello_guest *hello, struct buf *pass)
{
    if (!hello_guest_holds(hello))
        return;
    size_t n = hello->held_len - hello->released;
    require(buf_append(pass, hello->session_key + hello->released, n, NULL) == 0);
    hello->released = hello->held_len;
}

int hello_guest_receive(struct hello_guest *hello, const uint8_t *data, size_t len, struct buf *pass)
{
    while (hello->live && len > 0) {
        size_t n;
        if (!hello->opened) {
            n = check_opening(hello, data, len);
            if (hello->opened) {
                uint8_t opening[OPENING_SIZE];
                memcpy(opening, hello->held, OPENING_SIZE);
                hello->held_len = 0;
                scan_for_key(hello, opening, OPENING_SIZE, pass);
            }
        } else {
            n = scan_for_key(hello, data, len, pass);
        }
        data += n;
        len -= n;
    }
    if (!hello->live)
        scan_for_hello(hello, data, len);
    return hello->have_hello ? 1 : 0;
}

void hello_guest_reply(struct hello_guest *hello, uint8_t out[HELLO_REPLY_SIZE])
{
    require(hello->have_hello);
    memcpy(out, hello_reply_magic, HELLO_MAGIC_SIZE);
    memcpy(out + HELLO_MAGIC_SIZE, hello->nonce, HELLO_NONCE_SIZE);
    put_u32(out + HELLO_MAGIC_SIZE + HELLO_NONCE_SIZE, HELLO_VERSION);

    memcpy(hello->session_key, hello->next_key, HELLO_KEY_SIZE);
    hello->have_hello = false;
    hello->live = true;
    hello->opened = false;
    hello->held_len = 0;
    hello->released = 0;
}

void hello_guest_reset(struct hello_guest *hello)
{
    hello->live = false;
    hello->opened = false;
    hello->held_len = 0;
    hello->released = 0;
    hello->have_hello = false;
}
