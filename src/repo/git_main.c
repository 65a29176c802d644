/* hutch-git: one transfer of packs between a mirror and a guest, confined before git starts: the mirror
 * read-only, the programs of /usr, no network, no other file. Descriptor 3 is the stream. It becomes git:
 * nothing of ours stays in the process. */
#include "base/alloc.h"
#include "base/landlock.h"
#include "base/log.h"

#include <errno.h>
#include <seccomp.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define STREAM_FD   3
#define FILES_MAX   512
#define MEMORY_MAX  (8ULL << 30)
#define CPU_SECONDS 3600

/* Limits that hold for git and all that it starts. */
static int set_limits(struct error **err)
{
    const struct {
        int what;
        rlim_t value;
    } limits[] = {
        {RLIMIT_CORE, 0}, {RLIMIT_NOFILE, FILES_MAX}, {RLIMIT_AS, MEMORY_MAX}, {RLIMIT_CPU, CPU_SECONDS}};

    for (size_t i = 0; i < countof(limits); i++) {
        struct rlimit limit = {limits[i].value, limits[i].value};
        if (setrlimit(limits[i].what, &limit) < 0)
            return error_set_errno(err, errno, "cannot set a resource limit");
    }
    return 0;
}

/* No sockets at all, also on kernels whose Landlock knows no network. */
static int deny_sockets(struct error **err)
{
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
    static const int denied[] = {SCMP_SYS(socket), SCMP_SYS(connect),          SCMP_SYS(bind),
                                 SCMP_SYS(ptrace), SCMP_SYS(process_vm_readv), SCMP_SYS(io_uring_setup),
                                 SCMP_SYS(mount),  SCMP_SYS(unshare)};
    int rc = filter ? 0 : -ENOMEM;

    for (size_t i = 0; rc == 0 && i < countof(denied); i++)
        rc = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), denied[i], 0);
    if (rc == 0)
        rc = seccomp_load(filter);
    seccomp_release(filter);
    return rc == 0 ? 0 : error_set_errno(err, -rc, "cannot load the system call filter");
}

/* Gives up everything but the mirror and the programs. */
static int confine(const char *mirror, struct error **err)
{
    const struct landlock_rule rules[] = {
        {"/usr", LANDLOCK_READ | LANDLOCK_EXECUTE},
        {"/bin", LANDLOCK_READ | LANDLOCK_EXECUTE},
        {"/lib", LANDLOCK_READ | LANDLOCK_EXECUTE},
        {"/lib64", LANDLOCK_READ | LANDLOCK_EXECUTE},
        {"/etc/ld.so.cache", LANDLOCK_READ},
        {"/etc/alternatives", LANDLOCK_READ},
        {"/dev/null", LANDLOCK_READ | LANDLOCK_WRITE},
        {"/dev/urandom", LANDLOCK_READ},
        {mirror, LANDLOCK_READ},
    };
    int rc = set_limits(err);
    if (rc == 0)
        rc = landlock_confine(rules, countof(rules), err);
    return rc == 0 ? deny_sockets(err) : rc;
}

/* Becomes `git push` of the given refspecs over the descriptor. */
static int push(const char *mirror, char **refspecs, int count, struct error **err)
{
    const char *const env[] = {"PATH=/usr/local/bin:/usr/bin:/bin",
                               "HOME=/nonexistent",
                               "LC_ALL=C",
                               "GIT_CONFIG_NOSYSTEM=1",
                               "GIT_CONFIG_GLOBAL=/dev/null",
                               "GIT_ATTR_NOSYSTEM=1",
                               "GIT_TERMINAL_PROMPT=0",
                               "GIT_ASKPASS=/bin/false",
                               "GIT_ALLOW_PROTOCOL=fd",
                               "GIT_NO_LAZY_FETCH=1",
                               NULL};
    /* packedGit…: what is mapped at a time, so that a large pack is not all of memory */
    const char *fixed[] = {"git",
                           "-c",
                           "core.hooksPath=/dev/null",
                           "-c",
                           "core.fsmonitor=false",
                           "-c",
                           "gc.auto=0",
                           "-c",
                           "push.recurseSubmodules=no",
                           "-c",
                           "safe.directory=*",
                           "-c",
                           "core.packedGitLimit=64m",
                           "-c",
                           "core.packedGitWindowSize=16m",
                           "--git-dir",
                           mirror,
                           "push",
                           "--progress",
                           "--no-verify",
                           "--no-signed",
                           "fd::3"};
    const char **argv = xnewn(const char *, countof(fixed) + (size_t)count + 1);

    memcpy(argv, fixed, sizeof(fixed));
    for (int i = 0; i < count; i++) {
        if (refspecs[i][0] == '-')
            return error_set(err, ERROR_USAGE, "a refspec cannot begin with '-'");
        argv[countof(fixed) + (size_t)i] = refspecs[i];
    }
    execve("/usr/bin/git", (char *const *)argv, (char *const *)env);
    return error_set_errno(err, errno, "cannot start git");
}

int main(int argc, char **argv)
{
    struct error *err = NULL;

    log_init("hutch-git");
    if (argc < 4 || strcmp(argv[1], "push") != 0 || argv[2][0] != '/') {
        fputs("usage: hutch-git push MIRROR REFSPEC...   (the stream on descriptor 3)\n", stderr);
        return 2;
    }
    if (dup2(STREAM_FD, STREAM_FD) < 0)
        error_set(&err, ERROR_USAGE, "descriptor 3 is not open");
    else if (confine(argv[2], &err) == 0)
        push(argv[2], argv + 3, argc - 3, &err);
    fprintf(stderr, "fatal: hutch-git: %s\n", err ? err->message : "it did not start");
    error_free(err);
    return 1;
}
