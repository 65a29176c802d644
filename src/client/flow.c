#include "client/flow.h"

#include "base/alloc.h"
#include "base/words.h"
#include "client/watch.h"

#include <errno.h>
#include <string.h>

struct flow {
    struct client *client;
    struct h2_stream *stream; /* NULL once it is closed */
    struct flow_options options;
    void *user;
    struct watch *in, *out;
    struct buf to_send;  /* what input made, not yet taken by the stream */
    struct buf to_write; /* what is not yet written to fd_out */
    size_t unconsumed;   /* received bytes whose window is not given back */
    uint64_t sent, received;
    bool input_ended, body_ended;
    int status;
    struct buf refusal;   /* the body of an answer that is no 2xx */
    bool closed, cut;     /* the stream's end, reported once all is written */
    enum flow_end failed; /* not FLOW_DONE: our own failure, reported when the stream is closed */
    struct error *why;
};

/* Reports the end and frees: the last act of whoever calls it. Only from the loop, never from inside
 * flow_start. */
static void finish(struct flow *flow, enum flow_end end, struct error *error)
{
    auto(error) struct error *err = error;
    flow->options.on_done(end, err, flow->user);
    flow_cancel(flow);
}

/* What may still arrive on a stream that nobody wants. */
static void drop_data(struct h2_stream *stream, const uint8_t *data, size_t len, void *user)
{
    h2_stream_consumed(stream, len);
}
static const struct h2_stream_ops abandoned = {.on_data = drop_data};

void flow_cancel(struct flow *flow)
{
    if (!flow)
        return;
    if (flow->stream) {
        h2_stream_set_ops(flow->stream, &abandoned, NULL);
        h2_stream_reset(flow->stream, H2_CANCEL);
    }
    watch_free(flow->in);
    watch_free(flow->out);
    buf_finish(&flow->to_send);
    buf_finish(&flow->to_write);
    buf_finish(&flow->refusal);
    error_free(flow->why);
    free(flow);
}

uint64_t flow_sent(const struct flow *flow)
{
    return flow->sent;
}

uint64_t flow_received(const struct flow *flow)
{
    return flow->received;
}

size_t flow_waiting(const struct flow *flow)
{
    return flow->to_send.len + (flow->stream ? h2_stream_queued(flow->stream) : 0);
}

/* The stream is closed and everything is written: says how it went. */
static void report_end(struct flow *flow)
{
    struct error *err = NULL;
    if (flow->failed != FLOW_DONE) {
        finish(flow, flow->failed, steal(&flow->why));
        return;
    }
    if (flow->cut || flow->status == 0) {
        if (flow->client->lost)
            client_lost_error(flow->client, &err);
        else
            error_set(&err, ERROR_IO, _("the stream was cut in the middle"));
        finish(flow, FLOW_CUT, err);
        return;
    }
    if (flow->status / 100 == 2) {
        finish(flow, FLOW_DONE, NULL);
        return;
    }
    auto(json) json_t *body = json_parse((const char *)buf_data(&flow->refusal), flow->refusal.len, NULL);
    if (!body || json_to_error(body, &err) == 0)
        error_set(&err, ERROR_PROTOCOL, _("hutchd answered with status %d"), flow->status);
    finish(flow, FLOW_REFUSED, err);
}

/* Our own failure: the stream is reset, its close reports. */
static void fail(struct flow *flow, enum flow_end end, struct error *err)
{
    if (flow->failed != FLOW_DONE) {
        error_free(err);
        return;
    }
    flow->failed = end;
    flow->why = err;
    buf_consume(&flow->to_write, flow->to_write.len);
    if (flow->in)
        watch_set(flow->in, false);
    if (flow->out)
        watch_set(flow->out, false);
    if (flow->stream)
        h2_stream_reset(flow->stream, H2_CANCEL);
    else
        report_end(flow);
}

/* Gives the window back for all that was received. */
static void give_back(struct flow *flow)
{
    if (flow->stream && flow->unconsumed > 0)
        h2_stream_consumed(flow->stream, flow->unconsumed);
    flow->unconsumed = 0;
}

