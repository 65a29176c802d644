/* The pure parts of the command line: arguments, the prefix key, what may reach a terminal, times, places,
 * formats, the verbs' table. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "cli/args.h"
#include "cli/cp.h"
#include "cli/filter.h"
#include "cli/out.h"
#include "cli/status.h"
#include "cli/terminal.h"
#include "cli/when.h"
#include "conf/names.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char *const no_words[] = {NULL};

/* Parses a NULL-ended line for a verb. */
static int parse(const struct verb *verb, const char *const *line, struct args *ret_args, struct error **err)
{
    int argc = 0;
    while (line[argc])
        argc++;
    return args_parse(verb, argc, (char *const *)(uintptr_t)line, ret_args, err);
}

/* The line must be refused as usage with a message that has `words`. */
static void refused(const struct verb *verb, const char *const *line, const char *words)
{
    struct args args;
    auto(error) struct error *err = NULL;
    assert_int_equal(parse(verb, line, &args, &err), -ERROR_USAGE);
    if (!strstr(err->message, words) && !(err->hint && strstr(err->hint, words)))
        fail_msg("\"%s\" / \"%s\" does not say \"%s\"", err->message, err->hint ? err->hint : "", words);
    assert_non_null(err->hint);
}

static void test_args_exec(void **state)
{
    struct args args;
    const char *const line[] = {"demo", "-tu", "root", "-e",  "A=1", "--env=B=2", "-w/tmp", "--timeout",
                                "5",    "--",  "ls",   "-la", "--",  "x",         NULL};
    assert_int_equal(parse(&verb_exec, line, &args, NULL), 0);
    assert_string_equal(args_word(&args, 0), "demo");
    assert_null(args_word(&args, 1));
    assert_true(args_has(&args, "tty"));
    assert_false(args_has(&args, "raw"));
    assert_string_equal(args_value(&args, "user"), "root");
    assert_string_equal(args_value(&args, "workdir"), "/tmp");
    assert_string_equal(args_value(&args, "timeout"), "5");
    assert_string_equal(args_nth(&args, "env", 0), "A=1");
    assert_string_equal(args_nth(&args, "env", 1), "B=2");
    assert_null(args_nth(&args, "env", 2));
    assert_string_equal(args.command[0], "ls");
    assert_string_equal(args.command[2], "--");
    assert_string_equal(args.command[3], "x");
    assert_null(args.command[4]);
    args_finish(&args);
}

static void test_args_refused(void **state)
{
    refused(&verb_exec, (const char *const[]){"demo", "ls", "-la", NULL}, "behind \"--\"");
    refused(&verb_exec, (const char *const[]){"demo", "--", NULL}, "behind \"--\"");
    refused(&verb_exec, (const char *const[]){"--tmieout", "5", "--", "ls", NULL}, "--timeout");
    refused(&verb_exec, (const char *const[]){"-x", "--", "ls", NULL}, "-x");
    refused(&verb_exec, (const char *const[]){"-u", "--", "ls", NULL}, "needs a value");
    refused(&verb_exec, (const char *const[]){"--tty=1", "--", "ls", NULL}, "no value");
    refused(&verb_exec, (const char *const[]){"-t", "-t", "--", "ls", NULL}, "twice");
    refused(&verb_exec, (const char *const[]){"a", "b", "--", "ls", NULL}, "\"b\"");
    refused(&verb_rm, no_words, "more arguments");
    refused(&verb_ls, (const char *const[]){"x", NULL}, "\"x\"");
    refused(&verb_cp, (const char *const[]){"x", NULL}, "more arguments");
    refused(&verb_ls, (const char *const[]){"--\x1b[2J", NULL}, "\\e[2J");
}

static void test_args_words(void **state)
{
    struct args args;
    assert_int_equal(
        parse(&verb_rm, (const char *const[]){"a", "--yes", "b", "--", "--yes", "-", NULL}, &args, NULL), 0);
    assert_int_equal(args.word_count, 4);
    assert_string_equal(args_word(&args, 2), "--yes");
    assert_string_equal(args_word(&args, 3), "-");
    assert_true(args_has(&args, "yes"));
    assert_null(args.command);
    args_finish(&args);
    assert_int_equal(parse(&verb_exec, (const char *const[]){"--bad", "-h", NULL}, &args, NULL), 0);
    assert_true(args.help);
    args_finish(&args);
    /* behind "--" it is the command's */
    assert_int_equal(parse(&verb_exec, (const char *const[]){"--", "ls", "--help", NULL}, &args, NULL), 0);
    assert_false(args.help);
    args_finish(&args);
}

