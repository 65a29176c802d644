/* The acts of the screen itself: moving, opening, looking. */
#include "ui/model/app_state.h"

#include "base/alloc.h"
#include "base/text.h"
#include "base/words.h"

#include <string.h>

typedef void do_fn(struct app *app, struct effects *effects);

static struct list *here(struct app *app)
{
    return &app->lists[app_view(app)];
}

/* A person who has moved among the projects is not led elsewhere. */
static void moved(struct app *app)
{
    app->chosen = true;
    app->changed = true;
}

static void move(struct app *app, long rows)
{
    list_move(app, here(app), rows);
    moved(app);
}

static long page(struct app *app)
{
    int height = here(app)->height;
    return height > 2 ? height - 1 : 1;
}

static void do_down(struct app *app, struct effects *effects)
{
    (void)effects;
    move(app, 1);
}

/* Who comes to the first row of a timeline wants what was before it. */
static void older(struct app *app, struct effects *effects)
{
    const struct list *list = here(app);
    if (app_view(app) == VIEW_TIMELINE && list->at == 0 && list->sort < 0)
        feed_older(app, effects);
}

static void do_up(struct app *app, struct effects *effects)
{
    move(app, -1);
    older(app, effects);
}

static void do_top(struct app *app, struct effects *effects)
{
    list_go(app, here(app), 0);
    here(app)->follow = false;
    moved(app);
    older(app, effects);
}

static void do_bottom(struct app *app, struct effects *effects)
{
    (void)effects;
    list_go(app, here(app), SIZE_MAX);
    moved(app);
}

static void do_page_down(struct app *app, struct effects *effects)
{
    (void)effects;
    move(app, page(app));
}

static void do_page_up(struct app *app, struct effects *effects)
{
    move(app, -page(app));
    older(app, effects);
}

static void do_half_down(struct app *app, struct effects *effects)
{
    (void)effects;
    move(app, (page(app) + 1) / 2);
}

static void do_half_up(struct app *app, struct effects *effects)
{
    move(app, -(page(app) + 1) / 2);
    older(app, effects);
}

/* ---- folding ---- */

/* The row that folds: that of the cursor, or the one that it is below of. */
static uint64_t folding(struct app *app, struct list *list)
{
    if (!(list->view->flags & VIEW_TREE) || !list->count)
        return 0;
    size_t row = list->at;
    while (row > 0 && list->rows[row].depth > 0)
        row--;
    size_t position = list->rows[row].position;
    if (!list->view->child(app, position))
        return 0;
    if (row != list->at)
        list_go(app, list, row);
    return list->view->identity(app, position);
}

static void do_fold(struct app *app, struct effects *effects)
{
    (void)effects;
    uint64_t identity = folding(app, here(app));
    if (identity)
        list_fold(here(app), identity);
    app->changed = true;
}

static void do_fold_all(struct app *app, struct effects *effects)
{
    (void)effects;
    folding(app, here(app));
    list_fold_all(here(app));
    app->changed = true;
}

static void sideways(struct app *app, bool right)
{
    struct list *list = here(app);
    uint64_t identity = list->view->flags & VIEW_TREE && list->count
                            ? list->view->identity(app, list->rows[list->at].position)
                            : 0;
    bool parent = identity && list->view->child(app, list->rows[list->at].position);
    if (parent && list_folded(list, identity) == right)
        list_fold(list, identity);
    else if (!right && identity && list->rows[list->at].depth > 0)
        folding(app, list);
    else if (right && !list->wrap)
        list->left += 8;
    else
        list->left = list->left > 8 ? list->left - 8 : 0;
    app->changed = true;
}

static void do_left(struct app *app, struct effects *effects)
{
    (void)effects;
    sideways(app, false);
}

static void do_right(struct app *app, struct effects *effects)
{
    (void)effects;
    sideways(app, true);
}

/* ---- panes, tabs, views ---- */

static void do_next_pane(struct app *app, struct effects *effects)
{
    if (app->overlay_count)
        return;
    for (int i = 1; i < PANE_COUNT; i++) {
        enum pane pane = (enum pane)((app->focus + i) % PANE_OVERLAY);
        bool hidden = !box_shown(&app->layout.panes[pane]);
        if (pane == PANE_TERMINAL ? !app->terminal : pane == PANE_DETAIL && hidden)
            continue;
        app_focus(app, pane, effects);
        return;
    }
}

