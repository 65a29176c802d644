#include "daemon/land.h"

#include "approval/approval.h"
#include "base/alloc.h"
#include "base/file.h"
#include "base/text.h"
#include "daemon/inbox.h"
#include "repo/known.h"
#include "repo/land.h"
#include "review/review.h"
#include "wire/json.h"

#include <limits.h>
#include <string.h>

#define NAME_MAX_BYTES 400
#define MESSAGE_MAX    16384
#define PICKS_MAX      5000
#define HUNKS_MAX      100000
#define LINKS_MAX      500
#define REQUESTS_MAX   1024
#define PUSH_VERB      "PUSH"

/* ---- which quarantine ---- */

/* "a, b, c" */
static char *repo_names(const struct record *record)
{
    char *names = xstrdup("");
    for (size_t i = 0; i < record->repo_count; i++) {
        char *more = xasprintf("%s%s%s", names, i ? ", " : "", record->repos[i].name);
        free(names);
        names = more;
    }
    return names;
}

static const struct repo_row *find_row(const struct record *record, const char *name, struct error **err)
{
    bool given = name && *name;

    if (!given && record->repo_count == 1)
        return &record->repos[0];
    for (size_t i = 0; given && i < record->repo_count; i++)
        if (!strcmp(record->repos[i].name, name))
            return &record->repos[i];
    autofree char *names = repo_names(record);
    if (record->repo_count == 0)
        error_set(err, ERROR_NOT_FOUND, "project \"%s\" has no repository", record->name);
    else if (given)
        error_set(err, ERROR_NOT_FOUND, "project \"%s\" has no repository '%.80s' (it has: %s)", record->name,
                  name, names);
    else
        error_set(err, ERROR_USAGE, "project \"%s\" has %zu repositories: name one with --repo (%s)",
                  record->name, record->repo_count, names);
    return NULL;
}

static char *quarantine_of(struct daemon *daemon, const char *id, const char *repo)
{
    autofree char *name = xasprintf("quarantine/%s.git", repo);
    return daemon_project_path(daemon, id, name);
}

int land_find_quarantine(struct daemon *daemon, const char *id, const char *name, char **ret_folder,
                         char **ret_repo, struct error **err)
{
    struct record record = {0};
    struct error *why = NULL;

    if (!projects_record(daemon->projects, id, &record))
        return error_set(err, ERROR_NOT_FOUND, "the project was removed meanwhile");
    const struct repo_row *row = find_row(&record, name, &why);
    int rc = row ? 0 : error_move(err, &why);
    autofree char *folder = row ? quarantine_of(daemon, id, row->name) : NULL;
    if (rc == 0 && !file_exists(folder)) {
        rc = error_set(err, ERROR_NOT_FOUND, "nothing has come out of the machine of '%s' yet", record.name);
        error_hint(err, "a `git push` in the machine, or `hutch git fetch`, brings it");
    }
    if (rc == 0) {
        *ret_folder = steal(&folder);
        *ret_repo = xstrdup(row->name);
    }
    record_finish(&record);
    return rc;
}

/* ---- what is asked ---- */

static int check_file(const json_t *file, struct error **err)
{
    const json_t *hunks = json_object_get(file, "hunks");
    const char *path = NULL;
    size_t i;
    json_t *hunk;

    int rc = json_get_string(file, "path", PATH_MAX * 8, &path, err);
    if (rc == 0 && hunks && !json_is_null(hunks) &&
        (!json_is_array(hunks) || json_array_size(hunks) > HUNKS_MAX))
        rc = error_set(err, ERROR_INVALID, "\"hunks\" is a list of numbers");
    json_array_foreach((json_t *)hunks, i,
                       hunk) if (rc == 0 && (!json_is_integer(hunk) || json_integer_value(hunk) < 0 ||
                                             json_integer_value(hunk) > INT_MAX)) rc =
        error_set(err, ERROR_INVALID, "\"hunks\" is a list of numbers from 0");
    return rc;
}

struct land_params *land_params_parse(const char *id, json_t *body, struct error **err)
{
    const char *word = NULL;
    const json_t *files = json_object_get(body, "files");
    bool flag;
    char **links = NULL;
    size_t i;
    json_t *file;

