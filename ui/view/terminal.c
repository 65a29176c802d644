#include "ui/view/terminal.h"

#include "base/alloc.h"
#include "base/text.h"
#include "base/units.h"
#include "base/words.h"

#include <stdarg.h>
#include <string.h>

#define PARTS 12

#define FLEX_LEAST 16 /* columns that a text of any length keeps */

/* A part of the last row. When it is too narrow those of the greatest weight go first, or become shorter. */
struct part {
    char *text, *shorter; /* shorter: takes its place once */
    enum style style;
    int weight, shorter_weight; /* 0: never goes */
    bool flex;                  /* may be cut */
    int columns;
};
struct parts {
    const char *gap; /* between two of them */
    struct part part[PARTS];
    int count;
};

static int width_of(const char *utf8)
{
    size_t columns;
    text_clip(utf8, strlen(utf8), GRID_COLUMNS_MAX, &columns);
    return (int)columns;
}

static struct part *add(struct parts *parts, int weight, enum style style, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

static struct part *add(struct parts *parts, int weight, enum style style, const char *format, ...)
{
    va_list args;
    require(parts->count < PARTS);
    struct part *part = &parts->part[parts->count++];
    va_start(args, format);
    *part = (struct part){.text = xvasprintf(format, args), .style = style, .weight = weight};
    va_end(args);
    part->columns = width_of(part->text);
    return part;
}

static int parts_width(const struct parts *parts)
{
    int width = 0;
    for (int i = 0; i < parts->count; i++)
        width += parts->part[i].columns + (i > 0 ? width_of(parts->gap) : 0);
    return width;
}

static void drop(struct parts *parts, int n)
{
    struct part *part = &parts->part[n];
    free(part->text);
    if (part->shorter) {
        part->text = steal(&part->shorter);
        part->columns = width_of(part->text);
        part->weight = part->shorter_weight;
        return;
    }
    memmove(part, part + 1, sizeof(*part) * (parts->count - n - 1));
    parts->count--;
}

/* Cuts what may be cut by as many columns; false: nothing may be. */
static bool shrink(struct parts *parts, int columns)
{
    for (int i = 0; i < parts->count; i++) {
        struct part *part = &parts->part[i];
        if (!part->flex || part->columns <= FLEX_LEAST)
            continue;
        part->columns = part->columns - columns > FLEX_LEAST ? part->columns - columns : FLEX_LEAST;
        return true;
    }
    return false;
}

static void fit(struct parts *parts, int columns)
{
    for (int over; (over = parts_width(parts) - columns) > 0;) {
        int worst = 0;
        for (int i = 1; i < parts->count; i++)
            if (parts->part[i].weight > parts->part[worst].weight)
                worst = i;
        if (parts->part[worst].weight <= 1 && shrink(parts, over))
            continue;
        if (parts->part[worst].weight == 0)
            return;
        drop(parts, worst);
    }
}

static void paint(struct parts *parts, struct area area, int row)
{
    area_fill(area, row, 0, area.columns, STYLE_STATUS, ' ');
    fit(parts, area.columns);
    int column = 0;
    for (int i = 0; i < parts->count; i++) {
        if (i > 0)
            column += area_text(area, row, column, area.columns - column, STYLE_STATUS, parts->gap);
        int room = area.columns - column;
        const struct part *part = &parts->part[i];
        column += area_text_cut(area, row, column, part->columns < room ? part->columns : room, part->style,
                                part->text, false);
    }
    for (int i = 0; i < parts->count; i++) {
        free(parts->part[i].text);
        free(parts->part[i].shorter);
    }
}

/* ---- what the last row says ---- */

static const char *short_key(const char *key)
{
    return strcmp(key, "Escape") == 0 ? "Esc" : key;
}

static void add_name(const struct terminal *t, const struct terminal_facts *facts, struct parts *parts)
{
    bool over = terminal_state(t) == TERMINAL_ENDED || terminal_state(t) == TERMINAL_GONE;
    int weight = over ? 2 : 0;
    autofree char *project = text_safe(terminal_project(t));
    if (facts->turn > 0)
        add(parts, weight, STYLE_STATUS, _("[%s] %s turn %d"), project, terminal_label(t), facts->turn);
    else
        add(parts, weight, STYLE_STATUS, "[%s] %s", project, terminal_label(t));
}

static void add_keys(const struct terminal *t, struct parts *parts)
{
    const char *escape = terminal_escape(t);
    if (!escape)
        return;
    struct part *part = add(parts, 3, STYLE_KEY, _("%s ? keys, %s d leave"), escape, escape);
    part->shorter = xasprintf("%s ?", escape);
    part->shorter_weight = 1;
}

static void add_facts(const struct terminal *t, const struct terminal_facts *facts, struct parts *parts)
{
    char rate[UNITS_SIZE_MAX];
    const char *escape = terminal_escape(t);
    if (facts->state)
        add(parts, 0, STYLE_WARN, "%s", facts->state);
    if (facts->waiting > 0 && escape && facts->others)
        add(parts, 2, STYLE_WAITING, _("%d WAITING %s a"), facts->waiting, escape)->shorter =
            xasprintf(_("%d WAITING"), facts->waiting);
    else if (facts->waiting > 0)
        add(parts, 0, STYLE_WAITING, _("%d WAITING"), facts->waiting);
    if (facts->snapshot)
        add(parts, 4, STYLE_STATUS, _("snap %s"), facts->snapshot);
    units_format_size(terminal_rate(t), rate);
    add(parts, 5, STYLE_STATUS, "%s/s", terminal_rate(t) ? rate : "0");
}

static void line_typing(const struct terminal *t, const struct terminal_facts *facts, struct parts *parts)
{
    const char *note = terminal_note(t), *error = terminal_error(t);
    add_name(t, facts, parts);
    switch (terminal_state(t)) {
    case TERMINAL_ATTACHING:
        add(parts, 0, STYLE_BUSY, _("attaching"));
        break;
    case TERMINAL_LOST:
        add(parts, 0, STYLE_WARN, _("connection lost, coming back"));
        if (error && !note)
            add(parts, 4, STYLE_STATUS, "%s", error)->flex = true;
        break;
    case TERMINAL_ENDED:
        if (terminal_exit_status(t) == 0)
            add(parts, 0, STYLE_GOOD, _("ended"));
        else
            add(parts, 0, STYLE_BAD, _("ended: exit %d"), terminal_exit_status(t));
        add(parts, 1, STYLE_KEY, _("Enter closes"));
        return;
    case TERMINAL_GONE:
        add(parts, 0, STYLE_BAD, _("gone: %s"), error ? error : _("no such session"))->flex = true;
        add(parts, 1, STYLE_KEY, _("Enter closes"));
        return;
    case TERMINAL_LIVE:
        if (!note)
            add_facts(t, facts, parts);
        break;
    }
    if (note)
        add(parts, 0, STYLE_WARN, "%s", note)->flex = true;
    add_keys(t, parts);
}

static void line_prefix(const struct terminal *t, const struct terminal_facts *facts, struct parts *parts)
{
    static const int weights[] = {0, 3, 4, 2, 1, 5}; /* as the keys of terminal_keys */
    const struct terminal_key *key = terminal_keys(TERMINAL_PREFIX);
    add(parts, 0, STYLE_WARN, "%s", terminal_escape(t));
    for (int i = 0; key->key; key++, i++) {
        bool around = strchr("auSf", key->key[0]) && key->key[0];
        if (!around || facts->others)
            add(parts, weights[i], STYLE_KEY, "%s %s", key->key[0] ? key->key : terminal_escape(t),
                _(key->word));
    }
}

static void line_scroll(const struct terminal *t, const struct terminal_facts *facts, struct parts *parts)
{
    struct terminal_scroll scroll;
    terminal_scroll(t, &scroll);
    int lines = emulator_lines(terminal_emulator(t));
    add_name(t, facts, parts);
    add(parts, 0, STYLE_WARN, _("%d of %d lines up"), scroll.back, lines);
    if (terminal_note(t)) {
        add(parts, 0, STYLE_WARN, "%s", terminal_note(t))->flex = true;
    } else {
        add(parts, 2, STYLE_KEY, _("/ find"));
        if (*scroll.search)
            add(parts, 3, STYLE_KEY, _("n N next"));
        add(parts, 1, STYLE_KEY, _("y copy"));
        add(parts, 4, STYLE_KEY, _("? keys"));
    }
    add(parts, 0, STYLE_KEY, _("q back"));
}

static void paint_search(const struct terminal *t, struct area area, int row, bool focused)
{
    struct terminal_scroll scroll;
    terminal_scroll(t, &scroll);
    area_fill(area, row, 0, area.columns, STYLE_STATUS, ' ');
    int column = area_text(area, row, 0, area.columns, STYLE_KEY, _("search above: "));
    /* The end of a long text is what one types at. */
    const char *text = scroll.search;
    while (width_of(text) > area.columns - column - 1 && *text) {
        int32_t code;
        text += text_decode(text, strlen(text), &code);
    }
    column += area_text(area, row, column, area.columns - column, STYLE_FIELD_HERE, text);
    if (focused && column < area.columns) {
        area.grid->cursor = true;
        area.grid->cursor_row = area.row + row;
        area.grid->cursor_column = area.column + column;
    }
    const char *hint = _("Enter finds, Esc back");
    int room = area.columns - column - 2;
    if (room >= width_of(hint))
        area_text_cut(area, row, column + 2, room, STYLE_STATUS, hint, true);
}

/* ---- over the guest's screen ---- */

/* Where text that was searched for stands in a row. */
static void mark_matches(struct area area, int row, const char *text)
{
    for (int from = 0; from < area.columns; from++) {
        const char *p = text;
        int c = from;
        for (; *p && c < area.columns; c++) {
            const struct cell *cell = grid_at(area.grid, area.row + row, area.column + c);
            int32_t code;
            if (cell->width == 0)
                continue;
            p += text_decode(p, strlen(p), &code);
            uint32_t shown = cell->codes[0] ? cell->codes[0] : ' ';
            if (shown >= 'A' && shown <= 'Z')
                shown += 'a' - 'A';
            if (code >= 'A' && code <= 'Z')
                code += 'a' - 'A';
            if (shown != (uint32_t)code)
                break;
        }
        if (!*p && c > from)
            area_style(area, row, from, c - from, STYLE_MATCH);
    }
}

static void paint_scroll(const struct terminal *t, struct area area, bool focused)
{
    struct terminal_scroll scroll;
    terminal_scroll(t, &scroll);
    emulator_draw(terminal_emulator(t), area, scroll.back, false);
    for (int row = 0; *scroll.search && row < area.rows; row++)
        mark_matches(area, row, scroll.search);
    if (focused && scroll.row < area.rows && scroll.column < area.columns) {
        area.grid->cursor = true;
        area.grid->cursor_row = area.row + scroll.row;
        area.grid->cursor_column = area.column + scroll.column;
    }
}

static int help_lines(struct area box, int row, const struct terminal *t, const struct terminal_facts *facts,
                      enum terminal_mode mode)
{
    for (const struct terminal_key *key = terminal_keys(mode); key->key; key++) {
        bool prefix = mode == TERMINAL_PREFIX;
        if (prefix && !facts->others && key->key[0] && strchr("auSf", key->key[0]))
            continue;
        char name[64];
        snprintf(name, sizeof(name), "%s%s%s", prefix ? terminal_escape(t) : "", prefix ? " " : "",
                 key->key[0] ? key->key : terminal_escape(t));
        area_text_cut(box, row, 1, 8, STYLE_KEY, short_key(name), false);
        area_text_cut(box, row, 10, box.columns - 11, STYLE_NORMAL, _(key->about), false);
        row++;
    }
    return row;
}

/* The keys in a box over the guest's screen. */
static void paint_help(const struct terminal *t, struct area area, const struct terminal_facts *facts)
{
    int columns = area.columns < 66 ? area.columns : 66, rows = facts->others ? 18 : 14;
    if (rows > area.rows)
        rows = area.rows;
    struct area box = area_part(area, (area.rows - rows) / 2, (area.columns - columns) / 2, rows, columns);
    for (int row = 0; row < rows; row++)
        area_fill(box, row, 0, columns, STYLE_NORMAL, ' ');
    area_fill(box, 0, 0, columns, STYLE_HEADER, ' ');
    area_text_cut(box, 0, 1, columns - 2, STYLE_HEADER, _("Keys in a terminal; all others are the session's"),
                  false);
    int row = help_lines(box, 1, t, facts, TERMINAL_PREFIX);
    if (row < rows - 2) {
        area_fill(box, row, 0, columns, STYLE_HEADER, ' ');
        area_text_cut(box, row, 1, columns - 2, STYLE_HEADER,
                      _("Keys while you look at what has scrolled away"), false);
        row = help_lines(box, row + 1, t, facts, TERMINAL_SCROLL);
    }
    area.grid->cursor = false;
}

/* ---- all of it ---- */

void terminal_draw(const struct terminal *t, struct area area, const struct terminal_facts *facts,
                   bool focused)
{
    static const struct terminal_facts none;
    if (area.rows < 1 || area.columns < 1)
        return;
    if (!facts)
        facts = &none;
    int last = area.rows - 1;
    struct area guest = area_part(area, 0, 0, last, area.columns);
    enum terminal_mode mode = terminal_mode(t);
    struct parts parts = {.gap = mode == TERMINAL_PREFIX ? "  " : " | "};
    if (mode == TERMINAL_SCROLL || mode == TERMINAL_SEARCH)
        paint_scroll(t, guest, focused && mode == TERMINAL_SCROLL);
    else
        emulator_draw(terminal_emulator(t), guest, 0, focused && terminal_state(t) == TERMINAL_LIVE);
    if (mode == TERMINAL_SEARCH) {
        paint_search(t, area, last, focused);
        return;
    }
    if (mode == TERMINAL_HELP)
        paint_help(t, guest, facts);
    if (mode == TERMINAL_PREFIX)
        line_prefix(t, facts, &parts);
    else if (mode == TERMINAL_SCROLL)
        line_scroll(t, facts, &parts);
    else if (mode == TERMINAL_HELP)
        add(&parts, 0, STYLE_KEY, _("any key closes this"));
    else
        line_typing(t, facts, &parts);
    paint(&parts, area, last);
}

char *terminal_title(const struct terminal *t, const struct terminal_facts *facts)
{
    autofree char *project = text_safe(terminal_project(t));
    char ended[32];
    const char *state = facts && facts->state ? facts->state : NULL;
    if (facts && facts->waiting > 0)
        state = _("WAITING");
    if (terminal_state(t) == TERMINAL_LOST)
        state = _("connection lost");
    if (terminal_state(t) == TERMINAL_ENDED) {
        snprintf(ended, sizeof(ended), _("ended: exit %d"), terminal_exit_status(t));
        state = ended;
    }
    return xasprintf("hutch: %s %s%s%s", project, terminal_label(t), state ? " - " : "", state ? state : "");
}
