#include "guest/net.h"

#include "base/alloc.h"
#include "base/file.h"
#include "base/log.h"
#include "guest/capture.h"
#include "guest/claim.h"
#include "guest/denials.h"
#include "guest/flow.h"
#include "guest/net_environment.h"
#include "guest/route.h"
#include "guest/stub.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>

#define BACKLOG     512
#define ACCEPT_MAX  64 /* of one turn */
#define NAMES_TRIES 16
#define PAUSE_MS    100 /* without descriptors: until the next try */
#define LISTENERS   5
#define DNS_PORT    53
#define ADDRESS_MAX (INET6_ADDRSTRLEN + 8)

struct listener {
    struct net *net;
    uv_poll_t poll;
    uv_timer_t pause;
    unsigned handles;
    int fd;
    enum flow_door door;
};

struct net {
    struct agent *agent;
    enum net_mode mode;
    struct claims *claims;
    struct denials *denials;
    struct stub *stub;
    struct flows *flows;
    struct capture *capture; /* NULL: not in this mode */
    struct listener *listeners[LISTENERS];
    size_t listener_count;
    char proxy[ADDRESS_MAX]; /* "" : there is none */
    char *trouble;           /* why a part is missing, or NULL */
};

static void on_connection(uv_poll_t *poll, int status, int events);

static void note_trouble(struct net *net, const struct error *err)
{
    log_warning("%s", err->message);
    free(net->trouble);
    net->trouble = xstrdup(err->message);
}

/* ---- sockets ---- */

/* Where a socket is to be. */
struct spot {
    const char *address;
    uint16_t port; /* 0: the kernel chooses */
    int type;
};

static socklen_t fill_address(const struct spot *spot, struct sockaddr_storage *ret)
{
    struct sockaddr_in *v4 = (struct sockaddr_in *)ret;
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)ret;

    memset(ret, 0, sizeof(*ret));
    v4->sin_port = htons(spot->port); /* the same place in both families */
    if (inet_pton(AF_INET, spot->address, &v4->sin_addr) == 1) {
        ret->ss_family = AF_INET;
        return sizeof(*v4);
    }
    require(inet_pton(AF_INET6, spot->address, &v6->sin6_addr) == 1);
    ret->ss_family = AF_INET6;
    return sizeof(*v6);
}

/* A bound socket, TCP ones listening. *ret_port (may be NULL) is its port. */
static int open_socket(const struct spot *spot, int *ret_fd, uint16_t *ret_port, struct error **err)
{
    struct sockaddr_storage address;
    socklen_t len = fill_address(spot, &address);
    const int on = 1;

    autoclose int fd = socket(address.ss_family, spot->type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return error_set_errno(err, errno, "cannot open a socket for '%s'", spot->address);
    if (spot->type == SOCK_STREAM)
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    if (address.ss_family == AF_INET6)
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on));
    if (bind(fd, (const struct sockaddr *)&address, len) ||
        (spot->type == SOCK_STREAM && listen(fd, BACKLOG)) ||
        getsockname(fd, (struct sockaddr *)&address, &len))
        return error_set_errno(err, errno, "cannot listen on port %u of '%s'", spot->port, spot->address);
    if (ret_port)
        *ret_port = ntohs(((struct sockaddr_in *)&address)->sin_port);
    *ret_fd = steal_fd(&fd);
    return 0;
}

/* As above; what fails is trouble, but for a kernel without IPv6. */
static bool try_socket(struct net *net, const struct spot *spot, int *ret_fd, uint16_t *ret_port)
{
    auto(error) struct error *err = NULL;

    if (open_socket(spot, ret_fd, ret_port, &err) == 0)
        return true;
    bool v6 = strchr(spot->address, ':') != NULL;
    if (!v6 || (err->sys != EAFNOSUPPORT && err->sys != EADDRNOTAVAIL))
        note_trouble(net, err);
    return false;
}

/* ---- listeners ---- */

static void on_pause_over(uv_timer_t *timer)
{
    struct listener *listener = timer->data;
    uv_poll_start(&listener->poll, UV_READABLE, on_connection);
}

static void on_connection(uv_poll_t *poll, int status, int events)
{
    struct listener *listener = poll->data;

    for (int i = 0; i < ACCEPT_MAX; i++) {
        int fd = accept4(listener->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)) {
            log_warning("no connection can be taken: %s", strerror(errno));
            uv_poll_stop(poll);
            uv_timer_start(&listener->pause, on_pause_over, PAUSE_MS, 0);
            return;
        }
        if (fd < 0)
            return;
        flows_take(listener->net->flows, fd, listener->door, CAPTURE_PORT);
    }
}

static void add_listener(struct net *net, int fd, enum flow_door door)
{
    struct listener *listener = xnew(struct listener);

    require(net->listener_count < LISTENERS);
    net->listeners[net->listener_count++] = listener;
    listener->net = net;
    listener->fd = fd;
    listener->door = door;
    listener->handles = 2;
    uv_timer_init(&net->agent->loop, &listener->pause);
    require(uv_poll_init(&net->agent->loop, &listener->poll, fd) == 0);
    listener->poll.data = listener->pause.data = listener;
    uv_poll_start(&listener->poll, UV_READABLE, on_connection);
}

static void on_listener_closed(uv_handle_t *handle)
{
    struct listener *listener = handle->data;
    if (--listener->handles == 0)
        free(listener);
}

static void end_listener(struct listener *listener)
{
    uv_close((uv_handle_t *)&listener->poll, on_listener_closed);
    uv_close((uv_handle_t *)&listener->pause, on_listener_closed);
    close(listener->fd);
}

