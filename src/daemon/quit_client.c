#include "daemon/quit_client.h"

#include "base/alloc.h"
#include "base/fd.h"
#include "wire/json.h"
#include "wire/link.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#define END_MS 10000 /* from the answer to the end of the process */

struct asking {
    struct link *link;
    struct error *error;
    bool answered;
};

static void close_link(struct asking *asking)
{
    if (asking->link)
        link_close(asking->link, false);
    asking->link = NULL;
}

static void on_over(struct link *link, const struct error *err, void *user)
{
    struct asking *asking = user;

    (void)link;
    if (!asking->answered && !asking->error)
        asking->error = err ? error_copy(err) : NULL;
    close_link(asking);
}

static void on_answer(int status, json_t *body, const struct error *err, void *user)
{
    struct asking *asking = user;

    (void)status;
    (void)body;
    asking->answered = true;
    asking->error = err ? error_copy(err) : NULL;
    if (err)
        close_link(asking); /* else hutchd closes it, by its end */
}

/* The process at the other end, as a descriptor that tells its end; -1 where the kernel has none. */
static int peer_process(int fd)
{
    uid_t uid;
    pid_t pid;

    if (fd_peer(fd, &uid, &pid, NULL) < 0)
        return -1;
    return (int)syscall(SYS_pidfd_open, pid, 0);
}

int quit_client(const struct paths *paths, bool save, struct error **err)
{
    static const struct link_ops ops = {.on_over = on_over};
    struct asking asking = {0};
    auto(error) struct error *why = NULL;
    auto(json) json_t *body = json_pack("{s:b}", "save", save);
    autoclose int process = -1;
    uv_loop_t loop;
    int fd, rc = fd_unix_connect(paths->socket, SOCK_STREAM, &fd, &why);

    if (rc < 0)
        return why->sys == ENOENT || why->sys == ECONNREFUSED ? 0 : error_move(err, &why);
    process = peer_process(fd);
    require(uv_loop_init(&loop) == 0);
    rc = link_create(&loop, fd, H2_CLIENT, NULL, &ops, &asking, NULL, 0, &asking.link, err);
    if (rc < 0)
        close(fd);
    else
        rc = json_call(link_session(asking.link), "POST", "/v1/quit", body, on_answer, &asking, err);
    if (rc < 0)
        close_link(&asking);
    uv_run(&loop, UV_RUN_DEFAULT);
    uv_loop_close(&loop);
    if (rc == 0 && !asking.error && process >= 0)
        poll(&(struct pollfd){.fd = process, .events = POLLIN}, 1, END_MS);
    return rc < 0 ? rc : error_move(err, &asking.error);
}
