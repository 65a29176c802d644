#include "ui/model/list.h"

#include "base/alloc.h"
#include "base/text.h"

#include <stdio.h>
#include <string.h>

#define LIST_SORT_NS INT64_C(1000000000)

void list_init(struct list *list, const struct view *view)
{
    *list = (struct list){
        .view = view, .sort = -1, .stale = true, .mine = true, .whole = true, .height = 1, .width = 80};
    list->follow = view->flags & VIEW_LOG;
}

void list_finish(struct list *list)
{
    pattern_clear(&list->filter);
    pattern_clear(&list->search);
    free(list->rows);
    free(list->verdicts);
    free(list->marks);
    free(list->folds);
    free(list->gone_name);
    free(list->cursor_name);
    *list = (struct list){0};
}

void list_news(struct list *list)
{
    list->stale = list->whole = true;
}

void list_grown(struct list *list)
{
    list->stale = true;
}

void list_changed(struct list *list, size_t position)
{
    list->stale = true;
    list->whole = list->whole || list->filter.on;
    if (list->verdict_room && position < list->judged)
        list->verdicts[position & (list->verdict_room - 1)] = 0;
}

void list_restate(struct list *list)
{
    list->stale = list->mine = list->whole = true;
}

void list_restart(struct list *list)
{
    list->stale = list->mine = list->whole = true;
    list->cursor = 0;
    list->at = list->top = list->left = 0;
    list->mark_count = list->fold_count = 0;
    list->judged = 0;
    list->wanted = 0;
    list->gone = false;
    list->follow = list->view->flags & VIEW_LOG;
}

/* ---- which rows ---- */

size_t list_row_text(const struct app *app, const struct list *list, size_t position, char *ret, size_t size)
{
    size_t len = 0;
    ret[0] = 0;
    for (int column = 0; list->view->columns[column].title && len + 1 < size; column++) {
        struct cell_out cell = {.text = ""};
        list->view->cell(app, position, column, &cell);
        int n = snprintf(ret + len, size - len, "%s%s", len ? "  " : "", cell.text);
        len += n > 0 ? (size_t)n : 0;
    }
    return len < size ? len : size - 1;
}

static bool matches(const struct app *app, const struct list *list, size_t position)
{
    char text[LIST_ROW_TEXT];
    size_t start, end;
    list_row_text(app, list, position, text, sizeof(text));
    return pattern_find(&list->filter, text, &start, &end) != list->filter.inverted;
}

/* Makes the table of verdicts large enough; all is to be judged anew then. */
static void verdicts_room(struct list *list, size_t count)
{
    size_t room = 256;
    while (room < count)
        room *= 2;
    if (room == list->verdict_room)
        return;
    free(list->verdicts);
    list->verdicts = xcalloc(room, 1);
    list->verdict_room = room;
    list->judged = 0;
    list->whole = true;
}

/* Whether the filter lets a row through. Rows of their own are judged by then; those below others when they
 * are asked for. */
static bool passes(const struct app *app, struct list *list, size_t position, int depth)
{
    if (!list->filter.on)
        return true;
    uint8_t *verdict = &list->verdicts[position & (list->verdict_room - 1)];
    if (!*verdict && depth > 0)
        *verdict = matches(app, list, position) ? 1 : 2;
    return *verdict == 1;
}

/* Judges what is not judged yet, from the end on, so that typing never waits for a long list. */
static void judge(const struct app *app, struct list *list, size_t first, size_t end)
{
    size_t mask, left = LIST_JUDGED;
    verdicts_room(list, end - first);
    mask = list->verdict_room - 1;
    for (size_t position = list->judged > first ? list->judged : first; position < end; position++)
        list->verdicts[position & mask] = 0;
    list->more = false;
    for (size_t position = end; position-- > first;) {
        uint8_t *verdict = &list->verdicts[position & mask];
        if (*verdict || (list->view->shows && !list->view->shows(app, position)))
            continue;
        if (left == 0) {
            list->more = list->whole = true;
            return;
        }
        *verdict = matches(app, list, position) ? 1 : 2;
        left--;
    }
}

static void add_row(struct list *list, size_t position, int depth)
{
    if (list->count == list->room) {
        list->room = list->room ? list->room * 2 : 64;
        list->rows = xrealloc(list->rows, list->room, sizeof(*list->rows));
    }
    list->rows[list->count++] = (struct list_row){position, depth};
}

