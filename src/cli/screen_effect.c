/* What the model asks for, done. */
#include "base/alloc.h"
#include "base/file.h"
#include "cli/screen_internal.h"

#include <string.h>

static void do_cancel(struct screen *screen, struct effect *effect)
{
    task_cancel(screen, effect->id);
}

static void do_copy(struct screen *screen, struct effect *effect)
{
    const char *text = effect->text ? effect->text : (const char *)buf_data(&effect->bytes);
    size_t len = effect->text ? strlen(effect->text) : effect->bytes.len;
    struct error *err = NULL;
    if (screen->term && term_copy(screen->term, text, len, &err) < 0 && !effect->id)
        term_bell(screen->term);
    if (effect->id)
        task_answer(screen, effect->id, steal(&err));
    error_free(err);
}

static void do_title(struct screen *screen, struct effect *effect)
{
    if (screen->term)
        term_title(screen->term, effect->text ? effect->text : "");
}

static void do_bell(struct screen *screen, struct effect *effect)
{
    if (screen->term)
        term_bell(screen->term);
}

static void do_notify(struct screen *screen, struct effect *effect)
{
    if (screen->term)
        term_notify(screen->term, effect->text ? effect->text : "");
}

static void do_modes(struct screen *screen, struct effect *effect)
{
    if (screen->term)
        term_modes(screen->term, (int)effect->number);
}

static void do_theme(struct screen *screen, struct effect *effect)
{
    if (screen->term)
        term_theme(screen->term, (enum theme)effect->number);
    screen->full = true;
}

static void do_mouse(struct screen *screen, struct effect *effect)
{
    if (screen->term)
        term_mouse(screen->term, effect->number != 0);
}

static void do_edit(struct screen *screen, struct effect *effect)
{
    screen_edit(screen, effect);
}

static void do_page(struct screen *screen, struct effect *effect)
{
    screen_page(screen, effect);
}

static void do_suspend(struct screen *screen, struct effect *effect)
{
    screen_suspend(screen);
}

static void do_redraw(struct screen *screen, struct effect *effect)
{
    screen->full = true;
}

/* The path may begin with "~/" as a person types it. */
static void do_dump(struct screen *screen, struct effect *effect)
{
    const char *home = getenv("HOME");
    bool at_home = effect->text && strncmp(effect->text, "~/", 2) == 0 && home;
    autofree char *path = at_home ? file_join(home, effect->text + 2) : xstrdup(effect->text);
    struct error *err = NULL;
    struct buf out;
    buf_init(&out, 0);
    screen_frame(screen);
    grid_dump(screen->grid, false, &out);
    if (path && file_replace(path, buf_data(&out), out.len, 0600, &err) < 0 && screen->term && !effect->id)
        term_bell(screen->term);
    buf_finish(&out);
    if (effect->id)
        task_answer(screen, effect->id, steal(&err));
    error_free(err);
}

static void on_clock(uv_timer_t *timer)
{
    struct message message = {.type = MESSAGE_TIME};
    screen_message(timer->data, &message);
}

static void do_timer(struct screen *screen, struct effect *effect)
{
    uv_update_time(screen->client->loop);
    uv_timer_start(&screen->clock, on_clock, effect->number > 0 ? (uint64_t)effect->number : 0, 0);
}

static void do_quit(struct screen *screen, struct effect *effect)
{
    screen->quit = true;
}

void screen_effect(struct screen *screen, struct effect *effect)
{
    static void (*const table[])(struct screen *, struct effect *) = {
        [EFFECT_CALL] = task_start,  [EFFECT_LINES] = task_start, [EFFECT_BYTES] = task_start,
        [EFFECT_WRITE] = task_write, [EFFECT_CANCEL] = do_cancel, [EFFECT_COPY] = do_copy,
        [EFFECT_TITLE] = do_title,   [EFFECT_BELL] = do_bell,     [EFFECT_NOTIFY] = do_notify,
        [EFFECT_MODES] = do_modes,   [EFFECT_THEME] = do_theme,   [EFFECT_MOUSE] = do_mouse,
        [EFFECT_PAGE] = do_page,     [EFFECT_EDIT] = do_edit,     [EFFECT_SUSPEND] = do_suspend,
        [EFFECT_REDRAW] = do_redraw, [EFFECT_DUMP] = do_dump,     [EFFECT_TIMER] = do_timer,
        [EFFECT_QUIT] = do_quit,
    };
    require(effect->type < countof(table) && table[effect->type]);
    table[effect->type](screen, effect);
}
