#include "daemon/exec_end.h"

#include "base/alloc.h"
#include "base/log.h"
#include "base/units.h"
#include "daemon/git_out.h"
#include "daemon/inbox.h"

#include <string.h>

/* One session that is waited for. */
struct watched {
    struct watched *next;
    struct daemon *daemon;
    char project[PROJECT_ID_MAX];
    struct session_row row;
    bool out; /* the call is out */
};

static struct watched *all; /* loop thread only */

static void free_watched(struct watched *watched)
{
    for (struct watched **at = &all; *at; at = &(*at)->next) {
        if (*at == watched) {
            *at = watched->next;
            break;
        }
    }
    free(watched->row.subject);
    free(watched);
}

static struct watched *find(const char *project, const char *session)
{
    struct watched *watched = all;

    while (watched && (strcmp(watched->project, project) || strcmp(watched->row.id, session)))
        watched = watched->next;
    return watched;
}

static struct watched *add(struct daemon *daemon, const char *project, const struct session_row *row)
{
    struct watched *watched = xnew(struct watched);

    watched->daemon = daemon;
    snprintf(watched->project, sizeof(watched->project), "%s", project);
    watched->row = *row;
    watched->row.subject = xstrdup(row->subject);
    watched->next = all;
    all = watched;
    return watched;
}

/* Writes the end; session NULL: the guest has forgotten it, how it ended is not known. */
static void note_end(struct watched *watched, const struct guest_session *session)
{
    auto(error) struct error *err = NULL;
    struct event event = EVENT_INIT;

    event.project = watched->project;
    event.session = watched->row.id;
    event.kind = "exec.end";
    event.actor = "guest";
    event.subject = watched->row.subject;
    if (session) {
        event.exit = session->exit_status;
        event.ms =
            session->ended_ns > session->started_ns ? (session->ended_ns - session->started_ns) / 1000000 : 0;
        event.data = session->timed_out ? "{\"timed_out\":true}" : NULL;
    }
    if (daemon_journal(watched->daemon, &event, &err) < 0)
        log_error("%s", err->message);
    if (state_session_forget(watched->daemon->state, watched->project, watched->row.id, NULL) < 0)
        log_error("a session's row cannot be removed");
}

static void on_end(const struct wmsg_item *item, const struct error *err, void *user)
{
    struct watched *watched = user;

    watched->out = false;
    if (err && err->code != ERROR_NOT_FOUND) {
        free_watched(watched); /* the row stays: exec_end_watch takes it up when the guest is back */
        return;
    }
    note_end(watched, err ? NULL : &item->u.session);
    inbox_ended(watched->daemon->inbox, watched->project, watched->row.id);
    git_out_session_ended(watched->daemon, watched->project);
    free_watched(watched);
}

static const struct guest_call_ops wait_ops = {.on_result = on_end};

/* Asks the guest to say when it ends. */
static void wait_for(struct watched *watched, struct guest *guest)
{
    autofree char *path = xasprintf("/v1/sessions/%s/wait", watched->row.id);
    struct guest_call call = {.op = GUEST_OP_SESSION_SHOW, .port = PORT_CONTROL, .path = path, .stream = -1};

    watched->out = guest_call(guest, &call, &wait_ops, watched, NULL) != 0;
    if (!watched->out)
        free_watched(watched);
}

void exec_end_begin(struct daemon *daemon, const char *id, const struct guest_session *session,
                    const char *subject)
{
    struct session_row row = {
        .started_ns = units_now_ns(), .pty = session->pty != 0, .subject = (char *)(uintptr_t)subject};
    struct guest *guest = guest_pool_get(daemon->guests, id);
    auto(error) struct error *err = NULL;

    if (session->id[strspn(session->id, "abcdefghijklmnopqrstuvwxyz0123456789-")] || !session->id[0]) {
        log_warning("project %s: the guest gave a session a name that is none", id);
        return;
    }
    snprintf(row.id, sizeof(row.id), "%s", session->id);
    if (state_session_save(daemon->state, id, &row, &err) < 0)
        log_error("%s", err->message);
    if (guest)
        wait_for(add(daemon, id, &row), guest);
}

void exec_end_failed(struct daemon *daemon, const char *id, const char *subject, const struct error *why)
{
    auto(error) struct error *err = NULL;
    struct event event = EVENT_INIT;

    event.project = id;
    event.kind = "exec.failed";
    event.actor = "hutchd";
    event.subject = subject;
    event.verdict = error_code_name(why->code);
    if (daemon_journal(daemon, &event, &err) < 0)
        log_error("%s", err->message);
}

struct rows {
    struct daemon *daemon;
    const char *id;
    struct watched *fresh[64];
    size_t count;
};

static void collect(const struct session_row *row, void *user)
{
    struct rows *rows = user;

    if (rows->count < countof(rows->fresh) && !find(rows->id, row->id))
        rows->fresh[rows->count++] = add(rows->daemon, rows->id, row);
}

void exec_end_watch(struct daemon *daemon, const char *id, struct guest *guest)
{
    struct rows rows = {.daemon = daemon, .id = id};

    state_session_each(daemon->state, id, collect, &rows, NULL);
    for (size_t i = 0; i < rows.count; i++)
        wait_for(rows.fresh[i], guest);
}

bool exec_end_is_terminal(struct daemon *daemon, const char *id, const char *session)
{
    struct watched *watched = find(id, session);

    (void)daemon;
    return watched && watched->row.pty;
}
