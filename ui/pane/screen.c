/* The cells of an emulator, as libvterm's state layer has them changed. */
#include "base/alloc.h"
#include "ui/pane/emulator_internal.h"

#include <string.h>

void row_init(struct row *row, int columns)
{
    *row = (struct row){.cells = xnewn(struct cell, columns)};
    for (int i = 0; i < columns; i++)
        row->cells[i] = history_blank();
}

void buffer_init(struct buffer *buffer, int rows, int columns)
{
    *buffer = (struct buffer){.rows = rows, .columns = columns, .row = xnewn(struct row, rows)};
    for (int i = 0; i < rows; i++)
        row_init(&buffer->row[i], columns);
}

void buffer_finish(struct buffer *buffer)
{
    for (int i = 0; i < buffer->rows; i++)
        free(buffer->row[i].cells);
    free(buffer->row);
    *buffer = (struct buffer){0};
}

static bool is_blank(const struct cell *cell)
{
    return (cell->codes[0] == 0 || (cell->codes[0] == ' ' && cell->codes[1] == 0)) && cell->width == 1 &&
           cell->bg == COLOR_DEFAULT &&
           !(cell->attr & ~(ATTR_BOLD | ATTR_DIM | ATTR_ITALIC | ATTR_PROTECTED));
}

int row_length(const struct row *row)
{
    int len = row->used;
    while (len > 0 && is_blank(&row->cells[len - 1]))
        len--;
    return len;
}

/* Blanks the cells from…to with the pen's background. */
static void blank(struct emulator *e, struct row *row, int from, int to, bool selective)
{
    struct cell cell = history_blank();
    cell.bg = e->pen.bg;
    bool plain = cell.bg == COLOR_DEFAULT;
    if (plain && to > row->used)
        to = row->used;
    if (from >= to)
        return;
    for (int i = from; i < to; i++)
        if (!selective || !(row->cells[i].attr & ATTR_PROTECTED))
            row->cells[i] = cell;
    if (plain && to == row->used && !selective)
        row->used = from;
    else if (!plain && to > row->used)
        row->used = to;
}

/* A wide character of which one half is about to go becomes blank. */
static void split(struct row *row, int column, int columns)
{
    if (column <= 0 || column >= columns || row->cells[column].width != 0)
        return;
    for (int i = column - 1; i <= column; i++) {
        row->cells[i].width = 1;
        memset(row->cells[i].codes, 0, sizeof(row->cells[i].codes));
    }
}

static void changed(struct emulator *e)
{
    e->changed = true;
    if (e->kept)
        screen_drop_kept(e);
}

void screen_clear(struct emulator *e)
{
    for (int i = 0; i < e->at->rows; i++) {
        blank(e, &e->at->row[i], 0, e->at->columns, false);
        e->at->row[i].wrapped = false;
    }
    changed(e);
}

/* ---- what libvterm calls ---- */

/* The character at the start of a row goes on with the row above if libvterm wrapped: within one run of text
 * or at the next one, without a cursor movement between. What was wrapped stays so until its end is written
 * anew: an editor of command lines places the cursor in the middle of them. */
static void note_wrap(struct emulator *e, int row, int width)
{
    if (row > 0 && e->edge_row == row - 1 && (e->edge_end >= e->columns || width == 2))
        e->at->row[row - 1].wrapped = true;
}

static uint32_t next_code(struct emulator *e, uint32_t shown)
{
    /* The placeholders of parse.c. */
    if ((shown == 0xa1 || shown == 0x3000) && e->queue_next < e->queue_len)
        return e->queue[e->queue_next++];
    return shown;
}

