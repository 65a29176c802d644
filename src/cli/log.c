/* The verbs of the journal: log, journal verify. */
#include "cli/args.h"
#include "cli/when.h"

#include "base/alloc.h"
#include "base/text.h"
#include "base/units.h"
#include "base/words.h"
#include "cli/out.h"
#include "cli/project.h"

#include <stdio.h>
#include <string.h>

#define LOG_LIMIT 1000 /* events without --since and --all */

/* How events are printed, and how far they came. */
struct printer {
    bool json;
    bool all;    /* of all projects: each line names its own */
    int64_t seq; /* of the last one */
};

/* "exit 1", "3.2s", "41.2M down": what is known of the outcome. Caller frees. */
static char *outcome_of(const json_t *event)
{
    int64_t status = out_number(event, "exit", -1), ms = out_number(event, "ms", -1);
    int64_t up = out_number(event, "bytes_up", -1), down = out_number(event, "bytes_down", -1);
    autofree char *word = out_member(event, "verdict");
    autofree char *why = strcmp(out_string(event, "kind"), "egress.deny")
                             ? xstrdup("")
                             : out_member(json_object_get(event, "data"), "reason");
    /* A refusal with its reason: "deny mode-deny"; "floor" says it already. */
    autofree char *verdict =
        xasprintf("%s%s%s", word, *why && strcmp(word, why) ? " " : "", strcmp(word, why) ? why : "");
    char size_up[UNITS_SIZE_MAX] = "", size_down[UNITS_SIZE_MAX] = "", time[32] = "", ended[32] = "";
    if (up >= 0)
        units_format_size((uint64_t)up, size_up);
    if (down >= 0)
        units_format_size((uint64_t)down, size_down);
    if (ms >= 0)
        snprintf(time, sizeof(time), "%lld.%llds", (long long)(ms / 1000), (long long)(ms % 1000 / 100));
    if (status >= 0)
        snprintf(ended, sizeof(ended), status == 0 ? out_word(N_("ok")) : out_word(N_("exit %lld")),
                 (long long)status);
    return xasprintf("%s%s%s%s%s%s%s%s%s%s", verdict, *verdict ? "  " : "", ended, *ended ? "  " : "", time,
                     *time ? "  " : "", size_up, *size_up ? out_word(N_(" up  ")) : "", size_down,
                     *size_down ? out_word(N_(" down")) : "");
}

/* One event on one line: when, which project (without a name given), kind, subject, outcome. */
static void print_event(json_t *event, void *user)
{
    struct printer *printer = user;
    printer->seq = out_number(event, "seq", printer->seq);
    if (printer->json) {
        out_json(event);
        out_line_end();
        return;
    }
    autofree char *when = out_time(out_number(event, "ts_ns", 0));
    autofree char *kind = out_member(event, "kind");
    autofree char *subject = out_member(event, "subject");
    autofree char *outcome = outcome_of(event);
    autofree char *project = out_member(event, "project");
    if (printer->all)
        out_text("%s  %-12s  %-18s %s%s%s\n", when, *project ? project : "-", kind, subject,
                 *outcome ? "  " : "", outcome);
    else
        out_text("%s  %-18s %s%s%s\n", when, kind, subject, *outcome ? "  " : "", outcome);
    out_line_end();
}

/* ---- kinds ---- */

static const struct {
    const char *kind, *subs;
} kinds[] = {
#define X(kind, subs) {kind, subs},
#include "cli/log_kinds.def"
#undef X
};

/* Whether word is one of the words of a list with blanks between. */
static bool one_of(const char *list, const char *word)
{
    autofree char *all = xasprintf(" %s ", list);
    autofree char *one = xasprintf(" %s ", word);
    return !strchr(word, ' ') && strstr(all, one);
}

/* A kind that no event can have is a slip, not an empty answer: names the kinds, or those below one. */
static int check_kind(const char *wanted, struct error **err)
{
    size_t len = strcspn(wanted, ".");
    autofree char *safe = text_safe(wanted);
    autofree char *list = xstrdup("");
    for (size_t i = 0; i < countof(kinds); i++) {
        if (strlen(kinds[i].kind) == len && strncmp(kinds[i].kind, wanted, len) == 0) {
            if (!wanted[len] || one_of(kinds[i].subs, wanted + len + 1))
                return 0;
            error_set(err, ERROR_USAGE, _("there is no kind of event \"%s\""), safe);
            return error_hint(err, _("of %s there are: %s"), kinds[i].kind, kinds[i].subs);
        }
        char *longer = xasprintf("%s%s%s", list, i ? ", " : "", kinds[i].kind);
        free(list);
        list = longer;
    }
    error_set(err, ERROR_USAGE, _("there is no kind of event \"%s\""), safe);
    return error_hint(err, _("one of: %s; or one of its own, as lifecycle.start"), list);
}

