/* Keys, pastes, mouse and focus as a session gets them. */
#include "emulator_world.h"

#include "base/alloc.h"

static void key(struct world *world, const char *name)
{
    struct key_event event = {0};
    assert_int_equal(key_parse(name, &event, NULL), 0);
    emulator_key(world->emulator, &event);
}

static void test_plain(void **state)
{
    static const struct {
        const char *name, *bytes;
    } keys[] = {
        {"a", "a"},
        {"A", "A"},
        {"^A", "\x01"},
        {"^]", "\x1d"},
        {"^_", "\x1f"},
        {"Space", " "},
        {"M-x", "\033x"},
        {"Enter", "\r"},
        {"S-Enter", "\r"},
        {"M-Enter", "\033\r"},
        {"Tab", "\t"},
        {"S-Tab", "\033[Z"},
        {"Backspace", "\x7f"},
        {"Escape", "\033"},
        {"Up", "\033[A"},
        {"C-Up", "\033[1;5A"},
        {"S-Left", "\033[1;2D"},
        {"Home", "\033[H"},
        {"End", "\033[F"},
        {"PageUp", "\033[5~"},
        {"Delete", "\033[3~"},
        {"C-Delete", "\033[3;5~"},
        {"F1", "\033OP"},
        {"S-F1", "\033[1;2P"},
        {"F5", "\033[15~"},
        {"F12", "\033[24~"},
        {"\xc3\xa9", "\xc3\xa9"},
    };
    struct world w;
    world_init(&w, 5, 20);
    for (size_t i = 0; i < countof(keys); i++) {
        key(&w, keys[i].name);
        assert_sent(&w, keys[i].bytes);
    }
    feed(&w, "\033[?1h");
    key(&w, "Up");
    key(&w, "Home");
    key(&w, "M-Up");
    assert_sent(&w, "\033OA\033OH\033[1;3A");
    feed(&w, "\033[20h");
    key(&w, "Enter");
    assert_sent(&w, "\r\n");
    world_finish(&w);
}

static void test_kitty(void **state)
{
    struct world w;
    world_init(&w, 5, 20);
    feed(&w, "\033[>1u");
    static const struct {
        const char *name, *bytes;
    } keys[] = {
        {"a", "a"},
        {"A", "A"},
        {"^A", "\033[97;5u"},
        {"M-x", "\033[120;3u"},
        {"Enter", "\r"},
        {"S-Enter", "\033[13;2u"},
        {"Tab", "\t"},
        {"S-Tab", "\033[9;2u"},
        {"Escape", "\033[27u"},
        {"Backspace", "\x7f"},
        {"Up", "\033[A"},
        {"C-Up", "\033[1;5A"},
    };
    for (size_t i = 0; i < countof(keys); i++) {
        key(&w, keys[i].name);
        assert_sent(&w, keys[i].bytes);
    }
    feed(&w, "\033[<u");
    key(&w, "Escape");
    assert_sent(&w, "\033");
    feed(&w, "\033[>4;2m");
    key(&w, "S-Enter");
    key(&w, "Enter");
    key(&w, "Escape");
    assert_sent(&w, "\033[13;2u\r\033");
    feed(&w, "\033[>4m");
    key(&w, "S-Enter");
    assert_sent(&w, "\r");
    world_finish(&w);
}

static void paste(struct world *world, const char *text)
{
    struct key_event event = {.type = KEY_EVENT_PASTE, .paste = (char *)text, .paste_len = strlen(text)};
    emulator_key(world->emulator, &event);
}

static void test_paste(void **state)
{
    struct world w;
    world_init(&w, 5, 20);
    paste(&w, "one\ntwo\r\nthree\t\xc3\xa9");
    assert_sent(&w, "one\rtwo\rthree\t\xc3\xa9");
    feed(&w, "\033[?2004h");
    paste(&w, "a\033[201~rm -rf /\n\xc2\x9b"
              "201~\x03z");
    assert_sent(&w, "\033[200~a[201~rm -rf /\r201~z\033[201~");
    world_finish(&w);
}

static void mouse(struct world *world, enum mouse_act act, int button, int row, int column, int mods)
{
    struct key_event event = {
        .type = KEY_EVENT_MOUSE, .act = act, .button = button, .row = row, .column = column, .mods = mods};
    emulator_key(world->emulator, &event);
}

static void test_mouse(void **state)
{
    struct world w;
    world_init(&w, 5, 20);
    mouse(&w, MOUSE_PRESS, 0, 1, 2, 0);
    mouse(&w, MOUSE_RELEASE, 0, 1, 2, 0);
    assert_sent(&w, "");
    feed(&w, "\033[?1000h");
    mouse(&w, MOUSE_PRESS, 0, 1, 2, 0);
    mouse(&w, MOUSE_MOVE, 0, 1, 3, 0);
    mouse(&w, MOUSE_RELEASE, 0, 1, 3, 0);
    assert_sent(&w, "\033[M #\"\033[M#$\"");
    feed(&w, "\033[?1002;1006h");
    mouse(&w, MOUSE_MOVE, 0, 0, 0, 0);
    mouse(&w, MOUSE_PRESS, 2, 0, 0, KEY_CTRL);
    mouse(&w, MOUSE_MOVE, 2, 4, 19, 0);
    mouse(&w, MOUSE_RELEASE, 2, 4, 19, 0);
    mouse(&w, MOUSE_WHEEL_UP, 0, 0, 0, 0);
    mouse(&w, MOUSE_WHEEL_DOWN, 0, 0, 0, KEY_SHIFT);
    assert_sent(&w, "\033[<18;1;1M\033[<34;20;5M\033[<2;20;5m\033[<64;1;1M\033[<69;1;1M");
    /* What is beside the pane is not of it. */
    mouse(&w, MOUSE_PRESS, 0, 5, 0, 0);
    mouse(&w, MOUSE_PRESS, 0, 0, -1, 0);
    assert_sent(&w, "");
    feed(&w, "\033[?1003h");
    mouse(&w, MOUSE_RELEASE, 0, 0, 0, 0);
    mouse(&w, MOUSE_MOVE, 0, 0, 1, 0);
    assert_sent(&w, "\033[<0;1;1m\033[<35;2;1M");
    world_finish(&w);
}

static void test_focus(void **state)
{
    struct world w;
    world_init(&w, 5, 20);
    struct key_event event = {.type = KEY_EVENT_FOCUS, .on = true};
    emulator_key(w.emulator, &event);
    assert_sent(&w, "");
    feed(&w, "\033[?1004h");
    emulator_key(w.emulator, &event);
    event.on = false;
    emulator_key(w.emulator, &event);
    assert_sent(&w, "\033[I\033[O");
    world_finish(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plain), cmocka_unit_test(test_kitty), cmocka_unit_test(test_paste),
        cmocka_unit_test(test_mouse), cmocka_unit_test(test_focus),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
