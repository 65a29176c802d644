#include "base/buf.h"

#include "base/alloc.h"

#include <stdarg.h>
#include <string.h>

/* An empty buffer keeps at most this much memory. */
#define KEEP_WHEN_EMPTY 65536

void buf_init(struct buf *buf, size_t limit)
{
    *buf = (struct buf){.limit = limit};
}

void buf_finish(struct buf *buf)
{
    free(buf->base);
    *buf = (struct buf){.limit = buf->limit};
}

size_t buf_room(const struct buf *buf)
{
    return buf->limit ? buf->limit - buf->len : SIZE_MAX;
}

/* Makes n bytes of space behind the unread ones. Moving them down costs at most what was consumed before. */
static void make_space(struct buf *buf, size_t n)
{
    require(n <= SIZE_MAX / 4 && buf->len <= SIZE_MAX / 4);
    if (buf->cap - buf->start - buf->len >= n)
        return;
    if (buf->start >= buf->len && buf->cap - buf->len >= n) {
        memmove(buf->base, buf->base + buf->start, buf->len);
        buf->start = 0;
        return;
    }
    size_t cap = buf->cap < 256 ? 256 : buf->cap;
    while (cap < buf->len + n)
        cap *= 2;
    uint8_t *base = xrealloc(NULL, cap, 1);
    if (buf->len)
        memcpy(base, buf->base + buf->start, buf->len);
    free(buf->base);
    buf->base = base;
    buf->start = 0;
    buf->cap = cap;
}

int buf_append(struct buf *buf, const void *data, size_t len, struct error **err)
{
    if (len > buf_room(buf))
        return error_set(err, ERROR_LIMIT, "more than %zu bytes are waiting", buf->limit);
    if (!len)
        return 0;
    make_space(buf, len);
    memcpy(buf->base + buf->start + buf->len, data, len);
    buf->len += len;
    return 0;
}

int buf_printf(struct buf *buf, struct error **err, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    autofree char *s = xvasprintf(format, args);
    va_end(args);
    return buf_append(buf, s, strlen(s), err);
}

void buf_consume(struct buf *buf, size_t n)
{
    require(n <= buf->len);
    buf->start += n;
    buf->len -= n;
    if (buf->len)
        return;
    buf->start = 0;
    if (buf->cap > KEEP_WHEN_EMPTY) {
        free(buf->base);
        buf->base = NULL;
        buf->cap = 0;
    }
}

char *buf_take_string(struct buf *buf)
{
    make_space(buf, 1);
    if (buf->start)
        memmove(buf->base, buf->base + buf->start, buf->len);
    buf->base[buf->len] = '\0';
    char *out = (char *)buf->base;
    *buf = (struct buf){.limit = buf->limit};
    return out;
}

uint8_t *buf_reserve(struct buf *buf, size_t n)
{
    if (n > buf_room(buf))
        return NULL;
    make_space(buf, n ? n : 1);
    return buf->base + buf->start + buf->len;
}

void buf_commit(struct buf *buf, size_t n)
{
    require(n <= buf->cap - buf->start - buf->len && n <= buf_room(buf));
    buf->len += n;
}
