#include "tests/screen/screen.h"

#include "base/alloc.h"
#include "base/file.h"
#include "base/text.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>
#include <string.h>

#define NOW_NS (INT64_C(1795961100) * SECOND) /* 2026-11-29 14:05:00 UTC */

void screen_open(struct screen *screen, int rows, int columns, const char *settings)
{
    struct app_options options = {.rows = rows,
                                  .columns = columns,
                                  .home = "/home/you",
                                  .folder = "/home/you/src/api",
                                  .settings = settings};
    setenv("TZ", "UTC", 1);
    *screen = (struct screen){.now_ns = NOW_NS};
    screen->app = app_create(&options);
    screen->grid = grid_create(rows, columns);
}

void screen_open_session(struct screen *screen, int rows, int columns, const char *project,
                         const char *session)
{
    struct app_options options = {.rows = rows, .columns = columns, .project = project, .session = session};
    *screen = (struct screen){.now_ns = NOW_NS};
    screen->app = app_create(&options);
    screen->grid = grid_create(rows, columns);
}

void screen_open_demo(struct screen *screen, int rows, int columns, const char *settings)
{
    static const struct demo_options demo = {
        .project = "demo", .repository = "/home/you/.local/share/hutch/demo", .agent = "#!/bin/sh\n"};
    struct app_options options = {
        .rows = rows, .columns = columns, .folder = "/home/you", .settings = settings, .demo = &demo};
    setenv("TZ", "UTC", 1);
    *screen = (struct screen){.now_ns = NOW_NS};
    screen->app = app_create(&options);
    screen->grid = grid_create(rows, columns);
}

void screen_close(struct screen *screen)
{
    effects_finish(&screen->effects);
    app_free(screen->app);
    grid_free(screen->grid);
}

static void send(struct screen *screen, struct message *message)
{
    message->now_ns = screen->now_ns;
    app_update(screen->app, message, &screen->effects);
}

void screen_keys(struct screen *screen, const char *names)
{
    autofree char *copy = xstrdup(names);
    char *rest = NULL;
    for (char *name = strtok_r(copy, " ", &rest); name; name = strtok_r(NULL, " ", &rest)) {
        struct message message = {.type = MESSAGE_KEY};
        assert_int_equal(key_parse(name, &message.key, NULL), 0);
        send(screen, &message);
    }
}

void screen_type(struct screen *screen, const char *text)
{
    int32_t code;
    for (; *text; text += text_decode(text, strlen(text), &code)) {
        struct message message = {.type = MESSAGE_KEY};
        text_decode(text, strlen(text), &code);
        message.key = (struct key_event){.type = KEY_EVENT_CODE, .code = (uint32_t)code};
        send(screen, &message);
    }
}

void screen_size(struct screen *screen, int rows, int columns)
{
    struct message message = {.type = MESSAGE_SIZE, .rows = rows, .columns = columns};
    send(screen, &message);
}

void screen_time(struct screen *screen, int64_t ms)
{
    struct message message = {.type = MESSAGE_TIME};
    screen->now_ns += ms * 1000000;
    send(screen, &message);
}

void screen_up(struct screen *screen)
{
    json_t *version = json_pack("{s:s, s:i}", "version", "0.1", "protocol", 1);
    struct message message = {.type = MESSAGE_UP, .body = version};
    send(screen, &message);
    json_decref(version);
}

void screen_down(struct screen *screen)
{
    auto(error) struct error *err = NULL;
    error_set(&err, ERROR_NO_DAEMON, "hutchd is not there");
    struct message message = {.type = MESSAGE_DOWN, .error = err};
    send(screen, &message);
}

uint64_t screen_asked(struct screen *screen, const char *method, const char *path)
{
    uint64_t id = 0;
    for (struct effect *effect = screen->effects.first; effect; effect = effect->next)
        if (effect->path && !strcmp(effect->method, method) && !strncmp(effect->path, path, strlen(path)))
            id = effect->id;
    return id;
}

