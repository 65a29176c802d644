/* Sessions of a real hutch-guest: bytes, ends, signals, terminals, and what survives its death. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "agent_rig.h"
#include "base/alloc.h"
#include "base/file.h"
#include "base/units.h"
#include "guest/ring.h"

#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define TEST_LIMIT 300 /* s */
#define MANY       (100ull * 1024 * 1024)

static struct rig rig;

static int setup(void **state)
{
    alarm(TEST_LIMIT);
    rig_start(&rig);
    return 0;
}

static int teardown(void **state)
{
    rig_stop(&rig);
    return 0;
}

static char *session_path(const char *id, const char *what)
{
    return xasprintf("/v1/sessions/%s%s%s", id, *what ? "/" : "", what);
}

static void open_output(struct rig_stream *s, const char *id, const char *what)
{
    autofree char *path = session_path(id, what);
    rig_open(&rig, s, "GET", path, false);
}

static void open_input(struct rig_stream *s, const char *id)
{
    autofree char *path = session_path(id, "stdin");
    rig_open(&rig, s, "POST", path, true);
}

static json_int_t number(const json_t *o, const char *key)
{
    return json_integer_value(json_object_get(o, key));
}

static const char *text(const json_t *o, const char *key)
{
    const char *s = json_string_value(json_object_get(o, key));
    return s ? s : "";
}

static json_t *show(const char *id)
{
    autofree char *path = session_path(id, "");
    json_t *o = NULL;
    assert_int_equal(rig_call(&rig, "GET", path, NULL, &o), 200);
    return o;
}

static void post(const char *id, const char *what, json_t *body, int expected)
{
    autofree char *path = session_path(id, what);
    assert_int_equal(rig_call(&rig, "POST", path, body, NULL), expected);
}

static void bytes_pass_both_ways(void **state)
{
    char id[40];
    struct rig_stream out, in;

    rig_exec(&rig, id, NULL, "cat", NULL);
    open_output(&out, id, "stdout");
    out.check = true;
    open_input(&in, id);
    rig_stream_send_pattern(&in, MANY);
    rig_stream_finish(&out);
    assert_true(out.ended);
    assert_int_equal(out.offset, 0);
    assert_false(out.wrong);
    assert_true(out.received == MANY);
    rig_stream_finish(&in);
    assert_int_equal(in.status, 200);
    auto(json) json_t *end = rig_wait_session(&rig, id);
    assert_int_equal(number(end, "exit_status"), 0);
    assert_true(number(end, "out_total") == (json_int_t)MANY);
    rig_stream_free(&out);
    rig_stream_free(&in);
}

/* C22: what looks like the protocol's own words is payload like any other. */
static void the_protocols_constants_are_payload(void **state)
{
    static const char preface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
    uint8_t payload[4096];
    size_t n = 0;
    char id[40];
    struct rig_stream out, in;

    for (int i = 0; i < 8; i++) {
        memcpy(payload + n, hello_magic, HELLO_MAGIC_SIZE);
        n += HELLO_MAGIC_SIZE;
        memset(payload + n, i, HELLO_NONCE_SIZE + 4 + HELLO_KEY_SIZE); /* a whole hello */
        n += HELLO_NONCE_SIZE + 4 + HELLO_KEY_SIZE;
        memcpy(payload + n, hello_reply_magic, HELLO_MAGIC_SIZE);
        n += HELLO_MAGIC_SIZE;
        memcpy(payload + n, preface, sizeof(preface));
        n += sizeof(preface);
        memcpy(payload + n, rig.key[RIG_BULK],
               HELLO_KEY_SIZE - 1); /* all but the last byte of the next key */
        n += HELLO_KEY_SIZE - 1;
    }
    rig_exec(&rig, id, NULL, "cat", NULL);
    open_output(&out, id, "stdout");
    open_input(&in, id);
    rig_stream_write(&in, payload, n);
    rig_stream_end(&in);
    rig_stream_finish(&out);
    assert_true(out.ended);
    assert_int_equal(out.received, n);
    assert_memory_equal(buf_data(&out.in), payload, n);
    rig_stream_free(&out);
    rig_stream_free(&in);
}

