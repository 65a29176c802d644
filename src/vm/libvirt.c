#include "vm/libvirt.h"

#include "base/alloc.h"
#include "base/log.h"
#include "vm/host.h"

#include <libvirt/virterror.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Pauses between two attempts to reach a libvirtd that went away. */
#define RETRY_FIRST_MS 200
#define RETRY_LAST_MS  10000

static const char *const hint_missing = "install libvirt-daemon-system and qemu-system-x86, or run "
                                        "./quickstart; hutch doctor shows what is missing";

/* Messages of libvirt and QEMU that mean something a person can act on. The first that is found counts. */
static const struct {
    const char *part;
    enum error_code code;
    const char *hint;
} known_messages[] = {
    {"Cannot allocate memory", ERROR_NO_MEMORY, "stop another machine, or give this one less memory"},
    {"cannot set up guest memory", ERROR_NO_MEMORY, "stop another machine, or give this one less memory"},
    {"No space left on device", ERROR_NO_SPACE, "make room on the disk"},
    {"Could not access KVM", ERROR_HYPERVISOR, "sudo usermod -aG kvm $USER, then log in again"},
    {"Failed to connect socket to", ERROR_MISSING, NULL},
    {"Cannot find suitable emulator", ERROR_MISSING, "install qemu-system-x86"},
    {"cannot acquire state change lock", ERROR_BUSY,
     "something else is being done with the machine; try again"},
    {"nknown CPU model", ERROR_INVALID, "correct vm.cpu in the template"},
};

static void ignore_error(void *user, virErrorPtr error)
{
}

int libvirt_error(struct error **err, const char *format, ...)
{
    const virError *last = virGetLastError();
    autofree char *message = xstrdup(last && last->message ? last->message : "no reason given");
    enum error_code code = ERROR_HYPERVISOR;
    const char *hint = NULL;
    va_list args;

    va_start(args, format);
    autofree char *what = xvasprintf(format, args);
    va_end(args);
    if (last && last->code == VIR_ERR_NO_DOMAIN)
        code = ERROR_NOT_FOUND;
    else if (last && last->code == VIR_ERR_OPERATION_INVALID)
        code = ERROR_STATE;
    for (size_t i = 0; i < countof(known_messages); i++) {
        if (strstr(message, known_messages[i].part)) {
            code = known_messages[i].code;
            hint = known_messages[i].hint ? known_messages[i].hint : hint_missing;
            break;
        }
    }
    /* one line: QEMU's own output comes with newlines */
    for (size_t len = strlen(message); len > 0 && message[len - 1] == '\n'; len--)
        message[len - 1] = '\0';
    for (char *p = message; *p; p++)
        if (*p == '\n')
            *p = ' ';
    int rc = error_set(err, code, "%s: %s", what, message);
    if (hint)
        error_hint(err, "%s", hint);
    return rc;
}

/* ---- libvirt's event loop: one thread for the whole process ---- */

static void *event_loop(void *user)
{
    for (;;)
        if (virEventRunDefaultImpl() < 0)
            usleep(100000); /* a broken loop must not eat a processor */
    return NULL;
}

static int library_result;

/* A timer that never fires gives the loop something to wait for before the first connection. */
static void no_timer(int timer, void *user)
{
}

static void start_library(void)
{
    pthread_t thread;
    virSetErrorFunc(NULL, ignore_error);
    library_result = virEventRegisterDefaultImpl();
    if (library_result == 0)
        library_result = virInitialize();
    if (library_result == 0)
        virEventAddTimeout(-1, no_timer, NULL, NULL);
    if (library_result == 0 && pthread_create(&thread, NULL, event_loop, NULL) == 0)
        pthread_detach(thread);
    else
        library_result = -1;
}

/* ---- references: libvirt may call back until its own loop has let go ---- */

static void host_unref(void *user)
{
    struct libvirt_host *host = user;
    if (atomic_fetch_sub(&host->refs, 1) > 1)
        return;
    pthread_mutex_destroy(&host->lock);
    pthread_mutex_destroy(&host->connecting);
    pthread_cond_destroy(&host->wake);
    free(host->uri);
    free(host->emulator);
    free(host->installation);
    free(host->known);
    free(host);
}

void libvirt_remember(struct libvirt_host *host, const struct vm_info *info)
{
    pthread_mutex_lock(&host->lock);
    size_t i = 0;
    while (i < host->known_count && strcmp(host->known[i].uuid, info->uuid) != 0)
        i++;
    if (i == host->known_count)
        host->known = xrealloc(host->known, ++host->known_count, sizeof(host->known[0]));
    host->known[i] = *info;
    pthread_mutex_unlock(&host->lock);
}

