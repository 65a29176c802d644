/* pump_world.h: two links of one process with a pump at each end, for the tests of pumps. */
#ifndef HUTCH_TESTS_PUMP_WORLD_H
#define HUTCH_TESTS_PUMP_WORLD_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/alloc.h"
#include "base/fd.h"
#include "wire/link.h"
#include "wire/pump.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* One end: its link, its pump and how that ended. */
struct side {
    struct link *link;
    struct pump_options options;
    struct pump *pump;
    struct h2_stream *stream; /* of the server, until its pump is done */
    unsigned done, overs;
    enum pump_end end;
    enum error_code code;
    size_t in, out;
    bool cut; /* its owner gives up when it reads while the server has the stream */
};

struct world {
    uv_loop_t loop;
    struct side client, server;
    int status; /* of the response that the client's pump saw */
};

static struct world *the_world;

#define RUN_UNTIL(w, condition)                                                                              \
    while (!(condition))                                                                                     \
    uv_run(&(w)->loop, UV_RUN_ONCE)

static void on_done(struct pump *pump, enum pump_end end, const struct error *err, void *user)
{
    struct side *side = user;
    side->done++;
    side->end = end;
    side->code = err ? err->code : ERROR_NONE;
    side->pump = NULL;
}

static void on_bytes(struct pump *pump, size_t in, size_t out, void *user)
{
    struct side *side = user;
    side->in += in;
    side->out += out;
    if (side->cut && in && the_world->server.pump)
        pump_end_input(pump, false);
}

static void on_head(struct pump *pump, const struct h2_head *head, void *user)
{
    the_world->status = head->status;
}

static void start(struct side *side, struct h2_stream *stream)
{
    side->options.on_done = on_done;
    side->options.on_bytes = on_bytes;
    side->options.on_head = on_head;
    struct error *err = NULL;
    if (pump_create(&the_world->loop, stream, &side->options, side, &side->pump, &err) < 0)
        fail_msg("%s", err->message);
}

static void on_request(struct h2_session *session, struct h2_stream *stream, const struct h2_head *head,
                       void *user)
{
    struct side *side = user;
    side->stream = stream;
    start(side, stream);
    h2_respond(stream, 200, NULL, 0, true, NULL);
}

static void on_over(struct link *link, const struct error *err, void *user)
{
    struct side *side = user;
    side->overs++;
}

static int set_up(void **state)
{
    alarm(240);
    struct world *w = the_world = xnew(struct world);
    uv_loop_init(&w->loop);
    int fds[2];
    assert_int_equal(fd_socketpair(SOCK_STREAM, true, fds, NULL), 0);
    const struct link_ops ops = {.session = {.on_request = on_request}, .on_over = on_over};
    link_create(&w->loop, fds[0], H2_CLIENT, NULL, &ops, &w->client, NULL, 0, &w->client.link, NULL);
    link_create(&w->loop, fds[1], H2_SERVER, NULL, &ops, &w->server, NULL, 0, &w->server.link, NULL);
    w->client.options = w->server.options = (struct pump_options){.fd_in = -1, .fd_out = -1, .own_fds = true};
    *state = w;
    return 0;
}

static void close_link(struct side *side)
{
    if (side->link)
        link_close(side->link, false);
    side->link = NULL;
}

static int tear_down(void **state)
{
    struct world *w = *state;
    close_link(&w->client);
    close_link(&w->server);
    uv_run(&w->loop, UV_RUN_DEFAULT);
    assert_null(w->client.pump);
    assert_null(w->server.pump);
    assert_int_equal(uv_loop_close(&w->loop), 0);
    free(w);
    return 0;
}

/* Opens the tunnel; the client's pump runs on it. */
static struct h2_stream *begin(struct world *w)
{
    static const struct h2_stream_ops none;
    struct h2_stream *stream =
        h2_request(link_session(w->client.link), "CONNECT", NULL, "h:1", NULL, 0, true, &none, NULL, NULL);
    start(&w->client, stream);
    return stream;
}

/* A file with n bytes of a pattern, open at its beginning; the name is gone already. */
static int pattern_file(size_t n)
{
    char name[] = "/tmp/hutch-pump-XXXXXX";
    int fd = mkostemp(name, O_CLOEXEC);
    assert_true(fd >= 0);
    unlink(name);
    autofree uint8_t *block = xcalloc(65536, 1);
    for (size_t i = 0; i < 65536; i++)
        block[i] = (uint8_t)(i * 7 + i / 251);
    for (size_t at = 0; at < n; at += 65536)
        assert_int_equal(fd_write_all(fd, block, n - at < 65536 ? n - at : 65536, NULL), 0);
    lseek(fd, 0, SEEK_SET);
    return fd;
}

static void assert_same_files(int a, int b)
{
    static uint8_t x[65536], y[65536];
    lseek(a, 0, SEEK_SET);
    lseek(b, 0, SEEK_SET);
    for (;;) {
        ssize_t n = read(a, x, sizeof(x));
        assert_int_equal(read(b, y, sizeof(y)), n);
        if (n <= 0)
            return;
        assert_memory_equal(x, y, n);
    }
}

#endif
