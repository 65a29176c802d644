/* Random keys, sizes, pastes and mouse on every view, while a hutchd that lies answers: nothing falls over,
 * no cell is anything but text in its place, nothing with a meaning of its own reaches the terminal's title
 * or clipboard, and an act goes to the row that was asked about. HUTCH_MONKEY_KEYS: how many (the usual
 * number is for every day), HUTCH_MONKEY_SEED: another way; HUTCH_MONKEY_SAY: the memory after each tenth. */
#include "tests/screen/hostile.h"
#include "tests/screen/screen.h"

#include "base/alloc.h"
#include "ui/model/field.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>
#include <malloc.h>
#include <stdio.h>
#include <string.h>

#define KEYS_USUAL 2500
#define ASKED_MAX  64   /* effects that wait for an answer */
#define AGAIN      2500 /* keys until another screen is opened */

struct asked {
    uint64_t id;
    enum effect_type type;
    char *path;
    uint64_t sent; /* bytes of it */
};

struct monkey {
    struct screen screen;
    uint64_t seed;
    int64_t seq;
    bool up, ended;
    struct asked asked[ASKED_MAX];
    size_t count;
    char *meant; /* the project whose row was asked about, as in a path */
    size_t acts;
};

static uint64_t next(struct monkey *monkey, uint64_t most)
{
    return hostile_next(&monkey->seed, most);
}

static void forget(struct monkey *monkey, size_t at)
{
    free(monkey->asked[at].path);
    monkey->asked[at] = monkey->asked[--monkey->count];
}

static void forget_all(struct monkey *monkey)
{
    while (monkey->count)
        forget(monkey, 0);
}

/* ---- what comes out ---- */

/* Text that goes to the terminal outside of cells. */
static void check_text(const char *text, bool lines)
{
    int32_t code;
    for (size_t at = 0, len = strlen(text); at < len;) {
        at += text_decode(text + at, len - at, &code);
        if (!(lines && (code == '\n' || code == '\t')) && !cell_code_ok((uint32_t)code))
            fail_msg("U+%04X leaves the screen in \"%s\"", (unsigned)code, text);
    }
}

/* A change of one project must be of the one that was asked about. */
static void check_act(struct monkey *monkey, const struct effect *effect)
{
    if (!monkey->meant || !effect->method || strcmp(effect->method, "DELETE") != 0 ||
        strncmp(effect->path, "/v1/projects/", 13) != 0)
        return;
    const char *rest = effect->path + 13;
    size_t len = strcspn(rest, "/?");
    monkey->acts++;
    if (strlen(monkey->meant) != len || strncmp(rest, monkey->meant, len) != 0)
        fail_msg("\"%s\" was asked about, and this was done: %s", monkey->meant, effect->path);
}

static void take_effect(struct monkey *monkey, const struct effect *effect)
{
    size_t at = 0;
    switch (effect->type) {
    case EFFECT_CANCEL:
        while (at < monkey->count && monkey->asked[at].id != effect->id)
            at++;
        if (at < monkey->count)
            forget(monkey, at);
        return;
    case EFFECT_TITLE:
    case EFFECT_NOTIFY:
    case EFFECT_COPY:
        check_text(effect->text, effect->type == EFFECT_COPY);
        break;
    case EFFECT_QUIT:
        monkey->ended = true;
        break;
    default:
        break;
    }
    check_act(monkey, effect);
    if (!effect->id || (effect->type == EFFECT_WRITE && !effect->path))
        return;
    if (monkey->count == ASKED_MAX)
        forget(monkey, next(monkey, ASKED_MAX)); /* a hutchd that never answers it */
    monkey->asked[monkey->count++] = (struct asked){
        .id = effect->id, .type = effect->type, .path = xstrdup(effect->path ? effect->path : "")};
}

static void send(struct monkey *monkey, struct message message)
{
    message.now_ns = monkey->screen.now_ns;
    app_update(monkey->screen.app, &message, &monkey->screen.effects);
    for (struct effect *effect; (effect = effects_take(&monkey->screen.effects));) {
        take_effect(monkey, effect);
        effect_free(effect);
    }
}

static void check_cells(const struct grid *grid)
{
    for (int row = 0; row < grid->rows; row++) {
        for (int column = 0; column < grid->columns; column++) {
            const struct cell *cell = &grid->cells[row * grid->columns + column];
            for (int i = 0; i < CELL_CODES && cell->codes[i]; i++)
                if (!cell_code_ok(cell->codes[i]))
                    fail_msg("U+%04X stands in %d:%d", (unsigned)cell->codes[i], row, column);
            if (cell->width > 2 ||
                (cell->width == 2 && (column + 1 == grid->columns || cell[1].width != 0)) ||
                (cell->width == 0 && (column == 0 || cell[-1].width != 2)))
                fail_msg("half of a wide character stands in %d:%d", row, column);
            assert_true(cell->style < STYLE_COUNT);
        }
    }
}

