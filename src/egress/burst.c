#include "egress/burst.h"

#include "base/alloc.h"

#include <stdio.h>
#include <string.h>

#define REPEATS  64 /* refusals that are remembered */
#define SLOW_MAX 60 /* rows in SLOW_MS from which slow refusals are a burst too */
#define SLOW_MS  60000

/* A refusal of the present window, or the remembered one of an earlier row. */
struct kept {
    struct flow flow;
    uint64_t count;
};
struct repeat {
    uint64_t key; /* 0: free */
    int64_t since_ms;
    uint64_t count; /* since the row; written when the time is over */
    struct flow *flow;
};

struct burst {
    const struct flow_ops *ops;
    void *user;
    int64_t begun_ms, last_ms; /* of the window or burst */
    bool bursting;
    uint64_t total;
    struct kept *kept[FLOW_BURST_SAMPLES];
    size_t kept_count;
    struct repeat repeats[REPEATS];
    size_t repeat_count;
    int64_t slow_since_ms;
    unsigned slow;
};

struct burst *burst_create(const struct flow_ops *ops, void *user)
{
    struct burst *burst = xnew(struct burst);

    burst->ops = ops;
    burst->user = user;
    return burst;
}

/* What is the same: where to, and why not. FNV-1a. */
static uint64_t key_of(const struct flow *flow)
{
    uint64_t hash = 14695981039346656037ULL ^ (uint64_t)flow->verdict.reason;

    for (const char *at = flow->authority; *at; at++)
        hash = (hash ^ (uint8_t)*at) * 1099511628211ULL;
    return hash ? hash : 1;
}

static void write_one(struct burst *burst, const struct flow *flow, uint64_t count)
{
    const struct flow_record record = {.row = FLOW_ROW_DENY, .flow = flow, .count = count};

    burst->ops->record(&record, burst->user);
}

/* A copy that points to nothing that may go away. */
static struct flow *copy_flow(const struct flow *flow)
{
    struct flow *copy = xmemdup(flow, sizeof(*flow));

    copy->next = NULL;
    copy->policy = flow->policy ? policy_ref(flow->policy) : NULL;
    copy->request.project = copy->request.session = copy->request.command = NULL;
    copy->request.method = copy->request.path = NULL;
    copy->verdict.grant = NULL;
    return copy;
}

static void free_copy(struct flow *flow)
{
    if (!flow)
        return;
    policy_unref(flow->policy);
    free(flow);
}

static void drop_kept(struct burst *burst)
{
    for (size_t i = 0; i < burst->kept_count; i++) {
        free_copy(&burst->kept[i]->flow);
        burst->kept[i] = NULL;
    }
    burst->kept_count = 0;
    burst->total = 0;
    burst->bursting = false;
}

static void write_burst(struct burst *burst, int64_t now_ms)
{
    struct flow_sample samples[FLOW_BURST_SAMPLES] = {0};
    const struct flow_record record = {.row = FLOW_ROW_BURST,
                                       .ms = now_ms - burst->begun_ms,
                                       .count = burst->total,
                                       .samples = samples,
                                       .sample_count = burst->kept_count};

    for (size_t i = 0; i < burst->kept_count; i++) {
        memcpy(samples[i].what, burst->kept[i]->flow.authority, sizeof(samples[i].what));
        samples[i].reason = burst->kept[i]->flow.verdict.reason;
        samples[i].count = burst->kept[i]->count;
    }
    burst->ops->record(&record, burst->user);
}

/* Remembers a refusal that got its row, so that the same is only counted for a while. */
static void remember(struct burst *burst, struct kept *kept, int64_t now_ms)
{
    struct repeat *repeat = NULL;

    for (size_t i = 0; i < REPEATS && !repeat; i++) {
        if (!burst->repeats[i].key)
            repeat = &burst->repeats[i];
    }
    if (!repeat) {
        free_copy(&kept->flow);
        return;
    }
    *repeat = (struct repeat){.key = key_of(&kept->flow), .since_ms = now_ms, .flow = &kept->flow};
    burst->repeat_count++;
}

