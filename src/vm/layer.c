#include "vm/layer.h"

#include "base/alloc.h"
#include "base/file.h"
#include "base/spawn.h"
#include "vm/qcow2.h"
#include "vm/vm.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define QEMU_IMG_TIMEOUT_MS 60000
#define MERGE_TIMEOUT_MS    3600000 /* of a layer that holds a whole disk */

/* Runs qemu-img; a missing one is said with its package. */
static int qemu_img_within(const char *const *argv, int timeout_ms, struct error **err)
{
    struct spawn spawn = {.argv = argv, .in = -1, .out = -1, .err = -1};
    struct error *failed = NULL;
    int rc = spawn_run(&spawn, timeout_ms, 4096, NULL, &failed);
    if (rc == -ERROR_MISSING)
        error_hint(&failed, "install the package qemu-utils (qemu-img on Fedora and Arch)");
    if (rc < 0 && failed->message && strstr(failed->message, "No space left"))
        failed->code = ERROR_NO_SPACE;
    return error_move(err, &failed);
}

static int qemu_img(const char *const *argv, struct error **err)
{
    return qemu_img_within(argv, QEMU_IMG_TIMEOUT_MS, err);
}

int layer_create(const char *path, const char *backing, uint64_t size, struct error **err)
{
    struct layer_info info;
    autofree char *temporary = xasprintf("%s.new", path);
    char bytes[32];
    const char *argv[] = {"qemu-img", "create", "-q", "-f",      "qcow2", "-F", "qcow2",
                          "-b",       backing,  "--", temporary, bytes,   NULL};

    if (path[0] != '/' || backing[0] != '/')
        return error_set(err, ERROR_INVALID, "\"%s\" on \"%s\": full paths are needed", path, backing);
    int rc = layer_inspect(backing, &info, err);
    if (rc < 0)
        return error_prefix(err, "cannot make \"%s\"", path);
    uint64_t least = info.virtual_size;
    layer_info_finish(&info);
    if (size < least)
        return error_set(err, ERROR_INVALID, "a disk of %llu bytes is smaller than its base \"%s\" with %llu",
                         (unsigned long long)size, backing, (unsigned long long)least);
    snprintf(bytes, sizeof(bytes), "%llu", (unsigned long long)size);
    /* what an earlier, killed attempt left */
    if (unlink(temporary) < 0 && errno != ENOENT)
        return error_set_errno(err, errno, "cannot remove \"%s\"", temporary);
    rc = qemu_img(argv, err);
    if (rc == 0)
        rc = file_sync(temporary, err);
    if (rc == 0 && rename(temporary, path) < 0)
        rc = error_set_errno(err, errno, "cannot rename \"%s\" to \"%s\"", temporary, path);
    if (rc < 0) {
        unlink(temporary);
        return error_prefix(err, "cannot make \"%s\"", path);
    }
    autofree char *folder = xstrndup(path, (size_t)(strrchr(path, '/') - path) + 1);
    return file_sync(folder, err);
}