static void draw(struct monkey *monkey)
{
    app_draw(monkey->screen.app, monkey->screen.grid);
    check_cells(monkey->screen.grid);
}

/* ---- what goes in ---- */

static struct error *some_error(struct monkey *monkey)
{
    struct error *err = NULL;
    error_set(&err, (enum error_code)(1 + next(monkey, 20)), "%s", hostile_text(&monkey->seed));
    if (next(monkey, 2))
        error_hint(&err, "%s", hostile_text(&monkey->seed));
    return err;
}

static void send_bytes(struct monkey *monkey, struct asked *asked)
{
    uint8_t bytes[3000];
    size_t len = 0;
    for (size_t most = next(monkey, sizeof(bytes)); len < most;) {
        const char *text = hostile_text(&monkey->seed);
        size_t part = strlen(text);
        if (next(monkey, 3) == 0)
            bytes[len++] = (uint8_t)next(monkey, 256);
        part = part < most - len ? part : len < most ? most - len : 0;
        memcpy(bytes + len, text, part);
        len += part;
    }
    struct message message = {
        .type = MESSAGE_BYTES, .id = asked->id, .bytes = bytes, .len = len, .offset = asked->sent};
    if (next(monkey, 50) == 0)
        message.offset = next(monkey, 2) ? 0 : asked->sent + next(monkey, 1u << 30);
    asked->sent = message.offset + len;
    send(monkey, message);
}

/* hutchd says something of what it was asked. */
static void speak(struct monkey *monkey)
{
    if (!monkey->count || !monkey->up)
        return;
    size_t at = next(monkey, monkey->count);
    struct asked *asked = &monkey->asked[at];
    bool events = strncmp(asked->path, "/v1/events", 10) == 0;
    uint64_t id = asked->id;
    if (asked->type == EFFECT_BYTES && next(monkey, 6)) {
        send_bytes(monkey, asked);
        return;
    }
    if (asked->type == EFFECT_LINES && (next(monkey, 4) || events)) {
        json_t *line = events ? hostile_event(&monkey->seed, &monkey->seq, monkey->screen.now_ns)
                              : hostile_answer(&monkey->seed, asked->path);
        send(monkey, (struct message){.type = MESSAGE_LINE, .id = id, .body = line});
        json_decref(line);
        return;
    }
    auto(error) struct error *err = next(monkey, 5) ? NULL : some_error(monkey);
    json_t *body = err || next(monkey, 10) == 0 ? NULL : hostile_answer(&monkey->seed, asked->path);
    forget(monkey, at);
    send(monkey, (struct message){.type = MESSAGE_ANSWER, .id = id, .body = body, .error = err});
    json_decref(body);
}

static struct key_event some_key(struct monkey *monkey)
{
    static const char often[] = "jkgGq:?axLy1234567 *sImTVPcHRAeopbKzZXnN/&tw!fdryvn";
    struct key_event key = {.type = KEY_EVENT_CODE};
    switch (next(monkey, 12)) {
    case 0: /* named */
        key.code = KEY_NAMED + 1 + (uint32_t)next(monkey, KEY_NAME_F12 - KEY_NAMED);
        key.mods = next(monkey, 4) ? 0 : (int)next(monkey, 8);
        break;
    case 1:
        key.code = KEY_NAME_ENTER;
        break;
    case 2:
        key.code = next(monkey, 2) ? KEY_NAME_ESCAPE : KEY_NAME_DELETE;
        break;
    case 3:
        key.code = "]]dulwf"[next(monkey, 7)];
        key.mods = KEY_CTRL;
        break;
    case 4:
        key.code = next(monkey, 2) ? (uint32_t)next(monkey, KEY_NAMED) : 'y';
        break;
    case 5:
        key.type = KEY_EVENT_MOUSE;
        key.act = (enum mouse_act)next(monkey, 5);
        key.button = (int)next(monkey, 12);
        key.row = (int)next(monkey, 300) - 20;
        key.column = (int)next(monkey, 600) - 20;
        break;
    default:
        key.code = (uint8_t)often[next(monkey, sizeof(often) - 1)];
    }
    key_canonical(&key);
    return key;
}

/* What a question wants, mostly. */
static void affirm(struct monkey *monkey, struct key_event *key)
{
    const struct app *app = monkey->screen.app;
    if (!app->confirm.on || !next(monkey, 3))
        return;
    *key = (struct key_event){.type = KEY_EVENT_CODE, .code = 'y'};
    if (app->confirm.weight != WEIGHT_SEVERE)
        return;
    input_set(&monkey->screen.app->input, app->confirm.name);
    key->code = KEY_NAME_ENTER;
}

