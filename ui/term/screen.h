/* screen.h: curses: a grid becomes the bytes that turn what the terminal shows into it. Curses writes into
 * memory, never to the terminal, so that the bytes can be counted, sent at once and held back. */
#ifndef HUTCH_UI_TERM_SCREEN_H
#define HUTCH_UI_TERM_SCREEN_H

#include "ui/grid/grid.h"
#include "ui/term/term.h"

struct screen;

struct screen_options {
    const char *type; /* of TERM */
    bool direct;      /* use the entry hutch-direct if it is found */
    bool mono, utf8;
    int rows, columns;
};

/* ERROR_INVALID: curses does not know the terminal, or it cannot move its cursor. Locale: LC_CTYPE is taken
 * from the environment before. */
int screen_create(const struct screen_options *options, struct screen **ret_screen, struct error **err);
void screen_free(struct screen *screen);
AUTO_DEFINE(screen, struct screen *, screen_free);
/* 0, 8, 16, 256 or PALETTE_DIRECT. */
int screen_colors(const struct screen *screen);
void screen_theme(struct screen *screen, enum theme theme);
/* Only ASCII from now on; the terminal showed UTF-8 in columns of bytes. */
void screen_ascii(struct screen *screen);
/* Appends the bytes that draw the grid on a terminal of that size, none if nothing changed. */
void screen_draw(struct screen *screen, const struct grid *grid, int rows, int columns, bool full,
                 struct buf *out);
/* What was drawn last, everything anew. */
void screen_redraw(struct screen *screen, int rows, int columns, struct buf *out);
/* The last grid is not what is shown any more: the next drawing enters the screen and draws all. */
void screen_leave(struct screen *screen);
/* What curses has written since: after screen_create it enters the screen. */
void screen_take(struct screen *screen, struct buf *out);
/* The strings that give the terminal back: attributes, cursor, keypad, screen. */
void screen_back(struct screen *screen, struct buf *out);

#endif
