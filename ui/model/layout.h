/* layout.h: which part of the screen is where. A function of the size and of what is open, nothing else. */
#ifndef HUTCH_UI_LAYOUT_H
#define HUTCH_UI_LAYOUT_H

#include <stdbool.h>

#define LAYOUT_ROWS    16 /* fewer, or fewer columns than this: one pane at a time */
#define LAYOUT_COLUMNS 60
#define LAYOUT_TWO     120 /* columns from which on the detail stands at the right */
#define LAYOUT_THREE   160 /* from which on there are three columns */
#define LAYOUT_TABLE   5   /* rows of the projects' table above a tab */

enum pane { PANE_PROJECTS, PANE_TAB, PANE_DETAIL, PANE_TERMINAL, PANE_OVERLAY, PANE_COUNT };
struct box {
    int row, column, rows, columns; /* rows 0: not shown */
};
struct layout {
    struct box panes[PANE_COUNT];
    struct box tabs;      /* the line of tabs above PANE_TAB */
    int title, line, bar; /* rows; -1: not shown */
    int rules[2];         /* columns of upright lines between panes; -1: none */
    int rule_from, rule_to;
};
struct layout_wish {
    int rows, columns;
    int projects; /* rows of the table that there are */
    bool overlay; /* a view covers the panes */
    bool terminal, terminal_full;
    enum pane focus;
};
void layout_make(const struct layout_wish *wish, struct layout *ret);
bool box_shown(const struct box *box);

#endif
