#include "guest/output.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/units.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#define READ_PIECE  (64 * 1024)
#define READ_TURN   (256 * 1024) /* most that one stream reads in a turn of the loop */
#define STALL_CHECK 5000

struct output_reader {
    struct output *output;
    struct output_reader *next;
    uv_poll_t poll;
    int fd;
    uint64_t offset;
    int64_t moved_ns; /* when it last took a byte */
    bool polling;
    output_reader_fn on_end;
    void *user;
};

static void update(struct output *output);
static void on_readable(uv_poll_t *poll, int status, int events);

static void count_down(uv_handle_t *handle)
{
    struct output *output = handle->data;
    output->handles--;
}

static void reader_closed(uv_handle_t *handle)
{
    struct output_reader *reader = handle->data;
    close(reader->fd);
    free(reader);
}

/* Takes a reader out of the list and closes it; on_end says whether its owner hears of it. */
static void reader_remove(struct output_reader *reader, bool tell, enum output_end end)
{
    struct output *output = reader->output;
    struct output_reader **slot = &output->readers;

    while (*slot != reader)
        slot = &(*slot)->next;
    *slot = reader->next;
    output->reader_count--;
    if (tell)
        reader->on_end(reader, end, reader->user);
    uv_close((uv_handle_t *)&reader->poll, reader_closed);
}

/* Bytes that may be read from the program without taking any from a reader that still needs them. */
static size_t room(const struct output *output)
{
    uint64_t oldest = output->ring.total;

    if (output->waiting_first)
        oldest = output->ring.start;
    else if (!output->readers)
        return RING_MAX;
    for (const struct output_reader *r = output->readers; r; r = r->next)
        if (r->offset < oldest)
            oldest = r->offset;
    uint64_t held = output->ring.total - oldest;
    return held >= RING_MAX ? 0 : (size_t)(RING_MAX - held);
}

static void close_handles(struct output *output)
{
    uv_close((uv_handle_t *)&output->poll, count_down);
    uv_close((uv_handle_t *)&output->first, count_down);
    uv_close((uv_handle_t *)&output->linger, count_down);
    uv_close((uv_handle_t *)&output->stall, count_down);
    close(output->fd);
    output->fd = -1;
}

/* The stream is over: no byte will come any more. */
static void end(struct output *output)
{
    if (output->ended)
        return;
    output->ended = true;
    output->waiting_first = false;
    output->polling = false;
    close_handles(output);
    ring_shrink(&output->ring);
    update(output);
    output->on_ended(output, output->user);
}

/* Reads what there is, as far as the readers allow. */
static void fill(struct output *output)
{
    size_t turn = 0, free_bytes;

    while (turn < READ_TURN && (free_bytes = room(output)) > 0) {
        size_t len;
        uint8_t *at = ring_reserve(&output->ring, free_bytes < READ_PIECE ? free_bytes : READ_PIECE, &len);
        ssize_t n = read(output->fd, at, len);
        if (n > 0) {
            ring_commit(&output->ring, (size_t)n);
            turn += (size_t)n;
            continue;
        }
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN) {
            if (output->lingering && !uv_is_active((uv_handle_t *)&output->linger))
                end(output);
            return;
        }
        end(output); /* end of file; EIO is a pty's way to say it */
        return;
    }
}

/* Sends to one reader until its socket is full or it has all. Returns false if the reader is gone. */
static bool feed(struct output_reader *reader)
{
    struct output *output = reader->output;
    size_t len;

    for (;;) {
        const uint8_t *data = ring_read(&output->ring, reader->offset, &len);
        if (len == 0)
            break;
        ssize_t n = send(reader->fd, data, len, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n > 0) {
            reader->offset += (uint64_t)n;
            reader->moved_ns = units_monotonic_ns();
        } else if (n < 0 && errno == EAGAIN) {
            return true;
        } else if (n < 0 && errno != EINTR) {
            reader_remove(reader, true, OUTPUT_GONE);
            return false;
        }
    }
    if (output->ended) {
        reader_remove(reader, true, OUTPUT_DELIVERED);
        return false;
    }
    return true;
}

static void on_reader(uv_poll_t *poll, int status, int events)
{
    struct output_reader *reader = poll->data;
    struct output *output = reader->output;

    if (status < 0 || (events & UV_DISCONNECT))
        reader_remove(reader, true, OUTPUT_GONE);
    else
        feed(reader);
    update(output);
}

/* A reader is polled for writing only while something waits for it, else for its end alone. */
static void reader_poll(struct output_reader *reader)
{
    bool want = reader->offset < reader->output->ring.total;
    if (want == reader->polling)
        return;
    reader->polling = want;
    uv_poll_start(&reader->poll, want ? UV_WRITABLE | UV_DISCONNECT : UV_DISCONNECT, on_reader);
}

static bool somebody_blocks(const struct output *output)
{
    return !output->ended && output->reader_count > 1 && room(output) == 0;
}

