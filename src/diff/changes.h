/* changes.h: the files that differ between two volumes. The inodes that differ come first, out of the blocks
 * that can; then the entries of the folders among them; then the names of those files whose folder did not
 * change, looked for from the groups on in which their inodes are. So the cost follows the change. */
#ifndef HUTCH_DIFF_CHANGES_H
#define HUTCH_DIFF_CHANGES_H

#include "diff/volume.h"

enum change_kind { CHANGE_ADDED, CHANGE_CHANGED, CHANGE_REMOVED, CHANGE_RENAMED, CHANGE_KINDS };
extern const char *const change_names[CHANGE_KINDS];

/* A file on one side. */
struct change_side {
    uint32_t inode; /* 0: not there */
    uint32_t mode, uid, gid, device;
    uint64_t size;
    int64_t mtime_ns;
};
struct change {
    enum change_kind kind;
    char *path, *from; /* bytes as they are; from: where a renamed one was */
    struct change_side old, new;
};
struct changes {
    struct change *items; /* sorted by path */
    size_t count;
    uint64_t total[CHANGE_KINDS]; /* with those beyond DIFF_FILES_MAX */
    bool cut;
    uint64_t inodes;  /* that differ */
    uint64_t folders; /* that were read */
};

/* From a to b. where: the grains of the disks that can differ. A file counts as changed when its inode says
 * so (owner, mode, size, time of the data or of the inode, place of the data); one that was only read is
 * none. ERROR_CORRUPT, ERROR_LIMIT, ERROR_TIMED_OUT name what is wrong and on which side. */
int changes_find(struct volume *a, struct volume *b, const struct difference *where, struct changes *ret,
                 struct error **err);
void changes_finish(struct changes *changes);
/* The change at a path, or NULL. */
const struct change *changes_at(const struct changes *changes, const char *path);

#endif
