#include "cli/session.h"

#include "base/alloc.h"
#include "base/fd.h"
#include "base/units.h"
#include "cli/filter.h"
#include "cli/out.h"
#include "cli/project.h"
#include "client/flow.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#define BROKEN_PIPE_STEP_NS 1000000000LL
#define FLUSH_MS            500

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

int session_start(struct client *client, const char *project, const json_t *body, char **ret_id,
                  struct error **err)
{
    autofree char *path = project_path(project, "/sessions");
    auto(json) json_t *session = NULL;
    int rc = client_call(client, "POST", path, body, &session, err);
    const char *id = NULL;
    if (rc == 0)
        rc = json_get_string(session, "id", 128, &id, err);
    if (rc == 0)
        *ret_id = xstrdup(id);
    return rc;
}

/* API path of the session + suffix; caller frees. */
static char *path_of(const struct engine *engine, const char *suffix)
{
    autofree char *id = json_url_encode(engine->spec->id, strlen(engine->spec->id));
    return project_path(engine->spec->project, "/sessions/%s%s", id, suffix);
}

/* Keeps the first failure; takes over own. */
static void note_failure(struct engine *engine, struct error *own)
{
    if (engine->failure)
        error_free(own);
    else
        engine->failure = own;
}

/* ---- small calls whose answer nobody waits for ---- */

static void on_ignored(int status, json_t *body, const struct error *err, void *user)
{
}

static void send_call(struct engine *engine, const char *suffix, json_t *body)
{
    auto(json) json_t *owned = body;
    autofree char *path = path_of(engine, suffix);
    if (!engine->client->lost)
        json_call(link_session(engine->client->link), "POST", path, owned, on_ignored, NULL, NULL);
}

static void send_signal(struct engine *engine, const char *name)
{
    send_call(engine, "/signal", json_pack("{s:s}", "signal", name));
}

static void send_size(struct engine *engine)
{
    int64_t rows, columns;
    terminal_size(&rows, &columns);
    send_call(engine, "/resize",
              json_pack("{s:I, s:I}", "rows", (json_int_t)rows, "columns", (json_int_t)columns));
}

/* ---- output ---- */

static void on_output(const uint8_t *data, size_t len, struct buf *out, void *user)
{
    struct output *output = user;
    filter_feed(&output->filter, data, len, out);
}

static void on_output_head(const struct h2_head *head, void *user)
{
    struct output *output = user;
    const char *field = h2_head_field(head, "hutch-offset");
    uint64_t offset = 0;
    if (!field || units_parse_number(field, 0, INT64_MAX, &offset, NULL) < 0)
        offset = output->offset;
    if ((output->positioned || output->engine->spec->fresh) && offset > output->offset)
        out_note("%llu bytes of %s were overwritten meanwhile", (unsigned long long)(offset - output->offset),
                 output->name);
    output->start = offset;
    output->offset = offset;
    output->positioned = true;
}

/* Whether an answer means "not now", so that it is worth to try again. */
static bool is_passing(const struct error *err)
{
    switch (err->code) {
    case ERROR_GUEST:
    case ERROR_NO_DAEMON:
    case ERROR_BUSY:
    case ERROR_IO:
    case ERROR_TIMED_OUT:
        return true;
    default:
        return false;
    }
}

static void on_output_done(enum flow_end end, const struct error *err, void *user)
{
    struct output *output = user;
    struct engine *engine = output->engine;
    uint64_t received = flow_received(output->flow);
    output->flow = NULL;
    if (output->positioned)
        output->offset = output->start + received;
    if (end == FLOW_DONE) {
        output->ended = true;
    } else if (end == FLOW_CUT || (end == FLOW_REFUSED && is_passing(err))) {
        output->cut = true;
    } else if (end == FLOW_OUTPUT_FAILED && err->sys == EPIPE) {
        output->fd = -1;
        output->cut = true;
        engine->broken_pipe = true;
    } else {
        note_failure(engine, error_copy(err));
    }
}

/* Opens (again) where the last one ended. */
static int start_output(struct output *output, struct error **err)
{
    struct engine *engine = output->engine;
    char suffix[64];
    if (output->positioned || engine->spec->fresh)
        snprintf(suffix, sizeof(suffix), "/%s?from=%llu", output->name, (unsigned long long)output->offset);
    else
        snprintf(suffix, sizeof(suffix), "/%s", output->name);
    autofree char *path = path_of(engine, suffix);
    const struct flow_options options = {
        .method = "GET",
        .path = path,
        .fd_in = -1,
        .fd_out = output->fd,
        .output = output->filter.kind == FILTER_NONE ? NULL : on_output,
        .on_head = on_output_head,
        .on_done = on_output_done,
    };
    output->cut = false;
    return flow_start(engine->client, &options, output, &output->flow, err);
}

