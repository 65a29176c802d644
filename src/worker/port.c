#include "worker/port.h"

#include "base/alloc.h"
#include "wire/hello.h"
#include "wire/link.h"
#include "worker/call.h"
#include "worker/flow.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define READ_SIZE          65536
#define READS_A_TURN       16
#define LOSSES_FORGOTTEN   2000 /* ms in step after which a loss is a first one again */
#define OFFENCES_FORGOTTEN 60000
#define UNPROVEN_MAX       3
#define OFFENCE_DELAY_MAX  60000

enum port_state {
    PORT_IDLE,   /* not started */
    PORT_PAUSE,  /* the timer runs; then hutchd is asked */
    PORT_ASKED,  /* WMSG_PORT_NEEDED is out */
    PORT_RECORD, /* connected; hutchd records the key */
    PORT_HELLO,  /* connected; hellos go out, input is thrown away until the reply */
    PORT_LIVE,
};

struct port {
    struct worker *worker;
    enum guest_port id;
    enum port_state state;
    int fd;          /* RECORD, HELLO */
    uv_poll_t *poll; /* HELLO */
    uv_timer_t timer;
    struct hello_host hello;
    uint8_t other_key[HELLO_KEY_SIZE]; /* the second key the guest may look for */
    bool have_other_key;
    uint64_t discarded;
    struct link *link; /* LIVE */
    uint64_t live_since;
    bool proven;       /* the peer of this link has answered a ping */
    unsigned unproven; /* links in a row that broke before that */
    unsigned losses, offences;
};

/* Input before the reply to a hello: every port reads into the same bytes, which are looked at and forgotten
 * at once. */
static uint8_t read_buffer[READ_SIZE];

static void on_timer(uv_timer_t *timer);

const char *port_name(enum guest_port id)
{
    static const char *const names[PORT_COUNT] = {"control", "egress", "bulk"};
    return names[id];
}

struct port *port_create(struct worker *worker, enum guest_port id)
{
    _Static_assert(HELLO_KEY_SIZE == WMSG_KEY_SIZE, "keys of the hello fit the messages");
    struct port *port = xnew(struct port);

    port->worker = worker;
    port->id = id;
    port->fd = -1;
    uv_timer_init(worker->loop, &port->timer);
    port->timer.data = port;
    return port;
}

struct h2_session *port_session(struct port *port)
{
    return port->state == PORT_LIVE ? link_session(port->link) : NULL;
}

static void tell(struct port *port, enum wmsg_type type, uint32_t value)
{
    struct wmsg_port message = {.type = type, .port = port->id, .value = value};
    channel_send(port->worker->channel, &message, sizeof(message), -1);
}

static void ask(struct port *port)
{
    port->state = PORT_ASKED;
    tell(port, WMSG_PORT_NEEDED, 0);
}

void port_start(struct port *port)
{
    ask(port);
}

static void free_handle(uv_handle_t *handle)
{
    free(handle);
}

static void stop_poll(struct port *port)
{
    if (port->poll)
        uv_close((uv_handle_t *)port->poll, free_handle);
    port->poll = NULL;
}

/* Gives up the connection, whatever its state. */
static void drop(struct port *port)
{
    uv_timer_stop(&port->timer);
    stop_poll(port);
    cleanup_close(&port->fd);
    port->fd = -1;
    if (port->state != PORT_LIVE)
        return;
    struct link *link = port->link;
    port->link = NULL;
    /* Not LIVE before the streams learn of it: a call that ends now must not begin another one here. */
    port->state = PORT_IDLE;
    link_close(link, false);
    tell(port, WMSG_PORT_STATE, 0);
}

