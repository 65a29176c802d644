/* Requests whose answers lie until they are taken, against a server in the same loop. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/alloc.h"
#include "client/async.h"
#include "wire/h2_internal.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define BYTES  (1 << 20)
#define OFFSET 100

struct world {
    struct client *client;
    struct link *server;
    struct h2_stream *upload;
    size_t uploaded;
    bool upload_ended;
    bool hold; /* the server gives no window back */
    unsigned ready, lost;
};

static uint8_t byte_at(size_t i)
{
    return (uint8_t)(i * 7 + i / 251);
}

static void upload_data(struct h2_stream *stream, const uint8_t *data, size_t len, void *user)
{
    struct world *w = user;
    w->uploaded += len;
    if (!w->hold)
        h2_stream_consumed(stream, len);
}

static void upload_end(struct h2_stream *stream, void *user)
{
    ((struct world *)user)->upload_ended = true;
}

static void answer_bytes(struct h2_stream *stream)
{
    static const struct h2_field offset[] = {{"hutch-offset", "100"}};
    autofree uint8_t *bytes = xcalloc(BYTES, 1);
    for (size_t i = 0; i < BYTES; i++)
        bytes[i] = byte_at(i);
    h2_respond(stream, 200, offset, 1, true, NULL);
    h2_stream_write_whole(stream, bytes, BYTES);
    h2_stream_end(stream);
}

static void answer_text(struct h2_stream *stream, int status, const char *text)
{
    h2_respond(stream, status, NULL, 0, true, NULL);
    h2_stream_write_whole(stream, text, strlen(text));
    h2_stream_end(stream);
}

static void on_request(struct h2_session *session, struct h2_stream *stream, const struct h2_head *head,
                       void *user)
{
    static const struct h2_stream_ops nothing = {0}, upload = {.on_data = upload_data, .on_end = upload_end};
    struct world *w = user;
    h2_stream_set_ops(stream, &nothing, NULL);
    if (strcmp(head->path, "/refuse") == 0) {
        auto(error) struct error *err = NULL;
        error_set(&err, ERROR_DENIED, "no");
        json_reply_error(stream, err);
    } else if (strcmp(head->path, "/lines") == 0) {
        answer_text(stream, 200, "{\"n\":1}\n\n{\"n\":2}\n{\"n\":3}");
    } else if (strcmp(head->path, "/no-json") == 0) {
        answer_text(stream, 200, "{\"n\":1}\nnonsense\n{\"n\":2}\n");
    } else if (strcmp(head->path, "/500") == 0) {
        answer_text(stream, 500, "oops");
    } else if (strcmp(head->path, "/long") == 0) {
        autofree char *line = xcalloc(JSON_LINE_MAX + 2, 1);
        memset(line, ' ', JSON_LINE_MAX + 1);
        answer_text(stream, 200, line);
    } else if (strcmp(head->path, "/bytes") == 0) {
        answer_bytes(stream);
    } else if (strcmp(head->path, "/upload") == 0) {
        w->upload = stream;
        h2_stream_set_ops(stream, &upload, w);
    } else if (strcmp(head->path, "/hang") != 0) {
        auto(json) json_t *body = json_pack("{s:s}", "path", head->path);
        json_reply(stream, 200, body);
    }
}

static void on_over(struct link *link, const struct error *err, void *user)
{
    struct world *w = user;
    w->server = NULL;
    link_close(link, false);
}

static void on_lost(void *user)
{
    ((struct world *)user)->lost++;
}

static void on_ready(struct async *async, void *user)
{
    ((struct world *)user)->ready++;
}

