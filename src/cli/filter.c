#include "cli/filter.h"

#include "base/alloc.h"
#include "base/text.h"

#include <stdio.h>
#include <string.h>

/* Private modes that programs turn on (or off) and may leave so; usual: how a shell expects to find them. */
static const struct {
    int number;
    bool usual;
} modes[] = {
    {1, false},    {5, false},    {6, false},    {7, true},     {9, false},    {25, true},
    {47, false},   {66, false},   {1000, false}, {1001, false}, {1002, false}, {1003, false},
    {1004, false}, {1005, false}, {1006, false}, {1007, false}, {1015, false}, {1016, false},
    {1047, false}, {1049, false}, {2004, false}, {2026, false}, {2031, false}, {2048, false},
};
_Static_assert(countof(modes) == FILTER_MODES, "FILTER_MODES counts the table");

#define MODE_VT52 2 /* reset: another language altogether */

void filter_init(struct filter *filter, enum filter_kind kind)
{
    *filter = (struct filter){.kind = kind};
}

static void emit(struct buf *out, const void *data, size_t len)
{
    require(buf_append(out, data, len, NULL) == 0);
}

/* Bytes of the UTF-8 character that begins with this byte; 1 for all that begin none. */
static size_t utf8_length(uint8_t byte)
{
    return byte < 0xc2 ? 1 : byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : byte < 0xf5 ? 4 : 1;
}

/* Length of an unfinished character at the end of data. */
static size_t unfinished(const uint8_t *data, size_t len)
{
    for (size_t back = 1; back <= 3 && back <= len; back++) {
        uint8_t byte = data[len - back];
        if ((byte & 0xc0) != 0x80)
            return utf8_length(byte) > back ? back : 0;
    }
    return 0;
}

/* ---- plain ---- */

/* Text without an unfinished character at its end. Spaces are passed here: text.h would count long runs, and
 * tables need them. */
static void plain_pass(const char *data, size_t len, struct buf *out)
{
    while (len > 0) {
        size_t n = 0;
        if (data[0] == '\r' && len > 1 && data[1] == '\n') {
            n = 1; /* a line end as terminals write it */
        } else if (data[0] == ' ' || data[0] == '\n' || data[0] == '\t') {
            emit(out, data, n = 1);
        } else {
            while (n < len && data[n] != ' ' && data[n] != '\n' && data[n] != '\t' &&
                   !(n > 0 && data[n] == '\r' && n + 1 < len && data[n + 1] == '\n'))
                n++;
            struct text text;
            text_init(&text, data, n, 0, TEXT_DEFAULT);
            emit(out, text.bytes, text.len);
            text_finish(&text);
        }
        data += n;
        len -= n;
    }
}

static void plain_feed(struct filter *filter, const uint8_t *data, size_t len, struct buf *out)
{
    struct buf all;
    buf_init(&all, 0);
    emit(&all, filter->held, filter->held_len);
    emit(&all, data, len);
    const uint8_t *bytes = buf_data(&all);
    size_t keep = unfinished(bytes, all.len);
    if (all.len > 0 && bytes[all.len - 1] == '\r')
        keep = 1;
    plain_pass((const char *)bytes, all.len - keep, out);
    memcpy(filter->held, bytes + all.len - keep, keep);
    filter->held_len = keep;
    buf_finish(&all);
}

/* ---- screen ---- */

/* Notes a private mode; false: it must not pass. */
static bool note_mode(struct filter *filter, int number, bool on)
{
    for (size_t i = 0; i < countof(modes); i++) {
        if (modes[i].number == number)
            filter->changed[i] = on != modes[i].usual;
    }
    return number != MODE_VT52 || on;
}

/* The numbers of "?1;25h": each is noted. False: one must not pass. */
static bool note_modes(struct filter *filter, const char *parameters, size_t len, bool on)
{
    bool pass = true;
    int number = 0;
    for (size_t i = 0; i <= len; i++) {
        if (i < len && parameters[i] >= '0' && parameters[i] <= '9') {
            number = number < 100000 ? number * 10 + (parameters[i] - '0') : number;
        } else {
            pass = note_mode(filter, number, on) && pass;
            number = 0;
        }
    }
    return pass;
}

