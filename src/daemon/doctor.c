#include "daemon/doctor.h"

#include "base/alloc.h"
#include "base/file.h"
#include "base/units.h"
#include "base/words.h"
#include "base/text.h"
#include "daemon/daemon.h"
#include "daemon/host.h"
#include "daemon/way_internal.h"
#include "image/image.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define DISK_WARN      (10ULL << 30)
#define DISK_FAIL      (2ULL << 30)
#define LANDLOCK_QUERY 1U /* LANDLOCK_CREATE_RULESET_VERSION */

enum finding { OK, WARN, FAIL };

struct doctor {
    struct job *job;
    struct daemon *daemon;
    int failed, warned;
};

/* Tells one finding; fix may be NULL. */
static void tell(struct doctor *doctor, const char *check, enum finding state, const char *fix,
                 const char *format, ...) __attribute__((format(printf, 5, 6)));

static void tell(struct doctor *doctor, const char *check, enum finding state, const char *fix,
                 const char *format, ...)
{
    static const char *const names[] = {"ok", "warn", "fail"};
    autofree char *text = NULL;
    va_list args;
    json_t *line;

    va_start(args, format);
    text = xvasprintf(format, args);
    va_end(args);
    doctor->failed += state == FAIL;
    doctor->warned += state == WARN;
    line =
        json_pack("{s:s, s:s, s:s, s:s?}", "check", check, "state", names[state], "text", text, "fix", fix);
    if (line)
        job_line(doctor->job, line);
}

static void check_kvm(struct doctor *doctor)
{
    char reason[200] = "";

    if (host_kvm(reason, sizeof(reason)))
        tell(doctor, "kvm", OK, NULL, "/dev/kvm opens");
    else
        tell(doctor, "kvm", WARN,
             N_("turn virtualisation on in the firmware, or nested virtualisation on the host of this "
                "machine"),
             "%s. EMULATED: 10 to 30 times slower", reason);
}

static void check_libvirt(struct doctor *doctor)
{
    auto(error) struct error *err = NULL;
    struct vm_host *host;
    struct vm_host_info info;

    if (daemon_host(doctor->daemon, &host, &err) < 0) {
        tell(doctor, "libvirt", FAIL, err->hint, "%s", err->message);
        return;
    }
    if (host->ops->host_info(host, &info, &err) < 0)
        tell(doctor, "libvirt", FAIL, err->hint, "%s", err->message);
    else
        tell(doctor, "libvirt", OK, NULL, "%s: libvirt %lu.%lu.%lu, %s", info.uri,
             info.libvirt_version / 1000000, info.libvirt_version / 1000 % 1000, info.libvirt_version % 1000,
             info.hypervisor);
}

/* Looks for a program in PATH and where root's programs are. */
static bool in_path(const char *name)
{
    autofree char *path = xasprintf("%s:/usr/sbin:/sbin", getenv("PATH") ? getenv("PATH") : "/usr/bin:/bin");
    char *rest = path, *folder;

    while ((folder = strsep(&rest, ":"))) {
        autofree char *full = file_join(folder, name);

        if (access(full, X_OK) == 0)
            return true;
    }
    return false;
}

static void check_tools(struct doctor *doctor)
{
    static const struct {
        const char *name, *package, *what;
        enum finding state;
    } tools[] = {
        {"qemu-img", "qemu-utils", "makes disks", FAIL},
        {"mmdebstrap", "mmdebstrap", "builds bases", FAIL},
        {"mke2fs", "e2fsprogs", "builds bases", FAIL},
        {"git", "git", "brings code in", FAIL},
        {"newuidmap", "uidmap", "builds bases without root", WARN},
    };

    for (size_t i = 0; i < countof(tools); i++) {
        autofree char *fix = xasprintf("sudo apt install %s", tools[i].package);

        if (in_path(tools[i].name))
            tell(doctor, tools[i].name, OK, NULL, "%s is there", tools[i].name);
        else
            tell(doctor, tools[i].name, geteuid() == 0 && tools[i].state == WARN ? OK : tools[i].state, fix,
                 "%s is missing: it %s", tools[i].name, tools[i].what);
    }
}

/* hutch's own programs beside hutchd. */
static void check_programs(struct doctor *doctor)
{
    static const char *const names[] = {"hutch-worker", "hutch-guest", "hutch-qemu", "hutch-git", "hutch-diff"};

    for (size_t i = 0; i < countof(names); i++) {
        autofree char *path = NULL;
        auto(error) struct error *err = NULL;

        if (paths_program(doctor->daemon->paths, names[i], &path, &err) < 0)
            tell(doctor, names[i], FAIL, N_("build or install hutch again"), "%s", err->message);
        else
            tell(doctor, names[i], OK, NULL, "%s", path);
    }
}

static void check_confinement(struct doctor *doctor)
{
    long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_QUERY);
    autofree char *userns = NULL;

    if (abi > 0)
        tell(doctor, "landlock", OK, NULL, "Landlock %ld: QEMU and the parsers are confined", abi);
    else
        tell(doctor, "landlock", FAIL, N_("start the kernel with `lsm=landlock,...`, or take a newer one"),
             "Landlock is off: %s", strerror(errno));
    if (file_read("/proc/sys/kernel/unprivileged_userns_clone", 16, &userns, NULL, NULL) == 0 &&
        userns[0] == '0')
        tell(doctor, "user namespaces", geteuid() == 0 ? OK : WARN,
             "sudo sysctl kernel.unprivileged_userns_clone=1",
             "user namespaces are off: bases cannot be built without root");
}

