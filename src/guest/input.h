/* input.h: stdin of a session: any number of clients write into it, each through a socket of its own, with
 * back-pressure. What one client sent stays together as far as its pieces go; who mixes two clients gets a
 * mixture. */
#ifndef HUTCH_GUEST_INPUT_H
#define HUTCH_GUEST_INPUT_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <uv.h>

#define INPUT_PIECE       (64 * 1024)
#define INPUT_SOURCES_MAX 16

struct input_source;

/* How a source ends: all of it has been written and its end was orderly; the program takes no more; its
 * client has gone. */
enum input_end { INPUT_DONE, INPUT_CLOSED, INPUT_GONE };
typedef void (*input_source_fn)(struct input_source *source, enum input_end end, void *user);

struct input {
    uv_loop_t *loop;
    uv_poll_t poll; /* the program's side, active while something waits for it */
    int fd;         /* -1: closed */
    bool terminal;  /* an orderly end closes nothing */
    bool polling;
    struct input_source *sources;
    size_t source_count;
};

/* Takes over fd (write end of a pipe, or a pty master, made non-blocking). */
void input_init(struct input *input, uv_loop_t *loop, int fd, bool terminal);
/* Attaches a client's socket, taken over on success. ERROR_STATE when the program's stdin is closed,
 * ERROR_LIMIT. */
int input_attach(struct input *input, int data_fd, input_source_fn on_end, void *user,
                 struct input_source **ret_source, struct error **err);
/* The client said that its end of file is one (and not a cut): after the last byte stdin is closed, unless it
 * is a terminal. */
void input_source_orderly(struct input_source *source);
/* The client has gone: no callback; what it sent and was read is dropped. */
void input_detach(struct input_source *source);
/* Closes the program's side; every source ends with INPUT_CLOSED. */
void input_close(struct input *input);

#endif
