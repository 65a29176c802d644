#include "ui/model/project.h"

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/units.h"
#include "base/words.h"
#include "ui/model/field.h"

#include <string.h>

static void finish(struct project *project)
{
    free(project->key);
    free(project->name);
    free(project->raw_name);
    free(project->state);
    free(project->agent);
    free(project->template);
    free(project->step);
    free(project->failure);
    free(project->folder);
    free(project->egress);
    free(project->loses);
    json_decref(project->json);
}

void projects_finish(struct projects *projects)
{
    for (size_t i = 0; i < projects->count; i++)
        finish(&projects->list[i]);
    free(projects->list);
    free(projects->failure);
    *projects = (struct projects){0};
}

static struct project *find_key(const struct projects *projects, const char *key)
{
    for (size_t i = 0; i < projects->count; i++)
        if (!strcmp(projects->list[i].key, key))
            return &projects->list[i];
    return NULL;
}

static struct project *add(struct projects *projects, const char *key)
{
    if (projects->count >= PROJECTS_MAX) {
        projects->too_many = true;
        return NULL;
    }
    projects->list = xrealloc(projects->list, projects->count + 1, sizeof(*projects->list));
    struct project *project = &projects->list[projects->count++];
    *project = (struct project){.number = ++projects->last, .key = xstrdup(key)};
    return project;
}

/* Replaces a string by a member as safe text. */
static void take_text(char **place, const json_t *json, const char *key)
{
    free(*place);
    *place = field_text(json, key);
}

struct project *projects_take(struct projects *projects, const json_t *json, bool full)
{
    const char *name = json_string_value(json_object_get(json, "name"));
    const char *key = json_string_value(json_object_get(json, "id"));
    if (!name || !*name)
        return NULL;
    if (!key || !*key)
        key = name;
    struct project *project = find_key(projects, key);
    if (!project)
        project = add(projects, key);
    if (!project)
        return NULL;
    free(project->raw_name);
    project->raw_name = xstrdup(name);
    take_text(&project->name, json, "name");
    take_text(&project->state, json, "state");
    take_text(&project->agent, json, "agent");
    take_text(&project->template, json, "template");
    take_text(&project->step, json, "doing");
    take_text(&project->failure, json, "failure");
    take_text(&project->folder, json, "folder");
    take_text(&project->egress, json, "egress");
    project->frozen_for = field_number(json, "frozen_for", 0);
    project->stored_for = field_number(json, "stored_for", 0);
    project->frozen_ns = field_number(json, "frozen_ns", 0);
    project->budget_used = field_number(json, "budget_used", -1);
    project->budget_max = field_number(json, "budget_max", -1);
    project->waiting = field_number(json, "waiting", 0);
    project->net_rate = field_number(json, "net_rate", -1);
    project->disk = field_number(json, "disk", -1);
    project->disk_size = field_number(json, "disk_size", -1);
    project->memory = field_number(json, "memory", -1);
    project->cpus = field_number(json, "cpus", -1);
    project->created_ns = field_number(json, "created_ns", 0);
    autofree char *accel = field_text(json, "accel");
    project->emulated = strcmp(accel, "emulated") == 0;
    project->seen = true;
    projects->has_agent = projects->has_agent || *project->agent;
    projects->has_waiting = projects->has_waiting || project->waiting > 0;
    projects->has_net = projects->has_net || project->net_rate > 0;
    if (full || !project->full) {
        json_decref(project->json);
        project->json = json_deep_copy(json);
        project->full = full;
    }
    return project;
}

void projects_begin(struct projects *projects)
{
    projects->too_many = false;
    for (size_t i = 0; i < projects->count; i++)
        projects->list[i].seen = false;
}

void projects_end(struct projects *projects)
{
    for (size_t i = projects->count; i-- > 0;)
        if (!projects->list[i].seen)
            projects_remove(projects, projects->list[i].number);
    projects->known = true;
}

void projects_remove(struct projects *projects, uint64_t number)
{
    struct project *project = projects_find(projects, number);
    if (!project)
        return;
    size_t at = (size_t)(project - projects->list);
    finish(project);
    memmove(project, project + 1, (projects->count - at - 1) * sizeof(*project));
    projects->count--;
}

struct project *projects_find(const struct projects *projects, uint64_t number)
{
    for (size_t i = 0; i < projects->count; i++)
        if (projects->list[i].number == number)
            return &projects->list[i];
    return NULL;
}

struct project *projects_named(const struct projects *projects, const char *raw_name)
{
    for (size_t i = 0; i < projects->count; i++)
        if (!strcmp(projects->list[i].raw_name, raw_name))
            return &projects->list[i];
    return NULL;
}

const char *project_state(const struct project *project)
{
    /* Words of what needs a person are in capitals, so that colour is never alone. */
    static const char *const table[][2] = {
        {"run", N_("run")},           {"new", N_("new")},       {"starting", N_("starting")},
        {"stopping", N_("stopping")}, {"saving", N_("saving")}, {"frozen", N_("FROZEN")},
        {"paused", N_("PAUSED")},     {"failed", N_("FAILED")}, {"gone", N_("GONE")},
        {"saved", N_("saved")},       {"off", N_("off")},
    };
    for (size_t i = 0; i < countof(table); i++)
        if (!strcmp(table[i][0], project->state))
            return _(table[i][1]);
    return project->state;
}

bool project_passing(const struct project *project)
{
    static const char *const passing[] = {"new", "starting", "stopping", "saving"};
    for (size_t i = 0; i < countof(passing); i++)
        if (!strcmp(project->state, passing[i]))
            return !*project->failure;
    return json_is_string(json_object_get(json_object_get(project->json, "vm"), "busy"));
}

const char *project_now(const struct project *project)
{
    if (*project->failure)
        return project->failure;
    if (*project->step)
        return _(project->step);
    if (!strcmp(project->state, "new"))
        return _("not finished");
    return "";
}

char *project_api_path(const struct project *project, const char *rest)
{
    autofree char *name = field_path("/v1/projects/%s", project->raw_name);
    autofree char *id = field_path("id=%s", project->key);
    return xasprintf("%s%s%c%s", name, rest, strchr(rest, '?') ? '&' : '?', id);
}

char *project_budget(const struct project *project)
{
    char used[UNITS_SIZE_MAX], max[UNITS_SIZE_MAX];
    if (strcmp(project->egress, "budget") != 0)
        return NULL;
    if (project->budget_used < 0)
        return xstrdup(_("BUDGET"));
    units_format_size((uint64_t)project->budget_used, used);
    if (project->budget_max <= 0)
        return xasprintf(_("BUDGET %s up"), used);
    return xasprintf(_("BUDGET %s of %s up"), used, units_format_size((uint64_t)project->budget_max, max));
}

bool projects_frozen(const struct projects *projects)
{
    for (size_t i = 0; i < projects->count; i++)
        if (!strcmp(projects->list[i].state, "frozen") && projects->list[i].frozen_ns > 0)
            return true;
    return false;
}
