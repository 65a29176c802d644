#include "daemon/layers.h"

#include "base/alloc.h"
#include "base/log.h"
#include "base/units.h"
#include "daemon/state_snapshots.h"
#include "daemon/work.h"
#include "vm/layer.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SUFFIX ".qcow2"

char *layers_file(const struct daemon *daemon, const char *project, int64_t number)
{
    char name[64];

    snprintf(name, sizeof(name), "disk/%lld" SUFFIX, (long long)number);
    return daemon_project_path(daemon, project, name);
}

char *layers_disk(const struct daemon *daemon, const struct record *record)
{
    return layers_file(daemon, record->id, record->layer);
}

/* Whether two names lead to one file. */
static bool same_file(const char *a, const char *b)
{
    struct stat one, other;

    return stat(a, &one) == 0 && stat(b, &other) == 0 && one.st_dev == other.st_dev &&
           one.st_ino == other.st_ino;
}

/* The recorded files against those of the headers. */
static int compare(char *const *recorded, char *const *found, struct error **err)
{
    for (size_t i = 0; recorded[i] || found[i]; i++) {
        if (recorded[i] && found[i] && same_file(recorded[i], found[i]))
            continue;
        error_set(err, ERROR_CORRUPT, "\"%s\" stands on \"%s\", and on record is \"%s\"",
                  i ? recorded[i - 1] : recorded[0], found[i] ? found[i] : "nothing",
                  recorded[i] ? recorded[i] : "nothing");
        return error_hint(err, "somebody changed the file: put the right one back, or go back to a snapshot "
                               "that does not need it");
    }
    return 0;
}

int layers_chain(const struct daemon *daemon, const struct record *record, int64_t number, char ***ret_chain,
                 struct error **err)
{
    return layers_chain_of(daemon, record, record->id, number, ret_chain, err);
}

int layers_chain_of(const struct daemon *daemon, const struct record *record, const char *project,
                    int64_t number, char ***ret_chain, struct error **err)
{
    autofree struct layer_row *rows = NULL;
    char **recorded, **found = NULL;
    size_t count;
    int rc = state_layers_path(daemon->state, project, number, &rows, &count, err);

    if (rc < 0)
        return rc;
    recorded = xnewn(char *, count + 2);
    for (size_t i = 0; i < count; i++)
        recorded[i] = layers_file(daemon, rows[i].project, rows[i].number);
    recorded[count] = xasprintf("%s/bases/%s/disk" SUFFIX, daemon->paths->data, record->base);
    rc = layer_chain(recorded[0], &found, err);
    if (rc == 0)
        rc = compare(recorded, found, err);
    vm_free_chain(found);
    if (rc < 0) {
        vm_free_chain(recorded);
        return rc;
    }
    *ret_chain = recorded;
    return 0;
}

size_t layers_depth(const struct daemon *daemon, const struct record *record, int64_t number)
{
    autofree struct layer_row *rows = NULL;
    size_t count;

    return state_layers_path(daemon->state, record->id, number, &rows, &count, NULL) < 0 ? 0 : count + 1;
}

/* The number of "12.qcow2" or of the temporary "12.qcow2.new"; -1 for another name. */
static int64_t number_of(const char *name)
{
    size_t digits = strspn(name, "0123456789");
    autofree char *number = xstrndup(name, digits);
    uint64_t value = 0;

    if (strcmp(name + digits, SUFFIX) && strcmp(name + digits, SUFFIX ".new"))
        return -1;
    return units_parse_number(number, 0, INT32_MAX, &value, NULL) == 0 ? (int64_t)value : -1;
}

void layers_sweep(struct work *work)
{
    const struct record *r = &work->r;
    autofree struct layer_row *rows = NULL;
    autofree char *folder = daemon_project_path(work->daemon, r->id, "disk");
    auto(error) struct error *err = NULL;
    size_t count;

    if (state_layers(work->daemon->state, r->id, &rows, &count, &err) < 0) {
        log_error("%s", err->message);
        return;
    }
    DIR *dir = opendir(folder);
    for (struct dirent *entry; dir && (entry = readdir(dir));) {
        int64_t number = number_of(entry->d_name);
        bool known = number < 0 || number > r->layer_last;

        for (size_t i = 0; i < count && !known; i++)
            known = rows[i].number == number;
        if (!known && unlinkat(dirfd(dir), entry->d_name, 0) < 0)
            log_warning("\"%s/%s\" cannot be removed: %m", folder, entry->d_name);
    }
    if (dir)
        closedir(dir);
}
