/* The verbs that run and reach sessions: exec, shell, attach, sessions. */
#include "cli/args.h"

#include "base/alloc.h"
#include "base/text.h"
#include "base/units.h"
#include "base/words.h"
#include "cli/out.h"
#include "cli/project.h"
#include "cli/screen_session.h"
#include "cli/session.h"

#include <string.h>

#define TIMEOUT_MAX_S (366ull * 24 * 3600)
#define TERM_DEFAULT  "xterm-256color"

/* Sets a string of a request; one that is not UTF-8 cannot travel in JSON. */
static int set_string(json_t *body, const char *key, const char *value, struct error **err)
{
    if (!value || json_object_set_new(body, key, json_string(value)) == 0)
        return 0;
    autofree char *safe = text_safe(value);
    return error_set(err, ERROR_INVALID, _("\"%s\" is not UTF-8"), safe);
}

/* The -e options as an object. "K" alone takes the value from our own environment. */
static int set_environment(json_t *body, const struct args *args, struct error **err)
{
    json_t *env = json_object();
    json_object_set_new(body, "env", env);
    const char *pair;
    for (size_t i = 0; (pair = args_nth(args, "env", i)); i++) {
        size_t len = strcspn(pair, "=");
        autofree char *key = xstrndup(pair, len);
        const char *value = pair[len] == '=' ? pair + len + 1 : getenv(key);
        if (len == 0) {
            autofree char *safe = text_safe(pair);
            error_set(err, ERROR_USAGE, _("\"%s\" is no environment variable"), safe);
            return error_hint(err, "-e NAME=VALUE");
        }
        int rc = value ? set_string(env, key, value, err) : 0;
        if (rc < 0)
            return rc;
    }
    return 0;
}

/* What exec and shell have in common: user, folder, environment, terminal (screen: without our own line). */
static int common_body(const struct args *args, bool pty, bool screen, json_t *body, struct error **err)
{
    int rc = set_string(body, "user", args_value(args, "user"), err);
    if (rc == 0)
        rc = set_string(body, "cwd", args_value(args, "workdir"), err);
    if (rc == 0)
        rc = set_environment(body, args, err);
    if (rc < 0 || !pty)
        return rc;
    int64_t rows, columns;
    terminal_size(&rows, &columns);
    const char *term = getenv("TERM");
    json_object_set_new(body, "pty", json_true());
    if (screen && rows > SCREEN_SESSION_ROWS)
        rows -= SCREEN_SESSION_ROWS;
    json_object_set_new(body, "rows", json_integer(rows));
    json_object_set_new(body, "columns", json_integer(columns));
    bool ours = term && *term && !screen && isatty(STDIN_FILENO); /* the screen is a terminal of its own */
    return set_string(body, "term", ours ? term : TERM_DEFAULT, err);
}

/* Starts body as a session of the project that args mean and runs it, on the screen or plainly. */
static int start_and_run(const struct args *args, const json_t *body, bool pty, bool screen,
                         struct error **err)
{
    struct session_spec spec = {.pty = pty, .fresh = true, .raw = args_has(args, "raw")};
    const char *escape = args_value(args, "escape");
    int rc = prefix_parse(escape ? escape : "^]", &spec.prefix, err);
    if (rc < 0)
        return rc;
    auto(client) struct client *client = NULL;
    autofree char *name = NULL, *id = NULL;
    rc = client_connect(true, &client, err);
    if (rc == 0)
        rc = project_name(client, args_word(args, 0), &name, err);
    if (rc == 0 && args_has(args, "thaw"))
        rc = project_thaw(client, name, err);
    if (rc == 0)
        rc = session_start(client, name, body, &id, err);
    if (rc < 0)
        return rc;
    spec.project = name;
    spec.id = id;
    return screen ? screen_session(client, &spec, escape, err) : session_run(client, &spec, err);
}

/* The words behind "--". */
static int set_command(json_t *body, const struct args *args, struct error **err)
{
    json_t *argv = json_array();
    json_object_set_new(body, "argv", argv);
    for (size_t i = 0; args->command[i]; i++) {
        if (json_array_append_new(argv, json_string(args->command[i])) < 0) {
            autofree char *safe = text_safe(args->command[i]);
            return error_set(err, ERROR_INVALID, _("the argument \"%s\" is not UTF-8"), safe);
        }
    }
    return 0;
}

