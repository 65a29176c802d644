/* Requests: their lives, driven by a clock of the test's. Names of attacks are those of the threat model. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "approval/approval.h"
#include "approval/request.h"

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

static int64_t world_now(void *user)
{
    return ((struct world *)user)->now;
}

static int fails(int *times, struct error **err)
{
    if (*times <= 0)
        return 0;
    --*times;
    return error_set(err, ERROR_NO_SPACE, "the disk is full");
}

static int world_save(struct approval_request *request, void *user, struct error **err)
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

static bool world_attending(const char *project, void *user)
{
    return ((struct world *)user)->attending;
}

static bool world_away_freezes(const char *project, void *user)
{
    return ((struct world *)user)->away_freezes;
}

static void world_freeze(const char *project, int64_t id, void *user)
{
    ((struct world *)user)->freezes++;
}

static void world_thaw(const char *project, int64_t id, void *user)
{
    ((struct world *)user)->thaws++;
}

static void world_store(const char *project, int64_t id, void *user)
{
    ((struct world *)user)->stores++;
}

static int world_apply(const struct approval_request *request, void *user, struct error **err)
{
    struct world *w = user;
    int rc = fails(&w->apply_fails, err);

    w->applied += rc == 0;
    return rc;
}

static int world_journal(const char *kind, const struct approval_request *request, void *user,
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

static void world_changed(const struct approval_request *request, void *user)
{
}

static void world_wake(int64_t at_ms, void *user)
{
    ((struct world *)user)->wake = at_ms;
}

static void world_create(struct world *w)
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

static void act_done(struct approval_waiter *waiter, const struct approval_outcome *outcome)
{
    struct act *act = (struct act *)waiter;

    act->done++;
    act->outcome = *outcome;
    snprintf(act->reason, sizeof(act->reason), "%s", outcome->reason ? outcome->reason : "");
}

/* True: held. */
static bool ask_as(struct world *w, struct act *act, const char *project, const char *key,
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

static bool ask_key(struct world *w, struct act *act, const char *project, const char *key)
{
    return ask_as(w, act, project, key, NULL, NULL, APPROVAL_ROUTINE);
}

static int answer(struct world *w, int64_t id, bool allow, enum approval_scope scope, const char *reason,
                  struct error **err)
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

static void pass(struct world *w, int64_t ms)
{
    w->now += ms;
    approval_tick(w->approval);
}

static void test_allow_and_deny(void **state)
{
    struct world w;
    struct act a, b, c;

    world_create(&w);
    assert_true(ask_key(&w, &a, "p", "one"));
    assert_true(ask_key(&w, &b, "p", "one")); /* the same question */
    assert_int_equal(w.asks, 1);
    assert_int_equal(approval_find(w.approval, 1)->waiters, 2);
    assert_int_equal(answer(&w, 1, true, APPROVAL_ONCE, NULL, NULL), 0);
    assert_int_equal(a.done + b.done, 2);
    assert_int_equal(a.outcome.verdict, APPROVAL_ALLOW);
    assert_int_equal(w.applied, 1);
    assert_int_equal(w.saved_state, APPROVAL_ALLOWED);
    assert_true(ask_key(&w, &c, "p", "two"));
    assert_int_equal(answer(&w, 2, false, 0, "no uploads", NULL), 0);
    assert_int_equal(c.outcome.verdict, APPROVAL_DENY);
    assert_string_equal(c.reason, "no uploads");
    assert_int_equal(w.applied, 1);
    /* denied a moment ago: not asked again, and told the same */
    assert_false(ask_key(&w, &c, "p", "two"));
    assert_int_equal(c.outcome.verdict, APPROVAL_DENY);
    assert_int_equal(c.outcome.id, 2);
    assert_string_equal(c.outcome.reason, "no uploads");
    assert_true(ask_key(&w, &a, "q", "two")); /* another project is asked */
    approval_withdraw(w.approval, &a.waiter);
    pass(&w, APPROVAL_SUPPRESS_MS + 1);
    assert_true(ask_key(&w, &c, "p", "two"));
    approval_withdraw(w.approval, &c.waiter);
    approval_destroy(w.approval);
}

/* A person attends: the machine stands still after the hold, and goes on with the answer. */
static void test_freeze(void **state)
{
    struct world w;
    struct act a;

    world_create(&w);
    w.attending = true;
    assert_true(ask_key(&w, &a, "p", "one"));
    assert_int_equal(w.wake, w.now + APPROVAL_HOLD_MS);
    pass(&w, APPROVAL_HOLD_MS - 1);
    assert_int_equal(w.freezes, 0);
    pass(&w, 1);
    assert_int_equal(w.freezes, 1);
    assert_int_equal(approval_frozen_for(w.approval, "p"), 1);
    pass(&w, 5 * 60 * 1000);
    assert_int_equal(a.done, 0);
    assert_int_equal(answer(&w, 1, true, APPROVAL_SESSION, NULL, NULL), 0);
    assert_int_equal(w.thaws, 1);
    assert_int_equal(a.outcome.verdict, APPROVAL_ALLOW);
    assert_int_equal(w.wake, 0);
    /* the freeze has its end too: the question stays */
    assert_true(ask_key(&w, &a, "p", "two"));
    pass(&w, APPROVAL_HOLD_MS);
    pass(&w, APPROVAL_FREEZE_MS);
    assert_int_equal(w.thaws, 2);
    assert_int_equal(a.outcome.verdict, APPROVAL_AWAY);
    assert_int_equal(approval_find(w.approval, 2)->state, APPROVAL_WAITING);
    /* by hand */
    assert_true(ask_key(&w, &a, "p", "two"));
    pass(&w, APPROVAL_HOLD_MS);
    approval_thawed(w.approval, "p");
    assert_int_equal(w.thaws, 3);
    assert_int_equal(a.outcome.verdict, APPROVAL_AWAY);
    approval_destroy(w.approval);
}

/* Nobody attends: refused with the number; the answer counts for the next attempt. */
static void test_away(void **state)
{
    struct world w;
    struct act a;

    world_create(&w);
    assert_true(ask_key(&w, &a, "p", "one"));
    pass(&w, APPROVAL_HOLD_MS);
    assert_int_equal(w.freezes, 0);
    assert_int_equal(a.outcome.verdict, APPROVAL_AWAY);
    assert_int_equal(a.outcome.id, 1);
    assert_int_equal(w.saved_state, APPROVAL_WAITING);
    pass(&w, 12 * 3600 * 1000);
    assert_int_equal(answer(&w, 1, true, APPROVAL_ONCE, NULL, NULL), 0);
    assert_int_equal(w.applied, 1);
    approval_destroy(w.approval);
}

/* A09: wrong nonce, wrong digest, twice, a scope that was not offered, a request that was withdrawn. */
static void test_answers_that_do_not_count(void **state)
{
    struct world w;
    struct act a;
    auto(error) struct error *err = NULL;

    world_create(&w);
    assert_true(ask_key(&w, &a, "p", "one"));
    const struct approval_request *request = approval_find(w.approval, 1);
    struct approval_answer wrong = {
        .id = 1, .allow = true, .digest = request->digest, .nonce = "0", .by = "x"};
    assert_int_equal(approval_answer(w.approval, &wrong, &err), -ERROR_CHANGES);
    (error_free(err), err = NULL);
    wrong.nonce = request->nonce;
    wrong.digest = "0";
    assert_int_equal(approval_answer(w.approval, &wrong, &err), -ERROR_CHANGES);
    (error_free(err), err = NULL);
    assert_int_equal(answer(&w, 1, true, APPROVAL_PROJECT, NULL, &err), -ERROR_INVALID);
    (error_free(err), err = NULL);
    /* the rules changed after it was shown */
    char digest[65], nonce[APPROVAL_NONCE_SIZE];
    memcpy(digest, request->digest, sizeof(digest));
    memcpy(nonce, request->nonce, sizeof(nonce));
    approval_rules_changed(w.approval, "p", 2);
    struct approval_answer stale = {.id = 1, .allow = true, .digest = digest, .nonce = nonce, .by = "x"};
    assert_int_equal(approval_answer(w.approval, &stale, &err), -ERROR_CHANGES);
    (error_free(err), err = NULL);
    assert_int_equal(a.done, 0);
    assert_int_equal(w.applied, 0);
    assert_int_equal(answer(&w, 1, false, 0, NULL, NULL), 0);
    assert_int_equal(answer(&w, 1, true, APPROVAL_ONCE, NULL, &err), -ERROR_NOT_FOUND);
    (error_free(err), err = NULL);
    assert_true(ask_key(&w, &a, "p", "two"));
    approval_withdraw(w.approval, &a.waiter);
    assert_int_equal(w.saved_state, APPROVAL_GONE);
    assert_int_equal(answer(&w, 2, true, APPROVAL_ONCE, NULL, &err), -ERROR_NOT_FOUND);
    assert_int_equal(w.applied, 0);
    assert_int_equal(a.done, 0);
    approval_destroy(w.approval);
}

/* A10: a restart keeps the questions and allows nothing; a clock that jumps back ends the hold. */
static void test_restart_and_clock(void **state)
{
    struct world w;
    struct act a;

    world_create(&w);
    char p[] = "p", b[] = "b", s[] = "s", verb[] = "CONNECT", one[] = "one", fields[] = "{}",
         owner[] = "egress", none[] = "";
    struct approval_request stored = {.id = 7,
                                      .project = p,
                                      .boot = b,
                                      .session = s,
                                      .verb = verb,
                                      .key = one,
                                      .subject = one,
                                      .fields = fields,
                                      .owner = owner,
                                      .reason = none,
                                      .by = none,
                                      .generation = 1,
                                      .scopes = SCOPES,
                                      .state = APPROVAL_FROZEN};
    assert_int_equal(approval_restore(w.approval, &stored, NULL), 0);
    assert_int_equal(approval_find(w.approval, 7)->state, APPROVAL_WAITING);
    assert_int_equal(w.saved_state, APPROVAL_WAITING);
    w.next_id = 7;
    assert_true(ask_key(&w, &a, "p", "one")); /* the next attempt is held under the same number */
    assert_int_equal(approval_find(w.approval, 7)->waiters, 1);
    pass(&w, -3600 * 1000);
    assert_int_equal(a.done, 1);
    assert_int_equal(a.outcome.verdict, APPROVAL_AWAY);
    assert_int_equal(w.applied, 0);
    approval_destroy(w.approval);
}

/* A11: what cannot be written is not allowed, whichever of the writes fails. */
static void test_writes_that_fail(void **state)
{
    struct world w;
    struct act a;
    auto(error) struct error *err = NULL;

    world_create(&w);
    w.save_fails = 1;
    assert_false(ask_key(&w, &a, "p", "one"));
    assert_int_equal(a.outcome.verdict, APPROVAL_FAILED);
    w.journal_fails = 1;
    assert_false(ask_key(&w, &a, "p", "one"));
    assert_int_equal(a.outcome.verdict, APPROVAL_FAILED);
    assert_int_equal(approval_count(w.approval, NULL), 0);
    assert_true(ask_key(&w, &a, "p", "one"));
    int64_t id = w.next_id;
    int *failing[] = {&w.journal_fails, &w.save_fails, &w.apply_fails};
    for (size_t i = 0; i < countof(failing); i++) {
        *failing[i] = 1;
        assert_int_equal(answer(&w, id, true, APPROVAL_ONCE, "why", &err), -ERROR_NO_SPACE);
        (error_free(err), err = NULL);
        assert_int_equal(a.done, 0);
        assert_int_equal(w.applied, 0);
        assert_int_equal(approval_find(w.approval, id)->state, APPROVAL_HELD);
        assert_string_equal(approval_find(w.approval, id)->reason, "");
    }
    assert_int_equal(answer(&w, id, true, APPROVAL_ONCE, NULL, NULL), 0);
    assert_int_equal(a.outcome.verdict, APPROVAL_ALLOW);
    approval_destroy(w.approval);
}

static int64_t question_of(struct world *w, const struct act *act)
{
    return approval_question(approval_find(w->approval, approval_waiter_id(&act->waiter)));
}

/* What one program or one site brings within two seconds is one question; each line is answered by itself. */
static void test_batch(void **state)
{
    struct world w;
    struct act first, second, third, critical, other, late, nobody[2];

    world_create(&w);
    assert_true(ask_as(&w, &first, "p", "a.one.test", "npm", "one.test", APPROVAL_ROUTINE));
    w.now += APPROVAL_BATCH_MS / 2;
    assert_true(ask_as(&w, &second, "p", "two.test", "npm", "two.test", APPROVAL_UNUSUAL));
    assert_true(ask_as(&w, &third, "p", "b.one.test", "git", "one.test", APPROVAL_ROUTINE));
    assert_true(ask_as(&w, &critical, "p", "db.test", "npm", "db.test", APPROVAL_CRITICAL));
    assert_true(ask_as(&w, &other, "q", "two.test", "npm", "two.test", APPROVAL_ROUTINE));
    assert_true(
        ask_as(&w, &nobody[0], "p", "x.test", "", NULL, APPROVAL_ROUTINE)); /* unknown is not the same */
    assert_true(ask_as(&w, &nobody[1], "p", "y.test", "", NULL, APPROVAL_ROUTINE));
    w.now += APPROVAL_BATCH_MS / 2 + 1;
    assert_true(ask_as(&w, &late, "p", "three.test", "npm", "three.test", APPROVAL_ROUTINE));
    int64_t question = question_of(&w, &first);
    assert_int_equal(question, approval_waiter_id(&first.waiter));
    assert_int_equal(question_of(&w, &second), question);
    assert_int_equal(question_of(&w, &third), question);
    struct act *const alone[] = {&critical, &other, &nobody[0], &nobody[1], &late};
    for (size_t i = 0; i < countof(alone); i++)
        assert_int_equal(question_of(&w, alone[i]), approval_waiter_id(&alone[i]->waiter));

    /* a decision a line, and a question goes on without its first */
    assert_int_equal(answer(&w, question, true, APPROVAL_ONCE, NULL, NULL), 0);
    assert_int_equal(first.outcome.verdict, APPROVAL_ALLOW);
    assert_int_equal(second.done + third.done, 0);
    assert_int_equal(question_of(&w, &third), question);
    assert_int_equal(answer(&w, approval_waiter_id(&second.waiter), false, 0, NULL, NULL), 0);
    assert_int_equal(second.outcome.verdict, APPROVAL_DENY);
    assert_int_equal(third.done, 0);
    struct act *const left[] = {&third, &critical, &other, &nobody[0], &nobody[1], &late};
    for (size_t i = 0; i < countof(left); i++)
        approval_withdraw(w.approval, &left[i]->waiter);
    approval_destroy(w.approval);
}

/* Lines count as one question, but there are no more than a person reads: of one question, and of an hour. */
static void test_batch_quota(void **state)
{
    struct world w;
    static struct act acts[200];
    unsigned held = 0;
    char key[16], process[16];

    world_create(&w);
    for (int i = 0; i < 200; i++) { /* 20 programs with 10 names each */
        snprintf(key, sizeof(key), "k%d", i);
        snprintf(process, sizeof(process), "%d", i / 10);
        held += ask_as(&w, &acts[i], "p", key, process, NULL, APPROVAL_ROUTINE);
    }
    assert_int_equal(held, APPROVAL_OPEN_MAX * APPROVAL_BATCH_MAX);
    assert_int_equal(w.quota_rows, 1);
    for (int i = 0; i < 200; i++)
        approval_withdraw(w.approval, &acts[i].waiter);
    pass(&w, 60001);
    held = 0;
    for (int i = 0; i < 200; i++) {
        snprintf(key, sizeof(key), "l%d", i);
        snprintf(process, sizeof(process), "%d", i / 10);
        held += ask_as(&w, &acts[i], "p", key, process, NULL, APPROVAL_ROUTINE);
    }
    assert_int_equal(held, APPROVAL_HOUR_MAX - APPROVAL_OPEN_MAX * APPROVAL_BATCH_MAX);
    for (int i = 0; i < 200; i++)
        approval_withdraw(w.approval, &acts[i].waiter);
    approval_destroy(w.approval);
}

/* A12: a thousand questions in ten seconds: the quota is asked, one row says that there were more. */
static void test_flood(void **state)
{
    struct world w;
    static struct act acts[1000];
    unsigned held = 0;
    char key[16];

    world_create(&w);
    for (int i = 0; i < 1000; i++) {
        snprintf(key, sizeof(key), "k%d", i);
        held += ask_key(&w, &acts[i], "p", key);
        if (acts[i].outcome.verdict == APPROVAL_QUOTA)
            assert_int_equal(acts[i].outcome.id, 0);
        w.now += 10;
    }
    assert_int_equal(held, APPROVAL_OPEN_MAX);
    assert_int_equal(w.quota_rows, 1);
    struct act other;
    assert_true(ask_key(&w, &other, "q", "k")); /* L09: another project is asked as ever */
    approval_withdraw(w.approval, &other.waiter);
    for (int64_t id = 1; id <= APPROVAL_OPEN_MAX; id++)
        assert_int_equal(answer(&w, id, false, 0, NULL, NULL), 0);
    assert_true(ask_key(&w, &acts[999], "p", "sixth"));
    assert_false(ask_key(&w, &acts[998], "p", "seventh of the minute"));
    approval_withdraw(w.approval, &acts[999].waiter);
    pass(&w, 60001);
    assert_true(ask_key(&w, &acts[998], "p", "in the next minute"));
    approval_withdraw(w.approval, &acts[998].waiter);
    approval_destroy(w.approval);
}

/* What is shown and what is answered is one text: another act under the same key is another digest. */
static void test_digest(void **state)
{
    struct world w;
    struct act a, b;

    world_create(&w);
    assert_true(ask_key(&w, &a, "p", "ab"));
    assert_true(ask_key(&w, &b, "pa", "b"));
    const struct approval_request *all[4];
    assert_int_equal(approval_list(w.approval, all, 4), 2);
    assert_string_not_equal(all[0]->digest, all[1]->digest);
    assert_string_not_equal(all[0]->nonce, all[1]->nonce);
    approval_forget(w.approval, "p");
    assert_int_equal(a.outcome.verdict, APPROVAL_DENY);
    assert_int_equal(b.done, 0);
    approval_withdraw(w.approval, &b.waiter);
    approval_destroy(w.approval);
}

/* A rule that came meanwhile decides: no answer is needed, and the question goes. */
static void test_resolved(void **state)
{
    struct world w;
    struct act a;
    struct approval_outcome outcome = {.verdict = APPROVAL_ALLOW};

    world_create(&w);
    assert_true(ask_key(&w, &a, "p", "one"));
    approval_resolve(w.approval, &a.waiter, &outcome);
    assert_int_equal(a.outcome.verdict, APPROVAL_ALLOW);
    assert_int_equal(approval_count(w.approval, NULL), 0);
    assert_int_equal(w.saved_state, APPROVAL_GONE);
    approval_destroy(w.approval);
}

/* away = freeze: nobody comes while it stands still, so it is saved and its question waits; somebody who is
 * there by then finds it running. */
static void test_away_stores(void **state)
{
    struct world w;
    struct act a;

    world_create(&w);
    w.away_freezes = true;
    assert_true(ask_key(&w, &a, "p", "one"));
    pass(&w, APPROVAL_HOLD_MS);
    assert_int_equal(w.freezes, 1);
    pass(&w, APPROVAL_FREEZE_MS);
    assert_int_equal(w.stores, 1);
    assert_int_equal(w.thaws, 0);
    assert_int_equal(a.outcome.verdict, APPROVAL_AWAY);
    assert_int_equal(w.saved_state, APPROVAL_WAITING);
    assert_int_equal(answer(&w, 1, true, APPROVAL_ONCE, NULL, NULL), 0);
    assert_int_equal(w.applied, 1);

    assert_true(ask_key(&w, &a, "p", "two"));
    pass(&w, APPROVAL_HOLD_MS);
    assert_int_equal(w.freezes, 2);
    w.attending = true;
    pass(&w, APPROVAL_FREEZE_MS);
    assert_int_equal(w.stores, 1);
    assert_int_equal(w.thaws, 1);
    approval_destroy(w.approval);
}

/* A push: nobody stands still for it, and it freezes nothing. What comes under its key later is what is asked
 * then. */
static void test_put(void **state)
{
    struct world w;
    struct approval_ask ask = {.project = "p",
                               .boot = "b",
                               .session = "",
                               .verb = "PUSH",
                               .key = "shop refs/heads/x",
                               .subject = "shop x, 1 commit",
                               .fields = "{\"new\":\"1\"}",
                               .owner = "git",
                               .scopes = 1u << APPROVAL_ONCE};
    char digest[65];
    auto(error) struct error *err = NULL;

    world_create(&w);
    w.attending = true;
    for (int i = 0; i < 2 * APPROVAL_OPEN_MAX; i++) { /* no quota of questions */
        char key[16];
        snprintf(key, sizeof(key), "key %d", i);
        ask.key = key;
        assert_int_equal(approval_put(w.approval, &ask), i + 1);
    }
    ask.key = "shop refs/heads/x";
    int64_t id = approval_put(w.approval, &ask);
    assert_int_equal(id, 2 * APPROVAL_OPEN_MAX + 1);
    pass(&w, APPROVAL_HOLD_MS);
    assert_int_equal(w.freezes, 0);
    assert_int_equal(approval_find(w.approval, id)->state, APPROVAL_WAITING);
    assert_ptr_equal(approval_find_key(w.approval, "p", "PUSH", ask.key), approval_find(w.approval, id));
    assert_null(approval_find_key(w.approval, "other", "PUSH", ask.key));

    memcpy(digest, approval_find(w.approval, id)->digest, sizeof(digest));
    ask.fields = "{\"new\":\"2\"}"; /* the same subject, other commits */
    assert_int_equal(approval_put(w.approval, &ask), id);
    assert_string_not_equal(approval_find(w.approval, id)->digest, digest);
    struct approval_answer old = {.id = id,
                                  .allow = true,
                                  .digest = digest,
                                  .nonce = approval_find(w.approval, id)->nonce,
                                  .by = "uid 1000"};
    assert_int_equal(approval_answer(w.approval, &old, &err), -(int)ERROR_CHANGES);
    assert_int_equal(w.applied, 0);
    struct approval_request answered; /* as the store would have it */
    request_copy(&answered, approval_find(w.approval, id));
    assert_int_equal(answer(&w, id, true, APPROVAL_ONCE, NULL, NULL), 0);
    assert_int_equal(w.applied, 1);
    assert_null(approval_find(w.approval, id));

    /* its landing fails later: the same number waits again, with the reason, and can be answered again */
    answered.state = APPROVAL_ALLOWED;
    assert_int_equal(approval_reopen(w.approval, &answered, "no way", NULL), 0);
    const struct approval_request *again = approval_find(w.approval, id);
    assert_int_equal(again->state, APPROVAL_WAITING);
    assert_string_equal(again->reason, "no way");
    assert_int_equal(approval_reopen(w.approval, &answered, "no way", NULL), -(int)ERROR_EXISTS);
    assert_int_equal(answer(&w, id, true, APPROVAL_ONCE, NULL, NULL), 0);
    assert_int_equal(w.applied, 2);
    request_finish(&answered);
    approval_destroy(w.approval);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_allow_and_deny),
        cmocka_unit_test(test_freeze),
        cmocka_unit_test(test_away),
        cmocka_unit_test(test_answers_that_do_not_count),
        cmocka_unit_test(test_restart_and_clock),
        cmocka_unit_test(test_writes_that_fail),
        cmocka_unit_test(test_batch),
        cmocka_unit_test(test_batch_quota),
        cmocka_unit_test(test_flood),
        cmocka_unit_test(test_digest),
        cmocka_unit_test(test_resolved),
        cmocka_unit_test(test_away_stores),
        cmocka_unit_test(test_put),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
