#include "diff/volume.h"

#include "base/alloc.h"
#include "diff/volume_internal.h"

#include <string.h>

#define SUPER_AT         1024
#define JOURNAL_OPEN_MAX (1U << 24) /* reads to open a file system: its groups */
#define TABLE_PIECE      4096
#define GROUPS_MAX       (1U << 21)

/* What else can begin a disk, for a person who wonders. */
static const char *name_of(const uint8_t *head, size_t len)
{
    static const struct {
        size_t at;
        const char *magic, *name;
    } known[] = {
        {0, "XFSB", "an XFS file system"},
        {0x10040, "_BHRfS_M", "a btrfs file system"},
        {512, "EFI PART", "a partition table"},
        {1080, "\x10\x20\xf5\xf2", "an F2FS file system"},
        {0, "LUKS", "an encrypted volume"},
        {0x400, "\x10\x20\xf5\xf2", "an F2FS file system"},
        {1024, "\xe2\xe1\xf5\xe0", "an EROFS file system"},
        {510, "\x55\xaa", "a partition table"},
    };
    for (size_t i = 0; i < countof(known); i++)
        if (known[i].at + strlen(known[i].magic) <= len &&
            memcmp(head + known[i].at, known[i].magic, strlen(known[i].magic)) == 0)
            return known[i].name;
    return "no file system that is known";
}

/* Says what is there instead, where it is no ext4. */
static int check_kind(const struct disk *disk, struct error **err)
{
    static const size_t len = 0x10048;
    autofree uint8_t *head = xnewn(uint8_t, len);
    size_t there = disk_size(disk) < len ? (size_t)disk_size(disk) : len;

    int rc = disk_read(disk, 0, head, there, err);
    if (rc < 0)
        return rc;
    if (there >= SUPER_AT + 1024 && head[SUPER_AT + 56] == 0x53 && head[SUPER_AT + 57] == 0xef)
        return 0;
    error_set(err, ERROR_INVALID, "the disk holds %s: only ext4 can be compared", name_of(head, there));
    return error_hint(err, "compare inside of the machine, or make its root an ext4 file system");
}

/* Opens it as its blocks are now, or as the replay has them. */
static int open_fs(struct volume *volume, struct error **err)
{
    volume_begin(volume, JOURNAL_OPEN_MAX);
    volume_opening = volume;
    errcode_t code = ext2fs_open2("disk", NULL, EXT2_FLAG_64BITS | EXT2_FLAG_IGNORE_CSUM_ERRORS, 0, 0,
                                  &volume_io, &volume->fs);
    volume_opening = NULL;
    if (code)
        return volume_failed(volume, code, err, "cannot open the file system");
    struct ext2_super_block *super = volume->fs->super;
    volume->shape = (struct volume_shape){
        .block_size = volume->fs->blocksize,
        .inode_size = EXT2_INODE_SIZE(super),
        .inodes_per_group = super->s_inodes_per_group,
        .groups = volume->fs->group_desc_count,
        .flex = super->s_log_groups_per_flex < 16 ? 1U << super->s_log_groups_per_flex : 1,
        .blocks = ext2fs_blocks_count(super),
    };
    memcpy(volume->shape.uuid, super->s_uuid, sizeof(volume->shape.uuid));
    volume->inode_checksums = ext2fs_has_group_desc_csum(volume->fs);
    if (volume->shape.groups > GROUPS_MAX)
        return error_set(err, ERROR_LIMIT, "the file system has more than %u groups", GROUPS_MAX);
    if (volume->shape.blocks > disk_size(volume->disk) / volume->shape.block_size)
        return error_set(err, ERROR_CORRUPT, "the file system is larger than the disk");
    if ((uint64_t)volume->shape.groups * volume->shape.inodes_per_group < super->s_inodes_count)
        return error_set(err, ERROR_CORRUPT, "the file system has more inodes than its groups");
    return 0;
}

static int add_journal_blocks(void *user, uint64_t logical, uint64_t block, uint64_t count, bool written,
                              struct error **err)
{
    struct volume *volume = user;

