#include "ui/model/project_act.h"

#include "ui/model/app_state.h"
#include "ui/model/field.h"

#include "base/alloc.h"
#include "base/words.h"

#include <string.h>

/* Why an act has to wait in a state, or what comes first; where nothing stands here `calls` says it. */
static const struct {
    const char *state;
    enum action action;
    const char *why;
} waits[] = {
    {"saved", ACTION_TERMINAL, N_("it is suspended: start wakes it")},
    {"saved", ACTION_SHELL, N_("it is suspended: start wakes it")},
    {"off", ACTION_TERMINAL, N_("it is off: start it first")},
    {"off", ACTION_SHELL, N_("it is off: start it first")},
    {"stopping", ACTION_START, N_("it is still being stopped")},
    {"stopping", ACTION_TERMINAL, N_("it is still being stopped")},
    {"stopping", ACTION_SHELL, N_("it is still being stopped")},
    {"saving", ACTION_START, N_("it is still being saved")},
    {"saving", ACTION_TERMINAL, N_("it is still being saved")},
    {"saving", ACTION_SHELL, N_("it is still being saved")},
    {"starting", ACTION_TERMINAL, N_("it is still being started")},
    {"starting", ACTION_SHELL, N_("it is still being started")},
};

/* One call of hutchd. Of several rows for an act the first whose states hold is taken. */
struct project_call {
    enum action action;
    const char *states;               /* with blanks around each; NULL: every state */
    const char *method, *path, *twin; /* path: after the project; twin: NULL: as in actions.def */
    const char *why;                  /* not able, when no row's states hold */
    const char *question, *warning;   /* %s is the project, once */
    const char *way_back;
};
static const struct project_call calls[] = {
    {ACTION_START, " off saved failed gone new ", "POST", "/start", NULL, N_("it runs already"), NULL, NULL,
     NULL},
    {ACTION_STOP, " run starting paused frozen saved stopping saving ", "POST", "/stop", NULL,
     N_("it does not run"), N_("shut %s down?"), N_("programs that run in it end; its disk stays as it is"),
     NULL},
    {ACTION_PAUSE, " run ", "POST", "/pause", NULL, N_("it does not run"), NULL, NULL,
     N_("paused, its memory is kept; the same key resumes it")},
    {ACTION_PAUSE, " paused ", "POST", "/resume", "hutch resume {project}", N_("it does not run"), NULL, NULL,
     NULL},
    {ACTION_PAUSE, " frozen ", "POST", "/thaw", "hutch resume {project}", N_("it does not run"), NULL, NULL,
     N_("thawed: it goes on; what it asked was refused for now, its question waits")},
    {ACTION_SUSPEND, " run paused ", "POST", "/suspend", NULL, N_("it does not run"),
     N_("suspend %s with all that runs in it?"),
     N_("it is saved: its memory is written to the disk of this host and freed; start wakes it, and it goes "
        "on "
        "where it was"),
     NULL},
    {ACTION_REMOVE, NULL, "DELETE", "", NULL, NULL, N_("remove %s for good?"),
     N_("the machine and its disk are removed; nothing brings them back. Work in it that exists nowhere else "
        "is "
        "looked for first: then nothing is removed"),
     NULL},
    {ACTION_DISCARD, NULL, "DELETE", "?discard_work=1", NULL, NULL,
     N_("discard that work and remove %s, for good?"), NULL, NULL},
    {ACTION_TERMINAL, " run ", NULL, NULL, "hutch attach {project}", N_("it does not run just now"), NULL,
     NULL, NULL},
    {ACTION_SHELL, " run ", NULL, NULL, NULL, N_("it does not run just now"), NULL, NULL, NULL},
    {ACTION_PROGRESS, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL},
};

static const struct project_call *find(const struct project *project, enum action action,
                                       const char **ret_why)
{
    autofree char *word = xasprintf(" %s ", project->state);
    *ret_why = _("that does not work here");
    for (size_t i = 0; i < countof(calls); i++) {
        if (calls[i].action != action)
            continue;
        if (!calls[i].states || strstr(calls[i].states, word))
            return &calls[i];
        *ret_why = _(calls[i].why);
    }
    for (size_t i = 0; i < countof(waits); i++)
        if (waits[i].action == action && !strcmp(waits[i].state, project->state))
            *ret_why = _(waits[i].why);
    return NULL;
}

