/* The resolver's children and the dialling, on loopback alone. */
#include "test_base_scratch.h"

#include "base/fd.h"
#include "base/units.h"
#include "egress/dial.h"
#include "egress/resolver.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

struct world {
    uv_loop_t loop;
    uv_timer_t tick;
    struct resolver *resolver;
    char *table, *program;
};

/* What a lookup or a dial said. */
struct said {
    unsigned calls;
    char failure[32];
    size_t count;
    bool cached;
    struct address first;
    struct dial_result dialed;
};

static void nothing(uv_timer_t *timer)
{
    (void)timer;
}

static struct world *open_world(void **state, const char *table, unsigned limit_ms, unsigned cache_ms)
{
    struct world *world = xnew(struct world);
    const char *built = getenv("builddir");

    uv_loop_init(&world->loop);
    uv_timer_init(&world->loop, &world->tick);
    uv_timer_start(&world->tick, nothing, 5, 5);
    world->table = file_join(*state, "table");
    world->program = xasprintf("%s/hutch-resolver", built ? built : ".");
    assert_ok(file_replace(world->table, table, strlen(table), 0600, &err));
    struct resolver_options options = {.loop = &world->loop,
                                       .program = world->program,
                                       .table = world->table,
                                       .limit_ms = limit_ms,
                                       .cache_ms = cache_ms};
    world->resolver = resolver_create(&options);
    return world;
}

static void close_world(struct world *world)
{
    resolver_destroy(world->resolver);
    uv_close((uv_handle_t *)&world->tick, NULL);
    uv_run(&world->loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&world->loop), 0);
    free(world->table);
    free(world->program);
    free(world);
}

static void run_until(struct world *world, const unsigned *calls, unsigned want)
{
    int64_t end = units_monotonic_ns() + 20 * INT64_C(1000000000);

    while (*calls < want && units_monotonic_ns() < end)
        uv_run(&world->loop, UV_RUN_ONCE);
    assert_int_equal(*calls, want);
}

static void on_answer(const struct resolver_answer *answer, void *user)
{
    struct said *said = user;

    said->calls++;
    snprintf(said->failure, sizeof(said->failure), "%s", answer->failure ? answer->failure : "");
    said->count = answer->count;
    said->cached = answer->cached;
    if (answer->count)
        said->first = answer->addresses[0];
}

static struct said look_up(struct world *world, const char *name)
{
    struct said said = {0};

    resolver_lookup(world->resolver, name, on_answer, &said);
    run_until(world, &said.calls, 1);
    return said;
}

static unsigned questions(struct world *world)
{
    autofree char *path = xasprintf("%s.log", world->table);
    autofree char *text = NULL;
    size_t len;
    unsigned lines = 0;

    if (file_read(path, 1 << 20, &text, &len, NULL) == 0) {
        for (size_t i = 0; i < len; i++)
            lines += text[i] == '\n';
    }
    return lines;
}

/* D16: at most 16 addresses count; a failure is a failure, and nobody else is asked. */
static void d16_many_addresses_and_failures(void **state)
{
    char table[8192];
    size_t at =
        (size_t)snprintf(table, sizeof(table), "few.test 192.0.2.1 2001:db8::1\nbad.test fail\nmany.test");

    for (int i = 1; i <= 200; i++)
        at += (size_t)snprintf(table + at, sizeof(table) - at, " 192.0.2.%d", i);
    snprintf(table + at, sizeof(table) - at, "\n");
    struct world *world = open_world(state, table, 0, 0);
    struct said said = look_up(world, "many.test");
    assert_string_equal(said.failure, "");
    assert_int_equal(said.count, RESOLVER_ADDRESSES_MAX);
    said = look_up(world, "few.test");
    assert_int_equal(said.count, 2);
    said = look_up(world, "bad.test");
    assert_string_equal(said.failure, "no-answer");
    said = look_up(world, "none.test");
    assert_string_equal(said.failure, "no-such-name");
    assert_int_equal(questions(world), 4);
    close_world(world);
}

