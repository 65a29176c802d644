#include "daemon/host.h"

#include "base/alloc.h"
#include "base/file.h"
#include "base/units.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define GIB             (1ULL << 30)
#define MEMORY_OVERHEAD (192ULL << 20) /* QEMU itself and the page tables of one machine */

bool host_kvm(char *reason, size_t size)
{
    autoclose int fd = open("/dev/kvm", O_RDWR | O_CLOEXEC);

    if (fd >= 0)
        return true;
    if (reason && errno == ENOENT)
        snprintf(reason, size,
                 "/dev/kvm is not there: virtualisation is off in the firmware, or this machine is itself a "
                 "virtual one");
    else if (reason && errno == EACCES)
        snprintf(reason, size,
                 "/dev/kvm is closed to this user: `sudo usermod -aG kvm $USER`, then log in again");
    else if (reason)
        snprintf(reason, size, "/dev/kvm: %s", strerror(errno));
    return false;
}

/* The number of a "Key:   N kB" line in bytes, 0 if absent. */
static uint64_t meminfo_value(const char *text, const char *key)
{
    const char *at = strstr(text, key);

    return at ? strtoull(at + strlen(key), NULL, 10) * 1024 : 0;
}

int host_memory(uint64_t *ret_total, uint64_t *ret_available, struct error **err)
{
    autofree char *text = NULL;
    int rc = file_read("/proc/meminfo", 64 * 1024, &text, NULL, err);

    if (rc < 0)
        return rc;
    *ret_total = meminfo_value(text, "MemTotal:");
    *ret_available = meminfo_value(text, "MemAvailable:");
    return 0;
}

unsigned host_cpus(void)
{
    long n = sysconf(_SC_NPROCESSORS_ONLN);

    return n > 0 ? (unsigned)n : 1;
}

unsigned host_default_cpus(void)
{
    return host_cpus() < 4 ? host_cpus() : 4;
}

uint64_t host_default_memory(void)
{
    uint64_t total = 0, available, quarter;

    if (host_memory(&total, &available, NULL) < 0)
        return 2 * GIB;
    quarter = total / 4 / (256ULL << 20) * (256ULL << 20);
    if (quarter < 2 * GIB)
        return 2 * GIB;
    return quarter > 8 * GIB ? 8 * GIB : quarter;
}

int host_check_memory(const char *name, uint64_t memory, struct error **err)
{
    uint64_t total, available;
    char needs[UNITS_SIZE_MAX], has[UNITS_SIZE_MAX], all[UNITS_SIZE_MAX];
    int rc = host_memory(&total, &available, err);

    if (rc < 0 || memory + MEMORY_OVERHEAD <= available)
        return rc;
    units_format_size(memory + MEMORY_OVERHEAD, needs);
    units_format_size(available, has);
    units_format_size(total, all);
    error_set(err, ERROR_NO_MEMORY, "\"%s\" needs %s of memory, and %s of %s are free", name, needs, has,
              all);
    return error_hint(err, "stop or suspend another machine (`hutch ls`), or give this one less memory");
}

json_t *host_json(void)
{
    uint64_t total = 0, available = 0;
    char reason[160] = "";
    bool kvm = host_kvm(reason, sizeof(reason));
    json_t *json;

    host_memory(&total, &available, NULL);
    json = json_pack("{s:b, s:i, s:I, s:I}", "kvm", kvm, "cpus", (int)host_cpus(), "memory_total",
                     (json_int_t)total, "memory_available", (json_int_t)available);
    require(json);
    if (!kvm)
        json_object_set_new(json, "kvm_reason", json_string(reason));
    json_object_set_new(json, "defaults",
                        json_pack("{s:i, s:I, s:I}", "cpus", (int)host_default_cpus(), "memory",
                                  (json_int_t)host_default_memory(), "disk", (json_int_t)HOST_DEFAULT_DISK));
    return json;
}
