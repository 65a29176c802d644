/* What a control or escape sequence does: kept as a wish, answered, given to libvterm, or dropped. What is
 * not named here is dropped. */
#include "ui/pane/emulator_internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static int value_of(const struct sequence *s, int i, int missing)
{
    return i < s->count && s->arg[i].value >= 0 ? s->arg[i].value : missing;
}

void emulator_answer(struct emulator *e, const char *format, ...)
{
    char bytes[64];
    va_list args;
    va_start(args, format);
    int n = vsnprintf(bytes, sizeof(bytes), format, args);
    va_end(args);
    if (n <= 0 || (size_t)n >= sizeof(bytes) || e->answered + (size_t)n > ANSWERS_MAX)
        return;
    e->answered += (size_t)n;
    if (e->options.input)
        e->options.input((const uint8_t *)bytes, (size_t)n, e->user);
}

/* The sequence as it was understood, numbers limited. */
static void forward(struct emulator *e, const struct sequence *s)
{
    char bytes[ARGS_MAX * 5 + 8];
    size_t n = 0;
    bytes[n++] = 0x1b;
    bytes[n++] = '[';
    if (s->leader)
        bytes[n++] = s->leader;
    for (int i = 0; i < s->count; i++) {
        if (i > 0)
            bytes[n++] = ';';
        if (s->arg[i].value >= 0)
            n += (size_t)snprintf(bytes + n, sizeof(bytes) - n, "%d", s->arg[i].value);
    }
    if (s->inter)
        bytes[n++] = s->inter;
    bytes[n++] = s->final;
    parser_forward(e, bytes, n);
}

/* ---- the kitty keyboard ---- */

struct kitty *emulator_kitty(struct emulator *e)
{
    return &e->kitty[e->at == &e->alternate];
}

int kitty_flags(const struct kitty *kitty)
{
    return kitty->flags[kitty->depth];
}

/* Of its flags we know the first: keys that could be taken for others come as codes. */
static void run_kitty(struct emulator *e, const struct sequence *s)
{
    parser_flush(e);
    struct kitty *kitty = emulator_kitty(e);
    int flags = value_of(s, 0, 0) & 1;
    if (s->leader == '?') {
        emulator_answer(e, "\033[?%du", kitty_flags(kitty));
    } else if (s->leader == '>') {
        if (kitty->depth == KITTY_DEPTH - 1)
            memmove(kitty->flags, kitty->flags + 1, KITTY_DEPTH - 1);
        else
            kitty->depth++;
        kitty->flags[kitty->depth] = (uint8_t)flags;
    } else if (s->leader == '<') {
        for (int n = value_of(s, 0, 1); n > 0 && kitty->depth > 0; n--)
            kitty->depth--;
        if (value_of(s, 0, 1) >= KITTY_DEPTH)
            kitty->flags[0] = 0;
    } else {
        int how = value_of(s, 1, 1);
        if (how == 1 || (how == 2 && flags))
            kitty->flags[kitty->depth] = (uint8_t)flags;
        else if (how == 3 && flags)
            kitty->flags[kitty->depth] = 0;
    }
}

/* ---- modes ---- */

static bool *own_mode(struct emulator *e, int number)
{
    switch (number) {
    case 1:
        return &e->mode.cursor_keys;
    case 1004:
        return &e->mode.focus;
    case 1006:
        return &e->mode.sgr_mouse;
    case 2004:
        return &e->mode.paste;
    default:
        return NULL;
    }
}

static bool is_mouse(int number)
{
    return number == 9 || number == 1000 || number == 1002 || number == 1003;
}

/* A place that was saved on a larger screen does not exist any more; libvterm does not look. */
static void check_cursor(struct emulator *e)
{
    int row = e->cursor.row < e->rows ? e->cursor.row : e->rows - 1;
    int column = e->cursor.col < e->columns ? e->cursor.col : e->columns - 1;
    if (row != e->cursor.row || column != e->cursor.col)
        parser_move_cursor(e, row, column);
}

static void switch_screen(struct emulator *e, int number, bool on)
{
    char bytes[16];
    int n = snprintf(bytes, sizeof(bytes), "\033[?%d%c", number == 47 ? 1047 : number, on ? 'h' : 'l');
    if (number == 1049 || number == 1048) {
        struct pen *saved = &e->saved_pen[0];
        if (on)
            *saved = e->pen;
        else
            e->pen = *saved;
    }
    struct pen pen = e->pen;
    bool was = e->at == &e->alternate;
    parser_forward(e, bytes, (size_t)n);
    parser_flush(e);
    e->pen = pen;
    if (was && e->at == &e->main)
        screen_reflow_main(e);
    check_cursor(e);
}

