#include "diff/replay.h"

#include "base/alloc.h"
#include "diff/budget.h"

#include <ext2fs/ext2fs.h>
#include <string.h>

enum { BLOCK_DESCRIPTOR = 1, BLOCK_COMMIT = 2, BLOCK_SUPER_1 = 3, BLOCK_SUPER_2 = 4, BLOCK_REVOKE = 5 };
enum { TAG_ESCAPE = 1, TAG_SAME_UUID = 2, TAG_LAST = 8 };
#define HEAD_SIZE        12 /* magic, type, sequence */
#define UUID_SIZE        16
#define FEATURE_64BIT    2U
#define FEATURE_CSUM_2   8U
#define FEATURE_CSUM_3   0x10U
#define FEATURE_FAST     0x20U
#define FEATURES_KNOWN   0x3fU
#define FAST_HEAD        9 /* tag of the first fast commit */
#define FAST_BLOCKS      256
#define COMMIT_CHECKSUM  16
#define SUPER_UUID       48
#define SUPER_FAST_COUNT 84

/* A block that a transaction has written, or one whose older copies a revoke record forbids. */
struct written {
    uint64_t block;
    uint32_t sequence, journal;
    bool escaped;
};
struct list {
    struct written *items;
    size_t count, room;
};

/* The walk through one journal. */
struct walk {
    replay_read_fn read;
    void *user;
    uint32_t block_size, first, end, features, seed;
    uint32_t at, sequence, left; /* the next block; left: blocks that were not looked at yet */
    uint8_t *block;
    struct list written, revoked;
    size_t written_done, revoked_done; /* of transactions that are whole */
    uint32_t transactions;
};

