#include "daemon/state_store.h"

#include "base/alloc.h"
#include "base/units.h"

#include <string.h>

static const struct {
    const char *name, *about;
    enum operation operation;
} steps[STEP_COUNT] = {
    [STEP_NONE] = {"", "", OPERATION_NONE},
#define X(name, word, operation, about) [STEP_##name] = {word, about, OPERATION_##operation},
#include "daemon/steps.def"
#undef X
};

const char *step_name(enum step step)
{
    return steps[step].name;
}

const char *step_about(enum step step)
{
    return steps[step].about;
}

enum operation step_operation(enum step step)
{
    return steps[step].operation;
}

enum step step_from_name(const char *name)
{
    for (int i = 1; i < STEP_COUNT; i++) {
        if (name && !strcmp(steps[i].name, name))
            return (enum step)i;
    }
    return STEP_NONE;
}

/* Each entry takes the schema from version i to i + 1. Entries are never changed, only added. */
static const char *const migrations[] = {
    "CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;"
    "CREATE TABLE projects (id TEXT PRIMARY KEY, uuid TEXT NOT NULL UNIQUE, name TEXT NOT NULL UNIQUE, "
    "folder TEXT,"
    " template TEXT NOT NULL, base TEXT NOT NULL, user TEXT NOT NULL, cpu_model TEXT, kernel_options TEXT,"
    " cpus INTEGER NOT NULL, memory INTEGER NOT NULL, disk INTEGER NOT NULL, created_ns INTEGER NOT NULL,"
    " made INTEGER NOT NULL, step TEXT NOT NULL, saved INTEGER NOT NULL, boot TEXT NOT NULL, failure TEXT) "
    "STRICT;"
    "CREATE TABLE repos (project TEXT NOT NULL REFERENCES projects(id) ON DELETE CASCADE, position INTEGER "
    "NOT NULL,"
    " name TEXT NOT NULL, spec TEXT NOT NULL, remote TEXT, ref TEXT, commit_id TEXT, target TEXT NOT NULL,"
    " done INTEGER NOT NULL, PRIMARY KEY (project, position), UNIQUE (project, name)) STRICT;"
    "CREATE TABLE keys (project TEXT NOT NULL REFERENCES projects(id) ON DELETE CASCADE, port INTEGER NOT "
    "NULL,"
    " key BLOB NOT NULL, PRIMARY KEY (project, port)) STRICT;"
    "CREATE TABLE sessions (project TEXT NOT NULL REFERENCES projects(id) ON DELETE CASCADE, id TEXT NOT "
    "NULL,"
    " started_ns INTEGER NOT NULL, pty INTEGER NOT NULL, subject TEXT NOT NULL, PRIMARY KEY (project, id)) "
    "STRICT;",
    /* a request's number is never used twice; frozen_*: what the machine stands still for, recorded before */
    "CREATE TABLE requests (id INTEGER PRIMARY KEY AUTOINCREMENT, project TEXT NOT NULL, boot TEXT NOT NULL,"
    " session TEXT NOT NULL, verb TEXT NOT NULL, key TEXT NOT NULL, subject TEXT NOT NULL, fields TEXT NOT "
    "NULL,"
    " owner TEXT NOT NULL, generation INTEGER NOT NULL, tier TEXT NOT NULL, scopes INTEGER NOT NULL,"
    " state TEXT NOT NULL, asked_ms INTEGER NOT NULL, changed_ms INTEGER NOT NULL, attempts INTEGER NOT NULL,"
    " digest TEXT NOT NULL, scope TEXT NOT NULL, duration_s INTEGER NOT NULL, reason TEXT NOT NULL,"
    " by_whom TEXT NOT NULL) STRICT;"
    "CREATE INDEX requests_open ON requests (state) WHERE state IN ('held', 'frozen', 'waiting');"
    "CREATE TABLE grants (id INTEGER PRIMARY KEY AUTOINCREMENT, request INTEGER NOT NULL, scope TEXT NOT "
    "NULL,"
    " deny INTEGER NOT NULL, host TEXT NOT NULL, port INTEGER NOT NULL, proto TEXT NOT NULL,"
    " project TEXT NOT NULL, session TEXT NOT NULL, command TEXT NOT NULL, private_address TEXT NOT NULL,"
    " created INTEGER NOT NULL, expires INTEGER NOT NULL, uses INTEGER NOT NULL, uid INTEGER NOT NULL,"
    " tty TEXT NOT NULL, generation INTEGER NOT NULL, digest TEXT NOT NULL) STRICT;"
    "ALTER TABLE projects ADD COLUMN frozen_boot TEXT NOT NULL DEFAULT '';"
    "ALTER TABLE projects ADD COLUMN frozen_for INTEGER NOT NULL DEFAULT 0;",
    /* the question for which it was saved to disk, because nobody came */
    "ALTER TABLE projects ADD COLUMN stored_for INTEGER NOT NULL DEFAULT 0;",
    /* A layer belongs to the project in whose folder it lies; its parent may be another's. NULL: the base. */
    "CREATE TABLE layers (id INTEGER PRIMARY KEY AUTOINCREMENT, project TEXT NOT NULL, number INTEGER NOT "
    "NULL,"
    " parent INTEGER REFERENCES layers(id), frozen INTEGER NOT NULL, bytes INTEGER NOT NULL,"
    " UNIQUE (project, number)) STRICT;"
    "CREATE INDEX layers_parent ON layers (parent);"
    "CREATE TABLE snapshots (project TEXT NOT NULL REFERENCES projects(id) ON DELETE CASCADE, number INTEGER "
    "NOT NULL,"
    " layer INTEGER NOT NULL REFERENCES layers(id), parent INTEGER NOT NULL, memory TEXT, boot TEXT NOT NULL,"
    " cause TEXT NOT NULL, about TEXT NOT NULL, note TEXT NOT NULL, kept INTEGER NOT NULL,"
    " created_ns INTEGER NOT NULL, pause_ms INTEGER NOT NULL, consistent TEXT NOT NULL,"
    " generation INTEGER NOT NULL, machine TEXT NOT NULL, bytes INTEGER NOT NULL, made INTEGER NOT NULL,"
    " PRIMARY KEY (project, number)) STRICT;"
    "CREATE INDEX snapshots_layer ON snapshots (layer);"
    "ALTER TABLE projects ADD COLUMN layer INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE projects ADD COLUMN here INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE projects ADD COLUMN layer_last INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE projects ADD COLUMN snap_last INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE projects ADD COLUMN aim_layer INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE projects ADD COLUMN aim_snap INTEGER NOT NULL DEFAULT 0;"
    "INSERT INTO layers (project, number, parent, frozen, bytes) SELECT id, 0, NULL, 0, 0 FROM projects;",
    /* the request whose question it is a line of */
    "ALTER TABLE requests ADD COLUMN batch INTEGER NOT NULL DEFAULT 0;",
    /* what the last hour used of the budget, as budget_write says it */
    "CREATE TABLE budgets (project TEXT PRIMARY KEY REFERENCES projects(id) ON DELETE CASCADE, counters TEXT "
    "NOT NULL) STRICT;",
};

