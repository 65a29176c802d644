/* hutch land: a branch that was made in a machine becomes one of the user's own repository. */
#include "cli/git.h"

#include "base/alloc.h"
#include "base/text.h"
#include "base/words.h"
#include "cli/out.h"
#include "cli/progress.h"
#include "cli/project.h"

#include <limits.h>
#include <string.h>

/* The numbers of "2,4-6", from 1, as hunks from 0. NULL: it is no such list. */
static json_t *read_hunks(const char *text)
{
    json_t *hunks = json_array();

    while (*text) {
        char *end;
        unsigned long from = strtoul(text, &end, 10);
        unsigned long to = from;
        if (end != text && *end == '-') {
            const char *second = end + 1;
            to = strtoul(second, &end, 10);
            from = end == second ? 0 : from;
        }
        if (end == text || from < 1 || to < from || to > INT_MAX || to - from > 10000 ||
            (*end && (*end != ',' || !end[1])))
            break;
        for (unsigned long n = from; n <= to; n++)
            json_array_append_new(hunks, json_integer((json_int_t)(n - 1)));
        text = *end ? end + 1 : end;
    }
    if (!*text && json_array_size(hunks) > 0)
        return hunks;
    json_decref(hunks);
    return NULL;
}

/* "PATH" or "PATH:HUNKS"; a colon that no numbers follow belongs to the name. */
static int add_file(json_t *files, const char *spec, struct error **err)
{
    const char *colon = strrchr(spec, ':');
    json_t *hunks = colon && colon > spec && colon[1] ? read_hunks(colon + 1) : NULL;
    size_t len = hunks ? (size_t)(colon - spec) : strlen(spec);
    json_t *path = json_stringn(spec, len);

    if (!path || len == 0) {
        json_decref(hunks);
        json_decref(path);
        return error_set(err, ERROR_INVALID,
                         _("--files wants PATH or PATH:HUNKS, as \"hutch git diff\" shows them"));
    }
    json_t *file = json_pack("{s:o}", "path", path);
    if (hunks)
        json_object_set_new(file, "hunks", hunks);
    json_array_append_new(files, file);
    return 0;
}

static int set_word(json_t *body, const char *key, const char *value, struct error **err)
{
    if (!value)
        return 0;
    if (json_object_set_new(body, key, json_string(value)) < 0)
        return error_set(err, ERROR_INVALID, _("\"%s\" is not UTF-8"), key);
    return 0;
}

/* The user's repository as a full path. */
static int set_into(json_t *body, const char *into, struct error **err)
{
    if (!into)
        return 0;
    autofree char *full = realpath(into, NULL);
    if (!full) {
        autofree char *safe = text_safe(into);
        return error_set(err, ERROR_NOT_FOUND, _("there is no folder \"%s\""), safe);
    }
    return set_word(body, "into", full, err);
}

static int make_body(const struct args *args, const struct git_place *place, json_t *body, struct error **err)
{
    int rc = set_word(body, "repo", place->repo, err);
    const char *value;

    if (rc == 0)
        rc = set_word(body, "branch", place->branch, err);
    if (rc == 0)
        rc = set_word(body, "as", args_value(args, "as"), err);
    if (rc == 0)
        rc = set_word(body, "message", args_value(args, "message"), err);
    if (rc == 0)
        rc = set_into(body, args_value(args, "into"), err);
    json_object_set_new(body, "push", json_boolean(args_has(args, "push")));
    json_object_set_new(body, "fast_forward", json_boolean(args_has(args, "fast-forward")));
    if (args_has(args, "files")) {
        json_t *files = json_array();
        json_object_set_new(body, "files", files);
        for (size_t i = 0; rc == 0 && (value = args_nth(args, "files", i)); i++)
            rc = add_file(files, value, err);
    }
    if (args_has(args, "allow-link")) {
        json_t *links = json_array();
        json_object_set_new(body, "allow_links", links);
        for (size_t i = 0; rc == 0 && (value = args_nth(args, "allow-link", i)); i++)
            if (json_array_append_new(links, json_string(value)) < 0)
                rc = error_set(err, ERROR_INVALID, _("\"%s\" is not UTF-8"), "allow-link");
    }
    return rc;
}

