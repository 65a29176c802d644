/* pairs.h: the few colour pairs of a terminal for the many of its cells: the least recently used one is given
 * to a new pair of colours. Pure: the caller tells curses. */
#ifndef HUTCH_UI_TERM_PAIRS_H
#define HUTCH_UI_TERM_PAIRS_H

#include <stdbool.h>

struct pairs;

/* Pairs 1…most; pair 0 is the default colours. most may be 0. */
struct pairs *pairs_create(int most);
void pairs_free(struct pairs *pairs);
/* A new frame begins: what is asked for from here on is not given away until the next. */
void pairs_frame(struct pairs *pairs);
/* The pair of two colours (-1: default). True: it is new or had other colours and must be set. If a frame has
 * more than there are, the ones that are too many get a pair with the same background, or 0. */
bool pairs_get(struct pairs *pairs, int fg, int bg, int *ret_pair);

#endif
