/* What keys do in a terminal: they are the session's, but for the escape key and what follows it, and while
 * one looks at what has scrolled away. */
#include "base/alloc.h"
#include "base/text.h"
#include "base/words.h"
#include "ui/model/terminal_state.h"

#include <string.h>

static const struct terminal_key prefix_keys[] = {
    {"d", N_("leave"), N_("leave; the session goes on")},
    {"a", N_("inbox"), N_("look at what waits for you")},
    {"f", N_("full"), N_("fill the whole screen, or give it back")},
    {"[", N_("scroll"), N_("look at what has scrolled away")},
    {"?", N_("keys"), N_("these keys")},
    {"", N_("sends it"), N_("twice: the key itself goes to the session")},
    {NULL},
};
static const struct terminal_key scroll_keys[] = {
    {"k", N_("up"), N_("one line up; j down, h left, l right")},
    {"PageUp", N_("page"), N_("one page up; PageDown down, ^U and ^D half a page")},
    {"g", N_("top"), N_("to the oldest line; G to the newest")},
    {"/", N_("find"), N_("search towards older lines; n again, N back")},
    {"y", N_("copy"), N_("copy the address under the cursor, else the line")},
    {"q", N_("back"), N_("back to the session")},
    {NULL},
};

const struct terminal_key *terminal_keys(enum terminal_mode mode)
{
    return mode == TERMINAL_SCROLL || mode == TERMINAL_SEARCH ? scroll_keys : prefix_keys;
}

static void set_mode(struct terminal *t, enum terminal_mode mode)
{
    t->mode = mode;
    t->changed = true;
}

static bool is_key(const struct key_event *event, const char *name)
{
    struct key_event other = {0};
    return key_parse(name, &other, NULL) == 0 && key_equal(event, &other);
}

/* ---- scrolling ---- */

static int last_line(const struct terminal *t)
{
    return emulator_lines(t->emulator) + terminal_guest_rows(t) - 1;
}

static int between(int value, int least, int most)
{
    return value < least ? least : value > most ? most : value;
}

void terminal_scroll_keep(struct terminal *t, int rows)
{
    if (t->mode != TERMINAL_SCROLL && t->mode != TERMINAL_SEARCH && t->mode != TERMINAL_HELP)
        return;
    struct terminal_scroll *s = &t->scroll;
    s->back = between(s->back + (rows > 0 ? rows : 0), 0, emulator_lines(t->emulator));
    s->row = between(s->row, 0, terminal_guest_rows(t) - 1);
    s->column = between(s->column, 0, t->columns - 1);
}

static void enter_scroll(struct terminal *t, bool by_wheel)
{
    t->scroll.back = 0;
    t->scroll.row = terminal_guest_rows(t) - 1;
    t->scroll.column = 0;
    t->by_wheel = by_wheel;
    set_mode(t, TERMINAL_SCROLL);
}

static void leave_scroll(struct terminal *t)
{
    t->scroll.back = 0;
    t->search[0] = 0;
    set_mode(t, TERMINAL_TYPING);
}

/* The cursor by lines, up is positive; the view follows at its edges. */
static void move_lines(struct terminal *t, int lines)
{
    struct terminal_scroll *s = &t->scroll;
    s->row -= lines;
    int rows = terminal_guest_rows(t);
    if (s->row < 0)
        s->back -= s->row;
    else if (s->row > rows - 1)
        s->back -= s->row - (rows - 1);
    terminal_scroll_keep(t, 0);
    t->changed = true;
}

/* The view by lines; the cursor goes with it, and on where it ends. */
static void move_view(struct terminal *t, int lines)
{
    int before = t->scroll.back;
    t->scroll.back = between(before + lines, 0, emulator_lines(t->emulator));
    int rest = lines - (t->scroll.back - before);
    if (rest)
        move_lines(t, rest);
    t->changed = true;
}

