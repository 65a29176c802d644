#include "ui/model/action.h"

#include "base/alloc.h"
#include "base/words.h"

#include <string.h>

const struct action_info action_table[ACTION_COUNT] = {
#define X(id, name, label, help, weight, twin) [ACTION_##id] = {name, label, help, WEIGHT_##weight, twin},
#include "ui/actions.def"
#undef X
};

const char *const keymap_names[KEYMAP_COUNT + 1] = {
    [KEYMAP_EVERYWHERE] = "everywhere",
    [KEYMAP_CONFIRM] = "confirm",
    [KEYMAP_PROJECT] = "project",
    [KEYMAP_TEMPLATE] = "template",
    [KEYMAP_EXEC] = "exec",
    [KEYMAP_NET] = "net",
    [KEYMAP_RULES] = "rules",
    [KEYMAP_REQUESTS] = "requests",
    [KEYMAP_REQUEST] = "request",
    [KEYMAP_GIT] = "git",
    [KEYMAP_REVIEW] = "review",
};

static const struct {
    enum keymap map;
    const char *key;
    enum action action;
} key_table[] = {
#define X(map, key, action) {KEYMAP_##map, key, ACTION_##action},
#include "ui/keys.def"
#undef X
};

const char *action_label(enum action action)
{
    return _(action_table[action].label);
}

const char *action_help(enum action action)
{
    return _(action_table[action].help);
}

enum action action_find(const char *name)
{
    for (int action = ACTION_NONE + 1; action < ACTION_COUNT; action++)
        if (!strcmp(action_table[action].name, name))
            return action;
    return ACTION_NONE;
}

static void add(struct bindings *bindings, enum keymap map, const struct key_event *key, enum action action)
{
    bindings->list = xrealloc(bindings->list, bindings->count + 1, sizeof(*bindings->list));
    bindings->list[bindings->count++] = (struct binding){.map = map, .key = *key, .action = action};
}

void bindings_init(struct bindings *bindings)
{
    *bindings = (struct bindings){0};
    for (size_t i = 0; i < countof(key_table); i++) {
        struct key_event key = {0};
        require(key_parse(key_table[i].key, &key, NULL) == 0);
        add(bindings, key_table[i].map, &key, key_table[i].action);
    }
}

void bindings_finish(struct bindings *bindings)
{
    free(bindings->list);
    *bindings = (struct bindings){0};
}

void bindings_copy(struct bindings *to, const struct bindings *from)
{
    to->list = xmemdup(from->list, from->count * sizeof(*from->list));
    to->count = from->count;
}

enum action bindings_action(const struct bindings *bindings, enum keymap map, const struct key_event *key)
{
    for (size_t i = 0; i < bindings->count; i++)
        if (bindings->list[i].map == map && key_equal(&bindings->list[i].key, key))
            return bindings->list[i].action;
    return ACTION_NONE;
}

bool bindings_key(const struct bindings *bindings, enum keymap map, enum action action, char ret[24])
{
    for (size_t i = 0; i < bindings->count; i++) {
        if (bindings->list[i].map == map && bindings->list[i].action == action) {
            key_name(&bindings->list[i].key, ret);
            return true;
        }
    }
    return false;
}

bool key_reserved(const struct key_event *key)
{
    return key->type == KEY_EVENT_CODE && key->mods == KEY_CTRL && key->code && key->code < 128 &&
           strchr("zcsq", (int)key->code);
}

int bindings_check(const struct bindings *bindings, struct error **err)
{
    for (size_t i = 0; i < bindings->count; i++) {
        const struct binding *one = &bindings->list[i];
        for (size_t j = 0; j < i; j++) {
            const struct binding *other = &bindings->list[j];
            char name[24];
            if (other->map != one->map || !key_equal(&other->key, &one->key))
                continue;
            key_name(&one->key, name);
            return error_set(err, ERROR_INVALID, _("the key \"%s\" is \"%s\" and \"%s\" in [keys %s]"), name,
                             action_table[other->action].name, action_table[one->action].name,
                             keymap_names[one->map]);
        }
    }
    return 0;
}

/* Whether an act has a key in a map by keys.def: there a person may give it others. */
static bool belongs(enum keymap map, enum action action)
{
    for (size_t i = 0; i < countof(key_table); i++)
        if (key_table[i].map == map && key_table[i].action == action)
            return true;
    return false;
}

static void drop(struct bindings *bindings, enum keymap map, enum action action)
{
    size_t kept = 0;
    for (size_t i = 0; i < bindings->count; i++)
        if (bindings->list[i].map != map || bindings->list[i].action != action)
            bindings->list[kept++] = bindings->list[i];
    bindings->count = kept;
}

/* Appends the keys of a list of names. */
static int add_names(struct bindings *bindings, enum keymap map, enum action action, const char *keys,
                     struct error **err)
{
    autofree char *copy = xstrdup(keys);
    char *rest = NULL;
    for (char *word = strtok_r(copy, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
        struct key_event key = {0};
        if (key_parse(word, &key, err) < 0)
            return -ERROR_INVALID;
        if (key_reserved(&key))
            return error_set(err, ERROR_INVALID,
                             _("the key \"%s\" belongs to the terminal; choose another one"), word);
        add(bindings, map, &key, action);
    }
    return 0;
}

int bindings_set(struct bindings *bindings, enum keymap map, enum action action, const char *keys,
                 struct error **err)
{
    struct bindings changed;
    int rc = 0;
    bool any = false;
    bindings_copy(&changed, bindings);
    for (enum keymap one = KEYMAP_NONE + 1; one < KEYMAP_COUNT && rc == 0; one++) {
        if (map == KEYMAP_NONE ? !belongs(one, action) : one != map)
            continue;
        any = true;
        drop(&changed, one, action);
        if (strcmp(keys, "none") != 0)
            rc = add_names(&changed, one, action, keys, err);
    }
    if (rc == 0 && !any) /* reached by the palette alone until now */
        rc = add_names(&changed, KEYMAP_EVERYWHERE, action, strcmp(keys, "none") != 0 ? keys : "", err);
    if (rc < 0) {
        bindings_finish(&changed);
        return rc;
    }
    bindings_finish(bindings);
    *bindings = changed;
    return 0;
}
