#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "agent_rig.h"

#include "base/alloc.h"
#include "base/fd.h"
#include "base/file.h"
#include "base/spawn.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define LIMIT_MS 150000
#define STEP_MS  10

static const char *const port_names[] = {[RIG_CONTROL] = "control", [RIG_BULK] = "bulk"};

/* ---- the agent ---- */

static void start_agent(struct rig *rig)
{
    const char *const argv[] = {
        "./hutch-guest",           "serve",  "--ports", rig->folder, "--root", rig->folder,
        rig->net ? "--net" : NULL, "listen", NULL};
    const struct spawn spawn = {.argv = argv, .in = -1, .out = -1, .err = 2};
    struct error *err = NULL;

    if (spawn_start(&spawn, &rig->serve, &err))
        fail_msg("%s", err->message);
}

/* Sends hellos until the agent's reply has come. */
static void shake_hands(int fd, struct rig *rig, enum rig_port port)
{
    struct hello_host hello;
    uint8_t out[HELLO_KEY_SIZE + HELLO_SIZE], in[4096];

    hello_host_init(&hello, rig->has_key[port] ? rig->key[port] : NULL);
    memcpy(rig->key[port], hello.new_key, HELLO_KEY_SIZE);
    rig->has_key[port] = true;
    for (int tries = 0; tries < LIMIT_MS / 250; tries++) {
        hello_host_make(&hello, out);
        assert_int_equal(write(fd, out, sizeof(out)), sizeof(out));
        struct pollfd p = {.fd = fd, .events = POLLIN};
        while (poll(&p, 1, 250) == 1) {
            size_t used;
            uint32_t version;
            ssize_t n = read(fd, in, sizeof(in));
            assert_true(n > 0);
            if (hello_host_receive(&hello, in, (size_t)n, &used, &version) == 1) {
                assert_int_equal(used, n);
                assert_int_equal(version, HELLO_VERSION);
                return;
            }
        }
    }
    fail_msg("no reply to the hello");
}

static void on_over(struct link *link, const struct error *err, void *user)
{
    struct link **slot = user;
    *slot = NULL;
    link_close(link, false);
}

static void connect_port(struct rig *rig, enum rig_port port)
{
    static const struct link_ops ops = {.on_over = on_over};
    const struct h2_options options = {.trusted = true};
    autofree char *path = xasprintf("%s/%s.sock", rig->folder, port_names[port]);
    int fd = -1;

    for (int ms = 0; fd_unix_connect(path, SOCK_STREAM, &fd, NULL); ms += STEP_MS) {
        if (ms > LIMIT_MS)
            fail_msg("the agent does not listen");
        usleep(STEP_MS * 1000);
    }
    shake_hands(fd, rig, port);
    assert_int_equal(link_create(&rig->loop, fd, H2_CLIENT, &options, &ops, &rig->link[port], NULL, 0,
                                 &rig->link[port], NULL),
                     0);
}

static void start(struct rig *rig)
{
    snprintf(rig->folder, sizeof(rig->folder), "/tmp/hutch-rig-XXXXXX");
    assert_non_null(mkdtemp(rig->folder));
    signal(SIGPIPE, SIG_IGN);
    uv_loop_init(&rig->loop);
    start_agent(rig);
    for (int port = 0; port < RIG_PORTS; port++)
        connect_port(rig, port);
}

void rig_start(struct rig *rig)
{
    memset(rig, 0, sizeof(*rig));
    start(rig);
}

void rig_start_net(struct rig *rig)
{
    memset(rig, 0, sizeof(*rig));
    rig->net = true;
    start(rig);
}

/* What a failed test left running. */
static void delete_sessions(struct rig *rig)
{
    if (!rig->link[RIG_CONTROL])
        return;
    autofree char *text = rig_get(rig, "/v1/sessions");
    char *cursor = text, *line;
    while ((line = strsep(&cursor, "\n"))) {
        auto(json) json_t *session = *line ? json_parse(line, strlen(line), NULL) : NULL;
        if (!session)
            continue;
        autofree char *path = xasprintf("/v1/sessions/%s", json_string_value(json_object_get(session, "id")));
        rig_call(rig, "DELETE", path, NULL, NULL);
    }
}

static void close_links(struct rig *rig)
{
    for (int port = 0; port < RIG_PORTS; port++) {
        if (rig->link[port])
            link_close(rig->link[port], false);
        rig->link[port] = NULL;
    }
}

