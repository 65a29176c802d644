/* Golden screens of the tabs and views beside the timeline. GENERATE=1 writes tests/screen/golden. */
#include "tests/screen/views.h"

#include "base/alloc.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>
#include <string.h>

static const struct {
    int rows, columns;
} sizes[] = {{24, 80}, {40, 120}, {60, 200}, {10, 40}};

static void open_exec(struct screen *screen)
{
    screen_keys(screen, "3");
    give_sessions(screen);
}

static void open_exec_kill(struct screen *screen)
{
    open_exec(screen);
    screen_keys(screen, "G K");
}

static void open_exec_off(struct screen *screen)
{
    screen_keys(screen, "j j 3");
}

static void open_output(struct screen *screen)
{
    open_exec(screen);
    screen_keys(screen, "j Enter");
    screen_bytes(screen, screen_asked(screen, "GET", "/v1/projects/shop/sessions/s2/stdout"), 4096,
                 "\x1b[1m> shop@1.0.0 test\x1b[0m\r\n\r\n  checkout\r\n"
                 "    \x1b[32mok\x1b[0m  adds a tax          12 ms\r\n"
                 "    \x1b[31mnot ok\x1b[0m  refuses an empty cart\r\n\r\n10%\r50%\r1 of 2 failed\r\n");
    screen_bytes(screen, screen_asked(screen, "GET", "/v1/projects/shop/sessions/s2/stderr"), 0,
                 "npm error code 1\n");
}

static void open_info(struct screen *screen)
{
    screen_keys(screen, "4");
    screen_answer(screen, screen_asked(screen, "GET", "/v1/projects/shop"), FULL_PROJECT);
}

static void open_console(struct screen *screen)
{
    screen_keys(screen, "6");
    screen_bytes(screen, screen_asked(screen, "GET", "/v1/projects/shop/console?follow=1"), 0,
                 "[    0.000000] Linux version 6.12.41-amd64 (debian-kernel@lists.debian.org)\r\n"
                 "[    0.004211] Command line: root=/dev/vda console=ttyS0\r\n"
                 "[    1.931020] systemd[1]: Detected virtualization qemu.\r\n"
                 "[\x1b[0;32m  OK  \x1b[0m] Reached target multi-user.target.\r\n\r\nshop login: ");
}

static void open_form(struct screen *screen)
{
    screen_keys(screen, "c");
    give_templates(screen);
}

static void open_form_error(struct screen *screen)
{
    open_form(screen);
    screen_type(screen, "shop");
    screen_keys(screen, "Tab Tab Tab");
    screen_type(screen, "2 gigs");
    screen_keys(screen, "Up Up Up ^u");
    screen_type(screen, "web");
    screen_keys(screen, "S-Tab Enter");
}

static void open_form_button(struct screen *screen)
{
    open_form(screen);
    screen_type(screen, "web");
    screen_keys(screen, "Tab Left Tab Tab Tab Tab Tab");
    screen_type(screen, "https://git.example/web.git#next");
    screen_keys(screen, "Tab Tab");
}

static void open_form_help(struct screen *screen)
{
    open_form(screen);
    screen_keys(screen, "F1");
}

static void open_form_choice(struct screen *screen)
{
    open_form(screen);
    screen_keys(screen, "Tab");
}

static uint64_t begin_progress(struct screen *screen)
{
    open_form_button(screen);
    screen_keys(screen, "Enter");
    uint64_t id = screen_asked(screen, "POST", "/v1/projects");
    screen_line(screen, id,
                "{\"phase\":\"base\",\"text\":\"the base of alpine is there\",\"done\":0,\"total\":0}");
    screen_time(screen, 2000);
    screen_line(screen, id, "{\"phase\":\"start\",\"text\":\"starting the machine\",\"done\":0,\"total\":0}");
    screen_time(screen, 9000);
    screen_line(
        screen, id,
        "{\"phase\":\"repos\",\"text\":\"web\",\"done\":3250585,\"total\":13002342,\"unit\":\"bytes\"}");
    return id;
}

static void open_progress(struct screen *screen)
{
    begin_progress(screen);
    screen_time(screen, 3000);
}

static void open_progress_failed(struct screen *screen)
{
    uint64_t id = begin_progress(screen);
    screen_time(screen, 3000);
    screen_fail(screen, id, ERROR_NETWORK,
                "the repository \"https://git.example/web.git\" cannot be fetched: the name git.example is "
                "not known");
    screen_keys(screen, "k");
}

static void open_templates(struct screen *screen)
{
    screen_keys(screen, "T");
    give_templates(screen);
}

static void open_template_detail(struct screen *screen)
{
    open_templates(screen);
    screen_keys(screen, "j Enter");
}

static void open_doctor(struct screen *screen)
{
    screen_keys(screen, "V");
    give_doctor(screen);
}

static void begin_removal(struct screen *screen)
{
    screen_keys(screen, "Delete");
    screen_type(screen, "shop");
    screen_keys(screen, "Enter");
    screen_fail(screen, screen_asked(screen, "DELETE", "/v1/projects/shop"), ERROR_WOULD_LOSE,
                "\"shop\" holds work that exists nowhere else, in \"/home/agent/shop\"");
}

static void open_loss_question(struct screen *screen)
{
    begin_removal(screen);
    screen_keys(screen, "X");
}

static void open_row_progress(struct screen *screen)
{
    screen_keys(screen, "j j b");
    screen_line(screen, screen_asked(screen, "POST", "/v1/projects/docs/start"),
                "{\"phase\":\"memory\",\"text\":\"reading the memory image\",\"done\":1073741824,"
                "\"total\":2147483648,\"unit\":\"bytes\"}");
}

static const struct {
    const char *name;
    void (*open)(struct screen *screen);
} shots[] = {
    {"exec", open_exec},
    {"exec-kill", open_exec_kill},
    {"exec-off", open_exec_off},
    {"output", open_output},
    {"info", open_info},
    {"console", open_console},
    {"form", open_form},
    {"form-error", open_form_error},
    {"form-button", open_form_button},
    {"form-help", open_form_help},
    {"form-choice", open_form_choice},
    {"progress", open_progress},
    {"progress-failed", open_progress_failed},
    {"templates", open_templates},
    {"template-detail", open_template_detail},
    {"doctor", open_doctor},
    {"loss", begin_removal},
    {"loss-question", open_loss_question},
    {"row-progress", open_row_progress},
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

/* A folder without a project opens with what to do. */
static void test_a_new_folder(void **state)
{
    (void)state;
    for (size_t size = 0; size < countof(sizes); size++) {
        struct screen screen;
        autofree char *name = xasprintf("new-folder.%dx%d", sizes[size].columns, sizes[size].rows);
        screen_open(&screen, sizes[size].rows, sizes[size].columns, NULL);
        screen.app->repository = xstrdup("/home/you/src/api");
        screen_up(&screen);
        screen_answer(&screen, screen_asked(&screen, "GET", "/v1/projects"), NULL);
        screen_fail(&screen, screen_asked(&screen, "GET", "/v1/find"), ERROR_NOT_FOUND, "no project");
        screen_fail(&screen, screen_asked(&screen, "GET", "/v1/find?rep"), ERROR_NOT_FOUND, "no project");
        screen_golden(&screen, name);
        screen_close(&screen);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_views), cmocka_unit_test(test_a_new_folder)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
