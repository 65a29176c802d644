/* Hosts and addresses in their one form (N03 to N08, N10, N15 as far as names go, D04, D05, A03). */
#include "test_base_scratch.h"

#include "policy/host.h"

static void assert_host(const char *written, enum host_mode mode, enum host_kind kind, const char *canonical)
{
    struct host host;
    assert_ok(host_parse(written, strlen(written), mode, &host, &err));
    assert_int_equal(host.kind, kind);
    assert_string_equal(host.text, canonical);
    assert_int_equal(host.len, strlen(canonical));
}

static void assert_no_host(const char *written, size_t len, enum host_mode mode, const char *words)
{
    struct host host = {.label_count = 77};
    assert_error(host_parse(written, len, mode, &host, &err), ERROR_INVALID, words);
    assert_int_equal(host.label_count, 77); /* untouched */
}

#define REFUSED(written, words) assert_no_host((written), sizeof(written) - 1, HOST_REQUEST, (words))

static void n03_a_nul_ends_nothing(void **state)
{
    (void)state;
    REFUSED("evil.test\0.good.test", "control");
    assert_no_host("evil.test\0.good.test", 20, HOST_RULE, "control");
    assert_no_host("b\xc3\xbc\0.good.test", 13, HOST_RULE, "control");
}

static void n04_what_names_do_not_have(void **state)
{
    (void)state;
    REFUSED("good.test@evil.test", "names do not have");
    REFUSED("evil.test#good.test", "names do not have");
    REFUSED("evil.test/good.test", "names do not have");
    for (int byte = 0; byte < 256; byte++) {
        char name[] = "a?b.test";
        struct host host;
        name[1] = (char)byte;
        bool good = (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
                    (byte >= '0' && byte <= '9') || byte == '-' || byte == '_' || byte == '.';
        assert_int_equal(host_parse(name, 8, HOST_REQUEST, &host, NULL), good ? 0 : -ERROR_INVALID);
    }
}

static void n05_case_and_one_dot(void **state)
{
    (void)state;
    assert_host("GOOD.TEST", HOST_REQUEST, HOST_NAME, "good.test");
    assert_host("good.test.", HOST_REQUEST, HOST_NAME, "good.test");
    REFUSED("good.test..", "empty label");
    REFUSED(".good.test", "empty label");
    REFUSED(".", "empty");
    REFUSED("", "empty");
    REFUSED("-a.test", "begins or ends");
    REFUSED("a-.test", "begins or ends");
    assert_host("a_b--c.test", HOST_REQUEST, HOST_NAME, "a_b--c.test");
}

static void lengths_have_limits(void **state)
{
    (void)state;
    char name[300];
    memset(name, 'a', sizeof(name));
    struct host host;
    assert_int_equal(host_parse(name, 63, HOST_REQUEST, &host, NULL), 0);
    assert_error(host_parse(name, 64, HOST_REQUEST, &host, &err), ERROR_INVALID, "63 bytes");
    for (size_t i = 50; i < sizeof(name); i += 51)
        name[i] = '.';
    assert_int_equal(host_parse(name, 253, HOST_REQUEST, &host, NULL), 0);
    name[253] = '.';
    assert_int_equal(host_parse(name, 254, HOST_REQUEST, &host, NULL), 0);
    assert_error(host_parse(name, 255, HOST_REQUEST, &host, &err), ERROR_INVALID, "253 bytes");
}

static void n07_a_labels_round_trip(void **state)
{
    (void)state;
    assert_host("xn--bcher-kva.test", HOST_REQUEST, HOST_NAME, "xn--bcher-kva.test");
    assert_host("XN--BCHER-KVA.test", HOST_REQUEST, HOST_NAME, "xn--bcher-kva.test");
    REFUSED("xn--abc-.test", "begins or ends");
    REFUSED("xn--a.test", "encodes no name");
    REFUSED("xn--.test", "begins or ends");
    REFUSED("xn--zzzzzzzzzz99.test", "encodes no name");
    REFUSED("xn--abc-9999999.test", "encodes no name");
    REFUSED("xn--bcher-kvb.test", "encodes no name");
    REFUSED("xn--bcher-2pa.test", "encodes no name"); /* of a capital, and as long as the right one */
    REFUSED("b\xc3\xbc"
            "cher.test",
            "not ASCII");
    /* IDNA2008, non-transitional: the sharp s stays one. */
    assert_host("Stra\xc3\x9f"
                "e.test",
                HOST_RULE, HOST_NAME, "xn--strae-oqa.test");
    assert_host("B\xc3\x9c"
                "CHER\xe3\x80\x82test",
                HOST_RULE, HOST_NAME, "xn--bcher-kva.test");
    /* A full-width "%" or "." of IDNA is judged after it was mapped. */
    assert_no_host("a\xef\xbc\x85.test", 9, HOST_RULE, "names do not have");
    assert_no_host("1.2\xef\xbc\x8e"
                   "3",
                   7, HOST_RULE, "dotted quad");
    assert_no_host("\xef\xbc\x91\xef\xbc\x92\xef\xbc\x97.1", 11, HOST_RULE, "dotted quad");
}

static void n08_what_ends_like_an_address_is_one(void **state)
{
    (void)state;
    static const char *const refused[] = {"127.1",     "2130706433", "0x7f.0.0.1", "0177.0.0.1", "1.2.3",
                                          "1.2.3.4.5", "0x7f.1",     "1.2.3.256",  "01.2.3.4",   "1..2.3",
                                          "a.test.1",  "0x7f000001", "1.2.3.0x4",  "1.2.3.1e1.7"};
    for (size_t i = 0; i < countof(refused); i++) {
        struct host host;
        assert_int_equal(host_parse(refused[i], strlen(refused[i]), HOST_REQUEST, &host, NULL),
                         -ERROR_INVALID);
        assert_int_equal(host_parse(refused[i], strlen(refused[i]), HOST_RULE, &host, NULL), -ERROR_INVALID);
    }
    assert_host("192.0.2.1", HOST_REQUEST, HOST_IPV4, "192.0.2.1");
    assert_host("192.0.2.1.", HOST_REQUEST, HOST_IPV4, "192.0.2.1");
    assert_host("1.2.3.4.test", HOST_REQUEST, HOST_NAME, "1.2.3.4.test");
}

static void n10_ipv6_in_brackets_without_a_zone(void **state)
{
    (void)state;
    REFUSED("[fe80::1%25eth0]", "no IPv6");
    REFUSED("[fe80::1%eth0]", "no IPv6");
    REFUSED("::ffff:1.2.3.4%x.good.test", "brackets");
    REFUSED("::1", "brackets");
    REFUSED("[::1", "missing");
    REFUSED("[1.2.3.4]", "no IPv6");
    REFUSED("[]", "no IPv6");
    REFUSED("[::1].good.test", "missing");
    assert_host("[2001:DB8:0:0::1]", HOST_REQUEST, HOST_IPV6, "2001:db8::1");
    assert_host("[::ffff:192.0.2.1]", HOST_REQUEST, HOST_IPV4, "192.0.2.1");
}

static void n15_one_colon(void **state)
{
    (void)state;
    static const char *const refused[] = {"evil.test:443.good.test",
                                          "good.test:0",
                                          "good.test:0443",
                                          "good.test:65536",
                                          "good.test:",
                                          "good.test:+443",
                                          "good.test: 443",
                                          "good.test",
                                          "2001:db8::1:443",
                                          "::1:443",
                                          "[::1]",
                                          "[::1]x:443",
                                          "good.test:443:",
                                          "good.test:4430000000000000443"};
    struct host host;
    uint16_t port = 7;
    for (size_t i = 0; i < countof(refused); i++)
        assert_int_equal(host_parse_authority(refused[i], strlen(refused[i]), 0, &host, &port, NULL),
                         -ERROR_INVALID);
    assert_int_equal(port, 7);
    assert_ok(host_parse_authority("Good.Test:8443", 14, 0, &host, &port, &err));
    assert_int_equal(port, 8443);
    assert_string_equal(host.text, "good.test");
    assert_ok(host_parse_authority("[2001:db8::1]:22", 16, 0, &host, &port, &err));
    assert_int_equal(port, 22);
    char text[HOST_FORMAT_MAX];
    assert_string_equal(host_format(&host, port, text), "[2001:db8::1]:22");
    assert_ok(host_parse_authority("good.test", 9, 443, &host, &port, &err));
    assert_int_equal(port, 443);
}

static void suffixes_end_at_labels(void **state)
{
    (void)state;
    struct host host;
    unsigned labels;
    assert_ok(host_parse("a.b.good.test", 13, HOST_REQUEST, &host, &err));
    assert_true(host_below(&host, "good.test", &labels));
    assert_int_equal(labels, 2);
    assert_false(host_below(&host, "ood.test", &labels));
    assert_false(host_below(&host, "a.b.good.test", &labels));
    assert_ok(host_parse("evilgood.test", 13, HOST_REQUEST, &host, &err));
    assert_false(host_below(&host, "good.test", NULL));
    assert_ok(host_parse("1.2.3.4", 7, HOST_REQUEST, &host, &err));
    assert_false(host_below(&host, "3.4", NULL));
}

static void names_of_the_floor(void **state)
{
    (void)state;
    static const char *const floor[] = {
        "localhost", "LOCALHOST.", "a.localhost", "metadata", "metadata.google.internal", "instance-data"};
    struct host host;
    for (size_t i = 0; i < countof(floor); i++) {
        assert_ok(host_parse(floor[i], strlen(floor[i]), HOST_REQUEST, &host, &err));
        assert_true(host_is_floor(&host));
    }
    assert_ok(host_parse("metadata.good.test", 18, HOST_REQUEST, &host, &err));
    assert_false(host_is_floor(&host));
    char name[HOST_LABEL_MAX + 1];
    assert_ok(host_parse("pg.hutch.internal", 17, HOST_REQUEST, &host, &err));
    assert_true(host_is_reserved(&host, name));
    assert_string_equal(name, "pg");
    assert_ok(host_parse("a.pg.hutch.internal", 19, HOST_REQUEST, &host, &err));
    assert_true(host_is_reserved(&host, name));
    assert_string_equal(name, "");
    assert_ok(host_parse("pghutch.internal", 16, HOST_REQUEST, &host, &err));
    assert_false(host_is_reserved(&host, name));
}

static enum address_verdict check(const char *text, const char *range, enum address_class *ret_class)
{
    struct address address, own;
    struct cidr cidr;
    assert_ok(address_parse(text, strlen(text), &address, &err));
    assert_ok(address_parse("::ffff:198.51.100.9", 19, &own, &err)); /* as a dual-stack socket has it */
    if (range)
        assert_ok(cidr_parse(range, strlen(range), &cidr, &err));
    return address_check(&address, &cidr, range ? 1 : 0, &own, 1, ret_class);
}

static void d04_addresses_that_are_never_or_not_by_themselves(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        enum address_verdict verdict;
        const char *class;
    } cases[] = {
        {"0.0.0.0", ADDRESS_FLOOR, "unspecified"},
        {"0.1.2.3", ADDRESS_FLOOR, "unspecified"},
        {"::", ADDRESS_FLOOR, "unspecified"},
        {"::1", ADDRESS_FLOOR, "loopback"},
        {"127.0.0.53", ADDRESS_FLOOR, "loopback"},
        {"169.254.169.254", ADDRESS_FLOOR, "link-local"},
        {"fe80::1", ADDRESS_FLOOR, "link-local"},
        {"febf::1", ADDRESS_FLOOR, "link-local"},
        {"224.0.0.1", ADDRESS_FLOOR, "multicast"},
        {"239.255.255.255", ADDRESS_FLOOR, "multicast"},
        {"ff02::1", ADDRESS_FLOOR, "multicast"},
        {"255.255.255.255", ADDRESS_FLOOR, "broadcast"},
        {"100.100.100.200", ADDRESS_FLOOR, "metadata"},
        {"168.63.129.16", ADDRESS_FLOOR, "metadata"},
        {"192.0.0.192", ADDRESS_FLOOR, "metadata"},
        {"fd00:ec2::254", ADDRESS_FLOOR, "metadata"},
        {"fd20:ce::254", ADDRESS_FLOOR, "metadata"},
        {"fd00:c1::a9fe:a9fe", ADDRESS_FLOOR, "metadata"},
        {"fd00:42::42", ADDRESS_FLOOR, "metadata"},
        {"198.51.100.9", ADDRESS_FLOOR, "this-host"},
        {"::ffff:198.51.100.9", ADDRESS_FLOOR, "this-host"},
        {"64:ff9b::198.51.100.9", ADDRESS_FLOOR, "this-host"},
        {"::ffff:127.0.0.1", ADDRESS_FLOOR, "loopback"},
        {"::127.0.0.1", ADDRESS_FLOOR, "loopback"},
        {"::ffff:0:127.0.0.1", ADDRESS_FLOOR, "loopback"},
        {"64:ff9b::169.254.169.254", ADDRESS_FLOOR, "link-local"},
        {"2002:7f00:1::", ADDRESS_FLOOR, "loopback"},
        {"10.0.0.1", ADDRESS_PRIVATE, "private"},
        {"172.16.0.1", ADDRESS_PRIVATE, "private"},
        {"172.31.255.255", ADDRESS_PRIVATE, "private"},
        {"192.168.1.1", ADDRESS_PRIVATE, "private"},
        {"100.64.0.1", ADDRESS_PRIVATE, "carrier-nat"},
        {"100.127.255.255", ADDRESS_PRIVATE, "carrier-nat"},
        {"192.0.0.1", ADDRESS_PRIVATE, "protocol-assignment"},
        {"192.0.2.7", ADDRESS_PRIVATE, "documentation"},
        {"198.18.0.1", ADDRESS_PRIVATE, "benchmark"},
        {"198.19.255.255", ADDRESS_PRIVATE, "benchmark"},
        {"198.51.100.1", ADDRESS_PRIVATE, "documentation"},
        {"203.0.113.1", ADDRESS_PRIVATE, "documentation"},
        {"240.0.0.1", ADDRESS_PRIVATE, "reserved"},
        {"fd12::1", ADDRESS_PRIVATE, "unique-local"},
        {"fc00::1", ADDRESS_PRIVATE, "unique-local"},
        {"2001:db8::1", ADDRESS_PRIVATE, "documentation"},
        {"2002:808:808::1", ADDRESS_PRIVATE, "6to4"},
        {"64:ff9b:1::1", ADDRESS_PRIVATE, "local-nat64"},
        {"64:ff9b::10.0.0.1", ADDRESS_PRIVATE, "private"},
        {"8.8.8.8", ADDRESS_ALLOW, "public"},
        {"172.32.0.1", ADDRESS_ALLOW, "public"},
        {"100.128.0.1", ADDRESS_ALLOW, "public"},
        {"2606:4700::1111", ADDRESS_ALLOW, "public"},
        {"64:ff9b::8.8.8.8", ADDRESS_ALLOW, "public"},
    };
    for (size_t i = 0; i < countof(cases); i++) {
        enum address_class class;
        if (check(cases[i].text, NULL, &class) != cases[i].verdict)
            fail_msg("%s: another verdict than expected", cases[i].text);
        assert_string_equal(address_class_name(class), cases[i].class);
        /* What the guest is told names no address. */
        assert_null(strpbrk(address_class_name(class), ".:"));
    }
}

