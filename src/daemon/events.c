#include "daemon/events.h"

#include "base/alloc.h"
#include "base/log.h"
#include "daemon/show.h"
#include "wire/json.h"

#define PAGE_ROWS 200 /* read at a time, so that a long journal holds nobody up */

struct reader {
    struct reader *next, **prev;
    struct daemon *daemon;
    struct json_writer *writer;
    struct events_query query;
    int64_t left; /* rows still to send; -1: no bound */
    size_t got;   /* of this page */
    bool first;   /* the newest of each project are being sent */
    bool full;    /* the client takes no more for now */
    bool gone;
    uv_idle_t idle; /* the next page, after others had their turn */
};

struct events {
    struct daemon *daemon;
    uv_async_t appended;
    struct reader *readers;
};

static void on_append(int64_t seq, void *user)
{
    struct events *events = user;

    (void)seq;
    uv_async_send(&events->appended);
}

/* ---- one reader ---- */

static void on_idle_closed(uv_handle_t *handle)
{
    struct reader *reader = handle->data;

    free(reader->query.project);
    free(reader->query.kind);
    free(reader->query.session);
    free(reader);
}

static void finish(struct reader *reader)
{
    if (uv_is_closing((uv_handle_t *)&reader->idle))
        return;
    *reader->prev = reader->next;
    if (reader->next)
        reader->next->prev = reader->prev;
    json_writer_end(reader->writer);
    uv_close((uv_handle_t *)&reader->idle, on_idle_closed);
}

static bool on_row(const struct event *event, void *user)
{
    struct reader *reader = user;
    auto(json) json_t *line = show_event(event);

    if (!json_writer_line(reader->writer, line)) {
        reader->full = true;
        return false;
    }
    reader->query.after = event->seq;
    reader->got++;
    if (reader->left > 0)
        reader->left--;
    return reader->left != 0;
}

/* The names of all projects, NULL-ended; free_names frees. */
static char **project_names(struct daemon *daemon)
{
    size_t count = 0, kept = 0;
    autofree char(*ids)[PROJECT_ID_MAX] = projects_ids(daemon->projects, &count);
    char **names = xnewn(char *, count + 1);

    for (size_t i = 0; i < count; i++) {
        struct project *project = projects_lock(daemon->projects, ids[i]);

        if (!project)
            continue;
        names[kept++] = xstrdup(project->r.name);
        projects_unlock(daemon->projects);
    }
    return names;
}

static void free_names(char **names)
{
    for (size_t i = 0; names[i]; i++)
        free(names[i]);
    free(names);
}

/* Sends the newest of all and of each project, in one go as long as the client takes them. */
static void send_each(struct reader *reader)
{
    auto(error) struct error *err = NULL;
    char **names = project_names(reader->daemon);
    struct journal_query query = {
        .after_seq = reader->query.after,
        .limit = (size_t)reader->query.limit,
        .each = (size_t)reader->query.each,
        .each_of = (const char *const *)names,
    };

    reader->full = false;
    if (journal_select(reader->daemon->journal, &query, on_row, reader, &err) < 0) {
        auto(json) json_t *last = json_from_error(err);

        json_writer_line(reader->writer, last);
        reader->query.follow = false;
    }
    reader->first = reader->full;
    free_names(names);
}

/* Sends the next page; true when there is more at once. */
static bool send_page(struct reader *reader)
{
    auto(error) struct error *err = NULL;
    bool newest = reader->query.limit > 0 && reader->left == reader->query.limit && !reader->query.after;
    struct journal_query query = {
        .project = reader->query.project,
        .kind = reader->query.kind,
        .session = reader->query.session,
        .after_seq =
            reader->query.after < reader->query.begin ? reader->query.begin - 1 : reader->query.after,
        .before_seq = reader->query.before,
        .since_ts = reader->query.since_ns,
        .limit = newest ? (size_t)reader->query.limit : PAGE_ROWS,
        .newest = newest,
    };

    if (reader->first) {
        send_each(reader);
        return false;
    }
    reader->got = 0;
    reader->full = false;
    if (journal_select(reader->daemon->journal, &query, on_row, reader, &err) < 0) {
        auto(json) json_t *last = json_from_error(err);

        json_writer_line(reader->writer, last);
        reader->query.follow = false;
        return false;
    }
    if (newest && !reader->full)
        return false;
    return !reader->full && reader->got == PAGE_ROWS && reader->left != 0;
}

/* Goes on until all is sent that there is. A limit bounds what is there already, not what is followed. */
static void on_idle(uv_idle_t *idle)
{
    struct reader *reader = idle->data;

    if (send_page(reader))
        return;
    uv_idle_stop(idle);
    if (reader->full)
        return;
    if (reader->query.follow)
        reader->left = -1;
    else
        finish(reader);
}

static void on_drained(struct json_writer *writer, void *user)
{
    struct reader *reader = user;

    (void)writer;
    if (reader->full)
        uv_idle_start(&reader->idle, on_idle);
}

static void on_gone(struct json_writer *writer, void *user)
{
    struct reader *reader = user;

    (void)writer;
    reader->gone = true;
    finish(reader);
}

void events_stream(struct daemon *daemon, struct h2_stream *stream, const struct events_query *query)
{
    struct reader *reader = xnew(struct reader);
    struct events *events = daemon->events;

    reader->daemon = daemon;
    reader->query = *query;
    reader->first = query->limit > 0 && query->each > 0 && !query->after;
    reader->left = query->limit > 0 && !reader->first ? query->limit : -1;
    reader->next = events->readers;
    reader->prev = &events->readers;
    if (reader->next)
        reader->next->prev = &reader->next;
    events->readers = reader;
    uv_idle_init(&daemon->loop, &reader->idle);
    reader->idle.data = reader;
    reader->writer = json_writer_create(stream, on_gone, reader);
    json_writer_on_drained(reader->writer, on_drained);
    uv_idle_start(&reader->idle, on_idle);
}

/* ---- all readers ---- */

static void on_appended(uv_async_t *async)
{
    struct events *events = async->data;

    for (struct reader *reader = events->readers; reader; reader = reader->next) {
        if (reader->query.follow && !reader->full)
            uv_idle_start(&reader->idle, on_idle);
    }
}

struct events *events_create(struct daemon *daemon)
{
    struct events *events = xnew(struct events);

    events->daemon = daemon;
    require(uv_async_init(&daemon->loop, &events->appended, on_appended) == 0);
    events->appended.data = events;
    journal_on_append(daemon->journal, on_append, events);
    return events;
}

static void on_async_closed(uv_handle_t *handle)
{
    free(handle->data);
}

void events_destroy(struct events *events)
{
    if (!events)
        return;
    journal_on_append(events->daemon->journal, NULL, NULL);
    while (events->readers)
        finish(events->readers);
    uv_close((uv_handle_t *)&events->appended, on_async_closed);
}
