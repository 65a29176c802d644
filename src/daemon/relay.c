#include "daemon/relay.h"

#include "base/alloc.h"
#include "base/fd.h"
#include "base/units.h"
#include "daemon/machine.h"
#include "daemon/show.h"
#include "wire/json.h"
#include "wire/pump.h"

#include <string.h>
#include <sys/socket.h>

#define READY_POLL_MS 250

struct relay {
    struct relay *next, **prev; /* of all that wait */
    struct daemon *daemon;
    struct relay_options o;   /* strings are its own */
    struct h2_stream *stream; /* NULL: answered or gone */
    struct pump *pump;
    struct json_writer *writer; /* of a list */
    uv_timer_t timer;
    int64_t deadline;
    uint32_t call;  /* 0: not begun */
    bool head_sent; /* the client has the head of its answer */
    bool over;      /* its result is there */
    bool ready;     /* with need_ready: the guest said so */
    bool asking;    /* a health call is out */
    int near, far;  /* socket pair; far goes to the worker */
    uint64_t bytes;
};

static struct relay *waiting; /* loop thread only */

static void try_begin(struct relay *relay);

/* ---- its end ---- */

static void on_timer_closed(uv_handle_t *handle)
{
    struct relay *relay = handle->data;

    free((char *)(uintptr_t)relay->o.id);
    free((char *)(uintptr_t)relay->o.path);
    free(relay->o.body);
    free(relay);
}

static void stop_waiting(struct relay *relay)
{
    if (!relay->prev)
        return;
    *relay->prev = relay->next;
    if (relay->next)
        relay->next->prev = relay->prev;
    relay->prev = NULL;
    uv_timer_stop(&relay->timer);
}

/* Frees it when nothing will call it any more. */
static void release(struct relay *relay)
{
    if (!relay->over || relay->pump || relay->writer || relay->asking ||
        uv_is_closing((uv_handle_t *)&relay->timer))
        return;
    stop_waiting(relay);
    if (relay->stream)
        h2_stream_set_ops(relay->stream, NULL, NULL);
    cleanup_close(&relay->near);
    cleanup_close(&relay->far);
    uv_close((uv_handle_t *)&relay->timer, on_timer_closed);
}

/* Calls that only read are of no use without their client; the others go on. */
static bool only_reads(const struct relay *relay)
{
    switch (relay->o.op) {
    case GUEST_OP_SESSION_START:
    case GUEST_OP_PUT:
    case GUEST_OP_DELETE:
    case GUEST_OP_REPO:
        return false;
    case GUEST_OP_POST:
        return relay->o.flags != 0;
    default:
        return true;
    }
}

/* The client went away. */
static void client_gone(struct relay *relay)
{
    relay->stream = NULL;
    if (relay->over)
        ;
    else if (!relay->call) {
        relay->over = true; /* it was waiting for the guest; a health call may still be out */
        stop_waiting(relay);
        if (relay->o.on_end) {
            auto(error) struct error *err = NULL;

            error_set(&err, ERROR_CANCELLED, "the client went away");
            relay->o.on_end(NULL, err, 0, relay->o.user);
        }
    } else if (only_reads(relay)) {
        struct guest *guest = guest_pool_get(relay->daemon->guests, relay->o.id);

        if (guest)
            guest_cancel(guest, relay->call);
    }
    release(relay);
}

static void on_stream_close(struct h2_stream *stream, uint32_t code, void *user)
{
    (void)stream;
    (void)code;
    client_gone(user);
}

/* For the times in which no pump has the stream. A body that comes then is not wanted. */
static const struct h2_stream_ops own_ops = {.on_close = on_stream_close};

/* Answers what has no bytes, or a refusal. */
static void answer(struct relay *relay, const struct wmsg_item *item, const struct error *err)
{
    struct h2_stream *stream = relay->stream;

    if (!stream)
        return;
    relay->stream = NULL;
    h2_stream_set_ops(stream, NULL, NULL);
    if (err) {
        json_reply_error(stream, err);
    } else {
        auto(json) json_t *body = show_item(relay->daemon, relay->o.id, item);

        json_reply(stream, 200, body);
    }
}

/* ---- bytes ---- */

static void on_bytes(struct pump *pump, size_t in, size_t out, void *user)
{
    struct relay *relay = user;

    (void)pump;
    relay->bytes += in + out;
}

