/* What terminals send, as events: in one read, in any two, and byte by byte. */
#include "test_base_scratch.h"

#include "ui/term/input.h"

/* Events as a line of names: "a ^B S-Enter press0@3,4 focus paste(text)". */
static void put_event(struct buf *out, const struct key_event *event)
{
    static const char *const acts[] = {"press", "release", "move", "up", "down"};
    char name[24];
    key_name(event, name);
    const char *gap = out->len ? " " : "";
    if (event->type == KEY_EVENT_MOUSE)
        buf_printf(out, NULL, "%s%s%d@%d,%d%s", gap, acts[event->act], event->button, event->row,
                   event->column, event->mods ? "+" : "");
    else if (event->type == KEY_EVENT_FOCUS)
        buf_printf(out, NULL, "%s%s", gap, event->on ? "focus" : "blur");
    else if (event->type == KEY_EVENT_PASTE)
        buf_printf(out, NULL, "%spaste(%s)%s", gap, event->paste, event->too_long ? "!" : "");
    else
        buf_printf(out, NULL, "%s%s", gap, name);
}

static void drain(struct input *input, bool late, struct buf *out)
{
    struct key_event event;
    while (input_next(input, late, &event)) {
        put_event(out, &event);
        key_event_finish(&event);
    }
    assert_int_equal(event.type, KEY_EVENT_NONE);
}

/* Feeds in two parts (and in single bytes for at == len + 1); late at the end. */
static char *read_as(const char *bytes, size_t len, size_t at, int positions)
{
    struct input input;
    struct buf out;
    input_init(&input);
    input.positions = positions;
    buf_init(&out, 0);
    if (at > len) {
        for (size_t i = 0; i < len; i++) {
            input_feed(&input, bytes + i, 1);
            drain(&input, false, &out);
        }
    } else {
        input_feed(&input, bytes, at);
        drain(&input, false, &out);
        input_feed(&input, bytes + at, len - at);
        drain(&input, false, &out);
    }
    drain(&input, true, &out);
    drain(&input, true, &out);
    assert_int_equal(input_wait(&input), -1);
    char *text = buf_take_string(&out);
    buf_finish(&out);
    input_finish(&input);
    return text;
}

#define BYTES(text) text, sizeof(text) - 1

