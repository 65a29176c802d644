#include "cli/screen.h"

#include "base/alloc.h"
#include "base/file.h"
#include "base/units.h"
#include "cli/screen_internal.h"
#include "ui/view/draw.h"

#include <signal.h>
#include <string.h>

#define ROWS_DEFAULT    24
#define COLUMNS_DEFAULT 80

bool screen_possible(void)
{
    const char *script = getenv("HUTCH_UI_SCRIPT");
    return (script && *script) || (isatty(STDIN_FILENO) && isatty(STDOUT_FILENO));
}

static int64_t now_ms(void)
{
    return units_monotonic_ns() / 1000000;
}

void screen_message(struct screen *screen, struct message *message)
{
    if (screen->quit)
        return;
    message->now_ns = units_now_ns();
    app_update(screen->app, message, &screen->effects);
    for (struct effect *effect; (effect = effects_take(&screen->effects));) {
        screen_effect(screen, effect);
        effect_free(effect);
    }
}

static void on_more(uv_idle_t *idle)
{
}

void screen_again(struct screen *screen)
{
    uv_idle_start(&screen->more, on_more);
}

void screen_fail(struct screen *screen, struct error *err)
{
    if (screen->failure)
        error_free(err);
    else
        screen->failure = err;
    screen->quit = true;
}

/* ---- frames ---- */

void screen_frame(struct screen *screen)
{
    app_draw(screen->app, screen->grid);
    screen->frame_ms = now_ms();
    screen->keyed = false;
    if (!screen->term || screen->editing)
        return;
    term_draw(screen->term, screen->grid, screen->full);
    screen->full = false;
    screen->blocked = term_pending(screen->term);
    watch_set(screen->out, screen->blocked);
}

static void on_frame(uv_timer_t *timer)
{
    struct screen *screen = timer->data;
    screen->frame_waiting = false;
}

void screen_keyed(struct screen *screen)
{
    screen->keyed = true;
    screen->key_ms = now_ms();
    uv_timer_stop(&screen->frame);
    screen->frame_waiting = false;
}

/* Milliseconds until a frame may be drawn. */
static int64_t frame_due(const struct screen *screen)
{
    int64_t now = now_ms();
    bool soon = screen->key_ms && now - screen->key_ms < SCREEN_ANSWER_MS;
    if (screen->keyed)
        return 0;
    return screen->frame_ms + (soon ? SCREEN_KEY_MS : SCREEN_FRAME_MS) - now;
}

/* Takes the terminal's size of now: however often it changed, once a frame. */
static void take_size(struct screen *screen)
{
    int rows, columns;
    screen->resized = false;
    if (!screen->term)
        return;
    term_size(screen->term, &rows, &columns);
    screen->full = true;
    if (rows == screen->rows && columns == screen->columns)
        return;
    screen->rows = rows;
    screen->columns = columns;
    struct message message = {.type = MESSAGE_SIZE, .rows = rows, .columns = columns};
    screen_message(screen, &message);
}

/* Draws if something changed and the last frame is old enough, else waits for that. */
static void draw_if_due(struct screen *screen)
{
    if (screen->blocked || screen->editing || screen->frame_waiting)
        return;
    if (!screen->resized && !screen->full && !app_changed(screen->app))
        return;
    int64_t left = frame_due(screen);
    if (left > 0) {
        uv_update_time(screen->client->loop);
        uv_timer_start(&screen->frame, on_frame, (uint64_t)left, 0);
        screen->frame_waiting = true;
        return;
    }
    if (screen->resized)
        take_size(screen);
    if (!screen->quit)
        screen_frame(screen);
}

/* ---- the loop ---- */

/* Runs before the loop sleeps. */
static void on_turn(uv_prepare_t *prepare)
{
    struct screen *screen = prepare->data;
    if (screen->quit)
        return;
    screen_link_turn(screen);
    bool more = task_pump(screen);
    if (!screen->quit && screen->script)
        more |= script_turn(screen);
    if (more && !screen->quit)
        screen_input_take(screen); /* before a frame is drawn without it */
    if (screen->quit)
        return;
    draw_if_due(screen);
    if (more)
        screen_again(screen);
    else
        uv_idle_stop(&screen->more);
}

/* What was typed before leaving still goes out. */
static void flush_typed(struct screen *screen)
{
    int64_t until = now_ms() + SCREEN_FLUSH_MS;
    uv_prepare_stop(&screen->turn);
    uv_idle_stop(&screen->more);
    while (!screen->signal && !screen->client->lost && task_sending(screen) && now_ms() < until) {
        uv_timer_start(&screen->frame, on_frame, SCREEN_FRAME_MS, 0);
        uv_run(screen->client->loop, UV_RUN_ONCE);
    }
}

static void start_handles(struct screen *screen)
{
    uv_loop_t *loop = screen->client->loop;
    uv_prepare_init(loop, &screen->turn);
    uv_idle_init(loop, &screen->more);
    uv_timer_init(loop, &screen->frame);
    uv_timer_init(loop, &screen->clock);
    uv_timer_init(loop, &screen->escape);
    screen->turn.data = screen->more.data = screen->frame.data = screen->clock.data = screen->escape.data =
        screen;
    uv_prepare_start(&screen->turn, on_turn);
}

