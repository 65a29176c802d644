/* The way out of a machine without a machine: a real hutch-guest, a fake host, clients of every kind. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "net_rig.h"

#include "base/alloc.h"
#include "base/spawn.h"
#include "base/units.h"
#include "wire/json.h"

#include <signal.h>
#include <string.h>
#include <sys/socket.h>

#define HELD_MAX 256 /* streams of the port */
#define SHORT    10000
#define MANY     200
#define FLOODED  20
#ifdef __SANITIZE_ADDRESS__
#define FLOOD_KIB (512 * 1024) /* what was freed is kept for a while */
#else
#define FLOOD_KIB (32 * 1024) /* that a reader who does not read may cost, all together */
#endif

static struct net_rig rig;

static int set_up(void **state)
{
    alarm(300);
    net_rig_start(&rig, "listen", true);
    return 0;
}

static int tear_down(void **state)
{
    net_rig_stop(&rig);
    return 0;
}

static void assert_has(const char *text, const char *part)
{
    if (!text || !strstr(text, part))
        fail_msg("'%s' is not in: %s", part, text ? text : "(nothing)");
}

static void assert_begins(const char *text, const char *part)
{
    if (!text || strncmp(text, part, strlen(part)) != 0)
        fail_msg("'%s' does not begin: %s", part, text ? text : "(nothing)");
}

/* ---- what passes ---- */

static void connect_passes_both_ways(void **state)
{
    static char out[300000], in[sizeof(out)];
    int fd = net_rig_open(&rig, "echo.test:443");

    for (size_t i = 0; i < sizeof(out); i++)
        out[i] = (char)(i * 31 ^ i >> 8);
    for (size_t at = 0; at < sizeof(out); at += 50000) {
        net_rig_send(fd, out + at, 50000);
        net_rig_read(fd, in + at, 50000);
    }
    assert_memory_equal(in, out, sizeof(out));
    shutdown(fd, SHUT_WR);
    autofree char *rest = net_rig_read_end(fd, NULL);
    assert_string_equal(rest, "");
}

/* What comes with the request belongs to the server. */
static void bytes_behind_a_request_are_kept(void **state)
{
    int fd = net_rig_connect(&rig);

    net_rig_send_text(fd, "CONNECT echo.test:443 HTTP/1.1\r\nHost: echo.test:443\r\n\r\nahead");
    autofree char *head = net_rig_read_head(fd);
    assert_begins(head, "HTTP/1.1 200 ");
    shutdown(fd, SHUT_WR);
    autofree char *rest = net_rig_read_end(fd, NULL);
    assert_string_equal(rest, "ahead");
}

static void an_absolute_address_goes_as_it_came(void **state)
{
    static const char request[] =
        "POST http://echo.test/a?b HTTP/1.1\r\nHost: echo.test\r\nContent-Length: 4\r\n\r\nbody";
    int fd = net_rig_connect(&rig);

    net_rig_send_text(fd, request);
    shutdown(fd, SHUT_WR);
    autofree char *back = net_rig_read_end(fd, NULL);
    assert_string_equal(back, request);
    autofree char *what =
        net_rig_say(&rig, "GET http://What.test:8080/ HTTP/1.1\r\nHost: What.test:8080\r\n\r\n");
    assert_has(what, ":8080 absolute");
}

static void socks_takes_names_and_addresses(void **state)
{
    static const struct {
        const char *host, *said;
    } cases[] = {{"some.test", "some.test:22 socks-name"},
                 {"192.0.2.7", "192.0.2.7:22 socks-address"},
                 {"2001:db8::7", "[2001:db8::7]:22 socks-address"}};

    for (size_t i = 0; i < countof(cases); i++) {
        int fd;
        assert_int_equal(net_rig_socks(&rig, cases[i].host, 22, &fd), 0);
        autofree char *said = net_rig_read_end(fd, NULL);
        assert_string_equal(said, cases[i].said);
    }
}

