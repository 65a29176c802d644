/* hutchd, a real hutch-worker and a guest that behaves: calls, lists, streams, cancelling, and everybody's
 * death. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/fd.h"
#include "guest_world.h"
#include "worker/confine.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define STREAM_SIZE     (200ull << 20)
#define WORKER_HWM_KIB  20480 /* with four streams of 256 KiB windows and libraries */
#define WORKER_IDLE_KIB 4096

static struct world *world;

static int set_up(void **state)
{
    alarm(120);
    world = world_create("p1");
    world_start_fake(world, FAKE_GOOD);
    world_start_guest(world, true);
    return 0;
}

static int tear_down(void **state)
{
    world_destroy(world);
    return 0;
}

static void come_up(void)
{
    assert_true(world_until(world, guest_up(world->guest), 5000));
}

static void expect_health(void)
{
    struct outcome outcome;

    assert_true(world_call(world, GUEST_OP_HEALTH, PORT_CONTROL, "/v1/health", NULL, &outcome));
    assert_int_equal(outcome.item.kind, GUEST_HEALTH);
    assert_int_equal(outcome.item.u.health.phase, PHASE_READY);
    assert_string_equal(outcome.item.u.health.hostname, "fake");
}

static void test_calls(void **state)
{
    struct outcome outcome;

    world_begin(world, GUEST_OP_HEALTH, PORT_CONTROL, "/v1/health", NULL, 0, -1, &outcome);
    assert_int_equal(outcome.code, ERROR_GUEST); /* not in step yet */
    outcome_finish(&outcome);
    come_up();
    expect_health();
    assert_true(world_call(world, GUEST_OP_SESSION_START, PORT_CONTROL, "/v1/sessions",
                           "{\"argv\":[\"true\"],\"label\":\"l\xc3\xa4uft\"}", &outcome));
    assert_string_equal(outcome.item.u.session.id, "s-1");
    assert_string_equal(outcome.item.u.session.label, "l\xc3\xa4uft");
    assert_int_equal(outcome.item.u.session.out_total, 2);
    /* bulk comes into step on its own; a call waits for it */
    assert_true(world_call(world, GUEST_OP_HEALTH, PORT_BULK, "/v1/health", NULL, &outcome));
    assert_false(world_call(world, GUEST_OP_HEALTH, PORT_CONTROL, "/v1/nothing", NULL, &outcome));
    assert_int_equal(outcome.code, ERROR_NOT_FOUND);
    assert_string_equal(outcome.text, "no \\e[31mpath"); /* a guest's text is safe when it leaves guest.c */
    outcome_finish(&outcome);
}

/* The largest call goes through, one byte more is told with its size. */
static void test_call_sizes(void **state)
{
    struct outcome outcome;
    const char *path = "/v1/sessions";
    size_t room = WMSG_BODY_MAX - strlen(path);
    autofree char *body = xcalloc(1, room + 2);

    come_up();
    memset(body, ' ', room + 1);
    memcpy(body, "{\"argv\":[]}", 11);
    assert_false(world_call(world, GUEST_OP_SESSION_START, PORT_CONTROL, path, body, &outcome));
    assert_int_equal(outcome.code, ERROR_LIMIT);
    assert_non_null(strstr(outcome.text, "153601"));
    outcome_finish(&outcome);
    body[room] = '\0';
    assert_true(world_call(world, GUEST_OP_SESSION_START, PORT_CONTROL, path, body, &outcome));
}

static void test_list(void **state)
{
    struct outcome outcome;

    come_up();
    assert_true(
        world_call(world, GUEST_OP_FILE_LIST, PORT_CONTROL, "/v1/files/list?path=/10000", NULL, &outcome));
    assert_int_equal(outcome.items, 10000);
    assert_int_equal(outcome.item.u.file.uid, 1000);
    assert_true(
        world_call(world, GUEST_OP_FILE_LIST, PORT_CONTROL, "/v1/files/list?path=/0", NULL, &outcome));
    assert_int_equal(outcome.items, 0);
}

/* Begins a streaming call; *ret_fd is the end that hutchd would hold. */
static uint32_t begin_stream(enum guest_op op, const char *path, unsigned flags, struct outcome *outcome,
                             int *ret_fd)
{
    int pair[2];

    require(fd_socketpair(SOCK_STREAM, true, pair, NULL) == 0);
    *ret_fd = pair[0];
    return world_begin(world, op, PORT_BULK, path, NULL, flags, pair[1], outcome);
}

