/* The engine of the scene: which step it is at, what its key does, what is waited for. */
#include "ui/model/demo.h"

#include "ui/model/app_state.h"
#include "ui/model/demo_agent.h"
#include "ui/model/field.h"
#include "ui/model/project_act.h"

#include "base/alloc.h"
#include "base/words.h"

#include <stdio.h>
#include <string.h>

enum need { NEED_NOTHING, NEED_RUNNING, NEED_SHOWN };
enum deed { DO_NOTHING, DO_MAKE, DO_AGENT };
enum met { MET_NO, MET_ON_ITS_WAY, MET_YES };

struct demo_key {
    enum action action;
    const char *escaped, *typed;
};
struct until {
    enum met (*met)(const struct app *app, const struct until *until);
    const char *text;
    enum view_id view;
};
struct step {
    enum need need;
    struct demo_key key;
    enum deed deed;
    struct until until;
    const char *does, *caption, *meanwhile;
};

/* ---- what is so ---- */

static struct project *project_of(const struct app *app)
{
    return projects_named(&app->projects, app->demo.project);
}

static bool in_state(const struct app *app, const char *state)
{
    const struct project *project = project_of(app);
    return project && !strcmp(project->state, state);
}

/* Whether something is being done with the machine. */
static bool moves(const struct app *app)
{
    const struct project *project = project_of(app);
    const struct work *work = work_named(app, WORK_PROJECT, app->demo.project);
    return (work && work->state == WORK_RUNS) || (project && project_passing(project));
}

/* The agent's terminal is open. */
static bool shown(const struct app *app)
{
    return app->terminal && app->demo.session &&
           !strcmp(terminal_session(app->terminal), app->demo.session) &&
           !strcmp(terminal_project(app->terminal), app->demo.project);
}

static bool ended(const struct app *app)
{
    return app->demo.ended || (shown(app) && (terminal_state(app->terminal) == TERMINAL_ENDED ||
                                              terminal_state(app->terminal) == TERMINAL_GONE));
}

static enum met met_RUNS(const struct app *app, const struct until *until)
{
    (void)until;
    return moves(app) ? MET_ON_ITS_WAY : in_state(app, "run") ? MET_YES : MET_NO;
}

static enum met met_SAVED(const struct app *app, const struct until *until)
{
    (void)until;
    return moves(app) ? MET_ON_ITS_WAY : in_state(app, "saved") ? MET_YES : MET_NO;
}

static enum met met_LEFT(const struct app *app, const struct until *until)
{
    (void)until;
    return app->terminal ? MET_NO : MET_YES;
}

static enum met met_ENDED(const struct app *app, const struct until *until)
{
    (void)until;
    return ended(app) ? MET_YES : MET_ON_ITS_WAY;
}

static enum met met_NEVER(const struct app *app, const struct until *until)
{
    (void)app, (void)until;
    return MET_NO;
}

static enum met met_says(const struct app *app, const struct until *until)
{
    if (app->demo.busy)
        return MET_ON_ITS_WAY;
    if (!shown(app) || ended(app))
        return MET_NO;
    return emulator_search(terminal_emulator(app->terminal), until->text, 0, true) >= 0 ? MET_YES
                                                                                        : MET_ON_ITS_WAY;
}

static enum met met_view(const struct app *app, const struct until *until)
{
    return app_view(app) == until->view ? MET_YES : MET_NO;
}

enum demo_step {
#define X(id, need, key, deed, until, does, caption, meanwhile) STEP_##id,
#include "ui/demo.def"
#undef X
    STEP_COUNT
};
#define ACT(id)                                                                                              \
    {                                                                                                        \
        .action = ACTION_##id                                                                                \
    }
#define ESCAPED(name)                                                                                        \
    {                                                                                                        \
        .escaped = name                                                                                      \
    }
#define TYPED(name)                                                                                          \
    {                                                                                                        \
        .typed = name                                                                                        \
    }
#define IS(id)                                                                                               \
    {                                                                                                        \
        .met = met_##id                                                                                      \
    }
#define SAYS(words)                                                                                          \
    {                                                                                                        \
        .met = met_says, .text = words                                                                       \
    }
#define VIEW(id)                                                                                             \
    {                                                                                                        \
        .met = met_view, .view = VIEW_##id                                                                   \
    }
