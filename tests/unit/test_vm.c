/* Definitions: what is written for typical machines, what is read back, and that a memory image cannot name a
 * file or a device of its own. */
#include "test_base_scratch.h"

#include "base/spawn.h"
#include "vm/block_chain.h"
#include "vm/cage.h"
#include "vm/domain_xml.h"
#include "vm/layer.h"
#include "vm/qemu_log.h"
#include "vm/vm.h"
#include "vm/xml.h"

static const char *const chain[] = {"/h/p/1/disk/1.qcow2", "/h/p/1/disk/0.qcow2", "/h/bases/ab/disk.qcow2",
                                    NULL};
static const struct domain_host host = {.emulator = "/usr/libexec/hutch/hutch-qemu",
                                        .installation = "inst-1"};

/* A typical machine. */
static struct vm_spec spec_of(void)
{
    return (struct vm_spec){.name = "hutch-demo-12ab",
                            .uuid = "11111111-2222-4333-8444-555555555555",
                            .project = "12ab",
                            .cpus = 2,
                            .memory = (uint64_t)2 << 30,
                            .disk = chain[0],
                            .chain = chain,
                            .kernel = "/h/bases/ab/kernel",
                            .initrd = "/h/p/1/initrd",
                            .command_line = "root=/dev/vda init=/run/hutch/bin/hutch-guest",
                            .ports = {"/r/c.sock", "/r/e.sock", "/r/b.sock"},
                            .console_log = "/h/p/1/console.log",
                            .folder = "/h/p/1/disk"};
}

static char *build(const struct vm_spec *spec, const struct domain_host *on)
{
    char *xml = NULL;
    assert_ok(domain_xml_build(spec, on, &xml, &err));
    return xml;
}

/* The golden file says what is meant: a change of the definition is a change of that file. */
static void compare_golden(const char *xml, const char *name)
{
    autofree char *path = xasprintf("%s/%s", TEST_DATA, name);
    autofree char *golden = NULL;
    size_t len;
    assert_ok(file_read(path, 65536, &golden, &len, &err));
    assert_string_equal(xml, golden);
}

static void validate(const char *xml, const char *folder)
{
    autofree char *path = file_join(folder, "domain.xml");
    const char *argv[] = {"virt-xml-validate", path, "domain", NULL};
    struct spawn spawn = {.argv = argv, .in = -1, .out = -1, .err = -1};
    auto(error) struct error *refused = NULL;
    assert_ok(file_replace(path, xml, strlen(xml), 0600, &err));
    int rc = spawn_run(&spawn, 20000, 65536, NULL, &refused);
    if (rc < 0 && rc != -ERROR_MISSING)
        fail_msg("%s: %s", refused->message, xml);
}

static void writes_emulated(void **state)
{
    struct vm_spec spec = spec_of();
    autofree char *xml = build(&spec, &host);
    compare_golden(xml, "vm_emulated.xml");
    validate(xml, *state);
}

static void writes_kvm_in_system(void **state)
{
    struct vm_spec spec = spec_of();
    struct domain_host on = host;
    on.kvm = on.system = on.apparmor = on.selinux = true;
    spec.cpu_model = "Nehalem";
    autofree char *xml = build(&spec, &on);
    compare_golden(xml, "vm_kvm.xml");
    validate(xml, *state);
}

static void emulates_on_request(void **state)
{
    struct vm_spec spec = spec_of();
    struct domain_host on = host;
    on.kvm = true;
    spec.emulate = true;
    autofree char *xml = build(&spec, &on);
    assert_non_null(strstr(xml, "<domain type='qemu'"));
    assert_non_null(strstr(xml, "mode='maximum'"));
    spec.emulate = false;
    autofree char *fast = build(&spec, &on);
    assert_non_null(strstr(fast, "<domain type='kvm'"));
    assert_non_null(strstr(fast, "mode='host-passthrough'"));
}

static void has_no_other_device(void **state)
{
    static const char *const unwanted[] = {"<interface",  "<sound", "<graphics", "<video", "<hostdev",
                                           "<filesystem", "<tpm",   "<redirdev", "fdc",    "<input"};
    struct vm_spec spec = spec_of();
    autofree char *xml = build(&spec, &host);
    for (size_t i = 0; i < countof(unwanted); i++)
        if (strstr(xml, unwanted[i]))
            fail_msg("the definition has %s", unwanted[i]);
}

