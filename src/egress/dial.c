#include "egress/dial.h"

#include "base/alloc.h"
#include "base/units.h"
#include "policy/host.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define PROXY_HEAD_MAX 8192
#define PROXY_LOOK_MS  20 /* until an answer in pieces is looked at again */

/* The watcher of one socket: it outlives its use by a turn of the loop. */
struct watcher {
    uv_poll_t poll;
    struct dial *dial; /* NULL: no longer */
};

struct dial {
    uv_loop_t *loop;
    uv_timer_t timer;
    struct watcher *watcher; /* of fd, or NULL */
    int fd;
    struct dial_target target;
    size_t next; /* address to try */
    int64_t begun_ms;
    bool asking_proxy, waiting_proxy;
    struct dial_result result;
    dial_fn fn;
    void *user;
};

static int64_t now_ms(void)
{
    return units_monotonic_ns() / 1000000;
}

int dial_own_addresses(struct address *ret_own, size_t max, struct error **err)
{
    struct ifaddrs *list = NULL;
    size_t count = 0;

    if (getifaddrs(&list) < 0)
        return error_set_errno(err, errno, "cannot read the addresses of this host");
    for (const struct ifaddrs *at = list; at; at = at->ifa_next) {
        if (!at->ifa_addr || (at->ifa_addr->sa_family != AF_INET && at->ifa_addr->sa_family != AF_INET6))
            continue;
        if (count == max) {
            freeifaddrs(list);
            return error_set(err, ERROR_LIMIT, "this host has more than %zu addresses", max);
        }
        address_from_sockaddr(at->ifa_addr, &ret_own[count++], NULL);
    }
    freeifaddrs(list);
    return (int)count;
}

/* ---- the end ---- */

static void on_closed(uv_handle_t *handle)
{
    free(handle->data);
}

static void on_dial_closed(uv_handle_t *handle)
{
    struct dial *dial = handle->data;

    explicit_bzero(dial->target.authorization, sizeof(dial->target.authorization));
    free(dial);
}

/* The watcher goes, the descriptor stays. */
static void stop_watching(struct dial *dial)
{
    struct watcher *watcher = steal(&dial->watcher);

    if (!watcher)
        return;
    watcher->dial = NULL;
    uv_poll_stop(&watcher->poll);
    uv_close((uv_handle_t *)&watcher->poll, on_closed);
}

static void drop_socket(struct dial *dial)
{
    stop_watching(dial);
    cleanup_close(&dial->fd);
}

void dial_cancel(struct dial *dial)
{
    drop_socket(dial);
    uv_close((uv_handle_t *)&dial->timer, on_dial_closed);
}

static void finish(struct dial *dial, const char *failure)
{
    struct dial_result result = dial->result;

    stop_watching(dial);
    result.failure = failure;
    result.fd = failure ? -1 : steal_fd(&dial->fd);
    result.ms = (unsigned)(now_ms() - dial->begun_ms);
    dial->fn(&result, dial->user);
    dial_cancel(dial);
}

/* ---- one socket ---- */

static void try_next(struct dial *dial);
static void on_ready(uv_poll_t *poll, int status, int events);
static void on_timer(uv_timer_t *timer);

static const char *failure_of(int sys)
{
    return sys == ECONNREFUSED || sys == ENOENT ? "refused" : sys == ETIMEDOUT ? "time" : "unreachable";
}

/* The deadline of this step, within that of all. */
static void plan_timer(struct dial *dial)
{
    int64_t left = dial->begun_ms + DIAL_LIMIT_MS - now_ms();

    if (left > DIAL_ADDRESS_MS && !dial->asking_proxy)
        left = DIAL_ADDRESS_MS;
    uv_update_time(dial->loop);
    uv_timer_start(&dial->timer, on_timer, left > 0 ? (uint64_t)left : 0, 0);
}

