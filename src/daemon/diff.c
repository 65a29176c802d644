#include "daemon/diff.h"

#include "base/alloc.h"
#include "base/file.h"
#include "daemon/layers.h"
#include "daemon/machine.h"
#include "daemon/snapshot.h"
#include "diff/child.h"
#include "wire/json.h"
#include "wire/pump.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ANSWER_MAX (1ULL << 30)  /* bytes of lines */
#define COPY_MAX   (32ULL << 30) /* of a file or folder */
#define ROOM_MIN   (1ULL << 30)  /* that stay free where the answer lies */

/* One question. The job's thread has it while the job runs, the loop before and after; but for `stream` and
 * `gone`, which are the loop's. */
struct diffing {
    struct daemon *daemon;
    struct h2_stream *stream; /* NULL: the client went away */
    atomic_bool gone;
    char id[PROJECT_ID_MAX];
    enum diff_mode mode;
    char *from, *to, *path;
    const char *type;
    int fd;     /* the answer */
    bool again; /* "now" has become a snapshot: to be read beside the project's lane */
    struct pump *pump;
};

static bool needs_old(const struct diffing *diffing)
{
    return diffing->mode == DIFF_CHANGES || diffing->mode == DIFF_TEXT;
}

static bool is_now(const char *point)
{
    return point && !strcmp(point, "now");
}

static void diffing_free(struct diffing *diffing)
{
    free(diffing->from);
    free(diffing->to);
    free(diffing->path);
    cleanup_close(&diffing->fd);
    free(diffing);
}

/* ---- on the job's thread ---- */

/* The snapshot that the present stands on, else what it was made of. */
static char *last_point(const struct record *record)
{
    return record->here > 0 ? xasprintf("@%lld", (long long)record->here) : xstrdup("base");
}

/* A snapshot of a machine that lives takes the place of "now". */
static int snapshot_now(struct diffing *diffing, struct job *job, struct error **err)
{
    struct snapshot_params params = {.cause = "call", .about = (char *)(uintptr_t) "to compare with"};
    struct snapshot_row row;
    struct vm_info info;
    struct work work;

    int rc = work_begin(&work, job, err);
    if (rc == 0)
        rc = machine_refresh(&work, &info, err);
    if (rc == 0 && !diffing->from && needs_old(diffing)) /* before there is one more to stand on */
        diffing->from = last_point(&work.r);
    if (rc == 0 && info.state == VM_STOPPING)
        rc = error_set(err, ERROR_BUSY, "\"%s\" is going down: try again when it is off", work.r.name);
    if (rc == 0 && (info.state == VM_RUNNING || info.state == VM_PAUSED)) {
        rc = snapshot_take(&work, &params, &row, err);
        if (rc < 0)
            error_prefix(err, "what is written now can be read out of a snapshot only");
        if (rc == 0) {
            char **point = is_now(diffing->to) ? &diffing->to : &diffing->from;
            free(*point);
            *point = xasprintf("@%lld", (long long)row.number);
            diffing->again = true;
            snapshot_row_finish(&row);
        }
    }
    work_finish(&work);
    return rc;
}

/* The files of a point, top first. */
static int find_chain(struct diffing *diffing, const struct record *record, const char *point, char ***ret,
                      struct error **err)
{
    struct snapshot_row row;
    int64_t number;

    if (!strcmp(point, "base")) {
        char **chain = xnewn(char *, 2);
        chain[0] = xasprintf("%s/bases/%s/disk.qcow2", diffing->daemon->paths->data, record->base);
        *ret = chain;
        return 0;
    }
    if (is_now(point))
        return layers_chain(diffing->daemon, record, record->layer, ret, err);
    int rc = snapshot_number(point, &number, err);
    if (rc == 0)
        rc = state_snapshot_load(diffing->daemon->state, record->id, number, false, &row, err);
    if (rc < 0)
        return rc;
    number = row.layer_number;
    snapshot_row_finish(&row);
    return layers_chain(diffing->daemon, record, number, ret, err);
}

/* A file without a name, and how much may come into it. */
static int open_spool(struct diffing *diffing, uint64_t *ret_max, struct error **err)
{
    const char *folder = diffing->daemon->paths->cache;
    uint64_t room = 0, max = needs_old(diffing) ? ANSWER_MAX : COPY_MAX;

    int rc = file_free_space(folder, &room, err);
    if (rc < 0)
        return rc;
    if (room <= ROOM_MIN)
        return error_set(err, ERROR_NO_SPACE, "there is too little room in \"%s\" for the answer", folder);
    *ret_max = room - ROOM_MIN < max ? room - ROOM_MIN : max;
    diffing->fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (diffing->fd < 0)
        return error_set_errno(err, errno, "cannot make a file in \"%s\"", folder);
    return 0;
}

static int read_layers(struct diffing *diffing, struct job *job, const struct record *record,
                       struct error **err)
{
    autofree char *program = NULL, *from = NULL;
    char **old = NULL, **new = NULL;
    uint64_t max = 0;

