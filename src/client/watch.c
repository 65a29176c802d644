#include "client/watch.h"

#include "base/alloc.h"
#include "base/words.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>

struct watch {
    uv_poll_t poll; /* on `epoll`: libuv makes what it polls non-blocking, and that must not be fd */
    int epoll;      /* holds only fd; -1 for a file */
    int fd;
    int own; /* a description of our own for the same pipe, non-blocking; or -1 */
    bool write, on;
    enum watch_kind kind;
    void (*ready)(void *user);
    void *user;
};

static void on_poll(uv_poll_t *poll, int status, int events)
{
    struct watch *watch = poll->data;
    if (watch->on)
        watch->ready(watch->user);
}

static enum watch_kind find_kind(int fd)
{
    struct stat st;
    if (fstat(fd, &st) < 0)
        return WATCH_FILE;
    if (S_ISFIFO(st.st_mode))
        return WATCH_PIPE;
    if (S_ISSOCK(st.st_mode))
        return WATCH_SOCKET;
    return isatty(fd) ? WATCH_TERMINAL : WATCH_FILE;
}

int watch_create(uv_loop_t *loop, int fd, bool write, void (*ready)(void *user), void *user,
                 struct watch **ret_watch, struct error **err)
{
    struct watch *watch = xnew(struct watch);
    *watch = (struct watch){.epoll = -1,
                            .fd = fd,
                            .own = -1,
                            .write = write,
                            .kind = find_kind(fd),
                            .ready = ready,
                            .user = user};
    watch->poll.data = watch;
    if (watch->kind != WATCH_FILE) {
        struct epoll_event event = {.events = write ? EPOLLOUT : EPOLLIN};
        watch->epoll = epoll_create1(EPOLL_CLOEXEC);
        if (watch->epoll < 0 || epoll_ctl(watch->epoll, EPOLL_CTL_ADD, fd, &event) < 0 ||
            uv_poll_init(loop, &watch->poll, watch->epoll) < 0) {
            int sys = errno;
            if (watch->epoll >= 0)
                close(watch->epoll);
            free(watch);
            return error_set_errno(err, sys, _("cannot wait for descriptor %d"), fd);
        }
    }
    if (write && watch->kind == WATCH_PIPE) {
        char path[32];
        snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
        watch->own = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
    }
    *ret_watch = watch;
    return 0;
}

static void on_closed(uv_handle_t *handle)
{
    struct watch *watch = handle->data;
    close(watch->epoll);
    free(watch);
}

void watch_free(struct watch *watch)
{
    if (!watch)
        return;
    watch->on = false;
    if (watch->own >= 0)
        close(watch->own);
    if (watch->epoll < 0)
        free(watch);
    else
        uv_close((uv_handle_t *)&watch->poll, on_closed);
}

void watch_set(struct watch *watch, bool on)
{
    if (watch->on == on || watch->kind == WATCH_FILE)
        return;
    watch->on = on;
    if (on)
        require(uv_poll_start(&watch->poll, UV_READABLE, on_poll) == 0);
    else
        uv_poll_stop(&watch->poll);
}

enum watch_kind watch_kind(const struct watch *watch)
{
    return watch->kind;
}

ssize_t watch_read(struct watch *watch, void *data, size_t size)
{
    for (;;) {
        ssize_t n = read(watch->fd, data, size);
        if (n >= 0)
            return n;
        if (errno != EINTR)
            return -errno;
    }
}

/* Whether a write of PIPE_BUF bytes would not wait. */
static bool has_room(int fd)
{
    struct pollfd pollfd = {.fd = fd, .events = POLLOUT};
    return poll(&pollfd, 1, 0) == 1;
}

ssize_t watch_write(struct watch *watch, const void *data, size_t len)
{
    ssize_t n;
    do {
        if (watch->kind == WATCH_SOCKET) {
            n = send(watch->fd, data, len, MSG_DONTWAIT | MSG_NOSIGNAL);
        } else if (watch->own >= 0) {
            n = write(watch->own, data, len);
        } else if (watch->kind == WATCH_PIPE || watch->kind == WATCH_TERMINAL) {
            if (!has_room(watch->fd))
                return 0;
            n = write(watch->fd, data, len < PIPE_BUF ? len : PIPE_BUF);
        } else {
            n = write(watch->fd, data, len);
        }
    } while (n < 0 && errno == EINTR);
    if (n >= 0)
        return n;
    if (errno != EAGAIN)
        return -errno;
    /* A device that somebody made non-blocking: nothing would call us, so wait here. */
    if (watch->kind == WATCH_FILE)
        poll(&(struct pollfd){.fd = watch->fd, .events = POLLOUT}, 1, -1);
    return 0;
}
