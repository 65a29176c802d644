/* The person's editor on a file, in the terminal that the screen gives away meanwhile. */
#include "base/alloc.h"
#include "base/spawn.h"
#include "base/words.h"
#include "cli/screen_internal.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define EDITOR_DEFAULT "vi"
#define EDITOR_WORDS   16

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

/* The editor has ended: the screen comes back. */
static void on_ended(uv_poll_t *poll, int poll_status, int events)
{
    struct screen *screen = poll->data;
    struct error *err = NULL;
    int status = 0;
    uv_poll_stop(&screen->editor_poll);
    uv_close((uv_handle_t *)&screen->editor_poll, on_closed);
    screen->editing = false;
    if (spawn_wait(screen->editor, &status, &err) == 0 && status != 0)
        error_set(&err, ERROR_FAILED, _("the editor ended with status %d"), status);
    if (screen->term)
        term_resume(screen->term);
    screen_input_pause(screen, false);
    task_answer(screen, screen->editor_id, err);
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
    screen->editor_fd = (int)syscall(SYS_pidfd_open, screen->editor, 0);
    rc = screen->editor_fd < 0 ? -errno
                               : uv_poll_init(screen->client->loop, &screen->editor_poll, screen->editor_fd);
    if (rc < 0) {
        spawn_wait(screen->editor, NULL, NULL);
        return error_set_errno(err, -rc, _("the editor cannot be waited for"));
    }
    screen->editor_poll.data = screen;
    uv_poll_start(&screen->editor_poll, UV_READABLE, on_ended);
    return 0;
}

void screen_edit(struct screen *screen, const struct effect *effect)
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
    if (start(screen, effect->text, &err) == 0)
        return;
    screen->editing = false;
    if (screen->term)
        term_resume(screen->term);
    screen_input_pause(screen, false);
    task_answer(screen, effect->id, err);
}
