#include "vm/domain_xml.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "vm/cage.h"
#include "vm/layer.h"
#include "vm/xml.h"

#include <string.h>

/* The place of a device straight on the first bus: without it libvirt puts a bridge before each, and the
 * kernel looks through them at every start. */
#define PCI_SLOT(n) "<address type='pci' domain='0x0000' bus='0x00' slot='0x0" n "' function='0x0'/>"

const char *const domain_xml_port_names[3] = {"org.hutch.control", "org.hutch.egress", "org.hutch.bulk"};

/* The whole chain is written out, so that libvirt and QEMU never look into a file to learn what it is. The
 * base belongs to every machine of its template: libvirt must not give it to QEMU's user, and would not take
 * it back. */
void domain_xml_write_chain(struct buf *buf, const char *const *chain, const struct domain_host *host)
{
    size_t depth = 0;
    for (const char *const *file = chain + 1; *file; file++, depth++) {
        autofree char *path = xml_escape(*file);
        bool keep_owner = host->system && !file[1];
        xml_write(buf, "<backingStore type='file'><format type='qcow2'/><source file='%s'%s>", path,
                  keep_owner ? "><seclabel model='dac' relabel='no'/></source" : "/");
    }
    xml_write(buf, "<backingStore/>");
    while (depth-- > 0)
        xml_write(buf, "</backingStore>");
}

void domain_xml_write_metadata(struct buf *buf, const struct vm_spec *spec, const struct domain_host *host)
{
    autofree char *project = xml_escape(spec->project);
    autofree char *installation = xml_escape(host->installation);
    xml_write(buf, "<metadata><hutch:project xmlns:hutch='%s' id='%s' installation='%s'/></metadata>\n",
              DOMAIN_XML_NAMESPACE, project, installation);
}

/* What libvirt has no words for: the controllers that the board brings along (SATA, SMBus, keyboard) are left
 * out, and the list of files for hutch-qemu: QEMU may open these and no others. */
int domain_xml_write_confine(struct buf *buf, const struct vm_spec *spec, struct error **err)
{
    struct cage cage = {0};
    int rc = cage_add(&cage, CAGE_WRITE, spec->disk, err);
    for (const char *const *file = spec->chain + 1; rc == 0 && *file; file++)
        rc = cage_add(&cage, CAGE_READ, *file, err);
    if (rc == 0)
        rc = cage_add(&cage, CAGE_READ, spec->kernel, err);
    if (rc == 0)
        rc = cage_add(&cage, CAGE_READ, spec->initrd, err);
    if (rc == 0 && spec->folder)
        rc = cage_add(&cage, CAGE_FOLDER, spec->folder, err);
    if (rc == 0) {
        autofree char *list = cage_format(&cage);
        autofree char *value = xml_escape(list);
        xml_write(
            buf,
            "<qemu:commandline><qemu:arg value='-machine'/><qemu:arg value='sata=off,smbus=off,i8042=off'/>\n"
            "<qemu:env name='%s' value='%s'/></qemu:commandline>\n",
            CAGE_VARIABLE, value);
    }
    cage_finish(&cage);
    return rc;
}

/* Everything before <devices>. */
static void write_machine(struct buf *buf, const struct vm_spec *spec, const struct domain_host *host,
                          bool kvm)
{
    autofree char *name = xml_escape(spec->name);
    autofree char *kernel = xml_escape(spec->kernel);
    autofree char *initrd = xml_escape(spec->initrd);
    autofree char *command_line = xml_escape(spec->command_line);
    uint64_t kib = spec->memory / 1024;

    xml_write(buf, "<domain type='%s' xmlns:qemu='http://libvirt.org/schemas/domain/qemu/1.0'>\n",
              kvm ? "kvm" : "qemu");
    xml_write(buf, "<name>%s</name>\n<uuid>%s</uuid>\n<genid/>\n", name, spec->uuid);
    domain_xml_write_metadata(buf, spec, host);
    xml_write(buf, "<memory unit='KiB'>%llu</memory>\n<currentMemory unit='KiB'>%llu</currentMemory>\n",
              (unsigned long long)kib, (unsigned long long)kib);
    xml_write(buf, "<vcpu placement='static'>%u</vcpu>\n", spec->cpus);
    xml_write(buf, "<os><type arch='x86_64' machine='" DOMAIN_XML_MACHINE "'>hvm</type>\n");
    xml_write(buf, "<kernel>%s</kernel>\n<initrd>%s</initrd>\n<cmdline>%s</cmdline></os>\n", kernel, initrd,
              command_line);
    xml_write(buf, "<features><acpi/><apic/><vmport state='off'/><smm state='off'/></features>\n");
}

