/* What a project has used of its budget outlives hutchd: in state.db, a second behind at most. */
#include "base/alloc.h"
#include "base/log.h"
#include "base/units.h"
#include "daemon/state_requests.h"
#include "daemon/way_internal.h"
#include "policy/budget.h"

#define KEEP_MS 1000

static int64_t now_s(void)
{
    return units_now_ns() / 1000000000;
}

void way_budget_load(struct way *way)
{
    struct budget *budget = flows_budget(way->flows);
    auto(error) struct error *err = NULL;
    autofree char *text = NULL;

    if (state_budget_load(way->daemon->state, way->id, &text, &err) < 0 ||
        (text && budget_read(budget, text, now_s(), &err) < 0))
        log_error("project %s: %s", way->id, err->message);
    way->kept = budget_changes(budget);
}

void way_budget_save(struct way *way)
{
    struct budget *budget = flows_budget(way->flows);
    uint64_t changes = budget_changes(budget);
    auto(error) struct error *err = NULL;

    if (changes == way->kept)
        return;
    autofree char *text = budget_write(budget, now_s());
    if (state_budget_save(way->daemon->state, way->id, text, &err) < 0)
        log_error("project %s: its budget is not kept: %s", way->id, err->message);
    way->kept = changes;
    way->kept_ms = units_monotonic_ns() / 1000000;
}

int64_t way_budget_tick(struct way *way)
{
    int64_t left = way->kept_ms + KEEP_MS - units_monotonic_ns() / 1000000;

    if (budget_changes(flows_budget(way->flows)) == way->kept)
        return -1;
    if (left > 0)
        return left;
    way_budget_save(way);
    return -1;
}
