#include "repo/git.h"

#include "base/alloc.h"
#include "base/log.h"
#include "base/text.h"

#include <string.h>

#define REFS_MAX      5000
#define REFS_TEXT_MAX (2 * 1024 * 1024)
#define PUSH_QUIET_S  600
#define PUSH_WALL_S   (4 * 3600)

/* The mirror's branches and tags whose names may be named; the others are said and left out. */
static int list_refs(const char *mirror, char ***ret_refs, size_t *ret_count, struct error **err)
{
    const char *argv[] = {
        "git",       "-C",         mirror, "for-each-ref", "--format=%(refname)", "refs/heads",
        "refs/tags", "refs/hutch", NULL};
    static const char *const env[] = {"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "LC_ALL=C",
                                      NULL};
    struct git_run run = {.argv = argv,
                          .env = env,
                          .keep = -1,
                          .what = "git for-each-ref",
                          .limit_s = 60,
                          .out_limit = REFS_TEXT_MAX};
    autofree char *out = NULL;

    int rc = git_run(&run, &out, err);
    if (rc < 0)
        return rc;
    char **refs = xnewn(char *, REFS_MAX + 1);
    size_t count = 0, left_out = 0;
    char *rest = out;
    for (char *name = strsep(&rest, "\n"); name; name = strsep(&rest, "\n")) {
        if (!*name)
            continue;
        if (!git_ref_ok(name) || count == REFS_MAX) {
            autofree char *safe = text_safe(name);
            if (left_out++ < 5)
                log_warning("ref '%s' is left out: its name cannot be passed on", safe);
            continue;
        }
        refs[count++] = xasprintf("%s:%s", name, name);
    }
    *ret_refs = refs;
    *ret_count = count;
    return 0;
}

int repo_push(const struct paths *paths, const char *mirror, const char *commit, int fd,
              repo_progress_fn progress, void *user, const atomic_bool *cancel, struct error **err)
{
    autofree char *program = NULL;
    char **refs = NULL;
    size_t count = 0;

    int rc = paths_program(paths, "hutch-git", &program, err);
    if (rc == 0)
        rc = list_refs(mirror, &refs, &count, err);
    if (rc < 0)
        return rc;
    autofree char *asked = *commit ? xasprintf("%s:refs/hutch/start", commit) : NULL;
    const char **argv = xnewn(const char *, count + 6);
    size_t n = 0;
    argv[n++] = program;
    argv[n++] = "push";
    argv[n++] = mirror;
    if (asked)
        argv[n++] = asked;
    for (size_t i = 0; i < count; i++)
        argv[n++] = refs[i];
    static const char *const env[] = {"PATH=/usr/local/bin:/usr/bin:/bin", "LC_ALL=C", NULL};
    struct git_run run = {.argv = argv,
                          .env = env,
                          .only_env = true,
                          .keep = fd,
                          .what = "the push into the machine",
                          .progress = progress,
                          .user = user,
                          .cancel = cancel,
                          .limit_s = PUSH_WALL_S,
                          .quiet_limit_s = PUSH_QUIET_S};
    if (n > 3)
        rc = git_run(&run, NULL, err);
    free(argv);
    git_free_list(refs);
    return rc;
}
