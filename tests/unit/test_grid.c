/* Cells: what is drawn where, what is cut, and that nothing beside it changes, whatever the text is. */
#include "test_base_scratch.h"

#include "ui/grid/grid.h"

#define ROWS    5
#define COLUMNS 12

static char *dump(const struct grid *grid, bool styles)
{
    struct buf out;
    buf_init(&out, 0);
    grid_dump(grid, styles, &out);
    char *text = buf_take_string(&out);
    buf_finish(&out);
    return text;
}

#define assert_dump(grid, styles, want)                                                                      \
    do {                                                                                                     \
        autofree char *got = dump((grid), (styles));                                                         \
        assert_string_equal(got, (want));                                                                    \
    } while (0)

/* Halves of wide characters stand together, and every cell is one that may be sent. */
static void assert_whole(struct grid *grid)
{
    for (int row = 0; row < grid->rows; row++) {
        for (int column = 0; column < grid->columns; column++) {
            const struct cell *cell = grid_at(grid, row, column);
            const struct cell *next = grid_at(grid, row, column + 1);
            assert_true(cell->width <= 2);
            assert_int_equal(cell->width == 2, next && next->width == 0);
            if (column == 0)
                assert_int_not_equal(cell->width, 0);
            if (cell->width == 2)
                assert_int_not_equal(cell->codes[0], 0);
            for (size_t i = 0; i < CELL_CODES && cell->codes[i]; i++)
                assert_true(cell_code_ok(cell->codes[i]));
        }
    }
}

static void text_is_clipped(void **state)
{
    (void)state;
    auto(grid) struct grid *grid = grid_create(3, 8);
    struct area all = area_all(grid);
    assert_int_equal(area_text(all, 0, 2, 4, STYLE_NORMAL, "abcdefgh"), 4);
    assert_int_equal(area_text(all, 1, 6, 100, STYLE_NORMAL, "xyz"), 3);
    assert_int_equal(area_text(all, 2, -2, 100, STYLE_NORMAL, "12345"), 5);
    assert_int_equal(area_text(all, 3, 0, 100, STYLE_NORMAL, "below"), 5);
    assert_int_equal(area_text(all, -1, 0, 100, STYLE_NORMAL, "above"), 5);
    assert_int_equal(area_text(all, 0, INT32_MAX, INT32_MAX, STYLE_NORMAL, "far"), 3);
    assert_int_equal(area_text(all, 0, INT32_MIN, INT32_MAX, STYLE_NORMAL, "far"), 3);
    assert_int_equal(area_text(all, 0, 0, -1, STYLE_NORMAL, "none"), 0);
    assert_int_equal(area_text(all, 0, 0, 4, STYLE_NORMAL, ""), 0);
    assert_dump(grid, false, "  abcd\n      xy\n345\n");
}

static void parts_keep_to_themselves(void **state)
{
    (void)state;
    auto(grid) struct grid *grid = grid_create(4, 10);
    struct area part = area_part(area_all(grid), 1, 2, 2, 4);
    for (int row = -3; row < 8; row++)
        area_fill(part, row, -50, 100, STYLE_NORMAL, '#');
    assert_dump(grid, false, "\n  ####\n  ####\n\n");
    struct area inner = area_part(part, -1, -1, 2, 3);
    assert_int_equal(inner.rows, 1);
    assert_int_equal(inner.columns, 2);
    area_fill(inner, 0, 0, 100, STYLE_NORMAL, '.');
    assert_dump(grid, false, "\n  ..##\n  ####\n\n");
    struct area none = area_part(part, 0, 4, 2, 4);
    assert_int_equal(none.columns, 0);
    area_text(none, 0, 0, 10, STYLE_NORMAL, "no");
    none = area_part(part, INT32_MIN, INT32_MIN, INT32_MAX, INT32_MAX);
    assert_int_equal(none.rows * none.columns, 0);
    area_fill(none, 0, 0, 10, STYLE_NORMAL, '!');
    assert_dump(grid, false, "\n  ..##\n  ####\n\n");
    /* An area that its grid outgrew. */
    struct area stale = area_part(area_all(grid), 2, 5, 2, 5);
    grid_resize(grid, 3, 7);
    area_fill(stale, 0, 0, 5, STYLE_NORMAL, 's');
    area_fill(stale, 1, 0, 5, STYLE_NORMAL, 's');
    assert_dump(grid, false, "\n  ..##\n  ###ss\n");
}

