/* palette.h: a colour in as many colours as a terminal has. Pure. */
#ifndef HUTCH_UI_TERM_PALETTE_H
#define HUTCH_UI_TERM_PALETTE_H

#include <stdint.h>

#define PALETTE_DIRECT (1 << 24) /* colours of a terminal with direct colour */

/* What xterm shows for 0–255, as 0xrrggbb. */
uint32_t palette_rgb(int index);
/* A COLOR_… of grid.h as a number for a terminal of so many colours (8, 16, 256, PALETTE_DIRECT); -1 for the
 * default and for a terminal without colours. With 8 colours 8–15 is a bright one: bold, or the same without
 * it. With direct colour 0–255 is an index, what is above 0xrrggbb; the 256 darkest blues become one green
 * more. */
int palette_color(uint32_t color, int colors);

#endif
