/* Routes of snapshots: list, take, show, note. */
#include "base/alloc.h"
#include "base/text.h"
#include "daemon/server.h"
#include "daemon/snapshot.h"
#include "wire/json.h"

#include <string.h>

/* The project's record and, by args[1], a number; false: the client has been told. record_finish frees. */
static bool begin(const struct request *request, struct record *ret_record, int64_t *ret_number)
{
    auto(error) struct error *err = NULL;
    char id[PROJECT_ID_MAX];

    if (!request_project(request, id))
        return false;
    if (ret_number && snapshot_number(request->args[1], ret_number, &err) < 0) {
        request_fail(request, err);
        return false;
    }
    if (projects_record(request->daemon->projects, id, ret_record))
        return true;
    error_set(&err, ERROR_NOT_FOUND, "the project was removed meanwhile");
    request_fail(request, err);
    return false;
}

struct list {
    const struct daemon *daemon;
    const struct record *record;
    json_t *rows;
};

static void add_row(const struct snapshot_row *row, void *user)
{
    struct list *list = user;

    json_array_append_new(list->rows, snapshot_json(list->daemon, list->record, row));
}

static void list_snapshots(const struct request *request, json_t *body)
{
    auto(error) struct error *err = NULL;
    auto(json) json_t *rows = json_array();
    struct record record;
    const json_t *row;
    size_t i;

    (void)body;
    if (!begin(request, &record, NULL))
        return;
    struct list list = {request->daemon, &record, rows};
    int rc = state_snapshots_each(request->daemon->state, record.id, add_row, &list, &err);
    record_finish(&record);
    if (rc < 0) {
        request_fail(request, err);
        return;
    }
    struct json_writer *writer = json_writer_create(request->stream, NULL, NULL);
    json_array_foreach(rows, i, row) json_writer_line(writer, row);
    json_writer_end(writer);
}

static void take_snapshot(const struct request *request, json_t *body)
{
    auto(error) struct error *err = NULL;
    char id[PROJECT_ID_MAX];

    if (!request_project(request, id))
        return;
    struct snapshot_params *params = snapshot_params_parse(body, &err);
    if (!params) {
        request_fail(request, err);
        return;
    }
    job_watch(job_submit(request->daemon->jobs, id, &snapshot_kind, params), request->stream);
}

/* Answers with one snapshot. */
static void answer(const struct request *request, const struct record *record, int64_t number)
{
    auto(error) struct error *err = NULL;
    struct snapshot_row row;

    if (state_snapshot_load(request->daemon->state, record->id, number, false, &row, &err) < 0) {
        error_hint(&err, "`hutch snapshots %s` lists them", record->name);
        request_fail(request, err);
        return;
    }
    auto(json) json_t *json = snapshot_json(request->daemon, record, &row);
    snapshot_row_finish(&row);
    json_reply(request->stream, 200, json);
}

static void show_snapshot(const struct request *request, json_t *body)
{
    struct record record;
    int64_t number;

    (void)body;
    if (!begin(request, &record, &number))
        return;
    answer(request, &record, number);
    record_finish(&record);
}

static void note_snapshot(const struct request *request, json_t *body)
{
    auto(error) struct error *err = NULL;
    const char *note = NULL;
    struct record record;
    int64_t number;

    if (!begin(request, &record, &number))
        return;
    int rc = json_get_string(body, "note", SNAPSHOT_NOTE_MAX, &note, &err);
    if (rc == 0) {
        autofree char *safe = text_safe(note);

        rc = state_snapshot_note(request->daemon->state, record.id, number, safe, &err);
    }
    if (rc < 0)
        request_fail(request, err);
    else
        answer(request, &record, number);
    record_finish(&record);
}

static void remove_snapshot(const struct request *request, json_t *body)
{
    auto(error) struct error *err = NULL;
    autofree char *discard = NULL;
    char id[PROJECT_ID_MAX];
    int64_t number;

    (void)body;
    if (!request_project(request, id) || !request_query(request, "discard_work", &discard))
        return;
    if (snapshot_number(request->args[1], &number, &err) < 0) {
        request_fail(request, err);
        return;
    }
    struct snaprm_params *params = xnew(struct snaprm_params);
    *params = (struct snaprm_params){.number = number, .discard_work = discard && !strcmp(discard, "1")};
    job_watch(job_submit(request->daemon->jobs, id, &snaprm_kind, params), request->stream);
}

static void show_plan(const struct request *request, json_t *body)
{
    auto(error) struct error *err = NULL;
    auto(json) json_t *plan = NULL;
    struct snapshot_row row;
    struct record record;
    int64_t number;

    (void)body;
    if (!begin(request, &record, &number))
        return;
    if (state_snapshot_load(request->daemon->state, record.id, number, false, &row, &err) == 0) {
        plan = snapshot_plan(request->daemon, &record, &row, &err);
        snapshot_row_finish(&row);
    }
    record_finish(&record);
    if (plan)
        json_reply(request->stream, 200, plan);
    else
        request_fail(request, err);
}

static void restore_snapshot(const struct request *request, json_t *body)
{
    struct restore_params params = {0};
    auto(error) struct error *err = NULL;
    const char *snap = NULL;
    char id[PROJECT_ID_MAX];

    if (!request_project(request, id))
        return;
    int rc = json_get_string(body, "snap", 32, &snap, &err);
    if (rc == 0)
        rc = json_opt_bool(body, "discard", &params.discard, &err);
    if (rc == 0)
        rc = snapshot_number(snap, &params.number, &err);
    if (rc < 0) {
        request_fail(request, err);
        return;
    }
    struct restore_params *own = xnew(struct restore_params);
    *own = params;
    job_watch(job_submit(request->daemon->jobs, id, &restore_kind, own), request->stream);
}

const struct route routes_snapshot[] = {
    {"GET", "/v1/projects/?/snapshots", list_snapshots, false},
    {"POST", "/v1/projects/?/snapshots", take_snapshot, true},
    {"GET", "/v1/projects/?/snapshots/?", show_snapshot, false},
    {"DELETE", "/v1/projects/?/snapshots/?", remove_snapshot, false},
    {"POST", "/v1/projects/?/snapshots/?/note", note_snapshot, true},
    {"GET", "/v1/projects/?/snapshots/?/plan", show_plan, false},
    {"POST", "/v1/projects/?/restore", restore_snapshot, true},
    {0},
};
