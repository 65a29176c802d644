/* Flows of a project, by the cases of the threat catalogue: names and policy, addresses, floods, the log. */
#include "flow_world.h"

static void one_flow_from_end_to_end(void **state)
{
    struct world *w = world_open(NULL);

    (void)state;
    world_policy(w, MODE_DENY, RULES("allow docs.rs"));
    uint64_t flow = world_ask(w, "DOCS.rs.:443");
    assert_true(w->heard[flow].allowed);
    assert_int_equal(w->heard[flow].proto, FLOW_TLS);
    assert_int_equal(w->dial_count, 0);
    assert_int_equal(w->row_count, 0);
    assert_true(world_ready(w, flow));
    assert_int_equal(world_rows(w, FLOW_ROW_OPEN), 1);
    assert_int_equal(w->dial_count, 1);
    assert_true(w->heard[flow].dialed);
    assert_true(world_stat(w, flow, 500, 9000));
    assert_true(world_end(w, flow, FLOW_END_DONE, 600, 12345, ""));
    const struct row *row = world_last(w, FLOW_ROW_CLOSE);
    assert_int_equal(row->up, 600);
    assert_int_equal(row->down, 12345);
    assert_string_equal(row->end, "done");
    assert_string_equal(row->used, "93.184.216.34");
    assert_null(flows_first(w->flows));
    assert_true(world_stat(w, flow, 1, 1)); /* late: ignored */
    world_close(w);
}

/* N01, N02: nothing allowed, or no policy at all, is nothing allowed. */
static void n02_no_policy_is_deny_all(void **state)
{
    struct world *w = world_open(NULL);

    (void)state;
    uint64_t flow = world_ask(w, "docs.rs:443");
    assert_true(w->heard[flow].refused);
    assert_non_null(strstr(w->heard[flow].body, "\"no-policy\""));
    world_policy(w, MODE_DENY, NULL);
    flow = world_ask(w, "docs.rs:443");
    assert_non_null(strstr(w->heard[flow].body, "\"mode-deny\""));
    assert_non_null(strstr(w->heard[flow].body, "\"rule_missing\":\"allow docs.rs\""));
    assert_int_equal(w->lookup_count, 0);
    world_close(w);
}

/* N14: a deny of any layer wins, whichever is given first. */
static void n14_deny_wins_over_layers(void **state)
{
    struct world *w = world_open(NULL);

    (void)state;
    world_policy(w, MODE_OPEN, RULES("@deny api.good.test", "allow **.good.test"));
    assert_true(w->heard[world_ask(w, "api.good.test:443")].refused);
    world_policy(w, MODE_OPEN, RULES("allow **.good.test", "deny api.good.test"));
    assert_true(w->heard[world_ask(w, "api.good.test:443")].refused);
    assert_true(w->heard[world_ask(w, "www.good.test:443")].allowed);
    world_close(w);
}

