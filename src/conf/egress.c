#include "conf/egress.h"

#include "base/alloc.h"
#include "base/units.h"
#include "conf/egress_internal.h"
#include "conf/ini.h"
#include "conf/names.h"

#include <string.h>

const char *egress_effect_name(enum egress_effect effect)
{
    static const char *const names[] = {"allow", "ask", "deny"};
    return names[effect];
}

void egress_lines_free(struct egress_line *lines, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        free(lines[i].item);
        free(lines[i].rule);
    }
    free(lines);
}

static void words_free(struct egress_word *words, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(words[i].text);
    free(words);
}

void egress_free(struct egress_file *file)
{
    if (!file)
        return;
    free(file->path);
    free(file->mode);
    words_free(file->presets, file->preset_count);
    words_free(file->removed, file->removed_count);
    egress_lines_free(file->lines, file->line_count);
    for (size_t i = 0; i < file->host_port_count; i++) {
        free(file->host_ports[i].name);
        free(file->host_ports[i].to);
    }
    free(file->host_ports);
    free(file);
}

static int add_line(const struct ini *ini, enum egress_effect effect, const char *item,
                    struct ini_place place, struct egress_line **lines, size_t *count, struct error **err)
{
    if (*count == EGRESS_RULES_MAX)
        return ini_place_error(ini, place, err, "more than %d rules", EGRESS_RULES_MAX);
    const char *name = egress_effect_name(effect);
    *lines = xrealloc(*lines, *count + 1, sizeof(**lines));
    (*lines)[(*count)++] = (struct egress_line){
        .effect = effect,
        .item = xstrdup(item),
        .rule = xasprintf("%s %s", name, item),
        .line = place.line,
        .column = place.column - (int)strlen(name) - 1,
    };
    return 0;
}

int egress_take_lines(const struct ini *ini, struct egress_line **ret_lines, size_t *ret_count,
                      struct error **err)
{
    for (int effect = EGRESS_ALLOW; effect <= EGRESS_DENY; effect++) {
        const struct ini_entry *entry =
            ini_find(ini, "egress", NULL, egress_effect_name((enum egress_effect)effect));
        for (size_t i = 0; entry && i < entry->item_count; i++) {
            if (!*entry->items[i])
                continue; /* "allow =" and nothing below */
            int r = add_line(ini, (enum egress_effect)effect, entry->items[i], entry->places[i], ret_lines,
                             ret_count, err);
            if (r < 0)
                return r;
        }
    }
    return 0;
}

static void add_word(struct egress_word **words, size_t *count, const char *text, struct ini_place place)
{
    *words = xrealloc(*words, *count + 1, sizeof(**words));
    (*words)[(*count)++] = (struct egress_word){xstrdup(text), place.line, place.column};
}

/* Names of presets, and "-TARGET" for a line that is taken out of them. */
static int take_presets(struct egress_file *file, const struct ini *ini, struct error **err)
{
    const struct ini_entry *entry = ini_find(ini, "egress", NULL, "presets");
    file->presets_said = entry != NULL;
    for (size_t i = 0; entry && i < entry->item_count; i++) {
        const char *item = entry->items[i];
        if (!*item)
            continue;
        if (*item == '-') {
            if (!item[1] || strchr(item, ' '))
                return ini_place_error(ini, entry->places[i], err,
                                       "\"-\" and the target of one line take it out of the presets");
            add_word(&file->removed, &file->removed_count, item + 1, entry->places[i]);
            continue;
        }
        auto(error) struct error *why = NULL;
        if (name_check("preset", item, &why) < 0)
            return ini_place_error(ini, entry->places[i], err, "%s", why->message);
        add_word(&file->presets, &file->preset_count, item, entry->places[i]);
    }
    return 0;
}

static int take_host_ports(struct egress_file *file, const struct ini *ini, struct error **err)
{
    for (size_t i = 0; i < ini->count; i++) {
        const struct ini_entry *entry = &ini->entries[i];
        uint16_t port;
        uint64_t said;
        if (strcmp(entry->section, "host-port") != 0)
            continue;
        const struct ini_entry *to = ini_find(ini, "host-port", entry->name, "to"),
                               *own = ini_find(ini, "host-port", entry->name, "port");
        if (!to)
            return ini_error(ini, entry, err, "[host-port %s] has no \"to\"", entry->name);
        if (entry != to)
            continue;
        if (!egress_parse_to(to->items[0], &port)) {
            ini_error(ini, to, err, "\"%s\" is no port of this host", to->items[0]);
            return error_hint(err, EGRESS_TO_HINT);
        }
        if (own && units_parse_number(own->items[0], 1, UINT16_MAX, &said, NULL) < 0)
            return ini_error(ini, own, err, "\"port\" is 1 to 65535");
        if (own)
            port = (uint16_t)said;
        if (!port)
            return ini_error(ini, to, err, "a socket needs \"port\": the one that the machine connects to");
        file->host_ports = xrealloc(file->host_ports, file->host_port_count + 1, sizeof(*file->host_ports));
        file->host_ports[file->host_port_count++] = (struct egress_host_port){
            .name = xstrdup(entry->name),
            .to = xstrdup(to->items[0]),
            .port = port,
            .line = to->line,
        };
    }
    return 0;
}

static int check_mode(struct egress_file *file, const struct ini *ini, struct error **err)
{
    static const char *const modes[] = {"ask", "budget", "deny", "open"};
    const struct ini_entry *entry = ini_find(ini, "egress", NULL, "default");
    if (!entry)
        return 0;
    for (size_t i = 0; i < countof(modes); i++)
        if (!strcmp(entry->items[0], modes[i])) {
            file->mode = xstrdup(modes[i]);
            return 0;
        }
    ini_error(ini, entry, err, "\"default\" cannot be \"%s\"", entry->items[0]);
    if (err)
        error_hint(err, "it is ask, budget, deny or open");
    return -ERROR_INVALID;
}

int egress_load(const char *path, enum key_kind kind, struct egress_file **ret_file, struct error **err)
{
    auto(ini) struct ini *ini = NULL;
    int r = ini_load(path, kind, &ini, err);
    if (r < 0)
        return r;
    auto(egress) struct egress_file *file = xnew(struct egress_file);
    file->path = xstrdup(path);
    if ((r = check_mode(file, ini, err)) < 0 || (r = take_presets(file, ini, err)) < 0 ||
        (r = egress_take_lines(ini, &file->lines, &file->line_count, err)) < 0 ||
        (r = take_host_ports(file, ini, err)) < 0)
        return r;
    *ret_file = steal(&file);
    return 0;
}