/* ---- the two modes ---- */

/* Where any port will do, the one that UDP got may be taken for TCP: then another pair. */
static void serve_names(struct net *net, const char *address, uint16_t port, uint16_t *ret_port)
{
    const struct spot udp = {address, port, SOCK_DGRAM};
    struct spot tcp = {address, port, SOCK_STREAM};
    int fd, tcp_fd = -1;

    for (int i = 0; i < NAMES_TRIES && tcp_fd < 0; i++) {
        bool last = port || i == NAMES_TRIES - 1;
        if (!try_socket(net, &udp, &fd, &tcp.port))
            return;
        if (!(last ? try_socket(net, &tcp, &tcp_fd, NULL) : open_socket(&tcp, &tcp_fd, NULL, NULL) == 0) &&
            !last) {
            close(fd);
            continue;
        }
        stub_serve(net->stub, fd, false);
        if (ret_port)
            *ret_port = tcp.port;
        if (tcp_fd >= 0)
            stub_serve(net->stub, tcp_fd, true);
        return;
    }
}

static void listen_for_test(struct net *net)
{
    const struct spot spot = {"127.0.0.1", 0, SOCK_STREAM};
    autofree char *path = file_join(net->agent->place.run, "net.json");
    uint16_t port = 0, dns = 0;
    int fd;

    if (try_socket(net, &spot, &fd, &port)) {
        snprintf(net->proxy, sizeof(net->proxy), "127.0.0.1:%u", port);
        add_listener(net, fd, FLOW_PROXY);
    }
    serve_names(net, "127.0.0.1", 0, &dns);
    autofree char *text = xasprintf("{\"proxy\":%u,\"dns\":%u}\n", port, dns);
    file_replace(path, text, strlen(text), 0644, NULL);
}

static void listen_in_machine(struct net *net)
{
    static const struct {
        struct spot spot;
        enum flow_door door;
    } spots[] = {
        {{"127.0.0.1", NET_PROXY_PORT, SOCK_STREAM}, FLOW_PROXY},
        {{ROUTE_ADDRESS_TEXT, NET_PROXY_PORT, SOCK_STREAM}, FLOW_PROXY},
        {{"::1", NET_PROXY_PORT, SOCK_STREAM}, FLOW_PROXY},
        {{"0.0.0.0", CAPTURE_PORT, SOCK_STREAM}, FLOW_CAPTURE},
        {{"::", CAPTURE_PORT, SOCK_STREAM}, FLOW_CAPTURE},
    };
    auto(error) struct error *err = NULL;

    if (route_set_up(&err))
        note_trouble(net, err);
    for (size_t i = 0; i < countof(spots); i++) {
        int fd;
        if (!try_socket(net, &spots[i].spot, &fd, NULL))
            continue;
        add_listener(net, fd, spots[i].door);
        /* The address of the second means the machine in a container too, which podman gives the variables
         * of the session that starts it. */
        if (i < 2)
            snprintf(net->proxy, sizeof(net->proxy), "%s:%d", spots[i].spot.address, NET_PROXY_PORT);
    }
    serve_names(net, "0.0.0.0", CAPTURE_DNS, NULL);
    serve_names(net, "::", CAPTURE_DNS, NULL);
    serve_names(net, "127.0.0.1", DNS_PORT, NULL);
    serve_names(net, "::1", DNS_PORT, NULL);
    net->capture = capture_create(net->agent);
}

/* A connection is a descriptor. Sessions get back what they would have had (session_child.c). */
static void allow_descriptors(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur >= NET_FILES_MAX)
        return;
    limit.rlim_cur = limit.rlim_max < NET_FILES_MAX ? limit.rlim_max : NET_FILES_MAX;
    setrlimit(RLIMIT_NOFILE, &limit);
}

struct net *net_create(struct agent *agent, enum net_mode mode)
{
    struct net *net = xnew(struct net);

    net->agent = agent;
    net->mode = mode;
    allow_descriptors();
    net->claims = claims_create(&agent->loop);
    net->denials = denials_create(agent->place.run);
    net->stub = stub_create(&agent->loop, agent->place.run);
    const struct flows_parts parts = {
        .loop = &agent->loop, .claims = net->claims, .denials = net->denials, .stub = net->stub};
    net->flows = flows_create(&parts);
    if (mode == NET_CAPTURE)
        listen_in_machine(net);
    else
        listen_for_test(net);
    if (*net->proxy)
        setenv(NET_PROXY_KEY, net->proxy, 1);
    net_environment_write(agent->place.run);
    return net;
}

void net_destroy(struct net *net)
{
    if (!net)
        return;
    for (size_t i = 0; i < net->listener_count; i++)
        end_listener(net->listeners[i]);
    flows_destroy(net->flows);
    stub_destroy(net->stub);
    claims_destroy(net->claims);
    denials_destroy(net->denials);
    capture_destroy(net->capture);
    free(net->trouble);
    free(net);
}

void net_set_link(struct net *net, struct link *link)
{
    flows_set_link(net->flows, link);
}

void net_show(const struct net *net, json_t *health)
{
    const char *reason = net ? net->trouble : NULL, *why = NULL;

    if (!net)
        return;
    json_object_set_new(health, "proxy", json_string(net->proxy));
    if (net->capture)
        json_object_set_new(health, "capture", json_string(capture_state(net->capture, &why)));
    reason = reason ? reason : why;
    if (reason)
        json_object_set_new(health, "capture_reason", json_bytes(reason, strlen(reason)));
}
