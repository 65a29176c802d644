/* output.h: one output stream of a session: what the program printed, its ring, and its readers.
 *
 * Who waits for whom: with readers attached the program waits for the slowest of them, so that each gets
 * every byte from its offset on. A reader that has taken nothing for OUTPUT_STALL_MS while another one has
 * taken all there is is cut: it must not hold up the others (the last or only reader is never cut). Before
 * the first reader came, and at most OUTPUT_FIRST_MS after the start, the program waits when the ring is
 * full; later, with nobody attached, the oldest bytes go. */
#ifndef HUTCH_GUEST_OUTPUT_H
#define HUTCH_GUEST_OUTPUT_H

#include "base/error.h"
#include "guest/ring.h"

#include <stdbool.h>
#include <uv.h>

#define OUTPUT_STALL_MS    30000
#define OUTPUT_FIRST_MS    2000
#define OUTPUT_LINGER_MS   500 /* after the program's end, for background children that keep the pipe */
#define OUTPUT_READERS_MAX 16

struct output;
struct output_reader;

/* Why a reader ends. */
enum output_end { OUTPUT_DELIVERED, OUTPUT_CUT, OUTPUT_GONE };
/* Called once for a reader that ended by itself: all delivered (the stream has ended), cut, or its descriptor
 * failed. The data descriptor is still open during the call and closed after it. */
typedef void (*output_reader_fn)(struct output_reader *reader, enum output_end end, void *user);

struct output {
    struct ring ring;
    uv_loop_t *loop;
    uv_poll_t poll; /* the program's side */
    uv_timer_t first, linger, stall;
    int fd; /* -1: ended */
    bool polling, waiting_first, lingering, ended;
    struct output_reader *readers;
    size_t reader_count;
    void (*on_ended)(struct output *output, void *user);
    void *user;
    int handles; /* open uv handles */
};

/* Takes over fd (a pipe or pty master, made non-blocking); fd -1: a stream that never was (ended at once, no
 * callback). */
void output_init(struct output *output, uv_loop_t *loop, int fd,
                 void (*on_ended)(struct output *output, void *user), void *user);
/* The program has ended: what is in the pipe is still read; a writer that stays is given OUTPUT_LINGER_MS. */
void output_program_ended(struct output *output);
/* Attaches a reader on a socket from an offset (below start: start; *ret_offset is where it begins). Takes
 * over data_fd on success. ERROR_INVALID beyond the end, ERROR_LIMIT for too many. */
int output_attach(struct output *output, int data_fd, uint64_t from, output_reader_fn on_end, void *user,
                  struct output_reader **ret_reader, uint64_t *ret_offset, struct error **err);
/* The reader's client has gone: no callback. */
void output_detach(struct output_reader *reader);
/* Closes everything (no callbacks); memory is the owner's. */
void output_finish(struct output *output);

#endif
