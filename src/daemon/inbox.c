#include "daemon/inbox.h"

#include "base/alloc.h"
#include "base/log.h"
#include "base/units.h"
#include "daemon/create.h"
#include "daemon/freeze.h"
#include "daemon/ops.h"
#include "daemon/state_requests.h"

#include <string.h>

#define OWNERS_MAX 8
#define MS_NS      1000000

/* When a person's key was seen last for a project ("" for the inbox). */
struct attend {
    struct attend *next;
    int64_t at_ms;
    char project[PROJECT_ID_MAX];
};

struct wait {
    TAILQ_ENTRY(wait) link;
    uint64_t number;
    int64_t id;
    inbox_wait_fn fn;
    void *user;
};

struct inbox {
    struct daemon *daemon;
    struct approval *approval;
    uv_timer_t timer;
    struct attend *attends;
    const struct inbox_owner *owners[OWNERS_MAX];
    TAILQ_HEAD(, wait) waits;
    uint64_t last_wait;
    bool closed;
};

static int64_t now_ms(void)
{
    return units_now_ns() / MS_NS;
}

struct approval *inbox_approval(struct inbox *inbox)
{
    return inbox->approval;
}

/* ---- what approval needs ---- */

static int64_t on_now(void *user)
{
    return now_ms();
}

static int on_save(struct approval_request *request, void *user, struct error **err)
{
    struct inbox *inbox = user;

    return state_request_save(inbox->daemon->state, request, err);
}

static bool on_attending(const char *project, void *user)
{
    return inbox_attended(user, project);
}

void inbox_settings(struct inbox *inbox, const char *id, struct inbox_settings *ret_settings)
{
    struct project *project = projects_lock(inbox->daemon->projects, id);
    auto(error) struct error *err = NULL;
    char name[PROJECT_NAME_MAX] = "";

    if (project) {
        memcpy(name, project->r.name, sizeof(name));
        projects_unlock(inbox->daemon->projects);
    }
    if (inbox_settings_load(inbox->daemon->paths, name, ret_settings, &err) < 0)
        log_warning("[approvals] is not taken: %s", err->message);
}

static bool on_away_freezes(const char *project, void *user)
{
    struct inbox_settings settings;

    inbox_settings(user, project, &settings);
    return settings.away_freezes;
}

static void submit(struct inbox *inbox, const struct job_kind *kind, const char *project, int64_t id)
{
    struct freeze_params *params;

    if (inbox->closed)
        return; /* the next hutchd lets go on what is on record as frozen */
    params = xnew(struct freeze_params);
    params->request = id;
    job_submit(inbox->daemon->jobs, project, kind, params);
}

/* Of several at once it stands still for the oldest, which is the one that lists show first. */
static void on_freeze(const char *project, int64_t id, void *user)
{
    struct inbox *inbox = user;
    int64_t oldest = approval_frozen_for(inbox->approval, project);

    submit(inbox, &freeze_kind, project, oldest ? oldest : id);
}

/* It stands still for another question too: then for that one from now on. */
static void on_thaw(const char *project, int64_t id, void *user)
{
    struct inbox *inbox = user;
    int64_t other = approval_frozen_for(inbox->approval, project);

    if (other)
        submit(inbox, &freeze_kind, project, other);
    else
        submit(inbox, &thaw_kind, project, id);
}

/* It stands still for another question too: then that one's end stores it. */
static void on_store(const char *project, int64_t id, void *user)
{
    struct inbox *inbox = user;
    int64_t other = approval_frozen_for(inbox->approval, project);

    submit(inbox, other ? &freeze_kind : &store_kind, project, other ? other : id);
}

/* A machine that was saved because nobody came goes on when somebody has answered. */
static void wake_stored(struct inbox *inbox, const struct approval_request *request)
{
    struct record r = {0};
    bool known = projects_record(inbox->daemon->projects, request->project, &r);

    if (known && r.saved && r.stored_for && !inbox->closed)
        job_submit(inbox->daemon->jobs, request->project, &up_kind, up_params_parse(NULL, NULL));
    record_finish(&r);
}

static int on_apply(const struct approval_request *request, void *user, struct error **err)
{
    struct inbox *inbox = user;

    for (size_t i = 0; i < OWNERS_MAX && inbox->owners[i]; i++)
        if (!strcmp(inbox->owners[i]->name, request->owner))
            return inbox->owners[i]->apply(inbox->daemon, request, err);
    return error_set(err, ERROR_STATE, "nobody answers for requests of \"%s\" in this hutch", request->owner);
}

/* The answer as the journal has it: who, for how long, and what was shown (by its digest). */
static char *decision_data(const struct approval_request *request)
{
    json_t *data = json_pack("{s:I, s:s, s:s, s:s, s:I}", "request", (json_int_t)request->id, "key",
                             request->key, "tier", approval_tier_name(request->tier), "digest",
                             request->digest, "generation", (json_int_t)request->generation);

    require(data);
    if (request->batch)
        json_object_set_new(data, "batch", json_integer(request->batch));
    if (request->state == APPROVAL_ALLOWED || request->state == APPROVAL_DENIED) {
        json_object_set_new(data, "scope", json_string(approval_scope_name(request->scope)));
        json_object_set_new(data, "by", json_string(request->by));
        json_object_set_new(data, "duration_s", json_integer(request->duration_s));
    }
    if (request->reason && request->reason[0])
        json_object_set_new(data, "reason", json_string(request->reason));
    char *text = json_dumps(data, JSON_COMPACT | JSON_ENSURE_ASCII);
    json_decref(data);
    return text;
}

