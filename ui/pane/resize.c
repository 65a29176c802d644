/* Another size. The main screen's lines are wrapped anew, so that nothing is lost by a narrower one: what
 * does not fit goes up into the history and comes back. The alternate screen belongs to a program that draws
 * it anew; it is cut, and what was cut comes back if nothing was drawn meanwhile. */
#include "base/alloc.h"
#include "ui/pane/emulator_internal.h"

#include <string.h>

/* A logical line of the screen while it is wrapped anew. */
struct whole {
    struct cell *cells;
    int len, room;
    bool open; /* goes on below: only the last one, if it was cut at the bottom */
};
struct wholes {
    struct whole *line;
    int count, room;
    int cursor_line, cursor_offset;
};
struct rows {
    struct row *row;
    int count, room;
    int cursor_row, cursor_column;
};

void screen_drop_kept(struct emulator *e)
{
    if (!e->kept)
        return;
    buffer_finish(e->kept);
    free(e->kept);
    e->kept = NULL;
}

static struct whole *add_whole(struct wholes *wholes)
{
    if (wholes->count == wholes->room) {
        wholes->room = wholes->room ? wholes->room * 2 : 64;
        wholes->line = xrealloc(wholes->line, wholes->room, sizeof(*wholes->line));
    }
    struct whole *line = &wholes->line[wholes->count++];
    *line = (struct whole){0};
    return line;
}

static void add_cells(struct whole *line, const struct cell *cells, int len)
{
    if (line->len + len > line->room) {
        line->room = (line->len + len) * 2;
        line->cells = xrealloc(line->cells, line->room, sizeof(*cells));
    }
    if (len > 0)
        memcpy(line->cells + line->len, cells, sizeof(*cells) * len);
    line->len += len;
}

static void add_blanks(struct whole *line, int len)
{
    struct cell blank = history_blank();
    while (line->len < len)
        add_cells(line, &blank, 1);
}

static bool is_erased(const struct row *row)
{
    for (int i = 0; i < row->used; i++)
        if (row->cells[i].codes[0] || row->cells[i].width != 1)
            return false;
    return true;
}

/* What was erased behind the text, in whatever colour, is not text. */
static int text_length(const struct row *row)
{
    int len = row->used;
    while (len > 0 && row->cells[len - 1].codes[0] == 0 && row->cells[len - 1].width == 1)
        len--;
    return len;
}

/* The logical lines of a buffer down to the last one with text or the cursor. */
static void gather(struct emulator *e, const struct buffer *buffer, VTermPos cursor, struct wholes *wholes)
{
    int last = buffer->rows - 1;
    while (last > cursor.row && is_erased(&buffer->row[last]))
        last--;
    struct whole *line = NULL;
    if (history_open(e->history)) {
        int len;
        line = add_whole(wholes);
        autofree struct cell *cells = history_take(e->history, &len);
        add_cells(line, cells, len);
    }
    for (int r = 0; r <= last; r++) {
        const struct row *row = &buffer->row[r];
        if (!line)
            line = add_whole(wholes);
        if (r == cursor.row) {
            wholes->cursor_line = wholes->count - 1;
            wholes->cursor_offset = line->len + cursor.col;
        }
        add_cells(line, row->cells, row->wrapped ? row->used : text_length(row));
        if (!row->wrapped || r == last)
            line = NULL;
    }
}

static struct row *add_row(struct rows *rows, int columns)
{
    if (rows->count == rows->room) {
        rows->room = rows->room ? rows->room * 2 : 64;
        rows->row = xrealloc(rows->row, rows->room, sizeof(*rows->row));
    }
    row_init(&rows->row[rows->count], columns);
    return &rows->row[rows->count++];
}

static void wrap_line(struct wholes *wholes, int n, int columns, struct rows *rows)
{
    struct whole *line = &wholes->line[n];
    bool here = n == wholes->cursor_line;
    int start = 0;
    do {
        int end = history_break(line->cells, line->len, start, columns);
        struct row *row = add_row(rows, columns);
        if (end > start)
            memcpy(row->cells, line->cells + start, sizeof(struct cell) * (end - start));
        row->used = end - start;
        row->wrapped = end < line->len;
        bool inside = wholes->cursor_offset >= start && wholes->cursor_offset < end;
        bool at_end = end == line->len && wholes->cursor_offset >= end;
        if (here && (inside || at_end)) {
            rows->cursor_row = rows->count - 1;
            rows->cursor_column = wholes->cursor_offset - start;
        }
        start = end;
    } while (start < line->len);
    if (here && rows->cursor_column >= columns) {
        /* Right behind a full row; or far behind the text, where only the cursor is. */
        if (rows->cursor_column == columns && rows->row[rows->count - 1].used == columns) {
            rows->row[rows->count - 1].wrapped = true;
            add_row(rows, columns);
            rows->cursor_row = rows->count - 1;
            rows->cursor_column = 0;
        } else {
            rows->cursor_column = columns - 1;
        }
    }
}

