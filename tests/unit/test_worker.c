/* The parts of hutch-worker that need no process: decoding, checking, the channel, confinement. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/fd.h"
#include "daemon/guest_check.h"
#include "worker/flow_proto.h"
#include "worker/channel.h"
#include "worker/confine.h"
#include "worker/decode.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static int decode(enum guest_result_kind kind, bool list, const char *json, struct wmsg_item *item)
{
    auto(json) json_t *value = json_parse(json, strlen(json), NULL);
    auto(error) struct error *err = NULL;
    int rc;

    memset(item, 0, sizeof(*item));
    assert_non_null(value);
    rc = decode_result(kind, list, value, item, &err);
    if (rc < 0)
        assert_int_equal(err->code, ERROR_PROTOCOL);
    return rc;
}

#define FILE_OK(name) "{\"name\":" name ",\"type\":\"regular\"}"

#define PACKAGES(host, port)                                                                                 \
    "{\"preset\":\"debian\",\"scheme\":\"http\",\"host\":\"" host "\",\"port\":" port "}"

static void test_decode_takes(void **state)
{
    struct wmsg_item item;

    assert_int_equal(decode(GUEST_HEALTH, false,
                            "{\"version\":3,\"phase\":\"system\",\"boot_id\":\"ab-1\",\"time_ns\":5,"
                            "\"proxy\":\"127.0.0.1:3128\",\"capture\":\"off\",\"capture_reason\":\"no nft\"}",
                            &item),
                     0);
    assert_int_equal(item.u.health.capture, CAPTURE_OFF);
    assert_string_equal(item.u.health.proxy, "127.0.0.1:3128");
    assert_string_equal(item.u.health.capture_reason, "no nft");
    assert_int_equal(
        decode(GUEST_HEALTH, false, "{\"version\":3,\"phase\":\"system\",\"capture\":\"maybe\"}", &item),
        -ERROR_PROTOCOL);
    assert_int_equal(
        decode(GUEST_HEALTH, false, "{\"version\":3,\"phase\":\"system\",\"boot_id\":\"ab-1\"}", &item), 0);
    assert_int_equal(item.u.health.capture, CAPTURE_UNKNOWN);
    assert_int_equal(item.u.health.version, 3);
    assert_int_equal(item.u.health.phase, PHASE_SYSTEM);
    assert_string_equal(item.u.health.boot_id, "ab-1");
    assert_int_equal(decode(GUEST_SESSION, false,
                            "{\"id\":\"s1\",\"state\":\"exited\",\"exit_status\":137,\"signal\":9,\"timed_"
                            "out\":false,\"out_total\":9007199254740993}",
                            &item),
                     0);
    assert_int_equal(item.u.session.state, SESSION_EXITED);
    assert_int_equal(item.u.session.exit_status, 137);
    assert_true(item.u.session.out_total == 9007199254740993u);
    assert_int_equal(decode(GUEST_FILE, true,
                            "{\"name\":\"a\\nb\",\"type\":\"link\",\"target\":\"/x\",\"mode\":511}", &item),
                     0);
    assert_int_equal(item.u.file.name_len, 3);
    assert_string_equal(item.u.file.target, "/x");
    assert_int_equal(decode(GUEST_FILE, true, "{\"name_b64\":\"/wA=\",\"type\":\"other\"}", &item),
                     -ERROR_PROTOCOL);
    assert_int_equal(decode(GUEST_FILE, true, "{\"name_b64\":\"/2E=\",\"type\":\"other\"}", &item), 0);
    assert_memory_equal(item.u.file.name,
                        "\xff"
                        "a",
                        3);
    assert_int_equal(decode(GUEST_FILE, false, FILE_OK("\"/\""), &item), 0);
    assert_int_equal(
        decode(GUEST_REPO, false, "{\"head\":\"refs/heads/main\",\"commit\":\"ab12\",\"empty\":true}", &item),
        0);
    assert_int_equal(item.u.repo.empty, 1);
    assert_int_equal(decode(GUEST_PACKAGE_HOST, true, PACKAGES("deb.m.test", "3142"), &item), 0);
    assert_string_equal(item.u.package_host.host, "deb.m.test");
    assert_int_equal(item.u.package_host.port, 3142);
    assert_int_equal(item.u.package_host.tls, 0);
}

static void test_decode_refuses(void **state)
{
    static const struct {
        enum guest_result_kind kind;
        const char *json;
    } bad[] = {
        {GUEST_HEALTH, "[]"},
        {GUEST_HEALTH, "{\"phase\":\"kernel\"}"},
        {GUEST_HEALTH, "{\"phase\":\"ready\",\"version\":-1}"},
        {GUEST_HEALTH, "{\"phase\":\"ready\",\"version\":4294967296}"},
        {GUEST_HEALTH, "{\"phase\":\"ready\",\"memory_total\":1.5}"},
        {GUEST_HEALTH, "{\"phase\":\"ready\",\"boot_id\":\"0123456789012345678901234567890123456789\"}"},
        {GUEST_HEALTH, "{\"phase\":\"ready\",\"boot_id\":\"../../x\"}"},
        {GUEST_SESSION, "{\"state\":\"running\"}"},
        {GUEST_SESSION, "{\"id\":\"\",\"state\":\"running\"}"},
        {GUEST_SESSION, "{\"id\":\"a/b\",\"state\":\"running\"}"},
        {GUEST_SESSION, "{\"id\":\"a\",\"state\":\"flying\"}"},
        {GUEST_SESSION, "{\"id\":\"a\",\"state\":\"exited\",\"exit_status\":256}"},
        {GUEST_SESSION, "{\"id\":\"a\",\"state\":\"exited\",\"pty\":1}"},
        {GUEST_FILE, "{\"type\":\"regular\"}"},
        {GUEST_FILE, FILE_OK("\"\"")},
        {GUEST_FILE, FILE_OK("\"..\"")},
        {GUEST_FILE, FILE_OK("\".\"")},
        {GUEST_FILE, FILE_OK("\"a/b\"")},
        {GUEST_FILE, FILE_OK("\"/\"")},
        {GUEST_FILE, "{\"name_b64\":\"Li4=\",\"type\":\"regular\"}"},
        {GUEST_FILE, "{\"name_b64\":\"YQ\",\"type\":\"regular\"}"},
        {GUEST_FILE, "{\"name_b64\":\"YR==\",\"type\":\"regular\"}"},
        {GUEST_FILE, "{\"name\":\"a\",\"type\":\"regular\",\"mode\":65536}"},
        {GUEST_FILE, "{\"name\":\"a\",\"type\":\"none\"}"},
        {GUEST_REPO, "{\"head\":\"a b\"}"},
        {GUEST_REPO, "{\"empty\":\"yes\"}"},
        {GUEST_PACKAGE_HOST, PACKAGES("", "80")},
        {GUEST_PACKAGE_HOST, PACKAGES("*.test", "80")},
        {GUEST_PACKAGE_HOST, PACKAGES("M.test", "80")},
        {GUEST_PACKAGE_HOST, PACKAGES("-m.test", "80")},
        {GUEST_PACKAGE_HOST, PACKAGES("m.test private=10.0.0.0/8", "80")},
        {GUEST_PACKAGE_HOST, PACKAGES("m.test\\nallow x", "80")},
        {GUEST_PACKAGE_HOST, PACKAGES("m.test", "0")},
        {GUEST_PACKAGE_HOST, PACKAGES("m.test", "65536")},
        {GUEST_PACKAGE_HOST, PACKAGES("m.test", "\"80\"")},
        {GUEST_PACKAGE_HOST, "{\"preset\":\"a\",\"scheme\":\"ftp\",\"host\":\"m.test\",\"port\":21}"},
        {GUEST_PACKAGE_HOST, "{\"preset\":\"\",\"scheme\":\"http\",\"host\":\"m.test\",\"port\":80}"},
        {GUEST_PACKAGE_HOST, "{\"preset\":\"a\",\"scheme\":\"http\",\"host\":\"m.test\"}"},
    };
    struct wmsg_item item;

    for (size_t i = 0; i < countof(bad); i++) {
        if (decode(bad[i].kind, true, bad[i].json, &item) != -ERROR_PROTOCOL)
            fail_msg("taken: %s", bad[i].json);
        assert_int_equal(item.kind, GUEST_NOTHING);
    }
}

/* Text for people is cut where a character ends; all else of the field is zero. */
static void test_decode_cuts_text(void **state)
{
    char to[8];

    decode_text(to, sizeof(to), "abcdef\xc3\xa4");
    assert_memory_equal(to, "abcdef\0", 8);
    decode_text(to, sizeof(to), "abcdefg");
    assert_string_equal(to, "abcdefg");
    autofree char *label = xcalloc(1, 4000);
    memset(label, 'l', 3999);
    autofree char *json = xasprintf("{\"id\":\"a\",\"state\":\"running\",\"label\":\"%s\"}", label);
    struct wmsg_item item;
    assert_int_equal(decode(GUEST_SESSION, false, json, &item), 0);
    assert_int_equal(strlen(item.u.session.label), sizeof(item.u.session.label) - 1);
}

