#include "daemon/inbox_egress.h"

#include "base/alloc.h"
#include "base/log.h"
#include "base/units.h"
#include "daemon/inbox.h"
#include "daemon/inbox_fields.h"
#include "daemon/inbox_grants.h"
#include "daemon/inbox_seen.h"
#include "daemon/rules.h"
#include "daemon/state_requests.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define OWNER       "egress"
#define BRIDGE_S    30           /* until a rule that was added is read */
#define UPLOAD_MORE (8ULL << 20) /* that one answer lets pass, if the rule has no cap of its own */

/* A flow that stands still. */
struct held {
    struct approval_waiter waiter; /* first */
    TAILQ_ENTRY(held) link;
    struct daemon *daemon;
    struct flows *flows;
    uint64_t flow;
    enum flow_question question;
    uint64_t more;
    struct address private_address;
};

/* A flow that asks for the answer to a request. */
struct reply {
    TAILQ_ENTRY(reply) link;
    struct daemon *daemon;
    struct flows *flows;
    uint64_t flow, wait;
};

/* An allowance that came when its flow was refused already, of what no grant can say: an upload, one HTTP
 * request. For the next one of the same key; it does not outlive hutchd. */
struct pass {
    TAILQ_ENTRY(pass) link;
    char *project, *verb, *key;
    int64_t id, until_s;
};

struct inbox_egress {
    TAILQ_HEAD(, pass) passes;
    TAILQ_HEAD(, held) held;
    TAILQ_HEAD(, reply) replies;
    struct inbox_seen seen;
};

static struct inbox_egress *store(struct daemon *daemon)
{
    return daemon->inbox_egress;
}

static int64_t now_s(void)
{
    return units_now_ns() / 1000000000;
}

/* ---- an answer becomes a grant or a rule ---- */

/* What a stored request was about, as far as its grant needs it. */
struct about {
    json_t *fields;
    struct request request;
    const char *missing;
};

static int read_about(const struct approval_request *stored, struct about *ret, struct error **err)
{
    const char *authority, *proto, *command;

    *ret = (struct about){.fields = json_loads(stored->fields, 0, NULL)};
    authority = json_string_value(json_object_get(ret->fields, "authority"));
    proto = json_string_value(json_object_get(ret->fields, "proto"));
    command = json_string_value(json_object_get(ret->fields, "command"));
    ret->missing = json_string_value(json_object_get(ret->fields, "rule_missing"));
    if (!authority || !proto || request_parse(authority, strlen(authority), 0, &ret->request, NULL) < 0)
        return error_set(err, ERROR_CORRUPT, "what request %lld is about cannot be read",
                         (long long)stored->id);
    for (int i = PROTO_TLS; i <= PROTO_TCP; i++)
        if (!strcmp(proto, proto_name((enum proto)i)))
            ret->request.proto = (enum proto)i;
    ret->request.project = stored->project;
    ret->request.session = stored->session[0] ? stored->session : NULL;
    ret->request.command = command && command[0] ? command : NULL;
    ret->request.now = now_s();
    return 0;
}

/* The address in the rule that is missing. */
static bool private_address(const char *missing, struct address *ret)
{
    struct rule_origin origin = {.layer = LAYER_SESSION};
    auto(rule) struct rule *rule = NULL;

    if (!missing || rule_parse(missing, strlen(missing), &origin, &rule, NULL) < 0 || !rule->has_private)
        return false;
    *ret = rule->private_range.base;
    return true;
}

static int add_grant(struct daemon *daemon, const struct approval_request *stored, const struct about *about,
                     enum grant_scope scope, uint64_t seconds, struct error **err)
{
    struct grant grant;
    int rc = grant_init(&about->request, scope, 1u << scope, false, seconds, &grant, err);

    if (rc < 0)
        return rc;
    grant.request_id = (uint64_t)stored->id;
    grant.uid = (uint32_t)getuid();
    grant.generation = (uint64_t)stored->generation;
    snprintf(grant.tty, sizeof(grant.tty), "%.31s", stored->by);
    snprintf(grant.digest, sizeof(grant.digest), "%s", stored->digest);
    grant.has_private =
        !strcmp(stored->verb, "PRIVATE") && private_address(about->missing, &grant.private_address);
    return inbox_grants_add(daemon, &grant, err);
}

