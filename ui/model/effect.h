/* effect.h: what the model wants done, as data: carried out by src/cli/screen*.c, or looked at by a test. */
#ifndef HUTCH_UI_EFFECT_H
#define HUTCH_UI_EFFECT_H

#include "base/buf.h"

#include <jansson.h>

enum effect_type {
    EFFECT_CALL,  /* method, path, body (or bytes: a body as it is): one call; MESSAGE_ANSWER */
    EFFECT_LINES, /* the same with an answer of lines: MESSAGE_LINE …, MESSAGE_ANSWER (its body: the last
                     line's "result", its error: that line's "error") */
    EFFECT_BYTES, /* a GET whose answer is bytes: MESSAGE_BYTES …, MESSAGE_ANSWER. No more is read from hutchd
                     while more than 256 KiB wait for the model. */
    EFFECT_WRITE,  /* bytes for the body of a POST that stays open (a session's stdin); the first one has the
                       path, later ones the same id.  MESSAGE_ANSWER at its end. */
    EFFECT_CANCEL, /* id: no more of that effect; no answer follows */
    EFFECT_COPY,   /* text to the clipboard */
    EFFECT_TITLE,  /* the window's title: text */
    EFFECT_BELL,
    EFFECT_NOTIFY, /* a desktop or terminal notification: text */
    EFFECT_MODES,  /* number: enum term_mode */
    EFFECT_THEME,  /* number: enum theme */
    EFFECT_MOUSE,  /* number: 1 on, 0 off */
    EFFECT_EDIT,   /* $EDITOR on the file text; MESSAGE_ANSWER when it has ended */
    EFFECT_PAGE, /* the person's pager on what hutch writes with the words of body (an array); MESSAGE_ANSWER
                    when it has ended */
    EFFECT_SUSPEND,
    EFFECT_REDRAW, /* everything anew */
    EFFECT_DUMP,   /* the screen as text into the file text */
    EFFECT_TIMER,  /* number: MESSAGE_TIME after so many ms; a later one replaces an earlier one */
    EFFECT_QUIT,
};
struct effect {
    enum effect_type type;
    uint64_t id; /* unique, never 0 for what is answered */
    char *method, *path, *text;
    json_t *body;
    struct buf bytes;
    int64_t number;
    struct effect *next;
};
/* A queue; zeroed it is an empty one. When MESSAGE_DOWN comes all calls are over: no answer to them follows.
 */
struct effects {
    struct effect *first, *last;
};

/* Appends an empty effect of a type; the queue owns it. */
struct effect *effects_add(struct effects *effects, enum effect_type type);
/* The same with a text (copied) and a number. */
struct effect *effects_add_text(struct effects *effects, enum effect_type type, const char *text,
                                int64_t number);
/* Takes the first one out (the caller's then), or NULL. */
struct effect *effects_take(struct effects *effects);
void effects_finish(struct effects *effects);
void effect_free(struct effect *effect);
AUTO_DEFINE(effect, struct effect *, effect_free);

#endif
