/* JSON under limits: values, errors and queries. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/alloc.h"
#include "wire/json.h"

#include <string.h>
#include <strings.h>

static void assert_refused(const char *text, size_t len)
{
    auto(error) struct error *err = NULL;
    auto(json) json_t *value = json_parse(text, len, &err);
    if (value)
        fail_msg("taken: %.*s", (int)len, text);
    assert_int_equal(err->code, ERROR_PROTOCOL);
    assert_null(strchr(err->message, '\n'));
}

static json_t *parse(const char *text)
{
    return json_parse(text, strlen(text), NULL);
}

static void the_parser_is_strict(void **state)
{
    const char *const bad[] = {
        "",
        " ",
        "{",
        "{\"a\":1,\"a\":2}",
        "{} {}",
        "{}x",
        "{\"a\":01}",
        "{a:1}",
        "[1,]",
        "nul",
        "\"\\u0000\"",
        "\"\x80\"",
        "\"\\ud800\"",
        "'a'",
        "1e400",
        "99999999999999999999",
        "\"a\nb\"",
        "{\"a\":{\"b\":1,\"b\":1}}",
    };
    for (size_t i = 0; i < countof(bad); i++)
        assert_refused(bad[i], strlen(bad[i]));
    assert_refused("{}\0", 3);
    assert_refused("\"a\0b\"", 5);

    auto(json) json_t *good = parse(" {\"a\": [1, \"\xc3\xa4\", null, true, -3.5]}\r\n");
    assert_non_null(good);
    autofree char *text = json_text(good);
    assert_string_equal(text, "{\"a\":[1,\"\xc3\xa4\",null,true,-3.5]}");
}

static void depth_is_limited(void **state)
{
    char text[200000];
    for (int depth = 1; depth <= JSON_DEPTH_MAX + 1; depth++) {
        memset(text, '[', (size_t)depth);
        memset(text + depth, ']', (size_t)depth);
        auto(json) json_t *value = json_parse(text, 2 * (size_t)depth, NULL);
        assert_int_equal(value != NULL, depth <= JSON_DEPTH_MAX);
    }
    memset(text, '[', sizeof(text));
    assert_refused(text, sizeof(text));
    /* Brackets in strings do not count, also behind an escaped quote. */
    auto(json) json_t *value = parse("[\"\\\"[[[[[[[[[[[[[[[[[[[[[[[[[[\"]");
    assert_non_null(value);
}

static void access_names_the_key(void **state)
{
    auto(json) json_t *object =
        parse("{\"s\":\"text\",\"n\":7,\"f\":1.5,\"b\":true,\"z\":null,\"l\":[\"a\",\"b\"],"
              "\"m\":[\"a\",1]}");
    assert_non_null(object);
    const char *s = "default";
    int64_t n = -1;
    bool b = false;
    assert_int_equal(json_get_string(object, "s", 4, &s, NULL), 0);
    assert_string_equal(s, "text");
    assert_int_equal(json_get_number(object, "n", 0, 7, &n, NULL), 0);
    assert_int_equal(n, 7);
    assert_int_equal(json_get_bool(object, "b", &b, NULL), 0);
    assert_true(b);

    /* Absent and null leave the default. */
    n = 42;
    assert_int_equal(json_opt_number(object, "z", 0, 1, &n, NULL), 0);
    assert_int_equal(json_opt_number(object, "none", 0, 1, &n, NULL), 0);
    assert_int_equal(n, 42);
    auto(error) struct error *err = NULL;
    assert_true(json_get_number(object, "z", 0, 1, &n, &err) < 0);
    assert_non_null(strstr(err->message, "\"z\""));

    assert_true(json_get_string(object, "s", 3, &s, NULL) < 0);
    assert_true(json_get_string(object, "n", 9, &s, NULL) < 0);
    assert_true(json_opt_number(object, "n", 0, 6, &n, NULL) < 0);
    assert_true(json_opt_number(object, "n", 8, 9, &n, NULL) < 0);
    assert_true(json_opt_number(object, "f", 0, 9, &n, NULL) < 0);
    assert_true(json_opt_number(object, "s", 0, 9, &n, NULL) < 0);
    assert_true(json_opt_bool(object, "n", &b, NULL) < 0);
    assert_int_equal(n, 42);

    char **list = NULL;
    assert_int_equal(json_opt_strings(object, "none", 2, 1, &list, NULL), 0);
    assert_null(list);
    assert_true(json_opt_strings(object, "l", 1, 1, &list, NULL) < 0);
    assert_true(json_opt_strings(object, "m", 9, 9, &list, NULL) < 0);
    assert_true(json_opt_strings(object, "s", 9, 9, &list, NULL) < 0);
    assert_int_equal(json_opt_strings(object, "l", 2, 1, &list, NULL), 0);
    assert_string_equal(list[1], "b");
    assert_null(list[2]);
    json_free_strings(list);
}

