/* The verbs of rules: ls, add, rm, test, suggest. */
#include "cli/args.h"

#include "base/alloc.h"
#include "base/text.h"
#include "base/units.h"
#include "base/words.h"
#include "cli/out.h"
#include "cli/project.h"

#include <string.h>

static const struct option_spec json_options[] = {{"json", 0, NULL, N_("one JSON object a line")}, {NULL}};

static void print_json(json_t *line, void *user)
{
    (void)user;
    out_json(line);
}

/* When an answer that holds ends: "in 2h", "session 7", "next". Caller frees. */
static char *until_of(const json_t *rule)
{
    const char *scope = out_string(rule, "scope");
    int64_t rest = (out_number(rule, "expires_ns", 0) - units_now_ns()) / 1000000000;
    autofree char *session = out_member(rule, "session");
    char duration[UNITS_DURATION_MAX];
    if (!*scope)
        return xstrdup("-");
    if (!strcmp(scope, "session"))
        return xasprintf(out_word(N_("session %s")), session);
    units_format_duration(rest < 0 ? 0 : (uint64_t)rest, duration);
    return !strcmp(scope, "next") ? xasprintf(out_word(N_("next, %s")), duration) : xstrdup(duration);
}

/* The list, with what each rule would have decided. */
struct listing {
    struct table table;
    bool past;
};

/* An answer that holds is no rule of the files: nothing is said of it. */
static void add_past(struct table *table, const json_t *rule)
{
    bool known = json_is_integer(json_object_get(rule, "past"));
    autofree char *past = known ? out_member(rule, "past") : xstrdup("-");
    autofree char *past_last = known ? out_age(out_number(rule, "past_ns", 0)) : xstrdup("-");

    table_add(table, past);
    table_add(table, past_last);
}

static void add_row(json_t *rule, void *user)
{
    struct listing *listing = user;
    struct table *table = &listing->table;
    autofree char *until = until_of(rule);
    autofree char *last = out_age(out_number(rule, "last_ns", 0));
    autofree char *hits = out_member(rule, "hits");
    autofree char *id = out_member(rule, "id");

    id[strlen(id) < 8 ? strlen(id) : 8] = '\0';
    table_add(table, id);
    table_add(table, out_string(rule, "layer"));
    table_add(table, hits);
    table_add(table, last);
    if (listing->past)
        add_past(table, rule);
    table_add(table, until);
    table_add(table, out_string(rule, "text"));
}

static int run_ls(const struct args *args, struct error **err)
{
    static const char *const titles[] = {N_("ID"),    N_("FROM"), N_("HITS"), N_("LAST"),
                                         N_("UNTIL"), N_("RULE"), NULL};
    static const char *const past_titles[] = {N_("ID"),   N_("FROM"),  N_("HITS"), N_("LAST"), N_("WOULD"),
                                              N_("LAST"), N_("UNTIL"), N_("RULE"), NULL};
    bool json = args_has(args, "json"), past = args_has(args, "past");
    struct listing listing = {
        .table = {.titles = past ? past_titles : titles, .right = past ? "llrlrlll" : "llrlll"},
        .past = past};
    auto(client) struct client *client = NULL;
    auto(json) json_t *result = NULL;
    autofree char *path = NULL;
    int rc = project_begin(args, 0, past ? "/rules?past=1" : "/rules", &client, &path, err);

    if (rc == 0)
        rc = client_lines(client, "GET", path, NULL, json ? print_json : add_row, &listing, &result, err);
    if (rc == 0 && !json) {
        table_print(&listing.table);
        out_text(out_word(N_("what no rule names: %s\n")), out_string(result, "mode"));
    }
    if (rc == 0 && !json && past)
        out_text(out_word(N_("of %lld rows of the last 7 days; no rule names %lld connections\n")),
                 (long long)out_number(result, "past_rows", 0),
                 (long long)out_number(result, "past_other", 0));
    if (rc == 0 && *out_string(result, "notice"))
        out_note("%s", out_string(result, "notice"));
    if (rc == 0 && *out_string(result, "problem"))
        out_note(_("the files of rules are not what counts now: %s"), out_string(result, "problem"));
    table_finish(&listing.table);
    return rc;
}

static const struct option_spec ls_options[] = {
    {"past", 0, NULL, N_("also what each would have decided lately")},
    {"json", 0, NULL, N_("one JSON object a line")},
    {NULL},
};
const struct verb verb_rule_ls = {
    .name = "rule ls",
    .synopsis = "[NAME] [--past] [--json]",
    .help = N_("list what a project may reach"),
    .options = ls_options,
    .max_args = 1,
    .run = run_ls,
};

