#include "ui/model/app_state.h"
#include "ui/model/field.h"

#include "base/alloc.h"
#include "base/text.h"
#include "base/words.h"

#include <stdio.h>
#include <string.h>

/* Views whose rows are to be read whole. */
static const enum view_id wrapped[] = {VIEW_DETAIL, VIEW_HELP,   VIEW_ACTIONS, VIEW_PALETTE,
                                       VIEW_INFO,   VIEW_DOCTOR, VIEW_PROGRESS};

struct app *app_create(const struct app_options *options)
{
    struct app *app = xnew(struct app);
    auto(error) struct error *err = NULL;
    app->home = options->home ? xstrdup(options->home) : NULL;
    app->folder = xstrdup(options->folder);
    app->repository = xstrdup(options->repository);
    app->output.view = VIEW_OUTPUT;
    app->console.view = VIEW_CONSOLE;
    app->form.error_field = FORM_NONE;
    app->lines_probed = options->lines;
    app->host_disk_free = -1;
    settings_init(&app->settings);
    events_init(&app->events);
    for (int view = VIEW_NONE + 1; view < VIEW_COUNT; view++)
        list_init(&app->lists[view], view_table[view]);
    for (size_t i = 0; i < countof(wrapped); i++)
        app->lists[wrapped[i]].wrap = true;
    app->tab = view_tab(1);
    app->focus = PANE_PROJECTS;
    if (options->settings &&
        settings_read(&app->settings, options->settings, strlen(options->settings), &err) < 0)
        app_say_error(app, err);
    if (options->escape) {
        free(app->settings.values[OPTION_ESCAPE]);
        app->settings.values[OPTION_ESCAPE] = xstrdup(options->escape);
    }
    app->theme = settings_theme(&app->settings);
    app->lines_work = app->lines_probed && strcmp(app_lines(app), "no") != 0;
    if (options->demo)
        demo_start(app, options->demo);
    app_size(app, options->rows, options->columns);
    if (options->project && options->session)
        terminal_host_only(app, options->project, options->session);
    app->changed = true;
    return app;
}

static void free_entries(struct app *app)
{
    for (size_t at = app->entry_first; at < app->entry_end; at++) {
        struct entry *entry = &app->entries[at % ACTS_MAX];
        free(entry->command);
        free(entry->words);
    }
}

void app_free(struct app *app)
{
    if (!app)
        return;
    act_cancel(app);
    feed_finish(app);
    terminal_free(app->terminal);
    for (int view = VIEW_NONE + 1; view < VIEW_COUNT; view++)
        list_finish(&app->lists[view]);
    projects_finish(&app->projects);
    sessions_finish(&app->sessions);
    reader_finish(&app->output);
    reader_finish(&app->console);
    doc_finish(&app->info);
    works_finish(&app->works);
    form_finish(&app->form);
    templates_finish(&app->templates);
    doctor_finish(&app->doctor);
    inbox_finish(&app->inbox);
    net_finish(&app->net);
    rules_finish(&app->rules);
    git_finish(&app->git);
    review_finish(&app->review);
    events_finish(&app->events);
    events_finish(&app->older);
    settings_finish(&app->settings);
    doc_finish(&app->doc);
    demo_finish(&app->demo);
    free_entries(app);
    free(app->down_why);
    free(app->version);
    free(app->home);
    free(app->folder);
    free(app->folder_project);
    free(app->near_project);
    free(app->repository);
    free(app->input_error);
    free(app->notice);
    free(app->batch_words);
    free(app->title);
    free(app);
}

/* ---- what is where ---- */

int64_t app_now(const struct app *app)
{
    return app->now_ns;
}

enum view_id app_view(const struct app *app)
{
    if (app->overlay_count)
        return app->overlays[app->overlay_count - 1];
    return app->focus == PANE_TAB ? app->tab : app->focus == PANE_DETAIL ? VIEW_DETAIL : VIEW_PROJECTS;
}

struct list *app_list(struct app *app, enum view_id view)
{
    return &app->lists[view];
}

uint64_t app_cursor(const struct app *app, enum view_id view)
{
    return app->lists[view].cursor;
}

struct project *app_project(const struct app *app)
{
    return projects_find(&app->projects, app->selected);
}

void app_size(struct app *app, int rows, int columns)
{
    app->screen_rows = rows > 0 ? rows : 1;
    app->columns = columns > 0 ? columns : 1;
    app->rows = app->screen_rows - demo_rows(app, app->screen_rows, app->columns);
    app->changed = true;
}

void app_touch(struct app *app)
{
    app->changed = true;
}

