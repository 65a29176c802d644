/* The views that cover others: help, the palette, the acts of a row, the log of acts, a row's detail. */
#include "ui/model/app_state.h"
#include "ui/model/field.h"

#include "base/alloc.h"
#include "base/words.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* Acts of projects stand first, what only moves about last. */
static enum action action_at(size_t position)
{
    return (enum action)((position + ACTION_TERMINAL - 1) % (ACTION_COUNT - 1) + 1);
}

/* Help begins with what the view that it is about has keys of its own for. */
static enum action help_at(const struct app *app, size_t position)
{
    enum keymap map = view_table[app->target_view]->map;
    char key[24];
    for (int own = 1; own >= 0; own--)
        for (size_t i = 0; i < ACTION_COUNT - 1; i++)
            if (bindings_key(&app->settings.bindings, map, action_at(i), key) == own && position-- == 0)
                return action_at(i);
    return ACTION_NONE;
}

static size_t end_actions(const struct app *app)
{
    (void)app;
    return ACTION_COUNT - 1;
}

static uint64_t identity_action(const struct app *app, size_t position)
{
    (void)app;
    return action_at(position);
}

static char *label_action(const struct app *app, uint64_t identity)
{
    (void)app;
    return xstrdup(action_label(identity));
}

/* Whether a key gets to the nth of the target's maps: no map before it has the key, and it is not typed. */
static bool reaches(const struct app *app, const enum keymap *maps, int nth, const struct key_event *key)
{
    if (view_table[app->target_view]->flags & VIEW_TYPES && key->code < KEY_NAMED)
        return false;
    for (int i = 0; i < nth; i++)
        if (bindings_action(&app->settings.bindings, maps[i], key))
            return false;
    return true;
}

/* All keys of an act where the target is, with a blank between; "" if it has none. */
static void keys_of(const struct app *app, enum action action, struct cell_out *out)
{
    const struct bindings *bindings = &app->settings.bindings;
    enum keymap maps[4];
    size_t len = 0;
    out->text = out->room;
    out->room[0] = 0;
    out->style = STYLE_KEY;
    view_maps(view_table[app->target_view], maps);
    for (int i = 0; maps[i]; i++) {
        for (size_t j = 0; j < bindings->count; j++) {
            const struct binding *one = &bindings->list[j];
            char name[24];
            if (one->map != maps[i] || one->action != action || len + sizeof(name) + 1 > sizeof(out->room) ||
                !reaches(app, maps, i, &one->key))
                continue;
            key_name(&one->key, name);
            len += (size_t)snprintf(out->room + len, sizeof(out->room) - len, "%s%s", len ? " " : "", name);
        }
    }
}

enum { KEY, ACT, WHAT };
static const struct column columns_help[] = {
    [KEY] = {N_("KEY"), 14, false, 0, false, false},
    [ACT] = {N_("ACT"), 16, false, 1, false, false},
    [WHAT] = {N_("WHAT IT DOES"), 0, false, 0, false, false},
    {NULL},
};

static void cell_of(const struct app *app, enum action action, int column, struct cell_out *out)
{
    if (column == KEY)
        keys_of(app, action, out);
    else
        out->text = column == ACT ? action_table[action].name : action_help(action);
}

static void cell_action(const struct app *app, size_t position, int column, struct cell_out *out)
{
    cell_of(app, action_at(position), column, out);
}

/* ---- help ---- */

/* What an act does where one types, in the view's own words; NULL: in the usual ones. */
static const char *typed_word(const struct app *app, enum action action)
{
    const struct view *view = view_table[app->target_view];
    return view->flags & VIEW_TYPES && view->says ? view->says(app, app->target, action) : NULL;
}

static bool shows_help(const struct app *app, size_t position)
{
    struct cell_out out = {.text = ""};
    enum action action = help_at(app, position);
    const struct view *view = view_table[app->target_view];
    keys_of(app, action, &out);
    if (view->flags & VIEW_TYPES && action != ACTION_HELP && !typed_word(app, action))
        return false;
    return app_does(view, action) && *out.room;
}

static uint64_t identity_help(const struct app *app, size_t position)
{
    return help_at(app, position);
}

