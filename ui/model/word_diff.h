/* word_diff.h: which words of a line are others than those of the line that it took the place of. */
#ifndef HUTCH_UI_WORD_DIFF_H
#define HUTCH_UI_WORD_DIFF_H

#include <stddef.h>

#define WORD_SPANS 32 /* of one line; what is behind them is one */

/* Bytes that changed: from start, up to end. */
struct word_span {
    size_t start, end;
};
struct word_diff {
    struct word_span old[WORD_SPANS], new[WORD_SPANS];
    size_t old_count, new_count;
};
/* Compares two lines of UTF-8. Lines that have little in common have no spans: all of them changed. */
void word_diff(const char *old, const char *new, struct word_diff *ret);

#endif
