/* flow.c: one connection from its first byte until the pump has it. */
#include "base/alloc.h"
#include "base/fd.h"
#include "base/log.h"
#include "guest/flow_internal.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/netfilter_ipv4.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>

#define PIECE                16384 /* of a handshake, read at once */
#define IP6T_SO_ORIGINAL_DST 80    /* linux/netfilter_ipv6/ip6_tables.h, which clashes with netinet/in.h */

static void on_poll(uv_poll_t *poll, int status, int events);
static void on_timer(uv_timer_t *timer);

/* ---- handles ---- */

static void on_handle_closed(uv_handle_t *handle)
{
    struct flow *flow = handle->data;
    if (--flow->handles == 0)
        free(flow);
}

static void end_polling(struct flow *flow)
{
    if (flow->polling)
        uv_close((uv_handle_t *)&flow->poll, on_handle_closed);
    flow->polling = false;
}

void flow_poll(struct flow *flow, int events)
{
    if (!flow->polling || events == flow->events)
        return;
    flow->events = events;
    if (events)
        require(uv_poll_start(&flow->poll, events, on_poll) == 0);
    else
        uv_poll_stop(&flow->poll);
}

static void drop_proxy(struct flow *flow)
{
    if (flow->proxy)
        http_proxy_finish(flow->proxy);
    free(flow->proxy);
    flow->proxy = NULL;
}

void flow_close(struct flow *flow, bool reset)
{
    const struct linger at_once = {.l_onoff = 1};

    flows_leave_queue(flow);
    claims_forget(flow->question);
    if (flow->stream)
        flows_reset_stream(flow->flows, flow->stream);
    flow->stream = NULL;
    end_polling(flow);
    if (flow->fd >= 0 && reset)
        setsockopt(flow->fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
    cleanup_close(&flow->fd);
    drop_proxy(flow);
    free(flow->claim);
    buf_finish(&flow->early);
    buf_finish(&flow->out);
    buf_finish(&flow->body);
    flows_forget(flow);
    uv_close((uv_handle_t *)&flow->timer, on_handle_closed);
}

void flow_abort(struct flow *flow)
{
    flow_close(flow, true);
}

/* ---- where to ---- */

static void set_address(struct flow *flow, const struct sockaddr_storage *to)
{
    const struct sockaddr_in *v4 = (const struct sockaddr_in *)to;
    const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)to;
    const char *name = NULL;
    char text[INET6_ADDRSTRLEN];

    flow->port = ntohs(v4->sin_port); /* the same place in both families */
    if (to->ss_family == AF_INET && flow->flows->parts.stub)
        name = stub_name(flow->flows->parts.stub, ntohl(v4->sin_addr.s_addr));
    flow->entrance = name ? "capture-name" : "capture-address";
    if (name) {
        snprintf(flow->host, sizeof(flow->host), "%s", name);
    } else if (to->ss_family == AF_INET) {
        inet_ntop(AF_INET, &v4->sin_addr, flow->host, sizeof(flow->host));
    } else {
        inet_ntop(AF_INET6, &v6->sin6_addr, text, sizeof(text));
        snprintf(flow->host, sizeof(flow->host), "[%s]", text);
    }
}

/* Both ends as the client sees them. False: it went to the capture's own port, or is gone already. */
static bool find_ends(struct flow *flow, enum flow_door door, uint16_t capture_port)
{
    struct claim_ends *ends = &flow->ends;
    socklen_t from_len = sizeof(ends->from), to_len = sizeof(ends->to);

    if (getpeername(flow->fd, (struct sockaddr *)&ends->from, &from_len) ||
        getsockname(flow->fd, (struct sockaddr *)&ends->to, &to_len))
        return false;
    if (door == FLOW_PROXY)
        return true;
    bool v4 = ends->to.ss_family == AF_INET;
    to_len = sizeof(ends->to);
    if (getsockopt(flow->fd, v4 ? IPPROTO_IP : IPPROTO_IPV6, v4 ? SO_ORIGINAL_DST : IP6T_SO_ORIGINAL_DST,
                   &ends->to, &to_len))
        return false;
    set_address(flow, &ends->to);
    return flow->port != capture_port;
}

static const char *entrance_name(const struct http_proxy *proxy)
{
    if (proxy->entrance == HTTP_PROXY_CONNECT)
        return "connect";
    if (proxy->entrance == HTTP_PROXY_ABSOLUTE)
        return "absolute";
    return proxy->literal ? "socks-address" : "socks-name";
}

/* ---- a proxy's client ---- */

/* Where to is known; from now on only the end of the client is looked for. */
static void set_asking(struct flow *flow)
{
    flow->state = FLOW_CLAIMS;
    uv_timer_stop(&flow->timer);
    flow_poll(flow, UV_DISCONNECT);
    if (!flow->question)
        flows_admit(flow);
}

