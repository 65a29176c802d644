/* hutch-qemu: what a program under it can and cannot do, in each of its three forms. The program is
 * confine_probe. */
#include "test_base_scratch.h"

#include "base/fd.h"
#include "base/landlock.h"
#include "base/spawn.h"
#include "vm/cage.h"
#include "vm/cage_apply.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#define WRAPPER TEST_PROGRAMS "/hutch-qemu-test"
#define PROBE   TEST_PROGRAMS "/confine_probe"

/* Which walls are up; a form that this host cannot have is skipped. */
enum form { WHOLE, NO_NAMESPACES, NO_LANDLOCK };

struct place {
    char *folder, *disk, *base, *layer, *outside, *socket;
    int listener;
};

/* A project's files, and what it must not reach. */
static struct place make_place(const char *folder)
{
    struct place place = {
        .folder = file_join(folder, "layers"),
        .outside = file_join(folder, "secret"),
        .socket = file_join(folder, "s"),
        .listener = -1,
    };
    place.disk = file_join(place.folder, "1.qcow2");
    place.layer = file_join(place.folder, "2;%.qcow2");
    place.base = file_join(folder, "base.qcow2");
    assert_ok(file_make_folder(place.folder, 0700, &err));
    assert_ok(file_replace(place.disk, "disk", 4, 0600, &err));
    assert_ok(file_replace(place.layer, "disk", 4, 0600, &err));
    assert_ok(file_replace(place.base, "base", 4, 0600, &err));
    assert_ok(file_replace(place.outside, "secret", 6, 0600, &err));
    assert_ok(fd_unix_listen(place.socket, SOCK_STREAM, 0600, &place.listener, &err));
    return place;
}

static void finish_place(struct place *place)
{
    free(place->folder);
    free(place->disk);
    free(place->base);
    free(place->layer);
    free(place->outside);
    free(place->socket);
    close(place->listener);
}

/* The list for the place. */
static char *list_of(const struct place *place)
{
    struct cage cage = {0};
    assert_ok(cage_add(&cage, CAGE_WRITE, place->disk, &err));
    assert_ok(cage_add(&cage, CAGE_READ, place->base, &err));
    assert_ok(cage_add(&cage, CAGE_FOLDER, place->folder, &err));
    char *list = cage_format(&cage);
    cage_finish(&cage);
    return list;
}

static bool possible(enum form form)
{
    if (form == NO_LANDLOCK)
        return access("/usr/bin/bwrap", X_OK) == 0;
    return landlock_version() > 0;
}

/* Runs the wrapper; its output, or NULL with *ret_err when it refused. */
static char *run(enum form form, const char *list, const char *const *arguments, struct error **ret_err)
{
    autofree char *variable = xasprintf("%s=%s", CAGE_VARIABLE, list ? list : "");
    const char *env[6] = {"CAGE_TEST_PROGRAM=" PROBE, "PATH=/usr/bin:/bin", NULL};
    const char *argv[64] = {WRAPPER};
    size_t count = 2;
    char *out = NULL;
    if (list)
        env[count++] = variable;
    if (form == NO_NAMESPACES)
        env[count++] = "CAGE_TEST_NO_NAMESPACES=1";
    if (form == NO_LANDLOCK)
        env[count++] = "CAGE_TEST_NO_LANDLOCK=1";
    for (size_t i = 0; arguments[i]; i++)
        argv[i + 1] = arguments[i];
    struct spawn spawn = {.argv = argv, .env = env, .in = -1, .out = -1, .err = -1};
    return spawn_run(&spawn, 30000, 65536, &out, ret_err) == 0 ? out : NULL;
}

/* One check and the results that are right: error names, separated by blanks. */
struct expected {
    const char *check;
    const char *argument;
    const char *results;
};

static void expect(enum form form, const char *list, const struct expected *expected, size_t count)
{
    const char *arguments[48] = {NULL};
    char *owned[48] = {NULL};
    auto(error) struct error *refused = NULL;
    assert_true(count < countof(arguments));
    for (size_t i = 0; i < count; i++)
        arguments[i] = owned[i] = xasprintf("%s:%s", expected[i].check, expected[i].argument);
    autofree char *out = run(form, list, arguments, &refused);
    if (!out)
        fail_msg("%s", refused->message);
    for (size_t i = 0; i < count; i++) {
        autofree char *line = xasprintf("%s ", arguments[i]);
        const char *found = strstr(out, line);
        if (!found)
            fail_msg("form %d: \"%s\" has no answer in: %s", (int)form, arguments[i], out);
        autofree char *answer = xstrndup(found + strlen(line), strcspn(found + strlen(line), "\n"));
        autofree char *padded = xasprintf(" %s ", expected[i].results);
        autofree char *wanted = xasprintf(" %s ", answer);
        if (!strstr(padded, wanted))
            fail_msg("form %d: %s is %s, not %s", (int)form, arguments[i], answer, expected[i].results);
        free(owned[i]);
    }
}

