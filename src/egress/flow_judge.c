/* Another policy: every flow is judged again by its recorded request. */
#include "base/alloc.h"
#include "egress/flow_internal.h"

#include <string.h>

/* Is it still let to where it is connected, or may be? */
static bool addresses_hold(struct flows *flows, struct flow *flow, const struct verdict *verdict)
{
    struct flow copy = *flow;
    struct verdict refused;

    if (verdict->host_port || flow->verdict.host_port)
        return verdict->host_port && flow->verdict.host_port &&
               !strcmp(verdict->host_port, flow->verdict.host_port);
    if (flow->proxy[0])
        return true;
    copy.verdict = *verdict;
    if (flow->state == FLOW_STATE_OPEN) {
        copy.addresses[0] = flow->used;
        copy.address_count = 1;
    }
    if (!flow_filter(flows, &copy, &refused))
        return false;
    if (flow->state != FLOW_STATE_OPEN) {
        memcpy(flow->addresses, copy.addresses, sizeof(flow->addresses));
        flow->address_count = copy.address_count;
    }
    return true;
}

/* One that has its verdict: it goes on, or is cut. */
static void judge_open(struct flows *flows, struct flow *flow)
{
    struct verdict verdict;

    flow_decide_now(flows, flow, &verdict);
    /* What a person said yes to stays so until a rule denies it. */
    if (verdict.effect == VERDICT_ASK && (flow->answered || flow->verdict.reason == REASON_GRANT))
        return;
    if (verdict.effect == VERDICT_ALLOW && verdict.proto == flow->verdict.proto &&
        addresses_hold(flows, flow, &verdict)) {
        if (!flow->answered)
            flow_keep_verdict(flows, flow, &verdict);
        return;
    }
    flow_cut(flows, flow, reason_name(REASON_CHANGED));
}

/* A question that the new rules ask too stays the same question, under its number. */
static bool still_asked(struct flows *flows, struct flow *flow)
{
    struct verdict verdict;

    if (flow->state != FLOW_STATE_HELD || flow->asked != FLOW_ASK_OPEN || flow->verdict.budget)
        return false;
    flow_decide_now(flows, flow, &verdict);
    if (verdict.effect != VERDICT_ASK || verdict.proto != flow->verdict.proto)
        return false;
    flow_keep_verdict(flows, flow, &verdict);
    return true;
}

static void judge_again(struct flows *flows, struct flow *flow)
{
    if (flow->reserved || flow->state == FLOW_STATE_ENDING)
        return;
    if (flow->state > FLOW_STATE_RESOLVING) {
        judge_open(flows, flow);
        return;
    }
    if (still_asked(flows, flow))
        return;
    flow_leave_question(flows, flow);
    flow_leave_work(flows, flow);
    flow->state = FLOW_STATE_NEW;
    flow_judge_new(flows, flow);
}

/* Each flow that is there now, by its number: judging may end any of them. */
static size_t list_ids(const struct flows *flows, uint64_t ids[FLOWS_MAX + 1])
{
    size_t count = 0;

    for (const struct flow *flow = flows->first; flow && count < FLOWS_MAX + 1; flow = flow->next)
        ids[count++] = flow->id;
    return count;
}

static void judge_all(struct flows *flows)
{
    uint64_t ids[FLOWS_MAX + 1];
    size_t count = list_ids(flows, ids);

    for (size_t i = 0; i < count; i++) {
        struct flow *flow = flows_find(flows, ids[i]);

        if (flow)
            judge_again(flows, flow);
    }
    flow_next_lookup(flows);
}

void flows_set_policy(struct flows *flows, struct policy *policy)
{
    struct policy *old = flows->policy;

    flows->policy = policy ? policy_ref(policy) : NULL;
    judge_all(flows);
    policy_unref(old);
}

/* One that the grant let through: something else lets it now, or it ends. */
static void judge_revoked(struct flows *flows, struct flow *flow)
{
    struct verdict verdict;

    if (flow->state <= FLOW_STATE_RESOLVING) {
        judge_again(flows, flow);
        return;
    }
    flow_decide_now(flows, flow, &verdict);
    flow->answered = false;
    if (verdict.effect == VERDICT_ALLOW && verdict.proto == flow->verdict.proto &&
        addresses_hold(flows, flow, &verdict))
        flow_keep_verdict(flows, flow, &verdict);
    else
        flow_cut(flows, flow, reason_name(REASON_CHANGED));
}

void flows_revoke(struct flows *flows, uint64_t grant_id)
{
    uint64_t ids[FLOWS_MAX + 1];
    size_t count = list_ids(flows, ids);

    for (size_t i = 0; i < count; i++) {
        struct flow *flow = flows_find(flows, ids[i]);

        if (flow && flow->verdict.grant && flow->verdict.grant->id == grant_id &&
            flow->state != FLOW_STATE_ENDING)
            judge_revoked(flows, flow);
    }
    flow_next_lookup(flows);
}
