/* Progress: its steps as they come in, and the view that shows them. */
#include "ui/model/app_state.h"
#include "ui/model/field.h"

#include "base/alloc.h"
#include "base/text.h"
#include "base/units.h"
#include "base/words.h"

#include <stdio.h>
#include <string.h>

#define BAR_COLUMNS 20

static void finish_step(struct work_step *step)
{
    free(step->phase);
    free(step->text);
    free(step->line);
    free(step->brief);
}

static void finish(struct work *work)
{
    for (size_t i = 0; i < work->count; i++)
        finish_step(&work->steps[i]);
    free(work->steps);
    free(work->raw_name);
    free(work->name);
    free(work->message);
    free(work->hint);
}

void works_finish(struct works *works)
{
    for (size_t i = 0; i < works->count; i++)
        finish(&works->list[i]);
    free(works->list);
}

static void drop(struct works *works, size_t at)
{
    finish(&works->list[at]);
    memmove(&works->list[at], &works->list[at + 1], (works->count - at - 1) * sizeof(*works->list));
    works->count--;
}

/* Makes room: the oldest that ended goes, else the oldest. */
static void make_room(struct works *works)
{
    size_t at = 0;
    if (works->count < WORKS_MAX)
        return;
    while (at < works->count && works->list[at].state == WORK_RUNS)
        at++;
    drop(works, at < works->count ? at : 0);
}

uint64_t work_begin(struct app *app, enum work_kind kind, const char *raw_name, enum action action,
                    uint64_t entry)
{
    struct works *works = &app->works;
    make_room(works);
    works->list = xrealloc(works->list, works->count + 1, sizeof(*works->list));
    struct work *work = &works->list[works->count++];
    *work = (struct work){.number = ++works->last,
                          .entry = entry,
                          .batch = app->batch,
                          .kind = kind,
                          .action = action,
                          .raw_name = xstrdup(raw_name),
                          .name = text_safe(raw_name),
                          .begun_ns = app->now_ns};
    return work->number;
}

struct work *work_find(const struct app *app, uint64_t number)
{
    for (size_t i = 0; i < app->works.count; i++)
        if (app->works.list[i].number == number)
            return &app->works.list[i];
    return NULL;
}

struct work *work_named(const struct app *app, enum work_kind kind, const char *raw_name)
{
    for (size_t i = app->works.count; i-- > 0;) {
        struct work *work = &app->works.list[i];
        if (work->kind == kind && !strcmp(work->raw_name, raw_name))
            return work;
    }
    return NULL;
}

bool works_run(const struct app *app)
{
    for (size_t i = 0; i < app->works.count; i++)
        if (app->works.list[i].state == WORK_RUNS)
            return true;
    return false;
}

static int percent_of(const struct work_step *step)
{
    int64_t part = step->done > step->total ? step->total : step->done;
    return (int)((double)part / (double)step->total * 100);
}

/* "[#####...............]  25%  3.1M of 12.4M". Caller frees. */
static char *amount(const struct work_step *step)
{
    char done[UNITS_SIZE_MAX], total[UNITS_SIZE_MAX], bar[BAR_COLUMNS + 1];
    if (step->total <= 0 || step->done < 0)
        return xstrdup("");
    int64_t part = step->done > step->total ? step->total : step->done;
    int full = (int)((double)part / (double)step->total * BAR_COLUMNS);
    int percent = percent_of(step);
    for (int i = 0; i < BAR_COLUMNS; i++)
        bar[i] = i < full ? '#' : '.';
    bar[BAR_COLUMNS] = 0;
    if (!step->bytes)
        return xasprintf(_("[%s] %3d%%  %lld of %lld  "), bar, percent, (long long)step->done,
                         (long long)step->total);
    return xasprintf(_("[%s] %3d%%  %s of %s  "), bar, percent, units_format_size((uint64_t)step->done, done),
                     units_format_size((uint64_t)step->total, total));
}

/* A step's name without the operation that it belongs to: "up.base" is "base". */
static const char *short_phase(const char *phase)
{
    const char *point = strchr(phase, '.');
    return point && point[1] ? point + 1 : phase;
}

