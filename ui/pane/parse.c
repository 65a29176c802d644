/* The session's bytes, read one by one: text and what moves the cursor goes on to libvterm, all else ends
 * here. A sequence may be cut anywhere. */
#include "base/alloc.h"
#include "base/text.h"
#include "ui/pane/emulator_internal.h"

#include <stdio.h>
#include <string.h>

#define KINDS 0x20000 /* code points whose kind is remembered */

void parser_flush(struct emulator *e)
{
    if (e->out_len > 0)
        vterm_input_write(e->vt, e->out, e->out_len);
    e->out_len = 0;
    e->queue_len = e->queue_next = 0;
}

static void put_bytes(struct emulator *e, const char *bytes, size_t len)
{
    if (e->out_len + len > sizeof(e->out))
        parser_flush(e);
    memcpy(e->out + e->out_len, bytes, len);
    e->out_len += len;
}

void parser_forward(struct emulator *e, const char *bytes, size_t len)
{
    put_bytes(e, bytes, len);
    e->parser.marks = false;
}

void parser_move_cursor(struct emulator *e, int row, int column)
{
    char sequence[32];
    int n = snprintf(sequence, sizeof(sequence), "\033[%d;%dH", row + 1, column + 1);
    parser_forward(e, sequence, (size_t)n);
    parser_flush(e);
    e->cursor = (VTermPos){.row = row, .col = column};
}

/* ---- characters ---- */

static enum char_kind find_kind(uint32_t code)
{
    if (code < 0xa0)
        return CHAR_DROP;
    if (code == 0xa0 || (code >= 0x2000 && code <= 0x200a) || code == 0x202f || code == 0x205f ||
        code == 0x3000)
        return CHAR_SPACE;
    /* Private use: the symbols of prompts. */
    if ((code >= 0xe000 && code <= 0xf8ff) || code >= 0xf0000)
        return CHAR_NARROW;
    int width = text_width(code);
    if (width == 0)
        return CHAR_MARK;
    char bytes[4];
    size_t len = 0;
    if (code < 0x800)
        bytes[len++] = (char)(0xc0 | code >> 6);
    else if (code < 0x10000)
        bytes[len++] = (char)(0xe0 | code >> 12);
    else
        bytes[len++] = (char)(0xf0 | code >> 18);
    if (code >= 0x10000)
        bytes[len++] = (char)(0x80 | (code >> 12 & 0x3f));
    if (code >= 0x800)
        bytes[len++] = (char)(0x80 | (code >> 6 & 0x3f));
    bytes[len++] = (char)(0x80 | (code & 0x3f));
    struct text text;
    text_init(&text, bytes, len, 0, TEXT_DEFAULT);
    bool kept = text.len == len && memcmp(text.bytes, bytes, len) == 0;
    bool misleads = text.suspicious;
    text_finish(&text);
    if (!kept)
        return misleads ? CHAR_DROP : CHAR_BAD;
    return width == 2 ? CHAR_WIDE : CHAR_NARROW;
}

static enum char_kind kind_of(struct emulator *e, uint32_t code)
{
    if (code >= KINDS)
        return find_kind(code);
    if (!e->kinds)
        e->kinds = xcalloc(KINDS / 2, 1);
    int shift = code & 1 ? 4 : 0;
    enum char_kind kind = e->kinds[code / 2] >> shift & 0xf;
    if (kind == CHAR_UNKNOWN) {
        kind = find_kind(code);
        e->kinds[code / 2] |= (uint8_t)(kind << shift);
    }
    return kind;
}

/* A character by its placeholder: U+00A1 is one column wide, U+3000 two, in every version of libvterm. */
static void put_wide_code(struct emulator *e, uint32_t code, bool wide)
{
    if (e->queue_len == OUT_SIZE || e->out_len + 3 > sizeof(e->out))
        parser_flush(e);
    e->queue[e->queue_len++] = code;
    if (wide)
        put_bytes(e, "\xe3\x80\x80", 3);
    else
        put_bytes(e, "\xc2\xa1", 2);
    e->parser.last = code;
    e->parser.marks = true;
}

