#include "review/objects.h"

#include "base/alloc.h"
#include "base/file.h"

#include <git2/sys/repository.h>
#include <pthread.h>
#include <string.h>

#define ALTERNATES_MAX 65536
#define CACHE_MAX      ((ssize_t)(64 << 20))
#define MAPPED_MAX     ((size_t)512 << 20)
#define REFS_MAX       1000000

static pthread_once_t once = PTHREAD_ONCE_INIT;
static int started;

/* libgit2 for the whole process: the user's and the system's configuration and attributes are not there. */
static void start(void)
{
    static const int levels[] = {GIT_CONFIG_LEVEL_SYSTEM, GIT_CONFIG_LEVEL_GLOBAL, GIT_CONFIG_LEVEL_XDG,
                                 GIT_CONFIG_LEVEL_PROGRAMDATA};

    started = git_libgit2_init();
    for (size_t i = 0; i < countof(levels); i++)
        require(git_libgit2_opts(GIT_OPT_SET_SEARCH_PATH, levels[i], "") == 0);
    git_libgit2_opts(GIT_OPT_SET_CACHE_MAX_SIZE, CACHE_MAX);
    git_libgit2_opts(GIT_OPT_SET_MWINDOW_MAPPED_LIMIT, MAPPED_MAX);
    git_libgit2_opts(GIT_OPT_SET_OWNER_VALIDATION, 0); /* only hutch's own folders are opened */
}

static int refuse_sha256(struct error **err)
{
    error_set(err, ERROR_MISSING,
              "the repository names its objects by sha256, which the review does not read");
    error_hint(err, "your own git reads it: in your repository `git fetch hutch::PROJECT BRANCH`");
    return -ERROR_MISSING;
}

int objects_error(struct error **err, int rc, const char *format, ...)
{
    const git_error *last = git_error_last();
    va_list args;

    va_start(args, format);
    autofree char *what = xvasprintf(format, args);
    va_end(args);
    if (last && last->message && strstr(last->message, "extensions.objectformat"))
        return refuse_sha256(err);
    enum error_code code = rc == GIT_ENOTFOUND ? ERROR_NOT_FOUND : ERROR_CORRUPT;
    return error_set(err, code, "%s: %s", what, last && last->message ? last->message : "no reason given");
}

int objects_open(const char *folder, struct objects **ret_objects, struct error **err)
{
    autofree char *path = file_join(folder, "objects");
    git_config *config = NULL;

    pthread_once(&once, start);
    if (started < 0)
        return objects_error(err, started, "libgit2 does not start");
    if (!file_exists(path))
        return error_set(err, ERROR_NOT_FOUND, "there is no repository in '%s'", folder);
    auto(objects) struct objects *objects = xnew(struct objects);
    objects->folder = xstrdup(folder);
    int rc = git_odb_open(&objects->odb, path);
    if (rc == 0)
        rc = git_repository_wrap_odb(&objects->repo, objects->odb);
    if (rc == 0)
        rc = git_config_new(&config);
    if (rc == 0)
        rc = git_repository_set_config(objects->repo, config);
    git_config_free(config);
    if (rc < 0)
        return objects_error(err, rc, "cannot read the repository in '%s'", folder);
    *ret_objects = steal(&objects);
    return 0;
}

void objects_close(struct objects *objects)
{
    if (!objects)
        return;
    git_repository_free(objects->repo);
    git_odb_free(objects->odb);
    free(objects->folder);
    free(objects);
}

int objects_id(const char *hex, git_oid *ret_id, struct error **err)
{
    size_t len = strlen(hex);

    if (len == 64 && strspn(hex, "0123456789abcdef") == len) {
        return refuse_sha256(err);
    }
    if (len != GIT_OID_HEXSZ || strspn(hex, "0123456789abcdef") != len || git_oid_fromstr(ret_id, hex) < 0)
        return error_set(err, ERROR_INVALID, "'%.80s' is no commit's id", hex);
    return 0;
}

/* Looks at an object's size and kind before anything of it is read. */
static int check_header(struct objects *objects, const git_oid *id, git_object_t want, size_t max,
                        struct error **err)
{
    char hex[GIT_OID_HEXSZ + 1];
    git_object_t type = GIT_OBJECT_INVALID;
    size_t size = 0;

    git_oid_tostr(hex, sizeof(hex), id);
    int rc = git_odb_read_header(&size, &type, objects->odb, id);
    if (rc < 0)
        return objects_error(err, rc, "cannot read object %s", hex);
    if (type != want)
        return error_set(err, ERROR_INVALID, "object %s is a %s, not a %s", hex, git_object_type2string(type),
                         git_object_type2string(want));
    if (size > max)
        return error_set(err, ERROR_LIMIT, "object %s has %zu bytes; the review reads at most %zu", hex, size,
                         max);
    return 0;
}

