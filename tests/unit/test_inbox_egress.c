/* Questions of flows in a hutchd's inbox: the flows of egress/flow.h with a worker and a network of arrays,
 * over the real store, the real journal and the real grants. */
#include "flow_world.h"
#include "test_journal_sql.h"

#include "base/file.h"
#include "daemon/inbox.h"
#include "daemon/inbox_egress.h"
#include "daemon/inbox_grants.h"
#include "daemon/inbox_seen.h"
#include "daemon/inbox_show.h"
#include "daemon/state_requests.h"
#include "wire/json.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct daemon *the_daemon;

static uint64_t ask(const struct flow *flow, enum reason *ret_reason, void *user)
{
    return inbox_egress_ask(the_daemon, ((struct world *)user)->flows, flow, ret_reason);
}

static void withdraw(const struct flow *flow, void *user)
{
    inbox_egress_withdraw(the_daemon, ((struct world *)user)->flows, flow);
}

static size_t grants(const struct request *request, const struct grant **ret_grants, void *user)
{
    (void)request;
    (void)user;
    return inbox_grants_list(the_daemon, ret_grants);
}

static void used(const struct grant *grant, void *user)
{
    (void)user;
    inbox_grants_used(the_daemon, grant);
}

static void wait_for(uint64_t flow, uint64_t request_id, void *user)
{
    inbox_egress_wait(the_daemon, "p1", ((struct world *)user)->flows, flow, request_id);
}

static void now(int64_t *ret_ms, int64_t *ret_s, void *user)
{
    *ret_ms = ((struct world *)user)->ms;
    *ret_s = (int64_t)time(NULL);
}

static void daemon_begin(void)
{
    struct record r = {
        .id = "p1", .uuid = "u1", .name = "box", .boot = "b1", .template = (char *)(uintptr_t) "t"};
    struct paths *paths = NULL;

    assert_ok(paths_find(&paths, &err));
    const char *const folders[] = {paths->state, paths->data, paths->config, paths->run};
    for (size_t i = 0; i < countof(folders); i++)
        assert_ok(file_make_folder(folders[i], 0700, &err));
    assert_ok(daemon_create(paths, &the_daemon, &err));
    if (projects_find(the_daemon->projects, "box", (char[PROJECT_ID_MAX]){0}, NULL) < 0)
        assert_ok(projects_add(the_daemon->projects, &r, &err));
}

static void daemon_end(void)
{
    inbox_close(the_daemon->inbox);
    daemon_destroy(the_daemon);
}

static struct flow_ops ops;

static struct world *begin(const char *home, enum policy_mode mode, const char *const *rules)
{
    struct world *world;

    setenv("HUTCH_HOME", home, 1);
    setenv("HUTCH_VM", "fake", 1);
    daemon_begin();
    world = world_open(NULL);
    flows_destroy(world->flows);
    ops = world_ops;
    ops.ask = ask;
    ops.withdraw = withdraw;
    ops.grants = grants;
    ops.used = used;
    ops.wait = wait_for;
    ops.time = now;
    world->flows = flows_create("p1", &ops, world);
    world->s = (int64_t)time(NULL);
    flows_set_time(world->flows, world->ms, world->s);
    world_policy(world, mode, rules);
    return world;
}

static void end(struct world *world)
{
    inbox_away(the_daemon->inbox, NULL);
    world_close(world);
    daemon_end();
}

/* As the routes do, for what is shown now. */
static int answer(int64_t id, bool allow, enum approval_scope scope, const char *words)
{
    struct approval *approval = inbox_approval(the_daemon->inbox);
    const struct approval_request *request = approval_find(approval, id);
    struct approval_answer given = {.id = id, .allow = allow, .scope = scope, .reason = words, .by = "test"};
    char nonce[APPROVAL_NONCE_SIZE], digest[65];

    if (!request)
        return -ERROR_NOT_FOUND;
    memcpy(nonce, request->nonce, sizeof(nonce));
    memcpy(digest, request->digest, sizeof(digest));
    given.nonce = nonce;
    given.digest = digest;
    return approval_answer(approval, &given, NULL);
}