/* The processor. Without a wish: the host's own under KVM, all that QEMU can imitate otherwise. */
static void write_cpu(struct buf *buf, const char *model, bool kvm)
{
    if (!model)
        model = kvm ? "host-passthrough" : "max";
    if (strcmp(model, "host-passthrough") == 0)
        xml_write(buf, "<cpu mode='host-passthrough' check='none' migratable='on'/>\n");
    else if (strcmp(model, "max") == 0)
        /* five-level paging breaks guests of QEMU 7.2; virtualisation in emulation only makes udev load kvm
         */
        xml_write(buf,
                  "<cpu mode='maximum' check='none' migratable='on'><feature policy='disable' name='la57'/>"
                  "<feature policy='disable' name='svm'/><feature policy='disable' name='vmx'/></cpu>\n");
    else {
        autofree char *escaped = xml_escape(model);
        xml_write(buf,
                  "<cpu mode='custom' match='exact' check='none'><model fallback='forbid'>%s</model></cpu>\n",
                  escaped);
    }
    xml_write(buf, "<clock offset='utc'>%s<timer name='hpet' present='no'/></clock>\n",
              kvm ? "<timer name='rtc' tickpolicy='catchup'/><timer name='pit' tickpolicy='delay'/>" : "");
    xml_write(buf,
              "<on_poweroff>destroy</on_poweroff><on_reboot>restart</on_reboot><on_crash>destroy</on_crash>\n"
              "<pm><suspend-to-mem enabled='no'/><suspend-to-disk enabled='no'/></pm>\n");
}

/* cache=writeback: the machines of one template share its base in the host's page cache (O_DIRECT would read
 * it anew for each), and the guest's flushes reach the disk. */
static void write_disk(struct buf *buf, const struct vm_spec *spec, const struct domain_host *host)
{
    autofree char *disk = xml_escape(spec->disk);
    xml_write(buf,
              "<disk type='file' device='disk'><driver name='qemu' type='qcow2' cache='writeback' "
              "error_policy='stop' rerror_policy='stop' discard='unmap' detect_zeroes='unmap'/>\n"
              "<source file='%s'/>",
              disk);
    domain_xml_write_chain(buf, spec->chain, host);
    xml_write(buf, "<target dev='vda' bus='virtio'/>" PCI_SLOT("2") "</disk>\n");
}

/* A serial console into a file that virtlogd keeps small, and the ports that hutch-worker speaks on. */
static void write_channels(struct buf *buf, const struct vm_spec *spec)
{
    autofree char *console = xml_escape(spec->console_log);
    xml_write(
        buf,
        "<serial type='file'><source path='%s' append='off'/><target type='isa-serial' port='0'/></serial>\n",
        console);
    xml_write(buf, "<controller type='virtio-serial' index='0' ports='4'>" PCI_SLOT("3") "</controller>\n");
    for (size_t i = 0; i < countof(domain_xml_port_names); i++) {
        autofree char *path = xml_escape(spec->ports[i]);
        xml_write(buf,
                  "<channel type='unix'><source mode='bind' path='%s'/><target type='virtio' name='%s'/>"
                  "<address type='virtio-serial' controller='0' bus='0' port='%zu'/></channel>\n",
                  path, domain_xml_port_names[i], i + 1);
    }
}

static void write_devices(struct buf *buf, const struct vm_spec *spec, const struct domain_host *host)
{
    autofree char *emulator = xml_escape(host->emulator);
    xml_write(buf, "<devices><emulator>%s</emulator>\n", emulator);
    write_disk(buf, spec, host);
    xml_write(buf, "<controller type='usb' model='none'/>\n");
    write_channels(buf, spec);
    xml_write(buf,
              "<rng model='virtio'><backend model='random'>/dev/urandom</backend>" PCI_SLOT(
                  "4") "</rng>\n"
                       "<memballoon model='virtio' freePageReporting='on'>" PCI_SLOT("5") "</memballoon>\n"
                                                                                          "</devices>\n");
}

/* hutch-qemu confines QEMU more narrowly than these, which do not know that program and would keep it from
 * running. */
void domain_xml_write_labels(struct buf *buf, const struct domain_host *host)
{
    if (host->apparmor)
        xml_write(buf, "<seclabel type='none' model='apparmor'/>\n");
    if (host->selinux)
        xml_write(buf, "<seclabel type='none' model='selinux'/>\n");
}

