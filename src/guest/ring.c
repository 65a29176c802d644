#include "guest/ring.h"

#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

#define RING_MIN 4096

void ring_init(struct ring *ring)
{
    memset(ring, 0, sizeof(*ring));
}

void ring_finish(struct ring *ring)
{
    free(ring->bytes);
    ring_init(ring);
}

/* Moves the kept bytes into a block of another size: the place of a byte is its offset modulo the size. */
static void resize(struct ring *ring, size_t size)
{
    uint8_t *bytes = xnewn(uint8_t, size);
    uint64_t at = ring->start;

    while (at < ring->total) {
        size_t len, to = at & (size - 1);
        const uint8_t *from = ring_read(ring, at, &len);
        if (len > size - to)
            len = size - to;
        memcpy(bytes + to, from, len);
        at += len;
    }
    free(ring->bytes);
    ring->bytes = bytes;
    ring->size = size;
}

uint8_t *ring_reserve(struct ring *ring, size_t want, size_t *ret_len)
{
    require(want > 0 && want <= RING_MAX);
    size_t need = (size_t)(ring->total - ring->start) + want, size = ring->size ? ring->size : RING_MIN;
    while (size < need && size < RING_MAX)
        size *= 2;
    if (size != ring->size)
        resize(ring, size);
    size_t at = ring->total & (ring->size - 1), len = ring->size - at;
    *ret_len = len < want ? len : want;
    return ring->bytes + at;
}

void ring_commit(struct ring *ring, size_t len)
{
    require(len <= ring->size);
    ring->total += len;
    if (ring->total - ring->start > ring->size)
        ring->start = ring->total - ring->size;
}

const uint8_t *ring_read(const struct ring *ring, uint64_t offset, size_t *ret_len)
{
    require(offset >= ring->start && offset <= ring->total);
    if (offset == ring->total) {
        *ret_len = 0;
        return ring->bytes;
    }
    size_t at = offset & (ring->size - 1), len = ring->size - at;
    *ret_len = len < ring->total - offset ? len : (size_t)(ring->total - offset);
    return ring->bytes + at;
}

void ring_shrink(struct ring *ring)
{
    size_t size = RING_MIN;
    while (size < ring->total - ring->start)
        size *= 2;
    if (size < ring->size)
        resize(ring, size);
}
