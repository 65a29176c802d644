/* terminal_pane.h: a terminal's pane under test: messages in, effects and a grid out. */
#ifndef HUTCH_TESTS_TERMINAL_PANE_H
#define HUTCH_TESTS_TERMINAL_PANE_H

#include "base/alloc.h"
#include "base/file.h"
#include "ui/view/terminal.h"

#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

struct pane {
    struct terminal *terminal;
    struct effects effects;
    struct grid *grid;
    struct terminal_facts facts;
    uint64_t ids;
    int64_t now_ns;
};

static inline void open_pane(struct pane *pane, int rows, int columns, const char *escape, bool alone)
{
    *pane = (struct pane){.grid = grid_create(rows, columns),
                          .facts = {.others = true, .snapshot = "@18"},
                          .now_ns = 1000000000000};
    const struct terminal_options options = {.project = "shop",
                                             .session = "s-1",
                                             .label = "shell",
                                             .rows = rows,
                                             .columns = columns,
                                             .escape = escape,
                                             .alone = alone,
                                             .lines = 60,
                                             .ids = &pane->ids};
    pane->terminal = terminal_create(&options);
    terminal_focus(pane->terminal, true, &pane->effects);
    assert_null(pane->effects.first);
    terminal_attach(pane->terminal, &pane->effects);
}

static inline void close_pane(struct pane *pane)
{
    terminal_detach(pane->terminal, &pane->effects);
    terminal_free(pane->terminal);
    effects_finish(&pane->effects);
    grid_free(pane->grid);
}

/* The next effect must be this one; its id. */
static inline uint64_t expect(struct pane *pane, enum effect_type type, const char *path)
{
    auto(effect) struct effect *effect = effects_take(&pane->effects);
    assert_non_null(effect);
    assert_int_equal(effect->type, type);
    assert_string_equal(effect->path ? effect->path : "", path ? path : "");
    return effect->id;
}

static inline void expect_nothing(struct pane *pane)
{
    assert_null(pane->effects.first);
}

static inline void expect_size(struct pane *pane, int rows, int columns)
{
    auto(effect) struct effect *effect = effects_take(&pane->effects);
    assert_non_null(effect);
    assert_string_equal(effect->path, "/v1/projects/shop/sessions/s-1/resize");
    assert_string_equal(effect->method, "POST");
    assert_int_equal(json_integer_value(json_object_get(effect->body, "rows")), rows);
    assert_int_equal(json_integer_value(json_object_get(effect->body, "columns")), columns);
}

static inline uint64_t expect_input(struct pane *pane, const char *bytes)
{
    auto(effect) struct effect *effect = effects_take(&pane->effects);
    assert_non_null(effect);
    assert_int_equal(effect->type, EFFECT_WRITE);
    uint64_t id = effect->id;
    autofree char *text = buf_take_string(&effect->bytes);
    assert_string_equal(text, bytes);
    return id;
}

static inline void send(struct pane *pane, struct message *message)
{
    message->now_ns = pane->now_ns;
    terminal_update(pane->terminal, message, &pane->effects);
}

static inline void answer(struct pane *pane, uint64_t id, const char *json)
{
    json_t *body = json_loads(json, 0, NULL);
    assert_non_null(body);
    send(pane, &(struct message){.type = MESSAGE_ANSWER, .id = id, .body = body});
    json_decref(body);
}

static inline void refuse(struct pane *pane, uint64_t id, enum error_code code, const char *words)
{
    struct error *err = NULL;
    error_set(&err, code, "%s", words);
    send(pane, &(struct message){.type = MESSAGE_ANSWER, .id = id, .error = err});
    error_free(err);
}

static inline void output(struct pane *pane, uint64_t id, uint64_t offset, const char *bytes)
{
    send(pane, &(struct message){.type = MESSAGE_BYTES,
                                 .id = id,
                                 .offset = offset,
                                 .bytes = (const uint8_t *)bytes,
                                 .len = strlen(bytes)});
}

static inline void key(struct pane *pane, const char *name)
{
    struct message message = {.type = MESSAGE_KEY};
    assert_int_equal(key_parse(name, &message.key, NULL), 0);
    send(pane, &message);
}

static inline void keys(struct pane *pane, const char *names)
{
    autofree char *copy = xstrdup(names);
    char *rest = copy, *name;
    while ((name = strsep(&rest, " ")))
        key(pane, name);
}

static inline void tick(struct pane *pane, int64_t ms)
{
    pane->now_ns += ms * 1000000;
    send(pane, &(struct message){.type = MESSAGE_TIME});
}

/* Attached and live; the id of the output. */
static inline uint64_t live(struct pane *pane, int rows, int columns)
{
    open_pane(pane, rows, columns, "^]", false);
    answer(pane, expect(pane, EFFECT_CALL, "/v1/projects/shop/sessions/s-1"),
           "{\"state\":\"running\",\"out_total\":0}");
    uint64_t id = expect(pane, EFFECT_BYTES, "/v1/projects/shop/sessions/s-1/stdout");
    expect_size(pane, rows - 1, columns);
    answer(pane, pane->ids, "{}");
    expect_nothing(pane);
    assert_int_equal(terminal_state(pane->terminal), TERMINAL_LIVE);
    return id;
}

static inline char *row_text(struct pane *pane, int row)
{
    grid_clear(pane->grid);
    terminal_draw(pane->terminal, area_all(pane->grid), &pane->facts, true);
    struct buf out;
    buf_init(&out, 0);
    grid_dump(pane->grid, false, &out);
    autofree char *text = buf_take_string(&out);
    char *rest = text, *line = NULL;
    for (int i = 0; i <= row; i++)
        line = strsep(&rest, "\n");
    return xstrdup(line ? line : "");
}

#define assert_row(pane, row, expected)                                                                      \
    do {                                                                                                     \
        char *shown_row = row_text((pane), (row));                                                           \
        assert_string_equal(shown_row, (expected));                                                          \
        free(shown_row);                                                                                     \
    } while (0)

static inline void golden(struct pane *pane, const char *name)
{
    const char *top = getenv("srcdir");
    autofree char *path = xasprintf("%s/tests/screen/golden/terminal-%s", top ? top : ".", name);
    autofree char *expected = NULL;
    struct buf out;
    size_t len;
    buf_init(&out, 0);
    grid_clear(pane->grid);
    terminal_draw(pane->terminal, area_all(pane->grid), &pane->facts, true);
    grid_dump(pane->grid, true, &out);
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

#endif
