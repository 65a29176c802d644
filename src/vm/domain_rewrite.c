/* The XML inside a memory image says which files QEMU opens. It was written by libvirt, but the image lies in
 * a file, paths change, and libvirt trusts its <backingStore> more than the disk's own header. So every path
 * in it is replaced by the spec's, and an image with anything in it that is not known here is refused. */
#include "vm/domain_xml.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "vm/xml.h"

#include <string.h>

/* What an element's copy needs. */
enum rule {
    RULE_COPY,    /* as it stands; no attribute or text may be a path */
    RULE_DROP,    /* left out with all that is in it: written anew or not wanted */
    RULE_TEXT,    /* its text is replaced by the spec's */
    RULE_SAME,    /* its text must be the spec's */
    RULE_SOURCE,  /* disk, channel, serial, console: the path is replaced by the spec's */
    RULE_DEVICE,  /* its attribute must have this value */
    RULE_BACKEND, /* the rng's: the one path that stays */
};

static const struct element {
    const char *name;
    enum rule rule;
    const char *attribute, *value; /* RULE_DEVICE */
} elements[] = {
    {"domain", RULE_COPY},
    {"name", RULE_SAME},
    {"uuid", RULE_SAME},
    {"genid", RULE_COPY},
    {"metadata", RULE_DROP},
    {"memory", RULE_COPY},
    {"currentMemory", RULE_COPY},
    {"vcpu", RULE_COPY},
    {"resource", RULE_DROP},
    {"os", RULE_COPY},
    {"type", RULE_COPY},
    {"kernel", RULE_TEXT},
    {"initrd", RULE_TEXT},
    {"cmdline", RULE_TEXT},
    {"boot", RULE_COPY},
    {"features", RULE_COPY},
    {"acpi", RULE_COPY},
    {"apic", RULE_COPY},
    {"vmport", RULE_COPY},
    {"smm", RULE_COPY},
    {"cpu", RULE_COPY},
    {"model", RULE_COPY},
    {"vendor", RULE_COPY},
    {"topology", RULE_COPY},
    {"cache", RULE_COPY},
    {"maxphysaddr", RULE_COPY},
    {"feature", RULE_COPY},
    {"clock", RULE_COPY},
    {"timer", RULE_COPY},
    {"catchup", RULE_COPY},
    {"on_poweroff", RULE_COPY},
    {"on_reboot", RULE_COPY},
    {"on_crash", RULE_COPY},
    {"pm", RULE_COPY},
    {"suspend-to-mem", RULE_COPY},
    {"suspend-to-disk", RULE_COPY},
    {"devices", RULE_COPY},
    {"emulator", RULE_TEXT},
    {"disk", RULE_DEVICE, "type", "file"},
    {"driver", RULE_COPY},
    {"source", RULE_SOURCE},
    {"backingStore", RULE_DROP},
    {"target", RULE_COPY},
    {"alias", RULE_DROP},
    {"address", RULE_COPY},
    {"controller", RULE_COPY},
    {"master", RULE_COPY},
    {"serial", RULE_DEVICE, "type", "file"},
    {"console", RULE_DEVICE, "type", "file"},
    {"channel", RULE_DEVICE, "type", "unix"},
    {"input", RULE_DEVICE, "bus", "ps2"},
    {"audio", RULE_DEVICE, "type", "none"},
    {"watchdog", RULE_DEVICE, "model", "itco"},
    {"memballoon", RULE_COPY},
    {"stats", RULE_COPY},
    {"rng", RULE_DEVICE, "model", "virtio"},
    {"backend", RULE_BACKEND, "model", "random"},
    {"seclabel", RULE_DROP},
    {"qemu:commandline", RULE_DROP},
};

struct rewrite {
    const struct vm_spec *spec;
    const struct domain_host *host;
    struct xml_document document;
    size_t at;     /* token */
    size_t device; /* start token of the child of <devices> that it is in */
    struct buf out;
    unsigned disks, ports; /* seen: number, bit set */
};

static int foreign(const struct xml_token *token, const char *what, struct error **err)
{
    int rc = error_set(err, ERROR_CORRUPT, "the memory image asks for %s in <%.*s>", what,
                       (int)token->name_len, token->name);
    error_hint(err, "it is not used; start the machine without it");
    return rc;
}