/* Writes what the client is to be told before its answer: a few bytes, which fit. */
static bool write_out(struct flow *flow)
{
    while (flow->out.len > 0) {
        ssize_t n = send(flow->fd, buf_data(&flow->out), flow->out.len, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (n < 0 && errno != EINTR)
            return errno == EAGAIN;
        buf_consume(&flow->out, n < 0 ? 0 : (size_t)n);
    }
    return true;
}

static void read_request(struct flow *flow)
{
    uint8_t piece[PIECE];
    ssize_t n = recv(flow->fd, piece, sizeof(piece), MSG_DONTWAIT);
    size_t used;

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0) {
        flow_close(flow, n < 0);
        return;
    }
    enum http_proxy_result result = http_proxy_feed(flow->proxy, piece, (size_t)n, &used, &flow->out);
    if (result == HTTP_PROXY_REFUSED) {
        flow_refuse_form(flow);
        return;
    }
    if (!write_out(flow) || flow->out.len > 0) {
        flow_abort(flow);
        return;
    }
    if (result == HTTP_PROXY_MORE)
        return;
    buf_append(&flow->early, piece + used, (size_t)n - used, NULL);
    snprintf(flow->host, sizeof(flow->host), "%s", flow->proxy->host);
    flow->port = flow->proxy->port;
    flow->entrance = entrance_name(flow->proxy);
    set_asking(flow);
}

/* The client has closed, or has only no more to send. */
static void look_at_client(struct flow *flow)
{
    if (claims_peer_gone(flow->flows->parts.claims, &flow->ends)) {
        flow_abort(flow);
        return;
    }
    flow->half_closed = true;
    flow_poll(flow, 0);
    uv_timer_start(&flow->timer, on_timer, FLOW_CHECK_MS, FLOW_CHECK_MS);
}

/* A refusal goes out, then what the client still sends is thrown away: unread, it would become a reset that
 * overtakes the refusal. */
static void end_slowly(struct flow *flow)
{
    char thrown[PIECE];

    if (!write_out(flow)) {
        flow_abort(flow);
        return;
    }
    if (flow->out.len > 0) {
        flow_poll(flow, UV_WRITABLE);
        return;
    }
    shutdown(flow->fd, SHUT_WR);
    ssize_t n = recv(flow->fd, thrown, sizeof(thrown), MSG_DONTWAIT);
    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
        flow_close(flow, false);
    else
        flow_poll(flow, UV_READABLE);
}

void flow_end(struct flow *flow)
{
    flow->state = FLOW_ENDS;
    flows_leave_queue(flow);
    uv_timer_start(&flow->timer, on_timer, FLOW_LINGER_MS, 0);
    flow_poll(flow, UV_WRITABLE);
}

static void on_poll(uv_poll_t *poll, int status, int events)
{
    struct flow *flow = poll->data;

    if (status < 0) {
        flow->events = 0;
        flow_abort(flow);
    } else if (flow->state == FLOW_READS) {
        read_request(flow);
    } else if (flow->state == FLOW_ENDS) {
        end_slowly(flow);
    } else {
        look_at_client(flow);
    }
}

static void on_timer(uv_timer_t *timer)
{
    struct flow *flow = timer->data;

    if (flow->half_closed && flow->state != FLOW_ENDS)
        look_at_client(flow);
    else
        flow_abort(flow); /* a handshake or an end that takes too long */
}

static void on_claim(const struct claim *claim, void *user)
{
    struct flow *flow = user;

    flow->question = NULL;
    flow->claim = xmemdup(claim, sizeof(*claim));
    flow->pid = claim->pid;
    memcpy(flow->exe, claim->exe, sizeof(flow->exe));
    if (flow->state == FLOW_CLAIMS)
        flows_admit(flow);
}

void flow_begin(struct flows *flows, int fd, enum flow_door door, uint16_t capture_port)
{
    struct flow *flow = xnew(struct flow);
    const int on = 1;

    flow->flows = flows;
    flow->fd = fd;
    flow->entrance = "proxy";
    flow->since_ms = flows_now(flows);
    buf_init(&flow->early, PIECE);
    buf_init(&flow->out, 0);
    buf_init(&flow->body, FLOW_BODY_MAX);
    flow->previous = flows->last;
    *(flows->last ? &flows->last->next : &flows->first) = flow;
    flows->last = flow;
    flows->count++;
    uv_timer_init(flows->parts.loop, &flow->timer);
    require(uv_poll_init(flows->parts.loop, &flow->poll, fd) == 0);
    flow->timer.data = flow->poll.data = flow;
    flow->handles = 2;
    flow->polling = true;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    if (!find_ends(flow, door, capture_port)) {
        flow_abort(flow);
        return;
    }
    if (flows->count > FLOW_OPEN_MAX) {
        flow_refuse(flow, 503, "busy", "this machine has too many connections at once; try again later");
        return;
    }
    flow->question = claims_ask(flows->parts.claims, &flow->ends, on_claim, flow);
    if (door == FLOW_CAPTURE) {
        set_asking(flow);
        return;
    }
    flow->proxy = xnew(struct http_proxy);
    http_proxy_init(flow->proxy);
    uv_timer_start(&flow->timer, on_timer, FLOW_HANDSHAKE_MS, 0);
    flow_poll(flow, UV_READABLE);
}

