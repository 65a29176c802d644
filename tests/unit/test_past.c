/* What rules would have decided of what the journal remembers. */
#include "policy_world.h"

#include "daemon/past.h"

#define NOW_S  1800000000
#define NOW_NS (NOW_S * INT64_C(1000000000))

struct rig {
    struct journal *journal;
    struct policy *policy;
    struct past past;
};

static void row(struct journal *journal, const char *project, const char *kind, int64_t ts, const char *rule,
                const char *data)
{
    struct event event = EVENT_INIT;
    event.ts = ts;
    event.project = project;
    event.kind = kind;
    event.rule = rule;
    event.subject = "x";
    event.data = data;
    assert_ok(journal_append(journal, &event, false, NULL, &err));
}

static void begin(struct rig *rig, void **state, const char *rules)
{
    autofree char *path = file_join(*state, "journal.db");
    assert_ok(journal_open(path, false, &rig->journal, &err));
    rig->policy = policy_of(MODE_DENY, rules);
}

static void count(struct rig *rig, int64_t since_ns)
{
    past_finish(&rig->past);
    assert_ok(past_count(rig->journal, rig->policy, "shop", "p1", since_ns, NOW_S, NULL, &rig->past, &err));
}

/* How many a rule would have decided; *ret_last may be NULL. */
static uint64_t of(const struct rig *rig, const char *text, int64_t *ret_last)
{
    size_t n;
    const struct rule *const *rules = policy_rules(rig->policy, &n);
    for (size_t i = 0; i < n; i++) {
        if (strcmp(rules[i]->text, text) != 0)
            continue;
        if (ret_last)
            *ret_last = rig->past.rules[i].last_ns;
        return rig->past.rules[i].count;
    }
    fail_msg("no rule \"%s\"", text);
    return 0;
}

static void end(struct rig *rig)
{
    past_finish(&rig->past);
    policy_unref(rig->policy);
    journal_close(rig->journal);
}

#define TO(host, port) "{\"req\":{\"host\":\"" host "\",\"port\":" #port "}}"

/* The rules of now decide, whatever was written at the time; the most specific one, and no other. */
static void the_rules_of_now_decide(void **state)
{
    struct rig rig = {0};
    int64_t last = 0;
    begin(&rig, state,
          "allow docs.rs\nallow **.good.test\nallow a.good.test\ndeny b.good.test\nallow never.test");
    row(rig.journal, "shop", "egress.deny", NOW_NS - 9, NULL, TO("docs.rs", 443));
    row(rig.journal, "shop", "egress.deny", NOW_NS - 8, NULL,
        "{\"req\":{\"host\":\"docs.rs\",\"port\":443},\"count\":12}");
    row(rig.journal, "shop", "egress.deny", NOW_NS - 7, NULL, TO("docs.rs", 80));
    row(rig.journal, "shop", "egress.open", NOW_NS - 6, "gone", TO("a.good.test", 443));
    row(rig.journal, "shop", "egress.close", NOW_NS - 5, "gone", TO("a.good.test", 443));
    row(rig.journal, "shop", "egress.open", NOW_NS - 4, "gone", TO("b.good.test", 443));
    row(rig.journal, "shop", "egress.open", NOW_NS - 3, "gone", TO("c.good.test", 443));
    row(rig.journal, "blog", "egress.open", NOW_NS - 2, NULL, TO("docs.rs", 443));
    row(rig.journal, "shop", "egress.deny", NOW_NS - 1, NULL,
        "{\"count\":900,\"first\":[{\"what\":\"docs.rs:443\"},{\"what\":\"evil.test:443\"},{\"what\":\"]\"}]"
        "}");
    count(&rig, 0);
    assert_int_equal(of(&rig, "allow docs.rs", &last), 14);
    assert_int_equal(last, NOW_NS - 1);
    assert_int_equal(of(&rig, "allow a.good.test", &last), 1);
    assert_int_equal(last, NOW_NS - 6);
    assert_int_equal(of(&rig, "deny b.good.test", NULL), 1);
    assert_int_equal(of(&rig, "allow **.good.test", NULL), 1);
    assert_int_equal(of(&rig, "allow never.test", &last), 0);
    assert_int_equal(last, 0);
    assert_int_equal(rig.past.rows, 7);
    assert_int_equal(rig.past.other, 3); /* docs.rs:80, evil.test, and what is no name */
    count(&rig, NOW_NS - 3);
    assert_int_equal(of(&rig, "allow docs.rs", NULL), 1);
    assert_int_equal(of(&rig, "allow **.good.test", NULL), 1);
    end(&rig);
}

