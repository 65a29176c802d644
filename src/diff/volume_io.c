/* The reader that libext2fs gets: blocks of the disk, after replay, counted. */
#include "base/alloc.h"
#include "diff/volume_internal.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>

#define CHECK_EVERY 256 /* reads between two looks at the clock */

_Thread_local struct volume *volume_opening;

void volume_begin(struct volume *volume, uint64_t reads_max)
{
    volume->reads = 0;
    volume->reads_max = reads_max;
    error_free(volume->failed);
    volume->failed = NULL;
}

int volume_failed(struct volume *volume, errcode_t code, struct error **err, const char *format, ...)
{
    autofree char *what = NULL;
    va_list args;

    va_start(args, format);
    what = xvasprintf(format, args);
    va_end(args);
    if (volume->failed) {
        error_move(err, &volume->failed);
        return error_prefix(err, "%s", what);
    }
    return error_set(err, ERROR_CORRUPT, "%s: %s", what, error_message(code));
}

/* One block that may be in the journal. */
static int read_block(struct volume *volume, uint64_t block, uint64_t inside, uint8_t *data, size_t len,
                      struct error **err)
{
    uint32_t size = volume->shape.block_size;
    const struct replay_slot *slot = replay_find(&volume->replay, block);

    if (!slot)
        return disk_read(volume->disk, block * size + inside, data, len, err);
    if (slot->journal >= volume->journal_count)
        return error_set(err, ERROR_CORRUPT, "the journal is shorter than it says");
    int rc = disk_read(volume->disk, volume->journal[slot->journal] * size + inside, data, len, err);
    for (size_t i = 0; rc == 0 && slot->escaped && i < len && inside + i < 4; i++)
        data[i] = (uint8_t)(REPLAY_MAGIC >> (24 - 8 * (inside + i)));
    return rc;
}

int volume_read(struct volume *volume, uint64_t offset, void *data, size_t len, struct error **err)
{
    uint32_t size = volume->shape.block_size;
    uint8_t *out = data;

    volume->reads += (len + 4095) / 4096;
    if (volume->reads_max && volume->reads > volume->reads_max)
        return error_set(err, ERROR_LIMIT, "it takes more than %llu reads",
                         (unsigned long long)volume->reads_max);
    if (volume->reads % CHECK_EVERY == 0) {
        int rc = budget_check(volume->budget, err);
        if (rc < 0)
            return rc;
    }
    if (volume->replay.count == 0)
        return disk_read(volume->disk, offset, data, len, err);
    while (len > 0) {
        uint64_t inside = offset % size;
        size_t part = size - inside < len ? size - inside : len;
        int rc = read_block(volume, offset / size, inside, out, part, err);
        if (rc < 0)
            return rc;
        out += part;
        offset += part;
        len -= part;
    }
    return 0;
}

static errcode_t io_open(const char *name, int flags, io_channel *ret)
{
    io_channel channel = xnew(struct struct_io_channel);

    channel->magic = EXT2_ET_MAGIC_IO_CHANNEL;
    channel->manager = &volume_io;
    channel->name = xstrdup(name);
    channel->block_size = 1024;
    channel->refcount = 1;
    channel->private_data = volume_opening;
    *ret = channel;
    return 0;
}

static errcode_t io_close(io_channel channel)
{
    if (--channel->refcount > 0)
        return 0;
    free(channel->name);
    free(channel);
    return 0;
}

static errcode_t io_set_block_size(io_channel channel, int size)
{
    channel->block_size = size;
    return 0;
}

static errcode_t io_read(io_channel channel, unsigned long long block, int count, void *data)
{
    struct volume *volume = channel->private_data;
    uint64_t len = count < 0 ? (uint64_t) - (int64_t)count : (uint64_t)count * (uint64_t)channel->block_size;
    uint64_t offset;

    if (volume->failed) /* it went on after an error */
        return EIO;
    if (__builtin_mul_overflow(block, (uint64_t)channel->block_size, &offset))
        return EXT2_ET_BAD_BLOCK_NUM;
    return volume_read(volume, offset, data, len, &volume->failed) < 0 ? EIO : 0;
}

static errcode_t io_read_32(io_channel channel, unsigned long block, int count, void *data)
{
    return io_read(channel, block, count, data);
}

static errcode_t io_write(io_channel channel, unsigned long long block, int count, const void *data)
{
    return EXT2_ET_RO_FILSYS;
}

static errcode_t io_write_32(io_channel channel, unsigned long block, int count, const void *data)
{
    return EXT2_ET_RO_FILSYS;
}

static errcode_t io_flush(io_channel channel)
{
    return 0;
}

struct struct_io_manager volume_io = {
    .magic = EXT2_ET_MAGIC_IO_MANAGER,
    .name = "layers",
    .open = io_open,
    .close = io_close,
    .set_blksize = io_set_block_size,
    .read_blk = io_read_32,
    .write_blk = io_write_32,
    .flush = io_flush,
    .read_blk64 = io_read,
    .write_blk64 = io_write,
};
