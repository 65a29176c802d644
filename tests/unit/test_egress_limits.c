/* What a project's flows may cost: floods, quotas, budgets, the log. */
#include "flow_world.h"

/* D07, L07: a thousand refusals are one row with the first twenty, and one alert. */
static void d07_a_burst_is_one_row(void **state)
{
    struct world *w = world_open(NULL);

    (void)state;
    world_policy(w, MODE_DENY, NULL);
    for (int i = 0; i < 1000; i++) {
        autofree char *name = xasprintf("data%d.evil.test:443", i);
        world_ask(w, name);
        world_pass(w, 1);
    }
    assert_int_equal(w->row_count, 0);
    world_pass(w, 3000);
    assert_int_equal(w->row_count, 1);
    const struct row *row = world_last(w, FLOW_ROW_BURST);
    assert_int_equal(row->count, 1000);
    assert_int_equal(row->samples, FLOW_BURST_SAMPLES);
    assert_int_equal(w->alerts, 1);
    assert_int_equal(w->lookup_count, 0);
    world_close(w);
}

/* L07: a scan of every port of five addresses; all are refused, one record is left. */
static void l07_a_port_scan_is_one_row(void **state)
{
    struct world *w = world_open(NULL);
    uint64_t count = 0;

    (void)state;
    world_policy(w, MODE_DENY, RULES("allow good.test"));
    for (int host = 1; host <= 5; host++) {
        for (int port = 1; port <= 65535; port++) {
            char authority[40];
            struct wmsg_flow_ask ask = {.type = WMSG_FLOW_ASK, .flow = ++w->next_flow};

            snprintf(authority, sizeof(authority), "192.168.0.%d:%d", host, port);
            memcpy(ask.authority, authority, sizeof(authority));
            assert_true(flows_take(w->flows, &ask));
            count += w->heard[w->next_flow].refused;
            if (port % 2 == 0)
                world_pass(w, 1);
        }
    }
    world_pass(w, 3000);
    assert_int_equal(count, 5 * 65535);
    assert_int_equal(w->row_count, 1);
    assert_int_equal(world_last(w, FLOW_ROW_BURST)->count, 5 * 65535);
    assert_null(flows_first(w->flows));
    world_pass(w, 5000);
    assert_true(w->heard[world_ask(w, "good.test:443")].allowed);
    world_close(w);
}

/* Few refusals are rows of their own at once; the same one again is counted. */
static void few_refusals_are_rows(void **state)
{
    struct world *w = world_open(NULL);

    (void)state;
    world_policy(w, MODE_DENY, NULL);
    for (int i = 0; i < 5; i++)
        world_ask(w, "a.test:443");
    world_ask(w, "b.test:443");
    world_pass(w, 300);
    assert_int_equal(world_rows(w, FLOW_ROW_DENY), 2);
    assert_int_equal(w->rows[0].count + w->rows[1].count, 6);
    for (int i = 0; i < 40; i++) {
        world_ask(w, "a.test:443");
        world_pass(w, 100);
    }
    assert_int_equal(w->row_count, 2);
    world_pass(w, 61000);
    assert_int_equal(w->row_count, 3);
    assert_int_equal(world_last(w, FLOW_ROW_DENY)->count, 40);
    assert_int_equal(w->alerts, 0);
    world_close(w);
}

/* D08: more than fifty different names below a wildcard in a minute are one alert; they still pass. */
static void d08_names_that_look_like_data(void **state)
{
    struct world *w = world_open(NULL);

    (void)state;
    world_policy(w, MODE_DENY, RULES("allow **.good.test"));
    for (int i = 0; i < 60; i++) {
        autofree char *name = xasprintf("d%d.good.test:443", i);
        assert_true(w->heard[world_ask(w, name)].allowed);
        assert_int_equal(w->alerts, i < 50 ? 0 : 1);
    }
    assert_non_null(strstr(w->last_alert, "good.test"));
    for (int i = 0; i < 100; i++)
        world_ask(w, "d1.good.test:443");
    assert_int_equal(w->alerts, 1);
    world_close(w);
}

/* D16: a lookup that fails is told with 502 and dials nothing. */
static void d16_a_failed_lookup(void **state)
{
    struct world *w = world_open(NULL);

    (void)state;
    world_policy(w, MODE_DENY, RULES("allow good.test"));
    w->answers = NULL;
    w->failure = "time";
    uint64_t flow = world_ask(w, "good.test:443");
    assert_int_equal(w->heard[flow].status, 502);
    assert_non_null(strstr(w->heard[flow].body, "\"resolve\""));
    world_pass(w, 300);
    assert_string_equal(world_last(w, FLOW_ROW_DENY)->failure, "time");
    assert_int_equal(w->lookup_count, 1);
    world_close(w);
}

/* L03: no row, no dial; afterwards nothing new until the journal works again. */
static void l03_a_journal_that_fails(void **state)
{
    struct world *w = world_open(NULL);

    (void)state;
    world_policy(w, MODE_DENY, RULES("allow good.test"));
    w->journal_fails = true;
    uint64_t flow = world_ask(w, "good.test:443");
    assert_true(world_ready(w, flow));
    assert_true(w->heard[flow].dial_failed);
    assert_string_equal(w->heard[flow].reason, "log");
    assert_int_equal(w->dial_count, 0);
    flow = world_ask(w, "good.test:443");
    assert_true(w->heard[flow].refused);
    assert_int_equal(w->heard[flow].status, 503);
    assert_non_null(strstr(w->heard[flow].body, "\"log\""));
    w->journal_fails = false;
    flows_set_log(w->flows, true);
    flow = world_ask(w, "good.test:443");
    assert_true(world_ready(w, flow));
    assert_true(w->heard[flow].dialed);
    world_close(w);
}

