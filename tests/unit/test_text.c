/* Whatever comes in, what goes out is safe UTF-8 of the width that it says. */
#include "test_base_scratch.h"

#include "base/text.h"
#include "base/unicode.h"

#include <stdbool.h>

/* The form of a C string with everything at its default. */
static void assert_form(const char *data, const char *form)
{
    autofree char *safe = text_safe(data);
    assert_string_equal(safe, form);
}

struct hostile {
    const char *data;
    const char *form; /* NULL: only checked to be safe */
};

#define NBSP   "\xc2\xa0"
#define NBSP10 NBSP NBSP NBSP NBSP NBSP NBSP NBSP NBSP NBSP NBSP

/* The cases A01 and A02 of the list of attacks. */
static const struct hostile corpus[] = {
    /* A01: sequences, raw and as C1 */
    {"\x1b[2J\x1b[1;1H", "\\e[2J\\e[1;1H"},
    {"\x1b]52;c;ZXZpbA==\x07", "\\e]52;c;ZXZpbA==\\x07"},
    {"\x1b]8;;http://evil/\x1b\\click\x1b]8;;\x1b\\", "\\e]8;;http://evil/\\e\\click\\e]8;;\\e\\"},
    {"\x1b]0;title\x07", "\\e]0;title\\x07"},
    {"\x1bP$q\"p\x1b\\", "\\eP$q\"p\\e\\"},
    {"\x9b"
     "31m",
     "\\x9b31m"},
    {"\xc2\x9b"
     "31m",
     "\\x9b31m"},
    {"\xc2\x9d"
     "0;t\xc2\x9c",
     "\\x9d0;t\\x9c"},
    {"\xc2\x85", "\\x85"},
    {"ding\x07", "ding\\x07"},
    {"rm -rf /\recho hi", "rm -rf /\\x0decho hi"},
    {"evil\b\b\b\bgood", "evil\\x08\\x08\\x08\\x08good"},
    {"a\x7f", "a\\x7f"},
    {"one\ntwo\tthree", "one\\ntwo\\tthree"},
    {"\x0e\x0f\v\f", "\\x0e\\x0f\\x0b\\x0c"},
    /* A02: the twelve bidi controls */
    {"\xd8\x9c", "\\u{61C}"},
    {"\xe2\x80\x8e\xe2\x80\x8f", "\\u{200E}\\u{200F}"},
    {"\xe2\x80\xaa\xe2\x80\xab\xe2\x80\xac\xe2\x80\xad\xe2\x80\xae",
     "\\u{202A}\\u{202B}\\u{202C}\\u{202D}\\u{202E}"},
    {"\xe2\x81\xa6\xe2\x81\xa7\xe2\x81\xa8\xe2\x81\xa9", "\\u{2066}\\u{2067}\\u{2068}\\u{2069}"},
    /* zero width and default ignorable */
    {"git\xe2\x80\x8bhub\xe2\x80\x8c.\xe2\x80\x8d"
     "com\xef\xbb\xbf\xe2\x81\xa0",
     "git\\u{200B}hub\\u{200C}.\\u{200D}com\\u{FEFF}\\u{2060}"},
    {"a\xf3\xa0\x84\x80", "a\\u{E0100}"},
    {"a\xf3\xa0\x81\x81", "a\\u{E0041}"},
    {"a\xef\xb8\x8f", "a\\u{FE0F}"},
    {"\xe1\x85\x9f\xe1\x85\xa0", "\\u{115F}\\u{1160}"},
    {"\xe3\x85\xa4\xef\xbe\xa0", "\\u{3164}\\u{FFA0}"},
    {"pass\xc2\xadword", "pass\\u{AD}word"},
    {"a\xcd\x8f", "a\\u{34F}"},
    {"line\xe2\x80\xa8sep\xe2\x80\xa9", "line\\u{2028}sep\\u{2029}"},
    /* spaces */
    {"a" NBSP "b", "a\\u{A0}b"},
    {"a" NBSP10 "b", "a\\u{A0}\xc3\x97"
                     "10b"},
    {"\xe3\x80\x80\xe2\x80\x83\xe1\x9a\x80", "\\u{3000}\\u{2003}\\u{1680}"},
    {"\xe2\xa0\x80", "\\u{2800}"},
    {"a        b", "a        b"},
    {"a         b", "a\xc2\xb7\xc3\x97"
                    "9b"},
    /* marks */
    {"e\xcc\x81", "e\xcc\x81"},
    {"\xcc\x81", "\\u{301}"},
    {"e\xcc\x81\xcc\x82\xcc\x83", "e\xcc\x81\xcc\x82\\u{303}"},
    {"e\xcc\x81\xcc\x82\xcc\x83\xcc\x84", "e\xcc\x81\xcc\x82\\u{303}\\u{304}"},
    {"\n\xcc\x81", "\\n\\u{301}"},
    {"a\xe1\x85\xa1", "a\\u{1161}"},
    {"\xe1\x84\x80\xe1\x85\xa1\xe1\x86\xa8", "\xe1\x84\x80\xe1\x85\xa1\xe1\x86\xa8"},
    /* bytes that are no UTF-8: overlong, surrogate, too large, cut */
    {"\xc0\xaf", "\\xc0\\xaf"},
    {"\xe0\x80\xaf", "\\xe0\\x80\\xaf"},
    {"\xf0\x80\x80\xaf", "\\xf0\\x80\\x80\\xaf"},
    {"\xed\xa0\x80", "\\xed\\xa0\\x80"},
    {"\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"},
    {"\xe2\x82", "\\xe2\\x82"},
    {"\xe2\x82x", "\\xe2\\x82x"},
    {"\xff\xfe", "\\xff\\xfe"},
    /* unassigned, private, noncharacter */
    {"\xee\x80\x80\xcd\xb8\xef\xbf\xbf", "\\u{E000}\\u{378}\\u{FFFF}"},
    /* what stays */
    {"", ""},
    {"a\\b", "a\\b"},
    {"grüße 漢字 🦊", "grüße 漢字 🦊"},
};