/* Writes what the filter still holds, and for a screen what brings the terminal back to its usual modes. */
static void finish_output(struct output *output)
{
    struct buf rest;
    buf_init(&rest, 0);
    filter_end(&output->filter, &rest);
    if (output->engine->interactive)
        filter_restore(&output->filter, &rest);
    if (output->fd >= 0 && rest.len > 0)
        fd_write_all(output->fd, buf_data(&rest), rest.len, NULL);
    buf_finish(&rest);
}

/* ---- input ---- */

static void on_input(const uint8_t *data, size_t len, struct buf *out, void *user)
{
    struct engine *engine = user;
    enum prefix_action action = prefix_feed(&engine->prefix, data, len, out);
    if (action == PREFIX_DETACH)
        engine->detach = true;
    if (action == PREFIX_HELP) {
        char key[3];
        prefix_name(&engine->prefix, key);
        fprintf(stderr,
                "\r\n[%s d  leave, the session goes on   %s %s  sends %s itself   %s ?  this line]\r\n", key,
                key, key, key, key);
    }
}

/* The end of an input that is none: closes the session's stdin. */
static int no_bytes(const uint8_t **ret_data, size_t *ret_len, void *user, struct error **err)
{
    *ret_data = NULL;
    *ret_len = 0;
    return 0;
}

static int start_input(struct engine *engine, bool empty, struct error **err);

static void on_input_done(enum flow_end end, const struct error *err, void *user)
{
    struct engine *engine = user;
    engine->input_sent += flow_sent(engine->input);
    engine->input = NULL;
    if (end == FLOW_DONE || (end == FLOW_REFUSED && !is_passing(err)))
        engine->input_ended = true; /* refused: it has ended or takes no more */
    else if (end == FLOW_CUT || end == FLOW_REFUSED)
        engine->input_cut = true;
    else if (engine->spec->pty || start_input(engine, true, NULL) < 0)
        engine->input_ended = true; /* it cannot be read: the same as its end */
}

static int start_input(struct engine *engine, bool empty, struct error **err)
{
    autofree char *path = path_of(engine, "/stdin");
    const struct flow_options options = {
        .method = "POST",
        .path = path,
        .body = true,
        .fd_in = STDIN_FILENO,
        .produce = empty ? no_bytes : NULL,
        .input = engine->interactive ? on_input : NULL,
        .fd_out = -1,
        .on_done = on_input_done,
    };
    engine->input_cut = false;
    return flow_start(engine->client, &options, engine, &engine->input, err);
}

/* ---- signals ---- */

static void on_interrupt(struct engine *engine)
{
    int64_t now = units_monotonic_ns();
    send_signal(engine, "INT");
    engine->interrupts[engine->interrupt_count++ % SESSION_INTERRUPTS] = now;
    int64_t first = engine->interrupts[engine->interrupt_count % SESSION_INTERRUPTS];
    if (engine->interrupt_count >= SESSION_INTERRUPTS && now - first <= SESSION_INTERRUPT_MS * 1000000LL)
        engine->detach = true;
}

static void on_signal(uv_signal_t *handle, int number)
{
    struct engine *engine = handle->data;
    switch (number) {
    case SIGINT:
        on_interrupt(engine);
        break;
    case SIGQUIT:
        send_signal(engine, "QUIT");
        break;
    case SIGCONT:
        if (engine->interactive)
            terminal_raw(STDIN_FILENO, NULL);
        engine->resize = true;
        break;
    case SIGWINCH:
        engine->resize = true;
        break;
    default:
        engine->signal = number;
    }
}

static void on_timer(uv_timer_t *timer)
{
}

static void watch_signals(struct engine *engine)
{
    static const int numbers[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGCONT, SIGWINCH};
    uv_timer_init(engine->client->loop, &engine->timer);
    for (size_t i = 0; i < countof(numbers); i++) {
        uv_signal_t *handle = &engine->signals[engine->signal_count++];
        uv_signal_init(engine->client->loop, handle);
        handle->data = engine;
        uv_signal_start(handle, on_signal, numbers[i]);
    }
}

