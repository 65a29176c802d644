#include "review/persistence.h"

#include "base/alloc.h"
#include "base/text.h"
#include "review/diff.h"
#include "review/shown.h"

#include <string.h>
#include <time.h>

#define COUNT_BYTES_MAX (128u << 20) /* of all files whose lines are counted */
#define COUNT_SECONDS   10
#define LINK_MAX        4096
#define PACKAGE_MAX     (1u << 20)

struct summary {
    struct objects *objects;
    size_t insertions, deletions;
    bool counted;
    size_t bytes;
    int64_t until;
    json_t *list;
    size_t more;
};

static int64_t now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec;
}

/* A file's content, or nothing of what is no file, too large, or beyond what may be read in all. */
static git_odb_object *content(struct summary *summary, uint32_t mode, const git_oid *id)
{
    git_odb_object *blob = NULL;

    if (!mode_is_file(mode))
        return NULL;
    if (summary->bytes > COUNT_BYTES_MAX || now_s() > summary->until ||
        objects_blob(summary->objects, id, REVIEW_BLOB_MAX, &blob, NULL) < 0) {
        summary->counted = false;
        return NULL;
    }
    summary->bytes += git_odb_object_size(blob);
    return blob;
}

/* Adds a file's inserted and deleted lines. */
static void count_lines(struct summary *summary, const struct change *change)
{
    auto(git_patch) git_patch *patch = NULL;
    git_diff_options options = GIT_DIFF_OPTIONS_INIT;
    size_t insertions = 0;
    size_t deletions = 0;

    if (git_oid_equal(&change->old_id, &change->new_id))
        return;
    auto(git_blob) git_odb_object *before = content(summary, change->old_mode, &change->old_id);
    auto(git_blob) git_odb_object *after = content(summary, change->new_mode, &change->new_id);
    if (!summary->counted || (!before && !after))
        return;
    options.context_lines = 0;
    /* buffers without a repository and without names: no driver, filter or attribute can apply */
    if (git_patch_from_buffers(&patch, before ? git_odb_object_data(before) : NULL,
                               before ? git_odb_object_size(before) : 0, NULL,
                               after ? git_odb_object_data(after) : NULL,
                               after ? git_odb_object_size(after) : 0, NULL, &options) < 0 ||
        git_patch_line_stats(NULL, &insertions, &deletions, patch) < 0) {
        summary->counted = false;
        return;
    }
    summary->insertions += insertions;
    summary->deletions += deletions;
}

static void list_add(struct summary *summary, const char *path, const char *class, const char *change,
                     json_t *target)
{
    if (json_array_size(summary->list) >= PERSISTENCE_MAX) {
        summary->more++;
        json_decref(target);
        return;
    }
    json_t *entry =
        json_pack("{s:o, s:s, s:s}", "path", shown(path, SHOWN_SUBJECT), "class", class, "change", change);
    if (target)
        json_object_set_new(entry, "target", target);
    json_array_append_new(summary->list, entry);
}

/* The part of a package.json that package managers run; NULL when it cannot be read as one. */
static json_t *scripts_of(struct summary *summary, uint32_t mode, const git_oid *id)
{
    auto(git_blob) git_odb_object *blob = NULL;

    if (!mode_is_file(mode) || objects_blob(summary->objects, id, PACKAGE_MAX, &blob, NULL) < 0)
        return NULL;
    json_t *all =
        json_loadb(git_odb_object_data(blob), git_odb_object_size(blob), JSON_REJECT_DUPLICATES, NULL);
    if (!json_is_object(all)) {
        json_decref(all);
        return NULL;
    }
    json_t *scripts = json_incref(json_object_get(all, "scripts"));
    json_decref(all);
    return scripts ? scripts : json_object();
}

/* A package.json whose scripts are the same, or that never had any, is like any other file. */
static bool scripts_same(struct summary *summary, const struct change *change)
{
    json_t *before =
        change->old_mode ? scripts_of(summary, change->old_mode, &change->old_id) : json_object();
    json_t *after = change->new_mode ? scripts_of(summary, change->new_mode, &change->new_id) : json_object();
    bool same = before && after && json_equal(before, after);

    json_decref(before);
    json_decref(after);
    return same;
}

static bool ends_with_package_json(const char *path)
{
    const char *name = strrchr(path, '/');
    return !strcmp(name ? name + 1 : path, "package.json");
}