static void cell_help(const struct app *app, size_t position, int column, struct cell_out *out)
{
    enum action action = help_at(app, position);
    const char *word = column == WHAT ? typed_word(app, action) : NULL;
    cell_of(app, action, column, out);
    out->text = word ? word : out->text;
}

static const enum action bar_help[] = {ACTION_BACK, ACTION_SEARCH, ACTION_FILTER, ACTION_DOWN,
                                       ACTION_UP,   ACTION_QUIT,   ACTION_NONE};

const struct view view_help = {
    .name = "help",
    .title = N_("Help"),
    .flags = VIEW_LIST | VIEW_HEADER,
    .columns = columns_help,
    .bar = bar_help,
    .end = end_actions,
    .identity = identity_help,
    .shows = shows_help,
    .cell = cell_help,
    .label = label_action,
};

/* ---- palette ---- */

/* How well typed letters fit a name: all of them in this order, better at the starts of words and side by
 * side. -1: they do not. */
static int fuzzy(const char *typed, const char *name)
{
    int score = 0, run = 0;
    const char *start = name;
    for (; *typed; typed++) {
        if (*typed == ' ')
            continue;
        while (*name && tolower((unsigned char)*name) != tolower((unsigned char)*typed)) {
            name++;
            run = 0;
        }
        if (!*name)
            return -1;
        score += 10 + 5 * run++ + (name == start ? 20 : name[-1] == '-' || name[-1] == ' ' ? 12 : 0);
        name++;
    }
    return score * 4 - (int)strlen(start);
}

static int score_of(const struct app *app, size_t position)
{
    enum action action = action_at(position);
    int name = fuzzy(app->input.text, action_table[action].name);
    int label = fuzzy(app->input.text, action_label(action));
    return name > label ? name : label;
}

static bool shows_palette(const struct app *app, size_t position)
{
    enum action action = action_at(position);
    bool confirms = action == ACTION_YES || action == ACTION_NO;
    return app_does(view_table[app->target_view], action) && !confirms && action != ACTION_PALETTE &&
           (!app->input.len || score_of(app, position) >= 0);
}

static int64_t order_palette(const struct app *app, size_t position, int column)
{
    (void)column;
    return app->input.len ? score_of(app, position) : 0;
}

static void shown_palette(struct app *app, struct effects *effects)
{
    (void)effects;
    app->lists[VIEW_PALETTE].sort = 0;
}

/* Does what was chosen to what the cursor was on; Enter alone never does anything that is not asked. */
static void choose(struct app *app, enum action action, bool asked, struct effects *effects)
{
    app_pop(app, effects);
    const struct view *view = view_table[app->target_view];
    bool row = act_of_row(view, action) ||
               (view->flags & VIEW_PROJECT && act_of_row(view_table[VIEW_PROJECTS], action));
    if (row)
        act_begin(app, app->target_view, app->target, action, asked, effects);
    else
        app_do(app, action, effects);
}

static void open_palette(struct app *app, uint64_t identity, struct effects *effects)
{
    choose(app, (enum action)identity, true, effects);
}

static const struct column columns_palette[] = {
    [KEY] = {N_("KEY"), 14, false, 2, false, true},
    [ACT] = {N_("ACT"), 16, false, 0, false, false},
    [WHAT] = {N_("WHAT IT DOES"), 0, false, 1, false, false},
    {NULL},
};
static const char *says_choose(const struct app *app, uint64_t identity, enum action action)
{
    (void)app, (void)identity;
    return action == ACTION_OPEN ? _("choose") : NULL;
}

static const enum action bar_palette[] = {ACTION_OPEN, ACTION_CANCEL, ACTION_NONE};

const struct view view_palette = {
    .name = "palette",
    .title = N_("All acts"),
    .empty = N_("no act is called so"),
    .flags = VIEW_LIST | VIEW_HEADER,
    .columns = columns_palette,
    .bar = bar_palette,
    .end = end_actions,
    .identity = identity_action,
    .shows = shows_palette,
    .cell = cell_action,
    .order = order_palette,
    .label = label_action,
    .open = open_palette,
    .says = says_choose,
    .shown = shown_palette,
};