static const struct element *find_element(const struct xml_token *token)
{
    for (size_t i = 0; i < countof(elements); i++)
        if (xml_is(token, XML_START, elements[i].name))
            return &elements[i];
    return NULL;
}

/* Writes a start tag with its attributes; none of them may be a path. */
static int copy_start(struct rewrite *rewrite, const struct xml_token *token, struct error **err)
{
    size_t position = 0;
    char *name, *value;
    xml_write(&rewrite->out, "<%.*s", (int)token->name_len, token->name);
    while (xml_next_attribute(token, &position, &name, &value)) {
        autofree char *free_name = name;
        autofree char *free_value = value;
        if (strchr(value, '/') && strncmp(name, "xmlns:", 6) != 0)
            return foreign(token, "a file", err);
        autofree char *escaped = xml_escape(value);
        xml_write(&rewrite->out, " %s='%s'", name, escaped);
    }
    xml_write(&rewrite->out, token->empty ? "/>\n" : ">");
    return 0;
}

/* The text inside the element at the place, or "". Caller frees. */
static char *inner_text(const struct rewrite *rewrite)
{
    const struct xml_token *token = &rewrite->document.tokens[rewrite->at];
    if (!token->empty && token[1].kind == XML_TEXT)
        return xml_text(&token[1]);
    return xstrdup("");
}

/* What the spec wants as text of an element. */
static const char *wanted_text(const struct rewrite *rewrite, const char *name)
{
    const struct {
        const char *name, *text;
    } texts[] = {
        {"name", rewrite->spec->name},
        {"uuid", rewrite->spec->uuid},
        {"kernel", rewrite->spec->kernel},
        {"initrd", rewrite->spec->initrd},
        {"cmdline", rewrite->spec->command_line},
        {"emulator", rewrite->host->emulator},
    };
    for (size_t i = 0; i < countof(texts); i++)
        if (strcmp(texts[i].name, name) == 0)
            return texts[i].text;
    require(!"an element without its text");
    return NULL;
}

static void write_text_element(struct rewrite *rewrite, const char *name)
{
    autofree char *text = xml_escape(wanted_text(rewrite, name));
    xml_write(&rewrite->out, "<%s>%s</%s>\n", name, text, name);
    rewrite->at = xml_skip(&rewrite->document, rewrite->at);
}

/* Which of the three ports the channel at hand is; -1 for none of them. */
static int port_of(const struct rewrite *rewrite)
{
    size_t end = xml_skip(&rewrite->document, rewrite->device);
    for (size_t i = rewrite->device; i < end; i++) {
        if (!xml_is(&rewrite->document.tokens[i], XML_START, "target"))
            continue;
        autofree char *name = xml_attribute(&rewrite->document.tokens[i], "name");
        for (size_t port = 0; name && port < countof(domain_xml_port_names); port++)
            if (strcmp(name, domain_xml_port_names[port]) == 0)
                return (int)port;
    }
    return -1;
}

/* The <source> of the device at hand. */
static int write_source(struct rewrite *rewrite, const struct xml_token *token, struct error **err)
{
    const struct xml_token *device = &rewrite->document.tokens[rewrite->device];
    if (xml_is(device, XML_START, "disk")) {
        autofree char *path = xml_escape(rewrite->spec->disk);
        xml_write(&rewrite->out, "<source file='%s'/>", path);
        domain_xml_write_chain(&rewrite->out, rewrite->spec->chain, rewrite->host);
        rewrite->disks++;
    } else if (xml_is(device, XML_START, "channel")) {
        int port = port_of(rewrite);
        if (port < 0 || rewrite->ports & 1u << port)
            return foreign(token, "an unknown port", err);
        autofree char *path = xml_escape(rewrite->spec->ports[port]);
        xml_write(&rewrite->out, "<source mode='bind' path='%s'/>", path);
        rewrite->ports |= 1u << port;
    } else if (xml_is(device, XML_START, "serial") || xml_is(device, XML_START, "console")) {
        autofree char *path = xml_escape(rewrite->spec->console_log);
        xml_write(&rewrite->out, "<source path='%s' append='off'/>", path);
    } else {
        return foreign(device, "a file", err);
    }
    rewrite->at = xml_skip(&rewrite->document, rewrite->at);
    return 0;
}

