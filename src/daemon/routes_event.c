/* Routes of the journal: events, and the check of its chain. */
#include "base/alloc.h"
#include "base/units.h"
#include "daemon/events.h"
#include "daemon/server.h"
#include "wire/json.h"

#include <string.h>

/* A number of the query; 0 if absent. false: the client has been told. */
static bool query_number(const struct request *request, const char *key, int64_t *ret)
{
    autofree char *text = NULL;
    auto(error) struct error *err = NULL;
    uint64_t value = 0;

    if (!request_query(request, key, &text))
        return false;
    if (text && units_parse_number(text, 0, INT64_MAX, &value, &err) < 0) {
        error_prefix(&err, "%s", key);
        request_fail(request, err);
        return false;
    }
    *ret = (int64_t)value;
    return true;
}

static bool take_seq(const struct event *event, void *user)
{
    *(int64_t *)user = event->seq;
    return true;
}

/* Names are given again: the events of the project that has this one now begin with its making. false: the
 * client has been told. */
static bool leave_out_earlier(const struct request *request, struct events_query *query)
{
    struct journal_query making = {
        .project = query->project, .kind = "lifecycle.create", .limit = 1, .newest = true};
    auto(error) struct error *err = NULL;
    char id[PROJECT_ID_MAX];
    int64_t seq = 0;

    if (!query->project || projects_find(request->daemon->projects, query->project, id, NULL) < 0)
        return true;
    if (journal_select(request->daemon->journal, &making, take_seq, &seq, &err) < 0) {
        request_fail(request, err);
        return false;
    }
    query->begin = seq;
    return true;
}

static void list_events(const struct request *request, json_t *body)
{
    struct events_query query = {0};
    autofree char *follow = NULL, *earlier = NULL;

    (void)body;
    if (request_query(request, "project", &query.project) && request_query(request, "kind", &query.kind) &&
        request_query(request, "session", &query.session) && request_query(request, "follow", &follow) &&
        query_number(request, "since_ns", &query.since_ns) && query_number(request, "after", &query.after) &&
        query_number(request, "limit", &query.limit) && query_number(request, "before", &query.before) &&
        query_number(request, "each", &query.each) && request_query(request, "earlier", &earlier) &&
        ((earlier && !strcmp(earlier, "1")) || leave_out_earlier(request, &query))) {
        query.follow = follow && !strcmp(follow, "1") && !query.before;
        events_stream(request->daemon, request->stream, &query);
        return;
    }
    free(query.project);
    free(query.kind);
    free(query.session);
}

static const char *const damages[] = {
    [DAMAGE_EDITED] = "edited", [DAMAGE_MISSING] = "missing",   [DAMAGE_REORDERED] = "reordered",
    [DAMAGE_CUT] = "cut",       [DAMAGE_REPLACED] = "replaced",
};

static void on_damage(enum journal_damage damage, int64_t seq, const char *words, void *user)
{
    json_t *line = json_pack("{s:s, s:I, s:o}", "damage", damages[damage], "seq", (json_int_t)seq, "text",
                             json_bytes(words, strlen(words)));

    require(line);
    job_line(user, line);
}

static int run_verify(struct job *job, void *params, json_t **ret_result, struct error **err)
{
    int64_t rows = 0, bad = 0;
    int rc = journal_verify(job_daemon(job)->journal, on_damage, job, &rows, &bad, err);

    (void)params;
    if (rc == 0)
        *ret_result = json_pack("{s:I, s:I}", "rows", (json_int_t)rows, "bad", (json_int_t)bad);
    return rc;
}

static const struct job_kind verify_kind = {.name = "verify", .run = run_verify};

static void verify(const struct request *request, json_t *body)
{
    struct jobs *jobs = request->daemon->jobs;
    struct job *job = job_find(jobs, "journal", &verify_kind);

    (void)body;
    job_watch(job ? job : job_submit(jobs, "journal", &verify_kind, NULL), request->stream);
}

const struct route routes_event[] = {
    {"GET", "/v1/events", list_events, false},
    {"GET", "/v1/journal/verify", verify, false},
    {0},
};
