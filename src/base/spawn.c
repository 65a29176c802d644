#include "base/spawn.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/fd.h"
#include "base/text.h"
#include "base/units.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* How much of the end of stderr is kept for the message. */
#define STDERR_TAIL 4096
/* First number that is no target in the child: 0, 1, 2 and the kept ones. */
#define FIRST_FREE (3 + SPAWN_KEEP_MAX)

extern char **environ;

/* The sources of the child's descriptors, all with numbers of no target, so that no dup2 hits another's
 * source. */
struct sources {
    int fds[FIRST_FREE];
    size_t count;
};

static void sources_finish(struct sources *sources)
{
    for (size_t i = 0; i < sources->count; i++)
        cleanup_close(&sources->fds[i]);
}

static int sources_init(struct sources *sources, const struct spawn *spawn, struct error **err)
{
    const int standard[] = {spawn->in, spawn->out, spawn->err};
    require(spawn->keep_count <= SPAWN_KEEP_MAX);
    for (size_t i = 0; i < 3 + spawn->keep_count; i++) {
        int from = i < 3 ? standard[i] : spawn->keep[i - 3];
        require(i < 3 || from >= 0);
        int fd = from < 0 ? open("/dev/null", O_RDWR | O_CLOEXEC) : from;
        int high = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, FIRST_FREE);
        int sys = errno;
        if (from < 0 && fd >= 0)
            close(fd);
        if (high < 0)
            return error_set_errno(err, sys, "cannot give descriptor %d to \"%s\"", from, spawn->argv[0]);
        sources->fds[sources->count++] = high;
    }
    return 0;
}

/* What happens in the child before the program: descriptors in their places, all others closed, the folder.
 */
static int set_actions(posix_spawn_file_actions_t *actions, const struct sources *sources,
                       const struct spawn *spawn)
{
    int rc = 0;
    for (size_t i = 0; i < sources->count && !rc; i++)
        rc = posix_spawn_file_actions_adddup2(actions, sources->fds[i], i);
    if (!rc)
        rc = posix_spawn_file_actions_addclosefrom_np(actions, sources->count);
    if (!rc && spawn->cwd)
        rc = posix_spawn_file_actions_addchdir_np(actions, spawn->cwd);
    return rc;
}

static int set_attributes(posix_spawnattr_t *attributes, bool new_session)
{
    sigset_t all, none;
    sigfillset(&all);
    sigdelset(&all, SIGKILL);
    sigdelset(&all, SIGSTOP);
    sigemptyset(&none);
    int rc = posix_spawnattr_setsigdefault(attributes, &all);
    if (!rc)
        rc = posix_spawnattr_setsigmask(attributes, &none);
    if (!rc)
        rc = posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK |
                                                      (new_session ? POSIX_SPAWN_SETSID : 0));
    return rc;
}

/* The message for a program that did not start. */
static int start_failed(const struct spawn *spawn, int sys, struct error **err)
{
    struct stat st;
    if (spawn->cwd && (stat(spawn->cwd, &st) < 0 || !S_ISDIR(st.st_mode)))
        return error_set(err, ERROR_NOT_FOUND, "cannot start \"%s\": no folder \"%s\"", spawn->argv[0],
                         spawn->cwd);
    if (sys == ENOENT || sys == EACCES || sys == ENOTDIR) {
        error_set(err, ERROR_MISSING, "the program \"%s\" is not there or cannot be run", spawn->argv[0]);
        error_hint(err, "install it, or put its folder into PATH");
        return -ERROR_MISSING;
    }
    return error_set_errno(err, sys, "cannot start \"%s\"", spawn->argv[0]);
}

