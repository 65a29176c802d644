#include "worker/flow_internal.h"

#include "base/alloc.h"
#include "base/fd.h"
#include "worker/decode.h"
#include "worker/flow_claim.h"
#include "worker/port.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define STAT_MS 1000

const char *const flow_fields[] = {"hutch-entrance", "hutch-claim", NULL};

static const char *const end_words[FLOW_END_COUNT] = {
#define X(name, word) word,
    FLOW_ENDS(X)
#undef X
};

/* ---- to hutchd ---- */

static void tell(struct worker *worker, const void *message, size_t len)
{
    channel_send(worker->channel, message, len, -1);
}

static void tell_stat(struct flow *flow)
{
    struct wmsg_flow_stat message = {
        .type = WMSG_FLOW_STAT, .flow = flow->number, .up = flow->up, .down = flow->down};

    flow->told = flow->up + flow->down;
    tell(flow->worker, &message, sizeof(message));
}

void flow_ask_request(struct flow *flow)
{
    const struct http_guard_request *request = &flow->guard.request;
    struct wmsg_flow_request message = {.type = WMSG_FLOW_REQUEST, .flow = flow->number};

    message.number = ++flow->requests;
    flow->request_asked = true;
    decode_text(message.method, sizeof(message.method), request->method);
    decode_text(message.path, sizeof(message.path), request->path);
    tell(flow->worker, &message, sizeof(message));
}

void flow_ready(struct flow *flow)
{
    struct wmsg_flow_ready message = {.type = WMSG_FLOW_READY, .flow = flow->number};
    const struct client_hello *hello = &flow->hello;

    if (flow->hello_begun) {
        message.ech = hello->ech;
        for (size_t i = 0; i < hello->version_count; i++)
            if (hello->versions[i] > message.tls_version)
                message.tls_version = hello->versions[i];
        decode_text(message.sni, sizeof(message.sni), hello->has_sni ? hello->sni : "");
        for (; message.alpn_count < FLOW_ALPN_MAX && message.alpn_count < hello->alpn_count &&
               message.alpn_count < CLIENT_HELLO_ALPN_MAX;
             message.alpn_count++)
            decode_text(message.alpn[message.alpn_count], sizeof(message.alpn[0]),
                        hello->alpn[message.alpn_count]);
    }
    flow->state = FLOW_DIALS;
    tell(flow->worker, &message, sizeof(message));
}

/* ---- the stream behind a flow that has ended ---- */

static void on_rest(struct h2_stream *stream, const uint8_t *data, size_t len, void *user)
{
    h2_stream_consumed(stream, len);
}

static const struct h2_stream_ops rest_ops = {.on_data = on_rest};

/* What was said to the guest in order still goes out; anything else is cut. */
static void leave_stream(struct h2_stream *stream)
{
    h2_stream_set_ops(stream, &rest_ops, NULL);
    if (h2_stream_local_ended(stream))
        h2_stream_answer_is_whole(stream);
    else
        h2_stream_reset(stream, H2_CONNECT_ERROR);
}

/* Answers a CONNECT with JSON and ends the stream. */
static void answer(struct h2_stream *stream, int status, const char *json)
{
    static const struct h2_field type = {"content-type", "application/json"};

    if (h2_respond(stream, status, &type, 1, true, NULL) < 0)
        return;
    h2_stream_write(stream, json, strlen(json)); /* FLOW_BODY_MAX is below an out buffer */
    h2_stream_end(stream);
    h2_stream_answer_is_whole(stream);
}

static void free_handle(uv_handle_t *handle)
{
    free(handle);
}

