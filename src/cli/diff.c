/* hutch diff: what a machine has changed between two points of its disk. */
#include "base/alloc.h"
#include "base/text.h"
#include "base/units.h"
#include "base/words.h"
#include "cli/args.h"
#include "cli/cp.h"
#include "cli/out.h"
#include "cli/project.h"
#include "cli/snap.h"

#include <string.h>

#define HOME "/home/" CP_USER
#define HEX  12

/* What the words of the command line say. */
struct points {
    char *name, *from, *to; /* NULL: not given */
    char *path;
};

static void points_finish(struct points *points)
{
    free(points->name);
    free(points->from);
    free(points->to);
    free(points->path);
}

/* A word is [NAME]@SNAP, NAME, or a path, which has a slash. */
static int take_word(struct points *points, const char *word, bool first, struct error **err)
{
    autofree char *name = NULL, *snap = NULL;

    if (strchr(word, '/') && !points->path) {
        points->path = word[0] == '/' ? xstrdup(word) : xasprintf("%s/%s", HOME, word);
        return 0;
    }
    int rc = snap_split(word, &name, &snap, err);
    if (rc < 0)
        return rc;
    if ((name && !first) || (snap && points->to) || points->path)
        return error_set(err, ERROR_USAGE, _("\"%s\" is one word too many"), word);
    if (name)
        points->name = steal(&name);
    if (snap)
        *(points->from ? &points->to : &points->from) = steal(&snap);
    return 0;
}

/* ---- for a person ---- */

/* "0644 -> 0600", owners and sizes: what of a file is new. */
static char *differences(const json_t *old, const json_t *new)
{
    autofree char *mode = out_member(old, "mode"), *mode_now = out_member(new, "mode");
    char had[UNITS_SIZE_MAX], has[UNITS_SIZE_MAX];
    int64_t uid = out_number(old, "uid", -1), gid = out_number(old, "gid", -1);
    int64_t uid_now = out_number(new, "uid", -1), gid_now = out_number(new, "gid", -1);
    int64_t size = out_number(old, "size", 0), size_now = out_number(new, "size", 0);
    char *text = xstrdup(""), *more;

    if (strcmp(out_string(old, "type"), out_string(new, "type")) != 0) {
        more = xasprintf("  %s -> %s", out_string(old, "type"), out_string(new, "type"));
        free(text);
        text = more;
    }
    if (strcmp(mode, mode_now) != 0) {
        more = xasprintf("%s  %s -> %s", text, mode, mode_now);
        free(text);
        text = more;
    }
    if (uid != uid_now || gid != gid_now) {
        more = xasprintf("%s  %lld:%lld -> %lld:%lld", text, (long long)uid, (long long)gid,
                         (long long)uid_now, (long long)gid_now);
        free(text);
        text = more;
    }
    if (size != size_now && strcmp(out_string(new, "type"), "file") == 0) {
        more = xasprintf("%s  %s -> %s", text, units_format_size((uint64_t)size, had),
                         units_format_size((uint64_t)size_now, has));
        free(text);
        text = more;
    }
    return text;
}

static void print_file(const json_t *line)
{
    static const struct {
        const char *change;
        char sign;
    } signs[] = {{"added", 'A'}, {"changed", 'M'}, {"removed", 'D'}, {"renamed", 'R'}};
    const json_t *old = json_object_get(line, "old"), *new = json_object_get(line, "new");
    autofree char *path = out_member(line, "path"), *from = out_member(line, "from"), *more = NULL;
    const char *change = out_string(line, "change");
    bool folder = strcmp(out_string(json_is_object(new) ? new : old, "type"), "folder") == 0;
    char sign = '?', size[UNITS_SIZE_MAX];

    for (size_t i = 0; i < countof(signs); i++)
        if (strcmp(signs[i].change, change) == 0)
            sign = signs[i].sign;
    if (json_is_object(old) && json_is_object(new))
        more = differences(old, new);
    else if (sign == 'A' && strcmp(out_string(new, "type"), "file") == 0)
        more = xasprintf("  %s", units_format_size((uint64_t)out_number(new, "size", 0), size));
    out_text("%c %s%s%s%s%s\n", sign, from, *from ? " -> " : "", path, folder ? "/" : "", more ? more : "");
}

static void print_versions(const char *word, const json_t *line)
{
    autofree char *name = out_member(line, "name"), *old = out_member(line, "old"),
                  *new = out_member(line, "new");
    char sign = !*old ? '+' : !*new ? '-' : '~';

    out_text("%s %c%s %s%s%s\n", word, sign, name, old, *old && *new ? " -> " : "", new);
}

