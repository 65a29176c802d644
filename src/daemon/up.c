/* `up` and `start`: from a name to a machine that is ready, with the code in it. Every step can be done
 * again. */
#include "base/alloc.h"
#include "base/file.h"
#include "base/log.h"
#include "base/units.h"
#include "conf/template.h"
#include "daemon/host.h"
#include "daemon/layers.h"
#include "daemon/machine.h"
#include "daemon/ops.h"
#include "image/image.h"
#include "vm/layer.h"
#include "wire/json.h"

#include <string.h>

static void free_params(void *user)
{
    struct up_params *params = user;

    json_decref(params->request);
    json_free_strings(params->repos);
    free(params);
}

/* Takes what a machine needs to know of its template; from then on changes of the template do not reach it.
 */
static void pin_template(struct work *work, const struct template *template)
{
    struct record *r = &work->r;

    free(r->cpu_model);
    free(r->kernel_options);
    free(r->user);
    r->cpu_model = xstrdup(template->cpu_model);
    r->kernel_options = xstrdup(template->kernel_options);
    r->user = xstrdup(template->user);
}

/* Takes over what was asked for, as far as it can still be had. */
static void apply_request(struct work *work, const struct up_params *params)
{
    struct record *r = &work->r;
    bool changes =
        (params->cpus && params->cpus != r->cpus) || (params->memory && params->memory != r->memory);

    if (params->disk && !r->base[0])
        r->disk = params->disk;
    else if (params->disk && params->disk != r->disk)
        job_warn(work->job, "the disk stays as it is: its size is fixed when it is made");
    if (!changes)
        return;
    if (r->saved && !params->cold) {
        job_warn(work->job, "processors and memory stay as they are: its memory is saved");
        return;
    }
    if (params->cpus)
        r->cpus = params->cpus;
    if (params->memory)
        r->memory = params->memory;
    if (r->made)
        job_warn(work->job, "processors and memory count from its next start on");
}

/* What can be refused before anything is made. */
static int check_request(struct work *work, const struct template *template, struct error **err)
{
    uint64_t total = 0, available;
    char wants[UNITS_SIZE_MAX], has[UNITS_SIZE_MAX];
    int rc = host_memory(&total, &available, err);

    if (rc == 0 && work->r.memory > total) {
        error_set(err, ERROR_NO_MEMORY, "\"%s\" is to have %s of memory, and this host has %s in all",
                  work->r.name, units_format_size(work->r.memory, wants), units_format_size(total, has));
        return error_hint(err, "ask for less");
    }
    if (rc == 0 && template && work->r.disk < template->disk_min) {
        error_set(err, ERROR_INVALID, "\"%s\" is to have a disk of %s, and template \"%s\" needs %s",
                  work->r.name, units_format_size(work->r.disk, wants), template->name,
                  units_format_size(template->disk_min, has));
        return error_hint(err, "ask for a larger one");
    }
    return rc;
}

static void on_base_progress(const char *phase, const char *text, uint64_t done, uint64_t total, void *user)
{
    job_progress(user, phase, done, total, total ? "bytes" : NULL, "%s", text);
}

/* The base: built when the project has none yet, else the pinned one. */
static int get_base(struct work *work, const struct template *template, struct base **ret_base,
                    struct error **err)
{
    struct record *r = &work->r;
    int rc = work_step(work, STEP_UP_BASE, err);

    if (rc < 0)
        return rc;
    if (r->base[0])
        return base_find(work->daemon->paths, r->base, ret_base, err);
    rc = base_build(work->daemon->paths, template, on_base_progress, work->job, job_cancel_flag(work->job),
                    ret_base, err);
    if (rc == 0)
        memcpy(r->base, (*ret_base)->digest, sizeof(r->base));
    return rc;
}

/* The folders and the overlay. */
static int make_disk(struct work *work, const struct base *base, struct error **err)
{
    autofree char *folder = daemon_project_path(work->daemon, work->r.id, NULL);
    autofree char *disks = daemon_project_path(work->daemon, work->r.id, "disk");
    autofree char *disk = layers_disk(work->daemon, &work->r);
    int rc = work_step(work, STEP_UP_DISK, err);

    if (rc == 0)
        rc = file_make_folder(folder, 0711, err);
    if (rc == 0)
        rc = file_make_folder(disks, 0711, err);
    if (rc < 0 || file_exists(disk))
        return rc;
    if (work->r.made) {
        error_set(err, ERROR_CORRUPT, "the disk of \"%s\" is missing: \"%s\"", work->r.name, disk);
        return error_hint(err, "put it back, or `hutch rm %s`", work->r.name);
    }
    if (base->virtual_size > work->r.disk)
        work->r.disk = base->virtual_size;
    return layer_create(disk, base->disk, work->r.disk, err);
}