    int rc = json_is_object(body) ? 0 : error_set(err, ERROR_INVALID, "a body is needed");
    static const char *const words[] = {"repo", "branch", "as", "commit"};
    for (size_t w = 0; rc == 0 && w < countof(words); w++)
        rc = json_opt_string(body, words[w], NAME_MAX_BYTES, &word, err);
    word = NULL;
    if (rc == 0)
        rc = json_opt_string(body, "into", PATH_MAX, &word, err);
    if (rc == 0 && word && *word != '/')
        rc = error_set(err, ERROR_INVALID, "\"into\" must be a full path");
    if (rc == 0)
        rc = json_opt_string(body, "message", MESSAGE_MAX, &word, err);
    if (rc == 0)
        rc = json_opt_bool(body, "fast_forward", &flag, err);
    if (rc == 0)
        rc = json_opt_bool(body, "push", &flag, err);
    if (rc == 0)
        rc = json_opt_strings(body, "allow_links", LINKS_MAX, PATH_MAX * 8, &links, err);
    json_free_strings(links);
    if (rc == 0 && files && !json_is_null(files) &&
        (!json_is_array(files) || json_array_size(files) == 0 || json_array_size(files) > PICKS_MAX))
        rc = error_set(err, ERROR_INVALID, "\"files\" is a list of 1 to %d files", PICKS_MAX);
    json_array_foreach((json_t *)files, i, file) if (rc == 0) rc = check_file(file, err);
    if (rc < 0)
        return NULL;
    struct land_params *params = xnew(struct land_params);
    snprintf(params->id, sizeof(params->id), "%s", id);
    params->body = json_deep_copy(body);
    return params;
}

static void free_params(void *user)
{
    struct land_params *params = user;
    json_decref(params->body);
    free(params);
}

/* ---- the job ---- */

/* The request that a landing answers at this moment: it needs no second one. Loop thread. */
static int64_t answering;

bool land_answers(int64_t request)
{
    return request == answering;
}

struct landing {
    struct job *job;
    struct daemon *daemon;
    const json_t *body;
    const char *id;
    char *project, *repo, *quarantine, *repository;
    char *from;                /* what is landed, as it is called in the quarantine */
    char tip[REVIEW_HEX_SIZE]; /* of the branch */
    char commit[REVIEW_HEX_SIZE];
    char *branch; /* in the user's repository */
    int64_t request;
};

static void landing_finish(struct landing *landing)
{
    free(landing->project);
    free(landing->repo);
    free(landing->quarantine);
    free(landing->repository);
    free(landing->from);
    free(landing->branch);
}

static const char *word_of(const json_t *body, const char *key)
{
    const char *word = json_string_value(json_object_get(body, key));
    return word && *word ? word : NULL;
}

/* The user's own repository: the one named, the one that came in, or that of the project's folder. */
static int find_repository(struct landing *landing, const struct record *record, struct error **err)
{
    const char *into = word_of(landing->body, "into");
    const struct repo_row *row = find_row(record, landing->repo, err);
    struct repo_source *source = NULL;
    struct error *why = NULL;

    if (!row)
        return -ERROR_NOT_FOUND;
    if (into) {
        landing->repository = xstrdup(into);
        return 0;
    }
    if (repo_source_parse(row->spec, &source, &why) == 0 && source->local)
        landing->repository = xstrdup(source->url);
    else if (why && row->spec[0] == '/')
        error_prefix(&why, "the repository that the project was made of cannot be used");
    repo_source_free(source);
    if (!landing->repository && why) {
        error_hint(&why, "name yours with --into DIR");
        return error_move(err, &why);
    }
    if (!landing->repository && record->folder)
        landing->repository = xstrdup(record->folder);
    if (landing->repository)
        return 0;
    int rc = error_set(err, ERROR_STATE,
                       "'%s' came from a URL: hutch does not know your own repository of it", row->name);
    error_hint(err, "name yours with --into DIR");
    return rc;
}

