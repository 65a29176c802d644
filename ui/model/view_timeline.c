/* What happened in the selected project, one row a command or an act. */
#include "ui/model/app_state.h"
#include "ui/model/field.h"

#include "base/alloc.h"
#include "base/units.h"
#include "base/words.h"

#include <stdio.h>
#include <string.h>

enum { TIME, FOLD, WHAT, RESULT, TOOK };
static const struct column columns[] = {
    [TIME] = {N_("TIME"), 8, false, 2, true, false},      [FOLD] = {"", 1, false, 0, false, false},
    [WHAT] = {N_("WHAT"), 0, false, 0, false, false, 18}, [RESULT] = {N_("RESULT"), 9, false, 0, true, true},
    [TOOK] = {N_("TOOK"), 7, true, 1, true, true},        {NULL},
};

static size_t first(const struct app *app)
{
    return app->events.first;
}

static size_t end(const struct app *app)
{
    return app->event_project ? app->events.end : app->events.first;
}

static uint64_t identity(const struct app *app, size_t position)
{
    const struct event *event = events_at(&app->events, position);
    return event ? (uint64_t)event->seq : 0;
}

static bool shows(const struct app *app, size_t position)
{
    const struct event *event = events_at(&app->events, position);
    return event->project == app->event_project && event_present(&app->events, event) &&
           !(event->parent && events_at(&app->events, event->parent - 1));
}

/* Position + 1 of a row below, if it is remembered still. */
static size_t child(const struct app *app, size_t position)
{
    const struct event *event = events_at(&app->events, position);
    size_t below = event ? event->child : 0;
    return below && events_at(&app->events, below - 1) ? below : 0;
}

static size_t sibling(const struct app *app, size_t position)
{
    return events_at(&app->events, position)->sibling;
}

/* Milliseconds that it took, or takes so far; -1: that is no question here. */
static int64_t took(const struct app *app, const struct event *event)
{
    if (event->started && !event->ended && app->now_ns > event->ts_ns)
        return (app->now_ns - event->ts_ns) / 1000000;
    return event->ms;
}

static enum style style_of(const struct event *event)
{
    if (event->failed || event->timed_out || event->exit > 0)
        return STYLE_BAD;
    if (event->with_machine)
        return STYLE_DIM;
    return event->started && !event->ended ? STYLE_BUSY : STYLE_GOOD;
}

static void cell(const struct app *app, size_t position, int column, struct cell_out *out)
{
    const struct event *event = events_at(&app->events, position);
    if (!event)
        return;
    switch (column) {
    case TIME:
        field_clock(event->ts_ns, out->room);
        out->text = out->room;
        out->style = STYLE_DIM;
        break;
    case FOLD:
        out->text = !event->child                                                   ? ""
                    : list_folded(&app->lists[VIEW_TIMELINE], (uint64_t)event->seq) ? "+"
                                                                                    : "-";
        break;
    case WHAT:
        out->text = event_text(event);
        out->style = event->group == EVENT_FINDING || strstr(event_kind(&app->events, event), ".crash")
                         ? STYLE_WARN
                     : event->group == EVENT_EXEC ? STYLE_NORMAL
                                                  : STYLE_DIM;
        break;
    case RESULT:
        event_outcome(event, out->room);
        out->text = out->room;
        out->style = style_of(event);
        break;
    default:
        field_duration(took(app, event), out->room);
        out->text = took(app, event) >= 0 ? out->room : "";
    }
}

static int64_t order(const struct app *app, size_t position, int column)
{
    const struct event *event = events_at(&app->events, position);
    return column == TIME     ? event->ts_ns
           : column == RESULT ? (event->failed ? 1000 : event->exit)
                              : took(app, event);
}

static char *label(const struct app *app, uint64_t seq)
{
    const struct event *event = events_find(&app->events, (int64_t)seq, NULL);
    return event ? xstrdup(event_text(event)) : NULL;
}

static void detail(const struct app *app, uint64_t seq, struct doc *out)
{
    const struct event *event = events_find(&app->events, (int64_t)seq, NULL);
    char text[24];
    if (!event) {
        doc_add(out, STYLE_DIM, "", _("this event is no longer remembered here; hutch log has it"));
        return;
    }
    doc_add(out, STYLE_NORMAL, event->group == EVENT_EXEC ? _("command") : _("what"), event_text(event));
    field_date(event->ts_ns, text);
    doc_add(out, STYLE_NORMAL, _("when"), text);
    event_outcome(event, text);
    if (*text)
        doc_add(out, style_of(event), _("result"), text);
    if (event->with_machine)
        doc_add(out, STYLE_DIM, "", _("it ended with the machine; when and how is not known"));
    if (event->failed && event->detail)
        doc_add(out, STYLE_BAD, _("why"), event->detail);
    field_duration(took(app, event), text);
    if (took(app, event) >= 0)
        doc_add(out, STYLE_NORMAL, event->started && !event->ended ? _("so far") : _("took"), text);
    if (*event->actor)
        doc_add(out, STYLE_NORMAL, _("by"), event->actor);
    if (event->session)
        doc_add(out, STYLE_NORMAL, _("session"), event->session);
    if (event->children)
        doc_addf(out, STYLE_NORMAL, _("below it"), "%u", event->children);
    doc_add(out, STYLE_DIM, _("kind"), event_kind(&app->events, event));
    doc_addf(out, STYLE_DIM, _("number"), _("%lld of the journal"), (long long)event->seq);
}

void app_to_command(struct app *app, uint64_t project, const char *session, int64_t ts_ns,
                    struct effects *effects)
{
    const struct project *own = projects_find(&app->projects, project);
    const struct event *event =
        !own || !*session
            ? NULL
            : events_command(&app->events, events_project(&app->events, own->raw_name), session, ts_ns);
    if (!event) {
        app_say(app, STYLE_WARN, "%s",
                *session ? _("its command is not remembered here; hutch log has what is older")
                         : _("the VM did not say which session it belongs to"));
        return;
    }
    uint64_t seq = (uint64_t)event->seq;
    while (app->overlay_count)
        app_pop(app, effects);
    app_choose_project(app, project, effects);
    app_open_tab(app, VIEW_TIMELINE, effects);
    app_settle(app);
    if (!list_select(app, &app->lists[VIEW_TIMELINE], seq))
        app_say(app, STYLE_WARN, "%s", _("the filter of the timeline hides its command"));
}

static const enum action bar[] = {ACTION_OPEN,   ACTION_BACK,    ACTION_FOLLOW,  ACTION_FOLD, ACTION_SEARCH,
                                  ACTION_FILTER, ACTION_ACTIONS, ACTION_PALETTE, ACTION_HELP, ACTION_NONE};

const struct view view_timeline = {
    .name = "timeline",
    .title = N_("Timeline"),
    .empty = N_("nothing has happened here yet that is remembered; hutch log has what is older"),
    .flags = VIEW_LOG | VIEW_TREE | VIEW_TAB | VIEW_PROJECT,
    .columns = columns,
    .bar = bar,
    .first = first,
    .end = end,
    .identity = identity,
    .shows = shows,
    .child = child,
    .sibling = sibling,
    .cell = cell,
    .order = order,
    .label = label,
    .detail = detail,
};
