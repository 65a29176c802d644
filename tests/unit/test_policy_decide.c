/* The decision (N01, N02, N04, N05, N07, N08, N10 to N15, N17, N22 as far as it is pure). */
#include "policy_world.h"

#include "base/units.h"

static void n01_an_empty_list_allows_nothing(void **state)
{
    (void)state;
    static const char *const hosts[] = {"good.test", "github.com:443", "good.test:80", "8.8.8.8:443"};
    for (int mode = MODE_ASK; mode <= MODE_DENY; mode++) {
        auto(policy) struct policy *policy = policy_of((enum policy_mode)mode, "");
        for (size_t i = 0; i < countof(hosts); i++) {
            struct verdict verdict = decide(policy, hosts[i]);
            assert_true(verdict.effect != VERDICT_ALLOW || mode == MODE_BUDGET);
            assert_true(mode != MODE_DENY || verdict.effect == VERDICT_DENY);
        }
    }
}

static void n02_without_a_policy_all_is_denied(void **state)
{
    (void)state;
    assert_reason(NULL, "good.test", REASON_NO_POLICY);
    assert_reason(NULL, "127.0.0.1", REASON_NO_POLICY);
    assert_int_equal(decide(NULL, "good.test").generation, 0);
}

static void n04_look_alikes_do_not_match(void **state)
{
    (void)state;
    auto(policy) struct policy *policy = policy_of(MODE_DENY, "allow good.test\nallow **.good.test");
    assert_reason(policy, "good.test", REASON_RULE_ALLOW);
    assert_reason(policy, "good.test.evil.test", REASON_MODE_DENY);
    assert_reason(policy, "evilgood.test", REASON_MODE_DENY);
    assert_reason(policy, "good.test@evil.test", REASON_FORM);
    assert_reason(policy, "evil.test#good.test", REASON_FORM);
    assert_reason(policy, "evil.test/good.test", REASON_FORM);
}

static void n05_one_form_of_a_name(void **state)
{
    (void)state;
    auto(policy) struct policy *policy = policy_of(MODE_DENY, "allow good.test");
    assert_reason(policy, "GOOD.TEST", REASON_RULE_ALLOW);
    assert_reason(policy, "good.test.", REASON_RULE_ALLOW);
    assert_reason(policy, "good.test..", REASON_FORM);
}

static void n07_n08_n10_n15_forms(void **state)
{
    (void)state;
    auto(policy) struct policy *policy = policy_of(MODE_OPEN, "deny xn--bcher-kva.test");
    static const char *const forms[] = {"xn--a.test",
                                        "127.1",
                                        "2130706433",
                                        "0x7f.0.0.1",
                                        "0177.0.0.1",
                                        "1.2.3",
                                        "[fe80::1%25eth0]",
                                        "::ffff:1.2.3.4%x.good.test",
                                        "evil.test:443.good.test"};
    for (size_t i = 0; i < countof(forms); i++)
        assert_reason(policy, forms[i], REASON_FORM);
    assert_reason(policy, "XN--BCHER-KVA.test", REASON_RULE_DENY);
    assert_reason(policy, "bcher.test", REASON_OPEN);
}

static void n11_n12_ports_and_labels(void **state)
{
    (void)state;
    auto(policy) struct policy *policy = policy_of(MODE_DENY, "allow good.test\nallow *.good.test");
    assert_reason(policy, "good.test:9999", REASON_MODE_DENY);
    assert_reason(policy, "a.good.test", REASON_RULE_ALLOW);
    assert_reason(policy, "a.b.good.test", REASON_MODE_DENY);
}

static void n14_deny_wins_in_any_layer(void **state)
{
    (void)state;
    for (int deny = LAYER_PRESET; deny <= LAYER_SESSION; deny++)
        for (int allow = LAYER_PRESET; allow <= LAYER_SESSION; allow++) {
            struct world world = {.options = {.mode = MODE_OPEN}};
            world_add(&world, (enum rule_layer)allow, "allow api.good.test\nallow **.good.test");
            world_add(&world, (enum rule_layer)deny, "deny **.good.test");
            world_load(&world);
            assert_reason(world.policy, "api.good.test", REASON_RULE_DENY);
            assert_int_equal(decide(world.policy, "api.good.test").layer, deny);
            policy_unref(world.policy);
        }
}

