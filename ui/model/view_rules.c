/* The rules of the selected project: where each stands, how often it was used, what it matched. */
#include "ui/model/app_state.h"
#include "ui/model/field.h"

#include "base/alloc.h"
#include "base/text.h"
#include "base/words.h"

#include <stdio.h>
#include <string.h>

#define MATCHES_MAX 50 /* connections that are shown below a rule */

static void finish(struct rule_row *row)
{
    char *strings[] = {row->raw_id, row->raw_source, row->layer, row->source,
                       row->text,   row->decision,   row->scope, row->session};
    for (size_t i = 0; i < countof(strings); i++)
        free(strings[i]);
}

static void drop(struct rules *rules, bool all)
{
    size_t kept = 0;
    for (size_t i = 0; i < rules->count; i++) {
        if (!all && rules->list[i].seen)
            rules->list[kept++] = rules->list[i];
        else
            finish(&rules->list[i]);
    }
    rules->count = kept;
}

void rules_finish(struct rules *rules)
{
    char *strings[] = {rules->failure,       rules->mode,       rules->problem,
                       rules->write_project, rules->write_path, rules->write_text};
    drop(rules, true);
    free(rules->list);
    for (size_t i = 0; i < countof(strings); i++)
        free(strings[i]);
    *rules = (struct rules){0};
}

static const struct rule_row *find(const struct rules *rules, uint64_t number)
{
    for (size_t i = 0; i < rules->count; i++)
        if (rules->list[i].number == number)
            return &rules->list[i];
    return NULL;
}

/* ---- the list ---- */

static bool same(const struct rule_row *row, const char *id, const char *source)
{
    return !strcmp(row->raw_id, id) && !strcmp(row->raw_source, source);
}

static void take_row(struct rules *rules, const json_t *json)
{
    const char *id = json_string_value(json_object_get(json, "id"));
    const char *source = json_string_value(json_object_get(json, "source"));
    struct rule_row *row = NULL;
    if (!id)
        return;
    for (size_t i = 0; i < rules->count && !row; i++)
        if (!rules->list[i].seen && same(&rules->list[i], id, source ? source : ""))
            row = &rules->list[i];
    if (!row && rules->count == RULES_MAX)
        return;
    uint64_t number = row ? row->number : ++rules->last;
    if (row) {
        finish(row);
    } else {
        rules->list = xrealloc(rules->list, rules->count + 1, sizeof(*rules->list));
        row = &rules->list[rules->count++];
    }
    *row = (struct rule_row){.number = number,
                             .raw_id = xstrdup(id),
                             .raw_source = xstrdup(source ? source : ""),
                             .layer = field_text(json, "layer"),
                             .source = field_text(json, "source"),
                             .text = field_text(json, "text"),
                             .decision = field_text(json, "decision"),
                             .scope = field_text(json, "scope"),
                             .session = field_text(json, "session"),
                             .expires_ns = field_number(json, "expires_ns", 0),
                             .line = field_number(json, "line", 0),
                             .hits = field_number(json, "hits", 0),
                             .last_ns = field_number(json, "last_ns", 0),
                             .past = field_number(json, "past", -1),
                             .past_ns = field_number(json, "past_ns", 0),
                             .seen = true};
}

static void take_list(struct app *app, struct call *call, const struct message *message,
                      struct effects *effects)
{
    struct rules *rules = &app->rules;
    (void)effects;
    if (call->number != rules->project)
        return;
    if (message->type == MESSAGE_LINE) {
        take_row(rules, message->body);
        return;
    }
    rules->call = 0;
    free(steal(&rules->failure));
    if (message->error) {
        rules->failure = xstrdup(message->error->message);
    } else {
        drop(rules, false);
        rules->known = true;
        rules->mode = (free(rules->mode), field_text(message->body, "mode"));
        rules->problem = (free(rules->problem), field_text(message->body, "problem"));
    }
    app_news(app, VIEW_RULES);
}

static void ask(struct app *app, struct effects *effects)
{
    struct rules *rules = &app->rules;
    const struct project *project = app_project(app);
    if (!project || !app->up)
        return;
    if (rules->project != project->number) {
        drop(rules, true);
        rules->known = false;
        list_restart(&app->lists[VIEW_RULES]);
    }
    app_cancel(app, rules->call, effects);
    for (size_t i = 0; i < rules->count; i++)
        rules->list[i].seen = false;
    autofree char *path = field_path("/v1/projects/%s/rules?past=1", project->raw_name);
    struct call *call = app_call(app, EFFECT_LINES, "GET", path, NULL, take_list, effects);
    call->number = rules->project = project->number;
    rules->call = call->id;
}