static int run_exec(const struct args *args, struct error **err)
{
    auto(json) json_t *body = json_object();
    bool pty = args_has(args, "tty");
    int rc = set_command(body, args, err);
    if (rc == 0)
        rc = common_body(args, pty, false, body, err);
    const char *timeout = args_value(args, "timeout");
    uint64_t seconds = 0;
    if (rc == 0 && timeout)
        rc = units_parse_duration(timeout, &seconds, err);
    if (rc == 0 && timeout && (seconds == 0 || seconds > TIMEOUT_MAX_S))
        rc = error_set(err, ERROR_INVALID, _("a time limit of \"%s\" cannot be"), timeout);
    if (rc < 0)
        return rc;
    if (timeout)
        json_object_set_new(body, "timeout_ms", json_integer((json_int_t)(seconds * 1000)));
    return start_and_run(args, body, pty, false, err);
}

#define OPTION_USER                                                                                          \
    {                                                                                                        \
        "user", 'u', "USER", N_("run as this user of the machine")                                           \
    }
#define OPTION_WORKDIR                                                                                       \
    {                                                                                                        \
        "workdir", 'w', "DIR", N_("start in this folder of the machine")                                     \
    }
#define OPTION_ENV                                                                                           \
    {                                                                                                        \
        "env", 'e', "K=V", N_("set an environment variable; K alone takes it over from here"), .many = true  \
    }
#define OPTION_RAW                                                                                           \
    {                                                                                                        \
        "raw", 0, NULL, N_("pass the output to the terminal as it is, control sequences and all")            \
    }
#define OPTION_THAW                                                                                          \
    {                                                                                                        \
        "thaw", 0, NULL, N_("let a machine that is frozen for a request go on, without an answer")           \
    }
#define OPTION_ESCAPE                                                                                        \
    {                                                                                                        \
        "escape", 0, "KEY", N_("prefix key, ^] if not given, or none")                                       \
    }

static const struct option_spec exec_options[] = {
    {"tty", 't', NULL, N_("give the command a terminal")},
    OPTION_USER,
    OPTION_WORKDIR,
    OPTION_ENV,
    {"timeout", 0, "SEC", N_("kill the command after this time: status 124")},
    OPTION_RAW,
    OPTION_ESCAPE,
    OPTION_THAW,
    {NULL},
};
const struct verb verb_exec = {
    .name = "exec",
    .synopsis = "[NAME] [-t] [-u USER] [-w DIR] [-e K=V]... [--timeout SEC] [--raw] [--escape KEY] [--thaw] "
                "-- CMD...",
    .help = N_("run a command in the machine; its status is the command's own"),
    .options = exec_options,
    .max_args = 1,
    .command = true,
    .status_125 = true,
    .run = run_exec,
};

static int run_shell(const struct args *args, struct error **err)
{
    auto(json) json_t *body = json_pack("{s:[], s:s}", "argv", "label", "shell");
    bool screen = screen_session_wanted(args_has(args, "raw"));
    int rc = common_body(args, true, screen, body, err);
    return rc < 0 ? rc : start_and_run(args, body, true, screen, err);
}

static const struct option_spec shell_options[] = {
    OPTION_USER, OPTION_WORKDIR, OPTION_ENV, OPTION_RAW, OPTION_ESCAPE, OPTION_THAW, {NULL},
};
const struct verb verb_shell = {
    .name = "shell",
    .synopsis = "[NAME] [-u USER] [-w DIR] [-e K=V]... [--raw] [--escape KEY] [--thaw]",
    .help = N_("open a shell in the machine; ^] d leaves it, and it goes on"),
    .options = shell_options,
    .max_args = 1,
    .run = run_shell,
};

/* ---- attach ---- */

/* The session to go to when none is named: the latest that runs, one with a terminal before all others. */
struct choice {
    json_t *best;
};

static void consider(json_t *session, void *user)
{
    struct choice *choice = user;
    if (strcmp(out_string(session, "state"), "running") != 0)
        return;
    if (choice->best) {
        bool pty = json_is_true(json_object_get(session, "pty")),
             best_pty = json_is_true(json_object_get(choice->best, "pty"));
        bool later = out_number(session, "started_ns", 0) > out_number(choice->best, "started_ns", 0);
        if (pty != best_pty ? best_pty : !later)
            return;
    }
    json_decref(choice->best);
    choice->best = json_incref(session);
}

