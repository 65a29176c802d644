#include "guest/task.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/spawn.h"
#include "wire/pump.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>

#define TAIL_MAX 2048 /* bytes of the end of stderr that are kept */
#define KILL_MS  2000

struct task {
    struct call *call;
    enum task_shape shape;
    bool commits;
    const char *content_type;
    char *name; /* of the program, for messages */
    pid_t pid;
    int status;          /* -1: runs */
    int in, out, commit; /* our ends */
    int err;
    struct pump *pump;
    bool began;   /* the head of the answer is out */
    bool in_over; /* TASK_IN: the body has ended or is not wanted */
    uv_poll_t poll_out, poll_err;
    uv_timer_t kill;
    bool have_poll_out;
    int handles;
    struct buf tail, line;
};

static void on_closed(uv_handle_t *handle)
{
    struct task *task = handle->data;
    if (--task->handles > 0)
        return;
    buf_finish(&task->tail);
    buf_finish(&task->line);
    free(task->name);
    free(task);
}

static void close_poll_out(struct task *task)
{
    if (task->have_poll_out)
        uv_close((uv_handle_t *)&task->poll_out, on_closed);
    task->have_poll_out = false;
}

/* Lets go of everything but a process that still runs: that one is told to end. */
static void task_end(struct task *task)
{
    close_poll_out(task);
    uv_close((uv_handle_t *)&task->poll_err, on_closed);
    cleanup_close(&task->in);
    cleanup_close(&task->out);
    cleanup_close(&task->commit);
    cleanup_close(&task->err);
    if (task->status >= 0)
        uv_close((uv_handle_t *)&task->kill, on_closed);
    task->call = NULL;
}

static void on_kill_time(uv_timer_t *timer)
{
    struct task *task = timer->data;
    kill(-task->pid, SIGKILL);
}

/* The client has gone. A commit is not given; the process hears of it before its stdin ends. */
static void task_abort(struct task *task)
{
    if (task->status < 0) {
        kill(-task->pid, SIGTERM);
        uv_timer_start(&task->kill, on_kill_time, KILL_MS, 0);
    }
    task_end(task);
}

static void task_gone(struct call *call)
{
    task_abort(call->state);
    call_free(call);
}

static void read_tail(struct task *task)
{
    char piece[1024];
    ssize_t n;

    while ((n = read(task->err, piece, sizeof(piece))) > 0) {
        buf_append(&task->tail, piece, (size_t)n, NULL);
        if (task->tail.len > TAIL_MAX)
            buf_consume(&task->tail, task->tail.len - TAIL_MAX);
    }
    if (n == 0)
        uv_poll_stop(&task->poll_err);
}

/* The reason why it failed: its own error object, else what it said last. */
static struct error *task_error(struct task *task)
{
    struct error *err = NULL;

    read_tail(task);
    json_t *object = json_parse((const char *)buf_data(&task->tail), task->tail.len, NULL);
    if (object && json_to_error(object, &err)) {
        json_decref(object);
        return err;
    }
    json_decref(object);
    autofree char *text = buf_take_string(&task->tail);
    size_t len = strlen(text);
    while (len && text[len - 1] == '\n')
        text[--len] = '\0';
    if (task->status > 128)
        error_set(&err, ERROR_FAILED, "%s was ended by signal %d%s%s", task->name, task->status - 128,
                  len ? ": " : "", text);
    else
        error_set(&err, ERROR_FAILED, "%s: %s%d", task->name, len ? "" : "ended with status ", task->status);
    if (len && task->status <= 128) {
        error_free(err);
        err = NULL;
        error_set(&err, ERROR_FAILED, "%s: %s", task->name, text);
    }
    return err;
}

static void answer(struct task *task, json_t *body)
{
    struct call *call = task->call;
    task_end(task);
    call_reply(call, body);
}

static void answer_failure(struct task *task)
{
    struct call *call = task->call;
    struct error *err = task_error(task);

    if (task->began && call->stream) {
        log_warning("%s", err->message);
        h2_stream_reset(call->stream, H2_INTERNAL_ERROR);
        call->stream = NULL;
    }
    task_end(task);
    call_fail(call, err);
}

/* ---- bytes out ---- */

/* The pump of an answer is through. */
static void on_out_done(struct pump *pump, enum pump_end end, const struct error *err, void *user)
{
    struct task *task = user;
    struct call *call = task->call;

    task->pump = NULL;
    task->in = task->out = -1; /* the pump has closed them */
    call->stream = NULL;
    task_abort(task);
    call_free(call);
}

