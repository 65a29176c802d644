#include "guest/file_job.h"

#include "base/alloc.h"
#include "base/fd.h"
#include "base/file.h"
#include "base/text.h"
#include "base/units.h"
#include "guest/task.h"
#include "wire/json.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define PIECE      (256 * 1024)
#define COMMIT_FD  3
#define TARGET_MAX 4096
#define NAME_TRIES 16

/* error_set_errno, with the words that a person expects for a path. */
static int path_error(struct error **err, int sys, const char *verb, const char *path)
{
    if (sys == EACCES || sys == EPERM)
        return error_set(err, ERROR_DENIED, "cannot %s '%s': permission denied", verb, path);
    return error_set_errno(err, sys, "cannot %s '%s'", verb, path);
}

static bool is_utf8(const char *s)
{
    size_t len = strlen(s);
    for (size_t i = 0; i < len;) {
        int32_t code;
        size_t n = text_decode(s + i, len - i, &code);
        if (code < 0)
            return false;
        i += n;
    }
    return true;
}

/* Caller frees. */
static char *base64(const char *s)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    size_t len = strlen(s), n = 0;
    char *out = xcalloc(len / 3 * 4 + 5, 1);

    for (size_t i = 0; i < len; i += 3) {
        size_t have = len - i < 3 ? len - i : 3;
        uint32_t bits = (uint32_t)(uint8_t)s[i] << 16;
        if (have > 1)
            bits |= (uint32_t)(uint8_t)s[i + 1] << 8;
        if (have > 2)
            bits |= (uint8_t)s[i + 2];
        out[n++] = digits[bits >> 18];
        out[n++] = digits[bits >> 12 & 63];
        out[n++] = have > 1 ? digits[bits >> 6 & 63] : '=';
        out[n++] = have > 2 ? digits[bits & 63] : '=';
    }
    return out;
}

static const char *type_name(mode_t mode)
{
    return S_ISREG(mode) ? "regular" : S_ISDIR(mode) ? "folder" : S_ISLNK(mode) ? "link" : "other";
}

static json_t *describe(int folder, const char *path, const char *name, const struct stat *st)
{
    json_t *o = json_pack("{s:s, s:I, s:I, s:I, s:I, s:I}", "type", type_name(st->st_mode), "mode",
                          (json_int_t)(st->st_mode & 07777), "uid", (json_int_t)st->st_uid, "gid",
                          (json_int_t)st->st_gid, "size", (json_int_t)st->st_size, "mtime_ns",
                          (json_int_t)st->st_mtim.tv_sec * 1000000000 + st->st_mtim.tv_nsec);
    char target[TARGET_MAX];

    require(o != NULL);
    if (is_utf8(name)) {
        json_object_set_new(o, "name", json_string(name));
    } else {
        autofree char *encoded = base64(name);
        json_object_set_new(o, "name_b64", json_string(encoded));
    }
    ssize_t n = S_ISLNK(st->st_mode) ? readlinkat(folder, path, target, sizeof(target)) : -1;
    if (n >= 0)
        json_object_set_new(o, "target", json_bytes(target, (size_t)n));
    return o;
}

static int print(json_t *object, struct error **err)
{
    autofree char *text = json_text(object);
    json_decref(object);
    if (fwrite(text, 1, strlen(text), stdout) != strlen(text) || putc('\n', stdout) == EOF)
        return error_set_errno(err, errno, "cannot write the answer");
    return 0;
}

/* The last element of a path; "/" for the root. */
static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : "/";
}

static int job_stat(char **argv, struct error **err)
{
    struct stat st;
    if (lstat(argv[0], &st))
        return path_error(err, errno, "look at", argv[0]);
    return print(describe(AT_FDCWD, argv[0], base_name(argv[0]), &st), err);
}