size_t screen_count(struct screen *screen, enum effect_type type)
{
    size_t count = 0;
    for (struct effect *effect = screen->effects.first; effect; effect = effect->next)
        count += effect->type == type;
    return count;
}

struct effect *screen_find(struct screen *screen, enum effect_type type)
{
    struct effect *found = NULL;
    for (struct effect *effect = screen->effects.first; effect; effect = effect->next)
        if (effect->type == type)
            found = effect;
    return found;
}

void screen_forget(struct screen *screen)
{
    effects_finish(&screen->effects);
}

static void answer(struct screen *screen, enum message_type type, uint64_t id, const char *json)
{
    json_error_t why;
    json_t *body = json ? json_loads(json, 0, &why) : NULL;
    struct message message = {.type = type, .id = id, .body = body};
    assert_true(!json || body);
    assert_int_not_equal(id, 0);
    send(screen, &message);
    json_decref(body);
}

void screen_line(struct screen *screen, uint64_t id, const char *json)
{
    answer(screen, MESSAGE_LINE, id, json);
}

void screen_answer(struct screen *screen, uint64_t id, const char *json)
{
    answer(screen, MESSAGE_ANSWER, id, json);
}

void screen_bytes(struct screen *screen, uint64_t id, uint64_t offset, const char *text)
{
    struct message message = {.type = MESSAGE_BYTES,
                              .id = id,
                              .bytes = (const uint8_t *)text,
                              .len = strlen(text),
                              .offset = offset};
    assert_int_not_equal(id, 0);
    send(screen, &message);
}

void screen_fail(struct screen *screen, uint64_t id, enum error_code code, const char *words)
{
    auto(error) struct error *err = NULL;
    error_set(&err, code, "%s", words);
    struct message message = {.type = MESSAGE_ANSWER, .id = id, .error = err};
    send(screen, &message);
}

#define PROJECT(id, name, state, disk, step, failure)                                                        \
    "{\"id\":\"" id "\",\"name\":\"" name "\",\"state\":\"" state "\",\"template\":\"debian-13\","           \
    "\"base\":\"5f1e\",\"kits\":[],\"agent\":null,\"waiting\":0,\"net_rate\":0,\"disk\":" disk ","           \
    "\"cpus\":2,\"memory\":2147483648,\"disk_size\":21474836480,\"folder\":\"/home/you/src/" name "\","      \
    "\"created_ns\":1795870000000000000,\"accel\":\"emulated\",\"doing\":" step ",\"failure\":" failure "}"
static const char *const projects[] = {
    PROJECT("p1", "shop", "run", "6549825126", "null", "null"),
    PROJECT("p2", "api", "starting", "2576980377", "\"booting\"", "null"),
    PROJECT("p3", "docs", "saved", "966367641", "null", "null"),
};
/* Events of `shop`, but one; times from 14:01:07 on. */
#define EVENT(seq, project, ts, more)                                                                        \
    "{\"seq\":" seq ",\"ts_ns\":17959608" ts "000000000,\"project\":\"" project "\"," more "}"
static const char *const events[] = {
    EVENT("101", "shop", "67", "\"kind\":\"lifecycle.create\",\"actor\":\"user\",\"subject\":\"debian-13\""),
    EVENT("102", "shop", "68",
          "\"kind\":\"git.clone\",\"actor\":\"user\",\"subject\":\"/home/you/src/shop#main\""),
    EVENT("103", "shop", "70", "\"kind\":\"lifecycle.start\",\"actor\":\"user\",\"subject\":\"shop\""),
    EVENT("104", "shop", "75",
          "\"kind\":\"exec.start\",\"actor\":\"user\",\"subject\":\"npm ci\",\"session\":\"s1\""),
    EVENT("105", "docs", "76", "\"kind\":\"lifecycle.saved\",\"actor\":\"user\",\"subject\":\"docs\""),
    EVENT("106", "shop", "78",
          "\"kind\":\"file.put\",\"actor\":\"user\",\"subject\":\"/home/agent/shop/.npmrc\","
          "\"session\":\"s1\""),
    EVENT("107", "shop", "79",
          "\"kind\":\"file.get\",\"actor\":\"user\",\"subject\":\"/home/agent/shop/log\","
          "\"session\":\"s1\""),
    EVENT("108", "shop", "91",
          "\"kind\":\"exec.end\",\"actor\":\"guest\",\"subject\":\"npm ci\",\"session\":\"s1\","
          "\"exit\":0,\"ms\":16000"),
    EVENT("109", "shop", "92", "\"kind\":\"exec.start\",\"actor\":\"user\",\"subject\":\"npm test\""),
    EVENT("110", "shop", "98",
          "\"kind\":\"exec.end\",\"actor\":\"guest\",\"subject\":\"npm test\",\"session\":\"s2\","
          "\"exit\":1,\"ms\":6100"),
    EVENT("111", "shop", "99", "\"kind\":\"exec.start\",\"actor\":\"user\",\"subject\":\"(login shell)\""),
};

