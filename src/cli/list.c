/* The verbs that look: ls, show. */
#include "cli/list.h"

#include "base/alloc.h"
#include "base/text.h"
#include "base/units.h"
#include "base/words.h"
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
        return xstrdup(out_word(doing));
    if (strcmp(out_string(project, "state"), "new") == 0)
        return xasprintf(out_word(N_("not finished: hutch up %s")), out_string(project, "name"));
    if (strcmp(out_string(project, "state"), "run") == 0 && project_emulated(project))
        return xstrdup(out_word(N_("EMULATED")));
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

/* Its state in a word; the words are hutchd's own. */
static const char *state_of(const json_t *project)
{
    static const char *const states[] = {N_("run"),    N_("new"),    N_("starting"), N_("stopping"),
                                         N_("saving"), N_("frozen"), N_("paused"),   N_("failed"),
                                         N_("gone"),   N_("saved"),  N_("off")};
    const char *state = out_string(project, "state");
    for (size_t i = 0; i < countof(states); i++)
        if (strcmp(states[i], state) == 0)
            return out_word(state);
    return state;
}

static void add_project(json_t *project, void *user)
{
    struct table *table = user;
    char rate[UNITS_SIZE_MAX], disk[UNITS_SIZE_MAX];
    int64_t waiting = out_number(project, "waiting", 0);
    autofree char *wait = waiting > 0 ? xasprintf("%lld", (long long)waiting) : xstrdup("");
    autofree char *now = now_of(project);
    table_add(table, out_string(project, "name"));
    table_add(table, state_of(project));
    table_add(table, out_string(project, "agent"));
    table_add(table, wait);
    table_add(table, size_of(project, "net_rate", rate));
    table_add(table, size_of(project, "disk", disk));
    table_add(table, now);
}

