/* A new top for a machine's disk while it runs. libvirt keeps no record of it (NO_METADATA): hutch's own tree
 * is the record. */
#include "vm/libvirt.h"

#include "base/alloc.h"
#include "vm/xml.h"

/* The overlay is hutch's (REUSE_EXT): libvirt would make one with the base's size and without fsync. */
#define SNAPSHOT_FLAGS                                                                                       \
    (VIR_DOMAIN_SNAPSHOT_CREATE_DISK_ONLY | VIR_DOMAIN_SNAPSHOT_CREATE_ATOMIC |                              \
     VIR_DOMAIN_SNAPSHOT_CREATE_NO_METADATA | VIR_DOMAIN_SNAPSHOT_CREATE_REUSE_EXT)

int libvirt_snapshot(struct libvirt_host *host, virConnectPtr conn, const struct libvirt_call *call,
                     struct error **err)
{
    autofree char *overlay = xml_escape(call->path);
    autofree char *xml =
        xasprintf("<domainsnapshot><disks><disk name='vda' snapshot='external' type='file'>"
                  "<driver type='qcow2'/><source file='%s'/></disk></disks></domainsnapshot>",
                  overlay);
    virDomainPtr domain;
    const char *name;
    int rc = libvirt_find(conn, call->uuid, &domain, &name, err);

    (void)host;
    if (rc < 0)
        return rc;
    virDomainSnapshotPtr snapshot = virDomainSnapshotCreateXML(domain, xml, SNAPSHOT_FLAGS);
    if (snapshot)
        virDomainSnapshotFree(snapshot);
    else
        rc = libvirt_error(err, "cannot give the machine \"%s\" a new layer", name);
    virDomainFree(domain);
    return rc;
}