static void expect_small_worker(void)
{
    if (confine_full())
        assert_in_range(process_kib(guest_worker_pid(world->guest), "status", "VmHWM:"), 1, WORKER_HWM_KIB);
}

static void test_read(void **state)
{
    struct outcome outcome;
    struct mover mover;
    int fd;

    come_up();
    autofree char *path = xasprintf("/v1/files?path=/%llu", STREAM_SIZE);
    begin_stream(GUEST_OP_READ, path, WCALL_STREAM_OUT, &outcome, &fd);
    mover_read(&mover, fd, STREAM_SIZE);
    assert_true(world_until(world, outcome.done, 60000));
    assert_int_equal(outcome.code, 0);
    assert_true(outcome.head);
    assert_int_equal(outcome.offset, 77);
    mover_join(&mover);
    assert_false(mover.wrong);
    assert_true(mover.moved == STREAM_SIZE);
    expect_small_worker();
}

static void test_write(void **state)
{
    struct outcome outcome;
    struct mover mover;
    int fd;

    come_up();
    begin_stream(GUEST_OP_WRITE, "/v1/files?path=/x", WCALL_STREAM_IN, &outcome, &fd);
    mover_write(&mover, fd, STREAM_SIZE, true);
    assert_true(world_until(world, outcome.done, 60000));
    assert_int_equal(outcome.code, 0); /* the fake holds every byte against the pattern */
    mover_join(&mover);
    assert_true(mover.moved == STREAM_SIZE);
    expect_small_worker();
}

/* A reader that takes nothing stops the guest; nothing piles up on the way. */
static void test_slow_reader(void **state)
{
    struct outcome outcome;
    int fd;
    char byte;

    come_up();
    uint32_t id = begin_stream(GUEST_OP_READ, "/v1/files?path=/99999999999", WCALL_STREAM_OUT, &outcome, &fd);
    assert_true(world_until(world, recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 1, 5000));
    for (int i = 0; i < 20; i++)
        expect_health();
    expect_small_worker();
    guest_cancel(world->guest, id);
    assert_true(world_until(world, outcome.done, 5000));
    assert_int_equal(outcome.code, ERROR_CANCELLED);
    outcome_finish(&outcome);
    close(fd);
    expect_health();
}

static void test_duplex(void **state)
{
    struct outcome outcome;
    struct mover writer, reader;
    int fd;

    come_up();
    begin_stream(GUEST_OP_DUPLEX, "/v1/tcp/1", WCALL_STREAM_IN | WCALL_STREAM_OUT, &outcome, &fd);
    mover_read(&reader, dup(fd), 8 << 20);
    mover_write(&writer, fd, 8 << 20, false);
    /* the writer closes its own descriptor; the reader's copy keeps the socket open, so it says the end
     * itself */
    assert_true(world_until(world, writer.fd < 0, 20000));
    shutdown(reader.fd, SHUT_WR);
    assert_true(world_until(world, outcome.done, 20000));
    assert_int_equal(outcome.code, 0);
    mover_join(&writer);
    mover_join(&reader);
    assert_true(reader.moved == 8 << 20);
    assert_false(reader.wrong);
}

/* A message may end in any byte, also in one with which the guest's search for the next key begins: none
 * waits. */
static void test_every_last_byte(void **state)
{
    struct outcome outcome;
    int fd;

    come_up();
    begin_stream(GUEST_OP_DUPLEX, "/v1/tcp/1", WCALL_STREAM_IN | WCALL_STREAM_OUT, &outcome, &fd);
    for (int i = 0; i < 256; i++) {
        uint8_t sent = (uint8_t)i, back = 0;
        int64_t start = world_now_ms();
        assert_int_equal(send(fd, &sent, 1, MSG_NOSIGNAL), 1);
        assert_true(world_until(world, recv(fd, &back, 1, MSG_DONTWAIT) == 1, 5000));
        assert_int_equal(back, sent);
        assert_in_range(world_now_ms() - start, 0, 1000);
    }
    shutdown(fd, SHUT_WR);
    assert_true(world_until(world, outcome.done, 5000));
    assert_int_equal(outcome.code, 0);
    close(fd);
}

