/* Connections and rules as the screen keeps them: rows that begin, live and end, totals, what is added. */
#include "tests/screen/requests.h"

#include "base/alloc.h"
#include "ui/model/field.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define TEST(name)                      cmocka_unit_test_setup_teardown(name, screen_setup, screen_teardown)
#define assert_shown(screen, words)     screen_assert(screen, words, true)
#define assert_not_shown(screen, words) screen_assert(screen, words, false)

static void test_a_row_opens_lives_and_ends(void **state)
{
    struct screen *screen = *state;
    give_connections(screen);
    screen_keys(screen, "2");
    assert_int_equal(screen->app->net.open_count, 1);
    const struct conn *conn = net_find(&screen->app->net, 202);
    assert_true(conn->open);
    assert_int_equal(conn->down, -1);
    give_flows(screen);
    assert_int_equal(conn->down, 43200512);
    assert_shown(screen, "ASK #33");
    screen_event(screen,
                 NET_EVENT("210", "99", "egress.close", "allow",
                           "\"bytes_up\":2048,\"bytes_down\":43200513,\"ms\":38000,",
                           NET_DATA("npm.registry.local", "r-1-7", "allow npm.registry.local", "192.0.2.8")));
    assert_false(conn->open);
    assert_int_equal(conn->down, 43200513);
    assert_int_equal(conn->ms, 38000);
    assert_int_equal(screen->app->net.open_count, 0);
}

static void test_connections_end_with_their_machine(void **state)
{
    struct screen *screen = *state;
    give_connections(screen);
    screen_event(screen, "{\"seq\":300,\"ts_ns\":1795961080000000000,\"project\":\"docs\",\"kind\":"
                         "\"lifecycle.stop\",\"subject\":\"docs\"}");
    assert_int_equal(screen->app->net.open_count, 1);
    screen_event(screen, "{\"seq\":301,\"ts_ns\":1795961081000000000,\"project\":\"shop\",\"kind\":"
                         "\"lifecycle.stop\",\"subject\":\"shop\"}");
    assert_int_equal(screen->app->net.open_count, 0);
    assert_false(net_find(&screen->app->net, 202)->open);
}

/* Living ones are asked for once a second while somebody looks, and not at all else. */
static void test_flows_are_asked_for_while_they_are_seen(void **state)
{
    struct screen *screen = *state;
    give_connections(screen);
    screen_time(screen, 5000);
    assert_int_equal(screen_asked(screen, "GET", "/v1/projects/shop/flows"), 0);
    screen_keys(screen, "2");
    give_flows(screen);
    screen_forget(screen);
    screen_time(screen, 999);
    assert_int_equal(screen_asked(screen, "GET", "/v1/projects/shop/flows"), 0);
    screen_time(screen, 2);
    uint64_t id = screen_asked(screen, "GET", "/v1/projects/shop/flows");
    assert_int_not_equal(id, 0);
    screen_answer(screen, id, NULL); /* nothing lives: not again by itself */
    screen_forget(screen);
    screen_time(screen, 5000);
    assert_int_equal(screen_asked(screen, "GET", "/v1/projects/shop/flows"), 0);
    screen_keys(screen, "1");
    give_connections(screen);
    screen_time(screen, 5000);
    assert_int_equal(screen_asked(screen, "GET", "/v1/projects/shop/flows"), 0);
}

static void test_the_rate_is_drawn(void **state)
{
    struct screen *screen = *state;
    give_connections(screen);
    screen_keys(screen, "2");
    give_flows(screen);
    autofree char *none = net_rate_line(screen->app, 16);
    assert_string_equal(none, "");
    screen_time(screen, 1001);
    screen_line(screen, screen->app->net.call,
                "{\"id\":7,\"up\":2048,\"down\":53200512,\"ms\":10000,"
                "\"req\":{\"host\":\"npm.registry.local\",\"port\":443}}");
    screen_answer(screen, screen->app->net.call, NULL);
    autofree char *line = net_rate_line(screen->app, 16);
    assert_string_equal(line, "_#");
    screen->app->lines_work = true;
    autofree char *blocks = net_rate_line(screen->app, 16);
    assert_string_equal(blocks, "\u2581\u2588");
}

static void test_hosts_have_totals(void **state)
{
    struct screen *screen = *state;
    give_connections(screen);
    screen_keys(screen, "2 H");
    assert_shown(screen, "12 denied");
    assert_int_equal(screen->app->lists[VIEW_NET].count, 3);
    screen_event(screen,
                 NET_EVENT("220", "99", "egress.deny", "floor", "",
                           "\"req\":{\"host\":\"169.254.169.254\",\"port\":81},\"reason\":\"floor\""));
    assert_shown(screen, "13 denied");
    screen_keys(screen, "H");
    assert_shown(screen, "binaries.prisma.sh:443");
    assert_int_equal(screen->app->lists[VIEW_NET].count, 4);
}

