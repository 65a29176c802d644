/* One commit of some files and hunks of a branch. */
#include "review/review.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/text.h"
#include "review/diff.h"

#include <string.h>

#define CONTEXT_LINES 3 /* as the hunks were numbered when they were shown */
#define AUTHORS_MAX   16
#define MESSAGE_MAX   (256u << 10)

static bool is_picked(const struct review_pick *pick, size_t hunk)
{
    for (size_t i = 0; i < pick->hunk_count; i++)
        if (pick->hunks[i] == hunk)
            return true;
    return false;
}

/* Appends lines of `old` from *at until line `until` (from 1) is next. */
static void copy_lines(struct buf *out, const char *old, size_t len, size_t *at, size_t *line, size_t until)
{
    while (*line < until && *at < len) {
        const char *end = memchr(old + *at, '\n', len - *at);
        size_t n = end ? (size_t)(end - (old + *at)) + 1 : len - *at;
        buf_append(out, old + *at, n, NULL);
        *at += n;
        (*line)++;
    }
}

/* One hunk: its new lines, or, if it was not picked, its old ones. */
static void add_hunk(struct buf *out, git_patch *patch, size_t number, bool picked)
{
    int lines = git_patch_num_lines_in_hunk(patch, number);
    char leave = picked ? GIT_DIFF_LINE_DELETION : GIT_DIFF_LINE_ADDITION;

    for (int l = 0; l < lines; l++) {
        const git_diff_line *line;
        if (git_patch_get_line_in_hunk(&line, patch, number, (size_t)l) < 0)
            continue;
        bool text = line->origin == GIT_DIFF_LINE_CONTEXT || line->origin == GIT_DIFF_LINE_ADDITION ||
                    line->origin == GIT_DIFF_LINE_DELETION;
        if (text && line->origin != leave)
            buf_append(out, line->content, line->content_len, NULL);
    }
}

/* The file with the picked hunks alone. */
static int apply_hunks(struct objects *objects, const struct change *change, const struct review_pick *pick,
                       git_oid *ret_id, struct error **err)
{
    struct content content = {0};
    struct buf out;
    size_t at = 0;
    size_t line = 1;

    int rc = content_compare(objects, change, CONTEXT_LINES, &content, err);
    if (rc < 0)
        return rc;
    size_t hunks = content.patch && !content.binary ? git_patch_num_hunks(content.patch) : 0;
    if (hunks == 0 || !mode_is_file(change->old_mode) || !mode_is_file(change->new_mode))
        rc = error_set(err, ERROR_INVALID, "'%s' has no hunks to choose from: take it whole", pick->path);
    for (size_t i = 0; rc == 0 && i < pick->hunk_count; i++)
        if (pick->hunks[i] >= hunks)
            rc = error_set(err, ERROR_NOT_FOUND, "'%s' has %zu hunks, and no hunk %u", pick->path, hunks,
                           pick->hunks[i] + 1);
    buf_init(&out, 0);
    if (rc == 0) {
        const char *old = git_odb_object_data(content.before);
        size_t len = git_odb_object_size(content.before);
        for (size_t h = 0; h < hunks; h++) {
            const git_diff_hunk *hunk;
            require(git_patch_get_hunk(&hunk, NULL, content.patch, h) == 0);
            /* a hunk without old lines stands behind the line that it names */
            size_t start = (size_t)hunk->old_start + (hunk->old_lines == 0);
            copy_lines(&out, old, len, &at, &line, start);
            add_hunk(&out, content.patch, h, is_picked(pick, h));
            struct buf skipped;
            buf_init(&skipped, 0);
            copy_lines(&skipped, old, len, &at, &line, line + (size_t)hunk->old_lines);
            buf_finish(&skipped);
        }
        copy_lines(&out, old, len, &at, &line, SIZE_MAX);
        int git = git_odb_write(ret_id, objects->odb, buf_data(&out), out.len, GIT_OBJECT_BLOB);
        if (git < 0)
            rc = objects_error(err, git, "cannot write '%s'", pick->path);
    }
    buf_finish(&out);
    content_finish(&content);
    return rc;
}

static git_filemode_t filemode(uint32_t mode)
{
    return mode_is_link(mode)     ? GIT_FILEMODE_LINK
           : mode_is_module(mode) ? GIT_FILEMODE_COMMIT
           : mode_runs(mode)      ? GIT_FILEMODE_BLOB_EXECUTABLE
                                  : GIT_FILEMODE_BLOB;
}

/* Adds what one pick changes to the list of updates. */
static int add_pick(struct objects *objects, struct comparison *comparison, const struct review_pick *pick,
                    git_tree_update *updates, size_t *count, struct error **err)
{
    struct change *change = NULL;
    git_oid id;
    int rc = comparison_find(comparison, pick->path, &change, err);

    if (rc < 0)
        return rc;
    if (change->picked) {
        rc = error_set(err, ERROR_INVALID, "'%s' is named twice", pick->path);
        error_hint(err, "name its hunks together: PATH:2,4-6");
        return rc;
    }
    change->picked = true;
    id = change->new_id;
    if (pick->hunks)
        rc = apply_hunks(objects, change, pick, &id, err);
    if (rc < 0)
        return rc;
    if (change->old_path)
        updates[(*count)++] = (git_tree_update){.action = GIT_TREE_UPDATE_REMOVE, .path = change->old_path};
    if (!change->new_mode)
        updates[(*count)++] = (git_tree_update){.action = GIT_TREE_UPDATE_REMOVE, .path = change->path};
    else
        updates[(*count)++] = (git_tree_update){.action = GIT_TREE_UPDATE_UPSERT,
                                                .id = id,
                                                .filemode = filemode(change->new_mode),
                                                .path = change->path};
    return 0;
}

