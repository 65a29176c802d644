/* Routes of files and ports of the machine: all go to the guest as they are. Each transfer is on record
 * before it happens. */
#include "base/alloc.h"
#include "base/log.h"
#include "base/text.h"
#include "daemon/console.h"
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

/* Writes the event of a transfer; the act waits for it. */
static int admit(const struct request *request, const char *id, const char *kind, const char *what,
                 struct error **err)
{
    struct event event = EVENT_INIT;
    struct text text;
    int rc;

    text_init(&text, what, strlen(what), SUBJECT_MAX, TEXT_DEFAULT);
    event.project = id;
    event.kind = kind;
    event.actor = "user";
    event.subject = text.bytes;
    rc = daemon_journal(request->daemon, &event, err);
    text_finish(&text);
    return rc;
}

struct transfer {
    struct daemon *daemon;
    char id[PROJECT_ID_MAX];
    char *what;
};

/* What was admitted and did not come to pass is said too. */
static void on_transfer_end(const struct wmsg_item *item, const struct error *why, uint64_t bytes, void *user)
{
    struct transfer *transfer = user;
    auto(error) struct error *err = NULL;
    struct event event = EVENT_INIT;
    struct text text;

    (void)item;
    if (why) {
        text_init(&text, transfer->what, strlen(transfer->what), SUBJECT_MAX, TEXT_DEFAULT);
        event.project = transfer->id;
        event.kind = "file.failed";
        event.actor = "hutchd";
        event.subject = text.bytes;
        event.verdict = error_code_name(why->code);
        event.bytes_up = (int64_t)bytes;
        if (daemon_journal(transfer->daemon, &event, &err) < 0)
            log_error("%s", err->message);
        text_finish(&text);
    }
    free(transfer->what);
    free(transfer);
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
    if (kind && admit(request, id, kind, what ? what : request->path, &err) < 0) {
        request_fail(request, err);
        return;
    }
    options.id = id;
    if (kind) {
        struct transfer *transfer = xnew(struct transfer);
        transfer->daemon = request->daemon;
        memcpy(transfer->id, id, sizeof(id));
        transfer->what = xstrdup(what ? what : request->path);
        options.on_end = on_transfer_end;
        options.user = transfer;
    }
    relay_start(request->daemon, request->stream, &options);
}

static void stat_file(const struct request *request, json_t *body)
{
    (void)body;
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
    {"GET", "/v1/projects/?/tar", read_file, false},
    {"PUT", "/v1/projects/?/tar", write_file, false},
    {"POST", "/v1/projects/?/tcp/?", open_tcp, false},
    {"GET", "/v1/projects/?/console", read_console, false},
    {0},
};
