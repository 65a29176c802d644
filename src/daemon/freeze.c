#include "daemon/freeze.h"

#include "base/alloc.h"
#include "base/log.h"
#include "daemon/machine.h"

#include <stdio.h>
#include <string.h>

static int record_freeze(struct work *work, int64_t request, struct error **err)
{
    memcpy(work->r.frozen_boot, work->r.boot, sizeof(work->r.frozen_boot));
    work->r.frozen_for = request;
    return work_save(work, err);
}

int freeze_forget(struct work *work, struct error **err)
{
    if (!work->r.frozen_for)
        return 0;
    work->r.frozen_boot[0] = '\0';
    work->r.frozen_for = 0;
    return work_save(work, err);
}

static int note(struct work *work, const char *kind, int64_t request, struct error **err)
{
    autofree char *subject = xasprintf("for request #%lld", (long long)request);
    struct event event = EVENT_INIT;

    event.project = work->r.id;
    event.kind = kind;
    event.actor = "hutchd";
    event.subject = subject;
    return daemon_journal(work->daemon, &event, err);
}

static int freeze(struct work *work, int64_t request, struct error **err)
{
    struct vm_info info;
    int rc = machine_refresh(work, &info, err);

    if (rc == 0 && info.state == VM_PAUSED && record_is_frozen(&work->r) && work->r.frozen_for != request) {
        rc = note(work, "lifecycle.freeze", request, err); /* the one before was answered, this one is not */
        return rc < 0 ? rc : record_freeze(work, request, err);
    }
    if (rc < 0 || info.state != VM_RUNNING)
        return rc;
    rc = note(work, "lifecycle.freeze", request, err);
    if (!rc)
        rc = record_freeze(work, request, err);
    if (rc < 0)
        return rc;
    rc = work->host->ops->pause(work->host, work->r.uuid, err);
    if (rc < 0) {
        freeze_forget(work, NULL);
        return rc;
    }
    return machine_settle(work, &info, err);
}

/* On record as frozen until it runs: a kill in between is made good at the next start. */
static int thaw(struct work *work, struct error **err)
{
    int64_t request = work->r.frozen_for;
    struct vm_info info;
    int rc = machine_refresh(work, &info, err);

    if (rc == 0 && record_is_frozen(&work->r) && info.state == VM_PAUSED)
        rc = work->host->ops->resume(work->host, work->r.uuid, err);
    if (rc == 0)
        rc = freeze_forget(work, err);
    if (rc == 0)
        rc = machine_settle(work, &info, err);
    if (rc == 0)
        note(work, "lifecycle.thaw", request, NULL);
    return rc;
}

int freeze_undo(struct work *work, struct error **err)
{
    return work->r.frozen_for ? thaw(work, err) : 0;
}

int freeze_assert(struct work *work, struct vm_info *info, struct error **err)
{
    if (!record_is_frozen(&work->r) || info->state != VM_RUNNING)
        return 0;
    log_info("\"%s\" was resumed while it is frozen for request %lld; it is frozen again", work->r.name,
             (long long)work->r.frozen_for);
    int rc = work->host->ops->pause(work->host, work->r.uuid, err);
    return rc < 0 ? rc : machine_refresh(work, info, err);
}

static int run_freeze(struct job *job, void *user, json_t **ret_result, struct error **err)
{
    const struct freeze_params *params = user;
    struct work work;
    int rc = work_begin(&work, job, err);

    (void)ret_result;
    if (rc == 0)
        rc = freeze(&work, params->request, err);
    work_finish(&work);
    return rc;
}

const struct job_kind freeze_kind = {.name = "freeze", .run = run_freeze, .free_params = free, .quiet = true};

static int run_thaw(struct job *job, void *user, json_t **ret_result, struct error **err)
{
    const struct freeze_params *params = user;
    struct work work;
    int rc = work_begin(&work, job, err);

    (void)ret_result;
    if (rc == 0 && work.r.frozen_for && (!params->request || params->request == work.r.frozen_for))
        rc = thaw(&work, err);
    work_finish(&work);
    return rc;
}

const struct job_kind thaw_kind = {.name = "thaw", .run = run_thaw, .free_params = free, .quiet = true};