static void files_in_form(enum form form, const char *folder)
{
    struct place place = make_place(folder);
    autofree char *list = list_of(&place);
    autofree char *fresh = file_join(place.folder, "new");
    const struct expected expected[] = {
        {"read", place.disk, "0"},
        {"write", place.disk, "0"},
        {"read", place.base, "0"},
        {"write", place.base, "EACCES EROFS"},
        {"write", place.layer, "0"},
        {"read", place.outside, "EACCES ENOENT"},
        {"write", place.outside, "EACCES ENOENT"},
        {"truncate", place.outside, "EPERM ENOENT"},
        {"chmod", place.outside, "EPERM ENOENT"},
        {"chmod", place.base, "EPERM"},
        {"read", "/etc/passwd", "EACCES ENOENT"},
        {"read", getenv("HOME") ? getenv("HOME") : "/root", "EACCES ENOENT"},
        {"read", "/proc/self/maps", "EACCES ENOENT"},
        {"read", "/usr/bin/env", "0"},
        {"write", "/dev/null", "0"},
        {"read", "/dev/urandom", "0"},
        {"link", fresh, form == NO_LANDLOCK ? "0" : "EACCES"},
        {"variable", CAGE_VARIABLE, "0"},
        {"core", "", "0"},
    };
    expect(form, list, expected, countof(expected));
    if (form != NO_LANDLOCK) { /* bubblewrap's folder can be changed; a link in it is not followed at the next
                                  start */
        const struct expected changes[] = {
            {"create", fresh, "EACCES"},
            {"rename", place.layer, "EACCES"},
            {"remove", place.layer, "EACCES"},
        };
        expect(form, list, changes, countof(changes));
    }
    finish_place(&place);
}

/* Starts from outside the cage: other processes and sockets. */
static void others_in_form(enum form form, const char *folder)
{
    struct place place = make_place(folder);
    autofree char *list = list_of(&place);
    autofree char *parent = xasprintf("%d", (int)getpid());
    struct sockaddr_un abstract = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int n = snprintf(abstract.sun_path + 1, 64, "hutch-test-%d", (int)getpid());
    autofree char *abstract_name = xasprintf("@%s", abstract.sun_path + 1);
    assert_int_equal(bind(fd, (struct sockaddr *)&abstract, (socklen_t)(sizeof(sa_family_t) + 1 + (size_t)n)),
                     0);
    assert_int_equal(listen(fd, 1), 0);
    const struct expected expected[] = {
        {"connect", place.socket, "EPERM"},
        {"connect", abstract_name, "EPERM"},
        {"socket", "1", "EPERM"},  /* UNIX */
        {"socket", "2", "EPERM"},  /* IPv4 */
        {"socket", "10", "EPERM"}, /* IPv6 */
        {"socket", "16", "EPERM"}, /* netlink */
        {"socket", "40", "EPERM"}, /* vsock */
        {"pair", "1", "0"},
        {"pair", "2", "EPERM"},
        {"kill", parent, "EPERM"},
        {"kill", "self", "0"},
        {"trace", parent, "EPERM"},
        {"memory", parent, "EPERM"},
        {"unshare", "", "EPERM"},
        {"uring", "", "ENOSYS"},
        {"fork", "", "0"},
    };
    expect(form, list, expected, countof(expected));
    close(fd);
    finish_place(&place);
}

static void whole_files(void **state)
{
    possible(WHOLE) ? files_in_form(WHOLE, *state) : skip();
}

static void whole_others(void **state)
{
    possible(WHOLE) ? others_in_form(WHOLE, *state) : skip();
}

static void without_namespaces(void **state)
{
    if (!possible(NO_NAMESPACES))
        skip();
    others_in_form(NO_NAMESPACES, *state);
}

static void without_namespaces_files(void **state)
{
    possible(NO_NAMESPACES) ? files_in_form(NO_NAMESPACES, *state) : skip();
}

static void without_landlock_files(void **state)
{
    possible(NO_LANDLOCK) ? files_in_form(NO_LANDLOCK, *state) : skip();
}

static void without_landlock_others(void **state)
{
    possible(NO_LANDLOCK) ? others_in_form(NO_LANDLOCK, *state) : skip();
}

/* A probe of libvirt's: one folder, a socket of its own, an empty network. */
static void probes(void **state)
{
    autofree char *folder = file_join(*state, "qmp-ABC123");
    autofree char *monitor = xasprintf("unix:%s/qmp.monitor,server=on,wait=off", folder);
    autofree char *pidfile = xasprintf("create:%s/qmp.pid", folder);
    autofree char *outside = xasprintf("create:%s/x", (const char *)*state);
    char here[64] = "namespace:";
    assert_true(readlink("/proc/self/ns/net", here + 10, sizeof(here) - 11) > 0);
    const char *arguments[] = {"-S",    "-machine",    "none,accel=kvm:tcg", "-qmp",     monitor, pidfile,
                               outside, "interfaces:", "socket:1",           "socket:2", here,    NULL};
    auto(error) struct error *refused = NULL;
    if (!possible(WHOLE))
        skip();
    assert_ok(file_make_folder(folder, 0700, &err));
    autofree char *out = run(WHOLE, NULL, arguments, &refused);
    if (!out)
        fail_msg("%s", refused->message);
    autofree char *made = xasprintf("%s 0\n", pidfile);
    autofree char *not_made = xasprintf("%s EACCES\n", outside);
    autofree char *elsewhere = xasprintf("%s EXDEV\n", here);
    assert_non_null(strstr(out, made));
    assert_non_null(strstr(out, not_made));
    assert_non_null(strstr(out, "socket:1 0\n"));
    assert_non_null(strstr(out, "socket:2 EPERM\n"));
    assert_non_null(strstr(out, "interfaces: 0\n"));
    assert_non_null(strstr(out, elsewhere));
}