/* "allow docs.rs" with its end, into the project's file or that of all projects. */
static int add_rule(struct daemon *daemon, const struct approval_request *stored, const struct about *about,
                    struct error **err)
{
    time_t end = (time_t)(now_s() + GRANT_STORE_SECONDS);
    char date[16], name[PROJECT_NAME_MAX];
    struct project *project = projects_lock(daemon->projects, stored->project);
    struct tm tm;
    int rc;

    if (!project)
        return error_set(err, ERROR_NOT_FOUND, "the project is not there any more");
    memcpy(name, project->r.name, sizeof(name));
    projects_unlock(daemon->projects);
    if (!about->missing)
        return error_set(err, ERROR_STATE, "no rule can say this");
    gmtime_r(&end, &tm);
    strftime(date, sizeof(date), "%Y-%m-%d", &tm);
    autofree char *text = xasprintf("%s expires=%s", about->missing, date);
    rc = rules_add(daemon->paths, stored->scope == APPROVAL_ALL ? NULL : name, text, err);
    if (rc == -ERROR_EXISTS) {
        error_free(*err);
        *err = NULL;
        rc = 0;
    }
    return rc < 0 ? rc : add_grant(daemon, stored, about, SCOPE_DURATION, BRIDGE_S, err);
}

static bool somebody_waits(const struct approval_request *stored)
{
    return stored->waiters > 0;
}

static void free_pass(struct inbox_egress *egress, struct pass *pass)
{
    TAILQ_REMOVE(&egress->passes, pass, link);
    free(pass->project);
    free(pass->verb);
    free(pass->key);
    free(pass);
}

static void add_pass(struct inbox_egress *egress, const struct approval_request *stored)
{
    struct pass *pass = xnew(struct pass);

    *pass = (struct pass){.project = xstrdup(stored->project),
                          .verb = xstrdup(stored->verb),
                          .key = xstrdup(stored->key),
                          .id = stored->id,
                          .until_s = now_s() + GRANT_NEXT_SECONDS};
    TAILQ_INSERT_TAIL(&egress->passes, pass, link);
}

/* Takes the one for this question: its request's number, or 0. */
static int64_t take_pass(struct inbox_egress *egress, const char *project, const char *verb, const char *key)
{
    struct pass *pass, *next;

    for (pass = TAILQ_FIRST(&egress->passes); pass; pass = next) {
        next = TAILQ_NEXT(pass, link);
        bool ours = !strcmp(pass->project, project) && !strcmp(pass->verb, verb) && !strcmp(pass->key, key);
        int64_t rest = pass->until_s - now_s(), id = pass->id;
        if (rest > 0 && rest <= GRANT_NEXT_SECONDS && !ours)
            continue;
        free_pass(egress, pass);
        if (ours && rest > 0 && rest <= GRANT_NEXT_SECONDS)
            return id;
    }
    return 0;
}

static int apply(struct daemon *daemon, const struct approval_request *stored, struct error **err)
{
    struct about about;
    int rc;

    if (!strcmp(stored->verb, "UPLOAD") || !strcmp(stored->verb, "REQUEST")) {
        if (!somebody_waits(stored))
            add_pass(store(daemon), stored);
        return 0;
    }
    rc = read_about(stored, &about, err);
    if (rc == 0 && stored->scope == APPROVAL_ONCE)
        rc = add_grant(daemon, stored, &about, somebody_waits(stored) ? SCOPE_ONCE : SCOPE_NEXT, 0, err);
    else if (rc == 0 && stored->scope == APPROVAL_SESSION)
        rc = add_grant(daemon, stored, &about, SCOPE_SESSION, 0, err);
    else if (rc == 0 && stored->scope == APPROVAL_DURATION)
        rc = add_grant(daemon, stored, &about, SCOPE_DURATION, (uint64_t)stored->duration_s, err);
    else if (rc == 0)
        rc = add_rule(daemon, stored, &about, err);
    json_decref(about.fields);
    return rc;
}

/* ---- asking ---- */

static void free_held(struct held *held)
{
    TAILQ_REMOVE(&store(held->daemon)->held, held, link);
    free(held);
}

static enum reason reason_of(const struct approval_outcome *outcome)
{
    switch (outcome->verdict) {
    case APPROVAL_AWAY:
        return REASON_WAITING;
    case APPROVAL_QUOTA:
        return REASON_ASK_QUOTA;
    case APPROVAL_FAILED:
        return REASON_LOG;
    case APPROVAL_ALLOW:
    case APPROVAL_DENY:
        break;
    }
    return REASON_PERSON;
}