static void streams_are_apart_and_ends_are_a_shells(void **state)
{
    static const struct {
        const char *script;
        int status, signal;
        const char *out, *err;
    } cases[] = {
        {"echo out; echo err >&2; exit 3", 3, 0, "out\n", "err\n"},
        {"kill -9 $$", 137, 9, "", ""},
        {"kill -TERM $$", 143, 15, "", ""},
        {"printf 'a\\0b'; cat", 0, 0, "a", ""},
    };
    for (size_t i = 0; i < countof(cases); i++) {
        char id[40];
        struct rig_stream out, err, in;
        rig_exec(&rig, id, NULL, "sh", "-c", cases[i].script, NULL);
        open_output(&out, id, "stdout");
        open_output(&err, id, "stderr");
        open_input(&in, id);
        rig_stream_end(&in);
        rig_stream_finish(&out);
        rig_stream_finish(&err);
        assert_string_equal(rig_stream_text(&out), cases[i].out);
        assert_string_equal(rig_stream_text(&err), cases[i].err);
        auto(json) json_t *end = rig_wait_session(&rig, id);
        assert_string_equal(text(end, "state"), "exited");
        assert_int_equal(number(end, "exit_status"), cases[i].status);
        assert_int_equal(number(end, "signal"), cases[i].signal);
        assert_true(number(end, "ended_ns") >= number(end, "started_ns"));
        rig_stream_free(&out);
        rig_stream_free(&err);
        rig_stream_free(&in);
    }
}

static void what_cannot_start_says_why(void **state)
{
    char id[40];
    auto(json) json_t *refused = NULL, *unknown = NULL;

    rig_exec(&rig, id, NULL, "/no/such/program", NULL);
    auto(json) json_t *missing = rig_wait_session(&rig, id);
    assert_int_equal(number(missing, "exit_status"), 127);
    autofree char *path = session_path(id, "stderr");
    autofree char *said = rig_get(&rig, path);
    assert_non_null(strstr(said, "'/no/such/program'"));

    rig_exec(&rig, id, json_pack("{s:s}", "cwd", "/no/such/folder"), "true", NULL);
    auto(json) json_t *nowhere = rig_wait_session(&rig, id);
    assert_int_equal(number(nowhere, "exit_status"), 126);
    autofree char *path2 = session_path(id, "stderr");
    autofree char *said2 = rig_get(&rig, path2);
    assert_non_null(strstr(said2, "'/no/such/folder'"));

    json_t *body = json_pack("{s:[s], s:s}", "argv", "true", "user", "nobody-of-that-name");
    assert_int_equal(rig_call(&rig, "POST", "/v1/sessions", body, &unknown), 404);
    assert_string_equal(rig_error_code(unknown), "not-found");
    body = json_pack("{s:[s], s:s}", "argv", "true", "cwd", "relative");
    assert_int_equal(rig_call(&rig, "POST", "/v1/sessions", body, &refused), 422);
}

static void environment_and_folder_arrive(void **state)
{
    char id[40];
    json_t *more = json_pack("{s:{s:s,s:s}, s:s}", "env", "HUTCH_TEST", "a b=c", "EMPTY", "", "cwd", "/usr");

    rig_exec(&rig, id, more, "sh", "-c", "pwd; echo \"$HUTCH_TEST|${EMPTY-unset}|$HOME|$PATH\"", NULL);
    json_decref(rig_wait_session(&rig, id));
    autofree char *path = session_path(id, "stdout");
    autofree char *said = rig_get(&rig, path);
    assert_memory_equal(said, "/usr\na b=c||/", strlen("/usr\na b=c||/"));
    assert_non_null(strstr(said, "/usr/bin"));
    assert_non_null(strstr(said, rig.folder)); /* where git-remote-hutch is */
}

