#include "ui/view/draw.h"

#include "base/alloc.h"
#include "base/text.h"
#include "base/units.h"
#include "base/words.h"
#include "ui/model/field.h"
#include "ui/view/demo.h"
#include "ui/view/diff.h"
#include "ui/view/form.h"
#include "ui/view/paint.h"
#include "ui/view/prompt.h"
#include "ui/view/terminal.h"

#include <stdio.h>
#include <string.h>

static struct area box_area(struct area all, const struct box *box)
{
    return area_part(all, box->row, box->column, box->rows, box->columns);
}

/* ---- the top line ---- */

/* "shop  ROUTINE  14:05" over a prompt. Returns its first column. */
static int paint_class(const struct app *app, struct area area, const char *clock)
{
    static const enum style styles[] = {STYLE_TITLE, STYLE_WARN, STYLE_BAD};
    const struct prompt *prompt = &app->inbox.prompt;
    autofree char *word = prompt_class(prompt);
    int column = area.columns - paint_width(clock);
    area_text(area, 0, column, area.columns, STYLE_TITLE, clock);
    column -= paint_width(word) + 1;
    area_text(area, 0, column, paint_width(word), styles[prompt->class], word);
    column -= paint_width(prompt->project) + 2;
    if (column < area.columns / 2)
        return column + paint_width(prompt->project) + 2;
    area_text(area, 0, column, paint_width(prompt->project), STYLE_TITLE, prompt->project);
    return column;
}

/* "KVM  61G free  14:05", as much of it as fits. Returns its first column. */
static int paint_host(const struct app *app, struct area area)
{
    char clock[24], size[UNITS_SIZE_MAX];
    int column = area.columns;
    field_clock_short(app->now_ns, clock);
    if (app->overlay_count && app_view(app) == VIEW_REQUEST && app->inbox.prompt.json)
        return paint_class(app, area, clock);
    column -= paint_width(clock);
    area_text(area, 0, column, area.columns, STYLE_TITLE, clock);
    if (app->host_disk_free >= 0 && app->up && area.columns >= LAYOUT_COLUMNS) {
        autofree char *free_text =
            xasprintf(_("%s free"), units_format_size((uint64_t)app->host_disk_free, size));
        column -= paint_width(free_text) + 1;
        area_text(area, 0, column, area.columns, STYLE_TITLE, free_text);
    }
    if (app->host_known && app->up) {
        const char *word = app->host_kvm ? _("KVM") : _("EMULATED");
        column -= paint_width(word) + 2;
        area_text(area, 0, column, paint_width(word), app->host_kvm ? STYLE_TITLE : STYLE_WARN, word);
    }
    return column;
}

/* How the selected project reaches the internet, where that is more than by its rules. */
static void paint_way_out(const struct app *app, struct area area, int column, int end)
{
    const struct project *project = app_project(app);
    autofree char *budget = project ? project_budget(project) : NULL;
    if (project && !strcmp(project->egress, "open"))
        area_text(area, 0, column, end - column, STYLE_BAD, _("OPEN"));
    else if (budget)
        area_text_cut(area, 0, column, end - column, STYLE_WARN, budget, false);
}

/* Whatever is shown, it is said that something waits, with the key. Returns the column after it. */
static int paint_waiting(const struct app *app, struct area area, int column, int end)
{
    char key[24] = "";
    bool here = app->overlay_count && (app_view(app) == VIEW_REQUEST || app_view(app) == VIEW_REQUESTS);
    if (app_waiting(app) <= 0 || (app->overlay_count && app_view(app) == VIEW_REQUEST))
        return column;
    bindings_key(&app->settings.bindings, KEYMAP_EVERYWHERE, ACTION_INBOX, key);
    autofree char *count = xasprintf(_("%lld WAITING"), (long long)app_waiting(app));
    autofree char *press = xasprintf(_("press %s"), key);
    column += area_text(area, 0, column, end - column, STYLE_WAITING, count) + 2;
    if (!here && *key && column + paint_width(press) <= end)
        column += area_text(area, 0, column, end - column, STYLE_TITLE, press) + 2;
    return column;
}

