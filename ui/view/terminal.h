/* terminal.h: draws a terminal's pane: what the session shows, and the last row that the guest cannot touch.
 */
#ifndef HUTCH_UI_VIEW_TERMINAL_H
#define HUTCH_UI_VIEW_TERMINAL_H

#include "ui/model/terminal.h"

/* What the last row says of the project besides the terminal's own state. All optional. */
struct terminal_facts {
    const char *state;    /* the project's state if it is worth a word: "FROZEN", "PAUSED"; else NULL */
    const char *snapshot; /* "@18", NULL: "-" */
    int turn;             /* of an agent; 0: none */
    int waiting;          /* requests that wait for a person */
    bool others;          /* there is a screen around the pane: inbox, undo, snapshot, full screen work */
};

/* Draws the pane into an area and sets the grid's cursor if focused. facts may be NULL. */
void terminal_draw(const struct terminal *terminal, struct area area, const struct terminal_facts *facts,
                   bool focused);
/* The window's title for this terminal: "hutch: shop shell", with its state. Safe; the caller's to free. */
char *terminal_title(const struct terminal *terminal, const struct terminal_facts *facts);

#endif
