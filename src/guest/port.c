#include "guest/port.h"

#include "base/alloc.h"
#include "base/fd.h"
#include "base/file.h"
#include "base/log.h"
#include "guest/net.h"
#include "guest/port_device.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#define PIECE      4096 /* what a port gives at once */
#define FIND_QUICK 200  /* looks for the device before they become rare */

static void look(struct port *port);
static void on_timer(uv_timer_t *timer);
static void on_poll(uv_poll_t *poll, int status, int events);

static void on_poll_closed(uv_handle_t *handle)
{
    free(handle);
}

/* ---- waiting ---- */

/* libuv's poll handle is bound to a descriptor: each wait has a handle of its own. */
struct waiter {
    uv_poll_t poll;
    struct port *port;
};

static void stop_waiting(struct port *port)
{
    uv_timer_stop(&port->timer);
    if (port->waiter)
        uv_close((uv_handle_t *)&port->waiter->poll, on_poll_closed);
    port->waiter = NULL;
}

static void wait_readable(struct port *port, int fd)
{
    if (port->waiter)
        return;
    struct waiter *waiter = xnew(struct waiter);
    waiter->port = port;
    require(uv_poll_init(&port->agent->loop, &waiter->poll, fd) == 0);
    waiter->poll.data = waiter;
    port->waiter = waiter;
    uv_poll_start(&waiter->poll, UV_READABLE, on_poll);
}

static void wait_time(struct port *port, uint64_t ms)
{
    uv_timer_start(&port->timer, on_timer, ms, 0);
}

/* No host client: look again when one comes, or later, less and less often. */
static void back_off(struct port *port)
{
    stop_waiting(port);
    if (port->edge >= 0)
        wait_readable(port, port->edge);
    wait_time(port, port->retry_ms);
    port->retry_ms = port->retry_ms * 2 < PORT_RETRY_MAX_MS ? port->retry_ms * 2 : PORT_RETRY_MAX_MS;
}

static void watch_edge(struct port *port)
{
    struct epoll_event event = {.events = EPOLLIN | EPOLLET};

    port->edge = epoll_create1(EPOLL_CLOEXEC);
    if (port->edge >= 0 && epoll_ctl(port->edge, EPOLL_CTL_ADD, port->fd, &event)) {
        close(port->edge);
        port->edge = -1;
    }
}

/* What was told so far is about to be looked at. */
static void forget_edge(struct port *port)
{
    struct epoll_event event;
    if (port->edge >= 0)
        epoll_wait(port->edge, &event, 1, 0);
}

/* Gives the descriptor up; the next look opens or accepts anew. */
static void drop(struct port *port)
{
    stop_waiting(port);
    cleanup_close(&port->fd);
    cleanup_close(&port->edge);
    port->fd = port->edge = -1;
    hello_guest_reset(&port->hello);
}

/* ---- the session ---- */

static void on_request(struct h2_session *session, struct h2_stream *stream, const struct h2_head *head,
                       void *user)
{
    struct port *port = user;
    call_begin(port->agent, stream, head);
}

static int filter(struct link *link, const uint8_t *data, size_t len, struct buf *out, void *user)
{
    struct port *port = user;
    size_t before = out->len;

    if (len == 0)
        hello_guest_release(&port->hello, out);
    else
        hello_guest_receive(&port->hello, data, len, out);
    /* the key was found: the bytes before it may still be of the old session, which nobody will answer any
     * more */
    return port->hello.live ? (int)(out->len - before) : -1;
}

static bool filter_holds(struct link *link, void *user)
{
    struct port *port = user;

    return hello_guest_holds(&port->hello);
}

/* Who calls by this port learns whether it can. */
static void tell_net(struct port *port, struct link *link)
{
    if (port->role == PORT_CALLS && port->agent->net)
        net_set_link(port->agent->net, link);
}

static void on_over(struct link *link, const struct error *err, void *user)
{
    struct port *port = user;
    bool silent = err && err->code == ERROR_TIMED_OUT;

    log_info("%s: the session is over%s%s", port->name, err ? ": " : "", err ? err->message : "");
    tell_net(port, NULL);
    port->link = NULL;
    port->fd = link_close(link, true);
    port->retry_ms = PORT_RETRY_MIN_MS;
    if (port->hello.live)
        hello_guest_reset(&port->hello);
    if (silent)
        drop(port);
    look(port);
}

static int begin_session(struct port *port, const struct buf *early, struct error **err)
{
    static const struct link_ops ops = {.session = {.on_request = on_request},
                                        .on_over = on_over,
                                        .filter = filter,
                                        .filter_holds = filter_holds};
    const struct h2_options options = {.trusted = true};
    enum h2_role role = port->role == PORT_SERVES ? H2_SERVER : H2_CLIENT;

    stop_waiting(port);
    int rc = link_create(&port->agent->loop, port->fd, role, &options, &ops, port, buf_data(early),
                         early->len, &port->link, err);
    if (rc)
        return rc;
    port->fd = -1;
    link_watch(port->link, PORT_PING_MS, PORT_DEAD_MS);
    log_info("%s: in step with the host", port->name);
    tell_net(port, port->link);
    return 0;
}

