/* client.h: a program's connection to hutchd: finds the socket, starts hutchd when nobody answers (under a lock, so that two
 * clients start one), speaks the API. Owns a loop of its own; the simple calls run it until their answer is there. */
#ifndef HUTCH_CLIENT_CLIENT_H
#define HUTCH_CLIENT_CLIENT_H

#include "base/paths.h"
#include "wire/json.h"
#include "wire/link.h"

#include <uv.h>

struct client {
    struct paths *paths;
    uv_loop_t *loop;
    struct link *link;
    bool lost; /* hutchd went away */
};
/* start: start hutchd if it does not run; false: ERROR_NO_DAEMON then. */
int client_connect(bool start, struct client **ret_client, struct error **err);
void client_close(struct client *client);
AUTO_DEFINE(client, struct client *, client_close);
/* One call, run to its answer. *ret_body: new reference (may be NULL). An {"error"} answer is the error. */
int client_call(struct client *client, const char *method, const char *path, const json_t *body, json_t **ret_body, struct error **err);
/* A call with an answer of lines; line is called as they come. The last line's "error" is the error, its "result" *ret_result (may be NULL). */
int client_lines(struct client *client, const char *method, const char *path, const json_t *body, json_line_fn line, void *user,
                 json_t **ret_result, struct error **err);

#endif
