#include "ui/term/sequence.h"

#include "base/alloc.h"

#include <string.h>

#define F(n) (KEY_NAME_F1 + (n)-1)

/* CSI and SS3 by their last letter. */
static const struct {
    enum sequence_type type; /* NONE: both */
    char final;
    uint32_t code;
    int mods;
} letters[] = {
    {SEQUENCE_NONE, 'A', KEY_NAME_UP, 0},
    {SEQUENCE_NONE, 'B', KEY_NAME_DOWN, 0},
    {SEQUENCE_NONE, 'C', KEY_NAME_RIGHT, 0},
    {SEQUENCE_NONE, 'D', KEY_NAME_LEFT, 0},
    {SEQUENCE_NONE, 'H', KEY_NAME_HOME, 0},
    {SEQUENCE_NONE, 'F', KEY_NAME_END, 0},
    {SEQUENCE_NONE, 'P', F(1), 0},
    {SEQUENCE_NONE, 'Q', F(2), 0},
    {SEQUENCE_NONE, 'R', F(3), 0},
    {SEQUENCE_NONE, 'S', F(4), 0},
    {SEQUENCE_CSI, 'Z', KEY_NAME_TAB, KEY_SHIFT},
    {SEQUENCE_CSI, 'a', KEY_NAME_UP, KEY_SHIFT},
    {SEQUENCE_CSI, 'b', KEY_NAME_DOWN, KEY_SHIFT},
    {SEQUENCE_CSI, 'c', KEY_NAME_RIGHT, KEY_SHIFT},
    {SEQUENCE_CSI, 'd', KEY_NAME_LEFT, KEY_SHIFT},
    {SEQUENCE_SS3, 'a', KEY_NAME_UP, KEY_CTRL},
    {SEQUENCE_SS3, 'b', KEY_NAME_DOWN, KEY_CTRL},
    {SEQUENCE_SS3, 'c', KEY_NAME_RIGHT, KEY_CTRL},
    {SEQUENCE_SS3, 'd', KEY_NAME_LEFT, KEY_CTRL},
    /* The keypad in its application mode. */
    {SEQUENCE_SS3, 'M', KEY_NAME_ENTER, 0},
    {SEQUENCE_SS3, 'X', '=', 0},
    {SEQUENCE_SS3, 'j', '*', 0},
    {SEQUENCE_SS3, 'k', '+', 0},
    {SEQUENCE_SS3, 'l', ',', 0},
    {SEQUENCE_SS3, 'm', '-', 0},
    {SEQUENCE_SS3, 'n', '.', 0},
    {SEQUENCE_SS3, 'o', '/', 0},
    {SEQUENCE_SS3, 'p', '0', 0},
    {SEQUENCE_SS3, 'q', '1', 0},
    {SEQUENCE_SS3, 'r', '2', 0},
    {SEQUENCE_SS3, 's', '3', 0},
    {SEQUENCE_SS3, 't', '4', 0},
    {SEQUENCE_SS3, 'u', '5', 0},
    {SEQUENCE_SS3, 'v', '6', 0},
    {SEQUENCE_SS3, 'w', '7', 0},
    {SEQUENCE_SS3, 'x', '8', 0},
    {SEQUENCE_SS3, 'y', '9', 0},
};

/* CSI n ~ */
static const struct {
    int number;
    uint32_t code;
} numbers[] = {
    {1, KEY_NAME_HOME},
    {2, KEY_NAME_INSERT},
    {3, KEY_NAME_DELETE},
    {4, KEY_NAME_END},
    {5, KEY_NAME_PAGE_UP},
    {6, KEY_NAME_PAGE_DOWN},
    {7, KEY_NAME_HOME},
    {8, KEY_NAME_END},
    {11, F(1)},
    {12, F(2)},
    {13, F(3)},
    {14, F(4)},
    {15, F(5)},
    {17, F(6)},
    {18, F(7)},
    {19, F(8)},
    {20, F(9)},
    {21, F(10)},
    {23, F(11)},
    {24, F(12)},
};

/* CSI n u of the keypad, from 57399 on. */
static const uint32_t keypad[] = {
    '0',
    '1',
    '2',
    '3',
    '4',
    '5',
    '6',
    '7',
    '8',
    '9',
    '.',
    '/',
    '*',
    '-',
    '+',
    KEY_NAME_ENTER,
    '=',
    ',',
    KEY_NAME_LEFT,
    KEY_NAME_RIGHT,
    KEY_NAME_UP,
    KEY_NAME_DOWN,
    KEY_NAME_PAGE_UP,
    KEY_NAME_PAGE_DOWN,
    KEY_NAME_HOME,
    KEY_NAME_END,
    KEY_NAME_INSERT,
    KEY_NAME_DELETE,
};
#define KEYPAD_FIRST 57399
/* kitty's own codes for keys that write nothing. */
#define FUNCTIONAL_FIRST 57344
#define FUNCTIONAL_LAST  63743