static void wide_characters_stay_whole(void **state)
{
    (void)state;
    auto(grid) struct grid *grid = grid_create(1, 6);
    struct area all = area_all(grid);
    assert_int_equal(area_text(all, 0, 0, 6, STYLE_NORMAL, "\u6f22\u5b57x"), 5);
    assert_dump(grid, false, "\u6f22\u5b57x\n");
    /* The right half is overwritten, then the left one. */
    area_text(all, 0, 1, 1, STYLE_NORMAL, "a");
    assert_dump(grid, false, " a\u5b57x\n");
    area_text(all, 0, 2, 1, STYLE_NORMAL, "b");
    assert_dump(grid, false, " ab x\n");
    /* One that lies over two. */
    grid_clear(grid);
    area_text(all, 0, 0, 6, STYLE_NORMAL, "\u6f22\u5b57");
    area_text(all, 0, 1, 2, STYLE_NORMAL, "\u4e00");
    assert_dump(grid, false, " \u4e00\n");
    assert_whole(grid);
    /* No room for the second: its column becomes blank. */
    area_fill(all, 0, 0, 6, STYLE_NORMAL, '#');
    assert_int_equal(area_text(all, 0, 0, 3, STYLE_NORMAL, "\u6f22\u5b57"), 3);
    assert_dump(grid, false, "\u6f22 ###\n");
    /* Cut by the area at both ends. */
    struct area part = area_part(all, 0, 1, 1, 4);
    area_fill(all, 0, 0, 6, STYLE_NORMAL, '#');
    area_text(part, 0, -1, 100, STYLE_NORMAL, "\u6f22\u5b57\u6f22");
    assert_dump(grid, false, "# \u5b57 #\n");
    area_fill(all, 0, 0, 5, STYLE_NORMAL, 0x6f22);
    assert_dump(grid, false, "\u6f22\u6f22 #\n");
    /* Sent out of an area that cuts it: the half outside cannot stay. */
    area_fill(part, 0, 0, 1, STYLE_NORMAL, '!');
    assert_dump(grid, false, " !\u6f22 #\n");
    assert_whole(grid);
}

static void marks_join_their_letter(void **state)
{
    (void)state;
    auto(grid) struct grid *grid = grid_create(1, 6);
    struct area all = area_all(grid);
    assert_int_equal(area_text(all, 0, 0, 2, STYLE_NORMAL, "e\u0301o\u0308x"), 2);
    assert_dump(grid, false, "e\u0301o\u0308\n");
    assert_int_equal(grid_at(grid, 0, 1)->codes[1], 0x308);
    /* A mark without a letter of this text does not change the cell before. */
    assert_int_equal(area_text(all, 0, 1, 2, STYLE_NORMAL, "\u0302z"), 1);
    assert_dump(grid, false, "e\u0301z\n");
    assert_int_equal(area_text(all, 0, 0, 0, STYLE_NORMAL, "\u0302"), 0);
    /* More than a cell holds are dropped. */
    assert_int_equal(
        area_text(all, 0, 0, 6, STYLE_NORMAL, "a\u0300\u0300\u0300\u0300\u0300\u0300\u0300\u0300z"), 2);
    assert_dump(grid, false, "a\u0300\u0300\u0300\u0300\u0300z\n");
}

