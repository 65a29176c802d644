/* hutch-qemu: the <emulator> of hutch's machines. libvirt runs it as if it were QEMU; it confines itself,
 * keeps its process id, and becomes QEMU. Where it cannot confine, it does not go on. */
#include "base/alloc.h"
#include "base/error.h"
#include "base/landlock.h"
#include "vm/cage.h"
#include "vm/cage_apply.h"
#include "vm/host.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

/* First argument when bubblewrap has run this program again: the files are confined, the filter is missing.
 */
#define INSIDE     "--hutch-inside"
#define BUBBLEWRAP "/usr/bin/bwrap"

static const char *const programs[] = {HUTCH_QEMU, "/usr/libexec/qemu-kvm", "/usr/bin/qemu-kvm"};

/* The real QEMU. The test program takes another one from the environment; hutch-qemu never does. */
static const char *find_qemu(void)
{
#ifdef CAGE_TEST
    const char *test = getenv("CAGE_TEST_PROGRAM");
    if (test)
        return test;
#endif
    for (size_t i = 0; i < countof(programs); i++)
        if (access(programs[i], X_OK) == 0)
            return programs[i];
    return NULL;
}

static bool has_landlock(void)
{
#ifdef CAGE_TEST
    if (getenv("CAGE_TEST_NO_LANDLOCK"))
        return false;
#endif
    return landlock_version() > 0;
}

static bool wants_namespaces(void)
{
#ifdef CAGE_TEST
    if (getenv("CAGE_TEST_NO_NAMESPACES"))
        return false;
#endif
    return true;
}

/* Becomes QEMU; returns only on failure. arguments[0] is replaced: QEMU looks for its data from there. */
static int become_qemu(char **arguments, struct error **err)
{
    const char *program = find_qemu();
    if (!program) {
        int rc = error_set(err, ERROR_MISSING, "QEMU is not installed (\"%s\" cannot be run)", programs[0]);
        error_hint(err, "install qemu-system-x86");
        return rc;
    }
    arguments[0] = (char *)program;
    execv(program, arguments);
    return error_set_errno(err, errno, "cannot run \"%s\"", program);
}

/* libvirt's root may leave capabilities to a process of another user; bubblewrap takes that for a mistake. */
static void drop_capabilities(void)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    const struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {{0}};
    if (geteuid() != 0) {
        prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
        syscall(SYS_capset, &header, none);
    }
}

/* Kernels without Landlock: bubblewrap builds the view of the files and runs this program again in it. */
static int become_bubblewrap(const struct cage *cage, const struct cage_command *command, char **argv,
                             struct error **err)
{
    char self[4096];
    ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
    if (n < 0)
        return error_set_errno(err, errno, "cannot find this program");
    self[n] = '\0';
    if (access(BUBBLEWRAP, X_OK) < 0) {
        int rc = error_set(err, ERROR_MISSING,
                           "neither Landlock in the kernel nor bubblewrap: QEMU would run unconfined");
        error_hint(err, "install bubblewrap, or boot with landlock in the kernel's lsm= list");
        return rc;
    }
    char kind[] = INSIDE "=machine";
    if (command->kind == CAGE_PROBE)
        memcpy(kind, INSIDE "=probe", sizeof(INSIDE "=probe"));
    drop_capabilities();
    argv[0] = kind;
    char **wrapped = cage_bubblewrap(cage, command, self, argv);
    execv(BUBBLEWRAP, wrapped);
    int rc = error_set_errno(err, errno, "cannot run \"%s\"", BUBBLEWRAP);
    cage_bubblewrap_free(wrapped);
    return rc;
}

/* The ordinary way: in place. Returns only on failure. */
static int confine(const struct cage *cage, const struct cage_command *command, char **argv,
                   struct error **err)
{
    bool alone;
    int rc = cage_check(cage, err);
    if (rc == 0 && !has_landlock())
        return become_bubblewrap(cage, command, argv, err);
    if (rc == 0 && wants_namespaces())
        rc = cage_apply_namespaces(&alone, err);
    if (rc == 0)
        rc = cage_apply_files(cage, command, err);
    if (rc == 0)
        rc = cage_apply_filter(command->kind, command->kind == CAGE_MACHINE ? (int)getpid() : 0, err);
    return rc < 0 ? rc : become_qemu(argv, err);
}

/* Reads what is asked for and does it. */
static int run(char **argv, struct error **err)
{
    struct cage cage = {0};
    struct cage_command command = {0};
    const char *list = getenv(CAGE_VARIABLE);
    int rc = list ? cage_parse(list, &cage, err) : 0;

    if (rc == 0)
        rc = cage_command_read(argv, list != NULL, &command, err);
    unsetenv(CAGE_VARIABLE);
    if (rc == 0)
        rc = confine(&cage, &command, argv, err);
    cage_finish(&cage);
    cage_command_finish(&command);
    return rc;
}

/* Second run, inside bubblewrap, which made the namespaces. argv[1] says for what. */
static int run_inside(char **argv, struct error **err)
{
    enum cage_kind kind = strcmp(argv[1], INSIDE "=probe") == 0 ? CAGE_PROBE : CAGE_MACHINE;
    int rc = cage_apply_filter(kind, kind == CAGE_MACHINE ? (int)getpid() : 0, err);
    return rc < 0 ? rc : become_qemu(argv + 1, err);
}

int main(int argc, char **argv)
{
    struct error *err = NULL;
    const struct rlimit no_core = {0, 0};
    int rc;

    setrlimit(RLIMIT_CORE, &no_core);
    if (argc > 1 && strncmp(argv[1], INSIDE "=", sizeof(INSIDE)) == 0)
        rc = run_inside(argv, &err);
    else
        rc = run(argv, &err);
    require(rc < 0 && err != NULL);
    fprintf(stderr, "hutch-qemu: %s%s%s\n", err->message, err->hint ? "; " : "", err->hint ? err->hint : "");
    error_free(err);
    return 1;
}