/* From nothing, or from off, to a machine whose first instruction has run. */
static int start_cold(struct work *work, const struct template *template, struct error **err)
{
    auto(base) struct base *base = NULL;
    int rc = get_base(work, template, &base, err);

    if (rc == 0)
        rc = make_disk(work, base, err);
    if (rc == 0)
        rc = work_step(work, STEP_UP_DEFINE, err);
    if (rc == 0)
        rc = host_check_memory(work->r.name, work->r.memory, err);
    if (rc == 0)
        rc = machine_define(work, err);
    if (rc < 0)
        return rc;
    rc = machine_start(work, err);
    if (rc < 0)
        power_off_quietly(work);
    return rc;
}

/* Gets the machine to run from whatever state it is in. */
static int make_run(struct work *work, const struct up_params *params, const struct template *template,
                    struct error **err)
{
    struct vm_info info;
    int rc = machine_settle(work, &info, err);

    if (rc < 0)
        return rc;
    if (info.state == VM_PAUSED) {
        rc = work->host->ops->resume(work->host, work->r.uuid, err);
        return rc < 0 ? rc : machine_settle(work, &info, err);
    }
    if (info.state == VM_RUNNING)
        return 0;
    if (work->r.saved && params->cold)
        rc = machine_drop_image(work, err);
    if (rc == 0 && info.state == VM_STOPPING)
        rc = machine_destroy(work, err);
    if (rc < 0)
        return rc;
    return work->r.saved ? power_wake(work, err) : start_cold(work, template, err);
}

/* All steps in order. */
static int up_steps(struct work *work, const struct up_params *params, struct error **err)
{
    auto(template) struct template *template = NULL;
    auto(code_in) struct code_in *code = NULL;
    int rc;

    if (step_operation(work->r.step) == OPERATION_REMOVE) {
        error_set(err, ERROR_STATE, "the removal of \"%s\" was begun", work->r.name);
        return error_hint(err, "`hutch rm %s` finishes it, then the name is free", work->r.name);
    }
    rc = work_step(work, STEP_UP_CHECK, err);
    if (rc == 0 && !work->r.made) {
        rc = template_load(work->daemon->paths, work->r.template, &template, err);
        if (rc == 0)
            pin_template(work, template);
    }
    if (rc == 0) {
        apply_request(work, params);
        rc = check_request(work, template, err);
    }
    if (rc == 0)
        rc = code_in_check(work, params->repos, err);
    if (rc == 0)
        rc = make_run(work, params, template, err);
    if (rc < 0)
        return rc;
    code = code_in_begin(work);
    rc = work_step(work, STEP_UP_BOOT, err);
    if (rc == 0)
        rc = boot_wait(work, err);
    if (rc == 0)
        rc = work_step(work, STEP_UP_IDENTITY, err);
    if (rc == 0)
        rc = identity_set(work, err);
    if (rc == 0)
        machine_check_modules(work);
    if (rc == 0)
        rc = work_step(work, STEP_UP_REPOS, err);
    if (rc == 0)
        rc = code_in_end(code, err);
    return rc;
}

int up_again(struct work *work, struct error **err)
{
    static const struct up_params nothing;
    int rc = up_steps(work, &nothing, err);

    return rc < 0 ? rc : work_done(work, err);
}

/* A new project of which nothing exists yet but its name: gives the name back. */
static bool undo_creation(struct work *work)
{
    autofree char *folder = daemon_project_path(work->daemon, work->r.id, NULL);
    auto(error) struct error *err = NULL;

    if (work->r.made || work->r.base[0] || file_exists(folder))
        return false;
    if (state_delete(work->daemon->state, work->r.id, &err) < 0) {
        log_error("%s", err->message);
        return false;
    }
    daemon_noted(work->daemon, work->r.id, "lifecycle.remove", "was never made");
    projects_remove(work->daemon->projects, work->r.id);
    return true;
}

/* A cancelled `up` of a machine that was being started leaves no reason behind, only the step. */
static void note_failure(struct work *work, const struct error *why)
{
    auto(error) struct error *err = NULL;

    if (why->code == ERROR_CANCELLED) {
        free(steal(&work->r.failure));
        if (work->r.made)
            work->r.step = STEP_NONE;
        if (work_save(work, &err) < 0)
            log_error("%s", err->message);
        return;
    }
    work_failed(work, why, !work->r.made);
    daemon_noted(work->daemon, work->r.id, "lifecycle.failed", why->message);
}

static int run_up(struct job *job, void *params, json_t **ret_result, struct error **err)
{
    auto(error) struct error *why = NULL;
    struct work work;
    int rc = work_begin(&work, job, &why);

    if (rc == 0)
        rc = up_steps(&work, params, &why);
    if (rc == 0) {
        work.r.made = true;
        rc = work_done(&work, &why);
    }
    if (rc == 0)
        *ret_result = work_result(&work);
    else if (work.r.id[0] && !undo_creation(&work))
        note_failure(&work, why);
    work_finish(&work);
    error_move(err, &why);
    return rc;
}

const struct job_kind up_kind = {.name = "up", .run = run_up, .free_params = free_params};
