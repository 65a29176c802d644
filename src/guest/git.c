/* git.c: the bare repository that the host pushes into, and the work tree that comes from it. git runs as the
 * user that owns what it works on, never as root in somebody's repository. */
#include "base/alloc.h"
#include "base/file.h"
#include "base/units.h"
#include "guest/api.h"
#include "guest/push_hook.h"
#include "guest/run.h"
#include "guest/task.h"
#include "guest/user.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define REF_MAX      255
#define URL_MAX      4096
#define ID_TEXT_SIZE 16

/* ---- small steps ---- */

/* Runs git as a user (a number) with what follows until NULL. */
static int git(const struct place *place, const char *user, char **ret_out, int *ret_status,
               struct error **err, ...)
{
    const char *argv[24] = {"git"};
    size_t n = 1;
    va_list args;

    va_start(args, err);
    while ((argv[n] = va_arg(args, const char *)))
        require(++n < countof(argv));
    va_end(args);
    return run_command(place, user, false, argv, ret_out, ret_status, err);
}

/* One value that git prints, "" if it has none. Caller frees. */
static char *git_value(const struct place *place, const char *user, const char *folder, const char *a,
                       const char *b, const char *c, const char *d)
{
    char *out = NULL;
    int status = 1;

    if (git(place, user, &out, &status, NULL, "-C", folder, a, b, c, d, NULL) || status != 0) {
        free(out);
        return xstrdup("");
    }
    return out;
}

/* A full ref's name as it may stand in an argument: it begins with the prefix, so it is never an option. */
static bool ref_valid(const char *ref, const char *prefix)
{
    if (strncmp(ref, prefix, strlen(prefix)) != 0 || !ref[strlen(prefix)])
        return false;
    for (const char *p = ref; *p; p++)
        if ((unsigned char)*p <= ' ' || *p == 0x7f || strchr("~^:?*[\\", *p))
            return false;
    return !strstr(ref, "..") && ref[strlen(prefix)] != '-';
}

static bool commit_valid(const char *commit)
{
    size_t len = strlen(commit);
    return (len == 40 || len == 64) && strspn(commit, "0123456789abcdef") == len;
}

/* The object of the API for a repository or a work tree. */
static json_t *describe(const struct place *place, const char *user, const char *folder)
{
    autofree char *head = git_value(place, user, folder, "symbolic-ref", "-q", "HEAD", NULL);
    autofree char *commit = git_value(place, user, folder, "rev-parse", "-q", "--verify", "HEAD^{commit}");
    autofree char *any = git_value(place, user, folder, "for-each-ref", "--count=1", NULL, NULL);
    json_t *o = json_pack("{s:o, s:o, s:s, s:b}", "path", json_bytes(folder, strlen(folder)), "head",
                          json_bytes(head, strlen(head)), "commit", commit, "empty", !*any && !*commit);
    require(o != NULL);
    return o;
}

/* Who owns a repository, as a number for run_command. */
static int owner_of(const char *repository, const char *name, char ret_owner[ID_TEXT_SIZE],
                    struct error **err)
{
    struct stat st;

    if (lstat(repository, &st) || !S_ISDIR(st.st_mode)) {
        error_set(err, ERROR_NOT_FOUND, "the machine has no repository '%s'", name);
        return error_hint(err, "it is made by POST /v1/git/%s", name);
    }
    snprintf(ret_owner, ID_TEXT_SIZE, "%u", (unsigned)st.st_uid);
    return 0;
}

static void number_of(const struct user *user, char ret[ID_TEXT_SIZE])
{
    snprintf(ret, ID_TEXT_SIZE, "%u", (unsigned)user->uid);
}

/* ---- prepare ---- */