/* Writes what can be written now. May finish the flow: the caller's last act. */
static void drain(struct flow *flow)
{
    while (flow->to_write.len > 0) {
        ssize_t n = watch_write(flow->out, buf_data(&flow->to_write), flow->to_write.len);
        if (n < 0) {
            struct error *err = NULL;
            error_set_errno(&err, (int)-n, _("cannot write"));
            fail(flow, FLOW_OUTPUT_FAILED, err);
            return;
        }
        if (n == 0 && watch_kind(flow->out) != WATCH_FILE) {
            watch_set(flow->out, true);
            return;
        }
        buf_consume(&flow->to_write, (size_t)n);
    }
    if (flow->out)
        watch_set(flow->out, false);
    give_back(flow);
    if (flow->closed)
        report_end(flow);
}

static void on_out_ready(void *user)
{
    drain(user);
}

/* Takes bytes of the answer. */
static void on_data(struct h2_stream *stream, const uint8_t *data, size_t len, void *user)
{
    struct flow *flow = user;
    flow->unconsumed += len;
    if (flow->failed != FLOW_DONE) {
        give_back(flow);
        return;
    }
    if (flow->status / 100 != 2) {
        if (flow->refusal.len + len <= JSON_LINE_MAX)
            require(buf_append(&flow->refusal, data, len, NULL) == 0);
        give_back(flow);
        return;
    }
    flow->received += len;
    if (flow->options.consume) {
        struct error *err = NULL;
        if (flow->options.consume(data, len, flow->user, &err) < 0)
            fail(flow, FLOW_OUTPUT_FAILED, err);
        else
            give_back(flow);
    } else if (flow->options.fd_out < 0) {
        give_back(flow);
    } else {
        if (flow->options.output)
            flow->options.output(data, len, &flow->to_write, flow->user);
        else
            require(buf_append(&flow->to_write, data, len, NULL) == 0);
        drain(flow);
    }
}

static void on_head(struct h2_stream *stream, const struct h2_head *head, void *user)
{
    struct flow *flow = user;
    flow->status = head->status;
    if (head->status / 100 == 2 && flow->options.on_head)
        flow->options.on_head(head, flow->user);
}

static void on_close(struct h2_stream *stream, uint32_t code, void *user)
{
    struct flow *flow = user;
    flow->stream = NULL;
    flow->closed = true;
    flow->cut = code != H2_NO_ERROR;
    if (flow->in)
        watch_set(flow->in, false);
    if (flow->to_write.len == 0)
        report_end(flow);
}

/* Ends the request's body. */
static void end_body(struct flow *flow)
{
    flow->input_ended = true;
    if (flow->to_send.len > 0 || flow->body_ended)
        return;
    flow->body_ended = true;
    if (flow->in)
        watch_set(flow->in, false);
    h2_stream_end(flow->stream);
}

/* Hands what waits to the stream. True: all of it went. */
static bool push(struct flow *flow)
{
    size_t n = h2_stream_write(flow->stream, buf_data(&flow->to_send), flow->to_send.len);
    buf_consume(&flow->to_send, n);
    return flow->to_send.len == 0;
}

/* Reads the next piece into to_send. 1: something or the end; 0: not now; negative: failed. */
static int read_piece(struct flow *flow, struct error **err)
{
    if (flow->options.produce) {
        const uint8_t *data;
        size_t len;
        int rc = flow->options.produce(&data, &len, flow->user, err);
        if (rc < 0)
            return rc;
        flow->input_ended = len == 0;
        flow->sent += len;
        require(buf_append(&flow->to_send, data, len, NULL) == 0);
        return 1;
    }
    uint8_t data[FLOW_CHUNK];
    ssize_t n = watch_read(flow->in, data, sizeof(data));
    if (n == -EAGAIN)
        return 0;
    if (n < 0)
        return error_set_errno(err, (int)-n, _("cannot read"));
    flow->input_ended = n == 0;
    flow->sent += (uint64_t)n;
    if (flow->options.input)
        flow->options.input(data, (size_t)n, &flow->to_send, flow->user);
    else
        require(buf_append(&flow->to_send, data, (size_t)n, NULL) == 0);
    return 1;
}