static void on_stall_check(uv_timer_t *timer)
{
    struct output *output = timer->data;
    int64_t limit = units_monotonic_ns() - (int64_t)OUTPUT_STALL_MS * 1000000;
    struct output_reader *next;
    bool other_waits = false;

    for (struct output_reader *r = output->readers; r; r = r->next)
        other_waits = other_waits || r->offset == output->ring.total;
    for (struct output_reader *r = output->readers; r && other_waits; r = next) {
        next = r->next;
        if (r->offset < output->ring.total && r->moved_ns < limit)
            reader_remove(r, true, OUTPUT_CUT);
    }
    update(output);
}

/* Brings the polls in line with the state: the one place that starts and stops them. */
static void update(struct output *output)
{
    struct output_reader *next;

    for (struct output_reader *r = output->readers; r; r = next) {
        next = r->next;
        if (feed(r))
            reader_poll(r);
    }
    if (output->ended)
        return;
    bool want = room(output) > 0;
    if (want != output->polling) {
        output->polling = want;
        if (want)
            uv_poll_start(&output->poll, UV_READABLE, on_readable);
        else
            uv_poll_stop(&output->poll);
    }
    if (somebody_blocks(output) && !uv_is_active((uv_handle_t *)&output->stall))
        uv_timer_start(&output->stall, on_stall_check, STALL_CHECK, 0);
}

static void on_readable(uv_poll_t *poll, int status, int events)
{
    struct output *output = poll->data;

    if (status < 0)
        end(output);
    else
        fill(output);
    update(output);
}

/* Nobody came: the session counts as unattended. */
static void on_first_late(uv_timer_t *timer)
{
    struct output *output = timer->data;
    output->waiting_first = false;
    update(output);
}

/* The program is gone for a while; whoever still holds the pipe is not waited for. */
static void on_linger(uv_timer_t *timer)
{
    struct output *output = timer->data;
    fill(output);
    update(output);
}

void output_init(struct output *output, uv_loop_t *loop, int fd,
                 void (*on_ended)(struct output *output, void *user), void *user)
{
    memset(output, 0, sizeof(*output));
    ring_init(&output->ring);
    output->loop = loop;
    output->fd = fd;
    output->on_ended = on_ended;
    output->user = user;
    if (fd < 0) {
        output->ended = true;
        return;
    }
    fd_set_nonblocking(fd, true, NULL);
    require(uv_poll_init(loop, &output->poll, fd) == 0);
    uv_timer_init(loop, &output->first);
    uv_timer_init(loop, &output->linger);
    uv_timer_init(loop, &output->stall);
    output->poll.data = output->first.data = output->linger.data = output->stall.data = output;
    output->handles = 4;
    output->waiting_first = true;
    uv_timer_start(&output->first, on_first_late, OUTPUT_FIRST_MS, 0);
    update(output);
}

void output_program_ended(struct output *output)
{
    if (output->ended || output->lingering)
        return;
    output->lingering = true;
    uv_timer_start(&output->linger, on_linger, OUTPUT_LINGER_MS, 0);
    fill(output);
    update(output);
}

int output_attach(struct output *output, int data_fd, uint64_t from, output_reader_fn on_end, void *user,
                  struct output_reader **ret_reader, uint64_t *ret_offset, struct error **err)
{
    if (from > output->ring.total)
        return error_set(err, ERROR_INVALID, "the output has only %llu bytes, not %llu",
                         (unsigned long long)output->ring.total, (unsigned long long)from);
    if (output->reader_count >= OUTPUT_READERS_MAX)
        return error_set(err, ERROR_LIMIT, "%d readers are attached already", OUTPUT_READERS_MAX);
    struct output_reader *reader = xnew(struct output_reader);
    reader->output = output;
    reader->fd = data_fd;
    reader->offset = from < output->ring.start ? output->ring.start : from;
    reader->moved_ns = units_monotonic_ns();
    reader->on_end = on_end;
    reader->user = user;
    reader->polling = true; /* so that reader_poll starts the watch for its end */
    int rc = fd_set_nonblocking(data_fd, true, err);
    if (!rc && (rc = uv_poll_init(output->loop, &reader->poll, data_fd)))
        rc = error_set(err, ERROR_IO, "cannot watch the reader: %s", uv_strerror(rc));
    if (rc) {
        free(reader);
        return rc;
    }
    reader->poll.data = reader;
    uv_poll_start(&reader->poll, UV_WRITABLE | UV_DISCONNECT, on_reader);
    reader->next = output->readers;
    output->readers = reader;
    output->reader_count++;
    if (output->waiting_first) {
        output->waiting_first = false;
        if (!output->ended)
            uv_timer_stop(&output->first);
    }
    *ret_reader = reader;
    *ret_offset = reader->offset;
    return 0;
}

void output_detach(struct output_reader *reader)
{
    struct output *output = reader->output;
    reader_remove(reader, false, OUTPUT_GONE);
    update(output);
}

void output_finish(struct output *output)
{
    while (output->readers)
        reader_remove(output->readers, false, OUTPUT_GONE);
    if (!output->ended) {
        output->ended = true;
        close_handles(output);
    }
    ring_finish(&output->ring);
}