static void press(struct monkey *monkey)
{
    struct key_event key = some_key(monkey);
    struct app *app = monkey->screen.app;
    bool asked = app->confirm.on;
    affirm(monkey, &key);
    if (next(monkey, 60) == 0) {
        key = (struct key_event){.type = KEY_EVENT_PASTE};
        key.paste = xstrdup(hostile_text(&monkey->seed));
        key.paste_len = strlen(key.paste);
        key.too_long = next(monkey, 20) == 0;
    }
    send(monkey, (struct message){.type = MESSAGE_KEY, .key = key});
    key_event_finish(&key);
    if (app->confirm.on == asked && asked)
        return;
    free(steal(&monkey->meant));
    if (!app->confirm.on || app->confirm.count)
        return;
    enum view_id view = app->confirm.view;
    const struct project *project =
        projects_find(&app->projects, view == VIEW_PROJECTS ? app->confirm.identity
                                      : view == VIEW_EXEC   ? app->sessions.project
                                                            : app->rules.project);
    if (project && view != VIEW_TEMPLATES)
        monkey->meant = field_path("%s", project->raw_name);
}

static void change_size(struct monkey *monkey)
{
    static const int rows[] = {1, 2, 3, 5, 10, 24, 40, 60, 200},
                     columns[] = {1, 2, 3, 7, 40, 80, 120, 200, 500};
    struct message message = {.type = MESSAGE_SIZE,
                              .rows = rows[next(monkey, countof(rows))],
                              .columns = columns[next(monkey, countof(columns))]};
    if (next(monkey, 2)) { /* mostly one at which much is to be done */
        message.rows = 24;
        message.columns = next(monkey, 2) ? 80 : 200;
    }
    send(monkey, message);
}

/* hutchd comes and goes. */
static void turn(struct monkey *monkey)
{
    if (monkey->up) {
        auto(error) struct error *err = some_error(monkey);
        forget_all(monkey);
        monkey->up = false;
        send(monkey, (struct message){.type = MESSAGE_DOWN, .error = err});
        return;
    }
    json_t *version = hostile_answer(&monkey->seed, "/v1/version");
    monkey->up = true;
    send(monkey, (struct message){.type = MESSAGE_UP, .body = version});
    json_decref(version);
}

static void change_settings(struct monkey *monkey)
{
    static const char *const files[] = {"", "[screen]\ntheme = mono\n",
                                        "[screen]\nmouse = no\nescape = none\n", "[keys]\n"};
    const char *text = next(monkey, 2) ? files[next(monkey, countof(files))] : hostile_text(&monkey->seed);
    send(monkey,
         (struct message){.type = MESSAGE_SETTINGS, .bytes = (const uint8_t *)text, .len = strlen(text)});
}

static void open(struct monkey *monkey)
{
    uint64_t which = next(monkey, 8);
    forget_all(monkey);
    monkey->up = monkey->ended = false;
    monkey->seq = 0;
    free(steal(&monkey->meant));
    if (which == 0)
        screen_open_demo(&monkey->screen, 24, 80, NULL);
    else if (which == 1)
        screen_open_session(&monkey->screen, 24, 80, "shop", "s1");
    else
        screen_open(&monkey->screen, 24, 80, NULL);
    turn(monkey);
    for (int i = 0; i < 100; i++)
        speak(monkey);
}

static void step(struct monkey *monkey)
{
    press(monkey);
    for (uint64_t i = next(monkey, 6); i-- > 0;)
        speak(monkey);
    if (next(monkey, 3) == 0) {
        monkey->screen.now_ns += (int64_t)next(monkey, 2000000000);
        send(monkey, (struct message){.type = MESSAGE_TIME});
    }
    if (next(monkey, 40) == 0)
        change_size(monkey);
    if (next(monkey, 200) == 0)
        change_settings(monkey);
    if (next(monkey, monkey->up ? 400 : 10) == 0)
        turn(monkey);
    draw(monkey);
}

static void test_monkey(void **state)
{
    const char *keys = getenv("HUTCH_MONKEY_KEYS"), *seed = getenv("HUTCH_MONKEY_SEED");
    size_t most = keys ? strtoull(keys, NULL, 10) : KEYS_USUAL, opened = 0;
    struct monkey monkey = {.seed = seed ? strtoull(seed, NULL, 10) : 20260101};
    (void)state;
    assert_true(most > 0 && monkey.seed > 0);
    open(&monkey);
    for (size_t i = 0; i < most; i++, opened++) {
        if (getenv("HUTCH_MONKEY_SAY") && i % (most / 10 + 1) == 0)
            print_message("%zu keys, %zu acts: %zu KiB in use\n", i, monkey.acts, mallinfo2().uordblks >> 10);
        step(&monkey);
        if (!monkey.ended && opened < AGAIN)
            continue;
        screen_close(&monkey.screen);
        open(&monkey);
        opened = 0;
    }
    screen_close(&monkey.screen);
    forget_all(&monkey);
    free(monkey.meant);
    assert_true(keys || monkey.acts > 0); /* it came as far as that */
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_monkey)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
