/* After a start of hutchd: what is recorded, what lies on the disk and what libvirt says are brought
 * together, project by project on its own lane. An interrupted operation is finished where the way on is
 * safe, else undone or left for its command to go on. */
#include "base/alloc.h"
#include "base/file.h"
#include "base/log.h"
#include "base/units.h"
#include "daemon/freeze.h"
#include "daemon/layers.h"
#include "daemon/machine.h"
#include "daemon/ops.h"
#include "daemon/snapshot.h"

#include <string.h>
#include <time.h>
#include <unistd.h>

#define JOB_LIMIT_S 180 /* of a save that libvirt goes on with although its caller is gone */
#define POLL_MS     100

/* libvirt may still be writing the memory image that a killed hutchd asked for. */
static int wait_vm_job(struct work *work, struct vm_info *info, struct error **err)
{
    int64_t deadline = units_monotonic_ns() + JOB_LIMIT_S * 1000000000LL;
    int rc;

    while ((rc = machine_refresh(work, info, err)) == 0 && info->state == VM_PAUSED &&
           info->reason == VM_REASON_JOB && units_monotonic_ns() < deadline)
        nanosleep(&(struct timespec){.tv_nsec = POLL_MS * 1000000L}, NULL);
    return rc;
}

/* A suspend: the image counts if the machine is off because it was saved, or the image says that it is
 * complete. */
static int finish_suspend(struct work *work, struct error **err)
{
    autofree char *path = machine_image_path(work);
    struct vm_info info;
    int rc = wait_vm_job(work, &info, err);
    bool off = rc == 0 && (info.state == VM_OFF || info.state == VM_ABSENT);

    if (rc < 0)
        return rc;
    work->r.saved =
        off && file_exists(path) &&
        (info.reason == VM_REASON_SAVED || (info.reason == VM_REASON_NONE && power_image_complete(path)));
    work->r.step = STEP_NONE;
    rc = work_save(work, err);
    if (rc == 0 && !work->r.saved)
        unlink(path);
    if (rc == 0)
        daemon_noted(work->daemon, work->r.id, work->r.saved ? "lifecycle.saved" : "lifecycle.failed",
                     work->r.saved ? "finished after a restart"
                                   : "saving its memory: undone after a restart");
    return rc;
}

/* A wake: the image is spent from the step on that lets the machine go on; before that it is still whole. */
static int finish_wake(struct work *work, struct error **err)
{
    autofree char *path = machine_image_path(work);
    struct vm_info info;
    int rc = machine_refresh(work, &info, err);

    if (rc == 0 && info.state == VM_PAUSED) {
        rc = machine_trust(work, err);
        work->r.saved = false;
        if (rc == 0)
            rc = work_step_anyway(work, STEP_WAKE_RESUME, err);
        if (rc == 0)
            rc = work->host->ops->resume(work->host, work->r.uuid, err);
    } else if (rc == 0 && info.state == VM_RUNNING) {
        work->r.saved = false;
    }
    if (rc < 0)
        return rc;
    work->r.step = STEP_NONE;
    rc = work_save(work, err);
    if (rc == 0 && !work->r.saved)
        unlink(path);
    return rc;
}

/* A stop: it was wanted. Where the guest was only asked, it may still be on its way down: that is for
 * libvirt's event to tell. */
static int finish_stop(struct work *work, struct error **err)
{
    int rc = work->r.step == STEP_STOP_DESTROY ? machine_destroy(work, err) : 0;

    if (rc < 0)
        return rc;
    work->r.step = STEP_NONE;
    return work_save(work, err);
}

/* A memory image that nothing on record speaks of is never used. */
static void drop_stray_image(struct work *work)
{
    autofree char *path = machine_image_path(work);

    if (!work->r.saved && file_exists(path)) {
        log_warning("\"%s\": a memory image that is not on record is removed", work->r.name);
        unlink(path);
    }
}

int reconcile_project(struct work *work, struct error **err)
{
    autofree char *image = machine_image_path(work);
    struct vm_info info;
    int rc = 0;

    switch (step_operation(work->r.step)) {
    case OPERATION_SUSPEND:
        rc = finish_suspend(work, err);
        break;
    case OPERATION_WAKE:
        rc = finish_wake(work, err);
        break;
    case OPERATION_STOP:
        rc = finish_stop(work, err);
        break;
    case OPERATION_UP: /* `up` goes on where it was */
        if (work->r.made) {
            work->r.step = STEP_NONE;
            rc = work_save(work, err);
        }
        break;
    case OPERATION_SNAP:
        rc = snapshot_settle(work, err);
        break;
    case OPERATION_RESTORE:
        rc = restore_settle(work, err);
        break;
    case OPERATION_SNAPRM:
        rc = merge_settle(work, err);
        break;
    case OPERATION_FORK:
    case OPERATION_REMOVE: /* its job was queued */
    case OPERATION_NONE:
        break;
    }
    if (rc == 0)
        rc = freeze_undo(work, err);
    if (rc == 0)
        drop_stray_image(work);
    if (rc == 0)
        layers_sweep(work);
    if (rc == 0 && work->r.saved && !file_exists(image)) {
        log_warning("\"%s\": its memory image is missing; the next start boots cold", work->r.name);
        rc = machine_drop_image(work, err);
    }
    return rc < 0 ? rc : machine_settle(work, &info, err);
}

/* ---- all of them ---- */

static int run_reconcile(struct job *job, void *params, json_t **ret_result, struct error **err)
{
    struct work work;
    int rc = work_begin(&work, job, err); /* reconciles a project that is not known yet */

    (void)params;
    (void)ret_result;
    work_finish(&work);
    return rc;
}

static const struct job_kind reconcile_kind = {.name = "reconcile", .run = run_reconcile, .quiet = true};

struct count {
    struct daemon *daemon;
    size_t open;
    void (*fn)(struct daemon *daemon);
};

static void on_project_end(const json_t *result, const struct error *err, void *user)
{
    struct count *count = user;

    (void)result;
    (void)err;
    if (--count->open)
        return;
    count->fn(count->daemon);
    free(count);
}

/* A removal that was begun is gone on with; everything else is looked at. */
static struct job *queue_project(struct daemon *daemon, const char *id)
{
    struct project *project = projects_lock(daemon->projects, id);
    bool removing = project && step_operation(project->r.step) == OPERATION_REMOVE;
    struct job *job;

    if (!project)
        return NULL;
    projects_unlock(daemon->projects);
    job = job_submit(daemon->jobs, id, &reconcile_kind, NULL);
    if (removing)
        job_submit(daemon->jobs, id, &remove_kind, xnew(struct remove_params));
    return job;
}

void reconcile_start(struct daemon *daemon, void (*fn)(struct daemon *daemon))
{
    struct count *count = xnew(struct count);
    size_t n;
    autofree char(*ids)[PROJECT_ID_MAX] = projects_ids(daemon->projects, &n);

    *count = (struct count){.daemon = daemon, .open = 1, .fn = fn};
    for (size_t i = 0; i < n; i++) {
        struct job *job = queue_project(daemon, ids[i]);

        if (!job)
            continue;
        count->open++;
        job_on_end(job, on_project_end, count);
    }
    on_project_end(NULL, NULL, count);
}
