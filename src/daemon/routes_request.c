/* Routes of requests: what waits for a person, and a person's answers. That they come over this socket from
 * this user is the server's part; that they are about what was shown, approval's. */
#include "base/alloc.h"
#include "base/text.h"
#include "base/units.h"
#include "daemon/inbox.h"
#include "daemon/inbox_show.h"
#include "daemon/server.h"
#include "wire/json.h"

#include <string.h>
#include <unistd.h>

#define REQUESTS_MAX 4096 /* that a list shows */
#define WORDS_MAX    1000 /* bytes that are typed with an answer */
#define TTY_MAX      24
#define DURATION_MAX (366LL * 86400)

/* The number in the path. false: the client has been told. */
static bool request_id(const struct request *request, int64_t *ret_id)
{
    auto(error) struct error *err = NULL;
    uint64_t id;

    if (units_parse_number(request->args[0], 1, INT64_MAX, &id, NULL) == 0) {
        *ret_id = (int64_t)id;
        return true;
    }
    autofree char *safe = text_safe(request->args[0]);
    error_set(&err, ERROR_NOT_FOUND, "\"%s\" is no number of a request", safe);
    request_fail(request, err);
    return false;
}

/* The open ones; of one project with ?project=NAME. */
static void list_requests(const struct request *request, json_t *body)
{
    struct approval *approval = inbox_approval(request->daemon->inbox);
    const struct approval_request **list;
    auto(error) struct error *err = NULL;
    autofree char *name = NULL;
    char id[PROJECT_ID_MAX] = "";
    size_t count;

    (void)body;
    if (!request_query(request, "project", &name))
        return;
    if (name && projects_find(request->daemon->projects, name, id, &err) < 0) {
        request_fail(request, err);
        return;
    }
    list = xnewn(const struct approval_request *, REQUESTS_MAX);
    count = approval_list(approval, list, REQUESTS_MAX);
    struct json_writer *writer = json_writer_create(request->stream, NULL, NULL);
    for (size_t i = 0; i < count; i++) {
        if (name && strcmp(list[i]->project, id) != 0)
            continue;
        auto(json) json_t *row = inbox_show_row(request->daemon, list[i]);

        json_writer_line(writer, row);
    }
    json_writer_end(writer);
    free(list);
}

/* How requests were answered, by kind and class. */
static void list_stats(const struct request *request, json_t *body)
{
    auto(error) struct error *err = NULL;
    auto(json) json_t *list = NULL;
    autofree char *name = NULL;
    char id[PROJECT_ID_MAX] = "";
    json_t *row;
    size_t i;

    (void)body;
    if (!request_query(request, "project", &name))
        return;
    if ((name && projects_find(request->daemon->projects, name, id, &err) < 0) ||
        !(list = inbox_show_stats(request->daemon, id, &err))) {
        request_fail(request, err);
        return;
    }
    struct json_writer *writer = json_writer_create(request->stream, NULL, NULL);
    json_array_foreach(list, i, row)
    {
        json_writer_line(writer, row);
    }
    json_writer_end(writer);
}

/* An open one as it is, one that is over from the store. */
static void show_request(const struct request *request, json_t *body)
{
    const struct approval_request *open;
    auto(error) struct error *err = NULL;
    auto(json) json_t *json = NULL;
    int64_t id;

    (void)body;
    if (!request_id(request, &id))
        return;
    open = approval_find(inbox_approval(request->daemon->inbox), id);
    json = open ? inbox_show(request->daemon, open) : inbox_show_stored(request->daemon, id, &err);
    if (json)
        json_reply(request->stream, 200, json);
    else
        request_fail(request, err);
}

/* ---- answers ---- */

/* Reads {verdict, scope, duration_s, reason, nonce, digest}. Only the word "allow" allows. */
static int read_answer(const json_t *body, struct approval_answer *ret, const char **ret_tty,
                       struct error **err)
{
    const char *verdict = NULL, *scope = "once";
    int rc = json_get_string(body, "verdict", 16, &verdict, err);

