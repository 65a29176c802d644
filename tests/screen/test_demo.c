/* The scene of `hutch demo`: each step at three sizes, what its key asks of hutchd, and what does not let it
 * go on. */
#include "tests/screen/screen.h"

#include "base/alloc.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#define SESSIONS "/v1/projects/demo/sessions"

static const struct {
    int rows, columns;
} sizes[] = {{24, 80}, {45, 160}, {10, 40}};

static int step_of(const struct screen *screen)
{
    int step, count;
    demo_step(screen->app, &step, &count);
    return step;
}

static const char *project(const char *state)
{
    static char json[400];
    snprintf(json, sizeof(json),
             "{\"id\":\"d1\",\"name\":\"demo\",\"state\":\"%s\",\"template\":\"debian-13\",\"base\":\"5f1e\","
             "\"kits\":[],\"agent\":null,\"waiting\":0,\"net_rate\":0,\"disk\":94371840,\"cpus\":2,"
             "\"memory\":2147483648,\"disk_size\":21474836480,\"folder\":null,"
             "\"created_ns\":1795960800000000000,\"accel\":\"kvm\",\"doing\":null,\"failure\":null}",
             state);
    return json;
}

static void open(struct screen *screen, int rows, int columns, const char *settings)
{
    screen_open_demo(screen, rows, columns, settings);
    screen_up(screen);
    screen_answer(screen, screen_asked(screen, "GET", "/v1/projects"), NULL);
    screen_answer(screen, screen_asked(screen, "GET", "/v1/status"),
                  "{\"projects\":0,\"running\":0,\"waiting\":0,\"host\":{\"kvm\":true,\"cpus\":2,"
                  "\"disk_free\":65498251264}}");
}

static void event(struct screen *screen, int seq, const char *more)
{
    char json[400];
    snprintf(json, sizeof(json), "{\"seq\":%d,\"ts_ns\":%lld,\"project\":\"demo\",%s}", seq,
             (long long)screen->now_ns, more);
    screen_event(screen, json);
}

/* The newest GET of exactly this path. */
static uint64_t asked_for(struct screen *screen, const char *path)
{
    uint64_t id = 0;
    for (struct effect *effect = screen->effects.first; effect; effect = effect->next)
        if (effect->path && !strcmp(effect->method, "GET") && !strcmp(effect->path, path))
            id = effect->id;
    return id;
}

static void list(struct screen *screen, const char *state, bool other)
{
    uint64_t id = asked_for(screen, "/v1/projects");
    screen_line(screen, id, project(state));
    if (other)
        screen_line(screen, id, "{\"id\":\"a\",\"name\":\"api\",\"state\":\"run\"}");
    screen_answer(screen, id, NULL);
}

/* ---- each step, as hutchd would answer ---- */

static void make(struct screen *screen)
{
    screen_keys(screen, "b");
    uint64_t id = screen_asked(screen, "POST", "/v1/projects");
    event(screen, 1, "\"kind\":\"lifecycle.create\",\"actor\":\"user\",\"subject\":\"debian-13\"");
    list(screen, "starting", false);
    screen_time(screen, 12000);
    screen_line(screen, id, "{\"phase\":\"boot\",\"text\":\"waiting for the guest\",\"done\":0,\"total\":0}");
}

static void made(struct screen *screen)
{
    screen_answer(screen, screen_asked(screen, "POST", "/v1/projects"), project("run"));
    list(screen, "run", false);
    event(screen, 2, "\"kind\":\"lifecycle.start\",\"actor\":\"user\",\"subject\":\"demo\"");
}

/* The agent's terminal is there, and shows something. */
static void attached(struct screen *screen, const char *text, int total)
{
    char record[80];
    snprintf(record, sizeof(record), "{\"id\":\"s9\",\"state\":\"running\",\"out_total\":%d}", total);
    screen_answer(screen, screen_asked(screen, "GET", SESSIONS "/s9"), record);
    screen_bytes(screen, screen_asked(screen, "GET", SESSIONS "/s9/stdout"), 0, text);
}

#define TASK                                                                                                 \
    "\033[1mdemo-agent\033[0m  a script that plays an agent\r\nyour task: \"make check\" fails\r\n\r\n"
#define QUESTION TASK "I look at what fails. \r\n\033[1mCommit it?\033[0m [y/n] "

static void start_agent(struct screen *screen)
{
    screen_keys(screen, "t");
    uint64_t list = screen_asked(screen, "GET", SESSIONS);
    screen_line(screen, list, "{\"id\":\"old\",\"label\":\"demo-agent\",\"state\":\"running\",\"pty\":true}");
    screen_line(screen, list, "{\"id\":\"mine\",\"label\":\"shell\",\"state\":\"running\",\"pty\":true}");
    screen_answer(screen, list, NULL);
}

