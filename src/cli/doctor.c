/* hutch doctor: what is missing on this host and which command mends it. It works without hutchd: then it
 * says why there is none. */
#include "cli/args.h"

#include "base/alloc.h"
#include "base/file.h"
#include "base/text.h"
#include "base/units.h"
#include "base/words.h"
#include "cli/out.h"
#include "client/client.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define DISK_LOW (10ULL << 30)

enum state { OK, WARN, FAIL };

struct doctor {
    bool json;
    int worst;       /* enum state */
    json_t *checked; /* names that hutchd has checked: it knows better */
};

/* A part of a text: English in JSON. */
static const char *say(const struct doctor *doctor, const char *english) __attribute__((format_arg(2)));
static const char *say(const struct doctor *doctor, const char *english)
{
    return doctor->json ? english : out_word(english);
}

/* One line of the report. */
static void report(struct doctor *doctor, const char *check, const char *state, const char *text,
                   const char *fix)
{
    int rank = strcmp(state, "ok") == 0 ? OK : strcmp(state, "warn") == 0 ? WARN : FAIL;
    if (rank > doctor->worst)
        doctor->worst = rank;
    if (doctor->json) {
        auto(json) json_t *line = json_pack("{s:s, s:s, s:s}", "check", check, "state", state, "text", text);
        json_object_set_new(line, "fix", fix && *fix ? json_string(fix) : json_null());
        out_json(line);
        return;
    }
    autofree char *safe_check = text_safe(check);
    autofree char *safe_text = text_safe(text);
    out_lines(23, "%-5s %-16s %s\n",
              out_word(rank == OK     ? N_("ok")
                       : rank == WARN ? N_("warn")
                                      : N_("FAIL")),
              safe_check, out_word(safe_text));
    if (fix && *fix) {
        autofree char *safe_fix = text_safe(fix);
        out_lines(23, out_word(N_("%-5s %-16s mend it: %s\n")), "", "", out_word(safe_fix));
    }
}

static void on_line(json_t *line, void *user)
{
    struct doctor *doctor = user;
    json_object_set_new(doctor->checked, out_string(line, "check"), json_true());
    report(doctor, out_string(line, "check"), out_string(line, "state"), out_string(line, "text"),
           out_string(line, "fix"));
}

/* ---- checks of our own ---- */

static void check_kvm(struct doctor *doctor, const char *name)
{
    autoclose int fd = open("/dev/kvm", O_RDWR | O_CLOEXEC);
    if (fd >= 0)
        report(doctor, name, "ok", N_("/dev/kvm opens"), NULL);
    else if (errno == ENOENT)
        report(
            doctor, name, "warn", N_("/dev/kvm is absent: machines are EMULATED, 10 to 30 times slower"),
            N_("turn on virtualisation (VT-x, AMD-V) in the firmware; inside a VM: nested virtualisation of "
               "its host"));
    else if (errno == EACCES)
        report(doctor, name, "warn",
               N_("/dev/kvm is closed to you: machines are EMULATED, 10 to 30 times slower"),
               N_(N_("sudo usermod -aG kvm \"$USER\", then log in again")));
    else {
        autofree char *text = xasprintf("/dev/kvm: %s", strerror(errno));
        report(doctor, name, "warn", text, NULL);
    }
}

/* Whether a program is in PATH or where administrators' programs are. */
static bool have_program(const char *program)
{
    const char *path = getenv("PATH");
    autofree char *all = xasprintf("%s:/usr/local/sbin:/usr/sbin:/sbin:/usr/libexec", path ? path : "");
    for (const char *p = all; *p; p += strcspn(p, ":"), p += *p == ':') {
        autofree char *folder = xstrndup(p, strcspn(p, ":"));
        autofree char *file = file_join(folder, program);
        if (*folder && access(file, X_OK) == 0)
            return true;
    }
    return false;
}

/* A program that is needed, and the packages that bring it. */
static const struct {
    const char *program, *other; /* other: does as well, or NULL */
    const char *what, *packages;
} programs[] = {
    {"qemu-system-x86_64", NULL, N_("runs the machines"), "qemu-system-x86"},
    {"qemu-img", NULL, N_("makes disks"), "qemu-utils"},
    {"libvirtd", "virtqemud", N_("manages the machines"), "libvirt-daemon-system"},
    {"mmdebstrap", NULL, N_("builds templates"), "mmdebstrap"},
    {"mke2fs", NULL, N_("builds templates"), "e2fsprogs"},
    {"git", NULL, N_("brings repositories in"), "git"},
    {"bwrap", NULL, N_("confines QEMU and git"), "bubblewrap"},
};

static void check_programs(struct doctor *doctor, const char *name)
{
    autofree char *missing = xstrdup(""), *packages = xstrdup("sudo apt install");
    for (size_t i = 0; i < countof(programs); i++) {
        if (json_object_get(doctor->checked, programs[i].program) || have_program(programs[i].program) ||
            (programs[i].other && have_program(programs[i].other)))
            continue;
        char *longer = xasprintf("%s%s%s (%s)", missing, *missing ? ", " : "", programs[i].program,
                                 say(doctor, programs[i].what));
        free(missing);
        missing = longer;
        longer = xasprintf("%s %s", packages, programs[i].packages);
        free(packages);
        packages = longer;
    }
    autofree char *text =
        *missing ? xasprintf(say(doctor, N_("not there: %s")), missing) : xstrdup(N_("all there"));
    report(doctor, name, *missing ? "fail" : "ok", text, *missing ? packages : NULL);
}

