#include "daemon/guest_internal.h"

#include "base/alloc.h"
#include "base/cleanup.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/queue.h>
#include <time.h>

#define POLL_MS 100 /* how often a waiting thread looks at its cancel flag */

struct entry {
    LIST_ENTRY(entry) link;
    char *project;
    struct guest *guest; /* loop thread */
    enum guest_link state;
};

/* A call of a job thread: owned by that thread and the loop in common; whoever lets go last frees it. */
struct wait {
    TAILQ_ENTRY(wait) link; /* in queue or running */
    struct guest_pool *pool;
    unsigned refs;
    char *project, *path, *body;
    struct guest_call call;
    bool done, abandoned;
    bool have_item;
    struct wmsg_item item;
    struct error *err;
    /* loop thread */
    struct guest *guest;
    uint32_t id;
    bool cancelled;
};
TAILQ_HEAD(wait_list, wait);

struct guest_pool {
    uv_async_t async;
    pthread_mutex_t mutex; /* everything below but what is the loop's */
    pthread_cond_t changed;
    LIST_HEAD(entry_list, entry) entries;
    struct wait_list queue;   /* to be begun by the loop */
    struct wait_list running; /* loop thread; abandoned is read under the mutex */
    unsigned threads;         /* in a waiting function */
    bool closed;
};

static void on_async(uv_async_t *async);

struct guest_pool *guest_pool_create(uv_loop_t *loop)
{
    struct guest_pool *pool = xnew(struct guest_pool);
    pthread_condattr_t monotonic;

    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&pool->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    pthread_mutex_init(&pool->mutex, NULL);
    LIST_INIT(&pool->entries);
    TAILQ_INIT(&pool->queue);
    TAILQ_INIT(&pool->running);
    require(uv_async_init(loop, &pool->async, on_async) == 0);
    pool->async.data = pool;
    return pool;
}

/* Under the mutex. */
static void wait_unref(struct wait *wait)
{
    if (--wait->refs)
        return;
    cleanup_close(&wait->call.stream);
    error_free(wait->err);
    free(wait->project);
    free(wait->path);
    free(wait->body);
    free(wait);
}

/* ---- loop thread ---- */

static struct entry *find(struct guest_pool *pool, const char *project)
{
    struct entry *entry = LIST_FIRST(&pool->entries);

    while (entry && strcmp(entry->project, project) != 0)
        entry = LIST_NEXT(entry, link);
    return entry;
}

static void remove_entry(struct guest_pool *pool, struct entry *entry)
{
    LIST_REMOVE(entry, link);
    guest_set_pool(entry->guest, NULL);
    free(entry->project);
    free(entry);
    pthread_cond_broadcast(&pool->changed);
}

void guest_pool_put(struct guest_pool *pool, const char *project, struct guest *guest)
{
    pthread_mutex_lock(&pool->mutex);
    struct entry *entry = find(pool, project);
    if (entry)
        remove_entry(pool, entry);
    if (guest) {
        entry = xnew(struct entry);
        entry->project = xstrdup(project);
        entry->guest = guest;
        entry->state = guest_link(guest);
        LIST_INSERT_HEAD(&pool->entries, entry, link);
        guest_set_pool(guest, pool);
        pthread_cond_broadcast(&pool->changed);
    }
    pthread_mutex_unlock(&pool->mutex);
}

struct guest *guest_pool_get(struct guest_pool *pool, const char *project)
{
    /* Only the loop changes the list: it need not lock to read it. */
    struct entry *entry = find(pool, project);
    return entry ? entry->guest : NULL;
}

void guest_pool_note(struct guest_pool *pool, struct guest *guest, enum guest_link state)
{
    struct entry *entry;

    pthread_mutex_lock(&pool->mutex);
    for (entry = LIST_FIRST(&pool->entries); entry; entry = LIST_NEXT(entry, link)) {
        if (entry->guest == guest)
            entry->state = state;
    }
    pthread_cond_broadcast(&pool->changed);
    pthread_mutex_unlock(&pool->mutex);
}

