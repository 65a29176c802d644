/* Going back to a snapshot. What can be found wrong is found before the machine is touched; the present is
 * kept as a snapshot first, unless that is not wanted; until the switch is on record everything can be taken
 * back, and what is there then is the present, off at worst. */
#include "base/alloc.h"
#include "base/file.h"
#include "base/log.h"
#include "base/units.h"
#include "daemon/layers.h"
#include "daemon/machine.h"
#include "daemon/ops.h"
#include "daemon/snapshot.h"
#include "image/image.h"
#include "vm/layer.h"
#include "wire/json.h"

#include <string.h>
#include <unistd.h>

static bool is_up(const struct vm_info *info)
{
    return info->state == VM_RUNNING || info->state == VM_PAUSED || info->state == VM_STOPPING;
}

/* Every file that the target needs, as it is on record. */
static int check_files(struct work *work, const struct snapshot_row *row, struct error **err)
{
    auto(base) struct base *base = NULL;
    char **chain = NULL;
    int rc = base_find(work->daemon->paths, work->r.base, &base, err);

    if (rc == 0)
        rc = snapshot_chain(work->daemon, &work->r, row, &chain, err);
    if (rc < 0) {
        if (err && (*err)->code == ERROR_NOT_FOUND)
            (*err)->code = ERROR_CORRUPT;
        return error_prefix(err, "nothing was done, for @%lld of \"%s\" is not whole", (long long)row->number,
                            work->r.name);
    }
    size_t depth = 0;
    while (chain[depth])
        depth++;
    vm_free_chain(chain);
    if (depth < LAYER_DEPTH_MAX)
        return 0;
    error_set(err, ERROR_LIMIT, "@%lld stands on %zu layers, the most there can be", (long long)row->number,
              depth);
    return error_hint(err, "`hutch snapshot rm` of one below it makes room");
}

static int check(struct work *work, const struct restore_params *params, const struct snapshot_row *row,
                 struct error **err)
{
    if (work->r.saved) {
        error_set(err, ERROR_STATE, "the memory of \"%s\" is saved, and going back would lose it",
                  work->r.name);
        return error_hint(err, "`hutch start %s` wakes it; `hutch stop %s` gives its memory up", work->r.name,
                          work->r.name);
    }
    int rc = check_files(work, row, err);
    if (rc < 0 || !params->discard)
        return rc;
    rc = remove_check_work(work, err);
    if (rc < 0)
        error_hint(err, "without --discard the present is kept as a snapshot");
    return rc;
}

static struct snapshot_change change_of(const struct work *work, const struct snapshot_row *row)
{
    return (struct snapshot_change){
        .project = work->r.id, .row = row, .layer = work->r.layer, .next = work->r.aim_layer};
}

/* An empty layer on the target's. */
static int make_layer(struct work *work, const struct snapshot_row *row, struct error **err)
{
    autofree char *frozen = layers_file(work->daemon, row->layer_project, row->layer_number);
    struct snapshot_change change;

    work->r.aim_layer = ++work->r.layer_last;
    work->r.aim_snap = row->number;
    change = change_of(work, row);
    int rc = work_step_with(work, STEP_RESTORE_LAYER, state_layer_begin, &change, err);
    if (rc < 0) { /* nothing of it is on record */
        work->r.aim_layer = work->r.aim_snap = 0;
        work->r.step = STEP_NONE;
        return rc;
    }
    autofree char *overlay = layers_file(work->daemon, work->r.id, work->r.aim_layer);
    return layer_create(overlay, frozen, work->r.disk, err);
}

static void end_aim(struct work *work)
{
    work->r.aim_layer = work->r.aim_snap = 0;
    work->r.step = STEP_NONE;
}

/* The machine is the target's from here on; the layer that was written until now is given up. */
static int switch_over(struct work *work, const struct snapshot_row *row, struct error **err)
{
    struct snapshot_change change = change_of(work, row);
    autofree char *old = layers_disk(work->daemon, &work->r);

    work->r.layer = work->r.aim_layer;
    work->r.here = row->number;
    work->r.frozen_for = 0;
    int rc = work_step_with(work, STEP_RESTORE_SWITCH, state_layer_forget, &change, err);
    if (rc < 0) {
        work->r.layer = change.layer;
        return rc;
    }
    if (unlink(old) < 0 && file_exists(old))
        log_warning("\"%s\" cannot be removed: %m", old);
    end_aim(work);
    return work_save(work, err);
}

