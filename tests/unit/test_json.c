/* JSON under limits: values, errors, queries, and requests and lines over two sessions in memory. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/alloc.h"
#include "h2_pair.h"
#include "wire/h2_internal.h"
#include "wire/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- values ---- */

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

/* ---- calls ---- */

struct world {
    struct h2_pair pair;
    unsigned bodies, answers, lines, drained, gone;
    struct error *body_error, *answer_error;
    int status;
    char *answer; /* text of the last answer or line */
    struct json_writer *writer;
    struct h2_stream *stream;
    int collect_rc;
};

static void keep_text(struct world *w, json_t *value)
{
    free(w->answer);
    w->answer = value ? json_text(value) : NULL;
}

static void on_body(struct h2_stream *stream, json_t *body, const struct error *err, void *user)
{
    struct world *w = user;
    w->bodies++;
    error_free(w->body_error);
    w->body_error = err ? error_copy(err) : NULL;
    if (err) {
        json_reply_error(stream, err);
        return;
    }
    auto(json) json_t *answer = json_object();
    json_object_set(answer, "got", body ? body : json_null());
    json_reply(stream, 200, answer);
}

static void on_gone(struct json_writer *writer, void *user)
{
    struct world *w = user;
    w->gone++;
}

static void on_request(struct h2_session *session, struct h2_stream *stream, const struct h2_head *head,
                       void *user)
{
    struct world *w = user;
    w->stream = stream;
    if (strcmp(head->path, "/lines") == 0) {
        w->writer = json_writer_create(stream, on_gone, w);
    } else if (strcmp(head->path, "/refuse") == 0) {
        auto(error) struct error *err = NULL;
        error_set(&err, ERROR_DENIED, "no");
        json_reply_error(stream, err);
    } else if (strcmp(head->path, "/plain-500") == 0) {
        h2_respond(stream, 500, NULL, 0, true, NULL);
        h2_stream_write(stream, "oops", 4);
        h2_stream_end(stream);
    } else if (strcmp(head->path, "/huge") == 0) {
        h2_respond(stream, 200, NULL, 0, true, NULL);
        autofree char *blanks = xcalloc(JSON_BODY_MAX + 1, 1);
        memset(blanks, ' ', JSON_BODY_MAX + 1);
        h2_stream_write_whole(stream, blanks, JSON_BODY_MAX + 1);
        h2_stream_end(stream);
    } else if (strcmp(head->path, "/cut") == 0) {
        h2_respond(stream, 200, NULL, 0, true, NULL);
        h2_stream_write(stream, "{\"a\":", 5);
    } else {
        auto(error) struct error *err = NULL;
        w->collect_rc = json_collect(stream, head, on_body, w, &err);
        if (err)
            json_reply_error(stream, err);
    }
}

static void on_answer(int status, json_t *body, const struct error *err, void *user)
{
    struct world *w = user;
    w->answers++;
    w->status = status;
    error_free(w->answer_error);
    w->answer_error = err ? error_copy(err) : NULL;
    if (body || !w->lines)
        keep_text(w, body);
}

static void on_line(json_t *line, void *user)
{
    struct world *w = user;
    w->lines++;
    keep_text(w, line);
}

static int set_up(void **state)
{
    static const struct h2_session_ops ops = {.on_request = on_request};
    alarm(120);
    struct world *w = xnew(struct world);
    w->pair.server = h2_session_create(H2_SERVER, NULL, &ops, w);
    w->pair.client = h2_session_create(H2_CLIENT, NULL, NULL, w);
    h2_pair_run(&w->pair);
    *state = w;
    return 0;
}

static int tear_down(void **state)
{
    struct world *w = *state;
    h2_pair_destroy(&w->pair);
    free(w->answer);
    error_free(w->body_error);
    error_free(w->answer_error);
    free(w);
    return 0;
}

static void call(struct world *w, const char *path, const json_t *body)
{
    assert_int_equal(json_call(w->pair.client, body ? "POST" : "GET", path, body, on_answer, w, NULL), 0);
    h2_pair_run(&w->pair);
}

static void a_call_and_its_answer(void **state)
{
    struct world *w = *state;
    auto(json) json_t *body = json_pack("{s:i}", "a", 1);
    call(w, "/echo", body);
    assert_int_equal(w->bodies, 1);
    assert_int_equal(w->answers, 1);
    assert_int_equal(w->status, 200);
    assert_string_equal(w->answer, "{\"got\":{\"a\":1}}");
    call(w, "/echo", NULL);
    assert_string_equal(w->answer, "{\"got\":null}");
    assert_int_equal(h2_session_stream_count(w->pair.client), 0);
    assert_int_equal(h2_session_stream_count(w->pair.server), 0);
}

