#include "vm/cage_apply.h"

#include "base/alloc.h"

#include <errno.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>

/* Refused by name with EPERM. Landlock does not cover these, or not in every kernel: pathname UNIX sockets
 * (the user's session bus, agents, hutchd), truncate by path (before Linux 6.2), modes, owners and times of
 * any file of the same user, other processes, keyrings, namespaces, io_uring (which does all of it again
 * without system calls). */
static const char *const denied[] = {
    "connect",
    "bpf",
    "perf_event_open",
    "userfaultfd",
    "ptrace",
    "process_vm_readv",
    "process_vm_writev",
    "process_madvise",
    "pidfd_open",
    "pidfd_getfd",
    "pidfd_send_signal",
    "kcmp",
    "rt_sigqueueinfo",
    "rt_tgsigqueueinfo",
    "tkill",
    "keyctl",
    "add_key",
    "request_key",
    "mount",
    "umount2",
    "move_mount",
    "open_tree",
    "fsopen",
    "fspick",
    "fsmount",
    "mount_setattr",
    "pivot_root",
    "chroot",
    "unshare",
    "setns",
    "truncate",
    "chmod",
    "fchmod", /* frozen layers lie beside the one that is written: their mode keeps them */
    "fchmodat",
    "fchmodat2",
    "chown",
    "lchown",
    "fchownat",
    "utime",
    "utimes",
    "futimesat",
    "utimensat",
    "setxattr",
    "lsetxattr",
    "removexattr",
    "lremovexattr",
    "setxattrat",
    "removexattrat",
    "mknod",
    "mknodat",
    "open_by_handle_at",
    "name_to_handle_at",
    "fanotify_init",
    "inotify_init",
    "inotify_init1",
    "quotactl",
    "swapon",
    "swapoff",
    "acct",
    "reboot",
    "kexec_load",
    "kexec_file_load",
    "init_module",
    "finit_module",
    "delete_module",
    "syslog",
    "setdomainname",
    "sethostname",
    "msgget",
    "semget",
    "shmget",
    "mq_open",
};

/* Not there, as on an older kernel: the caller has another way (epoll, clone). */
static const char *const absent[] = {"io_uring_setup", "io_uring_enter", "io_uring_register", "clone3"};

static const unsigned namespace_flags[] = {CLONE_NEWNS,   CLONE_NEWCGROUP, CLONE_NEWUTS, CLONE_NEWIPC,
                                           CLONE_NEWUSER, CLONE_NEWPID,    CLONE_NEWNET};

/* Adds one rule by the system call's name; one that this libseccomp does not know yet cannot be named in a
 * filter. */
static int deny(scmp_filter_ctx filter, int errnum, const char *name, unsigned count,
                const struct scmp_arg_cmp *args)
{
    int number = seccomp_syscall_resolve_name(name);
    if (number == __NR_SCMP_ERROR)
        return 0;
    return seccomp_rule_add_array(filter, SCMP_ACT_ERRNO((uint32_t)errnum), number, count, args);
}

/* A machine's sockets are made by libvirt and inherited; QEMU needs no other. A probe makes one UNIX socket
 * of its own. */
static int deny_sockets(scmp_filter_ctx filter, enum cage_kind kind)
{
    struct scmp_arg_cmp not_unix = SCMP_A0(SCMP_CMP_NE, AF_UNIX);
    struct scmp_arg_cmp not_stream = SCMP_A1(SCMP_CMP_MASKED_EQ, 15, 0);
    int rc = kind == CAGE_PROBE ? deny(filter, EPERM, "socket", 1, &not_unix)
                                : deny(filter, EPERM, "socket", 0, NULL);
    if (rc == 0 && kind == CAGE_MACHINE)
        rc = deny(filter, EPERM, "bind", 0, NULL);
    /* a datagram socket could send to any other by its path: only streams */
    for (unsigned type = 0; rc == 0 && type <= 15; type++) {
        if (type == SOCK_STREAM)
            continue;
        not_stream.datum_b = type;
        rc = deny(filter, EPERM, "socketpair", 1, &not_stream);
        if (rc == 0 && kind == CAGE_PROBE)
            rc = deny(filter, EPERM, "socket", 1, &not_stream);
    }
    return rc;
}

/* Signals go to itself only. */
static int deny_signals(scmp_filter_ctx filter, int pid)
{
    struct scmp_arg_cmp other = SCMP_A0(SCMP_CMP_NE, (scmp_datum_t)pid);
    if (pid == 0)
        return 0;
    int rc = deny(filter, EPERM, "kill", 1, &other);
    return rc < 0 ? rc : deny(filter, EPERM, "tgkill", 1, &other);
}

static int add_rules(scmp_filter_ctx filter, enum cage_kind kind, int pid)
{
    struct scmp_arg_cmp terminal[] = {SCMP_A1(SCMP_CMP_MASKED_EQ, 0xffffffff, TIOCSTI),
                                      SCMP_A1(SCMP_CMP_MASKED_EQ, 0xffffffff, TIOCLINUX)};
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < countof(denied); i++)
        rc = deny(filter, EPERM, denied[i], 0, NULL);
    for (size_t i = 0; rc == 0 && i < countof(absent); i++)
        rc = deny(filter, ENOSYS, absent[i], 0, NULL);
    for (size_t i = 0; rc == 0 && i < countof(namespace_flags); i++) {
        struct scmp_arg_cmp flag = SCMP_A0(SCMP_CMP_MASKED_EQ, namespace_flags[i], namespace_flags[i]);
        rc = deny(filter, EPERM, "clone", 1, &flag);
    }
    for (size_t i = 0; rc == 0 && i < countof(terminal); i++)
        rc = deny(filter, EPERM, "ioctl", 1, &terminal[i]);
    if (rc == 0)
        rc = deny_sockets(filter, kind);
    return rc < 0 ? rc : deny_signals(filter, pid);
}

int cage_apply_filter(enum cage_kind kind, int pid, struct error **err)
{
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
    require(filter != NULL);
    /* calls of another architecture (i386, x32) have other numbers: the process is killed, as by QEMU's own
     * filter */
    int rc = seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
    if (rc == 0)
        rc = add_rules(filter, kind, pid);
    if (rc == 0 && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        rc = -errno;
    if (rc == 0)
        rc = seccomp_load(filter);
    seccomp_release(filter);
    if (rc < 0)
        return error_set_errno(err, -rc, "cannot put the system call filter on");
    return 0;
}
