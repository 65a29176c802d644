/* Fuzz target of the emulator: the first bytes are sizes and cuts, the rest is a session's output; after each
 * piece what is shown and said is checked, and the size may change. */
#include "tests/lib/emulator_check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void take_answer(const uint8_t *bytes, size_t len, void *user)
{
    require(only_answers(bytes, len));
}

static void press_keys(struct emulator *emulator, uint8_t seed)
{
    const struct key_event events[] = {
        {.type = KEY_EVENT_MOUSE, .act = seed % 5, .button = seed % 3, .row = seed % 7, .column = seed % 9},
        {.type = KEY_EVENT_FOCUS, .on = seed & 1},
    };
    for (size_t i = 0; i < countof(events); i++)
        emulator_key(emulator, &events[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 4 || size > 65536)
        return 0;
    const uint8_t *setup = data;
    struct emulator_options options = {
        .rows = 1 + setup[0] % 40, .columns = 1 + setup[1] % 100, .lines = 50, .input = take_answer};
    auto(emulator) struct emulator *emulator = emulator_create(&options, NULL);
    auto(grid) struct grid *grid = grid_create(options.rows, options.columns);
    size_t step = 8 + setup[2];
    unsigned seed = setup[3];
    for (size_t i = 4; i < size; i += step) {
        emulator_feed(emulator, data + i, size - i < step ? size - i : step);
        if (seed % 3 == 0) {
            int rows = 1 + (int)(seed >> 3) % 45, columns = 1 + (int)(seed >> 7) % 110;
            emulator_resize(emulator, rows, columns);
            grid_resize(grid, rows, columns);
        }
        if (seed % 4 == 0)
            check_shown(emulator, grid, (int)(seed >> 4) % 60);
        seed = seed * 1103515245 + 12345;
        seed = (seed >> 16) ^ (seed << 16);
    }
    check_shown(emulator, grid, 0);
    check_shown(emulator, grid, emulator_lines(emulator));
    emulator_search(emulator, "a", 0, true);
    for (int row = 0; row < grid->rows; row++) {
        free(emulator_text_at(emulator, 0, row, row % grid->columns, true));
        free(emulator_text_at(emulator, emulator_lines(emulator), row, 0, false));
    }
    /* Keys are not answers; they are only pressed. */
    options.input = NULL;
    auto(emulator) struct emulator *other = emulator_create(&options, NULL);
    emulator_feed(other, data + 4, size - 4);
    press_keys(other, setup[3]);
    emulator_reset(other);
    require(emulator_lines(other) == 0);
    return 0;
}
