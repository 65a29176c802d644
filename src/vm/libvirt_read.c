#include "vm/libvirt.h"

#include "base/alloc.h"
#include "vm/block_chain.h"
#include "vm/host.h"

#include <libvirt/libvirt-qemu.h>
#include <libvirt/virterror.h>
#include <stdio.h>
#include <string.h>

#define NAME_PREFIX "hutch-"

/* A pair of libvirt's numbers and what it means here. */
struct meaning {
    int state, reason; /* reason -1: any */
    enum vm_state ours;
    enum vm_reason why;
};

static const struct meaning meanings[] = {
    {VIR_DOMAIN_PAUSED, VIR_DOMAIN_PAUSED_SAVE, VM_PAUSED, VM_REASON_JOB},
    {VIR_DOMAIN_PAUSED, VIR_DOMAIN_PAUSED_DUMP, VM_PAUSED, VM_REASON_JOB},
    {VIR_DOMAIN_PAUSED, VIR_DOMAIN_PAUSED_SNAPSHOT, VM_PAUSED, VM_REASON_JOB},
    {VIR_DOMAIN_PAUSED, VIR_DOMAIN_PAUSED_IOERROR, VM_PAUSED, VM_REASON_IO_ERROR},
    {VIR_DOMAIN_PAUSED, VIR_DOMAIN_PAUSED_CRASHED, VM_CRASHED, VM_REASON_CRASH},
    {VIR_DOMAIN_PAUSED, VIR_DOMAIN_PAUSED_SHUTTING_DOWN, VM_STOPPING, VM_REASON_GUEST},
    {VIR_DOMAIN_PAUSED, VIR_DOMAIN_PAUSED_UNKNOWN, VM_PAUSED, VM_REASON_NONE},
    {VIR_DOMAIN_PAUSED, -1, VM_PAUSED, VM_REASON_USER}, /* also: woken, and not told to go on */
    {VIR_DOMAIN_PMSUSPENDED, -1, VM_PAUSED, VM_REASON_GUEST},
    {VIR_DOMAIN_SHUTDOWN, -1, VM_STOPPING, VM_REASON_NONE},
    {VIR_DOMAIN_SHUTOFF, VIR_DOMAIN_SHUTOFF_SHUTDOWN, VM_OFF, VM_REASON_GUEST},
    {VIR_DOMAIN_SHUTOFF, VIR_DOMAIN_SHUTOFF_DESTROYED, VM_OFF, VM_REASON_USER},
    {VIR_DOMAIN_SHUTOFF, VIR_DOMAIN_SHUTOFF_CRASHED, VM_OFF, VM_REASON_CRASH},
    {VIR_DOMAIN_SHUTOFF, VIR_DOMAIN_SHUTOFF_SAVED, VM_OFF, VM_REASON_SAVED},
    {VIR_DOMAIN_SHUTOFF, VIR_DOMAIN_SHUTOFF_FAILED, VM_OFF, VM_REASON_FAILED},
    {VIR_DOMAIN_SHUTOFF, -1, VM_OFF, VM_REASON_NONE},
    {VIR_DOMAIN_CRASHED, -1, VM_CRASHED, VM_REASON_CRASH},
};

void libvirt_map_state(int state, int reason, struct vm_info *info)
{
    info->state = VM_RUNNING; /* running, blocked, and states of other hypervisors */
    info->reason = VM_REASON_NONE;
    for (size_t i = 0; i < countof(meanings); i++) {
        if (meanings[i].state == state && (meanings[i].reason == -1 || meanings[i].reason == reason)) {
            info->state = meanings[i].ours;
            info->reason = meanings[i].why;
            return;
        }
    }
}

/* Whether the last call failed because the domain is not there (any more). */
static bool is_gone(void)
{
    return virGetLastErrorCode() == VIR_ERR_NO_DOMAIN;
}

virDomainPtr libvirt_lookup(virConnectPtr conn, const char *uuid, int *ret_rc, struct error **err)
{
    virDomainPtr domain = virDomainLookupByUUIDString(conn, uuid);
    *ret_rc = 0;
    if (!domain && !is_gone())
        *ret_rc = libvirt_error(err, "cannot look for the machine %s", uuid);
    return domain;
}

