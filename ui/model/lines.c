#include "ui/model/lines.h"

#include "base/alloc.h"
#include "base/text.h"

#include <string.h>

static void drop_first(struct lines *lines)
{
    struct line *line = &lines->ring[lines->first++ % LINES_MAX];
    lines->bytes -= strlen(line->text);
    free(line->text);
}

void lines_clear(struct lines *lines)
{
    while (lines->first < lines->end)
        drop_first(lines);
    free(lines->ring);
    *lines = (struct lines){0};
}

const struct line *lines_at(const struct lines *lines, size_t position)
{
    return position >= lines->first && position < lines->end ? &lines->ring[position % LINES_MAX] : NULL;
}

/* Appends; owns text. */
static void append(struct lines *lines, enum style style, char *text)
{
    if (!lines->ring)
        lines->ring = xnewn(struct line, LINES_MAX);
    if (lines->end - lines->first == LINES_MAX)
        drop_first(lines);
    lines->ring[lines->end++ % LINES_MAX] = (struct line){text, style};
    lines->bytes += strlen(text);
    while (lines->bytes > LINES_BYTES && lines->end - lines->first > 1)
        drop_first(lines);
}

void lines_add(struct lines *lines, enum style style, const char *safe)
{
    append(lines, style, xstrdup(safe));
}

/* Safe text of a line. Blanks stay as they are: columns of a table are read by them. */
static char *safe_line(const char *raw, size_t len)
{
    struct buf out;
    buf_init(&out, 0);
    while (len > 0) {
        size_t n = 0;
        while (n < len && raw[n] == ' ')
            n++;
        buf_append(&out, raw, n, NULL);
        raw += n;
        len -= n;
        const char *blank = memchr(raw, ' ', len);
        n = blank ? (size_t)(blank - raw) : len;
        struct text text;
        text_init(&text, raw, n, 0, TEXT_DEFAULT);
        buf_append(&out, text.bytes, text.len, NULL);
        text_finish(&text);
        raw += n;
        len -= n;
    }
    return buf_take_string(&out);
}

/* Puts what is there of the line into the lines. Returns its position. */
static size_t put(struct lines *lines, struct lines_stream *stream)
{
    size_t position = stream->open - 1;
    char *text = safe_line(stream->raw, stream->len);
    if (!stream->open || position < lines->first) {
        append(lines, stream->style, text);
        stream->open = lines->end;
        return lines->end - 1;
    }
    struct line *line = &lines->ring[position % LINES_MAX];
    lines->bytes += strlen(text) - strlen(line->text);
    free(line->text);
    line->text = text;
    return position;
}

static void end_line(struct lines_stream *stream)
{
    stream->len = stream->open = 0;
    stream->back = false;
}

/* The last character goes. */
static void rub_out(struct lines_stream *stream)
{
    while (stream->len > 0 && ((unsigned char)stream->raw[--stream->len] & 0xc0) == 0x80)
        continue;
}

static void tab(struct lines_stream *stream)
{
    size_t columns = 0;
    for (size_t i = 0; i < stream->len; i++)
        columns += ((unsigned char)stream->raw[i] & 0xc0) != 0x80;
    do
        stream->raw[stream->len++] = ' ';
    while (++columns % 8 && stream->len < LINE_BYTES);
}

/* A byte inside of an escape sequence. */
static void escaped(struct lines_stream *stream, uint8_t byte)
{
    switch (stream->state) {
    case LINES_ESCAPE:
        stream->state = byte == '['                       ? LINES_CSI
                        : byte && strchr("]PX^_", byte)   ? LINES_STRING
                        : byte && strchr("()*+#% ", byte) ? LINES_ONE
                                                          : LINES_TEXT;
        break;
    case LINES_CSI:
        if (byte < 0x20 || byte >= 0x40)
            stream->state = LINES_TEXT;
        break;
    case LINES_STRING:
        if (byte == 0x07 || byte == '\n')
            stream->state = LINES_TEXT;
        else if (byte == 0x1b)
            stream->state = LINES_STRING_END;
        break;
    default:
        stream->state = LINES_TEXT;
    }
}

/* A byte of text; false: it ends the line. */
static bool text_byte(struct lines_stream *stream, uint8_t byte)
{
    if (byte == '\n')
        return false;
    if (byte == '\r') {
        stream->back = true;
        return true;
    }
    if (byte == 0x1b) {
        stream->state = LINES_ESCAPE;
        return true;
    }
    if (byte == 0 || byte == 0x07)
        return true;
    if (stream->back) {
        stream->len = 0;
        stream->back = false;
    }
    if (byte == '\b')
        rub_out(stream);
    else if (byte == '\t')
        tab(stream);
    else
        stream->raw[stream->len++] = (char)byte;
    return true;
}

size_t lines_take(struct lines *lines, struct lines_stream *stream, const uint8_t *bytes, size_t len)
{
    size_t lowest = SIZE_MAX;
    bool dirty = false;
    for (size_t i = 0; i < len; i++) {
        bool goes_on = true;
        if (stream->state != LINES_TEXT)
            escaped(stream, bytes[i]);
        else
            goes_on = text_byte(stream, bytes[i]);
        dirty = true;
        if (goes_on && stream->len < LINE_BYTES)
            continue;
        size_t position = put(lines, stream);
        lowest = position < lowest ? position : lowest;
        end_line(stream);
        dirty = false;
    }
    if (dirty && (stream->len || stream->open)) {
        size_t position = put(lines, stream);
        lowest = position < lowest ? position : lowest;
    }
    return lowest;
}
