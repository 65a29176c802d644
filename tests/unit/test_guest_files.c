/* Files, tar, tcp, identity and health of a real hutch-guest, and what it refuses. */
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
#include "wire/pump.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define TEST_LIMIT 300 /* s */

static struct rig rig;
static char *place; /* a folder for the test's own files */

static int setup(void **state)
{
    alarm(TEST_LIMIT);
    rig_start(&rig);
    place = xasprintf("%s/place", rig.folder);
    assert_int_equal(mkdir(place, 0755), 0);
    return 0;
}

static int teardown(void **state)
{
    rig_stop(&rig);
    free(place);
    return 0;
}

static char *at(const char *name)
{
    return xasprintf("%s/%s", place, name);
}

static void put(const char *name, const char *text)
{
    autofree char *path = at(name);
    assert_int_equal(file_replace(path, text, strlen(text), 0644, NULL), 0);
}

static char *content(const char *name)
{
    autofree char *path = at(name);
    char *data = NULL;
    file_read(path, 1 << 20, &data, NULL, NULL);
    return data;
}

static mode_t mode_of(const char *name)
{
    autofree char *path = at(name);
    struct stat st;
    return lstat(path, &st) ? 0 : st.st_mode;
}

/* Runs a command of the host's; its output (caller frees). */
static char *run(const char *first, ...)
{
    const char *argv[32] = {first};
    size_t n = 1;
    va_list args;
    struct error *err = NULL;
    char *out = NULL;

    va_start(args, first);
    while ((argv[n] = va_arg(args, const char *)))
        n++;
    va_end(args);
    const struct spawn spawn = {.argv = argv, .in = -1, .out = -1, .err = -1};
    if (spawn_run(&spawn, 60000, 1 << 20, &out, &err))
        fail_msg("%s", err->message);
    return out;
}

static char *files_path(const char *what, const char *name, const char *more)
{
    return xasprintf("/v1/%s?path=%s/%s%s", what, place, name, more);
}

static int send_file(const char *name, const char *more, const char *data, size_t len, json_t **ret)
{
    autofree char *path = files_path("files", name, more);
    return rig_send(&rig, "PUT", path, data, len, ret);
}

static void a_file_is_written_at_once_or_not_at_all(void **state)
{
    struct rig_stream s;

    assert_int_equal(send_file("new", "&mode=0751", "hello", 5, NULL), 200);
    autofree char *one = content("new");
    assert_string_equal(one, "hello");
    assert_int_equal(mode_of("new"), S_IFREG | 0751);
    assert_int_equal(send_file("new", "", "", 0, NULL), 200);
    autofree char *two = content("new");
    assert_string_equal(two, "");
    assert_int_equal(mode_of("new"), S_IFREG | 0644);

    /* cut in the middle: nothing changes, nothing is left */
    put("kept", "as it was");
    autofree char *path = files_path("files", "kept", "");
    rig_open(&rig, &s, "PUT", path, true);
    rig_stream_write(&s, "other", 5);
    for (int i = 0; i < 20; i++)
        uv_run(&rig.loop, UV_RUN_NOWAIT);
    h2_stream_reset(s.stream, H2_CANCEL);
    rig_stream_finish(&s);
    rig_stream_free(&s);
    /* the same with the agent killed instead of the client */
    rig_open(&rig, &s, "PUT", path, true);
    rig_stream_write(&s, "other", 5);
    for (int i = 0; i < 20; i++)
        uv_run(&rig.loop, UV_RUN_NOWAIT);
    rig_restart_agent(&rig);
    rig_stream_free(&s);
    autofree char *kept = content("kept");
    assert_string_equal(kept, "as it was");
    autofree char *names = run("ls", "-A", place, NULL);
    assert_string_equal(names, "kept\nnew\n");
}

static void a_link_is_replaced_and_not_followed(void **state)
{
    autofree char *link = at("link"), *target = at("target");
    auto(json) json_t *refused = NULL;

    put("target", "untouched");
    assert_int_equal(symlink(target, link), 0);
    assert_int_equal(send_file("link", "", "mine", 4, NULL), 200);
    autofree char *kept = content("target"), *mine = content("link");
    assert_string_equal(kept, "untouched");
    assert_string_equal(mine, "mine");
    assert_true(S_ISREG(mode_of("link")));
    assert_int_equal(send_file("", "", "x", 1, NULL), 422);
    autofree char *folder = at("folder");
    mkdir(folder, 0700);
    assert_int_equal(send_file("folder", "", "x", 1, &refused), 409);
    assert_string_equal(rig_error_code(refused), "exists");
    assert_int_equal(send_file("no/such", "", "x", 1, NULL), 404);
    assert_int_equal(send_file("x", "&mode=9", "x", 1, NULL), 422);
}

