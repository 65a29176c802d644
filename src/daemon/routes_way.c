/* Routes of the way out: live flows, rules, `rule test`, host ports. */
#include "base/alloc.h"
#include "daemon/server.h"
#include "daemon/way.h"
#include "wire/json.h"

#include <string.h>

#define RULE_MAX    2000 /* bytes of a rule that is sent */
#define TARGET_MAX  300
#define SESSION_MAX 63
#define NAME_LEN    300 /* of what is read: conf says what is wrong with it */

/* The way of the request's project; NULL: the client has been told. */
static struct way *request_way(const struct request *request)
{
    auto(error) struct error *err = NULL;
    char id[PROJECT_ID_MAX];

    if (!request_project(request, id))
        return NULL;
    struct way *way = way_get(request->daemon, id);
    if (way)
        return way;
    error_set(&err, ERROR_NOT_FOUND, "the project was removed meanwhile");
    request_fail(request, err);
    return NULL;
}

/* Answers with the items of an array, a line each, and a last line (or NULL). Takes both over. */
static void reply_lines(const struct request *request, json_t *list, json_t *last)
{
    struct json_writer *writer = json_writer_create(request->stream, NULL, NULL);
    size_t i;
    json_t *item;

    json_array_foreach(list, i, item)
    {
        json_writer_line(writer, item);
    }
    if (last)
        json_writer_line(writer, last);
    json_writer_end(writer);
    json_decref(list);
    json_decref(last);
}

static void list_flows(const struct request *request, json_t *body)
{
    struct way *way = request_way(request);

    (void)body;
    if (way)
        reply_lines(request, way_flows(way), NULL);
}

static void list_rules(const struct request *request, json_t *body)
{
    struct way *way = request_way(request);
    autofree char *past = NULL;
    char id[PROJECT_ID_MAX];

    (void)body;
    if (!way || !request_project(request, id) || !request_query(request, "past", &past))
        return;
    ways_reload(request->daemon);
    json_t *result = json_pack("{s:s, s:s*, s:s*}", "mode", way_mode(request->daemon, id), "problem",
                               way_banner(way), "notice", way_notice(way));
    if (past && !strcmp(past, "1"))
        job_watch(way_rules_past(way, result), request->stream);
    else
        reply_lines(request, way_rules(way), json_pack("{s:o}", "result", result));
}

static void add_rule(const struct request *request, json_t *body)
{
    struct way *way = request_way(request);
    auto(error) struct error *err = NULL;
    auto(json) json_t *answer = NULL;
    const char *text = NULL;
    bool all = false;

    if (!way)
        return;
    if (json_get_string(body, "rule", RULE_MAX, &text, &err) == 0 &&
        json_opt_bool(body, "all", &all, &err) == 0)
        way_rule_add(way, text, all, &answer, &err);
    if (err)
        request_fail(request, err);
    else
        json_reply(request->stream, 201, answer);
}

static void remove_rule(const struct request *request, json_t *body)
{
    struct way *way = request_way(request);
    auto(error) struct error *err = NULL;
    auto(json) json_t *answer = json_object();
    autofree char *all = NULL;

    (void)body;
    if (!way || !request_query(request, "all", &all))
        return;
    if (way_rule_remove(way, request->args[1], all && !strcmp(all, "1"), &err) < 0)
        request_fail(request, err);
    else
        json_reply(request->stream, 200, answer);
}

/* The port of what has none is 443, as in a rule. */
static void test_rule(const struct request *request, json_t *body)
{
    struct way *way = request_way(request);
    auto(error) struct error *err = NULL;
    const char *target = NULL, *session = NULL;

    if (!way)
        return;
    if (json_get_string(body, "target", TARGET_MAX, &target, &err) < 0 ||
        json_opt_string(body, "session", SESSION_MAX, &session, &err) < 0) {
        request_fail(request, err);
        return;
    }
    ways_reload(request->daemon);
    const char *colon = strrchr(target, ':'), *bracket = strrchr(target, ']');
    bool port = colon && (!bracket || colon > bracket);
    autofree char *authority = port ? xstrdup(target) : xasprintf("%s:443", target);
    auto(json) json_t *answer = way_test(way, authority, session);
    json_reply(request->stream, 200, answer);
}

static void suggest_rules(const struct request *request, json_t *body)
{
    struct way *way = request_way(request);

    (void)body;
    if (way)
        reply_lines(request, way_suggest(way), NULL);
}

static void list_host_ports(const struct request *request, json_t *body)
{
    struct way *way = request_way(request);

    (void)body;
    if (!way)
        return;
    ways_reload(request->daemon);
    reply_lines(request, way_host_ports(way), json_pack("{s:{s:s*}}", "result", "problem", way_banner(way)));
}

static void add_host_port(const struct request *request, json_t *body)
{
    struct way *way = request_way(request);
    auto(error) struct error *err = NULL;
    auto(json) json_t *answer = NULL;
    const char *name = NULL, *to = NULL;
    int64_t port = 0;

    if (!way)
        return;
    if (json_get_string(body, "name", NAME_LEN, &name, &err) == 0 &&
        json_get_string(body, "to", NAME_LEN, &to, &err) == 0 &&
        json_opt_number(body, "port", 1, UINT16_MAX, &port, &err) == 0)
        way_host_port_add(way, name, to, (uint16_t)port, &answer, &err);
    if (err)
        request_fail(request, err);
    else
        json_reply(request->stream, 201, answer);
}

static void remove_host_port(const struct request *request, json_t *body)
{
    struct way *way = request_way(request);
    auto(error) struct error *err = NULL;
    auto(json) json_t *answer = json_object();

    (void)body;
    if (!way)
        return;
    if (way_host_port_remove(way, request->args[1], &err) < 0)
        request_fail(request, err);
    else
        json_reply(request->stream, 200, answer);
}

const struct route routes_way[] = {
    {"GET", "/v1/projects/?/flows", list_flows, false},
    {"GET", "/v1/projects/?/rules", list_rules, false},
    {"POST", "/v1/projects/?/rules", add_rule, true},
    {"DELETE", "/v1/projects/?/rules/?", remove_rule, false},
    {"GET", "/v1/projects/?/rules/suggest", suggest_rules, false},
    {"POST", "/v1/projects/?/rules/test", test_rule, true},
    {"GET", "/v1/projects/?/host-ports", list_host_ports, false},
    {"POST", "/v1/projects/?/host-ports", add_host_port, true},
    {"DELETE", "/v1/projects/?/host-ports/?", remove_host_port, false},
    {0},
};
