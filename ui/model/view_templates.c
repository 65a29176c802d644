/* The templates: what machines are made of, and the building of their bases. */
#include "ui/model/app_state.h"
#include "ui/model/field.h"

#include "base/alloc.h"
#include "base/units.h"
#include "base/words.h"

#include <stdio.h>
#include <string.h>

static void finish(struct template_row *row)
{
    char *strings[] = {row->raw_name, row->name, row->about, row->failure, row->kernel};
    for (size_t i = 0; i < countof(strings); i++)
        free(strings[i]);
    json_decref(row->json);
}

void templates_finish(struct templates *templates)
{
    for (size_t i = 0; i < templates->count; i++)
        finish(&templates->list[i]);
    free(templates->list);
    free(templates->failure);
}

struct template_row *templates_find(const struct templates *templates, uint64_t number)
{
    for (size_t i = 0; i < templates->count; i++)
        if (templates->list[i].number == number)
            return &templates->list[i];
    return NULL;
}

struct template_row *templates_named(const struct templates *templates, const char *raw_name)
{
    for (size_t i = 0; i < templates->count; i++)
        if (!strcmp(templates->list[i].raw_name, raw_name))
            return &templates->list[i];
    return NULL;
}

static struct template_row *add(struct templates *templates, const char *raw_name)
{
    if (templates->count == TEMPLATES_MAX)
        return NULL;
    templates->list = xrealloc(templates->list, templates->count + 1, sizeof(*templates->list));
    struct template_row *row = &templates->list[templates->count++];
    *row = (struct template_row){.number = ++templates->last, .raw_name = xstrdup(raw_name)};
    return row;
}

static void set_text(char **place, const json_t *json, const char *key)
{
    free(*place);
    *place = field_text(json, key);
}

static void take_row(struct templates *templates, const json_t *json)
{
    const char *name = json_string_value(json_object_get(json, "name"));
    struct template_row *row = name && *name ? templates_named(templates, name) : NULL;
    if (name && *name && !row)
        row = add(templates, name);
    if (!row)
        return;
    set_text(&row->name, json, "name");
    set_text(&row->about, json, "about");
    set_text(&row->failure, json, "failure");
    set_text(&row->kernel, json, "kernel");
    row->built = json_is_true(json_object_get(json, "built"));
    row->size = field_number(json, "size", -1);
    row->disk_min = field_number(json, "disk_min", -1);
    row->built_ns = field_number(json, "built_ns", 0);
    row->projects = json_array_size(json_object_get(json, "projects"));
    row->seen = true;
    json_decref(row->json);
    row->json = json_deep_copy(json);
}

static void drop_unseen(struct templates *templates)
{
    size_t kept = 0;
    for (size_t i = 0; i < templates->count; i++) {
        if (templates->list[i].seen)
            templates->list[kept++] = templates->list[i];
        else
            finish(&templates->list[i]);
    }
    templates->count = kept;
}

static void take_list(struct app *app, struct call *call, const struct message *message,
                      struct effects *effects)
{
    struct templates *templates = &app->templates;
    (void)call, (void)effects;
    if (message->type == MESSAGE_LINE) {
        take_row(templates, message->body);
        return;
    }
    if (message->type != MESSAGE_ANSWER)
        return;
    templates->call = 0;
    free(steal(&templates->failure));
    if (message->error) {
        templates->failure = xstrdup(message->error->message);
    } else {
        drop_unseen(templates);
        templates->known = true;
    }
    app_news(app, VIEW_TEMPLATES);
}

void templates_ask(struct app *app, struct effects *effects)
{
    struct templates *templates = &app->templates;
    if (!app->up || templates->call)
        return;
    for (size_t i = 0; i < templates->count; i++)
        templates->list[i].seen = false;
    templates->call = app_call(app, EFFECT_LINES, "GET", "/v1/templates", NULL, take_list, effects)->id;
}

/* ---- the view ---- */

enum { NAME, BASE, SIZE, USED, ABOUT };
static const struct column columns[] = {
    [NAME] = {N_("TEMPLATE"), 16, false, 0, true, false},
    [BASE] = {N_("BASE"), 10, false, 0, true, false},
    [SIZE] = {N_("SIZE"), 5, true, 2, false, false},
    [USED] = {N_("USED BY"), 11, false, 3, false, false},
    [ABOUT] = {N_("WHAT IT IS"), 0, false, 1, false, false, 12},
    {NULL},
};

static size_t end(const struct app *app)
{
    return app->templates.count;
}

static uint64_t identity(const struct app *app, size_t position)
{
    return app->templates.list[position].number;
}

