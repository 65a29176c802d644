#include "base/alloc.h"
#include "base/fd.h"
#include "base/file.h"
#include "base/units.h"
#include "guest/cgroup.h"
#include "guest/net.h"
#include "guest/net_environment.h"
#include "guest/session.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <termios.h>

#define STATUS_NOT_EXECUTABLE 126
#define STATUS_NOT_FOUND      127
#define STAT_MAX              4096
#define FILES_USUAL           1024

static const struct {
    const char *name;
    int number;
} signals[] = {
    {"HUP", SIGHUP},       {"INT", SIGINT},   {"QUIT", SIGQUIT}, {"KILL", SIGKILL}, {"USR1", SIGUSR1},
    {"USR2", SIGUSR2},     {"PIPE", SIGPIPE}, {"ALRM", SIGALRM}, {"TERM", SIGTERM}, {"CONT", SIGCONT},
    {"STOP", SIGSTOP},     {"TSTP", SIGTSTP}, {"TTIN", SIGTTIN}, {"TTOU", SIGTTOU}, {"WINCH", SIGWINCH},
    {"ABRT", SIGABRT},     {"SEGV", SIGSEGV}, {"BUS", SIGBUS},   {"FPE", SIGFPE},   {"ILL", SIGILL},
    {"TRAP", SIGTRAP},     {"URG", SIGURG},   {"PROF", SIGPROF}, {"POLL", SIGPOLL}, {"CHLD", SIGCHLD},
    {"VTALRM", SIGVTALRM}, {"XCPU", SIGXCPU}, {"XFSZ", SIGXFSZ}, {"SYS", SIGSYS},   {"PWR", SIGPWR},
};

int session_signal_number(const char *name, int *ret_signal, struct error **err)
{
    const char *bare = strncmp(name, "SIG", 3) == 0 ? name + 3 : name;
    uint64_t number;

    for (size_t i = 0; i < countof(signals); i++) {
        if (!strcmp(signals[i].name, bare)) {
            *ret_signal = signals[i].number;
            return 0;
        }
    }
    if (!units_parse_number(name, 1, (uint64_t)SIGRTMAX, &number, NULL)) {
        *ret_signal = (int)number;
        return 0;
    }
    error_set(err, ERROR_INVALID, "'%.32s' is no signal", name);
    return error_hint(err, "a name such as INT, TERM, KILL, or a number");
}

/* ---- the child's side: between fork and exec, in a process with one thread ---- */

struct child_setup {
    const struct session *session;
    int in, out, err; /* its 0, 1, 2; with a pty all three are the slave */
    char **argv, **env;
    const char *cgroup, *cwd;
};

/* Says on its stderr why there is no program, and ends. */
static void child_fail(int status, const char *what, const char *object, int error)
{
    autofree char *line = xasprintf("hutch: %s '%s': %s\n", what, object, strerror(error));
    if (fd_write_all(2, line, strlen(line), NULL))
        status = STATUS_NOT_EXECUTABLE;
    _exit(status);
}

static void child_reset(void)
{
    static const int ours[] = {SIGPIPE, SIGHUP, SIGINT, SIGTERM,
                               SIGCHLD}; /* stand_alone and libuv; all else is as it was */
    struct rlimit files;
    sigset_t none;
    sigemptyset(&none);
    for (size_t i = 0; i < countof(ours); i++)
        signal(ours[i], SIG_DFL);
    sigprocmask(SIG_SETMASK, &none, NULL);
    umask(022);
    prctl(PR_SET_DUMPABLE, 1);
    if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur == NET_FILES_MAX) {
        files.rlim_cur = FILES_USUAL; /* hutch-guest raised it for itself (net.c) */
        setrlimit(RLIMIT_NOFILE, &files);
    }
}

static void child_take_stdio(const struct child_setup *setup)
{
    if (setsid() < 0 || (setup->session->spec.pty && ioctl(setup->in, TIOCSCTTY, 0)))
        _exit(STATUS_NOT_EXECUTABLE);
    /* the three may already sit on 0, 1 or 2: copies above them first */
    int in = fcntl(setup->in, F_DUPFD, 10), out = fcntl(setup->out, F_DUPFD, 10),
        err = fcntl(setup->err, F_DUPFD, 10);
    if (in < 0 || out < 0 || err < 0 || dup2(in, 0) < 0 || dup2(out, 1) < 0 || dup2(err, 2) < 0)
        _exit(STATUS_NOT_EXECUTABLE);
    fd_close_from(3, NULL, 0);
}