static void print_git(const json_t *line)
{
    const json_t *old = json_object_get(line, "old"), *new = json_object_get(line, "new");
    autofree char *path = out_member(line, "path");
    autofree char *branch = out_member(old, "branch"), *branch_now = out_member(new, "branch");
    autofree char *commit = out_member(old, "commit"), *commit_now = out_member(new, "commit");

    out_text("git %s %s %.*s -> %s %.*s\n", path, *branch ? branch : "-", HEX, *commit ? commit : "-",
             *branch_now ? branch_now : "-", HEX, *commit_now ? commit_now : "-");
}

static void print_head(const json_t *line)
{
    size_t i;
    const json_t *note;

    out_text(out_word(N_("%lld added, %lld changed, %lld removed, %lld renamed\n")),
             (long long)out_number(line, "added", 0), (long long)out_number(line, "changed", 0),
             (long long)out_number(line, "removed", 0), (long long)out_number(line, "renamed", 0));
    json_array_foreach(json_object_get(line, "notes"), i, note)
        out_note("%s", json_string_value(note) ? json_string_value(note) : "");
    if (json_is_true(json_object_get(line, "cut")))
        out_note("%s", _("there are more files than are listed"));
}

/* Hunks and lines of a text. */
static void print_text(const json_t *line)
{
    const json_t *lines = json_object_get(line, "lines"), *one;
    autofree char *header = out_member(line, "header");
    size_t i;

    if (*header)
        out_text("%s\n", header);
    json_array_foreach(lines, i, one)
    {
        struct text text;
        const char *bytes = json_string_value(one) ? json_string_value(one) : "";
        text_init(&text, bytes, strlen(bytes), 0, TEXT_KEEP_NEWLINES);
        if (bytes[0] == '\\')
            out_text("\\ %s\n", out_word(N_("no end of line")));
        else
            out_text("%s\n", text.bytes);
        text_finish(&text);
    }
    if (json_is_true(json_object_get(line, "cut")))
        out_note("%s", _("there are more lines than are shown"));
}

static void print(json_t *line, void *user)
{
    const char *kind = out_string(line, "kind");
    autofree char *unit = out_member(line, "unit"), *what = out_member(line, "what");

    if (strcmp(kind, "diff") == 0)
        print_head(line);
    else if (strcmp(kind, "file") == 0)
        print_file(line);
    else if (strcmp(kind, "package") == 0)
        print_versions("package", line);
    else if (strcmp(kind, "git") == 0)
        print_git(line);
    else if (strcmp(kind, "service") == 0)
        out_text("service %s %s\n", unit, what);
    else
        print_text(line);
    if (json_is_true(json_object_get(line, "binary")))
        out_note("%s", _("it is no text"));
    if (json_is_true(json_object_get(line, "too_large")))
        out_note("%s", _("it is too large to compare by lines"));
}

static void print_json(json_t *line, void *user)
{
    out_json(line);
}

/* ---- the verb ---- */

static int ask(const struct args *args, const struct points *points, struct error **err)
{
    auto(client) struct client *client = NULL;
    autofree char *name = NULL, *path = NULL;
    const char *from = args_has(args, "base") ? "base" : points->from;
    const char *to = args_has(args, "base") ? points->from : points->to;

    if (args_has(args, "base") && points->to)
        return error_set(err, ERROR_USAGE, _("--base is the first of the two points"));
    int rc = client_connect(true, &client, err);
    if (rc == 0)
        rc = project_name(client, points->name, &name, err);
    if (rc < 0)
        return rc;
    if (points->path)
        path = json_url_encode(points->path, strlen(points->path));
    autofree char *url = project_path(name, "/diff?to=%s%s%s%s%s", to ? to : "now", from ? "&from=" : "",
                                      from ? from : "", path ? "&path=" : "", path ? path : "");
    rc = client_lines(client, "GET", url, NULL, args_has(args, "json") ? print_json : print, NULL, NULL, err);
    return rc < 0 ? rc : out_flush(err);
}

static int run_diff(const struct args *args, struct error **err)
{
    struct points points = {0};
    int rc = 0;

    for (size_t i = 0; rc == 0 && args_word(args, i); i++)
        rc = take_word(&points, args_word(args, i), i == 0, err);
    if (rc == 0)
        rc = ask(args, &points, err);
    points_finish(&points);
    return rc;
}

static const struct option_spec diff_options[] = {
    {"base", 0, NULL, N_("from what the machine was made of")},
    {"json", 0, NULL, N_("one JSON object a line")},
    {NULL},
};
const struct verb verb_diff = {
    .name = "diff",
    .synopsis = "[NAME][@SNAP] [@SNAP] [PATH] [--base] [--json]",
    .help = N_("show what a machine has changed between two points of its disk"),
    .options = diff_options,
    .min_args = 0,
    .max_args = 3,
    .run = run_diff,
};
