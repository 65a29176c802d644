/* An act on all rows that are marked: asked once, done to each by its identity. A row that cannot, or fails,
 * is named and keeps the others from nothing. */
#include "ui/model/app_state.h"

#include "base/alloc.h"
#include "base/text.h"
#include "base/words.h"

#include <string.h>

/* Acts that make sense for several rows at once. */
static const enum action several[] = {ACTION_START,  ACTION_STOP, ACTION_PAUSE, ACTION_SUSPEND,
                                      ACTION_REMOVE, ACTION_KILL, ACTION_BUILD, ACTION_REMOVE_BASE};

/* Appends to a list of words; list is freed. */
static char *join(char *list, const char *between, const char *words)
{
    char *longer = xasprintf("%s%s%s", list, *list ? between : "", words);
    free(list);
    return longer;
}

static const char *not_able(const struct app *app, const struct view *of, uint64_t identity,
                            enum action action)
{
    return of->able ? of->able(app, identity, action) : NULL;
}

/* Whether the act is called otherwise for this row (resume for pause): the other way round. */
static bool reversed(const struct app *app, const struct view *of, uint64_t identity, enum action action)
{
    return of->says && of->says(app, identity, action);
}

bool many_wanted(const struct app *app, enum view_id view, enum action action)
{
    bool some = false;
    for (size_t i = 0; i < countof(several); i++)
        some = some || several[i] == action;
    return some && app->lists[view].mark_count && act_of_row(view_table[view], action);
}

bool many_able(const struct app *app, enum view_id view, enum action action)
{
    const struct list *list = &app->lists[view];
    for (size_t i = 0; i < list->mark_count; i++)
        if (!not_able(app, view_table[view], list->marks[i], action))
            return true;
    return false;
}

void many_free(struct confirm *confirm)
{
    for (size_t i = 0; i < confirm->count; i++)
        free(confirm->names[i]);
    free(confirm->names);
    free(confirm->rows);
}

/* Takes the marked rows that can into the question; those that cannot are named in *left. One way round
 * alone: as long as one row can be paused, none is resumed. */
static void gather(struct app *app, struct confirm *confirm, char **left)
{
    const struct view *of = view_table[confirm->view];
    const struct list *list = &app->lists[confirm->view];
    bool usual = false;
    for (size_t i = 0; i < list->mark_count; i++)
        usual = usual || (!not_able(app, of, list->marks[i], confirm->action) &&
                          !reversed(app, of, list->marks[i], confirm->action));
    confirm->rows = xnewn(uint64_t, list->mark_count);
    confirm->names = xnewn(char *, list->mark_count);
    for (size_t i = 0; i < list->mark_count; i++) {
        uint64_t row = list->marks[i];
        autofree char *name = of->label ? of->label(app, row) : NULL;
        const char *why = !name ? _("it went away") : not_able(app, of, row, confirm->action);
        if (!why && usual && reversed(app, of, row, confirm->action))
            why = _("it is so already");
        if (why) {
            autofree char *words = xasprintf("%s: %s", name ? name : "?", why);
            *left = join(*left, "; ", words);
            continue;
        }
        confirm->rows[confirm->count] = row;
        confirm->names[confirm->count++] = steal(&name);
    }
}

/* "api, shop". Caller frees. */
static char *names_of(const struct confirm *confirm)
{
    char *list = xstrdup("");
    for (size_t i = 0; i < confirm->count; i++)
        list = join(list, ", ", confirm->names[i]);
    return list;
}

void many_go_on(struct app *app, const struct confirm *confirm, struct effects *effects)
{
    const struct view *of = view_table[confirm->view];
    autofree char *names = names_of(confirm);
    char *left = xstrdup("");
    app->batch = ++app->batch_last;
    for (size_t i = 0; i < confirm->count; i++) {
        uint64_t row = confirm->rows[i];
        autofree char *name = of->label ? of->label(app, row) : NULL;
        const char *why = !name || strcmp(name, confirm->names[i]) != 0
                              ? _("it went away")
                              : not_able(app, of, row, confirm->action);
        if (!why && of->act && of->act(app, row, confirm->action, effects))
            continue;
        autofree char *words = xasprintf("%s: %s", confirm->names[i], why ? why : _("it does not work here"));
        left = join(left, "; ", words);
    }
    app->batch = 0;
    if (*left)
        app_say(app, STYLE_WARN, _("not done: %s"), left);
    else
        app_say(app, STYLE_NORMAL, "%s: %s", action_label(confirm->action), names);
    free(left);
    app->lists[confirm->view].mark_count =
        0; /* what was meant is done; the next act is of the cursor's row */
    app->changed = true;
}

void many_failed(struct app *app, uint64_t batch, const char *name, const struct error *error)
{
    bool named = strstr(error->message, name) != NULL;
    autofree char *words = xasprintf("%s%s%s", named ? "" : name, named ? "" : ": ", error->message);
    if (batch != app->batch_said)
        free(steal(&app->batch_words));
    app->batch_said = batch;
    app->batch_words = join(app->batch_words ? app->batch_words : xstrdup(""), "; ", words);
    app_say(app, STYLE_BAD, "%s", app->batch_words);
}

bool many_begin(struct app *app, enum view_id view, enum action action, bool asked, struct confirm *ret)
{
    struct confirm confirm = {.action = action, .view = view, .weight = action_table[action].weight};
    const struct view *of = view_table[view];
    char *left = xstrdup("");
    gather(app, &confirm, &left);
    if (!confirm.count) {
        app_say(app, STYLE_WARN, "%s", left);
        many_free(&confirm);
        free(left);
        return false;
    }
    if (confirm.weight == WEIGHT_MILD && asked)
        confirm.weight = WEIGHT_MODERATE;
    struct act_words one = {0};
    if (of->words)
        of->words(app, confirm.rows[0], action, &one);
    free(one.question);
    free(one.way_back);
    autofree char *names = names_of(&confirm);
    autofree char *without = *left ? xasprintf(_("Not with them: %s."), left) : xstrdup("");
    confirm.words.warning =
        xasprintf("%s%s%s", one.warning ? one.warning : "", one.warning && *left ? ". " : "", without);
    confirm.words.question = xasprintf("%s: %s?", action_label(action), names);
    confirm.name = xasprintf("all %zu", confirm.count); /* typed: letters that every keyboard has */
    free(one.warning);
    free(left);
    *ret = confirm;
    return true;
}