/* Puts the cursor on a line, counted as emulator_search does. */
static void go_to_line(struct terminal *t, int line)
{
    struct terminal_scroll *s = &t->scroll;
    int rows = terminal_guest_rows(t), row = rows - 1 - (line - s->back);
    if (row < 0 || row >= rows) {
        s->back = between(line - rows / 2, 0, emulator_lines(t->emulator));
        row = rows - 1 - (line - s->back);
    }
    s->row = between(row, 0, rows - 1);
    t->changed = true;
}

/* The column where what was searched for begins in the cursor's row. */
static int match_column(const struct terminal *t)
{
    auto(grid) struct grid *grid = grid_create(terminal_guest_rows(t), t->columns);
    emulator_draw(t->emulator, area_all(grid), t->scroll.back, false);
    for (int from = 0; from < t->columns; from++) {
        const char *p = t->search;
        int c = from;
        for (; *p && c < t->columns; c++) {
            const struct cell *cell = grid_at(grid, t->scroll.row, c);
            int32_t code;
            if (cell->width == 0)
                continue;
            p += text_decode(p, strlen(p), &code);
            uint32_t shown = cell->codes[0] ? cell->codes[0] : ' ';
            uint32_t a = shown < 128 ? (uint32_t)(shown | 0x20) : shown;
            uint32_t b = code >= 0 && code < 128 ? (uint32_t)code | 0x20 : (uint32_t)code;
            if (a != b)
                break;
        }
        if (!*p || (c == t->columns && p > t->search))
            return from;
    }
    return 0;
}

static void search(struct terminal *t, bool older)
{
    if (!*t->search) {
        terminal_say(t, _("nothing was searched for: / searches"));
        return;
    }
    int line = terminal_guest_rows(t) - 1 - t->scroll.row + t->scroll.back;
    int from = between(line + (older ? 1 : -1), -1, last_line(t) + 1);
    int found = from < 0 ? -1 : emulator_search(t->emulator, t->search, from, older);
    if (found < 0) {
        terminal_say(t, older ? _("not found above: %s") : _("not found below: %s"), t->search);
        return;
    }
    go_to_line(t, found);
    t->scroll.column = match_column(t);
}

static void copy(struct terminal *t, struct effects *effects)
{
    const struct terminal_scroll *s = &t->scroll;
    bool url = true;
    autofree char *text = emulator_text_at(t->emulator, s->back, s->row, s->column, true);
    if (!text) {
        url = false;
        text = emulator_text_at(t->emulator, s->back, s->row, s->column, false);
    }
    if (!text || !*text) {
        terminal_say(t, _("nothing to copy on this line"));
        return;
    }
    effects_add_text(effects, EFFECT_COPY, text, 0)->id = t->copy_id = ++*t->ids;
    terminal_say(t, url ? _("copied: %s") : _("copied the line"), text);
}

struct move {
    const char *name;
    int lines;   /* of the cursor, up is positive */
    int halves;  /* of the view, in half pages */
    int columns; /* of the cursor */
    int end;     /* -1: to the oldest line, 1: to the newest */
};
static const struct move moves[] = {
    {"k", 1, 0, 0, 0},         {"Up", 1, 0, 0, 0},     {"j", -1, 0, 0, 0},     {"Down", -1, 0, 0, 0},
    {"h", 0, 0, -1, 0},        {"Left", 0, 0, -1, 0},  {"l", 0, 0, 1, 0},      {"Right", 0, 0, 1, 0},
    {"0", 0, 0, -100000, 0},   {"$", 0, 0, 100000, 0}, {"PageUp", 0, 2, 0, 0}, {"^b", 0, 2, 0, 0},
    {"PageDown", 0, -2, 0, 0}, {"^f", 0, -2, 0, 0},    {"^u", 0, 1, 0, 0},     {"^d", 0, -1, 0, 0},
    {"g", 0, 0, 0, -1},        {"Home", 0, 0, 0, -1},  {"G", 0, 0, 0, 1},      {"End", 0, 0, 0, 1},
};

