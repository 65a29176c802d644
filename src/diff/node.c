/* Inodes, folders and files of a volume. */
#include "base/alloc.h"
#include "base/text.h"
#include "diff/volume_internal.h"

#include <string.h>
#include <sys/stat.h>

#define TABLE_PIECE  4096
#define SMALL_INODE  128
#define FLAG_ENCRYPT 0x800U
#define FLAG_INLINE  0x10000000U
#define INLINE_MAX   65536
#define DATA_PIECE   65536
#define SECONDS_MAX  9223372034
#define NAME_LEN_MAX 255

static uint16_t get16(const uint8_t *p)
{
    return (uint16_t)(p[0] | p[1] << 8);
}

static uint32_t get32(const uint8_t *p)
{
    return (uint32_t)get16(p) | (uint32_t)get16(p + 2) << 16;
}

/* Seconds are signed, with two more bits in the extra field. */
static int64_t time_ns(const uint8_t *seconds, const uint8_t *extra)
{
    int64_t s = (int32_t)get32(seconds);
    uint32_t more = extra ? get32(extra) : 0;
    s += (int64_t)(more & 3) << 32;
    if (s > SECONDS_MAX) /* the year 2262; 34 bits go to 2446 */
        return INT64_MAX;
    return s * 1000000000 + (int64_t)(more >> 2);
}

void node_parse(const uint8_t *raw, uint32_t inode_size, struct node *ret)
{
    uint32_t extra = inode_size > SMALL_INODE + 2 ? get16(raw + 128) : 0;

    if (extra > inode_size - SMALL_INODE)
        extra = 0;
    *ret = (struct node){
        .mode = get16(raw),
        .uid = get16(raw + 2) | (uint32_t)get16(raw + 120) << 16,
        .gid = get16(raw + 24) | (uint32_t)get16(raw + 122) << 16,
        .links = get16(raw + 26),
        .flags = get32(raw + 32),
        .generation = get32(raw + 100),
        .size = get32(raw + 4) | (uint64_t)get32(raw + 108) << 32,
        .acl = get32(raw + 104) | (uint64_t)get16(raw + 118) << 32,
        .ctime_ns = time_ns(raw + 12, extra >= 8 ? raw + 132 : NULL),
        .mtime_ns = time_ns(raw + 16, extra >= 12 ? raw + 136 : NULL),
        .version = get32(raw + 36) | (extra >= 28 ? (uint64_t)get32(raw + 152) << 32 : 0),
        .born_ns = extra >= 24 ? time_ns(raw + 144, raw + 148) : 0,
    };
    memcpy(ret->map, raw + 40, NODE_MAP_SIZE);
}

int volume_node(struct volume *volume, uint32_t inode, struct node *ret_node, struct error **err)
{
    const struct volume_shape *shape = &volume->shape;
    uint64_t table;

    if (inode == 0 || inode > volume->fs->super->s_inodes_count)
        return error_set(err, ERROR_CORRUPT, "there is no inode %u", inode);
    uint32_t group = (inode - 1) / shape->inodes_per_group, index = (inode - 1) % shape->inodes_per_group;
    if (index >= volume_used(volume, group, &table)) {
        *ret_node = (struct node){0};
        return 0;
    }
    uint64_t offset = table + (uint64_t)index * shape->inode_size;
    if (shape->inode_size > TABLE_PIECE)
        return error_set(err, ERROR_INVALID, "the file system has inodes of %u bytes", shape->inode_size);
    uint64_t piece = offset / TABLE_PIECE * TABLE_PIECE; /* inodes are powers of two: none crosses a piece */
    if (volume->table_at != piece) {
        volume->table_at = 0;
        volume_begin(volume, 0);
        int rc = volume_read(volume, piece, volume->table, TABLE_PIECE, err);
        if (rc < 0)
            return error_prefix(err, "inode %u", inode);
        volume->table_at = piece;
    }
    node_parse(volume->table + (offset - piece), shape->inode_size, ret_node);
    return 0;
}

