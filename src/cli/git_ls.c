/* The verbs that move git: ls, fetch, push-in. */
#include "cli/args.h"

#include "base/alloc.h"
#include "base/words.h"
#include "cli/out.h"
#include "cli/progress.h"
#include "cli/project.h"

#include <string.h>

#define COMMIT_SHOWN 10

static void print_json(json_t *line, void *user)
{
    (void)user;
    if (!json_object_get(line, "phase"))
        out_json(line);
}

/* The kinds of hutchd as words. */
static const char *kind_of(const json_t *row)
{
    static const char *const kinds[] = {N_("branch"),      N_("tag"),  N_("unpushed"), N_("stash"),
                                        N_("uncommitted"), N_("lost"), N_("other")};
    const char *kind = out_string(row, "kind");
    for (size_t i = 0; i < countof(kinds); i++)
        if (strcmp(kinds[i], kind) == 0)
            return out_word(kind);
    return kind;
}

static void add_row(json_t *row, void *user)
{
    struct table *table = user;
    autofree char *age = out_age(out_number(row, "time_ns", 0)), *commits = out_member(row, "commits");
    autofree char *commit = xasprintf("%.*s", COMMIT_SHOWN, out_string(row, "commit"));

    if (json_object_get(row, "phase"))
        return;
    table_add(table, *out_string(row, "project") ? out_string(row, "project") : out_string(row, "repo"));
    table_add(table, kind_of(row));
    table_add(table, out_string(row, "name"));
    table_add(table, commits);
    table_add(table, commit);
    table_add(table, age);
    table_add(table, out_string(row, "subject"));
}

static int run_ls(const struct args *args, struct error **err)
{
    static const char *const titles[] = {N_("REPO"),   N_("KIND"), N_("NAME"),    N_("NEW"),
                                         N_("COMMIT"), N_("AGE"),  N_("SUBJECT"), NULL};
    static const char *const lost_titles[] = {N_("PROJECT"), N_("KIND"), N_("NAME"),    N_("NEW"),
                                              N_("COMMIT"),  N_("AGE"),  N_("SUBJECT"), NULL};
    bool json = args_has(args, "json"), lost = args_has(args, "lost");
    struct table table = {.titles = lost ? lost_titles : titles, .right = "lllrlrl"};
    auto(client) struct client *client = NULL;
    autofree char *path = NULL;
    int rc;

    if (lost && args->word_count) {
        error_set(err, ERROR_USAGE, _("--lost is about projects that are gone: it takes no name"));
        return error_hint(err, _("its lines name the project"));
    }
    rc = lost ? client_connect(true, &client, err) : project_begin(args, 0, "/git", &client, &path, err);
    if (rc == 0)
        rc = client_lines(client, "GET", lost ? "/v1/git/lost" : path, NULL, json ? print_json : add_row,
                          &table, NULL, err);
    if (rc == 0 && !json)
        table_print(&table);
    table_finish(&table);
    return rc;
}

static const struct option_spec ls_options[] = {
    {"lost", 0, NULL, N_("what was kept of projects that were removed, for 30 days")},
    {"json", 0, NULL, N_("one JSON object a line")},
    {NULL}};
const struct verb verb_git_ls = {
    .name = "git ls",
    .synopsis = "[NAME] [--lost] [--json]",
    .help = N_("list what came out of a machine: branches, stashes, what is not committed"),
    .options = ls_options,
    .max_args = 1,
    .run = run_ls,
};

/* What one repository brought, in lines. */
static void say_repo(const json_t *repo)
{
    const json_t *row;
    size_t i;

    json_array_foreach(json_object_get(repo, "changes"), i, row)
    {
        autofree char *name = out_member(row, "name");
        autofree char *commit = xasprintf("%.*s", COMMIT_SHOWN, out_string(row, "commit"));
        out_text("%s %s\n", *commit ? commit : out_word(N_("gone")), name);
    }
    json_array_foreach(json_object_get(repo, "skips"), i, row)
        out_note(_("%s was not taken: %s"), out_string(row, "name"), out_string(row, "why"));
    json_array_foreach(json_object_get(repo, "pushes"), i, row)
    {
        int64_t id = out_number(row, "request", 0);
        if (id)
            out_text(out_word(N_("%s waits for review as #%lld\n")), out_string(row, "ref"), (long long)id);
    }
}

/* A job over all repositories of a project, to its result. */
static int call_repos(const struct args *args, const char *what, json_t **ret_result, struct error **err)
{
    auto(client) struct client *client = NULL;
    autofree char *path = NULL;
    int rc = project_begin(args, 0, what, &client, &path, err);

    return rc < 0 ? rc : progress_call(client, "POST", path, NULL, ret_result, err);
}

static int run_fetch(const struct args *args, struct error **err)
{
    auto(json) json_t *result = NULL;
    const json_t *repo;
    size_t i;
    int rc = call_repos(args, "/git/fetch", &result, err);

    if (rc < 0)
        return rc;
    if (args_has(args, "json"))
        out_json(result);
    else
        json_array_foreach(json_object_get(result, "repos"), i, repo) say_repo(repo);
    return 0;
}

static const struct option_spec fetch_options[] = {{"json", 0, NULL, N_("the result as a JSON object")},
                                                   {NULL}};
const struct verb verb_git_fetch = {
    .name = "git fetch",
    .synopsis = "[NAME] [--json]",
    .help = N_("bring out what a machine has: pushes, branches, stashes, what is not committed"),
    .options = fetch_options,
    .max_args = 1,
    .run = run_fetch,
};

static int run_push_in(const struct args *args, struct error **err)
{
    auto(json) json_t *result = NULL;
    const json_t *repo;
    size_t i;
    int rc = call_repos(args, "/git/push-in", &result, err);

    if (rc < 0)
        return rc;
    if (args_has(args, "json"))
        out_json(result);
    json_array_foreach(json_object_get(result, "repos"), i, repo)
    {
        if (json_is_true(json_object_get(repo, "apart")))
            out_note(_("%s: branches that went apart from yours stay as the machine has them"),
                     out_string(repo, "repo"));
        else if (!args_has(args, "json"))
            out_text(out_word(N_("%s: the machine has your branches and tags\n")), out_string(repo, "repo"));
    }
    return 0;
}

const struct verb verb_git_push_in = {
    .name = "git push-in",
    .synopsis = "[NAME] [--json]",
    .help = N_("bring the present branches and tags of your repository into a machine"),
    .options = fetch_options,
    .max_args = 1,
    .run = run_push_in,
};
