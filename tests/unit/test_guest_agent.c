/* The whole way without a machine: hutchd's side, a real hutch-worker, a real hutch-guest on UNIX sockets. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/fd.h"
#include "base/spawn.h"
#include "guest_world.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define THROUGH (64u << 20)

static struct world *world;
static pid_t agent;

static void start_agent(void)
{
    autofree char *program = xstrdup(world->worker_program);
    memcpy(strrchr(program, '/') + 1, "hutch-guest",
           sizeof("hutch-guest")); /* one letter shorter than hutch-worker */
    const char *argv[] = {program, "serve", "--ports", world->dir, "--root", world->dir, NULL};
    struct spawn spawn = {.argv = argv, .in = -1, .out = -1, .err = -1};

    require(spawn_start(&spawn, &agent, NULL) == 0);
}

static void kill_agent(void)
{
    kill(agent, SIGKILL);
    waitpid(agent, NULL, 0);
}

static int set_up(void **state)
{
    alarm(120);
    world = world_create("p1");
    start_agent();
    world_start_guest(world, true);
    return 0;
}

static int tear_down(void **state)
{
    kill_agent();
    world_destroy(world);
    return 0;
}

static void come_up(void)
{
    assert_true(world_until(world, guest_up(world->guest), 10000));
}

static void must(enum guest_op op, const char *path, const char *body, struct outcome *outcome)
{
    if (!world_call(world, op, PORT_CONTROL, path, body, outcome))
        fail_msg("%s: %s", path, outcome->text ? outcome->text : "no end");
}

static uint32_t begin_stream(enum guest_op op, const char *path, unsigned flags, struct outcome *outcome,
                             int *ret_fd)
{
    int pair[2];

    require(fd_socketpair(SOCK_STREAM, true, pair, NULL) == 0);
    *ret_fd = pair[0];
    return world_begin(world, op, PORT_BULK, path, NULL, flags, pair[1], outcome);
}

/* A session, its three streams apart, its end. */
static void test_session(void **state)
{
    struct outcome outcome, in, out, end;
    struct mover writer, reader;
    int in_fd, out_fd;

    come_up();
    must(GUEST_OP_HEALTH, "/v1/health", NULL, &outcome);
    assert_in_range(outcome.item.u.health.phase, PHASE_AGENT, PHASE_FAILED);
    assert_true(outcome.item.u.health.memory_total > 0);
    must(GUEST_OP_SESSION_START, "/v1/sessions",
         "{\"argv\":[\"/bin/sh\",\"-c\",\"cat; exit 7\"],\"label\":\"through\"}", &outcome);
    assert_string_equal(outcome.item.u.session.label, "through");
    autofree char *base = xasprintf("/v1/sessions/%s", outcome.item.u.session.id);
    autofree char *stdin_path = xasprintf("%s/stdin", base);
    autofree char *stdout_path = xasprintf("%s/stdout?from=0", base);
    autofree char *wait_path = xasprintf("%s/wait", base);
    begin_stream(GUEST_OP_READ, stdout_path, WCALL_STREAM_OUT, &out, &out_fd);
    mover_read(&reader, out_fd, THROUGH);
    begin_stream(GUEST_OP_DUPLEX, stdin_path, WCALL_STREAM_IN, &in, &in_fd);
    mover_write(&writer, in_fd, THROUGH, true);
    assert_true(world_until(world, in.done && out.done, 60000));
    assert_int_equal(in.code, 0);
    assert_int_equal(out.code, 0);
    mover_join(&writer);
    mover_join(&reader);
    assert_true(reader.moved == THROUGH);
    assert_false(reader.wrong);
    must(GUEST_OP_SESSION_SHOW, wait_path, NULL, &end);
    assert_int_equal(end.item.u.session.state, SESSION_EXITED);
    assert_int_equal(end.item.u.session.exit_status, 7);
    assert_true(end.item.u.session.out_total == THROUGH);
    must(GUEST_OP_DELETE, base, NULL, &outcome);
}