bool app_changed(struct app *app)
{
    if (app->terminal && terminal_changed(app->terminal))
        app->changed = true;
    return app->changed;
}

int app_theme(const struct app *app)
{
    return app->theme;
}

bool app_mouse(const struct app *app)
{
    return settings_yes(&app->settings, OPTION_MOUSE);
}

const char *app_lines(const struct app *app)
{
    return app->settings.values[OPTION_LINES];
}

int app_exit_status(const struct app *app)
{
    return app->exit_status;
}

void app_news(struct app *app, enum view_id view)
{
    list_news(&app->lists[view]);
    app->changed = true;
}

/* ---- settling ---- */

/* The size that a list is drawn with. */
static void size_list(struct app *app, enum view_id view, const struct box *box)
{
    struct list *list = &app->lists[view];
    if (!box_shown(box))
        return;
    int header = view_table[view]->flags & VIEW_HEADER ? 1 : 0;
    list->height = box->rows > header ? box->rows - header : 1;
    list->width = box->columns - LIST_GUTTER;
}

static void settle_layout(struct app *app)
{
    bool detail = app->columns >= LAYOUT_TWO && app->rows >= LAYOUT_ROWS;
    if (app->focus == PANE_DETAIL && !detail)
        app->focus = PANE_TAB;
    struct layout_wish wish = {
        .rows = app->rows,
        .columns = app->columns,
        .projects = (int)app->lists[VIEW_PROJECTS].count,
        .overlay = app->overlay_count > 0,
        .terminal = app->terminal != NULL,
        .terminal_full = app->terminal_full || app->terminal_only,
        .focus = app->focus,
    };
    layout_make(&wish, &app->layout);
    const struct box *panes = app->layout.panes;
    size_list(app, VIEW_PROJECTS, &panes[PANE_PROJECTS]);
    size_list(app, app->tab, &panes[PANE_TAB]);
    size_list(app, VIEW_DETAIL, &panes[PANE_DETAIL]);
    if (app->overlay_count)
        size_list(app, app_view(app), &panes[PANE_OVERLAY]);
}

/* The detail shows the row that the cursor is on, unless it is looked at itself. */
static void settle_doc(struct app *app)
{
    enum view_id view = app_view(app);
    if (view != VIEW_DETAIL && box_shown(&app->layout.panes[PANE_DETAIL])) {
        uint64_t identity = app_cursor(app, view);
        if (app->doc_view != view || app->doc_identity != identity)
            list_restart(&app->lists[VIEW_DETAIL]);
        app->doc_view = view;
        app->doc_identity = identity;
    } else if (view != VIEW_DETAIL) {
        return;
    }
    doc_finish(&app->doc);
    const struct view *of = view_table[app->doc_view];
    if (of && of->detail && app->doc_identity)
        of->detail(app, app->doc_identity, &app->doc);
    list_news(&app->lists[VIEW_DETAIL]);
    list_settle(app, &app->lists[VIEW_DETAIL]);
}

void app_settle(struct app *app)
{
    struct project *project = app_project(app);
    uint32_t number = project ? events_project(&app->events, project->raw_name) : 0;
    if (number != app->event_project) {
        app->event_project = number;
        list_news(&app->lists[VIEW_TIMELINE]);
    }
    list_settle(app, &app->lists[VIEW_PROJECTS]);
    settle_layout(app);
    list_settle(app, &app->lists[VIEW_PROJECTS]);
    list_settle(app, &app->lists[app->tab]);
    if (app->overlay_count && app_view(app) != VIEW_DETAIL)
        list_settle(app, &app->lists[app_view(app)]);
    settle_doc(app);
}

/* ---- going about ---- */

void app_choose_project(struct app *app, uint64_t number, struct effects *effects)
{
    if (number == app->selected)
        return;
    const struct view *tab = view_table[app->tab];
    if (tab->hidden)
        tab->hidden(app, effects);
    app->selected = number;
    for (int view = VIEW_NONE + 1; view < VIEW_COUNT; view++)
        if (view_table[view]->flags & VIEW_TAB)
            list_restart(&app->lists[view]);
    if (tab->shown && number)
        tab->shown(app, effects);
    if (number && app->overlay_count && app_view(app) == VIEW_RULES) /* they are of the selected one */
        view_table[VIEW_RULES]->shown(app, effects);
    app->changed = true;
}

void app_open_tab(struct app *app, enum view_id view, struct effects *effects)
{
    if (view != app->tab) {
        const struct view *old = view_table[app->tab], *new = view_table[view];
        if (old->hidden)
            old->hidden(app, effects);
        app->tab = view;
        if (new->shown && app->selected)
            new->shown(app, effects);
        list_news(&app->lists[view]);
    }
    app_focus(app, PANE_TAB, effects);
}

