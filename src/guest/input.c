#include "guest/input.h"

#include "base/alloc.h"
#include "base/fd.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

struct input_source {
    struct input *input;
    struct input_source *next;
    uv_poll_t poll;
    int fd;
    bool eof, orderly, polling;
    size_t start, len; /* what waits in piece */
    input_source_fn on_end;
    void *user;
    uint8_t piece[INPUT_PIECE];
};

static void on_source(uv_poll_t *poll, int status, int events);
static void on_writable(uv_poll_t *poll, int status, int events);

static void source_closed(uv_handle_t *handle)
{
    struct input_source *source = handle->data;
    close(source->fd);
    free(source);
}

static void source_remove(struct input_source *source, bool tell, enum input_end end)
{
    struct input *input = source->input;
    struct input_source **slot = &input->sources;

    while (*slot != source)
        slot = &(*slot)->next;
    *slot = source->next;
    input->source_count--;
    if (tell)
        source->on_end(source, end, source->user);
    uv_close((uv_handle_t *)&source->poll, source_closed);
}

/* Starts and stops the polls as the state asks for. */
static void update(struct input *input)
{
    bool waiting = false;

    for (struct input_source *s = input->sources; s; s = s->next) {
        bool want = s->len == 0 && !s->eof;
        waiting = waiting || s->len > 0;
        if (want == s->polling)
            continue;
        s->polling = want;
        if (want)
            uv_poll_start(&s->poll, UV_READABLE, on_source);
        else
            uv_poll_stop(&s->poll);
    }
    if (input->fd < 0 || waiting == input->polling)
        return;
    input->polling = waiting;
    if (waiting)
        uv_poll_start(&input->poll, UV_WRITABLE, on_writable);
    else
        uv_poll_stop(&input->poll);
}

/* Writes what a source has waiting. Returns false when the program's side is closed (and the source gone). */
static bool flush(struct input_source *source)
{
    struct input *input = source->input;

    while (source->len) {
        ssize_t n = write(input->fd, source->piece + source->start, source->len);
        if (n > 0) {
            source->start += (size_t)n;
            source->len -= (size_t)n;
        } else if (n < 0 && errno == EAGAIN) {
            return true;
        } else if (n < 0 && errno != EINTR) {
            input_close(input);
            return false;
        }
    }
    if (!source->eof || !source->orderly)
        return true;
    source_remove(source, true, INPUT_DONE);
    if (!input->terminal)
        input_close(input);
    return false;
}

static void on_source(uv_poll_t *poll, int status, int events)
{
    struct input_source *source = poll->data;
    struct input *input = source->input;

    for (;;) {
        ssize_t n = status < 0 ? -1 : read(source->fd, source->piece, sizeof(source->piece));
        if (n < 0 && status >= 0 && errno == EINTR)
            continue;
        if (n < 0 && status >= 0 && errno == EAGAIN)
            break;
        source->start = 0;
        source->len = n > 0 ? (size_t)n : 0;
        source->eof = n <= 0;
        flush(source);
        break;
    }
    update(input);
}

static void on_writable(uv_poll_t *poll, int status, int events)
{
    struct input *input = poll->data;
    struct input_source *next;

    if (status < 0) {
        input_close(input);
        return;
    }
    for (struct input_source *s = input->sources; s; s = next) {
        next = s->next;
        if (s->len && !flush(s))
            break;
    }
    update(input);
}

void input_init(struct input *input, uv_loop_t *loop, int fd, bool terminal)
{
    memset(input, 0, sizeof(*input));
    input->loop = loop;
    input->fd = fd;
    input->terminal = terminal;
    fd_set_nonblocking(fd, true, NULL);
    require(uv_poll_init(loop, &input->poll, fd) == 0);
    input->poll.data = input;
}

int input_attach(struct input *input, int data_fd, input_source_fn on_end, void *user,
                 struct input_source **ret_source, struct error **err)
{
    if (input->fd < 0)
        return error_set(err, ERROR_STATE, "the session's stdin is closed");
    if (input->source_count >= INPUT_SOURCES_MAX)
        return error_set(err, ERROR_LIMIT, "%d clients write to the session already", INPUT_SOURCES_MAX);
    int rc = fd_set_nonblocking(data_fd, true, err);
    if (rc)
        return rc;
    struct input_source *source = xnew(struct input_source);
    source->input = input;
    source->fd = data_fd;
    source->on_end = on_end;
    source->user = user;
    if ((rc = uv_poll_init(input->loop, &source->poll, data_fd))) {
        free(source);
        return error_set(err, ERROR_IO, "cannot watch the client: %s", uv_strerror(rc));
    }
    source->poll.data = source;
    source->next = input->sources;
    input->sources = source;
    input->source_count++;
    update(input);
    *ret_source = source;
    return 0;
}

void input_source_orderly(struct input_source *source)
{
    struct input *input = source->input;
    source->orderly = true;
    flush(source);
    update(input);
}

void input_detach(struct input_source *source)
{
    struct input *input = source->input;
    source_remove(source, false, INPUT_GONE);
    update(input);
}

void input_close(struct input *input)
{
    if (input->fd < 0)
        return;
    uv_close((uv_handle_t *)&input->poll, NULL);
    close(input->fd);
    input->fd = -1;
    while (input->sources)
        source_remove(input->sources, true, INPUT_CLOSED);
}
