#include "daemon/state_requests.h"

#include "base/alloc.h"
#include "daemon/state_store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void bind_text(sqlite3_stmt *stmt, int column, const char *text)
{
    sqlite3_bind_text(stmt, column, text ? text : "", -1, SQLITE_STATIC);
}

static char *column_text(sqlite3_stmt *stmt, int column)
{
    const char *text = (const char *)sqlite3_column_text(stmt, column);
    return xstrdup(text ? text : "");
}

static void column_field(sqlite3_stmt *stmt, int column, char *to, size_t size)
{
    const char *text = (const char *)sqlite3_column_text(stmt, column);
    snprintf(to, size, "%s", text ? text : "");
}

/* ---- requests ---- */

#define REQUEST_COLUMNS                                                                                      \
    "id, project, boot, session, verb, key, subject, fields, owner, generation, tier, scopes, state, "       \
    "asked_ms, changed_ms, attempts, digest, scope, duration_s, reason, by_whom, batch"

static void bind_request(sqlite3_stmt *stmt, const struct approval_request *r)
{
    const char *texts[] = {r->project, r->boot, r->session, r->verb, r->key, r->subject, r->fields, r->owner};

    if (r->id)
        sqlite3_bind_int64(stmt, 1, r->id);
    for (size_t i = 0; i < countof(texts); i++)
        bind_text(stmt, (int)i + 2, texts[i]);
    sqlite3_bind_int64(stmt, 10, r->generation);
    bind_text(stmt, 11, approval_tier_name(r->tier));
    sqlite3_bind_int64(stmt, 12, r->scopes);
    bind_text(stmt, 13, approval_state_name(r->state));
    sqlite3_bind_int64(stmt, 14, r->asked_ms);
    sqlite3_bind_int64(stmt, 15, r->changed_ms);
    sqlite3_bind_int64(stmt, 16, r->attempts);
    bind_text(stmt, 17, r->digest);
    bind_text(stmt, 18, approval_scope_name(r->scope));
    sqlite3_bind_int64(stmt, 19, r->duration_s);
    bind_text(stmt, 20, r->reason);
    bind_text(stmt, 21, r->by);
    sqlite3_bind_int64(stmt, 22, r->batch);
}

int state_request_save(struct state *state, struct approval_request *request, struct error **err)
{
    int rc = -ERROR_IO;

    pthread_mutex_lock(&state->lock);
    sqlite3_stmt *stmt = state_prepare(
        state,
        "INSERT INTO requests (" REQUEST_COLUMNS ") VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)"
        " ON CONFLICT (id) DO UPDATE SET boot=excluded.boot, session=excluded.session,"
        " subject=excluded.subject, fields=excluded.fields, generation=excluded.generation,"
        " tier=excluded.tier, scopes=excluded.scopes, state=excluded.state, changed_ms=excluded.changed_ms,"
        " attempts=excluded.attempts, digest=excluded.digest, scope=excluded.scope,"
        " duration_s=excluded.duration_s, reason=excluded.reason, by_whom=excluded.by_whom",
        err);
    if (stmt) {
        bind_request(stmt, request);
        rc = state_finish_stmt(state, stmt, err);
        if (!rc && !request->id)
            request->id = sqlite3_last_insert_rowid(state->db);
    }
    pthread_mutex_unlock(&state->lock);
    return rc;
}