void app_push(struct app *app, enum view_id view, struct effects *effects)
{
    if (app->overlay_count == OVERLAYS_MAX || (app->overlay_count && app_view(app) == view))
        return;
    app->overlays[app->overlay_count++] = view;
    list_news(&app->lists[view]);
    if (view_table[view]->shown)
        view_table[view]->shown(app, effects);
    if (app->terminal)
        terminal_focus(app->terminal, false, effects);
    app->changed = true;
}

void app_pop(struct app *app, struct effects *effects)
{
    if (!app->overlay_count)
        return;
    enum view_id view = app->overlays[--app->overlay_count];
    struct list *list = &app->lists[view];
    list_filter(list, "", NULL);
    app->input_use = INPUT_NONE;
    if (view_table[view]->hidden)
        view_table[view]->hidden(app, effects);
    if (app->terminal && app->focus == PANE_TERMINAL && !app->overlay_count)
        terminal_focus(app->terminal, true, effects);
    app->changed = true;
}

void app_focus(struct app *app, enum pane pane, struct effects *effects)
{
    if (app->terminal && (pane == PANE_TERMINAL) != (app->focus == PANE_TERMINAL))
        terminal_focus(app->terminal, pane == PANE_TERMINAL, effects);
    app->focus = pane;
    app->changed = true;
}

/* ---- saying ---- */

void app_say(struct app *app, enum style style, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    autofree char *words = xvasprintf(format, args);
    va_end(args);
    free(app->notice);
    app->notice = text_safe(words);
    app->notice_style = style;
    app->notice_about = 0;
    app->notice_ns = app->now_ns;
    app->changed = true;
}

/* When what was said has had its time, 0: it stays until a key. What refuses or failed stays. */
static int64_t notice_due(const struct app *app)
{
    bool stays = app->notice_style == STYLE_WARN || app->notice_style == STYLE_BAD;
    return app->notice && app->notice_ns && !stays ? app->notice_ns + ENTRY_SHOWN_NS : 0;
}

static void drop_notice(struct app *app)
{
    if (!notice_due(app) || app->now_ns < notice_due(app))
        return;
    free(steal(&app->notice));
    app->changed = true;
}

void app_say_error(struct app *app, const struct error *error)
{
    autofree char *words =
        xasprintf("%s%s%s", error->message, error->hint ? "; " : "", error->hint ? error->hint : "");
    app_say(app, STYLE_BAD, "%s", words);
    if (!act_log_has_failed(app, words)) /* the line of the act says it */
        act_log(app, ENTRY_SAID, NULL, words);
}

/* ---- messages ---- */

static void take_settings(struct app *app, const struct message *message, struct effects *effects)
{
    auto(error) struct error *err = NULL;
    if (message->error) {
        app_say_error(app, message->error);
        return;
    }
    if (settings_read(&app->settings, (const char *)message->bytes, message->len, &err) < 0) {
        app_say_error(app, err);
        return;
    }
    app->theme = settings_theme(&app->settings);
    app->lines_work = app->lines_probed && strcmp(app_lines(app), "no") != 0;
    effects_add(effects, EFFECT_THEME)->number = app->theme;
    effects_add(effects, EFFECT_MOUSE)->number = settings_yes(&app->settings, OPTION_MOUSE);
    app_say(app, STYLE_GOOD, _("the settings were read"));
}

/* The selected project is the one under the cursor; none is after it went away, until another is chosen. */
static void settle_projects(struct app *app, struct effects *effects)
{
    struct list *list = &app->lists[VIEW_PROJECTS];
    bool gone = list->gone;
    list_settle(app, list);
    if (!list->gone)
        app_choose_project(app, list->cursor, effects);
    else if (!gone)
        app_say(app, STYLE_WARN, _("\"%s\" is gone; move to choose another project"),
                list->gone_name ? list->gone_name : _("the project"));
}

int64_t app_waiting(const struct app *app)
{
    int64_t sum = 0;
    if (app->inbox.known)
        return app->inbox.waiting;
    for (size_t i = 0; i < app->projects.count; i++)
        sum = field_sum(sum, app->projects.list[i].waiting);
    return sum;
}

/* What is to be seen and heard outside of the screen: the window's title, the bell when more waits than did.
 */
