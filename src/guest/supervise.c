#include "guest/supervise.h"

#include "base/alloc.h"
#include "base/fd.h"
#include "base/file.h"
#include "base/log.h"
#include "base/units.h"
#include "guest/cgroup.h"
#include "guest/place.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define SELF         "@hutch-guest"
#define BACK_OFF_MIN 100  /* ms */
#define BACK_OFF_MAX 5000 /* ms */
#define SHORT_LIFE   1000 /* ms: less than this is a crash loop */
#define CGROUP_TICK  500  /* ms: until the machine has mounted its cgroups */

static void ignore_farewells(void)
{
    signal(SIGTERM, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    signal(SIGINT, SIG_IGN);
    signal(SIGPIPE, SIG_IGN);
}

/* stderr becomes the kernel's log, which the console and the journal show; nothing of the root file system
 * stays open. */
static void detach_stdio(void)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC), log = open("/dev/kmsg", O_WRONLY | O_CLOEXEC);

    if (null >= 0) {
        dup2(null, 0);
        dup2(null, 1);
    }
    if (log >= 0 || null >= 0)
        dup2(log >= 0 ? log : null, 2);
    if (null > 2)
        close(null);
    if (log > 2)
        close(log);
}

/* hutch-guest runs to the very end, from a file system of its own: systemd must not try to unmount that
 * before, and say in red that it could not. In /run/systemd, but not in the folder whose existence says that
 * systemd works. */
static void keep_mounted(void)
{
    static const char folder[] = "/run/systemd/system.control/run-hutch-bin.mount.d";
    static const char text[] = "[Unit]\nDefaultDependencies=no\n";
    autofree char *path = file_join(folder, "hutch.conf");

    if (file_make_folder(folder, 0755, NULL) == 0)
        file_replace(path, text, strlen(text), 0644, NULL);
}

static void become(const char *const *argv) __attribute__((noreturn));
static void become(const char *const *argv)
{
    sigset_t none;

    /* the supervisor blocks SIGCHLD to wait for it; a mask is inherited over exec, and serve lives by that
     * signal */
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    execv(PLACE_PROGRAM, (char *const *)argv);
    execv("/proc/self/exe", (char *const *)argv);
    _exit(127);
}

int supervise_begin(int argc, char **argv)
{
    static const char *const inits[] = {
        "/sbin/init", "/lib/systemd/systemd", "/usr/lib/systemd/systemd", "/etc/init", "/bin/init",
        "/bin/sh"};
    static const char *const supervise[] = {SELF, "supervise", NULL};
    keep_mounted();
    pid_t pid = fork();

    /* without a child the machine still starts; hutch says then that its agent does not answer */
    if (pid == 0) {
        setsid();
        if (chdir("/"))
            _exit(127);
        detach_stdio();
        become(supervise);
    }
    for (size_t i = 0; i < countof(inits); i++) {
        argv[0] = (char *)inits[i];
        execv(inits[i], argv);
    }
    return 1;
}

static pid_t start_serve(void)
{
    static const char *const serve[] = {SELF, "serve", NULL};
    pid_t pid = fork();

    if (pid == 0)
        become(serve);
    return pid;
}

/* The init system moves everybody into a group of its own when it starts; then we leave it. True when it is
 * done for good. */
static bool settle_cgroup(pid_t serve)
{
    if (access("/run/systemd/system", F_OK) != 0 || !cgroup_make(CGROUP_AGENT) ||
        !cgroup_make(CGROUP_SESSIONS))
        return false;
    return cgroup_enter(CGROUP_AGENT) && (serve <= 0 || cgroup_adopt(CGROUP_AGENT, serve));
}

/* Waits for a child, at most ms (-1: for ever). Returns its pid, or 0. SIGCHLD is blocked: it is taken here.
 */
static pid_t wait_child(int ms)
{
    const struct timespec limit = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    sigset_t set;
    pid_t pid = waitpid(-1, NULL, WNOHANG);

    if (pid > 0)
        return pid;
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    if (ms < 0)
        sigwaitinfo(&set, NULL);
    else
        sigtimedwait(&set, NULL, &limit);
    pid = waitpid(-1, NULL, WNOHANG);
    return pid > 0 ? pid : 0;
}

int supervise_main(int argc, char **argv)
{
    int64_t started = 0;
    int back_off = 0;
    bool settled = false;
    pid_t serve = -1;
    sigset_t set;

    ignore_farewells();
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    sigprocmask(SIG_BLOCK, &set, NULL);
    for (;;) {
        if (serve <= 0) {
            cgroup_oom_score("-1000"); /* inherited; session_child.c and task_as.c set it back */
            started = units_monotonic_ns();
            serve = start_serve();
        }
        if (!settled)
            settled = settle_cgroup(serve);
        /* a fork that failed is tried again like a child that ended */
        pid_t ended = wait_child(serve < 0 ? BACK_OFF_MIN : settled ? -1 : CGROUP_TICK);
        if (serve < 0 || ended != serve)
            continue;
        serve = -1;
        bool crash_loop = units_monotonic_ns() - started < (int64_t)SHORT_LIFE * 1000000;
        back_off = !crash_loop                   ? 0
                   : back_off == 0               ? BACK_OFF_MIN
                   : back_off * 2 < BACK_OFF_MAX ? back_off * 2
                                                 : BACK_OFF_MAX;
        log_warning("hutch-guest serve ended; it is started again%s", crash_loop ? " after a while" : "");
        if (crash_loop)
            usleep((useconds_t)back_off * 1000);
    }
}
