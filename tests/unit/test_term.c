/* The terminal layer on a pty whose other side is libvterm: what is in the grid is on the screen, in all
 * depths of colour, and few bytes are sent for it. */
#include "test_term_rig.h"

static uint32_t seed;

static uint32_t any(uint32_t below)
{
    seed = seed * 1664525 + 1013904223;
    return (seed >> 12) % below;
}

/* Changes some cells: styles, guest's colours, wide and combining characters. */
static void change(struct grid *grid, int colors)
{
    static const char *const texts[] = {
        "shop", "\u6f22\u5b57", "e\u0301a\u0308", "    ", "FROZEN", "\u2500\u2500", "x"};
    for (int i = (int)any(40); i >= 0; i--) {
        int row = (int)any((uint32_t)grid->rows), column = (int)any((uint32_t)grid->columns);
        if (any(2)) {
            area_text(area_all(grid), row, column, 8, any(STYLE_GUEST), texts[any(countof(texts))]);
            continue;
        }
        struct cell cell = {.style = STYLE_GUEST, .width = 1, .codes = {'a' + any(26)}};
        cell.attr = (uint16_t)(any(128) & ~(uint32_t)ATTR_DIM);
        cell.fg = any(3) == 0 ? 0 : any(2) ? COLOR_INDEX | any(256) : COLOR_RGB | any(1 << 20);
        cell.bg = any(3) == 0 ? 0 : any(2) ? COLOR_INDEX | any(256) : COLOR_RGB | any(1 << 20);
        /* More pairs than 8 colours have cannot be on one screen. */
        if (colors < 256 && (cell.bg & 1))
            cell.bg = 0;
        for (uint32_t n = any(10); n > 0; n--)
            area_cell(area_all(grid), row, column++, &cell);
    }
    /* libvterm 0.1.4 puts a mark of the last column into the next row. */
    for (int row = 0; row < grid->rows; row++)
        grid_at(grid, row, grid->columns - 1)->codes[1] = 0;
    grid->cursor = any(3) > 0;
    grid->cursor_row = (int)any((uint32_t)grid->rows);
    grid->cursor_column = (int)any((uint32_t)grid->columns);
}

static const struct kind {
    const char *type, *color;
    enum theme theme;
    int colors, lacks;
} kinds[] = {
    {"xterm-256color", "truecolor", THEME_DARK, PALETTE_DIRECT},
    {"tmux-256color", "24bit", THEME_LIGHT, PALETTE_DIRECT},
    {"xterm-256color", NULL, THEME_DARK, 256},
    {"xterm-256color", NULL, THEME_LIGHT, 256},
    {"tmux-256color", NULL, THEME_16, 256},
    {"screen-256color", "truecolor", THEME_DARK, 256, ATTR_ITALIC},
    /* Not in every terminfo, but of xterm's kind. */
    {"xterm-unheard-of", NULL, THEME_DARK, 256},
    {"ghostty", "truecolor", THEME_DARK, PALETTE_DIRECT},
    {"xterm", "truecolor", THEME_DARK, 8},
    {"xterm", NULL, THEME_MONO, 0},
    {"vt220", NULL, THEME_DARK, 0, ATTR_ITALIC},
};

static void what_is_drawn_is_shown(void **state)
{
    (void)state;
    for (size_t i = 0; i < countof(kinds); i++) {
        struct outer outer;
        seed = 1000 + (uint32_t)i;
        lacks = kinds[i].lacks;
        print_message("  %s %s %d\n", kinds[i].type, kinds[i].color ? kinds[i].color : "", kinds[i].theme);
        set_terminal(kinds[i].type, kinds[i].color);
        outer_init(&outer, 24, 80);
        struct term *term = open_term(&outer, kinds[i].theme);
        assert_int_equal(term_caps(term)->colors, kinds[i].colors);
        assert_true(term_caps(term)->utf8);
        auto(grid) struct grid *grid = grid_create(24, 80);
        for (int round = 0; round < 60; round++) {
            if (any(8) == 0) {
                int rows = 2 + (int)any(40), columns = 4 + (int)any(120);
                outer_resize(&outer, rows, columns);
                grid_resize(grid, rows, columns);
            }
            change(grid, kinds[i].colors);
            if (any(8) == 0)
                memmove(grid->cells, grid->cells + grid->columns,
                        sizeof(struct cell) * (size_t)grid->columns * (size_t)(grid->rows - 1));
            draw(&outer, term, grid, any(10) == 0);
            assert_screen(&outer, grid, kinds[i].theme, kinds[i].colors);
            assert_int_equal(draw(&outer, term, grid, false), 0);
        }
        term_free(term);
        outer_finish(&outer);
    }
    lacks = 0;
}