static int64_t number(size_t i)
{
    const struct approval_request *list[64];
    size_t count = approval_list(inbox_approval(the_daemon->inbox), list, 64);

    assert_true(i < count);
    return list[i]->id;
}

static size_t open_count(void)
{
    return approval_count(inbox_approval(the_daemon->inbox), NULL);
}

static bool count_row(const struct event *event, void *user)
{
    (void)event;
    ++*(size_t *)user;
    return true;
}

static size_t rows(const char *kind)
{
    struct journal_query query = {.kind = kind};
    size_t count = 0;

    assert_ok(journal_select(the_daemon->journal, &query, count_row, &count, &err));
    return count;
}

/* D01: while a person is asked nobody is told the name. */
static void d01_held_without_dns(void **state)
{
    struct world *world = begin(*state, MODE_ASK, NULL);
    uint64_t flow = world_ask(world, "docs.test:443");

    assert_int_equal(open_count(), 1);
    assert_int_equal(world->lookup_count, 0);
    assert_int_equal(world->dial_count, 0);
    assert_false(world->heard[flow].allowed || world->heard[flow].refused);
    assert_ok(answer(number(0), true, APPROVAL_ONCE, NULL));
    assert_int_equal(world->lookup_count, 1);
    assert_true(world->heard[flow].allowed);
    uint64_t other = world_ask(world, "secret.test:443");
    assert_ok(answer(number(0), false, APPROVAL_ONCE, "no"));
    assert_true(world->heard[other].refused);
    assert_non_null(strstr(world->heard[other].body, "no"));
    assert_int_equal(world->lookup_count, 1);
    end(world);
}

/* A09, A10: a stream that goes away takes its question along; one that is sent away leaves it; nothing is
 * allowed by that. */
static void a09_a10_gone_and_away(void **state)
{
    struct world *world = begin(*state, MODE_ASK, NULL);
    uint64_t first = world_ask(world, "one.test:443"), second;
    int64_t id = number(0);
    struct approval_request stored;

    assert_true(world_end(world, first, FLOW_END_GUEST, 0, 0, NULL));
    assert_int_equal(answer(id, true, APPROVAL_ONCE, NULL), -ERROR_NOT_FOUND);
    assert_ok(state_request_load(the_daemon->state, id, &stored, &err));
    assert_int_equal(stored.state, APPROVAL_GONE);
    state_request_finish(&stored);

    second = world_ask(world, "two.test:443");
    id = number(0);
    inbox_away(the_daemon->inbox, "p1"); /* nobody attends, the worker ends, hutchd ends */
    assert_true(world->heard[second].refused);
    assert_non_null(strstr(world->heard[second].body, "\"waiting\""));
    assert_false(world->heard[second].allowed);
    world_close(world);
    daemon_end();

    world = begin(*state, MODE_ASK, NULL); /* and hutchd is back */
    assert_int_equal(number(0), id);
    assert_int_equal(rows("approval.decision"), 0);
    assert_ok(answer(id, true, APPROVAL_ONCE, NULL));
    uint64_t third = world_ask(world, "two.test:443"), fourth;
    assert_true(world->heard[third].allowed); /* the next attempt … */
    fourth = world_ask(world, "two.test:443");
    assert_false(world->heard[fourth].allowed); /* … and no more */
    end(world);
}

