#include "egress/flow.h"

#include "base/alloc.h"
#include "egress/flow_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const end_words[FLOW_END_COUNT] = {
#define X(name, word) [FLOW_END_##name] = word,
    FLOW_ENDS(X)
#undef X
};

const char *flow_state_name(enum flow_state state)
{
    static const char *const names[FLOW_STATE_COUNT] = {
        [FLOW_STATE_NEW] = "new",
        [FLOW_STATE_HELD] = "held",
        [FLOW_STATE_RESOLVING] = "resolving",
        [FLOW_STATE_ALLOWED] = "allowed",
        [FLOW_STATE_RECORDING] = "recording",
        [FLOW_STATE_DIALING] = "dialing",
        [FLOW_STATE_OPEN] = "open",
        [FLOW_STATE_ENDING] = "ending",
    };

    return names[state];
}

/* ---- the table ---- */

struct flow *flows_find(struct flows *flows, uint64_t id)
{
    struct flow *flow = flows->first;

    while (flow && flow->id != id)
        flow = flow->next;
    return flow;
}

/* What was begun for it is not wanted any more. */
void flow_leave_question(struct flows *flows, struct flow *flow)
{
    if (flow->state == FLOW_STATE_HELD)
        flows->held--;
    if ((flow->asked || flow->reserved) && flows->ops->withdraw)
        flows->ops->withdraw(flow, flows->user);
    flow->asked = FLOW_ASK_NOTHING;
}

void flow_leave_work(struct flows *flows, struct flow *flow)
{
    if (flow->resolving || flow->state == FLOW_STATE_DIALING)
        flows->ops->drop(flow->id, flows->user);
    if (flow->resolving)
        flows->resolving--;
    flow->resolving = false;
}

void flow_free(struct flows *flows, struct flow *flow)
{
    struct flow **at = &flows->first;

    while (*at != flow)
        at = &(*at)->next;
    *at = flow->next;
    flows->count--;
    flow_leave_question(flows, flow);
    flow_leave_work(flows, flow);
    flow_give_back(flows, flow);
    policy_unref(flow->policy);
    free(flow);
    flow_next_lookup(flows);
}

/* ---- refusing ---- */

void flow_set_verdict(struct flow *flow, enum verdict_effect effect, enum reason reason)
{
    flow->verdict.effect = effect;
    flow->verdict.reason = reason;
    if (reason == REASON_RESOLVE)
        flow->verdict.missing[0] = 0; /* no rule helps a name that is none */
}

uint32_t flow_status(enum reason reason)
{
    switch (reason) {
    case REASON_FORM:
    case REASON_FORM_TLS:
    case REASON_FORM_SNI:
    case REASON_FORM_HTTP:
        return 400;
    case REASON_RESOLVE:
    case REASON_CONNECT:
        return 502;
    case REASON_LIMIT:
    case REASON_LOG:
    case REASON_NO_UI:
    case REASON_ASK_QUOTA:
    case REASON_STOPPED:
        return 503;
    default:
        return 403;
    }
}

void flow_refuse(struct flows *flows, struct flow *flow, const char *words)
{
    struct wmsg_flow_verdict message = {.type = WMSG_FLOW_VERDICT,
                                        .verdict = FLOW_REFUSE,
                                        .flow = flow->id,
                                        .status = flow_status(flow->verdict.reason)};

    refusal_body(flow->parsed ? &flow->request : NULL, &flow->verdict, words, flow->request_id, message.body);
    message.body_len = (uint32_t)strlen(message.body);
    flows->ops->send(&message, sizeof(message), -1, flows->user);
    burst_add(flows->burst, flow, flows->now_ms);
    flow_free(flows, flow);
}

static void refuse_request(struct flows *flows, struct flow *flow, uint32_t number,
                           const struct verdict *verdict, const char *words)
{
    struct wmsg_flow_request_verdict message = {.type = WMSG_FLOW_REQUEST_VERDICT,
                                                .flow = flow->id,
                                                .number = number,
                                                .status = flow_status(verdict->reason)};
    struct flow refused = *flow;

    refusal_body(&flow->request, verdict, words, flow->request_id, message.body);
    flows->ops->send(&message, sizeof(message), -1, flows->user);
    refused.verdict = *verdict;
    burst_add(flows->burst, &refused, flows->now_ms);
}

