/* The language of rules: what it takes, what it refuses and where, and that its canonical text is the same
 * rule (N11, N12, N13, N15). */
#include "test_base_scratch.h"

#include "policy/request.h"
#include "policy/rule.h"
#include "policy/suffix.h"

static struct rule *parse(const char *text)
{
    struct rule *rule = NULL;
    auto(error) struct error *err = NULL;
    if (rule_parse(text, strlen(text), NULL, &rule, &err) < 0)
        fail_msg("\"%s\": %s", text, err->message);
    return rule;
}

/* Refused with the message's beginning (its column) and words of the hint. */
static void assert_refused(const char *text, const char *message, const char *hint)
{
    struct rule *rule = NULL;
    auto(error) struct error *err = NULL;
    if (rule_parse(text, strlen(text), NULL, &rule, &err) != -ERROR_INVALID)
        fail_msg("\"%s\" was taken", text);
    assert_null(rule);
    if (strncmp(err->message, message, strlen(message)) != 0)
        fail_msg("\"%s\" instead of \"%s\"", err->message, message);
    if (!strstr(err->hint ? err->hint : "", hint))
        fail_msg("the hint \"%s\" does not say \"%s\"", err->hint ? err->hint : "", hint);
}

static bool matches(const char *text, const char *authority)
{
    auto(rule) struct rule *rule = parse(text);
    struct request request;
    assert_ok(request_parse(authority, strlen(authority), 443, &request, &err));
    return rule_matches(rule, &request);
}

static void canonical_text_is_the_same_rule(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"allow docs.rs", NULL},
        {"allow docs.rs:443", "allow docs.rs"},
        {"allow  docs.rs   proto=tls", "allow docs.rs"},
        {"ask DOCS.rs.", "ask docs.rs"},
        {"allow docs.rs:80", NULL},
        {"allow docs.rs:443 proto=http", "allow docs.rs proto=http"},
        {"allow docs.rs:{443}", "allow docs.rs"},
        {"allow docs.rs:{8443,80} proto=http", "allow docs.rs:{80,8443} proto=http"},
        {"allow docs.rs:8000-8080 proto=tcp", NULL},
        {"allow *.debian.org:80", NULL},
        {"allow **.debian.org", NULL},
        {"deny **", NULL},
        {"deny *", NULL},
        {"deny evil.test", NULL},
        {"deny evil.test:443", NULL},
        {"deny *.com", NULL},
        {"deny 10.0.0.0/8", NULL},
        {"allow 192.0.2.1:22 proto=tcp private=192.0.2.1/32", NULL},
        {"allow [2001:DB8::1]:443 private=[2001:db8::]/32",
         "allow [2001:db8::1]:443 private=[2001:db8::]/32"},
        {"allow [2001:db8::]/32:443", NULL},
        {"allow [::ffff:192.0.2.1]:443", "allow 192.0.2.1:443"},
        {"allow a.test:80 paths=/x/**,/y methods=HEAD,GET",
         "allow a.test:80 methods=GET,HEAD paths=/x/**,/y"},
        {"allow a.test:80 upgrade=websocket", NULL},
        {"allow a.test ech=deny up=64M/h uploads=yes", NULL},
        {"allow a.test up=65536", "allow a.test up=64K"},
        {"allow a.test up=1025", NULL},
        {"allow a.test expires=2027-03-01", NULL},
        {"allow a.test expires=2027-03-01T12:00:00Z", NULL},
        {"allow a.test expires=2027-03-02T00:00:00Z", "allow a.test expires=2027-03-01"},
        {"allow a.test note=for the docs, proto=tcp too  ", "allow a.test note=for the docs, proto=tcp too"},
        {"allow b\xc3\xbc"
         "cher.test",
         "allow xn--bcher-kva.test"},
        {"allow *.b\xc3\xbc"
         "cher.test",
         "allow *.xn--bcher-kva.test"},
    };
    for (size_t i = 0; i < countof(cases); i++) {
        auto(rule) struct rule *rule = parse(cases[i][0]);
        const char *want = cases[i][1] ? cases[i][1] : cases[i][0];
        assert_string_equal(rule->text, want);
        auto(rule) struct rule *again = parse(rule->text);
        assert_string_equal(again->text, want);
        assert_string_equal(again->id, rule->id);
        assert_int_equal(rule_specificity(again), rule_specificity(rule));
        assert_string_equal(rule_item(rule), want + (want[0] == 'd' ? 5 : want[1] == 'l' ? 6 : 4));
    }
    auto(rule) struct rule *rule = parse("allow *.b\xc3\xbc"
                                         "cher.test:80");
    assert_string_equal(rule->display, "*.b\xc3\xbc"
                                       "cher.test");
    autofree char *target = rule_target(rule);
    assert_string_equal(target, "*.xn--bcher-kva.test:80");
}

