/* A fetch out of a machine: the list of refs first, then an explicit refspec for each name that may be named,
 * into a throw-away repository; what passed is moved into the quarantine. */
#include "base/alloc.h"
#include "base/buf.h"
#include "base/fd.h"
#include "base/file.h"
#include "base/log.h"
#include "base/text.h"
#include "repo/git.h"
#include "repo/offers.h"
#include "repo/quarantine.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#define SKIPS_LOGGED 5
#define NAME_SHOWN   200

struct fetch_out {
    const struct paths *paths;
    const char *folder, *mirror;
    const struct quarantine_link *link;
    repo_progress_fn progress;
    void *user;
    const atomic_bool *cancel;
    char *program, *staging;
    struct offered *offered;
    size_t count, hex_len;
    size_t fresh;                /* offered names that the quarantine has not */
    uint64_t room_min;           /* bytes that the disk keeps free, once packs come */
    struct quarantine_ref *have; /* refs of the quarantine below guest and work */
    size_t have_count;
    struct quarantine_news news;
};

/* Where the machine's names go. */
static const struct {
    const char *theirs, *ours;
} places[] = {{"refs/heads/", "refs/guest/heads/"},
              {"refs/tags/", "refs/guest/tags/"},
              {"refs/hutch/work/", "refs/work/"}};

static void skip(struct fetch_out *f, const char *name, const char *why)
{
    struct text safe;

    text_init(&safe, name, strlen(name), NAME_SHOWN, TEXT_DEFAULT);
    if (f->news.skip_count < SKIPS_LOGGED)
        log_warning("ref '%s' of a machine is left out: %s", safe.bytes, why);
    if (f->news.skip_count < FETCH_ALONE_MAX) {
        f->news.skips = xrealloc(f->news.skips, f->news.skip_count + 1, sizeof(*f->news.skips));
        f->news.skips[f->news.skip_count++] =
            (struct quarantine_skip){.name = xstrdup(safe.bytes), .why = xstrdup(why)};
    }
    text_finish(&safe);
}

/* ---- hutch-git ---- */

/* Runs it with the environment that it needs; what git is comes from its own. */
static int run_confined(struct fetch_out *f, const char **argv, int stream, unsigned limit_s,
                        size_t out_limit, char **ret_out, struct error **err)
{
    static const char *const env[] = {"PATH=/usr/local/bin:/usr/bin:/bin", "LC_ALL=C", NULL};
    struct git_run run = {.argv = argv,
                          .env = env,
                          .only_env = true,
                          .keep = stream,
                          .what = "the fetch out of the machine",
                          .progress = f->progress,
                          .user = f->user,
                          .cancel = f->cancel,
                          .objects_max = FETCH_OBJECTS_MAX,
                          .limit_s = limit_s,
                          .quiet_limit_s = FETCH_QUIET_S,
                          .out_limit = out_limit,
                          .room_of = f->folder,
                          .room_min = f->room_min};
    return git_run(&run, ret_out, err);
}

/* The same over a stream to the machine. */
static int run_linked(struct fetch_out *f, const char **argv, unsigned limit_s, size_t out_limit,
                      char **ret_out, struct error **err)
{
    int fd = -1, rc = f->link->open(f->link->user, &fd, err);

    if (rc < 0)
        return rc;
    rc = run_confined(f, argv, fd, limit_s, out_limit, ret_out, err);
    f->link->close(fd, rc < 0, f->link->user);
    return rc;
}

/* ---- the list ---- */

static bool is_commit(const char *hex)
{
    size_t len = strlen(hex);
    return (len == 40 || len == 64) && strspn(hex, "0123456789abcdef") == len;
}

/* The name in the quarantine, NULL if it has no place there. Caller frees. */
static char *our_name(const char *theirs)
{
    for (size_t i = 0; i < countof(places); i++) {
        size_t len = strlen(places[i].theirs);
        if (!strncmp(theirs, places[i].theirs, len) && theirs[len])
            return xasprintf("%s%s", places[i].ours, theirs + len);
    }
    return NULL;
}