static void put_code(struct emulator *e, uint32_t code)
{
    if (code >= 0x20 && code < 0x7f) {
        char c = (char)code;
        put_bytes(e, &c, 1);
        e->parser.last = code;
        e->parser.marks = true;
        return;
    }
    switch (kind_of(e, code)) {
    case CHAR_UNKNOWN:
    case CHAR_DROP:
        return;
    case CHAR_MARK:
        if (!e->parser.marks)
            return;
        parser_flush(e);
        screen_mark(e, code);
        return;
    case CHAR_SPACE:
        put_code(e, ' ');
        if (code == 0x3000)
            put_code(e, ' ');
        return;
    case CHAR_BAD:
        put_wide_code(e, 0xfffd, false);
        return;
    case CHAR_NARROW:
    case CHAR_WIDE:
        put_wide_code(e, code, kind_of(e, code) == CHAR_WIDE);
        return;
    }
}

void parser_repeat(struct emulator *e, int count)
{
    uint32_t code = e->parser.last;
    if (!code || !e->parser.marks)
        return;
    for (int i = 0; i < count && i < e->columns; i++)
        put_code(e, code);
}

/* A byte of a character outside of ASCII, or the end of one that is cut. */
static void text_byte(struct emulator *e, uint8_t byte)
{
    static const uint32_t least[] = {0, 0x80, 0x800, 0x10000};
    struct parser *p = &e->parser;
    if (p->missing > 0 && (byte & 0xc0) == 0x80) {
        p->code = p->code << 6 | (byte & 0x3f);
        if (--p->missing > 0)
            return;
        bool good = p->code >= p->least && p->code <= 0x10ffff && !(p->code >= 0xd800 && p->code < 0xe000);
        put_code(e, good ? p->code : 0xfffd);
        return;
    }
    if (p->missing > 0) {
        p->missing = 0;
        put_wide_code(e, 0xfffd, false);
    }
    if (byte < 0x80)
        return;
    int more = byte >= 0xc2 && byte < 0xe0   ? 1
               : byte >= 0xe0 && byte < 0xf0 ? 2
               : byte >= 0xf0 && byte < 0xf5 ? 3
                                             : 0;
    if (more == 0) {
        put_wide_code(e, 0xfffd, false);
        return;
    }
    p->missing = more;
    p->least = least[more];
    p->code = byte & (0x3fu >> more);
}

/* ---- controls and sequences ---- */

static void control(struct emulator *e, uint8_t byte)
{
    char c = (char)byte;
    switch (byte) {
    case 0x07:
        if (!e->belled && e->options.bell)
            e->options.bell(e->user);
        e->belled = true;
        return;
    case 0x0b:
    case 0x0c:
        c = '\n';
        parser_forward(e, &c, 1);
        return;
    case 0x08:
    case 0x09:
    case 0x0a:
    case 0x0d:
    case 0x0e:
    case 0x0f:
        parser_forward(e, &c, 1);
        return;
    default:
        return;
    }
}

static void begin_string(struct parser *p, bool command)
{
    p->state = command ? PARSE_COMMAND : PARSE_STRING;
    p->string_len = 0;
}

/* Takes the gathered bytes of a control sequence apart. False: it is none that we take. */
static bool read_sequence(const struct parser *p, char final, struct sequence *ret)
{
    *ret = (struct sequence){.final = final};
    size_t i = 0;
    if (p->overlong)
        return false;
    if (i < p->len && p->bytes[i] >= '<' && p->bytes[i] <= '?')
        ret->leader = (char)p->bytes[i++];
    int value = -1;
    bool any = false;
    for (; i < p->len; i++) {
        uint8_t byte = p->bytes[i];
        if (byte >= '0' && byte <= '9') {
            value = (value < 0 ? 0 : value) * 10 + (byte - '0');
            value = value > NUMBER_MAX ? NUMBER_MAX : value;
            any = true;
        } else if (byte == ';' || byte == ':') {
            if (ret->count == ARGS_MAX - 1)
                return false;
            ret->arg[ret->count++] = (struct arg){.value = value, .more = byte == ':'};
            value = -1;
            any = true;
        } else if (byte >= 0x20 && byte < 0x30 && i + 1 == p->len) {
            ret->inter = (char)byte;
        } else {
            return false;
        }
    }
    if (any)
        ret->arg[ret->count++] = (struct arg){.value = value};
    return true;
}

