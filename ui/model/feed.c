/* What is asked of hutchd, and what comes back: the projects, the events, the host. Nothing is asked again
 * and again: events say that something changed, and only what is on its way from one state to another is
 * looked at once a second until it is there. */
#include "ui/model/app_state.h"

#include "base/alloc.h"
#include "base/text.h"
#include "base/words.h"
#include "ui/model/field.h"

#include <string.h>

#define AGAIN_NS (SECOND / 4) /* a project is asked for four times a second at most */
#define HOT_NS   (3 * SECOND) /* hutchd writes an event before the act: look until it is done */

typedef void take_fn(struct app *app, struct call *call, const struct message *message,
                     struct effects *effects);

struct call *app_call(struct app *app, enum effect_type type, const char *method, const char *path,
                      json_t *body, take_fn *take, struct effects *effects)
{
    struct call *call = xnew(struct call);
    struct effect *effect = effects_add(effects, type);
    effect->id = call->id = ++app->last_id;
    effect->method = xstrdup(method);
    effect->path = xstrdup(path);
    effect->body = body;
    call->take = take;
    call->next = app->calls;
    app->calls = call;
    return call;
}

struct call *app_local(struct app *app, enum effect_type type, const char *text, take_fn *take,
                       struct effects *effects)
{
    struct call *call = xnew(struct call);
    call->id = ++app->last_id;
    call->take = take;
    call->local = true;
    call->next = app->calls;
    app->calls = call;
    effects_add_text(effects, type, text, 0)->id = call->id;
    return call;
}

static void call_free(struct call *call)
{
    if (call->drop)
        call->drop(call->data);
    else
        free(call->data);
    free(call);
}

/* Takes a call out of the list. */
static struct call *unlink_call(struct app *app, uint64_t id)
{
    for (struct call **at = &app->calls; *at; at = &(*at)->next) {
        struct call *call = *at;
        if (call->id == id) {
            *at = call->next;
            return call;
        }
    }
    return NULL;
}

struct call *app_find_call(const struct app *app, uint64_t id)
{
    struct call *call = app->calls;
    while (call && call->id != id)
        call = call->next;
    return call;
}

void app_cancel(struct app *app, uint64_t id, struct effects *effects)
{
    struct call *call = id ? unlink_call(app, id) : NULL;
    if (!call)
        return;
    effects_add(effects, EFFECT_CANCEL)->id = id;
    call_free(call);
}

void feed_finish(struct app *app)
{
    while (app->calls)
        call_free(unlink_call(app, app->calls->id));
}

bool feed_answer(struct app *app, const struct message *message, struct effects *effects)
{
    struct call *call = app_find_call(app, message->id);
    if (!call)
        return false;
    if (message->type == MESSAGE_ANSWER)
        unlink_call(app, message->id);
    call->take(app, call, message, effects);
    if (message->type == MESSAGE_ANSWER)
        call_free(call);
    app->changed = true;
    return true;
}

/* ---- one project ---- */

/* Asks again then, if not before. */
static void refresh_at(struct project *project, int64_t due_ns)
{
    if (!project->refresh_ns || due_ns < project->refresh_ns)
        project->refresh_ns = due_ns;
}

void feed_take_project(struct app *app, const json_t *json)
{
    bool full = json_object_get(json, "vm") != NULL;
    struct project *project = projects_take(&app->projects, json, full);
    if (!project)
        return;
    if (project_passing(project) || app->now_ns < project->hot_ns)
        refresh_at(project, app->now_ns + SECOND);
    if (project->number == app->selected)
        info_update(app);
    app_news(app, VIEW_PROJECTS);
}

/* What is said about a project goes with it. */
static void forget_notice(struct app *app)
{
    if (!app->notice_about || projects_find(&app->projects, app->notice_about))
        return;
    free(steal(&app->notice));
    app->notice_about = 0;
}

static void take_refreshed(struct app *app, struct call *call, const struct message *message,
                           struct effects *effects)
{
    struct project *project = projects_find(&app->projects, call->number);
    if (message->type != MESSAGE_ANSWER || !project)
        return;
    project->asked = 0;
    if (message->error && message->error->code == ERROR_NOT_FOUND) {
        projects_remove(&app->projects, call->number);
        forget_notice(app);
        app_news(app, VIEW_PROJECTS);
        return;
    }
    bool again = project->again;
    if (message->body)
        feed_take_project(app, message->body);
    if (again && app->up)
        feed_refresh(app, call->number, effects);
}