static void the_order_of_precedence(void **state)
{
    (void)state;
    static const char *const secrets[] = {"api.good.test", NULL};
    static const struct policy_host_port ports[] = {{"pg", 5432, "127.0.0.1:5432"}};
    struct world world = {
        .options = {.mode = MODE_OPEN, .secret_hosts = secrets, .host_ports = ports, .host_port_count = 1}};
    world_add(
        &world, LAYER_PROJECT,
        "allow api.good.test\ndeny api.good.test\nallow 0.0.0.0/0:443\nallow [::]/0:443\nallow 10.1.1.1:443\n"
        "allow 10.1.1.2:443 private=10.1.1.0/24\ndeny 8.8.8.8");
    world_load(&world);
    struct policy *policy = world.policy;
    assert_reason(policy, "localhost", REASON_FLOOR);
    assert_reason(policy, "a.localhost:80", REASON_FLOOR);
    assert_reason(policy, "127.0.0.1", REASON_FLOOR);
    assert_reason(policy, "[::1]", REASON_FLOOR);
    assert_reason(policy, "[64:ff9b::7f00:1]", REASON_FLOOR);
    assert_reason(policy, "169.254.169.254:80", REASON_FLOOR);
    assert_reason(policy, "metadata.google.internal", REASON_FLOOR);
    assert_reason(policy, "api.good.test", REASON_SECRET);
    assert_reason(policy, "api.good.test:8080", REASON_SECRET);
    assert_reason(policy, "x.api.good.test", REASON_OPEN);
    assert_reason(policy, "8.8.8.8", REASON_RULE_DENY);
    assert_reason(policy, "8.8.4.4", REASON_RULE_ALLOW);
    assert_reason(policy, "10.1.1.1", REASON_PRIVATE);
    assert_reason(policy, "10.1.1.2", REASON_RULE_ALLOW);
    assert_reason(policy, "10.1.1.3", REASON_PRIVATE);
    assert_reason(policy, "pg.hutch.internal:5432", REASON_HOST_PORT);
    assert_string_equal(decide(policy, "pg.hutch.internal:5432").host_port, "127.0.0.1:5432");
    assert_reason(policy, "pg.hutch.internal:5433", REASON_RESERVED);
    assert_reason(policy, "other.hutch.internal:5432", REASON_RESERVED);
    assert_reason(policy, "hutch.internal:5432", REASON_RESERVED);
    policy_unref(policy);
}

static void the_most_specific_of_allow_and_ask(void **state)
{
    (void)state;
    struct world world = {.options = {.mode = MODE_DENY}};
    world_add(&world, LAYER_PRESET, "ask **.good.test\nallow tie.good.test\nallow *.mid.good.test up=1M/h");
    world_add(&world, LAYER_USER,
              "allow api.good.test\nallow set.good.test:{443,8443} proto=tls\nask set.good.test");
    world_add(&world, LAYER_PROJECT, "ask tie.good.test\nallow *.mid.good.test up=2M/h");
    world_load(&world);
    assert_reason(world.policy, "x.good.test", REASON_RULE_ASK);
    assert_reason(world.policy, "api.good.test", REASON_RULE_ALLOW);
    assert_reason(world.policy, "tie.good.test", REASON_RULE_ASK);
    assert_reason(world.policy, "set.good.test", REASON_RULE_ASK);
    assert_reason(world.policy, "set.good.test:8443", REASON_RULE_ALLOW);
    /* Of two that say the same the later layer's is named. */
    struct verdict verdict = decide(world.policy, "a.mid.good.test");
    assert_int_equal(verdict.reason, REASON_RULE_ALLOW);
    assert_int_equal(verdict.layer, LAYER_PROJECT);
    assert_int_equal(verdict.caps.hour, 2 << 20);
    /* A rule that would be only as specific as the ask does not help. */
    assert_string_equal(decide(world.policy, "tie.good.test").missing, "");
    assert_string_equal(decide(world.policy, "x.good.test").missing, "allow x.good.test");
    policy_unref(world.policy);
}

