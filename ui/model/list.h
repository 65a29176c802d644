/* list.h: the state of a view's rows: which are shown, in which order, which one the cursor is on. The cursor
 * is an identity: it stays with its row through sorting and news. If its row goes away, the next act is
 * refused (list.gone) until the person has moved. */
#ifndef HUTCH_UI_LIST_H
#define HUTCH_UI_LIST_H

#include "ui/model/view.h"

#include <regex.h>

#define LIST_MARKS_MAX 1000
#define LIST_JUDGED    1500 /* rows that a filter judges at once, the newest first */
#define LIST_SORT_MANY 2000 /* rows from which on news are sorted in once a second only */
#define LIST_LINES_MAX 200  /* lines of one wrapped row */
#define LIST_ROW_TEXT  2048 /* bytes of a row that are searched and filtered */

struct list_row {
    size_t position;
    int depth;
};
/* A pattern as typed; on: it is compiled and in force. */
struct pattern {
    char *text;
    bool on, inverted, plain; /* plain: without special characters, compared as text */
    regex_t regex;
};
struct list {
    const struct view *view;
    struct list_row *rows;
    size_t count, room;
    uint64_t cursor; /* identity, 0: nothing is shown */
    size_t at;       /* its row */
    size_t top, left;
    int height, width; /* set by the layout */
    int sort;          /* column, -1: as it came */
    bool reverse, follow, wrap;
    bool stale, mine; /* to be made anew; because of the person, not of news */
    bool whole;       /* and not only added to */
    bool more;        /* the filter has not judged all rows yet: settling again goes on */
    uint64_t wanted;  /* the row that the cursor goes back to if the filter shows it */
    int64_t built_ns;
    bool gone; /* the row of the cursor went away */
    char *gone_name, *cursor_name;
    struct pattern filter, search;
    uint8_t *verdicts; /* of the filter, by position modulo verdict_room: 0 not known, 1 shown, 2 not */
    size_t verdict_room, judged;
    uint64_t *marks, *folds; /* folds: rows that are not as fold_all says */
    size_t mark_count, fold_count;
    bool unfolded; /* all but those of folds are unfolded */
};

void list_init(struct list *list, const struct view *view);
void list_finish(struct list *list);
/* Any of its rows may be new; rows were added at the end; what is shown at a position changed (the rows below
 * it did not). */
void list_news(struct list *list);
void list_grown(struct list *list);
void list_changed(struct list *list, size_t position);
/* The app's clock (app.c). */
int64_t app_now(const struct app *app);
/* The person wants its rows in another way. */
void list_restate(struct list *list);
/* Other rows altogether, by the person's wish (another project): cursor, marks and search begin anew. */
void list_restart(struct list *list);
/* Brings rows and cursor up to date. Cheap if nothing changed. */
void list_settle(const struct app *app, struct list *list);
/* The row count from the cursor on; ends follow unless it comes to the last row of a LOG. */
void list_move(const struct app *app, struct list *list, long rows);
void list_go(const struct app *app, struct list *list, size_t row);
bool list_select(const struct app *app, struct list *list, uint64_t identity);
/* Columns' widths in so many columns, -1 for those left out; one blank stands between. */
void list_columns(const struct app *app, const struct view *view, int width, int ret_widths[COLUMNS_MAX]);
/* Screen lines of a row: 1, or more with wrap. */
int list_row_lines(const struct app *app, const struct list *list, size_t row);
/* Bytes of the next line of safe text that is wrapped: up to the last blank that fits, or as much as fits. */
size_t list_break(const char *text, size_t len, int columns);
/* A row's cells with two blanks between, cut at size. Returns its length. */
size_t list_row_text(const struct app *app, const struct list *list, size_t position, char *ret, size_t size);
/* Filter and search; "" ends them. A bad expression is ERROR_INVALID, and what was before stays. */
int list_filter(struct list *list, const char *pattern, struct error **err);
int list_search(struct list *list, const char *pattern, struct error **err);
/* To the next (forward) or previous row that is searched, around the end; from: this row too. false: none. */
bool list_search_go(const struct app *app, struct list *list, bool forward, bool from);
/* While it is typed: from the cursor on, LIST_JUDGED rows at most. */
bool list_search_near(const struct app *app, struct list *list);
/* The next column that sorts, then as it came. Returns its title, NULL: as it came. */
const char *list_sort_next(struct list *list);
void list_mark(struct list *list, uint64_t identity);
bool list_marked(const struct list *list, uint64_t identity);
bool list_folded(const struct list *list, uint64_t identity);
void list_fold(struct list *list, uint64_t identity);
void list_fold_all(struct list *list);
/* Whether a row's text matches; *ret_start, *ret_end: where (bytes). */
bool pattern_find(const struct pattern *pattern, const char *text, size_t *ret_start, size_t *ret_end);
int pattern_set(struct pattern *pattern, const char *text, bool inversion, struct error **err);
void pattern_clear(struct pattern *pattern);

#endif
