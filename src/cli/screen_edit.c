/* The person's editor on a file, or pager on what hutch writes, in the terminal that the screen gives away
 * meanwhile. */
#include "base/alloc.h"
#include "base/fd.h"
#include "base/spawn.h"
#include "base/words.h"
#include "cli/screen_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define EDITOR_DEFAULT "vi"
#define EDITOR_WORDS   16
#define PAGER_DEFAULT  "less"
#define PAGER_WORDS    16 /* of what hutch is asked to write */
#define PAGER_ASK_MS   2000
#define SHELL_SIGNS    "|&;<>()$`\\\"'*?[]#~=%!{}" /* a line with one is for a shell */

/* The words of $VISUAL or $EDITOR and the file: by argv, no shell sees them. line is taken apart. */
static void split(char *line, const char *file, const char **argv)
{
    size_t count = 0;
    char *rest = line;
    for (char *word; count < EDITOR_WORDS && (word = strsep(&rest, " \t"));)
        if (*word)
            argv[count++] = word;
    argv[count++] = file;
    argv[count] = NULL;
}

static void on_closed(uv_handle_t *handle)
{
    struct screen *screen = handle->data;
    close(steal_fd(&screen->editor_fd));
}

/* Whoever writes for the pager has nobody who reads any more. */
static void end_writer(struct screen *screen)
{
    if (!screen->writer)
        return;
    int status;
    kill(screen->writer, SIGTERM);
    spawn_wait(screen->writer, &status, NULL);
    screen->writer = 0;
}

/* It has ended: the screen comes back. */
static void on_ended(uv_poll_t *poll, int poll_status, int events)
{
    struct screen *screen = poll->data;
    struct error *err = NULL;
    int status = 0;
    uv_poll_stop(&screen->editor_poll);
    uv_close((uv_handle_t *)&screen->editor_poll, on_closed);
    screen->editing = false;
    if (spawn_wait(screen->editor, &status, &err) == 0 && status != 0)
        error_set(&err, ERROR_FAILED,
                  screen->writer ? _("the pager ended with status %d") : _("the editor ended with status %d"),
                  status);
    end_writer(screen);
    if (screen->term)
        term_resume(screen->term);
    screen_input_pause(screen, false);
    task_answer(screen, screen->editor_id, err);
}

/* Waits for screen->editor without stopping the loop. */
static int watch(struct screen *screen, struct error **err)
{
    screen->editor_fd = (int)syscall(SYS_pidfd_open, screen->editor, 0);
    int rc = screen->editor_fd < 0
                 ? -errno
                 : uv_poll_init(screen->client->loop, &screen->editor_poll, screen->editor_fd);
    if (rc < 0) {
        int status;
        spawn_wait(screen->editor, &status, NULL);
        return error_set_errno(err, -rc, _("the editor cannot be waited for"));
    }
    screen->editor_poll.data = screen;
    uv_poll_start(&screen->editor_poll, UV_READABLE, on_ended);
    return 0;
}

static int start(struct screen *screen, const char *file, struct error **err)
{
    const char *set = getenv("VISUAL");
    if (!set || !*set)
        set = getenv("EDITOR");
    autofree char *line = xstrdup(set && *set ? set : EDITOR_DEFAULT);
    const char *argv[EDITOR_WORDS + 2];
    split(line, file, argv);
    const struct spawn spawn = {.argv = argv, .in = STDIN_FILENO, .out = STDOUT_FILENO, .err = STDERR_FILENO};
    int rc = spawn_start(&spawn, &screen->editor, err);
    if (rc < 0)
        return error_hint(err, _("set EDITOR to the one that you use"));
    return watch(screen, err);
}

/* ---- the pager ---- */

/* What can be started as it is and shows a page at a time. */
static bool pager_usable(const char *line)
{
    return line && *line && !strpbrk(line, SHELL_SIGNS) && strcmp(line, "cat") != 0;
}

/* $PAGER, git's core.pager as the user has set it for all repositories, less. Caller frees. */
static char *pager_line(void)
{
    static const char *const ask[] = {"git", "config", "--global", "--get", "core.pager", NULL};
    const struct spawn spawn = {.argv = ask, .in = -1, .out = -1, .err = -1};
    autofree char *said = NULL;
    const char *set = getenv("PAGER");
    if (pager_usable(set))
        return xstrdup(set);
    if (spawn_run(&spawn, PAGER_ASK_MS, 4096, &said, NULL) == 0 && said)
        said[strcspn(said, "\n")] = 0;
    return xstrdup(pager_usable(said) ? said : PAGER_DEFAULT);
}

/* Starts hutch with words; it writes into fd. */
static int start_writer(struct screen *screen, const json_t *words, int fd, struct error **err)
{
    const char *argv[PAGER_WORDS + 2] = {"/proc/self/exe"};
    char exe[4096];
    size_t i;
    json_t *word;
    ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
    if (n > 0) {
        exe[n] = 0;
        argv[0] = exe;
    }
    json_array_foreach(words, i, word) if (i < PAGER_WORDS) argv[i + 1] = json_string_value(word);
    const struct spawn spawn = {.argv = argv, .in = -1, .out = fd, .err = -1};
    return spawn_start(&spawn, &screen->writer, err);
}

static int start_pager(struct screen *screen, const json_t *words, struct error **err)
{
    autofree char *line = pager_line();
    const char *argv[EDITOR_WORDS + 2];
    int pipe_fds[2];
    if (pipe2(pipe_fds, O_CLOEXEC) < 0)
        return error_set_errno(err, errno, _("the pager cannot be started"));
    autoclose int from = pipe_fds[0], to = pipe_fds[1];
    split(line, NULL, argv);
    int rc = start_writer(screen, words, to, err);
    if (rc < 0)
        return rc;
    const struct spawn spawn = {.argv = argv, .in = from, .out = STDOUT_FILENO, .err = STDERR_FILENO};
    rc = spawn_start(&spawn, &screen->editor, err);
    if (rc == 0)
        return watch(screen, err);
    end_writer(screen);
    return error_hint(err, _("set PAGER to the one that you use"));
}

/* ---- both ---- */

static void give_terminal(struct screen *screen, const struct effect *effect)
{
    struct error *err = NULL;
    if (screen->editing || screen->editor_fd >= 0) {
        error_set(&err, ERROR_BUSY, _("an editor is open already"));
        task_answer(screen, effect->id, err);
        return;
    }
    screen->editor_id = effect->id;
    screen_input_pause(screen, true);
    if (screen->term)
        term_suspend(screen->term);
    screen->editing = true;
    bool page = effect->type == EFFECT_PAGE;
    if ((page ? start_pager(screen, effect->body, &err) : start(screen, effect->text, &err)) == 0)
        return;
    screen->editing = false;
    if (screen->term)
        term_resume(screen->term);
    screen_input_pause(screen, false);
    task_answer(screen, effect->id, err);
}

void screen_edit(struct screen *screen, const struct effect *effect)
{
    give_terminal(screen, effect);
}

void screen_page(struct screen *screen, const struct effect *effect)
{
    give_terminal(screen, effect);
}
