/* sessions.c: the session routes. Each is one connection to that session's process. */
#include "base/alloc.h"
#include "base/fd.h"
#include "base/log.h"
#include "guest/api.h"
#include "guest/cgroup.h"
#include "guest/session.h"
#include "guest/session_client.h"
#include "guest/session_spare.h"
#include "guest/session_table.h"

#include <string.h>
#include <sys/socket.h>

#define LIST_MS 2000

static const char *call_id(const struct call *call)
{
    return call->query.argument[0];
}

static struct error *not_found(const char *id)
{
    struct error *err = NULL;
    error_set(&err, ERROR_NOT_FOUND, "there is no session '%.40s'", id);
    return err;
}

/* ---- short requests ---- */

static void ask_gone(struct call *call)
{
    session_client_destroy(call->state);
    call_free(call);
}

/* The session's process is not there (any more): what its file says, or an end of it. */
static void answer_without_process(struct call *call)
{
    const char *folder = call->agent->place.sessions, *id = call_id(call);
    bool deleting = !strcmp(call->route->method, "DELETE"), showing = !strcmp(call->route->method, "GET");
    struct error *err = NULL;

    if (deleting && session_table_forget(folder, id)) {
        call_reply(call, NULL);
        return;
    }
    json_t *record = session_table_read(folder, id, true);
    if (record && showing) {
        call_reply(call, record);
        return;
    }
    if (record && !deleting)
        error_set(&err, ERROR_STATE, "the session '%s' was lost: its process is gone", id);
    else
        err = not_found(id);
    json_decref(record);
    call_fail(call, err);
}

static void on_ask_answer(struct session_client *client, json_t *message, const struct error *err, void *user)
{
    struct call *call = user;

    session_client_destroy(client);
    call->state = NULL;
    call->on_gone = NULL;
    if (err)
        call_fail(call, error_copy(err));
    else if (!message)
        answer_without_process(call);
    else
        call_reply(call, json_incref(json_object_get(message, "session")));
}

/* Sends a request (reference taken) and answers with what comes back. */
static void ask(struct call *call, json_t *request)
{
    struct session_client *client;
    struct error *err = NULL;

    if (!session_id_valid(call_id(call))) {
        json_decref(request);
        call_fail(call, not_found(call_id(call)));
        return;
    }
    if (session_client_create(&call->agent->loop, call->agent->place.sessions, call_id(call), request, -1,
                              on_ask_answer, call, &client, &err)) {
        if (err->code == ERROR_NOT_FOUND) {
            error_free(err);
            answer_without_process(call);
        } else {
            call_fail(call, err);
        }
        return;
    }
    call->state = client;
    call->on_gone = ask_gone;
}

void sessions_show(struct call *call)
{
    ask(call, json_pack("{s:s}", "op", "show"));
}

void sessions_wait(struct call *call)
{
    ask(call, json_pack("{s:s}", "op", "wait"));
}

void sessions_delete(struct call *call)
{
    ask(call, json_pack("{s:s}", "op", "delete"));
}

/* The body of the call as a request of the session's process. */
static void ask_with_body(struct call *call, const char *op)
{
    struct error *err = NULL;

    if (!json_is_object(call->body)) {
        error_set(&err, ERROR_INVALID, "the body must be an object");
        call_fail(call, err);
        return;
    }
    json_t *request = json_copy(call->body);
    json_object_set_new(request, "op", json_string(op));
    ask(call, request);
}

void sessions_resize(struct call *call)
{
    ask_with_body(call, "resize");
}

void sessions_signal(struct call *call)
{
    ask_with_body(call, "signal");
}

/* ---- start ---- */

struct start {
    struct call *call;
    uv_poll_t poll;
    int fd;
    bool again; /* a first process was killed before it began */
};

static int begin(struct call *call, bool again, struct error **err);

static void start_closed(uv_handle_t *handle)
{
    struct start *start = handle->data;
    close(start->fd);
    free(start);
}

/* The client of a start has gone: the session stays, as if it were detached. */
static void start_gone(struct call *call)
{
    struct start *start = call->state;
    uv_close((uv_handle_t *)&start->poll, start_closed);
    call_free(call);
}

static void on_started(uv_poll_t *poll, int status, int events)
{
    struct start *start = poll->data;
    struct call *call = start->call;
    char data[SESSION_MESSAGE_MAX];
    size_t len, count;
    struct error *err = NULL;

    int rc = fd_receive(start->fd, data, sizeof(data), &len, NULL, 0, &count, NULL);
    if (rc == 0)
        return;
    uv_close((uv_handle_t *)poll, start_closed);
    call->on_gone = NULL;
    if (rc < 0 && !start->again && begin(call, true, &err) == 0)
        return;
    auto(json) json_t *message = rc > 0 ? json_parse(data, len, &err) : NULL;
    if (!message && !err)
        error_set(&err, ERROR_FAILED, "the session's process ended before it began");
    if (err || json_to_error(message, &err))
        call_fail(call, err);
    else
        call_reply(call, json_incref(json_object_get(message, "session")));
}

