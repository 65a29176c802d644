/* settings.h: the person's configuration of the screen: the options of ui/options.def and the keys. */
#ifndef HUTCH_UI_SETTINGS_H
#define HUTCH_UI_SETTINGS_H

#include "ui/model/action.h"

enum option {
#define X(id, section, key, kind, fallback, help) OPTION_##id,
#include "ui/options.def"
#undef X
    OPTION_COUNT
};
enum option_kind { OPTION_KIND_YES_NO, OPTION_KIND_THEME, OPTION_KIND_KEY, OPTION_KIND_CHOICE };
struct option_info {
    const char *section, *key;
    enum option_kind kind;
    const char *fallback, *help;
};
extern const struct option_info option_table[OPTION_COUNT];

struct settings {
    char *values[OPTION_COUNT];
    struct bindings bindings;
};
void settings_init(struct settings *settings);
void settings_finish(struct settings *settings);
/* Takes the text of screen.ini in place of what was read before. ERROR_INVALID with file, line and column;
 * the settings stay as they were then. */
int settings_read(struct settings *settings, const char *text, size_t len, struct error **err);
bool settings_yes(const struct settings *settings, enum option option);
/* The theme's number (enum theme of ui/term/term.h, which the model may not include): 0 dark, 1 light, 2 16
 * colours, 3 mono. */
#define SETTINGS_THEMES 4
int settings_theme(const struct settings *settings);
const char *settings_theme_name(int theme);

#endif