static void paint_title(const struct app *app, struct area area)
{
    area_fill(area, 0, 0, area.columns, STYLE_TITLE, 0);
    int end = paint_host(app, area) - 1, column = area_text(area, 0, 0, end, STYLE_TITLE, "hutch");
    if (app->overlay_count) {
        autofree char *where = xasprintf(" > %s", _(view_table[app_view(app)]->title));
        column += area_text(area, 0, column, end - column, STYLE_TITLE, where);
        char *(*heading)(const struct app *) = view_table[app_view(app)]->heading;
        autofree char *more = heading && app->up ? heading(app) : NULL;
        if (more)
            column += area_text_cut(area, 0, column + 2, end - column - 2, STYLE_TITLE, more, false) + 2;
    }
    column += 3;
    if (!app->up) {
        autofree char *text = app->down_why ? xasprintf(_("NOT CONNECTED  %s"), app->down_why)
                                            : xstrdup(_("asking hutchd ..."));
        area_text_cut(area, 0, column, end - column, app->down_why ? STYLE_BAD : STYLE_BUSY, text, false);
    } else {
        paint_way_out(app, area, paint_waiting(app, area, column, end), end);
    }
}

/* ---- the line of tabs ---- */

/* What is to be known of a list: its filter, that older rows are gone, that it follows. Caller frees. */
static char *list_facts(const struct app *app, enum view_id view)
{
    const struct list *list = &app->lists[view];
    bool older = view == VIEW_TIMELINE && app->events.dropped && list->top == 0;
    autofree char *filter = list->filter.on ? xasprintf(" & %s: %zu ", list->filter.text, list->count) : NULL;
    autofree char *rate = view == VIEW_NET ? net_rate_line(app, 16) : NULL;
    const struct project *project = view == VIEW_NET ? app_project(app) : NULL;
    autofree char *budget = project ? project_budget(project) : NULL;
    return xasprintf("%s%s%s%s%s%s%s%s%s", filter ? filter : "", budget ? " " : "", budget ? budget : "",
                     budget ? " " : "", rate && *rate ? " " : "", rate ? rate : "", rate && *rate ? " " : "",
                     older ? _(" older: hutch log ") : "", list->follow ? _(" follow ") : "");
}

/* Remembers cells as an act that the mouse can press. */
static void hit(struct app *app, struct area area, int row, int column, int columns, enum action action)
{
    if (columns > 0 && app->hit_count < HITS_MAX)
        app->hits[app->hit_count++] = (struct hit){area.row + row, area.column + column, columns, action};
}

/* A tab as it stands in their line; the caller's to free. */
static char *tab_text(int number, bool close)
{
    return xasprintf(close ? " %d %s" : " %d %s ", number, _(view_table[view_tab(number)]->title));
}

/* Columns of all tabs. */
static int tabs_width(void)
{
    int width = 0;
    for (int number = 1; view_tab(number); number++) {
        autofree char *text = tab_text(number, false);
        width += paint_width(text);
    }
    return width;
}

static void paint_tabs(struct app *app, struct area area)
{
    const struct project *project = app_project(app);
    autofree char *facts = list_facts(app, app->tab);
    int column = 3, width = paint_width(facts);
    paint_rule(app, area, 0, 0, area.columns);
    if (project) {
        autofree char *name = xasprintf(" %s ", project->name);
        column = 2 + area_text_cut(area, 0, 2, area.columns / 3, STYLE_TITLE, name, false) + 2;
    }
    bool close = width && column + tabs_width() + width + 2 > area.columns;
    for (int number = 1; view_tab(number); number++) {
        enum view_id view = view_tab(number);
        autofree char *text = tab_text(number, close);
        if (column + paint_width(text) >= area.columns)
            break;
        bool here = view == app->tab;
        int used = area_text(area, 0, column, area.columns, here ? STYLE_TAB_HERE : STYLE_TAB, text);
        hit(app, area, 0, column, used, (enum action)(ACTION_TAB_1 + number - 1));
        column += used;
    }
    if (width && column + width + 2 <= area.columns)
        area_text(area, 0, area.columns - width - 1, width, STYLE_DIM, facts);
}

/* ---- the two lines at the bottom ---- */

static const char *const input_titles[] = {[INPUT_FILTER] = "& ",
                                           [INPUT_SEARCH] = "/ ",
                                           [INPUT_PALETTE] = ": ",
                                           [INPUT_FILE] = N_("file: "),
                                           [INPUT_RULE] = N_("rule: "),
                                           [INPUT_REASON] = N_("deny, because: "),
                                           [INPUT_REJECT] = N_("reject, because: "),
                                           [INPUT_ALLOW] = N_("type the name: ")};

