#include "daemon/console.h"

#include "base/alloc.h"
#include "wire/json.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#define SLICE_SIZE 16384

struct console {
    struct h2_stream *stream;
    uv_fs_event_t watch; /* of the project's folder: a new log file is a change of the folder */
    char *path;
    int fd; /* -1: no log yet */
    ino_t inode;
    off_t offset;
    bool follow;
    bool gone;
};

static void on_closed(uv_handle_t *handle)
{
    struct console *console = handle->data;

    cleanup_close(&console->fd);
    free(console->path);
    free(console);
}

static void finish(struct console *console)
{
    if (console->gone)
        return;
    console->gone = true;
    uv_close((uv_handle_t *)&console->watch, on_closed);
}

/* Opens the log if there is none open, or if its name means another file now. */
static void open_log(struct console *console)
{
    struct stat st;

    if (console->fd >= 0 && stat(console->path, &st) == 0 && st.st_ino != console->inode) {
        close(console->fd);
        console->fd = -1;
    }
    if (console->fd >= 0)
        return;
    console->fd = open(console->path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    console->offset = 0;
    if (console->fd >= 0 && fstat(console->fd, &st) == 0)
        console->inode = st.st_ino;
}

/* Reads once at the offset; a log that became shorter was begun anew. */
static ssize_t read_log(struct console *console, char *slice, size_t size)
{
    struct stat st;

    if (console->fd < 0)
        return 0;
    if (fstat(console->fd, &st) == 0 && st.st_size < console->offset)
        console->offset = 0;
    return pread(console->fd, slice, size, console->offset);
}

/* Sends what there is, as much as the stream takes. */
static void send_log(struct console *console)
{
    char slice[SLICE_SIZE];
    ssize_t len;

    open_log(console);
    while ((len = read_log(console, slice, sizeof(slice))) > 0) {
        size_t taken = h2_stream_write(console->stream, slice, (size_t)len);

        console->offset += (off_t)taken;
        if (taken < (size_t)len)
            return; /* on_writable goes on */
    }
    if (!console->follow) {
        struct h2_stream *stream = console->stream;

        h2_stream_set_ops(stream, NULL, NULL);
        h2_stream_end(stream);
        finish(console);
    }
}

static void on_writable(struct h2_stream *stream, void *user)
{
    (void)stream;
    send_log(user);
}

static void on_close(struct h2_stream *stream, uint32_t code, void *user)
{
    (void)stream;
    (void)code;
    finish(user);
}

static void on_change(uv_fs_event_t *watch, const char *name, int events, int status)
{
    struct console *console = watch->data;

    (void)name;
    (void)events;
    (void)status;
    if (!console->gone)
        send_log(console);
}

void console_stream(struct daemon *daemon, struct h2_stream *stream, const char *id, bool follow)
{
    static const struct h2_stream_ops ops = {.on_writable = on_writable, .on_close = on_close};
    static const struct h2_field type[] = {{"content-type", "application/octet-stream"}};
    autofree char *folder = daemon_project_path(daemon, id, NULL);
    struct console *console = xnew(struct console);

    console->stream = stream;
    console->path = daemon_project_path(daemon, id, "console.log");
    console->fd = -1;
    console->follow = follow;
    uv_fs_event_init(&daemon->loop, &console->watch);
    console->watch.data = console;
    if (follow)
        uv_fs_event_start(&console->watch, on_change, folder, 0);
    h2_stream_set_ops(stream, &ops, console);
    h2_respond(stream, 200, type, countof(type), true, NULL);
    send_log(console);
}
