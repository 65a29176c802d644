#include "diff/facts.h"

#include "base/alloc.h"

#include <ctype.h>
#include <string.h>
#include <sys/stat.h>

#define SYSTEM_UNITS "/etc/systemd/system/"
#define USER_UNITS   "/.config/systemd/user/"
#define OWN_GIT      "/var/lib/hutch/" /* bare repositories of hutch-guest */

const char *const fact_service_names[SERVICE_KINDS] = {"enabled", "disabled", "masked", "unmasked"};

/* ---- services ---- */

static bool ends_in(const char *text, size_t len, const char *end)
{
    size_t n = strlen(end);
    return len > n && memcmp(text + len - n, end, n) == 0;
}

/* Whether a side is a link to nothing. */
static int is_masked(struct volume *volume, const struct change_side *side, bool *ret, struct error **err)
{
    autofree char *target = NULL;
    struct node node;

    *ret = false;
    if (!side->inode || !S_ISLNK(side->mode) || side->size != strlen("/dev/null"))
        return 0;
    int rc = volume_node(volume, side->inode, &node, err);
    if (rc == 0)
        rc = volume_target(volume, side->inode, &node, &target, err);
    *ret = rc == 0 && strcmp(target, "/dev/null") == 0;
    return rc;
}

/* rest: the path below the folder of units. */
static int judge(struct volume *a, struct volume *b, const struct change *change, const char *rest,
                 bool of_user, fact_service_fn fn, void *user, struct error **err)
{
    const char *slash = strchr(rest, '/'), *unit = slash ? slash + 1 : rest;
    bool was = S_ISLNK(change->old.mode), is = S_ISLNK(change->new.mode);

    if (slash) {
        size_t len = (size_t)(slash - rest);
        if (strchr(unit, '/') || !*unit || was == is ||
            !(ends_in(rest, len, ".wants") || ends_in(rest, len, ".requires")))
            return 0;
        return fn(user, unit, is ? SERVICE_ENABLED : SERVICE_DISABLED, of_user, change->path, err);
    }
    int rc = is_masked(a, &change->old, &was, err);
    if (rc == 0)
        rc = is_masked(b, &change->new, &is, err);
    if (rc < 0 || was == is)
        return rc;
    return fn(user, unit, is ? SERVICE_MASKED : SERVICE_UNMASKED, of_user, change->path, err);
}

int facts_services(struct volume *a, struct volume *b, const struct changes *changes, fact_service_fn fn,
                   void *user, struct error **err)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < changes->count; i++) {
        const struct change *change = &changes->items[i];
        const char *below = strstr(change->path, USER_UNITS);
        if (change->kind == CHANGE_RENAMED)
            continue;
        if (strncmp(change->path, SYSTEM_UNITS, strlen(SYSTEM_UNITS)) == 0)
            rc = judge(a, b, change, change->path + strlen(SYSTEM_UNITS), false, fn, user, err);
        else if (below)
            rc = judge(a, b, change, below + strlen(USER_UNITS), true, fn, user, err);
    }
    return rc;
}

/* ---- git ---- */

static bool is_hex(const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (!isxdigit((unsigned char)text[i]))
            return false;
    return len == 40 || len == 64;
}

static void take_commit(struct fact_head *head, const char *text)
{
    size_t len = strcspn(text, " \t\r\n");
    if (is_hex(text, len)) {
        memcpy(head->commit, text, len);
        head->commit[len] = '\0';
    }
}

/* A small regular file below a .git; NULL in *ret: it is not there, or is none. */
static int read_small(struct volume *volume, const char *git, const char *name, char **ret,
                      struct error **err)
{
    autofree char *path = xasprintf("%s/%s", git, name);
    struct error *failed = NULL;
    struct node node;
    uint32_t inode;
    size_t len;

    *ret = NULL;
    int rc = volume_lookup(volume, path, &inode, &node, &failed);
    if (rc == -ERROR_NOT_FOUND || (rc == 0 && (!S_ISREG(node.mode) || node.size > GIT_FILE_MAX))) {
        error_free(failed);
        return 0;
    }
    if (rc == 0)
        rc = volume_file(volume, inode, GIT_FILE_MAX, ret, &len, &failed);
    return rc < 0 ? error_move(err, &failed) : 0;
}

/* The commit of a ref out of packed-refs. */
static void find_packed(struct fact_head *head, const char *text, const char *ref)
{
    size_t len = strlen(ref);

    for (const char *line = text; line && *line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
        size_t hex = strcspn(line, " \n");
        if (line[hex] == ' ' && strncmp(line + hex + 1, ref, len) == 0 && strchr("\r\n", line[hex + 1 + len]))
            take_commit(head, line);
    }
}

static int read_head(struct volume *volume, const char *git, struct fact_head *ret, struct error **err)
{
    autofree char *text = NULL, *loose = NULL, *packed = NULL;
    static const char prefix[] = "ref: ", heads[] = "refs/heads/";

    *ret = (struct fact_head){0};
    int rc = read_small(volume, git, "HEAD", &text, err);
    if (rc < 0 || !text)
        return rc;
    ret->there = true;
    text[strcspn(text, "\r\n")] = '\0';
    const char *ref = text + sizeof(prefix) - 1;
    if (strncmp(text, prefix, sizeof(prefix) - 1) != 0) {
        take_commit(ret, text);
        return 0;
    }
    if (strncmp(ref, "refs/", 5) != 0 || strstr(ref, ".."))
        return 0;
    snprintf(ret->branch, sizeof(ret->branch), "%s",
             strncmp(ref, heads, sizeof(heads) - 1) == 0 ? ref + sizeof(heads) - 1 : ref);
    rc = read_small(volume, git, ref, &loose, err);
    if (rc == 0 && loose)
        take_commit(ret, loose);
    else if (rc == 0)
        rc = read_small(volume, git, "packed-refs", &packed, err);
    if (packed)
        find_packed(ret, packed, ref);
    return rc;
}

static int compare_heads(struct volume *a, struct volume *b, const char *git, fact_git_fn fn, void *user,
                         struct error **err)
{
    struct fact_head old, new;
    autofree char *tree = xstrndup(git, strlen(git) - strlen("/.git"));

    int rc = read_head(a, git, &old, err);
    if (rc == 0)
        rc = read_head(b, git, &new, err);
    if (rc < 0 ||
        (old.there == new.there &&strcmp(old.branch, new.branch) == 0 && strcmp(old.commit, new.commit) == 0))
        return rc;
    return fn(user, *tree ? tree : "/", &old, &new, err);
}

/* The length of a path up to its first part ".git"; 0: there is none. */
static size_t git_prefix(const char *path)
{
    static const char part[] = "/.git";

    for (const char *at = strstr(path, part); at; at = strstr(at + 1, part)) {
        size_t len = (size_t)(at - path) + sizeof(part) - 1;
        if (path[len] == '/' || !path[len])
            return len;
    }
    return 0;
}

int facts_git(struct volume *a, struct volume *b, const struct changes *changes, fact_git_fn fn, void *user,
              struct error **err)
{
    autofree char *last = xstrdup("");
    unsigned places = 0;
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < changes->count; i++) {
        const char *path = changes->items[i].path;
        size_t len = git_prefix(path);
        if (len == 0 || strncmp(path, OWN_GIT, strlen(OWN_GIT)) == 0)
            continue;
        if (strlen(last) == len && memcmp(last, path, len) == 0)
            continue;
        free(last);
        last = xstrndup(path, len);
        if (++places > GIT_PLACES_MAX)
            return 0;
        rc = compare_heads(a, b, last, fn, user, err);
    }
    return rc;
}
