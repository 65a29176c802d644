/* A new project: its fields, what is wrong with them, and the call that makes it. */
#include "ui/model/form.h"

#include "ui/model/app_state.h"
#include "ui/model/field.h"

#include "base/alloc.h"
#include "base/units.h"
#include "base/words.h"
#include "conf/names.h"

#include <string.h>

#define TEMPLATE_DEFAULT "debian-13"
#define CPUS_MAX         128

/* A field: its label and the words by which hutchd's errors name it. */
static const struct {
    const char *label, *words[4];
} fields[] = {
    [FORM_NAME] = {N_("name"), {"project \"", "project name", "\"name\""}},
    [FORM_TEMPLATE] = {N_("template"), {"template"}},
    [FORM_CPUS] = {N_("cpus"), {"cpus", "processor"}},
    [FORM_MEMORY] = {N_("memory"), {"memory"}},
    [FORM_DISK] = {N_("disk"), {"disk"}},
    [FORM_EGRESS] = {N_("internet"), {"default =", "\"egress\"", "mode"}},
    [FORM_REPO] = {N_("code"), {"repositor", "\"repos\"", "git"}},
};

void form_finish(struct form *form)
{
    free(form->error);
}

bool form_chooses(enum form_field field)
{
    return field == FORM_TEMPLATE || field == FORM_EGRESS;
}

const char *form_label(enum form_field field)
{
    return field <= FORM_REPO ? _(fields[field].label) : "";
}

bool form_shows(const struct form *form, enum form_field field)
{
    return field <= FORM_REPO || field == FORM_BUTTON || form->inputs[field].len > 0 ||
           form->inputs[field - 1].len > 0;
}

/* How a project can reach what no rule names; "open" is for who writes it into the project's file. */
static const struct {
    const char *mode, *help;
} modes[] = {
    {"ask", N_("asks you about unknown sites")},
    {"budget", N_("may read any site; uploads ask")},
    {"deny", N_("refuses sites without a rule")},
};

static const char *help_egress(const char *mode)
{
    for (size_t i = 0; i < countof(modes); i++)
        if (!strcmp(modes[i].mode, mode))
            return _(modes[i].help);
    return "";
}

static char *help_template(const struct app *app)
{
    const struct template_row *row = templates_named(&app->templates, app->form.inputs[FORM_TEMPLATE].text);
    if (!row)
        return xstrdup(app->templates.known ? _("there is no such template")
                                            : _("asking for the templates ..."));
    if (*row->failure)
        return xasprintf(_("broken: %s"), row->failure);
    return xasprintf("%s%s", row->built ? "" : _("its base is built first: some minutes. "), row->about);
}

char *form_help(const struct app *app, enum form_field field)
{
    static const char *const helps[] = {
        [FORM_NAME] = N_("a-z, 0-9 and -"),
        [FORM_CPUS] = N_("how many processors"),
        [FORM_MEMORY] = N_("as 4G or 512M"),
        [FORM_DISK] = N_("at most, as 64G; grows with use"),
        [FORM_REPO] = N_("git URL or folder, then #BRANCH"),
        [FORM_BUTTON] = "",
    };
    if (field == FORM_TEMPLATE)
        return help_template(app);
    if (field == FORM_EGRESS)
        return xstrdup(help_egress(app->form.inputs[FORM_EGRESS].text));
    if (field > FORM_REPO && field < FORM_BUTTON)
        return xstrdup(_("one more, or leave it empty"));
    return xstrdup(_(helps[field]));
}

char *form_default(const struct app *app, enum form_field field)
{
    char size[UNITS_SIZE_MAX];
    int64_t bytes = field == FORM_MEMORY ? app->default_memory : field == FORM_DISK ? app->default_disk : 0;
    if (field == FORM_CPUS && app->default_cpus > 0)
        return xasprintf("%lld", (long long)app->default_cpus);
    return bytes > 0 ? xstrdup(units_format_size((uint64_t)bytes, size)) : NULL;
}

/* ---- what is proposed ---- */

