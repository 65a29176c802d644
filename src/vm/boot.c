#include "vm/boot.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/fd.h"
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define GUEST_SIZE_MAX ((size_t)64 << 20)
#define COPY_SIZE      ((size_t)1 << 17)
/* Where hutch-guest lies while the machine runs; the kernel command line and the hook name it. */
#define GUEST_PATH "/run/hutch/bin/hutch-guest"

/* initramfs-tools reads every file in conf/conf.d before it runs its scripts. This one adds ours behind those
 * that the base's own list (ORDER) has, so that nothing of the base must be known or rewritten. */
static const char conf[] = "grep -q hutch-guest /scripts/init-bottom/ORDER 2>/dev/null ||\n"
                           "echo '/scripts/init-bottom/hutch-guest \"$@\"' >>/scripts/init-bottom/ORDER\n";

/* Debian mounts /run noexec, so hutch-guest gets a small file system of its own, which moves into the real
 * root with /run. It comes as an archive in the archive: an initrd without busybox has cpio, but no cp and no
 * chmod. */
static const char hook[] = "#!/bin/sh\n"
                           "[ \"$1\" = prereqs ] && exit 0\n"
                           "mkdir -p /run/hutch/bin\n"
                           "mount -t tmpfs -o nosuid,nodev,mode=0755,size=64m hutch /run/hutch/bin\n"
                           "cd /run/hutch/bin && cpio -i </hutch/guest.cpio 2>/dev/null\n"
                           "[ -x " GUEST_PATH " ] || echo 'hutch: hutch-guest cannot be unpacked'\n";

/* newc: numbers as eight hex digits, names and data padded to four bytes. Inode numbers only tell links
 * apart. */
static void add_entry(struct buf *out, unsigned inode, unsigned mode, const char *name, const void *data,
                      size_t len)
{
    static const char zeros[4] = "";
    size_t name_size = strlen(name) + 1;
    unsigned links = S_ISDIR(mode) ? 2 : 1;
    int rc = buf_printf(out, NULL, "070701%08X%08X%08X%08X%08X%08X%08zX%08X%08X%08X%08X%08zX%08X%s", inode,
                        mode, 0U, 0U, links, 0U, len, 0U, 0U, 0U, 0U, name_size, 0U, name);
    require(rc == 0);
    /* the head has 110 bytes; the name's end is padded together with it */
    buf_append(out, zeros, 1, NULL);
    buf_append(out, zeros, (4 - (110 + name_size) % 4) % 4, NULL);
    buf_append(out, data, len, NULL);
    buf_append(out, zeros, (4 - len % 4) % 4, NULL);
}

/* Our archive: first the stamp that tells what the initrd was made of, then the hook and hutch-guest. */
static void make_archive(struct buf *out, const char *guest, size_t guest_len, const char *stamp)
{
    struct buf inner;
    buf_init(&inner, 0);
    add_entry(&inner, 1, S_IFREG | 0755, "hutch-guest", guest, guest_len);
    add_entry(&inner, 0, 0, "TRAILER!!!", NULL, 0);
    const struct {
        const char *name;
        unsigned mode;
        const void *data;
        size_t len;
    } entries[] = {
        {"hutch", S_IFDIR | 0755, NULL, 0},
        {"hutch/stamp", S_IFREG | 0644, stamp, strlen(stamp)},
        {"conf", S_IFDIR | 0755, NULL, 0},
        {"conf/conf.d", S_IFDIR | 0755, NULL, 0},
        {"conf/conf.d/zz-hutch-guest", S_IFREG | 0644, conf, sizeof(conf) - 1},
        {"scripts", S_IFDIR | 0755, NULL, 0},
        {"scripts/init-bottom", S_IFDIR | 0755, NULL, 0},
        {"scripts/init-bottom/hutch-guest", S_IFREG | 0755, hook, sizeof(hook) - 1},
        {"hutch/guest.cpio", S_IFREG | 0644, buf_data(&inner), inner.len},
    };
    for (size_t i = 0; i < countof(entries); i++)
        add_entry(out, 1 + (unsigned)i, entries[i].mode, entries[i].name, entries[i].data, entries[i].len);
    add_entry(out, 0, 0, "TRAILER!!!", NULL, 0);
    buf_finish(&inner);
}

