#include "wire/link.h"

#include "base/alloc.h"
#include "base/fd.h"
#include "wire/h2_internal.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#define TURN_MAX    (1024 * 1024) /* bytes each way before other handles of the loop get their turn */
#define FRAME_WHOLE (H2_FRAME_MAX + 16)
#define CHUNK_SIZE  (4 * FRAME_WHOLE)

struct link {
    uv_poll_t poll;
    uv_idle_t idle; /* runs when there is something to send: at the start of the loop's next turn, when every
                     * callback of this one has added its part */
    uv_timer_t timer;
    uv_timer_t hold;  /* runs while the filter holds bytes back */
    unsigned handles; /* not yet closed */
    int fd;
    int events; /* what the poll handle waits for */
    struct h2_session *session;
    struct link_ops ops;
    void *user;
    struct buf early;
    struct buf pending; /* taken from the session, not yet accepted by the kernel */
    struct buf passed;  /* output of the filter */
    unsigned depth;     /* our own calls that may call back */
    bool blocked;       /* the kernel takes no more: wait for UV_WRITABLE */
    bool over;
    bool finishing; /* GOAWAY when all queued bytes are out, then the end */
    bool said_goaway;
    bool closing;
    bool ping_waiting;
    unsigned timeout_ms;
    uint64_t last_input; /* monotonic ms */
};

static uint64_t now_ms(void)
{
    return uv_hrtime() / 1000000;
}

static void on_poll(uv_poll_t *poll, int status, int events);
static void on_idle(uv_idle_t *idle);

static void update_poll(struct link *link)
{
    if (link->over || link->closing)
        return;
    int events = UV_READABLE | (link->blocked ? UV_WRITABLE : 0);
    if (events == link->events) /* starting again costs two system calls */
        return;
    link->events = events;
    require(uv_poll_start(&link->poll, events, on_poll) == 0);
}

static void stop(struct link *link)
{
    if (link->closing)
        return;
    uv_poll_stop(&link->poll);
    uv_idle_stop(&link->idle);
    uv_timer_stop(&link->timer);
    uv_timer_stop(&link->hold);
}

/* The end, told once. */
static void report_over(struct link *link, const struct error *err)
{
    if (link->over || link->closing)
        return;
    stop(link);
    link->over = true;
    if (link->ops.on_over)
        link->ops.on_over(link, err, link->user);
}

/* The end of a session that is over: its own reason, or the peer's GOAWAY. */
static void report_session_over(struct link *link)
{
    auto(error) struct error *err = NULL;
    if (h2_session_reason(link->session))
        err = error_copy(h2_session_reason(link->session));
    else if (link->session->peer_code != H2_NO_ERROR)
        error_set(&err, ERROR_PROTOCOL, "HTTP/2: the peer ended the connection (%s)",
                  nghttp2_http2_strerror(link->session->peer_code));
    report_over(link, err);
}

static void enter(struct link *link)
{
    link->depth++;
}

static void leave(struct link *link)
{
    if (--link->depth == 0 && link->closing && link->session) {
        struct h2_session *session = link->session;
        link->session = NULL;
        h2_session_destroy(session);
    }
}

/* Writes what the kernel takes. False: the link is over. */
static bool write_some(struct link *link, const uint8_t *data, size_t len, size_t *ret_written)
{
    size_t done = 0;
    while (done < len && !link->blocked) {
        ssize_t n = write(link->fd, data + done, len - done);
        if (n > 0) {
            done += (size_t)n;
        } else if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
            link->blocked = true;
        } else if (n < 0 && errno != EINTR) {
            auto(error) struct error *err = NULL;
            error_set_errno(&err, errno, "the connection cannot be written");
            report_over(link, err);
            return false;
        }
    }
    *ret_written = done;
    return true;
}

/* Takes frames from the session until the chunk is full. False: closed meanwhile. */
static bool gather(struct link *link, uint8_t *chunk, size_t *ret_len)
{
    size_t len = 0;
    while (link->pending.len == 0 && len + FRAME_WHOLE <= CHUNK_SIZE) {
        const uint8_t *data;
        size_t n;
        int rc = h2_session_take(link->session, &data, &n, NULL);
        if (link->closing)
            return false;
        if (rc < 0 || n == 0)
            break;
        size_t fits = n < CHUNK_SIZE - len ? n : CHUNK_SIZE - len;
        memcpy(chunk + len, data, fits);
        len += fits;
        require(buf_append(&link->pending, data + fits, n - fits, NULL) == 0);
    }
    *ret_len = len;
    return true;
}