/* L05: counters as the worker tells them; they only grow, and never past the credit. */
static void l05_bytes_are_counted(void **state)
{
    struct world *w = world_open(NULL);

    (void)state;
    world_policy(w, MODE_DENY, RULES("allow good.test"));
    uint64_t flow = world_ask(w, "good.test:443");
    assert_true(world_ready(w, flow));
    assert_true(world_stat(w, flow, 100, 5000));
    assert_true(world_stat(w, flow, 200, 9000));
    assert_false(world_stat(w, flow, 199, 9000));
    assert_false(world_stat(w, flow, w->heard[flow].credit + 1, 9000));
    flow = world_ask(w, "good.test:443");
    assert_true(world_ready(w, flow));
    assert_true(world_end(w, flow, FLOW_END_GUEST, 77, 88, ""));
    assert_int_equal(world_last(w, FLOW_ROW_CLOSE)->up, 77);
    assert_int_equal(world_last(w, FLOW_ROW_CLOSE)->down, 88);
    world_close(w);
}

/* Sends as much as there is credit for, over as many connections as it takes. Returns the bytes that passed
 * until a question came. */
static uint64_t send_until_asked(struct world *w, const char *authority, uint64_t piece)
{
    uint64_t total = 0;
    size_t asked = w->ask_count;

    for (int i = 0; i < 100 && w->ask_count == asked; i++) {
        uint64_t flow = world_ask(w, authority), up = 0;
        if (w->ask_count > asked)
            break;
        assert_true(world_ready(w, flow));
        while (w->ask_count == asked && up < piece) {
            up = w->heard[flow].credit < piece ? w->heard[flow].credit : piece;
            if (up < piece)
                assert_true(world_need(w, flow, up));
        }
        total += up;
        assert_true(world_end(w, flow, FLOW_END_DONE, up, 0, ""));
    }
    return total;
}

/* Mode budget: 64 KiB up in small pieces over many connections to one name, and not a byte more. */
static void budget_of_a_name_holds(void **state)
{
    struct world *w = world_open(NULL);

    (void)state;
    world_policy(w, MODE_BUDGET, NULL);
    assert_int_equal(send_until_asked(w, "a.test:443", 3000), BUDGET_NAME_BYTES);
    assert_int_equal(w->question, FLOW_ASK_MORE);
    assert_int_equal(w->asked_reason, REASON_BUDGET_BYTES);
    assert_int_equal(send_until_asked(w, "b.test:443", 200000), BUDGET_NAME_BYTES);
    world_close(w);
}

/* The upload cap of an ordinary name: asked at the line; more is what was said. */
static void an_upload_is_held_at_its_cap(void **state)
{
    struct world *w = world_open(NULL);
    struct flow_answer yes = {.allow = true, .bytes = 1 << 20}, no = {.reason = REASON_PERSON};

    (void)state;
    world_policy(w, MODE_DENY, RULES("allow good.test"));
    uint64_t flow = world_ask(w, "good.test:443");
    assert_true(world_ready(w, flow));
    while (w->ask_count == 0)
        assert_true(world_need(w, flow, w->heard[flow].credit));
    assert_int_equal(w->heard[flow].credit, UP_CAP_DEFAULT);
    assert_int_equal(w->asked_reason, REASON_UPLOAD);
    assert_true(world_need(w, flow, w->heard[flow].credit)); /* again: one question */
    assert_int_equal(w->ask_count, 1);
    flows_answer(w->flows, flow, &yes);
    assert_int_equal(w->heard[flow].credit, UP_CAP_DEFAULT + (1 << 20));
    assert_true(world_need(w, flow, w->heard[flow].credit));
    flows_answer(w->flows, flow, &no);
    assert_true(w->heard[flow].cut);
    world_close(w);
}

/* L09: one project's limits are its own; its flows at a time are bounded. */
static void l09_limits_are_a_projects_own(void **state)
{
    struct world *hostile = world_open(NULL), *other = world_open(NULL);
    unsigned allowed = 0;

    (void)state;
    world_policy(hostile, MODE_DENY, RULES("allow **.good.test"));
    world_policy(other, MODE_DENY, RULES("allow good.test"));
    for (int i = 0; i < 5000; i++) {
        uint64_t flow = world_ask(hostile, "a.good.test:443");
        allowed += hostile->heard[flow].allowed;
        if (!hostile->heard[flow].allowed)
            assert_non_null(strstr(hostile->heard[flow].body, "\"limit\""));
    }
    assert_int_equal(allowed, FLOWS_MAX);
    assert_true(other->heard[world_ask(other, "good.test:443")].allowed);
    world_close(hostile);
    world_close(other);
}

int main(void)
{
    alarm(120);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(d07_a_burst_is_one_row),       cmocka_unit_test(l07_a_port_scan_is_one_row),
        cmocka_unit_test(few_refusals_are_rows),        cmocka_unit_test(d08_names_that_look_like_data),
        cmocka_unit_test(d16_a_failed_lookup),          cmocka_unit_test(l03_a_journal_that_fails),
        cmocka_unit_test(l05_bytes_are_counted),        cmocka_unit_test(budget_of_a_name_holds),
        cmocka_unit_test(an_upload_is_held_at_its_cap), cmocka_unit_test(l09_limits_are_a_projects_own),
    };
    return cmocka_run_group_tests_name("egress limits", tests, NULL, NULL);
}