static void set_private_mode(struct emulator *e, int number, bool on)
{
    parser_flush(e);
    bool *own = own_mode(e, number);
    if (own) {
        *own = on;
    } else if (is_mouse(number)) {
        e->mode.mouse = on ? number : 0;
    } else if (number == 47 || (number >= 1047 && number <= 1049)) {
        switch_screen(e, number, on);
    } else if (number == 5 || number == 6 || number == 7 || number == 25) {
        char bytes[16];
        int n = snprintf(bytes, sizeof(bytes), "\033[?%d%c", number, on ? 'h' : 'l');
        parser_forward(e, bytes, (size_t)n);
    }
}

static void set_modes(struct emulator *e, const struct sequence *s)
{
    bool on = s->final == 'h';
    for (int i = 0; i < s->count; i++) {
        int number = value_of(s, i, -1);
        if (s->leader == '?') {
            set_private_mode(e, number, on);
        } else if (!s->leader && (number == 4 || number == 20)) {
            char bytes[16];
            int n = snprintf(bytes, sizeof(bytes), "\033[%d%c", number, on ? 'h' : 'l');
            parser_forward(e, bytes, (size_t)n);
            if (number == 20)
                e->mode.newline = on;
        }
    }
}

/* DECRQM, for the modes that are kept here. */
static void answer_mode(struct emulator *e, int number)
{
    parser_flush(e);
    const bool *own = own_mode(e, number);
    if (own)
        emulator_answer(e, "\033[?%d;%d$y", number, *own ? 1 : 2);
    else if (is_mouse(number))
        emulator_answer(e, "\033[?%d;%d$y", number, e->mode.mouse == number ? 1 : 2);
    else if (number == 25)
        emulator_answer(e, "\033[?25;%d$y", e->mode.cursor_hidden ? 2 : 1);
    else if (number == 1049)
        emulator_answer(e, "\033[?1049;%d$y", e->at == &e->alternate ? 1 : 2);
}

/* ---- the rest ---- */

static void answer_status(struct emulator *e, const struct sequence *s)
{
    parser_flush(e);
    int number = value_of(s, 0, 0);
    if (!s->leader && number == 5)
        emulator_answer(e, "\033[0n");
    else if (number == 6)
        emulator_answer(e, "\033[%s%d;%dR", s->leader ? "?" : "", e->cursor.row + 1, e->cursor.col + 1);
}

static void answer_attributes(struct emulator *e, const struct sequence *s)
{
    parser_flush(e);
    if (value_of(s, 0, 0) != 0)
        return;
    if (!s->leader)
        emulator_answer(e, "\033[?62;22c");
    else if (s->leader == '>')
        emulator_answer(e, "\033[>0;100;0c");
}

static void save_cursor(struct emulator *e, bool save)
{
    parser_forward(e, save ? "\0337" : "\0338", 2);
    parser_flush(e);
    struct pen *saved = &e->saved_pen[e->at == &e->alternate];
    if (save)
        *saved = e->pen;
    else
        e->pen = *saved;
    check_cursor(e);
}

/* Scrolls, inserts or deletes lines one at a time: libvterm 0.1.4 writes outside of its memory if they are
 * more than the scrolling region has. */
static void scroll_lines(struct emulator *e, const struct sequence *s)
{
    int count = value_of(s, 0, 1);
    if (count < 1)
        count = 1;
    const char bytes[] = {0x1b, '[', s->final};
    for (int i = 0; i < count && i < e->rows; i++)
        parser_forward(e, bytes, sizeof(bytes));
}

/* The scrolling region, if it is one: libvterm 0.1.4 takes what lies outside of the screen. */
static void set_region(struct emulator *e, const struct sequence *s)
{
    int top = value_of(s, 0, 1), bottom = value_of(s, 1, e->rows);
    top = top < 1 ? 1 : top;
    bottom = bottom < 1 || bottom > e->rows ? e->rows : bottom;
    if (top >= bottom)
        return;
    char bytes[32];
    int n = snprintf(bytes, sizeof(bytes), "\033[%d;%dr", top, bottom);
    parser_forward(e, bytes, (size_t)n);
}