static bool begin_pump(struct task *task, int fd_in, int fd_out, struct error **err)
{
    struct call *call = task->call;
    const struct h2_field fields[] = {{"content-type", task->content_type}};
    const struct pump_options options = {
        .fd_in = fd_in, .fd_out = fd_out, .own_fds = true, .hold_end = true, .on_done = on_out_done};

    if (h2_respond(call->stream, 200, fields, countof(fields), true, err))
        return false;
    task->began = true;
    if (pump_create(&call->agent->loop, call->stream, &options, task, &task->pump, err))
        return false;
    task->out = -1;
    call->stream = NULL;
    return true;
}

static void fail_begin(struct task *task, struct error *err)
{
    struct call *call = task->call;
    if (task->began && call->stream)
        h2_stream_reset(call->stream, H2_INTERNAL_ERROR);
    task_abort(task);
    call_fail(call, err);
}

/* TASK_OUT: something is there, or the end. An end without a byte waits for the exit status. */
static void look_at_output(struct task *task)
{
    char byte;
    struct error *err = NULL;
    ssize_t n = recv(task->out, &byte, 1, MSG_PEEK | MSG_DONTWAIT);

    if (n < 0 && errno == EAGAIN && task->status < 0)
        return;
    close_poll_out(task);
    if (n <= 0 && task->status < 0)
        return;
    if (n <= 0 && task->status > 0) {
        answer_failure(task);
        return;
    }
    if (!begin_pump(task, task->out, -1, &err)) {
        fail_begin(task, err);
        return;
    }
    if (task->status >= 0)
        pump_end_input(task->pump, task->status == 0);
}

/* TASK_LINE: collects. */
static void read_line(struct task *task)
{
    char piece[4096];
    ssize_t n;

    while ((n = recv(task->out, piece, sizeof(piece), MSG_DONTWAIT)) > 0)
        if (buf_append(&task->line, piece, (size_t)n, NULL))
            break;
    if (n == 0)
        close_poll_out(task);
}

static void on_output(uv_poll_t *poll, int status, int events)
{
    struct task *task = poll->data;
    if (task->shape == TASK_LINE)
        read_line(task);
    else
        look_at_output(task);
}

static void on_tail(uv_poll_t *poll, int status, int events)
{
    read_tail(poll->data);
}

static void answer_line(struct task *task)
{
    struct error *err = NULL;

    read_line(task);
    json_t *body = json_parse((const char *)buf_data(&task->line), task->line.len, &err);
    if (body) {
        answer(task, body);
        return;
    }
    struct call *call = task->call;
    task_end(task);
    call_fail(call, err);
}

/* ---- the end of the process ---- */

static void on_exit_status(pid_t pid, int status, void *user)
{
    struct task *task = user;

    task->status = status;
    if (!task->call) { /* aborted before */
        uv_close((uv_handle_t *)&task->kill, on_closed);
        return;
    }
    if (task->pump && task->shape != TASK_IN) {
        if (status) {
            auto(error) struct error *err = task_error(task);
            log_warning("%s", err->message);
        }
        pump_end_input(task->pump, status == 0);
    } else if (task->shape == TASK_OUT) {
        look_at_output(task);
    } else if (task->shape == TASK_LINE) {
        if (status)
            answer_failure(task);
        else
            answer_line(task);
    } else if (task->shape == TASK_IN) {
        if (task->pump) {
            /* it ended without the rest of the body: its status says whether that is all right */
            pump_cancel(task->pump);
            task->pump = NULL;
        }
        if (status)
            answer_failure(task);
        else
            answer(task, NULL);
    }
}

/* ---- bytes in ---- */

static void on_in_done(struct pump *pump, enum pump_end end, const struct error *err, void *user)
{
    struct task *task = user;

    task->pump = NULL;
    if (end == PUMP_STREAM_RESET) {
        struct call *call = task->call;
        call->stream = NULL;
        task_abort(task);
        call_free(call);
        return;
    }
    call_watch(task->call);
    if (end == PUMP_DONE && task->commits && fd_write_all(task->commit, "\n", 1, NULL))
        log_debug("%s ended before its commit", task->name);
    cleanup_close(&task->in);
    cleanup_close(&task->commit);
    /* the answer follows the process's end */
}

/* ---- start ---- */

struct ends {
    int in, out, err, commit; /* the child's */
};

static void ends_close(struct ends *ends)
{
    cleanup_close(&ends->in);
    cleanup_close(&ends->out);
    cleanup_close(&ends->err);
    cleanup_close(&ends->commit);
}

