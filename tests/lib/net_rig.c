#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "net_rig.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/file.h"
#include "base/spawn.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>

#define LIMIT_S 20
#define STEP_US 10000

/* ---- processes ---- */

char *net_rig_file(const struct net_rig *rig, const char *name)
{
    autofree char *path = file_join(rig->folder, name);
    char *data = NULL;

    file_read(path, 16 << 20, &data, NULL, NULL);
    return data;
}

void net_rig_start_agent(struct net_rig *rig)
{
    const char *const argv[] = {"./hutch-guest", "serve", "--ports", rig->folder, "--root",
                                rig->folder,     "--net", rig->mode, NULL};
    const struct spawn spawn = {.argv = argv, .in = -1, .out = -1, .err = 2};
    autofree char *ports = file_join(rig->folder, "net.json"), *last = file_join(rig->folder, "motd");
    unsigned proxy = 3128, dns = 3153;

    unlink(ports);
    unlink(last);
    assert_int_equal(spawn_start(&spawn, &rig->agent, NULL), 0);
    for (int i = 0; i < LIMIT_S * 1000000 / STEP_US && !file_exists(last); i++)
        usleep(STEP_US);
    autofree char *text = net_rig_file(rig, "net.json");
    if (text)
        assert_int_equal(sscanf(text, "{\"proxy\":%u,\"dns\":%u}", &proxy, &dns), 2);
    rig->proxy = (uint16_t)proxy;
    rig->dns = (uint16_t)dns;
}

void net_rig_start_host(struct net_rig *rig)
{
    rig->host = fake_egress_start(rig->folder);
}

void net_rig_start(struct net_rig *rig, const char *mode, bool host)
{
    memset(rig, 0, sizeof(*rig));
    rig->mode = mode;
    signal(SIGPIPE, SIG_IGN);
    snprintf(rig->folder, sizeof(rig->folder), "/tmp/hutch-net-XXXXXX");
    assert_non_null(mkdtemp(rig->folder));
    net_rig_start_agent(rig);
    if (host)
        net_rig_start_host(rig);
}

void net_rig_kill_agent(struct net_rig *rig)
{
    kill(rig->agent, SIGKILL);
    waitpid(rig->agent, NULL, 0);
    rig->agent = 0;
    if (rig->host)
        net_rig_kill_host(rig);
}

void net_rig_kill_host(struct net_rig *rig)
{
    fake_egress_kill(rig->host);
    rig->host = 0;
}