static void csi_byte(struct emulator *e, uint8_t byte)
{
    struct parser *p = &e->parser;
    if (byte >= 0x40 && byte < 0x7f) {
        struct sequence sequence;
        p->state = PARSE_TEXT;
        if (read_sequence(p, (char)byte, &sequence))
            sequence_run(e, &sequence);
        return;
    }
    if (byte == 0x7f)
        return;
    if (byte >= 0x80) { /* a broken one: what follows is text */
        p->state = PARSE_TEXT;
        text_byte(e, byte);
        return;
    }
    if (p->len < sizeof(p->bytes))
        p->bytes[p->len++] = byte;
    else
        p->overlong = true;
}

static void escape_byte(struct emulator *e, uint8_t byte)
{
    struct parser *p = &e->parser;
    if (byte >= 0x20 && byte < 0x30) {
        if (p->len == 0)
            p->bytes[p->len++] = byte;
        else
            p->overlong = true;
        return;
    }
    p->state = PARSE_TEXT;
    if (byte >= 0x7f) {
        text_byte(e, byte);
        return;
    }
    if (p->len > 0) {
        if (!p->overlong)
            sequence_escape(e, (char)p->bytes[0], (char)byte);
        return;
    }
    switch (byte) {
    case '[':
        p->state = PARSE_CSI;
        p->len = 0;
        p->overlong = false;
        return;
    case ']':
        begin_string(p, true);
        return;
    case 'P': /* DCS, SOS, PM, APC; k: the title of a screen */
    case 'X':
    case '^':
    case '_':
    case 'k':
        begin_string(p, false);
        return;
    default:
        sequence_escape(e, 0, (char)byte);
    }
}

static void begin_escape(struct parser *p)
{
    p->state = PARSE_ESCAPE;
    p->len = 0;
    p->overlong = false;
}

/* Drops the bytes of a string up to its end. Returns how many were used. */
static size_t string_bytes(struct parser *p, const uint8_t *bytes, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        uint8_t byte = bytes[i];
        if (p->state == PARSE_STRING_ESCAPE) {
            if (byte == '\\') {
                p->state = PARSE_TEXT;
                return i + 1;
            }
            begin_escape(p); /* the string was cut by another sequence */
            return i;
        }
        if (byte == 0x1b) {
            p->command = p->state == PARSE_COMMAND;
            p->state = PARSE_STRING_ESCAPE;
        } else if (byte == 0x18 || byte == 0x1a || (byte == 0x07 && p->state == PARSE_COMMAND) ||
                   ++p->string_len > STRING_MAX) {
            p->state = PARSE_TEXT;
            return i + 1;
        }
    }
    return len;
}

/* Text up to the next byte that is none. Returns how many were used; 0: the first one is none. */
static size_t text_bytes(struct emulator *e, const uint8_t *bytes, size_t len)
{
    size_t n = 0;
    if (e->parser.missing > 0 && len > 0 && bytes[0] < 0x80)
        text_byte(e, 0);
    if (e->parser.missing == 0) {
        while (n < len && bytes[n] >= 0x20 && bytes[n] < 0x7f)
            n++;
        for (size_t done = 0; done < n;) {
            size_t part = n - done < sizeof(e->out) ? n - done : sizeof(e->out);
            put_bytes(e, (const char *)bytes + done, part);
            done += part;
        }
        if (n > 0) {
            e->parser.last = bytes[n - 1];
            e->parser.marks = true;
        }
    }
    while (n < len && bytes[n] >= 0x80)
        text_byte(e, bytes[n++]);
    return n;
}

void parser_feed(struct emulator *e, const uint8_t *bytes, size_t len)
{
    struct parser *p = &e->parser;
    for (size_t i = 0; i < len;) {
        if (p->state >= PARSE_STRING) {
            i += string_bytes(p, bytes + i, len - i);
            continue;
        }
        if (p->state == PARSE_TEXT) {
            size_t n = text_bytes(e, bytes + i, len - i);
            i += n;
            if (n > 0)
                continue;
        }
        uint8_t byte = bytes[i++];
        if (byte == 0x1b)
            begin_escape(p);
        else if (byte == 0x18 || byte == 0x1a)
            p->state = PARSE_TEXT;
        else if (byte < 0x20)
            control(e, byte);
        else if (p->state == PARSE_ESCAPE)
            escape_byte(e, byte);
        else if (p->state == PARSE_CSI)
            csi_byte(e, byte);
    }
    parser_flush(e);
}