static void paint_input(const struct app *app, struct area area, const char *title)
{
    int column = area_text(area, 0, 0, area.columns, STYLE_KEY, title);
    int room = area.columns - column - 1, at = input_column(&app->input), left = at > room ? at - room : 0;
    size_t skipped = 0, skip = text_clip(app->input.text, app->input.len, (size_t)left, &skipped);
    area_text(area, 0, column, area.columns - column, STYLE_FIELD_HERE, app->input.text + skip);
    left = (int)skipped;
    area.grid->cursor = true;
    area.grid->cursor_row = area.row;
    area.grid->cursor_column = area.column + column + at - left;
    if (app->input_error) {
        int width = paint_width(app->input_error), from = column + paint_width(app->input.text) + 2;
        int place = area.columns - width > from ? area.columns - width : from;
        area_text_cut(area, 0, place, area.columns - place, STYLE_WARN, app->input_error, false);
    }
}

static void paint_question(const struct app *app, struct area area)
{
    const struct confirm *confirm = &app->confirm;
    if (confirm->weight == WEIGHT_SEVERE) {
        autofree char *title = xasprintf(_("type %s: "), confirm->name);
        paint_input(app, area, title);
        return;
    }
    autofree char *text = xasprintf("%s  y/N", confirm->words.question);
    area_text_cut(area, 0, 0, area.columns, STYLE_WARN, text, false);
}

static void paint_entry(struct area area, const struct entry *entry)
{
    static const enum style styles[] = {STYLE_BUSY, STYLE_GOOD, STYLE_BAD, STYLE_DIM};
    autofree char *command = xasprintf("$ %s", entry->command);
    char took[24] = "";
    if (entry->ended_ns > entry->ts_ns)
        field_duration((entry->ended_ns - entry->ts_ns) / 1000000, took);
    const char *how = entry->state == ENTRY_RUNS   ? (*entry->words ? "" : _("runs"))
                      : entry->state == ENTRY_DONE ? _("ok")
                                                   : _("failed: ");
    autofree char *end = xasprintf("%s%s%s%s", how, entry->words, *took ? "  " : "", took);
    int width = area_text_cut(area, 0, 0, area.columns * 2 / 3, STYLE_NORMAL, command, false);
    area_text_cut(area, 0, width + 2, area.columns - width - 2, styles[entry->state], end, true);
}

/* The newest act, for a while; what was only said has had its time. */
/* Of what covers the screen: how many rows are below its last line. */
static size_t rows_below(const struct app *app)
{
    const struct list *list = &app->lists[app_view(app)];
    int left = list->height;
    size_t at = list->top;
    if (!app->overlay_count || view_table[app_view(app)]->flags & VIEW_TYPES)
        return 0;
    while (at < list->count && left > 0)
        left -= list_row_lines(app, list, at++);
    return list->count - at;
}

static void paint_newest(const struct app *app, struct area area)
{
    const struct entry *entry = act_newest(app);
    size_t below = rows_below(app);
    if (entry)
        paint_entry(area, entry);
    else if (below)
        area_printf(area, 0, 0, area.columns, STYLE_DIM,
                    ngettext("%zu more row below", "%zu more rows below", below), below);
}

/* Under a prompt: that there is more of it, or that it is too early to answer. */
static void paint_prompt_line(const struct app *app, struct area area)
{
    int below = prompt_below(app);
    if (below > 0)
        area_printf(area, 0, 0, area.columns, STYLE_WARN,
                    ngettext("%d more line below; nothing is allowed before it was seen",
                             "%d more lines below; nothing is allowed before they were seen",
                             (unsigned)below),
                    below);
    else if (prompt_due(app))
        area_text_cut(area, 0, 0, area.columns, STYLE_DIM, _("look first: no key answers yet"), false);
}

static void paint_line(const struct app *app, struct area area)
{
    const struct list *list = &app->lists[app_view(app)];
    if (app->confirm.on)
        paint_question(app, area);
    else if (app->input_use && app->input_use < INPUT_VIEW)
        paint_input(app, area, _(input_titles[app->input_use]));
    else if (!app->notice && app->overlay_count && app_view(app) == VIEW_REQUEST)
        paint_prompt_line(app, area);
    else if (app->notice)
        area_text_cut(area, 0, 0, area.columns, app->notice_style, app->notice, false);
    else if (list->filter.on)
        area_printf(area, 0, 0, area.columns, STYLE_MATCH,
                    ngettext("& %s   %zu row%s", "& %s   %zu rows%s", list->count), list->filter.text,
                    list->count, list->more ? " ..." : "");
    else
        paint_newest(app, area);
}