static const struct work *building(const struct app *app, const struct template_row *row)
{
    const struct work *work = work_named(app, WORK_TEMPLATE, row->raw_name);
    return work && work->state == WORK_RUNS ? work : NULL;
}

static void cell(const struct app *app, size_t position, int column, struct cell_out *out)
{
    const struct template_row *row = &app->templates.list[position];
    const struct work *work = building(app, row);
    switch (column) {
    case NAME:
        out->text = row->name;
        break;
    case BASE:
        out->text = work            ? _("building")
                    : *row->failure ? _("BROKEN")
                    : row->built    ? _("built")
                                    : _("not built");
        out->style = work ? STYLE_BUSY : *row->failure ? STYLE_BAD : row->built ? STYLE_GOOD : STYLE_DIM;
        break;
    case SIZE:
        out->text = row->size > 0 ? units_format_size((uint64_t)row->size, out->room) : "-";
        break;
    case USED:
        snprintf(out->room, sizeof(out->room), ngettext("%zu project", "%zu projects", row->projects),
                 row->projects);
        out->text = row->projects ? out->room : "-";
        break;
    default:
        out->text = work ? work_now(work) : *row->failure ? row->failure : row->about;
        out->style = work ? STYLE_BUSY : *row->failure ? STYLE_BAD : STYLE_NORMAL;
    }
}

static char *label(const struct app *app, uint64_t number)
{
    const struct template_row *row = templates_find(&app->templates, number);
    return row ? xstrdup(row->name) : NULL;
}

static char *nothing(const struct app *app)
{
    if (app->templates.failure)
        return xasprintf(_("the templates cannot be listed: %s"), app->templates.failure);
    return xstrdup(app->templates.known ? _("there are no templates; hutch doctor says where they should be")
                                        : _("asking for the templates ..."));
}

/* A list of texts as one line. Caller frees. */
static char *joined(const json_t *list)
{
    struct buf out;
    size_t i;
    const json_t *one;
    buf_init(&out, 0);
    json_array_foreach(list, i, one)
    {
        autofree char *text = field_value(one);
        buf_printf(&out, NULL, "%s%s", i ? ", " : "", text);
    }
    return buf_take_string(&out);
}

static void member(struct doc *out, const json_t *json, const char *key, const char *title)
{
    const json_t *value = json_object_get(json, key);
    autofree char *text = json_is_array(value) ? joined(value) : field_value(value);
    if (*text)
        doc_add(out, STYLE_NORMAL, title, text);
}

static void detail(const struct app *app, uint64_t number, struct doc *out)
{
    /* what the file says stands under the file's own keys, in every language */
    static const struct {
        const char *key, *title, *word;
    } members[] = {{"distribution", "distribution", NULL},
                   {"suite", "suite", NULL},
                   {"architecture", "architecture", NULL},
                   {"packages", "packages", NULL},
                   {"setup", "setup", NULL},
                   {"user", "user", NULL},
                   {"kernel_package", "kernel", NULL},
                   {"kernel", NULL, N_("version")},
                   {"projects", NULL, N_("used by")},
                   {"mirror", "mirror", NULL},
                   {"path", NULL, N_("file")}};
    const struct template_row *row = templates_find(&app->templates, number);
    char size[UNITS_SIZE_MAX], when[24];
    if (!row)
        return;
    doc_add(out, STYLE_TITLE, _("template"), row->name);
    if (*row->about)
        doc_add(out, STYLE_NORMAL, _("about"), row->about);
    if (*row->failure)
        doc_add(out, STYLE_BAD, _("broken"), row->failure);
    field_date(row->built_ns, when);
    if (row->built)
        doc_addf(out, STYLE_GOOD, _("base"), _("built %s"), when);
    else
        doc_add(out, STYLE_DIM, _("base"),
                _("not built; the first project of it builds it, in some minutes"));
    if (row->size > 0)
        doc_add(out, STYLE_NORMAL, _("size"), units_format_size((uint64_t)row->size, size));
    if (row->disk_min > 0)
        doc_addf(out, STYLE_NORMAL, "disk-min", "%s", units_format_size((uint64_t)row->disk_min, size));
    for (size_t i = 0; i < countof(members); i++)
        member(out, row->json, members[i].key, members[i].word ? _(members[i].word) : members[i].title);
}

/* ---- acts ---- */

