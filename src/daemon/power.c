/* stop, pause, resume, suspend, wake. */
#include "base/alloc.h"
#include "base/file.h"
#include "base/log.h"
#include "base/units.h"
#include "daemon/freeze.h"
#include "daemon/host.h"
#include "daemon/machine.h"
#include "daemon/ops.h"
#include "daemon/snapshot.h"
#include "daemon/state_requests.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define STOP_KVM_S      60
#define STOP_EMULATED_S 120
#define POWER_CALL_MS   5000
#define POLL_MS         100
#define SAVE_ROOM_MIN   (512ULL << 20)
#define IMAGE_MAGIC     "LibvirtQemudSave" /* of a complete image; a partial one says "LibvirtQemudPart" */

void power_off_quietly(struct work *work)
{
    auto(error) struct error *err = NULL;

    if (machine_destroy(work, &err) < 0)
        log_error("\"%s\" cannot be switched off: %s", work->r.name, err->message);
}

bool power_image_complete(const char *path)
{
    autoclose int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    char magic[sizeof(IMAGE_MAGIC) - 1];

    return fd >= 0 && pread(fd, magic, sizeof(magic), 0) == sizeof(magic) &&
           !memcmp(magic, IMAGE_MAGIC, sizeof(magic));
}

/* ---- stop ---- */

/* Waits until the machine is off. 1: off, 0: the time is over. */
static int wait_off(struct work *work, struct error **err)
{
    int64_t deadline =
        units_monotonic_ns() + (work->daemon->kvm ? STOP_KVM_S : STOP_EMULATED_S) * 1000000000LL;

    for (;;) {
        struct vm_info info;
        int rc = machine_refresh(work, &info, err);

        if (rc == 0)
            rc = job_check(work->job, err);
        if (rc < 0)
            return rc;
        if (info.state != VM_RUNNING && info.state != VM_STOPPING)
            return info.state != VM_PAUSED;
        if (units_monotonic_ns() > deadline)
            return 0;
        nanosleep(&(struct timespec){.tv_nsec = POLL_MS * 1000000L}, NULL);
    }
}

/* Asks the system in the machine to go down. 1: it is off, 0: it has to be forced. */
static int stop_guest(struct work *work, const struct vm_info *info, struct error **err)
{
    auto(error) struct error *why = NULL;
    int rc = work_step(work, STEP_STOP_GUEST, err);

    if (rc == 0 && info->state == VM_PAUSED) {
        struct vm_info now;

        rc = freeze_forget(work, err);
        if (rc == 0)
            rc = work->host->ops->resume(work->host, work->r.uuid, err);
        if (rc == 0)
            rc = machine_settle(work, &now, err);
    }
    if (rc < 0)
        return rc;
    machine_check_modules(work);
    rc = machine_call(work, GUEST_OP_PUT, "/v1/power", json_pack("{s:s}", "action", "poweroff"),
                      POWER_CALL_MS, NULL, &why);
    if (rc < 0 && why->code == ERROR_CANCELLED)
        return error_move(err, &why);
    /* A guest that goes down may take the answer with it: what counts is whether the machine goes off. */
    if (rc < 0 && why->code != ERROR_GUEST) {
        job_warn(work->job, "its system does not answer: %s", why->message);
        return 0;
    }
    return wait_off(work, err);
}

/* Whether the guest was in step when it was last heard of. */
static bool guest_in_step(struct work *work)
{
    struct project *project = projects_lock(work->daemon->projects, work->r.id);
    bool up = project && project->guest_up;

    if (project)
        projects_unlock(work->daemon->projects);
    return up;
}

static int stop_steps(struct work *work, bool force, struct error **err)
{
    struct vm_info info;
    int rc = machine_settle(work, &info, err), off = 0;

    if (rc == 0 && work->r.saved) {
        rc = daemon_note(work->daemon, work->r.id, "lifecycle.drop", "the memory image", err);
        if (rc == 0)
            rc = machine_drop_image(work, err);
    }
    if (rc < 0 || info.state == VM_OFF || info.state == VM_ABSENT)
        return rc;
    rc = daemon_note(work->daemon, work->r.id, "lifecycle.stop", work->r.name, err);
    if (rc == 0 && !force && guest_in_step(work))
        rc = off = stop_guest(work, &info, err);
    if (rc < 0)
        return rc;
    if (!off) {
        rc = work_step_anyway(work, STEP_STOP_DESTROY, err);
        if (rc < 0)
            return rc;
    }
    return machine_destroy(work, err); /* also takes the guest away from a machine that went off by itself */
}