/* libvirt's socket: of the system for root, of the session (started on demand) for others. */
static void check_libvirt(struct doctor *doctor, const char *name)
{
    if (geteuid() != 0) {
        bool there = have_program("libvirtd") || have_program("virtqemud");
        report(doctor, name, there ? "ok" : "fail",
               there ? N_("qemu:///session, started on demand")
                     : N_("neither libvirtd nor virtqemud is there"),
               there ? NULL : "sudo apt install libvirt-daemon-system");
        return;
    }
    bool runs =
        access("/run/libvirt/virtqemud-sock", F_OK) == 0 || access("/run/libvirt/libvirt-sock", F_OK) == 0;
    bool systemd = access("/run/systemd/system", F_OK) == 0;
    report(doctor, name, runs ? "ok" : "fail",
           runs ? N_("qemu:///system has a socket") : N_("libvirtd does not run"),
           runs      ? NULL
           : systemd ? "systemctl enable --now libvirtd"
                     : "virtlogd -d; libvirtd -d");
}

/* Templates are built without root in a user namespace; root needs none. */
static void check_namespaces(struct doctor *doctor, const char *name)
{
    if (geteuid() == 0) {
        report(doctor, name, "ok", N_("not needed by root"), NULL);
        return;
    }
    pid_t pid = fork();
    if (pid == 0)
        _exit(unshare(CLONE_NEWUSER) == 0 ? 0 : 1);
    int status = 1;
    if (pid > 0)
        waitpid(pid, &status, 0);
    bool works = pid > 0 && status == 0;
    report(doctor, name, works ? "ok" : "fail",
           works ? N_("user namespaces work")
                 : N_("this user may not make user namespaces: templates cannot be built"),
           works ? NULL
                 : "sudo sysctl kernel.unprivileged_userns_clone=1 "
                   "kernel.apparmor_restrict_unprivileged_userns=0");
}

/* Room for bases and disks: on the file system of the data folder or of its nearest parent that exists. */
static void check_disk(struct doctor *doctor, const char *name, const struct paths *paths)
{
    autofree char *folder = xstrdup(paths->data);
    while (!file_exists(folder) && strrchr(folder, '/') != folder)
        *strrchr(folder, '/') = '\0';
    uint64_t bytes = 0;
    auto(error) struct error *err = NULL;
    if (file_free_space(file_exists(folder) ? folder : "/", &bytes, &err) < 0) {
        report(doctor, name, "fail", err->message, NULL);
        return;
    }
    char size[UNITS_SIZE_MAX];
    autofree char *text =
        xasprintf(say(doctor, N_("%s free for %s")), units_format_size(bytes, size), paths->data);
    autofree char *fix = xasprintf(say(doctor, N_("make room on the file system of %s")), folder);
    report(doctor, name, bytes < DISK_LOW ? "warn" : "ok", text, bytes < DISK_LOW ? fix : NULL);
}

/* The folder of the socket must be ours alone: who can put a socket there can answer for hutchd. */
static void check_runtime(struct doctor *doctor, const struct paths *paths)
{
    struct stat st;
    if (stat(paths->run, &st) < 0) {
        report(doctor, "runtime", errno == ENOENT ? "ok" : "fail",
               errno == ENOENT ? N_("made at the first start") : strerror(errno), NULL);
        return;
    }
    autofree char *fix = xasprintf("chmod 700 '%s'", paths->run);
    if (st.st_uid != geteuid()) {
        autofree char *text =
            xasprintf(say(doctor, N_("%s belongs to user %u")), paths->run, (unsigned)st.st_uid);
        report(doctor, "runtime", "fail", text,
               N_("set XDG_RUNTIME_DIR to a folder of your own, or log in afresh"));
    } else {
        bool closed = (st.st_mode & 077) == 0;
        report(doctor, "runtime", closed ? "ok" : "fail",
               closed ? paths->run : N_("others can get at the folder of hutchd's socket"),
               closed ? NULL : fix);
    }
}

/* The checks that hutchd has not done. */
static void check_host(struct doctor *doctor, const struct paths *paths)
{
    static const struct {
        const char *name;
        void (*check)(struct doctor *doctor, const char *name);
    } checks[] = {
        {"kvm", check_kvm},
        {"programs", check_programs},
        {"libvirt", check_libvirt},
        {"user namespaces", check_namespaces},
    };
    for (size_t i = 0; i < countof(checks); i++) {
        if (!json_object_get(doctor->checked, checks[i].name))
            checks[i].check(doctor, checks[i].name);
    }
    if (!json_object_get(doctor->checked, "disk"))
        check_disk(doctor, "disk", paths);
    check_runtime(doctor, paths);
}

static int run_doctor(const struct args *args, struct error **err)
{
    auto(paths) struct paths *paths = NULL;
    int rc = paths_find(&paths, err);
    if (rc < 0)
        return rc;
    auto(json) json_t *checked = json_object();
    struct doctor doctor = {.json = args_has(args, "json"), .checked = checked};
    auto(client) struct client *client = NULL;
    auto(error) struct error *own = NULL;
    if (client_connect(true, &client, &own) == 0) {
        autofree char *text =
            xasprintf(say(&doctor, N_("version %s, process %lld")), client->version, (long long)client->pid);
        report(&doctor, "hutchd", "ok", text, NULL);
        client_lines(client, "GET", "/v1/doctor", NULL, on_line, &doctor, NULL, &own);
    }
    if (own)
        report(&doctor, "hutchd", "fail", own->message, own->hint);
    check_host(&doctor, paths);
    return doctor.worst == FAIL ? 1 : 0;
}

static const struct option_spec doctor_options[] = {{"json", 0, NULL, N_("one JSON object a line")}, {NULL}};
const struct verb verb_doctor = {
    .name = "doctor",
    .synopsis = "[--json]",
    .help = N_("check this host, and say which command mends what"),
    .options = doctor_options,
    .run = run_doctor,
};
