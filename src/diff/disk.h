/* disk.h: the disk that a chain of layers makes, read only, and where two such disks can differ: only where
 * a layer was written that they do not share. */
#ifndef HUTCH_DIFF_DISK_H
#define HUTCH_DIFF_DISK_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DISK_LAYERS_MAX 128   /* of one disk */
#define DISK_GRAIN      65536 /* bytes of which is said together whether they can differ */

struct image;
struct disk {
    struct image *layers[DISK_LAYERS_MAX]; /* top first; borrowed */
    size_t count;
};
/* Bytes of the top layer. */
uint64_t disk_size(const struct disk *disk);
/* Reads len bytes; what lies behind the end of a layer is zeros. ERROR_INVALID: behind the end of the disk.
 */
int disk_read(const struct disk *disk, uint64_t offset, void *data, size_t len, struct error **err);

/* Where two disks can differ: a bit a grain. */
struct difference {
    uint8_t *bits;
    uint64_t grains;
    uint64_t count; /* bits that are set */
};
/* Out of the allocation of the layers that only one of the disks has; the layers that they share are those at
 * the ends of both. Disks that share none can differ everywhere. */
int difference_find(const struct disk *a, const struct disk *b, struct difference *ret, struct error **err);
void difference_finish(struct difference *difference);
/* Says that a stretch can differ. */
void difference_add(struct difference *difference, uint64_t offset, uint64_t len);
bool difference_has(const struct difference *difference, uint64_t offset, uint64_t len);

#endif