static void each_half_ends_by_itself(void **state)
{
    static const char block[100000];
    int fd = net_rig_open(&rig, "sink.test:443");

    net_rig_send(fd, block, sizeof(block));
    shutdown(fd, SHUT_WR);
    autofree char *count = net_rig_read_end(fd, NULL);
    assert_string_equal(count, "100000");
    /* the server's end first: ours still goes */
    char hello[6], none;
    fd = net_rig_open(&rig, "first.test:443");
    net_rig_read(fd, hello, sizeof(hello));
    assert_int_equal(recv(fd, &none, 1, 0), 0);
    for (int i = 0; i < 20; i++)
        net_rig_send(fd, block, sizeof(block));
    close(fd);
}

static void a_reset_is_a_reset(void **state)
{
    int fd = net_rig_open(&rig, "reset.test:443");
    bool reset;

    net_rig_send_text(fd, "x");
    free(net_rig_read_end(fd, &reset));
    assert_true(reset);
}

/* ---- what does not ---- */

static void refusals_speak_the_client_s_language(void **state)
{
    autofree char *deny = net_rig_say(&rig, "CONNECT deny.test:443 HTTP/1.1\r\nHost: deny.test:443\r\n\r\n");
    assert_begins(deny, "HTTP/1.1 403 Forbidden (hutch: no-rule)\r\n");
    assert_has(deny, "\"rule_missing\":\"allow deny.test:443\"");
    autofree char *bad = net_rig_say(&rig, "GET http://bad.test/ HTTP/1.1\r\nHost: bad.test\r\n\r\n");
    assert_begins(bad, "HTTP/1.1 502 ");
    autofree char *head = net_rig_say(&rig, "HEAD http://busy.test/ HTTP/1.1\r\nHost: busy.test\r\n\r\n");
    assert_begins(head, "HTTP/1.1 503 ");
    assert_string_equal(strstr(head, "\r\n\r\n"), "\r\n\r\n");
    autofree char *form = net_rig_say(&rig, "CONNECT form.test:443 HTTP/1.1\r\nHost: form.test:443\r\n\r\n");
    assert_begins(form, "HTTP/1.1 400 ");
    assert_has(form, "\"reason\":\"refused\"");
    autofree char *mute = net_rig_say(&rig, "CONNECT mute.test:443 HTTP/1.1\r\nHost: mute.test:443\r\n\r\n");
    assert_begins(mute, "HTTP/1.1 502 ");
    static const struct {
        const char *host;
        int code;
    } cases[] = {{"deny.test", 2}, {"bad.test", 4}, {"busy.test", 1}, {"form.test", 2}};
    for (size_t i = 0; i < countof(cases); i++) {
        int fd;
        assert_int_equal(net_rig_socks(&rig, cases[i].host, 443, &fd), cases[i].code);
        close(fd);
    }
}

/* A body that nobody reads must not turn the refusal into a reset. */
static void a_refusal_survives_a_body(void **state)
{
    static char body[200000];
    int fd = net_rig_connect(&rig);

    memset(body, 'x', sizeof(body));
    net_rig_send_text(fd,
                      "POST http://deny.test/ HTTP/1.1\r\nHost: deny.test\r\nContent-Length: 200000\r\n\r\n");
    net_rig_send(fd, body, sizeof(body));
    bool reset;
    autofree char *answer = net_rig_read_end(fd, &reset);
    assert_begins(answer, "HTTP/1.1 403 ");
    assert_false(reset);
}

