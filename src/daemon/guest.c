#include "daemon/guest.h"

#include "base/alloc.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/text.h"
#include "base/units.h"
#include "daemon/guest_calls.h"
#include "daemon/guest_check.h"
#include "daemon/guest_internal.h"
#include "daemon/guest_worker.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#define CRASHES_MAX    5
#define CRASHES_MS     60000
#define CRASHES_KEPT   64
#define RESTART_MAX_MS 30000
#define QUEUE_MAX      (4 * 1024 * 1024) /* bytes that wait for a worker which does not read */
#define CONNECT_MS     50                /* first pause before a port is tried again; doubles up to */
#define CONNECT_MAX_MS 1000
#define SAVE_MS        1000 /* pause before a key is recorded again that could not be */
#define TALK_MAX       500  /* messages about ports that a worker may send in */
#define TALK_MS        10000
#define FLOWS_MAX      200000 /* messages about flows in the same time: 2 000 new ones a second are less */

/* hutchd's side of one port. */
struct side {
    struct guest *guest;
    enum guest_port id;
    char *path;
    uv_timer_t timer;
    bool needed;  /* the worker wants a connection */
    bool unsaved; /* a key waits for being recorded */
    unsigned tries;
    uint8_t recorded[WMSG_KEY_SIZE]; /* the key announced last */
    uint8_t in_step[WMSG_KEY_SIZE];  /* that of the last session in step */
    bool have_recorded, have_in_step;
};

struct guest {
    struct guest_options options;
    char *worker_program, *project;
    struct guest_worker *worker; /* NULL: crashed, waiting for its restart, or off */
    struct guest_pool *pool;
    struct side sides[PORT_COUNT];
    uv_timer_t restart;
    unsigned handles_closed;
    struct guest_calls calls;
    bool running, up, off, destroyed;
    uint64_t talk_since;
    unsigned talk, flow_talk;
    uint64_t crashes[CRASHES_KEPT]; /* times of the last ones, a ring */
    unsigned crash_count;
    int64_t down_since_ns;
};

static int start_worker(struct guest *guest, struct error **err);
static void on_restart(uv_timer_t *timer);

/* ---- state ---- */

enum guest_link guest_link(const struct guest *guest)
{
    return guest->off ? GUEST_LINK_OFF : guest->up ? GUEST_LINK_UP : GUEST_LINK_DOWN;
}

bool guest_up(const struct guest *guest)
{
    return guest->up;
}

pid_t guest_worker_pid(const struct guest *guest)
{
    return guest->worker ? guest_worker_process(guest->worker) : 0;
}

void guest_set_pool(struct guest *guest, struct guest_pool *pool)
{
    guest->pool = pool;
}

static void note_link(struct guest *guest)
{
    if (guest->pool)
        guest_pool_note(guest->pool, guest, guest_link(guest));
}

static void set_up(struct guest *guest, bool up)
{
    if (guest->up == up)
        return;
    guest->up = up;
    if (!up)
        guest->down_since_ns = units_monotonic_ns();
    note_link(guest);
    if (!guest->destroyed && guest->options.on_state)
        guest->options.on_state(guest, up, guest->options.user);
}

static void alert(struct guest *guest, const char *text)
{
    if (!guest->destroyed && guest->options.on_alert)
        guest->options.on_alert(guest, text, guest->options.user);
}

/* ---- calls ---- */

/* Why no call can begin now; 0 if it can. */
static int refuse_call(struct guest *guest, size_t len, struct error **err)
{
    if (guest->off) {
        error_set(err, ERROR_GUEST, "the machine's hutch-worker ended too often and stays off");
        return error_hint(err, "stop and start the machine");
    }
    if (!guest->worker || !guest->up) {
        char since[UNITS_DURATION_MAX];
        units_format_duration((uint64_t)(units_monotonic_ns() - guest->down_since_ns) / 1000000000, since);
        return error_set(err, ERROR_GUEST, "the machine's hutch-guest has not answered for %s", since);
    }
    if (len > WMSG_BODY_MAX)
        return error_set(err, ERROR_LIMIT, "the call has %zu bytes, at most %d go to the machine at once",
                         len, WMSG_BODY_MAX);
    if (guest->calls.count >= WMSG_CALLS_MAX || guest_worker_queued(guest->worker) > QUEUE_MAX)
        return error_set(err, ERROR_BUSY, "%u calls to the machine are under way", guest->calls.count);
    return 0;
}