void guest_pool_forget(struct guest_pool *pool, struct guest *guest)
{
    struct entry *entry, *next;

    pthread_mutex_lock(&pool->mutex);
    for (entry = LIST_FIRST(&pool->entries); entry; entry = next) {
        next = LIST_NEXT(entry, link);
        if (entry->guest == guest)
            remove_entry(pool, entry);
    }
    pthread_mutex_unlock(&pool->mutex);
}

/* The outcome of a call, for the thread that waits for it, if it still does. */
static void finish(struct wait *wait, const struct wmsg_item *item, const struct error *err)
{
    struct guest_pool *pool = wait->pool;

    pthread_mutex_lock(&pool->mutex);
    wait->done = true;
    wait->have_item = item != NULL;
    if (item)
        wait->item = *item;
    if (err)
        wait->err = error_copy(err);
    wait_unref(wait);
    pthread_cond_broadcast(&pool->changed);
    pthread_mutex_unlock(&pool->mutex);
}

static void on_result(const struct wmsg_item *item, const struct error *err, void *user)
{
    struct wait *wait = user;

    if (wait->pool) {
        TAILQ_REMOVE(&wait->pool->running, wait, link);
        finish(wait, item, err);
    } else {
        wait_unref(wait); /* the pool ended before; nobody else is left */
    }
}

/* Begins one call; the queue's reference is now the loop's. */
static void begin(struct guest_pool *pool, struct wait *wait)
{
    static const struct guest_call_ops ops = {.on_result = on_result};
    struct guest *guest = guest_pool_get(pool, wait->project);
    auto(error) struct error *err = NULL;

    if (!guest) {
        error_set(&err, ERROR_GUEST, "the machine is not running");
        finish(wait, NULL, err);
        return;
    }
    wait->guest = guest;
    TAILQ_INSERT_TAIL(&pool->running, wait, link);
    wait->id = guest_call(guest, &wait->call, &ops, wait, &err);
    wait->call.stream = -1;
    if (!wait->id) {
        TAILQ_REMOVE(&pool->running, wait, link);
        finish(wait, NULL, err);
    }
}

static void on_async(uv_async_t *async)
{
    struct guest_pool *pool = async->data;
    struct wait_list fresh = TAILQ_HEAD_INITIALIZER(fresh), given_up = TAILQ_HEAD_INITIALIZER(given_up);
    struct wait *wait, *next;

    pthread_mutex_lock(&pool->mutex);
    TAILQ_CONCAT(&fresh, &pool->queue, link);
    pthread_mutex_unlock(&pool->mutex);
    while ((wait = TAILQ_FIRST(&fresh))) {
        TAILQ_REMOVE(&fresh, wait, link);
        begin(pool, wait);
    }
    for (wait = TAILQ_FIRST(&pool->running); wait; wait = next) {
        next = TAILQ_NEXT(wait, link);
        pthread_mutex_lock(&pool->mutex);
        bool abandoned = wait->abandoned;
        pthread_mutex_unlock(&pool->mutex);
        if (!abandoned || wait->cancelled)
            continue;
        wait->cancelled = true;
        guest_cancel(wait->guest, wait->id);
    }
}

static void on_async_closed(uv_handle_t *handle)
{
    struct guest_pool *pool = handle->data;

    pthread_cond_destroy(&pool->changed);
    pthread_mutex_destroy(&pool->mutex);
    free(pool);
}

void guest_pool_destroy(struct guest_pool *pool)
{
    struct entry *entry;
    struct wait *wait;

    if (!pool)
        return;
    pthread_mutex_lock(&pool->mutex);
    pool->closed = true;
    /* The guest's table still points to these: they live until their call ends there. */
    while ((wait = TAILQ_FIRST(&pool->running))) {
        TAILQ_REMOVE(&pool->running, wait, link);
        wait->pool = NULL;
    }
    while ((entry = LIST_FIRST(&pool->entries)))
        remove_entry(pool, entry);
    pthread_cond_broadcast(&pool->changed);
    while (pool->threads)
        pthread_cond_wait(&pool->changed, &pool->mutex);
    pthread_mutex_unlock(&pool->mutex);
    uv_close((uv_handle_t *)&pool->async, on_async_closed);
}

/* ---- job threads ---- */