/* Makes it beside its place and renames, so that a half-made one is never taken for it. */
static int make_bare(const struct place *place, const struct user *user, const char *path, const char *branch,
                     const char *format, struct error **err)
{
    autofree char *temporary = xasprintf("%s.hutch-new", path);
    autofree char *initial = xasprintf("--initial-branch=%s", branch),
                  *object = xasprintf("--object-format=%s", format);
    char number[ID_TEXT_SIZE];

    number_of(user, number);
    int rc = file_remove_tree(temporary, err);
    if (!rc && mkdir(temporary, 0755))
        rc = error_set_errno(err, errno, "cannot make '%s'", temporary);
    if (!rc && geteuid() == 0 && chown(temporary, user->uid, user->gid))
        rc = error_set_errno(err, errno, "cannot give '%s' to '%s'", temporary, user->name);
    if (!rc)
        rc = git(place, number, NULL, NULL, err, "init", "-q", "--bare", initial, object, "--template=", "--",
                 temporary, NULL);
    /* no repacking while the host or a program waits for the answer of a push */
    if (!rc)
        rc = git(place, number, NULL, NULL, err, "-C", temporary, "config", "receive.autogc", "false", NULL);
    if (!rc)
        rc = git(place, number, NULL, NULL, err, "-C", temporary, "config", "gc.auto", "0", NULL);
    if (!rc && rename(temporary, path))
        rc = error_set_errno(err, errno, "cannot make '%s'", path);
    return rc;
}

/* One that is there already: only its HEAD may still change. */
static int adopt_bare(const struct place *place, const char *path, const char *name, const char *head,
                      const char *format, struct error **err)
{
    char owner[ID_TEXT_SIZE];
    int rc = owner_of(path, name, owner, err);

    if (rc)
        return rc;
    autofree char *found = git_value(place, owner, path, "rev-parse", "--show-object-format", NULL, NULL);
    if (*found && strcmp(found, format) != 0)
        return error_set(err, ERROR_STATE, "the repository '%s' in the machine has %s objects, not %s", name,
                         found, format);
    return git(place, owner, NULL, NULL, err, "-C", path, "symbolic-ref", "HEAD", head, NULL);
}

static int prepare(struct call *call, json_t **ret, struct error **err)
{
    const struct place *place = &call->agent->place;
    const char *name = call->query.argument[0], *head = "refs/heads/main", *format = "sha1",
               *user_name = NULL;
    auto(user) struct user *user = NULL;
    autofree char *path = NULL;
    char owner[ID_TEXT_SIZE];

    int rc = place_repository(place->git, name, &path, err);
    if (!rc)
        rc = json_opt_string(call->body, "head", REF_MAX, &head, err);
    if (!rc)
        rc = json_opt_string(call->body, "format", 16, &format, err);
    if (!rc)
        rc = json_opt_string(call->body, "user", USER_NAME_MAX, &user_name, err);
    if (!rc && !ref_valid(head, "refs/heads/"))
        rc = error_set(err, ERROR_INVALID, "'%.200s' is not a branch such as refs/heads/main", head);
    if (!rc && strcmp(format, "sha1") != 0 && strcmp(format, "sha256") != 0)
        rc = error_set(err, ERROR_INVALID, "the object format '%s' is neither sha1 nor sha256", format);
    if (!rc)
        rc = user_find(user_name, &user, err);
    if (!rc)
        rc = file_make_folder(place->git, 0755, err);
    if (rc)
        return rc;
    place_link_helper(place);
    push_hook_link(place);
    rc = file_exists(path) ? adopt_bare(place, path, name, head, format, err)
                           : make_bare(place, user, path, head + strlen("refs/heads/"), format, err);
    if (!rc)
        rc = owner_of(path, name, owner, err);
    if (!rc)
        *ret = describe(place, owner, path);
    return rc;
}

void git_prepare(struct call *call)
{
    call_work(call, prepare);
}

/* ---- packs ---- */

static void serve_pack(struct call *call, const char *service)
{
    autofree char *path = NULL;
    char owner[ID_TEXT_SIZE];
    struct error *err = NULL;

    if (place_repository(call->agent->place.git, call->query.argument[0], &path, &err) ||
        owner_of(path, call->query.argument[0], owner, &err)) {
        call_fail(call, err);
        return;
    }
    /* what the host brings stays one pack: taken apart, all of it would be compressed again */
    const char *const argv[] = {"git", "-c", "receive.unpackLimit=1", service, path, NULL};
    const struct task_options options = {.shape = TASK_DUPLEX, .user = owner, .argv = argv};
    task_start(call, &options);
}