/* Fills *info; info->state VM_ABSENT when the domain went away meanwhile. *ret_installation: caller frees. */
static int read_domain(virDomainPtr domain, struct vm_info *info, char **ret_installation, struct error **err)
{
    int state, reason;
    *info = (struct vm_info){.state = VM_ABSENT};
    *ret_installation = NULL;
    if (virDomainGetState(domain, &state, &reason, 0) < 0)
        return is_gone() ? 0 : libvirt_error(err, "cannot ask for a machine's state");
    int saved = virDomainHasManagedSaveImage(domain, 0);
    autofree char *xml = virDomainGetXMLDesc(domain, 0);
    if (saved < 0 || !xml)
        return is_gone() ? 0 : libvirt_error(err, "cannot read a machine's definition");
    int rc = domain_xml_read(xml, info, ret_installation, err);
    if (rc < 0)
        return rc;
    libvirt_map_state(state, reason, info);
    info->has_managed_save = saved == 1;
    return 0;
}

int libvirt_read_info(struct libvirt_host *host, virConnectPtr conn, const struct libvirt_call *call,
                      struct error **err)
{
    struct vm_info info = {.state = VM_ABSENT};
    autofree char *installation = NULL;
    int rc;
    virDomainPtr domain = libvirt_lookup(conn, call->uuid, &rc, err);
    if (domain) {
        rc = read_domain(domain, &info, &installation, err);
        virDomainFree(domain);
    }
    if (rc < 0)
        return rc;
    if (info.state == VM_ABSENT)
        snprintf(info.uuid, sizeof(info.uuid), "%s", call->uuid);
    else if (installation && strcmp(installation, host->installation) == 0)
        libvirt_remember(host, &info);
    *call->ret_info = info;
    return 0;
}

int libvirt_read_list(struct libvirt_host *host, virConnectPtr conn, const struct libvirt_call *call,
                      struct error **err)
{
    virDomainPtr *domains = NULL;
    int count = virConnectListAllDomains(conn, &domains, 0);
    if (count < 0)
        return libvirt_error(err, "cannot list the machines");
    struct vm_info *list = xnewn(struct vm_info, (size_t)count + 1);
    size_t found = 0;
    int rc = 0;
    for (int i = 0; i < count; i++) {
        autofree char *installation = NULL;
        struct error *failed = NULL;
        const char *name = virDomainGetName(domains[i]);
        if (rc == 0 && name && strncmp(name, NAME_PREFIX, strlen(NAME_PREFIX)) == 0) {
            rc = read_domain(domains[i], &list[found], &installation, &failed);
            if (rc == -ERROR_CORRUPT) { /* a foreign domain of such a name, or a damaged one: not ours */
                rc = 0;
            } else if (rc == 0 && list[found].state != VM_ABSENT && installation &&
                       strcmp(installation, host->installation) == 0) {
                libvirt_remember(host, &list[found]);
                found++;
            }
            if (rc < 0)
                error_move(err, &failed);
            error_free(failed);
        }
        virDomainFree(domains[i]);
    }
    free(domains);
    if (rc < 0) {
        free(list);
        return rc;
    }
    *call->ret_list = list;
    *call->ret_count = found;
    return 0;
}

int libvirt_read_chain(struct libvirt_host *host, virConnectPtr conn, const struct libvirt_call *call,
                       struct error **err)
{
    int rc;
    virDomainPtr domain = libvirt_lookup(conn, call->uuid, &rc, err);
    if (!domain)
        return rc < 0 ? rc : error_set(err, ERROR_NOT_FOUND, "there is no machine %s", call->uuid);
    autofree char *answer = NULL;
    if (virDomainQemuMonitorCommand(domain, "{\"execute\":\"query-block\"}", &answer, 0) < 0)
        rc = libvirt_error(err, "cannot ask QEMU which files it has open");
    virDomainFree(domain);
    return rc < 0 ? rc : block_chain_read(answer, call->ret_chain, err);
}

int libvirt_read_host(struct libvirt_host *host, virConnectPtr conn, const struct libvirt_call *call,
                      struct error **err)
{
    struct vm_host_info info = {0};
    unsigned long hypervisor = 0;
    int rc = host_read(&info, err);
    if (rc < 0)
        return rc;
    if (virConnectGetLibVersion(conn, &info.libvirt_version) < 0 ||
        virConnectGetVersion(conn, &hypervisor) < 0)
        return libvirt_error(err, "cannot ask libvirt for its version");
    snprintf(info.hypervisor, sizeof(info.hypervisor), "QEMU %lu.%lu.%lu", hypervisor / 1000000,
             hypervisor / 1000 % 1000, hypervisor % 1000);
    snprintf(info.uri, sizeof(info.uri), "%s", host->uri);
    *call->ret_host = info;
    return 0;
}
