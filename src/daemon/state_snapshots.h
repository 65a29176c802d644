/* state_snapshots.h: layers and snapshots in state.db. A layer is one qcow2 file, written by its project
 * until it is frozen; it is known by its row's id, lies in its project's folder under its number, and stands
 * on its parent (none: on the project's base). A snapshot is a frozen layer with a number, shown as @N.
 * Changes that belong to a step are functions for state_save_with, so that step and rows are one transaction;
 * the others are committed when they return. Thread-safe by the state's lock. */
#ifndef HUTCH_DAEMON_STATE_SNAPSHOTS_H
#define HUTCH_DAEMON_STATE_SNAPSHOTS_H

#include "daemon/state.h"

#define SNAPSHOT_NOTE_MAX 1024
#define SNAPSHOTS_MAX     4096 /* of a project */
#define SNAPSHOT_CAUSES   "person", "turn", "gate", "restore", "schedule", "fork", "call"
#define SNAPSHOT_WHOLE    "fs-frozen" /* consistent: its file systems stood still */
#define SNAPSHOT_OFF      "off"       /* the machine was off */
#define SNAPSHOT_CRASH    "crash"     /* as if the power had gone */
#define SNAPSHOT_LIVE     "memory"    /* the programs stood still, and are in the image */

struct snapshot_row {
    int64_t number;
    int64_t layer;        /* id of its frozen layer */
    int64_t layer_number; /* that layer's place: loading sets these two */
    char layer_project[PROJECT_ID_MAX];
    int64_t parent; /* number of the snapshot on which the present stood then; 0: none */
    char *memory;   /* name of the image in the project's folder, or NULL */
    char boot[17];
    char cause[16]; /* one of SNAPSHOT_CAUSES */
    char *about;    /* the cause in words, or "" */
    char *note;     /* a person's, or "" */
    bool kept;      /* a person made it: nothing removes it by itself */
    bool made;      /* it is whole */
    int64_t created_ns, pause_ms;
    char consistent[16];
    int64_t generation; /* of the policy then */
    char *machine;      /* what a memory image needs to be the same; "" without one */
    uint64_t bytes;     /* of the memory image */
    unsigned children;  /* layers that stand on its layer; set by loading */
};
void snapshot_row_copy(struct snapshot_row *to, const struct snapshot_row *from);
void snapshot_row_finish(struct snapshot_row *row);

/* Calls fn for each that is whole, oldest first; fn copies what it keeps. The state is locked meanwhile. */
int state_snapshots_each(struct state *state, const char *project,
                         void (*fn)(const struct snapshot_row *row, void *user), void *user,
                         struct error **err);
/* One that is whole (unfinished: or not). ERROR_NOT_FOUND names it. snapshot_row_finish frees. */
int state_snapshot_load(struct state *state, const char *project, int64_t number, bool unfinished,
                        struct snapshot_row *ret_row, struct error **err);
int state_snapshot_note(struct state *state, const char *project, int64_t number, const char *note,
                        struct error **err);

/* A layer's place. */
struct layer_row {
    int64_t id, parent, number; /* parent: id, 0 for none */
    char project[PROJECT_ID_MAX];
    bool frozen;
};
/* From a layer down to the base, top first. *ret is the caller's to free. ERROR_NOT_FOUND: there is no such
 * layer; ERROR_CORRUPT: more than LAYER_DEPTH_MAX. */
int state_layers_path(struct state *state, const char *project, int64_t number, struct layer_row **ret,
                      size_t *ret_count, struct error **err);
/* All layers of a project, oldest first. *ret is the caller's to free. */
int state_layers(struct state *state, const char *project, struct layer_row **ret, size_t *ret_count,
                 struct error **err);

/* A frozen layer of the project that no snapshot is of, and on which at most one layer stands; of those, the
 * oldest whose id is greater than after. *ret_child: that one layer (id 0: none), *ret_parent: the layer
 * below (id 0: the base). ERROR_NOT_FOUND: there is none. */
int state_layer_spare(struct state *state, const char *project, int64_t after, struct layer_row *ret_layer,
                      struct layer_row *ret_child, struct layer_row *ret_parent, struct error **err);

/* ---- for state_save_with; user: struct snapshot_change ---- */
struct snapshot_change {
    const char *project;
    const struct snapshot_row *row;
    int64_t layer; /* number of the layer that is written now */
    int64_t next;  /* … and of the one to be */
};
/* row, of `layer`, begins to be; `next` stands on `layer`. */
int state_snapshot_begin(struct state *state, void *user, struct error **err);
/* row is whole (its pause, consistency, memory count from now on), `layer` frozen. */
int state_snapshot_end(struct state *state, void *user, struct error **err);
/* Forgets row and `next`. */
int state_snapshot_undo(struct state *state, void *user, struct error **err);
/* `next` stands on row's layer. */
int state_layer_begin(struct state *state, void *user, struct error **err);
/* Forgets `layer`, upon which nothing stands. */
int state_layer_forget(struct state *state, void *user, struct error **err);

/* Forgets row; what was made on it was made on its parent from now on. */
int state_snapshot_forget(struct state *state, void *user, struct error **err);
/* Forgets `layer`; what stands on it stands on what is below it. */
int state_layer_bridge(struct state *state, void *user, struct error **err);

#endif
