#include "ui/grid/grid.h"

#include "base/alloc.h"

#include <string.h>

#define REPLACEMENT 0xfffd

/* The cells of one line of an area that may be drawn: columns from…to of the grid; none if row is NULL. */
struct span {
    struct cell *row;
    int columns; /* of the grid */
    int from, to;
    int64_t origin; /* the grid's column of the area's first */
};

static struct span span_of(struct area area, int row)
{
    struct grid *grid = area.grid;
    int64_t at = (int64_t)area.row + row;
    if (row < 0 || row >= area.rows || at < 0 || at >= grid->rows)
        return (struct span){0};
    int64_t from = area.column < 0 ? 0 : area.column, to = (int64_t)area.column + area.columns;
    if (to > grid->columns)
        to = grid->columns;
    if (from >= to)
        return (struct span){0};
    return (struct span){
        .row = grid->cells + (size_t)at * grid->columns,
        .columns = grid->columns,
        .from = (int)from,
        .to = (int)to,
        .origin = area.column,
    };
}

/* Takes a cell out of its wide character: the other half becomes a blank. */
static void cell_break(struct span span, int column)
{
    struct cell *cell = span.row + column;
    struct cell *other = cell->width == 0 && column > 0                  ? cell - 1
                         : cell->width == 2 && column + 1 < span.columns ? cell + 1
                                                                         : NULL;
    if (other && other->width + cell->width == 2) {
        memset(other->codes, 0, sizeof(other->codes));
        other->width = 1;
    }
}

/* Puts a cell where it fits; a wide one takes the column after it. */
static void span_put(struct span span, int column, const struct cell *cell)
{
    cell_break(span, column);
    if (cell->width == 2) {
        cell_break(span, column + 1);
        span.row[column + 1] = *cell;
        span.row[column + 1].width = 0;
        memset(span.row[column + 1].codes, 0, sizeof(cell->codes));
    }
    span.row[column] = *cell;
}

/* Puts a cell at any column: outside of the span it is dropped, half outside it becomes blank. */
static void span_put_clipped(struct span span, int64_t column, const struct cell *cell)
{
    struct cell blank = *cell;
    blank.width = 1;
    memset(blank.codes, 0, sizeof(blank.codes));
    bool left = column >= span.from && column < span.to;
    bool right = cell->width == 2 && column + 1 >= span.from && column + 1 < span.to;
    if (left && (right || cell->width != 2))
        span_put(span, (int)column, cell);
    else if (left)
        span_put(span, (int)column, &blank);
    else if (right)
        span_put(span, (int)column + 1, &blank);
}

static void cell_add_mark(struct cell *cell, uint32_t code)
{
    for (size_t i = 1; i < CELL_CODES; i++) {
        if (!cell->codes[i]) {
            cell->codes[i] = code;
            return;
        }
    }
}

struct area area_all(struct grid *grid)
{
    return (struct area){.grid = grid, .rows = grid->rows, .columns = grid->columns};
}

/* Cuts `*start`, `*len` to 0…most. */
static void clip(int *start, int *len, int most)
{
    int64_t from = *start, to = from + (*len < 0 ? 0 : *len);
    from = from < 0 ? 0 : from > most ? most : from;
    to = to > most ? most : to;
    *start = (int)from;
    *len = to > from ? (int)(to - from) : 0;
}

struct area area_part(struct area area, int row, int column, int rows, int columns)
{
    clip(&row, &rows, area.rows);
    clip(&column, &columns, area.columns);
    return (struct area){area.grid, area.row + row, area.column + column, rows, columns};
}

/* A code point of text as the first of a cell. */
static struct cell cell_of(int32_t code, enum style style)
{
    uint32_t shown = code < 0 || !cell_code_ok((uint32_t)code) ? REPLACEMENT : (uint32_t)code;
    struct cell cell = {.codes = {shown}, .style = (uint8_t)style, .width = 1};
    if (shown != REPLACEMENT)
        cell.width = (uint8_t)text_width(shown);
    return cell;
}