static void stop_handles(struct screen *screen)
{
    uv_close((uv_handle_t *)&screen->turn, NULL);
    uv_close((uv_handle_t *)&screen->more, NULL);
    uv_close((uv_handle_t *)&screen->frame, NULL);
    uv_close((uv_handle_t *)&screen->clock, NULL);
    uv_close((uv_handle_t *)&screen->escape, NULL);
}

/* ---- beginning and end ---- */

/* Opens the terminal as the settings want it. */
static int open_term(struct screen *screen, const struct app *settings, struct error **err)
{
    struct term_options options = {
        .fd_in = STDIN_FILENO,
        .fd_out = STDOUT_FILENO,
        .theme = (enum theme)app_theme(settings),
        .lines = strcmp(app_lines(settings), "no") != 0,
        .mouse = app_mouse(settings),
    };
    screen->rows = ROWS_DEFAULT;
    screen->columns = COLUMNS_DEFAULT;
    if (screen->script && !(isatty(STDIN_FILENO) && isatty(STDOUT_FILENO)))
        return 0;
    int rc = term_create(&options, &screen->term, err);
    if (rc == 0)
        term_size(screen->term, &screen->rows, &screen->columns);
    return rc;
}

/* The folder or the nearest one above it that holds a git repository; NULL: none does. Caller frees. */
static char *repository_of(const char *folder)
{
    autofree char *at = xstrdup(folder);
    while (at && at[0] == '/' && at[1]) {
        autofree char *git = file_join(at, ".git");
        if (file_exists(git))
            return steal(&at);
        *strrchr(at, '/') = '\0';
    }
    return NULL;
}

/* The terminal, then the model: it must know what the terminal can do, which asks for the settings first. */
static int open_app(struct screen *screen, struct error **err)
{
    autofree char *folder = realpath(".", NULL);
    autofree char *repository = repository_of(folder);
    auto(error) struct error *unreadable = NULL;
    screen->settings_text = screen_settings_read(screen, &unreadable);
    struct app_options options = {
        .rows = ROWS_DEFAULT,
        .columns = COLUMNS_DEFAULT,
        .home = getenv("HOME"),
        .folder = folder,
        .repository = repository,
        .settings = screen->settings_text,
        .project = screen->options->project,
        .session = screen->options->session,
        .escape = screen->options->escape,
        .demo = screen->options->demo,
    };
    auto(app) struct app *settings = app_create(&options);
    int rc = open_term(screen, settings, err);
    if (rc < 0)
        return rc;
    options.rows = screen->rows;
    options.columns = screen->columns;
    if (screen->term)
        options.lines = term_caps(screen->term)->lines || strcmp(app_lines(settings), "yes") == 0;
    screen->app = app_create(&options);
    screen->grid = grid_create(screen->rows, screen->columns);
    if (unreadable) {
        struct message message = {.type = MESSAGE_SETTINGS, .error = unreadable};
        screen_message(screen, &message);
    }
    return 0;
}

/* Frees all but what a thread that still runs may touch: that goes with the process. */
static void close_all(struct screen *screen)
{
    effects_finish(&screen->effects);
    app_free(screen->app);
    grid_free(screen->grid);
    script_free(screen->script);
    error_free(screen->failure);
    free(screen->settings_path);
    free(screen->settings_text);
    free(screen->down_said);
    if (screen->working) {
        static struct screen *left;
        left = screen;
        (void)left;
        return;
    }
    error_free(screen->open_error);
    client_close(screen->client);
    free(screen);
}

/* Runs until the person leaves. */
static void run_loop(struct screen *screen)
{
    uv_loop_t *loop = screen->client->loop;
    screen_link_start(screen);
    screen_settings_watch(screen);
    if (screen->script)
        script_start(screen);
    while (!screen->quit)
        uv_run(loop, UV_RUN_ONCE);
    flush_typed(screen);
    if (screen->script)
        script_stop(screen);
    screen_settings_stop(screen);
    screen_link_stop(screen);
    task_drop_all(screen);
}

int screen_run(const struct screen_options *options, struct error **err)
{
    struct screen *screen = xnew(struct screen);
    screen->options = options;
    screen->opened = screen->editor_fd = -1;
    const char *script = getenv("HUTCH_UI_SCRIPT");
    int rc = client_prepare(&screen->client, err);
    if (rc == 0 && script && *script)
        rc = script_load(script, &screen->script, err);
    if (rc < 0) {
        close_all(screen);
        return rc;
    }
    start_handles(screen);
    screen_input_start(screen);
    rc = open_app(screen, err);
    if (rc == 0) {
        screen_input_pause(screen, false);
        run_loop(screen);
        rc = screen->failure  ? error_move(err, &screen->failure)
             : screen->signal ? 128 + screen->signal
                              : app_exit_status(screen->app);
    }
    screen_input_stop(screen);
    term_free(screen->term);
    stop_handles(screen);
    uv_run(screen->client->loop, UV_RUN_NOWAIT);
    close_all(screen);
    return rc;
}
