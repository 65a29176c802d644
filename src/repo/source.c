#include "repo/git.h"

#include "base/alloc.h"
#include "base/file.h"
#include "base/text.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#define SPEC_MAX 2000

void repo_source_free(struct repo_source *source)
{
    if (!source)
        return;
    free(source->name);
    free(source->url);
    free(source->remote);
    free(source->ref);
    free(source);
}

/* Runs `git -C folder ARGS` as the user and gives the first line, or NULL when git says no. */
static char *ask_git(const char *folder, const char *const *args)
{
    const char *argv[12] = {"git", "-C", folder};
    char *out = NULL;
    size_t n = 3;

    for (size_t i = 0; args[i] && n < countof(argv) - 1; i++)
        argv[n++] = args[i];
    char **env = git_user_env();
    struct git_run run = {.argv = argv,
                          .env = (const char *const *)env,
                          .keep = -1,
                          .what = "git",
                          .limit_s = 20,
                          .out_limit = 8192};
    if (git_run(&run, &out, NULL) < 0)
        out = NULL;
    git_free_list(env);
    if (out)
        out[strcspn(out, "\n")] = '\0';
    return out;
}

/* What cannot be handed to git: options, helpers, control characters. */
static int check_form(const char *spec, struct error **err)
{
    size_t len = strlen(spec);
    autofree char *safe = text_safe(len > 200 ? "(a very long string)" : spec);

    if (len == 0)
        return error_set(err, ERROR_INVALID, "the repository's name is empty");
    if (len > SPEC_MAX)
        return error_set(err, ERROR_INVALID, "the repository's URL is longer than %d bytes", SPEC_MAX);
    if (spec[0] == '-')
        return error_set(err, ERROR_INVALID, "'%s' looks like an option, not a repository", safe);
    for (size_t i = 0; i < len; i++)
        if ((unsigned char)spec[i] < 0x20 || spec[i] == 0x7f)
            return error_set(err, ERROR_INVALID, "'%s' has a control character", safe);
    const char *colons = strstr(spec, "::");
    if (colons && strcspn(spec, "/@[") > (size_t)(colons - spec))
        return error_set(err, ERROR_INVALID,
                         "'%s' names a transport helper; use an https, ssh, git or file URL, or a path",
                         safe);
    return 0;
}

/* Separates "#REF"; a '#' in an existing path stays. */
static void split_ref(const char *spec, char **ret_place, char **ret_ref)
{
    const char *hash = strrchr(spec, '#');
    struct stat st;

    if (!hash || hash == spec || stat(spec, &st) == 0) {
        *ret_place = xstrdup(spec);
        *ret_ref = NULL;
        return;
    }
    *ret_place = xstrndup(spec, (size_t)(hash - spec));
    *ret_ref = hash[1] ? xstrdup(hash + 1) : NULL;
}

/* "scheme://…" or "host:path" (scp form). */
static bool looks_like_url(const char *place)
{
    const char *colon = strchr(place, ':');
    return strstr(place, "://") || (colon && !memchr(place, '/', (size_t)(colon - place)));
}

/* The URL without a password or token, which must not enter a guest: "https://user:key@host/x" ->
 * "https://host/x". */
static char *without_credentials(const char *url)
{
    const char *scheme = strstr(url, "://");
    if (!scheme)
        return xstrdup(url);
    const char *host = scheme + 3;
    size_t authority = strcspn(host, "/?#");
    const char *at = NULL;
    for (size_t i = 0; i < authority; i++)
        if (host[i] == '@')
            at = host + i;
    if (!at)
        return xstrdup(url);
    bool secret = memchr(host, ':', (size_t)(at - host)) || strncmp(url, "ssh", 3) != 0;
    if (!secret)
        return xstrdup(url);
    return xasprintf("%.*s%s", (int)(host - url), url, at + 1);
}