/* D16: one that hangs is killed at its limit, and others are served meanwhile and afterwards. */
static void d16_a_hanging_lookup_is_killed(void **state)
{
    struct world *world = open_world(state, "slow.test hang\ngood.test 192.0.2.1\n", 400, 0);
    struct said slow = {0};
    int64_t begun = units_monotonic_ns();

    resolver_lookup(world->resolver, "slow.test", on_answer, &slow);
    struct said good = look_up(world, "good.test");
    assert_string_equal(good.failure, "");
    assert_int_equal(slow.calls, 0);
    run_until(world, &slow.calls, 1);
    assert_string_equal(slow.failure, "time");
    assert_true(units_monotonic_ns() - begun < 5 * INT64_C(1000000000));
    for (int i = 0; i < 2 * RESOLVER_CHILDREN; i++)
        assert_string_equal(look_up(world, "slow.test").failure, "time");
    assert_string_equal(look_up(world, "good.test").failure, "");
    close_world(world);
}

/* The cache ends; failures are not kept; who asks at the same time shares; who cancels is not called. */
static void answers_are_shared_and_kept_for_a_while(void **state)
{
    struct world *world = open_world(state, "good.test 192.0.2.1\n", 0, 300);
    struct said first = {0}, second = {0}, third = {0};

    resolver_lookup(world->resolver, "good.test", on_answer, &first);
    resolver_lookup(world->resolver, "good.test", on_answer, &second);
    resolver_cancel(world->resolver, resolver_lookup(world->resolver, "good.test", on_answer, &third));
    run_until(world, &first.calls, 1);
    assert_int_equal(second.calls, 1);
    assert_int_equal(third.calls, 0);
    assert_int_equal(questions(world), 1);
    assert_true(look_up(world, "good.test").cached);
    assert_int_equal(questions(world), 1);
    usleep(400 * 1000);
    assert_false(look_up(world, "good.test").cached);
    assert_int_equal(questions(world), 2);
    close_world(world);
}

static void a_missing_program_is_a_failure(void **state)
{
    struct world *world = open_world(state, "", 0, 0);
    struct resolver_options options = {.loop = &world->loop, .program = "/nonexistent/hutch-resolver"};

    resolver_destroy(world->resolver);
    world->resolver = resolver_create(&options);
    assert_string_equal(look_up(world, "good.test").failure, "resolver");
    options.program = "/bin/true"; /* ends at once */
    resolver_destroy(world->resolver);
    world->resolver = resolver_create(&options);
    assert_string_equal(look_up(world, "good.test").failure, "resolver");
    close_world(world);
}

/* ---- dialling ---- */

static void on_dialed(const struct dial_result *result, void *user)
{
    struct said *said = user;

    said->calls++;
    said->dialed = *result;
    snprintf(said->failure, sizeof(said->failure), "%s", result->failure ? result->failure : "");
}

static struct said dial(struct world *world, const struct dial_target *target)
{
    struct said said = {0};

    dial_start(&world->loop, target, on_dialed, &said);
    run_until(world, &said.calls, 1);
    return said;
}

static int listen_loopback(uint16_t *ret_port)
{
    struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t len = sizeof(in);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_int_equal(bind(fd, (struct sockaddr *)&in, len), 0);
    assert_int_equal(listen(fd, 4), 0);
    getsockname(fd, (struct sockaddr *)&in, &len);
    *ret_port = ntohs(in.sin_port);
    return fd;
}

static struct address parse(const char *text)
{
    struct address address;

    assert_ok(address_parse(text, strlen(text), &address, &err));
    return address;
}

/* Only a host port leads to loopback; a vetted list with it in is refused again here. */
static void only_host_ports_reach_loopback(void **state)
{
    struct world *world = open_world(state, "", 0, 0);
    struct dial_target target = {0};
    uint16_t port;
    autoclose int listener = listen_loopback(&port);

    snprintf(target.to, sizeof(target.to), "127.0.0.1:%u", port);
    struct said said = dial(world, &target);
    assert_string_equal(said.failure, "");
    assert_true(said.dialed.fd >= 0);
    close(said.dialed.fd);

    target = (struct dial_target){.count = 1, .port = port, .any_private = true};
    target.addresses[0] = parse("127.0.0.1");
    said = dial(world, &target);
    assert_string_equal(said.failure, "floor");
    assert_int_equal(said.dialed.class, ADDRESS_LOOPBACK);
    assert_int_equal(said.dialed.tried, 0);
    assert_int_equal(said.dialed.fd, -1);
    struct pollfd poll_fd = {.fd = listener, .events = POLLIN};
    close(accept(listener, NULL, NULL)); /* the host port's */
    assert_int_equal(poll(&poll_fd, 1, 50), 0);
    close_world(world);
}

