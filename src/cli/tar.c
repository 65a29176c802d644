#include "cli/tar.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/text.h"
#include "base/words.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define CHUNK 65536

/* One open folder on the way down. */
struct level {
    DIR *dir;
    size_t path_len; /* of its own path in the archive */
};

struct tar {
    struct level levels[TAR_DEPTH_MAX];
    size_t depth;
    char path[TAR_PATH_MAX + 1]; /* of the present entry */
    bool started, ended;
    int file;      /* the file whose bytes go out, or -1 (then zeros) */
    uint64_t left; /* of its size */
    unsigned pad;
    struct buf out;
    tar_note_fn note;
    void *user;
    size_t skipped;
    uint64_t bytes;
};

/* Counts and tells what is left out. */
static void skip(struct tar *tar, const char *path, const char *why)
{
    tar->skipped++;
    autofree char *safe = text_safe(path);
    autofree char *text = xasprintf("\"%s\": %s", safe, why);
    if (tar->note)
        tar->note(text, tar->user);
}

int tar_create(const char *path, const char *name, tar_note_fn note, void *user, struct tar **ret_tar,
               struct error **err)
{
    if (strlen(name) > TAR_PATH_MAX / 2)
        return error_set(err, ERROR_LIMIT, _("a name longer than %d bytes"), TAR_PATH_MAX / 2);
    autoclose int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) {
        int sys = errno;
        autofree char *safe = text_safe(path);
        return error_set_errno(err, sys, _("cannot open \"%s\""), safe);
    }
    DIR *dir = fdopendir(fd);
    if (!dir)
        return error_set_errno(err, errno, _("cannot read a folder"));
    steal_fd(&fd);
    struct tar *tar = xnew(struct tar);
    tar->file = -1;
    tar->note = note;
    tar->user = user;
    buf_init(&tar->out, 0);
    memcpy(tar->path, name, strlen(name) + 1);
    tar->levels[0] = (struct level){.dir = dir, .path_len = strlen(name)};
    tar->depth = 1;
    *ret_tar = tar;
    return 0;
}

void tar_free(struct tar *tar)
{
    if (!tar)
        return;
    while (tar->depth > 0)
        closedir(tar->levels[--tar->depth].dir);
    if (tar->file >= 0)
        close(tar->file);
    buf_finish(&tar->out);
    free(tar);
}

size_t tar_skipped(const struct tar *tar)
{
    return tar->skipped;
}

uint64_t tar_bytes(const struct tar *tar)
{
    return tar->bytes;
}

