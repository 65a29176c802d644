#include "ui/model/net.h"

#include "ui/model/app_state.h"
#include "ui/model/field.h"

#include "base/alloc.h"
#include "base/words.h"

#include <string.h>

#define AGAIN_NS  SECOND
#define FLOW_BASE (UINT64_C(1) << 62) /* numbers of flows without a row begin here */

static void finish(struct conn *conn)
{
    char *strings[] = {conn->conn,    conn->process, conn->target, conn->host,   conn->address,
                       conn->verdict, conn->rule,    conn->why,    conn->missing};
    for (size_t i = 0; i < countof(strings); i++)
        free(strings[i]);
    json_decref(conn->json);
    *conn = (struct conn){0};
}

static void free_hosts(struct net *net)
{
    for (size_t i = 0; i < net->host_count; i++)
        free(net->hosts[i].name);
    free(steal(&net->hosts));
    net->host_count = 0;
}

static void drop_flows(struct net *net)
{
    for (size_t i = 0; i < net->flow_count; i++)
        finish(&net->flows[i]);
    net->flow_count = 0;
}

void net_finish(struct net *net)
{
    for (size_t at = net->first; at < net->end; at++) {
        finish(net->ring[at % NET_MAX]);
        free(net->ring[at % NET_MAX]);
    }
    free(net->ring);
    drop_flows(net);
    free_hosts(net);
    *net = (struct net){0};
}

size_t net_end(const struct net *net)
{
    return net->end + net->flow_count;
}

const struct conn *net_at(const struct net *net, size_t position)
{
    if (position >= net->end)
        return position < net_end(net) ? &net->flows[position - net->end] : NULL;
    return position >= net->first ? net->ring[position % NET_MAX] : NULL;
}

const struct conn *net_find(const struct net *net, uint64_t number)
{
    size_t low = net->first, high = net->end;
    for (size_t i = 0; number >= FLOW_BASE && i < net->flow_count; i++)
        if (net->flows[i].number == number)
            return &net->flows[i];
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (net->ring[middle % NET_MAX]->number < number)
            low = middle + 1;
        else
            high = middle;
    }
    const struct conn *conn = low < net->end ? net->ring[low % NET_MAX] : NULL;
    return conn && conn->number == number ? conn : NULL;
}

/* ---- reading ---- */

static void set(char **place, const json_t *json, const char *key)
{
    free(*place);
    *place = field_text(json, key);
}

/* The last part of a path. */
static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

/* What the machine says of the program: its first word, else its file. The caller's to free. */
static char *process_of(const json_t *claim)
{
    autofree char *word = field_value(json_array_get(json_object_get(claim, "argv"), 0));
    autofree char *exe = field_text(claim, "exe");
    return xstrdup(base_name(*word ? word : exe));
}

/* Takes data: what hutchd says of a flow, in a row of the journal and in its list alike. */
static void take_data(struct conn *conn, const json_t *data)
{
    const json_t *request = json_object_get(data, "req");
    int64_t port = field_number(request, "port", -1);
    autofree char *host = field_text(request, "host"), *authority = field_text(request, "authority");
    free(conn->process);
    conn->process = process_of(json_object_get(data, "claim"));
    free(conn->host);
    conn->host = prompt_ascii(*host ? host : authority);
    free(conn->target);
    conn->target = *host && port >= 0
                       ? xasprintf(strchr(host, ':') ? "[%s]:%lld" : "%s:%lld", conn->host, (long long)port)
                       : xstrdup(conn->host);
    set(&conn->address, json_object_get(data, "addr"), "used");
    set(&conn->rule, data, "rule_text");
    set(&conn->why, data, "sentence");
    if (!*conn->why)
        set(&conn->why, data, "reason");
    set(&conn->missing, data, "missing");
}

static struct conn *append(struct net *net, uint64_t number)
{
    if (!net->ring)
        net->ring = xnewn(struct conn *, NET_MAX);
    if (net->end - net->first == NET_MAX) {
        struct conn *old = net->ring[net->first++ % NET_MAX];
        for (size_t i = 0; old->open && i < net->open_count; i++)
            if (net->open[i] == old)
                net->open[i] = net->open[--net->open_count];
        finish(old);
        free(old);
    }
    struct conn *conn = xnew(struct conn);
    *conn = (struct conn){.number = number, .ms = -1, .up = -1, .down = -1, .count = 1};
    net->ring[net->end++ % NET_MAX] = conn;
    return conn;
}

static struct conn *find_open(struct net *net, const char *word, size_t *ret_at)
{
    for (size_t i = net->open_count; word && i-- > 0;) {
        if (!strcmp(net->open[i]->conn, word)) {
            *ret_at = i;
            return net->open[i];
        }
    }
    return NULL;
}

static void take_close(struct net *net, const json_t *json, const json_t *data)
{
    size_t at;
    struct conn *conn = find_open(net, json_string_value(json_object_get(data, "conn")), &at);
    if (!conn)
        return;
    net->open[at] = net->open[--net->open_count];
    conn->open = conn->live = false;
    conn->up = field_number(json, "bytes_up", conn->up);
    conn->down = field_number(json, "bytes_down", conn->down);
    conn->ms = field_number(json, "ms", conn->ms);
    take_data(conn, data);
    json_decref(conn->json);
    conn->json = json_deep_copy(json);
}

