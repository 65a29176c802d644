/* A terminal's pane driven by messages: what it asks hutchd for, what its keys do, what it shows. Golden
 * files are tests/screen/golden/terminal-…; GENERATE=1 writes them anew. */
#include "terminal_pane.h"

/* ---- what is asked of hutchd ---- */

static void test_life(void **state)
{
    struct pane p;
    uint64_t out = live(&p, 6, 40);
    output(&p, out, 0, "$ ");
    key(&p, "l");
    uint64_t in = expect_input(&p, "l");
    key(&p, "s");
    assert_int_equal(expect_input(&p, "s"), in);
    output(&p, out, 2, "ls");
    assert_row(&p, 0, "$ ls");
    /* The program takes no more: the next key opens anew. */
    answer(&p, in, "{}");
    key(&p, "Enter");
    assert_int_not_equal(expect_input(&p, "\r"), in);
    send(&p, &(struct message){.type = MESSAGE_ANSWER, .id = out});
    answer(&p, expect(&p, EFFECT_CALL, "/v1/projects/shop/sessions/s-1/wait"), "{\"exit_status\":3}");
    assert_int_equal(terminal_state(p.terminal), TERMINAL_ENDED);
    assert_int_equal(terminal_exit_status(p.terminal), 3);
    expect(&p, EFFECT_CANCEL, NULL);
    assert_row(&p, 5, "ended: exit 3 | Enter closes");
    assert_int_equal(terminal_asked(p.terminal), TERMINAL_ASK_NONE);
    keys(&p, "x Enter");
    assert_int_equal(terminal_asked(p.terminal), TERMINAL_ASK_CLOSE);
    assert_int_equal(terminal_asked(p.terminal), TERMINAL_ASK_NONE);
    expect_nothing(&p);
    close_pane(&p);
}

static void test_alone(void **state)
{
    struct pane p;
    open_pane(&p, 6, 40, NULL, true);
    answer(&p, expect(&p, EFFECT_CALL, "/v1/projects/shop/sessions/s-1"), "{\"state\":\"exited\"}");
    uint64_t out = expect(&p, EFFECT_BYTES, "/v1/projects/shop/sessions/s-1/stdout");
    expect_nothing(&p);
    send(&p, &(struct message){.type = MESSAGE_ANSWER, .id = out});
    answer(&p, expect(&p, EFFECT_CALL, "/v1/projects/shop/sessions/s-1/wait"), "{\"exit_status\":0}");
    assert_int_equal(terminal_asked(p.terminal), TERMINAL_ASK_CLOSE);
    close_pane(&p);
}

static void test_gone(void **state)
{
    struct pane p;
    open_pane(&p, 6, 60, NULL, false);
    refuse(&p, expect(&p, EFFECT_CALL, "/v1/projects/shop/sessions/s-1"), ERROR_NOT_FOUND,
           "there is no session \"s-1\"");
    assert_int_equal(terminal_state(p.terminal), TERMINAL_GONE);
    assert_int_equal(terminal_exit_status(p.terminal), 125);
    assert_row(&p, 5, "gone: there is no session \"s-1\" | Enter closes");
    tick(&p, 10000);
    send(&p, &(struct message){.type = MESSAGE_UP});
    expect_nothing(&p);
    close_pane(&p);
}

