#include "daemon/machine.h"

#include "base/alloc.h"
#include "base/file.h"
#include "base/log.h"
#include "base/text.h"
#include "base/units.h"
#include "daemon/freeze.h"
#include "daemon/inbox.h"
#include "daemon/layers.h"
#include "image/image.h"
#include "vm/boot.h"
#include "wire/json.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CONSOLE_TAIL_BYTES 8192
#define MODULES_MS         5000

char *machine_image_path(const struct work *work)
{
    return daemon_project_path(work->daemon, work->r.id, "suspend.img");
}

/* ---- what libvirt says ---- */

struct sync_post {
    struct daemon *daemon;
    const char *id;
};

static void do_sync(void *user)
{
    struct sync_post *post = user;

    machine_sync(post->daemon, post->id);
}

/* Has the loop fit the guest to the table, and waits for it. */
static void sync_guest(struct work *work)
{
    struct sync_post post = {work->daemon, work->r.id};

    post_wait(work->daemon->posts, do_sync, &post);
}

/* Writes what libvirt said into the table. */
static void set_table(struct work *work, const struct vm_info *info)
{
    autofree char *disk = layers_disk(work->daemon, &work->r);
    bool missing = !file_exists(disk);
    struct project *project = projects_lock(work->daemon->projects, work->r.id);

    if (!project)
        return;
    project->known = true;
    project->vm = info->state;
    project->reason = info->reason;
    project->disk_missing = missing;
    if (info->state == VM_RUNNING || info->state == VM_PAUSED)
        project->kvm = info->kvm;
    if (!project_alive(project))
        project->trusted = false;
    projects_unlock(work->daemon->projects);
}

int machine_refresh(struct work *work, struct vm_info *ret_info, struct error **err)
{
    int rc = work->host->ops->info(work->host, work->r.uuid, ret_info, err);

    if (rc == 0)
        set_table(work, ret_info);
    return rc;
}

/* The table's view before libvirt is asked again. */
static bool was_alive(struct work *work, bool *ret_trusted)
{
    struct project *project = projects_lock(work->daemon->projects, work->r.id);
    bool alive;

    if (!project)
        return false;
    alive = project_alive(project);
    *ret_trusted = project->trusted;
    projects_unlock(work->daemon->projects);
    return alive;
}

/* The machine went off without our doing: says so in the journal, and keeps the reason if it was not the
 * guest's wish. */
static void note_end(struct work *work, const struct vm_info *info)
{
    autofree char *tail = NULL;
    auto(error) struct error *why = NULL;

    if (info->state != VM_CRASHED && info->reason != VM_REASON_CRASH && info->reason != VM_REASON_FAILED) {
        daemon_noted(work->daemon, work->r.id, "lifecycle.off",
                     info->reason == VM_REASON_GUEST ? "its system shut down" : "switched off");
        return;
    }
    if (work->host->ops->log_tail)
        tail = work->host->ops->log_tail(work->host, info->name);
    error_set(&why, ERROR_HYPERVISOR, "the machine crashed%s%s", tail ? ": " : "", tail ? tail : "");
    work_failed(work, why, false);
    daemon_noted(work->daemon, work->r.id, "lifecycle.crash", why->message);
}

int machine_settle(struct work *work, struct vm_info *ret_info, struct error **err)
{
    bool trusted = false, alive = was_alive(work, &trusted);
    int rc = machine_refresh(work, ret_info, err);

    if (rc < 0)
        return rc;
    if (ret_info->state == VM_RUNNING || ret_info->state == VM_PAUSED) {
        if (work->r.saved) {
            /* Somebody else started it: its memory image is of the past and must never meet this disk again.
             */
            log_warning("\"%s\" was started by another program; its memory image is dropped", work->r.name);
            rc = machine_drop_image(work, err);
        }
        if (rc == 0 && !trusted)
            rc = machine_trust(work, err);
        if (rc == 0)
            rc = freeze_assert(work, ret_info, err);
        sync_guest(work);
        return rc;
    }
    if (alive && !work->r.saved)
        note_end(work, ret_info);
    sync_guest(work);
    return 0;
}

/* The lane's answer to an event. */
static int run_check(struct job *job, void *params, json_t **ret_result, struct error **err)
{
    struct work work;
    struct vm_info info;
    int rc = work_begin(&work, job, err);

    if (rc == 0)
        rc = machine_settle(&work, &info, err);
    else if (!work.r.id[0])
        error_free(steal(err)); /* it was removed meanwhile: the event was of its end */
    work_finish(&work);
    return rc;
}

const struct job_kind machine_check_kind = {.name = "check", .run = run_check, .quiet = true};

/* ---- definition and start ---- */

void machine_spec_finish(struct machine_spec *spec)
{
    for (size_t i = 0; i < countof(spec->strings); i++)
        free(spec->strings[i]);
    vm_free_chain(spec->chain);
    base_free(spec->base);
    *spec = (struct machine_spec){0};
}

