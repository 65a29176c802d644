/* Routes of the review: what came out of a machine is read on a job's thread, whole and within the limits of
 * review.h, and then sent line by line as the client takes it. */
#include "base/alloc.h"
#include "base/units.h"
#include "daemon/land.h"
#include "daemon/server.h"
#include "repo/quarantine.h"
#include "review/persistence.h"
#include "review/review.h"
#include "wire/json.h"

#include <string.h>

#define LOG_DEFAULT 500
#define FILES_MAX   10000000 /* of a number of the query: more than any comparison has */

struct reading {
    struct daemon *daemon;
    struct h2_stream *stream; /* NULL: the client went away */
    struct json_writer *writer;
    json_t *lines;
    size_t next;
};

/* What is to be read; strings are owned. */
struct read_params {
    char id[PROJECT_ID_MAX];
    char *repo, *branch, *path;
    bool with_lines, alone;
    size_t from, max, bytes;
    int (*read)(struct read_params *params, const char *quarantine, json_t **ret_lines, struct error **err);
};

static void free_read_params(void *user)
{
    struct read_params *params = user;
    free(params->repo);
    free(params->branch);
    free(params->path);
    free(params);
}

/* ---- on the job's thread ---- */

static int read_branches(struct read_params *params, const char *quarantine, json_t **ret_lines,
                         struct error **err)
{
    return review_branches(quarantine, ret_lines, err);
}

/* Adds to the first line what the name that was given means. */
static void name_it(json_t *first, const char *name, const char *ref, const char *tip)
{
    json_object_set_new(first, "name", json_bytes(name, strlen(name)));
    json_object_set_new(first, "ref", json_bytes(ref, strlen(ref)));
    json_object_set_new(first, "tip", json_string(tip));
}

static int read_log(struct read_params *params, const char *quarantine, json_t **ret_lines,
                    struct error **err)
{
    autofree char *name = NULL;
    autofree char *ref = NULL;
    char tip[REVIEW_HEX_SIZE];
    auto(json) json_t *log = NULL;

    int rc = review_find(quarantine, params->branch, &name, &ref, tip, err);
    if (rc == 0)
        rc = review_log(quarantine, tip, params->max, &log, err);
    if (rc < 0)
        return rc;
    json_t *lines = json_incref(json_object_get(log, "commits"));
    json_object_del(log, "commits");
    name_it(log, name, ref, tip);
    json_array_insert(lines, 0, log);
    *ret_lines = lines;
    return 0;
}

static int read_diff(struct read_params *params, const char *quarantine, json_t **ret_lines,
                     struct error **err)
{
    autofree char *name = NULL;
    autofree char *ref = NULL;
    char tip[REVIEW_HEX_SIZE];

    int rc = review_find(quarantine, params->branch, &name, &ref, tip, err);
    struct review_ask ask = {.tip = tip,
                             .path = params->path,
                             .lines = params->with_lines,
                             .alone = params->alone,
                             .from = params->from,
                             .max = params->max,
                             .bytes = params->bytes};
    if (rc == 0)
        rc = review_diff(quarantine, &ask, ret_lines, err);
    if (rc == 0)
        name_it(json_array_get(*ret_lines, 0), name, ref, tip);
    return rc;
}

/* What was there before a request; NULL: nothing, or it is none. Caller frees. */
static char *base_of(const char *quarantine, const char *ref)
{
    autofree char *name = strncmp(ref, "refs/pushes/", 12) == 0 ? xasprintf("%s-base", ref) : NULL;
    struct quarantine_ref *refs = NULL;
    char *base = NULL;
    size_t count = 0;

    if (name && quarantine_refs(quarantine, name, &refs, &count, NULL) == 0 && count == 1)
        base = xstrdup(refs[0].commit);
    quarantine_free_refs(refs, count);
    return base;
}

/* What landing it would bring, in numbers, and what of it would run. */
static int read_summary(struct read_params *params, const char *quarantine, json_t **ret_lines,
                        struct error **err)
{
    autofree char *name = NULL;
    autofree char *ref = NULL;
    autofree char *base = NULL;
    json_t *summary = NULL;
    char tip[REVIEW_HEX_SIZE];

    int rc = review_find(quarantine, params->branch, &name, &ref, tip, err);
    if (rc == 0) {
        base = base_of(quarantine, ref);
        rc = review_summary(quarantine, base, tip, &summary, err);
    }
    if (rc < 0)
        return rc;
    json_object_set_new(summary, "old", base ? json_string(base) : json_null());
    name_it(summary, name, ref, tip);
    *ret_lines = json_pack("[o]", summary);
    return 0;
}

static int run_read(struct job *job, void *user, json_t **ret_result, struct error **err)
{
    struct read_params *params = user;
    autofree char *quarantine = NULL;
    autofree char *repo = NULL;

    int rc = land_find_quarantine(job_daemon(job), params->id, params->repo, &quarantine, &repo, err);
    return rc < 0 ? rc : params->read(params, quarantine, ret_result, err);
}

static const struct job_kind read_kind = {
    .name = "review", .run = run_read, .free_params = free_read_params, .quiet = true};

/* ---- on the loop ---- */