/* The key of help: where letters are text, one that is none. */
static bool help_key(const struct view *view, const struct bindings *bindings, char ret[24])
{
    if (!(view->flags & VIEW_TYPES))
        return view_key(view, bindings, ACTION_HELP, ret);
    for (size_t i = 0; i < bindings->count; i++) {
        const struct binding *one = &bindings->list[i];
        if (one->action != ACTION_HELP || one->map != KEYMAP_EVERYWHERE || one->key.code < KEY_NAMED)
            continue;
        key_name(&one->key, ret);
        return true;
    }
    return false;
}

static void paint_bar(struct app *app, struct area area)
{
    const struct view *view = view_table[app_view(app)];
    const struct bindings *bindings = &app->settings.bindings;
    char key[24];
    int column = 0, room = area.columns;
    area_fill(area, 0, 0, area.columns, STYLE_BAR, 0);
    if (app->confirm.on && app->confirm.weight == WEIGHT_MODERATE) {
        bindings_key(bindings, KEYMAP_CONFIRM, ACTION_YES, key);
        column += paint_key(area, 0, column, key, _("do it")) + 2;
        area_text(area, 0, column, area.columns, STYLE_BAR, _("every other key: no"));
        return;
    }
    if (app->confirm.on || (app->input_use && app->input_use < INPUT_VIEW)) {
        const char *label = app->confirm.on                   ? _("do it")
                            : app->input_use == INPUT_PALETTE ? _("choose")
                                                              : _("take it");
        column += paint_key(area, 0, column, "Enter", label) + 2;
        paint_key(area, 0, column, "Esc", _("cancel"));
        return;
    }
    /* Help has its place whatever else there is room for. */
    bool help = help_key(view, bindings, key) && view != view_table[VIEW_HELP];
    if (help)
        room -= paint_width(key) + 1 + paint_width(action_label(ACTION_HELP)) + 2;
    for (const enum action *action = view->bar; action && *action; action++) {
        if (*action == ACTION_OPEN && !app_cursor(app, app_view(app)))
            continue;
        if (*action == ACTION_HELP || !view_key(view, bindings, *action, key) ||
            !act_now(app, app_view(app), *action))
            continue;
        const char *label = act_label(app, app_view(app), *action);
        if (!*label || column + paint_width(key) + 1 + paint_width(label) > room)
            continue;
        int width = paint_key(area, 0, column, key, label);
        hit(app, area, 0, column, width, *action);
        column += width + 2;
    }
    if (help && help_key(view, bindings, key))
        hit(app, area, 0, column, paint_key(area, 0, column, key, action_label(ACTION_HELP)), ACTION_HELP);
}

/* What is too long for the line above the keys takes the lines above it too: it is said whole. */
static void paint_notice(const struct app *app, struct area area, int line)
{
    bool form = view_table[app_view(app)]->flags & VIEW_TYPES; /* is never covered */
    if (!app->notice || app->confirm.on || app->input_use || form || paint_width(app->notice) <= area.columns)
        return;
    int lines = paint_wrapped(area, 0, 0, 0, area.columns, app->notice_style, app->notice);
    int top = line - lines + 1 > 0 ? line - lines + 1 : 0;
    for (int row = top; row <= line; row++)
        area_fill(area, row, 0, area.columns, STYLE_NORMAL, 0);
    paint_wrapped(area, top, line - top + 1, 0, area.columns, app->notice_style, app->notice);
}

/* What stands above a question: the warning, never cut; and the question itself if a name is typed, or if it
 * is too long for its line. */
static void paint_warning(const struct app *app, struct area area, int line)
{
    const struct confirm *confirm = &app->confirm;
    bool severe = confirm->weight == WEIGHT_SEVERE;
    if (!confirm->on || line < 2)
        return;
    const char *warning = confirm->words.warning ? confirm->words.warning : "";
    bool whole = confirm->words.question && paint_width(confirm->words.question) + 5 <= area.columns;
    const char *question = (severe || !whole) && confirm->words.question ? confirm->words.question : "";
    enum style style = severe ? STYLE_BAD : STYLE_WARN;
    int first = paint_wrapped(area, 0, 0, 0, area.columns - 4, STYLE_NORMAL, warning);
    int lines = first + paint_wrapped(area, 0, 0, 0, area.columns - 4, STYLE_NORMAL, question);
    int top = line - lines - 1 > 0 ? line - lines - 1 : 0;
    if (!lines)
        return;
    for (int row = top; row < line; row++)
        area_fill(area, row, 0, area.columns, STYLE_NORMAL, 0);
    area_fill(area, top, 0, area.columns, style, severe ? '#' : '=');
    autofree char *title = xasprintf(" %s: %s ", action_label(confirm->action), confirm->name);
    area_text_cut(area, top, 3, area.columns - 6, style, title, false);
    paint_wrapped(area, top + 1, line - top - 1, 2, area.columns - 4, STYLE_NORMAL, warning);
    paint_wrapped(area, top + 1 + first, line - top - 1 - first, 2, area.columns - 4, style, question);
}

