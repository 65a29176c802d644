/* Routes of projects: list, make, show, remove, power. */
#include "base/alloc.h"
#include "base/text.h"
#include "base/units.h"
#include "conf/names.h"
#include "conf/template.h"
#include "daemon/create.h"
#include "daemon/freeze.h"
#include "daemon/inbox.h"
#include "daemon/machine.h"
#include "daemon/ops.h"
#include "daemon/server.h"
#include "daemon/show.h"
#include "wire/json.h"

#include <string.h>

#define REPOS_MAX     32
#define REPO_SPEC_MAX 4096
#define HEALTH_MS     500 /* that `show` waits for the guest's word */

/* libvirt did not answer when it was asked last: somebody is looking, so it is asked again. */
static void ask_again(struct daemon *daemon, const char *id)
{
    struct project *project = projects_lock(daemon->projects, id);
    bool known = !project || project->known;

    if (project)
        projects_unlock(daemon->projects);
    if (!known && daemon->settled && !job_running(daemon->jobs, id))
        machine_check(daemon, id);
}

static void list_projects(const struct request *request, json_t *body)
{
    struct json_writer *writer = json_writer_create(request->stream, NULL, NULL);
    size_t count;
    autofree char(*ids)[PROJECT_ID_MAX] = projects_ids(request->daemon->projects, &count);

    (void)body;
    for (size_t i = 0; i < count; i++) {
        auto(json) json_t *row = show_project_row(request->daemon, ids[i]);

        if (row)
            json_writer_line(writer, row);
        ask_again(request->daemon, ids[i]);
    }
    json_writer_end(writer);
}

/* ---- show: from memory, with the guest's word if it comes at once ---- */

struct show {
    struct daemon *daemon;
    struct h2_stream *stream; /* NULL: answered or gone */
    uv_timer_t timer;
    char id[PROJECT_ID_MAX];
    bool asking;
};

static void on_show_closed(uv_handle_t *handle)
{
    free(handle->data);
}

static void release_show(struct show *show)
{
    if (!show->asking && !show->stream && !uv_is_closing((uv_handle_t *)&show->timer))
        uv_close((uv_handle_t *)&show->timer, on_show_closed);
}

static void answer_show(struct show *show)
{
    struct h2_stream *stream = steal(&show->stream);
    auto(json) json_t *json = show_project(show->daemon, show->id);
    auto(error) struct error *err = NULL;

    uv_timer_stop(&show->timer);
    if (!stream)
        return;
    h2_stream_set_ops(stream, NULL, NULL);
    if (json) {
        json_reply(stream, 200, json);
        return;
    }
    error_set(&err, ERROR_NOT_FOUND, "the project was removed meanwhile");
    json_reply_error(stream, err);
}

static void on_show_timer(uv_timer_t *timer)
{
    answer_show(timer->data);
}

static void on_show_health(const struct wmsg_item *item, const struct error *err, void *user)
{
    struct show *show = user;
    struct project *project = err ? NULL : projects_lock(show->daemon->projects, show->id);

    if (project) {
        project->health = item->u.health;
        project->have_health = true;
        projects_unlock(show->daemon->projects);
    }
    show->asking = false;
    answer_show(show);
    release_show(show);
}

static void on_show_gone(struct h2_stream *stream, uint32_t code, void *user)
{
    struct show *show = user;

    (void)stream;
    (void)code;
    show->stream = NULL;
    release_show(show);
}