static void started(struct screen *screen)
{
    screen_answer(screen, screen_asked(screen, "DELETE", SESSIONS "/old"), NULL);
    screen_answer(screen, screen_asked(screen, "PUT", "/v1/projects/demo/files"), NULL);
    event(screen, 3,
          "\"kind\":\"exec.start\",\"actor\":\"user\",\"subject\":\"demo-agent\",\"session\":\"s9\"");
    screen_answer(screen, screen_asked(screen, "POST", SESSIONS), "{\"id\":\"s9\",\"state\":\"running\"}");
    attached(screen, TASK, 0);
}

static void leave(struct screen *screen)
{
    screen_time(screen, 9000);
    screen_keys(screen, "^] d");
}

static void look(struct screen *screen)
{
    screen_time(screen, 5000);
    screen_keys(screen, "1");
}

static void suspend(struct screen *screen)
{
    screen_keys(screen, "Z");
}

static void suspended(struct screen *screen)
{
    screen_keys(screen, "y");
    screen_answer(screen, screen_asked(screen, "POST", "/v1/projects/demo/suspend"), project("saved"));
}

static void wake(struct screen *screen)
{
    screen_keys(screen, "b");
    screen_answer(screen, screen_asked(screen, "POST", "/v1/projects/demo/start"), project("run"));
}

static void back(struct screen *screen)
{
    screen_keys(screen, "t");
    attached(screen, TASK, 90);
}

static void asked(struct screen *screen)
{
    screen_bytes(screen, screen_asked(screen, "GET", SESSIONS "/s9/stdout"), strlen(TASK),
                 QUESTION + strlen(TASK));
}

static void answer(struct screen *screen)
{
    screen_keys(screen, "y");
    screen_answer(screen, screen_asked(screen, "GET", SESSIONS "/s9/stdout"), NULL);
    screen_answer(screen, screen_asked(screen, "GET", SESSIONS "/s9/wait"),
                  "{\"id\":\"s9\",\"state\":\"exited\",\"exit_status\":0}");
    event(screen, 4,
          "\"kind\":\"exec.end\",\"actor\":\"guest\",\"subject\":\"demo-agent\",\"session\":\"s9\","
          "\"exit\":0,\"ms\":41000");
}

static void closed(struct screen *screen)
{
    screen_time(screen, 5000); /* the caption was read */
    screen_keys(screen, "Enter");
}

static const struct {
    const char *name;
    int step; /* that it is at afterwards */
    void (*play)(struct screen *screen);
} scenes[] = {
    {"make", 1, make},   {"made", 2, made},     {"agent", 2, start_agent}, {"started", 3, started},
    {"left", 4, leave},  {"timeline", 5, look}, {"suspend", 5, suspend},   {"saved", 6, suspended},
    {"awake", 7, wake},  {"back", 7, back},     {"question", 8, asked},    {"ended", 9, answer},
    {"end", 10, closed},
};

/* Plays up to a scene, itself included. */
static void play(struct screen *screen, const char *name)
{
    for (size_t i = 0; i < countof(scenes); i++) {
        scenes[i].play(screen);
        assert_int_equal(step_of(screen), scenes[i].step);
        if (!strcmp(scenes[i].name, name))
            return;
    }
    fail_msg("there is no scene \"%s\"", name);
}

static void test_scene(void **state)
{
    struct screen screen;
    (void)state;
    for (size_t size = 0; size < countof(sizes); size++) {
        open(&screen, sizes[size].rows, sizes[size].columns, NULL);
        autofree char *first = xasprintf("demo-begin.%dx%d", sizes[size].columns, sizes[size].rows);
        screen_golden(&screen, first);
        for (size_t i = 0; i < countof(scenes); i++) {
            autofree char *name =
                xasprintf("demo-%s.%dx%d", scenes[i].name, sizes[size].columns, sizes[size].rows);
            scenes[i].play(&screen);
            assert_int_equal(step_of(&screen), scenes[i].step);
            screen_golden(&screen, name);
        }
        screen_close(&screen);
    }
}