/* The next connection is asked for after 0, 0.25, 0.5, 1, 2, 2 … s. */
static void lost(struct port *port)
{
    static const unsigned delays[] = {0, 250, 500, 1000, 2000};
    uint64_t now = uv_now(port->worker->loop);
    bool live = port->state == PORT_LIVE;

    if (live && now - port->live_since >= LOSSES_FORGOTTEN)
        port->losses = 0;
    drop(port);
    unsigned delay = delays[port->losses < countof(delays) ? port->losses : countof(delays) - 1];
    port->losses++;
    port->state = PORT_PAUSE;
    uv_timer_start(&port->timer, on_timer, delay, 0);
}

/* The guest broke a limit: an alert, and the next connection after 1, 2, 4 … 60 s. The machine lives on. */
static void offended(struct port *port, const char *text)
{
    uint64_t now = uv_now(port->worker->loop), delay;

    if (port->state == PORT_LIVE && now - port->live_since >= OFFENCES_FORGOTTEN)
        port->offences = 0;
    drop(port);
    delay = 1000ull << (port->offences < 6 ? port->offences : 6);
    if (delay > OFFENCE_DELAY_MAX)
        delay = OFFENCE_DELAY_MAX;
    port->offences++;
    worker_alert(port->worker, port->id, text);
    port->state = PORT_PAUSE;
    uv_timer_start(&port->timer, on_timer, delay, 0);
}

/* ---- in step ---- */

static void on_over(struct link *link, const struct error *err, void *user)
{
    struct port *port = user;

    bool broken = err && (err->code == ERROR_PROTOCOL || err->code == ERROR_LIMIT);

    /* A guest that dies between its reply and its first frame looks like one that sends garbage, but not
     * again and again. */
    if (broken && !port->proven && ++port->unproven < UNPROVEN_MAX)
        broken = false;
    if (broken)
        offended(port, err->message);
    else
        lost(port);
}

static void on_ping_ack(struct h2_session *session, void *user)
{
    struct port *port = user;

    port->proven = true;
    port->unproven = 0;
}

/* After a GOAWAY no call would be taken any more, but a long one could keep the session for days: it ends
 * now. */
static void on_goaway(struct h2_session *session, uint32_t code, void *user)
{
    struct port *port = user;
    uv_timer_start(&port->timer, on_timer, 0, 0);
}

/* Egress: every CONNECT is a flow. */
static void on_request(struct h2_session *session, struct h2_stream *stream, const struct h2_head *head,
                       void *user)
{
    struct port *port = user;
    flow_begin(port->worker, stream, head);
}

static void watch_link(struct port *port)
{
    link_watch(port->link, port->worker->running ? PORT_PING_MS : 0, PORT_TIMEOUT_MS);
}

/* The reply came; what follows it in the input is HTTP/2. */
static void begin_link(struct port *port, const uint8_t *early, size_t early_len)
{
    static const struct link_ops client = {
        .session.on_goaway = on_goaway, .session.on_ping_ack = on_ping_ack, .on_over = on_over};
    static const struct link_ops server = {.session.on_goaway = on_goaway,
                                           .session.on_ping_ack = on_ping_ack,
                                           .session.on_request = on_request,
                                           .on_over = on_over};
    bool egress = port->id == PORT_EGRESS;
    struct h2_options options = {.connect_only = egress, .connect_fields = flow_fields};
    auto(error) struct error *err = NULL;

    uv_timer_stop(&port->timer);
    stop_poll(port);
    if (link_create(port->worker->loop, port->fd, egress ? H2_SERVER : H2_CLIENT, &options,
                    egress ? &server : &client, port, early, early_len, &port->link, &err) < 0) {
        lost(port);
        return;
    }
    port->fd = -1;
    port->state = PORT_LIVE;
    port->proven = false;
    port->live_since = uv_now(port->worker->loop);
    watch_link(port);
    tell(port, WMSG_PORT_STATE, 1);
    call_port_up(port->worker, port->id);
}

/* ---- the hello ---- */

