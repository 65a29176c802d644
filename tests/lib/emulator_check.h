/* emulator_check.h: what holds for everything that an emulator shows and says, whatever it was fed. */
#ifndef HUTCH_TESTS_EMULATOR_CHECK_H
#define HUTCH_TESTS_EMULATOR_CHECK_H

#include "base/alloc.h"
#include "ui/pane/emulator.h"

#include <stdlib.h>
#include <string.h>

/* No cell has what a terminal could take for more than a character; wide ones are whole. */
static inline void check_cells(struct grid *grid)
{
    for (int row = 0; row < grid->rows; row++) {
        for (int column = 0; column < grid->columns; column++) {
            const struct cell *cell = grid_at(grid, row, column);
            bool left = cell->width == 2, right = cell->width == 0;
            require(cell->width <= 2 && cell->style == STYLE_GUEST);
            require(!left || (column + 1 < grid->columns && cell[1].width == 0));
            require(!right || (column > 0 && cell[-1].width == 2 && cell->codes[0] == 0));
            for (int i = 0; i < CELL_CODES && cell->codes[i]; i++) {
                require(cell->codes[i] >= ' ' && cell_code_ok(cell->codes[i]));
                require(i == 0 || text_width(cell->codes[i]) == 0);
            }
            require(left || right || text_width(cell->codes[0]) <= 1);
            require((cell->attr & ~(ATTR_BLINK * 2 - 1)) == 0);
        }
    }
    require(!grid->cursor || (grid->cursor_row < grid->rows && grid->cursor_column < grid->columns));
}

static inline void check_shown(const struct emulator *emulator, struct grid *grid, int back)
{
    grid_clear(grid);
    emulator_draw(emulator, area_all(grid), back, true);
    check_cells(grid);
}

/* Whether bytes are answers that have only numbers in them: ESC [ (? or >) numbers and a letter. */
static inline bool only_answers(const uint8_t *bytes, size_t len)
{
    for (size_t i = 0; i < len;) {
        if (len - i < 3 || bytes[i] != 0x1b || bytes[i + 1] != '[')
            return false;
        i += 2;
        if (bytes[i] == '?' || bytes[i] == '>')
            i++;
        while (i < len && ((bytes[i] >= '0' && bytes[i] <= '9') || bytes[i] == ';' || bytes[i] == '$'))
            i++;
        if (i == len || !strchr("cnRtuy", bytes[i++]))
            return false;
    }
    return true;
}

#endif