static void controls_are_replaced(void **state)
{
    (void)state;
    auto(grid) struct grid *grid = grid_create(1, 12);
    assert_int_equal(area_text(area_all(grid), 0, 0, 12, STYLE_NORMAL, "a\x1b[2J\n\xff\u202eb\xc2\x9b\x7f"),
                     11);
    assert_dump(grid, false, "a\ufffd[2J\ufffd\ufffd\ufffdb\ufffd\ufffd\n");
    struct cell bad = {.codes = {0x1b, 0x300, 0x202e, 'x', 0x301}, .width = 1, .style = 200};
    area_cell(area_all(grid), 0, 0, &bad);
    assert_int_equal(grid_at(grid, 0, 0)->codes[0], 0xfffd);
    assert_int_equal(grid_at(grid, 0, 0)->codes[1], 0x300);
    assert_int_equal(grid_at(grid, 0, 0)->codes[2], 0x301);
    assert_int_equal(grid_at(grid, 0, 0)->style, STYLE_NORMAL);
    area_fill(area_all(grid), 0, 0, 12, STYLE_NORMAL, 0x1b);
    assert_int_equal(grid_at(grid, 0, 11)->codes[0], 0xfffd);
    assert_whole(grid);
}

static void long_text_says_so(void **state)
{
    (void)state;
    auto(grid) struct grid *grid = grid_create(6, 8);
    struct area all = area_all(grid);
    assert_int_equal(area_text_cut(all, 0, 0, 5, STYLE_NORMAL, "abcdefgh", false), 5);
    assert_int_equal(area_text_cut(all, 1, 0, 5, STYLE_NORMAL, "abcde", false), 5);
    assert_int_equal(area_text_cut(all, 2, 0, 6, STYLE_NORMAL, "ab\u6f22", true), 4);
    assert_int_equal(area_text_cut(all, 3, 5, 10, STYLE_NORMAL, "abcdef", true), 3);
    assert_int_equal(area_text_cut(all, 4, 0, 4, STYLE_NORMAL, "\u6f22\u6f22\u6f22", false), 4);
    assert_int_equal(area_text_cut(all, 5, 9, 4, STYLE_NORMAL, "x", false), 0);
    assert_int_equal(area_text_cut(all, 5, INT32_MIN, 4, STYLE_NORMAL, "x", false), 1);
    assert_dump(grid, false, "abcd+\nabcde\n  ab\u6f22\n     ab+\n\u6f22 +\n\n");
    area_printf(all, 5, 0, 8, STYLE_NORMAL, "%d of %s", 3, "7");
    assert_dump(grid, false, "abcd+\nabcde\n  ab\u6f22\n     ab+\n\u6f22 +\n3 of 7\n");
}

static void styles_are_dumped(void **state)
{
    (void)state;
    auto(grid) struct grid *grid = grid_create(3, 8);
    struct area all = area_all(grid);
    area_text(all, 0, 0, 8, STYLE_TITLE, "shop");
    area_text(all, 0, 4, 8, STYLE_BAD, "!!");
    area_style(all, 1, 2, 100, STYLE_SELECTED);
    area_style(all, 1, INT32_MIN, 5, STYLE_BAD);
    struct cell guest = {.codes = {'g'}, .width = 1, .style = STYLE_GUEST, .attr = ATTR_BOLD | ATTR_STRIKE};
    guest.fg = COLOR_RGB | 0x12ab00;
    guest.bg = COLOR_INDEX | 17;
    area_cell(all, 2, 0, &guest);
    area_cell(all, 2, 1, &guest);
    guest.fg = guest.bg = guest.attr = 0;
    area_cell(all, 2, 2, &guest);
    grid->cursor = true;
    grid->cursor_row = 2;
    grid->cursor_column = 3;
    assert_dump(grid, true,
                "shop!!\n\nggg\n0:0-3 title\n0:4-5 bad\n1:2-7 selected\n"
                "2:0-1 guest fg=#12ab00 bg=17 bold strike\n2:2-2 guest\n2:3 cursor\n");
    for (int style = 0; style < STYLE_COUNT; style++) {
        assert_true(strlen(style_name(style)) > 0);
        assert_true(strlen(style_about(style)) > 0);
    }
}