void rig_stop(struct rig *rig)
{
    int status;

    delete_sessions(rig);
    close_links(rig);
    uv_run(&rig->loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&rig->loop), 0);
    kill(rig->serve, SIGTERM);
    assert_int_equal(waitpid(rig->serve, &status, 0), rig->serve);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    file_remove_tree(rig->folder, NULL);
}

void rig_restart_agent(struct rig *rig)
{
    int status;

    kill(rig->serve, SIGKILL);
    waitpid(rig->serve, &status, 0);
    close_links(rig);
    /* a child that it was just starting may hold the listening sockets for a moment longer */
    for (int port = 0; port < RIG_PORTS; port++) {
        autofree char *path = xasprintf("%s/%s.sock", rig->folder, port_names[port]);
        unlink(path);
    }
    start_agent(rig);
    for (int port = 0; port < RIG_PORTS; port++)
        connect_port(rig, port);
}

static void on_late(uv_timer_t *timer)
{
    *(bool *)timer->data = true;
}

void rig_until(struct rig *rig, const bool *flag)
{
    uv_timer_t timer;
    bool late = false;

    uv_timer_init(&rig->loop, &timer);
    timer.data = &late;
    uv_timer_start(&timer, on_late, LIMIT_MS, 0);
    while (!*flag && !late)
        uv_run(&rig->loop, UV_RUN_ONCE);
    uv_close((uv_handle_t *)&timer, NULL);
    uv_run(&rig->loop, UV_RUN_NOWAIT);
    if (late)
        fail_msg("waited %d s in vain", LIMIT_MS / 1000);
}

/* ---- streams ---- */

uint8_t rig_pattern(uint64_t offset)
{
    return (uint8_t)(offset ^ (offset >> 8) * 31 ^ (offset >> 16) * 17 ^ (offset >> 24) * 7);
}

static void take(struct rig_stream *s, const uint8_t *data, size_t len)
{
    for (size_t i = 0; s->check && i < len; i++)
        s->wrong = s->wrong || data[i] != rig_pattern(s->received + i);
    if (!s->check)
        buf_append(&s->in, data, len, NULL);
    s->received += len;
}

static void on_head(struct h2_stream *stream, const struct h2_head *head, void *user)
{
    struct rig_stream *s = user;
    const char *offset = h2_head_field(head, "hutch-offset");

    s->status = head->status;
    s->offset = offset ? strtoll(offset, NULL, 10) : -1;
    s->headed = true;
}

static void on_data(struct h2_stream *stream, const uint8_t *data, size_t len, void *user)
{
    struct rig_stream *s = user;

    take(s, data, len);
    if (s->paused)
        s->unconsumed += len;
    else
        h2_stream_consumed(stream, len);
}

static void on_end(struct h2_stream *stream, void *user)
{
    ((struct rig_stream *)user)->ended = true;
}

static void send_more(struct rig_stream *s)
{
    uint8_t piece[16384];

    while (s->sent < s->to_send) {
        size_t n = s->to_send - s->sent < sizeof(piece) ? (size_t)(s->to_send - s->sent) : sizeof(piece);
        for (size_t i = 0; i < n; i++)
            piece[i] = rig_pattern(s->sent + i);
        size_t done = h2_stream_write(s->stream, piece, n);
        s->sent += done;
        if (done < n)
            return;
    }
    h2_stream_end(s->stream);
}

static void on_writable(struct h2_stream *stream, void *user)
{
    struct rig_stream *s = user;
    if (s->to_send)
        send_more(s);
}

static void on_close(struct h2_stream *stream, uint32_t code, void *user)
{
    struct rig_stream *s = user;
    s->stream = NULL;
    s->code = code;
    s->closed = true;
}

static const struct h2_stream_ops stream_ops = {.on_head = on_head,
                                                .on_data = on_data,
                                                .on_end = on_end,
                                                .on_writable = on_writable,
                                                .on_close = on_close};

static void open_on(struct rig *rig, enum rig_port port, struct rig_stream *s, const char *method,
                    const char *path, bool body)
{
    struct error *err = NULL;

    memset(s, 0, sizeof(*s));
    s->rig = rig;
    s->offset = -1;
    buf_init(&s->in, 0);
    assert_non_null(rig->link[port]);
    s->stream =
        h2_request(link_session(rig->link[port]), method, path, NULL, NULL, 0, body, &stream_ops, s, &err);
    if (!s->stream)
        fail_msg("%s", err->message);
}

void rig_open(struct rig *rig, struct rig_stream *s, const char *method, const char *path, bool body)
{
    open_on(rig, RIG_BULK, s, method, path, body);
}

void rig_stream_write(struct rig_stream *s, const void *data, size_t len)
{
    assert_int_equal(h2_stream_write(s->stream, data, len), len);
}

