/* Where a machine's packages come from: its base's record, and what the machine itself says, which can be
 * anything: it becomes a question, never a permission. */
#include "base/alloc.h"
#include "base/log.h"
#include "daemon/guest.h"
#include "daemon/way_internal.h"

#include <string.h>

#define READY_MS 3000 /* between two looks at whether the machine is ready */

/* Lives until its call has ended and its timer is closed; way is NULL when nobody waits any more. */
struct guest_ask {
    struct way *way;
    struct guest *guest;
    uv_timer_t timer;
    uint32_t call; /* 0: none */
    struct package_host hosts[RULES_GUEST_MAX];
    size_t count;
};

static void on_closed(uv_handle_t *handle)
{
    free(handle->data);
}

/* The way forgets it; it goes when nothing refers to it. */
static void end(struct guest_ask *ask)
{
    if (ask->way)
        ask->way->guest_ask = NULL;
    ask->way = NULL;
    if (!ask->call && !uv_is_closing((uv_handle_t *)&ask->timer))
        uv_close((uv_handle_t *)&ask->timer, on_closed);
}

void way_guest_drop(struct way *way)
{
    if (way->guest_ask)
        end(way->guest_ask);
}

static void on_host(const struct wmsg_item *item, void *user)
{
    struct guest_ask *ask = user;
    const struct guest_package_host *said = &item->u.package_host;
    struct package_host host = {.tls = said->tls, .port = (uint16_t)said->port};

    if (ask->count == RULES_GUEST_MAX)
        return;
    memcpy(host.preset, said->preset, sizeof(host.preset));
    memcpy(host.host, said->host, sizeof(host.host));
    if (!package_hosts_have(ask->hosts, ask->count, &host))
        ask->hosts[ask->count++] = host;
}

/* Takes over what the machine said. */
static void take(struct way *way, const struct guest_ask *ask)
{
    bool same = way->guest_host_count == ask->count;

    for (size_t i = 0; same && i < ask->count; i++)
        same = package_hosts_have(way->guest_hosts, way->guest_host_count, &ask->hosts[i]);
    if (same)
        return;
    way->guest_hosts = xrealloc(way->guest_hosts, ask->count + 1, sizeof(struct package_host));
    memcpy(way->guest_hosts, ask->hosts, ask->count * sizeof(struct package_host));
    way->guest_host_count = ask->count;
    way_reload(way);
}

static void on_hosts(const struct wmsg_item *item, const struct error *err, void *user)
{
    struct guest_ask *ask = user;

    (void)item;
    ask->call = 0;
    if (err)
        log_debug("package hosts: %s", err->message);
    else if (ask->way)
        take(ask->way, ask);
    end(ask);
}

static void on_health(const struct wmsg_item *item, const struct error *err, void *user);

/* Begins a call; false: the machine is not there, its next hello begins anew. */
static bool begin(struct guest_ask *ask, enum guest_op op, const char *path, const struct guest_call_ops *ops)
{
    const struct guest_call call = {.op = op, .port = PORT_CONTROL, .path = path, .stream = -1};

    ask->call = guest_call(ask->guest, &call, ops, ask, NULL);
    return ask->call != 0;
}

static void on_time(uv_timer_t *timer)
{
    static const struct guest_call_ops ops = {.on_result = on_health};
    struct guest_ask *ask = timer->data;

    if (!begin(ask, GUEST_OP_HEALTH, "/v1/health", &ops))
        end(ask);
}

static void on_health(const struct wmsg_item *item, const struct error *err, void *user)
{
    static const struct guest_call_ops ops = {.on_item = on_host, .on_result = on_hosts};
    struct guest_ask *ask = user;

    ask->call = 0;
    if (!ask->way || err) {
        end(ask);
        return;
    }
    if (item->u.health.phase == PHASE_READY || item->u.health.phase == PHASE_FAILED) {
        if (!begin(ask, GUEST_OP_PACKAGE_HOSTS, "/v1/package-hosts", &ops))
            end(ask);
        return;
    }
    uv_timer_start(&ask->timer, on_time, READY_MS, 0);
}

void way_guest_ask(struct way *way)
{
    way_guest_drop(way);
    if (!way->guest)
        return;
    struct guest_ask *ask = xnew(struct guest_ask);
    ask->way = way;
    ask->guest = way->guest;
    way->guest_ask = ask;
    uv_timer_init(&way->daemon->loop, &ask->timer);
    ask->timer.data = ask;
    uv_timer_start(&ask->timer, on_time, 0, 0);
}

size_t way_guest_hosts(const struct way *way, const struct base *base, struct rules_guest_host *ret_hosts,
                       size_t max)
{
    size_t known = base ? base->package_host_count : 0, count = 0;

    for (size_t i = 0; i < known && count < max; i++)
        ret_hosts[count++] = (struct rules_guest_host){base->package_hosts[i], true};
    for (size_t i = 0; i < way->guest_host_count && count < max; i++) {
        if (!known || !package_hosts_have(base->package_hosts, known, &way->guest_hosts[i]))
            ret_hosts[count++] = (struct rules_guest_host){way->guest_hosts[i], false};
    }
    return count;
}
