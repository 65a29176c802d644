/* Pumps between streams and descriptors of every kind, over two links of one process. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "pump_world.h"

#include "base/alloc.h"
#include "base/fd.h"
#include "wire/h2_internal.h"
#include "wire/link.h"
#include "wire/pump.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <termios.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANITIZED
#endif
#endif

static void file_to_file(void **state)
{
    struct world *w = *state;
    size_t n = 3 * 1024 * 1024 + 17;
    int from = pattern_file(n), to = pattern_file(0);
    w->client.options.fd_in = fcntl(from, F_DUPFD_CLOEXEC, 3);
    w->server.options.fd_in = open("/dev/null", O_RDONLY | O_CLOEXEC);
    w->server.options.fd_out = fcntl(to, F_DUPFD_CLOEXEC, 3);
    begin(w);
    RUN_UNTIL(w, w->client.done && w->server.done);
    assert_int_equal(w->client.end, PUMP_DONE);
    assert_int_equal(w->server.end, PUMP_DONE);
    assert_int_equal(w->status, 200);
    assert_int_equal(w->client.in, n);
    assert_int_equal(w->server.out, n);
    assert_same_files(from, to);
    close(from);
    close(to);
}

/* An echo over sockets on both ends: the end travels through, half by half. */
static void sockets_half_close(void **state)
{
    struct world *w = *state;
    int near[2], far[2];
    fd_socketpair(SOCK_STREAM, true, near, NULL);
    fd_socketpair(SOCK_STREAM, true, far, NULL);
    w->client.options.fd_in = w->client.options.fd_out = near[1];
    w->server.options.fd_in = w->server.options.fd_out = far[1];
    begin(w);
    assert_int_equal(write(near[0], "question", 8), 8);
    shutdown(near[0], SHUT_WR);
    char in[64];
    ssize_t n = -1;
    size_t got = 0;
    while (n != 0) {
        uv_run(&w->loop, UV_RUN_ONCE);
        n = read(far[0], in + got, sizeof(in) - got);
        got += n > 0 ? (size_t)n : 0;
    }
    assert_int_equal(got, 8);
    assert_memory_equal(in, "question", 8);
    assert_int_equal(w->client.done + w->server.done, 0);
    /* The other half is open as long as it likes. */
    assert_int_equal(write(far[0], "answer", 6), 6);
    close(far[0]);
    n = -1;
    got = 0;
    while (n != 0) {
        uv_run(&w->loop, UV_RUN_NOWAIT);
        n = read(near[0], in + got, sizeof(in) - got);
        got += n > 0 ? (size_t)n : 0;
    }
    assert_memory_equal(in, "answer", 6);
    RUN_UNTIL(w, w->client.done && w->server.done);
    assert_int_equal(w->client.end, PUMP_DONE);
    assert_int_equal(w->server.end, PUMP_DONE);
    close(near[0]);
}

static void a_pipe_gets_its_end_while_the_other_half_lives(void **state)
{
    struct world *w = *state;
    int out[2], in[2];
    assert_int_equal(pipe2(out, O_CLOEXEC | O_NONBLOCK), 0);
    assert_int_equal(pipe2(in, O_CLOEXEC), 0);
    w->client.options.fd_in = pattern_file(100);
    w->server.options.fd_in = in[0];
    w->server.options.fd_out = out[1];
    begin(w);
    char data[256];
    ssize_t n = -1;
    size_t got = 0;
    while (n != 0) {
        uv_run(&w->loop, UV_RUN_ONCE);
        n = read(out[0], data, sizeof(data));
        got += n > 0 ? (size_t)n : 0;
    }
    assert_int_equal(got, 100);
    assert_int_equal(w->server.done, 0);
    close(in[1]);
    RUN_UNTIL(w, w->client.done && w->server.done);
    assert_int_equal(w->server.end, PUMP_DONE);
    close(out[0]);
}

/* A reader that does not read: the writer's side stops; memory is bounded; the loop sleeps. */
static void back_pressure_reaches_the_source(void **state)
{
    struct world *w = *state;
    int out[2], in[2];
    assert_int_equal(pipe2(out, O_CLOEXEC), 0);
    fd_socketpair(SOCK_STREAM, true, in, NULL);
    w->client.options.fd_in = w->client.options.fd_out = in[1];
    w->server.options.fd_in = open("/dev/null", O_RDONLY | O_CLOEXEC);
    w->server.options.fd_out = out[1];
    begin(w);
    autofree uint8_t *block = xcalloc(65536, 1);
    struct mallinfo2 before = mallinfo2();
    size_t sent = 0;
    int idle = 0;
    while (idle < 50) {
        ssize_t n = write(in[0], block, 65536);
        if (n > 0)
            sent += (size_t)n;
        uv_run(&w->loop, UV_RUN_NOWAIT);
        idle = n > 0 ? 0 : idle + 1;
    }
    struct mallinfo2 after = mallinfo2();
    assert_true(sent < 2 * 1024 * 1024);
    assert_true(after.uordblks < before.uordblks + 1536 * 1024);
    assert_int_equal(uv_backend_timeout(&w->loop), -1);

    close(in[0]);
    size_t got = 0;
    ssize_t n = 1;
    while (n > 0) {
        struct pollfd p = {.fd = out[0], .events = POLLIN};
        while (poll(&p, 1, 0) == 0)
            uv_run(&w->loop, UV_RUN_NOWAIT);
        n = read(out[0], block, 65536);
        got += n > 0 ? (size_t)n : 0;
    }
    assert_int_equal(got, sent);
    RUN_UNTIL(w, w->client.done && w->server.done);
    close(out[0]);
}

