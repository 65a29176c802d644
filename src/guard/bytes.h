/* bytes.h: a message of the network, read from the front; never beyond its end. */
#ifndef HUTCH_GUARD_BYTES_H
#define HUTCH_GUARD_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bytes {
    const uint8_t *at;
    size_t left;
};

/* A number of up to four bytes, the high one first. false: there is not that much left. */
static inline bool bytes_number(struct bytes *in, unsigned count, uint32_t *ret)
{
    if (in->left < count)
        return false;
    *ret = 0;
    for (unsigned i = 0; i < count; i++)
        *ret = *ret << 8 | in->at[i];
    in->at += count;
    in->left -= count;
    return true;
}

/* A vector with its length, of so many bytes, in front. */
static inline bool bytes_vector(struct bytes *in, unsigned count, struct bytes *ret)
{
    uint32_t len;
    if (!bytes_number(in, count, &len) || len > in->left)
        return false;
    *ret = (struct bytes){in->at, len};
    in->at += len;
    in->left -= len;
    return true;
}

#endif
