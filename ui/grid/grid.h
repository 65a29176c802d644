/* grid.h: a screen as cells: what is drawn, before anything is sent to a terminal. All drawing clips by
 * columns; no cell outside of the given area is ever touched, whatever the text is, but for one case: the
 * other half of a wide character that is overwritten by half becomes a blank. Owns nothing outside of its
 * cells. */
#ifndef HUTCH_UI_GRID_H
#define HUTCH_UI_GRID_H

#include "base/buf.h"
#include "base/text.h"

#include <stdbool.h>
#include <stdint.h>

#define GRID_ROWS_MAX    1000
#define GRID_COLUMNS_MAX 2000
#define CELL_CODES       6 /* a base and the marks on it; more are dropped */

enum style {
#define X(name, text, about) STYLE_##name,
#include "ui/styles.def"
#undef X
    STYLE_GUEST, /* of an emulated terminal: fg, bg and attr of the cell count */
    STYLE_COUNT
};

enum cell_attr {
    ATTR_BOLD = 1,
    ATTR_DIM = 2,
    ATTR_ITALIC = 4,
    ATTR_UNDERLINE = 8,
    ATTR_REVERSE = 16,
    ATTR_STRIKE = 32,
    ATTR_BLINK = 64,
};
/* A colour of a guest's cell: one of these kinds with its value in the low 24 bits. */
#define COLOR_DEFAULT  0x00000000u
#define COLOR_INDEX    0x01000000u /* | 0–255 */
#define COLOR_RGB      0x02000000u /* | 0xrrggbb */
#define COLOR_KIND(c)  ((c)&0xff000000u)
#define COLOR_VALUE(c) ((c)&0x00ffffffu)

struct cell {
    uint32_t codes[CELL_CODES]; /* 0-ended if shorter; codes[0] == 0: a blank */
    uint8_t width;              /* 1; 2: the left half of a wide one; 0: the right half */
    uint8_t style;              /* enum style */
    uint16_t attr;              /* enum cell_attr, STYLE_GUEST only */
    uint32_t fg, bg;            /* STYLE_GUEST only */
};
struct grid {
    int rows, columns;
    struct cell *cells; /* row by row */
    int cursor_row, cursor_column;
    bool cursor; /* shown */
};
/* An area of a grid. Drawing into it is clipped to it; it may be empty. */
struct area {
    struct grid *grid;
    int row, column, rows, columns;
};

/* All cells blank and STYLE_NORMAL, no cursor. Sizes are limited to 1…GRID_…_MAX. */
struct grid *grid_create(int rows, int columns);
void grid_free(struct grid *grid);
AUTO_DEFINE(grid, struct grid *, grid_free);
/* The top left stays, new cells are blank; a cursor that is outside then is hidden. */
void grid_resize(struct grid *grid, int rows, int columns);
/* As after grid_create. */
void grid_clear(struct grid *grid);
/* NULL outside of the grid. */
struct cell *grid_at(struct grid *grid, int row, int column);
/* Whether they look the same: colours count only for a guest's. */
bool cell_equal(const struct cell *a, const struct cell *b);
/* Whether a code point may be sent to a terminal: no control, nothing that turns the direction of writing, is
 * invisible or not in Unicode. All drawing puts U+FFFD in place of others, and drops them among marks. */
bool cell_code_ok(uint32_t code);
/* A cell's text in UTF-8, terminated: a blank is a space, a right half empty. Returns its length. */
#define CELL_BYTES (CELL_CODES * 4 + 1)
size_t cell_text(const struct cell *cell, char ret[CELL_BYTES]);

struct area area_all(struct grid *grid);
/* A part of an area, in its coordinates, clipped to it: row 0 of the part is the first that is visible. */
struct area area_part(struct area area, int row, int column, int rows, int columns);
/* Draws safe text (struct text, or our own UTF-8) from a column on, at most `columns` of it; a wide character
 * that does not fit whole is left out and its column blank. Marks join the letter before them; one without a
 * letter is dropped. Returns the columns used, those outside of the area (column may be negative) included.
 */
int area_text(struct area area, int row, int column, int columns, enum style style, const char *utf8);
int area_printf(struct area area, int row, int column, int columns, enum style style, const char *format, ...)
    __attribute__((format(printf, 6, 7)));
/* The same, but text that is longer (or passes the area) ends in "+" in its last column; right: aligned to
 * the right end. */
int area_text_cut(struct area area, int row, int column, int columns, enum style style, const char *utf8,
                  bool right);
/* Fills with a character, 0 for blanks; in an odd last column a wide one leaves a blank. */
void area_fill(struct area area, int row, int column, int columns, enum style style, uint32_t code);
/* Gives cells another style and leaves what they show. */
void area_style(struct area area, int row, int column, int columns, enum style style);
/* Puts one cell, as an emulator has it; a wide one takes two columns, its right half need not be put. What
 * cannot be shown is replaced as in text. */
void area_cell(struct area area, int row, int column, const struct cell *cell);
/* Copies a grid's cells into an area, from its top left; its cursor is not taken. */
void area_grid(struct area area, const struct grid *from);

/* The text of the grid: a line a row, trailing blanks cut. styles: after the text, a line "row:column-column
 * style" for each run that is not normal (a guest's with its colours), and "row:column cursor" if it is
 * shown; all from 0. Golden files are this. */
void grid_dump(const struct grid *grid, bool styles, struct buf *out);
/* Of styles.def; "guest" for STYLE_GUEST. */
const char *style_name(enum style style);
const char *style_about(enum style style);

#endif
