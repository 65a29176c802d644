/* Names of keys, and the one form that each key has. */
#include "test_base_scratch.h"

#include "ui/grid/key.h"

static const struct {
    const char *name;
    uint32_t code;
    int mods;
    const char *shown; /* NULL: the same */
} keys[] = {
    {"a", 'a', 0, NULL},
    {"A", 'A', 0, NULL},
    {"-", '-', 0, NULL},
    {"^", '^', 0, NULL},
    {"M-^", '^', KEY_ALT, NULL},
    {"M--", '-', KEY_ALT, NULL},
    {"^A", 'a', KEY_CTRL, NULL},
    {"^a", 'a', KEY_CTRL, "^A"},
    {"C-a", 'a', KEY_CTRL, "^A"},
    {"^]", ']', KEY_CTRL, NULL},
    {"^^", '^', KEY_CTRL, NULL},
    {"^_", '_', KEY_CTRL, NULL},
    {"^/", '_', KEY_CTRL, "^_"},
    {"^\\", '\\', KEY_CTRL, NULL},
    {"^5", '5', KEY_CTRL, NULL},
    {"^@", ' ', KEY_CTRL, "C-Space"},
    {"C-Space", ' ', KEY_CTRL, NULL},
    {"^I", KEY_NAME_TAB, 0, "Tab"},
    {"^M", KEY_NAME_ENTER, 0, "Enter"},
    {"^[", KEY_NAME_ESCAPE, 0, "Esc"},
    {"^?", KEY_NAME_BACKSPACE, 0, "Backspace"},
    {"^H", 'h', KEY_CTRL, NULL},
    {"C-S-a", 'a', KEY_CTRL | KEY_SHIFT, NULL},
    {"M-a", 'a', KEY_ALT, NULL},
    {"M-A", 'A', KEY_ALT, NULL},
    {"M-S-a", 'A', KEY_ALT, "M-A"},
    {"S-a", 'A', 0, "A"},
    {"M-^A", 'a', KEY_ALT | KEY_CTRL, NULL},
    {"C-M-S-F12", KEY_NAME_F12, KEY_ALT | KEY_CTRL | KEY_SHIFT, NULL},
    {"S-M-C-F12", KEY_NAME_F12, KEY_ALT | KEY_CTRL | KEY_SHIFT, "C-M-S-F12"},
    {"S-Enter", KEY_NAME_ENTER, KEY_SHIFT, NULL},
    {"S-Tab", KEY_NAME_TAB, KEY_SHIFT, NULL},
    {"C-Up", KEY_NAME_UP, KEY_CTRL, NULL},
    {"Space", ' ', 0, NULL},
    {" ", ' ', 0, "Space"},
    {"PageDown", KEY_NAME_PAGE_DOWN, 0, NULL},
    {"pgdn", KEY_NAME_PAGE_DOWN, 0, "PageDown"},
    {"escape", KEY_NAME_ESCAPE, 0, "Esc"},
    {"F5", KEY_NAME_F1 + 4, 0, NULL},
    {"\u00e9", 0xe9, 0, NULL},
    {"M-\u6f22", 0x6f22, KEY_ALT, NULL},
    {"U+202E", 0x202e, 0, NULL},
    {"U+10FFFD", 0x10fffd, 0, "\U0010fffd"},
    {"U+0041", 'A', 0, "A"},
};

static void names_are_read(void **state)
{
    (void)state;
    for (size_t i = 0; i < countof(keys); i++) {
        struct key_event event = {0};
        auto(error) struct error *err = NULL;
        char name[24];
        if (key_parse(keys[i].name, &event, &err) < 0)
            fail_msg("%s: %s", keys[i].name, err->message);
        assert_int_equal(event.type, KEY_EVENT_CODE);
        if (event.code != keys[i].code || event.mods != keys[i].mods)
            fail_msg("%s: code %x mods %d", keys[i].name, event.code, event.mods);
        key_name(&event, name);
        assert_string_equal(name, keys[i].shown ? keys[i].shown : keys[i].name);
    }
}

