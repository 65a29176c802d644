/* Requests: their lives, driven by a clock of the test's. Names of attacks are those of the threat model. */
#include "approval_world.h"

#include "approval/request.h"

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
        cmocka_unit_test(test_flood),
        cmocka_unit_test(test_digest),
        cmocka_unit_test(test_resolved),
        cmocka_unit_test(test_away_stores),
        cmocka_unit_test(test_put),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
