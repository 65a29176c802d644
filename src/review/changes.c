#include "review/changes.h"

#include "base/alloc.h"

#include <string.h>

struct walk {
    struct objects *objects;
    struct changes *changes;
};

static bool is_folder(const git_tree_entry *entry)
{
    return entry && git_tree_entry_filemode_raw(entry) == GIT_FILEMODE_TREE;
}

/* Whether one entry more may be looked at. */
static bool go_on(struct walk *walk)
{
    struct changes *changes = walk->changes;
    if (changes->count >= CHANGES_MAX || ++changes->entries > CHANGES_ENTRIES_MAX)
        changes->cut = true;
    return !changes->cut;
}

/* What kind of change an entry before and after is. */
static char status_of(const git_tree_entry *before, const git_tree_entry *after)
{
    if (!before)
        return 'A';
    if (!after)
        return 'D';
    uint32_t old_mode = git_tree_entry_filemode_raw(before);
    uint32_t new_mode = git_tree_entry_filemode_raw(after);
    if ((old_mode & 0170000) != (new_mode & 0170000))
        return 'T';
    return git_oid_equal(git_tree_entry_id(before), git_tree_entry_id(after)) ? 'C' : 'M';
}

/* Adds a file's change; takes path. */
static void add(struct changes *changes, char *path, const git_tree_entry *before,
                const git_tree_entry *after)
{
    if (changes->count == changes->room) {
        changes->room = changes->room ? changes->room * 2 : 64;
        changes->items = xrealloc(changes->items, changes->room, sizeof(*changes->items));
    }
    struct change *change = &changes->items[changes->count++];
    memset(change, 0, sizeof(*change));
    change->path = path;
    change->status = status_of(before, after);
    if (before) {
        change->old_mode = git_tree_entry_filemode_raw(before);
        git_oid_cpy(&change->old_id, git_tree_entry_id(before));
    }
    if (after) {
        change->new_mode = git_tree_entry_filemode_raw(after);
        git_oid_cpy(&change->new_id, git_tree_entry_id(after));
    }
}

static int compare_trees(struct walk *walk, const char *prefix, unsigned depth, git_tree *before,
                         git_tree *after, struct error **err);

/* Goes into a folder that is on one side or on both. */
static int descend(struct walk *walk, const char *path, unsigned depth, const git_tree_entry *before,
                   const git_tree_entry *after, struct error **err)
{
    auto(git_tree) git_tree *old_tree = NULL;
    auto(git_tree) git_tree *new_tree = NULL;
    int rc = 0;

    if (depth >= CHANGES_DEPTH_MAX || strlen(path) > CHANGES_PATH_MAX) {
        walk->changes->cut = true;
        return 0;
    }
    if (before)
        rc = objects_tree(walk->objects, git_tree_entry_id(before), &old_tree, err);
    if (rc == 0 && after)
        rc = objects_tree(walk->objects, git_tree_entry_id(after), &new_tree, err);
    return rc < 0 ? rc : compare_trees(walk, path, depth + 1, old_tree, new_tree, err);
}

/* One name, on one side or on both. */
static int compare_entry(struct walk *walk, const char *prefix, unsigned depth, const git_tree_entry *before,
                         const git_tree_entry *after, struct error **err)
{
    if (before && after && git_oid_equal(git_tree_entry_id(before), git_tree_entry_id(after)) &&
        git_tree_entry_filemode_raw(before) == git_tree_entry_filemode_raw(after))
        return 0;
    const char *name = git_tree_entry_name(after ? after : before);
    char *path = *prefix ? xasprintf("%s/%s", prefix, name) : xstrdup(name);
    if (!is_folder(before) && !is_folder(after)) {
        add(walk->changes, path, before, after);
        return 0;
    }
    int rc = descend(walk, path, depth, before, after, err);
    free(path);
    return rc;
}

/* Both trees are sorted in the same way, so that one step takes the lesser name or both. */
static int compare_trees(struct walk *walk, const char *prefix, unsigned depth, git_tree *before,
                         git_tree *after, struct error **err)
{
    size_t old_count = before ? git_tree_entrycount(before) : 0;
    size_t new_count = after ? git_tree_entrycount(after) : 0;
    size_t i = 0;
    size_t j = 0;
    int rc = 0;

    while (rc == 0 && (i < old_count || j < new_count) && go_on(walk)) {
        const git_tree_entry *old_entry = i < old_count ? git_tree_entry_byindex(before, i) : NULL;
        const git_tree_entry *new_entry = j < new_count ? git_tree_entry_byindex(after, j) : NULL;
        int order = !old_entry ? 1 : !new_entry ? -1 : git_tree_entry_cmp(old_entry, new_entry);
        if (order <= 0)
            i++;
        else
            old_entry = NULL;
        if (order >= 0)
            j++;
        else
            new_entry = NULL;
        rc = compare_entry(walk, prefix, depth, old_entry, new_entry, err);
    }
    return rc;
}

int changes_find(struct objects *objects, git_tree *before, git_tree *after, struct changes *ret_changes,
                 struct error **err)
{
    struct changes changes = {0};
    struct walk walk = {.objects = objects, .changes = &changes};

    int rc = compare_trees(&walk, "", 0, before, after, err);
    if (rc < 0)
        changes_finish(&changes);
    else
        *ret_changes = changes;
    return rc;
}

void changes_finish(struct changes *changes)
{
    for (size_t i = 0; i < changes->count; i++) {
        free(changes->items[i].path);
        free(changes->items[i].old_path);
    }
    free(changes->items);
    memset(changes, 0, sizeof(*changes));
}
