#include "daemon/state_store.h"

#include "base/alloc.h"

#include <string.h>

void repo_row_copy(struct repo_row *to, const struct repo_row *from)
{
    *to = (struct repo_row){
        .name = xstrdup(from->name),
        .spec = xstrdup(from->spec),
        .remote = xstrdup(from->remote),
        .ref = xstrdup(from->ref),
        .commit = xstrdup(from->commit),
        .target = xstrdup(from->target),
        .done = from->done,
    };
}

void repo_row_finish(struct repo_row *row)
{
    free(row->name);
    free(row->spec);
    free(row->remote);
    free(row->ref);
    free(row->commit);
    free(row->target);
    *row = (struct repo_row){0};
}

void record_copy(struct record *to, const struct record *from)
{
    *to = *from;
    to->folder = xstrdup(from->folder);
    to->template = xstrdup(from->template);
    to->user = xstrdup(from->user);
    to->cpu_model = xstrdup(from->cpu_model);
    to->kernel_options = xstrdup(from->kernel_options);
    to->failure = xstrdup(from->failure);
    to->repos = xnewn(struct repo_row, from->repo_count + 1);
    for (size_t i = 0; i < from->repo_count; i++)
        repo_row_copy(&to->repos[i], &from->repos[i]);
}

void record_finish(struct record *record)
{
    free(record->folder);
    free(record->template);
    free(record->user);
    free(record->cpu_model);
    free(record->kernel_options);
    free(record->failure);
    for (size_t i = 0; i < record->repo_count; i++)
        repo_row_finish(&record->repos[i]);
    free(record->repos);
    *record = (struct record){0};
}

bool record_is_frozen(const struct record *record)
{
    return record->frozen_for && !strcmp(record->frozen_boot, record->boot);
}

/* Text or NULL. */
static void bind_text(sqlite3_stmt *stmt, int column, const char *text)
{
    sqlite3_bind_text(stmt, column, text, -1, SQLITE_STATIC);
}

/* The row of the project itself. */
static int save_project(struct state *state, const struct record *r, struct error **err)
{
    sqlite3_stmt *stmt = state_prepare(
        state,
        "INSERT INTO projects (id, uuid, name, folder, template, base, user, cpu_model, kernel_options, "
        "cpus, memory, disk,"
        " created_ns, made, step, saved, boot, failure, frozen_boot, frozen_for, stored_for,"
        " layer, here, layer_last, snap_last, aim_layer, aim_snap)"
        " VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)"
        " ON CONFLICT (id) DO UPDATE SET name=excluded.name, folder=excluded.folder, "
        "template=excluded.template,"
        " base=excluded.base, user=excluded.user, cpu_model=excluded.cpu_model, "
        "kernel_options=excluded.kernel_options,"
        " cpus=excluded.cpus, memory=excluded.memory, disk=excluded.disk, made=excluded.made, "
        "step=excluded.step,"
        " saved=excluded.saved, boot=excluded.boot, failure=excluded.failure,"
        " frozen_boot=excluded.frozen_boot, frozen_for=excluded.frozen_for, stored_for=excluded.stored_for,"
        " layer=excluded.layer, here=excluded.here, layer_last=excluded.layer_last,"
        " snap_last=excluded.snap_last, aim_layer=excluded.aim_layer, aim_snap=excluded.aim_snap",
        err);
    const int64_t places[] = {r->layer, r->here, r->layer_last, r->snap_last, r->aim_layer, r->aim_snap};
    const char *texts[] = {r->id,   r->uuid, r->name,      r->folder,        r->template,
                           r->base, r->user, r->cpu_model, r->kernel_options};

    if (!stmt)
        return -ERROR_IO;
    for (size_t i = 0; i < countof(texts); i++)
        bind_text(stmt, (int)i + 1, texts[i]);
    sqlite3_bind_int64(stmt, 10, r->cpus);
    sqlite3_bind_int64(stmt, 11, (int64_t)r->memory);
    sqlite3_bind_int64(stmt, 12, (int64_t)r->disk);
    sqlite3_bind_int64(stmt, 13, r->created_ns);
    sqlite3_bind_int(stmt, 14, r->made);
    bind_text(stmt, 15, step_name(r->step));
    sqlite3_bind_int(stmt, 16, r->saved);
    bind_text(stmt, 17, r->boot);
    bind_text(stmt, 18, r->failure);
    bind_text(stmt, 19, r->frozen_boot);
    sqlite3_bind_int64(stmt, 20, r->frozen_for);
    sqlite3_bind_int64(stmt, 21, r->stored_for);
    for (size_t i = 0; i < countof(places); i++)
        sqlite3_bind_int64(stmt, 22 + (int)i, places[i]);
    if (sqlite3_step(stmt) != SQLITE_DONE) {
        int rc = sqlite3_errcode(state->db) == SQLITE_CONSTRAINT
                     ? error_set(err, ERROR_EXISTS, "a project \"%s\" is there already", r->name)
                     : state_fail(state, err);

        sqlite3_finalize(stmt);
        return rc;
    }
    sqlite3_finalize(stmt);
    return 0;
}

