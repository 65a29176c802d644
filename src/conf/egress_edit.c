/* Edits one line of a file of rules and leaves every other byte as it is. */
#include "conf/egress.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/file.h"
#include "conf/egress_internal.h"

#include <string.h>
#include <sys/stat.h>

/* Where an item goes. */
struct spot {
    bool section, key;        /* [egress] and the key are there */
    size_t after;             /* behind this byte: of the key's last item, else of the section's last line */
    size_t indent_at, indent; /* how the key's last item is indented; 0: no example */
};

bool egress_next_line(const char *data, size_t len, size_t *pos, struct egress_text_line *ret)
{
    if (*pos >= len)
        return false;
    const char *newline = memchr(data + *pos, '\n', len - *pos);
    ret->start = *pos;
    ret->end = newline ? (size_t)(newline - data) : len;
    ret->next = ret->end + (newline != NULL);
    *pos = ret->next;
    return true;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* Bytes of blanks at the left; the line's end if there is nothing else or a comment. */
static size_t indent_of(const char *data, const struct egress_text_line *line)
{
    size_t at = line->start;
    while (at < line->end && is_blank(data[at]))
        at++;
    return at == line->end || data[at] == '#' || data[at] == ';' ? line->end - line->start : at - line->start;
}

static bool is_section(const char *data, const struct egress_text_line *line)
{
    static const char text[] = "[egress]";
    return line->end - line->start >= strlen(text) && !memcmp(data + line->start, text, strlen(text));
}

static bool is_key(const char *data, const struct egress_text_line *line, const char *key)
{
    size_t len = strlen(key), at = line->start + len;
    if (line->end - line->start <= len || memcmp(data + line->start, key, len) != 0)
        return false;
    while (at < line->end && is_blank(data[at]))
        at++;
    return at < line->end && data[at] == '=';
}

/* data is a file that was read without an error. */
static struct spot find_spot(const char *data, size_t len, const char *key)
{
    struct spot spot = {.after = len};
    struct egress_text_line line;
    bool in_section = false, in_key = false;
    for (size_t pos = 0; egress_next_line(data, len, &pos, &line);) {
        size_t indent = indent_of(data, &line);
        if (indent == line.end - line.start)
            continue; /* blank, or a comment */
        if (indent == 0 && data[line.start] == '[') {
            in_section = is_section(data, &line);
            in_key = false;
            spot.section |= in_section;
        } else if (indent == 0) {
            in_key = in_section && is_key(data, &line, key);
            spot.key |= in_key;
        } else if (in_key) {
            spot.indent_at = line.start;
            spot.indent = indent;
        }
        if (in_key || (in_section && !spot.key))
            spot.after = line.next;
    }
    return spot;
}

/* Text with the item in it; the caller frees. */
static char *insert(const char *data, size_t len, const char *key, const char *item)
{
    struct spot spot = find_spot(data, len, key);
    struct buf out;
    buf_init(&out, 0);
    buf_append(&out, data, spot.after, NULL);
    if (spot.after > 0 && data[spot.after - 1] != '\n')
        buf_append(&out, "\n", 1, NULL);
    if (!spot.section)
        buf_printf(&out, NULL, "%s[egress]\n", len ? "\n" : "");
    if (!spot.key)
        buf_printf(&out, NULL, "%s =\n", key);
    if (spot.indent)
        buf_append(&out, data + spot.indent_at, spot.indent, NULL);
    else
        buf_printf(&out, NULL, "    ");
    buf_printf(&out, NULL, "%s\n", item);
    buf_append(&out, data + spot.after, len - spot.after, NULL);
    char *text = buf_take_string(&out);
    buf_finish(&out);
    return text;
}

/* Is the very item in the list? */
static bool has_item(const struct ini *ini, const char *key, const char *item)
{
    const struct ini_entry *entry = ini_find(ini, "egress", NULL, key);
    for (size_t i = 0; entry && i < entry->item_count; i++)
        if (!strcmp(entry->items[i], item))
            return true;
    return false;
}

int egress_read_text(const char *path, enum key_kind kind, bool must, char **ret_data, size_t *ret_len,
                     struct ini **ret_ini, struct error **err)
{
    auto(error) struct error *why = NULL;
    int r = file_read_regular(path, INI_FILE_MAX, ret_data, ret_len, &why);
    if (r == -ERROR_NOT_FOUND && !must) {
        *ret_data = xstrdup("");
        *ret_len = 0;
    } else if (r < 0) {
        return error_move(err, &why);
    }
    return ini_read(path, *ret_data, *ret_len, kind, ret_ini, err);
}

int egress_write_text(const char *path, enum key_kind kind, const char *text, struct error **err)
{
    auto(ini) struct ini *ini = NULL;
    struct stat st;
    int r = ini_read(path, text, strlen(text), kind, &ini, err);
    if (r < 0)
        return r;
    mode_t mode = stat(path, &st) == 0 ? st.st_mode & 0777 : 0600;
    return file_replace(path, text, strlen(text), mode, err);
}

int egress_add(const char *path, enum key_kind kind, enum egress_effect effect, const char *item,
               struct error **err)
{
    autofree char *data = NULL;
    size_t len;
    auto(ini) struct ini *ini = NULL;
    const char *key = egress_effect_name(effect);
    /* One line, and one that reads back as this item. */
    if (!*item || is_blank(*item) || strchr(item, '\n') || *item == '#' || *item == ';' ||
        is_blank(item[strlen(item) - 1]))
        return error_set(err, ERROR_INVALID, "\"%s\" cannot stand in a list", item);
    int r = egress_read_text(path, kind, false, &data, &len, &ini, err);
    if (r < 0)
        return r;
    if (has_item(ini, key, item))
        return error_set(err, ERROR_EXISTS, "\"%s %s\" stands in %s already", key, item, path);
    autofree char *text = insert(data, len, key, item);
    return egress_write_text(path, kind, text, err);
}

/* The place of the item in its own line, or false: another content. */
static bool find_item(const char *data, const struct egress_text_line *line, const char *item, size_t *ret_at)
{
    size_t len = strlen(item), end = line->end;
    while (end > line->start && is_blank(data[end - 1]))
        end--;
    if (end - line->start < len || memcmp(data + end - len, item, len) != 0)
        return false;
    size_t at = end - len;
    if (is_blank(data[line->start])) {
        *ret_at = line->start;
        return line->start + indent_of(data, line) == at;
    }
    *ret_at = at; /* "allow = docs.rs": the key stays */
    while (at > line->start && is_blank(data[at - 1]))
        at--;
    return at > line->start && data[at - 1] == '=';
}

int egress_remove(const char *path, enum key_kind kind, const struct egress_line *line, struct error **err)
{
    autofree char *data = NULL;
    size_t len, at = 0, pos = 0;
    auto(ini) struct ini *ini = NULL;
    struct egress_text_line found = {0};
    int r = egress_read_text(path, kind, true, &data, &len, &ini, err), number = 0;
    if (r < 0)
        return r;
    while (number < line->line && egress_next_line(data, len, &pos, &found))
        number++;
    if (number != line->line || !find_item(data, &found, line->item, &at) ||
        !has_item(ini, egress_effect_name(line->effect), line->item)) {
        error_set(err, ERROR_STATE, "line %d of %s is no longer \"%s\"", line->line, path, line->item);
        if (err)
            error_hint(err, "it was changed meanwhile: look at the rules again");
        return -ERROR_STATE;
    }
    /* An item's whole line goes; behind a key only what stands there. */
    size_t until = at == found.start ? found.next : found.end;
    struct buf out;
    buf_init(&out, 0);
    buf_append(&out, data, at, NULL);
    buf_append(&out, data + until, len - until, NULL);
    autofree char *text = buf_take_string(&out);
    buf_finish(&out);
    return egress_write_text(path, kind, text, err);
}
