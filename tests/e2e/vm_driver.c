/* vm_driver: one verb at a time on one machine through src/vm, for vm.sh. FOLDER holds what a project's
 * folder holds. vm_driver FOLDER create BASE-FOLDER GUEST-PROGRAM | define | start [paused] | pause | resume
 * | cycle N | save | restore [paused] | check | info | list | host | watch SECONDS | destroy | undefine
 * HUTCH_QEMU_WRAPPER names hutch-qemu, VM_MEMORY (MiB) and VM_CPUS the machine's size. Each verb prints its
 * time. */
#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/units.h"
#include "vm/boot.h"
#include "vm/layer.h"
#include "vm/vm.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct driver {
    const char *folder;
    struct vm_host *host;
    struct vm_spec spec;
    char **chain;
    int argc;
    char **argv; /* behind the verb */
};

static char *in(const struct driver *driver, const char *name)
{
    return file_join(driver->folder, name);
}

/* A number from the environment. */
static uint64_t setting(const char *name, uint64_t otherwise)
{
    uint64_t value = otherwise;
    const char *text = getenv(name);
    if (text && units_parse_number(text, 1, 1 << 20, &value, NULL) < 0)
        return otherwise;
    return value;
}

/* The spec, the same each time; its strings live as long as the program. */
static int make_spec(struct driver *driver, struct error **err)
{
    static const char *const names[] = {"control.sock", "egress.sock", "bulk.sock"};
    struct vm_spec *spec = &driver->spec;
    unsigned id = 0;
    for (const char *p = driver->folder; *p; p++)
        id = id * 31 + (unsigned char)*p;
    snprintf(spec->name, sizeof(spec->name), "hutch-drv-%08x", id);
    snprintf(spec->uuid, sizeof(spec->uuid), "%08x-0000-4000-8000-0123456789ab", id);
    snprintf(spec->project, sizeof(spec->project), "%08x", id);
    spec->cpus = (unsigned)setting("VM_CPUS", 1);
    spec->memory = setting("VM_MEMORY", 512) << 20;
    spec->cpu_model = getenv("VM_CPU_MODEL");
    spec->disk = in(driver, "layers/1.qcow2");
    spec->kernel = in(driver, "base/kernel");
    spec->initrd = in(driver, "initrd");
    spec->command_line = boot_command_line(getenv("VM_EXTRA"));
    for (size_t i = 0; i < 3; i++)
        spec->ports[i] = in(driver, names[i]);
    spec->console_log = in(driver, "console.log");
    spec->folder = in(driver, "layers");
    int rc = layer_chain(spec->disk, &driver->chain, err);
    spec->chain = (const char *const *)driver->chain;
    return rc;
}

static int do_create(struct driver *driver, struct error **err)
{
    autofree char *layers = in(driver, "layers");
    autofree char *disk = in(driver, "layers/1.qcow2");
    autofree char *initrd = in(driver, "initrd");
    autofree char *base = file_join(driver->argv[0], "disk.qcow2");
    autofree char *base_initrd = file_join(driver->argv[0], "initrd");
    autofree char *link = in(driver, "base");
    int rc = file_make_folder(layers, 0711, err);
    if (rc == 0 && symlink(driver->argv[0], link) < 0)
        rc = error_set(err, ERROR_IO, "cannot link the base");
    if (rc == 0)
        rc = layer_create(disk, base, (uint64_t)8 << 30, err);
    if (rc == 0)
        rc = boot_make_initrd(base_initrd, driver->argv[1], initrd, err);
    return rc;
}

static int do_define(struct driver *driver, struct error **err)
{
    return driver->host->ops->define(driver->host, &driver->spec, err);
}

static int do_start(struct driver *driver, struct error **err)
{
    bool dropped = false;
    int rc = driver->host->ops->start(driver->host, driver->spec.uuid, driver->argc > 0, &dropped, err);
    if (dropped)
        printf("dropped a managed-save image\n");
    return rc;
}

static int do_pause(struct driver *driver, struct error **err)
{
    return driver->host->ops->pause(driver->host, driver->spec.uuid, err);
}

static int do_resume(struct driver *driver, struct error **err)
{
    return driver->host->ops->resume(driver->host, driver->spec.uuid, err);
}

/* Pauses and resumes N times and prints the slowest of each in microseconds. */
static int do_cycle(struct driver *driver, struct error **err)
{
    uint64_t count = 20;
    int64_t slowest_pause = 0, slowest_resume = 0;
    int rc = driver->argc > 0 ? units_parse_number(driver->argv[0], 1, 1000, &count, err) : 0;
    for (uint64_t i = 0; rc == 0 && i < count; i++) {
        int64_t start = units_monotonic_ns();
        rc = do_pause(driver, err);
        int64_t middle = units_monotonic_ns();
        if (rc == 0)
            rc = do_resume(driver, err);
        int64_t end = units_monotonic_ns();
        slowest_pause = middle - start > slowest_pause ? middle - start : slowest_pause;
        slowest_resume = end - middle > slowest_resume ? end - middle : slowest_resume;
    }
    printf("pause %lld us resume %lld us\n", (long long)slowest_pause / 1000,
           (long long)slowest_resume / 1000);
    return rc;
}

