/* All that is known of the selected project's machine. */
#include "ui/model/app_state.h"
#include "ui/model/field.h"

#include "base/alloc.h"
#include "base/units.h"
#include "base/words.h"

#include <string.h>

static void size_line(struct doc *doc, const char *title, int64_t bytes, const char *more)
{
    char size[UNITS_SIZE_MAX];
    if (bytes >= 0)
        doc_addf(doc, STYLE_NORMAL, title, "%s%s", units_format_size((uint64_t)bytes, size), more);
}

static void add_repos(struct doc *doc, const json_t *repos)
{
    size_t i;
    const json_t *repo;
    json_array_foreach(repos, i, repo)
    {
        autofree char *name = field_text(repo, "name");
        autofree char *source = field_text(repo, "source");
        autofree char *commit = field_text(repo, "commit");
        autofree char *ref = field_text(repo, "ref");
        autofree char *path = field_text(repo, "path");
        bool done = json_is_true(json_object_get(repo, "done"));
        const char *branch = strncmp(ref, "refs/heads/", 11) == 0 ? ref + 11 : ref;
        doc_addf(doc, STYLE_NORMAL, i ? "" : _("code"), "%s  %s%s%.10s", name, branch,
                 *branch ? _(" at ") : "", commit);
        doc_addf(doc, STYLE_DIM, "", _("  of %s"), source);
        if (done)
            doc_addf(doc, STYLE_DIM, "", _("  in %s"), path);
        else
            doc_add(doc, STYLE_BUSY, "", _("  not in the machine yet"));
    }
    if (!json_array_size(repos))
        doc_add(doc, STYLE_DIM, _("code"), _("none was brought in"));
}

static void add_layers(struct doc *doc, const json_t *layers)
{
    size_t i;
    const json_t *layer;
    json_array_foreach(layers, i, layer)
    {
        autofree char *path = field_text(layer, "path");
        autofree char *base = field_text(layer, "base");
        autofree char *template = field_text(layer, "template");
        char size[UNITS_SIZE_MAX];
        if (*base)
            doc_addf(doc, STYLE_DIM, i ? "" : _("layers"), _("base %.12s of %s, never written to"), base,
                     template);
        else
            doc_addf(doc, STYLE_NORMAL, i ? "" : _("layers"), "%s  %s",
                     units_format_size((uint64_t)field_number(layer, "disk", 0), size), path);
    }
}

/* Whether programs that know no proxy get out, as hutch-guest says. */
static void add_way_out(struct doc *doc, const json_t *guest)
{
    autofree char *capture = field_text(guest, "capture"), *why = field_text(guest, "capture_reason");
    autofree char *proxy = field_text(guest, "proxy");
    if (!*capture && !*proxy)
        return;
    bool on = !strcmp(capture, "on");
    doc_addf(doc, on ? STYLE_NORMAL : STYLE_WARN, _("way out"),
             on ? _("all TCP is captured; proxy %s") : _("capture %s: only what knows the proxy %s gets out"),
             on         ? proxy
             : *capture ? capture
                        : _("unknown"),
             proxy);
    if (*why)
        doc_addf(doc, STYLE_WARN, "", _("%s (the VM says so)"), why);
}

static void add_guest(struct doc *doc, const json_t *guest)
{
    autofree char *phase = field_text(guest, "phase");
    autofree char *os = field_text(guest, "os");
    autofree char *kernel = field_text(guest, "kernel");
    autofree char *failed = field_text(guest, "failed_units");
    char free_size[UNITS_SIZE_MAX], total[UNITS_SIZE_MAX], up[24];
    if (!json_is_object(guest))
        return;
    if (!*phase) {
        doc_add(doc, STYLE_BUSY, _("inside"), _("hutch-guest has not answered yet"));
        return;
    }
    bool answers = json_is_true(json_object_get(guest, "up"));
    doc_addf(doc, answers ? STYLE_GOOD : STYLE_WARN, _("inside"), "%s%s", field_word(phase),
             answers ? "" : _("; it does not answer just now"));
    if (*failed)
        doc_addf(doc, STYLE_BAD, _("failed"), _("%s (the VM says so)"), failed);
    if (*os)
        doc_add(doc, STYLE_NORMAL, _("system"), os);
    if (*kernel)
        doc_add(doc, STYLE_NORMAL, _("kernel"), kernel);
    field_duration(field_number(guest, "uptime_ms", -1), up);
    doc_add(doc, STYLE_NORMAL, _("up for"), up);
    int64_t memory = field_number(guest, "memory_total", 0), disk = field_number(guest, "disk_size", 0);
    if (memory > 0)
        doc_addf(doc, STYLE_NORMAL, _("free"), _("%s of %s memory"),
                 units_format_size((uint64_t)field_number(guest, "memory_available", 0), free_size),
                 units_format_size((uint64_t)memory, total));
    if (disk > 0)
        doc_addf(doc, STYLE_NORMAL, "", _("%s of %s disk"),
                 units_format_size((uint64_t)field_number(guest, "disk_free", 0), free_size),
                 units_format_size((uint64_t)disk, total));
}