/* ---- writing one ---- */

void rules_write(struct app *app, const char *raw_project, const char *text)
{
    struct rules *rules = &app->rules;
    const struct project *project = projects_named(&app->projects, raw_project);
    rules->write_project = (free(rules->write_project), xstrdup(raw_project));
    free(rules->write_path);
    rules->write_path =
        project ? project_api_path(project, "/rules") : field_path("/v1/projects/%s/rules", raw_project);
    app_type(app, INPUT_RULE, text);
}

void rules_typed(struct app *app, const char *text, struct effects *effects)
{
    struct rules *rules = &app->rules;
    app->input_use = INPUT_NONE;
    if (!*text || !rules->write_project)
        return;
    rules->write_text = (free(rules->write_text), xstrdup(text));
    act_begin(app, VIEW_RULES, RULE_NEW, ACTION_RULE_ADD, false, effects);
}

/* ---- the view ---- */

enum { TEXT, DECISION, LAYER, HITS, PAST, LAST };
static const struct column columns[] = {
    [TEXT] = {N_("RULE"), 0, false, 0, false, false, 20},
    [DECISION] = {N_("SAYS"), 6, false, 3, true, false},
    [LAYER] = {N_("FROM"), 8, false, 2, true, false},
    [HITS] = {N_("USED"), 6, true, 0, true, true},
    [PAST] = {N_("WOULD"), 6, true, 4, true, true},
    [LAST] = {N_("LAST"), 16, false, 1, true, true},
    {NULL},
};

static size_t end(const struct app *app)
{
    return app->rules.project == app->selected ? app->rules.count : 0;
}

static uint64_t identity(const struct app *app, size_t position)
{
    return app->rules.list[position].number;
}

/* When an answer that holds ends; NULL: a rule, or one that says so itself. The caller's to free. */
static char *until_of(const struct rule_row *row)
{
    char clock[24];
    if (!strcmp(row->scope, "session"))
        return xasprintf(_("until session %s ends"), row->session);
    if (!*row->scope || row->expires_ns <= 0)
        return NULL;
    field_date(row->expires_ns, clock);
    clock[16] = 0; /* the minute is enough */
    return !strcmp(row->scope, "next")   ? xasprintf(_("the next attempt, until %s"), clock)
           : !strcmp(row->scope, "once") ? xasprintf(_("until its command ends, %s at most"), clock)
                                         : xasprintf(_("until %s"), clock);
}

static void cell(const struct app *app, size_t position, int column, struct cell_out *out)
{
    const struct rule_row *row = &app->rules.list[position];
    autofree char *until = column == TEXT ? until_of(row) : NULL;
    switch (column) {
    case TEXT:
        out->text = row->text;
        if (until &&
            (size_t)snprintf(out->room, sizeof(out->room), "%s   %s", row->text, until) < sizeof(out->room))
            out->text = out->room;
        break;
    case DECISION:
        out->text = field_word(row->decision);
        out->style = !strcmp(row->decision, "deny")  ? STYLE_BAD
                     : !strcmp(row->decision, "ask") ? STYLE_WARN
                                                     : STYLE_GOOD;
        break;
    case LAYER:
        out->text = field_word(row->layer);
        out->style = STYLE_DIM;
        break;
    case HITS:
        snprintf(out->room, sizeof(out->room), "%lld", (long long)row->hits);
        out->text = row->hits ? out->room : "-";
        break;
    case PAST:
        snprintf(out->room, sizeof(out->room), "%lld", (long long)row->past);
        out->text = row->past > 0 ? out->room : "-";
        break;
    default:
        field_date(row->last_ns, out->room);
        out->room[16] = 0; /* the minute is enough */
        out->text = row->last_ns ? out->room : _("never");
        out->style = STYLE_DIM;
    }
}

static int64_t order(const struct app *app, size_t position, int column)
{
    const struct rule_row *row = &app->rules.list[position];
    return column == HITS   ? row->hits
           : column == PAST ? row->past
           : column == LAST ? row->last_ns
                            : (int64_t)position;
}

static char *label(const struct app *app, uint64_t number)
{
    const struct rule_row *row = find(&app->rules, number);
    if (number == RULE_NEW)
        return app->rules.write_text ? text_safe(app->rules.write_text) : NULL;
    return row ? xstrdup(row->text) : NULL;
}