static void a_signal_and_a_timeout_reach_all(void **state)
{
    char id[40];
    struct rig_stream out;
    int64_t before = units_monotonic_ns();

    rig_exec(&rig, id, NULL, "sh", "-c", "trap 'echo got; exit 7' INT; echo on; sleep 100 & wait", NULL);
    open_output(&out, id, "stdout");
    rig_stream_until(&out, 3);
    post(id, "signal", json_pack("{s:s}", "signal", "INT"), 200);
    rig_stream_finish(&out);
    assert_string_equal(rig_stream_text(&out), "on\ngot\n");
    rig_stream_free(&out);
    auto(json) json_t *end = rig_wait_session(&rig, id);
    assert_int_equal(number(end, "exit_status"), 7);
    post(id, "signal", json_pack("{s:s}", "signal", "INT"), 409);
    post(id, "signal", json_pack("{s:s}", "signal", "NONE"), 422);

    /* it ignores SIGTERM and so do its children: SIGKILL follows */
    rig_exec(&rig, id, json_pack("{s:i}", "timeout_ms", 300), "sh", "-c",
             "trap '' TERM; sh -c 'sleep 100'; sleep 100", NULL);
    auto(json) json_t *late = rig_wait_session(&rig, id);
    assert_int_equal(number(late, "exit_status"), 124);
    assert_true(json_is_true(json_object_get(late, "timed_out")));
    assert_true(units_monotonic_ns() - before < 30ll * 1000000000);
}

static void a_terminal_has_a_size_and_a_foreground(void **state)
{
    char id[40];
    struct rig_stream out, in;

    rig_exec(
        &rig, id, json_pack("{s:b, s:i, s:i, s:s}", "pty", 1, "rows", 33, "columns", 101, "term", "vt100"),
        "sh", "-c",
        "stty size; echo $TERM; trap 'stty size; exit 5' WINCH; echo ready; while :; do sleep 0.05; done",
        NULL);
    open_output(&out, id, "stdout");
    rig_stream_until(&out, strlen("33 101\r\nvt100\r\nready\r\n"));
    assert_string_equal(rig_stream_text(&out), "33 101\r\nvt100\r\nready\r\n");
    post(id, "resize", json_pack("{s:i, s:i}", "rows", 50, "columns", 132), 200);
    rig_stream_finish(&out);
    assert_non_null(strstr(rig_stream_text(&out), "50 132\r\n"));
    rig_stream_free(&out);
    auto(json) json_t *end = rig_wait_session(&rig, id);
    assert_int_equal(number(end, "exit_status"), 5);
    autofree char *path = session_path(id, "stderr");
    auto(json) json_t *none = NULL;
    assert_int_equal(rig_call(&rig, "GET", path, NULL, &none), 409);

    /* ^C typed into it is a SIGINT of the foreground; the end of the stream only detaches */
    rig_exec(&rig, id, json_pack("{s:b}", "pty", 1), "sh", "-c", "echo up; cat; echo after $?", NULL);
    open_output(&out, id, "stdout");
    rig_stream_until(&out, 4);
    open_input(&in, id);
    rig_stream_write(&in, "hello\n", 6);
    rig_stream_end(&in);
    rig_stream_finish(&in);
    assert_int_equal(in.status, 200);
    rig_stream_until(&out, strlen("up\r\nhello\r\nhello\r\n"));
    rig_stream_free(&in);
    open_input(&in, id);
    rig_stream_write(&in, "\003", 1);
    rig_stream_finish(&out);
    assert_true(out.ended);
    auto(json) json_t *interrupted = rig_wait_session(&rig, id);
    assert_int_equal(number(interrupted, "exit_status"), 130);
    rig_stream_free(&in);
    rig_stream_free(&out);
}

static void an_empty_command_is_a_login_shell(void **state)
{
    char id[40];
    struct rig_stream out, in;

    rig_exec(&rig, id, NULL, NULL, NULL);
    open_output(&out, id, "stdout");
    open_input(&in, id);
    rig_stream_write(&in, "echo $0; exit 4\n", 16);
    rig_stream_end(&in);
    rig_stream_finish(&out);
    assert_int_equal(rig_stream_text(&out)[0], '-');
    auto(json) json_t *end = rig_wait_session(&rig, id);
    assert_int_equal(number(end, "exit_status"), 4);
    rig_stream_free(&in);
    rig_stream_free(&out);
}