/* The name that a branch gets by itself. */
static char *default_branch(const struct landing *landing, const char *ref)
{
    if (!strncmp(ref, "refs/pushes/", 12))
        return xasprintf("hutch/%s/push-%s", landing->project, ref + 12);
    if (!*ref)
        return xasprintf("hutch/%s/%.12s", landing->project, landing->tip);
    return xasprintf("hutch/%s/%s", landing->project, landing->from);
}

/* Finds the branch, and sees that it is what was looked at. */
static int find_branch(struct landing *landing, struct error **err)
{
    const char *reviewed = word_of(landing->body, "commit");
    const char *as = word_of(landing->body, "as");
    autofree char *ref = NULL;

    int rc = review_find(landing->quarantine, word_of(landing->body, "branch"), &landing->from, &ref,
                         landing->tip, err);
    if (rc < 0)
        return rc;
    if (reviewed && strcmp(reviewed, landing->tip) != 0) {
        rc = error_set(err, ERROR_CHANGES,
                       "'%s' was pushed again since it was looked at: it is %.12s now, not %.12s",
                       landing->from, landing->tip, reviewed);
        error_hint(err, "look at it again");
        return rc;
    }
    memcpy(landing->commit, landing->tip, sizeof(landing->commit));
    landing->branch = as ? xstrdup(as) : default_branch(landing, ref);
    return 0;
}

/* The picks of the body; freed by free_picks. */
static struct review_pick *read_picks(const json_t *files, size_t *ret_count)
{
    size_t count = json_array_size(files);
    struct review_pick *picks = xnewn(struct review_pick, count + 1);

    for (size_t i = 0; i < count; i++) {
        const json_t *file = json_array_get(files, i);
        const json_t *hunks = json_object_get(file, "hunks");
        picks[i].path = json_string_value(json_object_get(file, "path"));
        if (!json_is_array(hunks))
            continue;
        unsigned *numbers = xnewn(unsigned, json_array_size(hunks) + 1);
        for (size_t h = 0; h < json_array_size(hunks); h++)
            numbers[h] = (unsigned)json_integer_value(json_array_get(hunks, h));
        picks[i].hunks = numbers;
        picks[i].hunk_count = json_array_size(hunks);
    }
    *ret_count = count;
    return picks;
}

static void free_picks(struct review_pick *picks, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free((unsigned *)(uintptr_t)picks[i].hunks);
    free(picks);
}

/* With "files" a commit of them is made, which is landed instead of the branch. */
static int make_commit(struct landing *landing, struct error **err)
{
    const json_t *files = json_object_get(landing->body, "files");
    autofree char *name = NULL;
    autofree char *mail = NULL;
    size_t count;

    if (!json_is_array(files))
        return 0;
    int rc = land_identity(landing->repository, &name, &mail, err);
    if (rc < 0)
        return rc;
    struct review_identity user = {name, mail};
    struct review_pick *picks = read_picks(files, &count);
    rc = review_commit_picks(landing->quarantine, landing->tip, picks, count, &user,
                             word_of(landing->body, "message"), landing->commit, err);
    free_picks(picks, count);
    return rc;
}

static void on_progress(const char *text, uint64_t done, uint64_t total, uint64_t bytes, void *user)
{
    job_progress(user, "land", done, total, "objects", "%s", text);
}

json_t *land_commit_of(const json_t *fields)
{
    json_t *commit = json_object_get(fields, "commit"); /* requests of older versions have "new" alone */
    return commit ? commit : json_object_get(fields, "new");
}