/* A row and what is unfolded below it. A row of which only something below matches is shown too. */
static void add_tree(const struct app *app, struct list *list, size_t position, int depth)
{
    const struct view *view = list->view;
    size_t own = list->count;
    bool shown = passes(app, list, position, depth);
    if (!shown && list->filter.inverted) /* what is not wanted goes with all that belongs to it */
        return;
    add_row(list, position, depth);
    size_t below = view->child && depth < 8 ? view->child(app, position) : 0;
    if (below && !list_folded(list, view->identity(app, position)))
        for (; below; below = view->sibling(app, below - 1))
            add_tree(app, list, below - 1, depth + 1);
    else
        for (; below && !shown; below = view->sibling(app, below - 1))
            shown = passes(app, list, below - 1, 1);
    if (!shown && list->count == own + 1)
        list->count = own;
}

struct sort_key {
    size_t position;
    int64_t number;
    char *text;
};

static int compare_keys(const void *a, const void *b, void *user)
{
    const struct sort_key *one = a, *other = b;
    bool down = *(const bool *)user;
    int order = one->text ? strcasecmp(one->text, other->text)
                          : (one->number > other->number) - (one->number < other->number);
    if (down)
        order = -order;
    return order ? order : (one->position > other->position) - (one->position < other->position);
}

/* Adds the rows in the order of the column. */
static void add_sorted(const struct app *app, struct list *list, size_t first, size_t end)
{
    const struct view *view = list->view;
    struct sort_key *keys = xnewn(struct sort_key, end - first + 1);
    size_t count = 0;
    for (size_t position = first; position < end; position++) {
        if (view->shows && !view->shows(app, position))
            continue;
        struct cell_out cell = {.text = ""};
        keys[count] = (struct sort_key){.position = position};
        if (view->order) {
            keys[count].number = view->order(app, position, list->sort);
        } else {
            view->cell(app, position, list->sort, &cell);
            keys[count].text = xstrdup(cell.text);
        }
        count++;
    }
    bool down = view->columns[list->sort].downward != list->reverse;
    qsort_r(keys, count, sizeof(*keys), compare_keys, &down);
    for (size_t i = 0; i < count; i++) {
        add_tree(app, list, keys[i].position, 0);
        free(keys[i].text);
    }
    free(keys);
}

static void add_position(const struct app *app, struct list *list, size_t position)
{
    if (!list->view->shows || list->view->shows(app, position))
        add_tree(app, list, position, 0);
}

/* Rows whose positions are gone go, those at the end come. */
static void extend(const struct app *app, struct list *list, size_t first, size_t end)
{
    size_t gone = 0;
    while (gone < list->count && list->rows[gone].position < first)
        gone++;
    if (gone) {
        memmove(list->rows, list->rows + gone, (list->count - gone) * sizeof(*list->rows));
        list->count -= gone;
        list->at = list->at > gone ? list->at - gone : 0;
        list->top = list->top > gone ? list->top - gone : 0;
    }
    for (size_t position = list->judged > first ? list->judged : first; position < end; position++)
        add_position(app, list, position);
}

static void rebuild(const struct app *app, struct list *list)
{
    const struct view *view = list->view;
    size_t first = view->first ? view->first(app) : 0, end = view->end(app);
    bool whole_next = false;
    list->more = false;
    if (list->filter.on) {
        bool was = list->whole;
        judge(app, list, first, end);
        whole_next = list->more;
        list->whole = was || list->whole;
    }
    bool whole = list->whole || list->sort >= 0 || list->reverse || list->judged > end;
    list->whole = whole_next;
    list->built_ns = app_now(app);
    if (whole)
        list->count = 0;
    if (!whole)
        extend(app, list, first, end);
    else if (list->sort >= 0)
        add_sorted(app, list, first, end);
    else if (list->reverse)
        for (size_t position = end; position-- > first;)
            add_position(app, list, position);
    else
        for (size_t position = first; position < end; position++)
            add_position(app, list, position);
    list->judged = end;
}

/* ---- where the cursor is ---- */

static uint64_t identity_at(const struct app *app, const struct list *list, size_t row)
{
    return row < list->count ? list->view->identity(app, list->rows[row].position) : 0;
}

static void remember_name(const struct app *app, struct list *list)
{
    free(list->cursor_name);
    list->cursor_name = list->cursor && list->view->label ? list->view->label(app, list->cursor) : NULL;
}

static bool find_row(const struct app *app, const struct list *list, uint64_t identity, size_t *ret_row)
{
    if (identity_at(app, list, list->at) == identity) {
        *ret_row = list->at;
        return true;
    }
    for (size_t row = 0; row < list->count; row++) {
        if (identity_at(app, list, row) == identity) {
            *ret_row = row;
            return true;
        }
    }
    return false;
}

