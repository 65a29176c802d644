/* Where the data of an inode is: a tree of extents, or lists of blocks in three levels. (The walk of
 * libext2fs gives an end, not an error, for a tree that is damaged.) Extents that do not come in order are an
 * error: so a tree in a circle ends. */
#include "base/alloc.h"
#include "diff/volume_internal.h"

#include <string.h>

#define FLAG_EXTENTS     0x80000U
#define EXTENT_MAGIC     0xf30a
#define EXTENT_SIZE      12 /* of a head, an index and an extent */
#define EXTENT_DEPTH     5
#define EXTENT_UNWRITTEN 32768U
#define DIRECT           12
#define LEVELS           3

struct walk {
    struct volume *volume;
    volume_run_fn fn;
    void *user;
    uint64_t next; /* block of the file that may come next */
};

static uint32_t get16(const uint8_t *p)
{
    return (uint32_t)(p[0] | p[1] << 8);
}

static uint32_t get32(const uint8_t *p)
{
    return get16(p) | get16(p + 2) << 16;
}

static int run(struct walk *walk, uint64_t logical, uint64_t block, uint64_t count, bool written,
               struct error **err)
{
    uint64_t all = walk->volume->shape.blocks;

    if (block == 0 || block >= all || count > all - block)
        return error_set(err, ERROR_CORRUPT, "its block %llu cannot be", (unsigned long long)block);
    walk->next = logical + count;
    return walk->fn(walk->user, logical, block, count, written, err);
}

/* A block of the map. */
static int read_map(struct walk *walk, uint64_t block, uint8_t *data, struct error **err)
{
    uint32_t size = walk->volume->shape.block_size;

    if (block == 0 || block >= walk->volume->shape.blocks)
        return error_set(err, ERROR_CORRUPT, "a block of its map cannot be (%llu)",
                         (unsigned long long)block);
    return volume_read(walk->volume, block * size, data, size, err);
}

/* depth: what the head must say; -1: any that is possible. */
static int walk_extents(struct walk *walk, const uint8_t *node, size_t size, int depth, struct error **err)
{
    uint32_t entries = get16(node + 2), said = get16(node + 6);
    autofree uint8_t *below = NULL;
    int rc = 0;

    if (get16(node) != EXTENT_MAGIC || entries > get16(node + 4) || entries > size / EXTENT_SIZE - 1 ||
        said > EXTENT_DEPTH || (depth >= 0 && said != (uint32_t)depth))
        return error_set(err, ERROR_CORRUPT, "its extents are damaged");
    for (uint32_t i = 0; rc == 0 && i < entries; i++) {
        const uint8_t *entry = node + EXTENT_SIZE * (i + 1);
        uint64_t logical = get32(entry);
        if (logical < walk->next)
            return error_set(err, ERROR_CORRUPT, "its extents are not in order");
        if (said > 0) {
            if (!below)
                below = xnewn(uint8_t, walk->volume->shape.block_size);
            rc = read_map(walk, get32(entry + 4) | (uint64_t)get16(entry + 8) << 32, below, err);
            if (rc == 0)
                rc = walk_extents(walk, below, walk->volume->shape.block_size, (int)said - 1, err);
            continue;
        }
        uint32_t count = get16(entry + 4);
        bool written = count <= EXTENT_UNWRITTEN;
        if (count == 0)
            return error_set(err, ERROR_CORRUPT, "it has an extent of no length");
        rc = run(walk, logical, get32(entry + 8) | (uint64_t)get16(entry + 6) << 32,
                 written ? count : count - EXTENT_UNWRITTEN, written, err);
    }
    return rc;
}

/* A list of blocks; level 0: of data. */
static int walk_list(struct walk *walk, const uint8_t *list, uint64_t count, int level, uint64_t first,
                     struct error **err)
{
    uint64_t per_block = walk->volume->shape.block_size / 4, covers = 1;
    autofree uint8_t *below = NULL;
    int rc = 0;

    for (int i = 0; i < level; i++)
        covers *= per_block;
    for (uint64_t i = 0; rc == 0 && i < count; i++) {
        uint32_t block = get32(list + 4 * i);
        if (block == 0)
            continue;
        if (level == 0) {
            rc = run(walk, first + i, block, 1, true, err);
            continue;
        }
        if (!below)
            below = xnewn(uint8_t, walk->volume->shape.block_size);
        rc = read_map(walk, block, below, err);
        if (rc == 0)
            rc = walk_list(walk, below, per_block, level - 1, first + i * covers, err);
    }
    return rc;
}

int volume_map(struct volume *volume, const struct node *node, volume_run_fn fn, void *user,
               struct error **err)
{
    struct walk walk = {.volume = volume, .fn = fn, .user = user};
    uint64_t per_block = volume->shape.block_size / 4, first = DIRECT, covers = per_block;

    if (node->flags & FLAG_EXTENTS)
        return walk_extents(&walk, node->map, NODE_MAP_SIZE, -1, err);
    int rc = walk_list(&walk, node->map, DIRECT, 0, 0, err);
    for (int level = 1; rc == 0 && level <= LEVELS; level++) {
        rc = walk_list(&walk, node->map + 4 * (size_t)(DIRECT + level - 1), 1, level, first, err);
        first += covers;
        covers *= per_block;
    }
    return rc;
}
