#include "ui/view/diff.h"

#include "base/alloc.h"
#include "base/text.h"
#include "base/words.h"
#include "ui/model/word_diff.h"
#include "ui/view/paint.h"

#include <stdio.h>
#include <string.h>

struct painter {
    const struct app *app;
    const struct diff *diff;
    const struct list *list;
    struct area area;
    bool here; /* the row under the cursor */
};

static enum style style_of(char sign)
{
    return sign == '+' ? STYLE_ADDED : sign == '-' ? STYLE_REMOVED : sign == '\\' ? STYLE_DIM : STYLE_NORMAL;
}

static enum style here_or(const struct painter *painter, enum style style)
{
    return painter->here ? STYLE_SELECTED : style;
}

/* Gives bytes of text that is drawn from a column on, `left` columns of it skipped, a style. */
static void mark(const struct painter *painter, int row, int column, int columns, const char *text,
                 size_t start, size_t end, enum style style)
{
    size_t before, width;
    text_clip(text, start, SIZE_MAX, &before);
    text_clip(text + start, end - start, SIZE_MAX, &width);
    long from = (long)before - (long)painter->list->left, to = from + (long)width;
    from = from < 0 ? 0 : from;
    to = to > columns ? columns : to;
    if (from < to)
        area_style(painter->area, row, column + (int)from, (int)(to - from), style);
}

/* The words of a line that are others than those of the line beside it. */
static void mark_words(const struct painter *painter, int row, int column, int columns,
                       const struct diff_line *line, const struct diff_line *other)
{
    struct word_diff words;
    bool old = line->sign == '-';
    if (!other || painter->app->review.words_off || (line->sign != '-' && line->sign != '+'))
        return;
    word_diff(old ? line->text : other->text, old ? other->text : line->text, &words);
    const struct word_span *spans = old ? words.old : words.new;
    size_t count = old ? words.old_count : words.new_count;
    for (size_t i = 0; i < count; i++)
        mark(painter, row, column, columns, line->text, spans[i].start, spans[i].end,
             old ? STYLE_REMOVED_WORD : STYLE_ADDED_WORD);
}

static void mark_match(const struct painter *painter, int row, int column, int columns, const char *text)
{
    size_t start, end;
    if (painter->list->search.on && pattern_find(&painter->list->search, text, &start, &end) && end > start)
        mark(painter, row, column, columns, text, start, end, STYLE_MATCH);
}

/* Text of which `left` columns are scrolled away. */
static void paint_text(const struct painter *painter, int row, int column, int columns, enum style style,
                       const char *text)
{
    size_t used, skip = text_clip(text, strlen(text), painter->list->left, &used);
    area_text_cut(painter->area, row, column, columns, style, text + skip, false);
}

/* One line with its sign, from its sign's column on. */
static void paint_line(const struct painter *painter, int row, int lines, int column, int columns,
                       const struct diff_line *line, const struct diff_line *other)
{
    char sign[2] = {line->sign, 0};
    enum style style = here_or(painter, style_of(line->sign));
    if (columns < 2)
        return;
    area_text(painter->area, row, column, 1, style, sign);
    if (lines > 1) {
        paint_wrapped(painter->area, row, lines, column + 1, columns - 1, style, line->text);
        return;
    }
    paint_text(painter, row, column + 1, columns - 1, style, line->text);
    mark_words(painter, row, column + 1, columns - 1, line, other);
    mark_match(painter, row, column + 1, columns - 1, line->text);
}

/* Right before a column. */
static void paint_number(const struct painter *painter, int row, int column, uint32_t number, bool shown)
{
    char text[12];
    snprintf(text, sizeof(text), "%5u", number);
    if (shown)
        area_text(painter->area, row, column, 6, here_or(painter, STYLE_DIM), text);
}