static void a_cut_stdin_closes_nothing(void **state)
{
    char id[40];
    struct rig_stream out, in;

    rig_exec(&rig, id, NULL, "cat", NULL);
    open_output(&out, id, "stdout");
    open_input(&in, id);
    rig_stream_write(&in, "one\n", 4);
    rig_stream_until(&out, 4);
    h2_stream_reset(in.stream, H2_CANCEL);
    rig_stream_finish(&in);
    rig_stream_free(&in);
    open_input(&in, id);
    rig_stream_write(&in, "two\n", 4);
    rig_stream_end(&in);
    rig_stream_finish(&out);
    assert_string_equal(rig_stream_text(&out), "one\ntwo\n");
    assert_true(out.ended);
    rig_stream_free(&in);
    rig_stream_free(&out);
}

/* A program that takes no more input: the sender learns it by its answer, in time. */
static void a_program_that_stops_reading_ends_the_input(void **state)
{
    char id[40];
    struct rig_stream in;

    rig_exec(&rig, id, NULL, "head", "-c", "5", NULL);
    open_input(&in, id);
    rig_stream_send_pattern(&in, MANY);
    rig_stream_finish(&in);
    assert_int_equal(in.status, 200);
    assert_true(in.ended);
    assert_true(in.sent < MANY);
    rig_stream_free(&in);
}

static void a_slow_reader_loses_nothing(void **state)
{
    char id[40];
    struct rig_stream out;
    const uint64_t total = 8 * 1024 * 1024;

    rig_exec(&rig, id, NULL, "sh", "-c", "head -c 8388608 /dev/zero; echo done >&2", NULL);
    open_output(&out, id, "stdout");
    out.paused = true;
    rig_stream_until(&out, 65536);
    /* the program stands still: its last word cannot have come */
    auto(json) json_t *now = show(id);
    assert_int_equal(number(now, "err_total"), 0);
    assert_true(number(now, "out_total") < (json_int_t)total);
    assert_int_equal(number(now, "attached"), 1);
    rig_stream_resume(&out);
    rig_stream_finish(&out);
    assert_true(out.ended && out.received == total);
    rig_stream_free(&out);
}

static void without_a_reader_the_oldest_bytes_go(void **state)
{
    char id[40];
    struct rig_stream out;
    const json_int_t total = 3 * 1024 * 1024 + 7;

    rig_exec(&rig, id, NULL, "sh", "-c", "head -c 3145728 /dev/zero; printf 1234567", NULL);
    auto(json) json_t *end = rig_wait_session(&rig, id);
    assert_true(number(end, "out_total") == total);
    assert_true(number(end, "out_start") == total - RING_MAX);
    open_output(&out, id, "stdout");
    rig_stream_finish(&out);
    assert_true(out.offset == total - RING_MAX);
    assert_true(out.received == RING_MAX);
    assert_memory_equal(buf_data(&out.in) + RING_MAX - 7, "1234567", 7);
    rig_stream_free(&out);

    autofree char *from = xasprintf("/v1/sessions/%s/stdout?from=%lld", id, (long long)total - 3);
    autofree char *last = rig_get(&rig, from);
    assert_string_equal(last, "567");
    autofree char *beyond = xasprintf("/v1/sessions/%s/stdout?from=%lld", id, (long long)total + 1);
    auto(json) json_t *refused = NULL;
    assert_int_equal(rig_call(&rig, "GET", beyond, NULL, &refused), 422);
}

/* The first reader may come late (a client needs a moment for its second request): nothing is lost before it.
 */
static void the_first_reader_is_waited_for(void **state)
{
    char id[40];
    struct rig_stream out;
    const uint64_t total = 3 * 1024 * 1024;

    rig_exec(&rig, id, NULL, "head", "-c", "3145728", "/dev/zero", NULL);
    for (;;) {
        auto(json) json_t *now = show(id);
        if (number(now, "out_total") == RING_MAX)
            break;
        assert_true(number(now, "out_total") < RING_MAX);
    }
    open_output(&out, id, "stdout");
    rig_stream_finish(&out);
    assert_int_equal(out.offset, 0);
    assert_true(out.received == total);
    rig_stream_free(&out);
}