static int64_t now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Sleeps until something changed, at most POLL_MS or what is left; under the mutex. Non-zero: do not wait any
 * longer. */
static int wait_more(struct guest_pool *pool, int64_t deadline, const atomic_bool *cancel, struct error **err)
{
    int64_t now = now_ms(), until = now + POLL_MS;

    if (pool->closed)
        return error_set(err, ERROR_GUEST, "hutchd ends");
    if (cancel && atomic_load(cancel))
        return error_set(err, ERROR_CANCELLED, "cancelled");
    if (deadline && now >= deadline)
        return error_set(err, ERROR_TIMED_OUT, "the machine did not answer in time");
    if (deadline && until > deadline)
        until = deadline;
    struct timespec time = {.tv_sec = until / 1000, .tv_nsec = until % 1000 * 1000000};
    pthread_cond_timedwait(&pool->changed, &pool->mutex, &time);
    return 0;
}

static void enter(struct guest_pool *pool)
{
    pthread_mutex_lock(&pool->mutex);
    pool->threads++;
}

static void leave(struct guest_pool *pool)
{
    if (--pool->threads == 0 && pool->closed)
        pthread_cond_broadcast(&pool->changed);
    pthread_mutex_unlock(&pool->mutex);
}

/* Takes a finished call's outcome over; under the mutex. */
static int take_outcome(struct wait *wait, struct wmsg_item *ret_item, struct error **err)
{
    if (wait->err)
        return error_move(err, &wait->err);
    if (ret_item && wait->have_item)
        *ret_item = wait->item;
    return 0;
}

/* The thread goes without the outcome: a call that was not begun is dropped, one that runs is cancelled by
 * the loop. */
static void abandon(struct guest_pool *pool, struct wait *wait)
{
    struct wait *queued = TAILQ_FIRST(&pool->queue);

    wait->abandoned = true;
    while (queued && queued != wait)
        queued = TAILQ_NEXT(queued, link);
    if (queued) {
        TAILQ_REMOVE(&pool->queue, wait, link);
        wait_unref(wait);
    } else {
        uv_async_send(&pool->async);
    }
}

static struct wait *wait_create(struct guest_pool *pool, const char *project, const struct guest_call *call)
{
    struct wait *wait = xnew(struct wait);

    wait->pool = pool;
    wait->refs = 2;
    wait->project = xstrdup(project);
    wait->path = xstrdup(call->path);
    wait->body = xstrdup(call->body);
    wait->call = *call;
    wait->call.path = wait->path;
    wait->call.body = wait->body;
    return wait;
}

int guest_call_wait(struct guest_pool *pool, const char *project, const struct guest_call *call,
                    unsigned timeout_ms, const atomic_bool *cancel, struct wmsg_item *ret_item,
                    struct error **err)
{
    struct wait *wait = wait_create(pool, project, call);
    int64_t deadline = timeout_ms ? now_ms() + timeout_ms : 0;
    int rc = 0;

    enter(pool);
    TAILQ_INSERT_TAIL(&pool->queue, wait, link);
    uv_async_send(&pool->async);
    while (!wait->done && rc == 0)
        rc = wait_more(pool, deadline, cancel, err);
    if (rc == 0)
        rc = take_outcome(wait, ret_item, err);
    else if (!wait->done)
        abandon(pool, wait);
    wait_unref(wait);
    leave(pool);
    return rc;
}

int guest_wait_up(struct guest_pool *pool, const char *project, unsigned timeout_ms,
                  const atomic_bool *cancel, struct error **err)
{
    int64_t deadline = timeout_ms ? now_ms() + timeout_ms : 0;
    bool seen = false;
    int rc = 0;

    enter(pool);
    while (rc == 0) {
        struct entry *entry = find(pool, project);
        if (entry && entry->state == GUEST_LINK_UP)
            break;
        if (entry && entry->state == GUEST_LINK_OFF)
            rc = error_set(err, ERROR_GUEST, "the machine's hutch-worker ended too often and stays off");
        else if (!entry && seen)
            rc = error_set(err, ERROR_GUEST, "the machine is no longer running");
        else
            rc = wait_more(pool, deadline, cancel, err);
        seen = seen || entry;
    }
    leave(pool);
    return rc;
}
