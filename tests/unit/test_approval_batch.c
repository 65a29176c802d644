/* What of a moment is one question. */
#include "approval_world.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_batch), cmocka_unit_test(test_batch_quota)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
