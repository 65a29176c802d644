/* The verbs of requests: requests, allow, deny. */
#include "cli/args.h"

#include "base/alloc.h"
#include "base/text.h"
#include "base/units.h"
#include "base/words.h"
#include "cli/out.h"
#include "cli/project.h"
#include "cli/request.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define WEB_PORT  ":443"
#define TYPED_MAX 256 /* bytes that are read for a typed name */
#define LINES_MAX 64  /* of one question */

#define LANDING_TURN_MS 100
#define LANDING_TURNS   600

/* A person is at it: what is asked meanwhile may wait for him. */
static int attend(struct client *client, struct error **err)
{
    auto(json) json_t *body = json_pack("{s:n}", "project");
    return client_call(client, "POST", "/v1/attending", body, NULL, err);
}

/* ---- requests ---- */

static void print_row(json_t *request, void *user)
{
    int64_t age = (units_now_ns() - out_number(request, "asked_ns", 0)) / 1000000000;
    json_object_set_new(request, "age", json_integer(age < 0 ? 0 : age));
    out_json(request);
}

static void add_row(json_t *request, void *user)
{
    struct table *table = user;
    int64_t number = out_number(request, "id", 0);
    bool line = out_number(request, "batch", number) != number; /* of the question above it */
    autofree char *id = xasprintf("%s%lld", line ? "+" : "", (long long)number);
    autofree char *age = request_age(request);
    table_add(table, id);
    table_add(table, out_string(request, "project"));
    table_add(table, out_string(request, "kind"));
    table_add(table, request_class(request));
    table_add(table, request_state(request));
    table_add(table, age);
    table_add(table, out_string(request, "subject"));
    if (*out_string(request, "failed"))
        out_note(_("#%lld was allowed and came to nothing: %s"), (long long)out_number(request, "id", 0),
                 out_string(request, "failed"));
}

/* ---- how they were answered ---- */

static void print_stats(json_t *row, void *user)
{
    (void)user;
    out_json(row);
}

static void add_stats_row(json_t *row, void *user)
{
    static const char *const counts[] = {"asked", "allowed", "denied", "gone", "open"};
    struct table *table = user;
    int64_t median = out_number(row, "median_ms", -1);
    autofree char *time =
        median < 0 ? xstrdup("-")
                   : xasprintf("%lld.%llds", (long long)(median / 1000), (long long)(median / 100 % 10));
    table_add(table, out_string(row, "kind"));
    table_add(table, request_class(row));
    for (size_t i = 0; i < countof(counts); i++) {
        autofree char *count = out_member(row, counts[i]);
        table_add(table, count);
    }
    table_add(table, time);
    if (json_is_true(json_object_get(row, "blind")))
        out_note(
            _("%s, %s: nearly all are allowed within two seconds: this prompt no longer protects you: make a "
              "rule or deny it"),
            out_string(row, "kind"), request_class(row));
}

static int run_stats(struct client *client, const char *name, bool json, struct error **err)
{
    static const char *const titles[] = {N_("KIND"), N_("CLASS"),   N_("ASKED"),  N_("ALLOWED"), N_("DENIED"),
                                         N_("GONE"), N_("WAITING"), N_("MEDIAN"), NULL};
    struct table table = {.titles = titles, .right = "llrrrrrr"};
    autofree char *encoded = name ? json_url_encode(name, strlen(name)) : NULL;
    autofree char *path = xasprintf("/v1/request-stats%s%s", name ? "?project=" : "", name ? encoded : "");
    int rc = client_lines(client, "GET", path, NULL, json ? print_stats : add_stats_row, &table, NULL, err);
    if (rc == 0 && !json)
        table_print(&table);
    table_finish(&table);
    return rc;
}