/* A start tag by its rule. */
static int rewrite_start(struct rewrite *rewrite, struct error **err)
{
    const struct xml_token *token = &rewrite->document.tokens[rewrite->at];
    const struct element *element = find_element(token);
    if (!element)
        return foreign(token, "something that hutch does not use", err);
    if (token->depth == 2)
        rewrite->device = rewrite->at;
    autofree char *text = inner_text(rewrite);
    autofree char *attribute = element->attribute ? xml_attribute(token, element->attribute) : NULL;
    if (element->attribute && (!attribute || strcmp(attribute, element->value) != 0))
        return foreign(token, "another kind of device", err);
    switch (element->rule) {
    case RULE_DROP:
        rewrite->at = xml_skip(&rewrite->document, rewrite->at);
        return 0;
    case RULE_SAME:
        if (strcmp(text, wanted_text(rewrite, element->name)) != 0)
            return foreign(token, "another machine", err);
        write_text_element(rewrite, element->name);
        return 0;
    case RULE_TEXT:
        write_text_element(rewrite, element->name);
        return 0;
    case RULE_SOURCE:
        return write_source(rewrite, token, err);
    case RULE_BACKEND:
        if (strcmp(text, "/dev/urandom") != 0)
            return foreign(token, "a file", err);
        xml_write(&rewrite->out, "<backend model='random'>/dev/urandom</backend>\n");
        rewrite->at = xml_skip(&rewrite->document, rewrite->at);
        return 0;
    case RULE_COPY:
    case RULE_DEVICE:
        break;
    }
    if (text[0] == '/')
        return foreign(token, "a file", err);
    rewrite->at++;
    return copy_start(rewrite, token, err);
}

/* One token, or an element that is replaced as a whole. */
static int rewrite_one(struct rewrite *rewrite, struct error **err)
{
    const struct xml_token *token = &rewrite->document.tokens[rewrite->at];
    if (token->kind == XML_START)
        return rewrite_start(rewrite, err);
    rewrite->at++;
    if (token->kind == XML_TEXT) {
        autofree char *text = xml_text(token);
        xml_write_escaped(&rewrite->out, text);
        return 0;
    }
    if (token->depth == 0) {
        domain_xml_write_metadata(&rewrite->out, rewrite->spec, rewrite->host);
        domain_xml_write_labels(&rewrite->out, rewrite->host);
        int rc = domain_xml_write_confine(&rewrite->out, rewrite->spec, err);
        if (rc < 0)
            return rc;
    }
    xml_write(&rewrite->out, "</%.*s>\n", (int)token->name_len, token->name);
    return 0;
}

/* The root's own tag: its id is of the run that was saved, the prefix of qemu:commandline must be there. */
static int write_root(struct rewrite *rewrite, struct error **err)
{
    const struct xml_token *root = &rewrite->document.tokens[0];
    autofree char *type = xml_attribute(root, "type");
    if (!xml_is(root, XML_START, "domain") || root->empty || !type ||
        (strcmp(type, "kvm") != 0 && strcmp(type, "qemu") != 0))
        return foreign(root, "another hypervisor", err);
    xml_write(&rewrite->out, "<domain type='%s' xmlns:qemu='http://libvirt.org/schemas/domain/qemu/1.0'>\n",
              type);
    rewrite->at = 1;
    return 0;
}

int domain_xml_rewrite(const char *saved, const struct vm_spec *spec, const struct domain_host *host,
                       char **ret_xml, struct error **err)
{
    struct rewrite rewrite = {.spec = spec, .host = host};
    int rc = xml_parse(saved, &rewrite.document, err);
    if (rc < 0)
        return rc;
    buf_init(&rewrite.out, 0);
    rc = write_root(&rewrite, err);
    while (rc == 0 && rewrite.at < rewrite.document.count)
        rc = rewrite_one(&rewrite, err);
    if (rc == 0 && (rewrite.disks != 1 || rewrite.ports != 7))
        rc = error_set(err, ERROR_CORRUPT, "the memory image has %u disks and ports %x, not 1 and 7",
                       rewrite.disks, rewrite.ports);
    if (rc == 0)
        *ret_xml = buf_take_string(&rewrite.out);
    buf_finish(&rewrite.out);
    xml_finish(&rewrite.document);
    return rc;
}