/* Words that this hutch does not know make the strictest of it: a critical question that allows nothing. */
static void read_request(sqlite3_stmt *stmt, struct approval_request *r)
{
    char **texts[] = {&r->project, &r->boot,    &r->session, &r->verb,
                      &r->key,     &r->subject, &r->fields,  &r->owner};
    char word[16];
    int n;

    *r = (struct approval_request){.id = sqlite3_column_int64(stmt, 0)};
    for (size_t i = 0; i < countof(texts); i++)
        *texts[i] = column_text(stmt, (int)i + 1);
    r->generation = sqlite3_column_int64(stmt, 9);
    column_field(stmt, 10, word, sizeof(word));
    n = approval_tier_read(word);
    r->tier = n < 0 ? APPROVAL_CRITICAL : (enum approval_tier)n;
    r->scopes = n < 0 ? 0 : (unsigned)sqlite3_column_int64(stmt, 11);
    column_field(stmt, 12, word, sizeof(word));
    n = approval_state_read(word);
    r->state = n < 0 ? APPROVAL_GONE : (enum approval_state)n;
    r->asked_ms = sqlite3_column_int64(stmt, 13);
    r->changed_ms = sqlite3_column_int64(stmt, 14);
    r->attempts = (uint32_t)sqlite3_column_int64(stmt, 15);
    column_field(stmt, 16, r->digest, sizeof(r->digest));
    column_field(stmt, 17, word, sizeof(word));
    n = approval_scope_read(word);
    r->scope = n < 0 ? APPROVAL_ONCE : (enum approval_scope)n;
    r->duration_s = sqlite3_column_int64(stmt, 18);
    r->reason = column_text(stmt, 19);
    r->by = column_text(stmt, 20);
    r->batch = sqlite3_column_int64(stmt, 21);
}

void state_request_finish(struct approval_request *r)
{
    char **texts[] = {&r->project, &r->boot,   &r->session, &r->verb,   &r->key,
                      &r->subject, &r->fields, &r->owner,   &r->reason, &r->by};

    for (size_t i = 0; i < countof(texts); i++) {
        free(*texts[i]);
        *texts[i] = NULL;
    }
}

/* Gives fn each row of a statement, and ends it; NULL: it could not be made. The lock is held, and left. */
static int each_row(struct state *state, sqlite3_stmt *stmt,
                    void (*fn)(const struct approval_request *request, void *user), void *user,
                    struct error **err)
{
    struct approval_request *rows = NULL;
    size_t count = 0;
    int rc = SQLITE_DONE, code = -ERROR_IO;

    if (stmt) {
        while ((rc = sqlite3_step(stmt)) == SQLITE_ROW) {
            rows = xrealloc(rows, count + 1, sizeof(*rows));
            read_request(stmt, &rows[count++]);
        }
        code = rc == SQLITE_DONE ? 0 : state_fail(state, err);
        sqlite3_finalize(stmt);
    }
    pthread_mutex_unlock(&state->lock);
    /* fn may save: not under the lock */
    for (size_t i = 0; i < count; i++) {
        if (!code)
            fn(&rows[i], user);
        state_request_finish(&rows[i]);
    }
    free(rows);
    return code;
}

int state_requests_open(struct state *state, void (*fn)(const struct approval_request *request, void *user),
                        void *user, struct error **err)
{
    pthread_mutex_lock(&state->lock);
    return each_row(state,
                    state_prepare(state,
                                  "SELECT " REQUEST_COLUMNS " FROM requests WHERE state IN "
                                  "('held', 'frozen', 'waiting') ORDER BY id",
                                  err),
                    fn, user, err);
}

int state_requests_denied(struct state *state, const char *project, const char *verb, int64_t since_ms,
                          size_t max, void (*fn)(const struct approval_request *request, void *user),
                          void *user, struct error **err)
{
    pthread_mutex_lock(&state->lock);
    sqlite3_stmt *stmt =
        state_prepare(state,
                      "SELECT " REQUEST_COLUMNS " FROM requests WHERE project = ? AND verb = ? "
                      "AND state = 'denied' AND changed_ms > ? ORDER BY id DESC LIMIT ?",
                      err);
    if (stmt) {
        sqlite3_bind_text(stmt, 1, project, -1, SQLITE_STATIC);
        sqlite3_bind_text(stmt, 2, verb, -1, SQLITE_STATIC);
        sqlite3_bind_int64(stmt, 3, since_ms);
        sqlite3_bind_int64(stmt, 4, (sqlite3_int64)max);
    }
    return each_row(state, stmt, fn, user, err);
}

int state_request_load(struct state *state, int64_t id, struct approval_request *ret_request,
                       struct error **err)
{
    int code = -ERROR_IO;

