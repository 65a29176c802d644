#include "flow_world.h"

static struct heard *hear(struct world *world, uint64_t flow)
{
    assert_true(flow > 0 && flow < 400000);
    return &world->heard[flow];
}

static void do_send(const void *message, size_t len, int fd, void *user)
{
    struct world *world = user;
    uint32_t type;

    memcpy(&type, message, sizeof(type));
    if (type == WMSG_FLOW_VERDICT) {
        const struct wmsg_flow_verdict *m = message;
        struct heard *heard = hear(world, m->flow);
        assert_int_equal(len, sizeof(*m));
        heard->allowed |= m->verdict == FLOW_ALLOW;
        heard->refused |= m->verdict == FLOW_REFUSE;
        heard->replied |= m->verdict == FLOW_REPLY;
        heard->status = m->status;
        heard->proto = m->proto;
        heard->flags = m->flags;
        heard->credit = m->credit;
        memcpy(heard->body, m->body, sizeof(heard->body));
        assert_int_equal(strlen(m->body), m->body_len);
    } else if (type == WMSG_FLOW_DIALED) {
        const struct wmsg_flow_dialed *m = message;
        struct heard *heard = hear(world, m->flow);
        assert_int_equal(m->ok, fd >= 0);
        heard->dialed |= m->ok;
        heard->dial_failed |= !m->ok;
        memcpy(heard->reason, m->reason, sizeof(heard->reason));
        if (fd >= 0)
            close(fd);
    } else if (type == WMSG_FLOW_CREDIT) {
        const struct wmsg_flow_credit *m = message;
        struct heard *heard = hear(world, m->flow);
        heard->credit = m->more == FLOW_CREDIT_ALL ? m->more : heard->credit + m->more;
    } else if (type == WMSG_FLOW_CUT) {
        hear(world, ((const struct wmsg_flow_cut *)message)->flow)->cut = true;
    } else {
        const struct wmsg_flow_request_verdict *m = message;
        struct heard *heard = hear(world, m->flow);
        assert_int_equal(type, WMSG_FLOW_REQUEST_VERDICT);
        heard->request_ok += m->ok;
        heard->request_refused += !m->ok;
        memcpy(heard->body, m->body, sizeof(heard->body));
    }
}

static void do_resolve(uint64_t flow, const char *name, void *user)
{
    struct world *world = user;
    struct address addresses[32];
    struct resolver_answer answer = {.failure = world->failure, .addresses = addresses, .ms = 3};

    world->lookup_flows[world->lookup_count] = flow;
    snprintf(world->lookups[world->lookup_count++], sizeof(world->lookups[0]), "%s", name);
    if (!world->answers && !world->failure)
        return;
    for (const char *at = world->answers; at && *at;) {
        size_t len = strcspn(at, " ");
        assert_ok(address_parse(at, len, &addresses[answer.count++], &err));
        at += len + strspn(at + len, " ");
    }
    flows_resolved(world->flows, flow, &answer);
}

static void do_dial(uint64_t flow, const struct dial_target *target, void *user)
{
    struct world *world = user;
    struct dial_result result = {.fd = -1, .failure = world->dial_failure, .used = target->addresses[0]};

    if (world->dial_count < countof(world->dialed))
        world->dialed[world->dial_count] = *target;
    world->dial_count++;
    if (world->hold_dials)
        return;
    if (!result.failure)
        result.fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    flows_dialed(world->flows, flow, &result);
}

static void do_drop(uint64_t flow, void *user)
{
    (void)flow;
    ((struct world *)user)->drops++;
}

static void do_record(const struct flow_record *record, void *user)
{
    struct world *world = user;
    struct row *row = &world->rows[world->row_count++ % WORLD_ROWS];
    const struct flow *flow = record->flow;

    *row = (struct row){.row = record->row, .count = record->count, .samples = record->sample_count};
    if (flow) {
        row->flow = flow->id;
        row->up = flow->up;
        row->down = flow->down;
        row->effect = flow->verdict.effect;
        row->reason = flow->verdict.reason;
        memcpy(row->authority, flow->authority, sizeof(row->authority));
        memcpy(row->failure, flow->failure, sizeof(row->failure));
        if (flow->used.family)
            address_format(&flow->used, row->used);
    }
    snprintf(row->end, sizeof(row->end), "%s", record->end ? record->end : "");
    snprintf(row->end_reason, sizeof(row->end_reason), "%s", record->end_reason ? record->end_reason : "");
    if (record->row == FLOW_ROW_OPEN && !world->hold_rows)
        flows_recorded(world->flows, flow->id, !world->journal_fails);
}

static void do_alert(const char *text, void *user)
{
    struct world *world = user;

    world->alerts++;
    snprintf(world->last_alert, sizeof(world->last_alert), "%s", text);
}

static int do_own(struct address *ret_own, size_t max, void *user)
{
    struct world *world = user;

    assert_true(max >= countof(world->own));
    memcpy(ret_own, world->own, sizeof(world->own));
    return world->own_count;
}

static size_t do_grants(const struct request *request, const struct grant **ret_grants, void *user)
{
    struct world *world = user;

    (void)request;
    *ret_grants = world->grants;
    return world->grant_count;
}