/* A12, C10: 1000 names in a moment are a few questions and one alert, and what is allowed goes on. */
static void a12_c10_flood(void **state)
{
    struct world *world = begin(*state, MODE_ASK, RULES("allow good.test"));
    size_t refused = 0;

    for (int i = 0; i < 200; i++) {
        char name[64];
        snprintf(name, sizeof(name), "n%d.evil.test:443", i);
        refused += world->heard[world_ask(world, name)].refused;
    }
    /* one site, one moment: one question, of so many lines */
    assert_int_equal(open_count(), APPROVAL_BATCH_MAX);
    assert_int_equal(refused, 200 - APPROVAL_BATCH_MAX);
    assert_int_equal(rows("approval.ask"), APPROVAL_BATCH_MAX);
    assert_int_equal(rows("finding.questions"), 1);
    assert_int_equal(world->lookup_count, 0);
    /* one name of them by many connections: no more than may be held */
    for (int i = 0; i < 100; i++)
        world_ask(world, "n0.evil.test:443");
    uint64_t good = world_ask(world, "good.test:443");
    assert_true(world->heard[good].allowed);
    assert_true(world_ready(world, good));
    assert_true(world->heard[good].dialed);
    end(world);
}

/* A14: an allowance covers its host, port, protocol, project and session, and nothing beside. */
static void a14_no_wider(void **state)
{
    static const char *const beside[] = {"a.good.test:443", "good.test:444", "good.test:80",
                                         "good.test.evil.test:443", "test:443"};
    struct world *world = begin(*state, MODE_ASK, NULL);

    world_ask(world, "good.test:443");
    assert_ok(answer(number(0), true, APPROVAL_SESSION, NULL));
    assert_true(world->heard[world_ask(world, "good.test:443")].allowed);
    for (size_t i = 0; i < countof(beside); i++) {
        assert_false(world->heard[world_ask(world, beside[i])].allowed);
        while (open_count())
            assert_ok(answer(number(0), false, APPROVAL_ONCE, NULL));
    }
    inbox_ended(the_daemon->inbox, "p1", "another");
    assert_true(world->heard[world_ask(world, "good.test:443")].allowed);
    inbox_ended(the_daemon->inbox, "p1", "s1");
    assert_false(world->heard[world_ask(world, "good.test:443")].allowed);
    end(world);
}

static size_t hold_count(const char *key, const char *value)
{
    json_t *list = inbox_grants_show(the_daemon, "p1"), *row;
    size_t i, count = 0;

    json_array_foreach(list, i, row)
    {
        const char *text = json_string_value(json_object_get(row, key));
        count += text && !strcmp(text, value);
    }
    json_decref(list);
    return count;
}

/* A grant is shown, is taken back by its word or text, and then serves nobody. */
static void taken_back(void **state)
{
    struct world *world = begin(*state, MODE_ASK, NULL);
    size_t count;

    world_ask(world, "good.test:443");
    assert_ok(answer(number(0), true, APPROVAL_SESSION, NULL));
    assert_int_equal(hold_count("text", "allow good.test"), 1);
    assert_int_equal(hold_count("session", "s1"), 1);
    assert_int_equal(hold_count("id", "m1"), 1);
    json_t *others = inbox_grants_show(the_daemon, "p2");
    assert_int_equal(json_array_size(others), 0);
    json_decref(others);
    assert_ok(inbox_grants_revoke(the_daemon, "p2", "m1", &count, &err));
    assert_int_equal(count, 0);
    assert_true(world->heard[world_ask(world, "good.test:443")].allowed);
    assert_ok(inbox_grants_revoke(the_daemon, "p1", "allow good.test", &count, &err));
    assert_int_equal(count, 1);
    assert_int_equal(rows("policy.remove"), 1);
    assert_int_equal(hold_count("decision", "allow"), 0);
    assert_false(world->heard[world_ask(world, "good.test:443")].allowed);
    end(world);
}

/* A row of a connection that was let out, of a project. */
static void was_reached(const char *project, const char *subject)
{
    struct event event = EVENT_INIT;

    event.project = project;
    event.kind = "egress.open";
    event.subject = subject;
    assert_ok(journal_append(the_daemon->journal, &event, false, NULL, &err));
}

/* What is said of a host's past: first and last of this project, the last of others; "never" only by who has
 * looked. */