void git_receive_pack(struct call *call)
{
    serve_pack(call, "receive-pack");
}

void git_upload_pack(struct call *call)
{
    serve_pack(call, "upload-pack");
}

/* ---- check out ---- */

struct checkout {
    const struct place *place;
    const char *name;
    const char *ref, *commit, *url; /* or NULL */
    struct user *user;
    char number[ID_TEXT_SIZE];
    char *bare, *target, *parent, *temporary, *origin;
    char *branch; /* of bare's HEAD, or of ref; NULL: detached */
    bool empty;
};

static void checkout_finish(struct checkout *c)
{
    user_free(c->user);
    free(c->bare);
    free(c->target);
    free(c->parent);
    free(c->temporary);
    free(c->origin);
    free(c->branch);
}

static int checkout_read(struct checkout *c, const json_t *body, struct error **err)
{
    const char *user = NULL, *target = NULL;

    int rc = place_repository(c->place->git, c->name, &c->bare, err);
    if (!rc)
        rc = json_opt_string(body, "user", USER_NAME_MAX, &user, err);
    if (!rc)
        rc = json_opt_string(body, "target", QUERY_PATH_MAX, &target, err);
    if (!rc)
        rc = json_opt_string(body, "ref", REF_MAX, &c->ref, err);
    if (!rc)
        rc = json_opt_string(body, "commit", 64, &c->commit, err);
    if (!rc)
        rc = json_opt_string(body, "url", URL_MAX, &c->url, err);
    if (c->ref && !*c->ref)
        c->ref = NULL;
    if (c->commit && !*c->commit)
        c->commit = NULL;
    if (!rc && c->ref && !ref_valid(c->ref, "refs/heads/") && !ref_valid(c->ref, "refs/tags/"))
        rc = error_set(err, ERROR_INVALID, "'%.200s' is neither refs/heads/… nor refs/tags/…", c->ref);
    if (!rc && c->commit && !commit_valid(c->commit))
        rc = error_set(err, ERROR_INVALID, "'%.80s' is not a full commit id", c->commit);
    if (!rc)
        rc = user_find(user, &c->user, err);
    if (rc)
        return rc;
    number_of(c->user, c->number);
    c->target = target && *target ? xstrdup(target) : xasprintf("%s/%s", c->user->home, c->name);
    size_t len = strlen(c->target);
    while (len > 1 && c->target[len - 1] == '/')
        c->target[--len] = '\0';
    char *slash = strrchr(c->target, '/');
    if (*c->target != '/' || !slash[1] || !strcmp(slash + 1, "..") || !strcmp(slash + 1, "."))
        return error_set(err, ERROR_INVALID, "the target '%.200s' is not an absolute path of a folder",
                         c->target);
    c->parent = slash == c->target ? xstrdup("/") : xstrndup(c->target, (size_t)(slash - c->target));
    c->temporary = xasprintf("%s/.%s.hutch-new", slash == c->target ? "" : c->parent, slash + 1);
    c->origin = xasprintf("hutch::%s", c->name);
    return 0;
}

/* What the bare repository has: nothing at all, and the branch to take. */
static int checkout_look(struct checkout *c, struct error **err)
{
    char owner[ID_TEXT_SIZE];
    int rc = owner_of(c->bare, c->name, owner, err);

    if (rc)
        return rc;
    autofree char *any = git_value(c->place, owner, c->bare, "for-each-ref", "--count=1", NULL, NULL);
    autofree char *head = git_value(c->place, owner, c->bare, "symbolic-ref", "-q", "HEAD", NULL);
    c->empty = !*any;
    const char *branch = c->ref ? c->ref : c->commit && !c->empty ? "" : head;
    if (!strncmp(branch, "refs/heads/", strlen("refs/heads/")))
        c->branch = xstrdup(branch + strlen("refs/heads/"));
    return 0;
}

/* True when the target is already a work tree of this repository. */
static bool checkout_is_there(const struct checkout *c)
{
    autofree char *origin =
        git_value(c->place, c->number, c->target, "config", "--local", "remote.origin.url", NULL);
    return !strcmp(origin, c->origin);
}

