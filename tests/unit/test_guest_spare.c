/* A session's process that waits before it is needed. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "agent_rig.h"
#include "base/alloc.h"
#include "base/file.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

#define TEST_LIMIT 120 /* s */
#define LIMIT_MS   1500

static struct rig rig;

static int setup(void **state)
{
    alarm(TEST_LIMIT);
    rig_start(&rig);
    return 0;
}

static int teardown(void **state)
{
    rig_stop(&rig);
    return 0;
}

/* The child of hutch-guest that waits for the next session: the last of `wanted`. */
static pid_t waiting_child(int wanted)
{
    autofree char *path = xasprintf("/proc/%d/task/%d/children", (int)rig.serve, (int)rig.serve);
    for (int i = 0; i < 2000; i++) {
        int pids[3] = {0};
        autofree char *list = NULL;
        if (file_read(path, 4096, &list, NULL, NULL) == 0 &&
            sscanf(list, "%d %d %d", &pids[0], &pids[1], &pids[2]) == wanted)
            return pids[wanted - 1];
        assert_int_equal(rig_call(&rig, "GET", "/v1/health", NULL, NULL), 200);
    }
    fail_msg("no session waits");
    return 0;
}

static pid_t parent_of(const char *id)
{
    auto(json) json_t *session = NULL;
    autofree char *path = xasprintf("/v1/sessions/%s", id), *data = NULL;
    int parent = 0;

    assert_int_equal(rig_call(&rig, "GET", path, NULL, &session), 200);
    autofree char *stat =
        xasprintf("/proc/%d/stat", (int)json_integer_value(json_object_get(session, "pid")));
    assert_int_equal(file_read(stat, 4096, &data, NULL, NULL), 0);
    assert_int_equal(sscanf(strrchr(data, ')'), ") %*c %d", &parent), 1);
    return parent;
}

static void the_next_session_waits(void **state)
{
    char first[40], second[40], third[40];

    rig_exec(&rig, first, NULL, "cat", NULL);
    pid_t spare = waiting_child(2);
    rig_exec(&rig, second, NULL, "cat", NULL);
    assert_int_equal(parent_of(second), spare);
    spare = waiting_child(3);
    assert_int_equal(kill(spare, SIGKILL), 0);
    rig_exec(&rig, third, NULL, "cat", NULL);
    assert_int_not_equal(parent_of(third), spare);
}

/* A time limit counts from the start of the program, however long its process has waited before. */
static void a_time_limit_counts_from_the_start(void **state)
{
    char first[40], second[40];

    rig_exec(&rig, first, NULL, "cat", NULL);
    waiting_child(2);
    usleep(2 * LIMIT_MS * 1000);
    rig_exec(&rig, second, json_pack("{s:i}", "timeout_ms", LIMIT_MS), "sleep", "0.1", NULL);
    autofree char *wait = xasprintf("/v1/sessions/%s/wait", second);
    auto(json) json_t *session = NULL;
    assert_int_equal(rig_call(&rig, "GET", wait, NULL, &session), 200);
    assert_int_equal(json_integer_value(json_object_get(session, "exit_status")), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_next_session_waits, setup, teardown),
        cmocka_unit_test_setup_teardown(a_time_limit_counts_from_the_start, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
