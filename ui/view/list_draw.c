/* The rows of a list. */
#include "ui/view/paint.h"

#include "base/alloc.h"
#include "base/text.h"
#include "base/words.h"

#include <string.h>

struct painter {
    const struct app *app;
    const struct list *list;
    const struct view *view;
    struct area area;
    int widths[COLUMNS_MAX];
    bool focused;
};

static void paint_header(const struct painter *painter)
{
    int column = LIST_GUTTER;
    area_fill(painter->area, 0, 0, painter->area.columns, STYLE_HEADER, 0);
    for (int i = 0; painter->view->columns[i].title; i++) {
        const struct column *info = &painter->view->columns[i];
        const char *title = _(info->title);
        if (painter->widths[i] < 0)
            continue;
        area_text_cut(painter->area, 0, column, painter->widths[i], STYLE_HEADER, title, info->right);
        if (painter->list->sort == i && painter->list->view->columns[i].sorts) {
            int at = column + (info->right ? painter->widths[i] - paint_width(title) : 0);
            area_style(painter->area, 0, at, paint_width(title), STYLE_MATCH);
        }
        column += painter->widths[i] + 1;
    }
}

/* Marks what is searched for in text that was drawn from a column on. */
static void paint_match(const struct painter *painter, int row, int column, int columns, const char *text)
{
    size_t start, end, before, width;
    if (!pattern_find(&painter->list->search, text, &start, &end) || end <= start)
        return;
    text_clip(text, start, SIZE_MAX, &before);
    text_clip(text + start, end - start, SIZE_MAX, &width);
    if ((int)before < columns)
        area_style(painter->area, row, column + (int)before,
                   (int)(before + width) > columns ? columns - (int)before : (int)width, STYLE_MATCH);
}

static void paint_cell(const struct painter *painter, int row, int lines, size_t at, int i, int column,
                       bool here)
{
    const struct list_row *of = &painter->list->rows[at];
    const struct column *info = &painter->view->columns[i];
    struct cell_out cell = {.text = ""};
    int columns = painter->widths[i];
    painter->view->cell(painter->app, of->position, i, &cell);
    enum style style = here ? STYLE_SELECTED : cell.style;
    const char *text = cell.text;
    if (info->width == 0) {
        int indent = 2 * of->depth < columns ? 2 * of->depth : columns;
        size_t skipped;
        column += indent;
        columns -= indent;
        if (!painter->list->wrap)
            text += text_clip(text, strlen(text), painter->list->left, &skipped);
    }
    if (lines > 1 && info->width == 0)
        paint_wrapped(painter->area, row, lines, column, columns, style, text);
    else
        area_text_cut(painter->area, row, column, columns, style, text, info->right);
    if (painter->list->search.on && !info->right)
        paint_match(painter, row, column, columns, text);
}

static void paint_row(const struct painter *painter, int row, int lines, size_t at)
{
    const struct list *list = painter->list;
    uint64_t identity = painter->view->identity(painter->app, list->rows[at].position);
    bool cursor = at == list->at && identity == list->cursor,
         here = cursor && painter->focused && !list->gone;
    bool marked = list->mark_count && list_marked(list, identity);
    int column = LIST_GUTTER;
    for (int i = 0; i < lines; i++)
        area_fill(painter->area, row + i, 0, painter->area.columns,
                  here     ? STYLE_SELECTED
                  : marked ? STYLE_MARKED
                           : STYLE_NORMAL,
                  0);
    if (cursor)
        area_text(painter->area, row, 0, 1, here ? STYLE_SELECTED : STYLE_DIM, list->gone ? "!" : ">");
    if (marked)
        area_text(painter->area, row, 1, 1, here ? STYLE_SELECTED : STYLE_MARKED, "*");
    for (int i = 0; painter->view->columns[i].title; i++) {
        if (painter->widths[i] < 0)
            continue;
        paint_cell(painter, row, lines, at, i, column, here);
        column += painter->widths[i] + 1;
    }
}

/* What stands where rows would be. */
static void paint_empty(const struct painter *painter, int row)
{
    const struct app *app = painter->app;
    autofree char *text = NULL;
    enum style style = STYLE_DIM;
    if (painter->list->filter.on)
        text = xasprintf(_("no row matches \"%s\"; Esc shows all"), painter->list->filter.text);
    else if (painter->view->flags & VIEW_TAB && !app->selected)
        return;
    else if (!app->up && !app->was_up && !app->down_why)
        text = xstrdup(_("asking hutchd ..."));
    else if (!app->up && !app->was_up) {
        text = xasprintf(_("hutchd is away: %s"), app->down_why);
        style = STYLE_BAD;
    } else if (app->up && !app->projects.known && app->projects.failure &&
               painter->view == view_table[VIEW_PROJECTS]) {
        text = xasprintf(_("the projects cannot be listed: %s"), app->projects.failure);
        style = STYLE_BAD;
    } else if (app->up && !app->projects.known && painter->view == view_table[VIEW_PROJECTS])
        text = xstrdup(_("asking hutchd for the projects ..."));
    else if (painter->view->flags & VIEW_TAB && app->selected && !app_project(app))
        text = xstrdup(_("this project is gone"));
    else if (painter->view->nothing)
        text = painter->view->nothing(app);
    else
        text = xstrdup(_(painter->view->empty));
    if (text)
        paint_wrapped(painter->area, row, painter->area.rows - row, LIST_GUTTER,
                      painter->area.columns - LIST_GUTTER, style, text);
}

void paint_list(const struct app *app, enum view_id view, struct area area, bool focused)
{
    struct painter painter = {app, &app->lists[view], view_table[view], area, {0}, focused};
    int row = 0;
    list_columns(app, painter.view, area.columns - LIST_GUTTER, painter.widths);
    if (painter.view->flags & VIEW_HEADER)
        paint_header(&painter), row++;
    if (!painter.list->count)
        paint_empty(&painter, row);
    for (size_t at = painter.list->top; at < painter.list->count && row < area.rows; at++) {
        int lines = list_row_lines(app, painter.list, at);
        paint_row(&painter, row, lines, at);
        row += lines;
    }
}
