/* A path of a volume to its inode. */
#include "base/alloc.h"
#include "base/text.h"
#include "diff/volume.h"

#include <string.h>
#include <sys/stat.h>

/* The walk along one path. */
struct way {
    struct volume *volume;
    uint32_t stack[DIFF_DEPTH_MAX]; /* the folders from the root on */
    size_t depth;
    unsigned links;
    char *rest; /* of the path, owned */
};

/* The entry of a name, else the one whose safe form it is. */
static const struct entry *find(const struct listing *listing, const char *name, size_t len)
{
    const struct entry *entry = listing_find(listing, name, len);

    for (size_t i = 0; !entry && memchr(name, '\\', len) && i < listing->count; i++) {
        autofree char *safe = text_safe(listing->items[i].name);
        if (strlen(safe) == len && memcmp(safe, name, len) == 0)
            return &listing->items[i];
    }
    return entry;
}

/* One name of a folder. ERROR_NOT_FOUND with *err unset when it is not there. */
static int find_in(struct way *way, const char *name, size_t len, uint32_t *ret_inode, struct error **err)
{
    struct listing listing;

    int rc = volume_list(way->volume, way->stack[way->depth - 1], &listing, err);
    if (rc < 0)
        return rc;
    const struct entry *entry = find(&listing, name, len);
    if (entry)
        *ret_inode = entry->inode;
    listing_finish(&listing);
    return entry ? 0 : -ERROR_NOT_FOUND;
}

/* A link in the middle of a path: its target takes its place. */
static int follow(struct way *way, uint32_t inode, const struct node *node, const char *behind,
                  struct error **err)
{
    autofree char *target = NULL;

    if (++way->links > DIFF_LINKS_MAX)
        return error_set(err, ERROR_LIMIT, "there are more than %u links on the way", DIFF_LINKS_MAX);
    int rc = volume_target(way->volume, inode, node, &target, err);
    if (rc < 0)
        return rc;
    char *rest = xasprintf("%s/%s", target, behind);
    free(way->rest);
    way->rest = rest;
    if (strlen(rest) > DIFF_PATH_MAX)
        return error_set(err, ERROR_LIMIT, "the way has more than %u bytes", DIFF_PATH_MAX);
    if (target[0] == '/')
        way->depth = 1;
    return 0;
}

/* Goes on by one part. *ret_inode: what it is, when it was the last one; 0: there are more. */
static int step(struct way *way, uint32_t *ret_inode, struct node *ret_node, struct error **err)
{
    char *part = way->rest + strspn(way->rest, "/");
    size_t len = strcspn(part, "/");
    const char *behind = part + len + strspn(part + len, "/");
    uint32_t inode = way->stack[way->depth - 1];
    int rc = 0;

    if (len == 2 && part[0] == '.' && part[1] == '.') {
        way->depth -= way->depth > 1;
        inode = way->stack[way->depth - 1];
    } else if (len > 0 && !(len == 1 && part[0] == '.')) {
        rc = find_in(way, part, len, &inode, err);
    }
    if (rc == 0)
        rc = volume_node(way->volume, inode, ret_node, err);
    if (rc == 0 && ret_node->links == 0)
        rc = error_set(err, ERROR_CORRUPT, "inode %u is not in use, but has a name", inode);
    if (rc < 0)
        return rc;
    if (!*behind) {
        *ret_inode = inode;
        return 0;
    }
    if (S_ISLNK(ret_node->mode)) {
        autofree char *kept = xstrdup(behind);
        return follow(way, inode, ret_node, kept, err);
    }
    if (!S_ISDIR(ret_node->mode))
        return -ERROR_NOT_FOUND;
    if (inode != way->stack[way->depth - 1]) {
        if (way->depth == DIFF_DEPTH_MAX)
            return error_set(err, ERROR_LIMIT, "the way has more than %u folders", DIFF_DEPTH_MAX);
        way->stack[way->depth++] = inode;
    }
    memmove(way->rest, behind, strlen(behind) + 1);
    return 0;
}

int volume_lookup(struct volume *volume, const char *path, uint32_t *ret_inode, struct node *ret_node,
                  struct error **err)
{
    struct way way = {.volume = volume, .stack = {VOLUME_ROOT}, .depth = 1, .rest = xstrdup(path)};
    struct error *failed = NULL;
    struct node node;
    uint32_t inode = 0;
    int rc = 0;

    while (rc == 0 && inode == 0)
        rc = step(&way, &inode, &node, &failed);
    free(way.rest);
    if (rc == -ERROR_NOT_FOUND && !failed)
        return error_set(err, ERROR_NOT_FOUND, "there is no \"%s\"", path);
    if (rc < 0) {
        error_move(err, &failed);
        return error_prefix(err, "\"%s\"", path);
    }
    *ret_inode = inode;
    *ret_node = node;
    return 0;
}
