#include "daemon/snapshot.h"

#include "base/alloc.h"
#include "base/file.h"
#include "base/log.h"
#include "base/units.h"
#include "daemon/layers.h"
#include "daemon/machine.h"
#include "vm/layer.h"
#include "wire/json.h"

#include <string.h>
#include <unistd.h>

#define SYNC_MS   60000
#define FREEZE_MS 4000 /* its own watchdog lets go after 5 s */
#define THAW_MS   8000
#define ROOM_MIN  (64ULL << 20) /* that must be free for what comes after */

/* ---- the guest's file systems ---- */

/* Not ended by a cancelled job: what stands still must go on. */
static int guest_freeze(struct work *work, const char *action, unsigned timeout_ms, struct error **err)
{
    autofree char *body = xasprintf("{\"action\":\"%s\"}", action);
    struct guest_call call = {
        .op = GUEST_OP_PUT, .port = PORT_CONTROL, .path = "/v1/freeze", .body = body, .stream = -1};

    return guest_call_wait(work->daemon->guests, work->r.id, &call, timeout_ms, NULL, NULL, err);
}

/* Whether its guest can be asked to hold its file systems; what it had not written yet is written then. */
static bool guest_sync(struct work *work, const struct vm_info *info)
{
    auto(error) struct error *why = NULL;

    if (info->state == VM_PAUSED) {
        job_warn(work->job, "it stands still: its disk is taken as after a power cut");
        return false;
    }
    if (guest_freeze(work, "sync", SYNC_MS, &why) == 0)
        return true;
    job_warn(work->job, "its disk is taken as after a power cut: %s", why->message);
    return false;
}

/* Gives the machine its new top. The pause is what it could not write for. */
static int take_running(struct work *work, const struct vm_info *info, const char *overlay,
                        struct snapshot_row *row, struct error **err)
{
    auto(error) struct error *why = NULL;
    bool asked = guest_sync(work, info), held = false;
    int rc = work_step(work, STEP_SNAP_TAKE, err);
    int64_t start = units_monotonic_ns();

    if (rc < 0)
        return rc;
    if (asked)
        held = guest_freeze(work, "freeze", FREEZE_MS, &why) == 0;
    rc = work->host->ops->snapshot(work->host, work->r.uuid, overlay, err);
    /* An answer that came too late may still have frozen it. */
    if (asked && guest_freeze(work, "thaw", THAW_MS, why ? NULL : &why) < 0)
        held = false;
    row->pause_ms = (units_monotonic_ns() - start) / 1000000;
    if (rc == 0 && asked && !held)
        job_warn(work->job, "its disk is taken as after a power cut: %s", why->message);
    snprintf(row->consistent, sizeof(row->consistent), "%s", held ? SNAPSHOT_WHOLE : SNAPSHOT_CRASH);
    return rc;
}

/* ---- its parts ---- */

static struct snapshot_change change_of(const struct work *work, const struct snapshot_row *row)
{
    return (struct snapshot_change){
        .project = work->r.id, .row = row, .layer = work->r.layer, .next = work->r.aim_layer};
}

static bool is_up(const struct vm_info *info)
{
    return info->state == VM_RUNNING || info->state == VM_PAUSED;
}

/* What can be refused before anything is made. */
static int check(struct work *work, const struct vm_info *info, struct error **err)
{
    autofree char *folder = daemon_project_path(work->daemon, work->r.id, NULL);
    size_t depth = layers_depth(work->daemon, &work->r, work->r.layer);
    char has[UNITS_SIZE_MAX];
    uint64_t room;

    if (!work->r.made) {
        error_set(err, ERROR_STATE, "\"%s\" is not made yet: there is nothing to keep", work->r.name);
        return error_hint(err, "`hutch up %s` first", work->r.name);
    }
    if (info->state == VM_STOPPING || info->state == VM_CRASHED)
        return error_set(err, ERROR_BUSY, "\"%s\" is going down: try again when it is off", work->r.name);
    if (depth >= LAYER_DEPTH_MAX) {
        error_set(err, ERROR_LIMIT, "\"%s\" stands on %zu layers, the most there can be", work->r.name,
                  depth);
        return error_hint(err, "`hutch snapshot rm` takes one away");
    }
    int rc = file_free_space(folder, &room, err);
    if (rc < 0 || room >= ROOM_MIN)
        return rc;
    error_set(err, ERROR_NO_SPACE, "only %s are free where \"%s\" lies", units_format_size(room, has),
              work->r.name);
    return error_hint(err, "make room first");
}