/* Every address of the host's interfaces is the floor, whatever its range and whatever the rule says. */
static void the_hosts_own_addresses_are_floor(void **state)
{
    struct world *world = open_world(state, "", 0, 0);
    struct address own[DIAL_OWN_MAX];
    struct dial_target target = {.port = 9, .any_private = true};
    int count = dial_own_addresses(own, countof(own), NULL);

    assert_true(count > 0);
    for (int i = 0; i < count && target.count < DIAL_ADDRESSES_MAX; i++)
        target.addresses[target.count++] = own[i];
    struct said said = dial(world, &target);
    assert_string_equal(said.failure, "floor");
    assert_int_equal(said.dialed.tried, 0);
    close_world(world);
}

static void sockets_of_files_and_refusals(void **state)
{
    struct world *world = open_world(state, "", 0, 0);
    struct dial_target target = {0};
    autofree char *path = file_join(*state, "sock");
    int listener;

    snprintf(target.to, sizeof(target.to), "unix:%s", path);
    assert_string_equal(dial(world, &target).failure, "refused");
    assert_ok(fd_unix_listen(path, SOCK_STREAM, 0600, &listener, &err));
    struct said said = dial(world, &target);
    assert_string_equal(said.failure, "");
    close(said.dialed.fd);
    close(listener);
    uint16_t port;
    close(listen_loopback(&port));
    snprintf(target.to, sizeof(target.to), "127.0.0.1:%u", port);
    assert_string_equal(dial(world, &target).failure, "refused");
    snprintf(target.to, sizeof(target.to), "localhost:%u", port);
    assert_string_equal(dial(world, &target).failure, "unreachable");
    close_world(world);
}

/* L10: what a user writes for his proxy; his password is in no message. */
static void proxies_as_people_write_them(void **state)
{
    static const struct {
        const char *url, *authority, *authorization;
    } good[] = {{"http://proxy.test:3128", "proxy.test:3128", ""},
                {"HTTP://Proxy.test/", "proxy.test:80", ""},
                {"http://me:x@proxy.test:3128/", "proxy.test:3128", "Basic bWU6eA=="},
                {"http://me@proxy.test:3128", "proxy.test:3128", "Basic bWU6"},
                {"http://a%40b:c%3Ad@[2001:db8::1]:8080", "[2001:db8::1]:8080", "Basic YUBiOmM6ZA=="},
                {"http://a@b:c@proxy.test:3128", "proxy.test:3128", "Basic YUBiOmM="}};
    static const char *const bad[] = {
        "https://me:hunter2@proxy.test:3128",  "me:hunter2@proxy.test:3128",
        "http://me:hunter2@proxy.test:99999",  "http://me:hunter2%4@proxy.test:1",
        "http://me:hunter2@evil\r\nX: y:3128", "http://me:hunter2@",
        "socks5://me:hunter2@proxy.test:1080"};

    (void)state;
    for (size_t i = 0; i < countof(good); i++) {
        auto(proxy) struct proxy *proxy = NULL;

        assert_int_equal(proxy_parse(good[i].url, NULL, &proxy, NULL), 0);
        assert_string_equal(proxy->authority, good[i].authority);
        assert_string_equal(proxy->authorization, good[i].authorization);
    }
    for (size_t i = 0; i < countof(bad); i++) {
        struct proxy *proxy = NULL;
        auto(error) struct error *err = NULL;

        assert_int_equal(proxy_parse(bad[i], NULL, &proxy, &err), -ERROR_INVALID);
        assert_null(proxy);
        assert_null(strstr(err->message, "hunter2"));
    }
}