void feed_refresh(struct app *app, uint64_t number, struct effects *effects)
{
    struct project *project = projects_find(&app->projects, number);
    if (!project || !app->up)
        return;
    project->refresh_ns = 0;
    project->again = project->asked != 0;
    if (project->asked)
        return;
    project->asked_ns = app->now_ns;
    autofree char *path = field_path("/v1/projects/%s", project->raw_name);
    struct call *call = app_call(app, EFFECT_CALL, "GET", path, NULL, take_refreshed, effects);
    call->number = number;
    project->asked = call->id;
}

/* ---- all projects ---- */

/* The project of the folder that hutch was started in is the one that is looked at first, or one that has
 * the repository which is there. */
static void choose_first(struct app *app)
{
    const char *name = app->folder_project ? app->folder_project : app->near_project;
    struct project *project = name ? projects_named(&app->projects, name) : NULL;
    if (app->chosen || !project)
        return;
    app->chosen = true;
    list_select(app, &app->lists[VIEW_PROJECTS], project->number);
    app->lists[VIEW_PROJECTS].stale = true;
}

static void take_projects(struct app *app, struct call *call, const struct message *message,
                          struct effects *effects)
{
    (void)call;
    if (message->type == MESSAGE_LINE) {
        feed_take_project(app, message->body);
        return;
    }
    app->projects_call = 0;
    free(steal(&app->projects.failure));
    if (message->error) {
        app->projects.failure = xstrdup(message->error->message);
        if (app->up)
            app_say_error(app, message->error);
        return;
    }
    projects_end(&app->projects);
    forget_notice(app);
    app_news(app, VIEW_PROJECTS);
    choose_first(app);
    if (app->projects_again)
        feed_refresh_all(app, effects);
}

void feed_refresh_all(struct app *app, struct effects *effects)
{
    app->projects_again = app->projects_call != 0;
    if (app->projects_call || !app->up)
        return;
    projects_begin(&app->projects);
    app->projects_call = app_call(app, EFFECT_LINES, "GET", "/v1/projects", NULL, take_projects, effects)->id;
}

/* The repository where hutch was started, and no project of this folder: it may be in one of another. */
static void take_found_repository(struct app *app, struct call *call, const struct message *message,
                                  struct effects *effects)
{
    (void)call, (void)effects;
    const char *name = json_string_value(json_object_get(message->body, "name"));
    bool others = !app->projects.known || app->projects.count > 0; /* else the empty list says it */
    char key[24] = "";
    if (name) {
        app->near_project = (free(app->near_project), xstrdup(name));
        if (app->projects.known)
            choose_first(app);
    } else if (others && app->repository && message->error && message->error->code == ERROR_NOT_FOUND) {
        autofree char *folder = text_safe(app->repository);
        bindings_key(&app->settings.bindings, KEYMAP_PROJECT, ACTION_CREATE, key);
        app_say(app, STYLE_NORMAL, _("%s makes a project of the repository here, %s"), key, folder);
    }
}

static void take_found(struct app *app, struct call *call, const struct message *message,
                       struct effects *effects)
{
    (void)call;
    const char *name = json_string_value(json_object_get(message->body, "name"));
    if (!name && app->repository && message->error && message->error->code == ERROR_NOT_FOUND) {
        autofree char *path = field_path("/v1/find?repository=%s", app->repository);
        app_call(app, EFFECT_CALL, "GET", path, NULL, take_found_repository, effects);
    }
    if (!name)
        return;
    app->folder_project = (free(app->folder_project), xstrdup(name));
    if (app->projects.known)
        choose_first(app);
}

static void take_status(struct app *app, struct call *call, const struct message *message,
                        struct effects *effects)
{
    (void)call, (void)effects;
    app->status_call = 0;
    const json_t *host = json_object_get(message->body, "host");
    if (!host)
        return;
    app->host_known = true;
    app->host_kvm = json_is_true(json_object_get(host, "kvm"));
    app->host_disk_free = field_number(host, "disk_free", -1);
    const json_t *defaults = json_object_get(host, "defaults");
    app->default_cpus = field_number(defaults, "cpus", 0);
    app->default_memory = field_number(defaults, "memory", 0);
    app->default_disk = field_number(defaults, "disk", 0);
}

