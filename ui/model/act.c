/* Acts on rows: is the row there, can it be done, is it meant; and the log of what was done. */
#include "ui/model/app_state.h"

#include "base/alloc.h"
#include "base/text.h"
#include "base/words.h"

#include <string.h>

static void free_words(struct act_words *words)
{
    free(words->warning);
    free(words->question);
    free(words->way_back);
    *words = (struct act_words){0};
}

void act_cancel(struct app *app)
{
    free_words(&app->confirm.words);
    free(app->confirm.name);
    many_free(&app->confirm);
    app->confirm = (struct confirm){0};
    if (app->input_use == INPUT_NAME)
        app->input_use = INPUT_NONE;
    app->changed = true;
}

bool act_of_row(const struct view *view, enum action action)
{
    for (const enum action *one = view->acts; one && *one; one++)
        if (*one == action)
            return true;
    return false;
}

enum view_id act_row(const struct app *app, enum view_id view, uint64_t *identity, enum action action)
{
    const struct view *of = view_table[view];
    if (act_of_row(of, action) || !act_of_row(view_table[VIEW_PROJECTS], action))
        return view;
    *identity = of->project ? of->project(app, *identity) : app->selected;
    return VIEW_PROJECTS;
}

bool act_now(const struct app *app, enum view_id view, enum action action)
{
    uint64_t identity = app_cursor(app, view);
    const struct view *of = view_table[act_row(app, view, &identity, action)];
    if (!act_of_row(of, action))
        return true;
    if (many_wanted(app, view, action))
        return many_able(app, view, action);
    return identity && !app->lists[view].gone && !(of->able && of->able(app, identity, action));
}

const char *act_label(const struct app *app, enum view_id view, enum action action)
{
    uint64_t identity = app_cursor(app, view);
    const struct view *of = view_table[act_row(app, view, &identity, action)];
    const char *word = of->says ? of->says(app, identity, action) : NULL;
    return word ? word : action_label(action);
}

/* "{project}" and "{session}" of a twin in a row's words. */
static char *fill_in(const char *twin, const char *project, const char *session)
{
    struct buf out;
    buf_init(&out, 0);
    while (*twin) {
        size_t plain = strcspn(twin, "{");
        buf_append(&out, twin, plain, NULL);
        twin += plain;
        const char *end = strchr(twin, '}');
        if (!end)
            break;
        buf_printf(&out, NULL, "%s", strncmp(twin, "{project}", 9) == 0 ? project : session);
        twin = end + 1;
    }
    return buf_take_string(&out);
}

char *act_twin(const struct app *app, enum view_id view, uint64_t identity, enum action action)
{
    const struct view *of = view_table[view];
    char *own = of->twin ? of->twin(app, identity, action) : NULL;
    if (own || !*action_table[action].twin)
        return own;
    uint64_t number = of->project ? of->project(app, identity) : app->selected;
    const struct project *project = projects_find(&app->projects, number);
    autofree char *label = of->label ? of->label(app, identity) : NULL;
    return fill_in(action_table[action].twin, project ? project->name : "", label ? label : "");
}

/* ---- doing it ---- */

/* The name of a row, NULL if there is none such. */
static char *name_of(const struct app *app, enum view_id view, uint64_t identity)
{
    const struct view *of = view_table[view];
    return identity && of->label ? of->label(app, identity) : NULL;
}

static void perform(struct app *app, enum view_id view, uint64_t identity, enum action action,
                    const char *way_back, struct effects *effects)
{
    if (!view_table[view]->act || !view_table[view]->act(app, identity, action, effects)) {
        app_say(app, STYLE_WARN, _("%s does not work here"), action_label(action));
        return;
    }
    if (way_back) {
        app_say(app, STYLE_NORMAL, "%s", way_back);
        app->notice_about = view == VIEW_PROJECTS ? identity : 0;
    }
    app->changed = true;
}

