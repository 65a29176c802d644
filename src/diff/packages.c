/* The packages of dpkg on both sides. */
#include "base/alloc.h"
#include "diff/facts.h"

#include <string.h>
#include <sys/stat.h>

#define STATUS_PATH "/var/lib/dpkg/status"
#define FIELD_MAX   256

/* Strings point into the file, which is cut up. */
struct package {
    const char *name, *arch, *version;
};
struct packages {
    char *text;
    struct package *items;
    size_t count, room;
};

static int by_name(const void *a, const void *b)
{
    const struct package *x = a, *y = b;
    int order = strcmp(x->name, y->name);
    return order ? order : strcmp(x->arch, y->arch);
}

/* The value of a line "KEY: value", or NULL. */
static const char *value_of(const char *line, const char *key)
{
    size_t len = strlen(key);
    return strncmp(line, key, len) == 0 && line[len] == ':' ? line + len + 1 + strspn(line + len + 1, " ")
                                                            : NULL;
}

static int add(struct packages *packages, const struct package *package, bool installed, struct error **err)
{
    if (!installed || !package->name || !package->version || !package->arch ||
        strlen(package->name) > FIELD_MAX || strlen(package->version) > FIELD_MAX ||
        strlen(package->arch) > FIELD_MAX)
        return 0;
    if (packages->count == PACKAGES_MAX)
        return error_set(err, ERROR_LIMIT, "\"%s\" has more than %u packages", STATUS_PATH, PACKAGES_MAX);
    if (packages->count == packages->room) {
        packages->room = packages->room ? packages->room * 2 : 1024;
        packages->items = xrealloc(packages->items, packages->room, sizeof(*packages->items));
    }
    packages->items[packages->count++] = *package;
    return 0;
}

/* Stanzas with an empty line between them; what goes on in the next line does not matter here. */
static int parse(struct packages *packages, struct error **err)
{
    struct package package = {0};
    bool installed = false;
    int rc = 0;

    for (char *line = packages->text, *next; rc == 0 && line; line = next) {
        const char *value;
        next = strchr(line, '\n');
        if (next)
            *next++ = '\0';
        if (!*line) {
            rc = add(packages, &package, installed, err);
            package = (struct package){0};
            installed = false;
        } else if ((value = value_of(line, "Package"))) {
            package.name = value;
        } else if ((value = value_of(line, "Version"))) {
            package.version = value;
        } else if ((value = value_of(line, "Architecture"))) {
            package.arch = value;
        } else if ((value = value_of(line, "Status"))) {
            const char *last = strrchr(value, ' ');
            installed = last && strcmp(last, " installed") == 0;
        }
    }
    if (rc == 0)
        rc = add(packages, &package, installed, err);
    if (packages->count > 0)
        qsort(packages->items, packages->count, sizeof(*packages->items), by_name);
    return rc;
}

static int load(struct volume *volume, const struct change_side *side, struct packages *ret,
                struct error **err)
{
    size_t len;

    if (!side->inode || !S_ISREG(side->mode))
        return 0;
    int rc = volume_file(volume, side->inode, FACTS_FILE_MAX, &ret->text, &len, err);
    return rc < 0 ? rc : parse(ret, err);
}

static int compare(const struct packages *old, const struct packages *new, fact_package_fn fn, void *user,
                   struct error **err)
{
    size_t i = 0, k = 0;
    int rc = 0;

    while (rc == 0 && (i < old->count || k < new->count)) {
        int order = i == old->count ? 1 : k == new->count ? -1 : by_name(&old->items[i], &new->items[k]);
        const struct package *before = order <= 0 ? &old->items[i++] : NULL;
        const struct package *after = order >= 0 ? &new->items[k++] : NULL;
        const struct package *any = before ? before : after;
        if (!before || !after || strcmp(before->version, after->version) != 0)
            rc = fn(user, any->name, any->arch, before ? before->version : NULL,
                    after ? after->version : NULL, err);
    }
    return rc;
}

int facts_packages(struct volume *a, struct volume *b, const struct changes *changes, fact_package_fn fn,
                   void *user, struct error **err)
{
    const struct change *change = changes_at(changes, STATUS_PATH);
    struct packages old = {0}, new = {0};

    if (!change)
        return 0;
    int rc = load(a, &change->old, &old, err);
    if (rc == 0)
        rc = load(b, &change->new, &new, err);
    if (rc == 0)
        rc = compare(&old, &new, fn, user, err);
    free(old.text);
    free(old.items);
    free(new.text);
    free(new.items);
    return rc;
}