int layer_merge(const char *child, const char *backing, const atomic_bool *cancel, struct error **err)
{
    autofree char *temporary = xasprintf("%s.new", child);
    autofree char *folder = xstrndup(child, (size_t)(strrchr(child, '/') - child) + 1);
    const char *copy[] = {"cp", "--reflink=auto", "--sparse=always", "--", child, temporary, NULL};
    const char *rebase[] = {"qemu-img", "rebase", "-q",    "-f", "qcow2",   "-F",
                            "qcow2",    "-b",     backing, "--", temporary, NULL};
    struct spawn spawn = {.argv = copy, .in = -1, .out = -1, .err = -1};
    struct stat st;

    if (stat(child, &st) < 0)
        return error_set_errno(err, errno, "cannot read \"%s\"", child);
    if (unlink(temporary) < 0 && errno != ENOENT)
        return error_set_errno(err, errno, "cannot remove \"%s\"", temporary);
    int rc = spawn_run(&spawn, MERGE_TIMEOUT_MS, 4096, NULL, err);
    if (rc == 0 && chmod(temporary, 0600) < 0)
        rc = error_set_errno(err, errno, "cannot change \"%s\"", temporary);
    if (rc == 0 && cancel && atomic_load(cancel))
        rc = error_set(err, ERROR_CANCELLED, "cancelled");
    if (rc == 0)
        rc = qemu_img_within(rebase, MERGE_TIMEOUT_MS, err);
    if (rc == 0 && chmod(temporary, st.st_mode & 0777) < 0)
        rc = error_set_errno(err, errno, "cannot change \"%s\"", temporary);
    if (rc == 0)
        rc = file_sync(temporary, err);
    if (rc == 0 && rename(temporary, child) < 0)
        rc = error_set_errno(err, errno, "cannot rename \"%s\" to \"%s\"", temporary, child);
    if (rc < 0) {
        unlink(temporary);
        return error_prefix(err, "cannot merge what is below \"%s\" into it", child);
    }
    return file_sync(folder, err);
}

int layer_freeze(const char *path, struct error **err)
{
    autoclose int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);

    if (fd < 0)
        return error_set_errno(err, errno, "cannot open \"%s\"", path);
    if (fchmod(fd, 0444) < 0 || fsync(fd) < 0)
        return error_set_errno(err, errno, "cannot freeze \"%s\"", path);
    return 0;
}

/* A relative backing name is seen from the layer's own folder. */
static char *full_path(const char *layer, const char *backing)
{
    if (backing[0] == '/')
        return xstrdup(backing);
    return xasprintf("%.*s/%s", (int)(strrchr(layer, '/') - layer), layer, backing);
}

int layer_inspect(const char *path, struct layer_info *ret_info, struct error **err)
{
    struct qcow2_head head;
    if (path[0] != '/')
        return error_set(err, ERROR_INVALID, "\"%s\" is not a full path", path);
    int rc = qcow2_read(path, &head, err);
    if (rc < 0)
        return rc;
    *ret_info = (struct layer_info){
        .virtual_size = head.virtual_size,
        .disk_size = head.disk_size,
        .backing = head.backing[0] ? full_path(path, head.backing) : NULL,
        .dirty = head.dirty,
    };
    return 0;
}

void layer_info_finish(struct layer_info *info)
{
    free(info->backing);
    *info = (struct layer_info){0};
}

/* Whether the chain so far holds the same file (by device and inode, so that links are seen). */
static bool has_file(char *const *chain, size_t count, const char *path)
{
    struct stat a, b;
    if (stat(path, &a) < 0)
        return false;
    for (size_t i = 0; i < count; i++)
        if (stat(chain[i], &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino)
            return true;
    return false;
}

int layer_chain(const char *path, char ***ret_chain, struct error **err)
{
    char **chain = xnewn(char *, LAYER_DEPTH_MAX + 1);
    char *next = xstrdup(path);
    int rc = 0;

    for (size_t count = 0; next && rc == 0;) {
        struct layer_info info = {0};
        if (count == LAYER_DEPTH_MAX)
            rc = error_set(err, ERROR_CORRUPT, "\"%s\" has more than %d layers", path, LAYER_DEPTH_MAX);
        else if (has_file(chain, count, next))
            rc = error_set(err, ERROR_CORRUPT, "the layers of \"%s\" go round in a circle at \"%s\"", path,
                           next);
        else
            rc = layer_inspect(next, &info, err);
        if (rc == -ERROR_NOT_FOUND &&
            count > 0) { /* its own absence is not damage; that of a layer below is */
            if (err && *err)
                (*err)->code = ERROR_CORRUPT;
            rc = -ERROR_CORRUPT;
        }
        if (rc < 0)
            break;
        chain[count++] = next;
        next = steal(&info.backing);
    }
    free(next);
    if (rc < 0) {
        vm_free_chain(chain);
        return rc;
    }
    *ret_chain = chain;
    return 0;
}