static void escapes_everything(void **state)
{
    static const char nasty[] = "/h/a'b\"c<d>&e;f%g h\xc3\xa9/disk.qcow2";
    const char *nasty_chain[] = {nasty, NULL};
    struct vm_spec spec = spec_of();
    struct xml_document document;
    struct cage cage = {0};
    bool found_disk = false, found_list = false;
    spec.disk = nasty;
    spec.chain = nasty_chain;
    spec.kernel = spec.initrd = spec.ports[0] = spec.console_log = nasty;
    spec.command_line = "a='<b>' && c";
    snprintf(spec.project, sizeof(spec.project), "'/><x>&");
    autofree char *xml = build(&spec, &host);
    validate(xml, *state);
    assert_ok(xml_parse(xml, &document, &err));
    for (size_t i = 0; i < document.count; i++) {
        autofree char *file = xml_attribute(&document.tokens[i], "file");
        autofree char *value = xml_attribute(&document.tokens[i], "value");
        if (file && strcmp(file, nasty) == 0)
            found_disk = true;
        if (value && xml_is(&document.tokens[i], XML_START, "qemu:env")) {
            assert_ok(cage_parse(value, &cage, &err));
            found_list = strcmp(cage.items[0].path, nasty) == 0 && cage.items[0].access == CAGE_WRITE;
            cage_finish(&cage);
        }
    }
    xml_finish(&document);
    assert_true(found_disk);
    assert_true(found_list);
}

static void refuses_bad_specs(void **state)
{
    static const char *const deep[LAYER_DEPTH_MAX + 2] = {NULL};
    const char *many[LAYER_DEPTH_MAX + 2];
    struct vm_spec spec = spec_of();
    char *xml = NULL;
    spec.disk = "/other.qcow2";
    assert_error(domain_xml_build(&spec, &host, &xml, &err), ERROR_INVALID, "does not begin with its disk");
    spec = spec_of();
    spec.chain = deep;
    assert_error(domain_xml_build(&spec, &host, &xml, &err), ERROR_INVALID, "does not begin");
    spec = spec_of();
    spec.console_log = "console.log";
    assert_error(domain_xml_build(&spec, &host, &xml, &err), ERROR_INVALID, "is not a full path");
    for (size_t i = 0; i <= LAYER_DEPTH_MAX; i++)
        many[i] = chain[0];
    many[LAYER_DEPTH_MAX + 1] = NULL;
    spec = spec_of();
    spec.chain = many;
    assert_error(domain_xml_build(&spec, &host, &xml, &err), ERROR_LIMIT, "65 layers");
    spec = spec_of();
    spec.memory = 1024;
    assert_error(domain_xml_build(&spec, &host, &xml, &err), ERROR_INVALID, "memory");
    assert_null(xml);
}

static void reads_back(void **state)
{
    struct vm_spec spec = spec_of();
    autofree char *xml = build(&spec, &host);
    autofree char *installation = NULL;
    struct vm_info info = {.state = VM_PAUSED};
    assert_ok(domain_xml_read(xml, &info, &installation, &err));
    assert_string_equal(info.name, spec.name);
    assert_string_equal(info.uuid, spec.uuid);
    assert_string_equal(info.project, spec.project);
    assert_string_equal(installation, "inst-1");
    assert_int_equal(info.state, VM_PAUSED);
    assert_false(info.kvm);
}

static void reads_a_foreign_domain(void **state)
{
    struct vm_info info = {0};
    char *installation = (char *)"";
    assert_ok(domain_xml_read(
        "<domain type='kvm' id='1'><name>win</name><uuid>x</uuid><metadata>"
        "<hutch:project xmlns:hutch='urn:other' id='1' installation='2'/></metadata></domain>",
        &info, &installation, &err));
    assert_null(installation);
    assert_true(info.kvm);
    assert_error(
        domain_xml_read("<domain><name>0123456789012345678901234567890123456789012345678901234567890123"
                        "</name></domain>",
                        &info, &installation, &err),
        ERROR_CORRUPT, "too long");
}

/* Our own definition, saved, comes back with today's paths. */
static void rewrites(void **state)
{
    static const char *const new_chain[] = {"/n/5.qcow2", "/n/4.qcow2", "/n/base.qcow2", NULL};
    struct vm_spec old = spec_of(), spec = spec_of();
    struct domain_host now = host;
    autofree char *saved = build(&old, &host);
    autofree char *xml = NULL;
    now.emulator = "/opt/hutch-qemu";
    spec.disk = new_chain[0];
    spec.chain = new_chain;
    spec.kernel = "/n/kernel";
    spec.initrd = "/n/initrd";
    spec.console_log = "/n/console.log";
    spec.folder = "/n";
    spec.ports[0] = "/n/c";
    spec.ports[1] = "/n/e";
    spec.ports[2] = "/n/b";
    assert_ok(domain_xml_rewrite(saved, &spec, &now, &xml, &err));
    assert_null(strstr(xml, "/h/"));
    assert_null(strstr(xml, "/r/"));
    validate(xml, *state);
    /* Twice is once. */
    autofree char *again = NULL;
    assert_ok(domain_xml_rewrite(xml, &spec, &now, &again, &err));
    assert_string_equal(xml, again);
}

