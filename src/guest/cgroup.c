#include "guest/cgroup.h"

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/units.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>

#define CGROUP_ROOT "/sys/fs/cgroup"
#define CGROUP_OURS CGROUP_ROOT "/hutch"
#define PROCS_MAX   (1024 * 1024) /* bytes of a list of pids */

/* "hutch/NAME/FILE" as a path; "" for the folder itself. Caller frees. */
static char *group_path(const char *name, const char *file)
{
    return xasprintf(CGROUP_OURS "/%s%s%s", name, *file ? "/" : "", file);
}

static bool write_word(const char *path, const char *word)
{
    autoclose int fd = open(path, O_WRONLY | O_CLOEXEC);
    return fd >= 0 && write(fd, word, strlen(word)) == (ssize_t)strlen(word);
}

bool cgroup_available(void)
{
    return geteuid() == 0 && access(CGROUP_ROOT "/cgroup.controllers", R_OK) == 0 &&
           access(CGROUP_ROOT "/cgroup.procs", W_OK) == 0;
}

bool cgroup_make(const char *name)
{
    autofree char *path = group_path(name, "");
    return cgroup_available() && file_make_folder(path, 0755, NULL) == 0;
}

bool cgroup_enter(const char *name)
{
    autofree char *procs = group_path(name, "cgroup.procs");
    return write_word(procs, "0");
}

bool cgroup_adopt(const char *name, pid_t pid)
{
    autofree char *procs = group_path(name, "cgroup.procs");
    autofree char *number = xasprintf("%d", (int)pid);
    return write_word(procs, number);
}

bool cgroup_signal(const char *name, int signal)
{
    autofree char *kill_file = group_path(name, "cgroup.kill");
    autofree char *procs = group_path(name, "cgroup.procs");
    autofree char *list = NULL;
    size_t len;

    if (signal == SIGKILL && write_word(kill_file, "1"))
        return true;
    if (file_read(procs, PROCS_MAX, &list, &len, NULL))
        return false;
    char *cursor = list, *word;
    while ((word = strsep(&cursor, "\n"))) {
        uint64_t pid;
        if (*word && !units_parse_number(word, 1, INT32_MAX, &pid, NULL))
            kill((pid_t)pid, signal);
    }
    return true;
}

void cgroup_remove(const char *name)
{
    autofree char *path = group_path(name, "");
    rmdir(path);
}

void cgroup_oom_score(const char *score)
{
    write_word("/proc/self/oom_score_adj", score);
}

void cgroup_sweep(const char *folder)
{
    DIR *dir = opendir(CGROUP_OURS "/" CGROUP_SESSIONS);

    for (struct dirent *entry; dir && (entry = readdir(dir));) {
        autofree char *socket = xasprintf("%s/%s.sock", folder, entry->d_name);
        autofree char *name = xasprintf(CGROUP_SESSIONS "/%s", entry->d_name);
        if (entry->d_type == DT_DIR && *entry->d_name != '.' && strcmp(name, CGROUP_TASKS) &&
            !file_exists(socket))
            cgroup_remove(name);
    }
    if (dir)
        closedir(dir);
}
