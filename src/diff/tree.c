#include "diff/tree.h"

#include "base/alloc.h"

#include <string.h>

struct branch {
    uint32_t inode, parent; /* inode 0: free */
    char *name;
};
struct tree {
    struct volume *volume;
    struct branch *branches;
    size_t room, count; /* room: a power of two */
};

struct tree *tree_create(struct volume *volume)
{
    struct tree *tree = xnew(struct tree);

    tree->volume = volume;
    tree->room = 1024;
    tree->branches = xnewn(struct branch, tree->room);
    return tree;
}

void tree_free(struct tree *tree)
{
    for (size_t i = 0; i < tree->room; i++)
        free(tree->branches[i].name);
    free(tree->branches);
    free(tree);
}

static struct branch *branch_of(const struct tree *tree, uint32_t inode)
{
    size_t i = (size_t)(inode * 0x9e3779b1U) & (tree->room - 1);
    while (tree->branches[i].inode != 0 && tree->branches[i].inode != inode)
        i = (i + 1) & (tree->room - 1);
    return &tree->branches[i];
}

static void grow(struct tree *tree)
{
    struct branch *old = tree->branches;
    size_t room = tree->room;

    tree->room *= 2;
    tree->branches = xnewn(struct branch, tree->room);
    for (size_t i = 0; i < room; i++)
        if (old[i].inode)
            *branch_of(tree, old[i].inode) = old[i];
    free(old);
}

void tree_learn(struct tree *tree, uint32_t folder, const struct listing *listing)
{
    for (size_t i = 0; i < listing->count; i++) {
        const struct entry *entry = &listing->items[i];
        if (!entry->folder || entry->inode == VOLUME_ROOT)
            continue;
        struct branch *branch = branch_of(tree, entry->inode);
        if (branch->inode) /* a folder has one name; a second one is a lie */
            continue;
        *branch = (struct branch){
            .inode = entry->inode, .parent = folder, .name = xstrndup(entry->name, entry->len)};
        if (++tree->count * 2 > tree->room)
            grow(tree);
    }
}

/* The branch that a folder is on. */
static int find(struct tree *tree, uint32_t folder, const struct branch **ret, struct error **err)
{
    struct listing listing;

    const struct branch *branch = branch_of(tree, folder);
    if (branch->inode) {
        *ret = branch;
        return 0;
    }
    int rc = volume_list(tree->volume, folder, &listing, err);
    if (rc < 0)
        return rc;
    uint32_t parent = listing.parent;
    listing_finish(&listing);
    rc = parent ? volume_list(tree->volume, parent, &listing, err) : 0;
    if (rc < 0)
        return error_prefix(err, "the folder with inode %u", folder);
    if (parent) {
        tree_learn(tree, parent, &listing);
        listing_finish(&listing);
    }
    branch = branch_of(tree, folder);
    if (!branch->inode)
        return error_set(err, ERROR_CORRUPT, "the folder with inode %u is not in the one that it names (%u)",
                         folder, parent);
    *ret = branch;
    return 0;
}

char *tree_join(const char *folder, const char *name)
{
    return xasprintf("%s/%s", folder[1] ? folder : "", name);
}

int tree_path(struct tree *tree, uint32_t folder, char **ret_path, struct error **err)
{
    autofree char *path = xstrdup("");
    uint32_t inode = folder;

    for (int depth = 0; inode != VOLUME_ROOT; depth++) {
        const struct branch *branch = NULL;
        if (depth == DIFF_DEPTH_MAX)
            return error_set(err, ERROR_LIMIT,
                             "the folder with inode %u is more than %u deep, or in a circle of folders",
                             folder, DIFF_DEPTH_MAX);
        int rc = find(tree, inode, &branch, err);
        if (rc < 0)
            return rc;
        char *longer = xasprintf("/%s%s", branch->name, path);
        inode = branch->parent;
        free(path);
        path = longer;
    }
    if (strlen(path) > DIFF_PATH_MAX)
        return error_set(err, ERROR_LIMIT, "the path of the folder with inode %u has more than %u bytes",
                         folder, DIFF_PATH_MAX);
    *ret_path = *path ? steal(&path) : xstrdup("/");
    return 0;
}
