/* tty.h: the terminal device: raw mode, bytes out without blocking, and the way back on every way out: also
 * from a fatal signal, from exit, and from kill -9, after which a second process goes it (rescue.h). One at a
 * time, as a process has one terminal. */
#ifndef HUTCH_UI_TERM_TTY_H
#define HUTCH_UI_TERM_TTY_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TTY_BACK_MAX    1024      /* bytes of the way back */
#define TTY_PENDING_MAX (4 << 20) /* bytes that wait for a slow terminal; more are dropped */

/* ERROR_INVALID if one of them is no terminal. */
int tty_check(int fd_in, int fd_out, struct error **err);
/* Puts the terminal into raw mode and takes the fatal signals. Fails as tty_check does. */
int tty_take(int fd_in, int fd_out, struct error **err);
/* What is sent to give the terminal back, at any time from now on; cut at TTY_BACK_MAX. */
void tty_set_back(const void *bytes, size_t len);
/* Gives the terminal back as it was found; tty_again takes it once more, as it is then. */
void tty_give(void);
int tty_again(struct error **err);
/* tty_give for good: signals as before, nothing held. */
void tty_finish(void);
/* Queues bytes and writes as many as the terminal takes, for at most wait_ms. */
void tty_write(const void *bytes, size_t len, int wait_ms);
/* Whether bytes still wait to be written (tries to, without waiting). */
bool tty_pending(void);
/* Reads what is there without waiting; 0: nothing. *ret_lost is set if the terminal is gone. */
size_t tty_read(void *bytes, size_t size, bool *ret_lost);
/* The size from the terminal, else 24x80. */
void tty_size(int *ret_rows, int *ret_columns);
/* The erase character was ^H when the terminal was taken. */
bool tty_erase_is_bs(void);

#endif