static int do_save(struct driver *driver, struct error **err)
{
    autofree char *path = in(driver, "memory.save");
    return driver->host->ops->save(driver->host, driver->spec.uuid, path, err);
}

static int do_restore(struct driver *driver, struct error **err)
{
    autofree char *path = in(driver, "memory.save");
    return driver->host->ops->restore(driver->host, &driver->spec, path, driver->argc > 0, err);
}

static int do_check(struct driver *driver, struct error **err)
{
    return vm_check_chain(driver->host, driver->spec.uuid, driver->spec.chain, err);
}

static void print_info(const struct vm_info *info)
{
    printf("%s %s %s reason=%d managed_save=%d kvm=%d project=%s\n", info->uuid, info->name,
           vm_state_name(info->state), (int)info->reason, info->has_managed_save, info->kvm, info->project);
}

static int do_info(struct driver *driver, struct error **err)
{
    struct vm_info info;
    int rc = driver->host->ops->info(driver->host, driver->spec.uuid, &info, err);
    if (rc == 0)
        print_info(&info);
    return rc;
}

static int do_list(struct driver *driver, struct error **err)
{
    struct vm_info *list = NULL;
    size_t count = 0;
    int rc = driver->host->ops->list(driver->host, &list, &count, err);
    for (size_t i = 0; rc == 0 && i < count; i++)
        print_info(&list[i]);
    free(list);
    return rc;
}

static int do_host(struct driver *driver, struct error **err)
{
    struct vm_host_info info;
    int rc = driver->host->ops->host_info(driver->host, &info, err);
    if (rc == 0)
        printf("%s at %s, libvirt %lu, %u cpus, %llu of %llu MiB free, kvm %s%s\n", info.hypervisor, info.uri,
               info.libvirt_version, info.cpus, (unsigned long long)info.memory_free >> 20,
               (unsigned long long)info.memory_total >> 20, info.kvm ? "yes" : "no: ", info.kvm_reason);
    return rc;
}

/* Prints events for a while; libvirtd may be restarted meanwhile. */
static int do_watch(struct driver *driver, struct error **err)
{
    uint64_t seconds = 5;
    int rc = do_list(driver, err);
    if (rc == 0 && driver->argc > 0)
        rc = units_parse_number(driver->argv[0], 1, 600, &seconds, err);
    fflush(stdout);
    sleep((unsigned)seconds);
    return rc;
}

static int do_destroy(struct driver *driver, struct error **err)
{
    return driver->host->ops->destroy(driver->host, driver->spec.uuid, err);
}

static int do_undefine(struct driver *driver, struct error **err)
{
    return driver->host->ops->undefine(driver->host, driver->spec.uuid, err);
}

static const struct verb {
    const char *name;
    int (*run)(struct driver *driver, struct error **err);
} verbs[] = {
    {"define", do_define},   {"start", do_start},       {"pause", do_pause},     {"resume", do_resume},
    {"cycle", do_cycle},     {"save", do_save},         {"restore", do_restore}, {"check", do_check},
    {"info", do_info},       {"list", do_list},         {"host", do_host},       {"watch", do_watch},
    {"destroy", do_destroy}, {"undefine", do_undefine},
};

static void on_event(const struct vm_info *info, void *user)
{
    printf("event %s %s reason=%d\n", info->name, vm_state_name(info->state), (int)info->reason);
    fflush(stdout);
}

static int run(struct driver *driver, const char *verb, struct error **err)
{
    struct vm_host_options options = {.emulator = getenv("HUTCH_QEMU_WRAPPER"), .installation = "driver"};
    if (strcmp(verb, "watch") == 0)
        options.on_event = on_event;
    if (strcmp(verb, "create") == 0)
        return driver->argc == 2 ? do_create(driver, err) : error_set(err, ERROR_USAGE, "create BASE GUEST");
    int rc = make_spec(driver, err);
    if (rc == 0)
        rc = vm_host_libvirt(&options, &driver->host, err);
    for (size_t i = 0; rc == 0 && i < countof(verbs); i++)
        if (strcmp(verbs[i].name, verb) == 0)
            return verbs[i].run(driver, err);
    return rc < 0 ? rc : error_set(err, ERROR_USAGE, "unknown verb '%s'", verb);
}

int main(int argc, char **argv)
{
    struct error *err = NULL;
    if (argc < 3 || !getenv("HUTCH_QEMU_WRAPPER")) {
        fprintf(stderr, "usage: HUTCH_QEMU_WRAPPER=… vm_driver FOLDER VERB …\n");
        return 2;
    }
    struct driver driver = {.folder = argv[1], .argc = argc - 3, .argv = argv + 3};
    int64_t start = units_monotonic_ns();
    int rc = run(&driver, argv[2], &err);
    printf("%s: %lld ms\n", argv[2], (long long)(units_monotonic_ns() - start) / 1000000);
    if (driver.host)
        driver.host->ops->close(driver.host);
    vm_free_chain(driver.chain);
    if (rc < 0)
        fprintf(stderr, "%s: %s\n  %s\n", error_code_name(err->code), err->message,
                err->hint ? err->hint : "");
    error_free(err);
    return rc < 0;
}
