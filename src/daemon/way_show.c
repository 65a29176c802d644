/* Flows as JSON: for the API, and as the data of their rows. */
#include "base/alloc.h"
#include "daemon/way_internal.h"
#include "wire/json.h"

#include <string.h>

static const char *const entrances[FLOW_ENTRANCE_COUNT] = {
#define X(name, word) [FLOW_##name] = word,
    FLOW_ENTRANCES(X)
#undef X
};

static void set(json_t *object, const char *key, json_t *value /* owned */)
{
    require(json_object_set_new(object, key, value) == 0);
}

static void set_text(json_t *object, const char *key, const char *text)
{
    if (text && *text)
        set(object, key, json_bytes(text, strlen(text)));
}

static json_t *show_request(const struct flow *flow)
{
    json_t *json = json_object();

    if (flow->parsed) {
        set_text(json, "host", flow->request.host.text);
        set(json, "port", json_integer(flow->request.port));
        set(json, "literal", json_boolean(flow->request.host.kind != HOST_NAME));
    } else {
        set_text(json, "authority", flow->authority);
    }
    if (flow->verdict.proto != PROTO_ANY)
        set_text(json, "proto", proto_name(flow->verdict.proto));
    set_text(json, "entrance", entrances[flow->entrance]);
    return json;
}

/* What the guest says of the process: never more than a claim. */
static json_t *show_claim(const struct flow_claim *claim)
{
    json_t *json = json_object(), *argv = json_array();
    const char *at = claim->argv;

    set(json, "pid", json_integer(claim->pid));
    set(json, "uid", json_integer(claim->uid));
    set_text(json, "exe", claim->exe);
    set_text(json, "cwd", claim->cwd);
    for (uint32_t i = 0; i < claim->argc; i++, at += strlen(at) + 1)
        json_array_append_new(argv, json_bytes(at, strlen(at)));
    set(json, "argv", argv);
    if (claim->cut)
        set(json, "cut", json_true());
    return json;
}

static json_t *show_addresses(const struct flow *flow)
{
    json_t *json = json_object(), *list = json_array();
    char text[ADDRESS_FORMAT_MAX];

    for (size_t i = 0; i < flow->address_count; i++)
        json_array_append_new(list, json_string(address_format(&flow->addresses[i], text)));
    set(json, "allowed", list);
    set(json, "answers", json_integer((json_int_t)flow->answer_count));
    set(json, "ms", json_integer(flow->resolve_ms));
    if (flow->used.family)
        set_text(json, "used", address_format(&flow->used, text));
    set_text(json, "proxy", flow->proxy);
    return json;
}

static json_t *show_tls(const struct flow *flow)
{
    json_t *json = json_object(), *alpn = json_array();

    set_text(json, "sni", flow->sni);
    set(json, "ech", json_boolean(flow->ech));
    for (uint32_t i = 0; i < flow->alpn_count; i++)
        json_array_append_new(alpn, json_bytes(flow->alpn[i], strlen(flow->alpn[i])));
    set(json, "alpn", alpn);
    return json;
}

static void set_verdict(json_t *json, const struct verdict *verdict)
{
    set(json, "gen", json_integer((json_int_t)verdict->generation));
    set_text(json, "layer", rule_layer_name(verdict->layer));
    set_text(json, "reason", reason_name(verdict->reason));
    if (verdict->effect == VERDICT_DENY && !verdict->rule)
        set_text(json, "sentence", reason_sentence(verdict->reason));
    if (verdict->rule) {
        set_text(json, "rule_text", verdict->rule->text);
        set_text(json, "source", verdict->rule->source);
    }
    if (verdict->grant) {
        char word[INBOX_GRANT_WORD_MAX];

        set_text(json, "grant", inbox_grant_word(verdict->grant, word));
        set(json, "granted_by", json_integer((json_int_t)verdict->grant->request_id));
    }
    set_text(json, "missing", verdict->missing);
    if (verdict->reason == REASON_FLOOR || verdict->reason == REASON_PRIVATE)
        set_text(json, "class", address_class_name(verdict->class));
}

/* Everything that is known of a flow. */
static json_t *show_all(const struct flow *flow)
{
    json_t *json = json_object();

    set(json, "req", show_request(flow));
    set_verdict(json, &flow->verdict);
    if (flow->answer_count)
        set(json, "addr", show_addresses(flow));
    if (flow->tls_version)
        set(json, "tls", show_tls(flow));
    if (flow->method[0]) {
        json_t *http = json_object();

        set_text(http, "method", flow->method);
        set_text(http, "path", flow->path);
        if (flow->http_status)
            set(http, "status", json_integer(flow->http_status));
        set(json, "http", http);
    }
    if (flow->claim.known)
        set(json, "claim", show_claim(&flow->claim));
    if (flow->request_id)
        set(json, "request", json_integer((json_int_t)flow->request_id));
    set_text(json, "failure", flow->failure);
    return json;
}