static void fill(struct app *app)
{
    struct form *form = &app->form;
    if (form->filled)
        return;
    form->filled = true;
    form->field = FORM_NAME;
    form->error_field = FORM_NONE;
    for (int field = 0; field < FORM_BUTTON; field++)
        input_set(&form->inputs[field], "");
    input_set(&form->inputs[FORM_TEMPLATE], TEMPLATE_DEFAULT);
    input_set(&form->inputs[FORM_EGRESS], modes[0].mode);
    if (!app->repository || app->folder_project || app->near_project)
        return;
    autofree char *name = name_from(app->repository);
    input_set(&form->inputs[FORM_REPO], app->repository);
    if (name && name_check("project", name, NULL) == 0 && !projects_named(&app->projects, name))
        input_set(&form->inputs[FORM_NAME], name);
}

static void shown(struct app *app, struct effects *effects)
{
    fill(app);
    templates_ask(app, effects);
}

/* ---- what is wrong ---- */

static void clear_error(struct form *form)
{
    free(steal(&form->error));
    form->error_field = FORM_NONE;
}

static void say_at(struct form *form, enum form_field field, const struct error *error)
{
    clear_error(form);
    form->error_field = form->field = field;
    form->error =
        xasprintf("%s%s%s", error->message, error->hint ? "; " : "", error->hint ? error->hint : "");
}

static int check_name(const struct app *app, const char *text, struct error **err)
{
    const struct work *work = work_find(app, app->form.work);
    bool mine = work && work->state == WORK_FAILED && !strcmp(work->raw_name, text);
    if (!*text)
        return error_set(err, ERROR_INVALID, _("a project needs a name"));
    if (!mine && projects_named(&app->projects, text)) {
        error_set(err, ERROR_EXISTS, _("a project \"%s\" is there already"), text);
        return error_hint(err, _("take another name"));
    }
    return name_check("project", text, err);
}

static int check_template(const struct app *app, const char *text, struct error **err)
{
    if (app->templates.known && !templates_named(&app->templates, text))
        return error_set(err, ERROR_NOT_FOUND, _("there is no template \"%s\""), text);
    return 0;
}

static int check_cpus(const struct app *app, const char *text, struct error **err)
{
    uint64_t value;
    (void)app;
    if (!*text || units_parse_number(text, 1, CPUS_MAX, &value, NULL) == 0)
        return 0;
    return error_set(err, ERROR_INVALID, _("\"%s\" is not a number from %d to %d"), text, 1, CPUS_MAX);
}

static int check_size(const struct app *app, const char *text, struct error **err)
{
    uint64_t value;
    (void)app;
    if (!*text || units_parse_size(text, &value, NULL) == 0)
        return 0;
    error_set(err, ERROR_INVALID, _("\"%s\" is not a size"), text);
    return error_hint(err, _("write a size as 512M, 2G or 1T"));
}

/* What stands after ~/, the user's own folder; NULL: it is not such a path, or there is no such folder. */
static const char *home_path(const struct app *app, const char *text)
{
    return app->home && !strncmp(text, "~/", 2) ? text + 2 : NULL;
}

/* A repository as hutchd wants it: with the full path of a folder. The caller frees. */
static char *full_path(const struct app *app, const char *text)
{
    const char *below = home_path(app, text);
    if (below)
        return xasprintf("%s/%s", app->home, below);
    bool relative = *text && *text != '/' && !strchr(text, ':');
    return relative && app->folder ? xasprintf("%s/%s", app->folder, text) : xstrdup(text);
}

static int check_repo(const struct app *app, const char *text, struct error **err)
{
    if (*text == '~' && !home_path(app, text)) {
        error_set(err, ERROR_INVALID, _("\"%s\" is not a full path"), text);
        return error_hint(err, _("write it from / on, or give a URL"));
    }
    if (*text && *text != '/' && !strchr(text, ':') && !app->folder)
        return error_set(err, ERROR_INVALID, _("\"%s\" is neither a full path nor a URL"), text);
    return 0;
}

