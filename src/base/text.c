#include "base/text.h"

#include "base/alloc.h"
#include "base/unicode.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Longer runs of one escape or of spaces are counted instead of shown. */
#define RUN_MAX 8
/* Whole documents keep this much indentation. */
#define INDENT_MAX 64
/* Marks that may stand on one letter. */
#define MARKS_MAX 2
#define TAB_WIDTH 8
/* Names longer than this are not compared. */
#define NAME_MAX_BYTES 64

#define ELLIPSIS "\xe2\x80\xa6"

struct writer {
    struct text *text;
    size_t cap, max;
    size_t line_columns;         /* of the present line */
    size_t fit_len, fit_columns; /* where an ellipsis would still fit */
    size_t fit_line_columns;
    int32_t previous; /* last code point that was written as it is, -1 after an escape */
    int marks;        /* combining marks since the last letter */
};

static enum unicode_kind kind_of(uint32_t code_point)
{
    size_t low = 0, high = countof(unicode_ranges);
    if (code_point >= 0x20 && code_point < 0x7f)
        return UNICODE_PLAIN;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (code_point > unicode_ranges[middle].last)
            low = middle + 1;
        else if (code_point < unicode_ranges[middle].first)
            high = middle;
        else
            return unicode_ranges[middle].kind;
    }
    return UNICODE_PLAIN;
}

int text_width(uint32_t code_point)
{
    switch (kind_of(code_point)) {
    case UNICODE_WIDE:
        return 2;
    case UNICODE_ZERO:
        return 0;
    case UNICODE_MISLEADING:
    case UNICODE_UNKNOWN:
    case UNICODE_PLAIN:
        break;
    }
    return 1;
}

size_t text_decode(const char *data, size_t len, int32_t *ret_code_point)
{
    static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
    const unsigned char *p = (const unsigned char *)data;
    *ret_code_point = -1;
    if (!len)
        return 0;
    if (p[0] < 0x80) {
        *ret_code_point = p[0];
        return 1;
    }
    size_t n = p[0] >= 0xf0 && p[0] <= 0xf4  ? 4
               : p[0] >= 0xe0 && p[0] < 0xf0 ? 3
               : p[0] >= 0xc2 && p[0] < 0xe0 ? 2
                                             : 0;
    if (!n || n > len)
        return 1;
    uint32_t code_point = p[0] & (0xff >> (n + 1));
    for (size_t i = 1; i < n; i++) {
        if ((p[i] & 0xc0) != 0x80)
            return 1;
        code_point = code_point << 6 | (p[i] & 0x3f);
    }
    if (code_point < smallest[n] || code_point > 0x10ffff || (code_point >= 0xd800 && code_point <= 0xdfff))
        return 1;
    *ret_code_point = code_point;
    return n;
}

/* Appends one unit that is kept or dropped as a whole. False: the limit was passed and the text is closed. */
static bool put(struct writer *w, const char *bytes, size_t len, size_t columns)
{
    struct text *text = w->text;
    if (w->max && text->len + len > w->max) {
        text->len = w->fit_len;
        text->columns = w->fit_columns;
        text->cut = true;
        if (w->max >= strlen(ELLIPSIS)) {
            memcpy(text->bytes + text->len, ELLIPSIS, strlen(ELLIPSIS));
            text->len += strlen(ELLIPSIS);
            if (w->fit_line_columns + 1 > text->columns)
                text->columns = w->fit_line_columns + 1;
        }
        return false;
    }
    /* Room for the ellipsis and the end is kept at all times. */
    if (text->len + len + 8 > w->cap) {
        w->cap = (text->len + len + 8) * 2;
        text->bytes = xrealloc(text->bytes, w->cap, 1);
    }
    memcpy(text->bytes + text->len, bytes, len);
    text->len += len;
    w->line_columns += columns;
    if (w->line_columns > text->columns)
        text->columns = w->line_columns;
    if (!w->max || text->len + strlen(ELLIPSIS) <= w->max) {
        w->fit_len = text->len;
        w->fit_columns = text->columns;
        w->fit_line_columns = w->line_columns;
    }
    return true;
}

/* The visible form of what must not be shown as it is; returns its length, which is also its width. */
static size_t escape_form(char *out, size_t size, unsigned char byte, int32_t code_point)
{
    int n;
    if (code_point == '\n' || code_point == '\t' || code_point == 0x1b)
        n = snprintf(out, size, "\\%c", code_point == '\n' ? 'n' : code_point == '\t' ? 't' : 'e');
    else if (code_point < 0)
        n = snprintf(out, size, "\\x%02x", byte);
    else if (code_point < 0xa0)
        n = snprintf(out, size, "\\x%02x", (unsigned)code_point);
    else
        n = snprintf(out, size, "\\u{%X}", (unsigned)code_point);
    return n;
}

/* How often the first n bytes are repeated from the start on. */
static size_t run_of(const char *data, size_t len, size_t n)
{
    size_t count = 1;
    while ((count + 1) * n <= len && !memcmp(data, data + count * n, n))
        count++;
    return count;
}

/* Writes count copies of a unit, or one and the number of them. */
static bool put_run(struct writer *w, const char *unit, size_t len, size_t columns, size_t count, size_t most)
{
    if (count <= most) {
        for (size_t i = 0; i < count; i++)
            if (!put(w, unit, len, columns))
                return false;
        return true;
    }
    char counted[64];
    int n = snprintf(counted, sizeof(counted), "%.*s\xc3\x97%zu", (int)len, unit, count);
    return put(w, counted, n, columns + (n - len - 1));
}

