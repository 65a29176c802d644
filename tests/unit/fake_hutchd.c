/* A hutchd for tests of the client: no machines, but sessions whose whole behaviour stands in their id, so
 * that it can be killed and started again in the middle. What it was asked is appended to
 * $HUTCH_HOME/requests, a line each.
 *
 * argv of POST …/sessions        the session
 *   count TOTAL STATUS           prints TOTAL bytes of the pattern, ends with STATUS
 *   die TOTAL AT                 the same, but hutchd is killed when AT bytes are out (the first time)
 *   echo                         stdin to stdout, ends with 0
 *   both                         "out" and "err\n" on the two streams, ends with 3
 *   text WORDS                   WORDS on stdout
 *   sleep                        nothing until a signal, then 130
 *   refuse                       the start is refused with ERROR_STATE */
#include "base/alloc.h"
#include "base/fd.h"
#include "base/paths.h"
#include "wire/json.h"
#include "wire/link.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

static const char *requests_path;

/* A stream that prints. */
struct printer {
    struct h2_stream *stream;
    uint64_t at, total, die_at;
    const char *text; /* instead of the pattern */
};

/* A session that is under way: echo or sleep; one at a time is enough. */
static struct {
    struct h2_stream *out, *in;
    bool echo, in_ended, signalled;
    struct buf held;
} live;

static uint8_t pattern(uint64_t at)
{
    return (uint8_t)(at * 7 + (at >> 9));
}

