/* What makes a fetch: git in a machine that pushed, or is about to fetch; the end of a session or of an
 * agent's turn; a machine that comes into step, as all do at hutchd's start. Loop thread, but for the job
 * that refreshes. */
#include "daemon/git_asked.h"

#include "base/alloc.h"
#include "base/log.h"
#include "base/units.h"
#include "daemon/git_out.h"
#include "daemon/inbox.h"
#include "daemon/state_requests.h"
#include "wire/json.h"

#include <string.h>
#include <sys/queue.h>

#define REFRESH_MS  60000
#define SETTLE_MS   3000               /* after a session's end: others may end with it */
#define SHOWN_MAX   20                 /* pushes in one answer */
#define ANSWER_ROOM 4000               /* bytes of it */
#define DENIED_MAX  50                 /* answers that are looked through */
#define TOLD_MS     (24 * 3600 * 1000) /* older denials are not told any more */
#define PUSH_VERB   "PUSH"

/* A flow that waits for a job. */
struct asked {
    TAILQ_ENTRY(asked) link;
    struct daemon *daemon;
    char id[PROJECT_ID_MAX];
    char *repo;
    struct flows *flows; /* NULL: it has gone */
    uint64_t flow;
};
/* When a repository was refreshed last. */
struct refreshed {
    struct refreshed *next;
    char *lane;
    int64_t at_ms;
    int64_t told_ms; /* denials before were told; since 1970 */
};
/* A project whose sessions are ending. */
struct settling {
    TAILQ_ENTRY(settling) link;
    struct daemon *daemon;
    char id[PROJECT_ID_MAX];
    uv_timer_t timer;
};

static TAILQ_HEAD(, asked) all_asked = TAILQ_HEAD_INITIALIZER(all_asked);
static TAILQ_HEAD(, settling) all_settling = TAILQ_HEAD_INITIALIZER(all_settling);
static struct refreshed *all_refreshed;

static int64_t now_ms(void)
{
    return units_now_ns() / 1000000;
}

static void answer(struct asked *asked, json_t *body)
{
    autofree char *text = json_dumps(body, JSON_COMPACT | JSON_ENSURE_ASCII);

    TAILQ_REMOVE(&all_asked, asked, link);
    if (asked->flows)
        flows_reply(asked->flows, asked->flow, text);
    free(asked->repo);
    free(asked);
}

static struct asked *add_asked(struct daemon *daemon, const char *id, const char *repo, struct flows *flows,
                               uint64_t flow)
{
    struct asked *asked = xnew(struct asked);

    asked->daemon = daemon;
    snprintf(asked->id, sizeof(asked->id), "%s", id);
    asked->repo = xstrdup(repo);

    asked->flows = flows;
    asked->flow = flow;
    TAILQ_INSERT_TAIL(&all_asked, asked, link);
    return asked;
}

void git_out_gone(struct daemon *daemon, struct flows *flows, uint64_t flow)
{
    struct asked *asked;

    (void)daemon;
    TAILQ_FOREACH(asked, &all_asked, link)
    if (asked->flows == flows && asked->flow == flow)
        asked->flows = NULL;
}

/* ---- what a person answered meanwhile ---- */

/* What is to be told of denied pushes: in rows that push again (`pushes`), or of a repository since a time.
 */
struct telling {
    const char *repo;
    json_t *pushes, *said;
};

/* The ref of a push of the repository; NULL: it is of another one. */
static const char *ref_of(const struct approval_request *request, const char *repo)
{
    size_t len = strlen(repo);
    return strncmp(request->key, repo, len) || request->key[len] != ' ' ? NULL : request->key + len + 1;
}

static void tell(const struct approval_request *request, void *user)
{
    const struct telling *telling = user;
    const char *ref = ref_of(request, telling->repo);
    json_t *push;
    size_t i;

    if (!ref || !request->reason[0])
        return;
    json_array_foreach(telling->pushes, i, push)
    {
        if (strcmp(json_string_value(json_object_get(push, "ref")), ref) != 0 ||
            json_object_get(push, "before"))
            continue;
        json_object_set_new(push, "before", json_integer(request->id));
        json_object_set_new(push, "reason", json_bytes(request->reason, strlen(request->reason)));
    }
    if (telling->said)
        json_array_append_new(telling->said,
                              json_pack("{s:s, s:I, s:o}", "ref", ref, "request", (json_int_t)request->id,
                                        "reason", json_bytes(request->reason, strlen(request->reason))));
}

/* ---- it has pushed ---- */

/* The part of an array that fits. New reference. */
static json_t *some(const json_t *array, size_t *room)
{
    json_t *list = json_array(), *item;
    size_t i;

    json_array_foreach(array, i, item)
    {
        autofree char *text = json_dumps(item, JSON_COMPACT | JSON_ENSURE_ASCII);
        if (i == SHOWN_MAX || strlen(text) + 1 > *room)
            break;
        *room -= strlen(text) + 1;
        json_array_append(list, item);
    }
    return list;
}

