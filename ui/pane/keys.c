/* A person's keys, mouse and pastes as the session asked to have them. */
#include "base/alloc.h"
#include "base/text.h"
#include "ui/pane/emulator_internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct named {
    uint32_t code;
    char final; /* of CSI; '~': with `number` */
    uint8_t number;
    bool ss3; /* plain: SS3 final; cursor: SS3 only in cursor key mode */
    bool cursor;
};
static const struct named named_keys[] = {
    {KEY_NAME_UP, 'A', 1, true, true},         {KEY_NAME_DOWN, 'B', 1, true, true},
    {KEY_NAME_RIGHT, 'C', 1, true, true},      {KEY_NAME_LEFT, 'D', 1, true, true},
    {KEY_NAME_HOME, 'H', 1, true, true},       {KEY_NAME_END, 'F', 1, true, true},
    {KEY_NAME_INSERT, '~', 2, false, false},   {KEY_NAME_DELETE, '~', 3, false, false},
    {KEY_NAME_PAGE_UP, '~', 5, false, false},  {KEY_NAME_PAGE_DOWN, '~', 6, false, false},
    {KEY_NAME_F1, 'P', 1, true, false},        {KEY_NAME_F1 + 1, 'Q', 1, true, false},
    {KEY_NAME_F1 + 2, 'R', 1, true, false},    {KEY_NAME_F1 + 3, 'S', 1, true, false},
    {KEY_NAME_F1 + 4, '~', 15, false, false},  {KEY_NAME_F1 + 5, '~', 17, false, false},
    {KEY_NAME_F1 + 6, '~', 18, false, false},  {KEY_NAME_F1 + 7, '~', 19, false, false},
    {KEY_NAME_F1 + 8, '~', 20, false, false},  {KEY_NAME_F1 + 9, '~', 21, false, false},
    {KEY_NAME_F1 + 10, '~', 23, false, false}, {KEY_NAME_F12, '~', 24, false, false},
};

static void send(struct emulator *e, const void *bytes, size_t len)
{
    if (e->options.input && len > 0)
        e->options.input(bytes, len, e->user);
}