    from = diffing->from ? xstrdup(diffing->from) : last_point(record);
    int rc = paths_program(diffing->daemon->paths, "hutch-diff", &program, err);
    if (rc == 0 && needs_old(diffing))
        rc = find_chain(diffing, record, from, &old, err);
    if (rc == 0)
        rc = find_chain(diffing, record, diffing->to, &new, err);
    if (rc == 0)
        rc = open_spool(diffing, &max, err);
    if (rc == 0) {
        const struct child_ask ask = {.program = program,
                                      .mode = diffing->mode,
                                      .path = diffing->path,
                                      .old = old,
                                      .new = new,
                                      .answer_max = max,
                                      .cancel = {job_cancel_flag(job), &diffing->gone}};
        rc = child_run(&ask, diffing->fd, err);
    }
    vm_free_chain(old);
    vm_free_chain(new);
    return rc;
}

static int run_diff(struct job *job, void *user, json_t **ret_result, struct error **err)
{
    struct diffing *diffing = user;
    struct record record;

    (void)ret_result;
    if (is_now(diffing->from) || is_now(diffing->to)) {
        int rc = snapshot_now(diffing, job, err);
        if (rc < 0 || diffing->again)
            return rc;
    }
    if (!projects_record(diffing->daemon->projects, diffing->id, &record))
        return error_set(err, ERROR_NOT_FOUND, "the project was removed meanwhile");
    int rc = read_layers(diffing, job, &record, err);
    if (rc == -ERROR_NOT_FOUND && err && *err && !(*err)->hint && !diffing->path)
        error_hint(err, "`hutch snapshots %s` lists them", record.name);
    record_finish(&record);
    return rc;
}

static const struct job_kind diff_kind = {.name = "diff", .run = run_diff, .quiet = true};

/* ---- on the loop ---- */

static void on_stream_gone(struct h2_stream *stream, uint32_t code, void *user)
{
    struct diffing *diffing = user;

    diffing->stream = NULL;
    atomic_store(&diffing->gone, true);
}

static void on_sent(struct pump *pump, enum pump_end end, const struct error *err, void *user)
{
    diffing_free(user);
}

/* What lies in the file goes out as the client takes it. */
static void send_answer(struct diffing *diffing)
{
    struct h2_field type[] = {{"content-type", diffing->type}};
    struct h2_stream *stream = steal(&diffing->stream);
    struct pump_options options = {.fd_in = diffing->fd, .fd_out = -1, .own_fds = true, .on_done = on_sent};
    auto(error) struct error *err = NULL;

    h2_stream_set_ops(stream, NULL, NULL);
    int rc = lseek(diffing->fd, 0, SEEK_SET) < 0 ? error_set_errno(&err, errno, "cannot read the answer") : 0;
    if (rc == 0)
        rc = h2_respond(stream, 200, type, countof(type), true, &err);
    if (rc == 0)
        rc = pump_create(&diffing->daemon->loop, stream, &options, diffing, &diffing->pump, &err);
    if (rc < 0) {
        h2_stream_reset(stream, H2_INTERNAL_ERROR);
        diffing_free(diffing);
        return;
    }
    diffing->fd = -1; /* the pump's */
}

static void submit(struct diffing *diffing);

static void on_end(const json_t *result, const struct error *err, void *user)
{
    struct diffing *diffing = user;

    if (!diffing->stream) {
        diffing_free(diffing);
    } else if (err) {
        h2_stream_set_ops(diffing->stream, NULL, NULL);
        json_reply_error(diffing->stream, err);
        diffing_free(diffing);
    } else if (diffing->again) {
        diffing->again = false;
        submit(diffing);
    } else {
        send_answer(diffing);
    }
}

/* What is written now belongs to the project's lane. */
static void submit(struct diffing *diffing)
{
    autofree char *beside = xasprintf("diff:%s", diffing->id);
    bool now = is_now(diffing->from) || is_now(diffing->to);

    job_on_end(job_submit(diffing->daemon->jobs, now ? diffing->id : beside, &diff_kind, diffing), on_end,
               diffing);
}

static bool is_point(const char *point)
{
    int64_t number;
    return !strcmp(point, "base") || is_now(point) || snapshot_number(point, &number, NULL) == 0;
}

void diff_answer(struct daemon *daemon, struct h2_stream *stream, const struct diff_request *request)
{
    static const struct h2_stream_ops ops = {.on_close = on_stream_gone};
    const char *to = request->to ? request->to : "now";
    const char *wrong = request->from && !is_point(request->from) ? request->from : !is_point(to) ? to : NULL;
    auto(error) struct error *err = NULL;

    if (wrong)
        error_set(&err, ERROR_INVALID, "\"%s\" is no point of a disk: they are called @1, base, now", wrong);
    else if (request->path && (request->path[0] != '/' || strlen(request->path) >= DIFF_PATH_MAX))
        error_set(&err, ERROR_INVALID, "\"%s\" is no full path", request->path);
    if (err) {
        json_reply_error(stream, err);
        return;
    }
    struct diffing *diffing = xnew(struct diffing);
    diffing->daemon = daemon;
    diffing->stream = stream;
    diffing->mode = request->mode;
    diffing->from = xstrdup(request->from);
    diffing->to = xstrdup(to);
    diffing->path = xstrdup(request->path);
    diffing->type = request->type;
    diffing->fd = -1;
    snprintf(diffing->id, sizeof(diffing->id), "%s", request->id);
    h2_stream_set_ops(stream, &ops, diffing);
    submit(diffing);
}
