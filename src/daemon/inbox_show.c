#include "daemon/inbox_show.h"

#include "base/alloc.h"
#include "daemon/land.h"
#include "daemon/state_requests.h"
#include "wire/json.h"

#include <string.h>

#define MS_NS 1000000

static void set(json_t *object, const char *key, json_t *value /* owned */)
{
    require(json_object_set_new(object, key, value) == 0);
}

bool inbox_is_open(const struct approval_request *request)
{
    return request->state == APPROVAL_HELD || request->state == APPROVAL_FROZEN ||
           request->state == APPROVAL_WAITING;
}

json_t *inbox_show_row(struct daemon *daemon, const struct approval_request *request)
{
    struct project *project = projects_lock(daemon->projects, request->project);
    json_t *json =
        json_pack("{s:I, s:I, s:s, s:s, s:s, s:s, s:s, s:s, s:I, s:I, s:I}", "id", (json_int_t)request->id,
                  "batch", (json_int_t)approval_question(request), "session", request->session, "project",
                  project ? project->r.name : "", "kind", request->verb, "subject", request->subject, "class",
                  approval_tier_name(request->tier), "state", approval_state_name(request->state), "asked_ns",
                  (json_int_t)(request->asked_ms * MS_NS), "changed_ns",
                  (json_int_t)(request->changed_ms * MS_NS), "attempts", (json_int_t)request->attempts);

    if (project)
        projects_unlock(daemon->projects);
    require(json);
    if (inbox_is_open(request) && request->reason[0])
        set(json, "failed", json_bytes(request->reason, strlen(request->reason)));
    return json;
}

/* ---- what it means ---- */

/* One sentence a verb: what is let happen by an allowance. */
static const char *consequence(const struct approval_request *request, const json_t *fields)
{
    const json_t *site = json_object_get(fields, "site");
    bool uploads = json_is_true(json_object_get(site, "uploads"));
    const char *proto = json_string_value(json_object_get(fields, "proto"));

    if (!strcmp(request->verb, "PRIVATE"))
        return "programs in the machine reach a computer of your own network";
    if (!strcmp(request->verb, "PUSH"))
        return "commits that were made in the machine become a branch of your own repository; your work tree "
               "stays";
    if (!strcmp(request->verb, "UPLOAD"))
        return "more bytes leave the machine than the limit lets by itself";
    if (!strcmp(request->verb, "REQUEST"))
        return "this one HTTP request leaves the machine";
    if (uploads)
        return "programs in the machine can send anything to this host, and others can pick it up there";
    if (proto && !strcmp(proto, "tls"))
        return "programs in the machine can exchange anything with this host; what, is encrypted and not "
               "seen";
    return "programs in the machine can exchange anything with this host";
}

/* What allowing for a scope does. Caller frees. */
static char *effect_of(const struct approval_request *request, enum approval_scope scope, const char *name,
                       const char *rule)
{
    bool flow_alone = !strcmp(request->verb, "UPLOAD") || !strcmp(request->verb, "REQUEST");

    switch (scope) {
    case APPROVAL_ONCE:
        if (!strcmp(request->verb, "PUSH"))
            return xasprintf("lands it as a branch hutch/%s/… of your repository", name);
        if (flow_alone)
            return xstrdup(request->waiters ? "the connection that waits goes on"
                                            : "the next one like it goes on, within 24 hours");
        return xstrdup(request->waiters
                           ? "what waits goes on, and the same of that command, for 15 minutes at most"
                           : "the next attempt goes on, within 24 hours");
    case APPROVAL_SESSION:
        return xstrdup("the same of that session goes on until it ends");
    case APPROVAL_PROJECT:
        return xasprintf("adds \"%s\" to projects/%s.ini, for 90 days", rule ? rule : "", name);
    case APPROVAL_ALL:
        return xasprintf("adds \"%s\" to rules.ini of all projects, for 90 days", rule ? rule : "");
    case APPROVAL_DURATION:
        return xstrdup("the same of this project goes on for as long as you say, 30 days at most");
    case APPROVAL_SCOPE_COUNT:
        break;
    }
    return xstrdup("");
}

