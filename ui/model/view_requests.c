/* The requests of all projects, oldest first; and the prompt of one, which ui/view/prompt.c draws. */
#include "ui/model/app_state.h"
#include "ui/model/field.h"

#include "base/alloc.h"
#include "base/units.h"
#include "base/words.h"

#include <stdio.h>
#include <string.h>

enum { NUMBER, PROJECT, CLASS, VERB, SUBJECT, STATE, AGE };
static const struct column columns[] = {
    [NUMBER] = {"#", 6, true, 0, true, false},
    [PROJECT] = {N_("PROJECT"), 12, false, 3, true, false},
    [CLASS] = {N_("CLASS"), 8, false, 2, true, true},
    [VERB] = {N_("WHAT"), 8, false, 4, true, false},
    [SUBJECT] = {N_("OBJECT"), 0, false, 0, false, false, 16},
    [STATE] = {N_("STATE"), 8, false, 1, true, false},
    [AGE] = {N_("AGE"), 7, true, 1, true, true},
    {NULL},
};

static size_t end(const struct app *app)
{
    return app->inbox.count;
}

static uint64_t identity(const struct app *app, size_t position)
{
    return app->inbox.list[position].id;
}

static const char *state_word(const char *state)
{
    return !strcmp(state, "frozen") ? _("FROZEN") : !strcmp(state, "held") ? _("held") : _("WAITING");
}

static void cell(const struct app *app, size_t position, int column, struct cell_out *out)
{
    static const char *const words[] = {N_("routine"), N_("UNUSUAL"), N_("CRITICAL")};
    static const enum style styles[] = {STYLE_NORMAL, STYLE_WARN, STYLE_BAD};
    const struct request_row *row = &app->inbox.list[position];
    switch (column) {
    case NUMBER:
        snprintf(out->room, sizeof(out->room), "%s#%llu", row->batch == row->id ? "" : "+",
                 (unsigned long long)row->id);
        out->text = out->room;
        break;
    case PROJECT:
        out->text = row->project;
        break;
    case CLASS:
        out->text = _(words[row->class]);
        out->style = styles[row->class];
        break;
    case VERB:
        out->text = row->kind;
        break;
    case SUBJECT:
        out->text = row->subject;
        break;
    case STATE:
        out->text = state_word(row->state);
        out->style = !strcmp(row->state, "frozen") ? STYLE_WARN : STYLE_NORMAL;
        break;
    default:
        if (row->asked_ns > 0 && app->now_ns > row->asked_ns)
            units_format_duration((uint64_t)((app->now_ns - row->asked_ns) / SECOND), out->room);
        out->text = out->room;
    }
}

static int64_t order(const struct app *app, size_t position, int column)
{
    const struct request_row *row = &app->inbox.list[position];
    return column == CLASS ? (int64_t)row->class : column == AGE ? -row->asked_ns : (int64_t)row->id;
}

static char *label(const struct app *app, uint64_t id)
{
    const struct request_row *row = inbox_find(&app->inbox, id);
    return row ? xasprintf("#%llu %s", (unsigned long long)row->id, row->subject) : NULL;
}

static void open(struct app *app, uint64_t id, struct effects *effects)
{
    prompt_show(app, id, effects);
    app_push(app, VIEW_REQUEST, effects);
}

static const char *able_line(const struct app *app, uint64_t id, enum action action)
{
    (void)action;
    return inbox_find(&app->inbox, id) ? NULL : _("it is gone");
}

/* J: to the command that asks. */
static bool act_line(struct app *app, uint64_t id, enum action action, struct effects *effects)
{
    const struct request_row *row = inbox_find(&app->inbox, id);
    if (action != ACTION_CAUSE || !row)
        return false;
    const struct project *project = projects_named(&app->projects, row->raw_project);
    app_to_command(app, project ? project->number : 0, row->session, row->asked_ns, effects);
    return true;
}

static char *nothing(const struct app *app)
{
    if (app->inbox.failure)
        return xasprintf(_("the requests cannot be listed: %s"), app->inbox.failure);
    return xstrdup(app->inbox.known ? _("nothing waits for an answer") : _("asking what waits ..."));
}

static void shown(struct app *app, struct effects *effects)
{
    inbox_ask(app, effects);
}