static void a_reset_is_told_as_one(void **state)
{
    struct world *w = *state;
    int in[2];
    fd_socketpair(SOCK_STREAM, true, in, NULL);
    w->server.options.fd_in = w->server.options.fd_out = in[1];
    struct h2_stream *stream = begin(w);
    RUN_UNTIL(w, w->server.pump);
    h2_stream_reset(stream, H2_CANCEL);
    RUN_UNTIL(w, w->client.done && w->server.done);
    assert_int_equal(w->server.end, PUMP_STREAM_RESET);
    assert_int_equal(w->server.code, ERROR_IO);
    assert_int_equal(w->client.end, PUMP_STREAM_RESET);
    char c;
    assert_int_equal(read(in[0], &c, 1), 0); /* closed, as it was owned */
    close(in[0]);
}

static void a_broken_output_resets_the_stream(void **state)
{
    struct world *w = *state;
    int out[2];
    assert_int_equal(pipe2(out, O_CLOEXEC), 0);
    close(out[0]);
    w->client.options.fd_in = pattern_file(100000);
    w->server.options.fd_in = open("/dev/null", O_RDONLY | O_CLOEXEC);
    w->server.options.fd_out = out[1];
    begin(w);
    RUN_UNTIL(w, w->client.done && w->server.done);
    assert_int_equal(w->server.end, PUMP_OUTPUT_FAILED);
    assert_int_equal(w->client.end, PUMP_STREAM_RESET);
}

/* With keep_stream the owner can still say why. */
static void a_broken_output_may_be_answered(void **state)
{
    struct world *w = *state;
    int out[2];
    assert_int_equal(pipe2(out, O_CLOEXEC), 0);
    close(out[0]);
    w->client.options.fd_in = pattern_file(100000);
    w->client.options.fd_out = pattern_file(0);
    w->server.options.fd_out = out[1];
    w->server.options.keep_stream = true;
    begin(w);
    RUN_UNTIL(w, w->server.done);
    assert_int_equal(w->server.end, PUMP_OUTPUT_FAILED);
    assert_int_equal(h2_stream_write(w->server.stream, "why", 3), 3);
    h2_stream_end(w->server.stream);
    RUN_UNTIL(w, w->client.done);
    assert_int_equal(w->client.end, PUMP_DONE);
    assert_int_equal(w->client.out, 3);
}

static void a_broken_input_resets_the_stream(void **state)
{
    struct world *w = *state;
    int in[2];
    fd_socketpair(SOCK_STREAM, true, in, NULL);
    w->server.options.fd_in = w->server.options.fd_out = in[1];
    w->client.options.fd_in = w->client.options.fd_out = -1;
    begin(w);
    RUN_UNTIL(w, w->server.pump);
    /* Closing with unread bytes in the queue makes the other end's read fail. */
    int pair[2];
    fd_socketpair(SOCK_STREAM, true, pair, NULL);
    pump_cancel(w->client.pump);
    assert_int_equal(write(pair[1], "unread", 6), 6);
    close(pair[0]);
    w->client.options.fd_in = w->client.options.fd_out = pair[1];
    start(&w->client, link_session(w->client.link)->streams);
    RUN_UNTIL(w, w->client.done && w->server.done);
    assert_int_equal(w->client.end, PUMP_INPUT_FAILED);
    assert_int_equal(w->client.code, ERROR_IO);
    assert_int_equal(w->server.end, PUMP_STREAM_RESET);
    close(in[0]);
}

static void more_than_max_bytes_is_refused(void **state)
{
    struct world *w = *state;
    w->client.options.fd_in = pattern_file(100000);
    w->server.options.fd_in = open("/dev/null", O_RDONLY | O_CLOEXEC);
    w->server.options.fd_out = pattern_file(0);
    w->server.options.max_bytes = 99999;
    begin(w);
    RUN_UNTIL(w, w->client.done && w->server.done);
    assert_int_equal(w->server.end, PUMP_OUTPUT_FAILED);
    assert_int_equal(w->server.code, ERROR_LIMIT);
    assert_true(w->server.out <= 99999);
}

