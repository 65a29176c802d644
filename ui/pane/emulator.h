/* emulator.h: a terminal inside of a terminal: a session's bytes become cells, a person's keys the session's
 * bytes. One adapter over libvterm 0.1.4 and 0.3. The bytes are a guest's: nothing of them reaches the real
 * terminal but cells; clipboard, titles, reports that echo text, graphics, printer and other strings are
 * dropped (security.md A16). */
#ifndef HUTCH_UI_EMULATOR_H
#define HUTCH_UI_EMULATOR_H

#include "ui/grid/grid.h"
#include "ui/grid/key.h"

#define EMULATOR_LINES 10000      /* of scrollback by default */
#define EMULATOR_BYTES (16 << 20) /* of memory for scrollback at most */

struct emulator;

struct emulator_options {
    int rows, columns;
    int lines; /* of scrollback; 0: EMULATOR_LINES */
    /* Bytes for the session: typed keys, and answers to its harmless questions (cursor position, device
     * attributes). */
    void (*input)(const uint8_t *bytes, size_t len, void *user);
    void (*bell)(void *user);
};
/* The bits are those of enum term_mode (ui/term/term.h), which a pane may not include. */
enum emulator_mode {
    EMULATOR_MOUSE_CLICKS = 1,
    EMULATOR_MOUSE_DRAG = 2,
    EMULATOR_MOUSE_MOVE = 4,
    EMULATOR_FOCUS = 8,
    EMULATOR_KITTY_KEYS = 16
};
/* What the guest asked for of keyboard and mouse. */
struct emulator_wants {
    int modes;                    /* enum emulator_mode */
    bool paste, focus, alternate; /* bracketed paste, focus events, alternate screen */
    bool cursor;
};

struct emulator *emulator_create(const struct emulator_options *options, void *user);
void emulator_free(struct emulator *emulator);
AUTO_DEFINE(emulator, struct emulator *, emulator_free);
void emulator_feed(struct emulator *emulator, const uint8_t *bytes, size_t len);
/* A line that is cut by a narrower screen is kept and comes back with a wider one. */
void emulator_resize(struct emulator *emulator, int rows, int columns);
void emulator_reset(struct emulator *emulator);
/* Draws into an area. back: lines scrolled up, 0: the present; the cursor is set in the grid if focused and
 * at the present. */
void emulator_draw(const struct emulator *emulator, struct area area, int back, bool focused);
int emulator_lines(const struct emulator *emulator); /* of scrollback that can be gone back */
/* Rows that have ever left the screen at its top: by how much `back` must grow to show the same lines. */
uint64_t emulator_scrolled(const struct emulator *emulator);
void emulator_wants(const struct emulator *emulator, struct emulator_wants *ret_wants);
/* Sends a key, paste, mouse or focus event as the guest asked to have it; what it did not ask for is dropped.
 */
void emulator_key(struct emulator *emulator, const struct key_event *event);
/* Lines are counted from the last row of the present screen: line n is the one in the last row when
 * emulator_draw is given `back` n. The next line from `from` on (itself included) towards older (or newer)
 * ones that contains the text, also across a wrap; capitals count only if the text has some. -1: none. */
int emulator_search(const struct emulator *emulator, const char *text, int from, bool older);
/* The URL at a cell of what emulator_draw shows, whole across wrapped lines; or a whole logical line for url
 * false. NULL: none. The caller's to free; safe text. */
char *emulator_text_at(const struct emulator *emulator, int back, int row, int column, bool url);
/* True once after a change of the cells, for the one who draws. */
bool emulator_changed(struct emulator *emulator);

#endif
