/* outer.h: the terminal around a program under test: a pty whose other side is libvterm, and a log of every
 * byte. Nothing waits for time: outer_sync waits for a mark that goes through the pty behind all that was
 * written. */
#ifndef HUTCH_TEST_OUTER_H
#define HUTCH_TEST_OUTER_H

#include "base/buf.h"

#include <stdbool.h>
#include <sys/types.h>
#include <termios.h>
#include <vterm.h>

struct outer {
    int master, slave;
    int rows, columns;
    VTerm *vterm;
    VTermScreen *screen;
    struct buf log; /* since outer_clear */
    size_t fed;     /* of it to libvterm */
    bool answers;   /* what libvterm answers goes back to the program */
    bool alternate, cursor;
    int cursor_row, cursor_column;
    int bells;
    char title[256];
    unsigned marks;
};

void outer_init(struct outer *outer, int rows, int columns);
void outer_finish(struct outer *outer);
void outer_resize(struct outer *outer, int rows, int columns);
/* Takes what is there into the log; false if the other side is closed. */
bool outer_pump(struct outer *outer);
/* Shows libvterm what came: in one piece, as 0.1.4 loses a mark that comes apart from its letter. */
void outer_feed(struct outer *outer);
/* Until all that was written to the slave has been taken and shown. */
void outer_sync(struct outer *outer);
/* Empties the log, not the screen. */
void outer_clear(struct outer *outer);
/* Types bytes, and waits until they can be read at the slave. */
void outer_type(struct outer *outer, const char *bytes, size_t len);
/* A private mode ("2004"), by the last time that it was set or reset in the log. */
bool outer_mode(const struct outer *outer, const char *mode);
bool outer_logged(const struct outer *outer, const char *bytes);
VTermScreenCell outer_cell(const struct outer *outer, int row, int column);
/* The text of a row, without blanks at its end; the caller's to free. */
char *outer_row(const struct outer *outer, int row);

#endif
