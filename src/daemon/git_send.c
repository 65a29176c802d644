#include "daemon/git_send.h"

#include "base/alloc.h"
#include "daemon/git_out.h"
#include "daemon/land.h"
#include "repo/git.h"
#include "repo/send.h"
#include "wire/json.h"

#include <limits.h>
#include <string.h>

#define REFS_MAX  64
#define NAME_SIZE 256

struct git_send_params {
    char id[PROJECT_ID_MAX];
    char *repo; /* or NULL */
    char *from;
    json_t *refs;
};

static void free_params(void *user)
{
    struct git_send_params *params = user;

    free(params->repo);
    free(params->from);
    json_decref(params->refs);
    free(params);
}

struct git_send_params *git_remote_parse(const char *id, const char *repo)
{
    struct git_send_params *params = xnew(struct git_send_params);

    snprintf(params->id, sizeof(params->id), "%s", id);
    params->repo = repo && *repo ? xstrdup(repo) : NULL;
    return params;
}

/* One of the refs, of which json owns the strings. */
static int read_ref(const json_t *row, struct send *ret, struct error **err)
{
    int rc = json_get_string(row, "commit", 64, &ret->commit, err);

    if (rc == 0)
        rc = json_get_string(row, "to", NAME_SIZE, &ret->to, err);
    if (rc == 0)
        rc = json_opt_bool(row, "force", &ret->force, err);
    return rc == 0 ? send_check(ret, err) : rc;
}

struct git_send_params *git_send_parse(const char *id, json_t *body, struct error **err)
{
    json_t *refs = json_object_get(body, "refs"), *row;
    const char *repo = NULL, *from = NULL;
    size_t i;
    int rc = json_opt_string(body, "repo", NAME_SIZE, &repo, err);

    if (rc == 0)
        rc = json_get_string(body, "from", PATH_MAX, &from, err);
    if (rc == 0 && (!json_is_array(refs) || !json_array_size(refs) || json_array_size(refs) > REFS_MAX))
        rc = error_set(err, ERROR_INVALID, "\"refs\" is a list of 1 to %d", REFS_MAX);
    json_array_foreach(refs, i, row)
    {
        struct send send = {.from = from};
        rc = rc < 0 ? rc : read_ref(row, &send, err);
    }
    if (rc < 0)
        return NULL;
    struct git_send_params *params = git_remote_parse(id, repo);
    params->from = xstrdup(from);
    params->refs = json_deep_copy(refs);
    return params;
}

char *git_send_lane(const struct git_send_params *params)
{
    return xasprintf("git:%s/%s", params->id, params->repo ? params->repo : "");
}

/* ---- into the machine ---- */

static int push(struct job *job, const struct git_send_params *params, const char *repo,
                const struct send *send, struct error **err)
{
    autofree char *path = xasprintf("/v1/git/%s/receive-pack", repo);
    auto(error) struct error *why = NULL, *theirs = NULL;
    struct git_stream *stream = NULL;
    int fd = -1, rc = git_stream_open(job_daemon(job), params->id, path, &stream, &fd, err);

    if (rc < 0)
        return rc;
    rc = send_push(job_daemon(job)->paths, send, fd, &why);
    git_stream_close(stream, rc < 0 && why->code != ERROR_STATE, &theirs);
    return theirs ? error_move(err, &theirs) : error_move(err, &why);
}

static int send_one(struct job *job, const struct git_send_params *params, const char *repo,
                    struct send *send, struct error **err)
{
    autofree char *subject = xasprintf("%s %s %.12s", repo, send->to, send->commit);
    int rc = send_take(send, err);

    if (rc == 0)
        rc = daemon_note(job_daemon(job), params->id, "git.send", subject, err);
    return rc < 0 ? rc : push(job, params, repo, send, err);
}

static int run_send(struct job *job, void *user, json_t **ret_result, struct error **err)
{
    const struct git_send_params *params = user;
    autofree char *folder = NULL, *repo = NULL;
    auto(json) json_t *done = json_array();
    json_t *row;
    size_t i;
    int rc = land_find_quarantine(job_daemon(job), params->id, params->repo, &folder, &repo, err);

    if (rc < 0)
        return rc;
    autofree char *mirror = git_out_mirror(folder);
    json_array_foreach(params->refs, i, row)
    {
        struct send send = {
            .quarantine = folder, .mirror = mirror, .from = params->from, .cancel = job_cancel_flag(job)};
        auto(error) struct error *why = NULL;
        if (read_ref(row, &send, &why) == 0)
            send_one(job, params, repo, &send, &why);
        autofree char *words =
            why ? xasprintf("%s%s%s", why->message, why->hint ? "; " : "", why->hint ? why->hint : "") : NULL;
        json_array_append_new(done,
                              json_pack("{s:O, s:s?}", "to", json_object_get(row, "to"), "error", words));
    }
    *ret_result = json_pack("{s:O}", "refs", done);
    return 0;
}

const struct job_kind git_send_kind = {
    .name = "git-send", .run = run_send, .free_params = free_params, .quiet = true};

/* ---- out of the quarantine ---- */

static int run_remote(struct job *job, void *user, json_t **ret_result, struct error **err)
{
    static const char prefix[] = "refs/guest/heads/";
    static const char *const format_args[] = {"rev-parse", "--show-object-format", NULL};
    const struct git_send_params *params = user;
    autofree char *folder = NULL, *repo = NULL, *format = NULL;
    struct quarantine_ref *refs = NULL;
    size_t count = 0;
    int rc = land_find_quarantine(job_daemon(job), params->id, params->repo, &folder, &repo, err);

    (void)ret_result;
    if (rc == 0)
        rc = git_own(folder, format_args, NULL, &format, err);
    if (rc == 0)
        rc = quarantine_refs(folder, prefix, &refs, &count, err);
    if (rc < 0)
        return rc;
    format[strcspn(format, "\n")] = '\0';
    job_line(job, json_pack("{s:s, s:s, s:s}", "folder", folder, "repo", repo, "format", format));
    for (size_t i = 0; i < count; i++) {
        autofree char *ref = xasprintf("refs/heads/%s", refs[i].name + strlen(prefix));
        job_line(job, json_pack("{s:s, s:s}", "ref", ref, "commit", refs[i].commit));
    }
    quarantine_free_refs(refs, count);
    return 0;
}

const struct job_kind git_remote_kind = {
    .name = "git-remote", .run = run_remote, .free_params = free_params, .quiet = true};
