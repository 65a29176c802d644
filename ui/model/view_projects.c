/* The projects: the first view, and what can be done to a project. */
#include "ui/model/app_state.h"
#include "ui/model/field.h"
#include "ui/model/project_act.h"

#include "base/alloc.h"
#include "base/text.h"
#include "base/units.h"
#include "base/words.h"

#include <stdio.h>
#include <string.h>

enum { NAME, STATE, AGENT, WAIT, NET, DISK, NOW };
static const struct column columns[] = {
    [NAME] = {N_("PROJECT"), 14, false, 0, true, false}, [STATE] = {N_("STATE"), 8, false, 0, true, false},
    [AGENT] = {N_("AGENT"), 13, false, 4, true, false},  [WAIT] = {N_("WAIT"), 4, true, 3, true, true},
    [NET] = {N_("NET/s"), 5, true, 5, true, true},       [DISK] = {N_("DISK"), 5, true, 2, true, true},
    [NOW] = {N_("NOW"), 0, false, 1, false, false, 10},  {NULL},
};

static size_t end(const struct app *app)
{
    return app->projects.count;
}

static uint64_t identity(const struct app *app, size_t position)
{
    return app->projects.list[position].number;
}

static void state_cell(const struct project *project, struct cell_out *out)
{
    static const struct {
        const char *state;
        enum style style;
    } table[] = {
        {"run", STYLE_GOOD},    {"new", STYLE_BUSY},     {"starting", STYLE_BUSY}, {"stopping", STYLE_BUSY},
        {"saving", STYLE_BUSY}, {"frozen", STYLE_WARN},  {"paused", STYLE_WARN},   {"failed", STYLE_BAD},
        {"gone", STYLE_BAD},    {"saved", STYLE_NORMAL}, {"off", STYLE_DIM},
    };
    out->text = project_state(project);
    for (size_t i = 0; i < countof(table); i++)
        if (!strcmp(table[i].state, project->state))
            out->style = table[i].style;
}

static void size_cell(int64_t bytes, bool zero, struct cell_out *out)
{
    out->text = "-";
    if (bytes > 0)
        out->text = units_format_size((uint64_t)bytes, out->room);
    else if (bytes == 0 && zero)
        out->text = "0";
}

#define SHELL "(login shell)" /* hutchd's word for a command that is none */

/* The newest command that runs in it; one that is only a shell which waits counts if there is no other. */
static const struct event *running(const struct app *app, const struct project *project)
{
    const struct events *events = &app->events;
    const struct event *shell = NULL;
    for (size_t i = events->open_count; i-- > 0;) {
        const struct event *event = events_at(events, events->open[i] - 1);
        if (!event || event->ended || strcmp(event_project(events, event), project->raw_name) != 0)
            continue;
        if (strcmp(event_text(event), SHELL) != 0)
            return event;
        if (!shell)
            shell = event;
    }
    return shell;
}

/* FROZEN is by hutch, for a request: which one. */
static void frozen_cell(const struct app *app, const struct project *project, struct cell_out *out)
{
    char key[24] = "";
    uint64_t id = inbox_frozen_for(app, project->raw_name);
    if (!id)
        id = project->frozen_for > 0 ? (uint64_t)project->frozen_for : 0;
    bindings_key(&app->settings.bindings, KEYMAP_EVERYWHERE, ACTION_INBOX, key);
    int64_t since = id == (uint64_t)project->frozen_for ? project->frozen_ns : 0;
    char for_long[UNITS_DURATION_MAX] = "";
    if (since > 0 && app->now_ns > since) {
        units_format_duration((uint64_t)((app->now_ns - since) / 1000000000), for_long);
        snprintf(out->room, sizeof(out->room), _("for request #%llu, %s; %s answers"), (unsigned long long)id,
                 for_long, key);
    } else {
        snprintf(out->room, sizeof(out->room), _("for request #%llu; %s answers"), (unsigned long long)id,
                 key);
    }
    out->text = id ? out->room : _("for a request");
    out->style = STYLE_WAITING;
}

/* What it does right now, and nothing else: the step that is done with it, or the command that runs in it.
 * Why it does nothing, if it should. */
static void now_cell(const struct app *app, const struct project *project, struct cell_out *out)
{
    const struct work *work = work_named(app, WORK_PROJECT, project->raw_name);
    out->text = project_now(project);
    out->style = *project->failure ? STYLE_BAD : *project->step ? STYLE_BUSY : STYLE_DIM;
    if (work && work->state == WORK_RUNS && *work_now(work)) { /* by this screen: it knows more */
        out->text = work_now(work);
        out->style = STYLE_BUSY;
        return;
    }
    if (!*project->failure && !strcmp(project->state, "frozen")) {
        frozen_cell(app, project, out);
        return;
    }
    if (!*project->failure && !*project->step && project->stored_for > 0) {
        snprintf(out->room, sizeof(out->room), _("saved for request #%lld; an answer wakes it"),
                 (long long)project->stored_for);
        out->text = out->room;
        out->style = STYLE_WAITING;
        return;
    }
    if (*project->failure || *project->step || strcmp(project->state, "run") != 0)
        return;
    const struct event *event = running(app, project);
    bool shell = event && !strcmp(event_text(event), SHELL);
    if (event) {
        out->text = shell ? _("a shell is open") : event_text(event);
        out->style = shell ? STYLE_DIM : STYLE_NORMAL;
    }
}

