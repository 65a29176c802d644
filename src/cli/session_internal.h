/* session_internal.h: what session.c (the run) and session_io.c (its streams) share. */
#ifndef HUTCH_CLI_SESSION_INTERNAL_H
#define HUTCH_CLI_SESSION_INTERNAL_H

#include "cli/filter.h"
#include "cli/session.h"
#include "client/flow.h"

struct engine;

/* stdout or stderr of the session. */
struct output {
    struct engine *engine;
    const char *name;
    int fd; /* -1: thrown away, nobody reads it any more */
    struct filter filter;
    struct flow *flow;
    bool positioned; /* offset is known */
    uint64_t start;  /* of this flow, from the session's first byte */
    uint64_t offset; /* behind what was written */
    bool wanted, ended, cut;
};

struct engine {
    struct client *client;
    const struct session_spec *spec;
    struct output outputs[2];
    struct prefix prefix;
    struct flow *input;
    bool input_ended, input_cut, input_terminal;
    uint64_t input_sent; /* by earlier flows */
    bool interactive;    /* our terminal is raw */
    bool resize, detach, broken_pipe;
    int64_t pipe_ns;                        /* when nobody read any more */
    int pipe_signals;                       /* sent because of it */
    int signal;                             /* that ends us */
    int64_t interrupts[SESSION_INTERRUPTS]; /* when ^C came last */
    size_t interrupt_count;
    struct error *failure;
    uv_signal_t signals[7];
    size_t signal_count;
    uv_timer_t timer; /* wakes the loop while we wait for something to come back */
};

/* API path of the session + suffix; caller frees. */
char *engine_path(const struct engine *engine, const char *suffix);
/* Keeps the first failure; takes over own. */
void engine_fail(struct engine *engine, struct error *own);
/* Calls whose answer nobody waits for: a signal for the session ("INT"), the terminal's size. */
void engine_send_signal(struct engine *engine, const char *name);
void engine_send_size(struct engine *engine);
/* Whether an answer means "not now", so that it is worth to try again. */
bool engine_passing(const struct error *err);
/* Opens the output (again) where the last one ended. */
int output_start(struct output *output, struct error **err);
/* Writes what the filter still holds, and for a screen what brings the terminal back to its usual modes. */
void output_finish(struct output *output);
/* Opens our standard input for the session. empty: an input of no bytes, which closes the session's stdin. */
int input_start(struct engine *engine, bool empty, struct error **err);

#endif
