/* Answers that go on to hold, budgets, and rules out of the log (A14, A18). */
#include "policy_world.h"

#include "policy/budget.h"
#include "policy/suggest.h"

static struct request request_of(const char *authority)
{
    struct request request;
    assert_ok(request_parse(authority, strlen(authority), 443, &request, &err));
    request.project = "p1";
    request.session = "s1";
    request.command = "c1";
    request.now = 1000;
    return request;
}

static struct grant grant_of(const struct request *request, enum grant_scope scope, bool deny)
{
    struct grant grant;
    assert_ok(grant_init(request, scope, ~0U, deny, 3600, &grant, &err));
    return grant;
}

static void a14_a_grant_covers_its_key_alone(void **state)
{
    (void)state;
    auto(policy) struct policy *policy = policy_of(MODE_ASK, "ask quiet.test\ndeny evil.test");
    struct request request = request_of("good.test");
    struct grant grant = grant_of(&request, SCOPE_PROJECT, false);
    static const struct {
        const char *authority, *project;
        enum proto proto;
        enum reason reason;
    } cases[] = {
        {"good.test", "p1", PROTO_ANY, REASON_GRANT},        {"GOOD.test.", "p1", PROTO_TLS, REASON_GRANT},
        {"a.good.test", "p1", PROTO_ANY, REASON_UNKNOWN},    {"test", "p1", PROTO_ANY, REASON_UNKNOWN},
        {"good.test:80", "p1", PROTO_ANY, REASON_UNKNOWN},   {"good.test", "p1", PROTO_TCP, REASON_UNKNOWN},
        {"good.test", "p2", PROTO_ANY, REASON_UNKNOWN},      {"good.test", NULL, PROTO_ANY, REASON_UNKNOWN},
        {"good.test:8443", "p1", PROTO_TLS, REASON_UNKNOWN},
    };
    for (size_t i = 0; i < countof(cases); i++) {
        struct request asked = request_of(cases[i].authority);
        struct verdict verdict;
        asked.project = cases[i].project;
        asked.proto = cases[i].proto;
        policy_decide(policy, &asked, &grant, 1, &verdict);
        if (verdict.reason != cases[i].reason)
            fail_msg("case %zu: %s", i, reason_name(verdict.reason));
    }
}

static void scopes_hold_as_long_as_they_say(void **state)
{
    (void)state;
    struct request request = request_of("good.test");
    struct grant once = grant_of(&request, SCOPE_ONCE, false), next = grant_of(&request, SCOPE_NEXT, false),
                 session = grant_of(&request, SCOPE_SESSION, false),
                 all = grant_of(&request, SCOPE_ALL, false),
                 duration = grant_of(&request, SCOPE_DURATION, false);
    assert_true(grant_matches(&once, &request));
    request.command = "c2";
    assert_false(grant_matches(&once, &request));
    assert_true(grant_matches(&session, &request));
    request.session = "s2";
    assert_false(grant_matches(&session, &request));
    assert_true(grant_matches(&next, &request));
    next.uses = 1;
    assert_false(grant_matches(&next, &request));
    request.project = "p2";
    assert_true(grant_matches(&all, &request));
    assert_false(grant_matches(&duration, &request));
    request = request_of("good.test");
    request.now = 1000 + GRANT_ONCE_SECONDS;
    assert_false(grant_matches(&once, &request));
    assert_true(grant_matches(&duration, &request));
    request.now = 1000 + 3600;
    assert_false(grant_matches(&duration, &request));
    assert_true(grant_matches(&session, &request));
    request.now = 1000 + GRANT_STORE_SECONDS;
    assert_true(grant_is_over(&all, request.now));
    struct grant none;
    request.project = NULL;
    assert_error(grant_init(&request, SCOPE_PROJECT, ~0U, false, 0, &none, &err), ERROR_INVALID, "whose");
    assert_error(grant_init(&request, SCOPE_PROJECT, 1, false, 0, &none, &err), ERROR_INVALID, "not offered");
    for (int i = 0; i < SCOPE_COUNT; i++)
        assert_int_equal(grant_scope_from_name(grant_scope_name((enum grant_scope)i)), i);
}

