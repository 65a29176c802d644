#include "guest/denials.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/fd.h"
#include "base/file.h"
#include "base/log.h"
#include "base/units.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

struct denials {
    char *path;
    char *lines[DENIALS_MAX]; /* with their newlines; the oldest first */
    size_t count;
    int fd;
    bool complained;
};

static void complain(struct denials *denials, const char *why)
{
    if (!denials->complained)
        log_warning("what was refused cannot be written down: %s", why);
    denials->complained = true;
}

static void keep_last(struct denials *denials, size_t kept)
{
    size_t gone = denials->count > kept ? denials->count - kept : 0;

    for (size_t i = 0; i < gone; i++)
        free(denials->lines[i]);
    memmove(denials->lines, denials->lines + gone, (denials->count - gone) * sizeof(char *));
    denials->count -= gone;
}

/* Writes the file anew from the lines that are kept, and opens that one. */
static void rewrite(struct denials *denials)
{
    auto(error) struct error *err = NULL;
    struct buf text;

    keep_last(denials, DENIALS_KEPT);
    buf_init(&text, 0);
    for (size_t i = 0; i < denials->count; i++)
        buf_append(&text, denials->lines[i], strlen(denials->lines[i]), NULL);
    if (file_replace(denials->path, buf_data(&text), text.len, 0644, &err))
        complain(denials, err->message);
    buf_finish(&text);
    cleanup_close(&denials->fd);
    denials->fd = open(denials->path, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW);
}

static void take_old(struct denials *denials)
{
    autofree char *data = NULL;

    if (file_read(denials->path, (size_t)DENIALS_MAX * DENIALS_LINE_MAX, &data, NULL, NULL))
        return;
    char *cursor = data, *line;
    while ((line = strsep(&cursor, "\n")) && cursor) { /* a last line without its end was cut */
        if (denials->count == DENIALS_MAX)
            keep_last(denials, DENIALS_KEPT);
        denials->lines[denials->count++] = xasprintf("%s\n", line);
    }
}

struct denials *denials_create(const char *run)
{
    struct denials *denials = xnew(struct denials);

    denials->path = file_join(run, "denials");
    denials->fd = -1;
    take_old(denials);
    rewrite(denials);
    return denials;
}

void denials_destroy(struct denials *denials)
{
    if (!denials)
        return;
    cleanup_close(&denials->fd);
    keep_last(denials, 0);
    free(denials->path);
    free(denials);
}

void denials_add(struct denials *denials, const json_t *object)
{
    char now[UNITS_TIME_MAX];
    auto(error) struct error *err = NULL;
    auto(json) json_t *line = json_pack("{s:s}", "time", units_format_time(units_now_ns(), now));

    require(line != NULL);
    json_object_update(line, (json_t *)object);
    autofree char *text = json_text(line);
    if (strlen(text) >= DENIALS_LINE_MAX) {
        json_object_del(line, "next");
        json_object_del(line, "exe");
        free(text);
        text = json_text(line);
        if (strlen(text) >= DENIALS_LINE_MAX)
            return;
    }
    if (denials->count == DENIALS_MAX)
        rewrite(denials);
    denials->lines[denials->count] = xasprintf("%s\n", text);
    const char *full = denials->lines[denials->count++];
    if (denials->fd < 0)
        complain(denials, strerror(EBADF));
    else if (fd_write_all(denials->fd, full, strlen(full), &err))
        complain(denials, err->message);
}