/* Refuses what was meant for a row that went away. */
static bool refuse_gone(struct app *app, enum view_id view, uint64_t identity)
{
    struct list *list = &app->lists[view];
    if (!list->gone || (identity && list->cursor != identity))
        return false;
    list->gone = false;
    autofree char *now = name_of(app, view, list->cursor);
    const char *gone = list->gone_name ? list->gone_name : _("the row");
    if (now)
        app_say(app, STYLE_WARN, _("nothing was done: \"%s\" went away; the cursor is on \"%s\" now"), gone,
                now);
    else
        app_say(app, STYLE_WARN, _("nothing was done: \"%s\" went away"), gone);
    return true;
}

/* Asks first. */
static void ask(struct app *app, const struct confirm *confirm)
{
    act_cancel(app);
    app->confirm = *confirm;
    app->confirm.on = true;
    if (!app->confirm.words.question)
        app->confirm.words.question = xasprintf(_("%s %s?"), action_label(confirm->action), confirm->name);
    if (confirm->weight == WEIGHT_SEVERE) {
        app->input_use = INPUT_NAME;
        input_set(&app->input, "");
    }
}

static void begin_many(struct app *app, enum view_id view, enum action action, bool asked,
                       struct effects *effects)
{
    struct confirm confirm;
    if (!many_begin(app, view, action, asked, &confirm))
        return;
    ask(app, &confirm);
    if (confirm.weight > WEIGHT_MILD)
        return;
    many_go_on(app, &app->confirm, effects);
    act_cancel(app);
}

void act_begin(struct app *app, enum view_id view, uint64_t identity, enum action action, bool asked,
               struct effects *effects)
{
    if (demo_takes(app, action, effects))
        return;
    if (many_wanted(app, view, action)) {
        begin_many(app, view, action, asked, effects);
        return;
    }
    view = act_row(app, view, &identity, action);
    const struct view *of = view_table[view];
    if (refuse_gone(app, view, identity))
        return;
    autofree char *name = name_of(app, view, identity);
    if (!name) {
        bool gone = identity && app->lists[view].gone_name;
        app_say(app, STYLE_WARN,
                gone ? _("nothing was done: \"%s\" went away") : _("there is nothing here to %s"),
                gone ? app->lists[view].gone_name : action_label(action));
        return;
    }
    const char *why = of->able ? of->able(app, identity, action) : NULL;
    if (why) {
        app_say(app, STYLE_WARN, "%s: %s", name, why);
        return;
    }
    struct confirm confirm = {.action = action, .view = view, .identity = identity};
    confirm.weight = action_table[action].weight;
    if (confirm.weight == WEIGHT_MILD && asked)
        confirm.weight = WEIGHT_MODERATE;
    if (of->words)
        of->words(app, identity, action, &confirm.words);
    if (confirm.weight <= WEIGHT_MILD) {
        perform(app, view, identity, action, confirm.words.way_back, effects);
        free_words(&confirm.words);
        return;
    }
    confirm.name = steal(&name);
    ask(app, &confirm);
}

/* Yes was said: the row must be the one that was meant, and still be able. */
static void go_on(struct app *app, struct effects *effects)
{
    struct confirm confirm = app->confirm;
    if (confirm.count) {
        many_go_on(app, &confirm, effects);
        act_cancel(app);
        return;
    }
    autofree char *name = name_of(app, confirm.view, confirm.identity);
    const struct view *of = view_table[confirm.view];
    const char *why = name && of->able ? of->able(app, confirm.identity, confirm.action) : NULL;
    if (!name)
        app_say(app, STYLE_WARN, _("nothing was done: \"%s\" went away"), confirm.name);
    else if (strcmp(name, confirm.name) != 0)
        app_say(app, STYLE_WARN, _("nothing was done: \"%s\" is \"%s\" now"), confirm.name, name);
    else if (why)
        app_say(app, STYLE_WARN, _("nothing was done: %s: %s"), name, why);
    else
        perform(app, confirm.view, confirm.identity, confirm.action, NULL, effects);
    act_cancel(app);
}