/* One repository at its place in the project's list. */
static int save_repo(struct state *state, const char *id, size_t position, const struct repo_row *row,
                     struct error **err)
{
    sqlite3_stmt *stmt = state_prepare(
        state,
        "INSERT INTO repos (project, position, name, spec, remote, ref, commit_id, target, done)"
        " VALUES (?,?,?,?,?,?,?,?,?)",
        err);

    if (!stmt)
        return -ERROR_IO;
    bind_text(stmt, 1, id);
    sqlite3_bind_int64(stmt, 2, (int64_t)position);
    bind_text(stmt, 3, row->name);
    bind_text(stmt, 4, row->spec);
    bind_text(stmt, 5, row->remote);
    bind_text(stmt, 6, row->ref);
    bind_text(stmt, 7, row->commit);
    bind_text(stmt, 8, row->target);
    sqlite3_bind_int(stmt, 9, row->done);
    return state_finish_stmt(state, stmt, err);
}

/* Runs a statement whose only parameter is the project's id. */
static int run_for(struct state *state, const char *sql, const char *id, struct error **err)
{
    sqlite3_stmt *stmt = state_prepare(state, sql, err);

    if (!stmt)
        return -ERROR_IO;
    bind_text(stmt, 1, id);
    return state_finish_stmt(state, stmt, err);
}

/* A project has a first layer from its first record on. */
static int save_first_layer(struct state *state, const char *id, struct error **err)
{
    return run_for(
        state,
        "INSERT OR IGNORE INTO layers (project, number, parent, frozen, bytes)"
        " SELECT id, layer, NULL, 0, 0 FROM projects WHERE id = ? AND layer = 0 AND layer_last = 0",
        id, err);
}

int state_save_with(struct state *state, const struct record *record, state_more_fn more, void *user,
                    struct error **err)
{
    int rc;

    pthread_mutex_lock(&state->lock);
    rc = state_exec(state, "BEGIN IMMEDIATE", err);
    if (rc == 0) {
        rc = save_project(state, record, err);
        if (rc == 0)
            rc = run_for(state, "DELETE FROM repos WHERE project = ?", record->id, err);
        for (size_t i = 0; rc == 0 && i < record->repo_count; i++)
            rc = save_repo(state, record->id, i, &record->repos[i], err);
        if (rc == 0)
            rc = save_first_layer(state, record->id, err);
        if (rc == 0 && more)
            rc = more(state, user, err);
        if (rc == 0)
            rc = state_exec(state, "COMMIT", err);
        if (rc < 0)
            sqlite3_exec(state->db, "ROLLBACK", NULL, NULL, NULL);
    }
    pthread_mutex_unlock(&state->lock);
    return rc;
}

int state_save(struct state *state, const struct record *record, struct error **err)
{
    return state_save_with(state, record, NULL, NULL, err);
}

int state_delete(struct state *state, const char *id, struct error **err)
{
    int rc;

    pthread_mutex_lock(&state->lock);
    rc =
        run_for(state, "DELETE FROM projects WHERE id = ?", id, err); /* the rest goes by ON DELETE CASCADE */
    if (rc == 0)
        rc = run_for(state, "DELETE FROM layers WHERE project = ?", id, err);
    if (rc == 0) /* what was asked stays in the journal */
        rc = run_for(state, "DELETE FROM requests WHERE project = ?", id, err);
    if (rc == 0)
        rc = run_for(state, "DELETE FROM grants WHERE project = ?", id, err);
    pthread_mutex_unlock(&state->lock);
    return rc;
}

/* A copy of a text column, NULL for NULL. */
static char *column_text(sqlite3_stmt *stmt, int column)
{
    return xstrdup((const char *)sqlite3_column_text(stmt, column));
}

/* Copies a text column into a fixed field. */
static void column_field(sqlite3_stmt *stmt, int column, char *field, size_t size)
{
    const char *text = (const char *)sqlite3_column_text(stmt, column);

    snprintf(field, size, "%s", text ? text : "");
}

