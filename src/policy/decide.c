/* The decision: one order for every entrance. */
#include "policy/policy.h"

#include "base/alloc.h"
#include "policy/budget.h"
#include "policy/policy_internal.h"

#include <string.h>

/* What the matching rules and grants come to. */
struct choice {
    const struct policy *policy;
    const struct request *request;
    const struct rule *deny, *best; /* best of allow and ask */
    uint64_t deny_rank, best_rank;
    bool takes_uploads; /* a matching rule says so */
    const struct grant *grant, *grant_deny;
};

/* Is rule, of the same rank as best, to be named instead? Ask before allow; then the later layer. Rules of
 * one layer come in their order, so the first one stays. */
static bool is_before(const struct rule *rule, const struct rule *best)
{
    if (rule->effect != best->effect)
        return rule->effect == RULE_ASK;
    return rule->layer > best->layer;
}

static void consider(void *user, uint32_t number)
{
    struct choice *choice = user;
    const struct rule *rule = choice->policy->rules[number];
    if (!rule_matches(rule, choice->request))
        return;
    uint64_t rank = rule_specificity(rule);
    bool deny = rule->effect == RULE_DENY;
    const struct rule **best = deny ? &choice->deny : &choice->best;
    uint64_t *best_rank = deny ? &choice->deny_rank : &choice->best_rank;
    choice->takes_uploads |= rule->uploads == UPLOADS_YES;
    if (*best && (rank < *best_rank || (rank == *best_rank && !is_before(rule, *best))))
        return;
    *best = rule;
    *best_rank = rank;
}

static void add_private(struct verdict *verdict, const struct cidr *range)
{
    if (verdict->private_count < VERDICT_PRIVATE_MAX)
        verdict->private_ranges[verdict->private_count++] = *range;
}

static void consider_grants(struct choice *choice, struct verdict *verdict, const struct grant *grants,
                            size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!grant_matches(&grants[i], choice->request))
            continue;
        const struct grant **slot = grants[i].deny ? &choice->grant_deny : &choice->grant;
        if (!*slot)
            *slot = &grants[i];
        if (!grants[i].deny && grants[i].has_private) {
            struct cidr range = {grants[i].private_address, 32};
            address_unmap(&range.base);
            range.length = range.base.family == 4 ? 32 : 128;
            add_private(verdict, &range);
        }
    }
}

static void settle(struct verdict *verdict, enum reason reason, enum rule_layer layer)
{
    verdict->reason = reason;
    verdict->effect = reason_effect(reason);
    verdict->layer = layer;
}

static void settle_by_rule(struct verdict *verdict, enum reason reason, const struct rule *rule)
{
    verdict->rule = rule;
    settle(verdict, reason, rule->layer);
}

static bool is_secret_bound(const struct policy *policy, const struct host *host)
{
    for (size_t i = 0; i < policy->secret_count; i++)
        if (host->kind == HOST_NAME && !strcmp(policy->secrets[i], host->text))
            return true;
    return false;
}

static void decide_reserved(const struct policy *policy, const struct request *request, const char *name,
                            struct verdict *verdict)
{
    for (size_t i = 0; i < policy->host_port_count; i++)
        if (!strcmp(policy->host_ports[i].name, name) && policy->host_ports[i].port == request->port) {
            verdict->host_port = policy->host_ports[i].to;
            verdict->proto = PROTO_TCP;
            verdict->caps = (struct up_caps){UINT64_MAX, UINT64_MAX};
            settle(verdict, REASON_HOST_PORT, LAYER_PROJECT);
            return;
        }
    settle(verdict, REASON_RESERVED, LAYER_BUILTIN);
}