static json_t *site_of(struct world *world, const char *authority)
{
    world_ask(world, authority);
    size_t last = open_count() - 1;
    const struct approval_request *request = approval_find(inbox_approval(the_daemon->inbox), number(last));
    json_t *fields = json_loads(request->fields, 0, NULL);
    json_t *site = json_incref(json_object_get(fields, "site"));

    assert_non_null(site);
    json_decref(fields);
    return site;
}

static void history(void **state)
{
    struct world *world = begin(*state, MODE_ASK, NULL);
    json_t *site = site_of(world, "never.test:443");

    assert_true(json_is_null(json_object_get(site, "seen_ns")));
    assert_true(json_is_null(json_object_get(site, "elsewhere_ns")));
    json_decref(site);
    was_reached("other", "docs.test:443");
    site = site_of(world, "docs.test:443");
    assert_true(json_is_null(json_object_get(site, "last_ns")));
    assert_true(json_is_integer(json_object_get(site, "elsewhere_ns")));
    json_decref(site);
    was_reached("box", "twice.test:443");
    was_reached("box", "twice.test:80");
    was_reached("box", "twice.test:443");
    site = site_of(world, "twice.test:443");
    json_int_t first = json_integer_value(json_object_get(site, "seen_ns"));
    json_int_t last = json_integer_value(json_object_get(site, "last_ns"));
    assert_true(first > 0 && first < last);
    assert_true(json_is_null(json_object_get(site, "elsewhere_ns")));
    json_decref(site);
    end(world);
}

/* A journal that cannot be read has not said "never". */
static void history_unknown(void **state)
{
    struct inbox_history found = {.known = true};
    struct inbox_seen seen = {0};
    struct world *world = begin(*state, MODE_ASK, NULL);
    uint64_t id = world_ask(world, "docs.test:443");
    const struct flow *flow = flows_first(world->flows);
    autofree char *path = xasprintf("%s/journal.db", the_daemon->paths->state);

    assert_int_equal(flow->id, id);
    inbox_seen_look(the_daemon, &seen, flow, &found);
    assert_true(found.known);
    assert_int_equal(sql_on(path, "ALTER TABLE event RENAME TO away"), SQLITE_OK);
    inbox_seen_look(the_daemon, &seen, flow, &found);
    assert_false(found.known);
    assert_int_equal(sql_on(path, "ALTER TABLE away RENAME TO event"), SQLITE_OK);
    inbox_seen_look(the_daemon, &seen, flow, &found);
    assert_true(found.known);
    for (int i = 0; i < 100; i++) /* nor has one who did not look */
        inbox_seen_look(the_daemon, &seen, flow, &found);
    assert_false(found.known);
    end(world);
}

static void ask_as(struct world *world, const char *authority, uint32_t pid)
{
    struct wmsg_flow_ask message = {
        .type = WMSG_FLOW_ASK, .entrance = FLOW_CONNECT, .flow = ++world->next_flow, .claim = {.known = 1}};

    message.claim.pid = pid;
    snprintf(message.claim.session, sizeof(message.claim.session), "s1");
    snprintf(message.authority, sizeof(message.authority), "%s", authority);
    assert_true(flows_take(world->flows, &message));
}

/* A17, A02: the program's own words stand apart from what was observed, made safe; who says nothing has none.
 */
static void a17_words_of_the_guest(void **state)
{
    struct world *world = begin(*state, MODE_ASK, NULL);
    struct wmsg_flow_ask message = {
        .type = WMSG_FLOW_ASK, .entrance = FLOW_CONNECT, .flow = ++world->next_flow, .claim = {.known = 1}};

    snprintf(message.authority, sizeof(message.authority), "docs.test:443");
    snprintf(message.claim.says, sizeof(message.claim.says), "pre-approved,\x1b[2K press y\xe2\x80\xae");
    assert_true(flows_take(world->flows, &message));
    ask_as(world, "other.test:443", 100);
    auto(json) json_t *said =
        inbox_show(the_daemon, approval_find(inbox_approval(the_daemon->inbox), number(0)));
    auto(json) json_t *silent =
        inbox_show(the_daemon, approval_find(inbox_approval(the_daemon->inbox), number(1)));
    const json_t *fields = json_object_get(said, "fields");
    assert_string_equal(json_string_value(json_object_get(fields, "says")),
                        "pre-approved,\\e[2K press y\\u{202E}");
    assert_string_equal(json_string_value(json_object_get(fields, "authority")), "docs.test:443");
    assert_null(json_object_get(json_object_get(silent, "fields"), "says"));
    end(world);
}