static int on_put(VTermGlyphInfo *info, VTermPos pos, void *user)
{
    struct emulator *e = user;
    struct buffer *at = e->at;
    uint32_t code = next_code(e, info->chars[0]);
    if (pos.row < 0 || pos.row >= at->rows || pos.col < 0 || pos.col >= at->columns)
        return 1;
    struct row *row = &at->row[pos.row];
    int width = info->width == 2 && pos.col + 2 <= at->columns ? 2 : 1;
    if (width != info->width)
        code = 0xfffd;
    changed(e);
    if (pos.col == 0)
        note_wrap(e, pos.row, info->width);
    split(row, pos.col, at->columns);
    split(row, pos.col + width, at->columns);
    struct cell *cell = &row->cells[pos.col];
    *cell = (struct cell){.codes = {e->pen.concealed ? ' ' : code},
                          .width = (uint8_t)width,
                          .style = STYLE_GUEST,
                          .attr = e->pen.attr | (info->protected_cell ? ATTR_PROTECTED : 0),
                          .fg = e->pen.fg,
                          .bg = e->pen.bg};
    int end = pos.col + width;
    if (width == 2) {
        cell[1] = cell[0];
        cell[1].width = 0;
        cell[1].codes[0] = 0;
    }
    if (end > row->used)
        row->used = end;
    e->put = pos;
    e->put_width = width;
    if (end >= at->columns - 1) {
        e->edge_row = pos.row;
        e->edge_end = end;
        row->wrapped = false;
    } else {
        e->edge_row = -1;
    }
    return 1;
}

void screen_mark(struct emulator *e, uint32_t code)
{
    if (e->put.row < 0 || e->put.row >= e->at->rows || e->put.col >= e->at->columns || e->pen.concealed)
        return;
    struct cell *cell = &e->at->row[e->put.row].cells[e->put.col];
    int n = 0;
    while (n < CELL_CODES && cell->codes[n])
        n++;
    if (n == 0 || n == CELL_CODES)
        return;
    cell->codes[n] = code;
    changed(e);
}

static int on_move(VTermPos pos, VTermPos old, int visible, void *user)
{
    struct emulator *e = user;
    e->cursor = pos;
    e->changed = true;
    if (pos.row != e->edge_row || pos.col != e->columns - 1)
        e->edge_row = -1;
    return 1;
}

static int on_erase(VTermRect rect, int selective, void *user)
{
    struct emulator *e = user;
    struct buffer *at = e->at;
    int to = rect.end_col < at->columns ? rect.end_col : at->columns;
    int from = rect.start_col < 0 ? 0 : rect.start_col;
    if (rect.start_row <= 0 && from == 0 && at == &e->main)
        history_close(e->history);
    for (int r = rect.start_row < 0 ? 0 : rect.start_row; r < rect.end_row && r < at->rows; r++) {
        split(&at->row[r], from, at->columns);
        split(&at->row[r], to, at->columns);
        blank(e, &at->row[r], from, to, selective);
        if (to == at->columns)
            at->row[r].wrapped = false;
    }
    changed(e);
    return 1;
}

static void keep_row(struct emulator *e, const struct row *row)
{
    history_push(e->history, row->cells, row->wrapped ? row->used : row_length(row), row->wrapped);
}

/* Moves whole rows; those that come in are blank. */
static void scroll_rows(struct emulator *e, int top, int bottom, int downward)
{
    struct buffer *at = e->at;
    int height = bottom - top, n = downward < 0 ? -downward : downward;
    if (n > height)
        n = height;
    for (int i = 0; downward > 0 && top == 0 && at == &e->main && i < n; i++)
        keep_row(e, &at->row[i]);
    struct row moved[EMULATOR_ROWS_MAX];
    int leaving = downward > 0 ? top : bottom - n;
    int arriving = downward > 0 ? bottom - n : top;
    memcpy(moved, &at->row[leaving], sizeof(*moved) * n);
    if (downward > 0)
        memmove(&at->row[top], &at->row[top + n], sizeof(*moved) * (height - n));
    else
        memmove(&at->row[top + n], &at->row[top], sizeof(*moved) * (height - n));
    memcpy(&at->row[arriving], moved, sizeof(*moved) * n);
    for (int i = arriving; i < arriving + n; i++) {
        blank(e, &at->row[i], 0, at->columns, false);
        at->row[i].wrapped = false;
    }
    /* A wrap does not lead out of what was moved. */
    if (downward < 0 && bottom > 0)
        at->row[bottom - 1].wrapped = false;
    if (top > 0)
        at->row[top - 1].wrapped = false;
    else if (downward < 0 && at == &e->main)
        history_close(e->history);
    if (e->edge_row >= top && e->edge_row < bottom)
        e->edge_row = e->edge_row - downward < top ? -1 : e->edge_row - downward;
}

