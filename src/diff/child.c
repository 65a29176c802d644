#include "diff/child.h"

#include "base/alloc.h"
#include "base/fd.h"
#include "base/spawn.h"
#include "base/text.h"
#include "diff/disk.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#define SAID_MAX  8192 /* bytes of its stderr */
#define POLL_MS   200
#define EXTRA_S   20 /* beyond its own limit */
#define WAIT_STEP 20 /* ms, when it has closed its stderr */

struct child {
    pid_t pid;
    int channel, err;
    char said[SAID_MAX + 1];
    size_t said_len;
    int64_t until_ms;
};

static int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static int open_layer(const char *path, int *ret_fd, struct error **err)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);

    if (fd < 0)
        return error_set_errno(err, errno, "cannot open the layer \"%s\"", path);
    if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
        close(fd);
        return error_set(err, ERROR_CORRUPT, "\"%s\" is no regular file", path);
    }
    *ret_fd = fd;
    return 0;
}

/* A packet, waiting for room. */
static int send_packet(struct child *child, const void *data, size_t len, int fd, struct error **err)
{
    for (;;) {
        int rc = fd_send(child->channel, data, len, &fd, fd >= 0 ? 1 : 0, err);
        if (rc != 0)
            return rc < 0 ? rc : 0;
        struct pollfd ready = {.fd = child->channel, .events = POLLOUT};
        poll(&ready, 1, POLL_MS);
        if (now_ms() > child->until_ms)
            return error_set(err, ERROR_TIMED_OUT, "hutch-diff does not take its question");
    }
}

static int send_layer(struct child *child, const char *path, uint32_t sides, struct error **err)
{
    struct diff_layer layer = {.sides = sides};
    autoclose int fd = -1;

    int rc = open_layer(path, &fd, err);
    return rc < 0 ? rc : send_packet(child, &layer, sizeof(layer), fd, err);
}

static size_t count_of(char *const *chain)
{
    size_t count = 0;
    while (chain && chain[count])
        count++;
    return count;
}

/* The question: what only one side has first, then what they share. */
static int send_question(struct child *child, const struct child_ask *ask, struct error **err)
{
    size_t old = count_of(ask->old), new = count_of(ask->new), shared = 0;
    struct diff_ask packet = {.version = DIFF_ASK_VERSION, .mode = ask->mode, .answer_max = ask->answer_max};
    int rc = 0;

    if (old > DISK_LAYERS_MAX || new > DISK_LAYERS_MAX)
        return error_set(err, ERROR_LIMIT, "a disk has more than %d layers", DISK_LAYERS_MAX);
    if (ask->path && strlen(ask->path) >= sizeof(packet.path))
        return error_set(err, ERROR_INVALID, "the path is longer than %zu bytes", sizeof(packet.path) - 1);
    while (shared < old && shared < new && !strcmp(ask->old[old - 1 - shared], ask->new[new - 1 - shared]))
        shared++;
    packet.layers = (uint32_t)(old + new - shared);
    snprintf(packet.path, sizeof(packet.path), "%s", ask->path ? ask->path : "");
    rc = send_packet(child, &packet, sizeof(packet), -1, err);
    for (size_t i = 0; rc == 0 && i < old - shared; i++)
        rc = send_layer(child, ask->old[i], DIFF_SIDE_OLD, err);
    for (size_t i = 0; rc == 0 && i < new - shared; i++)
        rc = send_layer(child, ask->new[i], DIFF_SIDE_NEW, err);
    for (size_t i = new - shared; rc == 0 && i < new; i++)
        rc = send_layer(child, ask->new[i], DIFF_SIDE_OLD | DIFF_SIDE_NEW, err);
    return rc;
}