/* Escapes the unit of n bytes at data and its repetitions; returns the bytes used, 0 at the limit. */
static size_t put_escape(struct writer *w, const char *data, size_t len, size_t n, int32_t code_point)
{
    char form[16];
    size_t form_len = escape_form(form, sizeof(form), (unsigned char)data[0], code_point);
    size_t count = run_of(data, len, n);
    w->previous = -1;
    return put_run(w, form, form_len, form_len, count, RUN_MAX) ? count * n : 0;
}

/* Spaces: long runs are counted, as they push the end of a line out of sight. */
static size_t put_spaces(struct writer *w, const char *data, size_t len, int flags)
{
    size_t count = run_of(data, len, 1);
    size_t most = (flags & TEXT_KEEP_NEWLINES) && !w->line_columns ? INDENT_MAX : RUN_MAX;
    w->previous = ' ';
    w->marks = 0;
    if (count <= most)
        return put_run(w, " ", 1, 1, count, most) ? count : 0;
    w->text->suspicious = true;
    return put_run(w, "\xc2\xb7", 2, 1, count, most) ? count : 0;
}

static bool is_hangul(int32_t c)
{
    return (c >= 0x1100 && c <= 0x11ff) || (c >= 0xa960 && c <= 0xa97f) || (c >= 0xac00 && c <= 0xd7ff);
}

/* A mark needs a letter in this text to stand on, else it would change what is drawn before the text. */
static bool mark_allowed(const struct writer *w, int32_t code_point)
{
    if (w->previous < 0 || w->marks >= MARKS_MAX)
        return false;
    return !is_hangul(code_point) || is_hangul(w->previous);
}

/* Writes what is at data as it is or escaped; returns the bytes used, 0 at the limit. */
static size_t put_next(struct writer *w, const char *data, size_t len, int flags)
{
    int32_t code_point;
    size_t n = text_decode(data, len, &code_point);
    if (code_point == ' ')
        return put_spaces(w, data, len, flags);
    if ((flags & TEXT_KEEP_NEWLINES) && (code_point == '\n' || code_point == '\t')) {
        size_t columns = code_point == '\t' ? TAB_WIDTH - w->line_columns % TAB_WIDTH : 0;
        w->previous = -1;
        if (!put(w, data, 1, columns))
            return 0;
        if (code_point == '\n')
            w->line_columns = 0;
        return 1;
    }
    enum unicode_kind kind = code_point < 0 ? UNICODE_UNKNOWN : kind_of(code_point);
    if (kind == UNICODE_UNKNOWN)
        return put_escape(w, data, len, n, code_point);
    if (kind == UNICODE_MISLEADING || (kind == UNICODE_ZERO && !mark_allowed(w, code_point))) {
        if (code_point != '\n' && code_point != '\t')
            w->text->suspicious = true;
        return put_escape(w, data, len, n, code_point);
    }
    w->marks = kind == UNICODE_ZERO ? w->marks + 1 : 0;
    w->previous = code_point;
    return put(w, data, n, kind == UNICODE_ZERO ? 0 : kind == UNICODE_WIDE ? 2 : 1) ? n : 0;
}

void text_init(struct text *text, const void *data, size_t len, size_t max_bytes, int flags)
{
    *text = (struct text){0};
    struct writer w = {.text = text, .max = max_bytes, .previous = -1};
    w.cap = (max_bytes && max_bytes < len ? max_bytes : len) + 16;
    text->bytes = xrealloc(NULL, w.cap, 1);
    const char *p = data;
    while (len) {
        size_t n = put_next(&w, p, len, flags);
        if (!n)
            break;
        p += n;
        len -= n;
    }
    text->bytes[text->len] = '\0';
}

void text_finish(struct text *text)
{
    free(text->bytes);
    *text = (struct text){0};
}

char *text_safe(const char *data)
{
    if (!data)
        return NULL;
    struct text text;
    text_init(&text, data, strlen(data), 0, TEXT_DEFAULT);
    return text.bytes;
}

size_t text_clip(const char *bytes, size_t len, size_t columns, size_t *ret_columns)
{
    size_t used = 0, at = 0;
    while (at < len) {
        int32_t code_point;
        size_t n = text_decode(bytes + at, len - at, &code_point);
        size_t width = code_point < 0 ? 1 : text_width(code_point);
        if (used + width > columns)
            break;
        used += width;
        at += n;
    }
    if (ret_columns)
        *ret_columns = used;
    return at;
}

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

size_t text_distance(const char *a, const char *b)
{
    size_t a_len = strlen(a), b_len = strlen(b);
    if (a_len > NAME_MAX_BYTES || b_len > NAME_MAX_BYTES)
        return !strcmp(a, b) ? 0 : a_len > b_len ? a_len : b_len;
    /* Three rows of the table: two swapped neighbours count as one edit, and look two rows back. */
    size_t rows[3][NAME_MAX_BYTES + 1];
    for (size_t j = 0; j <= b_len; j++)
        rows[0][j] = j;
    for (size_t i = 1; i <= a_len; i++) {
        size_t *row = rows[i % 3], *above = rows[(i + 2) % 3], *above2 = rows[(i + 1) % 3];
        row[0] = i;
        for (size_t j = 1; j <= b_len; j++) {
            row[j] = smaller(smaller(above[j], row[j - 1]) + 1, above[j - 1] + (a[i - 1] != b[j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                row[j] = smaller(row[j], above2[j - 2] + 1);
        }
    }
    return rows[a_len % 3][b_len];
}

const char *text_nearest(const char *name, const char *const *candidates)
{
    const char *best = NULL;
    size_t best_distance = 0;
    for (; *candidates; candidates++) {
        size_t distance = text_distance(name, *candidates);
        size_t longer = strlen(name) > strlen(*candidates) ? strlen(name) : strlen(*candidates);
        if (distance <= (longer + 1) / 3 && (!best || distance < best_distance)) {
            best = *candidates;
            best_distance = distance;
        }
    }
    return best;
}
