#include "ui/view/form.h"

#include "base/alloc.h"
#include "base/text.h"
#include "base/words.h"
#include "ui/model/field.h"
#include "ui/view/paint.h"

#include <string.h>

#define LABEL_COLUMNS 12 /* with the two blanks before it */
#define VALUE_COLUMNS 32
#define HELP_LEAST    20

/* Where a form is drawn: `top` lines of it are above the area. */
struct painter {
    const struct app *app;
    struct area area;
    int top, value;     /* value: columns of a field */
    bool focused, side; /* side: help stands beside the fields */
};

/* What is typed, between marks that are seen without colours too; a choice has others. */
static void paint_value(const struct painter *painter, int row, enum form_field field, bool here)
{
    const struct input *input = &painter->app->form.inputs[field];
    struct area area = painter->area;
    enum style style = here ? STYLE_FIELD_HERE : STYLE_FIELD;
    int at = input_column(input), room = painter->value - 1, left = at > room ? at - room : 0;
    size_t skipped = 0, skip = text_clip(input->text, input->len, (size_t)left, &skipped);
    bool choice = form_chooses(field);
    autofree char *chosen = input->len ? NULL : form_default(painter->app, field);
    autofree char *empty = chosen ? xasprintf(_("empty: %s"), chosen) : NULL;
    area_fill(area, row, LABEL_COLUMNS, painter->value, style, 0);
    area_text(area, row, LABEL_COLUMNS - 1, 1, here ? STYLE_KEY : STYLE_DIM, choice ? "<" : "[");
    area_text(area, row, LABEL_COLUMNS + painter->value, 1, here ? STYLE_KEY : STYLE_DIM, choice ? ">" : "]");
    if (choice) {
        area_text_cut(area, row, LABEL_COLUMNS, painter->value, style,
                      field == FORM_EGRESS ? field_word(input->text) : input->text, false);
        return;
    }
    if (empty)
        area_text_cut(area, row, LABEL_COLUMNS + 1, painter->value - 1, style, empty, false);
    if (here) {
        area_text(area, row, LABEL_COLUMNS, painter->value, style, input->text + skip);
        area.grid->cursor = painter->focused && row >= 0 && row < area.rows;
        area.grid->cursor_row = area.row + row;
        area.grid->cursor_column = area.column + LABEL_COLUMNS + at - (int)skipped;
    } else if (!empty) {
        area_text_cut(area, row, LABEL_COLUMNS, painter->value, style, input->text, false);
    }
}

static void paint_button(const struct painter *painter, int row, bool here)
{
    area_text(painter->area, row, LABEL_COLUMNS, painter->value, here ? STYLE_SELECTED : STYLE_FIELD,
              here ? _("> Make it <") : _("[ Make it ]"));
    if (here)
        area_text(painter->area, row, LABEL_COLUMNS + 13, painter->area.columns, STYLE_DIM,
                  _("Enter makes it and starts the machine"));
}

/* Columns for help beside the fields. */
static int beside_of(const struct painter *painter)
{
    return painter->area.columns - LABEL_COLUMNS - painter->value - 3;
}

/* One field with what is wrong with it. Returns the lines that it takes; draws nothing if measure. */
static int paint_field(const struct painter *painter, int row, enum form_field field, bool measure)
{
    const struct form *form = &painter->app->form;
    struct area area = painter->area;
    bool here = form->field == field, wrong = form->error_field == field && form->error;
    int columns = area.columns - LABEL_COLUMNS - 1, beside = beside_of(painter);
    int gap = field == FORM_BUTTON ? 1 : 0, lines = gap + 1;
    autofree char *help = form_help(painter->app, field);
    if (!measure) {
        area_text(area, row, 2, LABEL_COLUMNS - 3, here ? STYLE_KEY : STYLE_NORMAL, form_label(field));
        if (field == FORM_BUTTON)
            paint_button(painter, row + gap, here);
        else
            paint_value(painter, row, field, here);
        if (painter->side && field != FORM_BUTTON)
            area_text_cut(area, row, LABEL_COLUMNS + painter->value + 2, beside, STYLE_DIM, help, false);
    }
    if (wrong)
        lines += paint_wrapped(area, row + lines, measure ? 0 : area.rows, LABEL_COLUMNS, columns, STYLE_BAD,
                               form->error);
    return lines;
}

/* Below the fields, where nothing moves for it: the help of the field with the cursor, if there is not room
 * for all of it beside. */
static void paint_foot(const struct painter *painter, struct area area)
{
    const struct form *form = &painter->app->form;
    autofree char *help = form_help(painter->app, form->field);
    if (painter->side && paint_width(help) <= beside_of(painter))
        return;
    if (area.rows == 1)
        area_text_cut(area, 0, 2, area.columns - 3, STYLE_DIM, help, false);
    else
        paint_wrapped(area, 0, area.rows, 2, area.columns - 3, STYLE_DIM, help);
}

void paint_form(const struct app *app, struct area area, bool focused)
{
    const struct form *form = &app->form;
    int foot = area.rows > 16 ? 2 : area.rows > 4 ? 1 : 0, heading = area.rows > 16 ? 2 : 0;
    struct area below = area_part(area, area.rows - foot, 0, foot, area.columns);
    area = area_part(area, 0, 0, area.rows - foot, area.columns);
    struct painter painter = {.app = app, .area = area, .focused = focused, .value = VALUE_COLUMNS};
    int row = heading, here = 0, after = 0;
    if (area.columns >= 110)
        painter.value = 60;
    if (LABEL_COLUMNS + painter.value + 1 > area.columns)
        painter.value = area.columns > LABEL_COLUMNS + 2 ? area.columns - LABEL_COLUMNS - 1 : 1;
    painter.side = beside_of(&painter) >= HELP_LEAST;
    for (int field = 0; field < FORM_NONE; field++) {
        int lines = form_shows(form, (enum form_field)field)
                        ? paint_field(&painter, row, (enum form_field)field, true)
                        : 0;
        if (field == (int)form->field) {
            here = row;
            after = row + lines;
        }
        row += lines;
    }
    painter.top = row <= area.rows ? 0 : after > area.rows ? after - area.rows : 0;
    if (painter.top > here)
        painter.top = here;
    if (heading)
        area_text_cut(area, -painter.top, 2, area.columns - 2, STYLE_DIM,
                      _("a project is a machine of its own for some code"), false);
    row = heading - painter.top;
    for (int field = 0; field < FORM_NONE; field++)
        if (form_shows(form, (enum form_field)field))
            row += paint_field(&painter, row, (enum form_field)field, false);
    paint_foot(&painter, below);
}