static void each_refusal_is_a_line(void **state)
{
    int fd;

    free(net_rig_say(&rig, "CONNECT deny.test:443 HTTP/1.1\r\nHost: deny.test:443\r\n\r\n"));
    net_rig_socks(&rig, "deny.test", 443, &fd);
    close(fd);
    free(net_rig_say(&rig, "GET / HTTP/1.1\r\nHost: x\r\n\r\n"));
    autofree char *lines = net_rig_file(&rig, "denials");
    char *cursor = lines, *line;
    static const char *const entrances[] = {"connect", "socks-name", "proxy"};
    for (size_t i = 0; i < countof(entrances); i++) {
        line = strsep(&cursor, "\n");
        auto(json) json_t *o = json_parse(line, strlen(line), NULL);
        assert_non_null(o);
        assert_string_equal(json_string_value(json_object_get(o, "entrance")), entrances[i]);
        assert_string_equal(json_string_value(json_object_get(o, "verdict")), "deny");
        assert_non_null(json_object_get(o, "time"));
        if (i < 2)
            assert_int_equal(json_integer_value(json_object_get(o, "pid")), getpid());
    }
    assert_string_equal(cursor, "");
}

static void what_is_no_request_is_refused(void **state)
{
    static const char *const requests[] = {"GET / HTTP/1.1\r\nHost: a.test\r\n\r\n",
                                           "\x16\x03\x01\x02\r\n\r\n",
                                           "CONNECT a.test HTTP/1.1\r\nHost: a.test\r\n\r\n", "\x04\x01"};

    for (size_t i = 0; i < countof(requests); i++) {
        autofree char *answer = net_rig_say(&rig, requests[i]);
        if (*answer) /* SOCKS4 is not answered */
            assert_begins(answer, "HTTP/1.1 4");
    }
}

/* ---- who asks ---- */

static json_t *read_claim(int fd, const char *entrance)
{
    autofree char *text = net_rig_read_end(fd, NULL);
    char *claim = text;

    assert_string_equal(strsep(&claim, "\n"), entrance);
    json_t *o = json_parse(claim, strlen(claim), NULL);
    assert_non_null(o);
    return o;
}

static void the_claim_names_the_process(void **state)
{
    char cwd[4096];
    auto(json) json_t *o = read_claim(net_rig_open(&rig, "claim.test:443"), "connect");

    assert_non_null(getcwd(cwd, sizeof(cwd)));
    cwd[255] = '\0';
    assert_int_equal(json_integer_value(json_object_get(o, "pid")), getpid());
    assert_int_equal(json_integer_value(json_object_get(o, "uid")), getuid());
    assert_has(json_string_value(json_object_get(o, "exe")), "test_guest_net");
    assert_has(json_string_value(json_array_get(json_object_get(o, "argv"), 0)), "test_guest_net");
    assert_string_equal(json_string_value(json_object_get(o, "cwd")), cwd);
    assert_null(json_object_get(o, "cut"));
}

/* A long command line is cut so that the claim stays below its limit; the program's own words, cut too, have
 * their room first. */
static void a_long_command_is_cut(void **state)
{
    autofree char *words = xasprintf("I need \x1b[2K it%0300d", 7);
    autofree char *argument = xcalloc(9001, 1), *port = xasprintf("%u", rig.proxy), *out = NULL;
    for (int i = 0; i < 9000; i++)
        argument[i] = (char)('a' + i % 26);
    const char *const argv[] = {
        "bash",
        "-c",
        "exec 3<>/dev/tcp/127.0.0.1/$0; "
        "printf 'CONNECT claim.test:443 HTTP/1.1\\r\\nHost: claim.test:443\\r\\n\\r\\n' >&3; cat <&3",
        port,
        argument,
        NULL};
    const struct spawn spawn = {.argv = argv, .in = -1};

    setenv("HUTCH_REASON", words, 1);
    assert_int_equal(spawn_run(&spawn, 20000, 65536, &out, NULL), 0);
    unsetenv("HUTCH_REASON");
    const char *claim = strstr(out, "\nconnect\n");
    assert_non_null(claim);
    claim += strlen("\nconnect\n");
    assert_in_range(strlen(claim), 3000, 4096);
    auto(json) json_t *o = json_parse(claim, strlen(claim), NULL);
    assert_true(json_is_true(json_object_get(o, "cut")));
    const char *says = json_string_value(json_object_get(o, "says"));
    assert_int_equal(strlen(says), 200);
    assert_memory_equal(says, words, 200);
    assert_string_equal(json_string_value(json_array_get(json_object_get(o, "argv"), 0)), "bash");
}

