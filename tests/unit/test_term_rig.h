/* test_term_rig.h: what the tests of the terminal layer share: a terminal in libvterm, and that what it shows
 * is what a grid has. */
#ifndef HUTCH_TEST_TERM_RIG_H
#define HUTCH_TEST_TERM_RIG_H

#include "test_base_scratch.h"

#include "../lib/outer.h"
#include "ui/term/palette.h"
#include "ui/term/term.h"
#include "ui/term/theme.h"

/* A terminal of a name, without what this test was started in. */
static inline void set_terminal(const char *type, const char *color)
{
    static const char *const others[] = {"NO_COLOR", "COLORTERM", "TMUX", "STY", "TERMINFO_DIRS"};
    for (size_t i = 0; i < countof(others); i++)
        unsetenv(others[i]);
    setenv("LC_ALL", "C.UTF-8", 1);
    setenv("TERM", type, 1);
    if (color)
        setenv("COLORTERM", color, 1);
}

static inline struct term *open_term(struct outer *outer, enum theme theme)
{
    struct term_options options = {.fd_in = outer->slave, .fd_out = outer->slave, .theme = theme};
    struct term *term = NULL;
    assert_ok(term_create(&options, &term, &err));
    outer_sync(outer);
    return term;
}

/* Draws; the terminal may take it in several parts. */
static inline size_t draw(struct outer *outer, struct term *term, const struct grid *grid, bool full)
{
    outer_clear(outer);
    size_t bytes = term_draw(term, grid, full);
    do
        outer_pump(outer);
    while (term_pending(term));
    outer_sync(outer);
    assert_int_equal(outer->log.len, bytes);
    return bytes;
}

static inline int color_of(const VTermColor *color, bool background)
{
    if (background ? VTERM_COLOR_IS_DEFAULT_BG(color) : VTERM_COLOR_IS_DEFAULT_FG(color))
        return -1;
    if (VTERM_COLOR_IS_INDEXED(color))
        return color->indexed.idx;
    return color->rgb.red << 16 | color->rgb.green << 8 | color->rgb.blue;
}

static int lacks; /* attributes that terminfo does not have */

/* A look in a line: "fg bg attributes". Blanks have no foreground that shows. */
static inline char *look_text(int fg, int bg, int attr, bool blank)
{
    return xasprintf("%d %d %d", blank && !(attr & ATTR_REVERSE) ? -1 : fg, bg, attr);
}

static inline char *look_seen(const VTermScreenCell *seen, bool blank)
{
    int fg = color_of(&seen->fg, false), bg = color_of(&seen->bg, true);
    int attr = (seen->attrs.bold ? ATTR_BOLD : 0) | (seen->attrs.italic ? ATTR_ITALIC : 0) |
               (seen->attrs.underline ? ATTR_UNDERLINE : 0) | (seen->attrs.reverse ? ATTR_REVERSE : 0) |
               (seen->attrs.strike ? ATTR_STRIKE : 0) | (seen->attrs.blink ? ATTR_BLINK : 0);
    /* libvterm shows bold 0–7 as 8–15. */
    if (seen->attrs.bold && fg >= 8 && fg < 16)
        fg -= 8;
    return look_text(fg, bg, attr, blank);
}

static inline char *look_wanted(const struct cell *cell, enum theme theme, int colors, bool blank)
{
    struct look look = {cell->fg, cell->bg, cell->attr};
    if (cell->style != STYLE_GUEST)
        look = theme_look(theme, cell->style, colors);
    int fg = palette_color(look.fg, colors), bg = palette_color(look.bg, colors);
    int attr = (int)look.attr & ~ATTR_DIM & ~lacks; /* libvterm 0.1.4 has no dim */
    if (colors < PALETTE_DIRECT)
        attr &= ~ATTR_STRIKE;
    if (colors == 8) {
        attr |= fg >= 8 ? ATTR_BOLD : 0;
        bg = bg < 0 ? bg : bg & 7;
    }
    if ((colors == 8 || (attr & ATTR_BOLD)) && fg >= 8 && fg < 16)
        fg -= 8;
    return look_text(fg, bg, attr, blank);
}

/* Every cell of the terminal is what the grid has, blank outside of it. */
static inline void assert_screen(struct outer *outer, struct grid *grid, enum theme theme, int colors)
{
    for (int row = 0; row < outer->rows; row++) {
        for (int column = 0; column < outer->columns; column++) {
            struct cell blank = {.width = 1};
            const struct cell *cell = grid_at(grid, row, column);
            if (!cell || (cell->width == 2 && column + 1 == outer->columns))
                cell = &blank;
            VTermScreenCell seen = outer_cell(outer, row, column);
            if (cell->width == 0) {
                assert_int_equal(seen.chars[0], (uint32_t)-1);
                continue;
            }
            uint32_t want = cell->codes[0] == ' ' ? 0 : cell->codes[0];
            uint32_t have = seen.chars[0] == ' ' ? 0 : seen.chars[0];
            if (want != have)
                fail_msg("%d,%d: U+%04X, not U+%04X", row, column, have, want);
            for (size_t i = 1; want && i < 5 && cell->codes[i - 1]; i++)
                if (seen.chars[i] != cell->codes[i])
                    fail_msg("%d,%d: mark %zu is U+%04X, not U+%04X", row, column, i, seen.chars[i],
                             cell->codes[i]);
            assert_int_equal(seen.width, cell->width);
            autofree char *look = look_seen(&seen, !have), *wanted = look_wanted(cell, theme, colors, !have);
            if (strcmp(look, wanted) != 0)
                fail_msg("%d,%d: U+%04X looks \"%s\", not \"%s\"", row, column, have, look, wanted);
        }
    }
    if (outer->cursor != grid->cursor)
        fail_msg("the cursor is %s", outer->cursor ? "shown" : "hidden");
    if (grid->cursor) {
        assert_int_equal(outer->cursor_row, grid->cursor_row);
        assert_int_equal(outer->cursor_column, grid->cursor_column);
    }
}

/* The entry that was built, whatever this program's folder is. */
static inline void use_built_terminfo(void)
{
    autofree char *here = realpath("terminfo", NULL);
    if (here)
        setenv("TERMINFO", here, 1);
}

#endif