static int run_add(const struct args *args, struct error **err)
{
    auto(client) struct client *client = NULL;
    auto(json) json_t *answer = NULL;
    autofree char *path = NULL;
    auto(json) json_t *body =
        json_pack("{s:s, s:b}", "rule", args_word(args, args->word_count - 1), "all", args_has(args, "all"));
    int rc = body ? project_begin(args, 1, "/rules", &client, &path, err)
                  : error_set(err, ERROR_INVALID, _("a rule is UTF-8 text"));

    if (rc == 0)
        rc = client_call(client, "POST", path, body, &answer, err);
    if (rc == 0 && args_has(args, "json"))
        out_json(answer);
    else if (rc == 0) {
        autofree char *text = out_member(answer, "text");

        out_text("%s\n", text);
    }
    if (rc == 0 && *out_string(answer, "problem"))
        out_note(_("the files of rules are not what counts now: %s"), out_string(answer, "problem"));
    return rc;
}

static const struct option_spec add_options[] = {{"all", 0, NULL, N_("to the rules of all projects")},
                                                 {"json", 0, NULL, N_("one JSON object a line")},
                                                 {NULL}};
const struct verb verb_rule_add = {
    .name = "rule add",
    .synopsis = "[NAME] RULE [--all] [--json]",
    .help = N_("add a rule, such as 'allow docs.rs'"),
    .options = add_options,
    .min_args = 1,
    .max_args = 2,
    .run = run_add,
};

static int run_rm(const struct args *args, struct error **err)
{
    return project_delete_part(args, "rules", args_has(args, "all") ? "?all=1" : "", err);
}

static const struct option_spec rm_options[] = {{"all", 0, NULL, N_("out of the rules of all projects")},
                                                {NULL}};
const struct verb verb_rule_rm = {
    .name = "rule rm",
    .synopsis = "[NAME] RULE|ID [--all]",
    .help = N_("take out a rule, or back an answer that holds"),
    .options = rm_options,
    .min_args = 1,
    .max_args = 2,
    .run = run_rm,
};

/* 0 allow, 4 deny, 6 ask: the statuses of these codes. */
static int status_of(const char *verdict)
{
    return !strcmp(verdict, "allow")
               ? 0
               : error_code_exit(strcmp(verdict, "ask") ? ERROR_DENIED : ERROR_WOULD_ASK);
}

static int run_test(const struct args *args, struct error **err)
{
    auto(client) struct client *client = NULL;
    auto(json) json_t *answer = NULL;
    autofree char *path = NULL;
    auto(json) json_t *body = json_pack("{s:s, s:s*}", "target", args_word(args, args->word_count - 1),
                                        "session", args_value(args, "session"));
    int rc = body ? project_begin(args, 1, "/rules/test", &client, &path, err)
                  : error_set(err, ERROR_INVALID, _("a host's name is ASCII"));

    if (rc == 0)
        rc = client_call(client, "POST", path, body, &answer, err);
    if (rc < 0)
        return rc;
    if (args_has(args, "json")) {
        out_json(answer);
        return status_of(out_string(answer, "verdict"));
    }
    autofree char *verdict = out_member(answer, "verdict");
    autofree char *sentence = out_member(answer, "sentence");
    autofree char *rule = out_member(answer, "rule_text");
    autofree char *source = out_member(answer, "source");
    autofree char *missing = out_member(answer, "missing");
    autofree char *grant = out_member(answer, "grant");
    out_text("%s: %s\n", verdict, out_word(sentence));
    if (*grant)
        out_text(out_word(N_("  %s, the answer to request #%lld\n")), grant,
                 (long long)out_number(answer, "granted_by", 0));
    if (*rule)
        out_text("  %s%s%s\n", rule, *source ? "  " : "", source);
    if (*missing)
        out_text(out_word(N_("  this would allow it: %s\n")), missing);
    return status_of(verdict);
}

static const struct option_spec test_options[] = {
    {"session", 0, "ID", N_("of a program of this session")},
    {"json", 0, NULL, N_("one JSON object a line")},
    {NULL},
};
const struct verb verb_rule_test = {
    .name = "rule test",
    .synopsis = "[NAME] HOST[:PORT] [--session ID] [--json]",
    .help = N_("say what would happen to a connection"),
    .options = test_options,
    .min_args = 1,
    .max_args = 2,
    .run = run_test,
};

static void print_suggestion(json_t *line, void *user)
{
    autofree char *rule = out_member(line, "rule");
    autofree char *count = out_member(line, "count");
    bool *any = user;

    *any = true;
    out_text("%-40s # %s\n", rule, count);
}

static int run_suggest(const struct args *args, struct error **err)
{
    auto(client) struct client *client = NULL;
    autofree char *path = NULL;
    bool any = args_has(args, "json");
    int rc = project_begin(args, 0, "/rules/suggest", &client, &path, err);

    if (rc == 0)
        rc = client_lines(client, "GET", path, NULL, any ? print_json : print_suggestion, &any, NULL, err);
    if (rc == 0 && !any)
        out_note(_("nothing was asked for lately that a rule could allow"));
    return rc;
}

const struct verb verb_rule_suggest = {
    .name = "rule suggest",
    .synopsis = "[NAME] [--json]",
    .help = N_("print rules for what was asked for lately"),
    .options = json_options,
    .max_args = 1,
    .run = run_suggest,
};