/* The last step before a row that is no warning; the number of rows: there is none. */
static size_t last_step(const struct work *work, size_t before)
{
    while (before-- > 0)
        if (!work->steps[before].warning)
            return before;
    return work->count;
}

/* The step that a line belongs to: the last one, or a new one. A warning is a row of its own and stays. */
static struct work_step *step_for(struct app *app, struct work *work, const char *phase, bool warning)
{
    size_t at = last_step(work, work->count);
    struct work_step *last = at < work->count ? &work->steps[at] : NULL;
    if (last && !warning && !strcmp(short_phase(last->phase), short_phase(phase)))
        return last;
    last = work->count ? &work->steps[work->count - 1] : NULL;
    if (work->count == STEPS_MAX)
        return last;
    work->steps = xrealloc(work->steps, work->count + 1, sizeof(*work->steps));
    last = &work->steps[work->count++];
    *last = (struct work_step){.phase = xstrdup(phase), .begun_ns = app->now_ns, .warning = warning};
    return last;
}

/* What hutchd says of a step: the words of its steps have translations. */
static char *said(const json_t *json)
{
    autofree char *text = field_text(json, "text");
    return xstrdup(_(text));
}

static void take_line(struct app *app, struct work *work, const json_t *json)
{
    autofree char *phase = field_text(json, "phase");
    autofree char *unit = field_text(json, "unit");
    struct work_step *step = step_for(app, work, phase, json_object_get(json, "warning") != NULL);
    step->text = (free(step->text), said(json));
    step->done = field_number(json, "done", 0);
    step->total = field_number(json, "total", 0);
    step->bytes = !strcmp(unit, "bytes");
    autofree char *much = amount(step);
    step->line = (free(step->line), xasprintf("%s%s", much, step->text));
    free(step->brief);
    step->brief = *much ? xasprintf("%d%% %s", percent_of(step), step->text) : xstrdup(step->text);
}

void work_take(struct app *app, uint64_t number, const struct message *message)
{
    struct work *work = work_find(app, number);
    if (!work)
        return;
    if (message->type == MESSAGE_LINE) {
        take_line(app, work, message->body);
        act_log_say(app, work->entry, work_now(work));
    } else if (message->type == MESSAGE_ANSWER) {
        work->state = message->error ? WORK_FAILED : WORK_DONE;
        work->ended_ns = app->now_ns;
        if (message->error) {
            work->code = message->error->code;
            work->message = xstrdup(message->error->message);
            work->hint = xstrdup(message->error->hint);
        }
    }
    app_news(app, VIEW_PROGRESS);
    list_news(&app->lists[VIEW_PROJECTS]);
    list_news(&app->lists[VIEW_TEMPLATES]);
}

const char *work_now(const struct work *work)
{
    size_t at = last_step(work, work->count);
    const struct work_step *step = at < work->count ? &work->steps[at] : NULL;
    return step && step->brief ? (*step->brief ? step->brief : step->phase) : "";
}

void work_show(struct app *app, uint64_t number, struct effects *effects)
{
    app->works.shown = number;
    list_restart(&app->lists[VIEW_PROGRESS]);
    app_push(app, VIEW_PROGRESS, effects);
}

/* ---- the view: a row a step, then how it ended ---- */

enum { HOW, STEP, WHAT, TOOK };
static const struct column columns[] = {
    [HOW] = {"", 4, false, 0, false, false},
    [STEP] = {N_("STEP"), 13, false, 2, false, false},
    [WHAT] = {N_("WHAT"), 0, false, 0, false, false, 20},
    [TOOK] = {N_("TOOK"), 7, true, 1, false, false},
    {NULL},
};

static const struct work *shown(const struct app *app)
{
    return work_find(app, app->works.shown);
}

/* What can be done after it failed; NULL: nothing is known. */
static const char *way_on(const struct app *app, const struct work *work)
{
    if (work->hint || work->action != ACTION_CREATE)
        return work->hint;
    if (work->count <= 1 && !projects_named(&app->projects, work->raw_name))
        return _("nothing was made; Enter leads to the form, which is as it was");
    return _("start goes on with it from the list of projects; the form is as it was");
}

