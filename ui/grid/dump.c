#include "ui/grid/grid.h"

#include "base/alloc.h"

/* A buffer without a limit takes all. */
#define put(...) require(buf_printf(__VA_ARGS__) == 0)

static bool is_blank(const struct cell *cell)
{
    return cell->width == 1 && (!cell->codes[0] || (cell->codes[0] == ' ' && !cell->codes[1]));
}

static void put_row(const struct cell *cells, int columns, struct buf *out)
{
    while (columns > 0 && is_blank(cells + columns - 1))
        columns--;
    for (int column = 0; column < columns; column++) {
        char text[CELL_BYTES];
        size_t len = cell_text(cells + column, text);
        require(buf_append(out, text, len, NULL) == 0);
    }
    put(out, NULL, "\n");
}

static void put_color(struct buf *out, const char *what, uint32_t color)
{
    if (COLOR_KIND(color) == COLOR_INDEX)
        put(out, NULL, " %s=%u", what, COLOR_VALUE(color));
    else if (COLOR_KIND(color) == COLOR_RGB)
        put(out, NULL, " %s=#%06x", what, COLOR_VALUE(color));
}

static bool same_look(const struct cell *a, const struct cell *b)
{
    if (a->style != b->style)
        return false;
    return a->style != STYLE_GUEST || (a->attr == b->attr && a->fg == b->fg && a->bg == b->bg);
}

static void put_look(const struct cell *cell, struct buf *out)
{
    static const struct {
        int attr;
        const char *name;
    } names[] = {
        {ATTR_BOLD, "bold"},           {ATTR_DIM, "dim"},         {ATTR_ITALIC, "italic"},
        {ATTR_UNDERLINE, "underline"}, {ATTR_REVERSE, "reverse"}, {ATTR_STRIKE, "strike"},
        {ATTR_BLINK, "blink"},
    };
    put(out, NULL, "%s", style_name(cell->style));
    if (cell->style != STYLE_GUEST)
        return;
    put_color(out, "fg", cell->fg);
    put_color(out, "bg", cell->bg);
    for (size_t i = 0; i < countof(names); i++)
        if (cell->attr & names[i].attr)
            put(out, NULL, " %s", names[i].name);
}

void grid_dump(const struct grid *grid, bool styles, struct buf *out)
{
    for (int row = 0; row < grid->rows; row++)
        put_row(grid->cells + (size_t)row * grid->columns, grid->columns, out);
    if (!styles)
        return;
    for (int row = 0; row < grid->rows; row++) {
        const struct cell *cells = grid->cells + (size_t)row * grid->columns;
        for (int from = 0, to; from < grid->columns; from = to + 1) {
            for (to = from; to + 1 < grid->columns && same_look(cells + from, cells + to + 1);)
                to++;
            if (cells[from].style == STYLE_NORMAL)
                continue;
            put(out, NULL, "%d:%d-%d ", row, from, to);
            put_look(cells + from, out);
            put(out, NULL, "\n");
        }
    }
    if (grid->cursor)
        put(out, NULL, "%d:%d cursor\n", grid->cursor_row, grid->cursor_column);
}
