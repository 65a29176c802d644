#include "base/file.h"

#include "base/alloc.h"
#include "base/fd.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

/* Deepest tree of folders that is walked: each level holds a descriptor. */
#define TREE_DEPTH_MAX 256
#define READ_STEP      65536

/* Reads what is behind fd, named path. */
static int read_all(int fd, const char *path, const struct stat *st, size_t limit, char **ret_data,
                    size_t *ret_len, struct error **err)
{
    size_t cap = 0, len = 0;
    autofree char *data = NULL;
    for (;;) {
        /* The size is a guess only: files of /proc say 0, others grow meanwhile. */
        if (len + 1 >= cap) {
            cap = !cap && st->st_size > 0 && (uint64_t)st->st_size < limit ? (size_t)st->st_size + 2
                                                                           : cap * 2 + READ_STEP;
            data = xrealloc(data, cap, 1);
        }
        size_t want = cap - len - 1;
        ssize_t n = read(fd, data + len, want);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return error_set_errno(err, errno, "cannot read \"%s\"", path);
        len += n;
        if (len > limit)
            return error_set(err, ERROR_LIMIT, "\"%s\" is longer than %zu bytes", path, limit);
        if (!n)
            break;
    }
    data[len] = '\0';
    *ret_data = steal(&data);
    if (ret_len)
        *ret_len = len;
    return 0;
}

int file_read(const char *path, size_t limit, char **ret_data, size_t *ret_len, struct error **err)
{
    autoclose int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    struct stat st;
    if (fd < 0 || fstat(fd, &st) < 0)
        return error_set_errno(err, errno, "cannot open \"%s\"", path);
    return read_all(fd, path, &st, limit, ret_data, ret_len, err);
}

int file_read_regular(const char *path, size_t limit, char **ret_data, size_t *ret_len, struct error **err)
{
    autoclose int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    struct stat st;
    if (fd < 0 || fstat(fd, &st) < 0)
        return error_set_errno(err, errno, "cannot open \"%s\"", path);
    if (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode)) /* a folder says so itself */
        return error_set(err, ERROR_INVALID, "\"%s\" is no regular file; put a text file there, or remove it",
                         path);
    return read_all(fd, path, &st, limit, ret_data, ret_len, err);
}

/* The folder of a path, for its fsync. Caller frees. */
static char *folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    if (!slash)
        return xstrdup(".");
    return slash == path ? xstrdup("/") : xstrndup(path, slash - path);
}

int file_replace(const char *path, const void *data, size_t len, mode_t mode, struct error **err)
{
    autofree char *folder = folder_of(path);
    const char *slash = strrchr(path, '/');
    autofree char *temporary = xasprintf("%s/.%s.XXXXXX", folder, slash ? slash + 1 : path);
    autoclose int fd = mkostemp(temporary, O_CLOEXEC);
    if (fd < 0)
        return error_set_errno(err, errno, "cannot make a file in \"%s\"", folder);
    auto(error) struct error *why = NULL;
    if (fd_write_all(fd, data, len, &why) < 0)
        error_prefix(&why, "\"%s\"", path);
    else if (fchmod(fd, mode) < 0 || fsync(fd) < 0)
        error_set_errno(&why, errno, "cannot write \"%s\"", path);
    else if (rename(temporary, path) < 0)
        error_set_errno(&why, errno, "cannot replace \"%s\"", path);
    if (why) {
        unlink(temporary);
        return error_move(err, &why);
    }
    return file_sync(folder, err);
}

int file_sync(const char *path, struct error **err)
{
    autoclose int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0)
        return error_set_errno(err, errno, "cannot open \"%s\"", path);
    if (fsync(fd) < 0)
        return error_set_errno(err, errno, "cannot bring \"%s\" to the disk", path);
    return 0;
}

/* One folder of the path; an existing one stays as it is. */
static int make_one(const char *path, mode_t mode, struct error **err)
{
    if (mkdir(path, mode) == 0) {
        /* The umask is not asked: the mode is part of the contract. */
        if (chmod(path, mode) < 0)
            return error_set_errno(err, errno, "cannot set the mode of \"%s\"", path);
        return 0;
    }
    int sys = errno;
    struct stat st;
    if (stat(path, &st) < 0)
        return error_set_errno(err, sys, "cannot make the folder \"%s\"", path);
    if (!S_ISDIR(st.st_mode))
        return error_set(err, ERROR_EXISTS, "\"%s\" is there and is no folder", path);
    return 0;
}