/* How long a step usually takes, with KVM and without; measured, rounded up. NULL: too different to say. */
static const struct {
    const char *phase, *kvm, *emulated;
} usual[] = {
    {"base", N_("at once, or 2 to 5 min to build it"), N_("at once, or 5 to 15 min to build it")},
    {"boot", N_("2 to 5 s"), N_("10 to 30 s")},
    {"kernel", N_("2 to 5 s"), N_("10 to 30 s")},
    {"agent", N_("1 to 3 s"), N_("5 to 20 s")},
    {"system", N_("1 to 3 s"), N_("5 to 20 s")},
    {"repos", N_("as long as a git clone"), N_("as long as a git clone")},
    {"restore", N_("1 to 4 s"), NULL},
    {"save", N_("1 s for 256M in use"), NULL},
    {"guest", N_("2 to 10 s, 1 min at most"), N_("5 to 30 s, 2 min at most")},
};

/* What is usual for the step that runs; NULL: nothing is known, or it is quick. */
static const char *usual_now(const struct app *app, const struct work *work)
{
    size_t at = last_step(work, work->count);
    if (work->state != WORK_RUNS || at == work->count || !app->host_known)
        return NULL;
    const char *phase = short_phase(work->steps[at].phase);
    for (size_t i = 0; i < countof(usual); i++)
        if (!strcmp(usual[i].phase, phase))
            return app->host_kvm ? usual[i].kvm : usual[i].emulated;
    return NULL;
}

/* Lines below the steps: one while it runs or when it went well, and what is usual; the failure, its way out.
 */
static size_t end(const struct app *app)
{
    const struct work *work = shown(app);
    bool two = work && ((work->state == WORK_FAILED && way_on(app, work)) || usual_now(app, work));
    return work ? work->count + (two ? 2 : 1) : 0;
}

static uint64_t identity(const struct app *app, size_t position)
{
    (void)app;
    return position + 1;
}

static void duration(int64_t begun_ns, int64_t end_ns, struct cell_out *out)
{
    field_duration(end_ns > begun_ns ? (end_ns - begun_ns) / 1000000 : 0, out->room);
    out->text = out->room;
}

static void step_cell(const struct app *app, const struct work *work, size_t at, int column,
                      struct cell_out *out)
{
    const struct work_step *step = &work->steps[at];
    size_t next = at + 1;
    while (next < work->count && work->steps[next].warning)
        next++;
    bool last = next == work->count && !step->warning, now = last && work->state == WORK_RUNS;
    bool failed = last && work->state == WORK_FAILED;
    out->style = step->warning ? STYLE_WARN : now ? STYLE_BUSY : STYLE_NORMAL;
    if (column == HOW) {
        out->text = step->warning ? _("note") : now ? _("now") : failed ? _("FAIL") : _("ok");
        out->style = step->warning ? STYLE_WARN : now ? STYLE_BUSY : failed ? STYLE_BAD : STYLE_GOOD;
    } else if (column == STEP) {
        out->text = short_phase(step->phase);
    } else if (column == WHAT) {
        out->text = step->line ? step->line : "";
    } else if (!step->warning) {
        duration(step->begun_ns,
                 !last                      ? work->steps[next].begun_ns
                 : work->state == WORK_RUNS ? app->now_ns
                                            : work->ended_ns,
                 out);
        out->style = STYLE_DIM;
    }
}

/* Below the steps while it runs: the time so far, and what is usual for the step that runs. */
static void running_cell(const struct app *app, const struct work *work, bool last, int column,
                         struct cell_out *out)
{
    const char *time = usual_now(app, work);
    bool slow = time && !app->host_kvm && strcmp(time, "as long as a git clone") != 0;
    out->style = STYLE_DIM;
    if (column == STEP) {
        out->text = last ? _("usual") : _("so far");
    } else if (column == WHAT && last) {
        snprintf(out->room, sizeof(out->room), _("this step takes %s%s"), time ? _(time) : "",
                 slow ? _(" (EMULATED)") : "");
        out->text = out->room;
    } else if (column == WHAT) {
        out->text = _("it runs; leaving this view stops nothing");
    } else if (column == TOOK && !last) {
        duration(work->begun_ns, app->now_ns, out);
    }
}