/* Checks by means of its own that there is nothing in it for a terminal, an eye or a parser. */
static void assert_safe(const char *s, size_t len, bool lines)
{
    assert_int_equal(strlen(s), len);
    int marks = 0;
    for (size_t i = 0; i < len;) {
        int32_t c;
        i += text_decode(s + i, len - i, &c);
        assert_true(c >= 0);
        if (lines && (c == '\n' || c == '\t'))
            continue;
        assert_true(c >= 0x20 && c != 0x7f && !(c >= 0x80 && c < 0xa0));
        assert_false(c >= 0x200b && c <= 0x200f);
        assert_false(c >= 0x2028 && c <= 0x202f);
        assert_false(c >= 0x2060 && c <= 0x206f);
        assert_false(c >= 0xfe00 && c <= 0xfe0f);
        assert_false(c >= 0xd800 && c <= 0xf8ff);
        assert_false(c >= 0xe0000);
        assert_false(c == 0xa0 || c == 0xad || c == 0x61c || c == 0x3000 || c == 0xfeff || c == 0x3164);
        marks = text_width(c) ? 0 : marks + 1;
        assert_true(marks <= 2);
    }
}

static void assert_safe_form(const void *data, size_t len, size_t max, int flags)
{
    struct text text;
    text_init(&text, data, len, max, flags);
    assert_safe(text.bytes, text.len, flags & TEXT_KEEP_NEWLINES);
    if (max)
        assert_true(text.len <= max);
    if (!(flags & TEXT_KEEP_NEWLINES)) {
        size_t columns;
        assert_int_equal(text_clip(text.bytes, text.len, SIZE_MAX, &columns), text.len);
        assert_int_equal(columns, text.columns);
        /* what is safe stays as it is, so a second pass does no harm */
        struct text again;
        text_init(&again, text.bytes, text.len, 0, flags);
        assert_string_equal(again.bytes, text.bytes);
        assert_false(again.suspicious);
        text_finish(&again);
    }
    text_finish(&text);
}

static void corpus_is_escaped(void **state)
{
    for (size_t i = 0; i < countof(corpus); i++) {
        assert_form(corpus[i].data, corpus[i].form);
        for (size_t max = 0; max < 20; max++) {
            assert_safe_form(corpus[i].data, strlen(corpus[i].data), max, TEXT_DEFAULT);
            assert_safe_form(corpus[i].data, strlen(corpus[i].data), max, TEXT_KEEP_NEWLINES);
        }
    }
}

/* All pairs of the corpus behind each other: no case opens a hole for the next one. */
static void joined_corpus_is_escaped(void **state)
{
    for (size_t i = 0; i < countof(corpus); i++)
        for (size_t j = 0; j < countof(corpus); j++) {
            autofree char *both = xasprintf("%s%s", corpus[i].data, corpus[j].data);
            assert_safe_form(both, strlen(both), 0, TEXT_DEFAULT);
        }
}

static void random_bytes_are_escaped(void **state)
{
    unsigned seed = 1;
    for (int round = 0; round < 20000; round++) {
        unsigned char data[48];
        size_t len = rand_r(&seed) % sizeof(data);
        for (size_t i = 0; i < len; i++)
            data[i] = rand_r(&seed) % 3 ? 0xc0 + rand_r(&seed) % 64 : rand_r(&seed);
        assert_safe_form(data, len, rand_r(&seed) % 40, round % 2);
    }
}

