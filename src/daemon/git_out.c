#include "daemon/git_out.h"

#include "base/alloc.h"
#include "base/file.h"
#include "base/log.h"
#include "base/units.h"
#include "wire/json.h"

#include <string.h>

#define COLLECT_MS     (20 * 60 * 1000)
#define CHANGES_NOTED  20
#define SHA1_HEX_LEN   40
#define ALTERNATES_MAX 65536

/* ---- places ---- */

char *git_out_folder(const struct daemon *daemon, const char *id, const char *repo)
{
    autofree char *name = xasprintf("quarantine/%s.git", repo);
    return daemon_project_path(daemon, id, name);
}

char *git_out_mirror(const char *folder)
{
    autofree char *path = file_join(folder, "objects/info/alternates"), *text = NULL;
    size_t len;

    if (file_read(path, ALTERNATES_MAX, &text, NULL, NULL) < 0)
        return NULL;
    text[strcspn(text, "\n")] = '\0';
    len = strlen(text);
    if (len < 9 || strcmp(text + len - 8, "/objects") != 0)
        return NULL;
    return xstrndup(text, len - 8);
}

int git_out_prepare(const struct daemon *daemon, const char *id, const char *repo, const char *mirror,
                    const char *format, struct error **err)
{
    autofree char *folder = git_out_folder(daemon, id, repo);
    return quarantine_prepare(folder, mirror, format, err);
}

/* The quarantine of a project that came in before there were any, or whose mirror was cleared away: the
 * mirror comes again from where it came. */
static int make_good(struct daemon *daemon, struct job *job, const char *id, const struct repo_row *row,
                     const char *folder, char **ret_mirror, struct error **err)
{
    autofree char *head = file_join(folder, "HEAD"), *mirror = git_out_mirror(folder);
    const char *format = row->commit && strlen(row->commit) > SHA1_HEX_LEN ? "sha256" : "sha1";
    auto(repo_source) struct repo_source *source = NULL;

    if (file_exists(head) && mirror && file_exists(mirror)) {
        *ret_mirror = steal(&mirror);
        return 0;
    }
    int rc = repo_source_parse(row->spec, &source, err);
    if (rc == 0)
        rc = repo_mirror(daemon->paths, source, NULL, NULL, job_cancel_flag(job), ret_mirror, err);
    if (rc == 0)
        rc = git_out_prepare(daemon, id, row->name, *ret_mirror, format, err);
    return rc;
}

/* ---- the fetch ---- */

struct link {
    struct daemon *daemon;
    const char *id;
    char *path;
    struct git_stream *stream;
    struct error *error;
};

static int open_link(void *user, int *ret_fd, struct error **err)
{
    struct link *link = user;
    return git_stream_open(link->daemon, link->id, link->path, &link->stream, ret_fd, err);
}

static void close_link(int fd, bool failed, void *user)
{
    struct link *link = user;

    (void)fd;
    git_stream_close(link->stream, failed, &link->error);
}

static void on_progress(const char *text, uint64_t done, uint64_t total, uint64_t bytes, void *user)
{
    (void)bytes;
    job_progress(user, "git-fetch", done, total, total ? "objects" : NULL, "%s", text);
}

static int fetch(struct daemon *daemon, struct job *job, const char *id, const char *repo, const char *folder,
                 const char *mirror, struct quarantine_news *news, struct error **err)
{
    struct link link = {.daemon = daemon, .id = id, .path = xasprintf("/v1/git/%s/upload-pack", repo)};
    const struct quarantine_link ends = {.open = open_link, .close = close_link, .user = &link};
    auto(error) struct error *why = NULL;
    int rc = quarantine_fetch(daemon->paths, folder, mirror, &ends, on_progress, job, job_cancel_flag(job),
                              news, &why);

    free(link.path);
    if (rc < 0 && link.error && why->code != ERROR_LIMIT && why->code != ERROR_CANCELLED)
        rc = error_move(err, &link.error);
    else
        rc = error_move(err, &why);
    error_free(link.error);
    return rc;
}

/* What a work tree alone has goes into the bare repository, where it can be fetched. */
static int collect_work(struct daemon *daemon, struct job *job, const char *id, const struct repo_row *row,
                        struct error **err)
{
    autofree char *path = xasprintf("/v1/git/%s/collect", row->name);
    auto(json) json_t *body = json_pack("{s:s}", "target", row->target);
    autofree char *text = json_text(body);
    struct guest_call call = {
        .op = GUEST_OP_REPO, .port = PORT_CONTROL, .path = path, .body = text, .stream = -1};

    job_progress(job, "git-collect", 0, 0, NULL, "%s: gathering what was not pushed", row->name);
    return guest_call_wait(daemon->guests, id, &call, COLLECT_MS, job_cancel_flag(job), NULL, err);
}

