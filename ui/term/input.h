/* input.h: what a terminal sends becomes events: no descriptors, no clock, no curses. Knows xterm's, rxvt's,
 * the Linux console's and kitty's keys, SGR and old mouse reports, bracketed paste and focus; answers to
 * questions of ours are kept apart from keys. Owns the bytes that are not yet an event, a few hundred at
 * most, and a paste that has begun. */
#ifndef HUTCH_UI_TERM_INPUT_H
#define HUTCH_UI_TERM_INPUT_H

#include "base/buf.h"
#include "ui/grid/key.h"

#include <stddef.h>

#define INPUT_ESCAPE_MS   25   /* a lone Escape, or Alt with [ or O */
#define INPUT_SEQUENCE_MS 1000 /* the rest of a sequence that has begun */
#define INPUT_STRING_MAX  4096 /* bytes of an answer that is a string; what is longer is no answer */

struct input {
    struct buf bytes; /* not yet looked at, or the start of a sequence */
    struct buf paste;
    bool pasting;
    bool paste_lost; /* passed KEY_PASTE_MAX */
    bool in_string;  /* of an answer: dropped up to its end */
    size_t string_len;
    bool erase_is_bs; /* the terminal's erase character is ^H */
    int positions;    /* cursor position reports that are awaited: else they read as F3 */
    int row, column;  /* the last one, from 1 */
    int positions_seen;
    int attributes_seen; /* device attributes */
};

void input_init(struct input *input);
void input_finish(struct input *input);
/* Bytes as they were read; any division gives the same events. */
void input_feed(struct input *input, const void *bytes, size_t len);
/* The next event, which is the caller's to finish; false: none. late: the time of input_wait passed without
 * another byte, so that what is there is all: a lone Escape is the key, half a sequence is dropped. */
bool input_next(struct input *input, bool late, struct key_event *ret_event);
/* How long to wait for more after input_next gave false, in ms; -1: nothing is pending. */
int input_wait(const struct input *input);

#endif
