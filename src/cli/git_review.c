/* The verbs that look at what came out of a machine: git log, git diff, git reject. */
#include "cli/git.h"

#include "base/alloc.h"
#include "base/text.h"
#include "base/units.h"
#include "base/words.h"
#include "cli/out.h"
#include "cli/project.h"
#include "cli/request.h"

#include <string.h>

#define SHORT_ID 12

int git_place_find(const struct args *args, struct git_place *ret_place, struct error **err)
{
    struct git_place place = {.branch = args_word(args, 1), .repo = args_value(args, "repo")};
    const char *first = args_word(args, 0);
    const char *given = place.branch ? first : NULL;

    int rc = client_connect(true, &place.client, err);
    if (rc == 0 && first && !place.branch) {
        struct error *why = NULL;
        auto(json) json_t *project = NULL;
        rc = *first ? project_show(place.client, first, &project, &why) : -ERROR_NOT_FOUND;
        if (rc == 0)
            given = first;
        else if (rc == -ERROR_NOT_FOUND)
            place.branch = first;
        if (rc == -ERROR_NOT_FOUND)
            rc = 0;
        rc = rc < 0 ? error_move(err, &why) : 0;
        error_free(why);
    }
    if (rc == 0)
        rc = project_name(place.client, given, &place.project, err);
    if (rc < 0)
        git_place_finish(&place);
    else
        *ret_place = place;
    return rc;
}

void git_place_finish(struct git_place *place)
{
    free(place->project);
    client_close(place->client);
}

char *git_place_path(const struct git_place *place, const char *route, const char *more)
{
    autofree char *repo = place->repo ? json_url_encode(place->repo, strlen(place->repo)) : NULL;
    autofree char *branch = place->branch ? json_url_encode(place->branch, strlen(place->branch)) : NULL;
    autofree char *suffix = xasprintf("%s?x=1%s%s%s%s%s", route, repo ? "&repo=" : "", repo ? repo : "",
                                      branch ? "&branch=" : "", branch ? branch : "", more);
    return project_path(place->project, "%s", suffix);
}

/* Prints safe text of hutchd with its line ends and tabs. */
static void print_words(const char *indent, const char *words)
{
    struct text text;
    char *next;
    char *line;

    text_init(&text, words, strlen(words), 0, TEXT_KEEP_NEWLINES);
    next = text.bytes;
    while ((line = strsep(&next, "\n")))
        out_text("%s%s\n", indent, line);
    text_finish(&text);
}

static void print_json(json_t *line, void *user)
{
    out_json(line);
}

/* Lines of a route, as JSON or by `print`. */
static int show_lines(const struct args *args, const char *route, const char *more, json_line_fn print,
                      void *user, struct error **err)
{
    struct git_place place;

    int rc = git_place_find(args, &place, err);
    if (rc < 0)
        return rc;
    autofree char *path = git_place_path(&place, route, more);
    rc = client_lines(place.client, "GET", path, NULL, args_has(args, "json") ? print_json : print, user,
                      NULL, err);
    git_place_finish(&place);
    return rc;
}

/* ---- log ---- */

static void print_commit(json_t *commit, void *user)
{
    if (!json_object_get(commit, "id")) {
        autofree char *name = out_member(commit, "name");
        out_text("%s  %.*s\n\n", name, SHORT_ID, out_string(commit, "tip"));
        if (json_is_true(json_object_get(commit, "more")))
            out_note(_("there are more commits than are shown: --max NUMBER"));
        return;
    }
    autofree char *author = out_member(commit, "author");
    autofree char *mail = out_member(commit, "mail");
    autofree char *when = out_time(out_number(commit, "time", 0) * 1000000000);
    autofree char *subject = out_member(commit, "subject");
    out_text("commit %s\n", out_string(commit, "id"));
    out_text(out_word(N_("Author: %s <%s>\n")), author, mail);
    out_text(out_word(N_("Date:   %s\n")), when);
    out_text("\n    %s\n", subject);
    if (*out_string(commit, "body")) {
        out_text("\n");
        print_words("    ", out_string(commit, "body"));
    }
    out_text("\n");
}