static bool check(struct app *app)
{
    static int (*const checks[])(const struct app *, const char *, struct error **) = {
        [FORM_NAME] = check_name,   [FORM_TEMPLATE] = check_template, [FORM_CPUS] = check_cpus,
        [FORM_MEMORY] = check_size, [FORM_DISK] = check_size,         [FORM_REPO] = check_repo};
    struct form *form = &app->form;
    clear_error(form);
    for (int field = 0; field < FORM_BUTTON; field++) {
        auto(error) struct error *err = NULL;
        int row = field < FORM_REPO ? field : FORM_REPO;
        if (!checks[row] || checks[row](app, form->inputs[field].text, &err) == 0)
            continue;
        say_at(form, (enum form_field)field, err);
        return false;
    }
    return true;
}

/* The field that an error of hutchd is about: the one that its words name first. */
static enum form_field field_of(const struct form *form, const struct error *error)
{
    enum form_field found = FORM_BUTTON;
    const char *first = NULL;
    for (int field = FORM_REPO; field >= 0; field--) {
        for (size_t i = 0; i < countof(fields[field].words) && fields[field].words[i]; i++) {
            const char *at = strstr(error->message, fields[field].words[i]);
            if (at && (!first || at < first)) {
                first = at;
                found = (enum form_field)field;
            }
        }
    }
    for (int field = FORM_REPO; field < FORM_BUTTON; field++)
        if (form->inputs[field].len && strstr(error->message, form->inputs[field].text))
            return (enum form_field)field;
    return found;
}

/* ---- making it ---- */

static void add_word(struct buf *out, const char *option, const char *word)
{
    size_t plain = strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:@#,+=");
    if (*word)
        buf_printf(out, NULL, word[plain] ? " %s'%s'" : " %s%s", option, word);
}

/* The command line that does the same. Caller frees. */
static char *command(const struct app *app)
{
    struct buf out;
    const struct input *inputs = app->form.inputs;
    buf_init(&out, 0);
    buf_printf(&out, NULL, "hutch up %s", inputs[FORM_NAME].text);
    if (strcmp(inputs[FORM_TEMPLATE].text, TEMPLATE_DEFAULT) != 0)
        add_word(&out, "-t ", inputs[FORM_TEMPLATE].text);
    if (strcmp(inputs[FORM_EGRESS].text, modes[0].mode) != 0)
        add_word(&out, "--egress ", inputs[FORM_EGRESS].text);
    add_word(&out, "--cpus ", inputs[FORM_CPUS].text);
    add_word(&out, "--memory ", inputs[FORM_MEMORY].text);
    add_word(&out, "--disk ", inputs[FORM_DISK].text);
    for (int field = FORM_REPO; field < FORM_BUTTON; field++) {
        autofree char *full = home_path(app, inputs[field].text) ? full_path(app, inputs[field].text)
                                                                 : xstrdup(inputs[field].text);
        add_word(&out, "--repo ", full);
    }
    return buf_take_string(&out);
}

static void set_size(json_t *body, const char *key, const char *text)
{
    uint64_t bytes = 0;
    if (*text && units_parse_size(text, &bytes, NULL) == 0 && bytes <= INT64_MAX)
        json_object_set_new(body, key, json_integer((json_int_t)bytes));
}

static json_t *body_of(const struct app *app)
{
    const struct input *inputs = app->form.inputs;
    json_t *body = json_object(), *repos = json_array();
    uint64_t cpus = 0;
    json_object_set_new(body, "name", json_string(inputs[FORM_NAME].text));
    json_object_set_new(body, "template", json_string(inputs[FORM_TEMPLATE].text));
    json_object_set_new(body, "egress", json_string(inputs[FORM_EGRESS].text));
    if (units_parse_number(inputs[FORM_CPUS].text, 1, CPUS_MAX, &cpus, NULL) == 0)
        json_object_set_new(body, "cpus", json_integer((json_int_t)cpus));
    set_size(body, "memory", inputs[FORM_MEMORY].text);
    set_size(body, "disk", inputs[FORM_DISK].text);
    for (int field = FORM_REPO; field < FORM_BUTTON; field++) {
        const char *text = inputs[field].text;
        autofree char *full = full_path(app, text);
        if (*text)
            json_array_append_new(repos, json_string(full));
        /* The folder's own repository: the project is the folder's then. */
        if (app->repository && !strcmp(full, app->repository))
            json_object_set_new(body, "folder", json_string(app->repository));
    }
    json_object_set_new(body, "repos", repos);
    return body;
}