static json_t *answers(const struct approval_request *request, const char *name, const json_t *fields)
{
    const char *rule = json_string_value(json_object_get(fields, "rule_missing"));
    json_t *list = json_array();

    for (int i = 0; i < APPROVAL_SCOPE_COUNT; i++) {
        if (!(request->scopes & (1u << i)))
            continue;
        enum approval_scope scope = (enum approval_scope)i;
        autofree char *text = effect_of(request, scope, name, rule);
        json_t *one = json_pack("{s:s, s:s, s:s}", "verdict", "allow", "scope", approval_scope_name(scope),
                                "does", text);
        require(one);
        if ((scope == APPROVAL_PROJECT || scope == APPROVAL_ALL) && rule)
            set(one, "rule", json_string(rule));
        json_array_append_new(list, one);
    }
    json_array_append_new(
        list, json_pack("{s:s, s:s}", "verdict", "deny", "does",
                        !strcmp(request->verb, "PUSH")
                            ? "it lands nowhere; the commits stay in the quarantine, the agent is told why"
                            : "what waits is refused, and the same of that session is not asked again "
                              "for 10 minutes"));
    return list;
}

json_t *inbox_show(struct daemon *daemon, const struct approval_request *request)
{
    json_t *json = inbox_show_row(daemon, request);
    auto(json) json_t *fields = json_parse(request->fields, strlen(request->fields), NULL);
    const char *name = json_string_value(json_object_get(json, "project"));

    set(json, "boot", json_string(request->boot));
    set(json, "generation", json_integer(request->generation));
    set(json, "fields", fields ? json_incref(fields) : json_null());
    set(json, "consequence", json_string(consequence(request, fields)));
    set(json, "undo", json_null());
    if (inbox_is_open(request)) {
        set(json, "waiters", json_integer(request->waiters));
        set(json, "answers", answers(request, name ? name : "", fields));
        set(json, "digest", json_string(request->digest));
        set(json, "nonce", json_string(request->nonce));
        return json;
    }
    set(json, "scope", json_string(approval_scope_name(request->scope)));
    set(json, "duration_s", json_integer(request->duration_s));
    set(json, "reason", json_bytes(request->reason, strlen(request->reason)));
    set(json, "by", json_string(request->by));
    if (request->state == APPROVAL_ALLOWED && land_is_under_way(request->id))
        set(json, "landing", json_true());
    return json;
}

json_t *inbox_show_stored(struct daemon *daemon, int64_t id, struct error **err)
{
    struct approval_request stored;
    json_t *json;

    if (state_request_load(daemon->state, id, &stored, err) < 0)
        return NULL;
    json = inbox_show(daemon, &stored);
    state_request_finish(&stored);
    return json;
}

int inbox_explain_over(struct daemon *daemon, int64_t id, struct error **err)
{
    struct approval_request stored;
    int rc = state_request_load(daemon->state, id, &stored, err);

    if (rc < 0)
        return rc;
    if (stored.state == APPROVAL_ALLOWED || stored.state == APPROVAL_DENIED)
        rc = error_set(err, ERROR_STATE, "request %lld was %s already, by %s", (long long)id,
                       approval_state_name(stored.state), stored.by);
    else
        rc = error_set(err, ERROR_STATE, "request %lld is gone: %s", (long long)id,
                       stored.reason[0] ? stored.reason : "it is not open any more");
    state_request_finish(&stored);
    return rc;
}

/* ---- statistics ---- */

/* People who always say yes, and at once, do not read any more. */
#define BLIND_PERCENT 95
#define BLIND_MS      2000
#define BLIND_ANSWERS 10 /* fewer say nothing */

static json_t *show_stats(const struct request_stats *stats)
{
    unsigned answers = stats->allowed + stats->denied;
    bool blind = answers >= BLIND_ANSWERS && stats->allowed * 100 > answers * BLIND_PERCENT &&
                 stats->median_ms < BLIND_MS;
    json_t *json = json_pack("{s:s, s:s, s:i, s:i, s:i, s:i, s:i, s:b}", "kind", stats->verb, "class",
                             approval_tier_name(stats->tier), "asked", (int)stats->asked, "allowed",
                             (int)stats->allowed, "denied", (int)stats->denied, "gone", (int)stats->gone,
                             "open", (int)stats->open, "blind", blind);

    require(json);
    set(json, "median_ms", stats->median_ms < 0 ? json_null() : json_integer(stats->median_ms));
    return json;
}

json_t *inbox_show_stats(struct daemon *daemon, const char *project, struct error **err)
{
    struct request_stats stats[REQUEST_STATS_MAX];
    size_t count;

    if (state_request_stats(daemon->state, project, stats, REQUEST_STATS_MAX, &count, err) < 0)
        return NULL;
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++)
        json_array_append_new(list, show_stats(&stats[i]));
    return list;
}
