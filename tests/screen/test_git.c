/* Golden screens of what came out of a machine. GENERATE=1 writes tests/screen/golden. */
#include "tests/screen/git.h"

static const struct {
    int rows, columns;
} sizes[] = {{24, 80}, {40, 120}, {60, 200}, {10, 40}};

static void open_git(struct screen *screen)
{
    screen_keys(screen, "5");
    give_git(screen);
}

static void open_git_detail(struct screen *screen)
{
    open_git(screen);
    screen_keys(screen, "/");
    screen_type(screen, "rejected");
    screen_keys(screen, "Enter Enter");
}

static void open_prompt(struct screen *screen)
{
    open_request(screen, "/v1/requests/41", PUSH_REQUEST);
}

static const struct {
    const char *name;
    void (*open)(struct screen *screen);
} shots[] = {
    {"git", open_git},
    {"git-detail", open_git_detail},
    {"push-prompt", open_prompt},
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
