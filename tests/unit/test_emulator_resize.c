/* Other sizes: lines are wrapped anew and nothing is lost; searches and URLs over wrapped lines; the bound of
 * what is kept. */
#include "emulator_world.h"

#include "base/alloc.h"
#include "ui/pane/history.h"

static void test_narrow_and_back(void **state)
{
    struct world w;
    world_init(&w, 4, 20);
    feed(&w, "a line of 18 chars\r\nsecond\r\n$ ");
    resize(&w, 4, 8);
    assert_shown(&w, "f 18 cha\nrs\nsecond\n$");
    assert_back(&w, 1, "a line o\nf 18 cha\nrs\nsecond");
    resize(&w, 4, 20);
    assert_shown(&w, "a line of 18 chars\nsecond\n$");
    assert_int_equal(w.grid->cursor_row, 2);
    assert_int_equal(w.grid->cursor_column, 2);
    feed(&w, "ls");
    assert_shown(&w, "a line of 18 chars\nsecond\n$ ls");
    world_finish(&w);
}

static void test_wrapped_line_joins(void **state)
{
    struct world w;
    world_init(&w, 4, 10);
    feed(&w, "0123456789abcdefghijABC\r\nnext");
    assert_shown(&w, "0123456789\nabcdefghij\nABC\nnext");
    resize(&w, 4, 30);
    assert_shown(&w, "0123456789abcdefghijABC\nnext");
    resize(&w, 4, 5);
    assert_shown(&w, "abcde\nfghij\nABC\nnext");
    feed(&w, "\033[2J\033[3J");
    resize(&w, 4, 10);
    /* A line that fills its row exactly and ends there does not go on. */
    feed(&w, "\033[H0123456789\r\nsecond");
    resize(&w, 4, 30);
    assert_shown(&w, "0123456789\nsecond");
    world_finish(&w);
}

/* What is written over the lower part of a line that has partly left is not of that line. */
static void test_cleared_line(void **state)
{
    struct world w;
    world_init(&w, 2, 5);
    feed(&w, "abcdefghijkl\033[2J\033[Hnew");
    resize(&w, 4, 20);
    assert_shown(&w, "new");
    resize(&w, 2, 5);
    feed(&w, "\033[2J\033[Habcdefghijkl\033[H\033Mtop");
    resize(&w, 2, 20);
    assert_shown(&w, "top\nfghij");
    world_finish(&w);
}

/* The cut is where the reader of it makes no difference: text in two pieces, looks between. */
static void test_wrap_across_pieces(void **state)
{
    struct world w;
    world_init(&w, 4, 5);
    feed(&w, "abcde");
    feed(&w, "\033[1m");
    feed(&w, "fgh");
    resize(&w, 4, 10);
    assert_shown(&w, "abcdefgh");
    /* Placed, not wrapped. */
    feed(&w, "\033[2J\033[1;1H0123456789\033[2;1Hx");
    resize(&w, 4, 20);
    assert_shown(&w, "0123456789\nx");
    world_finish(&w);
}

static void test_cursor_at_edge(void **state)
{
    struct world w;
    world_init(&w, 3, 5);
    feed(&w, "abcde");
    resize(&w, 3, 8);
    feed(&w, "f");
    assert_shown(&w, "abcdef");
    resize(&w, 3, 3);
    feed(&w, "g");
    assert_shown(&w, "abc\ndef\ng");
    resize(&w, 3, 8);
    assert_shown(&w, "abcdefg");
    world_finish(&w);
}

static void test_wide_wraps(void **state)
{
    struct world w;
    world_init(&w, 3, 7);
    feed(&w, "\xe4\xb8\x80\xe4\xba\x8c\xe4\xb8\x89\xe5\x9b\x9b\xe4\xba\x94");
    assert_shown(&w, "\xe4\xb8\x80\xe4\xba\x8c\xe4\xb8\x89\n\xe5\x9b\x9b\xe4\xba\x94");
    resize(&w, 3, 20);
    assert_shown(&w, "\xe4\xb8\x80\xe4\xba\x8c\xe4\xb8\x89\xe5\x9b\x9b\xe4\xba\x94");
    resize(&w, 3, 5);
    assert_shown(&w, "\xe4\xb8\x80\xe4\xba\x8c\n\xe4\xb8\x89\xe5\x9b\x9b\n\xe4\xba\x94");
    resize(&w, 3, 1);
    resize(&w, 3, 20);
    assert_shown(&w, "\xe4\xb8\x80\xe4\xba\x8c\xe4\xb8\x89\xe5\x9b\x9b\xe4\xba\x94");
    world_finish(&w);
}

