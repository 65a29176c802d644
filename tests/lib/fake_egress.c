#include "fake_egress.h"

#include "base/alloc.h"
#include "base/fd.h"
#include "wire/hello.h"
#include "wire/link.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#define TRIES 400 /* of 50 ms */

enum kind { KIND_ECHO, KIND_SINK, KIND_FLOOD, KIND_STUCK, KIND_RESET, KIND_HOLD, KIND_ENDED };

struct visit {
    struct h2_stream *stream;
    enum kind kind;
    size_t count, left;
    struct buf echo;
    bool ended;
};

static unsigned held, withdrawn;

static void say(struct h2_stream *stream, const char *text)
{
    h2_stream_write(stream, text, strlen(text));
    h2_stream_end(stream);
}

static void feed(struct visit *visit)
{
    static const char block[16384] = {1};
    size_t n = 1;

    while (visit->kind == KIND_FLOOD && visit->left && n) {
        n = h2_stream_write(visit->stream, block, visit->left < sizeof(block) ? visit->left : sizeof(block));
        visit->left -= n;
    }
    while (visit->kind == KIND_ECHO && visit->echo.len && n) {
        n = h2_stream_write(visit->stream, buf_data(&visit->echo), visit->echo.len);
        h2_stream_consumed(visit->stream, n);
        buf_consume(&visit->echo, n);
    }
    if ((visit->kind == KIND_FLOOD && !visit->left) ||
        (visit->kind == KIND_ECHO && visit->ended && !visit->echo.len))
        h2_stream_end(visit->stream);
}

static void on_data(struct h2_stream *stream, const uint8_t *data, size_t len, void *user)
{
    struct visit *visit = user;

    visit->count += len;
    if (visit->kind == KIND_ECHO) {
        buf_append(&visit->echo, data, len, NULL);
        feed(visit);
    } else if (visit->kind == KIND_RESET) {
        h2_stream_reset(stream, H2_CONNECT_ERROR);
    } else if (visit->kind != KIND_STUCK && visit->kind != KIND_HOLD) {
        h2_stream_consumed(stream, len);
    }
}

static void on_end(struct h2_stream *stream, void *user)
{
    struct visit *visit = user;
    char text[32];

    visit->ended = true;
    if (visit->kind == KIND_ECHO)
        feed(visit);
    snprintf(text, sizeof(text), "%zu", visit->count);
    if (visit->kind == KIND_SINK)
        say(stream, text);
}

static void on_writable(struct h2_stream *stream, void *user)
{
    feed(user);
}

static void on_close(struct h2_stream *stream, uint32_t code, void *user)
{
    struct visit *visit = user;

    withdrawn += visit->kind == KIND_HOLD;
    buf_finish(&visit->echo);
    free(visit);
}

static const struct {
    const char *name;
    int status;
    enum kind kind;
    const char *text; /* NULL: the stream goes on */
} hosts[] = {
    {"echo.test", 200, KIND_ECHO, NULL},
    {"first.test", 200, KIND_ENDED, "hello\n"},
    {"sink.test", 200, KIND_SINK, NULL},
    {"flood.test", 200, KIND_FLOOD, NULL},
    {"stuck.test", 200, KIND_STUCK, NULL},
    {"reset.test", 200, KIND_RESET, NULL},
    {"deny.test", 403, KIND_ENDED,
     "{\"verdict\":\"deny\",\"reason\":\"no-rule\",\"host\":\"deny.test\",\"port\":443,"
     "\"rule_missing\":\"allow deny.test:443\",\"next\":\"ask the "
     "person\",\"request\":31,\"state\":\"waiting\"}"},
    {"bad.test", 502, KIND_ENDED, "{\"verdict\":\"deny\",\"reason\":\"resolve\"}"},
    {"busy.test", 503, KIND_ENDED, "{\"verdict\":\"deny\",\"reason\":\"log\"}"},
    {"form.test", 400, KIND_ENDED, "no json"},
    {"1.request.hutch.internal", 200, KIND_ENDED,
     "{\"request\":1,\"verdict\":\"allow\",\"reason\":\"go on\"}"},
    {"2.request.hutch.internal", 200, KIND_ENDED,
     "{\"request\":2,\"verdict\":\"deny\",\"reason\":\"not \\u001b[1mthat\"}"},
    {"3.request.hutch.internal", 200, KIND_ENDED, "{\"request\":3,\"verdict\":\"gone\"}"},
};