/* What hutchd is asked for. */
static void test_what_it_asks_for(void **state)
{
    struct screen screen;
    (void)state;
    open(&screen, 24, 80, NULL);
    play(&screen, "agent");
    assert_int_equal(screen_asked(&screen, "DELETE", SESSIONS "/mine"), 0);
    assert_int_equal(screen_asked(&screen, "PUT", "/v1/projects/demo/files"),
                     0); /* not while the old one runs */
    screen_answer(&screen, screen_asked(&screen, "DELETE", SESSIONS "/old"), NULL);
    const struct effect *put = NULL;
    for (const struct effect *effect = screen.effects.first; effect; effect = effect->next)
        if (effect->method && !strcmp(effect->method, "PUT"))
            put = effect;
    assert_non_null(put);
    assert_string_equal(put->path,
                        "/v1/projects/demo/files?path=%2Fusr%2Flocal%2Fbin%2Fdemo-agent&mode=0755&user=root");
    assert_int_equal(put->bytes.len, strlen("#!/bin/sh\n"));
    assert_memory_equal(buf_data(&put->bytes), "#!/bin/sh\n", put->bytes.len);
    screen_close(&screen);
}

/* A key without its condition, and a condition without the key. */
static void test_both_are_wanted(void **state)
{
    struct screen screen;
    (void)state;
    open(&screen, 24, 80, NULL);
    screen_keys(&screen, "j k x q t 1");
    assert_int_equal(step_of(&screen), 1);
    play(&screen, "made");
    screen_keys(&screen, "1 k");
    assert_int_equal(step_of(&screen), 2);
    start_agent(&screen);
    started(&screen);
    leave(&screen);
    look(&screen);
    suspend(&screen);
    assert_true(screen_shows(&screen, "press y"));
    screen_keys(&screen, "n");
    assert_int_equal(step_of(&screen), 5);
    assert_true(screen_shows(&screen, "press Z"));
    screen_close(&screen);
}

/* A key that was meant for the step before does not let the next one go by unseen. */
static void test_a_step_can_be_read(void **state)
{
    struct screen screen;
    (void)state;
    open(&screen, 24, 80, NULL);
    play(&screen, "ended");
    screen_keys(&screen, "Enter");
    assert_int_equal(step_of(&screen), 9);
    assert_true(screen_shows(&screen, "The agent has ended"));
    screen_time(&screen, 4100);
    assert_int_equal(step_of(&screen), 10);
    assert_true(screen_shows(&screen, "press Q  leave hutch"));
    screen_close(&screen);
}

/* A machine or an agent that went away: the scene goes back to where it is made. */
static void test_goes_back(void **state)
{
    struct screen screen;
    (void)state;
    open(&screen, 24, 80, NULL);
    play(&screen, "timeline");
    event(&screen, 9, "\"kind\":\"lifecycle.stop\",\"actor\":\"user\",\"subject\":\"demo\"");
    screen_answer(&screen, asked_for(&screen, "/v1/projects/demo"), project("off"));
    assert_int_equal(step_of(&screen), 1);
    screen_close(&screen);

    open(&screen, 24, 80, NULL);
    play(&screen, "started");
    screen_answer(&screen, screen_asked(&screen, "GET", SESSIONS "/s9/stdout"), NULL);
    screen_answer(&screen, screen_asked(&screen, "GET", SESSIONS "/s9/wait"),
                  "{\"id\":\"s9\",\"state\":\"exited\",\"exit_status\":130}");
    assert_int_equal(step_of(&screen), 2);
    assert_true(screen_shows(&screen, "press t"));
    screen_close(&screen);

    open(&screen, 24, 80, NULL);
    make(&screen);
    screen_fail(&screen, screen_asked(&screen, "POST", "/v1/projects"), ERROR_HYPERVISOR, "libvirt is away");
    list(&screen, "failed", false);
    assert_int_equal(step_of(&screen), 1);
    assert_true(screen_shows(&screen, "libvirt is away"));
    assert_true(screen_shows(&screen, "press b"));
    screen_close(&screen);
}

/* Esc leaves the scene, the screen stays and is whole again; below something that lies on top it closes that.
 */
static void test_leave(void **state)
{
    struct screen screen;
    (void)state;
    open(&screen, 24, 80, NULL);
    screen_keys(&screen, "? Escape");
    assert_true(screen.app->demo.on);
    screen_keys(&screen, "Escape");
    assert_false(screen.app->demo.on);
    assert_int_equal(screen.app->rows, 24);
    assert_int_equal(screen_count(&screen, EFFECT_QUIT), 0);
    screen_golden(&screen, "demo-over.80x24");
    screen_close(&screen);

    open(&screen, 24, 80, NULL);
    play(&screen, "started");
    screen_keys(&screen, "q"); /* the agent's */
    assert_true(screen.app->demo.on);
    screen_keys(&screen, "Escape");
    assert_false(screen.app->demo.on);
    assert_non_null(screen.app->terminal);
    screen_close(&screen);
}