void flow_finish(struct flow *flow, enum flow_end end, const char *reason)
{
    struct worker *worker = flow->worker;
    struct wmsg_flow_end message = {
        .type = WMSG_FLOW_END, .end = end, .flow = flow->number, .up = flow->up, .down = flow->down};

    decode_text(message.reason, sizeof(message.reason), reason ? reason : end_words[end]);
    tell(worker, &message, sizeof(message));
    if (flow->stream)
        leave_stream(flow->stream);
    if (flow->poll)
        uv_close((uv_handle_t *)flow->poll, free_handle);
    if (flow->fd >= 0 && end != FLOW_END_DONE) {
        /* what was cut must not look whole to the server */
        struct linger now = {.l_onoff = 1};
        setsockopt(flow->fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
    }
    cleanup_close(&flow->fd);
    if (flow->hello_begun)
        client_hello_finish(&flow->hello);
    if (flow->guard_begun)
        http_guard_finish(&flow->guard);
    buf_finish(&flow->in);
    buf_finish(&flow->to_server);
    buf_finish(&flow->to_guest);
    TAILQ_REMOVE(&worker->flows, flow, link);
    if (TAILQ_EMPTY(&worker->flows))
        uv_timer_stop(&worker->flow_timer);
    free(flow);
}

/* ---- time ---- */

/* True: the flow is over. */
static bool too_late(struct flow *flow)
{
    uint64_t rest = flow->worker->flow_clock - flow->moved_ms;

    if (flow->state == FLOW_FLIGHT && flow->requests == 0 && rest >= FLOW_FLIGHT_MS) {
        flow_finish(flow, FLOW_END_IDLE, "first-flight-time");
        return true;
    }
    if ((flow->state == FLOW_OPEN || flow->state == FLOW_SHUTS) && rest >= flow->idle_ms) {
        flow_finish(flow, FLOW_END_IDLE, "idle");
        return true;
    }
    return false;
}

static void on_tick(uv_timer_t *timer)
{
    struct worker *worker = timer->data;
    uint64_t now = uv_now(worker->loop);
    struct flow *flow, *next;

    if (worker->running)
        worker->flow_clock += now - worker->flow_tick;
    worker->flow_tick = now;
    bool stat = now - worker->flow_stat >= STAT_MS;
    if (stat)
        worker->flow_stat = now;
    for (flow = TAILQ_FIRST(&worker->flows); flow; flow = next) {
        next = TAILQ_NEXT(flow, link);
        if (!too_late(flow) && stat && flow->up + flow->down != flow->told)
            tell_stat(flow);
    }
}

void flow_init(struct worker *worker)
{
    TAILQ_INIT(&worker->flows);
    uv_timer_init(worker->loop, &worker->flow_timer);
    worker->flow_timer.data = worker;
}

static void add(struct worker *worker, struct flow *flow)
{
    if (TAILQ_EMPTY(&worker->flows)) {
        worker->flow_tick = uv_now(worker->loop);
        uv_timer_start(&worker->flow_timer, on_tick, FLOW_TICK_MS, FLOW_TICK_MS);
    }
    TAILQ_INSERT_TAIL(&worker->flows, flow, link);
}

/* ---- from the guest ---- */

static void on_data(struct h2_stream *stream, const uint8_t *data, size_t len, void *user)
{
    struct flow *flow = user;

    flow->moved_ms = flow->state == FLOW_FLIGHT ? flow->moved_ms : flow->worker->flow_clock;
    require(buf_append(&flow->in, data, len, NULL) == 0); /* at most the stream's window */
    flow_turn(flow);
}

static void on_end(struct h2_stream *stream, void *user)
{
    struct flow *flow = user;

    flow->guest_ended = true;
    flow_turn(flow);
}

static void on_close(struct h2_stream *stream, uint32_t code, void *user)
{
    struct flow *flow = user;
    bool lost = !port_session(flow->worker->ports[PORT_EGRESS]);

    flow->stream = NULL;
    if (code == H2_NO_ERROR && flow->guest_ended && flow->guest_shut)
        flow_finish(flow, FLOW_END_DONE, NULL);
    else
        flow_finish(flow, lost ? FLOW_END_LOST : FLOW_END_GUEST, NULL);
}

static const struct h2_stream_ops flow_ops = {
    .on_data = on_data, .on_end = on_end, .on_writable = flow_on_writable, .on_close = on_close};

/* The two fields, each once. */
static bool read_fields(const struct h2_head *head, enum flow_entrance *ret_entrance,
                        struct flow_claim *ret_claim)
{
    const char *entrance = h2_head_field(head, flow_fields[0]), *claim = h2_head_field(head, flow_fields[1]);

    return head->field_count == 2 && entrance && claim && flow_entrance_read(entrance, ret_entrance) &&
           flow_claim_read(claim, strlen(claim), ret_claim);
}

void flow_begin(struct worker *worker, struct h2_stream *stream, const struct h2_head *head)
{
    struct wmsg_flow_ask message = {.type = WMSG_FLOW_ASK};
    enum flow_entrance entrance;

    h2_stream_set_ops(stream, &rest_ops, NULL);
    if (!read_fields(head, &entrance, &message.claim)) {
        h2_stream_reset(stream, H2_PROTOCOL_ERROR);
        return;
    }
    if (strlen(head->authority) >= sizeof(message.authority)) {
        answer(stream, 400, "{\"verdict\":\"deny\",\"reason\":\"authority\"}");
        return;
    }
    if (channel_full(worker->channel)) {
        answer(stream, 503, "{\"verdict\":\"deny\",\"reason\":\"busy\"}");
        return;
    }
    struct flow *flow = xnew(struct flow);
    flow->worker = worker;
    flow->stream = stream;
    flow->entrance = entrance;
    flow->number = ++worker->flow_last;
    flow->fd = -1;
    flow->moved_ms = worker->flow_clock;
    buf_init(&flow->in, 0);
    buf_init(&flow->to_server, 0);
    buf_init(&flow->to_guest, 0);
    h2_stream_set_ops(stream, &flow_ops, flow);
    add(worker, flow);
    message.flow = flow->number;
    message.entrance = entrance;
    decode_text(message.authority, sizeof(message.authority), head->authority);
    tell(worker, &message, sizeof(message));
}

/* ---- from hutchd ---- */

/* Responses come in the order of the requests. */
static void on_response(int status, void *user)
{
    struct flow *flow = user;
    struct wmsg_flow_response message = {.type = WMSG_FLOW_RESPONSE,
                                         .flow = flow->number,
                                         .number = ++flow->responses,
                                         .status = (uint32_t)status};

    tell(flow->worker, &message, sizeof(message));
}

static void begin_guard(struct flow *flow, uint32_t port)
{
    struct http_guard_options options = {.on_response = on_response,
                                         .user = flow,
                                         .host = flow->host,
                                         .port = (uint16_t)port,
                                         .websocket = flow->flags & FLOW_WEBSOCKET,
                                         .one_request = flow->entrance == FLOW_ABSOLUTE};

    http_guard_init(&flow->guard, &options);
    flow->guard_begun = true;
}

static void allow(struct flow *flow, const struct wmsg_flow_verdict *message)
{
    flow->proto = message->proto;
    flow->flags = message->flags;
    flow->credit = message->credit;
    flow->idle_ms = message->idle_s ? message->idle_s * 1000ull : FLOW_IDLE_MS;
    flow->moved_ms = flow->worker->flow_clock;
    memcpy(flow->host, message->host, sizeof(flow->host));
    if (flow->proto == FLOW_TCP) {
        flow_ready(flow);
        return;
    }
    if (h2_respond(flow->stream, 200, NULL, 0, true, NULL) < 0) {
        flow_finish(flow, FLOW_END_GUEST, NULL);
        return;
    }
    if (flow->proto == FLOW_TLS) {
        client_hello_init(&flow->hello);
        flow->hello_begun = true;
    } else {
        begin_guard(flow, message->port);
    }
    flow->state = FLOW_FLIGHT;
    flow_turn(flow);
}

static void take_verdict(struct flow *flow, const void *data, int *fd)
{
    const struct wmsg_flow_verdict *message = data;

    if (flow->state != FLOW_ASKED)
        return;
    if (message->verdict == FLOW_ALLOW) {
        allow(flow, message);
        return;
    }
    answer(flow->stream, (int)message->status, message->body);
    flow_finish(flow, message->verdict == FLOW_REPLY ? FLOW_END_DONE : FLOW_END_REFUSED, NULL);
}

static void dial_failed(struct flow *flow, const char *reason)
{
    char body[160];

    snprintf(body, sizeof(body), "{\"verdict\":\"error\",\"reason\":\"%s\"}", reason);
    if (flow->proto == FLOW_HTTP) {
        flow_answer(flow, 502, body, FLOW_END_UPSTREAM);
        return;
    }
    if (flow->proto == FLOW_TCP)
        answer(flow->stream, 502, body);
    flow_finish(flow, FLOW_END_UPSTREAM, reason);
}

static void take_dialed(struct flow *flow, const void *data, int *fd)
{
    const struct wmsg_flow_dialed *message = data;

    if (flow->state != FLOW_DIALS)
        return;
    if (!message->ok || *fd < 0) {
        dial_failed(flow, message->reason);
        return;
    }
    if (flow->proto == FLOW_TCP && h2_respond(flow->stream, 200, NULL, 0, true, NULL) < 0) {
        flow_finish(flow, FLOW_END_GUEST, NULL);
        return;
    }
    flow->moved_ms = flow->worker->flow_clock;
    if (flow_connected(flow, steal_fd(fd)) < 0) {
        flow_finish(flow, FLOW_END_UPSTREAM, "descriptor");
        return;
    }
    flow->state = FLOW_OPEN;
    flow_turn(flow);
}

static void take_request_verdict(struct flow *flow, const void *data, int *fd)
{
    const struct wmsg_flow_request_verdict *message = data;

    if (!flow->request_asked || message->number != flow->requests || flow->state == FLOW_SHUTS)
        return;
    flow->request_asked = false;
    if (message->ok) {
        http_guard_allow(&flow->guard, &flow->to_server);
        if (flow->state == FLOW_FLIGHT)
            flow_ready(flow);
        flow_turn(flow);
        return;
    }
    if (http_guard_refuse(&flow->guard, message->body, &flow->to_guest) == HTTP_GUARD_OVER) {
        flow->state = FLOW_SHUTS;
        flow->shuts = FLOW_END_REFUSED;
    }
    flow_turn(flow);
}

static void take_credit(struct flow *flow, const void *data, int *fd)
{
    const struct wmsg_flow_credit *message = data;

    flow->need_told = false;
    if (message->more == FLOW_CREDIT_ALL || flow->credit > FLOW_CREDIT_ALL - message->more)
        flow->credit = FLOW_CREDIT_ALL;
    else
        flow->credit += message->more;
    flow_turn(flow);
}

static void take_cut(struct flow *flow, const void *data, int *fd)
{
    flow_finish(flow, FLOW_END_CUT, NULL);
}

static struct flow *find(struct worker *worker, uint64_t number)
{
    struct flow *flow;

    TAILQ_FOREACH(flow, &worker->flows, link)
    if (flow->number == number)
        return flow;
    return NULL;
}

/* hutchd is of the same build, so its numbers are right; its texts end. */
static bool fits(uint32_t type, const void *data)
{
    const struct wmsg_flow_verdict *verdict = data;
    const struct wmsg_flow_request_verdict *request = data;

    if (type == WMSG_FLOW_VERDICT)
        return verdict->verdict <= FLOW_REPLY && verdict->proto <= FLOW_TCP && verdict->port <= UINT16_MAX &&
               memchr(verdict->host, 0, sizeof(verdict->host)) &&
               memchr(verdict->body, 0, sizeof(verdict->body));
    if (type == WMSG_FLOW_REQUEST_VERDICT)
        return memchr(request->body, 0, sizeof(request->body));
    if (type == WMSG_FLOW_DIALED)
        return memchr(((const struct wmsg_flow_dialed *)data)->reason, 0,
                      sizeof(((const struct wmsg_flow_dialed *)data)->reason));
    return true;
}

bool flow_message(struct worker *worker, uint32_t type, const void *data, size_t len, int fd)
{
    static const struct {
        uint32_t type;
        size_t size, number_at;
        void (*take)(struct flow *flow, const void *data, int *fd);
    } messages[] = {
#define M(type, name, take) {type, sizeof(struct name), offsetof(struct name, flow), take}
        M(WMSG_FLOW_VERDICT, wmsg_flow_verdict, take_verdict),
        M(WMSG_FLOW_DIALED, wmsg_flow_dialed, take_dialed),
        M(WMSG_FLOW_REQUEST_VERDICT, wmsg_flow_request_verdict, take_request_verdict),
        M(WMSG_FLOW_CREDIT, wmsg_flow_credit, take_credit),
        M(WMSG_FLOW_CUT, wmsg_flow_cut, take_cut),
#undef M
    };
    autoclose int owned = fd;

    for (size_t i = 0; i < countof(messages); i++) {
        if (messages[i].type != type)
            continue;
        if (len != messages[i].size || !fits(type, data) || (owned >= 0 && type != WMSG_FLOW_DIALED))
            return false;
        uint64_t number;
        memcpy(&number, (const char *)data + messages[i].number_at, sizeof(number));
        struct flow *flow = find(worker, number);
        if (flow)
            messages[i].take(flow, data, &owned);
        return true;
    }
    return false;
}