void screen_event(struct screen *screen, const char *json)
{
    screen_line(screen, screen->app->events_call, json);
}

void screen_fill(struct screen *screen)
{
    screen_up(screen);
    uint64_t id = screen_asked(screen, "GET", "/v1/projects");
    for (size_t i = 0; i < countof(projects); i++)
        screen_line(screen, id, projects[i]);
    screen_answer(screen, id, NULL);
    screen_answer(screen, screen_asked(screen, "GET", "/v1/status"),
                  "{\"projects\":3,\"running\":1,\"waiting\":0,\"host\":{\"kvm\":false,\"cpus\":2,"
                  "\"defaults\":{\"cpus\":2,\"memory\":4294967296,\"disk\":68719476736},"
                  "\"disk_free\":65498251264}}");
    for (size_t i = 0; i < countof(events); i++)
        screen_event(screen, events[i]);
}

/* ---- what is shown ---- */

char *screen_text(struct screen *screen)
{
    struct buf out;
    buf_init(&out, 0);
    app_draw(screen->app, screen->grid);
    grid_dump(screen->grid, false, &out);
    return buf_take_string(&out);
}

char *screen_row(struct screen *screen, int row)
{
    autofree char *text = screen_text(screen);
    const char *line = text;
    while (row-- > 0 && line)
        line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL;
    return line ? xstrndup(line, strcspn(line, "\n")) : xstrdup("");
}

int screen_setup_empty(void **state)
{
    struct screen *screen = xnew(struct screen);
    screen_open(screen, 24, 80, NULL);
    *state = screen;
    return 0;
}

int screen_setup(void **state)
{
    screen_setup_empty(state);
    screen_fill(*state);
    return 0;
}

int screen_teardown(void **state)
{
    screen_close(*state);
    free(*state);
    return 0;
}

bool screen_shows(struct screen *screen, const char *words)
{
    autofree char *text = screen_text(screen);
    return strstr(text, words) != NULL;
}

void screen_assert(struct screen *screen, const char *words, bool wanted)
{
    autofree char *text = screen_text(screen);
    if ((strstr(text, words) != NULL) != wanted)
        fail_msg("\"%s\" is %s:\n%s", words, wanted ? "not shown" : "shown", text);
}

void screen_golden(struct screen *screen, const char *name)
{
    const char *top = getenv("srcdir");
    autofree char *path = xasprintf("%s/tests/screen/golden/%s", top ? top : ".", name);
    autofree char *expected = NULL;
    struct buf out;
    size_t len = 0;
    buf_init(&out, 0);
    app_draw(screen->app, screen->grid);
    grid_dump(screen->grid, true, &out);
    autofree char *shown = buf_take_string(&out);
    if (getenv("GENERATE")) {
        assert_int_equal(file_replace(path, shown, strlen(shown), 0644, NULL), 0);
        return;
    }
    if (file_read(path, 1 << 20, &expected, &len, NULL) < 0)
        fail_msg("there is no golden file \"%s\"; GENERATE=1 writes it", path);
    if (strcmp(shown, expected) != 0)
        fail_msg("%s is another screen:\n%s\ninstead of\n%s", name, shown, expected);
}