static const struct {
    const char *bytes;
    size_t len;
    const char *events;
} cases[] = {
    {BYTES("aZ 1"), "a Z Space 1"},
    {BYTES("\x01\x1a\x1c\x1d\x1e\x1f\x00"), "^A ^Z ^\\ ^] ^^ ^_ C-Space"},
    {BYTES("\r\n\t\x7f\x08"), "Enter ^J Tab Backspace ^H"},
    {BYTES("\xc3\xa9\xe6\xbc\xa2\xf0\x9f\x98\x80"), "\u00e9 \u6f22 \U0001f600"},
    {BYTES("a\xff\xc3(\xc2\x9b\xe6\xbc"), "a ("},
    {BYTES("\x1b[A\x1b[B\x1b[C\x1b[D\x1b[H\x1b[F"), "Up Down Right Left Home End"},
    {BYTES("\x1bOA\x1bOB\x1bOC\x1bOD\x1bOH\x1bOF"), "Up Down Right Left Home End"},
    {BYTES("\x1bOP\x1bOQ\x1bOR\x1bOS"), "F1 F2 F3 F4"},
    {BYTES("\x1b[[A\x1b[[E\x1b[15~\x1b[24~"), "F1 F5 F5 F12"},
    {BYTES("\x1b[1~\x1b[2~\x1b[3~\x1b[4~\x1b[5~\x1b[6~\x1b[7~\x1b[8~"),
     "Home Insert Delete End PageUp PageDown Home End"},
    {BYTES("\x1b[1;2A\x1b[1;3B\x1b[1;5C\x1b[1;8D\x1b[3;5~"), "S-Up M-Down C-Right C-M-S-Left C-Delete"},
    {BYTES("\x1b[1;2P\x1b[1;2R\x1b[23;2~"), "S-F1 S-F3 S-F11"},
    {BYTES("\x1b[Z\x1b[a\x1bOa\x1b[5^\x1b[5$\x1b[5@"), "S-Tab S-Up C-Up C-PageUp S-PageUp C-S-PageUp"},
    {BYTES("\x1bOM\x1bOj\x1bOp\x1bOy\x1bO5C"), "Enter * 0 9 C-Right"},
    /* Alt by a prefix. */
    {BYTES("\x1b"
           "a\x1b"
           "A\x1b\x01\x1b\r\x1b\x7f\x1b "),
     "M-a M-A M-^A M-Enter M-Backspace M-Space"},
    {BYTES("\x1b\xc3\xa9"), "M-\u00e9"},
    {BYTES("\x1b\x1b[A\x1b\x1bOP\x1b\x1b[5~"), "M-Up M-F1 M-PageUp"},
    {BYTES("\x1b"), "Esc"},
    {BYTES("\x1b\x1b"), "Esc Esc"},
    {BYTES("\x1b["), "M-["},
    {BYTES("\x1bO"), "M-O"},
    {BYTES("\x1bOz"), "M-O z"},
    {BYTES("\x1b[\r"), "M-[ Enter"},
    {BYTES("\x1b]"), "M-]"},
    {BYTES("\x1bP"), "M-P"},
    {BYTES("\x1b]x"), "M-] x"},
    /* kitty and modifyOtherKeys. */
    {BYTES("\x1b[13;2u\x1b[27;2;13~"), "S-Enter S-Enter"},
    {BYTES("\x1b[97;5u\x1b[27;5;97~\x1b[27;6;65~\x1b[97;6u"), "^A ^A C-S-a C-S-a"},
    {BYTES("\x1b[27u\x1b[9;2u\x1b[127;5u\x1b[32;5u"), "Esc S-Tab C-Backspace C-Space"},
    {BYTES("\x1b[97;3u\x1b[97:65;4u\x1b[49:33;4u\x1b[93;5u\x1b[105;5u\x1b[91;5u"), "M-a M-A M-! ^] Tab Esc"},
    {BYTES("\x1b[97;1:3u\x1b[97;1:2u\x1b[97;1:1u"), "a a"},
    {BYTES("\x1b[113;9u\x1b[57358u\x1b[57399u\x1b[57414;2u\x1b[57441;2u"), "0 S-Enter"},
    {BYTES("\x1b[97:6533333333333;4u\x1b[97:1114113;4u"), "M-A M-A"},
    {BYTES("\x1b[1114113u\x1b[55296u\x1b[0u\x1b[99999999999u\x1b[;u"), ""},
    /* Mouse, focus. */
    {BYTES("\x1b[<0;5;7M\x1b[<0;5;7m\x1b[<2;1;1M"), "press0@6,4 release0@6,4 press2@0,0"},
    {BYTES("\x1b[<64;5;7M\x1b[<65;5;7M\x1b[<66;5;7M\x1b[<35;2;3M\x1b[<4;1;1M"),
     "up0@6,4 down0@6,4 move3@2,1 press0@0,0+"},
    {BYTES("\x1b[<0;0;0M\x1b[<0;1M\x1b[<128;1;1M"), "press0@0,0"},
    {BYTES("\x1b[M !!\x1b[M#%'\x1b[M`!!"), "press0@0,0 release0@6,4 up0@0,0"},
    {BYTES("\x1b[Ix\x1b[O"), "focus x blur"},
    /* Answers and what nobody knows. */
    {BYTES("\x1b[?62;4c\x1b[?2026;2$y\x1b[?1u\x1b[>1;10;0c\x1b[8;24;80tz"), "z"},
    {BYTES("\x1b]11;rgb:0000/1111/2222\x1b\\a\x1b]10;?\x07"
           "b\x1bP1$r0m\x1b\\c\x1b_Gi=1;OK\x1b\\d"),
     "a b c d"},
    {BYTES("\x1b]11;rgb:00\rq"), "Enter q"},
    {BYTES("\x1b[12\x01x\x1b[1;2\x1b[Ay\x1b[1;5"), "^A x Up y"},
    /* Pastes. */
    {BYTES("\x1b[200~hi\x1b[201~x"), "paste(hi) x"},
    {BYTES("\x1b[200~\x1b[201~"), "paste()"},
    {BYTES("\x1b[200~a\rb\r\nc\td\x1b[31me\x02\x9b\xc2\x9bz\x7f\x1b[201~"), "paste(a\nb\nc\td[31mez)"},
    {BYTES("\x1b[200~\x1b[20\x1b[201\x1b[20 1~\x1b[201~q"), "paste([20[201[20 1~) q"},
    {BYTES("a\x1b[200~o\x1b[201~\x1b[200~p\x1b[201~b"), "a paste(o) paste(p) b"},
};

static void bytes_are_events(void **state)
{
    (void)state;
    for (size_t i = 0; i < countof(cases); i++) {
        for (size_t at = 0; at <= cases[i].len + 1; at++) {
            autofree char *events = read_as(cases[i].bytes, cases[i].len, at, 0);
            if (strcmp(events, cases[i].events) != 0)
                fail_msg("case %zu, in two at %zu: \"%s\", not \"%s\"", i, at, events, cases[i].events);
        }
    }
}

static void waiting_is_told(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        int wait;
    } waits[] = {{"a", -1},
                 {"\x1b", INPUT_ESCAPE_MS},
                 {"\x1b[", INPUT_ESCAPE_MS},
                 {"\x1b\x1b", INPUT_ESCAPE_MS},
                 {"\x1b[1;", INPUT_SEQUENCE_MS},
                 {"\xe6", INPUT_SEQUENCE_MS},
                 {"\x1b]1", INPUT_SEQUENCE_MS},
                 {"\x1b[200~abc", -1}};
    for (size_t i = 0; i < countof(waits); i++) {
        struct input input;
        struct buf out;
        buf_init(&out, 0);
        input_init(&input);
        assert_int_equal(input_wait(&input), -1);
        input_feed(&input, waits[i].bytes, strlen(waits[i].bytes));
        drain(&input, false, &out);
        assert_int_equal(input_wait(&input), waits[i].wait);
        buf_finish(&out);
        input_finish(&input);
    }
}