/* ---- events ---- */

/* An event and what it says of the machine's state. Others say nothing about it. */
static const struct {
    int event, detail; /* detail -1: any */
    enum vm_state state;
    enum vm_reason reason;
} event_meanings[] = {
    {VIR_DOMAIN_EVENT_UNDEFINED, -1, VM_ABSENT, VM_REASON_NONE},
    {VIR_DOMAIN_EVENT_STARTED, -1, VM_RUNNING, VM_REASON_NONE},
    {VIR_DOMAIN_EVENT_SUSPENDED, VIR_DOMAIN_EVENT_SUSPENDED_IOERROR, VM_PAUSED, VM_REASON_IO_ERROR},
    {VIR_DOMAIN_EVENT_SUSPENDED, -1, VM_PAUSED, VM_REASON_USER},
    {VIR_DOMAIN_EVENT_RESUMED, -1, VM_RUNNING, VM_REASON_NONE},
    {VIR_DOMAIN_EVENT_SHUTDOWN, -1, VM_STOPPING, VM_REASON_GUEST},
    {VIR_DOMAIN_EVENT_STOPPED, VIR_DOMAIN_EVENT_STOPPED_SHUTDOWN, VM_OFF, VM_REASON_GUEST},
    {VIR_DOMAIN_EVENT_STOPPED, VIR_DOMAIN_EVENT_STOPPED_DESTROYED, VM_OFF, VM_REASON_USER},
    {VIR_DOMAIN_EVENT_STOPPED, VIR_DOMAIN_EVENT_STOPPED_CRASHED, VM_OFF, VM_REASON_CRASH},
    {VIR_DOMAIN_EVENT_STOPPED, VIR_DOMAIN_EVENT_STOPPED_SAVED, VM_OFF, VM_REASON_SAVED},
    {VIR_DOMAIN_EVENT_STOPPED, VIR_DOMAIN_EVENT_STOPPED_FAILED, VM_OFF, VM_REASON_FAILED},
    {VIR_DOMAIN_EVENT_STOPPED, -1, VM_OFF, VM_REASON_NONE},
    {VIR_DOMAIN_EVENT_PMSUSPENDED, -1, VM_PAUSED, VM_REASON_GUEST},
    {VIR_DOMAIN_EVENT_CRASHED, -1, VM_CRASHED, VM_REASON_CRASH},
};

/* Runs on libvirt's event thread: copies and hands over. The lock keeps on_event from being called after
 * close. */
static int on_lifecycle(virConnectPtr conn, virDomainPtr domain, int event, int detail, void *user)
{
    struct libvirt_host *host = user;
    char uuid[VIR_UUID_STRING_BUFLEN];
    size_t i = 0;

    if (virDomainGetUUIDString(domain, uuid) < 0)
        return 0;
    while (i < countof(event_meanings) &&
           (event_meanings[i].event != event ||
            (event_meanings[i].detail != -1 && event_meanings[i].detail != detail)))
        i++;
    /* an undefined machine that runs is still there */
    if (i == countof(event_meanings) ||
        (event == VIR_DOMAIN_EVENT_UNDEFINED && virDomainGetID(domain) != (unsigned)-1))
        return 0;
    pthread_mutex_lock(&host->lock);
    for (size_t k = 0; k < host->known_count && host->on_event; k++) {
        if (strcmp(host->known[k].uuid, uuid) != 0)
            continue;
        host->known[k].state = event_meanings[i].state;
        host->known[k].reason = event_meanings[i].reason;
        struct vm_info info = host->known[k];
        host->on_event(&info, host->user);
    }
    pthread_mutex_unlock(&host->lock);
    return 0;
}

/* The connection ended: the watcher makes a new one. */
static void on_closed(virConnectPtr conn, int reason, void *user)
{
    struct libvirt_host *host = user;
    pthread_mutex_lock(&host->lock);
    if (host->conn == conn) {
        host->lost = true;
        pthread_cond_signal(&host->wake);
    }
    pthread_mutex_unlock(&host->lock);
}

/* ---- connection ---- */

static bool is_live(const struct libvirt_host *host)
{
    return host->conn && !host->lost && virConnectIsAlive(host->conn) == 1;
}