int list_projects(struct client *client, bool json, struct error **err)
{
    static const char *const titles[] = {N_("PROJECT"), N_("STATE"), N_("AGENT"), N_("WAIT"),
                                         N_("NET/s"),   N_("DISK"),  N_("NOW"),   NULL};
    struct table table = {.titles = titles, .right = "lllrrrl"};
    int rc =
        client_lines(client, "GET", "/v1/projects", NULL, json ? print_json : add_project, &table, NULL, err);
    if (rc == 0 && !json && table.count == 0)
        out_text(_("no projects yet; make one of a repository: cd REPOSITORY && hutch up\n"));
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

static const struct option_spec json_options[] = {{"json", 0, NULL, N_("one JSON object a line")}, {NULL}};
const struct verb verb_ls = {
    .name = "ls",
    .synopsis = "[--json]",
    .help = N_("list the projects"),
    .options = json_options,
    .run = run_ls,
};

/* ---- show ---- */

/* "key       value", nothing for an empty value. */
static void line(const char *key, const char *value)
{
    autofree char *safe = text_safe(value);
    if (safe && *safe) {
        const char *word = out_word(key);
        size_t columns;
        text_clip(word, strlen(word), SIZE_MAX, &columns);
        out_text("%s%*s %s\n", word, columns < 10 ? (int)(10 - columns) : 0, "", safe);
    }
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
    autofree char *state =
        *doing ? xasprintf("%s (%s)", state_of(project), out_word(doing)) : xstrdup(state_of(project));
    line(N_("state"), state);
    int64_t frozen = out_number(project, "frozen_for", 0), waiting = out_number(project, "waiting", 0);
    int64_t rest = (units_now_ns() - out_number(project, "frozen_ns", INT64_MAX)) / 1000000000;
    char since[UNITS_DURATION_MAX];
    autofree char *why = frozen <= 0 ? NULL
                         : rest < 0  ? xasprintf(out_word(N_("for request #%lld")), (long long)frozen)
                                     : xasprintf(out_word(N_("for request #%lld, %s")), (long long)frozen,
                                                 units_format_duration((uint64_t)rest, since));
    autofree char *open =
        waiting > 0 ? xasprintf(out_word(N_("%lld for your answer: hutch requests")), (long long)waiting)
                    : NULL;
    int64_t stored = out_number(project, "stored_for", 0);
    autofree char *saved =
        stored > 0 ? xasprintf(out_word(N_("for request #%lld; an answer wakes it")), (long long)stored)
                   : NULL;
    line(N_("frozen"), why ? why : "");
    line(N_("saved"), saved ? saved : "");
    line(N_("waiting"), open ? open : "");
    member_line(N_("failure"), project, "failure");
    if (project_emulated(project))
        line(N_("speed"), out_word(PROJECT_EMULATED));
}

/* How it reaches what no rule names; of a budget what is used. */
static void show_egress(const json_t *project)
{
    char used[UNITS_SIZE_MAX], max[UNITS_SIZE_MAX];
    autofree char *mode = out_member(project, "egress");
    if (out_number(project, "budget_used", -1) < 0) {
        line(N_("internet"), mode);
        return;
    }
    size_of(project, "budget_used", used);
    size_of(project, "budget_max", max);
    autofree char *text = xasprintf(out_word(N_("%s, %s of %s up and %lld of %lld new names this hour")),
                                    mode, used, max, (long long)out_number(project, "budget_names", 0),
                                    (long long)out_number(project, "budget_names_max", 0));
    line(N_("internet"), text);
}

static void show_sizes(const json_t *project)
{
    char memory[UNITS_SIZE_MAX], disk[UNITS_SIZE_MAX], most[UNITS_SIZE_MAX];
    size_of(project, "memory", memory);
    size_of(project, "disk", disk);
    size_of(project, "disk_size", most);
    autofree char *machine =
        xasprintf(out_word(N_("%lld cpus, %s memory")), (long long)out_number(project, "cpus", 0), memory);
    autofree char *disks = xasprintf(out_word(N_("%s on this host, %s at most")), disk, most);
    line(N_("machine"), machine);
    line(N_("disk"), disks);
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
    if (!*os) /* it has not said yet what it is */
        return;
    autofree char *text = xasprintf(out_word(N_("%s, %s, Linux %s")), phase, os, kernel);
    autofree char *room =
        xasprintf(out_word(N_("%s of %s disk, %s memory free")), free_space, size, available);
    line(N_("inside"), text);
    line("", room);
    member_line(N_("failed"), guest, "failed_units");
    autofree char *proxy = out_member(guest, "proxy");
    autofree char *capture = out_member(guest, "capture");
    autofree char *why = out_member(guest, "capture_reason");
    autofree char *way =
        xasprintf(out_word(N_("capture %s%s%s, proxy %s")), capture, *why ? ": " : "", why, proxy);
    line(N_("way out"), *capture ? way : "");
}

static void show_repos(const json_t *project)
{
    size_t i;
    json_t *repo;
    json_array_foreach(json_object_get(project, "repos"), i, repo)
    {
        if (json_is_string(repo)) {
            line(N_("code"), json_string_value(repo));
            continue;
        }
        autofree char *path = out_member(repo, "path");
        autofree char *url = out_member(repo, "url");
        autofree char *head = out_member(repo, "head");
        autofree char *commit = out_member(repo, "commit");
        autofree char *text =
            xasprintf("%s%s%s%s%s%s%.12s", path, *path && *url ? out_word(N_("  from ")) : "", url,
                      *head ? "  " : "", head, *commit ? "  " : "", commit);
        line(N_("code"), text);
    }
}

static void show_project(const json_t *project)
{
    member_line(N_("project"), project, "name");
    member_line(N_("id"), project, "id");
    show_state(project);
    autofree char *base = out_member(project, "base");
    autofree char *template = out_member(project, "template");
    autofree char *from =
        *base ? xasprintf(out_word(N_("%s (base %.12s)")), template, base) : xstrdup(template);
    line(N_("template"), from);
    show_egress(project);
    show_sizes(project);
    member_line(N_("folder"), project, "folder");
    show_repos(project);
    autofree char *created = out_time(out_number(project, "created_ns", 0));
    line(N_("made"), created);
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
    .help = N_("show everything about a project"),
    .options = json_options,
    .max_args = 1,
    .run = run_show,
};
