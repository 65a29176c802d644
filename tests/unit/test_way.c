/* The whole way out (way_rig.h): what passes, what is counted, what is cut. Names are the ids of the list of
 * attacks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "way_rig.h"

#include "base/alloc.h"
#include "base/fd.h"
#include "wire/hello.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define GOOD "93.184.216.34"
#define EVIL "93.184.216.66"

static struct way_rig rig;

static int set_up(void **state)
{
    (void)state;
    way_start(&rig);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    way_stop(&rig);
    return 0;
}

static void serve_ssh(struct way_server *server, int fd)
{
    char line[64];
    ssize_t n;

    send(fd, "SSH-2.0-test\r\n", 14, MSG_NOSIGNAL);
    n = recv(fd, line, sizeof(line), 0);
    if (n > 0)
        send(fd, line, (size_t)n, MSG_NOSIGNAL);
    serve_sink(server, fd);
}

/* The server speaks first; nothing waits for a first flight. */
static void T07_ssh(void **state)
{
    struct rig_stream s;

    (void)state;
    way_serve_at(&rig, "ssh.good.test", GOOD, serve_ssh);
    struct way_machine *machine =
        way_machine(&rig, "p1", MODE_DENY, WAY_RULES("allow ssh.good.test:22 proto=tcp"), NULL, NULL);
    way_step_in(machine);
    way_open(machine, &s, "ssh.good.test:22");
    assert_true(way_until(&rig, s.in.len == 14, 10000));
    flow_guest_write(&machine->side, &s, "SSH-2.0-me\r\n", 12);
    assert_true(way_until(&rig, s.in.len == 26, 10000));
    assert_string_equal(rig_text(&s), "SSH-2.0-test\r\nSSH-2.0-me\r\n");
    rig_end(&s);
    assert_true(way_until(&rig, s.closed, 10000));
    assert_int_equal(s.code, 0);
    assert_true(way_until(&rig, way_row(machine, FLOW_ROW_CLOSE, "ssh.good.test:22"), 10000));
    assert_string_equal(way_row(machine, FLOW_ROW_CLOSE, "ssh.good.test:22")->end, "done");
    rig_free(&s);
}

/* A request a connection, and its answer. */
static void serve_http(struct way_server *server, int fd)
{
    static const char moved[] =
        "HTTP/1.1 301 Moved\r\nLocation: http://evil.test/\r\nContent-Length: 0\r\n\r\n";
    static const char good[] = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
    char head[2048] = "";
    size_t len = 0;
    ssize_t n;

    while ((n = recv(fd, head + len, sizeof(head) - 1 - len, 0)) > 0) {
        len += (size_t)n;
        head[len] = '\0';
        server->received += (uint64_t)n;
        char *end = strstr(head, "\r\n\r\n");
        if (!end)
            continue;
        const char *answer = strncmp(head, "GET /moved", 10) ? good : moved;
        send(fd, answer, strlen(answer), MSG_NOSIGNAL);
        len -= (size_t)(end + 4 - head);
        memmove(head, end + 4, len + 1);
        server->mark++;
    }
}

/* A redirect is the client's to follow, and then a request like any other. */
static void T19_redirect(void **state)
{
    static const char request[] = "GET /moved HTTP/1.1\r\nHost: good.test\r\n\r\n";
    struct rig_stream s, evil;

    (void)state;
    way_serve_at(&rig, "good.test", GOOD, serve_http);
    struct way_server *other = way_serve_at(&rig, "evil.test", EVIL, serve_http);
    struct way_machine *machine =
        way_machine(&rig, "p1", MODE_DENY, WAY_RULES("allow good.test:80"), NULL, NULL);
    way_step_in(machine);
    way_open(machine, &s, "good.test:80");
    flow_guest_write(&machine->side, &s, request, sizeof(request) - 1);
    assert_true(way_until(&rig, s.in.len > 0 && strstr(rig_text(&s), "\r\n\r\n"), 10000));
    assert_non_null(strstr(rig_text(&s), "301"));
    assert_non_null(strstr(rig_text(&s), "http://evil.test/"));
    static const char *const next[] = {"evil.test:80", "169.254.169.254:80"};
    for (size_t i = 0; i < countof(next); i++) {
        flow_guest_connect(&machine->side, &evil, next[i], NULL, 0);
        assert_true(way_until(&rig, evil.closed, 10000));
        assert_int_equal(evil.status, 403);
        rig_free(&evil);
    }
    assert_int_equal(other->accepted, 0);
    assert_int_equal(machine->lookups, 1);
    assert_int_equal(machine->dials, 1);
    rig_free(&s);
}

