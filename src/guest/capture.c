#include "guest/capture.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/file.h"
#include "base/log.h"
#include "guest/run.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define SETTLE_MS     100   /* addresses come in bursts */
#define RETRY_MS      1000  /* at a machine's start modules and file systems may still be missing */
#define RETRY_QUICK   60    /* tries before they become rare */
#define RETRY_SLOW_MS 60000 /* somebody may install nftables */
#define RULES_MAX     (64 * 1024)

enum state { STATE_PENDING, STATE_ON, STATE_OFF };

struct capture {
    struct agent *agent;
    enum state state;
    char *reason;
    uv_timer_t timer;
    uv_poll_t poll;
    int netlink; /* tells of addresses; -1 */
    unsigned handles, tries;
    /* of the running work */
    uv_work_t work;
    bool working, again;
    struct error *failed;
};

/* The kernel takes an IPv4 address for the machine's own when it is in the table `local`, where our default
 * route is not; of IPv6 it looks at the route alone, and by ours all are local: hence the set. */
static const char rules[] =
    "table inet hutch\n"
    "delete table inet hutch\n"
    "table inet hutch {\n"
    "	set own6 { type ipv6_addr; }\n"
    "	chain output-nat {\n"
    "		type nat hook output priority -100; policy accept;\n"
    "		oifname != \"lo\" return\n"
    "		meta nfproto ipv4 fib daddr type local return\n"
    "		ip6 daddr @own6 return\n"
    "		meta l4proto { tcp, udp } th dport 53 redirect to :%d\n"
    "		meta l4proto tcp redirect to :%d\n"
    "	}\n"
    "	chain prerouting-nat {\n"
    "		type nat hook prerouting priority -100; policy accept;\n"
    "		iifname \"lo\" return\n"
    "		# to another bridge, or to a name server of the machine's own\n"
    "		fib daddr oif exists return\n"
    "		meta l4proto { tcp, udp } th dport 53 socket wildcard { 0, 1 } return\n"
    "		meta nfproto ipv4 fib daddr type local meta l4proto { tcp, udp } th dport 53 redirect to "
    ":%d\n"
    "		ip6 daddr @own6 meta l4proto { tcp, udp } th dport 53 redirect to :%d\n"
    "		meta nfproto ipv4 fib daddr type { local, broadcast, multicast } return\n"
    "		ip6 daddr @own6 return\n"
    "		ip6 daddr { fe80::/10, ff00::/8 } return\n"
    "		meta l4proto { tcp, udp } th dport 53 redirect to :%d\n"
    "		meta l4proto tcp redirect to :%d\n"
    "	}\n"
    "	chain output {\n"
    "		type filter hook output priority 0; policy accept;\n"
    "		oifname != \"lo\" accept\n"
    "		meta nfproto ipv4 fib daddr type local accept\n"
    "		ip6 daddr @own6 accept\n"
    "		meta l4proto tcp reject with tcp reset\n"
    "		meta l4proto udp reject with icmpx port-unreachable\n"
    "		reject with icmpx admin-prohibited\n"
    "	}\n"
    "	chain input {\n"
    "		type filter hook input priority 0; policy accept;\n"
    "		iifname \"lo\" accept\n"
    "		ct status dnat accept\n"
    "		meta nfproto ipv4 fib daddr type { local, broadcast, multicast } accept\n"
    "		ip6 daddr @own6 accept\n"
    "		ip6 daddr { fe80::/10, ff00::/8 } accept\n"
    "		meta l4proto tcp reject with tcp reset\n"
    "		meta l4proto udp reject with icmpx port-unreachable\n"
    "		reject with icmpx admin-prohibited\n"
    "	}\n"
    "}\n";

/* The set's new content as commands. */
static void add_own_addresses(struct buf *text)
{
    struct ifaddrs *list = NULL;
    int count = 0;

    buf_printf(text, NULL, "flush set inet hutch own6\n");
    buf_printf(text, NULL, "add element inet hutch own6 { ::1 }\n");
    if (getifaddrs(&list))
        return;
    for (const struct ifaddrs *entry = list; entry && count < CAPTURE_OWN_MAX; entry = entry->ifa_next) {
        char address[INET6_ADDRSTRLEN];
        if (!entry->ifa_addr || entry->ifa_addr->sa_family != AF_INET6)
            continue;
        inet_ntop(AF_INET6, &((const struct sockaddr_in6 *)entry->ifa_addr)->sin6_addr, address,
                  sizeof(address));
        buf_printf(text, NULL, "add element inet hutch own6 { %s }\n", address);
        count++;
    }
    freeifaddrs(list);
}

static const char *find_nft(void)
{
    static const char *const places[] = {"/usr/sbin/nft", "/sbin/nft", "/usr/bin/nft", "/usr/local/sbin/nft"};

    for (size_t i = 0; i < countof(places); i++)
        if (access(places[i], X_OK) == 0)
            return places[i];
    return NULL;
}

