/* The connections of the selected project: one row each, or one row a host. */
#include "ui/model/app_state.h"
#include "ui/model/field.h"

#include "base/alloc.h"
#include "base/units.h"
#include "base/words.h"

#include <stdio.h>
#include <string.h>

enum { TIME, PROCESS, NAME, ADDRESS, VERDICT, RULE, UP, DOWN, TOOK };
static const struct column columns[] = {
    [TIME] = {N_("TIME"), 8, false, 5, true, false},
    [PROCESS] = {N_("PROCESS"), 10, false, 4, true, false},
    [NAME] = {N_("NAME"), 0, false, 0, true, false, 20},
    [ADDRESS] = {N_("ADDRESS"), 15, false, 7, true, false},
    [VERDICT] = {N_("VERDICT"), 9, false, 0, true, false},
    [RULE] = {N_("RULE"), 22, false, 6, true, false},
    [UP] = {N_("UP"), 5, true, 1, true, true},
    [DOWN] = {N_("DOWN"), 5, true, 1, true, true},
    [TOOK] = {N_("TOOK"), 7, true, 3, true, true},
    {NULL},
};

static size_t first(const struct app *app)
{
    return app->net.by_host ? 0 : app->net.first;
}

static size_t end(const struct app *app)
{
    if (app->net.by_host)
        return app->net.host_count;
    return app->event_project ? net_end(&app->net) : app->net.first;
}

static uint64_t identity(const struct app *app, size_t position)
{
    if (app->net.by_host)
        return app->net.hosts[position].number;
    const struct conn *conn = net_at(&app->net, position);
    return conn ? conn->number : 0;
}

static bool shows(const struct app *app, size_t position)
{
    if (app->net.by_host)
        return app->net.hosts[position].count > 0;
    const struct conn *conn = net_at(&app->net, position);
    return conn && conn->project == app->event_project;
}

static const struct net_host *host_at(const struct app *app, uint64_t number)
{
    for (size_t i = 0; i < app->net.host_count; i++)
        if (app->net.hosts[i].number == number)
            return &app->net.hosts[i];
    return NULL;
}

static enum style style_of(const struct conn *conn)
{
    if (!strncmp(conn->verdict, "ASK ", 4))
        return STYLE_WAITING;
    if (conn->refused)
        return STYLE_BAD;
    return conn->open ? STYLE_BUSY : STYLE_GOOD;
}

static void size_cell(int64_t bytes, struct cell_out *out)
{
    out->text = bytes < 0 ? "" : bytes == 0 ? "0" : units_format_size((uint64_t)bytes, out->room);
}

/* Milliseconds that it took, or takes so far; -1: none. */
static int64_t took(const struct app *app, const struct conn *conn)
{
    if (conn->open && app->now_ns > conn->ts_ns)
        return (app->now_ns - conn->ts_ns) / 1000000;
    return conn->refused ? -1 : conn->ms;
}

static void host_cell(const struct net_host *host, int column, struct cell_out *out)
{
    out->text = "";
    if (column == TIME)
        field_clock(host->last_ns, out->room), out->text = out->room;
    else if (column == NAME)
        out->text = host->name;
    else if (column == UP)
        size_cell(host->up, out);
    else if (column == DOWN)
        size_cell(host->down, out);
    else if (column == VERDICT && host->refused) {
        snprintf(out->room, sizeof(out->room), _("%lld denied"), (long long)host->refused);
        out->text = out->room;
        out->style = STYLE_BAD;
    } else if (column == VERDICT) {
        snprintf(out->room, sizeof(out->room),
                 ngettext("%lld time", "%lld times", (unsigned long)host->count), (long long)host->count);
        out->text = out->room;
    } else if (column == TOOK && host->open) {
        snprintf(out->room, sizeof(out->room), _("%zu open"), host->open);
        out->text = out->room;
        out->style = STYLE_BUSY;
    }
}

static void cell(const struct app *app, size_t position, int column, struct cell_out *out)
{
    if (app->net.by_host) {
        host_cell(&app->net.hosts[position], column, out);
        return;
    }
    const struct conn *conn = net_at(&app->net, position);
    if (!conn)
        return;
    switch (column) {
    case TIME:
        field_clock(conn->ts_ns, out->room);
        out->text = out->room;
        out->style = STYLE_DIM;
        break;
    case PROCESS:
        out->text = *conn->process ? conn->process : "?";
        out->style = STYLE_DIM;
        break;
    case NAME:
        out->text = conn->target;
        break;
    case ADDRESS:
        out->text = conn->address;
        out->style = STYLE_DIM;
        break;
    case VERDICT:
        if (conn->count > 1)
            snprintf(out->room, sizeof(out->room), "%s *%lld", field_word(conn->verdict),
                     (long long)conn->count);
        out->text = conn->count > 1 ? out->room : field_word(conn->verdict);
        out->style = style_of(conn);
        break;
    case RULE:
        out->text = *conn->rule ? conn->rule : *conn->why ? _(conn->why) : "";
        out->style = STYLE_DIM;
        break;
    case UP:
        size_cell(conn->refused ? -1 : conn->up, out);
        break;
    case DOWN:
        size_cell(conn->refused ? -1 : conn->down, out);
        break;
    default:
        field_duration(took(app, conn), out->room);
        out->text = took(app, conn) >= 0 ? out->room : "";
    }
}

static int64_t order(const struct app *app, size_t position, int column)
{
    if (app->net.by_host) {
        const struct net_host *host = &app->net.hosts[position];
        return column == UP        ? host->up
               : column == DOWN    ? host->down
               : column == VERDICT ? -host->refused
                                   : host->last_ns;
    }
    const struct conn *conn = net_at(&app->net, position);
    return column == UP        ? conn->up
           : column == DOWN    ? conn->down
           : column == TOOK    ? took(app, conn)
           : column == VERDICT ? !conn->refused
                               : conn->ts_ns;
}