static int start(struct child *child, const char *program, int out, struct error **err)
{
    const char *argv[] = {program, NULL}, *env[] = {"LC_ALL=C", NULL};
    struct spawn spawn = {.argv = argv, .env = env, .cwd = "/", .in = -1, .out = out, .keep_count = 1};
    int pair[2], pipes[2];

    int rc = fd_socketpair(SOCK_SEQPACKET, false, pair, err);
    if (rc < 0)
        return rc;
    if (pipe2(pipes, O_CLOEXEC | O_NONBLOCK) < 0) {
        rc = error_set_errno(err, errno, "cannot make a pipe");
        close(pair[0]);
        close(pair[1]);
        return rc;
    }
    spawn.keep[0] = pair[1];
    spawn.err = pipes[1];
    spawn.new_session = true;
    rc = spawn_start(&spawn, &child->pid, err);
    close(pair[1]);
    close(pipes[1]);
    child->channel = pair[0];
    child->err = pipes[0];
    if (rc == 0)
        rc = fd_set_nonblocking(child->channel, true, err);
    return rc;
}

static bool is_cancelled(const struct child_ask *ask)
{
    for (size_t i = 0; i < countof(ask->cancel); i++)
        if (ask->cancel[i] && atomic_load(ask->cancel[i]))
            return true;
    return false;
}

/* Takes what it says until its end of the pipe is closed. */
static int listen_to(struct child *child, const struct child_ask *ask, struct error **err)
{
    for (;;) {
        struct pollfd ready = {.fd = child->err, .events = POLLIN};
        if (is_cancelled(ask))
            return error_set(err, ERROR_CANCELLED, "it was cancelled");
        if (now_ms() > child->until_ms)
            return error_set(err, ERROR_TIMED_OUT, "the comparison took more than %d s", DIFF_WALL_S);
        if (poll(&ready, 1, POLL_MS) <= 0)
            continue;
        char *to = child->said + child->said_len;
        ssize_t n = read(child->err, to, SAID_MAX - child->said_len);
        if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
            return 0;
        child->said_len += n > 0 ? (size_t)n : 0;
        if (child->said_len == SAID_MAX)
            return 0;
    }
}

/* What it said as an error, made safe by error_set. */
static int parse_failure(struct child *child, int status, struct error **err)
{
    char *code = child->said, *end = strchr(code, '\n'), *message = strchr(code, '\t');

    if (status == 128 + SIGXCPU || status == 128 + SIGKILL)
        return error_set(err, ERROR_TIMED_OUT, "the file system took more than its time to read");
    if (status > 128)
        return error_set(err, ERROR_CORRUPT,
                         "the file system could not be read: its reader was ended by signal %d",
                         status - 128);
    if (end)
        *end = '\0';
    char *hint = message ? strchr(message + 1, '\t') : NULL;
    if (!message || !hint)
        return error_set(err, ERROR_FAILED, "hutch-diff failed: %s", code[0] ? code : "it gave no reason");
    *message++ = '\0';
    *hint++ = '\0';
    int rc = error_set(err, error_code_from_name(code), "%s", message);
    if (*hint)
        error_hint(err, "%s", hint);
    return rc;
}

int child_run(const struct child_ask *ask, int out, struct error **err)
{
    struct child child = {.pid = -1, .channel = -1, .err = -1};
    struct error *sent = NULL;
    int status = 0;

    child.until_ms = now_ms() + (DIFF_WALL_S + EXTRA_S) * 1000;
    int rc = start(&child, ask->program, out, err);
    if (rc == 0) {
        rc = send_question(&child, ask, &sent);
        cleanup_close(&child.channel);
        child.channel = -1;
        struct error *heard = NULL;
        int end = listen_to(&child, ask, &heard);
        if (end < 0)
            kill(child.pid, SIGKILL);
        int waited = spawn_wait(child.pid, &status, end < 0 ? NULL : &heard);
        if (end == 0 && waited == 0 && status != 0 && rc == 0)
            end = parse_failure(&child, status, &heard);
        if (rc == 0 && (end < 0 || waited < 0))
            rc = error_move(err, &heard);
        else
            error_free(heard);
        if (sent)
            rc = error_move(err, &sent);
    }
    cleanup_close(&child.channel);
    cleanup_close(&child.err);
    return rc;
}
