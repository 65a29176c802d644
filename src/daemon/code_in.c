/* The way of the repositories into the machine (design: "Git", In): a mirror on the host, a bare repository
 * in the guest, a push between them, a work tree. */
#include "base/alloc.h"
#include "base/fd.h"
#include "base/file.h"
#include "base/log.h"
#include "base/units.h"
#include "daemon/git_out.h"
#include "daemon/machine.h"
#include "daemon/ops.h"
#include "repo/repo.h"
#include "wire/json.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/socket.h>

#define REPOS_MAX    32
#define PREPARE_MS   120000
#define PUSH_MS      (6 * 3600 * 1000)
#define CHECKOUT_MS  (3600 * 1000)
#define STACK_SIZE   (512 * 1024)
#define SHA1_HEX_LEN 40

/* A repository that is not in yet. */
struct fetched {
    size_t row; /* in the record */
    char *mirror, *ref, *commit, *remote;
    bool submodules, lfs;
};

struct code_in {
    struct work *work;
    pthread_t thread;
    bool started;
    atomic_bool shown; /* its turn has come: until then the steps of the boot are what is told */
    struct fetched *list;
    size_t count;
    struct error *error;
};

/* ---- before anything is made ---- */

static struct repo_row *find_row(struct record *r, const char *name)
{
    for (size_t i = 0; i < r->repo_count; i++) {
        if (!strcmp(r->repos[i].name, name))
            return &r->repos[i];
    }
    return NULL;
}

/* Appends a row for a spec, unless the project has it. */
static int add_row(struct work *work, const char *spec, struct error **err)
{
    auto(repo_source) struct repo_source *source = NULL;
    struct record *r = &work->r;
    struct repo_row *row;
    int rc = repo_source_parse(spec, &source, err);

    if (rc < 0)
        return rc;
    row = find_row(r, source->name);
    if (row && !strcmp(row->spec, spec))
        return 0;
    if (row && row->done) {
        error_set(err, ERROR_EXISTS, "\"%s\" has a repository \"%s\" already (%s)", r->name, row->name,
                  row->spec);
        return error_hint(err, "give the other one another name, for example by a link to its folder");
    }
    if (row) { /* it never came in: what is asked for now counts */
        free(row->spec);
        row->spec = xstrdup(spec);
        return 0;
    }
    if (r->repo_count >= REPOS_MAX)
        return error_set(err, ERROR_LIMIT, "\"%s\" would have more than %d repositories", r->name, REPOS_MAX);
    r->repos = xrealloc(r->repos, r->repo_count + 1, sizeof(*r->repos));
    r->repos[r->repo_count++] = (struct repo_row){
        .name = xstrdup(source->name),
        .spec = xstrdup(spec),
        .remote = xstrdup(source->remote),
        .target = xasprintf("/home/%s/%s", r->user, source->name),
    };
    return 0;
}

/* Whether git would find a repository from this folder. */
static bool in_repository(const char *folder)
{
    autofree char *at = xstrdup(folder), *bare = file_join(folder, "objects");
    char *slash;

    if (file_exists(bare))
        return true;
    while ((slash = strrchr(at, '/')) && slash != at) {
        autofree char *git = file_join(at, ".git");

        if (file_exists(git))
            return true;
        *slash = '\0';
    }
    return false;
}

int code_in_check(struct work *work, char **specs, struct error **err)
{
    struct record *r = &work->r;
    int rc = 0;

    /* A new project of a folder with a repository takes that one, unless others were asked for. */
    if (!r->made && !r->repo_count && r->folder && !(specs && specs[0]) && in_repository(r->folder))
        return add_row(work, r->folder, err);
    for (size_t i = 0; specs && specs[i] && rc == 0; i++)
        rc = add_row(work, specs[i], err);
    return rc;
}

/* ---- beside the boot ---- */

static void on_progress(const char *text, uint64_t done, uint64_t total, uint64_t bytes, void *user)
{
    struct code_in *code = user;

    (void)bytes;
    if (atomic_load(&code->shown))
        job_progress(code->work->job, "repos", done, total, total ? "objects" : NULL, "%s", text);
}

/* Fetches one repository into its mirror. */
static int fetch(struct code_in *code, struct fetched *fetched, struct error **err)
{
    struct work *work = code->work;
    auto(repo_source) struct repo_source *source = NULL;
    int rc = repo_source_parse(work->r.repos[fetched->row].spec, &source, err);

    if (rc == 0)
        rc = repo_mirror(work->daemon->paths, source, on_progress, code, job_cancel_flag(work->job),
                         &fetched->mirror, err);
    if (rc == 0)
        rc = repo_resolve(fetched->mirror, source->ref, &fetched->ref, &fetched->commit, err);
    if (rc < 0)
        return rc;
    fetched->remote = xstrdup(source->remote);
    fetched->submodules = *fetched->commit && repo_has_submodules(fetched->mirror, fetched->commit);
    fetched->lfs = *fetched->commit && repo_has_lfs(fetched->mirror, fetched->commit);
    return 0;
}

static void *fetch_thread(void *user)
{
    struct code_in *code = user;

    for (size_t i = 0; i < code->count; i++) {
        if (fetch(code, &code->list[i], &code->error) < 0)
            break;
    }
    return NULL;
}

struct code_in *code_in_begin(struct work *work)
{
    struct code_in *code = xnew(struct code_in);
    pthread_attr_t attr;

