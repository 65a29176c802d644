/* rm: nothing of a project stays, and what was begun is finished after any interruption. */
#include "base/alloc.h"
#include "base/file.h"
#include "daemon/alone.h"
#include "daemon/git_lost.h"
#include "daemon/inbox.h"
#include "daemon/machine.h"
#include "daemon/ops.h"
#include "daemon/rules.h"
#include "wire/json.h"

#include <string.h>

/* Refuses when work would be lost, or when nobody can say. A machine without repositories holds nothing that
 * was brought in. */
int remove_check_work(struct work *work, struct error **err)
{
    const struct record *r = &work->r;
    struct project *project = projects_lock(work->daemon->projects, r->id);
    bool up = project && project->guest_up && project->vm == VM_RUNNING;

    if (project)
        projects_unlock(work->daemon->projects);
    for (size_t i = 0; i < r->repo_count; i++) {
        auto(error) struct error *why = NULL;
        autofree char *list = NULL;
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
        found = alone_find(work, &r->repos[i], &list, &why);
        if (found == 0)
            continue;
        error_set(err, ERROR_WOULD_LOSE, "\"%s\" %s work that exists nowhere else, in \"%s\"%s%s", r->name,
                  found < 0 ? "may hold" : "holds", r->repos[i].target,
                  found < 0 ? " (it could not be looked at): "
                  : list[0] ? ": "
                            : "",
                  found < 0 ? why->message : list);
        return error_hint(
            err,
            "`hutch cp %s:%s .` brings all of it out (files, commits, stashes); "
            "`hutch rm %s --discard-work` removes it: commits, stashes and files are kept for 30 days",
            r->name, r->repos[i].target, r->name);
    }
    return 0;
}

int remove_check_idle(const struct project *project, bool discard_work, const struct job *other,
                      struct error **err)
{
    const struct record *r = &project->r;
    bool holds = false;

    for (size_t i = 0; i < r->repo_count; i++)
        holds = holds || r->repos[i].done;
    if (!other || discard_work || !r->made || !holds || step_operation(r->step) == OPERATION_REMOVE)
        return 0;
    error_set(err, ERROR_WOULD_LOSE,
              "\"%s\" is %s, so nobody can see yet whether it holds work that exists nowhere else", r->name,
              job_kind(other) == &up_kind ? "being started" : "being stopped");
    return error_hint(err, "`hutch rm %s` again when it runs, or `hutch rm %s --discard-work`", r->name,
                      r->name);
}

/* The folders of disk, logs, memory image and sockets; and the rules, if nobody wrote any: *ret_rules as of
 * rules_forget. */
static int remove_files(struct work *work, char **ret_rules, struct error **err)
{
    autofree char *folder = daemon_project_path(work->daemon, work->r.id, NULL);
    autofree char *sockets = daemon_socket_path(work->daemon, work->r.id, NULL);
    int rc = file_remove_tree(sockets, err);

    if (rc == 0)
        rc = git_lost_move(work->daemon, &work->r, err);
    if (rc == 0)
        rc = file_remove_tree(folder, err);
    return rc < 0 ? rc : rules_forget(work->daemon->paths, work->r.name, ret_rules, err);
}

static int remove_steps(struct work *work, const struct remove_params *params, char **ret_rules,
                        size_t *ret_kept, struct error **err)
{
    bool begun = step_operation(work->r.step) == OPERATION_REMOVE;
    struct vm_info info;
    int rc = machine_refresh(work, &info, err);

    if (rc == 0 && !begun && !params->discard_work && work->r.made)
        rc = remove_check_work(work, err);
    if (rc == 0 && !begun && work->r.made)
        git_lost_name(work->daemon, work->job, &work->r, ret_kept);
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
        rc = remove_files(work, ret_rules, err);
    if (rc == 0)
        rc = work_step_anyway(work, STEP_RM_RECORD, err);
    if (rc == 0) {
        inbox_post_forget(work->daemon, work->r.id);
        rc = state_delete(work->daemon->state, work->r.id, err);
    }
    if (rc == 0)
        projects_remove(work->daemon->projects, work->r.id);
    return rc;
}

static json_t *show_removed(const char *rules, size_t kept)
{
    json_t *result = rules ? json_pack("{ss}", "rules", rules) : json_object();

    if (kept)
        json_object_set_new(result, "kept", json_integer((json_int_t)kept));
    return result;
}

static int run_remove(struct job *job, void *params, json_t **ret_result, struct error **err)
{
    auto(error) struct error *why = NULL;
    autofree char *rules = NULL;
    struct work work;
    size_t kept = 0;
    int rc = work_begin(&work, job, &why);

    if (rc == 0)
        rc = remove_steps(&work, params, &rules, &kept, &why);
    if (rc == 0)
        *ret_result = show_removed(rules, kept);
    else if (step_operation(work.r.step) == OPERATION_REMOVE)
        work_failed(&work, why, true);
    work_finish(&work);
    error_move(err, &why);
    return rc;
}

const struct job_kind remove_kind = {.name = "rm", .run = run_remove, .free_params = free};
