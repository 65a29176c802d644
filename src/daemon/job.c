#include "daemon/job.h"

#include "base/alloc.h"
#include "base/log.h"
#include "daemon/daemon.h"
#include "daemon/post.h"
#include "daemon/project.h"
#include "wire/json.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>

#define JOB_HISTORY_MAX 40           /* lines that one who joins gets */
#define JOB_STACK_SIZE  (512 * 1024) /* of a job's thread; libvirt and git need little */

struct watcher {
    struct watcher *next;
    struct job *job;
    struct json_writer *writer; /* NULL: the client went away */
    bool gone;
};

struct end_hook {
    struct end_hook *next;
    void (*fn)(const json_t *result, const struct error *err, void *user);
    void *user;
};

struct job {
    struct job *next; /* in its lane */
    struct jobs *jobs;
    struct lane *lane;
    const struct job_kind *kind;
    void *params;
    atomic_bool cancel;
    pthread_t thread;
    struct watcher *watchers;
    struct end_hook *hooks;
    json_t *history; /* loop thread: the last lines */
    pthread_mutex_t lock;
    json_t *pending; /* lines on their way to the loop */
    bool posted;
    json_t *result;
    struct error *error;
};

struct lane {
    struct lane *next;
    char *name;
    struct job *first; /* runs; the rest waits */
};

struct jobs {
    struct daemon *daemon;
    struct lane *lanes;
};

struct jobs *jobs_create(struct daemon *daemon)
{
    struct jobs *jobs = xnew(struct jobs);

    jobs->daemon = daemon;
    return jobs;
}

bool jobs_idle(const struct jobs *jobs)
{
    return !jobs->lanes;
}

void jobs_cancel_all(struct jobs *jobs)
{
    for (struct lane *lane = jobs->lanes; lane; lane = lane->next) {
        for (struct job *job = lane->first; job; job = job->next)
            job->cancel = true;
    }
}

void jobs_destroy(struct jobs *jobs)
{
    if (!jobs)
        return;
    require(!jobs->lanes);
    free(jobs);
}

/* ---- lines ---- */

/* Two lines of progress of which the later one makes the earlier one void. */
static bool same_progress(const json_t *a, const json_t *b)
{
    const json_t *phase_a = json_object_get(a, "phase"), *phase_b = json_object_get(b, "phase");
    const json_t *text_a = json_object_get(a, "text"), *text_b = json_object_get(b, "text");
    bool counts =
        json_integer_value(json_object_get(b, "done")) || json_integer_value(json_object_get(b, "total"));

    if (json_object_get(a, "warning"))
        return false;
    return phase_a && phase_b && json_equal(phase_a, phase_b) && (counts || json_equal(text_a, text_b));
}

/* Appends a line, in the place of the last one if that only counted the same thing. */
static void append_line(json_t *lines, json_t *line /* owned */)
{
    size_t count = json_array_size(lines);

    if (count && same_progress(json_array_get(lines, count - 1), line))
        json_array_set_new(lines, count - 1, line);
    else
        json_array_append_new(lines, line);
}

/* Loop: gives what has come to all who watch. */
static void flush_lines(struct job *job)
{
    auto(json) json_t *lines = NULL;
    json_t *line;
    size_t i;

    pthread_mutex_lock(&job->lock);
    lines = job->pending;
    job->pending = NULL;
    job->posted = false;
    pthread_mutex_unlock(&job->lock);
    json_array_foreach(lines, i, line)
    {
        for (struct watcher *watcher = job->watchers; watcher; watcher = watcher->next) {
            if (!watcher->gone)
                json_writer_line(watcher->writer, line);
        }
        append_line(job->history, json_incref(line));
        if (json_array_size(job->history) > JOB_HISTORY_MAX)
            json_array_remove(job->history, 0);
    }
}

static void on_lines(void *user)
{
    flush_lines(user);
}

void job_line(struct job *job, json_t *line)
{
    bool post;

    pthread_mutex_lock(&job->lock);
    if (!job->pending)
        job->pending = json_array();
    append_line(job->pending, line);
    post = !job->posted;
    job->posted = true;
    pthread_mutex_unlock(&job->lock);
    if (post)
        post_call(job->jobs->daemon->posts, on_lines, job);
}