/* Before the act: what of it runs or steers tools here, to be looked at. */
struct warned {
    size_t count;
    json_t *tip;
};

static void look(json_t *line, void *user)
{
    struct warned *warned = user;
    const char *tip = out_string(line, "tip");
    const char *class = out_string(line, "class");

    if (*tip) {
        warned->tip = json_string(tip);
        return;
    }
    if (!*class || !json_object_get(line, "status"))
        return;
    autofree char *path = out_member(line, "path");
    if (warned->count++ == 0)
        out_note(_("tools on this computer run or obey these files of it:"));
    out_note("  %s  %s  (%s)", out_string(line, "status"), path, class);
}

/* Looks at the list first, so that exactly what was looked at is landed; asks if there is something to see.
 */
static int confirm(const struct args *args, const struct git_place *place, json_t *body, struct error **err)
{
    autofree char *path = git_place_path(place, "/git/diff", "");
    struct warned warned = {0};

    int rc = client_lines(place->client, "GET", path, NULL, look, &warned, NULL, err);
    if (warned.tip)
        json_object_set_new(body, "commit", warned.tip);
    if (rc == 0 && warned.count > 0 && !args_has(args, "yes"))
        rc = out_ask(_("land it?"), err);
    return rc;
}

static void say(const json_t *result)
{
    autofree char *branch = out_member(result, "branch");
    autofree char *repository = out_member(result, "repository");
    autofree char *pushed = out_member(result, "pushed");
    int64_t request = out_number(result, "request", 0);

    out_text(out_word(N_("landed: branch %s in %s\n")), branch, repository);
    if (*pushed)
        out_text(out_word(N_("pushed to %s\n")), pushed);
    if (request)
        out_text(out_word(N_("#%lld is answered by it\n")), (long long)request);
}

static int run_land(const struct args *args, struct error **err)
{
    struct git_place place;
    auto(json) json_t *body = json_object();
    auto(json) json_t *result = NULL;

    int rc = git_place_find(args, &place, err);
    if (rc < 0)
        return rc;
    rc = make_body(args, &place, body, err);
    if (rc == 0)
        rc = confirm(args, &place, body, err);
    autofree char *path = project_path(place.project, "/git/land");
    if (rc == 0)
        rc = progress_call(place.client, "POST", path, body, &result, err);
    git_place_finish(&place);
    if (rc < 0)
        return rc;
    if (args_has(args, "json"))
        out_json(result);
    else
        say(result);
    return 0;
}

static const struct option_spec options[] = {
    {"as", 0, "BRANCH", N_("the branch's name in your repository; hutch/NAME/BRANCH if not given")},
    {"files", 0, "PATH[:HUNKS]",
     N_("these files or hunks (2,4-6) alone, as one new commit; may be given again"), true},
    {"push", 0, NULL, N_("push the branch to your repository's origin too")},
    {"into", 0, "DIR", N_("your repository, if the project was not made of it")},
    {"fast-forward", 0, NULL, N_("move a branch that is there, if nothing of it is lost")},
    {"allow-link", 0, "PATH",
     N_("take this symbolic link, though it leads out of the tree; may be given again"), true},
    {"message", 'm', "TEXT", N_("message of the commit that --files makes")},
    GIT_OPTION_REPO,
    {"yes", 'y', NULL, N_("do not ask about files that tools run or obey")},
    {"json", 0, NULL, N_("print the result as JSON")},
    {NULL},
};
const struct verb verb_land = {
    .name = "land",
    .synopsis = "[NAME] [BRANCH] [--as BRANCH] [--files PATH[:HUNKS]] [--push] [--into DIR] [--fast-forward] "
                "[--allow-link PATH] [-m TEXT] [--repo REPO] [-y] [--json]",
    .help = N_("make a branch of your own repository of one that was made in a machine"),
    .options = options,
    .max_args = 2,
    .run = run_land,
};
