#include "daemon/logfile.h"

#include "base/alloc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define LOGFILE_MAX (1024 * 1024)

static char *log_path; /* NULL: messages go to a terminal */

int logfile_open(const char *path, struct error **err)
{
    autoclose int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);

    if (fd < 0)
        return error_set_errno(err, errno, "\"%s\"", path);
    if (dup2(fd, STDOUT_FILENO) < 0 || dup2(fd, STDERR_FILENO) < 0)
        return error_set_errno(err, errno, "\"%s\"", path);
    if (path != log_path) {
        free(log_path);
        log_path = xstrdup(path);
    }
    logfile_bound();
    return 0;
}

void logfile_bound(void)
{
    autofree char *old = NULL;
    struct stat st;

    if (!log_path || fstat(STDERR_FILENO, &st) < 0 || st.st_size < LOGFILE_MAX)
        return;
    old = xasprintf("%s.1", log_path);
    if (rename(log_path, old) == 0)
        logfile_open(log_path, NULL);
}