static void on_done(struct approval_waiter *waiter, const struct approval_outcome *outcome)
{
    struct held *held = (struct held *)waiter;
    struct flow_answer answer = {.allow = outcome->verdict == APPROVAL_ALLOW,
                                 .reason = reason_of(outcome),
                                 .words = outcome->reason,
                                 .bytes = held->more,
                                 .private_address = held->private_address};
    struct flows *flows = held->flows;
    uint64_t flow = held->flow;

    if (answer.allow)
        answer.grant = inbox_grants_of(held->daemon, outcome->id);
    free_held(held);
    flows_answer(flows, flow, &answer);
}

/* What an upload gets by one answer. */
static uint64_t more_of(const struct flow *flow)
{
    return flow->verdict.caps.hour == UINT64_MAX ? UPLOAD_MORE : flow->verdict.caps.hour;
}

static struct held *make_held(struct daemon *daemon, struct flows *flows, const struct flow *flow)
{
    struct held *held = xnew(struct held);

    held->waiter.done = on_done;
    held->daemon = daemon;
    held->flows = flows;
    held->flow = flow->id;
    held->question = flow->asked;
    held->more = more_of(flow);
    private_address(flow->verdict.missing, &held->private_address);
    TAILQ_INSERT_TAIL(&store(daemon)->held, held, link);
    return held;
}

/* The program, in its session: several processes of it ask as one. NULL: the machine does not know it. */
static char *process_of(const struct flow *flow)
{
    return flow->claim.known && flow->claim.exe[0] ? xasprintf("%s %s", flow->claim.session, flow->claim.exe)
                                                   : NULL;
}

uint64_t inbox_egress_ask(struct daemon *daemon, struct flows *flows, const struct flow *flow,
                          enum reason *ret_reason)
{
    struct project *project = projects_lock(daemon->projects, flow->request.project);
    struct approval_outcome outcome;
    struct inbox_settings settings;
    int64_t passed;
    char key[INBOX_KEY_MAX], boot[17] = "";

    *ret_reason = REASON_NO_UI;
    if (!project)
        return 0;
    memcpy(boot, project->r.boot, sizeof(boot));
    projects_unlock(daemon->projects);
    inbox_key(flow, key);
    passed = take_pass(store(daemon), flow->request.project, inbox_verb(flow), key);
    if (passed) {
        struct flow_answer answer = {.allow = true, .bytes = more_of(flow)};

        flows_answer(flows, flow->id, &answer);
        return (uint64_t)passed;
    }
    inbox_settings(daemon->inbox, flow->request.project, &settings);
    struct inbox_history history;

    inbox_seen_look(daemon, &store(daemon)->seen, flow, &history);
    json_t *fields = inbox_fields(flow, &history);
    if (flow->request.command)
        json_object_set_new(fields, "command", json_string(flow->request.command));
    autofree char *text = json_dumps(fields, JSON_COMPACT | JSON_ENSURE_ASCII);
    autofree char *process = process_of(flow);
    struct approval_ask ask = {.project = flow->request.project,
                               .process = process,
                               .site = inbox_site(fields),
                               .boot = boot,
                               .session = flow->request.session ? flow->request.session : "",
                               .verb = inbox_verb(flow),
                               .key = key,
                               .subject = json_string_value(json_object_get(fields, "authority")),
                               .fields = text,
                               .owner = OWNER,
                               .generation = (int64_t)flow->verdict.generation,
                               .tier = inbox_tier(flow),
                               .scopes = inbox_scopes(flow),
                               .hold_ms = settings.hold_ms,
                               .freeze_ms = settings.freeze_ms};
    struct held *held = make_held(daemon, flows, flow);
    bool holds = approval_ask(inbox_approval(daemon->inbox), &ask, &held->waiter, &outcome);
    json_decref(fields);
    if (holds)
        return (uint64_t)approval_waiter_id(&held->waiter);
    free_held(held);
    *ret_reason = outcome.verdict == APPROVAL_DENY ? REASON_REPEAT : reason_of(&outcome);
    return 0;
}

