/* input.h: one line that is typed: a filter, a search, a name. */
#ifndef HUTCH_UI_INPUT_H
#define HUTCH_UI_INPUT_H

#include "ui/grid/key.h"

#define INPUT_MAX 1000 /* bytes */

struct input {
    char text[INPUT_MAX + 1]; /* UTF-8 of what can be shown */
    size_t len, at;           /* at: the cursor, in bytes */
};
enum input_result {
    INPUT_IGNORED, /* not a key of a line: the caller may use it */
    INPUT_MOVED,
    INPUT_CHANGED,
    INPUT_DONE,  /* Enter */
    INPUT_CANCEL /* Esc */
};

void input_set(struct input *input, const char *text);
/* Characters, a paste (its first line), Backspace, Delete, arrows, Home, End, ^A ^E ^U ^W ^K. */
enum input_result input_key(struct input *input, const struct key_event *key);
/* Columns before the cursor. */
int input_column(const struct input *input);

#endif