static void check_room(struct doctor *doctor)
{
    auto(error) struct error *err = NULL;
    uint64_t room, total, available;
    char text[UNITS_SIZE_MAX], all[UNITS_SIZE_MAX];

    if (file_free_space(doctor->daemon->paths->data, &room, &err) < 0)
        tell(doctor, "disk", FAIL, NULL, "%s", err->message);
    else
        tell(doctor, "disk",
             room < DISK_FAIL   ? FAIL
             : room < DISK_WARN ? WARN
                                : OK,
             room < DISK_WARN ? N_("make room") : NULL, "%s free for machines in \"%s\"",
             units_format_size(room, text), doctor->daemon->paths->data);
    if (host_memory(&total, &available, NULL) == 0)
        tell(doctor, "memory", available < (2ULL << 30) ? WARN : OK, NULL, "%s of %s are free",
             units_format_size(available, text), units_format_size(total, all));
}

/* Bases of before their package hosts were recorded: presets such as "debian" give nothing for them. */
static void check_bases(struct doctor *doctor)
{
    struct base **bases = NULL;
    size_t count = 0;

    if (base_list(doctor->daemon->paths, &bases, &count, NULL) < 0)
        return;
    for (size_t i = 0; i < count; i++) {
        autofree char *fix = xasprintf("hutch template build %s", bases[i]->template_name);

        if (!bases[i]->package_hosts)
            tell(doctor, "bases", WARN, fix,
                 "base %.12s of \"%s\" has no record of its package hosts: presets such as \"debian\" give "
                 "nothing for machines on it",
                 bases[i]->digest, bases[i]->template_name);
        base_free(bases[i]);
    }
    free(bases);
}

/* Connections go out by no proxy that cannot be read. */
static void check_proxy(struct doctor *doctor)
{
    auto(error) struct error *err = NULL;
    auto(proxy) struct proxy *proxy = NULL;

    if (way_proxy(doctor->daemon, &proxy, &err) < 0)
        tell(doctor, "proxy", FAIL, err->hint,
             "no rules count that came after it, and after a start nothing goes out: %s", err->message);
    else if (proxy)
        tell(doctor, "proxy", OK, NULL, "connections go out through %s", proxy->authority);
}

/* Machines in which only what knows the proxy gets out. */
static void check_capture(struct doctor *doctor, const char *id)
{
    struct project *project = projects_lock(doctor->daemon->projects, id);
    char name[PROJECT_NAME_MAX] = "", why[sizeof(project->health.capture_reason)] = "";

    if (!project)
        return;
    bool off = project_alive(project) && project->guest_up && project->have_health &&
               project->health.capture == CAPTURE_OFF;
    memcpy(name, project->r.name, sizeof(name));
    memcpy(why, project->health.capture_reason, sizeof(why));
    projects_unlock(doctor->daemon->projects);
    autofree char *safe = text_safe(why);
    if (off)
        tell(doctor, "capture", WARN, N_("install nftables in the machine"),
             "in \"%s\" only programs that know the proxy get out: %s (the machine says so)", name, safe);
}

static void check_machines(struct doctor *doctor)
{
    size_t count;
    char(*ids)[PROJECT_ID_MAX] = projects_ids(doctor->daemon->projects, &count);

    for (size_t i = 0; i < count; i++)
        check_capture(doctor, ids[i]);
    free(ids);
}

/* Domains of this installation that no project knows. */
static void check_strays(struct doctor *doctor)
{
    struct vm_host *host;
    struct vm_info *list = NULL;
    size_t count = 0;

    if (daemon_host(doctor->daemon, &host, NULL) < 0 || host->ops->list(host, &list, &count, NULL) < 0)
        return;
    for (size_t i = 0; i < count; i++) {
        autofree char *fix = xasprintf("virsh undefine %s", list[i].name);
        char id[PROJECT_ID_MAX];

        if (!projects_find_uuid(doctor->daemon->projects, list[i].uuid, id))
            tell(doctor, "domains", WARN, fix, "domain \"%s\" belongs to no project", list[i].name);
    }
    free(list);
}

static int run_doctor(struct job *job, void *params, json_t **ret_result, struct error **err)
{
    struct doctor doctor = {.job = job, .daemon = job_daemon(job)};

    (void)params;
    (void)err;
    check_kvm(&doctor);
    check_libvirt(&doctor);
    check_tools(&doctor);
    check_programs(&doctor);
    check_confinement(&doctor);
    check_room(&doctor);
    check_strays(&doctor);
    check_bases(&doctor);
    check_proxy(&doctor);
    check_machines(&doctor);
    *ret_result = json_pack("{s:i, s:i}", "failed", doctor.failed, "warned", doctor.warned);
    return 0;
}

const struct job_kind doctor_kind = {.name = "doctor", .run = run_doctor};