/* The owner decides when, or whether, the end is passed on. */
static void the_end_can_be_held(void **state)
{
    struct world *w = *state;
    w->client.options.fd_in = pattern_file(10);
    w->client.options.hold_end = true;
    w->server.options.fd_in = open("/dev/null", O_RDONLY | O_CLOEXEC);
    begin(w);
    RUN_UNTIL(w, w->server.out == 10);
    RUN_UNTIL(w, pump_input_ended(w->client.pump));
    for (int i = 0; i < 20; i++)
        uv_run(&w->loop, UV_RUN_NOWAIT);
    assert_int_equal(w->client.done + w->server.done, 0);
    pump_end_input(w->client.pump, true);
    RUN_UNTIL(w, w->client.done && w->server.done);
    assert_int_equal(w->client.end, PUMP_DONE);
    assert_int_equal(w->server.end, PUMP_DONE);
}

static void a_held_end_can_be_a_reset(void **state)
{
    struct world *w = *state;
    w->client.options.fd_in = pattern_file(10);
    w->client.options.hold_end = true;
    w->server.options.fd_in = open("/dev/null", O_RDONLY | O_CLOEXEC);
    begin(w);
    RUN_UNTIL(w, w->server.out == 10);
    pump_end_input(w->client.pump, false);
    RUN_UNTIL(w, w->client.done && w->server.done);
    assert_int_equal(w->client.end, PUMP_STREAM_RESET);
    assert_int_equal(w->server.end, PUMP_STREAM_RESET);
}

/* The reset is still on its way out when there is more to read. */
static void a_reset_stream_is_not_written(void **state)
{
    struct world *w = *state;
    w->client.options.fd_in = pattern_file(1 << 20);
    w->client.options.hold_end = w->client.cut = true;
    w->server.options.fd_in = open("/dev/null", O_RDONLY | O_CLOEXEC);
    begin(w);
    RUN_UNTIL(w, w->client.done && w->server.done);
    assert_int_equal(w->client.end, PUMP_STREAM_RESET);
    assert_int_equal(w->server.end, PUMP_STREAM_RESET);
    assert_in_range(w->client.in, 1, (1 << 20) - 1);
}

/* Descriptors that are shared with others keep their flags. */
static void borrowed_descriptors_stay_blocking(void **state)
{
    struct world *w = *state;
    int in[2], out[2];
    assert_int_equal(pipe2(in, O_CLOEXEC), 0);
    assert_int_equal(pipe2(out, O_CLOEXEC), 0);
    w->client.options = (struct pump_options){.fd_in = in[0], .fd_out = out[1]};
    int back = pattern_file(1 << 20);
    w->server.options.fd_in = back;
    begin(w);
    RUN_UNTIL(w, w->server.pump);
    assert_false(fcntl(in[0], F_GETFL) & O_NONBLOCK);
    assert_false(fcntl(out[1], F_GETFL) & O_NONBLOCK);
    assert_int_equal(write(in[1], "typed", 5), 5);
    RUN_UNTIL(w, w->server.out == 5);
    close(in[1]);
    size_t got = 0;
    static uint8_t block[65536];
    while (got < 1 << 20) {
        struct pollfd p = {.fd = out[0], .events = POLLIN};
        while (poll(&p, 1, 0) == 0)
            uv_run(&w->loop, UV_RUN_NOWAIT);
        got += (size_t)read(out[0], block, sizeof(block));
    }
    RUN_UNTIL(w, w->client.done && w->server.done);
    assert_int_equal(w->client.end, PUMP_DONE);
    assert_true(fcntl(in[0], F_GETFD) >= 0);
    close(in[0]);
    close(out[0]);
    close(out[1]);
}

/* A terminal for both ways, as in an interactive session; its hang-up is the end of the input. */
static void a_terminal_both_ways(void **state)
{
    struct world *w = *state;
    int master, terminal;
    assert_int_equal(openpty(&master, &terminal, NULL, NULL, NULL), 0);
    struct termios raw;
    tcgetattr(terminal, &raw);
    cfmakeraw(&raw);
    tcsetattr(terminal, TCSANOW, &raw);
    int echo[2];
    fd_socketpair(SOCK_STREAM, true, echo, NULL);
    w->client.options =
        (struct pump_options){.fd_in = terminal, .fd_out = fcntl(terminal, F_DUPFD_CLOEXEC, 3)};
    w->server.options.fd_in = w->server.options.fd_out = echo[1];
    begin(w);
    assert_int_equal(write(master, "key", 3), 3);
    RUN_UNTIL(w, w->server.out == 3);
    assert_int_equal(write(echo[0], "screen", 6), 6);
    RUN_UNTIL(w, w->client.out == 6);
    char in[16];
    assert_int_equal(read(master, in, sizeof(in)), 6);
    assert_int_equal(read(echo[0], in, sizeof(in)), 3);
    assert_false(fcntl(terminal, F_GETFL) & O_NONBLOCK);
    close(master);
    close(echo[0]);
    RUN_UNTIL(w, w->client.done && w->server.done);
    assert_int_equal(w->client.end, PUMP_DONE);
    close(terminal);
    close(w->client.options.fd_out);
}