int area_text(struct area area, int row, int column, int columns, enum style style, const char *utf8)
{
    struct span span = span_of(area, row);
    size_t len = strlen(utf8);
    int used = 0;
    struct cell pending = {0}; /* waits for its marks */
    int64_t pending_at = 0;
    for (size_t at = 0; at < len;) {
        int32_t code;
        at += text_decode(utf8 + at, len - at, &code);
        struct cell cell = cell_of(code, style);
        if (cell.width == 0) {
            if (pending.codes[0])
                cell_add_mark(&pending, cell.codes[0]);
            continue;
        }
        if (pending.codes[0] && span.row)
            span_put_clipped(span, pending_at, &pending);
        pending = (struct cell){0};
        if (used >= columns)
            return used;
        if (used + cell.width > columns)
            cell = (struct cell){.style = (uint8_t)style, .width = 1};
        pending_at = span.origin + column + used;
        used += cell.width;
        if (!cell.codes[0] && span.row)
            span_put_clipped(span, pending_at, &cell);
        pending = cell;
        if (!cell.codes[0])
            return used;
    }
    if (pending.codes[0] && span.row)
        span_put_clipped(span, pending_at, &pending);
    return used;
}

int area_printf(struct area area, int row, int column, int columns, enum style style, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    autofree char *text = xvasprintf(format, args);
    va_end(args);
    return area_text(area, row, column, columns, style, text);
}

int area_text_cut(struct area area, int row, int column, int columns, enum style style, const char *utf8,
                  bool right)
{
    int64_t visible = (int64_t)area.columns - column;
    if (columns > visible)
        columns = (int)visible;
    if (columns <= 0)
        return 0;
    size_t width;
    text_clip(utf8, strlen(utf8), SIZE_MAX, &width);
    if (width <= (size_t)columns)
        return area_text(area, row, right ? column + columns - (int)width : column, columns, style, utf8);
    int used = area_text(area, row, column, columns - 1, style, utf8);
    return used + area_text(area, row, column + used, 1, style, "+");
}

void area_fill(struct area area, int row, int column, int columns, enum style style, uint32_t code)
{
    struct span span = span_of(area, row);
    if (!span.row)
        return;
    struct cell blank = {.style = (uint8_t)style, .width = 1};
    struct cell cell = code ? cell_of(code > INT32_MAX ? -1 : (int32_t)code, style) : blank;
    if (cell.width == 0)
        cell = blank;
    clip(&column, &columns, area.columns);
    int64_t at = span.origin + column, end = at + columns;
    for (; at + cell.width <= end; at += cell.width)
        span_put_clipped(span, at, &cell);
    if (at < end)
        span_put_clipped(span, at, &blank);
}

void area_style(struct area area, int row, int column, int columns, enum style style)
{
    struct span span = span_of(area, row);
    if (!span.row)
        return;
    clip(&column, &columns, area.columns);
    for (int64_t at = span.origin + column; at < span.origin + column + columns; at++)
        if (at >= span.from && at < span.to)
            span.row[at].style = (uint8_t)style;
}

/* A cell from elsewhere, with what may not be shown taken out. */
static struct cell cell_clean(const struct cell *from)
{
    struct cell cell = *from;
    if (cell.style >= STYLE_COUNT)
        cell.style = STYLE_NORMAL;
    memset(cell.codes, 0, sizeof(cell.codes));
    cell.width = cell.width == 2 ? 2 : 1;
    if (!from->codes[0])
        cell.width = 1;
    else
        cell.codes[0] = cell_code_ok(from->codes[0]) ? from->codes[0] : REPLACEMENT;
    for (size_t i = 1; cell.codes[0] && i < CELL_CODES && from->codes[i]; i++)
        if (cell_code_ok(from->codes[i]) && text_width(from->codes[i]) == 0)
            cell_add_mark(&cell, from->codes[i]);
    return cell;
}

void area_cell(struct area area, int row, int column, const struct cell *cell)
{
    struct span span = span_of(area, row);
    if (!span.row)
        return;
    struct cell clean = cell_clean(cell);
    span_put_clipped(span, span.origin + column, &clean);
}

void area_grid(struct area area, const struct grid *from)
{
    for (int row = 0; row < area.rows && row < from->rows; row++) {
        struct span span = span_of(area, row);
        if (!span.row)
            continue;
        const struct cell *cells = from->cells + (size_t)row * from->columns;
        for (int column = 0; column < area.columns && column < from->columns; column++) {
            struct cell cell = cell_clean(cells + column);
            if (cell.width == 2 && (column + 1 == from->columns || cells[column + 1].width != 0)) {
                cell.width = 1;
                memset(cell.codes, 0, sizeof(cell.codes));
            }
            span_put_clipped(span, span.origin + column, &cell);
            if (cell.width == 2)
                column++;
        }
    }
}