static void only_regular_files_are_read(void **state)
{
    autofree char *fifo = at("fifo"), *fifo_path = files_path("files", "fifo", "");
    autofree char *folder_path = files_path("files", "", ""), *none = files_path("files", "none", "");
    auto(json) json_t *a = NULL, *b = NULL, *c = NULL;

    put("text", "some bytes\n");
    autofree char *text_path = files_path("files", "text", "");
    autofree char *text = rig_get(&rig, text_path);
    assert_string_equal(text, "some bytes\n");
    put("empty", "");
    autofree char *empty_path = files_path("files", "empty", "");
    autofree char *empty = rig_get(&rig, empty_path);
    assert_string_equal(empty, "");
    assert_int_equal(mkfifo(fifo, 0600), 0);
    assert_int_equal(rig_call(&rig, "GET", fifo_path, NULL, &a), 422);
    assert_string_equal(rig_error_code(a), "invalid");
    assert_int_equal(rig_call(&rig, "GET", "/v1/files?path=/dev/zero", NULL, &b), 422);
    assert_int_equal(rig_call(&rig, "GET", folder_path, NULL, &c), 422);
    assert_int_equal(rig_call(&rig, "GET", none, NULL, NULL), 404);
}

static void big_files_pass_in_bounded_memory(void **state)
{
    struct rig_stream s;
    autofree char *path = files_path("files", "big", ""),
                  *status = xasprintf("/proc/%d/status", (int)rig.serve);
    const uint64_t total = 200ull * 1024 * 1024;
    autofree char *data = NULL;
    long peak = 0;

    rig_open(&rig, &s, "PUT", path, true);
    rig_stream_send_pattern(&s, total);
    rig_stream_finish(&s);
    assert_int_equal(s.status, 200);
    rig_stream_free(&s);
    rig_open(&rig, &s, "GET", path, false);
    s.check = true;
    rig_stream_finish(&s);
    assert_true(s.ended && s.received == total && !s.wrong);
    rig_stream_free(&s);
    assert_int_equal(file_read(status, 65536, &data, NULL, NULL), 0);
    assert_int_equal(sscanf(strstr(data, "VmHWM:"), "VmHWM: %ld", &peak), 1);
#ifndef __SANITIZE_ADDRESS__
    assert_true(peak < 16 * 1024);
#endif
}

static void folders_are_described(void **state)
{
    autofree char *link = at("link"), *odd = at("a\nb"), *raw = at("\xff\xfe");
    autofree char *list_path = files_path("files/list", "", ""),
                  *stat_path = files_path("files/stat", "link", "");
    auto(json) json_t *one = NULL;
    size_t lines = 0, odd_seen = 0, raw_seen = 0;

    put("plain", "12345");
    assert_int_equal(symlink("plain", link), 0);
    close(open(odd, O_CREAT | O_WRONLY, 0600));
    close(open(raw, O_CREAT | O_WRONLY, 0600));
    autofree char *list = rig_get(&rig, list_path);
    char *cursor = list, *line;
    while ((line = strsep(&cursor, "\n"))) {
        auto(json) json_t *o = *line ? json_parse(line, strlen(line), NULL) : NULL;
        if (!o)
            continue;
        lines++;
        const char *name = json_string_value(json_object_get(o, "name"));
        const char *encoded = json_string_value(json_object_get(o, "name_b64"));
        odd_seen += name && !strcmp(name, "a\nb");
        raw_seen += encoded && !name && !strcmp(encoded, "//4=");
    }
    assert_int_equal(lines, 4);
    assert_int_equal(odd_seen, 1);
    assert_int_equal(raw_seen, 1);
    assert_int_equal(rig_call(&rig, "GET", stat_path, NULL, &one), 200);
    assert_string_equal(json_string_value(json_object_get(one, "type")), "link");
    assert_string_equal(json_string_value(json_object_get(one, "target")), "plain");
    assert_string_equal(json_string_value(json_object_get(one, "name")), "link");
    assert_int_equal(json_integer_value(json_object_get(one, "size")), 5);
    autofree char *none = files_path("files/list", "none", "");
    assert_int_equal(rig_call(&rig, "GET", none, NULL, NULL), 404);
    /* a name with a newline, percent-encoded */
    autofree char *encoded = files_path("files/stat", "a%0Ab", "");
    assert_int_equal(rig_call(&rig, "GET", encoded, NULL, NULL), 200);
}