static int job_list(char **argv, struct error **err)
{
    int fd = open(argv[0], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    int rc = dir ? 0 : path_error(err, errno, "list", argv[0]);

    for (struct dirent *entry; !rc && (errno = 0, entry = readdir(dir));) {
        struct stat st;
        if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
            continue;
        /* one that has gone meanwhile is not there any more */
        if (fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0)
            rc = print(describe(dirfd(dir), entry->d_name, entry->d_name, &st), err);
    }
    if (dir)
        closedir(dir);
    return rc;
}

/* Copies to the end of file. */
static int copy(int from, int to, const char *path, struct error **err)
{
    autofree uint8_t *piece = xcalloc(PIECE, 1);

    for (;;) {
        ssize_t n = read(from, piece, PIECE);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return path_error(err, errno, "read", path);
        if (n == 0)
            return 0;
        int rc = fd_write_all(to, piece, (size_t)n, err);
        if (rc)
            return error_prefix(err, "'%s'", path);
    }
}

static int job_read(char **argv, struct error **err)
{
    struct stat st;
    /* O_NONBLOCK: a FIFO without a writer must not hold us before it is refused */
    autoclose int fd = open(argv[0], O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

    if (fd < 0 || fstat(fd, &st))
        return path_error(err, errno, "read", argv[0]);
    if (S_ISDIR(st.st_mode)) {
        error_set(err, ERROR_INVALID, "'%s' is a folder", argv[0]);
        return error_hint(err, "copy folders with tar");
    }
    if (!S_ISREG(st.st_mode))
        return error_set(err, ERROR_INVALID, "'%s' is not a regular file but a FIFO, socket or device",
                         argv[0]);
    posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL);
    return copy(fd, 1, argv[0], err);
}

/* The folder of a path, opened; the name in it. */
static int open_folder(const char *path, int *ret_fd, const char **ret_name, struct error **err)
{
    autofree char *folder = xstrdup(path);
    char *slash = strrchr(folder, '/');

    *ret_name = path + (slash - folder) + 1;
    if (!**ret_name || !strcmp(*ret_name, ".") || !strcmp(*ret_name, ".."))
        return error_set(err, ERROR_INVALID, "'%s' does not name a file", path);
    slash[1] = '\0';
    *ret_fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return *ret_fd < 0 ? path_error(err, errno, "open the folder", folder) : 0;
}

/* A nameless file in the folder: a killed writer leaves nothing. Where the file system has none, a named one.
 */
static int open_temporary(int folder, const char *name, char **ret_temporary, struct error **err)
{
    int fd = openat(folder, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);

    for (int i = 0;
         fd < 0 && (errno == EOPNOTSUPP || errno == EISDIR || errno == ENOENT || errno == EEXIST) &&
         i < NAME_TRIES;
         i++) {
        autofree char *random = units_random_hex(6);
        autofree char *temporary = xasprintf(".%.200s.hutch-%s", name, random);
        fd = openat(folder, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (fd >= 0)
            *ret_temporary = steal(&temporary);
    }
    if (fd < 0)
        path_error(err, errno, "write", name);
    return fd;
}

/* Gives the finished file its name, over whatever has it now but a folder. */
static int put_in_place(int folder, int fd, char **temporary, const char *name, struct error **err)
{
    if (!*temporary) {
        autofree char *source = xasprintf("/proc/self/fd/%d", fd), *random = units_random_hex(6);
        *temporary = xasprintf(".%.200s.hutch-%s", name, random);
        if (linkat(AT_FDCWD, source, folder, *temporary, AT_SYMLINK_FOLLOW))
            return path_error(err, errno, "write", name);
    }
    if (renameat(folder, *temporary, folder, name)) {
        int sys = errno;
        unlinkat(folder, *temporary, 0);
        return sys == EISDIR ? error_set(err, ERROR_EXISTS, "'%s' is a folder", name)
                             : path_error(err, sys, "write", name);
    }
    fsync(folder);
    return 0;
}

static mode_t octal(const char *s)
{
    return (mode_t)strtoul(s, NULL, 8) & 07777;
}

static int job_write(char **argv, struct error **err)
{
    autoclose int folder = -1, fd = -1;
    autofree char *temporary = NULL;
    const char *name;
    struct stat st;
    char byte;

    int rc = open_folder(argv[0], &folder, &name, err);
    if (rc)
        return rc;
    if (fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode))
        return error_set(err, ERROR_EXISTS, "'%s' is a folder", argv[0]);
    fd = open_temporary(folder, name, &temporary, err);
    if (fd < 0)
        return -ERROR_IO;
    rc = copy(0, fd, argv[0], err);
    if (!rc && (fchmod(fd, octal(argv[1])) || fsync(fd)))
        rc = path_error(err, errno, "write", argv[0]);
    if (!rc && read(COMMIT_FD, &byte, 1) != 1)
        rc = error_set(err, ERROR_CANCELLED, "'%s' was not written: its bytes were cut", argv[0]);
    if (!rc)
        return put_in_place(folder, fd, &temporary, name, err);
    if (temporary)
        unlinkat(folder, temporary, 0);
    return rc;
}

static int job_folder(char **argv, struct error **err)
{
    autofree char *path = xstrdup(argv[0]);
    mode_t mode = octal(argv[1]);
    struct stat st;

    for (char *p = path + 1; p && *p;) {
        p += strspn(p, "/");
        char *end = strchr(p, '/');
        if (end)
            *end = '\0';
        if (mkdir(path, 0755) == 0) {
            if (chmod(path, mode))
                return path_error(err, errno, "set the mode of", path);
        } else if (errno != EEXIST) {
            return path_error(err, errno, "make the folder", path);
        } else if (stat(path, &st) || !S_ISDIR(st.st_mode)) {
            return error_set(err, ERROR_EXISTS, "'%s' is no folder", path);
        }
        if (end)
            *end = '/';
        p = end ? end + 1 : NULL;
    }
    return 0;
}

/* Splits a path into the folder to go to and the name in it; "/" and a path that ends in a dot element stay
 * whole. */
static void split_path(const char *path, char **ret_folder, char **ret_name)
{
    autofree char *copy = xstrdup(path);
    size_t len = strlen(copy);

    while (len > 1 && copy[len - 1] == '/')
        copy[--len] = '\0';
    char *slash = strrchr(copy, '/');
    if (!slash[1] || !strcmp(slash + 1, ".") || !strcmp(slash + 1, "..")) {
        *ret_folder = xstrdup(copy);
        *ret_name = xstrdup(".");
        return;
    }
    *ret_name = xstrdup(slash + 1);
    *slash = '\0';
    *ret_folder = xstrdup(*copy ? copy : "/");
}

/* Returns only when there is no tar. */
static int become_tar(const char *const *argv, struct error **err)
{
    execvp(argv[0], (char *const *)argv);
    error_set(err, ERROR_MISSING, "the machine cannot run 'tar': %s", strerror(errno));
    return error_hint(err, "install the package tar in the machine");
}

/* tar itself would answer for a missing path with an empty archive before it fails. */
static int job_tar_out(char **argv, struct error **err)
{
    char *folder, *name;
    struct stat st;

    if (lstat(argv[0], &st))
        return path_error(err, errno, "read", argv[0]);
    split_path(argv[0], &folder, &name);
    const char *const tar[] = {"tar", "-C", folder, "-cf", "-", "--", name, NULL};
    return become_tar(tar, err);
}

static int job_tar_in(char **argv, struct error **err)
{
    struct stat st;

    if (stat(argv[0], &st))
        return path_error(err, errno, "unpack into", argv[0]);
    if (!S_ISDIR(st.st_mode))
        return error_set(err, ERROR_EXISTS, "'%s' is no folder", argv[0]);
    const char *const tar[] = {"tar", "-C", argv[0], "-xpf", "-", NULL};
    return become_tar(tar, err);
}

static int job_remove(char **argv, struct error **err)
{
    return file_remove_tree(argv[0], err);
}

/* The new name may be taken by an empty folder only. */
static int job_rename(char **argv, struct error **err)
{
    if (rename(argv[0], argv[1]) == 0)
        return 0;
    if (errno != ENOTEMPTY && errno != EEXIST && errno != ENOTDIR)
        return path_error(err, errno, "make", argv[1]);
    error_set(err, ERROR_EXISTS, "'%s' is there already and not empty", argv[1]);
    return error_hint(err, "choose another folder, or move it away first");
}

static const struct {
    const char *name;
    int arguments;
    int (*run)(char **argv, struct error **err);
} jobs[] = {
    {"stat", 1, job_stat},     {"list", 1, job_list},       {"read", 1, job_read},
    {"write", 2, job_write},   {"folder", 2, job_folder},   {"remove", 1, job_remove},
    {"rename", 2, job_rename}, {"tar-out", 1, job_tar_out}, {"tar-in", 1, job_tar_in},
};

int file_job_main(int argc, char **argv)
{
    auto(error) struct error *err = NULL;

    for (size_t i = 0; argc > 0 && i < countof(jobs); i++) {
        if (strcmp(jobs[i].name, argv[0]) || argc != jobs[i].arguments + 1)
            continue;
        if (jobs[i].run(argv + 1, &err) ||
            (fflush(stdout) && error_set_errno(&err, errno, "cannot write the answer")))
            return task_report(err);
        return 0;
    }
    return 2;
}
