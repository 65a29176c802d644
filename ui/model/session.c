/* Sessions: what is known of them, and the calls that ask, start and attach. */
#include "ui/model/session.h"

#include "ui/model/app_state.h"
#include "ui/model/field.h"

#include "base/alloc.h"
#include "base/words.h"

#include <string.h>

#define AGAIN_NS (SECOND / 4) /* a burst of commands asks four times a second */

static void finish(struct session *session)
{
    char *strings[] = {session->raw_id, session->id,    session->command, session->cwd,
                       session->user,   session->label, session->state};
    for (size_t i = 0; i < countof(strings); i++)
        free(strings[i]);
}

static void clear(struct sessions *sessions)
{
    for (size_t i = 0; i < sessions->count; i++)
        finish(&sessions->list[i]);
    sessions->count = 0;
    sessions->known = false;
    free(steal(&sessions->failure));
}

void sessions_finish(struct sessions *sessions)
{
    clear(sessions);
    free(sessions->list);
}

struct session *sessions_find(const struct sessions *sessions, uint64_t number)
{
    for (size_t i = 0; i < sessions->count; i++)
        if (sessions->list[i].number == number)
            return &sessions->list[i];
    return NULL;
}

bool session_runs(const struct session *session)
{
    return !strcmp(session->state, "running") || !strcmp(session->state, "starting");
}

const char *session_state(const struct session *session)
{
    if (session_runs(session))
        return _("runs");
    return !strcmp(session->state, "exited") ? _("ended") : _("LOST");
}

bool sessions_run(const struct app *app)
{
    for (size_t i = 0; i < app->sessions.count && app->tab == VIEW_EXEC; i++)
        if (session_runs(&app->sessions.list[i]))
            return true;
    return false;
}

int64_t session_took(const struct session *session, int64_t now_ns)
{
    int64_t end = session_runs(session) ? now_ns : session->ended_ns;
    return session->started_ns > 0 && end >= session->started_ns ? (end - session->started_ns) / 1000000 : -1;
}

static struct session *find_id(const struct sessions *sessions, const char *id)
{
    for (size_t i = 0; i < sessions->count; i++)
        if (!strcmp(sessions->list[i].raw_id, id))
            return &sessions->list[i];
    return NULL;
}

static struct session *add(struct sessions *sessions, const char *id)
{
    if (sessions->count == SESSIONS_MAX)
        return NULL;
    sessions->list = xrealloc(sessions->list, sessions->count + 1, sizeof(*sessions->list));
    struct session *session = &sessions->list[sessions->count++];
    *session = (struct session){.number = ++sessions->last, .raw_id = xstrdup(id)};
    return session;
}

static void set_text(char **place, const json_t *json, const char *key)
{
    free(*place);
    *place = field_text(json, key);
}

static void take_session(struct sessions *sessions, const json_t *json)
{
    const char *id = json_string_value(json_object_get(json, "id"));
    struct session *session = id && *id ? find_id(sessions, id) : NULL;
    if (id && *id && !session)
        session = add(sessions, id);
    if (!session)
        return;
    set_text(&session->id, json, "id");
    set_text(&session->command, json, "command");
    set_text(&session->cwd, json, "cwd");
    set_text(&session->user, json, "user");
    set_text(&session->label, json, "label");
    set_text(&session->state, json, "state");
    session->pty = json_is_true(json_object_get(json, "pty"));
    session->attached = json_is_true(json_object_get(json, "attached"));
    session->timed_out = json_is_true(json_object_get(json, "timed_out"));
    session->exit_status = field_number(json, "exit_status", -1);
    session->pid = field_number(json, "pid", 0);
    session->signal = field_number(json, "signal", 0);
    session->started_ns = field_number(json, "started_ns", 0);
    session->ended_ns = field_number(json, "ended_ns", 0);
    session->out_total = field_sum(field_number(json, "out_total", 0), field_number(json, "err_total", 0));
    session->max_rss = field_number(json, "max_rss", 0);
    session->cpu_us = field_sum(field_number(json, "user_us", 0), field_number(json, "system_us", 0));
    session->seen = true;
}

/* Those that were not in the list are gone. */
static void drop_unseen(struct sessions *sessions)
{
    size_t kept = 0;
    for (size_t i = 0; i < sessions->count; i++) {
        if (sessions->list[i].seen)
            sessions->list[kept++] = sessions->list[i];
        else
            finish(&sessions->list[i]);
    }
    sessions->count = kept;
}

static void take_list(struct app *app, struct call *call, const struct message *message,
                      struct effects *effects)
{
    struct sessions *sessions = &app->sessions;
    (void)call, (void)effects;
    if (message->type == MESSAGE_LINE) {
        take_session(sessions, message->body);
        return;
    }
    if (message->type != MESSAGE_ANSWER)
        return;
    sessions->call = 0;
    free(steal(&sessions->failure));
    if (message->error) {
        sessions->failure = xstrdup(message->error->message);
    } else {
        drop_unseen(sessions);
        sessions->known = true;
    }
    app_news(app, VIEW_EXEC);
}

