/* The host's calls of /v1/freeze: sync, freeze, thaw. There is one holder (freeze.h) at a time. */
#include "base/alloc.h"
#include "base/file.h"
#include "base/spawn.h"
#include "guest/api.h"
#include "guest/freeze.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#define ANSWER_MS  30000 /* of a holder that has much to write before it can hold */
#define ANSWER_MAX 160

static struct {
    pthread_mutex_t lock;
    pid_t pid; /* 0: nothing is held */
    int in, out;
    bool told; /* to let go */
} holder = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* A line of the holder, without its end; "" when it ended without one. */
static void read_line(char ret[ANSWER_MAX])
{
    size_t len = 0;
    struct pollfd fd = {.fd = holder.out, .events = POLLIN};

    while (len < ANSWER_MAX - 1 && poll(&fd, 1, ANSWER_MS) > 0 && read(holder.out, ret + len, 1) == 1 &&
           ret[len] != '\n')
        len++;
    ret[len] = '\0';
}

/* Its stdin ends, and so it lets go, if it has not. It is never killed: what a killed one held nobody would
 * let go; should somebody else have done that, it is made good here. The lock is held. */
static void end_holder(void)
{
    int status = 0;

    close(holder.in);
    close(holder.out);
    if (spawn_wait(holder.pid, &status, NULL) < 0 || status > 1)
        freeze_thaw_all();
    holder.pid = 0;
}

static int start_holder(const struct place *place, struct error **err)
{
    const char *argv[] = {place->program, "freeze", NULL};
    int in[2], out[2];

    if (pipe2(in, O_CLOEXEC) < 0)
        return error_set_errno(err, errno, "cannot make a pipe");
    if (pipe2(out, O_CLOEXEC) < 0) {
        close(in[0]);
        close(in[1]);
        return error_set_errno(err, errno, "cannot make a pipe");
    }
    struct spawn spawn = {.argv = argv, .in = in[0], .out = out[1], .err = STDERR_FILENO};
    int rc = spawn_start(&spawn, &holder.pid, err);
    close(in[0]);
    close(out[1]);
    holder.in = in[1];
    holder.out = out[0];
    holder.told = false;
    if (rc == 0)
        return 0;
    close(in[1]);
    close(out[0]);
    holder.pid = 0;
    return rc;
}

/* The lock is held. */
static int thaw(struct error **err)
{
    char line[ANSWER_MAX];

    if (holder.pid == 0)
        return error_set(err, ERROR_STATE, "no file system is held");
    if (!holder.told && write(holder.in, "t", 1) < 0) /* it went on by itself: read_line says so */
        errno = 0;
    read_line(line);
    end_holder();
    if (strcmp(line, "thawed") == 0)
        return 0;
    return error_set(err, ERROR_TIMED_OUT, "its file systems were let go after %d s", FREEZE_LIMIT_MS / 1000);
}

/* What takes time: writing what was not written, a process in locked memory. The lock is held. */
static int prepare(const struct place *place, struct error **err)
{
    char line[ANSWER_MAX];

    if (holder.pid)
        end_holder();
    sync();
    int rc = start_holder(place, err);
    if (rc < 0)
        return rc;
    read_line(line);
    if (strcmp(line, "ready") == 0)
        return 0;
    end_holder();
    return error_set(err, ERROR_FAILED, "its file systems cannot be held: %s",
                     strncmp(line, "failed ", 7) == 0 ? line + 7 : "no answer");
}

/* The lock is held. */
static int freeze(const struct place *place, struct error **err)
{
    char line[ANSWER_MAX];
    int rc = holder.pid ? 0 : prepare(place, err);

    if (rc < 0)
        return rc;
    if (write(holder.in, "f", 1) < 0) /* it waited too long and ended: read_line says so */
        errno = 0;
    read_line(line);
    if (strcmp(line, "frozen") == 0)
        return 0;
    end_holder();
    return error_set(err, ERROR_FAILED, "its file systems cannot be held: %s",
                     strncmp(line, "failed ", 7) == 0 ? line + 7 : "no answer");
}

static int run(struct call *call, json_t **ret, struct error **err)
{
    const char *action = NULL;
    int rc = json_get_string(call->body, "action", 16, &action, err);

    (void)ret;
    if (rc < 0)
        return rc;
    if (strcmp(action, "sync") != 0 && strcmp(action, "freeze") != 0 && strcmp(action, "thaw") != 0)
        return error_set(err, ERROR_INVALID, "'%s' is none of sync, freeze, thaw", action);
    if (!call->agent->place.machine)
        return error_set(err, ERROR_STATE,
                         "this hutch-guest runs outside a machine and leaves the host's disks alone");
    pthread_mutex_lock(&holder.lock);
    rc = strcmp(action, "sync") == 0     ? prepare(&call->agent->place, err)
         : strcmp(action, "freeze") == 0 ? freeze(&call->agent->place, err)
                                         : thaw(err);
    pthread_mutex_unlock(&holder.lock);
    return rc;
}

/* The pool's threads may all wait for a held disk: what lets go must not wait for one of them. */
void freeze_set(struct call *call)
{
    const char *action = NULL;

    if (json_get_string(call->body, "action", 16, &action, NULL) == 0 && strcmp(action, "thaw") == 0 &&
        pthread_mutex_trylock(&holder.lock) == 0) {
        holder.told = holder.pid && write(holder.in, "t", 1) == 1;
        pthread_mutex_unlock(&holder.lock);
    }
    call_work(call, run);
}