static int compare_have(const void *a, const void *b)
{
    return strcmp(((const struct quarantine_ref *)a)->name, ((const struct quarantine_ref *)b)->name);
}

static const char *have(const struct fetch_out *f, const char *name)
{
    const struct quarantine_ref key = {.name = (char *)(uintptr_t)name};
    const struct quarantine_ref *hit =
        f->have_count ? bsearch(&key, f->have, f->have_count, sizeof(key), compare_have) : NULL;
    return hit ? hit->commit : NULL;
}

/* Stricter than git's own rules where names become files. */
static bool name_ok(const char *name)
{
    size_t len = strlen(name);

    return git_ref_ok(name) && !strstr(name, "//") && !strstr(name, "/.") && !strstr(name, "./") &&
           !strstr(name, ".lock/") && name[len - 1] != '/' && name[len - 1] != '.' &&
           (len < 5 || strcmp(name + len - 5, ".lock") != 0);
}

/* One line of the list. */
static int take_offer(struct fetch_out *f, char *line, struct error **err)
{
    char *tab = strchr(line, '\t');

    if (!tab)
        return 0;
    *tab = '\0';
    char *theirs = tab + 1;
    autofree char *ours = our_name(theirs);
    if (!ours)
        return 0;
    if (!is_commit(line))
        return error_set(err, ERROR_PROTOCOL, "the machine's git names an object that is none");
    if (strlen(line) != f->hex_len)
        return error_set(err, ERROR_STATE,
                         "the machine's repository has objects of another format than ours");
    if (!name_ok(theirs) || !name_ok(ours)) {
        skip(f, theirs,
             "its name has more than letters, digits, '.', '_', '/' and '-', or more than 200 of them");
        return 0;
    }
    if (f->count == FETCH_REFS_MAX) {
        skip(f, theirs, "there are more than 5000");
        return 0;
    }
    const char *old = have(f, ours);
    if (!old && f->have_count + ++f->fresh > QUARANTINE_REFS_MAX) {
        skip(f, theirs, "the quarantine has 20000 branches and tags already");
        return 0;
    }
    f->offered = xrealloc(f->offered, f->count + 1, sizeof(*f->offered));
    f->offered[f->count++] = (struct offered){.theirs = xstrdup(theirs),
                                              .ours = steal(&ours),
                                              .commit = xstrdup(line),
                                              .old = xstrdup(old),
                                              .wanted = !old || strcmp(old, line) != 0};
    return 0;
}

/* In the order of our names, each once. */
static void sort_offers(struct fetch_out *f)
{
    size_t kept = 0;

    offers_sort(f->offered, f->count);
    for (size_t i = 0; i < f->count; i++) {
        if (kept && !strcmp(f->offered[kept - 1].ours, f->offered[i].ours)) {
            skip(f, f->offered[i].theirs, "the machine's git names it twice");
            offered_finish(&f->offered[i]);
        } else {
            f->offered[kept++] = f->offered[i];
        }
    }
    f->count = kept;
}

static int list_offers(struct fetch_out *f, struct error **err)
{
    const char *argv[] = {f->program, "list", f->staging, NULL};
    autofree char *out = NULL;
    int rc = run_linked(f, argv, 60, FETCH_LIST_MAX + 1, &out, err);

    if (rc < 0)
        return rc;
    if (strlen(out) > FETCH_LIST_MAX)
        return error_set(err, ERROR_LIMIT, "the machine's list of branches and tags is larger than %d bytes",
                         FETCH_LIST_MAX);
    char *rest = out;
    for (char *line = strsep(&rest, "\n"); line && rc == 0; line = strsep(&rest, "\n"))
        rc = take_offer(f, line, err);
    if (rc == 0)
        sort_offers(f);
    return rc;
}

/* ---- the throw-away repository ---- */

static int prepare_staging(struct fetch_out *f, const char *format, struct error **err)
{
    autofree char *alternates = xasprintf("%s/objects/info/alternates", f->staging);
    autofree char *lines = xasprintf("%s/objects\n", f->folder);
    autofree char *fresh = xasprintf("%s.new", f->staging);
    int rc = file_remove_tree(f->staging, err);

    if (rc == 0)
        rc = file_remove_tree(fresh, err);
    if (rc == 0)
        rc = quarantine_prepare(f->staging, NULL, format, err);
    return rc < 0 ? rc : file_replace(alternates, lines, strlen(lines), 0600, err);
}