static void modes(void **state)
{
    (void)state;
    auto(policy) struct policy *ask = policy_of(MODE_ASK, "allow docs.rs");
    auto(policy) struct policy *budget = policy_of(MODE_BUDGET, "ask paste.test uploads=yes");
    auto(policy) struct policy *deny = policy_of(MODE_DENY, "");
    auto(policy) struct policy *open = policy_of(MODE_OPEN, "deny evil.test");
    assert_reason(ask, "x.test", REASON_UNKNOWN);
    assert_reason(ask, "x.test:22", REASON_UNKNOWN);
    assert_reason(ask, "8.8.8.8", REASON_LITERAL);
    assert_reason(budget, "x.test", REASON_BUDGET);
    assert_true(decide(budget, "x.test").budget);
    assert_int_equal(decide(budget, "x.test").caps.hour, 64 << 10);
    assert_reason(budget, "x.test:80", REASON_BUDGET_KIND);
    assert_reason(budget, "x.test:22", REASON_BUDGET_KIND);
    assert_reason(budget, "intranet", REASON_BUDGET_KIND);
    assert_reason(budget, "8.8.8.8", REASON_LITERAL);
    assert_reason(budget, "paste.test", REASON_RULE_ASK);
    assert_true(decide(budget, "paste.test").uploads);
    assert_int_equal(decide(budget, "paste.test").caps.hour, 1 << 20);
    assert_reason(deny, "x.test", REASON_MODE_DENY);
    assert_reason(open, "x.test:22", REASON_OPEN);
    assert_reason(open, "8.8.8.8", REASON_OPEN);
    assert_reason(open, "10.0.0.1", REASON_PRIVATE);
    assert_reason(open, "evil.test:22", REASON_RULE_DENY);
    assert_reason(open, "127.0.0.1", REASON_FLOOR);
    assert_string_equal(decide(ask, "x.test:22").missing, "allow x.test:22 proto=tcp");
    assert_string_equal(decide(ask, "docs.rs").missing, "");
    enum policy_mode mode;
    assert_ok(policy_mode_parse("budget", &mode, &err));
    assert_int_equal(mode, MODE_BUDGET);
    assert_error(policy_mode_parse("budged", &mode, &err), ERROR_INVALID, "no mode");
}

static void a_deny_of_everything_is_of_every_name(void **state)
{
    (void)state;
    auto(policy) struct policy *all = policy_of(MODE_OPEN, "deny **\nallow good.test");
    auto(policy) struct policy *single = policy_of(MODE_OPEN, "deny *");
    assert_reason(all, "good.test", REASON_RULE_DENY);
    assert_reason(all, "x:22", REASON_RULE_DENY);
    assert_reason(single, "x", REASON_RULE_DENY);
    assert_reason(single, "good.test", REASON_OPEN);
}

static void how_bytes_are_treated(void **state)
{
    (void)state;
    auto(policy) struct policy *policy =
        policy_of(MODE_ASK, "allow a.test ech=deny\nallow a.test:80 methods=GET\nallow a.test:22 proto=tcp\n"
                            "allow b.test:80 upgrade=websocket\nallow up.test up=64K\nallow big.test up=16M");
    struct verdict verdict = decide(policy, "a.test");
    assert_int_equal(verdict.proto, PROTO_TLS);
    assert_true(verdict.ech_deny);
    assert_int_equal(verdict.caps.hour, 8 << 20);
    assert_true(verdict.caps.connection == UINT64_MAX);
    assert_false(verdict.needs_head);
    verdict = decide(policy, "a.test:80");
    assert_int_equal(verdict.proto, PROTO_HTTP);
    assert_true(verdict.needs_head);
    assert_int_equal(decide(policy, "a.test:22").proto, PROTO_TCP);
    assert_true(decide(policy, "b.test:80").websocket);
    verdict = decide(policy, "up.test");
    assert_int_equal(verdict.caps.connection, 64 << 10);
    assert_int_equal(verdict.caps.hour, 8 << 20);
    assert_int_equal(decide(policy, "big.test").caps.hour, 16 << 20);
    struct request request;
    assert_ok(request_parse("a.test:80", 9, 0, &request, &err));
    request.method = "POST";
    request.path = "/";
    policy_decide(policy, &request, NULL, 0, &verdict);
    assert_int_equal(verdict.reason, REASON_UNKNOWN);
    assert_false(verdict.needs_head);
    request.method = "GET";
    policy_decide(policy, &request, NULL, 0, &verdict);
    assert_int_equal(verdict.reason, REASON_RULE_ALLOW);
    assert_false(verdict.needs_head);
}

