#include "wire/pump.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/fd.h"
#include "wire/h2_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#define SLICE_SIZE (64 * 1024)
#define TURN_MAX   (1024 * 1024) /* bytes of one direction before other handles of the loop get their turn */

enum kind { KIND_NONE, KIND_POLLED, KIND_FILE };

struct side {
    int fd;
    enum kind kind;
    bool socket;
    bool terminal;
    bool blocking; /* not ours to make non-blocking */
};

struct pump {
    struct pump_options options;
    void *user;
    struct h2_stream *stream; /* NULL when it is closed */
    struct side in, out;
    uv_poll_t poll_in, poll_out;
    bool have_poll_in, have_poll_out; /* initialised; fd_in == fd_out has only poll_in */
    int events_in, events_out;        /* what they wait for */
    uv_idle_t idle;                   /* the first turn; reads a regular file */
    unsigned handles;
    struct buf waiting; /* received, not yet written */
    size_t received;
    bool input_ended;  /* end of fd_in seen */
    bool end_asked;    /* pump_end_input was called before that */
    bool remote_ended; /* all that the stream brings has arrived */
    bool output_ended; /* and is written, and fd_out is shut */
    bool closed_in_order;
    bool finished;
};

static void on_poll(uv_poll_t *poll, int status, int events);
static void on_idle(uv_idle_t *idle);

static void on_handle_closed(uv_handle_t *handle)
{
    struct pump *pump = handle->data;
    if (--pump->handles > 0)
        return;
    buf_finish(&pump->waiting);
    free(pump);
}

static void close_handle(uv_handle_t *handle)
{
    uv_close(handle, on_handle_closed);
}

/* Closes fd_out so that its reader sees the end; the other direction of a socket stays. */
static void shut_output(struct pump *pump)
{
    if (pump->out.fd < 0)
        return;
    if (pump->out.socket && pump->options.own_fds)
        shutdown(pump->out.fd, SHUT_WR);
    if (pump->have_poll_out) {
        pump->have_poll_out = false;
        close_handle((uv_handle_t *)&pump->poll_out);
    }
    if (pump->options.own_fds && pump->out.fd != pump->in.fd)
        close(pump->out.fd);
    if (pump->out.fd != pump->in.fd)
        pump->out.fd = -1;
}

/* Lets go of the stream and of everything of the loop. */
static void release(struct pump *pump)
{
    pump->finished = true;
    if (pump->stream)
        h2_stream_set_ops(pump->stream, NULL, NULL);
    pump->stream = NULL;
    if (pump->have_poll_in)
        close_handle((uv_handle_t *)&pump->poll_in);
    if (pump->have_poll_out)
        close_handle((uv_handle_t *)&pump->poll_out);
    close_handle((uv_handle_t *)&pump->idle);
    if (pump->options.own_fds) {
        if (pump->in.fd >= 0)
            close(pump->in.fd);
        if (pump->out.fd >= 0 && pump->out.fd != pump->in.fd)
            close(pump->out.fd);
    }
    pump->in.fd = pump->out.fd = -1;
}