static void errors_have_a_column_and_a_way_out(void **state)
{
    (void)state;
    assert_refused("", "column 1: a rule begins", "allow HOST");
    assert_refused("alow docs.rs", "column 1: a rule begins", "\"allow\"");
    assert_refused("allow", "column 6: the host is missing", "docs.rs");
    assert_refused("allow docs.rs:", "column 15: \"\" is no port", "{80,443}");
    assert_refused("allow docs.rs:0443", "column 15: \"0443\" is no port", "443");
    assert_refused("allow docs.rs:70000", "column 15: \"70000\" is no port", "443");
    assert_refused("allow docs.rs:{80,", "column 15: the \"}\"", "without blanks");
    assert_refused("allow docs.rs:{80,80} proto=http", "column 19: port 80 stands there twice", "remove");
    assert_refused("allow docs.rs:90-80 proto=tcp", "column 15: ports 90-80", "first");
    assert_refused("allow docs.rs:22", "column 17: only 443", "proto=tcp");
    assert_refused("allow docs.rs:{80,443}", "column 23: only 443", "proto=");
    assert_refused("allow docs.rs protp=tcp", "column 15: a rule has no \"protp\"", "\"proto=\"");
    assert_refused("allow docs.rs proto=udp", "column 21: no protocol", "tls, http or tcp");
    assert_refused("allow docs.rs proto=tls proto=tls", "column 25: \"proto\" stands there twice", "remove");
    assert_refused("allow docs.rs garbage", "column 15: a rule has no \"garbage\"", "");
    assert_refused("allow docs.rs methods=GET", "column 26: methods, paths", "proto=http");
    assert_refused("allow docs.rs:80 methods=get", "column 26: no method \"get\"", "GET");
    assert_refused("allow docs.rs:80 methods=GET,", "column 30: no method \"\"", "GET");
    assert_refused("allow docs.rs:80 paths=x", "column 24: \"x\" is no path", "begins with /");
    assert_refused("allow docs.rs:80 paths=/a/../b", "column 24:", "..");
    assert_refused("allow docs.rs:80 paths=/a%2f", "column 24:", "lower-case");
    assert_refused("allow https://docs.rs/", "column 7: a rule takes no URL", "host alone");
    assert_refused("allow docs.rs\r", "column 14: a control character: U+000D", "");
    assert_refused("\xef\xbb\xbf"
                   "allow docs.rs",
                   "column 1: a control character: U+FEFF", "");
    assert_refused("allow docs.rs\tproto=tls", "column 14: a control character", "one space");
    assert_refused("allow d\xff.rs", "column 8: a byte that is not UTF-8", "");
    assert_refused("allow b\xc3\xbc"
                   "cher.test protp=x",
                   "column 19: a rule has no", "proto=");
    assert_refused("allow a.test private=0.0.0.0/0", "column 22: 0.0.0.0/0 is wider", "name the part");
    assert_refused("allow a.test private=127.0.0.0/8", "column 22: 127.0.0.0/8 is loopback", "");
    assert_refused("allow a.test private=10.0.0.1/8", "column 22: ", "10.0.0.0/8");
    assert_refused("allow a.test up=8Q", "column 17: \"8Q\" is no size", "8M/h");
    assert_refused("allow a.test expires=2027-02-30", "column 22: \"2027-02-30\" is no date", "2027-03-01");
    assert_refused("allow a.test expires=tomorrow", "column 22:", "");
    assert_refused("allow a.test ech=allow", "column 18: ", "");
    assert_refused("allow a.test note=", "column 19: a note has", "");
    assert_refused("deny a.test private=10.0.0.0/8", "column 31: a deny takes no", "remove");
    assert_refused("allow 192.0.2.1", "column 16: an address needs a port", ":22");
    assert_refused("allow *.192.0.2.1:22", "column 7: an address has no wildcard", "/24");
    assert_refused("allow 10.0.0.0/8", "column 17: an address needs a port", "");
    assert_refused("allow localhost:5432 proto=tcp", "column 7: no rule opens", "host-port");
    assert_refused("allow pg.hutch.internal:5432 proto=tcp", "column 7: ", "host-port");
    auto(error) struct error *err = NULL;
    struct rule_origin origin = {LAYER_USER, "rules.ini", 12, 5, UPLOADS_UNSAID};
    struct rule *rule = NULL;
    assert_int_equal(rule_parse("allow *.com", 11, &origin, &rule, &err), -ERROR_INVALID);
    assert_non_null(strstr(err->message, "rules.ini:12:11: "));
    auto(error) struct error *nul = NULL;
    assert_int_equal(rule_parse("allow a.test\0b", 14, NULL, &rule, &nul), -ERROR_INVALID);
    assert_non_null(strstr(nul->message, "column 13: a control character: U+0000"));
}

