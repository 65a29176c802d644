#include "daemon/server.h"

#include "base/alloc.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/text.h"
#include "daemon/logfile.h"
#include "wire/json.h"
#include "wire/link.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define CLIENTS_MAX   256
#define PATH_SIZE_MAX 8192
#define REST_MS       500 /* after an accept that failed: the connection stays in the queue and would spin */

struct client {
    struct client *next, **prev;
    struct server *server;
    struct link *link;
};

struct server {
    struct daemon *daemon;
    int fd;
    uv_poll_t poll;
    uv_timer_t rest;
    unsigned handles;
    bool polling;
    struct client *clients;
    unsigned count;
};

static const struct route *const tables[] = {routes_host, routes_project, routes_session,
                                             routes_file, routes_event,   routes_template,
                                             routes_way,  routes_request, routes_git,
                                             routes_review, routes_snapshot, routes_diff};

/* ---- routes ---- */

/* Goes to the next part of a path, which ends at one of these characters; returns its length. */
static size_t next_part(const char **path, const char *ends)
{
    (*path)++;
    return strcspn(*path, ends);
}

/* One part of a path, decoded. NULL: it has a NUL or is not encoded well. */
static char *decode_part(const char *part, size_t len)
{
    autofree char *query = xasprintf("/?p=%.*s", (int)len, part);
    char *decoded = NULL;

    if (json_query(query, "p", &decoded, NULL, NULL) < 0)
        return NULL;
    return decoded;
}

static void free_args(char *args[ROUTE_ARGS_MAX])
{
    for (int i = 0; i < ROUTE_ARGS_MAX; i++)
        free(steal(&args[i]));
}

/* Whether a path fits a pattern; fills args. */
static bool fits(const char *pattern, const char *path, char *args[ROUTE_ARGS_MAX])
{
    size_t count = 0;

    while (*pattern == '/' && *path == '/') {
        size_t want = next_part(&pattern, "/"), have = next_part(&path, "/?");

        if (want == 1 && *pattern == '?') {
            char *arg = have && count < ROUTE_ARGS_MAX ? decode_part(path, have) : NULL;

            if (!arg)
                return false;
            args[count++] = arg;
        } else if (want != have || memcmp(pattern, path, want)) {
            return false;
        }
        pattern += want;
        path += have;
    }
    return !*pattern && (!*path || *path == '?');
}

/* The route of a request. NULL: *ret_other_method says whether only the method was wrong. */
static const struct route *find_route(const struct h2_head *head, char *args[ROUTE_ARGS_MAX],
                                      bool *ret_other_method)
{
    for (size_t i = 0; i < countof(tables); i++) {
        for (const struct route *route = tables[i]; route->method; route++) {
            if (fits(route->pattern, head->path, args)) {
                if (!strcmp(route->method, head->method))
                    return route;
                *ret_other_method = true;
            }
            free_args(args);
        }
    }
    return NULL;
}

/* Calls the handler, unless the request says by "?id=" which project it means and the name is another's by
 * now. Projects are made on this thread alone: none can take the name between the check and the handler. */
static void handle(const struct route *route, const struct request *request, json_t *body)
{
    autofree char *meant = NULL;
    char id[PROJECT_ID_MAX];
    auto(error) struct error *err = NULL;

    if (strncmp(route->pattern, "/v1/projects/?", 14) == 0) {
        if (!request_query(request, "id", &meant))
            return;
        if (meant && projects_find(request->daemon->projects, request->args[0], id, NULL) == 0 &&
            strcmp(id, meant) != 0) {
            autofree char *safe = text_safe(request->args[0]);

            error_set(&err, ERROR_STATE, "\"%s\" is another project now: the one that was meant is gone",
                      safe);
            error_hint(&err, "nothing was done; look at the new one and ask again");
            request_fail(request, err);
            return;
        }
    }
    route->handle(request, body);
}

/* A request whose body is being collected. */
struct collected {
    struct request request;
    const struct route *route;
    char *path;
};

static void on_body(struct h2_stream *stream, json_t *body, const struct error *err, void *user)
{
    struct collected *collected = user;

    if (!err)
        handle(collected->route, &collected->request, body);
    else if (err->code != ERROR_CANCELLED) /* else the client is gone */
        json_reply_error(stream, err);
    free_args(collected->request.args);
    free(collected->path);
    free(collected);
}

/* Hands a request to its handler, at once or when its body is there. */
static void dispatch(const struct route *route, const struct request *request, const struct h2_head *head)
{
    struct collected *collected;
    auto(error) struct error *err = NULL;

    if (!route->body) {
        handle(route, request, NULL);
        return;
    }
    collected = xnew(struct collected);
    collected->request = *request;
    collected->route = route;
    collected->request.path = collected->path = xstrdup(request->path);
    for (int i = 0; i < ROUTE_ARGS_MAX; i++)
        collected->request.args[i] = xstrdup(request->args[i]);
    if (json_collect(request->stream, head, on_body, collected, &err) < 0)
        on_body(request->stream, NULL, err, collected);
}