static uint64_t do_ask(const struct flow *flow, enum reason *ret_reason, void *user)
{
    struct world *world = user;

    if (world->nobody) {
        *ret_reason = REASON_NO_UI;
        return 0;
    }
    world->ask_count++;
    world->asked_flow = flow->id;
    world->question = (enum flow_question)flow->asked;
    world->asked_reason = flow->verdict.reason;
    memcpy(world->asked_missing, flow->verdict.missing, sizeof(world->asked_missing));
    return world->asked = 30 + world->ask_count;
}

static void do_withdraw(const struct flow *flow, void *user)
{
    (void)flow;
    ((struct world *)user)->withdrawn++;
}

static void do_wait(uint64_t flow, uint64_t request_id, void *user)
{
    (void)flow;
    ((struct world *)user)->waits = request_id;
}

static void do_git(uint64_t flow, enum flow_git what, const char *repo, void *user)
{
    struct world *w = user;

    (void)flow;
    snprintf(w->git, sizeof(w->git), "%s %s", what == FLOW_GIT_PUSH ? "push" : what == FLOW_GIT_FETCH ? "fetch" : "turn", repo);
}

const struct flow_ops world_ops = {
    .send = do_send,
    .resolve = do_resolve,
    .dial = do_dial,
    .drop = do_drop,
    .record = do_record,
    .alert = do_alert,
    .own = do_own,
    .grants = do_grants,
    .ask = do_ask,
    .withdraw = do_withdraw,
    .wait = do_wait,
    .git = do_git,
};

struct world *world_open(const char *proxy)
{
    struct world *world = xnew(struct world);

    world->heard = xnewn(struct heard, 400000);
    world->ms = 1000000;
    world->s = 1800000000;
    world->answers = "93.184.216.34";
    world->flows = flows_create("p1", &world_ops, world);
    if (proxy) {
        auto(proxy) struct proxy *way = NULL;

        assert_int_equal(proxy_parse(proxy, ".direct.test,192.0.2.0/24", &way, NULL), 0);
        flows_set_proxy(world->flows, way);
    }
    flows_set_time(world->flows, world->ms, world->s);
    return world;
}

void world_close(struct world *world)
{
    flows_destroy(world->flows);
    policy_unref(world->policy);
    free(world->heard);
    free(world);
}

void world_policy(struct world *world, enum policy_mode mode, const char *const *rules)
{
    static const struct policy_host_port ports[] = {{"pg", 5432, "127.0.0.1:5432"}};
    struct policy_options options = {
        .generation = ++world->generation, .mode = mode, .host_ports = ports, .host_port_count = 1};
    struct rule *parsed[64];
    size_t count = 0;

    for (; rules && rules[count]; count++) {
        const char *text = rules[count];
        struct rule_origin origin = {.layer = *text == '@' ? LAYER_USER : LAYER_PROJECT};
        text += *text == '@';
        assert_ok(rule_parse(text, strlen(text), &origin, &parsed[count], &err));
    }
    policy_unref(world->policy);
    assert_ok(policy_create(&options, parsed, count, &world->policy, &err));
    flows_set_policy(world->flows, world->policy);
}

uint64_t world_ask_by(struct world *world, const char *authority, enum flow_entrance entrance)
{
    struct wmsg_flow_ask ask = {.type = WMSG_FLOW_ASK, .entrance = entrance, .flow = ++world->next_flow};

    snprintf(ask.authority, sizeof(ask.authority), "%s", authority);
    ask.claim.known = 1;
    snprintf(ask.claim.session, sizeof(ask.claim.session), "s1");
    assert_true(flows_take(world->flows, &ask));
    return ask.flow;
}

uint64_t world_ask(struct world *world, const char *authority)
{
    return world_ask_by(world, authority, FLOW_CONNECT);
}

bool world_ready(struct world *world, uint64_t flow)
{
    struct wmsg_flow_ready ready = {.type = WMSG_FLOW_READY, .flow = flow};

    return flows_take(world->flows, &ready);
}

bool world_need(struct world *world, uint64_t flow, uint64_t up)
{
    struct wmsg_flow_need need = {.type = WMSG_FLOW_NEED, .flow = flow, .up = up, .waiting = 1000};

    return flows_take(world->flows, &need);
}

bool world_stat(struct world *world, uint64_t flow, uint64_t up, uint64_t down)
{
    struct wmsg_flow_stat stat = {.type = WMSG_FLOW_STAT, .flow = flow, .up = up, .down = down};

    return flows_take(world->flows, &stat);
}

bool world_end(struct world *world, uint64_t flow, enum flow_end end, uint64_t up, uint64_t down,
               const char *reason)
{
    struct wmsg_flow_end message = {.type = WMSG_FLOW_END, .end = end, .flow = flow, .up = up, .down = down};

    snprintf(message.reason, sizeof(message.reason), "%s", reason ? reason : "");
    return flows_take(world->flows, &message);
}

void world_pass(struct world *world, int64_t ms)
{
    world->ms += ms;
    world->s += ms / 1000;
    flows_set_time(world->flows, world->ms, world->s);
    flows_tick(world->flows);
}

size_t world_rows(const struct world *world, enum flow_row row)
{
    size_t count = 0;

    for (size_t i = 0; i < world->row_count && i < WORLD_ROWS; i++)
        count += world->rows[i].row == row;
    return count;
}

const struct row *world_last(const struct world *world, enum flow_row row)
{
    for (size_t i = world->row_count; i > 0; i--) {
        if (world->rows[i - 1].row == row)
            return &world->rows[i - 1];
    }
    fail_msg("no row of kind %d", row);
    return NULL;
}