static void take_row(struct app *app, const json_t *json, const json_t *data, bool refused)
{
    struct net *net = &app->net;
    const char *word = json_string_value(json_object_get(data, "conn"));
    const char *project = json_string_value(json_object_get(json, "project"));
    struct conn *conn = append(net, (uint64_t)field_number(json, "seq", 0));
    conn->project = project ? events_project(&app->events, project) : 0;
    conn->ts_ns = field_number(json, "ts_ns", 0);
    conn->refused = refused;
    conn->count = field_number(data, "count", 1);
    take_data(conn, data);
    set(&conn->verdict, json, "verdict");
    if (!*conn->target)
        set(&conn->target, json, "subject");
    conn->json = json_deep_copy(json);
    if (refused || !word)
        return;
    conn->conn = xstrdup(word);
    conn->open = true;
    if (net->open_count == NET_OPEN) {
        net->open[0]->open = false;
        memmove(net->open, net->open + 1, (NET_OPEN - 1) * sizeof(net->open[0]));
        net->open_count--;
    }
    net->open[net->open_count++] = conn;
}

/* With a stop or a start of the machine its connections are over, whether or not that was told. */
static void end_all(struct app *app, const json_t *json)
{
    struct net *net = &app->net;
    const char *project = json_string_value(json_object_get(json, "project"));
    uint32_t number = project ? events_project(&app->events, project) : 0;
    for (size_t i = net->open_count; number && i-- > 0;) {
        if (net->open[i]->project != number)
            continue;
        net->open[i]->open = net->open[i]->live = false;
        net->open[i] = net->open[--net->open_count];
    }
}

void net_event(struct app *app, const json_t *json)
{
    const char *kind = json_string_value(json_object_get(json, "kind"));
    const json_t *data = json_object_get(json, "data");
    if (!kind)
        return;
    if (!strcmp(kind, "egress.close"))
        take_close(&app->net, json, data);
    else if (!strcmp(kind, "egress.open") || !strcmp(kind, "egress.deny"))
        take_row(app, json, data, !strcmp(kind, "egress.deny"));
    else if (!strcmp(kind, "lifecycle.stop") || !strcmp(kind, "lifecycle.start") ||
             !strcmp(kind, "lifecycle.off") || !strcmp(kind, "lifecycle.crash"))
        end_all(app, json);
    else if (strncmp(kind, "approval.", 9) != 0)
        return;
    net_news(app);
}

/* ---- totals ---- */

static struct net_host *host_of(struct net *net, const char *name)
{
    for (size_t i = 0; i < net->host_count; i++)
        if (!strcmp(net->hosts[i].name, name))
            return &net->hosts[i];
    net->hosts = xrealloc(net->hosts, net->host_count + 1, sizeof(*net->hosts));
    struct net_host *host = &net->hosts[net->host_count++];
    *host = (struct net_host){.name = xstrdup(name), .number = net->host_count};
    return host;
}

/* The totals of the selected project, hosts in the order in which they came. */
static void gather(struct app *app)
{
    struct net *net = &app->net;
    for (size_t i = 0; i < net->host_count; i++)
        net->hosts[i] = (struct net_host){.name = net->hosts[i].name, .number = net->hosts[i].number};
    for (size_t at = net->first; at < net_end(net); at++) {
        const struct conn *conn = net_at(net, at);
        if (conn->project != app->event_project || !*conn->host)
            continue;
        struct net_host *host = host_of(net, conn->host);
        host->count = field_sum(host->count, conn->count);
        host->refused = field_sum(host->refused, conn->refused ? conn->count : 0);
        host->up = field_sum(host->up, conn->up > 0 ? conn->up : 0);
        host->down = field_sum(host->down, conn->down > 0 ? conn->down : 0);
        host->open += conn->open;
        host->last_ns = conn->ts_ns > host->last_ns ? conn->ts_ns : host->last_ns;
    }
}

void net_fold(struct app *app)
{
    app->net.by_host = !app->net.by_host;
    free_hosts(&app->net);
    if (app->net.by_host)
        gather(app);
    list_restart(&app->lists[VIEW_NET]);
    app->changed = true;
}

static void sample(struct app *app)
{
    struct net *net = &app->net;
    uint64_t total = 0;
    for (size_t at = net->first; at < net->end; at++) {
        const struct conn *conn = net_at(net, at);
        if (conn->project == app->event_project)
            total += (uint64_t)(conn->up > 0 ? conn->up : 0) + (uint64_t)(conn->down > 0 ? conn->down : 0);
    }
    if (net->sample_count == NET_SAMPLES) {
        memmove(net->samples, net->samples + 1, (NET_SAMPLES - 1) * sizeof(net->samples[0]));
        net->sample_count--;
    }
    net->samples[net->sample_count++] = net->total && total > net->total ? total - net->total : 0;
    net->total = total;
}