static void test_verb_find(void **state)
{
    const struct verb *verb = NULL;
    int words = 0;
    assert_int_equal(
        verb_find(3, (char *const[]){(char *)"template", (char *)"ls", (char *)"x"}, &verb, &words, NULL), 0);
    assert_ptr_equal(verb, &verb_template_ls);
    assert_int_equal(words, 2);
    assert_int_equal(verb_find(1, (char *const[]){(char *)"up"}, &verb, &words, NULL), 0);
    assert_ptr_equal(verb, &verb_up);
    assert_int_equal(words, 1);
    static const struct {
        const char *first, *second, *hint;
    } wrong[] = {
        {"strat", NULL, "hutch start"},          {"template", NULL, "ls, show, build, rm"},
        {"template", "bulid", "template build"}, {"journal", "-x", "verify"},
        {"zzzzzzzz", NULL, "hutch help"},
    };
    for (size_t i = 0; i < countof(wrong); i++) {
        auto(error) struct error *err = NULL;
        char *const argv[] = {(char *)(uintptr_t)wrong[i].first, (char *)(uintptr_t)wrong[i].second};
        assert_int_equal(verb_find(wrong[i].second ? 2 : 1, argv, &verb, &words, &err), -ERROR_USAGE);
        assert_non_null(strstr(err->hint, wrong[i].hint));
    }
    auto(error) struct error *err = NULL;
    error_set(&err, ERROR_NOT_FOUND, "x");
    assert_int_equal(verb_exit(&verb_exec, err), 125);
    assert_int_equal(verb_exit(&verb_show, err), 5);
    assert_int_equal(verb_exit(NULL, err), 5);
}

/* Each verb is well-formed, and no project may be called like one. */
static void test_verb_table(void **state)
{
    for (const struct verb *const *verb = verb_table; *verb; verb++) {
        assert_non_null((*verb)->run);
        assert_true(strlen((*verb)->help) > 10 && strlen((*verb)->help) < 90);
        bool letters[128] = {false};
        for (const struct option_spec *spec = (*verb)->options; spec && spec->name; spec++) {
            assert_non_null(spec->help);
            assert_string_not_equal(spec->name, "help");
            if (!spec->letter)
                continue;
            if (spec->letter == 'h' || letters[(int)spec->letter])
                fail_msg("hutch %s: -%c stands twice", (*verb)->name, spec->letter);
            letters[(int)spec->letter] = true;
        }
        autofree char *first = xstrndup((*verb)->name, strcspn((*verb)->name, " "));
        bool reserved = strcmp(first, "demo") == 0; /* doc/decisions/demo-name.md */
        for (size_t i = 0; name_verbs[i]; i++)
            reserved = reserved || strcmp(name_verbs[i], first) == 0;
        if (!reserved)
            fail_msg("\"%s\" is a verb and could be a project's name", first);
    }
}

/* ---- the prefix key ---- */

static void refused_prefix(const char *text)
{
    struct prefix prefix;
    auto(error) struct error *err = NULL;
    assert_int_equal(prefix_parse(text, &prefix, &err), -ERROR_USAGE);
    assert_non_null(err->hint);
}

static void test_prefix(void **state)
{
    struct prefix prefix;
    struct buf out;
    buf_init(&out, 0);
    assert_int_equal(prefix_parse("^]", &prefix, NULL), 0);
    assert_int_equal(prefix.key, TERMINAL_PREFIX);
    /* in pieces of one byte, too */
    assert_int_equal(prefix_feed(&prefix, (const uint8_t *)"ab\x1d", 3, &out), PREFIX_NONE);
    assert_int_equal(prefix_feed(&prefix, (const uint8_t *)"\x1d", 1, &out), PREFIX_NONE);
    assert_int_equal(prefix_feed(&prefix, (const uint8_t *)"\x1d?c", 3, &out), PREFIX_HELP);
    assert_int_equal(prefix_feed(&prefix, (const uint8_t *)"\x1d", 1, &out), PREFIX_NONE);
    assert_int_equal(prefix_feed(&prefix, (const uint8_t *)"dxyz", 4, &out), PREFIX_DETACH);
    assert_int_equal(out.len, 4);
    assert_memory_equal(buf_data(&out),
                        "ab\x1d"
                        "c",
                        4);
    buf_consume(&out, out.len);
    assert_int_equal(prefix_parse("none", &prefix, NULL), 0);
    assert_int_equal(prefix_feed(&prefix,
                                 (const uint8_t *)"\x1d"
                                                  "d",
                                 2, &out),
                     PREFIX_NONE);
    assert_memory_equal(buf_data(&out),
                        "\x1d"
                        "d",
                        2);
    buf_finish(&out);
    assert_int_equal(prefix_parse("^b", &prefix, NULL), 0);
    assert_int_equal(prefix.key, 2);
    refused_prefix("^C");
    refused_prefix("x");
    refused_prefix("");
    refused_prefix("^1");
}

