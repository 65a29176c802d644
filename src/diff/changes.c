#include "diff/changes.h"

#include "base/alloc.h"
#include "diff/changes_internal.h"

#include <string.h>
#include <sys/stat.h>

const char *const change_names[CHANGE_KINDS] = {"added", "changed", "removed", "renamed"};

static int fill_side(struct volume *volume, uint32_t inode, struct change_side *ret, struct error **err)
{
    struct node node;

    if (inode == 0)
        return 0;
    int rc = volume_node(volume, inode, &node, err);
    if (rc < 0)
        return rc;
    *ret = (struct change_side){.inode = inode,
                                .mode = node.mode,
                                .uid = node.uid,
                                .gid = node.gid,
                                .size = node.size,
                                .mtime_ns = node.mtime_ns};
    if (S_ISCHR(node.mode) || S_ISBLK(node.mode)) {
        uint32_t old = node.map[0] | (uint32_t)node.map[1] << 8;
        uint32_t new = node.map[4] | (uint32_t)node.map[5] << 8 | (uint32_t)node.map[6] << 16;
        ret->device = old ? (old & 0xff00U) << 4 | (old & 0xffU)
                          : (new & 0xfff00U) << 4 | (new & 0xffU) | (new & 0xff00000U) >> 12;
    }
    return 0;
}

int finding_add(struct finding *finding, enum change_kind kind, char *path, uint32_t old, uint32_t new,
                struct error **err)
{
    struct changes *changes = &finding->changes;
    struct change change = {.kind = kind, .path = path};

    changes->total[kind]++;
    if (changes->count == DIFF_FILES_MAX) {
        changes->cut = true;
        free(path);
        return 0;
    }
    int rc = fill_side(finding->a, old, &change.old, err);
    if (rc == 0)
        rc = fill_side(finding->b, new, &change.new, err);
    if (rc < 0) {
        rc = error_prefix(err, "\"%s\"", path);
        free(path);
        return rc;
    }
    if (changes->count == finding->items_room) {
        finding->items_room = finding->items_room ? finding->items_room * 2 : 256;
        changes->items = xrealloc(changes->items, finding->items_room, sizeof(*changes->items));
    }
    changes->items[changes->count++] = change;
    return 0;
}

/* One name of a folder that is on both sides. */
static int compare_entry(struct finding *finding, const char *path, const struct entry *old,
                         const struct entry *new, struct error **err)
{
    struct pair *pair = pair_find(finding, new->inode);
    bool same = old->inode == new->inode && (!pair || pair->same);

    if (pair && pair->missing > 0)
        pair->missing--;
    if (same && (!pair || !pair->visible || pair->new_folder))
        return 0;
    return finding_add(finding, CHANGE_CHANGED, tree_join(path, new->name), old->inode, new->inode, err);
}

static int add_name(struct finding *finding, const char *path, const struct entry *new, struct error **err)
{
    struct pair *pair = pair_find(finding, new->inode);

    if (pair && pair->missing > 0)
        pair->missing--;
    return finding_add(finding, CHANGE_ADDED, tree_join(path, new->name), 0, new->inode, err);
}

/* What only one side has, and what both have. */
static int merge(struct finding *finding, const char *old_path, const struct listing *old,
                 const char *new_path, const struct listing *new, struct error **err)
{
    size_t i = 0, k = 0;
    int rc = 0;

    while (rc == 0 && (i < old->count || k < new->count)) {
        int order = i == old->count   ? 1
                    : k == new->count ? -1
                                      : strcmp(old->items[i].name, new->items[k].name);
        if (order < 0) {
            rc = finding_add(finding, CHANGE_REMOVED, tree_join(old_path, old->items[i].name),
                             old->items[i].inode, 0, err);
            i++;
        } else if (order > 0) {
            rc = add_name(finding, new_path, &new->items[k++], err);
        } else {
            rc = compare_entry(finding, new_path, &old->items[i++], &new->items[k++], err);
        }
    }
    return rc;
}

/* Lists one side of a folder and finds its path. */
static int load(struct volume *volume, struct tree *tree, uint32_t inode, struct listing *ret,
                char **ret_path, struct error **err)
{
    int rc = volume_list(volume, inode, ret, err);
    if (rc < 0)
        return rc;
    tree_learn(tree, inode, ret);
    return tree_path(tree, inode, ret_path, err);
}

static int compare_folder(struct finding *finding, const struct pair *pair, struct error **err)
{
    struct listing old = {0}, new = {0};
    static const struct listing none;
    autofree char *old_path = NULL, *new_path = NULL;
    int rc = 0;

    if (pair->old_folder)
        rc = load(finding->a, finding->tree_a, pair->inode, &old, &old_path, err);
    if (rc < 0)
        rc = error_prefix(err, "in the older state");
    else if (pair->new_folder)
        rc = load(finding->b, finding->tree_b, pair->inode, &new, &new_path, err);
    if (rc == 0 && pair->same && pair->visible)
        rc = finding_add(finding, CHANGE_CHANGED, xstrdup(new_path), pair->inode, pair->inode, err);
    if (rc == 0 && pair->same) {
        rc = merge(finding, old_path, &old, new_path, &new, err);
    } else if (rc == 0) {
        rc = merge(finding, old_path, &old, new_path, &none, err);
        if (rc == 0)
            rc = merge(finding, old_path, &none, new_path, &new, err);
    }
    listing_finish(&old);
    listing_finish(&new);
    return rc;
}

/* A name that went and one that came, of one inode: sorted by it, the one that went first. */
struct half {
    uint32_t inode;
    bool added;
    size_t index;
};

