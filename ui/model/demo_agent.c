/* The machine and the agent of the scene. The agent is a session with a terminal, as any other program would
 * be. */
#include "ui/model/demo_agent.h"

#include "ui/model/app_state.h"
#include "ui/model/field.h"

#include "base/alloc.h"
#include "base/words.h"

#include <string.h>

static void take_made(struct app *app, struct call *call, const struct message *message,
                      struct effects *effects)
{
    work_take(app, call->number, message);
    if (message->type != MESSAGE_ANSWER)
        return;
    act_log_end(app, call->entry, message->error, NULL);
    if (message->error)
        app_say_error(app, message->error);
    else if (json_object_get(message->body, "name"))
        feed_take_project(app, message->body);
    struct project *project = projects_named(&app->projects, app->demo.project);
    if (project) {
        app->chosen = true;
        list_select(app, &app->lists[VIEW_PROJECTS], project->number);
        app_choose_project(app, project->number, effects);
    }
    feed_refresh_all(app, effects);
}

void demo_make(struct app *app, struct effects *effects)
{
    const struct demo *demo = &app->demo;
    if (!app->up) {
        app_say(app, STYLE_WARN, _("hutchd is away; it works again when it is back"));
        return;
    }
    autofree char *twin = xasprintf("hutch up %s --repo %s --egress deny", demo->project, demo->repository);
    json_t *body =
        json_pack("{s:s, s:[s], s:s}", "name", demo->project, "repos", demo->repository, "egress", "deny");
    require(body);
    uint64_t entry = act_log(app, ENTRY_RUNS, twin, "");
    struct call *call = app_call(app, EFFECT_LINES, "POST", "/v1/projects", body, take_made, effects);
    call->entry = entry;
    call->number = work_begin(app, WORK_PROJECT, demo->project, ACTION_CREATE, entry);
}

/* ---- the agent ---- */

static void failed(struct app *app, const struct error *error)
{
    app->demo.busy = false;
    app_say_error(app, error);
}

static void take_started(struct app *app, struct call *call, const struct message *message,
                         struct effects *effects)
{
    struct demo *demo = &app->demo;
    const char *id = json_string_value(json_object_get(message->body, "id"));
    act_log_end(app, call->entry, message->error, NULL);
    if (message->error) {
        failed(app, message->error);
        return;
    }
    demo->busy = false;
    if (!id)
        return;
    demo->session = (free(demo->session), xstrdup(id));
    demo->ended = false;
    terminal_host_open(app, demo->project, id, DEMO_AGENT, effects);
    sessions_news(app);
}

static void take_put(struct app *app, struct call *call, const struct message *message,
                     struct effects *effects)
{
    (void)call;
    const struct demo *demo = &app->demo;
    if (message->error) {
        failed(app, message->error);
        return;
    }
    autofree char *path = field_path("/v1/projects/%s/sessions", demo->project);
    autofree char *twin = xasprintf("hutch exec %s -t -- " DEMO_AGENT, demo->project);
    json_t *body = json_pack("{s:[s], s:s, s:b, s:i, s:i, s:s, s:b}", "argv", DEMO_AGENT, "label", DEMO_AGENT,
                             "pty", 1, "rows", app->rows > 2 ? app->rows - 1 : 1, "columns", app->columns,
                             "term", "xterm-256color", "wait_ready", 1);
    require(body);
    app_call(app, EFFECT_CALL, "POST", path, body, take_started, effects)->entry =
        act_log(app, ENTRY_RUNS, twin, "");
}

/* Its program, when no other agent is left. */
static void put(struct app *app, struct effects *effects)
{
    const struct demo *demo = &app->demo;
    if (!demo->listed || demo->killing > 0)
        return;
    autofree char *path =
        field_path("/v1/projects/%s/files?path=%s&mode=0755&user=root", demo->project, DEMO_AGENT_PATH);
    app_call(app, EFFECT_CALL, "PUT", path, NULL, take_put, effects);
    require(buf_append(&effects->last->bytes, demo->agent, strlen(demo->agent), NULL) == 0);
}

static void take_killed(struct app *app, struct call *call, const struct message *message,
                        struct effects *effects)
{
    (void)call, (void)message; /* one that cannot be ended does not stand in the way of the next */
    app->demo.killing--;
    put(app, effects);
}

static void take_old(struct app *app, struct call *call, const struct message *message,
                     struct effects *effects)
{
    (void)call;
    struct demo *demo = &app->demo;
    if (message->type == MESSAGE_LINE) {
        const char *label = json_string_value(json_object_get(message->body, "label"));
        const char *id = json_string_value(json_object_get(message->body, "id"));
        if (!id || !label || strcmp(label, DEMO_AGENT) != 0)
            return;
        autofree char *path = field_path("/v1/projects/%s/sessions/%s", demo->project, id);
        demo->killing++;
        app_call(app, EFFECT_CALL, "DELETE", path, NULL, take_killed, effects);
        return;
    }
    if (message->type != MESSAGE_ANSWER)
        return;
    if (message->error) {
        failed(app, message->error);
        return;
    }
    demo->listed = true;
    put(app, effects);
}

void demo_agent(struct app *app, struct effects *effects)
{
    struct demo *demo = &app->demo;
    if (!app->up) {
        app_say(app, STYLE_WARN, _("hutchd is away; it works again when it is back"));
        return;
    }
    if (demo->session && !demo->ended) {
        terminal_host_open(app, demo->project, demo->session, DEMO_AGENT, effects);
        return;
    }
    autofree char *path = field_path("/v1/projects/%s/sessions", demo->project);
    demo->busy = true;
    demo->listed = false;
    demo->killing = 0;
    app_call(app, EFFECT_LINES, "GET", path, NULL, take_old, effects);
}
