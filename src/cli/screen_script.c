/* HUTCH_UI_SCRIPT: a file that plays a person, for tests. A line is a key (as key_parse names it), or
 *   wait TEXT            until TEXT is on the screen, 60 s at most
 *   gone TEXT            until it is not
 *   type TEXT            its characters as keys
 *   size ROWS COLUMNS    another size
 *   dump FILE            the screen as text; dump-styles FILE: with the styles behind it
 * Empty lines and those that begin with "# " are nothing. */
#include "base/alloc.h"
#include "base/file.h"
#include "base/text.h"
#include "base/units.h"
#include "cli/screen_internal.h"

#include <stdio.h>
#include <string.h>

#define SCRIPT_MAX     (1 << 20)
#define SCRIPT_WAIT_MS 60000

enum word { WORD_KEY, WORD_WAIT, WORD_GONE, WORD_TYPE, WORD_SIZE, WORD_DUMP, WORD_DUMP_STYLES };
static const struct {
    const char *name;
    enum word word;
} words[] = {
    {"wait ", WORD_WAIT}, {"gone ", WORD_GONE}, {"type ", WORD_TYPE},
    {"size ", WORD_SIZE}, {"dump ", WORD_DUMP}, {"dump-styles ", WORD_DUMP_STYLES},
};

struct step {
    enum word word;
    int line;
    char *text;
    struct key_event key;
    int rows, columns;
};
struct script {
    struct step *steps;
    size_t count, at;
    bool waiting; /* for the text of the step */
    uv_timer_t limit;
};

void script_free(struct script *script)
{
    if (!script)
        return;
    for (size_t i = 0; i < script->count; i++)
        free(script->steps[i].text);
    free(script->steps);
    free(script);
}

static int read_step(const char *line, struct step *step, struct error **err)
{
    for (size_t i = 0; i < countof(words); i++) {
        size_t len = strlen(words[i].name);
        if (strncmp(line, words[i].name, len) != 0)
            continue;
        step->word = words[i].word;
        step->text = xstrdup(line + len);
        if (step->word == WORD_SIZE &&
            (sscanf(step->text, "%d %d", &step->rows, &step->columns) != 2 || step->rows < 1 ||
             step->columns < 1 || step->rows > GRID_ROWS_MAX || step->columns > GRID_COLUMNS_MAX))
            return error_set(err, ERROR_INVALID, "a size is \"size ROWS COLUMNS\"");
        return 0;
    }
    step->word = WORD_KEY;
    step->text = xstrdup(line);
    return key_parse(line, &step->key, err);
}

int script_load(const char *path, struct script **ret_script, struct error **err)
{
    auto(script) struct script *script = xnew(struct script);
    autofree char *text = NULL;
    size_t len;
    int rc = file_read(path, SCRIPT_MAX, &text, &len, err);
    char *rest = text;
    int number = 0;
    for (char *line; rc == 0 && (line = strsep(&rest, "\n"));) {
        number++;
        if (!*line || strncmp(line, "# ", 2) == 0)
            continue;
        script->steps = xrealloc(script->steps, script->count + 1, sizeof(*script->steps));
        struct step *step = &script->steps[script->count++];
        *step = (struct step){.line = number};
        rc = read_step(line, step, err);
        if (rc < 0)
            error_prefix(err, "%s:%d", path, number);
    }
    if (rc == 0)
        *ret_script = steal(&script);
    return rc;
}

/* ---- playing ---- */

static char *screen_text(struct screen *screen, bool styles)
{
    struct buf out;
    buf_init(&out, 0);
    screen_frame(screen);
    grid_dump(screen->grid, styles, &out);
    return buf_take_string(&out);
}

/* The time is up: the screen as it is goes to stderr. */
static void on_limit(uv_timer_t *timer)
{
    struct screen *screen = timer->data;
    const struct step *step = &screen->script->steps[screen->script->at];
    autofree char *text = screen_text(screen, false);
    struct error *err = NULL;
    error_set(&err, ERROR_TIMED_OUT, "line %d of the script: \"%s\" did not %s within %d s", step->line,
              step->text, step->word == WORD_WAIT ? "come" : "go", SCRIPT_WAIT_MS / 1000);
    if (screen->term)
        term_suspend(screen->term);
    fputs(text, stderr);
    screen_fail(screen, err);
}

void script_start(struct screen *screen)
{
    uv_timer_init(screen->client->loop, &screen->script->limit);
    screen->script->limit.data = screen;
}

void script_stop(struct screen *screen)
{
    uv_close((uv_handle_t *)&screen->script->limit, NULL);
}

/* Whether the text is there, or not there, as the step wants it. */
static bool wait_over(struct screen *screen, struct script *script, const struct step *step)
{
    if (script->waiting && !app_changed(screen->app))
        return false;
    autofree char *text = screen_text(screen, false);
    bool over = (strstr(text, step->text) != NULL) == (step->word == WORD_WAIT);
    if (over) {
        uv_timer_stop(&script->limit);
    } else if (!script->waiting) {
        uv_update_time(screen->client->loop);
        uv_timer_start(&script->limit, on_limit, SCRIPT_WAIT_MS, 0);
    }
    script->waiting = !over;
    return over;
}

static void send_key(struct screen *screen, const struct key_event *key)
{
    struct message message = {.type = MESSAGE_KEY, .key = *key};
    screen_message(screen, &message);
}

static void type(struct screen *screen, const char *text)
{
    size_t len = strlen(text);
    while (len > 0 && !screen->quit) {
        int32_t code;
        size_t n = text_decode(text, len, &code);
        struct key_event key = {.type = KEY_EVENT_CODE, .code = (uint32_t)code};
        if (code > 0)
            send_key(screen, &key);
        text += n;
        len -= n;
    }
}

static void resize(struct screen *screen, int rows, int columns)
{
    screen->rows = rows;
    screen->columns = columns;
    struct message message = {.type = MESSAGE_SIZE, .rows = rows, .columns = columns};
    screen_message(screen, &message);
}

static void dump(struct screen *screen, const struct step *step)
{
    struct error *err = NULL;
    autofree char *text = screen_text(screen, step->word == WORD_DUMP_STYLES);
    if (file_replace(step->text, text, strlen(text), 0600, &err) < 0)
        screen_fail(screen, err);
}

/* Plays one step. False: it is not over. */
static bool play(struct screen *screen, struct script *script, const struct step *step)
{
    switch (step->word) {
    case WORD_KEY:
        send_key(screen, &step->key);
        break;
    case WORD_TYPE:
        type(screen, step->text);
        break;
    case WORD_SIZE:
        resize(screen, step->rows, step->columns);
        break;
    case WORD_DUMP:
    case WORD_DUMP_STYLES:
        dump(screen, step);
        break;
    default:
        return wait_over(screen, script, step);
    }
    return true;
}

bool script_turn(struct screen *screen)
{
    struct script *script = screen->script;
    if (screen->editing)
        return false;
    if (script->at == script->count) {
        screen->quit = true;
        return false;
    }
    if (!play(screen, script, &script->steps[script->at]))
        return false;
    script->at++;
    return true;
}
