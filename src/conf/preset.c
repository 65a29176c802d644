#include "conf/egress.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/file.h"
#include "base/text.h"
#include "conf/egress_internal.h"
#include "conf/names.h"

#include <string.h>

void preset_free(struct preset *preset)
{
    if (!preset)
        return;
    free(preset->name);
    free(preset->path);
    free(preset->about);
    egress_lines_free(preset->lines, preset->line_count);
    free(preset);
}

static int not_found(const struct paths *paths, const char *name, struct error **err)
{
    char **names = preset_names(paths);
    const char *near = text_nearest(name, (const char *const *)names);
    struct buf all;
    buf_init(&all, 4096);
    for (size_t i = 0; names[i]; i++)
        buf_printf(&all, NULL, "%s%s", i ? ", " : "", names[i]);
    autofree char *list = buf_take_string(&all);
    error_set(err, ERROR_NOT_FOUND, "there is no preset \"%s\"", name);
    if (err && near)
        error_hint(err, "did you mean \"%s\"? There are: %s", near, list);
    else if (err)
        error_hint(err, "there are: %s", *list ? list : "none");
    buf_finish(&all);
    names_free(names);
    return -ERROR_NOT_FOUND;
}

static int take_fields(struct preset *preset, const struct ini *ini, struct error **err)
{
    const struct ini_entry *uploads = ini_find(ini, "preset", NULL, "uploads"),
                           *from = ini_find(ini, "preset", NULL, "from");
    preset->about = xstrdup(ini_value(ini, "preset", "about", ""));
    if (uploads) {
        preset->uploads_said = true;
        preset->uploads = !strcmp(uploads->items[0], "yes");
        if (!preset->uploads && strcmp(uploads->items[0], "no") != 0)
            return ini_error(ini, uploads, err, "\"uploads\" is yes or no");
    }
    preset->from_guest = from && !strcmp(from->items[0], "guest");
    if (from && !preset->from_guest)
        return ini_error(ini, from, err, "\"from\" can only be guest");
    int r = egress_take_lines(ini, &preset->lines, &preset->line_count, err);
    if (!r && preset->from_guest && preset->line_count)
        return ini_error(ini, from, err, "a preset has lines or takes them from the guest, not both");
    return r;
}

int preset_load(const struct paths *paths, const char *name, struct preset **ret_preset, struct error **err)
{
    int r = name_check("preset", name, err);
    if (r < 0)
        return r;
    auto(preset) struct preset *preset = xnew(struct preset);
    preset->name = xstrdup(name);
    preset->path = xasprintf("%s/presets/%s.ini", paths->config, name);
    preset->user_file = file_exists(preset->path);
    if (!preset->user_file) {
        free(preset->path);
        preset->path = xasprintf("%s/presets/%s.ini", paths->templates, name);
        if (!file_exists(preset->path))
            return not_found(paths, name, err);
    }
    auto(ini) struct ini *ini = NULL;
    r = ini_load(preset->path, KEY_PRESET, &ini, err);
    if (r < 0 || (r = take_fields(preset, ini, err)) < 0)
        return r;
    *ret_preset = steal(&preset);
    return 0;
}

char **preset_names(const struct paths *paths)
{
    autofree char *own = file_join(paths->config, "presets");
    autofree char *shipped = file_join(paths->templates, "presets");
    return names_of_files("preset", (const char *const[]){own, shipped, NULL});
}