/* Puts a piece of XML into a saved image and looks whether it is refused. */
static void rewrite_with(const char *before, const char *piece, const char *words)
{
    struct vm_spec spec = spec_of();
    autofree char *saved = build(&spec, &host);
    char *at = strstr(saved, before);
    char *xml = NULL;
    assert_non_null(at);
    autofree char *changed = xasprintf("%.*s%s%s", (int)(at - saved), saved, piece, at);
    assert_error(domain_xml_rewrite(changed, &spec, &host, &xml, &err), ERROR_CORRUPT, words);
    assert_null(xml);
}

static void refuses_foreign_images(void **state)
{
    rewrite_with("</devices>", "<interface type='user'/>", "interface");
    rewrite_with("</devices>", "<hostdev mode='subsystem'/>", "hostdev");
    rewrite_with("</devices>", "<filesystem type='mount'/>", "filesystem");
    rewrite_with("</devices>", "<disk type='block' device='disk'><source dev='/dev/sda'/></disk>", "disk");
    rewrite_with("</devices>", "<disk type='file' device='disk'><source file='/etc/shadow'/></disk>",
                 "2 disks");
    rewrite_with("</devices>",
                 "<channel type='unix'><source mode='bind' path='/x'/><target type='virtio' "
                 "name='org.hutch.control'/></channel>",
                 "port");
    rewrite_with(
        "</devices>",
        "<channel type='unix'><source mode='connect' path='/run/user/1000/bus'/><target type='virtio' "
        "name='a'/></channel>",
        "port");
    rewrite_with("</devices>", "<rng model='virtio'><backend model='random'>/etc/shadow</backend></rng>",
                 "file");
    rewrite_with("</devices>", "<rng model='virtio'><backend model='egd' type='udp'/></rng>",
                 "kind of device");
    rewrite_with("</devices>", "<controller type='pci' model='/etc/x'/>", "file");
    rewrite_with("<kernel>", "<loader>/x</loader>", "loader");
    rewrite_with("<memory unit", "<memoryBacking/>", "memoryBacking");
    rewrite_with("<memory unit", "<name>other</name>", "another machine");
}

/* A qemu:commandline of the image is not run. */
static void drops_command_lines(void **state)
{
    struct vm_spec spec = spec_of();
    autofree char *saved = build(&spec, &host);
    char *at = strstr(saved, "<qemu:commandline>");
    autofree char *xml = NULL;
    autofree char *changed =
        xasprintf("%.*s<qemu:commandline><qemu:arg value='-netdev'/></qemu:commandline>%s", (int)(at - saved),
                  saved, at);
    assert_ok(domain_xml_rewrite(changed, &spec, &host, &xml, &err));
    assert_null(strstr(xml, "netdev"));
}

/* Any single byte of an image may be wrong: an error or a definition with no foreign path, never more. */
static void survives_damage(void **state)
{
    struct vm_spec spec = spec_of();
    autofree char *saved = build(&spec, &host);
    size_t len = strlen(saved);
    for (size_t i = 0; i + 1 < len; i++) {
        static const char bytes[] = {'<', '\'', '/', 'a'};
        for (size_t k = 0; k < sizeof(bytes); k++) {
            autofree char *changed = xstrdup(saved);
            autofree char *xml = NULL;
            changed[i] = bytes[k];
            if (domain_xml_rewrite(changed, &spec, &host, &xml, NULL) == 0)
                assert_non_null(strstr(xml, "<source file='/h/p/1/disk/1.qcow2'/><backingStore"));
        }
        autofree char *cut = xstrndup(saved, i);
        char *xml = NULL;
        assert_true(domain_xml_rewrite(cut, &spec, &host, &xml, NULL) < 0);
    }
}

static void refuses_bad_xml(void **state)
{
    static const char *const bad[] = {
        "",          "<a>",         "<a></b>",          "<a/><b/>",      "x<a/>",        "<a b=c/>",
        "<a b='c/>", "<a b='<'/>",  "<!DOCTYPE a><a/>", "<![CDATA[x]]>", "<a><!-- </a>", "<a b='c'",
        "</a>",      "<a><?x?></a>"};
    for (size_t i = 0; i < countof(bad); i++) {
        struct xml_document document;
        if (xml_parse(bad[i], &document, NULL) == 0)
            fail_msg("\"%s\" was taken", bad[i]);
    }
    char deep[XML_DEPTH_MAX * 3 + 8] = "";
    for (size_t i = 0; i <= XML_DEPTH_MAX; i++)
        memcpy(deep + i * 3, "<a>", 4);
    struct xml_document document;
    assert_error(xml_parse(deep, &document, &err), ERROR_CORRUPT, "too deep");
}