static void d05_after_the_name_was_resolved(void **state)
{
    (void)state;
    auto(policy) struct policy *policy =
        policy_of(MODE_ASK, "allow intranet.test private=10.0.5.0/24\nallow plain.test");
    static const struct {
        const char *host, *address;
        enum reason reason;
        const char *missing;
    } cases[] = {
        {"intranet.test", "10.0.5.7", REASON_RULE_ALLOW, ""},
        {"intranet.test", "10.0.6.7", REASON_PRIVATE, "allow intranet.test private=10.0.6.7/32"},
        {"intranet.test", "127.0.0.1", REASON_FLOOR, ""},
        {"intranet.test", "8.8.8.8", REASON_RULE_ALLOW, ""},
        {"plain.test", "fd00::5", REASON_PRIVATE, "allow plain.test private=[fd00::5]/128"},
        {"plain.test", "198.51.100.9", REASON_FLOOR, ""}, /* this host's own */
    };
    struct address own;
    assert_ok(address_parse("198.51.100.9", 12, &own, &err));
    for (size_t i = 0; i < countof(cases); i++) {
        struct request request;
        struct verdict verdict;
        struct address address;
        assert_ok(request_parse(cases[i].host, strlen(cases[i].host), 443, &request, &err));
        assert_ok(address_parse(cases[i].address, strlen(cases[i].address), &address, &err));
        policy_decide(policy, &request, NULL, 0, &verdict);
        assert_int_equal(verdict_check_address(&verdict, &request, &address, &own, 1),
                         cases[i].reason == REASON_RULE_ALLOW);
        assert_int_equal(verdict.reason, cases[i].reason);
        assert_string_equal(verdict.missing, cases[i].missing);
    }
}

/* The decision over again, by looking at all rules one by one. */
static void decide_plainly(const struct policy *policy, const struct request *request,
                           enum verdict_effect *effect, uint64_t *rank)
{
    size_t count;
    const struct rule *const *rules = policy_rules(policy, &count);
    bool denied = false, found = false;
    for (size_t i = 0; i < count; i++) {
        if (!rule_matches(rules[i], request))
            continue;
        uint64_t mine = rule_specificity(rules[i]);
        if (rules[i]->effect == RULE_DENY) {
            *rank = denied && *rank > mine ? *rank : mine;
            denied = true;
            *effect = VERDICT_DENY;
        } else if (!denied && (!found || mine > *rank || (mine == *rank && rules[i]->effect == RULE_ASK))) {
            *effect = rules[i]->effect == RULE_ALLOW ? VERDICT_ALLOW : VERDICT_ASK;
            *rank = mine;
            found = true;
        }
    }
    if (!found && !denied)
        *rank = 0;
}

static uint64_t random_state = 1;

static unsigned pick(unsigned n)
{
    random_state = random_state * 6364136223846793005ULL + 1442695040888963407ULL;
    return (unsigned)(random_state >> 33) % n;
}

/* A host of few labels, so that rules and requests meet. */
static void random_host(char *out, size_t size)
{
    static const char *const labels[] = {"a", "b", "api", "good", "xn--bcher-kva"};
    if (pick(6) == 0) {
        snprintf(out, size, "8.%u.%u.%u", pick(2), pick(2) * 200, pick(4));
        return;
    }
    size_t used = 0;
    for (unsigned n = pick(3); n > 0; n--)
        used += (size_t)snprintf(out + used, size - used, "%s.", labels[pick(countof(labels))]);
    snprintf(out + used, size - used, "%s.%s", labels[pick(3)], pick(2) ? "good.test" : "evil.test");
}

static void random_rule(char *out, size_t size)
{
    static const char *const effects[] = {"allow", "allow", "ask", "deny"};
    static const char *const stars[] = {"", "", "*.", "**."};
    static const char *const ports[] = {":443", ":80", ":8443 proto=tls", ":{80,443} proto=http",
                                        ":80-443 proto=tcp"};
    char host[200];
    random_host(host, sizeof(host));
    bool address = host[0] == '8';
    if (address && pick(2))
        snprintf(host, sizeof(host), "8.%u.0.0/16", pick(2));
    snprintf(out, size, "%s %s%s%s", effects[pick(4)], address ? "" : stars[pick(4)], host, ports[pick(5)]);
}

