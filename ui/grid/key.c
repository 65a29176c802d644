#include "ui/grid/key.h"

#include "base/alloc.h"
#include "base/text.h"
#include "base/words.h"
#include "ui/grid/grid.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

/* The first name of a code is the one that is shown. */
static const struct {
    const char *name;
    uint32_t code;
} named[] = {
    {"Space", ' '},
    {"Enter", KEY_NAME_ENTER},
    {"Tab", KEY_NAME_TAB},
    {"Backspace", KEY_NAME_BACKSPACE},
    {"Esc", KEY_NAME_ESCAPE},
    {"Up", KEY_NAME_UP},
    {"Down", KEY_NAME_DOWN},
    {"Left", KEY_NAME_LEFT},
    {"Right", KEY_NAME_RIGHT},
    {"Home", KEY_NAME_HOME},
    {"End", KEY_NAME_END},
    {"PageUp", KEY_NAME_PAGE_UP},
    {"PageDown", KEY_NAME_PAGE_DOWN},
    {"Insert", KEY_NAME_INSERT},
    {"Delete", KEY_NAME_DELETE},
    {"F1", KEY_NAME_F1},
    {"F2", KEY_NAME_F1 + 1},
    {"F3", KEY_NAME_F1 + 2},
    {"F4", KEY_NAME_F1 + 3},
    {"F5", KEY_NAME_F1 + 4},
    {"F6", KEY_NAME_F1 + 5},
    {"F7", KEY_NAME_F1 + 6},
    {"F8", KEY_NAME_F1 + 7},
    {"F9", KEY_NAME_F1 + 8},
    {"F10", KEY_NAME_F1 + 9},
    {"F11", KEY_NAME_F1 + 10},
    {"F12", KEY_NAME_F12},
    {"Escape", KEY_NAME_ESCAPE},
    {"Return", KEY_NAME_ENTER},
    {"PgUp", KEY_NAME_PAGE_UP},
    {"PgDn", KEY_NAME_PAGE_DOWN},
    {"PgDown", KEY_NAME_PAGE_DOWN},
    {"Ins", KEY_NAME_INSERT},
    {"Del", KEY_NAME_DELETE},
};

void key_event_finish(struct key_event *event)
{
    free(event->paste);
    *event = (struct key_event){0};
}

/* A control character as what it is on the keyboard. */
static void unfold_control(struct key_event *event)
{
    if (event->code >= 0x20 && event->code != 0x7f)
        return;
    event->code = event->code == 0x7f                     ? '?'
                  : event->code >= 1 && event->code <= 26 ? event->code + 'a' - 1
                                                          : event->code + '@';
    event->mods |= KEY_CTRL;
}

/* With Ctrl several keys give one control character. */
static void fold_control(struct key_event *event)
{
    static const struct {
        uint32_t from, to;
        bool plain; /* the result is a key of its own: Ctrl is not part of it */
    } folds[] = {
        {'i', KEY_NAME_TAB, true},       {'m', KEY_NAME_ENTER, true}, {'[', KEY_NAME_ESCAPE, true},
        {'?', KEY_NAME_BACKSPACE, true}, {'@', ' ', false},           {'/', '_', false},
    };
    if (event->code >= 'A' && event->code <= 'Z')
        event->code += 'a' - 'A';
    else if (event->code > 0x20 && event->code < 0x7f && !(event->code >= 'a' && event->code <= 'z'))
        event->mods &= ~KEY_SHIFT;
    if (event->mods & KEY_SHIFT)
        return;
    for (size_t i = 0; i < countof(folds); i++) {
        if (event->code == folds[i].from) {
            event->code = folds[i].to;
            event->mods &= folds[i].plain ? ~KEY_CTRL : ~0;
            return;
        }
    }
}

void key_canonical(struct key_event *event)
{
    if (event->type != KEY_EVENT_CODE || event->code >= KEY_NAMED)
        return;
    unfold_control(event);
    if (event->mods & KEY_CTRL) {
        fold_control(event);
        return;
    }
    if ((event->mods & KEY_SHIFT) && event->code >= 'a' && event->code <= 'z')
        event->code -= 'a' - 'A';
    event->mods &= ~KEY_SHIFT;
}

/* Takes "M-", "S-", "C-" off the front; returns what is left. */
static const char *parse_mods(const char *name, int *ret_mods)
{
    static const struct {
        char letter;
        int mod;
    } mods[] = {{'M', KEY_ALT}, {'S', KEY_SHIFT}, {'C', KEY_CTRL}};
    for (size_t i = 0; i < countof(mods);) {
        if (name[0] == mods[i].letter && name[1] == '-' && name[2]) {
            *ret_mods |= mods[i].mod;
            name += 2;
            i = 0;
        } else {
            i++;
        }
    }
    return name;
}

