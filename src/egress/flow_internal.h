/* flow_internal.h: between flow.c, flow_begin.c, flow_judge.c and flow_credit.c. */
#ifndef HUTCH_EGRESS_FLOW_INTERNAL_H
#define HUTCH_EGRESS_FLOW_INTERNAL_H

#include "egress/burst.h"
#include "egress/flow.h"
#include "egress/labels.h"
#include "worker/proto.h"

struct flows {
    char project[REQUEST_ID_MAX + 1];
    struct proxy *proxy;
    const struct flow_ops *ops;
    void *user;
    int64_t now_ms, now_s;
    struct policy *policy;
    struct budget *budget;
    struct burst *burst;
    struct labels *labels;
    struct flow *first;
    size_t count, held, resolving;
    double tokens; /* new flows that may come now */
    int64_t tokens_ms;
    uint64_t last_id; /* the worker's numbers only grow */
    bool log_broken;
    uint64_t up, down, second_up, second_down; /* bytes of this second, of the last full one */
    int64_t second;
};

/* ---- flow.c ---- */
struct flow *flows_find(struct flows *flows, uint64_t id);
/* Withdraws its question; has resolving and dialling dropped. */
void flow_leave_question(struct flows *flows, struct flow *flow);
void flow_leave_work(struct flows *flows, struct flow *flow);
void flow_free(struct flows *flows, struct flow *flow);
/* The whole answer to a flow that was not opened; it is gone afterwards. */
void flow_refuse(struct flows *flows, struct flow *flow, const char *words);
/* Ends a flow that has had its verdict: the worker is told, its END awaited. */
void flow_cut(struct flows *flows, struct flow *flow, const char *reason);
void flow_set_verdict(struct flow *flow, enum verdict_effect effect, enum reason reason);
uint32_t flow_status(enum reason reason);
/* Asks a person. Where that cannot be the flow is refused, its request is, or it is cut. The flow may be gone
 * afterwards: an answer can come at once. */
void flow_ask(struct flows *flows, struct flow *flow, enum flow_question question);
/* ---- flow_begin.c ---- */
bool flow_begin(struct flows *flows, const struct wmsg_flow_ask *ask);
/* The verdict of now on the flow's request; it points into flows->policy and the owner's grants. */
void flow_decide_now(struct flows *flows, struct flow *flow, struct verdict *ret_verdict);
void flow_keep_verdict(struct flows *flows, struct flow *flow, const struct verdict *verdict);
/* Judges it as if it had just come; the flow may be gone afterwards. */
void flow_judge_new(struct flows *flows, struct flow *flow);
/* On with a flow whose verdict is ALLOW. */
void flow_allowed(struct flows *flows, struct flow *flow);
void flow_next_lookup(struct flows *flows);
/* Leaves the addresses that may be dialled; false: none, and why. */
bool flow_filter(struct flows *flows, struct flow *flow, struct verdict *ret_refused);
/* A person said yes to a private address. */
void flow_private_answer(struct flows *flows, struct flow *flow, const struct address *address);
/* Sorts out its addresses and sends the verdict, or refuses. */
void flow_check_addresses(struct flows *flows, struct flow *flow);

/* ---- flow_credit.c ---- */
uint64_t flow_first_credit(struct flows *flows, struct flow *flow);
void flow_more(struct flows *flows, struct flow *flow);
/* A person gave more bytes. */
void flow_raise(struct flows *flows, struct flow *flow, uint64_t bytes);
void flows_roll_second(struct flows *flows);
void flow_give_back(struct flows *flows, struct flow *flow);
/* Bytes as the worker counts them; false: they cannot be. */
bool flow_count(struct flows *flows, struct flow *flow, uint64_t up, uint64_t down);

#endif
