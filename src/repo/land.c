#include "repo/land.h"

#include "base/alloc.h"
#include "base/text.h"
#include "repo/git.h"

#include <ctype.h>
#include <string.h>

#define ARGS_MAX      48
#define SHORT_S       60
#define PUSH_QUIET_S  300
#define FETCH_QUIET_S 300
#define OUT_MAX       (4u << 20)
#define BRANCH_MAX    200

/* What every git command in the user's repository gets: nothing of it runs by itself. */
static const char *const quiet[] = {
    "-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "gc.auto=0",
    "-c", "maintenance.auto=false"};

/* Runs git as the user in his repository. hooks: his own may run. */
static int user_git(const struct land *land, const char *const *args, bool hooks, unsigned quiet_s,
                    repo_progress_fn progress, void *user, char **ret_out, struct error **err)
{
    const char *argv[ARGS_MAX] = {"git", "-C", land->repository};
    size_t n = 3;

    for (size_t i = hooks ? 2 : 0; i < countof(quiet); i++)
        argv[n++] = quiet[i];
    for (size_t i = 0; args[i] && n < countof(argv) - 1; i++)
        argv[n++] = args[i];
    autofree char *what =
        xasprintf("git %s in '%s'", args[0][0] == '-' ? "fetch" : args[0], land->repository);
    char **env = git_user_env();
    struct git_run run = {.argv = argv,
                          .env = (const char *const *)env,
                          .keep = -1,
                          .what = what,
                          .progress = progress,
                          .user = user,
                          .cancel = land->cancel,
                          .limit_s = quiet_s ? 0 : SHORT_S,
                          .quiet_limit_s = quiet_s,
                          .out_limit = OUT_MAX,
                          .whole = ret_out != NULL};
    int rc = git_run(&run, ret_out, err);
    git_free_list(env);
    return rc;
}

/* The first line of a short command, or NULL when git says no. */
static char *ask(const struct land *land, const char *const *args)
{
    char *out = NULL;

    if (user_git(land, args, false, 0, NULL, NULL, &out, NULL) < 0) {
        free(out);
        return NULL;
    }
    out[strcspn(out, "\n")] = '\0';
    return out;
}

static char *branch_ref(const struct land *land)
{
    return xasprintf("refs/heads/%s", land->branch);
}

/* The commit that the branch has now, or NULL. */
static char *branch_commit(const struct land *land)
{
    autofree char *ref = branch_ref(land);
    const char *args[] = {"rev-parse", "--verify", "-q", ref, NULL};
    return ask(land, args);
}

static int check_name(const struct land *land, struct error **err)
{
    autofree char *ref = branch_ref(land);
    const char *args[] = {"check-ref-format", ref, NULL};
    autofree char *answer = NULL;

    if (git_ref_ok(land->branch) && strlen(land->branch) <= BRANCH_MAX && strcmp(land->branch, "HEAD") != 0)
        answer = ask(land, args);
    if (answer)
        return 0;
    autofree char *safe = text_safe(land->branch);
    int rc = error_set(err, ERROR_INVALID, "'%.200s' cannot be the name of a branch", safe);
    error_hint(err, "letters, digits, . _ / and -; choose one with --as NAME");
    return rc;
}

/* It is no other name of another branch, which would move instead of it. */
static int check_direct(const struct land *land, struct error **err)
{
    autofree char *ref = branch_ref(land);
    const char *args[] = {"symbolic-ref", "-q", ref, NULL};
    autofree char *target = ask(land, args);

    if (!target)
        return 0;
    autofree char *safe = text_safe(target);
    int rc = error_set(err, ERROR_STATE, "the branch '%s' of '%s' is another name of '%s'", land->branch,
                       land->repository, safe);
    error_hint(err, "land it as another branch with --as NAME");
    return rc;
}