static int run_requests(const struct args *args, struct error **err)
{
    static const char *const titles[] = {N_("ID"),    N_("PROJECT"), N_("KIND"),    N_("CLASS"),
                                         N_("STATE"), N_("AGE"),     N_("SUBJECT"), NULL};
    struct table table = {.titles = titles, .right = "rllllrl"};
    const char *name = args_word(args, 0);
    bool json = args_has(args, "json");
    auto(client) struct client *client = NULL;
    autofree char *encoded = name ? json_url_encode(name, strlen(name)) : NULL;
    autofree char *path = xasprintf("/v1/requests%s%s", name ? "?project=" : "", name ? encoded : "");
    int rc = client_connect(true, &client, err);
    if (rc == 0)
        rc = attend(client, err);
    if (rc == 0 && args_has(args, "stats"))
        return run_stats(client, name, json, err);
    if (rc == 0)
        rc = client_lines(client, "GET", path, NULL, json ? print_row : add_row, &table, NULL, err);
    if (rc == 0 && !json && table.count == 0)
        out_text("%s\n", out_word(N_("nothing waits for you")));
    else if (rc == 0 && !json)
        table_print(&table);
    table_finish(&table);
    return rc;
}

static const struct option_spec requests_options[] = {
    {"stats", 0, NULL, N_("how they were answered, and how fast")},
    {"json", 0, NULL, N_("one JSON object a line")},
    {NULL},
};
const struct verb verb_requests = {
    .name = "requests",
    .synopsis = "[NAME] [--stats] [--json]",
    .help = N_("list what waits for your answer"),
    .options = requests_options,
    .max_args = 1,
    .run = run_requests,
};

/* ---- which one ---- */

struct search {
    const char *subject; /* "docs.rs:443" */
    int64_t id;
    size_t count;
};

static void look(json_t *request, void *user)
{
    struct search *search = user;
    if (strcmp(out_string(request, "subject"), search->subject) != 0)
        return;
    search->id = out_number(request, "id", 0);
    search->count++;
}

/* The open request that a word means: a number, or the host (with its port) of the only one about it. *ret_id
 * 0: there is none about this host. */
static int find_request(struct client *client, const struct args *args, const char *word, int64_t *ret_id,
                        struct error **err)
{
    const char *name = args_value(args, "project");
    uint64_t number = 0;
    if (units_parse_number(*word == '#' ? word + 1 : word, 1, INT64_MAX, &number, NULL) == 0) {
        *ret_id = (int64_t)number;
        return 0;
    }
    const char *last = strrchr(word, ']') ? strrchr(word, ']') : word;
    autofree char *subject = xasprintf("%s%s", word, strchr(last, ':') ? "" : WEB_PORT);
    autofree char *encoded = name ? json_url_encode(name, strlen(name)) : NULL;
    autofree char *path = xasprintf("/v1/requests%s%s", name ? "?project=" : "", name ? encoded : "");
    struct search search = {.subject = subject};
    int rc = client_lines(client, "GET", path, NULL, look, &search, NULL, err);
    if (rc == 0 && search.count > 1) {
        autofree char *safe = text_safe(word);
        error_set(err, ERROR_USAGE, _("%zu requests are about \"%s\""), search.count, safe);
        return error_hint(err, _("which one: hutch requests"));
    }
    *ret_id = search.id;
    return rc;
}

/* An answer is about one host: what says more is a rule, written as one. */
static int check_exact(const char *word, const char *effect, struct error **err)
{
    if (*word && !strpbrk(word, "*{ \t/"))
        return 0;
    autofree char *safe = text_safe(word);
    error_set(err, ERROR_USAGE, _("\"%s\" is not one host"), safe);
    return error_hint(err, _("write the rule: hutch rule add '%s %s'"), effect, safe);
}

