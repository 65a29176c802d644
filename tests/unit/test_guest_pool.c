/* Calls from job threads: no lost wake-up, no thread left behind, whatever ends first. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/fd.h"
#include "guest_world.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

static struct world *world;
static struct guest_pool *pool;

/* One job thread: calls one after the other, until one fails. */
struct job {
    pthread_t thread;
    const char *project, *path;
    enum guest_op op;
    unsigned times, timeout_ms;
    bool wait_up;
    bool stream; /* the call takes a stream, whose other end is never used */
    atomic_bool cancel, done;
    unsigned made;
    enum error_code code;
    struct wmsg_item item;
};

static void *run_job(void *arg)
{
    struct job *job = arg;
    struct guest_call call = {.op = job->op, .port = PORT_CONTROL, .path = job->path, .stream = -1};
    auto(error) struct error *err = NULL;
    int rc = 0;

    if (job->wait_up)
        rc = guest_wait_up(pool, job->project, job->timeout_ms, &job->cancel, &err);
    while (rc == 0 && job->made < job->times) {
        int pair[2] = {-1, -1};
        if (job->stream) {
            require(fd_socketpair(SOCK_STREAM, false, pair, NULL) == 0);
            call.stream = pair[1];
            call.flags = WCALL_STREAM_OUT;
        }
        rc = guest_call_wait(pool, job->project, &call, job->timeout_ms, &job->cancel, &job->item, &err);
        cleanup_close(&pair[0]);
        job->made += rc == 0;
    }
    job->code = err ? err->code : ERROR_NONE;
    atomic_store(&job->done, true);
    return NULL;
}

static void start_job(struct job *job)
{
    require(pthread_create(&job->thread, NULL, run_job, job) == 0);
}

/* The loop turns until the job has ended. */
static bool end_job(struct job *job, int ms)
{
    bool done = world_until(world, atomic_load(&job->done), ms);
    if (done)
        pthread_join(job->thread, NULL);
    return done;
}

static int set_up(void **state)
{
    alarm(60);
    world = world_create("p1");
    pool = guest_pool_create(&world->loop);
    world_start_fake(world, FAKE_GOOD);
    return 0;
}

static int tear_down(void **state)
{
    guest_pool_destroy(pool);
    world_destroy(world);
    return 0;
}

static void start_guest(void)
{
    world_start_guest(world, true);
    guest_pool_put(pool, "p1", world->guest);
}

#define HEALTH(n)                                                                                            \
    {                                                                                                        \
        .project = "p1", .path = "/v1/health", .op = GUEST_OP_HEALTH, .times = (n), .timeout_ms = 10000      \
    }
#define FOREVER                                                                                              \
    {                                                                                                        \
        .project = "p1", .path = "/v1/sessions/x/wait", .op = GUEST_OP_SESSION_SHOW, .times = 1              \
    }

static void test_many_threads(void **state)
{
    struct job jobs[8];

    for (size_t i = 0; i < countof(jobs); i++) {
        jobs[i] = (struct job)HEALTH(100);
        jobs[i].wait_up = true;
        start_job(&jobs[i]); /* before there is a guest: they wait for it */
    }
    start_guest();
    for (size_t i = 0; i < countof(jobs); i++) {
        assert_true(end_job(&jobs[i], 20000));
        assert_int_equal(jobs[i].code, 0);
        assert_int_equal(jobs[i].made, 100);
        assert_string_equal(jobs[i].item.u.health.hostname, "fake");
    }
}