/* N17: `rule test` (flow_decide) and the flow come to the same verdict and reason, over 200 inputs. */
static void n17_rule_test_is_the_flows_decision(void **state)
{
    static const char *const hosts[] = {
        "good.test",
        "GOOD.TEST.",
        "good.test..",
        "a.good.test",
        "a.b.good.test",
        "evilgood.test",
        "good.test@x",
        "127.0.0.1",
        "127.1",
        "0x7f.1",
        "2130706433",
        "[::1]",
        "[fe80::1%25x]",
        "10.0.0.1",
        "93.184.216.34",
        "localhost",
        "metadata",
        "pg.hutch.internal",
        "x.hutch.internal",
        "xn--a",
        "xn--bcher-kva.test",
        "-bad.test",
        "a_b.good.test",
        "good.test/x",
        "",
    };
    static const char *const ports[] = {":443",   ":80",   ":22", ":5432",         ":0",
                                        ":99999", ":0443", "",    ":443.good.test"};
    struct world *w = world_open(NULL);
    unsigned count = 0;

    (void)state;
    w->answers = "93.184.216.34";
    world_policy(w, MODE_DENY,
                 RULES("allow good.test", "allow *.good.test:{80,443} proto=tls", "deny a_b.good.test",
                       "allow 93.184.216.34:443", "ask good.test:22 proto=tcp"));
    w->nobody = true;
    for (size_t i = 0; i < countof(hosts); i++) {
        for (size_t j = 0; j < countof(ports); j++) {
            autofree char *authority = xasprintf("%s%s", hosts[i], ports[j]);
            struct request request;
            struct verdict verdict;

            flow_decide(w->policy, authority, strlen(authority), PROTO_ANY, "p1", NULL, NULL, 0, w->s,
                        &request, &verdict);
            uint64_t flow = world_ask(w, authority);
            assert_int_equal(w->heard[flow].allowed, verdict.effect == VERDICT_ALLOW);
            assert_int_equal(w->heard[flow].refused, verdict.effect != VERDICT_ALLOW);
            if (verdict.effect == VERDICT_DENY) {
                autofree char *reason = xasprintf("\"reason\":\"%s\"", reason_name(verdict.reason));
                if (!strstr(w->heard[flow].body, reason))
                    fail_msg("%s: %s, not %s", authority, w->heard[flow].body, reason);
            } else if (verdict.effect == VERDICT_ASK) {
                if (!strstr(w->heard[flow].body, "\"no-ui\""))
                    fail_msg("%s: %s", authority, w->heard[flow].body);
            }
            count++;
            world_pass(w, 20);
        }
    }
    assert_true(count >= 200);
    world_close(w);
}

/* N20: two of three tunnels are cut when the rules become tighter; their rows are closed with "policy". */
static void n20_tightening_cuts_what_no_longer_passes(void **state)
{
    struct world *w = world_open(NULL);
    uint64_t flows[3];

    (void)state;
    world_policy(w, MODE_DENY, RULES("allow a.test", "allow b.test", "allow c.test private=10.0.5.0/24"));
    flows[0] = world_ask(w, "a.test:443");
    flows[1] = world_ask(w, "b.test:443");
    w->answers = "10.0.5.7";
    flows[2] = world_ask(w, "c.test:443");
    for (int i = 0; i < 3; i++) {
        assert_true(world_ready(w, flows[i]));
        assert_true(w->heard[flows[i]].dialed);
    }
    world_policy(w, MODE_DENY, RULES("allow b.test", "allow c.test"));
    assert_true(w->heard[flows[0]].cut);
    assert_false(w->heard[flows[1]].cut);
    assert_true(w->heard[flows[2]].cut); /* the name passes, its private address does not */
    assert_true(world_end(w, flows[0], FLOW_END_CUT, 1, 2, ""));
    assert_string_equal(world_last(w, FLOW_ROW_CLOSE)->end_reason, "policy");
    assert_true(world_stat(w, flows[1], 10, 10));
    /* and no policy at all cuts the last */
    flows_set_policy(w->flows, NULL);
    assert_true(w->heard[flows[1]].cut);
    world_close(w);
}

/* N22: the entrance is not part of the decision. */
static void n22_every_entrance_decides_alike(void **state)
{
    static const char *const names[] = {"good.test:443", "evil.test:443", "93.184.216.34:443",
                                        "good.test:22"};
    struct world *w = world_open(NULL);

    (void)state;
    world_policy(w, MODE_DENY, RULES("allow good.test"));
    for (size_t i = 0; i < countof(names); i++) {
        uint64_t first = world_ask_by(w, names[i], FLOW_CONNECT);

        for (int entrance = FLOW_ABSOLUTE; entrance < FLOW_ENTRANCE_COUNT; entrance++) {
            uint64_t flow = world_ask_by(w, names[i], (enum flow_entrance)entrance);

            assert_int_equal(w->heard[flow].allowed, w->heard[first].allowed);
            assert_int_equal(w->heard[flow].status, w->heard[first].status);
            assert_string_equal(w->heard[flow].body, w->heard[first].body);
        }
    }
    world_close(w);
}