    pthread_mutex_lock(&state->lock);
    sqlite3_stmt *stmt = state_prepare(state, "SELECT " REQUEST_COLUMNS " FROM requests WHERE id = ?", err);
    if (stmt) {
        sqlite3_bind_int64(stmt, 1, id);
        int rc = sqlite3_step(stmt);
        if (rc == SQLITE_ROW) {
            read_request(stmt, ret_request);
            code = 0;
        } else if (rc == SQLITE_DONE) {
            code = error_set(err, ERROR_NOT_FOUND, "there is no request %lld", (long long)id);
        } else {
            code = state_fail(state, err);
        }
        sqlite3_finalize(stmt);
    }
    pthread_mutex_unlock(&state->lock);
    return code;
}

/* ---- statistics ---- */

struct answer_time {
    size_t group;
    int64_t ms;
};

static int by_group_and_time(const void *a, const void *b)
{
    const struct answer_time *x = a, *y = b;

    if (x->group != y->group)
        return x->group < y->group ? -1 : 1;
    return x->ms < y->ms ? -1 : x->ms > y->ms;
}

/* The group of a row, made if there is room; SIZE_MAX: there is none. */
static size_t group_of(struct request_stats *groups, size_t *count, size_t max, const char *verb,
                       enum approval_tier tier)
{
    for (size_t i = 0; i < *count; i++)
        if (groups[i].tier == tier && !strcmp(groups[i].verb, verb))
            return i;
    if (*count == max)
        return SIZE_MAX;
    groups[*count] = (struct request_stats){.tier = tier, .median_ms = -1};
    snprintf(groups[*count].verb, sizeof(groups->verb), "%s", verb);
    return (*count)++;
}

static void count_row(struct request_stats *group, enum approval_state state)
{
    group->asked++;
    group->allowed += state == APPROVAL_ALLOWED;
    group->denied += state == APPROVAL_DENIED;
    group->gone += state == APPROVAL_GONE;
    group->open += state < APPROVAL_ALLOWED;
}

static void set_medians(struct request_stats *groups, struct answer_time *times, size_t count)
{
    if (count)
        qsort(times, count, sizeof(*times), by_group_and_time);
    for (size_t begin = 0, end; begin < count; begin = end) {
        for (end = begin; end < count && times[end].group == times[begin].group; end++)
            ;
        groups[times[begin].group].median_ms = times[begin + (end - begin - 1) / 2].ms;
    }
}

/* One row: verb, tier, state, asked, changed. */
static void take_stats_row(sqlite3_stmt *stmt, struct request_stats *groups, size_t *count, size_t max,
                           struct answer_time *times, size_t *time_count)
{
    char verb[16], tier[16], word[16];

    column_field(stmt, 0, verb, sizeof(verb));
    column_field(stmt, 1, tier, sizeof(tier));
    column_field(stmt, 2, word, sizeof(word));
    int class = approval_tier_read(tier), state = approval_state_read(word);
    size_t group =
        class < 0 || state < 0 ? SIZE_MAX : group_of(groups, count, max, verb, (enum approval_tier) class);
    if (group == SIZE_MAX)
        return;
    count_row(&groups[group], (enum approval_state)state);
    int64_t ms = sqlite3_column_int64(stmt, 4) - sqlite3_column_int64(stmt, 3);
    if ((state == APPROVAL_ALLOWED || state == APPROVAL_DENIED) && ms >= 0)
        times[(*time_count)++] = (struct answer_time){group, ms};
}

