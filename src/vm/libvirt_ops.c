#include "vm/libvirt.h"

#include "base/alloc.h"
#include "base/file.h"
#include "vm/host.h"
#include "vm/qemu_log.h"

#include <libvirt/virterror.h>
#include <string.h>

/* libvirt gives a QEMU up that does not end within its limits; a busy host needs more than one. */
#define DESTROY_ATTEMPTS 4

struct domain_host libvirt_domain_host(const struct libvirt_host *host)
{
    char reason[128];
    return (struct domain_host){.emulator = host->emulator,
                                .installation = host->installation,
                                .kvm = host_has_kvm(reason, sizeof(reason)),
                                .system = strstr(host->uri, "/system") != NULL,
                                .apparmor = host->apparmor,
                                .selinux = host->selinux};
}

int libvirt_find(virConnectPtr conn, const char *uuid, virDomainPtr *ret_domain, const char **ret_name,
                 struct error **err)
{
    int rc;
    *ret_domain = libvirt_lookup(conn, uuid, &rc, err);
    if (rc == 0 && !*ret_domain)
        rc = error_set(err, ERROR_NOT_FOUND, "libvirt has no machine %s", uuid);
    *ret_name = *ret_domain ? virDomainGetName(*ret_domain) : NULL;
    return rc;
}

static int do_define(struct libvirt_host *host, virConnectPtr conn, const struct libvirt_call *call,
                     struct error **err)
{
    const struct vm_spec *spec = call->spec;
    struct domain_host domain_host = libvirt_domain_host(host);
    autofree char *xml = NULL;
    struct vm_info info = {.state = VM_OFF, .kvm = domain_host.kvm && !spec->emulate};

    int rc = domain_xml_build(spec, &domain_host, &xml, err);
    if (rc < 0)
        return rc;
    memcpy(info.uuid, spec->uuid, sizeof(info.uuid));
    memcpy(info.name, spec->name, sizeof(info.name));
    memcpy(info.project, spec->project, sizeof(info.project));
    virDomainPtr domain = virDomainDefineXMLFlags(conn, xml, 0);
    if (!domain)
        return libvirt_error(err, "cannot define the machine \"%s\"", spec->name);
    virDomainFree(domain);
    libvirt_remember(host, &info);
    return 0;
}

static int do_undefine(struct libvirt_host *host, virConnectPtr conn, const struct libvirt_call *call,
                       struct error **err)
{
    const unsigned flags = VIR_DOMAIN_UNDEFINE_MANAGED_SAVE | VIR_DOMAIN_UNDEFINE_SNAPSHOTS_METADATA |
                           VIR_DOMAIN_UNDEFINE_CHECKPOINTS_METADATA;
    int rc;
    virDomainPtr domain = libvirt_lookup(conn, call->uuid, &rc, err);
    if (!domain)
        return rc;
    const char *name = virDomainGetName(domain);
    if (virDomainUndefineFlags(domain, flags) < 0 && virGetLastErrorCode() != VIR_ERR_NO_DOMAIN)
        rc = libvirt_error(err, "cannot remove the machine \"%s\"", name);
    virDomainFree(domain);
    return rc;
}

/* libvirt resumes a managed-save image whatever the disk is now: it must be gone before a start. */
static int drop_managed_save(virDomainPtr domain, const char *name, bool *ret_dropped, struct error **err)
{
    int has = virDomainHasManagedSaveImage(domain, 0);
    *ret_dropped = false;
    if (has < 0 || (has == 1 && virDomainManagedSaveRemove(domain, 0) < 0))
        return libvirt_error(err, "cannot remove the memory image that libvirt keeps of \"%s\"", name);
    *ret_dropped = has == 1;
    return 0;
}

/* A failed start or restore: what QEMU said last goes into the hint. */
static void add_log(struct libvirt_host *host, const char *name, struct error **err)
{
    autofree char *path = qemu_log_path(host->uri, name);
    autofree char *tail = qemu_log_tail(path);
    autofree char *hint = err && *err && (*err)->hint ? xstrdup((*err)->hint) : NULL;
    if (!tail)
        return;
    for (char *p = tail; *p; p++)
        if (*p == '\n')
            *p = '|';
    error_hint(err, "%s%sQEMU said: %s (all of it: %s)", hint ? hint : "", hint ? "; " : "", tail, path);
}