/* Without a request: a rule of the project, or of all. */
static int add_rule(struct client *client, const struct args *args, const char *word, const char *effect,
                    struct error **err)
{
    const char *scope = args_value(args, "for"), *given = args_value(args, "project");
    bool all = scope && !strcmp(scope, "all");
    autofree char *name = NULL;
    if (scope && !all && strcmp(scope, "project") != 0) {
        autofree char *safe = text_safe(word);
        error_set(err, ERROR_NOT_FOUND, _("no request is about \"%s\""), safe);
        return error_hint(err, _("without one only --for project and --for all are possible"));
    }
    int rc = check_exact(word, effect, err);
    if (rc == 0)
        rc = project_name(client, given, &name, err);
    if (rc < 0)
        return rc;
    autofree char *rule = xasprintf("%s %s", effect, word);
    autofree char *path = project_path(name, "/rules");
    auto(json) json_t *body = json_pack("{s:s, s:b}", "rule", rule, "all", all);
    if (!body)
        return error_set(err, ERROR_INVALID, _("\"%s\" is not UTF-8"), "HOST");
    return client_call(client, "POST", path, body, NULL, err);
}

/* ---- the answer ---- */

static int type_name(const char *wanted, struct error **err)
{
    char typed[TYPED_MAX];
    autofree char *safe = text_safe(wanted);
    fprintf(stderr, _("this is critical: type %s to allow it: "), safe);
    if (fgets(typed, sizeof(typed), stdin)) {
        typed[strcspn(typed, "\n")] = '\0';
        if (!strcmp(typed, wanted))
            return 0;
    }
    return error_set(err, ERROR_CANCELLED, _("nothing was done"));
}

/* The more it can cost, the more it takes to allow: a routine one the command alone, an unusual one a yes, a
 * critical one its host's name. */
static int confirm(const struct args *args, const json_t *request, struct error **err)
{
    const char *class = out_string(request, "class"), *name = args_value(args, "confirm");
    const char *host = out_string(json_object_get(request, "fields"), "host");
    bool critical = strcmp(class, "routine") != 0 && strcmp(class, "unusual") != 0;
    if (!strcmp(class, "routine"))
        return 0;
    if (!critical)
        return args_has(args, "yes") ? 0 : out_ask(_("this is unusual: allow it?"), err);
    if (name && *host && !strcmp(name, host))
        return 0;
    autofree char *safe = text_safe(host);
    if (name)
        return error_set(err, ERROR_INVALID, _("--confirm says another name than the request's: %s"), safe);
    if (isatty(STDIN_FILENO))
        return type_name(host, err);
    error_set(err, ERROR_USAGE, _("this is critical, and there is no terminal to ask at"));
    return error_hint(err, _("if it is right: --confirm %s"), safe);
}

/* "2h", "project" … as scope and seconds. */
static int set_scope(json_t *body, const char *scope, struct error **err)
{
    static const char *const words[] = {"once", "session", "project", "all"};
    uint64_t seconds;
    for (size_t i = 0; scope && i < countof(words); i++)
        if (!strcmp(scope, words[i]))
            return json_object_set_new(body, "scope", json_string(words[i]));
    if (!scope)
        return 0;
    int rc = units_parse_duration(scope, &seconds, err);
    if (rc < 0)
        return error_hint(err, _("--for once, session, project, all, or a time such as 2h"));
    json_object_set_new(body, "scope", json_string("duration"));
    return json_object_set_new(body, "duration_s", json_integer((json_int_t)seconds));
}

/* A push that is allowed lands after the answer: waits for its end. */
static int follow_landing(struct client *client, const char *path, int64_t id, struct error **err)
{
    for (int i = 0; i < LANDING_TURNS; i++) {
        auto(json) json_t *request = NULL;
        int rc = client_call(client, "GET", path, NULL, &request, err);
        if (rc < 0)
            return rc;
        const char *failed = out_string(request, "failed");
        if (*failed) {
            error_set(err, ERROR_FAILED, _("#%lld did not land: %s"), (long long)id, failed);
            return error_hint(err, _("it waits again: hutch land has more ways, hutch deny %lld ends it"),
                              (long long)id);
        }
        if (!json_is_true(json_object_get(request, "landing")))
            return 0;
        usleep(LANDING_TURN_MS * 1000);
    }
    out_note(_("#%lld is being landed; hutch requests has it again if that fails"), (long long)id);
    return 0;
}

