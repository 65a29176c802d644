/* replay.h: what the journal of an ext4 file system (jbd2) would change at the next mount, as a map from
 * blocks to the blocks of the journal that hold them now. Nothing is written anywhere: a reader looks a block
 * up here first. Bytes in, map out; the numbers in it are only as good as the file system. Format:
 * Documentation/filesystems/ext4/journal.rst of Linux. */
#ifndef HUTCH_DIFF_REPLAY_H
#define HUTCH_DIFF_REPLAY_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Reads block `index` of the journal into `data` (a block). */
typedef int (*replay_read_fn)(void *user, uint32_t index, uint8_t *data, struct error **err);

struct replay_slot {
    uint64_t block;   /* of the file system; UINT64_MAX: the slot is free */
    uint32_t journal; /* the block of the journal that holds it */
    bool escaped;     /* its first four bytes are those of a journal's block */
};
struct replay {
    struct replay_slot *slots;
    size_t room, count; /* room: a power of two, or 0 */
    uint32_t transactions;
    bool fast_commits; /* there are fast commits behind them, which are not taken in */
};
#define REPLAY_MAGIC 0xc03b3998U /* the first four bytes of a journal's block, big endian */

/* Goes through the journal of so many blocks. An empty one gives an empty map. ERROR_CORRUPT: its head is
 * damaged; ERROR_INVALID: it has features that are not known; ERROR_LIMIT. */
int replay_make(replay_read_fn read, void *user, uint32_t blocks, uint32_t block_size, struct replay *ret,
                struct error **err);
void replay_finish(struct replay *replay);
/* Where a block is now, or NULL: where it always was. */
const struct replay_slot *replay_find(const struct replay *replay, uint64_t block);

#endif
