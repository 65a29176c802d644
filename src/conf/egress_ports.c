/* Writes sections [host-port NAME] of a project's file and leaves every other byte as it is. */
#include "conf/egress.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/text.h"
#include "base/units.h"
#include "conf/egress_internal.h"
#include "conf/names.h"

#include <string.h>

#define TO_MAX 112 /* bytes of "unix:" and a path that the address of a socket can hold */

static bool is_plain(const char *text)
{
    for (const char *at = text; *at; at++)
        if ((unsigned char)*at < ' ' || *at == '\x7f')
            return false;
    return text[strlen(text) - 1] != ' ';
}

bool egress_parse_to(const char *to, uint16_t *ret_port)
{
    static const char *const starts[] = {"127.0.0.1:", "[::1]:"};
    uint64_t port = 0;

    if (!strncmp(to, "unix:/", 6) && to[6] && strlen(to) <= TO_MAX && is_plain(to)) {
        *ret_port = 0;
        return true;
    }
    for (size_t i = 0; i < countof(starts); i++) {
        if (strncmp(to, starts[i], strlen(starts[i])) ||
            units_parse_number(to + strlen(starts[i]), 1, UINT16_MAX, &port, NULL) < 0)
            continue;
        *ret_port = (uint16_t)port;
        return true;
    }
    return false;
}

int egress_host_port_check(const char *name, const char *to, uint16_t *port, struct error **err)
{
    autofree char *safe = text_safe(to);
    uint16_t own;
    int r = name_check("host port", name, err);

    if (r < 0)
        return r;
    if (!egress_parse_to(to, &own)) {
        error_set(err, ERROR_INVALID, "\"%s\" is no port of this host", safe);
        return error_hint(err, EGRESS_TO_HINT);
    }
    if (!own && !*port) {
        error_set(err, ERROR_INVALID, "\"%s\" has no port of its own", safe);
        return error_hint(err, "say which one the machine connects to: hutch host-port add %s=%s --port 80",
                          name, safe);
    }
    if (!*port)
        *port = own;
    return 0;
}

/* ERROR_EXISTS: the name is taken, or another name leads there. */
static int check_free(const struct egress_file *file, const char *name, const char *to, struct error **err)
{
    for (size_t i = 0; i < file->host_port_count; i++) {
        const struct egress_host_port *other = &file->host_ports[i];
        bool same = !strcmp(other->name, name);

        if (!same && strcmp(other->to, to) != 0)
            continue;
        error_set(err, ERROR_EXISTS,
                  same ? "host port \"%s\" is there already, to %s" : "\"%s\" leads to %s already",
                  other->name, other->to);
        return error_hint(
            err, "the machine reaches it as %s.hutch.internal:%u; hutch host-port rm %s takes it out",
            other->name, other->port, other->name);
    }
    return 0;
}

int egress_host_port_add(const char *path, const char *name, const char *to, uint16_t port,
                         struct error **err)
{
    auto(egress) struct egress_file *file = NULL;
    auto(ini) struct ini *ini = NULL;
    autofree char *data = NULL;
    uint16_t own;
    size_t len;
    int r = egress_host_port_check(name, to, &port, err);

    if (r < 0 || (r = egress_load(path, KEY_PROJECT, &file, err)) < 0 ||
        (r = check_free(file, name, to, err)) < 0 ||
        (r = egress_read_text(path, KEY_PROJECT, true, &data, &len, &ini, err)) < 0)
        return r;
    struct buf out;
    buf_init(&out, 0);
    buf_append(&out, data, len, NULL);
    if (len > 0 && data[len - 1] != '\n')
        buf_append(&out, "\n", 1, NULL);
    buf_printf(&out, NULL, "%s[host-port %s]\nto = %s\n", len ? "\n" : "", name, to);
    if (!egress_parse_to(to, &own) || own != port)
        buf_printf(&out, NULL, "port = %u\n", port);
    autofree char *text = buf_take_string(&out);
    buf_finish(&out);
    return egress_write_text(path, KEY_PROJECT, text, err);
}

/* Where the section of a line begins and ends, as numbers of lines: [*ret_head, *ret_next). */
static void find_section(const char *data, size_t len, int inside, int *ret_head, int *ret_next)
{
    struct egress_text_line line;
    int number = 0;

    *ret_head = 0;
    for (size_t pos = 0; egress_next_line(data, len, &pos, &line);) {
        number++;
        if (data[line.start] != '[' || line.end == line.start)
            continue;
        if (number > inside) {
            *ret_next = number;
            return;
        }
        *ret_head = number;
    }
    *ret_next = number + 1;
}

static bool is_comment(const char *data, const struct egress_text_line *line)
{
    size_t at = line->start;

    while (at < line->end && (data[at] == ' ' || data[at] == '\t'))
        at++;
    return at < line->end && (data[at] == '#' || data[at] == ';');
}

/* The text without the lines [head, next), but for what a person noted there. Blank lines before it go if
 * others follow: two sections stay a line apart. Caller frees. */
static char *without(const char *data, size_t len, int head, int next)
{
    struct egress_text_line line;
    struct buf out;
    bool last = true;
    int number = 0;

    for (size_t pos = 0; egress_next_line(data, len, &pos, &line);)
        last = ++number < next;
    buf_init(&out, 0);
    number = 0;
    for (size_t pos = 0; egress_next_line(data, len, &pos, &line);) {
        bool blank = line.end == line.start;
        bool inside = ++number >= head && number < next;

        if ((inside && !is_comment(data, &line) && (!blank || last)) || (blank && number == head - 1))
            continue;
        buf_append(&out, data + line.start, line.next - line.start, NULL);
    }
    char *text = buf_take_string(&out);
    buf_finish(&out);
    return text;
}

int egress_host_port_remove(const char *path, const char *name, struct error **err)
{
    auto(ini) struct ini *ini = NULL;
    autofree char *data = NULL;
    int head, next;
    size_t len;
    int r = egress_read_text(path, KEY_PROJECT, true, &data, &len, &ini, err);

    if (r < 0)
        return r;
    const struct ini_entry *entry = ini_find(ini, "host-port", name, "to");
    if (!entry) {
        autofree char *safe = text_safe(name);

        error_set(err, ERROR_NOT_FOUND, "%s has no host port \"%s\"", path, safe);
        return error_hint(err, "hutch host-port ls shows those that there are");
    }
    find_section(data, len, entry->line, &head, &next);
    autofree char *text = without(data, len, head, next);
    return egress_write_text(path, KEY_PROJECT, text, err);
}
