/* What became of the pushes of a project: each has its refs/pushes/ID, and is or was a request of that
 * number. */
#include "base/alloc.h"
#include "base/file.h"
#include "daemon/git_lost.h"
#include "daemon/git_out.h"
#include "daemon/state_requests.h"
#include "wire/json.h"

#include <string.h>

#define PUSHES_SHOWN 200 /* of a repository */
#define PREFIX       "refs/pushes/"
#define MS_NS        1000000

/* The request's number; 0: it is not the tip of one. */
static int64_t number_of(const char *ref)
{
    char *end;
    long long number = strtoll(ref + strlen(PREFIX), &end, 10);

    return *end || number < 1 ? 0 : number;
}

static int newest_first(const void *a, const void *b)
{
    int64_t one = number_of(((const struct quarantine_ref *)a)->name);
    int64_t other = number_of(((const struct quarantine_ref *)b)->name);

    return (one < other) - (one > other);
}

static void show(struct job *job, const struct record *r, const char *repo, const struct quarantine_ref *ref)
{
    struct approval_request request;
    int64_t id = number_of(ref->name);

    if (!id || state_request_load(job_daemon(job)->state, id, &request, NULL) < 0)
        return;
    auto(json) json_t *fields = json_parse(request.fields, strlen(request.fields), NULL);
    if (strcmp(request.project, r->id) == 0)
        job_line(job, json_pack("{s:s, s:I, s:s, s:O?, s:O?, s:s, s:s, s:s, s:o, s:o, s:I, s:I}", "repo",
                                repo, "request", (json_int_t)id, "ref", ref->name, "branch",
                                json_object_get(fields, "branch"), "tag", json_object_get(fields, "tag"),
                                "commit", ref->commit, "class", approval_tier_name(request.tier), "state",
                                approval_state_name(request.state), "reason",
                                json_bytes(request.reason, strlen(request.reason)), "by",
                                json_bytes(request.by, strlen(request.by)), "asked_ns",
                                (json_int_t)(request.asked_ms * MS_NS), "changed_ns",
                                (json_int_t)(request.changed_ms * MS_NS)));
    state_request_finish(&request);
}

static int run_pushes(struct job *job, void *user, json_t **ret_result, struct error **err)
{
    const struct git_job_params *params = user;
    struct record r;
    int rc = 0;

    (void)ret_result;
    if (!projects_record(job_daemon(job)->projects, params->id, &r))
        return error_set(err, ERROR_NOT_FOUND, "the project was removed meanwhile");
    for (size_t i = 0; i < r.repo_count && rc == 0; i++) {
        autofree char *folder = git_out_folder(job_daemon(job), r.id, r.repos[i].name);
        autofree char *head = file_join(folder, "HEAD");
        struct quarantine_ref *refs = NULL;
        size_t count = 0;
        if (file_exists(head))
            rc = quarantine_refs(folder, PREFIX, &refs, &count, err);
        if (count)
            qsort(refs, count, sizeof(*refs), newest_first);
        for (size_t j = 0; j < count && j < PUSHES_SHOWN; j++)
            show(job, &r, r.repos[i].name, &refs[j]);
        quarantine_free_refs(refs, count);
    }
    record_finish(&r);
    return rc;
}

const struct job_kind git_pushes_kind = {
    .name = "git-pushes", .run = run_pushes, .free_params = free, .quiet = true};