int objects_commit(struct objects *objects, const git_oid *id, git_commit **ret_commit, struct error **err)
{
    auto(git_object) git_object *object = NULL;
    auto(git_object) git_object *commit = NULL;
    git_object_t type = GIT_OBJECT_INVALID;
    size_t size = 0;
    char hex[GIT_OID_HEXSZ + 1];

    git_oid_tostr(hex, sizeof(hex), id);
    int rc = git_odb_read_header(&size, &type, objects->odb, id);
    if (rc < 0)
        return objects_error(err, rc, "cannot read commit %s", hex);
    if (type == GIT_OBJECT_COMMIT && size > REVIEW_COMMIT_MAX)
        return error_set(err, ERROR_LIMIT, "commit %s has %zu bytes; the review reads at most %u", hex, size,
                         REVIEW_COMMIT_MAX);
    if ((type != GIT_OBJECT_COMMIT && type != GIT_OBJECT_TAG) || size > REVIEW_COMMIT_MAX)
        return error_set(err, ERROR_INVALID, "%s is a %s, not a commit", hex, git_object_type2string(type));
    rc = git_object_lookup(&object, objects->repo, id, type);
    if (rc == 0)
        rc = git_object_peel(&commit, object, GIT_OBJECT_COMMIT);
    if (rc == GIT_EPEEL || rc == GIT_EINVALIDSPEC)
        return error_set(err, ERROR_INVALID, "the tag %s names no commit", hex);
    if (rc < 0)
        return objects_error(err, rc, "cannot read commit %s", hex);
    *ret_commit = (git_commit *)steal(&commit);
    return 0;
}

int objects_tree(struct objects *objects, const git_oid *id, git_tree **ret_tree, struct error **err)
{
    int rc = check_header(objects, id, GIT_OBJECT_TREE, REVIEW_TREE_MAX, err);
    if (rc < 0)
        return rc;
    rc = git_tree_lookup(ret_tree, objects->repo, id);
    return rc < 0 ? objects_error(err, rc, "cannot read a folder") : 0;
}

int objects_blob(struct objects *objects, const git_oid *id, size_t max, git_odb_object **ret_blob,
                 struct error **err)
{
    int rc = check_header(objects, id, GIT_OBJECT_BLOB, max, err);
    if (rc < 0)
        return rc;
    rc = git_odb_read(ret_blob, objects->odb, id);
    return rc < 0 ? objects_error(err, rc, "cannot read a file") : 0;
}

int64_t objects_blob_size(struct objects *objects, const git_oid *id)
{
    git_object_t type = GIT_OBJECT_INVALID;
    size_t size = 0;

    if (git_odb_read_header(&size, &type, objects->odb, id) < 0 || type != GIT_OBJECT_BLOB)
        return -1;
    return (int64_t)size;
}

/* The refs of one alternate: hutch's own mirror. Only its refs are read through this second repository. */
static int each_ref(const char *folder, int (*fn)(const git_oid *id, void *user), void *user,
                    struct error **err)
{
    auto(git_repository) git_repository *repo = NULL;
    git_reference_iterator *refs = NULL;
    git_reference *ref = NULL;
    size_t seen = 0;

    int rc = git_repository_open_ext(
        &repo, folder,
        GIT_REPOSITORY_OPEN_NO_SEARCH | GIT_REPOSITORY_OPEN_BARE | GIT_REPOSITORY_OPEN_NO_DOTGIT, NULL);
    if (rc == 0)
        rc = git_reference_iterator_new(&refs, repo);
    if (rc < 0)
        return objects_error(err, rc, "cannot read the refs of '%s'", folder);
    while (rc == 0 && seen++ < REFS_MAX && git_reference_next(&ref, refs) == 0) {
        git_object *commit = NULL;
        if (git_reference_peel(&commit, ref, GIT_OBJECT_COMMIT) == 0)
            rc = fn(git_object_id(commit), user);
        git_object_free(commit);
        git_reference_free(ref);
    }
    git_reference_iterator_free(refs);
    return rc;
}

int objects_each_known(struct objects *objects, int (*fn)(const git_oid *id, void *user), void *user,
                       struct error **err)
{
    autofree char *path = xasprintf("%s/objects/info/alternates", objects->folder);
    autofree char *text = NULL;
    char *next;
    char *line;
    int rc = 0;

    if (!file_exists(path))
        return 0;
    rc = file_read_regular(path, ALTERNATES_MAX, &text, NULL, err);
    next = text;
    while (rc == 0 && (line = strsep(&next, "\n"))) {
        size_t len = strlen(line);
        static const char tail[] = "/objects";
        if (len <= sizeof(tail) || *line != '/' || strcmp(line + len - (sizeof(tail) - 1), tail) != 0)
            continue;
        line[len - (sizeof(tail) - 1)] = '\0';
        rc = each_ref(line, fn, user, err);
    }
    return rc;
}