/* Each key with each modifier has a name that gives the same key again. */
static void names_come_back(void **state)
{
    (void)state;
    static const uint32_t more[] = {0xe9,   0x300,   0x6f22,   0x202e,  0xa0,   0xad,
                                    0xfffd, 0x1f600, 0x10ffff, 0xe0101, 0xfeff, 0x3000};
    for (uint32_t i = 0; i < 0x80 + (KEY_NAME_F12 - KEY_NAMED) + countof(more); i++) {
        uint32_t code = i < 0x80                   ? i
                        : i - 0x80 < countof(more) ? more[i - 0x80]
                                                   : KEY_NAMED + 1 + i - 0x80 - countof(more);
        for (int mods = 0; mods < 8; mods++) {
            struct key_event event = {.type = KEY_EVENT_CODE, .code = code, .mods = mods}, again = {0};
            key_canonical(&event);
            struct key_event twice = event;
            key_canonical(&twice);
            assert_true(key_equal(&event, &twice));
            char name[24] = {0};
            key_name(&event, name);
            assert_true(strlen(name) < sizeof(name));
            auto(error) struct error *err = NULL;
            if (key_parse(name, &again, &err) < 0)
                fail_msg("%x %d: %s", code, mods, err->message);
            if (!key_equal(&event, &again))
                fail_msg("%s: %x %d is %x %d", name, event.code, event.mods, again.code, again.mods);
        }
    }
}

static void wrong_names_name_the_nearest(void **state)
{
    (void)state;
    struct key_event event = {0};
    assert_error(key_parse("Entr", &event, &err), ERROR_INVALID,
                 "\"Entr\" is not a key; the nearest is \"Enter\"");
    assert_error(key_parse("S-PageDwn", &event, &err), ERROR_INVALID, "\"S-PageDown\"");
    assert_error(key_parse("Back", &event, &err), ERROR_INVALID, "\"Backspace\"");
    static const char *const bad[] = {"",     "ab", "S-",   "M-S-",     "^ab",    "^\u00e9", "F13",  "\x1b",
                                      "\x7f", "U+", "U+12", "U+110000", "U+00g0", "\xff",    "^\x01"};
    for (size_t i = 0; i < countof(bad); i++)
        assert_error(key_parse(bad[i], &event, &err), ERROR_INVALID, "is not a key");
    assert_int_equal(event.type, KEY_EVENT_NONE);
    auto(error) struct error *err = NULL;
    key_parse("ctrl-x", &event, &err);
    assert_non_null(strstr(err->hint, "^A"));
}

static void events_are_compared(void **state)
{
    (void)state;
    struct key_event a = {.type = KEY_EVENT_MOUSE, .act = MOUSE_PRESS, .row = 1}, b = a;
    b.row = 2;
    assert_true(key_equal(&a, &b));
    b.button = 1;
    assert_false(key_equal(&a, &b));
    b = (struct key_event){.type = KEY_EVENT_CODE};
    assert_false(key_equal(&a, &b));
    struct key_event paste = {.type = KEY_EVENT_PASTE, .paste = xstrdup("ab"), .paste_len = 2};
    struct key_event other = {.type = KEY_EVENT_PASTE, .paste = xstrdup("ac"), .paste_len = 2};
    assert_false(key_equal(&paste, &other));
    other.paste[1] = 'b';
    assert_true(key_equal(&paste, &other));
    char name[24];
    key_name(&paste, name);
    assert_string_equal(name, "Paste");
    key_event_finish(&paste);
    key_event_finish(&other);
    assert_null(paste.paste);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_read),
        cmocka_unit_test(names_come_back),
        cmocka_unit_test(wrong_names_name_the_nearest),
        cmocka_unit_test(events_are_compared),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