/* A program with a title of its own has it as its first argument, and the room of the others filled with
 * zeros. */
static void a_title_leaves_no_empty_arguments(void **state)
{
    autofree char *port = xasprintf("%u", rig.proxy), *out = NULL;
    const char *const argv[] = {
        "bash",
        "-c",
        "exec 3<>/dev/tcp/127.0.0.1/$0; "
        "printf 'CONNECT claim.test:443 HTTP/1.1\\r\\nHost: claim.test:443\\r\\n\\r\\n' >&3; cat <&3",
        port,
        "",
        "",
        "",
        NULL};
    const struct spawn spawn = {.argv = argv, .in = -1};

    assert_int_equal(spawn_run(&spawn, 20000, 65536, &out, NULL), 0);
    const char *claim = strstr(out, "\nconnect\n");
    assert_non_null(claim);
    claim += strlen("\nconnect\n");
    auto(json) json_t *o = json_parse(claim, strlen(claim), NULL);
    const json_t *said = json_object_get(o, "argv");
    assert_int_equal(json_array_size(said), 4);
    assert_string_equal(json_string_value(json_array_get(said, 3)), port);
}

static void many_at_once_are_all_known(void **state)
{
    int fds[MANY];

    for (int i = 0; i < MANY; i++) {
        fds[i] = net_rig_connect(&rig);
        net_rig_send_text(fds[i], "CONNECT claim.test:443 HTTP/1.1\r\nHost: claim.test:443\r\n\r\n");
    }
    for (int i = 0; i < MANY; i++) {
        free(net_rig_read_head(fds[i]));
        auto(json) json_t *o = read_claim(fds[i], "connect");
        assert_int_equal(json_integer_value(json_object_get(o, "pid")), getpid());
    }
}

/* ---- who goes away ---- */

static void assert_held(const char *expected)
{
    for (int i = 0;; i++) {
        autofree char *text = net_rig_read_end(net_rig_open(&rig, "gone.test:80"), NULL);
        if (!strcmp(text, expected))
            return;
        if (i == 100)
            fail_msg("%s instead of %s", text, expected);
        usleep(100000);
    }
}

static void a_client_that_goes_withdraws_its_question(void **state)
{
    int gone = net_rig_connect(&rig), half = net_rig_connect(&rig);

    net_rig_send_text(gone, "CONNECT hold.test:443 HTTP/1.1\r\nHost: hold.test:443\r\n\r\n");
    net_rig_send_text(half, "CONNECT hold.test:443 HTTP/1.1\r\nHost: hold.test:443\r\n\r\n");
    shutdown(half, SHUT_WR);
    assert_held("held=2 withdrawn=0");
    close(gone);
    assert_held("held=2 withdrawn=1");
    close(half); /* noticed by a look from time to time */
    assert_held("held=2 withdrawn=2");
}

/* More resets than the host takes for an attack: they are spread, and the session lives. */
static void many_resets_do_no_harm(void **state)
{
    const struct linger at_once = {.l_onoff = 1};
    int keep = net_rig_open(&rig, "echo.test:443");
    char c;

    for (int i = 0; i < 230; i++) {
        int fd = net_rig_open(&rig, "stuck.test:443");
        setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
        close(fd);
    }
    net_rig_send_text(keep, "x");
    net_rig_read(keep, &c, 1);
    close(keep);
}

static void assert_host_lost(void)
{
    int open = net_rig_open(&rig, "echo.test:443"), asked = net_rig_connect(&rig);
    bool reset;

    net_rig_send_text(asked, "CONNECT hold.test:443 HTTP/1.1\r\nHost: hold.test:443\r\n\r\n");
    assert_held("held=1 withdrawn=0");
    net_rig_kill_host(&rig);
    int64_t start = units_monotonic_ns();
    free(net_rig_read_end(open, &reset));
    assert_true(reset);
    free(net_rig_read_end(asked, &reset));
    assert_true(reset);
    assert_true(units_monotonic_ns() - start < 1000000000);
}