/* Whoever dies in the middle of a body must not leave half a file that looks whole. */
static void test_cut_input(void **state)
{
    struct outcome outcome;
    struct mover mover;
    int fd;

    come_up();
    begin_stream(GUEST_OP_WRITE, "/v1/files?path=/x", WCALL_STREAM_IN, &outcome, &fd);
    mover_write(&mover, fd, 1 << 20, false);
    assert_true(world_until(world, outcome.done, 10000));
    assert_int_equal(outcome.code, ERROR_CANCELLED);
    outcome_finish(&outcome);
    mover_join(&mover);
    expect_health();
}

/* A refusal of a body arrives as the guest's words, also while the body still flows. */
static void test_refused_input(void **state)
{
    struct outcome outcome;
    struct mover mover;
    int fd;

    come_up();
    begin_stream(GUEST_OP_WRITE, "/v1/files?path=/full", WCALL_STREAM_IN, &outcome, &fd);
    mover_write(&mover, fd, 50 << 20, true);
    assert_true(world_until(world, outcome.done, 10000));
    assert_int_equal(outcome.code, ERROR_NO_SPACE);
    assert_string_equal(outcome.text, "the disk is full");
    assert_string_equal(outcome.hint, "grow it");
    assert_false(outcome.head);
    outcome_finish(&outcome);
    mover_join(&mover);
    assert_true(mover.moved < 50 << 20);
}

static void test_guest_gone(void **state)
{
    struct outcome stream, wait;
    struct mover mover;
    int fd;

    come_up();
    begin_stream(GUEST_OP_READ, "/v1/files?path=/99999999999", WCALL_STREAM_OUT, &stream, &fd);
    mover_read(&mover, fd, 0);
    world_begin(world, GUEST_OP_SESSION_SHOW, PORT_CONTROL, "/v1/sessions/x/wait", NULL, 0, -1, &wait);
    assert_true(world_until(world, mover.moved > 1 << 20, 10000));
    fake_guest_stop(world->fake);
    assert_true(world_until(world, stream.done && wait.done && !guest_up(world->guest), 10000));
    assert_int_equal(stream.code, ERROR_GUEST);
    assert_int_equal(wait.code, ERROR_GUEST);
    outcome_finish(&stream);
    outcome_finish(&wait);
    mover_join(&mover);
    world_start_fake(world, FAKE_GOOD);
    come_up();
    expect_health();
    assert_int_equal(world->alerts, 0);
}

/* hutch-guest dies and is started again; QEMU tells nobody. The new one says GOAWAY to whoever still talks to
 * the old one. */
static void test_program_killed(void **state)
{
    come_up();
    for (int round = 0; round < 5; round++) {
        struct outcome wait;
        unsigned ups = world->ups;
        world_begin(world, GUEST_OP_SESSION_SHOW, PORT_CONTROL, "/v1/sessions/x/wait", NULL, 0, -1, &wait);
        expect_health();
        fake_guest_kill_program(world->dir);
        assert_true(world_until(world, wait.done && world->ups > ups, 4000));
        assert_int_equal(wait.code, ERROR_GUEST);
        outcome_finish(&wait);
        expect_health();
    }
    assert_int_equal(world->alerts, 0);
}

static void test_worker_killed(void **state)
{
    struct outcome outcomes[20];

    for (int round = 0; round < 3; round++) {
        come_up();
        for (size_t i = 0; i < countof(outcomes); i++)
            world_begin(world, GUEST_OP_SESSION_SHOW, PORT_CONTROL, "/v1/sessions/x/wait", NULL, 0, -1,
                        &outcomes[i]);
        expect_health();
        pid_t pid = guest_worker_pid(world->guest);
        kill(pid, SIGKILL);
        assert_true(world_until(world, !guest_up(world->guest), 2000));
        for (size_t i = 0; i < countof(outcomes); i++) {
            assert_true(outcomes[i].done);
            assert_int_equal(outcomes[i].code, ERROR_GUEST);
            outcome_finish(&outcomes[i]);
        }
        assert_true(world_until(world, guest_up(world->guest), 4000));
        assert_int_not_equal(guest_worker_pid(world->guest), pid);
    }
    expect_health();
}