/* How an operation on a project ends: its step is over either way, the error is the client's. */
static int end(struct work *work, int rc, json_t **ret_result, struct error **err)
{
    auto(error) struct error *second = NULL;
    enum operation operation = step_operation(work->r.step);

    if (rc == 0) {
        rc = work_done(work, err);
    } else if (operation == OPERATION_STOP || operation == OPERATION_SUSPEND) {
        work->r.step = STEP_NONE;
        if (work_save(work, &second) < 0)
            log_error("%s", second->message);
    }
    if (rc == 0)
        *ret_result = work_result(work);
    work_finish(work);
    return rc;
}

static int run_stop(struct job *job, void *user, json_t **ret_result, struct error **err)
{
    const struct stop_params *params = user;
    auto(error) struct error *why = NULL;
    struct work work;
    int rc = work_begin(&work, job, err);

    if (rc == 0)
        rc = stop_steps(&work, params->force, err);
    if (rc == 0 && merge_spare(&work, NULL, &why) < 0) /* it is off either way; the next stop goes on */
        log_warning("\"%s\": %s", work.r.name, why->message);
    return end(&work, rc, ret_result, err);
}

const struct job_kind stop_kind = {.name = "stop", .run = run_stop, .free_params = free};

/* ---- pause, resume ---- */

static int run_pause(struct job *job, void *user, json_t **ret_result, struct error **err)
{
    struct work work;
    struct vm_info info;
    int rc = work_begin(&work, job, err);

    (void)user;
    if (rc == 0)
        rc = machine_refresh(&work, &info, err);
    if (rc == 0 && info.state != VM_RUNNING && info.state != VM_PAUSED) {
        rc = error_set(err, ERROR_STATE, "\"%s\" does not run", work.r.name);
        error_hint(err, "`hutch start %s` starts it", work.r.name);
    }
    if (rc == 0 && info.state == VM_PAUSED && record_is_frozen(&work.r)) { /* it stays as it is */
        rc = daemon_note(work.daemon, work.r.id, "lifecycle.pause", work.r.name, err);
        if (rc == 0)
            rc = freeze_forget(&work, err);
    }
    if (rc == 0 && info.state == VM_RUNNING) {
        rc = daemon_note(work.daemon, work.r.id, "lifecycle.pause", work.r.name, err);
        if (rc == 0)
            rc = work.host->ops->pause(work.host, work.r.uuid, err);
        if (rc == 0)
            rc = machine_settle(&work, &info, err);
    }
    if (rc == 0)
        *ret_result = work_result(&work);
    work_finish(&work);
    return rc;
}

const struct job_kind pause_kind = {.name = "pause", .run = run_pause};

static int run_resume(struct job *job, void *user, json_t **ret_result, struct error **err)
{
    struct work work;
    struct vm_info info;
    int rc = work_begin(&work, job, err);

    (void)user;
    if (rc == 0)
        rc = freeze_undo(&work, err);
    if (rc == 0)
        rc = machine_settle(&work, &info, err);
    if (rc == 0 && info.state != VM_RUNNING && info.state != VM_PAUSED) {
        rc = error_set(err, ERROR_STATE, "\"%s\" is not paused", work.r.name);
        error_hint(err, "`hutch start %s` starts it", work.r.name);
    }
    if (rc == 0 && info.state == VM_PAUSED) {
        rc = daemon_note(work.daemon, work.r.id, "lifecycle.resume", work.r.name, err);
        if (rc == 0)
            rc = work.host->ops->resume(work.host, work.r.uuid, err);
        if (rc == 0)
            rc = machine_settle(&work, &info, err);
    }
    if (rc == 0)
        *ret_result = work_result(&work);
    work_finish(&work);
    return rc;
}

const struct job_kind resume_kind = {.name = "resume", .run = run_resume};

/* ---- suspend ---- */

/* Only touched memory is written; a host that has not even room for a small part of it is not tried. */
static int check_room(struct work *work, const char *folder, struct error **err)
{
    char needs[UNITS_SIZE_MAX], has[UNITS_SIZE_MAX];
    uint64_t room;
    int rc = file_free_space(folder, &room, err);

    if (rc < 0 || room >= work->r.memory || room >= SAVE_ROOM_MIN)
        return rc;
    error_set(err, ERROR_NO_SPACE, "the memory of \"%s\" can take up to %s, and %s are free", work->r.name,
              units_format_size(work->r.memory, needs), units_format_size(room, has));
    return error_hint(err, "make room, or stop it: `hutch stop %s`", work->r.name);
}

