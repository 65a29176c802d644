/* A push that is allowed where requests are answered lands by itself. What is under way is noted in the
 * project's folder, landing/NUMBER, before it begins: a hutchd that ends meanwhile is followed by one that
 * goes on. What cannot land is asked again, with the reason. Loop thread. */
#include "base/alloc.h"
#include "base/file.h"
#include "base/log.h"
#include "base/text.h"
#include "base/units.h"
#include "daemon/git_out.h"
#include "daemon/inbox.h"
#include "daemon/land.h"
#include "daemon/state_requests.h"
#include "wire/json.h"

#include <dirent.h>
#include <string.h>
#include <unistd.h>

#define WHY_MAX 900 /* bytes of a reason that are kept with a request */

struct allowed {
    struct allowed *next;
    struct daemon *daemon;
    char id[PROJECT_ID_MAX];
    int64_t request;
};

static struct allowed *all_allowed;

bool land_is_under_way(int64_t request)
{
    const struct allowed *allowed = all_allowed;

    while (allowed && allowed->request != request)
        allowed = allowed->next;
    return allowed != NULL;
}

/* ---- the note ---- */

static char *note_path(const struct daemon *daemon, const char *id, int64_t request)
{
    autofree char *name = xasprintf("landing/%lld", (long long)request);
    return daemon_project_path(daemon, id, name);
}

static int write_note(const struct daemon *daemon, const char *id, int64_t request, struct error **err)
{
    autofree char *folder = daemon_project_path(daemon, id, "landing");
    autofree char *path = note_path(daemon, id, request);
    int rc = file_make_folder(folder, 0700, err);

    return rc < 0 ? rc : file_replace(path, "", 0, 0600, err);
}

static void remove_note(const struct daemon *daemon, const char *id, int64_t request)
{
    autofree char *path = note_path(daemon, id, request);
    unlink(path);
}

/* ---- its end ---- */

/* Why, and the way out, as one line. Caller frees. */
static char *reason_of(const struct error *err)
{
    autofree char *words =
        xasprintf("%s%s%s", err->message, err->hint ? "; " : "", err->hint ? err->hint : "");
    struct text text;

    text_init(&text, words, strlen(words), WHY_MAX, TEXT_DEFAULT);
    return text.bytes;
}

static void ask_again(const struct allowed *allowed, const struct error *why)
{
    autofree char *reason = reason_of(why);
    autofree char *subject = xasprintf("#%lld did not land: %s", (long long)allowed->request, why->message);
    struct approval_request answered = {0};
    auto(error) struct error *err = NULL;

    log_warning("%s", subject);
    daemon_noted(allowed->daemon, allowed->id, "git.failed", subject);
    int rc = state_request_load(allowed->daemon->state, allowed->request, &answered, &err);
    if (rc == 0 && answered.state == APPROVAL_ALLOWED)
        rc = approval_reopen(inbox_approval(allowed->daemon->inbox), &answered, reason, &err);
    if (rc < 0)
        log_warning("#%lld is not asked again: %s", (long long)allowed->request, err->message);
    state_request_finish(&answered);
}

static void on_landed(const json_t *result, const struct error *err, void *user)
{
    struct allowed *allowed = user;
    struct allowed **at = &all_allowed;

    (void)result;
    while (*at != allowed)
        at = &(*at)->next;
    *at = allowed->next;
    if (err && err->code != ERROR_CANCELLED)
        ask_again(allowed, err);
    if (!err || err->code != ERROR_CANCELLED) /* hutchd ends: the next one goes on */
        remove_note(allowed->daemon, allowed->id, allowed->request);
    free(allowed);
}

/* ---- its beginning ---- */

/* Under the name that a branch gets by itself; one that is there from an earlier push moves forward. What
 * lands is the commit that was allowed, or nothing. */
static int begin(struct daemon *daemon, const struct approval_request *request, struct error **err)
{
    auto(json) json_t *fields = json_loads(request->fields, 0, NULL);
    const char *name = json_string_value(json_object_get(fields, "branch"));
    struct record record = {0};

    if (!projects_record(daemon->projects, request->project, &record))
        return error_set(err, ERROR_NOT_FOUND, "the project was removed meanwhile");
    autofree char *as = name ? xasprintf("hutch/%s/%s", record.name, name) : NULL;
    autofree char *branch = xasprintf("#%lld", (long long)request->id);
    record_finish(&record);
    auto(json) json_t *body =
        json_pack("{s:O?, s:s, s:s?, s:O?, s:b}", "repo", json_object_get(fields, "repo"), "branch", branch,
                  "as", as, "commit", land_commit_of(fields), "fast_forward", 1);
    struct land_params *params = land_params_parse(request->project, body, err);
    if (!params)
        return -ERROR_INVALID;
    struct allowed *allowed = xnew(struct allowed);
    allowed->daemon = daemon;
    allowed->request = request->id;
    memcpy(allowed->id, params->id, sizeof(allowed->id));
    allowed->next = all_allowed;
    all_allowed = allowed;
    autofree char *lane = xasprintf("land:%s", params->id);
    job_on_end(job_submit(daemon->jobs, lane, &land_kind, params), on_landed, allowed);
    return 0;
}

static int land_allowed(struct daemon *daemon, const struct approval_request *request, struct error **err)
{
    if (land_answers(request->id))
        return 0;
    int rc = write_note(daemon, request->project, request->id, err);
    if (rc == 0)
        rc = begin(daemon, request, err);
    if (rc < 0)
        remove_note(daemon, request->project, request->id);
    return rc;
}

/* What one project was about to land. */
static void resume_project(struct daemon *daemon, const char *id)
{
    autofree char *folder = daemon_project_path(daemon, id, "landing");
    DIR *dir = opendir(folder);
    struct dirent *entry;

    while (dir && (entry = readdir(dir))) {
        struct approval_request request = {0};
        auto(error) struct error *err = NULL;
        uint64_t number;
        if (units_parse_number(entry->d_name, 1, INT64_MAX, &number, NULL) < 0 ||
            land_is_under_way((int64_t)number))
            continue;
        int rc = state_request_load(daemon->state, (int64_t)number, &request, &err);
        if (rc == 0 && request.state == APPROVAL_ALLOWED && !strcmp(request.project, id))
            rc = begin(daemon, &request, &err);
        else
            remove_note(daemon, id, (int64_t)number);
        if (rc < 0)
            log_warning("#%llu does not land: %s", (unsigned long long)number, err->message);
        state_request_finish(&request);
    }
    if (dir)
        closedir(dir);
}

void land_resume(struct daemon *daemon)
{
    size_t count = 0;
    char(*ids)[PROJECT_ID_MAX] = projects_ids(daemon->projects, &count);

    for (size_t i = 0; i < count; i++)
        resume_project(daemon, ids[i]);
    free(ids);
}

void land_create(void)
{
    git_out_set_land(land_allowed);
}
