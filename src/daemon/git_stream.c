#include "base/alloc.h"
#include "base/fd.h"
#include "base/log.h"
#include "daemon/git_out.h"

#include <pthread.h>
#include <sys/socket.h>

#define STREAM_MS  (4 * 3600 * 1000)
#define STACK_SIZE (512 * 1024)

struct git_stream {
    struct daemon *daemon;
    char id[PROJECT_ID_MAX];
    char *path;
    pthread_t thread;
    int fd, theirs;
    atomic_bool cancel;
    struct error *error;
};

static void *stream_thread(void *user)
{
    struct git_stream *stream = user;
    struct guest_call call = {.op = GUEST_OP_DUPLEX,
                              .port = PORT_BULK,
                              .flags = WCALL_STREAM_IN | WCALL_STREAM_OUT,
                              .path = stream->path,
                              .stream = stream->theirs};

    guest_call_wait(stream->daemon->guests, stream->id, &call, STREAM_MS, &stream->cancel, NULL,
                    &stream->error);
    return NULL;
}

int git_stream_open(struct daemon *daemon, const char *id, const char *path, struct git_stream **ret_stream,
                    int *ret_fd, struct error **err)
{
    struct git_stream *stream;
    pthread_attr_t attr;
    int fds[2], rc = fd_socketpair(SOCK_STREAM, false, fds, err);

    if (rc < 0)
        return rc;
    stream = xnew(struct git_stream);
    stream->daemon = daemon;
    snprintf(stream->id, sizeof(stream->id), "%s", id);
    stream->path = xstrdup(path);
    stream->fd = fds[0];
    stream->theirs = fds[1];
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, STACK_SIZE);
    require(pthread_create(&stream->thread, &attr, stream_thread, stream) == 0);
    pthread_attr_destroy(&attr);
    *ret_stream = stream;
    *ret_fd = stream->fd;
    return 0;
}

void git_stream_close(struct git_stream *stream, bool failed, struct error **err)
{
    if (failed)
        atomic_store(&stream->cancel, true);
    shutdown(stream->fd, SHUT_RDWR);
    pthread_join(stream->thread, NULL);
    close(stream->fd);
    if (stream->error && stream->error->code != ERROR_CANCELLED) {
        log_debug("%s: %s", stream->path, stream->error->message);
        if (failed && err && !*err)
            *err = steal(&stream->error);
    }
    error_free(stream->error);
    free(stream->path);
    free(stream);
}
