/* From FLOW_ASK to FLOW_VERDICT. */
#include "base/alloc.h"
#include "egress/flow_internal.h"
#include "policy/suffix.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REQUEST_SUFFIX ".request.hutch.internal"
#define PUSH_SUFFIX    ".push.hutch.internal"
#define FETCH_SUFFIX   ".fetch.hutch.internal"
#define TURN_SUFFIX    ".turn.hutch.internal"
#define REQUEST_PORT   80
#define REPO_NAME_MAX  32

bool flow_decide(const struct policy *policy, const char *authority, size_t len, enum proto proto,
                 const char *project, const char *session, const struct grant *grants, size_t grant_count,
                 int64_t now_s, struct request *ret_request, struct verdict *ret_verdict)
{
    if (request_parse(authority, len, 0, ret_request, NULL) < 0) {
        verdict_form(policy, REASON_FORM, ret_verdict);
        return false;
    }
    ret_request->proto = proto;
    ret_request->project = project;
    ret_request->session = session;
    ret_request->now = now_s;
    policy_decide(policy, ret_request, grants, grant_count, ret_verdict);
    return true;
}

/* ---- limits ---- */

/* A new flow takes a token; there are FLOWS_BURST, and FLOWS_RATE come each second. */
static bool take_token(struct flows *flows)
{
    double come = (double)(flows->now_ms - flows->tokens_ms) * FLOWS_RATE / 1000;

    flows->tokens_ms = flows->now_ms;
    flows->tokens = flows->tokens + come > FLOWS_BURST ? FLOWS_BURST : flows->tokens + come;
    if (flows->tokens < 1)
        return false;
    flows->tokens--;
    return true;
}

static bool over_limits(struct flows *flows)
{
    return !take_token(flows) || flows->count > FLOWS_MAX;
}

/* ---- reserved: the answer of a question ---- */

/* The number in N.request.hutch.internal:80. */
static bool request_number(const struct request *request, uint64_t *ret_number)
{
    const char *text = request->host.text;
    size_t digits = strspn(text, "0123456789");

    if (request->port != REQUEST_PORT || request->host.kind != HOST_NAME || !digits || digits > 15 ||
        strcmp(text + digits, REQUEST_SUFFIX) != 0)
        return false;
    *ret_number = strtoull(text, NULL, 10);
    return true;
}

/* REPO.push.hutch.internal:80 and REPO.fetch.hutch.internal:80: git in the machine has pushed, or is about to
 * fetch; all.turn.hutch.internal:80: an agent has ended a turn. */
static bool git_question(const struct request *request, enum flow_git *ret_what,
                         char ret_repo[REPO_NAME_MAX + 1])
{
    static const struct {
        const char *suffix;
        enum flow_git what;
    } names[] = {{PUSH_SUFFIX, FLOW_GIT_PUSH}, {FETCH_SUFFIX, FLOW_GIT_FETCH}, {TURN_SUFFIX, FLOW_GIT_TURN}};
    const char *text = request->host.text;
    size_t len = strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789-");

    if (request->port != REQUEST_PORT || request->host.kind != HOST_NAME || !len || len > REPO_NAME_MAX)
        return false;
    for (size_t i = 0; i < countof(names); i++) {
        if (strcmp(text + len, names[i].suffix) != 0)
            continue;
        *ret_what = names[i].what;
        snprintf(ret_repo, REPO_NAME_MAX + 1, "%.*s", (int)len, text);
        return true;
    }
    return false;
}

static void ask_git(struct flows *flows, struct flow *flow, enum flow_git what, const char *repo)
{
    flow->reserved = true;
    flow->state = FLOW_STATE_HELD;
    flows->held++;
    if (flows->ops->git && flows->held <= FLOWS_HELD_MAX)
        flows->ops->git(flow->id, what, repo, flows->user);
    else
        flows_reply(flows, flow->id, "{\"error\":\"the host is busy\"}");
}