/* Moves a part of rows. */
static void scroll_part(struct emulator *e, VTermRect rect, int downward, int rightward)
{
    struct buffer *at = e->at;
    int step = downward >= 0 ? 1 : -1, rows = rect.end_row - rect.start_row;
    int width = rect.end_col - rect.start_col, n = rightward < 0 ? -rightward : rightward;
    if (n > width)
        n = width;
    for (int i = 0, r = step > 0 ? rect.start_row : rect.end_row - 1; i < rows; i++, r += step) {
        struct row *to = &at->row[r];
        int source = r + downward;
        split(to, rect.start_col, at->columns);
        split(to, rect.end_col, at->columns);
        if (source < rect.start_row || source >= rect.end_row) {
            blank(e, to, rect.start_col, rect.end_col, false);
            continue;
        }
        struct row *from = &at->row[source];
        split(from, rect.start_col, at->columns);
        split(from, rect.end_col, at->columns);
        int first = rect.start_col + (rightward > 0 ? n : 0), put = rect.start_col + (rightward < 0 ? n : 0);
        split(from, rightward > 0 ? first : rect.end_col - n, at->columns);
        memmove(&to->cells[put], &from->cells[first], sizeof(struct cell) * (width - n));
        to->used = at->columns;
        int gap = rightward > 0 ? rect.end_col - n : rect.start_col;
        blank(e, to, gap, gap + n, false);
        while (to->used > 0 && is_blank(&to->cells[to->used - 1]) && !to->cells[to->used - 1].attr &&
               !to->cells[to->used - 1].fg && to->cells[to->used - 1].codes[0] == 0)
            to->used--;
        if (rect.end_col == at->columns)
            to->wrapped = false;
    }
}

static int on_scroll(VTermRect rect, int downward, int rightward, void *user)
{
    struct emulator *e = user;
    if (rect.start_row < 0 || rect.start_col < 0 || rect.end_row > e->at->rows ||
        rect.end_col > e->at->columns || rect.start_row >= rect.end_row || rect.start_col >= rect.end_col)
        return 1;
    if (rightward == 0 && rect.start_col == 0 && rect.end_col == e->at->columns)
        scroll_rows(e, rect.start_row, rect.end_row, downward);
    else
        scroll_part(e, rect, downward, rightward);
    changed(e);
    return 1;
}

static int on_pen(void *user)
{
    struct emulator *e = user;
    e->pen = (struct pen){0};
    return 1;
}

static int on_property(VTermProp prop, VTermValue *value, void *user)
{
    struct emulator *e = user;
    e->changed = true;
    switch (prop) {
    case VTERM_PROP_CURSORVISIBLE:
        e->mode.cursor_hidden = !value->boolean;
        return 1;
    case VTERM_PROP_REVERSE:
        e->mode.reverse = value->boolean;
        return 1;
    case VTERM_PROP_ALTSCREEN:
        screen_drop_kept(e);
        e->at = value->boolean ? &e->alternate : &e->main;
        e->put.row = e->edge_row = -1;
        return 1;
    default:
        return 1;
    }
}

#if VTERM_VERSION_MAJOR > 0 || VTERM_VERSION_MINOR > 1
/* Of each line libvterm knows whether it is of double size, which none is here. The table does not grow with
 * the rows (0.3.3) unless it is made anew. */
static int on_resize(int rows, int columns, VTermStateFields *fields, void *user)
{
    for (size_t i = 0; i < countof(fields->lineinfos); i++) {
        if (!fields->lineinfos[i])
            continue;
        screen_allocator.free(fields->lineinfos[i], NULL);
        fields->lineinfos[i] = screen_allocator.malloc((size_t)rows * sizeof(VTermLineInfo), NULL);
    }
    return 1;
}
#endif

static void *allocate(size_t size, void *user)
{
    return xcalloc(size, 1);
}

static void release(void *memory, void *user)
{
    free(memory);
}

VTermAllocatorFunctions screen_allocator = {.malloc = allocate, .free = release};

const VTermStateCallbacks screen_callbacks = {
#if VTERM_VERSION_MAJOR > 0 || VTERM_VERSION_MINOR > 1
    .resize = on_resize,
#endif
    .putglyph = on_put,
    .movecursor = on_move,
    .scrollrect = on_scroll,
    .erase = on_erase,
    .initpen = on_pen,
    .settermprop = on_property,
};