int spawn_start(const struct spawn *spawn, pid_t *ret_pid, struct error **err)
{
    require(spawn->argv && spawn->argv[0]);
    struct sources sources __attribute__((cleanup(sources_finish))) = {0};
    int rc = sources_init(&sources, spawn, err);
    if (rc < 0)
        return rc;
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    require(!posix_spawn_file_actions_init(&actions) && !posix_spawnattr_init(&attributes));
    int sys = set_actions(&actions, &sources, spawn);
    if (!sys)
        sys = set_attributes(&attributes, spawn->new_session);
    if (!sys)
        sys = posix_spawnp(ret_pid, spawn->argv[0], &actions, &attributes, (char *const *)spawn->argv,
                           spawn->env ? (char *const *)spawn->env : environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return sys ? start_failed(spawn, sys, err) : 0;
}

int spawn_wait(pid_t pid, int *ret_status, struct error **err)
{
    int status;
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return error_set_errno(err, errno, "cannot wait for process %d", (int)pid);
    *ret_status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    return 0;
}

/* One running command and what it said so far. */
struct run {
    const struct spawn *spawn;
    pid_t pid;
    int out, err, pidfd; /* -1: ended */
    struct buf out_text, err_text;
};

static void run_finish(struct run *run)
{
    cleanup_close(&run->out);
    cleanup_close(&run->err);
    cleanup_close(&run->pidfd);
    buf_finish(&run->out_text);
    buf_finish(&run->err_text);
}

/* Starts the command with pipes for its output. */
static int run_start(struct run *run, const struct spawn *spawn, struct error **err)
{
    int out[2], errors[2];
    if (pipe2(out, O_CLOEXEC) < 0)
        return error_set_errno(err, errno, "cannot make a pipe");
    autoclose int out_write = out[1];
    run->out = out[0];
    if (pipe2(errors, O_CLOEXEC) < 0)
        return error_set_errno(err, errno, "cannot make a pipe");
    autoclose int errors_write = errors[1];
    run->err = errors[0];
    struct spawn piped = *spawn;
    piped.out = out_write;
    piped.err = errors_write;
    int rc = fd_set_nonblocking(run->out, true, err);
    if (rc < 0 || (rc = fd_set_nonblocking(run->err, true, err)) < 0)
        return rc;
    return spawn_start(&piped, &run->pid, err);
}

/* Reads what is there. Nothing is stored beyond the limit of out_text; of stderr the end is kept. */
static int drain(struct run *run, int *fd, bool store, struct error **err)
{
    char block[16384];
    while (*fd >= 0) {
        ssize_t n = read(*fd, block, sizeof(block));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            return 0;
        if (n <= 0) {
            close(steal_fd(fd));
            return 0;
        }
        if (fd == &run->err) {
            buf_append(&run->err_text, block, n, NULL);
            if (run->err_text.len > STDERR_TAIL)
                buf_consume(&run->err_text, run->err_text.len - STDERR_TAIL);
        } else if (store && buf_append(&run->out_text, block, n, err) < 0) {
            return error_prefix(err, "the output of \"%s\"", run->spawn->argv[0]);
        }
    }
    return 0;
}

/* Until the process has ended. Others may hold its pipes open for longer: they are not waited for. */
static int run_loop(struct run *run, int timeout_ms, bool store, struct error **err)
{
    int64_t end = timeout_ms > 0 ? units_monotonic_ns() + (int64_t)timeout_ms * 1000000 : 0;
    for (;;) {
        int64_t left = end ? (end - units_monotonic_ns() + 999999) / 1000000 : -1;
        if (end && left <= 0)
            return error_set(err, ERROR_TIMED_OUT, "\"%s\" did not end within %d ms", run->spawn->argv[0],
                             timeout_ms);
        struct pollfd polls[] = {{run->pidfd, POLLIN, 0}, {run->out, POLLIN, 0}, {run->err, POLLIN, 0}};
        int n = poll(polls, countof(polls), left > INT_MAX ? INT_MAX : (int)left);
        if (n < 0 && errno != EINTR)
            return error_set_errno(err, errno, "cannot wait for \"%s\"", run->spawn->argv[0]);
        if (n <= 0)
            continue;
        int rc = drain(run, &run->out, store, err);
        if (rc < 0 || (rc = drain(run, &run->err, true, err)) < 0)
            return rc;
        if (polls[0].revents)
            return 0;
    }
}

/* The last line of stderr that is not empty, made safe (it may hold anything, also NULs). Caller frees. */
static char *last_line(const struct buf *tail)
{
    const char *data = (const char *)buf_data(tail);
    size_t len = tail->len;
    while (len && strchr("\n\r \t", data[len - 1]))
        len--;
    const char *before = memrchr(data, '\n', len);
    const char *line = before ? before + 1 : data;
    struct text text;
    text_init(&text, line, len - (line - data), STDERR_TAIL, TEXT_DEFAULT);
    return text.bytes;
}

/* The error of a command that ended by itself, but not well. */
static int run_failed(struct run *run, int status, struct error **err)
{
    autofree char *line = last_line(&run->err_text);
    const char *between = *line ? ": " : "";
    if (status > 128)
        return error_set(err, ERROR_FAILED, "\"%s\" was ended by signal %d%s%s", run->spawn->argv[0],
                         status - 128, between, line);
    return error_set(err, ERROR_FAILED, "\"%s\" failed with status %d%s%s", run->spawn->argv[0], status,
                     between, line);
}

int spawn_run(const struct spawn *spawn, int timeout_ms, size_t out_limit, char **ret_out, struct error **err)
{
    struct run run __attribute__((cleanup(run_finish))) = {.spawn = spawn, .out = -1, .err = -1, .pidfd = -1};
    buf_init(&run.out_text, out_limit);
    buf_init(&run.err_text, 0);
    int rc = run_start(&run, spawn, err);
    if (rc < 0)
        return rc;
    run.pidfd = pidfd_open(run.pid, 0);
    rc = run.pidfd < 0 ? error_set_errno(err, errno, "cannot watch \"%s\"", spawn->argv[0])
                       : run_loop(&run, timeout_ms, ret_out != NULL, err);
    if (rc < 0)
        kill(spawn->new_session ? -run.pid : run.pid, SIGKILL);
    int status, waited = spawn_wait(run.pid, &status, rc < 0 ? NULL : err);
    if (rc < 0 || waited < 0)
        return rc < 0 ? rc : waited;
    if (status)
        return run_failed(&run, status, err);
    if (ret_out)
        *ret_out = buf_take_string(&run.out_text);
    return 0;
}
