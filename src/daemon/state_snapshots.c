#include "daemon/state_snapshots.h"

#include "base/alloc.h"
#include "daemon/state_store.h"
#include "vm/layer.h"

#include <stdio.h>
#include <string.h>

#define LAYER_COLUMNS "id, project, number, coalesce(parent, 0), frozen"
#define LAYER_ID      "(SELECT id FROM layers WHERE project = ?1 AND number = ?2)"
#define SNAPSHOT_COLUMNS                                                                                     \
    "s.number, s.layer, l.number, l.project, s.parent, s.memory, s.boot, s.cause, s.about, s.note, s.kept,"  \
    " s.made, s.created_ns, s.pause_ms, s.consistent, s.generation, s.machine, s.bytes,"                     \
    " (SELECT count(*) FROM layers c WHERE c.parent = s.layer)"                                              \
    " FROM snapshots s JOIN layers l ON l.id = s.layer"

void snapshot_row_copy(struct snapshot_row *to, const struct snapshot_row *from)
{
    *to = *from;
    to->memory = xstrdup(from->memory);
    to->about = xstrdup(from->about);
    to->note = xstrdup(from->note);
    to->machine = xstrdup(from->machine);
}

void snapshot_row_finish(struct snapshot_row *row)
{
    free(row->memory);
    free(row->about);
    free(row->note);
    free(row->machine);
    *row = (struct snapshot_row){0};
}

static void bind_text(sqlite3_stmt *stmt, int column, const char *text)
{
    sqlite3_bind_text(stmt, column, text, -1, SQLITE_STATIC);
}

static void column_field(sqlite3_stmt *stmt, int column, char *field, size_t size)
{
    const char *text = (const char *)sqlite3_column_text(stmt, column);

    snprintf(field, size, "%s", text ? text : "");
}

/* A text column as it lies in the statement: valid until its next step. */
static char *column_text(sqlite3_stmt *stmt, int column)
{
    return (char *)(uintptr_t)sqlite3_column_text(stmt, column);
}

/* Its strings are the statement's. */
static void read_snapshot(sqlite3_stmt *stmt, struct snapshot_row *row)
{
    *row = (struct snapshot_row){
        .number = sqlite3_column_int64(stmt, 0),
        .layer = sqlite3_column_int64(stmt, 1),
        .layer_number = sqlite3_column_int64(stmt, 2),
        .parent = sqlite3_column_int64(stmt, 4),
        .memory = column_text(stmt, 5),
        .about = column_text(stmt, 8),
        .note = column_text(stmt, 9),
        .kept = sqlite3_column_int(stmt, 10) != 0,
        .made = sqlite3_column_int(stmt, 11) != 0,
        .created_ns = sqlite3_column_int64(stmt, 12),
        .pause_ms = sqlite3_column_int64(stmt, 13),
        .generation = sqlite3_column_int64(stmt, 15),
        .machine = column_text(stmt, 16),
        .bytes = (uint64_t)sqlite3_column_int64(stmt, 17),
        .children = (unsigned)sqlite3_column_int(stmt, 18),
    };
    column_field(stmt, 3, row->layer_project, sizeof(row->layer_project));
    column_field(stmt, 6, row->boot, sizeof(row->boot));
    column_field(stmt, 7, row->cause, sizeof(row->cause));
    column_field(stmt, 14, row->consistent, sizeof(row->consistent));
}

int state_snapshots_each(struct state *state, const char *project,
                         void (*fn)(const struct snapshot_row *row, void *user), void *user,
                         struct error **err)
{
    int rc = SQLITE_DONE, code = 0;

