/* post.h: work for the loop thread from other threads. Ids travel, not pointers to things that the loop owns.
 */
#ifndef HUTCH_DAEMON_POST_H
#define HUTCH_DAEMON_POST_H

#include <uv.h>

struct posts;
typedef void (*post_fn)(void *user);

struct posts *posts_create(uv_loop_t *loop);
/* Runs what is queued, then frees (the handle with the loop's next turn). */
void posts_destroy(struct posts *posts);
/* Runs fn(user) on the loop, soon and in order of posting. Any thread. */
void post_call(struct posts *posts, post_fn fn, void *user);
/* The same, and returns when fn has run. Never from the loop thread. */
void post_wait(struct posts *posts, post_fn fn, void *user);

#endif
