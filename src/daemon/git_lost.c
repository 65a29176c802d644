#include "daemon/git_lost.h"

#include "base/alloc.h"
#include "base/fd.h"
#include "base/file.h"
#include "base/log.h"
#include "base/units.h"
#include "daemon/alone.h"
#include "daemon/git_out.h"
#include "repo/git.h"
#include "wire/json.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define DAY_NS    (86400LL * 1000000000)
#define ABOUT_MAX 65536
#define NAMED_MAX 1000

/* ---- naming ---- */

static void today(char ret[16])
{
    time_t now = units_now_ns() / 1000000000;
    struct tm tm;

    gmtime_r(&now, &tm);
    strftime(ret, 16, "%Y-%m-%d", &tm);
}

/* Names what is below a prefix and nowhere else. */
static int name_below(const struct known *known, const char *id, const char *prefix, size_t *count,
                      struct error **err)
{
    const char *folder = known->quarantine;
    struct quarantine_ref *refs = NULL;
    size_t found = 0;
    char date[16];
    int rc = quarantine_refs(folder, prefix, &refs, &found, err);

    today(date);
    for (size_t i = 0; i < found && rc == 0 && *count < NAMED_MAX; i++) {
        if (known_has(known, refs[i].commit))
            continue;
        autofree char *whole = xasprintf("refs/lost/%s/%s/%s", date, id, refs[i].name + strlen("refs/"));
        autofree char *brief = xasprintf("refs/lost/%s/%s/long/%s", date, id, refs[i].commit);
        const char *name = git_ref_ok(whole) ? whole : brief; /* its own name would be too long here */
        const struct quarantine_update update = {name, refs[i].commit};
        rc = quarantine_update(folder, &update, 1, err);
        *count += rc == 0;
    }
    quarantine_free_refs(refs, found);
    return rc;
}

/* All that it needs goes into packs of its own: the mirror lies in a cache. */
static void stand_alone(const char *folder)
{
    static const char *const args[] = {"repack", "-a", "-d", "-q", NULL};
    autofree char *alternates = file_join(folder, "objects/info/alternates");
    auto(error) struct error *err = NULL;

    if (git_own(folder, args, NULL, NULL, &err) < 0)
        log_warning("'%s' still needs its mirror: %s", folder, err->message);
    else
        unlink(alternates);
}

static int name_repo(struct daemon *daemon, const struct record *r, const struct repo_row *row, size_t *count,
                     struct error **err)
{
    autofree char *folder = git_out_folder(daemon, r->id, row->name), *head = file_join(folder, "HEAD");
    autofree char *lock_path = xasprintf("%s.lock", folder);
    autoclose int lock = -1;
    static const char *const prefixes[] = {"refs/work/", "refs/guest/", "refs/pushes/"};
    size_t before = *count;
    struct known known;

    if (!file_exists(head))
        return 0;
    alone_known(daemon, r, row, &known);
    int rc = fd_lock_file(lock_path, true, true, &lock, err);
    for (size_t i = 0; i < countof(prefixes) && rc == 0; i++)
        rc = name_below(&known, r->id, prefixes[i], count, err);
    known_finish(&known);
    if (rc == 0 && *count > before)
        stand_alone(folder);
    return rc;
}

static bool is_up(struct daemon *daemon, const char *id)
{
    struct project *project = projects_lock(daemon->projects, id);
    bool up = project && project->guest_up && project->vm == VM_RUNNING;

    if (project)
        projects_unlock(daemon->projects);
    return up;
}

void git_lost_name(struct daemon *daemon, struct job *job, const struct record *r, size_t *ret_count)
{
    bool up = is_up(daemon, r->id);

    *ret_count = 0;
    for (size_t i = 0; i < r->repo_count; i++) {
        auto(error) struct error *err = NULL;
        json_t *result = NULL;

        if (!r->repos[i].done)
            continue;
        if (!up)
            job_warn(job, "%s does not run: of %s only what was fetched before is kept", r->name,
                     r->repos[i].name);
        else if (git_out_run(daemon, job, r->id, r->repos[i].name, true, &result, &err) < 0)
            job_warn(job, "what %s alone has of %s could not be fetched: %s", r->name, r->repos[i].name,
                     err->message);
        json_decref(result);
        error_free(steal(&err));
        if (name_repo(daemon, r, &r->repos[i], ret_count, &err) < 0)
            job_warn(job, "what %s has of %s is not kept: %s", r->name, r->repos[i].name, err->message);
    }
}

/* ---- moving ---- */

static char *lost_folder(const struct daemon *daemon, const char *id)
{
    return xasprintf("%s/lost/%s", daemon->paths->data, id);
}

