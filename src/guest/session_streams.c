/* session_streams.c: stdin, stdout and stderr of a session: a socket pair between the session's process and
 * the stream. */
#include "base/alloc.h"
#include "base/fd.h"
#include "base/units.h"
#include "guest/api.h"
#include "guest/session_client.h"
#include "guest/session_table.h"
#include "wire/pump.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

struct attach {
    struct call *call;
    struct session_client *client;
    struct pump *pump;
    int fd; /* our end, until the pump has it */
};

static void attach_free(struct attach *attach)
{
    session_client_destroy(attach->client);
    if (attach->fd >= 0)
        close(attach->fd);
    free(attach);
}

static void attach_gone(struct call *call)
{
    attach_free(call->state);
    call_free(call);
}

static void attach_fail(struct attach *attach, struct error *err)
{
    struct call *call = attach->call;
    attach_free(attach);
    call_fail(call, err);
}

static struct error *lost_error(const struct call *call)
{
    struct error *err = NULL;
    json_t *record = session_table_read(call->agent->place.sessions, call->query.argument[0], true);

    if (record)
        error_set(&err, ERROR_STATE, "the session '%s' was lost: its process is gone",
                  call->query.argument[0]);
    else
        error_set(&err, ERROR_NOT_FOUND, "there is no session '%.40s'", call->query.argument[0]);
    json_decref(record);
    return err;
}

/* Connects to the session's process with one end of a fresh pair. NULL: the call was answered with the error.
 */
static struct attach *attach_begin(struct call *call, json_t *request, session_client_fn on_message)
{
    struct attach *attach = xnew(struct attach);
    struct error *err = NULL;
    int pair[2];

    attach->call = call;
    attach->fd = -1;
    call->state = attach;
    call->on_gone = attach_gone;
    if (!session_id_valid(call->query.argument[0])) {
        json_decref(request);
        attach_fail(attach, lost_error(call));
        return NULL;
    }
    if (fd_socketpair(SOCK_STREAM, true, pair, &err)) {
        json_decref(request);
        attach_fail(attach, err);
        return NULL;
    }
    attach->fd = pair[0];
    if (session_client_create(&call->agent->loop, call->agent->place.sessions, call->query.argument[0],
                              request, pair[1], on_message, attach, &attach->client, &err)) {
        if (err->code == ERROR_NOT_FOUND) {
            error_free(err);
            err = lost_error(call);
        }
        attach_fail(attach, err);
        return NULL;
    }
    return attach;
}

/* ---- output ---- */

static void on_output_done(struct pump *pump, enum pump_end end, const struct error *err, void *user)
{
    struct attach *attach = user;
    struct call *call = attach->call;

    attach_free(attach);
    call_free(call);
}

/* The session's process accepted: the head goes out and the bytes begin to flow. */
static void begin_output(struct attach *attach, json_t *message)
{
    struct call *call = attach->call;
    char offset[32] = "0";
    struct error *err = NULL;
    const struct pump_options options = {
        .fd_in = attach->fd, .fd_out = -1, .own_fds = true, .hold_end = true, .on_done = on_output_done};

    snprintf(offset, sizeof(offset), "%" JSON_INTEGER_FORMAT,
             json_integer_value(json_object_get(message, "offset")));
    const struct h2_field fields[] = {{"content-type", "application/octet-stream"}, {"hutch-offset", offset}};
    int rc = h2_respond(call->stream, 200, fields, countof(fields), true, &err);
    if (!rc)
        rc = pump_create(&call->agent->loop, call->stream, &options, attach, &attach->pump, &err);
    if (rc) {
        h2_stream_reset(call->stream, H2_INTERNAL_ERROR);
        attach_fail(attach, err);
        return;
    }
    attach->fd = -1;
    call->stream = NULL;
}

static void on_output_message(struct session_client *client, json_t *message, const struct error *err,
                              void *user)
{
    struct attach *attach = user;

    if (!attach->pump) {
        if (err)
            attach_fail(attach, error_copy(err));
        else if (!message)
            attach_fail(attach, lost_error(attach->call));
        else
            begin_output(attach, message);
        return;
    }
    /* the end: only this message makes it an orderly one. A dead process gives end of file without it. */
    bool done = message && json_is_true(json_object_get(message, "done"));
    attach->client = NULL;
    session_client_destroy(client);
    pump_end_input(attach->pump, done);
}

static void attach_output(struct call *call, const char *name)
{
    json_t *request = json_pack("{s:s}", "op", name);
    const char *from = query_get(&call->query, "from");
    uint64_t offset;
    struct error *err = NULL;

    if (from) {
        if (units_parse_number(from, 0, INT64_MAX, &offset, &err)) {
            json_decref(request);
            call_fail(call, err);
            return;
        }
        json_object_set_new(request, "from", json_integer((json_int_t)offset));
    }
    attach_begin(call, request, on_output_message);
}

void sessions_stdout(struct call *call)
{
    attach_output(call, "stdout");
}

void sessions_stderr(struct call *call)
{
    attach_output(call, "stderr");
}

/* ---- input ---- */

static void input_done(struct attach *attach)
{
    struct call *call = attach->call;
    attach_free(attach);
    call_reply(call, NULL);
}

static void on_input_pumped(struct pump *pump, enum pump_end end, const struct error *err, void *user)
{
    struct attach *attach = user;

    attach->pump = NULL;
    if (end == PUMP_STREAM_RESET) {
        attach->call->stream = NULL;
        attach_gone(attach->call);
        return;
    }
    /* what is left: the session's process says that all was written, or that the program takes no more */
    call_watch(attach->call);
    if (end == PUMP_DONE)
        session_client_send(attach->client, json_pack("{s:b}", "end", 1));
}

static void on_input_message(struct session_client *client, json_t *message, const struct error *err,
                             void *user)
{
    struct attach *attach = user;
    struct call *call = attach->call;

    bool done = message && !err && json_is_true(json_object_get(message, "done"));
    if (message && !err && !done)
        return; /* attached */
    if (attach->pump) {
        pump_cancel(attach->pump);
        attach->pump = NULL;
        call_watch(call);
    }
    if (done)
        input_done(attach);
    else
        attach_fail(attach, err ? error_copy(err) : lost_error(call));
}

void sessions_stdin(struct call *call)
{
    struct attach *attach = attach_begin(call, json_pack("{s:s}", "op", "stdin"), on_input_message);
    struct error *err = NULL;

    if (!attach)
        return;
    const struct pump_options options = {
        .fd_in = -1, .fd_out = attach->fd, .own_fds = true, .keep_stream = true, .on_done = on_input_pumped};
    if (pump_create(&call->agent->loop, call->stream, &options, attach, &attach->pump, &err)) {
        attach_fail(attach, err);
        return;
    }
    attach->fd = -1;
}
