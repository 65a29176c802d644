/* api.h: the routes of doc/protocol.md ("The guest's API") and their handlers, one list. */
#ifndef HUTCH_GUEST_API_H
#define HUTCH_GUEST_API_H

#include "guest/agent.h"

enum route_body {
    ROUTE_NONE,  /* a body is not expected and thrown away */
    ROUTE_JSON,  /* collected before the handler runs: call->body */
    ROUTE_BYTES, /* the handler takes the stream over at once */
};

struct route {
    const char *method, *pattern;
    enum route_body body;
    void (*handler)(struct call *call);
};

/* The route of a request. ERROR_NOT_FOUND without one for the path, ERROR_USAGE for a wrong method. */
const struct route *api_find(const char *method, const char *target, struct error **err);

/* X(method, pattern, body, handler) */
#define API_ROUTES(X)                                                                                        \
    X("GET", "/v1/health", ROUTE_NONE, health_show)                                                          \
    X("PUT", "/v1/clock", ROUTE_JSON, clock_set)                                                             \
    X("PUT", "/v1/identity", ROUTE_JSON, identity_set)                                                       \
    X("PUT", "/v1/grow", ROUTE_JSON, grow_root)                                                              \
    X("PUT", "/v1/freeze", ROUTE_JSON, freeze_set)                                                           \
    X("PUT", "/v1/power", ROUTE_JSON, power_set)                                                             \
    X("POST", "/v1/sessions", ROUTE_JSON, sessions_start)                                                    \
    X("GET", "/v1/sessions", ROUTE_NONE, sessions_list)                                                      \
    X("GET", "/v1/sessions/*", ROUTE_NONE, sessions_show)                                                    \
    X("DELETE", "/v1/sessions/*", ROUTE_NONE, sessions_delete)                                               \
    X("GET", "/v1/sessions/*/wait", ROUTE_NONE, sessions_wait)                                               \
    X("POST", "/v1/sessions/*/resize", ROUTE_JSON, sessions_resize)                                          \
    X("POST", "/v1/sessions/*/signal", ROUTE_JSON, sessions_signal)                                          \
    X("POST", "/v1/sessions/*/stdin", ROUTE_BYTES, sessions_stdin)                                           \
    X("GET", "/v1/sessions/*/stdout", ROUTE_NONE, sessions_stdout)                                           \
    X("GET", "/v1/sessions/*/stderr", ROUTE_NONE, sessions_stderr)                                           \
    X("GET", "/v1/files/stat", ROUTE_NONE, files_stat)                                                       \
    X("GET", "/v1/files/list", ROUTE_NONE, files_list)                                                       \
    X("POST", "/v1/files/folder", ROUTE_NONE, files_folder)                                                  \
    X("GET", "/v1/files", ROUTE_NONE, files_read)                                                            \
    X("PUT", "/v1/files", ROUTE_BYTES, files_write)                                                          \
    X("GET", "/v1/tar", ROUTE_NONE, tar_out)                                                                 \
    X("PUT", "/v1/tar", ROUTE_BYTES, tar_in)                                                                 \
    X("POST", "/v1/git/*", ROUTE_JSON, git_prepare)                                                          \
    X("POST", "/v1/git/*/receive-pack", ROUTE_BYTES, git_receive_pack)                                       \
    X("POST", "/v1/git/*/upload-pack", ROUTE_BYTES, git_upload_pack)                                         \
    X("POST", "/v1/git/*/checkout", ROUTE_JSON, git_checkout)                                                \
    X("POST", "/v1/git/*/collect", ROUTE_JSON, git_collect)                                                  \
    X("POST", "/v1/tcp/*", ROUTE_BYTES, tcp_connect)                                                         \
    X("GET", "/v1/package-hosts", ROUTE_NONE, package_hosts_list)

#define X(method, pattern, body, handler) void handler(struct call *call);
API_ROUTES(X)
#undef X

#endif