static int run_log(const struct args *args, struct error **err)
{
    const char *max = args_value(args, "max");
    uint64_t number = 0;

    int rc = max ? units_parse_number(max, 1, 2000, &number, err) : 0;
    if (rc < 0)
        return error_prefix(err, "--max");
    autofree char *more = max ? xasprintf("&max=%llu", (unsigned long long)number) : xstrdup("");
    return show_lines(args, "/git/log", more, print_commit, NULL, err);
}

static const struct option_spec log_options[] = {
    GIT_OPTION_REPO,
    {"max", 0, "NUMBER", N_("at most so many commits; 500 if not given")},
    {"json", 0, NULL, N_("one JSON object a line")},
    {NULL},
};
const struct verb verb_git_log = {
    .name = "git log",
    .synopsis = "[NAME] [BRANCH] [--repo REPO] [--max NUMBER] [--json]",
    .help = N_("show the commits of a branch that your remote has not"),
    .options = log_options,
    .max_args = 2,
    .run = run_log,
};

/* ---- diff ---- */

struct diff_printer {
    bool stat;
};

/* "M", "+3 -1" and what else is to be known of a file. */
static void print_file(const json_t *file, bool stat)
{
    autofree char *path = out_member(file, "path");
    autofree char *old_path = out_member(file, "old_path");
    autofree char *class = out_member(file, "class");
    autofree char *target = out_member(file, "target");
    const char *kind = out_string(file, "kind");
    const char *old_mode = out_string(file, "old_mode");
    const char *new_mode = out_string(file, "new_mode");
    bool binary = json_is_true(json_object_get(file, "binary"));
    bool moded = *old_mode && *new_mode && strcmp(old_mode, new_mode) != 0;

    out_text("%s%s  %s%s%s", stat ? "" : "\n", out_string(file, "status"), *old_path ? old_path : "",
             *old_path ? " -> " : "", path);
    if (json_is_integer(json_object_get(file, "insertions")))
        out_text("  +%lld -%lld", (long long)out_number(file, "insertions", 0),
                 (long long)out_number(file, "deletions", 0));
    if (moded || (*new_mode && !*old_mode && strcmp(new_mode, "100644") != 0))
        out_text("  %s%s%s", moded ? old_mode : "", moded ? " -> " : "", new_mode);
    if (binary || json_is_true(json_object_get(file, "too_large")))
        out_text("  %s %lld -> %lld", binary ? out_word(N_("binary")) : out_word(N_("too large to compare")),
                 (long long)out_number(file, "old_size", 0), (long long)out_number(file, "new_size", 0));
    if (strcmp(kind, "file") != 0)
        out_text("  %s%s%s", kind, *target ? " -> " : "", target);
    if (json_is_true(json_object_get(file, "outside")))
        out_text(out_word(N_("  LEADS OUT OF THE TREE")));
    if (*class)
        out_text(out_word(N_("  RUNS OR STEERS TOOLS HERE (%s)")), class);
    out_text("\n");
    if (!stat) {
        out_text("--- %s%s\n", *old_mode ? "a/" : "/dev/null",
                 *old_mode ? (*old_path ? old_path : path) : "");
        out_text("+++ %s%s\n", *new_mode ? "b/" : "/dev/null", *new_mode ? path : "");
    }
}

static void print_diff(json_t *line, void *user)
{
    const struct diff_printer *printer = user;
    const json_t *lines = json_object_get(line, "lines");
    size_t i;
    json_t *one;

    if (json_object_get(line, "tip")) {
        autofree char *name = out_member(line, "name");
        long long files = (long long)out_number(line, "files", 0);
        out_text("%s  %.*s  ", name, SHORT_ID, out_string(line, "tip"));
        out_text(out_word(N_("files: %lld\n")), files);
        if (json_is_true(json_object_get(line, "cut")))
            out_note(_("there are more files than are shown"));
    } else if (json_object_get(line, "status")) {
        print_file(line, printer->stat);
    } else if (json_object_get(line, "header")) {
        autofree char *header = out_member(line, "header");
        out_text("%s\n", header);
    } else if (json_is_true(json_object_get(line, "cut"))) {
        out_note(_("the rest is not shown: it is too much. Name a file with --path"));
    }
    json_array_foreach((json_t *)(uintptr_t)lines, i, one)
    {
        const char *text = json_string_value(one);
        print_words("", text && *text == '\\' ? "\\ No newline at end of file" : text ? text : "");
    }
}

