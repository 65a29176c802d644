/* The fake host. What it is told by the environment:
 *   HUTCH_FAKE=CALL=WHAT,…  CALL is a name of vm_host_ops; WHAT is fail, slow (2 s), space, memory;
 * chain=wrong reports another disk, host_info=kvm says that there is KVM. The file FOLDER/faults, if there,
 * counts instead. HUTCH_FAKE_GUEST=PATH   hutch-guest: a machine that runs is hutch-fake-machine (beside it)
 * with that hutch-guest. A machine with a process outlives this program, as one of libvirt does.
 * FOLDER/UUID.managed-save is libvirt's trap. */
#include "vm/fake.h"

#include "base/alloc.h"
#include "base/fd.h"
#include "base/file.h"
#include "base/spawn.h"
#include "vm/host.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#define FAULTS_MAX   ((size_t)4096)
#define EVENTS_MAX   256
#define LISTEN_WAITS 200 /* of 10 ms: until a machine's process listens */
#define END_WAITS    300 /* of 10 ms: until it has ended */

struct fake_host {
    struct vm_host base;
    char *folder;
    vm_event_fn on_event;
    void *user;
    pthread_mutex_t lock; /* all below */
    struct fake_store store;
    struct vm_info events[EVENTS_MAX];
    size_t event_count;
    bool ending;
    int wake; /* eventfd of the event thread */
    pthread_t thread;
};

static struct fake_host *of(struct vm_host *host)
{
    return (struct fake_host *)host;
}

static void nap(void)
{
    nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
}

/* ---- faults ---- */

/* What is to happen in a call; "" for nothing. Caller frees. */
static char *fault_of(struct fake_host *host, const char *call)
{
    autofree char *path = file_join(host->folder, "faults");
    autofree char *text = NULL;
    size_t len, length = strlen(call);
    const char *environment = getenv("HUTCH_FAKE");

    if (!file_exists(path) || file_read(path, FAULTS_MAX, &text, &len, NULL) < 0)
        text = xstrdup(environment ? environment : "");
    for (const char *p = text; *p; p += strcspn(p, ",\n"), p += *p != '\0')
        if (strncmp(p, call, length) == 0 && p[length] == '=')
            return xstrndup(p + length + 1, strcspn(p + length + 1, ",\n"));
    return xstrdup("");
}

/* Every call begins here; the lock is not held. */
static int enter(struct fake_host *host, const char *call, struct error **err)
{
    autofree char *fault = fault_of(host, call);
    if (strcmp(fault, "slow") == 0)
        nanosleep(&(struct timespec){.tv_sec = 2}, NULL);
    if (strcmp(fault, "fail") == 0) {
        int rc = error_set(err, ERROR_HYPERVISOR, "the fake host was told that \"%s\" fails", call);
        error_hint(err, "QEMU said: this is the last line of its log");
        return rc;
    }
    if (strcmp(fault, "space") == 0)
        return error_set(err, ERROR_NO_SPACE, "the fake host has no space left for \"%s\"", call);
    if (strcmp(fault, "memory") == 0)
        return error_set(err, ERROR_NO_MEMORY, "the fake host has no memory for \"%s\"", call);
    pthread_mutex_lock(&host->lock);
    return 0;
}

static int leave(struct fake_host *host, int rc)
{
    pthread_mutex_unlock(&host->lock);
    return rc;
}

/* ---- states and events ---- */

/* A new state is written down and told. The lock is held. */
static int set_state(struct fake_host *host, struct fake_machine *machine, enum vm_state state,
                     enum vm_reason reason, struct error **err)
{
    machine->info.state = state;
    machine->info.reason = reason;
    if (host->event_count < EVENTS_MAX)
        host->events[host->event_count++] = machine->info;
    eventfd_write(host->wake, 1);
    return fake_store_save(&host->store, err);
}

