/* Golden screens of requests, connections and rules. GENERATE=1 writes tests/screen/golden. */
#include "tests/screen/requests.h"

#include "base/alloc.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static const struct {
    int rows, columns;
} sizes[] = {{24, 80}, {40, 120}, {60, 200}, {10, 40}};

static void open_list(struct screen *screen)
{
    static const char *const rows[] = {UNUSUAL, ROUTINE, CRITICAL, NULL};
    give_requests(screen, rows);
    screen_keys(screen, "a");
    give_requests(screen, rows);
}

static void open_routine(struct screen *screen)
{
    open_request(screen, "/v1/requests/33", ROUTINE);
}

static void open_batch_list(struct screen *screen)
{
    static const char *const rows[] = {UNUSUAL, BATCH_FIRST, BATCH_SECOND, BATCH_THIRD, NULL};
    give_requests(screen, rows);
    screen_keys(screen, "a");
    give_requests(screen, rows);
}

static void open_batch(struct screen *screen)
{
    open_batch_list(screen);
    screen_keys(screen, "j Enter");
    screen_answer(screen, screen_asked(screen, "GET", "/v1/requests/51"), BATCH_FIRST);
    app_draw(screen->app, screen->grid);
    screen_time(screen, 1000);
}

static void open_unusual(struct screen *screen)
{
    open_request(screen, "/v1/requests/31", UNUSUAL);
}

static void open_request_help(struct screen *screen)
{
    open_routine(screen);
    screen_keys(screen, "?");
}

static void open_critical(struct screen *screen)
{
    open_request(screen, "/v1/requests/40", CRITICAL);
}

static void open_critical_name(struct screen *screen)
{
    open_critical(screen);
    screen_keys(screen, "End");
    app_draw(screen->app, screen->grid);
    screen_keys(screen, "o");
    screen_type(screen, "db.c");
}

static void open_fields(struct screen *screen)
{
    open_routine(screen);
    screen_keys(screen, "v");
}

static void open_waiting(struct screen *screen)
{
    static const char *const rows[] = {UNUSUAL, ROUTINE, NULL};
    give_requests(screen, rows);
    screen->app->projects.list[0].egress = (free(screen->app->projects.list[0].egress), xstrdup("open"));
    screen->app->projects.list[0].state = (free(screen->app->projects.list[0].state), xstrdup("frozen"));
}

static void open_net(struct screen *screen)
{
    give_connections(screen);
    screen_keys(screen, "2");
    give_flows(screen);
}

static void open_hosts(struct screen *screen)
{
    open_net(screen);
    screen_keys(screen, "H");
}

static void open_rule(struct screen *screen)
{
    open_net(screen);
    screen_keys(screen, "R");
}

static void open_rules(struct screen *screen)
{
    give_connections(screen);
    screen_keys(screen, "P");
    give_rules(screen);
    screen_keys(screen, "G");
}

static void open_rule_detail(struct screen *screen)
{
    open_rules(screen);
    screen_keys(screen, "Enter");
}

static void open_rule_question(struct screen *screen)
{
    open_rules(screen);
    screen_keys(screen, "A");
    screen_type(screen, "docs.rs");
    screen_keys(screen, "Enter");
}

static const struct {
    const char *name;
    void (*open)(struct screen *screen);
    bool lines;
} shots[] = {
    {"requests", open_list, false},
    {"routine", open_routine, false},
    {"batch-list", open_batch_list, false},
    {"batch", open_batch, false},
    {"unusual", open_unusual, false},
    {"request-help", open_request_help, false},
    {"critical", open_critical, false},
    {"critical-name", open_critical_name, false},
    {"fields", open_fields, false},
    {"waiting", open_waiting, false},
    {"net", open_net, false},
    {"net-lines", open_net, true},
    {"hosts", open_hosts, false},
    {"net-rule", open_rule, false},
    {"rules", open_rules, false},
    {"rule-detail", open_rule_detail, false},
    {"rule-question", open_rule_question, false},
};

static void test_views(void **state)
{
    (void)state;
    for (size_t shot = 0; shot < countof(shots); shot++) {
        for (size_t size = 0; size < countof(sizes); size++) {
            struct screen screen;
            autofree char *name =
                xasprintf("%s.%dx%d", shots[shot].name, sizes[size].columns, sizes[size].rows);
            screen_open(&screen, sizes[size].rows, sizes[size].columns, NULL);
            screen.app->lines_work = shots[shot].lines;
            screen_fill(&screen);
            shots[shot].open(&screen);
            screen_golden(&screen, name);
            screen_close(&screen);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_views)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
