/* The fake host: states that survive the program, faults, events from its thread, and its machines'
 * processes. */
#include "test_base_scratch.h"

#include "base/fd.h"
#include "vm/fake.h"
#include "vm/vm.h"

#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>

#define UUID "11111111-2222-4333-8444-555555555555"

/* What was told by on_event. */
struct told {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct vm_info last;
    int count;
};
static struct told told = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static void on_event(const struct vm_info *info, void *user)
{
    pthread_mutex_lock(&told.lock);
    told.last = *info;
    told.count++;
    pthread_cond_signal(&told.changed);
    pthread_mutex_unlock(&told.lock);
}

/* Waits until a state was told (alarm ends a test that never sees it). */
static void wait_told(enum vm_state state)
{
    pthread_mutex_lock(&told.lock);
    while (told.count == 0 || told.last.state != state)
        pthread_cond_wait(&told.changed, &told.lock);
    pthread_mutex_unlock(&told.lock);
}

static struct vm_host *open_host(const char *folder)
{
    struct vm_host_options options = {.emulator = "", .installation = "i", .on_event = on_event};
    struct vm_host *host = NULL;
    assert_ok(vm_host_fake(&options, folder, &host, &err));
    return host;
}

/* A spec whose paths lie in the folder; its strings live until the next call. */
static struct vm_spec spec_of(const char *folder)
{
    static const char *const names[] = {"1.qcow2", "base.qcow2", "console.log", "c", "e", "b"};
    static char *paths[countof(names)];
    static const char *chain[3];
    for (size_t i = 0; i < countof(names); i++) {
        free(paths[i]);
        paths[i] = file_join(folder, names[i]);
    }
    chain[0] = paths[0];
    chain[1] = paths[1];
    return (struct vm_spec){.name = "hutch-fake-1",
                            .uuid = UUID,
                            .project = "1",
                            .cpus = 1,
                            .memory = 1 << 30,
                            .disk = chain[0],
                            .chain = chain,
                            .kernel = "/k",
                            .initrd = "/i",
                            .command_line = "",
                            .ports = {paths[3], paths[4], paths[5]},
                            .console_log = paths[2],
                            .folder = folder};
}

static void expect_state(struct vm_host *host, enum vm_state state, enum vm_reason reason)
{
    struct vm_info info;
    assert_ok(host->ops->info(host, UUID, &info, &err));
    assert_string_equal(vm_state_name(info.state), vm_state_name(state));
    assert_int_equal(info.reason, reason);
    assert_string_equal(info.uuid, UUID);
}

static void lives_through_states(void **state)
{
    struct vm_host *host = open_host(*state);
    struct vm_spec spec = spec_of(*state);
    autofree char *image = file_join(*state, "memory.save");
    bool dropped = true;
    expect_state(host, VM_ABSENT, VM_REASON_NONE);
    assert_error(host->ops->start(host, UUID, false, &dropped, &err), ERROR_NOT_FOUND, UUID);
    assert_ok(host->ops->define(host, &spec, &err));
    expect_state(host, VM_OFF, VM_REASON_NONE);
    assert_error(host->ops->pause(host, UUID, &err), ERROR_STATE, "not running");
    assert_ok(host->ops->start(host, UUID, true, &dropped, &err));
    assert_false(dropped);
    wait_told(VM_PAUSED);
    assert_ok(host->ops->resume(host, UUID, &err));
    wait_told(VM_RUNNING);
    assert_error(host->ops->start(host, UUID, true, &dropped, &err), ERROR_STATE, "already");
    assert_error(host->ops->undefine(host, UUID, &err), ERROR_STATE, "running");
    assert_ok(vm_check_chain(host, UUID, spec.chain, &err));
    assert_ok(host->ops->save(host, UUID, image, &err));
    wait_told(VM_OFF);
    expect_state(host, VM_OFF, VM_REASON_SAVED);
    assert_ok(host->ops->restore(host, &spec, image, true, &err));
    expect_state(host, VM_PAUSED, VM_REASON_USER);
    assert_ok(host->ops->destroy(host, UUID, &err));
    assert_ok(host->ops->destroy(host, UUID, &err));
    assert_ok(host->ops->undefine(host, UUID, &err));
    assert_ok(host->ops->undefine(host, UUID, &err));
    expect_state(host, VM_ABSENT, VM_REASON_NONE);
    host->ops->close(host);
}

static void survives_the_program(void **state)
{
    struct vm_spec spec = spec_of(*state);
    struct vm_info *list = NULL;
    size_t count = 0;
    struct vm_host *host = open_host(*state);
    assert_ok(host->ops->define(host, &spec, &err));
    assert_ok(host->ops->start(host, UUID, false, NULL, &err));
    host->ops->close(host);
    host = open_host(*state);
    expect_state(host, VM_RUNNING, VM_REASON_NONE);
    assert_ok(host->ops->list(host, &list, &count, &err));
    assert_int_equal(count, 1);
    assert_string_equal(list[0].name, "hutch-fake-1");
    free(list);
    assert_ok(vm_check_chain(host, UUID, spec.chain, &err));
    host->ops->close(host);
}