static bool take_move(struct terminal *t, const struct key_event *event)
{
    for (size_t i = 0; i < countof(moves); i++) {
        const struct move *move = &moves[i];
        if (!is_key(event, move->name))
            continue;
        if (move->lines)
            move_lines(t, move->lines);
        int half = terminal_guest_rows(t) / 2;
        if (move->halves)
            move_view(t, move->halves * (half > 0 ? half : 1));
        if (move->end)
            go_to_line(t, move->end < 0 ? last_line(t) : 0);
        t->scroll.column = between(t->scroll.column + move->columns, 0, t->columns - 1);
        t->changed = true;
        return true;
    }
    return false;
}

static void take_wheel(struct terminal *t, const struct key_event *event)
{
    if (event->act != MOUSE_WHEEL_UP && event->act != MOUSE_WHEEL_DOWN)
        return;
    int lines = event->act == MOUSE_WHEEL_UP ? TERMINAL_WHEEL_LINES : -TERMINAL_WHEEL_LINES;
    t->scroll.back = between(t->scroll.back + lines, 0, emulator_lines(t->emulator));
    t->changed = true;
    if (t->scroll.back == 0 && t->by_wheel)
        leave_scroll(t);
}

static void scroll_key(struct terminal *t, const struct key_event *event, struct effects *effects)
{
    if (event->type == KEY_EVENT_MOUSE) {
        take_wheel(t, event);
        if (event->act == MOUSE_PRESS && event->row >= 0 && event->row < terminal_guest_rows(t)) {
            t->scroll.row = event->row;
            t->scroll.column = between(event->column, 0, t->columns - 1);
        }
        return;
    }
    if (event->type != KEY_EVENT_CODE)
        return;
    t->by_wheel = false;
    if (take_move(t, event))
        return;
    if (is_key(event, "/")) {
        t->search[0] = 0;
        set_mode(t, TERMINAL_SEARCH);
    } else if (is_key(event, "n") || is_key(event, "N")) {
        search(t, is_key(event, "n"));
    } else if (is_key(event, "y")) {
        copy(t, effects);
    } else if (is_key(event, "q") || is_key(event, "Escape") || is_key(event, "Enter")) {
        leave_scroll(t);
    } else if (is_key(event, "?")) {
        t->help_in_scroll = true;
        set_mode(t, TERMINAL_HELP);
    } else {
        char name[24];
        key_name(event, name);
        terminal_say(t, _("%s does nothing here; q goes back, ? shows the keys"), name);
    }
}

/* ---- the text to search for ---- */

static void append(struct terminal *t, const char *bytes, size_t len)
{
    struct text safe;
    text_init(&safe, bytes, len, 0, TEXT_DEFAULT);
    size_t have = strlen(t->search);
    if (have + safe.len <= TERMINAL_SEARCH_MAX)
        memcpy(t->search + have, safe.bytes, safe.len + 1);
    text_finish(&safe);
}

static void append_code(struct terminal *t, uint32_t code)
{
    const struct cell cell = {.codes = {code}, .width = 1};
    char bytes[CELL_BYTES];
    size_t n = cell_text(&cell, bytes);
    append(t, bytes, n);
}

static void search_key(struct terminal *t, const struct key_event *event)
{
    t->changed = true;
    if (event->type == KEY_EVENT_PASTE) {
        append(t, event->paste, event->paste_len);
        return;
    }
    if (event->type != KEY_EVENT_CODE)
        return;
    size_t len = strlen(t->search);
    if (is_key(event, "Enter")) {
        set_mode(t, TERMINAL_SCROLL);
        if (*t->search)
            search(t, true);
    } else if (is_key(event, "Escape")) {
        t->search[0] = 0;
        set_mode(t, TERMINAL_SCROLL);
    } else if (is_key(event, "Backspace")) {
        while (len > 0 && ((unsigned char)t->search[len - 1] & 0xc0) == 0x80)
            len--;
        t->search[len > 0 ? len - 1 : 0] = 0;
    } else if (is_key(event, "^u")) {
        t->search[0] = 0;
    } else if (event->code < KEY_NAMED && event->code >= ' ' && !(event->mods & (KEY_CTRL | KEY_ALT))) {
        append_code(t, event->code);
    }
}

/* ---- typing and the escape key ---- */