static void two_readers_each_get_all(void **state)
{
    char id[40];
    struct rig_stream a, b, in;
    const uint64_t total = 6 * 1024 * 1024;

    rig_exec(&rig, id, NULL, "cat", NULL);
    open_output(&a, id, "stdout");
    open_output(&b, id, "stdout");
    a.check = b.check = true;
    b.paused = true;
    open_input(&in, id);
    rig_stream_send_pattern(&in, total);
    rig_stream_until(&a, RING_MAX);
    rig_stream_resume(&b);
    rig_stream_finish(&a);
    rig_stream_finish(&b);
    assert_true(a.received == total && b.received == total && !a.wrong && !b.wrong);
    rig_stream_free(&a);
    rig_stream_free(&b);
    rig_stream_free(&in);
}

/* A background child that keeps the pipe does not keep the session. */
static void a_background_child_does_not_hold_the_end(void **state)
{
    char id[40];
    int64_t before = units_monotonic_ns();

    rig_exec(&rig, id, NULL, "sh", "-c", "sleep 60 & echo started", NULL);
    auto(json) json_t *end = rig_wait_session(&rig, id);
    assert_int_equal(number(end, "exit_status"), 0);
    assert_int_equal(number(end, "out_total"), 8);
    assert_true(units_monotonic_ns() - before < 20ll * 1000000000);
}

static void a_session_survives_the_agents_death(void **state)
{
    char id[40];
    struct rig_stream out;

    rig_exec(&rig, id, NULL, "sh", "-c",
             "i=0; while [ $i -lt 150 ]; do echo line $i; i=$((i+1)); sleep 0.01; done", NULL);
    open_output(&out, id, "stdout");
    rig_stream_until(&out, 70);
    autofree char *before = xstrdup(rig_stream_text(&out));
    uint64_t seen = out.received;
    rig_restart_agent(&rig);
    assert_true(out.closed && !out.ended);
    rig_stream_free(&out);

    auto(json) json_t *now = show(id);
    assert_string_equal(text(now, "state"), "running");
    autofree char *path = xasprintf("/v1/sessions/%s/stdout?from=%llu", id, (unsigned long long)seen);
    rig_open(&rig, &out, "GET", path, false);
    rig_stream_finish(&out);
    assert_true(out.ended);
    assert_true(out.offset == (int64_t)seen);
    autofree char *all = xasprintf("%s%s", before, rig_stream_text(&out));
    char *at = all;
    for (int i = 0; i < 150; i++) {
        autofree char *line = xasprintf("line %d\n", i);
        assert_memory_equal(at, line, strlen(line));
        at += strlen(line);
    }
    assert_string_equal(at, "");
    rig_stream_free(&out);
}

/* The session's own process is killed: its readers are cut, not ended, and it is listed as lost until it is
 * deleted. */
static void a_lost_session_says_so(void **state)
{
    char id[40];
    struct rig_stream out;

    rig_exec(&rig, id, NULL, "sh", "-c", "echo here; exec sleep 60", NULL);
    open_output(&out, id, "stdout");
    rig_stream_until(&out, 5);
    auto(json) json_t *now = show(id);
    pid_t program = (pid_t)number(now, "pid"), holder = 0;
    autofree char *status = xasprintf("/proc/%d/status", (int)program);
    autofree char *data = NULL;
    assert_int_equal(file_read(status, 65536, &data, NULL, NULL), 0);
    assert_int_equal(sscanf(strstr(data, "PPid:"), "PPid: %d", &holder), 1);
    kill(holder, SIGKILL);
    rig_stream_finish(&out);
    assert_false(out.ended);
    assert_int_not_equal(out.code, 0);
    rig_stream_free(&out);
    auto(json) json_t *lost = show(id);
    assert_string_equal(text(lost, "state"), "lost");
    post(id, "signal", json_pack("{s:s}", "signal", "INT"), 409);
    autofree char *path = session_path(id, "");
    assert_int_equal(rig_call(&rig, "DELETE", path, NULL, NULL), 200);
    assert_int_equal(rig_call(&rig, "GET", path, NULL, NULL), 404);
    kill(program, SIGKILL);
}

