/* A guest that breaks every rule, a worker that has been taken over: what hutchd and the other calls see of
 * it. */
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

#define WORKER_HWM_KIB 24576

static struct world *world;

static void begin(const char *project, enum fake_mode mode)
{
    alarm(120);
    world = world_create(project);
    world_start_fake(world, mode);
    world_start_guest(world, true);
}

static int tear_down(void **state)
{
    world_destroy(world);
    return 0;
}

static void expect_health(void)
{
    struct outcome outcome;

    if (!world_call(world, GUEST_OP_HEALTH, PORT_CONTROL, "/v1/health", NULL, &outcome))
        fail_msg("no health: %s, alert: %s", outcome.text ? outcome.text : "no end", world->last_alert);
    assert_string_equal(outcome.item.u.health.hostname, "fake");
}

static void expect_small_worker(void)
{
    if (confine_full())
        assert_in_range(process_kib(guest_worker_pid(world->guest), "status", "VmHWM:"), 1, WORKER_HWM_KIB);
}

/* ---- C13: before HTTP/2 ---- */

/* Bad replies are thrown away without a word; the repeated hello gets through. */
static void test_bad_replies(void **state)
{
    static const enum fake_mode modes[] = {FAKE_WRONG_NONCE, FAKE_OLD_NONCE, FAKE_CUT_REPLY};

    for (size_t i = 0; i < countof(modes); i++) {
        begin("p1", modes[i]);
        assert_true(world_until(world, guest_up(world->guest), 8000));
        expect_health();
        assert_int_equal(world->alerts, 0);
        if (i + 1 < countof(modes))
            world_destroy(world);
    }
}

/* A flood before the reply: thrown away in constant memory, then an alert and a pause; afterwards all is
 * well. */
static void test_zeros(void **state)
{
    begin("p1", FAKE_ZEROS);
    assert_true(world_until(world, world->alerts >= 1, 20000));
    assert_non_null(strstr(world->last_alert, "16 MiB"));
    assert_false(guest_up(world->guest));
    assert_true(world_until(world, guest_up(world->guest), 60000));
    expect_health();
    expect_small_worker();
}

/* Garbage where HTTP/2 should begin: a broken limit of each port, with its back-off, and no crash. */
static void test_no_http(void **state)
{
    begin("p1", FAKE_NO_HTTP);
    pid_t pid = guest_worker_pid(world->guest);
    assert_true(world_until(world, world->alerts >= 3, 10000));
    assert_true(world_until(world, guest_up(world->guest) && world->alerts >= 6, 20000));
    expect_health();
    assert_int_equal(guest_worker_pid(world->guest), pid);
}

static void test_mute(void **state)
{
    struct outcome outcome;

    begin("p1", FAKE_MUTE);
    assert_true(world_until(world, world->saves >= 3, 5000));
    assert_false(world_until(world, guest_up(world->guest), 1000));
    assert_false(world_call(world, GUEST_OP_HEALTH, PORT_CONTROL, "/v1/health", NULL, &outcome));
    assert_non_null(strstr(outcome.text, "has not answered for"));
    outcome_finish(&outcome);
}

/* ---- answers ---- */

