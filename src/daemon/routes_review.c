/* Routes of the review: what came out of a machine is read on a job's thread, whole and within the limits of
 * review.h, and then sent line by line as the client takes it. */
#include "base/alloc.h"
#include "base/units.h"
#include "daemon/land.h"
#include "daemon/server.h"
#include "review/review.h"
#include "wire/json.h"

#include <string.h>

#define LOG_DEFAULT 500

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
    bool with_lines;
    size_t max;
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
    struct review_ask ask = {.tip = tip, .path = params->path, .lines = params->with_lines};
    if (rc == 0)
        rc = review_diff(quarantine, &ask, ret_lines, err);
    if (rc == 0)
        name_it(json_array_get(*ret_lines, 0), name, ref, tip);
    return rc;
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

static void commits(const struct request *request, json_t *body)
{
    auto(error) struct error *err = NULL;
    autofree char *max = NULL;
    uint64_t number = LOG_DEFAULT;
    struct read_params *params = begin(request);

    if (!params)
        return;
    if (!request_query(request, "max", &max)) {
        free_read_params(params);
        return;
    }
    if (max && units_parse_number(max, 1, REVIEW_LOG_MAX, &number, &err) < 0) {
        free_read_params(params);
        request_fail(request, err);
        return;
    }
    params->read = read_log;
    params->max = (size_t)number;
    read_for(request, params);
}

static void comparison(const struct request *request, json_t *body)
{
    autofree char *lines = NULL;
    struct read_params *params = begin(request);

    if (!params)
        return;
    if (!request_query(request, "path", &params->path) || !request_query(request, "lines", &lines)) {
        free_read_params(params);
        return;
    }
    params->read = read_diff;
    params->with_lines = lines && !strcmp(lines, "1");
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
    {"POST", "/v1/projects/?/git/land", land, true},
    {0},
};
