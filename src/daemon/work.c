#include "daemon/work.h"

#include "base/alloc.h"
#include "base/file.h"
#include "base/log.h"
#include "daemon/ops.h"

#include <string.h>
#include <unistd.h>

#define CRASH_STATUS 137 /* as if killed with -9 */

/* Whether libvirt has been asked about it since hutchd started. */
static bool is_known(struct work *work)
{
    struct project *project = projects_lock(work->daemon->projects, work->r.id);
    bool known = project && project->known;

    if (project)
        projects_unlock(work->daemon->projects);
    return known;
}

int work_begin(struct work *work, struct job *job, struct error **err)
{
    int rc;

    *work = (struct work){.daemon = job_daemon(job), .job = job};
    if (!projects_record(work->daemon->projects, job_lane(job), &work->r))
        return error_set(err, ERROR_NOT_FOUND, "the project was removed meanwhile");
    rc = daemon_host(work->daemon, &work->host, err);
    if (rc == 0 && !is_known(work))
        rc = reconcile_project(work, err);
    return rc;
}

void work_finish(struct work *work)
{
    record_finish(&work->r);
}

int work_save_with(struct work *work, state_more_fn more, void *user, struct error **err)
{
    int rc = state_save_with(work->daemon->state, &work->r, more, user, err);

    if (rc == 0)
        projects_put(work->daemon->projects, &work->r);
    return rc;
}

int work_save(struct work *work, struct error **err)
{
    return work_save_with(work, NULL, NULL, err);
}

/* Test hook: ends hutchd at the step that HUTCH_CRASH_AT names, as kill -9 would. */
static void crash_hook(enum step step)
{
    const char *at = getenv("HUTCH_CRASH_AT");

    if (at && !strcmp(at, step_name(step)))
        _exit(CRASH_STATUS);
}

int work_step_with(struct work *work, enum step step, state_more_fn more, void *user, struct error **err)
{
    int rc;

    work->r.step = step;
    rc = work_save_with(work, more, user, err);
    if (rc < 0)
        return rc;
    crash_hook(step);
    job_progress(work->job, step_name(step), 0, 0, NULL, "%s", step_about(step));
    return 0;
}

int work_step_anyway(struct work *work, enum step step, struct error **err)
{
    return work_step_with(work, step, NULL, NULL, err);
}

int work_step(struct work *work, enum step step, struct error **err)
{
    int rc = job_check(work->job, err);

    return rc < 0 ? rc : work_step_anyway(work, step, err);
}

int work_done(struct work *work, struct error **err)
{
    work->r.step = STEP_NONE;
    free(steal(&work->r.failure));
    return work_save(work, err);
}

void work_failed(struct work *work, const struct error *why, bool keep_step)
{
    auto(error) struct error *err = NULL;

    free(work->r.failure);
    work->r.failure = xstrdup(why->message);
    if (!keep_step)
        work->r.step = STEP_NONE;
    if (work_save(work, &err) < 0)
        log_error("%s", err->message);
}

json_t *work_result(struct work *work)
{
    autofree char *folder = daemon_project_path(work->daemon, work->r.id, NULL);
    uint64_t used = file_disk_usage(folder);
    struct project *project = projects_lock(work->daemon->projects, work->r.id), shown;
    json_t *json;

    if (!project)
        return NULL;
    shown = *project;
    shown.busy = NULL; /* the job that answers is over for whom it answers */
    json = project_json(&shown, used);
    projects_unlock(work->daemon->projects);
    return json;
}
