/* text.h: bytes from outside become safe, measured UTF-8 before they are drawn, logged or printed.
 * Escaped as visible codes: invalid UTF-8 bytes (\xNN), C0 and C1 controls (\n \t \e \xNN), all of Cf Cs Co
 * Cn Zl Zp, bidi controls, zero-width and default-ignorable code points (\u{202E}), runs of more than 2
 * combining marks, every space but U+0020; tabs; marks without a letter before them. Runs of more than 8
 * spaces become ·×N, runs of more than 8 times the same escape the escape and ×N. A backslash stays as it is.
 */
#ifndef HUTCH_BASE_TEXT_H
#define HUTCH_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct text {
    char *bytes;     /* safe UTF-8, terminated */
    size_t len;      /* bytes */
    size_t columns;  /* display width of the escaped form; of its widest line if lines are kept */
    bool suspicious; /* something was escaped that can mislead (controls, bidi, zero-width, look-alike or very
                      * many spaces); not for \n, \t, invalid bytes and code points without a meaning */
    bool cut;        /* the input was longer than the limit; the form ends in … */
};

enum text_flags {
    TEXT_DEFAULT = 0,
    TEXT_KEEP_NEWLINES =
        1, /* for whole documents: \n and \t stay, and up to 64 spaces at the start of a line */
};

/* Converts len bytes; at most max_bytes of output (0: no limit). Never fails. text_finish frees. */
void text_init(struct text *text, const void *data, size_t len, size_t max_bytes, int flags);
void text_finish(struct text *text);
/* The same as a plain string that the caller frees; data is a C string. */
char *text_safe(const char *data);
/* Columns of one code point (0 combining, 1, 2 wide); ambiguous ones are 1. */
int text_width(uint32_t code_point);
/* Decodes one code point of valid or invalid UTF-8; returns bytes used (1 and *ret = -1 for an invalid byte).
 */
size_t text_decode(const char *data, size_t len, int32_t *ret_code_point);
/* The longest prefix of safe text of at most `columns` columns: returns its length in bytes. */
size_t text_clip(const char *bytes, size_t len, size_t columns, size_t *ret_columns);
/* Edit distance of two short names, for "did you mean". */
size_t text_distance(const char *a, const char *b);
/* The nearest of candidates (NULL-ended) within a third of the length, or NULL. */
const char *text_nearest(const char *name, const char *const *candidates);

#endif