/* Shows it, asks as its class needs, and answers what was shown: one that changed meanwhile is not allowed.
 */
int request_answer(struct client *client, const struct args *args, int64_t id, bool allow, struct error **err)
{
    autofree char *path = xasprintf("/v1/requests/%lld", (long long)id);
    autofree char *to = xasprintf("%s/answer", path);
    const char *words = allow ? NULL : args_value(args, "message");
    const char *tty = isatty(STDIN_FILENO) ? ttyname(STDIN_FILENO) : NULL;
    auto(json) json_t *request = NULL, *result = NULL;
    int rc = client_call(client, "GET", path, NULL, &request, err);
    if (rc < 0)
        return rc;
    if (!args_has(args, "json")) {
        request_print(request);
        rc = out_flush(err);
    }
    if (rc == 0 && allow && json_object_get(request, "nonce"))
        rc = confirm(args, request, err);
    auto(json) json_t *body =
        json_pack("{s:s, s:s, s:s}", "verdict", allow ? "allow" : "deny", "nonce",
                  out_string(request, "nonce"), "digest", out_string(request, "digest"));
    if (rc == 0)
        rc = set_scope(body, allow ? args_value(args, "for") : NULL, err);
    if (rc == 0 && words && json_object_set_new(body, "reason", json_string(words)) < 0)
        rc = error_set(err, ERROR_INVALID, _("the message is not UTF-8"));
    if (rc == 0 && tty)
        json_object_set_new(body, "tty", json_string(tty));
    if (rc == 0)
        rc = client_call(client, "POST", to, body, &result, err);
    if (rc == 0 && allow && !strcmp(out_string(request, "kind"), "PUSH"))
        rc = follow_landing(client, path, id, err);
    if (rc < 0)
        return rc;
    if (args_has(args, "json"))
        out_json(result);
    else
        out_text(allow ? out_word(N_("#%lld is allowed\n")) : out_word(N_("#%lld is denied\n")),
                 (long long)id);
    return 0;
}

static int decide_word(struct client *client, const struct args *args, const char *word, bool allow,
                       struct error **err)
{
    int64_t id = 0;
    int rc = find_request(client, args, word, &id, err);
    if (rc < 0)
        return rc;
    return id ? request_answer(client, args, id, allow, err)
              : add_rule(client, args, word, allow ? "allow" : "deny", err);
}

/* Each word by itself: what fails with one keeps the others from nothing. */
static int decide_words(struct client *client, const struct args *args, bool allow, struct error **err)
{
    int rc = 0;
    for (size_t i = 0; args_word(args, i); i++) {
        auto(error) struct error *why = NULL;
        int one = decide_word(client, args, args_word(args, i), allow, &why);
        if (one < 0 && rc == 0) {
            rc = one;
            *err = steal(&why);
        } else if (one < 0) {
            out_note("%s", why->message);
        }
    }
    return rc;
}

/* ---- all lines of a question ---- */

struct lines {
    int64_t batch;
    bool allow;
    int64_t ids[LINES_MAX];
    size_t count, left;
};

/* A yes to all is of routine lines alone; a no is of all. */
static void take_line(json_t *request, void *user)
{
    struct lines *lines = user;
    int64_t id = out_number(request, "id", 0);
    if (out_number(request, "batch", id) != lines->batch)
        return;
    if ((lines->allow && strcmp(out_string(request, "class"), "routine") != 0) || lines->count == LINES_MAX) {
        lines->left++;
        out_note(_("#%lld is left, it is answered by itself: hutch allow %lld"), (long long)id,
                 (long long)id);
        return;
    }
    lines->ids[lines->count++] = id;
}

