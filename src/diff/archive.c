#include "diff/archive.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/tar_head.h"
#include "base/text.h"
#include "diff/tree.h"

#include <string.h>
#include <sys/stat.h>

struct archive {
    struct volume *volume;
    struct sink *sink;
    uint64_t entries, bytes;
    unsigned depth;
};

static json_t *safe_json(const char *bytes)
{
    autofree char *safe = text_safe(bytes);
    return json_string(safe);
}

int archive_stat(struct volume *volume, const char *path, struct sink *sink, struct error **err)
{
    autofree char *target = NULL;
    const char *base = strrchr(path, '/');
    struct node node;
    uint32_t inode;

    int rc = volume_lookup(volume, path, &inode, &node, err);
    if (rc == 0 && S_ISLNK(node.mode))
        rc = volume_target(volume, inode, &node, &target, err);
    if (rc < 0)
        return rc;
    const char *type = S_ISREG(node.mode)   ? "regular"
                       : S_ISDIR(node.mode) ? "folder"
                       : S_ISLNK(node.mode) ? "link"
                                            : "other";
    json_t *line =
        json_pack("{s:o, s:s, s:i, s:I, s:I, s:I, s:I}", "name", safe_json(base ? base + 1 : path), "type",
                  type, "mode", (int)(node.mode & 07777), "uid", (json_int_t)node.uid, "gid",
                  (json_int_t)node.gid, "size", (json_int_t)node.size, "mtime_ns", (json_int_t)node.mtime_ns);
    if (target)
        json_object_set_new(line, "target", safe_json(target));
    return sink_json(sink, line, err);
}

static int put(void *user, const void *data, size_t len, struct error **err)
{
    struct archive *archive = user;

    archive->bytes += len;
    if (archive->bytes > ARCHIVE_BYTES_MAX)
        return error_set(err, ERROR_LIMIT, "it is more than %llu bytes", ARCHIVE_BYTES_MAX);
    return sink_write(archive->sink, data, len, err);
}

/* Follows links at the end of a path, as opening does. */
static int resolve(struct volume *volume, const char *path, uint32_t *ret_inode, struct node *ret_node,
                   struct error **err)
{
    autofree char *way = xstrdup(path);

    for (unsigned i = 0; i <= DIFF_LINKS_MAX; i++) {
        autofree char *target = NULL;
        int rc = volume_lookup(volume, way, ret_inode, ret_node, err);
        if (rc < 0 || !S_ISLNK(ret_node->mode))
            return rc;
        rc = volume_target(volume, *ret_inode, ret_node, &target, err);
        if (rc < 0)
            return rc;
        char *slash = strrchr(way, '/');
        char *next = target[0] == '/' || !slash ? xstrdup(target)
                                                : xasprintf("%.*s/%s", (int)(slash - way), way, target);
        free(way);
        way = next;
        if (strlen(way) > DIFF_PATH_MAX)
            break;
    }
    return error_set(err, ERROR_LIMIT, "\"%s\" goes over more than %u links", path, DIFF_LINKS_MAX);
}

int archive_file(struct volume *volume, const char *path, struct sink *sink, struct error **err)
{
    struct archive archive = {.volume = volume, .sink = sink};
    struct node node;
    uint32_t inode;

    int rc = resolve(volume, path, &inode, &node, err);
    if (rc < 0)
        return rc;
    if (!S_ISREG(node.mode))
        return error_set(err, ERROR_INVALID, "\"%s\" is no regular file", path);
    return volume_data(volume, inode, node.size, put, &archive, err);
}

/* ---- tar ---- */

static int pad(struct archive *archive, uint64_t size, struct error **err)
{
    static const char zeros[TAR_BLOCK];
    return size % TAR_BLOCK ? sink_write(archive->sink, zeros, TAR_BLOCK - (size_t)(size % TAR_BLOCK), err)
                            : 0;
}

