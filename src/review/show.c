/* The comparison as values for a stream of lines. */
#include "review/review.h"

#include "base/alloc.h"
#include "base/text.h"
#include "review/diff.h"
#include "review/persistence.h"
#include "review/shown.h"

#include <string.h>
#include <time.h>

#define CONTEXT_LINES 3
#define CHUNK_BYTES   24000
#define COUNT_SECONDS 10
#define LINK_SHOWN    4096

struct show {
    struct objects *objects;
    const struct review_ask *ask;
    json_t *out;
    size_t bytes; /* of lines so far */
    int64_t until;
    bool cut;
    /* the part of a hunk that is being gathered */
    json_t *lines;
    size_t chunk;
};

static int64_t now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec;
}

static json_t *mode_json(uint32_t mode)
{
    char octal[12];
    if (!mode)
        return json_null();
    snprintf(octal, sizeof(octal), "%06o", mode & 0177777);
    return json_string(octal);
}

static json_t *size_json(struct objects *objects, uint32_t mode, const git_oid *id)
{
    int64_t size = mode_is_file(mode) || mode_is_link(mode) ? objects_blob_size(objects, id) : -1;
    return size < 0 ? json_null() : json_integer(size);
}

/* Sends the lines that were gathered of a hunk. */
static void flush(struct show *show, size_t file, size_t hunk)
{
    if (!show->lines)
        return;
    json_array_append_new(show->out, json_pack("{s:I, s:I, s:o}", "file", (json_int_t)file, "hunk",
                                               (json_int_t)hunk, "lines", steal(&show->lines)));
    show->chunk = 0;
}

/* One line of a hunk: its sign, then safe text; a marker of a missing end of line is "\". */
static void show_line(struct show *show, size_t file, size_t hunk, const git_diff_line *line)
{
    struct text text;
    size_t len = line->content_len;
    char sign = line->origin;

    if (sign == GIT_DIFF_LINE_CONTEXT_EOFNL || sign == GIT_DIFF_LINE_ADD_EOFNL ||
        sign == GIT_DIFF_LINE_DEL_EOFNL) {
        sign = '\\';
        len = 0;
    }
    if (len > 0 && line->content[len - 1] == '\n')
        len--;
    text_init(&text, line->content, len, REVIEW_LINE_MAX, TEXT_KEEP_NEWLINES);
    autofree char *whole = xasprintf("%c%s", sign, text.bytes);
    if (!show->lines)
        show->lines = json_array();
    json_array_append_new(show->lines, json_string(whole));
    show->chunk += text.len + 8;
    show->bytes += text.len + 1;
    text_finish(&text);
    if (show->chunk > CHUNK_BYTES)
        flush(show, file, hunk);
    show->cut |= show->bytes > REVIEW_DIFF_MAX;
}

static int show_hunks(struct show *show, size_t file, git_patch *patch, struct error **err)
{
    size_t hunks = git_patch_num_hunks(patch);

    for (size_t h = 0; h < hunks && !show->cut; h++) {
        const git_diff_hunk *hunk;
        const git_diff_line *line;
        size_t lines;
        if (git_patch_get_hunk(&hunk, &lines, patch, h) < 0)
            return objects_error(err, -1, "cannot read a part of a comparison");
        size_t len = hunk->header_len;
        while (len > 0 && hunk->header[len - 1] == '\n')
            len--;
        struct text header;
        text_init(&header, hunk->header, len, 200, TEXT_DEFAULT);
        json_array_append_new(show->out,
                              json_pack("{s:I, s:I, s:s, s:i, s:i, s:i, s:i}", "file", (json_int_t)file,
                                        "hunk", (json_int_t)h, "header", header.bytes, "old_start",
                                        hunk->old_start, "old_lines", hunk->old_lines, "new_start",
                                        hunk->new_start, "new_lines", hunk->new_lines));
        text_finish(&header);
        for (size_t l = 0; l < lines && !show->cut; l++)
            if (git_patch_get_line_in_hunk(&line, patch, h, l) == 0)
                show_line(show, file, h, line);
        flush(show, file, h);
    }
    return 0;
}

/* What is said of a link. */
static void set_link(struct show *show, json_t *row, const struct change *change)
{
    auto(git_blob) git_odb_object *blob = NULL;

    if (!mode_is_link(change->new_mode))
        return;
    if (objects_blob(show->objects, &change->new_id, LINK_SHOWN, &blob, NULL) < 0) {
        json_object_set_new(row, "target", json_string("(too long to be a link)"));
        json_object_set_new(row, "outside", json_true());
        return;
    }
    json_object_set_new(row, "target",
                        shown_bytes(git_odb_object_data(blob), git_odb_object_size(blob), SHOWN_PATH));
    json_object_set_new(row, "outside",
                        json_boolean(review_link_leads_out(change->path, git_odb_object_data(blob),
                                                           git_odb_object_size(blob))));
}

