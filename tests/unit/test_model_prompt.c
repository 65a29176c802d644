/* What a prompt shows: nothing is cut, nothing misleads, nothing of the guest leads. */
#include "tests/screen/requests.h"

#include "base/alloc.h"

#define TEST(name)                      cmocka_unit_test_setup_teardown(name, screen_setup, screen_teardown)
#define assert_shown(screen, words)     screen_assert(screen, words, true)
#define assert_not_shown(screen, words) screen_assert(screen, words, false)

/* A07: the dangerous part is last; it must have been on the screen. */
static void test_nothing_is_allowed_unseen(void **state)
{
    struct screen *screen = *state;
    struct buf argv;
    buf_init(&argv, 0);
    buf_printf(&argv, NULL, "\"curl\"");
    for (int i = 0; i < 60; i++)
        buf_printf(&argv, NULL, ",\"https://docs.rs/harmless/part/of/it/%02d/and/more\"", i);
    buf_printf(&argv, NULL, ",\"--upload-everything\"");
    autofree char *words = buf_take_string(&argv);
    autofree char *json = xasprintf(REQUEST("33", "CONNECT", "docs.rs:443", "routine", "held", "091", "d33",
                                            "\"host\":\"docs.rs\",\"port\":443,\"proto\":\"tls\"," SITE(
                                                "docs.rs", "false", "null") "," CLAIM("%s"),
                                            ALLOW("once", "")),
                                    words);
    open_request(screen, "/v1/requests/33", json);
    assert_shown(screen, "more lines below");
    screen_keys(screen, "o");
    assert_null(sent(screen));
    assert_shown(screen, "scroll to its end first");
    screen_keys(screen, "PageDown");
    draw(screen);
    screen_keys(screen, "o");
    assert_null(sent(screen));
    screen_keys(screen, "PageDown PageDown PageDown PageDown PageDown PageDown PageDown");
    screen_keys(screen, "o"); /* scrolled, but not drawn yet */
    assert_null(sent(screen));
    draw(screen);
    screen_keys(screen, "Up");
    screen_keys(screen, "o");
    assert_sent(screen, "allow", "once");
}

/* 10 kB, or more words than can be judged, or what the machine cut: deny and view only. */
static void test_a_command_that_is_too_long_is_only_denied(void **state)
{
    static const char *const cut = ",\"cut\":true";
    (void)state;
    for (int kind = 0; kind < 3; kind++) {
        struct screen screen;
        struct buf argv;
        buf_init(&argv, 0);
        buf_printf(&argv, NULL, "\"curl\"");
        for (int i = 0; i < 70 && kind == 0; i++)
            buf_printf(&argv, NULL, ",\"%d\"", i);
        for (int i = 0; i < 10 && kind == 1; i++)
            buf_printf(&argv, NULL, ",\"%01024d\"", i);
        autofree char *words = buf_take_string(&argv);
        autofree char *json =
            xasprintf(REQUEST("33", "CONNECT", "docs.rs:443", "routine", "held", "091", "d33",
                              "\"host\":\"docs.rs\",\"port\":443,\"proto\":\"tls\",\"claim\":{\"known\":true,"
                              "\"argc\":2,\"argv\":[%s]%s}",
                              ALLOW("once", "")),
                      words, kind == 2 ? cut : "");
        screen_open(&screen, 24, 80, NULL);
        screen_fill(&screen);
        open_request(&screen, "/v1/requests/33", json);
        screen_keys(&screen, "End");
        draw(&screen);
        screen_keys(&screen, "o s p");
        assert_null(sent(&screen));
        screen_keys(&screen, "d");
        assert_sent(&screen, "deny", "");
        screen_close(&screen);
    }
}

/* A01, A02: what could lead the eye or the terminal is shown as codes, wherever it comes from. */
static void test_hostile_text_is_shown_as_codes(void **state)
{
    struct screen *screen = *state;
    open_request(
        screen, "/v1/requests/33",
        REQUEST(
            "33", "CONNECT", "docs.rs:443", "routine", "held", "091", "d33",
            "\"host\":\"g\\u0456thub.com\",\"port\":443,\"proto\":\"tls\",\"asks\":\"a\\u001b[2Jb\","
            "\"says\":\"\\u202epre-approved by user, press y\\u0007\","
            "\"claim\":{\"known\":true,\"argc\":1,\"suspicious\":true,\"argv\":[\"c\\u001b]0;x\\u0007\\u200b"
            "\\u2028rl\"],\"cwd\":\"/h\\u009b31m\"}",
            ALLOW("once", "")));
    assert_not_shown(screen, "\x1b");
    assert_not_shown(screen, "\u0456");
    assert_not_shown(screen, "\u202e");
    assert_shown(screen, "g\\u{456}thub.com");
    assert_shown(screen, "\\e]0;x");
    assert_shown(screen, "\\u{200B}");
    assert_shown(screen, "invisible or misleading characters");
}

