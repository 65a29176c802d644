/* Bytes of flows: what they may send, and what they have sent. */
#include "base/alloc.h"
#include "egress/flow_internal.h"

#define FIRST_BUDGET 4096 /* credit at first: a first flight fits */
#define FIRST_CAPPED (64 * 1024)
#define NEXT_BUDGET  4096 /* and then at a time; small where little is left for all */
#define NEXT_CAPPED  (1024 * 1024)

static struct budget_limits limits_of(const struct flow *flow)
{
    const struct verdict *verdict = &flow->verdict;
    uint64_t name = verdict->caps.hour;

    if (verdict->budget && name > BUDGET_NAME_BYTES)
        name = BUDGET_NAME_BYTES;
    return (struct budget_limits){.name_bytes = name, .total = verdict->budget};
}

/* Takes at most want bytes of what the limits leave. */
static uint64_t take(struct flows *flows, struct flow *flow, uint64_t want)
{
    struct budget_limits limits = limits_of(flow);
    uint64_t of_connection = flow->verdict.caps.connection;
    bool counted = limits.total || limits.name_bytes != UINT64_MAX;

    if (!counted && of_connection == UINT64_MAX)
        return FLOW_CREDIT_ALL;
    if (of_connection != UINT64_MAX) {
        uint64_t left = of_connection > flow->taken ? of_connection - flow->taken : 0;

        want = want < left ? want : left;
    }
    uint64_t got =
        counted && want ? budget_take(flows->budget, &flow->request.host, want, &limits, flows->now_s) : want;
    flow->taken += got;
    flow->taken_s = flows->now_s;
    return got;
}

uint64_t flow_first_credit(struct flows *flows, struct flow *flow)
{
    flow->credit = take(flows, flow, flow->verdict.budget ? FIRST_BUDGET : FIRST_CAPPED);
    return flow->credit;
}

/* A flow waits only when it has used all it had: what is left is of the last taking. */
void flow_give_back(struct flows *flows, struct flow *flow)
{
    struct budget_limits limits = limits_of(flow);
    uint64_t left = flow->taken > flow->up ? flow->taken - flow->up : 0;

    if (left && (limits.total || limits.name_bytes != UINT64_MAX))
        budget_give_back(flows->budget, &flow->request.host, left, &limits, flow->taken_s);
    flow->taken = 0;
}

static bool give(struct flows *flows, struct flow *flow)
{
    uint64_t got = take(flows, flow, flow->verdict.budget ? NEXT_BUDGET : NEXT_CAPPED);
    struct wmsg_flow_credit message = {.type = WMSG_FLOW_CREDIT, .flow = flow->id, .more = got};

    if (!got)
        return false;
    flow->credit = got == FLOW_CREDIT_ALL ? got : flow->credit + got;
    flows->ops->send(&message, sizeof(message), -1, flows->user);
    return true;
}

void flow_more(struct flows *flows, struct flow *flow)
{
    if (flow->asked || flow->credit == FLOW_CREDIT_ALL || flow->up < flow->credit || give(flows, flow))
        return;
    flow->verdict.reason = flow->verdict.budget ? REASON_BUDGET_BYTES : REASON_UPLOAD;
    flow_ask(flows, flow, FLOW_ASK_MORE);
}

void flow_raise(struct flows *flows, struct flow *flow, uint64_t bytes)
{
    struct budget_limits limits = limits_of(flow);

    budget_raise(flows->budget, &flow->request.host, bytes, &limits, flows->now_s);
    if (flow->verdict.caps.connection != UINT64_MAX)
        flow->verdict.caps.connection += bytes;
    if (!give(flows, flow))
        flow_cut(flows, flow, reason_name(flow->verdict.reason));
}

void flows_roll_second(struct flows *flows)
{
    int64_t second = flows->now_ms / 1000;

    if (second == flows->second)
        return;
    bool next = second == flows->second + 1;
    flows->second_up = next ? flows->up : 0;
    flows->second_down = next ? flows->down : 0;
    flows->up = flows->down = 0;
    flows->second = second;
}

bool flow_count(struct flows *flows, struct flow *flow, uint64_t up, uint64_t down)
{
    if (up < flow->up || down < flow->down || (flow->credit != FLOW_CREDIT_ALL && up > flow->credit))
        return false;
    flows_roll_second(flows);
    flows->up += up - flow->up;
    flows->down += down - flow->down;
    flow->up = up;
    flow->down = down;
    return true;
}