size_t list_break(const char *text, size_t len, int columns)
{
    size_t used, fits = text_clip(text, len, columns > 0 ? (size_t)columns : 1, &used);
    if (fits == len || fits == 0)
        return len;
    for (size_t at = fits; at > fits / 2; at--)
        if (text[at] == ' ')
            return at + 1;
    return fits;
}

int list_row_lines(const struct app *app, const struct list *list, size_t row)
{
    int widths[COLUMNS_MAX], last = -1;
    if (!list->wrap || row >= list->count)
        return 1;
    list_columns(app, list->view, list->width, widths);
    for (int i = 0; list->view->columns[i].title; i++)
        if (list->view->columns[i].width == 0)
            last = i;
    if (last < 0 || widths[last] < 1)
        return 1;
    struct cell_out cell = {.text = ""};
    list->view->cell(app, list->rows[row].position, last, &cell);
    int width = widths[last] - 2 * list->rows[row].depth, lines = 0;
    size_t len = strlen(cell.text), used = 0;
    do {
        used += list_break(cell.text + used, len - used, width);
        lines++;
    } while (used < len && lines < LIST_LINES_MAX);
    return lines;
}

/* Scrolls so that the cursor's row is on the screen. */
static void keep_visible(const struct app *app, struct list *list)
{
    int height = list->height > 0 ? list->height : 1;
    if (list->at < list->top)
        list->top = list->at;
    if (!list->wrap) {
        if (list->at >= list->top + (size_t)height)
            list->top = list->at - (size_t)height + 1;
        if (list->count <= (size_t)height)
            list->top = 0;
        else if (list->top > list->count - (size_t)height)
            list->top = list->count - (size_t)height;
        return;
    }
    int lines = 0;
    size_t row = list->at;
    for (lines = list_row_lines(app, list, row); row > list->top; row--) {
        lines += list_row_lines(app, list, row - 1);
        if (lines > height)
            break;
    }
    list->top = row;
}

static void set_cursor(const struct app *app, struct list *list, size_t row)
{
    list->at = row;
    list->cursor = identity_at(app, list, row);
    list->gone = false;
    list->wanted = 0;
    remember_name(app, list);
    keep_visible(app, list);
}

void list_settle(const struct app *app, struct list *list)
{
    bool later = list->sort >= 0 && !list->mine && list->count > LIST_SORT_MANY &&
                 app_now(app) - list->built_ns < LIST_SORT_NS;
    if ((!list->stale && !list->more) || later) {
        keep_visible(app, list);
        return;
    }
    uint64_t was = list->wanted ? list->wanted : list->cursor;
    bool mine = list->mine || list->more || list->wanted;
    size_t row;
    list->stale = false;
    rebuild(app, list);
    bool found = was && list->count && find_row(app, list, was, &row);
    if (found && !list->follow) {
        /* Rows that came or went above do not move what is looked at. */
        size_t above = list->at > list->top ? list->at - list->top : 0;
        list->at = row;
        list->top = row > above ? row - above : 0;
    } else if (list->count) {
        bool lost = was && !found && !mine;
        if (lost && !list->gone) {
            list->gone_name = (free(list->gone_name), xstrdup(list->cursor_name));
        }
        size_t to = list->follow ? list->count - 1 : list->at < list->count ? list->at : list->count - 1;
        bool gone = (list->gone || (lost && !(list->view->flags & VIEW_LOG))) && !mine;
        list->at = to;
        list->cursor = identity_at(app, list, to);
        list->gone = gone;
    } else {
        list->gone = list->gone || (was && !mine);
        list->cursor = 0;
        list->at = list->top = 0;
    }
    list->wanted = list->more && !found ? was : 0;
    remember_name(app, list);
    list->mine = false;
    keep_visible(app, list);
}

void list_go(const struct app *app, struct list *list, size_t row)
{
    list_settle(app, list);
    if (!list->count)
        return;
    if (row >= list->count)
        row = list->count - 1;
    set_cursor(app, list, row);
    list->follow = (list->view->flags & VIEW_LOG) && row == list->count - 1;
}

void list_move(const struct app *app, struct list *list, long rows)
{
    list_settle(app, list);
    size_t at = list->at;
    if (rows < 0)
        at = (size_t)-rows < at ? at - (size_t)-rows : 0;
    else
        at += (size_t)rows;
    list_go(app, list, at);
}

bool list_select(const struct app *app, struct list *list, uint64_t identity)
{
    size_t row;
    list_settle(app, list);
    if (!find_row(app, list, identity, &row))
        return false;
    set_cursor(app, list, row);
    list->follow = false;
    return true;
}

/* ---- filter, search, sort ---- */