/* Lets go of the connection. `connecting` is held, or nobody else is there. */
static void drop(struct libvirt_host *host)
{
    pthread_mutex_lock(&host->lock);
    virConnectPtr old = host->conn;
    int event_id = host->event_id;
    host->conn = NULL;
    host->event_id = -1;
    host->lost = false;
    pthread_cond_signal(&host->wake);
    pthread_mutex_unlock(&host->lock);
    if (!old)
        return;
    if (event_id >= 0)
        virConnectDomainEventDeregisterAny(old, event_id);
    virConnectUnregisterCloseCallback(old, on_closed);
    virConnectClose(old);
}

/* Learns which of libvirt's security drivers are at work. */
static void read_security(struct libvirt_host *host, virConnectPtr conn)
{
    autofree char *capabilities = virConnectGetCapabilities(conn);
    host->apparmor = capabilities && strstr(capabilities, "<model>apparmor</model>");
    host->selinux = capabilities && strstr(capabilities, "<model>selinux</model>");
}

/* Opens a connection and asks for events. `connecting` is held. */
static int open_connection(struct libvirt_host *host, struct error **err)
{
    virConnectPtr conn = virConnectOpen(host->uri);
    if (!conn)
        return libvirt_error(err, "cannot connect to libvirt at \"%s\"", host->uri);
    read_security(host, conn);
    atomic_fetch_add(&host->refs, 1);
    if (virConnectRegisterCloseCallback(conn, on_closed, host, host_unref) < 0) {
        host_unref(host);
        virConnectClose(conn);
        return libvirt_error(err, "cannot watch libvirt's connection");
    }
    atomic_fetch_add(&host->refs, 1);
    int id = virConnectDomainEventRegisterAny(conn, NULL, VIR_DOMAIN_EVENT_ID_LIFECYCLE,
                                              VIR_DOMAIN_EVENT_CALLBACK(on_lifecycle), host, host_unref);
    if (id < 0) {
        int rc = libvirt_error(err, "cannot ask libvirt for events");
        host_unref(host);
        virConnectUnregisterCloseCallback(conn, on_closed);
        virConnectClose(conn);
        return rc;
    }
    pthread_mutex_lock(&host->lock);
    host->conn = conn;
    host->event_id = id;
    host->lost = false;
    /* machines that were there before, of an earlier hutchd or libvirtd: their events count from now on */
    host->behind = true;
    pthread_cond_signal(&host->wake);
    pthread_mutex_unlock(&host->lock);
    return 0;
}

/* A live connection with a reference of its own in *ret_conn. */
static int acquire(struct libvirt_host *host, virConnectPtr *ret_conn, struct error **err)
{
    int rc = 0;
    pthread_mutex_lock(&host->connecting);
    pthread_mutex_lock(&host->lock);
    bool live = is_live(host);
    pthread_mutex_unlock(&host->lock);
    if (!live) {
        drop(host);
        rc = open_connection(host, err);
    }
    if (rc == 0) {
        virConnectRef(host->conn);
        *ret_conn = host->conn;
    }
    pthread_mutex_unlock(&host->connecting);
    return rc;
}

int libvirt_run(struct libvirt_host *host, libvirt_fn fn, const struct libvirt_call *call, bool again,
                struct error **err)
{
    for (;;) {
        virConnectPtr conn;
        struct error *failed = NULL;
        int rc = acquire(host, &conn, err);
        if (rc < 0)
            return rc;
        rc = fn(host, conn, call, &failed);
        bool lost = rc < 0 && virConnectIsAlive(conn) != 1;
        virConnectClose(conn);
        if (lost && again) {
            error_free(failed);
            again = false;
            continue;
        }
        if (lost)
            error_hint(&failed,
                       "libvirtd went away meanwhile; machines go on without it: look at the state, then try "
                       "again");
        return error_move(err, &failed);
    }
}

/* ---- the watcher: comes back after libvirtd went away, without being asked ---- */

/* Tells the state of every machine, known ones that are gone too. */
static void report_all(struct libvirt_host *host)
{
    struct vm_info *list = NULL;
    size_t count = 0;
    struct error *failed = NULL;
    struct libvirt_call call = {.ret_list = &list, .ret_count = &count};

    if (libvirt_run(host, libvirt_read_list, &call, true, &failed) < 0) {
        log_debug("cannot list the machines again: %s", failed->message);
        error_free(failed);
        return;
    }
    pthread_mutex_lock(&host->lock);
    for (size_t i = 0; i < host->known_count && host->on_event; i++) {
        struct vm_info info = host->known[i];
        size_t k = 0;
        while (k < count && strcmp(list[k].uuid, info.uuid) != 0)
            k++;
        if (k == count)
            info.state = VM_ABSENT;
        else
            info = list[k];
        host->known[i] = info;
        host->on_event(&info, host->user);
    }
    pthread_mutex_unlock(&host->lock);
    free(list);
}

