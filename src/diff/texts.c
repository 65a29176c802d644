#include "diff/texts.h"

#include "base/alloc.h"
#include "base/text.h"
#include "diff/budget.h"

#include <git2.h>

#define CONTEXT_LINES 3
#define CHUNK_BYTES   24000
#define LINE_MAX_     4000 /* bytes of one line that are shown */

struct telling {
    texts_line_fn fn;
    void *user;
    size_t told, chunk;
    json_t *lines;
};

static int git_failed(struct error **err, const char *what)
{
    const git_error *last = git_error_last();
    return error_set(err, ERROR_FAILED, "%s: %s", what, last ? last->message : "no reason is given");
}

int texts_begin(struct error **err)
{
    return git_libgit2_init() < 0 ? git_failed(err, "libgit2 does not start") : 0;
}

static int flush(struct telling *telling, size_t hunk, struct error **err)
{
    if (!telling->lines)
        return 0;
    telling->chunk = 0;
    return telling->fn(
        telling->user,
        json_pack("{s:i, s:I, s:o}", "file", 0, "hunk", (json_int_t)hunk, "lines", steal(&telling->lines)),
        err);
}

/* One line: its sign, then safe text; a marker of a missing end of line is "\". */
static int tell_line(struct telling *telling, size_t hunk, const git_diff_line *line, struct error **err)
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
    text_init(&text, line->content, len, LINE_MAX_, TEXT_KEEP_NEWLINES);
    autofree char *whole = xasprintf("%c%s", sign, text.bytes);
    if (!telling->lines)
        telling->lines = json_array();
    json_array_append_new(telling->lines, json_string(whole));
    telling->chunk += text.len + 8;
    telling->told++;
    text_finish(&text);
    return telling->chunk > CHUNK_BYTES ? flush(telling, hunk, err) : 0;
}

static int tell_hunk(struct telling *telling, git_patch *patch, size_t index, struct error **err)
{
    const git_diff_hunk *hunk;
    const git_diff_line *line;
    struct text header;
    size_t lines;

    if (git_patch_get_hunk(&hunk, &lines, patch, index) < 0)
        return git_failed(err, "cannot read a part of the comparison");
    size_t len = hunk->header_len;
    while (len > 0 && hunk->header[len - 1] == '\n')
        len--;
    text_init(&header, hunk->header, len, 200, TEXT_DEFAULT);
    json_t *head = json_pack("{s:i, s:I, s:s, s:i, s:i, s:i, s:i}", "file", 0, "hunk", (json_int_t)index,
                             "header", header.bytes, "old_start", hunk->old_start, "old_lines",
                             hunk->old_lines, "new_start", hunk->new_start, "new_lines", hunk->new_lines);
    text_finish(&header);
    int rc = telling->fn(telling->user, head, err);
    for (size_t i = 0; rc == 0 && i < lines && telling->told < TEXT_LINES_MAX; i++)
        if (git_patch_get_line_in_hunk(&line, patch, index, i) == 0)
            rc = tell_line(telling, index, line, err);
    return rc < 0 ? rc : flush(telling, index, err);
}

int texts_compare(const char *old, size_t old_len, const char *new, size_t new_len, texts_line_fn fn,
                  void *user, bool *ret_binary, struct error **err)
{
    git_diff_options options = GIT_DIFF_OPTIONS_INIT;
    struct telling telling = {.fn = fn, .user = user};
    git_patch *patch = NULL;
    int rc = 0;

    options.context_lines = CONTEXT_LINES;
    if (git_patch_from_buffers(&patch, old, old_len, NULL, new, new_len, NULL, &options) < 0)
        return git_failed(err, "cannot compare the contents");
    *ret_binary = (git_patch_get_delta(patch)->flags & GIT_DIFF_FLAG_BINARY) != 0;
    size_t hunks = *ret_binary ? 0 : git_patch_num_hunks(patch);
    for (size_t i = 0; rc == 0 && i < hunks && telling.told < TEXT_LINES_MAX; i++)
        rc = tell_hunk(&telling, patch, i, err);
    if (rc == 0 && telling.told >= TEXT_LINES_MAX)
        rc = fn(user, json_pack("{s:b}", "cut", 1), err);
    json_decref(telling.lines);
    git_patch_free(patch);
    return rc;
}