static const char *able(const struct app *app, uint64_t number, enum action action)
{
    const struct template_row *row = templates_find(&app->templates, number);
    if (!app->up)
        return _("hutchd is away; it works again when it is back");
    if (!row)
        return _("it is gone");
    if (action == ACTION_PROGRESS)
        return work_named(app, WORK_TEMPLATE, row->raw_name) ? NULL : _("it was not built from this screen");
    if (action == ACTION_EDIT && !json_is_true(json_object_get(row->json, "user_file")))
        return _("it came with hutch; copy its file to ~/.config/hutch/templates and change it there");
    if (action == ACTION_EDIT)
        return NULL;
    if (building(app, row))
        return action == ACTION_BUILD ? _("it is being built already") : _("it is being built");
    if (action == ACTION_BUILD)
        return row->built ? _("it is built, and nothing of its file changed since") : NULL;
    if (!row->built)
        return _("it has no base");
    return row->projects ? _("projects stand on its base") : NULL;
}

static void words(const struct app *app, uint64_t number, enum action action, struct act_words *out)
{
    const struct template_row *row = templates_find(&app->templates, number);
    if (!row)
        return;
    if (action == ACTION_BUILD) {
        out->question = xasprintf(_("build the base of %s?"), row->name);
        out->warning = xstrdup(_("its packages are fetched; that takes some minutes, and can be left alone"));
    } else {
        out->question = xasprintf(_("remove the base of %s?"), row->name);
        out->warning =
            xstrdup(_("the template stays; its next project builds the base again, in some minutes"));
    }
}

static void take_built(struct app *app, struct call *call, const struct message *message,
                       struct effects *effects)
{
    work_take(app, call->number, message);
    if (message->type != MESSAGE_ANSWER)
        return;
    act_log_end(app, call->entry, message->error, NULL);
    if (message->error)
        app_say_error(app, message->error);
    templates_ask(app, effects);
}

static void take_removed(struct app *app, struct call *call, const struct message *message,
                         struct effects *effects)
{
    act_log_end(app, call->entry, message->error, NULL);
    if (message->error)
        app_say_error(app, message->error);
    templates_ask(app, effects);
}

/* What the person made of the file is read anew. */
static void take_edited(struct app *app, struct call *call, const struct message *message,
                        struct effects *effects)
{
    (void)call;
    if (message->error)
        app_say_error(app, message->error);
    templates_ask(app, effects);
}

static bool act(struct app *app, uint64_t number, enum action action, struct effects *effects)
{
    const struct template_row *row = templates_find(&app->templates, number);
    if (!row)
        return false;
    if (action == ACTION_PROGRESS) {
        work_show(app, work_named(app, WORK_TEMPLATE, row->raw_name)->number, effects);
        return true;
    }
    if (action == ACTION_EDIT) {
        const char *path = json_string_value(json_object_get(row->json, "path"));
        app_local(app, EFFECT_EDIT, path ? path : "", take_edited, effects);
        return true;
    }
    bool build = action == ACTION_BUILD;
    autofree char *path = build ? field_path("/v1/templates/%s/build", row->raw_name)
                                : field_path("/v1/templates/%s", row->raw_name);
    autofree char *twin = act_twin(app, VIEW_TEMPLATES, number, action);
    uint64_t entry = act_log(app, ENTRY_RUNS, twin, "");
    struct call *call = app_call(app, build ? EFFECT_LINES : EFFECT_CALL, build ? "POST" : "DELETE", path,
                                 build ? json_object() : NULL, build ? take_built : take_removed, effects);
    call->entry = entry;
    if (build) {
        call->number = work_begin(app, WORK_TEMPLATE, row->raw_name, ACTION_BUILD, entry);
        work_show(app, call->number, effects);
    }
    return true;
}

static const enum action bar[] = {ACTION_BACK, ACTION_OPEN,     ACTION_BUILD,  ACTION_REMOVE_BASE,
                                  ACTION_EDIT, ACTION_PROGRESS, ACTION_SEARCH, ACTION_ACTIONS,
                                  ACTION_HELP, ACTION_NONE};
static const enum action acts[] = {ACTION_BUILD, ACTION_REMOVE_BASE, ACTION_PROGRESS, ACTION_EDIT,
                                   ACTION_NONE};

const struct view view_templates = {
    .name = "templates",
    .title = N_("Templates"),
    .map = KEYMAP_TEMPLATE,
    .flags = VIEW_LIST | VIEW_HEADER,
    .columns = columns,
    .bar = bar,
    .acts = acts,
    .end = end,
    .identity = identity,
    .cell = cell,
    .label = label,
    .nothing = nothing,
    .detail = detail,
    .able = able,
    .words = words,
    .act = act,
    .shown = templates_ask,
};
