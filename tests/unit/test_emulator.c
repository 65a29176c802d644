/* What a session's bytes become: cells, wishes, answers. */
#include "emulator_world.h"

#include "base/alloc.h"

static void test_text(void **state)
{
    struct world w;
    world_init(&w, 4, 10);
    feed(&w, "one\r\ntwo\r\n\tx\b\bAB");
    assert_shown(&w, "one\ntwo\n       AB");
    feed(&w, "\033[2;2HWO\033[K\033[1;1H\033[P");
    assert_shown(&w, "ne\ntWO\n       AB");
    assert_int_equal(w.grid->cursor_row, 0);
    assert_int_equal(w.grid->cursor_column, 0);
    assert_true(w.grid->cursor);
    feed(&w, "\033[?25l");
    free(shown(&w, 0, false));
    assert_false(w.grid->cursor);
    feed(&w, "\033[3;1H\033[L\033[1;1H\033[3@");
    assert_shown(&w, "   ne\ntWO\n\n       AB");
    world_finish(&w);
}

static void test_scroll(void **state)
{
    struct world w;
    world_init(&w, 3, 10);
    for (int i = 1; i <= 8; i++) {
        char line[16];
        snprintf(line, sizeof(line), "%sline %d", i > 1 ? "\r\n" : "", i);
        feed(&w, line);
    }
    assert_int_equal(emulator_lines(w.emulator), 5);
    assert_back(&w, 0, "line 6\nline 7\nline 8");
    assert_back(&w, 2, "line 4\nline 5\nline 6");
    assert_false(w.grid->cursor);
    assert_back(&w, 5, "line 1\nline 2\nline 3");
    assert_back(&w, 99, "line 1\nline 2\nline 3");
    /* A region scrolls without a trace in the history. */
    feed(&w, "\033[2;3r\033[3;1H\n\n\033[r");
    assert_int_equal(emulator_lines(w.emulator), 5);
    assert_shown(&w, "line 6");
    feed(&w, "\033[3J");
    assert_int_equal(emulator_lines(w.emulator), 0);
    world_finish(&w);
}

static void test_wide(void **state)
{
    struct world w;
    world_init(&w, 3, 6);
    feed(&w, "a\xe4\xb8\xad\xe6\x96\x87z");
    assert_shown(&w, "a\xe4\xb8\xad\xe6\x96\x87z");
    assert_int_equal(cell_at(&w, 0, 1).width, 2);
    assert_int_equal(cell_at(&w, 0, 2).width, 0);
    assert_int_equal(cell_at(&w, 0, 1).codes[0], 0x4e2d);
    /* A half is never left alone. */
    feed(&w, "\033[1;3Hx");
    assert_shown(&w, "a x\xe6\x96\x87z");
    assert_int_equal(cell_at(&w, 0, 1).width, 1);
    /* It does not fit whole: it wraps. */
    feed(&w, "\033[2;1H12345\xe4\xb8\xad");
    assert_shown(&w, "a x\xe6\x96\x87z\n12345\n\xe4\xb8\xad");
    /* Newer than libvterm's own tables. */
    feed(&w, "\033[2J\033[H\xf0\x9f\xa7\x91|");
    assert_int_equal(cell_at(&w, 0, 0).width, 2);
    assert_int_equal(cell_at(&w, 0, 2).codes[0], '|');
    world_finish(&w);
}

static void test_marks(void **state)
{
    struct world w;
    world_init(&w, 2, 8);
    feed(&w, "e\xcc\x81x");
    assert_int_equal(cell_at(&w, 0, 0).codes[1], 0x301);
    assert_int_equal(cell_at(&w, 0, 1).codes[0], 'x');
    /* Cut between the letter and the mark, and within the mark. */
    feed(&w, "\ro");
    feed(&w, "\xcc");
    feed(&w, "\x88y");
    assert_int_equal(cell_at(&w, 0, 0).codes[0], 'o');
    assert_int_equal(cell_at(&w, 0, 0).codes[1], 0x308);
    assert_int_equal(cell_at(&w, 0, 1).codes[0], 'y');
    /* No more than a cell holds; none without a letter. */
    for (int i = 0; i < 1000; i++)
        feed(&w, "\xcc\x81");
    assert_int_equal(cell_at(&w, 0, 1).codes[CELL_CODES - 1], 0x301);
    feed(&w, "\r\n\xcc\x81z");
    assert_int_equal(cell_at(&w, 1, 0).codes[0], 'z');
    assert_int_equal(cell_at(&w, 1, 0).codes[1], 0);
    world_finish(&w);
}

