/* tcp.c: a stream as a TCP connection to a port of the guest's own loopback. */
#include "base/alloc.h"
#include "base/units.h"
#include "guest/api.h"
#include "wire/pump.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#define CONNECT_MS 250 /* loopback answers at once, but for a listener whose queue is full */

static int connect_loopback(uint16_t port, int *ret_fd, struct error **err)
{
    const struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const int on = 1;
    int sys = 0;
    socklen_t len = sizeof(sys);

    autoclose int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return error_set_errno(err, errno, "cannot open a socket");
    if (connect(fd, (const struct sockaddr *)&address, sizeof(address)))
        sys = errno;
    if (sys == EINPROGRESS) {
        struct pollfd wait = {.fd = fd, .events = POLLOUT};
        if (poll(&wait, 1, CONNECT_MS) != 1)
            sys = ETIMEDOUT;
        else
            getsockopt(fd, SOL_SOCKET, SO_ERROR, &sys, &len);
    }
    if (sys) {
        error_set(err, ERROR_NETWORK, "nothing answers on port %u of the machine: %s", port, strerror(sys));
        return error_hint(err, "start the server there, listening on 127.0.0.1");
    }
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    *ret_fd = steal_fd(&fd);
    return 0;
}

static void on_done(struct pump *pump, enum pump_end end, const struct error *err, void *user)
{
    call_free(user);
}

void tcp_connect(struct call *call)
{
    static const struct h2_field fields[] = {{"content-type", "application/octet-stream"}};
    uint64_t port;
    struct pump *pump;
    struct error *err = NULL;
    int fd = -1;

    int rc = units_parse_number(call->query.argument[0], 1, 65535, &port, &err);
    if (!rc)
        rc = connect_loopback((uint16_t)port, &fd, &err);
    if (!rc)
        rc = h2_respond(call->stream, 200, fields, countof(fields), true, &err);
    const struct pump_options options = {.fd_in = fd, .fd_out = fd, .own_fds = true, .on_done = on_done};
    if (!rc)
        rc = pump_create(&call->agent->loop, call->stream, &options, call, &pump, &err);
    if (!rc) {
        call->stream = NULL;
        return;
    }
    if (fd >= 0)
        close(fd);
    call_fail(call, err);
}
