#include "base/fd.h"

#include "base/alloc.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

void cleanup_close(int *fd)
{
    int saved = errno;
    if (*fd >= 0)
        close(*fd);
    errno = saved;
}

void cleanup_fclose(FILE **file)
{
    int saved = errno;
    if (*file)
        fclose(*file);
    errno = saved;
}

/* Sets or clears one bit by the given pair of fcntl commands. */
static int change_flag(int fd, int get, int set, int flag, bool on, struct error **err)
{
    int flags = fcntl(fd, get);
    if (flags < 0 || fcntl(fd, set, on ? flags | flag : flags & ~flag) < 0)
        return error_set_errno(err, errno, "descriptor %d: cannot change its flags", fd);
    return 0;
}

int fd_set_nonblocking(int fd, bool on, struct error **err)
{
    return change_flag(fd, F_GETFL, F_SETFL, O_NONBLOCK, on, err);
}

int fd_set_cloexec(int fd, bool on, struct error **err)
{
    return change_flag(fd, F_GETFD, F_SETFD, FD_CLOEXEC, on, err);
}

int fd_write_all(int fd, const void *data, size_t len, struct error **err)
{
    const char *p = data;
    while (len) {
        ssize_t n = write(fd, p, len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return error_set_errno(err, errno, "cannot write");
        p += n;
        len -= n;
    }
    return 0;
}

int fd_read_all(int fd, void *data, size_t len, struct error **err)
{
    char *p = data;
    while (len) {
        ssize_t n = read(fd, p, len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return error_set_errno(err, errno, "cannot read");
        if (!n)
            return error_set(err, ERROR_IO, "cannot read: it ended %zu bytes early", len);
        p += n;
        len -= n;
    }
    return 0;
}

int fd_socketpair(int type, bool nonblocking, int ret_fds[2], struct error **err)
{
    if (socketpair(AF_UNIX, type | SOCK_CLOEXEC | (nonblocking ? SOCK_NONBLOCK : 0), 0, ret_fds) < 0)
        return error_set_errno(err, errno, "cannot make a pair of sockets");
    return 0;
}

/* The address of a socket file; a path that the kernel would cut is refused. */
static int unix_address(const char *path, struct sockaddr_un *ret, struct error **err)
{
    size_t len = strlen(path);
    if (len > FD_UNIX_PATH_MAX || !len) {
        error_set(err, ERROR_INVALID, "socket path \"%s\" has %zu bytes, the system takes %d", path, len,
                  FD_UNIX_PATH_MAX);
        error_hint(err, "set HUTCH_HOME to a folder with a shorter path");
        return -ERROR_INVALID;
    }
    *ret = (struct sockaddr_un){.sun_family = AF_UNIX};
    memcpy(ret->sun_path, path, len);
    return 0;
}

int fd_unix_connect(const char *path, int type, int *ret_fd, struct error **err)
{
    struct sockaddr_un address;
    int rc = unix_address(path, &address, err);
    if (rc < 0)
        return rc;
    autoclose int fd = socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return error_set_errno(err, errno, "cannot make a socket");
    while (connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0) {
        if (errno == EINTR)
            continue;
        /* A full queue: the connection is neither made nor under way. */
        if (errno == EAGAIN)
            return error_set(err, ERROR_BUSY, "\"%s\" takes no further connection now", path);
        return error_set_errno(err, errno, "cannot connect to \"%s\"", path);
    }
    *ret_fd = steal_fd(&fd);
    return 0;
}

/* Removes a socket file that nobody listens on; one in use, or another kind of file, is an error. */
static int remove_stale(const char *path, int type, struct error **err)
{
    struct stat st;
    if (lstat(path, &st) < 0)
        return errno == ENOENT ? 0 : error_set_errno(err, errno, "cannot look at \"%s\"", path);
    if (!S_ISSOCK(st.st_mode))
        return error_set(err, ERROR_EXISTS, "\"%s\" is there and is no socket", path);
    auto(error) struct error *why = NULL;
    autoclose int fd = -1;
    if (fd_unix_connect(path, type, &fd, &why) == 0 || why->code == ERROR_BUSY)
        return error_set(err, ERROR_BUSY, "\"%s\" is in use by another process", path);
    if (why->sys != ECONNREFUSED && why->sys != ENOENT)
        return error_move(err, &why);
    if (unlink(path) < 0 && errno != ENOENT)
        return error_set_errno(err, errno, "cannot remove \"%s\"", path);
    return 0;
}

int fd_unix_listen(const char *path, int type, mode_t mode, int *ret_fd, struct error **err)
{
    struct sockaddr_un address;
    int rc = unix_address(path, &address, err);
    if (rc < 0 || (rc = remove_stale(path, type, err)) < 0)
        return rc;
    autoclose int fd = socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return error_set_errno(err, errno, "cannot make a socket");
    if (bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
        return error_set_errno(err, errno, "cannot listen on \"%s\"", path);
    /* The mode is right before anybody can connect: that needs the listen below. */
    if (chmod(path, mode) < 0 || (type != SOCK_DGRAM && listen(fd, 128) < 0)) {
        int sys = errno;
        unlink(path);
        return error_set_errno(err, sys, "cannot listen on \"%s\"", path);
    }
    *ret_fd = steal_fd(&fd);
    return 0;
}

union control {
    struct cmsghdr align;
    char bytes[CMSG_SPACE(FD_PASS_MAX * sizeof(int))];
};

int fd_send(int socket, const void *data, size_t len, const int *fds, size_t fd_count, struct error **err)
{
    require(fd_count <= FD_PASS_MAX && len > 0);
    union control control = {0};
    struct iovec iov = {.iov_base = (void *)data, .iov_len = len};
    struct msghdr message = {.msg_iov = &iov, .msg_iovlen = 1};
    if (fd_count) {
        message.msg_control = control.bytes;
        message.msg_controllen = CMSG_SPACE(fd_count * sizeof(int));
        struct cmsghdr *header = CMSG_FIRSTHDR(&message);
        require(header);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(fd_count * sizeof(int));
        memcpy(CMSG_DATA(header), fds, fd_count * sizeof(int));
    }
    ssize_t n;
    while ((n = sendmsg(socket, &message, MSG_NOSIGNAL)) < 0 && errno == EINTR)
        ;
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
        return 0;
    if (n < 0)
        return error_set_errno(err, errno, "cannot send a message");
    if ((size_t)n != len)
        return error_set(err, ERROR_IO, "a message of %zu bytes was sent in part", len);
    return 1;
}

/* Collects the descriptors of a received message; those beyond room are closed. Returns how many there were.
 */
static size_t take_fds(struct msghdr *message, int *fds, size_t room)
{
    size_t count = 0;
    for (struct cmsghdr *header = CMSG_FIRSTHDR(message); header; header = CMSG_NXTHDR(message, header)) {
        if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS)
            continue;
        size_t n = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (size_t i = 0; i < n; i++, count++) {
            int fd;
            memcpy(&fd, CMSG_DATA(header) + i * sizeof(int), sizeof(fd));
            if (count < room)
                fds[count] = fd;
            else
                close(fd);
        }
    }
    return count;
}

int fd_receive(int socket, void *data, size_t size, size_t *ret_len, int *ret_fds, size_t fd_room,
               size_t *ret_fd_count, struct error **err)
{
    union control control;
    struct iovec iov = {.iov_base = data, .iov_len = size};
    struct msghdr message = {.msg_iov = &iov,
                             .msg_iovlen = 1,
                             .msg_control = control.bytes,
                             .msg_controllen = sizeof(control.bytes)};
    ssize_t n;
    while ((n = recvmsg(socket, &message, MSG_CMSG_CLOEXEC)) < 0 && errno == EINTR)
        ;
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
        return 0;
    if (n < 0)
        return error_set_errno(err, errno, "cannot receive a message");

    int fds[FD_PASS_MAX];
    size_t count = take_fds(&message, fds, FD_PASS_MAX);
    int rc = 0;
    if (message.msg_flags & MSG_TRUNC)
        rc = error_set(err, ERROR_PROTOCOL, "a message is longer than %zu bytes", size);
    else if ((message.msg_flags & MSG_CTRUNC) || count > fd_room || count > FD_PASS_MAX)
        rc = error_set(err, ERROR_PROTOCOL, "a message brings more than %zu descriptors",
                       fd_room < FD_PASS_MAX ? fd_room : FD_PASS_MAX);
    else if (!n)
        rc = error_set(err, ERROR_IO, "the other side closed");
    if (rc < 0) {
        for (size_t i = 0; i < count && i < FD_PASS_MAX; i++)
            close(fds[i]);
        return rc;
    }
    for (size_t i = 0; i < count; i++)
        ret_fds[i] = fds[i];
    if (ret_fd_count)
        *ret_fd_count = count;
    *ret_len = n;
    return 1;
}

int fd_peer(int socket, uid_t *ret_uid, pid_t *ret_pid, struct error **err)
{
    struct ucred peer;
    socklen_t len = sizeof(peer);
    if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0)
        return error_set_errno(err, errno, "cannot tell who is connected");
    *ret_uid = peer.uid;
    *ret_pid = peer.pid;
    return 0;
}

/* Closes the range; where the kernel has no close_range one descriptor after the other. */
static void close_span(unsigned first, unsigned last)
{
    if (first > last || close_range(first, last, 0) == 0)
        return;
    long most = sysconf(_SC_OPEN_MAX);
    for (unsigned fd = first; fd <= last && (long)fd < most; fd++)
        close(fd);
}

void fd_close_from(int first, const int *keep, size_t keep_count)
{
    /* No memory is taken: this also runs between fork and exec. */
    for (;;) {
        int next = -1;
        for (size_t i = 0; i < keep_count; i++)
            if (keep[i] >= first && (next < 0 || keep[i] < next))
                next = keep[i];
        if (next < 0)
            break;
        if (next > first)
            close_span(first, next - 1);
        first = next + 1;
    }
    close_span(first, UINT_MAX);
}

int fd_lock_file(const char *path, bool exclusive, bool wait, int *ret_fd, struct error **err)
{
    autoclose int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY, 0600);
    if (fd < 0)
        return error_set_errno(err, errno, "cannot open the lock \"%s\"", path);
    while (flock(fd, (exclusive ? LOCK_EX : LOCK_SH) | (wait ? 0 : LOCK_NB)) < 0) {
        if (errno == EINTR)
            continue;
        if (errno == EWOULDBLOCK)
            return error_set(err, ERROR_BUSY, "\"%s\" is locked by another process", path);
        return error_set_errno(err, errno, "cannot lock \"%s\"", path);
    }
    *ret_fd = steal_fd(&fd);
    return 0;
}