static void child_run(const struct child_setup *setup) __attribute__((noreturn));
static void child_run(const struct child_setup *setup)
{
    const struct session *session = setup->session;
    struct error *err = NULL;

    child_reset();
    child_take_stdio(setup);
    if (setup->cgroup)
        cgroup_enter(setup->cgroup);
    cgroup_oom_score("0");
    if (user_become(session->user, &err))
        child_fail(STATUS_NOT_EXECUTABLE, "cannot become", session->user->name, err->sys ? err->sys : EPERM);
    if (chdir(setup->cwd))
        child_fail(STATUS_NOT_EXECUTABLE, "cannot enter the folder", setup->cwd, errno);
    user_set_environment((char ***)&setup->env, "PWD", setup->cwd);
    environ = setup->env;
    const char *file = setup->argv[0];
    if (!session->spec.argv || !session->spec.argv[0])
        file = session->user->shell; /* a login shell: argv[0] begins with a dash */
    execvp(file, setup->argv);
    child_fail(errno == ENOENT ? STATUS_NOT_FOUND : STATUS_NOT_EXECUTABLE, "cannot run", file, errno);
    _exit(STATUS_NOT_FOUND);
}

/* ---- our side ---- */

static int open_pty(struct session *session, int *ret_slave, struct error **err)
{
    char name[64];
    struct termios modes;
    struct winsize size = {.ws_row = (unsigned short)session->spec.rows,
                           .ws_col = (unsigned short)session->spec.columns};

    autoclose int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (master < 0 || grantpt(master) || unlockpt(master) || ptsname_r(master, name, sizeof(name)))
        return error_set_errno(err, errno, "cannot open a terminal");
    autoclose int slave = open(name, O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (slave < 0)
        return error_set_errno(err, errno, "cannot open the terminal '%s'", name);
    /* so that the program can open its terminal by name after it became the user */
    if (geteuid() == 0 && fchown(slave, session->user->uid, (gid_t)-1))
        return error_set_errno(err, errno, "cannot give the terminal '%s' to '%s'", name,
                               session->user->name);
    if (tcgetattr(slave, &modes) == 0) {
        modes.c_iflag |= IUTF8;
        tcsetattr(slave, TCSANOW, &modes);
    }
    ioctl(slave, TIOCSWINSZ, &size);
    session->master = steal_fd(&master);
    *ret_slave = steal_fd(&slave);
    return 0;
}

/* Pipes or a pty: our ends go into the session, the child's into ret_child. */
static int open_stdio(struct session *session, int ret_child[3], struct error **err)
{
    if (session->spec.pty) {
        int rc = open_pty(session, &ret_child[0], err);
        if (rc)
            return rc;
        ret_child[1] = ret_child[2] = ret_child[0];
        session->program_out = session->master;
        session->program_in = fcntl(session->master, F_DUPFD_CLOEXEC, 3);
        return session->program_in < 0 ? error_set_errno(err, errno, "cannot copy a descriptor") : 0;
    }
    int in[2], out[2], errors[2];
    if (pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC) || pipe2(errors, O_CLOEXEC))
        return error_set_errno(err, errno, "cannot open pipes"); /* the process ends with it */
    ret_child[0] = in[0];
    session->program_in = in[1];
    session->program_out = out[0];
    ret_child[1] = out[1];
    session->program_err = errors[0];
    ret_child[2] = errors[1];
    return 0;
}

static char **build_environment(const struct session *session)
{
    char **env = user_environment(session->user, session->bin);

    net_environment_add(&env);
    user_set_environment(&env, "HUTCH_SESSION", session->id);
    if (session->spec.pty || session->spec.term)
        user_set_environment(&env, "TERM", session->spec.term ? session->spec.term : "xterm-256color");
    for (char **e = session->spec.env; e && *e; e++) {
        autofree char *key = xstrdup(*e);
        char *value = strchr(key, '=');
        *value++ = '\0';
        user_set_environment(&env, key, value);
    }
    return env;
}

