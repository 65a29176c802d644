#include "ui/model/settings.h"

#include "base/alloc.h"
#include "base/text.h"
#include "base/words.h"
#include "ui/model/settings_file.h"

#include <string.h>

const struct option_info option_table[OPTION_COUNT] = {
#define X(id, section, key, kind, fallback, help)                                                            \
    [OPTION_##id] = {section, key, OPTION_KIND_##kind, fallback, help},
#include "ui/options.def"
#undef X
};
static const char *const themes[SETTINGS_THEMES + 1] = {"dark", "light", "16", "mono", NULL};
static const char *const yes_no[] = {"yes", "no", NULL};
static const char *const choice[] = {"auto", "yes", "no", NULL};

void settings_init(struct settings *settings)
{
    *settings = (struct settings){0};
    for (int i = 0; i < OPTION_COUNT; i++)
        settings->values[i] = xstrdup(option_table[i].fallback);
    bindings_init(&settings->bindings);
}

void settings_finish(struct settings *settings)
{
    for (int i = 0; i < OPTION_COUNT; i++)
        free(settings->values[i]);
    bindings_finish(&settings->bindings);
    *settings = (struct settings){0};
}

/* ERROR_INVALID that names what could have been meant. */
static int unknown(struct error **err, const char *what, const char *word, const char *const *known)
{
    const char *nearest = text_nearest(word, known);
    return nearest
               ? error_set(err, ERROR_INVALID, _("there is no %s \"%s\"; \"%s\" is one"), what, word, nearest)
               : error_set(err, ERROR_INVALID, _("there is no %s \"%s\""), what, word);
}

static bool is_one_of(const char *value, const char *const *list)
{
    for (; *list; list++)
        if (!strcmp(*list, value))
            return true;
    return false;
}

static int check_value(enum option option, const char *value, struct error **err)
{
    static const char *const *const lists[] = {[OPTION_KIND_YES_NO] = yes_no,
                                               [OPTION_KIND_THEME] = themes,
                                               [OPTION_KIND_KEY] = NULL,
                                               [OPTION_KIND_CHOICE] = choice};
    const char *const *list = lists[option_table[option].kind];
    struct key_event key = {0};
    if (!list)
        return strcmp(value, "none") == 0 ? 0 : key_parse(value, &key, err);
    return is_one_of(value, list) ? 0
                                  : error_set(err, ERROR_INVALID, _("%s cannot be \"%s\" (%s)"),
                                              option_table[option].key, value, _(option_table[option].help));
}

static int set_option(struct settings *settings, const struct setting_line *line, struct error **err)
{
    const char *known[OPTION_COUNT + 1] = {NULL};
    for (int i = 0; i < OPTION_COUNT; i++) {
        known[i] = option_table[i].key;
        if (strcmp(option_table[i].key, line->key) != 0)
            continue;
        int rc = check_value((enum option)i, line->value, err);
        if (rc == 0) {
            free(settings->values[i]);
            settings->values[i] = xstrdup(line->value);
        }
        return rc;
    }
    return unknown(err, _("setting"), line->key, known);
}

static int set_keys(struct settings *settings, const struct setting_line *line, struct error **err)
{
    enum keymap map = KEYMAP_NONE;
    if (line->name) {
        for (map = KEYMAP_NONE + 1; map < KEYMAP_COUNT; map++)
            if (!strcmp(keymap_names[map], line->name))
                break;
        if (map == KEYMAP_COUNT)
            return unknown(err, _("map of keys"), line->name, keymap_names + 1);
    }
    enum action action = action_find(line->key);
    if (action)
        return bindings_set(&settings->bindings, map, action, line->value, err);
    const char *known[ACTION_COUNT] = {NULL};
    for (int i = 1; i < ACTION_COUNT; i++)
        known[i - 1] = action_table[i].name;
    return unknown(err, _("act"), line->key, known);
}

static int take_line(const struct setting_line *line, void *user, struct error **err)
{
    static const char *const sections[] = {"screen", "keys", NULL};
    if (!strcmp(line->section, "screen") && !line->name)
        return set_option(user, line, err);
    if (!strcmp(line->section, "keys"))
        return set_keys(user, line, err);
    return unknown(err, _("section"), line->section, sections);
}

int settings_read(struct settings *settings, const char *text, size_t len, struct error **err)
{
    struct settings new;
    settings_init(&new);
    int rc = settings_file_read(text, len, take_line, &new, err);
    if (rc == 0)
        rc = bindings_check(&new.bindings, err);
    if (rc < 0) {
        error_hint(err, _("the settings stay as they were"));
        settings_finish(&new);
        return rc;
    }
    settings_finish(settings);
    *settings = new;
    return 0;
}

bool settings_yes(const struct settings *settings, enum option option)
{
    return !strcmp(settings->values[option], "yes");
}

int settings_theme(const struct settings *settings)
{
    int theme = 0;
    while (theme < SETTINGS_THEMES - 1 && strcmp(themes[theme], settings->values[OPTION_THEME]) != 0)
        theme++;
    return theme;
}

const char *settings_theme_name(int theme)
{
    return themes[theme];
}
