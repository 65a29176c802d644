#include "daemon/quit.h"

#include "base/alloc.h"
#include "base/log.h"
#include "daemon/freeze.h"
#include "daemon/inbox.h"
#include "daemon/ops.h"
#include "wire/json.h"

#define SAVE_LIMIT_MS 90000
#define STOP_LIMIT_MS 15000
#define ANSWER_MS     200 /* for the answer to leave */

struct quit {
    struct daemon *daemon;
    struct h2_stream *stream; /* NULL: nobody waits, or gone */
    uv_timer_t timer;
    size_t open; /* jobs */
    bool finished;
};

static void end_loop(uv_timer_t *timer)
{
    struct quit *quit = timer->data;

    uv_close((uv_handle_t *)timer, NULL);
    daemon_stop(quit->daemon);
}

/* All is done that can be: the answer, then the end. */
static void finish(struct quit *quit)
{
    struct h2_stream *stream = steal(&quit->stream);

    if (quit->finished)
        return;
    quit->finished = true;
    log_info("ending");
    if (stream) {
        auto(json) json_t *answer = json_object();

        h2_stream_set_ops(stream, NULL, NULL);
        json_reply(stream, 200, answer);
    }
    uv_timer_start(&quit->timer, end_loop, stream ? ANSWER_MS : 0, 0);
}

static void on_limit(uv_timer_t *timer)
{
    log_error("not everything was saved in time");
    finish(timer->data);
}

static void on_stopped(const json_t *result, const struct error *err, void *user)
{
    struct quit *quit = user;

    (void)result;
    (void)err;
    if (--quit->open == 0)
        finish(quit);
}

struct saving {
    struct quit *quit;
    char id[PROJECT_ID_MAX];
};

/* A machine that cannot be saved must not be cut off by the end of the host: it is stopped. */
static void on_saved(const json_t *result, const struct error *err, void *user)
{
    struct saving *saving = user;
    struct quit *quit = saving->quit;

    (void)result;
    if (err && err->code != ERROR_STATE) {
        log_error("project %s cannot be saved and is stopped: %s", saving->id, err->message);
        job_on_end(job_submit(quit->daemon->jobs, saving->id, &stop_kind, xnew(struct stop_params)),
                   on_stopped, quit);
        free(saving);
        return;
    }
    free(saving);
    on_stopped(NULL, NULL, quit);
}

/* Queues the suspends. */
static void save_all(struct quit *quit)
{
    struct daemon *daemon = quit->daemon;
    size_t count;
    autofree char(*ids)[PROJECT_ID_MAX] = projects_ids(daemon->projects, &count);

    for (size_t i = 0; i < count; i++) {
        struct project *project = projects_lock(daemon->projects, ids[i]);
        bool alive = project && project_alive(project);
        struct saving *saving;

        if (project)
            projects_unlock(daemon->projects);
        if (!alive)
            continue;
        job_cancel(daemon->jobs, ids[i], &up_kind);
        saving = xnew(struct saving);
        saving->quit = quit;
        snprintf(saving->id, sizeof(saving->id), "%s", ids[i]);
        quit->open++;
        job_on_end(job_submit(daemon->jobs, ids[i], &suspend_kind, NULL), on_saved, saving);
    }
}

/* A freeze does not outlive hutchd: waits for the machines to go on. */
static void thaw_all(struct quit *quit)
{
    struct daemon *daemon = quit->daemon;
    size_t count;
    autofree char(*ids)[PROJECT_ID_MAX] = projects_ids(daemon->projects, &count);

    inbox_away(daemon->inbox, NULL); /* what is held is refused with its number */
    for (size_t i = 0; i < count; i++) {
        struct project *project = projects_lock(daemon->projects, ids[i]);
        bool frozen = project && record_is_frozen(&project->r);

        if (project)
            projects_unlock(daemon->projects);
        if (!frozen)
            continue;
        quit->open++;
        job_on_end(job_submit(daemon->jobs, ids[i], &thaw_kind, xnew(struct freeze_params)), on_stopped,
                   quit);
    }
}

static void on_gone(struct h2_stream *stream, uint32_t code, void *user)
{
    struct quit *quit = user;

    (void)stream;
    (void)code;
    quit->stream = NULL;
}

void quit_begin(struct daemon *daemon, bool save, struct h2_stream *stream)
{
    static const struct h2_stream_ops ops = {.on_close = on_gone};
    static struct quit quit; /* there is one end */

    if (daemon->quitting) {
        auto(error) struct error *err = NULL;

        error_set(&err, ERROR_BUSY, "hutchd is ending already");
        if (stream)
            json_reply_error(stream, err);
        else
            daemon_stop(daemon); /* a second signal */
        return;
    }
    daemon->quitting = true;
    quit.daemon = daemon;
    quit.stream = stream;
    if (stream)
        h2_stream_set_ops(stream, &ops, &quit);
    uv_timer_init(&daemon->loop, &quit.timer);
    quit.timer.data = &quit;
    daemon_noted(daemon, NULL, "daemon.end", save ? "machines are saved" : "machines go on");
    thaw_all(&quit);
    if (save)
        save_all(&quit);
    if (quit.open)
        uv_timer_start(&quit.timer, on_limit, SAVE_LIMIT_MS + STOP_LIMIT_MS, 0);
    else
        finish(&quit);
}
