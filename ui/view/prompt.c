/* The prompt of a request: what is asked scrolls, what the answers do stands below it where there is room. */
#include "ui/view/prompt.h"

#include "base/text.h"
#include "base/words.h"
#include "ui/view/paint.h"

#include <string.h>

#define LABEL_COLUMNS  12 /* with the two blanks before it */
#define ANSWER_COLUMNS 23 /* "  d  deny, say why     " */
#define KEPT_LEAST     8  /* lines that scroll: fewer, and the answers scroll with them */

struct painter {
    const struct prompt *prompt;
    struct area area;
    bool narrow; /* labels stand closer */
};

static int hang(const struct painter *painter, const struct prompt_line *line)
{
    int columns = line->kind == PROMPT_ANSWER ? ANSWER_COLUMNS : LABEL_COLUMNS;
    if (line->kind == PROMPT_HEAD && paint_width(line->label) + 4 > columns)
        columns = paint_width(line->label) + 6;
    if (painter->narrow)
        columns = line->kind == PROMPT_ANSWER ? 5 : 4;
    return columns;
}

static uint32_t rule_of(const struct prompt *prompt)
{
    return prompt->class == REQUEST_ROUTINE ? '-' : prompt->class == REQUEST_UNUSUAL ? '=' : '#';
}

/* The edge of what is critical, left and right of its head. */
static void paint_edge(const struct painter *painter, int row, int lines)
{
    for (int i = 0; painter->prompt->class == REQUEST_CRITICAL && i < lines; i++) {
        area_fill(painter->area, row + i, 0, 1, STYLE_BAD, '#');
        area_fill(painter->area, row + i, painter->area.columns - 1, 1, STYLE_BAD, '#');
    }
}

/* A line that does not fit beside its label stands below it. Returns the lines used. */
static int paint_text(const struct painter *painter, int row, const struct prompt_line *line)
{
    struct area area = painter->area;
    int column = hang(painter, line), room = area.columns - column - 1;
    bool answer = line->kind == PROMPT_ANSWER, head = line->kind == PROMPT_HEAD;
    const char *label = line->label, *name = answer ? line->note : "";
    int first = answer ? 5 : 2, own = paint_width(label) + (answer ? paint_width(name) + 3 : 0);
    int above = painter->narrow && *label && first + own > column ? 1 : 0;
    enum style style = head && *label ? STYLE_TITLE : line->style;
    if (answer) {
        area_text(area, row, 2, 3, STYLE_KEY, label);
        area_text(area, row, 5, room, STYLE_NORMAL, name);
    } else {
        area_text(area, row, 2, area.columns - 3, head ? STYLE_TITLE : STYLE_DIM, label);
    }
    int lines = paint_wrapped(area, row + above, 1 << 20, column, room > 8 ? room : 8, style, line->text);
    if (!lines)
        lines = 1;
    if (!answer && line->note) {
        int width = paint_width(line->note), text = column + paint_width(line->text) + 2;
        if (lines == 1 && text + width <= area.columns - 1)
            area_text(area, row + above, area.columns - width - 1, width, STYLE_DIM, line->note);
        else
            area_text(area, row + above + lines++, column, area.columns - column - 1, STYLE_DIM, line->note);
    }
    if (head)
        paint_edge(painter, row, above + lines);
    return above + lines;
}

static int paint_line(const struct painter *painter, int row, const struct prompt_line *line)
{
    if (line->kind == PROMPT_RULE) {
        enum style style = painter->prompt->class == REQUEST_CRITICAL  ? STYLE_BAD
                           : painter->prompt->class == REQUEST_UNUSUAL ? STYLE_WARN
                                                                       : STYLE_RULE;
        area_fill(painter->area, row, 0, painter->area.columns, style, rule_of(painter->prompt));
        return 1;
    }
    return paint_text(painter, row, line);
}

/* Lines from … to - 1 of the prompt from a row on, which may be above the area. Returns the rows used. */
static int paint_lines(const struct painter *painter, int row, size_t from, size_t to)
{
    int at = row;
    for (size_t i = from; i < to; i++)
        at += paint_line(painter, at, &painter->prompt->lines[i]);
    return at - row;
}

void paint_prompt(struct app *app, struct area area)
{
    const struct prompt *prompt = &app->inbox.prompt;
    struct painter painter = {.prompt = prompt, .area = area, .narrow = area.columns < 60};
    struct painter nowhere = painter;
    nowhere.area = area_part(area, 0, 0, 0, 0);
    nowhere.area.columns = area.columns;
    if (!prompt->json) {
        area_text(area, 0, 2, area.columns - 2, STYLE_DIM,
                  prompt->id ? _("asking hutchd ...") : _("nothing waits for an answer"));
        return;
    }
    size_t end = prompt->count;
    int below = paint_lines(&nowhere, 0, prompt->answers, prompt->count);
    bool kept = area.rows - below >= KEPT_LEAST;
    if (kept)
        end = prompt->answers;
    int room = kept ? area.rows - below : area.rows;
    int total = paint_lines(&nowhere, 0, 0, end);
    prompt_drawn(app, total, room);
    painter.area = area_part(area, 0, 0, room, area.columns);
    paint_lines(&painter, -prompt->top, 0, end);
    int shown = total - prompt->top < room ? total - prompt->top : room;
    painter.area = area;
    if (kept)
        paint_lines(&painter, total <= room ? shown : room, prompt->answers, prompt->count);
}

/* Lines of it that are below what is shown. */
int prompt_below(const struct app *app)
{
    const struct prompt *prompt = &app->inbox.prompt;
    int below = prompt->total - prompt->top - prompt->room;
    return prompt->json && below > 0 ? below : 0;
}