/* The name of the repository: the last part without ".git", in the characters that a name may have. */
static char *make_name(const char *place)
{
    autofree char *copy = xstrdup(place);
    size_t len = strlen(copy);

    while (len > 0 && copy[len - 1] == '/')
        copy[--len] = '\0';
    if (len > 5 && !strcmp(copy + len - 5, "/.git"))
        copy[len -= 5] = '\0';
    if (len > 4 && !strcmp(copy + len - 4, ".git"))
        copy[len -= 4] = '\0';
    const char *base = copy + len;
    while (base > copy && base[-1] != '/' && base[-1] != ':')
        base--;
    char *name = xnewn(char, 33);
    size_t n = 0;
    for (; *base && n < 32; base++) {
        unsigned char c = (unsigned char)*base;
        if (isalnum(c) && c < 0x80)
            name[n++] = (char)tolower(c);
        else if (n > 0 && name[n - 1] != '-')
            name[n++] = '-';
    }
    while (n > 0 && name[n - 1] == '-')
        n--;
    name[n] = '\0';
    if (n == 0)
        memcpy(name, "repo", 5);
    return name;
}

/* Fills in what a local folder says of itself. */
static int look_at_folder(struct repo_source *source, const char *folder, struct error **err)
{
    static const char *const dir[] = {"rev-parse", "--absolute-git-dir", NULL};
    static const char *const top[] = {"rev-parse", "--show-toplevel", NULL};
    static const char *const branch[] = {"symbolic-ref", "--short", "-q", "HEAD", NULL};
    static const char *const commit[] = {"rev-parse", "--verify", "-q", "HEAD^{commit}", NULL};
    static const char *const origin[] = {"config", "--get", "remote.origin.url", NULL};
    static const char *const shallow[] = {"rev-parse", "--is-shallow-repository", NULL};

    autofree char *git_dir = ask_git(folder, dir);
    if (!git_dir) {
        int rc = error_set(err, ERROR_NOT_FOUND, "'%s' is not a git repository", folder);
        error_hint(err, "run `git init` there, or name a repository with --repo URL-or-PATH");
        return rc;
    }
    autofree char *is_shallow = ask_git(folder, shallow);
    if (is_shallow && !strcmp(is_shallow, "true")) {
        int rc =
            error_set(err, ERROR_INVALID, "'%s' is a shallow clone: its history is not all there", folder);
        error_hint(err, "run `git fetch --unshallow` in it, or name its origin's URL with --repo");
        return rc;
    }
    autofree char *top_dir = ask_git(folder, top);
    source->local = true;
    source->url = xstrdup(top_dir && *top_dir ? top_dir : git_dir);
    autofree char *own_origin = ask_git(folder, origin);
    source->remote = without_credentials(own_origin && *own_origin ? own_origin : source->url);
    if (!source->ref)
        source->ref = ask_git(folder, branch);
    if (source->ref && !*source->ref) {
        free(source->ref);
        source->ref = NULL;
    }
    if (!source->ref)
        source->ref = ask_git(folder, commit);
    if (source->ref && !*source->ref)
        free(steal(&source->ref));
    autofree char *modules = file_join(source->url, ".gitmodules");
    source->submodules = file_exists(modules);
    return 0;
}

int repo_source_parse(const char *spec, struct repo_source **ret_source, struct error **err)
{
    autofree char *place = NULL;
    char resolved[PATH_MAX];
    struct stat st;

    int rc = check_form(spec, err);
    if (rc < 0)
        return rc;
    auto(repo_source) struct repo_source *source = xnew(struct repo_source);
    split_ref(spec, &place, &source->ref);
    if (source->ref && !git_ref_ok(source->ref)) {
        autofree char *safe = text_safe(source->ref);
        return error_set(err, ERROR_INVALID,
                         "'%s' cannot be a branch, tag or commit here (letters, digits, . _ / - only)", safe);
    }
    const char *path = strncmp(place, "file://", 7) ? place : place + 7;
    if (stat(path, &st) == 0 && S_ISDIR(st.st_mode)) {
        if (!realpath(path, resolved))
            return error_set_errno(err, errno, "cannot open '%s'", path);
        rc = look_at_folder(source, resolved, err);
        if (rc < 0)
            return rc;
    } else if (looks_like_url(place) && path == place) {
        source->url = xstrdup(place);
        source->remote = without_credentials(place);
    } else {
        return error_set(err, ERROR_NOT_FOUND, "there is no repository '%s' (neither a folder nor a URL)",
                         place);
    }
    source->name = make_name(source->local ? source->url : place);
    *ret_source = steal(&source);
    return 0;
}