/* Nobody works on the branch: it is neither HEAD's nor that of another work tree. */
static int check_free(const struct land *land, struct error **err)
{
    static const char *const head_args[] = {"symbolic-ref", "-q", "HEAD", NULL};
    static const char *const tree_args[] = {"worktree", "list", "--porcelain", NULL};
    autofree char *ref = branch_ref(land);
    autofree char *head = ask(land, head_args);
    autofree char *wanted = xasprintf("branch %s", ref);
    autofree char *trees = NULL;
    bool used = head && !strcmp(head, ref);
    char *line;

    int rc = user_git(land, tree_args, false, 0, NULL, NULL, &trees, err);
    if (rc < 0)
        return rc;
    for (char *next = trees; !used && (line = strsep(&next, "\n"));)
        used = !strcmp(line, wanted);
    if (!used)
        return 0;
    rc = error_set(err, ERROR_STATE,
                   "the branch '%s' is checked out in '%s': landing never changes a work tree", land->branch,
                   land->repository);
    error_hint(err, "land it as another branch with --as NAME, then merge that");
    return rc;
}

static int check_format(const struct land *land, struct error **err)
{
    static const char *const dir_args[] = {"rev-parse", "--absolute-git-dir", NULL};
    static const char *const format_args[] = {"rev-parse", "--show-object-format", NULL};
    autofree char *dir = ask(land, dir_args);
    autofree char *format = NULL;

    if (!dir) {
        int rc = error_set(err, ERROR_NOT_FOUND, "'%s' is no git repository that git opens for you",
                           land->repository);
        error_hint(err, "name yours with --into DIR; `git -C DIR status` says what is wrong with it");
        return rc;
    }
    format = ask(land, format_args);
    const char *needed = strlen(land->commit) == 64 ? "sha256" : "sha1";
    if (format && strcmp(format, needed) != 0)
        return error_set(err, ERROR_STATE, "'%s' names its objects by %s, the commit is named by %s",
                         land->repository, format, needed);
    return 0;
}

int land_check(const struct land *land, struct error **err)
{
    int rc = check_format(land, err);
    if (rc == 0)
        rc = check_name(land, err);
    if (rc == 0)
        rc = check_direct(land, err);
    if (rc == 0)
        rc = check_free(land, err);
    if (rc < 0)
        return rc;
    autofree char *old = branch_commit(land);
    if (!old || land->fast_forward)
        return 0;
    rc = error_set(err, ERROR_EXISTS, "the branch '%s' is already there in '%s'", land->branch,
                   land->repository);
    error_hint(err, "--fast-forward moves it if nothing of it is lost; --as NAME makes another");
    return rc;
}

/* Copies what is missing. git checks each object that comes, and that none is missing. */
static int fetch(const struct land *land, repo_progress_fn progress, void *user, struct error **err)
{
    const char *args[] = {"-c",
                          "transfer.fsckObjects=true",
                          "-c",
                          "fetch.fsckObjects=true",
                          "-c",
                          "protocol.version=2",
                          "-c",
                          "protocol.file.allow=always",
                          "-c",
                          "fetch.writeCommitGraph=false",
                          "-c",
                          "transfer.bundleURI=false",
                          "fetch",
                          "--progress",
                          "--no-tags",
                          "--no-write-fetch-head",
                          "--no-recurse-submodules",
                          "--no-auto-maintenance",
                          "--",
                          land->quarantine,
                          land->commit,
                          NULL};
    struct error *why = NULL;

    int rc = user_git(land, args, false, FETCH_QUIET_S, progress, user, NULL, &why);
    if (rc < 0 && why && (strstr(why->message, "error: object ") || strstr(why->message, "fsck error"))) {
        rc = error_set(err, ERROR_DENIED, "git refuses objects of it: %s", why->message);
        error_hint(err, "nothing of it is in '%s'; land parts of it with --files", land->repository);
        error_free(why);
        return rc;
    }
    return rc < 0 ? error_move(err, &why) : 0;
}