static struct policy *random_policy(size_t count)
{
    struct rule **rules = xnewn(struct rule *, count);
    for (size_t i = 0; i < count; i++) {
        char text[300];
        struct rule_origin origin = {.layer = LAYER_PRESET + pick(4)};
        do
            random_rule(text, sizeof(text));
        while (rule_parse(text, strlen(text), &origin, &rules[i], NULL) < 0);
    }
    struct policy_options options = {.generation = 7, .mode = MODE_DENY};
    struct policy *policy = NULL;
    assert_ok(policy_create(&options, rules, count, &policy, &err));
    free(rules);
    return policy;
}

static const char *const adversarial[] = {
    "good.test",
    "GOOD.test.",
    "good.test..",
    "a.good.test",
    "a.b.good.test",
    "evilgood.test",
    "good.test.evil.test",
    "good.test@evil.test",
    "evil.test#good.test",
    "evil.test/good.test",
    "evil.test:443.good.test",
    "127.1",
    "2130706433",
    "0x7f.0.0.1",
    "0177.0.0.1",
    "1.2.3",
    "1.2.3.4.5",
    "8.0.0.1",
    "8.0.0.1.",
    "[::ffff:8.0.0.1]",
    "[::ffff:8.0.0.1]:80",
    "[fe80::1%25eth0]",
    "::ffff:1.2.3.4%x.good.test",
    "[::1]",
    "[2002:800:1::]",
    "localhost",
    "LOCALHOST.",
    "x.localhost",
    "metadata",
    "xn--a.good.test",
    "xn--bcher-kva.good.test",
    "XN--BCHER-KVA.good.test",
    "b\xc3\xbc"
    "cher.good.test",
    "good.test:0",
    "good.test:0443",
    "good.test:65536",
    "good.test:443:443",
    "*.good.test",
    "**",
    "",
    ".",
    ":443",
    "good.test:",
    " good.test",
    "good.test ",
    "good\ttest",
    "good.test\r\n",
    "%67ood.test",
    "good.test?x",
    "good.test\\",
    "-good.test",
    "good-.test",
    "_dmarc.good.test",
    "pg.hutch.internal:5432",
    "hutch.internal",
    "10.0.0.1",
    "169.254.169.254",
    "255.255.255.255",
    "good.test:8443",
    "good.test:80",
};

/* N17: what the index decides is what a look at all rules decides; 200 inputs, one canonical form each. */
static void n17_the_index_decides_as_all_rules_do(void **state)
{
    (void)state;
    for (int round = 0; round < 20; round++) {
        auto(policy) struct policy *policy = random_policy(400);
        unsigned decided = 0;
        for (size_t i = 0; i < 200; i++) {
            char authority[300];
            if (i < countof(adversarial))
                snprintf(authority, sizeof(authority), "%s", adversarial[i]);
            else
                random_host(authority, sizeof(authority));
            if (i >= countof(adversarial) && pick(2))
                snprintf(authority + strlen(authority), 10, ":%u", pick(2) ? 80 : 8443);
            struct request request, again;
            if (request_parse(authority, strlen(authority), 443, &request, NULL) < 0)
                continue;
            char canonical[HOST_FORMAT_MAX];
            host_format(&request.host, request.port, canonical);
            assert_ok(request_parse(canonical, strlen(canonical), 0, &again, &err));
            assert_true(host_equal(&request.host, &again.host));
            request.proto = (enum proto)pick(4);
            struct verdict verdict, same;
            policy_decide(policy, &request, NULL, 0, &verdict);
            again.proto = request.proto;
            policy_decide(policy, &again, NULL, 0, &same);
            assert_int_equal(verdict.reason, same.reason);
            if (verdict.reason == REASON_FLOOR || verdict.reason == REASON_RESERVED ||
                verdict.reason == REASON_PRIVATE)
                continue;
            enum verdict_effect effect = VERDICT_DENY;
            uint64_t rank = 0;
            decide_plainly(policy, &request, &effect, &rank);
            if (verdict.effect != effect || (verdict.rule ? rule_specificity(verdict.rule) : 0) != rank)
                fail_msg("%s: %s by \"%s\"", canonical, reason_name(verdict.reason),
                         verdict.rule ? verdict.rule->text : "");
            decided += verdict.rule != NULL;
        }
        assert_true(decided > 50);
    }
}

