/* The sessions of the selected project: what runs in it, what ended lately, its output. */
#include "ui/model/app_state.h"
#include "ui/model/field.h"

#include "base/alloc.h"
#include "base/text.h"
#include "base/units.h"
#include "base/words.h"

#include <stdio.h>
#include <string.h>

enum { ID, COMMAND, WHERE, USER, STATE, EXIT, TOOK };
static const struct column columns[] = {
    [ID] = {N_("SESSION"), 8, false, 4, true, false},
    [COMMAND] = {N_("COMMAND"), 0, false, 0, false, false, 16},
    [WHERE] = {N_("FOLDER"), 18, false, 6, false, false},
    [USER] = {N_("USER"), 6, false, 5, false, false},
    [STATE] = {N_("STATE"), 7, false, 0, true, false},
    [EXIT] = {N_("EXIT"), 4, true, 2, true, true},
    [TOOK] = {N_("TOOK"), 7, true, 3, true, true},
    {NULL},
};

static size_t end(const struct app *app)
{
    return app->sessions.project == app->selected ? app->sessions.count : 0;
}

static uint64_t identity(const struct app *app, size_t position)
{
    return app->sessions.list[position].number;
}

static const char *command_of(const struct session *session)
{
    return *session->command ? session->command : _("(login shell)");
}

static enum style style_of(const struct session *session)
{
    if (session_runs(session))
        return STYLE_BUSY;
    return session->exit_status == 0 && !strcmp(session->state, "exited") ? STYLE_GOOD : STYLE_BAD;
}

static void cell(const struct app *app, size_t position, int column, struct cell_out *out)
{
    const struct session *session = &app->sessions.list[position];
    size_t columns_used;
    out->style = column == ID || column == WHERE || column == USER ? STYLE_DIM : STYLE_NORMAL;
    switch (column) {
    case ID: /* its beginning tells it from others */
        snprintf(out->room, sizeof(out->room), "%.*s",
                 (int)text_clip(session->id, strlen(session->id), 8, &columns_used), session->id);
        out->text = out->room;
        break;
    case COMMAND:
        out->text = command_of(session);
        break;
    case WHERE:
        out->text = session->cwd;
        break;
    case USER:
        out->text = session->user;
        break;
    case STATE:
        out->text = session_state(session);
        out->style = style_of(session);
        break;
    case EXIT:
        if (!session_runs(session))
            snprintf(out->room, sizeof(out->room), "%lld", (long long)session->exit_status);
        out->text = session_runs(session) ? "" : out->room;
        out->style = style_of(session);
        break;
    default:
        field_duration(session_took(session, app->now_ns), out->room);
        out->text = out->room;
    }
}

static int64_t order(const struct app *app, size_t position, int column)
{
    const struct session *session = &app->sessions.list[position];
    return column == TOOK    ? session_took(session, app->now_ns)
           : column == EXIT  ? session->exit_status
           : column == STATE ? !session_runs(session)
                             : session->started_ns;
}

static char *label(const struct app *app, uint64_t number)
{
    const struct session *session = sessions_find(&app->sessions, number);
    return session ? xstrdup(command_of(session)) : NULL;
}

static char *nothing(const struct app *app)
{
    const struct project *project = app_project(app);
    char key[24] = "!", start[24] = "b";
    bindings_key(&app->settings.bindings, KEYMAP_PROJECT, ACTION_SHELL, key);
    bindings_key(&app->settings.bindings, KEYMAP_PROJECT, ACTION_START, start);
    if (project && strcmp(project->state, "saved") == 0)
        return xasprintf(_("%s is saved with what ran in it; %s wakes it"), project->name, start);
    if (project && strcmp(project->state, "run") != 0)
        return xasprintf(_("%s does not run, so nothing runs in it; %s starts it"), project->name, start);
    if (app->sessions.failure)
        return xasprintf(_("the sessions cannot be listed: %s"), app->sessions.failure);
    if (!app->sessions.known)
        return xstrdup(_("asking what runs in it ..."));
    return xasprintf(_("no command runs in it; %s opens a shell"), key);
}

static void detail(const struct app *app, uint64_t number, struct doc *out)
{
    const struct session *session = sessions_find(&app->sessions, number);
    char text[24], size[UNITS_SIZE_MAX];
    if (!session)
        return;
    doc_add(out, STYLE_NORMAL, _("command"), command_of(session));
    doc_add(out, style_of(session), _("state"), session_state(session));
    if (!session_runs(session))
        doc_addf(out, style_of(session), _("exit"), "%lld%s", (long long)session->exit_status,
                 session->timed_out ? _(" (its time was up)") : "");
    if (session->signal)
        doc_addf(out, STYLE_BAD, _("signal"), _("%lld ended it"), (long long)session->signal);
    doc_add(out, STYLE_NORMAL, _("folder"), session->cwd);
    doc_add(out, STYLE_NORMAL, _("user"), session->user);
    if (*session->label)
        doc_add(out, STYLE_NORMAL, _("called"), session->label);
    field_date(session->started_ns, text);
    doc_add(out, STYLE_NORMAL, _("began"), text);
    field_duration(session_took(session, app->now_ns), text);
    doc_add(out, STYLE_NORMAL, session_runs(session) ? _("so far") : _("took"), text);
    doc_add(out, STYLE_NORMAL, _("terminal"),
            session->pty ? (session->attached ? _("yes, somebody is attached") : _("yes")) : _("no"));
    doc_add(out, STYLE_NORMAL, _("wrote"), units_format_size((uint64_t)session->out_total, size));
    if (session->max_rss > 0)
        doc_add(out, STYLE_NORMAL, _("memory"), units_format_size((uint64_t)session->max_rss, size));
    if (session->cpu_us > 0) {
        field_duration(session->cpu_us / 1000, text);
        doc_add(out, STYLE_NORMAL, _("cpu"), text);
    }
    doc_add(out, STYLE_DIM, _("session"), session->id);
}