static void test_bad_answers(void **state)
{
    static const struct {
        enum guest_op op;
        const char *name;
        enum error_code code;
        unsigned items;
    } cases[] = {
        {GUEST_OP_SESSION_SHOW, "huge", ERROR_PROTOCOL, 0},
        {GUEST_OP_SESSION_SHOW, "endless", ERROR_PROTOCOL, 0},
        {GUEST_OP_SESSION_SHOW, "types", ERROR_PROTOCOL, 0},
        {GUEST_OP_SESSION_SHOW, "state", ERROR_PROTOCOL, 0},
        {GUEST_OP_SESSION_SHOW, "early", ERROR_PROTOCOL, 0},
        {GUEST_OP_SESSION_SHOW, "cut", ERROR_GUEST, 0},
        {GUEST_OP_FILE_LIST, "million", ERROR_LIMIT, WMSG_ITEMS_MAX},
        {GUEST_OP_FILE_LIST, "line", ERROR_PROTOCOL, 0},
        {GUEST_OP_FILE_LIST, "newlines", ERROR_PROTOCOL, 0},
        {GUEST_OP_FILE_LIST, "dotdot", ERROR_PROTOCOL, 0},
        {GUEST_OP_FILE_LIST, "endless", ERROR_PROTOCOL, 0},
        {GUEST_OP_READ, "cut", ERROR_GUEST, 0},
        {GUEST_OP_SESSION_SHOW, "headers", ERROR_GUEST, 0},
    };

    begin("p1", FAKE_GOOD);
    assert_true(world_until(world, guest_up(world->guest), 5000));
    pid_t pid = guest_worker_pid(world->guest);
    for (size_t i = 0; i < countof(cases); i++) {
        struct outcome outcome;
        autofree char *path = xasprintf("/v1/bad/%s", cases[i].name);
        int pair[2] = {-1, -1};
        bool stream = cases[i].op == GUEST_OP_READ;
        if (stream)
            assert_int_equal(fd_socketpair(SOCK_STREAM, true, pair, NULL), 0);
        world_begin(world, cases[i].op, PORT_BULK, path, NULL, stream ? WCALL_STREAM_OUT : 0, pair[1],
                    &outcome);
        if (!world_until(world, outcome.done, 20000))
            fail_msg("no end: %s", cases[i].name);
        if (outcome.code != cases[i].code || outcome.items != cases[i].items)
            fail_msg("%s: code %d, %u items: %s", cases[i].name, outcome.code, outcome.items,
                     outcome.text ? outcome.text : "ok");
        outcome_finish(&outcome);
        cleanup_close(&pair[0]);
    }
    assert_int_equal(guest_worker_pid(world->guest), pid);
    expect_small_worker();
}

/* C15: floods on bulk leave control its latency. */
static int compare(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* How long a call on control takes: the median and the longest of some. */
static int64_t time_calls(int64_t *ret_worst)
{
    int64_t times[41];

    for (size_t i = 0; i < countof(times); i++) {
        int64_t start = world_now_ms();
        expect_health();
        times[i] = world_now_ms() - start;
    }
    qsort(times, countof(times), sizeof(times[0]), compare);
    *ret_worst = times[countof(times) - 1];
    return times[countof(times) / 2];
}

static void test_flood(void **state)
{
    struct outcome floods[4], lists[2];
    struct mover movers[4];
    uint32_t ids[6];
    int64_t worst;

    begin("p1", FAKE_GOOD);
    assert_true(world_until(world, guest_up(world->guest), 5000));
    int64_t at_rest = time_calls(&worst);
    for (size_t i = 0; i < 4; i++) {
        int pair[2];
        assert_int_equal(fd_socketpair(SOCK_STREAM, true, pair, NULL), 0);
        ids[i] = world_begin(world, GUEST_OP_READ, PORT_BULK, "/v1/files?path=/99999999999", NULL,
                             WCALL_STREAM_OUT, pair[1], &floods[i]);
        mover_read(&movers[i], pair[0], 0);
    }
    for (size_t i = 0; i < 2; i++)
        ids[4 + i] = world_begin(world, GUEST_OP_FILE_LIST, PORT_BULK, "/v1/files/list?path=/99000", NULL, 0,
                                 -1, &lists[i]);
    assert_true(world_until(world, movers[0].moved > 1 << 20, 10000));
    int64_t median = time_calls(&worst);
    print_message("a call beside the flood: median %ld ms (at rest %ld), worst %ld ms\n", (long)median,
                  (long)at_rest, (long)worst);
    /* on a host that is busy with other things, all takes longer */
    assert_true(median < (confine_full() ? 100 : 1000) || median < 25 * (at_rest + 1));
    for (size_t i = 0; i < 6; i++)
        guest_cancel(world->guest, ids[i]);
    for (size_t i = 0; i < 4; i++) {
        assert_true(world_until(world, floods[i].done, 5000));
        outcome_finish(&floods[i]);
        mover_join(&movers[i]);
    }
    for (size_t i = 0; i < 2; i++) {
        assert_true(world_until(world, lists[i].done, 20000));
        outcome_finish(&lists[i]);
    }
    expect_small_worker();
}

/* ---- a worker in the guest's hands ---- */

static void say(const void *message, size_t len)
{
    fd_send(3, message, len, NULL, 0, NULL);
}

/* This program again, started in the place of hutch-worker: descriptor 3 is the channel, the project's name
 * says what to do. */
static void be_evil(void)
{
    uint8_t input[WMSG_MAX > 4096 ? 4096 : WMSG_MAX];
    struct wmsg_setup setup;
    struct wmsg_port state = {.type = WMSG_PORT_STATE, .port = PORT_CONTROL, .value = 1};
    struct wmsg_item item = {.type = WMSG_RESULT, .id = 1, .ok = 1};

    fd_set_nonblocking(3, false, NULL);
    require(recv(3, &setup, sizeof(setup), 0) == sizeof(setup));
    const char *deed = setup.project;
    if (strcmp(deed, "short") == 0)
        say("x", 1);
    else if (strcmp(deed, "unknown-call") == 0)
        say(&item, sizeof(item));
    else if (strcmp(deed, "port") == 0)
        state.port = 77, say(&state, sizeof(state));
    else if (strcmp(deed, "descriptor") == 0)
        fd_send(3, &state, sizeof(state), &(int){3}, 1, NULL);
    else if (strcmp(deed, "long") == 0)
        say(input, sizeof(input));
    else if (strcmp(deed, "talk") == 0)
        for (int i = 0; i < 100000; i++)
            say(&state, sizeof(state));
    else
        say(&state, sizeof(state));
    ssize_t n;
    while ((n = recv(3, input, sizeof(input), MSG_TRUNC)) > 0) {
        const struct wmsg_call *call = (const struct wmsg_call *)input;
        if (call->type != WMSG_CALL)
            continue;
        item.id = call->id;
        if (strcmp(deed, "kind") == 0)
            item.kind = GUEST_REPO;
        else if (strcmp(deed, "phase") == 0)
            item.kind = GUEST_HEALTH, item.u.health.phase = 99;
        else if (strcmp(deed, "text") == 0)
            item.kind = GUEST_HEALTH, memset(item.u.health.hostname, 'x', sizeof(item.u.health.hostname));
        else if (strcmp(deed, "item") == 0)
            item.type = WMSG_ITEM, item.kind = GUEST_HEALTH;
        else if (strcmp(deed, "code") == 0)
            item.ok = 0, memcpy(item.error_code, "would-ask", 10), memcpy(item.error_text, "\033]0;x\a", 7);
        say(&item, sizeof(item));
    }
    _exit(0);
}

static void begin_evil(const char *deed)
{
    alarm(60);
    world = world_create(deed);
    char path[4096];
    ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);
    require(n > 0);
    path[n] = '\0';
    free(world->worker_program);
    world->worker_program = xstrdup(path);
    world_start_guest(world, true);
}