static void looks_are_compared(void **state)
{
    (void)state;
    struct cell a = {.codes = {'a'}, .width = 1}, b = a;
    assert_true(cell_equal(&a, &b));
    b.codes[2] = 0x300; /* behind the end */
    assert_true(cell_equal(&a, &b));
    b.codes[1] = 0x300;
    assert_false(cell_equal(&a, &b));
    b = a;
    b.fg = COLOR_INDEX | 3;
    assert_true(cell_equal(&a, &b));
    a.style = b.style = STYLE_GUEST;
    assert_false(cell_equal(&a, &b));
    b = a;
    b.attr = ATTR_BLINK;
    assert_false(cell_equal(&a, &b));
    b = a;
    b.style = STYLE_BAD;
    assert_false(cell_equal(&a, &b));
}

static void grids_are_resized_and_copied(void **state)
{
    (void)state;
    auto(grid) struct grid *grid = grid_create(2, 6);
    area_text(area_all(grid), 0, 0, 6, STYLE_NORMAL, "ab\u6f22cd");
    area_text(area_all(grid), 1, 0, 6, STYLE_NORMAL, "second");
    grid->cursor = true;
    grid->cursor_row = 1;
    grid_resize(grid, 1, 3);
    assert_dump(grid, true, "ab\n");
    assert_false(grid->cursor);
    grid_resize(grid, 2, 5);
    assert_dump(grid, false, "ab\n\n");
    grid_resize(grid, 0, -7);
    assert_int_equal(grid->rows * grid->columns, 1);
    grid_resize(grid, 1 << 30, 1 << 30);
    assert_int_equal(grid->rows, GRID_ROWS_MAX);
    assert_int_equal(grid->columns, GRID_COLUMNS_MAX);
    assert_null(grid_at(grid, 0, GRID_COLUMNS_MAX));
    assert_null(grid_at(grid, -1, 0));

    auto(grid) struct grid *to = grid_create(3, 6), *from = grid_create(2, 4);
    area_text(area_all(from), 0, 0, 4, STYLE_BAD, "\u6f22\u5b57");
    area_text(area_all(from), 1, 0, 4, STYLE_BAD, "abcd");
    area_fill(area_all(to), 1, 0, 6, STYLE_NORMAL, '#');
    area_grid(area_part(area_all(to), 1, 1, 1, 3), from);
    assert_dump(to, true, "\n#\u6f22 ##\n\n1:1-3 bad\n");
    /* Halves that an emulator left alone. */
    *grid_at(from, 0, 1) = (struct cell){.codes = {'x'}, .width = 1};
    *grid_at(from, 0, 2) = (struct cell){.width = 0};
    *grid_at(from, 0, 3) = (struct cell){.codes = {0x5b57}, .width = 2};
    area_grid(area_all(to), from);
    assert_whole(to);
    assert_dump(to, false, " x\nabcd##\n\n");
}

/* The same numbers in each run. */
static uint32_t seed;

static uint32_t any(uint32_t below)
{
    seed ^= seed << 13;
    seed ^= seed >> 17;
    seed ^= seed << 5;
    return seed % below;
}

static size_t add_code(char *out, uint32_t code)
{
    return cell_text(&(struct cell){.codes = {code}, .width = 1}, out);
}

/* Text of anything: letters, wide ones, marks, bidi controls, escape sequences, halves of UTF-8. */
static void any_text(char *out, size_t most)
{
    static const struct {
        uint32_t first, count;
    } ranges[] = {{0x20, 95},    {0x4e00, 2000}, {0x300, 0x6f}, {0x200b, 5},    {0x202a, 5},
                  {0x2066, 4},   {1, 31},        {0x80, 32},    {0x5d0, 27},    {0x1f300, 300},
                  {0x1160, 100}, {0xe0100, 200}, {0xfe00, 16},  {0x1100, 90},   {0x0e31, 20},
                  {0xac00, 200}, {0x2500, 128},  {0x1d165, 4},  {0x20000, 100}, {0xfffd, 1}};
    size_t len = 0, want = any((uint32_t)most);
    while (len < want) {
        if (any(4) == 0) {
            out[len++] = (char)(1 + any(255));
        } else {
            size_t which = any(countof(ranges));
            char code[CELL_BYTES];
            size_t n = add_code(code, ranges[which].first + any(ranges[which].count));
            memcpy(out + len, code, n);
            len += n;
        }
    }
    out[len] = '\0';
}