/* D01: while a person is asked nothing is resolved and nothing dialled; a no leaves it so. */
static void d01_no_lookup_while_asking(void **state)
{
    struct world *w = world_open(NULL);
    struct flow_answer no = {.reason = REASON_PERSON, .words = "use \033[31mthe mirror"};
    struct flow_answer yes = {.allow = true};

    (void)state;
    world_policy(w, MODE_ASK, NULL);
    uint64_t flow = world_ask(w, "data.evil.test:443");
    assert_int_equal(w->ask_count, 1);
    assert_int_equal(w->question, FLOW_ASK_OPEN);
    assert_int_equal(w->lookup_count, 0);
    assert_false(w->heard[flow].refused || w->heard[flow].allowed);
    flows_answer(w->flows, flow, &no);
    assert_true(w->heard[flow].refused);
    assert_non_null(strstr(w->heard[flow].body, "\"reason\":\"person\""));
    assert_non_null(strstr(w->heard[flow].body, "the mirror"));
    assert_null(strstr(w->heard[flow].body, "\\u001b"));
    assert_int_equal(w->lookup_count, 0);
    flow = world_ask(w, "data.evil.test:443");
    flows_answer(w->flows, flow, &yes);
    assert_int_equal(w->lookup_count, 1);
    assert_true(w->heard[flow].allowed);
    flows_answer(w->flows, flow, &no); /* twice: nothing */
    assert_false(w->heard[flow].refused);
    /* nobody there: refused with its own reason */
    w->nobody = true;
    flow = world_ask(w, "other.test:443");
    assert_non_null(strstr(w->heard[flow].body, "\"no-ui\""));
    assert_int_equal(w->lookup_count, 1);
    world_close(w);
}

/* A yes is worth nothing against a deny that came meanwhile. */
/* `rule rm` of an answer that holds. */
static void a_grant_that_is_taken_back_cuts(void **state)
{
    struct world *w = world_open(NULL);
    struct request request;
    struct grant grants[2];

    (void)state;
    world_policy(w, MODE_ASK, NULL);
    for (size_t i = 0; i < countof(grants); i++) {
        const char *authority = i ? "other.test:443" : "good.test:443";
        assert_ok(request_parse(authority, strlen(authority), 0, &request, &err));
        request.project = "p1";
        request.now = w->s;
        assert_ok(grant_init(&request, SCOPE_DURATION, ~0u, false, 3600, &grants[i], &err));
        grants[i].id = i + 1;
    }
    w->grants = grants;
    w->grant_count = 2;
    uint64_t open = world_ask(w, "good.test:443"), other = world_ask(w, "other.test:443");
    assert_true(world_ready(w, open) && world_ready(w, other));
    w->answers = NULL;
    uint64_t resolving = world_ask(w, "good.test:443");
    assert_false(w->heard[resolving].allowed);
    flows_revoke(w->flows, 3); /* of another one */
    assert_false(w->heard[open].cut);
    w->grants = &grants[1];
    w->grant_count = 1;
    size_t asked = w->ask_count;
    flows_revoke(w->flows, 1);
    assert_true(w->heard[open].cut);
    assert_false(w->heard[other].cut);
    assert_int_equal(w->ask_count, asked + 1); /* what was on its way is asked anew */
    /* A rule that came meanwhile keeps it. */
    world_policy(w, MODE_ASK, RULES("allow other.test"));
    w->grant_count = 0;
    flows_revoke(w->flows, 2);
    assert_false(w->heard[other].cut);
    world_close(w);
}

static void an_old_yes_does_not_beat_a_new_deny(void **state)
{
    struct world *w = world_open(NULL);
    struct flow_answer yes = {.allow = true};

    (void)state;
    world_policy(w, MODE_ASK, NULL);
    uint64_t flow = world_ask(w, "a.test:443"), held = world_ask(w, "b.test:443");
    world_policy(w, MODE_ASK, RULES("deny a.test"));
    assert_true(w->heard[flow].refused);
    assert_int_equal(w->withdrawn, 1);
    assert_int_equal(w->ask_count, 2); /* b.test stays the question that it is: the new rules ask it too */
    flows_answer(w->flows, flow, &yes);
    assert_false(w->heard[flow].allowed);
    flows_answer(w->flows, held, &yes);
    assert_true(w->heard[held].allowed);
    world_close(w);
}