int state_fail(struct state *state, struct error **err)
{
    int code = sqlite3_errcode(state->db);

    if (code == SQLITE_FULL)
        return error_set(err, ERROR_NO_SPACE, "\"%s\": %s", state->path, sqlite3_errmsg(state->db));
    if (code == SQLITE_CORRUPT || code == SQLITE_NOTADB) {
        error_set(err, ERROR_CORRUPT, "\"%s\" is damaged: %s", state->path, sqlite3_errmsg(state->db));
        return error_hint(err, "put it aside (the machines' disks stay) and start again");
    }
    return error_set(err, ERROR_IO, "\"%s\": %s", state->path, sqlite3_errmsg(state->db));
}

int state_exec(struct state *state, const char *sql, struct error **err)
{
    if (sqlite3_exec(state->db, sql, NULL, NULL, NULL) != SQLITE_OK)
        return state_fail(state, err);
    return 0;
}

sqlite3_stmt *state_prepare(struct state *state, const char *sql, struct error **err)
{
    sqlite3_stmt *stmt = NULL;

    if (sqlite3_prepare_v2(state->db, sql, -1, &stmt, NULL) != SQLITE_OK)
        state_fail(state, err);
    return stmt;
}

int state_finish_stmt(struct state *state, sqlite3_stmt *stmt, struct error **err)
{
    int rc = sqlite3_step(stmt), code = 0;

    if (rc != SQLITE_DONE && rc != SQLITE_ROW)
        code = state_fail(state, err);
    sqlite3_finalize(stmt);
    return code;
}