static void note(const char *text)
{
    autofree char *line = xasprintf("%s\n", text);
    autoclose int fd = open(requests_path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    fd_write_all(fd, line, strlen(line), NULL);
}

/* ---- output of a fixed length ---- */

static void print_more(struct h2_stream *stream, void *user)
{
    struct printer *printer = user;
    while (printer->at < printer->total) {
        uint8_t data[8192];
        size_t n = 0;
        for (; n < sizeof(data) && printer->at + n < printer->total; n++)
            data[n] = printer->text ? (uint8_t)printer->text[printer->at + n] : pattern(printer->at + n);
        size_t taken = h2_stream_write(stream, data, n);
        printer->at += taken;
        if (printer->die_at && printer->at >= printer->die_at)
            raise(SIGKILL);
        if (taken < n)
            return;
    }
    h2_stream_end(stream);
}

static void print_closed(struct h2_stream *stream, uint32_t code, void *user)
{
    free(user);
}

static void start_print(struct h2_stream *stream, uint64_t from, uint64_t total, uint64_t die_at,
                        const char *text)
{
    static const struct h2_stream_ops ops = {.on_writable = print_more, .on_close = print_closed};
    struct printer *printer = xnew(struct printer);
    *printer = (struct printer){
        .stream = stream, .at = from, .total = total, .die_at = from == 0 ? die_at : 0, .text = text};
    char offset[32];
    snprintf(offset, sizeof(offset), "%llu", (unsigned long long)from);
    const struct h2_field fields[] = {{"content-type", "application/octet-stream"}, {"hutch-offset", offset}};
    h2_stream_set_ops(stream, &ops, printer);
    require(h2_respond(stream, 200, fields, 2, true, NULL) == 0);
    print_more(stream, printer);
}

/* ---- echo and sleep ---- */

static void live_move(struct h2_stream *stream, void *user)
{
    if (live.out && live.held.len > 0) {
        size_t n = h2_stream_write(live.out, buf_data(&live.held), live.held.len);
        buf_consume(&live.held, n);
        if (live.in && n > 0)
            h2_stream_consumed(live.in, n);
    }
    if (live.out && live.held.len == 0 && ((live.echo && live.in_ended) || live.signalled))
        h2_stream_end(live.out);
}

static void live_out_closed(struct h2_stream *stream, uint32_t code, void *user)
{
    if (live.out == stream)
        live.out = NULL;
}

static void live_data(struct h2_stream *stream, const uint8_t *data, size_t len, void *user)
{
    require(buf_append(&live.held, data, len, NULL) == 0);
    live_move(stream, NULL);
}

static void live_in_end(struct h2_stream *stream, void *user)
{
    auto(json) json_t *empty = json_object();
    note("stdin ended");
    live.in_ended = true;
    live.in = NULL;
    json_reply(stream, 200, empty);
    live_move(stream, NULL);
}

static void live_in_closed(struct h2_stream *stream, uint32_t code, void *user)
{
    if (live.in == stream)
        live.in = NULL;
}

static void start_live_out(struct h2_stream *stream)
{
    static const struct h2_stream_ops ops = {.on_writable = live_move, .on_close = live_out_closed};
    const struct h2_field fields[] = {{"hutch-offset", "0"}};
    h2_stream_set_ops(stream, &ops, NULL);
    require(h2_respond(stream, 200, fields, 1, true, NULL) == 0);
    live.out = stream;
    live_move(stream, NULL);
}

static void start_live_in(struct h2_stream *stream)
{
    static const struct h2_stream_ops ops = {
        .on_data = live_data, .on_end = live_in_end, .on_close = live_in_closed};
    h2_stream_set_ops(stream, &ops, NULL);
    live.in = stream;
}

/* ---- routes ---- */

static void reply_session(struct h2_stream *stream, const char *id)
{
    unsigned long long total = 0;
    int status = 0;
    if (sscanf(id, "count-%llu-%d", &total, &status) < 2)
        status = strcmp(id, "both") == 0 ? 3 : strcmp(id, "sleep") == 0 && live.signalled ? 130 : 0;
    bool running = strcmp(id, "sleep") == 0 && !live.signalled;
    auto(json) json_t *session = json_pack("{s:s, s:s, s:i, s:b}", "id", id, "state",
                                           running ? "running" : "exited", "exit_status", status, "pty", 0);
    json_reply(stream, 200, session);
}

static void on_start(struct h2_stream *stream, json_t *body, const struct error *err, void *user)
{
    json_t *argv = json_object_get(body, "argv");
    autofree char *id = xstrdup("");
    autofree char *text = json_text(body);
    note(text);
    for (size_t i = 0; i < json_array_size(argv); i++) {
        char *longer = xasprintf("%s%s%s", id, *id ? "-" : "", json_string_value(json_array_get(argv, i)));
        free(id);
        id = longer;
    }
    live.echo = strcmp(id, "echo") == 0;
    live.in_ended = live.signalled = false;
    buf_consume(&live.held, live.held.len);
    if (strcmp(id, "refuse") == 0) {
        auto(error) struct error *refusal = NULL;
        error_set(&refusal, ERROR_STATE, "\"demo\" is off");
        error_hint(&refusal, "hutch start demo");
        json_reply_error(stream, refusal);
        return;
    }
    auto(json) json_t *session = json_pack("{s:s, s:s, s:b}", "id", id, "state", "running", "pty", 0);
    json_reply(stream, 200, session);
}

static void on_signal(struct h2_stream *stream, json_t *body, const struct error *err, void *user)
{
    autofree char *text = json_text(body);
    auto(json) json_t *empty = json_object();
    note(text);
    live.signalled = true;
    json_reply(stream, 200, empty);
    live_move(stream, NULL);
}

/* The streams of a session. */
static void session_stream(struct h2_stream *stream, const char *id, const char *what, const char *path)
{
    unsigned long long total = 0, at = 0;
    autofree char *from = NULL;
    json_query(path, "from", &from, NULL, NULL);
    uint64_t start = from ? strtoull(from, NULL, 10) : 0;
    bool out = strcmp(what, "stdout") == 0;
    if (strcmp(what, "stdin") == 0) {
        start_live_in(stream);
    } else if (out &&
               (sscanf(id, "count-%llu", &total) == 1 || sscanf(id, "die-%llu-%llu", &total, &at) == 2)) {
        start_print(stream, start, total, at, NULL);
    } else if (strcmp(id, "both") == 0) {
        const char *text = out ? "out" : "err\n";
        start_print(stream, start, strlen(text), 0, text);
    } else if (out && strncmp(id, "text-", 5) == 0) {
        static char text[4096];
        snprintf(text, sizeof(text), "%s", id + 5);
        start_print(stream, start, strlen(text), 0, text);
    } else if (out) {
        start_live_out(stream);
    } else {
        start_print(stream, start, start, 0, NULL);
    }
}

static void session_request(struct h2_stream *stream, const struct h2_head *head, const char *rest)
{
    autofree char *raw = xstrndup(rest, strcspn(rest, "/?"));
    autofree char *query = xasprintf("/?id=%s", raw), *id = NULL;
    require(json_query(query, "id", &id, NULL, NULL) == 0);
    rest += strlen(raw);
    autofree char *what = *rest == '/' ? xstrndup(rest + 1, strcspn(rest + 1, "/?")) : xstrdup("");
    if (strcmp(what, "signal") == 0) {
        require(json_collect(stream, head, on_signal, NULL, NULL) == 0);
    } else if (strncmp(what, "std", 3) == 0) {
        session_stream(stream, id, what, head->path);
    } else if (strcmp(head->method, "DELETE") == 0) {
        auto(json) json_t *empty = json_object();
        json_reply(stream, 200, empty);
    } else {
        reply_session(stream, id);
    }
}

static void on_request(struct h2_session *session, struct h2_stream *stream, const struct h2_head *head,
                       void *user)
{
    static const char sessions[] = "/v1/projects/demo/sessions";
    autofree char *line = xasprintf("%s %s", head->method, head->path);
    note(line);
    if (strcmp(head->path, "/v1/version") == 0) {
        const char *protocol = getenv("FAKE_PROTOCOL");
        auto(json) json_t *body = json_pack("{s:s, s:i, s:i}", "version", "fake", "protocol",
                                            protocol ? 99 : 1, "pid", (int)getpid());
        json_reply(stream, 200, body);
    } else if (strncmp(head->path, "/v1/find", 8) == 0) {
        auto(json) json_t *body = json_pack("{s:s}", "name", "demo");
        json_reply(stream, 200, body);
    } else if (strcmp(head->path, sessions) == 0 && strcmp(head->method, "POST") == 0) {
        require(json_collect(stream, head, on_start, NULL, NULL) == 0);
    } else if (strncmp(head->path, sessions, strlen(sessions)) == 0 && head->path[strlen(sessions)] == '/') {
        session_request(stream, head, head->path + strlen(sessions) + 1);
    } else {
        auto(error) struct error *err = NULL;
        error_set(&err, ERROR_NOT_FOUND, "nothing is called that");
        json_reply_error(stream, err);
    }
}

static void on_over(struct link *link, const struct error *err, void *user)
{
    link_close(link, false);
}

static void on_connection(uv_poll_t *poll, int status, int events)
{
    static const struct link_ops ops = {.session = {.on_request = on_request}, .on_over = on_over};
    int listener = *(int *)poll->data;
    int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    struct link *link;
    if (fd >= 0)
        require(link_create(poll->loop, fd, H2_SERVER, NULL, &ops, NULL, NULL, 0, &link, NULL) == 0);
}

int main(void)
{
    auto(paths) struct paths *paths = NULL;
    auto(error) struct error *err = NULL;
    autofree char *path = xasprintf("%s/requests", getenv("HUTCH_HOME"));
    int listener;
    uv_loop_t loop;
    uv_poll_t poll;
    requests_path = path;
    note("started");
    if (getenv("FAKE_FAILS")) {
        fprintf(stderr, "libvirtd does not run\n");
        return 1;
    }
    signal(SIGPIPE, SIG_IGN);
    alarm(60);
    if (paths_find(&paths, &err) < 0 ||
        fd_unix_listen(paths->socket, SOCK_STREAM, 0600, &listener, &err) < 0) {
        fprintf(stderr, "%s\n", err->message);
        return 1;
    }
    buf_init(&live.held, 0);
    uv_loop_init(&loop);
    uv_poll_init(&loop, &poll, listener);
    poll.data = &listener;
    uv_poll_start(&poll, UV_READABLE, on_connection);
    return uv_run(&loop, UV_RUN_DEFAULT);
}