/* D02: one lookup a connection; what it said then is what is dialled. */
static void d02_one_lookup_and_its_addresses(void **state)
{
    struct world *w = world_open(NULL);

    (void)state;
    world_policy(w, MODE_DENY, RULES("allow good.test"));
    w->answers = "93.184.216.34 10.0.0.1 93.184.216.35";
    uint64_t flow = world_ask(w, "good.test:443");
    w->answers = "10.0.0.1";
    assert_true(world_ready(w, flow));
    assert_int_equal(w->lookup_count, 1);
    assert_int_equal(w->dialed[0].count, 2);
    struct address second;
    assert_ok(address_parse("93.184.216.35", 13, &second, &err));
    assert_true(address_equal(&w->dialed[0].addresses[1], &second));
    flow = world_ask(w, "good.test:443");
    assert_true(w->heard[flow].refused);
    assert_int_equal(w->lookup_count, 2);
    world_close(w);
}

/* D04: answers that are no public address, and this host's own. */
static void d04_addresses_that_are_never_dialled(void **state)
{
    static const char *const answers[] = {
        "0.0.0.0",       "::",        "169.254.169.254",  "100.64.0.1",      "198.18.0.1", "fd00:ec2::254",
        "93.184.216.40", "240.0.0.1", "::ffff:127.0.0.1", "64:ff9b::7f00:1", "127.0.0.1"};
    struct world *w = world_open(NULL);

    (void)state;
    w->own_count = 1;
    assert_ok(address_parse("93.184.216.40", 13, &w->own[0], &err));
    world_policy(w, MODE_DENY, RULES("allow good.test"));
    for (size_t i = 0; i < countof(answers); i++) {
        w->answers = answers[i];
        uint64_t flow = world_ask(w, "good.test:443");
        if (!w->heard[flow].refused)
            fail_msg("%s was allowed", answers[i]);
        assert_null(strstr(w->heard[flow].body, answers[i]));
        assert_non_null(strstr(w->heard[flow].body, "\"class\":"));
    }
    assert_int_equal(w->dial_count, 0);
    w->own_count = -1; /* they cannot be read: nothing goes out */
    w->answers = "93.184.216.34";
    assert_true(w->heard[world_ask(w, "good.test:443")].refused);
    world_close(w);
}

/* D05: a rule's private range opens itself alone, and never the floor. */
static void d05_private_ranges(void **state)
{
    struct world *w = world_open(NULL);

    (void)state;
    world_policy(w, MODE_DENY, RULES("allow intranet.test private=10.0.5.0/24"));
    w->answers = "10.0.5.7";
    uint64_t flow = world_ask(w, "intranet.test:443");
    assert_true(w->heard[flow].allowed);
    assert_true(world_ready(w, flow));
    assert_int_equal(w->dialed[0].range_count, 1);
    w->answers = "10.0.6.7";
    flow = world_ask(w, "intranet.test:443");
    assert_non_null(strstr(w->heard[flow].body, "\"reason\":\"private\""));
    w->answers = "127.0.0.1";
    flow = world_ask(w, "intranet.test:443");
    assert_non_null(strstr(w->heard[flow].body, "\"reason\":\"floor\""));
    world_close(w);
}

/* A private address behind a name that a person let in is a question of its own. */
static void a_private_address_is_a_second_question(void **state)
{
    struct world *w = world_open(NULL);
    struct flow_answer yes = {.allow = true};

    (void)state;
    world_policy(w, MODE_ASK, NULL);
    w->answers = "10.0.5.7";
    uint64_t flow = world_ask(w, "intranet.test:443");
    flows_answer(w->flows, flow, &yes);
    if (w->heard[flow].refused) { /* the policy refuses it: also right */
        world_close(w);
        return;
    }
    assert_int_equal(w->ask_count, 2);
    assert_int_equal(w->question, FLOW_ASK_PRIVATE);
    assert_ok(address_parse("10.0.5.7", 8, &yes.private_address, &err));
    flows_answer(w->flows, flow, &yes);
    assert_true(w->heard[flow].allowed);
    world_close(w);
}