int list_filter(struct list *list, const char *pattern, struct error **err)
{
    int rc = pattern_set(&list->filter, pattern, true, err);
    if (rc == 0) {
        list->stale = list->mine = list->whole = true;
        list->judged = 0;
    }
    return rc;
}

int list_search(struct list *list, const char *pattern, struct error **err)
{
    return pattern_set(&list->search, pattern, false, err);
}

/* The same, but looks at so many rows at most. */
static bool search(const struct app *app, struct list *list, bool forward, bool from, size_t most)
{
    char text[LIST_ROW_TEXT];
    size_t start, end;
    list_settle(app, list);
    if (!list->search.on || !list->count)
        return false;
    for (size_t i = from ? 0 : 1; i <= list->count && i <= most; i++) {
        size_t row = (list->at + (forward ? i : list->count - i % list->count)) % list->count;
        list_row_text(app, list, list->rows[row].position, text, sizeof(text));
        if (pattern_find(&list->search, text, &start, &end)) {
            list_go(app, list, row);
            return true;
        }
    }
    return false;
}

bool list_search_go(const struct app *app, struct list *list, bool forward, bool from)
{
    return search(app, list, forward, from, SIZE_MAX);
}

bool list_search_near(const struct app *app, struct list *list)
{
    return search(app, list, true, true, LIST_JUDGED);
}

const char *list_sort_next(struct list *list)
{
    const struct column *columns = list->view->columns;
    int next = list->sort + 1;
    while (columns[next].title && !columns[next].sorts)
        next++;
    list->sort = columns[next].title ? next : -1;
    list->reverse = false;
    list->stale = list->mine = list->whole = true;
    return list->sort >= 0 ? columns[list->sort].title : NULL;
}

/* ---- marks and folds ---- */

/* Adds an identity to a set, or takes it out. */
static void toggle(uint64_t **set, size_t *count, size_t most, uint64_t identity)
{
    for (size_t i = 0; i < *count; i++) {
        if ((*set)[i] == identity) {
            (*set)[i] = (*set)[--*count];
            return;
        }
    }
    if (*count >= most)
        return;
    *set = xrealloc(*set, *count + 1, sizeof(**set));
    (*set)[(*count)++] = identity;
}

static bool has(const uint64_t *set, size_t count, uint64_t identity)
{
    for (size_t i = 0; i < count; i++)
        if (set[i] == identity)
            return true;
    return false;
}

void list_mark(struct list *list, uint64_t identity)
{
    toggle(&list->marks, &list->mark_count, LIST_MARKS_MAX, identity);
}

bool list_marked(const struct list *list, uint64_t identity)
{
    return has(list->marks, list->mark_count, identity);
}

bool list_folded(const struct list *list, uint64_t identity)
{
    return has(list->folds, list->fold_count, identity) == list->unfolded;
}

void list_fold(struct list *list, uint64_t identity)
{
    toggle(&list->folds, &list->fold_count, LIST_MARKS_MAX, identity);
    list->stale = list->mine = list->whole = true;
}

void list_fold_all(struct list *list)
{
    list->unfolded = !list->unfolded;
    list->fold_count = 0;
    list->stale = list->mine = list->whole = true;
}

/* ---- columns ---- */

static int rest_least(const struct column *column)
{
    return column->least ? column->least : 8;
}

/* Columns that are needed; *ret_rest: the one that gets what is left, or -1. */
static int wanted(const struct column *columns, int count, const int *widths, int *ret_rest)
{
    int sum = 0;
    *ret_rest = -1;
    for (int i = 0; i < count; i++) {
        if (widths[i] < 0)
            continue;
        sum += (sum ? 1 : 0) + (columns[i].width ? columns[i].width : rest_least(&columns[i]));
        if (!columns[i].width)
            *ret_rest = i;
    }
    return sum;
}

void list_columns(const struct app *app, const struct view *view, int width, int ret_widths[COLUMNS_MAX])
{
    const struct column *columns = view->columns;
    int count = 0, rest;
    for (; columns[count].title && count < COLUMNS_MAX; count++)
        ret_widths[count] = view->has && !view->has(app, count) ? -1 : columns[count].width;
    while (wanted(columns, count, ret_widths, &rest) > width) {
        int worst = -1;
        for (int i = 0; i < count; i++)
            if (ret_widths[i] >= 0 && columns[i].drop > 0 &&
                (worst < 0 || columns[i].drop > columns[worst].drop))
                worst = i;
        if (worst < 0)
            break;
        ret_widths[worst] = -1;
    }
    int used = wanted(columns, count, ret_widths, &rest);
    if (rest < 0)
        return;
    int left = rest_least(&columns[rest]) + width - used;
    ret_widths[rest] = left > 0 ? left : 0;
}
