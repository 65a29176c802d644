/* confine_probe CHECK:ARGUMENT…: stands in for QEMU under hutch-qemu, tries things and prints one line for
 * each: "CHECK:ARGUMENT 0", or the name of the error. */
#include <errno.h>
#include <fcntl.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static int result(long rc)
{
    return rc < 0 ? errno : 0;
}

static int try_open(const char *path, int flags)
{
    int fd = open(path, flags | O_CLOEXEC, 0600);
    return result(fd);
}

static int check_read(const char *path)
{
    return try_open(path, O_RDONLY);
}

static int check_write(const char *path)
{
    return try_open(path, O_WRONLY);
}

static int check_create(const char *path)
{
    return try_open(path, O_WRONLY | O_CREAT | O_EXCL);
}

static int check_remove(const char *path)
{
    return result(unlink(path));
}

static int check_rename(const char *path)
{
    char to[4096];
    snprintf(to, sizeof(to), "%s.moved", path);
    return result(rename(path, to));
}

static int check_link(const char *path)
{
    return result(symlink("/etc/passwd", path));
}

static int check_truncate(const char *path)
{
    return result(truncate(path, 0));
}

static int check_chmod(const char *path)
{
    return result(chmod(path, 0777));
}

/* Connects to a UNIX socket; '@' begins an abstract name. */
static int check_connect(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t len = strlen(path);
    int fds[2];
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    if (fd < 0) /* connect itself must be closed too: an inherited socket could be used */
        fd = socketpair(AF_UNIX, SOCK_STREAM, 0, fds) < 0 ? -1 : fds[0];
    memcpy(address.sun_path, path, len);
    if (path[0] == '@')
        address.sun_path[0] = '\0';
    return result(
        connect(fd, (struct sockaddr *)&address, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len)));
}

static int check_socket(const char *family)
{
    return result(socket((int)strtol(family, NULL, 10), SOCK_STREAM, 0));
}

static int check_pair(const char *type)
{
    int fds[2];
    return result(socketpair(AF_UNIX, (int)strtol(type, NULL, 10), 0, fds));
}

static int check_kill(const char *pid)
{
    return result(kill(strcmp(pid, "self") == 0 ? getpid() : (int)strtol(pid, NULL, 10), 0));
}

static int check_trace(const char *pid)
{
    return result(ptrace(PTRACE_ATTACH, (int)strtol(pid, NULL, 10), NULL, NULL));
}

static int check_memory(const char *pid)
{
    char byte;
    struct iovec local = {&byte, 1}, remote = {&byte, 1};
    return result(process_vm_readv((int)strtol(pid, NULL, 10), &local, 1, &remote, 1, 0));
}

static int check_unshare(const char *ignored)
{
    return result(unshare(CLONE_NEWUSER));
}

static int check_uring(const char *ignored)
{
    char parameters[256] = "";
    return result(syscall(SYS_io_uring_setup, 4, parameters));
}

static int check_core(const char *ignored)
{
    struct rlimit limit;
    getrlimit(RLIMIT_CORE, &limit);
    return limit.rlim_cur == 0 && limit.rlim_max == 0 ? 0 : ERANGE;
}

static int check_variable(const char *name)
{
    return getenv(name) ? EEXIST : 0;
}

/* 0: the process is in the network namespace of this name. */
static int check_namespace(const char *name)
{
    char now[64] = "";
    if (readlink("/proc/self/ns/net", now, sizeof(now) - 1) < 0)
        return errno;
    return strcmp(now, name) == 0 ? 0 : EXDEV;
}

/* 0: the only interface is lo, and it is down. */
static int check_interfaces(const char *ignored)
{
    struct ifreq requests[16];
    struct ifconf list = {.ifc_len = sizeof(requests), .ifc_req = requests};
    struct ifreq lo = {.ifr_name = "lo"};
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    if (fd < 0 || ioctl(fd, SIOCGIFCONF, &list) < 0 || ioctl(fd, SIOCGIFFLAGS, &lo) < 0)
        return errno;
    return list.ifc_len == 0 && !(lo.ifr_flags & IFF_UP) ? 0 : ENETUNREACH;
}

/* A thread is what QEMU needs most. */
static int check_fork(const char *ignored)
{
    pid_t pid = fork();
    if (pid == 0)
        _exit(7);
    int status;
    return pid > 0 && waitpid(pid, &status, 0) == pid && WEXITSTATUS(status) == 7 ? 0 : errno;
}

static const struct {
    const char *name;
    int (*run)(const char *argument);
} checks[] = {
    {"read", check_read},           {"write", check_write},
    {"create", check_create},       {"remove", check_remove},
    {"rename", check_rename},       {"link", check_link},
    {"truncate", check_truncate},   {"chmod", check_chmod},
    {"connect", check_connect},     {"socket", check_socket},
    {"pair", check_pair},           {"kill", check_kill},
    {"trace", check_trace},         {"memory", check_memory},
    {"unshare", check_unshare},     {"uring", check_uring},
    {"core", check_core},           {"variable", check_variable},
    {"namespace", check_namespace}, {"interfaces", check_interfaces},
    {"fork", check_fork},
};

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        const char *colon = strchr(argv[i], ':');
        for (size_t k = 0; colon && k < sizeof(checks) / sizeof(checks[0]); k++) {
            if (strlen(checks[k].name) != (size_t)(colon - argv[i]) ||
                memcmp(checks[k].name, argv[i], (size_t)(colon - argv[i])) != 0)
                continue;
            int error = checks[k].run(colon + 1);
            printf("%s %s\n", argv[i], error == 0 ? "0" : strerrorname_np(error));
        }
    }
    return 0;
}