/* "[*] ", "[ ] ": whether it is marked; nothing of one commit is. Returns the columns used. */
static int paint_mark(const struct painter *painter, int row, int column, char sign)
{
    char text[5] = {'[', sign, ']', ' ', 0};
    if (painter->diff->alone)
        return 0;
    return area_text(painter->area, row, column, 4, here_or(painter, sign == ' ' ? STYLE_DIM : STYLE_MARKED),
                     text);
}

static void paint_hunk(const struct painter *painter, int row, const struct diff_file *file,
                       const struct diff_line *line)
{
    bool picked = file->whole || (file->picked && file->picked[line->hunk]);
    int column = LIST_GUTTER;
    column += paint_mark(painter, row, column, picked ? '*' : ' ');
    area_text_cut(painter->area, row, column, painter->area.columns - column, here_or(painter, STYLE_HUNK),
                  line->text, false);
}

static void paint_head(const struct painter *painter, int row, const struct diff_file *file)
{
    struct area area = painter->area;
    enum style style = here_or(painter, STYLE_HEADER);
    int column = LIST_GUTTER;
    if (!file->raw_path) {
        area_text(area, row, column, area.columns - column, here_or(painter, STYLE_DIM), "...");
        return;
    }
    autofree char *name = *file->old_path
                              ? xasprintf("%c  %s -> %s", file->status, file->old_path, file->path)
                              : xasprintf("%c  %s", file->status, file->path);
    autofree char *numbers = diff_numbers(file), *about = diff_about(file);
    int room = paint_width(numbers) + 2;
    column += paint_mark(painter, row, column, diff_mark(file));
    int end = area.columns - room > column + 10 ? area.columns - room : area.columns;
    column += area_text_cut(area, row, column, end - column, style, name, false) + 2;
    if (column < end)
        area_text_cut(area, row, column, end - column,
                      here_or(painter, *file->class || file->outside ? STYLE_BAD : STYLE_DIM), about, false);
    if (end < area.columns)
        area_text(area, row, area.columns - room + 2, room - 2, style, numbers);
    if (painter->list->search.on && !painter->here) {
        size_t start, stop;
        if (pattern_find(&painter->list->search, file->path, &start, &stop))
            area_style(area, row, LIST_GUTTER, 1, STYLE_MATCH);
    }
}

static void paint_unified(const struct painter *painter, int row, int lines, const struct diff_file *file,
                          const struct diff_row *at)
{
    const struct diff_line *line = at->left;
    bool narrow = painter->area.columns < LAYOUT_COLUMNS;
    int column = LIST_GUTTER + (narrow ? 6 : DIFF_NUMBER_COLUMNS);
    if (line->sign != '\\') {
        paint_number(painter, row, LIST_GUTTER, narrow && line->sign == '+' ? line->new_no : line->old_no,
                     line->sign != '+' || narrow);
        paint_number(painter, row, LIST_GUTTER + 6, line->new_no, line->sign != '-' && !narrow);
    }
    paint_line(painter, row, lines, column, painter->area.columns - column, line,
               diff_other(file, at->index));
}

static void paint_split(const struct painter *painter, int row, const struct diff_row *at)
{
    int half = (painter->area.columns - LIST_GUTTER - 3) / 2, right = LIST_GUTTER + half + 3;
    const struct diff_line *one = at->left, *other = at->right;
    paint_upright(painter->app, painter->area, row, LIST_GUTTER + half + 1);
    if (one && one->sign != '+') {
        paint_number(painter, row, LIST_GUTTER, one->old_no, one->sign != '\\');
        paint_line(painter, row, 1, LIST_GUTTER + 6, half - 6, one, other != one ? other : NULL);
    }
    if (other && other->sign != '-') {
        paint_number(painter, row, right, other->new_no, other->sign != '\\');
        paint_line(painter, row, 1, right + 6, half - 6, other, other != one ? one : NULL);
    }
}