/* Rows of another project are not here; more than are remembered push the oldest out. */
static void test_old_rows_are_dropped(void **state)
{
    struct screen *screen = *state;
    give_connections(screen);
    for (int i = 0; i < NET_MAX; i++) {
        autofree char *event = xasprintf(NET_EVENT("%d", "99", "egress.open", "allow", "",
                                                   NET_DATA("h.example", "x-%d", "r", "192.0.2.1")),
                                         1000 + i, i);
        screen_event(screen, event);
    }
    assert_int_equal(screen->app->net.end - screen->app->net.first, NET_MAX);
    assert_int_equal(screen->app->net.open_count, NET_OPEN);
    assert_null(net_find(&screen->app->net, 202));
    assert_non_null(net_find(&screen->app->net, 1000));
}

/* A refusal says why in words: in the list, in the timeline and in its detail. */
static void test_a_refusal_says_why(void **state)
{
    struct screen *screen = *state;
    give_connections(screen);
    screen_event(screen, NET_EVENT("230", "99", "egress.deny", "deny", "",
                                   "\"req\":{\"host\":\"nowhere.test\",\"port\":443},\"reason\":\"resolve\","
                                   "\"sentence\":\"the name does not resolve\""));
    screen_size(screen, 40, 159);
    assert_shown(screen, "net x is refused: the name does not resolve");
    screen_keys(screen, "2 G");
    assert_shown(screen, "the name does not resolve");
    screen_size(screen, 24, 80);
    screen_keys(screen, "Enter");
    assert_shown(screen, "why          the name does not resolve");
    assert_not_shown(screen, "would allow it");
}

static void test_hostile_names_are_codes(void **state)
{
    struct screen *screen = *state;
    screen_event(screen, NET_EVENT("230", "99", "egress.deny", "form", "",
                                   "\"req\":{\"authority\":\"g\\u0456t\\u001b[2J\\u202e.com:443\"},"
                                   "\"claim\":{\"argv\":[\"\\u001b]0;x\\u0007\"]}"));
    screen_keys(screen, "2");
    screen_size(screen, 40, 159);
    assert_shown(screen, "g\\u{456}t\\e[2J\\u{202E}.com:443");
    assert_not_shown(screen, "\x1b");
}

/* `R` begins a rule from the row: what is missing for it, or a denial of what passed. */
static void test_a_rule_from_a_row(void **state)
{
    struct screen *screen = *state;
    give_connections(screen);
    screen_keys(screen, "2");
    give_flows(screen);
    screen_keys(screen, "G R");
    assert_shown(screen, "rule: allow docs.rs:443");
    screen_keys(screen, "Escape g R");
    assert_shown(screen, "rule: deny binaries.prisma.sh:443");
    screen_keys(screen, "Enter");
    assert_shown(screen, "connections that it denies are cut");
    screen_keys(screen, "n");
    assert_int_equal(screen_asked(screen, "POST", "/v1/projects/shop/rules"), 0);
}

static void test_rules_are_removed_where_they_are_the_projects(void **state)
{
    struct screen *screen = *state;
    screen_keys(screen, "P");
    give_rules(screen);
    screen_keys(screen, "g Delete");
    assert_shown(screen, "it is no rule of this project");
    screen_keys(screen, "e");
    assert_shown(screen, "it stands in no file of yours");
    screen_keys(screen, "G Delete");
    assert_shown(screen, "connections that only it allows are cut");
    screen_keys(screen, "Enter");
    assert_int_equal(screen_asked(screen, "DELETE", "/v1/projects/shop/rules"), 0);
    screen_keys(screen, "Delete y");
    assert_int_not_equal(screen_asked(screen, "DELETE", "/v1/projects/shop/rules/a3"), 0);
    screen_keys(screen, "L");
    assert_shown(screen, "hutch rule rm shop 'allow *.prisma.sh'");
}

/* What hutchd counted is beyond every number: it stays at the largest, and none becomes negative. */
static void test_numbers_end_somewhere(void **state)
{
    static const char most[] = "\"bytes_up\":9223372036854775807,\"ms\":9223372036854775807,";
    struct screen *screen = *state;
    for (int i = 0; i < 2; i++) {
        autofree char *open =
            xasprintf("{\"seq\":%d,\"ts_ns\":-9223372036854775807,\"project\":\"shop\",\"kind\":\"egress."
                      "open\",\"data\":"
                      "{\"conn\":\"r-1-%d\",\"req\":{\"host\":\"a.example\",\"port\":443}}}",
                      400 + 2 * i, i);
        autofree char *close = xasprintf(
            "{\"seq\":%d,\"project\":\"shop\",\"kind\":\"egress.close\",%s\"data\":{\"conn\":\"r-1-%d\","
            "\"req\":{\"host\":\"a.example\",\"port\":443}}}",
            401 + 2 * i, most, i);
        screen_event(screen, open);
        screen_event(screen, close);
    }
    screen_event(screen,
                 "{\"seq\":410,\"ts_ns\":-9223372036854775807,\"project\":\"shop\",\"kind\":\"exec.end\","
                 "\"subject\":\"x\",\"ms\":9223372036854775807}");
    screen_keys(screen, "2 H");
    const struct net_host *host = NULL;
    for (size_t i = 0; i < screen->app->net.host_count; i++)
        if (!strcmp(screen->app->net.hosts[i].name, "a.example"))
            host = &screen->app->net.hosts[i];
    assert_non_null(host);
    assert_int_equal(host->count, 2);
    assert_true(host->up == FIELD_NUMBER_MAX);
    assert_true(field_sum(INT64_MIN, -1) == -FIELD_NUMBER_MAX && field_ns(INT64_MAX) == FIELD_NUMBER_MAX);
    assert_true(field_ns(-5) == 0 && field_ns(5) == 5000000);
}

