/* The capture in a network namespace of its own: routes, nftables, connections of the machine and of a
 * container. Skipped without nft or the right to make namespaces. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "net_rig.h"

#include "base/alloc.h"
#include "base/file.h"
#include "base/spawn.h"
#include "base/units.h"
#include "wire/json.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#define SKIP 77

static struct net_rig rig;

/* ---- the namespace ---- */

static bool write_file(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    bool well = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

    if (fd >= 0)
        close(fd);
    return well;
}

/* Root of a namespace, with a network that has nothing. */
static bool enter_namespace(void)
{
    autofree char *uids = xasprintf("0 %u 1", getuid()), *gids = xasprintf("0 %u 1", getgid());

    if (geteuid() == 0)
        return unshare(CLONE_NEWNET) == 0;
    return unshare(CLONE_NEWUSER | CLONE_NEWNET) == 0 && write_file("/proc/self/uid_map", uids) &&
           write_file("/proc/self/setgroups", "deny") && write_file("/proc/self/gid_map", gids);
}

static bool run(const char *first, ...)
{
    const char *argv[24] = {first};
    const struct spawn spawn = {.argv = argv, .in = -1};
    auto(error) struct error *err = NULL;
    va_list args;

    va_start(args, first);
    for (size_t i = 1; i < countof(argv) && (argv[i] = va_arg(args, const char *)); i++)
        ;
    va_end(args);
    if (spawn_run(&spawn, 10000, 65536, NULL, &err) == 0)
        return true;
    fprintf(stderr, "%s\n", err->message);
    return false;
}

static bool captured(void)
{
    static const char *const argv[] = {"nft", "list", "chain", "inet", "hutch", "output-nat", NULL};
    const struct spawn spawn = {.argv = argv, .in = -1};

    return spawn_run(&spawn, 10000, 65536, NULL, NULL) == 0;
}

static int set_up(void **state)
{
    alarm(90);
    net_rig_start(&rig, "capture", true);
    for (int i = 0; i < 100 && !captured(); i++)
        usleep(50000);
    return 0;
}

static int tear_down(void **state)
{
    net_rig_stop(&rig);
    return 0;
}

/* ---- clients that know of nothing ---- */

static int try_connect(int type, const char *host, uint16_t port, int *ret_errno)
{
    struct sockaddr_storage address = {.ss_family = strchr(host, ':') ? AF_INET6 : AF_INET};
    struct sockaddr_in *v4 = (struct sockaddr_in *)&address;
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)&address;
    const struct timeval limit = {.tv_sec = 10};
    bool is_v4 = address.ss_family == AF_INET;
    int fd = socket(address.ss_family, type | SOCK_CLOEXEC, 0);

    assert_true(fd >= 0);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
    v4->sin_port = htons(port);
    assert_int_equal(
        inet_pton(address.ss_family, host, is_v4 ? (void *)&v4->sin_addr : (void *)&v6->sin6_addr), 1);
    *ret_errno = connect(fd, (struct sockaddr *)&address, is_v4 ? sizeof(*v4) : sizeof(*v6)) ? errno : 0;
    return fd;
}

static char *visit(const char *host, uint16_t port)
{
    int sys, fd = try_connect(SOCK_STREAM, host, port, &sys);

    if (sys)
        fail_msg("%s:%u: %s", host, port, strerror(sys));
    return net_rig_read_end(fd, NULL);
}

/* The address that the stub gives a name, asked as a program asks its far name server. */
static char *resolve(const char *name, bool tcp)
{
    uint32_t address;
    char text[INET_ADDRSTRLEN];

    assert_int_equal(net_rig_resolve(&rig, "8.8.8.8", 53, tcp, name, 1, &address), 0);
    address = htonl(address);
    inet_ntop(AF_INET, &address, text, sizeof(text));
    return xstrdup(text);
}

static void tcp_goes_by_name_or_address(void **state)
{
    autofree char *address = resolve("some.test", false), *again = resolve("some.test", true);
    assert_string_equal(address, again);
    autofree char *by_name = visit(address, 8080), *by_address = visit("192.0.2.5", 22);
    autofree char *by_v6 = visit("2001:db8::5", 22);

    assert_string_equal(by_name, "some.test:8080 capture-name");
    assert_string_equal(by_address, "192.0.2.5:22 capture-address");
    assert_string_equal(by_v6, "[2001:db8::5]:22 capture-address");
}

static void the_claim_is_the_captured_process_s(void **state)
{
    autofree char *address = resolve("claim.test", false), *text = visit(address, 443);
    char *claim = text;

    assert_string_equal(strsep(&claim, "\n"), "capture-name");
    auto(json) json_t *o = json_parse(claim, strlen(claim), NULL);
    assert_int_equal(json_integer_value(json_object_get(o, "pid")), getpid());
}