static void only_changes_are_sent(void **state)
{
    (void)state;
    struct outer outer;
    set_terminal("xterm-256color", "truecolor");
    outer_init(&outer, 24, 80);
    struct term *term = open_term(&outer, THEME_DARK);
    auto(grid) struct grid *grid = grid_create(24, 80);
    seed = 5;
    change(grid, PALETTE_DIRECT);
    grid->cursor = false;
    assert_in_range(draw(&outer, term, grid, false), 100, 20000);
    assert_int_equal(draw(&outer, term, grid, false), 0);
    area_text(area_all(grid), 10, 40, 1, STYLE_NORMAL, "!");
    assert_in_range(draw(&outer, term, grid, false), 1, 40);
    area_text(area_all(grid), 10, 40, 1, STYLE_NORMAL, "?");
    assert_in_range(draw(&outer, term, grid, false), 1, 40);
    /* A log that goes up by a line is moved, not written again. */
    for (int row = 0; row < 24; row++)
        area_printf(area_all(grid), row, 0, 80, STYLE_NORMAL,
                    "%02d npm ci, a line of output that has some length", row);
    draw(&outer, term, grid, false);
    memmove(grid->cells, grid->cells + 80, sizeof(struct cell) * 80 * 23);
    area_fill(area_all(grid), 23, 0, 80, STYLE_NORMAL, 0);
    area_text(area_all(grid), 23, 0, 80, STYLE_NORMAL, "24 new");
    assert_in_range(draw(&outer, term, grid, false), 1, 120);
    assert_screen(&outer, grid, THEME_DARK, PALETTE_DIRECT);
    /* The same anew, by will and after another theme. */
    assert_in_range(draw(&outer, term, grid, true), 500, 20000);
    assert_true(outer_logged(&outer, "\x1b[?2026h"));
    assert_screen(&outer, grid, THEME_DARK, PALETTE_DIRECT);
    term_theme(term, THEME_LIGHT);
    assert_in_range(draw(&outer, term, grid, false), 500, 20000);
    assert_screen(&outer, grid, THEME_LIGHT, PALETTE_DIRECT);
    term_free(term);
    outer_finish(&outer);
}

/* A grid of another size than the terminal is cut, or leaves blanks. */
static void sizes_may_differ(void **state)
{
    (void)state;
    struct outer outer;
    set_terminal("xterm-256color", NULL);
    outer_init(&outer, 10, 21);
    struct term *term = open_term(&outer, THEME_DARK);
    auto(grid) struct grid *grid = grid_create(30, 100);
    for (int row = 0; row < 30; row++)
        area_fill(area_all(grid), row, 0, 100, STYLE_NORMAL, 0x6f22);
    draw(&outer, term, grid, false);
    assert_screen(&outer, grid, THEME_DARK, 256);
    int rows, columns;
    term_size(term, &rows, &columns);
    assert_int_equal(rows, 10);
    assert_int_equal(columns, 21);
    outer_resize(&outer, 40, 120);
    draw(&outer, term, grid, false);
    assert_screen(&outer, grid, THEME_DARK, 256);
    grid_resize(grid, 3, 7);
    draw(&outer, term, grid, false);
    assert_screen(&outer, grid, THEME_DARK, 256);
    outer_resize(&outer, 1, 1);
    draw(&outer, term, grid, false);
    outer_resize(&outer, 5, 9);
    draw(&outer, term, grid, false);
    assert_screen(&outer, grid, THEME_DARK, 256);
    term_free(term);
    outer_finish(&outer);
}

/* What was put into cells past all rules is shown as replaced. */
static void sequences_in_cells_do_nothing(void **state)
{
    (void)state;
    struct outer outer;
    set_terminal("xterm-256color", "truecolor");
    outer_init(&outer, 4, 20);
    struct term *term = open_term(&outer, THEME_DARK);
    auto(grid) struct grid *grid = grid_create(4, 20);
    static const uint32_t codes[] = {0x1b, ']', '0',    ';',  'x',  0x07,     0x9b,
                                     '2',  'J', 0x202e, '\n', 0x0e, 0x110000, 0x200b};
    for (size_t i = 0; i < countof(codes); i++)
        grid_at(grid, 1, (int)i)->codes[0] = codes[i];
    grid_at(grid, 2, 0)->codes[0] = 'a';
    grid_at(grid, 2, 0)->codes[1] = 0x1b;
    grid_at(grid, 2, 0)->codes[2] = 'c';
    grid_at(grid, 2, 1)->codes[0] = 'b';
    draw(&outer, term, grid, false);
    autofree char *row = outer_row(&outer, 1), *next = outer_row(&outer, 2);
    assert_string_equal(row, "\ufffd]0;x\ufffd\ufffd2J\ufffd\ufffd\ufffd\ufffd\ufffd");
    assert_string_equal(next, "ab");
    assert_int_equal(outer.bells, 0);
    assert_true(outer.alternate);
    assert_false(outer_logged(&outer, "\u202e"));
    term_free(term);
    outer_finish(&outer);
}