void inbox_egress_withdraw(struct daemon *daemon, struct flows *flows, const struct flow *flow)
{
    struct held *held;
    struct reply *wait;

    TAILQ_FOREACH(held, &store(daemon)->held, link)
    {
        if (held->flows != flows || held->flow != flow->id)
            continue;
        approval_withdraw(inbox_approval(daemon->inbox), &held->waiter);
        free_held(held);
        return;
    }
    TAILQ_FOREACH(wait, &store(daemon)->replies, link)
    {
        if (wait->flows != flows || wait->flow != flow->id)
            continue;
        inbox_unwait(daemon->inbox, wait->wait);
        TAILQ_REMOVE(&store(daemon)->replies, wait, link);
        free(wait);
        return;
    }
}

/* ---- other rules ---- */

#define OPEN_MAX 256

void inbox_egress_rules(struct daemon *daemon, const char *project, const struct policy *policy)
{
    struct approval *approval = inbox_approval(daemon->inbox);
    const struct approval_request *list[OPEN_MAX];
    int64_t decided[OPEN_MAX];
    size_t count = approval_list(approval, list, OPEN_MAX), n = 0;

    for (size_t i = 0; i < count; i++) {
        struct verdict verdict;
        struct about about;

        if (strcmp(list[i]->project, project) != 0 || strcmp(list[i]->owner, OWNER) != 0 ||
            strcmp(list[i]->verb, "CONNECT") != 0)
            continue;
        if (read_about(list[i], &about, NULL) == 0) {
            policy_decide(policy, &about.request, NULL, 0, &verdict);
            if (verdict.effect != VERDICT_ASK)
                decided[n++] = list[i]->id;
        }
        json_decref(about.fields);
    }
    for (size_t i = 0; i < n; i++)
        approval_decided(approval, decided[i]);
    approval_rules_changed(approval, project, (int64_t)policy_generation(policy));
}

/* ---- N.request.hutch.internal ---- */

static void reply(struct flows *flows, uint64_t flow, int64_t id, const char *verdict, const char *words)
{
    json_t *body = json_pack("{s:I, s:s}", "request", (json_int_t)id, "verdict", verdict);

    if (words && *words)
        json_object_set_new(body, "reason", json_string(words));
    autofree char *text = json_dumps(body, JSON_COMPACT | JSON_ENSURE_ASCII);
    json_decref(body);
    flows_reply(flows, flow, text);
}

static void on_answered(int64_t id, enum approval_state state, const char *words, void *user)
{
    struct reply *wait = user;
    const char *verdict = state == APPROVAL_ALLOWED ? "allow" : state == APPROVAL_DENIED ? "deny" : "gone";

    TAILQ_REMOVE(&store(wait->daemon)->replies, wait, link);
    if (wait->flows)
        reply(wait->flows, wait->flow, id, verdict, words);
    free(wait);
}

void inbox_egress_wait(struct daemon *daemon, const char *project, struct flows *flows, uint64_t flow,
                       uint64_t id)
{
    struct reply *wait = xnew(struct reply);
    uint64_t number;
    bool open = approval_find(inbox_approval(daemon->inbox), (int64_t)id) != NULL;

    *wait = (struct reply){.daemon = daemon, .flows = flows, .flow = flow};
    TAILQ_INSERT_TAIL(&store(daemon)->replies, wait, link);
    number = inbox_wait(daemon->inbox, project, (int64_t)id, on_answered, wait);
    if (number && open) /* else it was answered from inside, and is freed */
        wait->wait = number;
    if (number)
        return;
    TAILQ_REMOVE(&store(daemon)->replies, wait, link);
    free(wait);
    reply(flows, flow, (int64_t)id, "gone", "there is no such request of this project");
}

/* ---- life ---- */

int inbox_egress_create(struct daemon *daemon, struct error **err)
{
    static const struct inbox_owner owner = {
        .name = OWNER, .apply = apply, .ended = inbox_grants_ended, .forget = inbox_grants_forget};
    struct inbox_egress *egress = xnew(struct inbox_egress);

    TAILQ_INIT(&egress->held);
    TAILQ_INIT(&egress->replies);
    TAILQ_INIT(&egress->passes);
    daemon->inbox_egress = egress;
    inbox_add_owner(daemon->inbox, &owner);
    return inbox_grants_create(daemon, err);
}

void inbox_egress_destroy(struct daemon *daemon)
{
    struct inbox_egress *egress = store(daemon);

    if (!egress)
        return;
    while (!TAILQ_EMPTY(&egress->passes))
        free_pass(egress, TAILQ_FIRST(&egress->passes));
    inbox_grants_destroy(daemon);
    free(egress);
    daemon->inbox_egress = NULL;
}
