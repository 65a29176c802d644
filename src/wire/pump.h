/* pump.h: copies between a stream and descriptors with back-pressure both ways: fd_in -> stream, stream -> fd_out.
 * Used by the client (terminal, files), hutchd (client's stream <-> worker's socket pair), the worker and hutch-guest.
 * Works with sockets, pipes, terminals, and regular files (which are read and written directly). From the descriptor at most
 * the stream's out buffer is read ahead; towards it at most the stream's window (256 KiB) waits. SIGPIPE must be ignored.
 *
 * The flags of descriptors that the pump does not own are left alone, as they may be shared with other processes (a terminal
 * as stdin): such a descriptor is read only when it is ready, and written in pieces that a ready one takes without blocking
 * (a terminal that is stopped may still block). Owned ones are made non-blocking. */
#ifndef HUTCH_WIRE_PUMP_H
#define HUTCH_WIRE_PUMP_H

#include "wire/h2.h"

#include <uv.h>

struct pump;

/* PUMP_DONE: the stream ended in order and all that it brought was written; when the peer did not want the rest of our half
 * (it ended its answer and closed the stream) that is in order too: pump_input_ended says whether all was taken.
 * On the last two the stream was reset with H2_CANCEL. */
enum pump_end { PUMP_DONE, PUMP_STREAM_RESET, PUMP_INPUT_FAILED, PUMP_OUTPUT_FAILED };

struct pump_options {
    int fd_in;  /* or -1: the stream's local half is not ours to end (then the pump is done when all was written to fd_out) */
    int fd_out; /* or -1: received data is thrown away (and consumed) */
    bool own_fds;     /* close them at the end (shutdown(SHUT_WR) is done on sockets when only one way has ended) */
    bool hold_end;    /* at the end of fd_in do not send END_STREAM; the owner calls pump_end_input (after the DONE message) */
    bool cut_on_close; /* fd_in is a socket: only its peer's shutdown(SHUT_WR) is an end. End of file with the peer closed
                        * (POLLHUP) means that it died: PUMP_INPUT_FAILED, the stream is reset */
    bool keep_stream; /* on PUMP_OUTPUT_FAILED the stream is not reset but left without ops: the owner answers it (a reader
                       * that has refused the rest says why) or resets it */
    bool cut_fds; /* with own_fds: a socket that is closed for a failure (of either side) is reset; its peer must not take it
                   * for an end in order */
    /* Optional, when a descriptor failed: resets the stream (which has no ops any more) now or later, in place of a reset with
     * H2_CANCEL at once. Called before on_done. */
    void (*cut_stream)(struct h2_stream *stream, void *user);
    size_t max_bytes; /* most bytes from the stream to fd_out; 0: no limit; beyond: PUMP_OUTPUT_FAILED with ERROR_LIMIT */
    /* Called once when both directions have ended or one failed. The pump is freed after it. err may be NULL. */
    void (*on_done)(struct pump *pump, enum pump_end end, const struct error *err, void *user);
    /* Optional: bytes moved since the last call (progress). */
    void (*on_bytes)(struct pump *pump, size_t in, size_t out, void *user);
    /* Optional: the response head (client role streams). */
    void (*on_head)(struct pump *pump, const struct h2_head *head, void *user);
};

/* Takes over the stream's ops. Data that arrived before must not have been lost: call it from on_request or on_head. On failure
 * the stream and the descriptors are as before. fd_in and fd_out may be the same socket. */
int pump_create(uv_loop_t *loop, struct h2_stream *stream, const struct pump_options *options, void *user,
                struct pump **ret_pump, struct error **err);
/* Ends the stream's local half after hold_end (input that is still to come is sent first); ok false resets it with
 * H2_INTERNAL_ERROR: on_done comes with PUMP_STREAM_RESET. */
void pump_end_input(struct pump *pump, bool ok);
/* Input was seen to its end (with hold_end). */
bool pump_input_ended(const struct pump *pump);
/* Stops at once; on_done is not called. The stream stays as it is, without ops: reset or answer it. Owned descriptors are
 * closed. Not from inside a callback of this pump but on_head. */
void pump_cancel(struct pump *pump);

#endif