/* Looks for machines whose process has ended by itself. The lock is held. */
static void look_after(struct fake_host *host)
{
    for (size_t i = 0; i < host->store.count; i++) {
        struct fake_machine *machine = &host->store.machines[i];
        if (machine->pid == 0)
            continue;
        waitpid(machine->pid, NULL, WNOHANG); /* if it is our own child */
        if (fake_machine_alive(machine))
            continue;
        machine->pid = 0;
        set_state(host, machine, VM_OFF, VM_REASON_GUEST, NULL);
    }
}

/* Fills the list of what to wait for: wake-ups, and the end of each machine's process. The lock is held. */
static size_t watch_list(struct fake_host *host, struct pollfd *fds)
{
    size_t count = 1;
    fds[0] = (struct pollfd){.fd = host->wake, .events = POLLIN};
    for (size_t i = 0; i < host->store.count; i++) {
        if (host->store.machines[i].pid == 0)
            continue;
        int fd = (int)syscall(SYS_pidfd_open, host->store.machines[i].pid, 0);
        if (fd >= 0)
            fds[count++] = (struct pollfd){.fd = fd, .events = POLLIN};
    }
    return count;
}

static void *event_thread(void *user)
{
    struct fake_host *host = user;
    struct pollfd fds[FAKE_MACHINES_MAX + 1];
    eventfd_t ignored;

    pthread_mutex_lock(&host->lock);
    while (!host->ending) {
        size_t count = watch_list(host, fds);
        look_after(host);
        while (host->event_count > 0) {
            struct vm_info info = host->events[0];
            memmove(host->events, host->events + 1, --host->event_count * sizeof(host->events[0]));
            pthread_mutex_unlock(&host->lock);
            if (host->on_event)
                host->on_event(&info, host->user);
            pthread_mutex_lock(&host->lock);
        }
        pthread_mutex_unlock(&host->lock);
        poll(fds, count, -1);
        if (fds[0].revents)
            eventfd_read(host->wake, &ignored);
        for (size_t i = 1; i < count; i++)
            close(fds[i].fd);
        pthread_mutex_lock(&host->lock);
    }
    pthread_mutex_unlock(&host->lock);
    return NULL;
}

/* ---- processes ---- */

/* Ends the process group of a machine. */
static void end_process(struct fake_machine *machine)
{
    if (machine->pid == 0 || !fake_machine_alive(machine)) {
        machine->pid = 0;
        return;
    }
    kill(-machine->pid, SIGKILL);
    for (int i = 0; i < END_WAITS && fake_machine_alive(machine); i++) {
        waitpid(machine->pid, NULL, WNOHANG);
        nap();
    }
    machine->pid = 0;
}

/* Starts hutch-fake-machine and waits until its sockets are there. Without HUTCH_FAKE_GUEST there is no
 * process. */
static int start_process(struct fake_machine *machine, struct error **err)
{
    const char *guest = getenv("HUTCH_FAKE_GUEST");
    if (!guest || guest[0] != '/')
        return 0;
    autofree char *program = xasprintf("%.*s/hutch-fake-machine", (int)(strrchr(guest, '/') - guest), guest);
    const char *argv[] = {
        program, guest, machine->console_log, machine->ports[0], machine->ports[1], machine->ports[2], NULL};
    struct spawn spawn = {.argv = argv, .in = -1, .out = -1, .err = 2, .new_session = true};
    for (size_t i = 0; i < countof(machine->ports); i++)
        unlink(machine->ports[i]);
    int rc = spawn_start(&spawn, &machine->pid, err);
    if (rc < 0) {
        machine->pid = 0;
        return rc;
    }
    machine->started = fake_process_started(machine->pid);
    for (int i = 0; i < LISTEN_WAITS; i++) {
        if (file_exists(machine->ports[2])) /* the last one that it makes */
            return 0;
        if (waitpid(machine->pid, NULL, WNOHANG) == machine->pid)
            break;
        nap();
    }
    end_process(machine);
    return error_set(err, ERROR_HYPERVISOR, "\"%s\" does not listen", program);
}

/* ---- calls ---- */