int restore_settle(struct work *work, struct error **err)
{
    struct snapshot_change change = {.project = work->r.id, .layer = work->r.aim_layer};
    autofree char *overlay = layers_file(work->daemon, work->r.id, work->r.aim_layer);
    bool switched = work->r.step == STEP_RESTORE_SWITCH;

    end_aim(work);
    if (switched) /* the old file goes with what else is not on record */
        return work_save(work, err);
    int rc = work_save_with(work, state_layer_forget, &change, err);
    if (rc == 0 && unlink(overlay) < 0 && file_exists(overlay))
        log_warning("\"%s\" cannot be removed: %m", overlay);
    return rc;
}

/* From the new layer to the switch. A failure leaves the present. */
static int go_back(struct work *work, const struct snapshot_row *row, const struct vm_info *info,
                   struct error **err)
{
    auto(error) struct error *second = NULL;
    int rc = make_layer(work, row, err);

    if (rc == 0)
        rc = work_step(work, STEP_RESTORE_STOP, err);
    if (rc == 0 && is_up(info))
        rc = machine_destroy(work, err);
    if (rc == 0)
        rc = switch_over(work, row, err);
    if (rc < 0 && step_operation(work->r.step) == OPERATION_RESTORE && restore_settle(work, &second) < 0)
        log_error("%s", second->message);
    return rc;
}

static int keep_present(struct work *work, const struct restore_params *params, struct snapshot_row *ret_kept,
                        struct error **err)
{
    struct snapshot_params keep = {.cause = "restore"};
    autofree char *about = xasprintf("before going back to @%lld", (long long)params->number);

    if (params->discard)
        return 0;
    keep.about = about;
    return snapshot_take(work, &keep, ret_kept, err);
}

static int note(struct work *work, const struct snapshot_row *row, const struct snapshot_row *kept,
                struct error **err)
{
    autofree char *subject = kept->number ? xasprintf("@%lld, the present kept as @%lld",
                                                      (long long)row->number, (long long)kept->number)
                                          : xasprintf("@%lld, the present given up", (long long)row->number);

    return daemon_note(work->daemon, work->r.id, "snapshot.restored", subject, err);
}

static int restore_steps(struct work *work, const struct restore_params *params, struct snapshot_row *row,
                         struct snapshot_row *kept, struct error **err)
{
    struct vm_info info;
    int rc = machine_settle(work, &info, err);

    if (rc == 0)
        rc = state_snapshot_load(work->daemon->state, work->r.id, params->number, false, row, err);
    if (rc == 0)
        rc = check(work, params, row, err);
    if (rc == 0)
        rc = keep_present(work, params, kept, err);
    if (rc == 0)
        rc = note(work, row, kept, err);
    if (rc == 0)
        rc = go_back(work, row, &info, err);
    if (rc < 0 || !is_up(&info))
        return rc;
    rc = up_again(work, err);
    if (rc < 0)
        error_prefix(err, "\"%s\" is back on @%lld, but did not start", work->r.name, (long long)row->number);
    return rc;
}

static int run_restore(struct job *job, void *user, json_t **ret_result, struct error **err)
{
    const struct restore_params *params = user;
    struct snapshot_row row = {0}, kept = {0};
    auto(error) struct error *why = NULL;
    struct work work;
    int rc = work_begin(&work, job, &why);

    if (rc == 0)
        rc = restore_steps(&work, params, &row, &kept, &why);
    if (rc == 0) {
        *ret_result = json_pack("{s:o, s:o*, s:o*}", "project", work_result(&work), "snap",
                                snapshot_address(row.number), "kept",
                                kept.number ? snapshot_address(kept.number) : NULL);
    } else if (step_operation(work.r.step) == OPERATION_UP) {
        work_failed(&work, why, false);
    }
    snapshot_row_finish(&row);
    snapshot_row_finish(&kept);
    work_finish(&work);
    error_move(err, &why);
    return rc;
}

const struct job_kind restore_kind = {.name = "restore", .run = run_restore, .free_params = free};