/* Those with a leader or a byte between. True: done with. */
static bool run_marked(struct emulator *e, const struct sequence *s)
{
    if (!s->leader && !s->inter)
        return false;
    if (s->final == 'u' && !s->inter) {
        run_kitty(e, s);
    } else if ((s->final == 'h' || s->final == 'l') && s->leader == '?' && !s->inter) {
        set_modes(e, s);
    } else if (s->final == 'p' && s->inter == '$' && s->leader == '?') {
        answer_mode(e, value_of(s, 0, 0));
    } else if (s->final == 'p' && s->inter == '!' && !s->leader) {
        forward(e, s);
        parser_flush(e);
        e->pen = (struct pen){0};
        e->mode.cursor_keys = e->mode.newline = false;
    } else if (s->final == 'c' && !s->inter) {
        answer_attributes(e, s);
    } else if (s->final == 'n' && s->leader == '?' && !s->inter) {
        answer_status(e, s);
    } else if ((s->final == 'm' || s->final == 'n') && s->leader == '>' && value_of(s, 0, 0) == 4) {
        e->mode.modify_other = s->final == 'm' ? value_of(s, 1, 0) : 0;
    } else if ((s->final == 'J' || s->final == 'K') && s->leader == '?' && !s->inter) {
        forward(e, s);
    } else if (!s->leader && s->inter == '"' && s->final == 'q') {
        forward(e, s);
    } else if (!s->leader && s->inter == '\'' && (s->final == '}' || s->final == '~')) {
        forward(e, s);
    }
    return true;
}

void sequence_run(struct emulator *e, const struct sequence *s)
{
    if (run_marked(e, s))
        return;
    switch (s->final) {
    case 'm':
        parser_flush(e);
        pen_set(&e->pen, s);
        return;
    case 'h':
    case 'l':
        set_modes(e, s);
        return;
    case 'n':
        answer_status(e, s);
        return;
    case 'c':
        answer_attributes(e, s);
        return;
    case 'b':
        parser_repeat(e, value_of(s, 0, 1) > 0 ? value_of(s, 0, 1) : 1);
        return;
    case 's':
    case 'u':
        if (s->count == 0)
            save_cursor(e, s->final == 's');
        return;
    case 't':
        if (value_of(s, 0, 0) == 18)
            emulator_answer(e, "\033[8;%d;%dt", e->rows, e->columns);
        return;
    case 'J':
        if (value_of(s, 0, 0) == 3) {
            parser_flush(e);
            history_clear(e->history);
            e->changed = true;
            return;
        }
        forward(e, s);
        return;
    case 'L':
    case 'M':
    case 'S':
    case 'T':
        scroll_lines(e, s);
        return;
    case 'r':
        set_region(e, s);
        return;
    default:
        if (strchr("@ABCDEFGHIKPXZ`adefg", s->final))
            forward(e, s);
    }
}

void emulator_hard_reset(struct emulator *e)
{
    static const char leave[] = "\033[?1047l";
    if (e->at == &e->alternate) {
        parser_forward(e, leave, sizeof(leave) - 1);
        parser_flush(e);
        screen_reflow_main(e);
    }
    parser_flush(e);
    memset(&e->mode, 0, sizeof(e->mode));
    memset(e->kitty, 0, sizeof(e->kitty));
    memset(e->saved_pen, 0, sizeof(e->saved_pen));
    e->pen = (struct pen){0};
    vterm_state_reset(e->vstate, 1);
    screen_clear(e);
    e->cursor = (VTermPos){0};
    e->put.row = e->edge_row = -1;
    e->mouse_button = -1;
}

void sequence_escape(struct emulator *e, char inter, char final)
{
    char bytes[4] = {0x1b};
    size_t n = 1;
    if (inter) {
        /* Only character sets: ASCII, British, line drawing. */
        if (inter < '(' || inter > '+' || !strchr("0AB", final))
            return;
        bytes[n++] = inter;
        bytes[n++] = final;
        parser_forward(e, bytes, n);
        return;
    }
    switch (final) {
    case '7':
    case '8':
        save_cursor(e, final == '7');
        return;
    case 'c':
        emulator_hard_reset(e);
        return;
    case 'D':
    case 'E':
    case 'H':
    case 'M':
    case 'N':
    case 'O':
    case 'n':
    case 'o':
    case '=':
    case '>':
        bytes[n++] = final;
        parser_forward(e, bytes, n);
        return;
    default:
        return;
    }
}
