/* hutch demo: the screen with the scene of ui/demo.def on it, and before that the repository that it plays
 * with. */
#include "ui/model/demo.h"

#include "base/alloc.h"
#include "base/file.h"
#include "base/spawn.h"
#include "base/words.h"
#include "cli/args.h"
#include "cli/out.h"
#include "cli/project.h"
#include "cli/screen.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define DEMO_PROJECT "demo"
#define DEMO_FOLDER  "demo"          /* below templates, and below the data: the repository */
#define DEMO_PROGRAM "demo-agent.sh" /* below templates */
#define DEMO_GIT_MS  30000

/* Runs a program to its end in a folder. */
static int run(const char *const *argv, const char *folder, struct error **err)
{
    const struct spawn spawn = {.argv = argv, .cwd = folder, .in = -1, .out = -1, .err = -1};
    return spawn_run(&spawn, DEMO_GIT_MS, 0, NULL, err);
}

/* Fills an empty folder with the files and makes them a commit. */
static int make_repository(const char *files, const char *folder, struct error **err)
{
    autofree char *all = file_join(files, ".");
    const char *const copy[] = {"cp", "-R", "--", all, folder, NULL};
    const char *const init[] = {"git", "init", "-q", NULL};
    const char *const branch[] = {"git", "symbolic-ref", "HEAD", "refs/heads/main", NULL};
    const char *const add[] = {"git", "add", "-A", NULL};
    const char *const commit[] = {"git",
                                  "-c",
                                  "user.name=hutch",
                                  "-c",
                                  "user.email=hutch@localhost",
                                  "-c",
                                  "commit.gpgsign=false",
                                  "commit",
                                  "-qm",
                                  "demo: a small program and its test",
                                  NULL};
    const char *const *const commands[] = {copy, init, branch, add, commit};
    int rc = 0;
    for (size_t i = 0; i < countof(commands) && rc == 0; i++)
        rc = run(commands[i], folder, err);
    return rc;
}

/* The repository of the scene, which quickstart uses too; made whole or not at all. */
static int find_repository(const struct paths *paths, char **ret_folder, struct error **err)
{
    autofree char *folder = file_join(paths->data, DEMO_FOLDER);
    autofree char *git = file_join(folder, ".git"), *files = file_join(paths->templates, DEMO_FOLDER);
    autofree char *made = xasprintf("%s.new", folder);
    if (!file_exists(git)) {
        int rc = file_remove_tree(made, err);
        if (rc == 0)
            rc = file_make_folder(made, 0755, err);
        if (rc == 0)
            rc = make_repository(files, made, err);
        if (rc == 0)
            rc = file_remove_tree(folder, err);
        if (rc == 0 && rename(made, folder) < 0)
            rc = error_set_errno(err, errno, _("the demo's repository \"%s\""), folder);
        if (rc < 0)
            return error_prefix(err, _("the demo's repository cannot be made: "));
    }
    *ret_folder = steal(&folder);
    return 0;
}

/* Whether a project is made of the scene's repository. */
static bool is_ours(const json_t *project, const char *repository)
{
    size_t i;
    json_t *repo;
    json_array_foreach(json_object_get(project, "repos"), i,
                       repo) if (strcmp(out_string(repo, "source"), repository) == 0) return true;
    return json_array_size(json_object_get(project, "repos")) == 0 &&
           strcmp(out_string(project, "state"), "new") == 0;
}

/* A project of the person's own that has the name is left alone. */
static int check_name(struct client *client, const char *name, const char *repository, struct error **err)
{
    auto(json) json_t *project = NULL;
    auto(error) struct error *own = NULL;
    int rc = project_show(client, name, &project, &own);
    if (rc == -ERROR_NOT_FOUND)
        return 0;
    if (rc < 0)
        return error_move(err, &own);
    if (is_ours(project, repository))
        return 0;
    error_set(err, ERROR_EXISTS, _("there is a project \"%s\" that is not the demo's"), name);
    return error_hint(err, _("give the demo's another name: hutch demo NAME"));
}

/* On the person's own screen again: what there is, and the ways on. */
static void say_how_to_go_on(struct client *client, const char *name)
{
    auto(json) json_t *project = NULL;
    if (project_show(client, name, &project, NULL) < 0) {
        out_text(_("No machine was made. hutch demo begins again; hutch up, in a repository of yours, makes "
                   "one for it.\n"));
        return;
    }
    out_text(_("The demo's machine \"%s\" stays as it is. How to go on:\n"), name);
    const struct {
        const char *command, *about;
        bool named;
    } ways[] = {
        {"hutch", N_("the screen; ? shows its keys"), false},
        {"hutch shell", N_("a shell in the machine; ^] d leaves it"), true},
        {"hutch log", N_("what happened in it"), true},
        {"hutch demo", N_("the demo from its beginning"), strcmp(name, DEMO_PROJECT) != 0},
        {"hutch rm", N_("remove it; add --discard-work while it does not run"), true},
        {"hutch up", N_("in a repository of yours: a machine for it"), false},
    };
    for (size_t i = 0; i < countof(ways); i++) {
        autofree char *command =
            xasprintf("%s%s%s", ways[i].command, ways[i].named ? " " : "", ways[i].named ? name : "");
        out_text("  %-22s %s\n", command, _(ways[i].about));
    }
}

static int run_demo(const struct args *args, struct error **err)
{
    auto(paths) struct paths *paths = NULL;
    auto(client) struct client *client = NULL;
    autofree char *repository = NULL, *agent = NULL;
    const char *name = args_word(args, 0) ? args_word(args, 0) : DEMO_PROJECT;
    size_t len;
    if (!screen_possible()) {
        error_set(err, ERROR_USAGE, _("the demo is to be looked at: it needs a terminal"));
        return error_hint(err, _("without one: hutch up, hutch exec"));
    }
    int rc = paths_find(&paths, err);
    autofree char *program = rc == 0 ? file_join(paths->templates, DEMO_PROGRAM) : NULL;
    if (rc == 0)
        rc = file_read(program, DEMO_AGENT_MAX, &agent, &len, err);
    if (rc == 0)
        rc = client_connect(true, &client, err); /* makes the folders too */
    if (rc == 0)
        rc = find_repository(paths, &repository, err);
    if (rc == 0)
        rc = check_name(client, name, repository, err);
    if (rc < 0)
        return rc;
    const struct demo_options demo = {.project = name, .repository = repository, .agent = agent};
    const struct screen_options options = {.demo = &demo};
    client_drop(client); /* the screen has a connection of its own */
    rc = screen_run(&options, err);
    if (rc == 0 && client_reconnect(client, false, NULL) == 0)
        say_how_to_go_on(client, name);
    return rc;
}

const struct verb verb_demo = {
    .name = "demo",
    .synopsis = "[NAME]",
    .help = N_("a scripted agent at work in a real machine, explained step by step"),
    .max_args = 1,
    .run = run_demo,
};
