/* Golden screens: each view at four sizes, as text and styles. GENERATE=1 writes tests/screen/golden. */
#include "tests/screen/screen.h"

#include "base/alloc.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static const struct {
    int rows, columns;
} sizes[] = {{24, 80}, {40, 120}, {60, 200}, {10, 40}};

/* What is done before the screen is looked at. `text` is typed after `keys`, `then` pressed after it. */
static const struct {
    const char *name, *keys, *text, *then;
    bool lines;
} shots[] = {
    {"projects", "", "", "", false},
    {"timeline", "Enter k", "", "", false},
    {"timeline-open", "Enter g j j j Enter", "", "", false},
    {"filter", "Enter &", "npm", "", false},
    {"search", "Enter /", "npm", "Enter", false},
    {"detail", "Enter k Enter", "", "", false},
    {"help", "?", "", "", false},
    {"help-search", "? /", "pause", "", false},
    {"palette", ":", "su", "", false},
    {"actions", "x", "", "", false},
    {"moderate", "K", "", "", false},
    {"severe", "Delete", "sh", "", false},
    {"marks", "m m", "", "", false},
    {"lines", "Enter", "", "", true},
};

static void take(struct screen *screen, size_t shot, size_t size)
{
    autofree char *name = xasprintf("%s.%dx%d", shots[shot].name, sizes[size].columns, sizes[size].rows);
    screen_open(screen, sizes[size].rows, sizes[size].columns, NULL);
    screen->app->lines_work = shots[shot].lines;
    screen_fill(screen);
    screen_keys(screen, shots[shot].keys);
    screen_type(screen, shots[shot].text);
    screen_keys(screen, shots[shot].then);
    screen_golden(screen, name);
    screen_close(screen);
}

static void test_views(void **state)
{
    struct screen screen;
    (void)state;
    for (size_t shot = 0; shot < countof(shots); shot++)
        for (size_t size = 0; size < countof(sizes); size++)
            take(&screen, shot, size);
}

static void test_before_hutchd_answers(void **state)
{
    struct screen screen;
    (void)state;
    screen_open(&screen, 24, 80, NULL);
    screen_golden(&screen, "asking.80x24");
    screen_down(&screen);
    screen_golden(&screen, "away.80x24");
    screen_up(&screen);
    screen_answer(&screen, screen_asked(&screen, "GET", "/v1/projects"), NULL);
    screen_golden(&screen, "none.80x24");
    screen_close(&screen);
}

static void test_away_later(void **state)
{
    struct screen screen;
    (void)state;
    screen_open(&screen, 24, 80, NULL);
    screen_fill(&screen);
    screen_keys(&screen, "Enter k");
    screen_down(&screen);
    screen_golden(&screen, "away-later.80x24");
    screen_close(&screen);
}

static void test_log_of_acts(void **state)
{
    struct screen screen;
    (void)state;
    screen_open(&screen, 24, 80, NULL);
    screen_fill(&screen);
    screen_keys(&screen, "z");
    screen_time(&screen, 1500);
    screen_answer(&screen, screen_asked(&screen, "POST", "/v1/projects/shop/pause"),
                  "{\"id\":\"p1\",\"name\":\"shop\",\"state\":\"paused\"}");
    screen_keys(&screen, "h y");
    screen_time(&screen, 500);
    screen_fail(
        &screen, screen_asked(&screen, "POST", "/v1/projects/shop/stop"), ERROR_HYPERVISOR,
        "libvirt refused: the domain \"hutch-shop-p1\" is in the middle of something that has to end first");
    screen_golden(&screen, "failed.80x24");
    screen_keys(&screen, "L");
    screen_golden(&screen, "log.80x24");
    screen_keys(&screen, "Enter");
    screen_golden(&screen, "log-detail.80x24");
    screen_close(&screen);
}

/* Wide, combining and hostile text: cells of others stay as they are. */
static void test_text_of_others(void **state)
{
    struct screen screen;
    (void)state;
    for (size_t size = 0; size < countof(sizes); size++) {
        autofree char *name = xasprintf("text.%dx%d", sizes[size].columns, sizes[size].rows);
        screen_open(&screen, sizes[size].rows, sizes[size].columns, NULL);
        screen_up(&screen);
        uint64_t id = screen_asked(&screen, "GET", "/v1/projects");
        screen_line(
            &screen, id,
            "{\"id\":\"w\",\"name\":\"\\u6f22\\u5b57\\u30d7\\u30ed\\u30b8\\u30a7\\u30af\\u30c8\","
            "\"state\":\"run\",\"agent\":\"\\u202eevil\",\"failure\":\"a\\u0301\\u0301\\u0301\\u0301 "
            "\\u001b[2J\\u200b\\u4e2d\\u6587\\u4e2d\\u6587\\u4e2d\\u6587\\u4e2d\\u6587\\u4e2d\\u6587\"}");
        screen_answer(&screen, id, NULL);
        screen_event(&screen,
                     "{\"seq\":1,\"ts_ns\":1795960867000000000,"
                     "\"project\":\"\\u6f22\\u5b57\\u30d7\\u30ed\\u30b8\\u30a7\\u30af\\u30c8\","
                     "\"kind\":\"exec.start\",\"subject\":\"echo \\u0627\\u0644\\u0639 \\u6f22\\u5b57 "
                     "\\u0007\\u001b]0;x\\u0007 \\u2028 e\\u0301\"}");
        screen_golden(&screen, name);
        screen_close(&screen);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_views),          cmocka_unit_test(test_before_hutchd_answers),
        cmocka_unit_test(test_away_later),     cmocka_unit_test(test_log_of_acts),
        cmocka_unit_test(test_text_of_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
