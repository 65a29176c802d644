#include "approval/approval_internal.h"

#include "approval/request.h"
#include "base/alloc.h"
#include "base/cleanup.h"

#include <string.h>

#define DURATION_MAX_S (30 * 86400)

struct approval *approval_create(const struct approval_ops *ops, void *user)
{
    struct approval *approval = xnew(struct approval);

    approval->ops = *ops;
    approval->user = user;
    TAILQ_INIT(&approval->items);
    TAILQ_INIT(&approval->denials);
    TAILQ_INIT(&approval->rates);
    return approval;
}

static void item_free(struct approval *approval, struct approval_item *item)
{
    TAILQ_REMOVE(&approval->items, item, link);
    request_finish(&item->request);
    batch_finish(item);
    free(item);
}

void approval_destroy(struct approval *approval)
{
    if (!approval)
        return;
    while (!TAILQ_EMPTY(&approval->items))
        item_free(approval, TAILQ_FIRST(&approval->items));
    quota_finish(approval);
    free(approval);
}

/* ---- small steps ---- */

static void wake(struct approval *approval)
{
    struct approval_item *item;
    int64_t at = 0;

    TAILQ_FOREACH(item, &approval->items, link)
    if (item_stands(item) && (!at || item->deadline_ms < at))
        at = item->deadline_ms;
    approval->ops.wake(at, approval->user);
}

static void set_state(struct approval *approval, struct approval_item *item, enum approval_state state)
{
    bool was_frozen = item->request.state == APPROVAL_FROZEN, stored = item->stored;

    item->request.state = state;
    item->request.changed_ms = approval_now(approval);
    item->stored = false;
    if (was_frozen && state != APPROVAL_FROZEN)
        (stored ? approval->ops.store : approval->ops.thaw)(item->request.project, item->request.id,
                                                            approval->user);
}

/* Tells all that wait. They may ask or withdraw others meanwhile. */
static void release(struct approval_item *item, const struct approval_outcome *outcome)
{
    struct waiter_list waiters;
    struct approval_waiter *waiter;

    TAILQ_INIT(&waiters);
    TAILQ_CONCAT(&waiters, &item->waiters, link);
    item->request.waiters = 0;
    TAILQ_FOREACH(waiter, &waiters, link)
    waiter->item = NULL;
    while ((waiter = TAILQ_FIRST(&waiters))) {
        TAILQ_REMOVE(&waiters, waiter, link);
        waiter->done(waiter, outcome);
    }
}

/* The same as before but for its place in the store: a failure is the caller's to judge. */
static int save(struct approval *approval, struct approval_item *item, struct error **err)
{
    return approval->ops.save(&item->request, approval->user, err);
}

/* An open one becomes WAITING: what stood still is refused with its number. */
static void send_away(struct approval *approval, struct approval_item *item)
{
    struct approval_outcome outcome = {.verdict = APPROVAL_AWAY, .id = item->request.id};

    set_state(approval, item, APPROVAL_WAITING);
    save(approval, item, NULL); /* a restart makes the same of what is stored */
    approval->ops.changed(&item->request, approval->user);
    release(item, &outcome);
}

/* Ends without an answer. */
static void close_gone(struct approval *approval, struct approval_item *item, const char *why)
{
    struct approval_outcome outcome = {.verdict = APPROVAL_DENY, .id = item->request.id, .reason = why};

    set_state(approval, item, APPROVAL_GONE);
    request_text(&item->request.reason, why);
    save(approval, item, NULL);
    approval->ops.journal("approval.gone", &item->request, approval->user, NULL);
    approval->ops.changed(&item->request, approval->user);
    release(item, &outcome);
    item_free(approval, item);
}

/* ---- asking ---- */

static struct approval_item *find_open(struct approval *approval, const struct approval_ask *ask)
{
    struct approval_item *item;

    TAILQ_FOREACH(item, &approval->items, link)
    if (item_is_open(item) && approval_same(item->request.project, ask->project) &&
        approval_same(item->request.key, ask->key) && approval_same(item->request.verb, ask->verb))
        return item;
    return NULL;
}

static size_t waiters_of(const struct approval *approval, const char *project)
{
    const struct approval_item *item;
    size_t count = 0;

    TAILQ_FOREACH(item, &approval->items, link)
    if (approval_same(item->request.project, project))
        count += item->request.waiters;
    return count;
}

static void attach(struct approval_item *item, struct approval_waiter *waiter)
{
    waiter->item = item;
    TAILQ_INSERT_TAIL(&item->waiters, waiter, link);
    item->request.waiters++;
}

/* What is asked now, in place of what was asked before under the same key. The same act for the same session
 * keeps its text: a program that tries again does not change the question under its reader. */