static void n11_no_port_is_443(void **state)
{
    (void)state;
    assert_true(matches("allow good.test", "good.test:443"));
    assert_false(matches("allow good.test", "good.test:9999"));
    assert_false(matches("allow good.test", "good.test:80"));
    assert_true(matches("deny good.test", "good.test:9999"));
    assert_false(matches("deny good.test:443", "good.test:9999"));
    assert_true(matches("allow good.test:8000-8080 proto=tcp", "good.test:8080"));
    assert_false(matches("allow good.test:8000-8080 proto=tcp", "good.test:8081"));
    assert_true(matches("allow good.test:{80,8080} proto=http", "good.test:8080"));
    assert_false(matches("allow good.test:{80,8080} proto=http", "good.test:443"));
}

static void n12_labels_of_wildcards(void **state)
{
    (void)state;
    assert_true(matches("allow *.good.test", "a.good.test"));
    assert_false(matches("allow *.good.test", "a.b.good.test"));
    assert_false(matches("allow *.good.test", "good.test"));
    assert_true(matches("allow **.good.test", "a.good.test"));
    assert_true(matches("allow **.good.test", "a.b.good.test"));
    assert_false(matches("allow **.good.test", "good.test"));
    assert_false(matches("allow **.good.test", "evilgood.test"));
    assert_false(matches("allow **.good.test", "good.test.evil.test"));
    assert_true(matches("deny **", "a.b"));
    assert_true(matches("deny *", "intranet"));
    assert_false(matches("deny *", "a.b"));
    assert_false(matches("deny **", "192.0.2.1"));
    assert_true(matches("deny 192.0.2.0/24", "192.0.2.1"));
    assert_false(matches("deny 192.0.2.0/24", "192.0.3.1"));
}

static void n13_nobody_owns_a_public_suffix(void **state)
{
    (void)state;
    static const char *const targets[] = {"*.com",
                                          "**.com",
                                          "**.github.io",
                                          "*.github.io",
                                          "*.s3.amazonaws.com",
                                          "*.blob.core.windows.net",
                                          "*.r2.dev",
                                          "**.co.uk",
                                          "*.test",
                                          "*",
                                          "**",
                                          "**.workers.dev"};
    for (size_t i = 0; i < countof(targets); i++) {
        autofree char *allow = xasprintf("allow %s", targets[i]), *ask = xasprintf("ask %s", targets[i]),
                      *deny = xasprintf("deny %s", targets[i]);
        assert_refused(allow, "column 7: ", "name the host");
        assert_refused(ask, "column 5: ", "name the host");
        auto(rule) struct rule *rule = parse(deny);
        assert_string_equal(rule->text, deny);
    }
    /* The suffix may also lie between the base and the host. */
    assert_true(matches("allow **.amazonaws.com", "ec2.amazonaws.com"));
    assert_false(matches("allow **.amazonaws.com", "evil.s3.amazonaws.com"));
    assert_true(matches("deny **.amazonaws.com", "evil.s3.amazonaws.com"));
    assert_true(suffix_is_public("github.io"));
    assert_false(suffix_is_public("github.com"));
}

