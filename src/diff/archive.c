#include "diff/archive.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/text.h"
#include "diff/tree.h"

#include <string.h>
#include <sys/stat.h>

#define BLOCK          512
#define NAME_FIELD     100
#define USTAR_SIZE_MAX 077777777777ULL

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

static void octal(char *field, size_t size, uint64_t value)
{
    field[size - 1] = '\0';
    for (size_t i = size - 1; i-- > 0; value >>= 3)
        field[i] = (char)('0' + (value & 7));
}

static int put_head(struct archive *archive, const char *name, const char *target, char type, uint32_t mode,
                    uint64_t size, int64_t mtime, struct error **err)
{
    char head[BLOCK] = {0};
    unsigned sum = 0;

    memcpy(head, name, strnlen(name, NAME_FIELD));
    octal(head + 100, 8, mode & 0777);
    octal(head + 108, 8, 0);
    octal(head + 116, 8, 0);
    octal(head + 124, 12, size > USTAR_SIZE_MAX ? 0 : size);
    octal(head + 136, 12, mtime < 0 ? 0 : (uint64_t)mtime & USTAR_SIZE_MAX);
    memset(head + 148, ' ', 8);
    head[156] = type;
    if (target)
        memcpy(head + 157, target, strnlen(target, NAME_FIELD));
    memcpy(head + 257, "ustar\00000", 8);
    for (size_t i = 0; i < BLOCK; i++)
        sum += (unsigned char)head[i];
    octal(head + 148, 7, sum);
    return sink_write(archive->sink, head, sizeof(head), err);
}

static int pad(struct archive *archive, uint64_t size, struct error **err)
{
    static const char zeros[BLOCK];
    return size % BLOCK ? sink_write(archive->sink, zeros, BLOCK - (size_t)(size % BLOCK), err) : 0;
}

/* One record "LEN key=value\n"; LEN counts itself. */
static void add_record(struct buf *body, const char *key, const char *value)
{
    size_t rest = strlen(key) + strlen(value) + 3, total = rest + 1;

    while (rest + (size_t)snprintf(NULL, 0, "%zu", total) != total)
        total = rest + (size_t)snprintf(NULL, 0, "%zu", total);
    require(buf_printf(body, NULL, "%zu %s=%s\n", total, key, value) == 0);
}

static int put_entry(struct archive *archive, const char *path, const char *target, char type,
                     const struct node *node, struct error **err)
{
    uint64_t size = type == '0' ? node->size : 0;
    int64_t mtime = node->mtime_ns / 1000000000;
    char digits[24];
    struct buf pax;
    int rc = 0;

    if (++archive->entries > ARCHIVE_ENTRIES_MAX)
        return error_set(err, ERROR_LIMIT, "it is more than %u entries", ARCHIVE_ENTRIES_MAX);
    buf_init(&pax, 0);
    if (strlen(path) > NAME_FIELD)
        add_record(&pax, "path", path);
    if (target && strlen(target) > NAME_FIELD)
        add_record(&pax, "linkpath", target);
    snprintf(digits, sizeof(digits), "%llu", (unsigned long long)size);
    if (size > USTAR_SIZE_MAX)
        add_record(&pax, "size", digits);
    if (pax.len > 0) {
        rc = put_head(archive, "pax", NULL, 'x', 0644, pax.len, mtime, err);
        if (rc == 0)
            rc = sink_write(archive->sink, buf_data(&pax), pax.len, err);
        if (rc == 0)
            rc = pad(archive, pax.len, err);
    }
    buf_finish(&pax);
    return rc < 0 ? rc : put_head(archive, path, target, type, node->mode, size, mtime, err);
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
    static const char end[2 * BLOCK];
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
