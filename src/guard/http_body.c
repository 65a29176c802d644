#include "guard/http_body.h"

#include "base/alloc.h"

enum chunk_state {
    CHUNK_SIZE,
    CHUNK_EXTENSION,
    CHUNK_SIZE_LF,
    CHUNK_DATA,
    CHUNK_DATA_CR,
    CHUNK_DATA_LF,
    CHUNK_TRAILER, /* the start of a line behind the last chunk */
    CHUNK_TRAILER_NAME,
    CHUNK_TRAILER_VALUE,
    CHUNK_TRAILER_LF,
    CHUNK_LAST_LF,
};

#define CHUNK_DIGITS_MAX 16

void http_body_init(struct http_body *body, enum http_framing framing, uint64_t length)
{
    *body = (struct http_body){.framing = framing, .left = framing == HTTP_LENGTH ? length : 0};
    body->done = framing == HTTP_NO_BODY || (framing == HTTP_LENGTH && length == 0);
}

static void put(struct buf *out, const void *data, size_t len)
{
    require(buf_append(out, data, len, NULL) == 0);
}

static int digit_value(uint8_t byte)
{
    if (byte >= '0' && byte <= '9')
        return byte - '0';
    byte |= 0x20;
    return byte >= 'a' && byte <= 'f' ? byte - 'a' + 10 : -1;
}

static bool is_text(uint8_t byte)
{
    return (byte >= 0x20 && byte != 0x7f) || byte == '\t';
}

/* One byte of a chunk's first line up to its CR. */
static bool size_byte(struct http_body *body, uint8_t byte)
{
    int value = digit_value(byte);
    if (value >= 0) {
        body->left = body->left << 4 | (unsigned)value;
        return ++body->digits <= CHUNK_DIGITS_MAX && body->left <= HTTP_CHUNK_MAX;
    }
    body->skipped = 0;
    body->state = byte == '\r' ? CHUNK_SIZE_LF : CHUNK_EXTENSION;
    return body->digits > 0 && (byte == '\r' || byte == ';');
}

/* The first line is whole. */
static bool size_end(struct http_body *body, uint8_t byte, struct buf *out)
{
    if (byte != '\n')
        return false;
    body->digits = 0;
    body->skipped = 0;
    body->state = body->left > 0 ? CHUNK_DATA : CHUNK_TRAILER;
    if (body->left > 0)
        require(buf_printf(out, NULL, "%llx\r\n", (unsigned long long)body->left) == 0);
    return true;
}

/* One byte behind the last chunk. Trailers are read for their form only. */
static bool trailer_byte(struct http_body *body, uint8_t byte, struct buf *out)
{
    if (++body->skipped > HTTP_TRAILER_MAX)
        return false;
    switch (body->state) {
    case CHUNK_TRAILER:
        body->state = byte == '\r' ? CHUNK_LAST_LF : CHUNK_TRAILER_NAME;
        return byte == '\r' || http_is_token(byte);
    case CHUNK_TRAILER_NAME:
        if (byte == ':')
            body->state = CHUNK_TRAILER_VALUE;
        return byte == ':' || http_is_token(byte);
    case CHUNK_TRAILER_VALUE:
        if (byte == '\r')
            body->state = CHUNK_TRAILER_LF;
        return byte == '\r' || is_text(byte);
    case CHUNK_TRAILER_LF:
        body->state = CHUNK_TRAILER;
        return byte == '\n';
    default:
        if (byte != '\n')
            return false;
        put(out, "0\r\n\r\n", 5);
        body->done = true;
        return true;
    }
}

/* One byte that is not data of a chunk. */
static bool chunk_byte(struct http_body *body, uint8_t byte, struct buf *out)
{
    switch (body->state) {
    case CHUNK_SIZE:
        return size_byte(body, byte);
    case CHUNK_EXTENSION:
        if (byte == '\r') {
            body->state = CHUNK_SIZE_LF;
            return true;
        }
        return ++body->skipped <= HTTP_EXTENSION_MAX && is_text(byte);
    case CHUNK_SIZE_LF:
        return size_end(body, byte, out);
    case CHUNK_DATA_CR:
        body->state = CHUNK_DATA_LF;
        return byte == '\r';
    case CHUNK_DATA_LF:
        if (byte != '\n')
            return false;
        put(out, "\r\n", 2);
        body->state = CHUNK_SIZE;
        return true;
    default:
        return trailer_byte(body, byte, out);
    }
}

static int chunks(struct http_body *body, const uint8_t *data, size_t len, size_t *ret_used, struct buf *out)
{
    size_t at = 0;
    while (at < len && !body->done) {
        if (body->state != CHUNK_DATA) {
            if (!chunk_byte(body, data[at++], out))
                return -1;
            continue;
        }
        size_t n = body->left < len - at ? (size_t)body->left : len - at;
        put(out, data + at, n);
        at += n;
        body->left -= n;
        if (body->left == 0)
            body->state = CHUNK_DATA_CR;
    }
    *ret_used = at;
    return body->done;
}

int http_body_feed(struct http_body *body, const void *data, size_t len, size_t *ret_used, struct buf *out)
{
    *ret_used = 0;
    if (body->done)
        return 1;
    if (body->framing == HTTP_CHUNKED)
        return chunks(body, data, len, ret_used, out);
    size_t n = len;
    if (body->framing == HTTP_LENGTH) {
        n = body->left < len ? (size_t)body->left : len;
        body->left -= n;
        body->done = body->left == 0;
    }
    put(out, data, n);
    *ret_used = n;
    return body->done;
}

bool http_body_end(struct http_body *body)
{
    if (body->framing == HTTP_UNTIL_CLOSE)
        body->done = true;
    return body->done;
}