static int by_inode(const void *a, const void *b)
{
    const struct half *x = a, *y = b;
    if (x->inode != y->inode)
        return x->inode < y->inode ? -1 : 1;
    if (x->added != y->added)
        return x->added ? 1 : -1;
    return x->index < y->index ? -1 : x->index > y->index;
}

/* The one that went becomes part of the one that came; its own row is left without a path. */
static void join(struct changes *changes, size_t gone, size_t come)
{
    struct change *from = &changes->items[gone], *to = &changes->items[come];

    to->kind = CHANGE_RENAMED;
    to->from = steal(&from->path);
    to->old = from->old;
    changes->total[CHANGE_ADDED]--;
    changes->total[CHANGE_REMOVED]--;
    changes->total[CHANGE_RENAMED]++;
}

static void pair_renames(struct finding *finding)
{
    struct changes *changes = &finding->changes;
    struct half *halves = xnewn(struct half, changes->count + 1);
    size_t count = 0;

    for (size_t i = 0; i < changes->count; i++) {
        const struct change *change = &changes->items[i];
        uint32_t inode = change->kind == CHANGE_ADDED     ? change->new.inode
                         : change->kind == CHANGE_REMOVED ? change->old.inode
                                                          : 0;
        const struct pair *pair = inode ? pair_find(finding, inode) : NULL;
        if (inode && (!pair || pair->same))
            halves[count++] = (struct half){inode, change->kind == CHANGE_ADDED, i};
    }
    qsort(halves, count, sizeof(*halves), by_inode);
    for (size_t i = 0; i < count;) {
        size_t end = i, come = i;
        while (end < count && halves[end].inode == halves[i].inode)
            end++;
        while (come < end && !halves[come].added)
            come++;
        for (size_t gone = i; come < end && !halves[gone].added; gone++, come++)
            join(changes, halves[gone].index, halves[come].index);
        i = end;
    }
    free(halves);
}

static int by_path(const void *a, const void *b)
{
    return strcmp(((const struct change *)a)->path, ((const struct change *)b)->path);
}

/* A folder that took the place of another one is told by what is in it, unless its owner or mode is new. */
static bool says_nothing(const struct change *change)
{
    return change->kind == CHANGE_CHANGED &&
           change->old.inode != change->new.inode &&S_ISDIR(change->old.mode) &&
           change->old.mode == change->new.mode && change->old.uid == change->new.uid &&
           change->old.gid == change->new.gid;
}

/* What went from a path and what came to it, in folders that were made anew, is one change. */
static void join_same_path(struct changes *changes, struct change *first, struct change *second)
{
    struct change *gone = first->kind == CHANGE_REMOVED ? first : second;
    struct change *come = first->kind == CHANGE_REMOVED ? second : first;

    if (gone->kind != CHANGE_REMOVED || come->kind != CHANGE_ADDED)
        return;
    second->kind = CHANGE_CHANGED;
    second->old = gone->old;
    second->new = come->new;
    free(steal(&first->path));
    changes->total[CHANGE_ADDED]--;
    changes->total[CHANGE_REMOVED]--;
    changes->total[CHANGE_CHANGED]++;
}

/* Leaves out rows without a path. */
static void compact(struct changes *changes)
{
    size_t count = 0;

    for (size_t i = 0; i < changes->count; i++)
        if (changes->items[i].path)
            changes->items[count++] = changes->items[i];
    changes->count = count;
}

/* Sorted, without the rows that became parts of others. */
static void order(struct changes *changes)
{
    compact(changes);
    if (changes->count > 0)
        qsort(changes->items, changes->count, sizeof(*changes->items), by_path);
    for (size_t i = 1; i < changes->count; i++)
        if (by_path(&changes->items[i - 1], &changes->items[i]) == 0)
            join_same_path(changes, &changes->items[i - 1], &changes->items[i]);
    for (size_t i = 0; i < changes->count; i++)
        if (changes->items[i].path && says_nothing(&changes->items[i])) {
            free(steal(&changes->items[i].path));
            changes->total[CHANGE_CHANGED]--;
        }
    compact(changes);
}

int changes_find(struct volume *a, struct volume *b, const struct difference *where, struct changes *ret,
                 struct error **err)
{
    struct finding finding = {.a = a, .b = b};

    finding.tree_a = tree_create(a);
    finding.tree_b = tree_create(b);
    int rc = pairs_find(&finding, where, err);
    for (size_t i = 0; rc == 0 && i < finding.count; i++)
        if (finding.pairs[i].old_folder || finding.pairs[i].new_folder)
            rc = compare_folder(&finding, &finding.pairs[i], err);
    if (rc == 0)
        rc = names_find(&finding, err);
    if (rc == 0) {
        finding.changes.inodes = finding.count;
        pair_renames(&finding);
        order(&finding.changes);
        *ret = finding.changes;
    } else {
        changes_finish(&finding.changes);
    }
    tree_free(finding.tree_a);
    tree_free(finding.tree_b);
    free(finding.pairs);
    return rc;
}

void changes_finish(struct changes *changes)
{
    for (size_t i = 0; i < changes->count; i++) {
        free(changes->items[i].path);
        free(changes->items[i].from);
    }
    free(changes->items);
    *changes = (struct changes){0};
}

const struct change *changes_at(const struct changes *changes, const char *path)
{
    struct change key = {.path = (char *)(uintptr_t)path};
    return changes->count ? bsearch(&key, changes->items, changes->count, sizeof(key), by_path) : NULL;
}