/* Opens the tab of an act TAB_n. */
static void open_tab(struct app *app, enum action action, struct effects *effects)
{
    enum view_id view = view_tab((int)(action - ACTION_TAB_1) + 1);
    if (view == VIEW_NONE) {
        app_say(app, STYLE_WARN, _("there is no tab %d"), (int)(action - ACTION_TAB_1) + 1);
        return;
    }
    while (app->overlay_count)
        app_pop(app, effects);
    app_open_tab(app, view, effects);
}

static void do_open(struct app *app, struct effects *effects)
{
    enum view_id view = app_view(app);
    struct list *list = here(app);
    if (!list->cursor)
        return;
    if (list->view->open) {
        list->view->open(app, list->cursor, effects);
    } else if (folding(app, list) == list->cursor && list->view->flags & VIEW_TREE) {
        list_fold(list, list->cursor);
    } else if (list->view->detail && !box_shown(&app->layout.panes[PANE_DETAIL])) {
        app->doc_view = view;
        app->doc_identity = list->cursor;
        list_restart(&app->lists[VIEW_DETAIL]);
        app_push(app, VIEW_DETAIL, effects);
    } else if (list->view->detail) {
        app_focus(app, PANE_DETAIL, effects);
    }
    app->changed = true;
}

/* The topmost of: a message, marks, a filter, a search, a view that covers others, a pane. */
static void do_cancel(struct app *app, struct effects *effects)
{
    struct list *list = here(app);
    app->changed = true;
    if (list->mark_count)
        list->mark_count = 0;
    else if (list->filter.on)
        list_filter(list, "", NULL);
    else if (list->search.on)
        list_search(list, "", NULL);
    else if (app->overlay_count)
        app_pop(app, effects);
    else if (app->focus != PANE_PROJECTS)
        app_focus(app, app->focus == PANE_DETAIL ? PANE_TAB : PANE_PROJECTS, effects);
}

static void do_back(struct app *app, struct effects *effects)
{
    char key[24] = "";
    app->changed = true;
    if (app->overlay_count) {
        app_pop(app, effects);
    } else if (app->focus != PANE_PROJECTS) {
        app_focus(app, app->focus == PANE_DETAIL ? PANE_TAB : PANE_PROJECTS, effects);
    } else {
        bindings_key(&app->settings.bindings, KEYMAP_EVERYWHERE, ACTION_QUIT, key);
        app_say(app, STYLE_NORMAL, _("this is the first view; %s leaves hutch, the machines go on"), key);
    }
}

static void do_quit(struct app *app, struct effects *effects)
{
    if (app->terminal)
        terminal_detach(app->terminal, effects);
    effects_add(effects, EFFECT_QUIT);
    app->quit = true;
}

/* ---- lists ---- */

void app_type(struct app *app, enum input_use use, const char *text)
{
    app->input_use = use;
    app->input_error = (free(app->input_error), NULL);
    input_set(&app->input, text ? text : "");
    app->changed = true;
}

static void do_search(struct app *app, struct effects *effects)
{
    (void)effects;
    app_type(app, INPUT_SEARCH, "");
}

static void do_filter(struct app *app, struct effects *effects)
{
    (void)effects;
    app_type(app, INPUT_FILTER, here(app)->filter.text);
}

static void search_on(struct app *app, bool forward)
{
    struct list *list = here(app);
    if (!list->search.on)
        app_say(app, STYLE_WARN, _("nothing is searched for yet"));
    else if (!list_search_go(app, list, forward, false))
        app_say(app, STYLE_WARN, _("not found: %s"), list->search.text);
    moved(app);
}

static void do_search_next(struct app *app, struct effects *effects)
{
    (void)effects;
    search_on(app, true);
}

static void do_search_previous(struct app *app, struct effects *effects)
{
    (void)effects;
    search_on(app, false);
}

static void do_sort(struct app *app, struct effects *effects)
{
    (void)effects;
    const char *title = _(list_sort_next(here(app)));
    app_say(app, STYLE_NORMAL, title ? _("sorted by %s") : _("in the order in which they came"), title);
}

static void do_sort_reverse(struct app *app, struct effects *effects)
{
    (void)effects;
    struct list *list = here(app);
    list->reverse = !list->reverse;
    list_restate(list);
    app_say(app, STYLE_NORMAL, list->reverse ? _("the other way round") : _("the usual way round"));
}