/* The machine, or ERROR_NOT_FOUND. */
static int find(struct fake_host *host, const char *uuid, struct fake_machine **ret, struct error **err)
{
    look_after(host);
    *ret = fake_store_find(&host->store, uuid);
    return *ret ? 0 : error_set(err, ERROR_NOT_FOUND, "the fake host has no machine %s", uuid);
}

static bool is_up(const struct fake_machine *machine)
{
    return machine->info.state == VM_RUNNING || machine->info.state == VM_PAUSED;
}

static int fake_define(struct vm_host *base, const struct vm_spec *spec, struct error **err)
{
    struct fake_host *host = of(base);
    int rc = enter(host, "define", err);
    if (rc < 0)
        return rc;
    rc = fake_store_put(&host->store, spec, err);
    return leave(host, rc < 0 ? rc : fake_store_save(&host->store, err));
}

static char *managed_save_path(struct fake_host *host, const char *uuid)
{
    return xasprintf("%s/%s.managed-save", host->folder, uuid);
}

static int fake_undefine(struct vm_host *base, const char *uuid, struct error **err)
{
    struct fake_host *host = of(base);
    autofree char *managed_save = managed_save_path(host, uuid);
    int rc = enter(host, "undefine", err);
    if (rc < 0)
        return rc;
    struct fake_machine *machine = fake_store_find(&host->store, uuid);
    if (machine && is_up(machine))
        return leave(host, error_set(err, ERROR_STATE, "\"%s\" is running", machine->info.name));
    fake_store_remove(&host->store, uuid);
    unlink(managed_save);
    return leave(host, fake_store_save(&host->store, err));
}

/* Running or paused from off. The lock is held. */
static int power_on(struct fake_host *host, struct fake_machine *machine, bool paused, struct error **err)
{
    if (is_up(machine))
        return error_set(err, ERROR_STATE, "\"%s\" is already running", machine->info.name);
    int rc = start_process(machine, err);
    if (rc < 0)
        return rc;
    if (paused && machine->pid)
        kill(-machine->pid, SIGSTOP);
    return set_state(host, machine, paused ? VM_PAUSED : VM_RUNNING, paused ? VM_REASON_USER : VM_REASON_NONE,
                     err);
}

static int fake_start(struct vm_host *base, const char *uuid, bool paused, bool *ret_dropped_save,
                      struct error **err)
{
    struct fake_host *host = of(base);
    autofree char *managed_save = managed_save_path(host, uuid);
    struct fake_machine *machine;
    int rc = enter(host, "start", err);
    if (rc < 0)
        return rc;
    rc = find(host, uuid, &machine, err);
    if (rc < 0)
        return leave(host, rc);
    bool dropped = unlink(managed_save) == 0;
    if (ret_dropped_save)
        *ret_dropped_save = dropped;
    return leave(host, power_on(host, machine, paused, err));
}

static int fake_destroy(struct vm_host *base, const char *uuid, struct error **err)
{
    struct fake_host *host = of(base);
    int rc = enter(host, "destroy", err);
    if (rc < 0)
        return rc;
    look_after(host);
    struct fake_machine *machine = fake_store_find(&host->store, uuid);
    if (!machine || !is_up(machine))
        return leave(host, 0);
    end_process(machine);
    return leave(host, set_state(host, machine, VM_OFF, VM_REASON_USER, err));
}

/* Pause or resume. */
static int switch_state(struct vm_host *base, const char *call, const char *uuid, enum vm_state state,
                        enum vm_reason reason, int signal_number, struct error **err)
{
    struct fake_host *host = of(base);
    struct fake_machine *machine;
    int rc = enter(host, call, err);
    if (rc < 0)
        return rc;
    rc = find(host, uuid, &machine, err);
    if (rc == 0 && !is_up(machine))
        rc = error_set(err, ERROR_STATE, "\"%s\" is not running", machine->info.name);
    if (rc == 0 && machine->info.state != state) {
        if (machine->pid)
            kill(-machine->pid, signal_number);
        rc = set_state(host, machine, state, reason, err);
    }
    return leave(host, rc);
}

