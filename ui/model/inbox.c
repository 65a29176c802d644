#include "ui/model/inbox.h"

#include "ui/model/app_state.h"
#include "ui/model/field.h"

#include "base/alloc.h"
#include "base/words.h"

#include <string.h>

#define NEWS_NS   (SECOND / 4) /* the list is asked for four times a second at most */
#define ATTEND_NS (30 * SECOND)

static void finish(struct request_row *row)
{
    char *strings[] = {row->project, row->kind, row->subject, row->state, row->session, row->raw_project};
    for (size_t i = 0; i < countof(strings); i++)
        free(strings[i]);
}

void inbox_finish(struct inbox *inbox)
{
    for (size_t i = 0; i < inbox->count; i++)
        finish(&inbox->list[i]);
    free(inbox->list);
    free(inbox->failure);
    prompt_finish(&inbox->prompt);
    *inbox = (struct inbox){0};
}

struct request_row *inbox_find(const struct inbox *inbox, uint64_t id)
{
    for (size_t i = 0; i < inbox->count; i++)
        if (inbox->list[i].id == id)
            return &inbox->list[i];
    return NULL;
}

uint64_t inbox_next_line(const struct inbox *inbox, uint64_t id)
{
    const struct request_row *own = inbox_find(inbox, id);
    uint64_t first = 0, next = 0;
    for (size_t i = 0; own && i < inbox->count; i++) {
        const struct request_row *row = &inbox->list[i];
        if (row->batch != own->batch || row->id == id)
            continue;
        first = first ? first : row->id;
        next = !next && row > own ? row->id : next;
    }
    return next ? next : first;
}

uint64_t inbox_frozen_for(const struct app *app, const char *raw_project)
{
    for (size_t i = 0; i < app->inbox.count; i++) {
        const struct request_row *row = &app->inbox.list[i];
        if (!strcmp(row->state, "frozen") && !strcmp(row->raw_project, raw_project))
            return row->id;
    }
    return 0;
}

/* ---- the list ---- */

enum request_tier request_tier(const json_t *json)
{
    const char *word = json_string_value(json_object_get(json, "class"));
    return word && !strcmp(word, "routine")   ? REQUEST_ROUTINE
           : word && !strcmp(word, "unusual") ? REQUEST_UNUSUAL
                                              : REQUEST_CRITICAL;
}

static void take_row(struct inbox *inbox, const json_t *json)
{
    uint64_t id = (uint64_t)field_number(json, "id", 0);
    struct request_row *row = id ? inbox_find(inbox, id) : NULL;
    if (!id || (!row && inbox->count == REQUESTS_MAX))
        return;
    if (row) {
        finish(row);
    } else {
        inbox->list = xrealloc(inbox->list, inbox->count + 1, sizeof(*inbox->list));
        row = &inbox->list[inbox->count++];
    }
    const char *project = json_string_value(json_object_get(json, "project"));
    *row = (struct request_row){.id = id,
                                .project = field_text(json, "project"),
                                .kind = field_text(json, "kind"),
                                .subject = field_text(json, "subject"),
                                .state = field_text(json, "state"),
                                .session = field_text(json, "session"),
                                .batch = (uint64_t)field_number(json, "batch", (int64_t)id),
                                .raw_project = xstrdup(project ? project : ""),
                                .class = request_tier(json),
                                .asked_ns = field_number(json, "asked_ns", 0),
                                .changed_ns = field_number(json, "changed_ns", 0),
                                .seen = true};
}

static void drop_unseen(struct inbox *inbox)
{
    size_t kept = 0;
    for (size_t i = 0; i < inbox->count; i++) {
        if (inbox->list[i].seen)
            inbox->list[kept++] = inbox->list[i];
        else
            finish(&inbox->list[i]);
    }
    inbox->count = kept;
}

static void take_list(struct app *app, struct call *call, const struct message *message,
                      struct effects *effects)
{
    struct inbox *inbox = &app->inbox;
    (void)call;
    if (message->type == MESSAGE_LINE) {
        take_row(inbox, message->body);
        return;
    }
    inbox->call = 0;
    free(steal(&inbox->failure));
    if (message->error) {
        inbox->failure = xstrdup(message->error->message);
    } else {
        drop_unseen(inbox);
        inbox->known = true;
        inbox->waiting = (int64_t)inbox->count;
    }
    app_news(app, VIEW_REQUESTS);
    prompt_check(app, effects);
    review_check(app, effects);
}

void inbox_ask(struct app *app, struct effects *effects)
{
    struct inbox *inbox = &app->inbox;
    if (!app->up)
        return;
    if (inbox->call) {
        inbox->due_ns = app->now_ns + NEWS_NS;
        return;
    }
    inbox->due_ns = 0;
    inbox->asked_ns = app->now_ns;
    for (size_t i = 0; i < inbox->count; i++)
        inbox->list[i].seen = false;
    inbox->call = app_call(app, EFFECT_LINES, "GET", "/v1/requests", NULL, take_list, effects)->id;
}

void inbox_news(struct app *app)
{
    int64_t due = app->inbox.asked_ns + NEWS_NS;
    if (app->inbox.due_ns)
        return;
    app->inbox.due_ns = due > app->now_ns ? due : app->now_ns;
}

int64_t inbox_tick(struct app *app, struct effects *effects)
{
    struct inbox *inbox = &app->inbox;
    if (inbox->due_ns && inbox->due_ns <= app->now_ns)
        inbox_ask(app, effects);
    return inbox->due_ns;
}

/* ---- who is here ---- */

static void take_attended(struct app *app, struct call *call, const struct message *message,
                          struct effects *effects)
{
    (void)app, (void)call, (void)message, (void)effects;
}

/* The inbox counts for all projects; else the project that is looked at. */
void inbox_attend(struct app *app, struct effects *effects)
{
    enum view_id view = app_view(app);
    const struct project *project = app_project(app);
    bool inbox = view == VIEW_REQUESTS || view == VIEW_REQUEST;
    const char *name = app->terminal ? terminal_project(app->terminal) : project ? project->raw_name : NULL;
    if (!app->up || (app->inbox.attended_ns && app->now_ns < app->inbox.attended_ns + ATTEND_NS))
        return;
    app->inbox.attended_ns = app->now_ns;
    json_t *body = json_object();
    json_object_set_new(body, "project", name && !inbox ? json_string(name) : json_null());
    app_call(app, EFFECT_CALL, "POST", "/v1/attending", body, take_attended, effects);
}

void inbox_open(struct app *app, struct effects *effects)
{
    if (app_view(app) == VIEW_REQUEST || app_view(app) == VIEW_REQUESTS)
        return;
    app_push(app, VIEW_REQUESTS, effects);
    if (app->inbox.count != 1)
        return;
    prompt_show(app, app->inbox.list[0].id, effects);
    app_push(app, VIEW_REQUEST, effects);
}
