#include "vm/host.h"

#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/kvm.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define MEMINFO_MAX ((size_t)64 << 10)

bool host_has_kvm(char *reason, size_t size)
{
    autoclose int fd = open("/dev/kvm", O_RDWR | O_CLOEXEC);

    if (fd >= 0 && ioctl(fd, KVM_GET_API_VERSION, 0) == KVM_API_VERSION) {
        reason[0] = '\0';
        return true;
    }
    if (fd >= 0)
        snprintf(reason, size, "/dev/kvm answers in a way that is not known");
    else if (errno == ENOENT)
        snprintf(reason, size,
                 "no /dev/kvm: turn on VT-x or AMD-V in the BIOS, or nested virtualisation if this is a VM");
    else if (errno == EACCES || errno == EPERM)
        snprintf(reason, size, "/dev/kvm is closed to you: sudo usermod -aG kvm $USER, then log in again");
    else
        snprintf(reason, size, "/dev/kvm does not open: %s", strerror(errno));
    return false;
}

/* The bytes of one line "Name:   1234 kB"; 0 if there is none. */
static uint64_t meminfo_value(const char *text, const char *name)
{
    const char *line = strstr(text, name);
    uint64_t kib = 0;
    if (!line)
        return 0;
    for (line += strlen(name); *line == ' '; line++)
        ;
    for (; *line >= '0' && *line <= '9'; line++)
        kib = kib * 10 + (uint64_t)(*line - '0');
    return kib * 1024;
}

int host_read(struct vm_host_info *ret_info, struct error **err)
{
    autofree char *text = NULL;
    size_t len;
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    int rc = file_read("/proc/meminfo", MEMINFO_MAX, &text, &len, err);
    if (rc < 0)
        return rc;
    ret_info->cpus = cpus > 0 ? (unsigned)cpus : 1;
    ret_info->memory_total = meminfo_value(text, "MemTotal:");
    ret_info->memory_free = meminfo_value(text, "MemAvailable:");
    ret_info->kvm = host_has_kvm(ret_info->kvm_reason, sizeof(ret_info->kvm_reason));
    return 0;
}