static void finish(struct reading *reading)
{
    if (reading->writer)
        json_writer_end(reading->writer);
    json_decref(reading->lines);
    free(reading);
}

static void send_lines(struct json_writer *writer, void *user)
{
    struct reading *reading = user;

    while (reading->next < json_array_size(reading->lines)) {
        if (!json_writer_line(writer, json_array_get(reading->lines, reading->next)))
            return;
        reading->next++;
    }
    finish(reading);
}

static void on_writer_gone(struct json_writer *writer, void *user)
{
    finish(user);
}

static void on_read(const json_t *result, const struct error *err, void *user)
{
    struct reading *reading = user;
    struct h2_stream *stream = steal(&reading->stream);

    if (!stream) {
        finish(reading);
        return;
    }
    h2_stream_set_ops(stream, NULL, NULL);
    if (err) {
        json_reply_error(stream, err);
        finish(reading);
        return;
    }
    reading->lines = json_incref((json_t *)(uintptr_t)result);
    reading->writer = json_writer_create(stream, on_writer_gone, reading);
    json_writer_on_drained(reading->writer, send_lines);
    send_lines(reading->writer, reading);
}

static void on_stream_gone(struct h2_stream *stream, uint32_t code, void *user)
{
    ((struct reading *)user)->stream = NULL;
}

/* Queues the reading; owns params. */
static void read_for(const struct request *request, struct read_params *params)
{
    static const struct h2_stream_ops ops = {.on_close = on_stream_gone};
    struct reading *reading = xnew(struct reading);
    autofree char *lane = xasprintf("review:%s", params->id);

    reading->daemon = request->daemon;
    reading->stream = request->stream;
    h2_stream_set_ops(request->stream, &ops, reading);
    job_on_end(job_submit(request->daemon->jobs, lane, &read_kind, params), on_read, reading);
}

/* The project and what the query says of the place. NULL: the client has been told. */
static struct read_params *begin(const struct request *request)
{
    struct read_params *params = xnew(struct read_params);

    if (request_project(request, params->id) && request_query(request, "repo", &params->repo) &&
        request_query(request, "branch", &params->branch))
        return params;
    free_read_params(params);
    return NULL;
}

static void branches(const struct request *request, json_t *body)
{
    struct read_params *params = begin(request);

    if (!params)
        return;
    params->read = read_branches;
    read_for(request, params);
}

/* A number of the query, *ret as it is if it is absent; false: the client has been told. */
static bool number_of(const struct request *request, const char *key, uint64_t least, uint64_t most,
                      size_t *ret)
{
    auto(error) struct error *err = NULL;
    autofree char *word = NULL;
    uint64_t number = *ret;

    if (!request_query(request, key, &word))
        return false;
    if (word && units_parse_number(word, least, most, &number, &err) < 0) {
        request_fail(request, err);
        return false;
    }
    *ret = (size_t)number;
    return true;
}

/* Whether the query has a "1" for a key; false: the client has been told. */
static bool flag_of(const struct request *request, const char *key, bool *ret)
{
    autofree char *word = NULL;

    if (!request_query(request, key, &word))
        return false;
    *ret = word && !strcmp(word, "1");
    return true;
}

static void commits(const struct request *request, json_t *body)
{
    struct read_params *params = begin(request);

    if (!params)
        return;
    params->max = LOG_DEFAULT;
    if (!number_of(request, "max", 1, REVIEW_LOG_MAX, &params->max)) {
        free_read_params(params);
        return;
    }
    params->read = read_log;
    read_for(request, params);
}

static void comparison(const struct request *request, json_t *body)
{
    struct read_params *params = begin(request);

    if (!params)
        return;
    if (!request_query(request, "path", &params->path) || !flag_of(request, "lines", &params->with_lines) ||
        !flag_of(request, "alone", &params->alone) ||
        !number_of(request, "from", 0, FILES_MAX, &params->from) ||
        !number_of(request, "max", 1, FILES_MAX, &params->max) ||
        !number_of(request, "bytes", 1, REVIEW_DIFF_MAX, &params->bytes)) {
        free_read_params(params);
        return;
    }
    params->read = read_diff;
    read_for(request, params);
}

static void summary(const struct request *request, json_t *body)
{
    struct read_params *params = begin(request);

    if (!params)
        return;
    params->read = read_summary;
    read_for(request, params);
}

static void land(const struct request *request, json_t *body)
{
    auto(error) struct error *err = NULL;
    struct land_params *params;
    char id[PROJECT_ID_MAX];

    if (!request_project(request, id))
        return;
    params = land_params_parse(id, body, &err);
    if (!params) {
        request_fail(request, err);
        return;
    }
    autofree char *lane = xasprintf("land:%s", id);
    job_watch(job_submit(request->daemon->jobs, lane, &land_kind, params), request->stream);
}

const struct route routes_review[] = {
    {"GET", "/v1/projects/?/git/branches", branches, false},
    {"GET", "/v1/projects/?/git/log", commits, false},
    {"GET", "/v1/projects/?/git/diff", comparison, false},
    {"GET", "/v1/projects/?/git/summary", summary, false},
    {"POST", "/v1/projects/?/git/land", land, true},
    {0},
};
