/* terminal.h: a pane attached to one session of a project. It takes messages and gives effects as the whole
 * screen does (app.h), and owns the emulator that holds what the session shows. The last row of a pane is
 * never the guest's: it says where one is and which keys lead out. */
#ifndef HUTCH_UI_TERMINAL_H
#define HUTCH_UI_TERMINAL_H

#include "ui/model/effect.h"
#include "ui/model/message.h"
#include "ui/pane/emulator.h"

#define TERMINAL_SEARCH_MAX 200 /* bytes of a search text */

struct terminal;

enum terminal_state {
    TERMINAL_ATTACHING,
    TERMINAL_LIVE,
    TERMINAL_LOST,  /* the connection or the machine went away; it is tried again and goes on where it was */
    TERMINAL_ENDED, /* the program has ended: terminal_exit_status */
    TERMINAL_GONE,  /* there is no such session: terminal_error says why */
};
/* What a key asked the screen around the pane for. */
enum terminal_ask {
    TERMINAL_ASK_NONE,
    TERMINAL_ASK_LEAVE, /* the session goes on */
    TERMINAL_ASK_INBOX, /* what waits for an answer */
    TERMINAL_ASK_FULL,  /* fill the screen, or give it back */
    TERMINAL_ASK_CLOSE  /* a key after the end: nothing is left to see */
};
/* What keys do just now. */
enum terminal_mode {
    TERMINAL_TYPING, /* they go to the session */
    TERMINAL_PREFIX, /* the escape key was pressed: the next one is ours */
    TERMINAL_HELP,   /* the keys are shown; any key closes */
    TERMINAL_SCROLL,
    TERMINAL_SEARCH /* the text to search for is typed */
};
/* A key after the escape key, or in scroll mode. */
struct terminal_key {
    const char *key;   /* as key_parse takes it; "" is the escape key itself */
    const char *word;  /* for the bottom line: one or two words */
    const char *about; /* for help: one line */
};

struct terminal_options {
    const char *project, *session; /* names as the API takes them */
    const char *label;             /* for the bottom line: "shell", "claude"; NULL: "terminal" */
    int rows, columns;             /* of the whole pane with its last row */
    const char *escape;            /* "^]"; "none": no key is ours; NULL or not a key: "^]" */
    bool alone;    /* nothing is around it: TERMINAL_ASK_CLOSE comes by itself when the session ends */
    int lines;     /* of scrollback; 0: the default */
    uint64_t *ids; /* the screen's counter: the id of a new effect is ++*ids. Outlives the terminal */
};

/* Nothing is sent before terminal_attach. */
struct terminal *terminal_create(const struct terminal_options *options);
void terminal_free(struct terminal *terminal);
AUTO_DEFINE(terminal, struct terminal *, terminal_free);
/* Asks for the session's record, size and output. To be called once after create. */
void terminal_attach(struct terminal *terminal, struct effects *effects);
/* Ends what is open at hutchd (the session goes on), gives up the modes; before terminal_free. */
void terminal_detach(struct terminal *terminal, struct effects *effects);
/* Takes a message. MESSAGE_KEY must only be given while the pane has the focus, with mouse positions counted
 * from the pane's top left. True: it was the terminal's (an id of its own, or a key). Time, UP and DOWN are
 * for everybody and give false. */
bool terminal_update(struct terminal *terminal, const struct message *message, struct effects *effects);
/* What keys asked for since the last call. */
enum terminal_ask terminal_asked(struct terminal *terminal);
/* The size of the whole pane; hutchd is told only if it is another one. */
void terminal_resize(struct terminal *terminal, int rows, int columns, struct effects *effects);
/* The pane has the keyboard or not: the guest is told if it asked, EFFECT_MODES follow. */
void terminal_focus(struct terminal *terminal, bool focused, struct effects *effects);

enum terminal_state terminal_state(const struct terminal *terminal);
enum terminal_mode terminal_mode(const struct terminal *terminal);
/* A shell's status (0–255) after TERMINAL_ENDED, 125 after TERMINAL_GONE, else 0. */
int terminal_exit_status(const struct terminal *terminal);
const char *terminal_project(const struct terminal *terminal);
const char *terminal_session(const struct terminal *terminal);
/* Safe text. */
const char *terminal_label(const struct terminal *terminal);
/* A word on the bottom line, until the next key or for a few seconds. */
void terminal_say(struct terminal *terminal, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Why it is lost or gone, or NULL; one safe line. */
const char *terminal_error(const struct terminal *terminal);
/* A short answer to the last key ("copied", "not found"), or NULL. */
const char *terminal_note(const struct terminal *terminal);
/* The escape key's name as it is shown, or NULL if there is none. */
const char *terminal_escape(const struct terminal *terminal);
/* Bytes a second that came lately; needs MESSAGE_TIME once a second to fall. */
uint64_t terminal_rate(const struct terminal *terminal);
/* True while MESSAGE_TIME once a second would change what is shown. */
bool terminal_ticks(const struct terminal *terminal);
/* True once after a change of what is shown. */
bool terminal_changed(struct terminal *terminal);
const struct emulator *terminal_emulator(const struct terminal *terminal);

/* Of scroll mode: lines scrolled up, the cursor's place, what is searched for (safe text, "" for none). */
struct terminal_scroll {
    int back, row, column;
    const char *search;
};
void terminal_scroll(const struct terminal *terminal, struct terminal_scroll *ret_scroll);
/* The keys after the escape key, or those of scroll mode, ended by one with key NULL. */
const struct terminal_key *terminal_keys(enum terminal_mode mode);

#endif
