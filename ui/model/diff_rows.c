/* The rows of a difference, unified or side by side; and marks. */
#include "ui/model/diff.h"

#include "base/alloc.h"
#include "base/units.h"
#include "base/words.h"

#include <stdio.h>
#include <string.h>

#define NOTE_LINE UINT32_MAX
#define BLOCK_MAX 200 /* lines up and down in which the other line is looked for */

/* ---- side by side ---- */

static void add_pair(struct diff_file *file, size_t left, size_t right)
{
    file->pairs[file->pair_count++] = (struct diff_pair){(uint32_t)left, (uint32_t)right};
}

/* Removed lines stand beside those that took their place; the sign of a missing end belongs to its line. */
static void make_pairs(struct diff_file *file)
{
    if (file->pairs || !file->count)
        return;
    file->pairs = xnewn(struct diff_pair, file->count);
    for (size_t at = 0; at < file->count;) {
        size_t left = at, right, end;
        if (strchr("@ \\", file->lines[at].sign)) {
            add_pair(file, at + 1, at + 1);
            at++;
            continue;
        }
        for (right = left; right < file->count && strchr("-\\", file->lines[right].sign); right++)
            continue;
        for (end = right; end < file->count && strchr("+\\", file->lines[end].sign); end++)
            continue;
        for (size_t i = 0; left + i < right || right + i < end; i++)
            add_pair(file, left + i < right ? left + i + 1 : 0, right + i < end ? right + i + 1 : 0);
        at = end;
    }
}

/* ---- rows ---- */

/* Rows of a file below its head. */
static size_t rows_of(const struct diff *diff, const struct diff_file *file)
{
    if (!file->here || !file->count)
        return 1;
    return diff->split ? file->pair_count : file->count;
}

void diff_layout(struct diff *diff)
{
    size_t at = diff->word_count;
    for (size_t i = 0; i < diff->count; i++) {
        if (diff->split && diff->files[i].here)
            make_pairs(&diff->files[i]);
        diff->files[i].first = at;
        at += 1 + rows_of(diff, &diff->files[i]);
    }
    diff->rows = at;
}

/* The file that a position belongs to: the last one that begins at or before it. */
static size_t file_at(const struct diff *diff, size_t position)
{
    size_t low = 0, high = diff->count;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (diff->files[middle].first <= position)
            low = middle;
        else
            high = middle;
    }
    return low;
}

bool diff_row(const struct diff *diff, size_t position, struct diff_row *ret)
{
    if (position >= diff->rows)
        return false;
    if (position < diff->word_count) {
        *ret = (struct diff_row){.part = DIFF_WORDS, .index = position};
        return true;
    }
    size_t number = file_at(diff, position);
    const struct diff_file *file = &diff->files[number];
    *ret = (struct diff_row){.part = DIFF_HEAD, .file = number};
    if (position == file->first)
        return true;
    size_t at = position - file->first - 1;
    if (!file->here || !file->count) {
        ret->part = DIFF_NOTE;
        return true;
    }
    ret->part = DIFF_LINE;
    if (!diff->split) {
        ret->index = at;
        ret->left = ret->right = &file->lines[at];
        return true;
    }
    const struct diff_pair *pair = &file->pairs[at];
    ret->left = pair->left ? &file->lines[pair->left - 1] : NULL;
    ret->right = pair->right ? &file->lines[pair->right - 1] : NULL;
    ret->index = (pair->left ? pair->left : pair->right) - 1;
    return true;
}

uint64_t diff_head(size_t file)
{
    return (uint64_t)(file + 1) << 32;
}

uint64_t diff_identity(const struct diff *diff, size_t position)
{
    struct diff_row row;
    if (!diff_row(diff, position, &row))
        return 0;
    return row.part == DIFF_WORDS  ? row.index + 1
           : row.part == DIFF_HEAD ? diff_head(row.file)
           : row.part == DIFF_NOTE ? diff_head(row.file) | NOTE_LINE
                                   : diff_head(row.file) | (row.index + 1);
}

bool diff_find(const struct diff *diff, uint64_t identity, size_t *ret_file, size_t *ret_line)
{
    uint64_t file = identity >> 32, line = identity & UINT32_MAX;
    if (file < 1 || file > diff->count)
        return false;
    *ret_file = (size_t)file - 1;
    *ret_line = line == 0 || line > diff->files[file - 1].count ? SIZE_MAX : (size_t)line - 1;
    return true;
}

uint64_t diff_line_identity(const struct diff *diff, size_t file, size_t line)
{
    const struct diff_file *of = &diff->files[file];
    for (size_t i = 0; diff->split && i < of->pair_count; i++)
        if (of->pairs[i].right == line + 1 && of->pairs[i].left)
            return diff_head(file) | of->pairs[i].left;
    return diff_head(file) | (line + 1);
}

static bool begins(const struct diff *diff, size_t position, bool files)
{
    struct diff_row row;
    if (!diff_row(diff, position, &row))
        return false;
    return row.part == DIFF_HEAD || (!files && row.part == DIFF_LINE && row.left && row.left->sign == '@');
}

