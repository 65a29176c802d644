#include "base/alloc.h"
#include "ui/pane/emulator_internal.h"

#include <string.h>

_Static_assert(EMULATOR_COLUMNS_MAX <= NUMBER_MAX && EMULATOR_ROWS_MAX <= NUMBER_MAX, "a place can be said");

static int between(int value, int least, int most)
{
    return value < least ? least : value > most ? most : value;
}

/* What libvterm would say to the session itself is said in sequence.c. */
static void on_output(const char *bytes, size_t len, void *user)
{
}

struct emulator *emulator_create(const struct emulator_options *options, void *user)
{
    struct emulator *e = xnew(struct emulator);
    e->options = *options;
    e->user = user;
    e->rows = between(options->rows, 1, EMULATOR_ROWS_MAX);
    e->columns = between(options->columns, EMULATOR_COLUMNS_MIN, EMULATOR_COLUMNS_MAX);
    buffer_init(&e->main, e->rows, e->columns);
    buffer_init(&e->alternate, e->rows, e->columns);
    e->at = &e->main;
    e->history =
        history_create(options->lines > 0 ? options->lines : EMULATOR_LINES, EMULATOR_BYTES, e->columns);
    e->put.row = e->edge_row = -1;
    e->mouse_button = -1;
    e->vt = vterm_new_with_allocator(e->rows, e->columns, &screen_allocator, NULL);
    require(e->vt != NULL);
    vterm_set_utf8(e->vt, 1);
    vterm_output_set_callback(e->vt, on_output, e);
    e->vstate = vterm_obtain_state(e->vt);
    vterm_state_set_callbacks(e->vstate, &screen_callbacks, e);
    vterm_state_reset(e->vstate, 1);
    e->changed = true;
    return e;
}

void emulator_free(struct emulator *e)
{
    if (!e)
        return;
    screen_drop_kept(e);
    vterm_free(e->vt);
    buffer_finish(&e->main);
    buffer_finish(&e->alternate);
    history_free(e->history);
    free(e->kinds);
    free(e);
}

void emulator_feed(struct emulator *e, const uint8_t *bytes, size_t len)
{
    e->answered = 0;
    e->belled = false;
    parser_feed(e, bytes, len);
}

void emulator_resize(struct emulator *e, int rows, int columns)
{
    screen_resize(e, between(rows, 1, EMULATOR_ROWS_MAX),
                  between(columns, EMULATOR_COLUMNS_MIN, EMULATOR_COLUMNS_MAX));
}

void emulator_reset(struct emulator *e)
{
    e->parser = (struct parser){0};
    emulator_hard_reset(e);
    history_clear(e->history);
    e->changed = true;
}

bool emulator_changed(struct emulator *e)
{
    bool changed = e->changed;
    e->changed = false;
    return changed;
}

/* On the alternate screen there is nothing above. */
int emulator_lines(const struct emulator *e)
{
    return e->at == &e->alternate ? 0 : history_rows(e->history);
}

uint64_t emulator_scrolled(const struct emulator *e)
{
    return history_pushed(e->history);
}

void emulator_wants(const struct emulator *e, struct emulator_wants *ret)
{
    *ret = (struct emulator_wants){.paste = e->mode.paste,
                                   .focus = e->mode.focus,
                                   .alternate = e->at == &e->alternate,
                                   .cursor = !e->mode.cursor_hidden};
    int mouse = e->mode.mouse;
    if (mouse)
        ret->modes |= EMULATOR_MOUSE_CLICKS;
    if (mouse == 1002 || mouse == 1003)
        ret->modes |= EMULATOR_MOUSE_DRAG;
    if (mouse == 1003)
        ret->modes |= EMULATOR_MOUSE_MOVE;
    if (e->mode.focus)
        ret->modes |= EMULATOR_FOCUS;
    if (kitty_flags(&e->kitty[e->at == &e->alternate]) || e->mode.modify_other)
        ret->modes |= EMULATOR_KITTY_KEYS;
}

bool emulator_line(const struct emulator *e, int n, struct cell *cells)
{
    const struct buffer *at = e->at;
    int r = at->rows - 1 - n;
    if (r < 0)
        return history_row(e->history, -r - 1, cells);
    memcpy(cells, at->row[r].cells, sizeof(*cells) * at->columns);
    return at->row[r].wrapped;
}

static void draw_row(const struct emulator *e, struct area area, int row, const struct cell *cells)
{
    for (int c = 0; c < area.columns; c++) {
        struct cell cell = c < e->columns ? cells[c] : history_blank();
        if (cell.width == 2 && c + 1 == area.columns) {
            cell.width = 1;
            memset(cell.codes, 0, sizeof(cell.codes));
        }
        cell.attr &= (uint16_t)~ATTR_PROTECTED;
        if (e->mode.reverse)
            cell.attr ^= ATTR_REVERSE;
        *grid_at(area.grid, area.row + row, area.column + c) = cell;
    }
}

void emulator_draw(const struct emulator *e, struct area area, int back, bool focused)
{
    int shown = area.rows < e->rows ? area.rows : e->rows;
    back = between(back, 0, emulator_lines(e));
    /* An area that is lower shows the end, but the cursor at any rate. */
    int hidden = e->rows - shown;
    int top = back > 0 ? hidden : between(e->cursor.row - shown + 1, 0, hidden);
    autofree struct cell *cells = xnewn(struct cell, e->columns);
    autofree struct cell *blank = xnewn(struct cell, e->columns);
    for (int c = 0; c < e->columns; c++)
        blank[c] = history_blank();
    for (int r = 0; r < area.rows; r++) {
        if (r < shown)
            emulator_line(e, e->rows - 1 - (top + r) + back, cells);
        draw_row(e, area, r, r < shown ? cells : blank);
    }
    if (!focused)
        return;
    int row = e->cursor.row - top;
    bool visible =
        back == 0 && !e->mode.cursor_hidden && row >= 0 && row < shown && e->cursor.col < area.columns;
    area.grid->cursor = visible;
    if (visible) {
        area.grid->cursor_row = area.row + row;
        area.grid->cursor_column = area.column + e->cursor.col;
    }
}