static void what_is_reached_without_a_proxy(void **state)
{
    static const struct {
        const char *except, *authority;
        bool without;
    } cases[] = {{"", "a.test:443", false},
                 {"*", "a.test:443", true},
                 {"b.test, .a.test", "a.test:443", true},
                 {".a.test", "x.a.test:443", true},
                 {"a.test", "x.A.test:443", true},
                 {"*.a.test", "x.a.test:443", true},
                 {"a.test", "bada.test:443", false},
                 {"a.test", "a.test.evil.test:443", false},
                 {"a.test:8080", "a.test:8080", true},
                 {"a.test:8080", "a.test:443", false},
                 {"10.0.0.0/8", "10.1.2.3:443", true},
                 {"10.0.0.0/8", "11.1.2.3:443", false},
                 {"192.0.2.1", "192.0.2.1:443", true},
                 {"1", "192.0.2.1:443", false},
                 {"2001:db8::1", "[2001:db8::1]:443", true},
                 {"[2001:db8::1]:80", "[2001:db8::1]:443", false},
                 {".,,", "a.test:443", false}};

    (void)state;
    for (size_t i = 0; i < countof(cases); i++) {
        auto(proxy) struct proxy *proxy = NULL;
        struct host host;
        uint16_t port;

        assert_int_equal(proxy_parse("http://proxy.test", cases[i].except, &proxy, NULL), 0);
        assert_int_equal(
            host_parse_authority(cases[i].authority, strlen(cases[i].authority), 0, &host, &port, NULL), 0);
        if (proxy_excepts(proxy, &host, port) != cases[i].without)
            fail_msg("\"%s\" and %s", cases[i].except, cases[i].authority);
    }
}

/* A proxy gets the name; what it sends behind its answer belongs to the flow. */
static void a_proxy_is_asked(void **state)
{
    static const char yes[] = "HTTP/1.1 200 Connection established\r\nVia: x\r\n\r\nSSH-2.0",
                      no[] = "HTTP/1.1 407 No\r\n\r\n";
    struct world *world = open_world(state, "", 0, 0);
    struct dial_target target = {.count = 1, .through = "docs.rs:443"};
    autoclose int listener = listen_loopback(&target.port);
    char head[512] = "";

    target.addresses[0] = parse("127.0.0.1");
    snprintf(target.authorization, sizeof(target.authorization), "Basic bWU6eA==");
    for (int round = 0; round < 2; round++) {
        struct said said = {0};
        const char *answer = round ? no : yes;

        dial_start(&world->loop, &target, on_dialed, &said);
        uv_run(&world->loop, UV_RUN_ONCE);
        autoclose int fd = accept(listener, NULL, NULL);
        while (!strstr(head, "\r\n\r\n")) {
            uv_run(&world->loop, UV_RUN_NOWAIT);
            recv(fd, head + strlen(head), sizeof(head) - 1 - strlen(head), MSG_DONTWAIT);
        }
        assert_int_equal(strncmp(head, "CONNECT docs.rs:443 HTTP/1.1\r\n", 30), 0);
        assert_non_null(strstr(head, "\r\nProxy-Authorization: Basic bWU6eA==\r\n"));
        memset(head, 0, sizeof(head));
        assert_int_equal(send(fd, answer, 20, 0), 20);
        for (int i = 0; i < 20; i++)
            uv_run(&world->loop, UV_RUN_ONCE);
        assert_int_equal(said.calls, answer == no ? 1 : 0);
        if (answer == yes) {
            assert_int_equal(send(fd, answer + 20, strlen(answer) - 20, 0), strlen(answer) - 20);
            run_until(world, &said.calls, 1);
            assert_string_equal(said.failure, "");
            assert_int_equal(recv(said.dialed.fd, head, sizeof(head), 0), 7);
            assert_memory_equal(head, "SSH-2.0", 7);
            memset(head, 0, sizeof(head));
            close(said.dialed.fd);
        } else {
            assert_string_equal(said.failure, "proxy");
        }
    }
    close_world(world);
}

int main(void)
{
    alarm(120);
    const struct CMUnitTest tests[] = {
        scratch_test(d16_many_addresses_and_failures),
        scratch_test(d16_a_hanging_lookup_is_killed),
        scratch_test(answers_are_shared_and_kept_for_a_while),
        scratch_test(a_missing_program_is_a_failure),
        scratch_test(only_host_ports_reach_loopback),
        scratch_test(the_hosts_own_addresses_are_floor),
        scratch_test(sockets_of_files_and_refusals),
        cmocka_unit_test(proxies_as_people_write_them),
        cmocka_unit_test(what_is_reached_without_a_proxy),
        scratch_test(a_proxy_is_asked),
    };
    return cmocka_run_group_tests_name("egress dial", tests, NULL, NULL);
}
