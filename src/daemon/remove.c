/* rm: nothing of a project stays, and what was begun is finished after any interruption. */
#include "base/alloc.h"
#include "base/file.h"
#include "base/units.h"
#include "daemon/machine.h"
#include "daemon/ops.h"
#include "wire/json.h"

#include <string.h>

#define CHECK_MS    60000
#define WORK_STATUS 10 /* of the script below: there is work that exists nowhere else */

/* Whether a work tree ($1) holds something that did not come in with commit $2 (may be empty): uncommitted
 * files, stashes, commits on branches. What was pushed inside the machine counts too: its bare repository
 * goes with it. Only the exit status is read. */
static const char work_script[] =
    "cd \"$1\" 2>/dev/null || exit 0\n"
    "[ -z \"$(git status --porcelain | head -c1)\" ] || exit 10\n"
    "[ -z \"$(git stash list | head -c1)\" ] || exit 10\n"
    "[ -z \"$(git log --branches --format=%h -n1 ${2:+--not \"$2\"})\" ] || exit 10\n";

/* Runs the script in one work tree. 1: there is work, 0: none. */
static int look_for_work(struct work *work, const struct repo_row *row, struct error **err)
{
    json_t *body = json_pack("{s:[s, s, s, s, s, s], s:s, s:s, s:i}", "argv", "sh", "-c", work_script, "sh",
                             row->target, row->commit ? row->commit : "", "user", work->r.user, "label", "rm",
                             "timeout_ms", CHECK_MS);
    autofree char *wait = NULL, *forget = NULL;
    struct wmsg_item item;
    int rc;

    require(body);
    rc = machine_call(work, GUEST_OP_SESSION_START, "/v1/sessions", body, CHECK_MS, &item, err);
    if (rc < 0)
        return rc;
    wait = xasprintf("/v1/sessions/%s/wait", item.u.session.id);
    forget = xasprintf("/v1/sessions/%s", item.u.session.id);
    rc = machine_call(work, GUEST_OP_SESSION_SHOW, wait, NULL, CHECK_MS, &item, err);
    if (rc < 0)
        return rc;
    machine_call(work, GUEST_OP_DELETE, forget, NULL, CHECK_MS, NULL, NULL);
    return item.u.session.exit_status == WORK_STATUS;
}

/* Refuses when work would be lost, or when nobody can say. A machine without repositories holds nothing that
 * was brought in. */
static int check_work(struct work *work, struct error **err)
{
    const struct record *r = &work->r;
    struct project *project = projects_lock(work->daemon->projects, r->id);
    bool up = project && project->guest_up && project->vm == VM_RUNNING;

    if (project)
        projects_unlock(work->daemon->projects);
    for (size_t i = 0; i < r->repo_count; i++) {
        auto(error) struct error *why = NULL;
        int found;

        if (!r->repos[i].done)
            continue;
        if (!up) {
            error_set(
                err, ERROR_WOULD_LOSE,
                "\"%s\" does not run, so nobody can see whether \"%s\" holds work that exists nowhere else",
                r->name, r->repos[i].name);
            return error_hint(err, "`hutch start %s` first, or `hutch rm %s --discard-work`", r->name,
                              r->name);
        }
        found = look_for_work(work, &r->repos[i], &why);
        if (found == 0)
            continue;
        error_set(err, ERROR_WOULD_LOSE, "\"%s\" holds work that exists nowhere else, in \"%s\"%s%s", r->name,
                  r->repos[i].target, found < 0 ? " (it could not be looked at): " : "",
                  found < 0 ? why->message : "");
        return error_hint(err, "bring it out first, or `hutch rm %s --discard-work`", r->name);
    }
    return 0;
}

/* The folders of disk, logs, memory image and sockets. */
static int remove_files(struct work *work, struct error **err)
{
    autofree char *folder = daemon_project_path(work->daemon, work->r.id, NULL);
    autofree char *sockets = daemon_socket_path(work->daemon, work->r.id, NULL);
    int rc = file_remove_tree(sockets, err);

    return rc < 0 ? rc : file_remove_tree(folder, err);
}

static int remove_steps(struct work *work, const struct remove_params *params, struct error **err)
{
    bool begun = step_operation(work->r.step) == OPERATION_REMOVE;
    struct vm_info info;
    int rc = machine_refresh(work, &info, err);

    if (rc == 0 && !begun && !params->discard_work && work->r.made)
        rc = check_work(work, err);
    if (rc == 0 && !begun)
        rc = daemon_note(work->daemon, work->r.id, "lifecycle.remove", work->r.name, err);
    if (rc == 0)
        rc = work_step_anyway(work, STEP_RM_MARK, err);
    if (rc == 0)
        rc = work_step_anyway(work, STEP_RM_STOP, err);
    if (rc == 0)
        rc = machine_destroy(work, err);
    if (rc == 0)
        rc = work_step_anyway(work, STEP_RM_UNDEFINE, err);
    if (rc == 0)
        rc = work->host->ops->undefine(work->host, work->r.uuid, err);
    if (rc == 0)
        rc = work_step_anyway(work, STEP_RM_FILES, err);
    if (rc == 0)
        rc = remove_files(work, err);
    if (rc == 0)
        rc = work_step_anyway(work, STEP_RM_RECORD, err);
    if (rc == 0)
        rc = state_delete(work->daemon->state, work->r.id, err);
    if (rc == 0)
        projects_remove(work->daemon->projects, work->r.id);
    return rc;
}

static int run_remove(struct job *job, void *params, json_t **ret_result, struct error **err)
{
    auto(error) struct error *why = NULL;
    struct work work;
    int rc = work_begin(&work, job, &why);

    if (rc == 0)
        rc = remove_steps(&work, params, &why);
    if (rc == 0)
        *ret_result = json_object();
    else if (step_operation(work.r.step) == OPERATION_REMOVE)
        work_failed(&work, why, true);
    work_finish(&work);
    error_move(err, &why);
    return rc;
}

const struct job_kind remove_kind = {.name = "rm", .run = run_remove, .free_params = free};
