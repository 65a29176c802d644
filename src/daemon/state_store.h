/* state_store.h: what the files of state.db share; nobody else includes it. */
#ifndef HUTCH_DAEMON_STATE_STORE_H
#define HUTCH_DAEMON_STATE_STORE_H

#include "daemon/state.h"

#include <pthread.h>
#include <sqlite3.h>

struct state {
    sqlite3 *db;
    char *path;
    pthread_mutex_t lock; /* around every transaction and every statement with its error text */
    char installation[20];
};

/* Turns SQLite's last error into an error object; returns its negative code. */
int state_fail(struct state *state, struct error **err);
int state_exec(struct state *state, const char *sql, struct error **err);
/* A statement, or NULL with err. */
sqlite3_stmt *state_prepare(struct state *state, const char *sql, struct error **err);
/* Runs a statement that gives no rows, and frees it. */
int state_finish_stmt(struct state *state, sqlite3_stmt *stmt, struct error **err);

#endif
