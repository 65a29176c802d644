/* Routes of files and ports of the machine: all go to the guest as they are. Each transfer is on record
 * before it happens. */
#include "base/alloc.h"
#include "base/log.h"
#include "base/text.h"
#include "daemon/console.h"
#include "daemon/diff.h"
#include "daemon/relay.h"
#include "daemon/server.h"
#include "wire/json.h"

#include <string.h>

#define SUBJECT_MAX 400

/* The path on the guest: the request's from the part behind the project's name on. */
static char *guest_path(const struct request *request)
{
    const char *rest = strchr(request->path + strlen("/v1/projects/"), '/');

    require(rest);
    return xasprintf("/v1%s", rest);
}

/* A transfer that was admitted. */
struct transfer {
    struct daemon *daemon;
    char id[PROJECT_ID_MAX];
    char *what;
};

static int note(const struct transfer *transfer, struct event *event, struct error **err)
{
    struct text text;
    int rc;

    text_init(&text, transfer->what, strlen(transfer->what), SUBJECT_MAX, TEXT_DEFAULT);
    event->project = transfer->id;
    event->subject = text.bytes;
    rc = daemon_journal(transfer->daemon, event, err);
    text_finish(&text);
    return rc;
}

static void transfer_free(struct transfer *transfer)
{
    free(transfer->what);
    free(transfer);
}

/* Writes the event of a transfer, which waits for it. */
static struct transfer *admit(const struct request *request, const char *id, const char *kind,
                              const char *what, struct error **err)
{
    struct transfer *transfer = xnew(struct transfer);
    struct event event = EVENT_INIT;

    transfer->daemon = request->daemon;
    snprintf(transfer->id, sizeof(transfer->id), "%s", id);
    transfer->what = xstrdup(what);
    event.kind = kind;
    event.actor = "user";
    if (note(transfer, &event, err) == 0)
        return transfer;
    transfer_free(transfer);
    return NULL;
}

/* What was admitted and did not come to pass is said too. */
static void on_transfer_end(const struct wmsg_item *item, const struct error *why, uint64_t bytes, void *user)
{
    struct transfer *transfer = user;
    auto(error) struct error *err = NULL;
    struct event event = EVENT_INIT;

    (void)item;
    if (why) {
        event.kind = "file.failed";
        event.actor = "hutchd";
        event.verdict = error_code_name(why->code);
        event.bytes_up = (int64_t)bytes;
        if (note(transfer, &event, &err) < 0)
            log_error("%s", err->message);
    }
    transfer_free(transfer);
}

/* kind NULL: looking is not an event. */
static void pass(const struct request *request, const char *kind, enum guest_op op, uint32_t flags,
                 enum guest_port port)
{
    autofree char *path = guest_path(request), *what = NULL;
    struct relay_options options = {.op = op, .port = port, .flags = flags, .path = path};
    auto(error) struct error *err = NULL;
    char id[PROJECT_ID_MAX];

    if (!request_project(request, id) || !request_query(request, "path", &what))
        return;
    options.id = id;
    if (kind) {
        options.user = admit(request, id, kind, what ? what : request->path, &err);
        if (!options.user) {
            request_fail(request, err);
            return;
        }
        options.on_end = on_transfer_end;
    }
    relay_start(request->daemon, request->stream, &options);
}

/* What is asked of an old point of the disk (at=@12) is not asked of the guest. true: it was such a request,
 * and is answered. */
static bool from_layers(const struct request *request, enum diff_mode mode, const char *type)
{
    autofree char *at = NULL, *path = NULL;
    auto(error) struct error *err = NULL;
    char id[PROJECT_ID_MAX];

    if (!request_query(request, "at", &at))
        return true;
    if (!at)
        return false;
    if (!request_project(request, id) || !request_query(request, "path", &path))
        return true;
    if (!path)
        error_set(&err, ERROR_USAGE, "path is missing");
    if (path && mode != DIFF_STAT) {
        autofree char *what = xasprintf("%s of %s", path, at);
        struct transfer *transfer = admit(request, id, "file.get", what, &err);
        if (transfer)
            transfer_free(transfer);
    }
    if (err) {
        request_fail(request, err);
        return true;
    }
    const struct diff_request diff = {.id = id, .mode = mode, .to = at, .path = path, .type = type};
    diff_answer(request->daemon, request->stream, &diff);
    return true;
}

static void stat_file(const struct request *request, json_t *body)
{
    (void)body;
    if (!from_layers(request, DIFF_STAT, "application/json"))
        pass(request, NULL, GUEST_OP_FILE_STAT, 0, PORT_CONTROL);
}

static void list_files(const struct request *request, json_t *body)
{
    (void)body;
    pass(request, NULL, GUEST_OP_FILE_LIST, 0, PORT_BULK);
}

static void make_folder(const struct request *request, json_t *body)
{
    (void)body;
    pass(request, "file.folder", GUEST_OP_POST, 0, PORT_CONTROL);
}

static void read_file(const struct request *request, json_t *body)
{
    (void)body;
    if (!from_layers(request, DIFF_FILE, "application/octet-stream"))
        pass(request, "file.get", GUEST_OP_READ, WCALL_STREAM_OUT, PORT_BULK);
}

static void read_folder(const struct request *request, json_t *body)
{
    (void)body;
    if (!from_layers(request, DIFF_FOLDER, "application/x-tar"))
        pass(request, "file.get", GUEST_OP_READ, WCALL_STREAM_OUT, PORT_BULK);
}

static void write_file(const struct request *request, json_t *body)
{
    (void)body;
    pass(request, "file.put", GUEST_OP_WRITE, WCALL_STREAM_IN, PORT_BULK);
}

static void open_tcp(const struct request *request, json_t *body)
{
    (void)body;
    pass(request, "file.tcp", GUEST_OP_DUPLEX, WCALL_STREAM_IN | WCALL_STREAM_OUT, PORT_BULK);
}

static void read_console(const struct request *request, json_t *body)
{
    autofree char *follow = NULL;
    char id[PROJECT_ID_MAX];

    (void)body;
    if (request_project(request, id) && request_query(request, "follow", &follow))
        console_stream(request->daemon, request->stream, id, follow && !strcmp(follow, "1"));
}

const struct route routes_file[] = {
    {"GET", "/v1/projects/?/files/stat", stat_file, false},
    {"GET", "/v1/projects/?/files/list", list_files, false},
    {"POST", "/v1/projects/?/files/folder", make_folder, false},
    {"GET", "/v1/projects/?/files", read_file, false},
    {"PUT", "/v1/projects/?/files", write_file, false},
    {"GET", "/v1/projects/?/tar", read_folder, false},
    {"PUT", "/v1/projects/?/tar", write_file, false},
    {"POST", "/v1/projects/?/tcp/?", open_tcp, false},
    {"GET", "/v1/projects/?/console", read_console, false},
    {0},
};
