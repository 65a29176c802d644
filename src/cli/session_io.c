#include "cli/session_internal.h"

#include "base/alloc.h"
#include "base/fd.h"
#include "base/units.h"
#include "base/words.h"
#include "cli/out.h"
#include "cli/project.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

char *engine_path(const struct engine *engine, const char *suffix)
{
    autofree char *id = json_url_encode(engine->spec->id, strlen(engine->spec->id));
    return project_path(engine->spec->project, "/sessions/%s%s", id, suffix);
}

void engine_fail(struct engine *engine, struct error *own)
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
    autofree char *path = engine_path(engine, suffix);
    if (!engine->client->lost)
        json_call(link_session(engine->client->link), "POST", path, owned, on_ignored, NULL, NULL);
}

void engine_send_signal(struct engine *engine, const char *name)
{
    send_call(engine, "/signal", json_pack("{s:s}", "signal", name));
}

void engine_send_size(struct engine *engine)
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
        out_note(_("%llu bytes of %s were overwritten meanwhile"),
                 (unsigned long long)(offset - output->offset), output->name);
    output->start = offset;
    output->offset = offset;
    output->positioned = true;
}

bool engine_passing(const struct error *err)
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
    } else if (end == FLOW_CUT || (end == FLOW_REFUSED && engine_passing(err))) {
        output->cut = true;
    } else if (end == FLOW_OUTPUT_FAILED && err->sys == EPIPE) {
        output->fd = -1;
        output->cut = true;
        engine->broken_pipe = true;
    } else {
        engine_fail(engine, error_copy(err));
    }
}

int output_start(struct output *output, struct error **err)
{
    struct engine *engine = output->engine;
    char suffix[64];
    if (output->positioned || engine->spec->fresh)
        snprintf(suffix, sizeof(suffix), "/%s?from=%llu", output->name, (unsigned long long)output->offset);
    else
        snprintf(suffix, sizeof(suffix), "/%s", output->name);
    autofree char *path = engine_path(engine, suffix);
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

void output_finish(struct output *output)
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
        fputs("\r\n[", stderr);
        fprintf(stderr, _("%s d  leave, the session goes on   %s %s  sends %s itself   %s ?  this line"), key,
                key, key, key, key);
        fputs("]\r\n", stderr);
    }
}

/* The end of an input that is none: closes the session's stdin. */
static int no_bytes(const uint8_t **ret_data, size_t *ret_len, void *user, struct error **err)
{
    *ret_data = NULL;
    *ret_len = 0;
    return 0;
}

static void on_input_done(enum flow_end end, const struct error *err, void *user)
{
    struct engine *engine = user;
    engine->input_sent += flow_sent(engine->input);
    engine->input = NULL;
    if (end == FLOW_DONE || (end == FLOW_REFUSED && !engine_passing(err)))
        engine->input_ended = true; /* refused: it has ended or takes no more */
    else if (end == FLOW_CUT || end == FLOW_REFUSED)
        engine->input_cut = true;
    else if (engine->spec->pty || input_start(engine, true, NULL) < 0)
        engine->input_ended = true; /* it cannot be read: the same as its end */
}

int input_start(struct engine *engine, bool empty, struct error **err)
{
    autofree char *path = engine_path(engine, "/stdin");
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
