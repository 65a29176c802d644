#include "base/alloc.h"
#include "base/fd.h"
#include "guest/session.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#define PEERS_MAX 128

struct session_peer {
    struct session *session;
    struct session_peer *next;
    uv_poll_t poll;
    int fd;
    bool asked, waiting, deleting;
    struct output_reader *reader;
    struct input_source *source;
};

static void peer_closed(uv_handle_t *handle)
{
    struct session_peer *peer = handle->data;
    close(peer->fd);
    free(peer);
}

static void peer_remove(struct session_peer *peer)
{
    struct session_peer **slot = &peer->session->peers;

    while (*slot != peer)
        slot = &(*slot)->next;
    *slot = peer->next;
    if (peer->reader)
        output_detach(peer->reader);
    if (peer->source)
        input_detach(peer->source);
    uv_close((uv_handle_t *)&peer->poll, peer_closed);
}

/* Sends one message; takes the reference. A client that does not take it finds the connection closed. */
static void peer_send(struct session_peer *peer, json_t *message)
{
    autofree char *text = json_text(message);
    fd_send(peer->fd, text, strlen(text), NULL, 0, NULL);
    json_decref(message);
}

static void peer_fail(struct session_peer *peer, const struct error *err)
{
    peer_send(peer, json_from_error(err));
}

static void on_reader_end(struct output_reader *reader, enum output_end end, void *user)
{
    struct session_peer *peer = user;

    peer->reader = NULL;
    if (end == OUTPUT_DELIVERED)
        peer_send(peer, json_pack("{s:b}", "done", 1));
    else if (end == OUTPUT_CUT)
        peer_send(peer, json_pack("{s:{s:s,s:s}}", "error", "code", "limit", "message",
                                  "the reader took nothing for 30 s while others waited"));
}

static void on_source_end(struct input_source *source, enum input_end end, void *user)
{
    struct session_peer *peer = user;

    peer->source = NULL;
    if (end != INPUT_GONE)
        peer_send(peer, json_pack("{s:b}", "done", 1));
}

/* ---- the operations: 0 answered or will be, negative with err ---- */

static int op_show(struct session_peer *peer, const json_t *ask, int *fd, struct error **err)
{
    peer_send(peer, json_pack("{s:o}", "session", session_json(peer->session)));
    return 0;
}

static int op_wait(struct session_peer *peer, const json_t *ask, int *fd, struct error **err)
{
    peer->waiting = true;
    if (peer->session->ended)
        session_control_ended(peer->session);
    return 0;
}

static int op_resize(struct session_peer *peer, const json_t *ask, int *fd, struct error **err)
{
    int64_t rows, columns;
    int rc = json_get_number(ask, "rows", 1, SESSION_SIDE_MAX, &rows, err);

    if (!rc)
        rc = json_get_number(ask, "columns", 1, SESSION_SIDE_MAX, &columns, err);
    if (!rc)
        rc = session_child_resize(peer->session, rows, columns, err);
    if (!rc)
        peer_send(peer, json_object());
    return rc;
}

static int op_signal(struct session_peer *peer, const json_t *ask, int *fd, struct error **err)
{
    const char *name;
    int number, rc = json_get_string(ask, "signal", 32, &name, err);

    if (!rc)
        rc = session_signal_number(name, &number, err);
    if (!rc)
        rc = session_child_signal(peer->session, number, err);
    if (!rc)
        peer_send(peer, json_object());
    return rc;
}

static int op_delete(struct session_peer *peer, const json_t *ask, int *fd, struct error **err)
{
    peer->deleting = true;
    session_delete(peer->session);
    return 0;
}

static int attach_output(struct session_peer *peer, struct output *output, const json_t *ask, int *fd,
                         struct error **err)
{
    int64_t from = -1;
    uint64_t offset;
    struct output_reader *reader;

    int rc = json_opt_number(ask, "from", 0, INT64_MAX, &from, err);
    if (!rc)
        rc = output_attach(output, *fd, from < 0 ? output->ring.start : (uint64_t)from, on_reader_end, peer,
                           &reader, &offset, err);
    if (rc)
        return rc;
    *fd = -1;
    peer->reader = reader;
    peer_send(peer, json_pack("{s:I}", "offset", (json_int_t)offset));
    return 0;
}

static int op_stdout(struct session_peer *peer, const json_t *ask, int *fd, struct error **err)
{
    return attach_output(peer, &peer->session->out, ask, fd, err);
}

static int op_stderr(struct session_peer *peer, const json_t *ask, int *fd, struct error **err)
{
    if (peer->session->spec.pty) {
        error_set(err, ERROR_STATE, "the session '%s' has a terminal and no stderr of its own",
                  peer->session->id);
        return error_hint(err, "what it prints is in its stdout");
    }
    return attach_output(peer, &peer->session->err, ask, fd, err);
}