static void show_one(const struct request *request, json_t *body)
{
    static const struct h2_stream_ops ops = {.on_close = on_show_gone};
    static const struct guest_call_ops health_ops = {.on_result = on_show_health};
    struct guest_call call = {
        .op = GUEST_OP_HEALTH, .port = PORT_CONTROL, .path = "/v1/health", .stream = -1};
    struct daemon *daemon = request->daemon;
    struct project *project;
    struct guest *guest;
    struct show *show;
    bool running = false;
    char id[PROJECT_ID_MAX];

    (void)body;
    if (!request_project(request, id))
        return;
    project = projects_lock(daemon->projects, id);
    if (project) {
        running = project->vm == VM_RUNNING;
        projects_unlock(daemon->projects);
    }
    show = xnew(struct show);
    show->daemon = daemon;
    show->stream = request->stream;
    memcpy(show->id, id, sizeof(id));
    uv_timer_init(&daemon->loop, &show->timer);
    show->timer.data = show;
    h2_stream_set_ops(show->stream, &ops, show);
    guest = running ? machine_guest(daemon, id) : NULL;
    show->asking = guest && guest_call(guest, &call, &health_ops, show, NULL) != 0;
    if (show->asking)
        uv_timer_start(&show->timer, on_show_timer, HEALTH_MS, 0);
    else
        answer_show(show);
    release_show(show);
}

static void find_project(const struct request *request, json_t *body)
{
    autofree char *folder = NULL, *repository = NULL;
    auto(error) struct error *err = NULL;
    struct projects *projects = request->daemon->projects;
    char id[PROJECT_ID_MAX];
    struct project *project = NULL;
    auto(json) json_t *answer = NULL;

    (void)body;
    if (!request_query(request, "folder", &folder) || !request_query(request, "repository", &repository))
        return;
    if ((folder && projects_find_folder(projects, folder, true, id)) ||
        (repository && projects_find_repository(projects, repository, id)))
        project = projects_lock(projects, id);
    if (!project) {
        autofree char *safe = text_safe(folder ? folder : repository ? repository : "");

        error_set(&err, ERROR_NOT_FOUND, "no project belongs to \"%s\" or a folder above it", safe);
        error_hint(&err, "`hutch up` in that folder makes one; `hutch ls` lists the others");
        request_fail(request, err);
        return;
    }
    answer = json_pack("{s:s}", "name", project->r.name);
    projects_unlock(request->daemon->projects);
    json_reply(request->stream, 200, answer);
}

/* ---- up ---- */

/* Whether a running or waiting `up` does what this request wants. */
static bool does_the_same(struct job *job, const json_t *request)
{
    const struct up_params *params = job_params(job);

    return !request || (params->request && json_equal(params->request, request));
}

/* Joins the `up` that does the same, or queues one. */
static void run_up(const struct request *request, const char *id, struct up_params *params)
{
    struct jobs *jobs = request->daemon->jobs;
    struct job *job = job_find(jobs, id, &up_kind);

    if (job && does_the_same(job, params->request))
        up_kind.free_params(params);
    else
        job = job_submit(jobs, id, &up_kind, params);
    job_watch(job, request->stream);
}

static void up(const struct request *request, json_t *body)
{
    auto(error) struct error *err = NULL;
    struct up_params *params = up_params_parse(body, &err);
    char id[PROJECT_ID_MAX];
    bool created = false;

    if (!params || create_or_find(request->daemon, body, params, id, &created, &err) < 0) {
        if (params)
            up_kind.free_params(params);
        request_fail(request, err);
        return;
    }
    run_up(request, id, params);
}

static void start(const struct request *request, json_t *body)
{
    char id[PROJECT_ID_MAX];

    (void)body;
    if (request_project(request, id))
        run_up(request, id, up_params_parse(NULL, NULL));
}

/* ---- power and removal ---- */

/* Joins a job of this kind, or queues one; owns params. */
static void run_job(const struct request *request, const char *id, const struct job_kind *kind, void *params)
{
    struct jobs *jobs = request->daemon->jobs;
    struct job *job = job_find(jobs, id, kind);

    if (job)
        free(params);
    else
        job = job_submit(jobs, id, kind, params);
    job_watch(job, request->stream);
}

