/* git_send.h: what git-remote-hutch of the host asks: the branches that a user's repository may fetch of a
 * project, and commits of it that are to go into the machine. Loop thread. */
#ifndef HUTCH_DAEMON_GIT_SEND_H
#define HUTCH_DAEMON_GIT_SEND_H

#include "daemon/daemon.h"

struct git_send_params;
/* Reads the body of …/git/send: {"repo", "from", "refs": [{"commit", "to", "force"}]}. NULL with err. */
struct git_send_params *git_send_parse(const char *id, json_t *body, struct error **err);
/* The parameters of git_remote_kind; repo NULL: the only one. */
struct git_send_params *git_remote_parse(const char *id, const char *repo);
/* The lane of what works on a repository. Caller frees. */
char *git_send_lane(const struct git_send_params *params);

/* Its result: {"refs": [{"to", "error" (or null)}]}. */
extern const struct job_kind git_send_kind;
/* First a line {"folder", "repo", "format"}, then one {"ref", "commit"} for each branch that was pushed in
 * the machine, as the machine calls it. */
extern const struct job_kind git_remote_kind;

#endif
