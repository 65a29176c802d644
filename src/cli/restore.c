/* The verbs that go back: restore, undo. */
#include "cli/args.h"

#include "base/alloc.h"
#include "base/words.h"
#include "cli/out.h"
#include "cli/progress.h"
#include "cli/project.h"
#include "cli/snap.h"

#include <string.h>

#define UNDO_FETCH_NOTE N_("git in it could not be asked for what it alone has: %s")

static int go_back(struct client *client, const char *name, const char *snap, bool discard, bool json,
                   struct error **err)
{
    autofree char *path = project_path(name, "/restore");
    auto(json) json_t *body = json_pack("{s:s, s:b}", "snap", snap, "discard", discard);
    auto(json) json_t *result = NULL;
    int rc = progress_call(client, "POST", path, body, &result, err);

    if (rc < 0)
        return rc;
    if (json)
        out_json(result);
    else if (*out_string(result, "kept"))
        out_text(out_word(N_("back on %s; what was there before is kept as %s\n")),
                 out_string(result, "snap"), out_string(result, "kept"));
    else
        out_text(out_word(N_("back on %s\n")), out_string(result, "snap"));
    return 0;
}

/* ---- restore ---- */

static int run_restore(const struct args *args, struct error **err)
{
    auto(client) struct client *client = NULL;
    autofree char *given = NULL, *name = NULL, *snap = NULL;
    int rc = snap_split(args_word(args, 0), &given, &snap, err);

    if (rc == 0 && !snap)
        rc = snap_missing(given, err);
    if (rc == 0)
        rc = client_connect(true, &client, err);
    if (rc == 0)
        rc = project_name(client, given, &name, err);
    if (rc < 0)
        return rc;
    return go_back(client, name, snap, args_has(args, "discard"), args_has(args, "json"), err);
}

static const struct option_spec restore_options[] = {
    {"discard", 0, NULL, N_("give the present up instead of keeping it as a snapshot")},
    {"json", 0, NULL, N_("the result as a JSON object")},
    {NULL}};
const struct verb verb_restore = {
    .name = "restore",
    .synopsis = "[NAME]@SNAP [--discard] [--json]",
    .help = N_("go back to a snapshot; the present is kept as one before"),
    .options = restore_options,
    .min_args = 1,
    .max_args = 1,
    .run = run_restore,
};

/* ---- undo ---- */

static void take_here(json_t *row, void *user)
{
    char **snap = user;

    if (!*snap && json_is_true(json_object_get(row, "here")))
        *snap = xstrdup(out_string(row, "snap"));
}

/* The snapshot on which the present stands: what came after it is what is undone. */
static int find_here(struct client *client, const char *name, char **ret_snap, struct error **err)
{
    autofree char *path = project_path(name, "/snapshots");
    int rc = client_lines(client, "GET", path, NULL, take_here, ret_snap, NULL, err);

    if (rc < 0 || *ret_snap)
        return rc;
    error_set(err, ERROR_NOT_FOUND, _("\"%s\" stands on no snapshot: there is nothing to go back to"), name);
    return error_hint(err, _("\"hutch snapshot %s\" makes one for the next time"), name);
}

static void print_list(const json_t *list, const char *key, int64_t count)
{
    const json_t *row;
    size_t i;

    json_array_foreach(list, i, row)
    {
        autofree char *text = out_member(row, key);
        out_text("    %s\n", text);
    }
    if (count > (int64_t)json_array_size(list))
        out_text("    …\n");
}

static void print_plan(const char *name, const json_t *plan)
{
    autofree char *age = out_age(out_number(plan, "when", 0)), *note = out_member(plan, "note");
    int64_t commands = out_number(plan, "commands", 0), sessions = out_number(plan, "session_count", 0),
            outside = out_number(plan, "outside_count", 0);

    out_text(out_word(N_("%s goes back to %s, %s old%s%s\n")), name, out_string(plan, "snap"), age,
             *note ? ": " : "", note);
    out_text(out_word(N_("  undone: all that was written in it since; %lld commands were started\n")),
             (long long)commands);
    if (sessions)
        out_text(out_word(N_("  ends, %lld that run:\n")), (long long)sessions);
    print_list(json_object_get(plan, "sessions"), "command", sessions);
    if (outside)
        out_text(out_word(N_("  stays, for it left the machine:\n")));
    print_list(json_object_get(plan, "outside"), "subject", outside);
    out_text(out_word(N_("  kept: the present as a snapshot, and all other snapshots\n")));
}

/* What git in the machine alone has comes out first; that it cannot be asked is no reason to stop, for the
 * present is kept. */
static void fetch_git(struct client *client, const char *name)
{
    autofree char *path = project_path(name, "/git/fetch");
    auto(error) struct error *why = NULL;
    auto(json) json_t *result = NULL;

    if (progress_call(client, "POST", path, NULL, &result, &why) < 0)
        out_note(_(UNDO_FETCH_NOTE), why->message);
}

/* NAME, @SNAP, NAME@SNAP, or NAME @SNAP. */
static int read_words(const struct args *args, char **ret_name, char **ret_snap, struct error **err)
{
    autofree char *name = NULL, *snap = NULL;
    int rc = args->word_count ? snap_split(args_word(args, 0), ret_name, ret_snap, err) : 0;

    if (rc < 0 || args->word_count < 2)
        return rc;
    rc = snap_split(args_word(args, 1), &name, &snap, err);
    if (rc == 0 && (name || !snap || *ret_snap))
        return error_set(err, ERROR_USAGE, _("a project and one snapshot are meant: NAME @12"));
    *ret_snap = steal(&snap);
    return rc;
}

static int run_undo(const struct args *args, struct error **err)
{
    auto(client) struct client *client = NULL;
    auto(json) json_t *plan = NULL;
    autofree char *given = NULL, *name = NULL, *snap = NULL;
    int rc = read_words(args, &given, &snap, err);

    if (rc == 0)
        rc = client_connect(true, &client, err);
    if (rc == 0)
        rc = project_name(client, given, &name, err);
    if (rc == 0 && !snap)
        rc = find_here(client, name, &snap, err);
    if (rc < 0)
        return rc;
    autofree char *path = project_path(name, "/snapshots/%s/plan", snap);
    rc = client_call(client, "GET", path, NULL, &plan, err);
    if (rc < 0)
        return rc;
    if (!args_has(args, "json"))
        print_plan(name, plan);
    if (!args_has(args, "yes")) {
        out_flush(NULL);
        rc = out_ask(_("Go back?"), err);
    }
    if (rc < 0)
        return rc;
    if (json_is_true(json_object_get(plan, "running")))
        fetch_git(client, name);
    return go_back(client, name, snap, false, args_has(args, "json"), err);
}

static const struct option_spec undo_options[] = {
    {"yes", 'y', NULL, N_("do not ask")}, {"json", 0, NULL, N_("the result as a JSON object")}, {NULL}};
const struct verb verb_undo = {
    .name = "undo",
    .synopsis = "[NAME] [@SNAP] [-y] [--json]",
    .help = N_("go back to the last snapshot, or to another; shows first what that undoes"),
    .options = undo_options,
    .max_args = 2,
    .run = run_undo,
};
