/* The inodes that differ. */
#include "base/alloc.h"
#include "diff/changes_internal.h"

#include <string.h>
#include <sys/stat.h>

#define FIRST_OF_FILES 11      /* those before belong to the file system, but for the root */
#define CHUNK          65536   /* bytes of a table that are read together */
#define FLAGS_SEEN     0x3030U /* immutable, append-only, journaled data, no tail merging: what chattr sets */

/* One group's table on both sides. */
struct tables {
    uint64_t old_at, new_at;
    uint32_t old_used, new_used;
    bool alike; /* the same place in the same file system: only blocks that can differ are read */
    uint8_t *old, *new;
};

static bool is_there(const struct node *node)
{
    return node->links > 0 && node->mode != 0;
}

static bool is_same(const struct node *a, const struct node *b)
{
    return is_there(a) && is_there(b) && (a->mode & S_IFMT) == (b->mode & S_IFMT) &&
           a->generation == b->generation && a->born_ns == b->born_ns;
}

static bool owner_differs(const struct node *a, const struct node *b)
{
    return a->mode != b->mode || a->uid != b->uid || a->gid != b->gid || a->acl != b->acl ||
           (a->flags & FLAGS_SEEN) != (b->flags & FLAGS_SEEN);
}

static bool data_differs(const struct node *a, const struct node *b)
{
    return a->size != b->size || a->mtime_ns != b->mtime_ns || a->ctime_ns != b->ctime_ns ||
           memcmp(a->map, b->map, sizeof(a->map)) != 0;
}

static int add(struct finding *finding, uint32_t inode, const struct node *old, const struct node *new,
               struct error **err)
{
    struct pair pair = {.inode = inode, .old = is_there(old), .new = is_there(new)};

    if (!pair.old && !pair.new)
        return 0;
    pair.old_folder = pair.old && S_ISDIR(old->mode);
    pair.new_folder = pair.new &&S_ISDIR(new->mode);
    pair.same = is_same(old, new);
    pair.visible = !pair.same || owner_differs(old, new) || (!pair.new_folder && data_differs(old, new));
    if (!pair.visible && !(pair.new_folder && (data_differs(old, new) || old->version != new->version)))
        return 0;
    if (pair.same && pair.visible && !pair.new_folder)
        pair.missing = new->links;
    if (finding->count == PAIRS_MAX)
        return error_set(err, ERROR_LIMIT, "more than %u inodes are different", PAIRS_MAX);
    if (finding->count == finding->room) {
        finding->room = finding->room ? finding->room * 2 : 256;
        finding->pairs = xrealloc(finding->pairs, finding->room, sizeof(*finding->pairs));
    }
    finding->pairs[finding->count++] = pair;
    return 0;
}

/* Reads a piece of one side's table; what is never used is zeros. */
static int read_side(struct volume *volume, uint64_t at, uint32_t used, uint32_t first, uint32_t count,
                     uint8_t *data, struct error **err)
{
    uint32_t size = volume_shape(volume)->inode_size;
    uint32_t there = used <= first ? 0 : used - first < count ? used - first : count;

    memset(data + (size_t)there * size, 0, (size_t)(count - there) * size);
    return there ? volume_read(volume, at + (uint64_t)first * size, data, (size_t)there * size, err) : 0;
}

static int compare_piece(struct finding *finding, const struct tables *tables, uint32_t base, uint32_t first,
                         uint32_t count, struct error **err)
{
    uint32_t size = volume_shape(finding->b)->inode_size;

    int rc = read_side(finding->a, tables->old_at, tables->old_used, first, count, tables->old, err);
    if (rc == 0)
        rc = read_side(finding->b, tables->new_at, tables->new_used, first, count, tables->new, err);
    for (uint32_t i = 0; rc == 0 && i < count; i++) {
        const uint8_t *before = tables->old + (size_t)i * size, *after = tables->new + (size_t)i *size;
        uint32_t inode = base + first + i;
        struct node old, new;
        if ((tables->alike && memcmp(before, after, size) == 0) ||
            (inode < FIRST_OF_FILES && inode != VOLUME_ROOT))
            continue;
        node_parse(before, size, &old);
        node_parse(after, size, &new);
        rc = add(finding, inode, &old, &new, err);
    }
    return rc;
}

static int compare_group(struct finding *finding, const struct difference *where, struct tables *tables,
                         uint32_t group, struct error **err)
{
    const struct volume_shape *shape = volume_shape(finding->b), *before = volume_shape(finding->a);
    uint32_t step = CHUNK / shape->inode_size;
    int rc = 0;

    tables->old_used = tables->new_used = 0;
    tables->old_at = tables->new_at = 0;
    if (group < before->groups)
        tables->old_used = volume_used(finding->a, group, &tables->old_at);
    if (group < shape->groups)
        tables->new_used = volume_used(finding->b, group, &tables->new_at);
    bool placed = tables->alike && (tables->old_at == tables->new_at);
    uint32_t used = tables->old_used > tables->new_used ? tables->old_used : tables->new_used;
    for (uint32_t first = 0; rc == 0 && first < used; first += step) {
        uint32_t count = used - first < step ? used - first : step;
        if (!placed || difference_has(where, tables->new_at + (uint64_t)first * shape->inode_size,
                                      (uint64_t)count * shape->inode_size))
            rc = compare_piece(finding, tables, group * shape->inodes_per_group + 1, first, count, err);
    }
    return rc < 0 ? error_prefix(err, "group %u of the file system", group) : 0;
}

int pairs_find(struct finding *finding, const struct difference *where, struct error **err)
{
    const struct volume_shape *a = volume_shape(finding->a), *b = volume_shape(finding->b);
    struct tables tables = {.alike = memcmp(a->uuid, b->uuid, sizeof(a->uuid)) == 0};
    uint32_t groups = a->groups > b->groups ? a->groups : b->groups;
    int rc = 0;

    if (a->inode_size != b->inode_size || a->inodes_per_group != b->inodes_per_group ||
        a->block_size != b->block_size)
        return error_set(err, ERROR_INVALID,
                         "the file system was made anew with another layout: there is nothing to compare");
    tables.old = xnewn(uint8_t, CHUNK);
    tables.new = xnewn(uint8_t, CHUNK);
    for (uint32_t group = 0; rc == 0 && group < groups; group++)
        rc = compare_group(finding, where, &tables, group, err);
    free(tables.old);
    free(tables.new);
    return rc;
}

struct pair *pair_find(const struct finding *finding, uint32_t inode)
{
    size_t low = 0, high = finding->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (finding->pairs[middle].inode < inode)
            low = middle + 1;
        else
            high = middle;
    }
    return low < finding->count && finding->pairs[low].inode == inode ? &finding->pairs[low] : NULL;
}
