/* The terminal layer on a pty whose other side is libvterm: keys arrive, modes follow, and the terminal is as
 * it was on every way out. */
#include "test_term_rig.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>

static void bad_terminals_are_refused(void **state)
{
    (void)state;
    struct outer outer;
    struct term *term = NULL;
    int pipes[2];
    outer_init(&outer, 24, 80);
    struct termios before, after;
    memset(&before, 0, sizeof(before));
    memset(&after, 0, sizeof(after));
    assert_int_equal(tcgetattr(outer.slave, &before), 0);
    assert_int_equal(pipe(pipes), 0);
    struct term_options options = {.fd_in = outer.slave, .fd_out = outer.slave};
    static const char *const types[] = {"dumb", "unknown", "", "no-such-terminal", "../../etc/passwd"};
    for (size_t i = 0; i < countof(types); i++) {
        set_terminal(types[i], "truecolor");
        auto(error) struct error *err = NULL;
        assert_int_equal(term_create(&options, &term, &err), -ERROR_INVALID);
        assert_non_null(strstr(err->message, "TERM"));
        assert_non_null(strstr(err->hint, "`hutch ls`"));
        assert_non_null(strstr(err->hint, "`hutch help`"));
    }
    set_terminal("xterm-256color", NULL);
    options.fd_out = pipes[1];
    assert_error(term_create(&options, &term, &err), ERROR_INVALID, "standard output is none");
    options.fd_out = outer.slave;
    options.fd_in = pipes[0];
    auto(error) struct error *err = NULL;
    assert_int_equal(term_create(&options, &term, &err), -ERROR_INVALID);
    assert_non_null(strstr(err->hint, "`hutch ls`"));
    assert_null(term);
    outer_sync(&outer);
    assert_int_equal(outer.log.len, 0);
    assert_int_equal(tcgetattr(outer.slave, &after), 0);
    assert_memory_equal(&before, &after, sizeof(before));
    close(pipes[0]);
    close(pipes[1]);
    outer_finish(&outer);
}

/* The next key, after as much waiting as the layer says. */
static char *next_key(struct outer *outer, struct term *term)
{
    struct key_event event;
    int wait;
    while (!term_key(term, &event, &wait)) {
        if (wait < 0)
            return xstrdup("none");
        struct pollfd poller = {.fd = outer->slave, .events = POLLIN};
        poll(&poller, 1, wait);
    }
    char name[24];
    key_name(&event, name);
    char *text = event.type == KEY_EVENT_PASTE ? xasprintf("paste %s", event.paste) : xstrdup(name);
    key_event_finish(&event);
    return text;
}

static void keys_arrive(void **state)
{
    (void)state;
    struct outer outer;
    set_terminal("xterm-256color", NULL);
    outer_init(&outer, 24, 80);
    struct term *term = open_term(&outer, THEME_DARK);
    static const char typed[] = "q\x1b[13;2u\x03\x1a\x13\x11\x1c\r\x1b[200~o\ry\x1b[201~\x1b[<0;3;4M\x1b";
    static const char *const keys[] = {"q",   "S-Enter", "^C",         "^Z",    "^S",  "^Q",
                                       "^\\", "Enter",   "paste o\ny", "Mouse", "Esc", "none"};
    outer_type(&outer, typed, sizeof(typed) - 1);
    for (size_t i = 0; i < countof(keys); i++) {
        autofree char *key = next_key(&outer, term);
        assert_string_equal(key, keys[i]);
    }
    /* A lone Escape waits, and says for how long. */
    struct key_event event;
    int wait;
    outer_type(&outer, "\x1b", 1);
    if (!term_key(term, &event, &wait))
        assert_in_range(wait, 1, 25);
    else
        assert_int_equal(event.code, KEY_NAME_ESCAPE); /* a machine that is slow */
    assert_false(term_lost(term));
    close(outer.master);
    while (!term_lost(term))
        term_key(term, &event, &wait);
    term_free(term);
    close(outer.slave);
    vterm_free(outer.vterm);
    buf_finish(&outer.log);
}

/* Pumps while the terminal layer waits for answers. */
static void *pump_thread(void *user)
{
    struct outer *outer = user;
    while (!outer_logged(outer, "\x1b[c"))
        outer_pump(outer);
    outer_feed(outer);
    return NULL;
}

