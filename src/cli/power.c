/* The verbs that change a machine's state: start, stop, pause, resume, suspend, rm. */
#include "cli/args.h"

#include "base/alloc.h"
#include "base/words.h"
#include "cli/out.h"
#include "cli/progress.h"
#include "cli/project.h"

#include <string.h>

/* POST …/VERB, progress, the project afterwards. */
static int act(const struct args *args, const char *verb, bool force, struct error **err)
{
    auto(client) struct client *client = NULL;
    autofree char *name = NULL;
    int rc = client_connect(true, &client, err);
    if (rc == 0)
        rc = project_name(client, args_word(args, 0), &name, err);
    if (rc < 0)
        return rc;
    autofree char *path = project_path(name, "/%s", verb);
    auto(json) json_t *body = json_pack("{s:b}", "force", force);
    auto(json) json_t *project = NULL;
    rc = progress_call(client, "POST", path, body, &project, err);
    if (rc < 0)
        return rc;
    if (args_has(args, "json"))
        out_json(project);
    else if (strcmp(verb, "start") == 0 && project_emulated(project))
        out_note("%s", _(PROJECT_EMULATED));
    return 0;
}

static const struct option_spec act_options[] = {
    {"json", 0, NULL, N_("print the project afterwards as JSON")}, {NULL}};
static const struct option_spec stop_options[] = {
    {"force", 'f', NULL, N_("turn it off without asking the guest")},
    {"json", 0, NULL, N_("print the project afterwards as JSON")},
    {NULL},
};

static int run_start(const struct args *args, struct error **err)
{
    return act(args, "start", false, err);
}

static int run_stop(const struct args *args, struct error **err)
{
    return act(args, "stop", args_has(args, "force"), err);
}

static int run_pause(const struct args *args, struct error **err)
{
    return act(args, "pause", false, err);
}

static int run_resume(const struct args *args, struct error **err)
{
    return act(args, "resume", false, err);
}

static int run_suspend(const struct args *args, struct error **err)
{
    return act(args, "suspend", false, err);
}

const struct verb verb_start = {
    .name = "start",
    .synopsis = "[NAME] [--json]",
    .help = N_("start a machine, or wake one that is saved"),
    .options = act_options,
    .max_args = 1,
    .run = run_start,
};
const struct verb verb_stop = {
    .name = "stop",
    .synopsis = "[NAME] [-f] [--json]",
    .help = N_("shut a machine down"),
    .options = stop_options,
    .max_args = 1,
    .run = run_stop,
};
const struct verb verb_pause = {
    .name = "pause",
    .synopsis = "[NAME] [--json]",
    .help = N_("pause a machine: it stands still and keeps its memory, until resume"),
    .options = act_options,
    .max_args = 1,
    .run = run_pause,
};
const struct verb verb_resume = {
    .name = "resume",
    .synopsis = "[NAME] [--json]",
    .help = N_("resume a paused machine"),
    .options = act_options,
    .max_args = 1,
    .run = run_resume,
};
const struct verb verb_suspend = {
    .name = "suspend",
    .synopsis = "[NAME] [--json]",
    .help = N_("save a machine with its memory to disk; start wakes it, its programs go on"),
    .options = act_options,
    .max_args = 1,
    .run = run_suspend,
};

/* ---- rm ---- */

/* Asks once for all that go, after naming them. All must be there: adds the path of each to `paths`, with the
 * id of the one that was asked about, lest another takes its name while the question is read. */
static int confirm(struct client *client, const struct args *args, json_t *paths, struct error **err)
{
    const char *discard = args_has(args, "discard-work") ? "&discard_work=1" : "";
    autofree char *list = xstrdup("");
    for (size_t i = 0; i < args->word_count; i++) {
        autofree char *name = NULL;
        auto(json) json_t *project = NULL;
        int rc = project_name(client, args->words[i], &name, err);
        if (rc == 0)
            rc = project_show(client, name, &project, err);
        if (rc < 0)
            return rc;
        const char *id = out_string(project, "id");
        autofree char *encoded = json_url_encode(id, strlen(id));
        autofree char *path = project_path(name, "?id=%s%s", encoded, discard);
        json_array_append_new(paths, json_string(path));
        char *longer =
            xasprintf("%s%s\"%s\" (%s)", list, *list ? ", " : "", name, out_string(project, "state"));
        free(list);
        list = longer;
    }
    if (args_has(args, "yes"))
        return 0;
    autofree char *question = xasprintf(_("remove %s: the machine and everything in it?"), list);
    return out_ask(question, err);
}

static int run_rm(const struct args *args, struct error **err)
{
    auto(client) struct client *client = NULL;
    auto(json) json_t *paths = json_array();
    int rc = client_connect(true, &client, err);
    if (rc == 0)
        rc = confirm(client, args, paths, err);
    for (size_t i = 0; i < args->word_count && rc == 0; i++) {
        const char *path = json_string_value(json_array_get(paths, i));
        auto(json) json_t *result = NULL;
        rc = progress_call(client, "DELETE", path, NULL, &result, err);
        if (rc < 0 && args->word_count > 1)
            error_prefix(err, "\"%s\"", args->words[i]);
        if (rc == 0 && out_number(result, "kept", 0))
            out_note(_("what was nowhere else is kept for 30 days: hutch git ls --lost"));
        if (rc == 0 && *out_string(result, "rules"))
            out_note(_("the rules you wrote for it stay in %s"), out_string(result, "rules"));
    }
    return rc;
}

static const struct option_spec rm_options[] = {
    {"yes", 'y', NULL, N_("do not ask")},
    {"discard-work", 0, NULL,
     N_("also with work that exists nowhere else; git ls --lost has it for 30 days")},
    {NULL},
};
const struct verb verb_rm = {
    .name = "rm",
    .synopsis = "NAME... [--yes] [--discard-work]",
    .help = N_("remove projects with their machines and disks"),
    .options = rm_options,
    .min_args = 1,
    .max_args = -1,
    .run = run_rm,
};
