#include "guest/host_ask.h"

#include "base/alloc.h"
#include "base/fd.h"
#include "base/units.h"
#include "guest/net_environment.h"

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>

#define PROXY_DEFAULT "127.0.0.1:3128"
#define ANSWER_MAX    16384

/* The proxy of this machine: what the session was told, or where it always is. */
static int connect_proxy(int *ret_fd, struct error **err)
{
    const char *where = getenv("HUTCH_GUEST_PROXY");
    struct sockaddr_in address = {.sin_family = AF_INET};
    const char *colon;
    uint64_t port;

    where = where ? where : PROXY_DEFAULT;
    colon = strrchr(where, ':');
    autofree char *host = colon ? xstrndup(where, (size_t)(colon - where)) : xstrdup(where);
    if (!colon || inet_pton(AF_INET, host, &address.sin_addr) != 1 ||
        units_parse_number(colon + 1, 1, UINT16_MAX, &port, NULL))
        return error_set(err, ERROR_INVALID, "'%s' in " NET_PROXY_KEY " is no ADDRESS:PORT", where);
    address.sin_port = htons((uint16_t)port);
    autoclose int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return error_set_errno(err, errno, "cannot open a socket");
    if (connect(fd, (const struct sockaddr *)&address, sizeof(address)))
        return error_set_errno(err, errno, "hutch-guest does not answer at '%s'", where);
    *ret_fd = steal_fd(&fd);
    return 0;
}

/* Reads to the end. Caller frees; the rest beyond the limit is dropped. */
static char *read_answer(int fd)
{
    char *text = xcalloc(ANSWER_MAX + 1, 1);
    size_t len = 0;
    ssize_t n = 1;

    while (len < ANSWER_MAX && (n > 0 || (n < 0 && errno == EINTR))) {
        n = read(fd, text + len, ANSWER_MAX - len);
        len += n > 0 ? (size_t)n : 0;
    }
    return text;
}

int host_ask(const char *name, unsigned limit_s, int *ret_status, json_t **ret_body, struct error **err)
{
    autofree char *request =
        xasprintf("CONNECT %s:%d HTTP/1.1\r\nHost: %s:%d\r\n\r\n", name, HOST_ASK_PORT, name, HOST_ASK_PORT);
    const struct timeval limit = {.tv_sec = limit_s};
    autoclose int fd = -1;

    int rc = connect_proxy(&fd, err);
    if (!rc && limit_s && setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)))
        rc = error_set_errno(err, errno, "cannot limit the wait");
    if (!rc)
        rc = fd_write_all(fd, request, strlen(request), err);
    if (rc)
        return rc;
    autofree char *answer = read_answer(fd);
    const char *body = strstr(answer, "\r\n\r\n");
    *ret_status = 0;
    if (strncmp(answer, "HTTP/1.", 7) == 0 && answer[7])
        *ret_status = (int)strtol(answer + 8, NULL, 10);
    *ret_body = body ? json_parse(body + 4, strlen(body + 4), NULL) : NULL;
    return 0;
}

const char *host_ask_word(const json_t *body, const char *key, const char *otherwise)
{
    const char *text = json_string_value(json_object_get(body, key));
    return text && *text ? text : otherwise;
}