/* ---- the host ---- */

static void on_pump_done(struct pump *pump, enum pump_end end, const struct error *err, void *user)
{
    struct flow *flow = user;
    struct flows *flows = flow->flows;

    if (err)
        log_debug("%s:%u: %s", flow->host, flow->port, err->message);
    flow_close(flow, false);
    flows_next(flows);
}

static void cut_stream(struct h2_stream *stream, void *user)
{
    struct flow *flow = user;
    flows_reset_stream(flow->flows, stream);
}

/* The host said yes: the client is told, what it sent ahead goes first, then the pump has both. */
static void open_flow(struct flow *flow)
{
    const struct pump_options options = {.fd_in = flow->fd,
                                         .fd_out = flow->fd,
                                         .own_fds = true,
                                         .cut_fds = true,
                                         .cut_stream = cut_stream,
                                         .on_done = on_pump_done};
    auto(error) struct error *err = NULL;
    struct pump *pump;
    struct buf ahead;

    buf_init(&ahead, 0);
    if (flow->proxy)
        http_proxy_granted(flow->proxy, &flow->out, &ahead);
    buf_append(&ahead, buf_data(&flow->early), flow->early.len, NULL);
    bool well = write_out(flow) && flow->out.len == 0;
    /* a head and a piece, at most half of what a new stream takes */
    well = well && h2_stream_write(flow->stream, buf_data(&ahead), ahead.len) == ahead.len;
    buf_finish(&ahead);
    drop_proxy(flow);
    uv_timer_stop(&flow->timer);
    end_polling(flow);
    if (well && pump_create(flow->flows->parts.loop, flow->stream, &options, flow, &pump, &err)) {
        log_warning("%s:%u: %s", flow->host, flow->port, err->message);
        well = false;
    }
    if (!well) {
        flow_abort(flow);
        return;
    }
    flow->state = FLOW_OPEN;
    flow->fd = -1;
    flow->stream = NULL;
}

static void on_head(struct h2_stream *stream, const struct h2_head *head, void *user)
{
    struct flow *flow = user;

    flow->status = head->status;
    if (head->status == 200)
        open_flow(flow);
}

static void on_data(struct h2_stream *stream, const uint8_t *data, size_t len, void *user)
{
    struct flow *flow = user;
    size_t room = buf_room(&flow->body);

    buf_append(&flow->body, data, len < room ? len : room, NULL);
    h2_stream_consumed(stream, len);
}

static void on_refused_close(struct h2_stream *stream, uint32_t code, void *user)
{
    flows_next(user);
}

/* The whole refusal is here. Our half ends in order: a reset would count against us. */
static void on_end(struct h2_stream *stream, void *user)
{
    static const struct h2_stream_ops refused = {.on_close = on_refused_close};
    struct flow *flow = user;

    h2_stream_set_ops(stream, &refused, flow->flows);
    h2_stream_end(stream);
    flow->stream = NULL;
    flow_refuse_by_host(flow);
}

static void on_close(struct h2_stream *stream, uint32_t code, void *user)
{
    struct flow *flow = user;
    struct flows *flows = flow->flows;

    flow->stream = NULL;
    if (!flows->link)
        flow_abort(flow);
    else if (code == H2_REFUSED_STREAM)
        flow_refuse(flow, 503, "busy", "the host takes no more connections now; try again later");
    else
        flow_refuse(flow, 502, "cut", "the host ended the connection without an answer; try again");
}

void flow_ask(struct flow *flow)
{
    static const struct h2_stream_ops ops = {
        .on_head = on_head, .on_data = on_data, .on_end = on_end, .on_close = on_close};
    const struct h2_field fields[] = {{"hutch-entrance", flow->entrance}, {"hutch-claim", flow->claim->text}};
    auto(error) struct error *err = NULL;
    char authority[AUTHORITY_HOST_MAX + 8];

    snprintf(authority, sizeof(authority), "%s:%u", flow->host, flow->port);
    flow->state = FLOW_ASKED;
    flow->stream = h2_request(link_session(flow->flows->link), "CONNECT", NULL, authority, fields,
                              countof(fields), true, &ops, flow, &err);
    free(flow->claim);
    flow->claim = NULL;
    if (flow->stream)
        return;
    if (err->code == ERROR_INVALID)
        flow_refuse(flow, 400, "form", "the host's name has bytes that no name can have");
    else
        flow_refuse(flow, 503, "host-gone", "hutch on the host does not answer; try again");
}