/* ---- acts of a row ---- */

static bool shows_act(const struct app *app, size_t position)
{
    const struct view *view = view_table[app->target_view];
    enum action action = action_at(position);
    return act_of_row(view, action) ||
           (view->flags & VIEW_PROJECT && act_of_row(view_table[VIEW_PROJECTS], action));
}

static void cell_act(const struct app *app, size_t position, int column, struct cell_out *out)
{
    enum action action = action_at(position);
    uint64_t row = app->target;
    enum view_id view = act_row(app, app->target_view, &row, action);
    const char *why = view_table[view]->able ? view_table[view]->able(app, row, action) : NULL;
    if (column < 3) {
        const char *word = view_table[view]->says ? view_table[view]->says(app, row, action) : NULL;
        cell_action(app, position, column, out);
        if (column == ACT)
            out->text = word ? word : action_label(action);
        if (column == WHAT && why) {
            snprintf(out->room, sizeof(out->room), _("not now: %s"), why);
            out->text = out->room;
        }
    } else {
        autofree char *twin = act_twin(app, view, row, action);
        snprintf(out->room, sizeof(out->room), "%s", twin ? twin : "");
        out->text = out->room;
    }
    if (why)
        out->style = STYLE_DIM;
}

static void open_act(struct app *app, uint64_t identity, struct effects *effects)
{
    choose(app, (enum action)identity, true, effects);
}

/* An act's own key does it from here too. */
static bool key_act(struct app *app, const struct key_event *key, struct effects *effects)
{
    enum keymap maps[4];
    view_maps(view_table[app->target_view], maps);
    for (int i = 0; key->type == KEY_EVENT_CODE && maps[i] && maps[i] != KEYMAP_EVERYWHERE; i++) {
        enum action action = bindings_action(&app->settings.bindings, maps[i], key);
        if (!action || !act_of_row(view_table[app->target_view], action))
            if (!action || !act_of_row(view_table[VIEW_PROJECTS], action))
                continue;
        choose(app, action, false, effects);
        return true;
    }
    return false;
}

static const struct column columns_acts[] = {
    [KEY] = {N_("KEY"), 8, false, 0, false, false},
    [ACT] = {N_("ACT"), 12, false, 0, false, false},
    [WHAT] = {N_("WHAT IT DOES"), 0, false, 1, false, false},
    {N_("COMMAND"), 28, false, 2, false, false},
    {NULL},
};
static const enum action bar_acts[] = {ACTION_OPEN, ACTION_BACK, ACTION_DOWN, ACTION_UP, ACTION_NONE};

const struct view view_actions = {
    .name = "actions",
    .title = N_("What can be done"),
    .flags = VIEW_LIST | VIEW_HEADER | VIEW_PROMPT,
    .columns = columns_acts,
    .bar = bar_acts,
    .end = end_actions,
    .identity = identity_action,
    .shows = shows_act,
    .cell = cell_act,
    .label = label_action,
    .open = open_act,
    .says = says_choose,
    .key = key_act,
};

/* ---- the log of acts ---- */

static size_t first_entry(const struct app *app)
{
    return app->entry_first;
}

static size_t end_entry(const struct app *app)
{
    return app->entry_end;
}

static uint64_t identity_entry(const struct app *app, size_t position)
{
    return act_entry(app, position)->number;
}

static const struct entry *find_entry(const struct app *app, uint64_t number)
{
    for (size_t at = app->entry_first; at < app->entry_end; at++)
        if (act_entry(app, at)->number == number)
            return act_entry(app, at);
    return NULL;
}

static const char *const entry_words[] = {
    [ENTRY_RUNS] = N_("runs"), [ENTRY_DONE] = N_("ok"), [ENTRY_FAILED] = N_("failed"), [ENTRY_SAID] = ""};
static const enum style entry_styles[] = {[ENTRY_RUNS] = STYLE_BUSY,
                                          [ENTRY_DONE] = STYLE_GOOD,
                                          [ENTRY_FAILED] = STYLE_BAD,
                                          [ENTRY_SAID] = STYLE_WARN};