/* Closes the handles; they are part of the engine, so their close callbacks run before this returns. */
static void unwatch_signals(struct engine *engine)
{
    for (size_t i = 0; i < engine->signal_count; i++)
        uv_close((uv_handle_t *)&engine->signals[i], NULL);
    uv_close((uv_handle_t *)&engine->timer, NULL);
    uv_run(engine->client->loop, UV_RUN_NOWAIT);
}

/* ---- the run ---- */

/* Whether we are to leave the session as it is. */
static bool leaving(const struct engine *engine)
{
    return engine->signal || engine->detach || engine->failure;
}

static bool all_ended(const struct engine *engine)
{
    for (size_t i = 0; i < countof(engine->outputs); i++) {
        if (engine->outputs[i].wanted && !engine->outputs[i].ended)
            return false;
    }
    return true;
}

static bool any_cut(const struct engine *engine)
{
    return engine->input_cut || engine->outputs[0].cut || engine->outputs[1].cut;
}

/* Runs the loop for at most ms. */
static void turn(struct engine *engine, uint64_t ms)
{
    if (ms > 0)
        uv_timer_start(&engine->timer, on_timer, ms, 0);
    uv_run(engine->client->loop, UV_RUN_ONCE);
    uv_timer_stop(&engine->timer);
}

/* Opens again what was cut. Negative: it cannot be gone on with. */
static int reopen(struct engine *engine, bool running, struct error **err)
{
    for (size_t i = 0; i < countof(engine->outputs); i++) {
        struct output *output = &engine->outputs[i];
        int rc = output->cut ? start_output(output, err) : 0;
        if (rc < 0)
            return rc;
    }
    if (!engine->input_cut)
        return 0;
    if (!running) {
        engine->input_cut = false;
        engine->input_ended = true;
        return 0;
    }
    if (engine->input_sent > 0 && !engine->spec->pty && !engine->input_terminal) {
        error_set(
            err, ERROR_IO,
            "the connection was lost while standard input was sent: how much of it arrived is not known");
        return error_hint(err, "the session goes on: hutch attach %s %s", engine->spec->project,
                          engine->spec->id);
    }
    return start_input(engine, false, err);
}

/* The connection, the worker or hutch-guest went away: waits until the session can be seen again. */
static int resume(struct engine *engine, struct error **err)
{
    int64_t until = units_monotonic_ns() + SESSION_RETRY_MS * 1000000LL;
    autofree char *path = path_of(engine, "");
    for (;;) {
        auto(error) struct error *own = NULL;
        auto(json) json_t *session = NULL;
        int rc = engine->client->lost ? client_reconnect(engine->client, true, &own) : 0;
        if (rc == 0)
            rc = client_call(engine->client, "GET", path, NULL, &session, &own);
        if (rc == 0)
            return reopen(engine, strcmp(out_string(session, "state"), "running") == 0, err);
        if (!is_passing(own) || units_monotonic_ns() > until) {
            error_prefix(&own, "session %s of \"%s\" cannot be reached", engine->spec->id,
                         engine->spec->project);
            if (own->code != ERROR_NOT_FOUND)
                error_hint(&own, "machine and session go on; back with: hutch attach %s %s",
                           engine->spec->project, engine->spec->id);
            return error_move(err, &own);
        }
        turn(engine, SESSION_RETRY_STEP_MS);
        if (leaving(engine))
            return 0;
    }
}

/* Nobody reads the output any more: the program is told as the kernel would tell it, and then left alone. */
static void end_of_readers(struct engine *engine)
{
    static const char *const names[] = {"PIPE", "HUP"};
    int64_t now = units_monotonic_ns();
    if (engine->pipe_signals == 0)
        engine->pipe_ns = now;
    if (now - engine->pipe_ns < engine->pipe_signals * BROKEN_PIPE_STEP_NS)
        return;
    if (engine->pipe_signals < (int)countof(names))
        send_signal(engine, names[engine->pipe_signals++]);
    else
        engine->signal = SIGPIPE;
}

/* Until the output has ended or we are to leave. */
static int run_streams(struct engine *engine, struct error **err)
{
    while (!all_ended(engine) && !leaving(engine)) {
        turn(engine, engine->broken_pipe ? SESSION_RETRY_STEP_MS : 0);
        if (engine->broken_pipe)
            end_of_readers(engine);
        if (engine->resize && engine->spec->pty)
            send_size(engine);
        engine->resize = false;
        int rc = any_cut(engine) && !leaving(engine) ? resume(engine, err) : 0;
        if (rc < 0)
            return rc;
    }
    return 0;
}