/* The schema's version, -1 with err. */
static int schema_version(struct state *state, struct error **err)
{
    sqlite3_stmt *stmt = state_prepare(state, "PRAGMA user_version", err);
    int version = -1;

    if (!stmt)
        return -1;
    if (sqlite3_step(stmt) == SQLITE_ROW)
        version = sqlite3_column_int(stmt, 0);
    else
        state_fail(state, err);
    sqlite3_finalize(stmt);
    return version;
}

/* Takes the schema up to the present version, each step in a transaction of its own. */
static int migrate(struct state *state, struct error **err)
{
    int version = schema_version(state, err), known = (int)countof(migrations);

    if (version < 0)
        return -ERROR_CORRUPT;
    if (version > known) {
        error_set(err, ERROR_STATE,
                  "\"%s\" was written by a newer hutch (its version is %d, this one knows %d)", state->path,
                  version, known);
        return error_hint(err, "install that hutch again");
    }
    for (int i = version; i < known; i++) {
        autofree char *sql =
            xasprintf("BEGIN IMMEDIATE; %s PRAGMA user_version = %d; COMMIT", migrations[i], i + 1);
        int rc = state_exec(state, sql, err);

        if (rc < 0) {
            sqlite3_exec(state->db, "ROLLBACK", NULL, NULL, NULL);
            return rc;
        }
    }
    return 0;
}

/* Reads the installation's id, or makes it at the first start. */
static int load_installation(struct state *state, struct error **err)
{
    autofree char *fresh = units_random_hex(8);
    sqlite3_stmt *stmt = state_prepare(state, "INSERT OR IGNORE INTO meta VALUES ('installation', ?)", err);
    int rc;

    if (!stmt)
        return -ERROR_IO;
    sqlite3_bind_text(stmt, 1, fresh, -1, SQLITE_STATIC);
    rc = state_finish_stmt(state, stmt, err);
    if (rc < 0)
        return rc;
    stmt = state_prepare(state, "SELECT value FROM meta WHERE key = 'installation'", err);
    if (!stmt)
        return -ERROR_IO;
    if (sqlite3_step(stmt) == SQLITE_ROW)
        snprintf(state->installation, sizeof(state->installation), "%s",
                 (const char *)sqlite3_column_text(stmt, 0));
    else
        rc = error_set(err, ERROR_CORRUPT, "\"%s\" has no installation id", state->path);
    sqlite3_finalize(stmt);
    return rc;
}

int state_open(const char *path, struct state **ret_state, struct error **err)
{
    auto(state) struct state *state = xnew(struct state);
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_FULLMUTEX | SQLITE_OPEN_NOFOLLOW, rc;

    state->path = xstrdup(path);
    pthread_mutex_init(&state->lock, NULL);
    if (sqlite3_open_v2(path, &state->db, flags, NULL) != SQLITE_OK)
        return state->db ? state_fail(state, err) : error_set(err, ERROR_IO, "\"%s\" cannot be opened", path);
    sqlite3_busy_timeout(state->db, 5000);
    rc = state_exec(state,
                    "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; PRAGMA "
                    "cache_size = -256",
                    err);
    if (rc == 0)
        rc = migrate(state, err);
    if (rc == 0)
        rc = load_installation(state, err);
    if (rc < 0)
        return rc;
    *ret_state = steal(&state);
    return 0;
}

void state_close(struct state *state)
{
    if (!state)
        return;
    sqlite3_close(state->db);
    pthread_mutex_destroy(&state->lock);
    free(state->path);
    free(state);
}

const char *state_installation(const struct state *state)
{
    return state->installation;
}
