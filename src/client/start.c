#include "client/client.h"

#include "base/alloc.h"
#include "base/fd.h"
#include "base/file.h"
#include "base/spawn.h"
#include "base/units.h"
#include "base/words.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define LOG_TAIL_MAX 400 /* bytes of hutchd.log that are shown when it ended at once */

/* Connects to a hutchd that runs, and is ours. */
static int try_connect(const struct paths *paths, int *ret_fd, struct error **err)
{
    autoclose int fd = -1;
    int rc = fd_unix_connect(paths->socket, SOCK_STREAM, &fd, err);
    if (rc < 0)
        return rc;
    uid_t uid;
    pid_t pid;
    rc = fd_peer(fd, &uid, &pid, err);
    if (rc < 0)
        return rc;
    if (uid != geteuid())
        return error_set(err, ERROR_DENIED, _("\"%s\" belongs to user %u, not to you"), paths->socket,
                         (unsigned)uid);
    *ret_fd = steal_fd(&fd);
    return 0;
}

/* Whether a failed connection means that nobody is there, so that a start can help. */
static bool nobody_there(const struct error *err)
{
    return err && (err->sys == ENOENT || err->sys == ECONNREFUSED);
}

/* hutchd's log, opened for appending; one that has grown long is put aside first. */
static int open_log(const char *path)
{
    struct stat st;
    if (stat(path, &st) == 0 && st.st_size > CLIENT_LOG_MAX) {
        autofree char *old = xasprintf("%s.1", path);
        rename(path, old);
    }
    return open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
}

/* The last line of a log as a hint. */
static int hint_from_log(const char *path, off_t from, struct error **err)
{
    char tail[LOG_TAIL_MAX + 1];
    autoclose int fd = open(path, O_RDONLY | O_CLOEXEC);
    off_t end = fd >= 0 ? lseek(fd, 0, SEEK_END) : 0;
    if (end - from > LOG_TAIL_MAX)
        from = end - LOG_TAIL_MAX;
    ssize_t n = fd >= 0 && end > from ? pread(fd, tail, LOG_TAIL_MAX, from) : 0;
    while (n > 0 && tail[n - 1] == '\n')
        n--;
    if (n <= 0)
        return error_hint(err, _("look into %s, or run: hutch doctor"), path);
    tail[n] = '\0';
    const char *line = strrchr(tail, '\n');
    return error_hint(err, _("it said: %s"), line ? line + 1 : tail);
}

/* Waits until the socket answers. The folder's inotify wakes for the socket's file, the pidfd for hutchd's
 * end. */
static int wait_answer(const struct paths *paths, pid_t pid, int notify, int *ret_fd, struct error **err)
{
    autoclose int process = (int)syscall(SYS_pidfd_open, pid, 0);
    int64_t until = units_monotonic_ns() + (int64_t)CLIENT_START_MS * 1000000;
    bool ended = false;
    for (;;) {
        struct error *own = NULL;
        if (try_connect(paths, ret_fd, &own) == 0)
            return 0;
        if (!nobody_there(own))
            return error_move(err, &own);
        error_free(own);
        if (ended)
            return error_set(err, ERROR_NO_DAEMON, _("hutchd ended as soon as it was started"));
        int64_t left_ms = (until - units_monotonic_ns()) / 1000000;
        if (left_ms <= 0)
            return error_set(err, ERROR_NO_DAEMON, _("hutchd was started but does not answer within %d s"),
                             CLIENT_START_MS / 1000);
        struct pollfd fds[2] = {{.fd = notify, .events = POLLIN}, {.fd = process, .events = POLLIN}};
        /* Between bind and listen a socket refuses: the file alone is not the answer, so look again soon. */
        poll(fds, 2, left_ms < 50 ? (int)left_ms : 50);
        char events[4096];
        if (fds[0].revents && read(notify, events, sizeof(events)) < 0)
            notify = -1;
        ended = fds[1].revents != 0;
    }
}

/* Starts hutchd and waits for it. Called under the start lock. */
static int start_daemon(const struct paths *paths, int *ret_fd, struct error **err)
{
    autofree char *program = NULL;
    int rc = paths_program(paths, "hutchd", &program, err);
    if (rc < 0)
        return rc;
    autofree char *log_path = file_join(paths->state, "hutchd.log");
    autoclose int log = open_log(log_path);
    if (log < 0)
        return error_set_errno(err, errno, _("cannot write \"%s\""), log_path);
    off_t log_start = lseek(log, 0, SEEK_END);
    autoclose int notify = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    if (notify >= 0)
        inotify_add_watch(notify, paths->run, IN_CREATE | IN_MOVED_TO | IN_ATTRIB);
    /* --wait: one that is just ending still holds its lock. */
    const char *const argv[] = {program, "--wait", NULL};
    const struct spawn spawn = {
        .argv = argv, .cwd = "/", .in = -1, .out = log, .err = log, .new_session = true};
    pid_t pid;
    rc = spawn_start(&spawn, &pid, err);
    if (rc < 0)
        return rc;
    rc = wait_answer(paths, pid, notify, ret_fd, err);
    if (rc < 0) {
        hint_from_log(log_path, log_start, err);
        waitpid(pid, NULL, WNOHANG);
    }
    return rc;
}

int client_open(const struct paths *paths, bool start, int *ret_fd, struct error **err)
{
    struct error *own = NULL;
    int rc = try_connect(paths, ret_fd, &own);
    if (rc == 0 || !nobody_there(own))
        return rc < 0 ? error_move(err, &own) : 0;
    error_free(own);
    if (!start) {
        error_set(err, ERROR_NO_DAEMON, _("hutchd does not run"));
        return error_hint(err, _("any command that needs it starts it, for example: hutch ls"));
    }
    rc = paths_create(paths, err);
    if (rc < 0)
        return rc;
    autofree char *lock_path = file_join(paths->run, "hutchd.start.lock");
    autoclose int lock = -1;
    rc = fd_lock_file(lock_path, true, true, &lock, err);
    if (rc < 0)
        return rc;
    /* Another client may have started it while we waited for the lock. */
    own = NULL;
    rc = try_connect(paths, ret_fd, &own);
    if (rc == 0 || !nobody_there(own))
        return rc < 0 ? error_move(err, &own) : 0;
    error_free(own);
    return start_daemon(paths, ret_fd, err);
}