/* Begins to connect; false: it failed at once, and the reason is noted. */
static bool begin(struct dial *dial, const struct sockaddr *address, socklen_t len)
{
    int one = 1;

    dial->fd = socket(address->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (dial->fd < 0) {
        dial->result.failure = "system";
        return false;
    }
    if (address->sa_family != AF_UNIX)
        setsockopt(dial->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    if (connect(dial->fd, address, len) < 0 && errno != EINPROGRESS) {
        dial->result.failure = failure_of(errno);
        cleanup_close(&dial->fd);
        return false;
    }
    dial->watcher = xnew(struct watcher);
    dial->watcher->dial = dial;
    require(uv_poll_init(dial->loop, &dial->watcher->poll, dial->fd) == 0);
    dial->watcher->poll.data = dial->watcher;
    uv_poll_start(&dial->watcher->poll, UV_WRITABLE, on_ready);
    plan_timer(dial);
    return true;
}

static socklen_t fill_sockaddr(const struct address *address, uint16_t port, struct sockaddr_storage *ret)
{
    *ret = (struct sockaddr_storage){0};
    if (address->family == 4) {
        struct sockaddr_in *in = (struct sockaddr_in *)ret;

        in->sin_family = AF_INET;
        in->sin_port = htons(port);
        memcpy(&in->sin_addr, address->bytes, 4);
        return sizeof(*in);
    }
    struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)ret;

    in6->sin6_family = AF_INET6;
    in6->sin6_port = htons(port);
    memcpy(&in6->sin6_addr, address->bytes, 16);
    return sizeof(*in6);
}

static bool begin_address(struct dial *dial, const struct address *address, uint16_t port)
{
    struct sockaddr_storage storage;
    socklen_t len = fill_sockaddr(address, port, &storage);

    return begin(dial, (struct sockaddr *)&storage, len);
}

/* ---- addresses of a name ---- */

/* May this address be dialled now? Else the reason is noted. */
static bool check(struct dial *dial, const struct address *address)
{
    const struct dial_target *target = &dial->target;
    struct address own[DIAL_OWN_MAX];
    int own_count = dial_own_addresses(own, countof(own), NULL);

    if (target->through[0])
        return true; /* the user's own proxy */
    if (own_count < 0) {
        dial->result.failure = "system";
        return false;
    }
    enum address_verdict verdict = address_check(address, target->ranges, target->range_count, own,
                                                 (size_t)own_count, &dial->result.class);
    if (verdict == ADDRESS_ALLOW || (verdict == ADDRESS_PRIVATE && target->any_private))
        return true;
    dial->result.failure = verdict == ADDRESS_FLOOR ? "floor" : "private";
    return false;
}

static void try_next(struct dial *dial)
{
    const struct dial_target *target = &dial->target;

    drop_socket(dial);
    while (dial->next < target->count && now_ms() - dial->begun_ms < DIAL_LIMIT_MS) {
        const struct address *address = &target->addresses[dial->next++];

        if (!check(dial, address))
            continue;
        dial->result.tried++;
        dial->result.used = *address;
        if (begin_address(dial, address, target->port))
            return;
    }
    finish(dial, dial->result.failure ? dial->result.failure : "time");
}

/* ---- a host port ---- */

static bool begin_unix(struct dial *dial, const char *path)
{
    struct sockaddr_un un = {.sun_family = AF_UNIX};

    if (strlen(path) >= sizeof(un.sun_path)) {
        dial->result.failure = "unreachable";
        return false;
    }
    memcpy(un.sun_path, path, strlen(path) + 1);
    return begin(dial, (struct sockaddr *)&un, sizeof(un));
}

/* "unix:/path", or an address and port that the user wrote: loopback is what it is for. */
static void begin_host_port(struct dial *dial)
{
    const char *to = dial->target.to;
    struct host host;
    uint16_t port;
    bool begun = false;

    dial->result.tried = 1;
    if (!strncmp(to, "unix:", 5))
        begun = begin_unix(dial, to + 5);
    else if (host_parse_authority(to, strlen(to), 0, &host, &port, NULL) == 0 && host.kind != HOST_NAME)
        begun = begin_address(dial, &host.address, port);
    else
        dial->result.failure = "unreachable";
    if (!begun)
        finish(dial, dial->result.failure);
}

/* ---- through a proxy ---- */

static void ask_proxy(struct dial *dial)
{
    const char *through = dial->target.through, *word = dial->target.authorization;
    autofree char *head = xasprintf("CONNECT %s HTTP/1.1\r\nHost: %s\r\n%s%s%s\r\n", through, through,
                                    *word ? "Proxy-Authorization: " : "", word, *word ? "\r\n" : "");
    size_t len = strlen(head);

    /* A fresh socket takes it whole. */
    bool sent = send(dial->fd, head, len, MSG_NOSIGNAL) == (ssize_t)len;
    explicit_bzero(head, len);
    if (!sent) {
        finish(dial, "proxy");
        return;
    }
    dial->asking_proxy = true;
    uv_poll_start(&dial->watcher->poll, UV_READABLE, on_ready);
    plan_timer(dial);
}

/* The proxy's answer: read up to its empty line and no byte further, for what follows is the flow's. */
static void read_proxy(struct dial *dial)
{
    char head[PROXY_HEAD_MAX + 1];
    ssize_t n = recv(dial->fd, head, PROXY_HEAD_MAX, MSG_PEEK);

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0 || memchr(head, '\0', (size_t)n)) {
        finish(dial, "proxy");
        return;
    }
    head[n] = '\0';
    const char *end = strstr(head, "\r\n\r\n");
    if (!end && n < PROXY_HEAD_MAX) {
        /* Peeked bytes stay readable: look again when more may have come. */
        uv_poll_stop(&dial->watcher->poll);
        dial->waiting_proxy = true;
        uv_timer_start(&dial->timer, on_timer, PROXY_LOOK_MS, 0);
        return;
    }
    bool good = end && (!strncmp(head, "HTTP/1.1 200", 12) || !strncmp(head, "HTTP/1.0 200", 12));
    size_t len = end ? (size_t)(end - head) + 4 : 0;
    good = good && recv(dial->fd, head, len, 0) == (ssize_t)len;
    finish(dial, good ? NULL : "proxy");
}