void job_progress(struct job *job, const char *phase, uint64_t done, uint64_t total, const char *unit,
                  const char *format, ...)
{
    autofree char *text = NULL;
    va_list args;
    json_t *line;

    va_start(args, format);
    text = xvasprintf(format, args);
    va_end(args);
    line = json_pack("{s:s, s:o, s:I, s:I}", "phase", phase, "text", json_bytes(text, strlen(text)), "done",
                     (json_int_t)done, "total", (json_int_t)total);
    require(line);
    if (unit)
        json_object_set_new(line, "unit", json_string(unit));
    job_line(job, line);
}

void job_warn(struct job *job, const char *format, ...)
{
    autofree char *text = NULL;
    va_list args;
    json_t *line, *safe;

    va_start(args, format);
    text = xvasprintf(format, args);
    va_end(args);
    safe = json_bytes(text, strlen(text));
    line = json_pack("{s:s, s:O, s:i, s:i, s:o}", "phase", job->kind->name, "text", safe, "done", 0, "total",
                     0, "warning", safe);
    require(line);
    job_line(job, line);
}

/* ---- watching ---- */

static void on_gone(struct json_writer *writer, void *user)
{
    struct watcher *watcher = user;

    (void)writer;
    watcher->gone = true;
}

void job_watch(struct job *job, struct h2_stream *stream)
{
    struct watcher *watcher = xnew(struct watcher);
    json_t *line;
    size_t i;

    watcher->job = job;
    watcher->writer = json_writer_create(stream, on_gone, watcher);
    watcher->next = job->watchers;
    job->watchers = watcher;
    json_array_foreach(job->history, i, line)
    {
        json_writer_line(watcher->writer, line);
    }
}

void job_on_end(struct job *job, void (*fn)(const json_t *result, const struct error *err, void *user),
                void *user)
{
    struct end_hook *hook = xnew(struct end_hook);

    *hook = (struct end_hook){.next = job->hooks, .fn = fn, .user = user};
    job->hooks = hook;
}

/* Tells everybody how it ended. */
static void tell_end(struct job *job)
{
    auto(json) json_t *last = NULL;

    if (job->error)
        last = json_from_error(job->error);
    else
        last = json_pack("{s:O}", "result", job->result ? job->result : json_null());
    while (job->watchers) {
        struct watcher *watcher = job->watchers;

        job->watchers = watcher->next;
        if (!watcher->gone)
            json_writer_line(watcher->writer, last);
        json_writer_end(watcher->writer);
        free(watcher);
    }
    while (job->hooks) {
        struct end_hook *hook = job->hooks;

        job->hooks = hook->next;
        hook->fn(job->result, job->error, hook->user);
        free(hook);
    }
}

/* ---- running ---- */

static void start_first(struct lane *lane);

/* Shows the lane's job in the project's row; lanes of other things have no row. */
static void show_busy(struct jobs *jobs, const char *lane, const struct job_kind *kind)
{
    struct project *project = projects_lock(jobs->daemon->projects, lane);

    if (!project)
        return;
    project->busy = kind && !kind->quiet ? kind->name : NULL;
    projects_unlock(jobs->daemon->projects);
}

static void free_job(struct job *job)
{
    if (job->kind->free_params)
        job->kind->free_params(job->params);
    json_decref(job->history);
    json_decref(job->pending);
    json_decref(job->result);
    error_free(job->error);
    pthread_mutex_destroy(&job->lock);
    free(job);
}

/* Loop: the job's thread is at its end. */
static void on_job_end(void *user)
{
    struct job *job = user;
    struct lane *lane = job->lane;
    struct jobs *jobs = job->jobs;

    pthread_join(job->thread, NULL);
    flush_lines(job);
    lane->first = job->next;
    show_busy(jobs, lane->name, NULL);
    tell_end(job);
    free_job(job);
    if (lane->first) {
        start_first(lane);
        return;
    }
    for (struct lane **at = &jobs->lanes; *at; at = &(*at)->next) {
        if (*at == lane) {
            *at = lane->next;
            break;
        }
    }
    free(lane->name);
    free(lane);
    daemon_job_ended(jobs->daemon);
}