static void send_printf(struct emulator *e, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void send_printf(struct emulator *e, const char *format, ...)
{
    char bytes[64];
    va_list args;
    va_start(args, format);
    int n = vsnprintf(bytes, sizeof(bytes), format, args);
    va_end(args);
    if (n > 0 && (size_t)n < sizeof(bytes))
        send(e, bytes, (size_t)n);
}

static void send_named(struct emulator *e, const struct named *key, int mods)
{
    if (mods)
        send_printf(e, "\033[%d;%d%c", key->number, mods + 1, key->final);
    else if (key->final == '~')
        send_printf(e, "\033[%d~", key->number);
    else if (key->ss3 && (!key->cursor || e->mode.cursor_keys))
        send_printf(e, "\033O%c", key->final);
    else
        send_printf(e, "\033[%c", key->final);
}

/* A key as CSI u. */
static void send_code(struct emulator *e, uint32_t code, int mods)
{
    if (mods)
        send_printf(e, "\033[%u;%du", code, mods + 1);
    else
        send_printf(e, "\033[%uu", code);
}

/* Enter, Tab, Backspace and Escape. */
static void send_special(struct emulator *e, uint32_t name, int mods)
{
    static const struct {
        uint32_t name, code;
    } codes[] = {{KEY_NAME_ENTER, 13}, {KEY_NAME_TAB, 9}, {KEY_NAME_BACKSPACE, 127}, {KEY_NAME_ESCAPE, 27}};
    uint32_t code = 0;
    for (size_t i = 0; i < countof(codes); i++)
        if (codes[i].name == name)
            code = codes[i].code;
    bool kitty = kitty_flags(emulator_kitty(e)) != 0;
    if (kitty && (mods || name == KEY_NAME_ESCAPE)) {
        send_code(e, code, mods);
        return;
    }
    if (e->mode.modify_other && name == KEY_NAME_ENTER && mods & (KEY_SHIFT | KEY_CTRL)) {
        send_code(e, code, mods);
        return;
    }
    if (mods & KEY_ALT)
        send(e, "\033", 1);
    if (name == KEY_NAME_TAB && mods & KEY_SHIFT)
        send(e, "\033[Z", 3);
    else if (name == KEY_NAME_BACKSPACE && mods & KEY_CTRL)
        send(e, "\b", 1);
    else if (name == KEY_NAME_ENTER && e->mode.newline)
        send(e, "\r\n", 2);
    else
        send_printf(e, "%c", (int)code);
}

/* The control character of a key with Ctrl, or -1. */
static int control_of(uint32_t code)
{
    static const char digits[] = "\x00\x1b\x1c\x1d\x1e\x1f\x7f"; /* 2…8 */
    if (code >= 'a' && code <= 'z')
        return (int)code & 0x1f;
    if (code >= '@' && code <= '_')
        return (int)code & 0x1f;
    if (code >= '2' && code <= '8')
        return digits[code - '2'];
    if (code == ' ')
        return 0;
    if (code == '?')
        return 0x7f;
    if (code == '/')
        return 0x1f;
    return -1;
}

static size_t utf8(uint32_t code, char out[4])
{
    if (code < 0x80) {
        out[0] = (char)code;
        return 1;
    }
    size_t more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
    static const uint8_t lead[] = {0, 0xc0, 0xe0, 0xf0};
    out[0] = (char)(lead[more] | code >> (6 * more));
    for (size_t i = 1; i <= more; i++)
        out[i] = (char)(0x80 | (code >> (6 * (more - i)) & 0x3f));
    return more + 1;
}

static void send_character(struct emulator *e, uint32_t code, int mods)
{
    bool kitty = kitty_flags(emulator_kitty(e)) != 0;
    if (kitty && mods & (KEY_ALT | KEY_CTRL)) {
        if (code >= 'A' && code <= 'Z') {
            code += 'a' - 'A';
            mods |= KEY_SHIFT;
        }
        send_code(e, code, mods);
        return;
    }
    char bytes[5];
    size_t n = 0;
    if (mods & KEY_ALT)
        bytes[n++] = 0x1b;
    int c = mods & KEY_CTRL ? control_of(code) : -1;
    if (c >= 0)
        bytes[n++] = (char)c;
    else
        n += utf8(code, bytes + n);
    send(e, bytes, n);
}

static void send_key(struct emulator *e, const struct key_event *event)
{
    for (size_t i = 0; i < countof(named_keys); i++) {
        if (named_keys[i].code == event->code) {
            send_named(e, &named_keys[i], event->mods);
            return;
        }
    }
    if (event->code > KEY_NAMED)
        send_special(e, event->code, event->mods);
    else if (event->code <= 0x10ffff && !(event->code >= 0xd800 && event->code < 0xe000))
        send_character(e, event->code, event->mods);
}

/* Control characters are taken out once more: an end mark in a paste would be typed, not pasted. */
static void send_paste(struct emulator *e, const char *paste, size_t len)
{
    struct buf out;
    buf_init(&out, 0);
    if (e->mode.paste)
        buf_append(&out, "\033[200~", 6, NULL);
    for (size_t i = 0; i < len;) {
        int32_t code;
        size_t n = text_decode(paste + i, len - i, &code);
        if (code == '\n' || code == '\r') {
            buf_append(&out, "\r", 1, NULL);
            if (code == '\r' && i + 1 < len && paste[i + 1] == '\n')
                n++;
        } else if (code == '\t' || (code >= 0x20 && code != 0x7f && !(code >= 0x80 && code < 0xa0))) {
            buf_append(&out, paste + i, n, NULL);
        }
        i += n;
    }
    if (e->mode.paste)
        buf_append(&out, "\033[201~", 6, NULL);
    send(e, buf_data(&out), out.len);
    buf_finish(&out);
}

static void send_mouse(struct emulator *e, const struct key_event *event)
{
    int mouse = e->mode.mouse, held = e->mouse_button;
    if (event->act == MOUSE_PRESS)
        e->mouse_button = event->button;
    else if (event->act == MOUSE_RELEASE)
        e->mouse_button = -1;
    bool wanted =
        mouse && event->row >= 0 && event->row < e->rows && event->column >= 0 && event->column < e->columns;
    if (event->act == MOUSE_MOVE)
        wanted &= mouse == 1003 || (mouse == 1002 && held >= 0);
    if (mouse == 9)
        wanted &= event->act == MOUSE_PRESS;
    if (!wanted)
        return;
    int code = event->button & 3;
    if (event->act == MOUSE_WHEEL_UP || event->act == MOUSE_WHEEL_DOWN)
        code = event->act == MOUSE_WHEEL_UP ? 64 : 65;
    else if (event->act == MOUSE_MOVE)
        code = 32 + (held >= 0 ? held & 3 : 3);
    code |= (event->mods & KEY_SHIFT ? 4 : 0) | (event->mods & KEY_ALT ? 8 : 0) |
            (event->mods & KEY_CTRL ? 16 : 0);
    bool release = event->act == MOUSE_RELEASE;
    if (e->mode.sgr_mouse) {
        send_printf(e, "\033[<%d;%d;%d%c", code, event->column + 1, event->row + 1, release ? 'm' : 'M');
        return;
    }
    if (event->row > 222 || event->column > 222)
        return;
    if (release)
        code |= 3;
    char bytes[6] = {0x1b, '[', 'M', (char)(32 + code), (char)(33 + event->column), (char)(33 + event->row)};
    send(e, bytes, sizeof(bytes));
}

void emulator_key(struct emulator *e, const struct key_event *event)
{
    switch (event->type) {
    case KEY_EVENT_NONE:
        return;
    case KEY_EVENT_CODE:
        send_key(e, event);
        return;
    case KEY_EVENT_PASTE:
        send_paste(e, event->paste, event->paste_len);
        return;
    case KEY_EVENT_MOUSE:
        send_mouse(e, event);
        return;
    case KEY_EVENT_FOCUS:
        if (e->mode.focus)
            send(e, event->on ? "\033[I" : "\033[O", 3);
        return;
    }
}