/* A socket pair: ours non-blocking, the child's blocking. */
static int make_pair(int *ret_ours, int *ret_theirs, struct error **err)
{
    int pair[2];
    int rc = fd_socketpair(SOCK_STREAM, false, pair, err);

    if (rc)
        return rc;
    *ret_ours = pair[0];
    *ret_theirs = pair[1];
    return fd_set_nonblocking(pair[0], true, err);
}

static int make_ends(struct task *task, struct ends *ends, struct error **err)
{
    int rc = make_pair(&task->err, &ends->err, err);
    if (!rc && task->shape == TASK_DUPLEX) {
        rc = make_pair(&task->out, &ends->out, err);
        if (!rc && (ends->in = dup(ends->out)) < 0)
            rc = error_set_errno(err, errno, "cannot copy a descriptor");
    } else if (!rc && task->shape == TASK_IN) {
        rc = make_pair(&task->in, &ends->in, err);
    } else if (!rc) {
        rc = make_pair(&task->out, &ends->out, err);
    }
    if (!rc && task->commits)
        rc = make_pair(&task->commit, &ends->commit, err);
    return rc;
}

static int spawn_helper(struct task *task, const struct task_options *options, const struct ends *ends,
                        struct error **err)
{
    const struct place *place = &task->call->agent->place;
    const char *argv[TASK_ARGV_MAX + 5];
    size_t n = 0;

    argv[n++] = place->program;
    argv[n++] = "as";
    argv[n++] = options->user ? options->user : "-";
    argv[n++] = options->own ? "file" : "exec";
    for (size_t i = 0; options->argv[i]; i++) {
        require(i < TASK_ARGV_MAX);
        argv[n++] = options->argv[i];
    }
    argv[n] = NULL;
    const struct spawn spawn = {.argv = argv,
                                .in = ends->in,
                                .out = ends->out,
                                .err = ends->err,
                                .keep = {ends->commit},
                                .keep_count = task->commits ? 1 : 0,
                                .new_session = true};
    return spawn_start(&spawn, &task->pid, err);
}

static void watch(struct task *task)
{
    uv_loop_t *loop = &task->call->agent->loop;

    uv_timer_init(loop, &task->kill);
    require(uv_poll_init(loop, &task->poll_err, task->err) == 0);
    task->handles = 2;
    task->kill.data = task->poll_err.data = task->poll_out.data = task;
    uv_poll_start(&task->poll_err, UV_READABLE, on_tail);
    if (task->shape != TASK_OUT && task->shape != TASK_LINE)
        return;
    require(uv_poll_init(loop, &task->poll_out, task->out) == 0);
    task->handles++;
    task->have_poll_out = true;
    uv_poll_start(&task->poll_out, UV_READABLE, on_output);
}

static void discard(struct task *task)
{
    cleanup_close(&task->in);
    cleanup_close(&task->out);
    cleanup_close(&task->err);
    cleanup_close(&task->commit);
    buf_finish(&task->tail);
    buf_finish(&task->line);
    free(task->name);
    free(task);
}

void task_start(struct call *call, const struct task_options *options)
{
    struct task *task = xnew(struct task);
    struct ends ends = {-1, -1, -1, -1};
    struct error *err = NULL;

    task->call = call;
    task->shape = options->shape;
    task->commits = options->commit;
    task->content_type = options->content_type ? options->content_type : "application/octet-stream";
    task->name = xstrdup(options->argv[0]);
    task->status = -1;
    task->in = task->out = task->err = task->commit = -1;
    buf_init(&task->tail, 0);
    buf_init(&task->line, JSON_BODY_MAX);
    int rc = make_ends(task, &ends, &err);
    if (!rc)
        rc = spawn_helper(task, options, &ends, &err);
    ends_close(&ends);
    if (rc) {
        discard(task);
        call_fail(call, err);
        return;
    }
    watch(task);
    children_watch(&call->agent->children, task->pid, on_exit_status, task);
    call->state = task;
    call->on_gone = task_gone;
    const struct pump_options in = {
        .fd_in = -1, .fd_out = task->in, .keep_stream = true, .on_done = on_in_done};
    if (task->shape == TASK_IN && pump_create(&call->agent->loop, call->stream, &in, task, &task->pump, &err))
        fail_begin(task, err);
    else if (task->shape == TASK_DUPLEX && !begin_pump(task, task->out, task->out, &err))
        fail_begin(task, err);
}