static void wait_for_request(struct flows *flows, struct flow *flow, uint64_t number)
{
    flow->reserved = true;
    flow->request_id = number;
    flow->state = FLOW_STATE_HELD;
    flows->held++;
    if (flows->ops->wait && flows->held <= FLOWS_HELD_MAX) {
        flows->ops->wait(flow->id, number, flows->user);
        return;
    }
    autofree char *body = xasprintf("{\"request\":%llu,\"verdict\":\"%s\"}", (unsigned long long)number,
                                    flows->ops->wait ? "waiting" : "gone");
    flows_reply(flows, flow->id, body);
}

/* ---- ask and decide ---- */

bool flow_begin(struct flows *flows, const struct wmsg_flow_ask *ask)
{
    char repo[REPO_NAME_MAX + 1];
    enum flow_git what;
    uint64_t number;

    if (ask->flow <= flows->last_id)
        return false;
    flows->last_id = ask->flow;
    struct flow *flow = xnew(struct flow);
    flow->id = ask->flow;
    flow->entrance = (enum flow_entrance)ask->entrance;
    flow->claim = ask->claim;
    flow->begun_ms = flows->now_ms;
    flow->policy = flows->policy ? policy_ref(flows->policy) : NULL;
    memcpy(flow->authority, ask->authority, sizeof(flow->authority));
    flow->next = flows->first;
    flows->first = flow;
    flows->count++;

    flow->parsed = request_parse(flow->authority, strlen(flow->authority), 0, &flow->request, NULL) == 0;
    flow->request.project = flows->project;
    flow->request.session = flow->claim.session[0] ? flow->claim.session : NULL;
    if (flow->claim.known && flow->claim.pid)
        snprintf(flow->command, sizeof(flow->command), "%u", flow->claim.pid);
    flow->request.command = flow->command[0] ? flow->command : NULL;
    if (over_limits(flows)) {
        flow_set_verdict(flow, VERDICT_DENY, REASON_LIMIT);
        flow_refuse(flows, flow, NULL);
    } else if (flow->parsed && request_number(&flow->request, &number)) {
        wait_for_request(flows, flow, number);
    } else if (flow->parsed && git_question(&flow->request, &what, repo)) {
        ask_git(flows, flow, what, repo);
    } else {
        flow_judge_new(flows, flow);
    }
    return true;
}

void flow_decide_now(struct flows *flows, struct flow *flow, struct verdict *ret_verdict)
{
    const struct grant *grants = NULL;
    size_t count = 0;

    if (!flow->parsed) {
        verdict_form(flows->policy, REASON_FORM, ret_verdict);
        return;
    }
    flow->request.now = flows->now_s;
    if (flows->ops->grants)
        count = flows->ops->grants(&flow->request, &grants, flows->user);
    policy_decide(flows->policy, &flow->request, grants, count, ret_verdict);
    /* A request to a proxy: its head names the host once more, and must be made that of a server. */
    if (flow->entrance == FLOW_ABSOLUTE && ret_verdict->proto == PROTO_TCP)
        ret_verdict->proto = PROTO_HTTP;
}

/* Keeps the verdict, with what it points to. */
void flow_keep_verdict(struct flows *flows, struct flow *flow, const struct verdict *verdict)
{
    struct policy *old = flow->policy;

    flow->policy = flows->policy ? policy_ref(flows->policy) : NULL;
    policy_unref(old);
    flow->verdict = *verdict;
    if (verdict->grant) {
        flow->grant = *verdict->grant;
        flow->verdict.grant = &flow->grant;
    }
}

void flow_judge_new(struct flows *flows, struct flow *flow)
{
    struct verdict verdict;

    flow_decide_now(flows, flow, &verdict);
    flow_keep_verdict(flows, flow, &verdict);
    if (verdict.effect != VERDICT_DENY && flows->log_broken)
        flow_set_verdict(flow, VERDICT_DENY, REASON_LOG);
    if (flow->verdict.effect == VERDICT_DENY)
        flow_refuse(flows, flow, NULL);
    else if (flow->verdict.effect == VERDICT_ASK)
        flow_ask(flows, flow, FLOW_ASK_OPEN);
    else
        flow_allowed(flows, flow);
}

/* ---- allowed: names, addresses ---- */