/* The things without which no sensible definition can be written. */
static int check_spec(const struct vm_spec *spec, struct error **err)
{
    size_t layers = 0;
    while (spec->chain && spec->chain[layers])
        layers++;
    if (layers == 0 || strcmp(spec->chain[0], spec->disk) != 0)
        return error_set(err, ERROR_INVALID, "the chain of \"%s\" does not begin with its disk \"%s\"",
                         spec->name, spec->disk);
    if (layers > LAYER_DEPTH_MAX)
        return error_set(err, ERROR_LIMIT, "the disk of \"%s\" has %zu layers; %d are the most", spec->name,
                         layers, LAYER_DEPTH_MAX);
    const char *paths[] = {spec->kernel,   spec->initrd,   spec->console_log,
                           spec->ports[0], spec->ports[1], spec->ports[2]};
    for (size_t i = 0; i < countof(paths); i++)
        if (!paths[i] || paths[i][0] != '/')
            return error_set(err, ERROR_INVALID, "\"%s\" is not a full path", paths[i] ? paths[i] : "");
    if (spec->cpus == 0 || spec->memory < (uint64_t)64 << 20)
        return error_set(err, ERROR_INVALID, "\"%s\" needs a processor and 64M of memory", spec->name);
    return 0;
}

int domain_xml_build(const struct vm_spec *spec, const struct domain_host *host, char **ret_xml,
                     struct error **err)
{
    bool kvm = host->kvm && !spec->emulate;
    struct buf buf;
    int rc = check_spec(spec, err);
    if (rc < 0)
        return rc;
    buf_init(&buf, 0);
    write_machine(&buf, spec, host, kvm);
    write_cpu(&buf, spec->cpu_model, kvm);
    write_devices(&buf, spec, host);
    domain_xml_write_labels(&buf, host);
    rc = domain_xml_write_confine(&buf, spec, err);
    if (rc == 0) {
        xml_write(&buf, "</domain>\n");
        *ret_xml = buf_take_string(&buf);
    }
    buf_finish(&buf);
    return rc;
}

/* Copies a string into a fixed field; false if it does not fit. */
static bool copy_field(char *field, size_t size, const char *value)
{
    size_t len = strlen(value);
    if (len >= size)
        return false;
    memcpy(field, value, len + 1);
    return true;
}

/* Takes what one start tag of interest says. */
static bool read_token(const struct xml_token *token, const struct xml_token *next, struct vm_info *info,
                       char **installation)
{
    autofree char *text = next && next->kind == XML_TEXT ? xml_text(next) : NULL;
    if (token->depth == 0) {
        autofree char *type = xml_attribute(token, "type");
        info->kvm = type && strcmp(type, "kvm") == 0;
    } else if (token->depth == 1 && xml_is(token, XML_START, "name") && text) {
        return copy_field(info->name, sizeof(info->name), text);
    } else if (token->depth == 1 && xml_is(token, XML_START, "uuid") && text) {
        return copy_field(info->uuid, sizeof(info->uuid), text);
    } else if (token->depth == 2 && xml_is(token, XML_START, "hutch:project") && !*installation) {
        autofree char *id = xml_attribute(token, "id");
        autofree char *namespace = xml_attribute(token, "xmlns:hutch");
        if (id && namespace && strcmp(namespace, DOMAIN_XML_NAMESPACE) == 0) {
            *installation = xml_attribute(token, "installation");
            return copy_field(info->project, sizeof(info->project), id);
        }
    }
    return true;
}

int domain_xml_read(const char *xml, struct vm_info *ret_info, char **ret_installation, struct error **err)
{
    struct xml_document document;
    autofree char *installation = NULL;
    struct vm_info info = *ret_info;
    int rc = xml_parse(xml, &document, err);
    if (rc < 0)
        return rc;
    for (size_t i = 0; i < document.count && rc == 0; i++) {
        const struct xml_token *next = i + 1 < document.count ? &document.tokens[i + 1] : NULL;
        if (document.tokens[i].kind == XML_START &&
            !read_token(&document.tokens[i], next, &info, &installation))
            rc = error_set(err, ERROR_CORRUPT, "a libvirt domain has a name or id that is too long");
    }
    xml_finish(&document);
    if (rc < 0)
        return rc;
    *ret_info = info;
    *ret_installation = steal(&installation);
    return 0;
}