static void add_speed(struct doc *doc, const struct app *app, const struct project *project)
{
    char key[24] = "";
    if (!project->emulated) {
        doc_add(doc, STYLE_GOOD, _("speed"), _("KVM: as fast as this host"));
        return;
    }
    bindings_key(&app->settings.bindings, KEYMAP_PROJECT, ACTION_DOCTOR, key);
    doc_add(doc, STYLE_WARN, _("speed"), _("EMULATED: without /dev/kvm it is 10 to 30 times slower"));
    doc_addf(doc, STYLE_WARN, "",
             _("turn virtualisation on in the firmware, or nested virtualisation on the "
               "host of this machine; %s says more"),
             key);
}

void info_update(struct app *app)
{
    const struct project *project = app_project(app);
    struct doc *doc = &app->info;
    char made[24];
    doc_finish(doc);
    list_news(&app->lists[VIEW_INFO]);
    if (!project)
        return;
    doc_add(doc, *project->failure ? STYLE_BAD : STYLE_NORMAL, _("state"), project_state(project));
    if (*project->failure)
        doc_add(doc, STYLE_BAD, _("failure"), project->failure);
    if (*project->step)
        doc_add(doc, STYLE_BUSY, _("doing"), _(project->step));
    add_speed(doc, app, project);
    add_guest(doc, json_object_get(project->json, "guest"));
    if (project->cpus > 0)
        doc_addf(doc, STYLE_NORMAL, _("cpus"), "%lld", (long long)project->cpus);
    size_line(doc, _("memory"), project->memory, "");
    size_line(doc, _("disk"), project->disk, _(" of this host's disk now"));
    size_line(doc, "", project->disk_size, _(" at most"));
    autofree char *base = field_text(project->json, "base");
    doc_addf(doc, STYLE_NORMAL, _("template"), "%s%s%.12s", project->template, *base ? _(", base ") : "",
             base);
    if (project->full) {
        add_repos(doc, json_object_get(project->json, "repos"));
        add_layers(doc, json_object_get(project->json, "layers"));
    }
    add_way_out(doc, json_object_get(project->json, "guest"));
    if (*project->folder)
        doc_add(doc, STYLE_NORMAL, _("folder"), project->folder);
    field_date(project->created_ns, made);
    doc_add(doc, STYLE_NORMAL, _("made"), made);
    autofree char *domain = field_text(json_object_get(project->json, "vm"), "domain");
    if (*domain)
        doc_addf(doc, STYLE_DIM, _("libvirt"), _("domain %s"), domain);
}

static void shown(struct app *app, struct effects *effects)
{
    info_update(app);
    feed_refresh(app, app->selected, effects);
}

static size_t end(const struct app *app)
{
    return app->info.count;
}

static uint64_t identity(const struct app *app, size_t position)
{
    (void)app;
    return position + 1;
}

static void cell(const struct app *app, size_t position, int column, struct cell_out *out)
{
    const struct doc_line *line = &app->info.lines[position];
    out->text = column == 0 ? line->label : line->text;
    out->style = column == 0 ? STYLE_DIM : line->style;
}

static char *copy(const struct app *app, uint64_t identity)
{
    return identity <= app->info.count ? xstrdup(app->info.lines[identity - 1].text) : NULL;
}

static void detail(const struct app *app, uint64_t identity, struct doc *out)
{
    const struct doc_line *line = identity <= app->info.count ? &app->info.lines[identity - 1] : NULL;
    if (line)
        doc_add(out, line->style, line->label, line->text);
}

static const struct column columns[] = {
    {"", 9, false, 0, false, false}, {"", 0, false, 0, false, false}, {NULL}};
static const enum action bar[] = {ACTION_BACK,   ACTION_COPY,    ACTION_TERMINAL, ACTION_START, ACTION_PAUSE,
                                  ACTION_SEARCH, ACTION_ACTIONS, ACTION_DOCTOR,   ACTION_HELP,  ACTION_NONE};

const struct view view_info = {
    .name = "info",
    .title = N_("Info"),
    .empty = N_("nothing is known of it yet"),
    .flags = VIEW_LIST | VIEW_TAB | VIEW_PROJECT,
    .columns = columns,
    .bar = bar,
    .end = end,
    .identity = identity,
    .cell = cell,
    .copy = copy,
    .detail = detail,
    .shown = shown,
};