const char *project_able(const struct app *app, uint64_t number, enum action action)
{
    const struct project *project = projects_find(&app->projects, number);
    const char *why = _("there is no such project");
    if (!app->up)
        return _("hutchd is away; it works again when it is back");
    if (project && action == ACTION_PROGRESS && !work_named(app, WORK_PROJECT, project->raw_name))
        return _("nothing was done with it from this screen yet");
    if (project && action == ACTION_DISCARD && !project->loses)
        return _("nothing is known of such work in it; remove looks for it");
    return project && find(project, action, &why) ? NULL : why;
}

void project_words(const struct app *app, uint64_t number, enum action action, struct act_words *out)
{
    const struct project *project = projects_find(&app->projects, number);
    const char *why;
    const struct project_call *call = project ? find(project, action, &why) : NULL;
    if (!call)
        return;
    out->question = field_fill(_(call->question), project->name);
    out->warning =
        action == ACTION_DISCARD ? xstrdup(project->loses) : field_fill(_(call->warning), project->name);
    out->way_back = call->way_back ? xasprintf("%s: %s", project->name, _(call->way_back)) : NULL;
}

char *project_twin(const struct app *app, uint64_t number, enum action action)
{
    const struct project *project = projects_find(&app->projects, number);
    const char *why;
    const struct project_call *call = project ? find(project, action, &why) : NULL;
    if (!call || !call->twin)
        return NULL;
    return xasprintf("%.*s%s", (int)strcspn(call->twin, "{"), call->twin, project->name);
}

/* It was not removed: what would be lost, and the ways on. */
static void say_loss(struct app *app, struct project *project, const struct error *error)
{
    char discard[24] = "", terminal[24] = "";
    const struct bindings *bindings = &app->settings.bindings;
    bindings_key(bindings, KEYMAP_PROJECT, ACTION_DISCARD, discard);
    bindings_key(bindings, KEYMAP_PROJECT, !strcmp(project->state, "run") ? ACTION_TERMINAL : ACTION_START,
                 terminal);
    app_say(app, STYLE_BAD, _("not removed: %s; %s lets you look, %s discards that work and removes it"),
            error->message, terminal, discard);
}

/* Progress and the end of an act. */
static void take(struct app *app, struct call *call, const struct message *message, struct effects *effects)
{
    work_take(app, call->number, message);
    if (message->type != MESSAGE_ANSWER)
        return;
    struct work *work = work_find(app, call->number);
    struct project *project = work ? projects_named(&app->projects, work->raw_name) : NULL;
    act_log_end(app, call->entry, message->error, NULL);
    bool loses = message->error && message->error->code == ERROR_WOULD_LOSE && project;
    if (loses)
        project->loses = (free(project->loses), xstrdup(message->error->message));
    if (message->error && work && work->batch)
        many_failed(app, work->batch, work->name, message->error);
    else if (loses)
        say_loss(app, project, message->error);
    else if (message->error)
        app_say(app, STYLE_BAD, "%s%s%s", message->error->message, message->error->hint ? "; " : "",
                message->error->hint ? message->error->hint : "");
    uint64_t number = project ? project->number : 0;
    if (message->error && project)
        app->notice_about = number;
    if (message->body && json_object_get(message->body, "name"))
        feed_take_project(app, message->body); /* moves the list if it is another one's */
    if (number)
        feed_refresh(app, number, effects);
}

bool project_act(struct app *app, uint64_t number, enum action action, struct effects *effects)
{
    struct project *project = projects_find(&app->projects, number);
    const char *why;
    const struct project_call *one = project ? find(project, action, &why) : NULL;
    if (!one)
        return false;
    if (action == ACTION_SHELL)
        sessions_shell(app, number, effects);
    else if (action == ACTION_TERMINAL)
        sessions_terminal(app, number, effects);
    else if (action == ACTION_PROGRESS)
        work_show(app, work_named(app, WORK_PROJECT, project->raw_name)->number, effects);
    if (!one->path)
        return true;
    autofree char *path = project_api_path(project, one->path);
    autofree char *twin = act_twin(app, VIEW_PROJECTS, number, action);
    json_t *body = strcmp(one->method, "POST") == 0 ? json_object() : NULL;
    struct call *call = app_call(app, EFFECT_LINES, one->method, path, body, take, effects);
    call->action = action;
    call->entry = act_log(app, ENTRY_RUNS, twin, "");
    call->number = work_begin(app, WORK_PROJECT, project->raw_name, action, call->entry);
    project->hot_ns = app->now_ns + 3 * SECOND;
    project->refresh_ns = app->now_ns + SECOND;
    return true;
}