static void *job_thread(void *user)
{
    struct job *job = user;

    if (job_check(job, &job->error) == 0)
        job->kind->run(job, job->params, &job->result, &job->error);
    if (job->error)
        log_write(error_code_http(job->error->code) >= 500 ? LOG_LEVEL_ERROR : LOG_LEVEL_INFO, "%s (%s): %s",
                  job->kind->name, job->lane->name, job->error->message);
    post_call(job->jobs->daemon->posts, on_job_end, job);
    return NULL;
}

/* Starts the thread of the lane's first job, with all signals blocked: they are the loop's. */
static void start_first(struct lane *lane)
{
    struct job *job = lane->first;
    pthread_attr_t attr;
    sigset_t all, old;

    show_busy(job->jobs, lane->name, job->kind);
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, JOB_STACK_SIZE);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    require(pthread_create(&job->thread, &attr, job_thread, job) == 0);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    pthread_attr_destroy(&attr);
}

static struct lane *find_lane(struct jobs *jobs, const char *name)
{
    struct lane *lane = jobs->lanes;

    while (lane && strcmp(lane->name, name))
        lane = lane->next;
    return lane;
}

struct job *job_submit(struct jobs *jobs, const char *name, const struct job_kind *kind, void *params)
{
    struct lane *lane = find_lane(jobs, name);
    struct job *job = xnew(struct job), **at;

    if (!lane) {
        lane = xnew(struct lane);
        lane->name = xstrdup(name);
        lane->next = jobs->lanes;
        jobs->lanes = lane;
    }
    job->jobs = jobs;
    job->lane = lane;
    job->kind = kind;
    job->params = params;
    job->history = json_array();
    pthread_mutex_init(&job->lock, NULL);
    for (at = &lane->first; *at; at = &(*at)->next)
        ;
    *at = job;
    if (lane->first == job)
        start_first(lane);
    return job;
}

struct job *job_find(struct jobs *jobs, const char *name, const struct job_kind *kind)
{
    struct lane *lane = find_lane(jobs, name);

    for (struct job *job = lane ? lane->first : NULL; job; job = job->next) {
        if (job->kind == kind && !job->cancel)
            return job;
    }
    return NULL;
}

struct job *job_waiting(struct jobs *jobs, const char *name, const struct job_kind *kind)
{
    struct lane *lane = find_lane(jobs, name);

    for (struct job *job = lane ? lane->first->next : NULL; job; job = job->next) {
        if (job->kind == kind && !job->cancel)
            return job;
    }
    return NULL;
}

bool job_waits(struct jobs *jobs, const char *name, const struct job_kind *kind)
{
    struct lane *lane = find_lane(jobs, name);

    for (struct job *job = lane ? lane->first->next : NULL; job; job = job->next) {
        if (job->kind == kind)
            return true;
    }
    return false;
}

struct job *job_running(struct jobs *jobs, const char *name)
{
    struct lane *lane = find_lane(jobs, name);

    return lane ? lane->first : NULL;
}

void job_cancel(struct jobs *jobs, const char *name, const struct job_kind *kind)
{
    struct lane *lane = find_lane(jobs, name);

    for (struct job *job = lane ? lane->first : NULL; job; job = job->next) {
        if (job->kind == kind)
            job->cancel = true;
    }
}

const struct job_kind *job_kind(const struct job *job)
{
    return job->kind;
}

void *job_params(struct job *job)
{
    return job->params;
}

struct daemon *job_daemon(struct job *job)
{
    return job->jobs->daemon;
}

const char *job_lane(const struct job *job)
{
    return job->lane->name;
}

const atomic_bool *job_cancel_flag(const struct job *job)
{
    return &job->cancel;
}

int job_check(const struct job *job, struct error **err)
{
    if (job->cancel)
        return error_set(err, ERROR_CANCELLED, "\"%s\" was cancelled", job->kind->name);
    return 0;
}
