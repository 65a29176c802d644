/* hutch-git: one transfer of packs between the host and a guest, confined before git starts: only the
 * repositories of its command, what is written narrowed to where packs and refs of a throw-away one lie, the
 * programs of /usr, no network, no other file. Descriptor 3 is the stream. It becomes git: nothing of ours
 * stays in the process. */
#include "base/alloc.h"
#include "base/landlock.h"
#include "base/log.h"
#include "repo/limits.h"

#include <errno.h>
#include <seccomp.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define STREAM_FD  3
#define FILES_MAX  512
#define WORDS_MAX  48 /* of git's command before the refspecs */
#define FOLDER_MAX 4096

/* What a command does. Folders come first among its arguments: the one that it works in, then those that it
 * reads. */
struct mode {
    const char *name, *arguments;
    size_t folders;
    bool stream;   /* on descriptor 3 */
    bool writes;   /* objects and refs of the first folder */
    bool refspecs; /* the arguments after the folders go to git */
    rlim_t memory, cpu_s, file;
    const char *const *words; /* git's, after --git-dir FOLDER */
};

static const char *const push_words[] = {"push", "--progress", "--no-verify", "--no-signed", "fd::3", NULL};
static const char *const list_words[] = {"ls-remote", "--refs", "fd::3", NULL};
static const char *const fetch_words[] = {"fetch",
                                          "--progress",
                                          "--no-tags",
                                          "--no-write-fetch-head",
                                          "--no-recurse-submodules",
                                          "--no-auto-maintenance",
                                          "--no-prune",
                                          "fd::3",
                                          NULL};
static const char *const refs_words[] = {"for-each-ref", "--format=%(objectname) %(refname)", NULL};
static const char *const measure_words[] = {"cat-file", "--batch-all-objects", "--unordered",
                                            "--batch-check=%(objectsize)", NULL};

static const struct mode modes[] = {
    {"push", "MIRROR REFSPEC...", 1, true, false, true, 8ULL << 30, 3600, RLIM_INFINITY, push_words},
    {"send", "FOLDER MIRROR REFSPEC...", 2, true, false, true, 8ULL << 30, 3600, RLIM_INFINITY, push_words},
    {"list", "FOLDER", 1, true, false, false, 1ULL << 30, 60, 0, list_words},
    {"fetch", "FOLDER QUARANTINE MIRROR REFSPEC...", 3, true, true, true, FETCH_MEMORY_MAX, FETCH_CPU_S,
     FETCH_PACK_MAX, fetch_words},
    {"refs", "FOLDER", 1, false, false, false, 1ULL << 30, 60, 0, refs_words},
    {"measure", "FOLDER", 1, false, false, false, FETCH_MEMORY_MAX, FETCH_CPU_S, 0, measure_words},
};

/* Limits that hold for git and all that it starts. */
static int set_limits(const struct mode *mode, struct error **err)
{
    const struct {
        int what;
        rlim_t value;
    } limits[] = {{RLIMIT_CORE, 0},
                  {RLIMIT_NOFILE, FILES_MAX},
                  {RLIMIT_AS, mode->memory},
                  {RLIMIT_CPU, mode->cpu_s},
                  {RLIMIT_FSIZE, mode->file}};

    for (size_t i = 0; i < countof(limits); i++) {
        struct rlimit limit = {limits[i].value, limits[i].value};
        if (setrlimit(limits[i].what, &limit) < 0)
            return error_set_errno(err, errno, "cannot set a resource limit");
    }
    return 0;
}

/* No sockets at all, also on kernels whose Landlock knows no network. */
static int deny_sockets(struct error **err)
{
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
    static const int denied[] = {SCMP_SYS(socket), SCMP_SYS(connect),          SCMP_SYS(bind),
                                 SCMP_SYS(ptrace), SCMP_SYS(process_vm_readv), SCMP_SYS(io_uring_setup),
                                 SCMP_SYS(mount),  SCMP_SYS(unshare)};
    int rc = filter ? 0 : -ENOMEM;

    for (size_t i = 0; rc == 0 && i < countof(denied); i++)
        rc = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), denied[i], 0);
    if (rc == 0)
        rc = seccomp_load(filter);
    seccomp_release(filter);
    return rc == 0 ? 0 : error_set_errno(err, -rc, "cannot load the system call filter");
}