/* Lines of the history come down while there is room above. */
static void pull(struct emulator *e, int columns, int height, struct rows *rows)
{
    while (rows->count < height && history_rows(e->history) > 0) {
        struct wholes one = {.cursor_line = -1};
        int len;
        struct whole *line = add_whole(&one);
        line->cells = history_take(e->history, &len);
        line->len = len;
        struct rows above = {0};
        wrap_line(&one, 0, columns, &above);
        rows->row = xrealloc(rows->row, rows->count + above.count, sizeof(*rows->row));
        memmove(rows->row + above.count, rows->row, sizeof(*rows->row) * rows->count);
        memcpy(rows->row, above.row, sizeof(*rows->row) * above.count);
        rows->count += above.count;
        rows->room = rows->count;
        rows->cursor_row += above.count;
        free(above.row);
        free(line->cells);
        free(one.line);
    }
}

/* Makes a buffer of rows: those that are too many leave at the top, but never the cursor's. */
static void settle(struct emulator *e, struct rows *rows, int height, int columns, struct buffer *ret)
{
    int excess = rows->count > height ? rows->count - height : 0;
    if (excess > rows->cursor_row)
        excess = rows->cursor_row;
    for (int i = 0; i < excess; i++) {
        struct row *row = &rows->row[i];
        history_push(e->history, row->cells, row->wrapped ? row->used : row_length(row), row->wrapped);
        free(row->cells);
    }
    *ret = (struct buffer){.rows = height, .columns = columns, .row = xnewn(struct row, height)};
    for (int i = 0; i < height; i++) {
        if (excess + i < rows->count)
            ret->row[i] = rows->row[excess + i];
        else
            row_init(&ret->row[i], columns);
    }
    for (int i = excess + height; i < rows->count; i++)
        free(rows->row[i].cells);
    if (excess + height < rows->count)
        ret->row[height - 1].wrapped = false;
    rows->cursor_row -= excess;
}

/* Wraps the main screen anew. Gives the cursor's new place. */
static VTermPos reflow(struct emulator *e, int height, int columns, VTermPos cursor)
{
    struct buffer *main = &e->main;
    bool full = cursor.row >= main->rows - 1 || !is_erased(&main->row[main->rows - 1]);
    struct wholes wholes = {.cursor_line = 0};
    gather(e, main, cursor, &wholes);
    history_set_columns(e->history, columns);
    struct rows rows = {0};
    for (int i = 0; i < wholes.count; i++) {
        if (i == wholes.cursor_line && wholes.line[i].len == 0)
            add_blanks(&wholes.line[i], 0);
        wrap_line(&wholes, i, columns, &rows);
        free(wholes.line[i].cells);
    }
    free(wholes.line);
    if (full)
        pull(e, columns, height, &rows);
    struct buffer fresh;
    settle(e, &rows, height, columns, &fresh);
    free(rows.row);
    buffer_finish(main);
    *main = fresh;
    if (rows.cursor_row >= height)
        rows.cursor_row = height - 1;
    return (VTermPos){.row = rows.cursor_row, .col = rows.cursor_column};
}

/* The alternate screen, cut or filled up; from the one that was kept if it is still as it was. */
static void crop(struct emulator *e, int height, int columns)
{
    if (!e->kept) {
        e->kept = xnew(struct buffer);
        *e->kept = e->alternate;
    } else {
        buffer_finish(&e->alternate);
    }
    const struct buffer *from = e->kept;
    buffer_init(&e->alternate, height, columns);
    for (int r = 0; r < height && r < from->rows; r++) {
        struct row *row = &e->alternate.row[r];
        int len = from->row[r].used < columns ? from->row[r].used : columns;
        memcpy(row->cells, from->row[r].cells, sizeof(struct cell) * len);
        row->used = len;
        if (len > 0 && row->cells[len - 1].width == 2)
            row->cells[len - 1] = history_blank();
        row->wrapped = columns == from->columns && from->row[r].wrapped;
    }
}

static void place_cursor(struct emulator *e, VTermPos pos)
{
    e->edge_row = e->put.row = -1;
    parser_move_cursor(e, pos.row, pos.col < e->columns ? pos.col : e->columns - 1);
}

void screen_resize(struct emulator *e, int rows, int columns)
{
    if (rows == e->rows && columns == e->columns)
        return;
    VTermPos cursor = e->cursor;
    /* Right behind the last column, the next character wraps: the cursor is there. */
    if (e->edge_row == cursor.row && e->edge_end == e->columns && cursor.col == e->columns - 1)
        cursor.col++;
    bool alternate = e->at == &e->alternate;
    if (!alternate) {
        cursor = reflow(e, rows, columns, cursor);
        buffer_finish(&e->alternate);
        buffer_init(&e->alternate, rows, columns);
    } else {
        crop(e, rows, columns);
        cursor.row = cursor.row < rows ? cursor.row : rows - 1;
    }
    /* A scrolling region of the old size is none of the new one. */
    parser_forward(e, "\033[r", 3);
    parser_flush(e);
    e->rows = rows;
    e->columns = columns;
    vterm_set_size(e->vt, rows, columns);
    place_cursor(e, cursor);
    e->changed = true;
}

void screen_reflow_main(struct emulator *e)
{
    if (e->main.rows == e->rows && e->main.columns == e->columns)
        return;
    VTermPos cursor = e->cursor;
    if (cursor.row >= e->main.rows)
        cursor.row = e->main.rows - 1;
    place_cursor(e, reflow(e, e->rows, e->columns, cursor));
}