/* The second of two pipelined requests goes elsewhere: it never leaves. */
static void T08_pipelined(void **state)
{
    static const char both[] =
        "GET / HTTP/1.1\r\nHost: good.test\r\n\r\nGET / HTTP/1.1\r\nHost: evil.test\r\n\r\n";
    struct rig_stream s;

    (void)state;
    struct way_server *server = way_serve_at(&rig, "good.test", GOOD, serve_http);
    struct way_machine *machine =
        way_machine(&rig, "p1", MODE_DENY, WAY_RULES("allow good.test:80"), NULL, NULL);
    way_step_in(machine);
    way_open(machine, &s, "good.test:80");
    flow_guest_write(&machine->side, &s, both, sizeof(both) - 1);
    assert_true(way_until(&rig, s.ended, 10000));
    assert_non_null(strstr(rig_text(&s), "HTTP/1.1 200"));
    assert_non_null(strstr(rig_text(&s), "HTTP/1.1 400"));
    assert_true(way_until(&rig, server->open == 0, 10000));
    assert_int_equal(server->mark, 1);
    rig_free(&s);
}

/* Two machines and one host: each has a connection of its own, for each of its streams. */
static void T20_no_pooling(void **state)
{
    static const char request[] = "GET / HTTP/1.1\r\nHost: good.test\r\n\r\n";
    struct rig_stream s[4];

    (void)state;
    struct way_server *server = way_serve_at(&rig, "good.test", GOOD, serve_http);
    for (size_t i = 0; i < countof(s); i++) {
        if (i < 2) {
            way_machine(&rig, i ? "p2" : "p1", MODE_DENY, WAY_RULES("allow good.test:80"), NULL, NULL);
            way_step_in(&rig.machines[i]);
        }
        struct way_machine *machine = &rig.machines[i % 2];
        way_open(machine, &s[i], "good.test:80");
        flow_guest_write(&machine->side, &s[i], request, sizeof(request) - 1);
        assert_true(way_until(&rig, s[i].in.len && strstr(rig_text(&s[i]), "ok"), 10000));
        assert_int_equal(server->accepted, i + 1);
        assert_int_equal(server->open, i + 1); /* all are kept alive */
    }
    for (size_t i = 0; i < countof(s); i++)
        rig_free(&s[i]);
}

/* Rules become tighter while three tunnels run: two are reset within a second, one lives. */
static void N20_tightened(void **state)
{
    static const char *const names[] = {"one.test:9000", "two.test:9000", "three.test:9000"};
    struct rig_stream s[3];

    (void)state;
    way_serve_at(&rig, "one.test", "93.184.216.1", serve_echo);
    way_serve_at(&rig, "two.test", "93.184.216.2", serve_echo);
    way_serve_at(&rig, "three.test", "93.184.216.3", serve_echo);
    struct way_machine *machine =
        way_machine(&rig, "p1", MODE_DENY,
                    WAY_RULES("allow one.test:9000 proto=tcp", "allow two.test:9000 proto=tcp",
                              "allow three.test:9000 proto=tcp"),
                    NULL, NULL);
    way_step_in(machine);
    for (size_t i = 0; i < 3; i++) {
        way_open(machine, &s[i], names[i]);
        flow_guest_write(&machine->side, &s[i], "x", 1);
        assert_true(way_until(&rig, s[i].in.len == 1, 10000));
    }
    way_policy(machine, MODE_DENY, WAY_RULES("allow two.test:9000 proto=tcp"));
    assert_true(way_until(&rig, s[0].closed && s[2].closed && way_flows(machine) == 1, 1000));
    assert_int_not_equal(s[0].code, 0);
    assert_int_not_equal(s[2].code, 0);
    for (size_t i = 0; i < 3; i += 2) {
        const struct way_row *row = way_row(machine, FLOW_ROW_CLOSE, names[i]);
        assert_non_null(row);
        assert_string_equal(row->end, "cut");
        assert_string_equal(row->end_reason, "policy");
    }
    assert_true(way_until(&rig, rig.servers[0].open == 0 && rig.servers[2].open == 0, 1000));
    flow_guest_write(&machine->side, &s[1], "y", 1);
    assert_true(way_until(&rig, s[1].in.len == 2, 10000));
    for (size_t i = 0; i < 3; i++)
        rig_free(&s[i]);
}