static bool is_folder(const char *path)
{
    struct stat st;
    return lstat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* Gives up everything but the repositories and the programs. */
static int confine(const struct mode *mode, char **folders, struct error **err)
{
    autofree char *objects = xasprintf("%s/objects", folders[0]), *refs = xasprintf("%s/refs", folders[0]);
    int change = mode->writes ? LANDLOCK_READ | LANDLOCK_WRITE : LANDLOCK_READ;

    if (mode->writes && !(is_folder(objects) && is_folder(refs))) /* a link would open what it leads to */
        return error_set(err, ERROR_INVALID, "'%s' is no repository", folders[0]);
    const struct landlock_rule rules[] = {
        {"/usr", LANDLOCK_READ | LANDLOCK_EXECUTE},
        {"/bin", LANDLOCK_READ | LANDLOCK_EXECUTE},
        {"/lib", LANDLOCK_READ | LANDLOCK_EXECUTE},
        {"/lib64", LANDLOCK_READ | LANDLOCK_EXECUTE},
        {"/etc/ld.so.cache", LANDLOCK_READ},
        {"/etc/alternatives", LANDLOCK_READ},
        {"/dev/null", LANDLOCK_READ | LANDLOCK_WRITE},
        {"/dev/urandom", LANDLOCK_READ},
        {folders[0], LANDLOCK_READ},
        {mode->writes ? objects : folders[0], change},
        {mode->writes ? refs : folders[0], change},
        {mode->folders > 1 ? folders[1] : folders[0], LANDLOCK_READ},
        {mode->folders > 2 ? folders[2] : folders[0], LANDLOCK_READ},
    };
    int rc = set_limits(mode, err);
    if (rc == 0)
        rc = landlock_confine(rules, countof(rules), err);
    return rc == 0 ? deny_sockets(err) : rc;
}

/* Becomes git. */
static int become_git(const struct mode *mode, char **arguments, size_t count, struct error **err)
{
    static const char *const env[] = {"PATH=/usr/local/bin:/usr/bin:/bin",
                                      "HOME=/nonexistent",
                                      "LC_ALL=C",
                                      "GIT_CONFIG_NOSYSTEM=1",
                                      "GIT_CONFIG_GLOBAL=/dev/null",
                                      "GIT_ATTR_NOSYSTEM=1",
                                      "GIT_TERMINAL_PROMPT=0",
                                      "GIT_ASKPASS=/bin/false",
                                      "GIT_ALLOW_PROTOCOL=fd",
                                      "GIT_NO_LAZY_FETCH=1",
                                      NULL};
    /* bigFileThreshold and packedGit…: what is in memory at a time, so that a large object is not all of it
     */
    static const char *const settings[] = {"core.hooksPath=/dev/null",
                                           "core.fsmonitor=false",
                                           "gc.auto=0",
                                           "push.recurseSubmodules=no",
                                           "fetch.recurseSubmodules=false",
                                           "transfer.fsckObjects=true",
                                           "fetch.fsckObjects=true",
                                           "fetch.unpackLimit=1",
                                           "fetch.writeCommitGraph=false",
                                           "transfer.bundleURI=false",
                                           "protocol.version=0",
                                           "safe.directory=*",
                                           "core.bigFileThreshold=64m",
                                           "core.packedGitLimit=64m",
                                           "core.packedGitWindowSize=16m"};
    const char **argv = xnewn(const char *, WORDS_MAX + count + 1);
    size_t n = 0;

    argv[n++] = "git";
    for (size_t i = 0; i < countof(settings); i++) {
        argv[n++] = "-c";
        argv[n++] = settings[i];
    }
    argv[n++] = "--git-dir";
    argv[n++] = arguments[0];
    for (size_t i = 0; mode->words[i]; i++)
        argv[n++] = mode->words[i];
    require(n <= WORDS_MAX);
    for (size_t i = mode->folders; i < count; i++) {
        if (arguments[i][0] == '-')
            return error_set(err, ERROR_USAGE, "a refspec cannot begin with '-'");
        argv[n++] = arguments[i];
    }
    execve("/usr/bin/git", (char *const *)argv, (char *const *)env);
    return error_set_errno(err, errno, "cannot start git");
}

static int usage(void)
{
    for (size_t i = 0; i < countof(modes); i++)
        fprintf(stderr, "%s hutch-git %s %s%s\n", i ? "      " : "usage:", modes[i].name, modes[i].arguments,
                modes[i].stream ? "   (the stream on descriptor 3)" : "");
    return 2;
}

/* The mode of a command line; NULL if it is none. */
static const struct mode *find_mode(int argc, char **argv)
{
    const struct mode *mode = NULL;

    for (size_t i = 0; argc > 2 && i < countof(modes); i++)
        if (!strcmp(modes[i].name, argv[1]))
            mode = &modes[i];
    if (!mode)
        return NULL;
    size_t count = (size_t)argc - 2;
    if (mode->refspecs ? count <= mode->folders : count != mode->folders)
        return NULL;
    for (size_t i = 0; i < mode->folders; i++)
        if (argv[2 + i][0] != '/' || strlen(argv[2 + i]) > FOLDER_MAX)
            return NULL;
    return mode;
}

int main(int argc, char **argv)
{
    struct error *err = NULL;

    log_init("hutch-git");
    const struct mode *mode = find_mode(argc, argv);
    if (!mode)
        return usage();
    if (mode->stream && dup2(STREAM_FD, STREAM_FD) < 0)
        error_set(&err, ERROR_USAGE, "descriptor 3 is not open");
    else if (confine(mode, argv + 2, &err) == 0)
        become_git(mode, argv + 2, (size_t)argc - 2, &err);
    fprintf(stderr, "fatal: hutch-git: %s\n", err ? err->message : "it did not start");
    error_free(err);
    return 1;
}