/* The request of the push that was landed as a whole is answered by it. On the loop. */
static void answer_request(void *user)
{
    struct landing *landing = user;
    struct approval *approval = inbox_approval(landing->daemon->inbox);
    const struct approval_request **list = xnewn(const struct approval_request *, REQUESTS_MAX);
    size_t count = approval_list(approval, list, REQUESTS_MAX);

    for (size_t i = 0; i < count && !landing->request; i++) {
        auto(json) json_t *fields = json_loads(list[i]->fields, 0, NULL);
        const char *tip = json_string_value(land_commit_of(fields));
        const char *repo = json_string_value(json_object_get(fields, "repo"));
        if (!strcmp(list[i]->project, landing->id) && !strcmp(list[i]->verb, PUSH_VERB) && tip && repo &&
            !strcmp(tip, landing->tip) && !strcmp(repo, landing->repo))
            landing->request = list[i]->id;
    }
    free(list);
    const struct approval_request *open = landing->request ? approval_find(approval, landing->request) : NULL;
    auto(error) struct error *err = NULL;
    if (!open)
        return;
    autofree char *became = xasprintf(LAND_BECAME "%s", landing->branch);
    struct approval_answer answer = {.id = open->id,
                                     .nonce = open->nonce,
                                     .digest = open->digest,
                                     .allow = true,
                                     .scope = APPROVAL_ONCE,
                                     .reason = became,
                                     .by = "hutch land"};
    answering = open->id;
    int rc = approval_answer(approval, &answer, &err);
    answering = 0;
    if (rc < 0) {
        job_warn(landing->job, "#%lld stays open: %s", (long long)landing->request, err->message);
        landing->request = 0;
    }
}

/* Everything before the user's repository is touched. */
static int prepare(struct landing *landing, struct error **err)
{
    struct record record = {0};
    char **links = NULL;

    if (!projects_record(landing->daemon->projects, landing->id, &record))
        return error_set(err, ERROR_NOT_FOUND, "the project was removed meanwhile");
    landing->project = xstrdup(record.name);
    int rc = land_find_quarantine(landing->daemon, landing->id, word_of(landing->body, "repo"),
                                  &landing->quarantine, &landing->repo, err);
    if (rc == 0)
        rc = find_repository(landing, &record, err);
    record_finish(&record);
    if (rc == 0)
        rc = find_branch(landing, err);
    if (rc == 0)
        rc = make_commit(landing, err);
    if (rc == 0)
        rc = json_opt_strings(landing->body, "allow_links", LINKS_MAX, PATH_MAX * 8, &links, err);
    if (rc == 0)
        rc = review_check_links(landing->quarantine, landing->commit, (const char *const *)links, err);
    json_free_strings(links);
    return rc;
}

static int land_it(struct landing *landing, char **ret_url, struct error **err)
{
    bool push = json_is_true(json_object_get(landing->body, "push"));
    struct land land = {.repository = landing->repository,
                        .quarantine = landing->quarantine,
                        .commit = landing->commit,
                        .branch = landing->branch,
                        .fast_forward = json_is_true(json_object_get(landing->body, "fast_forward")),
                        .cancel = job_cancel_flag(landing->job)};
    autofree char *safe = text_safe(landing->from);
    autofree char *subject =
        xasprintf("%s %s as %s%s", landing->repo, safe, landing->branch, push ? ", pushed" : "");

    int rc = land_check(&land, err);
    /* what changes the user's repository is on record before it is done */
    if (rc == 0)
        rc = daemon_note(landing->daemon, landing->id, "git.land", subject, err);
    if (rc == 0)
        rc = known_note(landing->quarantine, landing->repository, err);
    if (rc == 0)
        rc = land_branch(&land, on_progress, landing->job, err);
    if (rc == 0 && push)
        rc = land_push(&land, on_progress, landing->job, ret_url, err);
    return rc;
}

static int run_land(struct job *job, void *user, json_t **ret_result, struct error **err)
{
    struct land_params *params = user;
    struct landing landing = {.job = job, .daemon = job_daemon(job), .body = params->body, .id = params->id};
    bool whole = !json_is_array(json_object_get(params->body, "files"));
    autofree char *url = NULL;

    int rc = prepare(&landing, err);
    if (rc == 0)
        rc = land_it(&landing, &url, err);
    if (rc == 0 && whole)
        post_wait(landing.daemon->posts, answer_request, &landing);
    if (rc == 0)
        *ret_result = json_pack("{s:s, s:s, s:s, s:s, s:b, s:s?, s:o}", "repository", landing.repository,
                                "branch", landing.branch, "commit", landing.commit, "from", landing.from,
                                "whole", whole, "pushed", url, "request",
                                landing.request ? json_integer(landing.request) : json_null());
    landing_finish(&landing);
    return rc;
}

const struct job_kind land_kind = {
    .name = "land", .run = run_land, .free_params = free_params, .quiet = true};