static void on_request(struct h2_session *session, struct h2_stream *stream, const struct h2_head *head,
                       void *user)
{
    struct client *client = user;
    struct request request = {.daemon = client->server->daemon, .stream = stream, .path = head->path};
    auto(error) struct error *err = NULL;
    const struct route *route = NULL;
    bool other_method = false;
    static const struct h2_stream_ops ignore = {0};

    (void)session;
    h2_stream_set_ops(stream, &ignore, NULL); /* every request is answered: none is refused as a stream */
    if (head->path && strlen(head->path) < PATH_SIZE_MAX)
        route = find_route(head, request.args, &other_method);
    if (route) {
        dispatch(route, &request, head);
    } else {
        autofree char *safe = text_safe(head->path ? head->path : "");

        if (other_method)
            error_set(&err, ERROR_USAGE, "\"%s\" is not possible on \"%s\"", head->method, safe);
        else
            error_set(&err, ERROR_NOT_FOUND, "the API has no \"%s\"", safe);
        json_reply_error(stream, err);
    }
    free_args(request.args);
}

void request_fail(const struct request *request, const struct error *err)
{
    json_reply_error(request->stream, err);
}

bool request_project(const struct request *request, char ret_id[PROJECT_ID_MAX])
{
    auto(error) struct error *err = NULL;

    if (projects_find(request->daemon->projects, request->args[0], ret_id, &err) == 0)
        return true;
    request_fail(request, err);
    return false;
}

bool request_query(const struct request *request, const char *key, char **ret)
{
    auto(error) struct error *err = NULL;

    if (json_query(request->path, key, ret, NULL, &err) == 0)
        return true;
    request_fail(request, err);
    return false;
}

/* ---- clients ---- */

static void drop_client(struct client *client)
{
    *client->prev = client->next;
    if (client->next)
        client->next->prev = client->prev;
    client->server->count--;
    link_close(client->link, false);
    free(client);
}

static void on_over(struct link *link, const struct error *err, void *user)
{
    (void)link;
    if (err)
        log_debug("a client's connection: %s", err->message);
    drop_client(user);
}

static const struct link_ops link_ops = {.session = {.on_request = on_request}, .on_over = on_over};

/* Serves one connection, if it is of the same user. Anybody else gets not even a byte. */
static void add_client(struct server *server, int fd)
{
    static const struct h2_options options = {.trusted = true};
    auto(error) struct error *err = NULL;
    struct client *client;
    uid_t uid;
    pid_t pid;

    if (fd_peer(fd, &uid, &pid, &err) < 0 || uid != geteuid() || server->count >= CLIENTS_MAX) {
        if (!err)
            log_warning(uid != geteuid() ? "a connection of user %u was closed"
                                         : "too many clients (user %u)",
                        (unsigned)uid);
        close(fd);
        return;
    }
    client = xnew(struct client);
    client->server = server;
    if (link_create(&server->daemon->loop, fd, H2_SERVER, &options, &link_ops, client, NULL, 0, &client->link,
                    &err) < 0) {
        log_error("a client: %s", err->message);
        close(fd);
        free(client);
        return;
    }
    client->next = server->clients;
    client->prev = &server->clients;
    if (client->next)
        client->next->prev = &client->next;
    server->clients = client;
    server->count++;
}

static void on_rest_over(uv_timer_t *timer)
{
    server_accept(timer->data);
}

static void on_connection(uv_poll_t *poll, int status, int events)
{
    struct server *server = poll->data;
    int fd;

    (void)status;
    (void)events;
    logfile_bound();
    while ((fd = accept4(server->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0)
        add_client(server, fd);
    if (errno == EAGAIN || errno == EINTR || errno == ECONNABORTED)
        return;
    log_error("accept: %s", strerror(errno));
    uv_poll_stop(&server->poll);
    server->polling = false;
    uv_timer_start(&server->rest, on_rest_over, REST_MS, 0);
}

int server_create(struct daemon *daemon, struct server **ret_server, struct error **err)
{
    struct server *server = xnew(struct server);
    int rc = fd_unix_listen(daemon->paths->socket, SOCK_STREAM, 0600, &server->fd, err);

    if (rc < 0) {
        free(server);
        return rc;
    }
    server->daemon = daemon;
    require(uv_poll_init(&daemon->loop, &server->poll, server->fd) == 0);
    uv_timer_init(&daemon->loop, &server->rest);
    server->poll.data = server->rest.data = server;
    server->handles = 2;
    *ret_server = server;
    return 0;
}

void server_accept(struct server *server)
{
    if (server->polling)
        return;
    server->polling = true;
    require(uv_poll_start(&server->poll, UV_READABLE, on_connection) == 0);
}

static void on_handle_closed(uv_handle_t *handle)
{
    struct server *server = handle->data;

    if (--server->handles == 0)
        free(server);
}

void server_destroy(struct server *server)
{
    if (!server)
        return;
    while (server->clients)
        drop_client(server->clients);
    unlink(server->daemon->paths->socket);
    close(server->fd);
    uv_close((uv_handle_t *)&server->poll, on_handle_closed);
    uv_close((uv_handle_t *)&server->rest, on_handle_closed);
}