/* Data can leave in the labels of names that are allowed. */
static void count_labels(struct flows *flows, const struct flow *flow)
{
    const struct rule *rule = flow->verdict.rule;
    const char *base = NULL;

    if (flow->request.host.kind != HOST_NAME)
        return;
    if (rule && (rule->target == TARGET_ONE_LABEL || rule->target == TARGET_ANY_LABELS))
        base = rule->host.text;
    else if (!rule)
        base = suffix_registrable(flow->request.host.text);
    if (!base || !*base || !strcmp(base, flow->request.host.text) ||
        !labels_add(flows->labels, base, flow->request.host.text, flows->now_ms))
        return;
    autofree char *text =
        xasprintf("more than %d names below %s were asked for within a minute: data can leave in "
                  "names (the last: %s)",
                  LABELS_MAX, base, flow->request.host.text);
    flows->ops->alert(text, flows->user);
}

static void send_verdict(struct flows *flows, struct flow *flow)
{
    const struct verdict *verdict = &flow->verdict;
    struct wmsg_flow_verdict message = {.type = WMSG_FLOW_VERDICT,
                                        .verdict = FLOW_ALLOW,
                                        .flow = flow->id,
                                        .port = flow->request.port,
                                        .status = 200};

    message.proto = verdict->proto == PROTO_TLS    ? FLOW_TLS
                    : verdict->proto == PROTO_HTTP ? FLOW_HTTP
                                                   : FLOW_TCP;
    message.flags = (verdict->ech_deny ? FLOW_ECH_DENY : 0) | (verdict->websocket ? FLOW_WEBSOCKET : 0) |
                    (flow->request.host.kind != HOST_NAME ? FLOW_LITERAL : 0);
    snprintf(message.host, sizeof(message.host), "%s", flow->request.host.text);
    message.credit = flow_first_credit(flows, flow);
    flow->state = FLOW_STATE_ALLOWED;
    flows->ops->send(&message, sizeof(message), -1, flows->user);
}

/* The address that a person said yes to counts as one of the rule's ranges. */
static void open_private(struct flow *flow, const struct address *address)
{
    struct verdict *verdict = &flow->verdict;
    struct cidr cidr = {*address, address->family == 4 ? 32 : 128};

    if (verdict->private_count < countof(verdict->private_ranges))
        verdict->private_ranges[verdict->private_count++] = cidr;
}

bool flow_filter(struct flows *flows, struct flow *flow, struct verdict *ret_refused)
{
    struct address own[DIAL_OWN_MAX];
    int own_count = flows->ops->own(own, countof(own), flows->user);
    size_t kept = 0;

    *ret_refused = flow->verdict;
    ret_refused->effect = VERDICT_DENY;
    ret_refused->reason = REASON_CONNECT;
    ret_refused->missing[0] = 0;
    if (own_count < 0)
        return false;
    for (size_t i = 0; i < flow->address_count; i++) {
        struct verdict verdict = flow->verdict;

        if (verdict_check_address(&verdict, &flow->request, &flow->addresses[i], own, (size_t)own_count))
            flow->addresses[kept++] = flow->addresses[i];
        else if (ret_refused->reason == REASON_CONNECT)
            *ret_refused = verdict;
    }
    flow->address_count = kept;
    return kept > 0;
}

void flow_check_addresses(struct flows *flows, struct flow *flow)
{
    struct address first = flow->addresses[0];
    struct verdict refused;

    if (flow->grant.has_private && flow->verdict.grant)
        open_private(flow, &flow->grant.private_address);
    if (flow->proxy[0] || flow_filter(flows, flow, &refused)) {
        send_verdict(flows, flow);
        return;
    }
    flow->verdict = refused;
    if (refused.effect == VERDICT_ASK) {
        flow->used = first; /* what the question is about */
        flow_ask(flows, flow, FLOW_ASK_PRIVATE);
    } else {
        flow_refuse(flows, flow, NULL);
    }
}

void flow_private_answer(struct flows *flows, struct flow *flow, const struct address *address)
{
    flow->verdict.effect = VERDICT_ALLOW;
    flow->verdict.reason = REASON_GRANT;
    open_private(flow, address);
    flow->addresses[0] = *address;
    flow->address_count = 1;
    flow->used = (struct address){0};
    flow_check_addresses(flows, flow);
}