static uint32_t get32(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static int append(struct list *list, struct written item, struct error **err)
{
    if (list->count == JOURNAL_ENTRIES_MAX)
        return error_set(err, ERROR_LIMIT, "the journal has more than %u entries", JOURNAL_ENTRIES_MAX);
    if (list->count == list->room) {
        list->room = list->room ? list->room * 2 : 256;
        list->items = xrealloc(list->items, list->room, sizeof(*list->items));
    }
    list->items[list->count++] = item;
    return 0;
}

/* The number of the next block; goes round at the end. false: all were seen. */
static bool step(struct walk *walk, uint32_t *ret)
{
    if (walk->left == 0)
        return false;
    walk->left--;
    *ret = walk->at;
    walk->at = walk->at + 1 >= walk->end ? walk->first : walk->at + 1;
    return true;
}

static bool has_checksums(const struct walk *walk)
{
    return (walk->features & (FEATURE_CSUM_2 | FEATURE_CSUM_3)) != 0;
}

/* Whether the checksum at an offset of the block is right; it counts as zero itself. */
static bool is_intact(struct walk *walk, size_t at)
{
    static const uint8_t zero[4];

    if (!has_checksums(walk))
        return true;
    uint32_t sum = ext2fs_crc32c_le(walk->seed, walk->block, at);
    sum = ext2fs_crc32c_le(sum, zero, sizeof(zero));
    sum = ext2fs_crc32c_le(sum, walk->block + at + 4, walk->block_size - at - 4);
    return sum == get32(walk->block + at);
}

/* The tags of a descriptor; the blocks that they speak of follow it. *ret_end: the log breaks off. */
static int take_descriptor(struct walk *walk, bool *ret_end, struct error **err)
{
    bool wide = walk->features & FEATURE_64BIT, third = walk->features & FEATURE_CSUM_3;
    size_t size = third ? 16 : 8U + (walk->features & FEATURE_CSUM_2 ? 2 : 0) + (wide ? 4 : 0);
    size_t limit = walk->block_size - (has_checksums(walk) ? 4 : 0);

    *ret_end = !is_intact(walk, walk->block_size - 4);
    for (size_t at = HEAD_SIZE; !*ret_end && at + size <= limit;) {
        const uint8_t *tag = walk->block + at;
        uint32_t flags = third ? get32(tag + 4) : (uint32_t)(tag[6] << 8 | tag[7]);
        struct written item = {
            .block = get32(tag), .sequence = walk->sequence, .escaped = (flags & TAG_ESCAPE) != 0};
        if (wide)
            item.block |= (uint64_t)get32(tag + 8) << 32;
        if (!step(walk, &item.journal)) {
            *ret_end = true;
            return 0;
        }
        int rc = append(&walk->written, item, err);
        if (rc < 0)
            return rc;
        at += size + (flags & TAG_SAME_UUID ? 0 : UUID_SIZE);
        if (flags & TAG_LAST)
            break;
    }
    return 0;
}

static int take_revoke(struct walk *walk, bool *ret_end, struct error **err)
{
    size_t size = walk->features & FEATURE_64BIT ? 8 : 4;
    size_t limit = walk->block_size - (has_checksums(walk) ? 4 : 0), end = get32(walk->block + HEAD_SIZE);
    int rc = 0;

    *ret_end = end > limit || !is_intact(walk, walk->block_size - 4);
    for (size_t at = HEAD_SIZE + 4; !*ret_end && rc == 0 && at + size <= end; at += size) {
        struct written item = {.block = get32(walk->block + at), .sequence = walk->sequence};
        if (size == 8)
            item.block = item.block << 32 | get32(walk->block + at + 4);
        rc = append(&walk->revoked, item, err);
    }
    return rc;
}

/* Collects what whole transactions say. The log ends at the first block that does not go on with it. */
static int walk_log(struct walk *walk, struct error **err)
{
    uint32_t index;
    bool end = false;
    int rc = 0;

    while (rc == 0 && !end && step(walk, &index)) {
        rc = walk->read(walk->user, index, walk->block, err);
        if (rc < 0 || get32(walk->block) != REPLAY_MAGIC || get32(walk->block + 8) != walk->sequence)
            break;
        switch (get32(walk->block + 4)) {
        case BLOCK_DESCRIPTOR:
            rc = take_descriptor(walk, &end, err);
            break;
        case BLOCK_REVOKE:
            rc = take_revoke(walk, &end, err);
            break;
        case BLOCK_COMMIT:
            end = !is_intact(walk, COMMIT_CHECKSUM);
            if (end)
                break;
            walk->written_done = walk->written.count;
            walk->revoked_done = walk->revoked.count;
            walk->transactions++;
            walk->sequence++;
            break;
        default:
            end = true;
        }
    }
    return rc;
}

static struct replay_slot *slot_of(const struct replay *replay, uint64_t block)
{
    size_t i = (size_t)((block * 0x9e3779b97f4a7c15ULL) >> 32) & (replay->room - 1);
    while (replay->slots[i].block != UINT64_MAX && replay->slots[i].block != block)
        i = (i + 1) & (replay->room - 1);
    return &replay->slots[i];
}

static void map_init(struct replay *map, size_t count)
{
    map->room = 16;
    while (map->room < count * 2)
        map->room *= 2;
    map->slots = xnewn(struct replay_slot, map->room);
    for (size_t i = 0; i < map->room; i++)
        map->slots[i].block = UINT64_MAX;
}

/* The last transaction that wrote a block counts, unless a later or the same one revoked it. */
static void make_map(const struct walk *walk, struct replay *ret)
{
    struct replay revoked = {0};

    map_init(&revoked, walk->revoked_done);
    map_init(ret, walk->written_done);
    for (size_t i = 0; i < walk->revoked_done; i++) {
        struct replay_slot *slot = slot_of(&revoked, walk->revoked.items[i].block);
        slot->block = walk->revoked.items[i].block;
        slot->journal = walk->revoked.items[i].sequence; /* the last one, as they come in order */
    }
    for (size_t i = 0; i < walk->written_done; i++) {
        const struct written *item = &walk->written.items[i];
        const struct replay_slot *no = item->block == UINT64_MAX ? NULL : slot_of(&revoked, item->block);
        if (!no || (no->block == item->block && (int32_t)(no->journal - item->sequence) >= 0))
            continue;
        struct replay_slot *slot = slot_of(ret, item->block);
        if (slot->block == UINT64_MAX)
            ret->count++;
        *slot =
            (struct replay_slot){.block = item->block, .journal = item->journal, .escaped = item->escaped};
    }
    free(revoked.slots);
}

/* Whether fast commits of the transaction that would come next wait in their part of the journal. */
static int look_for_fast_commits(struct walk *walk, bool *ret, struct error **err)
{
    if (!(walk->features & FEATURE_FAST))
        return 0;
    int rc = walk->read(walk->user, walk->end, walk->block, err);
    if (rc < 0)
        return rc;
    const uint8_t *p =
        walk->block; /* little endian, other than all else: tag, length, features, transaction */
    uint32_t transaction = p[8] | (uint32_t)p[9] << 8 | (uint32_t)p[10] << 16 | (uint32_t)p[11] << 24;
    *ret = (p[0] | p[1] << 8) == FAST_HEAD && transaction == walk->sequence;
    return 0;
}

/* The head of the journal. *ret_empty: nothing is to be done. */
static int read_head(struct walk *walk, uint32_t blocks, bool *ret_empty, struct error **err)
{
    int rc = walk->read(walk->user, 0, walk->block, err);
    const uint8_t *head = walk->block;

    if (rc < 0)
        return rc;
    uint32_t type = get32(head + 4), length = get32(head + 16), start = get32(head + 28), fast = 0;
    if (get32(head) != REPLAY_MAGIC || (type != BLOCK_SUPER_1 && type != BLOCK_SUPER_2) ||
        get32(head + 12) != walk->block_size)
        return error_set(err, ERROR_CORRUPT, "the journal has no head");
    walk->features = type == BLOCK_SUPER_2 ? get32(head + 40) : 0;
    if (walk->features & ~FEATURES_KNOWN)
        return error_set(err, ERROR_INVALID, "the journal has features that are not known");
    if (walk->features & FEATURE_FAST)
        fast = get32(head + SUPER_FAST_COUNT) ? get32(head + SUPER_FAST_COUNT) : FAST_BLOCKS;
    walk->first = get32(head + 20);
    walk->sequence = get32(head + 24);
    walk->seed = ext2fs_crc32c_le(~0U, head + SUPER_UUID, UUID_SIZE);
    if (length > blocks || fast >= length || walk->first == 0 || walk->first >= length - fast ||
        start >= length - fast || (start && start < walk->first))
        return error_set(err, ERROR_CORRUPT, "the journal's head is damaged");
    walk->end = length - fast;
    walk->at = start;
    walk->left = walk->end - walk->first;
    *ret_empty = start == 0;
    return 0;
}

int replay_make(replay_read_fn read, void *user, uint32_t blocks, uint32_t block_size, struct replay *ret,
                struct error **err)
{
    struct walk walk = {.read = read, .user = user, .block_size = block_size};
    struct replay replay = {0};
    bool empty = false;

    if (blocks > JOURNAL_BLOCKS_MAX)
        return error_set(err, ERROR_LIMIT, "the journal has more than %u blocks", JOURNAL_BLOCKS_MAX);
    walk.block = xnewn(uint8_t, block_size);
    int rc = read_head(&walk, blocks, &empty, err);
    if (rc == 0 && !empty)
        rc = walk_log(&walk, err);
    if (rc == 0)
        rc = look_for_fast_commits(&walk, &replay.fast_commits, err);
    if (rc == 0 && walk.written_done > 0)
        make_map(&walk, &replay);
    replay.transactions = walk.transactions;
    if (rc == 0)
        *ret = replay;
    free(walk.block);
    free(walk.written.items);
    free(walk.revoked.items);
    return rc;
}

void replay_finish(struct replay *replay)
{
    free(replay->slots);
    *replay = (struct replay){0};
}

const struct replay_slot *replay_find(const struct replay *replay, uint64_t block)
{
    if (replay->count == 0 || block == UINT64_MAX)
        return NULL;
    const struct replay_slot *slot = slot_of(replay, block);
    return slot->block == block ? slot : NULL;
}