/* What the top line says of the host: asked for when something was done. */
static void ask_status(struct app *app, struct effects *effects)
{
    app->status_ns = 0;
    app->status_asked_ns = app->now_ns;
    if (!app->status_call)
        app->status_call = app_call(app, EFFECT_CALL, "GET", "/v1/status", NULL, take_status, effects)->id;
}

/* ---- events ---- */

/* At once, but not more often than so: acts can come by the thousand. */
static void ask_soon(struct app *app, struct project *project, struct effects *effects)
{
    int64_t due = project->asked_ns + AGAIN_NS;
    if (app->now_ns >= due)
        feed_refresh(app, project->number, effects);
    else
        refresh_at(project, due);
    due = app->status_asked_ns + SECOND;
    if (app->now_ns >= due)
        ask_status(app, effects);
    else
        app->status_ns = due;
}

/* Something was done with a project: what is known of it is old. */
static void on_act(struct app *app, const json_t *json, struct effects *effects)
{
    const char *name = json_string_value(json_object_get(json, "project"));
    if (!name || field_number(json, "ts_ns", 0) < app->up_ns)
        return;
    struct project *project = projects_named(&app->projects, name);
    if (!project) {
        feed_refresh_all(app, effects);
        return;
    }
    project->hot_ns = app->now_ns + HOT_NS;
    ask_soon(app, project, effects);
}

static void take_event(struct app *app, const json_t *json, struct effects *effects)
{
    bool fresh;
    const char *kind = json_string_value(json_object_get(json, "kind"));
    demo_event(app, json);
    size_t position = events_take(&app->events, json, &fresh);
    if (position == SIZE_MAX)
        return;
    net_event(app, json);
    bool asks = kind && !strncmp(kind, "approval.", 9);
    if (asks || (kind && (!strcmp(kind, "lifecycle.freeze") || !strcmp(kind, "lifecycle.thaw"))))
        inbox_news(app);
    if (asks)
        on_act(app, json, effects);
    const struct event *event = events_at(&app->events, position);
    if (event->project == app->event_project && (asks || event->group == EVENT_GIT))
        git_news(app);
    struct list *timeline = &app->lists[VIEW_TIMELINE];
    if (fresh && !strcmp(event_kind(&app->events, event), "lifecycle.create"))
        list_restate(timeline); /* the rows of a removed project of that name go */
    else if (event->parent)     /* comes below another row */
        list_news(timeline);
    else if (fresh)
        list_grown(timeline);
    else
        list_changed(timeline, position);
    if (event->group == EVENT_EXEC && event->project == app->event_project)
        sessions_news(app);
    if (event->group == EVENT_LIFECYCLE || event->group == EVENT_GIT || event->group == EVENT_FINDING)
        on_act(app, json, effects);
}

static void ask_events(struct app *app, struct effects *effects);

static void take_events(struct app *app, struct call *call, const struct message *message,
                        struct effects *effects)
{
    (void)call;
    if (message->type == MESSAGE_LINE) {
        take_event(app, message->body, effects);
        return;
    }
    app->events_call = 0;
    if (app->up) /* cut because it was too slow: go on behind the last one, but not in a circle */
        app->events_ns = app->now_ns + SECOND;
}

static void ask_events(struct app *app, struct effects *effects)
{
    if (app->events_call || !app->up)
        return;
    autofree char *path = app->events.last_seq
                              ? xasprintf("/v1/events?follow=1&after=%lld", (long long)app->events.last_seq)
                              : xasprintf("/v1/events?follow=1&limit=%d&each=%d", EVENTS_FIRST, EVENTS_EACH);
    app->events_ns = 0;
    app->events_call = app_call(app, EFFECT_LINES, "GET", path, NULL, take_events, effects)->id;
}

static void take_older(struct app *app, struct call *call, const struct message *message,
                       struct effects *effects)
{
    (void)effects;
    struct events *older = &app->older;
    struct list *timeline = &app->lists[VIEW_TIMELINE];
    bool fresh;
    if (message->type == MESSAGE_LINE) {
        /* An older hutchd does not know "before": what is here already is not taken twice. */
        bool wanted = field_number(message->body, "seq", 0) < app->older_before;
        if (wanted && older->end - older->first < EVENTS_PAGE)
            events_take(older, message->body, &fresh);
        app->older_lines++;
        return;
    }
    if (!message->error && call->number && app->older_lines < EVENTS_PAGE)
        app->events.complete[call->number - 1] = true;
    app->older_call = 0;
    if (message->error && app->up)
        app_say_error(app, message->error);
    events_merge(&app->events, older);
    events_finish(older);
    timeline->judged = 0; /* positions are others now */
    list_news(timeline);
}