static void test_refusals(void **state)
{
    struct job nobody = HEALTH(1), early = HEALTH(1), missing = HEALTH(1), timed = FOREVER,
               cancelled = FOREVER;

    nobody.project = "nobody";
    start_job(&nobody);
    assert_true(end_job(&nobody, 5000));
    assert_int_equal(nobody.code, ERROR_GUEST);
    start_guest();
    guest_set_running(world->guest, false);
    start_job(&early); /* not in step yet */
    assert_true(end_job(&early, 5000));
    assert_int_equal(early.code, ERROR_GUEST);
    guest_set_running(world->guest, true);
    assert_true(world_until(world, guest_up(world->guest), 5000));
    missing.path = "/v1/nothing";
    start_job(&missing);
    assert_true(end_job(&missing, 5000));
    assert_int_equal(missing.code, ERROR_NOT_FOUND);
    timed.timeout_ms = 150;
    timed.stream = true;
    start_job(&timed);
    assert_true(end_job(&timed, 5000));
    assert_int_equal(timed.code, ERROR_TIMED_OUT);
    start_job(&cancelled);
    assert_false(world_until(world, atomic_load(&cancelled.done), 200));
    atomic_store(&cancelled.cancel, true);
    assert_true(end_job(&cancelled, 1000));
    assert_int_equal(cancelled.code, ERROR_CANCELLED);
    /* both left calls behind, which the loop has ended by now or ends on its own */
    struct job after = HEALTH(20);
    start_job(&after);
    assert_true(end_job(&after, 5000));
    assert_int_equal(after.code, 0);
}

/* The loop stands still: a caller leaves in time all the same, and its call is never begun. */
static void test_loop_stands(void **state)
{
    struct job job = HEALTH(1);

    start_guest();
    assert_true(world_until(world, guest_up(world->guest), 5000));
    job.timeout_ms = 200;
    job.stream = true;
    start_job(&job);
    pthread_join(job.thread, NULL);
    assert_int_equal(job.code, ERROR_TIMED_OUT);
    struct job after = HEALTH(1);
    start_job(&after);
    assert_true(end_job(&after, 5000));
    assert_int_equal(after.code, 0);
}

static void test_guest_destroyed(void **state)
{
    struct job calls[4], waits[2];

    for (int round = 0; round < 10; round++) {
        start_guest();
        assert_true(world_until(world, guest_up(world->guest), 5000));
        for (size_t i = 0; i < countof(calls); i++) {
            calls[i] = (struct job)FOREVER;
            start_job(&calls[i]);
        }
        struct job busy = HEALTH(1000000);
        start_job(&busy);
        assert_false(world_until(world, atomic_load(&busy.done), 20));
        guest_destroy(world->guest);
        world->guest = NULL;
        assert_null(guest_pool_get(pool, "p1"));
        for (size_t i = 0; i < countof(calls); i++) {
            assert_true(end_job(&calls[i], 5000));
            assert_int_equal(calls[i].code, ERROR_GUEST);
        }
        assert_true(end_job(&busy, 5000));
        assert_int_equal(busy.code, ERROR_GUEST);
    }
    /* who waits for it to come up is told too */
    fake_guest_stop(world->fake);
    world->fake = 0;
    start_guest();
    for (size_t i = 0; i < countof(waits); i++) {
        waits[i] = (struct job){.project = "p1", .wait_up = true};
        start_job(&waits[i]);
    }
    assert_false(world_until(world, atomic_load(&waits[0].done), 300));
    guest_destroy(world->guest);
    world->guest = NULL;
    for (size_t i = 0; i < countof(waits); i++) {
        assert_true(end_job(&waits[i], 5000));
        assert_int_equal(waits[i].code, ERROR_GUEST);
    }
}

/* The pool ends with calls on the way and a guest that lives on. */
static void test_pool_destroyed(void **state)
{
    struct job calls[4];

    start_guest();
    assert_true(world_until(world, guest_up(world->guest), 5000));
    for (size_t i = 0; i < countof(calls); i++) {
        calls[i] = (struct job)FOREVER;
        start_job(&calls[i]);
    }
    assert_false(world_until(world, atomic_load(&calls[0].done), 100));
    guest_pool_destroy(pool);
    for (size_t i = 0; i < countof(calls); i++) {
        pthread_join(calls[i].thread, NULL);
        assert_int_equal(calls[i].code, ERROR_GUEST);
    }
    struct outcome outcome;
    assert_true(world_call(world, GUEST_OP_HEALTH, PORT_CONTROL, "/v1/health", NULL, &outcome));
    pool = guest_pool_create(&world->loop);
}

int main(int argc, char **argv)
{
#define T(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        T(test_many_threads),    T(test_refusals),       T(test_loop_stands),
        T(test_guest_destroyed), T(test_pool_destroyed),
    };
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