static void n15_one_malformed_name(void **state)
{
    (void)state;
    assert_refused("allow evil.test:443.good.test", "column 17: \"443.good.test\" is no port", "");
    assert_refused("allow 2001:db8::1:443", "column 11: more than one colon", "brackets");
    assert_refused("allow a.*.test", "column 9: a wildcard stands", "");
    assert_refused("allow *good.test", "column 7: after the star", "");
    assert_refused("allow ***.good.test", "column 7: after the star", "");
}

static void paths_match_segments(void **state)
{
    (void)state;
    static const struct {
        const char *pattern, *path;
        bool match;
    } cases[] = {
        {"/a", "/a", true},
        {"/a", "/a/", false},
        {"/a/*", "/a/b", true},
        {"/a/*", "/a/b/c", false},
        {"/a/*", "/a/", true},
        {"/a/**", "/a/b/c", true},
        {"/a/**", "/a", false},
        {"/**", "/", true},
        {"/**", "/x/y", true},
        {"/*/b", "/a/b", true},
        {"/*/b", "/a/c/b", false},
        {"/**/b", "/a/c/b", true},
        {"/**/b", "/a/c/d", false},
        {"/a*c", "/abbc", true},
        {"/a*c", "/ab/c", false},
        {"/**x*y", "/a/x/xzy", true},
        {"/**x*y", "/a/x/y", false},
        {"/a**z", "/a/b/z", true},
        {"/v1/*/x/**/end", "/v1/q/x/a/b/end", true},
        {"/v1/*/x/**/end", "/v1/q/r/x/a/end", false},
    };
    for (size_t i = 0; i < countof(cases); i++)
        if (rule_path_matches(cases[i].pattern, cases[i].path) != cases[i].match)
            fail_msg("\"%s\" and \"%s\"", cases[i].pattern, cases[i].path);
}

static void heads_are_judged_when_they_are_there(void **state)
{
    (void)state;
    auto(rule) struct rule *allow = parse("allow a.test:80 methods=GET,HEAD paths=/pub/**");
    auto(rule) struct rule *deny = parse("deny a.test:80 proto=http methods=POST");
    struct request request;
    assert_ok(request_parse("a.test:80", 9, 0, &request, &err));
    assert_true(rule_matches(allow, &request));
    assert_false(rule_matches(deny, &request));
    request.proto = PROTO_HTTP;
    request.method = "GET";
    request.path = "/pub/x";
    assert_true(rule_matches(allow, &request));
    request.path = "/secret";
    assert_false(rule_matches(allow, &request));
    request.method = "POST";
    assert_true(rule_matches(deny, &request));
    request.proto = PROTO_TLS;
    assert_false(rule_matches(deny, &request));
}

static void an_expired_rule_matches_nothing(void **state)
{
    (void)state;
    auto(rule) struct rule *rule = parse("allow a.test expires=2027-03-01");
    struct request request;
    assert_ok(request_parse("a.test:443", 10, 0, &request, &err));
    request.now = 1803945599; /* 2027-03-01T23:59:59Z */
    assert_true(rule_matches(rule, &request));
    request.now++;
    assert_false(rule_matches(rule, &request));
}