static void on_request(struct h2_session *session, struct h2_stream *stream, const struct h2_head *head,
                       void *user)
{
    static const struct h2_stream_ops ops = {
        .on_data = on_data, .on_end = on_end, .on_writable = on_writable, .on_close = on_close};
    struct visit *visit = xnew(struct visit);
    size_t len = (size_t)(strrchr(head->authority, ':') - head->authority), i = 0;
    autofree char *name = xstrndup(head->authority, len), *text = NULL;

    *visit = (struct visit){.stream = stream, .kind = KIND_ENDED, .left = FAKE_FLOOD};
    buf_init(&visit->echo, 0);
    h2_stream_set_ops(stream, &ops, visit);
    while (i < countof(hosts) && strcmp(hosts[i].name, name) != 0)
        i++;
    if (i < countof(hosts)) {
        visit->kind = hosts[i].kind;
        h2_respond(stream, hosts[i].status, NULL, 0, true, NULL);
        if (hosts[i].text)
            say(stream, hosts[i].text);
        feed(visit);
        return;
    }
    if (!strcmp(name, "claim.test"))
        text = xasprintf("%s\n%s", h2_head_field(head, "hutch-entrance"), h2_head_field(head, "hutch-claim"));
    else if (!strcmp(name, "gone.test"))
        text = xasprintf("held=%u withdrawn=%u", held, withdrawn);
    else if (!strcmp(name, "hold.test"))
        visit->kind = KIND_HOLD;
    else if (!strcmp(name, "mute.test"))
        h2_stream_reset(stream, H2_INTERNAL_ERROR);
    else /* says back what it was asked */
        text = xasprintf("%s %s", head->authority, h2_head_field(head, "hutch-entrance"));
    held += visit->kind == KIND_HOLD;
    if (text) {
        h2_respond(stream, 200, NULL, 0, true, NULL);
        say(stream, text);
    }
}

static void on_over(struct link *link, const struct error *err, void *user)
{
    if (err)
        fprintf(stderr, "fake host: %s\n", err->message);
    _exit(err ? 1 : 0);
}

static void shake_hands(int fd)
{
    struct hello_host hello;
    uint8_t out[HELLO_KEY_SIZE + HELLO_SIZE], in[4096];

    hello_host_init(&hello, NULL);
    for (int tries = 0; tries < TRIES; tries++) {
        struct pollfd p = {.fd = fd, .events = POLLIN};
        hello_host_make(&hello, out);
        if (write(fd, out, sizeof(out)) != (ssize_t)sizeof(out))
            _exit(2);
        while (poll(&p, 1, 250) == 1) {
            size_t used;
            uint32_t version;
            ssize_t n = read(fd, in, sizeof(in));
            if (n <= 0)
                _exit(3);
            if (hello_host_receive(&hello, in, (size_t)n, &used, &version) == 1)
                return;
        }
    }
    _exit(4);
}

static void serve(const char *folder) __attribute__((noreturn));
static void serve(const char *folder)
{
    static const char *const fields[] = {"hutch-entrance", "hutch-claim", NULL};
    static const struct link_ops ops = {.session = {.on_request = on_request}, .on_over = on_over};
    const struct h2_options options = {.connect_only = true, .connect_fields = fields};
    autofree char *path = xasprintf("%s/egress.sock", folder);
    struct link *link;
    uv_loop_t loop;
    int fd = -1;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    signal(SIGPIPE, SIG_IGN);
    for (int i = 0; fd_unix_connect(path, SOCK_STREAM, &fd, NULL); i++) {
        if (i > TRIES)
            _exit(5);
        usleep(50000);
    }
    shake_hands(fd);
    uv_loop_init(&loop);
    if (link_create(&loop, fd, H2_SERVER, &options, &ops, NULL, NULL, 0, &link, NULL))
        _exit(6);
    uv_run(&loop, UV_RUN_DEFAULT);
    _exit(7);
}

pid_t fake_egress_start(const char *folder)
{
    pid_t pid = fork();

    require(pid >= 0);
    if (pid == 0)
        serve(folder);
    return pid;
}

void fake_egress_kill(pid_t pid)
{
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}
