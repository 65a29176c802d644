#include "conf/keys.h"

#include "base/alloc.h"
#include "base/text.h"

#include <string.h>

const struct key key_table[] = {
#define X(kind, section, named, key, type, fallback, when, who, help)                                        \
    {KEY_##kind, section, named, key, KEY_##type, fallback, when, who, help},
#include "conf/keys.def"
#undef X
};
const size_t key_count = countof(key_table);

const struct key *key_find(enum key_kind kind, const char *section, const char *key)
{
    for (size_t i = 0; i < key_count; i++)
        if (key_table[i].kind == kind && !strcmp(key_table[i].section, section) &&
            !strcmp(key_table[i].key, key))
            return &key_table[i];
    return NULL;
}

const struct key *key_section(enum key_kind kind, const char *section)
{
    for (size_t i = 0; i < key_count; i++)
        if (key_table[i].kind == kind && !strcmp(key_table[i].section, section))
            return &key_table[i];
    return NULL;
}

const char *key_nearest(enum key_kind kind, const char *section, const char *written)
{
    const char *names[countof(key_table) + 1] = {0};
    size_t count = 0;
    for (size_t i = 0; i < key_count; i++) {
        if (key_table[i].kind != kind)
            continue;
        if (!section)
            names[count++] = key_table[i].section;
        else if (!strcmp(key_table[i].section, section))
            names[count++] = key_table[i].key;
    }
    return text_nearest(written, names);
}

const char *key_kind_name(enum key_kind kind)
{
    static const char *const names[] = {"template",     "configuration", "base",
                                        "project file", "rules file",    "preset"};
    return names[kind];
}