static int run_diff(const struct args *args, struct error **err)
{
    struct diff_printer printer = {.stat = args_has(args, "stat")};
    const char *path = args_value(args, "path");
    autofree char *encoded = path ? json_url_encode(path, strlen(path)) : NULL;
    autofree char *more =
        xasprintf("%s%s%s", printer.stat ? "" : "&lines=1", path ? "&path=" : "", path ? encoded : "");

    return show_lines(args, "/git/diff", more, print_diff, &printer, err);
}

static const struct option_spec diff_options[] = {
    GIT_OPTION_REPO,
    {"path", 0, "FILE", N_("this file alone, named as the list has it")},
    {"stat", 0, NULL, N_("the list of files, without their lines")},
    {"json", 0, NULL, N_("one JSON object a line")},
    {NULL},
};
const struct verb verb_git_diff = {
    .name = "git diff",
    .synopsis = "[NAME] [BRANCH] [--repo REPO] [--path FILE] [--stat] [--json]",
    .help = N_("show what landing a branch would change, first what tools obey"),
    .options = diff_options,
    .max_args = 2,
    .run = run_diff,
};

/* ---- reject ---- */

struct push_search {
    const char *branch; /* NULL: any */
    int64_t ids[16];
    size_t count;
};

static void look(json_t *row, void *user)
{
    struct push_search *search = user;
    if (!strcasecmp(out_string(row, "kind"), "push") && search->count < countof(search->ids))
        search->ids[search->count++] = out_number(row, "id", 0);
}

/* Whether a request is about this branch (and repository). */
static int is_about(const struct git_place *place, int64_t id, bool *ret, struct error **err)
{
    autofree char *path = xasprintf("/v1/requests/%lld", (long long)id);
    auto(json) json_t *request = NULL;

    int rc = client_call(place->client, "GET", path, NULL, &request, err);
    if (rc < 0)
        return rc;
    const json_t *fields = json_object_get(request, "fields");
    const char *name = out_string(fields, *out_string(fields, "tag") ? "tag" : "branch");
    *ret = (!place->branch || !strcmp(name, place->branch)) &&
           (!place->repo || !strcmp(out_string(fields, "repo"), place->repo));
    return 0;
}

/* The number of the open push that is meant. */
static int find_push(const struct git_place *place, int64_t *ret_id, struct error **err)
{
    autofree char *encoded = json_url_encode(place->project, strlen(place->project));
    autofree char *path = xasprintf("/v1/requests?project=%s", encoded);
    struct push_search search = {0};
    size_t found = 0;

    int rc = client_lines(place->client, "GET", path, NULL, look, &search, NULL, err);
    for (size_t i = 0; rc == 0 && i < search.count; i++) {
        bool about = false;
        rc = is_about(place, search.ids[i], &about, err);
        if (rc == 0 && about && ++found == 1)
            *ret_id = search.ids[i];
    }
    if (rc < 0 || found == 1)
        return rc;
    if (found == 0)
        error_set(err, ERROR_NOT_FOUND, _("no push of it waits for an answer"));
    else
        error_set(err, ERROR_USAGE, _("%zu pushes wait for an answer: name the branch"), found);
    return error_hint(err, _("which ones: hutch requests"));
}

static int run_reject(const struct args *args, struct error **err)
{
    struct git_place place;
    int64_t id = 0;

    int rc = git_place_find(args, &place, err);
    if (rc < 0)
        return rc;
    rc = find_push(&place, &id, err);
    if (rc == 0)
        rc = request_answer(place.client, args, id, false, err);
    git_place_finish(&place);
    return rc;
}

static const struct option_spec reject_options[] = {
    GIT_OPTION_REPO,
    {"message", 'm', "TEXT", N_("why: the agent is told")},
    {"json", 0, NULL, N_("print the answer as JSON, not the request")},
    {NULL},
};
const struct verb verb_git_reject = {
    .name = "git reject",
    .synopsis = "[NAME] [BRANCH] [-m TEXT] [--repo REPO] [--json]",
    .help = N_("deny a push that waits; its commits stay in the quarantine"),
    .options = reject_options,
    .max_args = 2,
    .run = run_reject,
};
