#include "vm/cage_apply.h"

#include "base/alloc.h"
#include "base/fd.h"
#include "base/landlock.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* What every QEMU reads: its own program, libraries, firmware. */
static const struct landlock_rule system_rules[] = {
    {"/usr", LANDLOCK_READ | LANDLOCK_EXECUTE},
    {"/lib", LANDLOCK_READ | LANDLOCK_EXECUTE},
    {"/lib64", LANDLOCK_READ | LANDLOCK_EXECUTE},
    {"/etc/ld.so.cache", LANDLOCK_READ},
    {"/etc/ld.so.conf", LANDLOCK_READ},
    {"/etc/ld.so.conf.d", LANDLOCK_READ},
    {"/etc/ld.so.preload", LANDLOCK_READ},
    {"/dev/null", LANDLOCK_READ | LANDLOCK_CHANGE},
    {"/dev/zero", LANDLOCK_READ},
    {"/dev/random", LANDLOCK_READ},
    {"/dev/urandom", LANDLOCK_READ},
    {"/dev/kvm", LANDLOCK_READ | LANDLOCK_CHANGE},
};

/* "unix:PATH,…" of the option -qmp in a folder qmp-XXXXXX of libvirt's: that folder, or NULL. */
static char *probe_folder(const char *qmp)
{
    if (strncmp(qmp, "unix:/", 6) != 0)
        return NULL;
    autofree char *path = xstrndup(qmp + 5, strcspn(qmp + 5, ","));
    char *slash = strrchr(path, '/');
    *slash = '\0';
    const char *name = strrchr(path, '/');
    if (!name || strncmp(name, "/qmp-", 5) != 0 || strstr(path, "/../"))
        return NULL;
    return steal(&path);
}

/* The path of the secret masterKey0 in an -object: "file":"/…/master-key.aes" (JSON) or
 * file=/…/master-key.aes. */
static char *master_key(const char *object)
{
    static const char last[] = "/master-key.aes";
    const char *end = strstr(object, last);
    if (!strstr(object, "masterKey0") || !end)
        return NULL;
    end += sizeof(last) - 1;
    for (const char *p = end - 1; p > object; p--) {
        if (*p != '"' && *p != '=')
            continue;
        if (p[1] != '/' || memchr(p + 1, '\\', (size_t)(end - p - 1)))
            return NULL;
        return xstrndup(p + 1, (size_t)(end - p - 1));
    }
    return NULL;
}

int cage_command_read(char *const *argv, bool has_list, struct cage_command *ret_command, struct error **err)
{
    struct cage_command command = {.kind = has_list ? CAGE_MACHINE : CAGE_PROBE};
    bool no_machine = false;

    for (int i = 1; argv[0] && argv[i] && argv[i + 1]; i++) {
        if (strcmp(argv[i], "-machine") == 0 || strcmp(argv[i], "-M") == 0)
            no_machine = strncmp(argv[i + 1], "none", 4) == 0 && (argv[i + 1][4] == ',' || !argv[i + 1][4]);
        if (strcmp(argv[i], "-qmp") == 0 && !has_list && !command.probe_folder)
            command.probe_folder = probe_folder(argv[i + 1]);
        if (strcmp(argv[i], "-object") == 0 && has_list && !command.master_key)
            command.master_key = master_key(argv[i + 1]);
    }
    if (!has_list && (!no_machine || !command.probe_folder)) {
        cage_command_finish(&command);
        int rc = error_set(err, ERROR_INVALID, "%s is not set: what may this machine open?", CAGE_VARIABLE);
        error_hint(err, "hutch-qemu is run by libvirt for machines that hutch defines, not by hand");
        return rc;
    }
    *ret_command = command;
    return 0;
}

void cage_command_finish(struct cage_command *command)
{
    free(command->probe_folder);
    free(command->master_key);
    *command = (struct cage_command){0};
}

/* Writes one small file of /proc/self. */
static int write_proc(const char *path, const char *text, struct error **err)
{
    autoclose int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return error_set_errno(err, errno, "cannot open \"%s\"", path);
    return fd_write_all(fd, text, strlen(text), err);
}

int cage_apply_namespaces(bool *ret_done, struct error **err)
{
    char uid[64], gid[64];
    snprintf(uid, sizeof(uid), "%u %u 1\n", (unsigned)geteuid(), (unsigned)geteuid());
    snprintf(gid, sizeof(gid), "%u %u 1\n", (unsigned)getegid(), (unsigned)getegid());

    *ret_done = false;
    if (unshare(CLONE_NEWUSER | CLONE_NEWNET | CLONE_NEWIPC) < 0) {
        if (errno == EPERM || errno == EACCES || errno == ENOSPC || errno == ENOSYS || errno == EINVAL)
            return 0;
        return error_set_errno(err, errno, "cannot make an empty network");
    }
    int rc = write_proc("/proc/self/setgroups", "deny", err);
    if (rc == 0)
        rc = write_proc("/proc/self/uid_map", uid, err);
    if (rc == 0)
        rc = write_proc("/proc/self/gid_map", gid, err);
    *ret_done = rc == 0;
    return rc;
}

