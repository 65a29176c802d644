/* approval_world.h: a store, a clock and acts that the lives of requests are tested with. */
#ifndef HUTCH_TESTS_APPROVAL_WORLD_H
#define HUTCH_TESTS_APPROVAL_WORLD_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "approval/approval.h"

#include "base/alloc.h"

#include <stdio.h>
#include <string.h>

#define SCOPES ((1u << APPROVAL_ONCE) | (1u << APPROVAL_SESSION))

struct world {
    struct approval *approval;
    int64_t now, next_id, wake;
    bool attending, away_freezes;
    int save_fails, journal_fails, apply_fails; /* so many times */
    unsigned saves, applied, freezes, thaws, stores, quota_rows, asks, decisions;
    enum approval_state saved_state;
};

static inline int64_t world_now(void *user)
{
    return ((struct world *)user)->now;
}

static inline int fails(int *times, struct error **err)
{
    if (*times <= 0)
        return 0;
    --*times;
    return error_set(err, ERROR_NO_SPACE, "the disk is full");
}

static inline int world_save(struct approval_request *request, void *user, struct error **err)
{
    struct world *w = user;
    int rc = fails(&w->save_fails, err);

    if (rc)
        return rc;
    w->saves++;
    w->saved_state = request->state;
    if (!request->id)
        request->id = ++w->next_id;
    return 0;
}

static inline bool world_attending(const char *project, void *user)
{
    return ((struct world *)user)->attending;
}

static inline bool world_away_freezes(const char *project, void *user)
{
    return ((struct world *)user)->away_freezes;
}

static inline void world_freeze(const char *project, int64_t id, void *user)
{
    ((struct world *)user)->freezes++;
}

static inline void world_thaw(const char *project, int64_t id, void *user)
{
    ((struct world *)user)->thaws++;
}

static inline void world_store(const char *project, int64_t id, void *user)
{
    ((struct world *)user)->stores++;
}

static inline int world_apply(const struct approval_request *request, void *user, struct error **err)
{
    struct world *w = user;
    int rc = fails(&w->apply_fails, err);

    w->applied += rc == 0;
    return rc;
}

static inline int world_journal(const char *kind, const struct approval_request *request, void *user,
                                struct error **err)
{
    struct world *w = user;
    int rc = fails(&w->journal_fails, err);

    if (rc)
        return rc;
    w->quota_rows += !strcmp(kind, "approval.quota");
    w->asks += !strcmp(kind, "approval.ask");
    w->decisions += !strcmp(kind, "approval.decision");
    return 0;
}

static inline void world_changed(const struct approval_request *request, void *user)
{
}

static inline void world_wake(int64_t at_ms, void *user)
{
    ((struct world *)user)->wake = at_ms;
}

static inline void world_create(struct world *w)
{
    static const struct approval_ops ops = {.now = world_now,
                                            .save = world_save,
                                            .attending = world_attending,
                                            .away_freezes = world_away_freezes,
                                            .freeze = world_freeze,
                                            .thaw = world_thaw,
                                            .store = world_store,
                                            .apply = world_apply,
                                            .journal = world_journal,
                                            .changed = world_changed,
                                            .wake = world_wake};

    *w = (struct world){.now = 1000000000};
    w->approval = approval_create(&ops, w);
}

struct act {
    struct approval_waiter waiter; /* first */
    unsigned done;
    struct approval_outcome outcome;
    char reason[64];
};

static inline void act_done(struct approval_waiter *waiter, const struct approval_outcome *outcome)
{
    struct act *act = (struct act *)waiter;

    act->done++;
    act->outcome = *outcome;
    snprintf(act->reason, sizeof(act->reason), "%s", outcome->reason ? outcome->reason : "");
}

/* True: held. */
static inline bool ask_as(struct world *w, struct act *act, const char *project, const char *key,
                          const char *process, const char *site, enum approval_tier tier)
{
    struct approval_ask ask = {.project = project,
                               .boot = "b",
                               .session = "s",
                               .verb = "CONNECT",
                               .key = key,
                               .subject = key,
                               .fields = "{}",
                               .owner = "egress",
                               .process = process,
                               .site = site,
                               .tier = tier,
                               .generation = 1,
                               .scopes = SCOPES};

    *act = (struct act){.waiter.done = act_done};
    return approval_ask(w->approval, &ask, &act->waiter, &act->outcome);
}

static inline bool ask_key(struct world *w, struct act *act, const char *project, const char *key)
{
    return ask_as(w, act, project, key, NULL, NULL, APPROVAL_ROUTINE);
}

static inline int answer(struct world *w, int64_t id, bool allow, enum approval_scope scope,
                         const char *reason, struct error **err)
{
    const struct approval_request *request = approval_find(w->approval, id);
    struct approval_answer a = {.id = id, .allow = allow, .scope = scope, .reason = reason, .by = "uid 1000"};
    char digest[65] = "", nonce[APPROVAL_NONCE_SIZE] = "";

    if (request) {
        memcpy(digest, request->digest, sizeof(digest));
        memcpy(nonce, request->nonce, sizeof(nonce));
    }
    a.digest = digest;
    a.nonce = nonce;
    return approval_answer(w->approval, &a, err);
}

static inline void pass(struct world *w, int64_t ms)
{
    w->now += ms;
    approval_tick(w->approval);
}

#endif
