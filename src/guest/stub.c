#include "guest/stub.h"

#include "base/alloc.h"
#include "base/log.h"
#include "guard/dns.h"
#include "guest/stub_internal.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#define LENGTH_SIZE 2 /* in front of a message on TCP */

/* A socket that is served. */
struct server {
    struct stub *stub;
    uv_poll_t poll;
    int fd;
};

/* A TCP connection: one message at a time, the answer written before the next is read. */
struct client {
    struct stub *stub;
    struct client *next, *previous;
    uv_poll_t poll;
    uv_timer_t timer;
    int fd;
    unsigned handles;
    uint8_t in[LENGTH_SIZE + DNS_QUERY_MAX];
    size_t in_len;
    uint8_t out[LENGTH_SIZE + DNS_ANSWER_MAX];
    size_t out_len, out_done;
};

struct stub {
    uv_loop_t *loop;
    struct stub_names names;
    struct server *servers[STUB_SOCKETS];
    size_t server_count;
    struct client *clients;
    size_t client_count;
    bool complained;
};

/* ---- answers ---- */

/* RFC 6761: localhost is always here. */
static bool is_localhost(const char *name)
{
    static const char suffix[] = ".localhost";
    size_t len = strlen(name);

    return !strcmp(name, suffix + 1) ||
           (len > sizeof(suffix) - 1 && !strcmp(name + len - (sizeof(suffix) - 1), suffix));
}

static size_t answer_address(struct stub *stub, const struct dns_query *query, uint8_t out[DNS_ANSWER_MAX])
{
    char name[DNS_NAME_MAX + 1];
    auto(error) struct error *err = NULL;
    uint32_t address;

    if (!stub_canonical(query->name, query->name_len, name))
        return dns_answer(query, DNS_NXDOMAIN, out);
    if (is_localhost(name))
        return dns_answer_a(query, INADDR_LOOPBACK, STUB_TTL, out);
    if (stub_names_address(&stub->names, name, &address, &err) == 0)
        return dns_answer_a(query, address, STUB_TTL, out);
    if (!stub->complained)
        log_warning("a name cannot be resolved: %s", err->message);
    stub->complained = true;
    return dns_answer(query, DNS_SERVFAIL, out);
}

/* Length of the answer; 0: none. */
static size_t answer(struct stub *stub, const uint8_t *data, size_t len, uint8_t out[DNS_ANSWER_MAX])
{
    struct dns_query query;

    switch (dns_parse(data, len, &query)) {
    case DNS_ASK:
        return answer_address(stub, &query, out);
    case DNS_NODATA:
        return dns_answer(&query, DNS_NOERROR, out);
    case DNS_ERROR:
        return dns_answer(&query, query.rcode, out);
    default:
        return 0;
    }
}

/* ---- UDP ---- */