/* Cut in the middle of the output: it goes on where it was, without loss and without doubles. */
static void test_comes_back(void **state)
{
    struct pane p;
    uint64_t out = live(&p, 6, 60);
    output(&p, out, 0, "one ");
    key(&p, "a");
    expect_input(&p, "a");
    send(&p, &(struct message){.type = MESSAGE_DOWN});
    assert_int_equal(terminal_state(p.terminal), TERMINAL_LOST);
    assert_row(&p, 5, "[shop] shell | connection lost, coming back | ^] ?");
    key(&p, "b");
    expect_nothing(&p);
    assert_row(&p, 5, "[shop] shell | connection lost, coming back | not connected+");
    output(&p, out, 4, "of the old connection");
    send(&p, &(struct message){.type = MESSAGE_UP});
    answer(&p, expect(&p, EFFECT_CALL, "/v1/projects/shop/sessions/s-1"),
           "{\"state\":\"running\",\"out_total\":20}");
    out = expect(&p, EFFECT_BYTES, "/v1/projects/shop/sessions/s-1/stdout?from=4");
    expect_size(&p, 5, 60);
    answer(&p, p.ids, "{}");
    output(&p, out, 2, "e two");
    assert_row(&p, 0, "one two");
    /* A question that nobody has seen before is answered. */
    output(&p, out, 7, "\033[5n");
    expect_input(&p, "\033[0n");
    /* The worker went: hutchd is there, the session is tried again. */
    refuse(&p, out, ERROR_GUEST, "the guest of \"shop\" does not answer");
    assert_int_equal(terminal_state(p.terminal), TERMINAL_LOST);
    expect(&p, EFFECT_CANCEL, NULL);
    assert_true(terminal_ticks(p.terminal));
    tick(&p, 500);
    expect_nothing(&p);
    tick(&p, 2000);
    refuse(&p, expect(&p, EFFECT_CALL, "/v1/projects/shop/sessions/s-1"), ERROR_STATE, "\"shop\" is saved");
    assert_int_equal(terminal_state(p.terminal), TERMINAL_LOST);
    assert_row(&p, 5, "[shop] shell | connection lost, coming back | ^] ?");
    assert_string_equal(terminal_error(p.terminal), "\"shop\" is saved");
    tick(&p, 2500);
    answer(&p, expect(&p, EFFECT_CALL, "/v1/projects/shop/sessions/s-1"), "{\"state\":\"running\"}");
    expect(&p, EFFECT_BYTES, "/v1/projects/shop/sessions/s-1/stdout?from=11");
    assert_int_equal(terminal_state(p.terminal), TERMINAL_LIVE);
    close_pane(&p);
}

/* What was written before one came: questions in it were meant for others. */
static void test_replay(void **state)
{
    struct pane p;
    open_pane(&p, 6, 40, NULL, false);
    answer(&p, expect(&p, EFFECT_CALL, "/v1/projects/shop/sessions/s-1"),
           "{\"state\":\"running\",\"out_total\":8}");
    uint64_t out = expect(&p, EFFECT_BYTES, "/v1/projects/shop/sessions/s-1/stdout");
    expect_size(&p, 5, 40);
    output(&p, out, 0, "\033[5n\007old\033[5n\007");
    expect_input(&p, "\033[0n");
    expect(&p, EFFECT_BELL, NULL);
    expect_nothing(&p);
    close_pane(&p);
}

/* Output that was overwritten: said, and the program is made to draw anew by another size. */
static void test_overwritten(void **state)
{
    struct pane p;
    uint64_t out = live(&p, 6, 60);
    output(&p, out, 0, "abc");
    output(&p, out, 1000, "def");
    expect_size(&p, 4, 60);
    answer(&p, p.ids, "{}");
    expect_size(&p, 5, 60);
    answer(&p, p.ids, "{}");
    expect_nothing(&p);
    assert_row(&p, 0, "abcdef");
    assert_row(&p, 5, "[shop] shell | 997 bytes of output were overwritten + | ^] ?");
    close_pane(&p);
}

static void test_sizes(void **state)
{
    struct pane p;
    live(&p, 6, 40);
    terminal_resize(p.terminal, 6, 40, &p.effects);
    expect_nothing(&p);
    terminal_resize(p.terminal, 7, 40, &p.effects);
    expect_size(&p, 6, 40);
    /* A storm is one call at a time, and the last size wins. */
    uint64_t call = p.ids;
    for (int i = 8; i < 30; i++)
        terminal_resize(p.terminal, i, 40, &p.effects);
    expect_nothing(&p);
    answer(&p, call, "{}");
    expect_size(&p, 28, 40);
    answer(&p, p.ids, "{}");
    expect_nothing(&p);
    close_pane(&p);
}

static void expect_modes(struct pane *p, int modes)
{
    auto(effect) struct effect *effect = effects_take(&p->effects);
    assert_non_null(effect);
    assert_int_equal(effect->type, EFFECT_MODES);
    assert_int_equal(effect->number, modes);
}

static void test_modes(void **state)
{
    struct pane p;
    uint64_t out = live(&p, 6, 40);
    output(&p, out, 0, "\033[?1002;1006;1004h");
    expect_modes(&p, EMULATOR_MOUSE_CLICKS | EMULATOR_MOUSE_DRAG | EMULATOR_FOCUS);
    terminal_focus(p.terminal, false, &p.effects);
    expect_input(&p, "\033[O");
    expect_modes(&p, 0);
    terminal_focus(p.terminal, true, &p.effects);
    expect_input(&p, "\033[I");
    expect_modes(&p, EMULATOR_MOUSE_CLICKS | EMULATOR_MOUSE_DRAG | EMULATOR_FOCUS);
    keys(&p, "^] [");
    expect_modes(&p, 0);
    key(&p, "q");
    expect_modes(&p, EMULATOR_MOUSE_CLICKS | EMULATOR_MOUSE_DRAG | EMULATOR_FOCUS);
    send(&p, &(struct message){.type = MESSAGE_DOWN});
    expect_modes(&p, 0);
    close_pane(&p);
}

