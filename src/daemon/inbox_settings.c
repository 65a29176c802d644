#include "daemon/inbox_settings.h"

#include "base/alloc.h"
#include "base/file.h"
#include "base/units.h"
#include "conf/ini.h"
#include "daemon/rules.h"

#include <string.h>

#define HOLD_MAX_S   60
#define FREEZE_MAX_S (24 * 3600)

/* A duration of the file, in ms; absent: as it was. */
static int read_time(const struct ini *ini, const char *key, uint64_t max_s, unsigned *ret_ms,
                     struct error **err)
{
    const struct ini_entry *entry = ini_find(ini, "approvals", NULL, key);
    uint64_t seconds = 0;

    if (!entry)
        return 0;
    if (units_parse_duration(entry->items[0], &seconds, NULL) < 0 || !seconds || seconds > max_s)
        return ini_error(ini, entry, err, "\"%s\" of [approvals] is between 1s and %llus", key,
                         (unsigned long long)max_s);
    *ret_ms = (unsigned)(seconds * 1000);
    return 0;
}

static int read_file(const char *path, enum key_kind kind, struct inbox_settings *settings,
                     struct error **err)
{
    auto(ini) struct ini *ini = NULL;
    const struct ini_entry *away;
    int rc;

    if (!file_exists(path))
        return 0;
    rc = ini_load(path, kind, &ini, err);
    if (rc < 0)
        return rc;
    away = ini_find(ini, "approvals", NULL, "away");
    if (away && strcmp(away->items[0], "deny") != 0 && strcmp(away->items[0], "freeze") != 0)
        return ini_error(ini, away, err, "\"away\" of [approvals] is deny or freeze");
    if (away)
        settings->away_freezes = !strcmp(away->items[0], "freeze");
    rc = read_time(ini, "hold", HOLD_MAX_S, &settings->hold_ms, err);
    return rc < 0 ? rc : read_time(ini, "freeze", FREEZE_MAX_S, &settings->freeze_ms, err);
}

int inbox_settings_load(const struct paths *paths, const char *project, struct inbox_settings *ret_settings,
                        struct error **err)
{
    struct inbox_settings settings = {.hold_ms = APPROVAL_HOLD_MS, .freeze_ms = APPROVAL_FREEZE_MS};
    autofree char *user = file_join(paths->config, "hutch.ini"), *own = rules_path(paths, project);
    int rc = read_file(user, KEY_USER, &settings, err);

    if (rc == 0)
        rc = read_file(own, KEY_PROJECT, &settings, err);
    *ret_settings =
        rc == 0 ? settings
                : (struct inbox_settings){.hold_ms = APPROVAL_HOLD_MS, .freeze_ms = APPROVAL_FREEZE_MS};
    return rc;
}