static void test_decode_refusal(void **state)
{
    struct wmsg_item item = {0};
    const char *json = "{\"error\":{\"code\":\"busy\",\"message\":\"wait\",\"hint\":\"later\"}}";

    decode_refusal(json, strlen(json), 409, &item);
    assert_string_equal(item.error_code, "busy");
    assert_string_equal(item.error_text, "wait");
    assert_string_equal(item.error_hint, "later");
    decode_refusal("<html>", 6, 500, &item);
    assert_string_equal(item.error_code, "guest");
    assert_string_equal(item.error_text, "the guest answered with status 500");
    json = "{\"error\":{\"code\":7,\"message\":[]}}";
    decode_refusal(json, strlen(json), 418, &item);
    assert_string_equal(item.error_code, "guest");
    assert_string_equal(item.error_text, "the guest answered with status 418");
}

static void test_decode_number(void **state)
{
    uint64_t n = 0;

    assert_true(decode_number("18446744073709551615", &n));
    assert_true(n == UINT64_MAX);
    assert_false(decode_number("18446744073709551616", &n));
    assert_false(decode_number("", &n));
    assert_false(decode_number("-1", &n));
    assert_false(decode_number("1 ", &n));
}

/* Every byte of a good item that is overwritten gives something that is refused or still in range. */
static void test_check(void **state)
{
    struct wmsg_item item = {.type = WMSG_ITEM, .id = 1, .ok = 1, .kind = GUEST_FILE};

    item.u.file.type = FILE_REGULAR;
    item.u.file.name_len = 1;
    item.u.file.name[0] = 'a';
    assert_true(guest_check_message(&item, sizeof(item)));
    assert_false(guest_check_message(&item, sizeof(item) - 1));
    assert_true(guest_check_item(&item, GUEST_OP_FILE_LIST));
    assert_false(guest_check_item(&item, GUEST_OP_FILE_STAT));
    assert_false(guest_check_item(&item, GUEST_OP_SESSION_LIST));
    struct wmsg_item bad = item;
    bad.u.file.name[0] = '/';
    bad.u.file.name[1] = 'x';
    bad.u.file.name_len = 2;
    assert_false(guest_check_message(&bad, sizeof(bad)));
    bad = item;
    bad.u.file.name_len = 256;
    assert_false(guest_check_message(&bad, sizeof(bad)));
    bad = item;
    memset(bad.error_text, 'x', sizeof(bad.error_text));
    assert_false(guest_check_message(&bad, sizeof(bad)));
    bad = item;
    bad.kind = GUEST_RESULT_KINDS;
    assert_false(guest_check_message(&bad, sizeof(bad)));
    struct wmsg_port port = {.type = WMSG_PORT_STATE, .port = PORT_COUNT};
    assert_false(guest_check_message(&port, sizeof(port)));
    port.port = PORT_BULK;
    assert_true(guest_check_message(&port, sizeof(port)));
    port.type = WMSG_CALL;
    assert_false(guest_check_message(&port, sizeof(port)));
    assert_false(guest_check_message(&port, 3));
}