static void grants_answer_questions_and_open_no_deny(void **state)
{
    (void)state;
    auto(policy) struct policy *ask =
        policy_of(MODE_ASK, "ask quiet.test up=2M/h\ndeny evil.test\nallow good.test");
    auto(policy) struct policy *deny = policy_of(MODE_DENY, "");
    struct request quiet = request_of("quiet.test"), evil = request_of("evil.test"),
                   good = request_of("good.test"), literal = request_of("8.8.8.8");
    struct grant grants[] = {grant_of(&quiet, SCOPE_SESSION, false), grant_of(&evil, SCOPE_ALL, false),
                             grant_of(&literal, SCOPE_ONCE, false)};
    struct verdict verdict;
    policy_decide(ask, &quiet, grants, countof(grants), &verdict);
    assert_int_equal(verdict.reason, REASON_GRANT);
    assert_ptr_equal(verdict.grant, &grants[0]);
    assert_int_equal(verdict.caps.hour, 2 << 20);
    assert_string_equal(verdict.missing, "");
    policy_decide(ask, &evil, grants, countof(grants), &verdict);
    assert_int_equal(verdict.reason, REASON_RULE_DENY);
    policy_decide(ask, &literal, grants, countof(grants), &verdict);
    assert_int_equal(verdict.reason, REASON_LITERAL);
    policy_decide(deny, &quiet, grants, countof(grants), &verdict);
    assert_int_equal(verdict.reason, REASON_GRANT);
    struct grant denial = grant_of(&good, SCOPE_PROJECT, true);
    policy_decide(ask, &good, &denial, 1, &verdict);
    assert_int_equal(verdict.reason, REASON_GRANT_DENY);
}

/* Allowing a name never opens a private address: a second question does, and for that address alone. */
static void a_private_address_is_a_second_question(void **state)
{
    (void)state;
    auto(policy) struct policy *policy = policy_of(MODE_ASK, "");
    struct request request = request_of("db.test:5432");
    struct grant grant = grant_of(&request, SCOPE_ONCE, false);
    struct address inside, other;
    struct verdict verdict;
    assert_ok(address_parse("10.20.0.7", 9, &inside, &err));
    assert_ok(address_parse("10.20.0.8", 9, &other, &err));
    policy_decide(policy, &request, &grant, 1, &verdict);
    assert_false(verdict_check_address(&verdict, &request, &inside, NULL, 0));
    assert_int_equal(verdict.reason, REASON_PRIVATE_ASK);
    assert_int_equal(verdict.effect, VERDICT_ASK);
    assert_string_equal(verdict.missing, "allow db.test:5432 proto=tcp private=10.20.0.7/32");
    unsigned typed;
    assert_int_equal(policy_scopes(&request, &verdict, false, &typed), 1U << SCOPE_ONCE | 1U << SCOPE_NEXT);
    grant.has_private = true;
    grant.private_address = inside;
    policy_decide(policy, &request, &grant, 1, &verdict);
    assert_true(verdict_check_address(&verdict, &request, &inside, NULL, 0));
    assert_false(verdict_check_address(&verdict, &request, &other, NULL, 0));
}

static void which_scopes_may_be_offered(void **state)
{
    (void)state;
    auto(policy) struct policy *policy =
        policy_of(MODE_ASK, "ask paste.test uploads=yes\nask 8.8.8.8:443\nask ruled.test");
    const unsigned once = 1U << SCOPE_ONCE | 1U << SCOPE_NEXT, session = once | 1U << SCOPE_SESSION,
                   ruled = session | 1U << SCOPE_DURATION,
                   all = ruled | 1U << SCOPE_PROJECT | 1U << SCOPE_ALL,
                   of_kind[] = {once, session, all, ruled};
    static const struct {
        const char *authority;
        int kind;
    } cases[] = {{"good.test", 2},  {"good.test:80", 2}, {"good.test:22", 0}, {"good.test:8443", 0},
                 {"paste.test", 1}, {"8.8.8.8", 1},      {"ruled.test", 3}};
    for (size_t i = 0; i < countof(cases); i++) {
        struct request request = request_of(cases[i].authority);
        struct verdict verdict;
        unsigned typed;
        policy_decide(policy, &request, NULL, 0, &verdict);
        unsigned scopes = policy_scopes(&request, &verdict, false, &typed);
        assert_int_equal(scopes, of_kind[cases[i].kind]);
        assert_int_equal(typed, scopes & 1U << SCOPE_ALL);
        assert_int_equal(policy_scopes(&request, &verdict, true, NULL), all);
        request.session = NULL;
        assert_false(policy_scopes(&request, &verdict, false, NULL) & 1U << SCOPE_SESSION);
        request.project = NULL;
        assert_int_equal(policy_scopes(&request, &verdict, false, NULL), 0);
    }
    struct verdict verdict = decide(policy, "127.0.0.1");
    struct request request = request_of("127.0.0.1");
    assert_int_equal(policy_scopes(&request, &verdict, false, NULL), 0);
}