static bool inside(struct area area, int row, int column)
{
    return row >= area.row && row < area.row + area.rows && column >= area.column &&
           column < area.column + area.columns;
}

/* Outside of the area only a half whose other half was inside may have become a blank. */
static void assert_outside(struct area area, struct grid *before)
{
    for (int row = 0; row < ROWS; row++) {
        for (int column = 0; column < COLUMNS; column++) {
            const struct cell *now = grid_at(area.grid, row, column), *then = grid_at(before, row, column);
            if (inside(area, row, column) || memcmp(now, then, sizeof(*now)) == 0)
                continue;
            assert_int_not_equal(then->width, 1);
            assert_true(inside(area, row, then->width == 2 ? column + 1 : column - 1));
            assert_int_equal(now->width, 1);
            assert_int_equal(now->codes[0], 0);
        }
    }
}

static void any_text_stays_in_its_area(void **state)
{
    (void)state;
    seed = 20240229;
    auto(grid) struct grid *grid = grid_create(ROWS, COLUMNS), *before = grid_create(ROWS, COLUMNS);
    char text[260];
    for (int round = 0; round < 30000; round++) {
        any_text(text, 200);
        struct area area =
            area_part(area_all(grid), (int)any(7) - 1, (int)any(14) - 1, (int)any(6), (int)any(14));
        int row = (int)any(7) - 1, column = (int)any(20) - 5, columns = (int)any(24) - 2;
        memcpy(before->cells, grid->cells, sizeof(struct cell) * ROWS * COLUMNS);
        int used, left = columns < 0 ? 0 : columns;
        switch (any(4)) {
        case 0:
            used = area_text_cut(area, row, column, columns, STYLE_BAD, text, any(2));
            assert_in_range(used, 0, left);
            break;
        case 1:
            area_fill(area, row, column, columns, STYLE_NORMAL, any(2) ? any(0x3000) : any(0x20000));
            break;
        default: {
            size_t fit;
            size_t len = text_clip(text, strlen(text), (size_t)left, &fit);
            used = area_text(area, row, column, columns, STYLE_GOOD, text);
            /* A wide one that did not fit is a blank. */
            assert_int_equal(used, len < strlen(text) ? left : (int)fit);
        }
        }
        assert_whole(grid);
        assert_outside(area, before);
    }
}

static void any_cells_stay_in_their_area(void **state)
{
    (void)state;
    seed = 19700101;
    auto(grid) struct grid *grid = grid_create(ROWS, COLUMNS), *before = grid_create(ROWS, COLUMNS);
    auto(grid) struct grid *from = grid_create(4, 9);
    for (int round = 0; round < 10000; round++) {
        for (int i = 0; i < 36; i++) {
            struct cell *cell = from->cells + i;
            for (size_t n = 0; n < CELL_CODES; n++)
                cell->codes[n] = any(3) == 0 ? any(0x120000) : any(3) == 0 ? 0x300 + any(16) : 0x20 + any(95);
            cell->width = (uint8_t)any(4);
            cell->style = (uint8_t)any(40);
        }
        struct area area =
            area_part(area_all(grid), (int)any(7) - 1, (int)any(14) - 1, (int)any(6), (int)any(14));
        memcpy(before->cells, grid->cells, sizeof(struct cell) * ROWS * COLUMNS);
        if (any(2))
            area_grid(area, from);
        else
            area_cell(area, (int)any(7) - 1, (int)any(20) - 5, from->cells + any(36));
        assert_whole(grid);
        assert_outside(area, before);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_is_clipped),
        cmocka_unit_test(parts_keep_to_themselves),
        cmocka_unit_test(wide_characters_stay_whole),
        cmocka_unit_test(marks_join_their_letter),
        cmocka_unit_test(controls_are_replaced),
        cmocka_unit_test(long_text_says_so),
        cmocka_unit_test(styles_are_dumped),
        cmocka_unit_test(looks_are_compared),
        cmocka_unit_test(grids_are_resized_and_copied),
        cmocka_unit_test(any_text_stays_in_its_area),
        cmocka_unit_test(any_cells_stay_in_their_area),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
