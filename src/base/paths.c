#include "base/paths.h"

#include "base/alloc.h"
#include "base/fd.h"
#include "base/file.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A variable's absolute path without trailing slashes, NULL if it is unset or empty. */
static int variable(const char *name, char **ret, struct error **err)
{
    const char *value = getenv(name);
    *ret = NULL;
    if (!value || !*value)
        return 0;
    if (*value != '/') {
        error_set(err, ERROR_INVALID, "%s=\"%s\" is not an absolute path", name, value);
        error_hint(err, "set %s to a path that begins with / or unset it", name);
        return -ERROR_INVALID;
    }
    size_t len = strlen(value);
    while (len > 1 && value[len - 1] == '/')
        len--;
    *ret = xstrndup(value, len);
    return 0;
}

/* $name/hutch, else $HOME/fallback/hutch. */
static int xdg(const char *name, const char *home, const char *fallback, char **ret, struct error **err)
{
    autofree char *base = NULL;
    int rc = variable(name, &base, err);
    if (rc < 0)
        return rc;
    if (!base && !home) {
        error_set(err, ERROR_INVALID, "HOME is not set");
        error_hint(err, "set HOME, or HUTCH_HOME to a folder for everything of hutch");
        return -ERROR_INVALID;
    }
    *ret = base ? file_join(base, "hutch") : xasprintf("%s/%s/hutch", home, fallback);
    return 0;
}

/* The run folder without XDG_RUNTIME_DIR: that of the login manager if it is there and ours. */
static char *run_fallback(const char *home)
{
    autofree char *run = xasprintf("/run/user/%u", (unsigned)geteuid());
    struct stat st;
    if (lstat(run, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == geteuid())
        return file_join(run, "hutch");
    return home ? file_join(home, ".cache/hutch/run") : NULL;
}

static int find_user(struct paths *paths, struct error **err)
{
    autofree char *home = NULL, *run = NULL;
    int rc = variable("HOME", &home, err);
    if (rc < 0 || (rc = xdg("XDG_CONFIG_HOME", home, ".config", &paths->config, err)) < 0 ||
        (rc = xdg("XDG_DATA_HOME", home, ".local/share", &paths->data, err)) < 0 ||
        (rc = xdg("XDG_STATE_HOME", home, ".local/state", &paths->state, err)) < 0 ||
        (rc = xdg("XDG_CACHE_HOME", home, ".cache", &paths->cache, err)) < 0 ||
        (rc = variable("XDG_RUNTIME_DIR", &run, err)) < 0)
        return rc;
    paths->run = run ? file_join(run, "hutch") : run_fallback(home);
    if (!paths->run) {
        error_set(err, ERROR_INVALID, "neither XDG_RUNTIME_DIR nor HOME is set");
        error_hint(err, "set HOME, or HUTCH_HOME to a folder for everything of hutch");
        return -ERROR_INVALID;
    }
    return 0;
}

/* All five under one folder; config and run may have places of their own. */
static void set_below(struct paths *paths, const char *folder, const char *config, const char *run)
{
    paths->config = config ? xstrdup(config) : file_join(folder, "config");
    paths->data = file_join(folder, "data");
    paths->state = file_join(folder, "state");
    paths->cache = file_join(folder, "cache");
    paths->run = run ? xstrdup(run) : file_join(folder, "run");
}

/* The folder of the running program; NULL if /proc does not tell. */
static char *program_folder(void)
{
    char exe[4096];
    ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
    if (n <= 0)
        return NULL;
    exe[n] = '\0';
    char *slash = strrchr(exe, '/');
    return slash && slash > exe ? xstrndup(exe, slash - exe) : NULL;
}

/* An executable regular file. */
static bool is_program(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

static void find_programs(struct paths *paths)
{
    autofree char *folder = program_folder();
    autofree char *daemon = folder ? file_join(folder, "hutchd") : NULL;
    if (daemon && is_program(daemon))
        paths->programs = steal(&folder);
    else
        paths->programs = xstrdup(HUTCH_LIBEXECDIR);
    autofree char *templates = file_join(paths->programs, "templates");
    paths->templates = file_exists(templates) ? steal(&templates) : xstrdup(HUTCH_DATADIR "/templates");
}

int paths_find(struct paths **ret_paths, struct error **err)
{
    auto(paths) struct paths *paths = xnew(struct paths);
    autofree char *home = NULL;
    int rc = variable("HUTCH_HOME", &home, err);
    if (rc < 0)
        return rc;
    if (home)
        set_below(paths, home, NULL, NULL);
    else if (geteuid() == 0)
        set_below(paths, "/var/lib/hutch", "/etc/hutch", "/run/hutch");
    else if ((rc = find_user(paths, err)) < 0)
        return rc;
    paths->socket = file_join(paths->run, "hutchd.sock");
    paths->lock = file_join(paths->run, "hutchd.lock");
    if (strlen(paths->socket) > FD_UNIX_PATH_MAX) {
        error_set(err, ERROR_INVALID, "socket path \"%s\" has %zu bytes, the system takes %d", paths->socket,
                  strlen(paths->socket), FD_UNIX_PATH_MAX);
        error_hint(err, "set HUTCH_HOME to a folder with a shorter path");
        return -ERROR_INVALID;
    }
    find_programs(paths);
    *ret_paths = steal(&paths);
    return 0;
}

/* The socket lives in there: nobody else may own or enter the folder. */
static int check_run(const char *run, struct error **err)
{
    struct stat st;
    if (lstat(run, &st) < 0)
        return error_set_errno(err, errno, "cannot look at \"%s\"", run);
    if (!S_ISDIR(st.st_mode) || st.st_uid != geteuid()) {
        error_set(err, ERROR_DENIED, "\"%s\" is not a folder of this user", run);
        error_hint(err, "remove it, or set HUTCH_HOME to a folder of yours");
        return -ERROR_DENIED;
    }
    if ((st.st_mode & 077) && chmod(run, 0700) < 0)
        return error_set_errno(err, errno, "cannot set the mode of \"%s\"", run);
    return 0;
}

int paths_create(const struct paths *paths, struct error **err)
{
    /* data comes first: as root the folder above it must let QEMU's user through, too. */
    const char *const folders[] = {paths->data, paths->config, paths->state, paths->cache, paths->run};
    for (size_t i = 0; i < countof(folders); i++) {
        int rc = file_make_folder(folders[i], folders[i] == paths->data && geteuid() == 0 ? 0711 : 0700, err);
        if (rc < 0)
            return rc;
    }
    return check_run(paths->run, err);
}

void paths_free(struct paths *paths)
{
    if (!paths)
        return;
    free(paths->config);
    free(paths->data);
    free(paths->state);
    free(paths->cache);
    free(paths->run);
    free(paths->socket);
    free(paths->lock);
    free(paths->programs);
    free(paths->templates);
    free(paths);
}

int paths_program(const struct paths *paths, const char *name, char **ret_path, struct error **err)
{
    autofree char *path = file_join(paths->programs, name);
    if (is_program(path)) {
        *ret_path = steal(&path);
        return 0;
    }
    autofree char *folder = program_folder();
    autofree char *beside = folder ? file_join(folder, name) : NULL;
    if (beside && is_program(beside)) {
        *ret_path = steal(&beside);
        return 0;
    }
    error_set(err, ERROR_MISSING, "the program \"%s\" is not in \"%s\"", name, paths->programs);
    error_hint(err, "install hutch completely (make install), or build it (make)");
    return -ERROR_MISSING;
}