static void paint_row(const struct painter *painter, int row, int lines, const struct diff_row *at)
{
    const struct diff_file *file = at->part == DIFF_WORDS ? NULL : &painter->diff->files[at->file];
    int columns = painter->area.columns - LIST_GUTTER;
    if (at->part == DIFF_WORDS) {
        const struct diff_words *words = &painter->diff->words[at->index];
        if (lines > 1)
            paint_wrapped(painter->area, row, lines, LIST_GUTTER, columns, here_or(painter, words->style),
                          words->text);
        else
            paint_text(painter, row, LIST_GUTTER, columns, here_or(painter, words->style), words->text);
    } else if (at->part == DIFF_HEAD) {
        paint_head(painter, row, file);
    } else if (at->part == DIFF_NOTE) {
        autofree char *note = diff_note(file);
        area_text_cut(painter->area, row, LIST_GUTTER + 4, columns - 4, here_or(painter, STYLE_DIM), note,
                      false);
    } else if (at->left && at->left->sign == '@') {
        paint_hunk(painter, row, file, at->left);
    } else if (painter->diff->split) {
        paint_split(painter, row, at);
    } else {
        paint_unified(painter, row, lines, file, at);
    }
}

void paint_diff(const struct app *app, struct area area, bool focused)
{
    struct painter painter = {app, app->review.shown, &app->lists[VIEW_DIFF], area, false};
    const struct list *list = painter.list;
    int row = 0;
    if (!painter.diff || !list->count) {
        paint_list(app, VIEW_DIFF, area, focused);
        return;
    }
    for (size_t at = list->top; at < list->count && row < area.rows; at++) {
        struct diff_row of;
        int lines = list_row_lines(app, list, at);
        if (!diff_row(painter.diff, list->rows[at].position, &of))
            break;
        painter.here = at == list->at && focused && !list->gone;
        for (int i = 0; i < lines && painter.here; i++)
            area_fill(area, row + i, 0, area.columns, STYLE_SELECTED, 0);
        paint_row(&painter, row, lines, &of);
        if (at == list->at)
            area_text(area, row, 0, 1, painter.here ? STYLE_SELECTED : STYLE_DIM, list->gone ? "!" : ">");
        row += lines;
    }
}

/* ---- the push ---- */

/* What is no row of a table has the whole line. */
void paint_push(const struct app *app, struct area area, bool focused)
{
    const struct list *list = &app->lists[VIEW_PUSH];
    const struct review *review = &app->review;
    int widths[COLUMNS_MAX], row = 0;
    paint_list(app, VIEW_PUSH, area, focused);
    list_columns(app, view_table[VIEW_PUSH], area.columns - LIST_GUTTER, widths);
    int text = LIST_GUTTER + widths[0] + widths[1] + 2;
    for (size_t at = list->top; at < list->count && row < area.rows; row += list_row_lines(app, list, at++)) {
        const struct review_row *of =
            list->rows[at].position < review->row_count ? &review->rows[list->rows[at].position] : NULL;
        bool here = at == list->at && focused && !list->gone;
        if (!of || list_row_lines(app, list, at) > 1)
            continue;
        if (of->part == REVIEW_FACT) {
            const struct review_fact *fact = &review->facts[of->index];
            area_text_cut(area, row, text, area.columns - text, here ? STYLE_SELECTED : fact->style,
                          fact->text, false);
        } else if (of->part == REVIEW_TITLE || of->part == REVIEW_NOTE) {
            enum style style = of->part == REVIEW_NOTE ? STYLE_DIM
                               : of->index == 0        ? STYLE_BAD
                                                       : STYLE_HEADER;
            int column = of->part == REVIEW_NOTE ? text : LIST_GUTTER;
            area_fill(area, row, LIST_GUTTER, area.columns - LIST_GUTTER,
                      here ? STYLE_SELECTED : STYLE_NORMAL, 0);
            area_text_cut(area, row, column, area.columns - column, here ? STYLE_SELECTED : style, of->text,
                          false);
        }
    }
}