/* Too many ends within a minute: it stays off, says so, and comes back when told. */
static void test_crash_loop(void **state)
{
    struct outcome outcome;

    for (int i = 0; i < 5; i++) {
        assert_true(world_until(world, guest_worker_pid(world->guest) > 0, 5000));
        pid_t pid = guest_worker_pid(world->guest);
        kill(pid, SIGKILL);
        assert_true(world_until(world, guest_worker_pid(world->guest) != pid, 5000));
    }
    assert_true(world->alerts > 0);
    assert_non_null(strstr(world->last_alert, "stays off"));
    assert_false(world_call(world, GUEST_OP_HEALTH, PORT_CONTROL, "/v1/health", NULL, &outcome));
    assert_non_null(strstr(outcome.text, "stays off"));
    outcome_finish(&outcome);
    guest_revive(world->guest);
    come_up();
    expect_health();
}

/* C11, C21: the host's whole side dies under load and comes back; in step within 2 s each time, and what the
 * guest wrote to the old session is not read in the new one (the list and the bytes after it are checked). */
static void test_resync(void **state)
{
    int64_t worst = 0;

    for (int round = 0; round < 50; round++) {
        struct outcome list, stream, wait;
        int fd;
        int64_t begin = world_now_ms();

        assert_true(world_until(world, guest_up(world->guest), 2000));
        expect_health();
        int64_t took = world_now_ms() - begin;
        worst = took > worst ? took : worst;
        begin_stream(GUEST_OP_READ, "/v1/files?path=/99999999999", WCALL_STREAM_OUT, &stream, &fd);
        world_begin(world, GUEST_OP_FILE_LIST, PORT_CONTROL, "/v1/files/list?path=/90000", NULL, 0, -1,
                    &list);
        world_begin(world, GUEST_OP_SESSION_SHOW, PORT_CONTROL, "/v1/sessions/x/wait", NULL, 0, -1, &wait);
        assert_true(world_until(world, list.items > 10, 5000));
        kill(guest_worker_pid(world->guest), SIGKILL);
        guest_destroy(world->guest);
        assert_true(list.done && stream.done && wait.done);
        outcome_finish(&list);
        outcome_finish(&stream);
        outcome_finish(&wait);
        close(fd);
        world_start_guest(world, true);
    }
    print_message("in step again after at most %ld ms\n", (long)worst);
    assert_in_range(worst, 0, 2000);
    assert_int_equal(world->alerts, 0);
}

/* Nothing is said to a machine that does not run; then it goes at once. A key that cannot be recorded holds
 * the hello back. */
static void test_not_running(void **state)
{
    guest_set_running(world->guest, false);
    assert_false(world_until(world, guest_up(world->guest) || world->saves > PORT_COUNT, 300));
    world->refuse_keys = true;
    guest_set_running(world->guest, true);
    assert_true(world_until(world, world->alerts > 0, 3000));
    assert_false(guest_up(world->guest));
    world->refuse_keys = false;
    come_up();
    guest_set_running(world->guest, false);
    assert_true(guest_up(world->guest));
    guest_set_running(world->guest, true);
    expect_health();
}

static void test_idle_memory(void **state)
{
    if (!confine_full() || getuid() != 0) /* the worker is not dumpable: only root may look */
        skip();
    come_up();
    expect_health();
    uint64_t kib = process_kib(guest_worker_pid(world->guest), "smaps_rollup", "Private_Dirty:") +
                   process_kib(guest_worker_pid(world->guest), "smaps_rollup", "Private_Clean:");
    print_message("an idle worker has %lu KiB of its own\n", (unsigned long)kib);
    assert_in_range(kib, 1, WORKER_IDLE_KIB);
}

int main(int argc, char **argv)
{
#define T(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        T(test_calls),         T(test_call_sizes),    T(test_list),       T(test_read),
        T(test_write),         T(test_slow_reader),   T(test_duplex),     T(test_every_last_byte),
        T(test_cut_input),     T(test_refused_input), T(test_guest_gone), T(test_program_killed),
        T(test_worker_killed), T(test_crash_loop),    T(test_resync),     T(test_not_running),
        T(test_idle_memory),
    };
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
