#include "conf/ini.h"

#include "base/alloc.h"
#include "base/file.h"
#include "base/text.h"
#include "base/units.h"

#include <ini.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

/* Bytes that a line given to inih can have: "[word NAME]" or "key = NUMBER". */
#define FED_LINE_MAX 100

/* A value's line as it stands in the file. inih only ever sees its number, so that neither its length limit
 * nor its inline comments can touch it. */
struct value {
    char *text;
    int line, column, key_column;
    bool first;
};

struct section {
    char word[INI_NAME_MAX + 1], name[INI_NAME_MAX + 1];
    int line;
};

struct reader {
    const char *file;
    const char *data;
    size_t len, pos;
    int line;
    bool open_key; /* an indented line belongs to the key above */
    bool checked;  /* against keys.def */
    enum key_kind kind;
    struct value *values;
    size_t value_count;
    struct section *sections;
    size_t section_count;
    struct ini *ini;
    struct error *error; /* the first one: reading ends there */
};

/* Sets the reader's error with its place; hint may be NULL. Returns -1. */
static int fail(struct reader *reader, int line, int column, const char *hint, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
static int fail(struct reader *reader, int line, int column, const char *hint, const char *format, ...)
{
    if (reader->error)
        return -1;
    va_list args;
    va_start(args, format);
    autofree char *words = xvasprintf(format, args);
    va_end(args);
    error_set(&reader->error, ERROR_INVALID, "%s:%d:%d: %s", reader->file, line, column, words);
    if (hint)
        error_hint(&reader->error, "%s", hint);
    return -1;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static bool is_name(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
}

/* Column (in characters, from 1) of byte i of a line. */
static int column_of(const char *line, size_t i)
{
    int column = 1;
    for (size_t at = 0; at < i; column++) {
        int32_t code_point;
        at += text_decode(line + at, i - at, &code_point);
    }
    return column;
}

/* Refuses bytes that no line may have. */
static int check_bytes(struct reader *reader, const char *line, size_t len)
{
    int column = 1;
    for (size_t i = 0; i < len; column++) {
        int32_t c;
        size_t n = text_decode(line + i, len - i, &c);
        if (c == 0xFEFF && reader->line == 1 && i == 0)
            return fail(reader, 1, 1, "save the file as UTF-8 without one", "a byte order mark");
        if (c == 0)
            return fail(reader, reader->line, column, "the file is no text; remove the byte", "a NUL byte");
        if (c == '\r')
            return fail(reader, reader->line, column, "save the file with Unix line ends (LF)",
                        "a carriage return");
        if (c < 0)
            return fail(reader, reader->line, column, "save the file as UTF-8",
                        "a byte that is not UTF-8: 0x%02x", (unsigned char)line[i]);
        if ((c < 0x20 && c != '\t') || (c >= 0x7f && c < 0xa0))
            return fail(reader, reader->line, column, "remove it", "a control character: U+%04X",
                        (unsigned)c);
        i += n;
    }
    return 0;
}

/* A word or name of at most INI_NAME_MAX letters at line[from, to): copied to ret. what: for messages. */
static int take_name(struct reader *reader, const char *line, size_t from, size_t to, const char *what,
                     char ret[INI_NAME_MAX + 1])
{
    if (from == to)
        return fail(reader, reader->line, column_of(line, from), NULL, "the %s is missing", what);
    for (size_t i = from; i < to; i++) {
        if (!is_name(line[i]))
            return fail(reader, reader->line, column_of(line, i), "a-z, 0-9 and \"-\" are",
                        "not allowed in a %s", what);
    }
    if (to - from > INI_NAME_MAX)
        return fail(reader, reader->line, column_of(line, from), "shorten it",
                    "the %s has %zu letters, the limit is %d", what, to - from, INI_NAME_MAX);
    memcpy(ret, line + from, to - from);
    ret[to - from] = '\0';
    return 0;
}

/* Is the section known, and does it have a name where it must? */
static int check_section(struct reader *reader, const struct section *section)
{
    for (size_t i = 0; i < reader->section_count; i++) {
        const struct section *other = &reader->sections[i];
        if (!strcmp(other->word, section->word) && !strcmp(other->name, section->name))
            return fail(reader, section->line, 1, "put its keys together",
                        "[%s%s%s] stands at line %d already", section->word, *section->name ? " " : "",
                        section->name, other->line);
    }
    if (!reader->checked)
        return 0;
    const struct key *key = key_section(reader->kind, section->word);
    if (!key) {
        const char *near = key_nearest(reader->kind, NULL, section->word);
        autofree char *hint = near ? xasprintf("did you mean [%s]?", near) : NULL;
        return fail(reader, section->line, 2, hint, "a %s has no section [%s]", key_kind_name(reader->kind),
                    section->word);
    }
    if (key->named && !*section->name)
        return fail(reader, section->line, 1, NULL, "[%s] needs a name: [%s NAME]", section->word,
                    section->word);
    if (!key->named && *section->name)
        return fail(reader, section->line, 1, NULL, "[%s] takes no name", section->word);
    return 0;
}

/* "[word]" or "[word NAME]". */
static int read_section(struct reader *reader, const char *line, size_t len)
{
    struct section section = {.line = reader->line};
    size_t end = 1;
    while (end < len && line[end] != ']')
        end++;
    if (end == len)
        return fail(reader, reader->line, column_of(line, len), "a section is [word] or [word NAME]",
                    "the \"]\" is missing");
    for (size_t i = end + 1; i < len; i++)
        if (!is_blank(line[i]))
            return fail(reader, reader->line, column_of(line, i), "a comment is a line of its own",
                        "text after the section");
    size_t gap = 1;
    while (gap < end && line[gap] != ' ')
        gap++;
    if (take_name(reader, line, 1, gap, "section's word", section.word) < 0 ||
        (gap < end && take_name(reader, line, gap + 1, end, "section's name", section.name) < 0) ||
        check_section(reader, &section) < 0)
        return -1;
    reader->sections = xrealloc(reader->sections, reader->section_count + 1, sizeof(section));
    reader->sections[reader->section_count++] = section;
    reader->open_key = false;
    return 0;
}

/* Keeps a value's text and returns its number. */
static size_t keep_value(struct reader *reader, const char *line, size_t from, size_t to, bool first)
{
    reader->values = xrealloc(reader->values, reader->value_count + 1, sizeof(*reader->values));
    reader->values[reader->value_count] = (struct value){
        .text = xstrndup(line + from, to - from),
        .line = reader->line,
        .column = column_of(line, from),
        .key_column = 1,
        .first = first,
    };
    return reader->value_count++;
}

/* "key = value": writes what inih gets. */
static int read_key(struct reader *reader, const char *line, size_t len, char *out, size_t size)
{
    char key[INI_NAME_MAX + 1];
    const char *equals = memchr(line, '=', len);
    if (!equals)
        return fail(reader, reader->line, 1, "a key is \"key = value\", an item of a list is indented",
                    "no \"=\" in this line");
    if (!reader->section_count)
        return fail(reader, reader->line, 1, "put it under a [section]", "a key before the first section");
    size_t end = equals - line, from = end + 1;
    while (end > 0 && is_blank(line[end - 1]))
        end--;
    while (from < len && is_blank(line[from]))
        from++;
    if (take_name(reader, line, 0, end, "key", key) < 0)
        return -1;
    if (reader->value_count >= INI_ENTRY_MAX)
        return fail(reader, reader->line, 1, "split the file", "more than %d values", INI_ENTRY_MAX);
    reader->open_key = true;
    snprintf(out, size, "%s = %zu\n", key, keep_value(reader, line, from, len, true));
    return 0;
}

/* An indented line: one more item of the key above. */
static int read_item(struct reader *reader, const char *line, size_t len, char *out, size_t size)
{
    size_t from = 0;
    while (from < len && is_blank(line[from]))
        from++;
    if (!reader->open_key)
        return fail(reader, reader->line, column_of(line, from), "begin the line at the left edge",
                    "an indented line without a key above it");
    if (reader->value_count >= INI_ENTRY_MAX)
        return fail(reader, reader->line, 1, "split the file", "more than %d values", INI_ENTRY_MAX);
    snprintf(out, size, " %zu\n", keep_value(reader, line, from, len, false));
    return 0;
}

/* One line of the file: 1 something for inih stands in out, 0 nothing, -1 error. */
static int read_line(struct reader *reader, const char *line, size_t len, char *out, size_t size)
{
    if (check_bytes(reader, line, len) < 0)
        return -1;
    if (len > INI_LINE_MAX)
        return fail(reader, reader->line, INI_LINE_MAX + 1, "go on in the next line, indented",
                    "the line has %zu bytes, the limit is %d", len, INI_LINE_MAX);
    while (len > 0 && is_blank(line[len - 1]))
        len--;
    size_t start = 0;
    while (start < len && is_blank(line[start]))
        start++;
    if (start == len || line[start] == '#' || line[start] == ';')
        return 0;
    int r;
    if (start > 0) {
        r = read_item(reader, line, len, out, size);
    } else if (line[0] == '[') {
        r = read_section(reader, line, len);
        snprintf(out, size, "%.*s\n", (int)(r < 0 ? 0 : strcspn(line, "]") + 1), line);
    } else {
        r = read_key(reader, line, len, out, size);
    }
    return r < 0 ? -1 : 1;
}

/* inih's reader: the next line of structure. NULL at the end and after an error. */
static char *feed(char *out, int size, void *stream)
{
    struct reader *reader = stream;
    require(size > FED_LINE_MAX);
    while (!reader->error && reader->pos < reader->len) {
        const char *line = reader->data + reader->pos;
        const char *end = memchr(line, '\n', reader->len - reader->pos);
        size_t len = end ? (size_t)(end - line) : reader->len - reader->pos;
        reader->pos += len + (end != NULL);
        reader->line++;
        int r = read_line(reader, line, len, out, size);
        if (r < 0)
            return NULL;
        if (r > 0)
            return out;
    }
    return NULL;
}

/* Is the key known? */
static int check_key(struct reader *reader, const struct ini_entry *entry)
{
    const struct ini_entry *other = ini_find(reader->ini, entry->section, entry->name, entry->key);
    if (other)
        return fail(reader, entry->line, 1, "remove one of them", "\"%s\" stands at line %d already",
                    entry->key, other->line);
    if (!reader->checked || key_find(reader->kind, entry->section, entry->key))
        return 0;
    const char *near = key_nearest(reader->kind, entry->section, entry->key);
    autofree char *hint = near ? xasprintf("did you mean \"%s\"?", near) : NULL;
    return fail(reader, entry->line, 1, hint, "[%s] of a %s has no key \"%s\"", entry->section,
                key_kind_name(reader->kind), entry->key);
}

static void entry_finish(struct ini_entry *entry)
{
    free(entry->section);
    free(entry->name);
    free(entry->key);
    for (size_t i = 0; i < entry->item_count; i++)
        free(entry->items[i]);
    free(entry->items);
    free(entry->places);
}

static void entry_add(struct ini_entry *entry, const struct value *value)
{
    entry->items = xrealloc(entry->items, entry->item_count + 2, sizeof(char *));
    entry->places = xrealloc(entry->places, entry->item_count + 1, sizeof(*entry->places));
    entry->places[entry->item_count] = (struct ini_place){value->line, value->column};
    entry->items[entry->item_count++] = xstrdup(value->text);
    entry->items[entry->item_count] = NULL;
}

/* inih's handler: value is the number of a kept one. */
static int take(void *user, const char *section, const char *key, const char *number)
{
    struct reader *reader = user;
    uint64_t index;
    if (reader->error)
        return 0;
    require(!units_parse_number(number, 0, reader->value_count - 1, &index, NULL));
    const struct value *value = &reader->values[index];
    struct ini *ini = reader->ini;
    if (!value->first) {
        struct ini_entry *last = &ini->entries[ini->count - 1];
        if (last->item_count == 1 && !*last->items[0]) { /* "key =" and then the items */
            free(last->items[0]);
            last->item_count = 0;
        }
        entry_add(last, value);
        return 1;
    }
    const char *gap = strchr(section, ' ');
    struct ini_entry entry = {
        .section = gap ? xstrndup(section, gap - section) : xstrdup(section),
        .name = gap ? xstrdup(gap + 1) : NULL,
        .key = xstrdup(key),
        .line = value->line,
        .column = value->key_column,
        .value_column = value->column,
    };
    if (check_key(reader, &entry) < 0) {
        entry_finish(&entry);
        return 0;
    }
    entry_add(&entry, value);
    ini->entries = xrealloc(ini->entries, ini->count + 1, sizeof(entry));
    ini->entries[ini->count++] = entry;
    return 1;
}

/* Is the value of its key's type? */
static int check_type(const struct ini *ini, const struct ini_entry *entry, enum key_type type,
                      struct error **err)
{
    static const char word[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._+:~-";
    const char *value = entry->items[0];
    uint64_t number;
    auto(error) struct error *why = NULL;
    if (type == KEY_LIST)
        return 0;
    if (entry->item_count > 1)
        return ini_error(ini, entry, err, "\"%s\" takes one value, not a list", entry->key);
    switch (type) {
    case KEY_WORD:
        if (!*value || value[strspn(value, word)])
            return ini_error(ini, entry, err, "\"%s\" takes one word, not \"%s\"", entry->key, value);
        break;
    case KEY_URI:
        if (strcmp(value, "none") != 0 && strncmp(value, "http://", 7) != 0 &&
            strncmp(value, "https://", 8) != 0)
            return ini_error(ini, entry, err, "\"%s\" takes http://… or https://…, not \"%s\"", entry->key,
                             value);
        if (strpbrk(value, " \t[]\""))
            return ini_error(ini, entry, err, "\"%s\": a URI has no blanks, quotes or brackets", entry->key);
        break;
    case KEY_SIZE:
        if (units_parse_size(value, &number, &why) < 0)
            return ini_error(ini, entry, err, "\"%s\": %s", entry->key, why->message);
        break;
    case KEY_NUMBER:
        if (units_parse_number(value, 0, INT64_MAX, &number, &why) < 0)
            return ini_error(ini, entry, err, "\"%s\": %s", entry->key, why->message);
        break;
    default:
        break;
    }
    return 0;
}

static void reader_finish(struct reader *reader)
{
    for (size_t i = 0; i < reader->value_count; i++)
        free(reader->values[i].text);
    free(reader->values);
    free(reader->sections);
    ini_free(reader->ini);
    error_free(reader->error);
}

static int read_all(const char *file, const char *data, size_t len, bool checked, enum key_kind kind,
                    struct ini **ret_ini, struct error **err)
{
    if (len > INI_FILE_MAX)
        return error_set(err, ERROR_INVALID, "%s:1:1: the file has %zu bytes, the limit is %d", file, len,
                         INI_FILE_MAX);
    struct reader reader = {.file = file, .data = data, .len = len, .checked = checked, .kind = kind};
    reader.ini = xnew(struct ini);
    reader.ini->file = xstrdup(file);
    int r = ini_parse_stream(feed, &reader, take, &reader);
    if (r != 0 && !reader.error)
        fail(&reader, r > 0 ? r : 1, 1, NULL, "not understood");
    for (size_t i = 0; !reader.error && checked && i < reader.ini->count; i++) {
        const struct ini_entry *entry = &reader.ini->entries[i];
        check_type(reader.ini, entry, key_find(kind, entry->section, entry->key)->type, &reader.error);
    }
    r = error_move(err, &reader.error);
    if (!r)
        *ret_ini = steal(&reader.ini);
    reader_finish(&reader);
    return r;
}

int ini_read(const char *file, const char *data, size_t len, enum key_kind kind, struct ini **ret_ini,
             struct error **err)
{
    return read_all(file, data, len, true, kind, ret_ini, err);
}

int ini_read_any(const char *file, const char *data, size_t len, struct ini **ret_ini, struct error **err)
{
    return read_all(file, data, len, false, KEY_TEMPLATE, ret_ini, err);
}

int ini_load(const char *path, enum key_kind kind, struct ini **ret_ini, struct error **err)
{
    autofree char *data = NULL;
    size_t len;
    int r = file_read_regular(path, INI_FILE_MAX, &data, &len, err);
    return r < 0 ? r : ini_read(path, data, len, kind, ret_ini, err);
}

void ini_free(struct ini *ini)
{
    if (!ini)
        return;
    for (size_t i = 0; i < ini->count; i++)
        entry_finish(&ini->entries[i]);
    free(ini->entries);
    free(ini->file);
    free(ini);
}

const struct ini_entry *ini_find(const struct ini *ini, const char *section, const char *name,
                                 const char *key)
{
    for (size_t i = 0; i < ini->count; i++) {
        const struct ini_entry *entry = &ini->entries[i];
        bool same_name = name ? entry->name && !strcmp(entry->name, name) : !entry->name;
        if (same_name && !strcmp(entry->section, section) && !strcmp(entry->key, key))
            return entry;
    }
    return NULL;
}

const char *ini_value(const struct ini *ini, const char *section, const char *key, const char *fallback)
{
    const struct ini_entry *entry = ini_find(ini, section, NULL, key);
    return entry ? entry->items[0] : fallback;
}

int ini_error(const struct ini *ini, const struct ini_entry *entry, struct error **err, const char *format,
              ...)
{
    va_list args;
    va_start(args, format);
    autofree char *words = xvasprintf(format, args);
    va_end(args);
    return error_set(err, ERROR_INVALID, "%s:%d:%d: %s", ini->file, entry->line, entry->value_column, words);
}

int ini_place_error(const struct ini *ini, struct ini_place place, struct error **err, const char *format,
                    ...)
{
    va_list args;
    va_start(args, format);
    autofree char *words = xvasprintf(format, args);
    va_end(args);
    return error_set(err, ERROR_INVALID, "%s:%d:%d: %s", ini->file, place.line, place.column, words);
}