/* The argument list; for a login shell "-bash". */
static char **build_argv(const struct session *session)
{
    if (session->spec.argv && session->spec.argv[0])
        return session->spec.argv;
    const char *base = strrchr(session->user->shell, '/');
    char **argv = xnewn(char *, 2);
    argv[0] = xasprintf("-%s", base ? base + 1 : session->user->shell);
    return argv;
}

int session_child_start(struct session *session, struct error **err)
{
    int child[3] = {-1, -1, -1};
    autofree char *cgroup = xasprintf(CGROUP_SESSIONS "/%s", session->id);

    session->master = session->program_in = session->program_out = session->program_err = -1;
    int rc = open_stdio(session, child, err);
    if (rc)
        return rc;
    session->has_cgroup = cgroup_make(cgroup);
    const struct child_setup setup = {.session = session,
                                      .in = child[0],
                                      .out = child[1],
                                      .err = child[2],
                                      .argv = build_argv(session),
                                      .env = build_environment(session),
                                      .cgroup = session->has_cgroup ? cgroup : NULL,
                                      .cwd = session->cwd};
    session->pid = fork();
    if (session->pid < 0)
        return error_set_errno(err, errno, "cannot start a process");
    if (session->pid == 0)
        child_run(&setup);
    session->shown_pid = session->pid;
    close(child[0]);
    if (child[1] != child[0]) {
        close(child[1]);
        close(child[2]);
    }
    user_free_environment(setup.env);
    if (setup.argv != session->spec.argv)
        json_free_strings(setup.argv);
    return 0;
}

int session_child_signal(struct session *session, int signal, struct error **err)
{
    pid_t group = session->master >= 0 && !session->out.ended ? tcgetpgrp(session->master) : -1;

    if (session->pid == 0 && group <= 0)
        return error_set(err, ERROR_STATE, "the session '%s' has ended", session->id);
    if (group > 0 && kill(-group, signal) == 0)
        return 0;
    /* before its setsid the child has no group of its own yet */
    if (session->pid == 0 || (kill(-session->pid, signal) && kill(session->pid, signal)))
        return error_set(err, ERROR_STATE, "the session '%s' has ended", session->id);
    return 0;
}

/* The session id of a process: the sixth field of /proc/PID/stat, behind a name that may contain anything. */
static bool in_session(const char *pid, pid_t sid)
{
    autofree char *path = xasprintf("/proc/%s/stat", pid);
    autofree char *data = NULL;
    size_t len;
    int parent, group, found;

    if (file_read(path, STAT_MAX, &data, &len, NULL))
        return false;
    const char *after = strrchr(data, ')');
    return after && sscanf(after, ") %*c %d %d %d", &parent, &group, &found) == 3 && found == sid;
}

void session_child_signal_all(struct session *session, int signal)
{
    autofree char *cgroup = xasprintf(CGROUP_SESSIONS "/%s", session->id);
    uint64_t pid;

    if (session->has_cgroup && cgroup_signal(cgroup, signal))
        return;
    if (session->pid)
        kill(session->pid, signal);
    DIR *proc = opendir("/proc");
    for (struct dirent *entry; proc && (entry = readdir(proc));)
        if (!units_parse_number(entry->d_name, 2, INT32_MAX, &pid, NULL) &&
            in_session(entry->d_name, session->shown_pid))
            kill((pid_t)pid, signal);
    if (proc)
        closedir(proc);
}

int session_child_resize(struct session *session, int64_t rows, int64_t columns, struct error **err)
{
    const struct winsize size = {.ws_row = (unsigned short)rows, .ws_col = (unsigned short)columns};

    if (session->master < 0)
        return error_set(err, ERROR_STATE, "the session '%s' has no terminal", session->id);
    if (session->out.ended)
        return 0; /* nobody is there to see it */
    if (ioctl(session->master, TIOCSWINSZ, &size))
        return error_set_errno(err, errno, "cannot resize the terminal");
    session->spec.rows = rows;
    session->spec.columns = columns;
    return 0;
}