static int choose_session(struct client *client, const char *name, json_t **ret_session, struct error **err)
{
    struct choice choice = {0};
    autofree char *path = project_path(name, "/sessions");
    int rc = client_lines(client, "GET", path, NULL, consider, &choice, NULL, err);
    if (rc < 0) {
        json_decref(choice.best);
        return rc;
    }
    if (!choice.best) {
        error_set(err, ERROR_NOT_FOUND, _("no session runs in \"%s\""), name);
        return error_hint(err, _("hutch shell %s opens one"), name);
    }
    *ret_session = choice.best;
    return 0;
}

/* The sessions whose ids begin with what was typed. */
struct matches {
    const char *prefix;
    json_t *one;
    size_t count;
    char *list; /* of them all: "id (command), …" */
};

static void match(json_t *session, void *user)
{
    struct matches *matches = user;
    const char *id = out_string(session, "id"), *label = out_string(session, "label");
    if (strncmp(id, matches->prefix, strlen(matches->prefix)) != 0)
        return;
    autofree char *words = text_safe(*label ? label : out_string(session, "command"));
    autofree char *safe = text_safe(id);
    char *longer = xasprintf("%s%s%s (%s)", matches->list, matches->count ? ", " : "", safe, words);
    free(matches->list);
    matches->list = longer;
    json_decref(matches->one);
    matches->one = json_incref(session);
    matches->count++;
}

/* The only session that begins with prefix. ERROR_USAGE names them if there are several. */
static int show_short(struct client *client, const char *name, const char *prefix, json_t **ret_session,
                      struct error **err)
{
    struct matches matches = {.prefix = prefix, .list = xstrdup("")};
    autofree char *path = project_path(name, "/sessions");
    int rc = client_lines(client, "GET", path, NULL, match, &matches, NULL, err);
    autofree char *list = matches.list;
    auto(json) json_t *one = matches.one;
    autofree char *safe = text_safe(prefix);
    if (rc < 0)
        return rc;
    if (matches.count == 1) {
        *ret_session = steal(&one);
        return 0;
    }
    if (matches.count > 1) {
        error_set(err, ERROR_USAGE, _("%zu sessions of \"%s\" begin with \"%s\""), matches.count, name, safe);
        return error_hint(err, _("which one: %s"), list);
    }
    error_set(err, ERROR_NOT_FOUND, _("no session of \"%s\" is or begins with \"%s\""), name, safe);
    return error_hint(err, _("hutch sessions %s lists them"), name);
}

static int show_session(struct client *client, const char *name, const char *id, json_t **ret_session,
                        struct error **err)
{
    auto(error) struct error *own = NULL;
    autofree char *encoded = json_url_encode(id, strlen(id));
    autofree char *path = project_path(name, "/sessions/%s", encoded);
    int rc = *id ? client_call(client, "GET", path, NULL, ret_session, &own)
                 : error_set(&own, ERROR_USAGE, _("a session's id cannot be empty"));
    /* what cannot be an id is refused as that: it may be the beginning of one all the same */
    if (rc == -ERROR_NOT_FOUND || (rc == -ERROR_INVALID && *id))
        return show_short(client, name, id, ret_session, err);
    return error_move(err, &own);
}

/* One word is a project's name, or else the id of a session of this folder's project. */
static int find_session(struct client *client, const struct args *args, char **ret_name, json_t **ret_session,
                        struct error **err)
{
    const char *first = args_word(args, 0), *id = args_word(args, 1);
    autofree char *name = NULL;
    int rc;
    if (first && !id) {
        auto(error) struct error *own = NULL, *why = NULL;
        auto(json) json_t *project = NULL;
        rc = project_show(client, first, &project, &own);
        if (rc == -ERROR_NOT_FOUND && project_name(client, NULL, &name, NULL) == 0) {
            int found = show_session(client, name, first, ret_session, &why);
            if (found == 0)
                *ret_name = steal(&name);
            if (found == 0 || found == -ERROR_USAGE) /* several begin so: it was meant as a session */
                return error_move(err, &why);
        }
        if (rc < 0)
            return error_move(err, &own);
        free(steal(&name));
    }
    rc = project_name(client, first, &name, err);
    if (rc == 0)
        rc = id ? show_session(client, name, id, ret_session, err)
                : choose_session(client, name, ret_session, err);
    if (rc == 0)
        *ret_name = steal(&name);
    return rc;
}

/* Before its sessions can be seen: the first word is a project, or else this folder's is meant. */
static int thaw_for(struct client *client, const char *first, struct error **err)
{
    auto(json) json_t *project = NULL;
    autofree char *name = NULL;
    if (first && project_show(client, first, &project, NULL) == 0)
        return project_thaw(client, first, err);
    int rc = project_name(client, NULL, &name, err);
    return rc < 0 ? rc : project_thaw(client, name, err);
}

