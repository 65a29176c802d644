#include "cli/session.h"

#include "base/alloc.h"
#include "base/units.h"
#include "base/words.h"
#include "cli/out.h"
#include "cli/project.h"
#include "cli/session_internal.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#define BROKEN_PIPE_STEP_NS 1000000000LL
#define FLUSH_MS            500

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

/* ---- signals ---- */

static void on_interrupt(struct engine *engine)
{
    int64_t now = units_monotonic_ns();
    engine_send_signal(engine, "INT");
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
        engine_send_signal(engine, "QUIT");
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

/* One call in the middle of a run. The loop belongs to us, so a signal or the prefix key can end the waiting.
 */
struct question {
    bool done, left; /* left: nobody waits any more, the answer frees it */
    json_t *body;
    struct error *err;
};

static void question_free(struct question *question)
{
    json_decref(question->body);
    error_free(question->err);
    free(question);
}

static void on_question(int status, json_t *body, const struct error *err, void *user)
{
    struct question *question = user;
    question->done = true;
    question->body = json_incref(body);
    question->err = error_copy(err);
    if (question->left)
        question_free(question);
}

/* Like client_call, but ERROR_CANCELLED as soon as we are to leave. */
static int ask(struct engine *engine, const char *method, const char *path, json_t **ret_body,
               struct error **err)
{
    if (engine->client->lost)
        return client_lost_error(engine->client, err);
    struct question *question = xnew(struct question);
    int rc = json_call(link_session(engine->client->link), method, path, NULL, on_question, question, err);
    if (rc < 0) {
        free(question);
        return rc;
    }
    while (!question->done && !leaving(engine))
        turn(engine, 0);
    if (!question->done) {
        question->left = true;
        return error_set(err, ERROR_CANCELLED, _("left"));
    }
    rc = engine->client->lost && question->err ? client_lost_error(engine->client, err)
                                               : error_move(err, &question->err);
    if (rc == 0)
        *ret_body = steal(&question->body);
    question_free(question);
    return rc;
}

/* Opens again what was cut. Negative: it cannot be gone on with. */
static int reopen(struct engine *engine, bool running, struct error **err)
{
    for (size_t i = 0; i < countof(engine->outputs); i++) {
        struct output *output = &engine->outputs[i];
        int rc = output->cut ? output_start(output, err) : 0;
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
            _("the connection was lost while standard input was sent: how much of it arrived is not known"));
        return error_hint(err, _("the session goes on: hutch attach %s %s"), engine->spec->project,
                          engine->spec->id);
    }
    return input_start(engine, false, err);
}

/* The connection, the worker or hutch-guest went away: waits until the session can be seen again. */
static int resume(struct engine *engine, struct error **err)
{
    int64_t until = units_monotonic_ns() + SESSION_RETRY_MS * 1000000LL;
    autofree char *path = engine_path(engine, "");
    for (;;) {
        auto(error) struct error *own = NULL;
        auto(json) json_t *session = NULL;
        int rc = engine->client->lost ? client_reconnect(engine->client, true, &own) : 0;
        if (rc == 0)
            rc = ask(engine, "GET", path, &session, &own);
        if (leaving(engine))
            return 0;
        if (rc == 0)
            return reopen(engine, strcmp(out_string(session, "state"), "running") == 0, err);
        if (!engine_passing(own) || units_monotonic_ns() > until) {
            error_prefix(&own, _("session %s of \"%s\" cannot be reached"), engine->spec->id,
                         engine->spec->project);
            if (own->code != ERROR_NOT_FOUND)
                error_hint(&own, _("machine and session go on; back with: hutch attach %s %s"),
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
    /* who only looks (attach) must not end what he looks at */
    if (!engine->spec->looks && engine->pipe_signals < (int)countof(names))
        engine_send_signal(engine, names[engine->pipe_signals++]);
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
            engine_send_size(engine);
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
    autofree char *path = engine_path(engine, "/wait");
    auto(json) json_t *session = NULL;
    for (;;) {
        auto(error) struct error *own = NULL;
        int rc = ask(engine, "GET", path, &session, &own);
        if (leaving(engine))
            return 0;
        if (rc == 0)
            break;
        if (!engine_passing(own))
            return error_move(err, &own);
        rc = resume(engine, err);
        if (rc < 0)
            return rc;
    }
    if (strcmp(out_string(session, "state"), "lost") == 0) {
        error_set(err, ERROR_GUEST, _("the machine went down before the command had ended"));
        return error_hint(err, _("hutch log %s says when; hutch start %s"), engine->spec->project,
                          engine->spec->project);
    }
    int64_t status = 0;
    int rc = json_get_number(session, "exit_status", 0, 255, &status, err);
    if (rc < 0)
        return rc;
    if (!engine->spec->ended) {
        autofree char *own = engine_path(engine, "");
        auto(json) json_t *nothing = NULL;
        ask(engine, "DELETE", own, &nothing, NULL);
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
        rc = engine->outputs[i].wanted ? output_start(&engine->outputs[i], err) : 0;
    if (rc == 0 && !engine->input_ended)
        rc = input_start(engine, false, err);
    if (rc == 0 && engine->spec->pty && !engine->spec->fresh && engine->interactive)
        engine_send_size(engine);
    return rc;
}

/* Stops what still runs and gives the terminal back. */
static void tear_down(struct engine *engine)
{
    flow_cancel(engine->input);
    for (size_t i = 0; i < countof(engine->outputs); i++) {
        flow_cancel(engine->outputs[i].flow);
        if (engine->outputs[i].wanted)
            output_finish(&engine->outputs[i]);
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
    out_note(_("left session %s, it goes on; back with: hutch attach %s %s"), engine->spec->id,
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
    /* whatever the program made of it: nobody read to the end, and that is what the shell is told */
    if (rc >= 0 && engine.broken_pipe && !engine.signal)
        engine.signal = SIGPIPE;
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