    if (rc == 0)
        rc = json_get_string(body, "nonce", APPROVAL_NONCE_SIZE, &ret->nonce, err);
    if (rc == 0)
        rc = json_get_string(body, "digest", sizeof(((struct approval_request *)0)->digest), &ret->digest,
                             err);
    if (rc == 0)
        rc = json_opt_string(body, "scope", 16, &scope, err);
    if (rc == 0)
        rc = json_opt_number(body, "duration_s", 0, DURATION_MAX, &ret->duration_s, err);
    if (rc == 0)
        rc = json_opt_string(body, "reason", WORDS_MAX, &ret->reason, err);
    if (rc == 0)
        rc = json_opt_string(body, "tty", 256, ret_tty, err);
    if (rc < 0)
        return rc;
    int number = approval_scope_read(scope);
    if (number < 0)
        return error_set(err, ERROR_INVALID, "\"scope\" is once, session, project, all or duration");
    ret->scope = (enum approval_scope)number;
    if (strcmp(verdict, "allow") != 0 && strcmp(verdict, "deny") != 0)
        return error_set(err, ERROR_INVALID, "\"verdict\" is allow or deny");
    ret->allow = !strcmp(verdict, "allow");
    return 0;
}

static void note_refused(struct daemon *daemon, int64_t id, const struct error *why)
{
    const struct approval_request *open = approval_find(inbox_approval(daemon->inbox), id);
    autofree char *subject = xasprintf("#%lld: %s", (long long)id, why->message);

    daemon_noted(daemon, open ? open->project : NULL, "approval.refused", subject);
}

static void answer_request(const struct request *request, json_t *body)
{
    struct daemon *daemon = request->daemon;
    struct approval *approval = inbox_approval(daemon->inbox);
    struct approval_answer answer = {0};
    auto(error) struct error *err = NULL;
    const char *tty = NULL;
    int64_t id;
    int rc;

    if (!request_id(request, &id))
        return;
    inbox_attend(daemon->inbox, NULL);
    rc = read_answer(body, &answer, &tty, &err);
    autofree char *safe = text_safe(tty && *tty ? tty : "no terminal");
    autofree char *by = xasprintf("uid %u, %.*s", (unsigned)getuid(), TTY_MAX, safe);
    answer.id = id;
    answer.by = by;
    if (rc == 0 && !approval_find(approval, id))
        rc = inbox_explain_over(daemon, id, &err);
    if (rc == 0)
        rc = approval_answer(approval, &answer, &err);
    if (rc < 0) {
        note_refused(daemon, id, err);
        request_fail(request, err);
        return;
    }
    auto(json) json_t *done =
        json_pack("{s:I, s:s}", "request", (json_int_t)id, "verdict", answer.allow ? "allow" : "deny");
    json_reply(request->stream, 200, done);
}

/* {"project": NAME or null}: a key came in a client that shows this project, or the inbox. */
static void attend(const struct request *request, json_t *body)
{
    auto(error) struct error *err = NULL;
    auto(json) json_t *done = json_object();
    const char *name = NULL;
    char id[PROJECT_ID_MAX];
    int rc = json_opt_string(body, "project", PROJECT_NAME_MAX, &name, &err);

    if (rc == 0 && name)
        rc = projects_find(request->daemon->projects, name, id, &err);
    if (rc < 0) {
        request_fail(request, err);
        return;
    }
    inbox_attend(request->daemon->inbox, name ? id : NULL);
    json_reply(request->stream, 200, done);
}

const struct route routes_request[] = {
    {"GET", "/v1/requests", list_requests, false},  {"GET", "/v1/request-stats", list_stats, false},
    {"GET", "/v1/requests/?", show_request, false}, {"POST", "/v1/requests/?/answer", answer_request, true},
    {"POST", "/v1/attending", attend, true},        {0},
};