static void do_mark(struct app *app, struct effects *effects)
{
    (void)effects;
    if (here(app)->cursor) {
        list_mark(here(app), here(app)->cursor);
        move(app, 1);
        size_t count = here(app)->mark_count;
        if (count)
            app_say(app, STYLE_NORMAL,
                    ngettext("%zu row is marked: acts go to it; Esc takes the mark away",
                             "%zu rows are marked: acts go to all of them; Esc takes the marks away", count),
                    count);
    }
}

static void do_follow(struct app *app, struct effects *effects)
{
    (void)effects;
    struct list *list = here(app);
    if (!(list->view->flags & VIEW_LOG)) {
        app_say(app, STYLE_WARN, _("these rows do not grow at their end: there is nothing to follow"));
        return;
    }
    bool follow = !list->follow;
    if (follow)
        list_go(app, list, SIZE_MAX);
    list->follow = follow;
    app_say(app, STYLE_NORMAL, follow ? _("stays at the newest row") : _("stays where it is"));
}

static void do_wrap(struct app *app, struct effects *effects)
{
    (void)effects;
    struct list *list = here(app);
    list->wrap = !list->wrap;
    list->left = 0;
    app->changed = true;
}

/* The clipboard did not take it: that is said in place of what was hoped. */
static void take_copied(struct app *app, struct call *call, const struct message *message,
                        struct effects *effects)
{
    (void)call, (void)effects;
    if (message->error)
        app_say(app, STYLE_BAD, _("not copied: %s"), message->error->message);
}

static void do_copy(struct app *app, struct effects *effects)
{
    struct list *list = here(app);
    if (!list->cursor)
        return;
    char text[LIST_ROW_TEXT];
    autofree char *own = list->view->copy ? list->view->copy(app, list->cursor) : NULL;
    list_row_text(app, list, list->rows[list->at].position, text, sizeof(text));
    app_local(app, EFFECT_COPY, own ? own : text, take_copied, effects);
    app_say(app, STYLE_NORMAL, _("copied: %s"), own ? own : text);
}

/* ---- views that cover others ---- */

/* Remembers what x, : and ? were pressed on. */
static void remember_target(struct app *app)
{
    app->target_view = app_view(app);
    app->target = app_cursor(app, app->target_view);
}

static void do_actions(struct app *app, struct effects *effects)
{
    const struct view *view = view_table[app_view(app)];
    if (!view->acts && !(view->flags & VIEW_PROJECT)) {
        app_say(app, STYLE_WARN, _("nothing can be done to these rows"));
        return;
    }
    remember_target(app);
    list_restart(&app->lists[VIEW_ACTIONS]);
    app_push(app, VIEW_ACTIONS, effects);
}

static void do_palette(struct app *app, struct effects *effects)
{
    if (app_view(app) == VIEW_PALETTE)
        return;
    remember_target(app);
    list_restart(&app->lists[VIEW_PALETTE]);
    app_type(app, INPUT_PALETTE, "");
    app_push(app, VIEW_PALETTE, effects);
}

static void do_help(struct app *app, struct effects *effects)
{
    if (app_view(app) == VIEW_HELP)
        return;
    remember_target(app);
    list_restart(&app->lists[VIEW_HELP]);
    app_push(app, VIEW_HELP, effects);
}

static void do_log(struct app *app, struct effects *effects)
{
    app_push(app, VIEW_HISTORY, effects);
}

static void do_redraw(struct app *app, struct effects *effects)
{
    (void)app;
    effects_add(effects, EFFECT_REDRAW);
}

static void do_theme(struct app *app, struct effects *effects)
{
    app->theme = (app->theme + 1) % SETTINGS_THEMES;
    effects_add(effects, EFFECT_THEME)->number = app->theme;
    app_say(app, STYLE_NORMAL, _("colours: %s (until hutch ends; theme = %s in screen.ini keeps them)"),
            settings_theme_name(app->theme), settings_theme_name(app->theme));
}

static void do_dump(struct app *app, struct effects *effects)
{
    (void)effects;
    app_type(app, INPUT_FILE, "hutch-screen.txt");
}

static void do_inbox(struct app *app, struct effects *effects)
{
    inbox_open(app, effects);
}

