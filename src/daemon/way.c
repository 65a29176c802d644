#include "daemon/git_asked.h"
#include "daemon/inbox.h"
#include "daemon/inbox_egress.h"
#include "daemon/inbox_grants.h"
#include "daemon/way_internal.h"

#include "base/alloc.h"
#include "base/file.h"
#include "base/log.h"
#include "base/units.h"
#include "policy/budget.h"
#include "wire/json.h"

#include <stdlib.h>
#include <string.h>

#define HITS_MAX 4096 /* rules of a project whose use is counted */

/* A lookup or a dial of a flow. */
struct errand {
    struct errand *next;
    struct way *way;
    uint64_t flow, lookup;
    struct dial *dial;
};

static void on_tick(uv_timer_t *timer);

/* ---- one project's way ---- */

static struct way *find(struct ways *ways, const char *id)
{
    struct way *way = ways ? ways->first : NULL;

    while (way && strcmp(way->id, id))
        way = way->next;
    return way;
}

struct flows *way_now(struct way *way)
{
    flows_set_time(way->flows, units_monotonic_ns() / 1000000, units_now_ns() / 1000000000);
    return way->flows;
}

void way_plan(struct way *way)
{
    int64_t ms = flows_tick(way_now(way)), keep = way_budget_tick(way);

    if (keep >= 0 && (ms < 0 || keep < ms))
        ms = keep;
    if (ms >= 0)
        uv_timer_start(&way->tick, on_tick, (uint64_t)ms, 0);
}

static void on_tick(uv_timer_t *timer)
{
    way_plan(timer->data);
}

/* ---- what flows want done ---- */

static void do_send(const void *message, size_t len, int fd, void *user)
{
    struct way *way = user;

    if (!uv_is_active((uv_handle_t *)&way->tick)) /* an answer may have come by itself */
        uv_timer_start(&way->tick, on_tick, 0, 0);
    if (way->guest)
        guest_flow_send(way->guest, message, len, fd);
    else
        cleanup_close(&fd);
}

static struct errand *add_errand(struct way *way, uint64_t flow)
{
    struct errand *errand = xnew(struct errand);

    errand->way = way;
    errand->flow = flow;
    errand->next = way->errands;
    way->errands = errand;
    return errand;
}

static void end_errand(struct errand *errand)
{
    struct errand **at = &errand->way->errands;

    while (*at != errand)
        at = &(*at)->next;
    *at = errand->next;
    free(errand);
}

static void on_resolved(const struct resolver_answer *answer, void *user)
{
    struct errand *errand = user;
    struct way *way = errand->way;
    uint64_t flow = errand->flow;

    end_errand(errand);
    flows_resolved(way_now(way), flow, answer);
    way_plan(way);
}

static void do_resolve(uint64_t flow, const char *name, void *user)
{
    struct way *way = user;
    struct errand *errand = add_errand(way, flow);
    uint64_t lookup = resolver_lookup(way->ways->resolver, name, on_resolved, errand);

    if (lookup) /* else it was answered from inside, and is gone */
        errand->lookup = lookup;
}

static void on_dialed(const struct dial_result *result, void *user)
{
    struct errand *errand = user;
    struct way *way = errand->way;
    uint64_t flow = errand->flow;

    end_errand(errand);
    flows_dialed(way_now(way), flow, result);
    way_plan(way);
}

static void do_dial(uint64_t flow, const struct dial_target *target, void *user)
{
    struct way *way = user;
    struct errand *errand = add_errand(way, flow);

    errand->dial = dial_start(&way->ways->daemon->loop, target, on_dialed, errand);
}

static void do_drop(uint64_t flow, void *user)
{
    struct way *way = user;

    for (struct errand *errand = way->errands, *next; errand; errand = next) {
        next = errand->next;
        if (errand->flow != flow)
            continue;
        if (errand->dial)
            dial_cancel(errand->dial);
        resolver_cancel(way->ways->resolver, errand->lookup);
        end_errand(errand);
    }
}

/* Counts the rule or grant that decided. */
static void count_hit(struct way *way, const struct flow_record *record)
{
    const struct verdict *verdict = record->flow ? &record->flow->verdict : NULL;
    char word[INBOX_GRANT_WORD_MAX];
    size_t i = 0;

    if (!verdict || !(verdict->rule || verdict->grant) ||
        (record->row != FLOW_ROW_OPEN && record->row != FLOW_ROW_DENY))
        return;
    const char *id = verdict->grant ? inbox_grant_word(verdict->grant, word) : verdict->rule->id;
    while (i < way->hit_count && strcmp(way->hits[i].rule, id))
        i++;
    if (i == HITS_MAX)
        return;
    if (i == way->hit_count) {
        way->hits = xrealloc(way->hits, ++way->hit_count, sizeof(struct hit));
        way->hits[i] = (struct hit){0};
        snprintf(way->hits[i].rule, sizeof(way->hits[i].rule), "%s", id);
    }
    way->hits[i].count += record->count ? record->count : 1;
    way->hits[i].last_ns = units_now_ns();
}