static json_t *row_of(struct show *show, size_t file, const struct change *change)
{
    uint32_t mode = change->new_mode ? change->new_mode : change->old_mode;
    const char *kind = mode_is_module(mode) ? "submodule" : mode_is_link(mode) ? "symlink" : "file";
    char status[2] = {change->status, '\0'};
    const char *class = persistence_class(change->path);

    if (!class && change->old_path)
        class = persistence_class(change->old_path);
    json_t *row =
        json_pack("{s:I, s:o, s:o, s:s, s:o, s:o, s:o, s:o, s:s, s:s?}", "file", (json_int_t)file, "path",
                  shown(change->path, SHOWN_PATH), "old_path",
                  change->old_path ? shown(change->old_path, SHOWN_PATH) : json_null(), "status", status,
                  "old_mode", mode_json(change->old_mode), "new_mode", mode_json(change->new_mode),
                  "old_size", size_json(show->objects, change->old_mode, &change->old_id), "new_size",
                  size_json(show->objects, change->new_mode, &change->new_id), "kind", kind, "class", class);
    set_link(show, row, change);
    return row;
}

static int show_file(struct show *show, size_t file, const struct change *change, struct error **err)
{
    struct content content = {0};
    size_t insertions = 0;
    size_t deletions = 0;
    json_t *row = row_of(show, file, change);
    bool counted = now_s() <= show->until && !show->cut;
    int rc = counted ? content_compare(show->objects, change, CONTEXT_LINES, &content, err) : 0;

    json_array_append_new(show->out, row);
    if (rc < 0)
        return rc;
    counted = counted && content.patch && !content.binary;
    if (counted)
        git_patch_line_stats(NULL, &insertions, &deletions, content.patch);
    json_object_set_new(row, "binary", json_boolean(content.binary));
    json_object_set_new(row, "too_large", json_boolean(content.too_large));
    json_object_set_new(row, "insertions", counted ? json_integer((json_int_t)insertions) : json_null());
    json_object_set_new(row, "deletions", counted ? json_integer((json_int_t)deletions) : json_null());
    if (show->ask->lines && counted)
        rc = show_hunks(show, file, content.patch, err);
    content_finish(&content);
    return rc;
}

/* What a tool obeys, what runs, what leads elsewhere. */
static bool comes_first(const struct change *change)
{
    return persistence_class(change->path) || (change->old_path && persistence_class(change->old_path)) ||
           mode_is_link(change->new_mode) || mode_is_module(change->new_mode) ||
           (change->new_mode && mode_runs(change->new_mode) != mode_runs(change->old_mode));
}

/* The files of a page, what comes first before the others. *ret_next: the first one that is left out. */
static int show_page(struct show *show, const struct comparison *comparison, const struct change *only,
                     size_t *ret_next, struct error **err)
{
    const struct review_ask *ask = show->ask;
    size_t number = 0;
    size_t shown = 0;

    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < comparison->changes.count; i++) {
            const struct change *change = &comparison->changes.items[i];
            if (comes_first(change) != (pass == 0))
                continue;
            if (number++ < ask->from || (only && only != change))
                continue;
            if ((ask->max && shown == ask->max) || (ask->bytes && shown && show->bytes >= ask->bytes)) {
                *ret_next = number - 1;
                return 0;
            }
            int rc = show_file(show, number - 1, change, err);
            if (rc < 0)
                return rc;
            shown++;
        }
    *ret_next = 0;
    return 0;
}

int review_diff(const char *quarantine, const struct review_ask *ask, json_t **ret, struct error **err)
{
    auto(objects) struct objects *objects = NULL;
    struct comparison comparison = {0};
    char base[GIT_OID_HEXSZ + 1];
    char tip[GIT_OID_HEXSZ + 1];
    size_t next = 0;

    int rc = objects_open(quarantine, &objects, err);
    if (rc == 0)
        rc = ask->alone ? comparison_make_alone(objects, ask->tip, &comparison, err)
                        : comparison_make(objects, ask->tip, &comparison, err);
    if (rc < 0)
        return rc;
    struct show show = {
        .objects = objects, .ask = ask, .out = json_array(), .until = now_s() + COUNT_SECONDS};
    struct change *only = NULL;
    git_oid_tostr(base, sizeof(base), &comparison.range.base);
    git_oid_tostr(tip, sizeof(tip), &comparison.range.tip);
    json_array_append_new(show.out,
                          json_pack("{s:s?, s:s, s:I, s:b}", "base", comparison.range.has_base ? base : NULL,
                                    "tip", tip, "files", (json_int_t)comparison.changes.count, "cut",
                                    comparison.changes.cut));
    if (ask->path)
        rc = comparison_find(&comparison, ask->path, &only, err);
    if (rc == 0)
        rc = show_page(&show, &comparison, only, &next, err);
    if (rc == 0 && show.cut)
        json_array_append_new(show.out, json_pack("{s:b}", "cut", 1));
    if (rc == 0 && next)
        json_array_append_new(show.out, json_pack("{s:I}", "next", (json_int_t)next));
    comparison_finish(&comparison);
    json_decref(show.lines);
    if (rc == 0)
        *ret = steal(&show.out);
    json_decref(show.out);
    return rc;
}