/* Sends until there is nothing more, the kernel takes no more, or the turn is used up. */
static void flush(struct link *link)
{
    uint8_t chunk[CHUNK_SIZE];
    size_t total = 0;
    while (!link->over && !link->closing && !link->blocked && total < TURN_MAX) {
        size_t n;
        if (link->pending.len > 0) {
            if (!write_some(link, buf_data(&link->pending), link->pending.len, &n))
                return;
            buf_consume(&link->pending, n);
            total += n;
            continue;
        }
        size_t len;
        if (!gather(link, chunk, &len))
            return;
        if (len == 0)
            break;
        struct buf rest = link->pending;
        buf_init(&link->pending, 0);
        if (!write_some(link, chunk, len, &n)) {
            buf_finish(&rest);
            return;
        }
        require(buf_append(&link->pending, chunk + n, len - n, NULL) == 0);
        require(buf_append(&link->pending, buf_data(&rest), rest.len, NULL) == 0);
        buf_finish(&rest);
        total += n;
    }
}

/* After every piece of work: what is the link waiting for now? */
static void settle(struct link *link)
{
    if (link->over || link->closing)
        return;
    bool more = link->pending.len > 0 || h2_session_want_send(link->session);
    if (!more && h2_session_over(link->session)) {
        report_session_over(link);
        return;
    }
    if (!more && link->finishing && !h2_session_has_queued(link->session)) {
        if (link->said_goaway) {
            report_over(link, NULL);
            return;
        }
        link->said_goaway = true;
        h2_session_shutdown(link->session, H2_NO_ERROR);
        more = true;
    }
    if (more && !link->blocked)
        uv_idle_start(&link->idle, on_idle);
    else
        uv_idle_stop(&link->idle);
    update_poll(link);
}

/* Hands input to the session. False: over or closed. */
static bool feed(struct link *link, const uint8_t *data, size_t len)
{
    if (len == 0)
        return true;
    int rc = h2_session_receive(link->session, data, len, NULL);
    if (link->closing)
        return false;
    if (rc < 0) {
        flush(link); /* the GOAWAY, if the kernel takes it */
        if (!link->over && !link->closing)
            report_session_over(link);
        return false;
    }
    link->last_input = now_ms();
    link->ping_waiting = false;
    return true;
}

/* Input goes through the filter, if there is one. */
static bool feed_raw(struct link *link, const uint8_t *data, size_t len)
{
    if (!link->ops.filter)
        return feed(link, data, len);
    int rc = link->ops.filter(link, data, len, &link->passed, link->user);
    if (link->closing)
        return false;
    if (rc < 0) {
        report_over(link, NULL);
        return false;
    }
    size_t n = (size_t)rc < link->passed.len ? (size_t)rc : link->passed.len;
    /* The bytes move out of the buffer first: a callback may close the link. */
    struct buf passed = link->passed;
    buf_init(&link->passed, 0);
    bool alive = feed(link, buf_data(&passed), n);
    buf_consume(&passed, n);
    if (alive && link->passed.len == 0)
        link->passed = passed;
    else
        buf_finish(&passed);
    return alive;
}

static void peer_closed(struct link *link)
{
    auto(error) struct error *err = NULL;
    size_t streams = h2_session_stream_count(link->session);
    if (h2_session_reason(link->session) || link->session->peer_code != H2_NO_ERROR) {
        report_session_over(link);
        return;
    }
    if (streams > 0 || h2_session_has_queued(link->session))
        error_set(&err, ERROR_IO, "the connection was closed by the peer with %zu streams open", streams);
    report_over(link, err);
}

static void read_all(struct link *link)
{
    uint8_t chunk[CHUNK_SIZE];
    size_t total = 0;
    while (!link->over && !link->closing && total < TURN_MAX) {
        ssize_t n = read(link->fd, chunk, sizeof(chunk));
        if (n > 0) {
            total += (size_t)n;
            if (!feed_raw(link, chunk, (size_t)n))
                return;
        } else if (n == 0) {
            peer_closed(link);
        } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
            return;
        } else if (errno != EINTR) {
            auto(error) struct error *err = NULL;
            error_set_errno(&err, errno, "the connection cannot be read");
            report_over(link, err);
        }
    }
}

/* Nothing has followed what the filter holds back. */
static void on_hold(uv_timer_t *timer)
{
    struct link *link = timer->data;
    enter(link);
    feed_raw(link, NULL, 0);
    settle(link);
    leave(link);
}

/* Held bytes may be the end of what the peer has to say: they do not wait for the next. */
static void watch_held(struct link *link)
{
    if (link->over || link->closing || !link->ops.filter_holds)
        return;
    if (link->ops.filter_holds(link, link->user))
        uv_timer_start(&link->hold, on_hold, LINK_HOLD_MS, 0);
    else
        uv_timer_stop(&link->hold);
}