#define PARAM_MAX 0x7fffff

/* Digits, colons and semicolons. */
static void parse_params(const uint8_t *data, size_t len, struct sequence *sequence)
{
    int value = 0, colon = 0, at = 0;
    for (size_t i = 0; i <= len; i++) {
        if (i < len && data[i] >= '0' && data[i] <= '9') {
            if (value < PARAM_MAX)
                value = value * 10 + (data[i] - '0');
            continue;
        }
        if (at < SEQUENCE_PARAMS) {
            if (colon == 0)
                sequence->params[at] = value;
            else if (colon == 1 && at == 0)
                sequence->second = value;
            else if (colon == 1 && at == 1)
                sequence->event = value;
        }
        value = 0;
        if (i < len && data[i] == ':') {
            colon++;
        } else {
            colon = 0;
            at++;
        }
    }
    sequence->count = len ? at < SEQUENCE_PARAMS ? at : SEQUENCE_PARAMS : 0;
}

static bool in(uint8_t byte, uint8_t first, uint8_t last)
{
    return byte >= first && byte <= last;
}

static const char ss3_finals[] = "ABCDHFPQRSabcdMXjklmnopqrstuvwxy";

static size_t parse_ss3(const uint8_t *data, size_t len, struct sequence *sequence)
{
    size_t at = 2;
    while (at < len && at < 8 && (in(data[at], '0', '9') || data[at] == ';'))
        at++;
    if (at == len)
        return 0;
    if (!data[at] || !strchr(ss3_finals, data[at]))
        return SEQUENCE_NOT;
    sequence->type = SEQUENCE_SS3;
    sequence->final = (char)data[at];
    parse_params(data + 2, at - 2, sequence);
    return at + 1;
}

/* The old mouse report: three bytes that may be anything come after it. */
static size_t parse_old_mouse(const uint8_t *data, size_t len, struct sequence *sequence)
{
    if (len < 6)
        return 0;
    sequence->type = SEQUENCE_CSI;
    sequence->prefix = '<';
    int button = data[3] < 32 ? 0 : data[3] - 32;
    sequence->final = (button & 3) == 3 && !(button & 96) ? 'm' : 'M';
    sequence->params[0] = sequence->final == 'm' ? button & ~3 : button;
    sequence->params[1] = data[4] > 32 ? data[4] - 32 : 1;
    sequence->params[2] = data[5] > 32 ? data[5] - 32 : 1;
    sequence->count = 3;
    return 6;
}

size_t sequence_parse(const uint8_t *data, size_t len, struct sequence *ret_sequence)
{
    *ret_sequence = (struct sequence){0};
    if (len < 3)
        return 0;
    if (data[1] == 'O')
        return parse_ss3(data, len, ret_sequence);
    if (data[2] == 'M')
        return parse_old_mouse(data, len, ret_sequence);
    size_t at = 2;
    if (data[at] == '[') /* the Linux console's F1 to F5 */
        at++;
    else if (in(data[at], '<', '?'))
        ret_sequence->prefix = (char)data[at++];
    size_t first = at;
    while (at < len && at < SEQUENCE_BYTES && in(data[at], '0', ';'))
        at++;
    size_t params = at - first;
    bool rxvt_shift = at < len && data[at] == '$' && !ret_sequence->prefix && params > 0;
    while (!rxvt_shift && at < len && at < SEQUENCE_BYTES && in(data[at], ' ', '/'))
        at++;
    if (at == len && len < SEQUENCE_BYTES)
        return 0;
    if (at == 2 && !in(data[at], '@', '~'))
        return SEQUENCE_NOT;
    if (at >= SEQUENCE_BYTES || !(rxvt_shift || in(data[at], '@', '~')))
        return at; /* broken off: what comes next is something else */
    ret_sequence->type = SEQUENCE_CSI;
    ret_sequence->final = (char)data[at];
    parse_params(data + first, params, ret_sequence);
    if (data[2] == '[' && in(data[at], 'A', 'E')) {
        ret_sequence->params[0] = data[at] == 'E' ? 15 : 11 + data[at] - 'A';
        ret_sequence->final = '~';
    }
    return at + 1;
}

/* A parameter of modifiers is 1 and the sum of Shift 1, Alt 2, Ctrl 4, Super 8, Hyper 16, Meta 32 and the
 * locks; false: with Super or Hyper. */
static bool mods_of(int param, int *ret_mods)
{
    static const struct {
        int bit, mod;
    } bits[] = {{1, KEY_SHIFT}, {2, KEY_ALT}, {4, KEY_CTRL}, {32, KEY_ALT}};
    int value = param > 0 ? param - 1 : 0;
    for (size_t i = 0; i < countof(bits); i++)
        *ret_mods |= value & bits[i].bit ? bits[i].mod : 0;
    return !(value & (8 | 16));
}

