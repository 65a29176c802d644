#include "guest/session_spare.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/spawn.h"
#include "base/units.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>

#define ID_BYTES 8
#define READ_MAX 4096

struct session_spare {
    struct agent *agent;
    uv_timer_t timer;
    int fd; /* to the process that waits; -1: none */
};

/* ---- hutch-guest's side ---- */

static int start_process(struct agent *agent, int *ret_fd, struct error **err)
{
    const struct place *place = &agent->place;
    autofree char *id = units_random_hex(ID_BYTES);
    const char *const argv[] = {place->program, "session", id, place->sessions, place->bin, NULL};
    int pair[2];
    pid_t pid;

    int rc = fd_socketpair(SOCK_SEQPACKET, false, pair, err);
    if (rc)
        return rc;
    autoclose int ours = pair[0], theirs = pair[1];
    const struct spawn spawn = {
        .argv = argv, .in = -1, .out = -1, .err = 2, .keep = {theirs}, .keep_count = 1, .new_session = true};
    rc = fd_set_nonblocking(ours, true, err);
    if (!rc)
        rc = spawn_start(&spawn, &pid, err);
    if (rc)
        return rc;
    children_watch(&agent->children, pid, NULL, NULL);
    *ret_fd = steal_fd(&ours);
    return 0;
}

static void on_time(uv_timer_t *timer)
{
    struct session_spare *spare = timer->data;
    auto(error) struct error *err = NULL;

    if (spare->fd < 0 && start_process(spare->agent, &spare->fd, &err))
        log_debug("no session waits: %s", err->message);
}

struct session_spare *session_spare_create(struct agent *agent)
{
    struct session_spare *spare = xnew(struct session_spare);

    spare->agent = agent;
    spare->fd = -1;
    uv_timer_init(&agent->loop, &spare->timer);
    spare->timer.data = spare;
    return spare;
}

static void on_closed(uv_handle_t *handle)
{
    free(handle->data);
}

void session_spare_destroy(struct session_spare *spare)
{
    if (!spare)
        return;
    if (spare->fd >= 0)
        close(spare->fd);
    uv_close((uv_handle_t *)&spare->timer, on_closed);
}

/* The request as a file: it may be larger than a message. */
static int spec_file(const json_t *body, int *ret_fd, struct error **err)
{
    autofree char *text = json_text(body);
    autoclose int fd = memfd_create("session", MFD_CLOEXEC);

    if (fd < 0)
        return error_set_errno(err, errno, "cannot hand the request on");
    int rc = fd_write_all(fd, text, strlen(text), err);
    if (rc)
        return rc;
    lseek(fd, 0, SEEK_SET);
    *ret_fd = steal_fd(&fd);
    return 0;
}

int session_spare_use(struct session_spare *spare, const json_t *body, int *ret_fd, struct error **err)
{
    autoclose int spec = -1;
    autoclose int fd = spare->fd;
    int rc = spec_file(body, &spec, err);

    spare->fd = -1;
    if (rc)
        return rc;
    uv_timer_start(&spare->timer, on_time, SESSION_SPARE_MS, 0);
    if (fd >= 0 && fd_send(fd, "s", 1, &spec, 1, NULL) == 1) {
        *ret_fd = steal_fd(&fd);
        return 0;
    }
    /* none waits, or it was killed */
    if (fd >= 0)
        close(steal_fd(&fd));
    rc = start_process(spare->agent, &fd, err);
    if (rc)
        return rc;
    rc = fd_send(fd, "s", 1, &spec, 1, err);
    if (rc <= 0)
        return rc < 0 ? rc : error_set(err, ERROR_BUSY, "the session's process takes no request");
    *ret_fd = steal_fd(&fd);
    return 0;
}

/* ---- the process's side ---- */

int session_spare_wait(int fd, json_t **ret_body, struct error **err)
{
    char byte;
    size_t len, count = 0;
    autoclose int spec = -1;
    struct buf text;

    int rc = fd_receive(fd, &byte, 1, &len, &spec, 1, &count, err);
    if (rc < 0)
        return rc;
    if (rc == 0 || count != 1)
        return error_set(err, ERROR_PROTOCOL, "a request without its file");
    buf_init(&text, JSON_BODY_MAX);
    for (ssize_t n = 1; n > 0;) {
        uint8_t *at = buf_reserve(&text, READ_MAX);
        n = at ? read(spec, at, READ_MAX) : -1;
        if (n < 0)
            rc = error_set(err, ERROR_IO, "cannot read what to start");
        else
            buf_commit(&text, (size_t)n);
    }
    json_t *body = rc < 0 ? NULL : json_parse((const char *)buf_data(&text), text.len, err);
    buf_finish(&text);
    if (!body)
        return rc < 0 ? rc : -ERROR_PROTOCOL;
    *ret_body = body;
    return 0;
}