static int fetch_some(struct fetch_out *f, size_t from, size_t to, struct error **err)
{
    const char **argv = xnewn(const char *, to - from + 6);
    char **specs = xnewn(char *, to - from + 1);
    size_t n = 0, count = 0;

    argv[n++] = f->program;
    argv[n++] = "fetch";
    argv[n++] = f->staging;
    argv[n++] = f->folder;
    argv[n++] = f->mirror ? f->mirror : f->folder;
    for (size_t i = from; i < to; i++)
        if (f->offered[i].wanted)
            argv[n++] = specs[count++] = xasprintf("+%s:refs/in/%zu", f->offered[i].theirs, i);
    int rc = count ? run_linked(f, argv, FETCH_WALL_S, 4096, NULL, err) : 0;
    git_free_list(specs);
    free(argv);
    return rc;
}

/* What is worth trying again with less: not what a limit or a person ended. */
static bool may_be_one_ref(const struct error *why)
{
    return why->code == ERROR_FAILED;
}

/* git's own words, but where they speak of us. */
static const char *why_not(const struct error *why)
{
    const char *colon = strstr(why->message, "failed: ");

    if (strstr(why->message, "shallow"))
        return "the history that it needs is not all in the machine (a shallow clone)";
    return colon ? colon + strlen("failed: ") : why->message;
}

/* Bytes of the packs that came. */
static uint64_t pack_bytes(const struct fetch_out *f)
{
    autofree char *folder = xasprintf("%s/objects/pack", f->staging);
    return file_disk_usage(folder);
}

static int fetch_all(struct fetch_out *f, struct error **err)
{
    auto(error) struct error *why = NULL;
    size_t wanted = 0;

    for (size_t i = 0; i < f->count; i++)
        wanted += f->offered[i].wanted;
    if (fetch_some(f, 0, f->count, &why) == 0)
        return 0;
    if (!may_be_one_ref(why) || wanted > FETCH_ALONE_MAX)
        return error_move(err, &why);
    for (size_t i = 0; i < f->count; i++) {
        auto(error) struct error *alone = NULL;
        if (pack_bytes(f) > FETCH_PACK_MAX)
            return error_set(err, ERROR_LIMIT, "the machine's packs have more than %llu bytes",
                             (unsigned long long)FETCH_PACK_MAX);
        if (!f->offered[i].wanted || fetch_some(f, i, i + 1, &alone) == 0)
            continue;
        if (!may_be_one_ref(alone))
            return error_move(err, &alone);
        skip(f, f->offered[i].theirs, why_not(alone));
        f->offered[i].wanted = false;
    }
    return 0;
}

/* Which of them are there now, and as what. */
static int read_staging(struct fetch_out *f, struct error **err)
{
    const char *argv[] = {f->program, "refs", f->staging, NULL};
    autofree char *out = NULL;
    int rc = run_confined(f, argv, -1, 60, FETCH_LIST_MAX, &out, err);

    if (rc < 0)
        return rc;
    char *rest = out;
    for (char *line = strsep(&rest, "\n"); line; line = strsep(&rest, "\n")) {
        size_t number = 0;
        char hex[80] = "";
        if (sscanf(line, "%79s refs/in/%zu", hex, &number) != 2 || number >= f->count || !is_commit(hex))
            continue;
        f->offered[number].taken = f->offered[number].wanted;
        free(f->offered[number].commit);
        f->offered[number].commit = xstrdup(hex);
    }
    return 0;
}

