#include "repo/git.h"

#include "base/alloc.h"
#include "base/fd.h"
#include "base/file.h"

#include <openssl/evp.h>
#include <string.h>

#define LS_REMOTE_MAX   (16 * 1024 * 1024)
#define FETCH_QUIET_S   300
#define MIRROR_NAME_HEX 32

/* What `git ls-remote --symref` says. */
struct advert {
    char *head; /* full name of the branch that HEAD names, or NULL */
    bool empty;
    bool sha256;
};

/* Names the mirror of a URL: a digest, so that no URL becomes a path. */
static char *mirror_folder(const struct paths *paths, const char *url)
{
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned int len = 0;
    char hex[MIRROR_NAME_HEX + 1];

    require(EVP_Digest(url, strlen(url), digest, &len, EVP_sha256(), NULL) == 1);
    for (size_t i = 0; i < MIRROR_NAME_HEX / 2; i++)
        snprintf(hex + 2 * i, 3, "%02x", digest[i]);
    return xasprintf("%s/mirrors/%s.git", paths->cache, hex);
}

/* Reads the list of refs. */
static void parse_advert(char *text, struct advert *advert)
{
    char *line;

    advert->empty = true;
    while ((line = strsep(&text, "\n"))) {
        char *tab = strchr(line, '\t');
        if (!tab)
            continue;
        *tab = '\0';
        if (!strncmp(line, "ref: ", 5)) {
            if (!strcmp(tab + 1, "HEAD") && !advert->head && git_ref_ok(line + 5))
                advert->head = xstrdup(line + 5);
            continue;
        }
        advert->empty = false;
        advert->sha256 = strlen(line) == 64;
    }
}

/* Asks the other side what it has. */
static int list_remote(const struct repo_source *source, char **env, const atomic_bool *cancel,
                       struct advert *advert, struct error **err)
{
    const char *argv[] = {"git", "ls-remote", "--symref", "--", source->url, NULL};
    autofree char *what = xasprintf("git ls-remote of '%s'", source->remote);
    struct git_run run = {.argv = argv,
                          .env = (const char *const *)env,
                          .keep = -1,
                          .what = what,
                          .cancel = cancel,
                          .limit_s = 120,
                          .out_limit = LS_REMOTE_MAX};
    autofree char *out = NULL;

    int rc = git_run(&run, &out, err);
    if (rc < 0)
        return rc;
    parse_advert(out, advert);
    return 0;
}

/* Runs one short git command on the mirror, as hutch and not as the user: no configuration but the mirror's.
 */
static int mirror_git(const char *mirror, const char *const *args, char **ret_out, struct error **err)
{
    static const char *const env[] = {"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null",
                                      "GIT_TERMINAL_PROMPT=0", "LC_ALL=C", NULL};
    const char *argv[16] = {"git", "-C", mirror};
    size_t n = 3;

    for (size_t i = 0; args[i] && n < countof(argv) - 1; i++)
        argv[n++] = args[i];
    struct git_run run = {
        .argv = argv, .env = env, .keep = -1, .what = "git on the mirror", .limit_s = 60, .out_limit = 65536};
    return git_run(&run, ret_out, err);
}

/* Makes the bare repository if it is not there or of another object format. */
static int prepare(const char *mirror, const struct advert *advert, struct error **err)
{
    static const char *const format_args[] = {"rev-parse", "--show-object-format", NULL};
    const char *want = advert->sha256 ? "sha256" : "sha1";
    autofree char *have = NULL;
    autofree char *format = xasprintf("--object-format=%s", want);
    autofree char *config = file_join(mirror, "HEAD");

    if (file_exists(config) && mirror_git(mirror, format_args, &have, NULL) == 0 && have) {
        have[strcspn(have, "\n")] = '\0';
        if (advert->empty || !strcmp(have, want))
            return 0;
    }
    int rc = file_remove_tree(mirror, err);
    if (rc == 0)
        rc = file_make_folder(mirror, 0700, err);
    if (rc < 0)
        return rc;
    const char *args[] = {"init", "-q", "--bare", format, "--template=", ".", NULL};
    return mirror_git(mirror, args, NULL, err);
}

/* Whether there is not one branch or tag: then any branch is one that has no commit yet. */
static bool is_empty(const char *mirror)
{
    static const char *const args[] = {"for-each-ref", "--count=1", NULL};
    autofree char *out = NULL;
    return mirror_git(mirror, args, &out, NULL) == 0 && !*out;
}

/* Fetches branches and tags, and the asked commit if it is no branch or tag. */
static int fetch(const struct repo_source *source, const char *mirror, char **env, bool with_ref,
                 repo_progress_fn progress, void *user, const atomic_bool *cancel, struct error **err)
{
    autofree char *what = xasprintf("git fetch of '%s'", source->remote);
    /* the first pack stays as it came: taken apart, large files would be compressed again, twice */
    const char *limit = is_empty(mirror) ? "fetch.unpackLimit=1" : "fetch.unpackLimit=100";
    autofree char *extra = with_ref ? xasprintf("+%s:refs/hutch/asked", source->ref) : NULL;
    const char *argv[] = {"git",
                          "-C",
                          mirror,
                          "-c",
                          "gc.auto=0",
                          "-c",
                          "fetch.recurseSubmodules=false",
                          "-c",
                          "core.hooksPath=/dev/null",
                          "-c",
                          limit,
                          "fetch",
                          "--progress",
                          "--prune",
                          "--no-tags",
                          "--no-recurse-submodules",
                          "--no-write-fetch-head",
                          "--no-auto-maintenance",
                          "--",
                          source->url,
                          "+refs/heads/*:refs/heads/*",
                          "+refs/tags/*:refs/tags/*",
                          extra,
                          NULL};
    struct git_run run = {.argv = argv,
                          .env = (const char *const *)env,
                          .keep = -1,
                          .what = what,
                          .progress = progress,
                          .user = user,
                          .cancel = cancel,
                          .quiet_limit_s = FETCH_QUIET_S};
    return git_run(&run, NULL, err);
}

