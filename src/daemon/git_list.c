/* What `hutch git ls` and `hutch git fetch` show. Job threads. */
#include "base/alloc.h"
#include "base/file.h"
#include "daemon/git_lost.h"
#include "daemon/git_out.h"
#include "repo/git.h"
#include "wire/json.h"

#include <string.h>

#define REFS_SHOWN    2000
#define COUNTED_MAX   200 /* refs whose commits are counted */
#define SUBJECT_BYTES 300

static const struct {
    const char *prefix, *kind;
} kinds[] = {
    {"refs/guest/heads/", "branch"}, {"refs/guest/tags/", "tag"},        {"refs/work/heads/", "unpushed"},
    {"refs/work/stash/", "stash"},   {"refs/work/detached", "unpushed"}, {"refs/work/", "uncommitted"},
    {"refs/lost/", "lost"},
};

/* How many commits of it the mirror has not. */
static int64_t count_new(const char *folder, const char *commit)
{
    const char *args[] = {"rev-list", "--count", commit, "--not", "--alternate-refs", NULL};
    autofree char *out = NULL;

    return git_own(folder, args, NULL, &out, NULL) < 0 ? -1 : (int64_t)strtoll(out, NULL, 10);
}

/* "OBJECT TIME REF SUBJECT" */
static json_t *show_ref(const char *folder, const char *repo, char *line, bool counted)
{
    char *time = strchr(line, ' '), *ref = time ? strchr(time + 1, ' ') : NULL;
    char *subject = ref ? strchr(ref + 1, ' ') : NULL;
    const char *kind = "other", *name;

    if (!subject)
        return NULL;
    *time++ = *ref++ = *subject++ = '\0';
    name = ref;
    for (size_t i = 0; i < countof(kinds); i++) {
        if (strncmp(ref, kinds[i].prefix, strlen(kinds[i].prefix)) != 0)
            continue;
        kind = kinds[i].kind;
        name = ref + strlen(kinds[i].prefix);
        break;
    }
    size_t len = strnlen(subject, SUBJECT_BYTES);
    json_t *row = json_pack("{s:s, s:s, s:s, s:s, s:s, s:I, s:o}", "repo", repo, "ref", ref, "kind", kind,
                            "name", *name && strcmp(kind, "uncommitted") ? name : ref + strlen("refs/"),
                            "commit", line, "time_ns", (json_int_t)strtoll(time, NULL, 10) * 1000000000,
                            "subject", json_bytes(subject, len));
    int64_t count = counted ? count_new(folder, line) : -1;
    if (count >= 0)
        json_object_set_new(row, "commits", json_integer(count));
    else if (counted && !len)
        json_object_set_new(row, "subject", json_string("(no commit that can be read)"));
    return row;
}

int git_list_refs(struct job *job, const char *folder, const char *repo, const char *prefix,
                  const json_t *more, struct error **err)
{
    static const char *const formats[] = {
        "--format=%(objectname) %(creatordate:unix) %(refname) %(contents:subject)",
        "--format=%(objectname) %(creatordate:unix) %(refname) ", /* one that is many megabytes hides no ref
                                                                   */
        "--format=%(objectname)  %(refname) "};                   /* nor does one that is damaged */
    auto(error) struct error *why = NULL;
    autofree char *out = NULL;
    size_t n = 0;
    int rc = -1;

    for (size_t i = 0; i < countof(formats) && rc < 0; i++) {
        const char *args[] = {"for-each-ref", "--count=2000", formats[i], prefix, NULL};
        error_free(steal(&why));
        rc = git_own(folder, args, NULL, &out, &why);
    }
    if (rc < 0)
        return error_move(err, &why);
    char *rest = out;
    for (char *line = strsep(&rest, "\n"); line && n < REFS_SHOWN; line = strsep(&rest, "\n")) {
        json_t *row = show_ref(folder, repo, line, n < COUNTED_MAX);
        if (!row)
            continue;
        if (more)
            json_object_update(row, (json_t *)(uintptr_t)more);
        job_line(job, row);
        n++;
    }
    return 0;
}

static int run_list(struct job *job, void *user, json_t **ret_result, struct error **err)
{
    static const char *const prefixes[] = {"refs/guest/", "refs/work/"};
    const struct git_job_params *params = user;
    struct record r;
    int rc = 0;

    (void)ret_result;
    if (!projects_record(job_daemon(job)->projects, params->id, &r))
        return error_set(err, ERROR_NOT_FOUND, "the project was removed meanwhile");
    for (size_t i = 0; i < r.repo_count && rc == 0; i++) {
        autofree char *folder = git_out_folder(job_daemon(job), r.id, r.repos[i].name);
        autofree char *head = file_join(folder, "HEAD");
        for (size_t j = 0; j < countof(prefixes) && rc == 0 && file_exists(head); j++)
            rc = git_list_refs(job, folder, r.repos[i].name, prefixes[j], NULL, err);
    }
    record_finish(&r);
    return rc;
}

/* Every repository, one after the other. */
static int run_fetch_all(struct job *job, void *user, json_t **ret_result, struct error **err)
{
    const struct git_job_params *params = user;
    auto(json) json_t *repos = json_array();
    struct record r;
    int rc = 0;

    if (!projects_record(job_daemon(job)->projects, params->id, &r))
        return error_set(err, ERROR_NOT_FOUND, "the project was removed meanwhile");
    for (size_t i = 0; i < r.repo_count && rc == 0; i++) {
        json_t *one = NULL;
        if (!r.repos[i].done)
            continue;
        rc = git_out_run(job_daemon(job), job, r.id, r.repos[i].name, true, &one, err);
        if (one)
            json_array_append_new(repos, one);
    }
    record_finish(&r);
    if (rc == 0)
        *ret_result = json_pack("{s:O}", "repos", repos);
    return rc;
}

/* Every repository's source into the machine. */
static int run_push_in(struct job *job, void *user, json_t **ret_result, struct error **err)
{
    const struct git_job_params *params = user;
    auto(json) json_t *repos = json_array();
    struct record r;
    int rc = 0;

    if (!projects_record(job_daemon(job)->projects, params->id, &r))
        return error_set(err, ERROR_NOT_FOUND, "the project was removed meanwhile");
    for (size_t i = 0; i < r.repo_count && rc == 0; i++) {
        bool apart = false;
        if (!r.repos[i].done)
            continue;
        job_progress(job, "git-push-in", 0, 0, NULL, "%s: into the machine", r.repos[i].name);
        rc = git_push_in(job, r.id, r.repos[i].name, &apart, err);
        json_array_append_new(repos, json_pack("{s:s, s:b}", "repo", r.repos[i].name, "apart", apart));
    }
    record_finish(&r);
    if (rc == 0)
        *ret_result = json_pack("{s:O}", "repos", repos);
    return rc;
}

static int run_lost(struct job *job, void *user, json_t **ret_result, struct error **err)
{
    (void)user;
    (void)ret_result;
    git_lost_expire(job_daemon(job));
    return git_lost_list(job_daemon(job), job, err);
}

const struct job_kind git_list_kind = {.name = "git-ls", .run = run_list, .free_params = free, .quiet = true};
const struct job_kind git_fetch_all_kind = {
    .name = "git-fetch", .run = run_fetch_all, .free_params = free, .quiet = true};
const struct job_kind git_push_in_kind = {
    .name = "git-push-in", .run = run_push_in, .free_params = free, .quiet = true};
const struct job_kind git_lost_kind = {.name = "git-lost", .run = run_lost, .quiet = true};