static void widths_are_probed(void **state)
{
    (void)state;
    for (int answers = 0; answers < 2; answers++) {
        struct outer outer;
        pthread_t thread;
        struct term *term = NULL;
        set_terminal("xterm-256color", NULL);
        outer_init(&outer, 30, 80);
        outer.answers = answers;
        static const char shell[] = "of the shell\r\nprompt";
        assert_int_equal(write(outer.slave, shell, sizeof(shell) - 1), sizeof(shell) - 1);
        outer_sync(&outer);
        /* Raw already, so that what is typed ahead is not echoed; it must not be lost. */
        struct termios raw;
        tcgetattr(outer.slave, &raw);
        cfmakeraw(&raw);
        tcsetattr(outer.slave, TCSANOW, &raw);
        outer_type(&outer, "ab", 2);
        struct term_options options = {.fd_in = outer.slave, .fd_out = outer.slave, .lines = true};
        assert_int_equal(pthread_create(&thread, NULL, pump_thread, &outer), 0);
        assert_ok(term_create(&options, &term, &err));
        pthread_join(thread, NULL);
        assert_int_equal(term_caps(term)->lines, answers);
        assert_true(term_caps(term)->utf8);
        outer_sync(&outer);
        static const char *const keys[] = {"a", "b", "none"};
        for (size_t i = 0; i < countof(keys); i++) {
            autofree char *key = next_key(&outer, term);
            assert_string_equal(key, keys[i]);
        }
        if (!answers) {
            /* Answers that come too late are no keys either. */
            static const char late[] = "\x1b[1;5R\x1b[1;3R\x1b[?1;2cz";
            outer_type(&outer, late, sizeof(late) - 1);
            autofree char *key = next_key(&outer, term);
            assert_string_equal(key, "z");
        }
        struct grid *grid = grid_create(30, 80);
        term_draw(term, grid, true);
        grid_free(grid);
        term_free(term);
        /* The shell's lines and cursor are as they were, and all 30 rows scroll again. */
        assert_int_equal(write(outer.slave, "!", 1), 1);
        outer_sync(&outer);
        autofree char *first = outer_row(&outer, 0), *second = outer_row(&outer, 1);
        assert_string_equal(first, "of the shell");
        assert_string_equal(second, "prompt!");
        assert_int_equal(write(outer.slave, "\x1b[30;1H\n", 8), 8);
        outer_sync(&outer);
        autofree char *scrolled = outer_row(&outer, 0);
        assert_string_equal(scrolled, "prompt!");
        outer_finish(&outer);
    }
}

static void modes_follow_the_guest(void **state)
{
    (void)state;
    struct outer outer;
    set_terminal("xterm-256color", NULL);
    outer_init(&outer, 24, 80);
    struct term *term = open_term(&outer, THEME_DARK);
    assert_true(outer_mode(&outer, "2004"));
    assert_true(outer_logged(&outer, "\x1b[>5u"));
    assert_true(outer_logged(&outer, "\x1b[>4;1m"));
    assert_false(outer_mode(&outer, "1000"));
    assert_false(outer_mode(&outer, "1004"));
    term_modes(term, TERM_MOUSE_DRAG | TERM_FOCUS);
    outer_sync(&outer);
    assert_true(outer_mode(&outer, "1002"));
    assert_true(outer_mode(&outer, "1006"));
    assert_true(outer_mode(&outer, "1004"));
    outer_clear(&outer);
    term_modes(term, TERM_MOUSE_DRAG | TERM_FOCUS);
    outer_sync(&outer);
    assert_int_equal(outer.log.len, 0);
    term_mouse(term, true);
    term_modes(term, 0);
    outer_sync(&outer);
    assert_false(outer_mode(&outer, "1002"));
    assert_true(outer_mode(&outer, "1000"));
    assert_false(outer_mode(&outer, "1004"));
    term_mouse(term, false);
    outer_sync(&outer);
    assert_false(outer_mode(&outer, "1000"));
    assert_false(outer_mode(&outer, "1006"));

    outer_clear(&outer);
    term_bell(term);
    term_title(term, "shop WAITING");
    term_title(term, "shop WAITING");
    term_notify(term, "a request waits");
    assert_ok(term_copy(term, "https://x", 9, &err));
    autofree char *much = xcalloc(TERM_COPY_MAX + 1, 1);
    assert_error(term_copy(term, much, TERM_COPY_MAX + 1, &err), ERROR_LIMIT, "65537 bytes");
    outer_sync(&outer);
    autofree char *sent = buf_take_string(&outer.log);
    assert_string_equal(sent,
                        "\a\x1b[22;0t\x1b]0;shop WAITING\a\x1b]9;a request waits\a\x1b]52;c;aHR0cHM6Ly94\a");
    assert_int_equal(outer.bells, 1);
    term_free(term);
    outer_sync(&outer);
    assert_true(outer_logged(&outer, "\x1b[23;0t"));
    outer_finish(&outer);

    set_terminal("linux", NULL);
    outer_init(&outer, 24, 80);
    term = open_term(&outer, THEME_DARK);
    assert_false(outer_logged(&outer, "\x1b[>"));
    assert_error(term_copy(term, "x", 1, &err), ERROR_MISSING, "clipboard");
    term_free(term);
    outer_finish(&outer);
}