static void do_record(const struct flow_record *record, void *user)
{
    struct way *way = user;
    autofree char *conn = record->flow
                              ? xasprintf("%s-%llu-%llu", way->ways->run, (unsigned long long)way->boot,
                                          (unsigned long long)record->flow->id)
                              : NULL;
    autofree char *subject = NULL;
    autofree char *data = NULL;
    struct event event;

    count_hit(way, record);
    way_fill_event(record, conn, &event, &subject, &data);
    way_log_add(way->ways->log, way->id, &event, record->row == FLOW_ROW_OPEN ? record->flow->id : 0);
}

static void do_alert(const char *text, void *user)
{
    struct way *way = user;

    daemon_noted(way->ways->daemon, way->id, "finding.egress", text);
}

static int do_own(struct address *ret_own, size_t max, void *user)
{
    (void)user;
    return dial_own_addresses(ret_own, max, NULL);
}

static size_t do_grants(const struct request *request, const struct grant **ret_grants, void *user)
{
    struct way *way = user;

    (void)request;
    return inbox_grants_list(way->daemon, ret_grants);
}

static void do_used(const struct grant *grant, void *user)
{
    struct way *way = user;

    inbox_grants_used(way->daemon, grant);
}

static uint64_t do_ask(const struct flow *flow, enum reason *ret_reason, void *user)
{
    struct way *way = user;

    return inbox_egress_ask(way->daemon, way->flows, flow, ret_reason);
}

static void do_withdraw(const struct flow *flow, void *user)
{
    struct way *way = user;

    inbox_egress_withdraw(way->daemon, way->flows, flow);
    git_out_gone(way->daemon, way->flows, flow->id);
}

static void do_time(int64_t *ret_ms, int64_t *ret_s, void *user)
{
    (void)user;
    *ret_ms = units_monotonic_ns() / 1000000;
    *ret_s = units_now_ns() / 1000000000;
}

static void do_wait(uint64_t flow, uint64_t request_id, void *user)
{
    struct way *way = user;

    inbox_egress_wait(way->daemon, way->id, way->flows, flow, request_id);
}

static void do_git(uint64_t flow, enum flow_git what, const char *repo, void *user)
{
    struct way *way = user;

    git_out_asked(way->daemon, way->id, way->flows, flow, what, repo);
}

static const struct flow_ops way_ops = {
    .send = do_send,
    .resolve = do_resolve,
    .dial = do_dial,
    .drop = do_drop,
    .record = do_record,
    .alert = do_alert,
    .own = do_own,
    .grants = do_grants,
    .used = do_used,
    .ask = do_ask,
    .withdraw = do_withdraw,
    .time = do_time,
    .wait = do_wait,
    .git = do_git,
};

/* A row was written, or was not: then nothing is allowed until one is. */
static void on_logged(const char *project, uint64_t flow, bool written, void *user)
{
    struct ways *ways = user;
    struct way *way = find(ways, project);

    for (struct way *each = ways->first; each; each = each->next)
        flows_set_log(each->flows, written);
    if (!way || !flow)
        return;
    flows_recorded(way_now(way), flow, written);
    way_plan(way);
}

/* ---- the way of a project ---- */

struct way *way_get(struct daemon *daemon, const char *id)
{
    struct ways *ways = daemon->ways;
    struct way *way = find(ways, id);
    struct project *project = way ? NULL : projects_lock(daemon->projects, id);

    if (way)
        return way;
    if (!project)
        return NULL;
    projects_unlock(daemon->projects);
    way = xnew(struct way);
    way->ways = ways;
    way->daemon = daemon;
    snprintf(way->id, sizeof(way->id), "%s", id);
    way->flows = flows_create(id, &way_ops, way);
    way_budget_load(way);
    uv_timer_init(&daemon->loop, &way->tick);
    way->tick.data = way;
    way->next = ways->first;
    ways->first = way;
    way_make_file(daemon, id);
    way_reload(way);
    return way;
}

static void on_way_closed(uv_handle_t *handle)
{
    free(handle->data);
}

static void drop_way(struct way *way)
{
    struct way **at = &way->ways->first;

    while (*at != way)
        at = &(*at)->next;
    way->guest = NULL;
    way_guest_drop(way);
    way_budget_save(way);
    flows_destroy(way_now(way));
    *at = way->next;
    policy_unref(way->policy);
    free(way->banner);
    free(way->notice);
    free(way->guest_hosts);
    free(way->hits);
    uv_close((uv_handle_t *)&way->tick, on_way_closed);
}

