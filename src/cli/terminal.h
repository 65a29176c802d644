/* terminal.h: the person's terminal in raw mode, given back on every way out, and the prefix key. */
#ifndef HUTCH_CLI_TERMINAL_H
#define HUTCH_CLI_TERMINAL_H

#include "base/buf.h"

#include <stdbool.h>
#include <stdint.h>

#define TERMINAL_PREFIX 0x1d /* ^] */

/* Raw mode on fd (0). It is given back by terminal_restore, at exit, and by the handlers of fatal signals
 * that this sets. Again after a stop (SIGCONT). */
int terminal_raw(int fd, struct error **err);
/* Does nothing when the terminal is as it was. Safe in a signal handler. */
void terminal_restore(void);
/* Size of the first of 0, 1, 2 that is a terminal; 24 and 80 without one. */
void terminal_size(int64_t *ret_rows, int64_t *ret_columns);

enum prefix_action { PREFIX_NONE, PREFIX_DETACH, PREFIX_HELP };

/* What was typed, with the prefix key taken out. */
struct prefix {
    int key; /* -1: no prefix, everything passes */
    bool pending;
};
/* Reads "^]" (TERMINAL_PREFIX), "^X" for any other control key, or "none". ERROR_USAGE. */
int prefix_parse(const char *text, struct prefix *ret_prefix, struct error **err);
/* Appends to out what is for the session. Returns PREFIX_DETACH as soon as it was typed (the rest is
 * dropped), else PREFIX_HELP if it was. */
enum prefix_action prefix_feed(struct prefix *prefix, const uint8_t *data, size_t len, struct buf *out);
/* The key as it is shown, "^]"; at most 3 bytes with the end. */
void prefix_name(const struct prefix *prefix, char ret[3]);

#endif