/* Data that is small enough to be in the inode and its extended attributes. */
static int read_inline(struct volume *volume, uint32_t inode, uint8_t *data, size_t *ret_len,
                       struct error **err)
{
    size_t len = 0;

    errcode_t code = ext2fs_inline_data_size(volume->fs, inode, &len);
    if (code)
        return volume_failed(volume, code, err, "its data in the inode");
    if (len > INLINE_MAX)
        return error_set(err, ERROR_CORRUPT, "its data in the inode has %zu bytes", len);
    code = ext2fs_inline_data_get(volume->fs, inode, NULL, data, &len);
    if (code)
        return volume_failed(volume, code, err, "its data in the inode");
    *ret_len = len;
    return 0;
}

/* ---- folders ---- */

struct lister {
    struct volume *volume;
    struct listing listing;
    size_t room, names_len, names_room;
    uint32_t blocks;
    uint8_t *block;
};

static int add_entry(struct lister *lister, uint32_t inode, uint8_t type, const uint8_t *name, uint8_t len,
                     struct error **err)
{
    struct listing *listing = &lister->listing;

    if (len == 1 && name[0] == '.')
        return 0;
    if (len == 2 && name[0] == '.' && name[1] == '.') {
        listing->parent = inode;
        return 0;
    }
    if (len == 0 || memchr(name, '/', len) || memchr(name, '\0', len))
        return error_set(err, ERROR_CORRUPT, "it has an entry whose name cannot be one");
    if (inode > lister->volume->fs->super->s_inodes_count)
        return error_set(err, ERROR_CORRUPT, "it has an entry for inode %u, which cannot be", inode);
    if (listing->count == FOLDER_ENTRIES_MAX)
        return error_set(err, ERROR_LIMIT, "it has more than %u entries", FOLDER_ENTRIES_MAX);
    if (listing->count == lister->room) {
        lister->room = lister->room ? lister->room * 2 : 64;
        listing->items = xrealloc(listing->items, lister->room, sizeof(*listing->items));
    }
    if (lister->names_room - lister->names_len < (size_t)len + 1) {
        lister->names_room = lister->names_room ? lister->names_room * 2 : 4096;
        listing->names = xrealloc(listing->names, lister->names_room, 1);
    }
    char *to = listing->names + lister->names_len;
    memcpy(to, name, len);
    to[len] = '\0';
    listing->items[listing->count++] =
        (struct entry){.inode = inode, .len = len, .folder = type == EXT2_FT_DIR};
    lister->names_len += (size_t)len + 1;
    return 0;
}

/* The entries in so many bytes; what is free in between is skipped by its length. */
static int add_entries(struct lister *lister, const uint8_t *data, size_t len, struct error **err)
{
    for (size_t at = 0; at + 8 <= len;) {
        uint32_t inode = get32(data + at);
        size_t step = get16(data + at + 4), name = data[at + 6];
        if (len > 65532 && (step == 65535 || step == 0)) /* a length that 16 bits cannot hold */
            step = len;
        if (step < 8 || step % 4 || step > len - at || name + 8 > step)
            return error_set(err, ERROR_CORRUPT, "its entries are damaged");
        int rc = inode ? add_entry(lister, inode, data[at + 7], data + at + 8, (uint8_t)name, err) : 0;
        if (rc < 0)
            return rc;
        at += step;
    }
    return 0;
}

static int list_blocks(void *user, uint64_t logical, uint64_t block, uint64_t count, bool written,
                       struct error **err)
{
    struct lister *lister = user;
    uint32_t size = lister->volume->shape.block_size;
    int rc = 0;

    for (uint64_t i = 0; rc == 0 && written && i < count; i++) {
        if (++lister->blocks > FOLDER_BLOCKS_MAX)
            return error_set(err, ERROR_LIMIT, "it has more than %u blocks", FOLDER_BLOCKS_MAX);
        rc = volume_read(lister->volume, (block + i) * size, lister->block, size, err);
        if (rc == 0)
            rc = add_entries(lister, lister->block, size, err);
    }
    return rc;
}

