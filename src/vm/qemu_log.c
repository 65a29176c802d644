#include "vm/qemu_log.h"

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/text.h"

#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

#define READ_MAX ((size_t)64 << 10)
#define LINE_MAX ((size_t)400)

char *qemu_log_path(const char *uri, const char *name)
{
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    if (strstr(uri, "/system"))
        return xasprintf("/var/log/libvirt/qemu/%s.log", name);
    if (cache && cache[0] == '/')
        return xasprintf("%s/libvirt/qemu/log/%s.log", cache, name);
    return xasprintf("%s/.cache/libvirt/qemu/log/%s.log", home ? home : "", name);
}

/* Lines that libvirt writes into the log by itself, at every start and end. */
static bool is_noise(const char *line, size_t len)
{
    static const char *const noise[] = {"starting up libvirt version", "shutting down, reason=",
                                        " is tainted: ", "char device redirected to", "Domain id="};
    for (size_t i = 0; i < countof(noise); i++)
        if (memmem(line, len, noise[i], strlen(noise[i])))
            return true;
    return len == 0;
}

/* Skips the command line of the last start: lines that end in a backslash and the one after them. */
static const char *behind_start(const char *text, const char *end)
{
    static const char start[] = "starting up libvirt version";
    const char *p = text;
    for (const char *found; (found = memmem(p, (size_t)(end - p), start, sizeof(start) - 1)); p = found + 1)
        text = found;
    if (text == p)
        return text;
    for (bool more = true; more && text < end;) {
        const char *newline = memchr(text, '\n', (size_t)(end - text));
        const char *stop = newline ? newline : end;
        more = text < stop &&
               (stop[-1] == '\\' || memmem(text, (size_t)(stop - text), start, sizeof(start) - 1));
        text = newline ? newline + 1 : end;
    }
    return text;
}

char *qemu_log_last_lines(const char *text, size_t len)
{
    const char *lines[QEMU_LOG_LINES];
    size_t lengths[QEMU_LOG_LINES], count = 0;
    const char *end = text + len;

    for (const char *p = behind_start(text, end); p < end;) {
        const char *newline = memchr(p, '\n', (size_t)(end - p));
        size_t length = (size_t)((newline ? newline : end) - p);
        if (!is_noise(p, length)) {
            lines[count % QEMU_LOG_LINES] = p;
            lengths[count % QEMU_LOG_LINES] = length;
            count++;
        }
        p += length + (newline ? 1 : 0);
    }
    char *out = NULL;
    for (size_t i = count > QEMU_LOG_LINES ? count - QEMU_LOG_LINES : 0; i < count; i++) {
        struct text safe;
        text_init(&safe, lines[i % QEMU_LOG_LINES], lengths[i % QEMU_LOG_LINES], LINE_MAX, TEXT_DEFAULT);
        char *longer = out ? xasprintf("%s\n%s", out, safe.bytes) : xstrdup(safe.bytes);
        free(out);
        out = longer;
        text_finish(&safe);
    }
    return out;
}

char *qemu_log_tail(const char *path)
{
    struct stat st;
    autofree char *text = xrealloc(NULL, READ_MAX, 1);
    autoclose int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);

    if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
        return NULL;
    off_t from = st.st_size > (off_t)READ_MAX ? st.st_size - (off_t)READ_MAX : 0;
    ssize_t n = pread(fd, text, READ_MAX, from);
    return n > 0 ? qemu_log_last_lines(text, (size_t)n) : NULL;
}