    pthread_mutex_lock(&state->lock);
    sqlite3_stmt *stmt = state_prepare(
        state, "SELECT " SNAPSHOT_COLUMNS " WHERE s.project = ? AND s.made = 1 ORDER BY s.number", err);
    if (stmt) {
        bind_text(stmt, 1, project);
        while ((rc = sqlite3_step(stmt)) == SQLITE_ROW) {
            struct snapshot_row row;

            read_snapshot(stmt, &row);
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

int state_snapshot_load(struct state *state, const char *project, int64_t number, bool unfinished,
                        struct snapshot_row *ret_row, struct error **err)
{
    int code = -ERROR_IO;

    pthread_mutex_lock(&state->lock);
    sqlite3_stmt *stmt = state_prepare(
        state, "SELECT " SNAPSHOT_COLUMNS " WHERE s.project = ? AND s.number = ? AND (s.made = 1 OR ?)", err);
    if (stmt) {
        bind_text(stmt, 1, project);
        sqlite3_bind_int64(stmt, 2, number);
        sqlite3_bind_int(stmt, 3, unfinished);
        int rc = sqlite3_step(stmt);
        if (rc == SQLITE_ROW) {
            struct snapshot_row row;

            read_snapshot(stmt, &row);
            snapshot_row_copy(ret_row, &row);
            code = 0;
        } else if (rc == SQLITE_DONE) {
            code = error_set(err, ERROR_NOT_FOUND, "there is no snapshot @%lld", (long long)number);
        } else {
            code = state_fail(state, err);
        }
    }
    sqlite3_finalize(stmt);
    pthread_mutex_unlock(&state->lock);
    return code;
}

int state_snapshot_note(struct state *state, const char *project, int64_t number, const char *note,
                        struct error **err)
{
    int rc = -ERROR_IO;

    pthread_mutex_lock(&state->lock);
    sqlite3_stmt *stmt =
        state_prepare(state, "UPDATE snapshots SET note = ? WHERE project = ? AND number = ?", err);
    if (stmt) {
        bind_text(stmt, 1, note);
        bind_text(stmt, 2, project);
        sqlite3_bind_int64(stmt, 3, number);
        rc = state_finish_stmt(state, stmt, err);
        if (rc == 0 && sqlite3_changes(state->db) == 0)
            rc = error_set(err, ERROR_NOT_FOUND, "there is no snapshot @%lld", (long long)number);
    }
    pthread_mutex_unlock(&state->lock);
    return rc;
}

/* ---- layers ---- */

static void read_layer(sqlite3_stmt *stmt, struct layer_row *row)
{
    *row = (struct layer_row){
        .id = sqlite3_column_int64(stmt, 0),
        .number = sqlite3_column_int64(stmt, 2),
        .parent = sqlite3_column_int64(stmt, 3),
        .frozen = sqlite3_column_int(stmt, 4) != 0,
    };
    column_field(stmt, 1, row->project, sizeof(row->project));
}

/* The rows of a statement; at most max of them, more are ERROR_CORRUPT. Takes the statement. */
static int read_layers(struct state *state, sqlite3_stmt *stmt, size_t max, struct layer_row **ret,
                       size_t *ret_count, struct error **err)
{
    autofree struct layer_row *list = NULL;
    size_t count = 0;
    int rc, code = 0;

    while ((rc = sqlite3_step(stmt)) == SQLITE_ROW && count < max) {
        list = xrealloc(list, count + 1, sizeof(*list));
        read_layer(stmt, &list[count++]);
    }
    if (rc == SQLITE_ROW)
        code = error_set(err, ERROR_CORRUPT, "more than %zu layers are on record", max);
    else if (rc != SQLITE_DONE)
        code = state_fail(state, err);
    sqlite3_finalize(stmt);
    if (code < 0)
        return code;
    *ret = steal(&list);
    *ret_count = count;
    return 0;
}

int state_layers_path(struct state *state, const char *project, int64_t number, struct layer_row **ret,
                      size_t *ret_count, struct error **err)
{
    int rc = -ERROR_IO;

    pthread_mutex_lock(&state->lock);
    sqlite3_stmt *stmt = state_prepare(
        state,
        "WITH RECURSIVE path(id, project, number, parent, frozen, depth) AS ("
        " SELECT id, project, number, parent, frozen, 0 FROM layers WHERE project = ?1 AND number = ?2"
        " UNION ALL SELECT l.id, l.project, l.number, l.parent, l.frozen, depth + 1"
        " FROM layers l JOIN path p ON l.id = p.parent WHERE depth <= ?3)"
        " SELECT " LAYER_COLUMNS " FROM path ORDER BY depth",
        err);
    if (stmt) {
        bind_text(stmt, 1, project);
        sqlite3_bind_int64(stmt, 2, number);
        sqlite3_bind_int(stmt, 3, LAYER_DEPTH_MAX);
        rc = read_layers(state, stmt, LAYER_DEPTH_MAX, ret, ret_count, err);
    }
    if (rc == 0 && *ret_count == 0)
        rc = error_set(err, ERROR_NOT_FOUND, "layer %lld is not on record", (long long)number);
    pthread_mutex_unlock(&state->lock);
    return rc;
}

int state_layers(struct state *state, const char *project, struct layer_row **ret, size_t *ret_count,
                 struct error **err)
{
    int rc = -ERROR_IO;

    pthread_mutex_lock(&state->lock);
    sqlite3_stmt *stmt =
        state_prepare(state, "SELECT " LAYER_COLUMNS " FROM layers WHERE project = ? ORDER BY number", err);
    if (stmt) {
        bind_text(stmt, 1, project);
        rc = read_layers(state, stmt, (size_t)2 * SNAPSHOTS_MAX, ret, ret_count, err);
    }
    pthread_mutex_unlock(&state->lock);
    return rc;
}

/* ---- parts of a step's transaction; the state is locked ---- */

/* Runs a statement whose ?1 is the project and ?2 a number; it must change exactly one row. */
static int change(struct state *state, const char *sql, const char *project, int64_t number, const char *what,
                  struct error **err)
{
    sqlite3_stmt *stmt = state_prepare(state, sql, err);

    if (!stmt)
        return -ERROR_IO;
    bind_text(stmt, 1, project);
    sqlite3_bind_int64(stmt, 2, number);
    int rc = state_finish_stmt(state, stmt, err);
    if (rc == 0 && sqlite3_changes(state->db) != 1)
        rc = error_set(err, ERROR_CORRUPT, "%s %lld is not on record", what, (long long)number);
    return rc;
}

/* A new layer `next` on the layer that the statement's ?2 names. */
static int add_layer(struct state *state, const char *parent, const struct snapshot_change *change,
                     int64_t number, struct error **err)
{
    autofree char *sql = xasprintf("INSERT INTO layers (project, number, parent, frozen, bytes)"
                                   " SELECT ?1, ?3, id, 0, 0 FROM layers WHERE %s",
                                   parent);
    sqlite3_stmt *stmt = state_prepare(state, sql, err);

    if (!stmt)
        return -ERROR_IO;
    bind_text(stmt, 1, change->project);
    sqlite3_bind_int64(stmt, 2, number);
    sqlite3_bind_int64(stmt, 3, change->next);
    int rc = state_finish_stmt(state, stmt, err);
    if (rc == 0 && sqlite3_changes(state->db) != 1)
        rc = error_set(err, ERROR_CORRUPT, "layer %lld is not on record", (long long)number);
    return rc;
}

int state_snapshot_begin(struct state *state, void *user, struct error **err)
{
    const struct snapshot_change *change = user;
    const struct snapshot_row *row = change->row;
    int rc = add_layer(state, "project = ?1 AND number = ?2", change, change->layer, err);
    if (rc < 0)
        return rc;
    sqlite3_stmt *stmt = state_prepare(
        state,
        "INSERT INTO snapshots (project, layer, number, parent, boot, cause, about, note, kept, created_ns,"
        " pause_ms, consistent, generation, machine, bytes, made)"
        " VALUES (?1, " LAYER_ID ", ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, 0, '', ?11, '', 0, 0)",
        err);
    if (!stmt)
        return -ERROR_IO;
    bind_text(stmt, 1, change->project);
    sqlite3_bind_int64(stmt, 2, change->layer);
    sqlite3_bind_int64(stmt, 3, row->number);
    sqlite3_bind_int64(stmt, 4, row->parent);
    bind_text(stmt, 5, row->boot);
    bind_text(stmt, 6, row->cause);
    bind_text(stmt, 7, row->about ? row->about : "");
    bind_text(stmt, 8, row->note ? row->note : "");
    sqlite3_bind_int(stmt, 9, row->kept);
    sqlite3_bind_int64(stmt, 10, row->created_ns);
    sqlite3_bind_int64(stmt, 11, row->generation);
    return state_finish_stmt(state, stmt, err);
}

int state_snapshot_end(struct state *state, void *user, struct error **err)
{
    const struct snapshot_change *change_ = user;
    const struct snapshot_row *row = change_->row;
    int rc = change(state, "UPDATE layers SET frozen = 1 WHERE project = ?1 AND number = ?2",
                    change_->project, change_->layer, "layer", err);
    if (rc < 0)
        return rc;
    sqlite3_stmt *stmt =
        state_prepare(state,
                      "UPDATE snapshots SET made = 1, pause_ms = ?3, consistent = ?4, memory = ?5,"
                      " machine = ?6, bytes = ?7 WHERE project = ?1 AND number = ?2",
                      err);
    if (!stmt)
        return -ERROR_IO;
    bind_text(stmt, 1, change_->project);
    sqlite3_bind_int64(stmt, 2, row->number);
    sqlite3_bind_int64(stmt, 3, row->pause_ms);
    bind_text(stmt, 4, row->consistent);
    bind_text(stmt, 5, row->memory);
    bind_text(stmt, 6, row->machine ? row->machine : "");
    sqlite3_bind_int64(stmt, 7, (int64_t)row->bytes);
    return state_finish_stmt(state, stmt, err);
}

int state_snapshot_undo(struct state *state, void *user, struct error **err)
{
    const struct snapshot_change *undo = user;
    int rc = change(state, "DELETE FROM snapshots WHERE project = ?1 AND number = ?2 AND made = 0",
                    undo->project, undo->row->number, "the unfinished snapshot", err);

    return rc < 0 ? rc
                  : change(state, "DELETE FROM layers WHERE project = ?1 AND number = ?2 AND frozen = 0",
                           undo->project, undo->next, "layer", err);
}

int state_layer_begin(struct state *state, void *user, struct error **err)
{
    const struct snapshot_change *begin = user;

    return add_layer(state, "id = ?2", begin, begin->row->layer, err);
}

int state_layer_forget(struct state *state, void *user, struct error **err)
{
    const struct snapshot_change *forget = user;

    return change(state, "DELETE FROM layers WHERE project = ?1 AND number = ?2", forget->project,
                  forget->layer, "layer", err);
}

/* The first layer that a condition on ?1 and ?2 finds; id 0: there is none. The lock is held. */
static int find_layer(struct state *state, const char *condition, const char *text, int64_t id,
                      struct layer_row *ret, struct error **err)
{
    autofree char *sql =
        xasprintf("SELECT " LAYER_COLUMNS " FROM layers l WHERE %s ORDER BY id LIMIT 1", condition);
    autofree struct layer_row *rows = NULL;
    sqlite3_stmt *stmt = state_prepare(state, sql, err);
    size_t count = 0;

    if (!stmt)
        return -ERROR_IO;
    bind_text(stmt, 1, text);
    sqlite3_bind_int64(stmt, 2, id);
    int rc = read_layers(state, stmt, 1, &rows, &count, err);
    if (rc == 0)
        *ret = count ? rows[0] : (struct layer_row){0};
    return rc;
}

int state_layer_spare(struct state *state, const char *project, int64_t after, struct layer_row *ret_layer,
                      struct layer_row *ret_child, struct layer_row *ret_parent, struct error **err)
{
    static const char spare[] = "project = ?1 AND id > ?2 AND frozen = 1"
                                " AND NOT EXISTS (SELECT 1 FROM snapshots s WHERE s.layer = l.id)"
                                " AND (SELECT count(*) FROM layers c WHERE c.parent = l.id) <= 1";
    struct layer_row layer, child = {0}, parent = {0};

    pthread_mutex_lock(&state->lock);
    int rc = find_layer(state, spare, project, after, &layer, err);
    if (rc == 0 && layer.id)
        rc = find_layer(state, "?1 IS NOT NULL AND parent = ?2", project, layer.id, &child, err);
    if (rc == 0 && layer.parent)
        rc = find_layer(state, "?1 IS NOT NULL AND id = ?2", project, layer.parent, &parent, err);
    pthread_mutex_unlock(&state->lock);
    if (rc == 0 && !layer.id)
        rc = error_set(err, ERROR_NOT_FOUND, "no layer can go");
    if (rc < 0)
        return rc;
    *ret_layer = layer;
    *ret_child = child;
    *ret_parent = parent;
    return 0;
}

int state_snapshot_forget(struct state *state, void *user, struct error **err)
{
    const struct snapshot_change *forget = user;
    sqlite3_stmt *stmt =
        state_prepare(state, "UPDATE snapshots SET parent = ?3 WHERE project = ?1 AND parent = ?2", err);

    if (!stmt)
        return -ERROR_IO;
    bind_text(stmt, 1, forget->project);
    sqlite3_bind_int64(stmt, 2, forget->row->number);
    sqlite3_bind_int64(stmt, 3, forget->row->parent);
    int rc = state_finish_stmt(state, stmt, err);
    return rc < 0 ? rc
                  : change(state, "DELETE FROM snapshots WHERE project = ?1 AND number = ?2", forget->project,
                           forget->row->number, "snapshot", err);
}

int state_layer_bridge(struct state *state, void *user, struct error **err)
{
    const struct snapshot_change *bridge = user;
    sqlite3_stmt *stmt =
        state_prepare(state,
                      "UPDATE layers SET parent = (SELECT parent FROM layers WHERE id = " LAYER_ID
                      ") WHERE parent = " LAYER_ID,
                      err);

    if (!stmt)
        return -ERROR_IO;
    bind_text(stmt, 1, bridge->project);
    sqlite3_bind_int64(stmt, 2, bridge->layer);
    int rc = state_finish_stmt(state, stmt, err);
    return rc < 0 ? rc : state_layer_forget(state, user, err);
}