static void n22_every_entrance_ends_in_one_request(void **state)
{
    (void)state;
    auto(policy) struct policy *policy =
        policy_of(MODE_ASK, "allow good.test\nask 8.8.8.8:443\ndeny evil.test");
    /* CONNECT has host:port, SOCKS5 a name and a number, captured TCP an address of the stub or a literal. */
    static const char *const hosts[] = {"good.test", "other.test", "evil.test", "8.8.8.8"};
    for (size_t i = 0; i < countof(hosts); i++) {
        autofree char *authority = xasprintf("%s:443", hosts[i]);
        struct request request = {.port = 443};
        struct verdict connect = decide(policy, authority), socks;
        assert_ok(host_parse(hosts[i], strlen(hosts[i]), HOST_REQUEST, &request.host, &err));
        policy_decide(policy, &request, NULL, 0, &socks);
        assert_int_equal(connect.reason, socks.reason);
        assert_ptr_equal(connect.rule, socks.rule);
        struct address address;
        if (address_parse(hosts[i], strlen(hosts[i]), &address, NULL) == 0) {
            host_from_address(&address, &request.host);
            policy_decide(policy, &request, NULL, 0, &socks);
            assert_int_equal(connect.reason, socks.reason);
        }
    }
}

static void a_policy_lives_as_long_as_it_is_held(void **state)
{
    (void)state;
    struct policy *policy = policy_of(MODE_ASK, "allow good.test");
    struct policy *held = policy_ref(policy);
    policy_unref(policy);
    assert_reason(held, "good.test", REASON_RULE_ALLOW);
    assert_int_equal(policy_generation(held), 1);
    policy_unref(held);
    policy_unref(NULL);
}

static void ten_thousand_rules(void **state)
{
    (void)state;
    auto(policy) struct policy *policy = random_policy(10000);
    struct request request;
    struct verdict verdict;
    assert_ok(request_parse("nobody.knows.this.test:443", 26, 0, &request, &err));
    int64_t start = units_monotonic_ns();
    for (int i = 0; i < 100000; i++)
        policy_decide(policy, &request, NULL, 0, &verdict);
    /* A look at every rule would take minutes. */
    assert_true(units_monotonic_ns() - start < 20LL * 1000000000);
    assert_int_equal(verdict.reason, REASON_MODE_DENY);
}

static void reasons_are_whole(void **state)
{
    (void)state;
    for (int i = 0; i < REASON_COUNT; i++) {
        enum reason reason = (enum reason)i;
        assert_int_equal(reason_from_name(reason_name(reason)), reason);
        assert_true(*reason_sentence(reason) != '\0');
        /* An agent that was refused is told what to do, except where nobody is left to tell. */
        assert_true(reason_effect(reason) == VERDICT_ALLOW || *reason_next(reason) || reason == REASON_GONE);
    }
    assert_int_equal(reason_from_name("nonsense"), REASON_COUNT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(n01_an_empty_list_allows_nothing),
        cmocka_unit_test(n02_without_a_policy_all_is_denied),
        cmocka_unit_test(n04_look_alikes_do_not_match),
        cmocka_unit_test(n05_one_form_of_a_name),
        cmocka_unit_test(n07_n08_n10_n15_forms),
        cmocka_unit_test(n11_n12_ports_and_labels),
        cmocka_unit_test(n14_deny_wins_in_any_layer),
        cmocka_unit_test(the_order_of_precedence),
        cmocka_unit_test(the_most_specific_of_allow_and_ask),
        cmocka_unit_test(modes),
        cmocka_unit_test(a_deny_of_everything_is_of_every_name),
        cmocka_unit_test(how_bytes_are_treated),
        cmocka_unit_test(d05_after_the_name_was_resolved),
        cmocka_unit_test(n17_the_index_decides_as_all_rules_do),
        cmocka_unit_test(n22_every_entrance_ends_in_one_request),
        cmocka_unit_test(a_policy_lives_as_long_as_it_is_held),
        cmocka_unit_test(ten_thousand_rules),
        cmocka_unit_test(reasons_are_whole),
    };
    alarm(120);
    return cmocka_run_group_tests_name("policy decide", tests, NULL, NULL);
}