/* ---- acts ---- */

static const char *able(const struct app *app, uint64_t number, enum action action)
{
    const struct session *session = sessions_find(&app->sessions, number);
    if (!app->up)
        return _("hutchd is away; it works again when it is back");
    if (!session)
        return _("it is gone");
    if (action == ACTION_TERMINAL && !session->pty)
        return _("it has no terminal to attach to; its output can be read");
    if (action == ACTION_TERMINAL && !session_runs(session))
        return _("it has ended; its output can be read");
    return NULL;
}

static const char *says(const struct app *app, uint64_t number, enum action action)
{
    const struct session *session = sessions_find(&app->sessions, number);
    if (action == ACTION_OPEN)
        return _("output");
    if (action == ACTION_TERMINAL)
        return _("attach");
    return action == ACTION_KILL && session && !session_runs(session) ? _("forget") : NULL;
}

static void words(const struct app *app, uint64_t number, enum action action, struct act_words *out)
{
    const struct session *session = sessions_find(&app->sessions, number);
    if (action != ACTION_KILL || !session)
        return;
    bool runs = session_runs(session);
    out->question = xasprintf(runs ? _("kill %s?") : _("forget %s?"), command_of(session));
    out->warning =
        xstrdup(runs ? _("all its processes end at once, without a chance to save; its output goes too")
                     : _("its output can no longer be read then"));
}

static char *twin(const struct app *app, uint64_t number, enum action action)
{
    const struct session *session = sessions_find(&app->sessions, number);
    const struct project *project = projects_find(&app->projects, app->sessions.project);
    if (!session || !project)
        return NULL;
    if (action == ACTION_KILL && session_runs(session))
        return xasprintf("hutch exec %s -- kill -9 %lld", project->name, (long long)session->pid);
    return action == ACTION_TERMINAL ? xasprintf("hutch attach %s %s", project->name, session->id) : NULL;
}

static void open_output(struct app *app, uint64_t number, struct effects *effects)
{
    const struct session *session = sessions_find(&app->sessions, number);
    const struct project *project = projects_find(&app->projects, app->sessions.project);
    if (session && project)
        output_open(app, project->raw_name, session->raw_id, command_of(session), session->pty, effects);
}

static void take_killed(struct app *app, struct call *call, const struct message *message,
                        struct effects *effects)
{
    (void)effects;
    act_log_end(app, call->entry, message->error, NULL);
    if (message->error)
        app_say_error(app, message->error);
    sessions_news(app);
}

static bool act(struct app *app, uint64_t number, enum action action, struct effects *effects)
{
    const struct session *session = sessions_find(&app->sessions, number);
    const struct project *project = projects_find(&app->projects, app->sessions.project);
    if (!session || !project)
        return false;
    if (action == ACTION_OUTPUT) {
        open_output(app, number, effects);
    } else if (action == ACTION_TERMINAL) {
        terminal_host_open(app, project->raw_name, session->raw_id,
                           *session->label ? session->label : command_of(session), effects);
    } else {
        autofree char *rest = field_path("/sessions/%s", session->raw_id);
        autofree char *path = project_api_path(project, rest);
        autofree char *command = twin(app, number, action);
        struct call *call = app_call(app, EFFECT_CALL, "DELETE", path, NULL, take_killed, effects);
        if (session_runs(session))
            call->entry = act_log(app, ENTRY_RUNS, command, "");
    }
    return true;
}

static void shown(struct app *app, struct effects *effects)
{
    sessions_show(app, effects);
}

static void hidden(struct app *app, struct effects *effects)
{
    sessions_hide(app, effects);
}

static const enum action bar[] = {ACTION_START,   ACTION_OPEN, ACTION_TERMINAL, ACTION_SHELL,
                                  ACTION_KILL,    ACTION_BACK, ACTION_SORT,     ACTION_SEARCH,
                                  ACTION_ACTIONS, ACTION_HELP, ACTION_NONE};
static const enum action acts[] = {ACTION_OUTPUT, ACTION_TERMINAL, ACTION_KILL, ACTION_NONE};

const struct view view_exec = {
    .name = "exec",
    .title = N_("Exec"),
    .map = KEYMAP_EXEC,
    .flags = VIEW_LIST | VIEW_HEADER | VIEW_TAB | VIEW_PROJECT,
    .columns = columns,
    .bar = bar,
    .acts = acts,
    .end = end,
    .identity = identity,
    .cell = cell,
    .order = order,
    .label = label,
    .detail = detail,
    .able = able,
    .says = says,
    .words = words,
    .twin = twin,
    .act = act,
    .open = open_output,
    .nothing = nothing,
    .shown = shown,
    .hidden = hidden,
};
