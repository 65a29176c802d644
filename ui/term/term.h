/* term.h: the person's terminal, and the only part that knows curses: a grid becomes what is on the screen
 * (changed cells only), what is typed becomes events. The terminal is given back on every way out, also on
 * fatal signals. */
#ifndef HUTCH_UI_TERM_H
#define HUTCH_UI_TERM_H

#include "ui/grid/grid.h"
#include "ui/grid/key.h"

enum theme { THEME_DARK, THEME_LIGHT, THEME_16, THEME_MONO };

#define TERM_COPY_MAX (64 << 10)

struct term_options {
    int fd_in, fd_out; /* a terminal each; not closed */
    enum theme theme;  /* THEME_MONO is also taken with NO_COLOR and terminals without colours */
    bool lines;        /* line drawing characters may be used, if the terminal's widths are as expected */
    bool mouse;
};
struct term_caps {
    int colors; /* 0, 8, 16, 256, 1 << 24 */
    bool utf8, lines, clipboard, title;
};
struct term;

/* ERROR_INVALID: no terminal, or one that cannot do it (TERM=dumb, unknown), with what to do. One at a time.
 * Sets LC_CTYPE as the environment has it. With options->lines the terminal's widths are asked for, which
 * takes half a second at most if it does not answer. The size is the caller's to watch (SIGWINCH), and
 * SIGTSTP too. */
int term_create(const struct term_options *options, struct term **ret_term, struct error **err);
void term_free(struct term *term); /* the terminal is as it was */
const struct term_caps *term_caps(const struct term *term);
/* The size now (from the terminal, not from what it was). */
void term_size(struct term *term, int *ret_rows, int *ret_columns);
/* The next event of what was read; call until false after fd_in is readable. A lone Escape comes after 25 ms:
 * *ret_wait_ms is then how long to wait before calling again (-1: nothing is pending). The event is the
 * caller's to finish. */
bool term_key(struct term *term, struct key_event *ret_event, int *ret_wait_ms);
/* Whether the terminal is gone (hung up): fd_in must not be polled any more. */
bool term_lost(const struct term *term);
/* Puts a grid on the screen; writes the difference only, nothing if there is none. full: everything anew. A
 * changed size of the terminal is found here. Returns the bytes written or queued. It waits 100 ms at most
 * for a slow terminal; while bytes of before wait it draws nothing and returns 0. */
size_t term_draw(struct term *term, const struct grid *grid, bool full);
/* Whether bytes wait because the terminal takes no more (some are written now): draw again when fd_out is
 * writable. */
bool term_pending(struct term *term);
/* What a guest asked for while its pane has the focus. Bits of enum term_mode; what is not given is switched
 * off. */
enum term_mode {
    TERM_MOUSE_CLICKS = 1,
    TERM_MOUSE_DRAG = 2,
    TERM_MOUSE_MOVE = 4,
    TERM_FOCUS = 8,
    TERM_KITTY_KEYS = 16
};
void term_modes(struct term *term, int modes);
/* The option `mouse` again. */
void term_mouse(struct term *term, bool on);
/* The clipboard (OSC 52), write only; at most TERM_COPY_MAX bytes. ERROR_LIMIT, ERROR_MISSING. */
int term_copy(struct term *term, const char *bytes, size_t len, struct error **err);
/* The window's title, given back at the end; only the first 256 bytes. */
void term_title(struct term *term, const char *safe);
void term_bell(struct term *term);
/* A notification of the desktop (OSC 9 or 777): of the first 256 bytes; nothing where no terminal has it. */
void term_notify(struct term *term, const char *safe);
/* The terminal as it was, for a stop or an editor; term_resume takes it again, as it is then, and draws all.
 * Nothing is drawn or read between them. */
void term_suspend(struct term *term);
void term_resume(struct term *term);
void term_theme(struct term *term, enum theme theme);

#endif
