#include "base/alloc.h"
#include "base/log.h"
#include "guest/agent.h"
#include "guest/api.h"

struct call_job {
    uv_work_t work;
    struct call *call;
    call_work_fn run;
    json_t *result;
    struct error *err;
};

void call_free(struct call *call)
{
    query_finish(&call->query);
    json_decref(call->body);
    free(call);
}

/* The client went away before its answer. */
static void on_close(struct h2_stream *stream, uint32_t code, void *user)
{
    struct call *call = user;

    call->stream = NULL;
    if (call->on_gone)
        call->on_gone(call);
    else
        call_free(call);
}

static const struct h2_stream_ops waiting_ops = {.on_close = on_close};

void call_watch(struct call *call)
{
    h2_stream_set_ops(call->stream, &waiting_ops, call);
}

void call_reply(struct call *call, json_t *body)
{
    if (!body)
        body = json_object();
    if (call->stream) {
        h2_stream_set_ops(call->stream, NULL, NULL);
        json_reply(call->stream, 200, body);
    }
    json_decref(body);
    call_free(call);
}

void call_fail(struct call *call, struct error *err)
{
    if (call->stream) {
        h2_stream_set_ops(call->stream, NULL, NULL);
        json_reply_error(call->stream, err);
    }
    error_free(err);
    call_free(call);
}

static void on_body(struct h2_stream *stream, json_t *body, const struct error *err, void *user)
{
    struct call *call = user;

    call->stream = stream;
    if (err) {
        call_fail(call, error_copy(err));
        return;
    }
    call->body = json_incref(body);
    call_watch(call);
    call->route->handler(call);
}

void call_begin(struct agent *agent, struct h2_stream *stream, const struct h2_head *head)
{
    auto(error) struct error *err = NULL;
    const struct route *route = api_find(head->method, head->path, &err);

    if (!route) {
        json_reply_error(stream, err);
        return;
    }
    struct call *call = xnew(struct call);
    call->agent = agent;
    call->stream = stream;
    call->route = route;
    if (query_parse(route->pattern, head->path, &call->query, &err)) {
        call_fail(call, steal(&err));
        return;
    }
    if (route->body == ROUTE_JSON) {
        if (json_collect(stream, head, on_body, call, &err))
            call_fail(call, steal(&err));
        return;
    }
    call_watch(call);
    route->handler(call);
}

static void job_run(uv_work_t *work)
{
    struct call_job *job = work->data;
    job->run(job->call, &job->result, &job->err);
}

static void job_done(uv_work_t *work, int status)
{
    struct call_job *job = work->data;

    if (job->err)
        call_fail(job->call, job->err);
    else
        call_reply(job->call, job->result);
    free(job);
}

/* A job on the pool cannot be stopped; its call stays until it is done. */
static void job_gone(struct call *call)
{
}

void call_work(struct call *call, call_work_fn work)
{
    struct call_job *job = xnew(struct call_job);

    job->call = call;
    job->run = work;
    job->work.data = job;
    call->on_gone = job_gone;
    require(uv_queue_work(&call->agent->loop, &job->work, job_run, job_done) == 0);
}
