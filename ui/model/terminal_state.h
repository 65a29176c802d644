/* terminal_state.h: a terminal's parts, for its own files. */
#ifndef HUTCH_UI_TERMINAL_STATE_H
#define HUTCH_UI_TERMINAL_STATE_H

#include "ui/model/terminal.h"

#define TERMINAL_RETRY_NS    2000000000ll
#define TERMINAL_NOTE_NS     8000000000ll /* a note goes by itself after so long */
#define TERMINAL_BELL_NS     500000000ll  /* between two bells at least */
#define TERMINAL_WHEEL_LINES 3

struct terminal {
    char *project, *session, *label, *path; /* path: of the session in the API */
    uint64_t *ids;
    bool alone;
    struct emulator *emulator;
    struct key_event escape;
    char escape_name[24]; /* "": none */
    int rows, columns;    /* of the pane */
    bool focused;

    enum terminal_state state;
    enum terminal_mode mode;
    enum terminal_ask ask;
    char *error, *note;
    int exit_status;
    bool changed, attached; /* attached: it has been live before */

    /* What is open at hutchd; 0: not. */
    uint64_t record_id, output_id, input_id, wait_id, resize_id, copy_id;
    uint64_t offset;       /* of the next byte of output, from the session's first */
    bool positioned;       /* offset is known */
    uint64_t replay_until; /* output up to here was seen by others: questions in it are not answered again */
    bool muted;
    int sent_rows, sent_columns; /* 0: not yet */
    bool nudge;                  /* output was lost: let the program draw anew */
    int64_t note_ns, bell_ns;    /* when they came */
    int64_t now_ns, retry_ns;    /* retry_ns: when it is tried again, 0: not */
    int modes;                   /* as last told */
    struct effects *effects;     /* of the call that is at work: the emulator's bytes go there */

    uint64_t counted, rate; /* bytes since the last tick */
    int64_t ticked_ns;

    struct terminal_scroll scroll;
    char search[TERMINAL_SEARCH_MAX + 1];
    bool help_in_scroll;
    bool by_wheel; /* scroll mode was entered by the wheel: coming back to the end leaves it */
};

int terminal_guest_rows(const struct terminal *terminal);

/* terminal_link.c: what is open at hutchd */
void terminal_link_start(struct terminal *terminal, struct effects *effects);
void terminal_link_stop(struct terminal *terminal, struct effects *effects);
bool terminal_link_take(struct terminal *terminal, const struct message *message, struct effects *effects);
void terminal_link_down(struct terminal *terminal, const char *why);
void terminal_link_input(struct terminal *terminal, const uint8_t *bytes, size_t len,
                         struct effects *effects);
void terminal_link_size(struct terminal *terminal, struct effects *effects);
void terminal_link_tick(struct terminal *terminal, struct effects *effects);

/* terminal_keys.c: what keys do */
void terminal_take_key(struct terminal *terminal, const struct key_event *event, struct effects *effects);
/* The view goes with the lines that `rows` more of scrollback moved up. */
void terminal_scroll_keep(struct terminal *terminal, int rows);

#endif
