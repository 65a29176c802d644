/* theme.h: how each style looks, by theme. Pure data. */
#ifndef HUTCH_UI_TERM_THEME_H
#define HUTCH_UI_TERM_THEME_H

#include "ui/grid/grid.h"
#include "ui/term/term.h"

struct look {
    uint32_t fg, bg; /* COLOR_… of grid.h */
    uint32_t attr;   /* enum cell_attr */
};

/* The look of a style (not STYLE_GUEST) on a terminal of so many colours: dark and light need 256 and are the
 * theme of 16 else; without colours each theme is mono. */
struct look theme_look(enum theme theme, enum style style, int colors);

#endif
