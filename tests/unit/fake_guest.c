#include "fake_guest.h"

#include "base/alloc.h"
#include "base/fd.h"
#include "base/file.h"
#include "wire/hello.h"
#include "wire/json.h"
#include "wire/link.h"
#include "wire/pump.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#define PORTS 3
static const char *const port_names[PORTS] = {"control", "egress", "bulk"};

/* ---- QEMU: one client at a time; bytes go through a port that knows no connections ---- */

struct qemu_port {
    int listener, client, guest;
    uint8_t up[65536], down[65536]; /* from the guest; to it */
    size_t up_len, down_len;
};

static void move_in(int fd, uint8_t *to, size_t *len, bool *ret_gone)
{
    ssize_t n = recv(fd, to, 65536, MSG_DONTWAIT);
    if (n > 0)
        *len = (size_t)n;
    else if (n == 0 || (errno != EAGAIN && errno != EINTR))
        *ret_gone = true;
}

static void move_out(int fd, uint8_t *from, size_t *len)
{
    ssize_t n = send(fd, from, *len, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (n > 0) {
        memmove(from, from + n, *len - (size_t)n);
        *len -= (size_t)n;
    } else if (n < 0 && errno != EAGAIN) {
        *len = 0;
    }
}

/* What a connected client loses, the guest does not learn; what the guest says to nobody is lost. */
static void serve_port(struct qemu_port *port, const struct pollfd *p)
{
    bool gone = false, guest_gone = false; /* the latter never: both ends of the port are held here */

    if (p[0].revents & POLLIN && port->client < 0)
        port->client = accept4(port->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (port->client >= 0 && p[1].revents & (POLLIN | POLLHUP | POLLERR) && !port->down_len)
        move_in(port->client, port->down, &port->down_len, &gone);
    if (p[2].revents & (POLLIN | POLLHUP) && !port->up_len)
        move_in(port->guest, port->up, &port->up_len, &guest_gone);
    require(!guest_gone);
    if (port->down_len)
        move_out(port->guest, port->down, &port->down_len);
    if (port->client < 0)
        port->up_len = 0;
    else if (port->up_len)
        move_out(port->client, port->up, &port->up_len);
    if (gone) {
        close(port->client);
        port->client = -1;
        port->up_len = 0;
    }
}

static void run_guest(const int *fds, enum fake_mode mode, bool again);

/* Starts the guest's program; its process id is told in DIR/program. */
static void start_program(const char *dir, struct qemu_port *ports, const int *guest_fds, enum fake_mode mode,
                          bool again)
{
    autofree char *path = xasprintf("%s/program", dir);
    char text[16];
    pid_t pid = fork();

    require(pid >= 0);
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (int i = 0; i < PORTS; i++) {
            close(ports[i].guest);
            close(ports[i].listener);
            if (ports[i].client >= 0)
                close(ports[i].client);
        }
        run_guest(guest_fds, mode, again);
    }
    int len = snprintf(text, sizeof(text), "%d", (int)pid);
    require(file_replace(path, text, (size_t)len, 0600, NULL) == 0);
}

static volatile sig_atomic_t program_ended;

static void on_program_ended(int sig)
{
    program_ended = 1;
}

static void run_qemu(const char *dir, struct qemu_port *ports, const int *guest_fds)
{
    for (;;) {
        if (program_ended) {
            program_ended = 0;
            while (waitpid(-1, NULL, WNOHANG) > 0)
                start_program(dir, ports, guest_fds, FAKE_GOOD, true);
        }
        struct pollfd p[PORTS * 3];
        for (int i = 0; i < PORTS; i++) {
            struct qemu_port *port = &ports[i];
            p[i * 3] = (struct pollfd){.fd = port->client < 0 ? port->listener : -1, .events = POLLIN};
            p[i * 3 + 1] = (struct pollfd){.fd = port->client};
            p[i * 3 + 1].events = (short)((port->down_len ? 0 : POLLIN) | (port->up_len ? POLLOUT : 0));
            p[i * 3 + 2] = (struct pollfd){.fd = port->guest};
            p[i * 3 + 2].events = (short)((port->up_len ? 0 : POLLIN) | (port->down_len ? POLLOUT : 0));
        }
        if (poll(p, PORTS * 3, -1) < 0 && errno != EINTR)
            _exit(1);
        for (int i = 0; i < PORTS; i++)
            serve_port(&ports[i], &p[i * 3]);
    }
}

/* ---- the guest ---- */

struct fake_port {
    int id, fd;
    enum fake_mode mode;
    unsigned replies; /* hellos answered or mistreated */
    uint64_t zeros;
    struct hello_guest hello;
    struct hello_guest before; /* FAKE_OLD_NONCE: the hello before */
    uv_poll_t poll;
    struct link *link;
};

static uv_loop_t loop;

/* A body of known bytes, sent as the window opens. */
struct source {
    struct h2_stream *stream;
    uint64_t left, offset;
    const char *repeat; /* NULL: the pattern */
};

static uint8_t pattern(uint64_t offset)
{
    return (uint8_t)(offset * 131 ^ offset >> 16);
}

static void source_go(struct h2_stream *stream, void *user)
{
    struct source *source = user;

    while (source->left) {
        uint8_t block[8192];
        size_t n = source->left < sizeof(block) ? source->left : sizeof(block);
        size_t repeat = source->repeat ? strlen(source->repeat) : 0;
        for (size_t i = 0; i < n; i++)
            block[i] =
                repeat ? (uint8_t)source->repeat[(source->offset + i) % repeat] : pattern(source->offset + i);
        size_t done = h2_stream_write(stream, block, n);
        source->left -= done;
        source->offset += done;
        if (done < n)
            return;
    }
    h2_stream_end(stream);
}

static void source_close(struct h2_stream *stream, uint32_t code, void *user)
{
    free(user);
}

static const struct h2_stream_ops source_ops = {.on_writable = source_go, .on_close = source_close};

static void send_body(struct h2_stream *stream, int status, uint64_t size, const char *repeat)
{
    struct source *source = xnew(struct source);
    struct h2_field fields[] = {{"hutch-offset", "77"}};

    source->left = size;
    source->repeat = repeat;
    h2_stream_set_ops(stream, &source_ops, source);
    h2_respond(stream, status, fields, 1, true, NULL);
    source_go(stream, source);
}

/* Takes a body and holds it against the pattern. */
struct sink {
    uint64_t got;
    bool wrong;
};
static void sink_data(struct h2_stream *stream, const uint8_t *data, size_t len, void *user)
{
    struct sink *sink = user;
    for (size_t i = 0; i < len; i++)
        sink->wrong |= data[i] != pattern(sink->got + i);
    sink->got += len;
    h2_stream_consumed(stream, len);
}
static void sink_end(struct h2_stream *stream, void *user)
{
    struct sink *sink = user;
    auto(json) json_t *body = json_pack("{s:I}", "got", (json_int_t)sink->got);
    auto(error) struct error *err = NULL;
    if (!sink->wrong) {
        json_reply(stream, 200, body);
        return;
    }
    error_set(&err, ERROR_CORRUPT, "wrong bytes");
    json_reply_error(stream, err);
}
static void sink_close(struct h2_stream *stream, uint32_t code, void *user)
{
    free(user);
}
static const struct h2_stream_ops sink_ops = {
    .on_data = sink_data, .on_end = sink_end, .on_close = sink_close};

/* Sends back what it gets; what is not yet sent back stays in the window. */
struct echo {
    struct buf held;
    bool ended;
};
static void echo_go(struct h2_stream *stream, void *user)
{
    struct echo *echo = user;
    size_t n = h2_stream_write(stream, buf_data(&echo->held), echo->held.len);
    buf_consume(&echo->held, n);
    h2_stream_consumed(stream, n);
    if (echo->ended && !echo->held.len)
        h2_stream_end(stream);
}
static void echo_data(struct h2_stream *stream, const uint8_t *data, size_t len, void *user)
{
    struct echo *echo = user;
    require(buf_append(&echo->held, data, len, NULL) == 0);
    echo_go(stream, user);
}
static void echo_end(struct h2_stream *stream, void *user)
{
    ((struct echo *)user)->ended = true;
    echo_go(stream, user);
}
static void echo_close(struct h2_stream *stream, uint32_t code, void *user)
{
    buf_finish(&((struct echo *)user)->held);
    free(user);
}
static const struct h2_stream_ops echo_ops = {
    .on_data = echo_data, .on_end = echo_end, .on_writable = echo_go, .on_close = echo_close};
static const struct h2_stream_ops no_ops = {0};

static void reply_text(struct h2_stream *stream, int status, const char *text)
{
    send_body(stream, status, strlen(text), text);
}

static const char session_json[] =
    "{\"id\":\"s-1\",\"state\":\"running\",\"pty\":true,\"pid\":42,\"command\":\"true\",\"user\":\"agent\"}";
static const char file_json[] =
    "{\"name\":\"file\",\"type\":\"regular\",\"mode\":420,\"size\":5,\"uid\":1000,\"gid\":1000}\n";

static void on_body(struct h2_stream *stream, json_t *body, const struct error *err, void *user)
{
    auto(json) json_t *answer = json_loads(session_json, 0, NULL);
    const char *label = json_string_value(json_object_get(body, "label"));

    if (label)
        json_object_set_new(answer, "label", json_string(label));
    json_object_set_new(answer, "out_total", json_integer((json_int_t)json_object_size(body)));
    json_reply(stream, 200, answer);
}

/* Names of misdeeds: GET /v1/bad/NAME */
static bool misbehave(struct h2_session *session, struct h2_stream *stream, const char *name)
{
    if (strcmp(name, "huge") == 0)
        send_body(stream, 200, 8u << 20, "[[[[[[ ");
    else if (strcmp(name, "endless") == 0)
        send_body(stream, 200, UINT64_MAX, "{\"a\":\"bbbbbbbb");
    else if (strcmp(name, "types") == 0)
        reply_text(stream, 200, "{\"id\":7,\"state\":\"running\"}");
    else if (strcmp(name, "state") == 0)
        reply_text(stream, 200, "{\"id\":\"x\",\"state\":\"dancing\"}");
    else if (strcmp(name, "million") == 0)
        send_body(stream, 200, 1000000ull * strlen(file_json), file_json);
    else if (strcmp(name, "line") == 0)
        send_body(stream, 200, 100000, "x");
    else if (strcmp(name, "newlines") == 0)
        send_body(stream, 200, UINT64_MAX, "\n");
    else if (strcmp(name, "dotdot") == 0)
        reply_text(stream, 200, "{\"name\":\"../x\",\"type\":\"regular\"}\n");
    else if (strcmp(name, "cut") == 0) {
        send_body(stream, 200, 1u << 20, "y");
        h2_stream_reset(stream, H2_INTERNAL_ERROR);
    } else if (strcmp(name, "early") == 0)
        reply_text(stream, 200, "{\"id\":\"s-1\"");
    else if (strcmp(name, "headers") == 0) {
        struct h2_field fields[10];
        autofree char *value = xcalloc(1, 4001);
        memset(value, 'h', 4000);
        for (size_t i = 0; i < countof(fields); i++)
            fields[i] = (struct h2_field){"x-long", value};
        h2_stream_set_ops(stream, &no_ops, NULL);
        h2_respond(stream, 200, fields, countof(fields), false, NULL);
    } else
        return false;
    return true;
}

static void on_request(struct h2_session *session, struct h2_stream *stream, const struct h2_head *head,
                       void *user)
{
    const char *path = head->path;
    unsigned long long n;

    if (strcmp(path, "/v1/health") == 0)
        reply_text(stream, 200,
                   "{\"version\":1,\"phase\":\"ready\",\"hostname\":\"fake\",\"memory_total\":1024}");
    else if (strcmp(path, "/v1/sessions") == 0)
        json_collect(stream, head, on_body, NULL, NULL);
    else if (strcmp(path, "/v1/sessions/x/wait") == 0)
        h2_stream_set_ops(stream, &no_ops, NULL);
    else if (sscanf(path, "/v1/files/list?path=/%llu", &n) == 1)
        send_body(stream, 200, n * strlen(file_json), file_json);
    else if (strcmp(head->method, "GET") == 0 && sscanf(path, "/v1/files?path=/%llu", &n) == 1)
        send_body(stream, 200, n, NULL);
    else if (strcmp(path, "/v1/files?path=/full") == 0)
        reply_text(
            stream, 507,
            "{\"error\":{\"code\":\"no-space\",\"message\":\"the disk is full\",\"hint\":\"grow it\"}}");
    else if (strcmp(head->method, "PUT") == 0 && strncmp(path, "/v1/files?", 10) == 0)
        h2_stream_set_ops(stream, &sink_ops, xnew(struct sink));
    else if (strcmp(path, "/v1/tcp/1") == 0) {
        h2_stream_set_ops(stream, &echo_ops, xnew(struct echo));
        h2_respond(stream, 200, NULL, 0, true, NULL);
    } else if (strncmp(path, "/v1/bad/", 8) != 0 || !misbehave(session, stream, path + 8))
        reply_text(stream, 404, "{\"error\":{\"code\":\"not-found\",\"message\":\"no \\u001b[31mpath\"}}");
}

static void on_readable(uv_poll_t *poll, int status, int events);

static void wait_for_hello(struct fake_port *port)
{
    uv_poll_start(&port->poll, UV_READABLE, on_readable);
}

static int filter(struct link *link, const uint8_t *data, size_t len, struct buf *out, void *user)
{
    struct fake_port *port = user;
    if (len == 0)
        hello_guest_release(&port->hello, out);
    return hello_guest_receive(&port->hello, data, len, out) ? -1 : (int)out->len;
}

static bool filter_holds(struct link *link, void *user)
{
    return hello_guest_holds(&((struct fake_port *)user)->hello);
}

static void answer(struct fake_port *port);

/* The session ended, by a new hello or a broken host: the port stays. */
static void on_over(struct link *link, const struct error *err, void *user)
{
    struct fake_port *port = user;

    port->fd = link_close(link, true);
    port->link = NULL;
    if (!port->hello.have_hello)
        hello_guest_reset(&port->hello);
    wait_for_hello(port);
    if (port->hello.have_hello)
        answer(port);
}

static void egress_head(struct h2_stream *stream, const struct h2_head *head, void *user)
{
    require(head->status == 503);
}
static const struct h2_stream_ops egress_ops = {.on_head = egress_head};

static void begin(struct fake_port *port)
{
    static const struct link_ops server = {
        .session.on_request = on_request, .on_over = on_over, .filter = filter, .filter_holds = filter_holds};
    static const struct link_ops client = {
        .on_over = on_over, .filter = filter, .filter_holds = filter_holds};
    struct h2_options options = {.trusted = true};
    bool egress = port->id == 1;

    uv_poll_stop(&port->poll);
    require(link_create(&loop, port->fd, egress ? H2_CLIENT : H2_SERVER, &options, egress ? &client : &server,
                        port, NULL, 0, &port->link, NULL) == 0);
    if (egress)
        h2_request(link_session(port->link), "CONNECT", NULL, "example.com:443", NULL, 0, true, &egress_ops,
                   NULL, NULL);
}

static void say(struct fake_port *port, const void *data, size_t len)
{
    fd_set_nonblocking(port->fd, false, NULL);
    if (fd_write_all(port->fd, data, len, NULL) < 0)
        _exit(0);
    fd_set_nonblocking(port->fd, true, NULL);
}

/* Answers the last hello, or does what the mode says to the first ones. */
static void answer(struct fake_port *port)
{
    uint8_t reply[HELLO_REPLY_SIZE];
    static const uint8_t zeros[65536];
    enum fake_mode mode = port->mode;
    unsigned n = port->replies++;

    if (mode == FAKE_OLD_NONCE && n == 0) {
        port->before = port->hello;
        port->hello.have_hello = false;
        return;
    }
    struct hello_guest *hello = mode == FAKE_OLD_NONCE && n == 1 ? &port->before : &port->hello;
    hello_guest_reply(hello, reply);
    if ((mode == FAKE_WRONG_NONCE && n < 2) || (mode == FAKE_OLD_NONCE && n == 1)) {
        if (mode == FAKE_WRONG_NONCE)
            reply[HELLO_MAGIC_SIZE] ^= 1;
        say(port, reply, sizeof(reply));
        say(port, "\0\0\0\4\0\0\0\0\0", 9);
        hello_guest_reset(&port->hello);
        return;
    }
    if (mode == FAKE_CUT_REPLY && n == 0) {
        say(port, reply, sizeof(reply) / 2);
        hello_guest_reset(&port->hello);
        return;
    }
    if (mode == FAKE_ZEROS && port->zeros < 100000000) {
        for (; port->zeros < 100000000; port->zeros += sizeof(zeros))
            say(port, zeros, sizeof(zeros));
        hello_guest_reset(&port->hello);
        return;
    }
    say(port, reply, sizeof(reply));
    if (mode == FAKE_NO_HTTP && n < 4) {
        say(port, zeros, sizeof(zeros));
        hello_guest_reset(&port->hello);
        return;
    }
    begin(port);
}

static void on_readable(uv_poll_t *poll, int status, int events)
{
    struct fake_port *port = poll->data;
    uint8_t data[65536];
    ssize_t n;
    struct buf pass;

    buf_init(&pass, 0);
    while ((n = recv(port->fd, data, sizeof(data), MSG_DONTWAIT)) > 0)
        hello_guest_receive(&port->hello, data, (size_t)n, &pass);
    buf_finish(&pass);
    if (n == 0)
        _exit(0);
    if (port->hello.have_hello && port->mode != FAKE_MUTE)
        answer(port);
}

/* again: another program was here before; what it had begun ends with a GOAWAY, if the host is there and
 * listens. */
static void run_guest(const int *fds, enum fake_mode mode, bool again)
{
    static const uint8_t goaway[17] = {0, 0, 8, 7};
    static struct fake_port ports[PORTS];

    require(uv_loop_init(&loop) == 0);
    for (int i = 0; i < PORTS; i++) {
        ports[i] = (struct fake_port){.id = i, .fd = fds[i], .mode = mode};
        hello_guest_init(&ports[i].hello);
        if (again)
            send(fds[i], goaway, sizeof(goaway), MSG_DONTWAIT | MSG_NOSIGNAL);
        require(uv_poll_init(&loop, &ports[i].poll, fds[i]) == 0);
        ports[i].poll.data = &ports[i];
        wait_for_hello(&ports[i]);
    }
    uv_run(&loop, UV_RUN_DEFAULT);
    _exit(0);
}

pid_t fake_guest_start(const char *dir, enum fake_mode mode)
{
    struct qemu_port *ports = xnewn(struct qemu_port, PORTS);
    int guest_fds[PORTS];

    for (int i = 0; i < PORTS; i++) {
        autofree char *path = xasprintf("%s/%s.sock", dir, port_names[i]);
        int pair[2];
        unlink(path);
        require(fd_unix_listen(path, SOCK_STREAM, 0600, &ports[i].listener, NULL) == 0);
        require(fd_socketpair(SOCK_STREAM, true, pair, NULL) == 0);
        ports[i].guest = pair[0];
        ports[i].client = -1;
        guest_fds[i] = pair[1];
    }
    pid_t pid = fork();
    require(pid >= 0);
    if (pid == 0) {
        struct sigaction action = {.sa_handler = on_program_ended};
        alarm(0);
        signal(SIGPIPE, SIG_IGN);
        sigaction(SIGCHLD, &action, NULL); /* without SA_RESTART: poll ends */
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        start_program(dir, ports, guest_fds, mode, false);
        run_qemu(dir, ports, guest_fds);
    }
    for (int i = 0; i < PORTS; i++)
        close(ports[i].listener), close(ports[i].guest), close(guest_fds[i]);
    free(ports);
    return pid;
}

void fake_guest_stop(pid_t pid)
{
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

void fake_guest_kill_program(const char *dir)
{
    autofree char *path = xasprintf("%s/program", dir);
    autofree char *text = NULL;
    size_t len;

    require(file_read(path, 16, &text, &len, NULL) == 0);
    pid_t pid = (pid_t)strtol(text, NULL, 10);
    require(pid > 1 && kill(pid, SIGKILL) == 0);
}
