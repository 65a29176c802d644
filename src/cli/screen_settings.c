/* screen.ini: read, and watched by its folder, as editors replace a file. */
#include "base/alloc.h"
#include "base/file.h"
#include "cli/screen_internal.h"

#include <string.h>

#define SETTINGS_NAME    "screen.ini"
#define SETTINGS_WAIT_MS 50 /* a replacement is several events */

char *screen_settings_read(struct screen *screen, struct error **err)
{
    struct error *own = NULL;
    char *text = NULL;
    size_t len = 0;
    if (!screen->settings_path)
        screen->settings_path = file_join(screen->client->paths->config, SETTINGS_NAME);
    if (file_read_regular(screen->settings_path, SETTINGS_MAX, &text, &len, &own) == 0)
        return text;
    if (own->code == ERROR_NOT_FOUND) {
        error_free(own);
        return xstrdup("");
    }
    error_move(err, &own);
    return NULL;
}

/* Tells the model what the file says, if that is another text than before. */
static void on_settled(uv_timer_t *timer)
{
    struct screen *screen = timer->data;
    auto(error) struct error *err = NULL;
    char *text = screen_settings_read(screen, &err);
    if (text && screen->settings_text && strcmp(text, screen->settings_text) == 0) {
        free(text);
        return;
    }
    free(screen->settings_text);
    screen->settings_text = text;
    struct message message = {.type = MESSAGE_SETTINGS,
                              .bytes = (const uint8_t *)text,
                              .len = text ? strlen(text) : 0,
                              .error = err};
    screen_message(screen, &message);
}

static void on_change(uv_fs_event_t *watch, const char *name, int events, int status)
{
    struct screen *screen = watch->data;
    if (name && strcmp(name, SETTINGS_NAME) == 0)
        uv_timer_start(&screen->settings_timer, on_settled, SETTINGS_WAIT_MS, 0);
}

void screen_settings_watch(struct screen *screen)
{
    uv_loop_t *loop = screen->client->loop;
    if (!screen->settings_watch.data) {
        uv_fs_event_init(loop, &screen->settings_watch);
        uv_timer_init(loop, &screen->settings_timer);
        screen->settings_watch.data = screen->settings_timer.data = screen;
    }
    if (!screen->settings_watched)
        screen->settings_watched =
            uv_fs_event_start(&screen->settings_watch, on_change, screen->client->paths->config, 0) == 0;
}

void screen_settings_stop(struct screen *screen)
{
    uv_close((uv_handle_t *)&screen->settings_watch, NULL);
    uv_close((uv_handle_t *)&screen->settings_timer, NULL);
}
