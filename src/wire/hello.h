/* hello.h: getting two ends of a virtio-serial port into step, which has no notion of a connection (security.md 0.2).
 * Sans-I/O: bytes in, bytes and events out. Under HTTP/2 on every port.
 *
 *   host -> guest   [next key of the session before, 32]  magic 16 | nonce 32 | version u32 BE | next key 32
 *   guest -> host   reply magic 16 | the nonce 32 | version u32 BE
 *
 * The host throws away all input until it sees the reply with its last nonce. The guest, without a live session, waits for
 * the plain magic and answers only the last complete hello of what it drained; with a live session it looks in its raw
 * input for the next key of that session (all other bytes pass, also the magic itself). After its reply the guest sends
 * nothing until the first byte of HTTP/2 arrived. */
#ifndef HUTCH_WIRE_HELLO_H
#define HUTCH_WIRE_HELLO_H

#include "base/buf.h"

#define HELLO_KEY_SIZE   32
#define HELLO_NONCE_SIZE 32
#define HELLO_MAGIC_SIZE 16
#define HELLO_SIZE       (HELLO_MAGIC_SIZE + HELLO_NONCE_SIZE + 4 + HELLO_KEY_SIZE)
#define HELLO_REPLY_SIZE (HELLO_MAGIC_SIZE + HELLO_NONCE_SIZE + 4)
#define HELLO_VERSION    1

extern const uint8_t hello_magic[HELLO_MAGIC_SIZE];
extern const uint8_t hello_reply_magic[HELLO_MAGIC_SIZE];

/* ---- host side ---- */
struct hello_host {
    uint8_t old_key[HELLO_KEY_SIZE]; /* next key that the guest may still be looking for */
    uint8_t new_key[HELLO_KEY_SIZE];
    uint8_t nonce[HELLO_NONCE_SIZE];
    uint8_t window[HELLO_REPLY_SIZE]; /* the last bytes seen */
    size_t window_len;
    unsigned attempts;
};

/* old_key: the recorded next key of the last session of this boot, or NULL. Makes the new key, which the caller records
 * durably before it sends anything. */
void hello_host_init(struct hello_host *hello, const uint8_t *old_key);
/* Writes old key + hello with a fresh nonce into out (HELLO_KEY_SIZE + HELLO_SIZE bytes). Again for every repetition. */
void hello_host_make(struct hello_host *hello, uint8_t out[HELLO_KEY_SIZE + HELLO_SIZE]);
/* Delay before repetition number `attempts`: 250, 500, 1000, 2000, 2000 … ms. */
unsigned hello_host_delay_ms(const struct hello_host *hello);
/* Eats input. Returns 1 when the reply with the last nonce is complete (*ret_used: bytes eaten, the rest is HTTP/2; *ret_version
 * the guest's version), 0 otherwise (all eaten). Never allocates. */
int hello_host_receive(struct hello_host *hello, const uint8_t *data, size_t len, size_t *ret_used, uint32_t *ret_version);

/* ---- guest side ---- */
struct hello_guest {
    bool live;   /* a session is live: look for session_key in the input */
    bool opened; /* its first bytes were HTTP/2's; if they are not, the host said hello again and live becomes false */
    uint8_t session_key[HELLO_KEY_SIZE];
    uint8_t held[HELLO_KEY_SIZE + HELLO_SIZE]; /* bytes that may begin a key or a hello */
    size_t held_len;
    size_t released; /* of the held beginning of the key: bytes that were passed on after all */
    bool have_hello; /* a complete hello was seen and not yet answered */
    uint8_t nonce[HELLO_NONCE_SIZE];
    uint8_t next_key[HELLO_KEY_SIZE];
    uint32_t version;
};

void hello_guest_init(struct hello_guest *hello);
/* Eats raw bytes of the port. Bytes that belong to the live session are appended to `pass` (a buf without a limit; they come
 * out late by at most HELLO_KEY_SIZE - 1 bytes only while they match a beginning of the key). When the key was seen live
 * becomes false: the session is over, the caller ends it, nothing more is passed. Returns 1 when a hello is waiting to be
 * answered: the caller drains the port until EAGAIN, then calls hello_guest_reply. 0 otherwise. */
int hello_guest_receive(struct hello_guest *hello, const uint8_t *data, size_t len, struct buf *pass);
/* Bytes are held back that may begin the key of the live session. When nothing has followed for a moment they were not the key
 * (the host sends it in one piece): hello_guest_release passes them on, and the search goes on as if they were still held. */
bool hello_guest_holds(const struct hello_guest *hello);
void hello_guest_release(struct hello_guest *hello, struct buf *pass);
/* Makes the reply to the last complete hello and begins the new live session with its next key. */
void hello_guest_reply(struct hello_guest *hello, uint8_t out[HELLO_REPLY_SIZE]);
/* The session ended for another reason (port closed, ping deadline): wait for the plain magic. */
void hello_guest_reset(struct hello_guest *hello);

#endif