/* ---- all of it ---- */

/* Views that are not drawn as a list; a new one is a line here. */
static const struct {
    enum view_id view;
    void (*paint)(const struct app *app, struct area area, bool focused);
} painters[] = {
    {VIEW_FORM, paint_form},
    {VIEW_DIFF, paint_diff},
    {VIEW_PUSH, paint_push},
};

static void paint_view(const struct app *app, enum view_id view, struct area area, bool focused)
{
    for (size_t i = 0; i < countof(painters); i++) {
        if (painters[i].paint && painters[i].view == view) {
            painters[i].paint(app, area, focused);
            return;
        }
    }
    paint_list(app, view, area, focused);
}

static void paint_panes(struct app *app, struct area all)
{
    static const struct {
        enum pane pane;
        enum view_id view;
    } lists[] = {{PANE_PROJECTS, VIEW_PROJECTS}, {PANE_TAB, VIEW_NONE}, {PANE_DETAIL, VIEW_DETAIL}};
    const struct layout *layout = &app->layout;
    for (size_t i = 0; i < countof(lists); i++) {
        const struct box *box = &layout->panes[lists[i].pane];
        if (box_shown(box))
            paint_view(app, lists[i].view ? lists[i].view : app->tab, box_area(all, box),
                       app->focus == lists[i].pane && !app->confirm.on);
    }
    if (box_shown(&layout->tabs))
        paint_tabs(app, box_area(all, &layout->tabs));
    for (int i = 0; i < 2; i++)
        for (int row = layout->rule_from; layout->rules[i] >= 0 && row < layout->rule_to; row++)
            paint_upright(app, all, row, layout->rules[i]);
    if (box_shown(&layout->panes[PANE_OVERLAY]) && app_view(app) == VIEW_REQUEST)
        paint_prompt(app, box_area(all, &layout->panes[PANE_OVERLAY]));
    else if (box_shown(&layout->panes[PANE_OVERLAY]))
        paint_view(app, app_view(app), box_area(all, &layout->panes[PANE_OVERLAY]), !app->confirm.on);
}

static void paint_terminal(const struct app *app, struct area all)
{
    const struct box *box = &app->layout.panes[PANE_TERMINAL];
    const struct project *project = app_project(app);
    struct terminal_facts facts = {.waiting = (int)app_waiting(app), .others = !app->terminal_only};
    if (project && !strcmp(project->state, "frozen"))
        facts.state = _("FROZEN");
    else if (project && !strcmp(project->state, "paused"))
        facts.state = _("PAUSED");
    if (app->terminal && box_shown(box))
        terminal_draw(app->terminal, box_area(all, box), &facts,
                      app->focus == PANE_TERMINAL && !app->confirm.on && !app->overlay_count);
}

void app_draw(struct app *app, struct grid *grid)
{
    app_settle(app);
    app->hit_count = 0;
    grid_resize(grid, app->screen_rows, app->columns);
    grid_clear(grid);
    struct area all = area_part(area_all(grid), 0, 0, app->rows, app->columns);
    const struct layout *layout = &app->layout;
    paint_panes(app, all);
    paint_terminal(app, all);
    if (layout->title >= 0)
        paint_title(app, area_part(all, layout->title, 0, 1, app->columns));
    if (layout->line >= 0) {
        paint_warning(app, all, layout->line);
        paint_line(app, area_part(all, layout->line, 0, 1, app->columns));
        paint_notice(app, all, layout->line);
    }
    if (layout->bar >= 0)
        paint_bar(app, area_part(all, layout->bar, 0, 1, app->columns));
    if (app->demo.on)
        paint_demo(app, area_part(area_all(grid), app->rows, 0, app->screen_rows - app->rows, app->columns));
    app->changed = false;
}