uint32_t guest_call(struct guest *guest, const struct guest_call *call, const struct guest_call_ops *ops,
                    void *user, struct error **err)
{
    autoclose int stream = call->stream;
    size_t path_len = strlen(call->path), body_len = call->body ? strlen(call->body) : 0;
    bool streams = call->flags & (WCALL_STREAM_IN | WCALL_STREAM_OUT);

    require(call->op < GUEST_OP_COUNT && (call->port == PORT_CONTROL || call->port == PORT_BULK));
    require(streams == (stream >= 0) && ops->on_result);
    if (refuse_call(guest, path_len + body_len, err) < 0)
        return 0;
    uint32_t id = guest_calls_add(&guest->calls, call, ops, user);
    size_t len = sizeof(struct wmsg_call) + path_len + body_len;
    autofree struct wmsg_call *message = xcalloc(1, len);
    char *tail = (char *)(message + 1);
    *message = (struct wmsg_call){.type = WMSG_CALL,
                                  .id = id,
                                  .op = call->op,
                                  .port = call->port,
                                  .flags = call->flags,
                                  .path_len = (uint32_t)path_len,
                                  .body_len = (uint32_t)body_len};
    memcpy(tail, call->path, path_len);
    if (body_len)
        memcpy(tail + path_len, call->body, body_len);
    guest_worker_send(guest->worker, message, len, steal_fd(&stream));
    return id;
}

void guest_cancel(struct guest *guest, uint32_t id)
{
    struct wmsg_id message = {.type = WMSG_CANCEL, .id = id};

    if (guest->worker && guest_calls_has(&guest->calls, id))
        guest_worker_send(guest->worker, &message, sizeof(message), -1);
}

void guest_flow_send(struct guest *guest, const void *message, size_t len, int fd)
{
    if (guest->worker)
        guest_worker_send(guest->worker, message, len, fd);
    else
        cleanup_close(&fd);
}

/* ---- ports ---- */

static void on_side_timer(uv_timer_t *timer);

static void send_running(struct guest *guest)
{
    struct wmsg_running message = {.type = WMSG_RUNNING, .running = guest->running};

    if (guest->worker)
        guest_worker_send(guest->worker, &message, sizeof(message), -1);
}

static void send_port(struct side *side, int fd)
{
    struct guest *guest = side->guest;
    struct wmsg_port message = {.type = WMSG_PORT, .port = side->id};

    if (!side->have_recorded)
        side->have_recorded =
            guest->options.load_key(guest->project, side->id, side->recorded, guest->options.user);
    if (side->have_recorded)
        memcpy(message.keys[message.key_count++], side->recorded, WMSG_KEY_SIZE);
    if (side->have_in_step && memcmp(side->in_step, side->recorded, WMSG_KEY_SIZE) != 0)
        memcpy(message.keys[message.key_count++], side->in_step, WMSG_KEY_SIZE);
    guest_worker_send(guest->worker, &message, sizeof(message), fd);
}

/* Connects a port that the worker needs, now or when its socket is there. */
static void try_connect(struct side *side)
{
    int fd = -1;
    struct guest *guest = side->guest;

    if (!side->needed || !guest->running || !guest->worker)
        return;
    if (fd_unix_connect(side->path, SOCK_STREAM, &fd, NULL) == 0) {
        side->needed = false;
        side->tries = 0;
        send_port(side, fd);
        return;
    }
    uint64_t delay = (uint64_t)CONNECT_MS << (side->tries < 5 ? side->tries : 5);
    side->tries++;
    uv_timer_start(&side->timer, on_side_timer, delay < CONNECT_MAX_MS ? delay : CONNECT_MAX_MS, 0);
}

/* Records the key that the worker announced; only then may its hello go out. */
static void save_key(struct side *side)
{
    struct guest *guest = side->guest;
    struct wmsg_port message = {.type = WMSG_KEY_SAVED, .port = side->id};
    auto(error) struct error *err = NULL;

    if (guest->options.save_key(guest->project, side->id, side->recorded, guest->options.user, &err) < 0) {
        autofree char *text =
            xasprintf("the key of a port cannot be recorded: %s", err ? err->message : "unknown");
        alert(guest, text);
        uv_timer_start(&side->timer, on_side_timer, SAVE_MS, 0);
        return;
    }
    side->unsaved = false;
    if (guest->worker)
        guest_worker_send(guest->worker, &message, sizeof(message), -1);
}

