#include "client/client.h"

#include "base/alloc.h"
#include "base/text.h"
#include "base/words.h"

#include <signal.h>
#include <string.h>

/* The connection is over: every stream was told by its own on_close. */
static void on_over(struct link *link, const struct error *err, void *user)
{
    struct client *client = user;
    client->lost = true;
    client->link = NULL;
    link_close(link, false);
    if (client->on_lost)
        client->on_lost(client->user);
}

static const struct link_ops link_ops = {.on_over = on_over};

int client_lost_error(const struct client *client, struct error **err)
{
    error_set(err, ERROR_NO_DAEMON, _("the connection to hutchd was lost"));
    error_hint(err, _("machines and sessions go on; give the command again, or look into %s/hutchd.log"),
               client->paths->state);
    return -ERROR_NO_DAEMON; /* also where nobody takes the error */
}

int client_greet(struct client *client, const json_t *body, struct error **err)
{
    int64_t protocol = 0;
    const char *version = "?", *uri = NULL;
    int rc = json_get_number(body, "protocol", 0, INT32_MAX, &protocol, err);
    if (rc == 0)
        rc = json_get_number(body, "pid", 0, INT32_MAX, &client->pid, err);
    if (rc == 0)
        rc = json_opt_string(body, "version", 64, &version, err);
    if (rc == 0)
        rc = json_opt_string(body, "uri", 256, &uri, err);
    if (rc < 0)
        return rc;
    free(client->version);
    client->version = xstrdup(version);
    free(client->uri);
    client->uri = xstrdup(uri);
    if (protocol == CLIENT_PROTOCOL)
        return 0;
    error_set(err, ERROR_PROTOCOL,
              _("hutchd (process %lld, version %s) speaks protocol %lld, this hutch speaks %d"),
              (long long)client->pid, version, (long long)protocol, CLIENT_PROTOCOL);
    return error_hint(err,
                      _("end it with \"kill %lld\" and try again: machines and sessions go on, the next "
                        "command starts a new one"),
                      (long long)client->pid);
}

/* Asks who answers, and refuses another protocol. */
static int check_version(struct client *client, struct error **err)
{
    auto(json) json_t *body = NULL;
    int rc = client_call(client, "GET", "/v1/version", NULL, &body, err);
    if (rc < 0)
        return error_prefix(err, _("hutchd at \"%s\""), client->paths->socket);
    return client_greet(client, body, err);
}

void client_drop(struct client *client)
{
    client->lost = true;
    if (client->link)
        link_close(steal(&client->link), false);
}

int client_adopt(struct client *client, int fd, struct error **err)
{
    client_drop(client);
    int rc = link_create(client->loop, fd, H2_CLIENT, NULL, &link_ops, client, NULL, 0, &client->link, err);
    client->lost = rc < 0;
    if (rc < 0)
        close(fd);
    return rc;
}

int client_reconnect(struct client *client, bool start, struct error **err)
{
    client_drop(client);
    int fd = -1;
    int rc = client_open(client->paths, start, &fd, err);
    if (rc == 0)
        rc = client_adopt(client, fd, err);
    if (rc < 0)
        return rc;
    rc = check_version(client, err);
    if (rc < 0)
        client_drop(client);
    return rc;
}

int client_prepare(struct client **ret_client, struct error **err)
{
    auto(client) struct client *client = xnew(struct client);
    client->lost = true;
    int rc = paths_find(&client->paths, err);
    if (rc < 0)
        return rc;
    /* A peer that went away is an error of a write, never a signal. */
    signal(SIGPIPE, SIG_IGN);
    client->loop = xnew(uv_loop_t);
    require(uv_loop_init(client->loop) == 0);
    *ret_client = steal(&client);
    return 0;
}

int client_connect(bool start, struct client **ret_client, struct error **err)
{
    auto(client) struct client *client = NULL;
    int rc = client_prepare(&client, err);
    if (rc == 0)
        rc = client_reconnect(client, start, err);
    if (rc == 0)
        *ret_client = steal(&client);
    return rc;
}

void client_close(struct client *client)
{
    if (!client)
        return;
    if (client->link)
        link_close(steal(&client->link), false);
    if (client->loop) {
        /* What was closed gets its close callback; handles of the caller's must be closed by now. */
        uv_run(client->loop, UV_RUN_NOWAIT);
        require(uv_loop_close(client->loop) == 0);
        free(client->loop);
    }
    paths_free(client->paths);
    free(client->version);
    free(client->uri);
    free(client);
}

/* ---- calls ---- */

struct call {
    json_line_fn line;
    void *user;
    bool done;
    json_t *body, *result;
    struct error *err;
};

static void on_answer(int status, json_t *body, const struct error *err, void *user)
{
    struct call *call = user;
    call->done = true;
    call->body = json_incref(body);
    if (!call->err)
        call->err = error_copy(err);
}

/* A line of a list: the two that end a list are kept apart. */
static void on_line(json_t *line, void *user)
{
    struct call *call = user;
    if (json_object_get(line, "error") && json_object_size(line) == 1) {
        if (!call->err)
            json_to_error(line, &call->err);
    } else if (json_object_get(line, "result") && json_object_size(line) == 1) {
        json_decref(call->result);
        call->result = json_incref(json_object_get(line, "result"));
    } else if (call->line) {
        call->line(line, call->user);
    }
}

/* Runs the loop until the call has its answer. */
static int run_call(struct client *client, struct call *call, struct error **err)
{
    while (!call->done)
        uv_run(client->loop, UV_RUN_ONCE);
    if (client->lost && call->err) {
        error_free(steal(&call->err));
        return client_lost_error(client, err);
    }
    return error_move(err, &call->err);
}

int client_call(struct client *client, const char *method, const char *path, const json_t *body,
                json_t **ret_body, struct error **err)
{
    if (client->lost)
        return client_lost_error(client, err);
    struct call call = {0};
    int rc = json_call(link_session(client->link), method, path, body, on_answer, &call, err);
    if (rc == 0)
        rc = run_call(client, &call, err);
    if (rc == 0 && ret_body)
        *ret_body = steal(&call.body);
    json_decref(call.body);
    return rc;
}

int client_lines(struct client *client, const char *method, const char *path, const json_t *body,
                 json_line_fn line, void *user, json_t **ret_result, struct error **err)
{
    if (client->lost)
        return client_lost_error(client, err);
    struct call call = {.line = line, .user = user};
    int rc = json_call_lines(link_session(client->link), method, path, body, on_line, on_answer, &call, err);
    if (rc == 0)
        rc = run_call(client, &call, err);
    if (rc == 0 && ret_result)
        *ret_result = steal(&call.result);
    json_decref(call.body);
    json_decref(call.result);
    return rc;
}