/* Numbers and rows, then the empty file. */
static int begin(struct work *work, struct snapshot_row *row, struct error **err)
{
    struct snapshot_change change;

    work->r.aim_layer = ++work->r.layer_last;
    work->r.aim_snap = row->number = ++work->r.snap_last;
    change = change_of(work, row);
    int rc = work_step_with(work, STEP_SNAP_LAYER, state_snapshot_begin, &change, err);
    if (rc < 0) { /* nothing of it is on record */
        work->r.aim_layer = work->r.aim_snap = 0;
        work->r.step = STEP_NONE;
        return rc;
    }
    autofree char *disk = layers_disk(work->daemon, &work->r);
    autofree char *overlay = layers_file(work->daemon, work->r.id, work->r.aim_layer);
    return layer_create(overlay, disk, work->r.disk, err);
}

/* The new layer is the one that is written: on record, then the old one's file is closed for good. */
static int finish(struct work *work, const struct snapshot_row *row, struct error **err)
{
    struct snapshot_change change = change_of(work, row);
    autofree char *frozen = layers_disk(work->daemon, &work->r);

    work->r.layer = work->r.aim_layer;
    work->r.here = row->number;
    int rc = work_step_with(work, STEP_SNAP_RECORD, state_snapshot_end, &change, err);
    if (rc == 0)
        rc = layer_freeze(frozen, err);
    if (rc < 0)
        return rc;
    work->r.aim_layer = work->r.aim_snap = 0;
    work->r.step = STEP_NONE;
    return work_save(work, err);
}

/* Its number stays given; its file has no name on record any more, and goes. */
static int undo(struct work *work, const struct snapshot_row *row, struct error **err)
{
    struct snapshot_change change = change_of(work, row);
    autofree char *overlay = layers_file(work->daemon, work->r.id, work->r.aim_layer);

    work->r.aim_layer = work->r.aim_snap = 0;
    work->r.step = STEP_NONE;
    int rc = work_save_with(work, state_snapshot_undo, &change, err);
    if (rc == 0 && unlink(overlay) < 0 && file_exists(overlay))
        log_warning("\"%s\" cannot be removed: %m", overlay);
    return rc;
}

/* Whether what is written from now on goes into the new layer. A machine that is off meanwhile may have
 * written into it: an empty one changes nothing. */
static int was_taken(struct work *work, bool *ret_taken, struct error **err)
{
    autofree char *disk = layers_disk(work->daemon, &work->r);
    autofree char *overlay = layers_file(work->daemon, work->r.id, work->r.aim_layer);
    struct layer_info layer;
    struct vm_info info;
    char **chain = NULL;
    int rc = machine_refresh(work, &info, err);

    *ret_taken = false;
    if (rc < 0 || work->r.step == STEP_SNAP_LAYER)
        return rc;
    if (is_up(&info) || info.state == VM_STOPPING) {
        rc = work->host->ops->chain(work->host, work->r.uuid, &chain, err);
        *ret_taken = rc == 0 && chain[0] && !strcmp(chain[0], overlay);
        vm_free_chain(chain);
        return rc;
    }
    if (layer_inspect(overlay, &layer, NULL) == 0) {
        *ret_taken = layer.backing && !strcmp(layer.backing, disk);
        layer_info_finish(&layer);
    }
    return 0;
}