/* A small folder whose entries are in the inode: the first four bytes are its parent, and what does not fit
 * there is among the extended attributes. */
static int list_inline(struct lister *lister, uint32_t inode, struct error **err)
{
    autofree uint8_t *data = xnewn(uint8_t, INLINE_MAX);
    size_t len = 0;

    int rc = read_inline(lister->volume, inode, data, &len, err);
    if (rc < 0)
        return rc;
    if (len < 4)
        return error_set(err, ERROR_CORRUPT, "its entries are damaged");
    lister->listing.parent = get32(data);
    size_t first = len < NODE_MAP_SIZE ? len : NODE_MAP_SIZE;
    rc = add_entries(lister, data + 4, first - 4, err);
    return rc == 0 && len > first ? add_entries(lister, data + first, len - first, err) : rc;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct entry *)a)->name, ((const struct entry *)b)->name);
}

/* Names become pointers, now that they do not move any more. */
static void finish_listing(struct lister *lister)
{
    struct listing *listing = &lister->listing;
    const char *name = listing->names;
    bool sorted = true;

    for (size_t i = 0; i < listing->count; i++) {
        listing->items[i].name = name;
        name += listing->items[i].len + 1;
        sorted = sorted && (i == 0 || by_name(&listing->items[i - 1], &listing->items[i]) < 0);
    }
    if (!sorted)
        qsort(listing->items, listing->count, sizeof(*listing->items), by_name);
}

int volume_list(struct volume *volume, uint32_t inode, struct listing *ret_listing, struct error **err)
{
    struct lister lister = {.volume = volume};
    struct node node;

    int rc = volume_node(volume, inode, &node, err);
    if (rc < 0)
        return rc;
    if (!S_ISDIR(node.mode))
        return error_set(err, ERROR_CORRUPT, "inode %u is no folder", inode);
    if (node.flags & FLAG_ENCRYPT)
        return error_set(err, ERROR_INVALID, "the folder with inode %u is encrypted", inode);
    if (++volume->budget->folders > DIFF_FOLDERS_MAX)
        return error_set(err, ERROR_LIMIT, "there are more than %u folders to look through",
                         DIFF_FOLDERS_MAX);
    volume_begin(volume, FOLDER_READS_MAX);
    lister.block = xnewn(uint8_t, volume->shape.block_size);
    rc = node.flags & FLAG_INLINE ? list_inline(&lister, inode, err)
                                  : volume_map(volume, &node, list_blocks, &lister, err);
    free(lister.block);
    if (rc < 0) {
        listing_finish(&lister.listing);
        return error_prefix(err, "the folder with inode %u", inode);
    }
    finish_listing(&lister);
    *ret_listing = lister.listing;
    return 0;
}

void listing_finish(struct listing *listing)
{
    free(listing->items);
    free(listing->names);
    *listing = (struct listing){0};
}

const struct entry *listing_find(const struct listing *listing, const char *name, size_t len)
{
    char text[NAME_LEN_MAX + 1];
    struct entry key = {.name = text};

    if (len > NAME_LEN_MAX)
        return NULL;
    memcpy(text, name, len);
    text[len] = '\0';
    return listing->count ? bsearch(&key, listing->items, listing->count, sizeof(key), by_name) : NULL;
}

/* ---- files and links ---- */

/* A file on its way out; holes and what was never written are zeros. */
struct reading {
    struct volume *volume;
    volume_data_fn fn;
    void *user;
    uint64_t at, end;
    uint8_t *piece;
};

static int give_zeros(struct reading *reading, uint64_t until, struct error **err)
{
    int rc = 0;

    if (until > reading->end)
        until = reading->end;
    memset(reading->piece, 0, DATA_PIECE);
    while (rc == 0 && reading->at < until) {
        uint64_t len = until - reading->at < DATA_PIECE ? until - reading->at : DATA_PIECE;
        rc = budget_check(reading->volume->budget, err);
        if (rc == 0)
            rc = reading->fn(reading->user, reading->piece, (size_t)len, err);
        reading->at += len;
    }
    return rc;
}

