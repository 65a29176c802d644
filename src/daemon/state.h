/* state.h: state.db, the durable record of intent (SQLite): which projects there are, and which step of which
 * operation was begun. Every change is committed and synced when a function returns. Thread-safe by a lock of
 * its own. */
#ifndef HUTCH_DAEMON_STATE_H
#define HUTCH_DAEMON_STATE_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PROJECT_ID_MAX   16 /* with the terminator */
#define PROJECT_NAME_MAX 40

enum operation {
    OPERATION_NONE,
    OPERATION_UP,
    OPERATION_WAKE,
    OPERATION_SUSPEND,
    OPERATION_STOP,
    OPERATION_REMOVE,
    OPERATION_SNAP,
    OPERATION_RESTORE,
    OPERATION_SNAPRM,
    OPERATION_FORK
};

enum step {
    STEP_NONE, /* nothing is under way */
#define X(name, word, operation, about) STEP_##name,
#include "daemon/steps.def"
#undef X
    STEP_COUNT
};
/* Tables of steps.def. step_from_name: STEP_NONE for an unknown name. */
const char *step_name(enum step step);
const char *step_about(enum step step);
enum operation step_operation(enum step step);
enum step step_from_name(const char *name);

/* A repository of a project. */
struct repo_row {
    char *name;   /* in the project */
    char *spec;   /* as asked for: "URL-or-PATH#REF" */
    char *remote; /* URL that the guest sees; NULL until known */
    char *ref;    /* full name, "" for a bare commit; NULL until known */
    char *commit; /* NULL until known, "" when empty */
    char *target; /* work tree in the guest */
    bool done;    /* it is checked out */
};
void repo_row_copy(struct repo_row *to, const struct repo_row *from);
void repo_row_finish(struct repo_row *row);

/* What is recorded of a project. */
struct record {
    char id[PROJECT_ID_MAX];
    char uuid[37];
    char name[PROJECT_NAME_MAX];
    char *folder;         /* on the host; NULL: none */
    char *template;       /* its name */
    char base[65];        /* digest of the base it stands on; "" until known */
    char *user;           /* the guest's user */
    char *cpu_model;      /* or NULL */
    char *kernel_options; /* or NULL */
    unsigned cpus;
    uint64_t memory, disk;
    int64_t created_ns;
    bool made;            /* its first `up` went through once */
    enum step step;       /* begun and not finished */
    bool saved;           /* suspend.img is the machine's present state */
    char frozen_boot[17]; /* it was made to stand still in this boot … */
    int64_t frozen_for;   /* … for this request; 0: it was not. Recorded before, cleared after */
    int64_t stored_for;   /* while saved: for this request, whose answer wakes it; 0: a person saved it */
    char boot[17];        /* this boot: made at each cold start */
    char *failure;        /* why the last operation failed, or NULL */
    int64_t layer;        /* its disk is layers.h's layer of this number … */
    int64_t here;         /* … which stands on the snapshot of this number; 0: on none */
    int64_t layer_last, snap_last; /* the numbers that were given last; none is ever given again */
    int64_t aim_layer, aim_snap;   /* what the step under way makes or goes to; 0: nothing */
    struct repo_row *repos;
    size_t repo_count;
};
/* Deep copy into an empty struct; finish frees what it holds, not the struct. */
void record_copy(struct record *to, const struct record *from);
void record_finish(struct record *record);
/* It was made to stand still for a request in this very boot. */
bool record_is_frozen(const struct record *record);

struct state;
/* Opens or creates, and brings an older schema up to date. ERROR_STATE when a newer hutch made it,
 * ERROR_CORRUPT when SQLite says so. */
int state_open(const char *path, struct state **ret_state, struct error **err);
void state_close(struct state *state);
AUTO_DEFINE(state, struct state *, state_close);
/* Id of this installation (16 hex digits), made at creation. Belongs to the state. */
const char *state_installation(const struct state *state);

/* Writes a record and its repositories as one transaction, new or not. ERROR_EXISTS: another project has the
 * name. */
int state_save(struct state *state, const struct record *record, struct error **err);
/* The same, with what more writes in that transaction (its negative code undoes all of it). more runs with
 * the state locked: state_store.h. */
typedef int (*state_more_fn)(struct state *state, void *user, struct error **err);
int state_save_with(struct state *state, const struct record *record, state_more_fn more, void *user,
                    struct error **err);
/* Forgets a project with all that belongs to it. */
int state_delete(struct state *state, const char *id, struct error **err);
/* Calls fn for each project in order of creation; fn copies what it keeps. */
int state_load(struct state *state, void (*fn)(const struct record *record, void *user), void *user,
               struct error **err);

/* The next key of a guest's port (wire/hello.h). load: false if none is recorded. forget: at a cold start. */
bool state_key_load(struct state *state, const char *id, uint32_t port, uint8_t key[32]);
int state_key_save(struct state *state, const char *id, uint32_t port, const uint8_t key[32],
                   struct error **err);
int state_key_forget(struct state *state, const char *id, struct error **err);

/* Sessions whose end is not in the journal yet. */
struct session_row {
    char id[40];
    int64_t started_ns;
    bool pty;
    char *subject;
};
int state_session_save(struct state *state, const char *project, const struct session_row *row,
                       struct error **err);
int state_session_forget(struct state *state, const char *project, const char *session, struct error **err);
int state_session_each(struct state *state, const char *project,
                       void (*fn)(const struct session_row *row, void *user), void *user, struct error **err);

#endif