int file_make_folder(const char *path, mode_t mode, struct error **err)
{
    autofree char *part = xstrdup(path);
    for (char *p = part + 1; *part && *p; p++) {
        if (*p != '/' || p[-1] == '/')
            continue;
        *p = '\0';
        int rc = make_one(part, mode, err);
        if (rc < 0)
            return rc;
        *p = '/';
    }
    return make_one(path, mode, err);
}

/* Opens a folder of the tree to be walked; parent is its descriptor. NULL with errno. */
static DIR *open_folder(int parent, const char *name)
{
    autoclose int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return NULL;
    DIR *dir = fdopendir(fd);
    if (dir)
        fd = -1;
    return dir;
}

static void close_folder(DIR *dir)
{
    int saved = errno;
    closedir(dir);
    errno = saved;
}
AUTO_DEFINE(dir, DIR *, close_folder);

static bool is_dots(const char *name)
{
    return !strcmp(name, ".") || !strcmp(name, "..");
}

/* Removes what is in a folder and the folder. path is its full name, for messages. */
static int remove_folder(int parent, const char *name, const char *path, dev_t device, int depth,
                         struct error **err)
{
    if (depth > TREE_DEPTH_MAX)
        return error_set(err, ERROR_LIMIT, "\"%s\" is more than %d folders deep", path, TREE_DEPTH_MAX);
    auto(dir) DIR *dir = open_folder(parent, name);
    if (!dir)
        return error_set_errno(err, errno, "cannot open the folder \"%s\"", path);
    for (;;) {
        errno = 0;
        struct dirent *entry = readdir(dir);
        if (!entry && errno)
            return error_set_errno(err, errno, "cannot read the folder \"%s\"", path);
        if (!entry)
            break;
        if (is_dots(entry->d_name))
            continue;
        struct stat st;
        if (fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0) {
            if (errno == ENOENT)
                continue;
            return error_set_errno(err, errno, "cannot look at \"%s/%s\"", path, entry->d_name);
        }
        autofree char *inner = file_join(path, entry->d_name);
        if (S_ISDIR(st.st_mode)) {
            /* Something mounted in there is not ours to empty. */
            if (st.st_dev != device)
                return error_set(err, ERROR_BUSY, "\"%s\" is mounted: unmount it first", inner);
            int rc = remove_folder(dirfd(dir), entry->d_name, inner, device, depth + 1, err);
            if (rc < 0)
                return rc;
        } else if (unlinkat(dirfd(dir), entry->d_name, 0) < 0 && errno != ENOENT) {
            return error_set_errno(err, errno, "cannot remove \"%s\"", inner);
        }
    }
    if (unlinkat(parent, name, AT_REMOVEDIR) < 0 && errno != ENOENT)
        return error_set_errno(err, errno, "cannot remove the folder \"%s\"", path);
    return 0;
}

int file_remove_tree(const char *path, struct error **err)
{
    struct stat st;
    if (lstat(path, &st) < 0)
        return errno == ENOENT ? 0 : error_set_errno(err, errno, "cannot look at \"%s\"", path);
    if (S_ISDIR(st.st_mode))
        return remove_folder(AT_FDCWD, path, path, st.st_dev, 0, err);
    if (unlink(path) < 0 && errno != ENOENT)
        return error_set_errno(err, errno, "cannot remove \"%s\"", path);
    return 0;
}

bool file_exists(const char *path)
{
    return access(path, F_OK) == 0;
}

/* Sum of a folder's content; what cannot be read counts as nothing. */
static uint64_t usage_at(int parent, const char *name, int depth)
{
    struct stat st;
    if (fstatat(parent, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return 0;
    uint64_t sum = (uint64_t)st.st_blocks * 512;
    if (!S_ISDIR(st.st_mode) || depth > TREE_DEPTH_MAX)
        return sum;
    auto(dir) DIR *dir = open_folder(parent, name);
    if (!dir)
        return sum;
    for (struct dirent *entry; (entry = readdir(dir));)
        if (!is_dots(entry->d_name))
            sum += usage_at(dirfd(dir), entry->d_name, depth + 1);
    return sum;
}

uint64_t file_disk_usage(const char *path)
{
    return usage_at(AT_FDCWD, path, 0);
}

int file_free_space(const char *path, uint64_t *ret_bytes, struct error **err)
{
    struct statvfs st;
    if (statvfs(path, &st) < 0)
        return error_set_errno(err, errno, "cannot ask for the free space at \"%s\"", path);
    *ret_bytes = (uint64_t)st.f_bavail * st.f_frsize;
    return 0;
}

char *file_join(const char *folder, const char *name)
{
    size_t len = strlen(folder);
    return xasprintf("%s%s%s", folder, len && folder[len - 1] == '/' ? "" : "/", name);
}