static void folders_are_made(void **state)
{
    autofree char *path = files_path("files/folder", "a/b/c", "&mode=0750"),
                  *over = files_path("files/folder", "file/x", "");

    assert_int_equal(rig_call(&rig, "POST", path, NULL, NULL), 200);
    assert_int_equal(mode_of("a/b/c"), S_IFDIR | 0750);
    assert_int_equal(rig_call(&rig, "POST", path, NULL, NULL), 200);
    put("file", "");
    assert_int_equal(rig_call(&rig, "POST", over, NULL, NULL), 409);
}

static void what_is_done_is_done_as_the_user(void **state)
{
    auto(json) json_t *denied = NULL;

    if (geteuid() != 0)
        skip();
    put("secret", "x");
    autofree char *secret = at("secret"), *open = at("open");
    chmod(secret, 0600);
    mkdir(open, 0777);
    chmod(open, 0777);
    autofree char *path = files_path("files", "secret", "&user=nobody");
    assert_int_equal(rig_call(&rig, "GET", path, NULL, &denied), 403);
    chmod(rig.folder, 0755);
    assert_int_equal(send_file("open/theirs", "&user=nobody", "1", 1, NULL), 200);
    autofree char *theirs = at("open/theirs");
    struct stat st;
    assert_int_equal(lstat(theirs, &st), 0);
    assert_int_not_equal(st.st_uid, 0);
    assert_int_equal(send_file("not-theirs", "&user=nobody", "1", 1, NULL), 403);
}

static void a_tree_goes_round_by_tar(void **state)
{
    struct rig_stream s;
    autofree char *tree = at("-tree"), *inside = at("-tree/a\nb \xff"), *link = at("-tree/link"),
                  *to = at("to");
    autofree char *out = files_path("tar", "-tree", ""), *in = files_path("tar", "to", "");
    auto(json) json_t *none = NULL, *bad = NULL;

    mkdir(tree, 0755);
    mkdir(to, 0755);
    int fd = open(inside, O_CREAT | O_WRONLY, 0640);
    assert_int_equal(write(fd, "content", 7), 7);
    close(fd);
    assert_int_equal(symlink("/etc/passwd", link), 0);
    rig_open(&rig, &s, "GET", out, false);
    rig_stream_finish(&s);
    assert_true(s.ended && s.status == 200);
    assert_int_equal(rig_send(&rig, "PUT", in, (const char *)buf_data(&s.in), s.in.len, NULL), 200);
    rig_stream_free(&s);
    autofree char *copy = xasprintf("%s/-tree", to);
    free(run("diff", "-r", "--no-dereference", "--", tree, copy, NULL));
    assert_int_equal(mode_of("to/-tree/a\nb \xff"), S_IFREG | 0640);

    autofree char *missing = files_path("tar", "none", "");
    assert_int_equal(rig_call(&rig, "GET", missing, NULL, &none), 404);
    assert_non_null(
        strstr(json_string_value(json_object_get(json_object_get(none, "error"), "message")), "none"));
    assert_int_equal(rig_send(&rig, "PUT", in, "no archive at all", 17, &bad), 500);
    autofree char *nowhere = files_path("tar", "nowhere", "");
    assert_int_equal(rig_send(&rig, "PUT", nowhere, "x", 1, NULL), 404);
}

/* tar that fails after its first bytes: the answer is cut, never ended in order. */
static void a_failing_tar_is_cut(void **state)
{
    struct rig_stream s;

    if (geteuid() != 0)
        skip();
    autofree char *tree = at("tree"), *secret = at("tree/secret"),
                  *path = files_path("tar", "tree", "&user=nobody");
    chmod(rig.folder, 0755);
    mkdir(tree, 0755);
    put("tree/open", "x");
    put("tree/secret", "x");
    chmod(secret, 0600);
    rig_open(&rig, &s, "GET", path, false);
    rig_stream_finish(&s);
    assert_int_equal(s.status, 200);
    assert_false(s.ended);
    assert_int_not_equal(s.code, 0);
    rig_stream_free(&s);
}

static size_t descriptors(void)
{
    autofree char *folder = xasprintf("/proc/%d/fd", (int)rig.serve);
    autofree char *names = run("ls", folder, NULL);
    size_t n = 0;
    for (char *p = names; *p; p++)
        n += *p == '\n';
    return n;
}

/* Opens a stream, lets it begin and cuts it. */
static void begin_and_cut(const char *method, const char *path)
{
    struct rig_stream s;
    bool body = strcmp(method, "GET") != 0;

    rig_open(&rig, &s, method, path, body);
    s.paused = true;
    if (body)
        rig_stream_write(&s, "0123", 4);
    for (int i = 0; i < 3; i++)
        uv_run(&rig.loop, UV_RUN_NOWAIT);
    h2_stream_reset(s.stream, H2_CANCEL);
    rig_stream_finish(&s);
    rig_stream_free(&s);
}

