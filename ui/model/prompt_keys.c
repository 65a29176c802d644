/* The keys of a prompt. Those that answer are of a map of their own; letters of lists do nothing here. */
#include "ui/model/app_state.h"

#include "base/alloc.h"
#include "base/words.h"

/* `y`, then Enter; all else takes it back. */
static void confirm(struct app *app, const struct key_event *key, struct effects *effects)
{
    struct prompt *prompt = &app->inbox.prompt;
    if (!prompt->yes && key->code == 'y' && !key->mods) {
        prompt->yes = true;
        app_say(app, STYLE_WARN, _("%s: yes, if Enter is pressed now"), action_label(prompt->pending));
    } else if (prompt->yes && key->code == KEY_NAME_ENTER) {
        prompt_answer(app, prompt->pending, NULL, effects);
    } else {
        prompt->pending = ACTION_NONE;
        prompt->yes = false;
        app_say(app, STYLE_NORMAL, _("nothing was allowed"));
    }
}

static void scroll(struct app *app, int lines)
{
    struct prompt *prompt = &app->inbox.prompt;
    int most = prompt->total > prompt->room ? prompt->total - prompt->room : 0;
    int top = prompt->top + lines;
    prompt->top = top < 0 ? 0 : top > most ? most : top;
}

/* Keys that move: those that are no letters. */
static bool moves(struct app *app, enum action action)
{
    int page = app->inbox.prompt.room > 1 ? app->inbox.prompt.room - 1 : 1;
    switch ((int)action) {
    case ACTION_DOWN:
        scroll(app, 1);
        return true;
    case ACTION_UP:
        scroll(app, -1);
        return true;
    case ACTION_PAGE_DOWN:
        scroll(app, page);
        return true;
    case ACTION_PAGE_UP:
        scroll(app, -page);
        return true;
    case ACTION_HALF_DOWN:
        scroll(app, (page + 1) / 2);
        return true;
    case ACTION_HALF_UP:
        scroll(app, -(page + 1) / 2);
        return true;
    case ACTION_BOTTOM:
        scroll(app, app->inbox.prompt.total);
        return true;
    case ACTION_TOP:
        scroll(app, -app->inbox.prompt.total);
        return true;
    default:
        return false;
    }
}

/* What works in every view and answers nothing here. */
static bool elsewhere(enum action action)
{
    static const enum action list[] = {ACTION_BACK,   ACTION_QUIT, ACTION_HELP,  ACTION_PALETTE, ACTION_LOG,
                                       ACTION_REDRAW, ACTION_DUMP, ACTION_THEME, ACTION_CANCEL};
    for (size_t i = 0; i < countof(list); i++)
        if (list[i] == action)
            return true;
    return false;
}

bool prompt_key(struct app *app, const struct key_event *key, struct effects *effects)
{
    const struct bindings *bindings = &app->settings.bindings;
    struct prompt *prompt = &app->inbox.prompt;
    if (key->type == KEY_EVENT_MOUSE) {
        int wheel = key->act == MOUSE_WHEEL_UP ? -3 : key->act == MOUSE_WHEEL_DOWN ? 3 : 0;
        scroll(app, wheel);
        return wheel != 0 || prompt->pending;
    }
    if (key->type == KEY_EVENT_PASTE && app->input_use != INPUT_REASON && app->input_use != INPUT_RULE) {
        app_say(app, STYLE_WARN, _("what is pasted answers nothing"));
        return true;
    }
    if (app->input_use)
        return false; /* the line takes it */
    if (prompt->class == REQUEST_CRITICAL)
        prompt->pending = ACTION_NONE; /* the name was not typed to its end */
    if (key->type != KEY_EVENT_CODE)
        return true;
    if (prompt->pending) {
        confirm(app, key, effects);
        return true;
    }
    enum action action = bindings_action(bindings, KEYMAP_REQUEST, key);
    if (action)
        return prompt_do(app, action, effects);
    action = bindings_action(bindings, KEYMAP_EVERYWHERE, key);
    bool letter = key->code < KEY_NAMED && !(key->mods & KEY_CTRL);
    if (!letter && moves(app, action))
        return true;
    if (elsewhere(action))
        return false;
    if (key->code == KEY_NAME_ENTER && prompt_is_push(prompt))
        return prompt_do(app, ACTION_REQUEST_FIELDS, effects);
    if (key->code == KEY_NAME_ENTER)
        app_say(app, STYLE_NORMAL, _("Enter does nothing here: the keys that answer are those below"));
    return key->code == KEY_NAME_ENTER || action != ACTION_NONE;
}