static int give_blocks(void *user, uint64_t logical, uint64_t block, uint64_t count, bool written,
                       struct error **err)
{
    struct reading *reading = user;
    uint32_t size = reading->volume->shape.block_size;
    uint64_t from = logical * size, until = from + count * size, on_disk = block * size;

    int rc = give_zeros(reading, from, err);
    if (rc < 0 || !written)
        return rc;
    if (until > reading->end)
        until = reading->end;
    while (rc == 0 && reading->at < until) {
        uint64_t len = until - reading->at < DATA_PIECE ? until - reading->at : DATA_PIECE;
        rc = budget_check(reading->volume->budget, err);
        if (rc == 0)
            rc = volume_read(reading->volume, on_disk + (reading->at - from), reading->piece, (size_t)len,
                             err);
        if (rc == 0)
            rc = reading->fn(reading->user, reading->piece, (size_t)len, err);
        reading->at += len;
    }
    return rc;
}

int volume_data(struct volume *volume, uint32_t inode, uint64_t max, volume_data_fn fn, void *user,
                struct error **err)
{
    struct reading reading = {.volume = volume, .fn = fn, .user = user};
    struct node node;
    size_t len = 0;

    int rc = volume_node(volume, inode, &node, err);
    if (rc < 0)
        return rc;
    if (node.flags & FLAG_ENCRYPT)
        return error_set(err, ERROR_INVALID, "the file with inode %u is encrypted", inode);
    volume_begin(volume, 0);
    reading.end = node.size < max ? node.size : max;
    reading.piece = xnewn(uint8_t, DATA_PIECE);
    if (node.flags & FLAG_INLINE) {
        rc = read_inline(volume, inode, reading.piece, &len, err);
        if (rc == 0)
            rc = fn(user, reading.piece, len < reading.end ? len : (size_t)reading.end, err);
    } else {
        rc = volume_map(volume, &node, give_blocks, &reading, err);
        if (rc == 0)
            rc = give_zeros(&reading, reading.end, err);
    }
    free(reading.piece);
    return rc < 0 ? error_prefix(err, "the file with inode %u", inode) : 0;
}

struct whole {
    char *data;
    size_t len;
};

static int keep(void *user, const void *data, size_t len, struct error **err)
{
    struct whole *whole = user;

    memcpy(whole->data + whole->len, data, len);
    whole->len += len;
    return 0;
}

int volume_file(struct volume *volume, uint32_t inode, size_t max, char **ret, size_t *ret_len,
                struct error **err)
{
    struct whole whole = {0};
    struct node node;

    int rc = volume_node(volume, inode, &node, err);
    if (rc < 0)
        return rc;
    if (node.size > max)
        return error_set(err, ERROR_LIMIT, "the file with inode %u has more than %zu bytes", inode, max);
    whole.data = xnewn(char, node.size + 1);
    rc = volume_data(volume, inode, node.size, keep, &whole, err);
    if (rc < 0) {
        free(whole.data);
        return rc;
    }
    *ret = whole.data;
    *ret_len = whole.len;
    return 0;
}

int volume_target(struct volume *volume, uint32_t inode, const struct node *node, char **ret_target,
                  struct error **err)
{
    size_t len = 0;

    if (node->size == 0 || node->size > LINK_TARGET_MAX)
        return error_set(err, ERROR_CORRUPT, "the link with inode %u has a target of %llu bytes", inode,
                         (unsigned long long)node->size);
    if (node->flags & FLAG_ENCRYPT)
        return error_set(err, ERROR_INVALID, "the link with inode %u is encrypted", inode);
    if (node->size < NODE_MAP_SIZE && !(node->flags & FLAG_INLINE)) {
        *ret_target = xstrndup((const char *)node->map, (size_t)node->size);
        return 0;
    }
    return volume_file(volume, inode, LINK_TARGET_MAX, ret_target, &len, err);
}