/* A folder inside the present one: its entry, and down. */
static void enter_folder(struct tar *tar, const char *name)
{
    size_t len = strlen(tar->path);
    if (tar->depth == TAR_DEPTH_MAX || len + 1 > TAR_PATH_MAX) {
        skip(tar, tar->path, _("left out, too many folders deep"));
        return;
    }
    int fd =
        openat(dirfd(tar->levels[tar->depth - 1].dir), name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct stat st;
    DIR *dir = fd >= 0 && fstat(fd, &st) == 0 ? fdopendir(fd) : NULL;
    if (!dir) {
        skip(tar, tar->path, strerror(errno));
        if (fd >= 0)
            close(fd);
        return;
    }
    tar->levels[tar->depth++] = (struct level){.dir = dir, .path_len = len};
    autofree char *entry = xasprintf("%s/", tar->path);
    tar_head_append(&tar->out, entry, NULL, '5', st.st_mode, 0, st.st_mtime);
}

/* A regular file: its head; its bytes follow from tar_next. */
static void begin_file(struct tar *tar, const char *name)
{
    /* O_NONBLOCK: what was a file a moment ago may be a FIFO now, and must not hang us. */
    int fd =
        openat(dirfd(tar->levels[tar->depth - 1].dir), name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    struct stat st;
    if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
        skip(tar, tar->path, fd < 0 ? strerror(errno) : _("left out, it changed while it was read"));
        if (fd >= 0)
            close(fd);
        return;
    }
    tar_head_append(&tar->out, tar->path, NULL, '0', st.st_mode, (uint64_t)st.st_size, st.st_mtime);
    tar->file = fd;
    tar->left = (uint64_t)st.st_size;
    tar->pad = (TAR_BLOCK - tar->left % TAR_BLOCK) % TAR_BLOCK;
}

static void put_link(struct tar *tar, const char *name, const struct stat *st)
{
    char target[TAR_PATH_MAX + 1];
    ssize_t n = readlinkat(dirfd(tar->levels[tar->depth - 1].dir), name, target, sizeof(target));
    if (n < 0 || (size_t)n == sizeof(target)) {
        skip(tar, tar->path, n < 0 ? strerror(errno) : _("left out, its target is too long"));
        return;
    }
    target[n] = '\0';
    tar_head_append(&tar->out, tar->path, target, '2', st->st_mode, 0, st->st_mtime);
}

/* The next name in the present folder. */
static void put_child(struct tar *tar, const char *name)
{
    size_t base = tar->levels[tar->depth - 1].path_len;
    size_t len = strlen(name);
    if (base + 1 + len > TAR_PATH_MAX) {
        skip(tar, name, _("left out, its path is too long"));
        return;
    }
    tar->path[base] = '/';
    memcpy(tar->path + base + 1, name, len + 1);
    struct stat st;
    if (fstatat(dirfd(tar->levels[tar->depth - 1].dir), name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        skip(tar, tar->path, strerror(errno));
    else if (S_ISDIR(st.st_mode))
        enter_folder(tar, name);
    else if (S_ISREG(st.st_mode))
        begin_file(tar, name);
    else if (S_ISLNK(st.st_mode))
        put_link(tar, name, &st);
    else
        skip(tar, tar->path,
             S_ISFIFO(st.st_mode) ? _("left out, a FIFO") : _("left out, neither file, folder nor link"));
}

/* One step of the walk: an entry, or one level up. */
static void walk(struct tar *tar)
{
    struct level *level = &tar->levels[tar->depth - 1];
    if (!tar->started) {
        struct stat st = {.st_mode = 0755};
        fstat(dirfd(level->dir), &st);
        autofree char *entry = xasprintf("%s/", tar->path);
        tar_head_append(&tar->out, entry, NULL, '5', st.st_mode, 0, st.st_mtime);
        tar->started = true;
        return;
    }
    tar->path[level->path_len] = '\0';
    errno = 0;
    const struct dirent *item = readdir(level->dir);
    if (!item) {
        if (errno)
            skip(tar, tar->path, strerror(errno));
        closedir(level->dir);
        tar->depth--;
    } else if (strcmp(item->d_name, ".") != 0 && strcmp(item->d_name, "..") != 0) {
        put_child(tar, item->d_name);
    }
}

/* The next bytes of the present file into out; zeros when it ended too early. */
static void put_bytes(struct tar *tar)
{
    size_t want = tar->left < CHUNK ? (size_t)tar->left : CHUNK;
    uint8_t *room = buf_reserve(&tar->out, want);
    require(room);
    ssize_t n = tar->file >= 0 ? read(tar->file, room, want) : 0;
    if (n < 0 && errno == EINTR)
        return;
    if (n <= 0 && tar->file >= 0) {
        skip(tar, tar->path, n < 0 ? strerror(errno) : _("it became shorter while it was read"));
        close(steal_fd(&tar->file));
    }
    if (n <= 0) {
        memset(room, 0, want);
        n = (ssize_t)want;
    }
    buf_commit(&tar->out, (size_t)n);
    tar->left -= (uint64_t)n;
    tar->bytes += (uint64_t)n;
}

/* The end of a file: fills its last block. */
static void end_file(struct tar *tar)
{
    tar_head_pad(&tar->out, TAR_BLOCK - tar->pad);
    tar->pad = 0;
    if (tar->file >= 0)
        close(steal_fd(&tar->file));
}

void tar_next(struct tar *tar, const uint8_t **ret_data, size_t *ret_len)
{
    static const char zeros[2 * TAR_BLOCK];
    buf_consume(&tar->out, tar->out.len);
    while (tar->out.len == 0 && !tar->ended) {
        if (tar->left > 0) {
            put_bytes(tar);
        } else if (tar->file >= 0 || tar->pad) {
            end_file(tar);
        } else if (tar->depth > 0) {
            walk(tar);
        } else {
            require(buf_append(&tar->out, zeros, sizeof(zeros), NULL) == 0);
            tar->ended = true;
        }
    }
    *ret_data = buf_data(&tar->out);
    *ret_len = tar->out.len;
}
