/* flows.c: all connections: who may begin, who waits, and for what. */
#include "base/alloc.h"
#include "guest/flow_internal.h"
#include "wire/h2.h"

#include <sys/socket.h>

#define TICK_MS 100

static void on_tick(uv_timer_t *timer);

uint64_t flows_now(const struct flows *flows)
{
    uv_update_time(flows->parts.loop);
    return uv_now(flows->parts.loop);
}

static bool stream_free(const struct flows *flows)
{
    return flows->link && h2_session_stream_count(link_session(flows->link)) < H2_STREAMS_MAX;
}

/* The timer runs while something waits for time. */
static void settle(struct flows *flows)
{
    bool needed = !flows->closing && (flows->waiting > 0 || flows->doomed_count > 0);

    if (needed && !flows->timer_runs)
        uv_timer_start(&flows->timer, on_tick, TICK_MS, TICK_MS);
    else if (!needed && flows->timer_runs)
        uv_timer_stop(&flows->timer);
    flows->timer_runs = needed;
}

/* ---- the queue ---- */

void flows_admit(struct flow *flow)
{
    struct flows *flows = flow->flows;

    if (flows->waiting == 0 && stream_free(flows)) {
        flow_ask(flow);
        return;
    }
    if (flows->waiting >= FLOW_QUEUE_MAX) {
        flow_refuse(flow, 503, "busy", "too many connections wait for their turn; try again later");
        return;
    }
    flow->state = FLOW_WAITS;
    flow->since_ms = flows_now(flows);
    flow->waiting = true;
    flows->waiting++;
    settle(flows);
}

void flows_leave_queue(struct flow *flow)
{
    if (!flow->waiting)
        return;
    flow->waiting = false;
    flow->flows->waiting--;
}

void flows_next(struct flows *flows)
{
    for (struct flow *flow = flows->first, *next; flow && flows->waiting && stream_free(flows); flow = next) {
        next = flow->next;
        if (!flow->waiting)
            continue;
        flows_leave_queue(flow);
        flow_ask(flow);
    }
    settle(flows);
}

void flows_forget(struct flow *flow)
{
    struct flows *flows = flow->flows;

    *(flow->previous ? &flow->previous->next : &flows->first) = flow->next;
    *(flow->next ? &flow->next->previous : &flows->last) = flow->previous;
    flows->count--;
}

static void refuse_late(struct flows *flows)
{
    uint64_t now = flows_now(flows), limit = flows->link ? FLOW_QUEUE_MS : FLOW_LINK_MS;

    for (struct flow *flow = flows->first, *next; flow; flow = next) {
        next = flow->next;
        if (!flow->waiting || now - flow->since_ms < limit)
            continue;
        flows_leave_queue(flow);
        if (flows->link)
            flow_refuse(flow, 503, "busy", "too many connections are open; try again later");
        else
            flow_refuse(flow, 503, "host-gone", "hutch on the host does not answer; try again later");
    }
}

/* ---- resets ---- */

static void forget_doomed(struct h2_stream *stream, uint32_t code, void *user)
{
    struct flows *flows = user;
    size_t i = 0;

    while (i < flows->doomed_count && flows->doomed[i] != stream)
        i++;
    require(i < flows->doomed_count);
    flows->doomed[i] = flows->doomed[--flows->doomed_count];
}

static bool may_reset(struct flows *flows)
{
    uint64_t now = flows_now(flows);

    flows->resets += (double)(now - flows->refilled_ms) * FLOW_RESETS_SECOND / 1000;
    if (flows->resets > FLOW_RESETS_BURST)
        flows->resets = FLOW_RESETS_BURST;
    flows->refilled_ms = now;
    if (flows->resets < 1)
        return false;
    flows->resets -= 1;
    return true;
}

/* The other side had all it wanted to say: ours ends in order, and nothing is counted. */
static void end_doomed(struct h2_stream *stream, void *user)
{
    h2_stream_end(stream);
}

void flows_reset_stream(struct flows *flows, struct h2_stream *stream)
{
    /* what still comes is thrown away */
    static const struct h2_stream_ops doomed = {.on_end = end_doomed, .on_close = forget_doomed};

    if (h2_stream_remote_ended(stream)) {
        h2_stream_set_ops(stream, NULL, NULL);
        h2_stream_end(stream);
    } else if (may_reset(flows) || flows->doomed_count == H2_STREAMS_MAX) {
        h2_stream_set_ops(stream, NULL, NULL);
        h2_stream_reset(stream, H2_CANCEL);
    } else {
        h2_stream_set_ops(stream, &doomed, flows);
        flows->doomed[flows->doomed_count++] = stream;
        settle(flows);
    }
}

static void reset_doomed(struct flows *flows)
{
    while (flows->doomed_count > 0 && may_reset(flows)) {
        struct h2_stream *stream = flows->doomed[--flows->doomed_count];
        h2_stream_set_ops(stream, NULL, NULL);
        h2_stream_reset(stream, H2_CANCEL);
    }
}

static void on_tick(uv_timer_t *timer)
{
    struct flows *flows = timer->data;

    reset_doomed(flows);
    refuse_late(flows);
    flows_next(flows);
}

/* ---- all of them ---- */

struct flows *flows_create(const struct flows_parts *parts)
{
    struct flows *flows = xnew(struct flows);

    flows->parts = *parts;
    flows->resets = FLOW_RESETS_BURST;
    flows->refilled_ms = flows_now(flows);
    uv_timer_init(parts->loop, &flows->timer);
    flows->timer.data = flows;
    return flows;
}

static void on_closed(uv_handle_t *handle)
{
    free(handle->data);
}

void flows_destroy(struct flows *flows)
{
    if (!flows)
        return;
    require(!flows->link);
    flows->closing = true;
    while (flows->first)
        flow_abort(flows->first);
    uv_close((uv_handle_t *)&flows->timer, on_closed);
}

void flows_take(struct flows *flows, int fd, enum flow_door door, uint16_t capture_port)
{
    flow_begin(flows, fd, door, capture_port);
}

void flows_set_link(struct flows *flows, struct link *link)
{
    flows->link = link;
    for (struct flow *flow = flows->first; flow; flow = flow->next)
        flow->since_ms = flows_now(flows);
    flows_next(flows);
}

void flows_count(const struct flows *flows, size_t *ret_all, size_t *ret_waiting)
{
    *ret_all = flows->count;
    *ret_waiting = flows->waiting;
}
