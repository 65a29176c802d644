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
    screen_keys(screen, "G Enter");
}

static void open_prompt(struct screen *screen)
{
    open_request(screen, "/v1/requests/41", PUSH_REQUEST);
}

static void open_marked(struct screen *screen)
{
    open_push(screen);
    screen_keys(screen, "/");
    screen_type(screen, "checkout.c");
    screen_keys(screen, "Enter Space Space");
}

static void open_land(struct screen *screen)
{
    open_push(screen);
    screen_keys(screen, "l");
}

static void open_reject(struct screen *screen)
{
    open_push(screen);
    screen_keys(screen, "r");
    screen_type(screen, "no .envrc, please");
}

static void open_diff(struct screen *screen)
{
    open_push(screen);
    screen_keys(screen, "/");
    screen_type(screen, "checkout.c");
    screen_keys(screen, "Enter Enter");
    app_draw(screen->app, screen->grid);
    give_lines(screen);
}

static void open_diff_marked(struct screen *screen)
{
    open_diff(screen);
    screen_keys(screen, "] Space ]");
}

static void open_diff_search(struct screen *screen)
{
    open_diff(screen);
    screen_keys(screen, "g v /");
    screen_type(screen, "cart");
    screen_keys(screen, "Enter");
}

static void open_diff_wrapped(struct screen *screen)
{
    open_diff(screen);
    screen_keys(screen, "w D");
}

static void open_commit(struct screen *screen)
{
    open_push(screen);
    screen_keys(screen, "/");
    screen_type(screen, "refuse");
    screen_keys(screen, "Enter Enter");
    app_draw(screen->app, screen->grid);
    uint64_t id = screen_asked(screen, "GET", "/v1/projects/shop/git/diff");
    screen_line(screen, id,
                "{\"name\":\"x\",\"ref\":\"\",\"tip\":\"" TIP "\",\"base\":\"" BASE
                "\",\"files\":7,\"cut\":false}");
    for (size_t i = 0; i < countof(push_files); i++)
        screen_line(screen, id, push_files[i]);
    screen_answer(screen, id, NULL);
    give_lines(screen);
}

static const struct {
    const char *name;
    void (*open)(struct screen *screen);
} shots[] = {
    {"git", open_git},
    {"git-detail", open_git_detail},
    {"push-prompt", open_prompt},
    {"push", open_push},
    {"push-marked", open_marked},
    {"push-land", open_land},
    {"push-reject", open_reject},
    {"diff", open_diff},
    {"diff-marked", open_diff_marked},
    {"diff-search", open_diff_search},
    {"diff-wrapped", open_diff_wrapped},
    {"diff-commit", open_commit},
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