/* Who was allowed and has a name that does not resolve is told that, and of no rule that would help. */
static void an_unknown_name_misses_no_rule(void **state)
{
    struct world *w = world_open(NULL);
    struct flow_answer yes = {.allow = true};

    (void)state;
    world_policy(w, MODE_ASK, NULL);
    w->answers = NULL;
    w->failure = "no such name";
    uint64_t flow = world_ask(w, "nowhere.test:443");
    assert_string_equal(w->asked_missing, "allow nowhere.test");
    flows_answer(w->flows, flow, &yes);
    assert_true(w->heard[flow].refused);
    assert_non_null(strstr(w->heard[flow].body, "\"reason\":\"resolve\""));
    assert_null(strstr(w->heard[flow].body, "rule_missing"));
    world_close(w);
}

/* Lookups of a project run four at a time, and who waits gets its turn. */
static void lookups_take_turns(void **state)
{
    struct world *w = world_open(NULL);
    struct address address;
    struct resolver_answer answer = {.addresses = &address, .count = 1};

    (void)state;
    assert_ok(address_parse("93.184.216.34", 13, &address, &err));
    world_policy(w, MODE_DENY, RULES("allow **.good.test"));
    w->answers = NULL;
    for (int i = 0; i < 10; i++) {
        autofree char *name = xasprintf("n%d.good.test:443", i);
        world_ask(w, name);
    }
    assert_int_equal(w->lookup_count, FLOWS_RESOLVING_MAX);
    for (size_t i = 0; i < 10; i++)
        flows_resolved(w->flows, w->lookup_flows[i], &answer);
    assert_int_equal(w->lookup_count, 10);
    assert_string_equal(w->lookups[9], "n9.good.test");
    for (uint64_t flow = 1; flow <= 10; flow++)
        assert_true(w->heard[flow].allowed);
    world_close(w);
}

/* The worker is gone: open rows are closed with "lost", what was under way is dropped. */
static void a_lost_worker_closes_every_row(void **state)
{
    struct world *w = world_open(NULL);

    (void)state;
    world_policy(w, MODE_ASK, RULES("allow good.test"));
    uint64_t open = world_ask(w, "good.test:443");
    assert_true(world_ready(w, open));
    w->hold_dials = true;
    assert_true(world_ready(w, world_ask(w, "good.test:443")));
    world_ask(w, "asked.test:443");
    flows_lost(w->flows);
    assert_int_equal(world_rows(w, FLOW_ROW_OPEN), 2);
    assert_int_equal(world_rows(w, FLOW_ROW_CLOSE), 2);
    assert_string_equal(world_last(w, FLOW_ROW_CLOSE)->end, "lost");
    assert_int_equal(w->drops, 1);
    assert_int_equal(w->withdrawn, 1);
    assert_null(flows_first(w->flows));
    w->next_flow = 0; /* the next worker begins with 1 */
    world_ask(w, "good.test:443");
    world_close(w);
}

/* What has no place ends the worker: an id twice, a flight before the verdict, a number from nowhere. */
static void nonsense_is_refused(void **state)
{
    struct world *w = world_open(NULL);
    struct wmsg_flow_ask ask = {.type = WMSG_FLOW_ASK, .flow = 1, .authority = "good.test:443"};

    (void)state;
    world_policy(w, MODE_ASK, RULES("allow good.test"));
    uint64_t flow = world_ask(w, "asked.test:443");
    assert_false(flows_take(w->flows, &ask));
    assert_false(world_ready(w, flow));
    assert_false(world_need(w, flow, 0));
    assert_false(world_ready(w, 999));
    world_close(w);
}