static void cell_entry(const struct app *app, size_t position, int column, struct cell_out *out)
{
    const struct entry *entry = act_entry(app, position);
    if (column == 0) {
        field_clock(entry->ts_ns, out->room);
        out->text = out->room;
        out->style = STYLE_DIM;
    } else if (column == 1) {
        out->text = _(entry_words[entry->state]);
        out->style = entry_styles[entry->state];
    } else if (column == 2) {
        out->text = entry->command ? entry->command : entry->words;
        out->style = entry->command ? STYLE_NORMAL : STYLE_WARN;
    } else {
        out->text = entry->command ? entry->words : "";
        out->style = entry_styles[entry->state];
    }
}

static char *label_entry(const struct app *app, uint64_t number)
{
    const struct entry *entry = find_entry(app, number);
    return entry ? xstrdup(entry->command ? entry->command : entry->words) : NULL;
}

static void detail_entry(const struct app *app, uint64_t number, struct doc *out)
{
    const struct entry *entry = find_entry(app, number);
    char time[24];
    if (!entry)
        return;
    field_date(entry->ts_ns, time);
    doc_add(out, STYLE_NORMAL, _("when"), time);
    if (entry->command)
        doc_add(out, STYLE_NORMAL, _("command"), entry->command);
    if (*entry_words[entry->state])
        doc_add(out, entry_styles[entry->state], _("result"), _(entry_words[entry->state]));
    if (entry->ended_ns > entry->ts_ns) {
        field_duration((entry->ended_ns - entry->ts_ns) / 1000000, time);
        doc_add(out, STYLE_NORMAL, _("took"), time);
    }
    if (*entry->words)
        doc_add(out, entry_styles[entry->state], _("said"), entry->words);
}

static const struct column columns_log[] = {
    {N_("TIME"), 8, false, 1, false, false},
    {N_("HOW"), 6, false, 0, false, false},
    {N_("COMMAND"), 34, false, 0, false, false},
    {N_("WHAT WAS SAID"), 0, false, 0, false, false},
    {NULL},
};
static const enum action bar_log[] = {ACTION_OPEN,   ACTION_COPY, ACTION_BACK, ACTION_SEARCH,
                                      ACTION_FILTER, ACTION_HELP, ACTION_NONE};

const struct view view_history = {
    .name = "log",
    .title = N_("Acts so far"),
    .empty = N_("nothing was done from this screen yet"),
    .flags = VIEW_LOG | VIEW_HEADER,
    .columns = columns_log,
    .bar = bar_log,
    .first = first_entry,
    .end = end_entry,
    .identity = identity_entry,
    .cell = cell_entry,
    .label = label_entry,
    .copy = label_entry,
    .detail = detail_entry,
};

/* ---- the detail of a row ---- */

static size_t end_doc(const struct app *app)
{
    return app->doc.count;
}

static uint64_t identity_doc(const struct app *app, size_t position)
{
    (void)app;
    return position + 1;
}

static void cell_doc(const struct app *app, size_t position, int column, struct cell_out *out)
{
    const struct doc_line *line = &app->doc.lines[position];
    out->text = column == 0 ? line->label : line->text;
    out->style = column == 0 ? STYLE_DIM : line->style;
}

static char *copy_doc(const struct app *app, uint64_t identity)
{
    return identity <= app->doc.count ? xstrdup(app->doc.lines[identity - 1].text) : NULL;
}

static const struct column columns_doc[] = {
    {"", 12, false, 0, false, false}, {"", 0, false, 0, false, false}, {NULL}};
static const enum action bar_doc[] = {ACTION_BACK,   ACTION_COPY, ACTION_WRAP,
                                      ACTION_SEARCH, ACTION_HELP, ACTION_NONE};

const struct view view_detail = {
    .name = "detail",
    .title = N_("Detail"),
    .empty = N_("nothing more is known"),
    .flags = VIEW_LIST,
    .columns = columns_doc,
    .bar = bar_doc,
    .end = end_doc,
    .identity = identity_doc,
    .cell = cell_doc,
    .copy = copy_doc,
};