static void do_hosts(struct app *app, struct effects *effects)
{
    (void)effects;
    if (app_view(app) != VIEW_NET)
        return;
    net_fold(app);
    app_say(app, STYLE_NORMAL, app->net.by_host ? _("one row a host") : _("one row a connection"));
}

static void do_git_fetch(struct app *app, struct effects *effects)
{
    git_fetch(app, effects);
}

static void do_rule_write(struct app *app, struct effects *effects)
{
    const struct project *project = app_project(app);
    (void)effects;
    if (project)
        rules_write(app, project->raw_name, "allow ");
}

static do_fn *const doers[ACTION_COUNT] = {
    [ACTION_DOWN] = do_down,
    [ACTION_UP] = do_up,
    [ACTION_TOP] = do_top,
    [ACTION_BOTTOM] = do_bottom,
    [ACTION_PAGE_DOWN] = do_page_down,
    [ACTION_PAGE_UP] = do_page_up,
    [ACTION_HALF_DOWN] = do_half_down,
    [ACTION_HALF_UP] = do_half_up,
    [ACTION_LEFT] = do_left,
    [ACTION_RIGHT] = do_right,
    [ACTION_NEXT_PANE] = do_next_pane,
    [ACTION_OPEN] = do_open,
    [ACTION_CANCEL] = do_cancel,
    [ACTION_BACK] = do_back,
    [ACTION_QUIT] = do_quit,
    [ACTION_SEARCH] = do_search,
    [ACTION_SEARCH_NEXT] = do_search_next,
    [ACTION_SEARCH_PREVIOUS] = do_search_previous,
    [ACTION_FILTER] = do_filter,
    [ACTION_SORT] = do_sort,
    [ACTION_SORT_REVERSE] = do_sort_reverse,
    [ACTION_MARK] = do_mark,
    [ACTION_FOLD] = do_fold,
    [ACTION_FOLD_ALL] = do_fold_all,
    [ACTION_FOLLOW] = do_follow,
    [ACTION_WRAP] = do_wrap,
    [ACTION_COPY] = do_copy,
    [ACTION_ACTIONS] = do_actions,
    [ACTION_PALETTE] = do_palette,
    [ACTION_HELP] = do_help,
    [ACTION_LOG] = do_log,
    [ACTION_REDRAW] = do_redraw,
    [ACTION_THEME] = do_theme,
    [ACTION_DUMP] = do_dump,
    [ACTION_INBOX] = do_inbox,
    [ACTION_HOSTS] = do_hosts,
    [ACTION_RULE_WRITE] = do_rule_write,
    [ACTION_GIT_FETCH] = do_git_fetch,
};

/* Acts that open a view, wherever they are wanted. */
static const struct {
    enum action action;
    enum view_id view;
} openers[] = {
    {ACTION_LOG, VIEW_HISTORY},   {ACTION_CREATE, VIEW_FORM}, {ACTION_TEMPLATES, VIEW_TEMPLATES},
    {ACTION_DOCTOR, VIEW_DOCTOR}, {ACTION_RULES, VIEW_RULES},
};

static enum view_id opened_by(enum action action)
{
    for (size_t i = 0; i < countof(openers); i++)
        if (openers[i].action == action)
            return openers[i].view;
    return VIEW_NONE;
}

static bool is_tab(enum action action)
{
    return action >= ACTION_TAB_1 && action <= ACTION_TAB_8;
}

bool app_does(const struct view *view, enum action action)
{
    if (is_tab(action))
        return view_tab((int)(action - ACTION_TAB_1) + 1) != VIEW_NONE;
    return doers[action] || opened_by(action) || act_of_row(view, action) ||
           (view->flags & VIEW_PROJECT && act_of_row(view_table[VIEW_PROJECTS], action));
}

void app_do(struct app *app, enum action action, struct effects *effects)
{
    enum view_id view = app_view(app);
    if (demo_takes(app, action, effects))
        return;
    if (is_tab(action))
        open_tab(app, action, effects);
    else if (doers[action])
        doers[action](app, effects);
    else if (opened_by(action))
        app_push(app, opened_by(action), effects);
    else if (app_does(view_table[view], action))
        act_begin(app, view, app_cursor(app, view), action, false, effects);
    else
        app_say(app, STYLE_WARN, _("%s does not work here"), action_label(action));
}