static void a_digest_is_of_everything_that_was_shown(void **state)
{
    (void)state;
    struct request request = request_of("good.test"), other = request_of("good.test");
    char first[GRANT_DIGEST_MAX], second[GRANT_DIGEST_MAX];
    grant_digest(&request, "unknown", 3, "CONNECT good.test", first);
    grant_digest(&other, "unknown", 3, "CONNECT good.test", second);
    assert_true(grant_digest_equal(first, second));
    grant_digest(&other, "unknown", 4, "CONNECT good.test", second);
    assert_false(grant_digest_equal(first, second));
    grant_digest(&other, "unknown", 3, "CONNECT good.test ", second);
    assert_false(grant_digest_equal(first, second));
    other.port = 444;
    grant_digest(&other, "unknown", 3, "CONNECT good.test", second);
    assert_false(grant_digest_equal(first, second));
    other.port = 443;
    other.session = "s";
    other.command = "1c1";
    grant_digest(&other, "unknown", 3, "CONNECT good.test", second);
    assert_false(grant_digest_equal(first, second));
    assert_false(grant_digest_equal("", ""));
    assert_false(grant_digest_equal(first, "short"));
}

static struct host host_of(const char *name)
{
    struct host host;
    assert_ok(host_parse(name, strlen(name), HOST_REQUEST, &host, &err));
    return host;
}

static void small_pieces_add_up(void **state)
{
    (void)state;
    struct budget *budget = budget_create();
    struct host host = host_of("a.test");
    const struct budget_limits limits = {BUDGET_NAME_BYTES, true};
    uint64_t sent = 0;
    for (int i = 0; i < 100000; i++)
        sent += budget_take(budget, &host, 7, &limits, 1000 + i % 200);
    assert_int_equal(sent, BUDGET_NAME_BYTES);
    assert_int_equal(budget_room(budget, &host, &limits, 1300), 0);
    assert_int_equal(budget_name_bytes(budget, &host, 1300), BUDGET_NAME_BYTES);
    /* Never more than the limit in any hour. */
    assert_int_equal(budget_room(budget, &host, &limits, 1199 + 3600), 0);
    assert_int_equal(budget_room(budget, &host, &limits, 1199 + 3600 + 300), BUDGET_NAME_BYTES);
    /* A clock that goes back opens nothing. */
    assert_int_equal(budget_take(budget, &host, 1, &limits, 0), 0);
    struct host other = host_of("b.test");
    assert_int_equal(budget_take(budget, &other, UINT64_MAX, &limits, 1000 + 3900), BUDGET_NAME_BYTES);
    assert_int_equal(budget_take(budget, &other, 1, &limits, 1000), 0);
    assert_int_equal(budget_take(budget, &other, 1, &limits, 1000 + 3900), 0);
    budget_destroy(budget);
}

static void many_names_share_the_total(void **state)
{
    (void)state;
    struct budget *budget = budget_create();
    const struct budget_limits limits = {BUDGET_NAME_BYTES, true}, rule = {UP_CAP_DEFAULT, false};
    uint64_t sent = 0;
    unsigned admitted = 0;
    for (int i = 0; i < 100; i++) {
        autofree char *name = xasprintf("n%d.test", i);
        struct host host = host_of(name);
        admitted += budget_admit(budget, &host, 1000);
        sent += budget_take(budget, &host, UINT64_MAX, &limits, 1000);
    }
    assert_int_equal(admitted, BUDGET_NAMES);
    assert_int_equal(sent, BUDGET_TOTAL_BYTES);
    struct host known = host_of("n0.test"), unknown = host_of("n99.test");
    assert_true(budget_admit(budget, &known, 1001));
    assert_false(budget_admit(budget, &unknown, 1001));
    struct budget_use use;
    budget_use(budget, 1000, &use);
    assert_int_equal(use.names, BUDGET_NAMES);
    assert_int_equal(use.total_bytes, BUDGET_TOTAL_BYTES);
    /* What a rule allows is not of the mode's total. */
    struct host host = host_of("rule.test");
    assert_int_equal(budget_take(budget, &host, UINT64_MAX, &rule, 1000), UP_CAP_DEFAULT);
    budget_use(budget, 1000, &use);
    assert_int_equal(use.total_bytes, BUDGET_TOTAL_BYTES);
    budget_use(budget, 1000 + 3900, &use);
    assert_int_equal(use.names, 0);
    budget_destroy(budget);
}