static void stop(const struct request *request, json_t *body)
{
    struct jobs *jobs = request->daemon->jobs;
    auto(error) struct error *err = NULL;
    struct stop_params *params;
    char id[PROJECT_ID_MAX];
    bool force = false;

    if (!request_project(request, id))
        return;
    if (json_opt_bool(body, "force", &force, &err) < 0) {
        request_fail(request, err);
        return;
    }
    job_cancel(jobs, id, &up_kind);
    if (force)
        job_cancel(jobs, id, &stop_kind); /* one that waits for the guest */
    inbox_away(request->daemon->inbox, id);
    params = xnew(struct stop_params);
    params->force = force;
    run_job(request, id, &stop_kind, params);
}

static void simple(const struct request *request, const struct job_kind *kind)
{
    char id[PROJECT_ID_MAX];

    if (request_project(request, id))
        run_job(request, id, kind, NULL);
}

/* What a person does with the machine comes before its questions: those wait. Their thaw is queued behind it,
 * and finds nothing left to do. */
static void pause_project(const struct request *request, json_t *body)
{
    char id[PROJECT_ID_MAX];

    (void)body;
    simple(request, &pause_kind);
    if (projects_find(request->daemon->projects, request->args[0], id, NULL) == 0)
        inbox_away(request->daemon->inbox, id);
}

static void resume_project(const struct request *request, json_t *body)
{
    char id[PROJECT_ID_MAX];

    (void)body;
    if (projects_find(request->daemon->projects, request->args[0], id, NULL) == 0)
        inbox_thaw(request->daemon->inbox, id);
    simple(request, &resume_kind);
}

static void suspend_project(const struct request *request, json_t *body)
{
    char id[PROJECT_ID_MAX];

    (void)body;
    simple(request, &suspend_kind);
    if (projects_find(request->daemon->projects, request->args[0], id, NULL) == 0)
        inbox_away(request->daemon->inbox, id);
}

/* Answers when the machine goes on. */
static void thaw_project(const struct request *request, json_t *body)
{
    char id[PROJECT_ID_MAX];

    (void)body;
    if (!request_project(request, id))
        return;
    inbox_thaw(request->daemon->inbox, id);
    run_job(request, id, &thaw_kind, xnew(struct freeze_params));
}

static void remove_project(const struct request *request, json_t *body)
{
    struct jobs *jobs = request->daemon->jobs;
    auto(error) struct error *err = NULL;
    struct remove_params *params;
    struct project *project;
    autofree char *discard = NULL;
    bool discard_work;
    char id[PROJECT_ID_MAX];
    int rc = 0;

    (void)body;
    if (!request_project(request, id) || !request_query(request, "discard_work", &discard))
        return;
    discard_work = discard && !strcmp(discard, "1");
    project = projects_lock(request->daemon->projects, id);
    if (project) {
        struct job *other = job_find(jobs, id, &up_kind);

        rc = remove_check_idle(project, discard_work, other ? other : job_find(jobs, id, &stop_kind), &err);
        projects_unlock(request->daemon->projects);
    }
    if (rc < 0) { /* what is refused breaks nothing off */
        request_fail(request, err);
        return;
    }
    params = xnew(struct remove_params);
    params->discard_work = discard_work;
    job_cancel(jobs, id, &up_kind);
    job_cancel(jobs, id, &stop_kind);
    run_job(request, id, &remove_kind, params);
}

const struct route routes_project[] = {
    {"GET", "/v1/projects", list_projects, false},
    {"POST", "/v1/projects", up, true},
    {"GET", "/v1/projects/?", show_one, false},
    {"DELETE", "/v1/projects/?", remove_project, false},
    {"GET", "/v1/find", find_project, false},
    {"POST", "/v1/projects/?/start", start, true},
    {"POST", "/v1/projects/?/stop", stop, true},
    {"POST", "/v1/projects/?/pause", pause_project, true},
    {"POST", "/v1/projects/?/resume", resume_project, true},
    {"POST", "/v1/projects/?/suspend", suspend_project, true},
    {"POST", "/v1/projects/?/thaw", thaw_project, true},
    {0},
};
