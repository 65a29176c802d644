/* Routes of sessions: commands in the machine. Their start is on record before it happens. */
#include "base/alloc.h"
#include "base/buf.h"
#include "base/text.h"
#include "base/units.h"
#include "daemon/exec_end.h"
#include "daemon/relay.h"
#include "daemon/server.h"
#include "wire/json.h"

#include <string.h>

#define SUBJECT_MAX   400 /* bytes of a command in the journal */
#define ARGV_MAX      4096
#define ARG_MAX_BYTES (128 * 1024)
#define READY_WAIT_MS 330000

/* ---- start ---- */

struct starting {
    struct daemon *daemon;
    char id[PROJECT_ID_MAX];
    char *subject;
};

static void on_started(const struct wmsg_item *item, const struct error *err, uint64_t bytes, void *user)
{
    struct starting *starting = user;

    (void)bytes;
    if (err)
        exec_end_failed(starting->daemon, starting->id, starting->subject, err);
    else
        exec_end_begin(starting->daemon, starting->id, &item->u.session, starting->subject);
    free(starting->subject);
    free(starting);
}

/* The command as one line for the journal. */
static char *make_subject(char **argv)
{
    struct buf line;
    struct text text;

    buf_init(&line, 0);
    for (size_t i = 0; argv && argv[i] && line.len < SUBJECT_MAX; i++)
        buf_printf(&line, NULL, "%s%s", i ? " " : "", argv[i]);
    if (!line.len)
        buf_printf(&line, NULL, "(login shell)");
    text_init(&text, buf_data(&line), line.len, SUBJECT_MAX, TEXT_DEFAULT);
    buf_finish(&line);
    return text.bytes;
}

/* The guest's body: what the client sent, with the project's user and first work tree where it said nothing.
 */
static json_t *make_body(const struct request *request, const char *id, const json_t *body)
{
    json_t *copy = json_copy((json_t *)(uintptr_t)body);
    struct project *project = projects_lock(request->daemon->projects, id);
    bool user = json_is_string(json_object_get(copy, "user")),
         cwd = json_is_string(json_object_get(copy, "cwd"));

    json_object_del(copy, "wait_ready");
    if (!project)
        return copy;
    if (!cwd && !user && project->r.repo_count && project->r.repos[0].done)
        json_object_set_new(copy, "cwd", json_string(project->r.repos[0].target));
    if (!user)
        json_object_set_new(copy, "user", json_string(project->r.user));
    projects_unlock(request->daemon->projects);
    return copy;
}

/* Checks the form, and writes the record without which nothing is started. */
static int admit(const struct request *request, const char *id, const json_t *body, bool *ret_wait,
                 char **ret_subject, struct error **err)
{
    struct event event = EVENT_INIT;
    char **argv = NULL;
    int rc = 0;

    if (!json_is_object(body))
        return error_set(err, ERROR_USAGE, "the body must be an object with \"argv\"");
    rc = json_opt_bool(body, "wait_ready", ret_wait, err);
    if (rc == 0)
        rc = json_opt_strings(body, "argv", ARGV_MAX, ARG_MAX_BYTES, &argv, err);
    if (rc < 0)
        return rc;
    *ret_subject = make_subject(argv);
    json_free_strings(argv);
    event.project = id;
    event.kind = "exec.start";
    event.actor = "user";
    event.subject = *ret_subject;
    return daemon_journal(request->daemon, &event, err);
}

static void start_session(const struct request *request, json_t *body)
{
    struct relay_options options = {
        .op = GUEST_OP_SESSION_START, .port = PORT_CONTROL, .path = "/v1/sessions"};
    auto(error) struct error *err = NULL;
    auto(json) json_t *start = NULL;
    autofree char *subject = NULL;
    struct starting *starting;
    char id[PROJECT_ID_MAX];

    if (!request_project(request, id))
        return;
    if (admit(request, id, body, &options.need_ready, &subject, &err) < 0) {
        request_fail(request, err);
        return;
    }
    start = make_body(request, id, body);
    starting = xnew(struct starting);
    *starting = (struct starting){.daemon = request->daemon, .subject = steal(&subject)};
    memcpy(starting->id, id, sizeof(id));
    options.id = id;
    options.body = json_text(start);
    options.wait_ms = options.need_ready ? READY_WAIT_MS : 0;
    options.on_end = on_started;
    options.user = starting;
    relay_start(request->daemon, request->stream, &options);
}

