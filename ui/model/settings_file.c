#include "ui/model/settings_file.h"

#include "base/alloc.h"
#include "base/words.h"
#include "conf/ini.h"

#define FILE_NAME "screen.ini"

int settings_file_read(const char *text, size_t len,
                       int (*each)(const struct setting_line *line, void *user, struct error **err),
                       void *user, struct error **err)
{
    auto(ini) struct ini *ini = NULL;
    auto(error) struct error *why = NULL;
    int rc = ini_read_any(FILE_NAME, text, len, &ini, err);
    for (size_t i = 0; rc == 0 && i < ini->count; i++) {
        const struct ini_entry *entry = &ini->entries[i];
        struct setting_line line = {entry->section,  entry->name, entry->key,
                                    entry->items[0], entry->line, entry->column};
        rc = each(&line, user, &why);
        if (rc < 0)
            return ini_error(ini, entry, err, "%s", why ? why->message : _("it is not acceptable"));
    }
    return rc;
}