/* How large it all is when it is read: a small pack can be a large bomb. */
static int measure(struct fetch_out *f, struct error **err)
{
    autofree char *alternates = xasprintf("%s/objects/info/alternates", f->staging);
    const char *argv[] = {f->program, "measure", f->staging, NULL};
    autofree char *out = NULL;
    uint64_t sum = 0, packed = pack_bytes(f);

    if (unlink(alternates) < 0)
        return error_set_errno(err, errno, "cannot change '%s'", alternates);
    const size_t most = (size_t)FETCH_OBJECTS_MAX * 12;
    int rc = run_confined(f, argv, -1, FETCH_WALL_S, most, &out, err);
    if (rc < 0)
        return rc;
    if (strlen(out) >= most)
        return error_set(err, ERROR_LIMIT, "the machine's packs have more than %d objects",
                         FETCH_OBJECTS_MAX);
    char *rest = out;
    for (char *line = strsep(&rest, "\n"); line; line = strsep(&rest, "\n")) {
        uint64_t size = strtoull(line, NULL, 10);
        if (size > FETCH_OBJECT_MAX)
            return error_set(err, ERROR_LIMIT,
                             "the machine's pack has an object of %llu bytes, more than %llu",
                             (unsigned long long)size, (unsigned long long)FETCH_OBJECT_MAX);
        sum += size;
    }
    if (sum > FETCH_RATIO_FLOOR && sum / FETCH_RATIO_MAX > packed)
        return error_set(err, ERROR_LIMIT,
                         "the machine's pack of %llu bytes would be %llu when it is read: that is a bomb",
                         (unsigned long long)packed, (unsigned long long)sum);
    return 0;
}

/* ---- into the quarantine ---- */

/* Moves files with this ending. */
static int move_files(const char *from, const char *to, const char *ending, struct error **err)
{
    DIR *dir = opendir(from);
    struct dirent *entry;
    int rc = dir ? 0 : error_set_errno(err, errno, "cannot open '%s'", from);

    while (rc == 0 && (entry = readdir(dir))) {
        size_t len = strlen(entry->d_name), end = strlen(ending);
        if (len <= end || strcmp(entry->d_name + len - end, ending) != 0 ||
            strncmp(entry->d_name, "pack-", 5) != 0)
            continue;
        autofree char *source = file_join(from, entry->d_name), *target = file_join(to, entry->d_name);
        if (rename(source, target) < 0)
            rc = error_set_errno(err, errno, "cannot move '%s'", source);
    }
    if (dir)
        closedir(dir);
    return rc;
}

/* The index last: a pack counts from when that is there. */
static int move_packs(struct fetch_out *f, struct error **err)
{
    static const char *const endings[] = {".pack", ".rev", ".idx"};
    autofree char *from = xasprintf("%s/objects/pack", f->staging),
                  *to = xasprintf("%s/objects/pack", f->folder);
    int rc = file_make_folder(to, 0700, err);

    for (size_t i = 0; i < countof(endings) && rc == 0; i++)
        rc = move_files(from, to, endings[i], err);
    return rc < 0 ? rc : file_sync(to, err);
}

static void add_change(struct fetch_out *f, const char *name, const char *old, const char *commit)
{
    struct quarantine_news *news = &f->news;

    news->changes = xrealloc(news->changes, news->change_count + 1, sizeof(*news->changes));
    news->changes[news->change_count++] =
        (struct quarantine_change){.name = xstrdup(name),
                                   .old = xstrdup(old),
                                   .commit = xstrdup(commit),
                                   .forced = old && commit && !quarantine_contains(f->folder, commit, old)};
}

/* What is gone from the work tree goes here too; what was pushed stays, unless a new name needs its place:
 * the tips of pushes have refs of their own. */
static int remove_vanished(struct fetch_out *f, struct error **err)
{
    struct quarantine_update *updates = xnewn(struct quarantine_update, f->have_count + 1);
    size_t count = 0;

    for (size_t i = 0; i < f->have_count; i++) {
        const char *name = f->have[i].name;
        if (offers_find(f->offered, f->count, name) ||
            (strncmp(name, "refs/work/", 10) != 0 &&
             !offers_collide(f->offered, f->count, name, offered_is_taken)))
            continue;
        updates[count++].name = name;
        add_change(f, name, f->have[i].commit, NULL);
    }
    int rc = quarantine_update(f->folder, updates, count, err);
    free(updates);
    return rc;
}

