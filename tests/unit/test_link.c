/* Links in a loop: two ends of a socket pair in one process. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/alloc.h"
#include "base/fd.h"
#include "frames.h"
#include "h2_pair.h"
#include "wire/link.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct side {
    struct link *link;
    struct h2_record records[8];
    size_t requests;
    unsigned overs;
    enum error_code over_code; /* ERROR_NONE: in order */
    bool close_in_over, close_in_request, close_in_data;
    bool ignore_requests;
    int kept_fd;
};

struct world {
    uv_loop_t loop;
    struct side client, server;
    int fds[2]; /* client, server */
};

static void on_over(struct link *link, const struct error *err, void *user)
{
    struct side *side = user;
    side->overs++;
    side->over_code = err ? err->code : ERROR_NONE;
    if (side->close_in_over) {
        link_close(link, false);
        side->link = NULL;
    }
}

static void on_request(struct h2_session *session, struct h2_stream *stream, const struct h2_head *head,
                       void *user)
{
    struct side *side = user;
    struct h2_record *record = &side->records[side->requests++ % countof(side->records)];
    h2_record_finish(record);
    h2_record_init(record);
    record->stream = stream;
    h2_stream_set_ops(stream, &h2_record_ops, record);
    if (!side->ignore_requests)
        h2_respond(stream, 200, NULL, 0, true, NULL);
    if (side->close_in_request) {
        side->kept_fd = link_close(side->link, true);
        side->link = NULL;
    }
}

static const struct link_ops plain_ops = {.session = {.on_request = on_request}, .on_over = on_over};

static void make_client(struct world *w)
{
    struct error *err = NULL;
    assert_int_equal(link_create(&w->loop, w->fds[0], H2_CLIENT, NULL, &plain_ops, &w->client, NULL, 0,
                                 &w->client.link, &err),
                     0);
}

static void make_server(struct world *w, const struct link_ops *ops)
{
    assert_int_equal(
        link_create(&w->loop, w->fds[1], H2_SERVER, NULL, ops, &w->server, NULL, 0, &w->server.link, NULL),
        0);
}

static int set_up(void **state)
{
    alarm(120);
    struct world *w = xnew(struct world);
    uv_loop_init(&w->loop);
    assert_int_equal(fd_socketpair(SOCK_STREAM, true, w->fds, NULL), 0);
    w->client.kept_fd = w->server.kept_fd = -1;
    *state = w;
    return 0;
}

/* Runs the loop until the condition holds; the alarm is the limit. */
#define RUN_UNTIL(w, condition)                                                                              \
    while (!(condition))                                                                                     \
    uv_run(&(w)->loop, UV_RUN_ONCE)

static int tear_down(void **state)
{
    struct world *w = *state;
    struct side *sides[] = {&w->client, &w->server};
    for (size_t i = 0; i < 2; i++) {
        if (sides[i]->link)
            link_close(sides[i]->link, false);
        if (sides[i]->kept_fd >= 0)
            close(sides[i]->kept_fd);
    }
    uv_run(&w->loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&w->loop), 0);
    for (size_t i = 0; i < 2; i++)
        for (size_t j = 0; j < countof(sides[i]->records); j++)
            h2_record_finish(&sides[i]->records[j]);
    free(w);
    return 0;
}

static struct h2_stream *ask(struct world *w, size_t i)
{
    struct h2_record *record = &w->client.records[i];
    h2_record_init(record);
    record->stream = h2_request(link_session(w->client.link), "POST", "/", NULL, NULL, 0, true,
                                &h2_record_ops, record, NULL);
    return record->stream;
}

static void bytes_go_both_ways(void **state)
{
    struct world *w = *state;
    make_client(w);
    make_server(w, &plain_ops);
    struct h2_stream *stream = ask(w, 0);
    h2_stream_write(stream, "question", 8);
    h2_stream_end(stream);
    RUN_UNTIL(w, w->server.records[0].ends);
    assert_int_equal(w->server.records[0].data.len, 8);
    h2_stream_write(w->server.records[0].stream, "answer", 6);
    h2_stream_end(w->server.records[0].stream);
    RUN_UNTIL(w, w->client.records[0].closes && w->server.records[0].closes);
    assert_int_equal(w->client.records[0].data.len, 6);
    assert_int_equal(w->client.records[0].code, 0);
    link_finish(w->client.link);
    RUN_UNTIL(w, w->client.overs && w->server.overs);
    assert_int_equal(w->client.over_code, ERROR_NONE);
    assert_int_equal(w->server.over_code, ERROR_NONE);
}