static void on_poll(uv_poll_t *poll, int status, int events)
{
    struct link *link = poll->data;
    enter(link);
    if (status < 0)
        link->events = 0; /* the loop has stopped the handle */
    /* On an error the kernel's own words come from the read. */
    if (status < 0 || (events & UV_READABLE)) {
        read_all(link);
        watch_held(link);
    }
    if (!link->over && !link->closing && (status < 0 || (events & UV_WRITABLE)) && link->blocked) {
        link->blocked = false;
        flush(link);
    }
    settle(link);
    leave(link);
}

static void on_idle(uv_idle_t *idle)
{
    struct link *link = idle->data;
    enter(link);
    if (link->early.len > 0) {
        struct buf early = link->early;
        buf_init(&link->early, 0);
        feed(link, buf_data(&early), early.len);
        buf_finish(&early);
        watch_held(link);
    }
    if (!link->over && !link->closing)
        flush(link);
    settle(link);
    leave(link);
}

/* The session has something to send. */
static void on_wake(void *arg)
{
    struct link *link = arg;
    if (!link->over && !link->closing && !link->blocked)
        uv_idle_start(&link->idle, on_idle);
}

static void on_timer(uv_timer_t *timer)
{
    struct link *link = timer->data;
    if (link_idle_ms(link) >= link->timeout_ms) {
        auto(error) struct error *err = NULL;
        error_set(&err, ERROR_TIMED_OUT, "the peer has not answered for %u ms", link->timeout_ms);
        enter(link);
        report_over(link, err);
        leave(link);
        return;
    }
    if (!link->ping_waiting)
        link->ping_waiting = h2_session_ping(link->session, NULL) == 0;
}

int link_create(uv_loop_t *loop, int fd, enum h2_role role, const struct h2_options *options,
                const struct link_ops *ops, void *user, const uint8_t *early, size_t early_len,
                struct link **ret_link, struct error **err)
{
    struct link *link = xnew(struct link);
    link->session = h2_session_create(role, options, &ops->session, user);
    if (!link->session) {
        free(link);
        return error_set(err, ERROR_NO_MEMORY, "HTTP/2: no memory for a session");
    }
    int rc = uv_poll_init(loop, &link->poll, fd);
    if (rc < 0) {
        h2_session_destroy(link->session);
        free(link);
        return error_set_errno(err, -rc, "descriptor %d cannot be polled", fd);
    }
    uv_idle_init(loop, &link->idle);
    uv_timer_init(loop, &link->timer);
    uv_timer_init(loop, &link->hold);
    link->poll.data = link->idle.data = link->timer.data = link->hold.data = link;
    link->handles = 4;
    link->fd = fd;
    link->ops = *ops;
    link->user = user;
    link->last_input = now_ms();
    buf_init(&link->early, 0);
    buf_init(&link->pending, 0);
    buf_init(&link->passed, 0);
    require(buf_append(&link->early, early, early_len, NULL) == 0);
    h2_session_set_wake(link->session, on_wake, link);
    uv_idle_start(&link->idle, on_idle); /* SETTINGS and the early bytes */
    update_poll(link);
    *ret_link = link;
    return 0;
}

static void on_handle_closed(uv_handle_t *handle)
{
    struct link *link = handle->data;
    if (--link->handles > 0)
        return;
    buf_finish(&link->early);
    buf_finish(&link->pending);
    buf_finish(&link->passed);
    free(link);
}

int link_close(struct link *link, bool keep_fd)
{
    require(!link->closing);
    stop(link);
    link->closing = true;
    uv_close((uv_handle_t *)&link->poll, on_handle_closed);
    uv_close((uv_handle_t *)&link->idle, on_handle_closed);
    uv_close((uv_handle_t *)&link->timer, on_handle_closed);
    uv_close((uv_handle_t *)&link->hold, on_handle_closed);
    int fd = steal_fd(&link->fd);
    if (!keep_fd) {
        close(fd);
        fd = -1;
    }
    enter(link);
    leave(link);
    return fd;
}

void link_finish(struct link *link)
{
    if (link->over || link->closing)
        return;
    link->finishing = true;
    if (!link->blocked)
        uv_idle_start(&link->idle, on_idle);
}

struct h2_session *link_session(struct link *link)
{
    return link->session;
}

void *link_user(struct link *link)
{
    return link->user;
}

int link_fd(const struct link *link)
{
    return link->fd;
}

void link_watch(struct link *link, unsigned interval_ms, unsigned timeout_ms)
{
    if (link->over || link->closing)
        return;
    if (interval_ms == 0) {
        uv_timer_stop(&link->timer);
        return;
    }
    link->timeout_ms = timeout_ms;
    link->last_input = now_ms();
    link->ping_waiting = h2_session_ping(link->session, NULL) == 0;
    uv_timer_start(&link->timer, on_timer, interval_ms, interval_ms);
}

uint64_t link_idle_ms(const struct link *link)
{
    return now_ms() - link->last_input;
}