static void the_host_goes_and_comes_again(void **state)
{
    int fd;

    assert_host_lost();
    int64_t start = units_monotonic_ns();
    autofree char *late = net_rig_say(&rig, "CONNECT echo.test:443 HTTP/1.1\r\nHost: echo.test:443\r\n\r\n");
    assert_begins(late, "HTTP/1.1 503 ");
    assert_has(late, "host-gone");
    assert_in_range((units_monotonic_ns() - start) / 1000000, 1800, 6000);
    assert_int_equal(net_rig_socks(&rig, "echo.test", 443, &fd), 1);
    close(fd);
    /* one that waits when it comes passes */
    fd = net_rig_connect(&rig);
    net_rig_send_text(fd, "CONNECT first.test:443 HTTP/1.1\r\nHost: first.test:443\r\n\r\n");
    net_rig_start_host(&rig);
    autofree char *answer = net_rig_read_end(fd, NULL);
    assert_has(answer, "hello\n");
}

/* ---- numbers ---- */

static void more_than_there_are_streams_wait(void **state)
{
    int fds[HELD_MAX], next, late;
    char c;

    for (int i = 0; i < HELD_MAX; i++)
        fds[i] = net_rig_open(&rig, "echo.test:443");
    next = net_rig_connect(&rig);
    net_rig_send_text(next, "CONNECT first.test:443 HTTP/1.1\r\nHost: first.test:443\r\n\r\n");
    late = net_rig_connect(&rig);
    net_rig_send_text(late, "CONNECT echo.test:443 HTTP/1.1\r\nHost: echo.test:443\r\n\r\n");
    usleep(300000);
    assert_int_equal(recv(next, &c, 1, MSG_DONTWAIT), -1);
    net_rig_send_text(fds[7], "x");
    net_rig_read(fds[7], &c, 1);
    close(fds[7]);
    autofree char *answer = net_rig_read_end(next, NULL);
    assert_has(answer, "hello\n");
    autofree char *head = net_rig_read_head(late);
    assert_begins(head, "HTTP/1.1 200 ");
    close(late);
    for (int i = 0; i < HELD_MAX; i++)
        if (i != 7)
            close(fds[i]);
}

static void short_connections_leave_nothing(void **state)
{
    close(net_rig_open(&rig, "first.test:443"));
    usleep(200000);
    size_t before = net_rig_descriptors(&rig);
    for (int i = 0; i < SHORT; i++) {
        int fd = net_rig_open(&rig, i % 3 ? "first.test:443" : "sink.test:443");
        if (i % 2)
            free(net_rig_read_end(i % 3 ? fd : (shutdown(fd, SHUT_WR), fd), NULL));
        else
            close(fd);
    }
    for (int i = 0; i < 100 && net_rig_descriptors(&rig) > before; i++)
        usleep(100000);
    assert_in_range(net_rig_descriptors(&rig), 0, before);
}

static void who_does_not_read_costs_little(void **state)
{
    int fds[FLOODED];
    uint64_t before = net_rig_memory_kib(&rig);

    for (int i = 0; i < FLOODED; i++)
        fds[i] = net_rig_open(&rig, "flood.test:443");
    usleep(1500000);
    assert_in_range(net_rig_memory_kib(&rig), 0, before + FLOOD_KIB);
    for (int i = 0; i < FLOODED; i++) {
        static char all[FAKE_FLOOD];
        char c;
        net_rig_read(fds[i], all, sizeof(all));
        assert_int_equal(recv(fds[i], &c, 1, 0), 0);
        close(fds[i]);
    }
}

/* ---- names, words ---- */

