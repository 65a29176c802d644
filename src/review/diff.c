#include "review/diff.h"

#include "base/alloc.h"
#include "base/text.h"

#include <string.h>

/* The tree of a commit. */
static int tree_of(struct objects *objects, const git_oid *id, git_tree **ret_tree, struct error **err)
{
    auto(git_commit) git_commit *commit = NULL;

    int rc = objects_commit(objects, id, &commit, err);
    return rc < 0 ? rc : objects_tree(objects, git_commit_tree_id(commit), ret_tree, err);
}

/* Compares the trees of a range; takes over the range. */
static int compare_range(struct objects *objects, const struct range *range, struct comparison *ret,
                         struct error **err)
{
    auto(git_tree) git_tree *before = NULL;
    auto(git_tree) git_tree *after = NULL;
    struct comparison comparison = {.range = *range};

    int rc = tree_of(objects, &comparison.range.tip, &after, err);
    if (rc == 0 && comparison.range.has_base)
        rc = tree_of(objects, &comparison.range.base, &before, err);
    if (rc == 0)
        rc = changes_find(objects, before, after, &comparison.changes, err);
    if (rc < 0) {
        comparison_finish(&comparison);
        return rc;
    }
    changes_pair_renames(objects, &comparison.changes);
    *ret = comparison;
    return 0;
}

int comparison_make(struct objects *objects, const char *tip_hex, struct comparison *ret, struct error **err)
{
    struct range range = {0};

    int rc = range_find(objects, tip_hex, NULL, &range, err);
    return rc < 0 ? rc : compare_range(objects, &range, ret, err);
}

int comparison_make_alone(struct objects *objects, const char *hex, struct comparison *ret,
                          struct error **err)
{
    auto(git_commit) git_commit *commit = NULL;
    struct range range = {0};
    git_oid id;

    int rc = objects_id(hex, &id, err);
    if (rc == 0)
        rc = objects_commit(objects, &id, &commit, err);
    if (rc < 0)
        return rc;
    range.tip = *git_commit_id(commit);
    range.has_base = git_commit_parentcount(commit) > 0;
    if (range.has_base)
        range.base = *git_commit_parent_id(commit, 0);
    return compare_range(objects, &range, ret, err);
}

void comparison_finish(struct comparison *comparison)
{
    for (size_t i = 0; comparison->shown && i < comparison->changes.count; i++)
        free(comparison->shown[i].path);
    free(steal(&comparison->shown));
    range_finish(&comparison->range);
    changes_finish(&comparison->changes);
}

static int compare_shown(const void *a, const void *b)
{
    return strcmp(((const struct shown_change *)a)->path, ((const struct shown_change *)b)->path);
}

static void make_index(struct comparison *comparison)
{
    size_t count = comparison->changes.count;
    struct shown_change *shown = xnewn(struct shown_change, count + 1);

    for (size_t i = 0; i < count; i++)
        shown[i] = (struct shown_change){text_safe(comparison->changes.items[i].path),
                                         &comparison->changes.items[i]};
    qsort(shown, count, sizeof(*shown), compare_shown);
    comparison->shown = shown;
}

int comparison_find(struct comparison *comparison, const char *path, struct change **ret_change,
                    struct error **err)
{
    autofree char *safe = text_safe(path);
    struct shown_change key = {.path = safe}, *hit;
    size_t count = comparison->changes.count;

    if (!comparison->shown)
        make_index(comparison);
    hit = bsearch(&key, comparison->shown, count, sizeof(key), compare_shown);
    if (!hit)
        return error_set(err, ERROR_NOT_FOUND, "'%.200s' is no file that is changed there", safe);
    if ((hit > comparison->shown && !strcmp(hit[-1].path, safe)) ||
        (hit + 1 < comparison->shown + count && !strcmp(hit[1].path, safe))) {
        int rc = error_set(err, ERROR_INVALID,
                           "more than one file is shown as '%.200s': nobody can say which is meant", safe);
        error_hint(err, "look at all of it, and land the whole branch or have them renamed");
        return rc;
    }
    *ret_change = hit->change;
    return 0;
}

/* One side: a blob of a file or link. A submodule, and what is not there, have none. */
static int read_side(struct objects *objects, uint32_t mode, const git_oid *id, struct content *content,
                     git_odb_object **ret, struct error **err)
{
    if (!mode_is_file(mode) && !mode_is_link(mode))
        return 0;
    if (objects_blob_size(objects, id) > (int64_t)REVIEW_BLOB_MAX) {
        content->too_large = true;
        return 0;
    }
    return objects_blob(objects, id, REVIEW_BLOB_MAX, ret, err);
}

int content_compare(struct objects *objects, const struct change *change, unsigned context,
                    struct content *ret, struct error **err)
{
    git_diff_options options = GIT_DIFF_OPTIONS_INIT;
    struct content content = {0};

    int rc = read_side(objects, change->old_mode, &change->old_id, &content, &content.before, err);
    if (rc == 0)
        rc = read_side(objects, change->new_mode, &change->new_id, &content, &content.after, err);
    if (rc == 0 && !content.too_large && (content.before || content.after)) {
        const git_odb_object *a = content.before;
        const git_odb_object *b = content.after;
        options.context_lines = context;
        /* buffers without a repository and without names: no driver, filter or attribute can apply */
        int git = git_patch_from_buffers(&content.patch, a ? git_odb_object_data((git_odb_object *)a) : NULL,
                                         a ? git_odb_object_size((git_odb_object *)a) : 0, NULL,
                                         b ? git_odb_object_data((git_odb_object *)b) : NULL,
                                         b ? git_odb_object_size((git_odb_object *)b) : 0, NULL, &options);
        if (git < 0)
            rc = objects_error(err, git, "cannot compare '%s'", change->path);
        else
            content.binary = (git_patch_get_delta(content.patch)->flags & GIT_DIFF_FLAG_BINARY) != 0;
    }
    if (rc < 0)
        content_finish(&content);
    else
        *ret = content;
    return rc;
}

void content_finish(struct content *content)
{
    git_patch_free(content->patch);
    git_odb_object_free(content->before);
    git_odb_object_free(content->after);
    memset(content, 0, sizeof(*content));
}