static void what_was_not_sent_comes_back_and_a_yes_adds(void **state)
{
    (void)state;
    struct budget *budget = budget_create();
    struct host host = host_of("a.test"), other = host_of("b.test");
    const struct budget_limits limits = {BUDGET_NAME_BYTES, true};
    assert_int_equal(budget_take(budget, &host, 65536, &limits, 1000), 65536);
    budget_give_back(budget, &host, 36, &limits, 1000);
    assert_int_equal(budget_room(budget, &host, &limits, 1000), 36);
    budget_raise(budget, &host, 1000, &limits, 1000);
    assert_int_equal(budget_room(budget, &host, &limits, 1000), 1036);
    assert_int_equal(budget_take(budget, &host, 5000, &limits, 1000), 1036);
    assert_int_equal(budget_room(budget, &other, &limits, 1000), BUDGET_NAME_BYTES);
    assert_int_equal(budget_room(budget, &host, &limits, 1000 + 4200), BUDGET_NAME_BYTES);
    budget_destroy(budget);
}

static void names_have_a_limit(void **state)
{
    (void)state;
    struct budget *budget = budget_create();
    const struct budget_limits limits = {UINT64_MAX, false};
    for (int i = 0; i < BUDGET_NAMES_MAX; i++) {
        autofree char *name = xasprintf("n%d.test", i);
        struct host host = host_of(name);
        assert_int_equal(budget_take(budget, &host, 1, &limits, 1000), 1);
    }
    struct host host = host_of("one-more.test");
    assert_int_equal(budget_take(budget, &host, 1, &limits, 1000), 0);
    assert_int_equal(budget_room(budget, &host, &limits, 1000), 0);
    assert_int_equal(budget_take(budget, &host, 1, &limits, 1000 + 4200), 1);
    budget_destroy(budget);
}

static void a18_exact_hosts_of_the_log(void **state)
{
    (void)state;
    auto(policy) struct policy *policy =
        policy_of(MODE_ASK, "allow known.test\ndeny evil.test\nask paste.test uploads=yes");
    struct suggest_row rows[60] = {
        {"docs.rs", 443, PROTO_ANY, "curl", REASON_UNKNOWN, 3, false, false},
        {"docs.rs", 443, PROTO_TLS, "npm", REASON_TIMEOUT, 9, false, false},
        {"crates.io", 443, PROTO_TLS, "cargo", REASON_BUDGET, 2, false, false},
        {"index.crates.io", 443, PROTO_TLS, "cargo", REASON_GRANT, 20, false, false},
        {"deb.test.org", 80, PROTO_HTTP, NULL, REASON_MODE_DENY, 1, false, false},
        /* Not for a rule by itself. */
        {"known.test", 443, PROTO_TLS, "a", REASON_UNKNOWN, 1, false, false},
        {"evil.test", 443, PROTO_TLS, "a", REASON_UNKNOWN, 1, false, false},
        {"paste.test", 443, PROTO_TLS, "a", REASON_WAITING, 1, false, false},
        {"up.org", 443, PROTO_TLS, "a", REASON_UNKNOWN, 1, true, false},
        {"inside.org", 443, PROTO_TLS, "a", REASON_UNKNOWN, 1, false, true},
        {"ssh.org", 22, PROTO_ANY, "a", REASON_UNKNOWN, 1, false, false},
        {"raw.org", 443, PROTO_TCP, "a", REASON_UNKNOWN, 1, false, false},
        {"8.8.8.8", 443, PROTO_TLS, "a", REASON_UNKNOWN, 1, false, false},
        {"github.io", 443, PROTO_TLS, "a", REASON_UNKNOWN, 1, false, false},
        {"intranet", 443, PROTO_TLS, "a", REASON_UNKNOWN, 1, false, false},
        {"pg.hutch.internal", 443, PROTO_TLS, "a", REASON_UNKNOWN, 1, false, false},
        {"bad name", 443, PROTO_TLS, "a", REASON_UNKNOWN, 1, false, false},
        {"*.docs.rs", 443, PROTO_TLS, "a", REASON_UNKNOWN, 1, false, false},
    };
    size_t fixed = 18, count = fixed;
    static char names[30][64];
    for (size_t i = 0; i < 30; i++) { /* data in names */
        snprintf(names[i], sizeof(names[i]), "secret-%zu.leak.org", i);
        rows[count++] = (struct suggest_row){names[i], 443, PROTO_TLS, "a", REASON_UNKNOWN, 1, false, false};
    }
    rows[count++] = (struct suggest_row){"said.org", 443, PROTO_TLS, "a", REASON_PERSON, 1, false, false};
    struct suggestions out;
    suggest_rules(policy, rows, count, &out);
    static const char *const want[][2] = {
        {"allow index.crates.io", "cargo"},
        {"allow crates.io", "cargo"},
        {"allow docs.rs", "npm"},
        {"allow deb.test.org:80", NULL},
    };
    assert_int_equal(out.count, countof(want));
    for (size_t i = 0; i < countof(want); i++) {
        assert_string_equal(out.items[i].rule, want[i][0]);
        assert_true(want[i][1] ? !strcmp(out.items[i].process, want[i][1]) : !out.items[i].process);
        assert_null(strchr(out.items[i].rule, '*'));
        struct rule *rule = NULL;
        assert_ok(rule_parse(out.items[i].rule, strlen(out.items[i].rule), NULL, &rule, &err));
        assert_int_equal(rule->target, TARGET_NAME);
        rule_free(rule);
    }
    assert_int_equal(out.items[2].count, 12);
    assert_int_equal(out.left_out, fixed - 5 + 30);
    suggestions_finish(&out);
    suggest_rules(NULL, rows, 0, &out);
    assert_int_equal(out.count, 0);
    suggestions_finish(&out);
}

