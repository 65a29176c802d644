#include "frames.h"

#include "base/alloc.h"

#include <stdarg.h>
#include <string.h>

#define PREFACE "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

void frames_put_u32(uint8_t *out, uint32_t value)
{
    for (int i = 0; i < 4; i++)
        out[i] = (uint8_t)(value >> (24 - 8 * i));
}

uint32_t frames_get_u32(const uint8_t *in)
{
    return (uint32_t)in[0] << 24 | (uint32_t)in[1] << 16 | (uint32_t)in[2] << 8 | in[3];
}

static void append(struct buf *out, const void *data, size_t len)
{
    require(buf_append(out, data, len, NULL) == 0);
}

void frames_preface(struct buf *out)
{
    append(out, PREFACE, strlen(PREFACE));
    frames_add(out, F_SETTINGS, 0, 0, NULL, 0);
}

void frames_add_lying(struct buf *out, uint8_t type, uint8_t flags, uint32_t stream, const void *payload,
                      size_t len, uint32_t said)
{
    uint8_t head[9] = {(uint8_t)(said >> 16), (uint8_t)(said >> 8), (uint8_t)said, type, flags};
    frames_put_u32(head + 5, stream);
    append(out, head, sizeof(head));
    append(out, payload, len);
}

void frames_add(struct buf *out, uint8_t type, uint8_t flags, uint32_t stream, const void *payload,
                size_t len)
{
    frames_add_lying(out, type, flags, stream, payload, len, (uint32_t)len);
}

void frames_rst(struct buf *out, uint32_t stream, uint32_t code)
{
    uint8_t payload[4];
    frames_put_u32(payload, code);
    frames_add(out, F_RST, 0, stream, payload, sizeof(payload));
}

void frames_window(struct buf *out, uint32_t stream, uint32_t increment)
{
    uint8_t payload[4];
    frames_put_u32(payload, increment);
    frames_add(out, F_WINDOW, 0, stream, payload, sizeof(payload));
}

/* An HPACK integer with a prefix of 7 bits that are otherwise 0. */
static void put_length(struct buf *block, size_t n)
{
    uint8_t byte;
    if (n < 127) {
        byte = (uint8_t)n;
        append(block, &byte, 1);
        return;
    }
    byte = 127;
    append(block, &byte, 1);
    for (n -= 127; n >= 128; n >>= 7) {
        byte = (uint8_t)(n & 127) | 128;
        append(block, &byte, 1);
    }
    byte = (uint8_t)n;
    append(block, &byte, 1);
}

void frames_field_bytes(struct buf *block, const char *name, size_t name_len, const char *value,
                        size_t value_len)
{
    append(block, "", 1); /* literal without indexing, new name */
    put_length(block, name_len);
    append(block, name, name_len);
    put_length(block, value_len);
    append(block, value, value_len);
}

void frames_field(struct buf *block, const char *name, const char *value)
{
    frames_field_bytes(block, name, strlen(name), value, strlen(value));
}

void frames_request(struct buf *out, uint32_t stream, int flags, ...)
{
    struct buf block;
    buf_init(&block, 0);
    append(&block, "\x20", 1);
    va_list args;
    va_start(args, flags);
    for (const char *name; (name = va_arg(args, const char *));)
        frames_field(&block, name, va_arg(args, const char *));
    va_end(args);
    frames_add(out, F_HEADERS, (uint8_t)flags, stream, buf_data(&block), block.len);
    buf_finish(&block);
}

bool frames_next(const uint8_t **data, size_t *len, struct frame *ret_frame)
{
    size_t preface = strlen(PREFACE);
    if (*len >= preface && memcmp(*data, PREFACE, preface) == 0) {
        *data += preface;
        *len -= preface;
    }
    if (*len < 9)
        return false;
    const uint8_t *p = *data;
    struct frame frame = {
        .length = (uint32_t)p[0] << 16 | (uint32_t)p[1] << 8 | p[2],
        .type = p[3],
        .flags = p[4],
        .stream = frames_get_u32(p + 5) & 0x7fffffff,
        .payload = p + 9,
    };
    if (*len - 9 < frame.length)
        return false;
    *data += 9 + frame.length;
    *len -= 9 + frame.length;
    *ret_frame = frame;
    return true;
}