int cage_check(const struct cage *cage, struct error **err)
{
    for (size_t i = 0; i < cage->count; i++) {
        const char *path = cage->items[i].path;
        bool folder = cage->items[i].access == CAGE_FOLDER;
        struct stat st;
        if (lstat(path, &st) < 0)
            return error_set_errno(err, errno, "cannot find \"%s\"", path);
        if (folder ? !S_ISDIR(st.st_mode) : !S_ISREG(st.st_mode))
            return error_set(err, ERROR_INVALID, "\"%s\" is no %s", path, folder ? "folder" : "regular file");
    }
    return 0;
}

int cage_apply_files(const struct cage *cage, const struct cage_command *command, struct error **err)
{
    struct landlock_rule rules[countof(system_rules) + CAGE_PATHS_MAX + 3];
    size_t count = countof(system_rules);

    memcpy(rules, system_rules, sizeof(system_rules));
    for (size_t i = 0; i < cage->count; i++) {
        int access = cage->items[i].access == CAGE_READ ? LANDLOCK_READ : LANDLOCK_READ | LANDLOCK_CHANGE;
        rules[count++] = (struct landlock_rule){cage->items[i].path, access};
    }
    if (command->probe_folder)
        rules[count++] = (struct landlock_rule){command->probe_folder, LANDLOCK_READ | LANDLOCK_WRITE};
    if (command->master_key)
        rules[count++] = (struct landlock_rule){command->master_key, LANDLOCK_READ};
#ifdef CAGE_TEST
    if (getenv("CAGE_TEST_PROGRAM"))
        rules[count++] =
            (struct landlock_rule){getenv("CAGE_TEST_PROGRAM"), LANDLOCK_READ | LANDLOCK_EXECUTE};
#endif
    return landlock_confine(rules, count, err);
}

/* A growing argv. */
struct words {
    char **list;
    size_t count;
};

static void add_word(struct words *words, const char *word)
{
    words->list = xrealloc(words->list, words->count + 2, sizeof(char *));
    words->list[words->count++] = xstrdup(word);
    words->list[words->count] = NULL;
}

static void add_bind(struct words *words, const char *how, const char *path)
{
    add_word(words, how);
    add_word(words, path);
    add_word(words, path);
}

/* No pid namespace: libvirt knows the process by its pid, and --die-with-parent takes QEMU along when that
 * pid is ended. */
char **cage_bubblewrap(const struct cage *cage, const struct cage_command *command, const char *self,
                       char *const *arguments)
{
    struct words words = {0};
    static const char *const start[] = {
        "bwrap", "--die-with-parent", "--unshare-net", "--unshare-ipc", "--cap-drop",
        "ALL",   "--tmpfs",           "/dev"};
    static const char *const devices[] = {"/dev/null", "/dev/zero", "/dev/random", "/dev/urandom",
                                          "/dev/kvm"};
    static const char *const root_links[] = {"/lib", "/lib64", "/etc/ld.so.cache"};

    for (size_t i = 0; i < countof(start); i++)
        add_word(&words, start[i]);
    add_bind(&words, "--ro-bind", "/usr");
    for (size_t i = 0; i < countof(root_links); i++)
        add_bind(&words, "--ro-bind-try", root_links[i]);
    for (size_t i = 0; i < countof(devices);
         i++) /* not --dev, which wants more than libvirt's own /dev has */
        add_bind(&words, "--dev-bind-try", devices[i]);
    add_bind(&words, "--ro-bind", self);
    for (size_t i = 0; i < cage->count; i++)
        if (cage->items[i].access == CAGE_FOLDER) /* before the files, which may lie in it */
            add_bind(&words, "--bind", cage->items[i].path);
    for (size_t i = 0; i < cage->count; i++)
        if (cage->items[i].access != CAGE_FOLDER)
            add_bind(&words, cage->items[i].access == CAGE_READ ? "--ro-bind" : "--bind",
                     cage->items[i].path);
    if (command->probe_folder)
        add_bind(&words, "--bind", command->probe_folder);
    if (command->master_key)
        add_bind(&words, "--ro-bind", command->master_key);
#ifdef CAGE_TEST
    if (getenv("CAGE_TEST_PROGRAM"))
        add_bind(&words, "--ro-bind", getenv("CAGE_TEST_PROGRAM"));
#endif
    add_word(&words, "--");
    add_word(&words, self);
    for (char *const *argument = arguments; *argument; argument++)
        add_word(&words, *argument);
    return words.list;
}

void cage_bubblewrap_free(char **argv)
{
    for (char **p = argv; p && *p; p++)
        free(*p);
    free(argv);
}
