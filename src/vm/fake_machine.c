/* hutch-fake-machine GUEST CONSOLE CONTROL EGRESS BULK: what a machine is to hutchd, without one: the three
 * port sockets, as QEMU would make them, in front of a hutch-guest that runs on this host (GUEST serve
 * --ports FOLDER). One client a port at a time; bytes that the guest writes while nobody is there are lost,
 * as with virtio-serial. Ends with its guest. */
#include "base/alloc.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/file.h"
#include "base/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <signal.h>

#define PORTS      3
#define BLOCK      ((size_t)32 << 10)
#define CONNECT_MS 10 /* between two attempts to reach the guest */

static const char *const names[PORTS] = {"control.sock", "egress.sock", "bulk.sock"};

/* Bytes on their way in one direction. */
struct flow {
    char data[BLOCK];
    size_t start, end;
};
struct relay {
    char *guest_path;
    int listener, host, guest;
    struct flow to_guest, to_host;
};

/* Reads into an empty flow; -1 at the end of the connection. */
static int fill(int fd, struct flow *flow)
{
    ssize_t n = read(fd, flow->data, sizeof(flow->data));
    if (n <= 0)
        return n < 0 && (errno == EAGAIN || errno == EINTR) ? 0 : -1;
    flow->start = 0;
    flow->end = (size_t)n;
    return 0;
}

/* Writes what it holds; -1 when the other side is gone. */
static int drain(int fd, struct flow *flow)
{
    ssize_t n = send(fd, flow->data + flow->start, flow->end - flow->start, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n < 0)
        return errno == EAGAIN || errno == EINTR ? 0 : -1;
    flow->start += (size_t)n;
    return 0;
}

static bool is_empty(const struct flow *flow)
{
    return flow->start == flow->end;
}

static void let_go(int *fd, struct flow *flow)
{
    close(*fd);
    *fd = -1;
    flow->start = flow->end = 0;
}

/* What to wait for on the relay's three descriptors. */
static void prepare(const struct relay *relay, struct pollfd fds[3])
{
    fds[0] = (struct pollfd){.fd = relay->host < 0 ? relay->listener : -1, .events = POLLIN};
    fds[1] = (struct pollfd){.fd = relay->host};
    fds[2] = (struct pollfd){.fd = relay->guest};
    if (is_empty(&relay->to_guest) && relay->guest >= 0)
        fds[1].events |= POLLIN;
    if (!is_empty(&relay->to_host))
        fds[1].events |= POLLOUT;
    if (is_empty(&relay->to_host))
        fds[2].events |= POLLIN;
    if (!is_empty(&relay->to_guest))
        fds[2].events |= POLLOUT;
    for (int i = 1; i < 3; i++) /* a hang-up that is not waited for would wake at once, again and again */
        if (fds[i].events == 0)
            fds[i].fd = -1;
}

/* Moves what can be moved. */
static void move(struct relay *relay, const struct pollfd fds[3])
{
    if (fds[0].revents)
        relay->host = accept4(relay->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fds[1].fd >= 0 && fds[1].revents & (POLLIN | POLLHUP | POLLERR) && is_empty(&relay->to_guest) &&
        fill(relay->host, &relay->to_guest) < 0)
        let_go(&relay->host, &relay->to_host);
    if (fds[2].fd >= 0 && fds[2].revents & (POLLIN | POLLHUP | POLLERR) && is_empty(&relay->to_host) &&
        fill(relay->guest, &relay->to_host) < 0)
        let_go(&relay->guest, &relay->to_guest);
    if (relay->host < 0)
        relay->to_host.start = relay->to_host.end = 0; /* nobody is there: lost */
    else if (!is_empty(&relay->to_host) && drain(relay->host, &relay->to_host) < 0)
        let_go(&relay->host, &relay->to_host);
    if (relay->guest >= 0 && !is_empty(&relay->to_guest) && drain(relay->guest, &relay->to_guest) < 0)
        let_go(&relay->guest, &relay->to_guest);
}

/* Relays until the guest's process has ended. */
static void run(struct relay relays[PORTS], int guest_process)
{
    for (;;) {
        struct pollfd fds[PORTS * 3 + 1];
        int timeout = -1;
        for (size_t i = 0; i < PORTS; i++) {
            if (relays[i].guest < 0 &&
                fd_unix_connect(relays[i].guest_path, SOCK_STREAM, &relays[i].guest, NULL) < 0) {
                relays[i].guest = -1;
                timeout = CONNECT_MS;
            }
            prepare(&relays[i], fds + i * 3);
        }
        fds[PORTS * 3] = (struct pollfd){.fd = guest_process, .events = POLLIN};
        if (poll(fds, countof(fds), timeout) < 0 && errno != EINTR)
            return;
        if (fds[PORTS * 3].revents)
            return;
        for (size_t i = 0; i < PORTS; i++)
            move(&relays[i], fds + i * 3);
    }
}

/* Starts hutch-guest with its ports in a folder beside the console's log. */
static int start_guest(const char *program, const char *console, const char *folder, pid_t *ret_pid,
                       struct error **err)
{
    const char *net = getenv("HUTCH_FAKE_NET"); /* "listen": with its proxy */
    const char *argv[] = {program, "serve", "--ports", folder, net ? "--net" : NULL, net, NULL};
    autoclose int log = open(console, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (log < 0)
        return error_set_errno(err, errno, "cannot open \"%s\"", console);
    struct spawn spawn = {.argv = argv, .in = -1, .out = log, .err = log};
    return spawn_start(&spawn, ret_pid, err);
}

static int start(char **argv, struct relay relays[PORTS], int *ret_process, struct error **err)
{
    autofree char *folder = xasprintf("%.*s/g", (int)(strrchr(argv[3], '/') - argv[3]), argv[3]);
    pid_t pid;
    int rc = file_make_folder(folder, 0700, err);
    for (size_t i = 0; rc == 0 && i < PORTS; i++) {
        relays[i].guest_path = file_join(folder, names[i]);
        unlink(relays[i].guest_path); /* of an earlier run */
    }
    if (rc == 0)
        rc = start_guest(argv[1], argv[2], folder, &pid, err);
    for (size_t i = 0; rc == 0 && i < PORTS; i++) {
        relays[i].host = relays[i].guest = -1;
        rc = fd_unix_listen(argv[3 + i], SOCK_STREAM, 0600, &relays[i].listener, err);
    }
    if (rc == 0)
        *ret_process = (int)syscall(SYS_pidfd_open, pid, 0);
    return rc;
}

int main(int argc, char **argv)
{
    static struct relay relays[PORTS];
    struct error *err = NULL;
    int process = -1;
    if (argc != 3 + PORTS) {
        fprintf(stderr, "usage: hutch-fake-machine GUEST CONSOLE CONTROL EGRESS BULK\n");
        return 2;
    }
    signal(SIGPIPE, SIG_IGN);
    if (start(argv, relays, &process, &err) < 0) {
        fprintf(stderr, "hutch-fake-machine: %s\n", err->message);
        error_free(err);
        return 1;
    }
    run(relays, process);
    kill(0, SIGKILL); /* what is left of the guest, and itself */
    return 0;
}