static int fake_pause(struct vm_host *base, const char *uuid, struct error **err)
{
    return switch_state(base, "pause", uuid, VM_PAUSED, VM_REASON_USER, SIGSTOP, err);
}

static int fake_resume(struct vm_host *base, const char *uuid, struct error **err)
{
    return switch_state(base, "resume", uuid, VM_RUNNING, VM_REASON_NONE, SIGCONT, err);
}

static int fake_save(struct vm_host *base, const char *uuid, const char *path, struct error **err)
{
    struct fake_host *host = of(base);
    struct fake_machine *machine;
    int rc = enter(host, "save", err);
    if (rc < 0)
        return rc;
    rc = find(host, uuid, &machine, err);
    if (rc == 0 && !is_up(machine))
        rc = error_set(err, ERROR_STATE, "\"%s\" is not running", machine->info.name);
    if (rc == 0)
        rc = file_replace(path, machine->info.uuid, strlen(machine->info.uuid), 0600, err);
    if (rc < 0)
        return leave(host, rc);
    end_process(machine);
    return leave(host, set_state(host, machine, VM_OFF, VM_REASON_SAVED, err));
}

static int fake_restore(struct vm_host *base, const struct vm_spec *spec, const char *path, bool paused,
                        struct error **err)
{
    struct fake_host *host = of(base);
    autofree char *image = NULL;
    size_t len;
    int rc = enter(host, "restore", err);
    if (rc < 0)
        return rc;
    rc = file_read(path, 4096, &image, &len, err);
    if (rc == 0 && strcmp(image, spec->uuid) != 0)
        rc = error_set(err, ERROR_CORRUPT, "\"%s\" is the memory of another machine", path);
    struct fake_machine *machine = fake_store_find(&host->store, spec->uuid);
    if (rc == 0 && machine && is_up(machine))
        rc = error_set(err, ERROR_STATE, "\"%s\" is already running", machine->info.name);
    if (rc == 0)
        rc = fake_store_put(&host->store, spec, err);
    if (rc == 0)
        rc = power_on(host, fake_store_find(&host->store, spec->uuid), paused, err);
    return leave(host, rc);
}

/* The chain gets the overlay on top, as QEMU's does. */
static int fake_snapshot(struct vm_host *base, const char *uuid, const char *overlay, struct error **err)
{
    struct fake_host *host = of(base);
    struct fake_machine *machine;
    size_t count = 0;
    int rc = enter(host, "snapshot", err);
    if (rc < 0)
        return rc;
    rc = find(host, uuid, &machine, err);
    if (rc == 0 && !is_up(machine))
        rc = error_set(err, ERROR_STATE, "\"%s\" is not running", machine->info.name);
    if (rc == 0 && !file_exists(overlay))
        rc = error_set(err, ERROR_HYPERVISOR, "there is no \"%s\"", overlay);
    if (rc < 0)
        return leave(host, rc);
    while (machine->chain[count])
        count++;
    machine->chain = xrealloc(machine->chain, count + 2, sizeof(char *));
    memmove(machine->chain + 1, machine->chain, (count + 1) * sizeof(char *));
    machine->chain[0] = xstrdup(overlay);
    return leave(host, fake_store_save(&host->store, err));
}

static int fake_info(struct vm_host *base, const char *uuid, struct vm_info *ret_info, struct error **err)
{
    struct fake_host *host = of(base);
    autofree char *managed_save = managed_save_path(host, uuid);
    int rc = enter(host, "info", err);
    if (rc < 0)
        return rc;
    look_after(host);
    struct fake_machine *machine = fake_store_find(&host->store, uuid);
    struct vm_info info = {.state = VM_ABSENT};
    snprintf(info.uuid, sizeof(info.uuid), "%s", uuid);
    if (machine)
        info = machine->info;
    info.has_managed_save = machine && file_exists(managed_save);
    *ret_info = info;
    return leave(host, 0);
}

