/* Where package tools fetch from: which lines are taken, what is refused, what rule a host becomes. */
#include "test_base_scratch.h"

#include "conf/package_hosts.h"

static void lines_are_read(void **state)
{
    (void)state;
    struct package_host host;
    assert_true(package_host_parse("debian http deb.m.test 80", &host));
    assert_string_equal(host.preset, "debian");
    assert_string_equal(host.host, "deb.m.test");
    assert_int_equal(host.port, 80);
    assert_false(host.tls);
    assert_true(package_host_parse("node https a_b-c.test 8443", &host));
    assert_true(host.tls);
}

static void other_lines_are_refused(void **state)
{
    (void)state;
    static const char *const lines[] = {
        "",
        "debian",
        "debian http m.test",
        "debian http m.test 80 ",
        "debian http m.test 80 private=10.0.0.0/8",
        "debian  http m.test 80",
        " debian http m.test 80",
        "debian ftp m.test 21",
        "debian http M.test 80",
        "debian http *.test 80",
        "debian http .test 80",
        "debian http -m.test 80",
        "debian http [::1] 80",
        "debian http m.test/x 80",
        "debian http m.test 0",
        "debian http m.test 65536",
        "debian http m.test 123456789",
        "debian http m.test +80",
        "debian\thttp m.test 80",
        "../x http m.test 80",
        "abcdefghijklmnopqrstuvwxyzabcdefg http m.test 80",
    };
    for (size_t i = 0; i < countof(lines); i++) {
        struct package_host host = {.port = 7};
        if (package_host_parse(lines[i], &host) || host.port != 7)
            fail_msg("taken: \"%s\"", lines[i]);
    }
    char name[PACKAGE_NAME_MAX + 1];
    memset(name, 'a', sizeof(name) - 1);
    name[PACKAGE_NAME_MAX] = '\0';
    autofree char *longer = xasprintf("debian http %s 80", name);
    autofree char *longest = xasprintf("debian http %s 80", name + 1);
    struct package_host host;
    assert_false(package_host_parse(longer, &host));
    assert_true(package_host_parse(longest, &host));
}

static void a_whole_output_is_read(void **state)
{
    (void)state;
    autofree struct package_host *hosts = NULL;
    size_t count = 0;
    assert_ok(package_hosts_parse("debian http m.test 80\n\nnode https m.test 443\ndebian http m.test 80\n"
                                  "debian https m.test 80",
                                  &hosts, &count, &err));
    assert_int_equal(count, 3);
    assert_true(package_hosts_have(hosts, count, &hosts[2]));
    assert_false(package_hosts_have(hosts, 2, &hosts[2]));
    struct package_host *none = NULL;
    assert_error(package_hosts_parse("debian http m.test 80\nsh: npm: not found\n", &none, &count, &err),
                 ERROR_INVALID, "\"sh: npm: not found\" is no host of packages");
    char many[4096] = "";
    size_t len = 0;
    for (int i = 0; i <= PACKAGE_HOSTS_MAX; i++)
        len += (size_t)snprintf(many + len, sizeof(many) - len, "node https h%d.test 443\n", i);
    assert_error(package_hosts_parse(many, &none, &count, &err), ERROR_LIMIT, "more than 64");
    assert_null(none);
}

static void assert_item(bool tls, uint16_t port, const char *want)
{
    struct package_host host = {"node", tls, "m.test", port};
    autofree char *item = package_host_item(&host);
    assert_string_equal(item, want);
}

static void a_host_becomes_a_rule(void **state)
{
    (void)state;
    assert_item(false, 80, "m.test:80");
    assert_item(true, 443, "m.test:443");
    assert_item(false, 3142, "m.test:3142 proto=http");
    assert_item(true, 80, "m.test:80 proto=tls");
    assert_item(false, 443, "m.test:443 proto=http");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_are_read),
        cmocka_unit_test(other_lines_are_refused),
        cmocka_unit_test(a_whole_output_is_read),
        cmocka_unit_test(a_host_becomes_a_rule),
    };
    alarm(30);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
