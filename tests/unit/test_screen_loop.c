/* The loop of the screen around a model of the test's own: what it asks for is done and answered. Keys come
 * from a script, as there is no terminal. */
#include "test_base_scratch.h"

#include "cli/screen.h"
#include "ui/model/app.h"
#include "ui/view/draw.h"

/* ---- the model of the test: it writes down what it is told ---- */

struct app {
    int rows, columns;
    bool changed;
    char said[4096];
};
static char last_said[4096];
static const char *edited, *dumped;

static void say(struct app *app, const char *format, ...)
{
    size_t len = strlen(app->said);
    va_list args;
    va_start(args, format);
    vsnprintf(app->said + len, sizeof(app->said) - len, format, args);
    va_end(args);
    app->changed = true;
}

struct app *app_create(const struct app_options *options)
{
    struct app *app = xnew(struct app);
    app->rows = options->rows;
    app->columns = options->columns;
    app->changed = true;
    return app;
}

void app_free(struct app *app)
{
    if (!app)
        return;
    memcpy(last_said, app->said, sizeof(last_said));
    free(app);
}

/* Acts by the key's letter. */
static void take_key(struct app *app, uint32_t code, struct effects *effects)
{
    switch (code) {
    case 'e':
        effects_add_text(effects, EFFECT_EDIT, edited, 0)->id = 1;
        break;
    case 'c': { /* hutchd is away: an answer all the same */
        struct effect *effect = effects_add(effects, EFFECT_CALL);
        effect->id = 2;
        effect->method = xstrdup("GET");
        effect->path = xstrdup("/v1/projects");
        break;
    }
    case 'x': /* cancelled in the same turn: no answer */
        take_key(app, 'c', effects);
        effects->last->id = 3;
        effects_add(effects, EFFECT_CANCEL)->id = 3;
        break;
    case 'd':
        effects_add_text(effects, EFFECT_DUMP, dumped, 0)->id = 4;
        break;
    case 't':
        effects_add(effects, EFFECT_TIMER)->number = 60000;
        effects_add(effects, EFFECT_TIMER)->number = 1; /* the later one counts */
        break;
    case 'w': { /* more of a body that is not open: nothing */
        struct effect *effect = effects_add(effects, EFFECT_WRITE);
        effect->id = 9;
        buf_append(&effect->bytes, "x", 1, NULL);
        break;
    }
    case 'q':
        effects_add(effects, EFFECT_QUIT);
        break;
    default:
        say(app, "key-%c ", (int)code);
    }
}

void app_update(struct app *app, const struct message *message, struct effects *effects)
{
    switch (message->type) {
    case MESSAGE_KEY:
        take_key(app, message->key.code, effects);
        break;
    case MESSAGE_SIZE:
        app->rows = message->rows;
        app->columns = message->columns;
        say(app, "size-%dx%d ", message->rows, message->columns);
        break;
    case MESSAGE_ANSWER:
        say(app, "answer-%d-%s ", (int)message->id,
            message->error ? error_code_name(message->error->code) : "fine");
        break;
    case MESSAGE_TIME:
        say(app, "time ");
        break;
    case MESSAGE_DOWN:
        say(app, "down-%s ", error_code_name(message->error->code));
        break;
    default:
        break;
    }
}

bool app_changed(struct app *app)
{
    return app->changed;
}

int app_theme(const struct app *app)
{
    return 0;
}

bool app_mouse(const struct app *app)
{
    return false;
}

const char *app_lines(const struct app *app)
{
    return "no";
}

int app_exit_status(const struct app *app)
{
    return 42;
}

void app_draw(struct app *app, struct grid *grid)
{
    grid_resize(grid, app->rows, app->columns);
    grid_clear(grid);
    /* a word a line */
    autofree char *copy = xstrdup(app->said);
    char *rest = copy;
    int row = 0;
    for (char *word; (word = strsep(&rest, " ")); row++)
        area_text(area_all(grid), row, 0, app->columns, STYLE_NORMAL, word);
    app->changed = false;
}

/* ---- tests ---- */

static char *write_file(const char *folder, const char *name, const char *text, mode_t mode)
{
    char *path = file_join(folder, name);
    assert_int_equal(file_replace(path, text, strlen(text), mode, NULL), 0);
    return path;
}

static int play(void **state, const char *script, struct error **err)
{
    static const struct screen_options whole = {0};
    autofree char *path = write_file(*state, "script", script, 0600);
    setenv("HUTCH_UI_SCRIPT", path, 1);
    setenv("HUTCH_HOME", *state, 1);
    assert_true(screen_possible());
    return screen_run(&whole, err);
}

static void test_answers(void **state)
{
    assert_int_equal(
        play(state, "wait down-\nc\nwait answer-2-no-daemon\nx\nw\na\nwait key-a\nt\nwait time\nq\n", NULL),
        42);
    assert_null(strstr(last_said, "answer-3"));
    assert_null(strstr(last_said, "answer-9"));
    assert_non_null(strstr(last_said, "down-missing")); /* why hutchd cannot be started */
}

static void test_editor(void **state)
{
    autofree char *editor =
        write_file(*state, "editor", "#!/bin/sh\n[ \"$1\" = -w ] && echo new >\"$2\"\n", 0700);
    autofree char *file = write_file(*state, "a file", "old", 0600);
    autofree char *command = xasprintf("%s  -w", editor);
    autofree char *text = NULL;
    size_t len;
    edited = file;
    unsetenv("VISUAL");
    setenv("EDITOR", command, 1);
    assert_int_equal(play(state, "e\nwait answer-1-fine\nq\n", NULL), 42);
    assert_int_equal(file_read(file, 100, &text, &len, NULL), 0);
    assert_string_equal(text, "new\n");
    setenv("VISUAL", "/bin/false", 1); /* it goes first */
    assert_int_equal(play(state, "e\nwait answer-1-failed\na\nwait key-a\nq\n", NULL), 42);
    setenv("VISUAL", "/nonexistent/editor", 1);
    assert_int_equal(play(state, "e\nwait answer-1-missing\nq\n", NULL), 42);
}

static void test_dump(void **state)
{
    autofree char *file = file_join(*state, "dump");
    autofree char *text = NULL;
    size_t len;
    dumped = file;
    assert_int_equal(play(state, "size 7 30\na\nd\nwait answer-4-fine\nq\n", NULL), 42);
    assert_int_equal(file_read(file, 1000, &text, &len, NULL), 0);
    assert_non_null(strstr(text, "size-7x30\n"));
    assert_non_null(strstr(text, "key-a\n"));
    dumped = "/nonexistent/folder/dump";
    assert_int_equal(play(state, "d\nwait answer-4-not-found\nq\n", NULL), 42);
}

static void test_script(void **state)
{
    static const char *const wrong[] = {"nosuchkey\n", "size 0 5\n", "size 5\n"};
    auto(error) struct error *err = NULL;
    for (size_t i = 0; i < countof(wrong); i++) {
        auto(error) struct error *own = NULL;
        assert_int_equal(play(state, wrong[i], &own), -ERROR_INVALID);
        assert_non_null(strstr(own->message, "script:1"));
    }
    assert_int_equal(play(state, "# a remark\n\ntype \xc3\xa4z\na\n", NULL), 42); /* its end is the end */
    setenv("HUTCH_UI_SCRIPT", "/nonexistent/script", 1);
    static const struct screen_options whole = {0};
    assert_int_equal(screen_run(&whole, &err), -ERROR_NOT_FOUND);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        scratch_test(test_answers),
        scratch_test(test_editor),
        scratch_test(test_dump),
        scratch_test(test_script),
    };
    alarm(120);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