static void on_side_timer(uv_timer_t *timer)
{
    struct side *side = timer->data;

    if (side->unsaved)
        save_key(side);
    else
        try_connect(side);
}

/* ---- what the worker says ---- */

static bool take_port_state(struct guest *guest, const struct wmsg_port *message)
{
    struct side *side = &guest->sides[message->port];

    if (message->value && side->have_recorded) {
        memcpy(side->in_step, side->recorded, WMSG_KEY_SIZE);
        side->have_in_step = true;
    }
    if (message->port == PORT_CONTROL)
        set_up(guest, message->value);
    return true;
}

static bool take_key(struct guest *guest, const struct wmsg_key *message)
{
    struct side *side = &guest->sides[message->port];

    if (side->needed || side->unsaved)
        return false;
    memcpy(side->recorded, message->key, WMSG_KEY_SIZE);
    side->have_recorded = side->unsaved = true;
    save_key(side);
    return true;
}

static void take_alert(struct guest *guest, const struct wmsg_alert *message)
{
    static const char *const names[PORT_COUNT] = {"control", "egress", "bulk"};
    autofree char *safe = text_safe(message->text);
    autofree char *text = xasprintf("port %s: %s", names[message->port], safe);

    alert(guest, text);
}

/* Each word about a port costs work here (a connection, a durable write): its number is limited. */
static bool may_talk(struct guest *guest, bool flow)
{
    uint64_t now = uv_now(guest->options.loop);

    if (now - guest->talk_since > TALK_MS) {
        guest->talk_since = now;
        guest->talk = guest->flow_talk = 0;
    }
    return flow ? ++guest->flow_talk <= FLOWS_MAX : ++guest->talk <= TALK_MAX;
}

/* One checked message; false: it has no place here. */
static bool take_message(struct guest *guest, const void *data)
{
    uint32_t type = *(const uint32_t *)data;
    bool flow = type >= WMSG_FLOW_ASK && type <= WMSG_FLOW_END;

    if (type != WMSG_ITEM && type != WMSG_RESULT && type != WMSG_HEAD && !may_talk(guest, flow))
        return false;
    if (flow)
        return guest->options.on_flow && guest->options.on_flow(guest, data, guest->options.user);
    switch (type) {
    case WMSG_PORT_NEEDED: {
        struct side *side = &guest->sides[((const struct wmsg_port *)data)->port];
        side->needed = true;
        side->unsaved = false;
        try_connect(side);
        return true;
    }
    case WMSG_PORT_STATE:
        return take_port_state(guest, data);
    case WMSG_KEY:
        return take_key(guest, data);
    case WMSG_ITEM:
    case WMSG_RESULT:
        return guest_calls_take(&guest->calls, data);
    case WMSG_HEAD:
        return guest_calls_take_head(&guest->calls, data);
    default:
        take_alert(guest, data);
        return true;
    }
}

static void on_message(const void *data, size_t len, void *user)
{
    struct guest *guest = user;

    if (guest_check_message(data, len) && take_message(guest, data))
        return;
    alert(guest, "hutch-worker broke its protocol and was ended: the machine may have taken it over");
    if (guest->worker)
        guest_worker_kill(guest->worker);
}

/* ---- the worker's life ---- */

/* Crashes within the last minute, this one included. */
static unsigned count_crash(struct guest *guest, uint64_t now)
{
    unsigned recent = 0;

    guest->crashes[guest->crash_count++ % CRASHES_KEPT] = now;
    for (unsigned i = 0; i < guest->crash_count && i < CRASHES_KEPT; i++)
        recent += now - guest->crashes[i] < CRASHES_MS;
    return recent;
}

/* Again after 0, 0.5, 1, 2 … 30 s, or not at all after too many ends in a minute: who can crash it at will
 * shall not have it try for ever. */
static void plan_restart(struct guest *guest)
{
    uint64_t now = uv_now(guest->options.loop), delay = 0;
    unsigned most = guest->options.crashes_max ? guest->options.crashes_max : CRASHES_MAX;
    unsigned recent = count_crash(guest, now);

    if (recent >= most) {
        guest->off = true;
        note_link(guest);
        autofree char *text = xasprintf(
            "hutch-worker ended %u times within a minute and stays off: the machine is cut off", recent);
        alert(guest, text);
        return;
    }
    if (recent > 1)
        delay = 500ull << (recent - 2 < 6 ? recent - 2 : 6);
    uv_timer_start(&guest->restart, on_restart, delay < RESTART_MAX_MS ? delay : RESTART_MAX_MS, 0);
}