/* The last seven days, judged again by the rules of now. */
static void add_past(const struct rule_row *row, struct doc *out)
{
    char date[24];
    if (row->past < 0)
        return;
    field_date(row->past_ns, date);
    if (row->past)
        doc_addf(out, STYLE_NORMAL, _("would have"),
                 _("decided %lld connections of the last 7 days, the last of %s"), (long long)row->past,
                 date);
    else
        doc_add(out, STYLE_NORMAL, _("would have"), _("decided no connection of the last 7 days"));
}

/* Connections that were decided by it, or refused for the lack of it, as hutchd wrote at the time. */
static void add_matches(const struct app *app, const struct rule_row *row, struct doc *out)
{
    size_t count = 0;
    doc_add(out, STYLE_DIM, "", "");
    doc_add(out, STYLE_NORMAL, "", _("of what is remembered here it matched, or would have matched:"));
    for (size_t at = net_end(&app->net); at-- > app->net.first && count < MATCHES_MAX;) {
        const struct conn *conn = net_at(&app->net, at);
        char clock[24];
        if (!conn || conn->project != app->event_project ||
            (strcmp(conn->rule, row->text) != 0 && strcmp(conn->missing, row->text) != 0))
            continue;
        field_clock(conn->ts_ns, clock);
        doc_addf(out, conn->refused ? STYLE_BAD : STYLE_NORMAL, clock, "%s  %s  %s", conn->target,
                 conn->verdict, conn->process);
        count++;
    }
    if (!count)
        doc_add(out, STYLE_DIM, "", _("nothing"));
}

static void detail(const struct app *app, uint64_t number, struct doc *out)
{
    const struct rule_row *row = find(&app->rules, number);
    char date[24];
    if (!row)
        return;
    doc_add(out, STYLE_TITLE, _("rule"), row->text);
    doc_add(out, STYLE_NORMAL, _("says"), row->decision);
    doc_add(out, STYLE_NORMAL, _("from"), row->layer);
    if (*row->source && row->line > 0)
        doc_addf(out, STYLE_NORMAL, _("source"), _("%s, line %lld"), row->source, (long long)row->line);
    else if (*row->source)
        doc_add(out, STYLE_NORMAL, _("source"), row->source);
    autofree char *until = until_of(row);
    if (until)
        doc_add(out, STYLE_NORMAL, _("holds"), until);
    doc_addf(out, STYLE_NORMAL, _("used"), _("%lld times since hutchd began"), (long long)row->hits);
    field_date(row->last_ns, date);
    doc_add(out, STYLE_NORMAL, _("last"), row->last_ns ? date : _("never"));
    add_past(row, out);
    add_matches(app, row, out);
}

static char *nothing(const struct app *app)
{
    if (app->rules.failure)
        return xasprintf(_("the rules cannot be listed: %s"), app->rules.failure);
    if (!app->selected)
        return xstrdup(_("no project is chosen"));
    return xstrdup(app->rules.known ? _("no rule yet: every site is asked about, or denied")
                                    : _("asking for the rules ..."));
}

static char *heading(const struct app *app)
{
    const struct project *project = app_project(app);
    const struct rules *rules = &app->rules;
    if (!project || !rules->known)
        return NULL;
    return xasprintf(_("of %s   what no rule names: %s%s%s"), project->name, rules->mode ? rules->mode : "",
                     rules->problem && *rules->problem ? "   " : "", rules->problem ? rules->problem : "");
}

/* ---- acts ---- */

static const char *able(const struct app *app, uint64_t number, enum action action)
{
    const struct rule_row *row = find(&app->rules, number);
    if (!app->up)
        return _("hutchd is away; it works again when it is back");
    if (number == RULE_NEW)
        return NULL;
    if (!row || app->rules.project != app->selected || !app_project(app))
        return _("it is gone");
    if (action == ACTION_RULE_REMOVE && strcmp(row->layer, "project") != 0 &&
        strcmp(row->layer, "grant") != 0)
        return _("it is no rule of this project: it stands elsewhere, where it counts for others too");
    if (action == ACTION_RULE_EDIT && *row->raw_source != '/')
        return _("it stands in no file of yours");
    return NULL;
}