static json_t *show_news(struct daemon *daemon, const char *id, const char *repo,
                         const struct quarantine_news *news)
{
    json_t *changes = json_array(), *skips = json_array();

    for (size_t i = 0; i < news->change_count; i++) {
        const struct quarantine_change *change = &news->changes[i];
        json_t *row = json_pack("{s:s, s:s?, s:s?, s:b}", "name", change->name, "old", change->old, "commit",
                                change->commit, "forced", change->forced);
        json_array_append_new(changes, row);
        autofree char *subject =
            xasprintf("%s %s %.12s", repo, change->name, change->commit ? change->commit : "gone");
        if (i < CHANGES_NOTED)
            daemon_noted(daemon, id, "git.fetch", subject);
    }
    for (size_t i = 0; i < news->skip_count; i++)
        json_array_append_new(
            skips, json_pack("{s:s, s:s}", "name", news->skips[i].name, "why", news->skips[i].why));
    return json_pack("{s:s, s:o, s:o}", "repo", repo, "changes", changes, "skips", skips);
}

static const struct repo_row *find_row(const struct record *r, const char *repo)
{
    for (size_t i = 0; i < r->repo_count; i++)
        if (!strcmp(r->repos[i].name, repo) && r->repos[i].done)
            return &r->repos[i];
    return NULL;
}

static int run_row(struct daemon *daemon, struct job *job, const struct record *r, const struct repo_row *row,
                   bool collect, json_t **ret_result, struct error **err)
{
    autofree char *folder = git_out_folder(daemon, r->id, row->name), *mirror = NULL;
    struct quarantine_news news = {0};
    auto(json) json_t *result = NULL;
    json_t *pushes = json_array();
    int rc = make_good(daemon, job, r->id, row, folder, &mirror, err);

    if (rc == 0 && collect)
        rc = collect_work(daemon, job, r->id, row, err);
    if (rc == 0)
        rc = fetch(daemon, job, r->id, row->name, folder, mirror, &news, err);
    if (rc == 0) {
        result = show_news(daemon, r->id, row->name, &news);
        rc = git_push_file(daemon, r->id, row->name, folder, pushes, err);
    }
    quarantine_news_finish(&news);
    if (rc < 0) {
        json_decref(pushes);
        return error_prefix(err, "repository \"%s\"", row->name);
    }
    json_object_set_new(result, "pushes", pushes);
    *ret_result = steal(&result);
    return 0;
}

int git_out_run(struct daemon *daemon, struct job *job, const char *id, const char *repo, bool collect,
                json_t **ret_result, struct error **err)
{
    struct record r;
    int rc;

    if (!projects_record(daemon->projects, id, &r))
        return error_set(err, ERROR_NOT_FOUND, "the project was removed meanwhile");
    const struct repo_row *row = find_row(&r, repo);
    if (row)
        rc = run_row(daemon, job, &r, row, collect, ret_result, err);
    else
        rc = error_set(err, ERROR_NOT_FOUND, "\"%s\" has no repository \"%s\"", r.name, repo);
    record_finish(&r);
    return rc;
}

/* ---- jobs ---- */

struct fetch_params {
    char id[PROJECT_ID_MAX];
    char *repo;
    bool collect;
};

static void free_fetch(void *user)
{
    struct fetch_params *params = user;

    free(params->repo);
    free(params);
}

static int run_fetch(struct job *job, void *user, json_t **ret_result, struct error **err)
{
    struct fetch_params *params = user;
    struct record r;

    if (projects_record(job_daemon(job)->projects, params->id, &r)) {
        bool ends = step_operation(r.step) == OPERATION_REMOVE;
        record_finish(&r);
        if (ends)
            return error_set(err, ERROR_STATE, "the project is being removed");
    }
    return git_out_run(job_daemon(job), job, params->id, params->repo, params->collect, ret_result, err);
}

static const struct job_kind fetch_kind = {
    .name = "git-fetch", .run = run_fetch, .free_params = free_fetch, .quiet = true};
/* With the work tree's own: of another kind, so that a push does not wait for it where it need not. */
static const struct job_kind collect_kind = {
    .name = "git-collect", .run = run_fetch, .free_params = free_fetch, .quiet = true};

struct job *git_out_fetch(struct daemon *daemon, const char *id, const char *repo, bool collect)
{
    const struct job_kind *kind = collect ? &collect_kind : &fetch_kind;
    autofree char *lane = xasprintf("git:%s/%s", id, repo);
    struct job *waiting = job_waiting(daemon->jobs, lane, kind);

    if (waiting)
        return waiting; /* it has not begun: what is there now will be in it */
    struct fetch_params *params = xnew(struct fetch_params);
    snprintf(params->id, sizeof(params->id), "%s", id);
    params->repo = xstrdup(repo);
    params->collect = collect;
    return job_submit(daemon->jobs, lane, kind, params);
}

void git_out_fetch_all(struct daemon *daemon, const char *id)
{
    struct record r;

    if (!projects_record(daemon->projects, id, &r))
        return;
    for (size_t i = 0; i < r.repo_count && step_operation(r.step) != OPERATION_REMOVE; i++)
        if (r.repos[i].done)
            git_out_fetch(daemon, id, r.repos[i].name, true);
    record_finish(&r);
}
