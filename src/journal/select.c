#include "journal/store.h"

#include "base/alloc.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* The text of the query; each parameter is there only when it is asked for, so that the indexes are used. */
static char *query_text(const struct journal_query *query)
{
    struct buf sql;
    buf_init(&sql, 0);
    buf_printf(&sql, NULL, "SELECT " EVENT_COLUMNS " FROM event WHERE seq > :after");
    if (query->before_seq)
        buf_printf(&sql, NULL, " AND seq < :before");
    if (query->project)
        buf_printf(&sql, NULL, " AND project = :project");
    /* '/' follows '.': all names that begin with the kind and a point. */
    if (query->not_project)
        buf_printf(&sql, NULL, " AND project <> :not_project");
    if (query->kind && query->subject &&
        !strcmp(query->kind, STORE_SITE_KIND)) /* literally: a partial index */
        buf_printf(&sql, NULL, " AND kind = '" STORE_SITE_KIND "'");
    else if (query->kind)
        buf_printf(&sql, NULL, " AND (kind = :kind OR (kind > :kind || '.' AND kind < :kind || '/'))");
    if (query->session)
        buf_printf(&sql, NULL, " AND session = :session");
    if (query->subject)
        buf_printf(&sql, NULL, " AND subject = :subject");
    if (query->since_ts)
        buf_printf(&sql, NULL, " AND ts >= :since");
    buf_printf(&sql, NULL, " ORDER BY seq%s", query->newest && query->limit ? " DESC" : "");
    if (query->limit)
        buf_printf(&sql, NULL, " LIMIT :limit");
    autofree char *text = buf_take_string(&sql);
    if (query->newest && query->limit)
        return xasprintf("SELECT * FROM (%s) ORDER BY seq", text);
    return steal(&text);
}

/* The query for the newest rows of all and of each of some projects: by their numbers, each found by index.
 */
static char *each_text(const struct journal_query *query)
{
    struct buf sql;
    buf_init(&sql, 0);
    buf_printf(&sql, NULL,
               "SELECT " EVENT_COLUMNS " FROM event WHERE seq > :after AND seq IN (SELECT seq FROM "
               "(SELECT seq FROM event ORDER BY seq DESC LIMIT :limit)");
    for (size_t i = 0; query->each_of && query->each_of[i] && i < JOURNAL_EACH_MAX; i++)
        buf_printf(
            &sql, NULL,
            " UNION ALL SELECT seq FROM (SELECT seq FROM event WHERE project = :name%zu ORDER BY seq DESC "
            "LIMIT :each)",
            i);
    buf_printf(&sql, NULL, ") ORDER BY seq");
    return buf_take_string(&sql);
}

static void bind_text(sqlite3_stmt *stmt, const char *name, const char *value)
{
    int index = sqlite3_bind_parameter_index(stmt, name);
    if (index)
        sqlite3_bind_text(stmt, index, value, -1, SQLITE_TRANSIENT);
}

static void bind_number(sqlite3_stmt *stmt, const char *name, int64_t value)
{
    int index = sqlite3_bind_parameter_index(stmt, name);
    if (index)
        sqlite3_bind_int64(stmt, index, value);
}

static const char *text_at(sqlite3_stmt *row, int column)
{
    return (const char *)sqlite3_column_text(row, column);
}

/* The present row as an event; its strings belong to the statement. */
static struct event event_of(sqlite3_stmt *row)
{
    struct event event = {
        .seq = sqlite3_column_int64(row, COLUMN_SEQ),
        .ts = sqlite3_column_int64(row, COLUMN_TS),
        .bytes_up = sqlite3_column_int64(row, COLUMN_NUMBERS),
        .bytes_down = sqlite3_column_int64(row, COLUMN_NUMBERS + 1),
        .ms = sqlite3_column_int64(row, COLUMN_NUMBERS + 2),
        .exit = sqlite3_column_int64(row, COLUMN_NUMBERS + 3),
        .data = text_at(row, COLUMN_DATA),
        .prev = text_at(row, COLUMN_PREV),
        .hash = text_at(row, COLUMN_HASH),
    };
    const char **texts[RECORD_TEXTS] = {&event.project, &event.boot,    &event.session, &event.kind,
                                        &event.actor,   &event.subject, &event.verdict, &event.rule};
    for (int i = 0; i < RECORD_TEXTS; i++)
        *texts[i] = text_at(row, COLUMN_TEXTS + i);
    return event;
}

static int run_query(struct journal *journal, const struct journal_query *query,
                     bool (*fn)(const struct event *event, void *user), void *user, struct error **err)
{
    autofree char *sql = query->each ? each_text(query) : query_text(query);
    auto(stmt) sqlite3_stmt *stmt = NULL;
    if (sqlite3_prepare_v2(journal->reader, sql, -1, &stmt, NULL) != SQLITE_OK)
        return store_fail(journal->reader, journal->path, err);
    bind_number(stmt, ":after", query->after_seq);
    bind_number(stmt, ":before", query->before_seq);
    bind_text(stmt, ":project", query->project);
    bind_text(stmt, ":not_project", query->not_project);
    bind_text(stmt, ":kind", query->kind);
    bind_text(stmt, ":session", query->session);
    bind_text(stmt, ":subject", query->subject);
    bind_number(stmt, ":since", query->since_ts);
    bind_number(stmt, ":limit", query->limit > INT64_MAX ? INT64_MAX : (int64_t)query->limit);
    bind_number(stmt, ":each", query->each > INT64_MAX ? INT64_MAX : (int64_t)query->each);
    for (size_t i = 0; query->each && query->each_of && query->each_of[i] && i < JOURNAL_EACH_MAX; i++) {
        char name[32];
        snprintf(name, sizeof(name), ":name%zu", i);
        bind_text(stmt, name, query->each_of[i]);
    }
    int step;
    while ((step = sqlite3_step(stmt)) == SQLITE_ROW) {
        struct event event = event_of(stmt);
        if (!fn(&event, user))
            return 0;
    }
    return step == SQLITE_DONE ? 0 : store_fail(journal->reader, journal->path, err);
}

int journal_select(struct journal *journal, const struct journal_query *query,
                   bool (*fn)(const struct event *event, void *user), void *user, struct error **err)
{
    pthread_mutex_lock(&journal->read_lock);
    int rc = run_query(journal, query, fn, user, err);
    pthread_mutex_unlock(&journal->read_lock);
    return rc;
}
