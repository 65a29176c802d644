/* Keys and signals of the screen. */
#include "base/alloc.h"
#include "cli/screen_internal.h"

#include <signal.h>

/* ---- keys ---- */

static void on_escape(uv_timer_t *timer);

/* All that was typed, whatever woke us: one event can bring many keys. */
static void take_keys(struct screen *screen)
{
    struct key_event key;
    int wait = -1;
    while (!screen->quit && !screen->editing && term_key(screen->term, &key, &wait)) {
        struct message message = {.type = MESSAGE_KEY, .key = key};
        screen_keyed(screen);
        screen_message(screen, &message);
        key_event_finish(&key);
    }
    if (!screen->quit && term_lost(screen->term)) {
        watch_set(screen->in, false);
        screen->signal = SIGHUP;
        screen->quit = true;
    }
    if (wait >= 0) {
        uv_update_time(screen->client->loop);
        uv_timer_start(&screen->escape, on_escape, (uint64_t)wait, 0);
    } else {
        uv_timer_stop(&screen->escape);
    }
}

static void on_escape(uv_timer_t *timer)
{
    take_keys(timer->data);
}

void screen_input_take(struct screen *screen)
{
    if (screen->term && screen->in)
        take_keys(screen);
}

static void on_in(void *user)
{
    take_keys(user);
}

/* The terminal takes bytes again: those that waited are written, then a frame may be drawn. */
static void on_out(void *user)
{
    struct screen *screen = user;
    screen->blocked = term_pending(screen->term);
    watch_set(screen->out, screen->blocked);
}

void screen_input_pause(struct screen *screen, bool pause)
{
    if (!screen->term)
        return;
    uv_loop_t *loop = screen->client->loop;
    struct error *err = NULL;
    if (!screen->in && (watch_create(loop, STDIN_FILENO, false, on_in, screen, &screen->in, &err) < 0 ||
                        watch_create(loop, STDOUT_FILENO, true, on_out, screen, &screen->out, &err) < 0)) {
        screen_fail(screen, err);
        return;
    }
    watch_set(screen->in, !pause);
    watch_set(screen->out, false);
    uv_timer_stop(&screen->escape);
    screen->blocked = false;
    if (pause)
        return;
    screen->full = screen->resized = true;
    take_keys(screen); /* what was read while the terminal was asked for its widths */
}

/* ---- signals ---- */

static void on_signal(uv_signal_t *handle, int number);

static const int signal_numbers[SIGNAL_COUNT] = {
    [SIGNAL_RESIZE] = SIGWINCH, [SIGNAL_STOP] = SIGTSTP, [SIGNAL_CONTINUE] = SIGCONT,
    [SIGNAL_HANGUP] = SIGHUP,   [SIGNAL_TERM] = SIGTERM, [SIGNAL_INT] = SIGINT,
};

/* Stops us (or all of our job) as the signal's default does, and comes back after SIGCONT. */
static void stop_here(struct screen *screen, bool job)
{
    uv_signal_stop(&screen->signals[SIGNAL_STOP]);
    uv_signal_stop(&screen->signals[SIGNAL_CONTINUE]);
    if (job)
        kill(0, SIGTSTP);
    else
        raise(SIGTSTP);
    uv_signal_start(&screen->signals[SIGNAL_STOP], on_signal, SIGTSTP);
    uv_signal_start(&screen->signals[SIGNAL_CONTINUE], on_signal, SIGCONT);
}

/* Gives the terminal away, stops, and takes it again. */
static void suspend(struct screen *screen, bool job)
{
    if (!screen->term || screen->editing) {
        stop_here(screen, job);
        return;
    }
    term_suspend(screen->term);
    stop_here(screen, job);
    term_resume(screen->term);
    screen_input_pause(screen, false);
}

void screen_suspend(struct screen *screen)
{
    suspend(screen, true);
}

/* Stopped by a signal that nobody hears of: the shell had the terminal meanwhile. */
static void take_terminal_again(struct screen *screen)
{
    if (!screen->term || screen->editing)
        return;
    term_suspend(screen->term);
    term_resume(screen->term);
    screen_input_pause(screen, false);
}

static void on_signal(uv_signal_t *handle, int number)
{
    struct screen *screen = handle->data;
    switch (number) {
    case SIGWINCH:
        screen->resized = true;
        break;
    case SIGTSTP:
        suspend(screen, false);
        break;
    case SIGCONT:
        take_terminal_again(screen);
        break;
    case SIGINT: /* an editor's ^C is the editor's */
        if (screen->editing)
            break;
        __attribute__((fallthrough));
    default:
        screen->signal = number;
        screen->quit = true;
    }
}

void screen_input_start(struct screen *screen)
{
    for (int i = 0; i < SIGNAL_COUNT; i++) {
        uv_signal_init(screen->client->loop, &screen->signals[i]);
        screen->signals[i].data = screen;
        uv_signal_start(&screen->signals[i], on_signal, signal_numbers[i]);
    }
}

void screen_input_stop(struct screen *screen)
{
    for (int i = 0; i < SIGNAL_COUNT; i++)
        uv_close((uv_handle_t *)&screen->signals[i], NULL);
    watch_free(screen->in);
    watch_free(screen->out);
    screen->in = screen->out = NULL;
}