/* Encodes for the test; independent of the decoder. */
static size_t encode(uint32_t c, char *out)
{
    if (c < 0x80) {
        out[0] = c;
        return 1;
    }
    size_t n = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    for (size_t i = n - 1; i; i--, c >>= 6)
        out[i] = 0x80 | (c & 0x3f);
    out[0] = (0xf0 << (4 - n)) | c;
    return n;
}

static void every_code_point_is_safe(void **state)
{
    for (uint32_t c = 0; c <= 0x10ffff; c++) {
        char data[8] = "a";
        int32_t back;
        size_t n = encode(c, data + 1);
        bool surrogate = c >= 0xd800 && c <= 0xdfff;
        assert_int_equal(text_decode(data + 1, n, &back), surrogate ? 1 : n);
        assert_int_equal(back, surrogate ? -1 : (int32_t)c);
        assert_safe_form(data, n + 1, 0, TEXT_DEFAULT);
        assert_true(text_width(c) >= 0 && text_width(c) <= 2);
    }
}

static void ranges_are_sorted(void **state)
{
    for (size_t i = 0; i < countof(unicode_ranges); i++) {
        assert_true(unicode_ranges[i].first <= unicode_ranges[i].last);
        assert_true(!i || unicode_ranges[i - 1].last < unicode_ranges[i].first);
    }
}

static void padding_is_counted(void **state)
{
    char data[3000];
    struct text text;
    memset(data, ' ', 500);
    memcpy(data + 500, "&& evil", 7);
    text_init(&text, data, 507, 0, TEXT_DEFAULT);
    assert_string_equal(text.bytes, "\xc2\xb7\xc3\x97"
                                    "500&& evil");
    assert_int_equal(text.columns, 12);
    assert_true(text.suspicious);
    text_finish(&text);
    for (size_t i = 0; i < 500; i++)
        memcpy(data + 2 * i, NBSP, 2);
    memcpy(data + 1000, "&& evil", 7);
    text_init(&text, data, 1007, 0, TEXT_DEFAULT);
    assert_string_equal(text.bytes, "\\u{A0}\xc3\x97"
                                    "500&& evil");
    assert_true(text.columns < 40);
    text_finish(&text);
}

static void misleading_input_is_marked(void **state)
{
    static const char *const bad[] = {"\x1b[m",       "\b",
                                      "\xe2\x80\xae", "\xe2\x80\x8b",
                                      NBSP,           "e\xcc\x81\xcc\x81\xcc\x81",
                                      "         ",    "\xc2\x9b",
                                      "\xe2\x80\xa8", "\r"};
    static const char *const good[] = {"grüße",    "a\nb\tc",      "\xff", "e\xcc\x81",
                                       "        ", "\xee\x80\x80", "\\e"};
    for (size_t i = 0; i < countof(bad) + countof(good); i++) {
        const char *s = i < countof(bad) ? bad[i] : good[i - countof(bad)];
        struct text text;
        text_init(&text, s, strlen(s), 0, TEXT_DEFAULT);
        assert_int_equal(text.suspicious, i < countof(bad));
        text_finish(&text);
    }
}

static void nul_bytes_are_shown(void **state)
{
    struct text text;
    text_init(&text, "a\0b", 3, 0, TEXT_DEFAULT);
    assert_string_equal(text.bytes, "a\\x00b");
    assert_true(text.suspicious);
    text_finish(&text);
}

static void limits_cut_at_whole_units(void **state)
{
    static const struct {
        const char *data;
        size_t max;
        const char *form;
        size_t columns;
        bool cut;
    } cases[] = {
        {"abcdef", 6, "abcdef", 6, false},
        {"abcdefg", 6, "abc…", 4, true},
        {"\x1b\x1b\x1b\x1b", 7, "\\e\\e…", 5, true},
        {"漢字漢字", 10, "漢字…", 5, true},
        {"漢字漢", 9, "漢字漢", 6, false},
        {"abcdef", 3, "…", 1, true},
        {"abcdef", 2, "", 0, true},
        {"", 1, "", 0, false},
    };
    for (size_t i = 0; i < countof(cases); i++) {
        struct text text;
        text_init(&text, cases[i].data, strlen(cases[i].data), cases[i].max, TEXT_DEFAULT);
        assert_string_equal(text.bytes, cases[i].form);
        assert_int_equal(text.columns, cases[i].columns);
        assert_int_equal(text.cut, cases[i].cut);
        text_finish(&text);
    }
}

