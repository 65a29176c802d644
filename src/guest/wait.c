#include "guest/wait.h"

#include "base/alloc.h"
#include "base/fd.h"
#include "base/text.h"
#include "base/units.h"
#include "guest/net_environment.h"
#include "wire/json.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#define PROXY_DEFAULT "127.0.0.1:3128"
#define ANSWER_MAX    16384
#define AGAIN_MS      2000
#define SHOWN_MAX     400

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

/* One question. *ret_status: of HTTP, 0 when there was none; *ret_body: the JSON, or NULL. */
static int ask(uint64_t number, int *ret_status, json_t **ret_body, struct error **err)
{
    autofree char *request = xasprintf("CONNECT %llu.request.hutch.internal:80 HTTP/1.1\r\n"
                                       "Host: %llu.request.hutch.internal:80\r\n\r\n",
                                       (unsigned long long)number, (unsigned long long)number);
    autoclose int fd = -1;

    int rc = connect_proxy(&fd, err);
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

static const char *word(const json_t *body, const char *key, const char *otherwise)
{
    const char *text = json_string_value(json_object_get(body, key));
    return text && *text ? text : otherwise;
}

static void print(FILE *file, const char *verdict, const char *reason)
{
    struct text safe;

    text_init(&safe, reason, strlen(reason), SHOWN_MAX, TEXT_DEFAULT);
    fprintf(file, "%s%s%s\n", verdict, safe.len ? ": " : "", safe.bytes);
    text_finish(&safe);
}

/* What an answer means as an exit status; -1: ask again. */
static int judge(int status, const json_t *body)
{
    const char *verdict = word(body, "verdict", "");

    if (status == 200 && !strcmp(verdict, "allow")) {
        print(stdout, "allow", word(body, "reason", ""));
        return 0;
    }
    if (status == 200 && !strcmp(verdict, "deny")) {
        print(stdout, "deny", word(body, "reason", ""));
        return WAIT_EXIT_DENIED;
    }
    if (status == 200 && !strcmp(verdict, "gone")) {
        print(stdout, "gone", word(body, "reason", ""));
        return WAIT_EXIT_GONE;
    }
    if (status == 200 || status == 503 || status == 502 || status == 0)
        return -1; /* not answered yet, or the host went away meanwhile */
    print(stderr, "hutch-guest", word(body, "next", word(body, "reason", "the host cannot say")));
    return 1;
}

int wait_main(int argc, char **argv)
{
    uint64_t number;

    if (argc != 2 || units_parse_number(argv[1], 1, INT64_MAX, &number, NULL)) {
        fprintf(stderr, "usage: hutch-guest wait N (the number of a request, as a refusal names it)\n");
        return 2;
    }
    for (;;) {
        auto(error) struct error *err = NULL;
        auto(json) json_t *body = NULL;
        int status;
        if (ask(number, &status, &body, &err)) {
            fprintf(stderr, "hutch-guest: %s\n", err->message);
            return 1;
        }
        int result = judge(status, body);
        if (result >= 0)
            return result;
        usleep(AGAIN_MS * 1000);
    }
}