/* Whether a whole CSI sequence (held: "ESC [ … final") may pass. */
static bool csi_passes(struct filter *filter)
{
    const char *sequence = filter->held + 2;
    size_t len = filter->held_len - 3; /* parameters and intermediates */
    char final = filter->held[filter->held_len - 1];
    char first = len > 0 ? sequence[0] : '\0', last = len > 0 ? sequence[len - 1] : '\0';
    switch (final) {
    case 't': /* window operations; some report the title as if it were typed */
    case 'i': /* printing */
        return false;
    case 'h':
    case 'l':
        return first != '?' || note_modes(filter, sequence + 1, len - 1, final == 'h');
    case 'r':
        if (first != '?')
            filter->margins = true;
        return first != '?'; /* "?r" restores modes behind our back */
    case 's':
        return first != '?'; /* and "?s" saves them */
    case 'q':
        filter->cursor_shape = filter->cursor_shape || last == ' ';
        return true;
    case 'u':
    case 'm':
        filter->keyboard = filter->keyboard || first == '>' || first == '=';
        return true;
    default:
        return true;
    }
}

/* Adds a byte to the held sequence; one that is too long is dropped as a whole. */
static void hold(struct filter *filter, uint8_t byte)
{
    if (filter->held_len == sizeof(filter->held))
        filter->too_long = true;
    else
        filter->held[filter->held_len++] = (char)byte;
}

static void begin(struct filter *filter, enum filter_state state)
{
    filter->state = state;
    if (state == FILTER_TEXT || state == FILTER_ESCAPE || state == FILTER_STRING)
        filter->held_len = 0;
    if (state == FILTER_ESCAPE) {
        filter->too_long = false;
        hold(filter, 0x1b);
    }
}

/* The held sequence is complete. */
static void finish(struct filter *filter, bool passes, struct buf *out)
{
    if (passes && !filter->too_long)
        emit(out, filter->held, filter->held_len);
    begin(filter, FILTER_TEXT);
}

/* The byte behind ESC. */
static void escape_byte(struct filter *filter, uint8_t byte, struct buf *out)
{
    hold(filter, byte);
    switch (byte) {
    case '[':
        filter->state = FILTER_CSI;
        return;
    case ']': /* OSC */
    case 'k': /* a title for screen and tmux */
    case 'P': /* DCS */
    case 'X': /* SOS */
    case '^': /* PM */
    case '_': /* APC */
        filter->bell_ends = byte == ']' || byte == 'k';
        begin(filter, FILTER_STRING);
        return;
    case '=':
    case '>':
        filter->keypad = byte == '=';
        break;
    case 'Z': /* an old question for the terminal's identity */
        finish(filter, false, out);
        return;
    default:
        break;
    }
    if (byte >= 0x20 && byte < 0x30)
        filter->state = FILTER_ESCAPE_MORE;
    else
        finish(filter, byte >= 0x30 && byte < 0x7f, out);
}

/* Behind ESC and an intermediate: character sets pass, but not those that end UTF-8 ("%") or turn C1 on ("
 * "). */
static void escape_more_byte(struct filter *filter, uint8_t byte, struct buf *out)
{
    hold(filter, byte);
    if (byte >= 0x20 && byte < 0x30)
        return;
    char kind = filter->held[1];
    bool designates = kind == '(' || kind == ')' || kind == '*' || kind == '+';
    filter->charset = filter->charset || designates;
    finish(filter, (designates || kind == '#') && byte >= 0x30 && byte < 0x7f, out);
}

/* One byte inside of a control string, which is dropped. */
static void string_byte(struct filter *filter, uint8_t byte)
{
    if (filter->state == FILTER_STRING_ESCAPE && byte == '\\')
        begin(filter, FILTER_TEXT);
    else if (byte == 0x1b)
        filter->state = FILTER_STRING_ESCAPE;
    else if (byte == 0x18 || byte == 0x1a || (byte == 0x07 && filter->bell_ends))
        begin(filter, FILTER_TEXT);
    else
        filter->state = FILTER_STRING;
}

