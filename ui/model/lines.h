/* lines.h: what a program wrote, as lines of safe text: escape sequences are taken out, a carriage return
 * begins the line anew, all else that is no text becomes visible codes. The newest lines are kept. */
#ifndef HUTCH_UI_LINES_H
#define HUTCH_UI_LINES_H

#include "ui/grid/grid.h"

#define LINES_MAX   10000
#define LINES_BYTES (1 << 20)
#define LINE_BYTES  2000 /* of one line; the rest of a longer one is the next */

struct line {
    char *text; /* safe */
    enum style style;
};
/* Zeroed it is empty. Positions count from the first line that ever came; those below `first` were dropped.
 */
struct lines {
    struct line *ring;
    size_t first, end, bytes;
};
enum lines_state { LINES_TEXT, LINES_ESCAPE, LINES_CSI, LINES_STRING, LINES_STRING_END, LINES_ONE };
/* A stream of bytes that becomes lines; several may go into the same lines. Zeroed it is at its start. */
struct lines_stream {
    enum style style;
    enum lines_state state;
    char raw[LINE_BYTES + 1];
    size_t len, open; /* open: position + 1 of the line that has no end yet, 0: none */
    bool back;        /* a carriage return came */
};

/* Forgets all lines; positions begin anew. */
void lines_clear(struct lines *lines);
void lines_add(struct lines *lines, enum style style, const char *safe);
/* Takes bytes. Returns the lowest position that changed, SIZE_MAX: none. */
size_t lines_take(struct lines *lines, struct lines_stream *stream, const uint8_t *bytes, size_t len);
/* NULL: dropped, or not there yet. */
const struct line *lines_at(const struct lines *lines, size_t position);

#endif