static void any_bytes_become_a_string(void **state)
{
    const struct {
        const char *bytes;
        size_t len;
        const char *expected;
    } cases[] = {
        {"plain", 5, "plain"},  {"", 0, ""},       {"\xc3\xa4", 2, "\xc3\xa4"},
        {"a\xff", 2, "a\\xFF"}, {"a\0b", 3, NULL},
    };
    for (size_t i = 0; i < countof(cases); i++) {
        auto(json) json_t *value = json_bytes(cases[i].bytes, cases[i].len);
        if (cases[i].expected)
            assert_int_equal(strcasecmp(json_string_value(value), cases[i].expected), 0);
        /* Whatever it is, our own parser takes it. */
        autofree char *text = json_text(value);
        auto(json) json_t *back = json_parse(text, strlen(text), NULL);
        assert_non_null(back);
    }
}

static void errors_travel_whole(void **state)
{
    auto(error) struct error *err = NULL, *back = NULL;
    error_set(&err, ERROR_WOULD_LOSE, "project \"demo\" has work");
    error_hint(&err, "say --force");
    auto(json) json_t *object = json_from_error(err);
    autofree char *text = json_text(object);
    assert_string_equal(text,
                        "{\"error\":{\"code\":\"would-lose\",\"message\":\"project \\\"demo\\\" has work\","
                        "\"hint\":\"say --force\"}}");
    assert_int_equal(json_to_error(object, &back), -ERROR_WOULD_LOSE);
    assert_string_equal(back->message, err->message);
    assert_string_equal(back->hint, err->hint);

    auto(json) json_t *none = parse("{\"a\":1}");
    assert_int_equal(json_to_error(none, NULL), 0);
    auto(json) json_t *odd = parse("{\"error\":5}");
    assert_true(json_to_error(odd, NULL) < 0);
    auto(json) json_t *unknown = parse("{\"error\":{\"code\":\"from-the-future\"}}");
    assert_int_equal(json_to_error(unknown, NULL), -ERROR_FAILED);
}

static void queries(void **state)
{
    const struct {
        const char *path, *key, *value;
        int rc;
    } cases[] = {
        {"/x", "a", NULL, 0},
        {"/x?", "a", NULL, 0},
        {"/x?a=1", "a", "1", 0},
        {"/x?b=1&a=2", "a", "2", 0},
        {"/x?aa=1&a=2", "a", "2", 0},
        {"/x?a", "a", "", 0},
        {"/x?a=", "a", "", 0},
        {"/x?a=1=2", "a", "1=2", 0},
        {"/x?a=%2Fetc%2fpass%20wd", "a", "/etc/pass wd", 0},
        {"/x?a=%ff+", "a", "\xff+", 0},
        {"/x?a=%", "a", NULL, -ERROR_INVALID},
        {"/x?a=%4", "a", NULL, -ERROR_INVALID},
        {"/x?a=%4&b=1", "a", NULL, -ERROR_INVALID},
        {"/x?a=%4g", "a", NULL, -ERROR_INVALID},
        {"/x?a=b%00c", "a", NULL, -ERROR_INVALID},
        {"/x?b=%zz&a=1", "a", "1", 0},
        {"/x?a=1&a=2", "a", "1", 0},
        {"/a=1", "a", NULL, 0},
    };
    for (size_t i = 0; i < countof(cases); i++) {
        autofree char *value = NULL;
        size_t len = 99;
        int rc = json_query(cases[i].path, cases[i].key, &value, &len, NULL);
        if (rc != cases[i].rc || (value == NULL) != (cases[i].value == NULL) ||
            (value && strcmp(value, cases[i].value) != 0))
            fail_msg("%s", cases[i].path);
        assert_int_equal(len, value ? strlen(value) : 0);
    }
    /* What was encoded comes back. */
    char all[255];
    for (int i = 0; i < 255; i++)
        all[i] = (char)(i + 1);
    autofree char *encoded = json_url_encode(all, sizeof(all));
    autofree char *path = xasprintf("/x?z=1&path=%s&y", encoded);
    autofree char *back = NULL;
    size_t len;
    assert_int_equal(json_query(path, "path", &back, &len, NULL), 0);
    assert_int_equal(len, sizeof(all));
    assert_memory_equal(back, all, sizeof(all));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_parser_is_strict), cmocka_unit_test(depth_is_limited),
        cmocka_unit_test(access_names_the_key), cmocka_unit_test(any_bytes_become_a_string),
        cmocka_unit_test(errors_travel_whole),  cmocka_unit_test(queries),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