static void documents_keep_their_lines(void **state)
{
    static const char document[] =
        "int main(void)\n{\n\treturn 0;\n                nested;\nx          y\r\n}\n";
    struct text text;
    text_init(&text, document, strlen(document), 0, TEXT_KEEP_NEWLINES);
    assert_string_equal(text.bytes,
                        "int main(void)\n{\n\treturn 0;\n                nested;\nx\xc2\xb7\xc3\x97"
                        "10y\\x0d\n}\n");
    assert_int_equal(text.columns, 16 + 7);
    text_finish(&text);
    char far[200];
    memset(far, ' ', 150);
    memcpy(far + 150, "evil\n", 6);
    text_init(&text, far, 155, 0, TEXT_KEEP_NEWLINES);
    assert_string_equal(text.bytes, "\xc2\xb7\xc3\x97"
                                    "150evil\n");
    text_finish(&text);
}

static void widths_are_those_of_terminals(void **state)
{
    assert_int_equal(text_width('a'), 1);
    assert_int_equal(text_width(0xfc), 1);
    assert_int_equal(text_width(0x301), 0);
    assert_int_equal(text_width(0x6f22), 2);
    assert_int_equal(text_width(0xac00), 2);
    assert_int_equal(text_width(0xff21), 2);
    assert_int_equal(text_width(0x1f98a), 2);
    assert_int_equal(text_width(0x20dd), 0);
    assert_int_equal(text_width(0xb7), 1); /* ambiguous */
    assert_int_equal(text_width(0x2500), 1);
}

static void clipping_keeps_letters_whole(void **state)
{
    size_t columns;
    assert_int_equal(text_clip("abc", 3, 2, &columns), 2);
    assert_int_equal(columns, 2);
    assert_int_equal(text_clip("漢字", 6, 3, &columns), 3);
    assert_int_equal(columns, 2);
    assert_int_equal(text_clip("e\xcc\x81x", 4, 1, &columns), 3);
    assert_int_equal(text_clip("", 0, 5, &columns), 0);
    assert_int_equal(columns, 0);
    assert_int_equal(text_clip("abc", 3, 0, NULL), 0);
}

static void names_are_guessed(void **state)
{
    static const char *const verbs[] = {"up", "down", "status", "snapshot", "shell", NULL};
    assert_int_equal(text_distance("", ""), 0);
    assert_int_equal(text_distance("kitten", "sitting"), 3);
    assert_int_equal(text_distance("abc", ""), 3);
    assert_int_equal(text_distance("stauts", "status"), 1);
    assert_int_equal(text_distance("snapshot", "snapshot"), 0);
    assert_string_equal(text_nearest("stauts", verbs), "status");
    assert_string_equal(text_nearest("shel", verbs), "shell");
    assert_null(text_nearest("rm", verbs));
    assert_null(text_nearest("", verbs));
    char large[300];
    memset(large, 'x', sizeof(large) - 1);
    large[sizeof(large) - 1] = '\0';
    assert_int_equal(text_distance(large, "x"), sizeof(large) - 1);
    assert_null(text_nearest(large, verbs));
}

static void large_input_is_fast(void **state)
{
    size_t len = 8 << 20;
    autofree char *data = xrealloc(NULL, len, 1);
    memset(data, 0x1b, len);
    struct text text;
    text_init(&text, data, len, 0, TEXT_DEFAULT);
    assert_string_equal(text.bytes, "\\e\xc3\x97"
                                    "8388608");
    text_finish(&text);
    for (size_t i = 0; i < len; i++)
        data[i] = i % 2 ? 0x1b : 0x07;
    text_init(&text, data, len, 1000, TEXT_DEFAULT);
    assert_true(text.cut && text.len <= 1000);
    text_finish(&text);
    text_init(&text, data, len, 0, TEXT_DEFAULT);
    assert_int_equal(text.len, len / 2 * 6);
    text_finish(&text);
}

int main(void)
{
    alarm(120);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(corpus_is_escaped),
        cmocka_unit_test(joined_corpus_is_escaped),
        cmocka_unit_test(random_bytes_are_escaped),
        cmocka_unit_test(every_code_point_is_safe),
        cmocka_unit_test(ranges_are_sorted),
        cmocka_unit_test(padding_is_counted),
        cmocka_unit_test(misleading_input_is_marked),
        cmocka_unit_test(nul_bytes_are_shown),
        cmocka_unit_test(limits_cut_at_whole_units),
        cmocka_unit_test(documents_keep_their_lines),
        cmocka_unit_test(widths_are_those_of_terminals),
        cmocka_unit_test(clipping_keeps_letters_whole),
        cmocka_unit_test(names_are_guessed),
        cmocka_unit_test(large_input_is_fast),
    };
    return cmocka_run_group_tests_name("text", tests, NULL, NULL);
}
