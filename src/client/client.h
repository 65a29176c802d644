/* client.h: a program's connection to hutchd: finds the socket, starts hutchd when nobody answers (under a
 * lock, so that two clients start one), speaks the API. Owns a loop of its own; the simple calls run it until
 * their answer is there. */
#ifndef HUTCH_CLIENT_CLIENT_H
#define HUTCH_CLIENT_CLIENT_H

#include "base/paths.h"
#include "wire/json.h"
#include "wire/link.h"

#include <uv.h>

#define CLIENT_PROTOCOL 1     /* of GET /v1/version */
#define CLIENT_START_MS 30000 /* for a hutchd that was just started to answer */
#define CLIENT_LOG_MAX                                                                                       \
    (4 * 1024 * 1024) /* hutchd.log is put aside as hutchd.log.1 beyond this, before a start */

struct client {
    struct paths *paths;
    uv_loop_t *loop;
    struct link *link; /* NULL: not connected */
    bool lost;         /* hutchd went away */
    char *version;     /* hutchd's, as it said */
    int64_t pid;
    char *uri; /* libvirt's, as hutchd said; may be NULL */
    /* Optional: the connection was lost by itself. Called inside of the connection's work. */
    void (*on_lost)(void *user);
    void *user;
};

/* Connects and checks the protocol's version. start: start hutchd if it does not run; false: ERROR_NO_DAEMON
 * then. */
int client_connect(bool start, struct client **ret_client, struct error **err);
/* A client without a connection yet (lost), for a program that never waits: client_open in a thread, then
 * client_adopt, then GET /v1/version and client_greet with its answer. */
int client_prepare(struct client **ret_client, struct error **err);
/* Speaks over a connected socket from client_open, which it takes over (closed on failure). */
int client_adopt(struct client *client, int fd, struct error **err);
/* Takes the answer of GET /v1/version; ERROR_PROTOCOL for a hutchd that speaks another one. */
int client_greet(struct client *client, const json_t *body, struct error **err);
/* Ends the connection; the client is lost. */
void client_drop(struct client *client);
/* Connects anew after a loss; the loop and its handles stay. The client is still yours, lost, on failure. */
int client_reconnect(struct client *client, bool start, struct error **err);
void client_close(struct client *client);
AUTO_DEFINE(client, struct client *, client_close);
/* The error of a lost connection: ERROR_NO_DAEMON, with what to do. */
int client_lost_error(const struct client *client, struct error **err);
/* One call, run to its answer. *ret_body: new reference (may be NULL); ret_body may be NULL. An {"error"}
 * answer is the error. */
int client_call(struct client *client, const char *method, const char *path, const json_t *body,
                json_t **ret_body, struct error **err);
/* A call with an answer of lines; line is called as they come. The last line's "error" is the error, its
 * "result" *ret_result (may be NULL; NULL when the list had none); neither is given to line. */
int client_lines(struct client *client, const char *method, const char *path, const json_t *body,
                 json_line_fn line, void *user, json_t **ret_result, struct error **err);

/* ---- start.c ---- */
/* A connected socket to hutchd, which is started if nobody answers. */
int client_open(const struct paths *paths, bool start, int *ret_fd, struct error **err);

#endif