/* It was refused before anything was begun: the form says so at the field. */
static void refused(struct app *app, struct work *work, const struct error *error, struct effects *effects)
{
    struct form *form = &app->form;
    say_at(form, field_of(form, error), error);
    if (app_view(app) == VIEW_PROGRESS && app->works.shown == work->number) {
        app_pop(app, effects);
        app_push(app, VIEW_FORM, effects);
    } else {
        app_say_error(app, error);
    }
}

/* The project is there: who still looks at its progress is led to it. */
static void made(struct app *app, const struct work *work, const json_t *body, struct effects *effects)
{
    app->form.filled = false;
    if (body && json_object_get(body, "name"))
        feed_take_project(app, body);
    struct project *project = projects_named(&app->projects, work->raw_name);
    app_say(app, STYLE_GOOD, _("%s is ready: no network card, no keys inside"), work->name);
    app->folder_project = app->folder_project ? app->folder_project
                          : project && app->repository && !strcmp(project->folder, app->repository)
                              ? xstrdup(work->raw_name)
                              : NULL;
    if (!project || app_view(app) != VIEW_PROGRESS || app->works.shown != work->number)
        return;
    app_pop(app, effects);
    app->chosen = true;
    list_select(app, &app->lists[VIEW_PROJECTS], project->number);
    app_choose_project(app, project->number, effects);
}

static void take_made(struct app *app, struct call *call, const struct message *message,
                      struct effects *effects)
{
    work_take(app, call->number, message);
    struct work *work = work_find(app, call->number);
    if (message->type != MESSAGE_ANSWER || !work)
        return;
    act_log_end(app, call->entry, message->error, NULL);
    if (!message->error)
        made(app, work, message->body, effects);
    else if (!work->count && message->error->code != ERROR_NO_DAEMON)
        refused(app, work, message->error, effects);
    else
        app_say_error(app, message->error);
    feed_refresh_all(app, effects);
}

static void make(struct app *app, struct effects *effects)
{
    struct form *form = &app->form;
    if (!app->up) {
        app_say(app, STYLE_WARN, _("hutchd is away; it works again when it is back"));
        return;
    }
    if (!check(app))
        return;
    autofree char *twin = command(app);
    uint64_t entry = act_log(app, ENTRY_RUNS, twin, "");
    struct call *call = app_call(app, EFFECT_LINES, "POST", "/v1/projects", body_of(app), take_made, effects);
    call->entry = entry;
    call->number = form->work =
        work_begin(app, WORK_PROJECT, form->inputs[FORM_NAME].text, ACTION_CREATE, entry);
    app_pop(app, effects);
    work_show(app, form->work, effects);
}

/* ---- keys ---- */

static void go(struct form *form, int by)
{
    int field = form->field;
    do
        field = (field + by + FORM_NONE) % FORM_NONE;
    while (!form_shows(form, (enum form_field)field));
    form->field = (enum form_field)field;
}

/* The next way to the internet, or the one before. */
static void choose_mode(struct app *app, int by)
{
    struct input *input = &app->form.inputs[FORM_EGRESS];
    size_t at = 0, count = countof(modes);
    while (at + 1 < count && strcmp(modes[at].mode, input->text) != 0)
        at++;
    input_set(input, modes[(at + count + (size_t)by) % count].mode);
    clear_error(&app->form);
}

/* The next template, or the one before. */
static void choose(struct app *app, int by)
{
    if (app->form.field == FORM_EGRESS) {
        choose_mode(app, by);
        return;
    }
    struct input *input = &app->form.inputs[FORM_TEMPLATE];
    size_t count = app->templates.count, at = 0;
    if (!count)
        return;
    while (at < count && strcmp(app->templates.list[at].raw_name, input->text) != 0)
        at++;
    at = at == count ? 0 : (at + count + (size_t)by) % count;
    input_set(input, app->templates.list[at].raw_name);
    clear_error(&app->form);
}

/* A key on a field that is typed into. */
static bool type(struct form *form, const struct key_event *key)
{
    enum input_result result = input_key(&form->inputs[form->field], key);
    if (result == INPUT_CHANGED && form->error_field == form->field)
        clear_error(form);
    return result != INPUT_IGNORED;
}

