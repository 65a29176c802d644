#include "guest/place.h"

#include "base/alloc.h"
#include "base/file.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define REPOSITORY_NAME_MAX 100

/* The path of the running binary; in a machine the one that every start puts there. */
static char *own_program(bool machine)
{
    char path[4096];

    if (machine && access(PLACE_PROGRAM, X_OK) == 0)
        return xstrdup(PLACE_PROGRAM);
    ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);
    if (n <= 0 || *path != '/')
        return xstrdup(PLACE_PROGRAM);
    path[n] = '\0';
    return xstrdup(path);
}

void place_init(struct place *place, const char *ports, const char *root)
{
    const char *state = getenv("HUTCH_GUEST_STATE");

    memset(place, 0, sizeof(*place));
    place->machine = ports == NULL;
    place->run = xstrdup(ports ? ports : PLACE_RUN);
    place->sessions = file_join(place->run, "sessions");
    place->bin = file_join(place->run, "bin");
    if (state && *state == '/')
        place->state = xstrdup(state);
    else
        place->state = ports ? file_join(ports, "state") : xstrdup(PLACE_STATE);
    place->git = file_join(place->state, "git");
    place->root = root ? xstrdup(root) : ports ? NULL : xstrdup("");
    place->program = own_program(place->machine);
}

void place_finish(struct place *place)
{
    free(place->run);
    free(place->sessions);
    free(place->bin);
    free(place->state);
    free(place->git);
    free(place->root);
    free(place->program);
}

int place_create(const struct place *place, struct error **err)
{
    autofree char *link = file_join(place->bin, "git-remote-hutch");
    int rc = file_make_folder(place->run, 0755, err);
    if (!rc)
        rc = file_make_folder(place->sessions, 0700, err);
    if (!rc)
        rc = file_make_folder(place->bin, 0755, err);
    if (rc)
        return rc;
    if (chmod(place->sessions, 0700))
        return error_set_errno(err, errno, "cannot close '%s' to others", place->sessions);
    if (symlink(place->program, link) && errno != EEXIST)
        return error_set_errno(err, errno, "cannot make '%s'", link);
    return 0;
}

void place_link_helper(const struct place *place)
{
    if (!place->machine)
        return;
    if (symlink(place->program, "/usr/local/bin/git-remote-hutch"))
        return; /* there already, or a root that cannot be written yet */
}

const char *place_state_from_environment(void)
{
    const char *state = getenv("HUTCH_GUEST_STATE");
    return state && *state == '/' ? state : PLACE_STATE;
}

int place_repository(const char *git_folder, const char *name, char **ret_path, struct error **err)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    size_t len = strlen(name);

    if (len == 0 || len > REPOSITORY_NAME_MAX || strspn(name, letters) != len || *name == '.' ||
        *name == '-') {
        error_set(err, ERROR_INVALID, "'%.120s' cannot be a repository's name", name);
        return error_hint(err, "letters, digits, '.', '_' and '-', at most %d", REPOSITORY_NAME_MAX);
    }
    *ret_path = xasprintf("%s/%s.git", git_folder, name);
    return 0;
}