/* ---- filters ---- */

/* Feeds the text in pieces of `piece` bytes; caller frees. */
static char *filtered(enum filter_kind kind, const char *data, size_t len, size_t piece)
{
    struct filter filter;
    struct buf out;
    buf_init(&out, 0);
    filter_init(&filter, kind);
    for (size_t at = 0; at < len; at += piece)
        filter_feed(&filter, data + at, len - at < piece ? len - at : piece, &out);
    filter_end(&filter, &out);
    char *text = buf_take_string(&out);
    buf_finish(&out);
    return text;
}

static void expect(enum filter_kind kind, const char *data, const char *wanted)
{
    for (size_t piece = 1; piece <= strlen(data); piece++) {
        autofree char *got = filtered(kind, data, strlen(data), piece);
        assert_string_equal(got, wanted);
    }
}

static void test_filter_plain(void **state)
{
    expect(FILTER_PLAIN, "plain\ttext\nü € 😀\n", "plain\ttext\nü € 😀\n");
    expect(FILTER_PLAIN, "a            b\n                x\n", "a            b\n                x\n");
    expect(FILTER_PLAIN, "dos\r\nlines\r\n", "dos\nlines\n");
    expect(FILTER_PLAIN, "over\rwritten", "over\\x0dwritten");
    expect(FILTER_PLAIN, "\x1b[2J\x1b]0;t\x07", "\\e[2J\\e]0;t\\x07");
    expect(FILTER_PLAIN,
           "bidi \xe2\x80\xae"
           "x",
           "bidi \\u{202E}x");
    expect(FILTER_PLAIN, "bad \xff\xfe \xe2\x82", "bad \\xff\\xfe \\xe2\\x82");
    expect(FILTER_PLAIN,
           "c1 \xc2\x9b"
           "31m",
           "c1 \\x9b31m");
    autofree char *nul = filtered(FILTER_PLAIN, "a\0b", 3, 3);
    assert_string_equal(nul, "a\\x00b");
}