void flow_next_lookup(struct flows *flows)
{
    struct flow *oldest = NULL;

    if (flows->resolving >= FLOWS_RESOLVING_MAX)
        return;
    for (struct flow *flow = flows->first; flow; flow = flow->next) {
        if (flow->state == FLOW_STATE_RESOLVING && !flow->resolving)
            oldest = flow; /* the list begins with the newest */
    }
    if (!oldest)
        return;
    oldest->resolving = true;
    flows->resolving++;
    struct host host;
    uint16_t port;
    if (oldest->proxy[0] &&
        host_parse_authority(oldest->proxy, strlen(oldest->proxy), 0, &host, &port, NULL) == 0)
        flows->ops->resolve(oldest->id, host.text, flows->user);
    else
        flows->ops->resolve(oldest->id, oldest->request.host.text, flows->user);
}

static void one_address(struct flows *flows, struct flow *flow, const struct address *address)
{
    flow->addresses[0] = *address;
    flow->address_count = flow->answer_count = 1;
    flow_check_addresses(flows, flow);
}

/* Through the user's proxy names are not looked up here; addresses are judged all the same. */
static bool goes_by_proxy(struct flows *flows, struct flow *flow, struct host *ret_proxy)
{
    uint16_t port;

    if (!flows->proxy || proxy_excepts(flows->proxy, &flow->request.host, flow->request.port) ||
        host_parse_authority(flows->proxy->authority, strlen(flows->proxy->authority), 0, ret_proxy, &port,
                             NULL) < 0)
        return false;
    if (flow->request.host.kind != HOST_NAME) {
        struct verdict refused;

        flow->addresses[0] = flow->request.host.address;
        flow->address_count = 1;
        if (!flow_filter(flows, flow, &refused)) {
            flow->address_count = 0;
            return false; /* refused on the way of an address */
        }
    }
    snprintf(flow->proxy, sizeof(flow->proxy), "%s", flows->proxy->authority);
    return true;
}

void flow_allowed(struct flows *flows, struct flow *flow)
{
    struct host proxy;

    if (flow->verdict.budget && !flow->answered &&
        !budget_admit(flows->budget, &flow->request.host, flows->now_s)) {
        flow_set_verdict(flow, VERDICT_ASK, REASON_BUDGET_NAMES);
        flow_ask(flows, flow, FLOW_ASK_OPEN);
        return;
    }
    if (flow->verdict.grant && flows->ops->used)
        flows->ops->used(flow->verdict.grant, flows->user);
    count_labels(flows, flow);
    if (flow->verdict.host_port) {
        send_verdict(flows, flow);
    } else if (goes_by_proxy(flows, flow, &proxy)) {
        if (proxy.kind != HOST_NAME) {
            one_address(flows, flow, &proxy.address);
            return;
        }
        flow->state = FLOW_STATE_RESOLVING;
        flow_next_lookup(flows);
    } else if (flow->request.host.kind != HOST_NAME) {
        one_address(flows, flow, &flow->request.host.address);
    } else {
        flow->state = FLOW_STATE_RESOLVING;
        flow_next_lookup(flows);
    }
}

void flows_resolved(struct flows *flows, uint64_t id, const struct resolver_answer *answer)
{
    struct flow *flow = flows_find(flows, id);

    if (!flow || !flow->resolving)
        return;
    flow->resolving = false;
    flows->resolving--;
    flow->resolve_ms = answer->ms;
    if (answer->failure) {
        snprintf(flow->failure, sizeof(flow->failure), "%s", answer->failure);
        flow_set_verdict(flow, VERDICT_DENY, REASON_RESOLVE);
        flow_refuse(flows, flow, NULL);
    } else {
        size_t count = answer->count < countof(flow->addresses) ? answer->count : countof(flow->addresses);

        memcpy(flow->addresses, answer->addresses, count * sizeof(flow->addresses[0]));
        flow->address_count = flow->answer_count = count;
        flow_check_addresses(flows, flow);
    }
    flow_next_lookup(flows);
}
