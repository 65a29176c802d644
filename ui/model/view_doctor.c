/* What this host can do, and how to mend what it cannot. */
#include "ui/model/app_state.h"
#include "ui/model/field.h"

#include "base/alloc.h"
#include "base/words.h"

#include <string.h>

static void clear(struct doctor *doctor)
{
    for (size_t i = 0; i < doctor->count; i++) {
        free(doctor->list[i].check);
        free(doctor->list[i].text);
    }
    doctor->count = 0;
    free(steal(&doctor->failure));
}

void doctor_finish(struct doctor *doctor)
{
    clear(doctor);
    free(doctor->list);
}

/* Owns check and text. */
static void add(struct doctor *doctor, const char *state, enum style style, char *check, char *text)
{
    if (doctor->count == FINDINGS_MAX) {
        free(check);
        free(text);
        return;
    }
    doctor->list = xrealloc(doctor->list, doctor->count + 1, sizeof(*doctor->list));
    doctor->list[doctor->count++] = (struct finding){state, check, text, style};
}

static void take_finding(struct doctor *doctor, const json_t *json)
{
    static const struct {
        const char *wire, *word;
        enum style style;
    } states[] = {
        {"ok", N_("ok"), STYLE_GOOD}, {"warn", N_("WARN"), STYLE_WARN}, {"fail", N_("FAIL"), STYLE_BAD}};
    autofree char *wire = field_text(json, "state");
    autofree char *fix = field_text(json, "fix");
    size_t at = 0;
    while (at + 1 < countof(states) && strcmp(states[at].wire, wire) != 0)
        at++;
    add(doctor, states[at].word, states[at].style, field_text(json, "check"), field_text(json, "text"));
    if (*fix && at > 0)
        add(doctor, "", STYLE_NORMAL, xstrdup(_("  to mend")), steal(&fix));
}

static void take(struct app *app, struct call *call, const struct message *message, struct effects *effects)
{
    struct doctor *doctor = &app->doctor;
    (void)call, (void)effects;
    if (message->type == MESSAGE_LINE) {
        take_finding(doctor, message->body);
        list_news(&app->lists[VIEW_DOCTOR]);
        return;
    }
    if (message->type != MESSAGE_ANSWER)
        return;
    doctor->call = 0;
    if (message->error)
        doctor->failure = xstrdup(message->error->message);
    list_news(&app->lists[VIEW_DOCTOR]);
}

static void shown(struct app *app, struct effects *effects)
{
    if (!app->up || app->doctor.call)
        return;
    clear(&app->doctor);
    app->doctor.call = app_call(app, EFFECT_LINES, "GET", "/v1/doctor", NULL, take, effects)->id;
    list_restart(&app->lists[VIEW_DOCTOR]);
}

/* "2 to look at" for the top line. */
static char *heading(const struct app *app)
{
    size_t bad = 0;
    for (size_t i = 0; i < app->doctor.count; i++)
        bad += app->doctor.list[i].style == STYLE_BAD || app->doctor.list[i].style == STYLE_WARN;
    if (app->doctor.call)
        return xstrdup(_("looking ..."));
    return bad ? xasprintf(_("%zu to look at"), bad) : xstrdup(_("all is well"));
}

static char *nothing(const struct app *app)
{
    if (app->doctor.failure)
        return xasprintf(_("the host cannot be looked at: %s"), app->doctor.failure);
    return xstrdup(_("looking at this host ..."));
}

static size_t end(const struct app *app)
{
    return app->doctor.count;
}

static uint64_t identity(const struct app *app, size_t position)
{
    (void)app;
    return position + 1;
}

static void cell(const struct app *app, size_t position, int column, struct cell_out *out)
{
    const struct finding *finding = &app->doctor.list[position];
    out->text = column == 0 ? _(finding->state) : column == 1 ? finding->check : _(finding->text);
    out->style = column == 0 ? finding->style : !*finding->state ? STYLE_KEY : STYLE_NORMAL;
}

static char *copy(const struct app *app, uint64_t identity)
{
    return identity <= app->doctor.count ? xstrdup(app->doctor.list[identity - 1].text) : NULL;
}

static const struct column columns[] = {{N_("HOW"), 4, false, 0, false, false},
                                        {N_("WHAT"), 12, false, 0, false, false},
                                        {N_("WHAT WAS FOUND"), 0, false, 0, false, false},
                                        {NULL}};
static const enum action bar[] = {ACTION_BACK,   ACTION_COPY, ACTION_SEARCH,
                                  ACTION_FILTER, ACTION_HELP, ACTION_NONE};

const struct view view_doctor = {
    .name = "doctor",
    .title = N_("Doctor"),
    .flags = VIEW_LIST | VIEW_HEADER,
    .columns = columns,
    .bar = bar,
    .end = end,
    .identity = identity,
    .cell = cell,
    .copy = copy,
    .heading = heading,
    .nothing = nothing,
    .shown = shown,
};