/* The paths of a spec. QEMU binds the sockets in run/p/ID and writes the console's log in the project's
 * folder. */
static void spec_paths(struct work *work, struct machine_spec *ret)
{
    static const char *const files[] = {"disk", NULL, "initrd", "console.log"};
    static const char *const sockets[] = {"c.sock", "e.sock", "b.sock"};

    for (size_t i = 0; i < countof(files); i++)
        ret->strings[i] = files[i] ? daemon_project_path(work->daemon, work->r.id, files[i])
                                   : layers_disk(work->daemon, &work->r);
    for (size_t i = 0; i < countof(sockets); i++) {
        ret->strings[4 + i] = daemon_socket_path(work->daemon, work->r.id, sockets[i]);
        ret->spec.ports[i] = ret->strings[4 + i];
    }
    ret->spec.folder = ret->strings[0];
    ret->spec.disk = ret->strings[1];
    ret->spec.initrd = ret->strings[2];
    ret->spec.console_log = ret->strings[3];
}

int machine_spec_make(struct work *work, struct machine_spec *ret, struct error **err)
{
    const struct record *r = &work->r;
    struct vm_spec *spec = &ret->spec;
    int rc;

    *ret = (struct machine_spec){0};
    snprintf(spec->name, sizeof(spec->name), "hutch-%s-%s", r->name, r->id);
    memcpy(spec->uuid, r->uuid, sizeof(spec->uuid));
    snprintf(spec->project, sizeof(spec->project), "%s", r->id);
    spec->cpus = r->cpus;
    spec->memory = r->memory;
    spec->cpu_model = r->cpu_model;
    spec->emulate = !work->daemon->kvm;
    spec_paths(work, ret);
    ret->strings[7] = boot_command_line(r->kernel_options);
    spec->command_line = ret->strings[7];
    rc = base_find(work->daemon->paths, r->base, &ret->base, err);
    if (rc < 0)
        error_hint(err, "`hutch template build %s` makes it again if the template is unchanged", r->template);
    else
        rc = layers_chain(work->daemon, r, r->layer, &ret->chain, err);
    if (rc == 0)
        spec->kernel = ret->base->kernel;
    spec->chain = (const char *const *)ret->chain;
    if (rc < 0)
        machine_spec_finish(ret);
    return rc;
}

/* The folder in which the sockets are made; as root QEMU runs as libvirt's own user and must get into it. */
static int make_socket_folder(struct work *work, struct error **err)
{
    autofree char *folder = daemon_socket_path(work->daemon, work->r.id, NULL);

    return file_make_folder(folder, 0700, err);
}

int machine_define(struct work *work, struct error **err)
{
    struct machine_spec spec;
    int rc;

    if (!work->daemon->guest_program)
        return error_set(err, ERROR_MISSING, "hutch-guest is not installed beside hutchd");
    rc = make_socket_folder(work, err);
    if (rc == 0)
        rc = machine_spec_make(work, &spec, err);
    if (rc < 0)
        return rc;
    rc = boot_make_initrd(spec.base->initrd, work->daemon->guest_program, spec.spec.initrd, err);
    if (rc == 0)
        rc = work->host->ops->define(work->host, &spec.spec, err);
    machine_spec_finish(&spec);
    return rc;
}

int machine_trust(struct work *work, struct error **err)
{
    struct project *project;
    char **chain = NULL;
    int rc = layers_chain(work->daemon, &work->r, work->r.layer, &chain, err);

    if (rc == 0)
        rc = vm_check_chain(work->host, work->r.uuid, (const char *const *)chain, err);
    vm_free_chain(chain);
    if (rc < 0) {
        auto(error) struct error *second = NULL;

        bool wrong = (*err)->code == ERROR_CORRUPT; /* else it ended, or libvirt does not say */

        error_prefix(err,
                     wrong ? "\"%s\" runs on another disk than hutch gave it and was stopped"
                           : "what disk \"%s\" runs on could not be seen, so it was stopped",
                     work->r.name);
        work_failed(work, *err, false);
        if (wrong)
            daemon_noted(work->daemon, work->r.id, "finding.chain", (*err)->message);
        if (machine_destroy(work, &second) < 0)
            log_error("%s", second->message);
        return rc;
    }
    project = projects_lock(work->daemon->projects, work->r.id);
    if (project) {
        project->trusted = true;
        projects_unlock(work->daemon->projects);
    }
    sync_guest(work);
    return 0;
}