/* "U+202E": hexadecimal digits of a code point; false if it is none. */
static bool parse_number(const char *name, uint32_t *ret_code)
{
    uint32_t code = 0;
    size_t digits = 0;
    if (name[0] != 'U' || name[1] != '+')
        return false;
    for (const char *p = name + 2; *p; p++, digits++) {
        const char *all = "0123456789ABCDEF", *digit = strchr(all, *p);
        if (!digit || digits >= 6)
            return false;
        code = code << 4 | (uint32_t)(digit - all);
    }
    *ret_code = code;
    return digits >= 4 && code < KEY_NAMED;
}

static bool parse_code(const char *name, uint32_t *ret_code)
{
    int32_t code;
    size_t len = strlen(name);
    if (len && text_decode(name, len, &code) == len && code >= 0x20 && code != 0x7f) {
        *ret_code = (uint32_t)code;
        return true;
    }
    for (size_t i = 0; i < countof(named); i++) {
        if (strcasecmp(named[i].name, name) == 0) {
            *ret_code = named[i].code;
            return true;
        }
    }
    return parse_number(name, ret_code);
}

/* The nearest name of a key without its modifiers, or NULL. */
static const char *nearest(const char *base)
{
    const char *names[countof(named) + 1] = {0};
    for (size_t i = 0; i < countof(named); i++) {
        names[i] = named[i].name;
        if (strncasecmp(base, names[i], strlen(base)) == 0 && *base)
            return names[i];
    }
    return text_nearest(base, names);
}

int key_parse(const char *name, struct key_event *ret_event, struct error **err)
{
    struct key_event event = {.type = KEY_EVENT_CODE};
    const char *base = parse_mods(name, &event.mods);
    int32_t after = -1;
    if (base[0] == '^' && base[1] && text_decode(base + 1, strlen(base + 1), &after) == strlen(base + 1) &&
        after > 0x20 && after < 0x7f) {
        event.code = (uint32_t)after;
        event.mods |= KEY_CTRL;
    } else if (!parse_code(base, &event.code)) {
        const char *near = nearest(base);
        if (near)
            error_set(err, ERROR_INVALID, _("\"%s\" is not a key; the nearest is \"%.*s%s\""), name,
                      (int)(base - name), name, near);
        else
            error_set(err, ERROR_INVALID, _("\"%s\" is not a key"), name);
        error_hint(err, _("keys are written a, A, ^A, M-a, S-Enter, C-Up, Space, Esc, PageDown, F5"));
        return -ERROR_INVALID;
    }
    key_canonical(&event);
    *ret_event = event;
    return 0;
}

/* The code alone. */
static void name_code(uint32_t code, char ret[CELL_BYTES])
{
    for (size_t i = 0; i < countof(named); i++) {
        if (named[i].code == code) {
            snprintf(ret, CELL_BYTES, "%s", named[i].name);
            return;
        }
    }
    if (!cell_code_ok(code) || text_width(code) == 0 || code == 0xa0) {
        snprintf(ret, CELL_BYTES, "U+%04X", (unsigned)code);
        return;
    }
    cell_text(&(struct cell){.codes = {code}, .width = 1}, ret);
}

void key_name(const struct key_event *event, char ret[24])
{
    static const char *const others[] = {
        [KEY_EVENT_NONE] = "None",
        [KEY_EVENT_PASTE] = "Paste",
        [KEY_EVENT_MOUSE] = "Mouse",
        [KEY_EVENT_FOCUS] = "Focus",
    };
    if (event->type != KEY_EVENT_CODE) {
        snprintf(ret, 24, "%s", others[event->type]);
        return;
    }
    char code[CELL_BYTES];
    uint32_t c = event->code;
    name_code(c, code);
    bool caret = (event->mods & KEY_CTRL) && c > 0x20 && c < 0x7f && !(event->mods & KEY_SHIFT);
    if (caret && c >= 'a' && c <= 'z')
        code[0] = (char)(code[0] - 'a' + 'A');
    snprintf(ret, 24, "%s%s%s%s%.15s", (event->mods & KEY_CTRL) && !caret ? "C-" : "",
             event->mods & KEY_ALT ? "M-" : "", event->mods & KEY_SHIFT ? "S-" : "", caret ? "^" : "", code);
}

bool key_equal(const struct key_event *a, const struct key_event *b)
{
    if (a->type != b->type)
        return false;
    switch (a->type) {
    case KEY_EVENT_CODE:
        return a->code == b->code && a->mods == b->mods;
    case KEY_EVENT_MOUSE:
        return a->act == b->act && a->button == b->button && a->mods == b->mods;
    case KEY_EVENT_FOCUS:
        return a->on == b->on;
    case KEY_EVENT_PASTE:
        return a->paste_len == b->paste_len && !memcmp(a->paste, b->paste, a->paste_len);
    case KEY_EVENT_NONE:
        break;
    }
    return true;
}