/* The keys are named as the person has bound them. */
static void test_bindings(void **state)
{
    struct screen screen;
    (void)state;
    open(&screen, 24, 80,
         "[screen]\nescape = ^\\\n[keys]\nstart = F2\nsuspend = F7\ncancel = F9\n[keys confirm]\nyes = F8\n");
    assert_true(screen_shows(&screen, "press F2"));
    assert_true(screen_shows(&screen, "F9 leave the demo"));
    screen_keys(&screen, "b");
    assert_int_equal(screen_asked(&screen, "POST", "/v1/projects"), 0);
    screen_keys(&screen, "F2");
    assert_int_not_equal(screen_asked(&screen, "POST", "/v1/projects"), 0);
    made(&screen);
    start_agent(&screen);
    started(&screen);
    assert_true(screen_shows(&screen, "press ^\\ d"));
    screen_close(&screen);
}

/* An act meant for another project is that project's. */
static void test_cursor_elsewhere(void **state)
{
    struct screen screen;
    (void)state;
    open(&screen, 24, 80, NULL);
    play(&screen, "made");
    screen_forget(&screen);
    screen_event(&screen, "{\"seq\":20,\"ts_ns\":1795999999000000000,\"project\":\"api\",\"kind\":"
                          "\"lifecycle.create\",\"subject\":\"debian-13\"}");
    list(&screen, "run", true);
    screen_keys(&screen, "j");
    assert_string_equal(app_project(screen.app)->name, "api");
    assert_true(screen_shows(&screen, "put the cursor on it"));
    screen_keys(&screen, "t");
    assert_int_equal(screen_asked(&screen, "GET", SESSIONS), 0);
    assert_int_not_equal(screen_asked(&screen, "GET", "/v1/projects/api/sessions"), 0);
    assert_int_equal(step_of(&screen), 2);
    screen_close(&screen);
}

/* Another project was there before and has the cursor: the scene's gets it when it is made. */
static void test_cursor_goes_along(void **state)
{
    static const char api[] = "{\"id\":\"a\",\"name\":\"api\",\"state\":\"run\"}";
    struct screen screen;
    (void)state;
    screen_open_demo(&screen, 24, 80, NULL);
    screen_up(&screen);
    uint64_t id = screen_asked(&screen, "GET", "/v1/projects");
    screen_line(&screen, id, api);
    screen_answer(&screen, id, NULL);
    assert_string_equal(app_project(screen.app)->name, "api");
    screen_keys(&screen, "b");
    id = asked_for(&screen, "/v1/projects");
    screen_line(&screen, id, api);
    screen_line(&screen, id, project("starting"));
    screen_answer(&screen, id, NULL);
    screen_answer(&screen, screen_asked(&screen, "POST", "/v1/projects"), project("run"));
    list(&screen, "run", true);
    assert_int_equal(step_of(&screen), 2);
    assert_string_equal(app_project(screen.app)->name, "demo");
    screen_close(&screen);
}

/* Captions are short, and those that name acts name some with a key. */
static void test_captions(void **state)
{
    static const char *const captions[] = {
#define X(id, need, key, deed, until, does, caption, meanwhile) caption, meanwhile,
#include "ui/demo.def"
#undef X
    };
    (void)state;
    for (size_t i = 0; i < countof(captions); i++) {
        if (!captions[i])
            continue;
        size_t len = strlen(captions[i]), first = list_break(captions[i], len, 80);
        if (len > first && first + list_break(captions[i] + first, len - first, 80) < len)
            fail_msg("too long: %s", captions[i]);
        for (const char *at = strchr(captions[i], '{'); at; at = strchr(at + 1, '{')) {
            autofree char *name = xstrndup(at + 1, strcspn(at + 1, "}"));
            assert_int_not_equal(action_find(name), ACTION_NONE);
        }
    }
}

/* Whatever the size: words and keys are there, or the screen is too low for any. */
static void test_sizes(void **state)
{
    struct screen screen;
    (void)state;
    open(&screen, 24, 80, NULL);
    for (int rows = 1; rows < 30; rows++) {
        for (int columns = 1; columns < 130; columns += 7) {
            screen_size(&screen, rows, columns);
            autofree char *text = screen_text(&screen);
            assert_int_equal(screen.grid->rows, rows);
            assert_true(screen.app->rows >= 1);
            if (rows >= 10 && columns >= 40)
                assert_non_null(strstr(text, "press b"));
        }
    }
    screen_close(&screen);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scene),
        cmocka_unit_test(test_what_it_asks_for),
        cmocka_unit_test(test_both_are_wanted),
        cmocka_unit_test(test_a_step_can_be_read),
        cmocka_unit_test(test_goes_back),
        cmocka_unit_test(test_leave),
        cmocka_unit_test(test_bindings),
        cmocka_unit_test(test_cursor_elsewhere),
        cmocka_unit_test(test_cursor_goes_along),
        cmocka_unit_test(test_captions),
        cmocka_unit_test(test_sizes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