static void on_pump_done(struct pump *pump, enum pump_end end, const struct error *err, void *user)
{
    struct relay *relay = user;

    (void)pump;
    (void)err;
    relay->pump = NULL;
    if (relay->o.flags & WCALL_STREAM_OUT) {
        /* The pump had the stream to its end, and has closed our end of the pair. */
        relay->near = -1;
        client_gone(relay);
        return;
    }
    if (end == PUMP_STREAM_RESET) {
        client_gone(
            relay); /* our end stays open until the result: a cut body must not look like a whole one */
        return;
    }
    /* The body is through, or the guest wants no more of it: its answer comes with the result. */
    if (end == PUMP_DONE)
        shutdown(relay->near, SHUT_WR);
    h2_stream_set_ops(relay->stream, &own_ops, relay);
    if (relay->over)
        release(relay);
}

/* Lets bytes flow between the client's stream and our end of the pair. */
static int start_pump(struct relay *relay, struct error **err)
{
    bool in = relay->o.flags & WCALL_STREAM_IN, out = relay->o.flags & WCALL_STREAM_OUT;
    struct pump_options options = {
        .fd_in = out ? relay->near : -1,
        .fd_out = in ? relay->near : -1,
        .own_fds = out,
        .hold_end = out,
        .keep_stream = !out,
        .on_done = on_pump_done,
        .on_bytes = on_bytes,
    };

    return pump_create(&relay->daemon->loop, relay->stream, &options, relay, &relay->pump, err);
}

/* ---- the call ---- */

static void on_gone(struct json_writer *writer, void *user)
{
    struct relay *relay = user;

    (void)writer;
    client_gone(relay);
}

/* Begins the answer of a list. */
static void start_list(struct relay *relay)
{
    if (relay->writer || !relay->stream)
        return;
    relay->writer = json_writer_create(relay->stream, on_gone, relay);
}

static void on_item(const struct wmsg_item *item, void *user)
{
    struct relay *relay = user;
    auto(json) json_t *line = NULL;

    start_list(relay);
    if (!relay->stream)
        return;
    line = show_item(relay->daemon, relay->o.id, item);
    if (!json_writer_line(relay->writer, line)) {
        struct guest *guest = guest_pool_get(relay->daemon->guests, relay->o.id);

        h2_stream_reset(relay->stream, H2_ENHANCE_YOUR_CALM); /* slower than its own list of a megabyte */
        if (guest)
            guest_cancel(guest, relay->call);
    }
}

static void on_head(const struct wmsg_head *head, void *user)
{
    struct relay *relay = user;
    char offset[24];
    struct h2_field fields[] = {{"content-type", "application/octet-stream"}, {"hutch-offset", offset}};
    auto(error) struct error *err = NULL;

    if (!relay->stream || !(relay->o.flags & WCALL_STREAM_OUT))
        return;
    snprintf(offset, sizeof(offset), "%llu", (unsigned long long)head->offset);
    h2_respond(relay->stream, 200, fields, countof(fields), true, NULL);
    relay->head_sent = true;
    if (!relay->pump && start_pump(relay, &err) < 0)
        h2_stream_reset(relay->stream, H2_INTERNAL_ERROR);
}

static bool is_list(const struct relay *relay)
{
    return relay->o.op == GUEST_OP_SESSION_LIST || relay->o.op == GUEST_OP_FILE_LIST;
}

/* How a stream of bytes ends: with the guest's word that it was whole, or cut. */
static void end_bytes(struct relay *relay, const struct wmsg_item *item, const struct error *err)
{
    if (!relay->stream)
        return;
    if (relay->pump && relay->head_sent) {
        pump_end_input(relay->pump, !err);
        return;
    }
    if (relay->pump) {
        pump_cancel(relay->pump);
        relay->pump = NULL;
        if (relay->o.flags & WCALL_STREAM_OUT)
            relay->near = -1; /* the pump owned it */
    }
    answer(relay, item, err);
}

static void on_result(const struct wmsg_item *item, const struct error *err, void *user)
{
    struct relay *relay = user;

    relay->over = true;
    if (relay->o.on_end)
        relay->o.on_end(item, err, relay->bytes, relay->o.user);
    if (is_list(relay) && !err)
        start_list(relay);
    if (relay->writer) {
        struct json_writer *writer = steal(&relay->writer);

        if (err && relay->stream)
            h2_stream_reset(relay->stream, H2_INTERNAL_ERROR);
        relay->stream = NULL;
        json_writer_end(writer);
    } else {
        end_bytes(relay, item, err);
    }
    release(relay);
}

static const struct guest_call_ops call_ops = {
    .on_item = on_item, .on_head = on_head, .on_result = on_result};

/* It cannot be done: the client is told, nothing was asked of the guest. */
static void give_up(struct relay *relay, const struct error *err)
{
    stop_waiting(relay);
    on_result(NULL, err, relay);
}

