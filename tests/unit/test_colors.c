/* Colours in fewer colours, looks of styles, pairs of curses, and strings for the terminal: what is pure in
 * ui/term. */
#include "test_base_scratch.h"

#include "ui/grid/grid.h"
#include "ui/term/osc.h"
#include "ui/term/pairs.h"
#include "ui/term/palette.h"
#include "ui/term/theme.h"

static void colors_are_brought_down(void **state)
{
    (void)state;
    static const struct {
        uint32_t color;
        int direct, many, some; /* of direct colour, 256, 16 and 8 */
    } cases[] = {
        {COLOR_DEFAULT, -1, -1, -1},
        {COLOR_INDEX | 3, 3, 3, 3},
        {COLOR_INDEX | 12, 12, 12, 12},
        {COLOR_INDEX | 196, 196, 196, 9},
        {COLOR_INDEX | 232, 232, 232, 0},
        {COLOR_RGB | 0xff0000, 0xff0000, 196, 9},
        {COLOR_RGB | 0x0000ff, 0x1ff, 21, 4},
        {COLOR_RGB | 0x000000, 0x100, 16, 0},
        {COLOR_RGB | 0xffffff, 0xffffff, 231, 15},
        {COLOR_RGB | 0x767676, 0x767676, 243, 8},
        {COLOR_RGB | 0x5f87af, 0x5f87af, 67, 8},
        {0x03000000 | 5, -1, -1, -1},
    };
    for (size_t i = 0; i < countof(cases); i++) {
        assert_int_equal(palette_color(cases[i].color, PALETTE_DIRECT), cases[i].direct);
        assert_int_equal(palette_color(cases[i].color, 256), cases[i].many);
        assert_int_equal(palette_color(cases[i].color, 16), cases[i].some);
        assert_int_equal(palette_color(cases[i].color, 8), cases[i].some);
        assert_int_equal(palette_color(cases[i].color, 0), -1);
    }
    /* Each colour of the 256 that is a place of its own is its own nearest. */
    for (int index = 16; index < 256; index++) {
        int near = palette_color(COLOR_RGB | palette_rgb(index), 256);
        assert_int_equal(palette_rgb(near), palette_rgb(index));
    }
}

static bool same(struct look a, struct look b)
{
    return a.fg == b.fg && a.bg == b.bg && a.attr == b.attr;
}

/* What a person must not miss looks unlike text, with colours and without. */
static void styles_differ(void **state)
{
    (void)state;
    static const enum style loud[] = {STYLE_SELECTED, STYLE_BAD,      STYLE_WAITING, STYLE_ESCAPED,
                                      STYLE_TITLE,    STYLE_TAB_HERE, STYLE_KEY,     STYLE_FIELD_HERE,
                                      STYLE_FIELD,    STYLE_MATCH,    STYLE_MARKED};
    static const int depths[] = {0, 8, 16, 256, PALETTE_DIRECT};
    for (enum theme theme = THEME_DARK; theme <= THEME_MONO; theme++) {
        for (size_t d = 0; d < countof(depths); d++) {
            struct look text = theme_look(theme, STYLE_NORMAL, depths[d]);
            assert_true(same(text, (struct look){0}));
            for (size_t i = 0; i < countof(loud); i++)
                assert_false(same(text, theme_look(theme, loud[i], depths[d])));
            assert_false(same(theme_look(theme, STYLE_FIELD, depths[d]),
                              theme_look(theme, STYLE_FIELD_HERE, depths[d])));
            assert_false(
                same(theme_look(theme, STYLE_TAB, depths[d]), theme_look(theme, STYLE_TAB_HERE, depths[d])));
            for (enum style style = 0; style < STYLE_GUEST; style++) {
                struct look look = theme_look(theme, style, depths[d]);
                if (depths[d] == 0 || theme == THEME_MONO)
                    assert_int_equal(look.fg | look.bg, 0);
                if (depths[d] < 256 && look.fg)
                    assert_in_range(COLOR_VALUE(look.fg), 0, 7);
            }
        }
    }
}

/* Reading on a background of its own: enough contrast, by the luminance of both. */
static void backgrounds_are_legible(void **state)
{
    (void)state;
    for (enum theme theme = THEME_DARK; theme <= THEME_LIGHT; theme++) {
        for (enum style style = 0; style < STYLE_GUEST; style++) {
            struct look look = theme_look(theme, style, 256);
            double light[2];
            for (int i = 0; i < 2; i++) {
                uint32_t color = i ? look.bg : look.fg;
                uint32_t rgb = color                               ? palette_rgb((int)COLOR_VALUE(color))
                               : (theme == THEME_DARK) == (i == 1) ? 0
                                                                   : 0xffffff;
                double r = (rgb >> 16) / 255.0, g = (rgb >> 8 & 255) / 255.0, b = (rgb & 255) / 255.0;
                light[i] = 0.2126 * r * r + 0.7152 * g * g + 0.0722 * b * b + 0.05;
            }
            double ratio = light[0] > light[1] ? light[0] / light[1] : light[1] / light[0];
            if (style != STYLE_RULE && ratio < 3.5)
                fail_msg("%s in theme %d: contrast %.1f", style_name(style), theme, ratio);
        }
    }
}