/* An idle link waits in the kernel: no timer, nothing that makes the loop turn. */
static void an_idle_link_sleeps(void **state)
{
    struct world *w = *state;
    make_client(w);
    make_server(w, &plain_ops);
    ask(w, 0);
    RUN_UNTIL(w, w->client.records[0].status == 200);
    while (uv_run(&w->loop, UV_RUN_NOWAIT) && uv_backend_timeout(&w->loop) == 0)
        ;
    assert_int_equal(uv_backend_timeout(&w->loop), -1);
    link_watch(w->client.link, 1000, 3000);
    assert_int_equal(uv_backend_timeout(&w->loop), 0); /* the ping is due */
    for (int i = 0; i < 10; i++)
        uv_run(&w->loop, UV_RUN_NOWAIT);
    assert_true(uv_backend_timeout(&w->loop) > 100);
    link_watch(w->client.link, 0, 0);
    assert_int_equal(uv_backend_timeout(&w->loop), -1);
}

static void the_peer_closes_in_order(void **state)
{
    struct world *w = *state;
    make_client(w);
    make_server(w, &plain_ops);
    ask(w, 0);
    RUN_UNTIL(w, w->client.records[0].status == 200);
    h2_stream_end(w->client.records[0].stream);
    h2_stream_end(w->server.records[0].stream);
    RUN_UNTIL(w, w->client.records[0].closes && w->server.records[0].closes);
    link_close(w->client.link, false);
    w->client.link = NULL;
    RUN_UNTIL(w, w->server.overs);
    assert_int_equal(w->server.over_code, ERROR_NONE);
}

static void the_peer_vanishes_with_streams_open(void **state)
{
    struct world *w = *state;
    make_client(w);
    make_server(w, &plain_ops);
    ask(w, 0);
    RUN_UNTIL(w, w->client.records[0].status == 200);
    w->server.close_in_over = true;
    link_close(w->client.link, false);
    w->client.link = NULL;
    assert_int_equal(w->client.records[0].closes, 1);
    assert_int_equal(w->client.records[0].code, H2_CANCEL);
    RUN_UNTIL(w, w->server.overs);
    assert_int_equal(w->server.over_code, ERROR_IO);
    assert_int_equal(w->server.records[0].closes, 1);
}

static void closing_inside_a_callback_keeps_the_descriptor(void **state)
{
    struct world *w = *state;
    make_client(w);
    make_server(w, &plain_ops);
    w->server.close_in_request = true;
    ask(w, 0);
    RUN_UNTIL(w, w->server.requests);
    assert_null(w->server.link);
    assert_int_equal(w->server.records[0].closes, 1);
    assert_true(w->server.kept_fd >= 0);
    assert_true(fcntl(w->server.kept_fd, F_GETFD) >= 0);
    /* It is a plain descriptor again: a new link may take it. */
    struct world *v = w;
    v->fds[1] = w->server.kept_fd;
    w->server.kept_fd = -1;
    w->server.close_in_request = false;
    assert_int_equal(write(v->fds[1], "x", 1), 1);
    make_server(w, &plain_ops);
}

static void an_answer_that_is_no_http_2(void **state)
{
    struct world *w = *state;
    make_client(w);
    ask(w, 0);
    assert_int_equal(write(w->fds[1], "HTTP/1.1 400 Bad Request\r\n\r\n", 28), 28);
    RUN_UNTIL(w, w->client.overs);
    assert_int_equal(w->client.over_code, ERROR_PROTOCOL);
    w->client.close_in_over = true;
    close(w->fds[1]);
}

/* The offender gets a GOAWAY before the connection goes. */
static void a_goaway_is_sent_before_the_end(void **state)
{
    struct world *w = *state;
    make_server(w, &plain_ops);
    w->server.close_in_over = true;
    struct buf wire;
    buf_init(&wire, 0);
    frames_preface(&wire);
    frames_add(&wire, F_WINDOW, 0, 0, "\0\0\0\0\1", 5);
    assert_int_equal(write(w->fds[0], buf_data(&wire), wire.len), wire.len);
    buf_consume(&wire, wire.len);
    RUN_UNTIL(w, w->server.overs);
    assert_int_equal(w->server.over_code, ERROR_PROTOCOL);
    uint8_t in[4096];
    ssize_t n;
    while ((n = read(w->fds[0], in, sizeof(in))) > 0)
        buf_append(&wire, in, (size_t)n, NULL);
    assert_int_equal(n, 0);
    const uint8_t *at = buf_data(&wire);
    size_t left = wire.len;
    struct frame frame = {0};
    while (frames_next(&at, &left, &frame))
        ;
    assert_int_equal(frame.type, F_GOAWAY);
    buf_finish(&wire);
    close(w->fds[0]);
}

