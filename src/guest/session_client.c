#include "guest/session_client.h"

#include "base/alloc.h"
#include "base/fd.h"
#include "guest/session.h"

#include <string.h>
#include <sys/socket.h>

struct session_client {
    uv_poll_t poll;
    int fd;
    session_client_fn on_message;
    void *user;
};

static void on_closed(uv_handle_t *handle)
{
    struct session_client *client = handle->data;
    close(client->fd);
    free(client);
}

static void on_readable(uv_poll_t *poll, int status, int events)
{
    struct session_client *client = poll->data;
    char data[SESSION_MESSAGE_MAX];
    size_t len, count;
    auto(error) struct error *err = NULL;

    int rc = status < 0 ? -1 : fd_receive(client->fd, data, sizeof(data), &len, NULL, 0, &count, NULL);
    if (rc == 0)
        return;
    auto(json) json_t *message = rc > 0 ? json_parse(data, len, NULL) : NULL;
    if (!message)
        uv_poll_stop(poll);
    else
        json_to_error(message, &err);
    client->on_message(client, message, err, client->user);
}

int session_client_create(uv_loop_t *loop, const char *folder, const char *id, json_t *request, int fd,
                          session_client_fn on_message, void *user, struct session_client **ret_client,
                          struct error **err)
{
    autofree char *path = xasprintf("%s/%s.sock", folder, id);
    autofree char *text = json_text(request);
    autoclose int data_fd = fd;
    autoclose int socket = -1;

    json_decref(request);
    if (fd_unix_connect(path, SOCK_SEQPACKET, &socket, NULL))
        return error_set(err, ERROR_NOT_FOUND, "the process of the session '%s' is not there", id);
    int rc = fd_send(socket, text, strlen(text), data_fd < 0 ? NULL : &data_fd, data_fd < 0 ? 0 : 1, err);
    if (rc <= 0)
        return rc < 0 ? rc : error_set(err, ERROR_BUSY, "the session '%s' does not take requests", id);
    struct session_client *client = xnew(struct session_client);
    if ((rc = uv_poll_init(loop, &client->poll, socket))) {
        free(client);
        return error_set(err, ERROR_IO, "cannot watch the session '%s': %s", id, uv_strerror(rc));
    }
    client->poll.data = client;
    client->fd = steal_fd(&socket);
    client->on_message = on_message;
    client->user = user;
    uv_poll_start(&client->poll, UV_READABLE, on_readable);
    *ret_client = client;
    return 0;
}

void session_client_send(struct session_client *client, json_t *message)
{
    autofree char *text = json_text(message);
    fd_send(client->fd, text, strlen(text), NULL, 0, NULL);
    json_decref(message);
}

void session_client_destroy(struct session_client *client)
{
    if (client)
        uv_close((uv_handle_t *)&client->poll, on_closed);
}