static bool names(const json_t *pushes, const char *ref)
{
    const json_t *push;
    size_t i;

    json_array_foreach(pushes, i,
                       push) if (!strcmp(json_string_value(json_object_get(push, "ref")), ref)) return true;
    return false;
}

/* What this fetch brought, and what waits since an earlier one that was quicker. New reference. */
static json_t *with_open(const struct asked *asked, const json_t *pushes)
{
    const struct approval_request *list[GIT_PUSHES_MAX * 4];
    size_t count = approval_list(inbox_approval(asked->daemon->inbox), list, countof(list));
    json_t *all = json_copy((json_t *)(uintptr_t)pushes);
    size_t len = strlen(asked->repo);

    for (size_t i = 0; i < count; i++) {
        const char *key = list[i]->key;
        if (strcmp(list[i]->project, asked->id) != 0 || strcmp(list[i]->verb, "PUSH") != 0 ||
            strncmp(key, asked->repo, len) != 0 || key[len] != ' ' || names(all, key + len + 1))
            continue;
        json_array_append_new(
            all, json_pack("{s:s, s:I}", "ref", key + len + 1, "request", (json_int_t)list[i]->id));
    }
    return all;
}

static void on_fetched(const json_t *result, const struct error *err, void *user)
{
    struct asked *asked = user;
    size_t room = ANSWER_ROOM - 200;
    auto(json) json_t *body = json_object();

    if (err) {
        json_object_set_new(body, "error", json_string(err->message));
    } else {
        auto(json) json_t *pushes = with_open(asked, json_object_get(result, "pushes"));
        struct telling telling = {.repo = asked->repo, .pushes = pushes};
        state_requests_denied(asked->daemon->state, asked->id, PUSH_VERB, now_ms() - TOLD_MS, DENIED_MAX,
                              tell, &telling, NULL);
        json_object_set_new(body, "pushes", some(pushes, &room));
        json_object_set_new(body, "skips", some(json_object_get(result, "skips"), &room));
    }
    answer(asked, body);
}

/* ---- it is about to fetch ---- */

struct refresh_params {
    char id[PROJECT_ID_MAX];
    char *repo;
};

static void free_refresh(void *user)
{
    struct refresh_params *params = user;

    free(params->repo);
    free(params);
}

/* Branches that went apart from the host's stay as the machine has them. */
static bool only_rejected(const struct error *err)
{
    return strstr(err->message, "failed to push some refs") || strstr(err->message, "rejected]");
}

static int push_in(struct job *job, const char *id, const char *repo, const char *mirror, bool *ret_apart,
                   struct error **err)
{
    autofree char *path = xasprintf("/v1/git/%s/receive-pack", repo);
    auto(error) struct error *why = NULL, *theirs = NULL;
    struct git_stream *stream = NULL;
    int fd = -1, rc = git_stream_open(job_daemon(job), id, path, &stream, &fd, err);

    if (rc < 0)
        return rc;
    rc = repo_push(job_daemon(job)->paths, mirror, "", fd, NULL, NULL, job_cancel_flag(job), &why);
    git_stream_close(stream, rc < 0, &theirs);
    *ret_apart = rc < 0 && only_rejected(why);
    if (*ret_apart)
        return 0;
    return theirs ? error_move(err, &theirs) : error_move(err, &why);
}

int git_push_in(struct job *job, const char *id, const char *repo, bool *ret_apart, struct error **err)
{
    auto(repo_source) struct repo_source *source = NULL;
    autofree char *spec = NULL, *mirror = NULL;
    struct record r;

    if (!projects_record(job_daemon(job)->projects, id, &r))
        return error_set(err, ERROR_NOT_FOUND, "the project was removed meanwhile");
    for (size_t i = 0; i < r.repo_count; i++)
        if (!strcmp(r.repos[i].name, repo) && r.repos[i].done)
            spec = xstrdup(r.repos[i].spec);
    record_finish(&r);
    if (!spec)
        return error_set(err, ERROR_NOT_FOUND, "this project has no repository \"%s\"", repo);
    int rc = repo_source_parse(spec, &source, err);
    if (rc == 0)
        rc = repo_mirror(job_daemon(job)->paths, source, NULL, NULL, job_cancel_flag(job), &mirror, err);
    return rc < 0 ? rc : push_in(job, id, repo, mirror, ret_apart, err);
}

static int run_refresh(struct job *job, void *user, json_t **ret_result, struct error **err)
{
    struct refresh_params *params = user;
    bool apart = false;

    (void)ret_result;
    return git_push_in(job, params->id, params->repo, &apart, err);
}

static const struct job_kind refresh_kind = {
    .name = "git-refresh", .run = run_refresh, .free_params = free_refresh, .quiet = true};

static struct refreshed *find_refreshed(const char *lane)
{
    struct refreshed *one = all_refreshed;