static void set_code(struct key_event *event, uint32_t code, int mods)
{
    static const struct {
        uint32_t code, named;
    } controls[] = {{0x1b, KEY_NAME_ESCAPE},
                    {'\r', KEY_NAME_ENTER},
                    {'\t', KEY_NAME_TAB},
                    {0x7f, KEY_NAME_BACKSPACE},
                    {0x08, KEY_NAME_BACKSPACE}};
    for (size_t i = 0; i < countof(controls); i++)
        if (controls[i].code == code)
            code = controls[i].named;
    *event = (struct key_event){.type = KEY_EVENT_CODE, .code = code, .mods = mods};
}

static bool in_keypad(int code)
{
    return code >= KEYPAD_FIRST && code < KEYPAD_FIRST + (int)countof(keypad);
}

/* A code point and not one of our own codes behind them. */
static bool is_unicode(int code)
{
    return code > 0 && code <= 0x10ffff && !(code >= 0xd800 && code < 0xe000);
}

static void unicode_event(int code, int shifted, int mods, struct key_event *event)
{
    if (in_keypad(code)) {
        set_code(event, keypad[code - KEYPAD_FIRST], mods);
        return;
    }
    if (!is_unicode(code) || (code >= FUNCTIONAL_FIRST && code <= FUNCTIONAL_LAST))
        return;
    if (shifted > 0x20 && is_unicode(shifted) && (mods & KEY_SHIFT) && !(mods & KEY_CTRL))
        code = shifted;
    set_code(event, (uint32_t)code, mods);
}

/* CSI n ~ and rxvt's CSI n ^, $ and @. */
static void number_event(const struct sequence *sequence, int mods, struct key_event *event)
{
    mods |= sequence->final == '^' || sequence->final == '@' ? KEY_CTRL : 0;
    mods |= sequence->final == '$' || sequence->final == '@' ? KEY_SHIFT : 0;
    for (size_t i = 0; i < countof(numbers); i++)
        if (numbers[i].number == sequence->params[0])
            set_code(event, numbers[i].code, mods);
}

static void letter_event(const struct sequence *sequence, int mods, struct key_event *event)
{
    for (size_t i = 0; i < countof(letters); i++)
        if (letters[i].final == sequence->final &&
            (letters[i].type == SEQUENCE_NONE || letters[i].type == sequence->type))
            set_code(event, letters[i].code, mods | letters[i].mods);
}

static void mouse_event(const struct sequence *sequence, struct key_event *event)
{
    int bits = sequence->params[0];
    bool wheel = bits & 64, moved = bits & 32;
    if (sequence->count != 3 || (bits & 128) || (wheel && (bits & 3) > 1))
        return;
    *event = (struct key_event){
        .type = KEY_EVENT_MOUSE,
        .act = wheel                    ? (bits & 1 ? MOUSE_WHEEL_DOWN : MOUSE_WHEEL_UP)
               : moved                  ? MOUSE_MOVE
               : sequence->final == 'm' ? MOUSE_RELEASE
                                        : MOUSE_PRESS,
        .button = wheel ? 0 : bits & 3,
        .mods = (bits & 4 ? KEY_SHIFT : 0) | (bits & 8 ? KEY_ALT : 0) | (bits & 16 ? KEY_CTRL : 0),
        .column = sequence->params[1] > 0 ? sequence->params[1] - 1 : 0,
        .row = sequence->params[2] > 0 ? sequence->params[2] - 1 : 0,
    };
}

void sequence_event(const struct sequence *sequence, struct key_event *ret_event)
{
    *ret_event = (struct key_event){0};
    if (sequence->prefix == '<' && (sequence->final == 'M' || sequence->final == 'm')) {
        mouse_event(sequence, ret_event);
        return;
    }
    int mods = 0;
    bool short_form = sequence->type == SEQUENCE_SS3 && sequence->count == 1; /* ESC O 5 A */
    if (sequence->prefix || sequence->event == 3 || !mods_of(sequence->params[short_form ? 0 : 1], &mods))
        return;
    if (sequence->type == SEQUENCE_CSI && !sequence->count &&
        (sequence->final == 'I' || sequence->final == 'O')) {
        ret_event->type = KEY_EVENT_FOCUS;
        ret_event->on = sequence->final == 'I';
    } else if (sequence->type == SEQUENCE_CSI && sequence->final == 'u') {
        unicode_event(sequence->params[0], sequence->second, mods, ret_event);
    } else if (sequence->final == '~' && sequence->params[0] == 27 && sequence->count >= 3) {
        unicode_event(sequence->params[2], 0, mods, ret_event);
    } else if (strchr("~^$@", sequence->final)) {
        number_event(sequence, mods, ret_event);
    } else {
        letter_event(sequence, mods, ret_event);
    }
}