/* ---- keys ---- */

static void test_prefix(void **state)
{
    static const struct {
        const char *name;
        enum terminal_ask ask;
    } asks[] = {
        {"d", TERMINAL_ASK_LEAVE},
        {"f", TERMINAL_ASK_FULL},
    };
    struct pane p;
    live(&p, 6, 80);
    for (size_t i = 0; i < countof(asks); i++) {
        key(&p, "^]");
        assert_int_equal(terminal_mode(p.terminal), TERMINAL_PREFIX);
        key(&p, asks[i].name);
        assert_int_equal(terminal_asked(p.terminal), asks[i].ask);
        assert_int_equal(terminal_mode(p.terminal), TERMINAL_TYPING);
    }
    expect_nothing(&p);
    keys(&p, "^] ^]");
    expect_input(&p, "\x1d");
    keys(&p, "^] Escape");
    expect_nothing(&p);
    keys(&p, "^] x");
    expect_nothing(&p);
    assert_row(&p, 5, "[shop] shell | ^] x does nothing; ^] ? shows the keys | ^] ? keys, ^] d leave");
    key(&p, "x");
    expect_input(&p, "x");
    assert_null(terminal_note(p.terminal));
    keys(&p, "^] x");
    tick(&p, 5000);
    assert_non_null(terminal_note(p.terminal));
    assert_true(terminal_ticks(p.terminal));
    tick(&p, 5000);
    assert_null(terminal_note(p.terminal));
    assert_false(terminal_ticks(p.terminal));
    /* Help takes one key and gives it to nobody. */
    keys(&p, "^] ?");
    assert_int_equal(terminal_mode(p.terminal), TERMINAL_HELP);
    key(&p, "x");
    assert_int_equal(terminal_mode(p.terminal), TERMINAL_TYPING);
    expect_nothing(&p);
    /* A paste is never an answer to the prefix. */
    key(&p, "^]");
    char pasted[] = "d";
    send(&p, &(struct message){.type = MESSAGE_KEY,
                               .key = {.type = KEY_EVENT_PASTE, .paste = pasted, .paste_len = 1}});
    expect_input(&p, "d");
    assert_int_equal(terminal_asked(p.terminal), TERMINAL_ASK_NONE);
    close_pane(&p);
}

static void test_other_escape(void **state)
{
    struct pane p;
    open_pane(&p, 6, 80, "^T", false);
    assert_string_equal(terminal_escape(p.terminal), "^T");
    effects_finish(&p.effects);
    keys(&p, "^] ^T d");
    expect_input(&p, "\x1d");
    assert_int_equal(terminal_asked(p.terminal), TERMINAL_ASK_LEAVE);
    close_pane(&p);
    open_pane(&p, 6, 80, "none", false);
    effects_finish(&p.effects);
    assert_null(terminal_escape(p.terminal));
    keys(&p, "^] d");
    expect_input(&p, "\x1d");
    expect_input(&p, "d");
    assert_int_equal(terminal_asked(p.terminal), TERMINAL_ASK_NONE);
    close_pane(&p);
}

static void fill(struct pane *p, uint64_t out, int lines)
{
    uint64_t offset = 0;
    for (int i = 1; i <= lines; i++) {
        autofree char *line =
            xasprintf("line %d%s\r\n", i, i == 10 ? " see https://docs.example/a/long/path?q=1 now" : "");
        output(p, out, offset, line);
        offset += strlen(line);
    }
}

static void expect_copy(struct pane *p, const char *text)
{
    auto(effect) struct effect *effect = effects_take(&p->effects);
    assert_non_null(effect);
    assert_int_equal(effect->type, EFFECT_COPY);
    assert_string_equal(effect->text, text);
}