static void pairs_are_shared_out(void **state)
{
    (void)state;
    struct pairs *pairs = pairs_create(3);
    int a, b, c, d, again;
    pairs_frame(pairs);
    assert_false(pairs_get(pairs, -1, -1, &a));
    assert_int_equal(a, 0);
    assert_true(pairs_get(pairs, 1, -1, &a));
    assert_true(pairs_get(pairs, 2, -1, &b));
    assert_true(pairs_get(pairs, 3, 7, &c));
    assert_false(pairs_get(pairs, 1, -1, &again));
    assert_int_equal(a, again);
    /* Full in this frame: the same background, or the default. */
    assert_false(pairs_get(pairs, 5, 7, &d));
    assert_int_equal(d, c);
    assert_false(pairs_get(pairs, 5, 6, &d));
    assert_int_equal(d, 0);
    /* In the next the one that was not used for longest goes. */
    pairs_frame(pairs);
    assert_false(pairs_get(pairs, 2, -1, &again));
    assert_true(pairs_get(pairs, 5, 6, &d));
    assert_int_equal(d, c);
    assert_true(pairs_get(pairs, 3, 7, &c));
    assert_int_equal(c, a);
    pairs_free(pairs);
    pairs = pairs_create(0);
    pairs_frame(pairs);
    assert_false(pairs_get(pairs, 1, 1, &a));
    assert_int_equal(a, 0);
    pairs_free(pairs);
}

/* Against a plain model: no two colours in one frame have the same pair, and a pair is told when it changes.
 */
static void pairs_are_right_for_long(void **state)
{
    (void)state;
    enum { MOST = 40 };
    struct pairs *pairs = pairs_create(MOST);
    int fg[MOST + 1] = {0}, bg[MOST + 1] = {0};
    uint32_t seed = 7;
    for (int frame = 0; frame < 500; frame++) {
        pairs_frame(pairs);
        for (int i = 0; i < MOST; i++) {
            seed = seed * 1664525 + 1013904223;
            int f = (int)(seed >> 16 & 15) - 1, b = (int)(seed >> 24 & 15), pair;
            if (pairs_get(pairs, f, b, &pair)) {
                fg[pair] = f;
                bg[pair] = b;
            }
            assert_in_range(pair, 1, MOST);
            assert_int_equal(fg[pair], f);
            assert_int_equal(bg[pair], b);
        }
    }
    pairs_free(pairs);
}

static char *osc(void (*write)(struct buf *out))
{
    struct buf out;
    buf_init(&out, 0);
    write(&out);
    char *text = buf_take_string(&out);
    buf_finish(&out);
    return text;
}

static void write_title(struct buf *out)
{
    osc_title("shop \x1b]0;x\x07\u202e\u00e9\n", true, out);
}

static void write_ascii_title(struct buf *out)
{
    osc_title("caf\u00e9 e\u0301", false, out);
}

static void write_copies(struct buf *out)
{
    osc_copy("", 0, false, out);
    osc_copy("a", 1, false, out);
    osc_copy("ab", 2, false, out);
    osc_copy("ab\xff", 3, true, out);
}

static void write_notes(struct buf *out)
{
    osc_notify("4;1;50", OSC_9, false, true, out);
    osc_notify("a;b\x1b\\", OSC_777, false, true, out);
    osc_notify("c", OSC_9, true, true, out);
}

static void strings_hold_no_sequences(void **state)
{
    (void)state;
    autofree char *title = osc(write_title), *ascii = osc(write_ascii_title);
    assert_string_equal(title, "\x1b]0;shop ]0;x\u00e9\x07");
    assert_string_equal(ascii, "\x1b]0;caf? e\x07");
    autofree char *copies = osc(write_copies), *notes = osc(write_notes);
    assert_string_equal(copies, "\x1b]52;c;\x07\x1b]52;c;YQ==\x07\x1b]52;c;YWI=\x07"
                                "\x1b]52;c;YWL/\x07\x1bPtmux;\x1b\x1b]52;c;YWL/\x07\x1b\\");
    assert_string_equal(notes, "\x1b]9;hutch: 4;1;50\x07\x1b]777;notify;hutch;a;b\\\x07"
                               "\x1bPtmux;\x1b\x1b]9;c\x07\x1b\\");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(colors_are_brought_down),  cmocka_unit_test(styles_differ),
        cmocka_unit_test(backgrounds_are_legible),  cmocka_unit_test(pairs_are_shared_out),
        cmocka_unit_test(pairs_are_right_for_long), cmocka_unit_test(strings_hold_no_sequences),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