static bool key(struct app *app, const struct key_event *key, struct effects *effects)
{
    struct form *form = &app->form;
    bool code = key->type == KEY_EVENT_CODE;
    bool chosen = form_chooses(form->field), typed = !chosen && form->field != FORM_BUTTON;
    uint32_t which = code && !(key->mods & ~KEY_SHIFT) ? key->code : 0;
    app->changed = true;
    if (which == KEY_NAME_TAB)
        go(form, key->mods & KEY_SHIFT ? -1 : 1);
    else if (which == KEY_NAME_DOWN)
        go(form, 1);
    else if (which == KEY_NAME_UP)
        go(form, -1);
    else if (which == KEY_NAME_ENTER && form->field == FORM_BUTTON)
        make(app, effects);
    else if (which == KEY_NAME_ENTER)
        go(form, 1);
    else if (which == KEY_NAME_ESCAPE)
        app_pop(app, effects);
    else if (chosen && (which == KEY_NAME_RIGHT || which == ' '))
        choose(app, 1);
    else if (chosen && which == KEY_NAME_LEFT)
        choose(app, -1);
    else if (typed && type(form, key))
        return true;
    else /* F1 and the like are everybody's; a letter or a paste that no field takes is nobody's */
        return !code || (key->code < KEY_NAMED && !(key->mods & (KEY_CTRL | KEY_ALT)));
    return true;
}

/* ---- the view; ui/view/form.c draws it ---- */

static size_t end(const struct app *app)
{
    (void)app;
    return FORM_NONE;
}

static uint64_t identity(const struct app *app, size_t position)
{
    (void)app;
    return position + 1;
}

static void cell(const struct app *app, size_t position, int column, struct cell_out *out)
{
    out->text = column == 0              ? form_label((enum form_field)position)
                : position < FORM_BUTTON ? app->form.inputs[position].text
                                         : "";
}

static const char *says(const struct app *app, uint64_t identity, enum action action)
{
    (void)identity;
    if (action == ACTION_NEXT_PANE || action == ACTION_DOWN)
        return _("next field");
    if (action == ACTION_UP)
        return _("the field before");
    if (action == ACTION_RIGHT || action == ACTION_LEFT)
        return form_chooses(app->form.field) ? _("choose") : _("move in what is typed");
    if (action == ACTION_CANCEL)
        return _("leave, it is kept");
    return action == ACTION_OPEN ? (app->form.field == FORM_BUTTON ? _("make it") : _("next field")) : NULL;
}

/* Right is told of where there is something to choose. */
static const char *able(const struct app *app, uint64_t identity, enum action action)
{
    (void)identity;
    return action == ACTION_RIGHT && !form_chooses(app->form.field) ? _("this field is typed") : NULL;
}

static char *label(const struct app *app, uint64_t identity)
{
    (void)app;
    return identity >= 1 && identity <= FORM_NONE ? xstrdup(form_label((enum form_field)(identity - 1)))
                                                  : NULL;
}

static bool act(struct app *app, uint64_t identity, enum action action, struct effects *effects)
{
    (void)identity, (void)effects;
    if (action != ACTION_RIGHT || !form_chooses(app->form.field))
        return false;
    choose(app, 1);
    return true;
}

static const struct column columns[] = {
    {N_("FIELD"), 10, false, 0, false, false}, {N_("VALUE"), 0, false, 0, false, false}, {NULL}};
static const enum action bar[] = {ACTION_NEXT_PANE, ACTION_OPEN, ACTION_RIGHT, ACTION_CANCEL, ACTION_NONE};
static const enum action acts[] = {ACTION_RIGHT, ACTION_NONE};

const struct view view_form = {
    .name = "form",
    .title = N_("New project"),
    .flags = VIEW_LIST | VIEW_PROMPT | VIEW_TYPES,
    .columns = columns,
    .bar = bar,
    .acts = acts,
    .end = end,
    .identity = identity,
    .cell = cell,
    .label = label,
    .able = able,
    .act = act,
    .says = says,
    .shown = shown,
    .key = key,
};