static void reads_xml(void **state)
{
    struct xml_document document;
    assert_ok(
        xml_parse("<?xml version='1.0'?><!-- c --><a x=\"1&quot;2\" y='&#10;&#x41;&lt;&unknown;'><b/>t&amp;u"
                  "<c><d></d></c></a>\n",
                  &document, &err));
    assert_int_equal(document.count, 8);
    autofree char *x = xml_attribute(&document.tokens[0], "x");
    autofree char *y = xml_attribute(&document.tokens[0], "y");
    autofree char *text = xml_text(&document.tokens[2]);
    assert_string_equal(x, "1\"2");
    assert_string_equal(y, "\nA<&unknown;");
    assert_string_equal(text, "t&u");
    assert_null(xml_attribute(&document.tokens[0], "z"));
    assert_int_equal(xml_skip(&document, 3), 7);
    assert_int_equal(xml_skip(&document, 1), 2);
    xml_finish(&document);
}

static void reads_the_log(void **state)
{
    static const char log[] = "2026-01-01 10:00:00.1+0000: starting up libvirt version: 9.0.0\n"
                              "LC_ALL=C \\\n/usr/bin/qemu \\\n-msg timestamp=on\n"
                              "old line of the first start\n"
                              "2026-01-01 10:00:01.1+0000: shutting down, reason=failed\n"
                              "2026-01-01 10:00:02.1+0000: starting up libvirt version: 9.0.0\n"
                              "LC_ALL=C \\\n/usr/bin/qemu \\\n-msg timestamp=on\n"
                              "char device redirected to /dev/pts/0 (label charserial0)\n"
                              "2026-01-01 10:00:03.1+0000: Domain id=1 is tainted: custom-argv\n"
                              "qemu: bad \033[31mthing\n"
                              "qemu: gives up\n"
                              "2026-01-01 10:00:04.1+0000: shutting down, reason=failed\n";
    autofree char *lines = qemu_log_last_lines(log, sizeof(log) - 1);
    assert_string_equal(lines, "qemu: bad \\e[31mthing\nqemu: gives up");
    assert_null(qemu_log_last_lines("", 0));
    char many[400] = "";
    for (int i = 0; i < 20; i++)
        snprintf(many + strlen(many), sizeof(many) - strlen(many), "line %d\n", i);
    autofree char *last = qemu_log_last_lines(many, strlen(many));
    assert_string_equal(last, "line 12\nline 13\nline 14\nline 15\nline 16\nline 17\nline 18\nline 19");
    assert_null(qemu_log_tail("/nowhere"));
}

static void reads_the_chain(void **state)
{
    char **files = NULL;
    assert_ok(block_chain_read(
        "{\"return\":[{\"device\":\"\"},{\"inserted\":{\"image\":{\"filename\":\"/a\",\"format\":"
        "\"qcow2\",\"backing-image\":{\"filename\":\"json:{\\\"driver\\\":\\\"qcow2\\\","
        "\\\"file\\\":{\\\"driver\\\":\\\"file\\\",\\\"filename\\\":\\\"/b\\\"}}\",\"format\":"
        "\"qcow2\"}}}}],\"id\":\"libvirt-1\"}",
        &files, &err));
    assert_string_equal(files[0], "/a");
    assert_string_equal(files[1], "/b");
    assert_null(files[2]);
    vm_free_chain(files);
    assert_error(block_chain_read("{\"error\":{}}", &files, &err), ERROR_HYPERVISOR, "did not say");
    assert_error(block_chain_read("", &files, &err), ERROR_HYPERVISOR, "did not say");
    assert_error(block_chain_read("{\"return\":[]}", &files, &err), ERROR_CORRUPT, "0 disks");
    assert_error(
        block_chain_read("{\"return\":[{\"inserted\":{\"image\":{\"filename\":\"/a\",\"format\":\"raw\"}}}]}",
                         &files, &err),
        ERROR_CORRUPT, "raw");
    assert_error(
        block_chain_read("{\"return\":[{\"inserted\":{\"image\":{\"filename\":\"nbd://x\",\"format\":"
                         "\"qcow2\"}}}]}",
                         &files, &err),
        ERROR_CORRUPT, "no plain file");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        scratch_test(writes_emulated),
        scratch_test(writes_kvm_in_system),
        cmocka_unit_test(emulates_on_request),
        cmocka_unit_test(has_no_other_device),
        scratch_test(escapes_everything),
        cmocka_unit_test(refuses_bad_specs),
        cmocka_unit_test(reads_back),
        cmocka_unit_test(reads_a_foreign_domain),
        scratch_test(rewrites),
        cmocka_unit_test(refuses_foreign_images),
        cmocka_unit_test(drops_command_lines),
        cmocka_unit_test(survives_damage),
        cmocka_unit_test(refuses_bad_xml),
        cmocka_unit_test(reads_xml),
        cmocka_unit_test(reads_the_log),
        cmocka_unit_test(reads_the_chain),
    };
    alarm(600);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