static void reserved_names(void **state)
{
    struct world *w = world_open(NULL);

    (void)state;
    world_policy(w, MODE_OPEN, NULL);
    uint64_t flow = world_ask(w, "pg.hutch.internal:5432");
    assert_true(w->heard[flow].allowed);
    assert_true(world_ready(w, flow));
    assert_string_equal(w->dialed[0].to, "127.0.0.1:5432");
    assert_int_equal(w->lookup_count, 0);
    assert_true(w->heard[world_ask(w, "pg.hutch.internal:22")].refused);
    assert_true(w->heard[world_ask(w, "other.hutch.internal:80")].refused);
    flow = world_ask(w, "31.request.hutch.internal:80");
    assert_int_equal(w->waits, 31);
    flows_reply(w->flows, flow, "{\"request\":31,\"verdict\":\"allow\"}");
    assert_true(w->heard[flow].replied);
    assert_true(w->heard[world_ask(w, "31.request.hutch.internal:443")].refused);
    flow = world_ask(w, "shop.push.hutch.internal:80");
    assert_string_equal(w->git, "push shop");
    flows_reply(w->flows, flow, "{}");
    assert_true(w->heard[flow].replied);
    world_ask(w, "my-shop.fetch.hutch.internal:80");
    assert_string_equal(w->git, "fetch my-shop");
    assert_true(w->heard[world_ask(w, "shop.push.hutch.internal:443")].refused);
    assert_true(w->heard[world_ask(w, "a.b.push.hutch.internal:80")].refused);
    assert_true(w->heard[world_ask(w, "push.hutch.internal:80")].refused);
    assert_string_equal(w->git, "fetch my-shop");
    world_close(w);
}

/* Through a proxy the name is not looked up here; addresses are judged all the same. */
static void a_proxy_gets_the_name(void **state)
{
    struct world *w = world_open("http://me:hunter2@10.1.1.1:3128");

    (void)state;
    world_policy(w, MODE_DENY, RULES("allow good.test", "allow a.direct.test"));
    uint64_t flow = world_ask(w, "good.test:443");
    assert_true(world_ready(w, flow));
    assert_int_equal(w->lookup_count, 0);
    assert_string_equal(w->dialed[0].through, "good.test:443");
    assert_int_equal(w->dialed[0].port, 3128);
    assert_string_equal(w->dialed[0].authorization, "Basic bWU6aHVudGVyMg==");
    flow = world_ask(w, "a.direct.test:443"); /* what needs no proxy is looked up and judged as ever */
    assert_true(world_ready(w, flow));
    assert_int_equal(w->lookup_count, 1);
    assert_string_equal(w->dialed[1].through, "");
    assert_string_equal(w->dialed[1].authorization, "");
    assert_true(w->heard[world_ask(w, "169.254.169.254:80")].refused);
    world_close(w);
}

int main(void)
{
    alarm(120);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_flow_from_end_to_end),
        cmocka_unit_test(n02_no_policy_is_deny_all),
        cmocka_unit_test(n14_deny_wins_over_layers),
        cmocka_unit_test(n17_rule_test_is_the_flows_decision),
        cmocka_unit_test(n20_tightening_cuts_what_no_longer_passes),
        cmocka_unit_test(n22_every_entrance_decides_alike),
        cmocka_unit_test(d01_no_lookup_while_asking),
        cmocka_unit_test(an_old_yes_does_not_beat_a_new_deny),
        cmocka_unit_test(a_grant_that_is_taken_back_cuts),
        cmocka_unit_test(d02_one_lookup_and_its_addresses),
        cmocka_unit_test(d04_addresses_that_are_never_dialled),
        cmocka_unit_test(d05_private_ranges),
        cmocka_unit_test(a_private_address_is_a_second_question),
        cmocka_unit_test(an_unknown_name_misses_no_rule),
        cmocka_unit_test(lookups_take_turns),
        cmocka_unit_test(a_lost_worker_closes_every_row),
        cmocka_unit_test(nonsense_is_refused),
        cmocka_unit_test(reserved_names),
        cmocka_unit_test(a_proxy_gets_the_name),
    };
    return cmocka_run_group_tests_name("egress flow", tests, NULL, NULL);
}
