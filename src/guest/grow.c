/* grow.c: the root file system takes all of its disk, which hutch made larger while the machine was off. */
#include "base/alloc.h"
#include "base/file.h"
#include "base/log.h"
#include "guest/api.h"
#include "guest/run.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#define XFS_MAGIC   0x58465342
#define UEVENT_MAX  4096
#define SLACK       (64ull << 20) /* a file system's own overhead counts as full */
#define EXT4_RESIZE _IOW('f', 16, uint64_t)

/* The device node of the root file system, from the kernel. Caller frees. */
static int root_device(char **ret, struct error **err)
{
    struct stat st;
    autofree char *data = NULL;

    if (stat("/", &st))
        return error_set_errno(err, errno, "cannot look at '/'");
    autofree char *path = xasprintf("/sys/dev/block/%u:%u/uevent", major(st.st_dev), minor(st.st_dev));
    if (file_read(path, UEVENT_MAX, &data, NULL, NULL))
        return error_set(err, ERROR_STATE, "the root file system is on no disk of its own");
    const char *name = strstr(data, "DEVNAME=");
    if (!name)
        return error_set(err, ERROR_STATE, "the root disk has no name");
    name += strlen("DEVNAME=");
    *ret = xasprintf("/dev/%.*s", (int)strcspn(name, "\n"), name);
    return 0;
}

static int disk_size(const char *device, uint64_t *ret, struct error **err)
{
    autoclose int fd = open(device, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || ioctl(fd, BLKGETSIZE64, ret))
        return error_set_errno(err, errno, "cannot ask for the size of '%s'", device);
    return 0;
}

/* What resize2fs does on a mounted file system, for a machine that has no resize2fs. */
static int grow_ext4_by_kernel(uint64_t size, uint64_t block, struct error **err)
{
    uint64_t blocks = size / block;
    autoclose int fd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 || ioctl(fd, EXT4_RESIZE, &blocks))
        return error_set_errno(err, errno, "cannot grow the root file system");
    return 0;
}

static int grow_by_tool(const struct place *place, const char *const *argv, struct error **err)
{
    return run_command(place, NULL, false, argv, NULL, NULL, err);
}

static int grow(struct call *call, json_t **ret, struct error **err)
{
    const struct place *place = &call->agent->place;
    autofree char *device = NULL;
    struct statfs fs;
    uint64_t size;

    if (!place->machine)
        return error_set(err, ERROR_STATE,
                         "this hutch-guest runs outside a machine and leaves the host's disks alone");
    int rc = root_device(&device, err);
    if (!rc)
        rc = disk_size(device, &size, err);
    if (!rc && statfs("/", &fs))
        rc = error_set_errno(err, errno, "cannot look at '/'");
    if (rc || (uint64_t)fs.f_blocks * (uint64_t)fs.f_bsize + size / 32 + SLACK >= size)
        return rc;
    log_info("the root file system grows to %llu MiB", (unsigned long long)(size >> 20));
    const char *const ext4[] = {"resize2fs", device, NULL};
    const char *const xfs[] = {"xfs_growfs", "/", NULL};
    const char *const btrfs[] = {"btrfs", "filesystem", "resize", "max", "/", NULL};
    auto(error) struct error *failed = NULL;
    switch ((unsigned long)fs.f_type) {
    case EXT4_SUPER_MAGIC:
        if (grow_by_tool(place, ext4, &failed) == 0)
            return 0;
        return grow_ext4_by_kernel(size, (uint64_t)fs.f_bsize, err);
    case XFS_MAGIC:
        return grow_by_tool(place, xfs, err);
    case BTRFS_SUPER_MAGIC:
        return grow_by_tool(place, btrfs, err);
    default:
        return error_set(err, ERROR_MISSING,
                         "the root file system is none that hutch can grow (ext4, xfs, btrfs)");
    }
}

void grow_root(struct call *call)
{
    call_work(call, grow);
}