int state_request_stats(struct state *state, const char *project, struct request_stats *ret, size_t max,
                        size_t *ret_count, struct error **err)
{
    autofree struct answer_time *times = xnewn(struct answer_time, REQUEST_STATS_ROWS);
    size_t time_count = 0, count = 0;
    int rc = SQLITE_DONE, code = -ERROR_IO;

    pthread_mutex_lock(&state->lock);
    sqlite3_stmt *stmt = state_prepare(state,
                                       "SELECT verb, tier, state, asked_ms, changed_ms FROM requests"
                                       " WHERE ?1 = '' OR project = ?1 ORDER BY id DESC LIMIT ?2",
                                       err);
    if (stmt) {
        bind_text(stmt, 1, project);
        sqlite3_bind_int(stmt, 2, REQUEST_STATS_ROWS);
        while ((rc = sqlite3_step(stmt)) == SQLITE_ROW)
            take_stats_row(stmt, ret, &count, max, times, &time_count);
        code = rc == SQLITE_DONE ? 0 : state_fail(state, err);
        sqlite3_finalize(stmt);
    }
    pthread_mutex_unlock(&state->lock);
    set_medians(ret, times, time_count);
    *ret_count = count;
    return code;
}

/* ---- grants ---- */

#define GRANT_COLUMNS                                                                                        \
    "id, request, scope, deny, host, port, proto, project, session, command, private_address, created, "     \
    "expires, uses, uid, tty, generation, digest"

int state_grant_save(struct state *state, struct grant *grant, struct error **err)
{
    char address[ADDRESS_FORMAT_MAX] = "", host[HOST_FORMAT_MAX];
    int rc = -ERROR_IO;

    if (grant->has_private)
        address_format(&grant->private_address, address);
    pthread_mutex_lock(&state->lock);
    sqlite3_stmt *stmt =
        state_prepare(state,
                      "INSERT INTO grants (" GRANT_COLUMNS ") VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)"
                      " ON CONFLICT (id) DO UPDATE SET expires=excluded.expires, uses=excluded.uses",
                      err);
    if (stmt) {
        if (grant->id)
            sqlite3_bind_int64(stmt, 1, (int64_t)grant->id);
        sqlite3_bind_int64(stmt, 2, (int64_t)grant->request_id);
        bind_text(stmt, 3, grant_scope_name(grant->scope));
        sqlite3_bind_int(stmt, 4, grant->deny);
        bind_text(stmt, 5, host_format(&grant->host, 0, host));
        sqlite3_bind_int(stmt, 6, grant->port);
        bind_text(stmt, 7, proto_name(grant->proto));
        bind_text(stmt, 8, grant->project);
        bind_text(stmt, 9, grant->session);
        bind_text(stmt, 10, grant->command);
        bind_text(stmt, 11, address);
        sqlite3_bind_int64(stmt, 12, grant->created);
        sqlite3_bind_int64(stmt, 13, grant->expires);
        sqlite3_bind_int64(stmt, 14, (int64_t)grant->uses);
        sqlite3_bind_int64(stmt, 15, grant->uid);
        bind_text(stmt, 16, grant->tty);
        sqlite3_bind_int64(stmt, 17, (int64_t)grant->generation);
        bind_text(stmt, 18, grant->digest);
        rc = state_finish_stmt(state, stmt, err);
        if (!rc && !grant->id)
            grant->id = (uint64_t)sqlite3_last_insert_rowid(state->db);
    }
    pthread_mutex_unlock(&state->lock);
    return rc;
}

int state_grant_delete(struct state *state, uint64_t id, struct error **err)
{
    int rc = -ERROR_IO;

    pthread_mutex_lock(&state->lock);
    sqlite3_stmt *stmt = state_prepare(state, "DELETE FROM grants WHERE id = ?", err);
    if (stmt) {
        sqlite3_bind_int64(stmt, 1, (int64_t)id);
        rc = state_finish_stmt(state, stmt, err);
    }
    pthread_mutex_unlock(&state->lock);
    return rc;
}

static enum proto read_proto(const char *word)
{
    for (int i = PROTO_ANY; i <= PROTO_TCP; i++)
        if (!strcmp(word, proto_name((enum proto)i)))
            return (enum proto)i;
    return PROTO_ANY; /* matches nothing: a grant's proto is never ANY */
}

