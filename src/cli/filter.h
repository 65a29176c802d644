/* filter.h: what of a guest's output may reach the person's terminal. Streaming: any cut of the input gives
 * the same output, but for a combining mark that begins a piece, which is then shown as its code.
 *
 * FILTER_PLAIN, for programs without a terminal: everything but text becomes visible codes (text.h); lines,
 * tabs and spaces stay. FILTER_SCREEN, for a pty: what draws passes; what makes a terminal do something else
 * does not: strings (titles, clipboard, palette, graphics, device requests), window operations, printing,
 * character sets other than UTF-8, C1 controls, invalid bytes. It remembers the modes that were turned on, so
 * that they can be turned off when the person leaves. */
#ifndef HUTCH_CLI_FILTER_H
#define HUTCH_CLI_FILTER_H

#include "base/buf.h"

#define FILTER_SEQUENCE_MAX 128 /* bytes of one control sequence; a longer one is dropped */
#define FILTER_MODES        24

enum filter_kind { FILTER_NONE, FILTER_PLAIN, FILTER_SCREEN };
enum filter_state {
    FILTER_TEXT,
    FILTER_ESCAPE,
    FILTER_ESCAPE_MORE,
    FILTER_CSI,
    FILTER_STRING,
    FILTER_STRING_ESCAPE
};

struct filter {
    enum filter_kind kind;
    enum filter_state state;
    char held[FILTER_SEQUENCE_MAX]; /* an unfinished character or sequence */
    size_t held_len;
    bool too_long;
    bool bell_ends;             /* the string ends with BEL too */
    bool changed[FILTER_MODES]; /* modes of filter.c's table that are not as usual */
    bool margins, cursor_shape, keyboard, charset, keypad;
};

void filter_init(struct filter *filter, enum filter_kind kind);
/* Appends what may pass to out (which must have no limit). */
void filter_feed(struct filter *filter, const void *data, size_t len, struct buf *out);
/* The output has ended: an unfinished character is shown as its bytes; an unfinished sequence is dropped. */
void filter_end(struct filter *filter, struct buf *out);
/* FILTER_SCREEN: appends what brings the terminal back to its usual modes; nothing if all are as usual. */
void filter_restore(struct filter *filter, struct buf *out);

#endif