static void test_evil_worker(void **state)
{
    static const char *const deeds[] = {"short", "unknown-call", "port",  "descriptor", "long",
                                        "talk",  "kind",         "phase", "text",       "item"};

    for (size_t i = 0; i < countof(deeds); i++) {
        struct outcome outcome = {0};
        begin_evil(deeds[i]);
        pid_t pid = guest_worker_pid(world->guest);
        if (i >= 6) {
            assert_true(world_until(world, guest_up(world->guest), 5000));
            world_begin(world, GUEST_OP_HEALTH, PORT_CONTROL, "/v1/health", NULL, 0, -1, &outcome);
        }
        if (!world_until(world, guest_worker_pid(world->guest) != pid, 10000))
            fail_msg("lives on: %s", deeds[i]);
        if (i >= 6) {
            assert_true(outcome.done);
            assert_int_equal(outcome.code, ERROR_GUEST);
            outcome_finish(&outcome);
        }
        assert_true(world->alerts > 0);
        world_destroy(world);
    }
    begin_evil("code");
    struct outcome outcome;
    assert_true(world_until(world, guest_up(world->guest), 5000));
    assert_false(world_call(world, GUEST_OP_HEALTH, PORT_CONTROL, "/v1/health", NULL, &outcome));
    assert_int_equal(outcome.code, ERROR_GUEST); /* no decision of hutchd's comes from there */
    assert_string_equal(outcome.text, "\\e]0;x\\x07");
    outcome_finish(&outcome);
}

int main(int argc, char **argv)
{
    int type = 0;
    socklen_t len = sizeof(type);

    if (getsockopt(3, SOL_SOCKET, SO_TYPE, &type, &len) == 0 && type == SOCK_SEQPACKET)
        be_evil();
#define T(name) cmocka_unit_test_teardown(name, tear_down)
    const struct CMUnitTest tests[] = {
        T(test_bad_replies), T(test_zeros), T(test_no_http),     T(test_mute),
        T(test_bad_answers), T(test_flood), T(test_evil_worker),
    };
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