static void test_misleading(void **state)
{
    struct world w;
    world_init(&w, 2, 20);
    /* Direction, zero width, soft hyphen, tags, C1: nothing of them gets into a cell. */
    feed(&w, "a\xe2\x80\xae"
             "b\xe2\x80\x8b"
             "c\xc2\xad"
             "d\xf3\xa0\x81\x81"
             "e\xc2\x9b"
             "31mf\xc2\xa0g");
    assert_shown(&w, "abcde31mf g");
    /* Broken UTF-8 is shown as broken, one sign for each piece. */
    feed(&w, "\r\n\xff|\xc3|\xe4\xb8|\xed\xa0\x80|\x9b"
             "1m");
    char *text = shown(&w, 0, false);
    assert_non_null(strstr(text, "\xef\xbf\xbd|\xef\xbf\xbd|\xef\xbf\xbd|\xef\xbf\xbd|\xef\xbf\xbd"
                                 "1m"));
    free(text);
    /* The symbols of prompts stay. */
    feed(&w, "\033[2J\033[H\xee\x82\xb0x");
    assert_int_equal(cell_at(&w, 0, 0).codes[0], 0xe0b0);
    world_finish(&w);
}

static void test_looks(void **state)
{
    struct world w;
    world_init(&w, 2, 20);
    feed(&w,
         "\033[1;3;4;7;9;5ma\033[0;2mb\033[22mc\033[31md\033[38;5;200me\033[38;2;1;2;3mf\033[38:2::4:5:6mg"
         "\033[48;5;7;58;5;2mh\033[4:0;58:2::9:9:9mi\033[4:3mj\033[94;103mk\033[39;49ml\033[mm");
    const struct {
        int attr;
        uint32_t fg, bg;
    } expected[] = {
        {ATTR_BOLD | ATTR_ITALIC | ATTR_UNDERLINE | ATTR_REVERSE | ATTR_STRIKE | ATTR_BLINK, 0, 0},
        {ATTR_DIM, 0, 0},
        {0, 0, 0},
        {0, COLOR_INDEX | 1, 0},
        {0, COLOR_INDEX | 200, 0},
        {0, COLOR_RGB | 0x010203, 0},
        {0, COLOR_RGB | 0x040506, 0},
        {0, COLOR_RGB | 0x040506, COLOR_INDEX | 7},
        {0, COLOR_RGB | 0x040506, COLOR_INDEX | 7},
        {ATTR_UNDERLINE, COLOR_RGB | 0x040506, COLOR_INDEX | 7},
        {ATTR_UNDERLINE, COLOR_INDEX | 12, COLOR_INDEX | 11},
        {ATTR_UNDERLINE, 0, 0},
        {0, 0, 0},
    };
    for (size_t i = 0; i < countof(expected); i++) {
        struct cell cell = cell_at(&w, 0, (int)i);
        assert_int_equal(cell.codes[0], 'a' + i);
        assert_int_equal(cell.attr, expected[i].attr);
        assert_int_equal(cell.fg, expected[i].fg);
        assert_int_equal(cell.bg, expected[i].bg);
        assert_int_equal(cell.style, STYLE_GUEST);
    }
    /* What is erased takes the background; saved looks come back; concealed text is not in the cells. */
    feed(&w, "\033[44m\033[2;1H\033[K\0337\033[0;31m\0338x\033[0;8msecret\033[28m");
    assert_int_equal(cell_at(&w, 1, 0).bg, COLOR_INDEX | 4);
    assert_int_equal(cell_at(&w, 1, 19).bg, COLOR_INDEX | 4);
    char *text = shown(&w, 0, false);
    assert_null(strstr(text, "secret"));
    free(text);
    world_finish(&w);
}

static void test_line_drawing(void **state)
{
    struct world w;
    world_init(&w, 2, 10);
    feed(&w, "\033(0lqk\033(Bq\016q\017");
    assert_shown(&w, "\xe2\x94\x8c\xe2\x94\x80\xe2\x94\x90qq");
    feed(&w, "\r\n-\033[4b|");
    assert_shown(&w, "\xe2\x94\x8c\xe2\x94\x80\xe2\x94\x90qq\n-----|");
    world_finish(&w);
}

static void test_alternate(void **state)
{
    struct world w;
    world_init(&w, 3, 10);
    feed(&w, "1\r\n2\r\n3\r\n\033[31mprompt");
    feed(&w, "\033[?1049h\033[0;1m\033[2;2Hfull\r\n\n\n\n");
    struct emulator_wants wants;
    emulator_wants(w.emulator, &wants);
    assert_true(wants.alternate);
    assert_int_equal(emulator_lines(w.emulator), 0);
    feed(&w, "\033[?1049lX");
    assert_shown(&w, "2\n3\npromptX");
    assert_int_equal(cell_at(&w, 2, 6).fg, COLOR_INDEX | 1);
    assert_int_equal(emulator_lines(w.emulator), 1);
    /* A reset leaves it as well. */
    feed(&w, "\033[?47h\033[?2004h\033c");
    emulator_wants(w.emulator, &wants);
    assert_false(wants.alternate);
    assert_false(wants.paste);
    assert_int_equal(emulator_lines(w.emulator), 1);
    world_finish(&w);
}

