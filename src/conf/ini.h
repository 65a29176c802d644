/* ini.h: the INI dialect of hutch (design.md 11), one reader over inih's stream form: a comment is a whole line; values are taken as
 * written (" ;" and " #" inside a value stay); a list is one item an indented line; a section is "word" or "word NAME"; lines are
 * counted, long ones refused with the advice to go on in an indented line; CR, NUL, BOM refused. */
#ifndef HUTCH_CONF_INI_H
#define HUTCH_CONF_INI_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

#define INI_LINE_MAX  2000
#define INI_FILE_MAX  (1024 * 1024)
#define INI_NAME_MAX  32

/* One key as read. items: the value's lines, first line first (a plain value has one). */
struct ini_entry {
    char *section; /* "repo" */
    char *name;    /* "app" of [repo app], or NULL */
    char *key;
    char **items; /* NULL-ended, at least one */
    size_t item_count;
    int line, column; /* of the key, from 1 */
};
struct ini {
    char *file; /* as named by the caller, for messages */
    struct ini_entry *entries;
    size_t count;
};

/* Which keys there are: the table of keys.def restricted to one kind of file. */
struct ini_schema {
    const char *about; /* "template", for messages */
    bool (*known_section)(const char *section, bool named);
    const char *const *(*keys)(const char *section); /* NULL-ended names, for checks and the nearest key */
};
/* Reads and checks against the schema (NULL: form only). Every error names file:line:column and the way out (the nearest key). */
int ini_parse(const char *file, const char *data, size_t len, const struct ini_schema *schema, struct ini **ret_ini, struct error **err);
int ini_load(const char *path, const struct ini_schema *schema, struct ini **ret_ini, struct error **err);
void ini_free(struct ini *ini);
AUTO_DEFINE(ini, struct ini *, ini_free);
/* The entry of a key, or NULL. name NULL: the unnamed section. */
const struct ini_entry *ini_find(const struct ini *ini, const char *section, const char *name, const char *key);
/* "file:line:column: words" as ERROR_INVALID. */
int ini_error(const struct ini *ini, const struct ini_entry *entry, struct error **err, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

#endif