static int write_row(struct inbox *inbox, const char *kind, const struct approval_request *request,
                     const char *data, struct error **err)
{
    autofree char *subject =
        request->id ? xasprintf("#%lld %s %s", (long long)request->id, request->verb, request->subject)
                    : xasprintf("%s %s", request->verb, request->subject);
    bool decided = request->state == APPROVAL_ALLOWED || request->state == APPROVAL_DENIED;
    struct event event = EVENT_INIT;

    event.project = request->project;
    event.boot = request->boot && request->boot[0] ? request->boot : NULL;
    event.session = request->session && request->session[0] ? request->session : NULL;
    event.kind = kind;
    event.actor = !strcmp(kind, "approval.decision") ? "user" : "hutchd";
    event.subject = subject;
    event.verdict = decided ? (request->state == APPROVAL_ALLOWED ? "allow" : "deny") : NULL;
    event.ms = decided ? request->changed_ms - request->asked_ms : -1;
    event.data = data;
    return daemon_journal_durable(inbox->daemon, &event, err);
}

static int on_journal(const char *kind, const struct approval_request *request, void *user,
                      struct error **err)
{
    struct inbox *inbox = user;

    if (!strcmp(kind, "approval.quota")) {
        daemon_noted(inbox->daemon, request->project, "finding.questions",
                     "it asks more than a person can answer; further questions are denied for a while");
        return write_row(inbox, kind, request, NULL, err);
    }
    autofree char *data = decision_data(request);
    return write_row(inbox, kind, request, data, err);
}

/* How many questions of it are open, for lists. */
static void count_waiting(struct inbox *inbox, const char *id)
{
    unsigned count = (unsigned)approval_count(inbox->approval, id);
    struct project *project = projects_lock(inbox->daemon->projects, id);

    if (!project)
        return;
    project->waiting = count;
    projects_unlock(inbox->daemon->projects);
}

/* Tells those who wait for this number when it is no longer open. */
static void on_changed(const struct approval_request *request, void *user)
{
    struct inbox *inbox = user;
    TAILQ_HEAD(, wait) ended = TAILQ_HEAD_INITIALIZER(ended);
    struct wait *wait, *next;

    count_waiting(inbox, request->project);
    if (request->state == APPROVAL_ALLOWED || request->state == APPROVAL_DENIED)
        wake_stored(inbox, request);
    if (request->state == APPROVAL_HELD || request->state == APPROVAL_FROZEN ||
        request->state == APPROVAL_WAITING)
        return;
    for (wait = TAILQ_FIRST(&inbox->waits); wait; wait = next) {
        next = TAILQ_NEXT(wait, link);
        if (wait->id != request->id)
            continue;
        TAILQ_REMOVE(&inbox->waits, wait, link);
        TAILQ_INSERT_TAIL(&ended, wait, link);
    }
    while ((wait = TAILQ_FIRST(&ended))) { /* what they do may end other waits */
        TAILQ_REMOVE(&ended, wait, link);
        wait->fn(request->id, request->state, request->reason, wait->user);
        free(wait);
    }
}

static void on_timer(uv_timer_t *timer)
{
    approval_tick(((struct inbox *)timer->data)->approval);
}

static void on_wake(int64_t at_ms, void *user)
{
    struct inbox *inbox = user;
    int64_t rest = at_ms - now_ms();

    if (!at_ms)
        uv_timer_stop(&inbox->timer);
    else /* looked at every second: the clock may jump */
        uv_timer_start(&inbox->timer, on_timer, rest < 1 ? 1 : rest > 1000 ? 1000 : (uint64_t)rest, 0);
}

/* ---- who attends ---- */

static struct attend *find_attend(const struct inbox *inbox, const char *project)
{
    struct attend *attend = inbox->attends;

    while (attend && strcmp(attend->project, project) != 0)
        attend = attend->next;
    return attend;
}

void inbox_attend(struct inbox *inbox, const char *project)
{
    struct attend *attend = find_attend(inbox, project ? project : "");

    if (!attend) {
        attend = xnew(struct attend);
        snprintf(attend->project, sizeof(attend->project), "%s", project ? project : "");
        attend->next = inbox->attends;
        inbox->attends = attend;
    }
    attend->at_ms = now_ms();
}

static bool fresh(const struct attend *attend)
{
    int64_t age = attend ? now_ms() - attend->at_ms : -1;
    return age >= 0 && age < INBOX_ATTEND_MS;
}

bool inbox_attended(const struct inbox *inbox, const char *project)
{
    return fresh(find_attend(inbox, project)) || fresh(find_attend(inbox, ""));
}

void inbox_thaw(struct inbox *inbox, const char *project)
{
    approval_thawed(inbox->approval, project);
}