static void test_filter_screen(void **state)
{
    /* what draws passes */
    expect(FILTER_SCREEN,
           "\x1b[1;31mred\x1b[0m\r\n\x1b[2J\x1b[H\x1b(0q\x1b(B\x1b"
           "7\x1b"
           "8",
           "\x1b[1;31mred\x1b[0m\r\n\x1b[2J\x1b[H\x1b(0q\x1b(B\x1b"
           "7\x1b"
           "8");
    expect(FILTER_SCREEN, "\x1b[?1049h\x1b[?25lü€\x1b[6n", "\x1b[?1049h\x1b[?25lü€\x1b[6n");
    /* strings: titles, clipboard, sixel, tmux titles; ended by BEL, ST, or cut off by CAN */
    expect(FILTER_SCREEN,
           "a\x1b]0;title\x07"
           "b\x1b]52;c;cm0gLXJm\x1b\\c",
           "abc");
    expect(FILTER_SCREEN, "a\x1bPq#0\x07still\x1b\\b\x1b_Gx\x1b\\c\x1bktitle\x1b\\d\x1b^p\x1b\\\x1bXs\x1b\\e",
           "abcde");
    expect(FILTER_SCREEN,
           "a\x1b]0;unfinished\x18"
           "b",
           "ab");
    expect(FILTER_SCREEN, "a\x1b]0;x\x1b[31m\x1b\\b", "ab");
    /* window operations, printing, other languages, answers */
    expect(FILTER_SCREEN,
           "a\x1b[21t\x1b[8;1;1tb\x1b[5ic\x1b[?2ld\x05"
           "e\x1bZf",
           "abcdef");
    expect(FILTER_SCREEN, "a\x1b%@b\x1b Gc", "abc");
    /* C1 in both forms, invalid UTF-8 */
    expect(FILTER_SCREEN,
           "a\xc2\x9b"
           "31mb",
           "a31mb");
    expect(FILTER_SCREEN,
           "a\x9d"
           "0;x\x07",
           "a\xef\xbf\xbd"
           "0;x\x07");
    expect(FILTER_SCREEN, "a\xe2\x82(b", "a\xef\xbf\xbd(b");
    expect(FILTER_SCREEN, "end\xe2\x82", "end\xef\xbf\xbd");
    /* a control in the middle of a sequence acts at once; ESC begins anew; a byte that no sequence has ends
     * it */
    expect(FILTER_SCREEN, "\x1b[3\n1mx", "\n\x1b[31mx");
    expect(FILTER_SCREEN, "\x1b[3\x1b[1mx", "\x1b[1mx");
    expect(FILTER_SCREEN,
           "\x1b[3\xc3\xbc"
           "mx",
           "\xc3\xbc"
           "mx");
    char longer[400] = "\x1b[";
    memset(longer + 2, '1', 300);
    memcpy(longer + 302, "mx", 3);
    expect(FILTER_SCREEN, longer, "x");
}

static void test_filter_restore(void **state)
{
    struct filter filter;
    struct buf out;
    buf_init(&out, 0);
    filter_init(&filter, FILTER_SCREEN);
    static const char program[] = "\x1b[?1049;1006h\x1b[?25l\x1b[?2004h\x1b[?2004l\x1b[2;5r\x1b[>1u\x1b=";
    filter_feed(&filter, program, sizeof(program) - 1, &out);
    buf_consume(&out, out.len);
    filter_restore(&filter, &out);
    autofree char *text = buf_take_string(&out);
    assert_string_equal(text, "\x1b[?25h\x1b[?1006l\x1b[?1049l\x1b"
                              "7\x1b[r\x1b"
                              "8\x1b[>4m\x1b[=0u\x1b>");
    filter_restore(&filter, &out);
    assert_int_equal(out.len, 0);
    buf_finish(&out);
}

/* ---- small forms ---- */

static void test_when(void **state)
{
    int64_t now = 1800000000LL * 1000000000, at = 0;
    setenv("TZ", "Europe/Berlin", 1);
    tzset();
    assert_int_equal(when_parse("2h", now, &at, NULL), 0);
    assert_int_equal(at, now - 7200LL * 1000000000);
    assert_int_equal(when_parse("2026-11-29T14:00Z", now, &at, NULL), 0);
    assert_int_equal(at / 1000000000, 1795960800);
    assert_int_equal(when_parse("2026-11-29T14:00:07", now, &at, NULL), 0);
    assert_int_equal(at / 1000000000, 1795960807 - 3600);
    assert_int_equal(when_parse("2026-11-29", now, &at, NULL), 0);
    assert_int_equal(at / 1000000000, 1795906800);
    assert_int_equal(when_parse("99999d", now, &at, NULL), 0);
    assert_int_equal(at, 0);
    static const char *const wrong[] = {"", "yesterday", "2026-13-01", "2026-11-29T14:00X", "-1h", "2h "};
    for (size_t i = 0; i < countof(wrong); i++) {
        auto(error) struct error *err = NULL;
        assert_int_equal(when_parse(wrong[i], now, &at, &err), -ERROR_USAGE);
    }
}

