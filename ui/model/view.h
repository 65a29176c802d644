/* view.h: a view as data: its columns, its keys, where its rows come from and what they can do. The list
 * engine (list.h) does all the rest: moving, sorting, filtering, searching, marking, folding, following. */
#ifndef HUTCH_UI_VIEW_H
#define HUTCH_UI_VIEW_H

#include "ui/grid/grid.h"
#include "ui/model/action.h"
#include "ui/model/effect.h"
#include "ui/model/message.h"

struct app;

enum view_id {
    VIEW_NONE,
#define X(id, name) VIEW_##id,
#include "ui/model/views.def"
#undef X
    VIEW_COUNT
};
enum view_flag {
    VIEW_LIST = 1,      /* rows that are chosen from */
    VIEW_LOG = 2,       /* rows in the order in which they came; follows the newest at first */
    VIEW_TREE = 4,      /* rows fold away under others */
    VIEW_PROMPT = 16,   /* keys are text for it: `input` of the app is open while it is on top */
    VIEW_TAB = 32,      /* a tab of the selected project */
    VIEW_HEADER = 64,   /* the columns' titles stand above */
    VIEW_PROJECT = 128, /* acts of KEYMAP_PROJECT work here, for the project that the row belongs to */
    VIEW_TYPES = 256    /* letters are text here: help is reached by a key that is none */
};

#define COLUMNS_MAX 12
struct column {
    const char *title;
    int width;     /* columns; 0: what is left */
    bool right;    /* aligned to the right */
    int drop;      /* the highest goes first where there is no room; 0 stays */
    bool sorts;    /* `s` stops here */
    bool downward; /* the largest first when it is sorted by */
    int least;     /* of what is left: columns that it needs; 0: 8 */
};
/* Text of one cell: what room is for, or something that outlives the drawing. Safe text. */
struct cell_out {
    const char *text;
    char room[160];
    enum style style;
};
/* Lines for the detail of a row: a label (may be "") and text of any length, both safe and copied. */
struct doc_line {
    char *label, *text;
    enum style style;
};
struct doc {
    struct doc_line *lines;
    size_t count;
};
void doc_add(struct doc *doc, enum style style, const char *label, const char *text);
void doc_addf(struct doc *doc, enum style style, const char *label, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
void doc_finish(struct doc *doc);

/* What a confirmation shows: the warning stands before the question; way_back is said after a mild act. All
 * are the caller's to free, NULL for none. */
struct act_words {
    char *warning, *question, *way_back;
};

struct view {
    const char *name, *title, *empty; /* empty: what to do when there is nothing to show */
    enum keymap map;                  /* its own keys, or KEYMAP_NONE */
    int flags;                        /* enum view_flag */
    const struct column *columns;     /* ended by a NULL title */
    /* Acts of the key bar, most wanted first, and acts of a row (for `x`); ended by ACTION_NONE. */
    const enum action *bar, *acts;

    /* Rows have positions first … end - 1; identities are never 0 and never given to another row. */
    size_t (*first)(const struct app *app); /* NULL: 0 */
    size_t (*end)(const struct app *app);
    uint64_t (*identity)(const struct app *app, size_t position);
    /* Whether a position is a row of its own here, not of another project or under another row. NULL: yes. */
    bool (*shows)(const struct app *app, size_t position);
    /* TREE: position + 1 of the first row below one, and of the next beside it; 0: none. */
    size_t (*child)(const struct app *app, size_t position);
    size_t (*sibling)(const struct app *app, size_t position);
    void (*cell)(const struct app *app, size_t position, int column, struct cell_out *out);
    /* Whether a column has anything to show at all; NULL: every one has. */
    bool (*has)(const struct app *app, int column);
    /* A number to sort a column by; NULL: by its text. */
    int64_t (*order)(const struct app *app, size_t position, int column);
    /* What a row is called in questions and messages: safe text, the caller's to free. NULL: there is no such
     * row any more. */
    char *(*label)(const struct app *app, uint64_t identity);
    /* The project that a row belongs to (its number); NULL: the selected one. */
    uint64_t (*project)(const struct app *app, uint64_t identity);
    /* What is to be known of a row: the pane at the right, and `Enter` where there is none. */
    void (*detail)(const struct app *app, uint64_t identity, struct doc *out);

    /* Acts. able: NULL if it can be done now, else why not (not the caller's). words: for the question. act:
     * does it; false: not an act of this view. */
    const char *(*able)(const struct app *app, uint64_t identity, enum action action);
    void (*words)(const struct app *app, uint64_t identity, enum action action, struct act_words *out);
    bool (*act)(struct app *app, uint64_t identity, enum action action, struct effects *effects);
    /* What an act is called just now, and Enter in the bar, where it is another word than usual; NULL: as
     * usual, "": the bar leaves it out (not the caller's). */
    const char *(*says)(const struct app *app, uint64_t identity, enum action action);
    /* The command line that does the same, where it is another than that of ui/actions.def; and what `y`
     * copies, where it is another text than the row's. The caller's to free; NULL: as usual. */
    char *(*twin)(const struct app *app, uint64_t identity, enum action action);
    char *(*copy)(const struct app *app, uint64_t identity);
    /* Enter on a row; NULL: its detail. */
    void (*open)(struct app *app, uint64_t identity, struct effects *effects);
    /* What the top line says after the title, and what stands where rows would be if `empty` is not enough:
     * safe text, the caller's to free. */
    char *(*heading)(const struct app *app);
    char *(*nothing)(const struct app *app);
    /* The view comes to be seen (also when hutchd is back while it is), and is no longer seen (a tab: also
     * for another project). */
    void (*shown)(struct app *app, struct effects *effects);
    void (*hidden)(struct app *app, struct effects *effects);
    /* PROMPT: a key for it; false: not taken, its maps are asked. */
    bool (*key)(struct app *app, const struct key_event *key, struct effects *effects);
};
/* Indexed by enum view_id. */
extern const struct view *const view_table[VIEW_COUNT];
/* The nth tab from 1 on, or VIEW_NONE; the number of a tab, 0: it is none. */
enum view_id view_tab(int number);
int view_tab_number(enum view_id view);
/* The maps that a view's keys are looked up in, in this order; ended by KEYMAP_NONE. */
void view_maps(const struct view *view, enum keymap ret[4]);
/* The key of an act in a view's maps; false: it has none there. */
bool view_key(const struct view *view, const struct bindings *bindings, enum action action, char ret[24]);

#endif