static void renew(struct approval_item *item, const struct approval_ask *ask, bool force)
{
    struct approval_request *request = &item->request;

    if (!force && approval_same(request->subject, ask->subject) && approval_same(request->boot, ask->boot) &&
        approval_same(request->session, ask->session) && request->generation == ask->generation &&
        request->tier == ask->tier && request->scopes == ask->scopes)
        return;
    request_text(&request->boot, ask->boot);
    request_text(&request->session, ask->session);
    request_text(&request->fields, ask->fields);
    request_text(&request->subject, ask->subject);
    request->generation = ask->generation;
    request->tier = ask->tier;
    request->scopes = ask->scopes;
    request_bind(request);
}

static void hold(struct approval *approval, struct approval_item *item, const struct approval_ask *ask)
{
    item->hold_ms = ask->hold_ms ? ask->hold_ms : APPROVAL_HOLD_MS;
    item->freeze_ms = ask->freeze_ms ? ask->freeze_ms : APPROVAL_FREEZE_MS;
    item->deadline_ms = approval_now(approval) + item->hold_ms;
    set_state(approval, item, APPROVAL_HELD);
}

/* Joins an open question. While somebody waits already its text stays, so that it does not change under a
 * reader: what differs then is who asks, not what. */
static void join(struct approval *approval, struct approval_item *item, const struct approval_ask *ask,
                 struct approval_waiter *waiter)
{
    item->request.attempts++;
    if (!item->request.waiters)
        renew(item, ask, false);
    if (!item_stands(item))
        hold(approval, item, ask);
    attach(item, waiter);
    save(approval, item, NULL); /* the question itself is stored; its count may be lost */
    approval->ops.changed(&item->request, approval->user);
    wake(approval);
}

/* A new question, written down before it counts. NULL: it could not be. */
static struct approval_item *open_new(struct approval *approval, const struct approval_ask *ask,
                                      const struct approval_item *with, bool held)
{
    struct approval_item *item = xnew(struct approval_item);
    struct approval_request *request = &item->request;
    struct approval_request from = {.project = (char *)ask->project,
                                    .boot = (char *)ask->boot,
                                    .session = (char *)ask->session,
                                    .verb = (char *)ask->verb,
                                    .key = (char *)ask->key,
                                    .subject = (char *)ask->subject,
                                    .fields = (char *)ask->fields,
                                    .owner = (char *)ask->owner,
                                    .generation = ask->generation,
                                    .tier = ask->tier,
                                    .scopes = ask->scopes,
                                    .attempts = 1};

    TAILQ_INIT(&item->waiters);
    request_copy(request, &from);
    request->asked_ms = approval_now(approval);
    batch_join(item, with, ask);
    request_bind(request);
    if (held)
        hold(approval, item, ask);
    else
        set_state(approval, item, APPROVAL_WAITING);
    TAILQ_INSERT_TAIL(&approval->items, item, link);
    if (save(approval, item, NULL) < 0 ||
        approval->ops.journal("approval.ask", request, approval->user, NULL) < 0) {
        if (request->id) {
            request->state = APPROVAL_GONE;
            save(approval, item, NULL);
        }
        item_free(approval, item);
        return NULL;
    }
    if (held)
        quota_count(approval, request);
    return item;
}

bool approval_ask(struct approval *approval, const struct approval_ask *ask, struct approval_waiter *waiter,
                  struct approval_outcome *ret_outcome)
{
    struct approval_item *item = find_open(approval, ask);
    const struct denial *denial;
    bool full;

    if (waiters_of(approval, ask->project) >= APPROVAL_WAITERS_MAX ||
        strlen(ask->fields) > APPROVAL_FIELDS_MAX) {
        *ret_outcome = (struct approval_outcome){.verdict = APPROVAL_QUOTA};
        return false;
    }
    if (item) {
        join(approval, item, ask, waiter);
        return true;
    }
    if ((denial = quota_denial(approval, ask))) {
        *ret_outcome =
            (struct approval_outcome){.verdict = APPROVAL_DENY, .id = denial->id, .reason = denial->reason};
        return false;
    }
    const struct approval_item *with = batch_find(approval, ask, &full);
    if (full)
        quota_tell(approval, ask);
    if (full || !quota_allows(approval, ask, with != NULL)) {
        *ret_outcome = (struct approval_outcome){.verdict = APPROVAL_QUOTA};
        return false;
    }
    if (!(item = open_new(approval, ask, with, true))) {
        *ret_outcome = (struct approval_outcome){.verdict = APPROVAL_FAILED};
        return false;
    }
    attach(item, waiter);
    approval->ops.changed(&item->request, approval->user);
    wake(approval);
    return true;
}