static void on_restart(uv_timer_t *timer)
{
    struct guest *guest = timer->data;
    auto(error) struct error *err = NULL;

    if (start_worker(guest, &err) == 0)
        return;
    log_error("project %s: %s", guest->project, err->message);
    plan_restart(guest);
}

/* Ends what the worker did; the ports are asked for anew by the next one. */
static void forget_worker(struct guest *guest, const char *why)
{
    guest->worker = NULL;
    for (int i = 0; i < PORT_COUNT; i++) {
        guest->sides[i].needed = guest->sides[i].unsaved = false;
        uv_timer_stop(&guest->sides[i].timer);
    }
    set_up(guest, false);
    guest_calls_fail(&guest->calls, why);
    if (guest->options.on_flows_lost)
        guest->options.on_flows_lost(guest, guest->options.user);
}

static void on_worker_gone(int status, void *user)
{
    struct guest *guest = user;

    autofree char *text = xasprintf("the machine's hutch-worker ended unexpectedly (status %d)", status);

    forget_worker(guest, text);
    alert(guest, text);
    if (!guest->destroyed)
        plan_restart(guest);
}

static int start_worker(struct guest *guest, struct error **err)
{
    static const struct guest_worker_ops ops = {.on_message = on_message, .on_gone = on_worker_gone};
    struct wmsg_setup setup = {.type = WMSG_SETUP, .version = WMSG_VERSION};
    int rc = guest_worker_start(guest->options.loop, guest->worker_program, &ops, guest, &guest->worker, err);

    if (rc < 0)
        return rc;
    snprintf(setup.project, sizeof(setup.project), "%s", guest->project);
    guest_worker_send(guest->worker, &setup, sizeof(setup), -1);
    send_running(guest);
    return 0;
}

void guest_set_running(struct guest *guest, bool running)
{
    if (guest->running == running)
        return;
    guest->running = running;
    send_running(guest);
    for (int i = 0; i < PORT_COUNT; i++) {
        guest->sides[i].tries = 0;
        try_connect(&guest->sides[i]);
    }
}

void guest_revive(struct guest *guest)
{
    if (!guest->off)
        return;
    guest->off = false;
    guest->crash_count = 0;
    memset(guest->crashes, 0, sizeof(guest->crashes));
    note_link(guest);
    on_restart(&guest->restart);
}

/* ---- the guest's life ---- */

/* The last of the four timers frees it. */
static void handle_closed(struct guest *guest)
{
    if (++guest->handles_closed < PORT_COUNT + 1)
        return;
    for (int i = 0; i < PORT_COUNT; i++)
        free(guest->sides[i].path);
    free(guest->worker_program);
    free(guest->project);
    free(guest);
}

static void on_side_closed(uv_handle_t *handle)
{
    handle_closed(((struct side *)handle->data)->guest);
}

static void on_restart_closed(uv_handle_t *handle)
{
    handle_closed(handle->data);
}

int guest_create(const struct guest_options *options, struct guest **ret_guest, struct error **err)
{
    struct guest *guest = xnew(struct guest);

    guest->options = *options;
    guest->worker_program = xstrdup(options->worker_program);
    guest->project = xstrdup(options->project);
    guest->down_since_ns = units_monotonic_ns();
    guest_calls_init(&guest->calls);
    for (int i = 0; i < PORT_COUNT; i++) {
        struct side *side = &guest->sides[i];
        side->guest = guest;
        side->id = (enum guest_port)i;
        side->path = xstrdup(options->ports[i]);
        uv_timer_init(options->loop, &side->timer);
        side->timer.data = side;
    }
    uv_timer_init(options->loop, &guest->restart);
    guest->restart.data = guest;
    int rc = start_worker(guest, err);
    if (rc < 0) {
        guest_destroy(guest);
        return rc;
    }
    *ret_guest = guest;
    return 0;
}

void guest_destroy(struct guest *guest)
{
    if (!guest || guest->destroyed)
        return;
    guest->destroyed = true;
    struct guest_worker *worker = guest->worker;
    forget_worker(guest, "the machine is no longer running");
    if (worker)
        guest_worker_stop(worker);
    if (guest->pool)
        guest_pool_forget(guest->pool, guest);
    for (int i = 0; i < PORT_COUNT; i++)
        uv_close((uv_handle_t *)&guest->sides[i].timer, on_side_closed);
    uv_close((uv_handle_t *)&guest->restart, on_restart_closed);
}