int machine_start(struct work *work, struct error **err)
{
    autofree char *boot = units_random_hex(8);
    bool dropped = false;
    struct vm_info info;
    int rc;

    snprintf(work->r.boot, sizeof(work->r.boot), "%s", boot);
    work->r.frozen_for = 0; /* that was another boot */
    rc = work_step(work, STEP_UP_START, err);
    inbox_post_boot_ended(work->daemon, work->r.id);
    if (rc == 0)
        rc = state_key_forget(work->daemon->state, work->r.id, err);
    if (rc == 0)
        rc = daemon_note(work->daemon, work->r.id, "lifecycle.start", work->r.name, err);
    if (rc == 0)
        rc = work->host->ops->start(work->host, work->r.uuid, true, &dropped, err);
    if (rc < 0)
        return rc;
    if (dropped)
        job_warn(work->job, "a memory image that hutch had not made was dropped: a cold start");
    rc = work_step_anyway(work, STEP_UP_CHAIN, err);
    if (rc == 0)
        rc = machine_refresh(work, &info, err);
    if (rc == 0)
        rc = machine_trust(work, err);
    if (rc == 0)
        rc = work->host->ops->resume(work->host, work->r.uuid, err);
    if (rc == 0)
        rc = machine_refresh(work, &info, err);
    sync_guest(work);
    return rc;
}

int machine_destroy(struct work *work, struct error **err)
{
    struct vm_info info;
    int rc = work->host->ops->destroy(work->host, work->r.uuid, err);

    if (rc == 0)
        rc = machine_refresh(work, &info, err);
    sync_guest(work);
    return rc;
}

int machine_drop_image(struct work *work, struct error **err)
{
    autofree char *path = machine_image_path(work);
    int rc;

    work->r.saved = false;
    rc = work_save(work, err);
    if (rc == 0)
        unlink(path);
    return rc;
}

/* ---- the guest ---- */

/* Takes out what only moves or colours a terminal: CSI sequences, strings up to BEL or ST. The new length. */
static size_t drop_sequences(char *bytes, size_t len)
{
    size_t kept = 0;

    for (size_t i = 0; i < len; i++) {
        if (bytes[i] != '\033' || i + 1 == len) {
            bytes[kept++] = bytes[i];
            continue;
        }
        char kind = bytes[++i];
        if (kind == '[')
            while (i + 1 < len && (bytes[++i] < '@' || bytes[i] > '~'))
                ;
        else if (kind && strchr("]PX^_", kind))
            while (i + 1 < len && bytes[++i] != '\a' && !(bytes[i] == '\\' && bytes[i - 1] == '\033'))
                ;
    }
    return kept;
}

char *machine_console_tail(const struct daemon *daemon, const char *id, size_t lines)
{
    autofree char *path = daemon_project_path(daemon, id, "console.log"),
                  *raw = xnewn(char, CONSOLE_TAIL_BYTES + 1);
    autoclose int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    struct text text;
    struct stat st;
    ssize_t len;
    const char *start;

    if (fd < 0 || fstat(fd, &st) < 0)
        return NULL;
    len = pread(fd, raw, CONSOLE_TAIL_BYTES,
                st.st_size > CONSOLE_TAIL_BYTES ? st.st_size - CONSOLE_TAIL_BYTES : 0);
    if (len > 0)
        len = (ssize_t)drop_sequences(raw, (size_t)len);
    while (len > 0 && strchr("\r\n ", raw[len - 1]))
        len--;
    if (len <= 0)
        return NULL;
    start = raw + len;
    while (lines && start > raw) {
        if (start[-1] == '\n' && --lines == 0)
            break;
        start--;
    }
    text_init(&text, start, (size_t)(raw + len - start), 0, TEXT_KEEP_NEWLINES);
    return text.bytes;
}

void machine_check_modules(struct work *work)
{
    auto(base) struct base *base = NULL;
    auto(error) struct error *err = NULL;
    autofree char *path = NULL, *version = NULL;

    if (base_find(work->daemon->paths, work->r.base, &base, NULL) < 0)
        return;
    version = json_url_encode(base->kernel_version, strlen(base->kernel_version));
    path = xasprintf("/v1/files/stat?path=/lib/modules/%s", version);
    if (machine_call(work, GUEST_OP_FILE_STAT, path, NULL, MODULES_MS, NULL, &err) == 0 ||
        err->code != ERROR_NOT_FOUND)
        return;
    job_warn(work->job,
             "the modules of its kernel %s are missing: file systems and devices that need one do not work; "
             "`sudo apt install --reinstall linux-image-%s` in it puts them back",
             base->kernel_version, base->kernel_version);
    daemon_noted(work->daemon, work->r.id, "finding.kernel", base->kernel_version);
}

int machine_call(struct work *work, enum guest_op op, const char *path, json_t *body, unsigned timeout_ms,
                 struct wmsg_item *ret_item, struct error **err)
{
    autofree char *text = body ? json_text(body) : NULL;
    struct guest_call call = {.op = op, .port = PORT_CONTROL, .path = path, .body = text, .stream = -1};

    json_decref(body);
    return guest_call_wait(work->daemon->guests, work->r.id, &call, timeout_ms, job_cancel_flag(work->job),
                           ret_item, err);
}