static void a_large_body_goes_as_a_unit(void **state)
{
    struct world *w = *state;
    autofree char *text = xcalloc(JSON_BODY_MAX, 1);
    memset(text, 'x', JSON_BODY_MAX - 40);
    auto(json) json_t *body = json_pack("{s:s}", "a", text);
    call(w, "/echo", body);
    assert_null(w->answer_error);
    assert_int_equal(w->answers, 1);
    assert_true(strlen(w->answer) > JSON_BODY_MAX - 40);
}

static void a_body_too_long_is_refused(void **state)
{
    struct world *w = *state;
    autofree char *text = xcalloc(JSON_BODY_MAX * 2 + 1, 1);
    memset(text, 'x', JSON_BODY_MAX * 2);
    auto(json) json_t *body = json_string(text);
    call(w, "/echo", body);
    assert_int_equal(w->bodies, 1);
    assert_int_equal(w->body_error->code, ERROR_LIMIT);
    assert_int_equal(w->answers, 1);
    assert_int_equal(w->answer_error->code, ERROR_LIMIT);
    assert_int_equal(w->status, 413);
    h2_pair_run(&w->pair);
    assert_int_equal(h2_session_stream_count(w->pair.server), 0); /* the rest was not waited for */
    call(w, "/echo", NULL);
    assert_null(w->answer_error);
}

static void a_length_too_long_is_refused_at_once(void **state)
{
    struct world *w = *state;
    const struct h2_field fields[] = {{"content-length", "999999999"}};
    struct h2_record record;
    h2_record_init(&record);
    h2_request(w->pair.client, "POST", "/echo", NULL, fields, 1, true, &h2_record_ops, &record, NULL);
    h2_pair_run(&w->pair);
    assert_int_equal(w->collect_rc, -ERROR_LIMIT);
    assert_int_equal(w->bodies, 0);
    assert_int_equal(record.status, 413);
    h2_record_finish(&record);
}

static void send_raw(struct world *w, const char *body, bool end, struct h2_record *record)
{
    h2_record_init(record);
    record->stream =
        h2_request(w->pair.client, "POST", "/echo", NULL, NULL, 0, true, &h2_record_ops, record, NULL);
    h2_stream_write(record->stream, body, strlen(body));
    if (end)
        h2_stream_end(record->stream);
    h2_pair_run(&w->pair);
}

static void a_body_that_is_no_json(void **state)
{
    struct world *w = *state;
    struct h2_record record;
    send_raw(w, "{\"a\":1,\"a\":2}", true, &record);
    assert_int_equal(w->body_error->code, ERROR_PROTOCOL);
    assert_int_equal(record.status, 400);
    h2_record_finish(&record);
}

static void a_body_that_is_cut(void **state)
{
    struct world *w = *state;
    struct h2_record record;
    send_raw(w, "{\"a\":", false, &record);
    assert_int_equal(w->bodies, 0);
    h2_stream_reset(record.stream, H2_CANCEL);
    h2_pair_run(&w->pair);
    assert_int_equal(w->bodies, 1);
    assert_int_equal(w->body_error->code, ERROR_CANCELLED);
    h2_record_finish(&record);
}

static void answers_that_are_none(void **state)
{
    struct world *w = *state;
    call(w, "/refuse", NULL);
    assert_int_equal(w->answer_error->code, ERROR_DENIED);
    assert_int_equal(w->status, 403);
    call(w, "/plain-500", NULL);
    assert_int_equal(w->answer_error->code, ERROR_PROTOCOL);
    assert_int_equal(w->status, 500);
    call(w, "/huge", NULL);
    assert_int_equal(w->answer_error->code, ERROR_PROTOCOL);
    call(w, "/cut", NULL);
    assert_int_equal(w->answers, 3);
    h2_stream_reset(w->stream, H2_CANCEL);
    h2_pair_run(&w->pair);
    assert_int_equal(w->answers, 4);
    assert_int_equal(w->answer_error->code, ERROR_CANCELLED);
}

static void the_end_of_the_session_ends_a_call(void **state)
{
    struct world *w = *state;
    call(w, "/cut", NULL);
    h2_session_destroy(w->pair.client);
    w->pair.client = NULL;
    assert_int_equal(w->answers, 1);
    assert_int_equal(w->answer_error->code, ERROR_CANCELLED);
}

/* ---- lines ---- */

static void call_lines(struct world *w, const char *path)
{
    assert_int_equal(json_call_lines(w->pair.client, "GET", path, NULL, on_line, on_answer, w, NULL), 0);
    h2_pair_run(&w->pair);
}