void inbox_away(struct inbox *inbox, const char *project)
{
    approval_away(inbox->approval, project);
}

/* ---- what is over ---- */

void inbox_ended(struct inbox *inbox, const char *project, const char *session)
{
    for (size_t i = 0; i < OWNERS_MAX && inbox->owners[i]; i++)
        if (inbox->owners[i]->ended)
            inbox->owners[i]->ended(inbox->daemon, project, session);
}

void inbox_forget(struct inbox *inbox, const char *project)
{
    approval_forget(inbox->approval, project);
    for (size_t i = 0; i < OWNERS_MAX && inbox->owners[i]; i++)
        if (inbox->owners[i]->forget)
            inbox->owners[i]->forget(inbox->daemon, project);
}

struct over_post {
    struct daemon *daemon;
    const char *project;
};

static void do_boot_ended(void *user)
{
    struct over_post *post = user;

    inbox_ended(post->daemon->inbox, post->project, NULL);
}

static void do_forget(void *user)
{
    struct over_post *post = user;

    inbox_forget(post->daemon->inbox, post->project);
}

void inbox_post_boot_ended(struct daemon *daemon, const char *project)
{
    struct over_post post = {daemon, project};

    post_wait(daemon->posts, do_boot_ended, &post);
}

void inbox_post_forget(struct daemon *daemon, const char *project)
{
    struct over_post post = {daemon, project};

    post_wait(daemon->posts, do_forget, &post);
}

/* ---- those who wait for a number ---- */

uint64_t inbox_wait(struct inbox *inbox, const char *project, int64_t id, inbox_wait_fn fn, void *user)
{
    const struct approval_request *open = approval_find(inbox->approval, id);
    struct approval_request stored;

    if (!open) {
        if (state_request_load(inbox->daemon->state, id, &stored, NULL) < 0)
            return 0;
        bool ours = !strcmp(stored.project, project);
        if (ours)
            fn(id, stored.state, stored.reason, user);
        state_request_finish(&stored);
        return ours ? ++inbox->last_wait : 0;
    }
    if (strcmp(open->project, project) != 0)
        return 0;
    struct wait *wait = xnew(struct wait);
    *wait = (struct wait){.number = ++inbox->last_wait, .id = id, .fn = fn, .user = user};
    TAILQ_INSERT_TAIL(&inbox->waits, wait, link);
    return wait->number;
}

void inbox_unwait(struct inbox *inbox, uint64_t number)
{
    struct wait *wait;

    TAILQ_FOREACH(wait, &inbox->waits, link)
    {
        if (wait->number != number)
            continue;
        TAILQ_REMOVE(&inbox->waits, wait, link);
        free(wait);
        return;
    }
}

/* ---- life ---- */

static void restore(const struct approval_request *request, void *user)
{
    struct inbox *inbox = user;
    auto(error) struct error *err = NULL;

    if (approval_restore(inbox->approval, request, &err) < 0)
        log_error("request %lld: %s", (long long)request->id, err->message);
    count_waiting(inbox, request->project);
}

int inbox_create(struct daemon *daemon, struct inbox **ret_inbox, struct error **err)
{
    static const struct approval_ops ops = {.now = on_now,
                                            .save = on_save,
                                            .attending = on_attending,
                                            .away_freezes = on_away_freezes,
                                            .freeze = on_freeze,
                                            .thaw = on_thaw,
                                            .store = on_store,
                                            .apply = on_apply,
                                            .journal = on_journal,
                                            .changed = on_changed,
                                            .wake = on_wake};
    struct inbox *inbox = xnew(struct inbox);

    inbox->daemon = daemon;
    TAILQ_INIT(&inbox->waits);
    uv_timer_init(&daemon->loop, &inbox->timer);
    inbox->timer.data = inbox;
    inbox->approval = approval_create(&ops, inbox);
    int rc = state_requests_open(daemon->state, restore, inbox, err);
    if (rc < 0) {
        inbox_destroy(inbox);
        return rc;
    }
    *ret_inbox = inbox;
    return 0;
}

void inbox_close(struct inbox *inbox)
{
    inbox->closed = true;
    inbox_away(inbox, NULL);
}

static void on_closed(uv_handle_t *handle)
{
    free(handle->data);
}

void inbox_destroy(struct inbox *inbox)
{
    struct wait *wait;

    if (!inbox)
        return;
    approval_destroy(inbox->approval);
    inbox->approval = NULL;
    while ((wait = TAILQ_FIRST(&inbox->waits))) {
        TAILQ_REMOVE(&inbox->waits, wait, link);
        free(wait);
    }
    while (inbox->attends) {
        struct attend *next = inbox->attends->next;
        free(inbox->attends);
        inbox->attends = next;
    }
    uv_close((uv_handle_t *)&inbox->timer, on_closed);
}

void inbox_add_owner(struct inbox *inbox, const struct inbox_owner *owner)
{
    size_t i = 0;

    while (i < OWNERS_MAX && inbox->owners[i])
        i++;
    require(i < OWNERS_MAX);
    inbox->owners[i] = owner;
}