static void sessions_are_listed_and_deleted(void **state)
{
    char a[40], b[40];

    rig_exec(&rig, a, json_pack("{s:s}", "label", "first"), "sleep", "60", NULL);
    rig_exec(&rig, b, NULL, "true", NULL);
    json_decref(rig_wait_session(&rig, b));
    autofree char *list = rig_get(&rig, "/v1/sessions");
    char *cursor = list;
    auto(json) json_t *one = json_parse(cursor, strcspn(cursor, "\n"), NULL);
    cursor += strcspn(cursor, "\n") + 1;
    auto(json) json_t *two = json_parse(cursor, strcspn(cursor, "\n"), NULL);
    assert_string_equal(text(one, "id"), a);
    assert_string_equal(text(one, "label"), "first");
    assert_string_equal(text(one, "state"), "running");
    assert_string_equal(text(one, "command"), "sleep 60");
    assert_string_equal(text(two, "id"), b);
    assert_string_equal(text(two, "state"), "exited");

    pid_t pid = (pid_t)number(one, "pid");
    autofree char *path = session_path(a, "");
    assert_int_equal(rig_call(&rig, "DELETE", path, NULL, NULL), 200);
    assert_int_equal(kill(pid, 0), -1);
    assert_int_equal(rig_call(&rig, "DELETE", path, NULL, NULL), 404);
    assert_int_equal(rig_call(&rig, "GET", "/v1/sessions/..%2Fx", NULL, NULL), 404);
    autofree char *file = xasprintf("%s/sessions/%s.json", rig.folder, a);
    assert_false(file_exists(file));
}

/* A session of a machine with a way out knows of the proxy; what it was given itself stays; health tells too.
 */
static void the_way_out_is_in_the_environment(void **state)
{
    char id[40];
    auto(json) json_t *health = NULL;
    struct rlimit before, usual;

    rig_stop(&rig);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    usual = (struct rlimit){.rlim_cur = 1024, .rlim_max = before.rlim_max};
    setrlimit(RLIMIT_NOFILE, &usual); /* hutch-guest takes more for itself alone */
    rig_start_net(&rig);
    setrlimit(RLIMIT_NOFILE, &before);
    assert_int_equal(rig_call(&rig, "GET", "/v1/health", NULL, &health), 200);
    autofree char *wanted = xasprintf("http://%s http://%s kept localhost,127.0.0.1,::1,.hutch.internal 1024",
                                      text(health, "proxy"), text(health, "proxy"));
    rig_exec(&rig, id, json_pack("{s:{s:s}}", "env", "ALL_PROXY", "kept"), "sh", "-c",
             "printf '%s %s %s %s %s' $http_proxy $HTTPS_PROXY $ALL_PROXY $no_proxy $(ulimit -Sn); "
             "printf ' %s' $HUTCH_SESSION; [ \"$HUTCH_NETWORK\" ]",
             NULL);
    json_t *session = rig_wait_session(&rig, id);
    assert_int_equal(number(session, "exit_status"), 0);
    json_decref(session);
    autofree char *path = session_path(id, "stdout?from=0"), *said = rig_get(&rig, path);
    autofree char *whole = xasprintf("%s %s", wanted, id);
    assert_string_equal(said, whole);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(bytes_pass_both_ways),
        TEST(the_protocols_constants_are_payload),
        TEST(streams_are_apart_and_ends_are_a_shells),
        TEST(what_cannot_start_says_why),
        TEST(environment_and_folder_arrive),
        TEST(the_way_out_is_in_the_environment),
        TEST(a_signal_and_a_timeout_reach_all),
        TEST(a_terminal_has_a_size_and_a_foreground),
        TEST(an_empty_command_is_a_login_shell),
        TEST(a_cut_stdin_closes_nothing),
        TEST(a_program_that_stops_reading_ends_the_input),
        TEST(a_slow_reader_loses_nothing),
        TEST(without_a_reader_the_oldest_bytes_go),
        TEST(the_first_reader_is_waited_for),
        TEST(two_readers_each_get_all),
        TEST(a_background_child_does_not_hold_the_end),
        TEST(a_session_survives_the_agents_death),
        TEST(a_lost_session_says_so),
        TEST(sessions_are_listed_and_deleted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