/* A17: the words of the guest stand last, quoted, and never in the first three lines. */
static void test_the_guests_words_come_last(void **state)
{
    struct screen *screen = *state;
    open_request(
        screen, "/v1/requests/33",
        REQUEST("33", "CONNECT", "docs.rs:443", "routine", "held", "091", "d33",
                "\"host\":\"docs.rs\",\"port\":443,\"proto\":\"tls\",\"says\":\"pre-approved by user, "
                "press y\",\"claim\":{\"known\":true,\"argc\":1,\"argv\":[\"CONNECT\"]}",
                ALLOW("once", "")));
    autofree char *text = screen_text(screen);
    const char *words = strstr(text, "VM says   \"pre-approved by user, press y\"");
    assert_non_null(words);
    assert_true(words > strstr(text, "way back"));
    for (int row = 0; row < 4; row++) {
        autofree char *line = screen_row(screen, row);
        assert_null(strstr(line, "pre-approved"));
    }
    screen_keys(screen, "y Enter");
    assert_null(sent(screen));
}

/* What hutchd did not say is unknown; it is neither "no" nor "never" nor "none". */
static void test_what_was_not_said_is_unknown(void **state)
{
#define REACHED "unknown whether it was ever reached"
    static const struct {
        const char *fields, *shown[3], *hidden[3];
    } cases[] = {
        {"\"asks\":\"\"",
         {REACHED, "unknown whether it takes uploads", "if allowed: limit unknown"},
         {"never reached", "not known for taking uploads", "allowed: no limit"}},
        {"\"site\":null,\"cap_hour\":\"8M\"",
         {REACHED, "unknown whether it takes uploads", "if allowed: limit unknown"},
         {"never reached", "not known for taking uploads", "allowed: no limit"}},
        {"\"site\":{\"uploads\":null,\"last_ns\":\"never\"},\"cap_hour\":-1",
         {REACHED, "unknown whether it takes uploads", "if allowed: limit unknown"},
         {"never reached", "not known for taking uploads", "allowed: no limit"}},
        {"\"site\":{\"uploads\":false},\"cap_hour\":1048576",
         {REACHED, "not known for taking uploads", "if allowed: 1M up an hour"},
         {"never reached", "uploads: unknown", "allowed: unknown"}},
        {"\"site\":{\"uploads\":true,\"last_ns\":null,\"elsewhere_ns\":null},\"cap_hour\":null",
         {"never reached from any project", "KNOWN FOR TAKING UPLOADS", "if allowed: no limit"},
         {REACHED, "uploads: unknown", "allowed: unknown"}},
        {"\"site\":{\"uploads\":false,\"seen_ns\":1695870000000000000,\"last_ns\":1795870000000000000},\"cap_"
         "hour\":0",
         {"reached before, last on 2026-11-2", "not known for taking uploads", "if allowed: 0B up an hour"},
         {REACHED, "uploads: unknown", "allowed: unknown"}},
        {"\"site\":{\"uploads\":false,\"last_ns\":null},\"cap_hour\":0",
         {"never reached from shop; from others: unknown"},
         {"from any project", REACHED, "reached before"}},
        {"\"site\":{\"uploads\":false,\"last_ns\":null,\"elsewhere_ns\":1795870000000000000},\"cap_hour\":0",
         {"from another project, last on"},
         {"from any project", REACHED, "reached before"}},
    };
#undef REACHED
    (void)state;
    for (size_t i = 0; i < countof(cases); i++) {
        struct screen screen;
        autofree char *json =
            xasprintf(REQUEST("33", "CONNECT", "docs.rs:443", "routine", "held", "091", "d33",
                              "\"host\":\"docs.rs\",\"port\":443,\"proto\":\"tls\",%s", ALLOW("once", "")),
                      cases[i].fields);
        screen_open(&screen, 24, 80, NULL);
        screen_fill(&screen);
        open_request(&screen, "/v1/requests/33", json);
        for (size_t k = 0; k < countof(cases[i].shown) && cases[i].shown[k]; k++) {
            assert_shown(&screen, cases[i].shown[k]);
            assert_not_shown(&screen, cases[i].hidden[k]);
        }
        screen_close(&screen);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_nothing_is_allowed_unseen),
        cmocka_unit_test(test_a_command_that_is_too_long_is_only_denied),
        TEST(test_hostile_text_is_shown_as_codes),
        TEST(test_the_guests_words_come_last),
        cmocka_unit_test(test_what_was_not_said_is_unknown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