int64_t approval_put(struct approval *approval, const struct approval_ask *ask)
{
    struct approval_item *item = find_open(approval, ask);
    bool fresh = !item;

    if (strlen(ask->fields) > APPROVAL_FIELDS_MAX ||
        (fresh && !(item = open_new(approval, ask, NULL, false))))
        return 0;
    if (!fresh) {
        item->request.attempts++;
        renew(item, ask, true);
        if (save(approval, item, NULL) < 0 ||
            approval->ops.journal("approval.ask", &item->request, approval->user, NULL) < 0)
            return 0;
    }
    approval->ops.changed(&item->request, approval->user);
    return item->request.id;
}

const struct approval_request *approval_find_key(struct approval *approval, const char *project,
                                                 const char *verb, const char *key)
{
    const struct approval_ask ask = {.project = project, .verb = verb, .key = key};
    const struct approval_item *item = find_open(approval, &ask);

    return item ? &item->request : NULL;
}

int64_t approval_waiter_id(const struct approval_waiter *waiter)
{
    return waiter->item ? waiter->item->request.id : 0;
}

static void detach(struct approval_waiter *waiter)
{
    TAILQ_REMOVE(&waiter->item->waiters, waiter, link);
    waiter->item->request.waiters--;
    waiter->item = NULL;
}

void approval_withdraw(struct approval *approval, struct approval_waiter *waiter)
{
    struct approval_item *item = waiter->item;

    if (!item)
        return;
    detach(waiter);
    if (!item->request.waiters && item_stands(item)) {
        close_gone(approval, item, "what asked has ended");
        wake(approval);
    } else {
        approval->ops.changed(&item->request, approval->user);
    }
}

void approval_resolve(struct approval *approval, struct approval_waiter *waiter,
                      const struct approval_outcome *outcome)
{
    struct approval_item *item = waiter->item;

    if (!item)
        return;
    detach(waiter);
    waiter->done(waiter, outcome);
    if (!item->request.waiters && item_stands(item)) {
        close_gone(approval, item, "a rule decides now");
        wake(approval);
    }
}

/* ---- answers ---- */

static struct approval_item *find_item(struct approval *approval, int64_t id)
{
    struct approval_item *item;

    TAILQ_FOREACH(item, &approval->items, link)
    if (item->request.id == id && item_is_open(item))
        return item;
    return NULL;
}

static int check_answer(const struct approval_request *request, const struct approval_answer *answer,
                        struct error **err)
{
    if (!answer->nonce || !answer->digest || strcmp(answer->digest, request->digest) ||
        strcmp(answer->nonce, request->nonce))
        return error_set(err, ERROR_CHANGES, "request %lld has changed since it was shown; look at it again",
                         (long long)request->id);
    if (!answer->allow)
        return 0;
    if (answer->scope >= APPROVAL_SCOPE_COUNT || !(request->scopes & (1u << answer->scope)))
        return error_set(err, ERROR_INVALID, "request %lld cannot be allowed for \"%s\"",
                         (long long)request->id,
                         answer->scope < APPROVAL_SCOPE_COUNT ? approval_scope_name(answer->scope) : "?");
    if (answer->scope == APPROVAL_DURATION && (answer->duration_s < 1 || answer->duration_s > DURATION_MAX_S))
        return error_set(err, ERROR_INVALID, "a duration is between 1 second and 30 days");
    return 0;
}

/* Written down first: the answer, then what it allows. What fails leaves the request as it was. */
static int record_answer(struct approval *approval, struct approval_item *item,
                         const struct approval_answer *answer, struct error **err)
{
    struct approval_request before = item->request, *request = &item->request;
    char *reason = request->reason, *by = request->by;
    int rc;

    request->reason = xstrdup(answer->reason ? answer->reason : "");
    request->by = xstrdup(answer->by ? answer->by : "");
    request->state = answer->allow ? APPROVAL_ALLOWED : APPROVAL_DENIED;
    request->scope = answer->allow ? answer->scope : APPROVAL_ONCE;
    request->duration_s = answer->allow ? answer->duration_s : 0;
    request->changed_ms = approval_now(approval);
    rc = approval->ops.journal("approval.decision", request, approval->user, err);
    if (!rc)
        rc = approval->ops.save(request, approval->user, err);
    if (!rc && answer->allow)
        rc = approval->ops.apply(request, approval->user, err);
    if (!rc) {
        free(reason);
        free(by);
        return 0;
    }
    free(request->reason);
    free(request->by);
    *request = before;
    approval->ops.save(request, approval->user, NULL);
    approval->ops.journal("approval.failed", request, approval->user, NULL);
    return rc;
}