static void end_cell(const struct app *app, const struct work *work, bool hint, int column,
                     struct cell_out *out)
{
    if (work->state == WORK_FAILED) {
        out->style = hint ? STYLE_NORMAL : STYLE_BAD;
        out->text = column == HOW    ? (hint || work->count ? "" : _("FAIL"))
                    : column == STEP ? (hint ? _("what to do") : _("why"))
                                     : "";
        if (column == WHAT)
            out->text = hint ? way_on(app, work) : work->message;
        return;
    }
    if (work->state == WORK_RUNS) {
        running_cell(app, work, hint, column, out);
        return;
    }
    out->style = STYLE_GOOD;
    if (column == TOOK)
        duration(work->begun_ns, work->ended_ns, out);
    else
        out->text = column == HOW ? _("DONE") : column == WHAT ? _("Enter leads there") : _("all of it");
}

static void cell(const struct app *app, size_t position, int column, struct cell_out *out)
{
    const struct work *work = shown(app);
    if (work && position < work->count)
        step_cell(app, work, position, column, out);
    else if (work)
        end_cell(app, work, position > work->count, column, out);
}

static char *copy(const struct app *app, uint64_t identity)
{
    const struct work *work = shown(app);
    if (!work)
        return NULL;
    if (identity <= work->count)
        return xstrdup(work->steps[identity - 1].text);
    return work->state != WORK_FAILED   ? NULL
           : identity > work->count + 1 ? xstrdup(way_on(app, work))
                                        : xstrdup(work->message);
}

static char *heading(const struct app *app)
{
    const struct work *work = shown(app);
    return work ? xasprintf("%s %s", action_label(work->action), work->name) : NULL;
}

/* Whether its failure left nothing behind to be led to: what was typed is in the form. */
static bool leads_to_form(const struct app *app, const struct work *work)
{
    return work->state == WORK_FAILED && work->action == ACTION_CREATE &&
           !projects_named(&app->projects, work->raw_name);
}

/* To the project that it is about; a failed making that left none leads to the form again. */
static void open(struct app *app, uint64_t identity, struct effects *effects)
{
    const struct work *work = shown(app);
    (void)identity;
    if (!work)
        return;
    struct project *project =
        work->kind == WORK_PROJECT ? projects_named(&app->projects, work->raw_name) : NULL;
    bool form = leads_to_form(app, work);
    if (!project) {
        app_pop(app, effects);
        if (form)
            app_push(app, VIEW_FORM, effects);
        return;
    }
    while (app->overlay_count)
        app_pop(app, effects);
    app->chosen = true;
    list_select(app, &app->lists[VIEW_PROJECTS], project->number);
    app_choose_project(app, project->number, effects);
    app_focus(app, PANE_TAB, effects);
}

static const char *says(const struct app *app, uint64_t identity, enum action action)
{
    const struct work *work = shown(app);
    (void)identity;
    if (action == ACTION_OPEN && work && leads_to_form(app, work))
        return _("to the form");
    if (action == ACTION_OPEN) /* else it goes back, as another key does that is told of */
        return work && work->kind == WORK_PROJECT && projects_named(&app->projects, work->raw_name)
                   ? _("to the project")
                   : "";
    return action == ACTION_BACK && work && work->state == WORK_RUNS ? _("leave, it goes on") : NULL;
}

static const enum action bar[] = {ACTION_BACK,   ACTION_OPEN, ACTION_FOLLOW, ACTION_COPY,
                                  ACTION_SEARCH, ACTION_HELP, ACTION_NONE};

const struct view view_progress = {
    .name = "progress",
    .title = N_("Progress"),
    .empty = N_("nothing is being done"),
    .flags = VIEW_LOG | VIEW_HEADER,
    .columns = columns,
    .bar = bar,
    .end = end,
    .identity = identity,
    .cell = cell,
    .copy = copy,
    .heading = heading,
    .says = says,
    .open = open,
};