static int make_tree(struct objects *objects, struct comparison *comparison, const struct review_pick *picks,
                     size_t count, git_oid *ret_tree, struct error **err)
{
    auto(git_commit) git_commit *base = NULL;
    auto(git_tree) git_tree *before = NULL;
    git_oid empty;
    git_tree_update *updates = xnewn(git_tree_update, 2 * count + 1);
    size_t n = 0;
    int rc = 0;
    int git = 0;

    if (comparison->range.has_base) {
        rc = objects_commit(objects, &comparison->range.base, &base, err);
        if (rc == 0)
            rc = objects_tree(objects, git_commit_tree_id(base), &before, err);
    } else {
        git = git_odb_write(&empty, objects->odb, "", 0, GIT_OBJECT_TREE);
        if (git == 0)
            git = git_tree_lookup(&before, objects->repo, &empty);
    }
    for (size_t i = 0; rc == 0 && git == 0 && i < count; i++)
        rc = add_pick(objects, comparison, &picks[i], updates, &n, err);
    if (rc == 0 && git == 0)
        git = git_tree_create_updated(ret_tree, objects->repo, before, n, updates);
    free(updates);
    if (rc < 0 || git == 0)
        return rc;
    /* a file in the place of a folder that is not given up, or below one that is: libgit2 wants all or none
     */
    auto(error) struct error *why = NULL;
    objects_error(&why, git, "these files cannot be put together without others");
    rc = error_set(err, ERROR_INVALID, "%s", why->message);
    error_hint(err, "a file and a folder change places in it: land the whole branch");
    return rc;
}

/* Appends "Co-authored-by" for the authors of the branch who are not the author of the commit. */
static void name_authors(struct objects *objects, const struct range *range, const git_signature *author,
                         struct buf *message)
{
    char *known[AUTHORS_MAX] = {0};
    size_t count = 0;

    for (size_t i = 0; i < range->count && count < AUTHORS_MAX; i++) {
        auto(git_commit) git_commit *commit = NULL;
        if (objects_commit(objects, &range->commits[i], &commit, NULL) < 0)
            continue;
        const git_signature *who = git_commit_author(commit);
        bool seen = !who || !strcmp(who->email, author->email);
        for (size_t k = 0; !seen && k < count; k++)
            seen = !strcmp(known[k], who->email);
        if (seen)
            continue;
        autofree char *name = text_safe(who->name);
        autofree char *mail = text_safe(who->email);
        buf_printf(message, NULL, "%sCo-authored-by: %s <%s>\n", count ? "" : "\n", name, mail);
        known[count++] = xstrdup(who->email);
    }
    for (size_t k = 0; k < count; k++)
        free(known[k]);
}

/* The message without control characters, ended by one newline. */
static void set_message(struct buf *message, const char *words)
{
    struct text text;

    text_init(&text, words, strlen(words), MESSAGE_MAX, TEXT_KEEP_NEWLINES);
    while (text.len > 0 && text.bytes[text.len - 1] == '\n')
        text.len--;
    buf_append(message, text.bytes, text.len, NULL);
    buf_append(message, "\n", 1, NULL);
    text_finish(&text);
}

static int write_commit(struct objects *objects, const struct range *range, const git_oid *tree_id,
                        const struct review_identity *committer, const char *message, git_oid *ret_id,
                        struct error **err)
{
    auto(git_commit) git_commit *tip = NULL;
    auto(git_commit) git_commit *base = NULL;
    auto(git_tree) git_tree *tree = NULL;
    git_signature *user = NULL;
    struct buf words;

    int rc = objects_commit(objects, &range->tip, &tip, err);
    if (rc == 0 && range->has_base)
        rc = objects_commit(objects, &range->base, &base, err);
    if (rc == 0)
        rc = objects_tree(objects, tree_id, &tree, err);
    if (rc < 0)
        return rc;
    buf_init(&words, 0);
    const git_signature *author = git_commit_author(tip);
    set_message(&words, message && *message ? message : git_commit_message(tip));
    name_authors(objects, range, author, &words);
    autofree char *text = buf_take_string(&words);
    const git_commit *parents[] = {base};
    int git = git_signature_now(&user, committer->name, committer->mail);
    if (git == 0)
        git = git_commit_create(ret_id, objects->repo, NULL, author, user, NULL, text, tree, base ? 1 : 0,
                                base ? (void *)parents : NULL);
    git_signature_free(user);
    buf_finish(&words);
    return git < 0 ? objects_error(err, git, "cannot write the commit") : 0;
}

int review_commit_picks(const char *quarantine, const char *tip_hex, const struct review_pick *picks,
                        size_t count, const struct review_identity *committer, const char *message,
                        char ret_hex[REVIEW_HEX_SIZE], struct error **err)
{
    auto(objects) struct objects *objects = NULL;
    struct comparison comparison = {0};
    git_oid tree;
    git_oid id;

    int rc = objects_open(quarantine, &objects, err);
    if (rc == 0)
        rc = comparison_make(objects, tip_hex, &comparison, err);
    if (rc == 0)
        rc = make_tree(objects, &comparison, picks, count, &tree, err);
    if (rc == 0)
        rc = write_commit(objects, &comparison.range, &tree, committer, message, &id, err);
    if (rc == 0)
        git_oid_tostr(ret_hex, REVIEW_HEX_SIZE, &id);
    comparison_finish(&comparison);
    return rc;
}
