#include "guest/route.h"

#include "base/alloc.h"

#include <errno.h>
#include <linux/fib_rules.h>
#include <linux/if_addr.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#define REQUEST_MAX   256
#define LAST_METRIC   1000 /* a network card that somebody gives the machine goes before it */
#define OWN_TABLE     3128
#define LAST_PRIORITY 32800 /* the kernel's last rule has 32767 */

/* A request under construction. */
struct request {
    union {
        struct nlmsghdr head;
        uint8_t bytes[REQUEST_MAX];
    };
};

static void add(struct request *request, unsigned short type, const void *data, size_t len)
{
    size_t at = NLMSG_ALIGN(request->head.nlmsg_len), whole = RTA_LENGTH(len);
    struct rtattr *attribute = (struct rtattr *)(request->bytes + at);

    require(at + RTA_SPACE(len) <= sizeof(request->bytes));
    attribute->rta_type = type;
    attribute->rta_len = (unsigned short)whole;
    memcpy(RTA_DATA(attribute), data, len);
    request->head.nlmsg_len = (uint32_t)(at + RTA_SPACE(len));
}

/* Sends it and reads the one answer. Returns an errno, 0 when it is done or was done before. */
static int send_request(int netlink, const struct request *request)
{
    uint8_t answer[REQUEST_MAX * 2];
    const struct nlmsghdr *head = (const struct nlmsghdr *)answer;
    const struct nlmsgerr *verdict = NLMSG_DATA(head);

    if (send(netlink, request, request->head.nlmsg_len, 0) < 0)
        return errno;
    ssize_t n = recv(netlink, answer, sizeof(answer), 0);
    if (n < (ssize_t)NLMSG_LENGTH(sizeof(*verdict)) || head->nlmsg_type != NLMSG_ERROR)
        return EPROTO;
    return verdict->error == -EEXIST ? 0 : -verdict->error;
}

static void begin(struct request *request, unsigned short type, const void *body, size_t len)
{
    memset(request, 0, sizeof(*request));
    request->head.nlmsg_len = (uint32_t)NLMSG_LENGTH(len);
    request->head.nlmsg_type = type;
    request->head.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL;
    memcpy(NLMSG_DATA(&request->head), body, len);
}

static int add_address(int netlink, uint32_t lo)
{
    const struct ifaddrmsg body = {
        .ifa_family = AF_INET, .ifa_prefixlen = 32, .ifa_scope = RT_SCOPE_UNIVERSE, .ifa_index = lo};
    const uint32_t address = htonl(ROUTE_ADDRESS);
    struct request request;

    begin(&request, RTM_NEWADDR, &body, sizeof(body));
    add(&request, IFA_LOCAL, &address, sizeof(address));
    add(&request, IFA_ADDRESS, &address, sizeof(address));
    return send_request(netlink, &request);
}

/* IPv4's has a table of its own behind the main one. In the local table it would go before the routes of
 * bridges; and the question whether an address is the machine's own (nftables' `fib daddr type`) looks into
 * the local table, which is the main one too while there is no rule. Of IPv6 the whole way is looked up
 * (capture.c). */
static int add_route(int netlink, uint32_t lo, unsigned char family, const void *source, size_t len)
{
    const struct rtmsg body = {.rtm_family = family,
                               .rtm_protocol = RTPROT_STATIC,
                               .rtm_scope = family == AF_INET ? RT_SCOPE_HOST : RT_SCOPE_UNIVERSE,
                               .rtm_type = RTN_LOCAL};
    const uint32_t metric = LAST_METRIC, table = family == AF_INET ? OWN_TABLE : RT_TABLE_MAIN;
    struct request request;

    begin(&request, RTM_NEWROUTE, &body, sizeof(body));
    add(&request, RTA_TABLE, &table, sizeof(table));
    add(&request, RTA_OIF, &lo, sizeof(lo));
    add(&request, RTA_PREFSRC, source, len);
    add(&request, RTA_PRIORITY, &metric, sizeof(metric));
    return send_request(netlink, &request);
}

static int add_rule(int netlink)
{
    const struct fib_rule_hdr body = {.family = AF_INET, .action = FR_ACT_TO_TBL};
    const uint32_t table = OWN_TABLE, priority = LAST_PRIORITY;
    struct request request;

    begin(&request, RTM_NEWRULE, &body, sizeof(body));
    add(&request, FRA_TABLE, &table, sizeof(table));
    add(&request, FRA_PRIORITY, &priority, sizeof(priority));
    return send_request(netlink, &request);
}

static int raise_loopback(void)
{
    struct ifreq request = {.ifr_name = "lo"};
    autoclose int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    if (fd < 0 || ioctl(fd, SIOCGIFFLAGS, &request))
        return errno;
    if (request.ifr_flags & IFF_UP)
        return 0;
    request.ifr_flags |= IFF_UP;
    return ioctl(fd, SIOCSIFFLAGS, &request) ? errno : 0;
}

int route_set_up(struct error **err)
{
    const uint32_t source = htonl(ROUTE_ADDRESS);
    int sys = raise_loopback();

    if (sys)
        return error_set_errno(err, sys, "cannot bring the interface 'lo' up");
    uint32_t lo = if_nametoindex("lo");
    autoclose int netlink = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
    if (netlink < 0)
        return error_set_errno(err, errno, "cannot ask the kernel for routes");
    sys = add_address(netlink, lo);
    if (sys)
        return error_set_errno(err, sys, "cannot give the interface 'lo' its address");
    sys = add_route(netlink, lo, AF_INET, &source, sizeof(source));
    if (!sys)
        sys = add_rule(netlink);
    if (sys)
        return error_set_errno(err, sys, "cannot set the default route");
    sys = add_route(netlink, lo, AF_INET6, &in6addr_loopback, sizeof(in6addr_loopback));
    if (sys && sys != EAFNOSUPPORT && sys != EOPNOTSUPP)
        return error_set_errno(err, sys, "cannot set the default route of IPv6");
    return 0;
}