/* A rule that ran out decides nothing, and one with a path only what it names. */
static void heads_and_ends_count(void **state)
{
    struct rig rig = {0};
    begin(&rig, state,
          "allow old.test expires=2020-01-01\nallow p.test:80 methods=GET paths=/a/**\nallow "
          "[2606:4700::1]:443");
    row(rig.journal, "shop", "egress.open", NOW_NS - 9, NULL, TO("old.test", 443));
    row(rig.journal, "shop", "egress.open", NOW_NS - 8, NULL,
        "{\"req\":{\"host\":\"p.test\",\"port\":80},\"http\":{\"method\":\"GET\",\"path\":\"/a/b\"}}");
    row(rig.journal, "shop", "egress.deny", NOW_NS - 7, NULL,
        "{\"req\":{\"host\":\"p.test\",\"port\":80},\"http\":{\"method\":\"POST\",\"path\":\"/a/b\"}}");
    row(rig.journal, "shop", "egress.open", NOW_NS - 6, NULL, TO("2606:4700::1", 443));
    count(&rig, 0);
    assert_int_equal(of(&rig, "allow p.test:80 methods=GET paths=/a/**", NULL), 1);
    assert_int_equal(of(&rig, "allow [2606:4700::1]:443", NULL), 1);
    assert_int_equal(rig.past.other, 2);
    end(&rig);
}

/* The newest PAST_ROWS rows over all pages; what is in them may be anything. */
static void it_has_a_bound(void **state)
{
    struct rig rig = {0};
    struct event *events = xnewn(struct event, PAST_ROWS);
    atomic_bool cancel = true;
    begin(&rig, state, "allow docs.rs");
    row(rig.journal, "shop", "egress.open", NOW_NS, NULL, TO("docs.rs", 443));
    row(rig.journal, "shop", "egress.deny", NOW_NS, NULL, "[]");
    row(rig.journal, "shop", "egress.deny", NOW_NS, NULL,
        "{\"req\":{\"host\":7,\"port\":\"x\"},\"first\":[3]}");
    count(&rig, 0);
    assert_int_equal(of(&rig, "allow docs.rs", NULL), 1);
    for (size_t i = 0; i < PAST_ROWS; i++)
        events[i] = (struct event){.ts = NOW_NS,
                                   .project = "shop",
                                   .kind = "egress.open",
                                   .subject = "x",
                                   .bytes_up = -1,
                                   .bytes_down = -1,
                                   .ms = -1,
                                   .exit = -1,
                                   .data = TO("docs.rs", 443)};
    assert_ok(journal_append_all(rig.journal, events, PAST_ROWS - 1, false, NULL, &err));
    count(&rig, 0);
    assert_int_equal(rig.past.rows, PAST_ROWS);
    assert_int_equal(of(&rig, "allow docs.rs", NULL), PAST_ROWS - 1);
    assert_ok(journal_append_all(rig.journal, events, PAST_ROWS, false, NULL, &err));
    count(&rig, 0);
    assert_int_equal(of(&rig, "allow docs.rs", NULL), PAST_ROWS);
    struct past past = {0};
    assert_error(past_count(rig.journal, rig.policy, "shop", "p1", 0, NOW_S, &cancel, &past, &err),
                 ERROR_CANCELLED, "cancelled");
    free(events);
    end(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_rules_of_now_decide, scratch_setup, scratch_teardown),
        cmocka_unit_test_setup_teardown(heads_and_ends_count, scratch_setup, scratch_teardown),
        cmocka_unit_test_setup_teardown(it_has_a_bound, scratch_setup, scratch_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
