/* hutch up: from a folder, a name or repositories to a machine that runs. */
#include "cli/args.h"

#include "base/alloc.h"
#include "base/file.h"
#include "base/text.h"
#include "base/units.h"
#include "base/words.h"
#include "cli/out.h"
#include "cli/progress.h"
#include "cli/project.h"
#include "cli/remote.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

/* Whether a word of the command line is a folder and not a name. */
static bool is_folder_word(const char *word)
{
    return strchr(word, '/') || strcmp(word, ".") == 0 || strcmp(word, "..") == 0;
}

/* Whether git would find a repository from this folder (an absolute path). */
static bool in_repository(const char *folder)
{
    autofree char *at = xstrdup(folder);
    autofree char *head = file_join(folder, "HEAD");
    autofree char *objects = file_join(folder, "objects");
    if (file_exists(head) && file_exists(objects))
        return true;
    for (;;) {
        autofree char *git = file_join(at, ".git");
        if (file_exists(git))
            return true;
        char *slash = strrchr(at, '/');
        if (!slash || slash == at)
            return false;
        *slash = '\0';
    }
}

/* hutchd has another working folder: a relative path of a repository is made absolute, a URL stays as it is.
 */
static int absolute_repo(const char *spec, char **ret_spec, struct error **err)
{
    const char *hash = strrchr(spec, '#');
    autofree char *path = hash ? xstrndup(spec, (size_t)(hash - spec)) : xstrdup(spec);
    autofree char *safe = text_safe(path);
    bool is_path = path[0] == '/' || path[0] == '.' || !strchr(path, ':');
    autofree char *absolute = is_path ? realpath(path, NULL) : NULL;
    if (is_path && !absolute)
        return error_set_errno(err, errno, _("the repository \"%s\""), safe);
    *ret_spec = xasprintf("%s%s", absolute ? absolute : path, hash ? hash : "");
    return 0;
}

/* Sets a string; what is not UTF-8 cannot travel. */
static int set_string(json_t *body, const char *key, const char *value, struct error **err)
{
    if (json_object_set_new(body, key, json_string(value)) == 0)
        return 0;
    autofree char *safe = text_safe(value);
    return error_set(err, ERROR_INVALID, _("\"%s\" is not UTF-8"), safe);
}

static int set_size(json_t *body, const struct args *args, const char *option, struct error **err)
{
    const char *text = args_value(args, option);
    uint64_t bytes = 0;
    if (!text)
        return 0;
    int rc = units_parse_size(text, &bytes, err);
    if (rc == 0 && bytes > INT64_MAX)
        rc = error_set(err, ERROR_INVALID, _("\"%s\" is too much"), text);
    if (rc == 0)
        json_object_set_new(body, option, json_integer((json_int_t)bytes));
    return rc < 0 ? error_prefix(err, "--%s", option) : 0;
}

static int set_repos(json_t *body, const struct args *args, struct error **err)
{
    const char *spec;
    json_t *repos = json_array();
    json_object_set_new(body, "repos", repos);
    for (size_t i = 0; (spec = args_nth(args, "repo", i)); i++) {
        autofree char *absolute = NULL;
        int rc = absolute_repo(spec, &absolute, err);
        if (rc < 0)
            return rc;
        if (json_array_append_new(repos, json_string(absolute)) < 0)
            return error_set(err, ERROR_INVALID, _("a repository's address is not UTF-8"));
    }
    return 0;
}

/* A folder that was named must have a project or a repository: else it was most likely meant as a name. */
static int check_folder(struct client *client, const char *word, const char *folder, bool repos,
                        struct error **err)
{
    if (repos || in_repository(folder))
        return 0;
    autofree char *encoded = json_url_encode(folder, strlen(folder));
    autofree char *path = xasprintf("/v1/find?folder=%s", encoded);
    if (client_call(client, "GET", path, NULL, NULL, NULL) == 0)
        return 0;
    autofree char *safe = text_safe(word);
    error_set(err, ERROR_INVALID, _("\"%s\" is no name, and as a folder it has no git repository in it"),
              safe);
    return error_hint(err, _("a name is a-z, 0-9 and -; or give --repo URL-or-PATH"));
}

/* Name and folder of the request. Without a word, or with a name and no repository, this folder is meant. */
static int set_place(struct client *client, json_t *body, const struct args *args, struct error **err)
{
    const char *word = args_word(args, 0);
    bool repos = args_has(args, "repo"), folder_word = word && is_folder_word(word);
    autofree char *folder = realpath(folder_word ? word : ".", NULL);
    struct stat st;
    if (folder_word && (!folder || stat(folder, &st) < 0 || !S_ISDIR(st.st_mode))) {
        autofree char *safe = text_safe(word);
        error_set(err, ERROR_INVALID, _("\"%s\" is neither a project's name nor a folder"), safe);
        return error_hint(err, _("a name is a-z, 0-9 and -, at most 32 of them"));
    }
    int rc = 0;
    if (folder_word)
        rc = check_folder(client, word, folder, repos, err);
    else if (word)
        rc = set_string(body, "name", word, err);
    if (rc == 0 && folder && (!word || folder_word || (!repos && in_repository(folder))))
        rc = set_string(body, "folder", folder, err);
    return rc;
}