static void tell_outside(struct app *app, struct effects *effects)
{
    const struct project *project = app_project(app);
    int64_t waiting = app_waiting(app);
    const char *name = app->terminal ? terminal_project(app->terminal) : project ? project->name : NULL;
    autofree char *count = waiting ? xasprintf(_(" %lld WAITING"), (long long)waiting) : xstrdup("");
    autofree char *words = xasprintf("hutch%s%s%s%s", name ? ": " : "", name ? name : "",
                                     app->terminal ? _(" terminal") : "", count);
    autofree char *title = text_safe(words);
    if (!app->title || strcmp(title, app->title) != 0) {
        effects_add_text(effects, EFFECT_TITLE, title, 0);
        free(app->title);
        app->title = steal(&title);
    }
    if (waiting > app->waited && settings_yes(&app->settings, OPTION_BELL))
        effects_add(effects, EFFECT_BELL);
    if (waiting > app->waited && settings_yes(&app->settings, OPTION_NOTIFY))
        effects_add_text(effects, EFFECT_NOTIFY, app->title, 0);
    app->waited = waiting;
}

/* A timer for what is due next, if none is out that rings as early. */
static void want_timer(struct app *app, int64_t due_ns, struct effects *effects)
{
    if (due_ns == 0 || app->now_ns == 0)
        return;
    if (app->timer_ns > app->now_ns && app->timer_ns <= due_ns)
        return;
    int64_t wait = due_ns > app->now_ns ? due_ns - app->now_ns : 0;
    effects_add(effects, EFFECT_TIMER)->number = wait / 1000000 + 1;
    app->timer_ns = due_ns;
}

/* Whether a command that is shown here goes on. */
static bool timeline_runs(const struct app *app)
{
    for (size_t i = 0; i < app->events.open_count && app->tab == VIEW_TIMELINE; i++) {
        const struct event *event = events_at(&app->events, app->events.open[i] - 1);
        if (event && event->project == app->event_project && !event->ended)
            return true;
    }
    return false;
}

/* The clock of the title changes with the minute, and once a second what runs gets older. */
static int64_t clock_due(const struct app *app)
{
    const struct list *list = &app->lists[app_view(app)];
    if (list->more || (list->filter.on && list->stale))
        return app->now_ns + SECOND / 100;
    bool ticks =
        (timeline_runs(app) || projects_frozen(&app->projects) || works_run(app) || sessions_run(app)) &&
        !app->terminal_only;
    if (app->lists[app->tab].stale && app->lists[app->tab].sort >= 0)
        ticks = true;
    if (app->inbox.prompt.json && app->overlay_count && app_view(app) == VIEW_REQUEST)
        ticks = true;
    if ((app->terminal && terminal_ticks(app->terminal)) || demo_ticks(app))
        ticks = true;
    const struct entry *entry = act_newest(app);
    if (entry && entry->ended_ns)
        ticks = true; /* until it goes */
    int64_t step = ticks ? SECOND : 60 * SECOND, due = (app->now_ns / step + 1) * step;
    if (notice_due(app) && notice_due(app) < due)
        due = notice_due(app);
    return prompt_due(app) && prompt_due(app) < due ? prompt_due(app) : due;
}

static void dispatch(struct app *app, const struct message *message, struct effects *effects)
{
    switch (message->type) {
    case MESSAGE_KEY:
        app_key(app, &message->key, effects);
        break;
    case MESSAGE_SIZE:
        app_size(app, message->rows, message->columns);
        break;
    case MESSAGE_TIME:
        app->timer_ns = 0;
        app->changed = true;
        break;
    case MESSAGE_UP:
        feed_up(app, message, effects);
        break;
    case MESSAGE_DOWN:
        feed_down(app, message, effects);
        break;
    case MESSAGE_SETTINGS:
        take_settings(app, message, effects);
        break;
    default:
        feed_answer(app, message, effects);
    }
}

void app_update(struct app *app, const struct message *message, struct effects *effects)
{
    if (message->now_ns)
        app->now_ns = message->now_ns;
    drop_notice(app);
    if (message->type == MESSAGE_KEY)
        app_settle(app);
    if (message->type == MESSAGE_KEY && message->key.type != KEY_EVENT_FOCUS)
        inbox_attend(app, effects);
    bool taken = terminal_host_message(app, message, effects);
    if (!taken)
        dispatch(app, message, effects);
    if (message->type == MESSAGE_KEY || app->lists[VIEW_PROJECTS].stale)
        settle_projects(app, effects);
    demo_update(app, effects);
    tell_outside(app, effects);
    int64_t due = feed_tick(app, effects), clock = clock_due(app);
    want_timer(app, due && due < clock ? due : clock, effects);
    if (message->type == MESSAGE_KEY || message->type == MESSAGE_SIZE || message->type == MESSAGE_UP)
        terminal_host_size(app, effects);
}
