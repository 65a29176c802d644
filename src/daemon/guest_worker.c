#include "daemon/guest_worker.h"

#include "base/alloc.h"
#include "base/fd.h"
#include "base/spawn.h"
#include "worker/channel.h"
#include "worker/flow_proto.h"
#include "worker/proto.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define STOP_MS     1000
#define SEND_BUFFER (512 * 1024) /* a whole call fits, and a few hundred list elements */
/* The largest that a worker sends: a list element, a flow's request. */
#define MESSAGE_MAX 8192
_Static_assert(sizeof(struct wmsg_item) <= MESSAGE_MAX && sizeof(struct wmsg_flow_ask) <= MESSAGE_MAX &&
                   sizeof(struct wmsg_flow_request) <= MESSAGE_MAX,
               "every message of a worker fits");

struct guest_worker {
    const struct guest_worker_ops *ops;
    void *user;
    pid_t pid;
    int pidfd;
    struct channel *channel;
    uv_poll_t reaper;
    uv_timer_t timer;
    unsigned handles;
    bool stopped;
};

static void on_closed(uv_handle_t *handle)
{
    struct guest_worker *worker = handle->data;

    if (--worker->handles == 0)
        free(worker);
}

/* The process is no more: everything of it goes. */
static void finish(struct guest_worker *worker)
{
    channel_close(worker->channel);
    worker->channel = NULL;
    uv_close((uv_handle_t *)&worker->reaper, on_closed);
    uv_close((uv_handle_t *)&worker->timer, on_closed);
    cleanup_close(&worker->pidfd);
}

static void on_exit_seen(uv_poll_t *handle, int status, int events)
{
    struct guest_worker *worker = handle->data;
    int result = 0;
    pid_t pid = waitpid(worker->pid, &result, WNOHANG);

    if (pid == 0)
        return;
    finish(worker);
    if (worker->stopped)
        return;
    worker->stopped = true;
    worker->ops->on_gone(WIFSIGNALED(result) ? 128 + WTERMSIG(result) : WEXITSTATUS(result), worker->user);
}

static void on_stop_timer(uv_timer_t *timer)
{
    struct guest_worker *worker = timer->data;
    kill(worker->pid, SIGKILL);
}

static void on_channel_message(struct channel *channel, const void *data, size_t len, int fd, void *user)
{
    struct guest_worker *worker = user;

    /* A worker sends no descriptors. */
    if (fd >= 0) {
        close(fd);
        guest_worker_kill(worker);
        return;
    }
    worker->ops->on_message(data, len, worker->user);
}

/* Either the process has ended (the pidfd tells with its status) or it broke the framing. */
static void on_channel_gone(struct channel *channel, const struct error *err, void *user)
{
    guest_worker_kill(user);
}

static void grow_buffer(int fd)
{
    int size = SEND_BUFFER;
    setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
}

static int start_process(const char *program, int socket, pid_t *ret_pid, struct error **err)
{
    const char *argv[] = {program, NULL};
    const char *env[] = {NULL};
    /* Its own words go to the log only for debugging: they could be a guest's. */
    int log = getenv("HUTCH_DEBUG") ? STDERR_FILENO : -1;
    struct spawn spawn = {.argv = argv,
                          .env = env,
                          .cwd = "/",
                          .in = -1,
                          .out = -1,
                          .err = log,
                          .keep = {socket},
                          .keep_count = 1,
                          .new_session = true};

    return spawn_start(&spawn, ret_pid, err);
}

/* Opens the pidfd and the channel; all or nothing. */
static int watch_process(uv_loop_t *loop, struct guest_worker *worker, int *channel_fd, struct error **err)
{
    static const struct channel_ops ops = {.on_message = on_channel_message, .on_gone = on_channel_gone};
    autoclose int pidfd = (int)syscall(SYS_pidfd_open, worker->pid, 0);

    if (pidfd < 0)
        return error_set_errno(err, errno, "cannot watch a new hutch-worker");
    int rc = channel_create(loop, steal_fd(channel_fd), MESSAGE_MAX, &ops, worker, &worker->channel, err);
    if (rc < 0)
        return rc;
    rc = uv_poll_init(loop, &worker->reaper, pidfd);
    if (rc < 0) {
        channel_close(worker->channel);
        return error_set(err, ERROR_IO, "cannot watch a new hutch-worker: %s", uv_strerror(rc));
    }
    worker->pidfd = steal_fd(&pidfd);
    return 0;
}

int guest_worker_start(uv_loop_t *loop, const char *program, const struct guest_worker_ops *ops, void *user,
                       struct guest_worker **ret_worker, struct error **err)
{
    int pair[2];
    int rc = fd_socketpair(SOCK_SEQPACKET, true, pair, err);

    if (rc < 0)
        return rc;
    autoclose int ours = pair[0];
    autoclose int theirs = pair[1];
    grow_buffer(ours);
    grow_buffer(theirs);
    pid_t pid = 0;
    rc = start_process(program, theirs, &pid, err);
    if (rc < 0)
        return rc;
    struct guest_worker *worker = xnew(struct guest_worker);
    worker->ops = ops;
    worker->user = user;
    worker->pid = pid;
    rc = watch_process(loop, worker, &ours, err);
    if (rc < 0) {
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
        free(worker);
        return rc;
    }
    uv_timer_init(loop, &worker->timer);
    worker->handles = 2;
    worker->reaper.data = worker->timer.data = worker;
    uv_poll_start(&worker->reaper, UV_READABLE, on_exit_seen);
    *ret_worker = worker;
    return 0;
}

void guest_worker_send(struct guest_worker *worker, const void *data, size_t len, int fd)
{
    if (worker->channel)
        channel_send(worker->channel, data, len, fd);
    else
        cleanup_close(&fd);
}

size_t guest_worker_queued(const struct guest_worker *worker)
{
    return worker->channel ? channel_queued(worker->channel) : 0;
}

void guest_worker_kill(struct guest_worker *worker)
{
    channel_close(worker->channel);
    worker->channel = NULL;
    kill(worker->pid, SIGKILL);
}

void guest_worker_stop(struct guest_worker *worker)
{
    worker->stopped = true;
    channel_close(worker->channel);
    worker->channel = NULL;
    uv_timer_start(&worker->timer, on_stop_timer, STOP_MS, 0);
}

pid_t guest_worker_process(const struct guest_worker *worker)
{
    return worker->pid;
}