static void early_bytes_come_first(void **state)
{
    struct world *w = *state;
    struct buf wire;
    buf_init(&wire, 0);
    frames_preface(&wire);
    frames_request(&wire, 1, F_END_HEADERS, ":method", "POST", ":scheme", "http", ":path", "/", ":authority",
                   "h", NULL);
    frames_add(&wire, F_DATA, 0, 1, "early ", 6);
    size_t early = wire.len - 3; /* in the middle of a frame */
    frames_add(&wire, F_DATA, F_END_STREAM, 1, "late", 4);
    assert_int_equal(write(w->fds[0], buf_data(&wire) + early, wire.len - early), wire.len - early);
    assert_int_equal(link_create(&w->loop, w->fds[1], H2_SERVER, NULL, &plain_ops, &w->server,
                                 buf_data(&wire), early, &w->server.link, NULL),
                     0);
    buf_finish(&wire);
    assert_int_equal(w->server.requests, 0);
    RUN_UNTIL(w, w->server.requests && w->server.records[0].ends);
    assert_memory_equal(buf_data(&w->server.records[0].data), "early late", 10);
    close(w->fds[0]);
}

/* A filter that takes out every byte '#', and ends the link at '!'. */
static int filter(struct link *link, const uint8_t *data, size_t len, struct buf *out, void *user)
{
    for (size_t i = 0; i < len; i++) {
        if (data[i] == '!')
            return -1;
        if (data[i] != '#')
            buf_append(out, data + i, 1, NULL);
    }
    return (int)out->len;
}

static void a_filter_sees_the_raw_input(void **state)
{
    struct world *w = *state;
    struct link_ops ops = plain_ops;
    ops.filter = filter;
    make_server(w, &ops);
    struct buf wire, dirty;
    buf_init(&wire, 0);
    buf_init(&dirty, 0);
    frames_preface(&wire);
    frames_request(&wire, 1, F_END_HEADERS, ":method", "POST", ":scheme", "http", ":path", "/", ":authority",
                   "h", NULL);
    frames_add(&wire, F_DATA, F_END_STREAM, 1, "clean", 5);
    for (size_t i = 0; i < wire.len; i++) {
        buf_append(&dirty, "#", 1, NULL);
        buf_append(&dirty, buf_data(&wire) + i, 1, NULL);
    }
    assert_int_equal(write(w->fds[0], buf_data(&dirty), dirty.len), dirty.len);
    RUN_UNTIL(w, w->server.requests && w->server.records[0].ends);
    assert_memory_equal(buf_data(&w->server.records[0].data), "clean", 5);
    assert_int_equal(write(w->fds[0], "#!#", 3), 3);
    RUN_UNTIL(w, w->server.overs);
    assert_int_equal(w->server.over_code, ERROR_NONE);
    buf_finish(&wire);
    buf_finish(&dirty);
    close(w->fds[0]);
}

static void finish_sends_what_is_queued(void **state)
{
    struct world *w = *state;
    make_client(w);
    make_server(w, &plain_ops);
    struct h2_stream *stream = ask(w, 0);
    autofree uint8_t *block = xcalloc(H2_OUT_MAX, 1);
    assert_int_equal(h2_stream_write(stream, block, H2_OUT_MAX), H2_OUT_MAX);
    link_finish(w->client.link);
    RUN_UNTIL(w, w->client.overs);
    assert_int_equal(w->client.over_code, ERROR_NONE);
    link_close(w->client.link, false);
    w->client.link = NULL;
    RUN_UNTIL(w, w->server.overs);
    assert_int_equal(w->server.records[0].data.len, H2_OUT_MAX);
}

static void a_silent_peer_times_out(void **state)
{
    struct world *w = *state;
    make_client(w);
    link_watch(w->client.link, 20, 100);
    uint64_t began = uv_hrtime();
    RUN_UNTIL(w, w->client.overs);
    assert_int_equal(w->client.over_code, ERROR_TIMED_OUT);
    assert_true(uv_hrtime() - began >= 100 * 1000000ull);
    close(w->fds[1]);
}