/* False: what is stored makes no grant; it is left out. */
static bool read_grant(sqlite3_stmt *stmt, struct grant *grant)
{
    char host[HOST_FORMAT_MAX], word[16], address[ADDRESS_FORMAT_MAX];

    *grant = (struct grant){.id = (uint64_t)sqlite3_column_int64(stmt, 0),
                            .request_id = (uint64_t)sqlite3_column_int64(stmt, 1)};
    column_field(stmt, 2, word, sizeof(word));
    grant->scope = grant_scope_from_name(word);
    grant->deny = sqlite3_column_int(stmt, 3) != 0;
    column_field(stmt, 4, host, sizeof(host));
    grant->port = (uint16_t)sqlite3_column_int(stmt, 5);
    column_field(stmt, 6, word, sizeof(word));
    grant->proto = read_proto(word);
    column_field(stmt, 7, grant->project, sizeof(grant->project));
    column_field(stmt, 8, grant->session, sizeof(grant->session));
    column_field(stmt, 9, grant->command, sizeof(grant->command));
    column_field(stmt, 10, address, sizeof(address));
    grant->has_private = address[0] != '\0';
    grant->created = sqlite3_column_int64(stmt, 11);
    grant->expires = sqlite3_column_int64(stmt, 12);
    grant->uses = (uint64_t)sqlite3_column_int64(stmt, 13);
    grant->uid = (uint32_t)sqlite3_column_int64(stmt, 14);
    column_field(stmt, 15, grant->tty, sizeof(grant->tty));
    grant->generation = (uint64_t)sqlite3_column_int64(stmt, 16);
    column_field(stmt, 17, grant->digest, sizeof(grant->digest));
    if (grant->has_private && address_parse(address, strlen(address), &grant->private_address, NULL) < 0)
        return false;
    return grant->scope != SCOPE_COUNT && grant->proto != PROTO_ANY &&
           host_parse(host, strlen(host), HOST_REQUEST, &grant->host, NULL) == 0;
}

int state_grants_load(struct state *state, void (*fn)(const struct grant *grant, void *user), void *user,
                      struct error **err)
{
    int rc = SQLITE_DONE, code = -ERROR_IO;

    pthread_mutex_lock(&state->lock);
    sqlite3_stmt *stmt = state_prepare(state, "SELECT " GRANT_COLUMNS " FROM grants ORDER BY id", err);
    if (stmt) {
        struct grant grant;
        while ((rc = sqlite3_step(stmt)) == SQLITE_ROW)
            if (read_grant(stmt, &grant))
                fn(&grant, user);
        code = rc == SQLITE_DONE ? 0 : state_fail(state, err);
        sqlite3_finalize(stmt);
    }
    pthread_mutex_unlock(&state->lock);
    return code;
}

/* ---- budgets ---- */

int state_budget_save(struct state *state, const char *project, const char *text, struct error **err)
{
    int rc = -ERROR_IO;

    pthread_mutex_lock(&state->lock);
    sqlite3_stmt *stmt = state_prepare(state,
                                       "INSERT INTO budgets (project, counters) SELECT id, ?2 FROM projects "
                                       "WHERE id = ?1 ON CONFLICT (project) DO UPDATE SET "
                                       "counters = excluded.counters",
                                       err);
    if (stmt) {
        bind_text(stmt, 1, project);
        bind_text(stmt, 2, text);
        rc = state_finish_stmt(state, stmt, err);
    }
    pthread_mutex_unlock(&state->lock);
    return rc;
}

int state_budget_load(struct state *state, const char *project, char **ret_text, struct error **err)
{
    int rc = -ERROR_IO;

    pthread_mutex_lock(&state->lock);
    sqlite3_stmt *stmt = state_prepare(state, "SELECT counters FROM budgets WHERE project = ?", err);
    if (stmt) {
        bind_text(stmt, 1, project);
        int step = sqlite3_step(stmt);
        *ret_text = step == SQLITE_ROW ? column_text(stmt, 0) : NULL;
        rc = step == SQLITE_ROW || step == SQLITE_DONE ? 0 : state_fail(state, err);
        sqlite3_finalize(stmt);
    }
    pthread_mutex_unlock(&state->lock);
    return rc;
}
