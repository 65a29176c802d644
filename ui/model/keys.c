/* From keys, typed text and the mouse to acts. */
#include "ui/model/app_state.h"

#include "base/alloc.h"
#include "base/words.h"

#include <string.h>

static struct list *here(struct app *app)
{
    return &app->lists[app_view(app)];
}

static void say_input_error(struct app *app, struct error *err)
{
    app->input_error = (free(app->input_error), err ? xstrdup(err->message) : NULL);
}

/* What is typed works at once. */
static void typed(struct app *app)
{
    auto(error) struct error *err = NULL;
    struct list *list = here(app);
    if (app->input_use == INPUT_FILTER)
        list_filter(list, app->input.text, &err);
    else if (app->input_use == INPUT_SEARCH)
        list_search(list, app->input.text, &err);
    else if (app->input_use == INPUT_PALETTE)
        list_restart(list);
    say_input_error(app, err);
    if (app->input_use == INPUT_SEARCH && !err && app->input.len && !list_search_near(app, list))
        app->input_error =
            xstrdup(list->count > LIST_JUDGED ? _("not near here; Enter looks at all rows") : _("not found"));
}

static void take_dumped(struct app *app, struct call *call, const struct message *message,
                        struct effects *effects)
{
    (void)effects;
    if (message->error)
        app_say(app, STYLE_BAD, _("the screen was not written: %s"), message->error->message);
    else
        app_say(app, STYLE_NORMAL, _("the screen was written to %s"), (const char *)call->data);
}

static void input_finished(struct app *app, struct effects *effects)
{
    enum input_use use = app->input_use;
    if (use == INPUT_PALETTE) {
        app_do(app, ACTION_OPEN, effects);
        return;
    }
    if (use == INPUT_REASON || use == INPUT_ALLOW) {
        prompt_typed(app, app->input.text, effects);
        return;
    }
    if (use == INPUT_REJECT) {
        review_typed(app, app->input.text, effects);
        return;
    }
    if (use == INPUT_RULE) {
        rules_typed(app, app->input.text, effects);
        return;
    }
    app->input_use = INPUT_NONE;
    if (use == INPUT_SEARCH && here(app)->search.on && !list_search_go(app, here(app), true, true))
        app_say(app, STYLE_WARN, _("not found: %s"), here(app)->search.text);
    if (use == INPUT_FILE && app->input.len) {
        app_local(app, EFFECT_DUMP, app->input.text, take_dumped, effects)->data = xstrdup(app->input.text);
    }
}

static void input_cancelled(struct app *app, struct effects *effects)
{
    enum input_use use = app->input_use;
    app->input_use = INPUT_NONE;
    if (use == INPUT_FILTER)
        list_filter(here(app), "", NULL);
    else if (use == INPUT_SEARCH)
        list_search(here(app), "", NULL);
    else if (use == INPUT_PALETTE)
        app_pop(app, effects);
}

/* A key while a line is typed: what the line does not want moves among the rows. */
static void type_key(struct app *app, const struct key_event *key, struct effects *effects)
{
    app->changed = true;
    switch (input_key(&app->input, key)) {
    case INPUT_CHANGED:
        typed(app);
        break;
    case INPUT_DONE:
        input_finished(app, effects);
        break;
    case INPUT_CANCEL:
        input_cancelled(app, effects);
        break;
    case INPUT_IGNORED:
        if (key->type == KEY_EVENT_CODE && key->code > KEY_NAMED) {
            enum action action = bindings_action(&app->settings.bindings, KEYMAP_EVERYWHERE, key);
            if (action >= ACTION_DOWN && action <= ACTION_HALF_UP)
                app_do(app, action, effects);
        }
        break;
    default:
        break;
    }
}

/* ---- the mouse ---- */

static bool inside(const struct box *box, const struct key_event *key)
{
    return box_shown(box) && key->row >= box->row && key->row < box->row + box->rows &&
           key->column >= box->column && key->column < box->column + box->columns;
}

/* The row of a list that is drawn at a line of its box. */
static void click(struct app *app, const struct box *box, const struct key_event *key)
{
    struct list *list = here(app);
    int line = key->row - box->row - (list->view->flags & VIEW_HEADER ? 1 : 0);
    size_t row = list->top;
    for (; line > 0 && row < list->count; row++) {
        line -= list_row_lines(app, list, row);
        if (line < 0)
            break;
    }
    if (line >= 0 || row < list->count)
        list_go(app, list, row < list->count ? row : list->count);
}

static void mouse(struct app *app, const struct key_event *key, struct effects *effects)
{
    int wheel = key->act == MOUSE_WHEEL_UP ? -3 : key->act == MOUSE_WHEEL_DOWN ? 3 : 0;
    if (!wheel && (key->act != MOUSE_PRESS || key->button != 0))
        return;
    for (size_t i = 0; !wheel && i < app->hit_count; i++) {
        const struct hit *hit = &app->hits[i];
        if (key->row != hit->row || key->column < hit->column || key->column >= hit->column + hit->columns)
            continue;
        app_do(app, hit->action, effects);
        return;
    }
    for (int pane = 0; pane < PANE_COUNT; pane++) {
        const struct box *box = &app->layout.panes[pane];
        if (!inside(box, key))
            continue;
        if (pane != PANE_OVERLAY && (enum pane)pane != app->focus)
            app_focus(app, (enum pane)pane, effects);
        if (pane == PANE_TERMINAL)
            return;
        if (wheel)
            list_move(app, here(app), wheel);
        else
            click(app, box, key);
        app->chosen = true;
        return;
    }
}

void app_key(struct app *app, const struct key_event *key, struct effects *effects)
{
    enum keymap maps[4];
    if (key->type == KEY_EVENT_CODE && key->code == 'z' && key->mods == KEY_CTRL) {
        effects_add(effects, EFFECT_SUSPEND); /* never bound: it is the shell's everywhere */
        return;
    }
    if (key->type == KEY_EVENT_FOCUS || (key->type == KEY_EVENT_MOUSE && key->act == MOUSE_MOVE))
        return;
    if (!app->notice) /* which is what stood on that line else */
        act_seen(app);
    free(app->notice);
    app->notice = NULL;
    app->changed = true;
    if (app->confirm.on) {
        act_answer(app, key, effects);
        return;
    }
    const struct view *view = view_table[app_view(app)];
    if (view->key && view->flags & VIEW_PROMPT && view->key(app, key, effects))
        return;
    if (app->input_use) {
        type_key(app, key, effects);
        return;
    }
    if (key->type == KEY_EVENT_MOUSE)
        mouse(app, key, effects);
    if (key->type != KEY_EVENT_CODE)
        return;
    view_maps(view, maps);
    for (int i = 0; maps[i]; i++) {
        enum action action = bindings_action(&app->settings.bindings, maps[i], key);
        if (action) {
            app_do(app, action, effects);
            return;
        }
    }
    char name[24], help[24] = "?";
    key_name(key, name);
    bindings_key(&app->settings.bindings, KEYMAP_EVERYWHERE, ACTION_HELP, help);
    app_say(app, STYLE_DIM, _("%s is not a key here; %s shows those that are"), name, help);
}
