/* flow_refuse.c: how a client learns that it is not let out: in its own protocol, and for everybody in the
 * file of denials. */
#include "base/alloc.h"
#include "guest/flow_internal.h"

#include <string.h>

#define REASON_MAX 48

/* The fixed code of a refusal, or "refused" for anything that does not look like one. */
static const char *reason_of(const json_t *body)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789-";
    const char *reason = json_string_value(json_object_get(body, "reason"));
    size_t len = reason ? strlen(reason) : 0;

    return len > 0 && len <= REASON_MAX && strspn(reason, letters) == len ? reason : "refused";
}

static const char *phrase(int status)
{
    switch (status) {
    case 400:
        return "Bad Request";
    case 403:
        return "Forbidden";
    case 502:
        return "Bad Gateway";
    case 503:
        return "Service Unavailable";
    default:
        return "Refused";
    }
}

/* The phrase carries the reason: it is all that many programs show of an answer. */
static void answer_http(struct flow *flow, const json_t *body)
{
    autofree char *text = json_text(body);
    bool to_head = flow->proxy && http_is(flow->proxy->head.method, "HEAD");

    buf_printf(&flow->out, NULL,
               "HTTP/1.1 %d %s (hutch: %s)\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n"
               "Cache-Control: no-store\r\nConnection: close\r\n\r\n",
               flow->status, phrase(flow->status), reason_of(body), strlen(text) + 1);
    if (!to_head)
        buf_printf(&flow->out, NULL, "%s\n", text);
}

static enum socks_code socks_code_of(int status, const json_t *body)
{
    if (status == 503)
        return SOCKS_FAILED;
    if (status != 502)
        return SOCKS_NOT_ALLOWED;
    return strstr(reason_of(body), "refused") && json_object_get(body, "reason") ? SOCKS_CONNECTION_REFUSED
                                                                                 : SOCKS_HOST_UNREACHABLE;
}

static void note(const struct flow *flow, const json_t *body)
{
    auto(json) json_t *line =
        json_pack("{s:s, s:s, s:i}", "entrance", flow->entrance, "host", flow->host, "port", flow->port);
    if (!line) /* a host that is no UTF-8 */
        line = json_pack("{s:s, s:o}", "entrance", flow->entrance, "host",
                         json_bytes(flow->host, strlen(flow->host)));
    json_object_update(line, (json_t *)body);
    if (flow->pid)
        json_object_set_new(line, "pid", json_integer(flow->pid));
    if (*flow->exe)
        json_object_set_new(line, "exe", json_bytes(flow->exe, strlen(flow->exe)));
    denials_add(flow->flows->parts.denials, line);
}

static void refuse(struct flow *flow, const json_t *body)
{
    note(flow, body);
    if (!flow->proxy) {
        flow_abort(flow);
        return;
    }
    if (flow->proxy->entrance == HTTP_PROXY_SOCKS)
        socks_reply(socks_code_of(flow->status, body), &flow->out);
    else
        answer_http(flow, body);
    flow_end(flow);
}

void flow_refuse(struct flow *flow, int status, const char *reason, const char *next)
{
    auto(json) json_t *body =
        json_pack("{s:s, s:s, s:o, s:i, s:s}", "verdict", "deny", "reason", reason, "host",
                  json_bytes(flow->host, strlen(flow->host)), "port", flow->port, "next", next);
    require(body != NULL);
    flow->status = status;
    refuse(flow, body);
}

void flow_refuse_by_host(struct flow *flow)
{
    auto(json) json_t *body = json_parse((const char *)buf_data(&flow->body), flow->body.len, NULL);

    if (flow->status < 400 || flow->status > 599)
        flow->status = 502;
    if (json_is_object(body))
        refuse(flow, body);
    else
        flow_refuse(flow, flow->status, "refused", "hutch on the host refused the connection");
}

void flow_refuse_form(struct flow *flow)
{
    auto(json) json_t *body =
        json_pack("{s:s, s:s, s:s}", "verdict", "deny", "reason", guard_reason_name(flow->proxy->reason),
                  "next", guard_reason_text(flow->proxy->reason));
    require(body != NULL);
    note(flow, body);
    flow_end(flow);
}
