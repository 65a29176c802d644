/* out.h: what the command line prints: tables that fit the terminal, JSON lines, errors, questions. Strings
 * that came over the API are made safe here. A stdout that nobody reads any more ends the program by SIGPIPE.
 */
#ifndef HUTCH_CLI_OUT_H
#define HUTCH_CLI_OUT_H

#include "base/error.h"
#include "base/words.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Safe text in lines of at most `columns` columns, broken at blanks; lines after the first begin with
 * `indent` blanks, and the first one has `used` columns less. A word that is longer than a line stays whole.
 * Caller frees. */
char *out_wrap(const char *text, size_t used, size_t indent, size_t columns);
/* "hutch: MESSAGE" and the hint on a line of its own, to stderr. */
void out_error(const struct error *err);
/* "hutch: …" to stderr: a remark that is no failure. The text is made safe. */
void out_note(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* printf to stdout for text of our own and numbers. */
void out_text(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The same for prose: on a terminal its lines are broken at words, what follows begins with `indent` blanks.
 */
void out_lines(size_t indent, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* A word or format of a table or list on stdout: translated for a person at a terminal, English for a program
 * that reads it. */
const char *out_word(const char *english) __attribute__((format_arg(1)));
/* One object on one line to stdout; all but ASCII is escaped, since a pipe too can end on a terminal. */
void out_json(const json_t *value);
/* Brings what was printed to the reader now, for lists that go on. */
void out_line_end(void);
/* Flushes stdout: ERROR_IO when not everything could be written. */
int out_flush(struct error **err);
/* Columns of the terminal on stdout (or stderr), 80 if there is none or it does not say. */
size_t out_columns(int fd);
/* Asks a yes/no question at the terminal, default no. ERROR_USAGE when stdin is no terminal, with "--yes" as
 * the way out; ERROR_CANCELLED for a no. */
int out_ask(const char *question, struct error **err);

/* A member of a JSON object as safe text for a person: strings, numbers, true, false; "" for null, absent and
 * all else. Caller frees. */
char *out_member(const json_t *object, const char *key);
/* A number of a JSON object, or fallback. */
int64_t out_number(const json_t *object, const char *key, int64_t fallback);
/* A string of a JSON object as it is, or "". */
const char *out_string(const json_t *object, const char *key);
/* "3 h ago" style age of a time in ns; "-" for 0. Caller frees. */
char *out_age(int64_t ns);
/* Date and time of day where the person is, "2026-11-29 14:01:07". Caller frees. */
char *out_time(int64_t ns);

/* A table: titles, then rows of cells. The last column is cut to the terminal's width, on a terminal. */
struct table {
    const char *const *titles; /* NULL-ended */
    const char *right;         /* "lrl": 'r' columns are aligned to the right */
    char **cells;
    size_t count;
};
/* Adds a cell (made safe; NULL and "" are "-"). */
void table_add(struct table *table, const char *text);
/* Prints it to stdout. Without rows only the titles. */
void table_print(const struct table *table);
/* Frees the cells. */
void table_finish(struct table *table);

#endif