static void ask(struct app *app, struct effects *effects)
{
    struct sessions *sessions = &app->sessions;
    const struct project *project = projects_find(&app->projects, sessions->project);
    sessions->due_ns = 0;
    if (!project || !app->up || sessions->call || strcmp(project->state, "run") != 0)
        return;
    for (size_t i = 0; i < sessions->count; i++)
        sessions->list[i].seen = false;
    autofree char *path = field_path("/v1/projects/%s/sessions", project->raw_name);
    sessions->asked_ns = app->now_ns;
    sessions->call = app_call(app, EFFECT_LINES, "GET", path, NULL, take_list, effects)->id;
}

void sessions_news(struct app *app)
{
    struct sessions *sessions = &app->sessions;
    if (app->tab == VIEW_EXEC && !sessions->due_ns)
        sessions->due_ns = app->now_ns + AGAIN_NS;
}

int64_t sessions_tick(struct app *app, struct effects *effects)
{
    struct sessions *sessions = &app->sessions;
    const struct project *project = app_project(app);
    /* It runs now and did not when it was looked at. */
    if (app->tab == VIEW_EXEC && project && sessions->project == project->number && !sessions->asked_ns &&
        !sessions->due_ns && !strcmp(project->state, "run"))
        sessions->due_ns = app->now_ns;
    if (project && strcmp(project->state, "run") != 0)
        sessions->asked_ns = 0;
    if (sessions->due_ns && sessions->due_ns <= app->now_ns && !sessions->call)
        ask(app, effects);
    return sessions->call ? 0 : sessions->due_ns;
}

void sessions_show(struct app *app, struct effects *effects)
{
    struct sessions *sessions = &app->sessions;
    if (sessions->project != app->selected) {
        app_cancel(app, sessions->call, effects);
        sessions->call = 0;
        clear(sessions);
        sessions->project = app->selected;
        sessions->asked_ns = 0;
        app_news(app, VIEW_EXEC);
    }
    ask(app, effects);
}

void sessions_hide(struct app *app, struct effects *effects)
{
    app_cancel(app, app->sessions.call, effects);
    app->sessions.call = 0;
    app->sessions.due_ns = 0;
}

/* ---- terminals ---- */

static void take_shell(struct app *app, struct call *call, const struct message *message,
                       struct effects *effects)
{
    const struct project *project = projects_find(&app->projects, call->number);
    const char *id = json_string_value(json_object_get(message->body, "id"));
    act_log_end(app, call->entry, message->error, NULL);
    if (message->error)
        app_say_error(app, message->error);
    else if (project && id)
        terminal_host_open(app, project->raw_name, id, "shell", effects);
    sessions_news(app);
}

void sessions_shell(struct app *app, uint64_t number, struct effects *effects)
{
    const struct project *project = projects_find(&app->projects, number);
    if (!project)
        return;
    autofree char *path = project_api_path(project, "/sessions");
    autofree char *twin = xasprintf("hutch shell %s", project->name);
    int rows = app->rows > 2 ? app->rows - 1 : 1;
    json_t *body =
        json_pack("{s:[], s:s, s:b, s:i, s:i, s:s, s:b}", "argv", "label", "shell", "pty", 1, "rows", rows,
                  "columns", app->columns, "term", "xterm-256color", "wait_ready", 1);
    require(body);
    struct call *call = app_call(app, EFFECT_CALL, "POST", path, body, take_shell, effects);
    call->number = number;
    call->entry = act_log(app, ENTRY_RUNS, twin, "");
}

struct newest {
    int64_t started_ns;
    char *id, *label;
};

static void drop_newest(void *data)
{
    struct newest *newest = data;
    free(newest->id);
    free(newest->label);
    free(newest);
}

/* The newest terminal that runs; a new shell if there is none. */
static void take_newest(struct app *app, struct call *call, const struct message *message,
                        struct effects *effects)
{
    struct newest *newest = call->data;
    const struct project *project = projects_find(&app->projects, call->number);
    if (message->type == MESSAGE_LINE) {
        autofree char *state = field_text(message->body, "state");
        const char *id = json_string_value(json_object_get(message->body, "id"));
        int64_t started = field_number(message->body, "started_ns", 0);
        if (!id || !json_is_true(json_object_get(message->body, "pty")) || strcmp(state, "running") != 0 ||
            started < newest->started_ns)
            return;
        newest->started_ns = started;
        newest->id = (free(newest->id), xstrdup(id));
        newest->label = (free(newest->label), field_text(message->body, "label"));
        return;
    }
    if (message->type != MESSAGE_ANSWER)
        return;
    if (message->error)
        app_say_error(app, message->error);
    else if (project && newest->id)
        terminal_host_open(app, project->raw_name, newest->id, newest->label, effects);
    else
        sessions_shell(app, call->number, effects);
}

void sessions_terminal(struct app *app, uint64_t number, struct effects *effects)
{
    const struct project *project = projects_find(&app->projects, number);
    if (!project)
        return;
    autofree char *path = project_api_path(project, "/sessions");
    struct call *call = app_call(app, EFFECT_LINES, "GET", path, NULL, take_newest, effects);
    call->number = number;
    call->data = xnew(struct newest);
    call->drop = drop_newest;
}