void net_rig_stop(struct net_rig *rig)
{
    int status = 0;

    if (rig->agent) {
        kill(rig->agent, SIGTERM);
        assert_int_equal(waitpid(rig->agent, &status, 0), rig->agent);
    }
    if (rig->host)
        net_rig_kill_host(rig);
    file_remove_tree(rig->folder, NULL);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

size_t net_rig_descriptors(const struct net_rig *rig)
{
    autofree char *path = xasprintf("/proc/%d/fd", (int)rig->agent);
    DIR *dir = opendir(path);
    size_t count = 0;

    assert_non_null(dir);
    while (readdir(dir))
        count++;
    closedir(dir);
    return count;
}

uint64_t net_rig_memory_kib(const struct net_rig *rig)
{
    autofree char *path = xasprintf("/proc/%d/status", (int)rig->agent);
    autofree char *data = NULL;

    assert_int_equal(file_read(path, 65536, &data, NULL, NULL), 0);
    const char *at = strstr(data, "VmRSS:");
    assert_non_null(at);
    return strtoull(at + 6, NULL, 10);
}

/* ---- clients ---- */

static void limit_time(int fd)
{
    const struct timeval limit = {.tv_sec = LIMIT_S};
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
}

int net_rig_connect(const struct net_rig *rig)
{
    const struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons(rig->proxy), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_true(fd >= 0);
    limit_time(fd);
    assert_int_equal(connect(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
    return fd;
}

void net_rig_send(int fd, const void *data, size_t len)
{
    for (size_t done = 0; done < len;) {
        ssize_t n = send(fd, (const char *)data + done, len - done, MSG_NOSIGNAL);
        assert_true(n > 0);
        done += (size_t)n;
    }
}

void net_rig_send_text(int fd, const char *text)
{
    net_rig_send(fd, text, strlen(text));
}

void net_rig_read(int fd, void *data, size_t len)
{
    for (size_t done = 0; done < len;) {
        ssize_t n = recv(fd, (char *)data + done, len - done, 0);
        assert_true(n > 0);
        done += (size_t)n;
    }
}

char *net_rig_read_head(int fd)
{
    struct buf head;

    buf_init(&head, 65536);
    while (head.len < 4 || memcmp(buf_data(&head) + head.len - 4, "\r\n\r\n", 4) != 0) {
        char c;
        net_rig_read(fd, &c, 1);
        assert_int_equal(buf_append(&head, &c, 1, NULL), 0);
    }
    char *text = buf_take_string(&head);
    buf_finish(&head);
    return text;
}

char *net_rig_read_end(int fd, bool *ret_reset)
{
    struct buf all;
    char piece[65536];
    ssize_t n;

    buf_init(&all, 0);
    while ((n = recv(fd, piece, sizeof(piece), 0)) > 0)
        buf_append(&all, piece, (size_t)n, NULL);
    if (n < 0 && errno != ECONNRESET)
        fail_msg("read: %s", strerror(errno));
    if (ret_reset)
        *ret_reset = n < 0;
    close(fd);
    char *text = buf_take_string(&all);
    buf_finish(&all);
    return text;
}

char *net_rig_say(const struct net_rig *rig, const char *text)
{
    int fd = net_rig_connect(rig);

    net_rig_send_text(fd, text);
    return net_rig_read_end(fd, NULL);
}

int net_rig_open(const struct net_rig *rig, const char *authority)
{
    autofree char *request = xasprintf("CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n", authority, authority);
    int fd = net_rig_connect(rig);

    net_rig_send_text(fd, request);
    autofree char *head = net_rig_read_head(fd);
    if (strncmp(head, "HTTP/1.1 200 ", 13) != 0)
        fail_msg("%s: %s", authority, head);
    return fd;
}

int net_rig_socks(const struct net_rig *rig, const char *host, uint16_t port, int *ret_fd)
{
    uint8_t request[300] = {5, 1, 0, 5, 1, 0}, reply[12];
    size_t len = 7, host_len = strlen(host);
    int fd = net_rig_connect(rig);

    if (inet_pton(AF_INET, host, request + len) == 1) {
        request[6] = 1;
        len += 4;
    } else if (inet_pton(AF_INET6, host, request + len) == 1) {
        request[6] = 4;
        len += 16;
    } else {
        request[6] = 3;
        request[len++] = (uint8_t)host_len;
        memcpy(request + len, host, host_len);
        len += host_len;
    }
    request[len++] = (uint8_t)(port >> 8);
    request[len++] = (uint8_t)port;
    net_rig_send(fd, request, 3);
    net_rig_read(fd, reply, 2);
    assert_int_equal(reply[1], 0);
    net_rig_send(fd, request + 3, len - 3);
    net_rig_read(fd, reply, 10);
    *ret_fd = fd;
    return reply[1];
}

/* ---- names ---- */

static size_t make_query(const char *name, uint16_t type, uint8_t *out)
{
    static const uint8_t head[12] = {0x12, 0x34, 1, 0, 0, 1};
    size_t len = sizeof(head);

    memcpy(out, head, sizeof(head));
    while (*name) {
        size_t label = strcspn(name, ".");
        out[len++] = (uint8_t)label;
        memcpy(out + len, name, label);
        len += label;
        name += label + (name[label] == '.');
    }
    const uint8_t tail[5] = {0, (uint8_t)(type >> 8), (uint8_t)type, 0, 1};
    memcpy(out + len, tail, sizeof(tail));
    return len + sizeof(tail);
}

int net_rig_resolve(const struct net_rig *rig, const char *server, uint16_t port, bool tcp, const char *name,
                    uint16_t type, uint32_t *ret_address)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(server ? port : rig->dns)};
    uint8_t message[2 + 600], answer[2 + 600];
    size_t len = make_query(name, type, message + 2);
    int fd = socket(AF_INET, (tcp ? SOCK_STREAM : SOCK_DGRAM) | SOCK_CLOEXEC, 0);

    limit_time(fd);
    assert_int_equal(inet_pton(AF_INET, server ? server : "127.0.0.1", &address.sin_addr), 1);
    assert_int_equal(connect(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
    message[0] = (uint8_t)(len >> 8);
    message[1] = (uint8_t)len;
    net_rig_send(fd, tcp ? message : message + 2, tcp ? len + 2 : len);
    ssize_t n;
    if (tcp) {
        net_rig_read(fd, answer, 2);
        n = answer[0] << 8 | answer[1];
        net_rig_read(fd, answer, (size_t)n);
    } else {
        n = recv(fd, answer, sizeof(answer), 0);
    }
    close(fd);
    assert_true(n >= (ssize_t)len);
    assert_memory_equal(answer, message + 2, 2);
    *ret_address = 0;
    if (answer[7] == 1) {
        const uint8_t *at = answer + n - 4;
        assert_int_equal(n, len + 16);
        *ret_address = (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
    }
    return answer[3] & 15;
}