/* Every text must end within its field, every number be in its range, every size exact. */
static void test_check_flow(void **state)
{
    struct wmsg_flow_ask ask = {.type = WMSG_FLOW_ASK, .flow = 7, .authority = "docs.rs:443"};
    struct wmsg_flow_ask bad = ask;

    memcpy(ask.claim.argv, "curl\0-v\0", 9);
    ask.claim.argc = 2;
    assert_true(guest_check_message(&ask, sizeof(ask)));
    assert_false(guest_check_message(&ask, sizeof(ask) - 1));
    bad.flow = 0;
    assert_false(guest_check_message(&bad, sizeof(bad)));
    bad = ask;
    bad.entrance = FLOW_ENTRANCE_COUNT;
    assert_false(guest_check_message(&bad, sizeof(bad)));
    bad = ask;
    memset(bad.authority, 'a', sizeof(bad.authority));
    assert_false(guest_check_message(&bad, sizeof(bad)));
    bad = ask;
    bad.claim.argc = 1;
    assert_false(guest_check_message(&bad, sizeof(bad)));
    bad.claim.argc = UINT32_MAX;
    assert_false(guest_check_message(&bad, sizeof(bad)));
    bad = ask;
    memset(bad.claim.argv, 'a', sizeof(bad.claim.argv));
    assert_false(guest_check_message(&bad, sizeof(bad)));

    struct wmsg_flow_ready ready = {.type = WMSG_FLOW_READY, .flow = 7, .alpn_count = FLOW_ALPN_MAX};
    assert_true(guest_check_message(&ready, sizeof(ready)));
    memset(ready.alpn[FLOW_ALPN_MAX - 1], 'h', sizeof(ready.alpn[0]));
    assert_false(guest_check_message(&ready, sizeof(ready)));
    ready.alpn_count = FLOW_ALPN_MAX + 1;
    assert_false(guest_check_message(&ready, sizeof(ready)));

    struct wmsg_flow_request request = {
        .type = WMSG_FLOW_REQUEST, .flow = 7, .number = 1, .method = "GET", .path = "/a"};
    assert_true(guest_check_message(&request, sizeof(request)));
    request.path[0] = 'a';
    assert_false(guest_check_message(&request, sizeof(request)));

    struct wmsg_flow_end end = {.type = WMSG_FLOW_END, .flow = 7, .end = FLOW_END_LOST};
    assert_true(guest_check_message(&end, sizeof(end)));
    end.end = FLOW_END_COUNT;
    assert_false(guest_check_message(&end, sizeof(end)));
    struct wmsg_flow_cut cut = {.type = WMSG_FLOW_CUT, .flow = 7};
    assert_false(guest_check_message(&cut, sizeof(cut)));
}

