#include "review/review.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/text.h"
#include "review/diff.h"

#include <string.h>
#include <strings.h>

#define LINK_NAMES_MAX 2000

/* Folders above a path. */
static size_t depth_of(const char *path)
{
    size_t depth = 0;
    for (; *path; path++)
        depth += *path == '/';
    return depth;
}

/* A part that opens a repository's own folder, also where the file system folds case or short names. */
static bool is_git_folder(const char *part, size_t len)
{
    return (len == 4 && !strncasecmp(part, ".git", 4)) || (len == 5 && !strncasecmp(part, "git~1", 5));
}

bool review_link_leads_out(const char *path, const char *target, size_t len)
{
    size_t up = depth_of(path);
    bool named = false;

    if (len == 0 || target[0] == '/' || memchr(target, '\0', len) || memchr(target, '\\', len))
        return true;
    for (size_t at = 0; at < len;) {
        const char *slash = memchr(target + at, '/', len - at);
        size_t part = slash ? (size_t)(slash - target) - at : len - at;
        const char *text = target + at;
        if (part == 2 && !memcmp(text, "..", 2)) {
            /* behind a name, which may be a link itself, nobody can say where ".." leads */
            if (named || up == 0)
                return true;
            up--;
        } else if (part > 0 && !(part == 1 && text[0] == '.')) {
            if (is_git_folder(text, part))
                return true;
            named = true;
        }
        at += part + 1;
    }
    return false;
}

/* One that is shown like another file cannot be allowed: nobody can say which was looked at. */
static bool is_allowed(struct comparison *comparison, const char *safe, const char *const *allowed)
{
    struct change *meant;

    for (size_t i = 0; allowed && allowed[i]; i++)
        if (!strcmp(allowed[i], safe))
            return comparison_find(comparison, safe, &meant, NULL) == 0;
    return false;
}

int review_check_links(const char *quarantine, const char *tip_hex, const char *const *allowed,
                       struct error **err)
{
    auto(objects) struct objects *objects = NULL;
    struct comparison comparison = {0};
    struct buf names;
    size_t found = 0;

    int rc = objects_open(quarantine, &objects, err);
    if (rc == 0)
        rc = comparison_make(objects, tip_hex, &comparison, err);
    if (rc < 0)
        return rc;
    buf_init(&names, LINK_NAMES_MAX);
    for (size_t i = 0; i < comparison.changes.count; i++) {
        const struct change *change = &comparison.changes.items[i];
        auto(git_blob) git_odb_object *blob = NULL;
        if (!mode_is_link(change->new_mode))
            continue;
        bool readable = objects_blob(objects, &change->new_id, CHANGES_PATH_MAX, &blob, NULL) == 0;
        if (readable &&
            !review_link_leads_out(change->path, git_odb_object_data(blob), git_odb_object_size(blob)))
            continue;
        autofree char *safe = text_safe(change->path);
        if (!is_allowed(&comparison, safe, allowed) && ++found)
            buf_printf(&names, NULL, "%s'%s'", found > 1 ? ", " : "", safe);
    }
    if (comparison.changes.cut)
        rc = error_set(err, ERROR_LIMIT,
                       "it changes more than %d files: not all of its links could be looked at", CHANGES_MAX);
    autofree char *list = buf_take_string(&names);
    buf_finish(&names);
    comparison_finish(&comparison);
    if (rc < 0 || found == 0)
        return rc;
    rc = error_set(err, ERROR_DENIED, "%zu symbolic link%s out of the tree: %s", found,
                   found == 1 ? " leads" : "s lead", list);
    error_hint(err, "look at each, then allow it by --allow-link PATH, or land the rest with --files");
    return rc;
}