char *net_rate_line(const struct app *app, int columns)
{
    static const char *const ascii[] = {"_", ".", ":", "-", "=", "+", "*", "#"};
    static const char *const blocks[] = {"\u2581", "\u2582", "\u2583", "\u2584",
                                         "\u2585", "\u2586", "\u2587", "\u2588"};
    const struct net *net = &app->net;
    size_t count = net->sample_count < (size_t)columns ? net->sample_count : (size_t)columns;
    uint64_t most = 0;
    struct buf out;
    for (size_t i = net->sample_count - count; i < net->sample_count; i++)
        most = net->samples[i] > most ? net->samples[i] : most;
    if (!most)
        return xstrdup("");
    buf_init(&out, 0);
    for (size_t i = net->sample_count - count; i < net->sample_count; i++) {
        uint64_t bytes = net->samples[i];
        size_t level = bytes ? 1 + (size_t)((double)bytes / (double)most * 6) : 0;
        buf_printf(&out, NULL, "%s", app->lines_work ? blocks[level] : ascii[level]);
    }
    return buf_take_string(&out);
}

/* ---- the living ones ---- */

/* The row of a flow: the journal's name of a connection ends in the flow's number. */
static struct conn *row_of_flow(struct app *app, uint64_t id)
{
    struct net *net = &app->net;
    autofree char *end = xasprintf("-%llu", (unsigned long long)id);
    for (size_t i = net->open_count; i-- > 0;) {
        const char *word = net->open[i]->conn;
        size_t len = strlen(word), tail = strlen(end);
        if (net->open[i]->project == app->event_project && len > tail && !strcmp(word + len - tail, end))
            return net->open[i];
    }
    return NULL;
}

static void take_flow(struct app *app, const json_t *json)
{
    struct net *net = &app->net;
    uint64_t id = (uint64_t)field_number(json, "id", 0);
    struct conn *conn = row_of_flow(app, id);
    net->living++;
    if (!conn) {
        if (net->flow_count == NET_FLOWS)
            return;
        conn = &net->flows[net->flow_count++];
        *conn = (struct conn){.number = FLOW_BASE + id, .project = app->event_project, .count = 1};
        conn->open = true;
        conn->ts_ns = app->now_ns - field_ns(field_number(json, "ms", 0));
        conn->json = json_deep_copy(json);
        int64_t request = field_number(json, "request", 0);
        conn->verdict = request > 0 ? xasprintf("ASK #%lld", (long long)request) : field_text(json, "state");
        take_data(conn, json);
    }
    conn->live = true;
    conn->up = field_number(json, "up", conn->up);
    conn->down = field_number(json, "down", conn->down);
    conn->ms = field_number(json, "ms", conn->ms);
    if (conn->number < FLOW_BASE && !*conn->address)
        set(&conn->address, json_object_get(json, "addr"), "used");
}

static void take_flows(struct app *app, struct call *call, const struct message *message,
                       struct effects *effects)
{
    struct net *net = &app->net;
    (void)effects;
    if (call->number != net->project)
        return;
    if (message->type == MESSAGE_LINE) {
        take_flow(app, message->body);
        return;
    }
    net->call = 0;
    sample(app);
    if (net->by_host)
        gather(app);
    if (net->living && net->shown)
        net->due_ns = app->now_ns + AGAIN_NS;
    app_news(app, VIEW_NET);
}

static void ask(struct app *app, struct effects *effects)
{
    struct net *net = &app->net;
    const struct project *project = app_project(app);
    net->due_ns = 0;
    if (net->call || !app->up || !project)
        return;
    drop_flows(net);
    net->living = 0;
    net->asked_ns = app->now_ns;
    autofree char *path = field_path("/v1/projects/%s/flows", project->raw_name);
    struct call *call = app_call(app, EFFECT_LINES, "GET", path, NULL, take_flows, effects);
    call->number = net->project = app->selected;
    net->call = call->id;
}

void net_news(struct app *app)
{
    struct net *net = &app->net;
    if (!net->shown)
        return;
    if (net->by_host)
        gather(app);
    app_news(app, VIEW_NET);
    if (!net->due_ns)
        net->due_ns = net->asked_ns + AGAIN_NS > app->now_ns ? net->asked_ns + AGAIN_NS : app->now_ns;
}

void net_show(struct app *app, struct effects *effects)
{
    struct net *net = &app->net;
    net->shown = true;
    net->total = net->sample_count = 0;
    app_cancel(app, net->call, effects);
    net->call = 0;
    ask(app, effects);
}

void net_hide(struct app *app, struct effects *effects)
{
    struct net *net = &app->net;
    app_cancel(app, net->call, effects);
    net->call = 0;
    net->due_ns = 0;
    net->shown = false;
    drop_flows(net);
    free_hosts(net);
    net->by_host = false;
}

int64_t net_tick(struct app *app, struct effects *effects)
{
    struct net *net = &app->net;
    if (net->shown && net->due_ns && net->due_ns <= app->now_ns)
        ask(app, effects);
    return net->due_ns;
}