/* Whether the request is for a project that is there already. */
static bool is_there(struct client *client, const json_t *body)
{
    const char *name = out_string(body, "name"), *folder = out_string(body, "folder");
    auto(json) json_t *found = NULL, *project = NULL;
    if (!*name) { /* a parent folder's project is another one */
        autofree char *encoded = json_url_encode(folder, strlen(folder));
        autofree char *path = xasprintf("/v1/find?folder=%s", encoded);
        if (client_call(client, "GET", path, NULL, &found, NULL) < 0)
            return false;
        name = out_string(found, "name");
    }
    if (project_show(client, name, &project, NULL) < 0)
        return false;
    return json_object_get(body, "name") || strcmp(out_string(project, "folder"), folder) == 0;
}

/* A new machine without code in it may not be what was meant: said before the time it takes, and no question.
 */
static void note_empty(struct client *client, const json_t *body)
{
    const char *name = out_string(body, "name"), *folder = out_string(body, "folder");
    autofree char *here = *folder ? NULL : realpath(".", NULL);
    const char *place = *folder ? folder : here ? here : ".";
    if (json_array_size(json_object_get(body, "repos")) > 0 || in_repository(place) || is_there(client, body))
        return;
    autofree char *safe = text_safe(place);
    out_note(_("no git repository in \"%s\": the machine begins empty"), safe);
    out_note(
        _("  hutch up%s%s --repo URL-or-PATH brings code in, also later; hutch cp FILE %s: brings files in"),
        *name ? " " : "", name, name);
}

static int fill_body(struct client *client, json_t *body, const struct args *args, struct error **err)
{
    const char *cpus = args_value(args, "cpus"), *template = args_value(args, "template");
    const char *egress = args_value(args, "egress");
    uint64_t count = 0;
    int rc = set_place(client, body, args, err);
    if (rc == 0 && template)
        rc = set_string(body, "template", template, err);
    if (rc == 0 && egress)
        rc = set_string(body, "egress", egress, err);
    if (rc == 0 && cpus)
        rc = units_parse_number(cpus, 1, 128, &count, err) < 0 ? error_prefix(err, "--cpus") : 0;
    if (rc == 0 && cpus)
        json_object_set_new(body, "cpus", json_integer((json_int_t)count));
    if (rc == 0)
        rc = set_size(body, args, "memory", err);
    if (rc == 0)
        rc = set_size(body, args, "disk", err);
    if (rc == 0)
        rc = set_repos(body, args, err);
    if (rc == 0 && args_has(args, "cold"))
        json_object_set_new(body, "cold", json_true());
    return rc;
}

static int run_up(const struct args *args, struct error **err)
{
    auto(client) struct client *client = NULL;
    auto(json) json_t *body = json_object();
    auto(json) json_t *project = NULL;
    int64_t begun = units_monotonic_ns();
    int rc = client_connect(true, &client, err);
    if (rc == 0)
        rc = fill_body(client, body, args, err);
    if (rc == 0)
        note_empty(client, body);
    bool fresh = rc == 0 && !is_there(client, body);
    if (rc == 0)
        rc = progress_call(client, "POST", "/v1/projects", body, &project, err);
    if (rc < 0)
        return rc;
    if (args_has(args, "json")) {
        out_json(project);
        return 0;
    }
    autofree char *name = out_member(project, "name");
    autofree char *state = out_member(project, "state");
    if (strcmp(state, "run") == 0) {
        char took[UNITS_DURATION_MAX];
        units_format_duration((uint64_t)((units_monotonic_ns() - begun) / 1000000000), took);
        out_text(_("%s ready in %s   no network card   no keys inside\n"), name, took);
    } else {
        out_text("%s: %s\n", name, state);
    }
    if (fresh)
        remote_offer(project);
    if (project_emulated(project))
        out_note("%s", _(PROJECT_EMULATED));
    return 0;
}

static const struct option_spec up_options[] = {
    {"template", 't', "TEMPLATE", N_("what the machine is made from, debian-13 if not given")},
    {"repo", 0, "URL-or-PATH[#REF]", N_("a git repository to take in"), .many = true},
    {"egress", 0, "MODE", N_("how it reaches what no rule names: ask, budget or deny; ask if not given")},
    {"cpus", 0, "N", N_("processors of the machine")},
    {"memory", 0, "SIZE", N_("its memory, for example 4G")},
    {"disk", 0, "SIZE", N_("largest size of its disk, for example 64G")},
    {"cold", 0, NULL, N_("boot it, also when a memory image is there")},
    {"yes", 'y', NULL, N_("do not ask")},
    {"json", 0, NULL, N_("print the project afterwards as JSON")},
    {NULL},
};
const struct verb verb_up = {
    .name = "up",
    .synopsis = "[NAME|DIR] [-t TEMPLATE] [--repo URL-or-PATH[#REF]]... [--egress MODE] [--cpus N] [--memory "
                "SIZE] [--disk "
                "SIZE] [--cold] [--yes] [--json]",
    .help = N_("make a project's machine, or start it; in a git repository: of this folder"),
    .options = up_options,
    .max_args = 1,
    .run = run_up,
};
