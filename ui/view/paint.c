#include "ui/view/paint.h"

#include "base/text.h"

#include <string.h>

int paint_width(const char *text)
{
    size_t columns = 0;
    text_clip(text, strlen(text), SIZE_MAX, &columns);
    return (int)columns;
}

void paint_rule(const struct app *app, struct area area, int row, int column, int columns)
{
    area_fill(area, row, column, columns, STYLE_RULE, app->lines_work ? 0x2500 : '-');
}

void paint_upright(const struct app *app, struct area area, int row, int column)
{
    area_fill(area, row, column, 1, STYLE_RULE, app->lines_work ? 0x2502 : '|');
}

int paint_wrapped(struct area area, int row, int rows, int column, int columns, enum style style,
                  const char *text)
{
    size_t len = strlen(text);
    int lines = 0;
    while (len > 0 && columns > 0) {
        size_t step = list_break(text, len, columns);
        char line[4096];
        size_t n = step < sizeof(line) ? step : sizeof(line) - 1;
        memcpy(line, text, n);
        line[n] = 0;
        if (lines < rows)
            area_text(area, row + lines, column, columns, style, line);
        text += step;
        len -= step;
        lines++;
    }
    return lines;
}

int paint_key(struct area area, int row, int column, const char *key, const char *label)
{
    int width = paint_width(key) + 1 + paint_width(label);
    if (column + width > area.columns)
        return 0;
    int used = area_text(area, row, column, width, STYLE_KEY, key);
    area_text(area, row, column + used + 1, width - used - 1, STYLE_BAR, label);
    return width;
}