void flow_cut(struct flows *flows, struct flow *flow, const char *reason)
{
    struct wmsg_flow_cut message = {.type = WMSG_FLOW_CUT, .flow = flow->id};

    if (flow->state == FLOW_STATE_ENDING)
        return;
    flow_leave_question(flows, flow);
    flow_leave_work(flows, flow);
    flow->end_reason = reason;
    flow->state = FLOW_STATE_ENDING;
    flows->ops->send(&message, sizeof(message), -1, flows->user);
}

static void send_dialed(struct flows *flows, struct flow *flow, const char *failure, int fd)
{
    struct wmsg_flow_dialed message = {.type = WMSG_FLOW_DIALED, .ok = !failure, .flow = flow->id};

    snprintf(message.reason, sizeof(message.reason), "%s", failure ? failure : "");
    flows->ops->send(&message, sizeof(message), fd, flows->user);
    flow->state = failure ? FLOW_STATE_ENDING : FLOW_STATE_OPEN;
    if (failure)
        flow->end_reason = failure;
}

/* ---- questions ---- */

/* The question cannot be asked, or was answered with no. */
static void answer_no(struct flows *flows, struct flow *flow, enum flow_question question, uint32_t number,
                      enum reason reason, const char *words)
{
    struct verdict verdict = flow->verdict;

    verdict.effect = VERDICT_DENY;
    verdict.reason = reason;
    if (question == FLOW_ASK_REQUEST) {
        refuse_request(flows, flow, number, &verdict, words);
    } else if (question == FLOW_ASK_MORE) {
        flow_cut(flows, flow, reason_name(flow->verdict.reason));
    } else {
        flow->verdict = verdict;
        flow_refuse(flows, flow, words);
    }
}

void flow_ask(struct flows *flows, struct flow *flow, enum flow_question question)
{
    enum reason reason = flows->log_broken ? REASON_LOG : REASON_NO_UI;
    uint64_t id = flow->id, asked = 0;
    bool holds = question == FLOW_ASK_OPEN || question == FLOW_ASK_PRIVATE;

    flow->asked = (uint8_t)question;
    if (holds) {
        flow->state = FLOW_STATE_HELD;
        flows->held++;
    }
    if (holds && flows->held > FLOWS_HELD_MAX)
        reason = REASON_ASK_QUOTA;
    else if (flows->ops->ask && !flows->log_broken)
        asked = flows->ops->ask(flow, &reason, flows->user);
    flow = flows_find(flows, id); /* the answer may have come from inside of ask */
    if (!flow || flow->asked != (uint8_t)question)
        return;
    if (asked) {
        flow->request_id = asked;
        return;
    }
    flow->asked = FLOW_ASK_NOTHING;
    answer_no(flows, flow, question, flow->asked_number, reason, NULL);
}

static void allow_request(struct flows *flows, struct flow *flow, uint32_t number)
{
    struct wmsg_flow_request_verdict message = {
        .type = WMSG_FLOW_REQUEST_VERDICT, .ok = 1, .flow = flow->id, .number = number, .status = 200};

    flows->ops->send(&message, sizeof(message), -1, flows->user);
}

/* A yes. Deny rules of now still stand: a question may be old. */
static void answer_yes(struct flows *flows, struct flow *flow, enum flow_question question,
                       const struct flow_answer *answer)
{
    if (answer->grant) {
        flow->grant = *answer->grant;
        flow->verdict.grant = &flow->grant;
    }
    if (question == FLOW_ASK_REQUEST) {
        allow_request(flows, flow, flow->asked_number);
    } else if (question == FLOW_ASK_MORE) {
        flow_raise(flows, flow, answer->bytes);
    } else if (question == FLOW_ASK_PRIVATE) {
        flow->answered = true;
        flow_private_answer(flows, flow, &answer->private_address);
    } else {
        flow->answered = true;
        flow_set_verdict(flow, VERDICT_ALLOW, REASON_GRANT);
        flow_allowed(flows, flow);
    }
}

