#include "repo/quarantine.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/file.h"
#include "base/units.h"
#include "repo/git.h"

#include <errno.h>
#include <string.h>

void quarantine_news_finish(struct quarantine_news *news)
{
    for (size_t i = 0; i < news->change_count; i++) {
        free(news->changes[i].name);
        free(news->changes[i].old);
        free(news->changes[i].commit);
    }
    for (size_t i = 0; i < news->skip_count; i++) {
        free(news->skips[i].name);
        free(news->skips[i].why);
    }
    free(news->changes);
    free(news->skips);
    *news = (struct quarantine_news){0};
}

/* ---- making ---- */

/* Where it looks for objects that it has not. */
static int set_alternate(const char *folder, const char *mirror, struct error **err)
{
    autofree char *path = file_join(folder, "objects/info/alternates"), *have = NULL;
    autofree char *sent = file_join(folder, QUARANTINE_SENT "/objects");
    bool both = file_exists(sent);
    autofree char *want = xasprintf("%s%s%s%s", mirror ? mirror : "", mirror ? "/objects\n" : "",
                                    both ? sent : "", both ? "\n" : "");

    if (file_read(path, 65536, &have, NULL, NULL) < 0)
        have = xstrdup("");
    if (!strcmp(have, want))
        return 0;
    return file_replace(path, want, strlen(want), 0600, err);
}

/* Beside its place and renamed, so that a half-made one is never taken for it. */
static int make_bare(const char *folder, const char *format, struct error **err)
{
    autofree char *fresh = xasprintf("%s.new", folder);
    autofree char *object_format = xasprintf("--object-format=%s", format);
    const char *args[] = {"init",        "-q",          "--bare", "--initial-branch=main",
                          object_format, "--template=", NULL};

    int rc = file_remove_tree(fresh, err);
    if (rc == 0)
        rc = file_make_folder(fresh, 0700, err);
    if (rc == 0)
        rc = git_own(fresh, args, NULL, NULL, err);
    autofree char *info = file_join(fresh, "objects/info");
    if (rc == 0)
        rc = file_make_folder(info, 0700, err);
    if (rc == 0 && rename(fresh, folder) < 0)
        rc = error_set_errno(err, errno, "cannot make '%s'", folder);
    return rc;
}

int quarantine_prepare(const char *folder, const char *mirror, const char *format, struct error **err)
{
    static const char *const format_args[] = {"rev-parse", "--show-object-format", NULL};
    autofree char *head = file_join(folder, "HEAD"), *have = NULL;
    autofree char *parent = xstrndup(folder, (size_t)(strrchr(folder, '/') - folder));
    int rc = file_make_folder(parent, 0700, err);

    if (rc == 0 && !file_exists(head))
        rc = make_bare(folder, format, err);
    if (rc == 0)
        rc = git_own(folder, format_args, NULL, &have, err);
    if (rc < 0)
        return rc;
    have[strcspn(have, "\n")] = '\0';
    if (strcmp(have, format) != 0) {
        rc = error_set(err, ERROR_STATE, "'%s' has %s objects, the machine's repository has %s", folder, have,
                       format);
        error_hint(err, "a repository of another format comes in as another project");
        return rc;
    }
    return set_alternate(folder, mirror, err);
}

int quarantine_check_room(const char *folder, uint64_t max, uint64_t min_free, struct error **err)
{
    uint64_t used = file_disk_usage(folder), left = 0;
    char size[UNITS_SIZE_MAX];
    int rc = 0;

    if (used > max) {
        rc = error_set(err, ERROR_LIMIT, "what came out of the machine fills %s already, in '%s'",
                       units_format_size(used, size), folder);
        error_hint(err, "land or reject what waits, then remove that folder: it is made anew");
    } else if (file_free_space(folder, &left, NULL) == 0 && left < min_free) {
        rc = error_set(err, ERROR_NO_SPACE, "only %s are free where '%s' lies", units_format_size(left, size),
                       folder);
        error_hint(err, "make room on that disk: what the machine has stays in it meanwhile");
    }
    return rc;
}

/* ---- refs ---- */

void quarantine_free_refs(struct quarantine_ref *refs, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        free(refs[i].name);
        free(refs[i].commit);
    }
    free(refs);
}

int quarantine_refs(const char *folder, const char *prefix, struct quarantine_ref **ret_refs,
                    size_t *ret_count, struct error **err)
{
    const char *args[] = {"for-each-ref", "--format=%(objectname) %(refname)", prefix, NULL};
    autofree char *out = NULL;
    int rc = git_own(folder, args, NULL, &out, err);

    if (rc < 0)
        return rc;
    struct quarantine_ref *refs = NULL;
    size_t count = 0;
    char *rest = out;
    for (char *line = strsep(&rest, "\n"); line; line = strsep(&rest, "\n")) {
        char *space = strchr(line, ' ');
        if (!space)
            continue;
        *space = '\0';
        refs = xrealloc(refs, count + 1, sizeof(*refs));
        refs[count++] = (struct quarantine_ref){.name = xstrdup(space + 1), .commit = xstrdup(line)};
    }
    *ret_refs = refs;
    *ret_count = count;
    return 0;
}

int quarantine_update(const char *folder, const struct quarantine_update *updates, size_t count,
                      struct error **err)
{
    static const char *const args[] = {"update-ref", "--no-deref", "--stdin", NULL};
    struct buf lines;

    if (!count)
        return 0;
    buf_init(&lines, 0);
    for (size_t i = 0; i < count; i++) {
        require(git_ref_ok(updates[i].name));
        if (updates[i].commit)
            buf_printf(&lines, NULL, "update %s %s\n", updates[i].name, updates[i].commit);
        else
            buf_printf(&lines, NULL, "delete %s\n", updates[i].name);
    }
    autofree char *text = buf_take_string(&lines);
    buf_finish(&lines);
    return git_own(folder, args, text, NULL, err);
}

bool quarantine_contains(const char *folder, const char *descendant, const char *commit)
{
    const char *args[] = {"merge-base", "--is-ancestor", commit, descendant, NULL};
    return git_own(folder, args, NULL, NULL, NULL) == 0;
}