static void test_wishes(void **state)
{
    struct world w;
    struct emulator_wants wants;
    world_init(&w, 3, 10);
    feed(&w, "\033[?1000;1006;1004;2004h");
    emulator_wants(w.emulator, &wants);
    assert_int_equal(wants.modes, EMULATOR_MOUSE_CLICKS | EMULATOR_FOCUS);
    assert_true(wants.paste && wants.focus && wants.cursor && !wants.alternate);
    feed(&w, "\033[?1003h");
    emulator_wants(w.emulator, &wants);
    assert_true(wants.modes & EMULATOR_MOUSE_MOVE);
    feed(&w, "\033[?1003l\033[?1004l\033[>1u");
    emulator_wants(w.emulator, &wants);
    assert_int_equal(wants.modes, EMULATOR_KITTY_KEYS);
    /* The stack is limited, and each screen has its own. */
    for (int i = 0; i < 1000; i++)
        feed(&w, "\033[>1u");
    feed(&w, "\033[?u");
    assert_sent(&w, "\033[?1u");
    feed(&w, "\033[?1049h\033[?u\033[?1049l\033[?u");
    assert_sent(&w, "\033[?0u\033[?1u");
    feed(&w, "\033[<99u\033[?u\033[=1;1u\033[?u\033[=1;3u\033[?u");
    assert_sent(&w, "\033[?0u\033[?1u\033[?0u");
    world_finish(&w);
}

static void A16_answers(void **state)
{
    struct world w;
    world_init(&w, 5, 10);
    feed(&w, "\033[3;4H\033[6n\033[5n\033[c\033[>c\033[?2004$p\033[?9999$p\033[18t");
    assert_sent(&w, "\033[3;4R\033[0n\033[?62;22c\033[>0;100;0c\033[?2004;2$y\033[8;5;10t");
    /* Nothing that would give a guest's own text back. */
    feed(&w,
         "\033]0;rm -rf\007\033[21t\033[20t\033]l\033P$qm\033\\\033P+q544e\033\\\033]52;c;?\007\033]10;?\007"
         "\033[1;1;1;1;5;10*y\033[>q\005\033[x\033]4;1;?\033\\\033Z");
    assert_sent(&w, "");
    assert_shown(&w, "");
    world_finish(&w);
}

static void A16_strings(void **state)
{
    static const char *const dropped[] = {
        "\033]0;title\007",
        "\033]52;c;aGFsbG8=\033\\",
        "\033P0;1|17/ab\033\\",
        "\033_Gf=32;AAAA\033\\",
        "\033^private\033\\",
        "\033Xstring\033\\",
        "\033ktitle\033\\",
        "\033]1337;File=a:AAAA\007",
        "\033]9;4;1;50\033\\",
        "\033]777;notify;a;b\007",
        "\033[5i",
        "\033[?1337h",
        "\033[>4;1m",
        "\033[1;2;3;4;5;6;7;8;9z",
        "\033#8",
        "\033%@",
    };
    for (size_t i = 0; i < countof(dropped); i++) {
        struct world w;
        world_init(&w, 2, 20);
        feed(&w, "a");
        feed(&w, dropped[i]);
        feed(&w, "b");
        assert_shown(&w, "ab");
        /* The same, cut at each byte. */
        feed(&w, "\r\n");
        for (const char *p = dropped[i]; *p; p++)
            emulator_feed(w.emulator, (const uint8_t *)p, 1);
        feed(&w, "c");
        assert_shown(&w, "ab\nc");
        assert_sent(&w, "");
        world_finish(&w);
    }
}

static void test_hyperlink(void **state)
{
    struct world w;
    world_init(&w, 2, 30);
    feed(&w, "see \033]8;id=1;https://a.example/\033\\this page\033]8;;\033\\ now");
    assert_shown(&w, "see this page now");
    /* A string that another sequence cuts is over; BEL ends a command only. */
    feed(&w, "\r\n\033]0;never ended\033[1mbold\033Pq\007still\033\\.");
    assert_shown(&w, "see this page now\nbold.");
    world_finish(&w);
}

static void test_long_sequences(void **state)
{
    struct world w;
    world_init(&w, 2, 20);
    feed(&w, "\033[");
    for (int i = 0; i < 5000; i++)
        feed(&w, "1;");
    feed(&w, "mx\033[99999999999999999999Cy\033[2;18H\033[4294967295b!");
    assert_shown(&w, "x                  y\n                 !");
    world_finish(&w);
}

static void test_bell(void **state)
{
    struct world w;
    world_init(&w, 2, 20);
    feed(&w, "\007\007\007");
    assert_int_equal(w.bells, 1);
    feed(&w, "\033]0;x\007");
    assert_int_equal(w.bells, 1);
    assert_true(emulator_changed(w.emulator));
    assert_false(emulator_changed(w.emulator));
    feed(&w, "x");
    assert_true(emulator_changed(w.emulator));
    world_finish(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text),           cmocka_unit_test(test_scroll),
        cmocka_unit_test(test_wide),           cmocka_unit_test(test_marks),
        cmocka_unit_test(test_misleading),     cmocka_unit_test(test_looks),
        cmocka_unit_test(test_line_drawing),   cmocka_unit_test(test_alternate),
        cmocka_unit_test(test_wishes),         cmocka_unit_test(A16_answers),
        cmocka_unit_test(A16_strings),        cmocka_unit_test(test_hyperlink),
        cmocka_unit_test(test_long_sequences), cmocka_unit_test(test_bell),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
