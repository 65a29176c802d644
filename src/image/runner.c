#include "image/runner.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/spawn.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>

/* How often the wish to cancel is looked at. */
#define POLL_MS       200
#define TAIL_LINE_MAX 200

/* Forgets the last run. */
static void reset(struct runner *runner)
{
    for (size_t i = 0; i < RUNNER_TAIL; i++) {
        free(runner->tail[i]);
        runner->tail[i] = NULL;
    }
    runner->tail_count = 0;
    free(runner->complaint);
    runner->complaint = NULL;
    runner->failure = PROGRESS_OTHER;
}

void runner_finish(struct runner *runner)
{
    reset(runner);
}

static char *safe_line(const char *line)
{
    struct text text;
    line += strspn(line, " ");
    text_init(&text, line, strlen(line), TAIL_LINE_MAX, TEXT_DEFAULT);
    char *out = xstrdup(text.bytes);
    text_finish(&text);
    return out;
}

/* Lines that every failure ends with. */
static bool says_nothing(const char *line)
{
    return !strncmp(line, "I: ", 3) || !strcmp(line, "E: mmdebstrap failed to run");
}

static void take_line(struct runner *runner, const char *line)
{
    if (runner->log)
        fprintf(runner->log, "%s\n", line);
    if (!*line || says_nothing(line))
        return;
    char **slot = &runner->tail[runner->tail_count++ % RUNNER_TAIL];
    free(*slot);
    *slot = safe_line(line);
    enum progress_failure failure = progress_failure(line);
    if (failure != PROGRESS_OTHER && runner->failure == PROGRESS_OTHER) {
        runner->failure = failure;
        free(runner->complaint);
        runner->complaint = safe_line(line);
    } else if (!runner->complaint && !strncmp(line, "E: ", 3)) {
        runner->complaint = safe_line(line + 3);
    }
    if (runner->line)
        runner->line(runner->user, line);
}

/* Splits what has come; keep: an unfinished line stays for the next time. */
static void take_lines(struct runner *runner, struct buf *buf, bool keep)
{
    for (;;) {
        const char *data = (const char *)buf_data(buf);
        const char *end = buf->len ? memchr(data, '\n', buf->len) : NULL;
        size_t len = end ? (size_t)(end - data) : buf->len;
        if (!end && (!buf->len || (keep && len < RUNNER_LINE_MAX)))
            return;
        autofree char *line = xstrndup(data, len < RUNNER_LINE_MAX ? len : RUNNER_LINE_MAX);
        const char *last = strrchr(line, '\r'); /* a line that was painted over */
        take_line(runner, last && last[1] ? last + 1 : line);
        buf_consume(buf, len + (end != NULL));
    }
}

/* Reads until the output ends; false: cancelled. */
static bool pump(struct runner *runner, int fd)
{
    struct buf buf;
    buf_init(&buf, 0);
    bool cancelled = false;
    for (;;) {
        if (runner->cancel && atomic_load(runner->cancel)) {
            cancelled = true;
            break;
        }
        struct pollfd pollfd = {.fd = fd, .events = POLLIN};
        int n = poll(&pollfd, 1, POLL_MS);
        if (n <= 0)
            continue;
        uint8_t *room = buf_reserve(&buf, RUNNER_LINE_MAX);
        ssize_t got = read(fd, room, RUNNER_LINE_MAX);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        buf_commit(&buf, got);
        take_lines(runner, &buf, true);
    }
    take_lines(runner, &buf, false);
    buf_finish(&buf);
    return !cancelled;
}

/* The last lines, for the hint; "" if there are none. Caller frees. */
static char *tail_text(const struct runner *runner)
{
    struct buf buf;
    buf_init(&buf, 0);
    size_t count = runner->tail_count < RUNNER_TAIL ? runner->tail_count : RUNNER_TAIL;
    for (size_t i = runner->tail_count - count; i < runner->tail_count; i++)
        buf_printf(&buf, NULL, "%s%s", buf.len ? " | " : "", runner->tail[i % RUNNER_TAIL]);
    char *out = buf_take_string(&buf);
    buf_finish(&buf);
    return out;
}

/* The error of a program that ended with a status. */
static int failed(struct runner *runner, const char *program, int status, struct error **err)
{
    static const enum error_code codes[] = {
        [PROGRESS_OTHER] = ERROR_FAILED,      [PROGRESS_NETWORK] = ERROR_NETWORK,
        [PROGRESS_NO_SPACE] = ERROR_NO_SPACE, [PROGRESS_KEY] = ERROR_FAILED,
        [PROGRESS_PACKAGE] = ERROR_INVALID,
    };
    static const char *const advice[] = {
        [PROGRESS_OTHER] = "",
        [PROGRESS_NETWORK] = "is there a network, is the mirror reachable, is a proxy missing? "
                             "What was fetched is kept for the next try; ",
        [PROGRESS_NO_SPACE] = "make room and build again; ",
        [PROGRESS_KEY] =
            "the host lacks the archive's key: install the package debian-archive-keyring, newest "
            "version; ",
        [PROGRESS_PACKAGE] = "look at \"packages\" and \"kernel\" in the template; ",
    };
    const char *name = strrchr(program, '/');
    autofree char *tail = tail_text(runner);
    /* The last thing that it said is the cause more often than not. */
    const char *said = runner->complaint    ? runner->complaint
                       : runner->tail_count ? runner->tail[(runner->tail_count - 1) % RUNNER_TAIL]
                                            : NULL;
    error_set(err, codes[runner->failure], "\"%s\" failed (%s%d)%s%s", name ? name + 1 : program,
              status > 128 ? "signal " : "status ", status > 128 ? status - 128 : status, said ? ": " : "",
              said ? said : "");
    error_hint(err, "%sits last lines: %s", advice[runner->failure], *tail ? tail : "none");
    return -(int)codes[runner->failure];
}

int runner_run(struct runner *runner, const char *const *prefix, const char *const *argv, struct error **err)
{
    const char *words[RUNNER_ARGV_MAX + 1];
    size_t count = 0;
    for (size_t i = 0; prefix && prefix[i]; i++)
        words[count++] = prefix[i];
    for (size_t i = 0; argv[i]; i++) {
        require(count < RUNNER_ARGV_MAX);
        words[count++] = argv[i];
    }
    words[count] = NULL;
    reset(runner);
    int fds[2];
    if (pipe2(fds, O_CLOEXEC) < 0)
        return error_set_errno(err, errno, "cannot make a pipe");
    autoclose int out = fds[0];
    struct spawn spawn = {.argv = words,
                          .env = runner->env,
                          .cwd = runner->cwd,
                          .in = -1,
                          .out = fds[1],
                          .err = fds[1],
                          .keep = {runner->lock},
                          .keep_count = runner->lock >= 0,
                          .new_session = true};
    pid_t pid;
    int r = spawn_start(&spawn, &pid, err);
    close(fds[1]);
    if (r < 0)
        return r;
    bool ended = pump(runner, out);
    if (!ended)
        kill(-pid, SIGKILL); /* unshare's own death takes everything in its pid namespace along */
    int status;
    r = spawn_wait(pid, &status, err);
    if (r < 0)
        return r;
    if (!ended)
        return error_set(err, ERROR_CANCELLED, "the build was cancelled");
    return status ? failed(runner, argv[0], status, err) : 0;
}