static const enum action acts[] = {ACTION_CAUSE, ACTION_NONE};
static const enum action bar[] = {ACTION_OPEN, ACTION_BACK, ACTION_SEARCH, ACTION_FILTER,
                                  ACTION_SORT, ACTION_HELP, ACTION_NONE};

const struct view view_requests = {
    .name = "requests",
    .title = N_("Requests"),
    .map = KEYMAP_REQUESTS,
    .flags = VIEW_LIST | VIEW_HEADER,
    .columns = columns,
    .bar = bar,
    .acts = acts,
    .able = able_line,
    .act = act_line,
    .end = end,
    .identity = identity,
    .cell = cell,
    .order = order,
    .label = label,
    .open = open,
    .nothing = nothing,
    .shown = shown,
};

/* ---- the prompt ---- */

static size_t end_request(const struct app *app)
{
    return app->inbox.prompt.json ? 1 : 0;
}

static uint64_t identity_request(const struct app *app, size_t position)
{
    (void)position;
    return app->inbox.prompt.id;
}

static void cell_request(const struct app *app, size_t position, int column, struct cell_out *out)
{
    (void)position, (void)column;
    out->text = app->inbox.prompt.host ? app->inbox.prompt.host : "";
}

static char *label_request(const struct app *app, uint64_t id)
{
    return id && id == app->inbox.prompt.id ? xasprintf("#%llu", (unsigned long long)id) : NULL;
}

static const char *able(const struct app *app, uint64_t id, enum action action)
{
    return id == app->inbox.prompt.id ? prompt_able(app, action) : _("it is gone");
}

static char *twin(const struct app *app, uint64_t id, enum action action)
{
    (void)id;
    return prompt_twin(app, action);
}

static bool act(struct app *app, uint64_t id, enum action action, struct effects *effects)
{
    (void)id;
    return prompt_do(app, action, effects);
}

static const char *says(const struct app *app, uint64_t id, enum action action)
{
    (void)id;
    if (action == ACTION_REQUEST_FIELDS && prompt_is_push(&app->inbox.prompt))
        return _("read it");
    return action == ACTION_CANCEL ? _("later") : NULL;
}

static void detail(const struct app *app, uint64_t id, struct doc *out)
{
    if (id == app->inbox.prompt.id && app->inbox.prompt.json)
        prompt_fields(app->inbox.prompt.json, out);
}

static void shown_request(struct app *app, struct effects *effects)
{
    prompt_check(app, effects);
}

static void hidden_request(struct app *app, struct effects *effects)
{
    app_cancel(app, app->inbox.prompt.call, effects);
    prompt_finish(&app->inbox.prompt);
    list_restart(&app->lists[VIEW_REQUEST]);
}

static const struct column columns_request[] = {{N_("REQUEST"), 0, false, 0, false, false}, {NULL}};
static const enum action bar_request[] = {ACTION_CANCEL,       ACTION_REQUEST_FIELDS, ACTION_REQUEST_NEXT,
                                          ACTION_REQUEST_LIKE, ACTION_HELP,           ACTION_NONE};
static const enum action acts_request[] = {ACTION_REQUEST_DENY,
                                           ACTION_REQUEST_REASON,
                                           ACTION_REQUEST_ONCE,
                                           ACTION_REQUEST_SESSION,
                                           ACTION_REQUEST_PROJECT,
                                           ACTION_REQUEST_RULE,
                                           ACTION_REQUEST_FIELDS,
                                           ACTION_REQUEST_NEXT,
                                           ACTION_REQUEST_LIKE,
                                           ACTION_CAUSE,
                                           ACTION_NONE};

const struct view view_request = {
    .name = "request",
    .title = N_("Requests"),
    .map = KEYMAP_REQUEST,
    .flags = VIEW_LIST | VIEW_PROMPT,
    .columns = columns_request,
    .bar = bar_request,
    .acts = acts_request,
    .end = end_request,
    .identity = identity_request,
    .cell = cell_request,
    .label = label_request,
    .detail = detail,
    .able = able,
    .act = act,
    .says = says,
    .twin = twin,
    .heading = prompt_heading,
    .shown = shown_request,
    .hidden = hidden_request,
    .key = prompt_key,
};
