/* key.h: what a person did at the keyboard, mouse or window: read by ui/term, looked up by ui/model, turned
 * into a guest's bytes by ui/pane. */
#ifndef HUTCH_UI_KEY_H
#define HUTCH_UI_KEY_H

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

#define KEY_PASTE_MAX (1 << 20)

enum key_type {
    KEY_EVENT_NONE,
    KEY_EVENT_CODE, /* code: a code point, or enum key_named */
    /* paste, paste_len: as pasted, end mark and control characters but \n and \t taken out; too_long: it
     * passed KEY_PASTE_MAX and nothing of it is here, as half a command is worse than none */
    KEY_EVENT_PASTE,
    KEY_EVENT_MOUSE,
    KEY_EVENT_FOCUS, /* on: got it; else lost it */
};
enum key_named {
    KEY_NAMED = 0x110000, /* above every code point */
    KEY_NAME_ENTER,
    KEY_NAME_TAB,
    KEY_NAME_BACKSPACE,
    KEY_NAME_ESCAPE,
    KEY_NAME_UP,
    KEY_NAME_DOWN,
    KEY_NAME_LEFT,
    KEY_NAME_RIGHT,
    KEY_NAME_HOME,
    KEY_NAME_END,
    KEY_NAME_PAGE_UP,
    KEY_NAME_PAGE_DOWN,
    KEY_NAME_INSERT,
    KEY_NAME_DELETE,
    KEY_NAME_F1,
    KEY_NAME_F12 = KEY_NAME_F1 + 11,
};
enum key_mod { KEY_SHIFT = 1, KEY_ALT = 2, KEY_CTRL = 4 };
enum mouse_act { MOUSE_PRESS, MOUSE_RELEASE, MOUSE_MOVE, MOUSE_WHEEL_UP, MOUSE_WHEEL_DOWN };

struct key_event {
    enum key_type type;
    uint32_t code; /* a control character is its letter with KEY_CTRL: ^A is 'a' + KEY_CTRL */
    int mods;      /* enum key_mod */
    char *paste;   /* owned: key_event_finish */
    size_t paste_len;
    enum mouse_act act;
    int button, row, column; /* from 0 */
    bool on, too_long;
};
void key_event_finish(struct key_event *event);
/* The one form of a key that terminals report in several: ^I is Tab, ^M Enter, ^[ Escape, ^@ C-Space, ^/ is
 * ^_; a letter with Shift alone is the capital, another character with Shift alone is itself. */
void key_canonical(struct key_event *event);
/* Names as in configuration and help: "a", "A", "^A", "M-a", "S-Enter", "C-Up", "Space", "PageDown", "F5",
 * "U+E000". A parsed name gives the event that the terminal layer gives for it. ERROR_INVALID names the
 * nearest. */
int key_parse(const char *name, struct key_event *ret_event, struct error **err);
/* The shortest name that key_parse takes, safe text; "Paste", "Mouse", "Focus" for what has no name. At most
 * 24 bytes with the end. */
void key_name(const struct key_event *event, char ret[24]);
/* The same key or button with the same modifiers; where the mouse is does not count. */
bool key_equal(const struct key_event *a, const struct key_event *b);

#endif
