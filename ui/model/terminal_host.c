/* The attached terminal inside of the screen: which messages are its, and what its keys ask for. */
#include "ui/model/app_state.h"

#include "base/alloc.h"
#include "base/words.h"

static struct terminal *make(struct app *app, const char *project, const char *session, const char *label)
{
    struct terminal_options options = {
        .project = project,
        .session = session,
        .label = label,
        .rows = app->rows,
        .columns = app->columns,
        .escape = app->settings.values[OPTION_ESCAPE],
        .alone = app->terminal_only,
        .ids = &app->last_id,
    };
    return terminal_create(&options);
}

void terminal_host_only(struct app *app, const char *project, const char *session)
{
    app->terminal_only = true;
    app->terminal = make(app, project, session, NULL);
    app->terminal_begun = false;
    app->focus = PANE_TERMINAL;
}

void terminal_host_open(struct app *app, const char *project, const char *session, const char *label,
                        struct effects *effects)
{
    terminal_host_close(app, effects);
    if (app->focus != PANE_TERMINAL)
        app->focus_before = app->focus;
    app->terminal = make(app, project, session, label);
    app->terminal_begun = true;
    app->focus = PANE_TERMINAL;
    app_settle(app);
    terminal_host_size(app, effects);
    terminal_attach(app->terminal, effects);
    terminal_focus(app->terminal, true, effects);
    app->changed = true;
}

void terminal_host_close(struct app *app, struct effects *effects)
{
    if (!app->terminal)
        return;
    terminal_detach(app->terminal, effects);
    terminal_free(app->terminal);
    app->terminal = NULL;
    app->terminal_full = false;
    if (app->focus == PANE_TERMINAL)
        app->focus = app->focus_before;
    app->changed = true;
}

/* Leaving the only terminal leaves the program. */
static void leave(struct app *app, struct effects *effects)
{
    bool only = app->terminal_only;
    if (only)
        app->exit_status = terminal_exit_status(app->terminal);
    terminal_host_close(app, effects);
    demo_left(app);
    if (only) {
        effects_add(effects, EFFECT_QUIT);
        app->quit = true;
    }
}

static void take_ask(struct app *app, struct effects *effects)
{
    switch (terminal_asked(app->terminal)) {
    case TERMINAL_ASK_NONE:
        break;
    case TERMINAL_ASK_LEAVE:
    case TERMINAL_ASK_CLOSE:
        leave(app, effects);
        break;
    case TERMINAL_ASK_INBOX:
        if (app->terminal_only)
            terminal_say(app->terminal, _("hutch requests, in another terminal, shows what waits"));
        else
            inbox_open(app, effects);
        break;
    case TERMINAL_ASK_FULL:
        if (app->terminal_only || app->columns < LAYOUT_THREE) {
            terminal_say(app->terminal, _("it has the whole screen already"));
            break;
        }
        app->terminal_full = !app->terminal_full;
        app->changed = true;
        break;
    }
}

/* The key with a mouse place as the pane counts it; false: the mouse is elsewhere. */
static bool own_key(const struct app *app, const struct message *message, struct message *ret)
{
    const struct box *box = &app->layout.panes[PANE_TERMINAL];
    *ret = *message;
    if (message->key.type != KEY_EVENT_MOUSE)
        return true;
    ret->key.row -= box->row;
    ret->key.column -= box->column;
    return ret->key.row >= 0 && ret->key.row < box->rows && ret->key.column >= 0 &&
           ret->key.column < box->columns;
}

bool terminal_host_message(struct app *app, const struct message *message, struct effects *effects)
{
    struct message own;
    if (!app->terminal)
        return false;
    if (message->type == MESSAGE_UP && !app->terminal_begun) {
        app->terminal_begun = true;
        terminal_attach(app->terminal, effects);
        terminal_focus(app->terminal, true, effects);
    }
    bool keys = app->focus == PANE_TERMINAL && !app->overlay_count && !app->confirm.on && !app->input_use;
    if (message->type == MESSAGE_KEY && (!keys || !own_key(app, message, &own)))
        return false;
    if (message->type == MESSAGE_KEY && demo_types(app, &own.key, effects))
        return true;
    bool taken = terminal_update(app->terminal, message->type == MESSAGE_KEY ? &own : message, effects);
    take_ask(app, effects);
    return taken || (app->terminal_only && message->type == MESSAGE_KEY);
}

void terminal_host_size(struct app *app, struct effects *effects)
{
    if (!app->terminal)
        return;
    app_settle(app);
    const struct box *box = &app->layout.panes[PANE_TERMINAL];
    if (box_shown(box))
        terminal_resize(app->terminal, box->rows, box->columns, effects);
}