static void reports_are_no_keys(void **state)
{
    (void)state;
    struct input input;
    struct buf out;
    buf_init(&out, 0);
    input_init(&input);
    input.positions = 1;
    input_feed(&input, BYTES("x\x1b[1;5R\x1b[?1;2c\x1b[1;5Ry"));
    drain(&input, false, &out);
    assert_int_equal(input.row, 1);
    assert_int_equal(input.column, 5);
    assert_int_equal(input.positions_seen, 1);
    assert_int_equal(input.attributes_seen, 1);
    autofree char *events = buf_take_string(&out);
    assert_string_equal(events, "x C-F3 y");
    input_finish(&input);
    buf_finish(&out);
}

static void erase_is_as_the_terminal_says(void **state)
{
    (void)state;
    struct input input;
    struct key_event event;
    input_init(&input);
    input.erase_is_bs = true;
    input_feed(&input, "\b", 1);
    assert_true(input_next(&input, false, &event));
    assert_int_equal(event.code, KEY_NAME_BACKSPACE);
    assert_int_equal(event.mods, 0);
    input_finish(&input);
}

/* Half a command is worse than none: a paste that is too long is told and left out. */
static void pastes_have_a_limit(void **state)
{
    (void)state;
    for (size_t over = 0; over < 2; over++) {
        struct input input;
        struct key_event event;
        input_init(&input);
        input_feed(&input, BYTES("\x1b[200~"));
        autofree char *chunk = xcalloc(4096, 1);
        memset(chunk, 'o', 4096);
        for (size_t sent = 0; sent < KEY_PASTE_MAX; sent += 4096) {
            input_feed(&input, chunk, 4096);
            assert_false(input_next(&input, false, &event));
        }
        input_feed(&input, chunk, over);
        assert_false(input_next(&input, true, &event));
        for (size_t sent = 0; over && sent < KEY_PASTE_MAX; sent += 4096) {
            input_feed(&input, chunk, 4096);
            assert_false(input_next(&input, false, &event));
            assert_in_range(input.paste.cap + input.bytes.cap, 0, KEY_PASTE_MAX * 2 + 65536);
        }
        input_feed(&input, BYTES("\x1b[201~x"));
        assert_true(input_next(&input, false, &event));
        assert_int_equal(event.type, KEY_EVENT_PASTE);
        assert_int_equal(event.too_long, over > 0);
        assert_int_equal(event.paste_len, over ? 0 : KEY_PASTE_MAX);
        key_event_finish(&event);
        assert_true(input_next(&input, false, &event));
        assert_int_equal(event.code, 'x');
        input_finish(&input);
    }
}

/* A paste whose end was lost holds all keys, but not ^C. */
static void a_paste_can_be_left(void **state)
{
    (void)state;
    static const char *const forms[] = {"\x03", "\x1b[99;5u"};
    for (size_t i = 0; i < countof(forms); i++) {
        struct input input;
        struct key_event event;
        input_init(&input);
        input_feed(&input, BYTES("\x1b[200~rm -rf\r"));
        assert_false(input_next(&input, true, &event));
        input_feed(&input, forms[i], strlen(forms[i]));
        assert_true(input_next(&input, false, &event));
        assert_int_equal(event.code, 'c');
        assert_int_equal(event.mods, KEY_CTRL);
        assert_false(input_next(&input, true, &event));
        input_finish(&input);
    }
}

/* Any bytes: no state that holds on, no code that is none, the same events for any division. */
static void any_bytes_are_taken(void **state)
{
    (void)state;
    static const char parts[] = "\x1b\x1b\x1b[[[OP]_?<>;;:0123456789uuMmR~~$^@AZ \\\r\x07\x02\xc3\xa9\xff";
    uint32_t seed = 31;
    for (int round = 0; round < 20000; round++) {
        char bytes[64];
        size_t len = 0;
        for (; len < sizeof(bytes) - 8; len++) {
            seed = seed * 1664525 + 1013904223;
            bytes[len] = (seed >> 9) % 8 ? parts[(seed >> 16) % (sizeof(parts) - 1)] : (char)(seed >> 16);
        }
        seed = seed * 1664525 + 1013904223;
        /* One that begins a paste must also end it, or it waits for more. */
        memcpy(bytes + len, "\x1b[201~", 6);
        len += 6;
        autofree char *whole = read_as(bytes, len, 0, 0), *split = read_as(bytes, len, (seed >> 16) % len, 0);
        autofree char *single = read_as(bytes, len, len + 1, 0);
        assert_string_equal(whole, split);
        assert_string_equal(whole, single);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_are_events),    cmocka_unit_test(waiting_is_told),
        cmocka_unit_test(reports_are_no_keys), cmocka_unit_test(erase_is_as_the_terminal_says),
        cmocka_unit_test(pastes_have_a_limit), cmocka_unit_test(a_paste_can_be_left),
        cmocka_unit_test(any_bytes_are_taken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