static void order_of_specificity(void **state)
{
    (void)state;
    /* Each is more specific than the next. */
    static const char *const order[] = {
        "allow a.b.good.test:80 proto=tcp",
        "allow a.b.good.test:80 methods=GET paths=/a/b/**",
        "allow a.b.good.test:80 methods=GET",
        "allow a.b.good.test:{80,81} proto=http",
        "allow a.b.good.test:80-90 proto=http",
        "deny a.b.good.test",
        "allow good.test:80 proto=http methods=GET",
        "allow *.b.good.test",
        "allow *.good.test",
        "allow **.b.good.test",
        "allow **.good.test",
        "deny **",
        "allow 192.0.2.0/25:443",
        "allow 192.0.2.0/24:443",
    };
    for (size_t i = 0; i + 1 < countof(order); i++) {
        auto(rule) struct rule *more = parse(order[i]);
        auto(rule) struct rule *less = parse(order[i + 1]);
        if (rule_specificity(more) <= rule_specificity(less))
            fail_msg("\"%s\" is not above \"%s\"", order[i], order[i + 1]);
    }
}

static void what_is_missing_is_a_rule(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"docs.rs:443", "allow docs.rs"},
        {"docs.rs:80", "allow docs.rs:80"},
        {"git.test:22", "allow git.test:22 proto=tcp"},
        {"8.8.8.8:443", "allow 8.8.8.8:443"},
        {"10.0.0.1:22", "allow 10.0.0.1:22 proto=tcp private=10.0.0.1/32"},
        {"[2606:4700::1]:443", "allow [2606:4700::1]:443"},
    };
    for (size_t i = 0; i < countof(cases); i++) {
        struct request request;
        char text[REQUEST_RULE_MAX];
        assert_ok(request_parse(cases[i][0], strlen(cases[i][0]), 0, &request, &err));
        assert_string_equal(request_missing(&request, text), cases[i][1]);
        auto(rule) struct rule *rule = parse(text);
        assert_string_equal(rule->text, cases[i][1]);
        assert_true(rule_matches(rule, &request));
    }
}

static void a_mask_takes_out_its_target(void **state)
{
    (void)state;
    static const struct {
        const char *rule, *mask;
        bool about;
    } cases[] = {
        {"allow docs.rs", "deny docs.rs", true},
        {"allow docs.rs:80", "deny docs.rs", true},
        {"allow docs.rs uploads=yes", "deny DOCS.RS:443", true},
        {"allow docs.rs:80", "deny docs.rs:443", false},
        {"allow docs.rs:{80,443} proto=http", "deny docs.rs:{443,80}", true},
        {"allow *.docs.rs", "deny docs.rs", false},
        {"allow *.docs.rs", "deny *.docs.rs", true},
        {"allow **.docs.rs", "deny *.docs.rs", false},
        {"allow 192.0.2.0/24:443", "deny 192.0.2.0/24", true},
        {"allow 192.0.2.0/24:443", "deny 192.0.2.0/25", false},
    };
    for (size_t i = 0; i < countof(cases); i++) {
        auto(rule) struct rule *rule = parse(cases[i].rule);
        auto(rule) struct rule *mask = parse(cases[i].mask);
        if (rule_is_about(rule, mask) != cases[i].about)
            fail_msg("\"%s\" and \"%s\"", cases[i].rule, cases[i].mask);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(canonical_text_is_the_same_rule),
        cmocka_unit_test(errors_have_a_column_and_a_way_out),
        cmocka_unit_test(n11_no_port_is_443),
        cmocka_unit_test(n12_labels_of_wildcards),
        cmocka_unit_test(n13_nobody_owns_a_public_suffix),
        cmocka_unit_test(n15_one_malformed_name),
        cmocka_unit_test(paths_match_segments),
        cmocka_unit_test(heads_are_judged_when_they_are_there),
        cmocka_unit_test(an_expired_rule_matches_nothing),
        cmocka_unit_test(order_of_specificity),
        cmocka_unit_test(what_is_missing_is_a_rule),
        cmocka_unit_test(a_mask_takes_out_its_target),
    };
    alarm(60);
    return cmocka_run_group_tests_name("policy rule", tests, NULL, NULL);
}