static int take_refs(struct fetch_out *f, struct error **err)
{
    struct quarantine_update *updates = xnewn(struct quarantine_update, f->count + 1);
    size_t count = 0;
    int rc = remove_vanished(f, err);

    for (size_t i = 0; i < f->count && rc == 0; i++) {
        struct offered *offered = &f->offered[i];
        if (!offered->taken)
            continue;
        if (offers_collide(f->offered, f->count, offered->ours, offered_is_kept)) {
            skip(f, offered->theirs, "another name of the machine needs its place");
            offered->taken = false;
            continue;
        }
        offered->placed = true;
        updates[count++] = (struct quarantine_update){offered->ours, offered->commit};
    }
    if (rc == 0)
        rc = quarantine_update(f->folder, updates, count, err);
    for (size_t i = 0; i < f->count && rc == 0; i++)
        if (f->offered[i].taken)
            add_change(f, f->offered[i].ours, f->offered[i].old, f->offered[i].commit);
    free(updates);
    return rc;
}

/* Reads what it has, so that only news are asked for. */
static int read_quarantine(struct fetch_out *f, struct error **err)
{
    struct quarantine_ref *work = NULL;
    size_t count = 0;
    int rc = quarantine_refs(f->folder, "refs/guest/", &f->have, &f->have_count, err);

    if (rc == 0)
        rc = quarantine_refs(f->folder, "refs/work/", &work, &count, err);
    if (rc == 0 && count) {
        f->have = xrealloc(f->have, f->have_count + count, sizeof(*f->have));
        memcpy(f->have + f->have_count, work, count * sizeof(*work));
        f->have_count += count;
    }
    free(work);
    return rc;
}

static int fetch(struct fetch_out *f, struct error **err)
{
    static const char *const format_args[] = {"rev-parse", "--show-object-format", NULL};
    autofree char *format = NULL;
    bool any = false;
    int rc = git_own(f->folder, format_args, NULL, &format, err);

    if (rc < 0)
        return rc;
    format[strcspn(format, "\n")] = '\0';
    f->hex_len = strcmp(format, "sha256") ? 40 : 64;
    rc = read_quarantine(f, err);
    if (rc == 0)
        rc = prepare_staging(f, format, err);
    if (rc == 0)
        rc = list_offers(f, err);
    for (size_t i = 0; i < f->count; i++)
        any = any || f->offered[i].wanted;
    if (rc == 0 && any)
        rc = quarantine_check_room(f->folder, QUARANTINE_MAX, QUARANTINE_FREE_MIN, err);
    f->room_min = QUARANTINE_FREE_MIN;
    if (rc == 0 && any)
        rc = fetch_all(f, err);
    f->room_min = 0;
    if (rc == 0 && any)
        rc = read_staging(f, err);
    if (rc == 0 && any)
        rc = measure(f, err);
    if (rc == 0 && any)
        rc = move_packs(f, err);
    return rc < 0 ? rc : take_refs(f, err);
}

int quarantine_fetch(const struct paths *paths, const char *folder, const char *mirror,
                     const struct quarantine_link *link, repo_progress_fn progress, void *user,
                     const atomic_bool *cancel, struct quarantine_news *ret_news, struct error **err)
{
    struct fetch_out f = {.paths = paths,
                          .folder = folder,
                          .mirror = mirror,
                          .link = link,
                          .progress = progress,
                          .user = user,
                          .cancel = cancel};
    autofree char *lock_path = xasprintf("%s.lock", folder);
    autoclose int lock = -1;
    auto(error) struct error *why = NULL;

    f.staging = xasprintf("%s.incoming", folder);
    int rc = fd_lock_file(lock_path, true, true, &lock, &why);
    if (rc == 0)
        rc = paths_program(paths, "hutch-git", &f.program, &why);
    if (rc == 0)
        rc = fetch(&f, &why);
    file_remove_tree(f.staging, NULL);
    for (size_t i = 0; i < f.count; i++)
        offered_finish(&f.offered[i]);
    free(f.offered);
    quarantine_free_refs(f.have, f.have_count);
    free(f.program);
    free(f.staging);
    if (rc == 0) {
        *ret_news = f.news;
        return 0;
    }
    quarantine_news_finish(&f.news);
    return error_move(err, &why);
}