json_t *way_show_flow(const struct flow *flow, int64_t now_ms)
{
    json_t *json = show_all(flow);

    set(json, "id", json_integer((json_int_t)flow->id));
    set_text(json, "state", flow_state_name(flow->state));
    set_text(json, "session", flow->claim.session);
    set(json, "up", json_integer((json_int_t)flow->up));
    set(json, "down", json_integer((json_int_t)flow->down));
    set(json, "ms", json_integer(now_ms - flow->begun_ms));
    return json;
}

json_t *way_show_verdict(const struct request *request, const struct verdict *verdict)
{
    json_t *json = json_object();
    char host[HOST_FORMAT_MAX];

    set_text(json, "verdict", verdict_effect_name(verdict->effect));
    set_verdict(json, verdict);
    set_text(json, "sentence", reason_sentence(verdict->reason));
    if (request) {
        set_text(json, "target", host_format(&request->host, request->port, host));
        set_text(json, "proto", proto_name(verdict->proto));
    }
    if (verdict->rule)
        set_text(json, "rule", verdict->rule->id);
    if (verdict->rule && verdict->rule->line)
        set(json, "line", json_integer(verdict->rule->line));
    return json;
}

/* ---- rows ---- */

/* The word of a refusal in the column "verdict". */
static const char *deny_word(enum reason reason)
{
    switch (reason) {
    case REASON_FLOOR:
        return "floor";
    case REASON_FORM:
    case REASON_FORM_TLS:
    case REASON_FORM_SNI:
    case REASON_FORM_ECH:
    case REASON_FORM_HTTP:
        return "form";
    case REASON_LIMIT:
    case REASON_ASK_QUOTA:
        return "quota";
    case REASON_NO_UI:
        return "no-ui";
    case REASON_PERSON:
        return "ask-deny";
    case REASON_TIMEOUT:
        return "ask-timeout";
    default:
        return "deny";
    }
}

static json_t *show_samples(const struct flow_record *record)
{
    json_t *list = json_array();

    for (size_t i = 0; i < record->sample_count; i++) {
        json_t *item = json_object();

        set_text(item, "what", record->samples[i].what);
        set_text(item, "reason", reason_name(record->samples[i].reason));
        json_array_append_new(list, item);
    }
    return list;
}

static void fill_burst(const struct flow_record *record, struct event *event, char **ret_subject,
                       json_t *data)
{
    *ret_subject = xasprintf("%llu connections refused, the first to %s", (unsigned long long)record->count,
                             record->sample_count ? record->samples[0].what : "?");
    event->kind = "egress.deny";
    event->verdict = "deny";
    event->ms = record->ms;
    set(data, "count", json_integer((json_int_t)record->count));
    set(data, "first", show_samples(record));
}

static char *subject_of(const struct flow_record *record)
{
    const struct flow *flow = record->flow;
    char host[HOST_FORMAT_MAX];
    const char *target =
        flow->parsed ? host_format(&flow->request.host, flow->request.port, host) : flow->authority;

    if (record->row == FLOW_ROW_REQUEST)
        return xasprintf("%s %s%s", flow->method, target, flow->path);
    if (record->count > 1)
        return xasprintf("%s (%llu times)", target, (unsigned long long)record->count);
    return xstrdup(target);
}

void way_fill_event(const struct flow_record *record, const char *conn, struct event *ret_event,
                    char **ret_subject, char **ret_data)
{
    static const char *const kinds[] = {[FLOW_ROW_OPEN] = "egress.open",
                                        [FLOW_ROW_CLOSE] = "egress.close",
                                        [FLOW_ROW_DENY] = "egress.deny",
                                        [FLOW_ROW_REQUEST] = "egress.request"};
    const struct flow *flow = record->flow;
    auto(json) json_t *data = flow ? show_all(flow) : json_object();
    struct event event = EVENT_INIT;

    event.actor = "guest";
    if (!flow) {
        fill_burst(record, &event, ret_subject, data);
    } else {
        *ret_subject = subject_of(record);
        event.kind = kinds[record->row];
        event.session = flow->claim.session[0] ? flow->claim.session : NULL;
        event.rule = flow->verdict.rule ? flow->verdict.rule->id : NULL;
        event.verdict = record->row == FLOW_ROW_DENY           ? deny_word(flow->verdict.reason)
                        : flow->verdict.reason == REASON_GRANT ? "ask-allow"
                                                               : "allow";
        set_text(data, "conn", conn);
    }
    if (record->row == FLOW_ROW_CLOSE) {
        event.bytes_up = (int64_t)flow->up;
        event.bytes_down = (int64_t)flow->down;
        event.ms = record->ms;
        set_text(data, "end", record->end);
        set_text(data, "end_reason", record->end_reason);
    } else if (flow && record->count > 1) {
        set(data, "count", json_integer((json_int_t)record->count));
    }
    *ret_data = json_text(data);
    event.subject = *ret_subject;
    event.data = *ret_data;
    *ret_event = event;
}
