/* session_client.h: hutch-guest's connection to one session's process: one request, its answers (session.h
 * has the messages). */
#ifndef HUTCH_GUEST_SESSION_CLIENT_H
#define HUTCH_GUEST_SESSION_CLIENT_H

#include "wire/json.h"

#include <uv.h>

struct session_client;

/* A message (borrowed; an {"error":…} arrives as err, and the connection stays), or message NULL without err:
 * the connection is over. The client may be destroyed inside. */
typedef void (*session_client_fn)(struct session_client *client, json_t *message, const struct error *err,
                                  void *user);

/* Connects and sends the request (reference taken in any case) with fd (-1: none; closed in any case).
 * ERROR_NOT_FOUND when the session's process is not there. */
int session_client_create(uv_loop_t *loop, const char *folder, const char *id, json_t *request, int fd,
                          session_client_fn on_message, void *user, struct session_client **ret_client,
                          struct error **err);
/* Sends a further message (reference taken). */
void session_client_send(struct session_client *client, json_t *message);
/* Disconnects: the session's process detaches us. NULL is allowed. */
void session_client_destroy(struct session_client *client);

#endif