/* `J` goes to the command of the connection's session, and says so where that is not here. */
static void test_the_command_of_a_connection(void **state)
{
    struct screen *screen = *state;
    give_connections(screen);
    screen_event(screen, NET_EVENT("240", "99", "egress.open", "allow", "\"session\":\"s1\",",
                                   NET_DATA("one.example", "r-1-40", "r", "192.0.2.1")));
    screen_event(screen, NET_EVENT("241", "99", "egress.open", "allow", "\"session\":\"s77\",",
                                   NET_DATA("two.example", "r-1-41", "r", "192.0.2.1")));
    screen_keys(screen, "2 G J");
    assert_int_equal(screen->app->tab, VIEW_NET);
    assert_shown(screen, "its command is not remembered here");
    screen_keys(screen, "g J");
    assert_int_equal(screen->app->tab, VIEW_NET);
    assert_shown(screen, "did not say which session");
    screen_keys(screen, "G k J");
    assert_int_equal(screen->app->tab, VIEW_TIMELINE);
    const struct event *event =
        events_find(&screen->app->events, (int64_t)screen->app->lists[VIEW_TIMELINE].cursor, NULL);
    assert_non_null(event);
    assert_string_equal(event->subject, "npm ci");
    screen_keys(screen, "H"); /* of no view here */
    screen_keys(screen, "2 H J");
    assert_int_equal(screen->app->tab, VIEW_NET);
    assert_shown(screen, "one row a connection first");
}

/* What a rule would have decided stands in the list and in words. */
static void test_a_rule_says_what_it_would_have_decided(void **state)
{
    struct screen *screen = *state;
    screen_size(screen, 40, 159);
    screen_keys(screen, "P");
    give_rules(screen);
    assert_shown(screen, "WOULD");
    screen_keys(screen, "G Enter");
    assert_shown(screen, "decided 3 connections of the last 7 days");
    screen_keys(screen, "Escape g Enter");
    assert_shown(screen, "decided no connection of the last 7 days");
}

/* Another project becomes the one that is looked at while the question is open: it has no part in it. */
static void test_a_rule_is_removed_from_its_own_project(void **state)
{
    struct screen *screen = *state;
    screen_keys(screen, "P");
    give_rules(screen);
    screen_keys(screen, "G Delete");
    assert_shown(screen, "connections that only it allows are cut");
    app_choose_project(screen->app, screen->app->projects.list[1].number, &screen->effects);
    screen_keys(screen, "y");
    assert_int_equal(screen_asked(screen, "DELETE", "/v1/projects/api/rules"), 0);
    assert_shown(screen, "nothing was done");
    assert_int_not_equal(screen_asked(screen, "GET", "/v1/projects/api/rules"), 0);
}

static void test_a_rules_file_is_edited(void **state)
{
    struct screen *screen = *state;
    screen_keys(screen, "P");
    give_rules(screen);
    screen_keys(screen, "G e");
    assert_string_equal(screen_find(screen, EFFECT_EDIT)->text, "/home/you/.config/hutch/projects/shop.ini");
}

/* A word for a project that lets everything out, or has a budget. */
static void test_the_way_out_is_a_word(void **state)
{
    struct screen *screen = *state;
    struct project *shop = &screen->app->projects.list[0];
    assert_not_shown(screen, "OPEN");
    shop->egress = (free(shop->egress), xstrdup("open"));
    assert_shown(screen, "OPEN");
    shop->egress = (free(shop->egress), xstrdup("budget"));
    assert_shown(screen, "BUDGET");
    shop->budget_used = 12288;
    assert_shown(screen, "BUDGET 12K up");
    shop->budget_max = 1 << 20;
    assert_shown(screen, "BUDGET 12K of 1M up");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_row_opens_lives_and_ends),
        TEST(test_connections_end_with_their_machine),
        TEST(test_flows_are_asked_for_while_they_are_seen),
        TEST(test_the_rate_is_drawn),
        TEST(test_hosts_have_totals),
        TEST(test_a_refusal_says_why),
        TEST(test_old_rows_are_dropped),
        TEST(test_hostile_names_are_codes),
        TEST(test_a_rule_from_a_row),
        TEST(test_rules_are_removed_where_they_are_the_projects),
        TEST(test_a_rule_is_removed_from_its_own_project),
        TEST(test_numbers_end_somewhere),
        TEST(test_the_command_of_a_connection),
        TEST(test_a_rule_says_what_it_would_have_decided),
        TEST(test_a_rules_file_is_edited),
        TEST(test_the_way_out_is_a_word),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