static bool is_escape(const struct terminal *t, const struct key_event *event)
{
    return *t->escape_name && event->type == KEY_EVENT_CODE && key_equal(event, &t->escape);
}

/* Without a wish of the guest's the wheel looks back, or moves in a program of the whole screen. */
static bool own_wheel(struct terminal *t, const struct key_event *event)
{
    struct emulator_wants wants;
    emulator_wants(t->emulator, &wants);
    if (wants.modes & EMULATOR_MOUSE_CLICKS)
        return false;
    if (event->act != MOUSE_WHEEL_UP && event->act != MOUSE_WHEEL_DOWN)
        return true;
    if (wants.alternate) {
        const struct key_event arrow = {.type = KEY_EVENT_CODE,
                                        .code = event->act == MOUSE_WHEEL_UP ? KEY_NAME_UP : KEY_NAME_DOWN};
        for (int i = 0; i < TERMINAL_WHEEL_LINES; i++)
            emulator_key(t->emulator, &arrow);
    } else if (event->act == MOUSE_WHEEL_UP && emulator_lines(t->emulator) > 0) {
        enter_scroll(t, true);
        take_wheel(t, event);
    }
    return true;
}

static void typed(struct terminal *t, const struct key_event *event)
{
    if (event->type == KEY_EVENT_MOUSE && (event->row >= terminal_guest_rows(t) || own_wheel(t, event)))
        return;
    if (t->state == TERMINAL_LIVE || t->state == TERMINAL_ATTACHING) {
        emulator_key(t->emulator, event);
        return;
    }
    if (event->type != KEY_EVENT_CODE && event->type != KEY_EVENT_PASTE)
        return;
    if (t->state == TERMINAL_LOST)
        terminal_say(t, _("not connected: that was not sent"));
    else if (is_key(event, "Enter") || is_key(event, "Escape") || is_key(event, "q"))
        t->ask = TERMINAL_ASK_CLOSE;
}

static void prefix_key(struct terminal *t, const struct key_event *event)
{
    static const struct {
        const char *name;
        enum terminal_ask ask;
    } asks[] = {
        {"d", TERMINAL_ASK_LEAVE},
        {"f", TERMINAL_ASK_FULL},
        {"a", TERMINAL_ASK_INBOX},
    };
    if (event->type == KEY_EVENT_MOUSE || event->type == KEY_EVENT_FOCUS)
        return;
    set_mode(t, TERMINAL_TYPING);
    if (event->type == KEY_EVENT_PASTE || is_escape(t, event)) {
        typed(t, event);
        return;
    }
    for (size_t i = 0; i < countof(asks); i++) {
        if (is_key(event, asks[i].name)) {
            t->ask = asks[i].ask;
            return;
        }
    }
    if (is_key(event, "[")) {
        enter_scroll(t, false);
    } else if (is_key(event, "?")) {
        t->help_in_scroll = false;
        set_mode(t, TERMINAL_HELP);
    } else if (!is_key(event, "Escape")) {
        char name[24];
        key_name(event, name);
        terminal_say(t, _("%s %s does nothing; %s ? shows the keys"), t->escape_name, name, t->escape_name);
    }
}

void terminal_take_key(struct terminal *t, const struct key_event *event, struct effects *effects)
{
    if (event->type == KEY_EVENT_CODE || event->type == KEY_EVENT_PASTE) {
        t->changed |= t->note != NULL;
        free(t->note);
        t->note = NULL;
    }
    switch (t->mode) {
    case TERMINAL_TYPING:
        if (is_escape(t, event))
            set_mode(t, TERMINAL_PREFIX);
        else
            typed(t, event);
        return;
    case TERMINAL_PREFIX:
        prefix_key(t, event);
        return;
    case TERMINAL_HELP:
        if (event->type == KEY_EVENT_CODE)
            set_mode(t, t->help_in_scroll ? TERMINAL_SCROLL : TERMINAL_TYPING);
        return;
    case TERMINAL_SCROLL:
        scroll_key(t, event, effects);
        return;
    case TERMINAL_SEARCH:
        search_key(t, event);
        return;
    }
}