static int do_start(struct libvirt_host *host, virConnectPtr conn, const struct libvirt_call *call,
                    struct error **err)
{
    const unsigned flags = VIR_DOMAIN_START_FORCE_BOOT | (call->paused ? VIR_DOMAIN_START_PAUSED : 0U);
    virDomainPtr domain;
    const char *name;
    bool dropped = false;
    int rc = libvirt_find(conn, call->uuid, &domain, &name, err);
    if (rc < 0)
        return rc;
    rc = drop_managed_save(domain, name, &dropped, err);
    if (rc == 0 && virDomainCreateWithFlags(domain, flags) < 0) {
        rc = libvirt_error(err, "cannot start the machine \"%s\"", name);
        if (rc != -ERROR_STATE && rc != -ERROR_BUSY)
            add_log(host, name, err);
    }
    virDomainFree(domain);
    if (call->ret_dropped_save)
        *call->ret_dropped_save = dropped;
    return rc;
}

static int do_destroy(struct libvirt_host *host, virConnectPtr conn, const struct libvirt_call *call,
                      struct error **err)
{
    int rc;
    virDomainPtr domain = libvirt_lookup(conn, call->uuid, &rc, err);
    if (!domain)
        return rc;
    const char *name = virDomainGetName(domain);
    for (int attempt = 1;; attempt++) {
        if (virDomainDestroyFlags(domain, 0) == 0)
            break;
        int code = virGetLastErrorCode();
        if (code == VIR_ERR_NO_DOMAIN ||
            (code == VIR_ERR_OPERATION_INVALID && virDomainIsActive(domain) <= 0))
            break;
        if (attempt == DESTROY_ATTEMPTS || code != VIR_ERR_SYSTEM_ERROR) {
            rc = libvirt_error(err, "cannot end the machine \"%s\"", name);
            break;
        }
    }
    virDomainFree(domain);
    return rc;
}

static int do_pause(struct libvirt_host *host, virConnectPtr conn, const struct libvirt_call *call,
                    struct error **err)
{
    virDomainPtr domain;
    const char *name;
    int rc = libvirt_find(conn, call->uuid, &domain, &name, err);
    if (rc == 0 && virDomainSuspend(domain) < 0)
        rc = libvirt_error(err, "cannot pause the machine \"%s\"", name);
    if (domain)
        virDomainFree(domain);
    return rc;
}

static int do_resume(struct libvirt_host *host, virConnectPtr conn, const struct libvirt_call *call,
                     struct error **err)
{
    virDomainPtr domain;
    const char *name;
    int rc = libvirt_find(conn, call->uuid, &domain, &name, err);
    if (rc == 0 && virDomainResume(domain) < 0)
        rc = libvirt_error(err, "cannot resume the machine \"%s\"", name);
    if (domain)
        virDomainFree(domain);
    return rc;
}

static int do_save(struct libvirt_host *host, virConnectPtr conn, const struct libvirt_call *call,
                   struct error **err)
{
    virDomainPtr domain;
    const char *name;
    int rc = libvirt_find(conn, call->uuid, &domain, &name, err);
    if (rc < 0)
        return rc;
    if (virDomainSaveFlags(domain, call->path, NULL, 0) < 0)
        rc = libvirt_error(err, "cannot save the memory of \"%s\" to \"%s\"", name, call->path);
    virDomainFree(domain);
    return rc < 0 ? rc : file_sync(call->path, err);
}

/* A restored machine that is not defined would vanish with its QEMU. */
static int define_if_absent(struct libvirt_host *host, virConnectPtr conn, const struct libvirt_call *call,
                            struct error **err)
{
    int rc;
    virDomainPtr domain = libvirt_lookup(conn, call->spec->uuid, &rc, err);
    if (rc < 0)
        return rc;
    if (!domain)
        return do_define(host, conn, call, err);
    virDomainFree(domain);
    return 0;
}

static int do_restore(struct libvirt_host *host, virConnectPtr conn, const struct libvirt_call *call,
                      struct error **err)
{
    const struct vm_spec *spec = call->spec;
    struct domain_host domain_host = libvirt_domain_host(host);
    autofree char *xml = NULL;