static void refused(const char *list, const char *const *arguments, const char *words)
{
    auto(error) struct error *err = NULL;
    autofree char *out = run(WHOLE, list, arguments, &err);
    if (out)
        fail_msg("it ran: %s", out);
    if (!strstr(err->message, words))
        fail_msg("\"%s\" does not say \"%s\"", err->message, words);
}

static void fails_closed(void **state)
{
    const char *const none[] = {"core:", NULL};
    const char *const machine[] = {"-machine", "q35", "-qmp", "unix:/tmp/qmp-1/m,server=on", NULL};
    const char *const elsewhere[] = {"-machine", "none", "-qmp", "unix:/home/m,server=on", NULL};
    const char *const climbing[] = {"-machine", "none", "-qmp", "unix:/a/../etc/qmp-1/m,server=on", NULL};
    autofree char *missing = xasprintf("r=%s/missing", (const char *)*state);
    autofree char *link = xasprintf("%s/link", (const char *)*state);
    autofree char *through = xasprintf("w=%s", link);
    if (!possible(WHOLE))
        skip();
    assert_int_equal(symlink("/etc/passwd", link), 0);
    refused(NULL, none, CAGE_VARIABLE);
    refused(NULL, machine, CAGE_VARIABLE);
    refused(NULL, elsewhere, CAGE_VARIABLE);
    refused(NULL, climbing, CAGE_VARIABLE);
    refused("", none, "list of files");
    refused("r=relative", none, "full path");
    refused("x=/etc/passwd", none, "list of files");
    refused("r=/etc/%0passwd", none, "list of files");
    refused(missing, none, "missing");
    refused(through, none, "regular file");
    refused("d=/etc/passwd", none, "no folder");
}

static void lists(void **state)
{
    static const char *const paths[] = {"/a", "/a b;c%d", "/\xc3\xa9\xff\n'\"<&", "/"};
    struct cage cage = {0}, back;
    for (size_t i = 0; i < countof(paths); i++)
        assert_ok(cage_add(&cage, i % 2 ? CAGE_WRITE : CAGE_READ, paths[i], &err));
    autofree char *text = cage_format(&cage);
    for (const unsigned char *p = (const unsigned char *)text; *p; p++)
        assert_true(*p > ' ' && *p < 0x7f);
    assert_ok(cage_parse(text, &back, &err));
    assert_int_equal(back.count, countof(paths));
    for (size_t i = 0; i < countof(paths); i++) {
        assert_string_equal(back.items[i].path, paths[i]);
        assert_int_equal(back.items[i].access, cage.items[i].access);
    }
    cage_finish(&back);
    while (cage.count < CAGE_PATHS_MAX)
        assert_ok(cage_add(&cage, CAGE_READ, "/x", &err));
    assert_error(cage_add(&cage, CAGE_READ, "/x", &err), ERROR_INVALID, "more than 96");
    cage_finish(&cage);
}

/* The master key's path in one -object argument, or NULL. Caller frees. */
static char *key_of(const char *object)
{
    autofree char *copy = xstrdup(object);
    char program[] = "qemu", option[] = "-object";
    char *argv[] = {program, option, copy, NULL};
    struct cage_command command;
    assert_ok(cage_command_read(argv, true, &command, &err));
    char *key = steal(&command.master_key);
    cage_command_finish(&command);
    return key;
}

static void finds_the_master_key(void **state)
{
    autofree char *json = key_of("{\"qom-type\":\"secret\",\"id\":\"masterKey0\",\"format\":\"raw\",\"file\":"
                                 "\"/v/d-1/master-key.aes\"}");
    autofree char *plain = key_of("secret,id=masterKey0,format=raw,file=/v/d-2/master-key.aes");
    assert_string_equal(json, "/v/d-1/master-key.aes");
    assert_string_equal(plain, "/v/d-2/master-key.aes");
    assert_null(key_of("{\"id\":\"other\",\"file\":\"/v/master-key.aes\"}"));
    assert_null(key_of("secret,id=masterKey0,format=raw,data=x"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists),
        cmocka_unit_test(finds_the_master_key),
        scratch_test(whole_files),
        scratch_test(whole_others),
        scratch_test(without_namespaces_files),
        scratch_test(without_namespaces),
        scratch_test(without_landlock_files),
        scratch_test(without_landlock_others),
        scratch_test(probes),
        scratch_test(fails_closed),
    };
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    return 77; /* a sanitizer looks at its process in ways that the cage denies */
#endif
    alarm(300);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