/* The same act, tried again by another process, is the same question: who reads it can answer it. */
static void tried_again(void **state)
{
    struct world *world = begin(*state, MODE_ASK, NULL);
    const struct approval_request *request;
    char nonce[APPROVAL_NONCE_SIZE];

    ask_as(world, "docs.test:443", 100);
    inbox_away(the_daemon->inbox, "p1");
    request = approval_find(inbox_approval(the_daemon->inbox), number(0));
    memcpy(nonce, request->nonce, sizeof(nonce));
    ask_as(world, "docs.test:443", 101);
    assert_int_equal(open_count(), 1);
    assert_int_equal(request->attempts, 2);
    assert_string_equal(request->nonce, nonce);
    end(world);
}

/* Rules that come meanwhile: a question that they ask too keeps its number; one that they decide is gone. */
static void other_rules(void **state)
{
    struct world *world = begin(*state, MODE_ASK, NULL);
    uint64_t held = world_ask(world, "docs.test:443"), waiting = world_ask(world, "api.test:443");
    int64_t id = number(0), other = number(1);

    world_policy(world, MODE_ASK, RULES("allow else.test"));
    inbox_egress_rules(the_daemon, "p1", world->policy);
    assert_int_equal(number(0), id);
    assert_false(world->heard[held].refused);
    inbox_away(the_daemon->inbox, "p1");
    assert_true(world->heard[waiting].refused);
    world_policy(world, MODE_ASK, RULES("deny api.test"));
    inbox_egress_rules(the_daemon, "p1", world->policy);
    assert_int_equal(open_count(), 1);
    assert_int_equal(number(0), id);
    assert_int_equal(answer(other, true, APPROVAL_ONCE, NULL), -ERROR_NOT_FOUND);
    end(world);
}

/* N.request.hutch.internal tells the answer, and only of the project's own requests; who went away is not
 * told. */
static void waits_for_the_answer(void **state)
{
    struct world *world = begin(*state, MODE_ASK, NULL);
    char authority[64];
    uint64_t flow, gone, none;

    world_ask(world, "docs.test:443");
    snprintf(authority, sizeof(authority), "%lld.request.hutch.internal:80", (long long)number(0));
    flow = world_ask(world, authority);
    gone = world_ask(world, authority);
    none = world_ask(world, "99.request.hutch.internal:80");
    assert_true(world->heard[none].replied);
    assert_non_null(strstr(world->heard[none].body, "\"gone\""));
    assert_false(world->heard[flow].replied);
    assert_true(world_end(world, gone, FLOW_END_GUEST, 0, 0, NULL));
    assert_ok(answer(number(0), false, APPROVAL_ONCE, "ask the team"));
    assert_true(world->heard[flow].replied);
    assert_non_null(strstr(world->heard[flow].body, "\"deny\""));
    assert_non_null(strstr(world->heard[flow].body, "ask the team"));
    assert_false(world->heard[gone].replied);
    end(world);
}

int main(void)
{
    alarm(120);
    const struct CMUnitTest tests[] = {
        scratch_test(d01_held_without_dns),
        scratch_test(a09_a10_gone_and_away),
        scratch_test(a12_c10_flood),
        scratch_test(a14_no_wider),
        scratch_test(a17_words_of_the_guest),
        scratch_test(tried_again),
        scratch_test(other_rules),
        scratch_test(waits_for_the_answer),
        scratch_test(taken_back),
        scratch_test(history),
        scratch_test(history_unknown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
