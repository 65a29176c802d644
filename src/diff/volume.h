/* volume.h: the ext4 file system on a disk, read only, as it would be after its next mount: what the journal
 * holds is read through (replay.h), nothing is written. Over libext2fs. The file system is hostile: each
 * reading has a limit with a name, and what goes wrong is said with the object it was. */
#ifndef HUTCH_DIFF_VOLUME_H
#define HUTCH_DIFF_VOLUME_H

#include "diff/budget.h"
#include "diff/disk.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define VOLUME_ROOT   2  /* inode of the root folder */
#define NODE_MAP_SIZE 60 /* bytes of an inode that say where its data is */

/* An inode, as far as a comparison needs it. */
struct node {
    uint32_t mode, uid, gid;
    uint32_t links; /* 0: there is none with this number */
    uint32_t flags, generation;
    uint64_t size, acl;
    int64_t mtime_ns, ctime_ns, born_ns;
    uint64_t version;           /* counted up by each change of a folder */
    uint8_t map[NODE_MAP_SIZE]; /* or a short link's target, or a device's numbers */
};
struct entry {
    const char *name; /* belongs to the listing; len bytes, and a terminator */
    uint32_t inode;
    uint8_t len;
    bool folder; /* as the entry says; the inode has the last word */
};
/* A folder without "." and "..", sorted by name. */
struct listing {
    struct entry *items;
    size_t count;
    uint32_t parent; /* what ".." says, 0: nothing */
    char *names;
};

struct volume;

/* ERROR_INVALID: no ext4 (the message says what is there), or features that are not read; ERROR_CORRUPT,
 * ERROR_LIMIT, ERROR_TIMED_OUT. disk and budget must live as long as the volume. */
int volume_open(const struct disk *disk, struct budget *budget, struct volume **ret_volume,
                struct error **err);
void volume_close(struct volume *volume);
AUTO_DEFINE(volume, struct volume *, volume_close);

/* Where in the file system things are. */
struct volume_shape {
    uint32_t block_size, inode_size, inodes_per_group, groups, flex; /* flex: groups that lie together */
    uint64_t blocks;
    uint8_t uuid[16];
};
const struct volume_shape *volume_shape(const struct volume *volume);
/* Marks the blocks that the journal would change. */
void volume_add_replayed(const struct volume *volume, struct difference *difference);
/* Something that a reader should know ("fast commits are not taken in"), or NULL. */
const char *volume_note(const struct volume *volume);
/* How many inodes of a group can be in use, counted from its first, and where its table begins. */
uint32_t volume_used(const struct volume *volume, uint32_t group, uint64_t *ret_offset);
/* Reads bytes of the file system, after replay. */
int volume_read(struct volume *volume, uint64_t offset, void *data, size_t len, struct error **err);
/* An inode out of its bytes (inode_size of them). */
void node_parse(const uint8_t *raw, uint32_t inode_size, struct node *ret);
/* ERROR_CORRUPT: no such number. One that is not in use has links 0. */
int volume_node(struct volume *volume, uint32_t inode, struct node *ret_node, struct error **err);
/* Lists a folder. ERROR_CORRUPT, ERROR_LIMIT. */
int volume_list(struct volume *volume, uint32_t inode, struct listing *ret_listing, struct error **err);
void listing_finish(struct listing *listing);
const struct entry *listing_find(const struct listing *listing, const char *name, size_t len);
/* The target of a symbolic link; caller frees. */
int volume_target(struct volume *volume, uint32_t inode, const struct node *node, char **ret_target,
                  struct error **err);
/* Hands the data of a regular file to fn, piece by piece, in all max bytes at most; node->size tells how many
 * there are. */
typedef int (*volume_data_fn)(void *user, const void *data, size_t len, struct error **err);
int volume_data(struct volume *volume, uint32_t inode, uint64_t max, volume_data_fn fn, void *user,
                struct error **err);
/* All of a regular file as a terminated string. ERROR_LIMIT: more than max bytes. Caller frees. */
int volume_file(struct volume *volume, uint32_t inode, size_t max, char **ret, size_t *ret_len,
                struct error **err);
/* The inode at a full path. Links on the way are followed inside of the file system, one at the end is not.
 * A name that no entry has is also looked for in the form that text.h gives it. ERROR_NOT_FOUND. */
int volume_lookup(struct volume *volume, const char *path, uint32_t *ret_inode, struct node *ret_node,
                  struct error **err);

#endif