/* Makes room for one more ended session, and refuses one more live one than there may be. */
static int check_limits(struct call *call, struct error **err)
{
    size_t live, ended;
    autofree char *oldest = NULL;

    cgroup_sweep(call->agent->place.sessions);
    session_table_count(call->agent->place.sessions, &live, &ended, &oldest);
    if (live >= SESSIONS_LIVE_MAX) {
        error_set(err, ERROR_LIMIT, "%d sessions run already", SESSIONS_LIVE_MAX);
        return error_hint(err, "end one of them first");
    }
    if (ended < SESSIONS_ENDED_MAX)
        return 0;
    autoclose int fd = -1;
    autofree char *path = xasprintf("%s/%s.sock", call->agent->place.sessions, oldest);
    static const char request[] = "{\"op\":\"delete\"}";
    if (fd_unix_connect(path, SOCK_SEQPACKET, &fd, NULL) ||
        fd_send(fd, request, strlen(request), NULL, 0, NULL) <= 0)
        session_table_forget(call->agent->place.sessions, oldest);
    return 0;
}

static int begin(struct call *call, bool again, struct error **err)
{
    int fd;
    int rc = session_spare_use(call->agent->spare, call->body, &fd, err);

    if (rc)
        return rc;
    struct start *start = xnew(struct start);
    start->call = call;
    start->fd = fd;
    start->again = again;
    start->poll.data = start;
    require(uv_poll_init(&call->agent->loop, &start->poll, fd) == 0);
    uv_poll_start(&start->poll, UV_READABLE, on_started);
    call->state = start;
    call->on_gone = start_gone;
    return 0;
}

void sessions_start(struct call *call)
{
    struct session_spec spec;
    struct error *err = NULL;

    int rc = session_spec_read(call->body, &spec, &err);
    if (!rc) {
        session_spec_finish(&spec);
        rc = check_limits(call, &err);
    }
    if (!rc)
        rc = begin(call, false, &err);
    if (rc)
        call_fail(call, err);
}

/* ---- list ---- */

struct list;

struct list_entry {
    struct list *list;
    struct session_client *client;
    json_t *record;
};

struct list {
    struct call *call;
    uv_timer_t timer; /* a session's process that was stopped must not hold the list up */
    size_t count, pending;
    struct list_entry *entries;
};

static void list_closed(uv_handle_t *handle)
{
    struct list *list = handle->data;
    free(list->entries);
    free(list);
}

static void list_free(struct list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        session_client_destroy(list->entries[i].client);
        json_decref(list->entries[i].record);
    }
    uv_close((uv_handle_t *)&list->timer, list_closed);
}

static void list_gone(struct call *call)
{
    list_free(call->state);
    call_free(call);
}

/* The client of the lines went away: what is still queued is dropped by the writer. */
static void list_writer_gone(struct json_writer *writer, void *user)
{
}

static void list_finish(struct list *list)
{
    struct call *call = list->call;
    struct json_writer *writer = json_writer_create(call->stream, list_writer_gone, NULL);

    for (size_t i = 0; i < list->count; i++)
        if (list->entries[i].record)
            json_writer_line(writer, list->entries[i].record);
    json_writer_end(writer);
    list_free(list);
    call_free(call);
}

static void on_list_late(uv_timer_t *timer)
{
    list_finish(timer->data);
}

static void on_list_answer(struct session_client *client, json_t *message, const struct error *err,
                           void *user)
{
    struct list_entry *entry = user;
    struct list *list = entry->list;
    json_t *record = json_object_get(message, "session");

    entry->client = NULL;
    session_client_destroy(client);
    if (record) {
        json_decref(entry->record);
        entry->record = json_incref(record);
    }
    if (--list->pending == 0)
        list_finish(list);
}

void sessions_list(struct call *call)
{
    const char *folder = call->agent->place.sessions;
    char **ids = session_table_ids(folder);
    struct list *list = xnew(struct list);

    while (ids[list->count])
        list->count++;
    list->call = call;
    list->entries = xnewn(struct list_entry, list->count + 1);
    uv_timer_init(&call->agent->loop, &list->timer);
    list->timer.data = list;
    uv_timer_start(&list->timer, on_list_late, LIST_MS, 0);
    call->state = list;
    call->on_gone = list_gone;
    for (size_t i = 0; i < list->count; i++) {
        struct list_entry *entry = &list->entries[i];
        entry->list = list;
        if (session_client_create(&call->agent->loop, folder, ids[i], json_pack("{s:s}", "op", "show"), -1,
                                  on_list_answer, entry, &entry->client, NULL) == 0)
            list->pending++;
        entry->record = session_table_read(folder, ids[i], true);
    }
    json_free_strings(ids);
    if (list->pending == 0)
        list_finish(list);
}
