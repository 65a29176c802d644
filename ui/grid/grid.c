#include "ui/grid/grid.h"

#include "base/alloc.h"

#include <string.h>

static int between(int value, int least, int most)
{
    return value < least ? least : value > most ? most : value;
}

static struct cell *cells_create(int rows, int columns)
{
    struct cell *cells = xnewn(struct cell, (size_t)rows * columns);
    for (size_t i = 0; i < (size_t)rows * columns; i++)
        cells[i].width = 1;
    return cells;
}

struct grid *grid_create(int rows, int columns)
{
    struct grid *grid = xnew(struct grid);
    grid->rows = between(rows, 1, GRID_ROWS_MAX);
    grid->columns = between(columns, 1, GRID_COLUMNS_MAX);
    grid->cells = cells_create(grid->rows, grid->columns);
    return grid;
}

void grid_free(struct grid *grid)
{
    if (!grid)
        return;
    free(grid->cells);
    free(grid);
}

void grid_resize(struct grid *grid, int rows, int columns)
{
    rows = between(rows, 1, GRID_ROWS_MAX);
    columns = between(columns, 1, GRID_COLUMNS_MAX);
    if (rows == grid->rows && columns == grid->columns)
        return;
    struct grid old = *grid;
    grid->rows = rows;
    grid->columns = columns;
    grid->cells = cells_create(rows, columns);
    area_grid(area_all(grid), &old);
    free(old.cells);
    if (grid->cursor_row >= rows || grid->cursor_column >= columns) {
        grid->cursor = false;
        grid->cursor_row = grid->cursor_column = 0;
    }
}

void grid_clear(struct grid *grid)
{
    for (size_t i = 0; i < (size_t)grid->rows * grid->columns; i++)
        grid->cells[i] = (struct cell){.width = 1};
    grid->cursor = false;
    grid->cursor_row = grid->cursor_column = 0;
}

struct cell *grid_at(struct grid *grid, int row, int column)
{
    if (row < 0 || row >= grid->rows || column < 0 || column >= grid->columns)
        return NULL;
    return grid->cells + (size_t)row * grid->columns + column;
}

bool cell_equal(const struct cell *a, const struct cell *b)
{
    if (memcmp(a, b, sizeof(*a)) == 0)
        return true;
    if (a->width != b->width || a->style != b->style)
        return false;
    if (a->style == STYLE_GUEST && (a->attr != b->attr || a->fg != b->fg || a->bg != b->bg))
        return false;
    for (size_t i = 0; i < CELL_CODES; i++) {
        if (a->codes[i] != b->codes[i])
            return false;
        if (!a->codes[i])
            break;
    }
    return true;
}

bool cell_code_ok(uint32_t code)
{
    static const struct {
        uint32_t first, last;
    } refused[] = {
        {0x00, 0x1f},       {0x7f, 0x9f},     {0xad, 0xad},     {0x34f, 0x34f},     {0x61c, 0x61c},
        {0x115f, 0x1160},   {0x17b4, 0x17b5}, {0x180b, 0x180f}, {0x200b, 0x200f},   {0x2028, 0x202e},
        {0x2060, 0x206f},   {0x3164, 0x3164}, {0xd800, 0xdfff}, {0xfe00, 0xfe0f},   {0xfeff, 0xfeff},
        {0xffa0, 0xffa0},   {0xfff0, 0xfffb}, {0xfffe, 0xffff}, {0x1bca0, 0x1bca3}, {0x1d173, 0x1d17a},
        {0xe0000, 0xe0fff}, {0x110000, ~0u},
    };
    if (code >= 0x20 && code < 0x7f)
        return true;
    for (size_t i = 0; i < countof(refused); i++)
        if (code >= refused[i].first && code <= refused[i].last)
            return false;
    return true;
}

/* Writes one code point; returns its bytes. */
static size_t put_code(uint32_t code, char *out)
{
    static const struct {
        uint32_t most;
        uint8_t lead, shift;
    } forms[] = {{0x7f, 0, 0}, {0x7ff, 0xc0, 6}, {0xffff, 0xe0, 12}, {0x10ffff, 0xf0, 18}};
    size_t n = 0;
    while (n + 1 < countof(forms) && code > forms[n].most)
        n++;
    out[0] = (char)(forms[n].lead | code >> forms[n].shift);
    for (size_t i = 1; i <= n; i++)
        out[i] = (char)(0x80 | (code >> (6 * (n - i)) & 0x3f));
    return n + 1;
}

size_t cell_text(const struct cell *cell, char ret[CELL_BYTES])
{
    size_t len = 0;
    if (cell->width > 0 && !cell->codes[0])
        ret[len++] = ' ';
    for (size_t i = 0; cell->width > 0 && i < CELL_CODES && cell->codes[i]; i++)
        len += put_code(cell->codes[i], ret + len);
    ret[len] = '\0';
    return len;
}

static const struct {
    const char *name, *about;
} styles[STYLE_COUNT] = {
#define X(name, text, about) [STYLE_##name] = {text, about},
#include "ui/styles.def"
#undef X
    [STYLE_GUEST] = {"guest", "of a terminal that is shown, with colours of its own"},
};

const char *style_name(enum style style)
{
    require(style < STYLE_COUNT);
    return styles[style].name;
}

const char *style_about(enum style style)
{
    require(style < STYLE_COUNT);
    return styles[style].about;
}