void feed_older(struct app *app, struct effects *effects)
{
    const struct project *project = app_project(app);
    uint32_t number = project ? events_project(&app->events, project->raw_name) : 0;
    if (!number || !app->up || app->older_call || app->events.complete[number - 1] ||
        !events_room(&app->events))
        return;
    autofree char *base = field_path("/v1/events?project=%s", project->raw_name);
    autofree char *path = xasprintf("%s&before=%lld&limit=%d", base,
                                    (long long)events_oldest(&app->events, number), EVENTS_PAGE);
    events_init(&app->older);
    app->older_before = events_oldest(&app->events, number);
    app->older_lines = 0;
    struct call *call = app_call(app, EFFECT_LINES, "GET", path, NULL, take_older, effects);
    call->number = number;
    app->older_call = call->id;
}

/* ---- the connection ---- */

void feed_up(struct app *app, const struct message *message, struct effects *effects)
{
    app->up = true;
    app->up_ns = app->now_ns;
    app->version = (free(app->version), field_text(message->body, "version"));
    if (app->was_up)
        app_say(app, STYLE_GOOD, _("connected to hutchd again"));
    app->was_up = true;
    app->changed = true;
    if (app->terminal_only)
        return;
    ask_status(app, effects);
    feed_refresh_all(app, effects);
    if (app->folder && !app->folder_project) {
        autofree char *path = field_path("/v1/find?folder=%s", app->folder);
        app_call(app, EFFECT_CALL, "GET", path, NULL, take_found, effects);
    }
    ask_events(app, effects);
    inbox_ask(app, effects);
    const struct view *tab = view_table[app->tab];
    if (tab->shown && app->selected)
        tab->shown(app, effects);
    for (int i = 0; i < app->overlay_count; i++)
        if (view_table[app->overlays[i]]->shown)
            view_table[app->overlays[i]]->shown(app, effects);
}

/* What hutchd was asked last, at or before an id; NULL: nothing that is still out. */
static struct call *newest_call(const struct app *app, uint64_t last)
{
    struct call *call = app->calls;
    while (call && (call->local || call->id > last))
        call = call->next;
    return call;
}

void feed_down(struct app *app, const struct message *message, struct effects *effects)
{
    auto(error) struct error *away = NULL;
    app->up = false;
    app->down_why = (free(app->down_why), xstrdup(message->error ? message->error->message : NULL));
    app->changed = true;
    if (app->down_why)
        act_log(app, ENTRY_SAID, NULL, app->down_why);
    error_set(&away, ERROR_NO_DAEMON, _("hutchd went away before it answered; what was begun may go on"));
    struct message end = {.type = MESSAGE_ANSWER, .now_ns = app->now_ns, .error = away};
    uint64_t last = app->last_id;
    for (struct call *call; (call = newest_call(app, last));) { /* taking one can cancel others */
        unlink_call(app, call->id);
        end.id = last = call->id;
        call->take(app, call, &end, effects);
        call_free(call);
    }
    app->projects_again = false;
    for (size_t i = 0; i < app->projects.count; i++)
        app->projects.list[i].again = false;
}

int64_t feed_tick(struct app *app, struct effects *effects)
{
    int64_t next = 0;
    if (!app->up)
        return 0;
    if (app->events_ns && app->events_ns <= app->now_ns)
        ask_events(app, effects);
    if (app->status_ns && app->status_ns <= app->now_ns)
        ask_status(app, effects);
    next = app->events_ns;
    if (app->status_ns && (!next || app->status_ns < next))
        next = app->status_ns;
    int64_t dues[] = {sessions_tick(app, effects), inbox_tick(app, effects), net_tick(app, effects),
                      git_tick(app, effects), review_tick(app, effects)};
    for (size_t i = 0; i < countof(dues); i++)
        if (dues[i] && (!next || dues[i] < next))
            next = dues[i];
    for (size_t i = 0; i < app->projects.count; i++) {
        struct project *project = &app->projects.list[i];
        if (!project->refresh_ns)
            continue;
        if (project->refresh_ns <= app->now_ns)
            feed_refresh(app, project->number, effects);
        else if (!next || project->refresh_ns < next)
            next = project->refresh_ns;
    }
    return next;
}