    autofree char *saved = virDomainSaveImageGetXMLDesc(conn, call->path, 0);
    if (!saved)
        return libvirt_error(err, "cannot read the memory image \"%s\"", call->path);
    int rc = domain_xml_rewrite(saved, spec, &domain_host, &xml, err);
    if (rc < 0)
        return error_prefix(err, "\"%s\"", call->path);
    rc = define_if_absent(host, conn, call, err);
    if (rc < 0)
        return rc;
    if (virDomainRestoreFlags(conn, call->path, xml,
                              call->paused ? VIR_DOMAIN_SAVE_PAUSED : VIR_DOMAIN_SAVE_RUNNING) < 0) {
        rc = libvirt_error(err, "cannot wake the machine \"%s\" from \"%s\"", spec->name, call->path);
        if (rc != -ERROR_STATE && rc != -ERROR_BUSY)
            add_log(host, spec->name, err);
    }
    return rc;
}

/* ---- the table: the caller's arguments as a call ---- */

static struct libvirt_host *of(struct vm_host *host)
{
    return (struct libvirt_host *)host;
}

static int ops_define(struct vm_host *host, const struct vm_spec *spec, struct error **err)
{
    return libvirt_run(of(host), do_define, &(struct libvirt_call){.spec = spec}, true, err);
}

static int ops_undefine(struct vm_host *host, const char *uuid, struct error **err)
{
    return libvirt_run(of(host), do_undefine, &(struct libvirt_call){.uuid = uuid}, true, err);
}

static int ops_start(struct vm_host *host, const char *uuid, bool paused, bool *ret_dropped_save,
                     struct error **err)
{
    struct libvirt_call call = {.uuid = uuid, .paused = paused, .ret_dropped_save = ret_dropped_save};
    return libvirt_run(of(host), do_start, &call, false, err);
}

static int ops_destroy(struct vm_host *host, const char *uuid, struct error **err)
{
    return libvirt_run(of(host), do_destroy, &(struct libvirt_call){.uuid = uuid}, true, err);
}

static int ops_pause(struct vm_host *host, const char *uuid, struct error **err)
{
    return libvirt_run(of(host), do_pause, &(struct libvirt_call){.uuid = uuid}, true, err);
}

static int ops_resume(struct vm_host *host, const char *uuid, struct error **err)
{
    return libvirt_run(of(host), do_resume, &(struct libvirt_call){.uuid = uuid}, true, err);
}

static int ops_save(struct vm_host *host, const char *uuid, const char *path, struct error **err)
{
    return libvirt_run(of(host), do_save, &(struct libvirt_call){.uuid = uuid, .path = path}, false, err);
}

static int ops_restore(struct vm_host *host, const struct vm_spec *spec, const char *path, bool paused,
                       struct error **err)
{
    struct libvirt_call call = {.spec = spec, .path = path, .paused = paused};
    return libvirt_run(of(host), do_restore, &call, false, err);
}

static int ops_snapshot(struct vm_host *host, const char *uuid, const char *overlay, struct error **err)
{
    return libvirt_run(of(host), libvirt_snapshot, &(struct libvirt_call){.uuid = uuid, .path = overlay},
                       false, err);
}

static int ops_info(struct vm_host *host, const char *uuid, struct vm_info *ret_info, struct error **err)
{
    struct libvirt_call call = {.uuid = uuid, .ret_info = ret_info};
    return libvirt_run(of(host), libvirt_read_info, &call, true, err);
}

static int ops_list(struct vm_host *host, struct vm_info **ret, size_t *ret_count, struct error **err)
{
    struct libvirt_call call = {.ret_list = ret, .ret_count = ret_count};
    return libvirt_run(of(host), libvirt_read_list, &call, true, err);
}

static int ops_chain(struct vm_host *host, const char *uuid, char ***ret_chain, struct error **err)
{
    struct libvirt_call call = {.uuid = uuid, .ret_chain = ret_chain};
    return libvirt_run(of(host), libvirt_read_chain, &call, true, err);
}

static char *ops_log_tail(struct vm_host *host, const char *name)
{
    autofree char *path = qemu_log_path(of(host)->uri, name);
    return qemu_log_tail(path);
}

static int ops_host_info(struct vm_host *host, struct vm_host_info *ret, struct error **err)
{
    return libvirt_run(of(host), libvirt_read_host, &(struct libvirt_call){.ret_host = ret}, true, err);
}

const struct vm_host_ops libvirt_ops = {
    .define = ops_define,
    .undefine = ops_undefine,
    .start = ops_start,
    .destroy = ops_destroy,
    .pause = ops_pause,
    .resume = ops_resume,
    .save = ops_save,
    .restore = ops_restore,
    .snapshot = ops_snapshot,
    .info = ops_info,
    .list = ops_list,
    .chain = ops_chain,
    .log_tail = ops_log_tail,
    .host_info = ops_host_info,
    .close = libvirt_close,
};
