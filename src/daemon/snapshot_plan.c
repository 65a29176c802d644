/* What going back would do: from the record and the journal, without looking into the disks. */
#include "base/alloc.h"
#include "daemon/snapshot.h"
#include "wire/json.h"

#include <string.h>

#define SESSIONS_SHOWN 20
#define OUTSIDE_SHOWN  20
#define ROWS_MAX       20000 /* of the journal that are counted */

static void set(json_t *json, const char *key, json_t *value)
{
    require(json_object_set_new(json, key, value) == 0);
}

/* ---- what ends ---- */

struct sessions {
    json_t *list;
    size_t count;
};

static void add_session(const struct session_row *row, void *user)
{
    struct sessions *sessions = user;

    if (sessions->count++ < SESSIONS_SHOWN)
        json_array_append_new(sessions->list, json_pack("{s:s, s:o, s:I}", "id", row->id, "command",
                                                        json_bytes(row->subject, strlen(row->subject)),
                                                        "started_ns", (json_int_t)row->started_ns));
}

/* ---- what was done since ---- */

/* What went out of the machine stays out. */
static const char *const outside[] = {"git.land", "egress.request"};

struct since {
    size_t commands, connections, rows;
    json_t *outside;
    size_t outside_count;
};

static bool add_event(const struct event *event, void *user)
{
    struct since *since = user;

    since->rows++;
    since->commands += !strcmp(event->kind, "exec.start");
    since->connections += !strcmp(event->kind, "egress.open");
    for (size_t i = 0; i < countof(outside); i++) {
        if (strcmp(event->kind, outside[i]) || since->outside_count++ >= OUTSIDE_SHOWN)
            continue;
        const char *subject = event->subject ? event->subject : "";
        json_array_append_new(since->outside, json_pack("{s:s, s:o, s:I}", "kind", event->kind, "subject",
                                                        json_bytes(subject, strlen(subject)), "ts_ns",
                                                        (json_int_t)event->ts));
    }
    return true;
}

/* ---- the plan ---- */

struct later {
    json_t *list;
    int64_t number;
};

static void add_later(const struct snapshot_row *row, void *user)
{
    struct later *later = user;

    if (row->number > later->number)
        json_array_append_new(later->list, snapshot_address(row->number));
}

json_t *snapshot_plan(struct daemon *daemon, const struct record *record, const struct snapshot_row *row,
                      struct error **err)
{
    struct journal_query query = {
        .project = record->id, .since_ts = row->created_ns, .limit = ROWS_MAX, .newest = true};
    struct sessions sessions = {.list = json_array()};
    struct since since = {.outside = json_array()};
    struct later later = {.list = json_array(), .number = row->number};
    json_t *plan = snapshot_json(daemon, record, row);
    bool running = false;
    int rc = journal_select(daemon->journal, &query, add_event, &since, err);

    struct project *project = projects_lock(daemon->projects, record->id);
    if (project) {
        running = project_alive(project);
        projects_unlock(daemon->projects);
    }
    if (rc == 0 && running)
        rc = state_session_each(daemon->state, record->id, add_session, &sessions, err);
    if (rc == 0)
        rc = state_snapshots_each(daemon->state, record->id, add_later, &later, err);
    set(plan, "running", json_boolean(running));
    set(plan, "sessions", sessions.list);
    set(plan, "session_count", json_integer((json_int_t)sessions.count));
    set(plan, "commands", json_integer((json_int_t)since.commands));
    set(plan, "connections", json_integer((json_int_t)since.connections));
    set(plan, "counted_all", json_boolean(since.rows < ROWS_MAX));
    set(plan, "outside", since.outside);
    set(plan, "outside_count", json_integer((json_int_t)since.outside_count));
    set(plan, "later", later.list);
    if (rc == 0)
        return plan;
    json_decref(plan);
    return NULL;
}