void flows_answer(struct flows *flows, uint64_t id, const struct flow_answer *answer)
{
    struct flow *flow = flows_find(flows, id);
    enum flow_question question;
    struct verdict verdict;

    if (!flow || !flow->asked)
        return;
    if (flows->ops->time)
        flows->ops->time(&flows->now_ms, &flows->now_s, flows->user);
    question = (enum flow_question)flow->asked;
    flow->asked = FLOW_ASK_NOTHING;
    if (flow->state == FLOW_STATE_HELD) {
        flows->held--;
        flow->state = FLOW_STATE_NEW;
    }
    flow_decide_now(flows, flow, &verdict);
    if (!answer->allow)
        answer_no(flows, flow, question, flow->asked_number, answer->reason, answer->words);
    else if (verdict.effect == VERDICT_DENY)
        answer_no(flows, flow, question, flow->asked_number, verdict.reason, NULL);
    else if (flows->log_broken)
        answer_no(flows, flow, question, flow->asked_number, REASON_LOG, NULL);
    else
        answer_yes(flows, flow, question, answer);
}

void flows_reply(struct flows *flows, uint64_t id, const char *body)
{
    struct flow *flow = flows_find(flows, id);
    struct wmsg_flow_verdict message = {
        .type = WMSG_FLOW_VERDICT, .verdict = FLOW_REPLY, .flow = id, .status = 200};

    if (!flow || !flow->reserved)
        return;
    snprintf(message.body, sizeof(message.body), "%s", body);
    message.body_len = (uint32_t)strlen(message.body);
    flows->ops->send(&message, sizeof(message), -1, flows->user);
    flow_free(flows, flow);
}

/* ---- what the worker says ---- */

static bool take_ready(struct flows *flows, struct flow *flow, const struct wmsg_flow_ready *m)
{
    const struct flow_record record = {.row = FLOW_ROW_OPEN, .flow = flow};

    if (flow->state != FLOW_STATE_ALLOWED)
        return false;
    flow->tls_version = m->tls_version;
    flow->ech = m->ech;
    flow->alpn_count = m->alpn_count;
    memcpy(flow->sni, m->sni, sizeof(flow->sni));
    memcpy(flow->alpn, m->alpn, sizeof(flow->alpn));
    flow->state = FLOW_STATE_RECORDING;
    flow->opened_ms = flows->now_ms;
    flows->ops->record(&record, flows->user);
    return true;
}

void flows_recorded(struct flows *flows, uint64_t id, bool written)
{
    struct flow *flow = flows_find(flows, id);
    struct dial_target target = {0};

    flows->log_broken = !written;
    if (!flow)
        return;
    flow->recorded = written;
    if (flow->state != FLOW_STATE_RECORDING)
        return;
    if (!written) {
        send_dialed(flows, flow, reason_name(REASON_LOG), -1);
        return;
    }
    target.port = flow->request.port;
    target.any_private = flow->verdict.reason == REASON_OPEN;
    target.count = flow->address_count;
    memcpy(target.addresses, flow->addresses, sizeof(target.addresses));
    target.range_count = flow->verdict.private_count;
    memcpy(target.ranges, flow->verdict.private_ranges, sizeof(target.ranges));
    if (flow->verdict.host_port)
        snprintf(target.to, sizeof(target.to), "%s", flow->verdict.host_port);
    if (flow->proxy[0]) {
        struct host proxy;

        host_format(&flow->request.host, flow->request.port, target.through);
        if (flows->proxy && !strcmp(flows->proxy->authority, flow->proxy))
            memcpy(target.authorization, flows->proxy->authorization, sizeof(target.authorization));
        host_parse_authority(flow->proxy, strlen(flow->proxy), 0, &proxy, &target.port, NULL);
    }
    flow->state = FLOW_STATE_DIALING;
    flows->ops->dial(flow->id, &target, flows->user);
    explicit_bzero(target.authorization, sizeof(target.authorization));
}