/* The repositories of a record that has its id. */
static int load_repos(struct state *state, struct record *record, struct error **err)
{
    sqlite3_stmt *stmt = state_prepare(state,
                                       "SELECT name, spec, remote, ref, commit_id, target, done FROM repos "
                                       "WHERE project = ? ORDER BY position",
                                       err);
    int rc;

    if (!stmt)
        return -ERROR_IO;
    bind_text(stmt, 1, record->id);
    while ((rc = sqlite3_step(stmt)) == SQLITE_ROW) {
        struct repo_row *row;

        record->repos = xrealloc(record->repos, record->repo_count + 1, sizeof(*record->repos));
        row = &record->repos[record->repo_count++];
        *row = (struct repo_row){
            .name = column_text(stmt, 0),
            .spec = column_text(stmt, 1),
            .remote = column_text(stmt, 2),
            .ref = column_text(stmt, 3),
            .commit = column_text(stmt, 4),
            .target = column_text(stmt, 5),
            .done = sqlite3_column_int(stmt, 6) != 0,
        };
    }
    rc = rc == SQLITE_DONE ? 0 : state_fail(state, err);
    sqlite3_finalize(stmt);
    return rc;
}

/* One row of the projects' table. */
static void read_record(sqlite3_stmt *stmt, struct record *r)
{
    autofree char *step = column_text(stmt, 14);

    *r = (struct record){0};
    column_field(stmt, 0, r->id, sizeof(r->id));
    column_field(stmt, 1, r->uuid, sizeof(r->uuid));
    column_field(stmt, 2, r->name, sizeof(r->name));
    r->folder = column_text(stmt, 3);
    r->template = column_text(stmt, 4);
    column_field(stmt, 5, r->base, sizeof(r->base));
    r->user = column_text(stmt, 6);
    r->cpu_model = column_text(stmt, 7);
    r->kernel_options = column_text(stmt, 8);
    r->cpus = (unsigned)sqlite3_column_int64(stmt, 9);
    r->memory = (uint64_t)sqlite3_column_int64(stmt, 10);
    r->disk = (uint64_t)sqlite3_column_int64(stmt, 11);
    r->created_ns = sqlite3_column_int64(stmt, 12);
    r->made = sqlite3_column_int(stmt, 13) != 0;
    r->step = step_from_name(step);
    r->saved = sqlite3_column_int(stmt, 15) != 0;
    column_field(stmt, 16, r->boot, sizeof(r->boot));
    r->failure = column_text(stmt, 17);
    column_field(stmt, 18, r->frozen_boot, sizeof(r->frozen_boot));
    r->frozen_for = sqlite3_column_int64(stmt, 19);
    r->stored_for = sqlite3_column_int64(stmt, 20);
    r->layer = sqlite3_column_int64(stmt, 21);
    r->here = sqlite3_column_int64(stmt, 22);
    r->layer_last = sqlite3_column_int64(stmt, 23);
    r->snap_last = sqlite3_column_int64(stmt, 24);
    r->aim_layer = sqlite3_column_int64(stmt, 25);
    r->aim_snap = sqlite3_column_int64(stmt, 26);
}

int state_load(struct state *state, void (*fn)(const struct record *record, void *user), void *user,
               struct error **err)
{
    sqlite3_stmt *stmt;
    int rc = SQLITE_DONE, code = 0;

    pthread_mutex_lock(&state->lock);
    stmt = state_prepare(
        state,
        "SELECT id, uuid, name, folder, template, base, user, cpu_model, kernel_options, cpus, memory, disk,"
        " created_ns, made, step, saved, boot, failure, frozen_boot, frozen_for, stored_for,"
        " layer, here, layer_last, snap_last, aim_layer, aim_snap FROM projects "
        "ORDER BY "
        "created_ns, id",
        err);
    while (stmt && code == 0 && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
        struct record record;

        read_record(stmt, &record);
        code = load_repos(state, &record, err);
        if (code == 0)
            fn(&record, user);
        record_finish(&record);
    }
    if (!stmt)
        code = -ERROR_IO;
    else if (code == 0 && rc != SQLITE_DONE)
        code = state_fail(state, err);
    sqlite3_finalize(stmt);
    pthread_mutex_unlock(&state->lock);
    return code;
}