/* Moves input into the stream until it takes no more, or (for a descriptor that must be waited for) one
 * piece. */
static void pump(struct flow *flow)
{
    bool wait = flow->in && watch_kind(flow->in) != WATCH_FILE;
    while (flow->stream && !flow->body_ended && flow->failed == FLOW_DONE) {
        if (!push(flow)) {
            if (flow->in)
                watch_set(flow->in, false);
            return; /* on_writable goes on */
        }
        if (flow->input_ended) {
            end_body(flow);
            return;
        }
        if (wait) {
            watch_set(flow->in, true);
            return;
        }
        struct error *err = NULL;
        if (read_piece(flow, &err) < 0) {
            fail(flow, FLOW_INPUT_FAILED, err);
            return;
        }
    }
}

static void on_in_ready(void *user)
{
    struct flow *flow = user;
    struct error *err = NULL;
    if (flow->to_send.len == 0 && read_piece(flow, &err) < 0)
        fail(flow, FLOW_INPUT_FAILED, err);
    else
        pump(flow);
}

static void on_writable(struct h2_stream *stream, void *user)
{
    pump(user);
}

static const struct h2_stream_ops flow_ops = {
    .on_head = on_head,
    .on_data = on_data,
    .on_writable = on_writable,
    .on_close = on_close,
};

int flow_start(struct client *client, const struct flow_options *options, void *user, struct flow **ret_flow,
               struct error **err)
{
    if (client->lost)
        return client_lost_error(client, err);
    struct flow *flow = xnew(struct flow);
    flow->client = client;
    flow->options = *options;
    flow->user = user;
    buf_init(&flow->to_send, 0);
    buf_init(&flow->to_write, 0);
    buf_init(&flow->refusal, 0);
    int rc = 0;
    if (options->body && !options->produce)
        rc = watch_create(client->loop, options->fd_in, false, on_in_ready, flow, &flow->in, err);
    if (rc == 0 && options->fd_out >= 0 && !options->consume)
        rc = watch_create(client->loop, options->fd_out, true, on_out_ready, flow, &flow->out, err);
    if (rc == 0) {
        const struct h2_field fields[] = {{"content-type", "application/octet-stream"}};
        flow->stream = h2_request(link_session(client->link), options->method, options->path, "hutch", fields,
                                  options->body ? 1 : 0, options->body, &flow_ops, flow, err);
        rc = flow->stream ? 0 : -ERROR_IO;
    }
    if (rc < 0) {
        flow_cancel(flow);
        return rc;
    }
    *ret_flow = flow;
    if (options->body)
        pump(flow);
    return 0;
}

/* ---- one flow to its end ---- */

struct run {
    void (*on_done)(enum flow_end end, const struct error *err, void *user);
    struct flow_options options;
    void *user;
    bool done;
    struct error *err;
};

static void run_done(enum flow_end end, const struct error *err, void *user)
{
    struct run *run = user;
    run->done = true;
    run->err = error_copy(err);
    if (end != FLOW_DONE && !run->err)
        error_set(&run->err, ERROR_IO, _("it was cut in the middle"));
}

static int run_produce(const uint8_t **ret_data, size_t *ret_len, void *user, struct error **err)
{
    struct run *run = user;
    return run->options.produce(ret_data, ret_len, run->user, err);
}

static int run_consume(const uint8_t *data, size_t len, void *user, struct error **err)
{
    struct run *run = user;
    return run->options.consume(data, len, run->user, err);
}

int flow_run(struct client *client, const struct flow_options *options, void *user, struct error **err)
{
    require(!options->input && !options->output && !options->on_head && !options->on_done);
    struct run run = {.options = *options, .user = user};
    struct flow_options wrapped = *options;
    wrapped.on_done = run_done;
    if (options->produce)
        wrapped.produce = run_produce;
    if (options->consume)
        wrapped.consume = run_consume;
    struct flow *flow = NULL;
    int rc = flow_start(client, &wrapped, &run, &flow, err);
    if (rc < 0)
        return rc;
    while (!run.done)
        uv_run(client->loop, UV_RUN_ONCE);
    return error_move(err, &run.err);
}