static int decide_lines(struct client *client, const struct args *args, bool allow, struct error **err)
{
    autofree char *path = NULL;
    auto(json) json_t *request = NULL;
    struct lines lines = {.allow = allow};
    int64_t id = 0;
    if (args_word(args, 1))
        return error_set(err, ERROR_USAGE, _("--batch takes one request, and answers all of its question"));
    int rc = find_request(client, args, args_word(args, 0), &id, err);
    if (rc == 0 && !id) {
        autofree char *safe = text_safe(args_word(args, 0));
        return error_set(err, ERROR_NOT_FOUND, _("no request is about \"%s\""), safe);
    }
    path = xasprintf("/v1/requests/%lld", (long long)id);
    if (rc == 0)
        rc = client_call(client, "GET", path, NULL, &request, err);
    if (rc < 0)
        return rc;
    lines.batch = out_number(request, "batch", id);
    rc = client_lines(client, "GET", "/v1/requests", NULL, take_line, &lines, NULL, err);
    for (size_t i = 0; rc == 0 && i < lines.count; i++)
        rc = request_answer(client, args, lines.ids[i], allow, err);
    if (rc == 0 && !lines.count)
        rc = error_set(err, ERROR_STATE,
                       _("no line of the question of #%lld can be answered with the others"), (long long)id);
    return rc;
}

static int decide(const struct args *args, bool allow, struct error **err)
{
    auto(client) struct client *client = NULL;
    int rc = client_connect(true, &client, err);
    if (rc == 0)
        rc = attend(client, err);
    if (rc < 0)
        return rc;
    return args_has(args, "batch") ? decide_lines(client, args, allow, err)
                                   : decide_words(client, args, allow, err);
}

static int run_allow(const struct args *args, struct error **err)
{
    return decide(args, true, err);
}

static int run_deny(const struct args *args, struct error **err)
{
    return decide(args, false, err);
}

#define OPTION_BATCH                                                                                         \
    {                                                                                                        \
        "batch", 0, NULL, N_("all lines of the request's question")                                          \
    }
#define OPTION_PROJECT                                                                                       \
    {                                                                                                        \
        "project", 'p', "NAME", N_("the project, if HOST is given; without it that of this folder")          \
    }

static const struct option_spec allow_options[] = {
    {"for", 0, "SCOPE", N_("once, session, project, all, or a time such as 2h; once if not given")},
    OPTION_BATCH,
    OPTION_PROJECT,
    {"yes", 'y', NULL, N_("do not ask for an unusual one")},
    {"confirm", 0, "HOST", N_("the host of a critical one, instead of typing it")},
    {"json", 0, NULL, N_("print the answer as JSON, not the request")},
    {NULL},
};
const struct verb verb_allow = {
    .name = "allow",
    .synopsis = "ID|HOST[:PORT]... [--batch] [--for SCOPE] [-p NAME] [-y] [--confirm HOST] [--json]",
    .help = N_("show a request and allow it; a host that nobody asked for: add a rule"),
    .options = allow_options,
    .min_args = 1,
    .max_args = LINES_MAX,
    .run = run_allow,
};

static const struct option_spec deny_options[] = {
    {"message", 'm', "TEXT", N_("why: the program that asked is told")},
    {"for", 0, "SCOPE", N_("for a host that nobody asked for: project or all")},
    OPTION_BATCH,
    OPTION_PROJECT,
    {"json", 0, NULL, N_("print the answer as JSON, not the request")},
    {NULL},
};
const struct verb verb_deny = {
    .name = "deny",
    .synopsis = "ID|HOST[:PORT]... [--batch] [-m TEXT] [--for SCOPE] [-p NAME] [--json]",
    .help = N_("deny a request; a host that nobody asked for: add a rule"),
    .options = deny_options,
    .min_args = 1,
    .max_args = LINES_MAX,
    .run = run_deny,
};