/* ---- channel ---- */

struct receiver {
    unsigned count, fds;
    bool gone, drained;
};

static void on_message(struct channel *channel, const void *data, size_t len, int fd, void *user)
{
    struct receiver *receiver = user;
    unsigned n;

    assert_int_equal(len, 5000);
    memcpy(&n, data, sizeof(n));
    assert_int_equal(n, receiver->count);
    receiver->count++;
    if (fd >= 0) {
        receiver->fds++;
        close(fd);
    }
}
static void on_drained(struct channel *channel, void *user)
{
    ((struct receiver *)user)->drained = true;
}
static void on_gone(struct channel *channel, const struct error *err, void *user)
{
    ((struct receiver *)user)->gone = true;
    channel_close(channel);
}

/* Far more than the kernel holds: nothing blocks, nothing is lost or changes places, descriptors come along.
 */
static void test_channel(void **state)
{
    static const struct channel_ops ops = {
        .on_message = on_message, .on_drained = on_drained, .on_gone = on_gone};
    struct receiver left = {0}, right = {0};
    struct channel *a, *b;
    uint8_t message[5000] = {0};
    uv_loop_t loop;
    int pair[2];

    alarm(20);
    uv_loop_init(&loop);
    assert_int_equal(fd_socketpair(SOCK_SEQPACKET, true, pair, NULL), 0);
    assert_int_equal(channel_create(&loop, pair[0], sizeof(message), &ops, &left, &a, NULL), 0);
    assert_int_equal(channel_create(&loop, pair[1], sizeof(message), &ops, &right, &b, NULL), 0);
    for (unsigned i = 0; i < 1000; i++) {
        memcpy(message, &i, sizeof(i));
        channel_send(a, message, sizeof(message), i % 100 ? -1 : open("/dev/null", O_RDONLY | O_CLOEXEC));
    }
    assert_true(channel_full(a));
    while (right.count < 1000)
        uv_run(&loop, UV_RUN_ONCE);
    assert_int_equal(right.fds, 10);
    assert_true(left.drained);
    assert_false(channel_full(a));
    assert_int_equal(channel_queued(a), 0);
    channel_close(b);
    while (!left.gone)
        uv_run(&loop, UV_RUN_ONCE);
    uv_run(&loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&loop), 0);
}