/* Waits for work, at most ms (-1: for ever). The lock is held. */
static void watcher_wait(struct libvirt_host *host, int ms)
{
    struct timespec until;
    if (ms < 0) {
        pthread_cond_wait(&host->wake, &host->lock);
        return;
    }
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += ms / 1000;
    until.tv_nsec += (long)(ms % 1000) * 1000000;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pthread_cond_timedwait(&host->wake, &host->lock, &until);
}

static void *watch(void *user)
{
    struct libvirt_host *host = user;
    int delay = RETRY_FIRST_MS;

    pthread_mutex_lock(&host->lock);
    while (!host->ending) {
        if (!host->lost && host->conn && !host->behind) {
            delay = RETRY_FIRST_MS;
            watcher_wait(host, -1);
            continue;
        }
        bool report = host->behind && host->conn && !host->lost;
        host->behind = false;
        pthread_mutex_unlock(&host->lock);
        virConnectPtr conn = NULL;
        if (report)
            report_all(host);
        else if (acquire(host, &conn, NULL) == 0)
            virConnectClose(conn);
        pthread_mutex_lock(&host->lock);
        if (!report && !conn && !host->ending) {
            watcher_wait(host, delay);
            delay = delay * 2 > RETRY_LAST_MS ? RETRY_LAST_MS : delay * 2;
        }
    }
    pthread_mutex_unlock(&host->lock);
    return NULL;
}

/* ---- the host ---- */

void libvirt_close(struct vm_host *base)
{
    struct libvirt_host *host = (struct libvirt_host *)base;
    pthread_mutex_lock(&host->lock);
    host->on_event = NULL;
    host->ending = true;
    pthread_cond_signal(&host->wake);
    pthread_mutex_unlock(&host->lock);
    pthread_join(host->watcher, NULL);
    drop(host);
    host_unref(host);
}

static struct libvirt_host *host_create(const struct vm_host_options *options)
{
    struct libvirt_host *host = xnew(struct libvirt_host);
    pthread_condattr_t monotonic;
    host->base.ops = &libvirt_ops;
    host->uri = xstrdup(options->uri ? options->uri : geteuid() == 0 ? "qemu:///system" : "qemu:///session");
    host->emulator = xstrdup(options->emulator);
    host->installation = xstrdup(options->installation);
    host->on_event = options->on_event;
    host->user = options->user;
    host->event_id = -1;
    atomic_init(&host->refs, 1);
    pthread_mutex_init(&host->connecting, NULL);
    pthread_mutex_init(&host->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&host->wake, &monotonic);
    pthread_condattr_destroy(&monotonic);
    return host;
}

/* libvirt keeps what it learned of an emulator until that file's ctime changes. It looks at hutch-qemu, so an
 * update of the QEMU behind it is passed on by a touch, where hutch-qemu is ours to touch. */
static void pass_update_on(const char *emulator)
{
    struct stat ours, qemu;
    const struct timespec now[2] = {{.tv_nsec = UTIME_NOW}, {.tv_nsec = UTIME_OMIT}};
    if (stat(emulator, &ours) == 0 && stat(HUTCH_QEMU, &qemu) == 0 &&
        qemu.st_ctim.tv_sec >= ours.st_ctim.tv_sec && utimensat(AT_FDCWD, emulator, now, 0) < 0)
        log_debug("cannot touch \"%s\"", emulator);
}

int vm_host_libvirt(const struct vm_host_options *options, struct vm_host **ret_host, struct error **err)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, start_library);
    if (library_result < 0)
        return error_set(err, ERROR_HYPERVISOR, "cannot start libvirt's event loop");
    pass_update_on(options->emulator);
    struct libvirt_host *host = host_create(options);
    int rc = open_connection(host, err);
    if (rc < 0) {
        host_unref(host);
        return rc;
    }
    if (pthread_create(&host->watcher, NULL, watch, host) != 0) {
        drop(host);
        host_unref(host);
        return error_set(err, ERROR_FAILED, "cannot start a thread");
    }
    *ret_host = &host->base;
    return 0;
}