/* ---- events ---- */

static void on_ready(uv_poll_t *poll, int status, int events)
{
    struct watcher *watcher = poll->data;
    struct dial *dial = watcher->dial;
    int sys = 0;
    socklen_t len = sizeof(sys);

    (void)status;
    (void)events;
    if (!dial)
        return;
    if (dial->asking_proxy) {
        read_proxy(dial);
        return;
    }
    if (getsockopt(dial->fd, SOL_SOCKET, SO_ERROR, &sys, &len) < 0 || sys) {
        dial->result.failure = failure_of(sys);
        try_next(dial);
    } else if (dial->target.through[0]) {
        ask_proxy(dial);
    } else {
        finish(dial, NULL);
    }
}

/* The beginning, or the end of a step's time. */
static void on_timer(uv_timer_t *timer)
{
    struct dial *dial = timer->data;

    if (dial->waiting_proxy && now_ms() - dial->begun_ms < DIAL_LIMIT_MS) {
        dial->waiting_proxy = false;
        uv_poll_start(&dial->watcher->poll, UV_READABLE, on_ready);
        plan_timer(dial);
    } else if (dial->asking_proxy) {
        finish(dial, "proxy");
    } else if (dial->fd >= 0) {
        dial->result.failure = "time";
        try_next(dial); /* a host port has no other */
    } else if (dial->target.to[0]) {
        begin_host_port(dial);
    } else {
        try_next(dial);
    }
}

struct dial *dial_start(uv_loop_t *loop, const struct dial_target *target, dial_fn fn, void *user)
{
    struct dial *dial = xnew(struct dial);

    require(target->count <= DIAL_ADDRESSES_MAX && target->range_count <= countof(target->ranges));
    dial->loop = loop;
    dial->target = *target;
    dial->fn = fn;
    dial->user = user;
    dial->fd = -1;
    dial->begun_ms = now_ms();
    uv_timer_init(loop, &dial->timer);
    dial->timer.data = dial;
    uv_timer_start(&dial->timer, on_timer, 0, 0);
    return dial;
}