/* What was used is the same after a restart; damaged, it is used up. */
static void budgets_outlive_a_restart(void **state)
{
    const struct budget_limits limits = {.name_bytes = BUDGET_NAME_BYTES, .total = true};
    struct budget *before = budget_create(), *after = budget_create(), *damaged = budget_create();
    struct host a, b;
    struct budget_use one, two;
    int64_t now = 1800000000;

    (void)state;
    assert_int_equal(host_parse("a.test", 6, HOST_REQUEST, &a, NULL), 0);
    assert_int_equal(host_parse("[2001:db8::1]", 13, HOST_REQUEST, &b, NULL), 0);
    assert_true(budget_admit(before, &a, now));
    assert_int_equal(budget_take(before, &a, 40000, &limits, now), 40000);
    assert_int_equal(budget_take(before, &b, 5000, &limits, now + 600), 5000);
    budget_raise(before, &b, 100000, &limits, now + 600);
    uint64_t changes = budget_changes(before);
    autofree char *text = budget_write(before, now + 700);
    assert_int_equal(budget_changes(before), changes);
    assert_int_equal(budget_read(after, text, now + 700, NULL), 0);
    budget_use(before, now + 700, &one);
    budget_use(after, now + 700, &two);
    assert_int_equal(one.total_bytes, two.total_bytes);
    assert_int_equal(two.names, 1);
    assert_int_equal(budget_room(after, &a, &limits, now + 700), BUDGET_NAME_BYTES - 40000);
    assert_int_equal(budget_room(after, &b, &limits, now + 700), budget_room(before, &b, &limits, now + 700));
    autofree char *again = budget_write(after, now + 700);
    assert_int_equal(strlen(again), strlen(text));
    /* the hour goes on */
    assert_int_equal(budget_room(after, &a, &limits, now + 3600 + 300), BUDGET_NAME_BYTES);
    autofree char *later = budget_write(after, now + 3 * 3600);
    assert_string_equal(later, "");
    assert_int_equal(budget_read(damaged, "total 6000001 10\nup 6000001 5\n", now, NULL), -ERROR_CORRUPT);
    assert_false(budget_admit(damaged, &a, now));
    assert_int_equal(budget_room(damaged, &a, &limits, now), 0);
    budget_destroy(before);
    budget_destroy(after);
    budget_destroy(damaged);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a14_a_grant_covers_its_key_alone),
        cmocka_unit_test(scopes_hold_as_long_as_they_say),
        cmocka_unit_test(grants_answer_questions_and_open_no_deny),
        cmocka_unit_test(a_private_address_is_a_second_question),
        cmocka_unit_test(which_scopes_may_be_offered),
        cmocka_unit_test(a_digest_is_of_everything_that_was_shown),
        cmocka_unit_test(small_pieces_add_up),
        cmocka_unit_test(many_names_share_the_total),
        cmocka_unit_test(what_was_not_sent_comes_back_and_a_yes_adds),
        cmocka_unit_test(names_have_a_limit),
        cmocka_unit_test(budgets_outlive_a_restart),
        cmocka_unit_test(a18_exact_hosts_of_the_log),
    };
    alarm(60);
    return cmocka_run_group_tests_name("policy grant", tests, NULL, NULL);
}