/* Few: a row each. */
static void write_each(struct burst *burst, int64_t now_ms)
{
    for (size_t i = 0; i < burst->kept_count; i++) {
        struct kept *kept = burst->kept[i];

        burst->kept[i] = NULL;
        write_one(burst, &kept->flow, kept->count);
        remember(burst, kept, now_ms);
    }
    burst->kept_count = 0;
    burst->total = 0;
}

static bool is_repeat(struct burst *burst, const struct flow *flow, int64_t now_ms)
{
    uint64_t key = key_of(flow);

    for (size_t i = 0; burst->repeat_count && i < REPEATS; i++) {
        struct repeat *repeat = &burst->repeats[i];

        if (repeat->key == key && now_ms - repeat->since_ms < BURST_REPEAT_MS) {
            repeat->count++;
            return true;
        }
    }
    return false;
}

static void begin_burst(struct burst *burst)
{
    if (burst->bursting)
        return;
    burst->bursting = true;
    burst->ops->alert("many connections are refused in a row: they become one record with their number",
                      burst->user);
}

/* Rows that come one by one, for a long time: a slow scan. */
static bool is_slow_scan(struct burst *burst, int64_t now_ms)
{
    if (now_ms - burst->slow_since_ms > SLOW_MS) {
        burst->slow_since_ms = now_ms;
        burst->slow = 0;
    }
    return ++burst->slow > SLOW_MAX;
}

void burst_add(struct burst *burst, const struct flow *flow, int64_t now_ms)
{
    if (is_repeat(burst, flow, now_ms))
        return;
    if (!burst->total)
        burst->begun_ms = now_ms;
    burst->last_ms = now_ms;
    burst->total++;
    for (size_t i = 0; i < burst->kept_count; i++) {
        if (!burst->bursting && key_of(&burst->kept[i]->flow) == key_of(flow)) {
            burst->kept[i]->count++;
            burst->total--;
            return;
        }
    }
    if (burst->kept_count < FLOW_BURST_SAMPLES) {
        struct flow *copy = copy_flow(flow);

        /* struct kept begins with the flow: one block, freed by it. */
        burst->kept[burst->kept_count] = xrealloc(copy, 1, sizeof(struct kept));
        burst->kept[burst->kept_count++]->count = 1;
    }
    if (burst->total > FLOW_BURST_SAMPLES || is_slow_scan(burst, now_ms))
        begin_burst(burst);
}

/* Tells what came again of those whose time is over. */
static void end_repeats(struct burst *burst, int64_t now_ms, bool all)
{
    for (size_t i = 0; i < REPEATS; i++) {
        struct repeat *repeat = &burst->repeats[i];

        if (!repeat->key || (!all && now_ms - repeat->since_ms < BURST_REPEAT_MS))
            continue;
        if (repeat->count)
            write_one(burst, repeat->flow, repeat->count);
        free_copy(repeat->flow);
        *repeat = (struct repeat){0};
        burst->repeat_count--;
    }
}

int64_t burst_tick(struct burst *burst, int64_t now_ms)
{
    int64_t wait = burst->bursting ? BURST_QUIET_MS : BURST_WINDOW_MS;
    int64_t from = burst->bursting ? burst->last_ms : burst->begun_ms;

    if (burst->repeat_count)
        end_repeats(burst, now_ms, false);
    if (burst->total && burst->bursting &&
        (now_ms - from >= wait || now_ms - burst->begun_ms >= BURST_MAX_MS)) {
        write_burst(burst, now_ms);
        drop_kept(burst);
    } else if (burst->total && !burst->bursting && now_ms - from >= wait) {
        write_each(burst, now_ms);
    }
    if (burst->total)
        return BURST_WINDOW_MS;
    return burst->repeat_count ? BURST_REPEAT_MS / 4 : -1;
}

void burst_destroy(struct burst *burst, int64_t now_ms)
{
    if (!burst)
        return;
    if (burst->bursting) {
        write_burst(burst, now_ms);
        drop_kept(burst);
    } else {
        write_each(burst, now_ms);
    }
    end_repeats(burst, now_ms, true);
    free(burst);
}