static int run_attach(const struct args *args, struct error **err)
{
    struct session_spec spec = {.raw = args_has(args, "raw"), .looks = true};
    const char *escape = args_value(args, "escape");
    int rc = prefix_parse(escape ? escape : "^]", &spec.prefix, err);
    if (rc < 0)
        return rc;
    auto(client) struct client *client = NULL;
    autofree char *name = NULL;
    auto(json) json_t *session = NULL;
    rc = client_connect(true, &client, err);
    if (rc == 0 && args_has(args, "thaw"))
        rc = thaw_for(client, args_word(args, 0), err);
    if (rc == 0)
        rc = find_session(client, args, &name, &session, err);
    if (rc == 0)
        rc = json_get_string(session, "id", 128, &spec.id, err);
    if (rc < 0)
        return rc;
    spec.project = name;
    spec.pty = json_is_true(json_object_get(session, "pty"));
    spec.ended = strcmp(out_string(session, "state"), "running") != 0 &&
                 strcmp(out_string(session, "state"), "starting") != 0;
    /* The end of some other input must not become the end of the program's. */
    spec.no_input = spec.ended || !isatty(STDIN_FILENO);
    if (spec.pty && !spec.ended && screen_session_wanted(spec.raw))
        return screen_session(client, &spec, escape, err);
    return session_run(client, &spec, err);
}

static const struct option_spec attach_options[] = {OPTION_RAW, OPTION_ESCAPE, OPTION_THAW, {NULL}};
const struct verb verb_attach = {
    .name = "attach",
    .synopsis = "[NAME] [ID] [--raw] [--escape KEY] [--thaw]",
    .help = N_("go back to a session: what it printed meanwhile (up to 1 MiB), then live"),
    .options = attach_options,
    .max_args = 2,
    .run = run_attach,
};

/* ---- sessions ---- */

static void print_json(json_t *session, void *user)
{
    out_json(session);
}

static void add_session(json_t *session, void *user)
{
    struct table *table = user;
    autofree char *started = out_age(out_number(session, "started_ns", 0));
    autofree char *status = out_member(session, "exit_status");
    bool over = strcmp(out_string(session, "state"), "exited") == 0;
    bool running = strcmp(out_string(session, "state"), "running") == 0;
    autofree char *state = over ? xasprintf(out_word(N_("exit %s")), status)
                                : xstrdup(out_word(running ? N_("running") : out_string(session, "state")));
    table_add(table, out_string(session, "id"));
    table_add(table, state);
    table_add(table, out_string(session, "user"));
    table_add(table,
              json_is_true(json_object_get(session, "pty")) ? out_word(N_("yes")) : out_word(N_("no")));
    table_add(table,
              json_is_true(json_object_get(session, "attached")) || out_number(session, "attached", 0) > 0
                  ? out_word(N_("yes"))
                  : out_word(N_("no")));
    table_add(table, started);
    const char *label = out_string(session, "label");
    table_add(table, *label ? label : out_string(session, "command"));
}

static int run_sessions(const struct args *args, struct error **err)
{
    static const char *const titles[] = {N_("ID"),       N_("STATE"),   N_("USER"),    N_("TTY"),
                                         N_("ATTACHED"), N_("STARTED"), N_("COMMAND"), NULL};
    struct table table = {.titles = titles, .right = "lllllll"};
    bool json = args_has(args, "json");
    auto(client) struct client *client = NULL;
    autofree char *name = NULL;
    int rc = client_connect(true, &client, err);
    if (rc == 0)
        rc = project_name(client, args_word(args, 0), &name, err);
    if (rc < 0)
        return rc;
    autofree char *path = project_path(name, "/sessions");
    rc = client_lines(client, "GET", path, NULL, json ? print_json : add_session, &table, NULL, err);
    if (rc == 0 && !json)
        table_print(&table);
    table_finish(&table);
    return rc;
}

static const struct option_spec sessions_options[] = {{"json", 0, NULL, N_("one JSON object a line")},
                                                      {NULL}};
const struct verb verb_sessions = {
    .name = "sessions",
    .synopsis = "[NAME] [--json]",
    .help = N_("list the sessions of a machine"),
    .options = sessions_options,
    .max_args = 1,
    .run = run_sessions,
};