size_t diff_next(const struct diff *diff, size_t position, bool forward, bool files)
{
    struct diff_row row;
    if (files && forward && diff_row(diff, position, &row) && row.part != DIFF_WORDS)
        return row.file + 1 < diff->count ? diff->files[row.file + 1].first : SIZE_MAX;
    while (forward ? ++position < diff->rows : position-- > 0)
        if (begins(diff, position, files))
            return position;
    return SIZE_MAX;
}

/* ---- words ---- */

const char *diff_text(const struct diff *diff, const struct diff_row *row)
{
    if (row->part == DIFF_WORDS)
        return diff->words[row->index].text;
    const struct diff_file *file = &diff->files[row->file];
    if (row->part == DIFF_HEAD)
        return file->path ? file->path : "";
    if (row->part == DIFF_NOTE)
        return "";
    if (!row->left || !row->right || row->left == row->right)
        return row->left ? row->left->text : row->right->text;
    snprintf(diff->scratch, DIFF_TEXT_MAX, "%s  %s", row->left->text, row->right->text);
    return diff->scratch;
}

char *diff_numbers(const struct diff_file *file)
{
    char before[UNITS_SIZE_MAX], after[UNITS_SIZE_MAX];
    if (!file->raw_path)
        return xstrdup("");
    if (file->binary || file->too_large) {
        units_format_size((uint64_t)(file->old_size > 0 ? file->old_size : 0), before);
        units_format_size((uint64_t)(file->new_size > 0 ? file->new_size : 0), after);
        return file->old_size < 0   ? xstrdup(after)
               : file->new_size < 0 ? xasprintf("-%s", before)
                                    : xasprintf("%s > %s", before, after);
    }
    if (file->insertions < 0)
        return xstrdup("");
    return xasprintf("+%lld -%lld", (long long)file->insertions, (long long)file->deletions);
}

char *diff_about(const struct diff_file *file)
{
    bool both = file->old_mode && *file->old_mode && *file->new_mode;
    bool moded = both ? strcmp(file->old_mode, file->new_mode) != 0
                      : file->new_mode && *file->new_mode && strcmp(file->new_mode, "100644") != 0;
    if (!file->raw_path)
        return xstrdup("");
    return xasprintf("%s%s%s%s%s%s%s%s%s%s%s%s", *file->class ? _("runs here: ") : "", file->class,
                     *file->class ? "  " : "", file->outside ? _("LEADS OUT OF THE TREE  ") : "",
                     *file->target ? "-> " : "", file->target, *file->target ? "  " : "",
                     file->binary      ? _("binary  ")
                     : file->too_large ? _("too large to compare  ")
                                       : "",
                     !strcmp(file->kind, "submodule") ? _("submodule  ") : "",
                     moded && both ? file->old_mode : "", moded && both ? " > " : "",
                     moded ? file->new_mode : "");
}

char *diff_note(const struct diff_file *file)
{
    if (!file->here)
        return xstrdup(_("asking for its lines ..."));
    if (file->binary)
        return xstrdup(_("binary: its bytes are not shown"));
    if (file->too_large)
        return xstrdup(_("too large to compare"));
    if (file->kind && !strcmp(file->kind, "submodule"))
        return xstrdup(_("another repository's commit"));
    return xstrdup(file->status == 'R' ? _("moved as it is") : _("no line of it changed"));
}

/* Lines of the same sign around one: the first, and the one behind the last. */
static void block(const struct diff_file *file, size_t line, size_t *ret_first, size_t *ret_end)
{
    char sign = file->lines[line].sign;
    size_t first = line, end = line + 1;
    while (first > 0 && line - first < BLOCK_MAX && file->lines[first - 1].sign == sign)
        first--;
    while (end < file->count && end - line < BLOCK_MAX && file->lines[end].sign == sign)
        end++;
    *ret_first = first;
    *ret_end = end;
}

const struct diff_line *diff_other(const struct diff_file *file, size_t line)
{
    char sign = file->lines[line].sign;
    size_t first, end, other_first, other_end;
    if (sign != '-' && sign != '+')
        return NULL;
    block(file, line, &first, &end);
    size_t beside = sign == '-' ? end : first - 1;
    if (sign == '+' && first == 0)
        return NULL;
    if (beside >= file->count || file->lines[beside].sign != (sign == '-' ? '+' : '-'))
        return NULL;
    block(file, beside, &other_first, &other_end);
    size_t at = other_first + (line - first);
    return at < other_end ? &file->lines[at] : NULL;
}

/* ---- marks ---- */

void diff_mark_file(struct diff_file *file)
{
    file->whole = !file->whole && !file->picks;
    free(steal(&file->picked));
    file->picks = 0;
}

void diff_mark_hunk(struct diff_file *file, size_t hunk)
{
    if (hunk >= file->hunks)
        return;
    if (!file->picked) {
        file->picked = xnewn(bool, file->hunks);
        for (size_t i = 0; file->whole && i < file->hunks; i++)
            file->picked[i] = true;
        file->picks = file->whole ? file->hunks : 0;
    }
    file->whole = false;
    file->picked[hunk] = !file->picked[hunk];
    file->picks += file->picked[hunk] ? 1 : (size_t)-1;
    if (file->picks && file->picks < file->hunks)
        return;
    file->whole = file->picks == file->hunks;
    free(steal(&file->picked));
    file->picks = 0;
}

char diff_mark(const struct diff_file *file)
{
    return file->whole ? '*' : file->picks ? '+' : ' ';
}
