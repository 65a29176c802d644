#include "ui/view/demo.h"

#include "base/alloc.h"
#include "base/words.h"
#include "ui/view/paint.h"

/* "demo  step 3 of 10" in the rule above. */
static void paint_head(const struct app *app, struct area area)
{
    int step, count;
    demo_step(app, &step, &count);
    autofree char *head = xasprintf(_(" demo  step %d of %d "), step, count);
    paint_rule(app, area, 0, 0, area.columns);
    area_text(area, 0, 2, area.columns - 2, STYLE_TITLE, head);
}

static void paint_keys(const struct app *app, struct area area, int row)
{
    autofree char *key = demo_key(app), *leave = demo_key_leave(app);
    int column = 0, width = paint_width(leave) + 1 + paint_width(_("leave the demo"));
    area_fill(area, row, 0, area.columns, STYLE_BAR, 0);
    if (key) {
        const char *press = _("press");
        column = area_text(area, row, 0, area.columns, STYLE_BAR, press) + 1;
        column += area_text(area, row, column, area.columns - column, STYLE_KEY, key) + 2;
        if (column + paint_width(demo_key_does(app)) + 2 <= area.columns - width)
            area_text(area, row, column, area.columns, STYLE_BAR, demo_key_does(app));
    } else if (app->demo.pressed) {
        area_text(area, row, 0, area.columns, STYLE_BUSY, _("wait ..."));
    }
    paint_key(area, row, area.columns - width, leave, _("leave the demo"));
}

void paint_demo(const struct app *app, struct area area)
{
    autofree char *text = demo_text(app);
    int rule = app->screen_rows >= DEMO_RULE_ROWS;
    if (area.rows < 1)
        return;
    if (rule)
        paint_head(app, area);
    paint_wrapped(area, rule, area.rows - rule - 1, 0, area.columns, STYLE_NORMAL, text);
    paint_keys(app, area, area.rows - 1);
}