/* The terminal is as it was: its own modes, and what it was told. */
static void assert_given_back(struct outer *outer, const struct termios *before)
{
    struct termios now;
    memset(&now, 0, sizeof(now)); /* and what lies between its fields */
    assert_int_equal(tcgetattr(outer->slave, &now), 0);
    assert_memory_equal(before, &now, sizeof(now));
    assert_false(outer->alternate);
    assert_true(outer->cursor);
    static const char *const modes[] = {"2004", "1000", "1002", "1003", "1006", "1004", "2026", "1049"};
    for (size_t i = 0; i < countof(modes); i++)
        assert_false(outer_mode(outer, modes[i]));
    assert_true(outer_logged(outer, "\x1b[<u"));
    assert_true(outer_logged(outer, "\x1b[>4m"));
    autofree char *row = outer_row(outer, 0);
    assert_string_equal(row, "$ hutch");
    VTermScreenCell cell = outer_cell(outer, 5, 5);
    assert_int_equal(color_of(&cell.bg, true), -1);
}

/* A terminal with a shell's line on it. */
static void with_shell(struct outer *outer, struct termios *ret_before)
{
    set_terminal("xterm-256color", "truecolor");
    outer_init(outer, 24, 80);
    require(write(outer->slave, "$ hutch", 7) == 7);
    outer_sync(outer);
    memset(ret_before, 0, sizeof(*ret_before));
    assert_int_equal(tcgetattr(outer->slave, ret_before), 0);
}

static void busy(struct outer *outer, struct term **ret_term)
{
    struct term_options options = {.fd_in = outer->slave, .fd_out = outer->slave, .mouse = true};
    auto(grid) struct grid *grid = grid_create(24, 80);
    require(term_create(&options, ret_term, NULL) == 0);
    for (int row = 0; row < 24; row++)
        area_fill(area_all(grid), row, 0, 80, STYLE_WAITING, '#');
    term_modes(*ret_term, TERM_MOUSE_MOVE | TERM_FOCUS);
    term_title(*ret_term, "busy");
    term_draw(*ret_term, grid, false);
}

static void the_terminal_is_given_back(void **state)
{
    (void)state;
    struct outer outer;
    struct termios before;
    struct term *term;
    with_shell(&outer, &before);
    busy(&outer, &term);
    outer_sync(&outer);
    assert_true(outer.alternate);
    assert_false(outer.cursor);
    assert_true(outer_mode(&outer, "1003"));
    term_suspend(term);
    outer_sync(&outer);
    assert_given_back(&outer, &before);
    struct key_event event;
    int wait;
    auto(grid) struct grid *grid = grid_create(24, 80);
    assert_int_equal(term_draw(term, grid, true), 0);
    assert_false(term_key(term, &event, &wait));
    outer_clear(&outer);
    term_resume(term);
    outer_sync(&outer);
    assert_true(outer.alternate);
    assert_true(outer_mode(&outer, "1003"));
    assert_true(outer_mode(&outer, "2004"));
    autofree char *row = outer_row(&outer, 23);
    assert_int_equal(strlen(row), 80);
    assert_int_equal(row[79], '#');
    draw(&outer, term, grid, false);
    assert_screen(&outer, grid, THEME_DARK, PALETTE_DIRECT);
    term_free(term);
    outer_sync(&outer);
    assert_given_back(&outer, &before);
    /* Another one can be had after it. */
    term = open_term(&outer, THEME_DARK);
    draw(&outer, term, grid, false);
    assert_screen(&outer, grid, THEME_DARK, PALETTE_DIRECT);
    term_suspend(term);
    term_free(term);
    outer_sync(&outer);
    assert_given_back(&outer, &before);
    outer_finish(&outer);
}