static void every_name_has_one_address_for_the_whole_boot(void **state)
{
    uint32_t first, again, other, none;

    assert_int_equal(net_rig_resolve(&rig, NULL, 0, false, "One.Test", 1, &first), 0);
    assert_true(first >> 17 == 0xc612u >> 1);
    assert_int_equal(net_rig_resolve(&rig, NULL, 0, true, "one.test", 1, &again), 0);
    assert_int_equal(again, first);
    assert_int_equal(net_rig_resolve(&rig, NULL, 0, false, "one.test", 28, &none), 0);
    assert_int_equal(none, 0);
    assert_int_equal(net_rig_resolve(&rig, NULL, 0, false, "under.localhost", 1, &none), 0);
    assert_int_equal(none, 0x7f000001);
    assert_int_equal(net_rig_resolve(&rig, NULL, 0, false, "-bad.test", 1, &none), 3);
    assert_int_equal(net_rig_resolve(&rig, NULL, 0, false, "1.2.3.4", 1, &none), 3);
    net_rig_kill_agent(&rig);
    net_rig_start_agent(&rig);
    assert_int_equal(net_rig_resolve(&rig, NULL, 0, false, "two.test", 1, &other), 0);
    assert_int_not_equal(other, first);
    assert_int_equal(net_rig_resolve(&rig, NULL, 0, false, "one.test", 1, &again), 0);
    assert_int_equal(again, first);
}

static int run_wait(const char *number, char **ret_out)
{
    const char *const argv[] = {"sh", "-c", "./hutch-guest wait \"$0\"; echo \" exit $?\"", number, NULL};
    const struct spawn spawn = {.argv = argv, .in = -1};
    autofree char *proxy = xasprintf("127.0.0.1:%u", rig.proxy);

    setenv("HUTCH_GUEST_PROXY", proxy, 1);
    return spawn_run(&spawn, 20000, 65536, ret_out, NULL);
}

static void wait_tells_the_verdict(void **state)
{
    static const struct {
        const char *number, *said;
    } cases[] = {{"1", "allow: go on\n exit 0\n"},
                 {"2", "deny: not \\e[1mthat\n exit 4\n"},
                 {"3", "gone\n exit 5\n"},
                 {"no", " exit 2\n"}};

    for (size_t i = 0; i < countof(cases); i++) {
        autofree char *out = NULL;
        assert_int_equal(run_wait(cases[i].number, &out), 0);
        assert_string_equal(out, cases[i].said);
    }
}

static void shells_learn_of_the_proxy(void **state)
{
    autofree char *environment = net_rig_file(&rig, "environment"), *motd = net_rig_file(&rig, "motd");
    autofree char *line =
        xasprintf("export https_proxy=\"${https_proxy:-http://127.0.0.1:%u}\"\n", rig.proxy);

    assert_has(environment, line);
    assert_has(environment, "export NO_PROXY=");
    assert_has(motd, "no ping, UDP, NTP or raw DNS");
    assert_has(motd, "/denials");
    for (const char *line_of = motd, *end; (end = strchr(line_of, '\n')); line_of = end + 1)
        assert_in_range(end - line_of, 1, 80); /* a terminal would break it in a word */
}

int main(int argc, char **argv)
{
#define T(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        T(connect_passes_both_ways),
        T(bytes_behind_a_request_are_kept),
        T(an_absolute_address_goes_as_it_came),
        T(socks_takes_names_and_addresses),
        T(each_half_ends_by_itself),
        T(a_reset_is_a_reset),
        T(refusals_speak_the_client_s_language),
        T(a_refusal_survives_a_body),
        T(each_refusal_is_a_line),
        T(what_is_no_request_is_refused),
        T(the_claim_names_the_process),
        T(a_long_command_is_cut),
        T(a_title_leaves_no_empty_arguments),
        T(many_at_once_are_all_known),
        T(a_client_that_goes_withdraws_its_question),
        T(many_resets_do_no_harm),
        T(the_host_goes_and_comes_again),
        T(more_than_there_are_streams_wait),
        T(short_connections_leave_nothing),
        T(who_does_not_read_costs_little),
        T(every_name_has_one_address_for_the_whole_boot),
        T(wait_tells_the_verdict),
        T(shells_learn_of_the_proxy),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
