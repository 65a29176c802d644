#include "diff/confine.h"

#include "base/alloc.h"
#include "base/landlock.h"
#include "diff/budget.h"

#include <errno.h>
#include <fcntl.h>
#include <seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define FULL false
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define FULL false
#endif
#endif
#ifndef FULL
#define FULL true
#endif

#define FILES_MAX 256 /* layers, and what there is */

/* What reading files that are open, and writing one, needs of a C library. */
static const int allowed[] = {
    SCMP_SYS(read),         SCMP_SYS(pread64),        SCMP_SYS(write),        SCMP_SYS(writev),
    SCMP_SYS(close),        SCMP_SYS(fstat),          SCMP_SYS(lseek),        SCMP_SYS(brk),
    SCMP_SYS(munmap),       SCMP_SYS(mremap),         SCMP_SYS(madvise),      SCMP_SYS(futex),
    SCMP_SYS(getrandom),    SCMP_SYS(clock_gettime),  SCMP_SYS(gettimeofday), SCMP_SYS(restart_syscall),
    SCMP_SYS(rt_sigreturn), SCMP_SYS(rt_sigprocmask), SCMP_SYS(getpid),       SCMP_SYS(gettid),
    SCMP_SYS(exit),         SCMP_SYS(exit_group),
};

/* Asked for by the C library on its own: refused, but not with death. */
static const int refused[] = {
    SCMP_SYS(open),   SCMP_SYS(openat),   SCMP_SYS(openat2), SCMP_SYS(stat),
    SCMP_SYS(access), SCMP_SYS(readlink), SCMP_SYS(ioctl),   SCMP_SYS(sysinfo),
};

static int failed(struct error **err, int rc, const char *what)
{
    return rc < 0 ? error_set_errno(err, -rc, "cannot confine the reader of file systems (%s)", what) : 0;
}

/* Calls that are harmless with some of their arguments only. */
static int add_partial_rules(scmp_filter_ctx filter)
{
    /* memory, but none that can be executed */
    int rc = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(mmap), 1,
                              SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0));
    if (rc == 0)
        rc = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(mprotect), 1,
                              SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0));
    /* fstat as newer C libraries make it */
    if (rc == 0)
        rc = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(newfstatat), 1,
                              SCMP_A3(SCMP_CMP_EQ, AT_EMPTY_PATH));
    if (rc == 0)
        rc = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EACCES), SCMP_SYS(newfstatat), 1,
                              SCMP_A3(SCMP_CMP_NE, AT_EMPTY_PATH));
    /* abort() of its own process */
    if (rc == 0)
        rc = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(tgkill), 1,
                              SCMP_A0(SCMP_CMP_EQ, (scmp_datum_t)getpid()));
    if (rc == 0)
        rc = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(rt_sigaction), 1,
                              SCMP_A0(SCMP_CMP_EQ, 6 /* SIGABRT */));
    return rc;
}

static int confine_calls(struct error **err)
{
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_KILL_PROCESS);
    int rc = filter ? 0 : -ENOMEM;

    for (size_t i = 0; i < countof(allowed) && rc == 0; i++)
        rc = seccomp_rule_add(filter, SCMP_ACT_ALLOW, allowed[i], 0);
    for (size_t i = 0; i < countof(refused) && rc == 0; i++)
        rc = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EACCES), refused[i], 0);
    if (rc == 0)
        rc = add_partial_rules(filter);
    if (rc == 0)
        rc = seccomp_load(filter);
    seccomp_release(filter);
    return failed(err, rc, "seccomp");
}

static int limit(int resource, rlim_t most, struct error **err)
{
    struct rlimit now;

    if (getrlimit(resource, &now) < 0)
        return failed(err, -errno, "getrlimit");
    if (most > now.rlim_max)
        most = now.rlim_max;
    now = (struct rlimit){most, most};
    return failed(err, setrlimit(resource, &now) < 0 ? -errno : 0, "setrlimit");
}

int diff_confine(uint64_t file_max, struct error **err)
{
    int rc = limit(RLIMIT_CORE, 0, err);

    if (rc == 0)
        rc = limit(RLIMIT_NOFILE, FILES_MAX, err);
    if (rc == 0)
        rc = limit(RLIMIT_CPU, DIFF_CPU_S, err);
    if (rc == 0)
        rc = limit(RLIMIT_FSIZE, file_max, err);
    if (rc < 0 || !FULL)
        return rc;
    rc = limit(RLIMIT_DATA, DIFF_MEMORY_MAX, err);
    if (rc == 0)
        rc = failed(err, prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 ? -errno : 0, "not dumpable");
    if (rc == 0)
        rc = landlock_confine(NULL, 0, err);
    return rc < 0 ? rc : confine_calls(err);
}