static void drops_managed_saves(void **state)
{
    struct vm_spec spec = spec_of(*state);
    autofree char *trap = xasprintf("%s/" UUID ".managed-save", (const char *)*state);
    struct vm_host *host = open_host(*state);
    struct vm_info info;
    bool dropped = false;
    assert_ok(host->ops->define(host, &spec, &err));
    assert_ok(file_replace(trap, "x", 1, 0600, &err));
    assert_ok(host->ops->info(host, UUID, &info, &err));
    assert_true(info.has_managed_save);
    assert_ok(host->ops->start(host, UUID, false, &dropped, &err));
    assert_true(dropped);
    assert_false(file_exists(trap));
    host->ops->close(host);
}

static void fails_on_request(void **state)
{
    struct vm_spec spec = spec_of(*state);
    autofree char *faults = file_join(*state, "faults");
    struct vm_host *host = open_host(*state);
    struct vm_host_info info;
    setenv("HUTCH_FAKE", "define=fail,start=memory", 1);
    assert_error(host->ops->define(host, &spec, &err), ERROR_HYPERVISOR, "define");
    setenv("HUTCH_FAKE", "start=memory,save=space,host_info=kvm", 1);
    assert_ok(host->ops->define(host, &spec, &err));
    assert_error(host->ops->start(host, UUID, false, NULL, &err), ERROR_NO_MEMORY, "start");
    expect_state(host, VM_OFF, VM_REASON_NONE);
    assert_ok(host->ops->host_info(host, &info, &err));
    assert_true(info.kvm);
    assert_true(info.memory_total > info.memory_free && info.memory_free > 0);
    assert_ok(file_replace(faults, "chain=wrong\n", 12, 0600, &err));
    assert_ok(host->ops->start(host, UUID, false, NULL, &err));
    assert_error(vm_check_chain(host, UUID, spec.chain, &err), ERROR_CORRUPT, "/another/disk.qcow2");
    unsetenv("HUTCH_FAKE");
    host->ops->close(host);
}

static void refuses_anothers_memory(void **state)
{
    struct vm_spec spec = spec_of(*state);
    autofree char *image = file_join(*state, "memory.save");
    struct vm_host *host = open_host(*state);
    assert_ok(host->ops->define(host, &spec, &err));
    assert_ok(file_replace(image, "another", 7, 0600, &err));
    assert_error(host->ops->restore(host, &spec, image, false, &err), ERROR_CORRUPT, "another machine");
    assert_error(host->ops->restore(host, &spec, "/nowhere", false, &err), ERROR_NOT_FOUND, "/nowhere");
    expect_state(host, VM_OFF, VM_REASON_NONE);
    host->ops->close(host);
}

/* The machine's process, with a guest that only waits. */
static void runs_and_ends_a_process(void **state)
{
    struct vm_spec spec = spec_of(*state);
    struct fake_store store;
    static const char script[] = "#!/bin/sh\nexec sleep 1000\n";
    autofree char *folder = file_join(*state, "programs");
    autofree char *path = file_join(folder, "hutch-guest");
    autofree char *machine = file_join(folder, "hutch-fake-machine");
    autofree char *real = file_join(TEST_PROGRAMS, "hutch-fake-machine");
    int fd = -1;
    assert_ok(file_make_folder(folder, 0700, &err));
    assert_ok(file_replace(path, script, strlen(script), 0700, &err));
    assert_int_equal(symlink(real, machine), 0);
    setenv("HUTCH_FAKE_GUEST", path, 1);
    struct vm_host *host = open_host(*state);
    assert_ok(host->ops->define(host, &spec, &err));
    assert_ok(host->ops->start(host, UUID, false, NULL, &err));
    assert_ok(fd_unix_connect(spec.ports[0], SOCK_STREAM, &fd, &err));
    assert_ok(fake_store_load(&store, *state, &err));
    pid_t pid = store.machines[0].pid;
    assert_true(fake_machine_alive(&store.machines[0]));
    /* a new program finds it as it was */
    host->ops->close(host);
    host = open_host(*state);
    expect_state(host, VM_RUNNING, VM_REASON_NONE);
    /* it dies: told without being asked */
    told.count = 0;
    assert_int_equal(kill(-pid, SIGKILL), 0);
    wait_told(VM_OFF);
    expect_state(host, VM_OFF, VM_REASON_GUEST);
    assert_ok(host->ops->start(host, UUID, true, NULL, &err));
    assert_ok(host->ops->destroy(host, UUID, &err));
    fake_store_finish(&store);
    assert_ok(fake_store_load(&store, *state, &err));
    assert_int_equal(store.machines[0].pid, 0);
    fake_store_finish(&store);
    unsetenv("HUTCH_FAKE_GUEST");
    close(fd);
    host->ops->close(host);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        scratch_test(lives_through_states),    scratch_test(survives_the_program),
        scratch_test(drops_managed_saves),     scratch_test(fails_on_request),
        scratch_test(refuses_anothers_memory), scratch_test(runs_and_ends_a_process),
    };
    alarm(60);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