static int fake_list(struct vm_host *base, struct vm_info **ret, size_t *ret_count, struct error **err)
{
    struct fake_host *host = of(base);
    int rc = enter(host, "list", err);
    if (rc < 0)
        return rc;
    look_after(host);
    struct vm_info *list = xnewn(struct vm_info, host->store.count + 1);
    for (size_t i = 0; i < host->store.count; i++)
        list[i] = host->store.machines[i].info;
    *ret = list;
    *ret_count = host->store.count;
    return leave(host, 0);
}

static int fake_chain(struct vm_host *base, const char *uuid, char ***ret_chain, struct error **err)
{
    struct fake_host *host = of(base);
    autofree char *fault = fault_of(host, "chain");
    struct fake_machine *machine;
    int rc = enter(host, "chain", err);
    if (rc < 0)
        return rc;
    rc = find(host, uuid, &machine, err);
    if (rc == 0 && !is_up(machine))
        rc = error_set(err, ERROR_STATE, "\"%s\" is not running", machine->info.name);
    if (rc < 0)
        return leave(host, rc);
    size_t count = 0;
    while (machine->chain[count])
        count++;
    char **chain = xnewn(char *, count + 1);
    for (size_t i = 0; i < count; i++)
        chain[i] = xstrdup(machine->chain[i]);
    if (count > 0 && strcmp(fault, "wrong") == 0) {
        free(chain[0]);
        chain[0] = xstrdup("/another/disk.qcow2");
    }
    *ret_chain = chain;
    return leave(host, 0);
}

static char *fake_log_tail(struct vm_host *base, const char *name)
{
    return xasprintf("%s: this is the last line of its log", name);
}

static int fake_host_info(struct vm_host *base, struct vm_host_info *ret, struct error **err)
{
    struct fake_host *host = of(base);
    autofree char *fault = fault_of(host, "host_info");
    struct vm_host_info info = {.hypervisor = "fake", .uri = "fake", .libvirt_version = 0};
    int rc = enter(host, "host_info", err);
    if (rc < 0)
        return rc;
    rc = host_read(&info, err);
    if (rc < 0)
        return leave(host, rc);
    if (strcmp(fault, "kvm") == 0) {
        info.kvm = true;
        info.kvm_reason[0] = '\0';
    }
    *ret = info;
    return leave(host, 0);
}

static void fake_close(struct vm_host *base)
{
    struct fake_host *host = of(base);
    pthread_mutex_lock(&host->lock);
    host->ending = true;
    pthread_mutex_unlock(&host->lock);
    eventfd_write(host->wake, 1);
    pthread_join(host->thread, NULL);
    pthread_mutex_destroy(&host->lock);
    fake_store_finish(&host->store);
    close(host->wake);
    free(host->folder);
    free(host);
}

static const struct vm_host_ops fake_ops = {
    .define = fake_define,
    .undefine = fake_undefine,
    .start = fake_start,
    .destroy = fake_destroy,
    .pause = fake_pause,
    .resume = fake_resume,
    .save = fake_save,
    .restore = fake_restore,
    .snapshot = fake_snapshot,
    .info = fake_info,
    .list = fake_list,
    .chain = fake_chain,
    .log_tail = fake_log_tail,
    .host_info = fake_host_info,
    .close = fake_close,
};

int vm_host_fake(const struct vm_host_options *options, const char *folder, struct vm_host **ret_host,
                 struct error **err)
{
    struct fake_host *host = xnew(struct fake_host);
    host->base.ops = &fake_ops;
    host->folder = xstrdup(folder);
    host->on_event = options->on_event;
    host->user = options->user;
    pthread_mutex_init(&host->lock, NULL);
    host->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    require(host->wake >= 0);
    int rc = fake_store_load(&host->store, folder, err);
    if (rc == 0 && pthread_create(&host->thread, NULL, event_thread, host) != 0)
        rc = error_set(err, ERROR_FAILED, "cannot start a thread");
    if (rc < 0) {
        pthread_mutex_destroy(&host->lock);
        fake_store_finish(&host->store);
        close(host->wake);
        free(host->folder);
        free(host);
        return rc;
    }
    *ret_host = &host->base;
    return 0;
}
