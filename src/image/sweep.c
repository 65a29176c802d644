#include "image/sweep.h"

#include "base/alloc.h"
#include "base/fd.h"
#include "base/file.h"
#include "image/image.h"
#include "image/runner.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>

static bool is_temporary(const struct dirent *entry)
{
    return !strncmp(entry->d_name, SWEEP_PREFIX, strlen(SWEEP_PREFIX));
}

int sweep_tree(const struct host *host, const char *const *env, FILE *log, const char *path,
               struct error **err)
{
    if (!file_exists(path))
        return 0;
    struct runner runner = {.env = env, .cwd = "/", .lock = -1, .log = log};
    int r = runner_run(&runner, host->confined,
                       (const char *const[]){host->rm, "-rf", "--one-file-system", "--", path, NULL}, err);
    runner_finish(&runner);
    return r;
}

int sweep_folder(const struct host *host, const char *const *env, FILE *log, const char *folder,
                 void (*before)(void *user), void *user, struct error **err)
{
    DIR *dir = opendir(folder);
    if (!dir)
        return error_set_errno(err, errno, "cannot read \"%s\"", folder);
    const struct dirent *entry;
    int r = 0;
    while (!r && (entry = readdir(dir))) {
        autofree char *path = file_join(folder, entry->d_name);
        if (!is_temporary(entry))
            continue;
        if (before)
            before(user);
        r = sweep_tree(host, env, log, path, err);
    }
    closedir(dir);
    return r;
}

/* Whether there is anything to remove. */
static bool has_temporary(const char *folder)
{
    DIR *dir = opendir(folder);
    const struct dirent *entry;
    bool found = false;
    while (dir && !found && (entry = readdir(dir)))
        found = is_temporary(entry);
    if (dir)
        closedir(dir);
    return found;
}

int base_sweep(const struct paths *paths, struct error **err)
{
    static const char *const env[] = {"PATH=/usr/local/sbin:/usr/sbin:/sbin:/usr/bin:/bin", "LC_ALL=C", NULL};
    autofree char *folder = base_folder(paths);
    autofree char *lock_path = file_join(folder, ".lock");
    autoclose int lock = -1;
    struct host host = {0};
    if (!has_temporary(folder))
        return 0;
    auto(error) struct error *why = NULL;
    int r = fd_lock_file(lock_path, true, false, &lock, &why);
    if (r == -ERROR_BUSY)
        return 0;
    if (!r)
        r = host_init(&host, &why);
    if (!r)
        r = sweep_folder(&host, env, NULL, folder, NULL, NULL, &why);
    host_finish(&host);
    return r < 0 ? error_move(err, &why) : 0;
}