/* One datagram; its answer leaves from the address that it came to, which is what a redirect goes by. */
static bool serve_datagram(struct server *server)
{
    uint8_t in[DNS_QUERY_MAX + 1], out[DNS_ANSWER_MAX];
    union {
        struct cmsghdr align;
        uint8_t bytes[CMSG_SPACE(sizeof(struct in6_pktinfo))];
    } control;
    struct sockaddr_storage from;
    struct iovec part = {.iov_base = in, .iov_len = sizeof(in)};
    struct msghdr message = {.msg_name = &from,
                             .msg_namelen = sizeof(from),
                             .msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = sizeof(control)};

    ssize_t n = recvmsg(server->fd, &message, MSG_DONTWAIT);
    if (n < 0)
        return false;
    size_t len = answer(server->stub, in, (size_t)n, out);
    if (len == 0)
        return true;
    struct cmsghdr *info = CMSG_FIRSTHDR(&message);
    if (info && info->cmsg_level == IPPROTO_IP)
        ((struct in_pktinfo *)CMSG_DATA(info))->ipi_ifindex = 0;
    part = (struct iovec){.iov_base = out, .iov_len = len};
    if (sendmsg(server->fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
        log_debug("an answer of the name server was lost: %s", strerror(errno));
    return true;
}

static void on_datagrams(uv_poll_t *poll, int status, int events)
{
    struct server *server = poll->data;

    for (int i = 0; i < STUB_BURST && serve_datagram(server); i++)
        ;
}

/* ---- TCP ---- */

static void on_client(uv_poll_t *poll, int status, int events);

static void on_client_handle_closed(uv_handle_t *handle)
{
    struct client *client = handle->data;
    if (--client->handles == 0)
        free(client);
}

static void end_client(struct client *client)
{
    struct stub *stub = client->stub;

    *(client->previous ? &client->previous->next : &stub->clients) = client->next;
    if (client->next)
        client->next->previous = client->previous;
    stub->client_count--;
    uv_close((uv_handle_t *)&client->poll, on_client_handle_closed);
    uv_close((uv_handle_t *)&client->timer, on_client_handle_closed);
    cleanup_close(&client->fd);
}

static void on_late(uv_timer_t *timer)
{
    end_client(timer->data);
}

/* Answers the message at the front of `in`, if it is whole. False: the client is no good. */
static bool answer_client(struct client *client)
{
    size_t len = client->in_len < LENGTH_SIZE ? 0 : (size_t)client->in[0] << 8 | client->in[1];

    if (client->in_len < LENGTH_SIZE || (len <= DNS_QUERY_MAX && client->in_len < LENGTH_SIZE + len))
        return true;
    if (len > DNS_QUERY_MAX)
        return false;
    size_t out_len = answer(client->stub, client->in + LENGTH_SIZE, len, client->out + LENGTH_SIZE);
    client->in_len -= LENGTH_SIZE + len;
    memmove(client->in, client->in + LENGTH_SIZE + len, client->in_len);
    client->out[0] = (uint8_t)(out_len >> 8);
    client->out[1] = (uint8_t)out_len;
    client->out_len = LENGTH_SIZE + out_len;
    client->out_done = 0;
    return out_len > 0;
}

/* Reads and answers as far as it goes. False: over. */
static bool talk(struct client *client)
{
    for (int i = 0; i < STUB_BURST; i++) {
        ssize_t n;
        if (client->out_done < client->out_len)
            n = send(client->fd, client->out + client->out_done, client->out_len - client->out_done,
                     MSG_DONTWAIT | MSG_NOSIGNAL);
        else
            n = recv(client->fd, client->in + client->in_len, sizeof(client->in) - client->in_len,
                     MSG_DONTWAIT);
        if (n < 0)
            return errno == EAGAIN || errno == EINTR;
        if (n == 0)
            return false;
        if (client->out_done < client->out_len)
            client->out_done += (size_t)n;
        else
            client->in_len += (size_t)n;
        if (client->out_done == client->out_len && !answer_client(client))
            return false;
    }
    return true;
}

static void on_client(uv_poll_t *poll, int status, int events)
{
    struct client *client = poll->data;

    if (status < 0 || !talk(client))
        end_client(client);
    else
        uv_poll_start(poll, client->out_done < client->out_len ? UV_WRITABLE : UV_READABLE, on_client);
}

static void on_connection(uv_poll_t *poll, int status, int events)
{
    struct server *server = poll->data;
    struct stub *stub = server->stub;
    int fd = accept4(server->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

    if (fd < 0)
        return;
    if (stub->client_count >= STUB_TCP_MAX) {
        close(fd);
        return;
    }
    struct client *client = xnew(struct client);
    client->stub = stub;
    client->fd = fd;
    client->next = stub->clients;
    if (client->next)
        client->next->previous = client;
    stub->clients = client;
    stub->client_count++;
    client->handles = 2;
    uv_timer_init(stub->loop, &client->timer);
    require(uv_poll_init(stub->loop, &client->poll, fd) == 0);
    client->timer.data = client->poll.data = client;
    uv_timer_start(&client->timer, on_late, STUB_TCP_MS, 0);
    uv_poll_start(&client->poll, UV_READABLE, on_client);
}

/* ---- all of it ---- */

struct stub *stub_create(uv_loop_t *loop, const char *run)
{
    struct stub *stub = xnew(struct stub);

    stub->loop = loop;
    stub_names_init(&stub->names, run);
    return stub;
}

void stub_serve(struct stub *stub, int fd, bool tcp)
{
    const int on = 1;

    require(stub->server_count < STUB_SOCKETS);
    struct server *server = xnew(struct server);
    server->stub = stub;
    server->fd = fd;
    stub->servers[stub->server_count++] = server;
    if (!tcp && setsockopt(fd, IPPROTO_IP, IP_PKTINFO, &on, sizeof(on)))
        log_debug("no addresses of datagrams: %s", strerror(errno));
    if (!tcp)
        setsockopt(fd, IPPROTO_IPV6, IPV6_RECVPKTINFO, &on, sizeof(on)); /* fails on a socket of IPv4 */
    require(uv_poll_init(stub->loop, &server->poll, fd) == 0);
    server->poll.data = server;
    uv_poll_start(&server->poll, UV_READABLE, tcp ? on_connection : on_datagrams);
}

static void on_server_closed(uv_handle_t *handle)
{
    free(handle->data);
}

void stub_destroy(struct stub *stub)
{
    if (!stub)
        return;
    while (stub->clients)
        end_client(stub->clients);
    for (size_t i = 0; i < stub->server_count; i++) {
        uv_close((uv_handle_t *)&stub->servers[i]->poll, on_server_closed);
        close(stub->servers[i]->fd);
    }
    stub_names_finish(&stub->names);
    free(stub);
}

const char *stub_name(const struct stub *stub, uint32_t address)
{
    return names_find(&stub->names.names, address);
}

size_t stub_count(const struct stub *stub)
{
    return stub->names.names.count;
}
