/* history.h: the lines that have left a terminal's screen at its top, as logical lines: a line that was
 * wrapped is one, and is wrapped anew for the width it is read at. Bounded by lines and by bytes; the oldest
 * go. */
#ifndef HUTCH_UI_HISTORY_H
#define HUTCH_UI_HISTORY_H

#include "ui/grid/grid.h"

#define HISTORY_LINE_CELLS 4096 /* a longer logical line is kept in pieces */

struct history;

/* lines and bytes: what is kept at most; columns: the width that rows are counted for. */
struct history *history_create(int lines, size_t bytes, int columns);
void history_free(struct history *history);
/* Adds a row of a screen: len cells. wrapped: the next row that is added goes on with the same line. */
void history_push(struct history *history, const struct cell *cells, int len, bool wrapped);
/* The next row does not go on with the last line. */
void history_close(struct history *history);
/* Whether it would. */
bool history_open(const struct history *history);
/* Takes the newest line out of the history: its cells (the caller's to free) and their count; NULL: none. */
struct cell *history_take(struct history *history, int *ret_len);
void history_clear(struct history *history);
/* The width that the functions below count rows for. */
void history_set_columns(struct history *history, int columns);
int history_rows(const struct history *history);
/* Writes the row n (0: the newest) into `cells` of the set width; blanks behind its end. Returns true if the
 * next newer row goes on with the same line. */
bool history_row(struct history *history, int n, struct cell *cells);
/* Rows that were ever added. */
uint64_t history_pushed(const struct history *history);
size_t history_bytes(const struct history *history);

/* Where a row that begins at cell `start` of a logical line ends, if rows have `columns` cells: a wide
 * character is never cut. */
int history_break(const struct cell *cells, int len, int start, int columns);
/* A blank cell of a guest's. */
static inline struct cell history_blank(void)
{
    return (struct cell){.width = 1, .style = STYLE_GUEST};
}

#endif