static void answer_name(struct app *app, const struct key_event *key, struct effects *effects)
{
    enum input_result result = input_key(&app->input, key);
    app->input_error = (free(app->input_error), NULL);
    app->changed = true;
    if (result == INPUT_CANCEL) {
        app_say(app, STYLE_NORMAL, _("nothing was done"));
        act_cancel(app);
    } else if (result == INPUT_DONE && !strcmp(app->input.text, app->confirm.name)) {
        go_on(app, effects);
    } else if (result == INPUT_DONE) {
        app->input_error = xstrdup(_("that is not the name"));
    }
}

void act_answer(struct app *app, const struct key_event *key, struct effects *effects)
{
    if (app->confirm.weight == WEIGHT_SEVERE) {
        if (key->type == KEY_EVENT_CODE) /* a paste answers nothing */
            answer_name(app, key, effects);
        return;
    }
    if (key->type != KEY_EVENT_CODE)
        return;
    if (bindings_action(&app->settings.bindings, KEYMAP_CONFIRM, key) == ACTION_YES) {
        go_on(app, effects);
        return;
    }
    app_say(app, STYLE_NORMAL, _("nothing was done"));
    act_cancel(app);
}

/* ---- the log ---- */

uint64_t act_log(struct app *app, enum entry_state state, const char *command, const char *words)
{
    if (app->entry_end - app->entry_first == ACTS_MAX) {
        struct entry *old = &app->entries[app->entry_first++ % ACTS_MAX];
        free(old->command);
        free(old->words);
    }
    struct entry *entry = &app->entries[app->entry_end++ % ACTS_MAX];
    *entry = (struct entry){
        .number = ++app->entry_last,
        .ts_ns = app->now_ns,
        .state = state,
        .command = xstrdup(command),
        .words = words ? text_safe(words) : xstrdup(""),
    };
    app_news(app, VIEW_HISTORY);
    return entry->number;
}

const struct entry *act_newest(const struct app *app)
{
    for (size_t at = app->entry_end; at-- > app->entry_first && at >= app->entry_seen;) {
        const struct entry *entry = act_entry(app, at);
        if (!entry->command)
            continue;
        bool over = entry->ended_ns && app->now_ns - entry->ended_ns >= ENTRY_SHOWN_NS;
        return over ? NULL : entry;
    }
    return NULL;
}

void act_seen(struct app *app)
{
    const struct entry *entry = act_newest(app);
    if (entry && entry->state != ENTRY_RUNS)
        app->entry_seen = app->entry_end;
}

const struct entry *act_entry(const struct app *app, size_t position)
{
    if (position < app->entry_first || position >= app->entry_end)
        return NULL;
    return &app->entries[position % ACTS_MAX];
}

void act_log_say(struct app *app, uint64_t number, const char *words)
{
    for (size_t at = app->entry_first; number && at < app->entry_end; at++) {
        struct entry *entry = &app->entries[at % ACTS_MAX];
        if (entry->number != number || entry->state != ENTRY_RUNS)
            continue;
        free(entry->words);
        entry->words = xstrdup(words);
        list_changed(&app->lists[VIEW_HISTORY], at);
        app->changed = true;
        return;
    }
}

void act_log_end(struct app *app, uint64_t number, const struct error *error, const char *words)
{
    for (size_t at = app->entry_first; number && at < app->entry_end; at++) {
        struct entry *entry = &app->entries[at % ACTS_MAX];
        if (entry->number != number)
            continue;
        entry->state = error ? ENTRY_FAILED : ENTRY_DONE;
        entry->ended_ns = app->now_ns;
        free(entry->words);
        entry->words = error ? xasprintf("%s%s%s", error->message, error->hint ? "; " : "",
                                         error->hint ? error->hint : "")
                             : text_safe(words ? words : "");
        list_changed(&app->lists[VIEW_HISTORY], at);
        app->changed = true;
        return;
    }
}

bool act_log_has_failed(const struct app *app, const char *words)
{
    for (size_t at = app->entry_end; at-- > app->entry_first;) {
        const struct entry *entry = act_entry(app, at);
        if (entry->state == ENTRY_FAILED && entry->ended_ns == app->now_ns && !strcmp(entry->words, words))
            return true;
    }
    return false;
}