    while (one && strcmp(one->lane, lane) != 0)
        one = one->next;
    if (!one) {
        one = xnew(struct refreshed);
        one->lane = xstrdup(lane);
        one->told_ms = now_ms() - TOLD_MS;
        one->next = all_refreshed;
        all_refreshed = one;
    }
    return one;
}

/* With what was denied since it was told last. */
static void answer_refreshed(struct asked *asked, json_t *body)
{
    autofree char *lane = xasprintf("git:%s/%s", asked->id, asked->repo);
    struct refreshed *one = find_refreshed(lane);
    auto(json) json_t *said = json_array();
    struct telling telling = {.repo = asked->repo, .said = said};
    size_t room = ANSWER_ROOM - 1000;

    state_requests_denied(asked->daemon->state, asked->id, PUSH_VERB, one->told_ms, DENIED_MAX, tell,
                          &telling, NULL);
    one->told_ms = now_ms();
    json_object_set_new(body, "said", some(said, &room));
    answer(asked, body);
}

static void on_refreshed(const json_t *result, const struct error *err, void *user)
{
    auto(json) json_t *body = json_object();

    (void)result;
    if (err)
        json_object_set_new(body, "error", json_string(err->message));
    answer_refreshed(user, body);
}

/* At most once a minute, whoever asks. */
static bool take_turn(const char *lane)
{
    int64_t now = units_monotonic_ns() / 1000000;
    struct refreshed *one = find_refreshed(lane);

    if (one->at_ms && now - one->at_ms < REFRESH_MS)
        return false;
    one->at_ms = now;
    return true;
}

static void refresh(struct daemon *daemon, const char *id, const char *repo, struct asked *asked)
{
    autofree char *lane = xasprintf("git:%s/%s", id, repo);
    struct job *job = job_find(daemon->jobs, lane, &refresh_kind);

    if (!job && !take_turn(lane)) {
        auto(json) json_t *body = json_object();
        answer_refreshed(asked, body);
        return;
    }
    if (!job) {
        struct refresh_params *params = xnew(struct refresh_params);
        snprintf(params->id, sizeof(params->id), "%s", id);
        params->repo = xstrdup(repo);
        job = job_submit(daemon->jobs, lane, &refresh_kind, params);
    }
    job_on_end(job, on_refreshed, asked);
}

/* Whether the project has it: nothing is begun for a name that a machine made up. */
static bool has_repo(struct daemon *daemon, const char *id, const char *repo)
{
    struct project *project = projects_lock(daemon->projects, id);
    bool has = false;

    for (size_t i = 0; project && i < project->r.repo_count; i++)
        has = has || (project->r.repos[i].done && !strcmp(project->r.repos[i].name, repo));
    if (project)
        projects_unlock(daemon->projects);
    return has;
}

void git_out_asked(struct daemon *daemon, const char *id, struct flows *flows, uint64_t flow,
                   enum flow_git what, const char *repo)
{
    struct asked *asked = add_asked(daemon, id, repo, flows, flow);

    if (what == FLOW_GIT_TURN) {
        auto(json) json_t *body = json_object();
        git_out_session_ended(daemon, id);
        answer(asked, body);
    } else if (!has_repo(daemon, id, repo)) {
        auto(json) json_t *body = json_pack("{s:s}", "error", "this project has no such repository");
        answer(asked, body);
    } else if (what == FLOW_GIT_PUSH) {
        job_on_end(git_out_fetch(daemon, id, repo, false), on_fetched, asked);
    } else {
        refresh(daemon, id, repo, asked);
    }
}

/* ---- a session has ended ---- */

static void on_closed(uv_handle_t *handle)
{
    free(handle->data);
}

static void end_settling(struct settling *settling)
{
    TAILQ_REMOVE(&all_settling, settling, link);
    uv_close((uv_handle_t *)&settling->timer, on_closed);
}

static void on_settled(uv_timer_t *timer)
{
    struct settling *settling = timer->data;

    git_out_fetch_all(settling->daemon, settling->id);
    end_settling(settling);
}

void git_out_session_ended(struct daemon *daemon, const char *id)
{
    struct settling *settling;

    TAILQ_FOREACH(settling, &all_settling, link)
    if (!strcmp(settling->id, id))
        return;
    settling = xnew(struct settling);
    settling->daemon = daemon;
    snprintf(settling->id, sizeof(settling->id), "%s", id);
    uv_timer_init(&daemon->loop, &settling->timer);
    settling->timer.data = settling;
    uv_timer_start(&settling->timer, on_settled, SETTLE_MS, 0);
    TAILQ_INSERT_TAIL(&all_settling, settling, link);
}

void git_out_destroy(struct daemon *daemon)
{
    (void)daemon;
    while (!TAILQ_EMPTY(&all_settling))
        end_settling(TAILQ_FIRST(&all_settling));
    while (all_refreshed) {
        struct refreshed *next = all_refreshed->next;
        free(all_refreshed->lane);
        free(all_refreshed);
        all_refreshed = next;
    }
}