static void words(const struct app *app, uint64_t number, enum action action, struct act_words *out)
{
    const struct rules *rules = &app->rules;
    autofree char *name = label(app, number);
    autofree char *project = text_safe(rules->write_project ? rules->write_project : "");
    bool allows = name && !strncmp(name, "allow", 5);
    if (action == ACTION_RULE_ADD && name) {
        out->question = xasprintf(_("add to the rules of %s:  %s  ?"), project, name);
        out->warning = xstrdup(allows ? _("what it names can be reached from then on, without a question")
                                      : _("connections that it denies are cut"));
    } else if (action == ACTION_RULE_REMOVE && name) {
        out->question = xasprintf(_("remove  %s  ?"), name);
        out->warning =
            xstrdup(allows ? _("connections that only it allows are cut")
                           : _("what it denied may be reached from then on, if another rule lets"));
    }
}

static char *twin(const struct app *app, uint64_t number, enum action action)
{
    const struct project *own = projects_find(&app->projects, app->rules.project);
    const char *project = number == RULE_NEW ? app->rules.write_project : own ? own->raw_name : NULL;
    autofree char *name = label(app, number), *safe = text_safe(project ? project : "");
    if (!name || !project || (action != ACTION_RULE_ADD && action != ACTION_RULE_REMOVE))
        return NULL;
    const struct rule_row *row = find(&app->rules, number);
    bool grant = row && !strcmp(row->layer, "grant");
    return xasprintf("hutch rule %s %s '%s'", action == ACTION_RULE_ADD ? "add" : "rm", safe,
                     grant ? row->raw_id : name);
}

static void take_done(struct app *app, struct call *call, const struct message *message,
                      struct effects *effects)
{
    act_log_end(app, call->entry, message->error, NULL);
    autofree char *problem = field_text(message->body, "problem");
    if (message->error)
        app_say_error(app, message->error);
    else if (*problem)
        app_say(app, STYLE_BAD, "%s", problem);
    else
        app_say(app, STYLE_GOOD,
                call->action == ACTION_RULE_ADD ? _("the rule is in force") : _("the rule is gone"));
    if (app->overlay_count && app_view(app) == VIEW_RULES)
        ask(app, effects);
    inbox_news(app);
}

static void call_it(struct app *app, uint64_t number, enum action action, struct effects *effects)
{
    const struct rule_row *row = find(&app->rules, number);
    const struct project *project = projects_find(&app->projects, app->rules.project);
    bool add = action == ACTION_RULE_ADD;
    autofree char *line = twin(app, number, action);
    autofree char *rest = field_path("/rules/%s", row ? row->raw_id : "");
    autofree char *path = add       ? xstrdup(app->rules.write_path)
                          : project ? project_api_path(project, rest)
                                    : NULL;
    if (!path)
        return;
    json_t *body = add ? json_pack("{s:s}", "rule", app->rules.write_text) : NULL;
    struct call *call = app_call(app, EFFECT_CALL, add ? "POST" : "DELETE", path, body, take_done, effects);
    call->action = action;
    call->entry = act_log(app, ENTRY_RUNS, line, "");
}

static void take_edited(struct app *app, struct call *call, const struct message *message,
                        struct effects *effects)
{
    (void)call;
    if (message->error)
        app_say_error(app, message->error);
    ask(app, effects);
}

static bool act(struct app *app, uint64_t number, enum action action, struct effects *effects)
{
    const struct rule_row *row = find(&app->rules, number);
    switch ((int)action) {
    case ACTION_RULE_ADD:
    case ACTION_RULE_REMOVE:
        call_it(app, number, action, effects);
        return true;
    case ACTION_RULE_EDIT:
        if (row)
            app_local(app, EFFECT_EDIT, row->raw_source, take_edited, effects);
        return true;
    default:
        return false;
    }
}

static void shown(struct app *app, struct effects *effects)
{
    ask(app, effects);
}

static const enum action bar[] = {ACTION_OPEN,      ACTION_RULE_WRITE, ACTION_RULE_REMOVE,
                                  ACTION_RULE_EDIT, ACTION_BACK,       ACTION_SORT,
                                  ACTION_SEARCH,    ACTION_HELP,       ACTION_NONE};
static const enum action acts[] = {ACTION_RULE_REMOVE, ACTION_RULE_EDIT, ACTION_NONE};

const struct view view_rules = {
    .name = "rules",
    .title = N_("Rules"),
    .map = KEYMAP_RULES,
    .flags = VIEW_LIST | VIEW_HEADER,
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
    .act = act,
    .words = words,
    .twin = twin,
    .heading = heading,
    .nothing = nothing,
    .shown = shown,
};