/* Mode budget: 64 KiB up to a name, and not a byte more, however it comes. */
static void L05_budget_to_the_byte(void **state)
{
    struct rig_stream s;
    struct buf bytes;

    (void)state;
    struct way_server *server = way_serve_at(&rig, "good.test", GOOD, serve_sink);
    struct way_machine *machine = way_machine(&rig, "p1", MODE_BUDGET, WAY_RULES(NULL), NULL, NULL);
    buf_init(&bytes, 0);
    way_hello(&bytes, "good.test");
    uint8_t *rest = buf_reserve(&bytes, BUDGET_NAME_BYTES + 1 - bytes.len);
    memset(rest, 0, BUDGET_NAME_BYTES + 1 - bytes.len);
    buf_commit(&bytes, BUDGET_NAME_BYTES + 1 - bytes.len);
    way_step_in(machine);
    way_open(machine, &s, "good.test:443");
    flow_guest_write(&machine->side, &s, buf_data(&bytes), bytes.len);
    assert_true(way_until(&rig, machine->asks == 1, 10000));
    assert_true(way_until(&rig, server->received == BUDGET_NAME_BYTES, 10000));
    assert_false(way_until(&rig, server->received > BUDGET_NAME_BYTES, 500));
    rig_end(&s); /* the end does not push the rest out either */
    assert_false(way_until(&rig, server->received > BUDGET_NAME_BYTES || server->open == 0, 500));
    rig_free(&s);
    /* nor does another connection to that name bring more */
    struct rig_stream again;
    flow_guest_connect(&machine->side, &again, "good.test:443", NULL, 0);
    assert_true(way_until(&rig, again.status || machine->asks > 1, 10000));
    if (again.status == 200)
        flow_guest_write(&machine->side, &again, buf_data(&bytes), 2000);
    assert_false(way_until(&rig, server->received > BUDGET_NAME_BYTES, 500));
    rig_free(&again);
    buf_finish(&bytes);
}

/* Sends mark bytes, and counts what comes until the end. */
static void serve_both(struct way_server *server, int fd)
{
    serve_flood(server, fd);
    shutdown(fd, SHUT_WR);
    serve_sink(server, fd);
}

/* The counters are what the server saw, after an end in order. */
static void L05_counters(void **state)
{
    static uint8_t block[100003];
    struct rig_stream s;

    (void)state;
    struct way_server *server = way_serve_at(&rig, "good.test", GOOD, serve_both);
    struct way_machine *machine =
        way_machine(&rig, "p1", MODE_DENY, WAY_RULES("allow good.test:9000 proto=tcp"), NULL, NULL);
    server->mark = 3000017;
    way_step_in(machine);
    way_open(machine, &s, "good.test:9000");
    s.count_only = true;
    for (int i = 0; i < 20; i++)
        flow_guest_write(&machine->side, &s, block, sizeof(block));
    rig_end(&s);
    assert_true(way_until(&rig, s.closed, 20000));
    assert_true(way_until(&rig, way_flows(machine) == 0 && server->open == 0, 10000));
    const struct way_row *row = way_row(machine, FLOW_ROW_CLOSE, "good.test:9000");
    assert_non_null(row);
    assert_string_equal(row->end, "done");
    assert_int_equal(row->up, server->received);
    assert_int_equal(row->up, 20 * sizeof(block));
    assert_int_equal(row->down, server->sent);
    assert_int_equal(row->down, s.received);
    rig_free(&s);
}

/* Reads what mark allows, then waits until it is raised. */
static void serve_slow(struct way_server *server, int fd)
{
    uint8_t block[4096];
    ssize_t n;

    for (;;) {
        if (server->received >= server->mark) {
            usleep(1000);
            continue;
        }
        n = recv(fd, block, sizeof(block), 0);
        if (n <= 0)
            return;
        server->received += (uint64_t)n;
    }
}

/* The guest resets while the kernel's buffers are full of what the server will never read: never less is
 * counted than the server saw. */
static void L05_reset_in_the_middle(void **state)
{
    static uint8_t block[1 << 20];
    struct rig_stream s;

    (void)state;
    struct way_server *server = way_serve_at(&rig, "good.test", GOOD, serve_slow);
    struct way_machine *machine =
        way_machine(&rig, "p1", MODE_DENY, WAY_RULES("allow good.test:9000 proto=tcp"), NULL, NULL);
    server->mark = 500000;
    way_step_in(machine);
    way_open(machine, &s, "good.test:9000");
    for (size_t at = 0; at < 16 * sizeof(block);) {
        size_t n = h2_stream_write(s.stream, block, sizeof(block));
        at += n;
        if (!n && !way_until(&rig, h2_stream_queued(s.stream) < H2_OUT_MAX / 2, 300))
            break;
    }
    rig_reset(&s);
    assert_true(way_until(&rig, way_row(machine, FLOW_ROW_CLOSE, "good.test:9000"), 10000));
    const struct way_row *row = way_row(machine, FLOW_ROW_CLOSE, "good.test:9000");
    assert_string_equal(row->end, "guest");
    assert_true(row->up >= server->received && row->up > server->mark);
    server->mark = UINT64_MAX;
    assert_true(way_until(&rig, server->open == 0, 10000));
    assert_true(row->up >= server->received);
    rig_free(&s);
}