/* What the initrd is made of, as a line of fixed length. A replaced file has another inode, size or time. */
static void make_stamp(const struct stat *base, const struct stat *guest, char ret[200])
{
    const struct stat *files[] = {base, guest};
    int n = snprintf(ret, 200, "hutch-boot 1");
    for (size_t i = 0; i < countof(files); i++)
        n += snprintf(ret + n, 200 - (size_t)n, " %016" PRIx64 ":%016" PRIx64 ":%016" PRIx64 "%08lx",
                      (uint64_t)files[i]->st_ino, (uint64_t)files[i]->st_size,
                      (uint64_t)files[i]->st_mtim.tv_sec, (unsigned long)files[i]->st_mtim.tv_nsec);
}

/* Whether out begins with an archive of exactly this stamp and has the size that belongs to it. */
static bool is_current(const char *out, const struct buf *archive, uint64_t base_size)
{
    struct stat st;
    char found[1024];
    autoclose int fd = open(out, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);

    require(archive->len >= sizeof(found));
    return fd >= 0 && fstat(fd, &st) == 0 && (uint64_t)st.st_size == archive->len + base_size &&
           pread(fd, found, sizeof(found), 0) == (ssize_t)sizeof(found) &&
           memcmp(found, buf_data(archive), sizeof(found)) == 0;
}

/* Copies the base's initrd behind what out has. */
static int copy_base(const char *base, int out, struct error **err)
{
    autofree char *block = xrealloc(NULL, COPY_SIZE, 1);
    autoclose int in = open(base, O_RDONLY | O_CLOEXEC);

    if (in < 0)
        return error_set_errno(err, errno, "cannot open \"%s\"", base);
    for (;;) {
        ssize_t n = read(in, block, COPY_SIZE);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return error_set_errno(err, errno, "cannot read \"%s\"", base);
        if (n == 0)
            return 0;
        int rc = fd_write_all(out, block, (size_t)n, err);
        if (rc < 0)
            return rc;
    }
}

/* Writes temporary and renames it. */
static int write_initrd(const char *base, const struct buf *archive, const char *out, struct error **err)
{
    autofree char *temporary = xasprintf("%s.new", out);
    autofree char *folder = xstrndup(out, (size_t)(strrchr(out, '/') - out) + 1);

    if (unlink(temporary) < 0 && errno != ENOENT)
        return error_set_errno(err, errno, "cannot remove \"%s\"", temporary);
    autoclose int fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644);
    if (fd < 0)
        return error_set_errno(err, errno, "cannot make \"%s\"", temporary);
    int rc = fd_write_all(fd, buf_data(archive), archive->len, err);
    if (rc == 0)
        rc = copy_base(base, fd, err);
    if (rc == 0 && fsync(fd) < 0)
        rc = error_set_errno(err, errno, "cannot write \"%s\"", temporary);
    if (rc == 0 && rename(temporary, out) < 0)
        rc = error_set_errno(err, errno, "cannot rename \"%s\" to \"%s\"", temporary, out);
    if (rc < 0) {
        unlink(temporary);
        return rc;
    }
    return file_sync(folder, err);
}

int boot_make_initrd(const char *base_initrd, const char *guest_program, const char *out, struct error **err)
{
    struct stat base, guest;
    struct buf archive;
    char stamp[200];
    autofree char *program = NULL;
    size_t len;

    if (out[0] != '/')
        return error_set(err, ERROR_INVALID, "\"%s\" is not a full path", out);
    if (stat(guest_program, &guest) < 0) {
        int rc = error_set(err, ERROR_MISSING, "there is no \"%s\": %s", guest_program, strerror(errno));
        error_hint(err, "build it (make hutch-guest) or install hutch again");
        return rc;
    }
    if (stat(base_initrd, &base) < 0)
        return error_set_errno(err, errno, "cannot read the base's initrd \"%s\"", base_initrd);
    make_stamp(&base, &guest, stamp);
    int rc = file_read(guest_program, GUEST_SIZE_MAX, &program, &len, err);
    if (rc < 0)
        return rc;
    buf_init(&archive, 0);
    make_archive(&archive, program, len, stamp);
    if (!is_current(out, &archive, (uint64_t)base.st_size))
        rc = write_initrd(base_initrd, &archive, out, err);
    buf_finish(&archive);
    return rc;
}

/* no_timer_check: on a busy host without KVM the kernel's test of the timer fails and it gives up. */
char *boot_command_line(const char *extra)
{
    return xasprintf(
        "root=/dev/vda rootfstype=ext4 rootflags=noinit_itable rw console=ttyS0 quiet loglevel=4 "
        "panic=10 no_timer_check net.ifnames=0 init=" GUEST_PATH "%s%s",
        extra && *extra ? " " : "", extra ? extra : "");
}