static void test_rows(void **state)
{
    struct world w;
    world_init(&w, 5, 10);
    feed(&w, "1\r\n2\r\n3\r\n4\r\n5");
    resize(&w, 3, 10);
    assert_shown(&w, "3\n4\n5");
    assert_int_equal(emulator_lines(w.emulator), 2);
    resize(&w, 7, 10);
    assert_shown(&w, "1\n2\n3\n4\n5");
    assert_int_equal(w.grid->cursor_row, 4);
    /* What was cleared away is not pulled back over a short screen. */
    feed(&w, "\r\n6\r\n7\r\n8\r\n9\033[2J\033[H$ ");
    resize(&w, 9, 10);
    assert_shown(&w, "$");
    world_finish(&w);
}

static void test_alternate(void **state)
{
    struct world w;
    world_init(&w, 4, 12);
    feed(&w, "a long first \r\nline\r\n$ vi");
    feed(&w, "\033[?1049h\033[1;1Htop 12345678\033[4;1Hstatus line");
    resize(&w, 2, 5);
    assert_shown(&w, "top 1");
    resize(&w, 4, 12);
    assert_shown(&w, "top 12345678\n\n\nstatus line");
    /* What was drawn meanwhile counts. */
    resize(&w, 2, 5);
    feed(&w, "\033[2;1Hnew\033[K");
    resize(&w, 4, 12);
    assert_shown(&w, "top 1\nnew");
    resize(&w, 4, 30);
    feed(&w, "\033[?1049l");
    assert_shown(&w, "a long first\nline\n$ vi");
    feed(&w, "m");
    assert_shown(&w, "a long first\nline\n$ vim");
    world_finish(&w);
}

/* A place that was saved on a large screen and is taken back on a small one. */
static void test_saved_place(void **state)
{
    struct world w;
    world_init(&w, 100, 200);
    feed(&w, "\033[100;200H\0337\033[?1048h");
    resize(&w, 2, 3);
    feed(&w, "\0338x\033[?1048ly\033[uz\033[?1049h\033[?1049l");
    assert_shown(&w, "\n  z");
    world_finish(&w);
}

static void test_storm(void **state)
{
    struct world w;
    world_init(&w, 24, 80);
    for (int i = 0; i < 200; i++) {
        char line[200];
        snprintf(line, sizeof(line), "line %d %0*d\xe4\xb8\xad end %d\r\n", i, 1 + i % 120, 7, i);
        feed(&w, line);
    }
    feed(&w, "$ ");
    char *before = shown(&w, 0, false);
    int lines = emulator_lines(w.emulator);
    unsigned seed = 7;
    for (int i = 0; i < 300; i++) {
        seed = seed * 1103515245 + 12345;
        resize(&w, 1 + (int)(seed >> 16) % 60, 1 + (int)(seed >> 8) % 150);
        free(shown(&w, i % 5, false));
    }
    resize(&w, 24, 80);
    char *after = shown(&w, 0, false);
    assert_string_equal(after, before);
    assert_int_equal(emulator_lines(w.emulator), lines);
    free(before);
    free(after);
    world_finish(&w);
}

static void test_bounds(void **state)
{
    struct history *history = history_create(100, 20000, 10);
    struct cell cells[10];
    for (int i = 0; i < 10; i++) {
        cells[i] = history_blank();
        cells[i].codes[0] = (uint32_t)'a' + i;
        cells[i].fg = COLOR_RGB | (uint32_t)i;
    }
    for (int i = 0; i < 5000; i++)
        history_push(history, cells, 10, false);
    assert_true(history_rows(history) <= 100);
    assert_true(history_rows(history) > 20);
    assert_true(history_bytes(history) <= 20000);
    struct cell back[10];
    assert_false(history_row(history, 3, back));
    for (int i = 0; i < 10; i++)
        assert_true(cell_equal(&cells[i], &back[i]));
    /* One endless line is kept in pieces, and bounded too. */
    for (int i = 0; i < 50000; i++)
        history_push(history, cells, 10, true);
    assert_true(history_bytes(history) <= 20000 + HISTORY_LINE_CELLS * 32);
    history_set_columns(history, 7);
    assert_true(history_rows(history) > 0);
    history_free(history);
}