static void test_place(void **state)
{
    static const struct {
        const char *word, *user, *name, *path;
        bool remote, slash;
    } right[] = {
        {"demo:a/b", NULL, "demo", "/home/agent/a/b", true, false},
        {":/etc/", NULL, NULL, "/etc", true, true},
        {"demo:", NULL, "demo", "/home/agent", true, false},
        {"demo:/", NULL, "demo", "/", true, true},
        {"demo:x", "root", "demo", "/root/x", true, false},
        {"./a:b", NULL, NULL, "./a:b", false, false},
        {"/tmp/x//", NULL, NULL, "/tmp/x", false, true},
        {"plain", NULL, NULL, "plain", false, false},
    };
    for (size_t i = 0; i < countof(right); i++) {
        struct place place;
        assert_int_equal(place_parse(right[i].word, right[i].user, &place, NULL), 0);
        assert_int_equal(place.remote, right[i].remote);
        assert_int_equal(place.slash, right[i].slash);
        assert_string_equal(place.path, right[i].path);
        assert_true(place.name ? right[i].name && strcmp(place.name, right[i].name) == 0 : !right[i].name);
        place_finish(&place);
    }
    struct place place;
    assert_int_equal(place_parse("demo:a/..", NULL, &place, NULL), -ERROR_USAGE);
    assert_int_equal(place_parse(":.", NULL, &place, NULL), -ERROR_USAGE);
    assert_int_equal(place_parse("", NULL, &place, NULL), -ERROR_USAGE);
    static const char *const parts[][3] = {
        {"/a/b", "/a", "b"}, {"/a", "/", "a"}, {"a", ".", "a"}, {"a/b/", "a", "b"}, {"/", "/", "/"}};
    for (size_t i = 0; i < countof(parts); i++) {
        autofree char *parent = place_parent(parts[i][0]), *base = place_base(parts[i][0]);
        assert_string_equal(parent, parts[i][1]);
        assert_string_equal(base, parts[i][2]);
    }
}

static void test_format(void **state)
{
    auto(json) json_t *object = json_pack("{s:i, s:s, s:{s:b}, s:{s:s, s:s}}", "running", 2, "name",
                                          "a\x1b[2J", "host", "kvm", 1, "box", "name", "b", "state", "off");
    autofree char *text = NULL;
    assert_int_equal(
        status_format("%{running}/%{name} %{host.kvm}! {x} 5%% %{box} %{box.state}", object, &text, NULL), 0);
    assert_string_equal(text, "2/a\\e[2J true! {x} 5% b off");
    static const char *const wrong[] = {"%{nope}",       "%{running", "%{host.nope}", "%{}",
                                        "%{host.kvm.x}", "%x",        "100%",         "%{host}"};
    for (size_t i = 0; i < countof(wrong); i++) {
        autofree char *none = NULL;
        assert_int_equal(status_format(wrong[i], object, &none, NULL), -ERROR_USAGE);
        assert_null(none);
    }
}

/* Lines for a person break between words, and nothing is lost of them. */
static void test_wrap(void **state)
{
    static const struct {
        const char *text;
        size_t used, indent, columns;
        const char *wrapped;
    } rows[] = {
        {"one two three", 0, 0, 40, "one two three"},
        {"one two three", 0, 0, 8, "one two\nthree"},
        {"give --yes or leave it, as you like it", 7, 7, 30,
         "give --yes or leave it,\n       as you like it"},
        {"a /path/that/is/longer/than/any/line here", 0, 2, 24,
         "a\n  /path/that/is/longer/than/any/line\n  here"},
        {"  hutch up demo --repo URL-or-PATH brings", 0, 4, 30,
         "  hutch up demo --repo\n    URL-or-PATH brings"},
        {"first of all\n\nsecond of all\n", 0, 2, 40, "first of all\n\nsecond of all\n"},
        {"\u5b57\u5b57\u5b57 \u5b57\u5b57 \u5b57", 0, 0, 11, "\u5b57\u5b57\u5b57 \u5b57\u5b57\n\u5b57"},
        {"", 0, 0, 10, ""},
        {"x", 0, 90, 10, "x"},
    };
    (void)state;
    for (size_t i = 0; i < countof(rows); i++) {
        autofree char *wrapped = out_wrap(rows[i].text, rows[i].used, rows[i].indent, rows[i].columns);
        assert_string_equal(wrapped, rows[i].wrapped);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_args_exec),      cmocka_unit_test(test_args_refused),
        cmocka_unit_test(test_args_words),     cmocka_unit_test(test_verb_find),
        cmocka_unit_test(test_verb_table),     cmocka_unit_test(test_prefix),
        cmocka_unit_test(test_filter_plain),   cmocka_unit_test(test_filter_screen),
        cmocka_unit_test(test_filter_restore), cmocka_unit_test(test_when),
        cmocka_unit_test(test_place),          cmocka_unit_test(test_format),
        cmocka_unit_test(test_wrap),
    };
    alarm(60);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