static void by_exit(void)
{
    exit(7);
}

static void by_kill(void)
{
    kill(getpid(), SIGTERM);
}

/* Nothing runs in it any more. */
static void by_kill_9(void)
{
    kill(0, SIGKILL);
}

static void by_segv(void)
{
    raise(SIGSEGV);
}

static void by_overflow(void);
static void (*volatile deeper)(void) = by_overflow;

static void by_overflow(void)
{
    volatile char much[1 << 16];
    much[0] = 1;
    deeper();
    much[1] = much[0];
}

static void by_abort(void)
{
    abort();
}

static void by_hangup(void)
{
    raise(SIGHUP);
}

static void by_quit(void)
{
    raise(SIGQUIT);
}

static void by_fault(void)
{
    volatile char *closed = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    *closed = 1;
}

static void by_child_exit(void)
{
    /* A child that goes must not touch the terminal; its parent then does. */
    pid_t child = fork();
    if (child == 0)
        exit(0);
    waitpid(child, NULL, 0);
    raise(SIGILL);
}

static const struct {
    void (*leave)(void);
    int signal; /* 0: exit status 7 */
} ways[] = {
    {by_exit, 0},           {by_kill, SIGTERM},   {by_segv, SIGSEGV}, {by_fault, SIGSEGV},
    {by_abort, SIGABRT},    {by_hangup, SIGHUP},  {by_quit, SIGQUIT}, {by_child_exit, SIGILL},
    {by_overflow, SIGSEGV}, {by_kill_9, SIGKILL},
};

/* In a process of its own whose terminal it is. */
static void child_of(struct outer *outer, void (*leave)(void))
{
    struct term *term;
    for (int number = 1; number < 32; number++)
        signal(number, SIG_DFL); /* cmocka takes some */
    setsid();
    ioctl(outer->slave, TIOCSCTTY, 0);
    struct rlimit none = {0, 0}, small = {1 << 20, 1 << 20};
    setrlimit(RLIMIT_CORE, &none);
    setrlimit(RLIMIT_STACK, &small);
    alarm(60);
    busy(outer, &term);
    leave();
    _exit(99);
}

static bool given_back(struct outer *outer, const struct termios *before)
{
    struct termios now;
    memset(&now, 0, sizeof(now));
    outer_pump(outer);
    return !outer->alternate && tcgetattr(outer->slave, &now) == 0 && memcmp(before, &now, sizeof(now)) == 0;
}

static void every_way_out_gives_it_back(void **state)
{
    (void)state;
    for (size_t i = 0; i < countof(ways); i++) {
        struct outer outer;
        struct termios before;
        int status;
        with_shell(&outer, &before);
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0)
            child_of(&outer, ways[i].leave);
        struct pollfd poller = {.fd = outer.master, .events = POLLIN};
        while (waitpid(child, &status, WNOHANG) == 0) {
            poll(&poller, 1, 20);
            outer_pump(&outer);
        }
        for (int turn = 0; turn < 500 && !given_back(&outer, &before); turn++)
            poll(&poller, 1, 20); /* by another process, when this one was killed */
        outer_sync(&outer);
        assert_true(outer_logged(&outer, "\x1b[?1003h"));
        assert_true(outer_logged(&outer, "#####"));
        assert_given_back(&outer, &before);
#ifndef __SANITIZE_ADDRESS__
        assert_int_equal(WIFSIGNALED(status) ? WTERMSIG(status) : 0, ways[i].signal);
        if (!ways[i].signal)
            assert_int_equal(WEXITSTATUS(status), 7);
#endif
        outer_finish(&outer);
    }
}

int main(void)
{
    use_built_terminfo();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_terminals_are_refused),  cmocka_unit_test(keys_arrive),
        cmocka_unit_test(widths_are_probed),          cmocka_unit_test(modes_follow_the_guest),
        cmocka_unit_test(the_terminal_is_given_back), cmocka_unit_test(every_way_out_gives_it_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
