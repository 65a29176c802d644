/* The connection of the screen: hutchd is connected (and started) in a thread, greeted, and when it goes away
 * tried again, first at once, then less and less often. */
#include "base/alloc.h"
#include "cli/screen_internal.h"

#include <string.h>
#include <sys/wait.h>

static void try_soon(struct screen *screen);

/* Tells the model, if it does not know it already. */
static void say_down(struct screen *screen, const struct error *err)
{
    if (screen->down_said && strcmp(screen->down_said, err->message) == 0)
        return;
    free(screen->down_said);
    screen->down_said = xstrdup(err->message);
    struct message message = {.type = MESSAGE_DOWN, .error = err};
    screen_message(screen, &message);
}

/* A connection that was not to be. */
static void failed(struct screen *screen, const struct error *err)
{
    client_drop(screen->client);
    say_down(screen, err);
    if (!screen->quit)
        try_soon(screen);
}

/* ---- the greeting ---- */

static void on_greeting(struct async *async, void *user)
{
}

static void greet(struct screen *screen)
{
    struct error *err = NULL;
    const struct async_options options = {
        .kind = ASYNC_WHOLE, .method = "GET", .path = "/v1/version", .on_ready = on_greeting};
    int rc = client_adopt(screen->client, steal_fd(&screen->opened), &err);
    if (rc == 0)
        rc = async_start(screen->client, &options, screen, &screen->greeting, &err);
    if (rc < 0)
        failed(screen, err);
    error_free(err);
}

static void take_greeting(struct screen *screen)
{
    auto(async) struct async *greeting = steal(&screen->greeting);
    json_t *body;
    const struct error *refused;
    auto(error) struct error *err = NULL;
    if (async_result(greeting, &body, &refused) < 0 || client_greet(screen->client, body, &err) < 0) {
        failed(screen, err ? err : refused);
        return;
    }
    screen->up = true;
    screen->tries = 0;
    free(steal(&screen->down_said));
    screen_settings_watch(screen); /* its folder is there at the latest now */
    struct message message = {.type = MESSAGE_UP, .body = body};
    screen_message(screen, &message);
}

/* ---- opening, in a thread ---- */

static void work_open(uv_work_t *work)
{
    struct screen *screen = work->data;
    client_open(screen->client->paths, true, &screen->opened, &screen->open_error);
}

/* A hutchd that we started and that has ended. */
static void reap(const struct screen *screen)
{
    while (!screen->editing && waitpid(-1, NULL, WNOHANG) > 0)
        continue;
}

static void after_open(uv_work_t *work, int status)
{
    struct screen *screen = work->data;
    auto(error) struct error *err = steal(&screen->open_error);
    screen->working = false;
    reap(screen);
    if (screen->quit)
        return;
    if (screen->opened >= 0)
        greet(screen);
    else if (err)
        failed(screen, err);
}

static void open_now(struct screen *screen)
{
    if (screen->working || screen->quit)
        return;
    reap(screen);
    screen->working = true;
    screen->work.data = screen;
    require(uv_queue_work(screen->client->loop, &screen->work, work_open, after_open) == 0);
}

static void on_retry(uv_timer_t *timer)
{
    open_now(timer->data);
}

/* 100 ms, doubled up to 2 s; after many in vain every 10 s. */
static void try_soon(struct screen *screen)
{
    uint64_t wait = SCREEN_RETRY_MS;
    for (unsigned i = 0; i < screen->tries && wait < SCREEN_RETRY_MAX; i++)
        wait *= 2;
    if (wait > SCREEN_RETRY_MAX)
        wait = SCREEN_RETRY_MAX;
    if (screen->tries++ >= SCREEN_PATIENCE)
        wait = SCREEN_RETRY_SLOW;
    uv_update_time(screen->client->loop);
    uv_timer_start(&screen->retry, on_retry, wait, 0);
}

/* ---- loss ---- */

static void on_lost(void *user)
{
    struct screen *screen = user;
    screen->lost = true;
    screen_again(screen);
}

void screen_link_turn(struct screen *screen)
{
    if (screen->lost) {
        auto(error) struct error *err = NULL;
        screen->lost = screen->up = false;
        async_free(steal(&screen->greeting));
        task_drop_all(screen);
        client_lost_error(screen->client, &err);
        failed(screen, err);
    } else if (screen->greeting && async_over(screen->greeting)) {
        take_greeting(screen);
    }
}

void screen_link_start(struct screen *screen)
{
    screen->client->on_lost = on_lost;
    screen->client->user = screen;
    uv_timer_init(screen->client->loop, &screen->retry);
    screen->retry.data = screen;
    open_now(screen);
}

void screen_link_stop(struct screen *screen)
{
    screen->client->on_lost = NULL;
    async_free(steal(&screen->greeting));
    uv_close((uv_handle_t *)&screen->retry, NULL);
    /* Not begun: it never will. Begun: it may wait for a hutchd that starts, and we do not. */
    if (screen->working && uv_cancel((uv_req_t *)&screen->work) == 0)
        while (screen->working)
            uv_run(screen->client->loop, UV_RUN_ONCE);
    if (!screen->working && screen->opened >= 0)
        close(steal_fd(&screen->opened));
}
