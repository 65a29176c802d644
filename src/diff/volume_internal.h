/* volume_internal.h: the inside of a volume, for volume*.c. */
#ifndef HUTCH_DIFF_VOLUME_INTERNAL_H
#define HUTCH_DIFF_VOLUME_INTERNAL_H

#include "diff/replay.h"
#include "diff/volume.h"

#include <ext2fs/ext2fs.h>

struct volume {
    const struct disk *disk;
    struct budget *budget;
    struct volume_shape shape;
    ext2_filsys fs;
    struct replay replay;
    uint64_t *journal; /* blocks of the journal in the file system */
    uint32_t journal_count;
    uint64_t reads, reads_max; /* of the object that is being read; max 0: no limit */
    struct error *failed;      /* what our reader told libext2fs as EIO */
    uint8_t *table;            /* the piece of an inode table that was read last */
    uint64_t table_at;         /* its offset; 0: none */
    bool inode_checksums;      /* groups say how many of their inodes were never used */
};

/* Begins with an object, which may cost so many reads. */
void volume_begin(struct volume *volume, uint64_t reads_max);
/* libext2fs failed with code while it read what the printf says. */
int volume_failed(struct volume *volume, errcode_t code, struct error **err, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* Calls fn for each stretch of an inode's data, in order; holes are left out. Negative from fn ends it. */
typedef int (*volume_run_fn)(void *user, uint64_t logical, uint64_t block, uint64_t count, bool written,
                             struct error **err);
int volume_map(struct volume *volume, const struct node *node, volume_run_fn fn, void *user,
               struct error **err);
extern struct struct_io_manager volume_io;
/* The volume that volume_io opens next. */
extern _Thread_local struct volume *volume_opening;

#endif