/* What the rule that decided (or asked) says about the connection. */
static void take_options(struct verdict *verdict, const struct choice *choice)
{
    const struct rule *rule = choice->best;
    verdict->uploads = choice->takes_uploads && !(rule && rule->uploads == UPLOADS_NO);
    verdict->caps = (struct up_caps){verdict->uploads ? UP_CAP_UPLOADS : UP_CAP_DEFAULT, UINT64_MAX};
    if (!rule)
        return;
    verdict->proto = rule->proto;
    verdict->ech_deny = rule->ech_deny;
    verdict->websocket = rule->websocket;
    if (rule->has_private)
        add_private(verdict, &rule->private_range);
    if (rule->has_up && rule->up_hourly) {
        verdict->caps.hour = rule->up;
    } else if (rule->has_up) {
        verdict->caps.connection = rule->up;
        if (verdict->caps.hour < rule->up)
            verdict->caps.hour = rule->up;
    }
}

/* No rule names it: the mode. */
static void decide_by_mode(const struct policy *policy, const struct request *request,
                           struct verdict *verdict)
{
    bool web = request->host.kind == HOST_NAME && request->host.label_count > 1 && request->port == 443 &&
               verdict->proto == PROTO_TLS;
    if (policy->mode == MODE_OPEN) {
        verdict->caps = (struct up_caps){UINT64_MAX, UINT64_MAX};
        settle(verdict, REASON_OPEN, LAYER_BUILTIN);
    } else if (request->host.kind != HOST_NAME) {
        settle(verdict, REASON_LITERAL, LAYER_BUILTIN);
    } else if (policy->mode == MODE_DENY) {
        settle(verdict, REASON_MODE_DENY, LAYER_BUILTIN);
    } else if (policy->mode == MODE_ASK) {
        settle(verdict, REASON_UNKNOWN, LAYER_BUILTIN);
    } else if (!web) {
        settle(verdict, REASON_BUDGET_KIND, LAYER_BUILTIN);
    } else {
        verdict->budget = true;
        verdict->caps = (struct up_caps){BUDGET_NAME_BYTES, UINT64_MAX};
        settle(verdict, REASON_BUDGET, LAYER_BUILTIN);
    }
}

/* Allow, ask, grants, mode. */
static void decide_open(const struct policy *policy, const struct choice *choice, struct verdict *verdict)
{
    take_options(verdict, choice);
    if (choice->best)
        settle_by_rule(verdict, choice->best->effect == RULE_ALLOW ? REASON_RULE_ALLOW : REASON_RULE_ASK,
                       choice->best);
    else
        decide_by_mode(policy, choice->request, verdict);
    bool can_be_granted = verdict->effect == VERDICT_ASK || verdict->reason == REASON_MODE_DENY;
    if (choice->grant && can_be_granted) {
        verdict->grant = choice->grant;
        settle(verdict, REASON_GRANT, LAYER_SESSION);
    }
}

/* The rule that would help, unless an ask of the same rank is in its way, or nothing is missing. */
static void name_missing(const struct request *request, struct verdict *verdict)
{
    bool tie = verdict->reason == REASON_RULE_ASK && verdict->rule->port_form == PORT_SINGLE &&
               (verdict->rule->target == TARGET_NAME || verdict->rule->target == TARGET_ADDRESS);
    bool helps = verdict->effect == VERDICT_ASK || verdict->reason == REASON_LITERAL ||
                 verdict->reason == REASON_MODE_DENY;
    if (helps && !tie)
        request_missing(request, verdict->missing);
}

/* Floor and form. */
static bool decide_first(const struct request *request, struct verdict *verdict)
{
    if (host_is_floor(&request->host)) {
        settle(verdict, REASON_FLOOR, LAYER_BUILTIN);
        return true;
    }
    if (request->host.kind != HOST_NAME &&
        address_check(&request->host.address, NULL, 0, NULL, 0, &verdict->class) == ADDRESS_FLOOR) {
        settle(verdict, REASON_FLOOR, LAYER_BUILTIN);
        return true;
    }
    if (!request->port || !request->host.len) {
        settle(verdict, REASON_FORM, LAYER_BUILTIN);
        return true;
    }
    return false;
}