/* ---- without a session ---- */

/* Reads until the port is empty or HTTP/2 begins. Returns 1 then, 0 when there is no host client, -1 when the
 * descriptor is no good. */
static int drain(struct port *port, struct buf *pass)
{
    uint8_t piece[PIECE];

    for (;;) {
        ssize_t n = read(port->fd, piece, sizeof(piece));
        if (n > 0) {
            hello_guest_receive(&port->hello, piece, (size_t)n, pass);
            if (pass->len > 0)
                return 1;
        } else if (n == 0) {
            return 0;
        } else if (errno == EAGAIN) {
            return 1;
        } else if (errno != EINTR) {
            return -1;
        }
    }
}

/* Answers the last complete hello. The reply fits any port that has a client; one that does not take it has
 * none. */
static bool reply(struct port *port)
{
    uint8_t out[HELLO_REPLY_SIZE];

    hello_guest_reply(&port->hello, out);
    if (write(port->fd, out, sizeof(out)) == (ssize_t)sizeof(out))
        return true;
    hello_guest_reset(&port->hello);
    return false;
}

/* Takes what the port has: hellos are answered; the first bytes of HTTP/2 begin a session. */
static void listen_to(struct port *port)
{
    struct buf pass;
    auto(error) struct error *err = NULL;

    buf_init(&pass, 0);
    forget_edge(port);
    int state = drain(port, &pass);
    if (state > 0 && port->hello.have_hello && !reply(port))
        state = 0;
    else if (state > 0 && port->hello.live && pass.len > 0 && begin_session(port, &pass, &err))
        state = -1;
    buf_finish(&pass);
    if (port->link)
        return;
    if (err)
        log_warning("%s: %s", port->name, err->message);
    if (state > 0) {
        port->retry_ms = PORT_RETRY_MIN_MS;
        stop_waiting(port);
        wait_readable(port, port->fd);
        return;
    }
    /* a UNIX socket ends with its client; a device stays, unless it broke */
    if (state < 0 || port->listener >= 0)
        drop(port);
    if (state == 0)
        hello_guest_reset(&port->hello);
    if (state == 0 && port->listener >= 0)
        look(port);
    else
        back_off(port);
}

/* Another hutch-guest may have been here, with a session that the host still takes for live: a GOAWAY ends it
 * at once. Without it the host waits for a ping's deadline. A host in its hello throws it away. */
static void say_anew(struct port *port)
{
    static const uint8_t goaway[17] = {0, 0, 8, 7};

    if (write(port->fd, goaway, sizeof(goaway)) < 0)
        log_debug("%s: nobody there yet", port->name);
}

/* A descriptor first, then whatever it has. */
static void look(struct port *port)
{
    if (port->fd < 0 && port->listener >= 0) {
        port->fd = accept4(port->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (port->fd < 0) {
            wait_readable(port, port->listener);
            return;
        }
        stop_waiting(port); /* it was the listener's */
    } else if (port->fd < 0) {
        autofree char *full = xasprintf("org.hutch.%s", port->name);
        port->fd = port_device_open(full);
        if (port->fd < 0) {
            wait_time(port, port->looks++ < FIND_QUICK ? PORT_FIND_MS : PORT_RETRY_MAX_MS);
            return;
        }
        watch_edge(port);
        log_info("%s: found its device", port->name);
        say_anew(port);
    }
    listen_to(port);
}

static void on_timer(uv_timer_t *timer)
{
    look(timer->data);
}

static void on_poll(uv_poll_t *poll, int status, int events)
{
    struct waiter *waiter = poll->data;
    look(waiter->port);
}

int port_init(struct port *port, struct agent *agent, const char *name, enum port_role role,
              struct error **err)
{
    memset(port, 0, sizeof(*port));
    port->agent = agent;
    port->name = name;
    port->role = role;
    port->fd = port->listener = port->edge = -1;
    port->retry_ms = PORT_RETRY_MIN_MS;
    hello_guest_init(&port->hello);
    if (!agent->place.machine) {
        autofree char *path = xasprintf("%s/%s.sock", agent->place.run, name);
        int rc = fd_unix_listen(path, SOCK_STREAM, 0600, &port->listener, err);
        if (rc)
            return rc;
    }
    uv_timer_init(&agent->loop, &port->timer);
    port->timer.data = port;
    look(port);
    return 0;
}

void port_finish(struct port *port)
{
    stop_waiting(port);
    tell_net(port, NULL);
    if (port->link)
        link_close(port->link, false);
    port->link = NULL;
    cleanup_close(&port->fd);
    cleanup_close(&port->edge);
    cleanup_close(&port->listener);
    uv_close((uv_handle_t *)&port->timer, NULL);
}
