/* emulator_world.h: an emulator of a test: what it would send to its session is gathered, what it shows is
 * text. */
#ifndef HUTCH_TESTS_EMULATOR_WORLD_H
#define HUTCH_TESTS_EMULATOR_WORLD_H

#include "ui/pane/emulator.h"

#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

struct world {
    struct emulator *emulator;
    struct grid *grid;
    struct buf input;
    int bells;
};

static inline void world_input(const uint8_t *bytes, size_t len, void *user)
{
    struct world *world = user;
    assert_int_equal(buf_append(&world->input, bytes, len, NULL), 0);
}

static inline void world_bell(void *user)
{
    ((struct world *)user)->bells++;
}

static inline void world_init(struct world *world, int rows, int columns)
{
    *world = (struct world){.grid = grid_create(rows, columns)};
    buf_init(&world->input, 0);
    const struct emulator_options options = {
        .rows = rows, .columns = columns, .input = world_input, .bell = world_bell};
    world->emulator = emulator_create(&options, world);
}

static inline void world_finish(struct world *world)
{
    emulator_free(world->emulator);
    grid_free(world->grid);
    buf_finish(&world->input);
}

static inline void feed(struct world *world, const char *bytes)
{
    emulator_feed(world->emulator, (const uint8_t *)bytes, strlen(bytes));
}

static inline void resize(struct world *world, int rows, int columns)
{
    emulator_resize(world->emulator, rows, columns);
    grid_resize(world->grid, rows, columns);
}

/* The text of what is shown, scrolled up by `back` lines; the caller's to free. */
static inline char *shown(struct world *world, int back, bool styles)
{
    grid_clear(world->grid);
    emulator_draw(world->emulator, area_all(world->grid), back, true);
    struct buf out;
    buf_init(&out, 0);
    grid_dump(world->grid, styles, &out);
    char *text = buf_take_string(&out);
    size_t len = strlen(text);
    while (!styles && len > 0 && text[len - 1] == '\n')
        text[--len] = 0;
    return text;
}

#define assert_shown(world, expected)                                                                        \
    do {                                                                                                     \
        char *shown_text = shown((world), 0, false);                                                         \
        assert_string_equal(shown_text, (expected));                                                         \
        free(shown_text);                                                                                    \
    } while (0)
#define assert_back(world, back, expected)                                                                   \
    do {                                                                                                     \
        char *shown_text = shown((world), (back), false);                                                    \
        assert_string_equal(shown_text, (expected));                                                         \
        free(shown_text);                                                                                    \
    } while (0)
/* What was sent to the session since the last look. */
#define assert_sent(world, expected)                                                                         \
    do {                                                                                                     \
        char *sent_text = buf_take_string(&(world)->input);                                                  \
        assert_string_equal(sent_text, (expected));                                                          \
        free(sent_text);                                                                                     \
    } while (0)

static inline struct cell cell_at(struct world *world, int row, int column)
{
    free(shown(world, 0, false));
    return *grid_at(world->grid, row, column);
}

#endif