    code->work = work;
    code->list = xnewn(struct fetched, work->r.repo_count + 1);
    for (size_t i = 0; i < work->r.repo_count; i++) {
        if (!work->r.repos[i].done)
            code->list[code->count++].row = i;
    }
    if (!code->count)
        return code;
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, STACK_SIZE);
    require(pthread_create(&code->thread, &attr, fetch_thread, code) ==
            0); /* signals are blocked here already */
    pthread_attr_destroy(&attr);
    code->started = true;
    return code;
}

void code_in_finish(struct code_in *code)
{
    if (!code)
        return;
    if (code->started)
        pthread_join(code->thread, NULL);
    for (size_t i = 0; i < code->count; i++) {
        free(code->list[i].mirror);
        free(code->list[i].ref);
        free(code->list[i].commit);
        free(code->list[i].remote);
    }
    free(code->list);
    error_free(code->error);
    free(code);
}

/* ---- into the guest ---- */

/* The guest's end of a push: a call of its own, beside hutch-git on the host. */
struct receive {
    struct work *work;
    char *path;
    int stream;
    atomic_bool cancel;
    struct error *error;
};

static void *receive_thread(void *user)
{
    struct receive *receive = user;
    struct guest_call call = {
        .op = GUEST_OP_DUPLEX,
        .port = PORT_BULK,
        .flags = WCALL_STREAM_IN | WCALL_STREAM_OUT,
        .path = receive->path,
        .stream = receive->stream,
    };

    guest_call_wait(receive->work->daemon->guests, receive->work->r.id, &call, PUSH_MS, &receive->cancel,
                    NULL, &receive->error);
    return NULL;
}

/* Pushes a mirror through a stream. Of the two errors hutch-git's says more, unless the stream never came to
 * be. */
static int push(struct code_in *code, const char *name, const struct fetched *fetched, struct error **err)
{
    struct work *work = code->work;
    struct receive receive = {.work = work};
    auto(error) struct error *why = NULL;
    pthread_attr_t attr;
    pthread_t thread;
    int fds[2], rc = fd_socketpair(SOCK_STREAM, false, fds, err);

    if (rc < 0)
        return rc;
    receive.path = xasprintf("/v1/git/%s/receive-pack", name);
    receive.stream = fds[1];
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, STACK_SIZE);
    require(pthread_create(&thread, &attr, receive_thread, &receive) == 0);
    pthread_attr_destroy(&attr);
    rc = repo_push(work->daemon->paths, fetched->mirror, fetched->commit, fds[0], on_progress, code,
                   job_cancel_flag(work->job), &why);
    if (rc < 0)
        receive.cancel = true;
    shutdown(fds[0], SHUT_RDWR);
    pthread_join(thread, NULL);
    close(fds[0]);
    free(receive.path);
    if (rc < 0 && receive.error && receive.error->code != ERROR_CANCELLED)
        log_debug("receive-pack: %s", receive.error->message);
    error_free(receive.error);
    error_move(err, &why);
    return rc;
}

/* The body of the checkout; the target's user owns the tree. */
static json_t *checkout_body(const struct record *r, const struct repo_row *row)
{
    json_t *body = json_pack("{s:s, s:s, s:s, s:s}", "target", row->target, "user", r->user, "ref", row->ref,
                             "commit", row->commit);

    require(body);
    if (row->remote)
        json_object_set_new(body, "url", json_string(row->remote));
    return body;
}

/* One repository from its mirror to its work tree. */
static int bring(struct code_in *code, struct fetched *fetched, struct error **err)
{
    struct work *work = code->work;
    struct repo_row *row = &work->r.repos[fetched->row];
    const char *format = strlen(fetched->commit) > SHA1_HEX_LEN ? "sha256" : "sha1";
    const char *head = strncmp(fetched->ref, "refs/heads/", 11) == 0 ? fetched->ref : "refs/heads/main";
    autofree char *prepare = xasprintf("/v1/git/%s", row->name),
                  *checkout = xasprintf("/v1/git/%s/checkout", row->name);
    int rc;

    row->ref = (free(row->ref), xstrdup(fetched->ref));
    row->commit = (free(row->commit), xstrdup(fetched->commit));
    row->remote = (free(row->remote), xstrdup(fetched->remote));
    rc = daemon_note(work->daemon, work->r.id, "git.clone", row->spec, err);
    if (rc == 0)
        rc = machine_call(work, GUEST_OP_REPO, prepare,
                          json_pack("{s:s, s:s}", "head", head, "format", format), PREPARE_MS, NULL, err);
    if (rc == 0 && *fetched->commit)
        rc = push(code, row->name, fetched, err);
    if (rc == 0)
        rc = git_out_prepare(work->daemon, work->r.id, row->name, fetched->mirror, format, err);
    if (rc == 0) {
        job_progress(work->job, "repos", 0, 0, NULL, "%s: writing the work tree", row->name);
        rc =
            machine_call(work, GUEST_OP_REPO, checkout, checkout_body(&work->r, row), CHECKOUT_MS, NULL, err);
    }
    if (rc < 0)
        return error_prefix(err, "repository \"%s\"", row->name);
    row->done = true;
    if (fetched->submodules)
        job_warn(work->job, "%s has submodules; they are not followed yet", row->name);
    if (fetched->lfs)
        job_warn(work->job, "%s has large files of LFS; they come as pointers", row->name);
    return work_save(work, err);
}

int code_in_end(struct code_in *code, struct error **err)
{
    int rc = 0;

    atomic_store(&code->shown, true);
    if (code->started) {
        pthread_join(code->thread, NULL);
        code->started = false;
    }
    if (code->error)
        return error_move(err, &code->error);
    for (size_t i = 0; i < code->count && rc == 0; i++) {
        rc = job_check(code->work->job, err);
        if (rc == 0)
            rc = bring(code, &code->list[i], err);
    }
    return rc;
}