static void test_scroll(void **state)
{
    struct pane p;
    struct terminal_scroll scroll;
    uint64_t out = live(&p, 6, 30), at = 20000;
    fill(&p, out, 40);
    assert_row(&p, 0, "line 37");
    keys(&p, "^] [");
    assert_int_equal(terminal_mode(p.terminal), TERMINAL_SCROLL);
    assert_row(&p, 0, "line 37");
    keys(&p, "k k k k k");
    assert_row(&p, 0, "line 36");
    key(&p, "PageUp");
    assert_row(&p, 0, "line 32");
    /* What comes meanwhile does not move what one reads. */
    terminal_scroll(p.terminal, &scroll);
    output(&p, out, 9999, "new\r\nnew\r\n");
    assert_row(&p, 0, "line 32");
    effects_finish(&p.effects);
    key(&p, "g");
    assert_row(&p, 0, "line 1");
    /* Not even when the oldest lines go; only what has gone itself is not shown any more. */
    keys(&p, "PageDown PageDown PageDown");
    assert_row(&p, 0, "line 12");
    for (int i = 0; i < 30; i++, at += 6)
        output(&p, out, at, "more\r\n");
    assert_row(&p, 0, "line 12");
    for (int i = 0; i < 30; i++, at += 6)
        output(&p, out, at, "more\r\n");
    effects_finish(&p.effects);
    assert_row(&p, 0, "line 39");
    keys(&p, "g k k PageUp");
    assert_row(&p, 0, "line 39");
    keys(&p, "G j j");
    terminal_scroll(p.terminal, &scroll);
    assert_int_equal(scroll.back, 0);
    assert_int_equal(scroll.row, 4);
    /* Keys are not the session's here. */
    key(&p, "x");
    expect_nothing(&p);
    assert_non_null(terminal_note(p.terminal));
    key(&p, "q");
    assert_int_equal(terminal_mode(p.terminal), TERMINAL_TYPING);
    key(&p, "x");
    expect_input(&p, "x");
    close_pane(&p);
}

static void test_search_and_copy(void **state)
{
    struct pane p;
    struct terminal_scroll scroll;
    uint64_t out = live(&p, 6, 30);
    fill(&p, out, 40);
    keys(&p, "^] [ / H T T P x Backspace");
    assert_int_equal(terminal_mode(p.terminal), TERMINAL_SEARCH);
    assert_row(&p, 5, "search above: HTTP");
    keys(&p, "Enter");
    assert_non_null(strstr(terminal_note(p.terminal), "not found above: HTTP"));
    keys(&p, "/ h t t p Enter");
    terminal_scroll(p.terminal, &scroll);
    autofree char *found = row_text(&p, scroll.row);
    assert_string_equal(found, "line 10 see https://docs.examp");
    assert_int_equal(scroll.column, 12);
    assert_int_equal(grid_at(p.grid, scroll.row, 12)->style, STYLE_MATCH);
    assert_int_equal(grid_at(p.grid, scroll.row, 11)->style, STYLE_GUEST);
    /* Whole, although it is wrapped. */
    key(&p, "y");
    expect_copy(&p, "https://docs.example/a/long/path?q=1");
    keys(&p, "0 y");
    expect_copy(&p, "line 10 see https://docs.example/a/long/path?q=1 now");
    /* Older and newer. */
    keys(&p, "/ l i n e Space 9 Enter");
    terminal_scroll(p.terminal, &scroll);
    free(found);
    found = row_text(&p, scroll.row);
    assert_string_equal(found, "line 9");
    keys(&p, "N");
    assert_non_null(strstr(terminal_note(p.terminal), "not found below"));
    keys(&p, "/ 2 2 Enter G n n N");
    assert_non_null(terminal_note(p.terminal));
    keys(&p, "Escape");
    assert_int_equal(terminal_mode(p.terminal), TERMINAL_TYPING);
    expect_nothing(&p);
    close_pane(&p);
}

static void wheel(struct pane *p, enum mouse_act act, int row)
{
    send(p, &(struct message){.type = MESSAGE_KEY,
                              .key = {.type = KEY_EVENT_MOUSE, .act = act, .row = row, .column = 1}});
}

static void test_wheel(void **state)
{
    struct pane p;
    uint64_t out = live(&p, 6, 30);
    fill(&p, out, 20);
    wheel(&p, MOUSE_WHEEL_UP, 1);
    assert_int_equal(terminal_mode(p.terminal), TERMINAL_SCROLL);
    assert_row(&p, 0, "line 14");
    wheel(&p, MOUSE_WHEEL_DOWN, 1);
    assert_int_equal(terminal_mode(p.terminal), TERMINAL_TYPING);
    expect_nothing(&p);
    /* In a program of the whole screen it is arrows; if the program asked, it is the program's. */
    output(&p, out, 99999, "\033[?1049h");
    effects_finish(&p.effects);
    wheel(&p, MOUSE_WHEEL_DOWN, 1);
    for (int i = 0; i < 3; i++)
        expect_input(&p, "\033[B");
    output(&p, out, 100007, "\033[?1000;1006h");
    expect_modes(&p, EMULATOR_MOUSE_CLICKS);
    wheel(&p, MOUSE_WHEEL_DOWN, 1);
    expect_input(&p, "\033[<65;2;2M");
    /* The last row is not the guest's. */
    wheel(&p, MOUSE_PRESS, 5);
    expect_nothing(&p);
    close_pane(&p);
}

