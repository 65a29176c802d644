/* The verbs of snapshots: snapshot, snapshots, snapshot note, snapshot rm. */
#include "cli/args.h"

#include "base/alloc.h"
#include "base/units.h"
#include "base/words.h"
#include "cli/out.h"
#include "cli/progress.h"
#include "cli/project.h"
#include "cli/snap.h"

#include <string.h>

/* ---- snapshot ---- */

/* How its disk was when it was taken, where that is worth a word. */
static const char *how(const json_t *snapshot)
{
    const char *consistent = out_string(snapshot, "consistent");

    return strcmp(consistent, "crash") == 0 ? out_word(N_("as after a power cut"))
           : strcmp(consistent, "off") == 0 ? out_word(N_("the machine was off"))
                                            : NULL;
}

static int run_snapshot(const struct args *args, struct error **err)
{
    auto(client) struct client *client = NULL;
    auto(json) json_t *result = NULL;
    autofree char *path = NULL;
    int rc = project_begin(args, 0, "/snapshots", &client, &path, err);
    if (rc < 0)
        return rc;
    auto(json) json_t *body = json_pack("{s:s*}", "note", args_value(args, "note"));
    rc = progress_call(client, "POST", path, body, &result, err);
    if (rc < 0)
        return rc;
    if (args_has(args, "json")) {
        out_json(result);
        return 0;
    }
    const char *words = how(result);
    out_text(out_word(N_("%s, the machine stood still for %lld ms")), out_string(result, "snap"),
             (long long)out_number(result, "pause_ms", 0));
    out_text("%s%s\n", words ? "; " : "", words ? words : "");
    return 0;
}

static const struct option_spec snapshot_options[] = {{"note", 'm', "NOTE", N_("what it is for")},
                                                      {"json", 0, NULL, N_("the snapshot as a JSON object")},
                                                      {NULL}};
const struct verb verb_snapshot = {
    .name = "snapshot",
    .synopsis = "[NAME] [-m NOTE] [--json]",
    .help = N_("keep a machine's disk as it is now"),
    .options = snapshot_options,
    .max_args = 1,
    .run = run_snapshot,
};

/* ---- snapshots ---- */

static void print_json(json_t *line, void *user)
{
    (void)user;
    out_json(line);
}

static void add_row(json_t *row, void *user)
{
    struct table *table = user;
    autofree char *snap =
        xasprintf("%s%s", out_string(row, "snap"), json_is_true(json_object_get(row, "here")) ? " *" : "");
    autofree char *age = out_age(out_number(row, "when", 0));
    char holds[UNITS_SIZE_MAX];
    bool crash = strcmp(out_string(row, "consistent"), "crash") == 0;

    units_format_size((uint64_t)out_number(row, "holds", 0), holds);
    table_add(table, snap);
    table_add(table, out_string(row, "parent"));
    table_add(table, age);
    table_add(table, out_word(out_string(row, "cause")));
    table_add(table, crash ? out_word(N_("disk, cut")) : out_word(out_string(row, "kind")));
    table_add(table, holds);
    table_add(table, *out_string(row, "note") ? out_string(row, "note") : out_string(row, "about"));
}

static int run_snapshots(const struct args *args, struct error **err)
{
    static const char *const titles[] = {N_("SNAP"), N_("ON"),    N_("AGE"),  N_("CAUSE"),
                                         N_("KIND"), N_("HOLDS"), N_("NOTE"), NULL};
    struct table table = {.titles = titles, .right = "llrllrl"};
    bool json = args_has(args, "json");
    auto(client) struct client *client = NULL;
    autofree char *path = NULL;
    int rc = project_begin(args, 0, "/snapshots", &client, &path, err);

    if (rc == 0)
        rc = client_lines(client, "GET", path, NULL, json ? print_json : add_row, &table, NULL, err);
    if (rc == 0 && !json)
        table_print(&table);
    table_finish(&table);
    return rc;
}

static const struct option_spec list_options[] = {{"json", 0, NULL, N_("one JSON object a line")}, {NULL}};
const struct verb verb_snapshots = {
    .name = "snapshots",
    .synopsis = "[NAME] [--json]",
    .help = N_("list the snapshots of a machine; * is the one it stands on"),
    .options = list_options,
    .max_args = 1,
    .run = run_snapshots,
};

/* ---- snapshot note ---- */

static int run_note(const struct args *args, struct error **err)
{
    auto(client) struct client *client = NULL;
    auto(json) json_t *result = NULL;
    autofree char *path = NULL;
    int rc = client_connect(true, &client, err);

    if (rc == 0)
        rc = snap_path(client, args_word(args, 0), "/note", &path, err);
    if (rc < 0)
        return rc;
    auto(json) json_t *body = json_pack("{s:s}", "note", args_word(args, 1));
    return client_call(client, "POST", path, body, &result, err);
}

const struct verb verb_snapshot_note = {
    .name = "snapshot note",
    .synopsis = "[NAME]@SNAP NOTE",
    .help = N_("say what a snapshot is for"),
    .min_args = 2,
    .max_args = 2,
    .run = run_note,
};

/* ---- snapshot rm ---- */

static int run_rm(const struct args *args, struct error **err)
{
    auto(client) struct client *client = NULL;
    auto(json) json_t *result = NULL;
    autofree char *path = NULL;
    int rc = client_connect(true, &client, err);

    if (rc == 0)
        rc = snap_path(client, args_word(args, 0), args_has(args, "discard-work") ? "?discard_work=1" : "",
                       &path, err);
    if (rc == 0)
        rc = progress_call(client, "DELETE", path, NULL, &result, err);
    if (rc == 0 && args_has(args, "json"))
        out_json(result);
    return rc;
}

static const struct option_spec rm_options[] = {
    {"discard-work", 0, NULL, N_("also if nothing else holds what was written up to it")},
    {"json", 0, NULL, N_("the result as a JSON object")},
    {NULL}};
const struct verb verb_snapshot_rm = {
    .name = "snapshot rm",
    .synopsis = "[NAME]@SNAP [--discard-work] [--json]",
    .help = N_("remove a snapshot; what was made after it stays whole"),
    .options = rm_options,
    .min_args = 1,
    .max_args = 1,
    .run = run_rm,
};