/* The end of the session: its status. */
static int take_status(struct engine *engine, struct error **err)
{
    autofree char *path = path_of(engine, "/wait");
    auto(json) json_t *session = NULL;
    for (;;) {
        auto(error) struct error *own = NULL;
        int rc = client_call(engine->client, "GET", path, NULL, &session, &own);
        if (rc == 0)
            break;
        if (!is_passing(own))
            return error_move(err, &own);
        rc = resume(engine, err);
        if (rc < 0)
            return rc;
        if (leaving(engine))
            return 128 + engine->signal;
    }
    if (strcmp(out_string(session, "state"), "lost") == 0) {
        error_set(err, ERROR_GUEST, "the machine went down before the command had ended");
        return error_hint(err, "hutch log %s says when; hutch start %s", engine->spec->project,
                          engine->spec->project);
    }
    int64_t status = 0;
    int rc = json_get_number(session, "exit_status", 0, 255, &status, err);
    if (rc < 0)
        return rc;
    if (!engine->spec->ended) {
        autofree char *own = path_of(engine, "");
        client_call(engine->client, "DELETE", own, NULL, NULL, NULL);
    }
    return (int)status;
}

/* Which descriptors and filters the outputs get. */
static void set_up(struct engine *engine)
{
    static const char *const names[] = {"stdout", "stderr"};
    bool terminal_in = !engine->spec->no_input && isatty(STDIN_FILENO);
    for (int i = 0; i < 2; i++) {
        struct output *output = &engine->outputs[i];
        *output = (struct output){
            .engine = engine, .name = names[i], .fd = i + 1, .wanted = i == 0 || !engine->spec->pty};
        bool terminal = isatty(output->fd);
        enum filter_kind kind = engine->spec->pty ? FILTER_SCREEN : FILTER_PLAIN;
        filter_init(&output->filter, terminal && !engine->spec->raw ? kind : FILTER_NONE);
    }
    engine->prefix = engine->spec->prefix;
    engine->input_terminal = terminal_in;
    engine->interactive = engine->spec->pty && terminal_in;
    engine->input_ended = engine->spec->no_input;
}

/* Starts everything. */
static int start_all(struct engine *engine, struct error **err)
{
    int rc = engine->interactive ? terminal_raw(STDIN_FILENO, err) : 0;
    for (size_t i = 0; i < countof(engine->outputs) && rc == 0; i++)
        rc = engine->outputs[i].wanted ? start_output(&engine->outputs[i], err) : 0;
    if (rc == 0 && !engine->input_ended)
        rc = start_input(engine, false, err);
    if (rc == 0 && engine->spec->pty && !engine->spec->fresh && engine->interactive)
        send_size(engine);
    return rc;
}

/* Stops what still runs and gives the terminal back. */
static void tear_down(struct engine *engine)
{
    flow_cancel(engine->input);
    for (size_t i = 0; i < countof(engine->outputs); i++) {
        flow_cancel(engine->outputs[i].flow);
        if (engine->outputs[i].wanted)
            finish_output(&engine->outputs[i]);
    }
    terminal_restore();
    unwatch_signals(engine);
}

/* What was typed before the prefix key still goes to the session. */
static void flush_input(struct engine *engine)
{
    int64_t until = units_monotonic_ns() + FLUSH_MS * 1000000LL;
    while (engine->input && flow_waiting(engine->input) > 0 && units_monotonic_ns() < until)
        turn(engine, FLUSH_MS / 10);
}

/* What is said when the person left. */
static void say_left(const struct engine *engine)
{
    if (engine->interactive)
        fputs("\r\n", stderr);
    out_note("left session %s, it goes on; back with: hutch attach %s %s", engine->spec->id,
             engine->spec->project, engine->spec->id);
}

int session_run(struct client *client, const struct session_spec *spec, struct error **err)
{
    struct engine engine = {.client = client, .spec = spec};
    set_up(&engine);
    watch_signals(&engine);
    int rc = start_all(&engine, err);
    if (rc == 0)
        rc = run_streams(&engine, err);
    if (engine.detach)
        flush_input(&engine);
    if (rc == 0 && engine.input) {
        flow_cancel(engine.input);
        engine.input = NULL;
    }
    if (rc == 0 && !leaving(&engine))
        rc = take_status(&engine, err);
    tear_down(&engine);
    if (rc >= 0 && engine.failure)
        rc = error_move(err, &engine.failure);
    else if (rc >= 0 && engine.signal)
        rc = 128 + engine.signal;
    else if (rc >= 0 && engine.detach) {
        say_left(&engine);
        rc = engine.interactive ? 0 : 130;
    }
    error_free(engine.failure);
    return rc;
}