int approval_answer(struct approval *approval, const struct approval_answer *answer, struct error **err)
{
    struct approval_item *item = find_item(approval, answer->id);
    int rc;

    if (!item)
        return error_set(err, ERROR_NOT_FOUND, "there is no open request %lld", (long long)answer->id);
    rc = check_answer(&item->request, answer, err);
    if (rc)
        return rc;
    bool frozen = item->request.state == APPROVAL_FROZEN;
    rc = record_answer(approval, item, answer, err);
    if (rc)
        return rc;
    if (!answer->allow)
        quota_deny(approval, &item->request);
    struct approval_outcome outcome = {.verdict = answer->allow ? APPROVAL_ALLOW : APPROVAL_DENY,
                                       .id = item->request.id,
                                       .reason = item->request.reason[0] ? item->request.reason : NULL};
    approval->ops.changed(&item->request, approval->user);
    release(item, &outcome);
    if (frozen) /* after the waiters: what they do is on its way when the machine runs again */
        approval->ops.thaw(item->request.project, item->request.id, approval->user);
    item_free(approval, item);
    wake(approval);
    return 0;
}

/* ---- time and change ---- */

static void end_hold(struct approval *approval, struct approval_item *item)
{
    const char *project = item->request.project;
    void *user = approval->user;
    bool attending = approval->ops.attending(project, user);
    bool freezes = !attending && approval->ops.away_freezes(project, user);

    if (item->request.state == APPROVAL_HELD && (attending || freezes)) {
        set_state(approval, item, APPROVAL_FROZEN);
        item->deadline_ms = approval_now(approval) + item->freeze_ms;
        save(approval, item, NULL);
        approval->ops.freeze(project, item->request.id, user);
        approval->ops.changed(&item->request, user);
        return;
    }
    item->stored = freezes;
    send_away(approval, item);
}

/* Over, or so far off that the clock must have been set back. */
static bool is_due(const struct approval_item *item, int64_t time)
{
    int64_t longest = item->request.state == APPROVAL_FROZEN ? item->freeze_ms : item->hold_ms;
    return item_stands(item) && (item->deadline_ms <= time || item->deadline_ms - time > longest);
}

void approval_tick(struct approval *approval)
{
    struct approval_item *item;
    int64_t time = approval_now(approval);

again: /* the waiters may change the list */
    TAILQ_FOREACH(item, &approval->items, link)
    {
        if (!is_due(item, time))
            continue;
        end_hold(approval, item);
        goto again;
    }
    wake(approval);
}

void approval_thawed(struct approval *approval, const char *project)
{
    struct approval_item *item;

again:
    TAILQ_FOREACH(item, &approval->items, link)
    {
        if (item->request.state != APPROVAL_FROZEN || !approval_same(item->request.project, project))
            continue;
        send_away(approval, item);
        goto again;
    }
    wake(approval);
}

void approval_away(struct approval *approval, const char *project)
{
    struct approval_item *item;

again:
    TAILQ_FOREACH(item, &approval->items, link)
    {
        if (!item_stands(item) || (project && !approval_same(item->request.project, project)))
            continue;
        send_away(approval, item);
        goto again;
    }
    wake(approval);
}

void approval_forget(struct approval *approval, const char *project)
{
    struct approval_item *item;

again:
    TAILQ_FOREACH(item, &approval->items, link)
    {
        if (!item_is_open(item) || !approval_same(item->request.project, project))
            continue;
        close_gone(approval, item, "the project was removed");
        goto again;
    }
    wake(approval);
}

void approval_rules_changed(struct approval *approval, const char *project, int64_t generation)
{
    struct approval_item *item;

    TAILQ_FOREACH(item, &approval->items, link)
    {
        if (!item_is_open(item) || (project && !approval_same(item->request.project, project)))
            continue;
        item->request.generation = generation;
        request_bind(&item->request);
        save(approval, item, NULL);
        approval->ops.changed(&item->request, approval->user);
    }
}

void approval_decided(struct approval *approval, int64_t id)
{
    struct approval_item *item = find_item(approval, id);

    if (item && !item->request.waiters)
        close_gone(approval, item, "a rule decides now");
}

int approval_restore(struct approval *approval, const struct approval_request *request, struct error **err)
{
    struct approval_item *item = xnew(struct approval_item);

    TAILQ_INIT(&item->waiters);
    request_copy(&item->request, request);
    item->request.waiters = 0;
    request_bind(&item->request);
    TAILQ_INSERT_TAIL(&approval->items, item, link);
    if (item->request.state == APPROVAL_WAITING)
        return 0;
    item->request.state = APPROVAL_WAITING;
    item->request.changed_ms = approval_now(approval);
    return save(approval, item, err);
}

const struct approval_request *approval_find(struct approval *approval, int64_t id)
{
    const struct approval_item *item = find_item(approval, id);
    return item ? &item->request : NULL;
}