static void a_peer_that_answers_stays(void **state)
{
    struct world *w = *state;
    make_client(w);
    make_server(w, &plain_ops);
    link_watch(w->client.link, 10, 500);
    uint64_t end = uv_hrtime() + 800 * 1000000ull;
    RUN_UNTIL(w, uv_hrtime() > end || w->client.overs);
    assert_int_equal(w->client.overs, 0);
    assert_true(link_idle_ms(w->client.link) < 500);
}

/* Nobody reads the descriptor: what the session holds is bounded, and the loop sleeps. */
static void C18_a_peer_that_does_not_read(void **state)
{
    struct world *w = *state;
    make_client(w);
    struct h2_stream *stream = ask(w, 0);
    autofree uint8_t *block = xcalloc(65536, 1);
    struct buf answer;
    buf_init(&answer, 0);
    frames_add(&answer, F_SETTINGS, 0, 0, "\0\4\x7f\xff\xff\xff", 6);
    frames_window(&answer, 0, 0x7fff0000 - 65535); /* windows are no limit here */
    assert_int_equal(write(w->fds[1], buf_data(&answer), answer.len), answer.len);
    buf_finish(&answer);
    struct mallinfo2 before = mallinfo2();
    size_t taken = 0;
    for (int i = 0; i < 1600; i++) { /* 100 MB */
        taken += h2_stream_write(stream, block, 65536);
        uv_run(&w->loop, UV_RUN_NOWAIT);
    }
    struct mallinfo2 after = mallinfo2();
    assert_true(after.uordblks < before.uordblks + 1024 * 1024);
    assert_true(taken < 4 * 1024 * 1024);
    assert_int_equal(uv_backend_timeout(&w->loop), -1);
    assert_int_equal(w->client.overs, 0);

    /* It goes on when the peer reads. */
    size_t received = 0;
    while (received < taken) {
        ssize_t n = read(w->fds[1], block, 65536);
        if (n > 0)
            received += (size_t)n;
        uv_run(&w->loop, UV_RUN_NOWAIT);
    }
    close(w->fds[1]);
}

static size_t count_descriptors(void)
{
    size_t count = 0;
    for (int fd = 0; fd < 256; fd++)
        count += fcntl(fd, F_GETFD) >= 0;
    return count;
}

static void C09_links_leave_no_descriptor(void **state)
{
    struct world *w = *state;
    size_t before = count_descriptors();
    for (int i = 0; i < 300; i++) {
        w->client.overs = w->server.overs = 0;
        make_client(w);
        make_server(w, &plain_ops);
        w->server.close_in_over = true;
        w->server.requests = 0;
        ask(w, 0);
        RUN_UNTIL(w, w->server.requests);
        h2_stream_write(w->server.records[0].stream, "x", 1);
        link_close(w->client.link, false);
        w->client.link = NULL;
        h2_record_finish(&w->client.records[0]);
        RUN_UNTIL(w, w->server.overs);
        uv_run(&w->loop, UV_RUN_NOWAIT);
        assert_int_equal(fd_socketpair(SOCK_STREAM, true, w->fds, NULL), 0);
        assert_int_equal(count_descriptors(), before);
    }
    close(w->fds[0]);
    close(w->fds[1]);
}

static void what_cannot_be_polled_is_refused(void **state)
{
    struct world *w = *state;
    autoclose int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    auto(error) struct error *err = NULL;
    struct link *link;
    assert_true(link_create(&w->loop, file, H2_CLIENT, NULL, &plain_ops, NULL, NULL, 0, &link, &err) < 0);
    assert_true(fcntl(file, F_GETFD) >= 0);
    close(w->fds[0]);
    close(w->fds[1]);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    signal(SIGPIPE, SIG_IGN);
    const struct CMUnitTest tests[] = {
        TEST(bytes_go_both_ways),
        TEST(an_idle_link_sleeps),
        TEST(the_peer_closes_in_order),
        TEST(the_peer_vanishes_with_streams_open),
        TEST(closing_inside_a_callback_keeps_the_descriptor),
        TEST(an_answer_that_is_no_http_2),
        TEST(a_goaway_is_sent_before_the_end),
        TEST(early_bytes_come_first),
        TEST(a_filter_sees_the_raw_input),
        TEST(finish_sends_what_is_queued),
        TEST(a_silent_peer_times_out),
        TEST(a_peer_that_answers_stays),
        TEST(C18_a_peer_that_does_not_read),
        TEST(C09_links_leave_no_descriptor),
        TEST(what_cannot_be_polled_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