/* Its close will be a reset. */
static void cut_side(const struct side *side)
{
    const struct linger at_once = {.l_onoff = 1};
    if (side->socket && side->fd >= 0)
        setsockopt(side->fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
}

static void finish(struct pump *pump, enum pump_end end, const struct error *err)
{
    if (pump->finished)
        return;
    bool cut = end == PUMP_INPUT_FAILED || (end == PUMP_OUTPUT_FAILED && !pump->options.keep_stream);
    struct h2_stream *stream = cut ? pump->stream : NULL;
    if (stream && !pump->options.cut_stream)
        h2_stream_reset(stream, H2_CANCEL);
    if (end != PUMP_DONE && pump->options.own_fds && pump->options.cut_fds) {
        cut_side(&pump->in);
        cut_side(&pump->out);
    }
    release(pump);
    if (stream && pump->options.cut_stream)
        pump->options.cut_stream(stream, pump->user);
    if (pump->options.on_done)
        pump->options.on_done(pump, end, err, pump->user);
}

static void finish_errno(struct pump *pump, enum pump_end end, int sys)
{
    auto(error) struct error *err = NULL;
    error_set_errno(&err, sys,
                    end == PUMP_INPUT_FAILED ? "the input cannot be read" : "the output cannot be written");
    finish(pump, end, err);
}

/* Room in the stream's out buffer. */
static size_t input_room(const struct pump *pump)
{
    size_t queued = h2_stream_queued(pump->stream);
    return queued < H2_OUT_MAX ? H2_OUT_MAX - queued : 0;
}

static bool wants_input(const struct pump *pump)
{
    return !pump->finished && pump->in.fd >= 0 && !pump->input_ended && pump->stream &&
           h2_stream_takes(pump->stream) && input_room(pump) > 0;
}

static bool wants_output(const struct pump *pump)
{
    return !pump->finished && pump->out.fd >= 0 && pump->waiting.len > 0;
}

/* Points a poll handle at events, if it is not already. A handle that waits for nothing is stopped, or a
 * hung-up descriptor would spin. */
static void set_events(uv_poll_t *poll, int *current, int events)
{
    if (events == *current)
        return;
    *current = events;
    if (events)
        require(uv_poll_start(poll, events, on_poll) == 0);
    else
        uv_poll_stop(poll);
}

/* Tells the loop what the pump waits for now, or finishes it. */
static void settle(struct pump *pump)
{
    if (pump->finished)
        return;
    if (pump->remote_ended && pump->waiting.len == 0 && !pump->output_ended) {
        pump->output_ended = true;
        shut_output(pump);
    }
    /* Whoever owns both halves waits for the stream's end: only then has everything left. */
    bool in_done = pump->in.kind == KIND_NONE || pump->closed_in_order;
    if (pump->output_ended && in_done) {
        finish(pump, PUMP_DONE, NULL);
        return;
    }
    bool input = wants_input(pump);
    bool output = wants_output(pump);
    if (input && pump->in.kind == KIND_FILE)
        uv_idle_start(&pump->idle, on_idle);
    else
        uv_idle_stop(&pump->idle);
    if (!input && pump->stream && !pump->input_ended && pump->in.fd >= 0)
        h2_stream_want_writable(pump->stream);
    if (pump->have_poll_in) {
        int both = pump->in.fd == pump->out.fd && output ? UV_WRITABLE : 0;
        set_events(&pump->poll_in, &pump->events_in, (input ? UV_READABLE : 0) | both);
    }
    if (pump->have_poll_out)
        set_events(&pump->poll_out, &pump->events_out, output ? UV_WRITABLE : 0);
}

/* The end of fd_in. */
static void end_input(struct pump *pump)
{
    pump->input_ended = true;
    if (pump->stream && (!pump->options.hold_end || pump->end_asked))
        h2_stream_end(pump->stream);
}

static ssize_t read_side(const struct side *side, void *to, size_t len)
{
    if (side->socket)
        return recv(side->fd, to, len, MSG_DONTWAIT);
    return read(side->fd, to, len);
}

/* The other end of a socket is closed, not only shut for writing. */
static bool peer_is_gone(const struct side *side)
{
    struct pollfd p = {.fd = side->fd};
    return side->socket && poll(&p, 1, 0) == 1 && (p.revents & (POLLHUP | POLLERR));
}

/* One read of at most what the stream takes. False: no more for now. */
static bool read_once(struct pump *pump, size_t *total)
{
    uint8_t slice[SLICE_SIZE];
    size_t room = input_room(pump);
    if (room > sizeof(slice))
        room = sizeof(slice);
    ssize_t n = read_side(&pump->in, slice, room);
    if (n > 0) {
        require(h2_stream_write(pump->stream, slice, (size_t)n) == (size_t)n);
        *total += (size_t)n;
        if (pump->options.on_bytes)
            pump->options.on_bytes(pump, (size_t)n, 0, pump->user);
        /* A short read means that the next one would find nothing; a blocking descriptor must not be tried.
         */
        return (size_t)n == room && !pump->in.blocking;
    }
    if (n < 0 && errno == EINTR)
        return true;
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
        return false;
    /* EIO is how a terminal says that its other side has gone. */
    if (n == 0 && pump->options.cut_on_close && peer_is_gone(&pump->in))
        finish_errno(pump, PUMP_INPUT_FAILED, ECONNRESET);
    else if (n == 0 || (errno == EIO && pump->in.terminal))
        end_input(pump);
    else
        finish_errno(pump, PUMP_INPUT_FAILED, errno);
    return false;
}

static void read_input(struct pump *pump)
{
    size_t total = 0;
    while (wants_input(pump) && total < TURN_MAX && read_once(pump, &total))
        ;
}

/* Whether a blocking descriptor takes a small piece now. */
static bool ready_for_output(const struct side *side)
{
    struct pollfd p = {.fd = side->fd, .events = POLLOUT};
    return poll(&p, 1, 0) == 1;
}

static ssize_t write_side(const struct side *side, const void *data, size_t len)
{
    if (side->socket)
        return send(side->fd, data, len, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (side->blocking && side->kind == KIND_POLLED) {
        if (!ready_for_output(side)) {
            errno = EAGAIN;
            return -1;
        }
        len = len < PIPE_BUF ? len : PIPE_BUF;
    }
    return write(side->fd, data, len);
}

/* Writes as much as fd_out takes. Negative: failed (the pump is finished). */
static int write_output(struct pump *pump, const uint8_t *data, size_t len, size_t *ret_written)
{
    size_t done = 0;
    while (done < len) {
        ssize_t n = write_side(&pump->out, data + done, len - done);
        if (n >= 0) {
            done += (size_t)n;
        } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
            break;
        } else if (errno != EINTR) {
            finish_errno(pump, PUMP_OUTPUT_FAILED, errno);
            return -1;
        }
    }
    *ret_written = done;
    if (done > 0) {
        if (pump->stream)
            h2_stream_consumed(pump->stream, done);
        if (pump->options.on_bytes)
            pump->options.on_bytes(pump, 0, done, pump->user);
    }
    return 0;
}

static void drain_waiting(struct pump *pump)
{
    size_t n;
    if (!wants_output(pump) || write_output(pump, buf_data(&pump->waiting), pump->waiting.len, &n) < 0)
        return;
    buf_consume(&pump->waiting, n);
}

static void on_data(struct h2_stream *stream, const uint8_t *data, size_t len, void *user)
{
    struct pump *pump = user;
    pump->received += len;
    if (pump->options.max_bytes && pump->received > pump->options.max_bytes) {
        auto(error) struct error *err = NULL;
        error_set(&err, ERROR_LIMIT, "more than %zu bytes arrived", pump->options.max_bytes);
        finish(pump, PUMP_OUTPUT_FAILED, err);
        return;
    }
    if (pump->out.fd < 0) {
        h2_stream_consumed(stream, len);
        if (pump->options.on_bytes)
            pump->options.on_bytes(pump, 0, len, pump->user);
        return;
    }
    size_t n = 0;
    if (pump->waiting.len == 0 && write_output(pump, data, len, &n) < 0)
        return;
    require(buf_append(&pump->waiting, data + n, len - n, NULL) == 0);
    settle(pump);
}

static void on_end(struct h2_stream *stream, void *user)
{
    struct pump *pump = user;
    pump->remote_ended = true;
    settle(pump);
}

static void on_writable(struct h2_stream *stream, void *user)
{
    settle(user);
}

static void on_head(struct h2_stream *stream, const struct h2_head *head, void *user)
{
    struct pump *pump = user;
    if (pump->options.on_head)
        pump->options.on_head(pump, head, pump->user);
}

static void on_close(struct h2_stream *stream, uint32_t code, void *user)
{
    struct pump *pump = user;
    pump->stream = NULL;
    /* A server that has not answered yet cannot do so any more: its owner must not think that the stream is
     * there. */
    bool unanswered = pump->in.kind == KIND_NONE && stream->session->role == H2_SERVER;
    if (code == H2_NO_ERROR && pump->remote_ended && !unanswered) {
        pump->closed_in_order = true;
        settle(pump);
        return;
    }
    auto(error) struct error *err = NULL;
    error_set(&err, ERROR_IO, "the stream was cut (%s)", nghttp2_http2_strerror(code));
    finish(pump, PUMP_STREAM_RESET, err);
}

static const struct h2_stream_ops pump_ops = {
    .on_head = on_head,
    .on_data = on_data,
    .on_end = on_end,
    .on_writable = on_writable,
    .on_close = on_close,
};

static void on_poll(uv_poll_t *poll, int status, int events)
{
    struct pump *pump = poll->data;
    bool both = pump->in.fd == pump->out.fd;
    bool failed = status < 0;
    if (failed) /* the loop has stopped the handle */
        *(poll == &pump->poll_in ? &pump->events_in : &pump->events_out) = 0;
    if (poll == &pump->poll_in && (failed || (events & UV_READABLE)))
        read_input(pump);
    if ((poll == &pump->poll_out || both) && (failed || (events & UV_WRITABLE)))
        drain_waiting(pump);
    settle(pump);
}

static void on_idle(uv_idle_t *idle)
{
    struct pump *pump = idle->data;
    if (pump->in.kind == KIND_FILE)
        read_input(pump);
    settle(pump);
}

/* Finds out how a descriptor can be waited for and makes its poll handle. */
static int open_side(struct pump *pump, uv_loop_t *loop, struct side *side, int fd, uv_poll_t *poll,
                     bool *ret_have_poll, struct error **err)
{
    *side = (struct side){.fd = fd, .kind = KIND_NONE};
    if (fd < 0)
        return 0;
    struct stat st;
    int flags = fcntl(fd, F_GETFL);
    if (flags < 0 || fstat(fd, &st) < 0)
        return error_set_errno(err, errno, "descriptor %d", fd);
    side->socket = S_ISSOCK(st.st_mode);
    side->terminal = S_ISCHR(st.st_mode) && isatty(fd);
    int rc = uv_poll_init(loop, poll, fd);
    if (rc == UV_EPERM) { /* regular files, /dev/null: always ready */
        side->kind = KIND_FILE;
        return 0;
    }
    if (rc < 0)
        return error_set_errno(err, -rc, "descriptor %d cannot be polled", fd);
    poll->data = pump;
    pump->handles++;
    *ret_have_poll = true;
    side->kind = KIND_POLLED;
    /* uv_poll_init made the open file non-blocking, for everyone who shares it. */
    if (!pump->options.own_fds && !(flags & O_NONBLOCK)) {
        fcntl(fd, F_SETFL, flags);
        side->blocking = true;
    }
    return 0;
}

int pump_create(uv_loop_t *loop, struct h2_stream *stream, const struct pump_options *options, void *user,
                struct pump **ret_pump, struct error **err)
{
    struct pump *pump = xnew(struct pump);
    pump->options = *options;
    pump->user = user;
    buf_init(&pump->waiting, 0);
    uv_idle_init(loop, &pump->idle);
    pump->idle.data = pump;
    pump->handles = 1;

    int rc = open_side(pump, loop, &pump->in, options->fd_in, &pump->poll_in, &pump->have_poll_in, err);
    if (rc == 0 && options->fd_out == options->fd_in)
        pump->out = pump->in;
    else if (rc == 0)
        rc = open_side(pump, loop, &pump->out, options->fd_out, &pump->poll_out, &pump->have_poll_out, err);
    if (rc < 0) {
        pump->options.own_fds = false;
        release(pump);
        return rc;
    }
    pump->stream = stream;
    h2_stream_set_ops(stream, &pump_ops, pump);
    pump->remote_ended = h2_stream_remote_ended(stream);
    /* Not settled here: it could finish before the caller has the pump. */
    uv_idle_start(&pump->idle, on_idle);
    *ret_pump = pump;
    return 0;
}

void pump_end_input(struct pump *pump, bool ok)
{
    if (pump->finished || !pump->stream)
        return;
    if (!ok) {
        h2_stream_reset(pump->stream, H2_INTERNAL_ERROR);
        return;
    }
    pump->end_asked = true;
    if (pump->input_ended || pump->in.kind == KIND_NONE)
        h2_stream_end(pump->stream);
}

bool pump_input_ended(const struct pump *pump)
{
    return pump->input_ended;
}

void pump_cancel(struct pump *pump)
{
    if (!pump->finished)
        release(pump);
}
