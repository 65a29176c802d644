/* action.h: the acts of the screen and the keys that name them: the tables of ui/actions.def and ui/keys.def,
 * and the bindings in force (the tables with the person's changes). */
#ifndef HUTCH_UI_ACTION_H
#define HUTCH_UI_ACTION_H

#include "base/error.h"
#include "ui/grid/key.h"

enum action {
    ACTION_NONE,
#define X(id, name, label, help, weight, twin) ACTION_##id,
#include "ui/actions.def"
#undef X
    ACTION_COUNT
};
/* How much is asked before an act: nothing; nothing, but the way back is said; y/n with "no" as the answer of
 * every other key; the name must be typed. */
enum weight { WEIGHT_NONE, WEIGHT_MILD, WEIGHT_MODERATE, WEIGHT_SEVERE };

struct action_info {
    const char *name, *label, *help;
    enum weight weight;
    const char *twin;
};
/* Indexed by enum action; ACTION_NONE is empty. */
extern const struct action_info action_table[ACTION_COUNT];
/* What an act is called in bars, and what it does, in the person's language. */
const char *action_label(enum action action);
const char *action_help(enum action action);
/* By its name, or ACTION_NONE. */
enum action action_find(const char *name);

enum keymap {
    KEYMAP_NONE,
    KEYMAP_EVERYWHERE,
    KEYMAP_CONFIRM,
    KEYMAP_PROJECT,
    KEYMAP_TEMPLATE,
    KEYMAP_EXEC,
    KEYMAP_NET,
    KEYMAP_RULES,
    KEYMAP_REQUESTS,
    KEYMAP_REQUEST,
    KEYMAP_GIT,
    KEYMAP_REVIEW,
    KEYMAP_COUNT
};
extern const char *const keymap_names[KEYMAP_COUNT + 1]; /* NULL-ended after the first */

struct binding {
    enum keymap map;
    struct key_event key;
    enum action action;
};
struct bindings {
    struct binding *list;
    size_t count;
};
/* The bindings of keys.def. bindings_finish frees. */
void bindings_init(struct bindings *bindings);
void bindings_finish(struct bindings *bindings);
void bindings_copy(struct bindings *to, const struct bindings *from);
/* The act of a key in one map, or ACTION_NONE. */
enum action bindings_action(const struct bindings *bindings, enum keymap map, const struct key_event *key);
/* The name of the first key of an act in a map into ret (24 bytes); false: there is none. */
bool bindings_key(const struct bindings *bindings, enum keymap map, enum action action, char ret[24]);
/* Gives an act other keys: keys is a list of names with blanks between, or "none". map KEYMAP_NONE: in each
 * map that has the act. ERROR_INVALID: an unknown key, or one that is never bound; the bindings are as before
 * then. A key that has two acts now is bindings_check's to find. */
int bindings_set(struct bindings *bindings, enum keymap map, enum action action, const char *keys,
                 struct error **err);
/* The first key that is bound twice in one map, as ERROR_INVALID; 0: none is. */
int bindings_check(const struct bindings *bindings, struct error **err);
/* Whether a key may never be bound: ^Z ^C ^S ^Q. */
bool key_reserved(const struct key_event *key);

#endif