void flows_dialed(struct flows *flows, uint64_t id, const struct dial_result *result)
{
    struct flow *flow = flows_find(flows, id);
    autoclose int fd = result->fd;

    if (!flow || flow->state != FLOW_STATE_DIALING)
        return;
    flow->dial_ms = result->ms;
    flow->used = result->used;
    if (result->failure)
        snprintf(flow->failure, sizeof(flow->failure), "%s", result->failure);
    send_dialed(flows, flow, result->failure, steal_fd(&fd));
}

/* A person opened the connection, for itself or beforehand, and no rule speaks of this request alone. */
static bool covered_by_answer(const struct flow *flow, const struct verdict *verdict)
{
    return (flow->answered || flow->verdict.reason == REASON_GRANT) && !verdict->needs_head &&
           (!verdict->rule || (!verdict->rule->methods && !verdict->rule->path_count));
}

static bool take_request(struct flows *flows, struct flow *flow, const struct wmsg_flow_request *m)
{
    struct verdict verdict;

    if (flow->state < FLOW_STATE_ALLOWED || flow->verdict.proto != PROTO_HTTP || flow->asked ||
        m->number <= flow->asked_number)
        return false;
    flow->asked_number = m->number;
    memcpy(flow->method, m->method, sizeof(flow->method));
    memcpy(flow->path, m->path, sizeof(flow->path));
    flow->request.method = flow->method;
    flow->request.path = flow->path;
    flow_decide_now(flows, flow, &verdict);
    if (verdict.effect == VERDICT_ASK && covered_by_answer(flow, &verdict))
        verdict.effect = VERDICT_ALLOW;
    else if (verdict.effect == VERDICT_ALLOW && !flow->answered)
        flow_keep_verdict(flows, flow, &verdict);
    if (verdict.effect == VERDICT_ALLOW)
        allow_request(flows, flow, m->number);
    else if (verdict.effect == VERDICT_ASK)
        flow_ask(flows, flow, FLOW_ASK_REQUEST);
    else
        refuse_request(flows, flow, m->number, &verdict, NULL);
    return true;
}

static bool take_response(struct flows *flows, struct flow *flow, const struct wmsg_flow_response *m)
{
    const struct flow_record record = {.row = FLOW_ROW_REQUEST, .flow = flow};

    if (flow->verdict.proto != PROTO_HTTP || m->number > flow->asked_number || m->number <= flow->http_number)
        return false;
    flow->http_number = m->number;
    flow->http_status = m->status;
    flows->ops->record(&record, flows->user);
    return true;
}

/* Why a flow that was allowed never opened. */
static enum reason early_end(const struct flow *flow, const struct wmsg_flow_end *m)
{
    enum reason reason = reason_from_name(m->reason);

    if (m->end == FLOW_END_FORM && reason != REASON_COUNT && reason_effect(reason) == VERDICT_DENY)
        return reason;
    if (m->end == FLOW_END_FORM || m->end == FLOW_END_IDLE)
        return flow->verdict.proto == PROTO_HTTP ? REASON_FORM_HTTP : REASON_FORM_TLS;
    return flow->end_reason ? REASON_CHANGED : REASON_GONE;
}

static void write_close(struct flows *flows, const struct flow *flow, const struct wmsg_flow_end *m)
{
    char reason[sizeof(m->reason)];
    const struct flow_record record = {
        .row = FLOW_ROW_CLOSE,
        .flow = flow,
        .end = end_words[m->end],
        .end_reason = flow->end_reason ? flow->end_reason : reason,
        .ms = flows->now_ms - flow->opened_ms,
    };

    memcpy(reason, m->reason, sizeof(reason));
    flows->ops->record(&record, flows->user);
}

static void end_flow(struct flows *flows, struct flow *flow, const struct wmsg_flow_end *m)
{
    /* While its open row is on the way the close row comes behind it. */
    if (flow->recorded || flow->state == FLOW_STATE_RECORDING) {
        write_close(flows, flow, m);
    } else if (!flow->reserved && !(flow->state == FLOW_STATE_ENDING && flow->opened_ms)) {
        flow_set_verdict(flow, VERDICT_DENY, early_end(flow, m));
        snprintf(flow->failure, sizeof(flow->failure), "%s", m->reason);
        burst_add(flows->burst, flow, flows->now_ms);
    }
    flow_free(flows, flow);
}