static void test_search(void **state)
{
    struct world w;
    world_init(&w, 3, 10);
    feed(&w, "First needle\r\nplain\r\nNeedle\r\n\r\nlast\r\n$");
    /* Rows from the bottom: 0 "$", 1 "last", 2 "", 3 "Needle", 4 "plain", 5 "le", 6 "First need". */
    assert_int_equal(emulator_search(w.emulator, "needle", 0, true), 3);
    assert_int_equal(emulator_search(w.emulator, "needle", 4, true), 6);
    assert_int_equal(emulator_search(w.emulator, "needle", 7, true), -1);
    assert_int_equal(emulator_search(w.emulator, "Needle", 0, true), 3);
    assert_int_equal(emulator_search(w.emulator, "Needle", 4, true), -1);
    assert_int_equal(emulator_search(w.emulator, "needle", 5, false), 3);
    assert_int_equal(emulator_search(w.emulator, "", 0, true), -1);
    assert_int_equal(emulator_search(w.emulator, "nothing", 0, true), -1);
    assert_back(&w, 3, "le\nplain\nNeedle");
    world_finish(&w);
}

#define assert_text_at(world, back, row, column, url, expected)                                              \
    do {                                                                                                     \
        char *found_text = emulator_text_at((world)->emulator, (back), (row), (column), (url));              \
        if ((expected))                                                                                      \
            assert_non_null(found_text);                                                                     \
        else                                                                                                 \
            assert_null(found_text);                                                                         \
        if (found_text)                                                                                      \
            assert_string_equal(found_text, (const char *)(expected));                                       \
        free(found_text);                                                                                    \
    } while (0)

static void test_url(void **state)
{
    struct world w;
    world_init(&w, 4, 20);
    feed(&w, "see (https://a.example/path/of_(some)/len?x=1#y). Then\r\n");
    const char *url = "https://a.example/path/of_(some)/len?x=1#y";
    assert_text_at(&w, 0, 0, 5, true, url);
    assert_text_at(&w, 0, 1, 0, true, url);
    assert_text_at(&w, 0, 2, 2, true, url);
    assert_text_at(&w, 0, 0, 1, true, NULL);
    assert_text_at(&w, 0, 0, 4, true, NULL);
    assert_text_at(&w, 0, 2, 9, true, NULL);
    assert_text_at(&w, 0, 1, 3, false, "see (https://a.example/path/of_(some)/len?x=1#y). Then");
    assert_text_at(&w, 0, 9, 9, true, NULL);
    assert_text_at(&w, 0, 3, 0, false, NULL);
    /* Partly scrolled away. */
    feed(&w, "\r\n\r\n");
    assert_text_at(&w, 0, 0, 0, true, url);
    assert_text_at(&w, 2, 0, 8, true, url);
    /* A program that breaks it by itself, on its own screen. */
    feed(&w, "\033[?1049h\033[1;11Hhttp://b.e\033[2;1Hxample/1 .");
    assert_text_at(&w, 0, 0, 12, true, "http://b.example/1");
    assert_text_at(&w, 0, 1, 3, true, "http://b.example/1");
    assert_text_at(&w, 0, 0, 12, false, "          http://b.e");
    world_finish(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_narrow_and_back),
        cmocka_unit_test(test_wrapped_line_joins),
        cmocka_unit_test(test_cleared_line),
        cmocka_unit_test(test_wrap_across_pieces),
        cmocka_unit_test(test_cursor_at_edge),
        cmocka_unit_test(test_wide_wraps),
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_alternate),
        cmocka_unit_test(test_saved_place),
        cmocka_unit_test(test_storm),
        cmocka_unit_test(test_bounds),
        cmocka_unit_test(test_search),
        cmocka_unit_test(test_url),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
