/* domain_xml.h: a machine's libvirt definition, written and read. The devices are the least that serves: one
 * virtio disk, three virtio-serial ports, rng, balloon, a serial console. No network card, USB, sound,
 * graphics or video. */
#ifndef HUTCH_VM_DOMAIN_XML_H
#define HUTCH_VM_DOMAIN_XML_H

#include "base/error.h"
#include "vm/vm.h"

#include <stdbool.h>

/* Namespace of hutch's element in <metadata>. */
#define DOMAIN_XML_NAMESPACE "urn:hutch:domain:1"
/* doc/decisions/machine.md */
#define DOMAIN_XML_MACHINE "q35"

/* What a definition needs to know of the host. */
struct domain_host {
    const char *emulator;     /* full path of hutch-qemu */
    const char *installation; /* id */
    bool kvm;                 /* /dev/kvm opens */
    bool system;              /* libvirtd is root's: QEMU runs as another user and files are given to it */
    bool apparmor, selinux;   /* libvirt's security drivers that would keep QEMU's wrapper from running */
};

/* The definition. ERROR_INVALID: a path that is not absolute, no disk chain, too many layers. Caller frees
 * *ret_xml. */
int domain_xml_build(const struct vm_spec *spec, const struct domain_host *host, char **ret_xml,
                     struct error **err);
/* The XML of a memory image made fit for today: emulator, disk (with our chain instead of the image's),
 * kernel, initrd, sockets, console, metadata and the list of files are the spec's; all else stays as it was
 * saved. Anything else that names a file, and any device beyond domain_xml_build's, is ERROR_CORRUPT. Caller
 * frees *ret_xml. */
int domain_xml_rewrite(const char *saved, const struct vm_spec *spec, const struct domain_host *host,
                       char **ret_xml, struct error **err);
/* Fills uuid, name, project, kvm of *ret_info from a definition; *ret_installation is the id in the metadata
 * or NULL (not hutch's). Caller frees it. */
int domain_xml_read(const char *xml, struct vm_info *ret_info, char **ret_installation, struct error **err);

/* Parts that build and rewrite (domain_rewrite.c) share; they append to buf. */
struct buf;
void domain_xml_write_chain(struct buf *buf, const char *const *chain, const struct domain_host *host);
void domain_xml_write_metadata(struct buf *buf, const struct vm_spec *spec, const struct domain_host *host);
void domain_xml_write_labels(struct buf *buf, const struct domain_host *host);
int domain_xml_write_confine(struct buf *buf, const struct vm_spec *spec, struct error **err);
extern const char *const domain_xml_port_names[3];

#endif
