#include "guest/session_table.h"

#include "base/alloc.h"
#include "base/file.h"
#include "guest/cgroup.h"

#include <dirent.h>
#include <signal.h>
#include <string.h>

#define TABLE_MAX  1024 /* entries that are looked at */
#define RECORD_MAX (64 * 1024)
#define SUFFIX     ".json"

bool session_id_valid(const char *id)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";
    size_t len = strlen(id);
    return len > 0 && len <= SESSION_ID_MAX && strspn(id, letters) == len;
}

struct entry {
    char *id;
    json_int_t started;
};

static int by_start(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    if (x->started != y->started)
        return x->started < y->started ? -1 : 1;
    return strcmp(x->id, y->id);
}

/* The id of a file's name, or NULL. Caller frees. */
static char *id_of(const char *name)
{
    size_t len = strlen(name), suffix = strlen(SUFFIX);
    if (len <= suffix || strcmp(name + len - suffix, SUFFIX) != 0)
        return NULL;
    char *id = xstrndup(name, len - suffix);
    if (session_id_valid(id))
        return id;
    free(id);
    return NULL;
}

char **session_table_ids(const char *folder)
{
    struct entry *entries = xnewn(struct entry, TABLE_MAX);
    size_t n = 0;
    DIR *dir = opendir(folder);

    for (struct dirent *entry; dir && n < TABLE_MAX && (entry = readdir(dir));) {
        char *id = id_of(entry->d_name);
        if (!id)
            continue;
        auto(json) json_t *record = session_table_read(folder, id, false);
        entries[n].id = id;
        entries[n++].started = json_integer_value(json_object_get(record, "started_ns"));
    }
    if (dir)
        closedir(dir);
    qsort(entries, n, sizeof(*entries), by_start);
    char **ids = xnewn(char *, n + 1);
    for (size_t i = 0; i < n; i++)
        ids[i] = entries[i].id;
    free(entries);
    return ids;
}

static bool has_ended(const json_t *record)
{
    const char *state = json_string_value(json_object_get(record, "state"));
    return state && !strcmp(state, "exited");
}

json_t *session_table_read(const char *folder, const char *id, bool lost)
{
    autofree char *path = xasprintf("%s/%s" SUFFIX, folder, id);
    autofree char *data = NULL;
    size_t len;

    if (file_read(path, RECORD_MAX, &data, &len, NULL))
        return NULL;
    json_t *record = json_parse(data, len, NULL);
    if (record && lost && !has_ended(record))
        json_object_set_new(record, "state", json_string("lost"));
    return record;
}

void session_table_count(const char *folder, size_t *ret_live, size_t *ret_ended, char **ret_oldest_ended)
{
    char **ids = session_table_ids(folder);

    *ret_live = *ret_ended = 0;
    *ret_oldest_ended = NULL;
    for (char **id = ids; *id; id++) {
        auto(json) json_t *record = session_table_read(folder, *id, false);
        if (!has_ended(record)) {
            ++*ret_live;
            continue;
        }
        if ((*ret_ended)++ == 0)
            *ret_oldest_ended = xstrdup(*id);
    }
    json_free_strings(ids);
}

bool session_table_forget(const char *folder, const char *id)
{
    autofree char *json = xasprintf("%s/%s" SUFFIX, folder, id);
    autofree char *sock = xasprintf("%s/%s.sock", folder, id);
    autofree char *cgroup = xasprintf(CGROUP_SESSIONS "/%s", id);
    bool known = file_exists(json) || file_exists(sock);

    if (known && cgroup_signal(cgroup, SIGKILL))
        cgroup_remove(cgroup);
    unlink(json);
    unlink(sock);
    return known;
}