/* A character of text, maybe in several pieces. */
static void text_byte(struct filter *filter, uint8_t byte, struct buf *out)
{
    if (filter->held_len > 0 && (byte & 0xc0) != 0x80) {
        emit(out, "\xef\xbf\xbd", 3);
        filter->held_len = 0;
    }
    if (byte == 0x1b) {
        begin(filter, FILTER_ESCAPE);
    } else if (byte < 0x80) {
        if (byte != 0x05) /* ENQ: the terminal would answer */
            emit(out, &byte, 1);
    } else {
        hold(filter, byte);
        size_t need = utf8_length((uint8_t)filter->held[0]);
        if (filter->held_len < need)
            return;
        int32_t code_point;
        text_decode(filter->held, filter->held_len, &code_point);
        if (code_point < 0)
            emit(out, "\xef\xbf\xbd", 3);
        else if (code_point >= 0xa0)
            emit(out, filter->held, filter->held_len);
        filter->held_len = 0;
    }
}

/* One byte of a sequence or of text. C0 controls act in the middle of a sequence, so they pass at once. */
static void screen_byte(struct filter *filter, uint8_t byte, struct buf *out)
{
    bool in_sequence =
        filter->state == FILTER_ESCAPE || filter->state == FILTER_ESCAPE_MORE || filter->state == FILTER_CSI;
    if (in_sequence && byte < 0x20) {
        if (byte == 0x1b)
            begin(filter, FILTER_ESCAPE);
        else if (byte == 0x18 || byte == 0x1a)
            begin(filter, FILTER_TEXT);
        else if (byte != 0x05)
            emit(out, &byte, 1);
        return;
    }
    if (in_sequence &&
        byte >= 0x80) { /* no sequence has such a byte: terminals differ in what they make of it */
        begin(filter, FILTER_TEXT);
        text_byte(filter, byte, out);
        return;
    }
    switch (filter->state) {
    case FILTER_TEXT:
        text_byte(filter, byte, out);
        break;
    case FILTER_ESCAPE:
        escape_byte(filter, byte, out);
        break;
    case FILTER_ESCAPE_MORE:
        escape_more_byte(filter, byte, out);
        break;
    case FILTER_CSI:
        hold(filter, byte);
        if (byte >= 0x40 && byte < 0x7f)
            finish(filter, !filter->too_long && csi_passes(filter), out);
        break;
    case FILTER_STRING:
    case FILTER_STRING_ESCAPE:
        string_byte(filter, byte);
        break;
    }
}

/* ---- both ---- */

void filter_feed(struct filter *filter, const void *data, size_t len, struct buf *out)
{
    const uint8_t *bytes = data;
    switch (filter->kind) {
    case FILTER_NONE:
        emit(out, data, len);
        break;
    case FILTER_PLAIN:
        plain_feed(filter, bytes, len, out);
        break;
    case FILTER_SCREEN:
        for (size_t i = 0; i < len; i++)
            screen_byte(filter, bytes[i], out);
        break;
    }
}

void filter_end(struct filter *filter, struct buf *out)
{
    if (filter->kind == FILTER_PLAIN)
        plain_pass(filter->held, filter->held_len, out);
    else if (filter->kind == FILTER_SCREEN && filter->state == FILTER_TEXT && filter->held_len > 0)
        emit(out, "\xef\xbf\xbd", 3);
    filter->held_len = 0;
    filter->state = FILTER_TEXT;
}

void filter_restore(struct filter *filter, struct buf *out)
{
    for (size_t i = 0; i < countof(modes); i++) {
        if (filter->changed[i])
            require(buf_printf(out, NULL, "\x1b[?%d%c", modes[i].number, modes[i].usual ? 'h' : 'l') == 0);
        filter->changed[i] = false;
    }
    static const struct {
        size_t flag;
        const char *reset;
    } resets[] = {
        {offsetof(struct filter, margins), "\x1b"
                                           "7\x1b[r\x1b"
                                           "8"},
        {offsetof(struct filter, cursor_shape), "\x1b[0 q"},
        {offsetof(struct filter, keyboard), "\x1b[>4m\x1b[=0u"},
        {offsetof(struct filter, charset), "\x1b(B\x0f"},
        {offsetof(struct filter, keypad), "\x1b>"},
    };
    for (size_t i = 0; i < countof(resets); i++) {
        bool *flag = (bool *)((char *)filter + resets[i].flag);
        if (*flag)
            emit(out, resets[i].reset, strlen(resets[i].reset));
        *flag = false;
    }
}
