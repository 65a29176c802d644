/* Removing a snapshot, and the layers that then nobody needs. The record forgets the snapshot at once; its
 * layer is removed, or merged into the one that stands on it, when no machine has them open. */
#include "base/alloc.h"
#include "base/file.h"
#include "base/log.h"
#include "daemon/layers.h"
#include "daemon/machine.h"
#include "daemon/ops.h"
#include "daemon/snapshot.h"
#include "vm/layer.h"

#include <string.h>
#include <unistd.h>

/* A layer that can go, and its neighbours. */
struct spare {
    struct layer_row layer, child, parent; /* id 0: there is none; the base is below */
};

static char *file_of(const struct work *work, const struct layer_row *row)
{
    return row->id ? layers_file(work->daemon, row->project, row->number)
                   : xasprintf("%s/bases/%s/disk.qcow2", work->daemon->paths->data, work->r.base);
}

static void remove_file(const char *path)
{
    if (unlink(path) < 0 && file_exists(path))
        log_warning("\"%s\" cannot be removed: %m", path);
}

static int end_step(struct work *work, struct error **err)
{
    work->r.aim_layer = work->r.aim_snap = 0;
    work->r.step = STEP_NONE;
    return work_save(work, err);
}

/* It is on record no more, then its file goes. */
static int drop(struct work *work, const struct layer_row *layer, struct error **err)
{
    struct snapshot_change change = {.project = work->r.id, .layer = layer->number};
    autofree char *file = file_of(work, layer);

    work->r.aim_layer = layer->number;
    int rc = work_step_with(work, STEP_SNAPRM_RECORD, state_layer_bridge, &change, err);
    if (rc < 0)
        return rc;
    remove_file(file);
    return end_step(work, err);
}

static int merge(struct work *work, const struct spare *spare, struct error **err)
{
    autofree char *child = file_of(work, &spare->child), *below = file_of(work, &spare->parent);

    work->r.aim_layer = spare->layer.number;
    int rc = work_step(work, STEP_SNAPRM_MERGE, err);
    if (rc == 0)
        rc = layer_merge(child, below, job_cancel_flag(work->job), err);
    if (rc < 0) { /* the child is as it was */
        end_step(work, NULL);
        return rc;
    }
    return drop(work, &spare->layer, err);
}

/* Whether it is among the layers that the machine has open. */
static bool is_open(struct work *work, const struct layer_row *layer)
{
    autofree struct layer_row *rows = NULL;
    size_t count;

    if (state_layers_path(work->daemon->state, work->r.id, work->r.layer, &rows, &count, NULL) < 0)
        return true;
    for (size_t i = 0; i < count; i++)
        if (rows[i].id == layer->id)
            return true;
    return false;
}

int merge_spare(struct work *work, unsigned *ret_later, struct error **err)
{
    unsigned later = 0;
    struct spare spare;
    struct vm_info info;
    int64_t after = 0;
    int rc = machine_refresh(work, &info, err);
    bool alive = info.state != VM_OFF && info.state != VM_ABSENT;

    while (rc == 0 && state_layer_spare(work->daemon->state, work->r.id, after, &spare.layer, &spare.child,
                                        &spare.parent, NULL) == 0) {
        /* Of another project: that one may have it open. */
        if ((alive && is_open(work, &spare.layer)) ||
            (spare.child.id && strcmp(spare.child.project, work->r.id))) {
            later++;
            after = spare.layer.id;
            continue;
        }
        rc = spare.child.id ? merge(work, &spare, err) : drop(work, &spare.layer, err);
        after = 0; /* what is below it may be the next */
    }
    if (rc == 0 && ret_later)
        *ret_later = later;
    return rc;
}

/* Broken off in a merge: the child stands on what it stood on, or already on what is below; then the layer
 * between them is needed by nothing. */
static int settle_merge(struct work *work, struct error **err)
{
    struct layer_info info;
    struct spare spare = {0};
    int64_t after = 0;
    int rc;

    while ((rc = state_layer_spare(work->daemon->state, work->r.id, after, &spare.layer, &spare.child,
                                   &spare.parent, err)) == 0 &&
           spare.layer.number != work->r.aim_layer)
        after = spare.layer.id;
    if (rc < 0)
        return rc;
    autofree char *child = file_of(work, &spare.child), *below = file_of(work, &spare.parent);
    autofree char *temporary = xasprintf("%s.new", child);
    remove_file(temporary);
    rc = layer_inspect(child, &info, err);
    if (rc < 0)
        return rc;
    bool done = info.backing && !strcmp(info.backing, below);
    layer_info_finish(&info);
    return done ? drop(work, &spare.layer, err) : end_step(work, err);
}

int merge_settle(struct work *work, struct error **err)
{
    if (work->r.step == STEP_SNAPRM_MERGE)
        return settle_merge(work, err);
    return end_step(work, err); /* files of what is on record no more are swept */
}

/* ---- snapshot rm ---- */

static int check(struct work *work, const struct snapshot_row *row, bool discard_work, struct error **err)
{
    if (row->children || discard_work)
        return 0;
    error_set(err, ERROR_WOULD_LOSE,
              "nothing stands on @%lld of \"%s\": what was written up to it is there alone",
              (long long)row->number, work->r.name);
    return error_hint(err, "`hutch snapshot rm %s@%lld --discard-work` removes it all the same", work->r.name,
                      (long long)row->number);
}

static int forget(struct work *work, const struct snapshot_row *row, struct error **err)
{
    struct snapshot_change change = {.project = work->r.id, .row = row};
    autofree char *subject = xasprintf("@%lld", (long long)row->number);
    int rc = daemon_note(work->daemon, work->r.id, "snapshot.removed", subject, err);

    if (rc < 0)
        return rc;
    if (work->r.here == row->number)
        work->r.here = row->parent;
    rc = work_step_with(work, STEP_SNAPRM_FORGET, state_snapshot_forget, &change, err);
    return rc < 0 ? rc : end_step(work, err);
}

static int run_snaprm(struct job *job, void *user, json_t **ret_result, struct error **err)
{
    const struct snaprm_params *params = user;
    struct snapshot_row row = {0};
    struct work work;
    unsigned later = 0;
    int rc = work_begin(&work, job, err);

    if (rc == 0)
        rc = state_snapshot_load(work.daemon->state, work.r.id, params->number, false, &row, err);
    if (rc == 0)
        rc = check(&work, &row, params->discard_work, err);
    if (rc == 0)
        rc = forget(&work, &row, err);
    if (rc == 0)
        rc = merge_spare(&work, &later, err);
    if (rc == 0 && later)
        job_warn(job, "its bytes come back when the machine has stopped, which has them open now");
    if (rc == 0)
        *ret_result = json_pack("{s:o, s:b}", "snap", snapshot_address(row.number), "later", later > 0);
    snapshot_row_finish(&row);
    work_finish(&work);
    return rc;
}

const struct job_kind snaprm_kind = {.name = "snapshot rm", .run = run_snaprm, .free_params = free};