/* A cell whose width is not that of its character must not move its row. */
static void wrong_widths_move_nothing(void **state)
{
    (void)state;
    struct outer outer;
    set_terminal("xterm-256color", NULL);
    outer_init(&outer, 2, 10);
    struct term *term = open_term(&outer, THEME_DARK);
    auto(grid) struct grid *grid = grid_create(2, 10);
    area_text(area_all(grid), 0, 0, 10, STYLE_NORMAL, "0123456789");
    grid_at(grid, 0, 2)->codes[0] = 0x6f22; /* wide, in one column */
    grid_at(grid, 0, 4)->width = 2;         /* narrow, in two */
    *grid_at(grid, 0, 5) = (struct cell){.width = 0};
    grid_at(grid, 0, 7)->codes[0] = 0x301; /* none */
    draw(&outer, term, grid, false);
    autofree char *row = outer_row(&outer, 0);
    assert_string_equal(row, "01\ufffd3\ufffd 6\ufffd89");
    term_free(term);
    outer_finish(&outer);
}

/* In another locale only ASCII goes out. */
static void other_locales_get_ascii(void **state)
{
    (void)state;
    struct outer outer;
    set_terminal("xterm-256color", NULL);
    setenv("LC_ALL", "C", 1);
    outer_init(&outer, 2, 20);
    struct term *term = open_term(&outer, THEME_DARK);
    assert_false(term_caps(term)->utf8);
    auto(grid) struct grid *grid = grid_create(2, 20);
    area_text(area_all(grid), 0, 0, 20, STYLE_NORMAL, "caf\u00e9 \u6f22 e\u0301x");
    draw(&outer, term, grid, false);
    autofree char *row = outer_row(&outer, 0);
    assert_string_equal(row, "caf? ?  ex");
    for (size_t i = 0; i < outer.log.len; i++)
        assert_in_range(buf_data(&outer.log)[i], 0, 0x7f);
    term_free(term);
    outer_finish(&outer);
}

static void no_color_is_obeyed(void **state)
{
    (void)state;
    struct outer outer;
    set_terminal("xterm-256color", "truecolor");
    setenv("NO_COLOR", "1", 1);
    outer_init(&outer, 5, 20);
    struct term *term = open_term(&outer, THEME_DARK);
    assert_int_equal(term_caps(term)->colors, 0);
    auto(grid) struct grid *grid = grid_create(5, 20);
    area_text(area_all(grid), 0, 0, 20, STYLE_WAITING, "WAITING");
    struct cell cell = {
        .style = STYLE_GUEST, .width = 1, .codes = {'g'}, .fg = COLOR_INDEX | 1, .bg = COLOR_RGB | 99};
    area_cell(area_all(grid), 1, 0, &cell);
    draw(&outer, term, grid, false);
    assert_screen(&outer, grid, THEME_MONO, 0);
    term_theme(term, THEME_LIGHT);
    draw(&outer, term, grid, true);
    assert_screen(&outer, grid, THEME_MONO, 0);
    term_free(term);
    outer_finish(&outer);
    unsetenv("NO_COLOR");
}

/* A terminal that takes nothing does not hold the loop. */
static void slow_terminals_do_not_block(void **state)
{
    (void)state;
    struct outer outer;
    set_terminal("xterm-256color", "truecolor");
    outer_init(&outer, 200, 400);
    struct term *term = open_term(&outer, THEME_DARK);
    auto(grid) struct grid *grid = grid_create(200, 400), *last = grid_create(200, 400);
    seed = 77;
    for (int i = 0; i < 80000; i++) {
        struct cell *cell = grid->cells + i;
        *cell = (struct cell){
            .codes = {'a' + any(26)}, .width = 1, .style = STYLE_GUEST, .fg = COLOR_RGB | any(1 << 24)};
    }
    assert_in_range(term_draw(term, grid, false), 100000, 8000000);
    assert_true(term_pending(term));
    assert_int_equal(term_draw(term, last, false), 0);
    while (term_pending(term))
        outer_pump(&outer);
    outer_sync(&outer);
    draw(&outer, term, last, false);
    assert_screen(&outer, last, THEME_DARK, PALETTE_DIRECT);
    term_free(term);
    outer_finish(&outer);
}

int main(void)
{
    use_built_terminfo();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_drawn_is_shown),    cmocka_unit_test(only_changes_are_sent),
        cmocka_unit_test(sizes_may_differ),          cmocka_unit_test(sequences_in_cells_do_nothing),
        cmocka_unit_test(wrong_widths_move_nothing), cmocka_unit_test(other_locales_get_ascii),
        cmocka_unit_test(no_color_is_obeyed),        cmocka_unit_test(slow_terminals_do_not_block),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