    if (logical != volume->journal_count || !written)
        return error_set(err, ERROR_CORRUPT, "it has holes");
    if (count > JOURNAL_BLOCKS_MAX - volume->journal_count)
        return error_set(err, ERROR_LIMIT, "it has more than %u blocks", JOURNAL_BLOCKS_MAX);
    volume->journal = xrealloc(volume->journal, volume->journal_count + count, sizeof(*volume->journal));
    for (uint64_t i = 0; i < count; i++)
        volume->journal[volume->journal_count++] = block + i;
    return 0;
}

static int read_journal(void *user, uint32_t index, uint8_t *data, struct error **err)
{
    struct volume *volume = user;
    uint32_t size = volume->shape.block_size;

    if (index >= volume->journal_count)
        return error_set(err, ERROR_CORRUPT, "the journal is shorter than it says");
    int rc = budget_check(volume->budget, err);
    return rc < 0 ? rc : disk_read(volume->disk, volume->journal[index] * size, data, size, err);
}

/* Takes the journal in, and opens the file system anew through it. */
static int replay(struct volume *volume, struct error **err)
{
    struct ext2_super_block *super = volume->fs->super;
    struct node node;

    if (!ext2fs_has_feature_journal_needs_recovery(super))
        return 0;
    if (super->s_journal_inum == 0 || super->s_journal_inum > super->s_inodes_count)
        return error_set(err, ERROR_INVALID, "the journal of the file system is on another disk");
    volume_begin(volume, FOLDER_READS_MAX);
    int rc = volume_node(volume, super->s_journal_inum, &node, err);
    if (rc == 0)
        rc = volume_map(volume, &node, add_journal_blocks, volume, err);
    if (rc < 0)
        return error_prefix(err, "the journal");
    rc = replay_make(read_journal, volume, volume->journal_count, volume->shape.block_size, &volume->replay,
                     err);
    if (rc < 0 || volume->replay.count == 0)
        return rc;
    ext2fs_free(volume->fs);
    volume->fs = NULL;
    volume->table_at = 0;
    return open_fs(volume, err);
}

int volume_open(const struct disk *disk, struct budget *budget, struct volume **ret_volume,
                struct error **err)
{
    auto(volume) struct volume *volume = xnew(struct volume);

    volume->disk = disk;
    volume->budget = budget;
    volume->shape.block_size = 1024;
    volume->table = xnewn(uint8_t, TABLE_PIECE);
    int rc = check_kind(disk, err);
    if (rc == 0)
        rc = open_fs(volume, err);
    if (rc == 0)
        rc = replay(volume, err);
    if (rc == 0)
        *ret_volume = steal(&volume);
    return rc;
}

void volume_close(struct volume *volume)
{
    if (volume->fs)
        ext2fs_free(volume->fs);
    replay_finish(&volume->replay);
    error_free(volume->failed);
    free(volume->journal);
    free(volume->table);
    free(volume);
}

const struct volume_shape *volume_shape(const struct volume *volume)
{
    return &volume->shape;
}

void volume_add_replayed(const struct volume *volume, struct difference *difference)
{
    uint32_t size = volume->shape.block_size;

    for (size_t i = 0; i < volume->replay.room; i++)
        if (volume->replay.slots[i].block < volume->shape.blocks)
            difference_add(difference, volume->replay.slots[i].block * size, size);
}

const char *volume_note(const struct volume *volume)
{
    return volume->replay.fast_commits
               ? "the journal has fast commits, which are not taken in: the last seconds may be missing"
               : NULL;
}

uint32_t volume_used(const struct volume *volume, uint32_t group, uint64_t *ret_offset)
{
    uint32_t all = volume->shape.inodes_per_group, unused = 0;
    uint64_t block = ext2fs_inode_table_loc(volume->fs, group);

    *ret_offset = block * volume->shape.block_size;
    if (block == 0 || block >= volume->shape.blocks)
        return 0;
    if (volume->inode_checksums) {
        if (ext2fs_bg_flags_test(volume->fs, group, EXT2_BG_INODE_UNINIT))
            return 0;
        unused = ext2fs_bg_itable_unused(volume->fs, group);
    }
    return unused > all ? 0 : all - unused;
}