/* Columns that no project has ever had a value for would only take room, at every size. */
static bool has(const struct app *app, int column)
{
    const struct projects *projects = &app->projects;
    return column == AGENT  ? projects->has_agent
           : column == WAIT ? projects->has_waiting
           : column == NET  ? projects->has_net
                            : true;
}

/* Where hutch was started there may be something to make a project of. */
static char *nothing(const struct app *app)
{
    char key[24] = "";
    bindings_key(&app->settings.bindings, KEYMAP_PROJECT, ACTION_CREATE, key);
    if (!app->repository)
        return xasprintf(_("no projects yet; %s makes one, of a repository that you name"), key);
    autofree char *folder = text_safe(app->repository);
    return xasprintf(_("no projects yet; %s makes one of the repository here, %s"), key, folder);
}

static void cell(const struct app *app, size_t position, int column, struct cell_out *out)
{
    const struct project *project = &app->projects.list[position];
    switch (column) {
    case NAME:
        out->text = project->name;
        break;
    case STATE:
        state_cell(project, out);
        break;
    case AGENT:
        out->text = *project->agent ? project->agent : "-";
        break;
    case WAIT:
        snprintf(out->room, sizeof(out->room), "%lld", (long long)project->waiting);
        out->text = project->waiting > 0 ? out->room : "-";
        out->style = project->waiting > 0 ? STYLE_WAITING : STYLE_NORMAL;
        break;
    case NET:
        size_cell(project->net_rate, true, out);
        break;
    case DISK:
        size_cell(project->disk, false, out);
        break;
    default:
        now_cell(app, project, out);
    }
}

static char *label(const struct app *app, uint64_t number)
{
    const struct project *project = projects_find(&app->projects, number);
    return project ? xstrdup(project->name) : NULL;
}

static uint64_t own(const struct app *app, uint64_t number)
{
    (void)app;
    return number;
}

/* The same key resumes what it paused; what starts a machine wakes one that is saved. */
static const char *says(const struct app *app, uint64_t number, enum action action)
{
    const struct project *project = projects_find(&app->projects, number);
    if (action == ACTION_START && project && !strcmp(project->state, "saved"))
        return _("wake");
    if (action == ACTION_PAUSE && project && !strcmp(project->state, "paused"))
        return _("resume");
    if (action == ACTION_PAUSE && project && !strcmp(project->state, "frozen"))
        return _("thaw");
    return NULL;
}

static void size_line(struct doc *doc, const char *title, int64_t bytes)
{
    char size[UNITS_SIZE_MAX];
    if (bytes >= 0)
        doc_add(doc, STYLE_NORMAL, title, units_format_size((uint64_t)bytes, size));
}

static void detail(const struct app *app, uint64_t number, struct doc *out)
{
    const struct project *project = projects_find(&app->projects, number);
    char made[24];
    if (!project)
        return;
    struct cell_out state = {.text = ""};
    state_cell(project, &state);
    doc_add(out, STYLE_TITLE, _("project"), project->name);
    doc_add(out, state.style, _("state"), state.text);
    if (*project->step)
        doc_add(out, STYLE_BUSY, _("doing"), _(project->step));
    if (*project->failure)
        doc_add(out, STYLE_BAD, _("failure"), project->failure);
    doc_add(out, STYLE_NORMAL, _("template"), project->template);
    if (project->cpus >= 0)
        doc_addf(out, STYLE_NORMAL, _("cpus"), "%lld", (long long)project->cpus);
    size_line(out, _("memory"), project->memory);
    size_line(out, _("disk"), project->disk);
    size_line(out, _("disk most"), project->disk_size);
    if (project->emulated)
        doc_add(out, STYLE_WARN, _("speed"), _("EMULATED: without KVM the machine is many times slower"));
    if (*project->folder)
        doc_add(out, STYLE_NORMAL, _("folder"), project->folder);
    field_date(project->created_ns, made);
    doc_add(out, STYLE_NORMAL, _("made"), made);
}

static void open(struct app *app, uint64_t number, struct effects *effects)
{
    app_choose_project(app, number, effects);
    app_focus(app, PANE_TAB, effects);
}

static const enum action bar[] = {
    ACTION_OPEN,   ACTION_TERMINAL, ACTION_START,   ACTION_STOP, ACTION_PAUSE, ACTION_CREATE, ACTION_ACTIONS,
    ACTION_SEARCH, ACTION_FILTER,   ACTION_PALETTE, ACTION_HELP, ACTION_QUIT,  ACTION_NONE};
static const enum action acts[] = {ACTION_TERMINAL, ACTION_SHELL,   ACTION_START,  ACTION_STOP,
                                   ACTION_PAUSE,    ACTION_SUSPEND, ACTION_REMOVE, ACTION_DISCARD,
                                   ACTION_PROGRESS, ACTION_NONE};

const struct view view_projects = {
    .name = "projects",
    .title = N_("Projects"),
    .nothing = nothing,
    .flags = VIEW_LIST | VIEW_HEADER | VIEW_PROJECT,
    .columns = columns,
    .bar = bar,
    .acts = acts,
    .end = end,
    .identity = identity,
    .cell = cell,
    .has = has,
    .label = label,
    .project = own,
    .says = says,
    .detail = detail,
    .able = project_able,
    .words = project_words,
    .act = project_act,
    .twin = project_twin,
    .open = open,
};