/* The query string of the events that are asked for. Caller frees. */
static int query_of(const struct args *args, const char *name, char **ret_path, struct error **err)
{
    const char *kind = args_value(args, "kind"), *since = args_value(args, "since");
    int64_t since_ns = 0;
    int rc = since ? when_parse(since, units_now_ns(), &since_ns, err) : 0;
    if (rc < 0)
        return rc;
    autofree char *project = name ? json_url_encode(name, strlen(name)) : NULL;
    autofree char *encoded = kind ? json_url_encode(kind, strlen(kind)) : NULL;
    autofree char *limit = since || args_has(args, "all") ? xstrdup("") : xasprintf("&limit=%d", LOG_LIMIT);
    autofree char *bound = since ? xasprintf("&since_ns=%lld", (long long)since_ns) : xstrdup("");
    *ret_path =
        xasprintf("/v1/events?%s%s%s%s%s%s%s%s", project ? "project=" : "", project ? project : "",
                  encoded ? "&kind=" : "", encoded ? encoded : "", bound, limit,
                  args_has(args, "follow") ? "&follow=1" : "", args_has(args, "all") ? "&earlier=1" : "");
    return 0;
}

static int run_log(const struct args *args, struct error **err)
{
    auto(client) struct client *client = NULL;
    autofree char *name = NULL, *path = NULL;
    const char *kind = args_value(args, "kind");
    int rc = kind ? check_kind(kind, err) : 0;
    if (rc == 0)
        rc = client_connect(true, &client, err);
    if (rc == 0 && !args_has(args, "all-projects"))
        rc = project_name(client, args_word(args, 0), &name, err);
    if (rc == 0)
        rc = query_of(args, name, &path, err);
    if (rc < 0)
        return rc;
    struct printer printer = {.json = args_has(args, "json"), .all = !name};
    rc = client_lines(client, "GET", path, NULL, print_event, &printer, NULL, err);
    /* Following outlives hutchd: go on behind the last event. */
    while (rc < 0 && args_has(args, "follow") && client->lost) {
        error_free(steal(err));
        autofree char *from = xasprintf("%s&after=%lld", path, (long long)printer.seq);
        rc = client_reconnect(client, true, err);
        if (rc < 0)
            break;
        rc = client_lines(client, "GET", from, NULL, print_event, &printer, NULL, err);
    }
    /* the journal outlives projects, so only a name that it does not know either is wrong */
    auto(json) json_t *project = NULL;
    if (rc == 0 && name && printer.seq == 0)
        rc = project_show(client, name, &project, err);
    return rc;
}

static const struct option_spec log_options[] = {
    {"follow", 'f', NULL, N_("go on with what happens")},
    {"kind", 0, "K",
     N_("only this kind: approval, egress, exec, git and others, or one of its own, as egress.deny")},
    {"since", 0, "T", N_("from then on: 2h, 3d, 2026-11-29, 2026-11-29T14:00")},
    {"all", 'a', NULL, N_("all events, not only the last 1000; also of removed projects of that name")},
    {"all-projects", 0, NULL, N_("of every project")},
    {"json", 0, NULL, N_("one JSON object a line")},
    {NULL},
};
const struct verb verb_log = {
    .name = "log",
    .synopsis = "[NAME] [--kind K] [--since T] [-f] [-a] [--all-projects] [--json]",
    .help = N_("show what happened: commands, starts, git, files"),
    .options = log_options,
    .max_args = 1,
    .run = run_log,
};

/* ---- journal verify ---- */

static void print_damage(json_t *damage, void *user)
{
    if (*(bool *)user) {
        out_json(damage);
        return;
    }
    autofree char *kind = out_member(damage, "damage");
    autofree char *text = out_member(damage, "text");
    out_text(out_word(N_("row %lld: %s: %s\n")), (long long)out_number(damage, "seq", 0), kind, text);
}

static int run_verify(const struct args *args, struct error **err)
{
    bool json = args_has(args, "json");
    auto(client) struct client *client = NULL;
    auto(json) json_t *result = NULL;
    int rc = client_connect(true, &client, err);
    if (rc == 0)
        rc = client_lines(client, "GET", "/v1/journal/verify", NULL, print_damage, &json, &result, err);
    if (rc < 0)
        return rc;
    int64_t rows = 0, bad = 0;
    rc = json_get_number(result, "rows", 0, INT64_MAX, &rows, err);
    if (rc == 0)
        rc = json_get_number(result, "bad", 0, INT64_MAX, &bad, err);
    if (rc < 0)
        return rc;
    if (json)
        out_json(result);
    else
        out_text(out_word(N_("%lld rows, %s\n")), (long long)rows,
                 bad == 0 ? out_word(N_("the chain is whole")) : out_word(N_("the chain is damaged")));
    return bad == 0 ? 0 : 1;
}

static const struct option_spec verify_options[] = {{"json", 0, NULL, N_("one JSON object a line")}, {NULL}};
const struct verb verb_journal_verify = {
    .name = "journal verify",
    .synopsis = "[--json]",
    .help = N_("check the journal's chain; 1 and the rows if it was changed"),
    .options = verify_options,
    .run = run_verify,
};