static bool take_end(struct flows *flows, struct flow *flow, const struct wmsg_flow_end *m)
{
    if (!flow_count(flows, flow, m->up, m->down))
        return false;
    end_flow(flows, flow, m);
    return true;
}

bool flows_take(struct flows *flows, const void *message)
{
    /* Every message has type, four bytes, and the flow's number. */
    const struct wmsg_flow_stat *head = message;
    struct flow *flow;

    if (head->type == WMSG_FLOW_ASK)
        return flow_begin(flows, message);
    flow = flows_find(flows, head->flow);
    if (!flow)
        return head->flow <= flows->last_id;
    switch (head->type) {
    case WMSG_FLOW_END:
        return take_end(flows, flow, message);
    case WMSG_FLOW_STAT:
        return flow_count(flows, flow, head->up, head->down);
    default:
        break;
    }
    if (flow->state == FLOW_STATE_ENDING)
        return true;
    switch (head->type) {
    case WMSG_FLOW_READY:
        return take_ready(flows, flow, message);
    case WMSG_FLOW_REQUEST:
        return take_request(flows, flow, message);
    case WMSG_FLOW_RESPONSE:
        return take_response(flows, flow, message);
    case WMSG_FLOW_NEED: {
        const struct wmsg_flow_need *need = message;

        if (flow->state < FLOW_STATE_ALLOWED || !flow_count(flows, flow, need->up, need->down))
            return false;
        flow_more(flows, flow);
        return true;
    }
    default:
        return false;
    }
}

void flows_lost(struct flows *flows)
{
    const struct wmsg_flow_end lost = {.type = WMSG_FLOW_END, .end = FLOW_END_LOST};

    while (flows->first)
        end_flow(flows, flows->first, &lost);
    flows->last_id = 0; /* the next worker counts anew */
}

/* ---- life ---- */

void flows_set_time(struct flows *flows, int64_t now_ms, int64_t now_s)
{
    flows->now_ms = now_ms;
    flows->now_s = now_s;
}

void flows_set_log(struct flows *flows, bool works)
{
    flows->log_broken = !works;
}

bool flows_cut(struct flows *flows, uint64_t id, const char *reason)
{
    struct flow *flow = flows_find(flows, id);

    if (!flow || flow->state < FLOW_STATE_ALLOWED)
        return false;
    flow_cut(flows, flow, reason);
    return true;
}

int64_t flows_tick(struct flows *flows)
{
    flows_roll_second(flows);
    return burst_tick(flows->burst, flows->now_ms);
}

const struct flow *flows_first(const struct flows *flows)
{
    return flows->first;
}

void flows_rate(const struct flows *flows, uint64_t *ret_up, uint64_t *ret_down)
{
    bool recent = flows->now_ms / 1000 - flows->second <= 1;

    *ret_up = recent ? flows->second_up : 0;
    *ret_down = recent ? flows->second_down : 0;
}

struct budget *flows_budget(struct flows *flows)
{
    return flows->budget;
}

struct flows *flows_create(const char *project, const struct flow_ops *ops, void *user)
{
    struct flows *flows = xnew(struct flows);

    snprintf(flows->project, sizeof(flows->project), "%s", project);
    flows->ops = ops;
    flows->user = user;
    flows->budget = budget_create();
    flows->burst = burst_create(ops, user);
    flows->labels = labels_create();
    flows->tokens = FLOWS_BURST;
    return flows;
}

void flows_set_proxy(struct flows *flows, const struct proxy *proxy)
{
    proxy_destroy(steal(&flows->proxy));
    if (!proxy)
        return;
    flows->proxy = xnew(struct proxy);
    *flows->proxy = *proxy;
    flows->proxy->except = xstrdup(proxy->except);
}

void flows_destroy(struct flows *flows)
{
    if (!flows)
        return;
    flows_lost(flows);
    burst_destroy(flows->burst, flows->now_ms);
    labels_destroy(flows->labels);
    budget_destroy(flows->budget);
    policy_unref(flows->policy);
    proxy_destroy(flows->proxy);
    free(flows);
}