/* ---- what is shown ---- */

static void test_last_row(void **state)
{
    struct pane p;
    uint64_t out = live(&p, 4, 80);
    assert_row(&p, 3, "[shop] shell | snap @18 | 0/s | ^] ? keys, ^] d leave");
    p.facts.waiting = 1;
    p.facts.turn = 7;
    output(&p, out, 0, "0123456789012345678901234567890123456789");
    tick(&p, 1000);
    tick(&p, 1000);
    assert_row(&p, 3, "[shop] shell turn 7 | 1 WAITING ^] a | snap @18 | 0/s | ^] ? keys, ^] d leave");
    p.facts.state = "FROZEN";
    assert_row(&p, 3, "[shop] shell turn 7 | FROZEN | 1 WAITING ^] a | snap @18 | ^] ? keys, ^] d leave");
    terminal_resize(p.terminal, 4, 50, &p.effects);
    grid_resize(p.grid, 4, 50);
    assert_row(&p, 3, "[shop] shell turn 7 | FROZEN | 1 WAITING | ^] ?");
    p.facts.state = NULL;
    assert_row(&p, 3, "[shop] shell turn 7 | 1 WAITING ^] a | ^] ?");
    terminal_resize(p.terminal, 4, 40, &p.effects);
    grid_resize(p.grid, 4, 40);
    p.facts.waiting = p.facts.turn = 0;
    assert_row(&p, 3, "[shop] shell | ^] ? keys, ^] d leave");
    /* The guest cannot get there. */
    output(&p, out, 40, "\033[2J\033[99;1HMINE\033[4;1HMINE\033[1;4r\033[?6h\033[4;1HMINE");
    assert_row(&p, 2, "MINE");
    assert_row(&p, 3, "[shop] shell | ^] ? keys, ^] d leave");
    close_pane(&p);
}

static void test_golden(void **state)
{
    static const struct {
        int rows, columns;
    } sizes[] = {{24, 80}, {10, 40}, {40, 120}};
    for (size_t i = 0; i < countof(sizes); i++) {
        struct pane p;
        char name[64];
        uint64_t out = live(&p, sizes[i].rows, sizes[i].columns);
        fill(&p, out, 60);
        output(&p, out, 5000,
               "\033[1;31mred\033[0m \xe4\xb8\xad\xe6\x96\x87 e\xcc\x81 \033[44m bg \033[0m\r\n$ ");
        effects_finish(&p.effects);
        key(&p, "Right");
        const struct {
            const char *name, *keys;
        } steps[] = {{"live", ""},
                     {"prefix", "^]"},
                     {"help", "?"},
                     {"scroll", "x ^] [ PageUp"},
                     {"search", "/ l i n e"},
                     {"found", "Enter"}};
        for (size_t k = 0; k < countof(steps); k++) {
            if (*steps[k].keys)
                keys(&p, steps[k].keys);
            snprintf(name, sizeof(name), "%s.%dx%d", steps[k].name, sizes[i].columns, sizes[i].rows);
            golden(&p, name);
        }
        close_pane(&p);
    }
}

static void test_title(void **state)
{
    struct pane p;
    uint64_t out = live(&p, 4, 80);
    autofree char *title = terminal_title(p.terminal, &p.facts);
    assert_string_equal(title, "hutch: shop shell");
    output(&p, out, 0, "\033]0;evil\007");
    expect_nothing(&p);
    p.facts.waiting = 2;
    free(title);
    title = terminal_title(p.terminal, &p.facts);
    assert_string_equal(title, "hutch: shop shell - WAITING");
    close_pane(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_life),   cmocka_unit_test(test_alone),
        cmocka_unit_test(test_gone),   cmocka_unit_test(test_comes_back),
        cmocka_unit_test(test_replay), cmocka_unit_test(test_overwritten),
        cmocka_unit_test(test_sizes),  cmocka_unit_test(test_modes),
        cmocka_unit_test(test_prefix), cmocka_unit_test(test_other_escape),
        cmocka_unit_test(test_scroll), cmocka_unit_test(test_search_and_copy),
        cmocka_unit_test(test_wheel),  cmocka_unit_test(test_last_row),
        cmocka_unit_test(test_golden), cmocka_unit_test(test_title),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