static void cancel_is_silent(void **state)
{
    struct world *w = *state;
    int in[2];
    fd_socketpair(SOCK_STREAM, true, in, NULL);
    w->server.options.fd_in = w->server.options.fd_out = in[1];
    begin(w);
    RUN_UNTIL(w, w->server.pump);
    pump_cancel(w->server.pump);
    w->server.pump = NULL;
    h2_stream_reset(w->server.stream, H2_CANCEL);
    RUN_UNTIL(w, w->client.done);
    assert_int_equal(w->client.end, PUMP_STREAM_RESET);
    assert_int_equal(w->server.done, 0);
    char c;
    assert_int_equal(read(in[0], &c, 1), 0);
    close(in[0]);
}

static void the_end_of_the_link_ends_the_pump(void **state)
{
    struct world *w = *state;
    int in[2];
    fd_socketpair(SOCK_STREAM, true, in, NULL);
    w->client.options.fd_in = w->client.options.fd_out = in[1];
    w->server.options.fd_in = open("/dev/null", O_RDONLY | O_CLOEXEC);
    begin(w);
    RUN_UNTIL(w, w->server.pump);
    h2_session_shutdown(link_session(w->server.link), H2_INTERNAL_ERROR);
    RUN_UNTIL(w, w->server.overs);
    assert_int_equal(w->server.done, 0); /* the streams end with the link, which its owner closes */
    close_link(&w->server);
    assert_int_equal(w->server.done, 1);
    assert_int_equal(w->server.end, PUMP_STREAM_RESET);
    RUN_UNTIL(w, w->client.overs);
    close_link(&w->client);
    assert_int_equal(w->client.done, 1);
    assert_int_equal(w->client.end, PUMP_STREAM_RESET);
    close(in[0]);
}

static void a_bad_descriptor_changes_nothing(void **state)
{
    struct world *w = *state;
    static const struct h2_stream_ops none;
    struct h2_stream *stream =
        h2_request(link_session(w->client.link), "CONNECT", NULL, "h:1", NULL, 0, true, &none, NULL, NULL);
    const struct pump_options options = {
        .fd_in = open("/dev/null", O_RDONLY | O_CLOEXEC), .fd_out = 999, .own_fds = true};
    struct pump *pump;
    auto(error) struct error *err = NULL;
    assert_true(pump_create(&w->loop, stream, &options, NULL, &pump, &err) < 0);
    assert_non_null(err);
    assert_int_equal(close(options.fd_in), 0);
    h2_stream_reset(stream, H2_CANCEL);
}

static void memory_stays_bounded(void **state)
{
    struct world *w = *state;
    size_t n = (size_t)256 * 1024 * 1024;
    w->client.options.fd_in = pattern_file(0);
    assert_int_equal(ftruncate(w->client.options.fd_in, (off_t)n), 0);
    w->server.options.fd_in = open("/dev/null", O_RDONLY | O_CLOEXEC);
    w->server.options.fd_out = open("/dev/null", O_WRONLY | O_CLOEXEC);
    struct rusage before, after;
    getrusage(RUSAGE_SELF, &before);
    begin(w);
    RUN_UNTIL(w, w->client.done && w->server.done);
    getrusage(RUSAGE_SELF, &after);
    assert_int_equal(w->server.out, n);
#ifndef SANITIZED /* which keeps freed memory for a while */
    assert_true(after.ru_maxrss - before.ru_maxrss < 8 * 1024);
#endif
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    signal(SIGPIPE, SIG_IGN);
    const struct CMUnitTest tests[] = {
        TEST(file_to_file),
        TEST(sockets_half_close),
        TEST(a_pipe_gets_its_end_while_the_other_half_lives),
        TEST(back_pressure_reaches_the_source),
        TEST(a_reset_is_told_as_one),
        TEST(a_broken_output_resets_the_stream),
        TEST(a_broken_output_may_be_answered),
        TEST(a_broken_input_resets_the_stream),
        TEST(more_than_max_bytes_is_refused),
        TEST(the_end_can_be_held),
        TEST(a_held_end_can_be_a_reset),
        TEST(a_reset_stream_is_not_written),
        TEST(borrowed_descriptors_stay_blocking),
        TEST(a_terminal_both_ways),
        TEST(cancel_is_silent),
        TEST(the_end_of_the_link_ends_the_pump),
        TEST(a_bad_descriptor_changes_nothing),
        TEST(memory_stays_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