/* The guest is in step: the call goes out. */
static void begin(struct relay *relay, struct guest *guest)
{
    struct guest_call call = {
        .op = relay->o.op,
        .port = relay->o.port,
        .flags = relay->o.flags,
        .path = relay->o.path,
        .body = relay->o.body,
        .stream = steal_fd(&relay->far),
    };
    auto(error) struct error *err = NULL;

    stop_waiting(relay);
    relay->call = guest_call(guest, &call, &call_ops, relay, &err);
    if (!relay->call)
        give_up(relay, err);
}

/* ---- waiting for the guest ---- */

static void on_health(const struct wmsg_item *item, const struct error *err, void *user)
{
    struct relay *relay = user;

    relay->asking = false;
    if (relay->over) {
        release(relay);
        return;
    }
    relay->ready = !err && (item->u.health.phase == PHASE_READY || item->u.health.phase == PHASE_FAILED);
    if (relay->ready)
        try_begin(relay);
}

static const struct guest_call_ops health_ops = {.on_result = on_health};

/* Whether there is any use in waiting: the machine runs, is being started, or libvirt has not said yet. */
static int may_wait(struct relay *relay, struct error **err)
{
    struct project *project = projects_lock(relay->daemon->projects, relay->o.id);
    int rc;

    if (!project)
        return error_set(err, ERROR_NOT_FOUND, "the project was removed meanwhile");
    rc = project_require_running(project, err);
    if (rc < 0 && (!project->known || (project->busy && !strcmp(project_state(project), "starting")))) {
        error_free(steal(err));
        rc = 0;
    }
    if (rc == 0 && units_monotonic_ns() > relay->deadline) {
        rc = error_set(err, ERROR_GUEST, "hutch-guest in \"%s\" does not answer", project->r.name);
        error_hint(err, "`hutch show %s` says how the machine is", project->r.name);
    }
    projects_unlock(relay->daemon->projects);
    return rc;
}

/* Begins the call, goes on waiting, or gives up. */
static void try_begin(struct relay *relay)
{
    struct guest *guest = machine_guest(relay->daemon, relay->o.id);
    auto(error) struct error *err = NULL;

    if (may_wait(relay, &err) < 0) {
        give_up(relay, err);
        return;
    }
    if (guest && relay->o.need_ready && !relay->ready) {
        struct guest_call call = {
            .op = GUEST_OP_HEALTH, .port = PORT_CONTROL, .path = "/v1/health", .stream = -1};

        if (!relay->asking)
            relay->asking = guest_call(guest, &call, &health_ops, relay, NULL) != 0;
        return;
    }
    if (guest)
        begin(relay, guest);
}

static void on_timer(uv_timer_t *timer)
{
    try_begin(timer->data);
}

/* Puts it with those that wait. */
static void wait_for_guest(struct relay *relay)
{
    struct guest *guest = guest_pool_get(relay->daemon->guests, relay->o.id);
    uint64_t poll = relay->o.need_ready ? READY_POLL_MS : relay->o.wait_ms + 1;

    if (guest)
        guest_revive(guest);
    relay->next = waiting;
    relay->prev = &waiting;
    if (waiting)
        waiting->prev = &relay->next;
    waiting = relay;
    uv_timer_start(&relay->timer, on_timer, poll, READY_POLL_MS);
}

void relay_retry(struct daemon *daemon, const char *id)
{
    struct relay *relay = waiting;

    (void)daemon;
    while (relay) {
        struct relay *next = relay->next;

        if (!strcmp(relay->o.id, id) && !relay->over)
            try_begin(relay);
        relay = next;
    }
}

void relay_start(struct daemon *daemon, struct h2_stream *stream, const struct relay_options *options)
{
    struct relay *relay = xnew(struct relay);
    auto(error) struct error *err = NULL;
    bool bytes = options->flags & (WCALL_STREAM_IN | WCALL_STREAM_OUT);
    int fds[2] = {-1, -1}, rc = 0;

    relay->daemon = daemon;
    relay->o = *options;
    relay->o.id = xstrdup(options->id);
    relay->o.path = xstrdup(options->path);
    relay->stream = stream;
    if (!relay->o.wait_ms)
        relay->o.wait_ms = RELAY_WAIT_MS;
    relay->deadline = units_monotonic_ns() + (int64_t)relay->o.wait_ms * 1000000;
    uv_timer_init(&daemon->loop, &relay->timer);
    relay->timer.data = relay;
    h2_stream_set_ops(stream, &own_ops, relay);
    if (bytes)
        rc = fd_socketpair(SOCK_STREAM, true, fds, &err);
    relay->near = fds[0];
    relay->far = fds[1];
    if (rc == 0 && (options->flags & WCALL_STREAM_IN))
        rc = start_pump(relay, &err); /* now: bytes of the body are on their way */
    if (rc < 0) {
        give_up(relay, err);
        return;
    }
    wait_for_guest(relay);
    try_begin(relay);
}