static int write_about(const struct record *r, const char *folder, struct error **err)
{
    autofree char *path = file_join(folder, "about.json");
    auto(json) json_t *about =
        json_pack("{s:s, s:I}", "project", r->name, "removed_ns", (json_int_t)units_now_ns());
    autofree char *text = json_text(about);

    return file_exists(path) ? 0 : file_replace(path, text, strlen(text), 0600, err);
}

int git_lost_move(struct daemon *daemon, const struct record *r, struct error **err)
{
    autofree char *target = lost_folder(daemon, r->id);
    int rc = 0;

    for (size_t i = 0; i < r->repo_count && rc == 0; i++) {
        autofree char *folder = git_out_folder(daemon, r->id, r->repos[i].name),
                      *head = file_join(folder, "HEAD");
        autofree char *lock_path = xasprintf("%s.lock", folder);
        autofree char *place = xasprintf("%s/%s.git", target, r->repos[i].name);
        struct quarantine_ref *refs = NULL;
        autoclose int lock = -1;
        size_t count = 0;

        if (!file_exists(head))
            continue;
        rc = fd_lock_file(lock_path, true, true, &lock, err); /* a fetch that still runs ends first */
        if (rc == 0)
            rc = quarantine_refs(folder, "refs/lost/", &refs, &count, err);
        quarantine_free_refs(refs, count);
        if (rc < 0 || !count)
            continue;
        rc = file_make_folder(target, 0700, err);
        if (rc == 0)
            rc = write_about(r, target, err);
        if (rc == 0 && rename(folder, place) < 0)
            rc = error_set_errno(err, errno, "cannot keep '%s'", folder);
        if (rc == 0)
            rc = file_sync(target, err);
    }
    return rc;
}

/* ---- looking, and the end ---- */

/* What is known of a kept project. ERROR_…: it is none. */
static int read_about(const char *folder, char **ret_project, int64_t *ret_removed_ns)
{
    autofree char *path = file_join(folder, "about.json"), *text = NULL;
    const char *project = NULL;
    size_t len = 0;
    int rc = file_read(path, ABOUT_MAX, &text, &len, NULL);

    if (rc < 0)
        return rc;
    auto(json) json_t *about = json_parse(text, len, NULL);
    rc = json_get_string(about, "project", PROJECT_NAME_MAX, &project, NULL);
    if (rc == 0)
        rc = json_get_number(about, "removed_ns", 0, INT64_MAX, ret_removed_ns, NULL);
    if (rc == 0)
        *ret_project = xstrdup(project);
    return rc;
}

/* Calls fn for each kept project. */
static int each_lost(struct daemon *daemon,
                     int (*fn)(const char *folder, const char *project, int64_t removed_ns, void *user,
                               struct error **err),
                     void *user, struct error **err)
{
    autofree char *all = file_join(daemon->paths->data, "lost");
    DIR *dir = opendir(all);
    struct dirent *entry;
    int rc = 0;

    while (dir && rc == 0 && (entry = readdir(dir))) {
        autofree char *folder = file_join(all, entry->d_name), *project = NULL;
        int64_t removed_ns = 0;
        if (entry->d_name[0] != '.' && read_about(folder, &project, &removed_ns) == 0)
            rc = fn(folder, project, removed_ns, user, err);
    }
    if (dir)
        closedir(dir);
    return rc;
}

static int expire_one(const char *folder, const char *project, int64_t removed_ns, void *user,
                      struct error **err)
{
    auto(error) struct error *why = NULL;

    (void)user;
    (void)err;
    if (units_now_ns() - removed_ns < GIT_LOST_DAYS * DAY_NS)
        return 0;
    log_info("what was kept of %s for %d days is removed", project, GIT_LOST_DAYS);
    if (file_remove_tree(folder, &why) < 0)
        log_warning("%s", why->message);
    return 0;
}

void git_lost_expire(struct daemon *daemon)
{
    each_lost(daemon, expire_one, NULL, NULL);
}

static int list_one(const char *folder, const char *project, int64_t removed_ns, void *user,
                    struct error **err)
{
    DIR *dir = opendir(folder);
    struct dirent *entry;
    int rc = 0;

    while (dir && rc == 0 && (entry = readdir(dir))) {
        size_t len = strlen(entry->d_name);
        if (len < 5 || strcmp(entry->d_name + len - 4, ".git") != 0)
            continue;
        autofree char *path = file_join(folder, entry->d_name), *repo = xstrndup(entry->d_name, len - 4);
        auto(json) json_t *more = json_pack("{s:s, s:I, s:s}", "project", project, "removed_ns",
                                            (json_int_t)removed_ns, "folder", path);
        rc = git_list_refs(user, path, repo, "refs/lost/", more, err);
    }
    if (dir)
        closedir(dir);
    return rc;
}

int git_lost_list(struct daemon *daemon, struct job *job, struct error **err)
{
    return each_lost(daemon, list_one, job, err);
}