static int set_config(const struct checkout *c, const char *key, const char *value, struct error **err)
{
    return git(c->place, c->number, NULL, NULL, err, "-C", c->temporary, "config", "--local", "--", key,
               value, NULL);
}

/* The branch follows the one of the same name in origin, whether that exists yet or not. */
static int set_upstream(const struct checkout *c, struct error **err)
{
    autofree char *remote_key = xasprintf("branch.%s.remote", c->branch),
                  *merge_key = xasprintf("branch.%s.merge", c->branch);
    autofree char *merge = xasprintf("refs/heads/%s", c->branch);
    int rc = set_config(c, remote_key, "origin", err);
    return rc ? rc : set_config(c, merge_key, merge, err);
}

static int make_empty(const struct checkout *c, struct error **err)
{
    autofree char *initial = xasprintf("--initial-branch=%s", c->branch ? c->branch : "main");
    autofree char *found =
        git_value(c->place, c->number, c->bare, "rev-parse", "--show-object-format", NULL, NULL);
    autofree char *format = xasprintf("--object-format=%s", *found ? found : "sha1");

    int rc =
        git(c->place, c->number, NULL, NULL, err, "init", "-q", initial, format, "--", c->temporary, NULL);
    if (!rc)
        rc = git(c->place, c->number, NULL, NULL, err, "-C", c->temporary, "remote", "add", "origin",
                 c->origin, NULL);
    return rc || !c->branch ? rc : set_upstream(c, err);
}

/* The files: of the branch (at the commit, if one is named), the tag or the commit. */
static int take_files(const struct checkout *c, struct error **err)
{
    if (c->branch) {
        autofree char *tip = xasprintf("refs/remotes/origin/%s", c->branch);
        int rc = git(c->place, c->number, NULL, NULL, err, "-C", c->temporary, "checkout", "-q", "-f",
                     "--no-track", "-B", c->branch, c->commit ? c->commit : tip, "--", NULL);
        return rc ? rc : set_upstream(c, err);
    }
    autofree char *tag = c->ref ? xasprintf("%s^{commit}", c->ref) : NULL;
    return git(c->place, c->number, NULL, NULL, err, "-C", c->temporary, "checkout", "-q", "-f", "--detach",
               c->commit ? c->commit : tag, "--", NULL);
}

static int make_clone(const struct checkout *c, struct error **err)
{
    autofree char *safe = xasprintf("safe.directory=%s", c->bare);

    int rc = git(c->place, c->number, NULL, NULL, err, "-c", safe, "clone", "-q", "--no-checkout", "--",
                 c->bare, c->temporary, NULL);
    if (!rc)
        rc = git(c->place, c->number, NULL, NULL, err, "-C", c->temporary, "remote", "set-url", "origin",
                 c->origin, NULL);
    if (!rc)
        rc = take_files(c, err);
    return rc;
}

static int file_job(const struct checkout *c, const char *verb, const char *a, const char *b,
                    struct error **err)
{
    const char *const argv[] = {verb, a, b, NULL};
    return run_command(c->place, c->number, true, argv, NULL, NULL, err);
}

static int checkout_make(const struct checkout *c, struct error **err)
{
    int rc = file_job(c, "folder", c->parent, "0755", err);

    if (!rc)
        rc = file_job(c, "remove", c->temporary, NULL, err);
    if (!rc)
        rc = c->empty ? make_empty(c, err) : make_clone(c, err);
    if (!rc && c->url)
        rc = set_config(c, "remote.origin.hutchurl", c->url, err);
    if (!rc)
        rc = file_job(c, "rename", c->temporary, c->target, err);
    return rc;
}

static int checkout(struct call *call, json_t **ret, struct error **err)
{
    struct checkout c = {.place = &call->agent->place, .name = call->query.argument[0]};

    place_link_helper(c.place);
    int rc = checkout_read(&c, call->body, err);
    if (!rc)
        rc = checkout_look(&c, err);
    if (!rc && !checkout_is_there(&c))
        rc = checkout_make(&c, err);
    if (!rc)
        *ret = describe(c.place, c.number, c.target);
    checkout_finish(&c);
    return rc;
}

void git_checkout(struct call *call)
{
    call_work(call, checkout);
}