/* Until hutch-guest has so many children; they are written as "PID PID ". */
static void wait_for_children(size_t wanted)
{
    autofree char *children = xasprintf("/proc/%d/task/%d/children", (int)rig.serve, (int)rig.serve);
    for (int i = 0; i < 1000; i++) {
        autofree char *list = NULL;
        size_t count = 0;
        if (file_read(children, 4096, &list, NULL, NULL) == 0)
            for (const char *p = list; *p; p++)
                count += *p == ' ';
        if (count == wanted)
            return;
        assert_int_equal(rig_call(&rig, "GET", "/v1/health", NULL, NULL), 200);
        usleep(20000);
    }
    fail_msg("hutch-guest has other children than expected");
}

/* Streams that are cut at any point leave no descriptor behind, and no helper. */
static void nothing_is_left_of_what_was_cut(void **state)
{
    autofree char *file = files_path("files", "big", ""), *tar = files_path("tar", "", "");
    autofree char *pack = xstrdup("/v1/git/demo/receive-pack");
    char id[40];

    assert_int_equal(rig_call(&rig, "POST", "/v1/git/demo", json_object(), NULL), 200);
    autofree char *big = xcalloc(1 << 20, 1);
    assert_int_equal(send_file("big", "", big, 1 << 20, NULL), 200);
    rig_exec(&rig, id, NULL, "cat", NULL);
    autofree char *input = xasprintf("/v1/sessions/%s/stdin", id),
                  *output = xasprintf("/v1/sessions/%s/stdout", id);
    autofree char *wait = xasprintf("/v1/sessions/%s/wait", id);
    wait_for_children(2); /* this session's process, and the one that waits for the next */
    size_t before = descriptors();
    for (int i = 0; i < 15; i++) { /* fewer than the session's own limits bear if they leaked */
        begin_and_cut("GET", file);
        begin_and_cut("PUT", file);
        begin_and_cut("GET", tar);
        begin_and_cut("PUT", tar);
        begin_and_cut("POST", pack);
        begin_and_cut("POST", input);
        begin_and_cut("GET", output);
        begin_and_cut("GET", wait);
    }
    for (int i = 0; i < 500 && descriptors() > before; i++, usleep(10000))
        assert_int_equal(rig_call(&rig, "GET", "/v1/health", NULL, NULL), 200);
    assert_int_equal(descriptors(), before);
    wait_for_children(2);
}

/* ---- tcp ---- */

static void a_port_is_reached(void **state)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(address);
    struct rig_stream s;
    char in[16];
    auto(json) json_t *refused = NULL;

    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(listener, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(listen(listener, 1), 0);
    getsockname(listener, (struct sockaddr *)&address, &len);
    autofree char *path = xasprintf("/v1/tcp/%u", ntohs(address.sin_port));
    rig_open(&rig, &s, "POST", path, true);
    rig_stream_write(&s, "ping", 4);
    rig_stream_end(&s);
    while (!s.headed)
        uv_run(&rig.loop, UV_RUN_ONCE);
    int client = accept(listener, NULL, NULL);
    assert_int_equal(recv(client, in, sizeof(in), 0), 4);
    assert_memory_equal(in, "ping", 4);
    while (recv(client, in, sizeof(in), MSG_DONTWAIT) !=
           0) /* the end came through, the other way is still open */
        uv_run(&rig.loop, UV_RUN_NOWAIT);
    assert_int_equal(send(client, "pong", 4, 0), 4);
    close(client);
    close(listener);
    rig_stream_finish(&s);
    assert_true(s.ended);
    assert_string_equal(rig_stream_text(&s), "pong");
    rig_stream_free(&s);
    assert_int_equal(rig_send(&rig, "POST", path, "", 0, &refused), 502);
}

/* ---- identity ---- */

