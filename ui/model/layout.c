#include "ui/model/layout.h"

bool box_shown(const struct box *box)
{
    return box->rows > 0 && box->columns > 0;
}

/* The tab with its line of tabs above. */
static void place_tab(struct layout *layout, int row, int column, int rows, int columns)
{
    layout->tabs = (struct box){row, column, 1, columns};
    layout->panes[PANE_TAB] = (struct box){row + 1, column, rows - 1, columns};
}

/* The table of projects above, the tab below. */
static void place_stack(const struct layout_wish *wish, struct layout *layout, int row, int rows, int columns)
{
    int table = wish->projects < 1 ? 1 : wish->projects > LAYOUT_TABLE ? LAYOUT_TABLE : wish->projects;
    layout->panes[PANE_PROJECTS] = (struct box){row, 0, table + 1, columns};
    place_tab(layout, row + table + 1, 0, rows - table - 1, columns);
}

static void place_one(const struct layout_wish *wish, struct layout *layout, int row, int rows)
{
    if (wish->terminal && wish->focus == PANE_TERMINAL)
        layout->panes[PANE_TERMINAL] = (struct box){row, 0, rows, wish->columns};
    else if (wish->focus == PANE_TAB)
        place_tab(layout, row, 0, rows, wish->columns);
    else
        layout->panes[PANE_PROJECTS] = (struct box){row, 0, rows, wish->columns};
}

static void rule(struct layout *layout, int n, int column, int row, int rows)
{
    layout->rules[n] = column;
    layout->rule_from = row;
    layout->rule_to = row + rows;
}

static void place_two(const struct layout_wish *wish, struct layout *layout, int row, int rows)
{
    int left = wish->columns * 3 / 5;
    place_stack(wish, layout, row, rows, left);
    rule(layout, 0, left, row, rows);
    layout->panes[PANE_DETAIL] = (struct box){row, left + 1, rows, wish->columns - left - 1};
}

static void place_three(const struct layout_wish *wish, struct layout *layout, int row, int rows)
{
    /* a terminal wants its 80 columns, the detail 36, the table of projects 68 */
    int left = wish->terminal ? wish->columns - 2 - 81 - 36 : wish->columns * 3 / 8;
    if (left > 68)
        left = 68;
    int right = wish->terminal ? wish->columns - left - 2 - 81 : (wish->columns - left) * 2 / 5;
    int middle = wish->columns - left - right - 2;
    layout->panes[PANE_PROJECTS] = (struct box){row, 0, rows, left};
    rule(layout, 0, left, row, rows);
    rule(layout, 1, left + 1 + middle, row, rows);
    if (!wish->terminal) {
        place_tab(layout, row, left + 1, rows, middle);
        layout->panes[PANE_DETAIL] = (struct box){row, left + middle + 2, rows, right};
        return;
    }
    int upper = rows * 3 / 5;
    layout->panes[PANE_TERMINAL] = (struct box){row, left + 1, rows, middle};
    place_tab(layout, row, left + middle + 2, upper, right);
    layout->panes[PANE_DETAIL] = (struct box){row + upper, left + middle + 2, rows - upper, right};
}

void layout_make(const struct layout_wish *wish, struct layout *ret)
{
    *ret = (struct layout){.title = 0, .line = wish->rows - 2, .bar = wish->rows - 1, .rules = {-1, -1}};
    int row = 1, rows = wish->rows - 3;
    if (wish->terminal && wish->focus == PANE_TERMINAL && !wish->overlay &&
        (wish->terminal_full || wish->columns < LAYOUT_THREE)) {
        ret->title = ret->line = ret->bar = -1;
        ret->panes[PANE_TERMINAL] = (struct box){0, 0, wish->rows, wish->columns};
        return;
    }
    if (wish->rows < 5) { /* no room for more than the rows and one line */
        ret->title = ret->line = -1;
        row = 0;
        rows = wish->rows > 1 ? wish->rows - 1 : 1;
        if (wish->rows < 2)
            ret->bar = -1;
    }
    if (wish->overlay)
        ret->panes[PANE_OVERLAY] = (struct box){row, 0, rows, wish->columns};
    else if (wish->rows < LAYOUT_ROWS || wish->columns < LAYOUT_COLUMNS)
        place_one(wish, ret, row, rows);
    else if (wish->columns >= LAYOUT_THREE)
        place_three(wish, ret, row, rows);
    else if (wish->columns >= LAYOUT_TWO)
        place_two(wish, ret, row, rows);
    else
        place_stack(wish, ret, row, rows, wish->columns);
}