static void d05_private_opens_its_range_alone(void **state)
{
    (void)state;
    assert_int_equal(check("10.0.5.7", "10.0.5.0/24", NULL), ADDRESS_ALLOW);
    assert_int_equal(check("10.0.6.7", "10.0.5.0/24", NULL), ADDRESS_PRIVATE);
    assert_int_equal(check("127.0.0.1", "10.0.5.0/24", NULL), ADDRESS_FLOOR);
    assert_int_equal(check("::ffff:10.0.5.7", "10.0.5.0/24", NULL), ADDRESS_ALLOW);
    assert_int_equal(check("64:ff9b::10.0.5.7", "10.0.5.0/24", NULL), ADDRESS_ALLOW);
    /* 6to4 is private itself: the range of what is inside of it does not do. */
    assert_int_equal(check("2002:a00:507::1", "10.0.5.0/24", NULL), ADDRESS_PRIVATE);
    assert_int_equal(check("fd00:ec2::254", "[fd00::]/8", NULL), ADDRESS_FLOOR);
    assert_int_equal(check("fd01::1", "[fd00::]/8", NULL), ADDRESS_ALLOW);
    assert_int_equal(check("198.51.100.9", "198.51.100.0/24", NULL), ADDRESS_FLOOR);
}

static void ranges_are_exact(void **state)
{
    (void)state;
    struct cidr cidr;
    static const char *const refused[] = {"10.0.0.1/8", "10.0.0.0/33", "10.0.0.0/",    "10.0.0.0/08",
                                          "10.0.0.0",   "fd00::/8",    "[fd00::]/129", "[10.0.0.0]/8",
                                          "/8",         "10/8"};
    for (size_t i = 0; i < countof(refused); i++)
        assert_int_equal(cidr_parse(refused[i], strlen(refused[i]), &cidr, NULL), -ERROR_INVALID);
    static const char *const good[] = {"10.0.0.0/8", "0.0.0.0/0", "[fd00::]/8", "[::]/0", "192.0.2.1/32"};
    for (size_t i = 0; i < countof(good); i++) {
        char text[CIDR_FORMAT_MAX];
        assert_ok(cidr_parse(good[i], strlen(good[i]), &cidr, &err));
        assert_string_equal(cidr_format(&cidr, text), good[i]);
    }
    static const char *const useless[] = {"0.0.0.0/0", "127.0.0.0/8",     "8.8.8.0/24",    "10.0.0.0/7",
                                          "[::]/0",    "[fd00:ec2::]/32", "169.254.0.0/16"};
    for (size_t i = 0; i < countof(useless); i++) {
        assert_ok(cidr_parse(useless[i], strlen(useless[i]), &cidr, &err));
        assert_int_equal(cidr_check_private(&cidr, NULL), -ERROR_INVALID);
    }
    assert_ok(cidr_parse("10.0.5.0/24", 11, &cidr, &err));
    assert_ok(cidr_check_private(&cidr, &err));
}