/* Sends mark bytes and resets when it has read as many. */
static void serve_reset(struct way_server *server, int fd)
{
    struct linger none = {.l_onoff = 1};
    uint8_t block[4096];
    ssize_t n;

    serve_flood(server, fd);
    while (server->received < server->mark && (n = recv(fd, block, sizeof(block), 0)) > 0)
        server->received += (uint64_t)n;
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &none, sizeof(none));
}

/* A server that resets in the middle: all that came before it is counted, on both sides the same. */
static void L05_server_resets(void **state)
{
    static uint8_t block[100003];
    struct rig_stream s;

    (void)state;
    struct way_server *server = way_serve_at(&rig, "good.test", GOOD, serve_reset);
    struct way_machine *machine =
        way_machine(&rig, "p1", MODE_DENY, WAY_RULES("allow good.test:9000 proto=tcp"), NULL, NULL);
    server->mark = sizeof(block);
    way_step_in(machine);
    way_open(machine, &s, "good.test:9000");
    s.count_only = true;
    assert_true(way_until(&rig, s.received == sizeof(block), 10000));
    flow_guest_write(&machine->side, &s, block, sizeof(block));
    assert_true(way_until(&rig, s.closed, 10000));
    assert_int_not_equal(s.code, 0); /* it does not look whole */
    assert_true(way_until(&rig, way_flows(machine) == 0, 10000));
    const struct way_row *row = way_row(machine, FLOW_ROW_CLOSE, "good.test:9000");
    assert_string_equal(row->end, "upstream");
    assert_int_equal(row->up, server->received);
    assert_int_equal(row->down, server->sent);
    rig_free(&s);
}

/* Every constant of the protocols below passes as it is, both ways. */
static void C22_constants_pass(void **state)
{
    static const char *const words[] = {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
                                        "CONNECT good.test:443 HTTP/1.1\r\n\r\n",
                                        "\r\n\r\n",
                                        "hutch-claim",
                                        "\x05\x01\x00",
                                        "HTTP/1.1 200 OK\r\n\r\n"};
    struct rig_stream s;
    struct buf bytes;
    struct hello_host hello;
    uint8_t made[HELLO_KEY_SIZE + HELLO_SIZE];

    (void)state;
    way_serve_at(&rig, "good.test", GOOD, serve_echo);
    struct way_machine *machine =
        way_machine(&rig, "p1", MODE_DENY, WAY_RULES("allow good.test:9000 proto=tcp"), NULL, NULL);
    way_step_in(machine);
    buf_init(&bytes, 0);
    hello_host_init(&hello, machine->keys[PORT_EGRESS]); /* with the very key that this session looks for */
    hello_host_make(&hello, made);
    for (int i = 0; i < 500; i++) {
        assert_int_equal(buf_append(&bytes, made, sizeof(made), NULL), 0);
        assert_int_equal(buf_append(&bytes, machine->keys[PORT_EGRESS], WMSG_KEY_SIZE, NULL), 0);
        assert_int_equal(buf_append(&bytes, words[i % 6], strlen(words[i % 6]), NULL), 0);
        uint8_t byte = (uint8_t)i;
        assert_int_equal(buf_append(&bytes, &byte, 1, NULL), 0);
    }
    way_open(machine, &s, "good.test:9000");
    flow_guest_write(&machine->side, &s, buf_data(&bytes), bytes.len);
    assert_true(way_until(&rig, s.in.len == bytes.len, 10000));
    assert_memory_equal(buf_data(&s.in), buf_data(&bytes), bytes.len);
    assert_false(machine->side.over);
    rig_free(&s);
    buf_finish(&bytes);
}