/* Sends old key(s) and a hello with a fresh nonce, and sets the time for the next one. */
static void send_hello(struct port *port)
{
    uint8_t bytes[HELLO_KEY_SIZE + HELLO_KEY_SIZE + HELLO_SIZE];
    uint8_t *from = bytes + HELLO_KEY_SIZE;
    size_t len = HELLO_KEY_SIZE + HELLO_SIZE;

    hello_host_make(&port->hello, from);
    if (port->have_other_key) {
        memcpy(bytes, port->other_key, HELLO_KEY_SIZE);
        from = bytes;
        len += HELLO_KEY_SIZE;
    }
    /* A peer that reads nothing gets no further hello into its full socket; the timer tries again. */
    ssize_t n = send(port->fd, from, len, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n < 0 && errno != EAGAIN && errno != EINTR) {
        lost(port);
        return;
    }
    uv_timer_start(&port->timer, on_timer, hello_host_delay_ms(&port->hello), 0);
}

/* Looks at what was read; true when the state has changed. */
static bool take_input(struct port *port, size_t len)
{
    size_t used = 0;
    uint32_t version = 0;

    if (!hello_host_receive(&port->hello, read_buffer, len, &used, &version)) {
        port->discarded += len;
        if (port->discarded <= PORT_DISCARD_MAX)
            return false;
        offended(port, "more than 16 MiB came in without the reply to a hello");
        return true;
    }
    if (version != HELLO_VERSION) {
        offended(port, "hutch-guest speaks another version of the protocol than this hutch");
        return true;
    }
    begin_link(port, read_buffer + used, len - used);
    return true;
}

static void on_readable(uv_poll_t *poll, int status, int events)
{
    struct port *port = poll->data;

    for (int i = 0; i < READS_A_TURN; i++) {
        ssize_t n = recv(port->fd, read_buffer, sizeof(read_buffer), MSG_DONTWAIT);
        if (n < 0 && (errno == EAGAIN || errno == EINTR) && status >= 0)
            return;
        if (n <= 0) {
            lost(port);
            return;
        }
        if (take_input(port, (size_t)n))
            return;
    }
}

/* Begins or goes on with hellos: only while the machine runs, or they would queue up in its port. */
static void greet(struct port *port)
{
    if (!port->worker->running) {
        uv_timer_stop(&port->timer);
        return;
    }
    port->hello.attempts = 0;
    send_hello(port);
}

void port_connect(struct port *port, int fd, const struct wmsg_port *message)
{
    struct wmsg_key key = {.type = WMSG_KEY, .port = port->id};

    drop(port);
    port->fd = fd;
    port->discarded = 0;
    port->have_other_key = message->key_count > 1;
    if (port->have_other_key)
        memcpy(port->other_key, message->keys[1], HELLO_KEY_SIZE);
    hello_host_init(&port->hello, message->key_count ? message->keys[0] : NULL);
    port->state = PORT_RECORD;
    memcpy(key.key, port->hello.new_key, sizeof(key.key));
    channel_send(port->worker->channel, &key, sizeof(key), -1);
}

void port_key_saved(struct port *port)
{
    if (port->state != PORT_RECORD)
        return;
    uv_poll_t *poll = xnew(uv_poll_t);
    if (uv_poll_init(port->worker->loop, poll, port->fd) < 0) {
        free(poll);
        lost(port);
        return;
    }
    poll->data = port;
    port->poll = poll;
    port->state = PORT_HELLO;
    uv_poll_start(poll, UV_READABLE, on_readable);
    greet(port);
}

void port_running(struct port *port)
{
    if (port->state == PORT_LIVE)
        watch_link(port);
    else if (port->state == PORT_HELLO)
        greet(port);
}

static void on_timer(uv_timer_t *timer)
{
    struct port *port = timer->data;

    if (port->state == PORT_PAUSE)
        ask(port);
    else if (port->state == PORT_HELLO)
        send_hello(port);
    else if (port->state == PORT_LIVE)
        lost(port);
}