static void lines_arrive_one_by_one(void **state)
{
    struct world *w = *state;
    call_lines(w, "/lines");
    for (int i = 0; i < 5; i++) {
        auto(json) json_t *line = json_pack("{s:i}", "n", i);
        assert_true(json_writer_line(w->writer, line));
        h2_pair_run(&w->pair);
        assert_int_equal(w->lines, i + 1);
    }
    assert_string_equal(w->answer, "{\"n\":4}");
    assert_int_equal(w->answers, 0);
    json_writer_end(w->writer);
    h2_pair_run(&w->pair);
    assert_int_equal(w->answers, 1);
    assert_null(w->answer_error);
    assert_int_equal(w->gone, 0);
    assert_int_equal(h2_session_stream_count(w->pair.server), 0);
}

static void lines_cross_frames(void **state)
{
    struct world *w = *state;
    call_lines(w, "/lines");
    const char *text = "{\"a\":1}\n\n{\"b\":2}\n{\"c\":3}";
    for (size_t i = 0; text[i]; i++) {
        h2_stream_write(w->stream, text + i, 1);
        h2_pair_run(&w->pair);
    }
    assert_int_equal(w->lines, 2);
    json_writer_end(w->writer);
    h2_pair_run(&w->pair);
    assert_int_equal(w->lines, 3); /* the last needs no newline */
    assert_int_equal(w->answers, 1);
    assert_null(w->answer_error);
}

static void a_line_too_long_ends_the_call(void **state)
{
    struct world *w = *state;
    call_lines(w, "/lines");
    autofree char *blanks = xcalloc(JSON_LINE_MAX + 2, 1);
    memset(blanks, ' ', JSON_LINE_MAX + 1);
    h2_stream_write(w->stream, blanks, JSON_LINE_MAX + 1);
    h2_pair_run(&w->pair);
    assert_int_equal(w->answers, 1);
    assert_int_equal(w->answer_error->code, ERROR_PROTOCOL);
    assert_int_equal(w->gone, 1); /* the server was told by a reset */
    json_writer_end(w->writer);
}

static void an_error_instead_of_lines(void **state)
{
    struct world *w = *state;
    call_lines(w, "/refuse");
    assert_int_equal(w->lines, 0);
    assert_int_equal(w->answers, 1);
    assert_int_equal(w->answer_error->code, ERROR_DENIED);
}

static void on_drained(struct json_writer *writer, void *user)
{
    struct world *w = user;
    w->drained++;
}

static void a_slow_reader_is_said(void **state)
{
    struct world *w = *state;
    struct h2_record slow;
    h2_record_init(&slow);
    slow.keep_window = true;
    slow.stream =
        h2_request(w->pair.client, "GET", "/lines", NULL, NULL, 0, false, &h2_record_ops, &slow, NULL);
    h2_pair_run(&w->pair);
    json_writer_on_drained(w->writer, on_drained);
    autofree char *text = xcalloc(1001, 1);
    memset(text, 'x', 1000);
    auto(json) json_t *line = json_string(text);
    size_t lines = 0;
    while (json_writer_line(w->writer, line)) {
        lines++;
        h2_pair_run(&w->pair);
        assert_true(lines < 2000);
    }
    assert_true(lines > 1200); /* the client's window and a megabyte */
    assert_int_equal(w->drained, 0);
    while (w->drained == 0) {
        h2_stream_consumed(slow.stream, slow.data.len);
        buf_consume(&slow.data, slow.data.len);
        h2_pair_run(&w->pair);
    }
    assert_true(json_writer_line(w->writer, line));
    json_writer_end(w->writer);
    h2_pair_run(&w->pair);
    h2_stream_consumed(slow.stream, slow.data.len);
    h2_session_destroy(w->pair.client);
    w->pair.client = NULL;
    h2_record_finish(&slow);
}

static void a_writer_outlives_its_client(void **state)
{
    struct world *w = *state;
    call_lines(w, "/lines");
    h2_session_destroy(w->pair.client);
    h2_session_destroy(w->pair.server);
    w->pair.client = w->pair.server = NULL;
    assert_int_equal(w->gone, 1);
    auto(json) json_t *line = json_pack("{s:i}", "n", 1);
    json_writer_line(w->writer, line);
    json_writer_end(w->writer);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_parser_is_strict),
        cmocka_unit_test(depth_is_limited),
        cmocka_unit_test(access_names_the_key),
        cmocka_unit_test(any_bytes_become_a_string),
        cmocka_unit_test(errors_travel_whole),
        cmocka_unit_test(queries),
        TEST(a_call_and_its_answer),
        TEST(a_large_body_goes_as_a_unit),
        TEST(a_body_too_long_is_refused),
        TEST(a_length_too_long_is_refused_at_once),
        TEST(a_body_that_is_no_json),
        TEST(a_body_that_is_cut),
        TEST(answers_that_are_none),
        TEST(the_end_of_the_session_ends_a_call),
        TEST(lines_arrive_one_by_one),
        TEST(lines_cross_frames),
        TEST(a_line_too_long_ends_the_call),
        TEST(an_error_instead_of_lines),
        TEST(a_slow_reader_is_said),
        TEST(a_writer_outlives_its_client),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