static const struct step steps[STEP_COUNT] = {
#define X(id, need, key, deed, until, does, caption, meanwhile)                                              \
    [STEP_##id] = {NEED_##need, key, DO_##deed, until, does, caption, meanwhile},
#include "ui/demo.def"
#undef X
};

/* ---- going on ---- */

void demo_start(struct app *app, const struct demo_options *options)
{
    app->demo = (struct demo){
        .on = true,
        .project = xstrdup(options->project),
        .repository = xstrdup(options->repository),
        .agent = xstrdup(options->agent),
    };
    app->folder_project = (free(app->folder_project), xstrdup(options->project));
}

void demo_finish(struct demo *demo)
{
    free(demo->project);
    free(demo->repository);
    free(demo->agent);
    free(demo->session);
    *demo = (struct demo){0};
}

static void go(struct app *app, int at, bool again)
{
    app->demo.at = at;
    app->demo.again = again;
    app->demo.pressed = false;
    app->demo.shown_ns = app->now_ns;
    app->changed = true;
}

static void press(struct app *app)
{
    if (app->demo.pressed)
        return;
    app->demo.pressed = true;
    app->demo.pressed_ns = app->now_ns;
    app->changed = true;
}

/* What a step needs. */
static bool has(const struct app *app, enum need need)
{
    switch (need) {
    case NEED_RUNNING:
        return in_state(app, "run") || moves(app);
    case NEED_SHOWN:
        return shown(app) && !ended(app);
    default:
        return true;
    }
}

/* The step before this one that makes what it needs. */
static int giver(int at)
{
    enum need need = steps[at].need;
    while (at > 0) {
        at--;
        if (need == NEED_SHOWN ? steps[at].deed == DO_AGENT : steps[at].until.met == met_RUNS)
            break;
    }
    return at;
}

/* Something is not as the step needs it: back to where it is made. */
static bool go_back(struct app *app, struct effects *effects)
{
    const struct step *step = &steps[app->demo.at];
    bool gone = app->demo.at > 0 && app->projects.known && app->up && !project_of(app);
    if (!gone && has(app, step->need))
        return false;
    if (shown(app) && ended(app))
        terminal_host_close(app, effects);
    go(app, gone ? 0 : giver(app->demo.at), true);
    return true;
}

/* What comes true with its key stays for a moment all the same: the key may have been meant for something
 * else, and its caption would go by unseen. */
static bool unread(const struct app *app)
{
    bool at_once = !steps[app->demo.at].meanwhile;
    return at_once && app->demo.pressed && app->now_ns - app->demo.shown_ns < DEMO_READ_NS;
}

void demo_update(struct app *app, struct effects *effects)
{
    struct demo *demo = &app->demo;
    while (demo->on) {
        const struct step *step = &steps[demo->at];
        bool over = step->until.met == met_ENDED && ended(app) && shown(app);
        if (over || (step->until.met == met_LEFT && !app->terminal))
            press(app); /* another key was the right one too */
        if (!demo->pressed) {
            if (!go_back(app, effects))
                return;
            continue;
        }
        enum met met = app->confirm.on ? MET_ON_ITS_WAY : step->until.met(app, &step->until);
        if (met == MET_ON_ITS_WAY)
            return;
        if (met == MET_YES && unread(app))
            return;
        if (met == MET_YES) {
            go(app, demo->at + 1, false);
            continue;
        }
        demo->pressed = false; /* refused, or it failed: the line above the keys says why */
        app->changed = true;
        return;
    }
}

void demo_event(struct app *app, const json_t *json)
{
    struct demo *demo = &app->demo;
    const char *kind = json_string_value(json_object_get(json, "kind"));
    const char *session = json_string_value(json_object_get(json, "session"));
    if (demo->session && kind && session && !strcmp(kind, "exec.end") && !strcmp(session, demo->session))
        demo->ended = true;
}

/* ---- the keys ---- */

/* The scene ends, the screen stays. */
static void leave(struct app *app, struct effects *effects)
{
    char quit[24] = "", help[24] = "";
    bindings_key(&app->settings.bindings, KEYMAP_EVERYWHERE, ACTION_QUIT, quit);
    bindings_key(&app->settings.bindings, KEYMAP_EVERYWHERE, ACTION_HELP, help);
    app->demo.on = false;
    app_size(app, app->screen_rows, app->columns);
    app_say(app, STYLE_NORMAL,
            _("you left the demo; this is the real screen: %s shows its keys, %s leaves it; hutch demo "
              "begins again"),
            help, quit);
    if (app->terminal)
        terminal_say(app->terminal, _("you left the demo; hutch demo begins again"));
    terminal_host_size(app, effects);
}

/* Nothing lies on top that the key would be for. */
static bool bare(const struct app *app)
{
    const struct list *list = &app->lists[app_view(app)];
    return !app->overlay_count && !list->mark_count && !list->filter.on && !list->search.on;
}

/* An act of projects while the cursor is on another one: it is not for the scene. */
static bool astray(const struct app *app)
{
    const struct step *step = &steps[app->demo.at];
    const struct project *project = project_of(app);
    return project && step->deed != DO_MAKE && app->selected != project->number &&
           act_of_row(view_table[VIEW_PROJECTS], step->key.action);
}

bool demo_takes(struct app *app, enum action action, struct effects *effects)
{
    struct demo *demo = &app->demo;
    if (!demo->on)
        return false;
    const struct step *step = &steps[demo->at];
    if ((action == ACTION_CANCEL || action == ACTION_BACK) && bare(app)) {
        leave(app, effects);
        return true;
    }
    if (step->key.action != action || astray(app))
        return false;
    if (!demo->pressed && step->deed == DO_MAKE)
        demo_make(app, effects);
    else if (!demo->pressed && step->deed == DO_AGENT)
        demo_agent(app, effects);
    press(app);
    return step->deed != DO_NOTHING;
}

bool demo_types(struct app *app, const struct key_event *key, struct effects *effects)
{
    struct key_event wanted = {0};
    if (!app->demo.on || terminal_mode(app->terminal) != TERMINAL_TYPING)
        return false;
    if (key->type == KEY_EVENT_CODE && key->code == KEY_NAME_ESCAPE && !key->mods) {
        leave(app, effects);
        return true;
    }
    const char *typed = steps[app->demo.at].key.typed;
    if (typed && key_parse(typed, &wanted, NULL) == 0 && key_equal(key, &wanted))
        press(app);
    return false;
}

void demo_left(struct app *app)
{
    if (app->demo.on && steps[app->demo.at].until.met == met_LEFT)
        press(app);
}

bool demo_ticks(const struct app *app)
{
    return app->demo.on && app->demo.pressed;
}

/* ---- what it says ---- */

/* What the person has to do before the key of the step can do anything; NULL: nothing. */
static char *first(const struct app *app)
{
    const struct demo_key *key = &steps[app->demo.at].key;
    const struct bindings *bindings = &app->settings.bindings;
    char name[24] = "";
    bool keys = app->terminal && app->focus == PANE_TERMINAL;
    if (app->overlay_count) {
        bindings_key(bindings, KEYMAP_EVERYWHERE, ACTION_BACK, name);
        return xasprintf(_("What lies on top is no part of the scene: %s goes back to it."), name);
    }
    if (key->action && keys)
        return xasprintf(_("The scene goes on outside of this terminal: %s d leaves it."),
                         terminal_escape(app->terminal) ? terminal_escape(app->terminal) : "");
    if (!key->action && !keys) {
        bindings_key(bindings, KEYMAP_EVERYWHERE, ACTION_NEXT_PANE, name);
        return xasprintf(_("The scene goes on in the terminal: %s gives it the keys."), name);
    }
    if (astray(app))
        return xasprintf(_("The scene plays in \"%s\": put the cursor on it."), app->demo.project);
    return NULL;
}

/* Keys in place of the names of acts between braces. Caller frees. */
static char *fill_in(const struct app *app, const char *words)
{
    struct buf out;
    buf_init(&out, 0);
    for (const char *end; *words; words = end) {
        size_t plain = strcspn(words, "{");
        buf_append(&out, words, plain, NULL);
        words += plain;
        end = words + strcspn(words, "}");
        if (!*end)
            break;
        autofree char *name = xstrndup(words + 1, (size_t)(end - words - 1));
        char key[24] = "";
        bindings_key(&app->settings.bindings, KEYMAP_PROJECT, action_find(name), key);
        if (!*key)
            bindings_key(&app->settings.bindings, KEYMAP_EVERYWHERE, action_find(name), key);
        buf_append(&out, key, strlen(key), NULL);
        end++;
    }
    return buf_take_string(&out);
}

/* Why it takes its time, if it does. */
static const char *why_slow(const struct app *app)
{
    const struct project *project = project_of(app);
    const char *base = project ? json_string_value(json_object_get(project->json, "base")) : NULL;
    bool building = project && !strcmp(project->state, "new") && (!base || !*base);
    if (building && app->now_ns - app->demo.pressed_ns > 3 * SECOND)
        return _(" Its template is built first, once for all machines.");
    return moves(app) && app->host_known && !app->host_kvm ? _(" Without KVM it takes its time.") : "";
}

/* "The machine is made … 12s  booting" */
static char *waiting(const struct app *app)
{
    const struct step *step = &steps[app->demo.at];
    const struct work *work = work_named(app, WORK_PROJECT, app->demo.project);
    char yes[24] = "", took[24];
    if (app->confirm.on) {
        bindings_key(&app->settings.bindings, KEYMAP_CONFIRM, ACTION_YES, yes);
        return xasprintf(
            _("hutch asks before it does what ends or frees something; every key but %s is a no."), yes);
    }
    field_duration((app->now_ns - app->demo.pressed_ns) / SECOND * 1000, took);
    bool works = work && work->state == WORK_RUNS && *work_now(work);
    return xasprintf("%s%s  %s%s%s", step->meanwhile ? _(step->meanwhile) : "", why_slow(app), took,
                     works ? "  " : "", works ? work_now(work) : "");
}

char *demo_text(const struct app *app)
{
    bool reads = unread(app) && !app->confirm.on;
    if (app->demo.pressed && !reads)
        return waiting(app);
    char *hint = reads ? NULL : first(app);
    if (hint)
        return hint;
    if (app->demo.again)
        return xstrdup(
            steps[app->demo.at].deed == DO_AGENT
                ? _("The agent's terminal is not open any more. The key opens it, and the scene goes on.")
                : _("The machine does not run any more. The key starts it, and the scene goes on."));
    return fill_in(app, _(steps[app->demo.at].caption));
}

char *demo_key(const struct app *app)
{
    const struct demo_key *key = &steps[app->demo.at].key;
    char name[24] = "";
    if (app->confirm.on && app->demo.pressed && app->confirm.weight == WEIGHT_MODERATE) {
        bindings_key(&app->settings.bindings, KEYMAP_CONFIRM, ACTION_YES, name);
        return xstrdup(name);
    }
    if (app->demo.pressed || app->confirm.on)
        return NULL;
    autofree char *hint = first(app);
    if (hint)
        return NULL;
    if (key->escaped)
        return xasprintf("%s %s", terminal_escape(app->terminal) ? terminal_escape(app->terminal) : "",
                         key->escaped);
    if (key->typed)
        return xstrdup(key->typed);
    return view_key(view_table[app_view(app)], &app->settings.bindings, key->action, name) ? xstrdup(name)
                                                                                           : NULL;
}

const char *demo_key_does(const struct app *app)
{
    return app->confirm.on ? _("do it") : _(steps[app->demo.at].does);
}

char *demo_key_leave(const struct app *app)
{
    char name[24] = "";
    if (app->terminal && app->focus == PANE_TERMINAL)
        return xstrdup("Esc");
    bindings_key(&app->settings.bindings, KEYMAP_EVERYWHERE, ACTION_CANCEL, name);
    return xstrdup(name);
}

void demo_step(const struct app *app, int *ret_step, int *ret_count)
{
    *ret_step = app->demo.at + 1;
    *ret_count = STEP_COUNT;
}

static int lines_of(const char *text, int columns)
{
    size_t len = text ? strlen(text) : 0;
    int lines = 0;
    while (len > 0) {
        size_t step = list_break(text, len, columns);
        text += step;
        len -= step;
        lines++;
    }
    return lines;
}

int demo_rows(const struct app *app, int rows, int columns)
{
    int most = 1;
    if (!app->demo.on)
        return 0;
    for (int at = 0; at < STEP_COUNT; at++) {
        int caption = lines_of(_(steps[at].caption), columns),
            meanwhile = lines_of(_(steps[at].meanwhile), columns);
        most = caption > most ? caption : meanwhile > most ? meanwhile : most;
    }
    int all = most + 1 + (rows >= DEMO_RULE_ROWS);
    return all < rows - 4 ? all : rows > 4 ? rows - 4 : 0;
}