void policy_decide(const struct policy *policy, const struct request *request, const struct grant *grants,
                   size_t grant_count, struct verdict *ret_verdict)
{
    struct verdict *verdict = ret_verdict;
    *verdict = (struct verdict){.generation = policy ? policy->generation : 0};
    verdict->proto = request->proto == PROTO_ANY ? proto_of_port(request->port) : request->proto;
    if (!policy) {
        settle(verdict, REASON_NO_POLICY, LAYER_BUILTIN);
        return;
    }
    if (decide_first(request, verdict))
        return;
    struct choice choice = {.policy = policy, .request = request};
    char name[HOST_LABEL_MAX + 1];
    index_visit(&policy->index, &request->host, consider, &choice);
    consider_grants(&choice, verdict, grants, grant_count);
    if (is_secret_bound(policy, &request->host)) {
        settle(verdict, REASON_SECRET, LAYER_BUILTIN);
    } else if (choice.deny) {
        settle_by_rule(verdict, REASON_RULE_DENY, choice.deny);
    } else if (choice.grant_deny) {
        verdict->grant = choice.grant_deny;
        settle(verdict, REASON_GRANT_DENY, LAYER_SESSION);
    } else if (host_is_reserved(&request->host, name)) {
        decide_reserved(policy, request, name, verdict);
    } else {
        decide_open(policy, &choice, verdict);
        name_missing(request, verdict);
    }
    if (verdict->effect == VERDICT_ALLOW && request->host.kind != HOST_NAME)
        verdict_check_address(verdict, request, &request->host.address, NULL, 0);
    verdict->needs_head = verdict->proto == PROTO_HTTP && !request->method;
}

void verdict_form(const struct policy *policy, enum reason reason, struct verdict *ret_verdict)
{
    require(reason_effect(reason) == VERDICT_DENY);
    *ret_verdict = (struct verdict){.generation = policy ? policy->generation : 0};
    settle(ret_verdict, reason, LAYER_BUILTIN);
}

bool verdict_check_address(struct verdict *verdict, const struct request *request,
                           const struct address *address, const struct address *own, size_t own_count)
{
    if (verdict->reason == REASON_HOST_PORT)
        return true;
    switch (address_check(address, verdict->private_ranges, verdict->private_count, own, own_count,
                          &verdict->class)) {
    case ADDRESS_ALLOW:
        return true;
    case ADDRESS_FLOOR:
        settle(verdict, REASON_FLOOR, LAYER_BUILTIN);
        return false;
    default:
        settle(verdict, verdict->grant ? REASON_PRIVATE_ASK : REASON_PRIVATE, LAYER_BUILTIN);
        request_missing_private(request, address, verdict->missing);
        return false;
    }
}

unsigned policy_scopes(const struct request *request, const struct verdict *verdict, bool deny,
                       unsigned *ret_typed)
{
    unsigned once = 1U << SCOPE_ONCE | 1U << SCOPE_NEXT, session = once;
    if (request->session && *request->session)
        session |= 1U << SCOPE_SESSION;
    unsigned all = session | 1U << SCOPE_PROJECT | 1U << SCOPE_ALL | 1U << SCOPE_DURATION;
    unsigned scopes = all;
    bool web = verdict->proto == PROTO_TLS || verdict->proto == PROTO_HTTP;
    bool port = request->port == 443 || request->port == 80;
    if (!deny && (verdict->reason == REASON_PRIVATE_ASK || !web || !port))
        scopes = once;
    else if (!deny &&
             (verdict->uploads || verdict->reason == REASON_UPLOAD || request->host.kind != HOST_NAME))
        scopes = session;
    if (!deny && !verdict->missing[0]) /* a rule asks: another under it would change nothing */
        scopes &= ~(1U << SCOPE_PROJECT | 1U << SCOPE_ALL);
    if (!deny && verdict->effect != VERDICT_ASK)
        scopes = 0;
    if (!request->project || !*request->project)
        scopes = 0;
    if (ret_typed)
        *ret_typed = deny ? 0 : scopes & 1U << SCOPE_ALL;
    return scopes;
}