/* ---- all else goes to the guest as it is ---- */

/* The request's path from "/sessions" on, on the guest, without the project's id. Caller frees. */
static char *guest_path(const struct request *request)
{
    const char *rest = strstr(request->path + strlen("/v1/projects/"), "/sessions");

    require(rest);
    size_t plain = strcspn(rest, "?");
    char mark = '?';
    struct buf out;

    buf_init(&out, 0);
    buf_printf(&out, NULL, "/v1%.*s", (int)plain, rest);
    for (rest += plain; *rest; rest += plain) {
        plain = strcspn(++rest, "&");
        if (strncmp(rest, "id=", 3) == 0)
            continue;
        buf_printf(&out, NULL, "%c%.*s", mark, (int)plain, rest);
        mark = '&';
    }
    return buf_take_string(&out);
}

static void pass(const struct request *request, json_t *body, enum guest_op op, uint32_t flags,
                 enum guest_port port)
{
    autofree char *path = guest_path(request);
    struct relay_options options = {.op = op, .port = port, .flags = flags, .path = path};
    char id[PROJECT_ID_MAX];

    if (!request_project(request, id))
        return;
    options.id = id;
    options.body = body ? json_text(body) : NULL;
    relay_start(request->daemon, request->stream, &options);
}

static void list_sessions(const struct request *request, json_t *body)
{
    pass(request, body, GUEST_OP_SESSION_LIST, 0, PORT_CONTROL);
}

static void show_session(const struct request *request, json_t *body)
{
    pass(request, body, GUEST_OP_SESSION_SHOW, 0, PORT_CONTROL);
}

static void post_session(const struct request *request, json_t *body)
{
    pass(request, body, GUEST_OP_POST, 0, PORT_CONTROL);
}

static void delete_session(const struct request *request, json_t *body)
{
    pass(request, body, GUEST_OP_DELETE, 0, PORT_CONTROL);
}

/* Terminals go over control, where no bulk is in their way. */
static enum guest_port stream_port(const struct request *request)
{
    char id[PROJECT_ID_MAX];

    if (projects_find(request->daemon->projects, request->args[0], id, NULL) < 0)
        return PORT_BULK;
    return exec_end_is_terminal(request->daemon, id, request->args[1]) ? PORT_CONTROL : PORT_BULK;
}

static void read_output(const struct request *request, json_t *body)
{
    (void)body;
    pass(request, NULL, GUEST_OP_READ, WCALL_STREAM_OUT, stream_port(request));
}

static void write_input(const struct request *request, json_t *body)
{
    (void)body;
    pass(request, NULL, GUEST_OP_POST, WCALL_STREAM_IN, stream_port(request));
}

const struct route routes_session[] = {
    {"POST", "/v1/projects/?/sessions", start_session, true},
    {"GET", "/v1/projects/?/sessions", list_sessions, false},
    {"GET", "/v1/projects/?/sessions/?", show_session, false},
    {"GET", "/v1/projects/?/sessions/?/wait", show_session, false},
    {"POST", "/v1/projects/?/sessions/?/resize", post_session, true},
    {"POST", "/v1/projects/?/sessions/?/signal", post_session, true},
    {"DELETE", "/v1/projects/?/sessions/?", delete_session, false},
    {"POST", "/v1/projects/?/sessions/?/stdin", write_input, false},
    {"GET", "/v1/projects/?/sessions/?/stdout", read_output, false},
    {"GET", "/v1/projects/?/sessions/?/stderr", read_output, false},
    {0},
};