int land_branch(const struct land *land, repo_progress_fn progress, void *user, struct error **err)
{
    autofree char *ref = branch_ref(land);

    int rc = land_check(land, err);
    if (rc == 0)
        rc = fetch(land, progress, user, err);
    if (rc < 0)
        return rc;
    autofree char *old = branch_commit(land);
    if (old) {
        const char *ancestor[] = {"merge-base", "--is-ancestor", old, land->commit, NULL};
        if (user_git(land, ancestor, false, 0, NULL, NULL, NULL, NULL) < 0) {
            rc = error_set(err, ERROR_STATE,
                           "'%s' has commits that the new one has not: it is no fast-forward", land->branch);
            error_hint(err, "land it as another branch with --as NAME");
            return rc;
        }
    }
    /* 40 or 64 zeros: it must not have come into being meanwhile */
    autofree char *none = xstrdup(land->commit);
    memset(none, '0', strlen(none));
    const char *args[] = {"update-ref", "--no-deref", "--create-reflog", "-m", "hutch: land",
                          ref,          land->commit, old ? old : none,  NULL};
    return user_git(land, args, false, 0, NULL, NULL, NULL, err);
}

/* A URL without user and password, for a person to read. */
static char *shown_url(const char *url)
{
    const char *scheme = strstr(url, "://");
    const char *host = scheme ? scheme + 3 : url;
    size_t authority = strcspn(host, "/?#");
    const char *at = NULL;

    for (size_t i = 0; scheme && i < authority; i++)
        if (host[i] == '@')
            at = host + i;
    autofree char *whole = at ? xasprintf("%.*s%s", (int)(host - url), url, at + 1) : xstrdup(url);
    return text_safe(whole);
}

int land_push(const struct land *land, repo_progress_fn progress, void *user, char **ret_url,
              struct error **err)
{
    static const char *const url_args[] = {"remote", "get-url", "--push", "origin", NULL};
    autofree char *refspec = xasprintf("refs/heads/%s:refs/heads/%s", land->branch, land->branch);
    const char *args[] = {"push",
                          "--progress",
                          "--porcelain",
                          "--no-follow-tags",
                          "--recurse-submodules=no",
                          "--no-force",
                          "--",
                          "origin",
                          refspec,
                          NULL};
    autofree char *url = ask(land, url_args);

    if (!url) {
        int rc = error_set(err, ERROR_STATE, "'%s' has no remote \"origin\" to push to", land->repository);
        error_hint(err, "`git remote add origin URL` in it; the branch '%s' has landed there", land->branch);
        return rc;
    }
    int rc = user_git(land, args, true, PUSH_QUIET_S, progress, user, NULL, err);
    if (rc < 0) {
        error_hint(err, "the branch has landed; by hand: git -C '%s' push origin %s", land->repository,
                   land->branch);
        return rc;
    }
    *ret_url = shown_url(url);
    return 0;
}

bool land_contains(const char *repository, const char *commit)
{
    const char *args[] = {"for-each-ref", "--count=1", "--format=%(refname)", "--contains", commit,
                          "refs/heads",   "refs/tags", "refs/remotes/origin", NULL};
    const struct land land = {.repository = repository};
    autofree char *found = ask(&land, args);

    return found && *found;
}

int land_identity(const char *repository, char **ret_name, char **ret_mail, struct error **err)
{
    static const char *const args[] = {"var", "GIT_COMMITTER_IDENT", NULL};
    struct land land = {.repository = repository};
    autofree char *line = NULL;

    int rc = user_git(&land, args, false, 0, NULL, NULL, &line, err);
    if (rc < 0) {
        error_hint(err, "tell git who you are: git config --global user.name NAME; user.email ADDRESS");
        return rc;
    }
    char *open = strchr(line, '<');
    char *shut = open ? strchr(open, '>') : NULL;
    if (!shut)
        return error_set(err, ERROR_STATE, "git does not say who you are in '%s'", repository);
    *shut = '\0';
    *ret_mail = xstrdup(open + 1);
    while (open > line && isspace((unsigned char)open[-1]))
        open--;
    *ret_name = xstrndup(line, (size_t)(open - line));
    return 0;
}