static int set_up(void **state)
{
    static const struct h2_options trusted = {.trusted = true};
    static const struct link_ops ops = {.session = {.on_request = on_request}, .on_over = on_over};
    struct world *w = xnew(struct world);
    int fds[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
    assert_int_equal(client_prepare(&w->client, NULL), 0);
    w->client->on_lost = on_lost;
    w->client->user = w;
    assert_int_equal(client_adopt(w->client, fds[0], NULL), 0);
    assert_int_equal(
        link_create(w->client->loop, fds[1], H2_SERVER, &trusted, &ops, w, NULL, 0, &w->server, NULL), 0);
    *state = w;
    return 0;
}

static int tear_down(void **state)
{
    struct world *w = *state;
    if (w->server)
        link_close(w->server, false);
    client_close(w->client);
    free(w);
    return 0;
}

static struct async *start(struct world *w, enum async_kind kind, const char *path, bool upload)
{
    const struct async_options options = {.kind = kind,
                                          .method = upload ? "POST" : "GET",
                                          .path = path,
                                          .upload = upload,
                                          .on_ready = on_ready};
    struct async *async = NULL;
    assert_int_equal(async_start(w->client, &options, w, &async, NULL), 0);
    return async;
}

static void turn(struct world *w)
{
    uv_run(w->client->loop, UV_RUN_ONCE);
}

/* As long as anything moves. */
static void settle(struct world *w)
{
    for (int still = 0; still < 50; still++)
        uv_run(w->client->loop, UV_RUN_NOWAIT);
}

/* Runs to the end; the result must be this code. */
static void ends(struct world *w, struct async *async, int code)
{
    json_t *body;
    const struct error *err;
    while (!async_over(async))
        turn(w);
    assert_int_equal(async_result(async, &body, &err), -code);
    assert_int_equal(err ? err->code : 0, code);
}

static void test_whole(void **state)
{
    struct world *w = *state;
    auto(async) struct async *fine = start(w, ASYNC_WHOLE, "/a", false);
    auto(async) struct async *refused = start(w, ASYNC_WHOLE, "/refuse", false);
    auto(async) struct async *without = start(w, ASYNC_WHOLE, "/500", false);
    json_t *body;
    const struct error *err;
    ends(w, fine, 0);
    assert_int_equal(async_result(fine, &body, &err), 0);
    assert_string_equal(json_string_value(json_object_get(body, "path")), "/a");
    ends(w, refused, ERROR_DENIED);
    ends(w, without, ERROR_PROTOCOL);
    assert_true(w->ready >= 3);
}

static int next_number(struct async *async)
{
    auto(json) json_t *line = NULL;
    int rc = async_line(async, &line);
    return rc == 1 ? (int)json_integer_value(json_object_get(line, "n")) : rc;
}

static void test_lines(void **state)
{
    struct world *w = *state;
    auto(async) struct async *lines = start(w, ASYNC_LINES, "/lines", false);
    assert_int_equal(next_number(lines), 0); /* nothing yet */
    settle(w);
    assert_false(async_over(lines));
    for (int i = 1; i <= 3; i++) /* an empty one is none, the last has no newline */
        assert_int_equal(next_number(lines), i);
    assert_int_equal(next_number(lines), 0);
    ends(w, lines, 0);
    auto(async) struct async *bad = start(w, ASYNC_LINES, "/no-json", false);
    settle(w);
    assert_int_equal(next_number(bad), 1);
    assert_int_equal(next_number(bad), -ERROR_PROTOCOL);
    assert_int_equal(next_number(bad), 0);
    ends(w, bad, ERROR_PROTOCOL);
    auto(async) struct async *too_long = start(w, ASYNC_LINES, "/long", false);
    settle(w);
    assert_int_equal(next_number(too_long), -ERROR_PROTOCOL);
    auto(async) struct async *refused = start(w, ASYNC_LINES, "/refuse", false);
    ends(w, refused, ERROR_DENIED);
}

static void test_bytes_wait(void **state)
{
    struct world *w = *state;
    auto(async) struct async *async = start(w, ASYNC_BYTES, "/bytes", false);
    const uint8_t *bytes;
    size_t got = 0, most = 0, len;
    while (!async_over(async)) {
        settle(w);
        len = async_bytes(async, &bytes);
        most = len > most ? len : most;
        assert_int_equal(async_offset(async), OFFSET + got);
        size_t slice = len < 16384 ? len : 16384;
        for (size_t i = 0; i < slice; i++)
            if (bytes[i] != byte_at(got + i))
                fail_msg("byte %zu is another", got + i);
        async_taken(async, slice);
        got += slice;
    }
    assert_int_equal(got, BYTES);
    assert_true(most > 0 && most <= H2_WINDOW_STREAM); /* the rest waited at the server */
}

static void test_freed_in_the_middle(void **state)
{
    struct world *w = *state;
    const uint8_t *bytes;
    struct async *async = start(w, ASYNC_BYTES, "/bytes", false);
    while (async_bytes(async, &bytes) == 0)
        turn(w);
    async_taken(async, 1);
    async_free(async);
    settle(w);
    auto(async) struct async *next = start(w, ASYNC_WHOLE, "/next", false);
    ends(w, next, 0);
}

static void test_upload(void **state)
{
    struct world *w = *state;
    autofree uint8_t *bytes = xcalloc(BYTES, 2);
    auto(error) struct error *err = NULL;
    auto(async) struct async *async = start(w, ASYNC_WHOLE, "/upload", true);
    w->hold = true;
    assert_int_equal(async_write(async, bytes, 2 * BYTES, NULL), 0);
    settle(w);
    assert_int_equal(w->uploaded, H2_WINDOW_STREAM);
    assert_int_equal(async_write(async, bytes, 1, &err), -ERROR_LIMIT);
    w->hold = false;
    h2_stream_consumed(w->upload, w->uploaded);
    while (async_waiting(async) > 0)
        turn(w);
    assert_int_equal(async_write(async, bytes, 1, NULL), 0);
    while (w->uploaded < 2 * BYTES + 1)
        turn(w);
    json_reply(w->upload, 200, NULL); /* early: the program takes no more */
    ends(w, async, 0);
    assert_int_equal(async_write(async, bytes, 1, NULL), 0);
}

/* A body as it is, bytes of any kind, that ends by itself. */
static void test_whole_body(void **state)
{
    struct world *w = *state;
    const struct async_options options = {.kind = ASYNC_WHOLE,
                                          .method = "PUT",
                                          .path = "/upload",
                                          .bytes = "a\0b\n",
                                          .len = 4,
                                          .on_ready = on_ready};
    auto(async) struct async *async = NULL;
    assert_int_equal(async_start(w->client, &options, w, &async, NULL), 0);
    while (!w->upload_ended)
        turn(w);
    assert_int_equal(w->uploaded, 4);
    json_reply(w->upload, 200, NULL);
    ends(w, async, 0);

    autofree char *much = xcalloc(H2_OUT_MAX + 1, 1);
    const struct async_options too_much = {.kind = ASYNC_WHOLE,
                                           .method = "PUT",
                                           .path = "/upload",
                                           .bytes = much,
                                           .len = H2_OUT_MAX + 1,
                                           .on_ready = on_ready};
    auto(async) struct async *none = NULL;
    auto(error) struct error *err = NULL;
    assert_int_equal(async_start(w->client, &too_much, w, &none, &err), -ERROR_LIMIT);
}

static void test_loss(void **state)
{
    struct world *w = *state;
    auto(async) struct async *async = start(w, ASYNC_WHOLE, "/hang", false);
    settle(w);
    link_close(steal(&w->server), false);
    ends(w, async, ERROR_NO_DAEMON);
    assert_int_equal(w->lost, 1);
    const struct async_options options = {.method = "GET", .path = "/a", .on_ready = on_ready};
    struct async *none = NULL;
    assert_int_equal(async_start(w->client, &options, w, &none, NULL), -ERROR_NO_DAEMON);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_whole, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_lines, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_bytes_wait, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_freed_in_the_middle, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_upload, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_whole_body, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_loss, set_up, tear_down),
    };
    alarm(60);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
