/* Requests, answers and lines of JSON over two sessions in memory. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/alloc.h"
#include "h2_pair.h"
#include "wire/h2_internal.h"
#include "wire/json.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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
        TEST(a_call_and_its_answer),         TEST(a_large_body_goes_as_a_unit),
        TEST(a_body_too_long_is_refused),    TEST(a_length_too_long_is_refused_at_once),
        TEST(a_body_that_is_no_json),        TEST(a_body_that_is_cut),
        TEST(answers_that_are_none),         TEST(the_end_of_the_session_ends_a_call),
        TEST(lines_arrive_one_by_one),       TEST(lines_cross_frames),
        TEST(a_line_too_long_ends_the_call), TEST(an_error_instead_of_lines),
        TEST(a_slow_reader_is_said),         TEST(a_writer_outlives_its_client),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