/* On the pool. */
static int apply(const struct capture *capture, struct error **err)
{
    const struct place *place = &capture->agent->place;
    autofree char *path = file_join(place->run, "capture.nft");
    const char *const argv[] = {find_nft(), "-f", path, NULL};
    struct buf text;

    if (!argv[0]) {
        error_set(err, ERROR_MISSING, "the machine has no nft");
        return error_hint(err, "install nftables in the machine");
    }
    buf_init(&text, RULES_MAX);
    if (capture->state != STATE_ON)
        buf_printf(&text, NULL, rules, CAPTURE_DNS, CAPTURE_PORT, CAPTURE_DNS, CAPTURE_DNS, CAPTURE_DNS,
                   CAPTURE_PORT);
    add_own_addresses(&text);
    int rc = file_replace(path, buf_data(&text), text.len, 0600, err);
    buf_finish(&text);
    return rc ? rc : run_command(place, NULL, false, argv, NULL, NULL, err);
}

static void on_work(uv_work_t *work)
{
    struct capture *capture = work->data;
    apply(capture, &capture->failed);
}

static void on_timer(uv_timer_t *timer);

static void free_when_done(struct capture *capture)
{
    if (capture->handles > 0 || capture->working)
        return;
    error_free(capture->failed);
    free(capture->reason);
    free(capture);
}

static void on_worked(uv_work_t *work, int status)
{
    struct capture *capture = work->data;
    auto(error) struct error *failed = steal(&capture->failed);
    bool news = !failed != (capture->state == STATE_ON);

    capture->working = false;
    if (uv_is_closing((uv_handle_t *)&capture->timer)) {
        free_when_done(capture);
        return;
    }
    /* at a machine's start it is not off, only not yet on */
    capture->state = !failed ? STATE_ON : ++capture->tries < RETRY_QUICK ? STATE_PENDING : STATE_OFF;
    if (failed && failed->code == ERROR_MISSING)
        capture->state = STATE_OFF;
    free(capture->reason);
    capture->reason = failed ? xstrdup(failed->message) : NULL;
    if (failed && capture->tries == RETRY_QUICK)
        log_warning("connections are not captured: %s", failed->message);
    else if (news && !failed)
        log_info("connections are captured");
    if (failed)
        uv_timer_start(&capture->timer, on_timer, capture->tries < RETRY_QUICK ? RETRY_MS : RETRY_SLOW_MS, 0);
    else if (capture->again)
        uv_timer_start(&capture->timer, on_timer, SETTLE_MS, 0);
    capture->again = false;
}

static void on_timer(uv_timer_t *timer)
{
    struct capture *capture = timer->data;

    if (capture->working) {
        capture->again = true;
        return;
    }
    capture->working = true;
    require(uv_queue_work(&capture->agent->loop, &capture->work, on_work, on_worked) == 0);
}

/* An address came or went. */
static void on_netlink(uv_poll_t *poll, int status, int events)
{
    struct capture *capture = poll->data;
    char thrown[8192];

    while (recv(capture->netlink, thrown, sizeof(thrown), MSG_DONTWAIT) > 0)
        ;
    if (capture->state == STATE_ON || capture->working)
        uv_timer_start(&capture->timer, on_timer, SETTLE_MS, 0);
}

static void watch_addresses(struct capture *capture)
{
    const struct sockaddr_nl group = {.nl_family = AF_NETLINK, .nl_groups = RTMGRP_IPV6_IFADDR};

    capture->netlink = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE);
    if (capture->netlink < 0)
        return;
    if (bind(capture->netlink, (const struct sockaddr *)&group, sizeof(group)) ||
        uv_poll_init(&capture->agent->loop, &capture->poll, capture->netlink)) {
        cleanup_close(&capture->netlink);
        capture->netlink = -1;
        return;
    }
    capture->handles++;
    capture->poll.data = capture;
    uv_poll_start(&capture->poll, UV_READABLE, on_netlink);
}

struct capture *capture_create(struct agent *agent)
{
    struct capture *capture = xnew(struct capture);

    capture->agent = agent;
    capture->work.data = capture;
    uv_timer_init(&agent->loop, &capture->timer);
    capture->timer.data = capture;
    capture->handles = 1;
    watch_addresses(capture);
    on_timer(&capture->timer);
    return capture;
}

static void on_closed(uv_handle_t *handle)
{
    struct capture *capture = handle->data;
    capture->handles--;
    free_when_done(capture);
}

void capture_destroy(struct capture *capture)
{
    if (!capture)
        return;
    uv_close((uv_handle_t *)&capture->timer, on_closed);
    if (capture->netlink >= 0) {
        uv_close((uv_handle_t *)&capture->poll, on_closed);
        close(capture->netlink);
    }
}

const char *capture_state(const struct capture *capture, const char **ret_reason)
{
    static const char *const names[] = {[STATE_PENDING] = "pending", [STATE_ON] = "on", [STATE_OFF] = "off"};

    *ret_reason = capture->reason;
    return names[capture->state];
}
