/* Rows of connections on their way to the journal: whatever has gathered while the last group was written is
 * the next group, so that a row waits for one commit and a thousand rows cost one. */
#include "base/alloc.h"
#include "base/log.h"
#include "base/units.h"
#include "daemon/way_internal.h"
#include "wire/json.h"

#include <pthread.h>
#include <string.h>

#define GROUP_MAX 512
#define OPEN_ROWS 5000 /* newest rows that are searched for connections left open */

struct row {
    struct row *next;
    char project[PROJECT_ID_MAX]; /* id */
    char *name, *boot, *session, *kind, *subject, *verdict, *rule, *data;
    struct event event; /* points to the strings */
    uint64_t flow;
    bool written;
};

struct way_log {
    struct daemon *daemon;
    void (*done)(const char *project, uint64_t flow, bool written, void *user);
    void *user;
    uv_async_t async;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t more;
    struct row *first, **last; /* to be written */
    struct row *ended;         /* written, in order */
    struct row **ended_last;
    bool stop;
};

static void free_row(struct row *row)
{
    free(row->name);
    free(row->boot);
    free(row->session);
    free(row->kind);
    free(row->subject);
    free(row->verdict);
    free(row->rule);
    free(row->data);
    free(row);
}

static void write_group(struct way_log *log, struct row *const *rows, size_t count)
{
    autofree struct event *events = xnewn(struct event, count);
    auto(error) struct error *err = NULL;

    for (size_t i = 0; i < count; i++)
        events[i] = rows[i]->event;
    bool written = journal_append_all(log->daemon->journal, events, count, false, NULL, &err) == 0;
    if (!written)
        log_error("connections are refused: %s", err->message);
    for (size_t i = 0; i < count; i++)
        rows[i]->written = written;
}

/* Takes up to a group off the queue; the lock is held. */
static size_t take_group(struct way_log *log, struct row *rows[GROUP_MAX])
{
    size_t count = 0;

    while (log->first && count < GROUP_MAX) {
        rows[count] = log->first;
        log->first = log->first->next;
        rows[count++]->next = NULL;
    }
    if (!log->first)
        log->last = &log->first;
    return count;
}

static void *run(void *user)
{
    struct way_log *log = user;
    struct row *rows[GROUP_MAX];
    size_t count;

    pthread_mutex_lock(&log->lock);
    while (log->first || !log->stop) {
        if (!log->first) {
            pthread_cond_wait(&log->more, &log->lock);
            continue;
        }
        count = take_group(log, rows);
        pthread_mutex_unlock(&log->lock);
        write_group(log, rows, count);
        pthread_mutex_lock(&log->lock);
        for (size_t i = 0; i < count; i++) {
            *log->ended_last = rows[i];
            log->ended_last = &rows[i]->next;
        }
        uv_async_send(&log->async);
    }
    pthread_mutex_unlock(&log->lock);
    return NULL;
}

static void on_ended(uv_async_t *async)
{
    struct way_log *log = async->data;

    pthread_mutex_lock(&log->lock);
    struct row *row = log->ended;
    log->ended = NULL;
    log->ended_last = &log->ended;
    pthread_mutex_unlock(&log->lock);
    for (struct row *next; row; row = next) {
        next = row->next;
        if (log->done)
            log->done(row->project, row->flow, row->written, log->user);
        free_row(row);
    }
}

struct way_log *way_log_create(struct daemon *daemon,
                               void (*done)(const char *project, uint64_t flow, bool written, void *user),
                               void *user)
{
    struct way_log *log = xnew(struct way_log);

    log->daemon = daemon;
    log->done = done;
    log->user = user;
    log->last = &log->first;
    log->ended_last = &log->ended;
    pthread_mutex_init(&log->lock, NULL);
    pthread_cond_init(&log->more, NULL);
    require(uv_async_init(&daemon->loop, &log->async, on_ended) == 0);
    log->async.data = log;
    require(pthread_create(&log->thread, NULL, run, log) == 0);
    return log;
}

static void on_async_closed(uv_handle_t *handle)
{
    struct way_log *log = handle->data;

    pthread_mutex_destroy(&log->lock);
    pthread_cond_destroy(&log->more);
    free(log);
}

void way_log_destroy(struct way_log *log)
{
    if (!log)
        return;
    pthread_mutex_lock(&log->lock);
    log->stop = true;
    pthread_cond_signal(&log->more);
    pthread_mutex_unlock(&log->lock);
    pthread_join(log->thread, NULL);
    log->done = NULL;
    on_ended(&log->async);
    uv_close((uv_handle_t *)&log->async, on_async_closed);
}

void way_log_add(struct way_log *log, const char *project, const struct event *event, uint64_t flow)
{
    struct row *row = xnew(struct row);
    struct project *known = projects_lock(log->daemon->projects, project);

    snprintf(row->project, sizeof(row->project), "%s", project);
    if (known) {
        row->name = xstrdup(known->r.name);
        row->boot = known->r.boot[0] ? xstrdup(known->r.boot) : NULL;
        projects_unlock(log->daemon->projects);
    }
    row->event = *event;
    row->event.project = row->name ? row->name : row->project;
    row->event.boot = row->boot;
    row->event.session = row->session = xstrdup(event->session);
    row->event.kind = row->kind = xstrdup(event->kind);
    row->event.subject = row->subject = xstrdup(event->subject);
    row->event.verdict = row->verdict = xstrdup(event->verdict);
    row->event.rule = row->rule = xstrdup(event->rule);
    row->event.data = row->data = xstrdup(event->data);
    row->event.ts = units_now_ns();
    row->flow = flow;
    pthread_mutex_lock(&log->lock);
    *log->last = row;
    log->last = &row->next;
    pthread_cond_signal(&log->more);
    pthread_mutex_unlock(&log->lock);
}

/* ---- connections that the hutchd before left open ---- */

struct left {
    json_t *open; /* conn -> [project, subject] */
};

static bool on_start_row(const struct event *event, void *user)
{
    *(int64_t *)user = event->seq;
    return true;
}

static bool on_egress_row(const struct event *event, void *user)
{
    struct left *left = user;
    auto(json) json_t *data = event->data ? json_parse(event->data, strlen(event->data), NULL) : NULL;
    const char *conn = json_string_value(json_object_get(data, "conn"));

    if (conn && !strcmp(event->kind, "egress.open"))
        json_object_set_new(
            left->open, conn,
            json_pack("[s, s]", event->project ? event->project : "", event->subject ? event->subject : ""));
    else if (conn && !strcmp(event->kind, "egress.close"))
        json_object_del(left->open, conn);
    return true;
}

void way_report_left(struct daemon *daemon)
{
    struct left left = {json_object()};
    int64_t start = 0;
    const struct journal_query begun = {.kind = "daemon.start", .limit = 1, .newest = true};
    const char *conn;
    json_t *row;

    journal_select(daemon->journal, &begun, on_start_row, &start, NULL);
    const struct journal_query rows = {
        .kind = "egress", .after_seq = start, .limit = OPEN_ROWS, .newest = true};
    journal_select(daemon->journal, &rows, on_egress_row, &left, NULL);
    json_object_foreach(left.open, conn, row)
    {
        autofree char *text =
            xasprintf("the connection to %s was open when hutchd ended: its end is not known",
                      json_string_value(json_array_get(row, 1)));

        daemon_noted(daemon, json_string_value(json_array_get(row, 0)), "finding.egress", text);
    }
    json_decref(left.open);
}