/* DNS over TLS has a port of its own, which no rule opens; over HTTPS it is a host like any other. */
static void D11_other_ways_to_resolve(void **state)
{
    static const struct {
        const char *authority;
        int status;
    } cases[] = {{"dns.good.test:853", 403},
                 {"1.1.1.1:853", 403},
                 {"doh.evil.test:443", 403},
                 {"doh.good.test:443", 200}};
    struct rig_stream s;

    (void)state;
    struct way_server *server = way_serve_at(&rig, "doh.good.test", GOOD, serve_sink);
    struct way_machine *machine =
        way_machine(&rig, "p1", MODE_DENY, WAY_RULES("allow *.good.test"), NULL, NULL);
    struct buf hello;
    way_step_in(machine);
    for (size_t i = 0; i < countof(cases); i++) {
        flow_guest_connect(&machine->side, &s, cases[i].authority, NULL, 0);
        assert_true(way_until(&rig, s.status, 10000));
        assert_int_equal(s.status, cases[i].status);
        if (s.status == 200) {
            buf_init(&hello, 0);
            way_hello(&hello, "doh.good.test");
            flow_guest_write(&machine->side, &s, buf_data(&hello), hello.len);
            assert_true(way_until(&rig, server->received == hello.len, 10000));
            buf_finish(&hello);
        }
        rig_free(&s);
    }
    assert_int_equal(machine->lookups, 1);
    assert_non_null(way_row(machine, FLOW_ROW_OPEN, "doh.good.test:443"));
}

/* Upgrades to a web socket, then echoes. */
static void serve_websocket(struct way_server *server, int fd)
{
    static const char answer[] =
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n";
    char head[2048] = "";
    size_t len = 0;
    ssize_t n;

    while (!strstr(head, "\r\n\r\n") && (n = recv(fd, head + len, sizeof(head) - 1 - len, 0)) > 0)
        head[len += (size_t)n] = '\0';
    send(fd, answer, sizeof(answer) - 1, MSG_NOSIGNAL);
    serve_echo(server, fd);
}

/* Upgrade: websocket passes where a rule lets it, h2c never. */
static void T14_upgrades(void **state)
{
    static const char upgrade[] =
        "GET /chat HTTP/1.1\r\nHost: good.test\r\nUpgrade: %s\r\nConnection: Upgrade%s\r\n"
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n";
    static const char frame[] =
        "\x81\x85\x01\x02\x03\x04zzzzz\r\n\r\nGET / HTTP/1.1\r\nHost: evil.test\r\n\r\n";
    struct rig_stream s;
    char text[512];

    (void)state;
    struct way_server *server = way_serve_at(&rig, "good.test", GOOD, serve_websocket);
    struct way_machine *machine =
        way_machine(&rig, "p1", MODE_DENY, WAY_RULES("allow good.test:80 upgrade=websocket"), NULL, NULL);
    way_step_in(machine);
    way_open(machine, &s, "good.test:80");
    snprintf(text, sizeof(text), upgrade, "websocket", "");
    flow_guest_write(&machine->side, &s, text, strlen(text));
    assert_true(way_until(&rig, s.in.len && strstr(rig_text(&s), "\r\n\r\n"), 10000));
    assert_non_null(strstr(rig_text(&s), "101"));
    size_t head = s.in.len;
    flow_guest_write(&machine->side, &s, frame, sizeof(frame) - 1);
    assert_true(way_until(&rig, s.in.len == head + sizeof(frame) - 1, 10000));
    assert_memory_equal(buf_data(&s.in) + head, frame, sizeof(frame) - 1);
    rig_reset(&s);
    rig_free(&s);
    assert_true(way_until(&rig, server->open == 0, 10000));
    uint64_t before = server->received;
    way_open(machine, &s, "good.test:80");
    snprintf(text, sizeof(text), upgrade, "h2c", ", HTTP2-Settings\r\nHTTP2-Settings: AAMAAABkAAQAAP__");
    flow_guest_write(&machine->side, &s, text, strlen(text));
    flow_guest_write(&machine->side, &s, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 24);
    assert_true(way_until(&rig, s.ended || s.closed, 10000));
    /* h2c was taken out of the request, so a server that switches all the same is not believed */
    assert_non_null(strstr(rig_text(&s), "HTTP/1.1 502"));
    assert_non_null(strstr(rig_text(&s), "http-switch"));
    assert_true(way_until(&rig, server->open == 0, 10000));
    assert_int_equal(server->received, before); /* nothing of HTTP/2 came through */
    rig_free(&s);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(T07_ssh),
        TEST(T08_pipelined),
        TEST(T14_upgrades),
        TEST(T19_redirect),
        TEST(T20_no_pooling),
        TEST(N20_tightened),
        TEST(L05_budget_to_the_byte),
        TEST(L05_counters),
        TEST(L05_reset_in_the_middle),
        TEST(L05_server_resets),
        TEST(C22_constants_pass),
        TEST(D11_other_ways_to_resolve),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