static void a_refusal_is_a_reset(void **state)
{
    autofree char *address = resolve("deny.test", false);
    int sys, fd = try_connect(SOCK_STREAM, address, 443, &sys);
    bool reset = sys == ECONNRESET;

    if (!sys)
        free(net_rig_read_end(fd, &reset));
    assert_true(reset);
    autofree char *denials = net_rig_file(&rig, "denials");
    assert_non_null(strstr(denials, "\"entrance\":\"capture-name\",\"host\":\"deny.test\",\"port\":443"));
}

/* Every address of the machine stays what it is. */
static void own_addresses_are_left_alone(void **state)
{
    static const char *const own[] = {"127.0.0.1", "127.9.9.9", "192.0.0.8", "::1"};

    for (size_t i = 0; i < countof(own); i++) {
        struct sockaddr_in6 any = {.sin6_family = AF_INET6, .sin6_port = htons(4444)};
        const int on = 1;
        int sys, listener = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
        setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
        assert_int_equal(bind(listener, (struct sockaddr *)&any, sizeof(any)), 0);
        assert_int_equal(listen(listener, 4), 0);
        int fd = try_connect(SOCK_STREAM, own[i], 4444, &sys);
        assert_int_equal(sys, 0);
        struct pollfd p = {.fd = listener, .events = POLLIN};
        assert_int_equal(poll(&p, 1, 2000), 1);
        close(fd);
        close(listener);
        fd = try_connect(SOCK_STREAM, own[i], 4445, &sys);
        assert_int_equal(sys, ECONNREFUSED);
        close(fd);
    }
}

/* To the capture's own port, not redirected: leads nowhere, above all not to itself. */
static void the_capture_does_not_capture_itself(void **state)
{
    int sys, fd = try_connect(SOCK_STREAM, "127.0.0.1", 3129, &sys);
    bool reset = sys != 0;

    if (!sys)
        free(net_rig_read_end(fd, &reset));
    assert_true(reset);
}

static void what_is_not_tcp_fails_at_once(void **state)
{
    static const char *const hosts[] = {"8.8.8.8", "198.18.0.1", "2001:db8::1"};
    int64_t start = units_monotonic_ns();
    char c = 0;

    for (size_t i = 0; i < countof(hosts); i++) {
        int sys, fd = try_connect(SOCK_DGRAM, hosts[i], 443, &sys);
        assert_int_equal(sys, 0);
        bool sent = send(fd, &c, 1, 0) == 1;
        assert_true(!sent || recv(fd, &c, 1, 0) < 0);
        assert_int_not_equal(errno, EAGAIN);
        close(fd);
    }
    int sys, fd = try_connect(SOCK_DGRAM, "127.0.0.1", 443, &sys);
    assert_int_equal(send(fd, &c, 1, 0), 1); /* nobody there, as always */
    assert_int_equal(recv(fd, &c, 1, 0), -1);
    assert_int_equal(errno, ECONNREFUSED);
    close(fd);
    /* an echo request must not be answered by the machine itself */
    static const uint8_t echo[8] = {8, 0, 0xf7, 0xfd, 0, 1, 0, 1};
    struct sockaddr_in far = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(0x08080808)};
    fd = socket(AF_INET, SOCK_RAW | SOCK_CLOEXEC, IPPROTO_ICMP);
    if (fd >= 0) {
        assert_int_equal(sendto(fd, echo, sizeof(echo), 0, (struct sockaddr *)&far, sizeof(far)), -1);
        close(fd);
    }
    assert_true(units_monotonic_ns() - start < 2000000000);
}

static void without_the_host_nothing_passes(void **state)
{
    autofree char *address = resolve("echo.test", false);
    int sys, open = try_connect(SOCK_STREAM, address, 443, &sys);
    bool reset;
    char c;

    assert_int_equal(sys, 0);
    net_rig_send_text(open, "x");
    net_rig_read(open, &c, 1);
    net_rig_kill_host(&rig);
    free(net_rig_read_end(open, &reset));
    assert_true(reset);
    int64_t start = units_monotonic_ns();
    int late = try_connect(SOCK_STREAM, address, 443, &sys);
    if (!sys)
        free(net_rig_read_end(late, &reset));
    assert_true(sys == ECONNRESET || reset);
    assert_true(units_monotonic_ns() - start < 5000000000);
}

/* ---- a container: another network namespace behind a pair of interfaces ---- */

