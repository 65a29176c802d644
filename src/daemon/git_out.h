/* git_out.h: git out of a machine, in hutchd: each repository of a project has a quarantine
 * (repo/quarantine.h), a lane of jobs that fetch into it, and requests of verb PUSH for what was pushed and
 * not yet looked at. */
#ifndef HUTCH_DAEMON_GIT_OUT_H
#define HUTCH_DAEMON_GIT_OUT_H

#include "daemon/daemon.h"
#include "repo/quarantine.h"

#define GIT_PUSHES_MAX 64 /* of a project that wait for review; further ones wait for these */

struct approval_request;

/* The folder of a quarantine; caller frees. [any thread] */
char *git_out_folder(const struct daemon *daemon, const char *id, const char *repo);
/* Where its mirror is, by the quarantine itself; NULL: it has none. Caller frees. [job threads] */
char *git_out_mirror(const char *folder);
/* Makes the quarantine of a repository that came in, with its mirror. format: "sha1", "sha256". [job threads]
 */
int git_out_prepare(const struct daemon *daemon, const char *id, const char *repo, const char *mirror,
                    const char *format, struct error **err);

/* ---- loop thread ---- */
/* At the start and the end of hutchd. */
void git_out_create(struct daemon *daemon);
void git_out_destroy(struct daemon *daemon);
/* A fetch of one repository that begins after now: one that waits already is joined. collect: work that is in
 * the work tree alone comes too. The job's result: {"repo", "changes": [{"name", "old", "commit"}], "pushes":
 * [{"ref", "request", "words"}], "skips": [{"name", "why"}]}. */
struct job *git_out_fetch(struct daemon *daemon, const char *id, const char *repo, bool collect);
/* The same of every repository of a project whose machine runs, with collect; nobody waits. */
void git_out_fetch_all(struct daemon *daemon, const char *id);
/* A session has ended: what the agent made comes out, once for all that end within some seconds. */
void git_out_session_ended(struct daemon *daemon, const char *id);
/* How the allowance of a PUSH lands (set once, by who can land); NULL: by `hutch land` alone. */
typedef int (*git_land_fn)(struct daemon *daemon, const struct approval_request *request, struct error **err);
void git_out_set_land(git_land_fn land);

/* ---- job threads ---- */
/* The fetch itself: collects, fetches, makes the requests. ret_result as above. */
int git_out_run(struct daemon *daemon, struct job *job, const char *id, const char *repo, bool collect,
                json_t **ret_result, struct error **err);
/* Fetches the repository's source anew and pushes its branches and tags into the machine. *ret_apart: some
 * went apart from what the machine has, and stay there as they are. */
int git_push_in(struct job *job, const char *id, const char *repo, bool *ret_apart, struct error **err);
/* Makes requests of what was pushed and not asked yet; appends to `pushes`. */
int git_push_file(struct daemon *daemon, const char *id, const char *repo, const char *folder, json_t *pushes,
                  struct error **err);

/* ---- git_stream.c: a call of the guest that is a stream of git, on a thread of its own ---- */
struct git_stream;
int git_stream_open(struct daemon *daemon, const char *id, const char *path, struct git_stream **ret_stream,
                    int *ret_fd, struct error **err);
/* Ends it (and closes the descriptor). *err: what the guest said, when it says more than the end of a stream.
 */
void git_stream_close(struct git_stream *stream, bool failed, struct error **err);

#endif