/* request: for which it is saved, 0: for none. */
static int suspend_steps(struct work *work, int64_t request, struct error **err)
{
    autofree char *folder = daemon_project_path(work->daemon, work->r.id, NULL),
                  *path = machine_image_path(work);
    struct vm_info info;
    int rc = machine_settle(work, &info, err);

    if (rc < 0 || work->r.saved)
        return rc;
    if (info.state != VM_RUNNING && info.state != VM_PAUSED) {
        error_set(err, ERROR_STATE, "\"%s\" does not run", work->r.name);
        return error_hint(err, "there is no memory to save");
    }
    rc = check_room(work, folder, err);
    if (rc == 0)
        rc = daemon_note(work->daemon, work->r.id, "lifecycle.suspend", work->r.name, err);
    if (rc < 0)
        return rc;
    unlink(path);
    rc = work_step(work, STEP_SUSPEND_SAVE, err);
    if (rc == 0)
        rc = work->host->ops->save(work->host, work->r.uuid, path, err);
    if (rc < 0) {
        daemon_noted(work->daemon, work->r.id, "lifecycle.failed",
                     err ? (*err)->message : "saving its memory");
        unlink(path);
        machine_settle(work, &info, NULL);
        return rc;
    }
    rc = work_step_anyway(work, STEP_SUSPEND_RECORD, err);
    work->r.saved = rc == 0;
    work->r.stored_for = rc == 0 ? request : 0;
    if (rc == 0)
        work->r.frozen_for = 0; /* it wakes running */
    if (rc == 0)
        rc = work_save(work, err);
    if (rc == 0)
        daemon_noted(work->daemon, work->r.id, "lifecycle.saved", work->r.name);
    return rc < 0 ? rc : machine_settle(work, &info, err);
}

static int run_suspend(struct job *job, void *user, json_t **ret_result, struct error **err)
{
    struct work work;
    int rc = work_begin(&work, job, err);

    (void)user;
    if (rc == 0)
        rc = suspend_steps(&work, 0, err);
    return end(&work, rc, ret_result, err);
}

const struct job_kind suspend_kind = {.name = "suspend", .run = run_suspend};

/* Nobody has answered it yet. */
static bool still_waits(struct work *work, int64_t request)
{
    struct approval_request stored;

    if (state_request_load(work->daemon->state, request, &stored, NULL) < 0)
        return false;
    bool waits = stored.state == APPROVAL_WAITING;
    state_request_finish(&stored);
    return waits;
}

/* Nobody came: what stands still for the request is saved. Where that fails it goes on (what asked was
 * refused already), and where somebody came after all too. */
static int store(struct work *work, int64_t request, struct error **err)
{
    int rc;

    if (work->r.frozen_for != request || !record_is_frozen(&work->r))
        return 0;
    if (!still_waits(work, request))
        return freeze_undo(work, err);
    rc = suspend_steps(work, request, err);
    if (rc < 0)
        freeze_undo(work, NULL);
    else if (!still_waits(work, request))
        rc = power_wake(work, err);
    return rc;
}

static int run_store(struct job *job, void *user, json_t **ret_result, struct error **err)
{
    const struct freeze_params *params = user;
    struct work work;
    int rc = work_begin(&work, job, err);

    if (rc == 0)
        rc = store(&work, params->request, err);
    return end(&work, rc, ret_result, err);
}

const struct job_kind store_kind = {.name = "store", .run = run_store, .free_params = free, .quiet = true};

/* ---- wake ---- */

/* From the image to a paused machine on the right disk. */
static int restore(struct work *work, const char *path, struct error **err)
{
    autofree char *sockets = daemon_socket_path(work->daemon, work->r.id, NULL);
    struct machine_spec spec;
    struct vm_info info;
    int rc = file_make_folder(sockets, 0700, err);

    if (rc == 0)
        rc = machine_spec_make(work, &spec, err);
    if (rc < 0)
        return rc;
    rc = work->host->ops->restore(work->host, &spec.spec, path, true, err);
    machine_spec_finish(&spec);
    if (rc < 0) {
        error_prefix(err, "the memory of \"%s\" cannot be read back", work->r.name);
        error_hint(err,
                   "`hutch stop %s` drops the memory image; the next start boots cold (unsaved work of its "
                   "programs is lost)",
                   work->r.name);
        return rc;
    }
    rc = work_step_anyway(work, STEP_WAKE_CHAIN, err);
    if (rc == 0)
        rc = machine_refresh(work, &info, err);
    return rc < 0 ? rc : machine_trust(work, err);
}

int power_wake(struct work *work, struct error **err)
{
    autofree char *path = machine_image_path(work);
    struct vm_info info;
    int rc = host_check_memory(work->r.name, work->r.memory, err);

    if (rc == 0)
        rc = daemon_note(work->daemon, work->r.id, "lifecycle.wake", work->r.name, err);
    if (rc == 0)
        rc = work_step(work, STEP_WAKE_RESTORE, err);
    if (rc == 0)
        rc = restore(work, path, err);
    if (rc < 0)
        return rc;
    /* From its first instruction on the disk moves away from the image: that it is spent is on record before.
     */
    work->r.saved = false;
    work->r.stored_for = 0;
    rc = work_step_anyway(work, STEP_WAKE_RESUME, err);
    if (rc == 0)
        rc = work->host->ops->resume(work->host, work->r.uuid, err);
    if (rc < 0)
        return rc;
    unlink(path);
    return machine_settle(work, &info, err);
}