bool state_key_load(struct state *state, const char *id, uint32_t port, uint8_t key[32])
{
    sqlite3_stmt *stmt;
    bool found = false;

    pthread_mutex_lock(&state->lock);
    stmt = state_prepare(state, "SELECT key FROM keys WHERE project = ? AND port = ?", NULL);
    if (stmt) {
        bind_text(stmt, 1, id);
        sqlite3_bind_int64(stmt, 2, port);
        found = sqlite3_step(stmt) == SQLITE_ROW && sqlite3_column_bytes(stmt, 0) == 32;
        if (found)
            memcpy(key, sqlite3_column_blob(stmt, 0), 32);
    }
    sqlite3_finalize(stmt);
    pthread_mutex_unlock(&state->lock);
    return found;
}

int state_key_save(struct state *state, const char *id, uint32_t port, const uint8_t key[32],
                   struct error **err)
{
    sqlite3_stmt *stmt;
    int rc = -ERROR_IO;

    pthread_mutex_lock(&state->lock);
    stmt = state_prepare(state, "INSERT OR REPLACE INTO keys (project, port, key) VALUES (?, ?, ?)", err);
    if (stmt) {
        bind_text(stmt, 1, id);
        sqlite3_bind_int64(stmt, 2, port);
        sqlite3_bind_blob(stmt, 3, key, 32, SQLITE_STATIC);
        rc = state_finish_stmt(state, stmt, err);
    }
    pthread_mutex_unlock(&state->lock);
    return rc;
}

int state_key_forget(struct state *state, const char *id, struct error **err)
{
    int rc;

    pthread_mutex_lock(&state->lock);
    rc = run_for(state, "DELETE FROM keys WHERE project = ?", id, err);
    pthread_mutex_unlock(&state->lock);
    return rc;
}

/* Rows of sessions outlive a kill, and need not outlive the host: no wait for the disk. The lock is held. */
static int lightly(struct state *state, bool on, struct error **err)
{
    return state_exec(state, on ? "PRAGMA synchronous = NORMAL" : "PRAGMA synchronous = FULL", err);
}

int state_session_save(struct state *state, const char *project, const struct session_row *row,
                       struct error **err)
{
    sqlite3_stmt *stmt;
    int rc = -ERROR_IO;

    pthread_mutex_lock(&state->lock);
    if (lightly(state, true, err) < 0) {
        pthread_mutex_unlock(&state->lock);
        return rc;
    }
    stmt = state_prepare(
        state, "INSERT OR REPLACE INTO sessions (project, id, started_ns, pty, subject) VALUES (?,?,?,?,?)",
        err);
    if (stmt) {
        bind_text(stmt, 1, project);
        bind_text(stmt, 2, row->id);
        sqlite3_bind_int64(stmt, 3, row->started_ns);
        sqlite3_bind_int(stmt, 4, row->pty);
        bind_text(stmt, 5, row->subject);
        rc = state_finish_stmt(state, stmt, err);
    }
    lightly(state, false, NULL);
    pthread_mutex_unlock(&state->lock);
    return rc;
}

int state_session_forget(struct state *state, const char *project, const char *session, struct error **err)
{
    sqlite3_stmt *stmt;
    int rc = -ERROR_IO;

    pthread_mutex_lock(&state->lock);
    if (lightly(state, true, err) < 0) {
        pthread_mutex_unlock(&state->lock);
        return rc;
    }
    stmt = state_prepare(state, "DELETE FROM sessions WHERE project = ? AND id = ?", err);
    if (stmt) {
        bind_text(stmt, 1, project);
        bind_text(stmt, 2, session);
        rc = state_finish_stmt(state, stmt, err);
    }
    lightly(state, false, NULL);
    pthread_mutex_unlock(&state->lock);
    return rc;
}

int state_session_each(struct state *state, const char *project,
                       void (*fn)(const struct session_row *row, void *user), void *user, struct error **err)
{
    sqlite3_stmt *stmt;
    int rc = SQLITE_DONE, code = 0;

    pthread_mutex_lock(&state->lock);
    stmt = state_prepare(
        state, "SELECT id, started_ns, pty, subject FROM sessions WHERE project = ? ORDER BY started_ns",
        err);
    if (stmt) {
        bind_text(stmt, 1, project);
        while ((rc = sqlite3_step(stmt)) == SQLITE_ROW) {
            struct session_row row = {.started_ns = sqlite3_column_int64(stmt, 1),
                                      .pty = sqlite3_column_int(stmt, 2) != 0};

            column_field(stmt, 0, row.id, sizeof(row.id));
            row.subject = (char *)(uintptr_t)sqlite3_column_text(stmt, 3);
            fn(&row, user);
        }
        code = rc == SQLITE_DONE ? 0 : state_fail(state, err);
    } else {
        code = -ERROR_IO;
    }
    sqlite3_finalize(stmt);
    pthread_mutex_unlock(&state->lock);
    return code;
}
