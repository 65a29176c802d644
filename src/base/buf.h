/* buf.h: a byte queue with a limit: appended at the end, consumed at the front. */
#ifndef HUTCH_BASE_BUF_H
#define HUTCH_BASE_BUF_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf {
    uint8_t *base; /* allocation */
    size_t start;  /* first unread byte */
    size_t len;    /* unread bytes */
    size_t cap;
    size_t limit; /* most unread bytes that may be held; 0: none */
};

void buf_init(struct buf *buf, size_t limit);
void buf_finish(struct buf *buf);
/* Room left under the limit; SIZE_MAX without a limit. */
size_t buf_room(const struct buf *buf);
/* Appends all of it or nothing: ERROR_LIMIT if it would pass the limit. */
int buf_append(struct buf *buf, const void *data, size_t len, struct error **err);
int buf_printf(struct buf *buf, struct error **err, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Pointer to the unread bytes (not terminated; valid until the next change). Never NULL. */
static inline const uint8_t *buf_data(const struct buf *buf)
{
    return buf->base ? buf->base + buf->start : (const uint8_t *)"";
}
/* Drops n (at most len) bytes at the front. Gives memory back when it becomes empty and large. */
void buf_consume(struct buf *buf, size_t n);
/* The unread bytes as a terminated string that the caller frees; the buffer is empty afterwards. */
char *buf_take_string(struct buf *buf);
/* A writable region of at least n bytes behind the end (not counted until buf_commit). NULL past the limit.
 */
uint8_t *buf_reserve(struct buf *buf, size_t n);
void buf_commit(struct buf *buf, size_t n);

#endif