static int op_stdin(struct session_peer *peer, const json_t *ask, int *fd, struct error **err)
{
    struct input_source *source;

    if (peer->session->ended)
        return error_set(err, ERROR_STATE, "the session '%s' has ended", peer->session->id);
    int rc = input_attach(&peer->session->input, *fd, on_source_end, peer, &source, err);
    if (rc)
        return rc;
    *fd = -1;
    peer->source = source;
    peer_send(peer, json_object());
    return 0;
}

static const struct {
    const char *name;
    bool with_fd;
    int (*run)(struct session_peer *peer, const json_t *ask, int *fd, struct error **err);
} operations[] = {
    {"show", false, op_show},     {"wait", false, op_wait},     {"resize", false, op_resize},
    {"signal", false, op_signal}, {"delete", false, op_delete}, {"stdout", true, op_stdout},
    {"stderr", true, op_stderr},  {"stdin", true, op_stdin},
};

static int run_operation(struct session_peer *peer, const json_t *ask, int *fd, struct error **err)
{
    const char *name;
    int rc = json_get_string(ask, "op", 32, &name, err);

    for (size_t i = 0; !rc && i < countof(operations); i++) {
        if (strcmp(operations[i].name, name))
            continue;
        if (operations[i].with_fd != (*fd >= 0))
            return error_set(err, ERROR_PROTOCOL, "'%s' came with%s a descriptor", name,
                             *fd >= 0 ? "" : "out");
        return operations[i].run(peer, ask, fd, err);
    }
    return rc ? rc : error_set(err, ERROR_PROTOCOL, "there is no '%.32s'", name);
}

/* One message of a client. Returns false when the connection is over. */
static bool peer_receive(struct session_peer *peer)
{
    char data[SESSION_MESSAGE_MAX];
    size_t len = 0, count = 0;
    autoclose int fd = -1;
    auto(error) struct error *err = NULL;

    int rc = fd_receive(peer->fd, data, sizeof(data), &len, &fd, 1, &count, &err);
    if (rc <= 0)
        return rc == 0;
    if (count == 0)
        fd = -1;
    auto(json) json_t *ask = json_parse(data, len, &err);
    if (!ask) {
        peer_fail(peer, err);
        return false;
    }
    if (peer->asked) {
        /* the only second message there is: the client's end of file was an orderly one */
        bool end = false;
        if (!json_opt_bool(ask, "end", &end, NULL) && end && peer->source)
            input_source_orderly(peer->source);
        return true;
    }
    peer->asked = true;
    if (run_operation(peer, ask, &fd, &err)) {
        peer_fail(peer, err);
        return false;
    }
    return true;
}

static void on_peer(uv_poll_t *poll, int status, int events)
{
    struct session_peer *peer = poll->data;
    if (status < 0 || !peer_receive(peer))
        peer_remove(peer);
}

static void on_connection(uv_poll_t *poll, int status, int events)
{
    struct session *session = poll->data;
    uid_t uid;
    pid_t pid;
    size_t count = 0;

    autoclose int fd = accept4(session->listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0 || fd_peer(fd, &uid, &pid, NULL) || (uid != 0 && uid != geteuid()))
        return;
    for (struct session_peer *p = session->peers; p; p = p->next)
        count++;
    if (count >= PEERS_MAX)
        return;
    struct session_peer *peer = xnew(struct session_peer);
    peer->session = session;
    peer->fd = fd;
    peer->poll.data = peer;
    if (uv_poll_init(session->loop, &peer->poll, fd)) {
        free(peer);
        return;
    }
    steal_fd(&fd);
    peer->next = session->peers;
    session->peers = peer;
    uv_poll_start(&peer->poll, UV_READABLE | UV_DISCONNECT, on_peer);
}

int session_control_init(struct session *session, struct error **err)
{
    autofree char *path = xasprintf("%s/%s.sock", session->folder, session->id);

    int rc = fd_unix_listen(path, SOCK_SEQPACKET, 0600, &session->listen_fd, err);
    if (rc)
        return rc;
    require(uv_poll_init(session->loop, &session->listen, session->listen_fd) == 0);
    session->listen.data = session;
    uv_poll_start(&session->listen, UV_READABLE, on_connection);
    return 0;
}

void session_control_ended(struct session *session)
{
    for (struct session_peer *p = session->peers; p; p = p->next) {
        if (p->waiting)
            peer_send(p, json_pack("{s:o}", "session", session_json(session)));
        p->waiting = false;
    }
}

void session_control_deleted(struct session *session)
{
    for (struct session_peer *p = session->peers; p; p = p->next)
        if (p->deleting)
            peer_send(p, json_object());
}
