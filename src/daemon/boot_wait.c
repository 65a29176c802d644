/* From the first instruction to a system that is ready. */
#include "base/alloc.h"
#include "base/log.h"
#include "base/text.h"
#include "base/units.h"
#include "daemon/machine.h"
#include "daemon/ops.h"

#include <time.h>

#define LIMIT_KVM_S      60
#define LIMIT_EMULATED_S 300
#define SLICE_MS         500   /* between two looks at whether the machine still runs */
#define HEALTH_MS        15000 /* of one health call */
#define POLL_MS          200

static const struct {
    const char *name, *about;
} phases[] = {
    [PHASE_NONE] = {"kernel", "the kernel starts"},
    [PHASE_KERNEL] = {"kernel", "the kernel starts"},
    [PHASE_AGENT] = {"agent", "hutch-guest is up, the system starts"},
    [PHASE_SYSTEM] = {"system", "services start"},
    [PHASE_READY] = {"ready", "the system is ready"},
    [PHASE_FAILED] = {"failed", "the system did not come up"},
};

/* When the phase that begins now must be over: each has the whole limit, so that a machine which is slow, and
 * gets on, is waited for. Tests set the limit. */
static int64_t phase_deadline(const struct work *work)
{
    const char *set = getenv("HUTCH_BOOT_LIMIT");
    uint64_t seconds = work->daemon->kvm ? LIMIT_KVM_S : LIMIT_EMULATED_S;

    if (set)
        (void)units_parse_number(set, 1, 3600, &seconds, NULL);
    return units_monotonic_ns() + (int64_t)seconds * 1000000000;
}

/* Names the phase and shows the console's last line; the machine is left as it is, for a look at it. */
static int not_ready(struct work *work, enum guest_phase phase, const char *why, struct error **err)
{
    autofree char *tail = machine_console_tail(work->daemon, work->r.id, 1);
    const char *name = work->r.name;

    error_free(steal(err));
    error_set(err, ERROR_GUEST, "\"%s\" did not get ready: %s in phase \"%s\"", name, why,
              phases[phase].name);
    return error_hint(err,
                      "its console %s%s%s; the machine is left as it is: `hutch up %s` waits on, after "
                      "`hutch stop %s` it boots anew",
                      tail ? "ends in \"" : "shows nothing", tail ? tail : "", tail ? "\"" : "", name, name);
}

/* Keeps the guest's last word for `show`. */
static void keep_health(struct work *work, const struct guest_health *health)
{
    struct project *project = projects_lock(work->daemon->projects, work->r.id);

    if (!project)
        return;
    project->health = *health;
    project->have_health = true;
    projects_unlock(work->daemon->projects);
}

/* Whether the machine still lives; why not otherwise. */
static int still_alive(struct work *work, enum guest_phase phase, struct error **err)
{
    struct vm_info info;
    int rc = machine_refresh(work, &info, err);

    if (rc < 0 || info.state == VM_RUNNING)
        return rc;
    if (info.state == VM_PAUSED && info.reason == VM_REASON_IO_ERROR)
        return not_ready(work, phase, "its disk could not be written (is the host's disk full?)", err);
    if (info.state == VM_PAUSED)
        return not_ready(work, phase, "it was paused", err);
    return not_ready(work, phase, "the machine went off", err);
}

/* Waits for hutch-guest's hello. */
static int wait_hello(struct work *work, int64_t deadline, struct error **err)
{
    for (;;) {
        auto(error) struct error *why = NULL;
        int rc = guest_wait_up(work->daemon->guests, work->r.id, SLICE_MS, job_cancel_flag(work->job), &why);

        if (rc == 0)
            return 0;
        if (why->code == ERROR_CANCELLED)
            return error_move(err, &why);
        rc = still_alive(work, PHASE_KERNEL, err);
        if (rc < 0)
            return rc;
        if (why->code != ERROR_TIMED_OUT) {
            log_debug("%s", why->message);
            nanosleep(&(struct timespec){.tv_nsec = POLL_MS * 1000000L}, NULL);
        }
        if (units_monotonic_ns() > deadline)
            return not_ready(work, PHASE_KERNEL, "hutch-guest did not answer in time", err);
    }
}

/* Follows the guest's phase to the end. */
static int wait_ready(struct work *work, struct error **err)
{
    enum guest_phase phase = PHASE_AGENT;
    int64_t deadline = phase_deadline(work);

    job_progress(work->job, phases[phase].name, 0, 0, NULL, "%s", phases[phase].about);
    for (;;) {
        auto(error) struct error *why = NULL;
        struct wmsg_item item;
        int rc = machine_call(work, GUEST_OP_HEALTH, "/v1/health", NULL, HEALTH_MS, &item, &why);

        if (rc == 0 && item.u.health.phase < countof(phases)) {
            keep_health(work, &item.u.health);
            if (item.u.health.phase != phase) {
                job_progress(work->job, phases[item.u.health.phase].name, 0, 0, NULL, "%s",
                             phases[item.u.health.phase].about);
                deadline = phase_deadline(work);
            }
            phase = (enum guest_phase)item.u.health.phase;
            if (phase == PHASE_READY && item.u.health.failed_units[0])
                job_warn(work->job, "these units failed: %s", item.u.health.failed_units);
            if (phase == PHASE_READY)
                return 0;
            if (phase == PHASE_FAILED)
                return not_ready(work, phase, "the system reports a failure", err);
        } else if (rc < 0 && why->code == ERROR_CANCELLED) {
            return error_move(err, &why);
        }
        rc = still_alive(work, phase, err);
        if (rc < 0)
            return rc;
        if (units_monotonic_ns() > deadline)
            return not_ready(work, phase, "the time was over", err);
        nanosleep(&(struct timespec){.tv_nsec = POLL_MS * 1000000L}, NULL);
    }
}

int boot_wait(struct work *work, struct error **err)
{
    int rc;

    job_progress(work->job, phases[PHASE_KERNEL].name, 0, 0, NULL, "%s%s", phases[PHASE_KERNEL].about,
                 work->daemon->kvm ? "" : " (EMULATED: 10 to 30 times slower)");
    rc = wait_hello(work, phase_deadline(work), err);
    return rc < 0 ? rc : wait_ready(work, err);
}