/* Where a link leads, as safe text. */
static json_t *link_target(struct summary *summary, const git_oid *id)
{
    auto(git_blob) git_odb_object *blob = NULL;

    if (objects_blob(summary->objects, id, LINK_MAX, &blob, NULL) < 0)
        return json_string("(too long to be a link)");
    return shown_bytes(git_odb_object_data(blob), git_odb_object_size(blob), SHOWN_SUBJECT);
}

/* What the path says; a rename counts at both of its names. */
static void look_at_path(struct summary *summary, const struct change *change, const char *path,
                         const char *word)
{
    const char *class = persistence_class(path);
    struct text text;

    if (class && !(ends_with_package_json(path) && scripts_same(summary, change)))
        list_add(summary, path, class, word, NULL);
    text_init(&text, path, strlen(path), 0, TEXT_DEFAULT);
    if (text.suspicious || strpbrk(path, "\n\r\t\\"))
        list_add(summary, path, "name", word, NULL);
    text_finish(&text);
}

/* What of one change would run or steer. */
static void look_at(struct summary *summary, const struct change *change)
{
    bool renamed = change->old_path != NULL;
    const char *word = change->status == 'C'                            ? "mode"
                       : change->status == 'D'                          ? "deleted"
                       : change->status == 'A' || change->status == 'R' ? "new"
                                                                        : "changed";

    if (renamed)
        look_at_path(summary, change, change->old_path, "deleted");
    look_at_path(summary, change, change->path, word);
    if (!change->new_mode)
        return;
    if (mode_is_link(change->new_mode))
        list_add(summary, change->path, "symlink", word, link_target(summary, &change->new_id));
    if (mode_is_module(change->new_mode))
        list_add(summary, change->path, "submodule", word, NULL);
    bool known_file = mode_is_file(change->old_mode);
    if (mode_runs(change->new_mode) && !(known_file && mode_runs(change->old_mode)))
        list_add(summary, change->path, "executable", known_file ? "mode" : word, NULL);
    else if (known_file && mode_runs(change->old_mode) && mode_is_file(change->new_mode) &&
             !mode_runs(change->new_mode))
        list_add(summary, change->path, "executable", "mode", NULL);
}

/* What the branch was before: how many commits came since, and whether it was left. */
static int compare_old(struct objects *objects, const struct range *range, const char *old_hex,
                       const char *new_hex, size_t *ret_new, bool *ret_forced, struct error **err)
{
    struct range since = {0};
    git_oid old;

    *ret_new = range->count;
    *ret_forced = false;
    if (!old_hex)
        return 0;
    int rc = objects_id(old_hex, &old, err);
    if (rc == 0)
        rc = range_find(objects, new_hex, old_hex, &since, err);
    if (rc < 0)
        return rc;
    *ret_new = since.count;
    *ret_forced = !range_contains(objects, &range->tip, &old);
    range_finish(&since);
    return 0;
}

int review_summary(const char *quarantine, const char *old_hex, const char *new_hex, json_t **ret,
                   struct error **err)
{
    auto(objects) struct objects *objects = NULL;
    struct comparison comparison = {0};
    size_t new_commits = 0;
    bool forced = false;
    char base[GIT_OID_HEXSZ + 1];

    int rc = objects_open(quarantine, &objects, err);
    if (rc == 0)
        rc = comparison_make(objects, new_hex, &comparison, err);
    if (rc == 0)
        rc = compare_old(objects, &comparison.range, old_hex, new_hex, &new_commits, &forced, err);
    if (rc < 0) {
        comparison_finish(&comparison);
        return rc;
    }
    const struct range *range = &comparison.range;
    const struct changes *changes = &comparison.changes;
    struct summary summary = {
        .objects = objects, .counted = true, .until = now_s() + COUNT_SECONDS, .list = json_array()};
    bool cut = changes->cut || range->cut;
    if (cut)
        list_add(&summary, "", "unread", "new", NULL);
    for (size_t i = 0; i < changes->count; i++) {
        look_at(&summary, &changes->items[i]);
        count_lines(&summary, &changes->items[i]);
    }
    git_oid_tostr(base, sizeof(base), &range->base);
    *ret = json_pack("{s:s?, s:I, s:I, s:I, s:I, s:I, s:b, s:b, s:b, s:o, s:I}", "base",
                     range->has_base ? base : NULL, "commits", (json_int_t)range->count, "new_commits",
                     (json_int_t)new_commits, "files", (json_int_t)changes->count, "insertions",
                     (json_int_t)summary.insertions, "deletions", (json_int_t)summary.deletions, "counted",
                     summary.counted, "cut", cut, "forced", forced, "persistence", summary.list,
                     "persistence_more", (json_int_t)summary.more);
    comparison_finish(&comparison);
    return 0;
}