static void assert_display(const char *name, const char *decoded, enum host_warning warning)
{
    struct host host;
    struct host_display display;
    assert_ok(host_parse(name, strlen(name), HOST_RULE, &host, &err));
    host_display_init(&display, &host);
    assert_string_equal(display.text, host.text);
    if (decoded)
        assert_string_equal(display.decoded, decoded);
    else
        assert_null(display.decoded);
    assert_int_equal(display.warning, warning);
    host_display_finish(&display);
}

static void a03_look_alikes_are_said(void **state)
{
    (void)state;
    assert_display("g\xd1\x96thub.com", "g\xd1\x96thub.com", HOST_MIXED_SCRIPTS);
    assert_display("\xd0\xb0\xd1\x80\xd1\x80\xd3\x8f\xd0\xb5.com",
                   "\xd0\xb0\xd1\x80\xd1\x80\xd3\x8f\xd0\xb5.com", HOST_LOOKALIKE);
    assert_display("b\xc3\xbc"
                   "cher.test",
                   "b\xc3\xbc"
                   "cher.test",
                   HOST_PLAIN);
    assert_display("\xe6\x97\xa5\xe6\x9c\xac\xe8\xaa\x9e"
                   "a.test",
                   "\xe6\x97\xa5\xe6\x9c\xac\xe8\xaa\x9e"
                   "a.test",
                   HOST_PLAIN);
    assert_display("\xd0\xbf\xd0\xbe\xd1\x87\xd1\x82\xd0\xb0.test",
                   "\xd0\xbf\xd0\xbe\xd1\x87\xd1\x82\xd0\xb0.test", HOST_PLAIN);
    assert_display("github.com", NULL, HOST_PLAIN);
    assert_non_null(host_warning_words(HOST_MIXED_SCRIPTS));
    assert_null(host_warning_words(HOST_PLAIN));
    struct host host;
    struct host_display display;
    assert_ok(host_parse("a.b.github.io", 13, HOST_REQUEST, &host, &err));
    host_display_init(&display, &host);
    assert_string_equal(display.registrable, "b.github.io");
    host_display_finish(&display);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(n03_a_nul_ends_nothing),
        cmocka_unit_test(n04_what_names_do_not_have),
        cmocka_unit_test(n05_case_and_one_dot),
        cmocka_unit_test(lengths_have_limits),
        cmocka_unit_test(n07_a_labels_round_trip),
        cmocka_unit_test(n08_what_ends_like_an_address_is_one),
        cmocka_unit_test(n10_ipv6_in_brackets_without_a_zone),
        cmocka_unit_test(n15_one_colon),
        cmocka_unit_test(suffixes_end_at_labels),
        cmocka_unit_test(names_of_the_floor),
        cmocka_unit_test(d04_addresses_that_are_never_or_not_by_themselves),
        cmocka_unit_test(d05_private_opens_its_range_alone),
        cmocka_unit_test(ranges_are_exact),
        cmocka_unit_test(a03_look_alikes_are_said),
    };
    alarm(60);
    return cmocka_run_group_tests_name("policy host", tests, NULL, NULL);
}
