/* Routes of git out of a machine: what there is, a fetch now, what was kept of removed projects. */
#include "base/alloc.h"
#include "daemon/git_lost.h"
#include "daemon/git_send.h"
#include "daemon/server.h"

#include <string.h>

/* A job of its own for each who asks; it works on what git has, not on the machine's lane. */
static void submit(const struct request *request, const struct job_kind *kind)
{
    char id[PROJECT_ID_MAX];

    if (!request_project(request, id))
        return;
    struct git_job_params *params = xnew(struct git_job_params);
    memcpy(params->id, id, sizeof(id));
    autofree char *lane = xasprintf("%s:%s", kind->name, id);
    job_watch(job_submit(request->daemon->jobs, lane, kind, params), request->stream);
}

static void list_git(const struct request *request, json_t *body)
{
    (void)body;
    submit(request, &git_list_kind);
}

static void fetch_git(const struct request *request, json_t *body)
{
    (void)body;
    submit(request, &git_fetch_all_kind);
}

static void push_in_git(const struct request *request, json_t *body)
{
    (void)body;
    submit(request, &git_push_in_kind);
}

static void list_pushes(const struct request *request, json_t *body)
{
    (void)body;
    submit(request, &git_pushes_kind);
}

static void list_remote(const struct request *request, json_t *body)
{
    autofree char *repo = NULL;
    char id[PROJECT_ID_MAX];

    (void)body;
    if (!request_project(request, id) || !request_query(request, "repo", &repo))
        return;
    autofree char *lane = xasprintf("git-remote:%s", id);
    job_watch(job_submit(request->daemon->jobs, lane, &git_remote_kind, git_remote_parse(id, repo)),
              request->stream);
}

static void send_git(const struct request *request, json_t *body)
{
    auto(error) struct error *err = NULL;
    char id[PROJECT_ID_MAX];

    if (!request_project(request, id))
        return;
    struct git_send_params *params = git_send_parse(id, body, &err);
    if (!params) {
        request_fail(request, err);
        return;
    }
    autofree char *lane = git_send_lane(params);
    job_watch(job_submit(request->daemon->jobs, lane, &git_send_kind, params), request->stream);
}

static void list_lost(const struct request *request, json_t *body)
{
    (void)body;
    job_watch(job_submit(request->daemon->jobs, "git-lost", &git_lost_kind, NULL), request->stream);
}

const struct route routes_git[] = {
    {"GET", "/v1/projects/?/git", list_git, false},
    {"POST", "/v1/projects/?/git/fetch", fetch_git, false},
    {"POST", "/v1/projects/?/git/push-in", push_in_git, false},
    {"GET", "/v1/projects/?/git/pushes", list_pushes, false},
    {"GET", "/v1/projects/?/git/remote", list_remote, false},
    {"POST", "/v1/projects/?/git/send", send_git, true},
    {"GET", "/v1/git/lost", list_lost, false},
    {0},
};