void rig_stream_send_pattern(struct rig_stream *s, uint64_t total)
{
    s->to_send = total;
    send_more(s);
}

void rig_stream_end(struct rig_stream *s)
{
    h2_stream_end(s->stream);
}

void rig_stream_resume(struct rig_stream *s)
{
    s->paused = false;
    if (s->stream)
        h2_stream_consumed(s->stream, s->unconsumed);
    s->unconsumed = 0;
}

void rig_stream_finish(struct rig_stream *s)
{
    rig_until(s->rig, &s->closed);
}

void rig_stream_until(struct rig_stream *s, uint64_t n)
{
    while (s->received < n && !s->closed)
        uv_run(&s->rig->loop, UV_RUN_ONCE);
    assert_true(s->received >= n);
}

const char *rig_stream_text(struct rig_stream *s)
{
    buf_append(&s->in, "", 1, NULL);
    s->in.len--;
    return (const char *)buf_data(&s->in);
}

void rig_stream_free(struct rig_stream *s)
{
    if (s->stream) {
        h2_stream_set_ops(s->stream, NULL, NULL);
        h2_stream_reset(s->stream, H2_CANCEL);
    }
    buf_finish(&s->in);
}

/* ---- calls ---- */

/* The answer's JSON; NULL when it is none. */
static json_t *body_of(struct rig_stream *s)
{
    size_t len = s->in.len;
    while (len && buf_data(&s->in)[len - 1] == '\n')
        len--;
    return len ? json_parse((const char *)buf_data(&s->in), len, NULL) : NULL;
}

static int finish_call(struct rig_stream *s, json_t **ret)
{
    rig_stream_finish(s);
    if (!s->ended)
        fail_msg("the answer was cut: status %d, code %u", s->status, s->code);
    int status = s->status;
    if (ret)
        *ret = body_of(s);
    rig_stream_free(s);
    return status;
}

int rig_call(struct rig *rig, const char *method, const char *path, json_t *body, json_t **ret)
{
    struct rig_stream s;

    open_on(rig, RIG_CONTROL, &s, method, path, body != NULL);
    if (body) {
        autofree char *text = json_text(body);
        size_t len = strlen(text), done = 0;
        while (done < len && !s.closed) {
            done += h2_stream_write(s.stream, text + done, len - done);
            uv_run(&rig->loop, UV_RUN_NOWAIT);
        }
        if (s.stream)
            h2_stream_end(s.stream);
        json_decref(body);
    }
    return finish_call(&s, ret);
}

const char *rig_error_code(const json_t *body)
{
    const char *code = json_string_value(json_object_get(json_object_get(body, "error"), "code"));
    return code ? code : "";
}

void rig_exec(struct rig *rig, char ret_id[40], json_t *more, const char *arg, ...)
{
    json_t *body = more ? more : json_object(), *argv = json_array(), *answer = NULL;
    va_list args;

    va_start(args, arg);
    for (; arg; arg = va_arg(args, const char *))
        json_array_append_new(argv, json_string(arg));
    va_end(args);
    json_object_set_new(body, "argv", argv);
    int status = rig_call(rig, "POST", "/v1/sessions", body, &answer);
    if (status != 200)
        fail_msg("status %d: %s", status, json_dumps(answer, 0));
    snprintf(ret_id, 40, "%s", json_string_value(json_object_get(answer, "id")));
    json_decref(answer);
}

json_t *rig_wait_session(struct rig *rig, const char *id)
{
    autofree char *path = xasprintf("/v1/sessions/%s/wait", id);
    json_t *answer = NULL;
    assert_int_equal(rig_call(rig, "GET", path, NULL, &answer), 200);
    return answer;
}

char *rig_get(struct rig *rig, const char *path)
{
    struct rig_stream s;

    rig_open(rig, &s, "GET", path, false);
    rig_stream_finish(&s);
    assert_int_equal(s.status, 200);
    assert_true(s.ended);
    char *text = xstrdup(rig_stream_text(&s));
    rig_stream_free(&s);
    return text;
}

int rig_send(struct rig *rig, const char *method, const char *path, const char *text, size_t len,
             json_t **ret)
{
    struct rig_stream s;
    size_t done = 0;

    rig_open(rig, &s, method, path, true);
    while (done < len && !s.closed) {
        done += h2_stream_write(s.stream, text + done, len - done);
        uv_run(&rig->loop, UV_RUN_NOWAIT);
    }
    if (s.stream)
        h2_stream_end(s.stream);
    return finish_call(&s, ret);
}
