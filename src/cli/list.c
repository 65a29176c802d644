/* The verbs that look: ls, show. */
#include "cli/list.h"

#include "base/alloc.h"
#include "base/text.h"
#include "base/units.h"
#include "cli/args.h"
#include "cli/out.h"
#include "cli/project.h"

#include <string.h>

static void print_json(json_t *object, void *user)
{
    out_json(object);
}

/* What is to be said about a project now: what is being done, why it failed, or that it is slow. Caller
 * frees. */
static char *now_of(const json_t *project)
{
    const char *failure = out_string(project, "failure"), *doing = out_string(project, "doing");
    if (*failure)
        return xstrdup(failure);
    if (*doing)
        return xstrdup(doing);
    if (strcmp(out_string(project, "state"), "new") == 0)
        return xasprintf("not finished: hutch up %s", out_string(project, "name"));
    if (strcmp(out_string(project, "state"), "run") == 0 && project_emulated(project))
        return xstrdup("EMULATED");
    return xstrdup("");
}

/* A size of an object for a person, "-" when it is not known. */
static const char *size_of(const json_t *object, const char *key, char ret[UNITS_SIZE_MAX])
{
    int64_t value = out_number(object, key, -1);
    if (value >= 0)
        return units_format_size((uint64_t)value, ret);
    memcpy(ret, "-", 2);
    return ret;
}

static void add_project(json_t *project, void *user)
{
    struct table *table = user;
    char rate[UNITS_SIZE_MAX], disk[UNITS_SIZE_MAX];
    int64_t waiting = out_number(project, "waiting", 0);
    autofree char *wait = waiting > 0 ? xasprintf("%lld", (long long)waiting) : xstrdup("");
    autofree char *now = now_of(project);
    table_add(table, out_string(project, "name"));
    table_add(table, out_string(project, "state"));
    table_add(table, out_string(project, "agent"));
    table_add(table, wait);
    table_add(table, size_of(project, "net_rate", rate));
    table_add(table, size_of(project, "disk", disk));
    table_add(table, now);
}

int list_projects(struct client *client, bool json, struct error **err)
{
    static const char *const titles[] = {"PROJECT", "STATE", "AGENT", "WAIT", "NET/s", "DISK", "NOW", NULL};
    struct table table = {.titles = titles, .right = "lllrrrl"};
    int rc =
        client_lines(client, "GET", "/v1/projects", NULL, json ? print_json : add_project, &table, NULL, err);
    if (rc == 0 && !json && table.count == 0)
        out_text("no projects yet; make one of a repository: cd REPOSITORY && hutch up\n");
    else if (rc == 0 && !json)
        table_print(&table);
    table_finish(&table);
    return rc;
}

static int run_ls(const struct args *args, struct error **err)
{
    auto(client) struct client *client = NULL;
    int rc = client_connect(true, &client, err);
    return rc < 0 ? rc : list_projects(client, args_has(args, "json"), err);
}

static const struct option_spec json_options[] = {{"json", 0, NULL, "one JSON object a line"}, {NULL}};
const struct verb verb_ls = {
    .name = "ls",
    .synopsis = "[--json]",
    .help = "list the projects",
    .options = json_options,
    .run = run_ls,
};

/* ---- show ---- */

/* "key       value", nothing for an empty value. */
static void line(const char *key, const char *value)
{
    autofree char *safe = text_safe(value);
    if (safe && *safe)
        out_text("%-10s %s\n", key, safe);
}

static void member_line(const char *title, const json_t *object, const char *key)
{
    autofree char *value = out_member(object, key);
    line(title, value);
}

/* State, with what explains it. */
static void show_state(const json_t *project)
{
    const char *doing = out_string(project, "doing");
    autofree char *state = *doing ? xasprintf("%s (%s)", out_string(project, "state"), doing)
                                  : xstrdup(out_string(project, "state"));
    line("state", state);
    member_line("failure", project, "failure");
    if (project_emulated(project))
        line("speed", PROJECT_EMULATED);
}

static void show_sizes(const json_t *project)
{
    char memory[UNITS_SIZE_MAX], disk[UNITS_SIZE_MAX], most[UNITS_SIZE_MAX];
    size_of(project, "memory", memory);
    size_of(project, "disk", disk);
    size_of(project, "disk_size", most);
    autofree char *machine =
        xasprintf("%lld cpus, %s memory", (long long)out_number(project, "cpus", 0), memory);
    autofree char *disks = xasprintf("%s on this host, %s at most", disk, most);
    line("machine", machine);
    line("disk", disks);
}

/* What the guest says about itself. */
static void show_guest(const json_t *guest)
{
    if (!json_is_object(guest))
        return;
    char free_space[UNITS_SIZE_MAX], size[UNITS_SIZE_MAX], available[UNITS_SIZE_MAX];
    size_of(guest, "disk_free", free_space);
    size_of(guest, "disk_size", size);
    size_of(guest, "memory_available", available);
    autofree char *os = out_member(guest, "os");
    autofree char *kernel = out_member(guest, "kernel");
    autofree char *phase = out_member(guest, "phase");
    autofree char *text = xasprintf("%s, %s, Linux %s", phase, os, kernel);
    autofree char *room = xasprintf("%s of %s disk, %s memory free", free_space, size, available);
    line("inside", text);
    line("", room);
    member_line("failed", guest, "failed_units");
}

static void show_repos(const json_t *project)
{
    size_t i;
    json_t *repo;
    json_array_foreach(json_object_get(project, "repos"), i, repo)
    {
        if (json_is_string(repo)) {
            line("code", json_string_value(repo));
            continue;
        }
        autofree char *path = out_member(repo, "path");
        autofree char *url = out_member(repo, "url");
        autofree char *head = out_member(repo, "head");
        autofree char *commit = out_member(repo, "commit");
        autofree char *text = xasprintf("%s%s%s%s%s%s%.12s", path, *path && *url ? "  from " : "", url,
                                        *head ? "  " : "", head, *commit ? "  " : "", commit);
        line("code", text);
    }
}

static void show_project(const json_t *project)
{
    member_line("project", project, "name");
    member_line("id", project, "id");
    show_state(project);
    autofree char *base = out_member(project, "base");
    autofree char *template = out_member(project, "template");
    autofree char *from = *base ? xasprintf("%s (base %.12s)", template, base) : xstrdup(template);
    line("template", from);
    show_sizes(project);
    member_line("folder", project, "folder");
    show_repos(project);
    autofree char *created = out_time(out_number(project, "created_ns", 0));
    line("made", created);
    show_guest(json_object_get(project, "guest"));
}

static int run_show(const struct args *args, struct error **err)
{
    auto(client) struct client *client = NULL;
    autofree char *name = NULL;
    auto(json) json_t *project = NULL;
    int rc = client_connect(true, &client, err);
    if (rc == 0)
        rc = project_name(client, args_word(args, 0), &name, err);
    if (rc == 0)
        rc = project_show(client, name, &project, err);
    if (rc < 0)
        return rc;
    if (args_has(args, "json"))
        out_json(project);
    else
        show_project(project);
    return 0;
}

const struct verb verb_show = {
    .name = "show",
    .synopsis = "[NAME] [--json]",
    .help = "show everything about a project",
    .options = json_options,
    .max_args = 1,
    .run = run_show,
};
