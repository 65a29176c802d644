/* server.h: the API's socket: who may speak (the same user), a link for each client, and the table of routes.
 * Loop thread. */
#ifndef HUTCH_DAEMON_SERVER_H
#define HUTCH_DAEMON_SERVER_H

#include "daemon/daemon.h"
#include "wire/h2.h"

#include <jansson.h>

#define ROUTE_ARGS_MAX 3

/* A request as a handler sees it. Strings live until the handler returns. */
struct request {
    struct daemon *daemon;
    struct h2_stream *stream;   /* answered by the handler, now or later */
    const char *path;           /* as it came, with its query */
    char *args[ROUTE_ARGS_MAX]; /* the parts of the path that stood for "?", decoded */
};

struct route {
    const char *method;
    const char *pattern; /* "/v1/projects/?/start": "?" stands for one part */
    /* body: the JSON body, NULL if there was none (borrowed); always NULL when `body` is not set. */
    void (*handle)(const struct request *request, json_t *body);
    bool body; /* collect a JSON body first */
};

/* The tables; each file of routes has one, ended by an empty entry. */
extern const struct route routes_host[], routes_project[], routes_session[], routes_file[], routes_event[],
    routes_template[], routes_way[], routes_request[], routes_git[], routes_review[],
    routes_snapshot[], routes_diff[];

/* Binds paths->socket (mode 0600) but accepts nobody yet. */
int server_create(struct daemon *daemon, struct server **ret_server, struct error **err);
/* Begins to accept; what has connected meanwhile is served now. */
void server_accept(struct server *server);
void server_destroy(struct server *server);

/* ---- for handlers ---- */
void request_fail(const struct request *request, const struct error *err);
/* The id of the project that args[0] names; false: the client has been told. */
bool request_project(const struct request *request, char ret_id[PROJECT_ID_MAX]);
/* A value of the query, decoded; NULL if absent. Caller frees. false: the client has been told. */
bool request_query(const struct request *request, const char *key, char **ret);

#endif