static char *label(const struct app *app, uint64_t number)
{
    if (app->net.by_host) {
        const struct net_host *host = host_at(app, number);
        return host ? xstrdup(host->name) : NULL;
    }
    const struct conn *conn = net_find(&app->net, number);
    return conn ? xstrdup(conn->target) : NULL;
}

static void host_detail(const struct app *app, uint64_t number, struct doc *out)
{
    const struct net_host *host = host_at(app, number);
    char size[UNITS_SIZE_MAX], date[24];
    if (!host)
        return;
    doc_add(out, STYLE_TITLE, _("host"), host->name);
    doc_addf(out, STYLE_NORMAL, _("times"), "%lld", (long long)host->count);
    doc_addf(out, host->refused ? STYLE_BAD : STYLE_NORMAL, _("refused"), "%lld", (long long)host->refused);
    doc_addf(out, STYLE_NORMAL, _("open now"), "%zu", host->open);
    doc_add(out, STYLE_NORMAL, _("sent"), units_format_size((uint64_t)host->up, size));
    doc_add(out, STYLE_NORMAL, _("received"), units_format_size((uint64_t)host->down, size));
    field_date(host->last_ns, date);
    doc_add(out, STYLE_NORMAL, _("last"), date);
}

static void detail(const struct app *app, uint64_t number, struct doc *out)
{
    if (app->net.by_host) {
        host_detail(app, number, out);
        return;
    }
    const struct conn *conn = net_find(&app->net, number);
    char text[24];
    if (!conn) {
        doc_add(out, STYLE_DIM, "", _("this connection is no longer remembered here; hutch log has it"));
        return;
    }
    doc_add(out, STYLE_TITLE, _("name"), conn->target);
    doc_add(out, style_of(conn), _("verdict"), field_word(conn->verdict));
    if (*conn->rule)
        doc_add(out, STYLE_NORMAL, _("rule"), conn->rule);
    else if (*conn->why)
        doc_add(out, STYLE_NORMAL, _("why"), _(conn->why));
    if (*conn->missing)
        doc_addf(out, STYLE_NORMAL, _("missing"), _("this rule would allow it: %s"), conn->missing);
    if (*conn->address)
        doc_add(out, STYLE_NORMAL, _("address"), conn->address);
    doc_addf(out, STYLE_NORMAL, _("process"), _("%s (the VM says so)"), *conn->process ? conn->process : "?");
    field_date(conn->ts_ns, text);
    doc_add(out, STYLE_NORMAL, _("when"), text);
    field_duration(took(app, conn), text);
    if (took(app, conn) >= 0)
        doc_add(out, STYLE_NORMAL, conn->open ? _("so far") : _("took"), text);
    doc_add(out, STYLE_DIM, "", "");
    doc_add(out, STYLE_DIM, "", _("every field:"));
    prompt_fields(conn->json, out);
}

/* ---- acts ---- */

/* To the command of its session. */
static void to_cause(struct app *app, uint64_t number, struct effects *effects)
{
    const struct conn *conn = app->net.by_host ? NULL : net_find(&app->net, number);
    if (!conn) {
        app_say(app, STYLE_WARN, "%s",
                app->net.by_host ? _("a host has many causes: one row a connection first") : _("it is gone"));
        return;
    }
    autofree char *session = field_text(conn->json, "session");
    app_to_command(app, app->selected, session, conn->ts_ns, effects);
}

static bool act(struct app *app, uint64_t number, enum action action, struct effects *effects)
{
    const struct project *project = app_project(app);
    if (action == ACTION_CAUSE) {
        to_cause(app, number, effects);
        return true;
    }
    if (action != ACTION_NET_RULE || !project)
        return false;
    autofree char *rule = NULL;
    if (app->net.by_host) {
        const struct net_host *host = host_at(app, number);
        rule = host ? xasprintf("allow %s:443", host->name) : NULL;
    } else {
        const struct conn *conn = net_find(&app->net, number);
        rule = !conn            ? NULL
               : *conn->missing ? xstrdup(conn->missing)
               : conn->refused  ? xasprintf("allow %s", conn->target)
                                : xasprintf("deny %s", conn->target);
    }
    if (rule)
        rules_write(app, project->raw_name, rule);
    return true;
}

static const char *says(const struct app *app, uint64_t number, enum action action)
{
    (void)number;
    return action == ACTION_HOSTS && app->net.by_host ? _("each one") : NULL;
}

static const enum action bar[] = {ACTION_OPEN,     ACTION_BACK,    ACTION_FOLLOW, ACTION_HOSTS,
                                  ACTION_NET_RULE, ACTION_RULES,   ACTION_SORT,   ACTION_SEARCH,
                                  ACTION_FILTER,   ACTION_ACTIONS, ACTION_HELP,   ACTION_NONE};
static const enum action acts[] = {ACTION_NET_RULE, ACTION_CAUSE, ACTION_NONE};

const struct view view_net = {
    .name = "net",
    .title = N_("Net"),
    .empty = N_("nothing in it has connected anywhere; what is older is in hutch log"),
    .map = KEYMAP_NET,
    .flags = VIEW_LOG | VIEW_HEADER | VIEW_TAB | VIEW_PROJECT,
    .columns = columns,
    .bar = bar,
    .acts = acts,
    .first = first,
    .end = end,
    .identity = identity,
    .shows = shows,
    .cell = cell,
    .order = order,
    .label = label,
    .detail = detail,
    .act = act,
    .says = says,
    .shown = net_show,
    .hidden = net_hide,
};