/* ---- confinement ---- */

enum deed {
    DEED_NOTHING,
    DEED_OPEN,
    DEED_STAT,
    DEED_SOCKET,
    DEED_FORK,
    DEED_EXEC,
    DEED_KILL,
    DEED_CODE,
    DEED_PTRACE,
    DEED_MEMORY
};

/* What a taken-over worker would try, in a process of its own. */
static void try_deed(enum deed deed)
{
    struct stat st;
    char name[] = "true";
    char *const argv[] = {name, NULL};

    bool ring = confine_loop(NULL) < 0 || syscall(SYS_io_uring_setup, 1, NULL) >= 0 || errno != ENOSYS;
    if (ring || confine(NULL) < 0)
        _exit(100);
    switch (deed) {
    case DEED_NOTHING:
        _exit(malloc(1 << 20) ? 0 : 1);
    case DEED_OPEN:
        _exit(open("/etc/passwd", O_RDONLY) < 0 && errno == EACCES ? 0 : 1);
    case DEED_STAT:
        _exit(stat("/etc/passwd", &st) < 0 && errno == EACCES ? 0 : 1);
    case DEED_SOCKET:
        _exit(socket(AF_INET, SOCK_STREAM, 0) < 0 ? 2 : 1);
    case DEED_FORK:
        _exit(fork() < 0 ? 2 : 1);
    case DEED_EXEC:
        execv("/bin/true", argv);
        _exit(2);
    case DEED_KILL:
        _exit(kill(getppid(), 0) < 0 ? 2 : 1);
    case DEED_CODE:
        _exit(mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) ? 1
                                                                                                       : 2);
    case DEED_PTRACE:
        _exit(syscall(SYS_ptrace, 0, 0, 0, 0) < 0 ? 2 : 1);
    case DEED_MEMORY:
        _exit(malloc(CONFINE_DATA_MAX) ? 1 : 0);
    }
}

static int outcome_of(enum deed deed)
{
    int status;
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0)
        try_deed(deed);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

static void test_confine(void **state)
{
    static const enum deed deadly[] = {DEED_SOCKET, DEED_FORK, DEED_EXEC, DEED_KILL, DEED_CODE, DEED_PTRACE};

    alarm(20);
    if (!confine_full())
        skip();
    assert_int_equal(outcome_of(DEED_NOTHING), 0);
    assert_int_equal(outcome_of(DEED_OPEN), 0);
    assert_int_equal(outcome_of(DEED_STAT), 0);
    assert_int_equal(outcome_of(DEED_MEMORY), 0);
    for (size_t i = 0; i < countof(deadly); i++)
        assert_int_equal(outcome_of(deadly[i]), -SIGSYS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_decode_takes),     cmocka_unit_test(test_decode_refuses),
        cmocka_unit_test(test_decode_cuts_text), cmocka_unit_test(test_decode_refusal),
        cmocka_unit_test(test_decode_number),    cmocka_unit_test(test_check),
        cmocka_unit_test(test_check_flow),       cmocka_unit_test(test_channel),
        cmocka_unit_test(test_confine),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
