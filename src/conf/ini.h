/* ini.h: the INI dialect of hutch, one reader over inih's stream form. A comment is a whole line; values are
 * taken as written (" ;" and " #" inside a value stay); a list is one item an indented line; a section is
 * "word" or "word NAME". CR, NUL, BOM, control characters and bytes that are not UTF-8 are refused. inih's
 * own limits (199 bytes a line, 49 a section name, all cut silently) never show: it is given the structure of
 * the file alone. */
#ifndef HUTCH_CONF_INI_H
#define HUTCH_CONF_INI_H

#include "base/error.h"
#include "conf/keys.h"

#include <stdbool.h>
#include <stddef.h>

#define INI_LINE_MAX  2000          /* bytes of a line; longer ones go on in an indented line */
#define INI_FILE_MAX  (1024 * 1024) /* bytes */
#define INI_ENTRY_MAX 4096          /* keys of a file */
#define INI_NAME_MAX  32            /* bytes of a section's word, of its name, of a key */

/* From 1, in characters. */
struct ini_place {
    int line, column;
};

/* One key as read. items: the value's lines, first line first (a plain value has one; "key =" followed by
 * indented lines has those only). */
struct ini_entry {
    char *section; /* "repo" */
    char *name;    /* "app" of [repo app], or NULL */
    char *key;
    char **items;             /* NULL-ended, at least one */
    struct ini_place *places; /* of the items, one each */
    size_t item_count;
    int line, column; /* of the key, from 1 */
    int value_column; /* of the first item, on that line */
};
struct ini {
    char *file; /* as named by the caller, for messages */
    struct ini_entry *entries;
    size_t count;
};

/* Reads a file's text. Sections, keys and types are checked against keys.def; ini_read_any checks the form
 * and duplicates alone. Every error is ERROR_INVALID, names file:line:column and the way out (the nearest
 * key). */
int ini_read(const char *file, const char *data, size_t len, enum key_kind kind, struct ini **ret_ini,
             struct error **err);
int ini_read_any(const char *file, const char *data, size_t len, struct ini **ret_ini, struct error **err);
/* The same of a file on disk; ERROR_NOT_FOUND if there is none. */
int ini_load(const char *path, enum key_kind kind, struct ini **ret_ini, struct error **err);
void ini_free(struct ini *ini);
AUTO_DEFINE(ini, struct ini *, ini_free);
/* The entry of a key, or NULL. name NULL: the unnamed section. */
const struct ini_entry *ini_find(const struct ini *ini, const char *section, const char *name,
                                 const char *key);
/* The first item of a key of an unnamed section, or fallback if it does not stand there. */
const char *ini_value(const struct ini *ini, const char *section, const char *key, const char *fallback);
/* "file:line:column: words" as ERROR_INVALID. */
int ini_error(const struct ini *ini, const struct ini_entry *entry, struct error **err, const char *format,
              ...) __attribute__((format(printf, 4, 5)));
/* The same at an item's place. */
int ini_place_error(const struct ini *ini, struct ini_place place, struct error **err, const char *format,
                    ...) __attribute__((format(printf, 4, 5)));

#endif
