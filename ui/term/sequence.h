/* sequence.h: one escape sequence of a key, mouse or focus report: taken apart, then looked up. Pure. */
#ifndef HUTCH_UI_TERM_SEQUENCE_H
#define HUTCH_UI_TERM_SEQUENCE_H

#include "ui/grid/key.h"

#include <stddef.h>

#define SEQUENCE_BYTES  256 /* what is longer is dropped */
#define SEQUENCE_PARAMS 6
#define SEQUENCE_NOT    SIZE_MAX

enum sequence_type { SEQUENCE_NONE, SEQUENCE_CSI, SEQUENCE_SS3 };

struct sequence {
    enum sequence_type type; /* NONE: nothing that means something */
    char prefix;             /* '<', '=', '>', '?' or 0 */
    char final;
    int count;
    int params[SEQUENCE_PARAMS]; /* 0: not given */
    int second;                  /* after a colon in the first: kitty's shifted key */
    int event;                   /* after a colon in the second: 3 is a release */
};

/* Bytes that begin with ESC [ or ESC O. Returns the length; 0: it is not whole; SEQUENCE_NOT: it is none, but
 * Alt with that letter. */
size_t sequence_parse(const uint8_t *data, size_t len, struct sequence *ret_sequence);
/* KEY_EVENT_NONE for what is not known, and for a key with Super, as that is the window manager's. */
void sequence_event(const struct sequence *sequence, struct key_event *ret_event);

#endif