void way_forget(struct daemon *daemon, const char *id)
{
    struct way *way = find(daemon->ways, id);

    if (way)
        drop_way(way);
    inbox_grants_forget(daemon, id);
}

void way_attach(struct daemon *daemon, const char *id, struct guest *guest)
{
    struct way *way = guest ? way_get(daemon, id) : find(daemon->ways, id);

    if (!way)
        return;
    way->guest = guest;
    way_guest_drop(way);
    if (guest)
        way_reload(way); /* a new machine has a base only now */
}

void way_guest_up(struct daemon *daemon, const char *id)
{
    struct way *way = find(daemon->ways, id);

    if (way)
        way_guest_ask(way);
}

bool way_take(struct daemon *daemon, const char *id, const void *message)
{
    struct way *way = find(daemon->ways, id);

    if (!way)
        return false;
    bool good = flows_take(way_now(way), message);
    way_plan(way);
    return good;
}

void way_lost(struct daemon *daemon, const char *id)
{
    struct way *way = find(daemon->ways, id);

    if (!way)
        return;
    inbox_away(daemon->inbox, id); /* its questions live on: refused with their numbers */
    flows_lost(way_now(way));
    way->boot++;
    way_plan(way);
}

json_t *way_flows(struct way *way)
{
    json_t *list = json_array();

    for (const struct flow *flow = flows_first(way_now(way)); flow; flow = flow->next)
        json_array_append_new(list, way_show_flow(flow, units_monotonic_ns() / 1000000));
    return list;
}

const char *way_banner(const struct way *way)
{
    return way->banner;
}

const char *way_notice(const struct way *way)
{
    return way->notice;
}

const char *way_mode(struct daemon *daemon, const char *id)
{
    struct way *way = find(daemon->ways, id);

    if (!way)
        return NULL;
    return way->policy ? policy_mode_name(policy_mode(way->policy)) : "deny";
}

void way_show_use(struct daemon *daemon, const char *id, json_t *json)
{
    struct way *way = find(daemon->ways, id);
    const char *mode = way_mode(daemon, id);
    uint64_t up = 0, down = 0;
    struct budget_use use;

    if (way)
        flows_rate(way_now(way), &up, &down);
    json_object_set_new(json, "egress", mode ? json_string(mode) : json_null());
    json_object_set_new(json, "net_rate", json_integer((json_int_t)(up + down)));
    if (!way || !way->policy || policy_mode(way->policy) != MODE_BUDGET)
        return;
    budget_use(flows_budget(way->flows), units_now_ns() / 1000000000, &use);
    json_object_set_new(json, "budget_used", json_integer((json_int_t)use.total_bytes));
    json_object_set_new(json, "budget_max", json_integer((json_int_t)BUDGET_TOTAL_BYTES));
    json_object_set_new(json, "budget_names", json_integer((json_int_t)use.names));
    json_object_set_new(json, "budget_names_max", json_integer(BUDGET_NAMES));
}

/* ---- all ---- */

struct ways *ways_create(struct daemon *daemon)
{
    struct ways *ways = xnew(struct ways);
    autofree char *program = NULL;
    auto(error) struct error *err = NULL;

    ways->daemon = daemon;
    ways->run = units_random_hex(4);
    ways->generation = (uint64_t)(units_now_ns() / 1000000000); /* grows over restarts too */
    if (paths_program(daemon->paths, "hutch-resolver", &program, &err) < 0)
        log_error("names cannot be resolved: %s", err->message);
    const struct resolver_options options = {
        .loop = &daemon->loop, .program = program, .table = getenv("HUTCH_RESOLVER_TABLE")};
    ways->resolver = resolver_create(&options);
    ways->log = way_log_create(daemon, on_logged, ways);
    uv_timer_init(&daemon->loop, &ways->reload);
    ways->reload.data = ways;
    ways_watch(ways);
    way_report_left(daemon);
    return ways;
}

/* Embedded handles of ways itself. */
static void on_ways_handle_closed(uv_handle_t *handle)
{
    struct ways *ways = handle->data;

    if (ways->watch_count-- > 0)
        return;
    free(ways->run);
    free(ways);
}

void ways_destroy(struct ways *ways)
{
    if (!ways)
        return;
    while (ways->first)
        drop_way(ways->first);
    way_log_destroy(ways->log);
    resolver_destroy(ways->resolver);
    uv_close((uv_handle_t *)&ways->reload, on_ways_handle_closed);
    for (size_t i = 0, count = ways->watch_count; i < count; i++)
        uv_close((uv_handle_t *)&ways->watches[i], on_ways_handle_closed);
}
