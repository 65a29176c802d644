#include "daemon/post.h"

#include "base/alloc.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

struct post {
    struct post *next;
    post_fn fn;
    void *user;
    bool *done; /* of a waiter */
};

struct posts {
    uv_async_t async;
    pthread_mutex_t lock;
    pthread_cond_t ran;
    struct post *first, **last;
};

/* Takes the whole queue and runs it without the lock. */
static void run_posts(struct posts *posts)
{
    struct post *post;

    pthread_mutex_lock(&posts->lock);
    post = posts->first;
    posts->first = NULL;
    posts->last = &posts->first;
    pthread_mutex_unlock(&posts->lock);
    while (post) {
        struct post *next = post->next;

        post->fn(post->user);
        if (post->done) {
            pthread_mutex_lock(&posts->lock);
            *post->done = true;
            pthread_cond_broadcast(&posts->ran);
            pthread_mutex_unlock(&posts->lock);
        }
        free(post);
        post = next;
    }
}

static void on_async(uv_async_t *async)
{
    run_posts(async->data);
}

static void on_closed(uv_handle_t *handle)
{
    struct posts *posts = handle->data;

    pthread_mutex_destroy(&posts->lock);
    pthread_cond_destroy(&posts->ran);
    free(posts);
}

struct posts *posts_create(uv_loop_t *loop)
{
    struct posts *posts = xnew(struct posts);

    pthread_mutex_init(&posts->lock, NULL);
    pthread_cond_init(&posts->ran, NULL);
    posts->last = &posts->first;
    require(uv_async_init(loop, &posts->async, on_async) == 0);
    posts->async.data = posts;
    return posts;
}

void posts_destroy(struct posts *posts)
{
    if (!posts)
        return;
    run_posts(posts);
    uv_close((uv_handle_t *)&posts->async, on_closed);
}

/* Appends under the lock; the order is the order of execution. */
static void add(struct posts *posts, post_fn fn, void *user, bool *done)
{
    struct post *post = xnew(struct post);

    *post = (struct post){.fn = fn, .user = user, .done = done};
    *posts->last = post;
    posts->last = &post->next;
}

void post_call(struct posts *posts, post_fn fn, void *user)
{
    pthread_mutex_lock(&posts->lock);
    add(posts, fn, user, NULL);
    pthread_mutex_unlock(&posts->lock);
    uv_async_send(&posts->async);
}

void post_wait(struct posts *posts, post_fn fn, void *user)
{
    bool done = false;

    pthread_mutex_lock(&posts->lock);
    add(posts, fn, user, &done);
    uv_async_send(&posts->async);
    while (!done)
        pthread_cond_wait(&posts->ran, &posts->lock);
    pthread_mutex_unlock(&posts->lock);
}