static int put_entry(struct archive *archive, const char *path, const char *target, char type,
                     const struct node *node, struct error **err)
{
    struct buf head;

    if (++archive->entries > ARCHIVE_ENTRIES_MAX)
        return error_set(err, ERROR_LIMIT, "it is more than %u entries", ARCHIVE_ENTRIES_MAX);
    buf_init(&head, 0);
    tar_head_append(&head, path, target, type, node->mode, type == '0' ? node->size : 0,
                    node->mtime_ns / 1000000000);
    int rc = sink_write(archive->sink, buf_data(&head), head.len, err);
    buf_finish(&head);
    return rc;
}

/* A file whose data in the inode ends before its size does is filled with zeros. */
static int put_data(struct archive *archive, uint32_t inode, const struct node *node, struct error **err)
{
    static const char zeros[4096];
    uint64_t begin = archive->bytes;

    if (node->size > ARCHIVE_BYTES_MAX)
        return error_set(err, ERROR_LIMIT, "the file with inode %u has %llu bytes", inode,
                         (unsigned long long)node->size);
    int rc = volume_data(archive->volume, inode, node->size, put, archive, err);
    while (rc == 0 && archive->bytes - begin < node->size) {
        uint64_t left = node->size - (archive->bytes - begin);
        rc = put(archive, zeros, left < sizeof(zeros) ? (size_t)left : sizeof(zeros), err);
    }
    return rc < 0 ? rc : pad(archive, node->size, err);
}

static int put_folder(struct archive *archive, uint32_t inode, const struct node *node, const char *path,
                      struct error **err);

static int put_node(struct archive *archive, uint32_t inode, const char *path, struct error **err)
{
    autofree char *target = NULL;
    struct node node;

    int rc = volume_node(archive->volume, inode, &node, err);
    if (rc < 0 || node.links == 0)
        return rc;
    if (strlen(path) > DIFF_PATH_MAX)
        return error_set(err, ERROR_LIMIT, "a path in it has more than %u bytes", DIFF_PATH_MAX);
    if (S_ISDIR(node.mode))
        return put_folder(archive, inode, &node, path, err);
    if (S_ISREG(node.mode)) {
        rc = put_entry(archive, path, NULL, '0', &node, err);
        return rc < 0 ? rc : put_data(archive, inode, &node, err);
    }
    if (!S_ISLNK(node.mode))
        return 0;
    rc = volume_target(archive->volume, inode, &node, &target, err);
    return rc < 0 ? rc : put_entry(archive, path, target, '2', &node, err);
}

static int put_folder(struct archive *archive, uint32_t inode, const struct node *node, const char *path,
                      struct error **err)
{
    autofree char *entry = xasprintf("%s/", path);
    struct listing listing = {0};

    if (archive->depth == DIFF_DEPTH_MAX)
        return error_set(err, ERROR_LIMIT,
                         "the folder with inode %u is more than %u deep, or in a circle of folders", inode,
                         DIFF_DEPTH_MAX);
    int rc = put_entry(archive, entry, NULL, '5', node, err);
    if (rc == 0)
        rc = volume_list(archive->volume, inode, &listing, err);
    archive->depth++;
    for (size_t i = 0; rc == 0 && i < listing.count; i++) {
        autofree char *inner = tree_join(path, listing.items[i].name);
        rc = put_node(archive, listing.items[i].inode, inner, err);
    }
    archive->depth--;
    listing_finish(&listing);
    return rc;
}

int archive_folder(struct volume *volume, const char *path, struct sink *sink, struct error **err)
{
    static const char end[2 * TAR_BLOCK];
    struct archive archive = {.volume = volume, .sink = sink};
    size_t len = strlen(path);
    struct node node;
    uint32_t inode;

    int rc = resolve(volume, path, &inode, &node, err);
    if (rc < 0)
        return rc;
    if (!S_ISDIR(node.mode))
        return error_set(err, ERROR_INVALID, "\"%s\" is no folder", path);
    while (len > 1 && path[len - 1] == '/')
        len--;
    size_t start = len;
    while (start > 0 && path[start - 1] != '/')
        start--;
    autofree char *name = start == len ? xstrdup("root") : xstrndup(path + start, len - start);
    rc = put_folder(&archive, inode, &node, name, err);
    return rc < 0 ? rc : sink_write(sink, end, sizeof(end), err);
}