/* By the proxy of the session that started the container, whose variables it has. */
static char *visit_by_proxy(const char *authority)
{
    autofree char *environment = net_rig_file(&rig, "environment");
    const char *at = environment ? strstr(environment, "HTTP_PROXY:-http://") : NULL;
    char address[64] = "";
    unsigned port = 0;
    int sys;

    if (!at || sscanf(at, "HTTP_PROXY:-http://%63[^:]:%u", address, &port) != 2)
        return xstrdup("no proxy");
    int fd = try_connect(SOCK_STREAM, address, (uint16_t)port, &sys);
    if (sys) {
        close(fd);
        return xasprintf("%s: %s", address, strerror(sys));
    }
    autofree char *head = xasprintf("CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n", authority, authority);
    net_rig_send_text(fd, head);
    return net_rig_read_end(fd, NULL);
}

/* Visits an address from inside; the answer comes back by a pipe. */
static void visit_inside(int ready, int go, int out) __attribute__((noreturn));
static void visit_inside(int ready, int go, int out)
{
    char c = 0;
    int sys;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    setenv("CMOCKA_TEST_ABORT", "1", 1); /* what fails here must not go on with the next test */
    if (unshare(CLONE_NEWNET) || write(ready, &c, 1) != 1 || read(go, &c, 1) != 1 ||
        !run("ip", "address", "add", "10.9.0.2/24", "dev", "inner", NULL) ||
        !run("ip", "link", "set", "inner", "up", NULL) ||
        !run("ip", "route", "add", "default", "via", "10.9.0.1", NULL))
        _exit(1);
    autofree char *address = resolve("claim.test", false);
    autofree char *claim = visit(address, 443), *literal = visit("192.0.2.9", 80);
    uint32_t gateway = 0;
    net_rig_resolve(&rig, "10.9.0.1", 53, false, "claim.test", 1, &gateway);
    char c2 = 0;
    int udp = try_connect(SOCK_DGRAM, "8.8.8.8", 443, &sys);
    bool refused = send(udp, &c2, 1, 0) < 0 || recv(udp, &c2, 1, 0) < 0;
    int own = try_connect(SOCK_STREAM, "10.9.0.1", 4446, &sys);
    autofree char *proxied = visit_by_proxy("some.test:443");
    autofree char *text = xasprintf("%s|%s|%x|%d %d|%s", claim, literal, gateway, refused, sys, proxied);
    _exit(own < 0 || write(out, text, strlen(text)) != (ssize_t)strlen(text));
}

static void D14_a_container_is_captured_too(void **state)
{
    int ready[2], go[2], out[2];
    char text[2048] = "", c;

    assert_int_equal(pipe2(ready, O_CLOEXEC) | pipe2(go, O_CLOEXEC) | pipe2(out, O_CLOEXEC), 0);
    pid_t pid = fork();
    if (pid == 0)
        visit_inside(ready[1], go[0], out[1]);
    close(out[1]);
    assert_int_equal(read(ready[0], &c, 1), 1);
    autofree char *number = xasprintf("%d", (int)pid);
    assert_true(run("ip", "link", "add", "outer", "type", "veth", "peer", "name", "inner", NULL));
    assert_true(run("ip", "link", "set", "inner", "netns", number, NULL));
    assert_true(run("ip", "address", "add", "10.9.0.1/24", "dev", "outer", NULL));
    assert_true(run("ip", "link", "set", "outer", "up", NULL));
    assert_int_equal(write(go[1], &c, 1), 1);
    ssize_t n = read(out[0], text, sizeof(text) - 1);
    close(out[0]);
    waitpid(pid, NULL, 0);
    assert_true(n > 0);
    static const char before[] =
        "capture-name\n{\"exe\":\"container 10.9.0.2\"}|192.0.2.9:80 capture-address|";
    if (strncmp(text, before, strlen(before)) != 0 || !strstr(text, "|c612") || !strstr(text, "|1 111|") ||
        !strstr(text, "some.test:443 connect"))
        fail_msg("%s", text); /* 111: ECONNREFUSED by the machine itself */
}

int main(int argc, char **argv)
{
#define T(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        T(tcp_goes_by_name_or_address),
        T(the_claim_is_the_captured_process_s),
        T(a_refusal_is_a_reset),
        T(own_addresses_are_left_alone),
        T(the_capture_does_not_capture_itself),
        T(what_is_not_tcp_fails_at_once),
        T(without_the_host_nothing_passes),
        T(D14_a_container_is_captured_too),
    };

    setenv("PATH", "/usr/local/sbin:/usr/sbin:/sbin:/usr/local/bin:/usr/bin:/bin", 1);
    if (access("/usr/sbin/nft", X_OK) || access("/usr/sbin/ip", X_OK) || !enter_namespace() ||
        !run("nft", "add", "table", "inet", "probe", NULL)) {
        fprintf(stderr, "skipped: needs nft, ip and a network namespace\n");
        return SKIP;
    }
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
