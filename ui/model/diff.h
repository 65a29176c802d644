/* diff.h: what differs between two commits, as rows. hutchd gives it in pages: first the list of files, then
 * the lines of those that are looked at, and, while nothing else is wanted, of the others. */
#ifndef HUTCH_UI_DIFF_H
#define HUTCH_UI_DIFF_H

#include "ui/model/view.h"

#define DIFF_FILES_MAX      100000
#define DIFF_FILES_FIRST    200 /* files of the first page of the list, and of further ones */
#define DIFF_FILES_PAGE     2000
#define DIFF_NUMBER_COLUMNS 12          /* of the numbers of old and new lines */
#define DIFF_TEXT_MAX       16384       /* bytes of a row of two lines */
#define DIFF_FIRST_BYTES    (128 << 10) /* of lines: what is waited for, and what comes ahead of it … */
#define DIFF_PAGE_BYTES     (1 << 20)
#define DIFF_AHEAD_BYTES    (16 << 20) /* … until so much is here */

struct diff_line {
    char *text; /* safe, without tabs; of a hunk's head its words */
    uint32_t hunk, old_no, new_no;
    char sign; /* '@': a hunk begins; ' ', '+', '-', '\\' */
};
/* Lines that stand beside each other: index + 1, 0: none. */
struct diff_pair {
    uint32_t left, right;
};
struct diff_file {
    char *raw_path; /* as the API takes it; NULL: the list has not come so far */
    char *path, *old_path, *kind, *class, *target, *old_mode, *new_mode; /* safe */
    int64_t old_size, new_size, insertions, deletions;                   /* -1: none, or not counted */
    char status;
    bool binary, too_large, outside;
    bool here; /* its lines are */
    struct diff_line *lines;
    size_t count;
    struct diff_pair *pairs;
    size_t pair_count, hunks;
    size_t first; /* its head's row */
    bool whole;   /* marked: all of it … */
    bool *picked; /* … or these of its hunks */
    size_t picks;
};
struct diff_words {
    char *text;
    enum style style;
};
/* Zeroed it is empty. */
struct diff {
    uint64_t project;
    char *raw_repo, *raw_name; /* what is compared: a commit's id */
    bool alone;                /* a commit against its parent; nothing of it can be marked */
    struct diff_words *words;  /* stand before the files */
    size_t word_count;
    struct diff_file *files;
    size_t count, listed;
    bool known, cut;
    char *failure;
    bool split; /* old and new beside each other */
    size_t rows, bytes;
    uint64_t list_call, page_call;
    size_t page_file; /* whose lines come in, SIZE_MAX: none's */
    size_t ahead;     /* files below it are here */
    char *scratch;    /* of diff_text */
};

enum diff_part { DIFF_WORDS, DIFF_HEAD, DIFF_NOTE, DIFF_LINE };
struct diff_row {
    enum diff_part part;
    size_t file, index;                   /* index: of the words, or of the first of its lines */
    const struct diff_line *left, *right; /* of DIFF_LINE; unified: one of them, or both the same */
};

/* Begins to read it: the list of files. Strings are copied; what was there is forgotten. */
void diff_open(struct app *app, struct diff *diff, uint64_t project, const char *raw_repo,
               const char *raw_name, bool alone, struct effects *effects);
void diff_close(struct app *app, struct diff *diff, struct effects *effects);
void diff_finish(struct diff *diff);
void diff_add_words(struct diff *diff, enum style style, const char *safe);
/* Asks for what is missing of rows from top on, then for what is ahead. */
void diff_want(struct app *app, struct diff *diff, size_t top, size_t rows, struct effects *effects);
/* Files whose lines are not here. */
size_t diff_missing(const struct diff *diff);

/* ---- diff_rows.c ---- */
/* Rows are others: counts them anew. */
void diff_layout(struct diff *diff);
bool diff_row(const struct diff *diff, size_t position, struct diff_row *ret);
uint64_t diff_identity(const struct diff *diff, size_t position);
/* The file of a row's identity, and its line (SIZE_MAX: its head or note); false: it is none of a file. */
bool diff_find(const struct diff *diff, uint64_t identity, size_t *ret_file, size_t *ret_line);
/* The head of a file. */
uint64_t diff_head(size_t file);
/* The row of a line in either form. */
uint64_t diff_line_identity(const struct diff *diff, size_t file, size_t line);
/* The next place from a position on where a hunk, or a file, begins; SIZE_MAX: none. */
size_t diff_next(const struct diff *diff, size_t position, bool forward, bool files);
/* A row's text, as it is searched and copied; not the caller's. */
const char *diff_text(const struct diff *diff, const struct diff_row *row);
/* "+12 -4", "binary", …; the caller's to free. */
char *diff_numbers(const struct diff_file *file);
/* Mode, link, what it means here; "" if nothing is to be said. The caller's to free. */
char *diff_about(const struct diff_file *file);
/* What stands where lines would be; the caller's to free. */
char *diff_note(const struct diff_file *file);
/* The line that one took the place of, or was taken by; NULL: none. */
const struct diff_line *diff_other(const struct diff_file *file, size_t line);
/* Marks a file as a whole or takes all its marks away; the same of one hunk. */
void diff_mark_file(struct diff_file *file);
void diff_mark_hunk(struct diff_file *file, size_t hunk);
/* "*" all, "+" some, " " nothing of it. */
char diff_mark(const struct diff_file *file);

#endif
