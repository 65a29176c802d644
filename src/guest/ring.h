/* ring.h: the last bytes of an endless stream, addressed by their offset from its first byte. Grows up to its
 * limit; then the oldest bytes go. No I/O: who may overwrite what is its user's rule (output.h). */
#ifndef HUTCH_GUEST_RING_H
#define HUTCH_GUEST_RING_H

#include <stddef.h>
#include <stdint.h>

#define RING_MAX (1024 * 1024)

struct ring {
    uint8_t *bytes;
    size_t size;    /* allocated: a power of two, at most RING_MAX */
    uint64_t start; /* offset of the oldest byte kept */
    uint64_t total; /* offset of the next byte: bytes ever written */
};

void ring_init(struct ring *ring);
void ring_finish(struct ring *ring);
/* A writable region behind the end, at most want bytes, contiguous; *ret_len is its length (1 to want). Bytes
 * that the ring has to drop for it are dropped by ring_commit, not before. want: 1 to RING_MAX. */
uint8_t *ring_reserve(struct ring *ring, size_t want, size_t *ret_len);
void ring_commit(struct ring *ring, size_t len);
/* The kept bytes from offset on, as one contiguous piece (call again for the rest). offset must be in [start,
 * total]; *ret_len 0 at total. */
const uint8_t *ring_read(const struct ring *ring, uint64_t offset, size_t *ret_len);
/* Gives back memory that the kept bytes do not need (the stream has ended). */
void ring_shrink(struct ring *ring);

#endif
