#include "cli/snap.h"

#include "base/alloc.h"
#include "base/text.h"
#include "base/words.h"
#include "cli/project.h"

#include <string.h>

int snap_split(const char *word, char **ret_name, char **ret_snap, struct error **err)
{
    const char *at = strrchr(word, '@');

    if (at && (at[1] == '\0' || strspn(at + 1, "0123456789") != strlen(at + 1))) {
        autofree char *safe = text_safe(word);

        error_set(err, ERROR_USAGE, _("\"%s\" is no snapshot: they are called NAME@1, NAME@2, …"), safe);
        return error_hint(err, _("\"hutch snapshots\" lists them"));
    }
    size_t len = at ? (size_t)(at - word) : strlen(word);
    *ret_name = len ? xstrndup(word, len) : NULL;
    *ret_snap = at ? xstrdup(at) : NULL;
    return 0;
}

int snap_missing(const char *name, struct error **err)
{
    autofree char *safe = text_safe(name ? name : "");

    error_set(err, ERROR_USAGE, _("which snapshot of \"%s\"?"), safe);
    return error_hint(err, _("\"hutch snapshots %s\" lists them; they are called %s@1, %s@2, …"), safe, safe,
                      safe);
}

int snap_path(struct client *client, const char *word, const char *suffix, char **ret_path,
              struct error **err)
{
    autofree char *given = NULL, *name = NULL, *snap = NULL;
    int rc = snap_split(word, &given, &snap, err);

    if (rc == 0 && !snap)
        rc = snap_missing(given, err);
    if (rc == 0)
        rc = project_name(client, given, &name, err);
    if (rc == 0)
        *ret_path = project_path(name, "/snapshots/%s%s", snap, suffix);
    return rc;
}
