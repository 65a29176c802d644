/* emulator_internal.h: the parts of an emulator, for its own files.
 *
 * parse.c reads the session's bytes: it drops what is not for a screen, keeps wishes, answers questions, and
 * gives libvterm what moves the cursor or shows something. libvterm's state layer does the moving; screen.c
 * has the cells. libvterm sees no character outside of ASCII: it gets a placeholder of the right width, so
 * that widths are those of base/text.h with every version of it, and what is put comes from `queue`. */
#ifndef HUTCH_UI_EMULATOR_INTERNAL_H
#define HUTCH_UI_EMULATOR_INTERNAL_H

#include "ui/pane/emulator.h"
#include "ui/pane/history.h"

#include <vterm.h>

#define EMULATOR_ROWS_MAX    500
#define EMULATOR_COLUMNS_MAX 1000
#define EMULATOR_COLUMNS_MIN 2 /* a wide character fits */
#define OUT_SIZE             8192
#define ARGS_MAX             32
#define NUMBER_MAX           9999      /* of a sequence's argument; what is larger is this */
#define SEQUENCE_MAX         512       /* bytes of a control sequence; a longer one is dropped */
#define STRING_MAX           (8 << 20) /* bytes after which a string without an end is given up */
#define KITTY_DEPTH          8
#define ANSWERS_MAX          4096 /* bytes of answers to one emulator_feed */

#define ATTR_PROTECTED 0x8000 /* of a cell: a selective erase leaves it */

/* How a character is taken: kept, or what is put in its place. */
enum char_kind { CHAR_UNKNOWN, CHAR_DROP, CHAR_MARK, CHAR_NARROW, CHAR_WIDE, CHAR_SPACE, CHAR_BAD };

struct row {
    struct cell *cells;
    int used; /* the cells from here on are blank */
    bool wrapped;
};
struct buffer {
    int rows, columns;
    struct row *row;
};
struct pen {
    uint16_t attr;
    bool concealed;
    uint32_t fg, bg;
};
struct kitty {
    uint8_t flags[KITTY_DEPTH]; /* the last one counts */
    int depth;                  /* of what was pushed */
};
struct arg {
    int value; /* -1: missing */
    bool more; /* the next one belongs to it (a colon stood between) */
};
struct sequence {
    char leader, inter, final; /* 0: none */
    struct arg arg[ARGS_MAX];
    int count;
};
enum parse_state {
    PARSE_TEXT,
    PARSE_ESCAPE,
    PARSE_CSI,
    PARSE_STRING,       /* until ST */
    PARSE_COMMAND,      /* until ST or BEL: OSC */
    PARSE_STRING_ESCAPE /* an ESC in one of both */
};
struct parser {
    enum parse_state state;
    bool command;      /* PARSE_STRING_ESCAPE: of PARSE_COMMAND */
    size_t string_len; /* dropped so far */
    uint8_t bytes[SEQUENCE_MAX];
    size_t len;
    bool overlong;
    uint32_t code, least; /* of a character that is not whole yet */
    int missing;
    uint32_t last; /* for REP; 0: none */
    bool marks;    /* a mark may go on the last character */
};

struct emulator {
    struct emulator_options options;
    void *user;
    VTerm *vt;
    VTermState *vstate;
    int rows, columns;
    struct buffer main, alternate, *at;
    struct buffer *kept; /* alternate screen: as it was before it was made smaller, until it is changed */
    struct history *history;
    struct pen pen, saved_pen[2];
    struct parser parser;
    uint8_t *kinds; /* enum char_kind of the first 0x20000 code points, four bits each */

    char out[OUT_SIZE];
    size_t out_len;
    uint32_t queue[OUT_SIZE];
    int queue_len, queue_next;

    VTermPos cursor, put; /* put: the last character's cell; row -1: none */
    int put_width;
    int edge_row, edge_end; /* the last character stands at the right edge of this row; -1: no */
    bool protecting;

    struct {
        bool cursor_hidden, reverse, cursor_keys, newline, focus, paste, sgr_mouse;
        int mouse; /* 0, 9, 1000, 1002, 1003 */
        int modify_other;
    } mode;
    struct kitty kitty[2]; /* of the main and the alternate screen */
    int mouse_button;      /* held: -1 none */
    size_t answered;
    bool belled, changed;
};

/* screen.c */
extern const VTermStateCallbacks screen_callbacks;
/* Of libvterm's own memory: what it gives away to a callback is freed and made by these. */
extern VTermAllocatorFunctions screen_allocator;
void buffer_init(struct buffer *buffer, int rows, int columns);
void buffer_finish(struct buffer *buffer);
void row_init(struct row *row, int columns);
/* Trailing blanks are not counted. */
int row_length(const struct row *row);
void screen_clear(struct emulator *e);
/* Puts a mark on the last character, if there is one. */
void screen_mark(struct emulator *e, uint32_t code);

/* resize.c */
void screen_resize(struct emulator *e, int rows, int columns);
/* The main screen is shown again: it gets the size that the terminal has now. */
void screen_reflow_main(struct emulator *e);
void screen_drop_kept(struct emulator *e);

/* parse.c */
void parser_feed(struct emulator *e, const uint8_t *bytes, size_t len);
/* Gives libvterm what has been gathered. */
void parser_flush(struct emulator *e);
/* Gives libvterm a sequence of our own, after what has been gathered. */
void parser_forward(struct emulator *e, const char *bytes, size_t len);
void parser_repeat(struct emulator *e, int count);
/* Puts the cursor somewhere, whatever margins there are. */
void parser_move_cursor(struct emulator *e, int row, int column);

/* sequence.c */
void sequence_run(struct emulator *e, const struct sequence *sequence);
void sequence_escape(struct emulator *e, char inter, char final);
void emulator_hard_reset(struct emulator *e);
void emulator_answer(struct emulator *e, const char *format, ...) __attribute__((format(printf, 2, 3)));
struct kitty *emulator_kitty(struct emulator *e);
int kitty_flags(const struct kitty *kitty);

/* emulator.c */
/* The cells of line n (as emulator_search counts), e->columns of them. Returns whether the line goes on in
 * the one below. */
bool emulator_line(const struct emulator *e, int n, struct cell *cells);

/* pen.c */
void pen_set(struct pen *pen, const struct sequence *sequence);

#endif