int snapshot_settle(struct work *work, struct error **err)
{
    struct snapshot_row row;
    bool taken;
    int rc = state_snapshot_load(work->daemon->state, work->r.id, work->r.aim_snap, true, &row, err);

    if (rc < 0)
        return rc;
    if (work->r.step == STEP_SNAP_RECORD) {
        autofree char *frozen = layers_file(work->daemon, row.layer_project, row.layer_number);

        rc = layer_freeze(frozen, err);
        work->r.aim_layer = work->r.aim_snap = 0;
        work->r.step = STEP_NONE;
        if (rc == 0)
            rc = work_save(work, err);
    } else if ((rc = was_taken(work, &taken, err)) == 0) {
        snprintf(row.consistent, sizeof(row.consistent), SNAPSHOT_CRASH);
        rc = taken ? finish(work, &row, err) : undo(work, &row, err);
        if (rc == 0 && taken)
            daemon_noted(work->daemon, work->r.id, "snapshot.made", "finished after a restart");
    }
    snapshot_row_finish(&row);
    return rc;
}

/* ---- one snapshot ---- */

static void journal(struct work *work, const struct snapshot_row *row)
{
    auto(error) struct error *err = NULL;
    auto(json) json_t *shown = snapshot_json(work->daemon, &work->r, row);
    autofree char *data = json_text(shown);
    autofree char *subject = xasprintf("@%lld%s%s", (long long)row->number, *row->note ? " " : "", row->note);
    struct event event = EVENT_INIT;

    event.project = work->r.id;
    event.boot = row->boot;
    event.kind = "snapshot.made";
    event.actor = row->kept ? "user" : "hutchd";
    event.subject = subject;
    event.ms = row->pause_ms;
    event.data = data;
    if (daemon_journal(work->daemon, &event, &err) < 0)
        log_error("%s", err->message);
}

/* From begin to the end; on failure begun is settled by what came of it. */
static int take(struct work *work, const struct vm_info *info, struct snapshot_row *row, struct error **err)
{
    auto(error) struct error *second = NULL;
    int rc = begin(work, row, err);
    autofree char *overlay = layers_file(work->daemon, work->r.id, work->r.aim_layer);

    if (rc == 0 && is_up(info))
        rc = take_running(work, info, overlay, row, err);
    if (rc == 0)
        rc = finish(work, row, err);
    if (rc < 0 && step_operation(work->r.step) == OPERATION_SNAP && snapshot_settle(work, &second) < 0)
        log_error("%s", second->message);
    return rc;
}

int snapshot_take(struct work *work, const struct snapshot_params *params, struct snapshot_row *ret_row,
                  struct error **err)
{
    struct snapshot_row row = {
        .parent = work->r.here,
        .about = xstrdup(params->about ? params->about : ""),
        .note = xstrdup(params->note ? params->note : ""),
        .kept = !strcmp(params->cause, "person"),
        .created_ns = units_now_ns(),
        .machine = xstrdup(""),
        .children = 1,
    };
    struct vm_info info;
    int rc = machine_settle(work, &info, err);

    if (rc == 0)
        rc = check(work, &info, err);
    memcpy(row.boot, work->r.boot, sizeof(row.boot));
    memcpy(row.cause, params->cause, sizeof(row.cause));
    snprintf(row.consistent, sizeof(row.consistent), "%s", work->r.saved ? SNAPSHOT_CRASH : SNAPSHOT_OFF);
    if (rc == 0)
        rc = take(work, &info, &row, err);
    if (rc == 0 && is_up(&info))
        rc = machine_trust(work, err);
    if (rc < 0) {
        snapshot_row_finish(&row);
        return rc;
    }
    int found = state_snapshot_load(work->daemon->state, work->r.id, row.number, false, ret_row, err);
    if (found == 0)
        journal(work, ret_row);
    snapshot_row_finish(&row);
    return found;
}

static int run_snapshot(struct job *job, void *user, json_t **ret_result, struct error **err)
{
    struct snapshot_row row;
    struct work work;
    int rc = work_begin(&work, job, err);

    if (rc == 0)
        rc = snapshot_take(&work, user, &row, err);
    if (rc == 0) {
        *ret_result = snapshot_json(work.daemon, &work.r, &row);
        snapshot_row_finish(&row);
    }
    work_finish(&work);
    return rc;
}

static void free_params(void *user)
{
    struct snapshot_params *params = user;

    free(params->about);
    free(params->note);
    free(params);
}

const struct job_kind snapshot_kind = {.name = "snapshot", .run = run_snapshot, .free_params = free_params};