int repo_resolve(const char *mirror, const char *ref, char **ret_ref, char **ret_commit, struct error **err)
{
    static const char *const prefixes[] = {"refs/heads/", "refs/tags/", NULL};
    static const char *const head_args[] = {"symbolic-ref", "-q", "HEAD", NULL};
    autofree char *name = NULL;
    autofree char *commit = NULL;

    if (!ref) {
        int rc = mirror_git(mirror, head_args, &name, err);
        if (rc < 0)
            return rc;
        name[strcspn(name, "\n")] = '\0';
        autofree char *spec = xasprintf("%s^{commit}", name);
        const char *args[] = {"rev-parse", "--verify", "-q", spec, NULL};
        if (mirror_git(mirror, args, &commit, NULL) < 0)
            commit = xstrdup(""); /* HEAD names a branch without a commit: empty */
    }
    for (size_t i = 0; ref && !commit && prefixes[i]; i++) {
        const char *prefix = strncmp(ref, "refs/", 5) ? prefixes[i] : "";
        autofree char *full = xasprintf("%s%s", prefix, ref);
        autofree char *spec = xasprintf("%s^{commit}", full);
        const char *args[] = {"rev-parse", "--verify", "-q", spec, NULL};
        if (mirror_git(mirror, args, &commit, NULL) == 0)
            name = steal(&full);
        else
            free(steal(&commit));
    }
    if (!commit) {
        autofree char *spec = xasprintf("%s^{commit}", ref);
        const char *args[] = {"rev-parse", "--verify", "-q", spec, NULL};
        if (mirror_git(mirror, args, &commit, NULL) < 0 && is_empty(mirror)) {
            *ret_ref = xasprintf("refs/heads/%s", ref);
            *ret_commit = xstrdup("");
            return 0;
        }
        if (!commit) {
            int rc = error_set(err, ERROR_NOT_FOUND, "the repository has no branch, tag or commit '%s'", ref);
            error_hint(err, "`git ls-remote` of its URL lists what there is");
            return rc;
        }
        name = xstrdup("");
    }
    commit[strcspn(commit, "\n")] = '\0';
    *ret_ref = steal(&name);
    *ret_commit = steal(&commit);
    return 0;
}

bool repo_has_submodules(const char *mirror, const char *commit)
{
    if (!*commit)
        return false;
    autofree char *spec = xasprintf("%s:.gitmodules", commit);
    const char *args[] = {"cat-file", "-e", spec, NULL};
    return mirror_git(mirror, args, NULL, NULL) == 0;
}

bool repo_has_lfs(const char *mirror, const char *commit)
{
    if (!*commit)
        return false;
    const char *args[] = {"grep", "-q", "-F", "filter=lfs", commit, "--", ":(glob)**/.gitattributes", NULL};
    return mirror_git(mirror, args, NULL, NULL) == 0;
}

int repo_mirror(const struct paths *paths, const struct repo_source *source, repo_progress_fn progress,
                void *user, const atomic_bool *cancel, char **ret_mirror, struct error **err)
{
    struct advert advert = {0};
    autofree char *mirror = mirror_folder(paths, source->url);
    autofree char *lock_path = xasprintf("%s.lock", mirror);
    autofree char *folder = file_join(paths->cache, "mirrors");
    autoclose int lock = -1;

    int rc = file_make_folder(folder, 0700, err);
    if (rc == 0)
        rc = fd_lock_file(lock_path, true, true, &lock, err);
    if (rc < 0)
        return rc;
    char **env = git_user_env();
    rc = list_remote(source, env, cancel, &advert, err);
    autofree char *head = advert.head;
    if (rc == 0)
        rc = prepare(mirror, &advert, err);
    if (rc == 0 && head) {
        const char *args[] = {"symbolic-ref", "HEAD", head, NULL};
        rc = mirror_git(mirror, args, NULL, err);
    }
    if (rc == 0 && !advert.empty) {
        rc = fetch(source, mirror, env, false, progress, user, cancel, err);
        autofree char *name = NULL;
        autofree char *commit = NULL;
        if (rc == 0 && source->ref && repo_resolve(mirror, source->ref, &name, &commit, NULL) < 0) {
            /* a commit that no branch holds: servers may give it by its id */
            struct error *ignored = NULL;
            if (fetch(source, mirror, env, true, progress, user, cancel, &ignored) < 0)
                rc = repo_resolve(mirror, source->ref, &name, &commit, err);
            error_free(ignored);
        }
    }
    git_free_list(env);
    if (rc == 0)
        *ret_mirror = steal(&mirror);
    return rc;
}
