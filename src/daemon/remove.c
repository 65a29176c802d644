/* rm: nothing of a project stays, and what was begun is finished after any interruption. */
#include "base/alloc.h"
#include "base/fd.h"
#include "base/file.h"
#include "base/text.h"
#include "base/units.h"
#include "daemon/git_lost.h"
#include "daemon/inbox.h"
#include "daemon/machine.h"
#include "daemon/ops.h"
#include "daemon/rules.h"
#include "wire/json.h"

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define CHECK_MS    60000
#define LIST_MS     10000
#define LIST_MAX    4096 /* bytes that the script below prints at most, about */
#define WORK_STATUS 10   /* of the script: there is work that exists nowhere else */

/* What a work tree ($1) holds that did not come in with commit $2 (may be empty): commits on branches and
 * on none, stashes, files that are not committed. What was pushed inside the machine counts too: its bare
 * repository goes with it. What it prints is for a person alone; a git that fails is no proof of anything. */
static const char work_script[] =
    "[ -e \"$1\" ] || exit 0\n"
    "cd \"$1\" || exit 1\n"
    "found=0 items=0\n"
    "say() {\n"
    "    found=10 items=$((items + 1))\n"
    "    [ $items -le 12 ] || return 0\n"
    "    [ $items = 1 ] || printf '; '\n"
    "    printf '%.250s' \"$1\"\n"
    "}\n"
    "heads=$(git for-each-ref --format='%(refname)' refs/heads) || exit 1\n"
    "for ref in $heads; do\n"
    "    n=$(git rev-list --count \"$ref\" ${2:+--not \"$2\"}) || exit 1\n"
    "    [ \"$n\" = 0 ] || say \"commits on branch ${ref#refs/heads/} ($n)\"\n"
    "done\n"
    "if git rev-parse -q --verify HEAD >/dev/null; then\n"
    "    n=$(git rev-list --count HEAD --not --branches ${2:+\"$2\"}) || exit 1\n"
    "    [ \"$n\" = 0 ] || say \"commits on no branch ($n)\"\n"
    "fi\n"
    "list=$(git stash list) || exit 1\n"
    "[ -z \"$list\" ] || say \"stashes ($(printf '%s\\n' \"$list\" | wc -l))\"\n"
    "list=$(git status --porcelain) || exit 1\n"
    "[ -z \"$list\" ] ||\n"
    "    say \"files not committed ($(printf '%s\\n' \"$list\" | wc -l)):$(printf '%s\\n' \"$list\" | head "
    "-n5 |\n"
    "        cut -c4-43 | sed 's/^/ /' | tr -d '\\n')\"\n"
    "exit $found\n";

/* What the script printed, as safe text; empty if that cannot be had. Caller frees. */
static char *read_list(struct work *work, const char *session)
{
    autofree char *path = xasprintf("/v1/sessions/%s/stdout", session);
    struct guest_call call = {
        .op = GUEST_OP_READ, .port = PORT_BULK, .flags = WCALL_STREAM_OUT, .path = path, .stream = -1};
    char bytes[LIST_MAX];
    size_t len = 0;
    struct text text;
    int fds[2];

    if (fd_socketpair(SOCK_STREAM, false, fds, NULL) < 0)
        return xstrdup("");
    call.stream = fds[1];
    guest_call_wait(work->daemon->guests, work->r.id, &call, LIST_MS, job_cancel_flag(work->job), NULL, NULL);
    for (ssize_t n; len < sizeof(bytes); len += (size_t)n) {
        n = recv(fds[0], bytes + len, sizeof(bytes) - len, MSG_DONTWAIT);
        if (n <= 0)
            break;
    }
    close(fds[0]);
    text_init(&text, bytes, len, LIST_MAX, TEXT_DEFAULT);
    return text.bytes;
}

/* Runs the script in one work tree. 1: there is work (what, in *ret_list, the caller's), 0: none. */
static int look_for_work(struct work *work, const struct repo_row *row, char **ret_list, struct error **err)
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
    if (rc == 0 && item.u.session.exit_status == WORK_STATUS)
        *ret_list = read_list(work, item.u.session.id);
    machine_call(work, GUEST_OP_DELETE, forget, NULL, CHECK_MS, NULL, NULL);
    if (rc < 0)
        return rc;
    if (item.u.session.exit_status != 0 && item.u.session.exit_status != WORK_STATUS)
        return error_set(err, ERROR_GUEST, "git in it failed (%d)", (int)item.u.session.exit_status);
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
        found = look_for_work(work, &r->repos[i], &list, &why);
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
        rc = check_work(work, err);
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