static void identity_is_written(void **state)
{
    autofree char *etc = xasprintf("%s/etc", rig.folder), *hosts = xasprintf("%s/hosts", etc);
    autofree char *hostname = xasprintf("%s/hostname", etc), *config = xasprintf("%s/gitconfig", etc);
    autofree char *name = NULL, *table = NULL;

    mkdir(etc, 0755);
    static const char before[] = "127.0.0.1 localhost\n127.0.1.1\told\n10.0.0.1 other\n";
    file_replace(hosts, before, strlen(before), 0644, NULL);
    for (int i = 0; i < 2; i++)
        assert_int_equal(rig_call(&rig, "PUT", "/v1/identity",
                                  json_pack("{s:s, s:s, s:s}", "hostname", "demo", "git_name", "--Ada \"L\"",
                                            "git_mail", "a@b.c"),
                                  NULL),
                         200);
    file_read(hostname, 4096, &name, NULL, NULL);
    file_read(hosts, 4096, &table, NULL, NULL);
    assert_string_equal(name, "demo\n");
    assert_string_equal(table, "127.0.0.1 localhost\n127.0.1.1\tdemo\n10.0.0.1 other\n");
    autofree char *user = run("git", "config", "--file", config, "user.name", NULL);
    autofree char *sign = run("git", "config", "--file", config, "commit.gpgsign", NULL);
    assert_string_equal(user, "--Ada \"L\"\n");
    assert_string_equal(sign, "false\n");
    assert_int_equal(rig_call(&rig, "PUT", "/v1/identity", json_pack("{s:s}", "hostname", "../x y"), NULL),
                     422);
    assert_int_equal(
        rig_call(&rig, "PUT", "/v1/identity", json_pack("{s:s}", "timezone", "../../etc/passwd"), NULL), 422);
}

/* ---- the rest of the API ---- */

static json_int_t number(const json_t *o, const char *key)
{
    return json_integer_value(json_object_get(o, key));
}

static const char *text(const json_t *o, const char *key)
{
    const char *s = json_string_value(json_object_get(o, key));
    return s ? s : "";
}

static void bad_requests_are_refused(void **state)
{
    static const struct {
        const char *method, *path, *body;
        int status;
    } cases[] = {
        {"GET", "/v1/nothing", NULL, 404},
        {"DELETE", "/v1/health", NULL, 400},
        {"POST", "/v1/sessions", "[]", 422},
        {"POST", "/v1/sessions", "{\"argv\":[\"true\"],\"env\":{\"A=B\":\"\"}}", 422},
        {"POST", "/v1/sessions", "{\"argv\":[\"tr\\u0000ue\"]}", 400},
        {"POST", "/v1/sessions", "{\"argv\":[\"true\"]", 400},
        {"POST", "/v1/sessions", "{\"argv\":[\"true\"],\"rows\":0,\"pty\":true}", 422},
        {"PUT", "/v1/clock", "{\"time_ns\":1800000000000000000}", 409},
        {"PUT", "/v1/power", "{\"action\":\"poweroff\"}", 409},
        {"PUT", "/v1/grow", "{}", 409},
        {"GET", "/v1/sessions/none/stdout", NULL, 404},
        {"GET", "/v1/files?path=relative", NULL, 422},
        {"GET", "/v1/files?path=%2", NULL, 400},
        {"POST", "/v1/tcp/0", "", 422},
    };
    for (size_t i = 0; i < countof(cases); i++) {
        auto(json) json_t *answer = NULL;
        const char *body = cases[i].body;
        int status = body ? rig_send(&rig, cases[i].method, cases[i].path, body, strlen(body), &answer)
                          : rig_call(&rig, cases[i].method, cases[i].path, NULL, &answer);
        if (status != cases[i].status)
            fail_msg("%s %s: %d, not %d", cases[i].method, cases[i].path, status, cases[i].status);
        assert_true(*rig_error_code(answer));
    }
}

static void health_is_told(void **state)
{
    auto(json) json_t *health = NULL;

    assert_int_equal(rig_call(&rig, "GET", "/v1/health", NULL, &health), 200);
    assert_int_equal(number(health, "version"), HELLO_VERSION);
    assert_true(number(health, "memory_total") > number(health, "memory_available"));
    assert_true(number(health, "disk_size") >= number(health, "disk_free"));
    assert_true(number(health, "time_ns") > 1700000000000000000ll);
    assert_int_equal(strlen(text(health, "boot_id")), 36);
    assert_true(*text(health, "kernel") && *text(health, "phase"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_file_is_written_at_once_or_not_at_all),
        TEST(a_link_is_replaced_and_not_followed),
        TEST(only_regular_files_are_read),
        TEST(big_files_pass_in_bounded_memory),
        TEST(folders_are_described),
        TEST(folders_are_made),
        TEST(what_is_done_is_done_as_the_user),
        TEST(a_tree_goes_round_by_tar),
        TEST(a_failing_tar_is_cut),
        TEST(nothing_is_left_of_what_was_cut),
        TEST(a_port_is_reached),
        TEST(identity_is_written),
        TEST(bad_requests_are_refused),
        TEST(health_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
