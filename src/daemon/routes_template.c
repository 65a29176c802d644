/* Routes of templates and their bases. */
#include "base/alloc.h"
#include "base/text.h"
#include "conf/names.h"
#include "conf/template.h"
#include "daemon/server.h"
#include "image/image.h"
#include "wire/json.h"

#include <string.h>

/* A list of strings as JSON. */
static json_t *strings(char **list)
{
    json_t *json = json_array();

    for (size_t i = 0; list && list[i]; i++)
        json_array_append_new(json, json_string(list[i]));
    return json;
}

/* The names of its setup steps. */
static json_t *setup_names(const struct template *t)
{
    json_t *json = json_array();

    for (size_t i = 0; i < t->setup_count; i++)
        json_array_append_new(json, json_string(t->setup[i].name));
    return json;
}

static json_t *text_or_null(const char *text)
{
    return text ? json_string(text) : json_null();
}

/* What is to be said of the built base; whether there is one. */
static bool set_base(json_t *json, struct daemon *daemon, const struct template *template)
{
    auto(base) struct base *base = NULL;

    if (base_find(daemon->paths, template->digest, &base, NULL) < 0)
        return false;
    json_object_set_new(json, "kernel", text_or_null(base->kernel_version));
    json_object_set_new(json, "size", json_integer((json_int_t)base->size));
    json_object_set_new(json, "virtual_size", json_integer((json_int_t)base->virtual_size));
    json_object_set_new(json, "built_ns", json_integer((json_int_t)base->built_ns));
    json_object_set_new(json, "base", json_string(base->folder));
    return true;
}

/* How many projects stand on a base; their names go into `names` (may be NULL). */
static size_t projects_on(struct daemon *daemon, const char *digest, json_t *names)
{
    size_t count, found = 0;
    autofree char(*ids)[PROJECT_ID_MAX] = projects_ids(daemon->projects, &count);

    for (size_t i = 0; i < count; i++) {
        struct project *project = projects_lock(daemon->projects, ids[i]);

        if (!project)
            continue;
        if (!strcmp(project->r.base, digest)) {
            found++;
            if (names)
                json_array_append_new(names, json_string(project->r.name));
        }
        projects_unlock(daemon->projects);
    }
    return found;
}

static json_t *show_template(struct daemon *daemon, const struct template *t)
{
    json_t *json = json_object(), *projects = json_array();

    projects_on(daemon, t->digest, projects);
    json_object_set_new(json, "name", json_string(t->name));
    json_object_set_new(json, "path", text_or_null(t->path));
    json_object_set_new(json, "about", text_or_null(t->about));
    json_object_set_new(json, "distribution", text_or_null(t->distribution));
    json_object_set_new(json, "suite", text_or_null(t->suite));
    json_object_set_new(json, "mirror", text_or_null(t->mirror));
    json_object_set_new(json, "architecture", text_or_null(t->architecture));
    json_object_set_new(json, "packages", strings(t->packages));
    json_object_set_new(json, "kernel_package", text_or_null(t->kernel_package));
    json_object_set_new(json, "setup", setup_names(t));
    json_object_set_new(json, "presets", strings(t->presets));
    json_object_set_new(json, "user", text_or_null(t->user));
    json_object_set_new(json, "disk_min", json_integer((json_int_t)t->disk_min));
    json_object_set_new(json, "cpu_model", text_or_null(t->cpu_model));
    json_object_set_new(json, "kernel_options", text_or_null(t->kernel_options));
    json_object_set_new(json, "digest", json_string(t->digest));
    json_object_set_new(json, "user_file", json_boolean(t->user_file));
    json_object_set_new(json, "built", json_boolean(set_base(json, daemon, t)));
    json_object_set_new(json, "projects", projects);
    return json;
}

static void list_templates(const struct request *request, json_t *body)
{
    struct json_writer *writer = json_writer_create(request->stream, NULL, NULL);
    char **names = template_names(request->daemon->paths);

    (void)body;
    for (size_t i = 0; names && names[i]; i++) {
        auto(template) struct template *template = NULL;
        auto(error) struct error *err = NULL;
        auto(json) json_t *line = NULL;

        if (template_load(request->daemon->paths, names[i], &template, &err) == 0)
            line = show_template(request->daemon, template);
        else
            line = json_pack("{s:s, s:b, s:s}", "name", names[i], "built", 0, "failure", err->message);
        json_writer_line(writer, line);
    }
    names_free(names);
    json_writer_end(writer);
}

/* The template that args[0] names; NULL: the client has been told. */
static struct template *requested(const struct request *request)
{
    struct template *template = NULL;
    auto(error) struct error *err = NULL;

    if (template_load(request->daemon->paths, request->args[0], &template, &err) < 0)
        request_fail(request, err);
    return template;
}

static void show_one(const struct request *request, json_t *body)
{
    auto(template) struct template *template = requested(request);
    auto(json) json_t *answer = NULL;

    (void)body;
    if (!template)
        return;
    answer = show_template(request->daemon, template);
    json_reply(request->stream, 200, answer);
}

static void on_progress(const char *phase, const char *text, uint64_t done, uint64_t total, void *user)
{
    job_progress(user, phase, done, total, strcmp(phase, "download") == 0 ? "bytes" : NULL, "%s", text);
}

static int run_build(struct job *job, void *params, json_t **ret_result, struct error **err)
{
    struct daemon *daemon = job_daemon(job);
    auto(template) struct template *template = NULL;
    auto(base) struct base *base = NULL;
    int rc = template_load(daemon->paths, params, &template, err);

    if (rc == 0)
        rc = base_build(daemon->paths, template, on_progress, job, job_cancel_flag(job), &base, err);
    if (rc == 0) {
        daemon_noted(daemon, NULL, "lifecycle.base", template->name);
        *ret_result = show_template(daemon, template);
    }
    return rc;
}

static const struct job_kind build_kind = {.name = "build", .run = run_build, .free_params = free};

static void build(const struct request *request, json_t *body)
{
    auto(template) struct template *template = requested(request);
    struct jobs *jobs = request->daemon->jobs;
    autofree char *lane = NULL;
    struct job *job;

    (void)body;
    if (!template)
        return;
    lane = xasprintf("template:%s", template->name);
    job = job_find(jobs, lane, &build_kind);
    job_watch(job ? job : job_submit(jobs, lane, &build_kind, xstrdup(template->name)), request->stream);
}

static void remove_base(const struct request *request, json_t *body)
{
    auto(template) struct template *template = requested(request);
    auto(json) json_t *answer = json_object();
    auto(error) struct error *err = NULL;
    autofree char *lane = NULL;
    size_t users;

    (void)body;
    if (!template)
        return;
    lane = xasprintf("template:%s", template->name);
    users = projects_on(request->daemon, template->digest, NULL);
    if (users) {
        error_set(&err, ERROR_STATE, "%zu project%s on the base of \"%s\"", users,
                  users == 1 ? " stands" : "s stand", template->name);
        error_hint(&err, "`hutch template show %s` lists them", template->name);
    } else if (job_running(request->daemon->jobs, lane)) {
        error_set(&err, ERROR_BUSY, "the base of \"%s\" is being built", template->name);
    } else {
        base_remove(request->daemon->paths, template->digest, &err);
    }
    if (err)
        request_fail(request, err);
    else
        json_reply(request->stream, 200, answer);
}

const struct route routes_template[] = {
    {"GET", "/v1/templates", list_templates, false},
    {"GET", "/v1/templates/?", show_one, false},
    {"POST", "/v1/templates/?/build", build, true},
    {"DELETE", "/v1/templates/?", remove_base, false},
    {0},
};