/* hutch-guest dies with a stream on the way: the call fails, the session lives, all is found again. */
static void test_agent_killed(void **state)
{
    struct outcome outcome, out;
    struct mover reader;
    int fd;

    come_up();
    must(GUEST_OP_SESSION_START, "/v1/sessions",
         "{\"argv\":[\"/bin/sh\",\"-c\",\"echo up; exec sleep 100\"]}", &outcome);
    autofree char *base = xasprintf("/v1/sessions/%s", outcome.item.u.session.id);
    autofree char *stdout_path = xasprintf("%s/stdout", base);
    begin_stream(GUEST_OP_READ, stdout_path, WCALL_STREAM_OUT, &out, &fd);
    mover_read(&reader, fd, 0);
    assert_true(world_until(world, reader.moved == 3, 10000));
    kill_agent();
    assert_true(world_until(world, out.done && !guest_up(world->guest), 15000));
    assert_int_equal(out.code, ERROR_GUEST);
    outcome_finish(&out);
    mover_join(&reader);
    start_agent();
    come_up();
    must(GUEST_OP_SESSION_SHOW, base, NULL, &outcome);
    assert_int_equal(outcome.item.u.session.state, SESSION_RUNNING);
    must(GUEST_OP_SESSION_LIST, "/v1/sessions", NULL, &outcome);
    assert_int_equal(outcome.items, 1);
    must(GUEST_OP_DELETE, base, NULL, &outcome);
}

static void test_files(void **state)
{
    struct outcome outcome;
    struct mover mover;
    int fd;

    come_up();
    autofree char *folder = xasprintf("/v1/files/folder?path=%s/new/deep", world->dir);
    autofree char *file = xasprintf("/v1/files?path=%s/new/deep/file", world->dir);
    autofree char *stat = xasprintf("/v1/files/stat?path=%s/new/deep/file", world->dir);
    autofree char *list = xasprintf("/v1/files/list?path=%s/new", world->dir);
    must(GUEST_OP_POST, folder, NULL, &outcome);
    begin_stream(GUEST_OP_WRITE, file, WCALL_STREAM_IN, &outcome, &fd);
    mover_write(&mover, fd, 1 << 20, true);
    assert_true(world_until(world, outcome.done, 20000));
    assert_int_equal(outcome.code, 0);
    mover_join(&mover);
    must(GUEST_OP_FILE_STAT, stat, NULL, &outcome);
    assert_true(outcome.item.u.file.size == 1 << 20);
    /* a sender that dies replaces nothing */
    begin_stream(GUEST_OP_WRITE, file, WCALL_STREAM_IN, &outcome, &fd);
    mover_write(&mover, fd, 5000, false);
    assert_true(world_until(world, outcome.done, 20000));
    assert_int_equal(outcome.code, ERROR_CANCELLED);
    outcome_finish(&outcome);
    mover_join(&mover);
    must(GUEST_OP_FILE_STAT, stat, NULL, &outcome);
    assert_true(outcome.item.u.file.size == 1 << 20);
    begin_stream(GUEST_OP_READ, file, WCALL_STREAM_OUT, &outcome, &fd);
    mover_read(&mover, fd, 0);
    assert_true(world_until(world, outcome.done, 20000));
    assert_int_equal(outcome.code, 0);
    mover_join(&mover);
    assert_true(mover.moved == 1 << 20);
    assert_false(mover.wrong);
    must(GUEST_OP_FILE_LIST, list, NULL, &outcome);
    assert_int_equal(outcome.items, 1);
    assert_string_equal(outcome.item.u.file.name, "deep");
    autofree char *missing = xasprintf("/v1/files/stat?path=%s/none", world->dir);
    assert_false(world_call(world, GUEST_OP_FILE_STAT, PORT_CONTROL, missing, NULL, &outcome));
    assert_int_equal(outcome.code, ERROR_NOT_FOUND);
    outcome_finish(&outcome);
}

int main(int argc, char **argv)
{
#define T(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {T(test_session), T(test_agent_killed), T(test_files)};

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
