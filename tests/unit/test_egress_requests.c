/* HTTP in flows: what is read as HTTP, and each request judged by itself. */
#include "flow_world.h"

/* Reserved names come before the rules, and only with their port. */
/* A request in the form for proxies is read as HTTP wherever it goes: a server wants the form for servers. */
static void what_is_asked_of_a_proxy_is_http(void **state)
{
    static const char *const places[] = {"pg.hutch.internal:5432", "a.test:8080"};
    struct world *w = world_open(NULL);

    (void)state;
    world_policy(w, MODE_DENY, RULES("allow a.test:8080 proto=tcp"));
    for (size_t i = 0; i < countof(places); i++) {
        uint64_t flow = world_ask_by(w, places[i], FLOW_ABSOLUTE);

        assert_true(w->heard[flow].allowed);
        assert_int_equal(w->heard[flow].proto, FLOW_HTTP);
        flow = world_ask(w, places[i]);
        assert_true(w->heard[flow].allowed);
        assert_int_equal(w->heard[flow].proto, FLOW_TCP);
    }
    world_close(w);
}

/* Each request of an HTTP connection is decided by its own head. */
/* An answer for the next attempt is used up when the connection is allowed; its request is not asked again,
 * unless a rule is about such requests. */
static void an_answer_beforehand_is_of_the_request_too(void **state)
{
    static const struct {
        const char *rule;
        bool asked;
    } cases[] = {{NULL, false}, {"ask good.test:80", false}, {"ask good.test:80 proto=http paths=/a", true}};

    (void)state;
    for (size_t i = 0; i < countof(cases); i++) {
        struct world *w = world_open(NULL);
        struct wmsg_flow_request m = {.type = WMSG_FLOW_REQUEST, .number = 1, .method = "GET", .path = "/a"};
        struct request request;
        struct grant grant;

        world_policy(w, MODE_ASK, cases[i].rule ? RULES(cases[i].rule) : NULL);
        assert_ok(request_parse("good.test:80", 12, 0, &request, &err));
        request.project = "p1";
        request.now = w->s;
        assert_ok(grant_init(&request, SCOPE_DURATION, ~0u, false, 3600, &grant, &err));
        grant.id = 1;
        w->grants = &grant;
        w->grant_count = 1;
        m.flow = world_ask(w, "good.test:80");
        assert_true(w->heard[m.flow].allowed);
        w->grant_count = 0;
        assert_true(world_ready(w, m.flow));
        assert_true(flows_take(w->flows, &m));
        assert_int_equal(w->heard[m.flow].request_ok, !cases[i].asked);
        assert_int_equal(w->ask_count, cases[i].asked);
        world_close(w);
    }
}

static void http_requests_are_judged_each(void **state)
{
    struct world *w = world_open(NULL);
    struct wmsg_flow_request request = {
        .type = WMSG_FLOW_REQUEST, .number = 1, .method = "GET", .path = "/a/b"};
    struct wmsg_flow_response response = {.type = WMSG_FLOW_RESPONSE, .number = 1, .status = 200};

    (void)state;
    world_policy(w, MODE_DENY, RULES("allow good.test:80 proto=http methods=GET paths=/a/**"));
    request.flow = response.flow = world_ask(w, "good.test:80");
    struct heard *heard = &w->heard[request.flow];
    assert_true(heard->allowed);
    assert_int_equal(heard->proto, FLOW_HTTP);
    assert_true(world_ready(w, request.flow));
    assert_true(flows_take(w->flows, &request));
    assert_int_equal(heard->request_ok, 1);
    assert_true(flows_take(w->flows, &response));
    assert_int_equal(world_rows(w, FLOW_ROW_REQUEST), 1);
    request.number = 2;
    snprintf(request.method, sizeof(request.method), "POST");
    assert_true(flows_take(w->flows, &request));
    assert_int_equal(heard->request_refused, 1);
    request.number = 3;
    snprintf(request.method, sizeof(request.method), "GET");
    snprintf(request.path, sizeof(request.path), "/b");
    assert_true(flows_take(w->flows, &request));
    assert_int_equal(heard->request_refused, 2);
    assert_false(flows_take(w->flows, &request)); /* a number twice */
    world_close(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_asked_of_a_proxy_is_http),
        cmocka_unit_test(an_answer_beforehand_is_of_the_request_too),
        cmocka_unit_test(http_requests_are_judged_each),
    };
    return cmocka_run_group_tests_name("egress requests", tests, NULL, NULL);
}
